//! Randomised quasi-Monte-Carlo: Halton points with random digit permutations (Owen 2017).
//!
//! Every replicate is an unbiased rule of its own; the spread between replicates tells the accuracy.

use rand::seq::SliceRandom;

use crate::random::Stream;

/// Smallest spacing that is resolved: digits beyond it do not change a double.
const RESOLUTION: f64 = 1e-16;

/// A randomised Halton sequence in a fixed dimension.
///
/// ```
/// use noisewright_numerics::{halton::Halton, random::stream};
/// let sequence = Halton::new(3, &mut stream(0, 0));
/// let mut points = vec![0.0; 3 * 1000];
/// sequence.fill(0, 1000, &mut points);
/// let mean: f64 = points[..1000].iter().sum::<f64>() / 1000.0;
/// assert!((mean - 0.5).abs() < 2e-3);
/// ```
#[derive(Clone, Debug)]
pub struct Halton {
    bases: Vec<Base>,
}

#[derive(Clone, Debug)]
struct Base {
    base: u64,
    /// One permutation of the digits per position.
    permutations: Vec<Vec<u32>>,
}

impl Halton {
    /// A sequence with permutations drawn from `stream`.
    #[must_use]
    pub fn new(dimension: usize, stream: &mut Stream) -> Self {
        let bases = primes(dimension)
            .into_iter()
            .map(|base| {
                let digits = (-RESOLUTION.ln() / (base as f64).ln()).ceil() as usize;
                let permutations = (0..digits)
                    .map(|_| {
                        let mut digits: Vec<u32> = (0..base as u32).collect();
                        digits.shuffle(stream);
                        digits
                    })
                    .collect();
                Base { base, permutations }
            })
            .collect();
        Self { bases }
    }

    /// Writes points `first..first + rows`, column-major, each coordinate strictly between 0 and 1.
    pub fn fill(&self, first: u64, rows: usize, out: &mut [f64]) {
        for (column, base) in out.chunks_mut(rows).zip(&self.bases) {
            for (i, value) in column.iter_mut().enumerate() {
                *value = base.radical_inverse(first + i as u64);
            }
        }
    }
}

impl Base {
    fn radical_inverse(&self, mut index: u64) -> f64 {
        let step = 1.0 / self.base as f64;
        let (mut value, mut scale) = (0.0, step);
        for permutation in &self.permutations {
            value += scale * f64::from(permutation[(index % self.base) as usize]);
            index /= self.base;
            scale *= step;
        }
        value.clamp(f64::EPSILON / 4.0, 1.0 - f64::EPSILON)
    }
}

fn primes(count: usize) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::with_capacity(count);
    let mut candidate = 2;
    while found.len() < count {
        if found.iter().all(|p| candidate % p != 0) {
            found.push(candidate);
        }
        candidate += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn the_first_b_to_the_m_points_are_equally_spread_in_base_b() {
        let sequence = Halton::new(3, &mut stream(5, 0));
        for (axis, cells) in [(0usize, 64usize), (1, 81), (2, 125)] {
            let mut points = vec![0.0; 3 * cells];
            sequence.fill(0, cells, &mut points);
            let mut hit = vec![0; cells];
            for x in &points[axis * cells..(axis + 1) * cells] {
                hit[(x * cells as f64) as usize] += 1;
            }
            assert!(hit.iter().all(|h| *h == 1), "axis {axis}");
        }
    }

    #[test]
    fn an_integral_is_far_better_than_by_plain_sampling() {
        let rows = 4096;
        let mut points = vec![0.0; 6 * rows];
        Halton::new(6, &mut stream(1, 0)).fill(0, rows, &mut points);
        let mean: f64 =
            (0..rows).map(|i| (0..6).map(|j| 2.0 * points[j * rows + i]).product::<f64>()).sum::<f64>()
                / rows as f64;
        // Plain sampling has standard error sqrt(((4/3)^6 − 1)/4096) = 0.034.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }
}
