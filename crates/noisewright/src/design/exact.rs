//! The exact optimal noise at a given ν (MATH §6): fill, move, certify.

use super::anderson::Mixing;
use super::criterion::{Criterion, Sensitivity};
use super::dual_maximum;
use super::limits::all_noise_ratio;
use crate::moments::Moments;
use crate::{DesignFault, Error, Result};

/// Most moves from one start.
const MOST_STEPS: usize = 2000;

/// Relative gain of a move below which the moments are near enough to be solved for.
const GOOD_START: f64 = 1e-9;

/// Most steps of solving for the moments.
const POLISHING: usize = 60;

/// Relative certified gap at which a search ends.
const CLOSE_ENOUGH: f64 = 1e-12;

/// Relative gap up to which the fixed point counts as found.
const GOOD_GAP: f64 = 1e-9;

/// Largest relative gap of a noise that is still called optimal, with its gap.
const LARGEST_GAP: f64 = 1e-2;

/// Relative rounding of the derivatives that gaps are made of.
const ROUNDING: f64 = 1e-14;

/// An optimal noise on the points of a criterion.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OptimalNoise {
    /// `tr(ΣM)`; times (1 + ν)/T it is the error.
    pub value: f64,
    /// Noise points per data point.
    pub nu: f64,
    /// `p_n / p_d` at the points.
    pub ratio: Vec<f64>,
    /// `a(x)`, which with μ gives the noise everywhere: `p_n/p_d = [√(ν a/μ) − 1]₊ / ν`.
    pub sensitivity: Sensitivity,
    /// The multiplier μ.
    pub multiplier: f64,
    /// Relative gap: no noise can be better by more than this share. Certified when the problem is convex.
    pub gap: f64,
    /// What the value and the mass were off, relatively, on another and finer rule; `None` where there was none.
    pub rule_error: Option<f64>,
    /// Whether the problem is convex, so that the optimum is global and the gap is a certificate.
    pub convex: bool,
    /// Number of distinct stationary points that the starts led to.
    pub stationary_points: usize,
    /// Moves made from the start that won.
    pub steps: usize,
}

/// Minimises over all noises at a given ν, from several starts where the problem is not convex.
///
/// # Errors
/// When the scores are collinear or no start leads anywhere.
pub(crate) fn optimal_noise(
    criterion: &Criterion<'_>,
    nu: f64,
    warm: Option<&[f64]>,
) -> Result<OptimalNoise> {
    let convex = criterion.population().has_constant();
    if criterion.is_free_of_error() {
        return equal_to_data(criterion, nu);
    }
    let starts = match warm {
        // A ratio from other points integrates to one there, not here.
        Some(ratio) => vec![criterion.normalize(ratio.to_vec())?],
        None if convex => vec![vec![1.0; criterion.points()]],
        None => starts(criterion)?,
    };
    let mut found: Vec<OptimalNoise> = Vec::new();
    let mut failure = Error::NoOverlap;
    for start in starts {
        criterion.check_run()?;
        match descend(criterion, nu, start) {
            Ok(result) if !found.iter().any(|known| same(criterion, known, &result)) => found.push(result),
            Ok(_) => {}
            Err(error) => failure = error,
        }
    }
    // A start that was cut short may look like one that led nowhere.
    criterion.check_run()?;
    let distinct = found.len();
    let best = found.into_iter().min_by(|a, b| a.value.total_cmp(&b.value)).ok_or(failure)?;
    Ok(OptimalNoise { stationary_points: distinct, convex, ..best })
}

/// p_n = p_d gives a constant that no parameter moves free of error (MATH §4).
fn equal_to_data(criterion: &Criterion<'_>, nu: f64) -> Result<OptimalNoise> {
    let sensitivity = criterion.at_whole(&vec![1.0; criterion.points()], nu)?.sensitivity;
    let noise = filled_noise(criterion, nu, sensitivity, 0).ok_or(Error::NoOverlap)?;
    Ok(OptimalNoise { value: 0.0, gap: 0.0, convex: true, ..noise })
}

/// A noise that has shrunk to fewer places than there are points to see it with.
pub(super) fn too_concentrated(nu: f64) -> Error {
    Error::Design(DesignFault::TooConcentrated { nu })
}

/// Two stationary points are one when their values and their noises agree.
fn same(criterion: &Criterion<'_>, a: &OptimalNoise, b: &OptimalNoise) -> bool {
    let distance: f64 =
        a.ratio.iter().zip(&b.ratio).zip(&criterion.weights).map(|((x, y), q)| q * (x - y).abs()).sum();
    (a.value - b.value).abs() <= 1e-6 * a.value && distance < 1e-2
}

