//! How a fit is made: the noise and how much of it, the loss, the errors asked for, and when to stop.

use std::fmt;
use std::sync::Arc;

use super::bootstrap::ReplicateHook;
use super::method::FitMethod;
use super::penalized::Penalty;
use crate::memory::check_steps;
use crate::run::{CancelToken, Context, Progress, ProgressHook, Stage};
use crate::tolerance::STEP_IN_STANDARD_ERRORS;
use crate::{
    ConditionalNoise, Error, Loss, Noise, NoiseWords, OptionFault, Points, Precision, Result, Target,
    WordsError,
};

/// Most places that a fit starts from: each is a descent of its own.
const MOST_STARTS: usize = 10_000;

/// How to fit; the default is the noise `auto`, as much of it as is needed, the JS loss, robust errors, 95 %, seed 0.
///
/// ```
/// use noisewright::fit::{Amount, FitOptions};
/// let options = FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() };
/// assert_eq!((options.confidence, options.seed), (0.95, 0));
/// ```
#[derive(Clone)]
pub struct FitOptions {
    /// By which method (default [`FitMethod::Nce`]).
    pub method: FitMethod,
    /// The noise (default [`NoiseChoice::Auto`]).
    pub noise: NoiseChoice,
    /// How much noise (default [`Amount::auto`]); of no use to [`NoiseChoice::Exact`].
    pub amount: Amount,
    /// K, the noise points of every row of a conditional model (MATH §11); `None`, the default, takes as many as
    /// [`Amount::Auto`] asks for.
    pub choices: Option<usize>,
    /// How the noise is drawn (default [`DrawKind::Auto`]).
    pub draws: DrawKind,
    /// M, the ratio inside the JS loss (MATH §8); `None`, the default, takes ν for random noise, and for quiet noise the one of
    /// a few that gives the smallest errors. Infinite for KL.
    pub loss_ratio: Option<f64>,
    /// Whether a parametric noise is fitted again to its own draws, which lowers the variance (default no).
    pub refit_noise: bool,
    /// Whether it is tested that four times as much noise of the same kind gives the same estimates (default no).
    pub check_ratio: bool,
    /// The error that [`NoiseChoice::Optimal`] minimises (default the mean squared error of all unknowns).
    pub target: Target,
    /// The loss (default JS).
    pub loss: Loss,
    /// Which covariance (default [`CovarianceKind::Robust`]).
    pub errors: CovarianceKind,
    /// Confidence of the intervals (default 0.95).
    pub confidence: f64,
    /// How the intervals are made (default [`IntervalKind::Wald`]).
    pub interval: IntervalKind,
    /// So many bootstrap samples of the rows (default none).
    pub bootstrap: Option<usize>,
    /// Who fits those samples (default the threads of this process).
    pub replicates: Option<ReplicateHook>,
    /// Folds of a cross-validation that finds the held-out log-likelihood (default none).
    pub cross_validate: Option<usize>,
    /// Seed of the noise and of the starts (default 0).
    pub seed: u64,
    /// A penalty on the parameters of a linear model (default none).
    pub penalty: Option<Penalty>,
    /// Cancels the fit from another thread.
    pub cancel: CancelToken,
    /// From how many places at most a model that is not linear in its parameters is fitted (default 10): its start, and those
    /// that a look at a few rows from many more places found best.
    pub starts: usize,
    /// Most steps of one descent (default 200).
    pub max_iterations: usize,
    /// A descent ends when a Newton step is shorter than this many standard errors (default 1e-6); that step is still
    /// taken, and what is left is of the order of its square.
    pub tolerance: f64,
    /// Told about every step; it may stop the fit, which then is [`Error::Cancelled`].
    pub progress: Option<ProgressHook>,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            method: FitMethod::default(),
            noise: NoiseChoice::Auto,
            amount: Amount::auto(),
            choices: None,
            draws: DrawKind::Auto,
            loss_ratio: None,
            refit_noise: false,
            check_ratio: false,
            target: Target::Mse,
            loss: Loss::Js,
            errors: CovarianceKind::Robust,
            confidence: 0.95,
            interval: IntervalKind::Wald,
            bootstrap: None,
            replicates: None,
            cross_validate: None,
            seed: 0,
            penalty: None,
            cancel: CancelToken::new(),
            starts: 10,
            max_iterations: 200,
            tolerance: STEP_IN_STANDARD_ERRORS,
            progress: None,
            more: crate::More,
        }
    }
}

