//! log Z against closed forms, stored values of other programs, and inputs that break others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use crate::common::{Pair, Side, independent, log_normal, run};
use noisewright::Error;
use noisewright::normalizer::{
    Dependence, Draws, LogZOptions, Method, Prices, log_z_of_draws, log_z_with_alpha,
};
use noisewright::parts::{LogZWarning, Refusal};
use noisewright_numerics::random::stream;
use rand::RngExt;
use rand_distr::{Beta, Distribution, StandardNormal};

const METHODS: [Method; 4] = [Method::Is, Method::Revis, Method::IsRevis, Method::Nce];

#[test]
fn gaussians_in_one_to_fifty_dimensions() {
    for (dimension, sd) in [(1, 1.3), (4, 1.2), (10, 1.15), (50, 1.05)] {
        let pair = Pair::new(dimension, [20_000, 20_000], 0.05, sd);
        let (sides, truth) = (pair.sample(3), pair.truth());
        for options in [independent(), LogZOptions::default()] {
            let result = run(&sides, &options);
            assert!(result.converged && result.recommended == Method::Nce, "{dimension}");
            for method in METHODS {
                let e = result.get(method).unwrap();
                assert!((e.log_z - truth).abs() < 4.0 * e.se, "{dimension} {e:?}");
                // The tail of revis has k = 0.41 in one dimension, which so many draws cannot tell from 0.5.
                let unsure =
                    matches!(e.refused, Some(Refusal::InfiniteVariance { .. })) && method == Method::Revis;
                assert!(e.se < 0.1 || unsure, "{dimension} {e:?}");
            }
        }
    }
}

#[test]
fn the_errors_are_those_of_the_asymptotic_theory() {
    // One-dimensional Gaussians have divergences in closed form: with equal variances and means m apart,
    // χ² = e^(m²) − 1 both ways and BC = e^(−m²/8) (MATH §4).
    let (m, counts) = (0.8_f64, [200_000, 100_000]);
    let result = run(&Pair::new(1, counts, m, 1.0).sample(11), &independent());
    let chi2 = (m * m).exp_m1();
    let product = (m * m / 4.0).exp_m1();
    let both = 1.0 / counts[0] as f64 + 1.0 / counts[1] as f64;
    let close = |found: f64, theory: f64, tolerance: f64| {
        assert!((found / theory - 1.0).abs() < tolerance, "{found} {theory}");
    };
    // Relative error of a variance of weights from n draws: 1/2 √(kurtosis/n) on the standard error, times 4.
    close(result.get(Method::Is).unwrap().se, (chi2 / counts[1] as f64).sqrt(), 0.06);
    close(result.get(Method::Revis).unwrap().se, (chi2 / counts[0] as f64).sqrt(), 0.05);
    close(result.get(Method::IsRevis).unwrap().se, (product * both).sqrt(), 0.02);
    close(result.divergences.bhattacharyya, (-m * m / 8.0).exp(), 0.01);
    close(result.divergences.chi2_data_noise, chi2, 0.1);
    let nce = result.get(Method::Nce).unwrap();
    close(nce.se, (both * (1.0 / result.overlap - 1.0)).sqrt(), 0.01);
    assert!(nce.se < result.get(Method::IsRevis).unwrap().se);
}

/// f = e^(x²/2 − x⁴/4) by rejection in a box that holds all but e^−56 of it, against N(0, 1.5²).
#[test]
fn a_quartic() {
    let mut rng = stream(5, 0);
    let log_f = |x: f64| 0.5 * x * x - 0.25 * x.powi(4);
    let (mut data, mut noise) = (Side::default(), Side::default());
    let push = |side: &mut Side, x: f64| {
        side.log_f.push(log_f(x));
        side.log_noise.push(log_normal(&[x], 0.0, 1.5));
    };
    while data.log_f.len() < 100_000 {
        let x = rng.random_range(-4.0..4.0);
        if rng.random::<f64>().ln() < log_f(x) - 0.25 {
            push(&mut data, x);
        }
    }
    for _ in 0..100_000 {
        let x = 1.5 * rng.sample::<f64, _>(StandardNormal);
        push(&mut noise, x);
    }
    let best = run(&[data, noise], &LogZOptions::default()).best().clone();
    assert!((best.log_z - 1.362_293).abs() < 4.0 * best.se && best.se < 0.005, "{best:?}");
}

