//! How many draws of each side a budget should buy, from the divergences that the samples show (MATH §4).

use noisewright_numerics::optimize::minimize_bracketed;

use super::Method;
use super::cross_side_ess::Cross;
use super::nce::Bridge;
use super::power::Weights;
use crate::{Error, Result};

/// What draws cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Price of a data draw; 0 if the data are what they are and only noise can be bought.
    pub data: f64,
    /// Price of a noise draw.
    pub noise: f64,
    /// What may be spent; what the present draws cost if not given.
    pub budget: Option<f64>,
}

impl Default for Prices {
    fn default() -> Self {
        Self { data: 1.0, noise: 1.0, budget: None }
    }
}

/// What a budget should buy for one estimator, and the error that it would have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Allocation {
    /// The estimator.
    pub method: Method,
    /// Data draws to make, or those there are if they cannot be bought.
    pub data_draws: f64,
    /// Noise draws to make.
    pub noise_draws: f64,
    /// Noise draws per data draw.
    pub nu: f64,
    /// The standard error of log Z that this is predicted to give.
    pub predicted_se: f64,
}

/// How far apart the two densities are, as estimated from their draws (MATH §4).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct EstimatedDivergences {
    /// `χ²(p_d, p_n)`, which decides the error of importance sampling.
    pub chi2_data_noise: f64,
    /// `χ²(p_n, p_d)`, which decides the error of its reverse.
    pub chi2_noise_data: f64,
    /// `∫ √(p_d p_n)`, which decides the error of their product.
    pub bhattacharyya: f64,
    /// `D_HM` at the present ratio, which decides the error of the optimal bridge.
    pub harmonic: f64,
}

impl EstimatedDivergences {
    pub(super) fn new(cross: &Cross, weights: &[Weights; 2], bridge: &Bridge) -> Self {
        Self {
            chi2_data_noise: (cross.importance - 1.0).max(0.0),
            chi2_noise_data: (cross.reverse - 1.0).max(0.0),
            bhattacharyya: (0.5 * (weights[0].half.log_mean + weights[1].half.log_mean)).exp().min(1.0),
            harmonic: (1.0 - bridge.overlap).max(0.0),
        }
    }
}

impl Prices {
    pub(super) fn check(&self) -> Result<()> {
        if !(self.data >= 0.0 && self.data.is_finite()) {
            return Err(Error::range("price_data", "a number that is not negative", self.data));
        }
        if !(self.noise > 0.0 && self.noise.is_finite()) {
            return Err(Error::range("price_noise", "a positive number", self.noise));
        }
        match self.budget {
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                Err(Error::range("budget", "a positive number", value))
            }
            _ => Ok(()),
        }
    }
}

/// Draws of a side below which its own variance is a guess.
const FEWEST_DRAWS: f64 = 50.0;

/// Log of the smallest and of the largest ratio that is looked at.
const RATIOS: (f64, f64) = (-14.0, 14.0);

