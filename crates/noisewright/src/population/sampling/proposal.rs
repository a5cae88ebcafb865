//! The proposal: a mixture of components of known density, drawn in fixed shares, with the noise as one of them.

use noisewright_numerics::halton::Halton;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::ln_add_exp;
use rand::distr::Open01;
use rand_distr::Distribution;

use super::coordinates::Coordinates;
use super::elliptical::Elliptical;
use super::marginal::Marginal;
use crate::run::Purpose;
use crate::{Domain, Noise, Result, UniformSphere, View, VonMisesFisher};

/// Beyond so many uniforms a draw, Halton points are no better than random ones.
const MOST_HALTON: usize = 40;

/// One component, a density in the sampling coordinates.
#[derive(Clone, Debug)]
pub(super) enum Component {
    /// Normal or Student in the continuous coordinates, independent of the counted ones.
    Product { continuous: Option<Elliptical>, counted: Vec<(usize, Marginal)> },
    /// Directions around one.
    Directions(VonMisesFisher),
    /// All directions alike.
    Sphere(UniformSphere),
}

/// Points in both coordinates, column-major.
pub(super) struct Batch {
    pub(super) rows: usize,
    pub(super) z: Vec<f64>,
    pub(super) x: Vec<f64>,
}

/// Which draws: every stage and round, or replicate, has random streams of its own.
#[derive(Clone, Copy)]
pub(super) struct Round {
    pub(super) seed: u64,
    pub(super) stage: u64,
    pub(super) number: u64,
}

impl Round {
    fn stream(self, component: usize) -> Stream {
        let purpose = Purpose::PopulationProposal { stage: self.stage, component: component as u64 };
        purpose.stream(self.seed, self.number)
    }
}

/// Uniforms for one component in one replicate, with the stream that randomised them.
struct Source {
    halton: Option<Halton>,
    stream: Stream,
}

impl Source {
    fn new(dimension: usize, mut stream: Stream) -> Self {
        let halton = (dimension <= MOST_HALTON).then(|| Halton::new(dimension, &mut stream));
        Self { halton, stream }
    }

    fn fill(&mut self, rows: usize, out: &mut [f64]) {
        match &self.halton {
            Some(halton) => halton.fill(0, rows, out),
            None => out.iter_mut().for_each(|u| *u = Open01.sample(&mut self.stream)),
        }
    }
}

impl Component {
    fn draw(&self, rows: usize, z: &mut [f64], mut stream: Stream) {
        match self {
            Self::Product { continuous, counted } => {
                let first = continuous.as_ref().map_or(0, Elliptical::uniforms);
                let mut uniforms = vec![0.0; (first + counted.len()) * rows];
                let mut source = Source::new(first + counted.len(), stream);
                source.fill(rows, &mut uniforms);
                if let Some(elliptical) = continuous {
                    elliptical.draw(&uniforms, rows, z);
                }
                for (at, (axis, marginal)) in counted.iter().enumerate() {
                    let mine = &uniforms[(first + at) * rows..(first + at + 1) * rows];
                    marginal.draw(mine, &mut source.stream, &mut z[axis * rows..(axis + 1) * rows]);
                }
            }
            Self::Directions(vmf) => vmf.draw(&mut stream, rows, z),
            Self::Sphere(uniform) => uniform.draw(&mut stream, rows, z),
        }
    }

    /// The log-density in the sampling coordinates, −∞ where they are none.
    fn log_density(&self, z: &[f64], rows: usize) -> Vec<f64> {
        let mut out = vec![0.0; rows];
        match self {
            Self::Product { continuous, counted } => {
                if let Some(elliptical) = continuous {
                    elliptical.add_log_density(z, rows, &mut out);
                }
                for (axis, marginal) in counted {
                    marginal.add_log_density(&z[axis * rows..(axis + 1) * rows], &mut out);
                }
            }
            Self::Directions(vmf) => vmf.log_density(View::new(z.len() / rows, rows, z), &mut out),
            Self::Sphere(uniform) => uniform.log_density(View::new(z.len() / rows, rows, z), &mut out),
        }
        out.iter_mut().filter(|o| o.is_nan()).for_each(|o| *o = f64::NEG_INFINITY);
        out
    }

    /// Moves to weighted points, one step of expectation–maximisation.
    pub(super) fn refit(&self, batch: &Batch, weights: &[f64]) -> Result<Self> {
        let Batch { rows, z, .. } = batch;
        Ok(match self {
            Self::Product { continuous, counted } => Self::Product {
                continuous: continuous.as_ref().map(|e| e.refit(z, *rows, weights)),
                counted: counted
                    .iter()
                    .map(|(axis, m)| Ok((*axis, m.refit(&z[axis * rows..(axis + 1) * rows], weights)?)))
                    .collect::<Result<_>>()?,
            },
            Self::Directions(vmf) => {
                let view = View::new(z.len() / rows, *rows, z);
                // A fit fails only where the points are too few to say anything.
                Self::Directions(VonMisesFisher::fit(view, Some(weights)).unwrap_or_else(|_| vmf.clone()))
            }
            Self::Sphere(_) => self.clone(),
        })
    }
}

