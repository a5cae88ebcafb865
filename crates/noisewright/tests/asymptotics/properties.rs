//! Properties of the asymptotic error over random models, noises and ratios.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use crate::common::{assert_close, close, distance, report, words};
use nalgebra::{DMatrix, DVector, Matrix2, Vector2};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{
    Categorical, Error, ErrorReport, Gamma, Laplace, LogNormal, Logistic, Loss, Model, MultivariateNormal,
    MultivariateStudent, Noise, Normal, Parameter, Precision, Product, Scalar, Space, Student, Target,
    VonMises,
};
use noisewright_systems::{
    System, gamma, gaussian, gaussian_correlation, gaussian_mean, gaussian_moments, gaussian_variance, ising,
    quartic, von_mises,
};
use proptest::prelude::*;

const KINDS: usize = 7;

/// A system and a noise from numbers in (0, 1).
fn setting(kind: usize, normalized: bool, u: &[f64]) -> (System, Arc<dyn Noise>) {
    let system = match kind {
        0 => gaussian_mean(4.0 * u[0] - 2.0, normalized),
        1 => gaussian_variance(0.2 + 3.0 * u[0], normalized),
        2 => gaussian_correlation(1.6 * u[0] - 0.8, normalized),
        3 => gamma(0.8 + 4.0 * u[0], 0.3 + 2.0 * u[1], normalized),
        4 => von_mises(0.1 + 4.0 * u[0], 4.0 * u[1] - 2.0, normalized),
        // Without a closed form the constant is free in any case.
        5 => quartic(),
        _ => ising(&[u[0] - 0.5, u[1] - 0.5, 0.2], &[(0, 1, 2.0 * u[2] - 1.0), (1, 2, u[3] - 0.5)], false),
    };
    (system.unwrap(), noise_for(kind, &u[4..]))
}

fn noise_for(kind: usize, u: &[f64]) -> Arc<dyn Noise> {
    let (location, scale) = (3.0 * u[0] - 1.5, 0.5 + 2.0 * u[1]);
    let positive = [0.5 + 3.0 * u[0], 0.3 + 2.0 * u[1]];
    match kind {
        2 => {
            let r = 1.6 * u[0] - 0.8;
            Arc::new(MultivariateNormal::new(&[u[1] - 0.5, 0.2], &[1.0, r, r, 1.0 + u[2]]).unwrap())
        }
        3 if u[2] < 0.5 => Arc::new(Gamma::new(positive[0], positive[1]).unwrap()),
        3 => Arc::new(LogNormal::new(u[0], 0.5 + u[1]).unwrap()),
        4 => Arc::new(VonMises::new(6.0 * u[0] - 3.0, 3.0 * u[1]).unwrap()),
        6 => {
            let one = |p: &f64| -> Arc<dyn Noise> {
                Arc::new(Categorical::bernoulli(-1.0, 1.0, 0.1 + 0.8 * p).unwrap())
            };
            Arc::new(Product::of_shared(u[..3].iter().map(one).collect()).unwrap())
        }
        _ if u[2] < 0.25 => Arc::new(Normal::with_variance(location, scale * scale).unwrap()),
        _ if u[2] < 0.5 => Arc::new(Student::new(2.0 + 8.0 * u[3], location, scale).unwrap()),
        _ if u[2] < 0.75 => Arc::new(Laplace::new(location, scale).unwrap()),
        _ => Arc::new(Logistic::new(location, scale).unwrap()),
    }
}

fn at(system: &System, noise: &dyn Noise, nu: f64, loss: &Loss) -> ErrorReport {
    report(&system.model, &system.parameters, noise, nu, loss)
        .unwrap_or_else(|e| panic!("{} against {}, {loss}: {e}", system.name, noise.describe()))
}

/// The smallest eigenvalue of `A − B`, both scaled by B's diagonal; ∞ when A is infinite.
fn smallest_excess(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    if a.iter().any(|v| v.is_infinite()) {
        return f64::INFINITY;
    }
    let scale = DVector::from_fn(b.nrows(), |i, _| a[(i, i)].sqrt());
    DMatrix::from_fn(b.nrows(), b.nrows(), |i, j| (a[(i, j)] - b[(i, j)]) / (scale[i] * scale[j]))
        .symmetric_eigenvalues()
        .min()
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..1.0f64, 8)
}

