//! Time per point of the kernels, on every backend the processor has, beside the plain loop.
#![allow(missing_docs, reason = "criterion's macros write public items")]

use std::hint::black_box;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use noisewright_numerics::kernels::{self, Backend, with_backend};
use noisewright_numerics::{special, summation};

/// Points per call: input and outputs stay in the second-level cache.
const POINTS: usize = 4096;

fn points() -> Vec<f64> {
    (0..POINTS).map(|i| 8.0 * (i as f64 * 0.7).sin()).collect()
}

/// One timing per backend of a routine on the points and two buffers.
fn on_backends(
    group: &mut BenchmarkGroup<'_, WallTime>,
    x: &[f64],
    run: impl Fn(&[f64], &mut [f64], &mut [f64]),
) {
    let (mut first, mut second) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for &backend in Backend::available() {
        group.bench_function(format!("{backend:?}"), |b| {
            with_backend(backend, || {
                b.iter(|| {
                    run(black_box(x), &mut first, &mut second);
                    black_box((&first, &second));
                });
            });
        });
    }
}

fn plain(group: &mut BenchmarkGroup<'_, WallTime>, x: &[f64], f: fn(f64) -> f64) {
    let mut out = vec![0.0; x.len()];
    group.bench_function("plain loop", |b| {
        b.iter(|| {
            for (out, &x) in out.iter_mut().zip(black_box(x)) {
                *out = f(x);
            }
            black_box(&out);
        });
    });
}

fn pointwise(c: &mut Criterion) {
    type Kernel = fn(&[f64], &mut [f64]);
    type Plain = fn(f64) -> f64;
    let cases: [(&str, Kernel, Plain); 4] = [
        ("exp", kernels::exp, f64::exp),
        ("ln", kernels::ln, f64::ln),
        ("sigmoid", kernels::sigmoid, special::sigmoid),
        ("softplus", kernels::softplus, special::softplus),
    ];
    for (name, kernel, scalar) in cases {
        let x: Vec<f64> = points().into_iter().map(|x| if name == "ln" { x.exp() } else { x }).collect();
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(POINTS as u64));
        plain(&mut group, &x, scalar);
        on_backends(&mut group, &x, |x, out, _| kernel(x, out));
    }
}

fn softplus_sigmoid(c: &mut Criterion) {
    let x = points();
    let mut group = c.benchmark_group("softplus_sigmoid");
    group.throughput(Throughput::Elements(POINTS as u64));
    let (mut softplus, mut sigmoid) = (vec![0.0; POINTS], vec![0.0; POINTS]);
    group.bench_function("plain loop", |b| {
        b.iter(|| {
            for (i, &g) in black_box(&x).iter().enumerate() {
                let e = (-g.abs()).exp();
                softplus[i] = g.max(0.0) + e.ln_1p();
                sigmoid[i] = if g >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
            }
            black_box((&softplus, &sigmoid));
        });
    });
    on_backends(&mut group, &x, kernels::softplus_sigmoid);
}

fn sums(c: &mut Criterion) {
    type Sum = fn(&[f64]) -> f64;
    let x = points();
    let cases: [(&str, Sum, Sum); 3] = [
        ("log_sum_exp", summation::log_sum_exp, |x| {
            let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            max + x.iter().map(|v| (v - max).exp()).sum::<f64>().ln()
        }),
        (
            "sum_sigmoid",
            |x| kernels::sum_sigmoid(x, 0.5).1,
            |x| {
                let sigmoids = x.iter().map(|v| special::sigmoid(v - 0.5));
                let (sum, slope) =
                    sigmoids.fold((0.0, 0.0), |(sum, slope), s| (sum + s, slope + s * (1.0 - s)));
                black_box(sum);
                slope
            },
        ),
        ("sum", summation::sum, |x| x.iter().sum()),
    ];
    for (name, sum, plain) in cases {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(POINTS as u64));
        group.bench_function("plain loop", |b| b.iter(|| plain(black_box(&x))));
        on_backends(&mut group, &x, |x, out, _| out[0] = sum(x));
    }
}

criterion_group!(benches, pointwise, softplus_sigmoid, sums);
criterion_main!(benches);
