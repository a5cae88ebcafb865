//! Ratios of samples that are not in memory: read again at every pass, or with other processes.

use super::{RatioFit, check_counts, fit_ratio, fit_sides, weighted_second, with_options};
use crate::fit::data::{Data, Source};
use crate::fit::data_rows::{DataRows, RowCheck, SOME_ROWS};
use crate::fit::loss_terms::Class;
use crate::fit::options::FitOptions;
use crate::fit::sample_blocks::{HeldPoints, SampleBlocks};
use crate::fit::stream::{Elsewhere, HeldRows, first_reading};
use crate::run::Stage;
use crate::{Error, Model, Result};

/// Fits the logarithm of the ratio of two samples' densities, each read in blocks, again in every pass, in bounded memory.
///
/// The answer is that of the same rows in memory, to the bit.
///
/// ```
/// use noisewright::fit::{FitOptions, Source, Visit, ratio_stream};
/// use noisewright::prelude::*;
///
/// /// Rows that are read a thousand at a time.
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
/// // log N(1, 1) / N(0, 1) = x − ½
/// let model = Model::from_features(&["x"], Space::real(&["x"])?, vec![])?;
/// let drawn = |mean: f64, seed: u64| -> Result<_> { Ok(Blocks(sample(&Normal::with_std(mean, 1.0)?, 4000, seed))) };
/// let found = ratio_stream(&model, &drawn(1.0, 1)?, &drawn(0.0, 2)?, &FitOptions::default())?;
/// let x = &found.parameters[0];
/// assert!((x.estimate - 1.0).abs() < 4.0 * x.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the samples do not fit the model, there are too few rows, features cannot be told apart, or the rows cannot be read.
pub fn ratio_stream(
    model: &Model,
    first: &dyn Source,
    second: &dyn Source,
    options: &FitOptions,
) -> Result<RatioFit> {
    ratio_elsewhere(model, [Elsewhere::Source(first), Elsewhere::Source(second)], options)
}

/// The same for samples that are read, or with other processes.
///
/// # Errors
/// As for [`ratio_stream`].
pub(crate) fn ratio_elsewhere(
    model: &Model,
    samples: [Elsewhere<'_>; 2],
    options: &FitOptions,
) -> Result<RatioFit> {
    with_options(model, options, |model, options| {
        options.report(Stage::Prepare, 0, f64::NAN)?;
        let read = [first_look(model, samples[0])?, first_look(model, samples[1])?];
        check_counts(model, [read[0].0.rows, read[1].0.rows], read[0].0.total)?;
        let part = |index: usize| {
            let (RowCheck { rows, total, .. }, held) = &read[index];
            Sample { source: samples[index], rows: *rows, total: *total, some: held.data() }
        };
        let (first, second) = (part(0), part(1));
        if second.some.weights.is_some() {
            return Err(weighted_second());
        }
        if first.is_held() && second.is_held() {
            samples[0].goes_on_alone()?;
            return fit_ratio(model, first.some, second.some, options);
        }
        fit_sides(
            model,
            first.as_data(),
            [first.side(Class::Data), second.side(Class::Noise)],
            false,
            options,
        )
    })
}

/// A first reading of a sample.
fn first_look(model: &Model, source: Elsewhere<'_>) -> Result<(RowCheck, HeldRows)> {
    let (expected, found) = (model.space().dimension(), source.dimension());
    if expected != found {
        return Err(Error::Shape { what: "columns of data", expected, found });
    }
    let found = first_reading(model, source, RowCheck::of_sample)?;
    if found.0.counting == 0 { Err(Error::NoData) } else { Ok(found) }
}

/// One of the two samples.
#[derive(Clone, Copy)]
struct Sample<'a> {
    source: Elsewhere<'a>,
    rows: usize,
    /// The sum of the weights.
    total: f64,
    /// Rows that are held: all, or some that are spread over all.
    some: Data<'a>,
}

impl<'a> Sample<'a> {
    /// Whether all rows are held.
    fn is_held(&self) -> bool {
        self.rows <= SOME_ROWS
    }

    fn as_data(&self) -> DataRows<'a> {
        let Self { source, rows, total, some } = *self;
        if self.is_held() {
            DataRows::Memory(some)
        } else {
            DataRows::Elsewhere { source, rows, total, some }
        }
    }

    /// As one side of the contrast. Both log-densities of the "noise" are zero: what is left of g is the log ratio itself.
    fn side(&self, class: Class) -> SampleBlocks<'a> {
        let Self { source, rows, total, some } = *self;
        if !self.is_held() {
            return SampleBlocks::elsewhere(class, source, None, (rows, total), some);
        }
        let points = HeldPoints::Borrowed(some.points);
        // What the coordinator holds it sums over by itself, once for all.
        SampleBlocks::memory(class, points, some.weights, vec![0.0; rows]).by(source.host())
    }
}
