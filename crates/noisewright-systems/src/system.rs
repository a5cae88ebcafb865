//! A model at its true parameters, with everything that is known about it.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright::{Model, Noise, Result};

/// A model with known answers.
#[derive(Clone)]
pub struct System {
    /// What it is, for messages.
    pub name: String,
    /// The model, normalized or with a free constant.
    pub model: Model,
    /// The true parameters θ.
    pub parameters: Vec<f64>,
    /// `log Z(θ)` of the model's energy.
    pub log_z: f64,
    /// `E[∇u]`, which is `∇ log Z`.
    pub mean: DVector<f64>,
    /// `Cov[∇u]`: the Fisher information J of the normalized model.
    pub fisher: DMatrix<f64>,
    /// The noise that equals the data, where the library has that distribution.
    pub noise: Option<Arc<dyn Noise>>,
}

impl System {
    pub(crate) fn new(
        name: impl Into<String>,
        model: Model,
        parameters: &[f64],
        log_z: f64,
        (mean, fisher): (DVector<f64>, DMatrix<f64>),
    ) -> Self {
        let name = format!("{}{}", name.into(), if model.is_normalized() { "" } else { ", free constant" });
        Self { name, model, parameters: parameters.to_vec(), log_z, mean, fisher, noise: None }
    }

    pub(crate) fn with_noise(mut self, noise: impl Noise + 'static) -> Self {
        self.noise = Some(Arc::new(noise));
        self
    }

    /// `I = E[ψψᵀ]` of MATH §3 in the coordinates of β: J, or with the constant's column of −1.
    #[must_use]
    pub fn information(&self) -> DMatrix<f64> {
        if self.model.is_normalized() {
            return self.fisher.clone();
        }
        let size = self.mean.len();
        let second_moment = &self.fisher + &self.mean * self.mean.transpose();
        DMatrix::from_fn(size + 1, size + 1, |i, j| match (i == size, j == size) {
            (true, true) => 1.0,
            (true, false) => -self.mean[j],
            (false, true) => -self.mean[i],
            (false, false) => second_moment[(i, j)],
        })
    }

    /// The Cramér–Rao bound on the covariance of β, times the number of data points: `J⁻¹`, and for a free
    /// constant that of log Z(θ) with it (`I⁻¹ − e_c e_cᵀ`, by block inversion).
    ///
    /// # Panics
    /// When the information is singular, which no system's is.
    #[must_use]
    #[allow(clippy::expect_used)]
    pub fn bound(&self) -> DMatrix<f64> {
        let inverse = self.fisher.clone().cholesky().expect("a positive definite information").inverse();
        if self.model.is_normalized() {
            return inverse;
        }
        let size = self.mean.len();
        let pulled = &inverse * &self.mean;
        DMatrix::from_fn(size + 1, size + 1, |i, j| match (i == size, j == size) {
            (true, true) => self.mean.dot(&pulled),
            (true, false) => pulled[j],
            (false, true) => pulled[i],
            (false, false) => inverse[(i, j)],
        })
    }

    /// `T · MSE` of noise equal to the data, `(1+ν)²/ν · tr` of the bound, for every loss.
    #[must_use]
    pub fn error_noise_equals_data(&self, nu: f64) -> f64 {
        (1.0 + nu) * (1.0 + nu) / nu * self.bound().trace()
    }
}

/// The family's model, normalized or not.
pub(crate) fn family(
    name: &str,
    variables: &[&str],
    options: &noisewright::FamilyOptions,
    normalized: bool,
) -> Result<Model> {
    Model::from_family(name, variables, options, normalized)
}
