//! The best weights of a dictionary of densities: the criterion of MATH §6 on a simplex.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{LbfgsOptions, lbfgs};

use super::Ratio;
use super::criterion::Criterion;
use super::exact::optimal_noise;
use super::proportion::{Prices, best_ratio_from};
use crate::{Error, Method, Population, Result};

/// Relative gap within the dictionary at which a search ends.
const CLOSE_ENOUGH: f64 = 1e-9;

/// The same on a sample, whose own error is far larger.
const CLOSE_ENOUGH_ON_SAMPLE: f64 = 1e-4;

/// Weights below this are zero while the others are polished.
const VANISHED: f64 = 1e-10;

/// Newton steps at the end, and weights up to which they are taken: each costs two looks per weight.
const MOST_NEWTON_STEPS: usize = 4;
const MOST_ACTIVE: usize = 24;

/// Step of differences of the derivatives, as a share of a weight: the cube root of their rounding.
const DIFFERENCE: f64 = 1e-4;

/// Largest logarithm of a ratio: beyond it the weight w is 1 to rounding, and products must not overflow.
const LARGEST_LOG_RATIO: f64 = 300.0;

/// Densities `c_k`, known by their ratios `c_k / p_d` at the points of a population.
pub(super) enum Dictionary {
    /// Any densities, one column of ratios each.
    Dense { ratios: Vec<f64>, rows: usize },
    /// Densities on disjoint pieces: the piece that a point lies in, if any, and the ratio there.
    Pieces { piece: Vec<Option<usize>>, ratio: Vec<f64>, count: usize },
}

impl Dictionary {
    /// From the log-densities of the components at the population's points, one column each.
    pub(super) fn dense(population: &Population, log_densities: &[Vec<f64>]) -> Self {
        let log_data = population.log_density();
        let ratio = |(n, d): (&f64, &f64)| safe_ratio(*n, *d);
        let ratios = log_densities.iter().flat_map(|column| column.iter().zip(log_data).map(ratio)).collect();
        Self::Dense { ratios, rows: log_data.len() }
    }

    /// Uniform densities on pieces of the given volumes.
    pub(super) fn pieces(population: &Population, piece: Vec<Option<usize>>, volumes: &[f64]) -> Self {
        let ratio = piece
            .iter()
            .zip(population.log_density())
            .map(|(piece, d)| piece.map_or(0.0, |k| safe_ratio(-volumes[k].ln(), *d)))
            .collect();
        Self::Pieces { piece, ratio, count: volumes.len() }
    }

    /// Number of components.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Dense { ratios, rows } => ratios.len() / (*rows).max(1),
            Self::Pieces { count, .. } => *count,
        }
    }

    /// `h = Σ_k π_k c_k / p_d` at the points.
    pub(super) fn mixture(&self, weights: &[f64]) -> Vec<f64> {
        match self {
            Self::Dense { ratios, rows } => {
                let mut out = vec![0.0; *rows];
                for (column, weight) in ratios.chunks(*rows).zip(weights).filter(|(_, w)| **w > 0.0) {
                    out.iter_mut().zip(column).for_each(|(o, r)| *o += weight * r);
                }
                out
            }
            Self::Pieces { piece, ratio, .. } => {
                piece.iter().zip(ratio).map(|(piece, r)| piece.map_or(0.0, |k| weights[k] * r)).collect()
            }
        }
    }

    /// `Σ_i values_i c_k / p_d` for every component.
    fn gather(&self, values: &[f64]) -> Vec<f64> {
        match self {
            Self::Dense { ratios, rows } => ratios
                .chunks(*rows)
                .map(|column| column.iter().zip(values).map(|(r, v)| r * v).sum())
                .collect(),
            Self::Pieces { piece, ratio, count } => {
                let mut out = vec![0.0; *count];
                for ((piece, r), v) in piece.iter().zip(ratio).zip(values) {
                    if let Some(k) = piece {
                        out[*k] += r * v;
                    }
                }
                out
            }
        }
    }

    /// The weights whose mixture is likeliest under the noise `h p_d`, by a few steps of EM from equal weights.
    fn project(&self, criterion: &Criterion<'_>, ratio: &[f64]) -> Vec<f64> {
        let mut weights = vec![1.0 / self.len() as f64; self.len()];
        for _ in 0..6 {
            let mixture = self.mixture(&weights);
            let shares: Vec<f64> = (0..ratio.len())
                .map(|i| if mixture[i] > 0.0 { criterion.weights[i] * ratio[i] / mixture[i] } else { 0.0 })
                .collect();
            let factors = self.gather(&shares);
            weights.iter_mut().zip(factors).for_each(|(w, f)| *w *= f);
            normalize(&mut weights);
        }
        // A weight that is zero could never grow again.
        let floor = 1e-3 / weights.len() as f64;
        weights.iter_mut().for_each(|w| *w += floor);
        normalize(&mut weights);
        weights
    }
}

