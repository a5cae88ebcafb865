//! Kernels against mpmath in units in the last place, against plain loops, and at special numbers, on every backend.

// Helpers outside #[test] functions may fail loudly too.
#![allow(clippy::unwrap_used, clippy::panic)]

use noisewright_numerics::kernels::{self, Backend, with_backend};
use noisewright_numerics::special;
use proptest::prelude::*;

const TABLE: &str = include_str!("references/kernels.csv");

type Kernel = fn(&[f64], &mut [f64]);
type Plain = fn(f64) -> f64;

/// Name, kernel, plain loop's function, error allowed in units in the last place.
const KERNELS: [(&str, Kernel, Plain, f64); 5] = [
    ("exp", kernels::exp, f64::exp, 1.0),
    ("ln", kernels::ln, f64::ln, 1.0),
    ("softplus", kernels::softplus, special::softplus, 3.0),
    ("sigmoid", kernels::sigmoid, special::sigmoid, 3.0),
    ("ln_sigmoid", kernels::ln_sigmoid, special::ln_sigmoid, 3.0),
];

fn apply(kernel: Kernel, backend: Backend, x: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; x.len()];
    with_backend(backend, || kernel(x, &mut out));
    out
}

fn ulp(x: f64) -> f64 {
    let x = x.abs();
    x.next_up() - x
}

/// Distance in units in the last place of the reference; equal infinities and two `NaN`s are at 0.
fn ulps_apart(value: f64, reference: f64) -> f64 {
    if value == reference || (value.is_nan() && reference.is_nan()) {
        0.0
    } else if value.is_finite() && reference.is_finite() {
        (value - reference).abs() / ulp(reference)
    } else {
        f64::INFINITY
    }
}

#[test]
fn within_the_promised_ulps_of_mpmath() {
    for &backend in Backend::available() {
        for (name, kernel, _, allowed) in KERNELS {
            let rows: Vec<Vec<f64>> = TABLE
                .lines()
                .filter_map(|line| line.strip_prefix(name)?.strip_prefix(','))
                .map(|line| line.split(',').map(|f| f.parse().unwrap()).collect())
                .collect();
            assert!(rows.len() > 500, "the table has {} rows of {name}", rows.len());
            let x: Vec<f64> = rows.iter().map(|r| r[0]).collect();
            let mut worst = (0.0, 0.0);
            for (value, r) in apply(kernel, backend, &x).iter().zip(&rows) {
                let error = ((value - r[1]) / ulp(r[1]) - r[2]).abs();
                if error.is_nan() || error > worst.0 {
                    worst = (error, r[0]);
                }
            }
            println!("{backend:?} {name}: {:.3} ulp at {:e}, {} points", worst.0, worst.1, rows.len());
            assert!(worst.0 <= allowed, "{backend:?} {name}: {} ulp at {:e}", worst.0, worst.1);
        }
    }
}

#[test]
fn special_numbers_are_those_of_the_plain_loop() {
    let x = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        -f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        1.0,
        -1.0,
        709.782_712_893_384,
        709.782_712_893_385,
        710.0,
        1e300,
        -708.4,
        -744.4,
        -745.0,
        -745.133_219_101_941_1,
        -745.133_219_101_942,
        -746.0,
        -1e300,
    ];
    for &backend in Backend::available() {
        for (name, kernel, plain, allowed) in KERNELS {
            for (value, &x) in apply(kernel, backend, &x).iter().zip(&x) {
                let apart = ulps_apart(*value, plain(x));
                assert!(apart <= allowed, "{backend:?} {name}({x:e}) = {value:e}, plain loop {:e}", plain(x));
                assert_eq!(
                    value.is_sign_negative() && *value == 0.0,
                    plain(x).is_sign_negative() && plain(x) == 0.0
                );
            }
        }
    }
}

#[test]
fn left_tail_of_softplus_and_sigmoid_is_the_exponential() {
    for &backend in Backend::available() {
        let g = [-700.0, -740.0, -745.0];
        let exact: Vec<f64> = g.iter().map(|g: &f64| g.exp()).collect();
        assert_eq!(apply(kernels::softplus, backend, &g), exact);
        assert_eq!(apply(kernels::sigmoid, backend, &g), exact);
    }
}

