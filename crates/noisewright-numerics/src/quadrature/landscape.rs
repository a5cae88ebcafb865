//! Where a density on a line has its mass: the peaks of a log-density, found without knowing its scale.

/// Peaks lower than the highest by more than this many nats carry nothing.
const DEPTH: f64 = 60.0;

/// Most peaks that are returned, highest first.
const MOST: usize = 16;

/// Location and scale of the peaks of `log_density` between `lower` and `upper`, highest first.
///
/// The logarithm of a density shows the way to a peak from far away, so a grid over all orders of magnitude,
/// refined around its local maxima, finds a peak of width 1e-6 at 1000. The scale is about the distance at
/// which the density has fallen by e^{-1/2}. `hints` are places (location and scale) to look at as well.
///
/// ```
/// use noisewright_numerics::quadrature::peaks;
/// let log_density = |x: &[f64], out: &mut [f64]| {
///     for (o, x) in out.iter_mut().zip(x) {
///         *o = -0.5 * ((x - 1000.0) / 1e-6).powi(2);
///     }
/// };
/// let found = peaks(f64::NEG_INFINITY, f64::INFINITY, &[], &log_density);
/// assert!((found[0].0 - 1000.0).abs() < 1e-6);
/// assert!(found[0].1 > 2e-7 && found[0].1 < 2e-6);
/// ```
#[must_use]
pub fn peaks(
    lower: f64,
    upper: f64,
    hints: &[(f64, f64)],
    log_density: &dyn Fn(&[f64], &mut [f64]),
) -> Vec<(f64, f64)> {
    let look = |x: &[f64]| -> Vec<f64> {
        let mut out = vec![f64::NEG_INFINITY; x.len()];
        log_density(x, &mut out);
        out.iter().map(|v| if v.is_nan() { f64::NEG_INFINITY } else { *v }).collect()
    };
    let grid = grid(lower, upper, hints);
    let values = look(&grid);
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return Vec::new();
    }
    let mut found: Vec<(f64, f64, f64)> = local_maxima(&values)
        .into_iter()
        .map(|i| {
            let bracket = (grid[i.saturating_sub(1)], grid[(i + 1).min(grid.len() - 1)]);
            let (location, height) = climb(bracket, &look);
            (location, width(location, height, lower, upper, &look), height)
        })
        .collect();
    let best = found.iter().map(|p| p.2).fold(f64::NEG_INFINITY, f64::max);
    found.retain(|p| p.2 >= best - DEPTH);
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    found.truncate(MOST);
    found.into_iter().map(|(location, scale, _)| (location, scale)).collect()
}

/// Points over all orders of magnitude between the bounds, denser around the hints.
fn grid(lower: f64, upper: f64, hints: &[(f64, f64)]) -> Vec<f64> {
    let ladder = |from: i32, to: i32| (from..=to).map(|e| 10f64.powf(f64::from(e) / 8.0));
    let mut grid: Vec<f64> = match (lower.is_finite(), upper.is_finite()) {
        (false, false) => ladder(-48, 72).flat_map(|x| [x, -x]).chain([0.0]).collect(),
        (true, false) => ladder(-96, 96).map(|x| lower + x).collect(),
        (false, true) => ladder(-96, 96).map(|x| upper - x).collect(),
        (true, true) => {
            let width = upper - lower;
            let even = (1..128).map(|i| lower + width * f64::from(i) / 128.0);
            even.chain(ladder(-96, -16).flat_map(|x| [lower + width * x, upper - width * x])).collect()
        }
    };
    for (location, scale) in hints {
        grid.extend((-8..=8).map(|step| location + scale * f64::from(step)));
    }
    grid.retain(|x| *x > lower && *x < upper);
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    grid
}

