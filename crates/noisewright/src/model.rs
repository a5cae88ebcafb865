//! A model: an energy, the space of its points, its parameters, and whether its constant is known.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::energy::build_family;
use crate::energy::{FeatureEnergy, FormulaEnergy};
use crate::names::nearest;
use crate::run::CancelToken;
use crate::{Energy, Error, FamilyOptions, Quantity, Result, Space, View, model_file};

/// The name of the constant c among the coordinates of β = (θ, c).
pub const LOG_NORMALIZER: &str = "log_normalizer";

/// A parameter with its start value and bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name, as in the energy.
    pub name: String,
    /// Where fits start, and the default of `--at`.
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
    /// Cancels the computation that this copy of the model is for.
    cancel: Option<CancelToken>,
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
    /// # Errors
    /// When the energy and the space disagree on the number of variables, the parameters' names and order
    /// are not the energy's, a name is used twice, or a start value is outside its bounds.
    pub fn new(energy: Arc<dyn Energy>, space: Space, parameters: Vec<Parameter>) -> Result<Self> {
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
        Ok(Self { energy, space, parameters, normalized: false, cancel: None })
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
            return Ok(Self::new(Arc::new(energy.normalized()), space, parameters)?.normalized());
        }
        Self::new(Arc::new(energy), space, parameters)
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
            return Self::new(Arc::new(energy), space, parameters);
        }
        let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
        Self::new(Arc::new(energy.with_names(&names)?), space, parameters)
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
    pub fn from_toml(text: &str) -> Result<Self> {
        model_file::parse(text)
    }

    /// A built-in family ([`families`](crate::families) lists them), on its own domain unless the options
    /// name another; `normalized` makes use of its closed form for log Z.
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
        let model = Self::new(parts.energy, parts.space, parts.parameters)?;
        if normalized { model.normalized_family(family) } else { Ok(model) }
    }

    /// The same model with its constant known, if the family has a closed form for it.
    pub(crate) fn normalized_family(self, family: &str) -> Result<Self> {
        let mut gradient = vec![0.0; self.parameters.len()];
        // The default start values of every family are inside the domain of its closed form.
        if self.energy.log_normalizer(&self.start(), &mut gradient).is_none() {
            let reason =
                format!("cannot be true for the family {family}, which has no closed form; leave it out");
            return Err(Error::field("normalized", reason));
        }
        Ok(self.normalized())
    }

    /// The same model with its constant known: `log p = u(x; θ) − log Z(θ)`, where log Z is the energy's, over
    /// the domain that the energy is made for: the caller vouches that it is the space of this model.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        self.normalized = true;
        self
    }

    /// The same model with its constant taken as unknown.
    pub(crate) fn with_free_constant(mut self) -> Self {
        self.normalized = false;
        self
    }

    /// The same model with other start values, by name.
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

    /// The same model with other start values and bounds; the names must stay.
    ///
    /// # Errors
    /// As for [`Model::new`].
    pub fn with_parameters(self, parameters: Vec<Parameter>) -> Result<Self> {
        let (normalized, cancel) = (self.normalized, self.cancel);
        Ok(Self { normalized, cancel, ..Self::new(self.energy, self.space, parameters)? })
    }

    /// The same model for one computation: once that is cancelled, it evaluates nothing more and says
    /// [`Error::Cancelled`]. Every computation does so with the token of its options.
    #[must_use]
    pub fn with_cancel(&self, cancel: &CancelToken) -> Self {
        let joined = self.cancel.as_ref().map_or_else(|| cancel.clone(), |own| own.either(cancel));
        Self { cancel: Some(joined), ..self.clone() }
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

    /// Whether the constant is known (β = θ) rather than estimated (β = (θ, c)).
    #[must_use]
    pub fn is_normalized(&self) -> bool {
        self.normalized
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
        let constant = (!self.normalized).then(|| LOG_NORMALIZER.to_owned());
        self.parameters.iter().map(|p| p.name.clone()).chain(constant).collect()
    }

    /// The start values of the parameters.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.start).collect()
    }

    /// The start values with those named replaced.
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

    /// The energy and, where asked for, its score, as [`Energy::evaluate`] gives them inside the domains;
    /// outside any variable's domain the value is −∞ and the score zero. (On a sphere, points are taken to be
    /// unit vectors.)
    ///
    /// # Errors
    /// As for [`Energy::evaluate`], and [`Error::NotANumber`] where the value inside the domain is none.
    pub fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        mut score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.check_run()?;
        self.energy.evaluate(parameters, points, value, score.as_deref_mut())?;
        if !self.space.is_sphere() {
            self.clear_outside(points, value, score);
        }
        match value.iter().position(|v| v.is_nan()) {
            None => Ok(()),
            Some(row) => {
                Err(Error::NotANumber { of: Quantity::Value, point: self.describe(parameters, points, row) })
            }
        }
    }

    /// Makes the value −∞ and the score zero at every point outside a variable's domain.
    fn clear_outside(&self, points: View<'_>, value: &mut [f64], mut score: Option<&mut [f64]>) {
        for (j, domain) in self.space.domains().iter().enumerate() {
            for (i, _) in points.column(j).iter().enumerate().filter(|(_, x)| !domain.contains(**x)) {
                value[i] = f64::NEG_INFINITY;
                if let Some(score) = score.as_deref_mut() {
                    score.iter_mut().skip(i).step_by(points.rows()).for_each(|s| *s = 0.0);
                }
            }
        }
    }

    /// `x = 1, a = 2`: a point and the parameters, by name.
    pub(crate) fn describe(&self, parameters: &[f64], points: View<'_>, row: usize) -> String {
        let variables = self.space.names().iter().enumerate().map(|(j, name)| (name, points.get(row, j)));
        let parameters = self.parameters.iter().map(|p| &p.name).zip(parameters.iter().copied());
        variables.chain(parameters).map(|(name, x)| format!("{name} = {x}")).collect::<Vec<_>>().join(", ")
    }

    /// `log Z(θ)` where it is known, with its gradient; zero for a formula that integrates to one.
    ///
    /// `None` where there is no closed form or θ is outside of where it holds.
    pub fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.energy.log_normalizer(parameters, gradient)
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
