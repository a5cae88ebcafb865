//! The asymptotic error of a design (MATH §3): moments, covariance, Cramér–Rao, efficiency.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::summation::{blocked, log_sum_exp};

use crate::moments::{sandwich, weighted_outer};
use crate::population::log_scaled_noise;
use crate::run::{CancelToken, Stage};
use crate::{
    Accuracy, Contrast, Divergences, Divergent, Error, Loss, Method, Model, Noise, Population, Precision,
    Result, Target,
};

/// The asymptotic covariance of the estimate of β, `Var β̂ ≈ Σ / T_d`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Asymptotics {
    /// Σ; infinite where a second moment is.
    pub covariance: DMatrix<f64>,
    /// `E_d[w]`: how much of the data the classifier is unsure about.
    pub mean_weight: f64,
    /// Why Σ is infinite, if it is.
    pub divergent: Option<Divergent>,
}

/// Points that are summed together.
const SUMMED: usize = 4096;

/// A mean weight that only noise far from the data has.
const SLIGHT: f64 = 1e-6;

impl Asymptotics {
    /// `Σ = I_w⁻¹ (I_v − (1 + 1/ν) m_w m_wᵀ) I_w⁻¹` from the log-density of the noise at the population's points.
    ///
    /// # Errors
    /// When I_w is singular: the noise misses the data, or the scores are collinear where they overlap.
    pub fn at(population: &Population, log_noise: &[f64], nu: f64, loss: &Loss) -> Result<Self> {
        let weights = Weights::new(population, log_noise, nu, loss);
        if weights.log_scale == f64::NEG_INFINITY {
            return Err(Error::NoOverlap);
        }
        let moments = population.moments(&weights.scaled, &CancelToken::new());
        let bread = match invert(&moments.information) {
            Inverse::Regular(inverse) => inverse,
            // Scores that the data tell apart, and the few data where the noise is do not.
            Inverse::Singular(_) if weights.mean() < SLIGHT && cramer_rao_covariance(population).is_ok() => {
                return Err(Error::HardlyAnyOverlap);
            }
            Inverse::Singular(direction) => return Err(collinear(population, &direction)),
        };
        let (meat, log_scale) = weights.meat(population, &moments.mean, nu)?;
        let scale = (log_scale - 2.0 * weights.log_scale).exp();
        let mut covariance = sandwich(&bread, &meat) * scale;
        if !covariance.iter().all(|v| v.is_finite()) {
            covariance.fill(f64::INFINITY);
        }
        Ok(Self { covariance, mean_weight: weights.mean(), divergent: None })
    }

    /// Where a moment is known to diverge its sum over points means nothing: Σ is infinite.
    fn infinite(population: &Population, log_noise: &[f64], nu: f64, loss: &Loss, place: Divergent) -> Self {
        let size = population.coordinates().len();
        let mean_weight = Weights::new(population, log_noise, nu, loss).mean();
        let covariance = DMatrix::from_element(size, size, f64::INFINITY);
        Self { covariance, mean_weight, divergent: Some(place) }
    }

    /// If Σ is infinite because the noise leaves out some of the data, says where; any other infinity is a number
    /// too large to write.
    fn with_reason(mut self, population: &Population, log_noise: &[f64]) -> Result<Self> {
        if self.covariance.iter().any(|v| v.is_infinite()) {
            self.divergent = missing_noise(population, log_noise);
            if self.divergent.is_none() {
                return Err(Error::HardlyAnyOverlap);
            }
        }
        Ok(self)
    }

    /// The error `(price_d + ν price_n) · tr(ΣM)`, which divided by the budget is the error of the estimate;
    /// with both prices 1 the budget is the number of points T.
    #[must_use]
    pub fn error(&self, target: &DMatrix<f64>, nu: f64, price_data: f64, price_noise: f64) -> f64 {
        // Not by multiplication: an infinite Σ times the zeros of a target is not a number.
        if self.divergent.is_some() || self.covariance.iter().any(|v| v.is_infinite()) {
            return f64::INFINITY;
        }
        (price_data + nu * price_noise) * trace_product(&self.covariance, target)
    }
}

/// `tr(AB)` of symmetric matrices.
pub(crate) fn trace_product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    a.component_mul(b).sum()
}