/// The starts of MATH §6.3: p_d, the all-noise limit, each half-space of each score, the neighbourhoods of the
/// all-data points.
fn starts(criterion: &Criterion<'_>) -> Result<Vec<Vec<f64>>> {
    let population = criterion.population();
    let mut starts = vec![vec![1.0; criterion.points()], all_noise_ratio(criterion)?];
    for coordinate in 0..population.coordinates().len() {
        let score = population.score_of(coordinate);
        for sign in [1.0, -1.0] {
            let half = score.iter().map(|s| if s * sign > 0.0 { 1.0 } else { 0.02 }).collect();
            starts.push(criterion.normalize(half)?);
        }
        for sign in [1.0, -1.0] {
            starts.push(near_all_data(criterion, score, sign)?);
        }
    }
    Ok(starts)
}

/// Mass around the largest `p_d ψ²` on one side of a score (MATH §5), over a little of everything.
fn near_all_data(criterion: &Criterion<'_>, score: &[f64], sign: f64) -> Result<Vec<f64>> {
    let log_density = criterion.population().log_density();
    let height = |i: usize| {
        if score[i] * sign > 0.0 { log_density[i] + 2.0 * score[i].abs().ln() } else { f64::NEG_INFINITY }
    };
    let top = (0..score.len()).map(height).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return Ok(vec![1.0; score.len()]);
    }
    criterion.normalize((0..score.len()).map(|i| 0.02 + (4.0 * (height(i) - top)).exp()).collect())
}

/// From one start: fill at the present sensitivities, move there as far as it helps, until little is gained; then
/// solve for the few numbers that the optimum is known up to.
fn descend(criterion: &Criterion<'_>, nu: f64, mut ratio: Vec<f64>) -> Result<OptimalNoise> {
    let mut state = criterion.at_whole(&ratio, nu)?;
    let mut steps = 0;
    while steps < MOST_STEPS {
        steps += 1;
        let sensitivities = criterion.sensitivities(&state.sensitivity);
        let (filled, _) = fill(&criterion.weights, &sensitivities, nu).ok_or(Error::NoOverlap)?;
        let gradient = criterion.gradient(&sensitivities, &ratio, nu);
        let Some((next, next_state)) = line_search(criterion, nu, &ratio, &filled, &state, &gradient) else {
            break;
        };
        let gain = state.value - next_state.value;
        (ratio, state) = (next, next_state);
        if gain <= GOOD_START * state.value.abs() {
            break;
        }
    }
    let start = criterion.moments(&ratio, nu);
    let polished = polish(criterion, nu, start.clone(), steps);
    if !criterion.population().has_constant() || polished.as_ref().is_some_and(|p| p.gap <= GOOD_GAP) {
        return polished.ok_or(Error::NoOverlap);
    }
    let by_dual = dual_maximum::maximize(criterion, nu, &start)
        .and_then(|sensitivity| filled_noise(criterion, nu, sensitivity, steps));
    let smaller_gap = |a: &OptimalNoise, b: &OptimalNoise| a.gap.total_cmp(&b.gap);
    let best = polished.into_iter().chain(by_dual).min_by(smaller_gap).ok_or(Error::NoOverlap)?;
    // What a mixture reached on the way and the formula misses by far is no optimum. A gap may be large where it is
    // nothing but the rounding of the constant's share.
    let rounding = ROUNDING * (1.0 + 1.0 / nu) * criterion.constant_target() / best.value;
    let large = best.gap.is_nan() || best.gap > LARGEST_GAP + rounding;
    if best.value > (1.0 + LARGEST_GAP + rounding) * state.value || large {
        return Err(too_concentrated(nu));
    }
    Ok(best)
}

/// The fixed point of moments → noise → moments by Anderson's mixing, keeping the noise of the smallest gap.
///
/// The noise that the moments give is a formula in the score, known everywhere, which the mixtures on the way to it
/// were not.
fn polish(criterion: &Criterion<'_>, nu: f64, start: Moments, steps: usize) -> Option<OptimalNoise> {
    let mut mixing = Mixing::new(&start);
    let mut moments = start;
    let mut best: Option<OptimalNoise> = None;
    for step in 0..POLISHING {
        let Ok(state) = criterion.at_moments(&moments, nu) else { break };
        let Some(filled) = filled_noise(criterion, nu, state.sensitivity, steps + step) else { break };
        let (gap, next) = (filled.gap, criterion.moments(&filled.ratio, nu));
        let worse = best.as_ref().is_some_and(|b| gap > 1e3 * b.gap);
        if best.as_ref().is_none_or(|b| gap < b.gap) {
            best = Some(filled);
        }
        if worse || gap <= CLOSE_ENOUGH {
            break;
        }
        moments = mixing.next(&moments, &next);
    }
    best
}

