//! Models as log-densities up to a constant: the one trait a user implements, and the built-in families.

pub(crate) mod basis;
mod beta;
mod com_poisson;
mod constrained;
#[cfg(feature = "dual")]
mod dual;
mod exp_quadratic;
mod family;
mod formula;
mod function;
mod gamma;
mod gaussian;
mod gaussian_moments;
mod given;
mod ising;
mod linear;
#[cfg(feature = "model-file")]
mod linked;
mod pointwise;
mod polynomial;
mod student;
mod triangle;
mod truncated_gaussian;
mod von_mises;
mod von_mises_fisher;

pub use beta::Beta;
pub use com_poisson::ComPoisson;
pub(crate) use constrained::ConstrainedEnergy;
#[cfg(feature = "dual")]
pub(crate) use dual::DualEnergy;
pub use family::{Dof, FamilyInfo, FamilyOptions, families};
pub(crate) use family::{Parts as FamilyParts, build as build_family};
pub(crate) use formula::wrong_formula;
pub use formula::{FeatureEnergy, FormulaEnergy};
pub(crate) use function::{BatchEnergy, ScoredEnergy, per_point};
pub use gamma::Gamma;
pub use gaussian::Gaussian;
pub use gaussian_moments::GaussianMoments;
pub(crate) use given::GivenEnergy;
pub use ising::Ising;
pub use linear::Statistics;
#[cfg(feature = "model-file")]
pub(crate) use linked::LinkedEnergy;
pub use polynomial::ExponentialPolynomial;
pub use student::Student;
pub use truncated_gaussian::{TruncatedGaussian, TruncatedGaussianMoments};
pub use von_mises::{VonMises, VonMisesPolar};
pub use von_mises_fisher::VonMisesFisher;

use std::sync::Arc;

use crate::{Result, View};

/// A log-density up to an additive constant, `u(x; θ)`, and its gradient in the parameters.
///
/// Value and score are asked for together, for many points at once, into buffers that the caller owns.
/// A model of one's own needs three methods; the others have defaults.
///
/// ```
/// use noisewright::{Energy, Result, View};
///
/// /// Two peaks at ±√barrier: `−(x² − barrier)²`.
/// struct DoubleWell;
///
/// impl Energy for DoubleWell {
///     fn parameters(&self) -> Vec<String> {
///         vec!["barrier".into()]
///     }
///     fn dimension(&self) -> usize {
///         1
///     }
///     fn evaluate(&self, theta: &[f64], points: View<'_>, value: &mut [f64], score: Option<&mut [f64]>) -> Result<()> {
///         let x = points.column(0);
///         for (v, x) in value.iter_mut().zip(x) {
///             *v = -(x * x - theta[0]).powi(2);
///         }
///         for (s, x) in score.into_iter().flatten().zip(x) {
///             *s = 2.0 * (x * x - theta[0]);
///         }
///         Ok(())
///     }
/// }
///
/// let points = noisewright::Points::unnamed(1, 2, vec![0.0, 2.0]);
/// let (mut value, mut score) = ([0.0; 2], [0.0; 2]);
/// DoubleWell.evaluate(&[1.0], points.view(), &mut value, Some(&mut score)).unwrap();
/// assert_eq!((value, score), ([-1.0, -9.0], [-2.0, 6.0]));
/// ```
pub trait Energy: Send + Sync {
    /// Names of the parameters θ, in order.
    fn parameters(&self) -> Vec<String>;

    /// Number of variables, the columns of the points it is given.
    fn dimension(&self) -> usize;

    /// Writes `u(x_i; θ)` to `value[i]` and, when `score` is asked for, `∂u(x_i; θ)/∂θ_j` to
    /// `score[j * rows + i]`.
    ///
    /// A point of density zero has the value −∞; its score may be anything. It is called from several threads at once, with
    /// batches of any size, and both buffers come filled with `NaN`: what is left so is an error.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) when θ is outside what the model allows.
    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()>;

    /// Writes `∂u(x; θ)/∂x_j` at one point to `gradient[j]` and returns `u(x; θ)`, for samplers that follow the slope;
    /// `None`, leaving `gradient` alone, when the derivatives in the variables are not available.
    ///
    /// # Errors
    /// As for [`evaluate`](Self::evaluate).
    fn point_gradient(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let _ = (parameters, point, gradient);
        Ok(None)
    }

    /// Of all parameters that give the same density, puts those that people name into place of the given ones: an
    /// angle into (−π, π]. By default every parameter stands for itself.
    fn canonical(&self, parameters: &mut [f64]) {
        let _ = parameters;
    }

