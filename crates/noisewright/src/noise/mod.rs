//! Noise distributions: a log-density that integrates to one, and draws from it.
//!
//! | one variable | several variables | made from others |
//! |---|---|---|
//! | normal, student, uniform, laplace, logistic | normal, student with a matrix | product |
//! | gamma, beta, lognormal, von-mises | von-mises-fisher, uniform on the sphere | mixture |
//! | categorical (bernoulli), poisson, negative-binomial | histogram of two variables | truncated |
//! | histogram | kernel density, warped, normal mixtures, trees of states and of angles, normal scores | |

mod auto;
mod beta;
mod box_rejection;
mod categorical;
mod check;
mod conditional;
mod counts;
pub(crate) mod dependent;
mod elliptical;
mod fitting;
mod gamma;
mod gaussian_mixture;
mod heavy_tails;
mod histogram;
mod kernel_density;
pub(crate) mod language;
mod laplace;
mod logistic;
mod lognormal;
mod mixture;
mod multivariate;
mod normal;
mod product;
pub(crate) mod quiet;
mod refit;
mod sampling;
mod saved;
mod scalar;
mod shrinkage;
mod sinh_arcsinh;
mod spelling;
mod sphere;
mod student;
mod tree;
mod truncated;
mod uniform;
mod von_mises;
mod warped;
mod weighted_index;
mod whitening;

pub use auto::fit_auto;
pub use beta::Beta;
pub(crate) use box_rejection::{BoxSampler, LogDensity};
pub use categorical::Categorical;
pub use conditional::{ConditionalNoise, fit_auto_given};
pub use counts::{NegativeBinomial, Poisson};
pub(crate) use elliptical::Elliptical;
pub use gamma::Gamma;
pub(crate) use gaussian_mixture::{fit_normal_mixture, fit_widened_mixture};
pub use histogram::{Histogram1d, Histogram2d, equal_edges};
pub use kernel_density::{Bandwidth, KernelDensity};
pub use laplace::Laplace;
pub use logistic::Logistic;
pub use lognormal::LogNormal;
pub use mixture::Mixture;
pub use multivariate::{MultivariateNormal, MultivariateStudent};
pub use normal::Normal;
pub use product::Product;
pub use quiet::{quiet_blocks, quiet_sample};
pub use refit::Refit;
pub(crate) use sampling::{draw_block, sample_for};
pub use sampling::{sample, sample_blocks, try_sample};
pub use saved::SavedNoise;
pub(crate) use saved::bits;
pub use scalar::Scalar;
pub use sphere::{UniformSphere, VonMisesFisher};
pub use student::Student;
pub use truncated::Truncated;
pub use uniform::Uniform;
pub use von_mises::VonMises;
pub(crate) use warped::Warped;
pub(crate) use weighted_index::Picker;

use std::sync::Arc;

use noisewright_numerics::random::Stream;

use crate::View;