fn ratio() -> impl Strategy<Value = f64> {
    (0.05f64.ln()..20f64.ln()).prop_map(f64::exp)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// With the constant free, the term that the losses share touches only the constant, and JS has the smallest
    /// covariance in every direction. (A normalized model is another matter: see the next test.)
    #[test]
    fn js_has_the_smallest_error_of_all_losses(
        kind in 0..KINDS, u in numbers(), nu in ratio(), exponent in -1.5..2.5f64,
    ) {
        let (system, noise) = setting(kind, false, &u);
        let best = at(&system, &*noise, nu, &Loss::Js);
        prop_assert!(best.error.is_finite());
        let own = Loss::from_phi(|r| r * r.sqrt(), |r| 1.5 * r.sqrt(), |r| 0.75 / r.sqrt());
        let others = [Loss::Kl, Loss::ReverseKl, Loss::Hellinger, Loss::Pearson, Loss::Power(exponent), own];
        for loss in others {
            let other = match report(&system.model, &system.parameters, &*noise, nu, &loss) {
                // Just before it becomes infinite: finite, and too large to write.
                Err(Error::HardlyAnyOverlap) => continue,
                found => found.unwrap(),
            };
            let excess = smallest_excess(&other.covariance, &best.covariance);
            let what = format!("{} against {}, nu {nu}, {loss}: {excess:e}", system.name, noise.describe());
            prop_assert!(excess > -1e-8, "{}", what);
            prop_assert!(other.error >= best.error * (1.0 - 1e-9), "{}", what);
        }
    }

    #[test]
    fn cramer_rao_bounds_every_design(kind in 0..KINDS, free in any::<bool>(), u in numbers(), nu in ratio()) {
        let (system, noise) = setting(kind, !free, &u);
        for loss in [Loss::Js, Loss::Hellinger, Loss::Kl] {
            let found = match report(&system.model, &system.parameters, &*noise, nu, &loss) {
                // KL against a noise of barely half the variance: finite, and too large to write.
                Err(Error::HardlyAnyOverlap) if loss.to_string() == "kl" => continue,
                found => found.unwrap(),
            };
            let what = format!("{} against {}, nu {nu}, {loss}", system.name, noise.describe());
            prop_assert!(smallest_excess(&found.covariance, &system.bound()) > -1e-8, "{}", what);
            let efficiency = found.efficiency.unwrap();
            prop_assert!((0.0..=1.0 + 1e-9).contains(&efficiency), "{}: {}", what, efficiency);
            prop_assert!(loss.to_string() != "js" || efficiency > 0.0, "{}", what);
        }
    }

    /// More noise for the same data never hurts: Σ falls with ν.
    #[test]
    fn more_noise_never_hurts(kind in 0..KINDS, u in numbers(), nu in ratio()) {
        let (system, noise) = setting(kind, false, &u);
        let few = at(&system, &*noise, nu, &Loss::Js);
        let many = at(&system, &*noise, 1.5 * nu, &Loss::Js);
        prop_assert!(smallest_excess(&few.covariance, &many.covariance) > -1e-8);
    }

    /// `x' = a x + b` for the model and the noise: Σ in the new parameters is the old one times the Jacobian, and
    /// the distribution error is the same.
    #[test]
    fn an_affine_change_of_the_variable_changes_nothing(
        scale in 0.01..100.0f64, shift in -50.0..50.0f64, free in any::<bool>(), u in numbers(), nu in ratio(),
    ) {
        let variance = 0.3 + 2.0 * u[0];
        let (location, spread, dof) = (2.0 * u[1] - 1.0, 0.6 + u[2], 3.0 + 4.0 * u[3]);
        let here = gaussian_moments(0.4, variance, !free).unwrap();
        let there = gaussian_moments(scale * 0.4 + shift, scale * scale * variance, !free).unwrap();
        let noise = Student::new(dof, location, spread).unwrap();
        let moved = Student::new(dof, scale * location + shift, scale * spread).unwrap();
        // Fourth moments that hardly exist are integrals over more decades than a number has.
        let others = (dof - 4.0).abs() > 0.15;
        for loss in [Loss::Js, Loss::Hellinger, Loss::Power(0.3)].into_iter().take(if others { 3 } else { 1 }) {
            let (a, b) = (at(&here, &noise, nu, &loss), at(&there, &moved, nu, &loss));
            let infinite = |report: &ErrorReport| report.error == f64::INFINITY;
            prop_assert_eq!(infinite(&a), infinite(&b), "{}", loss);
            if infinite(&a) {
                continue;
            }
            let mut jacobian = vec![scale, scale * scale];
            jacobian.resize(a.covariance.nrows(), 1.0);
            let jacobian = DMatrix::from_diagonal(&DVector::from_vec(jacobian));
            let gap = distance(&b.covariance, &(&jacobian * &a.covariance * &jacobian));
            prop_assert!(gap < 1e-8, "{loss}: {gap:e}");
        }
        let kl = |system: &System, noise: &dyn Noise| {
            let contrast = Contrast { noise, nu, loss: &Loss::Js };
            asymptotic_error(&system.model, &system.parameters, contrast, &Target::Kl, &Precision::default())
        };
        prop_assert!(close(kl(&there, &moved).unwrap().error, kl(&here, &noise).unwrap().error, 1e-8));
    }

    #[test]
    fn an_own_phi_gives_what_the_named_loss_gives(u in numbers(), nu in ratio(), factor in 0.1..10.0f64) {
        let (system, noise) = setting(0, false, &u);
        let own = Loss::from_phi(
            move |r| factor * (1.0 - r.sqrt()).powi(2),
            move |r| factor * (1.0 - 1.0 / r.sqrt()),
            move |r| 0.5 * factor * r.powf(-1.5),
        );
        let (a, b) = (at(&system, &*noise, nu, &own).error, at(&system, &*noise, nu, &Loss::Hellinger).error);
        prop_assert!(a == b || close(a, b, 1e-8), "{a} {b}");
        let half = at(&system, &*noise, nu, &Loss::Power(0.5)).error;
        prop_assert!(half == b || close(half, b, 1e-8), "{half} {b}");
    }
}