impl fmt::Debug for FitOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FitOptions")
            .field("method", &self.method)
            .field("noise", &self.noise)
            .field("amount", &self.amount)
            .field("loss", &self.loss)
            .field("errors", &self.errors)
            .field("confidence", &self.confidence)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl FitOptions {
    /// Checks what can be wrong whatever the model and the data.
    ///
    /// # Errors
    /// A sentence that names the option.
    pub fn check(&self) -> Result<()> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::range("confidence", BETWEEN, self.confidence));
        }
        if !(self.tolerance > 0.0 && self.tolerance <= 1.0) {
            return Err(Error::range("tolerance", BETWEEN, self.tolerance));
        }
        self.check_method()?;
        self.check_exact()?;
        self.check_effects()?;
        for (option, count) in [("starts", self.starts), ("max_iterations", self.max_iterations)] {
            if count == 0 {
                return Err(Error::range(option, "at least 1", 0.0));
            }
        }
        if self.starts > MOST_STARTS {
            let fault = OptionFault::TooLong { most: MOST_STARTS, count: self.starts };
            return Err(Error::Option { option: "starts".into(), fault });
        }
        self.loss.check()?;
        if let Some(ratio) = self.loss_ratio {
            self.loss.with_ratio(ratio, 1.0)?;
        }
        if self.choices == Some(0) {
            return Err(Error::range("choices", "at least 1", 0.0));
        }
        if self.refit_noise && self.draws == DrawKind::Quiet {
            let reason = "cannot be quiet beside refit_noise, which fits the noise to independent draws";
            return Err(Error::option("draws", reason));
        }
        if let Some(penalty) = &self.penalty {
            penalty.check()?;
            self.refuse_beside_penalty()?;
        }
        if let Some(replicates) = self.bootstrap {
            super::bootstrap::check(replicates)?;
        }
        if let Some(folds) = self.cross_validate {
            super::held_out::check(folds)?;
        }
        self.amount.check()
    }

    /// Refuses what has no meaning beside a penalty.
    fn refuse_beside_penalty(&self) -> Result<()> {
        if self.cross_validate.is_some() {
            let reason = "cannot stand beside a penalty, whose strength has a cross-validation of its own";
            return Err(Error::option("cross_validate", reason));
        }
        if self.bootstrap.is_some() {
            let reason = "cannot stand beside a penalty: estimates that are shrunk or set to zero are not spread like their \
                          bootstrap";
            return Err(Error::option("bootstrap", reason));
        }
        let refit = self.penalty.as_ref().is_some_and(|penalty| penalty.refit_selected);
        if self.interval == IntervalKind::Profile && !refit {
            let reason = "cannot be profile beside a penalty, at whose estimates the loss has no minimum";
            return Err(Error::option("interval", reason));
        }
        Ok(())
    }

    /// Refuses a penalty beside something that it cannot stand beside.
    pub(super) fn refuse_penalty(&self, beside: &str) -> Result<()> {
        match self.penalty {
            Some(_) => Err(Error::option("penalty", format!("cannot stand beside {beside}: leave it out"))),
            None => Ok(()),
        }
    }

    /// Refuses a method that only fits of rows with one density can have.
    pub(super) fn refuse_method(&self, beside: &str) -> Result<()> {
        if self.method.is_without_constant() {
            let reason = format!("cannot be {} beside {beside}: leave it out", self.method);
            return Err(Error::option("method", reason));
        }
        Ok(())
    }

    /// Refuses what only fits of rows with one density can have.
    pub(super) fn refuse_extras(&self, beside: &str) -> Result<()> {
        self.refuse_penalty(beside)?;
        let extras = [
            (self.bootstrap.is_some(), "bootstrap"),
            (self.cross_validate.is_some(), "cross_validate"),
            (self.interval != IntervalKind::Wald, "interval"),
        ];
        match extras.into_iter().find(|(given, _)| *given) {
            Some((_, option)) => {
                Err(Error::option(option, format!("cannot stand beside {beside}: leave it out")))
            }
            None => Ok(()),
        }
    }

    /// Without noise there is one loss, the likelihood.
    fn check_exact(&self) -> Result<()> {
        if matches!(self.noise, NoiseChoice::Exact) && !matches!(self.loss, Loss::Js) {
            let reason = format!(
                "cannot be {} with the noise exact, which maximises the likelihood: leave it out",
                self.loss
            );
            return Err(Error::option("loss", reason));
        }
        Ok(())
    }

    /// The same options for one run: what the hook breaks off stays so for all its stages, and for no other run.
    pub(crate) fn for_run(&self) -> Self {
        let cancel = self.cancel.child();
        let progress = self.progress.as_ref().map(|hook| hook.cancelling(&cancel));
        Self { cancel, progress, ..self.clone() }.for_method()
    }

    /// The context of the run that these options are for.
    pub(crate) fn context(&self) -> Context {
        Context::within(self.seed, &self.cancel, self.progress.as_ref())
    }

    /// The usual precision of an expectation in the run, which ends with it and tells the same hook.
    pub(crate) fn precision(&self) -> Precision {
        Precision { cancel: self.cancel.clone(), progress: self.progress.clone(), ..Precision::default() }
    }

    /// The same options for a part of the run, every step of which is told as the progress of the whole.
    pub(crate) fn telling(&self, progress: impl Fn() -> Progress + Send + Sync + 'static) -> Self {
        Self { progress: self.context().hook_within(progress), ..self.clone() }
    }

    /// Tells the hook, and stops when it says so.
    pub(crate) fn report(&self, stage: Stage, iteration: usize, loss: f64) -> Result<()> {
        self.context().tell(&Progress { stage, iteration, of: Some(self.max_iterations), loss })
    }
}

