//! Where the search for a minimum may start: many places looked at on a few rows, the best of them followed a little way.
//!
//! A start far from the data has no gradient to speak of, and a start in the wrong basin leads to the wrong minimum. A few
//! hundred rows tell good places from bad ones at next to no cost, so that hundreds of them can be asked.

use nalgebra::DVector;
use noisewright_numerics::chart::Chart;
use noisewright_numerics::optimize::Problem;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{sigmoid, softplus};
use noisewright_numerics::summation::mean_and_variance;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::evaluate::{ChunkView, ParameterPoint};
use super::loss_terms::Class;
use super::multistart::{self, inside};
use super::objective::Objective;
use super::options::FitOptions;
use super::sample_blocks::{RowSource, SampleBlocks};
use crate::run::{Progress, Purpose, Stage};
use crate::{Model, Parameter, Result};

/// Rows of data and of noise that places are looked at on.
pub(crate) const FEW: (usize, usize) = (256, 512);
/// Places looked at when one parameter after the other is moved, in all.
const SCANNED: usize = 192;
/// Places at random, for every ten starts asked for.
const RANDOM: usize = 64;
/// How many times fewer places are looked at where a call costs more than its rows.
const FEWER: usize = 8;
/// Places that are followed on the few rows, at least.
const FOLLOWED_PLACES: usize = 12;
/// And how many steps.
const FOLLOWED_STEPS: usize = 25;
/// Most parameters of which every two are exchanged, and how many such places are followed.
const MOST_EXCHANGED: usize = 12;
const EXCHANGED: usize = 4;
/// Quantiles of every variable that a parameter may be, in the order in which they are tried.
const QUANTILES: [f64; 7] = [0.5, 0.25, 0.75, 0.1, 0.9, 0.02, 0.98];
/// Share of a loss that is rounding.
const ROUNDING: f64 = 1e-10;
/// Most variables whose quantiles and deviations are tried.
const MOST_VARIABLES: usize = 4;

/// The first start and others, the most promising first, at most `options.starts` together, each with the constant that is best for
/// it on the few rows.
///
/// # Errors
/// When the search is cancelled.
pub(crate) fn places(few: &Objective<'_>, first: &[f64], options: &FitOptions) -> Result<Vec<Vec<f64>>> {
    let screen = Screen { few, hints: Hints::of(few) };
    let mut seen: Vec<(f64, Vec<f64>)> = Vec::new();
    screen.pairs(first, &mut seen);
    screen.scan(first, &mut seen);
    let mut random = Purpose::FitPlaces.stream(options.seed, 0);
    for _ in 0..screen.worth(RANDOM) * options.starts.div_ceil(10) {
        let place = screen.random_place(first, &mut random);
        seen.extend(screen.score(&place).map(|score| (score, place)));
    }
    screen.exchange(first, &mut seen);
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kept = apart(seen, screen.worth(FOLLOWED_PLACES.max(options.starts)));
    if few.curved {
        kept = screen.follow(kept, options)?;
        let mut again = Vec::new();
        if let Some((_, best)) = kept.first() {
            screen.exchange(best, &mut again);
        }
        again.sort_by(|a, b| a.0.total_cmp(&b.0));
        again.truncate(EXCHANGED);
        kept.extend(screen.follow(again, options)?);
        kept.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept = unlike(kept, screen.hints.least_deviation);
    }
    kept.truncate(options.starts.saturating_sub(1));
    let all = std::iter::once(first.to_vec()).chain(kept.into_iter().map(|(_, place)| place));
    Ok(all.map(|place| screen.with_constant(place)).collect())
}

/// The best of those that are near to one another, in order: near is half of a parameter's spread among the better half.
fn apart(sorted: Vec<(f64, Vec<f64>)>, most: usize) -> Vec<(f64, Vec<f64>)> {
    let size = sorted.first().map_or(0, |(_, place)| place.len());
    let better = &sorted[..sorted.len().div_ceil(2)];
    let spread = |j: usize| {
        let values: Vec<f64> = better.iter().map(|(_, place)| place[j]).collect();
        mean_and_variance(&values).1.sqrt()
    };
    let near: Vec<f64> = (0..size).map(|j| 0.5 * spread(j)).collect();
    let alike =
        |a: &[f64], b: &[f64]| a.iter().zip(b).zip(&near).all(|((a, b), near)| (a - b).abs() <= *near);
    let mut kept: Vec<(f64, Vec<f64>)> = Vec::new();
    for (score, place) in sorted {
        if kept.len() < most && !kept.iter().any(|(_, known)| alike(known, &place)) {
            kept.push((score, place));
        }
    }
    kept
}

