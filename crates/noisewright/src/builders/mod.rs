//! One builder for every job: what is asked, said call by call, and `run`, which checks it and does it.
//!
//! | call | gives |
//! |---|---|
//! | [`Model::fit`](crate::Model::fit) | [`Fit`](crate::Fit) |
//! | [`Model::design`](crate::Model::design) | [`Design`](crate::design::Design) |
//! | [`Model::error`](crate::Model::error) | [`ErrorReport`](crate::ErrorReport) |
//! | [`ratio`](crate::ratio()) | [`DensityRatio`](crate::fit::DensityRatio) |
//! | [`information`](crate::information()) | [`MutualInformation`](crate::fit::MutualInformation) |
//! | [`log_z`](crate::log_z()) | [`LogZ`](crate::normalizer::LogZ) |
//! | [`states`](crate::states()) | [`StatesEstimate`](crate::normalizer::states::StatesEstimate) |
//! | [`evidence`](crate::evidence()) | [`Evidence`](crate::normalizer::Evidence) |
//! | [`path`](crate::path()) | [`PathEstimate`](crate::normalizer::PathEstimate) |
//! | [`chains`](crate::chains()) | [`Chains`](crate::chain::Chains) |
//!
//! The options structs ([`FitOptions`](crate::fit::FitOptions) …) are what the builders fill; `options` takes one as it is.

pub(crate) mod chains;
mod design;
mod error;
pub(crate) mod evidence;
mod fit;
pub(crate) mod log_z;
pub(crate) mod path;
pub(crate) mod ratio;
mod settings;
pub(crate) mod states;
mod threads;

pub use chains::ChainsBuilder;
pub use design::DesignBuilder;
pub use error::ErrorBuilder;
pub use evidence::EvidenceBuilder;
pub use fit::FitBuilder;
pub use log_z::LogZBuilder;
pub use path::PathBuilder;
pub use ratio::{InformationBuilder, RatioBuilder};
pub use states::StatesBuilder;

use noisewright_numerics::parallel::try_map;

use crate::density::log_densities;
use crate::fit::{Data, Dependence};
use crate::run::CancelToken;
use crate::{Density, Error, Result, View};

/// Points evaluated at a time by one thread.
const BLOCK: usize = 4096;

/// The log-density of all points, −∞ where there is none.
fn evaluated(density: &dyn Density, points: View<'_>, cancel: &CancelToken) -> Result<Vec<f64>> {
    let mut out = vec![f64::NAN; points.rows()];
    try_map(out.chunks_mut(BLOCK).enumerate(), |(block, out)| {
        cancel.check()?;
        let start = block * BLOCK;
        log_densities(density, points.slice(start..start + out.len()), out)
    })?;
    Ok(out)
}

/// The lengths of the chains that draws are; draws have no weights and no clusters.
fn chain_lengths(draws: Data<'_>) -> Result<Option<&[usize]>> {
    let refuse = |option: &'static str| {
        Err(Error::option(option, "cannot be given here: draws count once each, alone or in chains"))
    };
    if draws.weights.is_some() {
        return refuse("weights");
    }
    match draws.dependence {
        Dependence::Independent => Ok(None),
        Dependence::Chains(lengths) => Ok(Some(lengths)),
        Dependence::Clusters(_) => refuse("clusters"),
    }
}
