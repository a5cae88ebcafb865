//! Chains of all states of a path that go side by side and change places: what the last state cannot cross, the first can.
//!
//! At every step each state makes its own move, the noise a fresh draw, and then neighbours are offered each other's
//! points (Geyer 1991; Hukushima and Nemoto 1996). So a point that is caught in one mode at the density travels back to the
//! noise, is forgotten there, and others come from it to all modes that the noise covers.

use noisewright_numerics::parallel::try_map;
use noisewright_numerics::random::Stream;
use rand::RngExt;

use super::smc_pilot::{Stop, resample};
use super::{PathOptions, Problem, Sample};
use crate::chain::{Bridge, Kernel, Moves, Walker, convergence};
use crate::density::log_densities;
use crate::run::{Purpose, Stage};
use crate::{Points, Result, View};

/// Draws that are to be worth an independent one, in the slowest direction of the density.
const DRAWS_PER_INDEPENDENT: f64 = 5.0;
/// How many times the steps between draws may be multiplied for that.
const MOST_STEPS_PER_DRAW: usize = 4;
/// Steps of a warm-up below which it says nothing about how slow the chains are.
const SHORTEST_WARM_UP: usize = 40;

/// The draws of all states.
pub(super) struct Tempered {
    pub(super) samples: Vec<Sample>,
    /// Trips of points from the noise to the density and back, in all chains together.
    pub(super) round_trips: usize,
    /// Steps that were made for every draw.
    pub(super) thin: usize,
}

/// The draws of all states by chains that change places.
pub(super) fn samples(
    problem: &Problem<'_>,
    pilots: [&[Stop]; 2],
    places: &[f64],
    options: &PathOptions,
) -> Result<Tempered> {
    let starts = places[1..]
        .iter()
        .enumerate()
        .map(|(index, &t)| Start::new(problem, pilots, t, options, index as u64 + 1))
        .collect::<Result<Vec<_>>>()?;
    let begin = |chain: usize| Ladder::new(problem, places, &starts, chain)?.warmed_up(options.warm_up);
    let ladders = try_map(0..options.chains, begin)?;
    let thin = options.thin * steps_per_draw(problem, &ladders);
    let run = |(chain, ladder): (usize, Ladder<'_>)| ladder.run(length(options, chain), thin);
    let ladders = try_map(ladders.into_iter().enumerate(), run)?;
    let (tracks, trips): (Vec<Vec<Track>>, Vec<usize>) = ladders.into_iter().unzip();
    let samples = (0..places.len()).map(|state| joined(problem, &tracks, state, options));
    Ok(Tempered { samples: samples.collect::<Result<_>>()?, round_trips: trips.iter().sum(), thin })
}

/// Where the chains of one state begin, and with which moves.
struct Start {
    points: Vec<Vec<f64>>,
    kernel: Kernel,
}

impl Start {
    /// From where the pilots' swarms were just before the state, in turns.
    fn new(
        problem: &Problem<'_>,
        pilots: [&[Stop]; 2],
        t: f64,
        options: &PathOptions,
        state: u64,
    ) -> Result<Self> {
        let before = |stops: &[Stop]| stops.partition_point(|stop| stop.t <= t).max(1) - 1;
        let mut picks = problem.context.stream(Purpose::TemperingStarts { state }, 0);
        let swarms = pilots.map(|stops| {
            let stop = &stops[before(stops)];
            resample(&stop.log_ratio, t - stop.t, stop.swarm.len(), &mut picks)
        });
        let points: Vec<Vec<f64>> = (0..options.chains)
            .map(|chain| {
                let (stops, swarm) = (pilots[chain % 2], &swarms[chain % 2]);
                stops[before(stops)].swarm[swarm[chain * swarm.len() / options.chains]].clone()
            })
            .collect();
        let (stops, before) = (pilots[0], before(pilots[0]));
        let stop = &stops[before];
        // Moves of the first bridge after the noise, for states between the two.
        let learnt = stop.kernel.as_ref().or(stops.get(before + 1).and_then(|next| next.kernel.as_ref()));
        let bridge = Bridge { noise: problem.noise, density: problem.density, t };
        let landscape = problem.landscape(&bridge);
        let kernel = match learnt {
            Some(kernel) => kernel.clone(),
            None => Kernel::new(options.moves, landscape, &points[0])?,
        };
        Ok(Self { points, kernel })
    }
}

/// A point with what every state needs to know of it.
#[derive(Clone, Debug)]
struct Place {
    y: Vec<f64>,
    x: Vec<f64>,
    log_jacobian: f64,
    log_noise: f64,
    log_density: f64,
    /// Where it was last.
    last_end: End,
}

/// The ends of a path, where a point was last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Neither,
    Noise,
    Density,
}

impl Place {
    /// A point of which nothing is known yet.
    fn new(y: Vec<f64>, x: Vec<f64>) -> Self {
        Self { y, x, log_jacobian: 0.0, log_noise: 0.0, log_density: 0.0, last_end: End::Neither }
    }

