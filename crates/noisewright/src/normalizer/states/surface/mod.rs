//! Free energy surfaces: `−ln p(ξ)` along one or two coordinates under any state, by histograms, kernels or splines.
//!
//! The amount that draw n adds to a cell is `W_n A(x_n)`, with A the indicator of the cell over its volume or a kernel about
//! its centre: so the density in a cell is a mean like any other, and the error of its logarithm relative to another
//! cell's is that of `W_n (A/⟨A⟩ − A'/⟨A'⟩)`.

mod basis;
mod grid;
mod result;
mod spline;

pub use grid::Bins;
pub use result::{NamedSurface, Surface, SurfaceWarning};

use std::fmt;

use noisewright_numerics::parallel::map;

use self::grid::Grid;
use self::spline::Spline;
use super::expectations::check_column;
use super::reweighting::Reweighting;
use crate::tolerance::FEWEST_CROSSINGS;
use crate::{Error, Result};

/// Cells whose errors are found in one pass over the draws: their columns stay in a few tens of megabytes for 10⁵ draws.
const AT_A_TIME: usize = 16;

/// A coordinate at every draw.
#[derive(Clone, Debug)]
pub struct Coordinate<'a> {
    /// Its name.
    pub name: String,
    /// Its value at every draw of the pool, in the pool's order.
    pub values: &'a [f64],
}

impl<'a> Coordinate<'a> {
    /// A coordinate by its name and its values.
    #[must_use]
    pub fn new(name: impl Into<String>, values: &'a [f64]) -> Self {
        Self { name: name.into(), values }
    }
}

/// How the density is made from weighted draws.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Smoothing {
    /// The share of every cell over its volume.
    #[default]
    Histogram,
    /// A normal kernel about the centre of every cell. Its error does not contain the bias of the smoothing.
    Kernel {
        /// Its standard deviation along every coordinate, or one for all; Silverman's rule from the weights by default.
        bandwidths: Option<Vec<f64>>,
    },
    /// The free energy is a spline, that of the highest weighted likelihood between the outermost edges (Shirts and Ferguson 2020).
    /// Its error does not contain what a spline cannot follow.
    Spline {
        /// The number of B-splines along every coordinate, or one for all; by default that with the smallest expected loss on
        /// other draws (Takeuchi's criterion).
        counts: Option<Vec<usize>>,
        /// The degree of its polynomials, 3 for cubic ones.
        degree: usize,
    },
}

/// What a surface is relative to.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SurfaceReference {
    /// Its lowest cell.
    #[default]
    Lowest,
    /// The cell around a point.
    Point(Vec<f64>),
    /// Nothing: it is −ln of the normalized density.
    Normalized,
}

impl fmt::Display for SurfaceReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lowest => f.write_str("lowest"),
            Self::Point(_) => f.write_str("point"),
            Self::Normalized => f.write_str("normalized"),
        }
    }
}

/// Cells, smoothing and reference of a surface.
#[derive(Clone, Debug, Default)]
pub struct SurfaceOptions {
    /// The cells along every coordinate, or one for all; 50 along one and 30 along each of two by default.
    pub bins: Vec<Bins>,
    /// How the density is made; a histogram by default.
    pub smoothing: Smoothing,
    /// What it is relative to; the lowest cell by default.
    pub reference: SurfaceReference,
    #[doc(hidden)]
    pub more: crate::More,
}

/// The amounts that draws add to cells.
struct Amounts<'a> {
    grid: &'a Grid,
    coordinates: &'a [Coordinate<'a>],
    /// The cell of each draw, for histograms.
    cells: &'a [Option<u32>],
    bandwidths: Option<&'a [f64]>,
}

impl Amounts<'_> {
    /// A of every draw for one cell.
    fn of(&self, cell: usize) -> Vec<f64> {
        let Some(bandwidths) = self.bandwidths else {
            let height = 1.0 / self.grid.volume(cell);
            return self
                .cells
                .iter()
                .map(|own| if *own == Some(cell as u32) { height } else { 0.0 })
                .collect();
        };
        let centre = self.grid.centre(cell);
        let draws = self.cells.len();
        let mut log_kernel = vec![0.0; draws];
        for ((coordinate, centre), h) in self.coordinates.iter().zip(&centre).zip(bandwidths) {
            let constant = h.ln() + 0.5 * std::f64::consts::TAU.ln();
            for (out, x) in log_kernel.iter_mut().zip(coordinate.values) {
                *out -= 0.5 * ((x - centre) / h).powi(2) + constant;
            }
        }
        log_kernel.iter().map(|l| l.exp()).collect()
    }
}

