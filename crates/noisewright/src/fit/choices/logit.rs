//! The loss of the conditional logit: sums over strata of the logarithm of the probability of what was chosen, with its derivatives.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::Columns;
use noisewright_numerics::optimize::{Evaluation, Problem};
use noisewright_numerics::summation::{sum, try_blocked};

use super::subsets::Subsets;
use crate::fit::conditional::{RowLeverage, RowTerms};
use crate::fit::data::Dependence;
use crate::fit::diagnostics::{Block, Rows, Separation, separation};
use crate::fit::differences;
use crate::memory::check_count;
use crate::{Error, Model, Points, Result};

/// Strata that are summed at a time.
const BLOCK: usize = 256;

/// The rows, stratum by stratum with the chosen ones first.
pub(in crate::fit) struct ConditionalLogit<'a> {
    pub(in crate::fit) model: &'a Model,
    pub(in crate::fit) points: Points,
    /// log probability of each row.
    pub(in crate::fit) offset: Vec<f64>,
    /// Where the strata begin, and the end.
    pub(in crate::fit) starts: Vec<usize>,
    /// How many of each stratum were chosen, where that is not one of each.
    pub(in crate::fit) chosen: Option<Vec<usize>>,
    /// How many times each stratum counts.
    pub(in crate::fit) weights: Option<Vec<f64>>,
    /// The cluster of each stratum, where some depend on one another.
    pub(in crate::fit) clusters: Option<Vec<u64>>,
}

/// Sums over strata.
struct Sums {
    loss: f64,
    gradient: DVector<f64>,
    hessian: Option<DMatrix<f64>>,
    /// Whether the model gave its second derivatives.
    curved: bool,
    /// Of every stratum, where they were asked for.
    slopes: Slopes,
}

/// What every stratum says of the parameters.
#[derive(Default)]
pub(in crate::fit) struct Slopes {
    /// The gradient of every stratum's loss, `E Σ ∇u − Σ ∇u` of the chosen with the mean over all sets of as many, stratum after
    /// stratum.
    pub(in crate::fit) values: Vec<f64>,
    /// What every stratum adds to the estimate, corrected for its leverage, where that was asked for.
    influences: Vec<f64>,
    /// The loss of every stratum.
    pub(in crate::fit) losses: Vec<f64>,
    /// The sum of `w v` and of `w² v` over strata, with w their weights and `v = Σ_{j>0} p_j² (∇u_j − m)(∇u_j − m)ᵀ`, m the mean
    /// under the shares: the variance of a slope over alternatives that are drawn independently, to first order in one over
    /// their number.
    pub(in crate::fit) of_draws: Option<[DMatrix<f64>; 2]>,
    /// The sum of `1/Σ p_j²`, how many equal alternatives a stratum is worth.
    pub(in crate::fit) effective: f64,
}

impl Slopes {
    fn add(
        &mut self,
        weight: f64,
        shares: &[f64],
        slope: &DVector<f64>,
        apart: impl Fn(usize) -> DVector<f64>,
    ) {
        let size = slope.len();
        self.values.extend(slope.iter());
        self.effective += 1.0 / shares.iter().map(|share| share * share).sum::<f64>();
        let square = || DMatrix::zeros(size, size);
        let [once, twice] = self.of_draws.get_or_insert_with(|| [square(), square()]);
        for (row, share) in shares.iter().enumerate().skip(1) {
            let apart = apart(row);
            once.ger(weight * share * share, &apart, &apart, 1.0);
            twice.ger((weight * share).powi(2), &apart, &apart, 1.0);
        }
    }

    /// What the rows say of the parameters.
    pub(in crate::fit) fn terms(&self) -> RowTerms<'_> {
        RowTerms { slopes: &self.values, influences: &self.influences }
    }

    fn join(mut self, other: Self) -> Self {
        self.values.extend(other.values);
        self.influences.extend(other.influences);
        self.losses.extend(other.losses);
        self.effective += other.effective;
        self.of_draws = match (self.of_draws, other.of_draws) {
            (Some([a, b]), Some([c, d])) => Some([a + c, b + d]),
            (one, other) => one.or(other),
        };
        self
    }
}

/// What is summed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Gradient,
    Hessian,
    Strata,
}

