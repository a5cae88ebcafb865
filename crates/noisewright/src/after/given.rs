//! Fitted conditional models at values of their covariates: log Z, densities and draws.

use nalgebra::DVector;
use noisewright_numerics::summation::{log_sum_exp, try_blocked};

use super::joint::JointEstimate;
use super::log_density::LogDensity;
use super::record::FitRecord;
use super::simulate::{Simulated, Simulation, simulate};
use crate::fit::{DataRows, Variances};
use crate::normalizer::two_sided;
use crate::population::{enumerates, integrates};
use crate::run::{CancelToken, Context, Purpose};
use crate::{
    ConditionalNoise, Error, Estimate, Fit, LOG_NORMALIZER, Model, Parameter, Points, Population, Precision,
    Result, View,
};

/// Noise points by which log Z is found where it is not computed.
const DRAWS: usize = 1 << 15;
/// Effective ones among them below which that is no answer.
const LEAST_EFFECTIVE: f64 = 100.0;
/// Values of the covariates up to which the likelihood of a fit against noise is computed, in one variable and in two.
const MOST_VALUES: [usize; 2] = [1 << 9, 1 << 5];

/// log Z(z) at parameter values.
#[derive(Clone, Debug)]
pub(crate) struct NormalizerGiven {
    pub(crate) log_z: f64,
    /// `∇log Z = E[∇u | z]`.
    pub(crate) slope: Vec<f64>,
    /// The Monte-Carlo variance of log Z; zero where it is computed.
    pub(crate) variance: f64,
}

impl NormalizerGiven {
    /// By a closed form, quadrature or summation, or else by importance sampling from the noise.
    pub(crate) fn new(
        model: &Model,
        theta: &[f64],
        given: &[f64],
        noise: Option<&ConditionalNoise>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let there = model.given(given)?;
        let mut slope = vec![0.0; theta.len()];
        if there.is_normalized()
            && let Some(log_z) = there.log_normalizer(theta, &mut slope)
        {
            return Ok(Self { log_z, slope, variance: 0.0 });
        }
        if enumerates(&there) || integrates(&there) {
            return Self::computed(&there, theta, cancel);
        }
        match noise {
            Some(noise) => Self::sampled(&there, theta, given, noise),
            None => {
                let reason =
                    "has more variables than can be integrated over, and the noise of the fit is not known";
                Err(Error::field("covariates", reason))
            }
        }
    }

    fn computed(there: &Model, theta: &[f64], cancel: &CancelToken) -> Result<Self> {
        let precision = Precision { cancel: cancel.clone(), ..Precision::default() };
        let population = Population::new(there, theta, &precision)?;
        let rows = population.points().rows();
        let weights: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
        let mean =
            |column: &[f64]| column.iter().zip(&weights).filter(|(_, w)| **w > 0.0).map(|(s, w)| s * w).sum();
        let slope = population.score().chunks_exact(rows).take(theta.len()).map(mean).collect();
        Ok(Self { log_z: population.log_normalizer(), slope, variance: 0.0 })
    }

    /// `Z = E_q[exp u/q]`, the weights of which give the mean score too.
    fn sampled(there: &Model, theta: &[f64], given: &[f64], noise: &ConditionalNoise) -> Result<Self> {
        let noise = noise.at(given)?;
        let columns = noise.dimension();
        let mut draws = vec![0.0; columns * DRAWS];
        noise.draw(&mut Purpose::Simulate.fixed_stream(), DRAWS, &mut draws);
        let points = View::new(columns, DRAWS, &draws);
        let mut log_noise = vec![0.0; DRAWS];
        noise.log_density(points, &mut log_noise);
        let (mut value, mut score) = (vec![0.0; DRAWS], vec![0.0; DRAWS * theta.len()]);
        there.evaluate(theta, points, &mut value, Some(&mut score))?;
        let terms: Vec<f64> = value.iter().zip(&log_noise).map(|(u, q)| u - q).collect();
        let log_sum = log_sum_exp(&terms);
        let shares: Vec<f64> = terms.iter().map(|t| (t - log_sum).exp()).collect();
        let effective = 1.0 / shares.iter().map(|share| share * share).sum::<f64>();
        if effective.is_nan() || effective < LEAST_EFFECTIVE {
            return Err(Error::TooHardToSample { effective, draws: DRAWS });
        }
        let mean = |column: &[f64]| {
            column.iter().zip(&shares).map(|(s, p)| if *p > 0.0 { s * p } else { 0.0 }).sum()
        };
        Ok(Self {
            log_z: log_sum - (DRAWS as f64).ln(),
            slope: score.chunks_exact(DRAWS).map(mean).collect(),
            // Var Ẑ/Z² = (E w²/(E w)² − 1)/n.
            variance: 1.0 / effective - 1.0 / DRAWS as f64,
        })
    }
}