/// What a share may be.
const BETWEEN: &str = "a number between 0 and 1";

/// Where the noise comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoiseChoice {
    /// Fitted to the data by the kind of their domain ([`fit_auto`](crate::fit_auto)); where nothing is said of amount and
    /// loss, none on at most 2²⁰ states, nor in one to three variables where rows count more than ten times each
    /// ([`NoiseChoice::Exact`]).
    Auto,
    /// This one.
    Given(Arc<dyn Noise>),
    /// No noise: the limit ν → ∞, which is maximum likelihood with log Z by quadrature (one to three variables) or
    /// enumeration (at most 2²⁰ states), or in closed form for a normalized model.
    Exact,
    /// The best noise for the error that is to be small, designed at a pilot fit and mixed with a little of `auto`.
    Optimal,
    /// What words say, fitted to the data (as their weights count them) where it has no numbers.
    Words(NoiseInWords),
    /// Draws that are there already, with their log-densities.
    Draws(Arc<Draws>),
    /// This one of the variables given the covariates, for conditional models.
    Conditional(Arc<ConditionalNoise>),
}

impl From<ConditionalNoise> for NoiseChoice {
    fn from(noise: ConditionalNoise) -> Self {
        Self::Conditional(Arc::new(noise))
    }
}

impl<N: Noise + 'static> From<N> for NoiseChoice {
    /// This noise, or what [`Noise::for_fit`] gives in its place.
    fn from(noise: N) -> Self {
        Self::Given(noise.for_fit().unwrap_or_else(|| Arc::new(noise)))
    }
}

impl NoiseChoice {
    /// The choice that words say: `auto`, `exact`, `optimal`, or a noise; `files` finds the noise that `file("…")` names.
    ///
    /// ```
    /// use noisewright::fit::NoiseChoice;
    /// use std::sync::Arc;
    /// let none: noisewright::parts::NoiseFiles = Arc::new(|_| Err("there are no files".into()));
    /// assert!(matches!(NoiseChoice::parse("auto", none.clone()), Ok(NoiseChoice::Auto)));
    /// assert!(matches!(NoiseChoice::parse("normal(0, 4)", none.clone()), Ok(NoiseChoice::Words(_))));
    /// assert!(NoiseChoice::parse("norml", none).is_err());
    /// ```
    ///
    /// # Errors
    /// When the words are no noise.
    pub fn parse(text: &str, files: NoiseFiles) -> std::result::Result<Self, WordsError> {
        Ok(match text.trim() {
            "auto" => Self::Auto,
            "exact" => Self::Exact,
            "optimal" => Self::Optimal,
            words => Self::Words(NoiseInWords { words: NoiseWords::parse(words)?, files }),
        })
    }

