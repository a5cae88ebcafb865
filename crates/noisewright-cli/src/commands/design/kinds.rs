//! The kinds of design: over all noises, or the best proportion of a given one.

use std::sync::Arc;

use noisewright::design::{self, Curve, Ratio, Record, best_ratio, ratio_for_efficiency};
use noisewright::{Asymptotics, Loss, Noise, Population, cramer_rao_covariance};
use serde_json::{Value, json};

use super::{Question, log_normalizer, population};
use crate::failure::Outcome;
use crate::noises::{self, Purpose};
use crate::output::{number, numbers};

/// Proportions at which curves are computed.
const CURVE: usize = 41;

/// As many where every one takes a search in several dimensions.
const COARSE_CURVE: usize = 15;

/// A design, whatever it was optimised over.
pub(super) struct Answer {
    pub(super) noise: Arc<dyn Noise>,
    /// The noise in words for a person.
    pub(super) title: String,
    pub(super) nu: f64,
    /// The error times the budget.
    pub(super) error: f64,
    pub(super) noise_equals_data: f64,
    pub(super) conventional: f64,
    pub(super) gap: Option<f64>,
    pub(super) stationary_points: Option<usize>,
    /// The error for the budget against the proportion, for the noise that is best at each.
    pub(super) curve: Curve,
    pub(super) efficiency: Option<Efficiency>,
    pub(super) population: Population,
    /// What the kind itself has to say of its noise, for JSON.
    pub(super) details: Value,
    pub(super) remarks: Vec<String>,
    pub(super) record: Record,
}

/// The answer to "how much noise is enough".
pub(super) struct Efficiency {
    pub(super) asked: f64,
    pub(super) nu: f64,
    /// ν and the efficiency reached with it.
    pub(super) curve: Vec<(f64, f64)>,
}

/// Designs what the words ask for.
pub(super) fn answer(question: &Question<'_>, words: &str) -> Outcome<Answer> {
    let parsed = noises::parse(words)?;
    if parsed.to_string() == "optimal" {
        return over_all_noises(question);
    }
    fixed_noise(question, words)
}

/// `tr(ΣM)` as endless noise leaves it, and the errors of p_n = p_d.
pub(super) struct Bound {
    pub(super) value: f64,
}

impl Bound {
    pub(super) fn new(question: &Question<'_>, population: &Population) -> Outcome<Self> {
        let matrix = question.target.matrix(population.coordinates(), &population.information())?;
        let value = cramer_rao_covariance(population)?.component_mul(&matrix).sum();
        Ok(Self { value })
    }

    /// The error of p_n = p_d at ν.
    pub(super) fn equal(&self, question: &Question<'_>, nu: f64) -> f64 {
        question.prices.scale(nu) * (1.0 + 1.0 / nu) * self.value
    }
}

/// Exactly, over all noises (MATH §6).
fn over_all_noises(question: &Question<'_>) -> Outcome<Answer> {
    let best = solve(question, question.ratio)?;
    let bound = Bound::new(question, &best.population)?;
    let value = |nu: f64| -> noisewright::Result<f64> {
        let at = solve(question, Ratio::Fixed(nu)).map_err(|_| noisewright::Error::NoOverlap)?;
        Ok(at.error / question.prices.scale(nu))
    };
    let places = if question.problem.model.space().dimension() == 1 { CURVE } else { COARSE_CURVE };
    let curve = Curve::new(places, |nu| Ok(question.prices.scale(nu) * value(nu)?));
    let efficiency = efficiency(question, bound.value, value)?;
    let sampled = question.problem.data.is_some().then_some(&best.population);
    let record = Record::of_shape(&question.problem.text, &best.noise, sampled)?;
    let remarks = vec![match best.gap() {
        Some(gap) => format!(
            "Certified: no noise at this proportion can be better by more than {gap:.1e} of the error (the problem is convex)."
        ),
        None => format!(
            "{} (a normalized model is not a convex problem and has no certificate).",
            match best.optimum.stationary_points {
                1 => "All starts led to this one stationary point".to_owned(),
                count => format!("The best of {count} stationary points"),
            }
        ),
    }];
    Ok(Answer {
        title: "the exact optimum".into(),
        nu: best.nu,
        error: best.error,
        noise_equals_data: best.noise_equals_data,
        conventional: best.conventional,
        gap: best.gap(),
        stationary_points: Some(best.optimum.stationary_points),
        curve,
        efficiency,
        details: json!({ "kind": "optimal", "multiplier": number(best.optimum.multiplier) }),
        remarks,
        record,
        noise: Arc::new(best.noise),
        population: best.population,
    })
}