/// k = 2 of n = 10 with a uniform prior: evidence 1/11; the noise is the prior.
#[test]
fn a_beta_binomial_evidence() {
    let mut rng = stream(6, 0);
    let log_f = |p: f64| 45_f64.ln() + 2.0 * p.ln() + 8.0 * (-p).ln_1p();
    let posterior = Beta::new(3.0, 9.0).unwrap();
    let side = |draws: Vec<f64>| Side {
        log_f: draws.iter().map(|p| log_f(*p)).collect(),
        log_noise: vec![0.0; draws.len()],
    };
    let data = side((0..50_000).map(|_| posterior.sample(&mut rng)).collect());
    let noise = side((0..50_000).map(|_| rng.random()).collect());
    let result = run(&[data, noise], &LogZOptions::default());
    // Over the posterior p^−1 (1 − p)^−4 has a tail with k = 4/9 near one: too near to 0.5 for is-revis to have an error.
    for method in [Method::Is, Method::Nce] {
        let e = result.get(method).unwrap();
        assert!((e.log_z - (1.0 / 11.0_f64).ln()).abs() < 4.0 * e.se && e.se < 0.02, "{e:?}");
    }
}

/// The roots that pymbar 4 finds on the same log-ratios (`references/normalizer_bar.py`).
#[test]
fn bennetts_acceptance_ratio_as_pymbar_finds_it() {
    let stored = include_str!("../references/normalizer_bar.csv");
    for line in stored.lines().skip(1) {
        let v: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        let (n_data, n_noise, offset, spread, shift, log_z_stored) =
            (v[0] as usize, v[1] as usize, v[2], v[3], v[4], v[5]);
        let data: Vec<f64> =
            (0..n_data).map(|i| offset + 0.5 * shift + spread * (1.0 + 1.7 * i as f64).sin()).collect();
        let noise: Vec<f64> =
            (0..n_noise).map(|i| offset - 0.5 * shift + spread * (0.5 + 2.3 * i as f64).cos()).collect();
        let zeros = vec![0.0; n_data.max(n_noise)];
        let (data, noise) = (Draws::new(&data, &zeros[..n_data]), Draws::new(&noise, &zeros[..n_noise]));
        let found = log_z_of_draws(data, noise, &independent()).unwrap();
        let nce = found.get(Method::Nce).unwrap();
        assert!(nce.converged && (nce.log_z - log_z_stored).abs() < 1e-8, "{line}: {}", nce.log_z);
    }
}

#[test]
fn identical_densities_give_the_constant_exactly() {
    let log_noise: Vec<f64> = (0..1000).map(|i| -0.01 * f64::from(i)).collect();
    for (constant, counts) in [(0.0, (1000, 1000)), (7.25, (1000, 1)), (-2.5, (1, 1000)), (1e10, (300, 7))] {
        let log_f: Vec<f64> = log_noise.iter().map(|l| l + constant).collect();
        // The same numbers back: what is lost in the sum is not there to be found.
        let log_noise: Vec<f64> = log_f.iter().map(|l| l - constant).collect();
        let data = Draws::new(&log_f[..counts.0], &log_noise[..counts.0]);
        let noise = Draws::new(&log_f[..counts.1], &log_noise[..counts.1]);
        let result = log_z_of_draws(data, noise, &LogZOptions::default()).unwrap();
        let best = result.best();
        assert_eq!(best.log_z, constant);
        assert!(best.se < 1e-15 && best.refused.is_none(), "{best:?}");
        assert!(best.lower <= constant && constant <= best.upper);
        assert!((result.overlap - 1.0).abs() < 1e-12);
    }
}