/// Numbers of every kind: all bit patterns, and moderate ones where the functions vary.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        -750.0..750.0_f64,
        -5.0..5.0_f64,
        0.5..2.0_f64,
        Just(f64::NEG_INFINITY),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_backend_follows_the_plain_loop(x in prop::collection::vec(any_number(), 0..40)) {
        for &backend in Backend::available() {
            for (name, kernel, plain, allowed) in KERNELS {
                for (value, &x) in apply(kernel, backend, &x).iter().zip(&x) {
                    // The plain loop is itself rounded, the library's logistic functions more than once.
                    let apart = ulps_apart(*value, plain(x));
                    prop_assert!(apart <= allowed + 1.0, "{backend:?} {name}({x:e}) = {value:e}, {apart} ulp");
                }
            }
        }
    }

    #[test]
    fn place_and_alignment_do_not_change_bits(
        x in prop::collection::vec(any_number(), 1..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(x.len());
        for &backend in Backend::available() {
            for (name, kernel, _, _) in KERNELS {
                let whole = apply(kernel, backend, &x);
                let parts = [apply(kernel, backend, &x[..cut]), apply(kernel, backend, &x[cut..])].concat();
                prop_assert_eq!(bits(&whole), bits(&parts), "{:?} {}", backend, name);
            }
        }
    }

    #[test]
    fn vector_backends_agree_to_the_bit(x in prop::collection::vec(any_number(), 0..40), shift in -5.0..5.0_f64) {
        let vector: Vec<Backend> = Backend::available().iter().copied().filter(|b| *b != Backend::Scalar).collect();
        for pair in vector.windows(2) {
            for (_, kernel, _, _) in KERNELS {
                prop_assert_eq!(bits(&apply(kernel, pair[0], &x)), bits(&apply(kernel, pair[1], &x)));
            }
            let sums = |b| with_backend(b, || {
                let (sum, slope) = kernels::sum_sigmoid(&x, shift);
                let sigmoids = kernels::sum_sigmoid_moments(&x, shift, 0.25);
                let powers = kernels::sum_exp_moments(&x, shift, 0.5, 1.0);
                let plain = [kernels::sum_exp(&x, shift), sum, slope, kernels::max(&x)];
                bits(&[plain, sigmoids, powers].concat())
            });
            prop_assert_eq!(sums(pair[0]), sums(pair[1]));
        }
    }

    #[test]
    fn fused_and_in_place_forms_are_the_plain_ones(x in prop::collection::vec(any_number(), 0..40)) {
        for &backend in Backend::available() {
            let (mut softplus, mut sigmoid) = (vec![0.0; x.len()], vec![0.0; x.len()]);
            let mut in_place = x.clone();
            with_backend(backend, || {
                kernels::softplus_sigmoid(&x, &mut softplus, &mut sigmoid);
                kernels::exp_in_place(&mut in_place);
            });
            prop_assert_eq!(bits(&softplus), bits(&apply(kernels::softplus, backend, &x)));
            prop_assert_eq!(bits(&sigmoid), bits(&apply(kernels::sigmoid, backend, &x)));
            prop_assert_eq!(bits(&in_place), bits(&apply(kernels::exp, backend, &x)));
        }
    }

    #[test]
    fn sums_are_those_of_the_terms(x in prop::collection::vec(-50.0..50.0_f64, 0..3000), shift in -20.0..20.0_f64) {
        let exp: f64 = x.iter().map(|v| (v - shift).exp()).sum();
        let sigmoid: f64 = x.iter().map(|v| special::sigmoid(v - shift)).sum();
        let slope: f64 = x.iter().map(|v| special::sigmoid(v - shift) * special::sigmoid(shift - v)).sum();
        for &backend in Backend::available() {
            let (sum, derivative) = with_backend(backend, || kernels::sum_sigmoid(&x, shift));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b;
            prop_assert!(close(with_backend(backend, || kernels::sum_exp(&x, shift)), exp));
            prop_assert!(close(sum, sigmoid) && close(derivative, slope), "{sum} {sigmoid} {derivative} {slope}");
        }
    }

    #[test]
    fn moments_are_those_of_the_terms(
        x in prop::collection::vec(-20.0..20.0_f64, 0..3000),
        shift in -5.0..5.0_f64,
        center in 0.0..1.0_f64,
    ) {
        let terms = |f: &dyn Fn(f64) -> [f64; 4]| {
            x.iter().map(|v| f(*v)).fold([0.0; 4], |sum, t| std::array::from_fn(|k| sum[k] + t[k]))
        };
        let sigmoids = terms(&|v| {
            let (s, t) = (special::sigmoid(v - shift), special::sigmoid(shift - v));
            [s - center, (s - center).powi(2), s * t, s * t * (t - s)]
        });
        let powers = terms(&|v| {
            let h = (0.5 * (v - shift)).exp();
            let square = h * h - center * center;
            [h - center, (h - center).powi(2), square, square * square]
        });
        let size = terms(&|v| {
            let h = (0.5 * (v - shift)).exp() + 1.0;
            [h, h * h, h * h, h.powi(4)]
        });
        for &backend in Backend::available() {
            let found = with_backend(backend, || {
                (kernels::sum_sigmoid_moments(&x, shift, center), kernels::sum_exp_moments(&x, shift, 0.5, center))
            });
            for k in 0..4 {
                prop_assert!((found.0[k] - sigmoids[k]).abs() <= 1e-13 * x.len() as f64, "{k} {found:?}");
                prop_assert!((found.1[k] - powers[k]).abs() <= 1e-12 * size[k], "{k} {found:?} {powers:?}");
            }
        }
    }

    #[test]
    fn max_ignores_nan(x in prop::collection::vec(any_number(), 0..100)) {
        let plain = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for &backend in Backend::available() {
            prop_assert_eq!(with_backend(backend, || kernels::max(&x)), plain);
        }
    }
}

