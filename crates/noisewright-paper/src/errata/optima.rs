//! Mistakes about optima and proportions.

use noisewright::Result;
use noisewright_report::{format_number, format_percent};
use serde_json::json;

use super::Erratum;
use crate::designed::Designed;
use crate::fig5::largest;
use crate::landscape::{Landscape, Spot};
use crate::settings::ratio_of;
use crate::toy::Toy;

/// The root of a function that changes its sign between two proportions.
fn crossing(mut lower: f64, mut upper: f64, f: impl Fn(f64) -> f64) -> f64 {
    let sign = f(lower) > 0.0;
    for _ in 0..44 {
        let middle = 0.5 * (lower + upper);
        if (f(middle) > 0.0) == sign { lower = middle } else { upper = middle }
    }
    0.5 * (lower + upper)
}

/// The optimal noise variance for the Gaussian variance.
pub(super) fn variance_factor() -> Result<Erratum> {
    let landscape = Landscape::new(Toy::Variance, 1.0)?;
    let best = |proportion: f64| landscape.polish(1.5, 20.0, ratio_of(proportion)).parameter;
    let factor = best(0.5);
    let proportion = crossing(0.4, 0.75, |p| best(p) - 3.84);
    Ok(Erratum {
        place: "Section 5.3, model (b), and figure 1",
        printed: "the optimal noise variance at ν = 1 is 3.84 times the data's.".into(),
        right: "it is 4.24226 times the data's.".into(),
        check: format!(
            "the minimum over the noise variance at 50 % noise is at {}; 3.84 is the minimum at {} noise.",
            format_number(factor, 6),
            format_percent(proportion, 3)
        ),
        holds: (factor - 4.242_26).abs() < 1e-5,
        values: json!({ "printed": 3.84, "right": factor, "proportion_of_printed": proportion }),
    })
}

/// The proportion below which the parametric noise beats the analytic one.
fn overtaking(toy: Toy) -> Result<f64> {
    let data = toy.standard();
    let family = Landscape::new(toy, data)?;
    let best = family.polish(data + 0.5, data + 6.0, 1.0).parameter;
    let ratios = family.ratios(best)?;
    let designed = Designed::new(toy, data)?;
    Ok(crossing(0.1, 0.6, |p| (designed.analytic)(ratio_of(p)) - family.error(&ratios, ratio_of(p))))
}

/// "Quasi uniformly better".
pub(super) fn analytic_against_parametric() -> Result<Erratum> {
    let (mean, variance) = (overtaking(Toy::Mean)?, overtaking(Toy::Variance)?);
    Ok(Erratum {
        place: "Section 5.3, on figure 4",
        printed: "the analytic noise is (quasi) uniformly equal to or better than a parametric noise optimized for ν = 1.".into(),
        right: "it loses to the parametric one where noise is scarce.".into(),
        check: format!(
            "the curves of figure 4 cross at {} noise for the mean and at {} for the variance; below that the parametric \
             noise is better.",
            format_percent(mean, 3),
            format_percent(variance, 3)
        ),
        holds: mean > 0.3 && variance > 0.2,
        values: json!({ "mean": mean, "variance": variance }),
    })
}

/// "Typically less than 50 %".
pub(super) fn proportions_above_half() -> Result<Erratum> {
    let of = |toy: Toy| largest(&Landscape::new(toy, toy.standard())?, toy);
    let (variance, correlation) = (of(Toy::Variance)?, of(Toy::Correlation)?);
    Ok(Erratum {
        place: "Section 5.3, on figure 5",
        printed: "the optimal proportion is 50 % where noise equals data and typically less elsewhere."
            .into(),
        right: "with exceptions just beside the data's own parameter.".into(),
        check: format!(
            "variance 1: {} is best for the noise variance {}; correlation 0.3: {} for the noise correlation {}.",
            format_percent(variance.1, 3),
            format_number(variance.0, 3),
            format_percent(correlation.1, 3),
            format_number(correlation.0, 3)
        ),
        holds: variance.1 > 0.549 && correlation.1 > 0.515,
        values: json!({
            "variance": { "parameter": variance.0, "proportion": variance.1 },
            "correlation": { "parameter": correlation.0, "proportion": correlation.1 },
        }),
    })
}

/// Optima that jump where the paper draws continuous curves.
pub(super) fn jumps() -> Result<Erratum> {
    let landscape = Landscape::new(Toy::Mean, 0.0)?;
    let shift = |p: f64| landscape.polish(0.7, 4.0, ratio_of(p));
    let equal = |p: f64| landscape.at(0.0, ratio_of(p));
    let proportion = crossing(0.5, 0.65, |p| shift(p).error - equal(p));
    let (before, after) = (joint(0.06)?, joint(0.12)?);
    Ok(Erratum {
        place: "Figure 1",
        printed: "the optimal noise parameter follows the data parameter and the proportion continuously."
            .into(),
        right: "it jumps.".into(),
        check: format!(
            "mean: above {} noise no shift beats noise equal to the data, and the best shift jumps from {} to 0. Correlation, proportion free: from {} at \
             data correlation 0.06 to {} at 0.12.",
            format_percent(proportion, 4),
            format_number(shift(proportion).parameter, 3),
            format_number(before.parameter, 2),
            format_number(after.parameter, 3)
        ),
        holds: proportion < 0.6 && after.parameter < before.parameter - 0.5,
        values: json!({
            "proportion": proportion,
            "shift": shift(proportion).parameter,
            "correlation_at_0.06": before.parameter,
            "correlation_at_0.12": after.parameter,
        }),
    })
}

/// The jointly best member for a data correlation: the better of the minima found from near and from far.
fn joint(correlation: f64) -> Result<Spot> {
    let landscape = Landscape::new(Toy::Correlation, correlation)?;
    let from = |parameter: f64| {
        let start = Spot { parameter, nu: 0.6, error: f64::INFINITY };
        landscape.polish_jointly(start, 0.05)
    };
    let (near, far) = (from(-0.03), from(-0.65));
    Ok(if near.error < far.error { near } else { far })
}
