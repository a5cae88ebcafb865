//! The log ratio of two samples as a sum over bridges between waymarks, with the joint error of all bridges (MATH §12).
//!
//! All bridges have the same features in the same coordinates, so that the sum of their coefficients is that of the log ratio. A row,
//! or a pair of rows where there are waymarks, moves the coefficients of bridge k by `φ_k = −H_k⁻¹ Σ ∇ℓ`, the sum over its own
//! terms; the covariance is that of `Σ_k φ_k` over rows.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram};
use noisewright_numerics::summation::{mean, try_blocked};

use super::contrast::{self, Features, Solved};
use super::functionals::Functional;
use super::waymarks::{Path, Samples};
use crate::fit::loss_terms::Class;
use crate::fit::objective::Objective;
use crate::fit::options::FitOptions;
use crate::fit::sample_blocks::{CHUNK, HeldPoints};
use crate::fit::scaling::Scaling;
use crate::{Model, Result};

/// One bridge: neighbouring waymarks told apart.
#[derive(Clone, Debug)]
pub(super) struct Bridge {
    /// α of its two ends.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) solved: Solved,
    /// Jeffreys' divergence of its ends.
    pub(super) divergence: f64,
}

/// A chain of bridges from the first sample to the second.
pub(super) struct Telescope<'a> {
    pub(super) model: &'a Model,
    pub(super) samples: Samples<'a>,
    pub(super) scaling: Scaling,
    pub(super) bridges: Vec<Bridge>,
    center: Vec<f64>,
}

/// What is known of the log ratio in the end.
pub(super) struct Joint {
    /// Covariance of the coefficients, in the coordinates of scaled features.
    pub(super) covariance: DMatrix<f64>,
    /// Leave-one-out log ratios of both samples, of the pairs where rows are pairs.
    pub(super) log_ratios: [Vec<f64>; 2],
    /// Estimate, and the variance that either sample gives it, of every functional.
    pub(super) functionals: Vec<(f64, [f64; 2])>,
}

/// Sums over some rows.
struct Part {
    gram: DMatrix<f64>,
    sum: DVector<f64>,
    /// Leave-one-out log ratios at the rows of the first and of the second sample.
    log_ratios: [Vec<f64>; 2],
    /// What every unit adds to the functionals through the coefficients, unit after unit.
    along: Vec<f64>,
}

impl Part {
    fn join(mut self, other: Self) -> Self {
        self.gram += other.gram;
        self.sum += other.sum;
        let [first, second] = other.log_ratios;
        self.log_ratios[0].extend(first);
        self.log_ratios[1].extend(second);
        self.along.extend(other.along);
        self
    }
}

impl<'a> Telescope<'a> {
    /// Fits bridges between these places of α; one bridge is the plain ratio of both samples.
    ///
    /// # Errors
    /// When a feature is not a number, features cannot be told apart, or it is cancelled.
    pub(super) fn fit(
        model: &'a Model,
        samples: Samples<'a>,
        scaling: &Scaling,
        places: &[f64],
        (prior, tolerance): (f64, f64),
        options: &FitOptions,
    ) -> Result<Self> {
        let center = samples.center();
        let mut bridges = Vec::with_capacity(places.len() - 1);
        for ends in places.windows(2) {
            let objective = bridge_objective(model, samples, scaling, &center, [ends[0], ends[1]])?;
            let start = bridges.last().map(|bridge: &Bridge| bridge.solved.at.clone());
            let solved = contrast::solve(&objective, prior, start.as_ref(), tolerance, options)?;
            let divergence = jeffreys(&objective, &solved)?;
            bridges.push(Bridge { from: ends[0], to: ends[1], solved, divergence });
        }
        Ok(Self { model, samples, scaling: scaling.clone(), bridges, center })
    }

    /// The coefficients of the log ratio.
    pub(super) fn coefficients(&self) -> DVector<f64> {
        let mut all = self.bridges.iter().map(|bridge| &bridge.solved.at);
        let first = all.next().cloned().unwrap_or_else(|| DVector::zeros(self.scaling.scale.len() + 1));
        all.fold(first, |sum, at| sum + at)
    }

