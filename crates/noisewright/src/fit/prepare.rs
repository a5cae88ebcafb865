//! What happens once before a descent: scales, checks, and the features of a linear model.

use noisewright_numerics::gram::Columns;
use noisewright_numerics::kernels::{all_finite, in_vectors};
use noisewright_numerics::summation::mean_and_variance;

use super::loss_terms::Class;
use super::sample_blocks::{BLOCK, CHUNK, KeptBlock, RawBlock, RowSource, SampleBlocks};
use super::scaling::Scaling;
use crate::memory::room_for;
use crate::{Error, Model, Points, Quantity, Result, View};

/// Features of some rows, column-major, with a last column of −1 where the constant is free, and
/// `u(x; 0) − log p_n(x)` beside them.
#[derive(Default)]
pub(crate) struct Features {
    pub(crate) columns: Vec<f64>,
    pub(crate) offset: Vec<f64>,
}

impl Features {
    pub(crate) fn view(&self) -> Columns<'_> {
        let rows = self.offset.len();
        Columns::new(&self.columns, rows, self.columns.len() / rows.max(1), rows)
    }
}

/// Values of features that are kept in memory rather than computed anew in every pass, at most.
const MOST_KEPT: usize = 1 << 25;

/// So many values, or half of what is free where that is less.
pub(crate) fn most_kept() -> usize {
    room_for(MOST_KEPT, 2)
}

/// Number of unknowns: columns of [`Features`].
pub(crate) fn width(model: &Model) -> usize {
    model.parameters().len() + usize::from(!model.is_normalized())
}

/// At most `limit` rows, in chunks that are spread evenly over all of them; which ones depends on their number only.
pub(crate) fn spread(rows: usize, limit: usize) -> Vec<std::ops::Range<usize>> {
    let chunks = rows.div_ceil(CHUNK);
    let wanted = (limit / CHUNK).clamp(1, chunks.max(1));
    let chunk = |i: usize| i * chunks / wanted;
    (0..wanted).map(chunk).map(|c| c * CHUNK..rows.min((c + 1) * CHUNK)).collect()
}

/// Copies of some rows and their weights.
pub(crate) fn pick(
    points: View<'_>,
    weights: Option<&[f64]>,
    ranges: &[std::ops::Range<usize>],
) -> (Points, Option<Vec<f64>>) {
    let rows = ranges.iter().map(|r| r.len()).sum();
    let mut values = Vec::with_capacity(rows * points.columns());
    for column in 0..points.columns() {
        for range in ranges {
            values.extend_from_slice(&points.column(column)[range.clone()]);
        }
    }
    let weights = weights.map(|w| ranges.iter().flat_map(|r| &w[r.clone()]).copied().collect());
    (Points::unnamed(points.columns(), rows, values), weights)
}

/// The features of some rows.
///
/// # Errors
/// When the energy is not a number or a feature is not finite where the density is not zero.
pub(crate) fn features(
    model: &Model,
    scaling: &Scaling,
    points: View<'_>,
    log_noise: &[f64],
) -> Result<Features> {
    let mut features = Features::default();
    features.fill(model, scaling, points, log_noise)?;
    Ok(features)
}

impl Features {
    /// Those of other rows, in the same memory.
    ///
    /// # Errors
    /// As for [`features`].
    pub(crate) fn fill(
        &mut self,
        model: &Model,
        scaling: &Scaling,
        points: View<'_>,
        log_noise: &[f64],
    ) -> Result<()> {
        let rows = points.rows();
        self.columns.resize(rows * width(model), 0.0);
        self.offset.resize(rows, 0.0);
        write_features(model, scaling, points, log_noise, &mut self.columns, &mut self.offset)
    }
}

/// The same into the caller's space.
fn write_features(
    model: &Model,
    scaling: &Scaling,
    points: View<'_>,
    log_noise: &[f64],
    columns: &mut [f64],
    offset: &mut [f64],
) -> Result<()> {
    let (count, rows) = (model.parameters().len(), points.rows());
    let (columns, constant) = columns.split_at_mut(rows * count);
    constant.fill(-1.0);
    model.evaluate(&vec![0.0; count], points, offset, Some(columns))?;
    in_vectors(|| {
        for (o, l) in offset.iter_mut().zip(log_noise) {
            *o -= l;
        }
    });
    clear_outside(offset, columns);
    for (j, column) in columns.chunks_exact_mut(rows).enumerate() {
        let (center, inverse) = (scaling.center[j], 1.0 / scaling.scale[j]);
        let finite = in_vectors(|| {
            let mut finite = true;
            for t in column.iter_mut() {
                *t = (*t - center) * inverse;
                finite &= t.is_finite();
            }
            finite
        });
        if !finite {
            return Err(infinite(model, points, j, column));
        }
    }
    Ok(())
}

/// Where a feature is not finite.
fn infinite(model: &Model, points: View<'_>, feature: usize, column: &[f64]) -> Error {
    let row = column.iter().position(|t| !t.is_finite()).unwrap_or(0);
    let variable = model.space().names()[0].clone();
    let feature = model.parameters()[feature].name.clone();
    Error::InfiniteFeature { feature, variable, value: points.get(row, 0) }
}

/// Where the density is zero, features mean nothing.
fn clear_outside(offset: &[f64], columns: &mut [f64]) {
    if !all_finite(offset) {
        for column in columns.chunks_exact_mut(offset.len()) {
            for (t, o) in column.iter_mut().zip(offset) {
                if *o == f64::NEG_INFINITY {
                    *t = 0.0;
                }
            }
        }
    }
}