/// log Z at every row's covariates, computed once for rows with the same.
pub(crate) fn normalizers(
    model: &Model,
    theta: &[f64],
    points: View<'_>,
    noise: Option<&ConditionalNoise>,
    cancel: &CancelToken,
) -> Result<Vec<NormalizerGiven>> {
    let (values, of_row) = model.distinct_covariates(points);
    let each = |range: std::ops::Range<usize>| {
        let values = values[range].iter();
        values.map(|z| NormalizerGiven::new(model, theta, z, noise, cancel)).collect::<Result<Vec<_>>>()
    };
    let join = |mut a: Vec<NormalizerGiven>, b: Vec<NormalizerGiven>| {
        a.extend(b);
        a
    };
    let found = try_blocked(values.len(), 1, each, join)?.unwrap_or_default();
    Ok(of_row.iter().map(|at| found[*at].clone()).collect())
}

/// The mean conditional log-likelihood of the rows of a fit against noise, where it can be computed in little time.
pub(crate) fn mean_log_likelihood(
    model: &Model,
    theta: &[f64],
    rows: DataRows<'_>,
    cancel: &CancelToken,
) -> Result<Option<f64>> {
    let Some(data) = rows.whole() else { return Ok(None) };
    let (values, _) = model.distinct_covariates(data.points);
    let most = MOST_VALUES.get(model.response_dimension() - 1).copied().unwrap_or(0);
    if values.len() > most {
        return Ok(None);
    }
    let Some(found) = crate::run::if_possible(normalizers(model, theta, data.points, None, cancel))? else {
        return Ok(None);
    };
    let mut energy = vec![0.0; data.points.rows()];
    model.evaluate(theta, data.points, &mut energy, None)?;
    let weight = |row: usize| data.weights.map_or(1.0, |w| w[row]);
    let terms = energy.iter().zip(&found).enumerate().filter(|(row, _)| weight(*row) > 0.0);
    Ok(Some(terms.map(|(row, (u, z))| weight(row) * (u - z.log_z)).sum::<f64>() / data.total_weight()))
}

impl JointEstimate {
    /// log Z(z) of a conditional model, every parameter free, at values of its covariates, with the error that the parameters
    /// leave and that of the Monte Carlo, where there is one.
    ///
    /// # Errors
    /// When the values are not those of the model's covariates, or the density does not integrate there.
    pub fn log_normalizer_at(
        &self,
        model: &Model,
        given: &[f64],
        noise: Option<&ConditionalNoise>,
    ) -> Result<Estimate> {
        self.check_model(model)?;
        let found = NormalizerGiven::new(model, &self.values, given, noise, &CancelToken::new())?;
        let slope = DVector::from_vec(found.slope);
        let [data, of_noise] = self.variances(&slope);
        let variances =
            Variances { data, noise: of_noise + found.variance, freedom: self.freedom(|j| slope[j] != 0.0) };
        let name = Parameter::new(LOG_NORMALIZER, found.log_z);
        Ok(Estimate::new(&name, found.log_z, variances, self.confidence, false))
    }

    /// `log p(y | z)` at points with their covariates; the error by the delta method with the slope `∇u − ∇log Z(z)`.
    pub(super) fn log_density_given(
        &self,
        model: &Model,
        points: View<'_>,
        noise_words: Option<&str>,
    ) -> Result<Vec<LogDensity>> {
        let noise = noise_words.and_then(|words| noise_of(words, model));
        let (rows, count) = (points.rows(), self.values.len());
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * count]);
        model.evaluate(&self.values, points, &mut value, Some(&mut score))?;
        let found = normalizers(model, &self.values, points, noise.as_ref(), &CancelToken::new())?;
        let reach = two_sided(self.confidence, self.freedom(|_| true));
        let at = |row: usize| {
            let there = &found[row];
            let value = value[row] - there.log_z;
            let slope = DVector::from_fn(count, |j, _| score[j * rows + row] - there.slope[j]);
            let [data, of_noise] = self.variances(&slope);
            let known = value == f64::NEG_INFINITY;
            let se = if known { 0.0 } else { (data + of_noise + there.variance).sqrt() };
            LogDensity { value, se, lower: value - reach * se, upper: value + reach * se }
        };
        Ok((0..rows).map(at).collect())
    }
}

