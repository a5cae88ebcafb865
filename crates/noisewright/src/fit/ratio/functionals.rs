//! Means of functions of the log ratio over both samples: the divergences.

use noisewright_numerics::special::{ln_sigmoid, sigmoid};

/// `offset + E₁ a(g) + E₂ b(g)`, g being the log ratio.
pub(super) struct Functional {
    pub(super) offset: f64,
    /// a with its two derivatives.
    first: fn(f64) -> [f64; 3],
    /// b with its two derivatives.
    second: fn(f64) -> [f64; 3],
    /// f″(1) of the divergence: what it is next to equal densities, over the Kullback–Leibler divergence there.
    pub(super) curvature: f64,
}

impl Functional {
    /// Value and derivatives on one side.
    pub(super) fn at(&self, side: usize, g: f64) -> [f64; 3] {
        if side == 0 { (self.first)(g) } else { (self.second)(g) }
    }
}

fn nothing(_: f64) -> [f64; 3] {
    [0.0; 3]
}

/// `KL(p₁, p₂) = E₁ g`.
pub(super) const KL: Functional =
    Functional { offset: 0.0, first: |g| [g, 1.0, 0.0], second: nothing, curvature: 1.0 };

/// `KL(p₂, p₁) = −E₂ g`.
const REVERSE_KL: Functional =
    Functional { offset: 0.0, first: nothing, second: |g| [-g, -1.0, 0.0], curvature: 1.0 };

/// `½E₁ log 2σ(g) + ½E₂ log 2σ(−g)`.
const JS: Functional = Functional {
    offset: std::f64::consts::LN_2,
    first: |g| [0.5 * ln_sigmoid(g), 0.5 * sigmoid(-g), -0.5 * sigmoid(g) * sigmoid(-g)],
    second: |g| [0.5 * ln_sigmoid(-g), -0.5 * sigmoid(g), -0.5 * sigmoid(g) * sigmoid(-g)],
    curvature: 0.25,
};

/// `∫p₁²/p₂ − 1` as `2E₁ r − E₂ r² − 1`, whose error is of second order in that of r.
const PEARSON: Functional = Functional {
    offset: -1.0,
    first: |g| [2.0 * g.exp(); 3],
    second: |g| [-(2.0 * g).exp(), -2.0 * (2.0 * g).exp(), -4.0 * (2.0 * g).exp()],
    curvature: 2.0,
};

/// The divergences in the order of [`RatioDivergences`](super::RatioDivergences).
pub(super) const DIVERGENCES: [Functional; 4] = [KL, REVERSE_KL, JS, PEARSON];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_values() {
        for functional in &DIVERGENCES {
            for side in [0, 1] {
                for g in [-2.0, -0.3, 0.0, 1.4] {
                    let step = 1e-5;
                    let [above, here, below] = [g + step, g, g - step].map(|g| functional.at(side, g));
                    for order in [0, 1] {
                        let slope = (above[order] - below[order]) / (2.0 * step);
                        assert!((slope - here[order + 1]).abs() < 1e-6 * (1.0 + slope.abs()));
                    }
                }
            }
        }
    }
}
