//! The root of an increasing function: Newton's step where it helps, bisection where it does not.

use super::Stop;

/// A root and how it was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// Where the function is zero.
    pub at: f64,
    /// Evaluations used.
    pub evaluations: usize,
    /// Why the search stopped.
    pub stop: Stop,
}

/// The root of an increasing function of which value and slope are known, from any start.
///
/// The bracket is grown outwards from the start by doubling steps; inside it a Newton step is taken when it
/// stays inside and halves the residual's bracket, else a bisection.
///
/// ```
/// use noisewright_numerics::optimize::root_increasing;
/// let root = root_increasing(-700.0, 1.0, |x| (x.exp() - 5.0, x.exp()));
/// assert!((root.at - 5f64.ln()).abs() < 1e-14);
/// ```
pub fn root_increasing(start: f64, step: f64, mut f: impl FnMut(f64) -> (f64, f64)) -> Root {
    let mut evaluations = 0;
    let mut look = |x: f64| {
        evaluations += 1;
        f(x)
    };
    let (mut at, mut stop) = (start, Stop::StepLimit);
    let (mut value, mut slope) = look(at);
    let (mut lower, mut upper) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut stride = step.abs();
    for _ in 0..400 {
        if value == 0.0 {
            stop = Stop::Converged;
            break;
        }
        if value < 0.0 {
            lower = at
        } else {
            upper = at
        }
        let next = next_point(at, value, slope, lower, upper, &mut stride);
        if (next - at).abs() <= 2.0 * f64::EPSILON * at.abs() || next == at {
            stop = Stop::Converged;
            break;
        }
        at = next;
        (value, slope) = look(at);
    }
    Root { at, evaluations, stop }
}

fn next_point(at: f64, value: f64, slope: f64, lower: f64, upper: f64, stride: &mut f64) -> f64 {
    let newton = at - value / slope;
    let bracketed = lower.is_finite() && upper.is_finite();
    if !bracketed {
        // A steep Newton step may not leave the stride: the function can be flat where we stand.
        let limited = (newton - at).abs() <= *stride && newton.is_finite();
        let step = if limited { newton - at } else { stride.copysign(-value) };
        *stride *= 2.0;
        return at + step;
    }
    let width = upper - lower;
    let useful = newton > lower && newton < upper && width < 2.0 * *stride;
    *stride = if useful { 0.5 * width.min(*stride) + (newton - at).abs() } else { 0.5 * width };
    if useful { newton } else { 0.5 * (lower + upper) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_steep_and_far_away_functions() {
        for (start, target) in [(0.0, 1e6), (-1e6, 3.0), (5.0, -2e3), (0.0, 1e-9)] {
            let sigmoid = |x: f64| {
                let t = ((x - target) / 2.0).tanh();
                (t, 0.5 * (1.0 - t * t))
            };
            let root = root_increasing(start, 1.0, sigmoid);
            assert!(root.stop.converged());
            assert!((root.at - target).abs() <= 1e-13 * target.abs().max(1.0), "{root:?}");
            assert!(root.evaluations < 150, "{root:?}");
        }
    }

    #[test]
    fn a_kink_is_no_obstacle() {
        let root =
            root_increasing(10.0, 1.0, |x| if x < 1.0 { (x - 1.0, 1.0) } else { (100.0 * (x - 1.0), 100.0) });
        assert!((root.at - 1.0).abs() < 1e-15);
    }
}
