//! Models of everything that has a log-density: closures, formulas, features, families and model files.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(feature = "dual")]
use crate::energy::DualEnergy;
use crate::energy::{BatchEnergy, FeatureEnergy, FormulaEnergy, ScoredEnergy, per_point};
use crate::energy::{FamilyParts, build_family};
use crate::{Energy, Error, FamilyOptions, Model, Parameter, Result, Space, View};

use super::Family;

impl Model {
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
        Self::of_features(FeatureEnergy::new(features, space.names())?, space, parameters)
    }

    /// The same beside an offset, a formula of the variables and covariates without parameters: `u(x) = offset(x) + Σ θ_j f_j(x)`.
    /// The density is then an exponential family relative to `exp offset`.
    ///
    /// ```
    /// use noisewright::{Domain, Model, Space};
    /// let counts = Space::product(&[("y", Domain::Counts)])?;
    /// let poisson = Model::from_features_with_offset(&["y"], "-lgamma(y + 1)", counts, vec![])?;
    /// assert_eq!(poisson.coordinates(), ["y", "log_normalizer"]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_features`](Self::from_features), and when the offset cannot be read or is constant.
    pub fn from_features_with_offset<S: AsRef<str>>(
        features: &[S],
        offset: &str,
        space: Space,
        parameters: Vec<Parameter>,
    ) -> Result<Self> {
        Self::of_features(FeatureEnergy::with_offset(features, offset, space.names())?, space, parameters)
    }

    fn of_features(energy: FeatureEnergy, space: Space, parameters: Vec<Parameter>) -> Result<Self> {
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
}

/// Names, and parameters of these names that start at zero without bounds.
fn named_parameters<S: AsRef<str>>(names: &[S]) -> (Vec<String>, Vec<Parameter>) {
    let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
    let parameters = names.iter().map(|name| Parameter::new(name, 0.0)).collect();
    (names, parameters)
}
