//! The delta method and Wald's tests against closed forms of the Gaussian.

use super::*;

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1e-300), "{a} {b}");
}

#[test]
fn the_mean_of_a_gaussian_has_the_error_of_a_mean() {
    let data = rows(1.5, 0.8, 400, 1);
    let (mean, variance) = moments(&data);
    let fit = exact(&gaussian(), &data);
    let derived = fit.derive("mean = m/p").unwrap();
    assert_eq!(derived.name, "mean");
    close(derived.estimate, mean, 1e-8);
    // Model-based errors are J⁻¹/n, which the delta method carries over exactly: σ²/n for the mean, 2σ⁴/n for the variance.
    close(derived.se, (variance / 400.0).sqrt(), 1e-6);
    close(fit.derive("1/p").unwrap().se, variance * (2.0 / 400.0_f64).sqrt(), 1e-6);
}

#[test]
fn the_constant_is_one_of_the_unknowns() {
    let fit = exact(&gaussian(), &rows(1.0, 1.0, 300, 2));
    // log Z − m²/2p + ½ log p is ½ log 2π whatever the parameters, so it has no error.
    let nothing = fit.derive("log_normalizer - m^2/(2*p) + log(p)/2").unwrap();
    close(nothing.estimate, 0.5 * std::f64::consts::TAU.ln(), 1e-8);
    assert!(nothing.se < 1e-6 * fit.get("m").unwrap().se, "{}", nothing.se);
}

#[test]
fn names_that_are_no_names_stand_between_backquotes() {
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let data = rows(0.5, 1.0, 300, 3);
    let fit = exact(&model, &data);
    let mean = fit.derive("-`x`/(2*`x^2`)").unwrap();
    close(mean.estimate, moments(&data).0, 1e-7);
    // Without quotes x^2 would be the square of the parameter x.
    assert_eq!(fit.derive("x^2/x").unwrap_err().code(), "option-unfit");
    assert_eq!(fit.derive("`x^3`").unwrap_err().code(), "unknown-parameter");
    // One of them alone is not enough, and nobody is told of names that are not the model's.
    let half = fit.derive("`x^2`/x").unwrap_err().to_string();
    assert!(half.contains("between backquotes"), "{half}");
    let other = fit.derive("`x^2`/zz").unwrap_err().to_string();
    assert!(other.contains("`zz` is not a parameter") && !other.contains("unknown_"), "{other}");
}

#[test]
fn formulas_that_cannot_be_are_refused() {
    let fit = exact(&gaussian(), &rows(0.0, 1.0, 100, 4));
    let code = |text: &str| fit.derive(text).unwrap_err().code();
    assert_eq!(code("r = q/m"), "formula");
    assert_eq!(code("m/"), "formula");
    assert_eq!(code("= m"), "option-unfit");
    assert_eq!(code("log(-p)"), "option-unfit");
    assert_eq!(fit.wald(&["m = 0", "2*m = 0"]).unwrap_err().code(), "option-unfit");
    assert_eq!(fit.wald::<&str>(&[]).unwrap_err().code(), "option-unfit");
}

#[test]
fn one_hypothesis_is_the_square_of_its_z() {
    let fit = exact(&gaussian(), &rows(0.2, 1.0, 50, 5));
    let m = fit.get("m").unwrap();
    let test = fit.wald(&["m = 0"]).unwrap();
    close(test.statistic, (m.estimate / m.se).powi(2), 1e-10);
    assert_eq!((test.degrees, test.hypotheses), (1, vec!["m = 0".to_owned()]));
    // The p-value is 5 % where the end of the interval is: the quantiles are the same.
    let at_end = fit.wald(&[format!("m = {}", m.upper)]).unwrap();
    close(at_end.p_value, 0.05, 1e-6);
}

#[test]
fn p_values_are_uniform_where_the_hypotheses_hold() {
    // Mean and precision 1: m = 1 and p = 1 both hold.
    let p_value = |seed: u64| {
        exact(&gaussian(), &rows(1.0, 1.0, 400, 100 + seed)).wald(&["m = p", "p = 1"]).unwrap().p_value
    };
    let far = kolmogorov((0..200).map(p_value).collect());
    assert!(far < 1.95, "{far}");
}
