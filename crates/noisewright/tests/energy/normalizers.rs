//! Closed forms of log Z against quadrature, enumeration and values from the literature or from mpmath.
#![allow(clippy::unwrap_used, clippy::excessive_precision)]

use std::f64::consts::{PI, TAU};

use crate::common::*;
use noisewright::internal::energy::{
    Beta, Gaussian, GaussianMoments, Ising, Student, TruncatedGaussian, TruncatedGaussianMoments, VonMises,
    VonMisesFisher, VonMisesPolar,
};
use noisewright::{Energy, Points};
use proptest::prelude::*;

fn log_z(energy: &dyn Energy, theta: &[f64]) -> f64 {
    energy.log_normalizer(theta, &mut vec![0.0; theta.len()]).unwrap()
}

fn gradient(energy: &dyn Energy, theta: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; theta.len()];
    energy.log_normalizer(theta, &mut out).unwrap();
    out
}

/// The trapezoidal rule after the substitution `x = map(t)`: it converges geometrically where the
/// integrand and its derivatives die out at both ends (or are periodic).
fn integrate(f: impl Fn(f64) -> f64, map: impl Fn(f64) -> (f64, f64), half_width: f64) -> f64 {
    let n = 40_000;
    let step = 2.0 * half_width / f64::from(n);
    let term = |i| {
        let (x, slope) = map(-half_width + f64::from(i) * step);
        let product = f(x) * slope;
        if product.is_finite() { product } else { 0.0 }
    };
    (0..n).map(term).sum::<f64>() * step
}

fn real(t: f64) -> (f64, f64) {
    (t.sinh(), t.cosh())
}

fn half_line(t: f64) -> (f64, f64) {
    let x = (t.sinh()).exp();
    (x, x * t.cosh())
}

/// tanh-sinh on [lo, hi].
fn interval(lo: f64, hi: f64) -> impl Fn(f64) -> (f64, f64) {
    move |t| {
        let s = 0.5 * PI * t.sinh();
        let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo));
        (middle + half * s.tanh(), half * 0.5 * PI * t.cosh() / s.cosh().powi(2))
    }
}

fn density<'a>(energy: &'a dyn Energy, theta: &'a [f64]) -> impl Fn(f64) -> f64 + 'a {
    |x| value(energy, theta, Points::unnamed(1, 1, vec![x]).view())[0].exp()
}

