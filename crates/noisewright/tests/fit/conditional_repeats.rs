//! Bootstraps, profiles, cross-validation and penalties of conditional models.

use noisewright::fit::{CovarianceKind, IntervalKind, Penalty};
use noisewright::parts::Resampled;
use noisewright::prelude::*;

use crate::conditional::{conditional, freight, least_squares, line, on_a_line};

/// The profile of a sum of squares is a parabola: the interval of the likelihood ratio is the estimate ± 1.959964 standard errors.
#[test]
fn profiles_of_a_line_are_walds_intervals() {
    let data = on_a_line(200, 3);
    let (least, variances) = least_squares(&data);
    let fit = line().fit(&data).exact().interval(IntervalKind::Profile).run().unwrap();
    assert_eq!(fit.interval, IntervalKind::Profile);
    for ((e, least), variance) in fit.parameters.iter().zip(least).zip(variances) {
        let reach = 1.959_963_984_540_054 * variance.sqrt();
        assert!((e.lower - least + reach).abs() < 1e-5 && (e.upper - least - reach).abs() < 1e-5, "{e:?}");
    }
}

/// Far below the estimate the dispersion comes to its bound, from where searches do not come back: the interval once ended at the estimate.
#[test]
fn profiles_of_freight_end_where_the_likelihood_ratio_does() {
    let (model, data) = freight();
    let fit = |model: &Model| model.fit(&data).exact().interval(IntervalKind::Profile).run().unwrap();
    let whole = fit(&model);
    for name in ["b0", "b1", "dispersion"] {
        let found = whole.get(name).unwrap();
        for end in [found.lower, found.upper] {
            let held = fit(&model.clone().with_fixed(&[(name, end)]).unwrap());
            // The quantile of χ² at 95 % with one degree of freedom.
            let rise = 2.0 * (whole.log_likelihood.unwrap() - held.log_likelihood.unwrap());
            assert!((rise / 3.841_458_820_694_124 - 1.0).abs() < 1e-4, "{name} = {end}: {rise}");
        }
    }
}

/// The profile of a ranking loss is scaled to the variance of the estimate: of 2,000 rows it is next to a parabola, whose ends are
/// Wald's.
#[test]
fn profiles_of_rankings_have_the_width_of_walds_intervals() {
    let data = on_a_line(2000, 3);
    let fit = |interval: IntervalKind| line().fit(&data).choices(8).interval(interval).run().unwrap();
    let (profile, wald) = (fit(IntervalKind::Profile), fit(IntervalKind::Wald));
    for (one, other) in profile.parameters.iter().zip(&wald.parameters) {
        assert_eq!((one.estimate, one.se), (other.estimate, other.se));
        let width = (one.upper - one.lower) / (other.upper - other.lower);
        assert!((width - 1.0).abs() < 0.02 && one.lower != other.lower, "{width}");
    }
}

/// The bootstrap of least squares is that of the sandwich: 200 samples know a standard deviation to 5 %, and 300 rows the
/// sandwich to about as much; four of both together.
#[test]
#[ignore = "long: ./test.sh --all"]
fn bootstraps_have_the_spread_of_the_sandwich() {
    let data = on_a_line(300, 5);
    for exact in [true, false] {
        let model = line();
        let ask = model.fit(&data).bootstrap(200).seed(1);
        let fit = if exact { ask.exact() } else { ask.choices(15) }.run().unwrap();
        let bootstrap = fit.bootstrap.as_ref().unwrap();
        assert_eq!((bootstrap.unit, bootstrap.failed), (Resampled::Rows, 0));
        for (e, (name, b)) in fit.parameters.iter().zip(&bootstrap.estimates) {
            assert_eq!(&e.name, name);
            assert!(
                (b.se / e.se - 1.0).abs() < 4.0 * (2.0 * 0.05_f64.powi(2)).sqrt(),
                "{exact}: {b:?} {e:?}"
            );
        }
    }
}

/// Held-out log-densities of a line are −½ log 2π − ½ (residual)², the residual that of least squares without the fold.
#[test]
fn held_out_rows_have_the_density_of_the_other_rows_fit() {
    let data = on_a_line(60, 2);
    let fit = line().fit(&data).exact().cross_validate(6).run().unwrap();
    let held_out = fit.held_out.as_ref().unwrap();
    // Leave-one-out residuals by leverages bound what any ten held-out rows can be: the sum of squares over n.
    let (y, z) = (data.view().column(0).to_vec(), data.view().column(1).to_vec());
    let ([a, b], _) = least_squares(&data);
    let inside: f64 = (0..60).map(|i| (y[i] - a - b * z[i]).powi(2)).sum();
    let constant = -30.0 * std::f64::consts::TAU.ln();
    assert!(held_out.log_likelihood < constant - 0.5 * inside, "{held_out:?}");
    // Two parameters cost about one each beside the log-likelihood (Stone 1977).
    let cost = constant - 0.5 * inside - held_out.log_likelihood;
    assert!((0.5..6.0).contains(&cost), "{cost}");
    assert!((held_out.by_fold.iter().sum::<f64>() - held_out.log_likelihood).abs() < 1e-9);
    assert!((fit.log_likelihood.unwrap() - constant + 0.5 * inside).abs() < 1e-6);
    let ranked = line().fit(&data).choices(63).cross_validate(6).run().unwrap();
    let other = ranked.held_out.as_ref().unwrap();
    assert!(
        (other.log_likelihood - held_out.log_likelihood).abs() < 5.0 * (1.0 + other.se - held_out.se),
        "{other:?}"
    );
    assert!(other.se >= held_out.se * 0.8);
}

