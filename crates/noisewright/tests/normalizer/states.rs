//! Many states: against pymbar, closed forms, the two-state case, and its own claimed errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::f64::consts::TAU;

use noisewright::normalizer::states::{Origin, Pooled, StatesEstimate, StatesOptions, estimate, neighbours};
use noisewright::normalizer::{self, Dependence, Draws, Method};
use noisewright::parts::StatesWarning;
use noisewright::{Error, Normal, sample};
use proptest::prelude::*;

/// Mean, standard deviation and additive constant of an unnormalized Gaussian state.
type State = (f64, f64, f64);

fn independent() -> StatesOptions {
    StatesOptions { dependence: Dependence::Independent, ..StatesOptions::default() }
}

const LADDER: [State; 5] =
    [(0.0, 1.0, 0.0), (0.7, 0.8, 3.0), (1.2, 0.7, -2.0), (1.8, 0.6, 10.0), (2.5, 0.5, 0.5)];

fn log_f(states: &[State], x: &[f64]) -> Vec<Vec<f64>> {
    let value = |&(m, s, offset): &State, x: &f64| offset - (x - m).powi(2) / (2.0 * s * s);
    states.iter().map(|state| x.iter().map(|x| value(state, x)).collect()).collect()
}

fn log_z(&(_, s, offset): &State) -> f64 {
    offset + 0.5 * TAU.ln() + s.ln()
}

/// The points of `references/states.py`.
fn fixed_points(states: &[State], counts: &[usize]) -> Vec<f64> {
    let mut x = Vec::new();
    for (k, ((m, s, _), count)) in states.iter().zip(counts).enumerate() {
        for i in 0..*count {
            let u = ((i as f64 + 0.5) * 0.618_033_988_749_894_9 + 0.1 * k as f64) % 1.0;
            x.push(m + s * (u / (1.0 - u)).ln() / 1.7);
        }
    }
    x
}

/// Independent draws of every state, state after state.
fn draws(states: &[State], counts: &[usize], seed: u64) -> Vec<f64> {
    let parts = states.iter().zip(counts).enumerate().map(|(k, ((m, s, _), count))| {
        let noise = Normal::with_variance(*m, s * s).unwrap();
        sample(&noise, *count, 1000 * seed + k as u64).values().to_vec()
    });
    parts.collect::<Vec<_>>().concat()
}

fn solve_columns(columns: &[Vec<f64>], counts: &[usize], options: &StatesOptions) -> StatesEstimate {
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    estimate(&Pooled { log_f: &slices, origin: Origin::Counts(counts), chains: None }, options).unwrap()
}

fn solve(states: &[State], x: &[f64], counts: &[usize]) -> StatesEstimate {
    solve_columns(&log_f(states, x), counts, &independent())
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance * (1.0 + e.abs()), "{found:?} is not {expected:?}");
    }
}

#[test]
fn values_errors_overlap_and_effective_draws_are_those_of_pymbar() {
    let counts = [100, 200, 150, 150, 50];
    let result = solve(&LADDER, &fixed_points(&LADDER, &counts), &counts);
    assert!(result.converged() && result.groups().len() == 1, "{:?}", result.warnings());
    let log_z = [0.0, 2.765588173730715, -2.3669107882624383, 9.482583537136499, -0.12005745068613116];
    assert_near(result.log_z(), &log_z, 1e-10);
    let se = [0.0, 0.050916062127486096, 0.07279039511655429, 0.09721796135418799, 0.14158124765722307];
    assert_near(&result.se(), &se, 1e-8);
    let last: Vec<f64> = (0..5).map(|i| result.difference(i, 4).1).collect();
    let se_last = [0.14158124765722307, 0.12230963406111732, 0.10808626826989413, 0.07916714324693455, 0.0];
    assert_near(&last, &se_last, 1e-8);
    let row = [
        0.19121793281719018,
        0.3950879791223944,
        0.24302466453259533,
        0.14983936036516504,
        0.020830063162656134,
    ];
    let overlap: Vec<f64> = result.overlap().row(1).iter().copied().collect();
    assert_near(&overlap, &row, 1e-8);
    let ess =
        [265.12649869954106, 506.21636336356846, 544.0785418107065, 401.8199663090857, 139.71638777009582];
    assert_near(result.ess(), &ess, 1e-8);
}

