//! Minima: Brent's method on a bracket, all local minima of a scan, Nelder–Mead in a few dimensions.

use super::Stop;

/// A local minimum and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// Where.
    pub at: Vec<f64>,
    /// The smallest value.
    pub value: f64,
    /// Evaluations used.
    pub evaluations: usize,
    /// Why the search stopped.
    pub stop: Stop,
}

/// Brent's minimum on `[lower, upper]`: golden sections, parabolas where the function allows.
///
/// ```
/// use noisewright_numerics::optimize::minimize_bracketed;
/// let least = minimize_bracketed(0.0, 10.0, |x| (x - 2.0).powi(2) + 1.0);
/// assert!((least.at[0] - 2.0).abs() < 1e-7 && (least.value - 1.0).abs() < 1e-14);
/// ```
pub fn minimize_bracketed(lower: f64, upper: f64, mut f: impl FnMut(f64) -> f64) -> Minimum {
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    let (mut a, mut b) = (lower, upper);
    let mut x = a + GOLDEN * (b - a);
    let mut fx = f(x);
    let (mut w, mut v, mut fw, mut fv) = (x, x, fx, fx);
    let (mut step, mut previous) = (0.0f64, 0.0f64);
    for evaluations in 1..200 {
        let middle = 0.5 * (a + b);
        // Values tell minima apart only to the root of their rounding.
        let tolerance = 1e-8 * x.abs() + 1e-10 * (upper - lower);
        if (x - middle).abs() <= 2.0 * tolerance - 0.5 * (b - a) {
            return Minimum { at: vec![x], value: fx, evaluations, stop: Stop::Converged };
        }
        let parabola = parabolic_step((x, fx), (w, fw), (v, fv));
        let fits = parabola.is_some_and(|d| d.abs() < 0.5 * previous.abs() && x + d > a && x + d < b);
        previous = if fits {
            step
        } else if x >= middle {
            a - x
        } else {
            b - x
        };
        step = if fits { parabola.unwrap_or(0.0) } else { GOLDEN * previous };
        let u = if step.abs() >= tolerance { x + step } else { x + tolerance.copysign(step) };
        let fu = f(u);
        if fu <= fx {
            if u >= x {
                a = x
            } else {
                b = x
            }
            (v, fv, w, fw, x, fx) = (w, fw, x, fx, u, fu);
        } else {
            if u < x {
                a = u
            } else {
                b = u
            }
            if fu <= fw || w == x {
                (v, fv, w, fw) = (w, fw, u, fu);
            } else if fu <= fv || v == x || v == w {
                (v, fv) = (u, fu);
            }
        }
    }
    Minimum { at: vec![x], value: fx, evaluations: 200, stop: Stop::StepLimit }
}

/// Step from the first point to the vertex of the parabola through three.
fn parabolic_step(x: (f64, f64), w: (f64, f64), v: (f64, f64)) -> Option<f64> {
    let r = (x.0 - w.0) * (x.1 - v.1);
    let q = (x.0 - v.0) * (x.1 - w.1);
    let p = (x.0 - v.0) * q - (x.0 - w.0) * r;
    let denominator = 2.0 * (q - r);
    let step = -p / denominator;
    (denominator != 0.0 && step.is_finite()).then_some(step)
}

/// All local minima of a function on an increasing grid, each polished by Brent's method, lowest first.
///
/// Values that are not finite are walls.
pub fn scan_minima(grid: &[f64], mut f: impl FnMut(f64) -> f64) -> Vec<Minimum> {
    let mut look = |x: f64| {
        let value = f(x);
        if value.is_nan() { f64::INFINITY } else { value }
    };
    let values: Vec<f64> = grid.iter().map(|x| look(*x)).collect();
    let last = grid.len() - 1;
    let mut found: Vec<Minimum> = (0..grid.len())
        .filter(|&i| {
            let left = if i == 0 { f64::INFINITY } else { values[i - 1] };
            let right = if i == last { f64::INFINITY } else { values[i + 1] };
            values[i].is_finite() && values[i] <= left && values[i] < right
        })
        .map(|i| minimize_bracketed(grid[i.saturating_sub(1)], grid[(i + 1).min(last)], &mut look))
        .collect();
    found.sort_by(|a, b| a.value.total_cmp(&b.value));
    found
}