/// The noise of a conditional model's fit from its words, for constants that are not computed.
fn noise_of(words: &str, model: &Model) -> Option<ConditionalNoise> {
    ConditionalNoise::parse(words, model).ok()
}

impl Fit {
    /// log Z(z) of a conditional model at values of its covariates, with its error: that of the parameters, and of the Monte
    /// Carlo where there are too many variables for quadrature.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let text = "variables = ['y']\ncovariates = ['z']\nlog_density = 'b*z*y - y^2/2'\n[parameters]\nb = 0";
    /// let model = Model::from_toml(text)?;
    /// let rows: Vec<[f64; 2]> = (0..200).map(|i| [f64::from(i % 10) + f64::from(i % 3) - 1.0, f64::from(i % 10)]).collect();
    /// let fit = model.fit(&Points::from_rows(&["y", "z"], &rows)?).exact().run()?;
    /// // log Z = (b z)²/2 + ½ log 2π.
    /// let (b, there) = (fit.get("b")?, fit.log_normalizer_at(&model, &[2.0])?);
    /// assert!((there.estimate - 2.0 * b.estimate.powi(2) - 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-9);
    /// assert!((there.se / (4.0 * b.estimate * b.se) - 1.0).abs() < 1e-6);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the values are not those of the model's covariates, or the density does not integrate there.
    pub fn log_normalizer_at(&self, model: &Model, given: &[f64]) -> Result<Estimate> {
        let noise = noise_of(&self.noise_description, model);
        self.joint().log_normalizer_at(model.whole(), given, noise.as_ref())
    }
}

impl FitRecord {
    /// log Z(z) of the fitted conditional model, every parameter free, at values of its covariates.
    ///
    /// # Errors
    /// As for [`Fit::log_normalizer_at`].
    pub fn log_normalizer_at(&self, model: &Model, given: &[f64]) -> Result<Estimate> {
        self.joint.log_normalizer_at(model, given, noise_of(&self.noise, model).as_ref())
    }

    /// `count` draws of the fitted conditional model, every parameter free, at each row of covariates: the points have the
    /// variables and then the covariates.
    ///
    /// # Errors
    /// As for [`simulate`](super::simulate()), and when there are not as many columns as covariates.
    pub fn simulate_given(
        &self,
        model: &Model,
        covariates: View<'_>,
        count: usize,
        context: &Context,
    ) -> Result<Simulated> {
        simulate_given(model, self.theta(), covariates, count, context)
    }
}

/// `count` draws of a conditional model at each row of covariates, row after row.
///
/// ```
/// use noisewright::prelude::*;
/// use noisewright::{after::simulate_given, run::Context};
/// let text = "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - b*z)^2/2'\n[parameters]\nb = 0";
/// let model = Model::from_toml(text)?;
/// let drawn = simulate_given(&model, &[2.0], View::new(1, 2, &[0.0, 5.0]), 500, &Context::seeded(1))?;
/// let mean = drawn.points.view().column(0)[500..].iter().sum::<f64>() / 500.0;
/// assert!((mean - 10.0).abs() < 5.0 / 500_f64.sqrt());
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When there are not as many columns as covariates, the model does not integrate, or chains do not come to its density.
pub fn simulate_given(
    model: &Model,
    theta: &[f64],
    covariates: View<'_>,
    count: usize,
    context: &Context,
) -> Result<Simulated> {
    let (expected, found) = (model.covariates().len(), covariates.columns());
    if expected != found {
        return Err(Error::Shape { what: "columns of covariates", expected, found });
    }
    let (rows, own) = (covariates.rows(), model.response_dimension());
    let mut columns = vec![Vec::with_capacity(rows * count); model.space().dimension()];
    let (mut how, mut effective) = (Simulation::Exact, 0.0);
    for row in 0..rows {
        let given: Vec<f64> = (0..expected).map(|j| covariates.get(row, j)).collect();
        // Every row has a stream of its own.
        let seed = Purpose::Simulate.seed(context.seed(), row as u64);
        let there = Context::within(seed, context.cancel_token(), None);
        let drawn = simulate(&model.given(&given)?, theta, count, &there)?;
        (0..own).for_each(|j| columns[j].extend_from_slice(drawn.points.view().column(j)));
        given.iter().zip(&mut columns[own..]).for_each(|(z, column)| column.extend(vec![*z; count]));
        effective += drawn.effective;
        if drawn.how == Simulation::Chains {
            how = Simulation::Chains;
        }
    }
    Ok(Simulated { points: Points::from_columns(model.space().names(), &columns)?, how, effective })
}