#[test]
fn a_state_without_draws_is_that_of_pymbar() {
    let counts = [100, 200, 0, 150, 50];
    let result = solve(&LADDER, &fixed_points(&LADDER, &counts), &counts);
    let log_z = [0.0, 2.764973087976858, -2.374275856323459, 9.469088372231637, -0.16043384446235454];
    assert_near(result.log_z(), &log_z, 1e-10);
    let se = [0.0, 0.0522334823935208, 0.07829230194762918, 0.1115442415483529, 0.1601560452196089];
    assert_near(&result.se(), &se, 1e-8);
    let last: Vec<f64> = (0..5).map(|i| result.difference(i, 4).1).collect();
    let se_last = [0.16015604521960863, 0.14019231681154026, 0.12147498404156863, 0.0851451047759468, 0.0];
    assert_near(&last, &se_last, 1e-8);
    let ess =
        [241.26851732856187, 379.3725865369883, 382.24847133918183, 303.1684162165239, 126.17073895908057];
    assert_near(result.ess(), &ess, 1e-8);
}

#[test]
fn two_states_are_the_optimal_bridge() {
    let (states, counts) = ([(0.0, 1.0, 0.0), (1.0, 0.5, 4.0)], [300, 100]);
    let x = fixed_points(&states, &counts);
    let result = solve(&states, &x, &counts);
    // pymbar's BAR.
    assert_near(&[result.log_z()[1]], &[3.2557921762947397], 1e-11);
    assert_near(&[result.se()[1]], &[0.07031853445025835], 1e-8);
    // Σ_d σ(−(ℓ − c − ln ν)) = Σ_n σ(ℓ − c − ln ν), MATH §4.
    let f = log_f(&states, &x);
    let sigmoid = |g: f64| 1.0 / (1.0 + (-g).exp());
    let g = |n: usize| f[1][n] - f[0][n] - result.log_z()[1] - 3f64.ln();
    let (noise, data) =
        ((0..300).map(|n| sigmoid(g(n))).sum::<f64>(), (300..400).map(|n| sigmoid(-g(n))).sum::<f64>());
    assert!((noise - data).abs() < 1e-9, "{noise} {data}");
    // And the estimator of two samples, state 0 being the noise.
    let draws = |range: std::ops::Range<usize>| Draws::new(&f[1][range.clone()], &f[0][range]);
    let options =
        normalizer::LogZOptions { dependence: Dependence::Independent, ..normalizer::LogZOptions::default() };
    let pair = normalizer::log_z_of_draws(draws(300..400), draws(0..300), &options).unwrap();
    let nce = pair.estimates.iter().find(|e| e.method == Method::Nce).unwrap();
    assert_near(&[result.log_z()[1]], &[nce.log_z], 1e-12);
    // Its variance is that of the draws, ours the asymptotic formula: they differ by the draws' own noise.
    assert!((nce.se / result.se()[1] - 1.0).abs() < 0.1, "{} {}", nce.se, result.se()[1]);
}

/// Mean and standard deviation of z-scores over repeats.
fn z_scores(repeats: u64, score: impl Fn(u64) -> f64) -> (f64, f64) {
    let z: Vec<f64> = (0..repeats).map(score).collect();
    let mean = z.iter().sum::<f64>() / z.len() as f64;
    (mean, (z.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (z.len() - 1) as f64).sqrt())
}

#[test]
fn errors_of_independent_draws_are_as_large_as_claimed() {
    let counts = [300, 200, 0, 200, 300];
    let truth = log_z(&LADDER[4]) - log_z(&LADDER[0]);
    let (mean, sd) = z_scores(400, |seed| {
        let result = solve(&LADDER, &draws(&LADDER, &counts, seed), &counts);
        let (value, error) = result.difference(0, 4);
        (value - truth) / error
    });
    println!("z: mean {mean:.3}, sd {sd:.3}");
    // Four standard deviations of the mean (1/√400) and of the standard deviation (1/√800).
    assert!(mean.abs() < 0.2 && (sd - 1.0).abs() < 0.142, "{mean} {sd}");
}

