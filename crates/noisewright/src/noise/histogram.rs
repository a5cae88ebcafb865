//! Piecewise constant densities on bins, in one and two variables.

use noisewright_numerics::random::Stream;
use rand::RngExt;

use super::check::{edges as check_edges, probabilities as check_probabilities, require};
use super::fitting::{Sample, failed};
use super::spelling::list;
use super::weighted_index::Picker;
use crate::memory;
use crate::{Error, Landmarks, Noise, Result, SavedNoise, Scalar, View};

/// A piecewise constant density: the probability of a bin divided by its width.
///
/// ```
/// use noisewright::{Histogram1d, Scalar};
/// let noise = Histogram1d::new(&[0.0, 1.0, 5.0], &[0.2, 0.8])?;
/// let mut out = [0.0; 2];
/// noise.log_density_of(&[0.5, 3.0], &mut out);
/// assert_eq!(out, [0.2f64.ln(), 0.2f64.ln()]);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram1d {
    edges: Vec<f64>,
    probabilities: Vec<f64>,
    log_densities: Vec<f64>,
    picker: Picker,
}

/// `bins + 1` equally spaced edges from `lo` to `hi`.
///
/// ```
/// assert_eq!(noisewright::equal_edges(4, -1.0, 1.0), [-1.0, -0.5, 0.0, 0.5, 1.0]);
/// ```
///
/// # Panics
/// When so many bins do not fit in memory.
#[must_use]
pub fn equal_edges(bins: usize, lo: f64, hi: f64) -> Vec<f64> {
    assert!(memory::check_count("bins", bins, 1).is_ok(), "{bins} bins do not fit in memory");
    let bins = bins.max(1);
    (0..=bins).map(|i| if i == bins { hi } else { lo + (hi - lo) * i as f64 / bins as f64 }).collect()
}

impl Histogram1d {
    /// Edges of the bins, increasing, and one probability per bin.
    ///
    /// ```
    /// use noisewright::{Histogram1d, Noise, View};
    /// let (noise, mut out) = (Histogram1d::new(&[0.0, 1.0, 3.0], &[0.5, 0.5])?, [0.0; 2]);
    /// noise.log_density(View::new(1, 2, &[0.5, 2.0]), &mut out);
    /// assert!((out[0] - 0.5f64.ln()).abs() < 1e-15 && (out[1] - 0.25f64.ln()).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the edges do not increase, the lengths do not match, or the probabilities do not sum to one.
    pub fn new(edges: &[f64], probabilities: &[f64]) -> Result<Self> {
        check_edges(edges)?;
        check_count("probabilities of bins", edges.len() - 1, probabilities.len())?;
        let probabilities = check_probabilities("the probabilities of histogram", probabilities)?;
        let log_densities =
            probabilities.iter().zip(edges.windows(2)).map(|(p, e)| (p / (e[1] - e[0])).ln()).collect();
        Ok(Self { edges: edges.to_vec(), picker: Picker::new(&probabilities), probabilities, log_densities })
    }

    /// Maximum likelihood on given edges, the frequency of each bin, mixed with the share `floor` of the uniform
    /// density on the whole range so that no bin is empty.
    ///
    /// # Errors
    /// When there are no data, one lies outside the edges, or `floor` is not between 0 and 1.
    pub fn fit(edges: &[f64], floor: f64, points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        check_edges(edges)?;
        check_floor(floor)?;
        let sample = Sample::scalar("histogram", points, weights)?;
        sample.require(|x| bin_of(edges, x).is_some(), "between its outer edges")?;
        let mut probabilities = vec![0.0; edges.len() - 1];
        for (row, &x) in sample.values.iter().enumerate() {
            if let Some(bin) = bin_of(edges, x) {
                probabilities[bin] += sample.weight(row) / sample.total();
            }
        }
        for (p, share) in probabilities.iter_mut().zip(width_shares(edges)) {
            *p = (1.0 - floor) * *p + floor * share;
        }
        Self::new(edges, &probabilities)
    }

    /// The edges of the bins.
    #[must_use]
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The probability of each bin.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The part of bin `i` that lies in `[lo, hi]`, as a share of its width.
    fn overlap(&self, i: usize, lo: f64, hi: f64) -> f64 {
        let (from, to) = (self.edges[i], self.edges[i + 1]);
        ((hi.min(to) - lo.max(from)) / (to - from)).clamp(0.0, 1.0)
    }

