//! The best member of a family of noises written with `?`: a scan of all of it, then every minimum polished.

use std::sync::Arc;

use noisewright_numerics::halton::Halton;
use noisewright_numerics::optimize::{minimize_bracketed, nelder_mead};

use super::family_scan::Board;
use super::free_parameters::{Map, maps};
use super::proportion::{at_end, check_ratio};
use super::walls::{self, Looks};
use super::{DesignOptions, Ratio};
use crate::run::Purpose;
use crate::{
    Argument, Asymptotics, Call, Contrast, Loss, Mixture, Model, Noise, NoiseWords, Population, Precision,
    Result, Weight,
};

/// Points of the scan along a single `?`.
pub(super) const GRID: usize = 201;

/// Most free weights of a mixture whose parts are left out in all combinations.
const MOST_WEIGHTS: usize = 4;

/// A member of a family that is better than its neighbours.
#[derive(Clone)]
#[non_exhaustive]
pub struct Member {
    /// The values of the `?`, in the order of the text; weights are weights of the mixture.
    pub values: Vec<f64>,
    /// Noise points per data point.
    pub nu: f64,
    /// The error times the budget.
    pub error: f64,
    /// The noise in words.
    pub words: NoiseWords,
    /// The noise.
    pub noise: Arc<dyn Noise>,
    /// Whether a value is the last one of its scan, so that the true minimum may lie beyond it or at infinity.
    pub at_edge: bool,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at_edge = if self.at_edge { ", at the edge of the scan" } else { "" };
        write!(f, "{} at ν = {}: {}{at_edge}", self.words, self.nu, self.error)
    }
}

/// The minima of the error over a family.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct FamilyOptimum {
    /// Every local minimum found, the best first.
    pub minima: Vec<Member>,
    /// Evaluations of the error.
    pub evaluations: usize,
}

/// Turns words without `?` into a noise.
pub type Builder<'a> = &'a dyn Fn(&NoiseWords) -> Result<Arc<dyn Noise>>;

/// The best members of a family of noises for a model, true at `parameters`.
///
/// Each `?` is a location, a scale, a shape, a weight or a parameter of `model(…)`, told from where it stands. Values
/// that `build` refuses are walls; an error of the caller's own code ends the search.
///
/// ```
/// use noisewright::{Model, NoiseWords};
/// use noisewright::design::{DesignOptions, Ratio, best_member};
/// use noisewright::parts::NoiseContext;
/// let model = Model::from_toml(
///     "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\n[parameters]\nm = 0",
/// )?;
/// let words = NoiseWords::parse("normal(?, 1)").unwrap();
/// let build = |words: &NoiseWords| words.build(&NoiseContext::new(model.space()));
/// let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
/// let best = best_member(&words, &build, &model, &[0.0], &options)?;
/// assert_eq!(best.minima.len(), 2); // mirror images
/// assert!((best.minima[0].values[0].abs() - 1.42701).abs() < 1e-5);
/// assert!((best.minima[0].error - 3.69862).abs() < 1e-5);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When a `?` stands where nothing can be optimised, no member has an error, or ν or a price is not positive.
pub fn best_member(
    words: &NoiseWords,
    build: Builder<'_>,
    model: &Model,
    parameters: &[f64],
    options: &DesignOptions,
) -> Result<FamilyOptimum> {
    let options = &options.for_run();
    let population = Population::new(model, parameters, &options.precision)?;
    search(words, build, model, parameters, options, &population, true)
}

/// As [`best_member`], on a population that stays as it is, such as a sample.
///
/// # Errors
/// As for [`best_member`].
pub(crate) fn best_member_on(
    population: &Population,
    words: &NoiseWords,
    build: Builder<'_>,
    model: &Model,
    parameters: &[f64],
    options: &DesignOptions,
) -> Result<FamilyOptimum> {
    search(words, build, model, parameters, &options.for_run(), population, false)
}

