//! Time of a weighted Gram matrix, on every backend the processor has, beside the plain loop and nalgebra.
//!
//! The throughput is counted in multiplications and additions of one triangle: `rows · k(k+1)`.
#![allow(missing_docs, reason = "criterion's macros write public items")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nalgebra::DMatrix;
use noisewright_numerics::gram::{Columns, weighted_gram};
use noisewright_numerics::kernels::{Backend, with_backend};

fn plain_loop(data: &[f64], rows: usize, k: usize, weights: &[f64], out: &mut [f64]) {
    for p in 0..k {
        for q in p..k {
            let (a, b) = (&data[p * rows..(p + 1) * rows], &data[q * rows..(q + 1) * rows]);
            let total: f64 = (0..rows).map(|i| weights[i] * a[i] * b[i]).sum();
            out[p * k + q] += total;
        }
    }
}

fn gram(c: &mut Criterion) {
    let mut group = c.benchmark_group("weighted_gram");
    group.sample_size(10);
    for (k, rows) in [(1, 100_000), (3, 100_000), (10, 100_000), (66, 100_000)] {
        let data: Vec<f64> = (0..k * rows).map(|i| (i as f64 * 0.37).sin()).collect();
        let weights: Vec<f64> = (0..rows).map(|i| 1.0 + (i as f64 * 0.11).cos()).collect();
        let mut out = vec![0.0; k * k];
        group.throughput(Throughput::Elements((rows * k * (k + 1)) as u64));
        group.bench_function(BenchmarkId::new("plain loop", k), |b| {
            b.iter(|| plain_loop(black_box(&data), rows, k, &weights, black_box(&mut out)));
        });
        let matrix = DMatrix::from_column_slice(rows, k, &data);
        group.bench_function(BenchmarkId::new("nalgebra", k), |b| {
            b.iter(|| {
                let mut weighted = matrix.clone();
                for mut column in weighted.column_iter_mut() {
                    column.iter_mut().zip(&weights).for_each(|(a, w)| *a *= w);
                }
                black_box(matrix.tr_mul(&weighted))
            });
        });
        for &backend in Backend::available() {
            let columns = Columns::new(&data, rows, k, rows);
            group.bench_function(BenchmarkId::new(format!("{backend:?}"), k), |b| {
                with_backend(backend, || {
                    b.iter(|| weighted_gram(black_box(columns), &weights, black_box(&mut out)));
                });
            });
        }
    }
}

criterion_group!(benches, gram);
criterion_main!(benches);
