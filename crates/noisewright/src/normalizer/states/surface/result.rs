//! A free energy surface and what the reader should know about it.

use serde::{Serialize, Serializer};

use super::super::result::StatesWarning;
use super::SurfaceReference;
use super::grid::Grid;
use crate::serial::in_words;

/// What the reader should know before trusting a surface.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SurfaceWarning {
    /// What is wrong with the weights of its state: no error is known.
    State(StatesWarning),
    /// Cells that rest on fewer than five effective draws, whose errors are therefore infinite.
    FewDraws {
        /// How many.
        cells: usize,
        /// Of how many.
        of: usize,
    },
}

impl SurfaceWarning {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::State(warning) => warning.code(),
            Self::FewDraws { .. } => "few-draws-in-cells",
        }
    }

    /// How many states must have names for the sentence.
    pub(crate) fn named_states(&self) -> usize {
        match self {
            Self::State(warning) => warning.named_states(),
            Self::FewDraws { .. } => 0,
        }
    }

    /// One sentence, with the states by their names.
    ///
    /// # Panics
    /// When there are fewer names than states.
    #[must_use]
    pub fn sentence<S: AsRef<str>>(&self, names: &[S]) -> String {
        match self {
            Self::State(warning) => warning.sentence(names),
            Self::FewDraws { cells, of } => format!(
                "{cells} of the {of} cells rest on fewer than five effective draws, so their errors are not known: take fewer \
                 cells, or draw more there"
            ),
        }
    }
}

/// The free energy along one or two coordinates.
///
/// Cells are in row-major order, the last coordinate running fastest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Surface {
    pub(super) names: Vec<String>,
    pub(super) state: usize,
    pub(super) grid: Grid,
    pub(super) free_energy: Vec<f64>,
    pub(super) se: Vec<f64>,
    pub(super) draws: Vec<usize>,
    pub(super) effective: Vec<f64>,
    pub(super) bandwidths: Option<Vec<f64>>,
    pub(super) splines: Option<Vec<usize>>,
    pub(super) reference: SurfaceReference,
    pub(super) reference_cell: Option<usize>,
    pub(super) warnings: Vec<SurfaceWarning>,
}

impl Surface {
    /// `−ln p` in every cell, in units of kT, relative to the reference; +∞ where no draw has any weight.
    #[must_use]
    pub fn free_energy(&self) -> &[f64] {
        &self.free_energy
    }

    /// Its standard error: 0 at the reference, infinite for cells that rest on fewer than five effective draws.
    #[must_use]
    pub fn se(&self) -> &[f64] {
        &self.se
    }

    /// The edges of the cells along every coordinate.
    #[must_use]
    pub fn edges(&self) -> &[Vec<f64>] {
        &self.grid.edges
    }

    /// The centres of the cells along every coordinate.
    #[must_use]
    pub fn centres(&self) -> Vec<Vec<f64>> {
        let middle = |edges: &Vec<f64>| edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
        self.grid.edges.iter().map(middle).collect()
    }

    /// The centre of one cell.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn centre(&self, cell: usize) -> Vec<f64> {
        assert!(cell < self.se.len(), "there is no such cell");
        self.grid.centre(cell)
    }

    /// Cells along every coordinate.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        self.grid.shape()
    }

    /// Draws in every cell, of all states.
    #[must_use]
    pub fn draws(&self) -> &[usize] {
        &self.draws
    }

    /// How many draws the weights in every cell are worth.
    #[must_use]
    pub fn ess(&self) -> &[f64] {
        &self.effective
    }

    /// The names of the coordinates.
    #[must_use]
    pub fn coordinates(&self) -> &[String] {
        &self.names
    }

    /// The state whose surface it is.
    #[must_use]
    pub fn state(&self) -> usize {
        self.state
    }

    /// B-splines along every coordinate; `None` for a surface that is not made of them.
    #[must_use]
    pub fn splines(&self) -> Option<&[usize]> {
        self.splines.as_deref()
    }

    /// How the density was made: `histogram`, `kernel` or `spline`.
    #[must_use]
    pub fn smoothing(&self) -> &'static str {
        match (&self.bandwidths, &self.splines) {
            (_, Some(_)) => "spline",
            (Some(_), None) => "kernel",
            (None, None) => "histogram",
        }
    }

    /// The cell that all others are relative to; `None` for a normalized surface.
    #[must_use]
    pub fn reference_cell(&self) -> Option<usize> {
        self.reference_cell
    }

    /// What the reader should know.
    #[must_use]
    pub fn warnings(&self) -> &[SurfaceWarning] {
        &self.warnings
    }

    /// The same with names for the states, to be serialized.
    ///
    /// # Panics
    /// When there are fewer names than states.
    #[must_use]
    pub fn with_names<'a>(&'a self, names: &'a [String]) -> NamedSurface<'a> {
        assert!(self.state < names.len(), "every state needs a name");
        NamedSurface { surface: self, names }
    }
}

impl Serialize for Surface {
    /// With the states numbered from 0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = self.warnings.iter().map(SurfaceWarning::named_states);
        let count = named.fold(self.state + 1, usize::max);
        let numbers: Vec<String> = (0..count).map(|k| k.to_string()).collect();
        self.with_names(&numbers).serialize(serializer)
    }
}

/// A surface with the names of the states.
#[derive(Clone, Copy, Debug)]
pub struct NamedSurface<'a> {
    surface: &'a Surface,
    names: &'a [String],
}

/// Values of cells: a list for one coordinate, a list of rows for two.
struct Cells<'a, T> {
    values: &'a [T],
    shape: &'a [usize],
}

impl<T: Serialize> Serialize for Cells<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.shape {
            [_, columns] => serializer.collect_seq(self.values.chunks(*columns)),
            _ => self.values.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct Fields<'a> {
    coordinates: &'a [String],
    state: &'a str,
    smoothing: &'static str,
    bandwidths: Option<&'a [f64]>,
    splines: Option<&'a [usize]>,
    #[serde(serialize_with = "in_words")]
    reference: &'a SurfaceReference,
    edges: &'a [Vec<f64>],
    centres: Vec<Vec<f64>>,
    free_energy: Cells<'a, f64>,
    se: Cells<'a, f64>,
    draws: Cells<'a, usize>,
    ess: Cells<'a, f64>,
    warnings: Vec<String>,
    warning_codes: Vec<&'static str>,
}

impl Serialize for NamedSurface<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { surface, names } = *self;
        let shape = surface.shape();
        let cells = |values| Cells { values, shape: &shape };
        Fields {
            coordinates: &surface.names,
            state: &names[surface.state],
            smoothing: surface.smoothing(),
            bandwidths: surface.bandwidths.as_deref(),
            splines: surface.splines(),
            reference: &surface.reference,
            edges: surface.edges(),
            centres: surface.centres(),
            free_energy: cells(&surface.free_energy),
            se: cells(&surface.se),
            draws: Cells { values: &surface.draws, shape: &shape },
            ess: cells(&surface.effective),
            warnings: surface.warnings.iter().map(|warning| warning.sentence(names)).collect(),
            warning_codes: surface.warnings.iter().map(SurfaceWarning::code).collect(),
        }
        .serialize(serializer)
    }
}
