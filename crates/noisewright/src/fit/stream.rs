//! Fits of rows that are not in memory: every pass reads them again, or lets others sum over them.

use std::collections::BTreeMap;
use std::ops::Range;

use noisewright_numerics::summation::blocked;

use super::data::{Data, Source};
use super::data_rows::{DataRows, RowCheck, SOME_ROWS, held_rows};
use super::distributed::{Host, Partial, reduce_by};
use super::fit_against_noise::needs_memory;
use super::fit_rows;
use super::noise_choice::is_exact;
use super::options::{FitOptions, NoiseChoice};
use super::result::Fit;
use super::sample_blocks::{BLOCK, for_each_fixed, map_blocks, reduce_stream};
use crate::run::Stage;
use crate::{Error, Model, Points, Result, View};

/// Fits a model to rows that are read in blocks, again in every pass, in bounded memory.
///
/// The answer is that of [`Model::fit`] on the same rows, to the bit: the noise is the same, the sums are taken in the
/// same order, and the same is checked and said. Up to 2¹⁸ rows are held in memory; of more rows as many, spread over all, to
/// choose the noise and start from. Rows are taken to be independent.
///
/// ```
/// use noisewright::{Model, Normal, Points, Result, Space, sample};
/// use noisewright::fit::{Amount, FitOptions, Source, Visit, fit_stream};
///
/// /// Rows in memory that pretend to come from elsewhere, a thousand at a time.
/// struct Blocks(Points);
///
/// impl Source for Blocks {
///     fn dimension(&self) -> usize {
///         1
///     }
///     fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
///         (0..self.0.rows()).step_by(1000).try_for_each(|start| {
///             visit(self.0.view().slice(start..self.0.rows().min(start + 1000)), None)
///         })
///     }
/// }
///
/// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
/// let points = sample(&Normal::with_variance(0.0, 1.0)?, 5000, 0);
/// let options = FitOptions { amount: Amount::Ratio(1.0), ..FitOptions::default() };
/// let whole = model.fit(&points).options(options.clone()).run()?;
/// let streamed = fit_stream(&model, &Blocks(points), &options)?;
/// assert!((whole.parameters[1].estimate - streamed.parameters[1].estimate).abs() < 1e-10);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`Model::fit`], and when the rows cannot be read. Given draws are refused, and exact fits unless the
/// variables have finitely many states: they need the rows in memory.
pub fn fit_stream(model: &Model, source: &dyn Source, options: &FitOptions) -> Result<Fit> {
    fit_elsewhere(model, Elsewhere::Source(source), options)
}