/// A distribution whose normalized log-density is known and that can be sampled.
pub trait Noise: Send + Sync {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Writes the log-density of every point (−∞ outside the support), normalized with respect to the
    /// base measure of its domain.
    fn log_density(&self, points: View<'_>, out: &mut [f64]);

    /// Writes `∂ ln p(x)/∂x_j` at one point to `gradient[j]`, for samplers that follow the slope; returns `false`, leaving
    /// `gradient` alone, where that is not available.
    fn slope(&self, point: &[f64], gradient: &mut [f64]) -> bool {
        let _ = (point, gradient);
        false
    }

    /// Draws `rows` points into `out`, column-major: `out[column * rows + row]`.
    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]);

    /// How many uniform numbers [`transport`](Self::transport) makes one draw from; `None` (the default) where it cannot.
    fn uniforms(&self) -> Option<usize> {
        None
    }

    /// Maps points of the open unit cube of [`uniforms`](Self::uniforms) variables to draws, written column-major, point by
    /// point: where the points are uniform, the draws have this distribution. Variables of the cube that matter most come
    /// first. Never called where there are no such uniforms.
    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let _ = (cube, out);
    }

    /// The other way: writes a point of the unit cube that [`transport`](Self::transport) carries to `point`, drawn from all of
    /// them where there are several, so that it is uniform where `point` has this distribution. Returns `false` (the
    /// default), leaving `cube` alone, where that is not available.
    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        let _ = (point, stream, cube);
        false
    }

    /// What quadrature along one variable should know; nothing by default.
    fn landmarks(&self, axis: usize) -> Landmarks {
        let _ = axis;
        Landmarks::default()
    }

    /// The noise in words, in the syntax in which it can be asked for where there is one.
    fn describe(&self) -> String;

    /// Weights and words of the parts of a mixture, of mixtures in it too; of any other noise itself with weight one.
    fn parts(&self) -> Vec<(f64, String)> {
        vec![(1.0, self.describe())]
    }

    /// The noise that a fit takes in place of this one; `None` (the default) where it takes this one. A designed noise leaves
    /// out places where data teach nothing, but data fall there too; it comes with a tenth of the model it was designed for.
    fn for_fit(&self) -> Option<Arc<dyn Noise>> {
        None
    }

    /// The noise as plain data, from which the same density and the same draws can be had again; `None` (the default)
    /// where that cannot be done.
    fn saved(&self) -> Option<SavedNoise> {
        None
    }

    /// How a noise of its kind is fitted to other rows, where that is known: a test of a model must not use a noise that was
    /// fitted to the very rows. By default by maximum likelihood in its family.
    fn fit_again(&self) -> Option<Box<FitAgain<'_>>> {
        let family = self.refittable()?;
        Some(Box::new(move |points, weights| match weights {
            None => family.refit(points),
            Some(_) => Err(fitting::unfitted(&self.describe(), "it cannot be fitted to rows with weights")),
        }))
    }

    /// The parametric family it belongs to, where maximum likelihood can fit that again to draws; none by default.
    fn refittable(&self) -> Option<&dyn Refit> {
        None
    }
}

/// Fits a noise to rows with optional weights.
pub type FitAgain<'f> = dyn Fn(View<'_>, Option<&[f64]>) -> crate::Result<Arc<dyn Noise>> + 'f;

impl std::fmt::Debug for dyn Noise + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

macro_rules! forward_noise {
    ($([$($generics:tt)*] $pointer:ty),*) => {$(
        impl<$($generics)*> Noise for $pointer {
            fn dimension(&self) -> usize {
                (**self).dimension()
            }

            fn log_density(&self, points: View<'_>, out: &mut [f64]) {
                (**self).log_density(points, out);
            }

            fn slope(&self, point: &[f64], gradient: &mut [f64]) -> bool {
                (**self).slope(point, gradient)
            }

            fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
                (**self).draw(stream, rows, out);
            }

            fn uniforms(&self) -> Option<usize> {
                (**self).uniforms()
            }

            fn transport(&self, cube: View<'_>, out: &mut [f64]) {
                (**self).transport(cube, out);
            }

            fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
                (**self).inverse_transport(point, stream, cube)
            }

            fn landmarks(&self, axis: usize) -> Landmarks {
                (**self).landmarks(axis)
            }

            fn describe(&self) -> String {
                (**self).describe()
            }

            fn parts(&self) -> Vec<(f64, String)> {
                (**self).parts()
            }

            fn for_fit(&self) -> Option<Arc<dyn Noise>> {
                (**self).for_fit()
            }

            fn saved(&self) -> Option<SavedNoise> {
                (**self).saved()
            }

            fn fit_again(&self) -> Option<Box<FitAgain<'_>>> {
                (**self).fit_again()
            }

            fn refittable(&self) -> Option<&dyn Refit> {
                (**self).refittable()
            }
        }
    )*};
}

// Every method is forwarded: what is left to its default here would be lost behind a pointer.
forward_noise!([N: Noise + ?Sized] Arc<N>, [] Box<dyn Noise>, ['n] &'n (dyn Noise + 'n));

/// Where a density has kinks and where its mass is, along one variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Landmarks {
    /// Points where the log-density is not smooth: ends of the support, kinks, edges of bins.
    pub breaks: Vec<f64>,
    /// Location and scale of each component.
    pub centers: Vec<(f64, f64)>,
}