/// An AR(1) chain with this standard normal's law, mean and deviation applied.
fn autoregressive(state: &State, count: usize, coefficient: f64, seed: u64) -> Vec<f64> {
    let steps = sample(&Normal::with_variance(0.0, 1.0).unwrap(), count, seed);
    let mut at = steps.values()[0];
    let chain = steps.values().iter().map(|z| {
        at = coefficient * at + (1.0 - coefficient * coefficient).sqrt() * z;
        state.0 + state.1 * at
    });
    chain.collect()
}

#[test]
fn errors_of_chains_are_as_large_as_claimed_and_those_of_independence_are_not() {
    let states = [LADDER[0], LADDER[1], LADDER[3]];
    let counts = [4000, 3000, 3000];
    let truth = log_z(&states[2]) - log_z(&states[0]);
    let options = StatesOptions { dependence: Dependence::Chains, ..independent() };
    let run = |seed: u64, options: &StatesOptions| {
        let parts: Vec<Vec<f64>> =
            (0..3).map(|k| autoregressive(&states[k], counts[k], 0.9, 500 + 10 * seed + k as u64)).collect();
        let result = solve_columns(&log_f(&states, &parts.concat()), &counts, options);
        let (value, error) = result.difference(0, 2);
        ((value - truth) / error, result.inefficiency()[0])
    };
    let (mean, sd) = z_scores(200, |seed| run(seed, &options).0);
    let (_, naive) = z_scores(200, |seed| run(seed, &independent()).0);
    let inefficiency = run(0, &options).1;
    println!("z: mean {mean:.3}, sd {sd:.3}, independent {naive:.3}, inefficiency {inefficiency:.1}");
    // Four standard deviations (1/√400), and 5 % for the noise of an estimated long-run variance.
    assert!(mean.abs() < 0.29 && (sd - 1.0).abs() < 0.25, "{mean} {sd}");
    assert!(naive > 2.0, "{naive}");
    // (1 + 0.9ᵏ)/(1 − 0.9ᵏ) for the Hermite polynomial k of the chain: 19, 9.5, 6.4. A sum over 5τ lags of n draws knows τ to
    // √(2(10τ + 1)/n) (Sokal 1997), at n = 4,000 to 0.31 for 19 and 0.18 for 6.4.
    assert!(inefficiency > 5.0 && inefficiency < 25.0, "{inefficiency}");
}

#[test]
fn labels_of_chains_keep_rows_in_any_order() {
    let states = [LADDER[0], LADDER[1]];
    let chains: Vec<Vec<f64>> =
        (0..4).map(|i| autoregressive(&states[i / 2], 500, 0.8, 40 + i as u64)).collect();
    let ordered = log_f(&states, &chains.concat());
    let labels: Vec<usize> = (0..2000).map(|n| n / 500 % 2).collect();
    let slices: Vec<&[f64]> = ordered.iter().map(Vec::as_slice).collect();
    let options = StatesOptions { dependence: Dependence::Chains, ..independent() };
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&[1000, 1000]), chains: Some(&labels) };
    let expected = estimate(&pooled, &options).unwrap();

    // Row n of the mixed pool is draw n / 4 of chain n % 4.
    let pick = |column: &Vec<f64>| (0..2000).map(|n| column[n % 4 * 500 + n / 4]).collect::<Vec<_>>();
    let mixed: Vec<Vec<f64>> = ordered.iter().map(pick).collect();
    let slices: Vec<&[f64]> = mixed.iter().map(Vec::as_slice).collect();
    let origin: Vec<usize> = (0..2000).map(|n| n % 4 / 2).collect();
    let labels: Vec<usize> = (0..2000).map(|n| n % 4 % 2).collect();
    let pooled = Pooled { log_f: &slices, origin: Origin::Rows(&origin), chains: Some(&labels) };
    let found = estimate(&pooled, &options).unwrap();
    assert_near(found.log_z(), expected.log_z(), 1e-12);
    assert_near(&found.se(), &expected.se(), 1e-9);
}

