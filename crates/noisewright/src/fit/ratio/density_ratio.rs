//! The ratio of two densities without features, or through bridges: what it is asked, and what it gives.

use nalgebra::{DMatrix, DVector};

use super::LogRatio;
use super::choose::{self, BasisCandidate, RatioBasis};
use super::contrast::pooled;
use super::functionals::{DIVERGENCES, Functional};
use super::joint::{Divergence, Joint};
use super::telescope::{Bridge, Telescope};
use super::two_sample::{self, PERMUTATIONS, TwoSampleTest};
use super::waymarks::{Path, Samples};
use crate::fit::data::{Data, Dependence};
use crate::fit::diagnostics::Overlap;
use crate::fit::options::FitOptions;
use crate::fit::prepare;
use crate::fit::result::Estimate;
use crate::fit::scaling::Scaling;
use crate::more::More;
use crate::normalizer::two_sided;
use crate::pareto;
use crate::run::{CancelToken, ProgressHook};
use crate::{Error, Model, Result, Space, View};

/// The root of Jeffreys' divergence of a bridge that is aimed at. In the limit of many bridges the variance of their sum no longer
/// falls; at 2 it is within a third of that limit for normal densities.
const STRETCH: f64 = 2.0;
/// Most bridges, and how often their number is doubled where one does not overlap.
const MOST_BRIDGES: usize = 512;
const DOUBLINGS: usize = 3;
/// The longest stretch over the mean one from which on bridges are spaced again by the divergences found.
const UNEVEN: f64 = 1.4;
/// Shape k̂ of the tail of the ratio over the second sample from which on its square has no mean there, and Pearson's χ² is infinite.
const ENDLESS: f64 = 0.5;
/// Rows that features of a given model are scaled by.
const SCALED_ROWS: usize = 1 << 14;

/// How many bridges stand between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bridges {
    /// So many; one is the plain ratio.
    Count(usize),
    /// As many as the distance of the samples needs.
    Auto,
}

impl Default for Bridges {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl std::str::FromStr for Bridges {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(count) if count > 0 => Ok(Self::Count(count)),
            _ => Err(Error::option("bridges", "must be auto or a number from 1")),
        }
    }
}

/// How a ratio of densities is fitted.
#[derive(Clone, Debug)]
pub struct RatioOptions {
    /// What the log ratio is made of, where no model says so.
    pub basis: RatioBasis,
    /// Bridges between the samples.
    pub bridges: Bridges,
    /// Permutations of the two-sample test, 0 for the asymptotic one alone.
    pub permutations: usize,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Most steps of a search.
    pub max_iterations: usize,
    /// A search ends when a Newton step is shorter than so many standard errors.
    pub tolerance: f64,
    /// Seed of permutations.
    pub seed: u64,
    /// Ends the computation.
    pub cancel: CancelToken,
    /// Told about every step.
    pub progress: Option<ProgressHook>,
    /// More may come.
    #[doc(hidden)]
    pub more: More,
}

impl Default for RatioOptions {
    fn default() -> Self {
        let fit = FitOptions::default();
        Self {
            basis: RatioBasis::Auto,
            bridges: Bridges::default(),
            permutations: PERMUTATIONS,
            confidence: fit.confidence,
            max_iterations: fit.max_iterations,
            tolerance: fit.tolerance,
            seed: fit.seed,
            cancel: fit.cancel,
            progress: None,
            more: More,
        }
    }
}

impl RatioOptions {
    /// Refuses options that cannot be.
    ///
    /// # Errors
    /// [`Error::Option`].
    pub fn check(&self) -> Result<()> {
        if let Bridges::Count(count) = self.bridges
            && !(1..=MOST_BRIDGES).contains(&count)
        {
            return Err(Error::range("bridges", "between 1 and 512", count as f64));
        }
        self.fit().check()
    }