    fn mass_between(&self, lo: f64, hi: f64) -> f64 {
        let parts = self.probabilities.iter().enumerate().map(|(i, p)| p * self.overlap(i, lo, hi));
        parts.sum::<f64>().min(1.0)
    }
}

impl Scalar for Histogram1d {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = bin_of(&self.edges, x).map_or(f64::NEG_INFINITY, |bin| self.log_densities[bin]);
        }
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        let bin = self.picker.pick(stream);
        within(&self.edges, bin, stream)
    }

    fn cdf(&self, x: f64) -> f64 {
        self.mass_between(f64::NEG_INFINITY, x)
    }

    fn survival(&self, x: f64) -> f64 {
        self.mass_between(x, f64::INFINITY)
    }

    fn ln_mass(&self, lo: f64, hi: f64) -> f64 {
        self.mass_between(lo, hi).ln()
    }

    fn support(&self) -> (f64, f64) {
        (self.edges[0], self.edges[self.edges.len() - 1])
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![middle_and_half(&self.edges)]
    }

    fn breaks(&self) -> Vec<f64> {
        self.edges.clone()
    }

    fn words(&self) -> String {
        format!("histogram({}, {})", list(&self.edges), list(&self.probabilities))
    }
}

/// A piecewise constant density in two variables: the probability of a cell divided by its area.
///
/// ```
/// use noisewright::{Histogram2d, Noise, View};
/// let noise = Histogram2d::new(&[0.0, 2.0], &[0.0, 1.0, 4.0], &[0.5, 0.5])?;
/// let mut out = [0.0];
/// noise.log_density(View::new(2, 1, &[1.0, 2.0]), &mut out);
/// assert_eq!(out[0], (0.5f64 / 6.0).ln());
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram2d {
    edges: [Vec<f64>; 2],
    /// Cell (i, j) at `i * bins of the second variable + j`.
    probabilities: Vec<f64>,
    log_densities: Vec<f64>,
    picker: Picker,
}

impl Histogram2d {
    /// Edges along each variable and the probabilities of the cells, cell (i, j) at
    /// `i * (bins of the second variable) + j`.
    ///
    /// ```
    /// use noisewright::{Histogram2d, Noise, View};
    /// let noise = Histogram2d::new(&[0.0, 1.0], &[0.0, 1.0, 3.0], &[0.5, 0.5])?;
    /// let mut out = [0.0];
    /// noise.log_density(View::new(2, 1, &[0.5, 2.0]), &mut out); // half of the mass on an area of two
    /// assert!((out[0] - 0.25f64.ln()).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the edges do not increase, the lengths do not match, or the probabilities do not sum to one.
    pub fn new(first: &[f64], second: &[f64], probabilities: &[f64]) -> Result<Self> {
        check_edges(first)?;
        check_edges(second)?;
        let columns = second.len() - 1;
        check_count("probabilities of cells", (first.len() - 1) * columns, probabilities.len())?;
        let probabilities = check_probabilities("the probabilities of histogram", probabilities)?;
        let width = |edges: &[f64], i: usize| edges[i + 1] - edges[i];
        let area = |cell: usize| width(first, cell / columns) * width(second, cell % columns);
        let log_densities = probabilities.iter().enumerate().map(|(i, p)| (p / area(i)).ln()).collect();
        let edges = [first.to_vec(), second.to_vec()];
        Ok(Self { edges, picker: Picker::new(&probabilities), probabilities, log_densities })
    }

    /// Maximum likelihood on given edges, mixed with the share `floor` of the uniform density on the rectangle.
    ///
    /// # Errors
    /// When there are no data, one lies outside the edges, or `floor` is not between 0 and 1.
    pub fn fit(
        first: &[f64],
        second: &[f64],
        floor: f64,
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        check_edges(first)?;
        check_edges(second)?;
        check_floor(floor)?;
        check_count("variables", 2, points.columns())?;
        let x = Sample::column("histogram", points, weights, 0)?;
        let y = Sample::column("histogram", points, weights, 1)?;
        let columns = second.len() - 1;
        let mut probabilities = vec![0.0; (first.len() - 1) * columns];
        for row in 0..points.rows() {
            let (Some(i), Some(j)) = (bin_of(first, x.values[row]), bin_of(second, y.values[row])) else {
                let reason = format!("row {} of the data lies outside its edges", row + 1);
                return Err(failed("histogram", &reason));
            };
            probabilities[i * columns + j] += x.weight(row) / x.total();
        }
        for (i, share) in width_shares(first).into_iter().enumerate() {
            for (j, other) in width_shares(second).into_iter().enumerate() {
                let p = &mut probabilities[i * columns + j];
                *p = (1.0 - floor) * *p + floor * share * other;
            }
        }
        Self::new(first, second, &probabilities)
    }

