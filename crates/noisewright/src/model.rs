//! A model: an energy, the space of its points, its parameters, and whether its constant is known.

mod constraint;
mod covariates;
mod evaluate;
mod score_check;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use self::constraint::Constraint;
#[cfg(feature = "dual")]
use crate::energy::DualEnergy;
use crate::energy::{BatchEnergy, FeatureEnergy, FormulaEnergy, ScoredEnergy, per_point};
use crate::energy::{FamilyParts, build_family};
use crate::names::nearest;
use crate::run::CancelToken;
use crate::{Energy, Error, FamilyOptions, ModelDensity, Result, Space, View};

/// The name of the constant c among the coordinates of β = (θ, c).
pub const LOG_NORMALIZER: &str = "log_normalizer";

/// A parameter with its start value and bounds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Name, as in the energy.
    pub name: String,
    /// Where fits start, and what designs take where no value is given.
    pub start: f64,
    /// Lower bound, −∞ where there is none.
    pub lower: f64,
    /// Upper bound, ∞ where there is none.
    pub upper: f64,
}

impl Parameter {
    /// A parameter without bounds.
    #[must_use]
    pub fn new(name: impl Into<String>, start: f64) -> Self {
        Self { name: name.into(), start, lower: f64::NEG_INFINITY, upper: f64::INFINITY }
    }

    /// The same parameter between two bounds, either of which may be infinite.
    ///
    /// ```
    /// use noisewright::Parameter;
    /// let scale = Parameter::new("scale", 1.0).bounded(0.0, f64::INFINITY);
    /// assert!(scale.check(2.0).is_ok() && scale.check(-2.0).is_err());
    /// ```
    #[must_use]
    pub fn bounded(self, lower: f64, upper: f64) -> Self {
        Self { lower, upper, ..self }
    }

    fn check_bounds(&self) -> Result<()> {
        let (lower, upper) = (self.lower, self.upper);
        if lower <= upper {
            return Ok(());
        }
        let reason = format!("has the bounds {lower} and {upper}, but the lower must not exceed the upper");
        Err(Error::field(&self.name, reason))
    }

    /// Checks a value against the bounds.
    ///
    /// # Errors
    /// [`Error::Parameter`] when it is not finite or outside the bounds.
    pub fn check(&self, value: f64) -> Result<()> {
        let (lower, upper) = (self.lower, self.upper);
        let reason = if !value.is_finite() {
            "it must be a finite number".into()
        } else if value >= lower && value <= upper {
            return Ok(());
        } else if upper == f64::INFINITY {
            format!("it must be at least {lower}")
        } else if lower == f64::NEG_INFINITY {
            format!("it must be at most {upper}")
        } else {
            format!("it must lie between {lower} and {upper}")
        };
        Err(Error::Parameter { parameter: self.name.clone(), value, reason })
    }
}

/// An energy on a space, normalized (β = θ) or with a free constant (β = (θ, c)).
///
/// ```
/// use noisewright::{FamilyOptions, Model};
/// let model = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), false).unwrap();
/// assert_eq!(model.coordinates(), ["h0", "P00", "log_normalizer"]);
/// assert_eq!(model.at(&[("P00", 4.0)]).unwrap(), [0.0, 4.0]);
/// ```
#[derive(Clone)]
pub struct Model {
    energy: Arc<dyn Energy>,
    space: Space,
    parameters: Vec<Parameter>,
    normalized: bool,
    /// How many of the last variables are covariates, which the density is given.
    covariates: usize,
    /// Cancels the computation that this copy of the model is for.
    cancel: Option<CancelToken>,
    /// Whether the score is known to be right: that of a formula, a family or differences, and any that was compared
    /// with differences once.
    score_checked: Arc<AtomicBool>,
    /// Whether the energy is the caller's, so that what it writes is looked at.
    own_energy: bool,
    /// The built-in family, and which of its parameters' bounds are where it ends.
    family: Option<Arc<Family>>,
    /// How its parameters make up those of a larger model, where some of that are held fixed or tied together.
    constraint: Option<Arc<Constraint>>,
    /// By how much the penalties of some parameters are multiplied in penalised fits.
    penalty_factors: Arc<[(String, f64)]>,
}

/// The family of a model: a bound that the user writes is a wish, its own is where its formula stops being a density.
#[derive(Clone)]
struct Family {
    name: String,
    /// Lower and upper bound of each parameter that are the family's own.
    own: Vec<[bool; 2]>,
}

