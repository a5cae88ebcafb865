//! An energy that is asked for whole samples at once gives the same fit as one that is asked in portions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, fit};
use noisewright::{Energy, Model, Normal, Parameter, Result, Space, View, sample};

/// `−e^s (x − m)²/2`, with its second derivatives.
struct Bell {
    batches: bool,
    calls: AtomicUsize,
}

impl Energy for Bell {
    fn parameters(&self) -> Vec<String> {
        vec!["m".into(), "s".into()]
    }

    fn dimension(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        value: &mut [f64],
        mut score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let rows = points.rows();
        for (i, x) in points.column(0).iter().enumerate() {
            let (gap, scale) = (x - theta[0], theta[1].exp());
            value[i] = -0.5 * scale * gap * gap;
            if let Some(score) = score.as_deref_mut() {
                score[i] = scale * gap;
                score[rows + i] = -0.5 * scale * gap * gap;
            }
        }
        Ok(())
    }

    fn prefers_batches(&self) -> bool {
        self.batches
    }

    fn add_curvature(
        &self,
        theta: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        for (x, w) in points.column(0).iter().zip(weights) {
            let (gap, scale) = (x - theta[0], theta[1].exp());
            out[0] -= w * scale;
            out[1] += w * scale * gap;
            out[2] += w * scale * gap;
            out[3] -= 0.5 * w * scale * gap * gap;
        }
        Ok(true)
    }
}

#[test]
fn whole_samples_and_portions_give_the_same_fit() {
    let points = sample(&Normal::with_variance(0.3, 2.0).unwrap(), 30_000, 7);
    let fitted = |batches: bool| {
        let energy = Arc::new(Bell { batches, calls: AtomicUsize::new(0) });
        let parameters = vec![Parameter::new("m", 0.1), Parameter::new("s", 0.1)];
        let model = Model::new(energy.clone(), Space::real(&["x"]).unwrap(), parameters).unwrap();
        let noise = NoiseChoice::Given(Arc::new(Normal::with_variance(0.0, 4.0).unwrap()));
        // One start: looking for others asks about a few rows only, in portions or not.
        let options = FitOptions { noise, amount: Amount::Ratio(3.0), starts: 1, ..FitOptions::default() };
        let fit = fit(&model, Data::from(&points), &options).unwrap();
        (fit, energy.calls.load(Ordering::Relaxed))
    };
    let ((portions, many), (whole, few)) = (fitted(false), fitted(true));
    assert!(portions.converged && whole.converged);
    for (a, b) in portions.estimates().iter().zip(whole.estimates()) {
        assert!((a.estimate - b.estimate).abs() < 1e-9, "{} {}", a.estimate, b.estimate);
        assert!((a.se / b.se - 1.0).abs() < 1e-9, "{} {}", a.se, b.se);
    }
    // log Z = ½ log 2π − s/2.
    let (s, constant) = (whole.parameters[1].estimate, whole.log_normalizer.unwrap());
    let truth = 0.5 * std::f64::consts::TAU.ln() - 0.5 * s;
    assert!((constant.estimate - truth).abs() < 5.0 * constant.se_noise);
    assert!(few * 10 < many, "{few} calls instead of {many}");
}
