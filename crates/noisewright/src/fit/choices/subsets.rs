//! Which set of alternatives was chosen, of all sets of its size: the conditional likelihood where several of a stratum were.
//!
//! A set S has the probability `exp Σ_S s / e_m(exp s)`, with e_m the elementary symmetric function of degree m, the sum over all
//! sets of m alternatives. Adding one alternative at a time gives `e_m` of n alternatives in n·m steps (Gail, Lubin and Rubinstein
//! 1981), here in logarithms; and since the sets of n alternatives are a mixture of those with the last one and those without,
//! the mean and the covariance of a sum over the set follow by the same recursion, without a difference of large numbers.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::special::ln_add_exp;
use noisewright_numerics::summation::log_sum_exp;

/// All sets of so many alternatives.
pub(super) struct Subsets {
    /// log e_m, the logarithm of the sum over all sets.
    pub(super) log_sum: f64,
    /// The probability of every alternative to be in the set.
    pub(super) shares: Vec<f64>,
    recursion: Option<Recursion>,
}

/// The alternatives that have a density, taken or left out, whichever are fewer.
struct Recursion {
    /// Which alternatives.
    places: Vec<usize>,
    /// s of each, or −s where those left out are counted.
    terms: Vec<f64>,
    /// How many of them make a set.
    size: usize,
}

impl Subsets {
    /// All sets of `size` of the alternatives with log-odds `s`, of which so many must be finite.
    pub(super) fn new(s: &[f64], size: usize) -> Self {
        if size == 1 {
            let log_sum = log_sum_exp(s);
            return Self {
                log_sum,
                shares: s.iter().map(|s| (s - log_sum).exp()).collect(),
                recursion: None,
            };
        }
        let places: Vec<usize> = (0..s.len()).filter(|i| s[*i] > f64::NEG_INFINITY).collect();
        // Those left out are a set too, with the odds the other way round.
        let others = 2 * size > places.len();
        let sign = if others { -1.0 } else { 1.0 };
        let all: f64 = if others { places.iter().map(|i| s[*i]).sum() } else { 0.0 };
        let recursion = Recursion {
            terms: places.iter().map(|i| sign * s[*i]).collect(),
            size: if others { places.len() - size } else { size },
            places,
        };
        let (log_sum, within) = recursion.shares();
        let mut shares = vec![0.0; s.len()];
        for (i, share) in recursion.places.iter().zip(within) {
            shares[*i] = if others { 1.0 - share } else { share };
        }
        Self { log_sum: all + log_sum, shares, recursion: Some(recursion) }
    }

    /// Adds `weight` times the covariance of the sum of `x` over the set.
    pub(super) fn add_covariance(
        &self,
        weight: f64,
        mean: &DVector<f64>,
        x: impl Fn(usize) -> DVector<f64>,
        out: &mut DMatrix<f64>,
    ) {
        match &self.recursion {
            None => {
                for (row, share) in self.shares.iter().enumerate() {
                    let apart = x(row) - mean;
                    out.ger(weight * share, &apart, &apart, 1.0);
                }
            }
            Some(recursion) => *out += recursion.covariance(mean.len(), x) * weight,
        }
    }
}

impl Recursion {
    /// `log e_l` of the first i terms at `[i][l]`, for l up to the size of a set.
    fn prefixes(&self, terms: impl Iterator<Item = f64>) -> Vec<Vec<f64>> {
        let mut last = vec![f64::NEG_INFINITY; self.size + 1];
        last[0] = 0.0;
        let mut table = vec![last.clone()];
        for term in terms {
            for l in (1..=self.size).rev() {
                last[l] = ln_add_exp(last[l], term + last[l - 1]);
            }
            table.push(last.clone());
        }
        table
    }

    /// log e_m, and the probability of every term to be in the set: `exp s_j Σ_l e_l(before j) e_{m−1−l}(after j) / e_m`.
    fn shares(&self) -> (f64, Vec<f64>) {
        let count = self.terms.len();
        let before = self.prefixes(self.terms.iter().copied());
        let after = self.prefixes(self.terms.iter().rev().copied());
        let log_sum = before[count][self.size];
        let share = |j: usize| {
            if self.size == 0 {
                return 0.0;
            }
            let (before, after) = (&before[j], &after[count - 1 - j]);
            let others: Vec<f64> = (0..self.size).map(|l| before[l] + after[self.size - 1 - l]).collect();
            (self.terms[j] + log_sum_exp(&others) - log_sum).exp().min(1.0)
        };
        (log_sum, (0..count).map(share).collect())
    }