/// Bit patterns, with every `NaN` the same: its payload is not promised.
fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
}

#[test]
fn sums_over_many_blocks_keep_their_digits() {
    // Σ e^0 over a million and one points is exact; the sigmoid of 0 is one half.
    let x = vec![2.5; 1_000_001];
    for &backend in Backend::available() {
        with_backend(backend, || {
            assert_eq!(kernels::sum_exp(&x, 2.5), 1_000_001.0);
            assert_eq!(kernels::sum_sigmoid(&x, 2.5), (500_000.5, 250_000.25));
        });
    }
}

#[test]
fn sums_at_infinite_terms() {
    for &backend in Backend::available() {
        with_backend(backend, || {
            let (inf, low) = (f64::INFINITY, f64::NEG_INFINITY);
            assert_eq!(kernels::sum_exp(&[], 0.0), 0.0);
            assert_eq!(kernels::sum_exp(&[low, low], 3.0), 0.0);
            assert_eq!(kernels::sum_exp(&[1.0, inf], 3.0), inf);
            assert!(kernels::sum_exp(&[1.0, f64::NAN], 3.0).is_nan());
            assert_eq!(kernels::sum_sigmoid(&[low, inf], 3.0), (1.0, 0.0));
            assert_eq!(kernels::max(&[]), low);
        });
    }
}

#[test]
fn a_forced_backend_is_reported_and_given_back() {
    let usual = kernels::backend();
    assert_eq!(with_backend(Backend::Scalar, kernels::backend), Backend::Scalar);
    assert_eq!(kernels::backend(), usual);
    assert_eq!(Some(&usual), Backend::available().last());
}

/// Numbers of every kind, in an order that does not repeat with any vector's width.
fn mixed(count: usize, seed: usize) -> Vec<f64> {
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0, 1e300, -1e300, 5e-324];
    let number = |i: usize| ((i * 7919 + seed) as f64).sin() * 30.0;
    (0..count)
        .map(|i| if (i * seed) % 11 == 3 { special[(i / 5) % special.len()] } else { number(i) })
        .collect()
}

fn same_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn logarithms_of_sums_have_the_bits_of_their_steps() {
    for (k, rows) in [(1, 9), (2, 1003), (3, 1003), (5, 17)] {
        let x = mixed(k * rows, 7);
        let shifts: Vec<f64> = (0..k).map(|j| -0.3 * j as f64).collect();
        for &backend in Backend::available() {
            let mut out = vec![0.0; rows];
            let columns = noisewright_numerics::gram::Columns::new(&x, rows, k, rows);
            with_backend(backend, || kernels::ln_sum_exp_of_columns(columns, &shifts, &mut out));
            for row in 0..rows {
                let terms: Vec<f64> = (0..k).map(|j| x[j * rows + row] + shifts[j]).collect();
                let top = terms
                    .iter()
                    .fold(f64::NEG_INFINITY, |top, t| if t > &top || t.is_nan() { *t } else { top });
                let less: Vec<f64> = terms.iter().map(|t| if *t == top { 0.0 } else { t - top }).collect();
                let sum: f64 = apply(kernels::exp, backend, &less).iter().sum();
                let expected = apply(kernels::ln, backend, &[sum])[0] + top;
                assert!(same_bits(out[row], expected), "{backend:?} {terms:?}: {} {expected}", out[row]);
            }
        }
    }
}

#[test]
fn logistic_terms_have_the_bits_of_their_steps() {
    let g = mixed(1003, 5);
    for &backend in Backend::available() {
        for (sign, shift) in [(1.0, 0.0), (-1.0, 0.0), (-1.0, 0.7)] {
            let mut out = [vec![0.0; g.len()], vec![0.0; g.len()], vec![0.0; g.len()]];
            let [value, first, second] = &mut out;
            with_backend(backend, || kernels::logistic_terms(&g, shift, sign, [value, first, second]));
            let x: Vec<f64> = g.iter().map(|g| sign * (g + shift)).collect();
            let (softplus, sigmoid) =
                (apply(kernels::softplus, backend, &x), apply(kernels::sigmoid, backend, &x));
            for i in 0..g.len() {
                let expected = [softplus[i], sigmoid[i] * sign, sigmoid[i] * (1.0 - sigmoid[i])];
                let found = [out[0][i], out[1][i], out[2][i]];
                assert!(found.iter().zip(&expected).all(|(a, b)| same_bits(*a, *b)), "{backend:?} {}", g[i]);
            }
        }
    }
}

#[test]
fn what_is_no_number_is_found_anywhere() {
    for &backend in Backend::available() {
        with_backend(backend, || {
            let mut x = vec![1.0; 37];
            assert!(kernels::all_finite(&x) && !kernels::any_nan(&x) && kernels::all_finite(&[]));
            for i in 0..x.len() {
                x[i] = f64::NEG_INFINITY;
                assert!(!kernels::all_finite(&x) && !kernels::any_nan(&x));
                x[i] = f64::NAN;
                assert!(!kernels::all_finite(&x) && kernels::any_nan(&x));
                x[i] = -1e300;
            }
        });
    }
}
