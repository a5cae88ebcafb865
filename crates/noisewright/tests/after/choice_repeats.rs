//! Bootstraps, profiles, cross-validation and penalties of choices.

use super::*;
use noisewright::fit::{ChoiceSets, FitOptions, IntervalKind, Penalty, fit_choices};
use noisewright::parts::Resampled;

/// Thirty pairs whose features differ by one, of which twenty chose the larger: p = e^a/(1 + e^a) is 2/3.
fn pairs(options: &FitOptions) -> Fit {
    let model = Model::from_features(&["x"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let points = Points::from_columns(&["x"], &[[1.0, 0.0].repeat(30)]).unwrap();
    let strata: Vec<u64> = (0..60).map(|i| i / 2).collect();
    let chosen: Vec<bool> = (0..60).map(|i| (i % 2 == 0) == (i / 2 < 20)).collect();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    fit_choices(&model, &points, sets, options).unwrap()
}

/// 20 log p + 10 log(1 − p) at the log-odds a.
fn log_likelihood(a: f64) -> f64 {
    20.0 * a - 30.0 * (1.0 + a.exp()).ln()
}

#[test]
fn profiles_are_those_of_the_binomial_likelihood() {
    let fit = pairs(&FitOptions { interval: IntervalKind::Profile, ..FitOptions::default() });
    let estimate = &fit.parameters[0];
    // The χ² quantile with one degree of freedom at 95 %.
    let rise = 0.5 * 3.841_458_820_694_124;
    for end in [estimate.lower, estimate.upper] {
        let fall = log_likelihood(2_f64.ln()) - log_likelihood(end);
        assert!((fall - rise).abs() < 1e-5, "{end}: {fall}");
    }
}

/// Strata are drawn with replacement, so that the replicates are logits of binomial shares: their standard deviation by summing over
/// the binomial distribution of thirty draws with probability 2/3, whose ends have no finite logit and are left out.
#[test]
fn the_bootstrap_draws_whole_strata() {
    let fit = pairs(&FitOptions { bootstrap: Some(2000), seed: 3, ..FitOptions::default() });
    let bootstrap = fit.bootstrap.as_ref().unwrap();
    assert_eq!(bootstrap.unit, Resampled::Strata);
    let mut weight = (1.0_f64 / 3.0).powi(30);
    let (mut mass, mut mean, mut square) = (0.0, 0.0, 0.0);
    for k in 1..30 {
        weight *= 2.0 * f64::from(31 - k) / f64::from(k);
        let logit = (f64::from(k) / f64::from(30 - k)).ln();
        (mass, mean, square) = (mass + weight, mean + weight * logit, square + weight * logit * logit);
    }
    let sd = (square / mass - (mean / mass).powi(2)).sqrt();
    let found = &bootstrap.estimates[0].1;
    // 2,000 replicates know a standard deviation to 1/√4000, four of which and a little for the kurtosis of a logit.
    assert!((found.se / sd - 1.0).abs() < 0.08, "{} and {sd}", found.se);
    assert!((found.bias - (mean / mass - 2_f64.ln())).abs() < 4.0 * sd / 2000_f64.sqrt(), "{found:?}");
}

/// Three pairs a fold, k of them with the larger chosen: the others give p = (20 − k)/27 for them.
#[test]
fn held_out_strata_have_the_probability_of_the_others_fit() {
    let fit = pairs(&FitOptions { cross_validate: Some(10), ..FitOptions::default() });
    let held_out = fit.held_out.as_ref().unwrap();
    let of = |k: i32| {
        let p = f64::from(20 - k) / 27.0;
        f64::from(k) * p.ln() + f64::from(3 - k) * (1.0 - p).ln()
    };
    let counts = held_out.by_fold.iter().map(|sum| (0..=3).find(|k| (of(*k) - sum).abs() < 1e-7).unwrap());
    assert_eq!(counts.sum::<i32>(), 20);
    assert!((held_out.by_fold.iter().sum::<f64>() - held_out.log_likelihood).abs() < 1e-9);
}

/// Choices of one of four by two features of six.
fn wide() -> (Points, Vec<u64>, Vec<bool>) {
    let normal = Normal::with_std(0.0, 1.0).unwrap();
    let columns: Vec<Vec<f64>> = (0..6).map(|j| sample(&normal, 2000, j).into_values()).collect();
    let luck: Vec<f64> = sample(&Uniform::new(0.0, 1.0).unwrap(), 2000, 77).into_values();
    let utility: Vec<f64> =
        (0..2000).map(|i| columns[0][i] - 0.7 * columns[1][i] - (-luck[i].ln()).ln()).collect();
    let chosen = (0..2000).map(|i| (0..4).all(|k| utility[i] >= utility[i / 4 * 4 + k])).collect();
    let points = Points::from_columns(&["a", "b", "c", "d", "e", "f"], &columns).unwrap();
    (points, (0..2000).map(|i| i / 4).collect(), chosen)
}

fn features() -> Model {
    let names = ["a", "b", "c", "d", "e", "f"];
    Model::from_features(&names, Space::real(&names).unwrap(), vec![]).unwrap()
}

/// The gradient of the mean loss over strata, summed row by row.
fn gradient(points: &Points, chosen: &[bool], theta: &[f64]) -> Vec<f64> {
    let mut slope = vec![0.0; theta.len()];
    for first in (0..points.rows()).step_by(4) {
        let odds: Vec<f64> = (first..first + 4)
            .map(|i| theta.iter().enumerate().map(|(j, t)| t * points.view().get(i, j)).sum::<f64>().exp())
            .collect();
        let total: f64 = odds.iter().sum();
        for (k, odds) in odds.iter().enumerate() {
            let excess = odds / total - f64::from(u8::from(chosen[first + k]));
            slope.iter_mut().enumerate().for_each(|(j, s)| *s += excess * points.view().get(first + k, j));
        }
    }
    slope.iter().map(|s| 4.0 * s / points.rows() as f64).collect()
}

/// The conditions of a minimum: where a parameter is not zero, its slope is −λ s_j sign θ_j, and elsewhere it is less than λ s_j.
#[test]
fn lassos_of_choices_fulfil_their_conditions() {
    let (points, strata, chosen) = wide();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let strength = 0.05;
    let options =
        FitOptions { penalty: Some(Penalty::lasso(strength)), tolerance: 1e-9, ..FitOptions::default() };
    let fit = fit_choices(&features(), &points, sets, &options).unwrap();
    let (theta, scales) = (fit.theta(), &fit.penalty.as_ref().unwrap().scales);
    let slope = gradient(&points, &chosen, &theta);
    for j in 0..6 {
        let most = strength * scales[j];
        if theta[j] == 0.0 {
            assert!(slope[j].abs() <= most * (1.0 + 1e-9), "{j}: {}", slope[j]);
        } else {
            assert!((slope[j] + most * theta[j].signum()).abs() < 1e-7, "{j}: {}", slope[j]);
        }
    }
    assert!(theta[0] > 0.0 && theta[1] < 0.0);
}

#[test]
fn the_strength_of_choices_is_cross_validated_and_the_selected_refitted() {
    let (points, strata, chosen) = wide();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let penalty: Penalty = "lasso:auto".parse().unwrap();
    let options = FitOptions { penalty: Some(penalty.refit_selected()), ..FitOptions::default() };
    let fit = fit_choices(&features(), &points, sets, &options).unwrap();
    assert_eq!(fit.penalty.as_ref().unwrap().selected, ["a", "b"]);
    for (name, truth) in [("a", 1.0), ("b", -0.7)] {
        let e = fit.get(name).unwrap();
        assert!((e.estimate - truth).abs() < 4.0 * e.se, "{e:?}");
    }
    assert!(fit.get("c").unwrap().fixed && fit.log_likelihood.is_some());
    let ridge = FitOptions { penalty: Some("ridge:auto".parse().unwrap()), ..FitOptions::default() };
    let fit = fit_choices(&features(), &points, sets, &ridge).unwrap();
    assert!(fit.parameters.iter().all(|e| e.se > 0.0) && fit.at_rows.is_some());
}
