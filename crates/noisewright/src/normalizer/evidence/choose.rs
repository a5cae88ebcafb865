//! The noise fitted to one half of the draws, of a given kind or of the kind that overlaps best with the other half.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::super::{Dependence, Draws, LogZOptions, log_z_of_draws};
use super::half_ratios::{Drawn, Problem, Stage};
use super::halves::Half;
use crate::noise::{Elliptical, Warped, fit_normal_mixture};
use crate::{Error, MultivariateNormal, Noise, Result, View, fit_auto};

/// Components of a mixture, at most.
const COMPONENTS: usize = 5;
/// Draws of each side on which a kind is tried.
const TRIED: usize = 2000;
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
        f.write_str(NAMES.iter().find(|(_, kind)| kind == self).map_or("auto", |(name, _)| name))
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
pub(super) fn fit(kind: NoiseKind, problem: &Problem<'_>, points: View<'_>) -> Result<Fitted> {
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
        NoiseKind::Product | NoiseKind::Auto => (fit_auto(problem.space, points, None)?, None),
    };
    Ok(Fitted { kind, noise, mirror })
}

/// The noise asked for, fitted to the first half; the kind is chosen by what each has in common with the second.
pub(super) fn choose(problem: &Problem<'_>, kind: NoiseKind, halves: &[Half; 2]) -> Result<Fitted> {
    let mut storage = Vec::new();
    let points = halves[0].points(problem.points(), &mut storage);
    let fitted = |kind| problem.named(fit(kind, problem, points));
    check_kind(problem, kind)?;
    if !problem.is_mapped() {
        return fitted(NoiseKind::Product);
    }
    if kind != NoiseKind::Auto {
        return fitted(kind);
    }
    let mut best = fitted(NoiseKind::Normal)?;
    let mut overlap = overlap(problem, &best, &halves[1])?;
    for kind in [NoiseKind::Student, NoiseKind::Warped, NoiseKind::Mixture] {
        if kind != NoiseKind::Student && overlap > GOOD {
            break;
        }
        if kind == NoiseKind::Mixture && problem.is_symmetric() {
            continue;
        }
        // What a kind cannot be fitted to is no candidate.
        let Ok(candidate) = fitted(kind) else { continue };
        let common = self::overlap(problem, &candidate, &halves[1])?;
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
    if problem.is_symmetric() && matches!(own, NoiseKind::Mixture | NoiseKind::Product) {
        return refuse(
            own,
            "has no centre to be symmetric about: leave out symmetrize, or choose normal, student or warped",
        );
    }
    Ok(())
}

/// The overlap of a noise with the density, from some draws of each.
fn overlap(problem: &Problem<'_>, fitted: &Fitted, other: &Half) -> Result<f64> {
    let rows = other.thinned(TRIED);
    let data = problem.selected(fitted, &rows)?;
    let noise = problem.noise_side(fitted, Drawn::Independently(TRIED), Stage::Trial)?;
    let options = LogZOptions { dependence: Dependence::Independent, ..LogZOptions::default() };
    let result = log_z_of_draws(
        Draws::new(&data.log_f, &data.log_noise),
        Draws::new(&noise.log_f, &noise.log_noise),
        &options,
    )?;
    Ok(result.overlap)
}