fn local_maxima(values: &[f64]) -> Vec<usize> {
    (0..values.len())
        .filter(|&i| {
            let before = if i == 0 { f64::NEG_INFINITY } else { values[i - 1] };
            let after = values.get(i + 1).copied().unwrap_or(f64::NEG_INFINITY);
            values[i] > f64::NEG_INFINITY && values[i] > before && values[i] >= after
        })
        .collect()
}

/// The highest point of a bracket, by ever finer grids.
fn climb(bracket: (f64, f64), look: &dyn Fn(&[f64]) -> Vec<f64>) -> (f64, f64) {
    const STEPS: usize = 12;
    let (mut a, mut b) = bracket;
    let mut best = (0.5 * (a + b), f64::NEG_INFINITY);
    for _ in 0..40 {
        let x: Vec<f64> = (0..=STEPS).map(|i| a + (b - a) * (i as f64 / STEPS as f64)).collect();
        let values = look(&x);
        let top = (0..=STEPS).fold(0, |top, i| if values[i] > values[top] { i } else { top });
        best = (x[top], values[top]);
        let (left, right) = (top.saturating_sub(1), (top + 1).min(STEPS));
        let flat = values[top] - values[left].min(values[right]) < 1e-3;
        (a, b) = (x[left], x[right]);
        if flat || b - a <= 1e-13 * best.0.abs() {
            break;
        }
    }
    best
}

/// The largest distance of a ladder of powers of two within which the density stays above e^{-1/2} of the peak.
fn width(at: f64, height: f64, lower: f64, upper: f64, look: &dyn Fn(&[f64]) -> Vec<f64>) -> f64 {
    let reach = if (upper - lower).is_finite() { upper - lower } else { 1e9 * at.abs().max(1.0) };
    let ladder: Vec<f64> = (0..=100).map(|i| reach * 0.5f64.powi(i)).collect();
    let side = |sign: f64| -> f64 {
        let x: Vec<f64> = ladder.iter().map(|h| at + sign * h).collect();
        let values = look(&x);
        // From small to large: the first distance at which it has fallen.
        let fallen = (0..ladder.len()).rev().find(|&i| {
            x[i] > upper || x[i] < lower || values[i] < height - 0.5 || values[i] == f64::NEG_INFINITY
        });
        fallen.map_or(reach, |i| ladder[i])
    };
    side(1.0).max(side(-1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixture(x: &[f64], out: &mut [f64]) {
        for (o, x) in out.iter_mut().zip(x) {
            let a = -0.5 * ((x + 3.0) / 0.1).powi(2) - 0.1f64.ln();
            let b = -0.5 * ((x - 50.0) / 4.0).powi(2) - 4f64.ln();
            *o = a.max(b) + (-(a - b).abs()).exp().ln_1p();
        }
    }

    #[test]
    fn both_peaks_of_a_mixture_are_found_with_their_scales() {
        let found = peaks(f64::NEG_INFINITY, f64::INFINITY, &[], &mixture);
        assert_eq!(found.len(), 2);
        assert!((found[0].0 + 3.0).abs() < 0.02 && (0.05..0.3).contains(&found[0].1), "{found:?}");
        assert!((found[1].0 - 50.0).abs() < 1.0 && (2.0..9.0).contains(&found[1].1), "{found:?}");
    }

    #[test]
    fn a_density_that_is_zero_everywhere_has_no_peak() {
        let zero = |_: &[f64], out: &mut [f64]| out.fill(f64::NEG_INFINITY);
        assert!(peaks(0.0, 1.0, &[], &zero).is_empty());
    }

    #[test]
    fn a_peak_at_the_bound_of_a_half_line_has_the_scale_of_its_decay() {
        let decay = |x: &[f64], out: &mut [f64]| {
            for (o, x) in out.iter_mut().zip(x) {
                *o = -x / 1e-4;
            }
        };
        let found = peaks(0.0, f64::INFINITY, &[], &decay);
        assert!((1e-5..1e-3).contains(&found[0].1), "{found:?}");
    }
}
