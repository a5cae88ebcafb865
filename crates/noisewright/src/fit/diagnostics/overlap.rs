//! How much data and noise have in common, and whether the noise's tails reach as far as the data's.

use noisewright_numerics::kernels;
use noisewright_numerics::summation::{dot, sum};

use super::rows::Block;
use crate::fit::distributed::partial_fields;
use crate::pareto::{Largest, Shape};

/// Most log ratios of noise points that the tail is fitted to: the first ones, which are as random as any.
const MOST_WEIGHTS: usize = 1 << 15;

/// How much data and noise overlap under the fitted classifier.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Overlap {
    /// Expected number of data points that the classifier gives to the noise, `Σ_d 1/(1+r)`.
    pub data_taken_for_noise: f64,
    /// Expected number of noise points that the classifier gives to the data, `Σ_n r/(1+r)`.
    pub noise_taken_for_data: f64,
    /// Data points in the region of overlap, `(Σ q)² / Σ q²` with `q = 1/(1+r)`: all of them when p_n = p_d.
    pub effective_data: f64,
    /// Noise points in the region of overlap, with `q = r/(1+r)`.
    pub effective_noise: f64,
    /// `E_d[p_n / ((1−π) p_d + π p_n)]`, one less the harmonic divergence: 1 when p_n = p_d, 0 when they are apart.
    pub overlap: f64,
}

impl Overlap {
    /// The smaller of the two expected numbers of confusions.
    #[must_use]
    pub fn confusions(&self) -> f64 {
        self.data_taken_for_noise.min(self.noise_taken_for_data)
    }
}

/// Whether the noise's tails reach as far as the data's.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Tails {
    /// The largest `log p − log p_n` of a data point.
    pub largest_log_ratio_data: f64,
    /// The largest `log p − log p_n` of a noise point.
    pub largest_log_ratio_noise: f64,
    /// Shape k̂ of the tail of the noise points' weights p/p_n (Vehtari et al. 2024): above 0.7 their mean cannot be
    /// trusted, above ½ they have no variance; absent for fewer than 25 noise points.
    pub pareto_k: Option<f64>,
    /// Shape of the tail of the data points' inverse ratios p_n/p, which losses other than JS and KL weight them with:
    /// a weight r^{−a} has no variance when a times it is above ½; absent for fewer than 25 rows.
    pub inverse_pareto_k: Option<f64>,
    /// Data points where `p/p_n` exceeds the number of noise points, so that less than one noise point is expected among
    /// all of that ratio or more (`P_n(p/p_n ≥ R) ≤ 1/R`): tails that never are visited do not show in k̂.
    pub out_of_reach: f64,
}

/// Sums over one side.
#[derive(Clone, Copy, Default)]
struct Share {
    points: f64,
    sum: f64,
    squares: f64,
}

impl Share {
    fn add(&mut self, weight: f64, q: f64) {
        self.points += weight;
        self.sum += weight * q;
        self.squares += weight * q * q;
    }

