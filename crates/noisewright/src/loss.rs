//! The losses that tell data from noise (MATH §2), all as functions of the log ratio g, never of the ratio.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use noisewright_numerics::special::{ln_sigmoid, sigmoid, softplus};

use crate::{Error, Result};

/// A loss of one's own: its two terms and its weight, each a function of the log ratio
/// `g = log p − log p_n − log ν`.
///
/// The loss is `E_d data_term(g) + ν E_n noise_term(g)`, to be minimised. It is consistent when
/// `data_term'(g) = −w(g)` and `noise_term'(g) = w(g) e^g`.
pub trait LossFunction: Send + Sync {
    /// The term of a data point.
    fn data_term(&self, g: f64) -> f64;
    /// The term of a noise point.
    fn noise_term(&self, g: f64) -> f64;
    /// `log w(g)`.
    fn log_weight(&self, g: f64) -> f64;
    /// `d log w / d g`; a central difference by default.
    fn log_weight_slope(&self, g: f64) -> f64 {
        let step = 1e-5 * g.abs().max(1.0);
        (self.log_weight(g + step) - self.log_weight(g - step)) / (2.0 * step)
    }
    /// Name for reports.
    fn name(&self) -> String {
        "own".into()
    }
}

/// A loss of MATH §2.
///
/// ```
/// use noisewright::Loss;
/// let loss: Loss = "power:0.5".parse().unwrap();
/// // The squared Hellinger loss has half the weight of the power family's member at 1/2.
/// let g = 1.7;
/// assert!((loss.log_weight(g) - Loss::Hellinger.log_weight(g) - 2f64.ln()).abs() < 1e-15);
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Loss {
    /// Jensen–Shannon: logistic regression, what is usually called NCE. The best of all for a given noise when the
    /// constant is estimated.
    #[default]
    Js,
    /// JS with a ratio M inside the loss that is not ν (MATH §8), made by [`Loss::with_ratio`]:
    /// `E_d softplus(−g_M) + M E_n softplus(g_M)` with `g_M = g + log_shift`, `log_shift = ln(ν/M)`.
    JsRatio {
        /// `ln(ν/M)`.
        log_shift: f64,
    },
    /// Kullback–Leibler: maximum likelihood with an importance-sampled normalizer.
    Kl,
    /// Reverse Kullback–Leibler.
    ReverseKl,
    /// Squared Hellinger.
    Hellinger,
    /// Pearson χ²: least-squares fit of the ratio.
    Pearson,
    /// Brier's score, `E_d (1 − σ(g))² + ν E_n σ(g)²` (MATH §10): its weight `2r/(1+r)³` vanishes where the model expects no data,
    /// so that outliers do not count, and where it expects no noise. Not convex.
    Brier,
    /// The power family: weight `r^{−a}`; a = 0, ½, 1, −1 are KL, squared Hellinger, reverse KL, Pearson.
    Power(f64),
    /// A loss of one's own.
    Own(Arc<dyn LossFunction>),
}

impl Loss {
    /// A loss from a convex function φ of the ratio and its first two derivatives.
    ///
    /// ```
    /// use noisewright::Loss;
    /// let kl = Loss::from_phi(|r| r * r.ln(), |r| r.ln() + 1.0, |r| 1.0 / r);
    /// assert!((kl.log_weight(0.3) - Loss::Kl.log_weight(0.3)).abs() < 1e-14);
    /// ```
    pub fn from_phi(
        phi: impl Fn(f64) -> f64 + Send + Sync + 'static,
        first: impl Fn(f64) -> f64 + Send + Sync + 'static,
        second: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self::Own(Arc::new(Phi { phi, first, second }))
    }

