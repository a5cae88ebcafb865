//! Errors that are enormous, infinite or undefined: the right number, the reason by name, never NaN.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use crate::common::{assert_close, error, report, words};
use noisewright::parts::{Divergences, Divergent};
use noisewright::{
    Categorical, Error, Gamma, Loss, Model, Noise, Normal, Precision, Product, Student, Target, Uniform,
    divergences,
};
use noisewright_systems::{
    GaussianPair, gamma, gaussian, gaussian_mean, gaussian_variance, ising, truncated_gaussian,
};

fn measured(model: &Model, at: &[f64], noise: &dyn Noise) -> Divergences {
    divergences(model, at, noise, 1.0, &Precision::default()).unwrap()
}

fn assert_infinite(model: &Model, at: &[f64], noise: &dyn Noise, loss: &Loss, lower: Option<bool>) {
    let found = report(model, at, noise, 1.0, loss).unwrap();
    let what = format!("{loss} against {}", noise.describe());
    assert_eq!(found.error, f64::INFINITY, "{what}");
    assert!(found.covariance.iter().all(|v| *v == f64::INFINITY), "{what}");
    assert!(found.parts.iter().all(|v| *v == f64::INFINITY), "{what}");
    assert_eq!(found.efficiency, Some(0.0), "{what}");
    assert!(found.noise_equals_data.is_finite(), "{what}");
    let Some(Divergent { variable, at_lower_end, .. }) = found.divergent else { panic!("{what}: no reason") };
    assert_eq!(variable.as_deref(), Some("x"), "{what}");
    if let Some(lower) = lower {
        assert_eq!(at_lower_end, lower, "{what}: side");
    }
}

fn assert_finite(model: &Model, at: &[f64], noise: &dyn Noise, loss: &Loss) {
    let found = report(model, at, noise, 1.0, loss).unwrap();
    assert!(found.error.is_finite() && found.divergent.is_none(), "{loss} against {}", noise.describe());
    assert!(found.error >= found.cramer_rao.unwrap() && found.accuracy.relative_error < 1e-9);
}

#[test]
fn noise_with_lighter_tails_makes_importance_sampling_infinite_and_nce_not() {
    let light = Normal::with_variance(0.0, 0.4).unwrap();
    for normalized in [true, false] {
        for system in [gaussian_mean(0.0, normalized).unwrap(), gaussian_variance(1.0, normalized).unwrap()] {
            let at = &system.parameters;
            assert_infinite(&system.model, at, &light, &Loss::Kl, None);
            // Here E_d[w ψψᵀ] diverges as well, which used to be reported as collinear scores.
            assert_infinite(&system.model, at, &light, &Loss::Pearson, None);
            assert_finite(&system.model, at, &light, &Loss::Js);
            assert_finite(&system.model, at, &light, &Loss::ReverseKl);
        }
    }
    let system = gaussian_mean(0.0, true).unwrap();
    let found = measured(&system.model, &[0.0], &light);
    assert_eq!(found.chi2_data_noise, f64::INFINITY);
    assert_eq!(found.lighter_noise.as_ref().and_then(|d| d.variable.as_deref()), Some("x"));
    assert!(found.lighter_data.is_none());
    let (errors, pair) = (found.normalizer_errors(1.0), GaussianPair { mean: 0.0, variance: 0.4 });
    assert_eq!(errors.is, f64::INFINITY);
    assert_close(errors.revis, pair.normalizer_errors(1.0)[1], 1e-10, "RevIS");
    assert_close(errors.is_revis, pair.normalizer_errors(1.0)[2], 1e-10, "IS-RevIS");
    assert!(errors.nce < errors.is_revis);
}

