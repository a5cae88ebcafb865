//! What a fit gives back: estimates with their errors in two parts, intervals, and how it went.

use std::sync::Arc;

use nalgebra::DMatrix;
use noisewright_numerics::optimize::Stop;

use super::bootstrap::Bootstrap;
use super::curvature::Curvature;
use super::diagnostics::Diagnostics;
use super::held_out::HeldOut;
use super::method::FitMethod;
use super::options::{DrawKind, IntervalKind};
use super::penalized::{PenaltyKind, PenaltyReport};
use crate::after::RowMeans;
use crate::names::nearest;
use crate::normalizer::two_sided;
use crate::{Error, Loss, Model, Noise, Parameter, Result};

/// One unknown: its estimate, its standard error in two parts, and its interval.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Name.
    #[serde(skip)]
    pub name: String,
    /// The estimate.
    pub estimate: f64,
    /// Standard error; `NaN` at a bound, where it has no meaning.
    pub se: f64,
    /// The part that no amount of noise removes.
    pub se_data: f64,
    /// The part that more noise removes: the estimate's standard deviation over seeds.
    pub se_noise: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Degrees of freedom of the standard error, whose Student quantile makes the interval; infinite for the normal one.
    pub degrees_of_freedom: f64,
    /// Whether the estimate lies on one of its bounds.
    pub at_bound: bool,
    /// Whether it was held at this value, and not estimated.
    pub fixed: bool,
}

/// Variances of one unknown: what the data leave open and what the noise adds, with the degrees of freedom of their sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variances {
    pub(crate) data: f64,
    pub(crate) noise: f64,
    pub(crate) freedom: f64,
}

impl Estimate {
    /// An estimate with its two variances and the interval of this confidence, which for a bounded parameter is made on
    /// the scale on which it has no bounds.
    pub(crate) fn new(
        parameter: &Parameter,
        estimate: f64,
        variances: Variances,
        confidence: f64,
        at_bound: bool,
    ) -> Self {
        let name = parameter.name.clone();
        if at_bound {
            let nan = f64::NAN;
            return Self {
                name,
                estimate,
                se: nan,
                se_data: nan,
                se_noise: nan,
                lower: nan,
                upper: nan,
                degrees_of_freedom: nan,
                at_bound,
                fixed: false,
            };
        }
        let se = (variances.data + variances.noise).sqrt();
        let reach = two_sided(confidence, variances.freedom) * se;
        let (lower, upper) = interval(parameter, estimate, reach);
        Self {
            name,
            estimate,
            se,
            se_data: variances.data.sqrt(),
            se_noise: variances.noise.sqrt(),
            lower,
            upper,
            degrees_of_freedom: variances.freedom,
            at_bound,
            fixed: false,
        }
    }
}

/// `estimate ∓ reach`, on a logarithmic scale above a lower or below an upper bound, on a logistic one between two.
///
/// Nearer to a bound than that reach the scale says nothing, since it runs off to infinity there: the plain interval is
/// cut off at the bound instead, but does not end before the scale's own at the distance of the reach.
fn interval(parameter: &Parameter, estimate: f64, reach: f64) -> (f64, f64) {
    let (lower, upper) = (parameter.lower, parameter.upper);
    let (above, below) = (estimate - lower, upper - estimate);
    if reach > above.min(below) {
        let far = |distance: f64| if distance < reach { distance * std::f64::consts::E } else { 0.0 };
        let down = (estimate - reach).min(upper - far(below));
        let up = (estimate + reach).max(lower + far(above));
        return (down.max(lower), up.min(upper));
    }
    match (lower.is_finite(), upper.is_finite()) {
        (false, false) => (estimate - reach, estimate + reach),
        (true, false) => {
            let above = estimate - lower;
            (lower + above * (-reach / above).exp(), lower + above * (reach / above).exp())
        }
        (false, true) => {
            let below = upper - estimate;
            (upper - below * (reach / below).exp(), upper - below * (-reach / below).exp())
        }
        (true, true) => {
            let (above, below) = (estimate - lower, upper - estimate);
            let spread = reach * (upper - lower) / (above * below);
            let at = |shift: f64| lower + (upper - lower) / (1.0 + (below / above) * (-shift).exp());
            (at(-spread), at(spread))
        }
    }
}