    fn height(&self, t: f64) -> f64 {
        Bridge::value(t, self.log_noise, self.log_density) + self.log_jacobian
    }
}

/// One chain of every state.
struct Ladder<'a> {
    problem: &'a Problem<'a>,
    places: &'a [f64],
    /// The points of the states, the noise first.
    points: Vec<Place>,
    /// The moves of the states after the noise.
    kernels: Vec<Kernel>,
    stream: Stream,
    /// Whether the next exchange is between states 1 and 2 rather than 0 and 1.
    odd: bool,
    round_trips: usize,
    /// Where the chain of the density was in the second half of the warm-up.
    last: Vec<Vec<f64>>,
    tracks: Vec<Track>,
}

/// What one chain leaves behind at one state: points, point after point, and both ends' log-densities there.
#[derive(Clone, Debug)]
struct Track {
    points: Vec<f64>,
    log_noise: Vec<f64>,
    log_density: Vec<f64>,
    acceptance: f64,
    /// Exchanges with the state before: how many were offered, and the sum of their probabilities.
    exchanges: (f64, f64),
    moves: Option<Moves>,
}

impl<'a> Ladder<'a> {
    fn new(problem: &'a Problem<'a>, places: &'a [f64], starts: &[Start], chain: usize) -> Result<Self> {
        let mut stream = problem.context.stream(Purpose::Tempering, chain as u64);
        let mut points = vec![Place::new(Vec::new(), problem.noise_point(&mut stream))];
        points.extend(starts.iter().map(|start| Place::new(start.points[chain].clone(), Vec::new())));
        let track = |moves| Track {
            points: Vec::new(),
            log_noise: Vec::new(),
            log_density: Vec::new(),
            acceptance: 0.0,
            exchanges: (0.0, 0.0),
            moves,
        };
        let mut tracks = vec![track(None)];
        tracks.extend(starts.iter().map(|start| track(Some(start.kernel.moves()))));
        let kernels = starts.iter().map(|start| start.kernel.clone()).collect();
        let mut ladder = Self {
            problem,
            places,
            points,
            kernels,
            stream,
            odd: false,
            round_trips: 0,
            last: vec![],
            tracks,
        };
        ladder.evaluate()?;
        Ok(ladder)
    }

    fn warmed_up(mut self, steps: usize) -> Result<Self> {
        for step in 0..steps {
            // The pilot has found the size of the steps: only small corrections are left.
            self.step((step as f64 + 5.0).powf(-0.8))?;
            self.exchange(false);
            if step >= steps / 2 {
                self.last.extend(self.points.last().map(|place| place.y.clone()));
            }
        }
        Ok(self)
    }

    fn run(mut self, draws: usize, thin: usize) -> Result<(Vec<Track>, usize)> {
        for draw in 0..draws {
            self.problem.context.report(Stage::Chains, draw, Some(draws))?;
            for step in 0..thin {
                if step > 0 {
                    self.exchange(true);
                }
                self.step(0.0)?;
            }
            self.keep();
            self.exchange(true);
        }
        let steps = (draws * thin).max(1) as f64;
        self.tracks.iter_mut().skip(1).for_each(|track| track.acceptance /= steps);
        self.tracks[0].acceptance = 1.0;
        Ok((self.tracks, self.round_trips))
    }

    /// One move of every state, from the same stream one after the other; the noise is drawn afresh.
    fn step(&mut self, gain: f64) -> Result<()> {
        self.points[0].x = self.problem.noise_point(&mut self.stream);
        for (state, kernel) in self.kernels.iter_mut().enumerate() {
            let t = self.places[state + 1];
            let bridge = Bridge { noise: self.problem.noise, density: self.problem.density, t };
            let landscape = self.problem.landscape(&bridge);
            let place = &mut self.points[state + 1];
            let mut walker = Walker { height: place.height(t), y: std::mem::take(&mut place.y) };
            let accepted = kernel.step(landscape, &mut walker, &mut self.stream, gain)?;
            place.y = walker.y;
            if gain == 0.0 {
                self.tracks[state + 1].acceptance += accepted;
            }
        }
        self.evaluate()
    }

    /// Both ends' log-densities at all points.
    fn evaluate(&mut self) -> Result<()> {
        let (rows, dimension) = (self.points.len(), self.problem.coordinates.dimension());
        let coordinates = self.problem.coordinates;
        self.points[0].y = coordinates.of_point(&self.points[0].x);
        for (state, place) in self.points.iter_mut().enumerate() {
            let mut x = vec![0.0; dimension];
            place.log_jacobian = coordinates.variables(&place.y, &mut x);
            if state > 0 {
                place.x = x;
            }
        }
        let columns: Vec<f64> =
            (0..dimension).flat_map(|axis| self.points.iter().map(move |place| place.x[axis])).collect();
        let view = View::new(dimension, rows, &columns);
        let (mut noise, mut density) = (vec![0.0; rows], vec![0.0; rows]);
        self.problem.noise.log_density(view, &mut noise);
        log_densities(self.problem.density, view, &mut density)?;
        for (row, place) in self.points.iter_mut().enumerate() {
            (place.log_noise, place.log_density) = (noise[row], density[row]);
        }
        Ok(())
    }

