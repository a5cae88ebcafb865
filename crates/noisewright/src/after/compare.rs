//! Fits of several models to the same rows, compared by their likelihoods.

use nalgebra::DVector;
use noisewright_numerics::special::{gamma_q, ln_gamma};
use serde::Serialize;

use super::nested::is_nested;
use super::record::FitRecord;
use crate::fit::{FitMethod, HeldOut, Variances};
use crate::{Error, Estimate, Model, Parameter, Result};

/// Largest Monte-Carlo standard error of a likelihood ratio, as a share of the standard deviation that the statistic has
/// under the null hypothesis, with which its p-value is still given.
///
/// Where a normal error is added to χ², tests at 5 and at 1 % reject a right hypothesis more often than that. By integration
/// over the error (`bench/nets/likelihood_ratio.py` prints the table) a quarter makes 5 into at most 5.33 and 1 into at most
/// 1.09 % for one to twenty degrees of freedom: less than a tenth more.
const LARGEST_ERROR: f64 = 0.25;

/// By how many Monte-Carlo errors a smaller model may be the likelier one.
const REVERSED_ERRORS: f64 = 4.0;
/// And by this much in any case, which is rounding.
const LEAST_REVERSED: f64 = 1e-6;

/// One of the models.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelScore {
    /// The name of the fit.
    pub name: String,
    /// By which method.
    pub method: FitMethod,
    /// Log-likelihood of all rows, with the Monte-Carlo error of log Z; no number where the constant is not known.
    pub log_likelihood: Estimate,
    /// Number of free parameters.
    pub parameters: usize,
    /// Akaike's criterion, −2 log L + 2 k.
    pub aic: f64,
    /// Schwarz's criterion, −2 log L + k log T_d.
    pub bic: f64,
    /// Takeuchi's criterion, −2 log L + 2 tr(J⁻¹K), which holds for wrong models too; against noise `tr(H⁻¹E[wψsᵀ])` takes the
    /// place of the trace (Konishi and Kitagawa 1996). `None` for rows that depend on one another.
    pub tic: Option<f64>,
    /// The held-out log-likelihood with its standard error, for fits that were cross-validated.
    pub held_out: Option<HeldOut>,
}

/// A likelihood-ratio test of one model within another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LikelihoodRatio {
    /// The smaller model, which is the hypothesis.
    pub smaller: String,
    /// The larger model.
    pub larger: String,
    /// Twice the difference of the log-likelihoods.
    pub statistic: f64,
    /// Its Monte-Carlo standard error.
    pub statistic_se: f64,
    /// Number of parameters that the larger model has more.
    pub degrees: usize,
    /// Probability of a statistic as large where the smaller model is right; `None` where `reason` says why.
    pub p_value: Option<f64>,
    /// The Monte-Carlo standard error of the p-value.
    pub p_value_se: Option<f64>,
    /// Why there is no p-value.
    pub reason: Option<&'static str>,
}

/// A parameter of several fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SharedParameter {
    /// Its name.
    pub name: String,
    /// What each fit says of it, in their order; `None` for a fit without it.
    pub fits: Vec<Option<SharedEstimate>>,
}

/// What one fit says of a shared parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SharedEstimate {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error; no number at a bound or after a selection.
    pub se: f64,
}

/// Fits side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The models, in the order in which they were given.
    pub models: Vec<ModelScore>,
    /// Tests of every model within each larger one that contains it.
    pub tests: Vec<LikelihoodRatio>,
    /// Parameters that two or more of the fits share, with the estimate of each fit.
    pub estimates: Vec<SharedParameter>,
    /// Number of rows.
    pub rows: usize,
}

