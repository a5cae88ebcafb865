//! The kinds of design: over all noises, a family, histograms, a dictionary, or the best proportion of a given noise.

use std::sync::Arc;

use noisewright::design::{
    self, Curve, DictionaryOptions, Member, Ratio, Record, best_histogram_1d, best_histogram_2d, best_member,
    best_member_on, best_ratio, design_mixture, design_mixture_on_sample, ratio_for_efficiency,
};
use noisewright::{Asymptotics, Call, Loss, Noise, NoiseWords, Population, cramer_rao_covariance};
use serde_json::{Value, json};

use noisewright_report::{format_number, format_percent};

use super::{Question, log_normalizer, population};
use crate::commands::error::{share, shortened};
use crate::failure::{Failure, Outcome};
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
    if words.trim() == "mixture" {
        return over_mixtures(question);
    }
    let parsed = noises::parse(words)?;
    if parsed.to_string() == "optimal" {
        return over_all_noises(question);
    }
    if parsed.free_count() > 0 {
        return over_family(question, &parsed);
    }
    match single_call(&parsed) {
        Some(call) if call.name == "histogram" => over_histograms(question, call),
        _ => {
            let nu = given_ratio(question).unwrap_or(1.0);
            let noise =
                noises::from_words(question.problem, &parsed, Purpose { nu, target: &question.target })
                    .map_err(|error| Failure::of_words(error, question.problem.data.is_some()))?;
            given_noise(question, noise, question.ratio)
        }
    }
}

/// The one noise that the words name, if they name no mixture.
fn single_call(words: &NoiseWords) -> Option<&Call> {
    match words.terms.as_slice() {
        [(_, call)] => Some(call),
        _ => None,
    }
}