    /// The loss with the ratio M inside, for ν noise points per data point (MATH §8). M = ν leaves JS as it is, M = ∞ is KL.
    ///
    /// ```
    /// use noisewright::Loss;
    /// // w_M = 1/(1 + p/(M p_n)): at p = p_n, ν = 1 and M = 3 it is 3/4.
    /// let loss = Loss::Js.with_ratio(3.0, 1.0)?;
    /// assert!((loss.log_weight(0.0) - 0.75f64.ln()).abs() < 1e-15);
    /// assert!(Loss::Kl.with_ratio(3.0, 1.0).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When M is not positive, or the loss is another than JS, which has no such ratio.
    pub fn with_ratio(&self, ratio: f64, nu: f64) -> Result<Self> {
        if ratio.is_nan() || ratio <= 0.0 {
            return Err(Error::range("loss_ratio", "a positive number", ratio));
        }
        if !self.is_js() {
            let reason = format!("belongs to the loss js, and {self} has none: leave one of them out");
            return Err(Error::option("loss_ratio", reason));
        }
        let log_shift = nu.ln() - ratio.ln();
        Ok(match ratio {
            f64::INFINITY => Self::Kl,
            _ if log_shift == 0.0 => Self::Js,
            _ => Self::JsRatio { log_shift },
        })
    }

    /// The loss with the same ratio inside at another ν, where it has one apart from ν.
    pub(crate) fn at_other_nu(&self, from: f64, to: f64) -> Self {
        match self {
            Self::JsRatio { log_shift } => Self::JsRatio { log_shift: log_shift + to.ln() - from.ln() },
            other => other.clone(),
        }
    }

    /// Whether it is JS, with any ratio inside.
    #[must_use]
    pub fn is_js(&self) -> bool {
        matches!(self, Self::Js | Self::JsRatio { .. })
    }

    /// Compares the terms of a loss of one's own with its weight: they must have the derivatives −w and w r that the
    /// weight says, as φ, φ′ and φ″ that belong together give. What is not a number is for the fit to find and to name.
    pub(crate) fn check(&self) -> Result<()> {
        const STEP: f64 = 1e-5;
        const PLACES: [f64; 5] = [-2.0, -1.0, 0.1, 1.0, 2.0];
        let Self::Own(own) = self else { return Ok(()) };
        let slope = |f: &dyn Fn(f64) -> f64, g: f64| (f(g + STEP) - f(g - STEP)) / (2.0 * STEP);
        for g in PLACES {
            let weight = own.log_weight(g).exp();
            let pairs = [
                (slope(&|g| own.data_term(g), g), -weight),
                (slope(&|g| own.noise_term(g), g), weight * g.exp()),
            ];
            // Differences of smooth functions are good to 1e-9 here.
            let apart =
                |(found, expected): &(f64, f64)| (found - expected).abs() > 1e-4 * (1.0 + expected.abs());
            if let Some((found, expected)) = pairs.iter().find(|pair| apart(pair)) {
                let reason = format!(
                    "has terms that do not belong to its weight: at the ratio r = {:.3} a term changes by {found:.6} where \
                     the weight says {expected:.6}; check that φ′ and φ″ are the derivatives of φ",
                    g.exp()
                );
                return Err(Error::option("loss", reason));
            }
        }
        Ok(())
    }

    /// `log w` at the log ratio `g`.
    #[must_use]
    pub fn log_weight(&self, g: f64) -> f64 {
        match self {
            Self::Js => ln_sigmoid(-g),
            Self::JsRatio { log_shift } => ln_sigmoid(-g - log_shift),
            Self::Kl => 0.0,
            Self::ReverseKl => -g,
            Self::Hellinger => -0.5 * g - std::f64::consts::LN_2,
            Self::Pearson => g,
            Self::Brier => std::f64::consts::LN_2 + g - 3.0 * softplus(g),
            Self::Power(a) => -a * g,
            Self::Own(own) => own.log_weight(g),
        }
    }