/// `p_n / p_d` from the logarithms, held finite.
pub(super) fn safe_ratio(log_noise: f64, log_data: f64) -> f64 {
    if log_noise == f64::NEG_INFINITY { 0.0 } else { (log_noise - log_data).min(LARGEST_LOG_RATIO).exp() }
}

/// Scales to a sum of one; equal weights where there is none.
fn normalize(weights: &mut [f64]) {
    let total: f64 = weights.iter().sum();
    if total > 0.0 && total.is_finite() {
        weights.iter_mut().for_each(|w| *w /= total);
    } else {
        let equal = 1.0 / weights.len() as f64;
        weights.fill(equal);
    }
}

/// The best weights found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BestWeights {
    pub(super) weights: Vec<f64>,
    /// `tr(ΣM)`.
    pub(super) value: f64,
    /// `(Σ π_k g_k − min g_k) / V`: what the dictionary could still gain; a certificate where V is convex.
    pub(super) gap: f64,
    /// Number of distinct stationary points that the starts led to.
    pub(super) stationary_points: usize,
}

/// Minimises the error over the weights of a dictionary at a given ν, or with ν by turns: from all starts at the first
/// two values of ν, then from the best.
///
/// Convex in the weights for models with a free constant, because V is convex in p_n and p_n is linear in them. From
/// several starts otherwise: the exact optimum, p_d, each half-space of each score.
pub(super) fn solve(
    criterion: &Criterion<'_>,
    dictionary: &Dictionary,
    ratio: Ratio,
    prices: Prices,
) -> Result<(f64, BestWeights)> {
    let at = |nu: f64| Task::new(criterion, dictionary, nu);
    let best_nu = |weights: &[f64]| {
        let mixture = dictionary.mixture(weights);
        let error = |nu: f64| Ok(prices.scale(nu) * criterion.at(&mixture, nu)?.value);
        best_ratio_from(error, error)
    };
    let mut nu = match ratio {
        Ratio::Fixed(nu) => return Ok((nu, at(nu).best()?)),
        Ratio::Free => best_nu(&at(1.0).best()?.weights)?.0,
    };
    let mut best = at(nu).best()?;
    for _ in 0..60 {
        let before = prices.scale(nu) * best.value;
        nu = best_nu(&best.weights)?.0;
        let task = at(nu);
        let improved = task.best_from(&[best.weights])?;
        best = BestWeights { stationary_points: best.stationary_points, ..improved };
        if before - prices.scale(nu) * best.value <= 0.01 * task.tolerance * before {
            break;
        }
    }
    Ok((nu, best))
}

/// Mostly one side of each score.
fn half_spaces(criterion: &Criterion<'_>) -> Vec<Vec<f64>> {
    let population = criterion.population();
    let side = |coordinate: usize, sign: f64| {
        let score = population.score_of(coordinate);
        score.iter().map(|s| if s * sign > 0.0 { 1.0 } else { 0.02 }).collect()
    };
    (0..population.coordinates().len()).flat_map(|j| [side(j, 1.0), side(j, -1.0)]).collect()
}

struct Task<'a> {
    criterion: &'a Criterion<'a>,
    dictionary: &'a Dictionary,
    nu: f64,
    /// Relative gap that is small enough.
    tolerance: f64,
}

/// Weights with the value and its derivative in each.
struct Place {
    weights: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl Place {
    /// `Σ π_k g_k`.
    fn mean(&self) -> f64 {
        self.weights.iter().zip(&self.gradient).map(|(w, g)| w * g).sum()
    }

    fn gap(&self) -> f64 {
        let least = self.gradient.iter().copied().fold(f64::INFINITY, f64::min);
        ((self.mean() - least) / self.value).max(0.0)
    }
}

impl<'a> Task<'a> {
    fn new(criterion: &'a Criterion<'a>, dictionary: &'a Dictionary, nu: f64) -> Self {
        let sampled = matches!(criterion.population().accuracy().method, Method::Sample | Method::Sampling);
        let tolerance = if sampled { CLOSE_ENOUGH_ON_SAMPLE } else { CLOSE_ENOUGH };
        Self { criterion, dictionary, nu, tolerance }
    }

