//! Claims about limits and about losses that hold under conditions which are not in print.

use noisewright::design::{DesignOptions, Ratio};
use noisewright::internal::design::design;
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{Loss, Normal, Precision, Result, Target};
use noisewright_report::format_number;
use serde_json::json;

use super::Erratum;
use crate::toy::Toy;

/// Few noise points beside the data's, where the limit can be told from what is near it.
const SCARCE: f64 = 1e-4;

/// The error × T of normal noise for a normalized toy model.
fn error_of(toy: Toy, mean: f64, variance: f64, nu: f64, loss: &Loss) -> Result<f64> {
    let noise = Normal::with_variance(mean, variance)?;
    let contrast = Contrast { noise: &noise, nu, loss };
    let precision = Precision::default();
    Ok(asymptotic_error(&toy.model(true)?, &[toy.standard()], contrast, &Target::Mse, &precision)?.error)
}

/// The smallest error of normal noise around a place, over its width: widths are tried on a logarithmic grid.
fn around(place: f64) -> Result<f64> {
    let widths = (0..=40).map(|i| 10f64.powf(-3.0 + 0.05 * f64::from(i)));
    let errors = widths.map(|width| error_of(Toy::Mean, place, width * width, SCARCE, &Loss::Js));
    errors.into_iter().try_fold(f64::INFINITY, |best, error| Ok(best.min(error?)))
}

/// The error of the exact optimum for the Gaussian mean.
fn exact(nu: f64, target: Target) -> Result<f64> {
    let options = DesignOptions { ratio: Ratio::Fixed(nu), target, ..DesignOptions::default() };
    Ok(design(&Toy::Mean.model(true)?, &[0.0], &options)?.error)
}

/// Where the best noise goes as noise becomes scarce.
///
/// A noise of width s around x leaves `s²ψ′²/(νψ⁴)` for the spread of the score and `1/(s p_d ψ²)` for its narrowness, up to
/// factors; the best s leaves `ν^(−1/3) (ψ′/(p_d ψ⁴))^(2/3)`, so that x maximises `p_d ψ⁴/|ψ′|`: 2 for a Gaussian mean.
pub(super) fn scarce_noise() -> Result<Erratum> {
    let (printed, right) = (around(2f64.sqrt())?, around(2.0)?);
    let growth = exact(0.1 * SCARCE, Target::Mse)? / exact(SCARCE, Target::Mse)?;
    Ok(Erratum {
        place: "Section 4.1, conjecture on the all-data limit, and section 5.3, model (a)",
        printed: "as ν → 0 the best noise sits on the maximisers of p_d ψ², ±√2 for a Gaussian mean.".into(),
        right: "on those of p_d ψ⁴/|ψ′|, ±2, and its error grows like ν^(−1/3).".into(),
        check: format!(
            "at ν = 0.0001 the best normal noise around √2 has the error {}, around 2 {}; a tenth of the noise makes the exact \
             optimum's error {} times as large, and 10^(1/3) is {}.",
            format_number(printed, 4),
            format_number(right, 4),
            format_number(growth, 4),
            format_number(10f64.cbrt(), 4)
        ),
        holds: right < 0.8 * printed && (growth / 10f64.cbrt() - 1.0).abs() < 0.1,
        values: json!({ "at_root_2": printed, "at_2": right, "growth": growth }),
    })
}

/// One parameter, two targets.
pub(super) fn one_parameter_one_optimum() -> Result<Erratum> {
    let (mse, kl) = (exact(0.01, Target::Mse)?, exact(0.01, Target::Kl)?);
    Ok(Erratum {
        place: "Sections 4.1 and 4.2, conjectures on the all-data limit",
        printed: "the best noises for the mean squared error and for the Kullback–Leibler divergence sit on the maximisers of p_d ψ² and of p_d |ψ|."
            .into(),
        right: "with one parameter the second error is the first times a constant, so that both have one optimum.".into(),
        check: format!(
            "the exact optima for the Gaussian mean at ν = 0.01 have the errors {} and {}, one twice the other.",
            format_number(mse, 6),
            format_number(kl, 6)
        ),
        holds: (mse / kl - 2.0).abs() < 1e-6,
        values: json!({ "mse": mse, "kl": kl }),
    })
}

/// The best of the losses.
pub(super) fn best_loss() -> Result<Erratum> {
    let of = |loss: Loss| error_of(Toy::Variance, 0.0, 0.6, 1.0, &loss);
    let (js, reverse) = (of(Loss::Js)?, of(Loss::ReverseKl)?);
    Ok(Erratum {
        place: "Section 2.5, on the loss",
        printed: "the logistic loss has the smallest error of its family.".into(),
        right: "with a free constant; a normalized model can do better with another.".into(),
        check: format!(
            "Gaussian variance 1, noise of variance 0.6, ν = 1: {} with JS, {} with reverse KL.",
            format_number(js, 6),
            format_number(reverse, 6)
        ),
        holds: reverse < 0.95 * js,
        values: json!({ "js": js, "reverse_kl": reverse }),
    })
}