impl FitRecord {
    /// The log-likelihood of all rows at the estimate, `T_d (mean u − ĉ)`, with the Monte-Carlo error of the constant.
    ///
    /// What the noise leaves open is `ĉ − log Z(θ̂)`. With ∇log Z the model's mean score, which at the estimate is the rows',
    /// it is `v·β̂` with `v = (−mean ∇u, 1)`.
    ///
    /// # Errors
    /// [`Error::SavedFit`] for a record without a constant; by a method that gives none it is no number.
    pub fn log_likelihood(&self) -> Result<Estimate> {
        let log_z = match self.log_normalizer() {
            Err(_) if self.method.is_without_constant() => f64::NAN,
            known => known?,
        };
        let value = self.total_weight * (self.mean_energy - log_z);
        let noise = if self.has_constant {
            let slope = self.mean_score.iter().map(|s| -s).chain([1.0]);
            let slope = DVector::from_iterator(self.joint.values.len(), slope);
            self.joint.variances(&slope)[1] * self.total_weight.powi(2)
        } else {
            0.0
        };
        let variances = Variances { data: 0.0, noise, freedom: f64::INFINITY };
        let name = Parameter::new("log_likelihood", value);
        Ok(Estimate::new(&name, value, variances, self.joint.confidence, false))
    }

    fn score(&self, name: &str) -> Result<ModelScore> {
        let log_likelihood = self.log_likelihood()?;
        let deviance = -2.0 * log_likelihood.estimate;
        let parameters = self.free_parameters;
        Ok(ModelScore {
            name: name.into(),
            method: self.method,
            parameters,
            aic: deviance + 2.0 * parameters as f64,
            bic: deviance + parameters as f64 * self.total_weight.ln(),
            tic: self.takeuchi_penalty.map(|penalty| deviance + 2.0 * penalty),
            held_out: self.held_out.clone(),
            log_likelihood,
        })
    }

    /// What the fit says of a parameter.
    fn shared(&self, name: &str) -> Option<SharedEstimate> {
        let at = self.joint.coordinates.iter().position(|known| known == name)?;
        let known = !self.joint.without_errors && !self.joint.at_bound[at];
        let slope = DVector::from_fn(self.joint.values.len(), |j, _| if j == at { 1.0 } else { 0.0 });
        let se = if known { self.joint.variances(&slope).iter().sum::<f64>().sqrt() } else { f64::NAN };
        Some(SharedEstimate { estimate: self.joint.values[at], se })
    }

    fn is_at_bound(&self) -> bool {
        self.joint.at_bound.iter().any(|at| *at)
    }
}

/// Compares fits of models to the same rows; `models` are those of the fits, every parameter free, where they are known.
///
/// With `nested` a model is taken as contained in every one with more parameters; otherwise that is found out, from the
/// models, on rows of the data.
///
/// ```
/// use noisewright::{after::compare, prelude::*};
/// let data = sample(&Normal::with_std(0.5, 1.0)?, 400, 1);
/// let (fixed, free) = (
///     Model::from_toml("variables = ['x']\nlog_density = '-p*x^2/2'\n[parameters]\np = 1")?,
///     Model::from_toml("variables = ['x']\nlog_density = 'm*x - p*x^2/2'\n[parameters]\nm = 0\np = 1")?,
/// );
/// let fits = [fixed.fit(&data).exact().run()?.record(None)?, free.fit(&data).exact().run()?.record(None)?];
/// let named = [("centred".to_owned(), &fits[0]), ("free".to_owned(), &fits[1])];
/// let found = compare(&named, &[Some(&fixed), Some(&free)], false)?;
/// // Half a deviation off in 400 rows: the likelihood ratio is about 400 log(1 + ¼) = 89 on one degree of freedom.
/// assert!(found.models[1].aic < found.models[0].aic && found.tests.len() == 1);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// [`Error::Incomparable`] for fewer than two fits, or fits to other rows.
pub fn compare(fits: &[(String, &FitRecord)], models: &[Option<&Model>], nested: bool) -> Result<Comparison> {
    let [(first, reference), others @ ..] = fits else { return Err(too_few()) };
    if others.is_empty() {
        return Err(too_few());
    }
    if let Some((name, _)) = fits.iter().find(|(_, record)| record.penalized) {
        let reason = format!(
            "`{name}` is of a penalised fit, whose likelihood is not at its maximum: fit the selected parameters again \
             without a penalty"
        );
        return Err(Error::Incomparable { reason });
    }
    for (name, record) in others {
        refuse_other_rows((first, reference), (name, record))?;
    }
    let scores = fits.iter().map(|(name, record)| record.score(name)).collect::<Result<Vec<_>>>()?;
    let mut tests = Vec::new();
    for (i, (_, small)) in fits.iter().enumerate() {
        for (j, (_, large)) in fits.iter().enumerate() {
            if small.free_parameters >= large.free_parameters {
                continue;
            }
            let known = models.get(i).copied().flatten().zip(models.get(j).copied().flatten());
            let contained = match known {
                _ if nested => true,
                Some((inner, outer)) => is_nested((small, inner), (large, outer))?,
                None => false,
            };
            if contained {
                tests.push(likelihood_ratio((small, &scores[i]), (large, &scores[j])));
            }
        }
    }
    Ok(Comparison { models: scores, tests, estimates: shared_parameters(fits), rows: reference.rows })
}

