//! Where a density on a line has its mass: the peaks of a log-density, found without knowing its scale.
//!
//! Integrals for every row look for peaks as often as there are rows. So distances that are always the same are computed once, and
//! grids are made in ascending runs, which a stable sort only merges.

use std::sync::LazyLock;

/// Peaks lower than the highest by more than this many nats carry nothing.
const DEPTH: f64 = 60.0;

/// Most peaks that are returned, highest first.
const MOST: usize = 16;

/// Most maxima of a grid that are climbed.
const MOST_CLIMBED: usize = 64;

/// Peaks around which the grid is made denser.
const CORES: usize = 3;

/// Ratio of neighbouring distances from a peak on the denser grid.
const FINE_RATIO: f64 = 1.01;

/// Nearest distance from a peak on the denser grid, in units of its scale.
const FINE_NEAREST: f64 = 2.0;
/// Farthest distance from a peak on the denser grid.
const FINE_FARTHEST: f64 = 2e4;

/// Exponents of the grid over all orders of magnitude, in eighths of a decade, are within this of zero.
const EIGHTHS: i32 = 96;

/// Powers of ten by eighths of a decade.
static DECADES: LazyLock<Vec<f64>> =
    LazyLock::new(|| (-EIGHTHS..=EIGHTHS).map(|e| 10f64.powf(f64::from(e) / 8.0)).collect());

/// Distances of the denser grid from a peak, over its scale.
static FINE: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = ((FINE_FARTHEST / FINE_NEAREST).ln() / FINE_RATIO.ln()) as i32;
    (0..steps).map(|k| FINE_RATIO.powi(k)).collect()
});

/// Powers of two down from one, of the distances at which the width of a peak is looked for.
static HALVES: LazyLock<Vec<f64>> = LazyLock::new(|| (0..=100).map(|i| 0.5f64.powi(i)).collect());

/// Where to look for peaks besides a grid over all orders of magnitude.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookout<'a> {
    /// Locations and scales of what is known to be there.
    pub hints: &'a [(f64, f64)],
    /// Single places.
    pub places: &'a [f64],
    /// Whether to look again around the peaks found, at distances that grow by one in a hundred: a narrow peak is
    /// higher than the tail of a wide one from as far away as the share of its width in the wide one's.
    pub fine: bool,
}

/// Location and scale of the peaks of `log_density` between `lower` and `upper`, highest first.
///
/// The logarithm of a density shows the way to a peak from far away, so a grid over all orders of magnitude,
/// refined around its local maxima, finds a peak of width 1e-6 at 1000. The scale is about the distance at
/// which the density has fallen by e^{-1/2}. Beside a wide peak a narrow one shows the way only from nearby: see
/// [`Lookout`].
///
/// ```
/// use noisewright_numerics::quadrature::{Lookout, peaks};
/// let log_density = |x: &[f64], out: &mut [f64]| {
///     for (o, x) in out.iter_mut().zip(x) {
///         *o = -0.5 * ((x - 1000.0) / 1e-6).powi(2);
///     }
/// };
/// let found = peaks(f64::NEG_INFINITY, f64::INFINITY, Lookout::default(), &log_density);
/// assert!((found[0].0 - 1000.0).abs() < 1e-6);
/// assert!(found[0].1 > 2e-7 && found[0].1 < 2e-6);
/// ```
#[must_use]
pub fn peaks(
    lower: f64,
    upper: f64,
    lookout: Lookout<'_>,
    log_density: &dyn Fn(&[f64], &mut [f64]),
) -> Vec<(f64, f64)> {
    let look = |x: &[f64]| -> Vec<f64> {
        let mut out = vec![f64::NEG_INFINITY; x.len()];
        log_density(x, &mut out);
        out.iter().map(|v| if v.is_nan() { f64::NEG_INFINITY } else { *v }).collect()
    };
    let line = Line { lower, upper, look: &look };
    let mut grid = grid(lower, upper, lookout);
    let mut values = look(&grid);
    let mut found = line.summits(&grid, &values);
    if lookout.fine && !found.is_empty() {
        (grid, values) = line.refined(grid, values, &found);
        found = line.summits(&grid, &values);
    }
    found.into_iter().map(|(location, scale, _)| (location, scale)).collect()
}

