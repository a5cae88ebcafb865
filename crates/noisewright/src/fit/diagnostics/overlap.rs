//! How much data and noise have in common, and whether the noise's tails reach as far as the data's.

use noisewright_numerics::special::sigmoid;

use super::rows::Block;
use crate::fit::distributed::partial_fields;
use crate::pareto::{self, Shape};

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
partial_fields!(Gathered { reach, out_of_reach, data, noise, largest, log_ratios, inverse });

/// Both figures, gathered block by block.
pub(crate) struct Gathered {
    /// g from which on a data point is out of reach: the logarithm of the number of data points.
    reach: f64,
    out_of_reach: f64,
    data: Share,
    noise: Share,
    /// Largest g of data and of noise rows.
    largest: [Option<f64>; 2],
    /// Log ratios of noise rows.
    log_ratios: Vec<f64>,
    /// Negative log ratios of data rows.
    inverse: Vec<f64>,
}

impl Gathered {
    /// Nothing yet, of so many data points.
    pub(crate) fn new(data_points: f64) -> Self {
        Self {
            reach: data_points.ln(),
            out_of_reach: 0.0,
            data: Share::default(),
            noise: Share::default(),
            largest: [None; 2],
            log_ratios: Vec::new(),
            inverse: Vec::new(),
        }
    }

    /// Takes in some rows.
    pub(crate) fn add(&mut self, block: &Block<'_>) {
        let side = if block.data { &mut self.data } else { &mut self.noise };
        let largest = &mut self.largest[usize::from(!block.data)];
        for (row, &g) in block.log_ratio.iter().enumerate().filter(|(row, _)| block.weight(*row) > 0.0) {
            side.add(block.weight(row), sigmoid(-block.sign() * g));
            *largest = Some(largest.map_or(g, |top| top.max(g)));
            if block.data && g > self.reach {
                self.out_of_reach += block.weight(row);
            }
        }
        let finite = || block.log_ratio.iter().filter(|g| g.is_finite());
        // The first rows, so that the sums over others stay small.
        if block.data && block.first_row < MOST_WEIGHTS {
            self.inverse.extend(finite().map(|g| -g));
        }
        if !block.data && block.first_row < MOST_WEIGHTS {
            self.log_ratios.extend(finite());
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
        self.log_ratios.extend(other.log_ratios);
        self.inverse.extend(other.inverse);
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

    /// With weights that are this power of the inverse ratio, the share of the data rows that have the same error with equal
    /// weights (Kish).
    pub(crate) fn weighted_share(&self, exponent: f64) -> f64 {
        let top = self.inverse.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut share = Share::default();
        self.inverse.iter().for_each(|g| share.add(1.0, (exponent * (g - top)).exp()));
        share.effective() / share.points.max(1.0)
    }

    /// The shape of the tail of the noise points' weights p/p_n; `None` for fewer than 25 noise points.
    pub(crate) fn weight_shape(&self) -> Option<Shape> {
        Shape::of(&self.log_ratios)
    }

    /// How far the tails reach.
    pub(crate) fn tails(&self, nu: f64) -> Tails {
        let log_ratio = |side: usize| self.largest[side].map_or(f64::NEG_INFINITY, |g| g + nu.ln());
        let shape = |x: &[f64]| (x.len() >= 25).then(|| pareto::shape(x));
        Tails {
            largest_log_ratio_data: log_ratio(0),
            largest_log_ratio_noise: log_ratio(1),
            pareto_k: shape(&self.log_ratios),
            inverse_pareto_k: shape(&self.inverse),
            out_of_reach: self.out_of_reach,
        }
    }
}