#[test]
fn far_apart_states_end_in_a_refusal_that_names_them() {
    for mean in [8.0, 10.0, 30.0] {
        let states = [(0.0, 1.0, 0.0), (mean, 0.5, 7.0)];
        let counts = [1000, 1000];
        let result = solve(&states, &draws(&states, &counts, 3), &counts);
        assert_eq!(result.se(), [0.0, f64::INFINITY], "{mean}");
        assert_eq!(result.groups(), [vec![0], vec![1]]);
        let groups = vec![vec![0], vec![1]];
        assert!(
            result.warnings().contains(&StatesWarning::Disconnected { groups }),
            "{:?}",
            result.warnings()
        );
    }
}

/// N(0, 1) against N(μ, ¼), ever farther: intervals cover the truth, or nothing is claimed.
#[test]
fn falling_overlap_ends_in_refusals_not_in_false_confidence() {
    for dependence in [Dependence::Independent, Dependence::Chains] {
        for mean in [3.0, 4.0, 5.0, 6.0, 8.0] {
            let states = [(0.0, 1.0, 0.0), (mean, 0.5, 0.0)];
            let (mut covered, mut refused) = (0, 0);
            for seed in 0..200 {
                let columns = log_f(&states, &draws(&states, &[1000, 1000], 50 + seed));
                let result =
                    solve_columns(&columns, &[1000, 1000], &StatesOptions { dependence, ..independent() });
                let (value, error) = result.difference(0, 1);
                refused += usize::from(error == f64::INFINITY);
                covered += usize::from((value - 0.5f64.ln()).abs() <= 1.96 * error);
            }
            println!("{dependence:?}, mean {mean}: {covered} of 200 covered, {refused} of these refused");
            // 93 % of 200, less two standard deviations of a share that is 95 %.
            assert!(covered >= 180, "{mean}: {covered}");
            assert!(mean > 3.5 || refused == 0);
            assert!(mean < 5.5 || refused == 200);
        }
    }
}

#[test]
fn groups_that_do_not_overlap_are_solved_apart() {
    let states = [LADDER[0], LADDER[1], (50.0, 1.0, 2.0), (50.5, 0.8, 1.0)];
    let counts = [400, 300, 200, 300];
    let x = draws(&states, &counts, 8);
    let result = solve(&states, &x, &counts);
    assert_eq!(result.groups(), [vec![0, 1], vec![2, 3]]);
    assert_eq!(result.se()[2..], [f64::INFINITY; 2]);
    let left = solve(&states[..2], &x[..700], &counts[..2]);
    let right = solve(&states[2..], &x[700..], &counts[2..]);
    for (pair, alone) in [((0, 1), left), ((2, 3), right)] {
        let (found, expected) = (result.difference(pair.0, pair.1), alone.difference(0, 1));
        assert_near(&[found.0, found.1], &[expected.0, expected.1], 1e-9);
    }
    let sentence = result.warnings()[0].sentence(&["a", "b", "c", "d"]);
    assert!(sentence.contains("{a, b} and {c, d}"), "{sentence}");
}

#[test]
fn a_bridging_state_joins_what_is_apart() {
    let states = [(0.0, 1.0, 0.0), (2.0, 1.0, 0.0), (4.0, 1.0, 0.0), (6.0, 1.0, 0.0)];
    let counts = [500; 4];
    let result = solve(&states, &draws(&states, &counts, 5), &counts);
    let (value, error) = result.difference(0, 3);
    assert_eq!(result.groups().len(), 1);
    assert!(value.abs() < 4.0 * error && error < 0.3, "{value} {error}");
}

#[test]
fn identical_states_are_exact() {
    let x = draws(&[(0.0, 1.0, 0.0); 3], &[100, 50, 70], 1);
    let result = solve(&[(0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 4.0)], &x, &[100, 50, 70]);
    assert_near(result.log_z(), &[0.0, 0.0, 4.0], 1e-14);
    assert_eq!(result.se(), [0.0; 3]);
}