    fn join(self, other: Self) -> Self {
        Self {
            points: self.points + other.points,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    fn effective(self) -> f64 {
        if self.squares > 0.0 { self.sum * self.sum / self.squares } else { 0.0 }
    }
}

partial_fields!(Share { points, sum, squares });
/// How much of some rows is left by weights that are a power of the inverse ratio, gathered with the largest of them as the unit.
#[derive(Clone, Copy)]
struct PowerShare {
    exponent: f64,
    /// The largest negative log ratio.
    top: f64,
    share: Share,
}

impl PowerShare {
    fn new(exponent: f64) -> Self {
        Self { exponent, top: f64::NEG_INFINITY, share: Share::default() }
    }

    /// The same weights in a unit that is no smaller.
    fn in_units_of(mut self, top: f64) -> Self {
        if top > self.top {
            let factor = (self.exponent * (self.top - top)).exp();
            self.share.sum *= factor;
            self.share.squares *= factor * factor;
            self.top = top;
        }
        self
    }

    /// Takes in some finite negative log ratios.
    fn add(&mut self, inverse: impl Iterator<Item = f64> + Clone) {
        if self.exponent > 0.0 {
            let top = inverse.clone().fold(self.top, f64::max);
            *self = self.in_units_of(top);
            inverse.for_each(|g| self.share.add(1.0, (self.exponent * (g - top)).exp()));
        }
    }

    fn join(self, other: Self) -> Self {
        let top = self.top.max(other.top);
        let [mine, theirs] = [self, other].map(|one| one.in_units_of(top));
        Self { share: mine.share.join(theirs.share), ..mine }
    }
}

partial_fields!(PowerShare { exponent, top, share });
partial_fields!(Gathered { reach, out_of_reach, data, noise, largest, log_ratios, inverse, weighted });

/// Both figures, gathered block by block.
pub(crate) struct Gathered {
    /// g from which on a data point is out of reach: the logarithm of the number of data points.
    reach: f64,
    out_of_reach: f64,
    data: Share,
    noise: Share,
    /// Largest g of data and of noise rows.
    largest: [Option<f64>; 2],
    /// The largest log ratios of noise rows.
    log_ratios: Largest,
    /// The largest negative log ratios of data rows.
    inverse: Largest,
    /// Data rows with the weights that the loss gives them.
    weighted: PowerShare,
}

impl Gathered {
    /// Nothing yet, of so many data points, which the loss weights by this power of the inverse ratio.
    pub(crate) fn new(data_points: f64, inverse_power: f64) -> Self {
        Self {
            reach: data_points.ln(),
            out_of_reach: 0.0,
            data: Share::default(),
            noise: Share::default(),
            largest: [None; 2],
            log_ratios: Largest::of_at_most(MOST_WEIGHTS),
            inverse: Largest::of_at_most(MOST_WEIGHTS),
            weighted: PowerShare::new(inverse_power),
        }
    }

    /// Takes in some rows.
    pub(crate) fn add(&mut self, block: &Block<'_>) {
        self.take_shares(block);
        let largest = &mut self.largest[usize::from(!block.data)];
        let top = match block.weights {
            None => Some(kernels::max(block.log_ratio)).filter(|_| !block.log_ratio.is_empty()),
            Some(_) => {
                let counting = block.log_ratio.iter().enumerate().filter(|(row, _)| block.weight(*row) > 0.0);
                counting.map(|(_, g)| *g).reduce(f64::max)
            }
        };
        if let Some(top) = top {
            *largest = Some(largest.map_or(top, |largest| largest.max(top)));
        }
        if block.data && top.is_some_and(|top| top > self.reach) {
            let beyond = block.log_ratio.iter().enumerate().filter(|(_, g)| **g > self.reach);
            self.out_of_reach += beyond.map(|(row, _)| block.weight(row)).sum::<f64>();
        }
        let finite = block.log_ratio.iter().copied().filter(|g| g.is_finite());
        if block.first_row >= MOST_WEIGHTS {
            return;
        }
        if block.data {
            let inverse = finite.map(|g| -g);
            self.weighted.add(inverse.clone());
            self.inverse.add(inverse);
        } else {
            self.log_ratios.add(finite);
        }
    }

    /// Takes in what the classifier makes of some rows.
    fn take_shares(&mut self, block: &Block<'_>) {
        let side = if block.data { &mut self.data } else { &mut self.noise };
        let opposite: Vec<f64> = block.log_ratio.iter().map(|g| -block.sign() * g).collect();
        let mut q = vec![0.0; opposite.len()];
        kernels::sigmoid(&opposite, &mut q);
        match block.weights {
            None => *side = side.join(Share { points: q.len() as f64, sum: sum(&q), squares: dot(&q, &q) }),
            Some(weights) => {
                let counting = weights.iter().zip(&q).filter(|(weight, _)| **weight > 0.0);
                counting.for_each(|(weight, q)| side.add(*weight, *q));
            }
        }
    }

    /// Both of two neighbouring parts of the rows.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.data = self.data.join(other.data);
        self.noise = self.noise.join(other.noise);
        self.out_of_reach += other.out_of_reach;
        for (mine, theirs) in self.largest.iter_mut().zip(other.largest) {
            *mine = match (*mine, theirs) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
        }
        self.log_ratios = self.log_ratios.join(other.log_ratios);
        self.inverse = self.inverse.join(other.inverse);
        self.weighted = self.weighted.join(other.weighted);
        self
    }

    /// How much data and noise overlap.
    pub(crate) fn overlap(&self, nu: f64) -> Overlap {
        let mean = if self.data.points > 0.0 { self.data.sum / self.data.points } else { 0.0 };
        Overlap {
            data_taken_for_noise: self.data.sum,
            noise_taken_for_data: self.noise.sum,
            effective_data: self.data.effective(),
            effective_noise: self.noise.effective(),
            // On a sample the mean may exceed what densities allow.
            overlap: (mean * (1.0 + 1.0 / nu)).clamp(0.0, 1.0),
        }
    }

    /// With the weights that the loss gives to the data rows, the share of them that have the same error with equal weights (Kish).
    pub(crate) fn weighted_share(&self) -> f64 {
        self.weighted.share.effective() / self.weighted.share.points.max(1.0)
    }

    /// The shape of the tail of the noise points' weights p/p_n; `None` for fewer than 25 noise points.
    pub(crate) fn weight_shape(&self) -> Option<Shape> {
        self.log_ratios.shape()
    }

    /// How far the tails reach.
    pub(crate) fn tails(&self, nu: f64) -> Tails {
        let log_ratio = |side: usize| self.largest[side].map_or(f64::NEG_INFINITY, |g| g + nu.ln());
        let shape = |largest: &Largest| largest.shape().map(|shape| shape.k);
        Tails {
            largest_log_ratio_data: log_ratio(0),
            largest_log_ratio_noise: log_ratio(1),
            pareto_k: shape(&self.log_ratios),
            inverse_pareto_k: shape(&self.inverse),
            out_of_reach: self.out_of_reach,
        }
    }
}