/// A linear model of y given three covariates, of which one matters.
fn wide() -> (Model, Points) {
    let model = Model::from_features(
        &["y", "y^2", "y*u", "y*v", "y*w"],
        Space::real(&["y", "u", "v", "w"]).unwrap(),
        vec![],
    );
    let parts = (0..4).map(|_| std::sync::Arc::new(Normal::with_std(0.0, 1.0).unwrap()) as _).collect();
    let drawn = sample(&Product::of_shared(parts).unwrap(), 1500, 9);
    let column = |j: usize| drawn.view().column(j).to_vec();
    let y = column(0).iter().zip(column(1)).map(|(e, u)| 0.8 * u + e).collect();
    let data = Points::from_columns(&["y", "u", "v", "w"], &[y, column(1), column(2), column(3)]).unwrap();
    (model.unwrap().with_covariates(&["u", "v", "w"]).unwrap(), data)
}

#[test]
fn a_lasso_finds_the_covariate_that_matters() {
    let (model, data) = wide();
    let penalty = "auto".parse::<Penalty>().unwrap();
    let fit = model.fit(&data).penalty(penalty.clone()).run().unwrap();
    let report = fit.penalty.as_ref().unwrap();
    let mut selected = report.selected.clone();
    selected.retain(|name| name != "y");
    assert_eq!(selected, ["y^2", "y*u"], "{report:?}");
    assert!(fit.parameters.iter().all(|e| e.se.is_nan()));
    let again = model.fit(&data).penalty(penalty.refit_selected()).run().unwrap();
    // y | u ~ N(0.8 u, 1): the natural parameters are −½ and 0.8.
    for (name, truth) in [("y^2", -0.5), ("y*u", 0.8)] {
        let e = again.get(name).unwrap();
        assert!((e.estimate - truth).abs() < 4.0 * e.se, "{e:?}");
    }
    assert!(again.get("y*v").unwrap().fixed);
}

/// On states the alternatives are all of them: a penalised logistic regression, whose estimates are where the slope of the loss is that of
/// the penalty, `mean(x(p − y)) + λ s² θ = 0` for ridge.
#[test]
fn ridge_of_a_binary_response_is_that_of_logistic_regression() {
    let text = "variables = ['y']\ncovariates = ['u']\ndomain = { y = { states = [0, 1] } }\nfeatures = ['y', 'y*u']";
    let model = Model::from_toml(text).unwrap();
    let u: Vec<f64> = (0..300).map(|i| f64::from(i % 17) / 4.0 - 2.0).collect();
    let y: Vec<f64> = (0..300)
        .map(|i| {
            f64::from(u8::from(
                (f64::from(i) * 0.618_034).fract() < 1.0 / (1.0 + (-0.7 * u[i as usize]).exp()),
            ))
        })
        .collect();
    let data = Points::from_columns(&["y", "u"], &[y.clone(), u.clone()]).unwrap();
    let strength = 0.3;
    let fit =
        model.fit(&data).penalty(Penalty::ridge(strength)).errors(CovarianceKind::Robust).run().unwrap();
    let theta = fit.theta();
    let scales = &fit.penalty.as_ref().unwrap().scales;
    let mut slope = [0.0; 2];
    for (y, u) in y.iter().zip(&u) {
        let excess = 1.0 / (1.0 + (-theta[0] - theta[1] * u).exp()) - y;
        slope[0] += excess / 300.0;
        slope[1] += excess * u / 300.0;
    }
    for j in 0..2 {
        let left = slope[j] + strength * scales[j].powi(2) * theta[j];
        assert!(left.abs() < 1e-7, "{j}: {left}");
        assert!(fit.parameters[j].se > 0.0 && fit.parameters[j].se_noise == 0.0);
    }
    assert!((fit.log_likelihood.unwrap() / fit.total_weight + fit.loss).abs() < 1e-12);
}

#[test]
fn penalties_that_have_no_convex_loss_are_refused() {
    let data = on_a_line(100, 1);
    let bent = Model::from_toml(
        "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - exp(a)*z)^2/2'\n[parameters]\na = 0",
    );
    let error = bent.unwrap().fit(&data).penalty(Penalty::lasso(0.1)).run().unwrap_err().to_string();
    assert!(error.contains("linear in its parameters"), "{error}");
    let linear = Model::from_features(&["y*z", "y^2"], Space::real(&["y", "z"]).unwrap(), vec![]).unwrap();
    let linear = linear.with_covariates(&["z"]).unwrap();
    let error = linear.fit(&data).exact().penalty(Penalty::lasso(0.1)).run().unwrap_err().to_string();
    assert!(error.contains("finitely many states"), "{error}");
    let quiet = linear.fit(&data).draws(DrawKind::Quiet).penalty(Penalty::lasso(0.1)).run();
    assert!(quiet.unwrap_err().to_string().contains("quiet draws"));
    assert!(
        linear.fit(&data).noise(conditional("normal(2*z, 4)")).penalty(Penalty::lasso(0.1)).run().is_ok()
    );
}
