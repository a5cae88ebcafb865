//! Slice sampling along curves: one variable moves, and others keep their place within what they are given it.
//!
//! No line leads from the mouth of a funnel into its neck, or along a ridge that is bent. Where a sample shows that the mean
//! of variables given one of them, x_j, is bent, or that their spread depends on it, the chain moves along
//!
//! ```text
//! T_δ: u → u + δ,  x_i → m_i(u + δ) + (x_i − m_i(u)) e^(k_i δ),   u = (x_j − centre) / deviation,
//! ```
//!
//! with a parabola m_i and a log-spread k_i u by weighted least squares. These maps are a group with the Jacobian
//! e^(δ Σ k_i): δ drawn with a density proportional to `f(T_δ x) e^(δ Σ k_i)` leaves f as it is, however wrong the fit
//! (Liu and Sabatti 2000). In a funnel it is the step of the parametrization that is not centred (Papaspiliopoulos, Roberts
//! and Sköld 2007).

use nalgebra::{Matrix3, Vector3};

use super::kernel::moments;

/// Points of a sample, at least, that show a curve.
const FEWEST_POINTS: usize = 50;
/// Variables, at most: the fits are of all pairs.
const MOST_VARIABLES: usize = 20;
/// Gain of the Gaussian log-likelihood over a straight line of even spread from which on a variable follows: that of eight
/// standard errors, so that samples of no curve, of which a few hundred pairs are tried at every bridge, show none.
const VISIBLE: f64 = 32.0;
/// Logarithms of the spread per standard deviation, at most: a funnel of deviation 3 has 1.5.
const STEEPEST: f64 = 5.0;
/// Rounds of weighted least squares: the spread is known by the mean, and the mean in the thin part by the spread.
const ROUNDS: usize = 6;

/// One variable along which others follow.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    axis: usize,
    center: f64,
    deviation: f64,
    followers: Vec<Follower>,
}

/// A variable given another one.
#[derive(Clone, Debug)]
struct Follower {
    axis: usize,
    fit: Fit,
}

/// Coefficients of 1, u and u² of the mean, and the slope of the logarithm of the spread.
#[derive(Clone, Copy, Debug)]
struct Fit {
    mean: Vector3<f64>,
    slope: f64,
}

impl Fit {
    fn mean(&self, u: f64) -> f64 {
        self.mean[0] + u * (self.mean[1] + u * self.mean[2])
    }
}

impl Curve {
    /// The curves that a sample shows, the plainest first, as many as wanted.
    pub(super) fn of_sample(sample: &[Vec<f64>], most: usize) -> Vec<Self> {
        let dimension = sample.first().map_or(0, Vec::len);
        if sample.len() < FEWEST_POINTS || !(2..=MOST_VARIABLES).contains(&dimension) {
            return Vec::new();
        }
        let mut curves: Vec<(f64, Self)> =
            (0..dimension).filter_map(|axis| Self::along(sample, axis)).collect();
        curves.sort_by(|a, b| b.0.total_cmp(&a.0));
        curves.into_iter().take(most).map(|(_, curve)| curve).collect()
    }

    /// Who follows one variable, with what the log-likelihood gains in all.
    fn along(sample: &[Vec<f64>], axis: usize) -> Option<(f64, Self)> {
        let (center, variance) = moments(sample, axis);
        let deviation = variance.sqrt();
        if !(deviation > 0.0 && deviation.is_finite()) {
            return None;
        }
        let u: Vec<f64> = sample.iter().map(|y| (y[axis] - center) / deviation).collect();
        let mut gain = 0.0;
        let mut followers = Vec::new();
        for other in (0..sample[0].len()).filter(|other| *other != axis) {
            let x: Vec<f64> = sample.iter().map(|y| y[other]).collect();
            if let Some((gained, fit)) = follow(&u, &x) {
                gain += gained;
                followers.push(Follower { axis: other, fit });
            }
        }
        (!followers.is_empty()).then_some((gain, Self { axis, center, deviation, followers }))
    }