    /// `d log w / d g`, which the second derivative of the loss needs.
    #[must_use]
    pub fn log_weight_slope(&self, g: f64) -> f64 {
        match self {
            Self::Js => -sigmoid(g),
            Self::JsRatio { log_shift } => -sigmoid(g + log_shift),
            Self::Kl => 0.0,
            Self::ReverseKl => -1.0,
            Self::Hellinger => -0.5,
            Self::Pearson => 1.0,
            Self::Brier => 1.0 - 3.0 * sigmoid(g),
            Self::Power(a) => -a,
            Self::Own(own) => own.log_weight_slope(g),
        }
    }

    /// The term of a data point at the log ratio `g`.
    #[must_use]
    pub fn data_term(&self, g: f64) -> f64 {
        match self {
            Self::Js => softplus(-g),
            Self::JsRatio { log_shift } => softplus(-g - log_shift),
            Self::Hellinger => (-0.5 * g).exp(),
            Self::Brier => sigmoid(-g).powi(2),
            Self::Own(own) => own.data_term(g),
            Self::Kl | Self::ReverseKl | Self::Pearson | Self::Power(_) => {
                let a = self.exponent();
                if a == 0.0 { -g } else { (-a * g).exp() / a }
            }
        }
    }

    /// The term of a noise point at the log ratio `g`.
    #[must_use]
    pub fn noise_term(&self, g: f64) -> f64 {
        match self {
            Self::Js => softplus(g),
            Self::JsRatio { log_shift } => (-log_shift).exp() * softplus(g + log_shift),
            Self::Hellinger => (0.5 * g).exp(),
            Self::Brier => sigmoid(g).powi(2),
            Self::Own(own) => own.noise_term(g),
            Self::Kl | Self::ReverseKl | Self::Pearson | Self::Power(_) => {
                let b = 1.0 - self.exponent();
                if b == 0.0 { g } else { (b * g).exp() / b }
            }
        }
    }

    /// `log(p_dˢ wᵗ rᵘ)` from `log p_d` and `log(ν p_n)`.
    ///
    /// Far out both logarithms are huge and all digits may cancel, as in p_d·r^{−1} = ν p_n. So the weight is taken
    /// as the power of the ratio that it is there, and the powers of the two densities are added up first.
    pub(crate) fn log_product(&self, log_density: f64, log_noise: f64, [s, t, u]: [f64; 3]) -> f64 {
        if log_density == f64::NEG_INFINITY {
            return log_density;
        }
        let (a, log_factor) = self.power_at(log_density - log_noise);
        let of_density = s + u - a * t;
        let of_noise = a * t - u;
        t * log_factor + of_density * log_density + of_noise * log_noise
    }

    /// The weight near g as `e^k r^{−a}`: (a, k).
    fn power_at(&self, g: f64) -> (f64, f64) {
        /// Beyond it a loss of one's own is taken for the power that it is there.
        const FAR: f64 = 1e4;
        match self {
            Self::Js if g > 0.0 => (1.0, -softplus(-g)),
            Self::Js => (0.0, -softplus(g)),
            Self::JsRatio { log_shift } if g + log_shift > 0.0 => {
                (1.0, -log_shift - softplus(-g - log_shift))
            }
            Self::JsRatio { log_shift } => (0.0, -softplus(g + log_shift)),
            Self::Hellinger => (0.5, -std::f64::consts::LN_2),
            Self::Brier if g > 0.0 => (2.0, std::f64::consts::LN_2 - 3.0 * softplus(-g)),
            Self::Brier => (-1.0, std::f64::consts::LN_2 - 3.0 * softplus(g)),
            Self::Own(own) if g.abs() <= FAR => (0.0, own.log_weight(g)),
            Self::Own(own) => {
                let edge = FAR.copysign(g);
                let a = simple(-own.log_weight_slope(edge));
                (a, own.log_weight(edge) + a * edge)
            }
            _ => (self.exponent(), 0.0),
        }
    }