/// What is summed, by which parameters, and how many times each stratum counts.
#[derive(Clone, Copy)]
struct Ask<'w> {
    order: Order,
    /// Some of the parameters, or all of them.
    of: Option<&'w [usize]>,
    weights: Option<&'w [f64]>,
    /// How the influences of strata are corrected, where they are wanted.
    leverage: Option<&'w RowLeverage>,
}

/// Some rows at parameter values, with their scores.
struct Seen<'s> {
    first: usize,
    rows: usize,
    value: &'s [f64],
    score: &'s [f64],
}

impl ConditionalLogit<'_> {
    pub(in crate::fit) fn strata(&self) -> usize {
        self.starts.len() - 1
    }

    /// The sum of the weights.
    pub(in crate::fit) fn total(&self) -> f64 {
        self.weights.as_ref().map_or(self.strata() as f64, |weights| sum(weights))
    }

    /// How many times a stratum counts.
    pub(in crate::fit) fn weight(&self, stratum: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[stratum])
    }

    /// Which strata depend on one another.
    pub(in crate::fit) fn dependence(&self) -> Dependence<'_> {
        self.clusters.as_deref().map_or(Dependence::Independent, Dependence::Clusters)
    }

    /// How many of a stratum were chosen.
    pub(in crate::fit) fn chosen(&self, stratum: usize) -> usize {
        self.chosen.as_ref().map_or(1, |chosen| chosen[stratum])
    }

    /// How many choices were made: of several in a stratum those that were chosen or those that were not, whichever are fewer.
    pub(in crate::fit) fn choices(&self) -> f64 {
        let made = |stratum: usize| {
            let chosen = self.chosen(stratum);
            self.weight(stratum) * chosen.min(self.stratum(stratum).len() - chosen) as f64
        };
        match &self.chosen {
            None => self.total(),
            Some(_) => (0..self.strata()).map(made).sum(),
        }
    }

    /// The rows of a stratum.
    pub(in crate::fit) fn stratum(&self, index: usize) -> Range<usize> {
        self.starts[index]..self.starts[index + 1]
    }

    fn sums(&self, theta: &[f64], strata: Range<usize>, ask: Ask<'_>) -> Result<Sums> {
        let (first, last) = (self.starts[strata.start], self.starts[strata.end]);
        let (rows, size) = (last - first, ask.of.map_or(theta.len(), <[usize]>::len));
        let points = self.points.view().slice(first..last);
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * theta.len()]);
        self.model.evaluate(theta, points, &mut value, Some(&mut score))?;
        let seen = Seen { first, rows, value: &value, score: &score };
        let mut sums = Sums::zero(size, ask.order == Order::Hessian);
        let mut excess = vec![0.0; rows];
        for stratum in strata {
            self.add_stratum(stratum, &seen, ask, &mut sums, &mut excess);
            if sums.loss == f64::INFINITY {
                return Ok(sums);
            }
        }
        if let (Some(hessian), None) = (&mut sums.hessian, ask.of) {
            sums.curved = self.model.add_curvature(theta, points, &excess, hessian.as_mut_slice())?;
        }
        Ok(sums)
    }

    /// Adds one stratum to the sums, and by how much its rows count in the mean of second derivatives.
    fn add_stratum(
        &self,
        stratum: usize,
        seen: &Seen<'_>,
        ask: Ask<'_>,
        sums: &mut Sums,
        excess: &mut [f64],
    ) {
        let (range, chosen, size) = (self.stratum(stratum), self.chosen(stratum), sums.gradient.len());
        let weight = ask.weights.or(self.weights.as_deref()).map_or(1.0, |weights| weights[stratum]);
        if weight == 0.0 {
            // What does not count may have no density.
            if ask.order == Order::Strata {
                let zeros = || std::iter::repeat_n(0.0, size);
                sums.slopes.values.extend(zeros());
                if ask.leverage.is_some() {
                    sums.slopes.influences.extend(zeros());
                }
                sums.slopes.losses.push(0.0);
            }
            return;
        }
        let here = range.start - seen.first..range.end - seen.first;
        let s: Vec<f64> = here.clone().map(|i| seen.value[i] - self.offset[seen.first + i]).collect();
        if s[..chosen].contains(&f64::NEG_INFINITY) {
            sums.loss = f64::INFINITY;
            return;
        }
        let sets = Subsets::new(&s, chosen);
        let loss = sets.log_sum - s[..chosen].iter().sum::<f64>();
        sums.loss += weight * loss;
        let column = |j: usize| ask.of.map_or(j, |of| of[j]);
        let at =
            |row: usize| DVector::from_fn(size, |j, _| seen.score[column(j) * seen.rows + here.start + row]);
        let mut mean = DVector::zeros(size);
        for (row, share) in sets.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            mean.axpy(*share, &at(row), 1.0);
        }
        if let Some(hessian) = &mut sums.hessian {
            sets.add_covariance(weight, &mean, at, hessian);
        }
        let slope = (0..chosen).fold(mean.clone(), |slope, row| slope - at(row));
        sums.gradient.axpy(weight, &slope, 1.0);
        if ask.order == Order::Strata {
            sums.slopes.losses.push(loss);
            sums.slopes.add(weight, &sets.shares, &slope, |row| at(row) - &mean);
            if let Some(leverage) = ask.leverage {
                let mut information = DMatrix::zeros(size, size);
                sets.add_covariance(1.0, &mean, at, &mut information);
                sums.slopes.influences.extend(leverage.influence(&slope, &information).iter());
            }
        }
        for (row, (excess, share)) in excess[here.clone()].iter_mut().zip(&sets.shares).enumerate() {
            *excess = weight * (share - if row < chosen { 1.0 } else { 0.0 });
        }
    }

    /// Sums over all strata, always in the same blocks.
    fn all(&self, theta: &[f64], ask: Ask<'_>) -> Result<Sums> {
        let block = if self.model.energy().prefers_batches() { self.strata() } else { BLOCK };
        let sums = try_blocked(self.strata(), block, |strata| self.sums(theta, strata, ask), Sums::add)?;
        sums.ok_or(Error::NoData)
    }

    /// What every stratum says of the parameters, in their order.
    pub(in crate::fit) fn slopes(&self, theta: &[f64], leverage: Option<&RowLeverage>) -> Result<Slopes> {
        Ok(self.all(theta, Ask { order: Order::Strata, of: None, weights: None, leverage })?.slopes)
    }

    /// The mean loss by some of the parameters of a linear model, or all, with its derivatives, strata counting as often as
    /// the weights say.
    pub(in crate::fit) fn weighted(
        &self,
        at: &DVector<f64>,
        hessian: bool,
        of: Option<&[usize]>,
        weights: Option<&[f64]>,
    ) -> Result<Evaluation> {
        let (total, theta) = (weights.map_or_else(|| self.total(), sum), at.as_slice());
        let order = if hessian { Order::Hessian } else { Order::Gradient };
        let sums = match self.all(theta, Ask { order, of, weights, leverage: None }) {
            Ok(sums) if sums.loss.is_finite() => sums,
            // Parameters that the model does not allow, or at which it has no number, are no place to go to.
            Ok(_) | Err(Error::Parameter { .. } | Error::NotANumber { .. }) => {
                return Ok(Evaluation::wall(of.map_or(at.len(), <[usize]>::len)));
            }
            Err(error) => return Err(error),
        };
        let mut matrix = sums.hessian;
        if hessian && !sums.curved {
            // Differences of the gradient, for a model without second derivatives.
            let ask = Ask { order: Order::Gradient, of, weights, leverage: None };
            let gradient = |theta: &[f64]| Ok(self.all(theta, ask)?.gradient);
            matrix = Some(differences::hessian(theta, |j| 1.0 + at[j].abs(), gradient)?);
        }
        let hessian = matrix.map(|matrix| matrix / total);
        Ok(Evaluation { value: sums.loss / total, gradient: sums.gradient / total, hessian })
    }

    /// The variance of every score within the strata, pooled, all alternatives counting alike.
    pub(in crate::fit) fn variances_within(&self, theta: &[f64]) -> Result<Vec<f64>> {
        let score = self.scores(theta)?;
        let rows = self.points.rows();
        let pooled = |column: &[f64]| {
            let (mut squares, mut freedom) = (0.0, 0.0);
            for stratum in 0..self.strata() {
                let here = &column[self.stratum(stratum)];
                let (mean, weight) = (sum(here) / here.len() as f64, self.weight(stratum));
                squares += weight * here.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
                freedom += weight * (here.len() as f64 - 1.0);
            }
            if freedom > 0.0 { squares / freedom } else { 0.0 }
        };
        Ok(score.chunks_exact(rows.max(1)).map(pooled).collect())
    }

    fn scores(&self, theta: &[f64]) -> Result<Vec<f64>> {
        let rows = self.points.rows();
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * theta.len()]);
        self.model.evaluate(theta, self.points.view(), &mut value, Some(&mut score))?;
        Ok(score)
    }

    pub(in crate::fit) fn indistinct(&self, direction: &DVector<f64>) -> Error {
        let largest = direction.amax();
        let involved =
            self.model.parameters().iter().zip(direction.iter()).filter(|(_, d)| d.abs() > 1e-6 * largest);
        Error::Collinear { parameters: involved.map(|(p, _)| p.name.clone()).collect() }
    }

    /// The direction in which the parameters of a linear model run to infinity, where they do: no chosen alternative is then
    /// below one that was not.
    pub(in crate::fit) fn separation(&self) -> Result<Option<Separation>> {
        let (rows, size) = (self.points.rows(), self.model.parameters().len());
        let counting: Vec<usize> = (0..self.strata()).filter(|k| self.weight(*k) > 0.0).collect();
        let pairs = counting.iter().map(|k| self.chosen(*k) * (self.stratum(*k).len() - self.chosen(*k)));
        let pairs: usize = pairs.sum();
        check_count("pairs of alternatives", pairs, size)?;
        let score = self.scores(&self.model.start())?;
        let mut differences = Vec::with_capacity(pairs * size);
        for column in score.chunks_exact(rows) {
            for stratum in counting.iter().copied() {
                let (chosen, others) = column[self.stratum(stratum)].split_at(self.chosen(stratum));
                differences.extend(chosen.iter().flat_map(|own| others.iter().map(move |other| own - other)));
            }
        }
        let names: Vec<String> = self.model.parameters().iter().map(|p| p.name.clone()).collect();
        separation(&Differences { score: &differences, rows: pairs, size }, &names)
    }
}

