//! When a fit is worth a warning: the thresholds, and what each finding calls for.

use super::super::result::Fit;
use super::finding::{Against, Finding};
use super::overlap::{Overlap, Tails};
use super::remedy::Remedy;
use super::separation::Separation;
use super::{ChiSquareTest, NotNormalizable, Runaway, Stop, Warning};
use crate::tolerance::{AMPLE_OVERLAP, FEWEST_CROSSINGS, HEAVY_TAIL, NO_VARIANCE};
use crate::{Error, Loss};

/// Overlap below which the errors are much larger than they need be.
const LITTLE_OVERLAP: f64 = 0.05;

/// Logarithm of a ratio of densities at a data point, a hundred, below which the noise is not scarce there.
const LARGE_LOG_RATIO: f64 = 4.6;

/// Rows in the overlap, per unknown, below which estimates are biased by as much as their errors.
const ROWS_PER_UNKNOWN: f64 = 2.0;
/// Share of the rows in the overlap above which it is their number that is too small, not the overlap.
const MOST_OF_THE_ROWS: f64 = 0.5;

/// Rows that the weights of a loss must leave, per unknown, and their share of all above which no weight is to blame. Ising models of
/// 10 spins, 500 rows, 56 unknowns against independent spins: reverse KL covers 0.89 with 292 rows left, 0.59 with 111.
const WEIGHTED_ROWS_PER_UNKNOWN: f64 = 8.0;
const MOST_WEIGHTED: f64 = 0.9;

/// Below this p-value a right model is a bad bet.
const DOUBTFUL: f64 = 0.01;

/// Noise points per data point at which the noise's part of a variance, which falls like 1/ν, is about a twentieth.
const PLENTY: f64 = 20.0;

/// Share of the noise in a variance for which more noise is advised.
pub(crate) const SMALL_SHARE: f64 = 0.1;

/// A separated fit.
pub(super) fn separated(separation: &Separation, against: Against) -> Warning {
    let remedies = match against {
        Against::Noise => vec![
            Remedy::MoreNoise { nu: Some(PLENTY) },
            Remedy::NearerNoise,
            Remedy::BoundParameter,
            Remedy::LeaveOut,
        ],
        Against::Sample => vec![Remedy::LeaveOut, Remedy::MoreOfBoth, Remedy::Bridges],
        Against::Domain => vec![Remedy::LeaveOut, Remedy::BoundParameter, Remedy::VaryingData],
    };
    let finding = Finding::Separation {
        running: separation.running.clone(),
        data_rows: separation.data_rows,
        noise_rows: separation.noise_rows,
        against,
    };
    Warning::new(finding, remedies)
}

pub(super) fn not_normalizable(found: &NotNormalizable) -> Warning {
    let remedies = [Remedy::BoundFall { at_zero: true }, Remedy::RestrictDomain, Remedy::OtherModel];
    Warning::new(Finding::NotNormalizable(found.clone()), remedies)
}

impl Overlap {
    /// Whether data and noise have too little in common to say anything.
    pub(crate) fn is_hopeless(&self) -> bool {
        // At a minimum with a free constant the two numbers are the same. Where they are not, the model or the search is at
        // fault, and not the overlap.
        let most = self.data_taken_for_noise.max(self.noise_taken_for_data);
        most < FEWEST_CROSSINGS && self.overlap < AMPLE_OVERLAP
    }
}

pub(super) fn overlap(overlap: &Overlap, fit: &Fit, against: Against) -> Option<Warning> {
    let near = match against {
        Against::Noise => Remedy::NearerNoise,
        _ => Remedy::NearerSamples,
    };
    if overlap.is_hopeless() {
        let confused = overlap.data_taken_for_noise + overlap.noise_taken_for_data;
        let remedies = match against {
            Against::Noise => {
                vec![near, Remedy::MoreNoise { nu: Some(10.0 * fit.nu) }, Remedy::PathForConstant]
            }
            _ => vec![near, Remedy::Bridges],
        };
        return Some(Warning::new(Finding::NoOverlap { confused, against }, remedies));
    }
    let (rows, unknowns) = (overlap.effective_data, fit.estimates().len());
    if rows < ROWS_PER_UNKNOWN * unknowns as f64 && rows < MOST_OF_THE_ROWS * fit.total_weight {
        return Some(Warning::new(Finding::FewRowsInOverlap { rows, unknowns, against }, [near]));
    }
    (overlap.overlap < LITTLE_OVERLAP)
        .then(|| Warning::new(Finding::LittleOverlap { overlap: overlap.overlap, against }, [near]))
}

/// `compact` says that no variable goes to infinity, so that heavier tails are no remedy.
pub(super) fn tails(tails: &Tails, loss: &Loss, against: Against, compact: bool) -> Option<Warning> {
    let bounded = loss.is_js();
    // The weights of the JS loss are bounded, and a second sample cannot be chosen: how little of both is in the overlap is
    // all that matters, and `overlap` warns of it. Ratios that are never large have no tail, whatever shape is fitted to them.
    if bounded && (against == Against::Sample || tails.largest_log_ratio_data < LARGE_LOG_RATIO) {
        return None;
    }
    let finding = match tails.pareto_k.filter(|k| *k > HEAVY_TAIL) {
        Some(pareto_k) => Finding::TailShape { pareto_k, bounded, against },
        None if tails.out_of_reach > 0.0 => Finding::OutOfReach {
            points: tails.out_of_reach,
            largest_log_ratio: tails.largest_log_ratio_data,
            against,
        },
        None => return None,
    };
    let remedies = match against {
        Against::Noise if compact => vec![Remedy::NearerNoise],
        Against::Noise => vec![Remedy::HeavierNoise],
        _ => vec![Remedy::ExchangeSamples, Remedy::BoundedLoss],
    };
    Some(Warning::new(finding, remedies))
}