/// The noise that sensitivities give, with its value and gap.
fn filled_noise(
    criterion: &Criterion<'_>,
    nu: f64,
    sensitivity: Sensitivity,
    steps: usize,
) -> Option<OptimalNoise> {
    let (ratio, multiplier) = fill(&criterion.weights, &criterion.sensitivities(&sensitivity), nu)?;
    let state = criterion.at_whole(&ratio, nu).ok()?;
    let gap = relative_gap(criterion, &state.sensitivity, state.value, &ratio, nu);
    Some(OptimalNoise {
        value: state.value,
        nu,
        ratio,
        sensitivity,
        multiplier,
        gap,
        rule_error: None,
        convex: false,
        stationary_points: 1,
        steps,
    })
}

/// `[√(ν a/μ) − 1]₊ / ν` with the μ that makes it integrate to one.
///
/// In `s = 1/√μ` the mass is convex and piecewise linear, so Newton from above ends after finitely many steps.
pub(super) fn fill(weights: &[f64], sensitivities: &[f64], nu: f64) -> Option<(Vec<f64>, f64)> {
    let roots: Vec<f64> = sensitivities.iter().map(|a| (nu * a.max(0.0)).sqrt()).collect();
    let total: f64 = weights.iter().zip(&roots).map(|(q, b)| q * b).sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let mut s = (1.0 + nu) / total;
    for _ in 0..200 {
        let (mut mass, mut slope) = (-nu, 0.0);
        for (q, b) in weights.iter().zip(&roots) {
            if s * b > 1.0 {
                mass += q * (s * b - 1.0);
                slope += q * b;
            }
        }
        let next = s - mass / slope;
        if next.is_nan() || next >= s || s - next <= 1e-15 * s {
            break;
        }
        s = next;
    }
    let ratio = roots.iter().map(|b| (s * b - 1.0).max(0.0) / nu).collect();
    Some((ratio, 1.0 / (s * s)))
}

/// `(∫ G p_n − min G) / V` of MATH §6.2: what any noise could still gain, by convexity.
fn relative_gap(
    criterion: &Criterion<'_>,
    sensitivity: &Sensitivity,
    value: f64,
    ratio: &[f64],
    nu: f64,
) -> f64 {
    let gradient = criterion.gradient(&criterion.sensitivities(sensitivity), ratio, nu);
    let mean: f64 = gradient.iter().zip(ratio).zip(&criterion.weights).map(|((g, h), q)| g * h * q).sum();
    let least = gradient.iter().copied().fold(f64::INFINITY, f64::min);
    ((mean - least) / value).max(0.0)
}

type Moved = (Vec<f64>, super::criterion::State);

/// The best of a full step, the step that a parabola suggests, and halvings of it.
fn line_search(
    criterion: &Criterion<'_>,
    nu: f64,
    from: &[f64],
    to: &[f64],
    state: &super::criterion::State,
    gradient: &[f64],
) -> Option<Moved> {
    let slope: f64 = (0..from.len()).map(|i| criterion.weights[i] * gradient[i] * (to[i] - from[i])).sum();
    let moved = |t: f64| -> Option<Moved> {
        let next: Vec<f64> = from.iter().zip(to).map(|(a, b)| a + t * (b - a)).collect();
        let state = criterion.at_whole(&next, nu).ok()?;
        state.value.is_finite().then_some((next, state))
    };
    let full = moved(1.0);
    let curvature = full.as_ref().map_or(f64::INFINITY, |f| f.1.value - state.value - slope);
    let mut t = (-0.5 * slope / curvature).clamp(1e-3, 1.0);
    let mut best = full.filter(|f| f.1.value < state.value);
    for _ in 0..40 {
        if t < 1.0
            && let Some(tried) = moved(t)
            && tried.1.value < best.as_ref().map_or(state.value, |b| b.1.value)
        {
            best = Some(tried);
        }
        if best.is_some() {
            return best;
        }
        t *= 0.3;
    }
    None
}