/// A log-density between two bounds.
struct Line<'a> {
    lower: f64,
    upper: f64,
    look: &'a dyn Fn(&[f64]) -> Vec<f64>,
}

impl Line<'_> {
    /// Location, scale and height of the peaks above the maxima of a grid, highest first.
    fn summits(&self, grid: &[f64], values: &[f64]) -> Vec<(f64, f64, f64)> {
        let mut maxima = local_maxima(values);
        if maxima.len() > MOST_CLIMBED {
            maxima.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
            maxima.truncate(MOST_CLIMBED);
        }
        let mut found: Vec<(f64, f64)> = maxima
            .into_iter()
            .map(|i| {
                let bracket = (grid[i.saturating_sub(1)], grid[(i + 1).min(grid.len() - 1)]);
                climb(bracket, (grid[i], values[i]), self.look)
            })
            .collect();
        let best = found.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
        found.retain(|p| p.1 >= best - DEPTH);
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(MOST);
        let wide =
            |(at, height): (f64, f64)| (at, width(at, height, self.lower, self.upper, self.look), height);
        let mut found: Vec<(f64, f64, f64)> = found.into_iter().map(wide).collect();
        // At the end of a bounded line a density that only rises from there has no peak.
        let whole = self.upper - self.lower;
        let highest = found.first().map(|p| p.0);
        found.retain(|p| p.1 < whole || Some(p.0) == highest);
        found
    }

    /// The grid with more points at all distances from the first peaks, and the values there.
    fn refined(&self, grid: Vec<f64>, values: Vec<f64>, found: &[(f64, f64, f64)]) -> (Vec<f64>, Vec<f64>) {
        let around = |&(at, scale, _): &(f64, f64, f64)| {
            let distances = FINE.iter().map(move |ratio| scale * FINE_NEAREST * ratio);
            let below = distances.clone().rev().map(move |distance| at - distance);
            below.chain([at]).chain(distances.map(move |distance| at + distance))
        };
        let inside = |x: &f64| *x > self.lower && *x < self.upper;
        let more: Vec<f64> = found.iter().take(CORES).flat_map(around).filter(inside).collect();
        let heights = (self.look)(&more);
        let mut all: Vec<(f64, f64)> =
            grid.into_iter().zip(values).chain(more.into_iter().zip(heights)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.dedup_by(|b, a| a.0 == b.0);
        all.into_iter().unzip()
    }
}