/// MATH §3 for the mean and the variance of a Gaussian under the Hellinger loss, `w = r^(−1/2)/2` and `v = w²(1 + r)`, by midpoint
/// sums in s, `x = scale · sinh s`, with nothing of the library but the noise's density.
fn hellinger_error(mean: f64, variance: f64, noise: &Student, nu: f64, scale: f64) -> f64 {
    let (mut bread, mut meat, mut slope) = (Matrix2::zeros(), Matrix2::zeros(), Vector2::zeros());
    let step = 1e-4;
    for i in 0..400_000 {
        let s = (f64::from(i) + 0.5) * step - 20.0;
        let x = scale * s.sinh();
        let from = x - mean;
        let log_data = -0.5 * (from * from / variance + (std::f64::consts::TAU * variance).ln());
        let mut log_noise = [0.0];
        noise.log_density_of(&[x], &mut log_noise);
        let log_ratio = log_data - log_noise[0] - nu.ln();
        let score = Vector2::new(from / variance, 0.5 * (from * from / variance - 1.0) / variance);
        let measure = scale * s.cosh() * step;
        // p_d w, and p_d v = p_d w² + p_d w² r.
        let weighted = 0.5 * (log_data - 0.5 * log_ratio).exp() * measure;
        let varied = 0.25 * ((log_data - log_ratio).exp() + log_data.exp()) * measure;
        bread += score * score.transpose() * weighted;
        meat += score * score.transpose() * varied;
        slope += score * weighted;
    }
    let inverse = bread.try_inverse().unwrap();
    let middle = meat - slope * slope.transpose() * (1.0 + 1.0 / nu);
    (1.0 + nu) * (inverse * middle * inverse).trace()
}

/// Hellinger against a Student noise with moments up to the sixth: I_v = (I + ν E_n[ψψᵀ])/4, whose fourth moments are
/// finite however small the scale of the variable.
#[test]
fn a_heavy_tail_with_enough_moments_has_a_finite_error() {
    let scale = 0.01;
    let system = gaussian_moments(scale * 0.4, scale * scale * 1.786, true).unwrap();
    let noise = Student::new(6.05, -scale, scale * 1.0926).unwrap();
    let nu = 3.671_751_2;
    let found = at(&system, &noise, nu, &Loss::Hellinger);
    let expected = hellinger_error(scale * 0.4, scale * scale * 1.786, &noise, nu, scale);
    // The midpoint rule in the logarithm of the distance is good to rounding; the library to 1e-8 of its moments.
    assert!((found.error / expected - 1.0).abs() < 1e-6, "{} {expected}", found.error);
}

/// JS is the best loss for models with a free constant. For a normalized model it need not be: the term
/// −(1 + 1/ν) m mᵀ then rewards weights whose score has a mean. (6.892662 and 6.687200 by mpmath, as in the table.)
#[test]
fn a_normalized_model_may_do_better_with_another_loss() {
    let noise = Normal::with_variance(-0.4, 0.8).unwrap();
    let normalized = gaussian_mean(0.0, true).unwrap();
    let errors = [Loss::Js, Loss::ReverseKl].map(|loss| at(&normalized, &noise, 0.2, &loss).error);
    assert_close(errors[0], 6.892_661_785_108_719, 1e-9, "js");
    assert_close(errors[1], 6.687_200_070_699_29, 1e-9, "reverse KL");
    let free = gaussian_mean(0.0, false).unwrap();
    let errors = [Loss::Js, Loss::ReverseKl].map(|loss| at(&free, &noise, 0.2, &loss).error);
    assert!(errors[0] < errors[1]);
}

