//! What the tests of the noises share: spaces by name, an adaptive quadrature, and bounds for samples.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use noisewright::parts::NoiseContext;
use noisewright::{Domain, Noise, NoiseWords, Scalar, Space, View};

/// The space of `dimension` variables of the domain that a reference table names.
pub fn space(domain: &str, dimension: usize) -> Space {
    let names: Vec<String> = (0..dimension).map(|j| format!("x{j}")).collect();
    if domain == "sphere" {
        return Space::sphere(&names).unwrap();
    }
    let domain = match domain {
        "real" => Domain::Real,
        "positive" => Domain::Positive,
        "circle" => Domain::Circle,
        "counts" => Domain::Counts,
        "spins" => Domain::States(vec![-1.0, 1.0]),
        interval => {
            let ends: Vec<f64> =
                interval.trim_matches(['[', ']']).split(',').map(|e| e.trim().parse().unwrap()).collect();
            Domain::Interval(ends[0], ends[1])
        }
    };
    Space::product(&names.into_iter().map(|n| (n, domain.clone())).collect::<Vec<_>>()).unwrap()
}

/// A noise of one variable in words, on a domain.
pub fn scalar(domain: &str, words: &str) -> Arc<dyn Scalar> {
    NoiseWords::parse(words).unwrap().build_scalar(&NoiseContext::new(&space(domain, 1))).unwrap()
}

/// A noise in words, on a space.
pub fn noise(domain: &str, dimension: usize, words: &str) -> Arc<dyn Noise> {
    NoiseWords::parse(words).unwrap().build(&NoiseContext::new(&space(domain, dimension))).unwrap()
}

/// Log-densities at values of one variable.
pub fn log_densities(noise: &dyn Noise, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    noise.log_density(View::new(1, x.len(), x), &mut out);
    out
}

/// Nodes and weights of the n-point Gauss–Legendre rule on [−1, 1], by Newton's method on the polynomial.
pub fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        loop {
            let (mut p, mut previous) = (1.0, 0.0);
            for k in 0..n {
                let k = k as f64;
                (p, previous) = (((2.0 * k + 1.0) * x * p - k * previous) / (k + 1.0), p);
            }
            let slope = n as f64 * (x * p - previous) / (x * x - 1.0);
            let step = p / slope;
            x -= step;
            if step.abs() < 1e-15 {
                return (x, 2.0 / ((1.0 - x * x) * slope * slope));
            }
        }
    };
    (0..n).map(node).collect()
}

/// `∫ p` over `[a, b]` by one Gauss–Legendre panel.
pub fn panel(noise: &dyn Noise, rule: &[(f64, f64)], a: f64, b: f64) -> f64 {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    let nodes: Vec<f64> = rule.iter().map(|(t, _)| middle + half * t).collect();
    let values = log_densities(noise, &nodes);
    half * values.iter().zip(rule).map(|(l, (_, w))| w * l.exp()).sum::<f64>()
}

/// `∫ p` over `[a, b]`, halving until two halves agree with the whole.
pub fn adaptive(noise: &dyn Noise, rule: &[(f64, f64)], a: f64, b: f64, depth: usize) -> f64 {
    let middle = 0.5 * (a + b);
    let whole = panel(noise, rule, a, b);
    let halves = panel(noise, rule, a, middle) + panel(noise, rule, middle, b);
    if (whole - halves).abs() <= 1e-15 || depth == 0 {
        return halves;
    }
    adaptive(noise, rule, a, middle, depth - 1) + adaptive(noise, rule, middle, b, depth - 1)
}

/// `∫ p` from `lo` to `hi` (maybe infinite), on panels that double in width away from `center` and, towards a finite
/// end, halve in width; `kinks` are ends of panels too.
pub fn integral(noise: &dyn Noise, lo: f64, hi: f64, center: f64, scale: f64, kinks: &[f64]) -> f64 {
    let rule = gauss_legendre(15);
    let center = center.clamp(lo, hi);
    let mut ends = vec![center];
    ends.extend(kinks);
    for k in -60..200 {
        let step = scale * 2f64.powi(k);
        ends.extend([center - step, center + step]);
    }
    for k in 0..1000 {
        let step = scale * 2f64.powi(-k);
        ends.extend([lo + step, hi - step].into_iter().filter(|e| e.is_finite()));
    }
    ends.extend([lo, hi]);
    ends.retain(|e| e.is_finite() && *e >= lo && *e <= hi);
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    ends.windows(2).map(|e| adaptive(noise, &rule, e[0], e[1], 12)).sum()
}

/// The bound that the Kolmogorov–Smirnov distance of n draws passes once in a million: `2 exp(−2nD²) = 1e-6`.
pub fn kolmogorov_bound(n: usize) -> f64 {
    ((2e6f64).ln() / (2.0 * n as f64)).sqrt()
}

/// The largest distance between the empirical distribution function of `draws` and `cdf`.
pub fn kolmogorov_distance(draws: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = draws.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let gap = |(i, x): (usize, &f64)| {
        let f = cdf(*x);
        (f - i as f64 / n).abs().max((f - (i + 1) as f64 / n).abs())
    };
    sorted.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// An upper bound for a χ² of `dof` degrees of freedom passed with probability e^(−t)
/// (Laurent and Massart 2000): `dof + 2√(dof t) + 2t`, here at one in a million.
pub fn chi_square_bound(dof: f64) -> f64 {
    let t = 1e6f64.ln();
    dof + 2.0 * (dof * t).sqrt() + 2.0 * t
}
