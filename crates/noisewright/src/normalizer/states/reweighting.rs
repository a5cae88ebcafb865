//! Draws of several states reweighted to any of them: expectations, surfaces, energies and entropies.

use serde::Serialize;

use super::chains::Chain;
use super::covariance::{Gram, Heavy};
use super::equilibration::{self, Equilibration};
use super::expectations::{Expectations, Observable, estimate as expectations};
use super::influence::{Joint, joint};
use super::problem::Problem;
use super::result::StatesEstimate;
use super::surface::{self, Coordinate, Surface, SurfaceOptions};
use super::unsampled::log_mixture;
use super::{Order, Pooled, StatesOptions, solved};
use crate::run::Context;
use crate::{Error, Result};

/// The log-normalizers of all states with the draws they came from, so that every state's expectations are at hand.
///
/// A state without draws is as good as any other: give its log-densities among the others, and 0 as its number of draws.
///
/// ```
/// use noisewright::normalizer::states::{Observable, Origin, Pooled, StatesOptions, reweight};
/// // Draws of N(0, 1), and the state N(0.5, 1), of which there are none.
/// let draws = noisewright::sample(&noisewright::Normal::with_std(0.0, 1.0)?, 2000, 1);
/// let x = draws.view().column(0);
/// let narrow: Vec<f64> = x.iter().map(|x| -x * x / 2.0).collect();
/// let moved: Vec<f64> = x.iter().map(|x| -(x - 0.5).powi(2) / 2.0).collect();
/// let pooled = Pooled { log_f: &[&narrow, &moved], origin: Origin::Counts(&[2000, 0]), chains: None };
/// let options = StatesOptions { dependence: noisewright::normalizer::Dependence::Independent, ..StatesOptions::default() };
/// let reweighting = reweight(&pooled, &options)?;
/// let mean = reweighting.expectations(&[Observable::new("x", x, 1)])?;
/// assert!((mean.values()[0] - 0.5).abs() < 4.0 * mean.se()[0]);
/// # Ok::<(), noisewright::Error>(())
/// ```
pub struct Reweighting<'a> {
    pub(super) pooled: Pooled<'a>,
    pub(super) options: StatesOptions,
    /// Of what follows, which ends with the token of the options and tells nobody.
    pub(super) context: Context,
    pub(super) order: Order,
    /// State of each draw, in the solver's order of the states.
    pub(super) origin: Vec<u32>,
    pub(super) counts: Vec<f64>,
    pub(super) offsets: Vec<f64>,
    pub(super) c: Vec<f64>,
    /// Of all states, in the solver's order and without the constant of the reference.
    pub(super) log_z: Vec<f64>,
    pub(super) gram: Gram,
    /// None for independent draws.
    pub(super) chains: Vec<Chain>,
    pub(super) estimate: StatesEstimate,
}

impl std::fmt::Debug for Reweighting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reweighting").field("estimate", &self.estimate).finish_non_exhaustive()
    }
}

/// Solves for the log-normalizers as [`estimate`](super::estimate) does, and keeps the draws for what follows.
///
/// ```
/// use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, reweight};
/// let (first, second) = ([0.0; 40], [3f64.ln(); 40]);
/// let pooled = Pooled { log_f: &[&first, &second], origin: Origin::Counts(&[20, 20]), chains: None };
/// let found = reweight(&pooled, &StatesOptions::default())?;
/// assert!((found.estimate().log_z()[1] - 3f64.ln()).abs() < 1e-12);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As [`estimate`](super::estimate).
pub fn reweight<'a>(pooled: &Pooled<'a>, options: &StatesOptions) -> Result<Reweighting<'a>> {
    Ok(solved(pooled, options, false)?.0)
}

/// Mean energies and entropies of all states relative to the reference, see [`Reweighting::energies`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Energies {
    /// `⟨u_k⟩_k − ⟨u_r⟩_r`.
    pub energy: Vec<f64>,
    /// Its standard error.
    pub energy_se: Vec<f64>,
    /// `⟨u_k⟩_k − ⟨u_r⟩_r + log Z_k − log Z_r`.
    pub entropy: Vec<f64>,
    /// Its standard error.
    pub entropy_se: Vec<f64>,
}

