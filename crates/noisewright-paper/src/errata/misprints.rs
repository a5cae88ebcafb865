//! Formulas that are printed wrongly.

use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::parts::Asymptotics;
use noisewright::{Loss, Normal, Population, Precision, Result, Target};
use noisewright_report::format_number;
use serde_json::json;

use super::Erratum;
use crate::losses::{ROWS, around};
use crate::toy::Toy;

/// The signs of table 1.
pub(super) fn signs_of_losses() -> Result<Erratum> {
    let mut words = Vec::new();
    let mut values = serde_json::Map::new();
    let mut holds = true;
    for row in &ROWS {
        let here = around(&row.loss)?;
        let printed = row.printed_sign * here.curvature;
        let kind = if printed > 0.0 { "minimum" } else { "maximum" };
        words.push(format!("{} {kind}", row.name));
        holds &= here.curvature > 0.0 && here.slope.abs() < 1e-5;
        values
            .insert(row.name.into(), json!({ "curvature": here.curvature, "curvature_as_printed": printed }));
    }
    Ok(Erratum {
        place: "Tables 1 and 2",
        printed: "four losses, to be minimised.".into(),
        right: "the rows of revKL, JS and KL are the negatives of losses, to be maximised; that of H² is to be minimised.".into(),
        check: format!(
            "what the printed function has at the truth, for a Gaussian's mean against N(0.5, 1.2): {}.",
            words.join(", ")
        ),
        holds,
        values: values.into(),
    })
}

/// I_v with w in the place of v.
pub(super) fn covariance_of_the_equation() -> Result<Erratum> {
    let model = Toy::Mean.model(true)?;
    let noise = Normal::with_variance(0.0, 1.0)?;
    let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Kl };
    let right = asymptotic_error(&model, &[0.0], contrast, &Target::Mse, &Precision::default())?.error;
    // For the KL loss w = 1, so that with I_v = E[wψψᵀ] the formula collapses to (1 + ν)(1/J − (1 + 1/ν) · 0).
    let population = Population::new(&model, &[0.0], &Precision::default())?;
    let printed = 2.0 / population.information()[(0, 0)];
    Ok(Erratum {
        place: "Appendix on the estimation error",
        printed: "I_v = E_d[w ψψᵀ]; the integrals of the next appendix lack the factor p_d(x).".into(),
        right:
            "I_v = E_d[v ψψᵀ] with v = w²(1 + r), as in the main text; the two agree for the JS loss only."
                .into(),
        check: format!(
            "a Gaussian's mean by the KL loss, noise equal to the data, ν = 1: the printed formula gives T·MSE = {}, as good as the \
             maximum-likelihood estimate; the right one gives {}, the value of every loss there.",
            format_number(printed, 4),
            format_number(right, 4)
        ),
        holds: (right - 4.0).abs() < 1e-9 && (printed - 2.0).abs() < 1e-9,
        values: json!({ "printed": printed, "right": right }),
    })
}

/// 1/Z in the place of Z.
pub(super) fn normalizers_of_toys() -> Result<Erratum> {
    let z = |toy: Toy, at: f64| -> Result<f64> {
        let population = Population::new(&toy.model(false)?, &[at], &Precision::default())?;
        Ok(population.log_normalizer().exp())
    };
    let tau = std::f64::consts::TAU;
    let right = [z(Toy::Mean, 0.0)?, z(Toy::Variance, 2.0)?, z(Toy::Correlation, 0.3)?];
    let printed = [1.0 / tau.sqrt(), 1.0 / (tau * 2.0).sqrt(), 1.0 / (tau * 0.91).sqrt()];
    let show = |values: &[f64]| values.iter().map(|v| format_number(*v, 5)).collect::<Vec<_>>().join(", ");
    let expected = [tau.sqrt(), (2.0 * tau).sqrt(), tau * 0.91f64.sqrt()];
    Ok(Erratum {
        place: "Table of toy models",
        printed: "Z = 1/√(2π), 1/√(2πθ), 1/√(2π(1 − θ²)).".into(),
        right: "Z = √(2π), √(2πθ), 2π√(1 − θ²): the table lists 1/Z, and the plane lacks a factor √(2π)."
            .into(),
        check: format!(
            "integrals of the unnormalized densities at θ = 0, 2 and 0.3: {}; the printed Z are {}.",
            show(&right),
            show(&printed)
        ),
        holds: right.iter().zip(&expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-8),
        values: json!({ "printed": printed, "right": right }),
    })
}

/// The score of the variance, a fourth power, and a matrix entry.
pub(super) fn variance_score() -> Result<Erratum> {
    let population = Population::new(&Toy::Variance.model(true)?, &[1.0], &Precision::default())?;
    let weights: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
    let x = population.points().view().column(0);
    let mean = |f: &dyn Fn(f64) -> f64| -> f64 { x.iter().zip(&weights).map(|(x, w)| w * f(*x)).sum() };
    let information = population.information()[(0, 0)];
    let printed = mean(&|x| (x * x - 1.0).powi(2));
    let entry = (mean(&|x| x.powi(4) - x * x + 1.0), mean(&|x| x.powi(4) - 2.0 * x * x + 1.0));
    Ok(Erratum {
        place: "Appendix on intractability",
        printed: "the score of the variance is x² − 1, its square x⁴ − x² + 1, and one exponent reads −x⁴/2."
            .into(),
        right: "the score is (x² − 1)/2, the square of x² − 1 is x⁴ − 2x² + 1, and the exponent is −x²/2."
            .into(),
        check: format!(
            "the mean square of a score is the Fisher information, here {}; the printed score has {}. The mean of \
             x⁴ − x² + 1 is {}, that of x⁴ − 2x² + 1 is {}, and that of (x² − 1)² is {}.",
            format_number(information, 5),
            format_number(printed, 5),
            format_number(entry.0, 5),
            format_number(entry.1, 5),
            format_number(printed, 5)
        ),
        holds: (information - 0.5).abs() < 1e-9 && (printed - 2.0).abs() < 1e-8,
        values: json!({ "printed": printed, "right": information, "entry_printed": entry.0, "entry_right": entry.1 }),
    })
}

/// The weight near the data.
pub(super) fn near_data_expansion() -> Result<Erratum> {
    let model = Toy::Mean.model(true)?;
    let population = Population::new(&model, &[0.0], &Precision::default())?;
    let log_noise = population.log_noise(&Normal::with_variance(0.0, 1.0)?)?;
    let nu = 3.0;
    let weight = Asymptotics::at(&population, &log_noise, nu, &Loss::Js)?.mean_weight;
    let (printed, right) = (1.0 / (1.0 + 1.0 / nu + 1.0), 1.0 / (1.0 + 1.0 / nu));
    Ok(Erratum {
        place: "Appendix, noise close to the data",
        printed: "w = 1/(1 + 1/ν + p_d/p_n).".into(),
        right: "w = 1/(1 + (1/ν) p_d/p_n).".into(),
        check: format!(
            "noise equal to the data, ν = 3: the mean weight is {}; the printed formula gives {}, the right one {}.",
            format_number(weight, 5),
            format_number(printed, 5),
            format_number(right, 5)
        ),
        holds: (weight - right).abs() < 1e-9,
        values: json!({ "printed": printed, "right": right, "computed": weight }),
    })
}
