//! The model at one parameter value, on weighted points: everything the theory of a design sums over.
//!
//! Quadrature in one to three dimensions, enumeration of finite states, importance sampling above: whatever
//! the points came from, what is summed over them is the same.

mod divergence_integrals;
mod enumeration;
mod locate;
mod modes;
mod quadrature;
mod quadrature_chart;
mod sampling;

pub(crate) use divergence_integrals::integrate_pair;
pub(crate) use enumeration::StateTable;
pub(crate) use locate::{modes_of, numbers_in};
pub(crate) use quadrature::{log_ratio, log_scaled_noise};

use nalgebra::DMatrix;

use crate::memory::check_most;
use crate::moments::Moments;
use crate::run::{CancelToken, Context, ProgressHook};
use crate::tolerance::INTEGRAL_ACCURACY;
use crate::{Error, Loss, Model, Noise, Points, Quantity, Result, View};

/// Whether every state of the model's space can be visited.
pub(crate) fn enumerates(model: &Model) -> bool {
    enumeration::applies(model)
}

/// Whether the model's space has few enough dimensions for quadrature.
pub(crate) fn integrates(model: &Model) -> bool {
    quadrature::applies(model)
}

/// How the points of an expectation came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Adaptive quadrature.
    Quadrature,
    /// Every state of a finite space: exact.
    Enumeration,
    /// Importance sampling, quasi-random where the space allows.
    Sampling,
    /// A sample that was given.
    Sample,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Quadrature => "quadrature",
            Self::Enumeration => "enumeration",
            Self::Sampling => "sampling",
            Self::Sample => "sample",
        })
    }
}

/// How accurate an expectation is.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Accuracy {
    /// Where the points came from.
    #[serde(serialize_with = "crate::serial::in_words")]
    pub method: Method,
    /// Estimated relative error of the integrals it was built for.
    pub relative_error: f64,
    /// Number of points.
    pub points: usize,
}

/// How accurate an expectation should be, and how much work it may take.
#[derive(Clone, Debug)]
pub struct Precision {
    /// Relative accuracy asked for (default 1e-10; quadrature in three dimensions stops at 1e-8).
    pub relative: f64,
    /// Most quadrature nodes (default 2²²).
    pub max_nodes: usize,
    /// Draws where the space is sampled (default 2¹⁷).
    pub draws: usize,
    /// Seed of those draws (default 0).
    pub seed: u64,
    /// Cancels the work from another thread.
    pub cancel: CancelToken,
    /// Told about every block of nodes or round of draws; where it breaks off, the work ends with [`Error::Cancelled`].
    pub progress: Option<ProgressHook>,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for Precision {
    fn default() -> Self {
        let cancel = CancelToken::new();
        Self {
            relative: INTEGRAL_ACCURACY,
            max_nodes: 1 << 22,
            draws: 1 << 17,
            seed: 0,
            cancel,
            progress: None,
            more: crate::More,
        }
    }
}

impl Precision {
    /// A relative accuracy that can be asked for, and counts that fit in memory.
    pub(crate) fn check(&self) -> Result<()> {
        if !(self.relative > 0.0 && self.relative < 1.0) {
            let expected = "a number between 0 and 1";
            return Err(Error::range("relative", expected, self.relative));
        }
        if self.draws == 0 {
            return Err(Error::range("draws", "at least 1", 0.0));
        }
        check_most("max_nodes", self.max_nodes, 1)?;
        check_most("draws", self.draws, 1)
    }

    /// The same for one run: where the hook breaks off, all of the run ends, and the caller's token stays as it is.
    pub(crate) fn for_run(&self) -> Self {
        let Some(hook) = &self.progress else { return self.clone() };
        let cancel = self.cancel.child();
        Self { progress: Some(hook.cancelling(&cancel)), cancel, ..self.clone() }
    }

    /// The context of the run that this precision is for.
    pub(crate) fn context(&self) -> Context {
        Context::within(self.seed, &self.cancel, self.progress.as_ref())
    }
}

/// A noise, a ratio and a loss: what the data are contrasted with.
#[derive(Clone, Copy, Debug)]
pub struct Contrast<'a> {
    /// The noise distribution.
    pub noise: &'a dyn Noise,
    /// Noise points per data point, ν.
    pub nu: f64,
    /// The loss.
    pub loss: &'a Loss,
}

impl Contrast<'_> {
    /// Whether the noise has the model's variables.
    pub(crate) fn check(&self, model: &Model) -> Result<()> {
        check_variables(self.noise, model.space().dimension())?;
        if self.loss.log_weight(0.0).is_nan() {
            return Err(Error::NotANumber { of: Quantity::Loss, point: "r = 1".into() });
        }
        self.loss.check()
    }
}

