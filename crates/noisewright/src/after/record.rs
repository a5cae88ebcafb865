//! What is kept of a fit in a file: all that goes on from it, as plain data.

use serde::{Deserialize, Serialize};

use super::joint::JointEstimate;
use super::log_density::LogDensity;
use super::simulate::{Simulated, simulate};
use crate::fit::{FitMethod, HeldOut};
use crate::run::Context;
use crate::{Error, Fit, Model, Result, View};

/// The format that this version writes and reads.
const FORMAT: &str = "noisewright-fit/1";

/// How the formats of saved fits begin, whatever their version.
const KIND: &str = "noisewright-fit/";

/// What a file says of itself, read before the rest.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordHeader {
    /// Name and version of the format.
    #[serde(default)]
    pub format: Option<String>,
    /// The version of noisewright that wrote it.
    #[serde(default)]
    pub version: Option<String>,
}

impl RecordHeader {
    /// Refuses files of another kind or version.
    ///
    /// # Errors
    /// [`Error::SavedFit`], which says what the file is instead.
    pub fn check(&self) -> Result<()> {
        let reason = match self.format.as_deref() {
            Some(FORMAT) => return Ok(()),
            Some(format) if format.starts_with(KIND) => {
                let by = self
                    .version
                    .as_ref()
                    .map(|by| format!(", written by noisewright {by}"))
                    .unwrap_or_default();
                format!(
                    "its format is `{format}`{by}, and this version reads `{FORMAT}`: fit again, or use that version"
                )
            }
            Some(format) => format!("its format is `{format}`, which is not that of a fit"),
            None => {
                "it does not say that it is one; a fit must be saved as such before it can be read".into()
            }
        };
        Err(Error::SavedFit { reason: reason.into() })
    }
}

/// A saved fit.
///
/// ```
/// use noisewright::prelude::*;
/// let text = "variables = ['x']\nlog_density = '-p*x^2/2'\n[parameters]\np = 1";
/// let model = Model::from_toml(text)?;
/// let fit = model.fit(&sample(&Normal::with_std(0.0, 0.5)?, 500, 1)).exact().run()?;
/// let record = fit.record(Some(text))?;
/// assert_eq!(record.joint.values, fit.unknowns());
/// assert!((record.log_likelihood()?.estimate + 500.0 * fit.loss).abs() < 1e-9);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitRecord {
    /// Name and version of the format.
    pub format: String,
    /// The version of noisewright that wrote it.
    pub version: String,
    /// The model file; `None` for a model that has none.
    pub model: Option<String>,
    /// By which method.
    #[serde(default)]
    pub method: FitMethod,
    /// Names of the variables.
    pub variables: Vec<String>,
    /// Estimates and covariances.
    pub joint: JointEstimate,
    /// Whether the last of the unknowns is the constant.
    pub has_constant: bool,
    /// Number of parameters that were free.
    pub free_parameters: usize,
    /// Number of rows.
    pub rows: usize,
    /// The sum of their weights, T_d.
    pub total_weight: f64,
    /// Whether the rows were taken as clusters or chains.
    pub dependent_rows: bool,
    /// Whether the rows are alternatives of choices, which have no density of their own.
    #[serde(default)]
    pub choices: bool,
    /// Whether the model is conditional, with a constant for every value of its covariates.
    #[serde(default)]
    pub conditional: bool,
    /// Whether a penalty kept the estimates from the minimum of the loss.
    #[serde(default)]
    pub penalized: bool,
    /// The noise in words.
    pub noise: String,
    /// Noise points per data point; `None` for an exact fit.
    pub nu: Option<f64>,
    /// Number of noise points.
    pub noise_points: usize,
    /// Mean of `u(x; θ̂)` over the rows.
    pub mean_energy: f64,
    /// Mean of `∇u(x; θ̂)` over the rows.
    pub mean_score: Vec<f64>,
    /// log Z at the estimate, where the model knows it in closed form.
    pub known_log_normalizer: Option<f64>,
    /// The penalty of Takeuchi's criterion, `tr(J⁻¹K)` or its like for a loss against noise.
    pub takeuchi_penalty: Option<f64>,
    /// The held-out log-likelihood, where it was asked for.
    #[serde(default)]
    pub held_out: Option<HeldOut>,
    /// What tells the rows from others.
    pub fingerprint: String,
    /// Some of the rows, column by column.
    pub some_rows: Vec<Vec<f64>>,
}

