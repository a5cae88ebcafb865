//! Free energies by splines: `F = Σ_j β_j B_j` of the highest weighted likelihood (Shirts and Ferguson 2020).
//!
//! With v the weights of the draws inside the cells, of sum one, β minimises the convex `L = Σ_n v_n F(ξ_n) + ln ∫ e^(−F)`: an exponential
//! family whose means `m = E B` are those of the draws. To first order draw n moves `ln p(ξ)` by
//! `v_n (B(ξ) − m)ᵀ H⁻¹ (B(ξ_n) − m)`, with `H = Cov B` under the fitted density, so that its error is that of a weighted mean.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use noisewright_numerics::optimize::{self, DescentOptions, Evaluation};
use noisewright_numerics::parallel::map;

use super::basis::{Family, Row};
use super::grid::Grid;
use super::{AT_A_TIME, Cell, Coordinate, cell_of};
use crate::normalizer::states::reweighting::Reweighting;
use crate::{Error, Result};

/// Pieces between knots along a coordinate that are tried where no number is given,
const PIECES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/// as many of them along each of two coordinates.
const TRIED_IN_PLANES: usize = 7;
/// Larger numbers that are no better, one after the other, until the search for the number ends.
const PATIENCE: usize = 2;
/// Newton's steps at most, and those that refine coefficients of regions with hardly any weight.
const STEPS: usize = 200;
/// A step that moves no coefficient by more is the last.
const LAST_STEP: f64 = 1e-10;

/// The weighted draws to which splines are fitted.
pub(super) struct Sample<'a> {
    coordinates: &'a [Coordinate<'a>],
    /// Weights under the state divided by the share of those inside, and zero outside.
    inside: Vec<f64>,
    share: f64,
    ends: Vec<[f64; 2]>,
}

impl<'a> Sample<'a> {
    pub(super) fn new(coordinates: &'a [Coordinate<'a>], weights: &[f64], grid: &Grid) -> Result<Self> {
        let ends: Vec<[f64; 2]> = grid.edges.iter().map(|edges| [edges[0], edges[edges.len() - 1]]).collect();
        let is_inside = |n: usize| {
            let within =
                |(c, [low, high]): (&Coordinate<'_>, &[f64; 2])| (*low..=*high).contains(&c.values[n]);
            coordinates.iter().zip(&ends).all(within)
        };
        let mut inside: Vec<f64> =
            weights.iter().enumerate().map(|(n, w)| if is_inside(n) { *w } else { 0.0 }).collect();
        let share: f64 = inside.iter().sum();
        if share <= 0.0 {
            return Err(Error::option("bins", "have no draw in any of them"));
        }
        inside.iter_mut().for_each(|w| *w /= share);
        Ok(Self { coordinates, inside, share, ends })
    }

    /// The splines of every draw of which there is any weight.
    fn rows(&self, family: &Family) -> Vec<(usize, Row)> {
        let mut point = vec![0.0; self.coordinates.len()];
        let mut row = |n: usize| {
            point.iter_mut().zip(self.coordinates).for_each(|(p, coordinate)| *p = coordinate.values[n]);
            family.row(&point).map(|row| (n, row))
        };
        (0..self.inside.len()).filter(|n| self.inside[*n] > 0.0).filter_map(&mut row).collect()
    }
}

/// A fitted spline.
pub(super) struct Spline<'a> {
    sample: &'a Sample<'a>,
    family: Family,
    /// The splines at the draws that have a weight, with the number of the draw.
    rows: Vec<(usize, Row)>,
    /// Where each member of the family stands among the coefficients: the one with the most weight is zero, since a constant
    /// changes nothing, and where there is no draw at all there is no density.
    places: Vec<Place>,
    coefficients: DVector<f64>,
    means: DVector<f64>,
    curvature: Cholesky<f64, Dyn>,
    log_integral: f64,
    loss: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Coefficient(usize),
    Zero,
    Empty,
}