/// The best use of a budget by each of the four estimators.
///
/// A draw of a chain is worth one over its autocorrelation time, so an independent one costs that much more.
pub(super) fn allocations(
    prices: &Prices,
    divergences: &EstimatedDivergences,
    thinned: &[Vec<f64>; 2],
    bridge: &Bridge,
    counts: [f64; 2],
) -> Vec<Allocation> {
    let times = [bridge.moments[0].time.max(1.0), bridge.moments[1].time.max(1.0)];
    let spent = counts[0] * prices.data + counts[1] * prices.noise;
    let budget = prices.budget.unwrap_or(spent);
    let overlaps = Overlaps::new(thinned, bridge.root.at);
    let bhattacharyya = divergences.bhattacharyya;
    let product = (1.0 - bhattacharyya * bhattacharyya) / (bhattacharyya * bhattacharyya);
    let error = |method: Method, [data, noise]: [f64; 2]| {
        let (data, noise) = (data / times[0], noise / times[1]);
        match method {
            Method::Is => divergences.chi2_data_noise / noise,
            Method::Revis => divergences.chi2_noise_data / data,
            Method::IsRevis => (1.0 / data + 1.0 / noise) * product,
            _ => (1.0 / data + 1.0 / noise) * overlaps.odds(noise / data),
        }
    };
    let bought = |log_nu: f64| {
        let nu = log_nu.exp();
        let data = budget / (prices.data + nu * prices.noise);
        [data, nu * data]
    };
    let best = |method: Method| {
        let draws = match method {
            _ if prices.data == 0.0 => [counts[0], budget / prices.noise],
            Method::Is => [0.0, budget / prices.noise],
            Method::Revis => [budget / prices.data, 0.0],
            _ => bought(best_ratio(ratios(prices, budget), |x| error(method, bought(x)))),
        };
        // An estimator that averages over a side needs a draw of it.
        let needs = |side: usize| !matches!((method, side), (Method::Is, 0) | (Method::Revis, 1));
        let draws = [0, 1].map(|k| if needs(k) { draws[k].max(1.0) } else { draws[k] });
        let predicted_se = error(method, draws).sqrt();
        Allocation {
            method,
            data_draws: draws[0],
            noise_draws: draws[1],
            nu: draws[1] / draws[0],
            predicted_se,
        }
    };
    let affordable =
        |a: &Allocation| a.data_draws * prices.data + a.noise_draws * prices.noise <= budget * (1.0 + 1e-9);
    [Method::Is, Method::Revis, Method::IsRevis, Method::Nce]
        .map(best)
        .into_iter()
        .filter(affordable)
        .collect()
}

/// Logarithms of the ratios at which either side has enough draws for its error to be known; all where the budget does not
/// buy so many.
fn ratios(prices: &Prices, budget: f64) -> (f64, f64) {
    let most = (budget / FEWEST_DRAWS - prices.data) / prices.noise;
    let least = FEWEST_DRAWS * prices.data / (budget - FEWEST_DRAWS * prices.noise);
    if 0.0 < least && least < most { (least.ln().max(RATIOS.0), most.ln().min(RATIOS.1)) } else { RATIOS }
}

/// The logarithm of the ratio with the least error.
fn best_ratio((least, most): (f64, f64), error: impl Fn(f64) -> f64) -> f64 {
    let log_error = |x: f64| error(x).max(f64::MIN_POSITIVE).ln();
    minimize_bracketed(least, most, log_error).at[0]
}

/// The harmonic divergence at any ratio of noise to data, by the draws of both sides together.
struct Overlaps {
    /// `log(p_d/p_n)` at each draw.
    log_ratios: Vec<f64>,
    counts: [f64; 2],
}

impl Overlaps {
    fn new(thinned: &[Vec<f64>; 2], c: f64) -> Self {
        let [data, noise] = thinned;
        let counts = [data.len() as f64, noise.len() as f64];
        let log_ratios = data.iter().map(|u| -u - c).chain(noise.iter().map(|u| u - c)).collect();
        Self { log_ratios, counts }
    }

    /// `D_HM / (1 − D_HM)`, the draws being of the mixture of both densities by their counts.
    ///
    /// Both are integrals of positive functions over the mixture `m = (1−π) p_d + π p_n`, `D_HM = π(1−π) ∫ (p_d−p_n)²/m`
    /// and `1 − D_HM = ∫ p_d p_n/m`: their ratio keeps its digits when the densities are alike and at any ν.
    fn odds(&self, nu: f64) -> f64 {
        let share = nu / (1.0 + nu);
        let (mut apart, mut together) = (0.0, 0.0);
        for d in &self.log_ratios {
            // With t = e^−|d| nothing overflows: the larger density is taken out of all brackets.
            let t = (-d.abs()).exp();
            let (data, noise) = if *d > 0.0 { (1.0, t) } else { (t, 1.0) };
            let mixtures =
                ((1.0 - share) * data + share * noise) * (self.counts[0] * data + self.counts[1] * noise);
            apart += (1.0 - t) * (1.0 - t) / mixtures;
            together += t / mixtures;
        }
        share * (1.0 - share) * apart / together
    }
}
