//! Ratios without features, bridges, and mutual information against closed forms.

use noisewright::fit::{Bridges, RatioBasis};
use noisewright::prelude::*;

fn normal(mean: f64, std: f64, rows: usize, seed: u64) -> Points {
    sample(&Normal::with_std(mean, std).unwrap(), rows, seed)
}

/// log N(x; 1, 1) − log N(x; 0, 2²).
fn truth(x: f64) -> f64 {
    -0.5 * (x - 1.0).powi(2) + x * x / 8.0 + 2f64.ln()
}

/// The trapezoidal rule over where both densities are.
fn integral(f: impl Fn(f64) -> f64) -> f64 {
    let (low, high, steps) = (-30.0, 30.0, 60_000);
    let width = (high - low) / f64::from(steps);
    (0..=steps).map(|i| f(low + width * f64::from(i)) * width).sum()
}

#[test]
fn a_ratio_of_normals_has_its_divergences() {
    let (first, second) = (normal(1.0, 1.0, 4000, 1), normal(0.0, 2.0, 5000, 2));
    let found = ratio(&first, &second).run().unwrap();
    let density =
        |x: f64, m: f64, s: f64| (-0.5 * ((x - m) / s).powi(2)).exp() / (s * std::f64::consts::TAU.sqrt());
    let (p, q) = (|x: f64| density(x, 1.0, 1.0), |x: f64| density(x, 0.0, 2.0));
    let js = |x: f64| {
        let (p, q) = (p(x), q(x));
        let part = |a: f64| if a > 0.0 { 0.5 * a * (2.0 * a / (p + q)).ln() } else { 0.0 };
        part(p) + part(q)
    };
    let expected = [
        (&found.divergences.kl, integral(|x| p(x) * truth(x))),
        (&found.divergences.reverse_kl, integral(|x| -q(x) * truth(x))),
        (&found.divergences.js, integral(js)),
        (&found.divergences.pearson, integral(|x| p(x) * truth(x).exp()) - 1.0),
    ];
    for (estimate, truth) in expected {
        let z = (estimate.estimate - truth) / estimate.se;
        assert!(z.abs() < 4.0 && estimate.se < 0.2 * truth, "{} {estimate:?} {truth}", estimate.name);
    }
    assert!(found.test.p_value < 1e-10 && found.test.p_value_permutation == Some(1.0 / 500.0));
}

#[test]
fn the_log_ratio_is_found_at_points_by_every_basis() {
    let (first, second) = (normal(1.0, 1.0, 4000, 3), normal(0.0, 2.0, 4000, 4));
    let places = [-1.0, 0.0, 0.7, 2.0, 3.0];
    for basis in [RatioBasis::Auto, RatioBasis::Quadratic, RatioBasis::Splines, RatioBasis::Centers] {
        let found = ratio(&first, &second).basis(basis).permutations(0).run().unwrap();
        let there = found.log_ratio_at(View::new(1, places.len(), &places)).unwrap();
        for (x, at) in places.iter().zip(there) {
            let half = at.upper - at.value;
            // Two and a half times the half-width is five standard errors.
            assert!(
                (at.value - truth(*x)).abs() < 2.5 * half && half < 0.6,
                "{basis:?} {x} {at:?} {}",
                truth(*x)
            );
        }
    }
}

#[test]
fn importance_weights_carry_the_second_sample_to_the_first() {
    let (first, second) = (normal(0.5, 1.0, 4000, 5), normal(0.0, 1.2, 4000, 6));
    let found = ratio(&first, &second).permutations(0).run().unwrap();
    let weights = &found.importance.weights;
    let x = second.values();
    let mean = x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() / weights.iter().sum::<f64>();
    assert!(
        (mean - 0.5).abs() < 4.0 / found.importance.effective_size.sqrt()
            && found.importance.effective_size < 4000.0
    );
    // Rows of the first sample are typical of it, far ones of the second are not.
    let typical = found.typicality(View::new(1, 2, &[0.5, -4.0])).unwrap();
    assert!(typical[0] > 0.2 && typical[1] < 0.01, "{typical:?}");
}

#[test]
fn samples_far_apart_are_refused_directly_and_compared_through_bridges() {
    // KL(N(0, 1), N(8, 1)) = 32, and the two do not meet among 2,000 rows.
    let (first, second) = (normal(0.0, 1.0, 2000, 7), normal(8.0, 1.0, 2500, 8));
    let model = Model::from_features(&["x"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let one = ratio(&first, &second).model(&model).bridges(Bridges::Count(1)).permutations(0).run();
    assert_eq!(one.unwrap_err().code(), "bridge-apart");
    let found = ratio(&first, &second).model(&model).bridges(Bridges::Auto).permutations(0).run().unwrap();
    let kl = &found.divergences.kl;
    assert!((kl.estimate - 32.0).abs() < 4.0 * kl.se && kl.se < 1.5, "{kl:?}");
    let divergences: Vec<f64> = found.bridges.iter().map(|bridge| bridge.divergence).collect();
    let (least, most) = divergences.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), d| (a.min(*d), b.max(*d)));
    assert!(most < 2.5 * least, "{divergences:?}");
    assert!(
        found.bridges.len() > 2 && found.bridges[0].from == 0.0 && found.bridges.last().unwrap().to == 1.0
    );
    // The log ratio is 32 − 8x; with four bridges said outright the same.
    for bridges in [Bridges::Auto, Bridges::Count(4)] {
        let found = ratio(&first, &second).model(&model).bridges(bridges).permutations(0).run().unwrap();
        let at = found.log_ratio_at(View::new(1, 1, &[4.0])).unwrap()[0];
        assert!(at.value.abs() < 4.0 * at.se && at.se < 1.5, "{at:?}");
    }
}