#[test]
fn log_densities_around_ten_to_the_ten_lose_only_their_own_digits() {
    let counts = [200, 200, 200];
    let states = [LADDER[0], LADDER[1], LADDER[2]];
    let x = draws(&states, &counts, 2);
    let plain = solve(&states, &x, &counts);
    for scale in [1e5, 1e10] {
        let mut columns = log_f(&states, &x);
        columns[1].iter_mut().for_each(|v| *v += scale);
        columns[2].iter_mut().for_each(|v| *v -= scale);
        let result = solve_columns(&columns, &counts, &independent());
        let shifted = [0.0, plain.log_z()[1] + scale, plain.log_z()[2] - scale];
        assert_near(result.log_z(), &shifted, 1e-15);
        // The input itself is rounded to scale · 2⁻⁵³, about 1e-6.
        assert_near(&result.se(), &plain.se(), 1e-6);
    }
}

#[test]
fn zero_densities_are_counted_exactly() {
    // Uniform on [0, 1], [0, 2] and [0, 4] up to their constants: the ratios are solved from counts alone.
    let (counts, widths) = ([4000, 4000, 4000], [1.0, 2.0, 4.0]);
    let golden = |i: usize| (i as f64 * 0.618_033_988_749_894_9) % 1.0;
    let x: Vec<f64> = (0..12000).map(|n| golden(n % 4000) * widths[n / 4000]).collect();
    let column = |w: &f64| x.iter().map(|x| if x < w { 0.0 } else { f64::NEG_INFINITY }).collect();
    let columns: Vec<Vec<f64>> = widths.iter().map(column).collect();
    let result = solve_columns(&columns, &counts, &independent());
    // A sequence of low discrepancy misses its counts by a few in 4000.
    assert_near(result.log_z(), &[0.0, 2f64.ln(), 4f64.ln()], 3e-3);
    assert!(result.groups().len() == 1 && result.se()[2] < 0.05);
}

#[test]
fn a_state_of_density_zero_everywhere_is_minus_infinity() {
    let x = draws(&LADDER[..2], &[100, 100], 1);
    let mut columns = log_f(&LADDER[..3], &x);
    columns[2].fill(f64::NEG_INFINITY);
    let result = solve_columns(&columns, &[100, 100, 0], &independent());
    assert_eq!(result.log_z()[2], f64::NEG_INFINITY);
    assert_eq!(result.se()[2], f64::INFINITY);
    assert!(result.warnings().contains(&StatesWarning::ZeroDensity { state: 2 }));
}

#[test]
fn a_state_without_draws_far_from_all_is_refused() {
    let states = [LADDER[0], LADDER[1], (9.0, 0.3, 0.0)];
    let x = draws(&LADDER[..2], &[500, 500], 1);
    let result = solve(&states, &x, &[500, 500, 0]);
    assert_eq!(result.se()[2], f64::INFINITY);
    assert!(result.se()[1].is_finite());
}

#[test]
fn mistakes_in_the_input_are_named() {
    let x = draws(&LADDER[..2], &[50, 50], 1);
    let run = |state: usize, row: usize, value: f64| {
        let mut columns = log_f(&LADDER[..2], &x);
        columns[state][row] = value;
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&[50, 50]), chains: None };
        estimate(&pooled, &independent())
    };
    assert!(matches!(run(1, 7, f64::NAN), Err(Error::StateValue { state: 2, row: 8, .. })));
    assert!(matches!(run(0, 70, f64::INFINITY), Err(Error::StateValue { state: 1, row: 71, .. })));
    assert_eq!(run(0, 3, f64::NEG_INFINITY), Err(Error::StateOwnDraw { state: 1, row: 4 }));
    assert!(run(1, 3, f64::NEG_INFINITY).is_ok());
    let column = vec![0.0; 4];
    let wrong = [
        Pooled { log_f: &[], origin: Origin::Counts(&[]), chains: None },
        Pooled { log_f: &[&[]], origin: Origin::Counts(&[0]), chains: None },
        Pooled { log_f: &[&column], origin: Origin::Counts(&[3]), chains: None },
        Pooled { log_f: &[&column, &column[1..]], origin: Origin::Counts(&[2, 2]), chains: None },
        Pooled { log_f: &[&column], origin: Origin::Rows(&[0, 0, 1, 0]), chains: None },
    ];
    for pooled in &wrong {
        assert!(estimate(pooled, &independent()).is_err(), "{pooled:?}");
    }
}

