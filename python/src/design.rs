//! `design`: the noise and the proportion that minimise the error.

use std::sync::Arc;

use noisewright::design::{
    Curve, DictionaryOptions, Member, Options, Prices, Ratio, Record, best_histogram_1d, best_histogram_2d,
    best_member, best_member_on, best_ratio, design_mixture, design_mixture_on_sample, ratio_for_efficiency,
};
use noisewright::{
    Asymptotics, Call, Contrast, Loss, Noise, NoiseWords, Population, Target, cramer_rao_covariance,
};
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
use crate::model::PyModel;
use crate::noise::{NoiseArgument, Request, histogram_edges};
use crate::problem::{Problem, Purpose};
use crate::theory::{Question, curve_tree, grid, parameters, prices};
use crate::tree::{Tree, map};

/// Proportions at which curves are computed.
const CURVE: usize = 41;
/// As many where every one takes a search in several dimensions.
const COARSE_CURVE: usize = 15;

/// What is asked for.
struct Search {
    problem: Problem,
    /// The model file, where the model has one: a design is saved with it.
    text: Option<String>,
    request: Request,
    target: Target,
    ratio: Ratio,
    prices: Prices,
    efficiency: Option<f64>,
}

/// A design, whatever it was optimised over.
struct Found {
    noise: Arc<dyn Noise>,
    nu: f64,
    error: f64,
    gap: Option<f64>,
    stationary_points: Option<usize>,
    curve: Curve,
    efficiency: Option<Tree>,
    population: Population,
    kind: &'static str,
    details: Vec<(String, Tree)>,
    remarks: Vec<String>,
    record: Option<Record>,
}

/// The best noise and proportion.
#[pyfunction]
#[pyo3(signature = (model, question, text, noise, nu, target, price_data, price_noise, efficiency, tick=None))]
pub(crate) fn design<'py>(
    py: Python<'py>,
    model: &PyModel,
    question: Question<'py>,
    text: Option<String>,
    noise: NoiseArgument,
    nu: Option<f64>,
    target: String,
    price_data: f64,
    price_noise: f64,
    efficiency: Option<f64>,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let problem = question.problem(model)?;
    let request = Request::from(noise);
    model.run(py, tick, move |model, _| {
        let search = Search {
            problem: Problem { model, ..problem },
            text,
            request,
            target: Target::parse(&target),
            ratio: nu.map_or(Ratio::Free, Ratio::Fixed),
            prices: prices(price_data, price_noise)?,
            efficiency,
        };
        search.run()
    })
}

impl Search {
    fn run(&self) -> Outcome<Tree> {
        let found = self.find()?;
        let bound = self.bound(&found.population)?;
        let equal = |nu: f64| self.prices.scale(nu) * (1.0 + 1.0 / nu) * bound;
        let record = found.record.as_ref().and_then(|record| serde_json::to_string(record).ok());
        Ok(map! {
            "error": found.error,
            "nu": found.nu,
            "noise_proportion": found.nu / (1.0 + found.nu),
            "error_noise_equals_data": equal(found.nu),
            "error_conventional": equal(1.0),
            "gap": found.gap,
            "stationary_points": found.stationary_points,
            "kind": found.kind,
            "details": found.details,
            "grid": grid(&self.problem, &found.population, found.noise.as_ref(), found.nu),
            "noise": found.noise,
            "record": record,
            "efficiency": found.efficiency,
            "curve": curve_tree(&found.curve),
            "target": self.target.to_string(),
            "price_data": self.prices.data,
            "price_noise": self.prices.noise,
            "parameters": parameters(&self.problem),
            "remarks": found.remarks,
        })
    }

    /// Designs what the words ask for.
    fn find(&self) -> Outcome<Found> {
        if self.request.words.trim() == "mixture" {
            return self.over_mixtures();
        }
        let words = self.request.parse()?;
        if words.to_string() == "optimal" {
            return self.over_all_noises();
        }
        if words.free_count() > 0 {
            return self.over_family(&words);
        }
        match words.terms.as_slice() {
            [(_, call)] if call.name == "histogram" => self.over_histograms(call),
            _ => {
                let noise = self.request.spoken(&self.problem, &words, self.purpose())?;
                self.given(noise, self.ratio)
            }
        }
    }