    /// Refuses options that cannot be, and a basis beside a model, whose features are one.
    pub(super) fn check_beside(&self, model: Option<&Model>) -> Result<()> {
        self.check()?;
        if model.is_some() && self.basis != RatioBasis::Auto {
            return Err(Error::option(
                "basis",
                "has no meaning beside a model, whose features are the basis: leave one of them out",
            ));
        }
        Ok(())
    }

    /// The same as options of a fit.
    pub(super) fn fit(&self) -> FitOptions {
        FitOptions {
            confidence: self.confidence,
            max_iterations: self.max_iterations,
            tolerance: self.tolerance,
            seed: self.seed,
            cancel: self.cancel.clone(),
            progress: self.progress.clone(),
            ..FitOptions::default()
        }
    }
}

/// A bridge between two neighbouring waymarks.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct BridgeReport {
    /// α of its ends: 0 is the first sample, 1 the second.
    pub from: f64,
    /// α of the other end.
    pub to: f64,
    /// Jeffreys' divergence of its ends, `KL(p, q) + KL(q, p)`.
    pub divergence: f64,
    /// How much its ends overlap.
    pub overlap: Overlap,
    /// Newton steps.
    pub iterations: usize,
}

impl BridgeReport {
    pub(super) fn of(bridge: &Bridge) -> Self {
        Self {
            from: bridge.from,
            to: bridge.to,
            divergence: bridge.divergence,
            overlap: bridge.solved.overlap,
            iterations: bridge.solved.iterations,
        }
    }
}

/// Divergences of two densities.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct RatioDivergences {
    /// `KL(p₁, p₂)`.
    pub kl: Estimate,
    /// `KL(p₂, p₁)`.
    pub reverse_kl: Estimate,
    /// Jensen and Shannon's, at most log 2.
    pub js: Estimate,
    /// Pearson's χ², `∫p₁²/p₂ − 1`; no number where the tail of the ratio says that it is infinite (shape k̂ of ½ or more).
    pub pearson: Estimate,
}

/// Importance weights that make rows of the second sample look like the first.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct ImportanceWeights {
    /// Weights of mean one, a row of the second sample each.
    #[serde(skip)]
    pub weights: Vec<f64>,
    /// Kish's effective size, `(Σw)²/Σw²`.
    pub effective_size: f64,
    /// The largest weight's share of all.
    pub largest_share: f64,
}

impl ImportanceWeights {
    fn new(log_ratios: &[f64]) -> Self {
        let top = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let scaled: Vec<f64> = log_ratios.iter().map(|g| (g - top).exp()).collect();
        let (sum, squares) = (scaled.iter().sum::<f64>(), scaled.iter().map(|w| w * w).sum::<f64>());
        let mean = sum / scaled.len().max(1) as f64;
        Self {
            weights: scaled.iter().map(|w| w / mean).collect(),
            effective_size: sum * sum / squares,
            largest_share: 1.0 / sum,
        }
    }
}

/// The ratio of two samples' densities.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DensityRatio {
    /// Rows of both samples.
    pub rows: [usize; 2],
    /// The basis that was chosen; none where a model gave the features.
    pub basis: Option<BasisCandidate>,
    /// All that were compared.
    pub candidates: Vec<BasisCandidate>,
    /// The bridges from the first to the second sample; one for a plain ratio.
    pub bridges: Vec<BridgeReport>,
    /// Divergences of the two densities.
    pub divergences: RatioDivergences,
    /// Weights for covariate shift.
    pub importance: ImportanceWeights,
    /// The test that both are the same.
    pub test: TwoSampleTest,
    /// Confidence of the intervals.
    pub confidence: f64,
    model: Model,
    /// θ and c.
    values: Vec<f64>,
    covariance: DMatrix<f64>,
    bias: DMatrix<f64>,
    /// Leave-one-out log ratios of the first sample, in order.
    sorted: Vec<f64>,
}

