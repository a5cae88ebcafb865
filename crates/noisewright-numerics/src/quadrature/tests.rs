//! Integrals with known values: far from one, with kinks, singular at an end, heavy in the tails, divergent.

use super::*;
use std::f64::consts::PI;

type Column = fn(f64) -> f64;

fn one(axis: Axis, f: Column) -> Quadrature {
    let run = |x: &[f64], _: usize, out: &mut [f64]| {
        for (o, x) in out.iter_mut().zip(x) {
            *o = f(*x);
        }
    };
    integrate(&[axis], 1, &Options::default(), &run).unwrap()
}

fn real(centers: &[(f64, f64)]) -> Axis {
    Axis::line(f64::NEG_INFINITY, f64::INFINITY, &[], centers)
}

fn close(result: &Quadrature, exact: f64, tolerance: f64) {
    let error = result.log_integrals[0] - exact;
    assert!(error.abs() < tolerance, "{} instead of {exact}", result.log_integrals[0]);
    assert!(result.relative_errors[0] < 1e-9, "claims {}", result.relative_errors[0]);
    assert!(
        error.abs() <= 4.0 * result.relative_errors[0].max(1e-15 * (10.0 + exact.abs())),
        "claims {}",
        result.relative_errors[0]
    );
}

#[test]
fn a_gaussian_far_away_and_far_below_one() {
    let f: Column = |x| -0.5 * ((x - 1e4) / 1e-3).powi(2) - 1e5;
    close(&one(real(&[(1e4, 1e-3)]), f), 0.5 * (2.0 * PI).ln() + 1e-3f64.ln() - 1e5, 1e-10);
}

#[test]
fn the_overlap_of_two_far_apart_gaussians_is_found_between_them() {
    // ∫ sqrt(p q) of N(0,1) and N(1000,1) is exp(−1000²/8).
    let f: Column = |x| {
        let (p, q) = (-0.5 * x * x, -0.5 * (x - 1000.0) * (x - 1000.0));
        0.5 * (p + q) - 0.5 * (2.0 * PI).ln()
    };
    close(&one(real(&[(0.0, 1.0), (1000.0, 1.0)]), f), -1e6 / 8.0, 1e-9);
}

#[test]
fn heavy_tails_down_to_the_cauchy() {
    close(&one(real(&[(0.0, 1.0)]), |x| -(1.0 + x * x).ln()), PI.ln(), 1e-10);
}

#[test]
fn an_integrable_singularity_at_zero() {
    // Γ(0.1): x^{-0.9} e^{-x}.
    let axis = Axis::line(0.0, f64::INFINITY, &[], &[(0.0, 1.0)]);
    close(&one(axis, |x| -0.9 * x.ln() - x), libm::lgamma(0.1), 1e-9);
}

#[test]
fn a_kink_that_is_named_costs_nothing_and_one_that_is_not_is_found() {
    let f: Column = |x| -(x - 0.3).abs();
    close(&one(Axis::line(f64::NEG_INFINITY, f64::INFINITY, &[0.3], &[(0.0, 1.0)]), f), 2f64.ln(), 1e-11);
    close(&one(real(&[(0.0, 1.0)]), f), 2f64.ln(), 1e-9);
}

#[test]
fn divergence_is_named_with_its_end() {
    let constant = one(real(&[(0.0, 1.0)]), |_| 0.0);
    assert!(constant.divergences[0].is_some());
    let right = one(real(&[(0.0, 1.0)]), |x| 0.1 * x);
    assert_eq!(right.divergences[0], Some(Divergence { axis: 0, end: End::Upper, at_break: false }));
    assert_eq!(right.log_integrals[0], f64::INFINITY);
    let pole = one(Axis::line(0.0, 1.0, &[], &[(0.5, 0.5)]), |x| -1.01 * x.ln());
    assert_eq!(pole.divergences[0], Some(Divergence { axis: 0, end: End::Lower, at_break: false }));
    let hole = one(real(&[(0.0, 1.0)]), |x| if x < -1.5 { f64::INFINITY } else { -x * x });
    assert_eq!(hole.divergences[0], Some(Divergence { axis: 0, end: End::Lower, at_break: false }));
    assert_eq!(hole.log_integrals[0], f64::INFINITY);
    let pole = one(Axis::line(0.0, 1.0, &[], &[(0.5, 0.5)]), |x| -1.5 * (1.0 - x).ln());
    assert_eq!(pole.divergences[0], Some(Divergence { axis: 0, end: End::Upper, at_break: false }));
    let slow = one(real(&[(0.0, 1.0)]), |x| -x.abs().ln_1p());
    assert!(slow.divergences[0].is_some());
}

