//! Means, surfaces and energies under any state: against closed forms, and their own claimed errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use noisewright::normalizer::Dependence;
use noisewright::normalizer::states::{
    Coordinate, Observable, Origin, Pooled, StatesOptions, SurfaceOptions, convergence, reweight,
};
use noisewright::parts::{Bins, SurfaceReference, SurfaceWarning};
use noisewright::{Error, Normal, sample};

const MEANS: [f64; 4] = [0.0, 1.0, 2.0, 1.5];
const COUNTS: [usize; 4] = [400, 300, 400, 0];

fn independent() -> StatesOptions {
    StatesOptions { dependence: Dependence::Independent, ..StatesOptions::default() }
}

/// Draws of three unit normals; of the fourth state there are none.
fn draws(seed: u64) -> Vec<f64> {
    let of = |k: usize| sample(&Normal::with_std(MEANS[k], 1.0).unwrap(), COUNTS[k], 10 * seed + k as u64);
    (0..3).flat_map(|k| of(k).values().to_vec()).collect()
}

fn log_f(x: &[f64]) -> Vec<Vec<f64>> {
    MEANS.iter().map(|m| x.iter().map(|x| -0.5 * (x - m).powi(2)).collect()).collect()
}

fn with<T>(x: &[f64], options: &StatesOptions, work: impl FnOnce(&Pooled<'_>, &StatesOptions) -> T) -> T {
    let columns = log_f(x);
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    work(&Pooled { log_f: &slices, origin: Origin::Counts(&COUNTS), chains: None }, options)
}

/// The z-scores of means, differences, energies and surfaces whose truths are known have the variance one: within four times
/// √(2/200) over 200 data sets.
#[test]
fn claimed_errors_are_the_real_ones() {
    let mut squares = [0.0; 4];
    for seed in 0..200 {
        let x = draws(seed);
        with(&x, &independent(), |pooled, options| {
            let reweighting = reweight(pooled, options).unwrap();
            let all: Vec<Observable<'_>> = (0..4).map(|k| Observable::new("x", &x, k)).collect();
            let means = reweighting.expectations(&all).unwrap();
            squares[0] += ((means.values()[3] - 1.5) / means.se()[3]).powi(2);
            let (difference, se) = means.difference(0, 3);
            squares[1] += ((difference - 1.5) / se).powi(2);
            // The mean of −log f is ½ and log Z the same in all states, so that the entropies are.
            let energies = reweighting.energies().unwrap();
            squares[2] += (energies.entropy[2] / energies.entropy_se[2]).powi(2);
            let cells =
                SurfaceOptions { bins: vec![Bins::Edges(vec![0.5, 1.5, 2.5])], ..SurfaceOptions::default() };
            let options = SurfaceOptions { reference: SurfaceReference::Point(vec![2.0]), ..cells };
            let surface = reweighting.surface(&[Coordinate::new("x", &x)], 3, &options).unwrap();
            // Both cells are as probable under N(1.5, 1).
            squares[3] += (surface.free_energy()[0] / surface.se()[0]).powi(2);
            assert_eq!(surface.se()[1], 0.0);
        });
    }
    for (k, sum) in squares.iter().enumerate() {
        assert!((sum / 200.0 - 1.0).abs() < 0.4, "{k}: {}", sum / 200.0);
    }
}

#[test]
fn a_constant_has_no_error_and_a_shift_changes_none() {
    let x = draws(1);
    let (one, far): (Vec<f64>, Vec<f64>) = (vec![7.0; x.len()], x.iter().map(|x| 1e7 - 3.0 * x).collect());
    for options in [independent(), StatesOptions::default()] {
        with(&x, &options, |pooled, options| {
            let reweighting = reweight(pooled, options).unwrap();
            let asked = [
                Observable::new("x", &x, 3),
                Observable::new("one", &one, 3),
                Observable::new("far", &far, 3),
            ];
            let means = reweighting.expectations(&asked).unwrap();
            assert_eq!(means.values()[1], 7.0);
            assert!(means.se()[1] < 1e-12);
            assert!((means.se()[2] / means.se()[0] - 3.0).abs() < 1e-6, "{:?}", means.se());
            let correlation =
                means.covariance(0, 2) / (means.covariance(0, 0) * means.covariance(2, 2)).sqrt();
            assert!((correlation + 1.0).abs() < 1e-6, "{correlation}");
        });
    }
}

#[test]
fn weights_are_those_of_the_means() {
    let x = draws(2);
    with(&x, &independent(), |pooled, options| {
        let reweighting = reweight(pooled, options).unwrap();
        let weights = reweighting.weights(3).unwrap();
        let mean: f64 = weights.iter().zip(&x).map(|(w, x)| w * x).sum();
        let found = reweighting.expectations(&[Observable::new("x", &x, 3)]).unwrap();
        assert!((mean - found.values()[0]).abs() < 1e-12);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    });
}

#[test]
fn cells_with_few_draws_have_no_error() {
    let x = draws(3);
    with(&x, &independent(), |pooled, options| {
        let reweighting = reweight(pooled, options).unwrap();
        let far = SurfaceOptions {
            bins: vec![Bins::Edges(vec![-9.0, -2.5, 1.0, 9.0, 20.0])],
            ..SurfaceOptions::default()
        };
        let surface = reweighting.surface(&[Coordinate::new("x", &x)], 2, &far).unwrap();
        assert_eq!((surface.se()[0], surface.free_energy()[3]), (f64::INFINITY, f64::INFINITY));
        assert!(surface.se()[1].is_finite());
        assert!(
            matches!(surface.warnings(), [SurfaceWarning::FewDraws { cells: 1, of: 4 }]),
            "{:?}",
            surface.warnings()
        );
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let x = draws(4);
    with(&x, &independent(), |pooled, options| {
        let reweighting = reweight(pooled, options).unwrap();
        let mut wrong = x.clone();
        wrong[6] = f64::NAN;
        let means = |values: &[f64], state| reweighting.expectations(&[Observable::new("x", values, state)]);
        assert!(matches!(means(&wrong, 0), Err(Error::OutsideDomain { row: 7, .. })));
        assert!(matches!(means(&x[1..], 0), Err(Error::Shape { .. })));
        assert!(matches!(means(&x, 4), Err(Error::Shape { .. })));
        assert!(matches!(convergence(pooled, options, 0), Err(Error::Option { .. })));
    });
}
