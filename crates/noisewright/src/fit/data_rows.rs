//! The rows of a fit, checked once: all in memory, read again at every pass, or with other processes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use noisewright_numerics::summation::try_blocked;

use super::data::{Data, Dependence, check_total_weight};
use super::density_checks;
use super::distributed::{Host, Partial, partial_fields};
use super::loss_terms::Class;
use super::prepare::{pick, spread};
use super::sample_blocks::{BLOCK, CHUNK, HeldPoints, SampleBlocks};
use super::stream::Elsewhere;
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
    /// Read again at every pass, or with other processes.
    Elsewhere {
        source: Elsewhere<'a>,
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

impl<'a> SomeRows<'a> {
    /// At most `limit` of all rows: those that would be taken if only [`SOME_ROWS`] of them were held.
    pub(crate) fn of_all(points: View<'a>, weights: Option<&'a [f64]>, limit: usize) -> Self {
        Self::picked(points, weights, limit, nested)
    }

    /// At most `limit` of the rows that are held.
    pub(crate) fn of_held(points: View<'a>, weights: Option<&'a [f64]>, limit: usize) -> Self {
        Self::picked(points, weights, limit, spread)
    }

    fn picked(
        points: View<'a>,
        weights: Option<&'a [f64]>,
        limit: usize,
        ranges: impl Fn(usize, usize) -> Vec<Range<usize>>,
    ) -> Self {
        if points.rows() <= limit {
            return Self { points: HeldPoints::Borrowed(points), weights: weights.map(Cow::Borrowed) };
        }
        let (points, weights) = pick(points, weights, &ranges(points.rows(), limit));
        Self { points: HeldPoints::Owned(points), weights: weights.map(Cow::Owned) }
    }
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
        let rows = Self::Memory(data);
        let check = |before: usize, points: View<'_>, weights: Option<&[f64]>| {
            RowCheck::of(model, before, points, weights)
        };
        rows.reduce(check, RowCheck::join)?.unwrap_or_else(|| RowCheck::nothing(model)).finish(model)?;
        Ok(rows)
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Memory(data) => data.points.rows(),
            Self::Elsewhere { rows, .. } => *rows,
        }
    }

    /// The sum of their weights, T_d.
    pub(crate) fn total_weight(&self) -> f64 {
        match self {
            Self::Memory(data) => data.total_weight(),
            Self::Elsewhere { total, .. } => *total,
        }
    }

    /// How the rows depend on one another; the clusters of rows that are not in memory are those of the rows that are held.
    pub(crate) fn dependence(&self) -> Dependence<'a> {
        match self {
            Self::Memory(data) => data.dependence,
            Self::Elsewhere { some, .. } => some.dependence,
        }
    }

    /// All rows, where they are in memory.
    pub(crate) fn whole(&self) -> Option<Data<'a>> {
        match self {
            Self::Memory(data) => Some(*data),
            Self::Elsewhere { .. } => None,
        }
    }

    /// At most `limit` rows, the same ones wherever the rows are.
    pub(crate) fn spread(&self, limit: usize) -> SomeRows<'a> {
        match self {
            Self::Memory(data) => SomeRows::of_all(data.points, data.weights, limit),
            Self::Elsewhere { some, .. } => SomeRows::of_held(some.points, some.weights, limit),
        }
    }

    /// The rows as the data side of a contrast with a noise.
    pub(crate) fn against(&self, noise: &Arc<dyn Noise>) -> SampleBlocks<'a> {
        match self {
            Self::Memory(data) => {
                let mut log_noise = vec![0.0; data.points.rows()];
                noise.log_density(data.points, &mut log_noise);
                Self::side(*data, log_noise)
            }
            Self::Elsewhere { source, rows, total, some } => {
                SampleBlocks::elsewhere(Class::Data, *source, Some(noise.clone()), (*rows, *total), *some)
            }
        }
    }

    /// Rows in memory as the data side, with the log-density of the noise at each.
    pub(crate) fn side(data: Data<'a>, log_noise: Vec<f64>) -> SampleBlocks<'a> {
        SampleBlocks::memory(Class::Data, HeldPoints::Borrowed(data.points), data.weights, log_noise)
    }

    /// Who sums over the rows, where other processes do.
    pub(crate) fn host(&self) -> Option<&'a dyn Host> {
        match self {
            Self::Memory(_) => None,
            Self::Elsewhere { source, .. } => source.host(),
        }
    }

    /// Reduces all rows block by block in a fixed tree: `map` is given the number of rows before a block, its points and their
    /// weights.
    ///
    /// # Errors
    /// When `map` fails, or the rows cannot be read again.
    pub(crate) fn reduce<T: Send + Partial>(
        &self,
        map: impl Fn(usize, View<'_>, Option<&[f64]>) -> Result<T> + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Result<Option<T>> {
        match self {
            Self::Memory(data) => {
                let block = |range: Range<usize>| {
                    map(range.start, data.points.slice(range.clone()), data.weights.map(|w| &w[range]))
                };
                try_blocked(data.points.rows(), BLOCK, block, combine)
            }
            Self::Elsewhere { source, rows, .. } => {
                source.reduce(*rows, &combine, |index, points, weights| map(index * BLOCK, points, weights))
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

/// What one reading of all rows finds, every row having been checked once.
pub(crate) struct RowCheck {
    /// Number of rows.
    pub(crate) rows: usize,
    /// Those with a positive weight.
    pub(crate) counting: usize,
    /// The sum of the weights.
    pub(crate) total: f64,
    /// Of every variable its only value, or that it varies.
    constant: Vec<Only>,
}

partial_fields!(RowCheck { rows, counting, total, constant });

/// Whether a variable has had one value only.
#[derive(Clone, Copy, PartialEq)]
enum Only {
    Nothing,
    One(f64),
    Several,
}

impl Only {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, only) | (only, Self::Nothing) => only,
            (Self::One(a), Self::One(b)) if a == b => self,
            _ => Self::Several,
        }
    }
}

impl Partial for Only {
    fn write(&self, out: &mut Vec<u8>) {
        let value = if let Self::One(value) = self { Some(*value) } else { None };
        ((*self == Self::Several), value).write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let (several, value) = <(bool, Option<f64>)>::read(from)?;
        Some(if several { Self::Several } else { value.map_or(Self::Nothing, Self::One) })
    }
}

impl RowCheck {
    /// Of no rows.
    pub(crate) fn nothing(model: &Model) -> Self {
        let constant = vec![Only::Nothing; model.space().dimension()];
        Self { rows: 0, counting: 0, total: 0.0, constant }
    }

    /// Checks a block of rows, with so many before it.
    ///
    /// # Errors
    /// A value outside its domain, a weight that is none, a row at which the model can have no density.
    pub(crate) fn of(
        model: &Model,
        before: usize,
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let found = Self::of_sample(model, before, points, weights)?;
        // The same rows on any number of threads.
        if before == 0 {
            model.check_score_once(&model.start(), points)?;
        }
        density_checks::check_statistics(model, Data { weights, ..Data::new(points) }, before)?;
        Ok(found)
    }

    /// The same for rows of which no density is fitted: one of the samples of a ratio.
    ///
    /// # Errors
    /// A value outside its domain, a weight that is none.
    pub(crate) fn of_sample(
        model: &Model,
        before: usize,
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        if let Some((row, value)) = weights.and_then(first_wrong_weight) {
            return Err(Error::Weight { row: before + row + 1, value });
        }
        model.space().check_rows(points, weights, before)?;
        let data = Data { weights, ..Data::new(points) };
        let counts = |row: usize| weights.is_none_or(|w| w[row] > 0.0);
        let only = |j: usize| {
            let mut values = points.column(j).iter().enumerate().filter(|(row, _)| counts(*row));
            let varies = |only: Only, (_, x): (usize, &f64)| match only.join(Only::One(*x)) {
                Only::Several => Err(Only::Several),
                only => Ok(only),
            };
            values.try_fold(Only::Nothing, varies).unwrap_or_else(|several| several)
        };
        Ok(Self {
            rows: points.rows(),
            counting: weights.map_or(points.rows(), |w| w.iter().filter(|w| **w > 0.0).count()),
            total: data.total_weight(),
            constant: (0..points.columns()).map(only).collect(),
        })
    }

    /// Of two neighbouring parts of the rows.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.counting += other.counting;
        self.total += other.total;
        self.constant.iter_mut().zip(other.constant).for_each(|(a, b)| *a = a.join(b));
        self
    }

    /// Checks what only all rows together tell.
    ///
    /// # Errors
    /// No rows, fewer than unknowns, or a variable that never varies.
    pub(crate) fn finish(&self, model: &Model) -> Result<()> {
        if self.counting == 0 {
            return Err(Error::NoData);
        }
        let (rows, coordinates) = (self.counting, model.coordinates().len());
        if rows < coordinates {
            return Err(Error::TooFewPoints { rows, coordinates });
        }
        check_total_weight(self.total, coordinates)?;
        for (column, only) in model.space().names().iter().zip(&self.constant) {
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