#[test]
fn energies_of_any_size_keep_the_digits_of_their_differences() {
    let sides = Pair::new(1, [2000, 2000], 1.0, 1.0).sample(4);
    let plain = run(&sides, &independent());
    for energy in [1e5, 1e10] {
        let lift = |x: &[f64]| x.iter().map(|v| v - energy).collect::<Vec<f64>>();
        let lifted =
            sides.clone().map(|side| Side { log_f: lift(&side.log_f), log_noise: lift(&side.log_noise) });
        let result = run(&lifted, &independent());
        for method in METHODS {
            let (a, b) = (plain.get(method).unwrap(), result.get(method).unwrap());
            // The inputs themselves are rounded to ε·energy.
            let tolerance = 4.0 * f64::EPSILON * energy;
            assert!((a.log_z - b.log_z).abs() < tolerance, "{method} {} {}", a.log_z, b.log_z);
            assert!((a.se / b.se - 1.0).abs() < 1e3 * tolerance);
        }
        // One side only: log Z itself is −energy.
        let one = sides.clone().map(|side| Side { log_f: lift(&side.log_f), ..side });
        let nce = run(&one, &independent()).best().log_z;
        let expected = plain.best().log_z - energy;
        assert!((nce - expected).abs() <= 8.0 * f64::EPSILON * energy, "{nce} {expected}");
    }
}

#[test]
fn points_of_zero_density_are_counted_as_what_they_are() {
    // f = 1 on [0, 1], noise uniform on [−1, 1]: half of the noise lies outside, and log Z = 0 exactly by is and nce.
    let mut rng = stream(8, 0);
    let inside = Side { log_f: vec![0.0; 4000], log_noise: vec![-(2_f64.ln()); 4000] };
    let noise = Side {
        log_f: (0..4000).map(|_| if rng.random::<bool>() { 0.0 } else { f64::NEG_INFINITY }).collect(),
        log_noise: vec![-(2_f64.ln()); 4000],
    };
    let share = noise.log_f.iter().filter(|l| **l == 0.0).count() as f64 / 4000.0;
    let result = run(&[inside.clone(), noise.clone()], &independent());
    assert_eq!((result.noise.outside, result.data.outside), (4000 - (share * 4000.0) as usize, 0));
    let exact = (2.0 * share).ln();
    for method in METHODS {
        let e = result.get(method).unwrap();
        // Every estimator sees the share of the noise inside, a binomial proportion.
        assert!((e.log_z - exact).abs() < 1e-12, "{e:?}");
        assert!((e.se / ((1.0 - share) / share / 4000.0).sqrt() - 1.0).abs() < 1e-3, "{e:?}");
    }
    // The other way round: a noise that misses half of the data.
    let swapped = [
        Side { log_f: noise.log_noise.clone(), log_noise: noise.log_f.clone() },
        Side { log_f: inside.log_noise.clone(), log_noise: inside.log_f.clone() },
    ];
    let result = run(&swapped, &independent());
    for method in METHODS {
        assert!((result.get(method).unwrap().log_z + exact).abs() < 1e-12);
    }
}

#[test]
fn no_common_support_is_a_refusal() {
    let data = Side { log_f: vec![0.0; 50], log_noise: vec![f64::NEG_INFINITY; 50] };
    let noise = Side { log_f: vec![f64::NEG_INFINITY; 50], log_noise: vec![0.0; 50] };
    let result = run(&[data, noise], &LogZOptions::default());
    assert!(!result.converged && !result.warnings.is_empty());
    for e in &result.estimates {
        assert!(e.refused.is_some() && e.se == f64::INFINITY, "{e:?}");
    }
}