fn search(
    words: &NoiseWords,
    build: Builder<'_>,
    model: &Model,
    parameters: &[f64],
    options: &DesignOptions,
    population: &Population,
    rebuild: bool,
) -> Result<FamilyOptimum> {
    options.prices.check()?;
    if let Ratio::Fixed(nu) = options.ratio {
        check_ratio(nu)?;
    }
    let maps = maps(words, model, parameters, population)?;
    let task = Task { words, build, model, parameters, options, maps, rebuild, dropped: Vec::new() };
    options.conclude(task.run(population))
}

/// A family being searched.
pub(super) struct Task<'a> {
    words: &'a NoiseWords,
    build: Builder<'a>,
    model: &'a Model,
    parameters: &'a [f64],
    pub(super) options: &'a DesignOptions,
    pub(super) maps: Vec<Map>,
    /// Whether populations can be made for the noises at hand.
    rebuild: bool,
    /// The free weights that are zero, by their place among the `?`.
    dropped: Vec<usize>,
}

/// A member by its coordinates, the last of which is `ln ν`.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) z: Vec<f64>,
    pub(super) error: f64,
}

impl Task<'_> {
    fn run(&self, population: &Population) -> Result<FamilyOptimum> {
        let covering = self.covering_population()?;
        let mut board = Board::new(self, covering.as_ref().unwrap_or(population))?;
        let candidates = board.scan();
        if candidates.is_empty() {
            return Err(board.nowhere());
        }
        let free = self.dimensions();
        let step = if free == 1 { 2.0 * self.spacing() } else { 0.1 };
        let mut spots: Vec<Spot> = Vec::new();
        for candidate in candidates {
            let polished = board.polish(&candidate, step, 1e-10);
            if !spots.iter().any(|known| board.same(known, &polished)) {
                spots.push(polished);
            }
        }
        board.check()?;
        let mut evaluations = board.evaluations;
        let finished = spots.iter().map(|spot| self.finish(spot, population, &mut evaluations));
        let mut finished: Vec<Spot> = finished.collect::<Result<_>>()?;
        finished.sort_by(|a, b| a.error.total_cmp(&b.error));
        let mut distinct: Vec<Spot> = Vec::new();
        for spot in finished {
            if !distinct.iter().any(|known| board.same(known, &spot)) {
                distinct.push(spot);
            }
        }
        let mut minima: Vec<Member> = distinct.iter().map(|spot| self.member(spot)).collect::<Result<_>>()?;
        if let Some(better) = self.without_parts(&distinct, minima[0].error, population, &mut evaluations)? {
            minima.insert(0, better);
        }
        Ok(FamilyOptimum { minima, evaluations })
    }

    /// The best member with some of the free weights at zero, which no coordinate reaches, where it beats `error`.
    fn without_parts(
        &self,
        spots: &[Spot],
        error: f64,
        population: &Population,
        evaluations: &mut usize,
    ) -> Result<Option<Member>> {
        let weights: Vec<usize> =
            (0..self.maps.len()).filter(|&i| matches!(self.maps[i], Map::Share | Map::FirstShare)).collect();
        // Weights of mixtures within the mixture stay as they are.
        let outer = self.words.terms.iter().filter(|(weight, _)| *weight == Weight::Free).count();
        if weights.len() != outer || !(2..=MOST_WEIGHTS).contains(&outer) || !self.dropped.is_empty() {
            return Ok(None);
        }
        let mut best: Option<Member> = None;
        for subset in 1..(1usize << outer) - 1 {
            let dropped = (0..outer).filter(|k| subset >> k & 1 == 1).map(|k| weights[k]).collect();
            let part = Task { dropped, maps: self.maps.clone(), ..*self };
            let mut found: Vec<Spot> = Vec::new();
            for spot in spots.iter().take(3) {
                let start = {
                    let mut board = Board::new(&part, population)?;
                    let start = board.polish(spot, 0.1, 1e-10);
                    board.check()?;
                    *evaluations += board.evaluations;
                    start
                };
                found.extend(walls::member(part.finish(&start, population, evaluations))?);
            }
            found.sort_by(|a, b| a.error.total_cmp(&b.error));
            let least = best.as_ref().map_or(error, |b| b.error);
            if let Some(spot) = found.first().filter(|spot| spot.error < least) {
                best = Some(part.member(spot)?);
            }
        }
        Ok(best)
    }

    /// The ranges of the coordinates of the noise.
    pub(super) fn ranges(&self) -> Vec<(f64, f64)> {
        self.maps.iter().filter_map(|map| map.range()).collect()
    }

    /// Number of coordinates that are searched, ν with them where it is free.
    fn dimensions(&self) -> usize {
        self.ranges().len() + usize::from(self.options.ratio == Ratio::Free)
    }

    fn spacing(&self) -> f64 {
        self.ranges().first().map_or(1.0, |(lo, hi)| (hi - lo) / (GRID - 1) as f64)
    }

    /// The values of all `?` from the coordinates of those that have one.
    fn values(&self, z: &[f64]) -> Vec<f64> {
        let mut coordinates = z.iter();
        let value = |map: &Map| match map.range() {
            Some(_) => map.value(coordinates.next().copied().unwrap_or(0.0)),
            None => map.value(0.0),
        };
        let mut values: Vec<f64> = self.maps.iter().map(value).collect();
        self.dropped.iter().for_each(|&i| values[i] = 0.0);
        values
    }

    /// The words of a member, without the parts whose weight is zero.
    fn filled(&self, z: &[f64]) -> NoiseWords {
        let mut words = self.words.substitute(&self.values(z));
        if !self.dropped.is_empty() {
            words.terms.retain(|(weight, _)| *weight != Weight::Number(0.0));
        }
        if let [(weight, _)] = &mut words.terms[..] {
            *weight = Weight::Number(1.0);
        }
        words
    }

    fn noise(&self, z: &[f64]) -> Result<Arc<dyn Noise>> {
        (self.build)(&self.filled(z))
    }

    /// The log-density of a member at the points of a population, without the rest of a noise where that is dear.
    pub(super) fn log_noise(&self, z: &[f64], population: &Population) -> Result<Vec<f64>> {
        match self.as_model(z)? {
            Some(theta) => self.model_log_density(&theta, population),
            None => population.log_noise(self.noise(z)?.as_ref()),
        }
    }

    /// The parameters, when the family is `model(…)` alone.
    fn as_model(&self, z: &[f64]) -> Result<Option<Vec<f64>>> {
        let filled = self.filled(z);
        let [(_, call)] = &filled.terms[..] else { return Ok(None) };
        if call.name != "model" {
            return Ok(None);
        }
        let mut theta = self.parameters.to_vec();
        for argument in &call.arguments {
            let Argument::Named(name, value) = argument else { return Ok(None) };
            let Argument::Number(x) = **value else { return Ok(None) };
            theta[self.model.index_of(name)?] = x;
        }
        Ok(Some(theta))
    }

    fn model_log_density(&self, theta: &[f64], population: &Population) -> Result<Vec<f64>> {
        self.model.check(theta)?;
        let points = population.points().view();
        let mut value = vec![0.0; points.rows()];
        self.model.evaluate(theta, points, &mut value, None)?;
        let closed = self.model.log_normalizer(theta, &mut vec![0.0; theta.len()]);
        let log_z = match closed {
            Some(log_z) => log_z,
            None => Population::new(self.model, theta, &self.options.precision)?.log_normalizer(),
        };
        value.iter_mut().for_each(|u| *u -= log_z);
        Ok(value)
    }

    /// A population whose nodes suit members from all over the family, coarse but for no single noise.
    fn covering_population(&self) -> Result<Option<Population>> {
        if !self.rebuild || self.ranges().is_empty() {
            return Ok(None);
        }
        let mut members: Vec<Arc<dyn Noise>> = Vec::new();
        for z in self.spread(if self.model.space().dimension() == 1 { 12 } else { 4 }, 0.6) {
            members.extend(walls::member(self.noise(&z))?);
        }
        if members.is_empty() {
            return Ok(None);
        }
        let share = 1.0 / members.len() as f64;
        let cover =
            Mixture::<dyn Noise>::of_shared(members.into_iter().map(|member| (share, member)).collect())?;
        let nu = if let Ratio::Fixed(nu) = self.options.ratio { nu } else { 1.0 };
        let precision = Precision {
            relative: self.options.precision.relative.max(1e-7),
            ..self.options.precision.clone()
        };
        let contrast = Contrast { noise: &cover, nu, loss: &Loss::Js };
        Population::for_contrast(self.model, self.parameters, contrast, &precision).map(Some)
    }

    /// Coordinates spread evenly over the middle `share` of the family.
    pub(super) fn spread(&self, count: usize, share: f64) -> Vec<Vec<f64>> {
        let ranges = self.ranges();
        let place = |axis: usize, u: f64| {
            let (lo, hi) = ranges[axis];
            lo + (hi - lo) * (0.5 + share * (u - 0.5))
        };
        if ranges.len() == 1 {
            let last = (count.max(2) - 1) as f64;
            return (0..count).map(|i| vec![place(0, i as f64 / last)]).collect();
        }
        let mut points = vec![0.0; ranges.len() * count];
        let mut stream = Purpose::DesignStarts.stream(self.options.precision.seed, 0);
        Halton::new(ranges.len(), &mut stream).fill(1, count, &mut points);
        (0..count).map(|i| (0..ranges.len()).map(|j| place(j, points[j * count + i])).collect()).collect()
    }

    /// Polishes on populations made for the very noise, until that changes nothing.
    fn finish(&self, spot: &Spot, population: &Population, evaluations: &mut usize) -> Result<Spot> {
        if !self.rebuild {
            let accurate = self.accurate_error(spot, population)?;
            return Ok(Spot { error: accurate, ..spot.clone() });
        }
        let (mut here, mut step) = (spot.clone(), 0.02);
        let mut error = f64::INFINITY;
        for _ in 0..8 {
            let nu = self.nu(&here.z);
            let noise = self.noise(self.of_noise(&here.z))?;
            let contrast = Contrast { noise: noise.as_ref(), nu, loss: &Loss::Js };
            let own =
                Population::for_contrast(self.model, self.parameters, contrast, &self.options.precision)?;
            if own.divergent().is_some() {
                return Ok(Spot { error: f64::INFINITY, ..here });
            }
            let before = std::mem::replace(&mut error, self.accurate_error(&here, &own)?);
            if (before - error).abs() <= 1e-11 * error.abs() || self.dimensions() == 0 {
                break;
            }
            let mut board = Board::new(self, &own)?;
            here = board.polish(&here, step, 1e-14);
            board.check()?;
            step *= 0.3;
            *evaluations += board.evaluations;
        }
        let found = Spot { error, ..here };
        let kinked = self.model.space().dimension() == 1
            && !self.noise(self.of_noise(&found.z))?.landmarks(0).breaks.is_empty();
        if kinked && self.dimensions() > 0 { self.refine(found, evaluations) } else { Ok(found) }
    }

    /// The minimum by populations made anew for every candidate: where a density has an end or a kink that moves, nodes
    /// made for one member are wrong for its neighbours.
    ///
    /// # Errors
    /// Whatever is wrong beside candidates that cannot be.
    fn refine(&self, spot: Spot, evaluations: &mut usize) -> Result<Spot> {
        let mut looks = Looks::of_members();
        let mut fresh = |z: &[f64]| {
            *evaluations += 1;
            looks.value(|| self.fresh_error(z))
        };
        let least = if spot.z.len() == 1 {
            minimize_bracketed(spot.z[0] - 0.05, spot.z[0] + 0.05, |z| fresh(&[z]))
        } else {
            nelder_mead(&spot.z, &vec![0.02; spot.z.len()], 1e-10, fresh)
        };
        looks.check()?;
        Ok(if least.value < spot.error { Spot { z: least.at, error: least.value } } else { spot })
    }

    /// The error of a member on a population of its own; none outside the ranges.
    fn fresh_error(&self, z: &[f64]) -> Result<f64> {
        let within = |(z, (lo, hi)): (&f64, (f64, f64))| *z >= lo && *z <= hi;
        if !z.iter().zip(self.ranges()).all(within) {
            return Ok(f64::INFINITY);
        }
        let noise = self.noise(self.of_noise(z))?;
        let contrast = Contrast { noise: noise.as_ref(), nu: self.nu(z), loss: &Loss::Js };
        let own = Population::for_contrast(self.model, self.parameters, contrast, &self.options.precision)?;
        if own.divergent().is_some() {
            return Ok(f64::INFINITY);
        }
        self.accurate_error(&Spot { z: z.to_vec(), error: f64::INFINITY }, &own)
    }

    /// The error by sums that do not cancel.
    fn accurate_error(&self, spot: &Spot, population: &Population) -> Result<f64> {
        let nu = self.nu(&spot.z);
        let log_noise = self.log_noise(self.of_noise(&spot.z), population)?;
        let matrix = self.options.target.matrix(population.coordinates(), &population.information())?;
        let asymptotics = Asymptotics::at(population, &log_noise, nu, &Loss::Js)?;
        Ok(asymptotics.error(&matrix, nu, self.options.prices.data, self.options.prices.noise))
    }

    fn of_noise<'z>(&self, z: &'z [f64]) -> &'z [f64] {
        &z[..self.ranges().len()]
    }

    pub(super) fn nu(&self, z: &[f64]) -> f64 {
        match self.options.ratio {
            Ratio::Fixed(nu) => nu,
            Ratio::Free => z[z.len() - 1].exp(),
        }
    }

    fn member(&self, spot: &Spot) -> Result<Member> {
        let z = self.of_noise(&spot.z);
        let words = self.words.substitute(&self.values(z));
        let mut values = Vec::with_capacity(self.maps.len());
        collect(self.words, &words, &mut values);
        let words = self.filled(z);
        let edge = |x: f64, (lo, hi): (f64, f64)| x - lo < 1e-3 * (hi - lo) || hi - x < 1e-3 * (hi - lo);
        let searched = self.maps.iter().enumerate().filter(|(_, map)| map.range().is_some());
        let of_noise = searched
            .zip(z)
            .filter(|((place, _), _)| !self.dropped.contains(place))
            .any(|((_, map), z)| !map.is_periodic() && map.range().is_some_and(|range| edge(*z, range)));
        let of_ratio = self.options.ratio == Ratio::Free && at_end(self.nu(&spot.z));
        Ok(Member {
            values,
            nu: self.nu(&spot.z),
            error: spot.error,
            noise: self.noise(z)?,
            words,
            at_edge: of_noise || of_ratio,
        })
    }
}

/// What stands where the template has a `?`.
fn collect(template: &NoiseWords, filled: &NoiseWords, values: &mut Vec<f64>) {
    for ((weight, call), (found, other)) in template.terms.iter().zip(&filled.terms) {
        if let (Weight::Free, Weight::Number(w)) = (weight, found) {
            values.push(*w);
        }
        collect_call(call, other, values);
    }
}

fn collect_call(template: &Call, filled: &Call, values: &mut Vec<f64>) {
    for (argument, found) in template.arguments.iter().zip(&filled.arguments) {
        collect_argument(argument, found, values);
    }
}

fn collect_argument(template: &Argument, filled: &Argument, values: &mut Vec<f64>) {
    match (template, filled) {
        (Argument::Free, Argument::Number(x)) => values.push(*x),
        (Argument::List(a), Argument::List(b)) => {
            a.iter().zip(b).for_each(|(a, b)| collect_argument(a, b, values));
        }
        (Argument::Noise(a), Argument::Noise(b)) => collect(a, b, values),
        (Argument::Named(_, a), Argument::Named(_, b)) => collect_argument(a, b, values),
        _ => {}
    }
}