    /// The covariance of the sum of `x` over the set; leaving out instead of taking changes its sign alone.
    fn covariance(&self, dimension: usize, x: impl Fn(usize) -> DVector<f64>) -> DMatrix<f64> {
        let count = self.terms.len();
        let mut log = vec![f64::NEG_INFINITY; self.size + 1];
        log[0] = 0.0;
        let mut mean = vec![DVector::zeros(dimension); self.size + 1];
        let mut spread = vec![DMatrix::zeros(dimension, dimension); self.size + 1];
        for (i, term) in self.terms.iter().enumerate() {
            let here = x(self.places[i]);
            // Sets that can still become one of the whole size.
            let least = (self.size + i + 1).saturating_sub(count).max(1);
            for l in (least..=self.size.min(i + 1)).rev() {
                let with = term + log[l - 1];
                let both = ln_add_exp(log[l], with);
                let share = (with - both).exp();
                let apart = &mean[l - 1] + &here - &mean[l];
                mean[l].axpy(share, &apart, 1.0);
                let (smaller, own) = spread.split_at_mut(l);
                own[0] *= 1.0 - share;
                own[0] += &smaller[l - 1] * share;
                own[0].ger(share * (1.0 - share), &apart, &apart, 1.0);
                log[l] = both;
            }
        }
        spread.swap_remove(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set by itself: its probability, and the sum of x over it.
    fn listed(s: &[f64], size: usize, x: &[[f64; 2]]) -> (f64, Vec<f64>, DMatrix<f64>) {
        let sets = (0..1u32 << s.len()).filter(|set| set.count_ones() as usize == size);
        let inside = |set: u32, i: usize| set >> i & 1 == 1;
        let weigh =
            |set: u32| -> f64 { (0..s.len()).filter(|i| inside(set, *i)).map(|i| s[i]).sum::<f64>().exp() };
        let total: f64 = sets.clone().map(weigh).sum();
        let shares =
            (0..s.len()).map(|i| sets.clone().filter(|set| inside(*set, i)).map(weigh).sum::<f64>() / total);
        let sum = |set: u32| {
            let rows = (0..s.len()).filter(|i| inside(set, *i));
            rows.fold(DVector::zeros(2), |sum, i| sum + DVector::from_column_slice(&x[i]))
        };
        let mean = sets.clone().fold(DVector::zeros(2), |mean, set| mean + sum(set) * (weigh(set) / total));
        let covariance = sets.clone().fold(DMatrix::zeros(2, 2), |all, set| {
            let apart = sum(set) - &mean;
            all + &apart * apart.transpose() * (weigh(set) / total)
        });
        (total.ln(), shares.collect(), covariance)
    }

    #[test]
    fn all_sets_of_every_size_are_summed() {
        let s = [0.3, -1.2, f64::NEG_INFINITY, 2.5, 0.0, -0.7, 1.1];
        let x = [[1.0, 0.2], [-0.5, 2.0], [9.0, 9.0], [0.0, -1.0], [2.0, 0.3], [1.5, 1.5], [-2.0, 0.4]];
        for size in 1..=6 {
            let found = Subsets::new(&s, size);
            let (log_sum, shares, covariance) = listed(&s, size, &x);
            assert!((found.log_sum - log_sum).abs() < 1e-12, "{size}: {} and {log_sum}", found.log_sum);
            for (one, other) in found.shares.iter().zip(&shares) {
                assert!((one - other).abs() < 1e-12, "{size}: {one} and {other}");
            }
            let at = |i: usize| DVector::from_column_slice(&x[i]);
            let mean = shares.iter().enumerate().fold(DVector::zeros(2), |mean, (i, p)| mean + at(i) * *p);
            let mut out = DMatrix::zeros(2, 2);
            found.add_covariance(2.0, &mean, at, &mut out);
            assert!((out - covariance * 2.0).amax() < 1e-11, "{size}");
        }
    }

    /// Log-odds whose exponentials have no finite number.
    #[test]
    fn large_odds_do_not_overflow() {
        let found = Subsets::new(&[2000.0, 1000.0, -1000.0, -3000.0], 2);
        assert_eq!(found.log_sum, 3000.0);
        assert_eq!(found.shares, [1.0, 1.0, 0.0, 0.0]);
    }
}
