//! Sums against exact ones, at infinities, and under any number of threads.

use noisewright_numerics::summation::*;
use proptest::prelude::*;

/// The exact sum, rounded once, of numbers that are multiples of 2⁻⁴⁰ and below 2²⁰ in size.
fn exact_sum(x: &[f64]) -> f64 {
    let scale = 2.0_f64.powi(40);
    x.iter().map(|v| (v * scale) as i128).sum::<i128>() as f64 / scale
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_are_right(raw in prop::collection::vec(-1_000_000.0..1_000_000.0_f64, 0..3000)) {
        let grid = 2.0_f64.powi(-40);
        let x: Vec<f64> = raw.iter().map(|v| (v / grid).round() * grid).collect();
        let size: f64 = x.iter().map(|v| v.abs()).sum();
        prop_assert!((sum(&x) - exact_sum(&x)).abs() <= 2e-15 * size);
        let compensated: Compensated = x.iter().copied().collect();
        prop_assert!((compensated.value() - exact_sum(&x)).abs() <= 2.3e-16 * exact_sum(&x).abs() + 1e-30 * size);
        let ones = vec![1.0; x.len()];
        prop_assert_eq!(dot(&x, &ones), sum(&x));
    }

    #[test]
    fn log_sum_exp_shifts(x in prop::collection::vec(-30.0..30.0_f64, 1..2000), shift in -1e4..1e4_f64) {
        let plain = x.iter().map(|v| v.exp()).sum::<f64>().ln();
        prop_assert!((log_sum_exp(&x) - plain).abs() < 1e-13);
        let moved: Vec<f64> = x.iter().map(|v| v + shift).collect();
        // Adding the shift rounds every term by as much as half a unit of 1e4.
        prop_assert!((log_sum_exp(&moved) - shift - plain).abs() < 4e-12);
        prop_assert!((log_mean_exp(&x) - (plain - (x.len() as f64).ln())).abs() < 1e-13);
    }

    #[test]
    fn blocks_cover_everything_once(n in 0_usize..5000, block in 1_usize..700) {
        let covered: Vec<usize> = fixed_blocks(n, block).flatten().collect();
        prop_assert_eq!(&covered, &(0..n).collect::<Vec<_>>());
        prop_assert!(fixed_blocks(n, block).all(|r| r.len() <= block && !r.is_empty()));
        let joined = blocked(n, block, |r| r.collect::<Vec<_>>(), |a, b| [a, b].concat());
        prop_assert_eq!(joined.unwrap_or_default(), covered);
    }
}

#[test]
fn threads_do_not_change_bits() {
    let x: Vec<f64> = (0..100_000).map(|i| (f64::from(i) * 0.1).sin() * 10.0_f64.powi(i % 17)).collect();
    let total = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
        pool.install(|| blocked(x.len(), 1000, |r| sum(&x[r]), |a, b| a + b))
    };
    assert!(total(1).is_some());
    for threads in [2, 3, 8] {
        assert_eq!(total(1), total(threads));
    }
}

#[test]
fn compensation_keeps_what_plain_addition_drops() {
    let sum: Compensated = [1.0, 1e100, 1.0, -1e100].into_iter().collect();
    assert_eq!(sum.value(), 2.0);
    let infinite: Compensated = [1.0, f64::INFINITY, 1.0].into_iter().collect();
    assert_eq!(infinite.value(), f64::INFINITY);
}

#[test]
fn pairwise_sum_of_many_keeps_its_digits() {
    let n = 10_000_000;
    let x = vec![0.1; n];
    // 10⁷ times the double nearest 0.1 is 10⁶ + 5.55e-11, which rounds to 10⁶.
    assert!((sum(&x) - 1e6).abs() <= 1e-9);
}

#[test]
fn edges_of_log_sum_exp() {
    let (inf, low) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!(log_sum_exp(&[]), low);
    assert_eq!(log_sum_exp(&[low, low]), low);
    assert_eq!(log_sum_exp(&[low, 2.0]), 2.0);
    assert_eq!(log_sum_exp(&[inf, 2.0, low]), inf);
    assert!(log_sum_exp(&[f64::NAN, inf]).is_nan() && log_sum_exp(&[low, f64::NAN]).is_nan());
    assert!(log_sum_exp(&[1.0, f64::NAN]).is_nan() && log_mean_exp(&[]).is_nan());
    assert_eq!(log_mean_exp(&[-1e5; 7]), -1e5);
}

#[test]
fn moments_of_few_and_of_shifted_numbers() {
    assert!(mean(&[]).is_nan() && mean_and_variance(&[1.0]).1.is_nan());
    // Uniform on 0..n: mean (n−1)/2, sample variance n(n+1)/12.
    let n = 10_000;
    let x: Vec<f64> = (0..n).map(|i| 1e12 + f64::from(i)).collect();
    let (center, variance) = mean_and_variance(&x);
    let n = f64::from(n);
    assert!((center - 1e12 - (n - 1.0) / 2.0).abs() <= 2e-4);
    assert!((variance / (n * (n + 1.0) / 12.0) - 1.0).abs() < 1e-14);
}