#[test]
fn bad_numbers_are_errors_that_name_their_row() {
    let good = Pair::new(1, [100, 100], 0.5, 1.0).sample(1);
    let check = |change: fn(&mut [Side; 2]), words: &[&str]| {
        let mut sides = good.clone();
        change(&mut sides);
        let error = log_z_of_draws(sides[0].draws(), sides[1].draws(), &LogZOptions::default())
            .unwrap_err()
            .to_string();
        assert!(words.iter().all(|w| error.contains(w)), "{error}");
    };
    check(|s| s[0].log_f[6] = f64::NAN, &["row 7", "data", "log_f", "NaN"]);
    check(|s| s[1].log_f[99] = f64::NAN, &["row 100", "noise", "log_f"]);
    check(|s| s[1].log_noise[0] = f64::NAN, &["row 1 ", "noise", "log_noise"]);
    check(|s| s[0].log_noise[0] = f64::INFINITY, &["row 1 ", "data", "log_noise", "∞"]);
    check(|s| s[0].log_f[1] = f64::INFINITY, &["row 2", "data", "log_f", "∞"]);
    check(|s| s[1].log_noise[1] = f64::INFINITY, &["row 2", "noise", "log_noise"]);
    check(|s| s[0].log_f[1] = f64::NEG_INFINITY, &["row 2", "data", "log_f", "drawn"]);
    check(|s| s[1].log_noise[5] = f64::NEG_INFINITY, &["row 6", "noise", "log_noise", "drawn"]);
    check(|s| s[0].log_f.truncate(0), &["100"]);
    check(|s| s[0] = Side::default(), &["no data draws"]);
    check(|s| s[1] = Side::default(), &["no noise draws"]);
    let chains = good[0].draws().with_chains(&[50, 49]);
    assert!(matches!(
        log_z_of_draws(chains, good[1].draws(), &LogZOptions::default()),
        Err(Error::ChainLengths { expected: 100, found: 99, .. })
    ));
    let options = LogZOptions { confidence: 1.0, ..LogZOptions::default() };
    assert!(log_z_of_draws(good[0].draws(), good[1].draws(), &options).is_err());
}

#[test]
fn densities_far_apart_are_refused_at_once() {
    for (mean, sd) in [(8.0, 0.5), (10.0, 0.5), (10.0, 0.25), (50.0, 0.25), (1e4, 0.5)] {
        let result = run(&Pair::new(1, [1000, 1000], mean, sd).sample(2), &LogZOptions::default());
        for e in &result.estimates {
            assert!(e.refused.is_some() && e.se == f64::INFINITY && e.upper == f64::INFINITY, "{e:?}");
        }
        assert!(result.best().log_z.is_finite() && result.best().converged);
        assert!(result.reason.to_string().starts_with("No estimate"), "{}", result.reason);
        assert!(result.expected_crossings < 5.0);
    }
}

#[test]
fn members_of_the_power_family_and_a_users_bridge() {
    let sides = Pair::new(1, [5000, 3000], 0.7, 1.2).sample(9);
    let options = LogZOptions { powers: vec![0.0, 0.5, 1.0, 0.3], ..independent() };
    // α = 1/√(f p_n) is is-revis, α = 1/p_n is is, whatever constant is added.
    let product = |f: &[f64], n: &[f64], out: &mut [f64]| {
        (0..out.len()).for_each(|i| out[i] = 3.0 - 0.5 * (f[i] + n[i]));
    };
    let result = log_z_with_alpha(sides[0].draws(), sides[1].draws(), &product, &options).unwrap();
    let get = |m| result.get(m).unwrap();
    for (a, b) in [
        (Method::Power(0.0), Method::Is),
        (Method::Power(0.5), Method::IsRevis),
        (Method::Power(1.0), Method::Revis),
        (Method::Alpha, Method::IsRevis),
    ] {
        assert!((get(a).log_z - get(b).log_z).abs() < 1e-12, "{a}");
        assert!(get(a).se == get(b).se || (get(a).se / get(b).se - 1.0).abs() < 1e-9, "{a}");
        let shapes = (get(a).pareto_k.unwrap(), get(b).pareto_k.unwrap());
        assert!(a == Method::Power(0.0) || a == Method::Power(1.0) || (shapes.0 - shapes.1).abs() < 1e-9);
    }
    let between = get(Method::Power(0.3));
    assert!((between.log_z - 0.918_938_533).abs() < 4.0 * between.se);
    let nan = |_: &[f64], _: &[f64], out: &mut [f64]| out[2] = f64::NAN;
    let error = log_z_with_alpha(sides[0].draws(), sides[1].draws(), &nan, &options).unwrap_err();
    assert!(error.to_string().contains("row 3"), "{error}");
}