    /// The point `delta` standard deviations along the curve through another one, and the log-Jacobian of going there.
    pub(super) fn at(&self, y: &[f64], delta: f64) -> (Vec<f64>, f64) {
        let u = (y[self.axis] - self.center) / self.deviation;
        let mut there = y.to_vec();
        there[self.axis] += delta * self.deviation;
        let mut log_jacobian = 0.0;
        for Follower { axis, fit } in &self.followers {
            let stretch = fit.slope * delta;
            there[*axis] = fit.mean(u + delta) + (y[*axis] - fit.mean(u)) * stretch.exp();
            log_jacobian += stretch;
        }
        (there, log_jacobian)
    }
}

/// The fit of x given u and what it gains, where that is plain to see.
fn follow(u: &[f64], x: &[f64]) -> Option<(f64, Fit)> {
    let even = vec![1.0; u.len()];
    let straight = likelihood(x, |i, c| c[0] + c[1] * u[i], &least_squares(u, x, &even, false)?, &even)?;
    let mut slope = 0.0;
    let mut best = (0.0, None);
    for round in 0..ROUNDS {
        let spread: Vec<f64> = u.iter().map(|u| (slope * u).exp()).collect();
        let fit = Fit { mean: least_squares(u, x, &spread, true)?, slope };
        let gain = likelihood(x, |i, _| fit.mean(u[i]), &fit.mean, &spread)? - straight;
        if gain > best.0 {
            best = (gain, Some(fit));
        }
        slope = log_slope(u, x, &fit)?;
        // The first rounds tell whether there is anything to see.
        if round == 2 && best.0 < 0.25 * VISIBLE {
            return None;
        }
    }
    best.1.filter(|_| best.0 > VISIBLE).map(|fit| (best.0, fit))
}

/// Weighted least squares of x on 1, u and, where it is to be bent, u².
fn least_squares(u: &[f64], x: &[f64], spread: &[f64], bent: bool) -> Option<Vector3<f64>> {
    let (mut gram, mut moment) = (Matrix3::zeros(), Vector3::zeros());
    // Weights relative to the largest, so that none of them overflows.
    let least = spread.iter().copied().fold(f64::INFINITY, f64::min);
    for ((u, x), spread) in u.iter().zip(x).zip(spread) {
        let row = Vector3::new(1.0, *u, if bent { u * u } else { 0.0 });
        let weight = (least / spread).powi(2);
        gram += weight * row * row.transpose();
        moment += weight * *x * row;
    }
    if !bent {
        gram[(2, 2)] = 1.0;
    }
    let found = gram.cholesky()?.solve(&moment);
    found.iter().all(|c| c.is_finite()).then_some(found)
}

/// The Gaussian log-likelihood of residuals with spreads known to a common factor, at the best factor.
fn likelihood(
    x: &[f64],
    mean: impl Fn(usize, &Vector3<f64>) -> f64,
    coefficients: &Vector3<f64>,
    spread: &[f64],
) -> Option<f64> {
    let squares =
        x.iter().zip(spread).enumerate().map(|(i, (x, s))| ((x - mean(i, coefficients)) / s).powi(2));
    let count = x.len() as f64;
    let variance = squares.sum::<f64>() / count;
    let value = -0.5 * count * variance.ln() - spread.iter().map(|s| s.ln()).sum::<f64>();
    value.is_finite().then_some(value)
}

/// The slope of the logarithm of what is left on u.
fn log_slope(u: &[f64], x: &[f64], fit: &Fit) -> Option<f64> {
    let count = u.len() as f64;
    let logs: Vec<f64> = u.iter().zip(x).map(|(u, x)| (x - fit.mean(*u)).abs().ln()).collect();
    let mean = logs.iter().sum::<f64>() / count;
    let middle = u.iter().sum::<f64>() / count;
    let products: f64 = u.iter().zip(&logs).map(|(u, l)| (u - middle) * (l - mean)).sum();
    let squares: f64 = u.iter().map(|u| (u - middle).powi(2)).sum();
    let slope = products / squares;
    (slope.abs() < STEEPEST).then_some(slope)
}

