//! The best proportion of noise, and how much noise is enough.

use std::cell::Cell;

use noisewright_numerics::optimize::minimize_bracketed;

use super::walls::Looks;
use crate::run::{Context, Stage, if_possible};
use crate::{DesignFault, Error, Population, Result};

/// Prices of a data point and of a noise point; the budget is in the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Price of a data point.
    pub data: f64,
    /// Price of a noise point.
    pub noise: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self { data: 1.0, noise: 1.0 }
    }
}

impl Prices {
    /// What one data point with its ν noise points costs.
    #[must_use]
    pub fn scale(&self, nu: f64) -> f64 {
        self.data + nu * self.noise
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (name, price) in [("price_data", self.data), ("price_noise", self.noise)] {
            if !(price > 0.0 && price.is_finite()) {
                return Err(Error::range(name, "a positive number", price));
            }
        }
        Ok(())
    }
}

/// A ν that is one.
pub(crate) fn check_ratio(nu: f64) -> Result<f64> {
    if nu > 0.0 && nu.is_finite() { Ok(nu) } else { Err(Error::NoiseRatio { value: nu }) }
}

/// The logarithms of ν between which the best one is sought.
pub(super) const LOG_RATIOS: (f64, f64) = (-30.0, 30.0);

/// The logarithms at which a scan for the best ν begins; it goes on outwards while that helps.
const FIRST_LOG_RATIOS: std::ops::RangeInclusive<i32> = -9..=9;

/// Whether a ν is an end of the range that is searched, so that the best one may lie beyond.
#[must_use]
pub(super) fn at_end(nu: f64) -> bool {
    let (lowest, highest) = LOG_RATIOS;
    // Within the last step of the scan.
    nu.ln() - lowest < 1.0 || highest - nu.ln() < 1.0
}

/// The place and value of the least of `look(ln ν)` on a grid of step one, with its neighbours: from e⁻⁹ to e⁹ and,
/// while it still falls there, beyond the end, as far as e^±30. `None` where it is nowhere finite.
pub(super) fn scan(mut look: impl FnMut(f64) -> f64) -> Option<Scan> {
    let mut grid: Vec<(f64, f64)> = FIRST_LOG_RATIOS.map(f64::from).map(|x| (x, look(x))).collect();
    let least = |grid: &[(f64, f64)]| {
        (0..grid.len()).fold(0, |best, i| if grid[i].1 < grid[best].1 { i } else { best })
    };
    loop {
        let best = least(&grid);
        let (log_nu, error) = grid[best];
        if !error.is_finite() {
            return None;
        }
        if best == 0 && log_nu > LOG_RATIOS.0 {
            grid.insert(0, (log_nu - 1.0, look(log_nu - 1.0)));
        } else if best + 1 == grid.len() && log_nu < LOG_RATIOS.1 {
            grid.push((log_nu + 1.0, look(log_nu + 1.0)));
        } else {
            let neighbour = |i: Option<usize>| i.and_then(|i| grid.get(i)).copied();
            return Some(Scan {
                best: grid[best],
                below: neighbour(best.checked_sub(1)),
                above: neighbour(Some(best + 1)),
            });
        }
    }
}

/// The least place of a scan and its neighbours, where there are any.
pub(super) struct Scan {
    pub(super) best: (f64, f64),
    pub(super) below: Option<(f64, f64)>,
    pub(super) above: Option<(f64, f64)>,
}

/// The ν that minimises an error, and the error there: the best of a scan over eight decades, e⁻⁹ to e⁹, and beyond them
/// to e⁻³⁰ or e³⁰ while it still falls there; polished.
///
/// ```
/// use noisewright::{design::best_ratio, run::Context};
/// // Noise equal to the data has an error in proportion to (1 + ν)²/ν.
/// let (nu, error) = best_ratio(|nu| Ok((1.0 + nu).powi(2) / nu), &Context::seeded(0))?;
/// assert!((nu - 1.0).abs() < 1e-3 && (error - 4.0).abs() < 1e-6);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// Where the noise tells nothing at a ν ([`Error::NoOverlap`], [`Error::Collinear`] and their like) the error is infinite there, and
/// the first of these where it is so at all. Any other error of the function ends the search; so does the context, which is asked
/// before every ν and told of it.
pub fn best_ratio(error: impl Fn(f64) -> Result<f64>, context: &Context) -> Result<(f64, f64)> {
    let looked = Cell::new(0);
    let told = |nu: f64| {
        context.report(Stage::Design, looked.replace(looked.get() + 1), None)?;
        error(nu)
    };
    best_ratio_from(told, told)
}

/// As [`best_ratio`], with a cheaper error that is good enough for the scan.
pub(crate) fn best_ratio_from(
    rough: impl Fn(f64) -> Result<f64>,
    error: impl Fn(f64) -> Result<f64>,
) -> Result<(f64, f64)> {
    let mut looks = Looks::of_ratios();
    let found = scan(|log_nu| looks.value(|| rough(log_nu.exp())));
    looks.check()?;
    let Some(Scan { best, below, above }) = found else { return Err(looks.nowhere()) };
    let (lower, upper) = (below.unwrap_or(best).0, above.unwrap_or(best).0);
    let least = minimize_bracketed(lower, upper, |log_nu| looks.value(|| error(log_nu.exp())));
    looks.check()?;
    if !least.value.is_finite() {
        return Err(looks.nowhere());
    }
    Ok((least.at[0].exp(), least.value))
}

/// The error as a function of the noise proportion.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Curve {
    /// π = ν/(1+ν), increasing.
    #[serde(rename = "noise_proportion")]
    pub proportion: Vec<f64>,
    /// The error at each; ∞ where there is none.
    pub error: Vec<f64>,
}

