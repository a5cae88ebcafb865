//! Scores and second derivatives of every energy against differences, and linear energies for being linear.
#![allow(clippy::unwrap_used, clippy::excessive_precision)]

use crate::common::*;
use noisewright::internal::energy::{GaussianMoments, Student, TruncatedGaussianMoments};
use noisewright::{Energy, Points};
use proptest::prelude::*;

fn points(case: &Case, numbers: &[f64]) -> Points {
    let columns = case.energy.dimension();
    let rows = numbers.len() / columns;
    Points::unnamed(columns, rows, numbers[..rows * columns].iter().map(|u| (case.variable)(*u)).collect())
}

fn numbers(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-0.999..0.999_f64, count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_score_is_the_derivative_of_the_value(u in numbers(NUMBERS), x in numbers(12)) {
        for case in cases() {
            let theta = (case.parameters)(&u);
            let points = points(&case, &x);
            let score = score(case.energy.as_ref(), &theta, points.view());
            for j in 0..theta.len() {
                for i in 0..points.rows() {
                    let want = difference(
                        along(&theta, j, |t| value(case.energy.as_ref(), t, points.view())[i]),
                        theta[j],
                    );
                    let got = score[j * points.rows() + i];
                    prop_assert!(close(got, want, 2e-6, 1e-2), "{} d{j}: {got} {want} at {theta:?}", case.name);
                }
            }
        }
    }

    #[test]
    fn the_curvature_is_the_derivative_of_the_weighted_score(
        u in numbers(NUMBERS),
        x in numbers(12),
        w in numbers(12),
    ) {
        for case in cases() {
            let theta = (case.parameters)(&u);
            let points = points(&case, &x);
            let (rows, k) = (points.rows(), theta.len());
            let mut out = vec![0.5; k * k];
            prop_assert!(case.energy.add_curvature(&theta, points.view(), &w[..rows], &mut out).unwrap());
            for i in 0..k {
                let weighted = |t: &[f64]| -> f64 {
                    let score = score(case.energy.as_ref(), t, points.view());
                    (0..rows).map(|r| w[r] * score[i * rows + r]).sum()
                };
                for j in 0..k {
                    let want = difference(along(&theta, j, weighted), theta[j]);
                    let got = out[j * k + i] - 0.5;
                    prop_assert!(close(got, want, 2e-6, 1e-1), "{} {i}{j}: {got} {want} at {theta:?}", case.name);
                }
            }
        }
    }

    #[test]
    fn a_linear_energy_has_a_score_that_no_parameter_moves(u in numbers(NUMBERS), v in numbers(NUMBERS), x in numbers(12)) {
        for case in cases().iter().filter(|c| c.energy.is_linear()) {
            let points = points(case, &x);
            let here = score(case.energy.as_ref(), &(case.parameters)(&u), points.view());
            let there = score(case.energy.as_ref(), &(case.parameters)(&v), points.view());
            prop_assert_eq!(here, there, "{}", case.name);
        }
    }

    #[test]
    fn values_do_not_depend_on_whether_the_score_is_asked_for(u in numbers(NUMBERS), x in numbers(700)) {
        for case in cases() {
            let theta = (case.parameters)(&u);
            let points = points(&case, &x);
            let mut with = vec![f64::NAN; points.rows()];
            let mut scores = vec![f64::NAN; points.rows() * theta.len()];
            case.energy.evaluate(&theta, points.view(), &mut with, Some(&mut scores)).unwrap();
            prop_assert_eq!(&with, &value(case.energy.as_ref(), &theta, points.view()), "{}", case.name);
            prop_assert!(scores.iter().all(|s| s.is_finite()), "{}", case.name);
            // A part of the rows, seen through a view, gives the same numbers.
            let part = points.view().slice(points.rows() / 3..points.rows() / 2);
            let from = points.rows() / 3;
            let sliced = value(case.energy.as_ref(), &theta, part);
            prop_assert_eq!(&with[from..from + sliced.len()], &sliced[..], "{}", case.name);
        }
    }
}

#[test]
fn no_points_are_no_trouble() {
    for case in cases() {
        let theta = (case.parameters)(&[0.3; NUMBERS]);
        let empty = Points::unnamed(case.energy.dimension(), 0, vec![]);
        case.energy.evaluate(&theta, empty.view(), &mut [], Some(&mut [])).unwrap();
        let mut out = vec![0.0; theta.len() * theta.len()];
        assert!(case.energy.add_curvature(&theta, empty.view(), &[], &mut out).unwrap());
        assert!(out.iter().all(|v| *v == 0.0), "{}", case.name);
    }
}

#[test]
fn nonlinear_energies_say_so() {
    let nonlinear: Vec<_> = cases().iter().filter(|c| !c.energy.is_linear()).map(|c| c.name).collect();
    assert_eq!(
        nonlinear,
        [
            "moments 1-D",
            "moments 2-D",
            "moments 3-D",
            "von Mises, polar",
            "truncated gaussian, moments",
            "student",
            "student, free dof",
            "mixture",
            "correlation",
        ]
    );
}

#[test]
fn a_student_far_out_has_the_tail_of_its_power() {
    let points = Points::unnamed(1, 2, vec![1e200, -1e200]);
    let theta = [0.0, 1.0, 3.0];
    let expected = -2.0 * (2.0 * 1e200_f64.ln() - 3f64.ln());
    for v in value(&Student::free(), &theta, points.view()) {
        assert!((v - expected).abs() < 1e-12 * expected.abs(), "{v} {expected}");
    }
    assert!(score(&Student::free(), &theta, points.view()).iter().all(|s| s.is_finite()));
    let mut out = vec![0.0; 9];
    Student::free().add_curvature(&theta, points.view(), &[1.0, 1.0], &mut out).unwrap();
    // ∂²/∂scale² of −4·ln(1 + z²/3) tends to −4·(−2)/scale² ·… = −4 for each point: −(ν+1)/scale².
    assert!((out[4] + 8.0).abs() < 1e-12, "{out:?}");
}

#[test]
fn parameters_outside_their_range_are_refused_by_name() {
    let points = Points::unnamed(1, 1, vec![0.0]);
    let refused = |energy: &dyn Energy, theta: &[f64]| {
        energy.evaluate(theta, points.view(), &mut [0.0], None).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&Student::free(), &[0.0, -1.0, 3.0]),
        "scale = -1 is not allowed: it must be positive"
    );
    assert_eq!(refused(&Student::free(), &[0.0, 1.0, 0.0]), "dof = 0 is not allowed: it must be positive");
    assert_eq!(
        refused(&TruncatedGaussianMoments::new(0.0, 1.0).unwrap(), &[0.0, 0.0]),
        "C00 = 0 is not allowed: a variance must be positive"
    );
    let two = Points::unnamed(2, 1, vec![0.0; 2]);
    let error =
        GaussianMoments::new(2).unwrap().evaluate(&[0.0, 0.0, 1.0, 2.0, 3.0], two.view(), &mut [0.0], None);
    assert_eq!(
        error.unwrap_err().to_string(),
        "C11 = 3 is not allowed: the covariance matrix must be positive definite"
    );
}