#[test]
fn noise_with_heavier_tails_makes_reverse_importance_sampling_infinite() {
    let system = gaussian_mean(0.0, false).unwrap();
    for heavy in ["student(5, 0, 1)", "normal(0, 2.5)", "laplace(0, 1)"] {
        let noise = words(&system.model, heavy);
        assert_infinite(&system.model, &[0.0], &*noise, &Loss::ReverseKl, None);
        assert_finite(&system.model, &[0.0], &*noise, &Loss::Kl);
        assert_finite(&system.model, &[0.0], &*noise, &Loss::Js);
        let found = measured(&system.model, &[0.0], &*noise);
        assert_eq!(found.chi2_noise_data, f64::INFINITY, "{heavy}");
        assert!(found.lighter_data.is_some() && found.lighter_noise.is_none(), "{heavy}");
        assert!(found.normalizer_errors(1.0).is.is_finite(), "{heavy}");
    }
}

#[test]
fn the_side_of_a_divergence_is_named() {
    // e^{-2x}/e^{-3x} grows to the right; at zero x^{2(a-1)}/x^{b-1} = x^{-1} / x² is not integrable.
    let upper = gamma(2.0, 1.0, true).unwrap();
    assert_infinite(&upper.model, &upper.parameters, &Gamma::new(2.0, 3.0).unwrap(), &Loss::Kl, Some(false));
    let lower = gamma(0.5, 1.0, true).unwrap();
    assert_infinite(&lower.model, &lower.parameters, &Gamma::new(3.0, 1.0).unwrap(), &Loss::Kl, Some(true));
    let found = measured(&upper.model, &upper.parameters, &Gamma::new(2.0, 3.0).unwrap());
    assert!(found.lighter_noise.is_some_and(|d| !d.at_lower_end));
}

#[test]
fn the_edge_between_finite_and_infinite_is_where_theory_puts_it() {
    let system = gaussian_mean(0.0, true).unwrap();
    // χ² is finite exactly for variances above one half.
    for (variance, finite) in [(0.5, false), (0.499, false), (0.501, true), (0.51, true)] {
        let noise = Normal::with_variance(0.0, variance).unwrap();
        let found = report(&system.model, &[0.0], &noise, 1.0, &Loss::Kl).unwrap();
        assert_eq!(found.error.is_finite(), finite, "variance {variance}");
        if finite {
            let exact = GaussianPair { mean: 0.0, variance }.mean_error_kl(1.0);
            assert_close(found.error, exact, 1e-9, "just finite");
        }
    }
}

#[test]
fn noise_that_leaves_out_some_of_the_data_is_infinite_for_kl_and_finite_for_js() {
    let inside = Uniform::new(-1.0, 1.5).unwrap();
    for normalized in [true, false] {
        let system = gaussian_mean(0.0, normalized).unwrap();
        // Of a standard Gaussian, more lies below −1 than above 1.5.
        assert_infinite(&system.model, &[0.0], &inside, &Loss::Kl, Some(true));
        assert_finite(&system.model, &[0.0], &inside, &Loss::Js);
    }
    let system = gaussian_mean(0.0, true).unwrap();
    let found = measured(&system.model, &[0.0], &inside);
    assert_eq!(found.chi2_data_noise, f64::INFINITY);
    let errors = found.normalizer_errors(1.0);
    assert_eq!(errors.is, f64::INFINITY);
    assert!(errors.nce.is_finite() && errors.is_revis.is_finite() && errors.revis.is_finite());
}

#[test]
fn states_that_the_noise_leaves_out_are_named_too() {
    let system = ising(&[0.3, -0.2], &[(0, 1, 0.4)], false).unwrap();
    let down: Arc<dyn Noise> = Arc::new(Categorical::new(&[-1.0], &[1.0]).unwrap());
    let fair: Arc<dyn Noise> = Arc::new(Categorical::uniform(&[-1.0, 1.0]).unwrap());
    let noise = Product::of_shared(vec![down, fair]).unwrap();
    let found = report(&system.model, &system.parameters, &noise, 1.0, &Loss::Kl).unwrap();
    assert_eq!(found.error, f64::INFINITY);
    let place = found.divergent.unwrap();
    assert_eq!((place.variable, place.at_lower_end, place.inside), (None, false, false));
    let refused = report(&system.model, &system.parameters, &noise, 1.0, &Loss::Js);
    assert!(matches!(refused, Err(Error::Collinear { .. })), "{refused:?}");
}

