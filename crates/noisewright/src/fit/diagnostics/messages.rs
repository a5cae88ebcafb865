//! The sentences of the diagnostics.

use super::super::result::Fit;
use super::overlap::{Overlap, Tails};
use super::separation::{DivergingParameter, Separation};
use super::{ChiSquareTest, NotNormalizable, Warning, WarningKind};
use crate::text::digits;
use crate::{Error, Loss};

/// Fewest expected confusions of the classifier about which anything can be said.
const FEWEST_CONFUSIONS: f64 = 5.0;

/// Overlap from which on a handful of points are few only because there are no more of them.
const WIDE_OVERLAP: f64 = 0.5;

/// Overlap below which the errors are much larger than they need be.
const LITTLE_OVERLAP: f64 = 0.05;

/// Largest Pareto shape of weights whose mean can be trusted (Vehtari et al. 2024).
const LARGEST_SHAPE: f64 = 0.7;
/// Shape above which a weight has no variance.
const LARGEST_FINITE_VARIANCE: f64 = 0.5;

/// Below this p-value a right model is a bad bet.
const DOUBTFUL: f64 = 0.01;

/// What the data are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Noise.
    Noise,
    /// A second sample.
    Sample,
    /// All points of the domain: maximum likelihood.
    Domain,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Noise => "noise",
            Self::Sample => "second sample",
            Self::Domain => "whole domain",
        }
    }

    /// What to do when nothing limits a parameter.
    fn advice(self) -> &'static str {
        match self {
            Self::Noise => {
                "use more noise (--nu 20) or a noise nearer to the data, bound that parameter, or leave it out"
            }
            Self::Sample => "leave that feature out, or give more of both samples",
            Self::Domain => "leave that parameter out, bound it, or collect data that vary in it",
        }
    }
}

fn arrow(running: &DivergingParameter) -> String {
    format!("`{}` → {}", running.name, if running.sign > 0 { "∞" } else { "−∞" })
}

fn range([low, high]: [f64; 2]) -> String {
    if low == high { digits(low) } else { format!("between {} and {}", digits(low), digits(high)) }
}

/// A separated fit.
pub(super) fn separated(separation: &Separation, subject: Subject) -> Warning {
    let arrows = separation.running.iter().map(arrow).collect::<Vec<_>>().join(", ");
    let other = subject.name();
    let reason = match (separation.running.as_slice(), subject) {
        ([only], Subject::Domain) => format!(
            "the mean of its statistic over the data is {}, at the edge of its range on the {other}, {}",
            range(only.data_range),
            range(only.noise_range)
        ),
        (_, Subject::Domain) => {
            "the means of the statistics over the data are on the border of what the model can give".into()
        }
        ([only], _) => format!(
            "its statistic is {} on the data and {} on the {other}, so that no row speaks against it",
            range(only.data_range),
            range(only.noise_range)
        ),
        _ => format!(
            "in this direction no row speaks against it, and {} rows of the data and {} of the {other} speak for it",
            separation.data_rows, separation.noise_rows
        ),
    };
    let sentence = format!("there is no finite estimate: {arrows}: {reason}");
    Warning::new(WarningKind::Separation, sentence, subject.advice())
}

pub(super) fn not_normalizable(found: &NotNormalizable) -> Warning {
    let place = match (&found.variable, &found.direction) {
        (Some(variable), _) => format!("towards {} in `{variable}`", found.towards),
        (None, Some(direction)) => {
            let list: Vec<String> = direction.iter().map(|d| digits(*d)).collect();
            format!("along the direction ({}) of the variables", list.join(", "))
        }
        (None, None) => format!("towards {}", found.towards),
    };
    Warning::new(
        WarningKind::NotNormalizable,
        format!("the fitted model is no probability: its density does not fall fast enough {place}"),
        "bound the parameter that makes it fall (lower = 0 or upper = 0), restrict the domain, or use another model",
    )
}

/// Whether data and noise have too little in common to say anything.
pub(super) fn is_hopeless(overlap: &Overlap) -> bool {
    overlap.confusions() < FEWEST_CONFUSIONS && overlap.overlap < WIDE_OVERLAP
}

pub(super) fn overlap(overlap: &Overlap, nu: f64, subject: Subject) -> Option<Warning> {
    let other = subject.name();
    let near = match subject {
        Subject::Noise => "use a noise nearer to the data (--noise auto)",
        _ => "compare samples that have more in common",
    };
    if is_hopeless(overlap) {
        let both = overlap.data_taken_for_noise + overlap.noise_taken_for_data;
        let more = match subject {
            Subject::Noise => format!("{near} or more of it (--nu {})", digits(10.0 * nu)),
            _ => near.into(),
        };
        let sentence = format!(
            "nothing can be said: data and {other} hardly overlap, only {} points of both together could as well be \
             of the other",
            digits(both)
        );
        return Some(Warning::new(WarningKind::NoOverlap, sentence, more));
    }
    (overlap.overlap < LITTLE_OVERLAP).then(|| {
        let sentence = format!("data and {other} overlap by {} %", digits(100.0 * overlap.overlap));
        Warning::new(WarningKind::LittleOverlap, sentence, near)
    })
}

