//! The tape against the same formula written by hand, value and both derivatives over 10⁷ points, in one run.
#![allow(missing_docs, clippy::expect_used, clippy::print_stderr)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use noisewright_formula::{Formula, Order, Symbols, Tape};

const POINTS: usize = 10_000_000;

fn points(count: usize) -> Vec<f64> {
    (0..count).map(|i| (i as f64 * 0.618_033_988_749_895).fract() * 8.0 - 4.0).collect()
}

fn tape(text: &str, parameters: &[&str]) -> Tape {
    let symbols = Symbols::new(&["x"], parameters).expect("valid names");
    Formula::parse(text, &symbols).expect("a valid formula").compile(Order::First)
}

/// What a careful person writes for `-0.5*(x-mu)^2/exp(s)` with its derivatives in `mu` and `s`.
fn by_hand(mu: f64, s: f64, x: &[f64], value: &mut [f64], by_mu: &mut [f64], by_s: &mut [f64]) {
    let inverse = (-s).exp();
    let rows = x.iter().zip(value).zip(by_mu).zip(by_s);
    for (((&x, value), by_mu), by_s) in rows {
        let d = x - mu;
        let q = d * inverse;
        *by_mu = q;
        *by_s = 0.5 * d * q;
        *value = -*by_s;
    }
}

fn columns(count: usize) -> (Vec<f64>, [Vec<f64>; 3]) {
    (points(count), [vec![0.0; count], vec![0.0; count], vec![0.0; count]])
}

fn seconds(mut run: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..15 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best.as_secs_f64()
}

/// The budget: no less than a third of the speed of the hand-written loop.
fn ratio(_: &mut Criterion) {
    let tape = tape("-0.5*(x-mu)^2/exp(s)", &["mu", "s"]);
    for count in [100_000, POINTS] {
        let (x, [mut value, mut by_mu, mut by_s]) = columns(count);
        let repeat = POINTS / count;
        let hand = seconds(|| {
            for _ in 0..repeat {
                by_hand(black_box(0.3), 0.2, &x, &mut value, &mut by_mu, &mut by_s);
                black_box((&value, &by_mu, &by_s));
            }
        });
        let run = seconds(|| {
            for _ in 0..repeat {
                let mut out = [&mut value[..], &mut by_mu[..], &mut by_s[..]];
                tape.evaluate(black_box(&[0.3, 0.2]), &[&x], &mut out);
                black_box(&out);
            }
        });
        let per_point = 1e9 / POINTS as f64;
        eprintln!(
            "{count} points: tape {:.2} ns, by hand {:.2} ns a point; the tape runs at {:.2} of the speed",
            run * per_point,
            hand * per_point,
            hand / run
        );
    }
}

fn formulas(criterion: &mut Criterion) {
    let count = 100_000;
    let mut group = criterion.benchmark_group("formula");
    group.throughput(Throughput::Elements(count as u64)).sample_size(20);
    for (text, parameters) in [
        ("-0.5*(x-mu)^2/exp(s)", ["mu", "s"]),
        ("-a*x^2/2 - b*x^4", ["a", "b"]),
        ("-softplus(a*x + b)", ["a", "b"]),
        ("-a*log(1 + exp(-b*x))", ["a", "b"]),
        ("-logcosh(a*(x - b))", ["a", "b"]),
        ("-abs(x - a)^b", ["a", "b"]),
    ] {
        let tape = tape(text, &parameters);
        let (x, [mut value, mut first, mut second]) = columns(count);
        group.bench_function(text, |bencher| {
            bencher.iter(|| {
                let mut out = [&mut value[..], &mut first[..], &mut second[..]];
                tape.evaluate(black_box(&[0.3, 0.2]), &[&x], &mut out);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, ratio, formulas);
criterion_main!(benches);