fn given_ratio(question: &Question<'_>) -> Option<f64> {
    match question.ratio {
        Ratio::Fixed(nu) => Some(nu),
        Ratio::Free => None,
    }
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

fn options(question: &Question<'_>, ratio: Ratio) -> design::Options {
    design::Options {
        target: question.target.clone(),
        ratio,
        prices: question.prices,
        precision: question.problem.precision,
    }
}

/// The exact optimum at a ratio, on the data where there are any.
fn solve(question: &Question<'_>, ratio: Ratio) -> Outcome<design::Design> {
    let problem = question.problem;
    let options = options(question, ratio);
    Ok(match &problem.data {
        None => design::design(&problem.model, &problem.parameters, &options)?,
        Some(data) => {
            let log_z = log_normalizer(problem)?;
            design::design_on_sample(&problem.model, &problem.parameters, log_z, data, &options)?
        }
    })
}

/// The best member of a family with free places.
fn over_family(question: &Question<'_>, words: &NoiseWords) -> Outcome<Answer> {
    let problem = question.problem;
    let purpose = Purpose { nu: given_ratio(question).unwrap_or(1.0), target: &question.target };
    let build = |words: &NoiseWords| noises::from_words(problem, words, purpose);
    let options = options(question, question.ratio);
    let found = match &problem.data {
        None => best_member(words, &build, &problem.model, &problem.parameters, &options)?,
        Some(_) => {
            let population = population(problem)?;
            best_member_on(&population, words, &build, &problem.model, &problem.parameters, &options)?
        }
    };
    let best = &found.minima[0];
    let answer = given_noise(question, best.noise.clone(), Ratio::Fixed(best.nu))?;
    let mut remarks = vec![match found.minima.len() {
        1 => "The family has no other local minimum.".to_owned(),
        count => format!("The best of {count} local minima of the family."),
    }];
    remarks.extend(found.minima.iter().skip(1).map(|m| {
        let words = shortened(&m.words.to_string());
        format!("Another: {words} at {} noise, error {}.", share(m.nu), format_number(m.error, 6))
    }));
    if best.at_edge {
        remarks.push(
            "A free value is at the end of the range that was searched: the true best may lie beyond.".into(),
        );
    }
    Ok(Answer {
        title: shortened(&best.words.to_string()),
        error: best.error,
        stationary_points: Some(found.minima.len()),
        details: json!({
            "kind": "family",
            "words": best.words.to_string(),
            "values": numbers(best.values.iter().copied()),
            "minima": found.minima.iter().map(member_json).collect::<Vec<_>>(),
        }),
        remarks,
        record: Record::of_words(&problem.text, &problem.parameters, &best.words.to_string())?,
        ..answer
    })
}

fn member_json(member: &Member) -> Value {
    json!({
        "words": member.words.to_string(),
        "values": numbers(member.values.iter().copied()),
        "nu": number(member.nu),
        "noise_proportion": number(member.nu / (1.0 + member.nu)),
        "error": number(member.error),
        "at_edge": member.at_edge,
    })
}

/// The best weights of a dictionary of noises that can be drawn from.
fn over_mixtures(question: &Question<'_>) -> Outcome<Answer> {
    let problem = question.problem;
    let (options, dictionary) = (options(question, question.ratio), DictionaryOptions::default());
    let best = match &problem.data {
        None => design_mixture(&problem.model, &problem.parameters, &dictionary, &options)?,
        Some(data) => {
            let log_z = log_normalizer(problem)?;
            design_mixture_on_sample(&problem.model, &problem.parameters, log_z, data, &dictionary, &options)?
        }
    };
    let words = best.noise.describe();
    let answer = given_noise(question, best.noise.clone(), Ratio::Fixed(best.nu))?;
    let used = best.weights.iter().filter(|w| **w > 0.0).count();
    let excess = match best.excess() {
        excess if excess.is_finite() => {
            format!("{} above the exact optimum's", format_percent(excess.max(0.0), 3))
        }
        _ => "above that of the model itself, which would leave none".to_owned(),
    };
    let mut remarks = vec![format!("A mixture of {used} components; its error is {excess}.")];
    if best.convex {
        remarks.push(format!(
            "Certified: no other weights of the same dictionary can be better by more than {:.1e} of the error.",
            best.gap
        ));
    }
    Ok(Answer {
        title: format!("a mixture of {used}"),
        error: best.error,
        gap: best.convex.then_some(best.gap),
        stationary_points: Some(best.stationary_points),
        details: json!({
            "kind": "mixture",
            "words": words,
            "weights": numbers(best.weights.iter().copied()),
            "components": best.components.iter().map(|c| c.describe()).collect::<Vec<_>>(),
            "exact_error": number(best.exact_error),
            "excess": number(best.excess()),
        }),
        remarks,
        record: Record::of_words(&problem.text, &problem.parameters, &words)?,
        ..answer
    })
}

/// The best histogram with so many equal bins in each variable.
fn over_histograms(question: &Question<'_>, call: &Call) -> Outcome<Answer> {
    let problem = question.problem;
    if problem.data.is_some() {
        return Err(Failure::Usage(
            "--noise: a histogram is designed on the model itself; leave out --data".into(),
        ));
    }
    let edges = noises::histogram_edges(call)?;
    let options = options(question, question.ratio);
    let (model, parameters) = (&problem.model, problem.parameters.as_slice());
    let dimension = model.space().dimension();
    let (noise, nu, error, gap, stationary): (Arc<dyn Noise>, f64, f64, f64, usize);
    let probabilities: Vec<f64>;
    if dimension == 1 {
        let best = best_histogram_1d(model, parameters, &edges, &options)?;
        probabilities = best.noise.probabilities().to_vec();
        (nu, error, gap, stationary) = (best.nu, best.error, best.gap, best.stationary_points);
        noise = Arc::new(best.noise);
    } else {
        let best = best_histogram_2d(model, parameters, [&edges, &edges], &options)?;
        probabilities = best.noise.probabilities().to_vec();
        (nu, error, gap, stationary) = (best.nu, best.error, best.gap, best.stationary_points);
        noise = Arc::new(best.noise);
    }
    let record =
        Record::of_histogram(&problem.text, parameters, vec![edges.clone(); dimension], &probabilities)?;
    let details = json!({
        "kind": "histogram",
        "edges": numbers(edges.iter().copied()),
        "probabilities": numbers(probabilities),
    });
    let answer = given_noise(question, noise, Ratio::Fixed(nu))?;
    let convex = !model.is_normalized();
    let remark = if convex {
        format!("Certified: no histogram with these bins can be better by more than {gap:.1e} of the error.")
    } else {
        format!("The best of {stationary} stationary points.")
    };
    Ok(Answer {
        title: call.to_string(),
        error,
        gap: convex.then_some(gap),
        stationary_points: Some(stationary),
        details,
        remarks: vec![remark],
        record,
        ..answer
    })
}

/// A noise that is given: its error at a ratio, or at its best one.
fn given_noise(question: &Question<'_>, noise: Arc<dyn Noise>, ratio: Ratio) -> Outcome<Answer> {
    let problem = question.problem;
    let nu = match ratio {
        Ratio::Fixed(nu) => nu,
        Ratio::Free => 1.0,
    };
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
    let (nu, least) = match ratio {
        Ratio::Fixed(nu) => (nu, error(nu)?),
        Ratio::Free => best_ratio(error)?,
    };
    let bound = Bound::new(question, &population)?;
    let description = noise.describe();
    Ok(Answer {
        title: shortened(&description),
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
