//! The exact optimal noise for a correlation, on nodes that follow its edges.
//!
//! The optimum is p_d · h(ψ) with h a function of the score alone (MATH §6), and for one parameter
//! `a = cos φ ψ² + sin φ ψ` up to a factor, so that one number is left to be found. In polar coordinates of the whitened plane the
//! score is linear in t = r²/2, which is exponentially distributed: edges of the support are known along every ray.

use noisewright_numerics::optimize::{minimize_bracketed, scan_minima};

use crate::rule::gauss_legendre;

/// Beyond this t no mass is left: e⁻⁴⁴ ≈ 10⁻¹⁹.
const FARTHEST: f64 = 44.0;

/// Nodes of a piece of a ray, or of a sector.
const NODES: usize = 16;

/// Two standard variables with a correlation.
pub(crate) struct Plane {
    correlation: f64,
    /// Slope of ψ along a ray, and the ray's share of the angles.
    rays: Vec<(f64, f64)>,
    /// ψ at the centre, the same on all rays.
    center: f64,
    rule: Vec<(f64, f64)>,
}

/// A noise `p_d · h(ψ)` with `h = [√(ν a/μ) − 1]₊ / ν`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaneOptimum {
    /// T·MSE.
    pub(crate) error: f64,
    /// Noise points per data point.
    pub(crate) nu: f64,
    quadratic: f64,
    linear: f64,
    /// `√(ν/μ)`.
    scale: f64,
}

impl PlaneOptimum {
    /// `p_n / p_d` where the score is ψ.
    pub(crate) fn ratio(&self, score: f64) -> f64 {
        let a = (self.quadratic * score + self.linear) * score;
        (self.scale * a.max(0.0).sqrt() - 1.0).max(0.0) / self.nu
    }

    /// The scores at which the support begins or ends: `a = 1/scale²`.
    fn edges(&self) -> Vec<f64> {
        let level = self.scale.powi(-2);
        if self.quadratic.abs() < 1e-12 {
            return vec![level / self.linear];
        }
        let discriminant = self.linear * self.linear + 4.0 * self.quadratic * level;
        if discriminant <= 0.0 {
            return Vec::new();
        }
        let root = discriminant.sqrt();
        [root, -root].map(|r| 0.5 * (r - self.linear) / self.quadratic).to_vec()
    }
}

impl Plane {
    pub(crate) fn new(correlation: f64) -> Self {
        let rule = gauss_legendre(NODES);
        // ψ = A(z₁² − 1) − B(z₂² − 1) in whitened coordinates along the two diagonals.
        let (a, b) = (0.5 / (1.0 + correlation), 0.5 / (1.0 - correlation));
        // Along this ray the score does not change.
        let flat = (a / b).sqrt().atan();
        let ends = [0.0, 0.5 * flat, flat, 0.5 * (flat + QUARTER), QUARTER];
        let rays = ends
            .windows(2)
            .flat_map(|e| {
                rule.iter().map(move |(x, w)| {
                    let angle = e[0] + (e[1] - e[0]) * x;
                    let slope = 2.0 * (a * angle.cos().powi(2) - b * angle.sin().powi(2));
                    (slope, w * (e[1] - e[0]) / QUARTER)
                })
            })
            .collect();
        Self { correlation, rays, center: b - a, rule }
    }

    /// `1/J`.
    pub(crate) fn bound(&self) -> f64 {
        let square = self.correlation * self.correlation;
        (1.0 - square).powi(2) / (1.0 + square)
    }

    /// ψ and its weight under p_d, with pieces that end at the given scores.
    fn nodes(&self, edges: &[f64]) -> Vec<(f64, f64)> {
        let mut out = Vec::with_capacity(self.rays.len() * NODES * 4);
        for &(slope, share) in &self.rays {
            let mut ends = vec![0.0, 3.0, 12.0, FARTHEST];
            ends.extend(
                edges.iter().map(|e| (e - self.center) / slope).filter(|t| *t > 0.0 && *t < FARTHEST),
            );
            ends.sort_by(f64::total_cmp);
            for piece in ends.windows(2).filter(|e| e[1] > e[0]) {
                let length = piece[1] - piece[0];
                out.extend(self.rule.iter().map(|(x, w)| {
                    let t = piece[0] + length * x;
                    (self.center + slope * t, share * w * length * (-t).exp())
                }));
            }
        }
        out
    }

    /// T·MSE of a noise given by `p_n / p_d` as a function of the score.
    fn error(nodes: &[(f64, f64)], ratio: impl Fn(f64) -> f64, nu: f64) -> f64 {
        let (mut mean, mut information) = (0.0, 0.0);
        for (score, weight) in nodes {
            let odds = nu * ratio(*score);
            let share = weight * odds / (1.0 + odds) * score;
            mean += share;
            information += share * score;
        }
        let slope = mean / information;
        (1.0 + nu) * (1.0 / information - (1.0 + 1.0 / nu) * slope * slope)
    }

    /// T·MSE of the paper's analytic noise, `|ψ| / E|ψ|`.
    pub(crate) fn all_noise_error(&self, nu: f64) -> f64 {
        let nodes = self.nodes(&[0.0]);
        let mean: f64 = nodes.iter().map(|(score, weight)| score.abs() * weight).sum();
        Self::error(&nodes, |score| score.abs() / mean, nu)
    }

