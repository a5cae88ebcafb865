//! Smooth maps of constrained variables onto the real line, with their Jacobians.

use std::f64::consts::{PI, TAU};

use crate::kernels;
use crate::special::{ln_sigmoid, sigmoid};

/// A smooth increasing map of one variable x onto the whole real line, `y = y(x)`.
///
/// | domain | y | ln dx/dy |
/// |---|---|---|
/// | real | x | 0 |
/// | above lo | ln (x − lo) | y |
/// | below hi | −ln (hi − x) | −y |
/// | from lo to hi | ln (x − lo)/(hi − x) | ln (hi − lo) + ln σ(y) + ln σ(−y) |
/// | circle | the same on one turn, cut opposite to a direction | the same with 2π |
///
/// ```
/// use noisewright_numerics::chart::Chart;
/// let chart = Chart::Logit { lo: 0.0, hi: 1.0 };
/// assert_eq!(chart.to_real(0.5), 0.0);
/// assert!((chart.log_jacobian(0.0) - 0.25f64.ln()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chart {
    /// The variable itself.
    Identity,
    /// The logarithm of the distance from a lower end.
    Above {
        /// The lower end.
        lo: f64,
    },
    /// Minus the logarithm of the distance from an upper end.
    Below {
        /// The upper end.
        hi: f64,
    },
    /// The logit of a variable between two ends.
    Logit {
        /// The lower end.
        lo: f64,
        /// The upper end.
        hi: f64,
    },
    /// The logit of an angle within the turn around a direction: the circle is cut opposite to it.
    Turn {
        /// The direction, where y = 0.
        middle: f64,
    },
}

impl Chart {
    /// The chart of the numbers between two bounds, either of which may be infinite.
    #[must_use]
    pub fn between(lower: f64, upper: f64) -> Self {
        match (lower.is_finite(), upper.is_finite()) {
            (false, false) => Self::Identity,
            (true, false) => Self::Above { lo: lower },
            (false, true) => Self::Below { hi: upper },
            (true, true) => Self::Logit { lo: lower, hi: upper },
        }
    }

    /// y(x): infinite at an end of the domain, not a number outside.
    #[must_use]
    pub fn to_real(&self, x: f64) -> f64 {
        match *self {
            Self::Identity => x,
            Self::Above { lo } => (x - lo).ln(),
            Self::Below { hi } => -(hi - x).ln(),
            Self::Logit { lo, hi } => ((x - lo) / (hi - x)).ln(),
            Self::Turn { middle } => {
                let angle = wrapped(x - middle);
                ((PI + angle) / (PI - angle)).ln()
            }
        }
    }

    /// x(y), kept inside the domain where rounding would carry it onto an end.
    #[must_use]
    pub fn from_real(&self, y: f64) -> f64 {
        match *self {
            Self::Identity => y,
            Self::Above { lo } => (lo + y.exp()).clamp(above(lo), f64::MAX),
            Self::Below { hi } => (hi - (-y).exp()).clamp(f64::MIN, -above(-hi)),
            Self::Logit { lo, hi } => {
                // From the nearer end, whose distance has all of its digits.
                let x = if y < 0.0 { lo + (hi - lo) * sigmoid(y) } else { hi - (hi - lo) * sigmoid(-y) };
                x.clamp(lo.next_up(), hi.next_down())
            }
            Self::Turn { middle } => {
                let angle = if y < 0.0 { TAU * sigmoid(y) - PI } else { PI - TAU * sigmoid(-y) };
                wrapped(middle + angle)
            }
        }
    }

    /// `ln dx/dy` at y.
    #[must_use]
    pub fn log_jacobian(&self, y: f64) -> f64 {
        match *self {
            Self::Identity => 0.0,
            Self::Above { .. } => y,
            Self::Below { .. } => -y,
            Self::Logit { lo, hi } => (hi - lo).ln() + ln_sigmoid(y) + ln_sigmoid(-y),
            Self::Turn { .. } => TAU.ln() + ln_sigmoid(y) + ln_sigmoid(-y),
        }
    }

    /// The derivative of [`log_jacobian`](Self::log_jacobian) in y; times `dx/dy`, the second derivative of x.
    #[must_use]
    pub fn log_jacobian_slope(&self, y: f64) -> f64 {
        match self {
            Self::Identity => 0.0,
            Self::Above { .. } => 1.0,
            Self::Below { .. } => -1.0,
            // σ(−y) − σ(y)
            Self::Logit { .. } | Self::Turn { .. } => -(0.5 * y).tanh(),
        }
    }

    /// Writes y of a block of x; `scratch` is as long as both.
    pub fn map_block(&self, x: &[f64], scratch: &mut [f64], y: &mut [f64]) {
        match *self {
            Self::Identity => return y.copy_from_slice(x),
            Self::Above { lo } => scratch.iter_mut().zip(x).for_each(|(s, x)| *s = x - lo),
            Self::Below { hi } => scratch.iter_mut().zip(x).for_each(|(s, x)| *s = 1.0 / (hi - x)),
            Self::Logit { lo, hi } => {
                scratch.iter_mut().zip(x).for_each(|(s, x)| *s = (x - lo) / (hi - x));
            }
            Self::Turn { middle } => {
                for (s, x) in scratch.iter_mut().zip(x) {
                    let angle = wrapped(x - middle);
                    *s = (PI + angle) / (PI - angle);
                }
            }
        }
        kernels::ln(scratch, y);
    }

