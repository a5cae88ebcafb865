//! How the fit is to be made, checked before any data are read.

use std::sync::Arc;

use noisewright::fit::{
    Amount, CovarianceKind, DrawKind, FitMethod, FitOptions, IntervalKind, NoiseChoice, Penalty,
};
use noisewright::internal::fit::{FitSetting, NoiseKind, check_effects};
use noisewright::{Error, Loss, Model, Target};

use crate::arguments::{DEFAULT_SHARE, FitArguments, Global};
use crate::failure::{Failure, Outcome};
use crate::inputs;
use crate::noises;
use crate::progress::Progress;

/// Checked arguments.
pub(crate) struct Plan {
    method: FitMethod,
    noise: NoiseChoice,
    amount: Amount,
    max_noise: Option<usize>,
    choices: Option<usize>,
    loss: Loss,
    draws: DrawKind,
    loss_ratio: Option<f64>,
    errors: CovarianceKind,
    confidence: f64,
    starts: usize,
    max_iterations: usize,
    tolerance: f64,
    refit_noise: bool,
    check_ratio: bool,
    target: Target,
    penalty: Option<Penalty>,
    interval: IntervalKind,
    bootstrap: Option<usize>,
    cross_validate: Option<usize>,
    seed: u64,
}

impl Plan {
    pub(crate) fn new(arguments: &FitArguments, global: &Global) -> Outcome<Self> {
        let plan = Self {
            method: arguments.method.parse()?,
            noise: NoiseChoice::parse_given(
                &arguments.noise,
                &inputs::covariates(&arguments.model),
                Arc::new(noises::from_file),
            )
            .map_err(|error| noises::wrong_words(&error))?,
            amount: amount(arguments)?,
            max_noise: arguments.max_noise,
            choices: choices(arguments)?,
            loss: inputs::loss(&arguments.loss)?,
            draws: arguments.draws.parse()?,
            loss_ratio: inputs::loss_ratio(&arguments.loss_ratio)?,
            errors: arguments.errors.covariance.kind(),
            confidence: arguments.errors.confidence,
            starts: arguments.starts,
            max_iterations: arguments.search.max_iterations,
            tolerance: arguments.search.tolerance,
            refit_noise: arguments.refit_noise,
            check_ratio: arguments.check_nu,
            target: Target::parse(&arguments.target),
            penalty: penalty(arguments)?,
            interval: arguments.interval.parse()?,
            bootstrap: arguments.bootstrap,
            cross_validate: arguments.cross_validate,
            seed: global.seed,
        };
        refuse_idle(arguments, plan.method)?;
        if plan.max_noise == Some(0) {
            return Err(Failure::Usage("--max-noise must be at least 1".into()));
        }
        plan.silent().check()?;
        Ok(plan)
    }

    /// The options, without progress.
    fn silent(&self) -> FitOptions {
        FitOptions {
            method: self.method,
            noise: self.noise.clone(),
            amount: self.amount,
            choices: self.choices,
            loss: self.loss.clone(),
            draws: self.draws,
            loss_ratio: self.loss_ratio,
            errors: self.errors,
            confidence: self.confidence,
            seed: self.seed,
            starts: self.starts,
            max_iterations: self.max_iterations,
            tolerance: self.tolerance,
            refit_noise: self.refit_noise,
            check_ratio: self.check_ratio,
            target: self.target.clone(),
            penalty: self.penalty.clone(),
            interval: self.interval,
            bootstrap: self.bootstrap,
            replicates: None,
            cross_validate: self.cross_validate,
            ..FitOptions::default()
        }
    }

    /// The options for a model.
    pub(crate) fn options(&self, model: &Model, progress: &Progress) -> Outcome<FitOptions> {
        let mut options = FitOptions { progress: Some(progress.hook()), ..self.silent() };
        if let (Amount::Auto { most_values, .. }, Some(points)) = (&mut options.amount, self.max_noise) {
            *most_values = points.saturating_mul(model.coordinates().len());
        }
        Ok(options)
    }

    /// The failure of a fit for the numbers of the noise, if it is that; otherwise the error as it was.
    pub(super) fn failure(&self, model: &Model, error: Error) -> Result<Failure, Error> {
        if let Error::Formula { field, .. } = &error
            && field == "noise"
        {
            return Ok(Failure::Usage(error.to_string()));
        }
        match &self.noise {
            NoiseChoice::Words(noise) => noises::wrong_number(error, &noise.words, model.space()),
            _ => Err(error),
        }
    }
}

/// Refuses settings that have no effect beside the noise or each other.
fn refuse_idle(arguments: &FitArguments, method: FitMethod) -> Outcome<()> {
    let given = [
        (FitSetting::Nu, arguments.nu != "auto"),
        (FitSetting::NoisePoints, arguments.noise_points.is_some()),
        (FitSetting::MaxNoise, arguments.max_noise.is_some()),
        (FitSetting::NoiseShare, arguments.noise_share != DEFAULT_SHARE),
        (FitSetting::Loss, arguments.loss != "js"),
        (FitSetting::Draws, arguments.draws != DrawKind::default().to_string()),
        (FitSetting::LossRatio, arguments.loss_ratio != "auto"),
        (FitSetting::RefitNoise, arguments.refit_noise),
        (FitSetting::Target, arguments.target != "mse"),
        (FitSetting::CheckRatio, arguments.check_nu),
        (FitSetting::Choices, arguments.noise_choices != "auto"),
    ];
    let given: Vec<FitSetting> = given.iter().filter(|(_, given)| *given).map(|(s, _)| *s).collect();
    let kind = method.noise_kind().unwrap_or_else(|| NoiseKind::of_words(&arguments.noise));
    Ok(check_effects(kind, &given)?)
}

/// `--choices`: nothing for auto.
fn choices(arguments: &FitArguments) -> Outcome<Option<usize>> {
    let given = arguments.noise_choices.as_str();
    match given.parse::<usize>() {
        _ if given == "auto" => Ok(None),
        Ok(choices) if choices > 0 => Ok(Some(choices)),
        _ => Err(Failure::Usage(format!("--choices must be a positive whole number or auto, not {given}"))),
    }
}

/// `--penalty` and `--refit-selected`.
fn penalty(arguments: &FitArguments) -> Outcome<Option<Penalty>> {
    let Some(words) = &arguments.penalty else { return Ok(None) };
    let penalty: Penalty = words.parse()?;
    Ok(Some(if arguments.refit_selected { penalty.refit_selected() } else { penalty }))
}

/// `--nu` and `--noise-points`, and the bounds of `auto`.
fn amount(arguments: &FitArguments) -> Outcome<Amount> {
    if let Some(points) = arguments.noise_points {
        return Ok(Amount::Points(points));
    }
    if arguments.nu != "auto" {
        return match arguments.nu.parse::<f64>() {
            Ok(nu) if nu > 0.0 && nu.is_finite() => Ok(Amount::Ratio(nu)),
            _ => Err(Failure::Usage(format!("--nu must be a positive number or auto, not {}", arguments.nu))),
        };
    }
    let share = arguments.noise_share;
    if !(share > 0.0 && share < 1.0) {
        return Err(Failure::Usage(format!("--noise-share must lie between 0 and 1, not {share}")));
    }
    let Amount::Auto { most_values, .. } = Amount::auto() else { return Ok(Amount::auto()) };
    Ok(Amount::Auto { share, most_values })
}