impl<'a> Reweighting<'a> {
    /// The log-normalizers.
    #[must_use]
    pub fn estimate(&self) -> &StatesEstimate {
        &self.estimate
    }

    /// The log-normalizers alone.
    #[must_use]
    pub fn into_estimate(self) -> StatesEstimate {
        self.estimate
    }

    /// Means of observables under states, `Σ_n W_nk A(x_n)`, with their joint covariance.
    ///
    /// The errors are those of the delta method on the estimating equations of all states: `A` under a state is one more
    /// unknown beside the log-normalizers, with the estimating function `W_nk (A(x_n) − ⟨A⟩_k)`. For independent draws they
    /// are the errors of Shirts and Chodera (2008), and for chains they know the autocorrelation of that observable.
    ///
    /// # Errors
    /// When an observable has not one finite value for every draw, or there is no such state.
    pub fn expectations(&self, observables: &[Observable<'_>]) -> Result<Expectations> {
        expectations(self, observables)
    }

    /// The free energy along one or two coordinates under a state, `−ln p(ξ)`: a potential of mean force.
    ///
    /// There are one or two coordinates. Umbrella windows are unbiased by asking for the state
    /// without a bias, which may be one without draws.
    ///
    /// # Errors
    /// When a coordinate has not one finite value for every draw, there are more than two coordinates, edges do not increase,
    /// no draw lies within them, or the state has no weight at any draw.
    pub fn surface(
        &self,
        coordinates: &[Coordinate<'_>],
        state: usize,
        options: &SurfaceOptions,
    ) -> Result<Surface> {
        surface::estimate(self, coordinates, state, options)
    }

    /// The normalized weights of all draws under a state: `Σ_n W_nk A(x_n)` is the mean of A under it.
    ///
    /// # Errors
    /// When there is no such state, or it was cancelled.
    pub fn weights(&self, state: usize) -> Result<Vec<f64>> {
        self.weights_at(&self.log_mixture()?, self.place(state)?)
    }

    /// Mean reduced energies `u = −log f` and entropies `u − f` with `f = −log Z`, relative to the reference: with reduced
    /// potentials for log-densities, enthalpies and entropies in units of kT and k.
    ///
    /// # Errors
    /// When a state has density zero at draws of another, so that its energy is not finite there, or it was cancelled.
    pub fn energies(&self) -> Result<Energies> {
        let log_mixture = self.log_mixture()?;
        let states = self.log_z.len();
        let reference = self.columns_of_state(&log_mixture, self.estimate.reference())?;
        let mut found = Energies {
            energy: Vec::new(),
            energy_se: Vec::new(),
            entropy: Vec::new(),
            entropy_se: Vec::new(),
        };
        for k in 0..states {
            let own = self.columns_of_state(&log_mixture, k)?;
            let energy = own.energy - reference.energy;
            let log_ratio = self.estimate.difference(self.estimate.reference(), k).0;
            let of_energy: Vec<f64> =
                own.of_energy.iter().zip(&reference.of_energy).map(|(a, b)| a - b).collect();
            let of_log_z = own.of_log_z.iter().zip(&reference.of_log_z).map(|(a, b)| a - b);
            let of_entropy: Vec<f64> = of_energy.iter().zip(of_log_z).map(|(a, b)| a + b).collect();
            let error = |column: Vec<f64>| -> Result<f64> {
                Ok(self.joint(&[k, self.estimate.reference()], &[&column])?.se(0))
            };
            found.energy.push(energy);
            found.entropy.push(energy + log_ratio);
            found.energy_se.push(error(of_energy)?);
            found.entropy_se.push(error(of_entropy)?);
        }
        Ok(found)
    }

    /// Where every chain has come to equilibrium, and how many of its draws are worth an independent one from there on.
    ///
    /// # Errors
    /// When it was cancelled.
    pub fn equilibration(&self) -> Result<Vec<Equilibration>> {
        equilibration::of_chains(self)
    }

    fn columns_of_state(&self, log_mixture: &[f64], state: usize) -> Result<OfState> {
        let place = self.place(state)?;
        let weights = self.weights_at(log_mixture, place)?;
        let column = self.column(place);
        // A density of zero has no weight, and no say.
        let energies = |n: usize| if weights[n] > 0.0 { -column[n] } else { 0.0 };
        let energy: f64 = (0..weights.len()).map(|n| weights[n] * energies(n)).sum();
        let draws = weights.len() as f64;
        Ok(OfState {
            energy,
            of_energy: (0..weights.len()).map(|n| weights[n] * (energies(n) - energy)).collect(),
            of_log_z: weights.iter().map(|w| w - 1.0 / draws).collect(),
        })
    }

    pub(super) fn draws(&self) -> usize {
        self.origin.len()
    }

    /// Where a state of the caller's stands.
    pub(super) fn place(&self, state: usize) -> Result<usize> {
        let states = self.order.place.len();
        self.order.place.get(state).copied().ok_or(Error::Shape {
            what: "states",
            expected: state + 1,
            found: states,
        })
    }

    fn column(&self, place: usize) -> &'a [f64] {
        self.order.column(&self.pooled, place)
    }

    pub(super) fn problem(&self) -> Problem<'_> {
        Problem {
            columns: self.order.sampled.iter().map(|k| self.pooled.log_f[*k]).collect(),
            counts: self.counts.clone(),
            offsets: self.offsets.clone(),
            origin: &self.origin,
            context: &self.context,
        }
    }