#[test]
fn a_budget_is_divided_as_the_theory_says() {
    let (m, n) = (0.8_f64, 50_000);
    let sides = Pair::new(1, [n, n], m, 1.0).sample(21);
    let allocate = |prices: Prices| {
        let options = LogZOptions { prices: Some(prices), ..independent() };
        run(&sides, &options).allocations
    };
    let of =
        |list: &[noisewright::parts::Allocation], method| *list.iter().find(|a| a.method == method).unwrap();
    let prices = Prices { data: 4.0, noise: 1.0, budget: Some(10_000.0) };
    let list = allocate(prices);
    // is-revis: n_d : n_n = 1/√p_d : 1/√p_n, so ν = 2 and n_d = 10000/6.
    let product = of(&list, Method::IsRevis);
    assert!((product.nu - 2.0).abs() < 1e-5 && (product.data_draws - 10_000.0 / 6.0).abs() < 0.1);
    let theory = ((m * m / 4.0).exp_m1() * (6.0 / 10_000.0 + 3.0 / 10_000.0)).sqrt();
    assert!((product.predicted_se / theory - 1.0).abs() < 0.02, "{} {theory}", product.predicted_se);
    assert_eq!(of(&list, Method::Is).noise_draws, 10_000.0);
    // Equal prices and densities that mirror each other: half and half is best for the bridge too.
    let nce = of(&allocate(Prices { data: 1.0, noise: 1.0, budget: None }), Method::Nce);
    assert!((nce.nu.ln()).abs() < 0.3 && (nce.data_draws + nce.noise_draws - 2.0 * n as f64).abs() < 1e-6);
    let best = run(&sides, &independent()).best().se;
    assert!((nce.predicted_se / best - 1.0).abs() < 0.03, "{} {best}", nce.predicted_se);
    // Data that cannot be bought stay as they are.
    let fixed = of(&allocate(Prices { data: 0.0, noise: 2.0, budget: Some(1e6) }), Method::Nce);
    assert_eq!((fixed.data_draws, fixed.noise_draws), (n as f64, 5e5));
}

#[test]
fn the_bootstrap_agrees_where_errors_are_known() {
    let pair = Pair { correlation: [0.8, 0.0], ..Pair::new(1, [20_000, 20_000], 1.0, 1.0) };
    let options = LogZOptions { bootstrap: Some(200), ..LogZOptions::default() };
    let result = run(&pair.sample(31), &options);
    for method in METHODS {
        let e = result.get(method).unwrap();
        // A standard deviation from 200 resamples is known to 5 %, and the long-run variance to about as much.
        let ratio = e.bootstrap_se.unwrap() / e.se;
        assert!((ratio - 1.0).abs() < 0.3, "{method} {ratio}");
    }
    // The autocorrelation is seen: independent draws would have a smaller error.
    assert!(result.data.autocorrelation_time > 4.0 && result.noise.autocorrelation_time < 1.3);
    let naive = run(&pair.sample(31), &independent());
    assert!(naive.best().se < 0.75 * result.best().se);
}

