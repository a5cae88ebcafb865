//! What the page shows while the noise moves: the error of the design, the best noise at its ν, and the curves over ν.

use noisewright::design::{Design, DesignOptions, Prices, Ratio};
use noisewright::internal::Contrast;
use noisewright::internal::design::{self, DesignSpace};
use noisewright::parts::ModelNoise;
use noisewright::run::CancelToken;
use noisewright::{Noise, NoiseWords};
use noisewright_report::Value;
use serde::Serialize;

use crate::Mistake;
use crate::question::Question;
use crate::stage::{Stage, precision};

/// Anything that serializes, as a value.
pub(crate) fn value(result: &(impl Serialize + ?Sized)) -> Result<Value, Mistake> {
    Value::of(result).map_err(|error| Mistake::new(format!("the answer cannot be written: {error}")))
}

/// The lab reads no files but those that it was started with or given.
pub(crate) fn no_files(_: &str) -> Result<std::sync::Arc<dyn Noise>, String> {
    Err("the lab opens no files: use the command for saved designs".into())
}

/// What the model is: its variables, its parameters, and where its data lie.
pub(crate) fn model(stage: &Stage) -> Result<Value, Mistake> {
    let space = stage.model.space();
    let variable = |(index, name): (usize, &String)| {
        let (mean, sd) = moments(stage, index);
        Value::Map(vec![
            ("name".into(), name.as_str().into()),
            ("domain".into(), space.domains()[index].name().into()),
            ("mean".into(), mean.into()),
            ("sd".into(), sd.into()),
        ])
    };
    let parameter = |(parameter, value): (&noisewright::Parameter, &f64)| {
        Value::Map(vec![
            ("name".into(), parameter.name.as_str().into()),
            ("value".into(), (*value).into()),
            ("start".into(), parameter.start.into()),
            ("lower".into(), parameter.lower.into()),
            ("upper".into(), parameter.upper.into()),
        ])
    };
    let parameters = stage.model.parameters().iter().zip(&stage.parameters);
    Ok(Value::Map(vec![
        ("variables".into(), Value::List(space.names().iter().enumerate().map(variable).collect())),
        ("parameters".into(), Value::List(parameters.map(parameter).collect())),
        ("coordinates".into(), value(stage.population.coordinates())?),
        ("normalized".into(), stage.model.is_normalized().into()),
        ("grid".into(), stage.on_grid(vec![("data", stage.density.clone())])),
    ]))
}

/// Mean and standard deviation of the data along a variable.
fn moments(stage: &Stage, variable: usize) -> (f64, f64) {
    let x = stage.population.points().view().column(variable);
    let weights = stage.population.log_weights().iter().map(|w| w.exp());
    let (mean, square) = x.iter().zip(weights).fold((0.0, 0.0), |(m, s), (x, w)| (m + w * x, s + w * x * x));
    (mean, (square - mean * mean).max(0.0).sqrt())
}

/// The noise in words, built for the model.
pub(crate) fn noise(
    question: &Question,
    stage: &Stage,
    cancel: &CancelToken,
) -> Result<std::sync::Arc<dyn Noise>, Mistake> {
    let words =
        NoiseWords::parse(&question.noise).map_err(|error| Mistake::in_noise(&error, &question.noise))?;
    let target = question.target();
    let purpose = design::Purpose { nu: question.nu, target: &target };
    let problem = stage.problem(precision(question, cancel));
    problem
        .noise(&words, purpose, &no_files)
        .map_err(|error| Mistake { field: Some("noise"), ..error.into() })
}

/// The error of the design that is asked about, as `noisewright error` has it.
pub(crate) fn error(question: &Question, stage: &Stage, cancel: &CancelToken) -> Result<Value, Mistake> {
    let (loss, target) = (question.loss()?, question.target());
    let noise = noise(question, stage, cancel)?;
    let contrast = Contrast { noise: noise.as_ref(), nu: question.nu, loss: &loss };
    let answer = stage.problem(precision(question, cancel)).error_alone(contrast, &target)?;
    let mut out = value(&answer.report)?;
    out.set("infinite", answer.infinite.clone());
    out.set("noise", noise.describe());
    out.set("priced", priced(answer.report.error, question));
    if !question.quick {
        out.set("curve", value(&answer.curve(&loss, &target)?)?);
    }
    let density = stage.noise_density(noise.as_ref());
    let weight =
        stage.density.iter().zip(&density).map(|(p, q)| question.nu * q / (p + question.nu * q)).collect();
    out.set("grid", stage.on_grid(vec![("noise", density), ("weight", weight)]));
    Ok(out)
}

/// The error for a budget of 1 at the prices, from the error times the number of points.
fn priced(error: f64, question: &Question) -> f64 {
    let scale = question.prices().scale(question.nu) / Prices::default().scale(question.nu);
    error * scale
}

/// The exact optimum at the ν of the question.
pub(crate) fn optimum(question: &Question, stage: &Stage, cancel: &CancelToken) -> Result<Design, Mistake> {
    let options = DesignOptions {
        target: question.target(),
        ratio: Ratio::Fixed(question.nu),
        prices: question.prices(),
        precision: precision(question, cancel),
        ..DesignOptions::default()
    };
    Ok(design::design(&stage.model, &stage.parameters, &options)?)
}

/// The optimum with its density and a(x) on the grid.
pub(crate) fn optimum_value(design: &Design, stage: &Stage) -> Result<Value, Mistake> {
    let mut out = value(design)?;
    let sensitivity = stage.grid.as_ref().and_then(|grid| design.noise.sensitivity(grid.view()));
    let density = stage.noise_density(&design.noise);
    out.set(
        "grid",
        stage.on_grid(vec![("density", density), ("sensitivity", sensitivity.unwrap_or_default())]),
    );
    Ok(out)
}

/// What does not depend on ν: the best noise with its own ν, the curve over ν, and the limit of all noise.
pub(crate) fn overview(question: &Question, stage: &Stage, cancel: &CancelToken) -> Result<Value, Mistake> {
    let precision = precision(question, cancel);
    let asked = design::Question {
        problem: stage.problem(precision.clone()),
        files: &no_files,
        target: question.target(),
        ratio: Ratio::Free,
        prices: question.prices(),
        efficiency: None,
    };
    let best = asked.answer(&DesignSpace::Optimal)?;
    let target = question.target();
    let limit =
        ModelNoise::all_noise(&stage.model, &stage.parameters, &target, &precision).map_err(Mistake::from);
    let density = match limit {
        Ok(limit) => stage.noise_density(&limit),
        // A target that no limit is known for has none to draw.
        Err(mistake) if !mistake.cancelled => Vec::new(),
        Err(mistake) => return Err(mistake),
    };
    let mut out = value(&best)?;
    out.set("grid", stage.on_grid(vec![("all_noise", density)]));
    Ok(out)
}
