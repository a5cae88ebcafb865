//! Gram matrices and weighted sums against nalgebra and plain loops, on every backend.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{
    Columns, add_combination, add_combination_of, add_triangle, mirror, weighted_gram, weighted_sum,
    weighted_sums,
};
use noisewright_numerics::kernels::{Backend, with_backend};
use noisewright_numerics::random::stream;
use rand::RngExt;

/// Numbers in (−1, 1) and positive weights, always the same.
fn numbers(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = stream(seed, 0);
    (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect()
}

fn oracle(
    data: &[f64],
    rows: usize,
    k: usize,
    stride: usize,
    weights: &[f64],
) -> (DMatrix<f64>, DVector<f64>) {
    let a = DMatrix::from_fn(rows, k, |i, j| data[j * stride + i]);
    let weighted = DMatrix::from_fn(rows, k, |i, j| weights[i] * a[(i, j)]);
    (a.transpose() * &weighted, a.transpose() * DVector::from_column_slice(weights))
}

#[test]
fn agrees_with_nalgebra_for_every_remainder() {
    for &backend in Backend::available() {
        for k in (0..=13).chain([33, 63, 64, 65, 66, 130]) {
            for rows in [0, 1, 7, 8, 9, 511, 512, 513, 1100] {
                let stride = rows + 3;
                let data = numbers(1, k * stride);
                let weights = numbers(2, rows);
                let (gram, sum) = oracle(&data, rows, k, stride, &weights);
                let columns = Columns::new(&data, rows, k, stride);
                let (mut out, mut total) = (vec![1.0; k * k], vec![2.0; k]);
                with_backend(backend, || {
                    weighted_gram(columns, &weights, &mut out);
                    weighted_sum(columns, &weights, &mut total);
                });
                let mut half = vec![0.0; k * k];
                with_backend(backend, || add_triangle(columns, &weights, &mut half));
                assert!((0..k).all(|i| half[i * k..i * k + i].iter().all(|x| *x == 0.0)));
                mirror(k, &mut half);
                // Each sum of `rows` terms below one in size is off by far less than rows·ε.
                let allowed = 4e-16 * (rows as f64 + 10.0);
                for i in 0..k {
                    assert!((total[i] - 2.0 - sum[i]).abs() <= allowed, "{backend:?} k {k} rows {rows}");
                    for j in 0..k {
                        let error = (out[i * k + j] - 1.0 - gram[(i, j)]).abs();
                        assert!(
                            error <= allowed,
                            "{backend:?} k {k} rows {rows} ({i}, {j}) off by {error:e}"
                        );
                        assert_eq!(out[i * k + j], out[j * k + i]);
                        assert_eq!(half[i * k + j] + 1.0, out[i * k + j]);
                    }
                }
            }
        }
    }
}

#[test]
fn sums_for_many_weights_are_those_for_each_alone_to_the_bit() {
    for &backend in Backend::available() {
        for k in [0, 1, 2, 3, 4, 9] {
            for (rows, count) in [(0, 2), (1, 1), (9, 3), (512, 4), (513, 7), (1100, 11)] {
                let data = numbers(3, k * rows);
                let weights = numbers(4, count * rows);
                let columns = Columns::new(&data, rows, k, rows);
                let mut out = vec![1.0; count * k];
                with_backend(backend, || {
                    weighted_sums(columns, Columns::new(&weights, rows, count, rows), &mut out);
                });
                for (own, out) in
                    (0..count).map(|w| &weights[w * rows..(w + 1) * rows]).zip(out.chunks(k.max(1)))
                {
                    let mut alone = vec![1.0; k];
                    with_backend(backend, || {
                        weighted_sums(columns, Columns::new(own, rows, 1, rows), &mut alone);
                    });
                    assert_eq!(alone, out);
                    let (_, sum) = oracle(&data, rows, k, rows, own);
                    let allowed = 4e-16 * (rows as f64 + 10.0);
                    assert!(out.iter().zip(sum.iter()).all(|(out, sum)| (out - 1.0 - sum).abs() <= allowed));
                }
            }
        }
    }
}

#[test]
fn combinations_of_some_columns_are_those_with_zeros_elsewhere() {
    for &backend in Backend::available() {
        for of in [vec![], vec![4], vec![1, 2], vec![0, 3, 6], vec![0, 1, 3, 4, 5, 6]] {
            for rows in [0, 1, 9, 513] {
                let (data, some) = (numbers(5, 7 * rows), numbers(6, of.len()));
                let columns = Columns::new(&data, rows, 7, rows);
                let mut factors = vec![0.0; 7];
                of.iter().zip(&some).for_each(|(j, factor)| factors[*j] = *factor);
                let (mut out, mut all) = (vec![1.0; rows], vec![1.0; rows]);
                with_backend(backend, || {
                    add_combination_of(columns, &of, &some, &mut out);
                    add_combination(columns, &factors, &mut all);
                });
                assert_eq!(out, all, "{backend:?} {of:?} rows {rows}");
            }
        }
    }
}

#[test]
fn whole_numbers_are_exact() {
    // Column j of row i is i + j: the sums are integers below 2⁵³.
    let (rows, k) = (1000, 5);
    let data: Vec<f64> = (0..k).flat_map(|j| (0..rows).map(move |i| (i + j) as f64)).collect();
    let weights: Vec<f64> = (0..rows).map(|i| (i % 3) as f64).collect();
    for &backend in Backend::available() {
        let mut out = vec![0.0; k * k];
        with_backend(backend, || weighted_gram(Columns::new(&data, rows, k, rows), &weights, &mut out));
        for p in 0..k {
            for q in 0..k {
                let exact: usize = (0..rows).map(|i| (i % 3) * (i + p) * (i + q)).sum();
                assert_eq!(out[p * k + q], exact as f64);
            }
        }
    }
}

#[test]
#[should_panic(expected = "need 12 numbers, not 11")]
fn data_that_end_too_early_are_a_mistake() {
    let _ = Columns::new(&[0.0; 11], 4, 3, 4);
}
