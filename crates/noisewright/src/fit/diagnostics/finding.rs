//! What a warning has found, with its numbers, and its sentence.

use std::fmt;

use super::runaway::Runaway;
use super::separation::DivergingParameter;
use super::{ChiSquareTest, NotNormalizable, Stop, WarningKind};
use crate::Error;
use crate::text::digits;
use crate::tolerance::{FEWEST_EFFECTIVE_ROWS, HEAVY_TAIL, NO_VARIANCE};

/// What the data are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Against {
    /// Noise.
    Noise,
    /// A second sample.
    Sample,
    /// All points of the domain: maximum likelihood.
    Domain,
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Noise => "noise",
            Self::Sample => "second sample",
            Self::Domain => "whole domain",
        })
    }
}

/// What was found. It is serialized as its numbers alone, beside the warning's code.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Finding {
    /// Nothing limits some parameters.
    Separation {
        /// The parameters that run to infinity.
        running: Vec<DivergingParameter>,
        /// Data rows on which their direction is not zero.
        data_rows: usize,
        /// Rows of the other side on which it is not.
        noise_rows: usize,
        /// What the data are compared with.
        against: Against,
    },
    /// The loss does not rise however large a parameter becomes.
    Runaway {
        /// The parameter, and where the likelihood ratio rejects it.
        #[serde(flatten)]
        runaway: Runaway,
        /// The confidence of that.
        confidence: f64,
    },
    /// The fitted density has no integral.
    NotNormalizable(NotNormalizable),
    /// Too few points could be of either side.
    NoOverlap {
        /// Their expected number.
        confused: f64,
        /// What the data are compared with.
        against: Against,
    },
    /// The densities overlap little.
    LittleOverlap {
        /// By how much, between 0 and 1.
        overlap: f64,
        /// What the data are compared with.
        against: Against,
    },
    /// The overlap holds too few rows for so many unknowns.
    FewRowsInOverlap {
        /// Their effective number.
        rows: f64,
        /// The number of unknowns.
        unknowns: usize,
        /// What the data are compared with.
        against: Against,
    },
    /// The rows of Markov chains are worth too few independent ones.
    FewEffectiveRows {
        /// How many.
        rows: f64,
    },
    /// All rows belong to one cluster.
    OneCluster {},
    /// The clusters are so few that the errors of what is skewed are too small.
    FewClusters {
        /// How many clusters of one size they are worth.
        clusters: f64,
    },
    /// The ratio of the densities has a heavy tail.
    TailShape {
        /// Its Pareto shape.
        pareto_k: f64,
        /// Whether the loss bounds what that does.
        bounded: bool,
        /// What the data are compared with.
        against: Against,
    },
    /// Data where hardly any noise is expected.
    OutOfReach {
        /// How many.
        points: f64,
        /// The largest logarithm of the ratio of densities.
        largest_log_ratio: f64,
        /// What the data are compared with.
        against: Against,
    },
    /// The weights of the loss at the data have a heavy tail.
    WeightShape {
        /// The loss.
        loss: String,
        /// The tail's shape.
        shape: f64,
    },
    /// The weights of the loss leave too few rows for so many unknowns.
    FewWeightedRows {
        /// The loss.
        loss: String,
        /// As many rows with equal weights would have the same error.
        rows: f64,
        /// The number of unknowns.
        unknowns: usize,
    },
    /// The weights of the loss have no finite variance at the fitted model.
    InfiniteVariance {
        /// The loss.
        loss: String,
    },
    /// The model's mass is elsewhere.
    UnseenMass {
        /// The fitted constant.
        estimate: f64,
        /// log Z of the fitted model by integration.
        log_z: f64,
    },
    /// The search for a maximum of the likelihood ended without one.
    NoMaximum {
        /// Why it ended.
        stop: Stop,
        /// After how many steps.
        iterations: usize,
    },
    /// The likelihood rises up to where the density ceases to integrate.
    RisingLikelihood {
        /// The variable, where it can be told.
        variable: Option<String>,
        /// The end of its domain.
        towards: String,
    },
    /// The search ended before its time.
    NotConverged {
        /// Why it ended.
        stop: Stop,
        /// After how many steps.
        iterations: usize,
    },
    /// More than one minimum.
    SeveralOptima {
        /// How many were found.
        count: usize,
    },
    /// An estimate at its bound.
    AtBound {
        /// The parameter.
        parameter: String,
        /// The bound.
        bound: f64,
        /// Whether it is the lower one.
        lower: bool,
    },
    /// The data want a parameter beyond the end of the family.
    BeyondFamily {
        /// The parameter.
        parameter: String,
        /// Where the family ends.
        bound: f64,
        /// Whether that is its lower end.
        lower: bool,
        /// The family.
        family: String,
    },
    /// The information-matrix test rejects the model.
    Misspecified(ChiSquareTest),
    /// Four times as much noise gives another answer.
    RatioMatters {
        /// The ratio of the fit.
        nu: f64,
        /// The test that the two agree.
        test: ChiSquareTest,
    },
    /// The noise causes most of an error.
    NoiseError {
        /// The parameter.
        parameter: String,
        /// The share of its variance that comes from the noise.
        share: f64,
    },
    /// The noise could not be fitted again.
    NotRefitted {
        /// Why not.
        error: Error,
    },
    /// Quiet noise has another number of points than was asked for.
    RoundedNoise {
        /// How many were asked for.
        asked: usize,
        /// How many were drawn.
        drawn: usize,
        /// In so many independent scrambles.
        replicates: usize,
    },
    /// Quiet noise of a conditional model has another number of points for every row than was asked for.
    RoundedChoices {
        /// How many were asked for.
        asked: usize,
        /// How many were drawn.
        drawn: usize,
    },
    /// No optimal noise could be designed, because it failed.
    NotDesigned {
        /// Why not.
        error: Error,
    },
    /// No optimal noise could be designed, because the pilot fit has no answer.
    NoPilot {
        /// What was found of the pilot.
        pilot: Box<Finding>,
    },
    /// The lasso selected the parameters, which leaves no standard errors.
    SelectedByLasso {
        /// How many are not zero.
        selected: usize,
        /// λ.
        strength: f64,
    },
    /// The standard errors of shrunken estimates leave their bias out.
    BiasLeftOut {
        /// λ.
        strength: f64,
    },
    /// The standard errors of a refit take the selection as given.
    AfterSelection {
        /// How many parameters were selected.
        selected: usize,
    },
}