/// Products that the sums behind a curve may cost.
const CURVE_PRODUCTS: usize = 1 << 33;
/// The places that it has at least.
const FEWEST_CURVE_PLACES: usize = 9;

impl Curve {
    /// How many of so many places are worth their cost on a population, where each takes so many sums over it: a curve
    /// through fewer looks the same.
    pub(crate) fn places(population: &Population, most: usize, sums: usize) -> usize {
        let products = population.points().rows() * population.coordinates().len().pow(2) * sums;
        (CURVE_PRODUCTS / products.max(1)).clamp(FEWEST_CURVE_PLACES.min(most), most)
    }

    /// The error of `error(ν)` at `count` proportions between 1 % and 99 %.
    ///
    /// # Errors
    /// [`Error::Cancelled`] alone.
    pub fn new(count: usize, error: impl Fn(f64) -> Result<f64>) -> Result<Self> {
        let proportion: Vec<f64> =
            (0..count).map(|i| 0.01 + 0.98 * i as f64 / (count.max(2) - 1) as f64).collect();
        let at = |p: &f64| Ok(if_possible(error(p / (1.0 - p)))?.unwrap_or(f64::INFINITY));
        let error = proportion.iter().map(at).collect::<Result<_>>()?;
        Ok(Self { proportion, error })
    }
}

/// The smallest ν at which `value(ν) ≤ value(∞) / efficiency`, for a value that falls with ν: how much noise until
/// the data's own uncertainty dominates.
///
/// # Errors
/// When the efficiency is not between 0 and 1, or is not reached at ν = 10⁹.
pub fn ratio_for_efficiency(efficiency: f64, limit: f64, value: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    if !(efficiency > 0.0 && efficiency < 1.0) {
        return Err(Error::range("efficiency", "a number between 0 and 1", efficiency));
    }
    // What is above the limit falls nearly as 1/ν: in logarithms, a line that secants follow.
    let above = |log_nu: f64| -> Result<f64> {
        Ok(((value(log_nu.exp())? / limit - 1.0) / (1.0 / efficiency - 1.0)).max(0.0).ln())
    };
    let (mut low, mut high) = ((1e-6f64.ln(), f64::INFINITY), (1e9f64.ln(), above(1e9f64.ln())?));
    if high.1 > 0.0 {
        return Err(Error::Design(DesignFault::EfficiencyOutOfReach { efficiency }));
    }
    for step in 0..60 {
        let secant = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        // Every third step halves the bracket, whatever the secants do.
        let inside = step % 3 != 2 && secant > low.0 && secant < high.0;
        let middle = if inside { secant } else { 0.5 * (low.0 + high.0) };
        // Too little noise to tell the parameters at all counts as too large an error.
        let found = if_possible(above(middle))?.unwrap_or(f64::INFINITY);
        if found <= 0.0 {
            high = (middle, found);
        } else {
            low = (middle, found);
        }
        if high.0 - low.0 < 1e-9 || (inside && found.abs() < 1e-10) {
            break;
        }
    }
    Ok(if low.1 < 1e-10 { low.0.exp() } else { high.0.exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_it_is_cancelled_and_is_endless_where_there_is_no_error() {
        let missing = Curve::new(5, |nu| if nu < 1.0 { Err(Error::NoMass) } else { Ok(nu) }).unwrap();
        assert_eq!(missing.error[..2], [f64::INFINITY; 2]);
        assert!(missing.error[3..].iter().all(|error| error.is_finite()));
        let cancelled = Curve::new(5, |nu| if nu < 1.0 { Ok(nu) } else { Err(Error::Cancelled) });
        assert!(matches!(cancelled, Err(Error::Cancelled)));
    }

    /// An error of `(1 + ν)²/ν` but at some places: in the scan at whole logarithms, and in the polish between them.
    #[test]
    fn a_search_for_the_best_ratio_ends_with_what_is_wrong() {
        let context = Context::seeded(0);
        let search = |wrong: fn(f64) -> bool, reason: Error| {
            best_ratio(
                |nu| if wrong(nu) { Err(reason.clone()) } else { Ok((1.0 + nu).powi(2) / nu) },
                &context,
            )
        };
        let scan = |nu: f64| nu > 1e3;
        let polish = |nu: f64| (nu.ln() - nu.ln().round()).abs() > 1e-9;
        for reason in [Error::Cancelled, Error::internal("broken"), Error::NoiseRatio { value: -1.0 }] {
            assert_eq!(search(scan, reason.clone()), Err(reason.clone()), "in the scan");
            assert_eq!(search(polish, reason.clone()), Err(reason.clone()), "in the polish");
        }
        let (nu, error) = search(scan, Error::NoOverlap).unwrap();
        assert!((nu - 1.0).abs() < 1e-3 && (error - 4.0).abs() < 1e-6);
        assert_eq!(search(|_| true, Error::HardlyAnyOverlap), Err(Error::HardlyAnyOverlap));
    }

    #[test]
    fn a_search_for_the_best_ratio_tells_of_its_looks_and_can_be_stopped() {
        let told = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let own = std::sync::Arc::clone(&told);
        let hook = crate::run::ProgressHook::new(move |progress| {
            own.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if progress.iteration < 5 {
                std::ops::ControlFlow::Continue(())
            } else {
                std::ops::ControlFlow::Break(())
            }
        });
        let context = Context::new(0, &crate::run::CancelToken::new(), Some(&hook));
        assert_eq!(best_ratio(Ok, &context), Err(Error::Cancelled));
        assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 6);
    }
}