pub(super) fn tails(tails: &Tails, loss: &Loss, subject: Subject) -> Option<Warning> {
    let other = subject.name();
    let harm = match loss {
        Loss::Js => "data in the tails say little".into(),
        _ => format!("the estimates rest on a few points of the {other}"),
    };
    let reason = match tails.pareto_k.filter(|k| *k > LARGEST_SHAPE) {
        Some(shape) => format!(
            "the ratio of their densities has the tail shape {} (above {LARGEST_SHAPE}), so that {harm}",
            digits(shape)
        ),
        None if tails.out_of_reach > 0.0 => format!(
            "{} data points are where hardly any {other} is expected, the farthest with a ratio of densities of e^{}",
            digits(tails.out_of_reach),
            digits(tails.largest_log_ratio_data.round())
        ),
        None => return None,
    };
    let suggestion = match subject {
        Subject::Noise => "use a noise with heavier tails, such as --noise auto or a student",
        _ => "exchange the two samples, or use the js loss, which bounds their weights",
    };
    let sentence = format!("the {other} has lighter tails than the data: {reason}");
    Some(Warning::new(WarningKind::LightTails, sentence, suggestion))
}

/// Losses whose weight is a power of the inverse ratio: where the noise is much wider than the data, a few data points
/// in the tails decide, and the standard errors miss it.
pub(super) fn heavy_weights(tails: &Tails, loss: &Loss) -> Option<Warning> {
    let exponent = loss.inverse_power();
    let shape = exponent * tails.inverse_pareto_k.filter(|_| exponent > 0.0)?;
    (shape > LARGEST_FINITE_VARIANCE).then(|| {
        let sentence = format!(
            "the weights of the loss {loss} at the data have the tail shape {} (above {LARGEST_FINITE_VARIANCE}: no \
             variance), so that a few rows decide and the standard errors are too small",
            digits(shape)
        );
        Warning::new(WarningKind::HeavyWeights, sentence, "use --loss js, whose weights are bounded, or a noise with lighter tails")
    })
}

pub(super) fn misspecified(test: &ChiSquareTest) -> Option<Warning> {
    (test.p_value < DOUBTFUL).then(|| {
        Warning::new(
            WarningKind::Misspecified,
            format!(
                "the model does not fit the data: the two forms of its information differ more than by chance \
                 (χ² = {} with {} degrees of freedom, p = {})",
                digits(test.statistic),
                test.degrees_of_freedom,
                digits(test.p_value)
            ),
            "compare data and fitted density in the report, and add what is missing to the model; the robust errors \
             hold for its best approximation",
        )
    })
}

/// Why the information-matrix test has nothing to go by.
pub(super) const NOTHING_TO_TEST: &str = "the fit reproduces all that the test would compare";

/// Why the information-matrix test is not made; `js` says whether the loss is one that it is known for.
pub(super) fn not_tested(fit: &Fit, inside: bool, js: bool) -> &'static str {
    if !fit.converged {
        "the fit has not converged"
    } else if !inside {
        "an estimate is at its bound"
    } else if !js {
        "the test is known for the js loss and for exact fits only"
    } else {
        "the rows depend on one another"
    }
}

pub(super) fn ratio_matters(test: &ChiSquareTest, nu: f64) -> Option<Warning> {
    (test.p_value < DOUBTFUL).then(|| {
        Warning::new(
            WarningKind::RatioMatters,
            format!(
                "the estimates at ν = {} and at four times as much noise differ more than by chance (χ² = {}, p = {}), \
                 which they do not when the model is right",
                digits(nu),
                digits(test.statistic),
                digits(test.p_value)
            ),
            "use much more noise, whose limit is the best approximation in the sense of maximum likelihood, and doubt \
             the model",
        )
    })
}

pub(super) fn noise_error(name: &str, share: f64, nu: f64) -> Warning {
    // The noise part of a variance falls like 1/ν.
    let wanted = nu * 9.0 * share / (1.0 - share).max(0.05);
    Warning::new(
        WarningKind::NoiseError,
        format!("{} % of the variance of `{name}` comes from the noise", digits((100.0 * share).round())),
        format!("give more noise: --nu {}", digits(wanted.max(2.0 * nu))),
    )
}

pub(super) fn at_bound(name: &str, bound: f64, lower: bool) -> Warning {
    let side = if lower { "lower" } else { "upper" };
    Warning::new(
        WarningKind::AtBound,
        format!(
            "`{name}` is at its {side} bound {}, so that its standard error means nothing",
            digits(bound)
        ),
        "take the bound as the estimate, widen it if the model allows, or use a model that reaches further",
    )
}

pub(super) fn not_converged(stop: impl std::fmt::Display, iterations: usize) -> Warning {
    Warning::new(
        WarningKind::NotConverged,
        format!("the search for the best parameters {stop} after {iterations} steps"),
        "give start values nearer to the answer, bounds for the parameters, or more noise",
    )
}

/// A likelihood without a maximum; `wall` is where its density ceases to integrate, if that was met on the way.
pub(super) fn no_maximum(stop: impl std::fmt::Display, iterations: usize, wall: Option<&Error>) -> Warning {
    let Some(Error::NotIntegrable { variable, towards }) = wall else {
        return Warning::new(
            WarningKind::NoMaximum,
            format!("no maximum of the likelihood was found: the search {stop} after {iterations} steps"),
            "give start values nearer to the answer or bounds for the parameters, or fit against noise (--noise auto)",
        );
    };
    let place = variable.as_ref().map(|v| format!(" in `{v}`")).unwrap_or_default();
    let sentence = format!(
        "no maximum of the likelihood was found: it still rises where the density all but ceases to integrate towards \
         {towards}{place}"
    );
    let advice = "use a model whose tails are as heavy as the data's, bound the parameter that makes its density fall, or \
                  restrict the domain";
    Warning::new(WarningKind::NoMaximum, sentence, advice)
}

pub(super) fn several_optima(count: usize) -> Warning {
    Warning::new(
        WarningKind::SeveralOptima,
        format!("the loss has {count} minima, of which the lowest was taken"),
        "look at the others before you trust it: start values decide which one a single search finds",
    )
}