#[test]
fn an_integrable_pole_where_floating_point_numbers_run_out_is_not_divergent() {
    // The arcsine law, whose mass beyond the last number below 1 is 1e-8; the panels there cannot be graded.
    let f: Column = |x| -0.5 * x.ln() - 0.5 * (1.0 - x).ln();
    for centers in [&[(0.5, 0.25)][..], &[(0.5, 0.25), (1.0 - 1e-12, 1.8e-12), (1e-12, 1.8e-12)]] {
        let result = one(Axis::line(0.0, 1.0, &[], centers), f);
        assert_eq!(result.divergences[0], None);
        let off = (result.log_integrals[0] - PI.ln()).abs();
        assert!(off < 1e-7 && off <= result.relative_errors[0], "{off:e} {:e}", result.relative_errors[0]);
    }
}

#[test]
fn poles_cost_few_evaluations() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let evaluations = |f: Column, axis: Axis, exact: f64| {
        let count = AtomicUsize::new(0);
        let run = |x: &[f64], rows: usize, out: &mut [f64]| {
            count.fetch_add(rows, Ordering::Relaxed);
            out.iter_mut().zip(x).for_each(|(o, x)| *o = f(*x));
        };
        let options = Options { relative_tolerance: 1e-13, ..Options::default() };
        let result = integrate(&[axis], 1, &options, &run).unwrap();
        assert!(
            (result.log_integrals[0] - exact).abs() <= result.relative_errors[0].max(1e-12),
            "{result:?}"
        );
        count.into_inner()
    };
    // Poles at both ends, one of them where numbers are 1e-16 apart: splitting its panels mends no rounding.
    let arcsine: Column = |x| -0.5 * x.ln() - 0.5 * (1.0 - x).ln();
    let count = evaluations(arcsine, Axis::line(0.0, 1.0, &[], &[(0.5, 0.25)]), PI.ln());
    assert!(count < 50_000, "{count}");
    // Γ(0.05) is hundreds of halvings away from its last digit.
    let pole: Column = |x| -0.95 * x.ln() - x;
    let axis = Axis::line(0.0, f64::INFINITY, &[], &[(0.0, 1.0)]);
    let count = evaluations(pole, axis, libm::lgamma(0.05));
    assert!(count < 100_000, "{count}");
}

#[test]
fn integers_are_summed_exactly() {
    // Poisson with mean 1e5 has mass one.
    let f: Column = |x| x * 1e5f64.ln() - 1e5 - libm::lgamma(x + 1.0);
    let result = one(Axis::integers(&[(1e5, 316.0)]), f);
    assert!(result.log_integrals[0].abs() < 1e-9, "{}", result.log_integrals[0]);
    // Geometric with a long tail.
    let f: Column = |x| x * 0.9999f64.ln() + 1e-4f64.ln();
    assert!(one(Axis::integers(&[(0.0, 1.0)]), f).log_integrals[0].abs() < 1e-9);
}

