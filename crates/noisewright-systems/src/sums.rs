//! Moments by plain sums, and the few special functions that the closed forms need, in the simplest way.

use nalgebra::{DMatrix, DVector};

/// log Z, mean and covariance of statistics over finitely many states, from each state's energy.
pub(crate) fn moments(states: &[(f64, Vec<f64>)]) -> (f64, (DVector<f64>, DMatrix<f64>)) {
    let top = states.iter().map(|(u, _)| *u).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = states.iter().map(|(u, _)| (u - top).exp()).sum();
    let weighted = || states.iter().map(|(u, t)| ((u - top).exp() / total, DVector::from_row_slice(t)));
    let size = states[0].1.len();
    let mean = weighted().fold(DVector::zeros(size), |sum, (p, t)| sum + p * t);
    let covariance = weighted().fold(DMatrix::zeros(size, size), |sum, (p, t)| {
        let deviation = t - &mean;
        sum + p * &deviation * deviation.transpose()
    });
    (top + total.ln(), (mean, covariance))
}

/// Covariance of powers of x from its moments `E x^k`, `moments[0] = 1`.
pub(crate) fn of_powers(powers: &[usize], moments: &[f64]) -> (DVector<f64>, DMatrix<f64>) {
    let size = powers.len();
    let mean = DVector::from_fn(size, |i, _| moments[powers[i]]);
    let covariance = DMatrix::from_fn(size, size, |i, j| moments[powers[i] + powers[j]] - mean[i] * mean[j]);
    (mean, covariance)
}

/// The modified Bessel function I_n by its power series, all of whose terms are positive.
pub(crate) fn bessel_i(order: u32, x: f64) -> f64 {
    let mut term = (1..=order).fold(1.0, |t, k| t * 0.5 * x / f64::from(k));
    let mut sum = term;
    for k in 1..500u32 {
        term *= 0.25 * x * x / (f64::from(k) * f64::from(k + order));
        sum += term;
    }
    sum
}

/// `(ψ(x), ψ'(x))` by recurrence to x + 20 and the asymptotic series there (DLMF 5.11.2 and its derivative).
pub(crate) fn digamma_trigamma(x: f64) -> (f64, f64) {
    let (mut first, mut second) = (0.0, 0.0);
    for k in 0..20 {
        let t = 1.0 / (x + f64::from(k));
        first -= t;
        second += t * t;
    }
    let y = x + 20.0;
    let s = 1.0 / (y * y);
    first += y.ln() - 0.5 / y - s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s / 240.0)));
    second += 1.0 / y + 0.5 * s + s / y * (1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s / 30.0)));
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_functions_have_their_textbook_values() {
        assert!((bessel_i(0, 1.0) - 1.266_065_877_752_008_3).abs() < 1e-15);
        assert!((bessel_i(1, 1.0) - 0.565_159_103_992_485).abs() < 1e-15);
        let (first, second) = digamma_trigamma(1.0);
        assert!((first + 0.577_215_664_901_532_9).abs() < 1e-15);
        assert!((second - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
    }
}
