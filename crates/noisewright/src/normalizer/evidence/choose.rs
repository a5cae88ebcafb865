//! The noise fitted to one half of the draws, of a given kind or of the kind that overlaps best with the other half.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::super::{Dependence, Draws, LogZOptions, log_z_of_draws};
use super::EvidenceOptions;
use super::half_ratios::{Drawn, Problem, Stage};
use super::halves::Half;
use crate::noise::{Elliptical, Warped, fit_normal_mixture};
use crate::{Error, MultivariateNormal, Noise, Result, View, fit_auto};

/// Components of a mixture, at most.
const COMPONENTS: usize = 5;
/// Draws of each side on which a kind is tried.
const TRIED: usize = 2000;
/// Where evaluations are limited, at most this part of them goes to each kind,
const TRIED_SHARE: usize = 40;
/// and at least so many.
const FEWEST_TRIED: usize = 100;
/// Draws of a half that kinds are fitted to by search where evaluations are limited, for then it is the fit that costs.
const SEARCHED: usize = 10_000;
/// Overlap with which the simple kinds are good enough for the costly ones not to be tried.
const GOOD: f64 = 0.95;
/// A more complicated kind must remove this share of what does not overlap.
const WORTH: f64 = 0.2;

/// The kind of noise that is fitted to half of the draws, after all variables are mapped to the real line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoiseKind {
    /// Normal with the mean and covariance of the draws.
    Normal,
    /// Student with the degrees of freedom of highest likelihood.
    Student,
    /// A mixture of up to five normal distributions.
    Mixture,
    /// Every variable mapped to a normal one by a sinh-arcsinh map, then normal or Student.
    Warped,
    /// Independent variables, each by the kind of its domain: for counts, states and directions.
    Product,
    /// What a function of the caller's fits: see [`EvidenceOptions::noise_fitter`](super::EvidenceOptions::noise_fitter).
    Own,
    /// The simplest of the others that overlaps well with the other half of the draws (default).
    #[default]
    Auto,
}

/// Names as they are typed, in the order in which they are tried.
const NAMES: [(&str, NoiseKind); 6] = [
    ("normal", NoiseKind::Normal),
    ("student", NoiseKind::Student),
    ("mixture", NoiseKind::Mixture),
    ("warped", NoiseKind::Warped),
    ("product", NoiseKind::Product),
    ("auto", NoiseKind::Auto),
];

impl fmt::Display for NoiseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, kind)| kind == self).map_or("own", |(name, _)| name))
    }
}

impl FromStr for NoiseKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        NAMES.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind).ok_or_else(|| Error::Noise {
            noise: text.to_owned(),
            reason: "evidence takes normal, student, mixture, warped, product or auto".into(),
        })
    }
}

/// A function that fits a noise to points of real vectors, one column for each variable, to which the variables were mapped.
#[derive(Clone)]
pub struct NoiseFitter {
    fit: Arc<FitNoise>,
}

type FitNoise = dyn Fn(View<'_>) -> Result<Arc<dyn Noise>> + Send + Sync;

impl NoiseFitter {
    /// A function of the caller's: it is given about half of the draws, and called once for either half.
    ///
    /// ```
    /// use noisewright::normalizer::NoiseFitter;
    /// use noisewright::parts::EvidenceOptions;
    /// use noisewright::prelude::*;
    /// let draws = sample(&Normal::with_variance(3.0, 4.0)?, 4000, 1);
    /// let f = density(Space::real(&["x"])?, |x: &[f64]| -(x[0] - 3.0).powi(2) / 8.0);
    /// let noise_fitter = Some(NoiseFitter::new(|points| MultivariateNormal::fit(points, None)));
    /// let result = evidence(&f, &draws).options(EvidenceOptions { noise_fitter, ..Default::default() }).run()?;
    /// assert!((result.log_evidence - 0.5 * (4.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * result.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn new<N: Noise + 'static>(fit: impl Fn(View<'_>) -> Result<N> + Send + Sync + 'static) -> Self {
        Self { fit: Arc::new(move |points| Ok(Arc::new(fit(points)?) as Arc<dyn Noise>)) }
    }

    fn fitted(&self, points: View<'_>) -> Result<Arc<dyn Noise>> {
        let noise = (self.fit)(points)?;
        if noise.dimension() != points.columns() {
            let (expected, found) = (points.columns(), noise.dimension());
            return Err(Error::Shape { what: "variables of the fitted noise", expected, found });
        }
        Ok(noise)
    }
}

impl fmt::Debug for NoiseFitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoiseFitter")
    }
}

/// A fitted noise with its mirror, where it has one.
#[derive(Clone)]
pub(super) struct Fitted {
    pub(super) kind: NoiseKind,
    pub(super) noise: Arc<dyn Noise>,
    pub(super) mirror: Option<Mirror>,
}

/// A map that leaves the noise as it is and turns every point to the other side of its centre.
#[derive(Clone)]
pub(super) enum Mirror {
    /// `2·center − y`.
    About(Vec<f64>),
    /// The same behind the maps of the variables.
    Warped(Arc<Warped>),
}

impl Mirror {
    /// Writes the images of points, column-major.
    pub(super) fn reflect(&self, points: View<'_>, out: &mut [f64]) {
        match self {
            Self::Warped(noise) => noise.reflect(points, out),
            Self::About(center) => {
                for ((j, center), out) in center.iter().enumerate().zip(out.chunks_mut(points.rows().max(1)))
                {
                    out.iter_mut().zip(points.column(j)).for_each(|(o, y)| *o = 2.0 * center - y);
                }
            }
        }
    }
}