#[test]
fn chains_of_different_lengths_and_weights_by_their_worth() {
    let pair = Pair { correlation: [0.95, 0.0], ..Pair::new(1, [30_000, 10_000], 1.5, 1.0) };
    let sides = pair.sample(41);
    let lengths = [1000, 17_000, 1, 11_999];
    let data = sides[0].draws().with_chains(&lengths);
    let options = LogZOptions { weight_by_ess: true, ..LogZOptions::default() };
    let plain = log_z_of_draws(data, sides[1].draws(), &LogZOptions::default()).unwrap();
    let weighted = log_z_of_draws(data, sides[1].draws(), &options).unwrap();
    assert_eq!(plain.data.chains, 4);
    assert!(plain.data.ess < 4000.0, "{}", plain.data.ess);
    for result in [&plain, &weighted] {
        let best = result.get(Method::Nce).unwrap();
        assert!((best.log_z - pair.truth()).abs() < 4.0 * best.se, "{best:?}");
    }
    // A bridge that knows the chain to be slow relies less on it.
    assert!(weighted.get(Method::Nce).unwrap().se < 1.02 * plain.get(Method::Nce).unwrap().se);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let sides = Pair::new(2, [70_000, 50_000], 0.5, 1.2).sample(51);
    let options =
        LogZOptions { bootstrap: Some(5), dependence: Dependence::Chains, ..LogZOptions::default() };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&sides, &options))
    };
    assert_eq!(with(1), with(4));
}

/// Large samples take the short cut of a thinned start and collected tails; small ones do not.
#[test]
fn thinning_changes_nothing() {
    let pair = Pair::new(1, [120_000, 90_000], 1.0, 1.1);
    let sides = pair.sample(61);
    let result = run(&sides, &independent());
    let c = result.get(Method::Nce).unwrap().log_z;
    let log_nu = (90_000_f64 / 120_000.0).ln();
    let sigmoid = |g: f64| 1.0 / (1.0 + (-g).exp());
    let ratio = |s: &Side, i: usize| s.log_f[i] - s.log_noise[i] - c - log_nu;
    let data: f64 = (0..120_000).map(|i| sigmoid(-ratio(&sides[0], i))).sum();
    let noise: f64 = (0..90_000).map(|i| sigmoid(ratio(&sides[1], i))).sum();
    assert!((data / noise - 1.0).abs() < 1e-12, "{data} {noise}");
    assert!((result.expected_crossings / data - 1.0).abs() < 1e-7);
    // The tail of all noise weights, sorted the plain way.
    let mut weights: Vec<f64> = (0..90_000).map(|i| sides[1].log_f[i] - sides[1].log_noise[i]).collect();
    weights.sort_by(f64::total_cmp);
    let reversed: Vec<f64> = weights.iter().rev().copied().collect();
    let zeros = vec![0.0; 90_000];
    let again = log_z_of_draws(sides[0].draws(), Draws::new(&reversed, &zeros), &independent()).unwrap();
    let (a, b) = (result.get(Method::Is).unwrap(), again.get(Method::Is).unwrap());
    assert!((a.pareto_k.unwrap() - b.pareto_k.unwrap()).abs() < 1e-9);
    assert!((a.log_z - b.log_z).abs() < 1e-12 && (a.se / b.se - 1.0).abs() < 1e-9);
}