/// Computes the features of every block of a side and keeps them.
pub(crate) fn keep(model: &Model, scaling: &Scaling, side: &mut SampleBlocks<'_>) -> Result<()> {
    let class = side.class;
    let build = |raw: RawBlock<'_>| -> Result<Vec<(Vec<f64>, Vec<f64>)>> {
        let rows = raw.points.rows();
        let mut columns = vec![0.0; rows * width(model)];
        let mut offset = vec![0.0; rows];
        for start in (0..rows).step_by(CHUNK) {
            let end = rows.min(start + CHUNK);
            let part = &mut columns[start * width(model)..end * width(model)];
            let points = raw.points.slice(start..end);
            write_features(
                model,
                scaling,
                points,
                &raw.log_noise[start..end],
                part,
                &mut offset[start..end],
            )?;
        }
        check_offsets(class, raw.index * BLOCK, raw.weights, &offset)?;
        Ok(vec![(columns, offset)])
    };
    let blocks = side.reduce(build, |mut a, mut b| {
        a.append(&mut b);
        a
    })?;
    let weights = side.weights();
    let rows = side.rows;
    let part = |index: usize| index * BLOCK..rows.min((index + 1) * BLOCK);
    let kept = blocks.unwrap_or_default().into_iter().enumerate().map(|(index, (columns, offset))| {
        KeptBlock { columns, offset, weights: weights.map(|w| &w[part(index)]) }
    });
    side.kept = Some(kept.collect());
    Ok(())
}

/// A data point must have a density under the model.
pub(crate) fn check_offsets(
    class: Class,
    first_row: usize,
    weights: Option<&[f64]>,
    offset: &[f64],
) -> Result<()> {
    if class == Class::Noise || all_finite(offset) {
        return Ok(());
    }
    let counts = |row: usize| weights.is_none_or(|w| w[row] > 0.0);
    match offset.iter().enumerate().position(|(row, o)| *o == f64::NEG_INFINITY && counts(row)) {
        Some(row) => Err(Error::NoDensity { row: first_row + row + 1 }),
        None => Ok(()),
    }
}

/// A data point must have a density under the noise.
pub(crate) fn check_noise_at_data(data: &SampleBlocks<'_>) -> Result<()> {
    let RowSource::Memory { log_noise, weights, .. } = &data.feed else { return Ok(()) };
    let counts = |row: usize| weights.is_none_or(|w| w[row] > 0.0);
    match log_noise.iter().enumerate().position(|(row, l)| !l.is_finite() && counts(row)) {
        Some(row) if log_noise[row] == f64::NEG_INFINITY => Err(Error::NoiseMissesData { row: row + 1 }),
        Some(row) => {
            let point = format!("row {} of the data", row + 1);
            Err(Error::NotANumber { of: Quantity::NoiseDensity, point })
        }
        None => Ok(()),
    }
}

/// For a linear model the scaling of its features; for another one, the identity, and the natural size of a step in
/// each parameter.
pub(crate) fn scaling(model: &Model, sample: View<'_>, linear: bool) -> Result<(Scaling, Vec<f64>)> {
    let count = model.parameters().len();
    let has_constant = !model.is_normalized();
    if !linear {
        return Ok((Scaling::identity(count, has_constant), natural_steps(model, &model.start(), sample)));
    }
    let moments = score_moments(model, &vec![0.0; count], sample)?;
    let deviation: Vec<f64> = moments.iter().map(|m| m.1.sqrt()).collect();
    let scaling = Scaling::new(moments.iter().map(|m| m.0).collect(), &deviation, has_constant);
    Ok((scaling, vec![1.0; count]))
}

/// The natural size of a step in each parameter: that which changes the log-density by one, as far as it is known at θ.
pub(crate) fn natural_steps(model: &Model, at: &[f64], sample: View<'_>) -> Vec<f64> {
    let moments = score_moments(model, at, sample).unwrap_or_else(|_| vec![(0.0, 0.0); at.len()]);
    let size = |(mean, variance): &(f64, f64)| (variance + mean * mean).sqrt();
    let step = |(size, at): (f64, &f64)| {
        if size > 0.0 && size.is_finite() { 1.0 / size } else { at.abs().max(1.0) }
    };
    moments.iter().map(size).zip(at).map(step).collect()
}

/// Mean and variance of each score over a sample.
fn score_moments(model: &Model, at: &[f64], sample: View<'_>) -> Result<Vec<(f64, f64)>> {
    let rows = sample.rows();
    let mut value = vec![0.0; rows];
    let mut score = vec![0.0; rows * at.len()];
    model.evaluate(at, sample, &mut value, Some(&mut score))?;
    Ok(score.chunks_exact(rows.max(1)).map(mean_and_variance).collect())
}

/// Whether a model gives the second derivatives of its energy.
pub(crate) fn is_curved(model: &Model, sample: View<'_>) -> bool {
    let count = model.parameters().len();
    let one = sample.slice(0..sample.rows().min(1));
    let mut out = vec![0.0; count * count];
    let known = model.add_curvature(&model.start(), one, &vec![0.0; one.rows()], &mut out);
    // Where the start is not allowed, a descent from there says so.
    known.unwrap_or(true)
}

/// Whether a model sums its scores by itself.
pub(crate) fn sums_scores(model: &Model, sample: View<'_>) -> bool {
    let one = sample.slice(0..sample.rows().min(1));
    let mut out = vec![0.0; model.parameters().len()];
    let known = model.add_weighted_score(&model.start(), one, &vec![0.0; one.rows()], &mut out);
    known.unwrap_or(false)
}