/// A noise of one kind, fitted to points.
fn fit(
    kind: NoiseKind,
    problem: &Problem<'_>,
    points: View<'_>,
    own: Option<&NoiseFitter>,
) -> Result<Fitted> {
    let (noise, mirror): (Arc<dyn Noise>, Option<Mirror>) = match kind {
        NoiseKind::Normal => {
            let normal = MultivariateNormal::fit(points, None)?;
            let mirror = Mirror::About(normal.mean().to_vec());
            (Arc::new(normal), Some(mirror))
        }
        NoiseKind::Student => {
            let student = Elliptical::fit_likelihood("student", points)?;
            let mirror = Mirror::About(student.location().to_vec());
            (Arc::new(student), Some(mirror))
        }
        NoiseKind::Mixture => (Arc::new(fit_normal_mixture(points, COMPONENTS)?), None),
        NoiseKind::Warped => {
            let warped = Arc::new(Warped::fit(points)?);
            (warped.clone(), Some(Mirror::Warped(warped)))
        }
        NoiseKind::Own => {
            let own = own
                .ok_or_else(|| Error::option("noise", "is one of your own, and `noise_fitter` is missing"))?;
            (own.fitted(points)?, None)
        }
        NoiseKind::Product | NoiseKind::Auto => (fit_auto(problem.space, points, None)?, None),
    };
    Ok(Fitted { kind, noise, mirror })
}

/// A noise of one kind, fitted to one of the halves.
pub(super) fn fit_half(
    kind: NoiseKind,
    problem: &Problem<'_>,
    halves: &[Half; 2],
    half: usize,
    options: &EvidenceOptions,
) -> Result<Fitted> {
    let by_search = matches!(kind, NoiseKind::Student | NoiseKind::Warped | NoiseKind::Mixture);
    let most = if by_search && options.evaluations.is_some() { SEARCHED } else { usize::MAX };
    let mut storage = Vec::new();
    let points = problem.training(half, halves, most, &mut storage);
    problem.named(fit(kind, problem, points, options.noise_fitter.as_ref()))
}

/// The noise asked for, fitted to the first half; the kind is chosen by what each has in common with the second.
pub(super) fn choose(problem: &Problem<'_>, halves: &[Half; 2], options: &EvidenceOptions) -> Result<Fitted> {
    let kind = if options.noise_fitter.is_some() { NoiseKind::Own } else { options.noise };
    let fitted = |kind| fit_half(kind, problem, halves, 0, options);
    check_kind(problem, kind)?;
    if !problem.is_mapped() {
        return fitted(NoiseKind::Product);
    }
    if kind != NoiseKind::Auto {
        return fitted(kind);
    }
    let tried = options.evaluations.map_or(TRIED, |most| TRIED.min((most / TRIED_SHARE).max(FEWEST_TRIED)));
    let overlap_of = |fitted: &Fitted| overlap(problem, fitted, &halves[1], tried);
    let mut best = fitted(NoiseKind::Normal)?;
    let mut overlap = overlap_of(&best)?;
    for kind in [NoiseKind::Student, NoiseKind::Warped, NoiseKind::Mixture] {
        // Where evaluations are dear, a better noise is worth the time it takes to fit one.
        if kind != NoiseKind::Student && overlap > GOOD && options.evaluations.is_none() {
            break;
        }
        if kind == NoiseKind::Mixture && problem.is_symmetric() {
            continue;
        }
        // What a kind cannot be fitted to is no candidate.
        let Ok(candidate) = fitted(kind) else { continue };
        let common = overlap_of(&candidate)?;
        if 1.0 - common < (1.0 - WORTH) * (1.0 - overlap) {
            (best, overlap) = (candidate, common);
        }
    }
    Ok(best)
}

/// Refuses a kind that the variables, or a mirror image, cannot have.
fn check_kind(problem: &Problem<'_>, kind: NoiseKind) -> Result<()> {
    let refuse = |noise: NoiseKind, reason: &str| {
        Err(Error::Noise { noise: noise.to_string(), reason: reason.into() })
    };
    let general = matches!(kind, NoiseKind::Auto | NoiseKind::Product);
    if !problem.is_mapped() && !general {
        return refuse(
            kind,
            "is for continuous variables; counts, states and directions take product or auto",
        );
    }
    let own = if problem.is_mapped() { kind } else { NoiseKind::Product };
    if problem.is_symmetric() && matches!(own, NoiseKind::Mixture | NoiseKind::Product | NoiseKind::Own) {
        return refuse(
            own,
            "has no centre to be symmetric about: leave out symmetrize, or choose normal, student or warped",
        );
    }
    Ok(())
}

/// The overlap of a noise with the density, from some draws of each.
fn overlap(problem: &Problem<'_>, fitted: &Fitted, other: &Half, tried: usize) -> Result<f64> {
    let rows = other.thinned(tried);
    let data = problem.selected(fitted, &rows)?;
    let noise = problem.noise_side(fitted, Drawn::Independently(tried), Stage::Trial)?;
    let options = LogZOptions { dependence: Dependence::Independent, ..LogZOptions::default() };
    let result = log_z_of_draws(
        Draws::new(&data.log_f, &data.log_noise),
        Draws::new(&noise.log_f, &noise.log_noise),
        &options,
    )?;
    Ok(result.overlap)
}
