//! What is not a number is named: the model's density or score, the noise's draws or density, the loss.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::parts::Quantity;
use noisewright::{Energy, Error, Loss, Model, Noise, Normal, Parameter, Result, Space, View, sample};
use noisewright_numerics::random::Stream;

/// `m x − x²/2` with a fault of its score.
struct Faulty {
    score: f64,
}

impl Energy for Faulty {
    fn parameters(&self) -> Vec<String> {
        vec!["m".into()]
    }
    fn dimension(&self) -> usize {
        1
    }
    fn evaluate(
        &self,
        t: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let x = points.column(0);
        value.iter_mut().zip(x).for_each(|(v, x)| *v = t[0] * x - 0.5 * x * x);
        if let Some(score) = score {
            score.iter_mut().zip(x).for_each(|(s, x)| *s = if self.score == 1.0 { *x } else { self.score });
        }
        Ok(())
    }
}

fn model(score: f64) -> Model {
    Model::new(Arc::new(Faulty { score }), Space::real(&["x"]).unwrap(), vec![Parameter::new("m", 0.1)])
        .unwrap()
}

/// A normal noise with a fault of its draws or its density.
struct FaultyNoise {
    normal: Normal,
    draw: Option<f64>,
    density: Option<f64>,
}

impl Noise for FaultyNoise {
    fn dimension(&self) -> usize {
        1
    }
    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        self.normal.log_density(points, out);
        if let Some(density) = self.density {
            out.fill(density);
        }
    }
    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        Noise::draw(&self.normal, stream, rows, out);
        if let Some(draw) = self.draw {
            out[0] = draw;
        }
    }
    fn describe(&self) -> String {
        "faulty".into()
    }
}

fn noise(draw: Option<f64>, density: Option<f64>) -> FaultyNoise {
    FaultyNoise { normal: Normal::with_variance(0.0, 2.0).unwrap(), draw, density }
}

fn failure(model: &Model, noise: FaultyNoise, loss: Loss) -> Error {
    let data = sample(&Normal::with_variance(0.5, 1.0).unwrap(), 300, 1);
    let options = FitOptions {
        noise: NoiseChoice::Given(Arc::new(noise)),
        amount: Amount::Ratio(1.0),
        loss,
        ..FitOptions::default()
    };
    fit(model, Data::from(&data), &options).unwrap_err()
}

#[track_caller]
fn assert_names(error: &Error, wanted: Quantity) {
    assert!(matches!(error, Error::NotANumber { of, .. } if *of == wanted), "{wanted:?}: {error:?}");
}

#[test]
fn a_score_that_is_not_a_number_is_named() {
    for score in [f64::NAN, f64::INFINITY] {
        assert_names(&failure(&model(score), noise(None, None), Loss::Js), Quantity::Score);
    }
}

#[test]
fn a_noise_that_is_not_a_number_is_named() {
    assert_names(&failure(&model(1.0), noise(Some(f64::NAN), None), Loss::Js), Quantity::NoiseDraw);
    assert_names(&failure(&model(1.0), noise(None, Some(f64::NAN)), Loss::Js), Quantity::NoiseDensity);
}

#[test]
fn a_loss_that_is_not_a_number_is_named() {
    let nan = Loss::from_phi(|_| f64::NAN, |_| f64::NAN, |_| f64::NAN);
    // A concave φ has no weight: its logarithm is none.
    let concave = Loss::from_phi(|r| -r * r, |r| -2.0 * r, |_| -2.0);
    for loss in [nan, concave, Loss::Power(f64::NAN), Loss::Power(1e10)] {
        assert_names(&failure(&model(1.0), noise(None, None), loss), Quantity::Loss);
    }
}

#[test]
fn a_normalized_model_without_closed_form_says_so() {
    let error = model(1.0).normalized().unwrap_err();
    assert_eq!(error.code(), "model-field", "{error}");
    assert!(error.to_string().contains("closed form"), "{error}");
}