/// The first of those that are at about the same place with about the same score, in order; `deviation` is a variable's, in whose
/// unit a place may be near zero.
fn unlike(sorted: Vec<(f64, Vec<f64>)>, deviation: f64) -> Vec<(f64, Vec<f64>)> {
    let near = |a: &f64, b: &f64| (a - b).abs() <= 0.02 * (a.abs() + b.abs()) + 1e-6 * deviation;
    let same = |a: &(f64, Vec<f64>), b: &(f64, Vec<f64>)| {
        (a.0 - b.0).abs() <= 1e-4 * a.0.abs() && a.1.iter().zip(&b.1).all(|(a, b)| near(a, b))
    };
    let mut kept: Vec<(f64, Vec<f64>)> = Vec::new();
    for end in sorted {
        if !kept.iter().any(|known| same(known, &end)) {
            kept.push(end);
        }
    }
    kept
}

/// Values that the data suggest.
struct Hints {
    locations: Vec<f64>,
    scales: Vec<f64>,
    /// The median of each variable that varies, with its scales.
    of_variables: Vec<(f64, [f64; 8])>,
    /// The least deviation of a variable that varies.
    least_deviation: f64,
}

impl Hints {
    fn of(few: &Objective<'_>) -> Self {
        let mut hints = Self {
            locations: Vec::new(),
            scales: Vec::new(),
            of_variables: Vec::new(),
            least_deviation: 1.0,
        };
        let RowSource::Memory { points, .. } = &few.data.feed else { return hints };
        let points = points.view();
        let sorted = |j: usize| {
            let mut column = points.column(j).to_vec();
            column.sort_by(f64::total_cmp);
            column
        };
        let columns: Vec<Vec<f64>> = (0..points.columns().min(MOST_VARIABLES)).map(sorted).collect();
        for q in QUANTILES {
            let quantile = |column: &Vec<f64>| column[((column.len() - 1) as f64 * q).round() as usize];
            hints.locations.extend(columns.iter().map(quantile));
        }
        let mut least = f64::INFINITY;
        for column in &columns {
            let variance = mean_and_variance(column).1;
            if variance > 0.0 && variance.is_finite() {
                let deviation = variance.sqrt();
                least = least.min(deviation);
                let (ln, inverse) = (deviation.ln(), 1.0 / deviation);
                let scales =
                    [deviation, variance, inverse, 1.0 / variance, ln, -ln, variance.ln(), -variance.ln()];
                hints.scales.extend(scales);
                hints.of_variables.push((column[column.len() / 2], scales));
            }
        }
        if least.is_finite() {
            hints.least_deviation = least;
        }
        hints
    }

    /// Values for one parameter.
    fn values(&self, parameter: &Parameter, unit: f64) -> Vec<f64> {
        let start = parameter.start;
        let mut all = self.locations.clone();
        all.extend([1.0, -1.0, 3.0, -3.0].map(|z| start + z * unit));
        all.extend(&self.scales);
        all.extend([0.1, 0.3, 3.0, 10.0].map(|factor| start * factor));
        all.extend([0.0, 0.1, 1.0, 3.0, 10.0, 30.0, -1.0, -3.0, -10.0]);
        if parameter.lower.is_finite() && parameter.upper.is_finite() {
            let width = parameter.upper - parameter.lower;
            all.extend([0.1, 0.3, 0.5, 0.7, 0.9].map(|share| parameter.lower + share * width));
        }
        all.retain(|x| x.is_finite() && *x >= parameter.lower && *x <= parameter.upper);
        all.iter().map(|x| inside(parameter, *x)).collect()
    }
}

/// A loss over a few rows, and what its data suggest.
struct Screen<'s, 'a> {
    few: &'s Objective<'a>,
    hints: Hints,
}

impl Screen<'_, '_> {
    fn model(&self) -> &Model {
        self.few.model
    }

    /// How many of so many places are worth looking at: fewer by far where the model would rather have one long call.
    fn worth(&self, places: usize) -> usize {
        if self.model().energy().prefers_batches() { places.div_ceil(FEWER) } else { places }
    }

