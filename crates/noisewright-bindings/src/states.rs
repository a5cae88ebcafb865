//! Many states: where pooled draws come from, and the surfaces that are asked for.

use noisewright::internal::normalizer::NamedEquilibrations;
use noisewright::normalizer::Dependence;
use noisewright::normalizer::states::{self, Origin, Pooled, StatesOptions, SurfaceOptions};
use noisewright::parts::{Bins, Reweighting, Smoothing, SurfaceReference};
use noisewright_report::Value;
use serde::Deserialize;

use crate::normalizer::{dependence, dependence_word};
use crate::{Failure, Monitor, Outcome, value};

/// Where pooled draws come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct Pool {
    /// How many draws of each state there are, one state after the other,
    pub counts: Option<Vec<usize>>,
    /// or the state of each draw.
    pub origin: Option<Vec<usize>>,
    /// Lengths of the chains.
    pub chains: Option<Vec<usize>>,
    /// The state whose log Z is known,
    pub reference: usize,
    /// and what it is.
    pub reference_log_z: f64,
    /// The draws are independent.
    pub independent: bool,
    /// The names of the states.
    pub names: Vec<String>,
}

impl Pool {
    fn dependence(&self) -> Dependence {
        dependence(self.independent)
    }

    /// The library's options.
    ///
    /// # Errors
    /// Chains of independent draws.
    pub fn options(&self, monitor: &Monitor) -> Outcome<StatesOptions> {
        let dependence = self.dependence();
        dependence.check_chains(self.chains.is_some())?;
        Ok(StatesOptions {
            reference: self.reference,
            reference_log_z: self.reference_log_z,
            dependence,
            cancel: monitor.cancel.clone(),
            progress: None,
            more: noisewright::internal::More,
        })
    }

    /// The draws, as the library takes them: `columns` are the log-densities of one state each.
    ///
    /// # Errors
    /// Nothing that says where draws come from.
    pub fn pooled<'a>(&'a self, columns: &'a [&'a [f64]]) -> Outcome<Pooled<'a>> {
        let origin = match (&self.counts, &self.origin) {
            (Some(counts), _) => Origin::Counts(counts),
            (None, Some(rows)) => Origin::Rows(rows),
            (None, None) => return Err(Failure::Input("`counts` or `origin` is missing".into())),
        };
        Ok(Pooled { log_f: columns, origin, chains: self.chains.as_deref() })
    }

    /// The draws with their weights under every state.
    ///
    /// # Errors
    /// Those of the library's call that it makes.
    pub fn reweight<'a>(&'a self, columns: &'a [&'a [f64]], monitor: &Monitor) -> Outcome<Reweighting<'a>> {
        Ok(states::reweight(&self.pooled(columns)?, &self.options(monitor)?)?)
    }
}

/// Log-normalizers of many states from pooled draws.
///
/// # Errors
/// Those of the library's call that it makes.
pub fn log_z_states(columns: &[&[f64]], pool: &Pool, monitor: &Monitor) -> Outcome<Value> {
    let answer = states::estimate(&pool.pooled(columns)?, &pool.options(monitor)?)?;
    let mut shown = value(&answer.with_names(&pool.names))?;
    shown.set("dependence", dependence_word(pool.dependence()));
    Ok(shown)
}

/// The same for every state with the next one, from the draws of the two alone.
///
/// # Errors
/// Those of the library.
pub fn log_z_neighbours(columns: &[&[f64]], pool: &Pool, monitor: &Monitor) -> Outcome<Vec<Value>> {
    let steps = states::neighbours(&pool.pooled(columns)?, &pool.options(monitor)?)?;
    let named = steps.iter().zip(pool.names.windows(2));
    named
        .map(|(step, names)| {
            let mut shown = value(&step.with_names(names))?;
            shown.set("dependence", dependence_word(pool.dependence()));
            Ok(shown)
        })
        .collect()
}

/// Where every chain has come to equilibrium.
///
/// # Errors
/// Those of the library's call that it makes.
pub fn equilibration(columns: &[&[f64]], pool: &Pool, monitor: &Monitor) -> Outcome<Value> {
    let chains = pool.reweight(columns, monitor)?.equilibration()?;
    value(&NamedEquilibrations { chains: &chains, names: &pool.names })
}

/// The cells, the smoothing and the reference of a surface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct Cells {
    /// How many cells there are along each coordinate,
    pub counts: Vec<usize>,
    /// or their edges.
    pub edges: Vec<Vec<f64>>,
    /// By kernels instead of a histogram,
    pub kernel: bool,
    /// of these bandwidths.
    pub bandwidths: Option<Vec<f64>>,
    /// By splines, so many along each coordinate; as many as serve best where the list is empty,
    pub splines: Option<Vec<usize>>,
    /// of this degree.
    pub degree: usize,
    /// Zero is where the density is one,
    pub normalized: bool,
    /// or at this point; otherwise at the lowest place.
    pub point: Option<Vec<f64>>,
}

impl Cells {
    /// The library's options.
    #[must_use]
    pub fn options(self) -> SurfaceOptions {
        let counts = self.counts.into_iter().map(Bins::Count);
        let smoothing = match self.splines {
            Some(counts) => {
                Smoothing::Spline { counts: Some(counts).filter(|c| !c.is_empty()), degree: self.degree }
            }
            None if self.kernel => Smoothing::Kernel { bandwidths: self.bandwidths },
            None => Smoothing::Histogram,
        };
        let reference = match self.point {
            Some(point) => SurfaceReference::Point(point),
            None if self.normalized => SurfaceReference::Normalized,
            None => SurfaceReference::Lowest,
        };
        SurfaceOptions {
            bins: counts.chain(self.edges.into_iter().map(Bins::Edges)).collect(),
            smoothing,
            reference,
            more: noisewright::internal::More,
        }
    }
}
