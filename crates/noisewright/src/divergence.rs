//! The divergences behind the error of a normalizing constant, and the four estimators' errors (MATH §4).

use noisewright_numerics::special::{ln_1m_exp, ln_add_exp};

use crate::{Contrast, Divergent, Error, Loss, Model, Noise, Precision, Result};

/// How far the noise is from the data; infinite where an integral does not exist.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Divergences {
    /// `χ²(p_d, p_n) = ∫ p_d²/p_n − 1`.
    pub chi2_data_noise: f64,
    /// `χ²(p_n, p_d) = ∫ p_n²/p_d − 1`.
    pub chi2_noise_data: f64,
    /// `1 − ∫ √(p_d p_n)`.
    pub hellinger: f64,
    /// `D_HM = 1 − E_d[p_n / ((1−π) p_d + π p_n)]` at the given ν.
    pub harmonic: f64,
    /// `1 − hellinger`, the Bhattacharyya coefficient, computed on its own.
    #[serde(skip)]
    pub bhattacharyya: f64,
    /// `1 − harmonic`, computed on its own.
    #[serde(skip)]
    pub harmonic_overlap: f64,
    /// Where the first is infinite: the noise has lighter tails than the data there.
    #[serde(skip)]
    pub lighter_noise: Option<Divergent>,
    /// Where the second is infinite: the data have lighter tails than the noise there.
    #[serde(skip)]
    pub lighter_data: Option<Divergent>,
    /// Largest estimated relative error of the finite ones.
    #[serde(skip)]
    pub relative_error: f64,
}

/// `T · MSE(Ẑ)/Z²` of the four estimators of a normalizing constant, by name in MATH §4.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct NormalizerErrors {
    /// Importance sampling (KL).
    pub is: f64,
    /// Reverse importance sampling (reverse KL).
    pub revis: f64,
    /// Their product (squared Hellinger).
    #[serde(rename = "is-revis")]
    pub is_revis: f64,
    /// The optimal bridge (JS).
    pub nce: f64,
}

impl Divergences {
    /// The errors of the four estimators at the ratio ν for which the divergences were computed.
    #[must_use]
    pub fn normalizer_errors(&self, nu: f64) -> NormalizerErrors {
        let overlap = self.bhattacharyya;
        let both = (1.0 + nu) * (1.0 + nu) / nu;
        NormalizerErrors {
            is: (1.0 + nu) / nu * self.chi2_data_noise,
            revis: (1.0 + nu) * self.chi2_noise_data,
            // 1/BC² − 1 without the cancellation near identical densities.
            is_revis: both * self.hellinger * (1.0 + overlap) / (overlap * overlap),
            nce: both * self.harmonic / self.harmonic_overlap,
        }
    }
}

/// The divergences between a model, true at `parameters`, and a noise.
///
/// Each is the integral of a positive function, so that nothing cancels when the two are close.
///
/// ```
/// use noisewright::{divergences, prelude::*};
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
/// let found = divergences(&model, &[0.0], &Normal::with_std(1.0, 1.0)?, 1.0, &Precision::default())?;
/// // Between normals one deviation apart χ² = e − 1, and 1 − ∫ √(p q) = 1 − e^(−1/8).
/// assert!((found.chi2_data_noise - 1f64.exp_m1()).abs() < 1e-8);
/// assert!((found.hellinger + (-0.125f64).exp_m1()).abs() < 1e-10);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When ν is not positive or the model has no population at these parameters.
pub fn divergences(
    model: &Model,
    parameters: &[f64],
    noise: &dyn Noise,
    nu: f64,
    precision: &Precision,
) -> Result<Divergences> {
    if !(nu > 0.0 && nu.is_finite()) {
        return Err(Error::NoiseRatio { value: nu });
    }
    let contrast = Contrast { noise, nu, loss: &Loss::Js };
    let integrals =
        crate::population::integrate_pair(model, parameters, contrast, precision, &|p, q, out| {
            let gap = log_difference(p, q);
            out[0] = 2.0 * gap - q;
            out[1] = 2.0 * gap - p;
            // 1 − ∫√(pq) = ½ ∫ (√p − √q)²
            out[2] = 2.0 * log_difference(0.5 * p, 0.5 * q) - std::f64::consts::LN_2;
            // D_HM = (1−π)π ∫ (p − q)² / ((1−π) p + π q)
            let share = nu / (1.0 + nu);
            let mixture = ln_add_exp((1.0 - share).ln() + p, share.ln() + q);
            out[3] = 2.0 * gap - mixture + (share * (1.0 - share)).ln();
            out[4] = 0.5 * (p + q);
            out[5] = p + q - mixture;
        })?;
    Ok(Divergences {
        chi2_data_noise: integrals.values[0],
        chi2_noise_data: integrals.values[1],
        hellinger: integrals.values[2].min(1.0),
        harmonic: integrals.values[3].min(1.0),
        bhattacharyya: integrals.values[4].min(1.0),
        harmonic_overlap: integrals.values[5].min(1.0),
        lighter_noise: integrals.divergent[0].clone(),
        lighter_data: integrals.divergent[1].clone(),
        relative_error: integrals.relative_error,
    })
}

/// `ln |e^a − e^b|`; −∞ where they are equal up to rounding, whose remains no quadrature can integrate.
fn log_difference(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    let rounding = 32.0 * f64::EPSILON * (1.0 + low.abs().min(f64::MAX));
    if high - low <= rounding || high == low { f64::NEG_INFINITY } else { high + ln_1m_exp(low - high) }
}