    /// The noise of one φ: the scale that makes it integrate to one, by Newton's method from above (the mass is
    /// convex in the scale), on the given nodes.
    fn filled(nodes: &[(f64, f64)], angle: f64, nu: f64) -> Option<PlaneOptimum> {
        let (linear, quadratic) = angle.sin_cos();
        let root = |score: f64| ((quadratic * score + linear) * score).max(0.0).sqrt();
        let roots: Vec<(f64, f64)> = nodes.iter().map(|(score, weight)| (root(*score), *weight)).collect();
        let total: f64 = roots.iter().map(|(r, w)| r * w).sum();
        if total <= 0.0 {
            return None;
        }
        let mut scale = (1.0 + nu) / total;
        for _ in 0..100 {
            let (mut mass, mut slope) = (-nu, 0.0);
            for (r, w) in roots.iter().filter(|(r, _)| scale * r > 1.0) {
                mass += w * (scale * r - 1.0);
                slope += w * r;
            }
            let next = scale - mass / slope;
            let settled = next >= scale * (1.0 - 1e-14) || next.is_nan();
            if settled {
                break;
            }
            scale = next;
        }
        let mut found = PlaneOptimum { error: 0.0, nu, quadratic, linear, scale };
        found.error = Self::error(nodes, |score| found.ratio(score), nu);
        Some(found)
    }

    /// The noise of one φ on nodes that end at its own edges.
    fn settled(&self, angle: f64, nu: f64) -> Option<PlaneOptimum> {
        let mut found = Self::filled(&self.nodes(&[0.0]), angle, nu)?;
        for _ in 0..4 {
            let next = Self::filled(&self.nodes(&found.edges()), angle, nu)?;
            let moved = (next.scale / found.scale - 1.0).abs();
            found = next;
            if moved < 1e-10 {
                break;
            }
        }
        Some(found)
    }

    /// The optimal noise at one ν: the best of a scan over φ, polished.
    pub(crate) fn optimum(&self, nu: f64) -> Option<PlaneOptimum> {
        let rough = self.nodes(&[0.0]);
        let step = std::f64::consts::PI / 20.0;
        let error = |angle: f64| Self::filled(&rough, angle, nu).map_or(f64::INFINITY, |f| f.error);
        let all: Vec<(f64, f64)> = (-20..20).map(|i| f64::from(i) * step).map(|x| (x, error(x))).collect();
        let best = all.iter().fold((0.0, f64::INFINITY), |a, b| if b.1 < a.1 { *b } else { a });
        let precise = |angle: f64| self.settled(angle, nu).map_or(f64::INFINITY, |f| f.error);
        let least = minimize_bracketed(best.0 - step, best.0 + step, precise);
        self.settled(least.at[0], nu)
    }

    /// The optimal noise and proportion together.
    pub(crate) fn joint_optimum(&self) -> Option<PlaneOptimum> {
        let grid: Vec<f64> = (-6..=2).map(|i| 0.7 * f64::from(i)).collect();
        let error = |log_nu: f64| self.optimum(log_nu.exp()).map_or(f64::INFINITY, |f| f.error);
        let minima = scan_minima(&grid, error);
        self.optimum(minima.first()?.at[0].exp())
    }
}

const QUARTER: f64 = std::f64::consts::FRAC_PI_2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_the_moments_of_the_score() {
        for correlation in [-0.6, 0.0, 0.3, 0.9] {
            let plane = Plane::new(correlation);
            let nodes = plane.nodes(&[0.4]);
            let moment = |k: i32| nodes.iter().map(|(s, w)| w * s.powi(k)).sum::<f64>();
            assert!((moment(0) - 1.0).abs() < 1e-12, "{}", moment(0));
            assert!(moment(1).abs() * plane.bound().sqrt() < 1e-12, "{}", moment(1));
            assert!((moment(2) * plane.bound() - 1.0).abs() < 1e-12, "{}", moment(2));
        }
    }

    /// By brute force in Python: sums over a fine grid of the plane, a search over φ.
    #[test]
    fn optima_agree_with_brute_force() {
        let known = [
            (0.3, 1.0, 1.912_514_3),
            (0.3, 1.0 / 9.0, 1.355_814_2),
            (0.3, 9.0, 7.942_937_8),
            (0.0, 1.0, 2.594_459_1),
            (0.0, 1.0 / 9.0, 2.446_091_3),
            (0.9, 1.0, 0.044_299_947),
        ];
        for (correlation, nu, error) in known {
            let found = Plane::new(correlation).optimum(nu).unwrap();
            assert!((found.error / error - 1.0).abs() < 2e-6, "{correlation} {nu}: {}", found.error);
        }
    }

    #[test]
    fn analytic_noise_agrees_with_brute_force() {
        for (correlation, error) in [(0.0, 2.677_973_6), (0.3, 2.046_874_4), (0.9, 0.053_493_381)] {
            let found = Plane::new(correlation).all_noise_error(1.0);
            assert!((found / error - 1.0).abs() < 2e-7, "{correlation}: {found}");
        }
    }
}
