//! Fits of rows that are not in memory: every pass reads them again, or lets others sum over them.

use std::collections::BTreeMap;
use std::ops::Range;

use noisewright_numerics::summation::blocked;

use super::data::{Data, Dependence, Source};
use super::data_rows::{DataRows, RowCheck, SOME_ROWS, held_rows};
use super::distributed::{Host, Partial, reduce_by};
use super::fit_against_noise::needs_memory;
use super::fit_rows;
use super::noise_choice::is_exact;
use super::options::{FitOptions, NoiseChoice};
use super::result::Fit;
use super::sample_blocks::{BLOCK, columns, for_each_fixed, map_blocks, reduce_stream};
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

    /// Whether a column of cluster numbers comes after the variables.
    pub(crate) fn has_clusters(self) -> bool {
        match self {
            Self::Source(source) => source.has_clusters(),
            Self::Host(host, sample) => sample == 0 && host.has_clusters(),
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
        self.reduce_read(rows, combine, |index, read| map(index, read.points, read.weights))
    }

    /// The same with all that is read of the rows.
    ///
    /// # Errors
    /// As for [`reduce`](Self::reduce).
    pub(crate) fn reduce_read<T: Send + Partial>(
        self,
        rows: usize,
        combine: &(impl Fn(T, T) -> T + Sync),
        map: impl Fn(usize, ReadRows<'_>) -> Result<T> + Sync,
    ) -> Result<Option<T>> {
        let (dimension, clusters) = (self.dimension(), self.has_clusters());
        let block = |index: usize, points: View<'_>, weights: Option<&[f64]>| {
            map(index, ReadRows::new(points, weights, clusters.then_some(dimension)))
        };
        match self {
            Self::Source(source) => reduce_stream(source, rows, combine, block),
            Self::Host(host, sample) => reduce_by(host, (rows, Some(sample)), combine, block),
        }
    }
}

/// Some rows as they are read.
#[derive(Clone, Copy)]
pub(crate) struct ReadRows<'r> {
    /// The variables.
    pub(crate) points: View<'r>,
    pub(crate) weights: Option<&'r [f64]>,
    /// Which cluster each row belongs to.
    pub(crate) clusters: Option<&'r [f64]>,
}

impl<'r> ReadRows<'r> {
    /// Rows whose column of this number, if any, says which cluster they belong to.
    fn new(points: View<'r>, weights: Option<&'r [f64]>, clusters: Option<usize>) -> Self {
        match clusters {
            Some(column) => {
                Self { points: points.leading(column), weights, clusters: Some(points.column(column)) }
            }
            None => Self { points, weights, clusters: None },
        }
    }

    /// Checks the numbers of clusters, of rows with so many before them.
    ///
    /// # Errors
    /// The first that is none, or so large that it may not be the one that was meant.
    fn check_clusters(&self, before: usize) -> Result<()> {
        // Whole numbers from 2⁵³ on may have become a neighbour's double.
        let told = |x: f64| x.abs() < (1u64 << 53) as f64;
        let Some(row) = self.clusters.and_then(|clusters| clusters.iter().position(|x| !told(*x))) else {
            return Ok(());
        };
        Err(Error::OutsideDomain {
            row: before + row + 1,
            column: "clusters".into(),
            value: self.clusters.map_or(f64::NAN, |clusters| clusters[row]),
            domain: "a number below 2^53".into(),
        })
    }
}

/// The name of a cluster for the sums over it.
pub(crate) fn cluster_name(number: f64) -> u64 {
    // −0 is 0.
    (number + 0.0).to_bits()
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
    let (check, held) = first_reading(model, source, RowCheck::of)?;
    check.finish(model)?;
    let RowCheck { rows, total, .. } = check;
    if counted && rows > SOME_ROWS {
        if source.has_clusters() {
            return Err(needs_memory("clusters"));
        }
        let (points, weights) = count_states(source, rows)?;
        let data = Data { weights: Some(&weights), ..Data::from(&points) };
        source.goes_on_alone()?;
        let fit = fit_rows(model, DataRows::Memory(data), options)?;
        return Ok(Fit { rows, ..fit });
    }
    let some = held.data();
    let all = if rows <= SOME_ROWS {
        source.goes_on_alone()?;
        DataRows::Memory(some)
    } else {
        refuse_repeats(options)?;
        DataRows::Elsewhere { source, rows, total, some }
    };
    fit_rows(model, all, options)
}