/// The data points' weights w under p_d, and what the covariance of the estimating equation needs of them.
struct Weights<'a> {
    /// Logarithm of the points' base-measure weights.
    log_measure: &'a [f64],
    log_density: &'a [f64],
    /// `log(ν p_n)`.
    log_noise: Vec<f64>,
    loss: &'a Loss,
    /// `q_i w_i` over the largest of them, q the population's weights.
    scaled: Vec<f64>,
    /// Logarithm of that largest.
    log_scale: f64,
}

impl<'a> Weights<'a> {
    fn new(population: &'a Population, log_noise: &[f64], nu: f64, loss: &'a Loss) -> Self {
        let (log_measure, log_density) = (&population.log_measure[..], population.log_density());
        let log_noise: Vec<f64> =
            log_density.iter().zip(log_noise).map(|(d, n)| log_scaled_noise(*d, *n, nu.ln())).collect();
        let mut weights = Self { log_measure, log_density, log_noise, loss, scaled: vec![], log_scale: 0.0 };
        let terms: Vec<f64> = (0..log_density.len())
            .map(|i| log_measure[i] + weights.log_product(i, [1.0, 1.0, 0.0]))
            .collect();
        let log_scale = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Where the noise has no density at all the weight of the JS loss is zero, not just tiny.
        weights.log_scale = if log_scale < -1e7 { f64::NEG_INFINITY } else { log_scale };
        weights.scaled = terms.iter().map(|t| (t - weights.log_scale).exp()).collect();
        weights
    }

    /// `log(p_dˢ wᵗ rᵘ)` at a point.
    fn log_product(&self, i: usize, powers: [f64; 3]) -> f64 {
        self.loss.log_product(self.log_density[i], self.log_noise[i], powers)
    }

    fn mean(&self) -> f64 {
        self.scaled.iter().sum::<f64>() * self.log_scale.exp()
    }

    /// `I_v − (1 + 1/ν) m mᵀ` and the logarithm of the scale taken out, as a sum of squares: the covariance of
    /// `wψ` under the data plus that of `ν w r ψ` under the noise over ν. Nothing cancels, so that identical
    /// densities give an exact zero.
    ///
    /// # Errors
    /// [`Error::Internal`] on a population without points.
    fn meat(
        &self,
        population: &Population,
        scaled_mean: &DVector<f64>,
        nu: f64,
    ) -> Result<(DMatrix<f64>, f64)> {
        let rows = self.scaled.len();
        let larger = |i: usize| {
            let data = self.log_product(i, [1.0, 2.0, 0.0]);
            self.log_measure[i] + data.max(self.log_product(i, [1.0, 2.0, 1.0]))
        };
        let log_scale = (0..rows).map(larger).fold(f64::NEG_INFINITY, f64::max);
        let half = |i: usize, powers: [f64; 3], more: f64| {
            (0.5 * (self.log_measure[i] - log_scale) + self.log_product(i, powers) + more).exp()
        };
        let data_weight = |i: usize| half(i, [0.5, 1.0, 0.0], 0.0);
        let data_mean = |i: usize| half(i, [0.5, 0.0, 0.0], self.log_scale);
        let data = self.outer(population, scaled_mean, data_weight, data_mean)?;
        let noise_weight = |i: usize| half(i, [0.5, 1.0, 0.5], 0.0);
        let noise_mean = |i: usize| half(i, [0.5, 0.0, -0.5], self.log_scale) / nu;
        let noise = self.outer(population, scaled_mean, noise_weight, noise_mean)?;
        let noise_mass: f64 =
            (0..rows).map(|i| (self.log_measure[i] + self.log_product(i, [1.0, 0.0, -1.0])).exp() / nu).sum();
        let mean_scale = (2.0 * self.log_scale - log_scale).exp();
        let beyond = scaled_mean * scaled_mean.transpose() * (mean_scale * (1.0 - noise_mass) / nu);
        Ok((data + noise + beyond, log_scale))
    }

