//! Noise words turned into noises: those that need a model, data, a design or a file as well.

use std::path::Path;
use std::sync::Arc;

use noisewright::design::{self, ModelNoise, Record};
use noisewright::{Argument, Call, Context, Error, Noise, NoiseWords, Points, Target, equal_edges};

use crate::failure::{Failure, Outcome};
use crate::inputs::{Problem, read_text};

/// Draws of the model that stand in for data where `auto` has none.
const STAND_IN: usize = 20_000;

/// What designed noises are designed for.
#[derive(Clone, Copy)]
pub(crate) struct Purpose<'a> {
    pub(crate) nu: f64,
    pub(crate) target: &'a Target,
}

/// Reads noise words; an error points at the column.
pub(crate) fn parse(text: &str) -> Outcome<NoiseWords> {
    NoiseWords::parse(text).map_err(|error| Failure::Usage(format!("--noise: {error}")))
}

/// The noise of a problem in words.
pub(crate) fn build(problem: &Problem, text: &str, purpose: Purpose<'_>) -> Outcome<Arc<dyn Noise>> {
    let words = parse(text)?;
    from_words(problem, &words, purpose).map_err(|error| Failure::of_words(error, problem.data.is_some()))
}

/// The noise of parsed words.
pub(crate) fn from_words(
    problem: &Problem,
    words: &NoiseWords,
    purpose: Purpose<'_>,
) -> noisewright::Result<Arc<dyn Noise>> {
    let designed = |call: &Call| from_model(problem, call, purpose);
    let context = Context {
        space: problem.model.space(),
        data: problem.data.as_ref().map(Points::view),
        designed: Some(&designed),
    };
    words.build(&context)
}

/// The noises that come from the model or a file; `None` for all others.
fn from_model(
    problem: &Problem,
    call: &Call,
    purpose: Purpose<'_>,
) -> Option<noisewright::Result<Arc<dyn Noise>>> {
    let Problem { model, parameters, precision, .. } = problem;
    let result = match call.name.as_str() {
        "data" => ModelNoise::data(model, parameters, precision).map(shared),
        "model" => elsewhere(problem, call),
        "all-noise" => ModelNoise::all_noise(model, parameters, purpose.target, precision).map(shared),
        "optimal" => optimal(problem, purpose),
        "auto" => auto(problem),
        "histogram" => histogram(problem, call, purpose),
        "file" => from_file(call),
        _ => return None,
    };
    Some(result)
}

fn shared(noise: impl Noise + 'static) -> Arc<dyn Noise> {
    Arc::new(noise)
}

fn refused(call: &Call, reason: &str) -> Error {
    Error::Noise { noise: call.to_string(), reason: reason.into() }
}

/// `model(a=2)`: the model at other parameter values.
fn elsewhere(problem: &Problem, call: &Call) -> noisewright::Result<Arc<dyn Noise>> {
    let parameters = call.parameters_of(&problem.model, &problem.parameters)?;
    ModelNoise::data(&problem.model, &parameters, &problem.precision).map(shared)
}

fn optimal(problem: &Problem, purpose: Purpose<'_>) -> noisewright::Result<Arc<dyn Noise>> {
    let best = design::design(&problem.model, &problem.parameters, &options(problem, purpose))?;
    Ok(shared(best.noise))
}

fn options(problem: &Problem, purpose: Purpose<'_>) -> design::Options {
    design::Options {
        target: purpose.target.clone(),
        ratio: design::Ratio::Fixed(purpose.nu),
        precision: problem.precision,
        ..design::Options::default()
    }
}

/// Fitted to the data, or to draws of the model where there are none.
fn auto(problem: &Problem) -> noisewright::Result<Arc<dyn Noise>> {
    let space = problem.model.space();
    if let Some(data) = &problem.data {
        return noisewright::fit_auto(space, data.view(), None);
    }
    let model = ModelNoise::data(&problem.model, &problem.parameters, &problem.precision)?;
    let draws = noisewright::sample(&model, STAND_IN, problem.precision.seed);
    noisewright::fit_auto(space, draws.view(), None)
}

/// The best histogram for the purpose.
fn histogram(problem: &Problem, call: &Call, purpose: Purpose<'_>) -> noisewright::Result<Arc<dyn Noise>> {
    let edges = histogram_edges(call)?;
    let options = options(problem, purpose);
    let (model, parameters) = (&problem.model, problem.parameters.as_slice());
    if model.space().dimension() == 1 {
        return design::best_histogram_1d(model, parameters, &edges, &options).map(|best| shared(best.noise));
    }
    design::best_histogram_2d(model, parameters, [&edges, &edges], &options).map(|best| shared(best.noise))
}

/// The edges of `histogram(bins, lo, hi)`.
pub(crate) fn histogram_edges(call: &Call) -> noisewright::Result<Vec<f64>> {
    let wrong = || refused(call, "it must be histogram(bins, lo, hi) with at most 1000 bins");
    let [Argument::Number(bins), Argument::Number(lo), Argument::Number(hi)] = call.arguments.as_slice()
    else {
        return Err(wrong());
    };
    let whole = *bins >= 1.0 && *bins <= 1000.0 && bins.fract() == 0.0;
    if !(whole && lo < hi && lo.is_finite() && hi.is_finite()) {
        return Err(wrong());
    }
    Ok(equal_edges(*bins as usize, *lo, *hi))
}

/// `file("design.json")`.
fn from_file(call: &Call) -> noisewright::Result<Arc<dyn Noise>> {
    let [Argument::Text(path)] = call.arguments.as_slice() else {
        return Err(refused(
            call,
            "give the path of a saved design in quotes, such as file(\"design.json\")",
        ));
    };
    load(Path::new(path)).map(|(_, noise)| noise).map_err(|failure| match failure {
        Failure::NoAnswer(reason) | Failure::Usage(reason) => refused(call, &reason),
        Failure::Clap(_) | Failure::ClosedPipe => refused(call, "cannot be read"),
    })
}

/// A designed noise saved by `design --out`, with the names of its variables.
pub(crate) fn load(path: &Path) -> Outcome<(Vec<String>, Arc<dyn Noise>)> {
    let name = path.display().to_string();
    let text = read_text(path)?;
    let record: Record = serde_json::from_str(&text)
        .map_err(|error| Failure::NoAnswer(format!("{name}: this is not a saved design: {error}")))?;
    let noise = record.noise().map_err(|error| Failure::from(error).in_file(&name))?;
    Ok((record.variables, noise))
}