    /// The power of the inverse ratio that the weight grows with where the ratio is small; zero where it is bounded.
    pub(crate) fn inverse_power(&self) -> f64 {
        match self {
            Self::Own(_) => self.power_at(-1e5).0,
            _ => self.exponent(),
        }
    }

    /// The exponent in the power family.
    fn exponent(&self) -> f64 {
        match self {
            Self::ReverseKl => 1.0,
            Self::Hellinger => 0.5,
            Self::Pearson => -1.0,
            Self::Power(a) => *a,
            // What is left for `inverse_power`: bounded weights.
            Self::Kl | Self::Js | Self::JsRatio { .. } | Self::Brier | Self::Own(_) => 0.0,
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Js | Self::JsRatio { .. } => f.write_str("js"),
            Self::Kl => f.write_str("kl"),
            Self::ReverseKl => f.write_str("reverse-kl"),
            Self::Hellinger => f.write_str("hellinger"),
            Self::Pearson => f.write_str("pearson"),
            Self::Brier => f.write_str("brier"),
            Self::Power(a) => write!(f, "power:{a}"),
            Self::Own(own) => f.write_str(&own.name()),
        }
    }
}

impl fmt::Debug for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loss({self})")
    }
}

impl FromStr for Loss {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownLoss { name: text.into() };
        Ok(match text {
            "js" => Self::Js,
            "kl" => Self::Kl,
            "reverse-kl" => Self::ReverseKl,
            "hellinger" => Self::Hellinger,
            "pearson" => Self::Pearson,
            "brier" => Self::Brier,
            _ => {
                let exponent = text.strip_prefix("power:").ok_or_else(unknown)?;
                let exponent: f64 = exponent.trim().parse().map_err(|_| unknown())?;
                if !exponent.is_finite() {
                    return Err(unknown());
                }
                Self::Power(exponent)
            }
        })
    }
}

/// The simple fraction that a measured exponent is meant to be: far out its rounding would be multiplied by numbers
/// beyond all bounds.
fn simple(exponent: f64) -> f64 {
    const DENOMINATOR: f64 = 720.0;
    let nearest = (exponent * DENOMINATOR).round() / DENOMINATOR;
    if (nearest - exponent).abs() < 1e-7 { nearest } else { exponent }
}

struct Phi<A, B, C> {
    phi: A,
    first: B,
    second: C,
}

