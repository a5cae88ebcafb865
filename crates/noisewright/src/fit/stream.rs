//! Fits of rows that do not fit in memory: every pass reads them again.

use std::collections::BTreeMap;

use super::data::{Data, Source};
use super::data_rows::{DataRows, RowCheck, SOME_ROWS};
use super::fit_against_noise::needs_memory;
use super::fit_rows;
use super::noise_choice::is_exact;
use super::options::{FitOptions, NoiseChoice};
use super::prepare::spread;
use super::result::Fit;
use super::sample_blocks::CHUNK;
use crate::run::Stage;
use crate::{Error, Model, Points, Result, View};

/// Fits a model to rows that are read in blocks, again in every pass, in bounded memory.
///
/// The answer is that of [`fit`](super::fit) on the same rows: the noise is the same, the sums are taken in the same order, and
/// the same is checked and said. Up to 2¹⁸ rows are held in memory, and their fit is the same to the bit; of more rows as
/// many are held, to start from, and the search for the minimum ends within its tolerance of that in memory. Rows are taken
/// to be independent.
///
/// ```
/// use noisewright::fit::{Amount, Data, FitOptions, Source, Visit, fit, fit_stream};
/// use noisewright::{Model, Normal, Points, Result, Space, sample};
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
/// let whole = fit(&model, Data::from(&points), &options)?;
/// let streamed = fit_stream(&model, &Blocks(points), &options)?;
/// assert!((whole.parameters[1].estimate - streamed.parameters[1].estimate).abs() < 1e-10);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`fit`](super::fit), and when the rows cannot be read. Given draws are refused, and exact fits unless the
/// variables have finitely many states: they need the rows in memory.
pub fn fit_stream(model: &Model, source: &dyn Source, options: &FitOptions) -> Result<Fit> {
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

fn read_and_fit(model: &Model, source: &dyn Source, options: &FitOptions) -> Result<Fit> {
    let (expected, found) = (model.space().dimension(), source.dimension());
    if expected != found {
        return Err(Error::Shape { what: "columns of data", expected, found });
    }
    let counted = is_exact(model, options) && model.space().state_count().is_some();
    if matches!(options.noise, NoiseChoice::Draws(_)) || (is_exact(model, options) && !counted) {
        return Err(needs_memory("noise"));
    }
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let mut first = Reading::new(model, counted);
    source.for_each_block(&mut |points, weights| first.add(points, weights))?;
    first.check.finish()?;
    let (rows, total) = (first.check.rows, first.check.total);
    if let Some((points, weights)) = first.held() {
        let data = Data { weights: weights.as_deref(), ..Data::from(&points) };
        let fit = fit_rows(model, DataRows::Memory(data), options)?;
        return Ok(Fit { rows, ..fit });
    }
    let (points, weights) = read_spread(source, rows, SOME_ROWS)?;
    let some = Data { weights: weights.as_deref(), ..Data::from(&points) };
    fit_rows(model, DataRows::Stream { source, rows, total, some }, options)
}

/// What a first reading of all rows gathers.
struct Reading<'m> {
    check: RowCheck<'m>,
    /// All rows, as long as they are few.
    columns: Vec<Vec<f64>>,
    weights: Option<Vec<f64>>,
    /// How often each state came, for a fit that needs no more.
    states: Option<BTreeMap<Vec<u64>, f64>>,
}

impl<'m> Reading<'m> {
    fn new(model: &'m Model, counted: bool) -> Self {
        let columns = vec![Vec::new(); model.space().dimension()];
        Self { check: RowCheck::new(model), columns, weights: None, states: counted.then(BTreeMap::new) }
    }

    fn add(&mut self, points: View<'_>, weights: Option<&[f64]>) -> Result<()> {
        if points.columns() != self.columns.len() {
            let (expected, found) = (self.columns.len(), points.columns());
            return Err(Error::Shape { what: "columns of data", expected, found });
        }
        self.check.model.check_run()?;
        let before = self.check.rows;
        self.check.add(points, weights)?;
        if let Some(states) = &mut self.states {
            for row in 0..points.rows() {
                let state = (0..points.columns()).map(|j| points.get(row, j).to_bits()).collect();
                *states.entry(state).or_insert(0.0) += weights.map_or(1.0, |w| w[row]);
            }
        }
        if self.check.rows > SOME_ROWS {
            self.columns.iter_mut().for_each(Vec::clear);
            return Ok(());
        }
        for (j, column) in self.columns.iter_mut().enumerate() {
            column.extend_from_slice(points.column(j));
        }
        if let Some(weights) = weights {
            self.weights.get_or_insert_with(|| vec![1.0; before]).extend_from_slice(weights);
        } else if let Some(own) = &mut self.weights {
            own.resize(before + points.rows(), 1.0);
        }
        Ok(())
    }

    /// All rows, if they are few, or all states with their counts, if those are enough.
    fn held(self) -> Option<(Points, Option<Vec<f64>>)> {
        let (rows, dimension) = (self.check.rows, self.columns.len());
        if rows <= SOME_ROWS {
            return Some((Points::unnamed(dimension, rows, self.columns.concat()), self.weights));
        }
        let states = self.states?;
        let column = |j: usize| states.keys().map(move |state| f64::from_bits(state[j]));
        let values = (0..dimension).flat_map(column).collect();
        Some((Points::unnamed(dimension, states.len(), values), Some(states.into_values().collect())))
    }
}

/// Copies at most `limit` rows that are spread over all, the same that would be picked from memory.
fn read_spread(source: &dyn Source, rows: usize, limit: usize) -> Result<(Points, Option<Vec<f64>>)> {
    let ranges = spread(rows, limit);
    let wanted = |row: usize| ranges.iter().any(|r| r.contains(&row));
    let mut columns = vec![Vec::new(); source.dimension()];
    let mut weights: Option<Vec<f64>> = None;
    let mut first = 0;
    source.for_each_block(&mut |points: View<'_>, block: Option<&[f64]>| {
        for start in chunk_starts(first, points.rows()) {
            let end = points.rows().min((first + start) / CHUNK * CHUNK + CHUNK - first);
            if !wanted(first + start) {
                continue;
            }
            let held = columns.first().map_or(0, Vec::len);
            for (j, column) in columns.iter_mut().enumerate() {
                column.extend_from_slice(&points.column(j)[start..end]);
            }
            if let Some(block) = block {
                weights.get_or_insert_with(|| vec![1.0; held]).extend_from_slice(&block[start..end]);
            } else if let Some(weights) = &mut weights {
                weights.resize(held + end - start, 1.0);
            }
        }
        first += points.rows();
        Ok(())
    })?;
    let count = columns.first().map_or(0, Vec::len);
    Ok((Points::unnamed(source.dimension(), count, columns.concat()), weights))
}

/// Where, within a block that begins at row `first`, chunks of all rows begin, the block's own beginning with them.
fn chunk_starts(first: usize, rows: usize) -> impl Iterator<Item = usize> {
    let next = (CHUNK - first % CHUNK) % CHUNK;
    std::iter::once(0).filter(move |_| next > 0 && rows > 0).chain((next..rows).step_by(CHUNK))
}