/// Where the density in a cell comes from.
enum Source<'a> {
    /// The mean of the amounts.
    Mean(Amounts<'a>),
    Spline(Box<Spline<'a>>),
}

impl Source<'_> {
    fn cell(&self, grid: &Grid, weights: &[f64], cell: usize) -> Cell {
        match self {
            Self::Mean(amounts) => cell_of(weights, &amounts.of(cell)),
            Self::Spline(spline) => spline.cell(weights, &grid.centre(cell)),
        }
    }

    /// What every draw adds to the logarithm of the density in a cell.
    fn influence(&self, grid: &Grid, weights: &[f64], cell: usize, density: f64) -> Vec<f64> {
        match self {
            Self::Mean(amounts) => {
                amounts.of(cell).iter().zip(weights).map(|(a, w)| w * a / density).collect()
            }
            Self::Spline(spline) => spline.influence(&grid.centre(cell)),
        }
    }
}

/// One cell.
struct Cell {
    density: f64,
    effective: f64,
}

/// The surface with its errors.
pub(super) fn estimate(
    reweighting: &Reweighting<'_>,
    coordinates: &[Coordinate<'_>],
    state: usize,
    options: &SurfaceOptions,
) -> Result<Surface> {
    for coordinate in coordinates {
        check_column(&coordinate.name, coordinate.values, reweighting.draws())?;
    }
    let grid = Grid::new(coordinates, &options.bins)?;
    let place = reweighting.place(state)?;
    let weights = reweighting.weights_at(&reweighting.log_mixture()?, place)?;
    let cells = grid.cells(coordinates);
    let bandwidths = bandwidths(&options.smoothing, coordinates, &weights)?;
    let (sample, source);
    let mut splines = None;
    if let Smoothing::Spline { counts, degree } = &options.smoothing {
        sample = spline::Sample::new(coordinates, &weights, &grid)?;
        let spline = spline::fit(&sample, reweighting, state, counts.as_deref(), *degree)?;
        splines = Some(spline.counts());
        source = Source::Spline(Box::new(spline));
    } else {
        let bandwidths = bandwidths.as_deref();
        source = Source::Mean(Amounts { grid: &grid, coordinates, cells: &cells, bandwidths });
    }
    let found: Vec<Cell> = map(0..grid.len(), |cell| source.cell(&grid, &weights, cell));
    let reference = reference(&options.reference, &grid, &found)?;
    let se = errors(reweighting, state, &weights, &source, &grid, &found, reference)?;
    let zero = reference.map_or(0.0, |cell| -found[cell].density.ln());
    Ok(Surface {
        free_energy: found.iter().map(|cell| -cell.density.ln() - zero).collect(),
        effective: found.iter().map(|cell| cell.effective).collect(),
        draws: grid.counts(&cells),
        names: coordinates.iter().map(|coordinate| coordinate.name.clone()).collect(),
        bandwidths,
        splines,
        reference: options.reference.clone(),
        reference_cell: reference,
        warnings: warnings(reweighting, place, state, &found),
        grid,
        se,
        state,
    })
}

/// What is wrong with the state's weights, and cells with too few draws.
fn warnings(
    reweighting: &Reweighting<'_>,
    place: usize,
    state: usize,
    found: &[Cell],
) -> Vec<SurfaceWarning> {
    let heavy = reweighting.heavy(place).map(|heavy| SurfaceWarning::State(heavy.warning(state)));
    let few = found.iter().filter(|cell| cell.density > 0.0 && !cell.is_known()).count();
    let few = (few > 0).then_some(SurfaceWarning::FewDraws { cells: few, of: found.len() });
    heavy.into_iter().chain(few).collect()
}

impl Cell {
    /// Whether it rests on draws enough for its error to be known.
    fn is_known(&self) -> bool {
        self.effective >= FEWEST_CROSSINGS
    }
}

fn cell_of(weights: &[f64], amounts: &[f64]) -> Cell {
    let (mut sum, mut squares) = (0.0, 0.0);
    for (w, a) in weights.iter().zip(amounts) {
        sum += w * a;
        squares += (w * a) * (w * a);
    }
    Cell { density: sum, effective: if squares > 0.0 { sum * sum / squares } else { 0.0 } }
}

/// The cell that all others are relative to.
fn reference(asked: &SurfaceReference, grid: &Grid, found: &[Cell]) -> Result<Option<usize>> {
    let highest = |cells: &mut dyn Iterator<Item = usize>| {
        cells.max_by(|a, b| found[*a].density.total_cmp(&found[*b].density))
    };
    let nothing = || Error::option("bins", "have no draw in any of them");
    match asked {
        SurfaceReference::Normalized => Ok(None),
        SurfaceReference::Lowest => {
            let trusted = highest(&mut (0..grid.len()).filter(|cell| found[*cell].is_known()));
            let any =
                trusted.or_else(|| highest(&mut (0..grid.len()).filter(|cell| found[*cell].density > 0.0)));
            any.map(Some).ok_or_else(nothing)
        }
        SurfaceReference::Point(point) => {
            let outside =
                || Error::option("reference", "is a point outside the cells, or in one without draws");
            let cell = grid.cell(point).filter(|cell| found[*cell].density > 0.0);
            cell.map(Some).ok_or_else(outside)
        }
    }
}

/// The errors of `−ln` of the densities of all cells, relative to the reference; infinite where they are not known.
fn errors(
    reweighting: &Reweighting<'_>,
    state: usize,
    weights: &[f64],
    source: &Source<'_>,
    grid: &Grid,
    found: &[Cell],
    reference: Option<usize>,
) -> Result<Vec<f64>> {
    let mut se = vec![f64::INFINITY; grid.len()];
    let heavy = reweighting.heavy(reweighting.place(state)?).is_some();
    if heavy || reference.is_some_and(|cell| !found[cell].is_known()) {
        return Ok(se);
    }
    let influence = |cell: usize| source.influence(grid, weights, cell, found[cell].density);
    let zero = reference.map_or_else(|| weights.to_vec(), influence);
    let column =
        |cell: &usize| -> Vec<f64> { influence(*cell).iter().zip(&zero).map(|(a, zero)| a - zero).collect() };
    let wanted: Vec<usize> = (0..grid.len()).filter(|cell| found[*cell].is_known()).collect();
    for part in wanted.chunks(AT_A_TIME) {
        let columns: Vec<Vec<f64>> = map(part, column);
        // One at a time for chains: the covariance between cells is not asked for.
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let errors = reweighting.separately(state, &slices)?;
        part.iter().zip(errors).for_each(|(cell, error)| se[*cell] = error);
    }
    Ok(se)
}

/// The bandwidths along the coordinates, for kernels.
fn bandwidths(
    smoothing: &Smoothing,
    coordinates: &[Coordinate<'_>],
    weights: &[f64],
) -> Result<Option<Vec<f64>>> {
    let Smoothing::Kernel { bandwidths } = smoothing else { return Ok(None) };
    let count = coordinates.len();
    let Some(given) = bandwidths else { return Ok(Some(silverman(coordinates, weights))) };
    let all = if given.len() == 1 { vec![given[0]; count] } else { given.clone() };
    if all.len() != count {
        return Err(Error::Shape { what: "bandwidths", expected: count, found: all.len() });
    }
    match all.iter().find(|h| !(**h > 0.0 && h.is_finite())) {
        Some(&value) => Err(Error::range("bandwidths", "positive numbers", value)),
        None => Ok(Some(all)),
    }
}

/// Silverman's rule: `σ (4/((d + 2) n))^(1/(d + 4))` with Kish's effective number of draws for n.
fn silverman(coordinates: &[Coordinate<'_>], weights: &[f64]) -> Vec<f64> {
    let dimensions = coordinates.len() as f64;
    let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
    let factor = (4.0 / ((dimensions + 2.0) * effective)).powf(1.0 / (dimensions + 4.0));
    let deviation = |values: &[f64]| {
        let mean: f64 = weights.iter().zip(values).map(|(w, x)| w * x).sum();
        weights.iter().zip(values).map(|(w, x)| w * (x - mean).powi(2)).sum::<f64>().sqrt()
    };
    coordinates
        .iter()
        .map(|coordinate| (factor * deviation(coordinate.values)).max(f64::MIN_POSITIVE))
        .collect()
}