/// A local optimum that a descent ended in.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Optimum {
    /// The parameters, and the constant as last entry where it is free.
    pub at: Vec<f64>,
    /// The loss there.
    pub loss: f64,
    /// How many of the starts ended there.
    pub starts: usize,
}

/// A fitted model.
///
/// [`to_json`](crate::to_json) writes it as the command does, with infinite numbers (ν without noise, the error of what has none);
/// `serde_json` by itself has `null` for those, other formats have their own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fit {
    /// By which method.
    pub method: FitMethod,
    /// The parameters, in the model's order.
    pub parameters: Vec<Estimate>,
    /// The constant, for a model that is not normalized; `None` also where the method does not give it and it cannot be computed.
    pub log_normalizer: Option<Estimate>,
    /// Covariance of all unknowns, the constant last.
    pub covariance: DMatrix<f64>,
    /// Its part that no amount of noise removes.
    pub covariance_data: DMatrix<f64>,
    /// Its part that more noise removes; zero for an exact fit.
    pub covariance_noise: DMatrix<f64>,
    /// `∇²L`, the second derivatives of the loss at the estimate (for an exact fit, in the parameters alone).
    pub hessian: DMatrix<f64>,
    /// The loss at the estimate (for an exact fit, the negative mean log-likelihood).
    pub loss: f64,
    /// Which loss, in words; `likelihood` for an exact fit.
    pub loss_name: String,
    /// Steps of the descent.
    pub iterations: usize,
    /// Whether the descent converged.
    pub converged: bool,
    /// Why it stopped.
    pub stop: Stop,
    /// Noise points per data point; ∞ for an exact fit.
    pub nu: f64,
    /// Number of noise points; 0 for an exact fit.
    pub noise_points: usize,
    /// K, the noise points of every row of a conditional model; `None` for an exact fit, and for other models.
    pub choices: Option<usize>,
    /// The noise; `None` for an exact fit or for given draws.
    pub noise: Option<Arc<dyn Noise>>,
    /// The noise in words.
    pub noise_description: String,
    /// How the noise was drawn: quietly or at random; `None` for an exact fit or for given draws.
    pub draws: Option<DrawKind>,
    /// Independent scrambles of the noise points, from whose spread the noise part of the errors comes; `None` for noise
    /// that is not quiet.
    pub replicates: Option<usize>,
    /// M, the ratio inside the loss (MATH §8): ν for random noise unless said otherwise; `None` for losses other than JS.
    pub loss_ratio: Option<f64>,
    /// How many times smaller the noise part of the variances is than independent draws of the same number would have;
    /// `None` for noise that is not quiet.
    pub noise_gain: Option<f64>,
    /// Whether the budget of noise ended before the noise part was as small as asked.
    pub budget_spent: bool,
    /// Rows of data.
    pub rows: usize,
    /// The sum of their weights, T_d.
    pub total_weight: f64,
    /// How many independent rows the rows of Markov chains are worth; absent for other rows.
    pub effective_rows: Option<f64>,
    /// How many clusters of one size the clusters are worth, where that is few.
    pub(crate) few_clusters: Option<f64>,
    /// The optima that were found, the best first; more than one means that the answer depends on the start.
    pub optima: Vec<Optimum>,
    /// The log-likelihood of all rows, for an exact fit, and for a conditional model where it can be computed in little time.
    pub log_likelihood: Option<f64>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Which curvature of the loss the standard errors rest on.
    pub curvature: Curvature,
    /// How the intervals of the parameters were made.
    pub interval: IntervalKind,
    /// The bootstrap, where it was asked for.
    pub bootstrap: Option<Bootstrap>,
    /// The held-out log-likelihood, where it was asked for.
    pub held_out: Option<HeldOut>,
    /// `tr(H⁻¹E[wψsᵀ])`, by how much the log-likelihood of these rows exceeds that of others, where it is known.
    pub(crate) optimism: Option<f64>,
    /// The penalty, where there is one.
    pub penalty: Option<PenaltyReport>,
    /// The share of the rows that follow the model, for the loss `brier` (MATH §10), where log Z can be computed.
    pub clean_share: Option<Estimate>,
    /// What else is known: whether there is an answer, whether the noise served, whether the model fits.
    pub diagnostics: Diagnostics,
    /// What is kept of the rows for what comes after the fit; absent where there is no answer.
    pub at_rows: Option<Arc<RowMeans>>,
}