impl Finding {
    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> WarningKind {
        self.class().0
    }

    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.class().1
    }

    fn class(&self) -> (WarningKind, &'static str) {
        use WarningKind as Kind;
        match self {
            Self::Separation { .. } => (Kind::Separation, "separation"),
            Self::Runaway { .. } => (Kind::Runaway, "runaway"),
            Self::NotNormalizable { .. } => (Kind::NotNormalizable, "not-normalizable"),
            Self::NoOverlap { .. } => (Kind::NoOverlap, "no-overlap"),
            Self::LittleOverlap { .. } => (Kind::LittleOverlap, "little-overlap"),
            Self::FewRowsInOverlap { .. } => (Kind::LittleOverlap, "few-rows-in-overlap"),
            Self::FewEffectiveRows { .. } => (Kind::FewEffectiveRows, "few-effective-rows"),
            Self::OneCluster { .. } => (Kind::FewClusters, "one-cluster"),
            Self::FewClusters { .. } => (Kind::FewClusters, "few-clusters"),
            Self::TailShape { .. } => (Kind::LightTails, "tail-shape"),
            Self::OutOfReach { .. } => (Kind::LightTails, "out-of-reach"),
            Self::WeightShape { .. } => (Kind::HeavyWeights, "weight-shape"),
            Self::FewWeightedRows { .. } => (Kind::HeavyWeights, "few-weighted-rows"),
            Self::InfiniteVariance { .. } => (Kind::HeavyWeights, "infinite-variance"),
            Self::UnseenMass { .. } => (Kind::UnseenMass, "unseen-mass"),
            Self::NoMaximum { .. } => (Kind::NoMaximum, "no-maximum"),
            Self::RisingLikelihood { .. } => (Kind::NoMaximum, "rising-likelihood"),
            Self::NotConverged { .. } => (Kind::NotConverged, "not-converged"),
            Self::SeveralOptima { .. } => (Kind::SeveralOptima, "several-optima"),
            Self::AtBound { .. } => (Kind::AtBound, "at-bound"),
            Self::BeyondFamily { .. } => (Kind::BeyondFamily, "beyond-family"),
            Self::Misspecified { .. } => (Kind::Misspecified, "misspecified"),
            Self::RatioMatters { .. } => (Kind::RatioMatters, "ratio-matters"),
            Self::NoiseError { .. } => (Kind::NoiseError, "noise-error"),
            Self::NotRefitted { .. } => (Kind::NotRefitted, "not-refitted"),
            Self::RoundedNoise { .. } => (Kind::RoundedNoise, "rounded-noise"),
            Self::RoundedChoices { .. } => (Kind::RoundedNoise, "rounded-choices"),
            Self::NotDesigned { .. } => (Kind::NotOptimal, "not-designed"),
            Self::NoPilot { .. } => (Kind::NotOptimal, "no-pilot"),
            Self::SelectedByLasso { .. } => (Kind::ErrorsAfterPenalty, "selected-by-lasso"),
            Self::BiasLeftOut { .. } => (Kind::ErrorsAfterPenalty, "bias-left-out"),
            Self::AfterSelection { .. } => (Kind::ErrorsAfterPenalty, "after-selection"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Separation { .. } | Self::Runaway { .. } | Self::NotNormalizable { .. } => {
                f.write_str(&self.runaway())
            }
            Self::NoOverlap { .. }
            | Self::LittleOverlap { .. }
            | Self::FewRowsInOverlap { .. }
            | Self::TailShape { .. }
            | Self::OutOfReach { .. }
            | Self::WeightShape { .. }
            | Self::FewWeightedRows { .. }
            | Self::InfiniteVariance { .. }
            | Self::UnseenMass { .. }
            | Self::NoiseError { .. } => self.about_noise(f),
            _ => self.about_search(f),
        }
    }
}