/// A mixture with its shares; the last ones of the list are never given up.
#[derive(Clone)]
pub(super) struct Proposal<'a> {
    pub(super) coordinates: Coordinates<'a>,
    pub(super) components: Vec<Component>,
    /// Shares of the components among themselves; they sum to one.
    pub(super) shares: Vec<f64>,
    /// The last so many components are kept whatever is seen: they guard the tails.
    pub(super) guards: usize,
    /// The noise and its share of all draws.
    pub(super) noise: Option<(&'a dyn Noise, f64)>,
}

impl Proposal<'_> {
    /// How many of `rows` draws each component gets, the noise last.
    fn allocation(&self, rows: usize) -> Vec<usize> {
        let noise = self.noise.map_or(0, |(_, share)| (share * rows as f64).round() as usize);
        let left = rows - noise;
        let mut done = 0.0;
        let mut given = 0;
        let mut counts: Vec<usize> = self
            .shares
            .iter()
            .map(|share| {
                done += share;
                let upto = ((done * left as f64).round() as usize).min(left);
                let mine = upto - given.min(upto);
                given = given.max(upto);
                mine
            })
            .collect();
        if let Some(last) = counts.last_mut() {
            *last += left - given;
        }
        counts.push(noise);
        counts
    }

    /// Draws of all components in their shares.
    pub(super) fn draw(&self, rows: usize, round: Round) -> Batch {
        let dimension = self.coordinates.dimension();
        let counts = self.allocation(rows);
        let (mut z, mut x) = (vec![0.0; dimension * rows], vec![0.0; dimension * rows]);
        let mut first = 0;
        for (k, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (part_z, part_x) = match (self.components.get(k), self.noise) {
                (Some(component), _) => self.draw_component(component, count, round.stream(k)),
                (None, Some((noise, _))) => self.draw_noise(noise, count, round.stream(k)),
                (None, None) => continue,
            };
            for axis in 0..dimension {
                let to = axis * rows + first..axis * rows + first + count;
                let from = axis * count..(axis + 1) * count;
                z[to.clone()].copy_from_slice(&part_z[from.clone()]);
                x[to].copy_from_slice(&part_x[from]);
            }
            first += count;
        }
        Batch { rows, z, x }
    }

    fn draw_component(&self, component: &Component, rows: usize, stream: Stream) -> (Vec<f64>, Vec<f64>) {
        let mut z = vec![0.0; self.coordinates.dimension() * rows];
        component.draw(rows, &mut z, stream);
        let x = self.coordinates.points(&z, rows);
        (z, x)
    }

    fn draw_noise(&self, noise: &dyn Noise, rows: usize, mut stream: Stream) -> (Vec<f64>, Vec<f64>) {
        let mut x = vec![0.0; self.coordinates.dimension() * rows];
        noise.draw(&mut stream, rows, &mut x);
        for axis in self.coordinates.continuous() {
            if *self.coordinates.domain(axis) == Domain::Circle {
                x[axis * rows..(axis + 1) * rows]
                    .iter_mut()
                    .for_each(|a| *a = noisewright_numerics::chart::wrapped(*a));
            }
        }
        (self.coordinates.of_points(&x, rows), x)
    }

    /// The log-density of the mixture as it is allocated to `rows` draws, in the points' own measure, and each
    /// component's part of it.
    pub(super) fn log_density(&self, batch: &Batch, log_noise: Option<&[f64]>, rows: usize) -> Densities {
        let counts = self.allocation(rows);
        let jacobian = self.coordinates.log_jacobian(&batch.z, batch.rows);
        let mut total = vec![f64::NEG_INFINITY; batch.rows];
        let mut parts = Vec::with_capacity(self.components.len());
        for (component, count) in self.components.iter().zip(&counts) {
            let log_share = (*count as f64 / rows as f64).ln();
            let mut part = component.log_density(&batch.z, batch.rows);
            for (i, p) in part.iter_mut().enumerate() {
                *p = if *p == f64::NEG_INFINITY { *p } else { *p + log_share - jacobian[i] };
                total[i] = ln_add_exp(total[i], *p);
            }
            parts.push(part);
        }
        if let (Some(log_noise), Some(count)) = (log_noise, counts.last().filter(|c| **c > 0)) {
            let log_share = (*count as f64 / rows as f64).ln();
            total.iter_mut().zip(log_noise).for_each(|(t, n)| *t = ln_add_exp(*t, n + log_share));
        }
        Densities { total, parts }
    }
}

/// The mixture's log-density at each point and the components' parts of it.
pub(super) struct Densities {
    pub(super) total: Vec<f64>,
    pub(super) parts: Vec<Vec<f64>>,
}