    /// The path with the divergences that were measured.
    pub(super) fn path(&self) -> Path {
        let places = self.bridges.iter().map(|b| b.from).chain(std::iter::once(1.0)).collect();
        let divergences: Vec<f64> = self.bridges.iter().map(|b| b.divergence).collect();
        Path::measured(places, &divergences)
    }

    /// Variance, of the coefficients, of the bias that the penalty gives them if its prior holds: `H⁻¹ΛH⁻¹/n` of each bridge, which with
    /// the spread of the estimate makes up the posterior covariance (Nychka 1988).
    pub(super) fn bias(&self) -> DMatrix<f64> {
        let size = self.scaling.scale.len() + 1;
        let mut total = DMatrix::zeros(size, size);
        for solved in self.bridges.iter().map(|bridge| &bridge.solved) {
            let mut half = solved.bread.clone();
            half.column_mut(size - 1).fill(0.0);
            total += &half * solved.bread.transpose() * (solved.strength / solved.rows);
        }
        total
    }

    fn features(&self, points: crate::View<'_>) -> Result<Features> {
        Features::new(self.model, &self.scaling, points)
    }

    /// The covariance and the functionals of the log ratio.
    ///
    /// # Errors
    /// When a feature is not a number.
    pub(super) fn joint(&self, functionals: &[Functional]) -> Result<Joint> {
        let total = self.coefficients();
        let slopes = self.slopes(&total, functionals)?;
        if self.is_paired() {
            let size = self.samples.units();
            let part = self.over(size, |range| self.pairs(range, &total, &slopes))?;
            return Ok(self.paired_joint(part, functionals));
        }
        let first = self.over(self.samples.first.rows(), |r| self.rows(Class::Data, r, &total, &slopes))?;
        let second =
            self.over(self.samples.second.rows(), |r| self.rows(Class::Noise, r, &total, &slopes))?;
        Ok(unpaired_joint([first, second], functionals))
    }

    fn is_paired(&self) -> bool {
        self.samples.paired || self.bridges.len() > 1
    }

    fn over(&self, rows: usize, map: impl Fn(Range<usize>) -> Result<Part> + Sync) -> Result<Part> {
        let part = try_blocked(rows, CHUNK, map, Part::join)?;
        part.ok_or(crate::Error::NoData)
    }

    /// The derivative of every functional by the coefficients, one column each.
    fn slopes(&self, total: &DVector<f64>, functionals: &[Functional]) -> Result<DMatrix<f64>> {
        let size = total.len();
        let mut slopes = DMatrix::zeros(size, functionals.len());
        for (side, view) in [self.samples.first, self.samples.second].into_iter().enumerate() {
            let one = |range: Range<usize>| -> Result<DMatrix<f64>> {
                let features = self.features(view.slice(range))?;
                let g = features.log_ratio(total);
                let weights = DMatrix::from_fn(g.len(), functionals.len(), |i, f| {
                    functionals[f].at(side, g[i]).1 / view.rows() as f64
                });
                Ok(features.psi.tr_mul(&weights))
            };
            slopes += try_blocked(view.rows(), CHUNK, one, |a, b| a + b)?.ok_or(crate::Error::NoData)?;
        }
        Ok(slopes)
    }

    /// Rows of one of two independent samples.
    fn rows(
        &self,
        class: Class,
        range: Range<usize>,
        total: &DVector<f64>,
        slopes: &DMatrix<f64>,
    ) -> Result<Part> {
        let (n1, n2) = (self.samples.first.rows() as f64, self.samples.second.rows() as f64);
        let nu = n2 / n1;
        let (view, unit) = match class {
            Class::Data => (self.samples.first, 1.0 / n1),
            Class::Noise => (self.samples.second, nu / n2),
        };
        let solved = &self.bridges[0].solved;
        let features = self.features(view.slice(range))?;
        let moved = features.scores(class, &solved.at, nu, unit) * &solved.bread * -1.0;
        let left_out = left_out(&features, total, &moved);
        let log_ratios = match class {
            Class::Data => [left_out, Vec::new()],
            Class::Noise => [Vec::new(), left_out],
        };
        Ok(part(&moved, slopes, log_ratios))
    }