impl Fit {
    /// The estimate of a parameter or of the constant, by name.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
    /// let data = sample(&Normal::with_std(0.5, 1.0)?, 1000, 1);
    /// let fit = model.fit(&data).exact().run()?;
    ///
    /// let slope = fit.get("x")?;
    /// assert!(slope.lower < 0.5 && 0.5 < slope.upper, "{slope:?}");
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], with the nearest known name.
    pub fn get(&self, name: &str) -> Result<&Estimate> {
        let estimates = self.estimates();
        let names = || estimates.iter().map(|e| e.name.as_str());
        estimates.iter().find(|e| e.name == name).copied().ok_or_else(|| Error::UnknownParameter {
            name: name.into(),
            nearest: nearest(name, names()).map(Into::into),
            known: names().map(Into::into).collect(),
        })
    }

    /// The constant, log Z; all `NaN` for a model that is normalized, whose constant is not estimated
    /// ([`Fit::log_normalizer`](field@Self::log_normalizer) is `None` then).
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
    /// let data = sample(&Normal::with_std(0.5, 1.0)?, 1000, 1);
    /// let fit = model.fit(&data).exact().run()?;
    ///
    /// // ∫ exp(x/2 − x²/2) dx = √(2π) e^{1/8}
    /// let (truth, constant) = (0.5 * std::f64::consts::TAU.ln() + 0.125, fit.log_normalizer());
    /// assert!((constant.estimate - truth).abs() < 4.0 * constant.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn log_normalizer(&self) -> Estimate {
        self.log_normalizer.clone().unwrap_or_else(|| {
            let constant = Parameter::new(crate::LOG_NORMALIZER, 0.0);
            let nan = f64::NAN;
            let unknown = Variances { data: nan, noise: nan, freedom: nan };
            Estimate::new(&constant, nan, unknown, self.confidence, false)
        })
    }

    /// Whether the lasso selected the parameters, so that they have no standard errors.
    #[must_use]
    pub fn is_selection(&self) -> bool {
        let lasso = |penalty: &PenaltyReport| penalty.kind == PenaltyKind::Lasso && !penalty.refitted;
        self.penalty.as_ref().is_some_and(lasso)
    }

    /// Rows, by their weights, for every unknown that the data have to tell.
    #[must_use]
    pub fn rows_per_unknown(&self) -> f64 {
        let told = self.estimates().into_iter().filter(|estimate| !estimate.at_bound && !estimate.fixed);
        self.total_weight / told.count().max(1) as f64
    }

    /// How many observations a row stands for on the average, by its weight.
    pub(crate) fn observations_per_row(&self) -> f64 {
        self.total_weight / self.rows as f64
    }

    /// The estimated parameters θ, without the constant.
    #[must_use]
    pub fn theta(&self) -> Vec<f64> {
        self.parameters.iter().map(|e| e.estimate).collect()
    }

    /// The estimates of all unknowns, the constant last.
    #[must_use]
    pub fn unknowns(&self) -> Vec<f64> {
        self.estimates().iter().map(|e| e.estimate).collect()
    }

    /// All unknowns, the constant last.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
    /// let data = sample(&Normal::with_std(0.5, 1.0)?, 1000, 1);
    /// let fit = model.fit(&data).exact().run()?;
    ///
    /// let names: Vec<&str> = fit.estimates().iter().map(|e| e.name.as_str()).collect();
    /// assert_eq!(names, ["x", "x^2", "log_normalizer"]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn estimates(&self) -> Vec<&Estimate> {
        self.parameters.iter().chain(&self.log_normalizer).collect()
    }

    /// Puts another noise part into the covariance, the errors and the intervals.
    pub(crate) fn replace_noise_part(&mut self, model: &Model, noise: DMatrix<f64>) {
        self.covariance = &self.covariance_data + &noise;
        self.covariance_noise = noise;
        let estimates = self.parameters.iter_mut().chain(&mut self.log_normalizer);
        for (j, (estimate, parameter)) in estimates.zip(coordinates(model)).enumerate() {
            let variances = Variances {
                data: self.covariance_data[(j, j)],
                noise: self.covariance_noise[(j, j)],
                freedom: estimate.degrees_of_freedom,
            };
            *estimate =
                Estimate::new(&parameter, estimate.estimate, variances, self.confidence, estimate.at_bound);
        }
    }

    /// Says that a parameter has no finite estimate: nothing has an error, and of its interval one end is known.
    pub(crate) fn run_away(&mut self, runaway: super::diagnostics::Runaway) {
        let size = self.covariance.nrows();
        self.covariance = DMatrix::from_diagonal_element(size, size, f64::INFINITY);
        self.covariance_data = self.covariance.clone();
        self.covariance_noise = DMatrix::zeros(size, size);
        for estimate in self.parameters.iter_mut().chain(&mut self.log_normalizer) {
            (estimate.se, estimate.se_data, estimate.se_noise) = (f64::INFINITY, f64::INFINITY, 0.0);
            (estimate.lower, estimate.upper) = (f64::NEG_INFINITY, f64::INFINITY);
        }
        if let Some((running, limit)) = self.parameters.get_mut(runaway.index).zip(runaway.limit) {
            let end = if runaway.sign > 0 { &mut running.lower } else { &mut running.upper };
            *end = limit;
        }
        (self.converged, self.stop) = (false, Stop::RunsOff);
        self.diagnostics.runs_away(runaway, self.confidence);
    }

    /// Notes minima that an earlier search with less noise found beside this one; their losses are by how much they were worse.
    pub(crate) fn remember(&mut self, others: &[Optimum]) {
        if self.optima.len() == 1 && !others.is_empty() {
            let loss = self.optima[0].loss;
            self.optima.extend(others.iter().map(|o| Optimum { loss: loss + o.loss, ..o.clone() }));
        }
    }

    /// The loss with the ratio that this fit had inside it, for log ratios with the fit's ν.
    pub(crate) fn loss_used(&self, loss: &Loss) -> Loss {
        let ratio = self.loss_ratio.filter(|_| self.nu.is_finite());
        ratio.and_then(|ratio| loss.with_ratio(ratio, self.nu).ok()).unwrap_or_else(|| loss.clone())
    }

    /// Of every unknown, the constant last, the share of the data points with which maximum likelihood would have the same
    /// error, where it is known; `None` for a fit without noise.
    #[must_use]
    pub fn efficiencies(&self) -> Option<Vec<Option<f64>>> {
        let budget = &self.diagnostics.error_budget;
        self.nu.is_finite().then(|| budget.iter().map(|entry| entry.efficiency).collect())
    }

    /// The largest share that the noise has in any standard error.
    #[must_use]
    pub fn noise_share(&self) -> f64 {
        let share = |e: &Estimate| if e.se > 0.0 { e.se_noise / e.se } else { 0.0 };
        self.estimates().into_iter().map(share).fold(0.0, f64::max)
    }
}

/// The coordinates of a model as parameters, the constant with them where it is free.
pub(crate) fn coordinates(model: &Model) -> Vec<Parameter> {
    let constant = model.has_free_constant().then(|| Parameter::new(crate::LOG_NORMALIZER, 0.0));
    model.parameters().iter().cloned().chain(constant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_grows_with_its_reach_past_a_bound() {
        let (none, lower, upper) = (f64::NEG_INFINITY, 1.0, 9.0);
        for (lower, upper) in [(lower, f64::INFINITY), (none, upper), (lower, upper)] {
            let parameter = Parameter { lower, upper, ..Parameter::new("a", 3.0) };
            let mut last = (3.0, 3.0);
            for step in 1..400 {
                let found = interval(&parameter, 3.0, 0.02 * f64::from(step));
                assert!(lower <= found.0 && found.1 <= upper, "{found:?}");
                // Between two bounds the logistic scale ends elsewhere than the logarithmic one.
                let grows = found.0 <= last.0 && found.1 >= last.1;
                assert!(
                    grows || (lower.is_finite() && upper.is_finite()),
                    "{lower} {upper} {last:?} {found:?}"
                );
                last = found;
            }
        }
    }
}