    fn best(&self) -> Result<BestWeights> {
        let mut starts = vec![optimal_noise(self.criterion, self.nu, None)?.ratio];
        if !self.criterion.population().has_constant() {
            starts.push(vec![1.0; self.criterion.points()]);
            starts.extend(half_spaces(self.criterion));
        }
        let project = |ratio: &Vec<f64>| self.dictionary.project(self.criterion, ratio);
        self.best_from(&starts.iter().map(project).collect::<Vec<_>>())
    }

    /// `V(π)` and `g_k = Σ_i q_i G_i c_k/p_d`; `None` where the noise tells nothing about some parameter.
    fn look(&self, weights: &[f64]) -> Option<Place> {
        let ratio = self.dictionary.mixture(weights);
        let state = self.criterion.at(&ratio, self.nu).ok()?;
        let sensitivities = self.criterion.sensitivities(&state.sensitivity);
        let mut derivative = self.criterion.gradient(&sensitivities, &ratio, self.nu);
        derivative.iter_mut().zip(&self.criterion.weights).for_each(|(g, q)| *g *= q);
        let gradient = self.dictionary.gather(&derivative);
        let sound = state.value.is_finite() && gradient.iter().all(|g| g.is_finite());
        sound.then(|| Place { weights: weights.to_vec(), value: state.value, gradient })
    }

    fn best_from(&self, starts: &[Vec<f64>]) -> Result<BestWeights> {
        let mut found: Vec<Place> = Vec::new();
        for start in starts {
            if let Some(place) = self.descend(start)
                && !found.iter().any(|known| same(known, &place))
            {
                found.push(place);
            }
        }
        self.criterion.check_run()?;
        let stationary_points = found.len();
        let best = found.into_iter().min_by(|a, b| a.value.total_cmp(&b.value)).ok_or(Error::NoOverlap)?;
        Ok(BestWeights { gap: best.gap(), value: best.value, weights: best.weights, stationary_points })
    }

    /// From one start: multiply towards better weights, then polish those that have not vanished, then let in those
    /// that would help, until none would.
    fn descend(&self, start: &[f64]) -> Option<Place> {
        let mut here = self.multiply(self.look(start)?);
        for _ in 0..30 {
            let before = here.gap();
            here = self.polish(here);
            if here.gap() > self.tolerance {
                here = self.newton(here);
            }
            if here.gap() <= self.tolerance {
                break;
            }
            match self.let_in(&here) {
                Some(next) => here = next,
                None if here.gap() < 0.5 * before => {}
                None => break,
            }
        }
        Some(here)
    }

    /// `π_k ∝ π_k √(−g_k)`, which keeps the weights positive and needs no step length, while it helps.
    fn multiply(&self, mut here: Place) -> Place {
        for _ in 0..12 {
            let steepest = here.gradient.iter().map(|g| -g).fold(0.0, f64::max);
            let factor = |g: &f64| (-g).max(1e-4 * steepest).sqrt();
            let mut weights: Vec<f64> =
                here.weights.iter().zip(&here.gradient).map(|(w, g)| w * factor(g)).collect();
            normalize(&mut weights);
            match self.look(&weights) {
                Some(next) if next.value < here.value => here = next,
                _ => break,
            }
        }
        here
    }

    /// L-BFGS in `s` with `π = s²/‖s‖²` over the weights that have not vanished: a weight that goes to zero does so at
    /// a regular minimum in s, not at infinity as for a softmax.
    fn polish(&self, here: Place) -> Place {
        let active: Vec<usize> = (0..here.weights.len()).filter(|&k| here.weights[k] > VANISHED).collect();
        let weights_of = |s: &[f64]| {
            let size: f64 = s.iter().map(|s| s * s).sum();
            let mut weights = vec![0.0; here.weights.len()];
            active.iter().zip(s).for_each(|(&k, s)| weights[k] = s * s / size);
            weights
        };
        let start: Vec<f64> = active.iter().map(|&k| here.weights[k].sqrt()).collect();
        // The gap is of the order of the square root of what the value still lacks, and more where it is flat.
        let relative_tolerance = (0.01 * self.tolerance * self.tolerance).max(1e-16);
        let options = LbfgsOptions { memory: 40, max_steps: 600, relative_tolerance };
        let least = lbfgs(&start, &options, |s, gradient| {
            let Some(place) = self.look(&weights_of(s)) else { return f64::INFINITY };
            let (mean, size) = (place.mean(), s.iter().map(|s| s * s).sum::<f64>());
            for (j, &k) in active.iter().enumerate() {
                gradient[j] = 2.0 * s[j] * (place.gradient[k] - mean) / size;
            }
            place.value
        });
        let mut weights = weights_of(&least.at);
        weights.iter_mut().filter(|w| **w <= VANISHED).for_each(|w| *w = 0.0);
        normalize(&mut weights);
        match self.look(&weights) {
            Some(polished) if polished.value <= here.value => polished,
            _ => here,
        }
    }

