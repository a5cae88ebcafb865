//! The loops over the points of a block, written so that the compiler turns them into vector code.

use noisewright_numerics::kernels;

use crate::assemble::Fused;
use crate::function::{self, Binary, Function};

/// Points of which sums for logarithms are held at a time.
const LOG_BLOCK: usize = 64;

/// A column, or one number for all points.
#[derive(Clone, Copy)]
pub(crate) enum Values<'a> {
    Column(&'a [f64]),
    Scalar(f64),
}

#[inline(always)]
fn one(out: &mut [f64], a: &[f64], f: impl Fn(f64) -> f64) {
    kernels::in_vectors(|| {
        for (o, &x) in out.iter_mut().zip(a) {
            *o = f(x);
        }
    });
}

#[inline(always)]
fn two(out: &mut [f64], a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) {
    kernels::in_vectors(|| {
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *o = f(x, y);
        }
    });
}

/// `out[i] = f(a[i], b[i])` with either side a scalar.
#[inline(always)]
fn broadcast(out: &mut [f64], a: Values<'_>, b: Values<'_>, f: impl Fn(f64, f64) -> f64) {
    match (a, b) {
        (Values::Column(a), Values::Column(b)) => two(out, a, b, f),
        (Values::Column(a), Values::Scalar(b)) => one(out, a, |x| f(x, b)),
        (Values::Scalar(a), Values::Column(b)) => one(out, b, |y| f(a, y)),
        (Values::Scalar(a), Values::Scalar(b)) => out.fill(f(a, b)),
    }
}

pub(crate) fn copy(out: &mut [f64], from: Values<'_>) {
    match from {
        Values::Column(column) => out.copy_from_slice(column),
        Values::Scalar(value) => out.fill(value),
    }
}

pub(crate) fn negate(out: &mut [f64], a: &[f64]) {
    one(out, a, |x| -x);
}

pub(crate) fn softplus_sigmoid(a: &[f64], softplus: &mut [f64], sigmoid: &mut [f64]) {
    kernels::softplus_sigmoid(a, softplus, sigmoid);
}

pub(crate) fn call(function: Function, out: &mut [f64], a: &[f64]) {
    match function {
        Function::Exp => kernels::exp(a, out),
        Function::Log => kernels::ln(a, out),
        Function::Log1p => log_1p(out, a),
        Function::Sigmoid => kernels::sigmoid(a, out),
        Function::Sqrt => one(out, a, f64::sqrt),
        Function::Abs => one(out, a, f64::abs),
        Function::Sign => one(out, a, function::sign),
        Function::Step => one(out, a, function::step),
        other => one(out, a, |x| other.value(x)),
    }
}

/// `ln(1 + x)` by the kernel of `ln`: with `w = 1 + x` as rounded, `ln w + (x − (w − 1))/w`. The bracket is the rounding of w,
/// exactly where it counts (Higham, Accuracy and Stability of Numerical Algorithms, 1.14.1).
fn log_1p(out: &mut [f64], a: &[f64]) {
    let mut sums = [0.0; LOG_BLOCK];
    for (out, a) in out.chunks_mut(LOG_BLOCK).zip(a.chunks(LOG_BLOCK)) {
        let sums = &mut sums[..a.len()];
        one(sums, a, |x| 1.0 + x);
        kernels::ln(sums, out);
        for ((o, &w), &x) in out.iter_mut().zip(sums.iter()).zip(a) {
            // At −1 and at ∞ the logarithm is infinite, and the correction not a number.
            *o += if o.is_infinite() { 0.0 } else { (x - (w - 1.0)) / w };
        }
    }
}

pub(crate) fn binary(binary: Binary, out: &mut [f64], a: Values<'_>, b: Values<'_>) {
    match binary {
        Binary::Add => broadcast(out, a, b, |x, y| x + y),
        Binary::Subtract => broadcast(out, a, b, |x, y| x - y),
        Binary::Multiply => broadcast(out, a, b, |x, y| x * y),
        Binary::Divide => divide(out, a, b),
        Binary::Power => broadcast(out, a, b, function::power),
        Binary::Min => broadcast(out, a, b, function::min),
        Binary::Max => broadcast(out, a, b, function::max),
        Binary::MaskedProduct => broadcast(out, a, b, function::masked_product),
    }
}

/// Dividing a column by a scalar multiplies by the inverse, unless that over- or underflows.
fn divide(out: &mut [f64], a: Values<'_>, b: Values<'_>) {
    if let (Values::Column(a), Values::Scalar(divisor)) = (a, b) {
        let inverse = 1.0 / divisor;
        if inverse.is_normal() {
            return one(out, a, |x| x * inverse);
        }
    }
    broadcast(out, a, b, |x, y| x / y);
}

/// A product and a sum in one pass, each rounded (a fused multiply-add would call a slow routine on old processors).
pub(crate) fn multiply_add(signs: Fused, out: &mut [f64], a: &[f64], b: Values<'_>, c: Values<'_>) {
    match signs {
        Fused::Add => three(out, a, b, c, |x, y, z| x * y + z),
        Fused::Subtract => three(out, a, b, c, |x, y, z| x * y - z),
        Fused::SubtractFrom => three(out, a, b, c, |x, y, z| z - x * y),
    }
}

#[inline(always)]
fn three(out: &mut [f64], a: &[f64], b: Values<'_>, c: Values<'_>, f: impl Fn(f64, f64, f64) -> f64) {
    match (b, c) {
        (Values::Column(b), Values::Column(c)) => {
            kernels::in_vectors(|| {
                for (((o, &x), &y), &z) in out.iter_mut().zip(a).zip(b).zip(c) {
                    *o = f(x, y, z);
                }
            });
        }
        (Values::Column(b), Values::Scalar(z)) => two(out, a, b, |x, y| f(x, y, z)),
        (Values::Scalar(y), Values::Column(c)) => two(out, a, c, |x, z| f(x, y, z)),
        (Values::Scalar(y), Values::Scalar(z)) => one(out, a, |x| f(x, y, z)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_beside_one_are_those_of_the_library() {
        // Both are within about an ulp; the kernel's logarithm and the correction add two roundings.
        let mut values: Vec<f64> =
            (0..2000).map(|i| (f64::from(i) * 0.37).sin() * 10f64.powi(i % 41 - 20)).collect();
        values.extend([0.0, -0.5, -1.0 + f64::EPSILON, 1.0, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324]);
        let values: Vec<f64> = values.into_iter().filter(|x| *x > -1.0).collect();
        let mut found = vec![f64::NAN; values.len()];
        call(Function::Log1p, &mut found, &values);
        for (x, found) in values.iter().zip(&found) {
            let expected = x.ln_1p();
            assert!(
                (found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "{x:e}: {found:e} {expected:e}"
            );
        }
        let mut edges = [f64::NAN; 4];
        call(Function::Log1p, &mut edges, &[-1.0, f64::INFINITY, -2.0, f64::NAN]);
        assert_eq!(edges[..2], [f64::NEG_INFINITY, f64::INFINITY]);
        assert!(edges[2].is_nan() && edges[3].is_nan());
    }
}