#[test]
fn the_covariance_follows_a_change_of_parameters() {
    let (v, nu) = (1.7_f64, 0.6);
    let noise = Student::new(4.0, 0.3, 1.2).unwrap();
    for free in [true, false] {
        let variance = at(&gaussian_variance(v, !free).unwrap(), &noise, nu, &Loss::Js);
        let constant = if free { "" } else { " - s/2 - log(2*pi)/2" };
        let formula = format!("-x^2/(2*exp(s)){constant}");
        let parameter = vec![Parameter::new("s", v.ln())];
        let model = Model::from_formula(&formula, Space::real(&["x"]).unwrap(), parameter, !free).unwrap();
        let log_variance = report(&model, &[v.ln()], &noise, nu, &Loss::Js).unwrap();
        // ds/dv = 1/v
        let mut jacobian = DMatrix::identity(variance.covariance.nrows(), variance.covariance.nrows());
        jacobian[(0, 0)] = 1.0 / v;
        let moved = &jacobian * &variance.covariance * &jacobian;
        assert!(distance(&log_variance.covariance, &moved) < 1e-9);
    }
}

#[test]
fn polar_and_natural_parameters_of_an_angle_agree() {
    let (mean, concentration) = (0.7_f64, 2.3_f64);
    let polar = noisewright::FamilyOptions { parametrization: Some("polar".into()), ..Default::default() };
    let (sin, cos) = mean.sin_cos();
    for free in [true, false] {
        let natural = von_mises(concentration * cos, concentration * sin, !free).unwrap();
        let model = Model::from_family("von-mises", &["x"], &polar, !free).unwrap();
        let noise = words(&model, "von-mises(0, 1)");
        let a = report(&model, &[mean, concentration], &*noise, 1.5, &Loss::Js).unwrap();
        let b = at(&natural, &*noise, 1.5, &Loss::Js);
        // (a, b) = κ (cos μ, sin μ)
        let mut jacobian = DMatrix::identity(a.covariance.nrows(), a.covariance.nrows());
        (jacobian[(0, 0)], jacobian[(1, 0)]) = (-concentration * sin, concentration * cos);
        (jacobian[(0, 1)], jacobian[(1, 1)]) = (cos, sin);
        let moved = &jacobian * &a.covariance * jacobian.transpose();
        assert!(distance(&b.covariance, &moved) < 1e-9, "{moved}{}", b.covariance);
    }
}

#[test]
fn the_order_of_the_variables_does_not_matter() {
    let noise = MultivariateStudent::new(5.0, &[0.3, -0.5], &[1.5, 0.4, 0.4, 2.0]).unwrap();
    let swapped = MultivariateStudent::new(5.0, &[-0.5, 0.3], &[2.0, 0.4, 0.4, 1.5]).unwrap();
    for normalized in [true, false] {
        let here = at(&gaussian(&[0.5, -1.0], &[1.0, 0.4, 2.0], normalized).unwrap(), &noise, 0.7, &Loss::Js);
        let there =
            at(&gaussian(&[-1.0, 0.5], &[2.0, 0.4, 1.0], normalized).unwrap(), &swapped, 0.7, &Loss::Js);
        // h0 h1 P00 P01 P11 becomes h1 h0 P11 P01 P00.
        let order = [1, 0, 4, 3, 2, 5];
        let size = here.covariance.nrows();
        let moved = DMatrix::from_fn(size, size, |i, j| here.covariance[(order[i], order[j])]);
        assert!(distance(&there.covariance, &moved) < 1e-8);
        assert_close(there.error, here.error, 1e-8, "swapped variables");
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let spins: Vec<(usize, usize, f64)> = (0..12).map(|i| (i, i + 1, 0.1 * i as f64 - 0.5)).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let u = [0.3, 0.6, 0.2, 0.9, 0.4, 0.1, 0.7, 0.5];
            let chain = ising(&[0.1; 13], &spins, false).unwrap();
            let half: Arc<dyn Noise> = Arc::new(Categorical::uniform(&[-1.0, 1.0]).unwrap());
            let fair = Product::of_shared(vec![half; 13]).unwrap();
            let mut bits: Vec<u64> = vec![at(&chain, &fair, 1.0, &Loss::Js).error.to_bits()];
            for kind in 0..KINDS {
                let (system, noise) = setting(kind, false, &u);
                let found = at(&system, &*noise, 1.3, &Loss::Js);
                bits.extend(found.covariance.iter().map(|v| v.to_bits()));
                bits.push(found.log_normalizer.to_bits());
            }
            bits
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}