#[test]
fn one_draw_on_a_side_is_solved_as_if_there_were_none() {
    let states = [LADDER[0], LADDER[1]];
    let x = draws(&states, &[1000, 1], 1);
    let result = solve(&states, &x, &[1000, 1]);
    assert!(result.converged() && result.log_z()[1].is_finite());
    let none = solve(&states, &x[..1000], &[1000, 0]);
    assert!((result.se()[1] / none.se()[1] - 1.0).abs() < 0.05, "{:?} {:?}", result.se(), none.se());
    // And is not believed where the draws of the other state do not reach it.
    let far = [LADDER[0], (9.0, 0.5, 0.0)];
    let result = solve(&far, &draws(&far, &[1000, 1], 1), &[1000, 1]);
    assert_eq!(result.se()[1], f64::INFINITY);
}

/// Enough draws that the start comes from a subsample: the equations hold all the same, for any number of threads.
#[test]
fn many_draws_solve_the_equations_whatever_the_threads() {
    let counts = [20_000, 15_000, 25_000, 10_000, 20_000];
    let x = draws(&LADDER, &counts, 4);
    let columns = log_f(&LADDER, &x);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve_columns(&columns, &counts, &independent()))
    };
    let result = run(1);
    assert_eq!(result, run(3));
    assert!(result.evaluations() <= 4, "{}", result.evaluations());
    for k in 0..5 {
        let weight = |n: usize| {
            let mixture: f64 =
                (0..5).map(|l| counts[l] as f64 * (columns[l][n] - result.log_z()[l]).exp()).sum();
            (columns[k][n] - result.log_z()[k]).exp() / mixture
        };
        let total: f64 = (0..x.len()).map(weight).sum();
        assert!((total - 1.0).abs() < 1e-10, "{k}: {total}");
        let (value, error) = result.difference(0, k);
        assert!((value - log_z(&LADDER[k]) + log_z(&LADDER[0])).abs() <= 4.0 * error);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Adding constants to the states' log-densities and one number per draw to all of them moves log Z by the constants.
    #[test]
    fn constants_and_common_factors_of_the_draws_do_nothing(
        seed in 0u64..1000,
        constants in prop::collection::vec(-500.0..500.0f64, 3),
        slope in -50.0..50.0f64,
        counts in prop::collection::vec(20usize..120, 3),
    ) {
        let states = [LADDER[0], LADDER[1], LADDER[2]];
        let x = draws(&states, &counts, seed);
        let plain = solve(&states, &x, &counts);
        let mut columns = log_f(&states, &x);
        for (column, constant) in columns.iter_mut().zip(&constants) {
            column.iter_mut().zip(&x).for_each(|(v, x)| *v += constant + slope * x);
        }
        let moved = solve_columns(&columns, &counts, &independent());
        for k in 0..3 {
            let expected = plain.log_z()[k] + constants[k] - constants[0];
            prop_assert!((moved.log_z()[k] - expected).abs() < 1e-9);
            let (a, b) = (moved.se()[k], plain.se()[k]);
            prop_assert!(a == b || (a - b).abs() < 1e-8);
        }
    }
}

/// A standard normal state with a thousand draws and another without any.
fn unsampled(state: State, seed: u64) -> StatesEstimate {
    let states = [(0.0, 1.0, 0.0), state];
    let counts = [1000, 0];
    solve(&states, &draws(&states, &counts, seed), &counts)
}