impl Sums {
    fn zero(size: usize, hessian: bool) -> Self {
        let square = || DMatrix::zeros(size, size);
        let hessian = hessian.then(square);
        Self { loss: 0.0, gradient: DVector::zeros(size), hessian, curved: true, slopes: Slopes::default() }
    }

    fn add(self, other: Self) -> Self {
        Self {
            loss: self.loss + other.loss,
            gradient: self.gradient + other.gradient,
            hessian: self.hessian.zip(other.hessian).map(|(a, b)| a + b),
            curved: self.curved && other.curved,
            slopes: self.slopes.join(other.slopes),
        }
    }
}

impl Problem for ConditionalLogit<'_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.total()
    }

    fn is_convex(&self) -> bool {
        self.model.energy().is_linear()
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        self.weighted(at, hessian, None, None)
    }
}

/// The same strata, each counting as often as a weight says.
pub(in crate::fit) struct Reweighted<'l, 'a> {
    pub(in crate::fit) logit: &'l ConditionalLogit<'a>,
    pub(in crate::fit) weights: &'l [f64],
}

impl Problem for Reweighted<'_, '_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        sum(self.weights)
    }

    fn is_convex(&self) -> bool {
        self.logit.is_convex()
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        self.logit.weighted(at, hessian, None, Some(self.weights))
    }
}

/// Scores of chosen alternatives less those of others, as rows of data.
struct Differences<'s> {
    score: &'s [f64],
    rows: usize,
    size: usize,
}

impl Rows for Differences<'_> {
    fn coordinates(&self) -> usize {
        self.size
    }

    fn gather<T: Send>(
        &self,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Block<'_>) + Sync,
        _: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        let mut total = new();
        let score = Columns::new(self.score, self.rows, self.size, self.rows);
        let log_ratio = vec![0.0; self.rows];
        add(
            &mut total,
            &Block { data: true, rows: self.rows, first_row: 0, score, log_ratio: &log_ratio, weights: None },
        );
        Ok(total)
    }
}