/// Fits the ratio of two samples' densities: on a basis, or on the features of a model.
///
/// # Errors
/// When the samples have different columns, too few rows or weights, too little in common with the bridges asked for, or an option
/// cannot be.
pub fn density_ratio<'a>(
    model: Option<&Model>,
    first: impl Into<Data<'a>>,
    second: impl Into<Data<'a>>,
    options: &RatioOptions,
) -> Result<DensityRatio> {
    let (first, second) = (first.into(), second.into());
    options.check_beside(model)?;
    let space = match model {
        Some(model) => model.space().clone(),
        None => space_of(&first)?,
    };
    let fit = options.fit().for_run();
    let found = first.in_order_of(&space, |first| {
        second.in_order_of(&space, |second| {
            [first, second].iter().try_for_each(|data| check(data, &space))?;
            let samples = Samples { first: first.points, second: second.points, lag: 0, paired: false };
            fitted(model, &space, samples, options, &fit)
        })
    });
    fit.context().conclude(found)
}

/// The variables by the names of the columns.
pub(super) fn space_of(data: &Data<'_>) -> Result<Space> {
    match data.names {
        Some(names) => Space::real(names),
        None => Space::real(&(0..data.points.columns()).map(|j| format!("x{j}")).collect::<Vec<_>>()),
    }
}

/// Fewest rows of a sample.
const FEWEST_ROWS: usize = 20;

pub(super) fn check(data: &Data<'_>, space: &Space) -> Result<()> {
    data.check(space.dimension())?;
    space.check_rows(data.points, data.weights, 0)?;
    if data.weights.is_some() || data.dependence != Dependence::Independent {
        let reason = "cannot be given here: both samples must be independent rows that count once each";
        return Err(Error::option("weights", reason));
    }
    if data.points.rows() < FEWEST_ROWS {
        return Err(Error::TooFewPoints { rows: data.points.rows(), coordinates: FEWEST_ROWS });
    }
    Ok(())
}

fn fitted(
    model: Option<&Model>,
    space: &Space,
    samples: Samples<'_>,
    options: &RatioOptions,
    fit: &FitOptions,
) -> Result<DensityRatio> {
    let plan = Plan::new(model, space, samples, options, fit)?;
    let telescope = plan.telescope(samples, fit)?;
    let joint = telescope.joint(&DIVERGENCES)?;
    let test = two_sample::test(space, samples, options.permutations, &fit.context())?;
    finished(&plan, &telescope, joint, test, options)
}

/// What is fitted: features with their scales and penalty, and the places of the bridges.
pub(super) struct Plan {
    pub(super) model: Model,
    scaling: Scaling,
    prior: f64,
    pub(super) basis: Option<BasisCandidate>,
    pub(super) candidates: Vec<BasisCandidate>,
    pub(super) places: Vec<f64>,
    /// Whether more bridges may be put in.
    free: bool,
}

impl Plan {
    /// Places bridges at equal distances, and chooses a basis on the middle one.
    pub(super) fn new(
        model: Option<&Model>,
        space: &Space,
        samples: Samples<'_>,
        options: &RatioOptions,
        fit: &FitOptions,
    ) -> Result<Self> {
        let path = Path::of_normals(&samples);
        let count = match options.bridges {
            Bridges::Count(count) => count,
            Bridges::Auto => ((path.length() / STRETCH).ceil() as usize).clamp(1, MOST_BRIDGES),
        };
        let (places, free) = (path.equal(count), options.bridges == Bridges::Auto);
        if let Some(model) = model {
            refuse_model(model)?;
            let model = model.with_cancel(&fit.cancel);
            let some = pooled(samples.first, samples.second, SCALED_ROWS);
            let (scaling, _) = prepare::scaling(&model, some.view(), true)?;
            return Ok(Self {
                model,
                scaling,
                prior: 0.0,
                basis: None,
                candidates: Vec::new(),
                places,
                free,
            });
        }
        let middle = (count - 1) / 2;
        let ends = [places[middle], places[middle + 1]];
        let chosen = choose::choose(options.basis, space, samples, ends, fit)?;
        Ok(Self {
            model: chosen.model,
            scaling: chosen.scaling,
            prior: chosen.prior,
            basis: Some(chosen.best),
            candidates: chosen.candidates,
            places,
            free,
        })
    }