#[test]
fn a_state_without_draws_that_reaches_farther_than_the_draws_is_refused() {
    // A deviation of three under draws of one: the weights have the Pareto shape 1 − 1/9 and no variance. Whether a
    // thousand draws show it is up to chance, and nearly always they show that they cannot rule it out.
    let refused = (0..40).filter(|&seed| {
        let result = unsampled((0.0, 3.0, 1.0), seed);
        assert!(result.log_z()[1].is_finite());
        let heavy = |w: &StatesWarning| {
            matches!(
                w,
                StatesWarning::HeavyTail { state: 1, .. } | StatesWarning::LargestWeight { state: 1, .. }
            )
        };
        let told = result.warnings().iter().any(heavy);
        assert_eq!(told, result.se()[1] == f64::INFINITY, "{:?}", result.warnings());
        told
    });
    assert!(refused.count() >= 37);
    let sentence = unsampled((0.0, 3.0, 1.0), 1).warnings()[0].sentence(&["a", "b"]);
    assert!(
        sentence.contains("state b")
            && sentence.contains("have too heavy a tail")
            && sentence.contains("sample it"),
        "{sentence}"
    );
}

#[test]
fn a_state_without_draws_inside_the_draws_stays_known() {
    for (index, state) in [(0.0, 0.5, 2.0), (0.3, 0.7, 0.0), (0.1, 1.0, -1.0)].into_iter().enumerate() {
        let result = unsampled(state, 7 + index as u64);
        let truth = log_z(&state) - log_z(&(0.0, 1.0, 0.0));
        let (found, error) = (result.log_z()[1], result.se()[1]);
        assert!((found - truth).abs() < 4.0 * error && error < 0.1, "{found} ± {error}, truth {truth}");
    }
}

/// A chain that never moves tells nothing of its error, which was 0 before.
#[test]
fn a_chain_that_does_not_move_is_refused() {
    let states = [(0.0, 1.0, 0.0), (0.5, 1.0, 0.0)];
    let mut x = draws(&states, &[500, 500], 3);
    let moving = solve_columns(&log_f(&states, &x), &[500, 500], &StatesOptions::default());
    assert!(moving.se()[1].is_finite());
    x[500..].fill(0.7);
    let stuck = solve_columns(&log_f(&states, &x), &[500, 500], &StatesOptions::default());
    assert_eq!(stuck.se()[1], f64::INFINITY);
    assert_eq!(stuck.covariance(1, 1), f64::INFINITY);
    assert!(stuck.warnings().contains(&StatesWarning::StandsStill { state: 1 }), "{:?}", stuck.warnings());
    // Both of them.
    let both = solve_columns(&log_f(&states, &[0.7; 1000]), &[500, 500], &StatesOptions::default());
    assert_eq!(both.se()[1], f64::INFINITY);
}

/// Every pair is the estimate of the two states alone, whatever is not known of the others.
#[test]
fn neighbours_are_estimates_of_two_states() {
    let counts = [300, 200, 250];
    let states = &LADDER[..3];
    let x = draws(states, &counts, 9);
    let mut columns = log_f(states, &x);
    let ends = [0..500, 300..750];
    let expected: Vec<StatesEstimate> = ends
        .iter()
        .enumerate()
        .map(|(k, range)| {
            let pair: Vec<Vec<f64>> = columns[k..k + 2].iter().map(|c| c[range.clone()].to_vec()).collect();
            solve_columns(&pair, &counts[k..k + 2], &StatesOptions::default())
        })
        .collect();
    columns[0][500..].fill(f64::NAN);
    columns[2][..300].fill(f64::NAN);
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let of = |origin| Pooled { log_f: &slices, origin, chains: None };
    let found = neighbours(&of(Origin::Counts(&counts)), &StatesOptions::default()).unwrap();
    assert_eq!(found, expected);
    // Mistakes are named by the caller's numbers.
    let mut wrong = columns.clone();
    wrong[2][600] = f64::NEG_INFINITY;
    let slices: Vec<&[f64]> = wrong.iter().map(Vec::as_slice).collect();
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&counts), chains: None };
    let error = neighbours(&pooled, &StatesOptions::default()).unwrap_err();
    assert!(matches!(error, Error::StateOwnDraw { state: 3, row: 601 }), "{error}");
}