    /// Writes x of a block of y.
    pub fn unmap_block(&self, y: &[f64], x: &mut [f64]) {
        match *self {
            Self::Identity => x.copy_from_slice(y),
            Self::Above { lo } => {
                kernels::exp(y, x);
                x.iter_mut().for_each(|x| *x = (lo + *x).clamp(above(lo), f64::MAX));
            }
            _ => x.iter_mut().zip(y).for_each(|(x, y)| *x = self.from_real(*y)),
        }
    }

    /// Adds `ln dx/dy` of a block; `scratch` is as long as it.
    pub fn add_log_jacobian(&self, y: &[f64], scratch: &mut [f64], out: &mut [f64]) {
        let width = match *self {
            Self::Identity => return,
            Self::Above { .. } => return out.iter_mut().zip(y).for_each(|(o, y)| *o += y),
            Self::Below { .. } => return out.iter_mut().zip(y).for_each(|(o, y)| *o -= y),
            Self::Logit { lo, hi } => hi - lo,
            Self::Turn { .. } => TAU,
        };
        // ln σ(y) + ln σ(−y) = −y − 2 softplus(−y)
        let negative: Vec<f64> = y.iter().map(|y| -y.abs()).collect();
        kernels::softplus(&negative, scratch);
        let ln_width = width.ln();
        for ((o, n), s) in out.iter_mut().zip(&negative).zip(scratch.iter()) {
            *o += ln_width + n - 2.0 * s;
        }
    }
}

/// The least number above an end that is not subnormal.
fn above(lo: f64) -> f64 {
    lo.next_up().max(lo + f64::MIN_POSITIVE)
}

/// The angle between −π and π.
#[must_use]
pub fn wrapped(angle: f64) -> f64 {
    angle - TAU * (angle / TAU).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charts() -> [Chart; 6] {
        [
            Chart::Identity,
            Chart::Above { lo: 0.0 },
            Chart::Above { lo: -3.0 },
            Chart::Below { hi: 2.0 },
            Chart::Logit { lo: -2.0, hi: 5.0 },
            Chart::Turn { middle: 1.0 },
        ]
    }

    #[test]
    fn there_and_back_and_the_jacobian_is_the_slope() {
        for chart in charts() {
            for y in [-4.0, -0.3, 0.0, 0.9, 5.0] {
                let (x, h) = (chart.from_real(y), 1e-5);
                assert!((chart.to_real(x) - y).abs() < 1e-11, "{chart:?} {y}");
                let slope = (wrapped_if(chart, chart.from_real(y + h) - chart.from_real(y - h))) / (2.0 * h);
                assert!((slope.ln() - chart.log_jacobian(y)).abs() < 1e-8, "{chart:?} {y}");
                let second = (chart.log_jacobian(y + h) - chart.log_jacobian(y - h)) / (2.0 * h);
                assert!((second - chart.log_jacobian_slope(y)).abs() < 1e-8, "{chart:?} {y}");
            }
        }
    }

    fn wrapped_if(chart: Chart, x: f64) -> f64 {
        if matches!(chart, Chart::Turn { .. }) { wrapped(x) } else { x }
    }

    #[test]
    fn blocks_are_the_single_numbers() {
        let y = [-700.0, -40.0, -4.0, 0.0, 0.3, 12.0, 600.0];
        for chart in charts() {
            let (mut x, mut back, mut scratch, mut jacobian) = ([0.0; 7], [0.0; 7], [0.0; 7], [0.0; 7]);
            chart.unmap_block(&y, &mut x);
            chart.map_block(&x, &mut scratch, &mut back);
            chart.add_log_jacobian(&y, &mut scratch, &mut jacobian);
            for i in 0..7 {
                let one = chart.from_real(y[i]);
                assert!((x[i] - one).abs() <= 1e-15 * one.abs(), "{chart:?} {}", y[i]);
                let (same, exact) = (chart.to_real(x[i]), chart.log_jacobian(y[i]));
                // So near to the seam of a circle an angle may be taken for the one on its other side.
                if matches!(chart, Chart::Turn { .. }) && y[i].abs() > 30.0 {
                    continue;
                }
                assert!((back[i] - same).abs() <= 1e-13 * same.abs().max(1.0), "{chart:?} {}", y[i]);
                assert!((jacobian[i] - exact).abs() <= 1e-13 * exact.abs().max(1.0), "{chart:?} {}", y[i]);
            }
        }
    }

    #[test]
    fn the_ends_are_never_reached() {
        for (lo, hi) in [(0.0, f64::INFINITY), (f64::NEG_INFINITY, 0.0), (-1.0, 1e9), (3.0, f64::INFINITY)] {
            for y in [-800.0, 800.0] {
                let x = Chart::between(lo, hi).from_real(y);
                assert!(x > lo && x < hi && x.is_finite(), "{lo} {hi} {x}");
            }
        }
    }
}
