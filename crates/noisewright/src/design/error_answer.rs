//! What a given design would cost: the error of a contrast on a problem, with what explains it.

use super::proportion::check_ratio;
use super::{Curve, Problem};
use crate::run::if_possible;
use crate::{
    Asymptotics, Contrast, Divergences, ErrorReport, Loss, Population, Result, Target, divergences,
    error_report,
};

/// Places of the curve over the noise proportion, at most.
const PLACES: usize = 99;

/// The asymptotic error of a contrast.
#[derive(Debug)]
#[non_exhaustive]
pub struct ErrorAnswer {
    /// The error, its parts, and what it compares with.
    pub report: ErrorReport,
    /// Divergences between data and noise; absent where expectations are averages over data, or nobody asked for them.
    pub divergences: Option<Divergences>,
    /// Why the error is infinite, if it is.
    pub infinite: Option<String>,
    /// What the expectations were taken over.
    pub population: Population,
    log_noise: Vec<f64>,
    nu: f64,
    /// The target at the parameters.
    target: Target,
}

impl Problem<'_> {
    /// What a design costs whose noise, ratio and loss are given.
    ///
    /// ```
    /// use noisewright::{Loss, Model, Normal, Target};
    /// use noisewright::internal::Contrast;
    /// use noisewright::internal::design::Problem;
    /// let model = Model::from_toml(
    ///     "variables = ['x']\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\nnormalized = true\n[parameters]\nm = 0",
    /// )?;
    /// let noise = Normal::with_variance(0.0, 1.0)?;
    /// let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
    /// let answer = Problem::new(&model, &[0.0]).error(contrast, &Target::Mse)?;
    /// assert!((answer.report.error - 4.0).abs() < 1e-10 && answer.infinite.is_none());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When ν is not a positive number, the model has no population at the parameters, or the noise tells nothing about some
    /// parameter.
    pub fn error(&self, contrast: Contrast<'_>, target: &Target) -> Result<ErrorAnswer> {
        self.answered(contrast, target, |_| true)
    }

    /// The same without divergences, which take many times longer than the rest in two variables, unless the error is
    /// infinite and they say why.
    ///
    /// # Errors
    /// As for [`error`](Self::error).
    pub fn error_alone(&self, contrast: Contrast<'_>, target: &Target) -> Result<ErrorAnswer> {
        self.answered(contrast, target, |report| !report.error.is_finite())
    }

    fn answered(
        &self,
        contrast: Contrast<'_>,
        target: &Target,
        is_told: impl FnOnce(&ErrorReport) -> bool,
    ) -> Result<ErrorAnswer> {
        let Contrast { noise, nu, loss } = contrast;
        check_ratio(nu)?;
        let run = self.for_run();
        let (model, theta, precision) = (run.model, run.parameters, &run.precision);
        let population = match run.sample() {
            Some(_) => run.population()?,
            None => Population::for_contrast(model, theta, contrast, precision)?,
        };
        let log_noise = population.log_noise(noise)?;
        let target = target.resolved(model, theta, || Ok(population.log_normalizer()))?.into_owned();
        let report = error_report(&population, &log_noise, nu, loss, &target)?;
        let told = self.sample().is_none() && is_told(&report);
        let divergences =
            if told { if_possible(divergences(model, theta, noise, nu, precision))? } else { None };
        let infinite = report.why_infinite(divergences.as_ref(), loss);
        Ok(ErrorAnswer { report, divergences, infinite, population, log_noise, nu, target })
    }
}

impl ErrorAnswer {
    /// The error as a function of the noise proportion, with the same noise and loss; a question is the one that was asked.
    ///
    /// # Errors
    /// When the target does not fit the model.
    pub fn curve(&self, loss: &Loss, target: &Target) -> Result<Curve> {
        let target = if matches!(target, Target::Question(_)) { &self.target } else { target };
        let matrix = target.matrix(self.population.coordinates(), &self.population.information())?;
        Curve::new(Curve::places(&self.population, PLACES, 1), |nu| {
            let loss = loss.at_other_nu(self.nu, nu);
            Ok(Asymptotics::at(&self.population, &self.log_noise, nu, &loss)?.error(&matrix, nu, 1.0, 1.0))
        })
    }
}