    /// `Σ_i (a_i ψ_i − b_i m)(a_i ψ_i − b_i m)ᵀ`.
    fn outer(
        &self,
        population: &Population,
        mean: &DVector<f64>,
        a: impl Fn(usize) -> f64 + Sync,
        b: impl Fn(usize) -> f64 + Sync,
    ) -> Result<DMatrix<f64>> {
        let size = mean.len();
        let block = |range: std::ops::Range<usize>| {
            let mut columns = Vec::with_capacity(range.len() * size);
            let (a, b): (Vec<f64>, Vec<f64>) = range.clone().map(|i| (a(i), b(i))).unzip();
            for j in 0..size {
                let score = &population.score_of(j)[range.clone()];
                columns.extend((0..range.len()).map(|i| a[i] * score[i] - b[i] * mean[j]));
            }
            weighted_outer(&columns, size, &vec![1.0; range.len()])
        };
        let total = blocked(self.scaled.len(), SUMMED, block, |sum, part| sum + part);
        total.ok_or_else(|| Error::internal("a population without points"))
    }
}

/// Names the coordinates that take part in a direction without information.
pub(crate) fn collinear(population: &Population, direction: &DVector<f64>) -> Error {
    let names = population.coordinates().iter().zip(direction.iter());
    let involved: Vec<String> = names.filter(|(_, d)| d.abs() > 1e-3).map(|(n, _)| n.clone()).collect();
    Error::Collinear { parameters: involved }
}

/// `I⁻¹`, less the part of a free constant that is no parameter: the limit of Σ for endless noise, which is
/// the Cramér–Rao bound (for the constant: of log Z(θ)).
///
/// # Errors
/// When the information matrix is singular.
pub fn cramer_rao_covariance(population: &Population) -> Result<DMatrix<f64>> {
    match invert(&population.information()) {
        Inverse::Singular(direction) => Err(collinear(population, &direction)),
        Inverse::Regular(mut bound) => {
            if population.has_constant() {
                let last = bound.nrows() - 1;
                // Not by subtracting one, which leaves nothing but rounding where the rest is small.
                bound[(last, last)] = Centred::new(&population.information())
                    .map_or(0.0, |c| c.spread(&constant_only(bound.nrows())));
            }
            Ok(bound)
        }
    }
}

/// The target that is the constant alone.
fn constant_only(size: usize) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(size, size);
    matrix[(size - 1, size - 1)] = 1.0;
    matrix
}

/// `I_w = E[wψψᵀ]` of a model whose last score is −1, apart: the covariance of the parameters' scores under w and their
/// means, in which the variance of the constant does not drown that of the parameters.
pub(crate) struct Centred {
    /// Inverse of `E[w(ψ−ψ̄)(ψ−ψ̄)ᵀ]` over the parameters.
    inverse: DMatrix<f64>,
    /// `ψ̄ = E[wψ]/E[w]`.
    mean: DVector<f64>,
    /// `E[w]`.
    pub(crate) mass: f64,
}

impl Centred {
    /// `None` where the scores of the parameters are collinear.
    pub(crate) fn new(information: &DMatrix<f64>) -> Option<Self> {
        let last = information.nrows() - 1;
        let mass = information[(last, last)];
        let mean = DVector::from_fn(last, |j, _| -information[(j, last)] / mass);
        let covariance = information.view((0, 0), (last, last)) - mass * &mean * mean.transpose();
        let inverse = match (last, invert(&covariance)) {
            (0, _) => DMatrix::zeros(0, 0),
            (_, Inverse::Regular(inverse)) => inverse,
            (_, Inverse::Singular(_)) => return None,
        };
        Some(Self { inverse, mean, mass })
    }

    /// `tr(I_w⁻¹M) − M_cc/E[w]`: what the parameters' uncertainty adds, `tr(C⁻¹ P M Pᵀ)` with `P = [1, ψ̄]`.
    pub(crate) fn spread(&self, target: &DMatrix<f64>) -> f64 {
        let last = self.mean.len();
        if last == 0 {
            return 0.0;
        }
        let across = target.view((0, last), (last, 1)) * self.mean.transpose();
        let square = target[(last, last)] * &self.mean * self.mean.transpose();
        trace_product(
            &self.inverse,
            &(target.view((0, 0), (last, last)) + &across + across.transpose() + square),
        )
    }

    /// The largest mean of a score in units of its standard deviation.
    pub(crate) fn largest_mean(&self) -> f64 {
        let sizes = self.mean.iter().enumerate().map(|(j, mean)| (mean, self.inverse[(j, j)]));
        sizes.map(|(mean, inverse)| mean.abs() * (inverse * self.mass).sqrt()).fold(0.0, f64::max)
    }
}

