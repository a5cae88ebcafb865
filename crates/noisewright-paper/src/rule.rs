//! Gauss–Legendre nodes, for the plane.

/// Nodes and weights on [0, 1], by Newton's method on the Legendre polynomial.
pub(crate) fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (count as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..100 {
            let (mut before, mut value) = (1.0, x);
            for k in 2..=count {
                let k = k as f64;
                (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
            }
            slope = count as f64 * (x * value - before) / (x * x - 1.0);
            let step = value / slope;
            x -= step;
            if step.abs() < 1e-15 {
                break;
            }
        }
        (0.5 * (1.0 - x), 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..count).map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for count in [1, 2, 5, 16] {
            let rule = gauss_legendre(count);
            for power in 0..2 * count as i32 {
                let sum: f64 = rule.iter().map(|(x, w)| w * x.powi(power)).sum();
                assert!((sum * f64::from(power + 1) - 1.0).abs() < 1e-13, "{count} {power}: {sum}");
            }
        }
    }
}