/// The exact optimum at a ratio, on the data where there are any.
fn solve(question: &Question<'_>, ratio: Ratio) -> Outcome<design::Design> {
    let problem = question.problem;
    let options = design::Options {
        target: question.target.clone(),
        ratio,
        prices: question.prices,
        precision: problem.precision,
    };
    Ok(match &problem.data {
        None => design::design(&problem.model, &problem.parameters, &options)?,
        Some(data) => {
            let log_z = log_normalizer(problem)?;
            design::design_on_sample(&problem.model, &problem.parameters, log_z, data, &options)?
        }
    })
}

/// The best proportion of a noise that is given.
fn fixed_noise(question: &Question<'_>, words: &str) -> Outcome<Answer> {
    let problem = question.problem;
    let nu = match question.ratio {
        Ratio::Fixed(nu) => nu,
        Ratio::Free => 1.0,
    };
    let noise = noises::build(problem, words, Purpose { nu, target: &question.target })?;
    let population = match &problem.data {
        Some(_) => population(problem)?,
        None => {
            let contrast = noisewright::Contrast { noise: noise.as_ref(), nu, loss: &Loss::Js };
            Population::for_contrast(&problem.model, &problem.parameters, contrast, &problem.precision)?
        }
    };
    let log_noise = population.log_noise(noise.as_ref());
    let matrix = question.target.matrix(population.coordinates(), &population.information())?;
    let value = |nu: f64| -> noisewright::Result<f64> {
        Ok(Asymptotics::at(&population, &log_noise, nu, &Loss::Js)?.error(&matrix, nu, 1.0, 0.0))
    };
    let error = |nu: f64| -> noisewright::Result<f64> { Ok(question.prices.scale(nu) * value(nu)?) };
    let (nu, least) = match question.ratio {
        Ratio::Fixed(nu) => (nu, error(nu)?),
        Ratio::Free => best_ratio(error)?,
    };
    let bound = Bound::new(question, &population)?;
    let description = noise.describe();
    Ok(Answer {
        title: description.clone(),
        nu,
        error: least,
        noise_equals_data: bound.equal(question, nu),
        conventional: bound.equal(question, 1.0),
        gap: None,
        stationary_points: None,
        curve: Curve::new(99, error),
        efficiency: efficiency(question, bound.value, value)?,
        details: json!({ "kind": "fixed", "words": description }),
        remarks: Vec::new(),
        record: Record::of_words(&problem.text, &problem.parameters, &description)?,
        noise,
        population,
    })
}

/// How much noise until the error is within a share of what endless noise leaves.
pub(super) fn efficiency(
    question: &Question<'_>,
    limit: f64,
    value: impl Fn(f64) -> noisewright::Result<f64>,
) -> Outcome<Option<Efficiency>> {
    let Some(asked) = question.efficiency else { return Ok(None) };
    let nu = ratio_for_efficiency(asked, limit, &value)?;
    let curve = (-8..=8)
        .map(|step| nu * 2f64.powf(f64::from(step) / 2.0))
        .filter_map(|at| value(at).ok().map(|v| (at, limit / v)))
        .collect();
    Ok(Some(Efficiency { asked, nu, curve }))
}

/// The efficiency answer as JSON.
pub(super) fn efficiency_json(answer: &Answer) -> Value {
    answer.efficiency.as_ref().map_or(Value::Null, |e| {
        json!({
            "asked": number(e.asked),
            "nu": number(e.nu),
            "curve": {
                "nu": numbers(e.curve.iter().map(|c| c.0)),
                "efficiency": numbers(e.curve.iter().map(|c| c.1)),
            },
        })
    })
}