#[test]
fn errors_too_large_to_write_are_refused_and_not_nan() {
    // ∫ p_d²/p_n = e^{3600}.
    let noise = Normal::with_variance(60.0, 1.0).unwrap();
    for normalized in [true, false] {
        let system = gaussian_mean(0.0, normalized).unwrap();
        let refused = report(&system.model, &[0.0], &noise, 1.0, &Loss::Kl);
        assert!(matches!(refused, Err(Error::HardlyAnyOverlap)), "{refused:?}");
        let js = report(&system.model, &[0.0], &noise, 1.0, &Loss::Js).unwrap();
        assert!(js.error > 1e190 && js.error.is_finite());
    }
    let thirteen =
        error(&gaussian_mean(0.0, true).unwrap(), &Normal::with_variance(13.0, 1.0).unwrap(), 1.0, &Loss::Kl);
    assert_close(thirteen, GaussianPair { mean: 13.0, variance: 1.0 }.mean_error_kl(1.0), 1e-9, "e^169");
}

#[test]
fn far_noise_is_right_in_the_plane_too() {
    // Along the shift the two-dimensional problem is the one-dimensional one; across it, noise equals data.
    let plane = gaussian(&[0.0, 0.0], &[1.0, 0.0, 1.0], true).unwrap();
    let target = Target::Coordinates(vec!["h0".into()]);
    let noise = noisewright::MultivariateNormal::new(&[13.0, 0.0], &[1.0, 0.0, 0.0, 1.0]).unwrap();
    let contrast = noisewright::internal::Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
    let precision = Precision::default();
    let found = noisewright::internal::asymptotic_error(
        &plane.model,
        &plane.parameters,
        contrast,
        &target,
        &precision,
    );
    let line = gaussian(&[0.0], &[1.0], true).unwrap();
    let noise = Normal::with_variance(13.0, 1.0).unwrap();
    let contrast = noisewright::internal::Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
    let want =
        noisewright::internal::asymptotic_error(&line.model, &line.parameters, contrast, &target, &precision);
    let (found, want) = (found.unwrap().error, want.unwrap().error);
    assert!(found > want * (1.0 - 1e-9) && found < 1.2 * want, "{found:e} beside {want:e}");
}

#[test]
fn noise_beside_the_data_is_refused() {
    let system = truncated_gaussian(-1.0, 2.0, 0.0, 1.0, true).unwrap();
    let beside: Arc<dyn Noise> = Arc::new(Uniform::new(5.0, 6.0).unwrap());
    for loss in [Loss::Js, Loss::ReverseKl] {
        let refused = report(&system.model, &system.parameters, &*beside, 1.0, &loss);
        assert!(matches!(refused, Err(Error::NoOverlap)), "{loss}: {refused:?}");
    }
}

#[test]
fn ratios_that_cannot_be_are_refused() {
    let system = gaussian_mean(0.0, true).unwrap();
    let noise = Student::new(5.0, 0.0, 1.0).unwrap();
    for nu in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = report(&system.model, &[0.0], &noise, nu, &Loss::Js);
        assert!(matches!(refused, Err(Error::NoiseRatio { .. })), "{nu}");
        let refused = divergences(&system.model, &[0.0], &noise, nu, &Precision::default());
        assert!(matches!(refused, Err(Error::NoiseRatio { .. })), "{nu}");
    }
}

#[test]
fn extreme_ratios_reach_their_limits() {
    // Endless noise costs (1+ν)/T times Cramér–Rao; little noise costs 1/ν times a constant.
    let system = gaussian_mean(0.0, true).unwrap();
    let noise = Normal::with_variance(0.3, 1.4).unwrap();
    let endless = report(&system.model, &[0.0], &noise, 1e9, &Loss::Js).unwrap();
    assert_close(endless.efficiency.unwrap(), 1.0, 1e-6, "endless noise");
    let little = |nu: f64| error(&system, &noise, nu, &Loss::Js) * nu;
    assert_close(little(1e-8), little(1e-9), 1e-6, "little noise");
}
