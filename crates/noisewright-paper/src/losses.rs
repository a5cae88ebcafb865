//! The paper's losses as functions of the parameter: what table 1 and its erratum look at.

use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{Loss, Model, Noise, Normal, Population, Precision, Result, Target};

use crate::toy::Toy;

/// The case in which the losses are compared: a Gaussian's mean at 0, noise N(0.5, 1.2), ν = 1.
pub(crate) const NOISE: (f64, f64) = (0.5, 1.2);

/// A row of table 1.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) loss: Loss,
    pub(crate) generator: &'static str,
    /// To be minimised.
    pub(crate) formula: &'static str,
    pub(crate) weight: &'static str,
    /// +1 where the paper prints this function, −1 where it prints its negative.
    pub(crate) printed_sign: f64,
}

pub(crate) const ROWS: [Row; 4] = [
    Row {
        name: "revKL",
        loss: Loss::ReverseKl,
        generator: "−log r",
        formula: "E_d 1/r + ν E_n log r",
        weight: "1/r",
        printed_sign: -1.0,
    },
    Row {
        name: "JS",
        loss: Loss::Js,
        generator: "r log r − (1+r) log((1+r)/2)",
        formula: "E_d log(1 + 1/r) + ν E_n log(1 + r)",
        weight: "1/(1 + r)",
        printed_sign: -1.0,
    },
    Row {
        name: "KL",
        loss: Loss::Kl,
        generator: "r log r",
        formula: "−E_d log r + ν E_n r",
        weight: "1",
        printed_sign: -1.0,
    },
    Row {
        name: "H²",
        loss: Loss::Hellinger,
        generator: "(1 − √r)²",
        formula: "E_d 1/√r + ν E_n √r",
        weight: "1/(2√r)",
        printed_sign: 1.0,
    },
];

/// The population loss around the truth, and the error of its minimiser.
pub(crate) struct Around {
    /// Slope at the truth over the size of the two terms that cancel in it.
    pub(crate) slope: f64,
    pub(crate) curvature: f64,
    /// T·MSE.
    pub(crate) error: f64,
}

pub(crate) fn around(loss: &Loss) -> Result<Around> {
    let model = Toy::Mean.model(true)?;
    let noise = Normal::with_variance(NOISE.0, NOISE.1)?;
    let contrast = Contrast { noise: &noise, nu: 1.0, loss };
    let precision = Precision::default();
    let population = Population::for_contrast(&model, &[0.0], contrast, &precision)?;
    const STEP: f64 = 1e-3;
    let [left, middle, right] = [-STEP, 0.0, STEP].map(|m| value(&model, &noise, loss, &population, m));
    let (left, middle, right) = (left?, middle?, right?);
    let error = asymptotic_error(&model, &[0.0], contrast, &Target::Mse, &precision)?.error;
    Ok(Around {
        slope: (right - left) / (2.0 * STEP),
        curvature: (right - 2.0 * middle + left) / (STEP * STEP),
        error,
    })
}

/// `E_d S_d(g) + E_n S_n(g)` at the mean m, with both expectations on the nodes of the data.
fn value(model: &Model, noise: &Normal, loss: &Loss, population: &Population, m: f64) -> Result<f64> {
    let points = population.points().view();
    let (mut log_model, mut log_noise) = (vec![0.0; points.rows()], vec![0.0; points.rows()]);
    model.evaluate(&[m], points, &mut log_model, None)?;
    noise.log_density(points, &mut log_noise);
    let terms = (0..points.rows()).map(|i| {
        let weight = population.log_weights()[i];
        let g = log_model[i] - log_noise[i];
        let noise_weight = (weight + log_noise[i] - population.log_density()[i]).exp();
        weight.exp() * loss.data_term(g) + noise_weight * loss.noise_term(g)
    });
    Ok(terms.sum())
}