/// Points over all orders of magnitude between the bounds, denser around the hints.
fn grid(lower: f64, upper: f64, lookout: Lookout<'_>) -> Vec<f64> {
    let ladder =
        |from: i32, to: i32| DECADES[(from + EIGHTHS) as usize..=(to + EIGHTHS) as usize].iter().copied();
    let mut grid: Vec<f64> = match (lower.is_finite(), upper.is_finite()) {
        (false, false) => ladder(-48, 72).rev().map(|x| -x).chain([0.0]).chain(ladder(-48, 72)).collect(),
        (true, false) => ladder(-EIGHTHS, EIGHTHS).map(|x| lower + x).collect(),
        (false, true) => ladder(-EIGHTHS, EIGHTHS).rev().map(|x| upper - x).collect(),
        (true, true) => {
            let width = upper - lower;
            let near = || ladder(-EIGHTHS, -16).map(|x| width * x);
            let even = (1..128).map(|i| lower + width * f64::from(i) / 128.0);
            near().map(|x| lower + x).chain(even).chain(near().rev().map(|x| upper - x)).collect()
        }
    };
    for (location, scale) in lookout.hints {
        grid.extend((-8..=8).map(|step| location + scale * f64::from(step)));
    }
    grid.extend_from_slice(lookout.places);
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

/// The highest point of a bracket, by ever finer grids on both sides of the highest point known, a needle between two
/// points of a coarser grid perhaps.
fn climb(bracket: (f64, f64), known: (f64, f64), look: &dyn Fn(&[f64]) -> Vec<f64>) -> (f64, f64) {
    const STEPS: usize = 6;
    let (mut a, mut b) = bracket;
    let mut best = known;
    for _ in 0..60 {
        let part = |from: f64, to: f64, i: usize| from + (to - from) * (i as f64 / STEPS as f64);
        let below = (0..STEPS).map(|i| part(a, best.0, i));
        let x: Vec<f64> = below.chain((0..=STEPS).map(|i| part(best.0, b, i))).collect();
        let values = look(&x);
        let top = (0..=2 * STEPS).fold(STEPS, |top, i| if values[i] > values[top] { i } else { top });
        best = (x[top], values[top]);
        let (left, right) = (top.saturating_sub(1), (top + 1).min(2 * STEPS));
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
    let ladder: Vec<f64> = HALVES.iter().map(|half| reach * half).collect();
    let side = |sign: f64| -> f64 {
        let inside = |x: f64| (lower..=upper).contains(&x);
        let x: Vec<f64> = ladder.iter().map(|h| at + sign * h).collect();
        // A density is not asked for outside of where it is defined.
        let values = look(&x.iter().map(|x| if inside(*x) { *x } else { at }).collect::<Vec<_>>());
        // From small to large: the first distance at which it has fallen.
        let fallen = (0..ladder.len())
            .rev()
            .find(|&i| !inside(x[i]) || values[i] < height - 0.5 || values[i] == f64::NEG_INFINITY);
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
        let found = peaks(f64::NEG_INFINITY, f64::INFINITY, Lookout::default(), &mixture);
        assert_eq!(found.len(), 2);
        assert!((found[0].0 + 3.0).abs() < 0.02 && (0.05..0.3).contains(&found[0].1), "{found:?}");
        assert!((found[1].0 - 50.0).abs() < 1.0 && (2.0..9.0).contains(&found[1].1), "{found:?}");
    }

    #[test]
    fn a_density_that_is_zero_everywhere_has_no_peak() {
        let zero = |_: &[f64], out: &mut [f64]| out.fill(f64::NEG_INFINITY);
        assert!(peaks(0.0, 1.0, Lookout::default(), &zero).is_empty());
    }

    #[test]
    fn a_peak_at_the_bound_of_a_half_line_has_the_scale_of_its_decay() {
        let decay = |x: &[f64], out: &mut [f64]| {
            for (o, x) in out.iter_mut().zip(x) {
                *o = -x / 1e-4;
            }
        };
        let found = peaks(0.0, f64::INFINITY, Lookout::default(), &decay);
        assert!((1e-5..1e-3).contains(&found[0].1), "{found:?}");
    }

    /// `N(20, 1)` and a needle of width `sd` at −20, each of mass one.
    fn with_needle(sd: f64) -> impl Fn(&[f64], &mut [f64]) {
        move |x, out| {
            for (o, x) in out.iter_mut().zip(x) {
                let (a, b) = (-0.5 * (x - 20.0).powi(2), -0.5 * ((x + 20.0) / sd).powi(2) - sd.ln());
                *o = a.max(b) + (-(a - b).abs()).exp().ln_1p();
            }
        }
    }

    #[test]
    fn a_peak_of_a_hundredth_of_the_width_is_found_far_away() {
        let fine = Lookout { fine: true, ..Lookout::default() };
        let found = peaks(f64::NEG_INFINITY, f64::INFINITY, fine, &with_needle(0.01));
        assert!(found.iter().any(|p| (p.0 + 20.0).abs() < 1e-3 && (0.005..0.03).contains(&p.1)), "{found:?}");
        assert!(found.iter().any(|p| (p.0 - 20.0).abs() < 0.1), "{found:?}");
    }

    #[test]
    fn a_needle_is_found_at_a_place_that_is_named() {
        let places = [-20.0];
        let named = Lookout { places: &places, ..Lookout::default() };
        let found = peaks(f64::NEG_INFINITY, f64::INFINITY, named, &with_needle(1e-6));
        assert!(found.iter().any(|p| (p.0 + 20.0).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn the_lowest_place_of_a_circle_is_no_peak() {
        let pi = std::f64::consts::PI;
        let circle = |x: &[f64], out: &mut [f64]| out.iter_mut().zip(x).for_each(|(o, x)| *o = x.cos());
        let hints = [(-3.03, 0.3), (3.03, 0.3)];
        let found = peaks(-pi, pi, Lookout { hints: &hints, places: &[], fine: true }, &circle);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