    /// Numbers that occur in it, with either sign: places where its density may have a narrow peak that nothing else
    /// would point to. None by default.
    fn constants(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The same densities as functions of `(x − center)/scale`, with the matrix that carries their parameters and constant to those of this
    /// energy, where such a change is no more than that; by default there is none. A polynomial of data far from zero is fitted so.
    fn recentred(&self, center: f64, scale: f64) -> Option<(Arc<dyn Energy>, nalgebra::DMatrix<f64>)> {
        let _ = (center, scale);
        None
    }

    /// Whether `u = θ·t(x)` (plus a function of x): then the score does not depend on θ and NCE with the
    /// JS and KL losses is convex.
    fn is_linear(&self) -> bool {
        false
    }

    /// The formula that it is, where it is one; its parameters stand in the order of [`parameters`](Self::parameters), under
    /// names that may be others. Score matching takes derivatives in the variables from it. None by default.
    fn as_formula(&self) -> Option<&noisewright_formula::Formula> {
        None
    }

    /// Whether a call costs something by itself, so that many points should be asked for at once: `true` for functions
    /// of another language.
    fn prefers_batches(&self) -> bool {
        false
    }

    /// `log Z(θ) = log ∫ exp u(x; θ) dx` where it is known in closed form; its gradient goes to `gradient`.
    ///
    /// `None` where there is no closed form or the integral is not finite at θ.
    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let _ = (parameters, gradient);
        None
    }

    /// Adds `Σ_i weights[i] · ∂u(x_i; θ)/∂θ_j` to `out[j]`, for an energy that can do so for less than the scores of all
    /// points cost (a vector-Jacobian product); returns `false`, leaving `out` alone, when it cannot. A point of weight zero
    /// counts for nothing, whatever its slope; whether it can must not depend on the arguments.
    ///
    /// # Errors
    /// As for [`evaluate`](Self::evaluate).
    fn add_weighted_score(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let _ = (parameters, points, weights, out);
        Ok(false)
    }

    /// Adds `Σ_i weights[i] · ∇²u(x_i; θ)` to the k×k matrix `out` (column-major, both triangles);
    /// returns `false`, leaving `out` alone, when second derivatives are not available.
    ///
    /// # Errors
    /// As for [`evaluate`](Self::evaluate).
    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let _ = (parameters, points, weights, out);
        Ok(self.is_linear())
    }
}

/// Methods of [`Energy`] as those of another energy: `forward!(self => self.inner; parameters dimension …)`, or `all`.
macro_rules! forward {
    ($self:ident => $to:expr; all) => {
        $crate::energy::forward! { $self => $to;
            parameters dimension evaluate point_gradient canonical constants recentred is_linear as_formula
            prefers_batches log_normalizer add_weighted_score add_curvature
        }
    };
    ($self:ident => $to:expr; $($method:ident)*) => {
        $($crate::energy::forward! { @$method $self $to })*
    };
    (@parameters $self:ident $to:expr) => {
        fn parameters(&$self) -> Vec<String> {
            $to.parameters()
        }
    };
    (@dimension $self:ident $to:expr) => {
        fn dimension(&$self) -> usize {
            $to.dimension()
        }
    };
    (@evaluate $self:ident $to:expr) => {
        fn evaluate(
            &$self,
            parameters: &[f64],
            points: View<'_>,
            value: &mut [f64],
            score: Option<&mut [f64]>,
        ) -> Result<()> {
            $to.evaluate(parameters, points, value, score)
        }
    };
    (@point_gradient $self:ident $to:expr) => {
        fn point_gradient(&$self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
            $to.point_gradient(parameters, point, gradient)
        }
    };
    (@canonical $self:ident $to:expr) => {
        fn canonical(&$self, parameters: &mut [f64]) {
            $to.canonical(parameters);
        }
    };
    (@constants $self:ident $to:expr) => {
        fn constants(&$self) -> Vec<f64> {
            $to.constants()
        }
    };
    (@recentred $self:ident $to:expr) => {
        fn recentred(&$self, center: f64, scale: f64) -> Option<(Arc<dyn Energy>, nalgebra::DMatrix<f64>)> {
            $to.recentred(center, scale)
        }
    };
    (@is_linear $self:ident $to:expr) => {
        fn is_linear(&$self) -> bool {
            $to.is_linear()
        }
    };
    (@as_formula $self:ident $to:expr) => {
        fn as_formula(&$self) -> Option<&noisewright_formula::Formula> {
            $to.as_formula()
        }
    };
    (@prefers_batches $self:ident $to:expr) => {
        fn prefers_batches(&$self) -> bool {
            $to.prefers_batches()
        }
    };
    (@log_normalizer $self:ident $to:expr) => {
        fn log_normalizer(&$self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
            $to.log_normalizer(parameters, gradient)
        }
    };
    (@add_weighted_score $self:ident $to:expr) => {
        fn add_weighted_score(
            &$self,
            parameters: &[f64],
            points: View<'_>,
            weights: &[f64],
            out: &mut [f64],
        ) -> Result<bool> {
            $to.add_weighted_score(parameters, points, weights, out)
        }
    };
    (@add_curvature $self:ident $to:expr) => {
        fn add_curvature(
            &$self,
            parameters: &[f64],
            points: View<'_>,
            weights: &[f64],
            out: &mut [f64],
        ) -> Result<bool> {
            $to.add_curvature(parameters, points, weights, out)
        }
    };
}
pub(crate) use forward;

// Every method is forwarded: what is left to its default here would be lost behind a pointer.
impl<E: Energy + ?Sized> Energy for Arc<E> {
    forward!(self => (**self); all);
}

impl Energy for Box<dyn Energy> {
    forward!(self => (**self); all);
}

impl<'e> Energy for &'e (dyn Energy + 'e) {
    forward!(self => (**self); all);
}