/// What a design would cost, and what it is compared with.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct ErrorReport {
    /// The error times the budget T; ∞ where it has no bound.
    pub error: f64,
    /// Names of β's coordinates.
    pub coordinates: Vec<String>,
    /// Σ, `Var β̂ ≈ Σ / T_d`.
    #[serde(serialize_with = "crate::serial::rows")]
    pub covariance: DMatrix<f64>,
    /// What each coordinate adds to the error: `(1 + ν)(ΣM)_jj`.
    pub parts: Vec<f64>,
    /// The error that endless free noise would leave, on the same scale; `None` for a constant alone.
    pub cramer_rao: Option<f64>,
    /// `cramer_rao / error`.
    pub efficiency: Option<f64>,
    /// The error with p_n = p_d at the same ν, which does not depend on the loss.
    #[serde(rename = "error_noise_equals_data")]
    pub noise_equals_data: f64,
    /// `E_d[w]`.
    pub weights_mean: f64,
    /// log Z of the model at these parameters.
    pub log_normalizer: f64,
    /// Why the error is infinite, if it is.
    #[serde(skip)]
    pub divergent: Option<Divergent>,
    /// How accurate these numbers are.
    pub accuracy: Accuracy,
}

impl ErrorReport {
    /// Why the error is infinite, as the end of a sentence: which loss, because of which tail, at which end.
    #[must_use]
    pub fn why_infinite(&self, divergences: Option<&Divergences>, loss: &Loss) -> Option<String> {
        let place = self.divergent.as_ref().filter(|_| !self.error.is_finite())?;
        let culprit = match divergences.map(|d| (d.lighter_noise.is_some(), d.lighter_data.is_some())) {
            _ if place.inside => "the noise has no density where the data have some",
            Some((true, false)) => "the noise has lighter tails than the data",
            Some((false, true)) => "the data have lighter tails than the noise",
            _ => "the tails of data and noise differ too much",
        };
        let end = if place.at_lower_end { "lower" } else { "upper" };
        let variable = place.variable.as_ref().map_or(String::new(), |name| format!(" of `{name}`"));
        let place = if place.inside {
            "at a point inside the domain".into()
        } else {
            format!("at the {end} end{variable}")
        };
        Some(format!("the {loss} loss has an infinite variance here, because {culprit} {place}"))
    }
}

/// The asymptotic error of estimating `model`, true at `parameters`, against a noise.
///
/// ```
/// use noisewright::{Loss, Model, Normal, Precision, Target};
/// use noisewright::internal::{Contrast, asymptotic_error};
/// let model = Model::from_toml(
///     "variables = ['x']\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\nnormalized = true\n[parameters]\nm = 0",
/// )?;
/// let noise = Normal::with_variance(0.0, 1.0)?;
/// let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
/// let report = asymptotic_error(&model, &[0.0], contrast, &Target::Mse, &Precision::default())?;
/// assert!((report.error - 4.0).abs() < 1e-10);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When ν is not a positive number, the model has no population at these parameters, or the noise tells
/// nothing about some parameter.
pub fn asymptotic_error(
    model: &Model,
    parameters: &[f64],
    contrast: Contrast<'_>,
    target: &Target,
    precision: &Precision,
) -> Result<ErrorReport> {
    if !(contrast.nu > 0.0 && contrast.nu.is_finite()) {
        return Err(Error::NoiseRatio { value: contrast.nu });
    }
    let precision = &precision.for_run();
    let population = Population::for_contrast(model, parameters, contrast, precision)?;
    precision.context().report(Stage::Errors, 0, None)?;
    let log_noise = population.log_noise(contrast.noise)?;
    check_mass(&population, contrast.noise, &log_noise)?;
    let target = target.resolved(model, parameters, || Ok(population.log_normalizer()))?;
    error_report(&population, &log_noise, contrast.nu, contrast.loss, &target)
}

/// A noise that has more mass than one on the points alone is no density; points that miss some of it show less.
///
/// # Errors
/// [`Error::Noise`] with that mass.
pub(crate) fn check_mass(population: &Population, noise: &dyn Noise, log_noise: &[f64]) -> Result<()> {
    // The points carry the noise's integral to far better than this.
    const ABOVE_ONE: f64 = 0.01;
    if matches!(population.accuracy().method, Method::Sampling | Method::Sample) {
        return Ok(());
    }
    let terms: Vec<f64> = population.log_measure.iter().zip(log_noise).map(|(m, n)| m + n).collect();
    let log_mass = log_sum_exp(&terms);
    if log_mass > ABOVE_ONE {
        let reason = format!("its density integrates to {:.4} at least, not to one", log_mass.exp());
        return Err(Error::Noise { noise: noise.describe(), reason });
    }
    Ok(())
}