    /// The same with another number of bridges.
    pub(super) fn with_bridges(&self, samples: &Samples<'_>, count: usize) -> Self {
        Self {
            model: self.model.clone(),
            scaling: self.scaling.clone(),
            prior: self.prior,
            basis: self.basis.clone(),
            candidates: self.candidates.clone(),
            places: Path::of_normals(samples).equal(count),
            free: false,
        }
    }

    /// All bridges, with more of them where their number is free and one does not overlap.
    ///
    /// # Errors
    /// [`Error::BridgeApart`].
    pub(super) fn telescope<'s>(&'s self, samples: Samples<'s>, fit: &FitOptions) -> Result<Telescope<'s>> {
        let mut places = self.places.clone();
        for _ in 0..=DOUBLINGS {
            let found = self.spaced(samples, &places, fit)?;
            let apart = found.bridges.iter().position(|bridge| bridge.solved.apart);
            match apart {
                None => return Ok(found),
                Some(_) if self.free => places = found.path().equal(2 * found.bridges.len()),
                Some(bridge) => {
                    return Err(Error::BridgeApart { bridge: bridge + 1, bridges: found.bridges.len() });
                }
            }
        }
        Err(Error::BridgeApart { bridge: 1, bridges: places.len() - 1 })
    }

    /// Bridges at these places, moved once where the divergences found are far from equal.
    fn spaced<'s>(&'s self, samples: Samples<'s>, places: &[f64], fit: &FitOptions) -> Result<Telescope<'s>> {
        let at = |places: &[f64]| {
            let how = (self.prior, fit.tolerance);
            Telescope::fit(&self.model, samples, &self.scaling, places, how, fit)
        };
        let found = at(places)?;
        let path = found.path();
        if path.unevenness() < UNEVEN || found.bridges.len() < 3 {
            return Ok(found);
        }
        at(&path.equal(found.bridges.len()))
    }
}

/// A model whose log ratio is not linear in its parameters, or has no free constant.
fn refuse_model(model: &Model) -> Result<()> {
    if model.is_normalized() {
        return Err(Error::option("normalized", "must not be set for a ratio, whose constant is estimated"));
    }
    if !model.energy().is_linear() {
        return Err(Error::option("bridges", "need a model that is linear in its parameters: give features"));
    }
    Ok(())
}

fn finished(
    plan: &Plan,
    telescope: &Telescope<'_>,
    joint: Joint,
    test: TwoSampleTest,
    options: &RatioOptions,
) -> Result<DensityRatio> {
    let scaling = &telescope.scaling;
    let values = scaling.outer(telescope.coefficients().as_slice());
    let Joint { covariance, log_ratios: [mut sorted, of_second], functionals } = joint;
    let named = |f: usize, name: &str| functionals[f].estimate(name, options.confidence);
    let endless = pareto::shape(&of_second) >= ENDLESS;
    let divergences = RatioDivergences {
        kl: named(0, "kl"),
        reverse_kl: named(1, "reverse_kl"),
        js: named(2, "js"),
        pearson: if endless { Divergence::unknown().estimate("pearson", 0.5) } else { named(3, "pearson") },
    };
    sorted.sort_by(f64::total_cmp);
    let samples = telescope.samples;
    let mut found = DensityRatio {
        rows: [samples.first.rows(), samples.second.rows()],
        basis: plan.basis.clone(),
        candidates: plan.candidates.clone(),
        bridges: telescope.bridges.iter().map(BridgeReport::of).collect(),
        divergences,
        importance: ImportanceWeights::new(&[0.0]),
        test,
        confidence: options.confidence,
        model: telescope.model.detached(),
        values,
        covariance: scaling.outer_covariance(&covariance),
        bias: scaling.outer_covariance(&telescope.bias()),
        sorted,
    };
    found.importance = ImportanceWeights::new(&found.values_at(samples.second)?);
    Ok(found)
}

