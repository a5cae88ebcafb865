//! The rows of a fit, checked once: all in memory, or read again at every pass.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::data::{Data, Dependence, Source, check_total_weight};
use super::density_checks;
use super::loss_terms::Class;
use super::prepare::{pick, spread};
use super::sample_blocks::{CHUNK, HeldPoints, SampleBlocks};
use crate::memory::check_count;
use crate::{Error, Model, Noise, Result, View};

/// Rows that stand for all where not all are needed, at most: noises and pilots are fitted to them. Their number bounds
/// what a stream holds in memory.
pub(crate) const SOME_ROWS: usize = 1 << 18;

/// Rows that have been checked.
#[derive(Clone, Copy)]
pub(crate) enum DataRows<'a> {
    /// All in memory.
    Memory(Data<'a>),
    /// Read again at every pass.
    Stream {
        source: &'a dyn Source,
        /// Number of rows.
        rows: usize,
        /// The sum of their weights.
        total: f64,
        /// [`SOME_ROWS`] of them, spread over all.
        some: Data<'a>,
    },
}

/// Rows spread over all of them, as independent data.
pub(crate) struct SomeRows<'a> {
    points: HeldPoints<'a>,
    weights: Option<Cow<'a, [f64]>>,
}

impl SomeRows<'_> {
    pub(crate) fn data(&self) -> Data<'_> {
        Data { weights: self.weights.as_deref(), ..Data::new(self.points.view()) }
    }

    pub(crate) fn view(&self) -> View<'_> {
        self.points.view()
    }
}

impl<'a> DataRows<'a> {
    /// Rows in memory, checked against the model: their number and shape, domains, weights, and whether the model can have
    /// a density there.
    ///
    /// # Errors
    /// The first thing that is wrong, with its row.
    pub(crate) fn memory(model: &Model, data: Data<'a>) -> Result<Self> {
        data.check(model.space().dimension())?;
        // At least the noise's log-density at every row, and something to work with.
        check_count("rows", data.points.rows(), 2)?;
        let mut first = RowCheck::new(model);
        first.add(data.points, data.weights)?;
        first.finish()?;
        Ok(Self::Memory(data))
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Memory(data) => data.points.rows(),
            Self::Stream { rows, .. } => *rows,
        }
    }

    /// The sum of their weights, T_d.
    pub(crate) fn total_weight(&self) -> f64 {
        match self {
            Self::Memory(data) => data.total_weight(),
            Self::Stream { total, .. } => *total,
        }
    }

    pub(crate) fn dependence(&self) -> Dependence<'a> {
        match self {
            Self::Memory(data) => data.dependence,
            Self::Stream { .. } => Dependence::Independent,
        }
    }

    /// All rows, where they are in memory.
    pub(crate) fn whole(&self) -> Option<Data<'a>> {
        match self {
            Self::Memory(data) => Some(*data),
            Self::Stream { .. } => None,
        }
    }

    /// At most `limit` rows, the same ones wherever the rows are.
    pub(crate) fn spread(&self, limit: usize) -> SomeRows<'a> {
        let (held, ranges) = match self {
            Self::Memory(data) => (data, nested(data.points.rows(), limit)),
            Self::Stream { some, .. } => (some, spread(some.points.rows(), limit)),
        };
        if held.points.rows() <= limit {
            let (points, weights) = (HeldPoints::Borrowed(held.points), held.weights.map(Cow::Borrowed));
            return SomeRows { points, weights };
        }
        let (points, weights) = pick(held.points, held.weights, &ranges);
        SomeRows { points: HeldPoints::Owned(points), weights: weights.map(Cow::Owned) }
    }

    /// The rows as the data side of a contrast with a noise.
    pub(crate) fn against(&self, noise: &Arc<dyn Noise>) -> SampleBlocks<'a> {
        match self {
            Self::Memory(data) => {
                let mut log_noise = vec![0.0; data.points.rows()];
                noise.log_density(data.points, &mut log_noise);
                Self::side(*data, log_noise)
            }
            Self::Stream { source, rows, total, some } => {
                SampleBlocks::stream(*source, noise.clone(), (*rows, *total), *some)
            }
        }
    }

    /// Rows in memory as the data side, with the log-density of the noise at each.
    pub(crate) fn side(data: Data<'a>, log_noise: Vec<f64>) -> SampleBlocks<'a> {
        SampleBlocks::memory(Class::Data, HeldPoints::Borrowed(data.points), data.weights, log_noise)
    }

    /// Passes over all rows, block by block in a fixed order; blocks come without a noise.
    ///
    /// # Errors
    /// When `visit` fails, or the rows cannot be read again.
    pub(crate) fn try_for_each(
        &self,
        mut visit: impl FnMut(usize, View<'_>, Option<&[f64]>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Memory(data) => visit(0, data.points, data.weights),
            Self::Stream { source, .. } => {
                let mut before = 0;
                source.for_each_block(&mut |points, weights| {
                    visit(before, points, weights)?;
                    before += points.rows();
                    Ok(())
                })
            }
        }
    }
}

