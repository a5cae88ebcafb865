//! Offsets, terms without a parameter: features with one against the formula that says the same, and exposures of counts against the
//! equations of Poisson regression.

use nalgebra::{DMatrix, DVector};
use noisewright::fit::FitMethod;
use noisewright::prelude::*;

const HEAD: &str = "variables = ['y']\ncovariates = ['z', 't']\ndomain = { y = 'counts' }\n";

/// Counts y over times t at the rate exp(b0 + b1 z), as features beside an offset.
fn with_offset() -> Model {
    let text = "features = ['y', 'y*z']\noffset = 'y*log(t) - lgamma(y + 1)'\n[parameters]\nb0 = 0\nb1 = 0";
    Model::from_toml(&format!("{HEAD}{text}")).unwrap()
}

/// The same as one formula.
fn written() -> Model {
    let text = "log_density = 'y*log(t) - lgamma(y + 1) + b0*y + b1*(y*z)'\n[parameters]\nb0 = 0\nb1 = 0";
    Model::from_toml(&format!("{HEAD}{text}")).unwrap()
}

/// Counts at the rate exp(−0.5 + 0.8 z) over times of 1 to 7, by Knuth's method.
fn counts(rows: usize) -> Points {
    let uniforms = sample(&Uniform::new(0.0, 1.0).unwrap(), rows * 64, 5);
    let z: Vec<f64> = (0..rows).map(|i| (i % 5) as f64 / 4.0).collect();
    let t: Vec<f64> = (0..rows).map(|i| 1.0 + (i % 7) as f64).collect();
    let count = |i: usize| {
        let mut left = t[i] * (-0.5 + 0.8 * z[i]).exp();
        let own = &uniforms.values()[i * 64..(i + 1) * 64];
        own.iter()
            .take_while(|u| {
                left += u.ln();
                left > 0.0
            })
            .count() as f64
    };
    Points::from_columns(&["y", "z", "t"], &[(0..rows).map(count).collect(), z, t]).unwrap()
}

#[test]
fn features_with_an_offset_are_the_formula() {
    let data = counts(150);
    let (one, other) = (with_offset(), written());
    assert!(one.energy().is_linear() && other.energy().is_linear());
    let theta = [0.3, -0.7];
    let (mut values, mut scores) = ([vec![0.0; 150], vec![0.0; 150]], [vec![0.0; 300], vec![0.0; 300]]);
    for ((model, value), score) in [&one, &other].into_iter().zip(&mut values).zip(&mut scores) {
        model.evaluate(&theta, data.view(), value, Some(score)).unwrap();
    }
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs());
    assert!(close(&values[0], &values[1]) && close(&scores[0], &scores[1]));
    for exact in [true, false] {
        let fit = |model: &Model| {
            let fit = model.fit(&data).seed(2);
            if exact { fit.exact() } else { fit.choices(12) }.run().unwrap()
        };
        let (one, other) = (fit(&one), fit(&other));
        assert!((one.loss / other.loss - 1.0).abs() < 1e-12, "{} {}", one.loss, other.loss);
        for (a, b) in one.parameters.iter().zip(&other.parameters) {
            assert!((a.estimate / b.estimate - 1.0).abs() < 1e-10, "{a:?} {b:?}");
            assert!((a.se / b.se - 1.0).abs() < 1e-10, "{a:?} {b:?}");
        }
    }
}

/// The equations of Poisson regression with exposures, `Σ (y − t e^{b0 + b1 z}) (1, z) = 0`, and its robust variance HC2, in which the
/// square of a residual is divided by one less the hat value `t e^{b0 + b1 z} xᵀ I⁻¹ x`.
#[test]
fn exposures_are_offsets_and_errors_are_those_of_hc2() {
    let data = counts(60);
    let fit = with_offset().fit(&data).exact().run().unwrap();
    let theta = fit.theta();
    let view = data.view();
    let rows = (0..60).map(|i| {
        let (x, mean) = (
            DVector::from_vec(vec![1.0, view.get(i, 1)]),
            view.get(i, 2) * (theta[0] + theta[1] * view.get(i, 1)).exp(),
        );
        (x, mean, view.get(i, 0) - mean)
    });
    let rows: Vec<_> = rows.collect();
    let equations = rows.iter().fold(DVector::zeros(2), |sum, (x, _, off)| sum + x * *off);
    // Relative to the largest sum of one sign: the fit is by far nearer to the root than a thousandth of a standard error.
    let size: f64 = rows.iter().map(|(_, mean, _)| mean).sum();
    assert!(equations.amax() < 1e-6 * size, "{equations}");
    let information =
        rows.iter().fold(DMatrix::zeros(2, 2), |sum, (x, mean, _)| sum + x * x.transpose() * *mean);
    let inverse = information.try_inverse().unwrap();
    let meat = rows.iter().fold(DMatrix::zeros(2, 2), |sum, (x, mean, off)| {
        let hat = mean * x.dot(&(&inverse * x));
        sum + x * x.transpose() * (off * off / (1.0 - hat))
    });
    let variance = &inverse * meat * &inverse;
    for (j, estimate) in fit.parameters.iter().enumerate() {
        // log Z is a sum over counts, good to ten digits.
        assert!((estimate.se / variance[(j, j)].sqrt() - 1.0).abs() < 1e-6, "{estimate:?} {variance}");
    }
}

/// With −x²/2 held as the offset the coefficient of x is the mean, by maximum likelihood and by score matching; against noise within
/// what the noise adds.
#[test]
fn an_offset_serves_every_way_to_fit() {
    let data = sample(&Normal::with_std(0.7, 1.0).unwrap(), 400, 9);
    let mean = data.values().iter().sum::<f64>() / 400.0;
    let space = || Space::real(&["x"]).unwrap();
    let model = Model::from_features_with_offset(&["x"], " -x^2/2 ", space(), vec![]).unwrap();
    let exact = model.fit(&data).exact().run().unwrap();
    // Newton's steps end a millionth of a standard error from the root, 1/20 here.
    assert!((exact.parameters[0].estimate - mean).abs() < 1e-6, "{exact:?}");
    let matched = model.fit(&data).method(FitMethod::ScoreMatching).run().unwrap();
    assert!((matched.parameters[0].estimate - mean).abs() < 1e-6, "{:?}", matched.parameters);
    let contrasted = model.fit(&data).ratio(10.0).seed(1).run().unwrap();
    let found = &contrasted.parameters[0];
    assert!((found.estimate - mean).abs() < 4.0 * found.se_noise + 1e-6, "{found:?} {mean}");
    // An offset beyond the density's support is a density of zero there.
    let half = Model::from_features_with_offset(&["x"], "log(x) - x^2", space(), vec![]);
    let mut value = [0.0];
    half.unwrap().evaluate(&[1.0], View::new(1, 1, &[0.0]), &mut value, None).unwrap();
    assert_eq!(value[0], f64::NEG_INFINITY);
}
