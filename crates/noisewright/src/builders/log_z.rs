//! Normalizing constants from draws of a density and draws of a noise, call by call.

use std::sync::Arc;

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use super::{chain_lengths, evaluated};
use crate::fit::Data;
use crate::noise::sample_for;
use crate::normalizer::{Dependence, Draws, LogZ, LogZOptions, log_z_of_draws};
use crate::population::check_variables;
use crate::run::{Context, Purpose};
use crate::{Density, Error, Noise, Result, View};

/// `log Z = log ∫ f(x) dx` from draws of `f` and from draws of a noise, which [`against`](LogZBuilder::against) names:
/// importance sampling, its reverse, their product and the optimal bridge (NCE, Bennett's acceptance ratio).
///
/// Draws are taken as Markov chains in their order; [`independent`](LogZBuilder::independent) says that they are not.
///
/// ```
/// use noisewright::prelude::*;
/// let f = density(Space::real(&["x"])?, |x: &[f64]| -0.25 * (x[0] - 1.0).powi(2));
/// let draws = sample(&Normal::with_variance(1.0, 2.0)?, 2000, 1);
/// let z = log_z(&f, &draws).against(Normal::with_variance(0.0, 3.0)?, 2000).seed(1).run()?;
/// assert!((z.best().log_z - 0.5 * (2.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * z.best().se);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[doc(alias = "bar")]
#[doc(alias = "bridge")]
#[doc(alias = "importance sampling")]
pub fn log_z<'a>(density: &'a dyn Density, draws: impl Into<Data<'a>>) -> LogZBuilder<'a> {
    let (draws, options) = (draws.into(), LogZOptions::default());
    LogZBuilder { density, draws, noise: None, noise_draws: NoiseDraws::Count(0), options, threads: None }
}

/// A normalizing constant that is being asked for: see [`log_z`].
#[derive(Debug)]
#[must_use = "nothing is done before `run`"]
pub struct LogZBuilder<'a> {
    density: &'a dyn Density,
    draws: Data<'a>,
    noise: Option<Arc<dyn Noise + 'a>>,
    noise_draws: NoiseDraws<'a>,
    options: LogZOptions,
    threads: Option<usize>,
}

/// Draws of the noise: to be made, or made already.
#[derive(Debug)]
enum NoiseDraws<'a> {
    Count(usize),
    Made(Data<'a>),
}

impl<'a> LogZBuilder<'a> {
    /// The noise, of which so many draws are made.
    pub fn against(mut self, noise: impl Noise + 'a, draws: usize) -> Self {
        self.noise = Some(Arc::new(noise));
        self.noise_draws = NoiseDraws::Count(draws);
        self
    }

    /// The noise, with draws of it that are there already.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let f = density(Space::real(&["x"])?, |x: &[f64]| -0.25 * (x[0] - 1.0).powi(2));
    /// let draws = sample(&Normal::with_variance(1.0, 2.0)?, 2000, 1);
    /// let noise = Normal::with_variance(0.0, 3.0)?;
    /// let made = sample(&noise, 2000, 2);
    /// let z = log_z(&f, &draws).against_draws(noise, &made).independent().run()?;
    /// assert!((z.best().log_z - 0.5 * (2.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * z.best().se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn against_draws(mut self, noise: impl Noise + 'a, draws: impl Into<Data<'a>>) -> Self {
        self.noise = Some(Arc::new(noise));
        self.noise_draws = NoiseDraws::Made(draws.into());
        self
    }

    /// Every draw is independent of all others.
    pub fn independent(mut self) -> Self {
        self.options.dependence = Dependence::Independent;
        self
    }

    /// The draws are Markov chains of these lengths, one after the other.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let f = density(Space::real(&["x"])?, |x: &[f64]| -0.25 * (x[0] - 1.0).powi(2));
    /// let draws = sample(&Normal::with_variance(1.0, 2.0)?, 2000, 1);
    /// let noise = Normal::with_variance(0.0, 3.0)?;
    /// let z = log_z(&f, &draws).chains(&[1000, 1000]).against(noise, 2000).run()?;
    /// assert!((z.best().log_z - 0.5 * (2.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * z.best().se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn chains(mut self, lengths: &'a [usize]) -> Self {
        self.draws = self.draws.with_dependence(crate::fit::Dependence::Chains(lengths));
        self
    }

    setters! {
        /// Probability that the intervals are to cover log Z (default 0.95).
        confidence(confidence: f64) => options.confidence = confidence;
        /// So many resamples of a block bootstrap, as a second opinion on the standard errors.
        bootstrap(resamples: usize) => options.bootstrap = Some(resamples);
    }

    run_settings! {
        seed in options, "the noise and of the bootstrap";
        threads, cancel in options;
        progress in options;
        options: LogZOptions;
    }

    /// Estimates log Z.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let draws = sample(&Normal::with_std(0.0, 1.0)?, 2000, 1);
    /// let f = density(Space::real(&["x"])?, |x: &[f64]| -0.5 * x[0] * x[0]);
    /// let z = log_z(&f, &draws).against(Normal::with_std(0.0, 1.5)?, 2000).independent().seed(1).run()?;
    /// assert!((z.best().log_z - 0.5 * std::f64::consts::TAU.ln()).abs() < 5.0 * z.best().se);
    /// assert!(log_z(&f, &draws).run().is_err()); // no noise
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no noise or no draws are given, noise and density differ in their variables, a log-density is not a number, a
    /// draw has no density under what it was drawn from, or an option cannot be.
    pub fn run(self) -> Result<LogZ> {
        let space = self.density.space();
        let missing = || Error::option("against", "must name the noise and its draws");
        let noise = self.noise.as_deref().ok_or_else(missing)?;
        check_variables(noise, space.dimension())?;
        let lengths = chain_lengths(self.draws)?;
        self.options.check_effects(lengths.is_some())?;
        let job = || -> Result<LogZ> {
            let data = self.draws.in_order_of(space, |draws| self.side(noise, draws.points))?;
            let other = match self.noise_draws {
                NoiseDraws::Count(count) => {
                    let context = Context::new(self.options.seed, &self.options.cancel, None);
                    let made = sample_for(noise, count, &context, Purpose::LogZNoise)?;
                    self.side(noise, made.view())?
                }
                NoiseDraws::Made(made) => made.in_order_of(space, |draws| self.side(noise, draws.points))?,
            };
            let draws = Draws { log_f: &data.0, log_noise: &data.1, chains: lengths };
            log_z_of_draws(draws, Draws::new(&other.0, &other.1), &self.options)
        };
        on_threads(self.threads, job)
    }

    /// Both log-densities at the draws of one side.
    fn side(&self, noise: &dyn Noise, points: View<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
        let (expected, found) = (self.density.space().dimension(), points.columns());
        if expected != found {
            return Err(Error::Shape { what: "columns of draws", expected, found });
        }
        let mut log_noise = vec![f64::NAN; points.rows()];
        noise.log_density(points, &mut log_noise);
        Ok((evaluated(self.density, points, &self.options.cancel)?, log_noise))
    }
}