/// The parameters of the fits, each once, that more than one of them has.
fn shared_parameters(fits: &[(String, &FitRecord)]) -> Vec<SharedParameter> {
    let mut names: Vec<&String> = Vec::new();
    for name in fits.iter().flat_map(|(_, record)| &record.joint.coordinates) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |name: &String| {
        let fits: Vec<_> = fits.iter().map(|(_, record)| record.shared(name)).collect();
        let several = fits.iter().flatten().count() > 1;
        several.then(|| SharedParameter { name: name.clone(), fits })
    };
    names.into_iter().filter_map(of).collect()
}

fn too_few() -> Error {
    Error::Incomparable { reason: "give at least two fits".into() }
}

fn refuse_other_rows(first: (&str, &FitRecord), other: (&str, &FitRecord)) -> Result<()> {
    let sorted = |record: &FitRecord| {
        let mut names = record.variables.clone();
        names.sort();
        names
    };
    let (names, others) = (sorted(first.1), sorted(other.1));
    let what = if names != others {
        format!("are of {} and of {}", names.join(", "), others.join(", "))
    } else if first.1.rows != other.1.rows {
        format!("are of {} and of {} rows", first.1.rows, other.1.rows)
    } else if first.1.fingerprint != other.1.fingerprint {
        "are of rows with other values or weights".to_owned()
    } else {
        return Ok(());
    };
    let reason = format!(
        "`{}` and `{}` {what}, and likelihoods of different data cannot be compared",
        first.0, other.0
    );
    Err(Error::Incomparable { reason })
}

fn likelihood_ratio(
    (small, inner): (&FitRecord, &ModelScore),
    (large, outer): (&FitRecord, &ModelScore),
) -> LikelihoodRatio {
    let statistic = 2.0 * (outer.log_likelihood.estimate - inner.log_likelihood.estimate);
    let error = 2.0 * outer.log_likelihood.se.hypot(inner.log_likelihood.se);
    let degrees = outer.parameters - inner.parameters;
    let half = 0.5 * degrees as f64;
    let reason = if small.is_at_bound() || large.is_at_bound() {
        Some("an estimate lies on its bound, where the statistic has no χ² distribution")
    } else if small.method.is_without_constant() || large.method.is_without_constant() {
        Some(
            "a fit by score matching or pseudo-likelihood is not at the maximum of the likelihood: use a Wald test",
        )
    } else if small.dependent_rows || large.dependent_rows {
        Some("the rows depend on one another, and the statistic has no χ² distribution then: use a Wald test")
    } else if error > LARGEST_ERROR * (4.0 * half).sqrt() {
        Some("the Monte-Carlo error of the statistic is too large: fit with more noise, or exactly")
    } else if statistic < -(REVERSED_ERRORS * error).max(LEAST_REVERSED) {
        Some(
            "the larger model is the less likely one: its fit is not the maximum, or the models are not nested",
        )
    } else {
        None
    };
    let x = 0.5 * statistic.max(0.0);
    // The χ² density times the error: p = Q(d/2, x), x = statistic/2.
    let slope = if x > 0.0 { 0.5 * ((half - 1.0) * x.ln() - x - ln_gamma(half)).exp() } else { 0.0 };
    let given = reason.is_none();
    LikelihoodRatio {
        smaller: inner.name.clone(),
        larger: outer.name.clone(),
        statistic,
        statistic_se: error,
        degrees,
        p_value: given.then(|| gamma_q(half, x)),
        p_value_se: given.then_some(slope * error),
        reason,
    }
}