#[cfg(test)]
mod tests {
    use noisewright_numerics::random::{Stream, stream};
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;

    fn normal(rng: &mut Stream) -> f64 {
        rng.sample(StandardNormal)
    }

    /// Draws of Neal's funnel: y of deviation 3, the others of variance e^y.
    fn funnel(count: usize, others: usize, rng: &mut Stream) -> Vec<Vec<f64>> {
        (0..count)
            .map(|_| {
                let y = 3.0 * normal(rng);
                std::iter::once(y).chain((0..others).map(|_| (0.5 * y).exp() * normal(rng))).collect()
            })
            .collect()
    }

    /// Spreads of e^(y/2) are a slope of 1.5 per standard deviation of y. The logarithm of |z| has the deviation π/√8 for a normal
    /// z, so that the slope from 400 points is known to 0.056, where the fit has found the thin part.
    #[test]
    fn a_funnel_is_seen_from_its_own_variable() {
        let mut near = 0;
        for seed in 0..10 {
            let sample = funnel(400, 4, &mut stream(seed, 0));
            let first = &Curve::of_sample(&sample, 3)[0];
            assert_eq!((first.axis, first.followers.len()), (0, 4));
            let slopes = first.followers.iter().map(|f| f.fit.slope * 3.0 / first.deviation);
            near += slopes.filter(|slope| (slope - 1.5).abs() < 5.0 * 0.056).count();
        }
        assert!(near >= 36, "{near} of 40");
    }

    #[test]
    fn a_bent_ridge_is_seen_and_straight_ones_are_not() {
        let mut rng = stream(3, 0);
        let bent: Vec<Vec<f64>> = (0..400)
            .map(|_| {
                let x = normal(&mut rng);
                vec![x, x * x + 0.1 * normal(&mut rng)]
            })
            .collect();
        let first = &Curve::of_sample(&bent, 3)[0];
        assert_eq!((first.axis, first.followers[0].axis), (0, 1));
        assert!((first.followers[0].fit.mean[2] / first.deviation.powi(2) - 1.0).abs() < 0.05);
        for seed in 0..20 {
            let mut rng = stream(seed, 1);
            let straight: Vec<Vec<f64>> = (0..400)
                .map(|_| {
                    let x = normal(&mut rng);
                    (0..10).map(|k| f64::from(k) * x + normal(&mut rng)).collect()
                })
                .collect();
            assert!(Curve::of_sample(&straight, 3).is_empty(), "{seed}");
        }
    }

    /// Going there and back is nothing, and the log-Jacobian is that of the matrix of differences.
    #[test]
    fn moves_along_a_curve_are_a_group_with_their_jacobian() {
        let mut rng = stream(5, 0);
        let sample = funnel(400, 2, &mut rng);
        let curve = &Curve::of_sample(&sample, 1)[0];
        for y in sample.iter().take(20) {
            let (there, log_jacobian) = curve.at(y, 0.7);
            let (back, opposite) = curve.at(&there, -0.7);
            let twice = curve.at(&curve.at(y, 0.3).0, 0.4).0;
            for axis in 0..3 {
                assert!((back[axis] - y[axis]).abs() < 1e-10 * (1.0 + y[axis].abs()));
                assert!((twice[axis] - there[axis]).abs() < 1e-10 * (1.0 + there[axis].abs()));
            }
            assert!((log_jacobian + opposite).abs() < 1e-12);
            let difference = |axis: usize| {
                let mut moved = y.clone();
                moved[axis] += 1e-4;
                let up = curve.at(&moved, 0.7).0;
                moved[axis] -= 2e-4;
                let down = curve.at(&moved, 0.7).0;
                Vector3::from_fn(|row, _| (up[row] - down[row]) / 2e-4)
            };
            let jacobian = Matrix3::from_columns(&[difference(0), difference(1), difference(2)]);
            assert!((jacobian.determinant().ln() - log_jacobian).abs() < 1e-6);
        }
    }
}
