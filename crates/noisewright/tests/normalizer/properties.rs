//! What must hold for any sample: shifts, swaps, the monotone equation, the order of independent draws.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use noisewright::normalizer::{Dependence, Draws, LogZ, LogZOptions, Method, log_z_of_draws};
use proptest::prelude::*;

const METHODS: [Method; 4] = [Method::Is, Method::Revis, Method::IsRevis, Method::Nce];

fn options() -> LogZOptions {
    LogZOptions { dependence: Dependence::Independent, ..LogZOptions::default() }
}

/// Log-ratios of a side, some of them infinite, or far out to the side where draws of that density lie: were they far
/// out to the other, the equation would be flat and its root any number on the plateau.
fn ratios(outside: f64) -> impl Strategy<Value = Vec<f64>> {
    let far = (0.0..300.0_f64).prop_map(move |l| l.copysign(outside));
    let one = prop_oneof![9 => -8.0..8.0_f64, 1 => far, 1 => Just(outside)];
    prop::collection::vec(one, 2..80)
}

fn solve(data: &[f64], noise: &[f64], shift: f64) -> LogZ {
    // log f = ℓ + shift with log p_n = 0; where ℓ = +∞ at data the noise has no density instead.
    let split = |ratios: &[f64]| -> (Vec<f64>, Vec<f64>) {
        let pair = |l: &f64| if *l == f64::INFINITY { (shift, f64::NEG_INFINITY) } else { (l + shift, 0.0) };
        ratios.iter().map(pair).unzip()
    };
    let (data, noise) = (split(data), split(noise));
    log_z_of_draws(Draws::new(&data.0, &data.1), Draws::new(&noise.0, &noise.1), &options()).unwrap()
}

/// Equal up to rounding, infinities and not-a-numbers included.
fn same(a: f64, b: f64, scale: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * scale.max(a.abs())
}

#[test]
fn a_side_outside_the_other_s_support_has_nothing_in_common_with_it() {
    // Data where the noise has no density; and, exchanged, noise where f is zero. No draw of the other side is out of reach.
    let (all_out, at_zero) = ([f64::INFINITY; 2], [0.0; 2]);
    let (plain, swapped) = (solve(&all_out, &at_zero, 0.0), solve(&at_zero, &[f64::NEG_INFINITY; 2], 0.0));
    assert_eq!([plain.overlap, swapped.overlap], [0.0, 0.0]);
    for result in [plain, swapped] {
        assert!(result.get(Method::Nce).unwrap().refused.is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_factor_of_f_is_a_factor_of_z(data in ratios(f64::INFINITY), noise in ratios(f64::NEG_INFINITY), shift in -50.0..50.0_f64) {
        let (plain, shifted) = (solve(&data, &noise, 0.0), solve(&data, &noise, shift));
        for method in METHODS {
            let (a, b) = (plain.get(method).unwrap(), shifted.get(method).unwrap());
            prop_assert!(same(a.log_z + shift, b.log_z, 1.0), "{method}: {} {} {shift}", a.log_z, b.log_z);
            prop_assert_eq!(a.refused.is_some(), b.refused.is_some());
            prop_assert!(same(a.se, b.se, 1.0) && same(a.ess, b.ess, 1.0));
        }
    }

    #[test]
    fn swapping_the_sides_turns_the_sign(data in ratios(f64::INFINITY), noise in ratios(f64::NEG_INFINITY)) {
        let turned = |x: &[f64]| x.iter().map(|l| -l).collect::<Vec<f64>>();
        let (plain, swapped) = (solve(&data, &noise, 0.0), solve(&turned(&noise), &turned(&data), 0.0));
        for (a, b) in [(Method::Is, Method::Revis), (Method::Revis, Method::Is), (Method::IsRevis, Method::IsRevis), (Method::Nce, Method::Nce)] {
            let (a, b) = (plain.get(a).unwrap(), swapped.get(b).unwrap());
            prop_assert!(same(a.log_z, -b.log_z, 1.0), "{a:?} {b:?}");
            prop_assert!(same(a.se, b.se, 1.0) && same(a.lower, -b.upper, 1.0), "{a:?} {b:?}");
        }
        prop_assert!(same(plain.overlap, swapped.overlap, 1.0));
    }

    #[test]
    fn the_bridge_solves_its_equation(data in ratios(f64::INFINITY), noise in ratios(f64::NEG_INFINITY)) {
        let result = solve(&data, &noise, 0.0);
        let c = result.get(Method::Nce).unwrap().log_z;
        if c.is_finite() {
            let log_nu = (noise.len() as f64 / data.len() as f64).ln();
            let sum = |terms: Vec<f64>| noisewright_numerics::summation::log_sum_exp(&terms);
            let ln_sigmoid = |g: f64| -noisewright_numerics::special::softplus(-g);
            let left = sum(data.iter().map(|l| ln_sigmoid(c + log_nu - l)).collect());
            let right = sum(noise.iter().map(|l| ln_sigmoid(l - c - log_nu)).collect());
            prop_assert!((left - right).abs() < 1e-9, "{left} {right}");
        }
    }

    #[test]
    fn the_order_of_independent_draws_does_not_matter(data in ratios(f64::INFINITY), noise in ratios(f64::NEG_INFINITY)) {
        let reversed = |x: &[f64]| x.iter().rev().copied().collect::<Vec<f64>>();
        let (a, b) = (solve(&data, &noise, 0.0), solve(&reversed(&data), &reversed(&noise), 0.0));
        for method in METHODS {
            let (a, b) = (a.get(method).unwrap(), b.get(method).unwrap());
            prop_assert!(same(a.log_z, b.log_z, 1.0) && same(a.se, b.se, 1.0), "{a:?} {b:?}");
        }
    }

    #[test]
    fn an_error_is_never_a_small_number_for_no_reason(data in ratios(f64::INFINITY), noise in ratios(f64::NEG_INFINITY)) {
        let result = solve(&data, &noise, 0.0);
        for e in &result.estimates {
            prop_assert!(!e.se.is_nan() && e.se >= 0.0, "{e:?}");
            prop_assert_eq!(e.refused.is_some(), e.se == f64::INFINITY, "{:?}", e);
            prop_assert!(e.refused.is_some() || (e.lower <= e.log_z && e.log_z <= e.upper), "{e:?}");
            prop_assert!(e.ess <= data.len().max(noise.len()) as f64 * (1.0 + 1e-12));
        }
    }
}