    /// The loss at parameters, with the constant that is best for them; `None` where it is not finite.
    fn score(&self, theta: &[f64]) -> Option<f64> {
        let mut at = theta.to_vec();
        at.resize(self.few.size(), 0.0);
        if self.model().is_normalized() {
            let there = self.few.evaluate(&DVector::from_vec(at), false).ok()?;
            return there.value.is_finite().then_some(there.value);
        }
        let place = ParameterPoint::new(self.few, &at)?;
        let data = self.log_ratios(&self.few.data, &place)?;
        let noise = self.log_ratios(&self.few.noise, &place)?;
        let loss = least(&data, &noise).0;
        loss.is_finite().then_some(loss)
    }

    /// All unknowns of a place: a Newton step from a constant that is far off may lead anywhere.
    fn with_constant(&self, mut theta: Vec<f64>) -> Vec<f64> {
        if self.model().is_normalized() {
            return theta;
        }
        let mut at = theta.clone();
        at.push(0.0);
        let place = ParameterPoint::new(self.few, &at);
        let ratios = place.and_then(|place| {
            Some((self.log_ratios(&self.few.data, &place)?, self.log_ratios(&self.few.noise, &place)?))
        });
        let best = ratios.map(|(data, noise)| least(&data, &noise)).filter(|(loss, _)| loss.is_finite());
        theta.extend(best.map(|(_, constant)| constant));
        theta
    }

    /// Log ratios of one sample, with the rows' weights as shares.
    fn log_ratios(&self, side: &SampleBlocks<'_>, place: &ParameterPoint) -> Option<Vec<(f64, f64)>> {
        let share = if side.class == Class::Noise { self.few.nu } else { 1.0 } / side.total;
        let add = |all: &mut Vec<(f64, f64)>, seen: &ChunkView<'_>| {
            let weight = |row: usize| share * seen.weights.map_or(1.0, |w| w[row]);
            all.extend(seen.log_ratio.iter().enumerate().map(|(row, g)| (*g, weight(row))));
            Ok(())
        };
        let join = |a: Vec<(f64, f64)>, b: Vec<(f64, f64)>| [a, b].concat();
        let found = self.few.fold_rows(side, place, false, Vec::new, add, join).ok()?;
        found.iter().all(|(g, _)| !g.is_nan()).then_some(found)
    }

    /// Moves two parameters at once, one to a variable's median and the other to its scale: in other units than the
    /// start values', neither alone is nearer to the data.
    fn pairs(&self, first: &[f64], seen: &mut Vec<(f64, Vec<f64>)>) {
        let parameters = self.model().parameters();
        let every = (0..first.len()).flat_map(|i| (0..first.len()).map(move |j| (i, j)));
        let all = every.filter(|(i, j)| i != j).flat_map(|(i, j)| {
            let of = self.hints.of_variables.iter();
            of.flat_map(move |(at, scales)| scales.iter().map(move |scale| [(i, *at), (j, *scale)]))
        });
        let allowed = |moves: &[(usize, f64); 2]| moves.iter().all(|(j, x)| parameters[*j].check(*x).is_ok());
        for moves in all.filter(allowed).take(self.worth(SCANNED)) {
            let mut place = first.to_vec();
            moves.iter().for_each(|(j, x)| place[*j] = inside(&parameters[*j], *x));
            seen.extend(self.score(&place).map(|score| (score, place)));
        }
    }

    /// Moves one parameter after the other, twice, each to the best of the values that the data suggest.
    fn scan(&self, first: &[f64], seen: &mut Vec<(f64, Vec<f64>)>) {
        let parameters = self.model().parameters();
        let most = (self.worth(SCANNED) / (2 * parameters.len().max(1))).max(1);
        let mut best = (self.score(first).unwrap_or(f64::INFINITY), first.to_vec());
        if let Some(better) = seen.iter().min_by(|a, b| a.0.total_cmp(&b.0)).filter(|s| s.0 < best.0) {
            best = better.clone();
        }
        for _ in 0..2 {
            for (j, parameter) in parameters.iter().enumerate() {
                let values = self.hints.values(parameter, self.few.unit[j]);
                for value in values.into_iter().take(most) {
                    let mut place = best.1.clone();
                    place[j] = value;
                    let Some(score) = self.score(&place) else { continue };
                    seen.push((score, place.clone()));
                    // Where the loss does not feel a parameter, rounding does not choose one.
                    if score < best.0 - ROUNDING * best.0.abs() {
                        best = (score, place);
                    }
                }
            }
        }
    }

    /// Parameters of one kind may have changed places: every two of them exchanged.
    fn exchange(&self, place: &[f64], seen: &mut Vec<(f64, Vec<f64>)>) {
        let parameters = self.model().parameters();
        if place.len() > MOST_EXCHANGED {
            return;
        }
        for (i, j) in (0..place.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let mut other = place.to_vec();
            other.swap(i, j);
            let allowed = [i, j].iter().all(|l| parameters[*l].check(other[*l]).is_ok());
            if allowed && other != place {
                seen.extend(self.score(&other).map(|score| (score, other)));
            }
        }
    }

    /// Every parameter at its start, at a value that the data suggest, or at random around its start.
    fn random_place(&self, first: &[f64], random: &mut Stream) -> Vec<f64> {
        let mut value = |(j, parameter): (usize, &Parameter)| {
            let z: f64 = StandardNormal.sample(random);
            let pick = |list: &[f64], random: &mut Stream| list[random.random_range(0..list.len())];
            let suggested = match random.random_range(0..8) {
                0 => Some(first[j]),
                1..=3 if !self.hints.locations.is_empty() => Some(pick(&self.hints.locations, random)),
                4 if !self.hints.scales.is_empty() => Some(pick(&self.hints.scales, random)),
                _ => None,
            };
            let allowed = suggested.filter(|x| *x >= parameter.lower && *x <= parameter.upper);
            allowed.map_or_else(|| around(parameter, first[j], self.few.unit[j], z), |x| inside(parameter, x))
        };
        self.model().parameters().iter().enumerate().map(&mut value).collect()
    }

    /// Descends from places on the few rows; those that end in the same minimum are one.
    fn follow(&self, places: Vec<(f64, Vec<f64>)>, options: &FitOptions) -> Result<Vec<(f64, Vec<f64>)>> {
        let mut ends = Vec::new();
        for (score, place) in places {
            let told = Progress { loss: score, ..Progress::of_stage(Stage::Pilot, ends.len(), None) };
            options.context().tell(&told)?;
            let telling = options.telling(move || told);
            let short = FitOptions { max_iterations: FOLLOWED_STEPS, tolerance: 1e-2, ..telling };
            let found =
                multistart::follow(self.few, self.model(), &self.with_constant(place.clone()), &short)?;
            ends.push(found.filter(|(loss, _)| *loss <= score).unwrap_or((score, place)));
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(unlike(ends, self.hints.least_deviation))
    }
}

