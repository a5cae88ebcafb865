//! The ratio of the densities of two samples: the same loss, with the second sample where the noise would be.

mod choose;
mod contrast;
mod density_ratio;
mod elsewhere;
mod functionals;
mod information;
mod joint;
mod telescope;
mod two_sample;
mod waymarks;

pub use choose::{BasisCandidate, RatioBasis};
pub use density_ratio::{
    BridgeReport, Bridges, DensityRatio, ImportanceWeights, RatioDivergences, RatioOptions, density_ratio,
};
pub(crate) use elsewhere::ratio_elsewhere;
pub use elsewhere::ratio_stream;
pub use information::{InformationTrial, MutualInformation, mutual_information};
pub use two_sample::TwoSampleTest;

use nalgebra::DMatrix;

use super::data::{Data, Dependence, check_total_weight};
use super::data_rows::DataRows;
use super::effects::NoiseKind;
use super::estimate::{Compared, Estimated};
use super::fit_against_noise::{SCALE_ROWS, estimated};
use super::judge::judge_ratio;
use super::loss_terms::Class;
use super::objective::Objective;
use super::options::FitOptions;
use super::prepare::width;
use super::result::{Estimate, Fit};
use super::sample_blocks::{HeldPoints, SampleBlocks};
use super::solve::solve;
use crate::after::LogDensity;
use crate::{Error, Model, Result, View};

/// The fitted logarithm of a ratio of densities, `log p₁/p₂ = θ·t(x) − c`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RatioFit {
    /// θ, one per feature.
    pub parameters: Vec<Estimate>,
    /// c.
    pub constant: Estimate,
    /// Covariance of θ and c, in that order.
    pub covariance: DMatrix<f64>,
    /// Everything else about the fit; what it calls noise is the second sample, and its part of the errors that
    /// sample's.
    pub fit: Fit,
    model: Model,
}

/// The log ratio at one point.
pub type LogRatio = LogDensity;

/// Fits the logarithm of the ratio of two samples' densities as a combination of the features of `model`.
///
/// ```
/// use noisewright::{Model, Normal, Space, sample};
/// use noisewright::fit::{Data, FitOptions};
/// use noisewright::internal::fit::ratio;
///
/// // log N(1, 1) / N(0, 1) = x − ½.
/// let (first, second) = (sample(&Normal::with_variance(1.0, 1.0)?, 4000, 1), sample(&Normal::with_variance(0.0, 1.0)?, 4000, 2));
/// let model = Model::from_features(&["x"], Space::real(&["x"])?, vec![])?;
/// let fitted = ratio(&model, Data::from(&first), Data::from(&second), &FitOptions::default())?;
/// let slope = &fitted.parameters[0];
/// assert!((slope.estimate - 1.0).abs() < 4.0 * slope.se && (fitted.constant.estimate - 0.5).abs() < 4.0 * fitted.constant.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the samples do not fit the model, there are too few rows, or features cannot be told apart. The second sample cannot
/// have weights, and must be independent rows.
pub fn ratio<'a>(
    model: &Model,
    first: impl Into<Data<'a>>,
    second: impl Into<Data<'a>>,
    options: &FitOptions,
) -> Result<RatioFit> {
    let (first, second) = (first.into(), second.into());
    first.in_order_of(model.space(), |first| {
        second.in_order_of(model.space(), |second| ratio_in_order(model, first, second, options))
    })
}

/// The same for columns in the order of the model's variables.
fn ratio_in_order(
    model: &Model,
    first: Data<'_>,
    second: Data<'_>,
    options: &FitOptions,
) -> Result<RatioFit> {
    with_options(model, options, |model, options| fit_ratio(model, first, second, options))
}

/// A ratio with options that were checked.
fn with_options(
    model: &Model,
    options: &FitOptions,
    fit: impl FnOnce(&Model, &FitOptions) -> Result<RatioFit>,
) -> Result<RatioFit> {
    options.check()?;
    options.refuse_penalty("a second sample")?;
    // The second sample is what the noise would be.
    options.check_effects_beside(NoiseKind::Drawn)?;
    if model.is_normalized() {
        return Err(Error::option("normalized", "must not be set for a ratio, whose constant is estimated"));
    }
    let options = &options.for_run();
    let fitted = fit(&model.with_cancel(&options.cancel), options);
    let fitted = options.context().conclude(fitted)?;
    Ok(RatioFit { model: model.clone(), ..fitted })
}

fn fit_ratio(model: &Model, first: Data<'_>, second: Data<'_>, options: &FitOptions) -> Result<RatioFit> {
    for data in [first, second] {
        data.check(model.space().dimension())?;
        model.space().check_rows(data.points, data.weights, 0)?;
    }
    if second.weights.is_some() || second.dependence != Dependence::Independent {
        return Err(weighted_second());
    }
    check_counts(model, [first.points.rows(), second.points.rows()], first.total_weight())?;
    // Both log-densities of the "noise" are zero: what is left of g is the log ratio itself.
    let data = DataRows::side(first, vec![0.0; first.points.rows()]);
    let other = HeldPoints::Borrowed(second.points);
    let noise = SampleBlocks::memory(Class::Noise, other, None, vec![0.0; second.points.rows()]);
    fit_sides(model, DataRows::Memory(first), [data, noise], true, options)
}

/// The second sample stands where the noise would be.
fn weighted_second() -> Error {
    let reason = "must be independent rows without weights; exchange the samples, or repeat the rows";
    Error::option("second sample", reason)
}

/// Refuses samples with fewer rows than unknowns, and weights that cannot be counts.
fn check_counts(model: &Model, rows: [usize; 2], total: f64) -> Result<()> {
    let (rows, coordinates) = (rows[0].min(rows[1]), width(model));
    if rows < coordinates {
        return Err(Error::TooFewPoints { rows, coordinates });
    }
    check_total_weight(total, coordinates)
}

/// Estimates and judges the ratio of two samples, wherever they are; `keep` says whether features may be kept.
fn fit_sides<'a>(
    model: &'a Model,
    rows: DataRows<'a>,
    sides: [SampleBlocks<'a>; 2],
    keep: bool,
    options: &'a FitOptions,
) -> Result<RatioFit> {
    let fit = judge_ratio(model, estimate(model, rows, sides, keep, options)?, rows.dependence())?;
    let constant = fit.log_normalizer.clone().ok_or(Error::NoMass)?;
    Ok(RatioFit {
        parameters: fit.parameters.clone(),
        constant,
        covariance: fit.covariance.clone(),
        fit,
        model: model.clone(),
    })
}

fn estimate<'a>(
    model: &'a Model,
    rows: DataRows<'a>,
    [data, noise]: [SampleBlocks<'a>; 2],
    keep: bool,
    options: &'a FitOptions,
) -> Result<Estimated<'a>> {
    let points = noise.rows;
    let nu = points as f64 / rows.total_weight();
    let some = rows.spread(SCALE_ROWS);
    let mut objective = Objective::new(model, &options.loss, nu, data, noise, some.view(), keep)?;
    objective.of_density = false;
    let solution = solve(&mut objective, None, options)?;
    let words = "the second sample".into();
    let with = Compared::undrawn(nu, points, words, options.loss.to_string());
    estimated(objective, solution, rows, with, options)
}

impl RatioFit {
    /// The log ratio at some points, with standard errors from the covariance of the estimate.
    ///
    /// # Errors
    /// When the points do not have the model's variables, or a feature is not a number there.
    pub fn log_ratio_at(&self, points: View<'_>) -> Result<Vec<LogRatio>> {
        self.fit.joint().log_density(&self.model, points)
    }
}
