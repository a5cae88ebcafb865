//! A model: an energy, the space of its points, its parameters, and whether its constant is known.

mod constraint;
mod construct;
mod covariates;
mod evaluate;
mod parameter;
mod score_check;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use self::constraint::Constraint;
pub use self::parameter::Parameter;
use crate::names::nearest;
use crate::run::CancelToken;
use crate::{Energy, Error, ModelDensity, Result, Space, View};

/// The name of the constant c among the coordinates of β = (θ, c).
pub const LOG_NORMALIZER: &str = "log_normalizer";

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