/// The integral of exp u over the domain of a one-dimensional case, by quadrature.
fn by_quadrature(name: &str, energy: &dyn Energy, theta: &[f64]) -> Option<f64> {
    let f = density(energy, theta);
    Some(match name {
        "gaussian 1-D" | "moments 1-D" | "student" => integrate(f, real, 12.0),
        // Beyond the last node, e^122, there is a share e^(−122·dof): below 1e-13 for these. For heavier tails the values
        // below take over.
        "student, free dof" if theta[2] > 0.25 => integrate(
            f,
            |t| {
                let s = t.sinh();
                (s.sinh(), s.cosh() * t.cosh())
            },
            5.5,
        ),
        "von Mises" | "von Mises, polar" => integrate(f, |t| (t, 1.0), PI),
        "truncated gaussian" | "truncated gaussian, moments" => integrate(f, interval(-1.0, 2.0), 4.0),
        "truncated gaussian, half-line" => integrate(f, half_line, 5.0),
        "gamma" => integrate(f, half_line, 6.0),
        _ => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..Default::default() })]

    #[test]
    fn one_dimensional_closed_forms_agree_with_quadrature(u in prop::collection::vec(-0.999..0.999_f64, NUMBERS)) {
        for case in cases() {
            let theta = (case.parameters)(&u);
            let Some(integral) = by_quadrature(case.name, case.energy.as_ref(), &theta) else { continue };
            let got = log_z(case.energy.as_ref(), &theta);
            prop_assert!(close(got, integral.ln(), 1e-11, 1.0), "{} {got} {} {theta:?}", case.name, integral.ln());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn gradients_of_log_z_agree_with_differences(u in prop::collection::vec(-0.999..0.999_f64, NUMBERS)) {
        let mut known = 0;
        for case in cases() {
            let energy = case.energy.as_ref();
            let theta = (case.parameters)(&u);
            if energy.log_normalizer(&theta, &mut vec![0.0; theta.len()]).is_none() {
                continue;
            }
            known += 1;
            for (j, got) in gradient(energy, &theta).into_iter().enumerate() {
                let want = difference(along(&theta, j, |t| log_z(energy, t)), theta[j]);
                prop_assert!(close(got, want, 1e-6, 1e-2), "{} d{j}: {got} {want} at {theta:?}", case.name);
            }
        }
        // All but the coupled Ising model, COM-Poisson, the polynomial and the four from text.
        prop_assert_eq!(known, cases().len() - 7);
    }
}

#[test]
fn a_gaussian_in_three_dimensions_against_the_product_of_its_conditionals() {
    // P = [[2, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 4]], det P = 6.82 by hand; h = P·(1, 2, 3).
    let theta = [3.0, 1.6, 11.4, 2.0, 0.5, 0.0, 1.0, -0.3, 4.0];
    let determinant = 2.0 * (4.0 - 0.09) - 0.5 * (0.5 * 4.0);
    let quadratic = 3.0 + 2.0 * 1.6 + 3.0 * 11.4;
    let want = 1.5 * TAU.ln() - 0.5_f64 * f64::ln(determinant) + 0.5 * quadratic;
    let gaussian = Gaussian::new(3).unwrap();
    assert!((log_z(&gaussian, &theta) - want).abs() < 1e-13);
    for (got, want) in gradient(&gaussian, &theta)[..3].iter().zip([1.0, 2.0, 3.0]) {
        assert!((got - want).abs() < 1e-13);
    }
}

#[test]
fn both_parametrizations_of_a_gaussian_are_the_same_density() {
    let covariance = [1.5, 0.4, 0.7];
    let determinant = 1.5 * 0.7 - 0.16;
    let (p00, p01, p11) = (0.7 / determinant, -0.4 / determinant, 1.5 / determinant);
    let mean = [0.3, -2.0];
    let natural = [p00 * mean[0] + p01 * mean[1], p01 * mean[0] + p11 * mean[1], p00, p01, p11];
    let moments = [mean[0], mean[1], covariance[0], covariance[1], covariance[2]];
    let x = Points::unnamed(2, 2, vec![0.1, 5.0, -1.0, 2.0]);
    let by = |energy: &dyn Energy, theta: &[f64]| -> Vec<f64> {
        let constant = log_z(energy, theta);
        value(energy, theta, x.view()).iter().map(|v| v - constant).collect()
    };
    let pairs = by(&Gaussian::new(2).unwrap(), &natural)
        .into_iter()
        .zip(by(&GaussianMoments::new(2).unwrap(), &moments));
    for (a, b) in pairs {
        assert!((a - b).abs() < 1e-12 * b.abs());
    }
}

#[test]
fn a_precision_matrix_that_is_not_positive_definite_has_no_constant() {
    let gaussian = Gaussian::new(2).unwrap();
    for precision in [[1.0, 2.0, 1.0], [-1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [f64::NAN, 0.0, 1.0]] {
        let theta = [0.0, 0.0, precision[0], precision[1], precision[2]];
        assert_eq!(gaussian.log_normalizer(&theta, &mut [0.0; 5]), None, "{precision:?}");
    }
}

/// mpmath, 30 digits: log(2 pi besseli(0, κ)) and besseli(1, κ)/besseli(0, κ).
#[test]
fn von_mises_from_uniform_to_sharp() {
    for (kappa, want, slope) in [
        (0.0, TAU.ln(), 0.0),
        (1e-12, TAU.ln(), 5e-13),
        (0.5, VM[0].0, VM[0].1),
        (30.0, VM[1].0, VM[1].1),
        (1e4, VM[2].0, VM[2].1),
        (1e8, VM[3].0, VM[3].1),
    ] {
        let angle = 0.7_f64;
        let theta = [kappa * angle.cos(), kappa * angle.sin()];
        assert!(close(log_z(&VonMises, &theta), want, 2e-15, 1.0), "{kappa}");
        assert!(close(log_z(&VonMisesPolar, &[angle, kappa]), want, 2e-15, 1.0), "{kappa}");
        let g = gradient(&VonMises, &theta);
        assert!(close(g[0], slope * angle.cos(), 1e-14, 0.0), "{kappa}: {g:?}");
        assert!(close(gradient(&VonMisesPolar, &[angle, kappa])[1], slope, 1e-14, 0.0), "{kappa}");
    }
}

/// mpmath, 30 digits, from the definition in each dimension.
#[test]
fn von_mises_fisher_in_many_dimensions() {
    for (dimension, kappa, want, slope) in VMF {
        let energy = VonMisesFisher::new(dimension).unwrap();
        // The direction (1, …, 1)/√d.
        let theta = vec![kappa / (dimension as f64).sqrt(); dimension];
        let got = log_z(&energy, &theta);
        assert!(close(got, want, 1e-14, 1.0), "{dimension} {kappa}: {got} {want}");
        let length = gradient(&energy, &theta)[0] * (dimension as f64).sqrt();
        assert!(close(length, slope, 1e-13, 0.0), "{dimension} {kappa}: {length} {slope}");
    }
}

#[test]
fn the_sphere_with_no_direction_has_its_area() {
    for (dimension, area) in [(2, TAU), (3, 4.0 * PI), (4, 2.0 * PI * PI), (5, 8.0 / 3.0 * PI * PI)] {
        let energy = VonMisesFisher::new(dimension).unwrap();
        assert!((log_z(&energy, &vec![0.0; dimension]) - area.ln()).abs() < 1e-14);
        // Continuous where the limit takes over.
        let near = |kappa: f64| log_z(&energy, &[vec![kappa], vec![0.0; dimension - 1]].concat());
        assert!((near(0.999e-9) - near(1.001e-9)).abs() < 1e-14);
    }
}

#[test]
fn independent_ising_variables_against_enumeration() {
    for states in [[-1.0, 1.0], [0.0, 1.0]] {
        let energy = Ising::with_edges(3, states, &[]).unwrap();
        let theta = [0.3, -2.0, 1.1];
        let rows: Vec<[f64; 3]> = (0..8).map(|s| [0, 1, 2].map(|bit| states[(s >> bit) & 1])).collect();
        let column = |j: usize| rows.iter().map(|r| r[j]).collect::<Vec<_>>();
        let points = Points::from_columns(&["a", "b", "c"], &[column(0), column(1), column(2)]).unwrap();
        let weights: Vec<f64> = value(&energy, &theta, points.view()).iter().map(|v| v.exp()).collect();
        let total: f64 = weights.iter().sum();
        assert!((log_z(&energy, &theta) - total.ln()).abs() < 1e-14);
        for (j, got) in gradient(&energy, &theta).iter().enumerate() {
            let mean = rows.iter().zip(&weights).map(|(r, w)| r[j] * w).sum::<f64>() / total;
            assert!((got - mean).abs() < 1e-14);
        }
    }
    let far = Ising::with_edges(1, [-1.0, 1.0], &[]).unwrap();
    assert_eq!((log_z(&far, &[1e5]), gradient(&far, &[-1e5])[0]), (1e5, -1.0));
}

/// Far from the mean the upper tail is exp(u(lo))/|slope| to first order: −h²/… never enters.
#[test]
fn a_truncated_gaussian_a_thousand_deviations_from_its_mean() {
    // mpmath: log(sqrt(pi/2)*erfc(1000/sqrt(2))), the tail of exp(−x²/2) beyond 1000.
    let want = -500_006.907_756_278_98;
    let tail = TruncatedGaussianMoments::new(1000.0, f64::INFINITY).unwrap();
    assert!(close(log_z(&tail, &[0.0, 1.0]), want, 1e-15, 1.0));
    let short = TruncatedGaussianMoments::new(1000.0, 1001.0).unwrap();
    assert!(close(log_z(&short, &[0.0, 1.0]), want, 1e-15, 1.0));
    let natural = TruncatedGaussian::new(1000.0, f64::INFINITY).unwrap();
    assert!(close(log_z(&natural, &[0.0, 1.0]), want, 1e-15, 1.0));
    // The mean beyond the end is 1/slope away from it.
    assert!((gradient(&natural, &[0.0, 1.0])[0] - 1_000.000_999_998_000_01).abs() < 1e-12);
    let mirrored = TruncatedGaussian::new(f64::NEG_INFINITY, -1000.0).unwrap();
    assert!(close(log_z(&mirrored, &[0.0, 1.0]), want, 1e-15, 1.0));
}

#[test]
fn a_student_with_many_degrees_of_freedom_is_a_gaussian() {
    for dof in [1e4, 1e8, 1e12] {
        let got = log_z(&Student::free(), &[0.0, 1.0, dof]);
        // log Z = ½ ln 2π + 1/(4ν) − 1/(24ν³) + …
        let correction = 0.25 / dof - 1.0 / (24.0 * dof.powi(3));
        assert!((got - 0.5 * TAU.ln() - correction).abs() < 1e-14, "{dof}: {got}");
    }
}

#[test]
fn beta_from_flat_to_sharp() {
    assert_eq!(log_z(&Beta, &[1.0, 1.0]), 0.0);
    assert!((log_z(&Beta, &[0.5, 0.5]) - PI.ln()).abs() < 1e-14);
    assert_eq!(Beta.log_normalizer(&[0.0, 1.0], &mut [0.0; 2]), None);
    let inside = Points::unnamed(1, 3, vec![0.0, 0.25, 1.0]);
    assert_eq!(value(&Beta, &[1.0, 2.0], inside.view()), [0.0, 0.75f64.ln(), f64::NEG_INFINITY]);
    assert!(score(&Beta, &[1.0, 2.0], inside.view()).iter().all(|s| s.is_finite()));
}

const VM: [(f64, f64); 4] = [
    (1.8994267855948268, 0.24249961258080195),
    (29.222578499581281, 0.98318955536533609),
    (9996.3137808478416, 0.99994999874987498),
    (99999991.708598162, 0.99999999499999999),
];

const VMF: [(usize, f64, f64, f64); 24] = [
    (2, 0.01, 1.8379020662530972, 0.0049999375010416488),
    (2, 1.0, 2.0737914249165241, 0.44638996589653451),
    (2, 20.0, 19.42748749465362, 0.97467050788980713),
    (2, 10000.0, 9996.3137808478416, 0.99994999874987498),
    (3, 0.01, 2.5310409135804023, 0.0033333111113227492),
    (3, 1.0, 2.6924636085404864, 0.3130352854993313),
    (3, 20.0, 18.842144792855354, 0.95000000000000001),
    (3, 10000.0, 9992.6275366944332, 0.9999),
    (4, 0.01, 2.9826194522327041, 0.0024999895833984371),
    (4, 1.0, 3.1051061453278597, 0.24019372387008974),
    (4, 20.0, 18.243976481784044, 0.92598774858288473),
    (4, 10000.0, 9988.9412675397746, 0.99985000375037505),
    (7, 0.01, 3.4987353215372456, 0.0014285691610036222),
    (7, 1.0, 3.5695994666559556, 0.14064682573322849),
    (7, 20.0, 16.372700278624021, 0.85787172011661809),
    (7, 10000.0, 9977.8823100682995, 0.999700030003),
    (10, 0.01, 3.2387477794569172, 0.00099999916666785714),
    (10, 1.0, 3.2885364065453559, 0.099178382399712559),
    (10, 20.0, 14.387020815448522, 0.79551906786542478),
    (10, 10000.0, 9966.8231275855806, 0.99955007875787308),
    (50, 0.01, -25.473334071317389, 0.00019999999230769288),
    (50, 1.0, -25.463336993445265, 0.019992313385191792),
    (50, 20.0, -21.732794831300809, 0.35196610465253603),
    (50, 10000.0, 9819.3458600879097, 0.99755287903377294),
];
