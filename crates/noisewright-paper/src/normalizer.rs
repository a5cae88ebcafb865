//! The four estimators of a normalizing constant: theory, and a simulation of them (MATH §4).

use noisewright::parts::Divergences;
use noisewright::{Model, Noise, Normal, Precision, Result, divergences};
use noisewright_numerics::kernels::sum_sigmoid;
use noisewright_numerics::optimize::root_increasing;
use noisewright_numerics::parallel::try_map;
use noisewright_numerics::random::stream;
use noisewright_numerics::summation::log_sum_exp;

/// Short names of the estimators, in the order of the paper's table 3.
pub(crate) const ESTIMATORS: [&str; 4] = ["RevIS", "NCE", "IS", "IS-RevIS"];

/// Data N(0, 1) by `f = e^{−x²/2}`, `Z = √(2π)`; noise N(mean, variance).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    /// Noise points per data point.
    pub(crate) nu: f64,
}

/// T·MSE of Ẑ/Z over repeated samples, with the standard error of that mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simulated {
    pub(crate) error: f64,
    pub(crate) standard_error: f64,
}

impl Simulated {
    /// Standard errors between the simulation and a claim.
    pub(crate) fn deviations(&self, claim: f64) -> f64 {
        (self.error - claim) / self.standard_error
    }
}

impl Pair {
    fn noise(&self) -> Result<Normal> {
        Normal::with_variance(self.mean, self.variance)
    }

    /// The divergences between data and noise.
    pub(crate) fn divergences(&self) -> Result<Divergences> {
        let model = Model::from_toml("variables = ['x']\nlog_density = '-x^2/2'")?;
        divergences(&model, &[], &self.noise()?, self.nu, &Precision::default())
    }

    /// T·MSE/Z² in theory.
    pub(crate) fn theory(&self) -> Result<[f64; 4]> {
        let errors = self.divergences()?.normalizer_errors(self.nu);
        Ok([errors.revis, errors.nce, errors.is, errors.is_revis])
    }

    /// T·MSE/Z² as the paper's table 3 has it: the last row differs.
    pub(crate) fn printed(&self) -> Result<[f64; 4]> {
        let distance = self.divergences()?.hellinger;
        let mut errors = self.theory()?;
        errors[3] = (1.0 + self.nu).powi(2) / self.nu * distance / (1.0 - distance);
        Ok(errors)
    }

    /// `ln(Ẑ/Z)` of each estimator from one sample of each kind.
    pub(crate) fn one(&self, budget: usize, seed: u64, repeat: u64) -> Result<[f64; 4]> {
        let data_count = (budget as f64 / (1.0 + self.nu)).round() as usize;
        let mut random = stream(seed, repeat);
        let mut ratios = |draw: &Normal, count: usize| -> Result<Vec<f64>> {
            let mut x = vec![0.0; count];
            draw.draw(&mut random, count, &mut x);
            Ok(x.iter().map(|x| self.log_ratio(*x)).collect())
        };
        let of_data = ratios(&Normal::with_variance(0.0, 1.0)?, data_count)?;
        let of_noise = ratios(&self.noise()?, budget - data_count)?;
        Ok(estimates(&of_data, &of_noise))
    }

    /// `ℓ = ln(f/p_n) − ln Z`, so that every estimate is one of zero.
    fn log_ratio(&self, x: f64) -> f64 {
        let noise = -0.5 * ((x - self.mean).powi(2) / self.variance + self.variance.ln());
        -0.5 * x * x - noise
    }

    /// T·MSE/Z² over many repeats, each from its own stream.
    pub(crate) fn simulate(&self, budget: usize, repeats: u64, seed: u64) -> Result<[Simulated; 4]> {
        let runs: Vec<[f64; 4]> = try_map(0..repeats, |r| self.one(budget, seed, r))?;
        Ok([0, 1, 2, 3].map(|estimator| {
            let squares: Vec<f64> =
                runs.iter().map(|run| budget as f64 * run[estimator].exp_m1().powi(2)).collect();
            let count = squares.len() as f64;
            let error = squares.iter().sum::<f64>() / count;
            let variance = squares.iter().map(|s| (s - error).powi(2)).sum::<f64>() / (count - 1.0);
            Simulated { error, standard_error: (variance / count).sqrt() }
        }))
    }
}

fn log_mean_exp(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    log_sum_exp(&values) - (values.len() as f64).ln()
}

/// `ln Ẑ` by RevIS, NCE, IS and IS-RevIS from `ln(f/p_n)` at the data and at the noise.
fn estimates(data: &[f64], noise: &[f64]) -> [f64; 4] {
    let is = log_mean_exp(noise.iter().copied());
    let revis = -log_mean_exp(data.iter().map(|l| -l));
    let both = log_mean_exp(noise.iter().map(|l| 0.5 * l)) - log_mean_exp(data.iter().map(|l| -0.5 * l));
    let log_nu = (noise.len() as f64 / data.len() as f64).ln();
    let turned: Vec<f64> = data.iter().map(|l| -l).collect();
    let nce = root_increasing(both, 0.5, |c| {
        let (of_data, first) = sum_sigmoid(&turned, -(c + log_nu));
        let (of_noise, second) = sum_sigmoid(noise, c + log_nu);
        (of_data - of_noise, first + second)
    });
    [revis, nce.at, is, both]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_equal_to_the_data_leaves_no_error() {
        let pair = Pair { mean: 0.0, variance: 1.0, nu: 2.0 };
        assert!(pair.one(300, 1, 0).unwrap().iter().all(|log_z| log_z.abs() < 1e-14));
    }

    #[test]
    fn a_constant_ratio_is_found_by_all() {
        assert!(estimates(&[0.7; 5], &[0.7; 3]).iter().all(|z| (z - 0.7).abs() < 1e-14));
    }
}