    /// Newton's method for `g_k = λ` over the weights that have not vanished, `Σ π_k = 1`: the values no longer tell places apart
    /// where a gap of 1e-9 is sought, but their derivatives do. The second derivatives are differences, which is enough for steps that
    /// the gap itself judges.
    fn newton(&self, mut here: Place) -> Place {
        for _ in 0..MOST_NEWTON_STEPS {
            let active: Vec<usize> =
                (0..here.weights.len()).filter(|&k| here.weights[k] > VANISHED).collect();
            if active.len() < 2 || active.len() > MOST_ACTIVE {
                return here;
            }
            let next = self.newton_step(&here, &active);
            match next.filter(|next| next.gap() < here.gap()) {
                Some(next) => here = next,
                None => return here,
            }
            if here.gap() <= 0.1 * self.tolerance {
                return here;
            }
        }
        here
    }

    /// One such step, cut where a weight would become negative.
    fn newton_step(&self, here: &Place, active: &[usize]) -> Option<Place> {
        let size = active.len();
        let mut system = DMatrix::zeros(size + 1, size + 1);
        for (column, &k) in active.iter().enumerate() {
            let step = DIFFERENCE * here.weights[k];
            let shifted = |sign: f64| {
                let mut weights = here.weights.clone();
                weights[k] += sign * step;
                self.look(&weights)
            };
            let (ahead, behind) = (shifted(1.0)?, shifted(-1.0)?);
            for (row, &j) in active.iter().enumerate() {
                system[(row, column)] = (ahead.gradient[j] - behind.gradient[j]) / (2.0 * step);
            }
            (system[(size, column)], system[(column, size)]) = (1.0, 1.0);
        }
        let right = DVector::from_fn(size + 1, |row, _| active.get(row).map_or(0.0, |&k| -here.gradient[k]));
        let solved = system.lu().solve(&right)?;
        let room =
            active.iter().zip(solved.iter()).filter(|(_, d)| **d < 0.0).map(|(&k, d)| -here.weights[k] / d);
        let share = room.fold(1.0, f64::min);
        let mut weights = here.weights.clone();
        active.iter().zip(solved.iter()).for_each(|(&k, d)| weights[k] = (weights[k] + share * d).max(0.0));
        normalize(&mut weights);
        self.look(&weights)
    }

    /// Moves some mass to the components outside that would help most, as far as it does.
    fn let_in(&self, here: &Place) -> Option<Place> {
        let mean = here.mean();
        let helps = |k: usize| here.weights[k] <= VANISHED && here.gradient[k] < mean;
        let mut towards: Vec<f64> =
            (0..here.weights.len()).map(|k| if helps(k) { mean - here.gradient[k] } else { 0.0 }).collect();
        if towards.iter().all(|t| *t == 0.0) {
            return None;
        }
        normalize(&mut towards);
        let moved = |share: f64| -> Option<Place> {
            let mix = |(w, t): (&f64, &f64)| (1.0 - share) * w + share * t;
            self.look(&here.weights.iter().zip(&towards).map(mix).collect::<Vec<_>>())
        };
        (1..8)
            .map(|i| 0.3 * 0.1f64.powi(i - 1))
            .find_map(|share| moved(share).filter(|next| next.value < here.value))
    }
}

/// Two stationary points are one when their values and weights agree.
fn same(a: &Place, b: &Place) -> bool {
    let distance: f64 = a.weights.iter().zip(&b.weights).map(|(x, y)| (x - y).abs()).sum();
    (a.value - b.value).abs() <= 1e-6 * a.value.abs() && distance < 1e-2
}