impl Finding {
    /// What runs to infinity.
    fn runaway(&self) -> String {
        match self {
            Self::Separation { running, data_rows, noise_rows, against } => {
                let arrows = running.iter().map(arrow).collect::<Vec<_>>().join(", ");
                let reason = separated(running, [*data_rows, *noise_rows], *against);
                format!("there is no finite estimate: {arrows}: {reason}")
            }
            Self::Runaway { runaway, confidence } => {
                let (infinity, side) =
                    if runaway.sign > 0 { ("∞", "at least") } else { ("−∞", "at most") };
                let bound = runaway.limit.map_or_else(String::new, |limit| {
                    format!(
                        "; with {} % confidence it is {side} {}",
                        digits(100.0 * confidence),
                        digits(limit)
                    )
                });
                let name = &runaway.name;
                format!(
                    "there is no finite estimate: `{name}` → {infinity}: the loss does not rise however large it \
                     becomes{bound}"
                )
            }
            Self::NotNormalizable(found) => {
                format!(
                    "the fitted model is no probability: its density does not fall fast enough {}",
                    place(found)
                )
            }
            _ => String::new(),
        }
    }

    /// What data and noise have in common.
    fn about_noise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOverlap { confused, against } => write!(
                f,
                "nothing can be said: data and {against} hardly overlap, only {} points of both together could as well \
                 be of the other",
                digits(*confused)
            ),
            Self::LittleOverlap { overlap, against } => {
                write!(f, "data and {against} overlap by {} %", digits(100.0 * overlap))
            }
            Self::FewRowsInOverlap { rows, unknowns, against } => write!(
                f,
                "data and {against} overlap in no more than {} rows, too few for {unknowns} unknowns: the estimates are \
                 biased by as much as their errors",
                digits(rows.round())
            ),
            Self::TailShape { pareto_k, bounded, against } => {
                write!(
                    f,
                    "the {against} has lighter tails than the data: the ratio of their densities has the tail shape {} \
                     (above {HEAVY_TAIL}), so that ",
                    digits(*pareto_k)
                )?;
                match bounded {
                    true => f.write_str("data in the tails say little"),
                    false => write!(f, "the estimates rest on a few points of the {against}"),
                }
            }
            Self::OutOfReach { points, largest_log_ratio, against } => write!(
                f,
                "the {against} has lighter tails than the data: {} data points are where hardly any {against} is \
                 expected, the farthest with a ratio of densities of e^{}",
                digits(*points),
                digits(largest_log_ratio.round())
            ),
            _ => self.about_weights(f),
        }
    }

    /// What the weights of the loss, and the noise's own error, do to the estimates.
    fn about_weights(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WeightShape { loss, shape } => write!(
                f,
                "the weights of the loss {loss} at the data have the tail shape {} (above {NO_VARIANCE}: no \
                 variance), so that a few rows decide and the standard errors are too small",
                digits(*shape)
            ),
            Self::FewWeightedRows { loss, rows, unknowns } => write!(
                f,
                "the weights of the loss {loss} leave no more than {} rows, too few for {unknowns} unknowns: the estimates \
                 are biased, and their standard errors too small",
                digits(rows.round())
            ),
            Self::InfiniteVariance { loss } => write!(
                f,
                "against this noise the loss {loss} has no finite variance at the fitted model: rare rows decide, and \
                 the standard errors are too small"
            ),
            Self::UnseenMass { estimate, log_z } => write!(
                f,
                "by integration log Z of the fitted model is {log_z:.4}, not {estimate:.4}: most of its mass lies where \
                 there are neither data nor noise, so that it describes the data only where they are"
            ),
            Self::NoiseError { parameter, share } => {
                let percent = digits((100.0 * share).round());
                write!(f, "{percent} % of the variance of `{parameter}` comes from the noise")
            }
            _ => Ok(()),
        }
    }

    /// How the search ended.
    fn about_search(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMaximum { stop, iterations } => write!(
                f,
                "no maximum of the likelihood was found: the search {stop} after {iterations} steps"
            ),
            Self::RisingLikelihood { variable, towards } => {
                let place = variable.as_ref().map(|v| format!(" in `{v}`")).unwrap_or_default();
                write!(
                    f,
                    "no maximum of the likelihood was found: it still rises where the density all but ceases to \
                     integrate towards {towards}{place}"
                )
            }
            Self::NotConverged { stop, iterations } => {
                write!(f, "the search for the best parameters {stop} after {iterations} steps")
            }
            Self::SeveralOptima { count } => {
                write!(f, "the loss has {count} minima, of which the lowest was taken")
            }
            Self::AtBound { parameter, bound, lower } => write!(
                f,
                "`{parameter}` is at its {} bound {}, so that its standard error means nothing",
                if *lower { "lower" } else { "upper" },
                digits(*bound)
            ),
            Self::BeyondFamily { parameter, bound, family, .. } => write!(
                f,
                "the data want `{parameter}` beyond {bound}, where the family {family} ends, so that there is no estimate \
                 inside it"
            ),
            _ => self.about_rows(f),
        }
    }

    /// What tests say, and rows that are too few or depend on one another too much.
    fn about_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misspecified(test) => write!(
                f,
                "the model does not fit the data: the two forms of its information differ more than by chance (χ² = {} \
                 with {} degrees of freedom, p = {})",
                digits(test.statistic),
                test.degrees_of_freedom,
                digits(test.p_value)
            ),
            Self::RatioMatters { nu, test } => write!(
                f,
                "the estimates at ν = {} and at four times as much noise differ more than by chance (χ² = {}, p = {}), \
                 which they do not when the model is right",
                digits(*nu),
                digits(test.statistic),
                digits(test.p_value)
            ),
            Self::FewEffectiveRows { rows } => write!(
                f,
                "the chains are worth {} independent rows, and fewer than {FEWEST_EFFECTIVE_ROWS} say nothing about \
                 their own error",
                digits(rows.floor())
            ),
            Self::OneCluster {} => {
                f.write_str("all rows belong to one cluster, so that there is no standard error")
            }
            Self::FewClusters { clusters } => write!(
                f,
                "the clusters are worth {} of one size: intervals for means hold, but those of 95 % for variances and others \
                 whose clusters are skewed held 83 to 93 % in simulations",
                digits(*clusters)
            ),
            _ => self.about_method(f),
        }
    }

    /// What was done otherwise than asked for, and what a penalty does to errors.
    fn about_method(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRefitted { error } => write!(f, "the noise was not fitted again to its draws: {error}"),
            Self::RoundedNoise { asked, drawn, replicates } => write!(
                f,
                "{drawn} quiet noise points were drawn instead of {asked}: each of the {replicates} scrambles has a power of \
                 two of them"
            ),
            Self::RoundedChoices { asked, drawn } => write!(
                f,
                "{drawn} quiet noise points of every row were drawn instead of {asked}: with the row they are a net, which has a \
                 power of two of points"
            ),
            Self::NotDesigned { error } => write!(f, "no optimal noise could be designed: {error}"),
            Self::NoPilot { pilot } => write!(f, "no optimal noise could be designed: {pilot}"),
            Self::SelectedByLasso { selected, strength } => write!(
                f,
                "there are no standard errors: the lasso (λ = {}) chose by the same data which {} not zero and shrank {} \
                 distribution is neither normal nor centred on the truth",
                digits(*strength),
                if *selected == 1 { "parameter is".to_owned() } else { format!("{selected} parameters are") },
                if *selected == 1 { "it, so that its" } else { "them, so that their" },
            ),
            Self::BiasLeftOut { strength } => write!(
                f,
                "the standard errors are those of the shrunken estimates around what they tend to: the bias of the ridge \
                 penalty (λ = {}) is not in them, and intervals need not cover the truth",
                digits(*strength)
            ),
            Self::AfterSelection { selected } => write!(
                f,
                "the standard errors take the choice of {} as given, though the same data made \
                 it: they are too small as statements about parameters that might not have been chosen",
                if *selected == 1 {
                    "this parameter".to_owned()
                } else {
                    format!("these {selected} parameters")
                }
            ),
            _ => Ok(()),
        }
    }
}