/// A noise of another number of variables than the points have reads wrong columns, or none.
pub(crate) fn check_variables(noise: &dyn Noise, expected: usize) -> Result<()> {
    let found = noise.dimension();
    if found == expected {
        Ok(())
    } else {
        Err(Error::Shape { what: "variables of the noise", expected, found })
    }
}

/// An integral that does not exist.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Divergent {
    /// Variable along which it diverges, where that can be told.
    pub variable: Option<String>,
    /// Towards −∞ or the lower end rather than ∞ or the upper.
    pub at_lower_end: bool,
    /// At a point inside the domain where a density vanishes, rather than at an end.
    pub inside: bool,
}

/// Weighted points under the model's density p_d, with the log-density and score at each.
#[derive(Clone, Debug)]
pub struct Population {
    pub(crate) points: Points,
    /// Logarithm of each point's weight in the base measure.
    pub(crate) log_measure: Vec<f64>,
    /// Logarithm of each point's weight under p_d; the weights sum to one.
    pub(crate) log_weights: Vec<f64>,
    /// Normalized `log p_d`.
    pub(crate) log_density: Vec<f64>,
    /// `∇_β log p`, column-major: `score[coordinate * rows + row]`.
    pub(crate) score: Vec<f64>,
    coordinates: Vec<String>,
    has_constant: bool,
    log_normalizer: f64,
    accuracy: Accuracy,
    /// Set when `E_d[v ψψᵀ]` of the contrast it was built for is infinite.
    divergent: Option<Divergent>,
}

impl Population {
    /// The population of a model, accurate for its own moments.
    ///
    /// # Errors
    /// When θ is not allowed, the model does not integrate on its domain, or its density is not a number
    /// somewhere.
    pub fn new(model: &Model, parameters: &[f64], precision: &Precision) -> Result<Self> {
        Self::build(model, parameters, None, precision)
    }

    /// The population of a model, accurate for its own moments and for those of MATH §3 under a contrast.
    ///
    /// # Errors
    /// As for [`Population::new`].
    pub fn for_contrast(
        model: &Model,
        parameters: &[f64],
        contrast: Contrast<'_>,
        precision: &Precision,
    ) -> Result<Self> {
        Self::build(model, parameters, Some(contrast), precision)
    }

    /// The population of a sample drawn from the model: equal weights, no quadrature, any dimension.
    ///
    /// `log_normalizer` is log Z at these parameters (zero for a normalized formula).
    ///
    /// # Errors
    /// When there are fewer than twice as many points as unknowns, or a point has no density under the model.
    pub fn from_sample(
        model: &Model,
        parameters: &[f64],
        log_normalizer: f64,
        sample: &Points,
    ) -> Result<Self> {
        Self::from_weighted_sample(model, parameters, log_normalizer, sample.view(), None)
    }

    /// The same for rows that count as often as their weights say; rows of weight zero are left out.
    ///
    /// # Errors
    /// As for [`Population::from_sample`].
    pub fn from_weighted_sample(
        model: &Model,
        parameters: &[f64],
        log_normalizer: f64,
        sample: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        model.refuse_covariates()?;
        model.check(parameters)?;
        if !log_normalizer.is_finite() {
            let expected = "a finite number";
            return Err(Error::range("log_normalizer", expected, log_normalizer));
        }
        if sample.columns() != model.space().dimension() {
            let (expected, found) = (model.space().dimension(), sample.columns());
            return Err(Error::Shape { what: "columns of the sample", expected, found });
        }
        let kept: Vec<usize> =
            (0..sample.rows()).filter(|row| weights.is_none_or(|w| w[*row] > 0.0)).collect();
        let (rows, coordinates) = (kept.len(), model.coordinates().len());
        if rows < 2 * coordinates {
            return Err(Error::TooFewPoints { rows, coordinates });
        }
        let column = |j: usize| kept.iter().map(move |row| sample.get(*row, j));
        let values = (0..sample.columns()).flat_map(column).collect();
        let points = Points::from_values(model.space().names(), rows, values)?;
        let mut energy = vec![0.0; rows];
        model.evaluate(parameters, points.view(), &mut energy, None)?;
        if let Some(row) = energy.iter().position(|u| !u.is_finite()) {
            return Err(Error::NoDensity { row: kept[row] + 1 });
        }
        let counts: Vec<f64> = kept.iter().map(|row| weights.map_or(1.0, |w| w[*row])).collect();
        let total: f64 = noisewright_numerics::summation::sum(&counts);
        // Kish's effective size: as many equal weights have the same error.
        let effective = total * total / counts.iter().map(|c| c * c).sum::<f64>();
        let relative_error = effective.powf(-0.5);
        let accuracy = Accuracy { method: Method::Sample, relative_error, points: rows };
        let log_measure =
            energy.iter().zip(&counts).map(|(u, c)| (c / total).ln() + log_normalizer - u).collect();
        let divergent = None;
        Self::assemble(
            model,
            parameters,
            Parts { points, log_measure, accuracy, divergent, mass_error: relative_error },
        )
    }