    /// The same for a model with covariates, formulas of which may stand for numbers: `normal(2*z, 4)`.
    ///
    /// # Errors
    /// When the words are no noise.
    pub fn parse_given<S: AsRef<str>>(
        text: &str,
        covariates: &[S],
        files: NoiseFiles,
    ) -> std::result::Result<Self, WordsError> {
        match Self::parse(text, Arc::clone(&files)) {
            Err(_) if !covariates.is_empty() => {
                let words = NoiseWords::parse_given(text, covariates)?;
                Ok(Self::Words(NoiseInWords { words, files }))
            }
            parsed => parsed,
        }
    }
}

/// Finds the noise that `file("…")` names; what it cannot do it says as the end of a sentence.
pub type NoiseFiles = Arc<dyn Fn(&str) -> Result<Arc<dyn Noise>, String> + Send + Sync>;

/// A noise in words, and where its files are.
#[derive(Clone)]
pub struct NoiseInWords {
    /// The words.
    pub words: NoiseWords,
    /// Finds what `file("…")` names.
    pub files: NoiseFiles,
}

impl fmt::Debug for NoiseInWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NoiseInWords").field(&self.words.to_string()).finish()
    }
}

/// Noise points drawn elsewhere, with the log-density of the noise there and at the data.
#[derive(Clone, Debug)]
pub struct Draws {
    /// The noise points.
    pub points: Points,
    /// `log p_n` at the noise points.
    pub log_density: Vec<f64>,
    /// `log p_n` at the data points, in their order.
    pub log_density_at_data: Vec<f64>,
}

/// How the noise is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DrawKind {
    /// Quietly where that pays, as measured in the fit, and at random otherwise; at random where the amount of noise is
    /// given, and for losses other than JS.
    #[default]
    Auto,
    /// By scrambled Sobol points in independent replicates (MATH §8).
    Quiet,
    /// Independently.
    Random,
}

impl std::str::FromStr for DrawKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "auto" => Self::Auto,
            "quiet" => Self::Quiet,
            "random" => Self::Random,
            other => {
                let reason = format!("is auto, quiet or random, not {other}");
                return Err(Error::option("draws", reason));
            }
        })
    }
}

impl fmt::Display for DrawKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Quiet => "quiet",
            Self::Random => "random",
        })
    }
}

/// How much noise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Amount {
    /// Enough that the noise part of every standard error is at most this share of the whole, within a budget.
    Auto {
        /// The largest share (default 0.1).
        share: f64,
        /// Most values of the score that are made: noise points times unknowns (default 2²⁵).
        most_values: usize,
    },
    /// ν: so many noise points per data point.
    Ratio(f64),
    /// So many noise points.
    Points(usize),
}

impl Amount {
    /// The default: the noise part of every standard error is at most 10 % of the whole, with at most 2²⁵ values.
    #[must_use]
    pub fn auto() -> Self {
        Self::Auto { share: 0.1, most_values: 1 << 25 }
    }

    fn check(self) -> Result<()> {
        match self {
            Self::Ratio(nu) if !(nu > 0.0 && nu.is_finite()) => Err(Error::NoiseRatio { value: nu }),
            Self::Points(0) => Err(Error::range("noise_points", "at least 1", 0.0)),
            Self::Auto { most_values: 0, .. } => Err(Error::range("most_values", "at least 1", 0.0)),
            Self::Auto { share, .. } if !(share > 0.0 && share < 1.0) => {
                Err(Error::range("share", BETWEEN, share))
            }
            // A small share would ask for all of them.
            Self::Auto { most_values, .. } => check_steps("most_values", most_values, 1),
            _ => Ok(()),
        }
    }
}

/// How intervals are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IntervalKind {
    /// From the standard error and a quantile of Student's distribution, on a scale without bounds.
    #[default]
    Wald,
    /// From the profile of the likelihood, or of the loss, scaled to the variance of the estimate; those of the constant are
    /// Wald's.
    Profile,
}

impl std::str::FromStr for IntervalKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "wald" => Ok(Self::Wald),
            "profile" => Ok(Self::Profile),
            other => Err(Error::option("interval", format!("is wald or profile, not {other}"))),
        }
    }
}

/// Which covariance is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CovarianceKind {
    /// From the spread of the scores in the sample (the sandwich): right also where the model is not.
    #[default]
    Robust,
    /// From the fitted model, taking it to be true (MATH §3).
    ModelBased,
}
