//! Fits of more rows than a search begins with: the answer of Newton's method on all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::{DMatrix, DVector};
use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, Source, Visit, fit_stream};
use noisewright::internal::fit::{fit, ratio};
use noisewright::parts::Draws;
use noisewright::{Model, Normal, Points, Result, Space, View, sample};

const FEATURES: [&str; 3] = ["x", "x^2", "cos(x)"];

fn row(x: f64) -> DVector<f64> {
    DVector::from_column_slice(&[x, x * x, x.cos(), -1.0])
}

/// Logistic regression by Newton's method, with the sandwich of the two classes: estimates and standard errors.
fn logistic(data: &[f64], noise: &[f64], offset: impl Fn(f64) -> f64) -> (DVector<f64>, DVector<f64>) {
    let nu = noise.len() as f64 / data.len() as f64;
    let mut at = DVector::zeros(4);
    let sums = |at: &DVector<f64>| {
        let (mut slope, mut bend) = (DVector::zeros(4), DMatrix::zeros(4, 4));
        let mut meat = DMatrix::zeros(4, 4);
        for (class, rows) in [(1.0, data), (0.0, noise)] {
            let (mut mean, mut squares) = (DVector::zeros(4), DMatrix::zeros(4, 4));
            for x in rows {
                let t = row(*x);
                let p = 1.0 / (1.0 + (nu.ln() - offset(*x) - at.dot(&t)).exp());
                slope += &t * (p - class);
                bend += &t * t.transpose() * (p * (1.0 - p));
                mean += &t * (p - class);
                squares += &t * t.transpose() * (p - class).powi(2);
            }
            meat += squares - &mean * mean.transpose() / rows.len() as f64;
        }
        (slope, bend, meat)
    };
    for _ in 0..60 {
        let (slope, bend, _) = sums(&at);
        let step = bend.cholesky().unwrap().solve(&slope);
        // Far from the minimum a whole step may lead anywhere.
        at -= &step * (0.3 / step.amax()).min(1.0);
    }
    let (_, bend, meat) = sums(&at);
    let inverse = bend.try_inverse().unwrap();
    let covariance = &inverse * meat * &inverse;
    (at, covariance.diagonal().map(f64::sqrt))
}

#[test]
fn many_rows_have_the_answer_of_newton_on_all() {
    let (data, noise) = (Normal::with_variance(0.3, 1.2).unwrap(), Normal::with_variance(0.0, 2.0).unwrap());
    let (data, drawn) = (sample(&data, 80_000, 1), sample(&noise, 60_000, 2));
    let model = Model::from_features(&FEATURES, Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let log_noise = |x: f64| -0.25 * x * x - 0.5 * (4.0 * std::f64::consts::PI).ln();
    let at = |points: &Points| points.view().column(0).iter().map(|x| log_noise(*x)).collect::<Vec<f64>>();
    let draws = Draws { log_density: at(&drawn), log_density_at_data: at(&data), points: drawn.clone() };
    let options = FitOptions { noise: NoiseChoice::Draws(Arc::new(draws)), ..FitOptions::default() };
    let contrast = fit(&model, Data::from(&data), &options).unwrap();
    let plain = ratio(&model, Data::from(&data), Data::from(&drawn), &FitOptions::default()).unwrap().fit;
    let (first, second) = (data.view().column(0), drawn.view().column(0));
    for (fit, known) in
        [(contrast, logistic(first, second, |x| -log_noise(x))), (plain, logistic(first, second, |_| 0.0))]
    {
        // HC2 divides the square a² of a row's influence by 1 − h, where h sums the squares z² of the row in k whitened directions. By
        // Cauchy and Schwarz Σz²a² ≤ √(Σz⁴Σa⁴), and of unit sums of squares Σa⁴ = 2/f + 1/n with f degrees of freedom.
        let least = fit.estimates().iter().map(|e| e.degrees_of_freedom).fold(f64::INFINITY, f64::min);
        let bound = fit.estimates().len() as f64 * (1.0 / least + 0.5 / 60_000.0);
        for (j, estimate) in fit.estimates().iter().enumerate() {
            assert!((estimate.estimate - known.0[j]).abs() < 1e-5 * known.1[j], "{estimate:?} {known:?}");
            assert!((estimate.se / known.1[j] - 1.0).abs() < bound, "{estimate:?} {known:?}");
        }
    }
}

/// Rows in memory that are read in blocks, and how often.
struct Counted<'p>(View<'p>, AtomicUsize);

impl Source for Counted<'_> {
    fn dimension(&self) -> usize {
        1
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let rows = self.0.rows();
        (0..rows)
            .step_by(10_000)
            .try_for_each(|start| visit(self.0.slice(start..rows.min(start + 10_000)), None))
    }
}

#[test]
fn a_long_stream_is_read_no_more_often_than_a_short_one_and_ends_as_in_memory() {
    let model = Model::from_features(&FEATURES, Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let noise = NoiseChoice::Given(Arc::new(Normal::with_variance(0.0, 2.0).unwrap()));
    let options = FitOptions { noise, amount: Amount::Ratio(1.0), ..FitOptions::default() };
    let readings = |rows: usize| {
        let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), rows, 5);
        let source = Counted(points.view(), AtomicUsize::new(0));
        let (streamed, memory) = (
            fit_stream(&model, &source, &options).unwrap(),
            fit(&model, Data::from(&points), &options).unwrap(),
        );
        for (a, b) in streamed.estimates().iter().zip(memory.estimates()) {
            assert!((a.estimate - b.estimate).abs() < 1e-5 * b.se, "{a:?} {b:?}");
            assert!((a.se / b.se - 1.0).abs() < 1e-6, "{a:?} {b:?}");
        }
        source.1.load(Ordering::Relaxed)
    };
    let (short, long) = (readings(300_000), readings(1_500_000));
    assert!(short <= 12 && long <= short + 1, "{short} and {long} readings");
}