impl Fit {
    /// What is kept of the fit; `model_file` is the model file that it was made with, where there is one.
    ///
    /// # Errors
    /// [`Error::SavedFit`] for a fit without an answer.
    pub fn record(&self, model_file: Option<&str>) -> Result<FitRecord> {
        let none = || Error::SavedFit { reason: "the fit has no answer that could be kept".into() };
        let means = self.at_rows.as_deref().ok_or_else(none)?;
        let some = means.some.view();
        let record = FitRecord {
            format: FORMAT.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            model: model_file.map(Into::into),
            method: self.method,
            variables: means.some.names().to_vec(),
            joint: self.joint(),
            has_constant: self.log_normalizer.is_some(),
            free_parameters: means.free_parameters,
            rows: self.rows,
            total_weight: self.total_weight,
            dependent_rows: means.dependent_rows,
            choices: means.choices,
            conditional: means.conditional,
            penalized: self.penalty.as_ref().is_some_and(|penalty| !penalty.refitted),
            noise: self.noise_description.clone(),
            nu: self.nu.is_finite().then_some(self.nu),
            noise_points: self.noise_points,
            mean_energy: means.energy,
            mean_score: means.score.clone(),
            known_log_normalizer: means.known_log_normalizer,
            takeuchi_penalty: means.takeuchi_penalty,
            held_out: self.held_out.clone(),
            fingerprint: format!("{:016x}", means.fingerprint),
            some_rows: (0..some.columns()).map(|j| some.column(j).to_vec()).collect(),
        };
        record.joint.check().map_err(|_| none())?;
        Ok(record)
    }
}

impl FitRecord {
    /// Refuses a record of another version, or whose parts do not belong together.
    ///
    /// # Errors
    /// [`Error::SavedFit`] or [`Error::Shape`].
    pub fn check(&self) -> Result<()> {
        RecordHeader { format: Some(self.format.clone()), version: Some(self.version.clone()) }.check()?;
        self.joint.check()?;
        let parameters =
            self.joint.values.len() - usize::from(self.has_constant && !self.joint.values.is_empty());
        let sizes = [
            ("numbers of `mean_score` in the saved fit", parameters, self.mean_score.len()),
            ("columns of `some_rows` in the saved fit", self.variables.len(), self.some_rows.len()),
        ];
        for (what, expected, found) in sizes {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        let unknown = !self.has_constant && self.known_log_normalizer.is_none();
        if unknown && !self.conditional && !self.method.is_without_constant() {
            return Err(Error::SavedFit { reason: "it has no constant".into() });
        }
        Ok(())
    }

    /// The estimated parameters, without the constant.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.joint.values[..self.mean_score.len()]
    }

    /// log Z at the estimate: fitted, or known.
    ///
    /// # Errors
    /// [`Error::SavedFit`] where there is neither.
    pub fn log_normalizer(&self) -> Result<f64> {
        let fitted = self.joint.values.get(self.mean_score.len()).copied();
        let none = || {
            let reason = match (self.conditional, self.method.is_without_constant()) {
                (true, _) => {
                    "its likelihood is not known, since its constants are not computed: fit it with the noise exact"
                }
                (_, true) => "its method gives no constant, and it could not be computed: use nce",
                _ => "it has no constant",
            };
            Error::SavedFit { reason: reason.into() }
        };
        fitted.or(self.known_log_normalizer).ok_or_else(none)
    }

    /// The model that the saved model file describes, every parameter free.
    ///
    /// # Errors
    /// [`Error::SavedFit`] where there is no model file or it is of another model; else as for [`Model::from_toml`].
    #[cfg(feature = "model-file")]
    pub fn model(&self) -> Result<Model> {
        let wrong = |reason: &'static str| Error::SavedFit { reason: reason.into() };
        let text = self.model.as_deref().ok_or_else(|| {
            wrong("its model was made of functions, which no file holds: give the model beside it")
        })?;
        let model = Model::from_toml(text)?.whole().clone();
        let mut coordinates = model.coordinates();
        if self.method.is_without_constant() {
            coordinates.truncate(self.joint.coordinates.len());
        }
        if coordinates != self.joint.coordinates || model.space().names() != self.variables {
            return Err(wrong("its estimates are not those of its model file"));
        }
        Ok(model)
    }

    /// The fitted log-density of the model, every parameter free, at points.
    ///
    /// # Errors
    /// As for [`Fit::log_density`], and for choices, which have no density.
    pub fn log_density(&self, model: &Model, points: View<'_>) -> Result<Vec<LogDensity>> {
        self.refuse_choices()?;
        self.joint.log_density_by(model, points, Some(&self.noise))
    }

    /// Draws of the fitted model, every parameter free.
    ///
    /// # Errors
    /// As for [`simulate`](super::simulate()), and for choices, which have no density.
    pub fn simulate(&self, model: &Model, count: usize, context: &Context) -> Result<Simulated> {
        self.refuse_choices()?;
        model.refuse_covariates()?;
        simulate(model, self.theta(), count, context)
    }

    fn refuse_choices(&self) -> Result<()> {
        if self.choices {
            let reason = "it is of choices, whose alternatives have a share in their stratum but no density";
            return Err(Error::SavedFit { reason: reason.into() });
        }
        Ok(())
    }
}
