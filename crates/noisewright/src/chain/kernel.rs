//! One step of a chain, whatever its moves.

use nalgebra::DMatrix;
use noisewright_numerics::random::Stream;

use super::coordinates::Coordinates;
use super::hamiltonian::Hamiltonian;
use super::random_walk::RandomWalk;
use super::single_site::SingleSite;
use crate::density::log_densities;
use crate::run::CancelToken;
use crate::{ChainFault, Density, Error, OptionFault, Result, View};

/// Kinds of moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moves {
    /// Hamiltonian where there is a gradient, a random walk on other continuous variables, single sites otherwise.
    #[default]
    Auto,
    /// Random-walk Metropolis in all variables at once, with their covariance.
    RandomWalk,
    /// Hamiltonian Monte Carlo with several step sizes, and slice sampling along lines; needs a gradient.
    Hamiltonian,
    /// One variable after the other: from its conditional over all states (Gibbs) where these are finitely many, by
    /// Metropolis otherwise.
    SingleSite,
}

impl Moves {
    /// All of them, by the names under which people ask for them.
    const NAMES: [(&'static str, Self); 4] = [
        ("auto", Self::Auto),
        ("random-walk", Self::RandomWalk),
        ("hamiltonian", Self::Hamiltonian),
        ("single-site", Self::SingleSite),
    ];
}

impl std::fmt::Display for Moves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = Self::NAMES.iter().find(|(_, moves)| moves == self).map_or("auto", |(name, _)| name);
        f.write_str(name)
    }
}

impl std::str::FromStr for Moves {
    type Err = Error;

    /// From its name.
    ///
    /// ```
    /// use noisewright::chain::Moves;
    /// assert_eq!("random-walk".parse::<Moves>()?, Moves::RandomWalk);
    /// assert!("walk".parse::<Moves>().is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    fn from_str(name: &str) -> Result<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, moves)| *moves).ok_or_else(|| {
            let allowed = Self::NAMES.iter().map(|(known, _)| *known).collect();
            let fault = OptionFault::Unknown { allowed, found: name.into() };
            Error::Option { option: "moves".into(), fault }
        })
    }
}

/// A density seen in the coordinates of the chain.
#[derive(Clone, Copy)]
pub(crate) struct Landscape<'a> {
    pub(crate) density: &'a dyn Density,
    pub(crate) coordinates: &'a Coordinates,
    /// Cancels the chains: every look at the density asks it.
    pub(crate) cancel: &'a CancelToken,
}

impl Landscape<'_> {
    /// The log-density of the coordinates; −∞ far beyond anything that can be computed with.
    pub(crate) fn height(&self, y: &[f64]) -> Result<f64> {
        self.cancel.check()?;
        if y.iter().any(|v| v.is_nan() || v.abs() > 1e150) {
            return Ok(f64::NEG_INFINITY);
        }
        let mut x = vec![0.0; y.len()];
        let log_jacobian = self.coordinates.variables(y, &mut x);
        let mut out = [0.0];
        log_densities(self.density, View::new(x.len(), 1, &x), &mut out)?;
        Ok(out[0] + log_jacobian)
    }

    /// The log-density and its gradient in the coordinates; `None` where there is none.
    pub(super) fn slope(&self, y: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        use super::coordinates::Coordinate;
        self.cancel.check()?;
        if y.iter().any(|v| v.is_nan() || v.abs() > 1e150) {
            return Ok(Some(f64::NEG_INFINITY));
        }
        let mut x = vec![0.0; y.len()];
        let log_jacobian = self.coordinates.variables(y, &mut x);
        let Some(value) = self.density.gradient(&x, gradient)? else { return Ok(None) };
        for ((g, y), coordinate) in gradient.iter_mut().zip(y).zip(&self.coordinates.each) {
            if let Coordinate::Line(chart) = coordinate {
                *g = *g * chart.log_jacobian(*y).exp() + chart.log_jacobian_slope(*y);
            }
        }
        Ok(Some(value + log_jacobian))
    }
}

/// Where a chain is.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    pub(crate) y: Vec<f64>,
    pub(crate) height: f64,
}

/// The moves of one chain with what they have learnt.
#[derive(Clone, Debug)]
pub(crate) enum Kernel {
    RandomWalk(RandomWalk),
    Hamiltonian(Hamiltonian),
    SingleSite(SingleSite),
}