    /// Pairs of rows, with their waymarks on all bridges; those that share a row of the smaller sample are one unit.
    fn pairs(&self, units: Range<usize>, total: &DVector<f64>, slopes: &DMatrix<f64>) -> Result<Part> {
        let (count, pairs) = (self.samples.units(), self.samples.pairs());
        let mut moved = DMatrix::zeros(units.len(), total.len());
        let mut ends = Vec::new();
        for start in (units.start..pairs).step_by(count) {
            let range = start..(start + units.len()).min(pairs);
            let found = self.pair_influence(range, &mut moved)?;
            ends.push(found);
        }
        let mut log_ratios = [Vec::new(), Vec::new()];
        for [first, second] in &ends {
            let rows = first.psi.nrows();
            let moved = moved.rows(0, rows).into_owned();
            log_ratios[0].extend(left_out(first, total, &moved));
            log_ratios[1].extend(left_out(second, total, &moved));
        }
        Ok(part(&moved, slopes, log_ratios))
    }

    /// Adds what some pairs do to the coefficients of all bridges; gives the features at both ends.
    fn pair_influence(&self, pairs: Range<usize>, moved: &mut DMatrix<f64>) -> Result<[Features; 2]> {
        let unit = 1.0 / self.samples.pairs() as f64;
        let at = |alpha: f64| {
            let points = self.samples.waymark(alpha, &self.center, pairs.clone());
            self.features(points.view())
        };
        let start = at(0.0)?;
        let mut near: Option<Features> = None;
        for bridge in &self.bridges {
            let far = at(bridge.to)?;
            let here = near.as_ref().unwrap_or(&start);
            let solved = &bridge.solved;
            let scores = here.scores(Class::Data, &solved.at, 1.0, unit)
                + far.scores(Class::Noise, &solved.at, 1.0, unit);
            let mut rows = moved.rows_mut(0, pairs.len());
            rows -= scores * &solved.bread;
            near = Some(far);
        }
        let end = match near {
            Some(far) => far,
            None => at(1.0)?,
        };
        Ok([start, end])
    }

    /// Estimates and variances where all pairs are one list of units.
    fn paired_joint(&self, part: Part, functionals: &[Functional]) -> Joint {
        let (units, count) = (self.samples.units(), functionals.len());
        let covariance = centred(&part, units);
        let pairs = self.samples.pairs() as f64;
        let second_order = second_order_variance(covariance.nrows(), units);
        let found = functionals.iter().enumerate().map(|(f, functional)| {
            let values: [Vec<f64>; 2] =
                [0, 1].map(|side| part.log_ratios[side].iter().map(|g| functional.at(side, *g).0).collect());
            let means = [mean(&values[0]), mean(&values[1])];
            // Of unit u the pairs u, u + units, … come chunk by chunk; their values are summed by the unit they belong to.
            let mut z: Vec<f64> = (0..units).map(|u| part.along[u * count + f]).collect();
            for (i, unit) in unit_of_pairs(units, self.samples.pairs()).enumerate() {
                z[unit] += (values[0][i] - means[0] + values[1][i] - means[1]) / pairs;
            }
            let variance = dependent_variance(&z, self.samples.lag) + second_order;
            (functional.offset + means[0] + means[1], [variance, 0.0])
        });
        let functionals = found.collect();
        Joint { covariance, log_ratios: part.log_ratios, functionals }
    }
}

/// The unit of every pair, in the order in which chunks of units list their pairs.
fn unit_of_pairs(units: usize, pairs: usize) -> impl Iterator<Item = usize> {
    (0..units).step_by(CHUNK).flat_map(move |start| {
        let end = (start + CHUNK).min(units);
        (start..pairs).step_by(units).flat_map(move |first| {
            let last = (first + end - start).min(pairs);
            (first..last).map(move |pair| pair % units)
        })
    })
}