#[test]
fn a_correlated_gaussian_in_two_and_three_dimensions() {
    let centers = [(0.0, 1.0)];
    let flat = |x: &[f64], rows: usize, out: &mut [f64]| {
        for i in 0..rows {
            let (a, b) = (x[i], x[rows + i]);
            out[i] = -(a * a - 1.2 * a * b + b * b) / (2.0 * 0.64);
        }
    };
    let axes = [real(&centers), real(&centers)];
    close(&integrate(&axes, 1, &Options::default(), &flat).unwrap(), (2.0 * PI * 0.8).ln(), 1e-10);
    let solid = |x: &[f64], rows: usize, out: &mut [f64]| {
        for i in 0..rows {
            out[i] = -0.5 * (x[i].powi(2) + x[rows + i].powi(2) + x[2 * rows + i].powi(2));
        }
    };
    let axes = [real(&centers), real(&centers), real(&centers)];
    let options = Options { relative_tolerance: 1e-9, ..Options::default() };
    close(&integrate(&axes, 1, &options, &solid).unwrap(), 1.5 * (2.0 * PI).ln(), 1e-9);
}

#[test]
fn a_discrete_and_a_continuous_axis_mix() {
    let f = |x: &[f64], rows: usize, out: &mut [f64]| {
        for i in 0..rows {
            out[i] = -0.5 * (x[i] - 3.0 * x[rows + i]).powi(2);
        }
    };
    let axes = [real(&[(0.0, 1.0)]), Axis::states(&[-1.0, 0.0, 2.0])];
    close(&integrate(&axes, 1, &Options::default(), &f).unwrap(), 3f64.ln() + 0.5 * (2.0 * PI).ln(), 1e-10);
}

#[test]
fn not_a_number_is_an_error_that_says_where() {
    let f = |x: &[f64], _: usize, out: &mut [f64]| {
        for (o, x) in out.iter_mut().zip(x) {
            *o = (x - 0.1).ln();
        }
    };
    let axis = Axis::line(0.0, 1.0, &[], &[]);
    assert!(matches!(
        integrate(&[axis], 1, &Options::default(), &f),
        Err(QuadratureError::NotANumber { point }) if point[0] < 0.1
    ));
}

#[test]
fn a_pole_at_a_break_is_integrated_or_named() {
    let axis = || Axis::line(-1.0, 2.0, &[0.3], &[(0.0, 1.0)]);
    // ∫ |x − 0.3|^{-1/2} = 2 (√1.3 + √1.7).
    let exact = (2.0 * (1.3f64.sqrt() + 1.7f64.sqrt())).ln();
    let result = one(axis(), |x| -0.5 * (x - 0.3).abs().ln());
    assert!((result.log_integrals[0] - exact).abs() < 1e-7, "{}", result.log_integrals[0]);
    let centered = || Axis::line(f64::NEG_INFINITY, f64::INFINITY, &[0.0], &[(0.0, 1.0)]);
    let pole = one(centered(), |x| -x * x - x.abs().ln());
    assert_eq!(pole.divergences[0], Some(Divergence { axis: 0, end: End::Lower, at_break: true }));
}

#[test]
fn a_tolerance_finer_than_rounding_ends() {
    // Logarithms of 1e9 are rounded to 1e-7: no relative accuracy of 1e-10 is to be had.
    let f: Column = |x| -1e9 - 1e9 * (x - 1.0).abs().powi(3);
    let result = one(Axis::line(0.0, 2.0, &[], &[(1.0, 1e-3)]), f);
    assert!(result.relative_errors[0] < 1e-3 && result.log_weights.len() < 100_000);
}

#[test]
fn an_integrand_of_nothing_but_rounding_is_given_up_soon() {
    // The divergence between two equal densities: (1e-14 ± rounding)² p. It kept the search busy for minutes.
    let f: Column = |x| {
        let rounding = (x.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 * 1e-23;
        -0.5 * x * x + 2.0 * (1e-14 + rounding).ln()
    };
    let count = std::sync::atomic::AtomicUsize::new(0);
    let run = |x: &[f64], _: usize, out: &mut [f64]| {
        count.fetch_add(x.len(), std::sync::atomic::Ordering::Relaxed);
        for (o, x) in out.iter_mut().zip(x) {
            *o = f(*x);
        }
    };
    let result = integrate(&[real(&[(0.0, 1.0)])], 1, &Options::default(), &run).unwrap();
    let nodes = count.into_inner();
    assert!(nodes < 500_000, "{nodes} evaluations");
    assert!(result.relative_errors[0] > 1e-8, "rounding is not accuracy: {}", result.relative_errors[0]);
}