impl Kernel {
    /// The kernel that was asked for, or that suits the density.
    ///
    /// # Errors
    /// When the moves asked for are not possible for the density.
    pub(crate) fn new(moves: Moves, landscape: Landscape<'_>, at: &[f64]) -> Result<Self> {
        let coordinates = landscape.coordinates;
        let dimension = coordinates.dimension();
        let continuous = coordinates.is_continuous();
        let gradient = || -> Result<bool> {
            let mut gradient = vec![0.0; dimension];
            Ok(continuous && !coordinates.sphere && landscape.slope(at, &mut gradient)?.is_some())
        };
        let refuse = |fault: ChainFault| Err(Error::Chain(fault));
        Ok(match moves {
            Moves::Auto if coordinates.sphere => Self::RandomWalk(RandomWalk::new(dimension, true)),
            Moves::Auto if gradient()? => Self::Hamiltonian(Hamiltonian::new(dimension)),
            Moves::Auto if continuous => Self::RandomWalk(RandomWalk::new(dimension, false)),
            Moves::Auto => Self::SingleSite(SingleSite::new(dimension)),
            Moves::RandomWalk if continuous => {
                Self::RandomWalk(RandomWalk::new(dimension, coordinates.sphere))
            }
            Moves::RandomWalk => {
                return refuse(ChainFault::WalkNeedsContinuous);
            }
            Moves::Hamiltonian if gradient()? => Self::Hamiltonian(Hamiltonian::new(dimension)),
            Moves::Hamiltonian => {
                return refuse(ChainFault::HamiltonianNeedsGradient);
            }
            Moves::SingleSite if coordinates.sphere => {
                return refuse(ChainFault::SingleSiteOnSphere);
            }
            Moves::SingleSite => Self::SingleSite(SingleSite::new(dimension)),
        })
    }

    /// What kind of moves it makes.
    pub(crate) fn moves(&self) -> Moves {
        match self {
            Self::RandomWalk(_) => Moves::RandomWalk,
            Self::Hamiltonian(_) => Moves::Hamiltonian,
            Self::SingleSite(_) => Moves::SingleSite,
        }
    }

    /// One step; with a positive `gain` the step size learns from it. Returns the probability of acceptance.
    pub(crate) fn step(
        &mut self,
        landscape: Landscape<'_>,
        walker: &mut Walker,
        stream: &mut Stream,
        gain: f64,
    ) -> Result<f64> {
        match self {
            Self::RandomWalk(kernel) => kernel.step(landscape, walker, stream, gain),
            Self::Hamiltonian(kernel) => kernel.step(landscape, walker, stream, gain),
            Self::SingleSite(kernel) => kernel.step(landscape, walker, stream, gain),
        }
    }

    /// Takes the shape of its moves from a sample of the coordinates, one vector per point.
    pub(crate) fn shape(&mut self, sample: &[Vec<f64>]) {
        match self {
            Self::RandomWalk(kernel) => kernel.shape(sample),
            Self::Hamiltonian(kernel) => kernel.shape(sample),
            Self::SingleSite(kernel) => kernel.shape(sample),
        }
    }

    /// Takes the curves that it moves along, if it moves along any, from points that are as good as draws of the density: the way
    /// of a chain that is still on its way looks like a curve too, and leads farther off.
    pub(crate) fn bend(&mut self, sample: &[Vec<f64>]) {
        if let Self::Hamiltonian(kernel) = self {
            kernel.bend(sample);
        }
    }
}

/// The probability of accepting a change of the log-density; none at all where there is no telling.
pub(super) fn acceptance(change: f64) -> f64 {
    if change.is_nan() { 0.0 } else { change.exp().min(1.0) }
}

/// The Cholesky factor of the covariance of a sample; `None` where a coordinate does not vary.
pub(super) fn covariance_factor(sample: &[Vec<f64>]) -> Option<DMatrix<f64>> {
    let dimension = sample.first()?.len();
    let center: Vec<(f64, f64)> = (0..dimension).map(|j| moments(sample, j)).collect();
    if center.iter().any(|(_, variance)| !(*variance > 0.0 && variance.is_finite())) {
        return None;
    }
    // Few points say little of covariances: they are shrunk towards the diagonal.
    let trust = sample.len() as f64 / (sample.len() as f64 + 5.0 * dimension as f64);
    let covariance = DMatrix::from_fn(dimension, dimension, |i, j| {
        if i == j {
            return center[i].1;
        }
        let products = sample.iter().map(|y| (y[i] - center[i].0) * (y[j] - center[j].0));
        trust * products.sum::<f64>() / sample.len() as f64
    });
    covariance.cholesky().map(|factor| factor.l())
}

/// Mean and variance of one coordinate of a sample.
pub(super) fn moments(sample: &[Vec<f64>], axis: usize) -> (f64, f64) {
    let count = sample.len() as f64;
    let mean = sample.iter().map(|y| y[axis]).sum::<f64>() / count;
    (mean, sample.iter().map(|y| (y[axis] - mean).powi(2)).sum::<f64>() / count)
}