    fn build(
        model: &Model,
        parameters: &[f64],
        contrast: Option<Contrast<'_>>,
        precision: &Precision,
    ) -> Result<Self> {
        model.refuse_covariates()?;
        model.check(parameters)?;
        precision.check()?;
        if let Some(contrast) = contrast {
            contrast.check(model)?;
        }
        let precision = &precision.for_run();
        let model = &model.with_cancel(&precision.cancel);
        model.check_run()?;
        let built = if enumeration::applies(model) {
            enumeration::build(model, parameters, &precision.context())
        } else if quadrature::applies(model) {
            quadrature::build(model, parameters, contrast, precision)
        } else {
            sampling::build(model, parameters, contrast, precision)
        };
        // Places that could not be looked at any more are taken for empty ones.
        model.check_run()?;
        built
    }

    /// The population on a grid of so many nodes a side; `None` where the density is not one for grids.
    ///
    /// # Errors
    /// As for [`Population::new`].
    pub(crate) fn on_grid(
        model: &Model,
        parameters: &[f64],
        count: usize,
        precision: &Precision,
    ) -> Result<Option<Self>> {
        model.refuse_covariates()?;
        model.check(parameters)?;
        let precision = &precision.for_run();
        let model = &model.with_cancel(&precision.cancel);
        let built = if quadrature::applies(model) && !enumeration::applies(model) {
            quadrature::on_grid(model, parameters, count, precision)
        } else {
            Ok(None)
        };
        model.check_run()?;
        built
    }

    /// Whether the model integrates on its domain, where quadrature can tell; nothing is computed with it. In more variables
    /// the [integrability](crate::integrability) module looks far out.
    ///
    /// # Errors
    /// [`Error::NotIntegrable`] when it does not; others as for [`Population::new`].
    pub(crate) fn check_integrable(model: &Model, parameters: &[f64], precision: &Precision) -> Result<()> {
        model.refuse_covariates()?;
        model.check(parameters)?;
        if enumeration::applies(model) || !quadrature::applies(model) {
            return Ok(());
        }
        quadrature::check_integrable(model, parameters, precision)
    }

    /// Finishes a population from points, the logarithm of their base-measure weights and the energy there.
    pub(crate) fn assemble(model: &Model, parameters: &[f64], parts: Parts) -> Result<Self> {
        let rows = parts.points.rows();
        let count = model.parameters().len();
        let mut energy = vec![0.0; rows];
        let mut score = vec![0.0; rows * count];
        model.evaluate(parameters, parts.points.view(), &mut energy, Some(&mut score))?;
        model.check_score_once(parameters, parts.points.view())?;
        let terms: Vec<f64> = energy.iter().zip(&parts.log_measure).map(|(u, w)| u + w).collect();
        let log_mass = noisewright_numerics::summation::log_sum_exp(&terms);
        let undefined = |at: &usize| score[*at].is_nan() && energy[at % rows].is_finite();
        if let Some(at) = (0..score.len()).find(undefined) {
            return Err(model.not_a_score(parameters, parts.points.view(), at % rows));
        }
        let mut population = Self {
            points: parts.points,
            log_measure: parts.log_measure,
            log_weights: terms.iter().map(|t| t - log_mass).collect(),
            log_density: energy.iter().map(|u| u - log_mass).collect(),
            score,
            coordinates: model.coordinates(),
            has_constant: !model.is_normalized(),
            log_normalizer: log_mass,
            accuracy: parts.accuracy,
            divergent: parts.divergent,
        };
        population.finish_score(model, parameters, parts.mass_error)?;
        Ok(population)
    }

    /// Turns `∇u` into `∇ log p`: subtracts the gradient of log Z, or adds the constant's column of −1.
    fn finish_score(&mut self, model: &Model, parameters: &[f64], mass_error: f64) -> Result<()> {
        let rows = self.points.rows();
        if self.has_constant {
            self.score.resize(rows * self.coordinates.len(), -1.0);
            return Ok(());
        }
        let mut gradient = vec![0.0; parameters.len()];
        match model.log_normalizer(parameters, &mut gradient) {
            Some(log_z) => {
                if (log_z - self.log_normalizer).abs() > 1e-6_f64.max(10.0 * mass_error) {
                    return Err(Error::NotNormalized { log_z: self.log_normalizer - log_z });
                }
            }
            None => gradient = self.mean_score(),
        }
        for (column, slope) in self.score.chunks_mut(rows).zip(&gradient) {
            column.iter_mut().for_each(|s| *s -= slope);
        }
        Ok(())
    }