    pub(super) fn log_mixture(&self) -> Result<Vec<f64>> {
        log_mixture(&self.problem(), &self.c)
    }

    /// `W_nk` of all draws for the state at a place, rescaled to the sum 1 that rounding leaves it close to.
    pub(super) fn weights_at(&self, log_mixture: &[f64], place: usize) -> Result<Vec<f64>> {
        let log_z = self.log_z[place];
        if log_z == f64::NEG_INFINITY {
            let reason = "has a state with density zero at all draws, of which nothing is known";
            return Err(Error::option("state", reason));
        }
        let pairs = self.column(place).iter().zip(log_mixture);
        let mut weights: Vec<f64> = pairs.map(|(value, mixture)| ((value - mixture) - log_z).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        Ok(weights)
    }

    /// What is wrong with the weights of the state at a place, if they cannot be trusted.
    pub(super) fn heavy(&self, place: usize) -> Option<Heavy> {
        self.gram.heavy(place)
    }

    /// The joint error of sums over all draws; infinite where the states they rest on are not one group.
    pub(super) fn joint(&self, states: &[usize], columns: &[&[f64]]) -> Result<Joint> {
        let group = self.sampled_group(states);
        if group.is_empty() { Ok(Joint::unknown(columns.len())) } else { joint(self, &group, columns, true) }
    }

    /// The errors of sums over all draws that rest on one state, without their covariance.
    pub(super) fn separately(&self, state: usize, columns: &[&[f64]]) -> Result<Vec<f64>> {
        let group = self.sampled_group(&[state]);
        if group.is_empty() {
            return Ok(vec![f64::INFINITY; columns.len()]);
        }
        let joint = joint(self, &group, columns, false)?;
        Ok((0..columns.len()).map(|i| joint.se(i)).collect())
    }

    /// The places of the states with draws in the group that all of some states are in; none if they are in several.
    fn sampled_group(&self, states: &[usize]) -> Vec<usize> {
        let all = |group: &&Vec<usize>| states.iter().all(|state| group.contains(state));
        let group = self.estimate.groups().iter().find(all);
        let places = group.into_iter().flatten().map(|k| self.order.place[*k]);
        places.filter(|at| *at < self.counts.len()).collect()
    }
}

/// What the error of a state's energy and log-normalizer is made of, draw by draw.
struct OfState {
    energy: f64,
    of_energy: Vec<f64>,
    of_log_z: Vec<f64>,
}