    fn keep(&mut self) {
        for (track, place) in self.tracks.iter_mut().zip(&self.points) {
            track.points.extend_from_slice(&place.x);
            track.log_noise.push(place.log_noise);
            track.log_density.push(place.log_density);
        }
    }

    /// Offers every second pair of neighbours each other's points.
    fn exchange(&mut self, counted: bool) {
        let first = usize::from(self.odd);
        self.odd = !self.odd;
        for lower in (first..self.places.len() - 1).step_by(2) {
            let (cold, hot) = (self.places[lower + 1], self.places[lower]);
            let (a, b) = (&self.points[lower], &self.points[lower + 1]);
            let change = (a.height(cold) - b.height(cold)) + (b.height(hot) - a.height(hot));
            let probability = if change.is_nan() { 0.0 } else { change.exp().min(1.0) };
            if self.stream.random::<f64>() < probability {
                self.points.swap(lower, lower + 1);
            }
            if counted {
                let (offered, taken) = &mut self.tracks[lower + 1].exchanges;
                *offered += 1.0;
                *taken += probability;
            }
        }
        self.note_ends(counted);
    }

    /// Which points are at the ends of the path now, and which of them have been at the other one.
    fn note_ends(&mut self, counted: bool) {
        let last = self.points.len() - 1;
        if counted && self.points[0].last_end == End::Density {
            self.round_trips += 1;
        }
        self.points[0].last_end = End::Noise;
        if self.points[last].last_end == End::Noise {
            self.points[last].last_end = End::Density;
        }
    }
}

/// How many times as many steps between draws the slowest direction of the density needs, by the warm-up.
fn steps_per_draw(problem: &Problem<'_>, ladders: &[Ladder<'_>]) -> usize {
    let lengths: Vec<usize> = ladders.iter().map(|ladder| ladder.last.len()).collect();
    if lengths.iter().any(|length| 2 * length < SHORTEST_WARM_UP) {
        return 1;
    }
    let time = |axis: usize| {
        let values: Vec<f64> = ladders.iter().flat_map(|l| l.last.iter().map(|y| y[axis])).collect();
        values.len() as f64 / convergence(&values, &lengths).ess
    };
    let lines = (0..problem.coordinates.dimension()).filter(|axis| problem.coordinates.is_line(*axis));
    // A coordinate that does not vary has no time; `max` leaves it out.
    let slowest = lines.map(time).fold(1.0, f64::max);
    ((slowest / DRAWS_PER_INDEPENDENT).ceil() as usize).clamp(1, MOST_STEPS_PER_DRAW)
}

/// Draws of one chain: an even share of all.
fn length(options: &PathOptions, chain: usize) -> usize {
    (chain + 1) * options.draws / options.chains - chain * options.draws / options.chains
}

/// The tracks of one state as points, chain after chain.
fn joined(
    problem: &Problem<'_>,
    ladders: &[Vec<Track>],
    state: usize,
    options: &PathOptions,
) -> Result<Sample> {
    let dimension = problem.coordinates.dimension();
    let tracks: Vec<&Track> = ladders.iter().map(|ladder| &ladder[state]).collect();
    let mut values = Vec::with_capacity(options.draws * dimension);
    for axis in 0..dimension {
        tracks.iter().for_each(|track| values.extend(track.points.iter().skip(axis).step_by(dimension)));
    }
    let lengths: Vec<usize> = tracks.iter().map(|track| track.log_noise.len()).collect();
    let exchanges = tracks
        .iter()
        .fold((0.0, 0.0), |sum: (f64, f64), track| (sum.0 + track.exchanges.0, sum.1 + track.exchanges.1));
    Ok(Sample {
        points: Points::from_values(problem.density.space().names(), lengths.iter().sum(), values)?,
        log_noise: tracks.iter().flat_map(|track| track.log_noise.iter().copied()).collect(),
        log_density: tracks.iter().flat_map(|track| track.log_density.iter().copied()).collect(),
        acceptance: tracks.iter().map(|track| track.acceptance).sum::<f64>() / tracks.len() as f64,
        exchange: (exchanges.0 > 0.0).then(|| exchanges.1 / exchanges.0),
        moves: tracks.first().and_then(|track| track.moves),
        lengths,
    })
}

impl Problem<'_> {
    /// A draw of the noise.
    fn noise_point(&self, stream: &mut Stream) -> Vec<f64> {
        let mut x = vec![0.0; self.coordinates.dimension()];
        self.noise.draw(stream, 1, &mut x);
        x
    }
}