/// The rows of so many that are held of a stream.
pub(crate) fn held_rows(rows: usize) -> Vec<Range<usize>> {
    spread(rows, SOME_ROWS)
}

/// The rows that [`spread`] picks from those [`SOME_ROWS`] that a stream would hold.
fn nested(rows: usize, limit: usize) -> Vec<Range<usize>> {
    let outer = held_rows(rows);
    let held = outer.iter().map(Range::len).sum();
    spread(held, limit).into_iter().map(|range| outer[range.start / CHUNK].clone()).collect()
}

/// What one reading of all rows checks: every row once.
pub(crate) struct RowCheck<'m> {
    pub(crate) model: &'m Model,
    /// Rows so far.
    pub(crate) rows: usize,
    /// Those with a positive weight.
    counting: usize,
    /// The sum of the weights.
    pub(crate) total: f64,
    /// Of every variable its only value so far, or that it varies.
    constant: Vec<Only>,
}

/// Whether a variable has had one value only.
#[derive(Clone, Copy, PartialEq)]
enum Only {
    Nothing,
    One(f64),
    Several,
}

impl<'m> RowCheck<'m> {
    pub(crate) fn new(model: &'m Model) -> Self {
        let constant = vec![Only::Nothing; model.space().dimension()];
        Self { model, rows: 0, counting: 0, total: 0.0, constant }
    }

    /// Checks the next rows.
    ///
    /// # Errors
    /// A value outside its domain, a weight that is none, a row at which the model can have no density.
    pub(crate) fn add(&mut self, points: View<'_>, weights: Option<&[f64]>) -> Result<()> {
        if let Some((row, value)) = weights.and_then(first_wrong_weight) {
            return Err(Error::Weight { row: self.rows + row + 1, value });
        }
        let data = Data { weights, ..Data::new(points) };
        self.model.space().check_rows(points, weights, self.rows)?;
        self.model.check_score_once(&self.model.start(), points)?;
        density_checks::check_statistics(self.model, data, self.rows)?;
        for (j, only) in self.constant.iter_mut().enumerate().filter(|(_, only)| **only != Only::Several) {
            let counts = |row: usize| weights.is_none_or(|w| w[row] > 0.0);
            let values = points.column(j).iter().enumerate().filter(|(row, _)| counts(*row));
            *only = values.fold(*only, |only, (_, x)| match only {
                Only::Nothing => Only::One(*x),
                Only::One(value) if value == *x => only,
                _ => Only::Several,
            });
        }
        self.rows += points.rows();
        self.counting += weights.map_or(points.rows(), |w| w.iter().filter(|w| **w > 0.0).count());
        self.total += data.total_weight();
        Ok(())
    }

    /// Checks what only all rows together tell.
    ///
    /// # Errors
    /// No rows, fewer than unknowns, or a variable that never varies.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.counting == 0 {
            return Err(Error::NoData);
        }
        let (rows, coordinates) = (self.counting, self.model.coordinates().len());
        if rows < coordinates {
            return Err(Error::TooFewPoints { rows, coordinates });
        }
        check_total_weight(self.total, coordinates)?;
        for (column, only) in self.model.space().names().iter().zip(&self.constant) {
            if let Only::One(value) = only {
                return Err(Error::ConstantColumn { column: column.clone(), value: *value });
            }
        }
        Ok(())
    }
}

fn first_wrong_weight(weights: &[f64]) -> Option<(usize, f64)> {
    let row = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite()))?;
    Some((row, weights[row]))
}