/// A bridge balanced by effective numbers of draws counts its crossings on each side by that side's own draws.
#[test]
fn a_slow_chain_with_ample_overlap_is_not_refused() {
    let mut rng = stream(3, 0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut z = normal();
    let chain: Vec<f64> = (0..2000)
        .map(|_| {
            z = 0.9 * z + (1.0_f64 - 0.81).sqrt() * normal();
            z
        })
        .collect();
    let fresh: Vec<f64> = (0..2000).map(|_| normal()).collect();
    let log_density = |x: &f64| -0.5 * x * x - 0.918_938_533_204_672_8;
    let of = |x: &[f64], shift: f64| x.iter().map(|x| log_density(x) + shift).collect::<Vec<f64>>();
    let (data_f, data_noise, noise_f, noise_noise) =
        (of(&chain, 5.0), of(&chain, 0.0), of(&fresh, 5.0), of(&fresh, 0.0));
    // Slightly different densities, so that there is something to estimate.
    let tilt =
        |values: &[f64], x: &[f64]| values.iter().zip(x).map(|(v, x)| v + 0.1 * x).collect::<Vec<f64>>();
    let (data_noise, noise_noise) = (tilt(&data_noise, &chain), tilt(&noise_noise, &fresh));
    let options = LogZOptions { weight_by_ess: true, ..LogZOptions::default() };
    let result =
        log_z_of_draws(Draws::new(&data_f, &data_noise), Draws::new(&noise_f, &noise_noise), &options)
            .unwrap();
    let nce = result.get(Method::Nce).unwrap();
    assert!(nce.refused.is_none(), "{:?}", nce.refused);
    assert!(nce.se.is_finite());
}

/// Draws of another density than the one whose log-density is given: log Z means nothing, and the sides show it.
#[test]
fn draws_of_a_wrong_density_are_told() {
    let log_f = |x: &f64| -0.5 * x * x;
    let log_noise = |mean: f64, x: &f64| -0.5 * (x - mean) * (x - mean) - 0.918_938_533_204_672_8;
    let draws = |mean: f64, sd: f64, seed: u64| -> Vec<f64> {
        let mut rng = stream(seed, 0);
        (0..1000).map(|_| mean + sd * Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect()
    };
    // The noise is fitted to the draws, as `evidence` does it.
    let contradicts = |mean: f64, sd: f64, seed: u64| {
        let (data, noise) = (draws(mean, sd, seed), draws(mean, 1.0, seed + 500));
        let of =
            |x: &[f64]| -> (Vec<f64>, Vec<f64>) { x.iter().map(|x| (log_f(x), log_noise(mean, x))).unzip() };
        let ((a, b), (c, d)) = (of(&data), of(&noise));
        let result = log_z_of_draws(Draws::new(&a, &b), Draws::new(&c, &d), &independent()).unwrap();
        result.warnings.iter().any(|w| matches!(w, LogZWarning::Contradiction { .. }))
    };
    assert!(
        (0..5).all(|seed| contradicts(10.0, 1.0, seed)) && (0..5).all(|seed| contradicts(1.0, 1.0, seed))
    );
    // Right draws, with a noise beside them: one false alarm at five standard errors is one in a million.
    assert!((0..40).all(|seed| !contradicts(0.0, 1.0, seed)));
    let moved = |seed: u64| {
        let (data, noise) = (draws(0.0, 1.0, seed), draws(0.7, 1.0, seed + 500));
        let of =
            |x: &[f64]| -> (Vec<f64>, Vec<f64>) { x.iter().map(|x| (log_f(x), log_noise(0.7, x))).unzip() };
        let ((a, b), (c, d)) = (of(&data), of(&noise));
        log_z_of_draws(Draws::new(&a, &b), Draws::new(&c, &d), &independent()).unwrap().warnings.is_empty()
    };
    assert!((0..40).all(moved));
}

/// An estimated error has a standard deviation only beyond two degrees of freedom: two draws a side have at most two.
#[test]
fn too_few_draws_have_no_error() {
    let pair = |data, noise| run(&Pair::new(1, [data, noise], 0.7, 1.2).sample(1), &independent());
    let result = pair(2, 2);
    for e in &result.estimates {
        assert!(e.refused.is_some() && e.se == f64::INFINITY && e.lower == f64::NEG_INFINITY, "{e:?}");
    }
    let nce = result.get(Method::Nce).unwrap();
    assert!(nce.refused.as_ref().unwrap().code() == "few-draws", "{nce:?}");
    assert!(nce.se_data.is_nan() && nce.se_noise.is_nan(), "{nce:?}");
    // A single draw, however many there are on the other side.
    let nce = pair(1, 1000).get(Method::Nce).unwrap().clone();
    assert!(nce.refused.as_ref().unwrap().code() == "single-draw", "{nce:?}");
    let nce = pair(10, 10).get(Method::Nce).unwrap().clone();
    assert!(nce.refused.is_none() && nce.se.is_finite(), "{nce:?}");
}