/// Losses whose weight is a power of the inverse ratio: where the noise is much wider than the data, a few data points
/// in the tails decide, and the standard errors miss it.
pub(super) fn heavy_weights(tails: &Tails, loss: &Loss) -> Option<Warning> {
    let exponent = loss.inverse_power();
    let shape = exponent * tails.inverse_pareto_k.filter(|_| exponent > 0.0)?;
    (shape > NO_VARIANCE).then(|| {
        let finding = Finding::WeightShape { loss: loss.to_string(), shape };
        Warning::new(finding, [Remedy::BoundedLoss, Remedy::LighterNoise])
    })
}

/// The same for losses that give some rows much more weight than others, in as many dimensions as a model has, of which
/// some spaces have no tails: a few rows per unknown are as good as none.
pub(super) fn few_weighted_rows(share: f64, fit: &Fit, loss: &Loss) -> Option<Warning> {
    let (rows, unknowns) = (share * fit.total_weight, fit.estimates().len());
    (rows < WEIGHTED_ROWS_PER_UNKNOWN * unknowns as f64 && share < MOST_WEIGHTED).then(|| {
        let finding = Finding::FewWeightedRows { loss: loss.to_string(), rows, unknowns };
        Warning::new(finding, [Remedy::BoundedLoss, Remedy::NearerNoise])
    })
}

/// Whether a right model is a bad bet.
pub(super) fn rejects(test: &ChiSquareTest) -> bool {
    test.p_value < DOUBTFUL
}

/// A model that the test rejects. Weights are counts: so many observations, `per_row` of them at every row, may lie at values at which no
/// density puts them. Where as many observations as there are rows would not be rejected, the weights may be no counts.
pub(super) fn misspecified(test: &ChiSquareTest, per_row: f64) -> Option<Warning> {
    rejects(test).then(|| {
        let by_weights = per_row > 1.0 && !rejects(&test.with_fewer_rows(per_row));
        let mut remedies = vec![Remedy::ExtendModel];
        if by_weights {
            remedies.insert(0, Remedy::ScaleWeights);
        }
        Warning::new(Finding::Misspecified(*test), remedies)
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
    (test.p_value < DOUBTFUL)
        .then(|| Warning::new(Finding::RatioMatters { nu, test: *test }, [Remedy::MuchMoreNoise]))
}

/// Much of an error comes from the noise; with ν noise points per data point it would be [`SMALL_SHARE`].
pub(super) fn noise_error(name: &str, share: f64, nu: f64) -> Warning {
    let finding = Finding::NoiseError { parameter: name.into(), share };
    Warning::new(finding, [Remedy::MoreNoise { nu: Some(nu) }])
}

pub(super) fn choice_error(name: &str, share: f64, choices: usize) -> Warning {
    let finding = Finding::NoiseError { parameter: name.into(), share };
    Warning::new(finding, [Remedy::MoreChoices { choices }])
}

pub(super) fn at_bound(name: &str, bound: f64, lower: bool) -> Warning {
    let finding = Finding::AtBound { parameter: name.into(), bound, lower };
    Warning::new(finding, [Remedy::TakeBound, Remedy::WidenBound, Remedy::FurtherModel])
}

/// An estimate at the end of a family, where the data want a parameter that has no member.
pub(super) fn beyond_family(name: &str, bound: f64, lower: bool, family: &str) -> Warning {
    let finding = Finding::BeyondFamily { parameter: name.into(), bound, lower, family: family.into() };
    Warning::new(finding, [Remedy::OtherModel, Remedy::AcceptBound])
}

pub(super) fn not_converged(stop: Stop, iterations: usize) -> Warning {
    let remedies = [Remedy::NearerStart, Remedy::Bounds, Remedy::MoreNoise { nu: None }];
    Warning::new(Finding::NotConverged { stop, iterations }, remedies)
}

/// A likelihood without a maximum; `wall` is where its density ceases to integrate, if that was met on the way.
pub(super) fn no_maximum(stop: Stop, iterations: usize, wall: Option<&Error>) -> Warning {
    let Some(Error::NotIntegrable { variable, towards }) = wall else {
        let remedies = [Remedy::NearerStart, Remedy::Bounds, Remedy::AgainstNoise];
        return Warning::new(Finding::NoMaximum { stop, iterations }, remedies);
    };
    let finding = Finding::RisingLikelihood { variable: variable.clone(), towards: towards.clone() };
    let remedies = [Remedy::HeavierModel, Remedy::BoundFall { at_zero: false }, Remedy::RestrictDomain];
    Warning::new(finding, remedies)
}

pub(super) fn several_optima(count: usize) -> Warning {
    Warning::new(Finding::SeveralOptima { count }, [Remedy::LookAtOthers])
}

pub(super) fn few_effective_rows(rows: f64) -> Warning {
    Warning::new(Finding::FewEffectiveRows { rows }, [Remedy::LongerChains, Remedy::BetterMixing])
}

pub(super) fn one_cluster() -> Warning {
    Warning::new(Finding::OneCluster {}, [Remedy::MoreClusters, Remedy::NoClusters])
}

pub(super) fn few_clusters(clusters: f64) -> Warning {
    Warning::new(Finding::FewClusters { clusters }, [Remedy::MoreClusters])
}

/// A parameter of a model that is not linear, without a finite estimate.
pub(super) fn runs_away(runaway: &Runaway, confidence: f64) -> Warning {
    let finding = Finding::Runaway { runaway: runaway.clone(), confidence };
    Warning::new(finding, [Remedy::FixParameter, Remedy::BoundParameter, Remedy::LimitingModel])
}