    fn mean_score(&self) -> Vec<f64> {
        let weights: Vec<f64> = self.log_weights.iter().map(|w| w.exp()).collect();
        self.score
            .chunks(self.points.rows())
            .map(|column| column.iter().zip(&weights).map(|(s, w)| s * w).sum())
            .collect()
    }

    /// The gradient of log Z that was taken out of a normalized model's score; zeros where a constant is free.
    pub(crate) fn mean_of_derivatives(&self, model: &Model, parameters: &[f64]) -> Result<Vec<f64>> {
        if self.has_constant {
            return Ok(vec![0.0; parameters.len()]);
        }
        let rows = self.points.rows();
        let mut value = vec![0.0; rows];
        let mut derivatives = vec![0.0; rows * parameters.len()];
        model.evaluate(parameters, self.points.view(), &mut value, Some(&mut derivatives))?;
        // Any point with a density tells the constant difference.
        let at = (0..rows).fold(0, |at, i| if self.log_weights[i] > self.log_weights[at] { i } else { at });
        let differences = derivatives.iter().zip(&self.score).skip(at).step_by(rows);
        Ok(differences.map(|(derivative, score)| derivative - score).collect())
    }

    /// The points.
    #[must_use]
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Logarithms of the points' weights under p_d; the weights sum to one.
    #[must_use]
    pub fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// The normalized log-density at the points.
    #[must_use]
    pub fn log_density(&self) -> &[f64] {
        &self.log_density
    }

    /// The score `∇_β log p` at the points, one column per coordinate of β.
    #[must_use]
    pub fn score(&self) -> &[f64] {
        &self.score
    }

    /// One column of the score.
    #[must_use]
    pub fn score_of(&self, coordinate: usize) -> &[f64] {
        let rows = self.points.rows();
        &self.score[coordinate * rows..(coordinate + 1) * rows]
    }

    /// Names of the coordinates of β.
    #[must_use]
    pub fn coordinates(&self) -> &[String] {
        &self.coordinates
    }

    /// Whether the last coordinate is the constant.
    #[must_use]
    pub fn has_constant(&self) -> bool {
        self.has_constant
    }

    /// `log ∫ exp u(x; θ) dx`.
    #[must_use]
    pub fn log_normalizer(&self) -> f64 {
        self.log_normalizer
    }

    /// How accurate the expectations are.
    #[must_use]
    pub fn accuracy(&self) -> Accuracy {
        self.accuracy
    }

    /// Why the error of the contrast it was built for is infinite, if it is.
    #[must_use]
    pub fn divergent(&self) -> Option<&Divergent> {
        self.divergent.as_ref()
    }

    /// `E[ψψᵀ]`, the information matrix I of MATH §3.
    #[must_use]
    pub fn information(&self) -> DMatrix<f64> {
        let weights: Vec<f64> = self.log_weights.iter().map(|w| w.exp()).collect();
        self.moments(&weights, &CancelToken::new()).information
    }

    /// `Σ_i weights_i ψ_i` and `Σ_i weights_i ψ_i ψ_iᵀ`; nonsense once the computation is cancelled.
    pub(crate) fn moments(&self, weights: &[f64], cancel: &CancelToken) -> Moments {
        Moments::of(&self.score, self.coordinates.len(), weights, cancel)
    }

    /// The log-density of a noise at the points.
    ///
    /// # Errors
    /// When the noise has not the points' variables.
    pub fn log_noise(&self, noise: &dyn Noise) -> Result<Vec<f64>> {
        check_variables(noise, self.points.columns())?;
        Ok(self.log_density_of(noise))
    }

    /// The same for a noise that is known to have the points' variables.
    pub(crate) fn log_density_of(&self, noise: &dyn Noise) -> Vec<f64> {
        let mut out = vec![f64::NAN; self.points.rows()];
        noise.log_density(self.points.view(), &mut out);
        out
    }
}

/// What a way of integrating hands over: the points, their base-measure weights, and how good they are.
pub(crate) struct Parts {
    pub(crate) points: Points,
    pub(crate) log_measure: Vec<f64>,
    pub(crate) accuracy: Accuracy,
    pub(crate) divergent: Option<Divergent>,
    /// Estimated relative error of the mass alone.
    pub(crate) mass_error: f64,
}