impl DensityRatio {
    /// Names of the features, or functions of the basis, with their coefficients; the constant is last.
    #[must_use]
    pub fn coefficients(&self) -> Vec<(String, f64)> {
        self.model.coordinates().into_iter().zip(self.values.iter().copied()).collect()
    }

    /// The variables.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        self.model.space().names()
    }

    fn check_points(&self, points: View<'_>) -> Result<()> {
        let (expected, found) = (self.model.space().dimension(), points.columns());
        if expected == found {
            Ok(())
        } else {
            Err(Error::Shape { what: "columns of points", expected, found })
        }
    }

    /// The log ratio alone.
    fn values_at(&self, points: View<'_>) -> Result<Vec<f64>> {
        self.check_points(points)?;
        let count = self.values.len() - 1;
        let mut out = vec![0.0; points.rows()];
        self.model.evaluate(&self.values[..count], points, &mut out, None)?;
        out.iter_mut().for_each(|g| *g -= self.values[count]);
        Ok(out)
    }

    /// The log ratio at points. Its standard error is that of the estimate around what it tends to (the sandwich over rows); the
    /// interval is wider by the bias that a penalty gives where its prior holds, so that it covers on the average over
    /// points (Nychka 1988).
    ///
    /// # Errors
    /// When the points do not have the variables, or a feature is not a number there.
    pub fn log_ratio_at(&self, points: View<'_>) -> Result<Vec<LogRatio>> {
        let values = self.values_at(points)?;
        let (rows, count) = (points.rows(), self.values.len() - 1);
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * count]);
        self.model.evaluate(&self.values[..count], points, &mut value, Some(&mut score))?;
        let reach = two_sided(self.confidence, f64::INFINITY);
        let at = |row: usize| {
            let slope =
                DVector::from_fn(count + 1, |j, _| if j == count { -1.0 } else { score[j * rows + row] });
            let quadratic = |matrix: &DMatrix<f64>| slope.dot(&(matrix * &slope)).max(0.0);
            let (variance, bias) = (quadratic(&self.covariance), quadratic(&self.bias));
            let half = reach * (variance + bias).sqrt();
            let value = values[row];
            LogRatio { value, se: variance.sqrt(), lower: value - half, upper: value + half }
        };
        Ok((0..rows).map(at).collect())
    }

    /// How untypical points are of the first sample: the share of its rows, left out one by one, whose log ratio is as small or
    /// smaller. Small for points that look like the second sample rather than the first (Hido et al. 2011).
    ///
    /// # Errors
    /// As for [`log_ratio_at`](Self::log_ratio_at).
    pub fn typicality(&self, points: View<'_>) -> Result<Vec<f64>> {
        let share = |g: &f64| {
            let below = self.sorted.partition_point(|known| known <= g);
            (below + 1) as f64 / (self.sorted.len() + 1) as f64
        };
        Ok(self.values_at(points)?.iter().map(share).collect())
    }
}

impl serde::Serialize for DensityRatio {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("DensityRatio", 9)?;
        out.serialize_field("rows", &self.rows)?;
        out.serialize_field("variables", self.variables())?;
        out.serialize_field("basis", &self.basis)?;
        out.serialize_field("candidates", &self.candidates)?;
        out.serialize_field("bridges", &self.bridges)?;
        out.serialize_field("divergences", &self.divergences)?;
        out.serialize_field("importance", &self.importance)?;
        out.serialize_field("test", &self.test)?;
        out.serialize_field("confidence", &self.confidence)?;
        out.end()
    }
}

/// The one functional of a mutual information.
pub(super) const INFORMATION: [Functional; 1] = [super::functionals::KL];