    /// The edges along one variable.
    #[must_use]
    pub fn edges(&self, axis: usize) -> &[f64] {
        &self.edges[axis]
    }

    /// The probabilities of the cells.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    fn columns(&self) -> usize {
        self.edges[1].len() - 1
    }
}

impl Noise for Histogram2d {
    fn dimension(&self) -> usize {
        2
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        for ((o, &x), &y) in out.iter_mut().zip(points.column(0)).zip(points.column(1)) {
            *o = match (bin_of(&self.edges[0], x), bin_of(&self.edges[1], y)) {
                (Some(i), Some(j)) => self.log_densities[i * self.columns() + j],
                _ => f64::NEG_INFINITY,
            };
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        for row in 0..rows {
            let cell = self.picker.pick(stream);
            out[row] = within(&self.edges[0], cell / self.columns(), stream);
            out[rows + row] = within(&self.edges[1], cell % self.columns(), stream);
        }
    }

    fn uniforms(&self) -> Option<usize> {
        Some(2)
    }

    /// The first variable by its own histogram, the second by that of its column of cells.
    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let (rows, columns) = (cube.rows(), self.columns());
        let strips: Vec<&[f64]> = self.probabilities.chunks(columns).collect();
        let first = Picker::new(&strips.iter().map(|strip| strip.iter().sum()).collect::<Vec<f64>>());
        let second: Vec<Picker> = strips.iter().map(|strip| Picker::new(strip)).collect();
        let place = |edges: &[f64], (bin, t): (usize, f64)| {
            let (lo, hi) = (edges[bin], edges[bin + 1]);
            (lo + (hi - lo) * t).min(hi)
        };
        for row in 0..rows {
            let strip = first.stratum(cube.get(row, 0));
            out[row] = place(&self.edges[0], strip);
            out[rows + row] = place(&self.edges[1], second[strip.0].stratum(cube.get(row, 1)));
        }
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let edges = &self.edges[axis];
        Landmarks { breaks: edges.clone(), centers: vec![middle_and_half(edges)] }
    }

    fn describe(&self) -> String {
        let [first, second] = &self.edges;
        format!("histogram({}, {}, {})", list(first), list(second), list(&self.probabilities))
    }

    fn saved(&self) -> Option<SavedNoise> {
        SavedNoise::words(self)
    }
}

/// The bin that holds `x`; the last edge belongs to the last bin.
fn bin_of(edges: &[f64], x: f64) -> Option<usize> {
    let last = edges.len() - 1;
    if !(x >= edges[0] && x <= edges[last]) {
        return None;
    }
    Some((edges.partition_point(|edge| *edge <= x) - 1).min(last - 1))
}

/// The share of the whole range that each bin takes.
fn width_shares(edges: &[f64]) -> Vec<f64> {
    let whole = edges[edges.len() - 1] - edges[0];
    edges.windows(2).map(|e| (e[1] - e[0]) / whole).collect()
}

fn middle_and_half(edges: &[f64]) -> (f64, f64) {
    let (lo, hi) = (edges[0], edges[edges.len() - 1]);
    (f64::midpoint(lo, hi), 0.5 * (hi - lo))
}

/// A uniform draw from one bin.
fn within(edges: &[f64], bin: usize, stream: &mut Stream) -> f64 {
    let (lo, hi) = (edges[bin], edges[bin + 1]);
    (lo + (hi - lo) * stream.random::<f64>()).min(hi)
}

fn check_count(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

fn check_floor(floor: f64) -> Result<f64> {
    let allowed = (0.0..=1.0).contains(&floor);
    require(allowed, "the floor of histogram", floor, "it must be between 0 and 1")
}