impl<A, B, C> LossFunction for Phi<A, B, C>
where
    A: Fn(f64) -> f64 + Send + Sync,
    B: Fn(f64) -> f64 + Send + Sync,
    C: Fn(f64) -> f64 + Send + Sync,
{
    fn data_term(&self, g: f64) -> f64 {
        -(self.first)(g.exp())
    }

    fn noise_term(&self, g: f64) -> f64 {
        let r = g.exp();
        r * (self.first)(r) - (self.phi)(r)
    }

    /// Beyond `|g| = FAR`, where powers of the ratio overflow, the weight goes on as the power of the ratio that it
    /// is there.
    fn log_weight(&self, g: f64) -> f64 {
        const FAR: f64 = 200.0;
        let near = |g: f64| g + (self.second)(g.exp()).ln();
        if g.abs() <= FAR {
            return near(g);
        }
        let edge = FAR.copysign(g);
        let slope = near(edge) - near(edge - 1.0);
        near(edge) + slope * (g - edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> Vec<Loss> {
        let own =
            Loss::from_phi(|r| (1.0 - r.sqrt()).powi(2), |r| 1.0 - 1.0 / r.sqrt(), |r| 0.5 * r.powf(-1.5));
        let power = [0.3, -0.7, 1.0, 0.0].map(Loss::Power);
        let ratio = |m: f64| Loss::Js.with_ratio(m, 0.5).unwrap();
        let named = [
            ratio(0.05),
            ratio(10.0),
            Loss::Js,
            Loss::Kl,
            Loss::ReverseKl,
            Loss::Hellinger,
            Loss::Pearson,
            Loss::Brier,
            own,
        ];
        named.into_iter().chain(power).collect()
    }

    proptest! {
        #[test]
        fn the_terms_have_the_derivatives_that_the_weight_says(g in -6.0..6.0f64) {
            for loss in all() {
                let step = 1e-5;
                let slope = |f: &dyn Fn(f64) -> f64| (f(g + step) - f(g - step)) / (2.0 * step);
                let weight = loss.log_weight(g).exp();
                let data = slope(&|x| loss.data_term(x));
                let noise = slope(&|x| loss.noise_term(x));
                prop_assert!((data + weight).abs() < 1e-8 * (1.0 + weight), "{loss} data");
                let expected = weight * g.exp();
                prop_assert!((noise - expected).abs() < 1e-8 * (1.0 + expected), "{loss} noise");
                let weight_slope = slope(&|x| loss.log_weight(x));
                prop_assert!((weight_slope - loss.log_weight_slope(g)).abs() < 1e-8, "{loss} slope");
            }
        }
    }

    #[test]
    fn names_round_trip_and_others_are_refused() {
        for name in ["js", "kl", "reverse-kl", "hellinger", "pearson", "brier", "power:0.25", "power:-1"] {
            assert_eq!(name.parse::<Loss>().unwrap().to_string(), name);
        }
        for bad in ["", "JS", "power", "power:", "power:x", "power:inf", "power:nan"] {
            assert!(bad.parse::<Loss>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_own_phi_keeps_its_power_where_the_ratio_overflows() {
        let own = Loss::from_phi(|r| -r.ln(), |r| -1.0 / r, |r| 1.0 / (r * r));
        for g in [-1e5, -800.0, -150.0, 150.0, 800.0, 1e5] {
            assert!((own.log_weight(g) - Loss::ReverseKl.log_weight(g)).abs() <= 1e-10 * g.abs(), "{g}");
        }
    }

    #[test]
    fn products_keep_their_digits_where_the_densities_have_none_left() {
        // p_d w²(1 + r) of Hellinger is (p_d + ν p_n)/4, and of reverse KL ν p_n (1 + 1/r).
        let (log_density, log_noise) = (-1e20, -37.25);
        let of = |loss: &Loss| loss.log_product(log_density, log_noise, [1.0, 2.0, 0.0]);
        assert!((of(&Loss::Hellinger) + 37.25 + 4f64.ln()).abs() < 1e-13);
        let own =
            Loss::from_phi(|r| (1.0 - r.sqrt()).powi(2), |r| 1.0 - 1.0 / r.sqrt(), |r| 0.5 * r.powf(-1.5));
        assert!((own.log_product(-1e6, log_noise, [1.0, 2.0, 0.0]) + 37.25 + 4f64.ln()).abs() < 1e-6);
        for loss in all() {
            assert_eq!(loss.log_product(log_density, log_noise, [0.5, 0.0, -0.5]), 0.5 * log_noise, "{loss}");
        }
    }

    proptest! {
        #[test]
        fn products_are_what_the_weight_says(d in -50.0..5.0f64, n in -50.0..5.0f64, s in 0.0..2.0f64, u in -1.0..1.0f64) {
            for loss in all() {
                for t in [0.0, 1.0, 2.0] {
                    let plain = s * d + t * loss.log_weight(d - n) + u * (d - n);
                    let found = loss.log_product(d, n, [s, t, u]);
                    prop_assert!((found - plain).abs() < 1e-10 * (1.0 + plain.abs()), "{loss}: {found} {plain}");
                }
            }
        }
    }

    #[test]
    fn far_out_ratios_stay_in_the_log_domain() {
        assert_eq!(Loss::Js.log_weight(1e8), -1e8);
        assert_eq!(Loss::Js.data_term(-800.0), 800.0);
        assert_eq!(Loss::Js.noise_term(-1e5), 0.0);
    }
}