/// Refuses what fits other rows than all of them, before any of them is fitted.
fn refuse_repeats(options: &FitOptions) -> Result<()> {
    let asked =
        [("bootstrap", options.bootstrap.is_some()), ("cross_validate", options.cross_validate.is_some())];
    match asked.into_iter().find(|(_, asked)| *asked) {
        Some((option, _)) => Err(needs_memory(option)),
        None => Ok(()),
    }
}

/// At most [`SOME_ROWS`] rows that are spread over all, the same that would be picked from memory.
pub(crate) struct HeldRows {
    points: Points,
    weights: Option<Vec<f64>>,
    clusters: Option<Vec<u64>>,
}

impl HeldRows {
    pub(crate) fn data(&self) -> Data<'_> {
        let clusters = self.clusters.as_deref().map_or(Dependence::Independent, Dependence::Clusters);
        let data = Data { weights: self.weights.as_deref(), ..Data::new(self.points.view()) };
        data.with_dependence(clusters)
    }
}

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
        let some =
            source.reduce_read(found.rows, &appended, |index, read| Ok(chosen(&ranges, index, read)))?;
        return Ok((found, held(source, some.unwrap_or_default())));
    };
    let ranges = held_rows(rows);
    let block = |index: usize, read: ReadRows<'_>| {
        model.check_run()?;
        let found = check(model, index * BLOCK, read.points, read.weights)?;
        read.check_clusters(index * BLOCK)?;
        Ok((found, chosen(&ranges, index, read)))
    };
    let join = |a: (RowCheck, SomeColumns), b: (RowCheck, SomeColumns)| (a.0.join(b.0), appended(a.1, b.1));
    let found = source.reduce_read(rows, &join, block)?;
    let (found, some) = found.unwrap_or_else(|| (RowCheck::nothing(model), SomeColumns::default()));
    Ok((found, held(source, some)))
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
    let clusters = source.has_clusters().then(|| source.dimension());
    let block = |index: usize, points: View<'_>, weights: Option<&[f64]>| {
        let read = ReadRows::new(points, weights, clusters);
        let found = check(model, index * BLOCK, read.points, read.weights)?;
        read.check_clusters(index * BLOCK)?;
        Ok(found)
    };
    let mut all = RowCheck::nothing(model);
    // The tree that the weights are summed in depends on the number of blocks, which is known at the end.
    let mut totals = Vec::new();
    for_each_fixed(source, &mut |blocks| {
        model.check_run()?;
        let found = map_blocks(columns(source), blocks, block);
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

/// Columns of some rows, that of their clusters after the variables, and their weights where they have any.
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
fn chosen(ranges: &[Range<usize>], index: usize, read: ReadRows<'_>) -> SomeColumns {
    let ReadRows { points, weights, clusters } = read;
    let first = index * BLOCK;
    let end = first + points.rows();
    let here = &ranges[ranges.partition_point(|r| r.end <= first)..ranges.partition_point(|r| r.start < end)];
    let parts = || here.iter().map(|range| range.start.max(first) - first..range.end.min(end) - first);
    let of = |column: &[f64]| -> Vec<f64> { parts().flat_map(|part| &column[part]).copied().collect() };
    let variables = (0..points.columns()).map(|j| points.column(j));
    (variables.chain(clusters).map(of).collect(), weights.map(of))
}

fn held(source: Elsewhere<'_>, (mut columns, weights): SomeColumns) -> HeldRows {
    let count = columns.first().map_or(0, Vec::len);
    let clusters = source.has_clusters().then(|| columns.pop().unwrap_or_default());
    HeldRows {
        points: Points::unnamed(source.dimension(), count, columns.concat()),
        weights,
        clusters: clusters.map(|clusters| clusters.into_iter().map(cluster_name).collect()),
    }
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