/// As [`asymptotic_error`], on a population that is there already.
///
/// # Errors
/// As for [`asymptotic_error`].
pub fn error_report(
    population: &Population,
    log_noise: &[f64],
    nu: f64,
    loss: &Loss,
    target: &Target,
) -> Result<ErrorReport> {
    let matrix = target.matrix(population.coordinates(), &population.information())?;
    let asymptotics = match population.divergent() {
        Some(place) => Asymptotics::infinite(population, log_noise, nu, loss, place.clone()),
        None => Asymptotics::at(population, log_noise, nu, loss)?.with_reason(population, log_noise)?,
    };
    let bound = cramer_rao_covariance(population)?;
    let error = asymptotics.error(&matrix, nu, 1.0, 1.0);
    let bounded = trace_product(&bound, &matrix);
    let only_constant = population.has_constant() && population.coordinates().len() == 1;
    let cramer_rao = (!only_constant).then_some((1.0 + nu) * bounded);
    let parts = diagonal_parts(&asymptotics.covariance, &matrix, 1.0 + nu);
    Ok(ErrorReport {
        error,
        coordinates: population.coordinates().to_vec(),
        parts,
        cramer_rao,
        efficiency: cramer_rao.map(|bound| bound / error),
        noise_equals_data: (1.0 + nu).powi(2) / nu * bounded,
        weights_mean: asymptotics.mean_weight,
        log_normalizer: population.log_normalizer(),
        covariance: asymptotics.covariance,
        divergent: asymptotics.divergent,
        accuracy: population.accuracy(),
    })
}

/// Where data are but the noise is not, if there is such a place: on which side of the data's mean more of them are.
fn missing_noise(population: &Population, log_noise: &[f64]) -> Option<Divergent> {
    let names = population.points().names();
    let x = population.points().view().column(0);
    let weights: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
    let missing = |i: &usize| log_noise[*i] == f64::NEG_INFINITY && weights[*i] > 0.0;
    let mean: f64 = x.iter().zip(&weights).map(|(x, w)| x * w).sum();
    let lost = |below: bool| -> f64 {
        (0..x.len()).filter(missing).filter(|i| (x[*i] < mean) == below).map(|i| weights[i]).sum()
    };
    let (below, above) = (lost(true), lost(false));
    let variable = (names.len() == 1).then(|| names[0].clone());
    (below + above > 0.0).then_some(Divergent { variable, at_lower_end: below > above, inside: false })
}

fn diagonal_parts(covariance: &DMatrix<f64>, target: &DMatrix<f64>, scale: f64) -> Vec<f64> {
    if covariance.iter().any(|v| v.is_infinite()) {
        return vec![f64::INFINITY; covariance.nrows()];
    }
    (covariance * target).diagonal().iter().map(|v| scale * v).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::population::Parts;
    use crate::{Parameter, Points, Space};

    /// No population is made without points: a sum over one is a fault, and not a covariance of zeros.
    #[test]
    fn a_population_without_points_is_a_fault() {
        let parameters = vec![Parameter::new("m", 0.0)];
        let model =
            Model::from_formula("m*x - x^2/2", Space::real(&["x"]).unwrap(), parameters, false).unwrap();
        let accuracy = Accuracy { method: Method::Sample, relative_error: 0.0, points: 0 };
        let points = Points::from_values(&["x"], 0, vec![]).unwrap();
        let parts = Parts { points, log_measure: vec![], accuracy, divergent: None, mass_error: 0.0 };
        let empty = Population::assemble(&model, &[0.0], parts).unwrap();
        let outcome = Weights::new(&empty, &[], 1.0, &Loss::Js).meat(&empty, &DVector::zeros(2), 1.0);
        assert!(matches!(outcome, Err(Error::Internal { .. })));
        assert_eq!(Asymptotics::at(&empty, &[], 1.0, &Loss::Js), Err(Error::NoOverlap));
    }
}