#[test]
fn the_asymptotic_test_has_its_level() {
    // 300 pairs of samples of one density: the share below 5 % has a standard deviation of 1.26 %.
    let below = (0..300).filter(|seed| {
        let (first, second) = (normal(0.0, 1.0, 120, 1000 + seed), normal(0.0, 1.0, 150, 5000 + seed));
        ratio(&first, &second).basis(RatioBasis::Quadratic).permutations(0).run().unwrap().test.p_value < 0.05
    });
    let share = below.count() as f64 / 300.0;
    assert!((share - 0.05).abs() < 4.0 * 0.0126, "{share}");
}

#[test]
fn divergences_of_equal_densities_are_zero_on_the_average() {
    // Next to equal densities a divergence is a half of a χ² with k = 2 degrees of freedom, times 1/n₁ + 1/n₂ and its curvature, less
    // its mean. Over 200 pairs of samples the mean has the standard error that their own spread gives; four of them are allowed.
    let pairs: Vec<_> = (0..200)
        .map(|seed| (normal(0.0, 1.0, 200, 20_000 + seed), normal(0.0, 1.0, 600, 30_000 + seed)))
        .collect();
    let found: Vec<_> = pairs
        .iter()
        .map(|(a, b)| ratio(a, b).basis(RatioBasis::Quadratic).permutations(0).run().unwrap().divergences)
        .collect();
    // ½(1/n₁ + 1/n₂) times the standard deviation of χ²₂, which is 2.
    let scale = 1.0 / 200.0 + 1.0 / 600.0;
    type Pick = fn(&noisewright::parts::RatioDivergences) -> &Estimate;
    let all: [(Pick, f64); 3] = [(|d| &d.kl, 1.0), (|d| &d.reverse_kl, 1.0), (|d| &d.js, 0.25)];
    for (pick, curvature) in all {
        let expected = curvature * scale;
        let values: Vec<f64> = found.iter().map(|d| pick(d).estimate).collect();
        let mean = values.iter().sum::<f64>() / 200.0;
        let spread = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
        assert!(mean.abs() < 4.0 * spread / 200f64.sqrt(), "{mean} {spread}");
        // The variance of a sample variance of χ²₂: excess kurtosis 6, so that it is (6 + 2)/200 of its square.
        assert!((spread / expected - 1.0).abs() < 4.0 * 0.5 * (8.0f64 / 200.0).sqrt(), "{spread} {expected}");
        let covered = found.iter().filter(|d| pick(d).lower <= 0.0 && pick(d).upper >= 0.0).count();
        assert!(covered >= 178, "{covered} of 200, 190 expected with a standard deviation of 3.1");
    }
}

#[test]
fn mutual_information_of_normal_pairs() {
    let correlated = |rho: f64, seed| {
        let noise = MultivariateNormal::new(&[0.0, 0.0], &[1.0, rho, rho, 1.0]).unwrap();
        sample(&noise, 3000, seed).with_names(&["x", "y"]).unwrap()
    };
    for (rho, seed) in [(0.0, 1), (0.6, 2), (0.95, 3)] {
        let found = information(&correlated(rho, seed), &["x"], &["y"]).run().unwrap();
        let truth = -0.5 * f64::ln(1.0 - rho * rho);
        let own = &found.information;
        assert!((own.estimate - truth).abs() < 4.0 * own.se + 1e-9 && own.se < 0.08, "{rho} {own:?} {truth}");
    }
    let refused = information(&correlated(0.5, 4), &["x"], &["x"]).run().unwrap_err();
    assert_eq!(refused.to_string(), "`between` has `x` on both sides: give every variable to one side");
}

#[test]
fn threads_do_not_change_a_bit() {
    let (first, second) = (normal(1.0, 1.0, 1500, 9), normal(0.0, 1.5, 2500, 10));
    let at = |threads: usize, bridges: Bridges| {
        let found = ratio(&first, &second).bridges(bridges).threads(threads).run().unwrap();
        noisewright::to_json(&found).unwrap()
    };
    for bridges in [Bridges::Count(1), Bridges::Count(3)] {
        assert_eq!(at(1, bridges), at(3, bridges));
    }
}

#[test]
fn misuse_is_said_in_a_sentence() {
    let (first, second) = (normal(1.0, 1.0, 100, 1), normal(0.0, 1.0, 100, 2));
    let none = ratio(&first, &second).bridges(Bridges::Count(0)).run().unwrap_err();
    assert_eq!(none.to_string(), "`bridges` must be between 1 and 512, not 0");
    let weights = vec![1.0; 100];
    let weighted = ratio(Data::from(&first).with_weights(&weights), &second).run().unwrap_err();
    assert_eq!(weighted.code(), "option-unfit");
    let few = ratio(&normal(0.0, 1.0, 5, 1), &second).run().unwrap_err();
    assert_eq!(few.code(), "too-few-points");
}