/// Rows that are not in memory.
#[derive(Clone, Copy)]
pub(crate) enum Elsewhere<'a> {
    /// Read again at every pass.
    Source(&'a dyn Source),
    /// With other processes, which sum over them: the rows of this sample.
    Host(&'a dyn Host, usize),
}

impl<'a> Elsewhere<'a> {
    pub(crate) fn dimension(self) -> usize {
        match self {
            Self::Source(source) => source.dimension(),
            Self::Host(host, _) => host.dimension(),
        }
    }

    /// Number of rows, where it is known before they are read.
    fn rows(self) -> Option<usize> {
        match self {
            Self::Source(source) => source.rows(),
            Self::Host(host, sample) => Some(host.rows(sample)),
        }
    }

    /// Who sums over the rows, where others do.
    pub(crate) fn host(self) -> Option<&'a dyn Host> {
        match self {
            Self::Source(_) => None,
            Self::Host(host, _) => Some(host),
        }
    }

    /// Says that all rows are here now: replicas of a fit that others coordinate have nothing left to sum over, and end.
    ///
    /// # Errors
    /// In a replica.
    pub(crate) fn goes_on_alone(self) -> Result<()> {
        self.host().map_or(Ok(()), Host::goes_on_alone)
    }

    /// Reduces the rows, whose number is known, in the same tree as rows in memory.
    ///
    /// # Errors
    /// Those of `map` for the first block that has one, and when the rows cannot be read.
    pub(crate) fn reduce<T: Send + Partial>(
        self,
        rows: usize,
        combine: &(impl Fn(T, T) -> T + Sync),
        map: impl Fn(usize, View<'_>, Option<&[f64]>) -> Result<T> + Sync,
    ) -> Result<Option<T>> {
        match self {
            Self::Source(source) => reduce_stream(source, rows, combine, map),
            Self::Host(host, sample) => reduce_by(host, (rows, Some(sample)), combine, map),
        }
    }
}

/// Fits a model to rows that are not in memory.
///
/// # Errors
/// As for [`fit_stream`].
pub(crate) fn fit_elsewhere(model: &Model, source: Elsewhere<'_>, options: &FitOptions) -> Result<Fit> {
    options.check()?;
    if options.choices.is_some() {
        return Err(needs_memory("choices"));
    }
    if model.is_conditional() {
        let reason = "cannot stand beside streaming, since every row has noise points of its own: leave one of them out";
        return Err(Error::field("covariates", reason));
    }
    let options = &options.for_run();
    let model = &model.with_cancel(&options.cancel);
    options.context().conclude(read_and_fit(model, source, options))
}

fn read_and_fit(model: &Model, source: Elsewhere<'_>, options: &FitOptions) -> Result<Fit> {
    let (expected, found) = (model.space().dimension(), source.dimension());
    if expected != found {
        return Err(Error::Shape { what: "columns of data", expected, found });
    }
    let counted = is_exact(model, options) && model.space().state_count().is_some();
    if matches!(options.noise, NoiseChoice::Draws(_)) || (is_exact(model, options) && !counted) {
        return Err(needs_memory("noise"));
    }
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let (check, (points, weights)) = first_reading(model, source, RowCheck::of)?;
    check.finish(model)?;
    let RowCheck { rows, total, .. } = check;
    if counted && rows > SOME_ROWS {
        let (points, weights) = count_states(source, rows)?;
        let data = Data { weights: Some(&weights), ..Data::from(&points) };
        source.goes_on_alone()?;
        let fit = fit_rows(model, DataRows::Memory(data), options)?;
        return Ok(Fit { rows, ..fit });
    }
    let some = Data { weights: weights.as_deref(), ..Data::from(&points) };
    let all = if rows <= SOME_ROWS {
        source.goes_on_alone()?;
        DataRows::Memory(some)
    } else {
        DataRows::Elsewhere { source, rows, total, some }
    };
    fit_rows(model, all, options)
}

/// At most [`SOME_ROWS`] rows that are spread over all, the same that would be picked from memory, and their weights.
pub(crate) type HeldRows = (Points, Option<Vec<f64>>);

/// All rows, every one checked, and some of them: in one reading where their number is known beforehand, in two otherwise.
///
/// # Errors
/// Those of the check, for the first block that has one, and when the rows cannot be read.
pub(crate) fn first_reading(
    model: &Model,
    source: Elsewhere<'_>,
    check: impl Fn(&Model, usize, View<'_>, Option<&[f64]>) -> Result<RowCheck> + Sync,
) -> Result<(RowCheck, HeldRows)> {
    let Some(rows) = source.rows() else {
        let found = counted(model, source, check)?;
        let ranges = held_rows(found.rows);
        let some = source.reduce(found.rows, &appended, |index, points, weights| {
            Ok(chosen(&ranges, index, points, weights))
        })?;
        return Ok((found, held(source.dimension(), some.unwrap_or_default())));
    };
    let ranges = held_rows(rows);
    let block = |index: usize, points: View<'_>, weights: Option<&[f64]>| {
        model.check_run()?;
        Ok((check(model, index * BLOCK, points, weights)?, chosen(&ranges, index, points, weights)))
    };
    let join = |a: (RowCheck, SomeColumns), b: (RowCheck, SomeColumns)| (a.0.join(b.0), appended(a.1, b.1));
    let found = source.reduce(rows, &join, block)?;
    let (found, some) = found.unwrap_or_else(|| (RowCheck::nothing(model), SomeColumns::default()));
    Ok((found, held(source.dimension(), some)))
}

/// A reading of rows whose number is not known.
fn counted(
    model: &Model,
    source: Elsewhere<'_>,
    check: impl Fn(&Model, usize, View<'_>, Option<&[f64]>) -> Result<RowCheck> + Sync,
) -> Result<RowCheck> {
    let Elsewhere::Source(source) = source else {
        return Err(Error::internal("other processes know how many rows they have"));
    };
    let block = |index: usize, points: View<'_>, weights: Option<&[f64]>| {
        check(model, index * BLOCK, points, weights)
    };
    let mut all = RowCheck::nothing(model);
    // The tree that the weights are summed in depends on the number of blocks, which is known at the end.
    let mut totals = Vec::new();
    for_each_fixed(source, &mut |blocks| {
        model.check_run()?;
        let found = map_blocks(source.dimension(), blocks, block);
        for block in found {
            let block = block?;
            totals.push(block.total);
            all = std::mem::replace(&mut all, RowCheck::nothing(model)).join(block);
        }
        blocks.clear();
        Ok(())
    })?;
    all.total = blocked(totals.len(), 1, |range| totals[range.start], |a, b| a + b).unwrap_or(0.0);
    Ok(all)
}

/// Columns of some rows, and their weights where they have any.
type SomeColumns = (Vec<Vec<f64>>, Option<Vec<f64>>);

/// The rows of two neighbouring blocks.
fn appended(mut left: SomeColumns, right: SomeColumns) -> SomeColumns {
    let rows = |columns: &[Vec<f64>]| columns.first().map_or(0, Vec::len);
    let (before, after) = (rows(&left.0), rows(&right.0));
    left.0.iter_mut().zip(right.0).for_each(|(left, right)| left.extend(right));
    let ones = |count: usize| vec![1.0; count];
    let weights = match (left.1, right.1) {
        (None, None) => None,
        (a, b) => Some([a.unwrap_or_else(|| ones(before)), b.unwrap_or_else(|| ones(after))].concat()),
    };
    (left.0, weights)
}

/// The rows of a block that are held.
fn chosen(ranges: &[Range<usize>], index: usize, points: View<'_>, weights: Option<&[f64]>) -> SomeColumns {
    let first = index * BLOCK;
    let end = first + points.rows();
    let here = &ranges[ranges.partition_point(|r| r.end <= first)..ranges.partition_point(|r| r.start < end)];
    let parts = || here.iter().map(|range| range.start.max(first) - first..range.end.min(end) - first);
    let column = |j: usize| parts().flat_map(|part| &points.column(j)[part]).copied().collect();
    let weights = weights.map(|w| parts().flat_map(|part| &w[part]).copied().collect());
    ((0..points.columns()).map(column).collect(), weights)
}

fn held(dimension: usize, (columns, weights): SomeColumns) -> HeldRows {
    let count = columns.first().map_or(0, Vec::len);
    (Points::unnamed(dimension, count, columns.concat()), weights)
}

/// All states that the rows are in, and how often each came.
fn count_states(source: Elsewhere<'_>, rows: usize) -> Result<(Points, Vec<f64>)> {
    type Counts = BTreeMap<Vec<u64>, f64>;
    let block = |_: usize, points: View<'_>, weights: Option<&[f64]>| {
        let mut states = Counts::new();
        for row in 0..points.rows() {
            let state = (0..points.columns()).map(|j| points.get(row, j).to_bits()).collect();
            *states.entry(state).or_insert(0.0) += weights.map_or(1.0, |w| w[row]);
        }
        Ok(states)
    };
    let join = |mut left: Counts, right: Counts| {
        right.into_iter().for_each(|(state, count)| *left.entry(state).or_insert(0.0) += count);
        left
    };
    let states = source.reduce(rows, &join, block)?.unwrap_or_default();
    let column = |j: usize| states.keys().map(move |state| f64::from_bits(state[j]));
    let values = (0..source.dimension()).flat_map(column).collect();
    Ok((Points::unnamed(source.dimension(), states.len(), values), states.into_values().collect()))
}