#[cfg(feature = "model-file")]
impl std::str::FromStr for Model {
    type Err = Error;

    /// As [`Model::from_toml`].
    fn from_str(text: &str) -> Result<Self> {
        Self::from_toml(text)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("space", &self.space)
            .field("parameters", &self.parameters)
            .field("normalized", &self.normalized)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// A model with a free constant: `log p = u(x; θ) − c`.
    ///
    /// The score of an energy of one's own is compared with differences when the model is first used
    /// ([`Model::check_score`]).
    ///
    /// # Errors
    /// When the energy and the space disagree on the number of variables, the parameters' names and order
    /// are not the energy's, a name is used twice, or a start value is outside its bounds.
    pub fn new(energy: impl Energy + 'static, space: Space, parameters: Vec<Parameter>) -> Result<Self> {
        let model = Self::from_shared(Arc::new(energy), space, parameters, false)?;
        Ok(Self { own_energy: true, ..model })
    }

    /// The same for an energy that is shared already, and whose score may be known to be right.
    pub(crate) fn from_shared(
        energy: Arc<dyn Energy>,
        space: Space,
        parameters: Vec<Parameter>,
        score_checked: bool,
    ) -> Result<Self> {
        if energy.dimension() != space.dimension() {
            return Err(Error::Shape {
                what: "variables",
                expected: energy.dimension(),
                found: space.dimension(),
            });
        }
        let names = energy.parameters();
        if names.len() != parameters.len() || names.iter().zip(&parameters).any(|(n, p)| *n != p.name) {
            return Err(Error::field(
                "parameters",
                format!("must be those of the energy in its order: {}", names.join(", ")),
            ));
        }
        check_parameters(&parameters)?;
        let score_checked = Arc::new(AtomicBool::new(score_checked));
        Ok(Self {
            energy,
            space,
            parameters,
            normalized: false,
            covariates: 0,
            cancel: None,
            score_checked,
            own_energy: false,
            family: None,
            constraint: None,
            penalty_factors: Arc::default(),
        })
    }

    /// A log-density, up to a constant, as a function of the parameters and of one point; the score is made from
    /// differences, accurate to about twelve digits, unless [`with_score`](Self::with_score) gives it.
    ///
    /// All parameters start at zero without bounds: [`with_start`](Self::with_start) and
    /// [`with_bounds`](Self::with_bounds) say otherwise.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let space = Space::real(&["x"])?;
    /// let model = Model::from_fn(&["m", "p"], space, |t: &[f64], x: &[f64]| -0.5 * t[1] * (x[0] - t[0]).powi(2))?
    ///     .with_score(|t, x, score| {
    ///         score[0] = t[1] * (x[0] - t[0]);
    ///         score[1] = -0.5 * (x[0] - t[0]).powi(2);
    ///     })
    ///     .with_start(&[("p", 1.0)])?
    ///     .with_bounds(&[("p", 0.0, f64::INFINITY)])?;
    /// let data = sample(&Normal::with_std(3.0, 0.5)?, 2000, 1);
    /// let fit = model.fit(&data).ratio(5.0).run()?;
    /// assert!((fit.get("p")?.estimate - 4.0).abs() < 4.0 * fit.get("p")?.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a name is used twice or is that of the constant.
    pub fn from_fn<S: AsRef<str>>(
        parameters: &[S],
        space: Space,
        log_density: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Result<Self> {
        let (names, parameters) = named_parameters(parameters);
        let energy = BatchEnergy::new(names, space.dimension(), per_point(log_density));
        Self::from_shared(Arc::new(energy), space, parameters, true)
    }

    /// The same for a function of dual numbers, whose score is exact: the parameters carry a derivative, and so does what
    /// is computed from them.
    ///
    /// ```
    /// use noisewright::num_dual::{Dual64, DualNum};
    /// use noisewright::prelude::*;
    /// let space = Space::real(&["x"])?;
    /// let model = Model::from_dual_fn(&["m", "s"], space, |t: &[Dual64], x: &[f64]| {
    ///     (-t[0] + x[0]).powi(2) * (-t[1]).exp() * -0.5
    /// })?;
    /// let (mut value, mut score) = ([0.0], [0.0; 2]);
    /// model.evaluate(&[0.5, 0.2], View::new(1, 1, &[1.5]), &mut value, Some(&mut score))?;
    /// assert!((score[0] - (-0.2f64).exp()).abs() < 1e-15 && (score[1] + value[0]).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_fn`](Self::from_fn).
    #[cfg(feature = "dual")]
    pub fn from_dual_fn<S: AsRef<str>>(
        parameters: &[S],
        space: Space,
        log_density: impl Fn(&[num_dual::Dual64], &[f64]) -> num_dual::Dual64 + Send + Sync + 'static,
    ) -> Result<Self> {
        let (names, parameters) = named_parameters(parameters);
        let energy = DualEnergy::new(names, space.dimension(), log_density);
        Self::from_shared(Arc::new(energy), space, parameters, true)
    }

    /// The same for a function of a batch of points and of the slice to write to, for what costs less at many points at
    /// once than at one after the other.
    ///
    /// ```
    /// use noisewright::{Model, Result, Space, View};
    /// let space = Space::real(&["x"])?;
    /// let model = Model::from_batch_fn(&["m"], space, |t: &[f64], points: View<'_>, out: &mut [f64]| -> Result<()> {
    ///     out.iter_mut().zip(points.column(0)).for_each(|(o, x)| *o = -0.5 * (x - t[0]).powi(2));
    ///     Ok(())
    /// })?;
    /// assert_eq!(model.coordinates(), ["m", "log_normalizer"]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_fn`](Self::from_fn).
    pub fn from_batch_fn<S: AsRef<str>>(
        parameters: &[S],
        space: Space,
        log_density: impl Fn(&[f64], View<'_>, &mut [f64]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        let (names, parameters) = named_parameters(parameters);
        let energy = BatchEnergy::new(names, space.dimension(), log_density);
        Self::from_shared(Arc::new(energy), space, parameters, true)
    }

    /// The same model with a score of one's own: the derivatives of the log-density at one point, one per parameter.
    ///
    /// It is compared with differences when the model is first used ([`Model::check_score`]).
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_fn(&["m"], Space::real(&["x"])?, |t, x| t[0] * x[0] - x[0].powi(2) / 2.0)?;
    /// let scored = model.with_score(|_, x, score| score[0] = x[0]);
    /// scored.check_score(&[0.5], &Points::from_rows(&["x"], &[[-1.0], [0.3], [2.0]])?)?;
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn with_score(self, score: impl Fn(&[f64], &[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        let energy = Arc::new(ScoredEnergy::new(self.energy, score));
        Self { energy, score_checked: Arc::new(AtomicBool::new(false)), own_energy: true, ..self }
    }

    /// A log-density written as a formula in the variables of the space and the parameters; `normalized` says
    /// that it integrates to one.
    ///
    /// ```
    /// use noisewright::{Model, Parameter, Space};
    /// let space = Space::real(&["x"]).unwrap();
    /// let parameters = vec![Parameter::new("a", 1.0), Parameter::new("b", 0.1)];
    /// let model = Model::from_formula("-a*x^2/2 - b*x^4", space, parameters, false).unwrap();
    /// assert_eq!(model.coordinates(), ["a", "b", "log_normalizer"]);
    /// ```
    ///
    /// # Errors
    /// When the formula cannot be read, uses not every parameter, or no variable although it has parameters or a domain
    /// without bounds, or a start value is outside its bounds.
    pub fn from_formula(
        log_density: &str,
        space: Space,
        parameters: Vec<Parameter>,
        normalized: bool,
    ) -> Result<Self> {
        let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
        let energy = FormulaEnergy::new(log_density, space.names(), &names)?;
        if !energy.formula().uses_variable() && !space.is_bounded() {
            let reason = format!("uses no variable; it must depend on {}", space.names().join(" or "));
            return Err(Error::field("log_density", reason));
        }
        if normalized {
            return Self::from_shared(Arc::new(energy.normalized()), space, parameters, true)?.normalized();
        }
        Self::from_shared(Arc::new(energy), space, parameters, true)
    }

    /// An exponential family, `u(x) = Σ θ_j f_j(x)`, from its features. `parameters` names them in order; with
    /// none given, they are named after the features and start at zero.
    ///
    /// ```
    /// use noisewright::{Model, Space};
    /// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    /// assert_eq!(model.coordinates(), ["x", "x^2", "log_normalizer"]);
    /// ```
    ///
    /// # Errors
    /// When a feature cannot be read or is constant, or there are not as many parameters as features.
    pub fn from_features<S: AsRef<str>>(
        features: &[S],
        space: Space,
        parameters: Vec<Parameter>,
    ) -> Result<Self> {
        let energy = FeatureEnergy::new(features, space.names())?;
        if parameters.is_empty() {
            let parameters = energy.parameters().into_iter().map(|name| Parameter::new(name, 0.0)).collect();
            return Self::from_shared(Arc::new(energy), space, parameters, true);
        }
        let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
        Self::from_shared(Arc::new(energy.with_names(&names)?), space, parameters, true)
    }

    /// Reads a model file (TOML): one of `log_density`, `features` and `family`, with `variables`, `domain`,
    /// `normalized` and `[parameters]`.
    ///
    /// ```
    /// let model = noisewright::Model::from_toml(
    ///     r#"
    ///     variables = ["x"]
    ///     log_density = "-a*x^2/2 - b*x^4"
    ///     [parameters]
    ///     a = 1.0
    ///     b = { start = 0.1, lower = 0.0 }
    ///     "#,
    /// )
    /// .unwrap();
    /// assert_eq!(model.start(), [1.0, 0.1]);
    /// assert!(model.check(&[1.0, -0.1]).is_err());
    /// ```
    ///
    /// # Errors
    /// One sentence that names the field and says what would be right.
    #[cfg(feature = "model-file")]
    pub fn from_toml(text: &str) -> Result<Self> {
        crate::model_file::parse(text)
    }

    /// A built-in family ([`families`](crate::families) lists them), on its own domain unless the options
    /// name another; `normalized` makes use of its closed form for log Z.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let circle = Model::from_family("von-mises", &["angle"], &FamilyOptions::default(), true)?;
    /// assert_eq!(circle.space().domains(), [Domain::Circle]);
    /// assert!(circle.is_normalized());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such family, an option does not fit it, or it is to be normalized and has no
    /// closed form.
    pub fn from_family<S: AsRef<str>>(
        family: &str,
        variables: &[S],
        options: &FamilyOptions,
        normalized: bool,
    ) -> Result<Self> {
        let variables: Vec<String> = variables.iter().map(|v| v.as_ref().to_owned()).collect();
        let domains = vec![options.domain.clone(); variables.len()];
        let parts = build_family(family, &variables, &domains, options)?;
        let model = Self::of_family(family, parts)?;
        if normalized { model.normalized_family(family) } else { Ok(model) }
    }

    /// The model of a family's parts, whose bounds are where the family ends.
    pub(crate) fn of_family(name: &str, parts: FamilyParts) -> Result<Self> {
        let own = parts.parameters.iter().map(|p| [p.lower.is_finite(), p.upper.is_finite()]).collect();
        let family = Some(Arc::new(Family { name: name.to_owned(), own }));
        let free: Vec<(String, f64)> = parts.unpenalized.into_iter().map(|name| (name, 0.0)).collect();
        let model = Self::from_shared(parts.energy, parts.space, parts.parameters, true)?;
        Self { family, ..model }.with_penalty_factors(&free)
    }

    /// The same model with its constant known, if the family has a closed form for it.
    pub(crate) fn normalized_family(self, family: &str) -> Result<Self> {
        let reason =
            format!("cannot be true for the family {family}, which has no closed form; leave it out");
        self.normalized().map_err(|_| Error::field("normalized", reason))
    }

    /// The same model with its constant known: `log p = u(x; θ) − log Z(θ)`, where log Z is the energy's, over
    /// the domain that the energy is made for: the caller vouches that it is the space of this model.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let gaussian = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), false)?;
    /// assert_eq!(gaussian.normalized()?.coordinates(), ["h0", "P00"]); // without the constant
    /// let own = Model::from_fn(&["m"], Space::real(&["x"])?, |t, x| t[0] * x[0] - x[0].powi(2))?;
    /// assert!(own.normalized().is_err()); // which has no closed form
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the energy has no closed form of log Z at the start values ([`Energy::log_normalizer`]).
    pub fn normalized(mut self) -> Result<Self> {
        let mut gradient = vec![0.0; self.parameters.len()];
        if self.energy.log_normalizer(&self.start(), &mut gradient).is_none() {
            let reason = "cannot be true: the energy gives no closed form of log Z at the start values";
            return Err(Error::field("normalized", reason));
        }
        self.normalized = true;
        Ok(self)
    }

    /// The same model with its constant taken as unknown.
    pub(crate) fn with_free_constant(mut self) -> Self {
        self.normalized = false;
        self
    }

    /// The same model where no constant is estimated because it cancels.
    pub(crate) fn without_constant(mut self) -> Self {
        self.normalized = true;
        self
    }

    /// The same model with other start values, by name.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_fn(&["a", "b"], Space::real(&["x"])?, |t, x| t[0] * x[0] - t[1] * x[0].powi(2))?;
    /// assert_eq!(model.with_start(&[("b", 1.0)])?.start()[1], 1.0);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Model::at`], and when a value is outside its bounds.
    pub fn with_start<S: AsRef<str>>(mut self, values: &[(S, f64)]) -> Result<Self> {
        let start = self.at(values)?;
        self.check(&start)?;
        for (parameter, value) in self.parameters.iter_mut().zip(start) {
            parameter.start = value;
        }
        Ok(self)
    }

    /// The same model with other start values, one per parameter.
    pub(crate) fn starting_at(mut self, start: &[f64]) -> Result<Self> {
        self.check(start)?;
        self.parameters.iter_mut().zip(start).for_each(|(parameter, value)| parameter.start = *value);
        Ok(self)
    }

    /// The same model with bounds on some parameters, by name: lower and upper, either of which may be infinite.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_fn(&["a", "b"], Space::real(&["x"])?, |t, x| t[0] * x[0] - t[1] * x[0].powi(2))?;
    /// let bounded = model.with_start(&[("b", 1.0)])?.with_bounds(&[("b", 0.0, f64::INFINITY)])?;
    /// assert!(bounded.check(&[0.0, -1.0]).unwrap_err().to_string().starts_with("b = -1"));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], and when a start value is outside.
    pub fn with_bounds<S: AsRef<str>>(self, bounds: &[(S, f64, f64)]) -> Result<Self> {
        let mut parameters = self.parameters.clone();
        for (name, lower, upper) in bounds {
            let parameter = &mut parameters[self.index_of(name.as_ref())?];
            (parameter.lower, parameter.upper) = (*lower, *upper);
        }
        self.with_parameters(parameters)
    }

    /// The same model with other start values and bounds; the names must stay.
    ///
    /// # Errors
    /// As for [`Model::new`].
    pub fn with_parameters(self, parameters: Vec<Parameter>) -> Result<Self> {
        let changed = Self::from_shared(Arc::clone(&self.energy), self.space.clone(), parameters, false)?;
        let mut family = self.family;
        for (j, (before, now)) in self.parameters.iter().zip(&changed.parameters).enumerate() {
            if let Some(own) = family.as_mut().and_then(|family| Arc::make_mut(family).own.get_mut(j)) {
                *own = [own[0] && before.lower == now.lower, own[1] && before.upper == now.upper];
            }
        }
        Ok(Self { parameters: changed.parameters, family, ..self })
    }

    /// The same model for one computation: once that is cancelled, it evaluates nothing more and says
    /// [`Error::Cancelled`]. Every computation does so with the token of its options.
    #[must_use]
    pub fn with_cancel(&self, cancel: &CancelToken) -> Self {
        let joined = self.cancel.as_ref().map_or_else(|| cancel.clone(), |own| own.either(cancel));
        Self { cancel: Some(joined), ..self.clone() }
    }

    /// The same with another energy of the same parameters and variables.
    pub(crate) fn with_energy(&self, energy: Arc<dyn Energy>) -> Self {
        Self { energy, ..self.clone() }
    }

    /// The same model for results that outlive the computation.
    pub(crate) fn detached(&self) -> Self {
        Self { cancel: None, ..self.clone() }
    }

    /// Whether the computation that this copy is for goes on.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn check_run(&self) -> Result<()> {
        self.cancel.as_ref().map_or(Ok(()), CancelToken::check)
    }

    /// `Σ w ∇u`, as [`Energy::add_weighted_score`] gives it.
    pub(crate) fn add_weighted_score(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.check_run()?;
        self.energy.add_weighted_score(parameters, points, weights, out)
    }

    /// `Σ w ∇²u`, as [`Energy::add_curvature`] gives it.
    pub(crate) fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.check_run()?;
        self.energy.add_curvature(parameters, points, weights, out)
    }

    /// The same model, whose score is not compared with differences any more: the caller has done that.
    #[must_use]
    pub fn with_checked_score(self) -> Self {
        Self { score_checked: Arc::new(AtomicBool::new(true)), ..self }
    }

    /// The density `exp u(x; θ)` at parameter values, to be sampled or integrated.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let draws = chains(&model.density(&[2.0])?).draws(500).seed(1).run()?.points;
    /// let mean = draws.values().iter().sum::<f64>() / draws.rows() as f64;
    /// assert!((mean - 2.0).abs() < 0.3);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Model::check`].
    pub fn density<'a>(&'a self, parameters: &'a [f64]) -> Result<ModelDensity<'a>> {
        ModelDensity::new(self, parameters)
    }

    /// The same model, some bounds of which the user has written although they may be the family's own.
    #[cfg(feature = "model-file")]
    pub(crate) fn with_written_bounds(mut self, index: usize, written: [bool; 2]) -> Self {
        if let Some(own) = self.family.as_mut().and_then(|family| Arc::make_mut(family).own.get_mut(index)) {
            *own = [own[0] && !written[0], own[1] && !written[1]];
        }
        self
    }

    /// The family that ends at the lower or upper bound of a parameter, if one does.
    pub(crate) fn family_edge(&self, index: usize, lower: bool) -> Option<&str> {
        let family = self.family.as_deref()?;
        family.own.get(index)?[usize::from(!lower)].then_some(family.name.as_str())
    }

    /// Whether the constant is known (β = θ) rather than estimated (β = (θ, c)).
    #[must_use]
    pub fn is_normalized(&self) -> bool {
        self.normalized
    }

    /// Whether the constant is one of the unknowns: it is not known, and there is one and not one for every value of covariates.
    pub(crate) fn has_free_constant(&self) -> bool {
        !self.normalized && !self.is_conditional()
    }

    /// The energy.
    #[must_use]
    pub fn energy(&self) -> &dyn Energy {
        self.energy.as_ref()
    }

    /// The space of the points.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The parameters θ, in order (without the constant).
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Names of the coordinates of β: the parameters and, when it is free, the constant [`LOG_NORMALIZER`].
    #[must_use]
    pub fn coordinates(&self) -> Vec<String> {
        let constant = self.has_free_constant().then(|| LOG_NORMALIZER.to_owned());
        self.parameters.iter().map(|p| p.name.clone()).chain(constant).collect()
    }

    /// The start values of the parameters.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.start).collect()
    }

    /// The start values with those named replaced.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let parameters = vec![Parameter::new("a", 1.0), Parameter::new("b", 0.5)];
    /// let model = Model::from_formula("a*x - b*x^2", Space::real(&["x"])?, parameters, false)?;
    /// assert_eq!(model.at(&[("b", 2.0)])?, [1.0, 2.0]);
    /// assert!(model.at(&[("c", 2.0)]).unwrap_err().to_string().contains("`c`"));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownParameter`] for a name the model does not have, [`Error::DuplicateName`] for one given
    /// twice.
    pub fn at<S: AsRef<str>>(&self, values: &[(S, f64)]) -> Result<Vec<f64>> {
        let mut theta = self.start();
        for (i, (name, value)) in values.iter().enumerate() {
            let name = name.as_ref();
            if values[..i].iter().any(|(earlier, _)| earlier.as_ref() == name) {
                return Err(Error::DuplicateName { name: name.into() });
            }
            theta[self.index_of(name)?] = *value;
        }
        Ok(theta)
    }

    /// The position of a parameter.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], with the nearest known name.
    pub fn index_of(&self, name: &str) -> Result<usize> {
        let names = || self.parameters.iter().map(|p| p.name.as_str());
        names().position(|known| known == name).ok_or_else(|| Error::UnknownParameter {
            name: name.into(),
            nearest: nearest(name, names()).map(Into::into),
            known: names().map(Into::into).collect(),
        })
    }

    /// Checks the number of parameters and every value against its bounds.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Parameter`].
    pub fn check(&self, parameters: &[f64]) -> Result<()> {
        if parameters.len() != self.parameters.len() {
            let (expected, found) = (self.parameters.len(), parameters.len());
            return Err(Error::Shape { what: "parameter values", expected, found });
        }
        self.parameters.iter().zip(parameters).try_for_each(|(parameter, value)| parameter.check(*value))
    }
}

fn check_parameters(parameters: &[Parameter]) -> Result<()> {
    let mut seen = HashSet::with_capacity(parameters.len());
    for parameter in parameters {
        let name = &parameter.name;
        if name == LOG_NORMALIZER {
            return Err(Error::field(name, "is the name of the constant; call the parameter something else"));
        }
        if !seen.insert(name) {
            return Err(Error::DuplicateName { name: name.clone() });
        }
        parameter.check_bounds()?;
        parameter.check(parameter.start)?;
    }
    Ok(())
}

/// Names, and parameters of these names that start at zero without bounds.
fn named_parameters<S: AsRef<str>>(names: &[S]) -> (Vec<String>, Vec<Parameter>) {
    let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
    let parameters = names.iter().map(|name| Parameter::new(name, 0.0)).collect();
    (names, parameters)
}