/// A local minimum by the Nelder–Mead simplex, restarted until it stays; for a handful of variables and no
/// derivatives. `scale` is the size of the first simplex along each variable.
///
/// ```
/// use noisewright_numerics::optimize::nelder_mead;
/// let banana = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
/// let least = nelder_mead(&[-1.2, 1.0], &[0.5, 0.5], 1e-13, banana);
/// assert!((least.at[0] - 1.0).abs() < 1e-5 && least.stop.converged());
/// ```
pub fn nelder_mead(
    start: &[f64],
    scale: &[f64],
    tolerance: f64,
    mut f: impl FnMut(&[f64]) -> f64,
) -> Minimum {
    let mut look = |x: &[f64]| {
        let value = f(x);
        if value.is_nan() { f64::INFINITY } else { value }
    };
    let mut best = Minimum { at: start.to_vec(), value: look(start), evaluations: 1, stop: Stop::StepLimit };
    let mut size = 1.0;
    for _ in 0..12 {
        let scaled: Vec<f64> = scale.iter().map(|s| s * size).collect();
        let next = simplex(&best, &scaled, tolerance, &mut look);
        let gain = best.value - next.value;
        let evaluations = best.evaluations + next.evaluations;
        let settled = next.stop.converged() && gain <= tolerance * next.value.abs();
        best = Minimum { evaluations, ..next };
        if settled {
            break;
        }
        size *= 0.3;
    }
    best
}

fn simplex(start: &Minimum, scale: &[f64], tolerance: f64, f: &mut dyn FnMut(&[f64]) -> f64) -> Minimum {
    let size = scale.len();
    let mut evaluations = size;
    let mut corners: Vec<(Vec<f64>, f64)> = vec![(start.at.clone(), start.value)];
    for axis in 0..size {
        let mut corner = start.at.clone();
        corner[axis] += scale[axis];
        let value = f(&corner);
        corners.push((corner, value));
    }
    let mut stop = Stop::StepLimit;
    for _ in 0..200 * size {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let spread = corners[size].1 - corners[0].1;
        if spread <= tolerance * corners[0].1.abs() || spread == 0.0 {
            stop = Stop::Converged;
            break;
        }
        evaluations += simplex_step(&mut corners, f);
    }
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (at, value) = corners.swap_remove(0);
    Minimum { at, value, evaluations, stop }
}

/// Reflects, expands, contracts or shrinks; returns the number of evaluations.
fn simplex_step(corners: &mut [(Vec<f64>, f64)], f: &mut dyn FnMut(&[f64]) -> f64) -> usize {
    let size = corners.len() - 1;
    let center: Vec<f64> =
        (0..size).map(|j| corners[..size].iter().map(|c| c.0[j]).sum::<f64>() / size as f64).collect();
    let worst = corners[size].clone();
    let mut along = |t: f64| {
        let x: Vec<f64> = center.iter().zip(&worst.0).map(|(c, w)| c + t * (c - w)).collect();
        let value = f(&x);
        (x, value)
    };
    let reflected = along(1.0);
    if reflected.1 < corners[0].1 {
        let expanded = along(2.0);
        corners[size] = if expanded.1 < reflected.1 { expanded } else { reflected };
        return 2;
    }
    if reflected.1 < corners[size - 1].1 {
        corners[size] = reflected;
        return 1;
    }
    let contracted = if reflected.1 < worst.1 { along(0.5) } else { along(-0.5) };
    if contracted.1 < worst.1.min(reflected.1) {
        corners[size] = contracted;
        return 2;
    }
    let best = corners[0].0.clone();
    for corner in corners.iter_mut().skip(1) {
        corner.0.iter_mut().zip(&best).for_each(|(x, b)| *x = 0.5 * (*x + b));
        corner.1 = f(&corner.0);
    }
    2 + size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_lists_every_local_minimum() {
        let grid: Vec<f64> = (0..=100).map(|i| -5.0 + 0.1 * f64::from(i)).collect();
        let found = scan_minima(&grid, |x| (x * x - 4.0).powi(2) + 0.5 * x);
        assert_eq!(found.len(), 2);
        assert!(found[0].at[0] < 0.0 && found[1].at[0] > 0.0 && found[0].value < found[1].value);
    }

    #[test]
    fn a_wall_of_infinite_values_is_respected() {
        let grid: Vec<f64> = (0..=20).map(|i| -1.0 + 0.1 * f64::from(i)).collect();
        let found = scan_minima(&grid, |x| if x <= 0.0 { f64::INFINITY } else { x - x.ln() });
        assert!((found[0].at[0] - 1.0).abs() < 1e-6);
    }
}