/// A spline of given numbers, or of those with the smallest expected loss on other draws.
pub(super) fn fit<'a>(
    sample: &'a Sample<'a>,
    reweighting: &Reweighting<'_>,
    state: usize,
    counts: Option<&[usize]>,
    degree: usize,
) -> Result<Spline<'a>> {
    if let Some(counts) = counts {
        let family = Family::new(&sample.ends, counts, degree)?;
        return Spline::new(sample, family)?.ok_or_else(|| {
            Error::option("splines", "are too many for these draws: their likelihood has no maximum")
        });
    }
    let tried = if sample.ends.len() == 1 { PIECES.len() } else { TRIED_IN_PLANES };
    let (mut best, mut idle): (Option<(f64, Spline<'a>)>, usize) = (None, 0);
    for pieces in &PIECES[..tried] {
        let family = Family::new(&sample.ends, &[pieces + degree], degree)?;
        let Some(spline) = Spline::new(sample, family)? else { break };
        let expected = spline.expected_loss(reweighting, state)?;
        if best.as_ref().is_none_or(|(least, _)| expected < *least) {
            (best, idle) = (Some((expected, spline)), 0);
        } else {
            idle += 1;
        }
        if idle == PATIENCE {
            break;
        }
    }
    best.map(|(_, spline)| spline)
        .ok_or_else(|| Error::option("splines", "cannot be fitted to so few draws: take a histogram"))
}

impl<'a> Spline<'a> {
    /// The maximum of the likelihood; `None` where there is none.
    fn new(sample: &'a Sample<'a>, family: Family) -> Result<Option<Self>> {
        let rows = sample.rows(&family);
        let mut masses = vec![0.0; family.len()];
        for (n, row) in &rows {
            row.members().for_each(|(j, b)| masses[j] += sample.inside[*n] * b);
        }
        let places = places(&masses);
        let likelihood = Likelihood::new(&family, &places, &masses);
        let Some((coefficients, last)) = likelihood.maximum(&starts(&family, &places, &masses))? else {
            return Ok(None);
        };
        let Some(curvature) = last.hessian.clone().and_then(Cholesky::new) else { return Ok(None) };
        let means = &likelihood.targets - &last.gradient;
        let log_integral = last.value - likelihood.targets.dot(&coefficients);
        let loss = last.value;
        Ok(Some(Self { sample, family, rows, places, coefficients, means, curvature, log_integral, loss }))
    }

    /// Splines along every coordinate.
    pub(super) fn counts(&self) -> Vec<usize> {
        self.family.counts()
    }

    /// The density at the centre of a cell, and how many draws the splines there rest on.
    pub(super) fn cell(&self, weights: &[f64], point: &[f64]) -> Cell {
        let Some(row) = self.family.row(point) else { return Cell { density: 0.0, effective: 0.0 } };
        let mut here = vec![0.0; self.family.len()];
        row.members().for_each(|(j, b)| here[j] = b);
        let mut amounts = vec![0.0; weights.len()];
        for (n, row) in &self.rows {
            amounts[*n] = row.members().map(|(j, b)| here[j] * b).sum();
        }
        let free_energy = self.dot(&self.coefficients, &row) + self.log_integral;
        let empty = is_empty(&self.places, &row);
        let density = if empty { 0.0 } else { self.sample.share * (-free_energy).exp() };
        Cell { density, ..cell_of(weights, &amounts) }
    }

    /// What every draw adds to the logarithm of the density at a point.
    pub(super) fn influence(&self, point: &[f64]) -> Vec<f64> {
        let mut away = -&self.means;
        if let Some(row) = self.family.row(point) {
            kept(&self.places, &row).for_each(|(place, b)| away[place] += b);
        }
        let answer = self.curvature.solve(&away);
        self.column(&answer, 1.0)
    }

    /// `v_n (constant + directionᵀ(B(ξ_n) − m))` of every draw.
    fn column(&self, direction: &DVector<f64>, constant: f64) -> Vec<f64> {
        let shift = constant - direction.dot(&self.means);
        let mut out = vec![0.0; self.sample.inside.len()];
        for (n, row) in &self.rows {
            out[*n] = self.sample.inside[*n] * (shift + self.dot(direction, row));
        }
        out
    }

    /// The loss that is to be expected on other draws (Takeuchi 1976): that on these, and `tr H⁻¹S` with S the covariance of the
    /// weighted means, which knows the weights and the autocorrelation.
    fn expected_loss(&self, reweighting: &Reweighting<'_>, state: usize) -> Result<f64> {
        let size = self.coefficients.len();
        let whitening = self.curvature.l().solve_lower_triangular(&DMatrix::identity(size, size));
        let Some(whitening) = whitening else { return Ok(f64::INFINITY) };
        let mut excess = 0.0;
        for first in (0..size).step_by(AT_A_TIME) {
            let column = |i: usize| self.column(&whitening.row(i).transpose(), 0.0);
            let columns: Vec<Vec<f64>> = map(first..size.min(first + AT_A_TIME), column);
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            excess += reweighting.separately(state, &slices)?.iter().map(|se| se * se).sum::<f64>();
        }
        Ok(self.loss + excess)
    }

    fn dot(&self, values: &DVector<f64>, row: &Row) -> f64 {
        kept(&self.places, row).map(|(place, b)| values[place] * b).sum()
    }
}

/// The members of a row that have a coefficient.
fn kept<'r>(places: &'r [Place], row: &'r Row) -> impl Iterator<Item = (usize, f64)> + 'r {
    row.members().filter_map(|(j, b)| match places[j] {
        Place::Coefficient(place) => Some((place, b)),
        Place::Zero | Place::Empty => None,
    })
}

/// Whether a spline that no draw has a say in is positive there: then the density is zero.
fn is_empty(places: &[Place], row: &Row) -> bool {
    row.members().any(|(j, b)| b > 0.0 && places[j] == Place::Empty)
}

fn places(masses: &[f64]) -> Vec<Place> {
    let heaviest = (0..masses.len()).max_by(|a, b| masses[*a].total_cmp(&masses[*b]));
    let mut next = 0..;
    let place = |(j, mass): (usize, &f64)| {
        if Some(j) == heaviest {
            Place::Zero
        } else if *mass <= 0.0 {
            Place::Empty
        } else {
            Place::Coefficient(next.next().unwrap_or(0))
        }
    };
    masses.iter().enumerate().map(place).collect()
}

/// Where the search begins: minus the logarithm of the mean density over each spline, relative to that over the heaviest.
fn starts(family: &Family, places: &[Place], masses: &[f64]) -> DVector<f64> {
    let mut volumes = vec![0.0; masses.len()];
    for (point, weight) in family.nodes() {
        family.row(&point).iter().flat_map(Row::members).for_each(|(j, b)| volumes[j] += weight * b);
    }
    let free_energy = |j: usize| (volumes[j] / masses[j]).ln();
    let zero = places.iter().position(|place| *place == Place::Zero).map_or(0.0, free_energy);
    let starts = (0..masses.len()).filter(|j| matches!(places[*j], Place::Coefficient(_)));
    DVector::from_iterator(
        places.iter().filter(|place| matches!(place, Place::Coefficient(_))).count(),
        starts.map(|j| free_energy(j) - zero),
    )
}

/// The loss `Σ_n v_n F(ξ_n) + ln ∫ e^(−F)` in the coefficients.
struct Likelihood {
    /// The splines with coefficients at every node of the integral,
    rows: Vec<Vec<(usize, f64)>>,
    /// and the logarithm of its weight.
    log_volumes: Vec<f64>,
    targets: DVector<f64>,
}

impl Likelihood {
    fn new(family: &Family, places: &[Place], masses: &[f64]) -> Self {
        let (mut rows, mut log_volumes) = (Vec::new(), Vec::new());
        for (point, weight) in family.nodes() {
            if let Some(row) = family.row(&point).filter(|row| !is_empty(places, row)) {
                rows.push(kept(places, &row).collect());
                log_volumes.push(weight.ln());
            }
        }
        let with: Vec<f64> = (0..masses.len())
            .filter(|j| matches!(places[*j], Place::Coefficient(_)))
            .map(|j| masses[j])
            .collect();
        Self { rows, log_volumes, targets: DVector::from_vec(with) }
    }

    /// The coefficients of the highest likelihood with the loss there; `None` where it rises for ever.
    fn maximum(&self, start: &DVector<f64>) -> Result<Option<(DVector<f64>, Evaluation)>> {
        let options = DescentOptions { tolerance: 1e-8, max_iterations: STEPS, watch: &|_, _| Ok(()) };
        let mut at = optimize::newton(self, start, &options)?.at;
        // Where there is hardly any weight, coefficients have hardly a say in the loss: plain steps, short of the length at which
        // the exponential leaves its tangent, settle them too.
        for _ in 0..STEPS {
            let here = optimize::Problem::evaluate(self, &at, true)?;
            let Some(factor) = here.hessian.clone().and_then(Cholesky::new) else { return Ok(None) };
            let step = -factor.solve(&here.gradient);
            if step.iter().any(|s| !s.is_finite()) {
                return Ok(None);
            }
            let longest = if step.is_empty() { 0.0 } else { step.amax() };
            if longest <= LAST_STEP {
                return Ok(Some((at, here)));
            }
            at += step * (1.0 / longest).min(1.0);
        }
        Ok(None)
    }
}

impl optimize::Problem for Likelihood {
    type Error = Error;

    fn is_convex(&self) -> bool {
        true
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let size = at.len();
        let free_energy = |row: &[(usize, f64)]| row.iter().map(|(j, b)| at[*j] * b).sum::<f64>();
        let heights: Vec<f64> =
            self.rows.iter().zip(&self.log_volumes).map(|(row, volume)| volume - free_energy(row)).collect();
        let highest = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = heights.iter().map(|height| (height - highest).exp()).sum();
        let log_integral = highest + total.ln();
        let mut means = DVector::zeros(size);
        let mut products = hessian.then(|| DMatrix::zeros(size, size));
        for (row, height) in self.rows.iter().zip(&heights) {
            let share = (height - log_integral).exp();
            for (j, b) in row {
                means[*j] += share * b;
                let Some(products) = &mut products else { continue };
                row.iter().for_each(|(l, c)| products[(*l, *j)] += share * b * c);
            }
        }
        let hessian = products.map(|products| products - &means * means.transpose());
        let value = self.targets.dot(at) + log_integral;
        if !value.is_finite() {
            return Ok(Evaluation::wall(size));
        }
        Ok(Evaluation { value, gradient: &self.targets - means, hessian })
    }
}