    fn purpose(&self) -> Purpose<'_> {
        let nu = if let Ratio::Fixed(nu) = self.ratio { nu } else { 1.0 };
        Purpose { nu, target: &self.target }
    }

    fn options(&self, ratio: Ratio) -> Options {
        Options { prices: self.prices, ..self.problem.options(&self.target, ratio) }
    }

    /// `tr(ΣM)` as endless noise leaves it.
    fn bound(&self, population: &Population) -> Outcome<f64> {
        let matrix = self.target.matrix(population.coordinates(), &population.information())?;
        Ok(cramer_rao_covariance(population)?.component_mul(&matrix).sum())
    }

    /// How much noise until the error is within a share of what endless noise leaves.
    fn enough(&self, limit: f64, value: impl Fn(f64) -> noisewright::Result<f64>) -> Outcome<Option<Tree>> {
        let Some(asked) = self.efficiency else { return Ok(None) };
        let nu = ratio_for_efficiency(asked, limit, value)?;
        Ok(Some(map! { "asked": asked, "nu": nu }))
    }

    /// A record of the noise, where the model has a file that can be kept with it.
    fn record(&self, make: impl FnOnce(&str) -> noisewright::Result<Record>) -> Option<Record> {
        let record = make(self.text.as_deref()?).ok()?;
        record.noise().is_ok().then_some(record)
    }

    /// Exactly, over all noises (MATH §6).
    fn over_all_noises(&self) -> Outcome<Found> {
        let best = self.problem.solve(&self.options(self.ratio))?;
        let value = |nu: f64| {
            let at = self.problem.solve(&self.options(Ratio::Fixed(nu)))?;
            Ok(at.error / self.prices.scale(nu))
        };
        let places = if self.problem.model.space().dimension() == 1 { CURVE } else { COARSE_CURVE };
        let curve = Curve::new(places, |nu| Ok(self.prices.scale(nu) * value(nu)?));
        let efficiency = self.enough(self.bound(&best.population)?, value)?;
        let sampled = self.problem.sample().map(|_| &best.population);
        let record = self.record(|text| Record::of_shape(text, &best.noise, sampled));
        let remark = match (best.gap(), best.optimum.stationary_points) {
            (Some(gap), _) => format!(
                "Certified: no noise at this proportion can be better by more than {gap:.1e} of the error (the problem is \
                 convex)."
            ),
            (None, 1) => {
                "All starts led to this one stationary point; a normalized model has no certificate.".into()
            }
            (None, count) => {
                format!("The best of {count} stationary points; a normalized model has no certificate.")
            }
        };
        Ok(Found {
            nu: best.nu,
            error: best.error,
            gap: best.gap(),
            stationary_points: Some(best.optimum.stationary_points),
            curve,
            efficiency,
            kind: "optimal",
            details: vec![("multiplier".into(), best.optimum.multiplier.into())],
            remarks: vec![remark],
            record,
            noise: Arc::new(best.noise),
            population: best.population,
        })
    }

    /// The best member of a family with free places.
    fn over_family(&self, words: &NoiseWords) -> Outcome<Found> {
        let Problem { model, parameters, .. } = &self.problem;
        let build = |words: &NoiseWords| self.request.spoken(&self.problem, words, self.purpose());
        let options = self.options(self.ratio);
        let found = match self.problem.sample() {
            None => best_member(words, &build, model, parameters, &options)?,
            Some(_) => {
                best_member_on(&self.problem.population()?, words, &build, model, parameters, &options)?
            }
        };
        let best = &found.minima[0];
        let mut remarks = vec![match found.minima.len() {
            1 => "The family has no other local minimum.".to_owned(),
            count => format!("The best of {count} local minima of the family."),
        }];
        if best.at_edge {
            let edge =
                "A free value is at the end of the range that was searched: the true best may lie beyond.";
            remarks.push(edge.into());
        }
        let spoken = best.words.to_string();
        Ok(Found {
            error: best.error,
            stationary_points: Some(found.minima.len()),
            kind: "family",
            details: vec![
                ("words".into(), spoken.clone().into()),
                ("values".into(), best.values.clone().into()),
                ("minima".into(), found.minima.iter().map(member).collect::<Vec<_>>().into()),
            ],
            remarks,
            record: self.record(|text| Record::of_words(text, parameters, &spoken)),
            ..self.given(best.noise.clone(), Ratio::Fixed(best.nu))?
        })
    }

    /// The best weights of a dictionary of noises that can be drawn from.
    fn over_mixtures(&self) -> Outcome<Found> {
        let Problem { model, parameters, .. } = &self.problem;
        let (options, dictionary) = (self.options(self.ratio), DictionaryOptions::default());
        let best = match self.problem.sample() {
            None => design_mixture(model, parameters, &dictionary, &options)?,
            Some(sample) => {
                let log_z = self.problem.log_normalizer()?;
                design_mixture_on_sample(model, parameters, log_z, sample, &dictionary, &options)?
            }
        };
        let words = best.noise.describe();
        let used = best.weights.iter().filter(|w| **w > 0.0).count();
        let mut remarks = vec![format!("A mixture of {used} components.")];
        if best.convex {
            remarks.push(format!(
                "Certified: no other weights of the same dictionary can be better by more than {:.1e} of the error.",
                best.gap
            ));
        }
        Ok(Found {
            error: best.error,
            gap: best.convex.then_some(best.gap),
            stationary_points: Some(best.stationary_points),
            kind: "mixture",
            details: vec![
                ("words".into(), words.clone().into()),
                ("exact_error".into(), best.exact_error.into()),
                ("excess".into(), best.excess().into()),
            ],
            remarks,
            record: self.record(|text| Record::of_words(text, parameters, &words)),
            ..self.given(best.noise.clone(), Ratio::Fixed(best.nu))?
        })
    }

    /// The best histogram with so many equal bins in each variable.
    fn over_histograms(&self, call: &Call) -> Outcome<Found> {
        if self.problem.sample().is_some() {
            return Err(Failure::Input(
                "noise: a histogram is designed on the model itself; leave out `data`".into(),
            ));
        }
        let edges = histogram_edges(call)?;
        let options = self.options(self.ratio);
        let Problem { model, parameters, .. } = &self.problem;
        let dimension = model.space().dimension();
        let (noise, probabilities, nu, error, gap, stationary): (
            Arc<dyn Noise>,
            Vec<f64>,
            f64,
            f64,
            f64,
            usize,
        ) = if dimension == 1 {
            let best = best_histogram_1d(model, parameters, &edges, &options)?;
            let probabilities = best.noise.probabilities().to_vec();
            (Arc::new(best.noise), probabilities, best.nu, best.error, best.gap, best.stationary_points)
        } else {
            let best = best_histogram_2d(model, parameters, [&edges, &edges], &options)?;
            let probabilities = best.noise.probabilities().to_vec();
            (Arc::new(best.noise), probabilities, best.nu, best.error, best.gap, best.stationary_points)
        };
        let all_edges = vec![edges.clone(); dimension];
        let record = self.record(|text| Record::of_histogram(text, parameters, all_edges, &probabilities));
        Ok(Found {
            error,
            gap: (!model.is_normalized()).then_some(gap),
            stationary_points: Some(stationary),
            kind: "histogram",
            details: vec![("edges".into(), edges.into()), ("probabilities".into(), probabilities.into())],
            record,
            ..self.given(noise, Ratio::Fixed(nu))?
        })
    }

    /// A noise that is given: its error at a ratio, or at its best one.
    fn given(&self, noise: Arc<dyn Noise>, ratio: Ratio) -> Outcome<Found> {
        let Problem { model, parameters, precision, .. } = &self.problem;
        let nu = if let Ratio::Fixed(nu) = ratio { nu } else { 1.0 };
        let population = match self.problem.sample() {
            Some(_) => self.problem.population()?,
            None => {
                let contrast = Contrast { noise: noise.as_ref(), nu, loss: &Loss::Js };
                Population::for_contrast(model, parameters, contrast, precision)?
            }
        };
        let log_noise = population.log_noise(noise.as_ref());
        let matrix = self.target.matrix(population.coordinates(), &population.information())?;
        let value = |nu: f64| -> noisewright::Result<f64> {
            Ok(Asymptotics::at(&population, &log_noise, nu, &Loss::Js)?.error(&matrix, nu, 1.0, 0.0))
        };
        let error = |nu: f64| -> noisewright::Result<f64> { Ok(self.prices.scale(nu) * value(nu)?) };
        let (nu, least) = match ratio {
            Ratio::Fixed(nu) => (nu, error(nu)?),
            Ratio::Free => best_ratio(error)?,
        };
        let curve = Curve::new(99, error);
        let efficiency = self.enough(self.bound(&population)?, value)?;
        let words = noise.describe();
        Ok(Found {
            nu,
            error: least,
            gap: None,
            stationary_points: None,
            curve,
            efficiency,
            kind: "fixed",
            details: vec![("words".into(), words.clone().into())],
            remarks: Vec::new(),
            record: self.record(|text| Record::of_words(text, parameters, &words)),
            noise,
            population,
        })
    }
}

fn member(member: &Member) -> Tree {
    map! {
        "words": member.words.to_string(),
        "values": member.values.clone(),
        "nu": member.nu,
        "noise_proportion": member.nu / (1.0 + member.nu),
        "error": member.error,
        "at_edge": member.at_edge,
    }
}