/// So many natural units from the start, or a few times as far from a bound.
pub(crate) fn around(parameter: &Parameter, start: f64, unit: f64, z: f64) -> f64 {
    match Chart::between(parameter.lower, parameter.upper) {
        _ if parameter.lower == parameter.upper => start,
        Chart::Identity => start + 2.0 * z * unit.max(0.5 * start.abs()),
        chart => chart.from_real(chart.to_real(start) + 1.5 * z),
    }
}

/// The least logistic loss over the constant, and where it is, from log ratios at constant zero with their shares: its slope rises with the
/// constant, so that it is found by halving, with Newton's steps where they stay inside.
fn least(data: &[(f64, f64)], noise: &[(f64, f64)]) -> (f64, f64) {
    let finite = || data.iter().chain(noise).map(|(g, _)| *g).filter(|g| g.is_finite());
    let (mut low, mut high) =
        finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), g| (a.min(g), b.max(g)));
    (low, high) = (low - 40.0, high + 40.0);
    let mut c = 0.5 * (low + high);
    for _ in 0..60 {
        let (mut slope, mut bend) = (0.0, 0.0);
        for (sign, side) in [(1.0, data), (-1.0, noise)] {
            for (g, share) in side {
                let p = sigmoid(sign * (c - g));
                slope += sign * share * p;
                bend += share * p * (1.0 - p);
            }
        }
        if slope > 0.0 {
            high = c
        } else {
            low = c
        }
        let newton = c - slope / bend;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - c).abs() < 1e-6 {
            break;
        }
        c = next;
    }
    let cost = |side: &[(f64, f64)], sign: f64| -> f64 {
        side.iter().map(|(g, share)| if *share == 0.0 { 0.0 } else { share * softplus(sign * (g - c)) }).sum()
    };
    (cost(data, -1.0) + cost(noise, 1.0), c)
}
