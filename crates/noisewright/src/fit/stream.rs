//! Fits of rows that do not fit in memory: every pass reads them again.

use super::data::{Data, Source};
use super::fit_against_noise::{Against, SCALE_ROWS, finish, fit_against};
use super::noise_choice::{NOISE_ROWS, check_noise, enough};
use super::objective::Objective;
use super::options::{Amount, FitOptions, NoiseChoice};
use super::prepare::{pick, spread};
use super::result::Fit;
use super::sample_blocks::{BLOCK, CHUNK, SampleBlocks};
use super::solve::refine;
use crate::run::Stage;
use crate::{Error, Model, Noise, Points, Result, View, fit_auto};
use std::sync::Arc;

/// Noise points of the fit of a part of the rows that finds the start, at most.
const PILOT_POINTS: usize = 1 << 16;

/// What a first reading tells, and some of the rows.
struct First {
    rows: usize,
    /// The sum of the weights.
    total: f64,
}

/// Fits a model to rows that are read in blocks, again in every pass, in bounded memory.
///
/// The answer is that of [`fit`](super::fit) on the same rows: the noise is the same, the sums are taken in the same order.
/// Rows are taken to be independent.
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
/// As for [`fit`](super::fit), and when the rows cannot be read. Exact fits and given draws are refused: they need the rows in memory.
pub fn fit_stream(model: &Model, source: &dyn Source, options: &FitOptions) -> Result<Fit> {
    options.check()?;
    let options = &options.for_run();
    let model = &model.with_cancel(&options.cancel);
    options.context().conclude(fit_rows(model, source, options))
}

fn fit_rows(model: &Model, source: &dyn Source, options: &FitOptions) -> Result<Fit> {
    let (expected, found) = (model.space().dimension(), source.dimension());
    if expected != found {
        return Err(Error::Shape { what: "columns of data", expected, found });
    }
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let first = first_reading(model, source)?;
    let coordinates = model.coordinates().len();
    if first.rows < coordinates {
        return Err(Error::TooFewPoints { rows: first.rows, coordinates });
    }
    let (some, weights) = read_spread(source, first.rows, NOISE_ROWS)?;
    let noise: Arc<dyn Noise> = match &options.noise {
        NoiseChoice::Auto => fit_auto(model.space(), some.view(), weights.as_deref())?,
        NoiseChoice::Given(noise) => noise.clone(),
        _ => {
            let reason = "needs the rows in memory: leave streaming out, or choose a noise";
            return Err(Error::option("noise", reason));
        }
    };
    check_noise(model, noise.as_ref())?;
    let task = Streamed { model, source, options, first, some, weights, noise };
    task.dosed()
}

/// A stream that has been read once.
struct Streamed<'a> {
    model: &'a Model,
    source: &'a dyn Source,
    options: &'a FitOptions,
    first: First,
    /// Rows spread over all of them, with their weights.
    some: Points,
    weights: Option<Vec<f64>>,
    noise: Arc<dyn Noise>,
}

impl Streamed<'_> {
    fn dosed(&self) -> Result<Fit> {
        let total = self.first.total;
        match self.options.amount {
            Amount::Points(points) => self.fit(points, None),
            Amount::Ratio(nu) => self.fit(((nu * total).round() as usize).max(1), None),
            Amount::Auto { share, most_values } => {
                enough(total, self.model, share, most_values, |points, start| self.fit(points, start))
            }
        }
    }

    /// One fit: from a start that rows in memory give, a few passes over all.
    fn fit(&self, points: usize, start: Option<&[f64]>) -> Result<Fit> {
        let start = match start {
            Some(start) => start.to_vec(),
            None => self.pilot(points)?,
        };
        let nu = points as f64 / self.first.total;
        let data = SampleBlocks::stream(self.source, self.noise.clone(), self.first.rows, self.first.total);
        let noise = SampleBlocks::drawn(self.noise.clone(), &self.options.context(), points);
        let (some, _) = pick(self.some.view(), None, &spread(self.some.rows(), SCALE_ROWS));
        let loss = &self.options.loss;
        let mut objective = Objective::new(self.model, loss, nu, data, noise, some.view(), false)?;
        let solution = refine(&mut objective, &start, self.options)?;
        let mut fit = finish(&objective, solution, None, self.options)?;
        fit.noise_description = self.noise.describe();
        fit.noise = Some(self.noise.clone());
        Ok(fit)
    }

    /// The fit of the rows in memory, at the same ν as far as their number allows.
    fn pilot(&self, points: usize) -> Result<Vec<f64>> {
        let data = Data { weights: self.weights.as_deref(), ..Data::from(&self.some) };
        let nu = points as f64 / self.first.total;
        let few =
            ((nu * data.total_weight()).round() as usize).clamp(BLOCK.min(points), PILOT_POINTS.max(BLOCK));
        let rough = FitOptions { tolerance: 1e-3, ..self.options.clone() };
        let pilot = fit_against(self.model, data, &Against::Noise(self.noise.clone(), few), &rough, None)?;
        Ok(pilot.unknowns())
    }
}

/// Counts the rows and checks their values.
fn first_reading(model: &Model, source: &dyn Source) -> Result<First> {
    let mut first = First { rows: 0, total: 0.0 };
    source.for_each_block(&mut |points, weights| {
        if points.columns() != source.dimension() {
            let (expected, found) = (source.dimension(), points.columns());
            return Err(Error::Shape { what: "columns of data", expected, found });
        }
        model.check_run()?;
        let data = Data { weights, ..Data::new(points) };
        super::check_domain(model, data, first.rows)?;
        super::density_checks::check_statistics(model, data, first.rows)?;
        if let Some(row) = weights.and_then(|w| w.iter().position(|w| !(*w >= 0.0 && w.is_finite()))) {
            return Err(Error::Weight { row: first.rows + row + 1, value: weights.map_or(0.0, |w| w[row]) });
        }
        first.rows += points.rows();
        first.total += data.total_weight();
        Ok(())
    })?;
    if first.rows == 0 || first.total <= 0.0 {
        return Err(Error::NoData);
    }
    Ok(first)
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