/// The loss of a bridge, in the coordinates of the path.
pub(super) fn bridge_objective<'a>(
    model: &'a Model,
    samples: Samples<'a>,
    scaling: &Scaling,
    center: &[f64],
    [from, to]: [f64; 2],
) -> Result<Objective<'a>> {
    let held = |alpha: f64| match alpha {
        _ if (from, to) == (0.0, 1.0) && alpha == 0.0 => HeldPoints::Borrowed(samples.first),
        _ if (from, to) == (0.0, 1.0) => HeldPoints::Borrowed(samples.second),
        alpha => HeldPoints::Owned(samples.waymark(alpha, center, 0..samples.pairs())),
    };
    let (first, second) = (held(from), held(to));
    contrast::objective(model, first, second, scaling)
}

/// Jeffreys' divergence between the ends of a bridge.
fn jeffreys(objective: &Objective<'_>, solved: &Solved) -> Result<f64> {
    let means = contrast::mean_log_ratios(objective, &solved.at)?;
    Ok(means[0] - means[1])
}

/// Log ratios at rows at the coefficients that all others would give.
fn left_out(features: &Features, total: &DVector<f64>, moved: &DMatrix<f64>) -> Vec<f64> {
    let g = features.log_ratio(total);
    let own = features.psi.component_mul(moved).column_sum();
    g.iter().zip(own.iter()).map(|(g, own)| g - own).collect()
}

fn part(moved: &DMatrix<f64>, slopes: &DMatrix<f64>, log_ratios: [Vec<f64>; 2]) -> Part {
    let (rows, size) = moved.shape();
    let mut gram = DMatrix::zeros(size, size);
    weighted_gram(Columns::new(moved.as_slice(), rows, size, rows), &vec![1.0; rows], gram.as_mut_slice());
    let along = (moved * slopes).transpose();
    Part { gram, sum: moved.row_sum().transpose(), log_ratios, along: along.as_slice().to_vec() }
}

/// The sum of squares around the mean.
fn centred(part: &Part, rows: usize) -> DMatrix<f64> {
    &part.gram - &part.sum * part.sum.transpose() / rows as f64
}

fn unpaired_joint(parts: [Part; 2], functionals: &[Functional]) -> Joint {
    let count = functionals.len();
    let rows = [parts[0].log_ratios[0].len(), parts[1].log_ratios[1].len()];
    let covariance = centred(&parts[0], rows[0]) + centred(&parts[1], rows[1]);
    let second_order = 0.5 * second_order_variance(covariance.nrows(), rows[0].min(rows[1]));
    let one = |(f, functional): (usize, &Functional)| {
        let side = |side: usize| {
            let g = &parts[side].log_ratios[side];
            let values: Vec<f64> = g.iter().map(|g| functional.at(side, *g).0).collect();
            let middle = mean(&values);
            let n = values.len() as f64;
            let z: Vec<f64> = values
                .iter()
                .enumerate()
                .map(|(i, v)| (v - middle) / n + parts[side].along[i * count + f])
                .collect();
            (middle, dependent_variance(&z, 0) + second_order)
        };
        let (first, second) = (side(0), side(1));
        (functional.offset + first.0 + second.0, [first.1, second.1])
    };
    let functionals = functionals.iter().enumerate().map(one).collect();
    let [first, second] = parts;
    Joint { covariance, log_ratios: [first.log_ratios[0].clone(), second.log_ratios[1].clone()], functionals }
}

/// What is left of the error where the densities are equal: there the first-order terms of a divergence vanish, and k coefficients
/// from n rows move it by the order of k/n.
fn second_order_variance(unknowns: usize, rows: usize) -> f64 {
    (unknowns.saturating_sub(1) as f64 / rows as f64).powi(2)
}

/// The variance of a sum of terms of which those up to so many places apart, around a circle, depend on each other.
fn dependent_variance(z: &[f64], lag: usize) -> f64 {
    let middle = mean(z);
    let at = |i: usize| z[i % z.len()] - middle;
    let product = |l: usize| (0..z.len()).map(|i| at(i) * at(i + l)).sum::<f64>();
    let alone = product(0);
    let all = alone + 2.0 * (1..=lag).map(product).sum::<f64>();
    // A sum of few products may come out below zero, which no variance does.
    if all > 0.0 { all } else { alone }
}