fn arrow(running: &DivergingParameter) -> String {
    format!("`{}` → {}", running.name, if running.sign > 0 { "∞" } else { "−∞" })
}

fn range([low, high]: [f64; 2]) -> String {
    if low == high { digits(low) } else { format!("between {} and {}", digits(low), digits(high)) }
}

/// Why parameters run off.
fn separated(running: &[DivergingParameter], rows: [usize; 2], against: Against) -> String {
    match (running, against) {
        ([only], Against::Domain) => format!(
            "the mean of its statistic over the data is {}, at the edge of its range on the {against}, {}",
            range(only.data_range),
            range(only.noise_range)
        ),
        (_, Against::Domain) => {
            "the means of the statistics over the data are on the border of what the model can give".into()
        }
        ([only], _) => format!(
            "its statistic is {} on the data and {} on the {against}, so that no row speaks against it",
            range(only.data_range),
            range(only.noise_range)
        ),
        _ => format!(
            "in this direction no row speaks against it, and {} rows of the data and {} of the {against} speak for it",
            rows[0], rows[1]
        ),
    }
}

/// Where a density does not fall.
fn place(found: &NotNormalizable) -> String {
    match (&found.variable, &found.direction) {
        (Some(variable), _) => format!("towards {} in `{variable}`", found.towards),
        (None, Some(direction)) => {
            let list: Vec<String> = direction.iter().map(|d| digits(*d)).collect();
            format!("along the direction ({}) of the variables", list.join(", "))
        }
        (None, None) => format!("towards {}", found.towards),
    }
}
