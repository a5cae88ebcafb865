//! Bins of one variable: intervals of equal width, or one per value where the values can be listed.

use std::f64::consts::{PI, TAU};

use crate::Domain;
use noisewright_report::{Axis, Bars};

/// Most values that get a bin each.
const VALUES: usize = 60;

/// Where values are counted.
#[derive(Debug)]
pub struct Bins {
    /// The ends of the bins, from left to right.
    pub edges: Vec<f64>,
    /// The values, one per bin, where they can be listed.
    values: Option<Vec<f64>>,
    circle: bool,
}

impl Bins {
    /// Bins for a sample of a variable.
    pub fn new(domain: &Domain, column: &[f64]) -> Self {
        match domain {
            Domain::States(states) if states.len() <= VALUES => {
                let mut values = states.clone();
                values.sort_by(f64::total_cmp);
                Self::listed(values)
            }
            Domain::Circle => Self { circle: true, ..Self::equal(-PI, PI, count(column.len())) },
            _ => {
                let (low, high) = range(column);
                let discrete = domain.is_discrete() && high - low < VALUES as f64;
                if discrete && matches!(domain, Domain::Counts) {
                    return Self::listed((0..=(high - low) as usize).map(|i| low + i as f64).collect());
                }
                let (lower, upper) = domain.bounds();
                let margin = 0.04 * (high - low);
                Self::equal((low - margin).max(lower), (high + margin).min(upper), count(column.len()))
            }
        }
    }

    /// Bins of equal width.
    pub fn equal(low: f64, high: f64, count: usize) -> Self {
        let width = if high > low { high - low } else { 1.0 };
        let edges = (0..=count).map(|i| low + width * i as f64 / count as f64).collect();
        Self { edges, values: None, circle: false }
    }

    /// One bin per value, at places 0, 1, 2, ….
    fn listed(values: Vec<f64>) -> Self {
        let edges = (0..=values.len()).map(|i| i as f64 - 0.5).collect();
        Self { edges, values: Some(values), circle: false }
    }

    /// Number of bins.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// Whether every bin is one value, with a frequency and not a density.
    pub fn is_listed(&self) -> bool {
        self.values.is_some()
    }

    /// The middle of a bin.
    pub fn center(&self, bin: usize) -> f64 {
        0.5 * (self.edges[bin] + self.edges[bin + 1])
    }

    /// The share of the weight in each bin; what falls outside all of them is in none.
    pub fn shares(&self, column: &[f64], weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut shares = vec![0.0; self.count()];
        let mut total = 0.0;
        for (row, x) in column.iter().enumerate() {
            total += weight(row);
            if let Some(bin) = self.bin(*x) {
                shares[bin] += weight(row);
            }
        }
        shares.iter_mut().for_each(|share| *share /= total);
        shares
    }

    /// Shares as heights: over the width of the bins, unless each is a value.
    pub fn heights(&self, shares: &[f64]) -> Vec<f64> {
        if self.is_listed() {
            return shares.to_vec();
        }
        shares.iter().zip(self.edges.windows(2)).map(|(share, edge)| share / (edge[1] - edge[0])).collect()
    }

    /// Bars as high as shares say.
    pub fn bars(&self, label: &str, shares: &[f64]) -> Bars {
        Bars::new(label, self.edges.clone(), self.heights(shares))
    }

    /// The axis of the variable.
    pub fn axis(&self, name: &str) -> Axis {
        match &self.values {
            Some(values) => {
                let step = values.len().div_ceil(12);
                let ticks = values.iter().enumerate().step_by(step).map(|(i, x)| (i as f64, x.to_string()));
                Axis::linear(name).ticks(ticks)
            }
            None if self.circle => Axis::circle(name),
            None => Axis::linear(name),
        }
    }

    fn bin(&self, x: f64) -> Option<usize> {
        if let Some(values) = &self.values {
            return values.iter().position(|value| *value == x);
        }
        let x = if self.circle { (x + PI).rem_euclid(TAU) - PI } else { x };
        let (low, high) = (self.edges[0], self.edges[self.count()]);
        if !(x >= low && x <= high) {
            return None;
        }
        let place = ((x - low) / (high - low) * self.count() as f64) as usize;
        Some(place.min(self.count() - 1))
    }
}

/// More bins for more rows: twice the cube root, between 8 and 60.
fn count(rows: usize) -> usize {
    ((2.0 * (rows as f64).cbrt()).ceil() as usize).clamp(8, 60)
}

fn range(column: &[f64]) -> (f64, f64) {
    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
    let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_all_bins_sum_to_one_and_angles_wrap() {
        let column = [0.0, 1.0, 2.0, 10.0];
        let bins = Bins::new(&Domain::Real, &column);
        assert!((bins.shares(&column, |_| 2.0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let circle = Bins::new(&Domain::Circle, &column);
        assert_eq!(circle.bin(PI + 0.1), Some(0));
        assert_eq!(circle.bin(PI - 0.1), Some(circle.count() - 1));
    }

    #[test]
    fn counts_and_states_have_a_bin_each() {
        let counts = Bins::new(&Domain::Counts, &[2.0, 5.0, 3.0]);
        assert_eq!((counts.count(), counts.bin(2.0), counts.bin(6.0)), (4, Some(0), None));
        let states = Bins::new(&Domain::States(vec![1.0, -1.0]), &[1.0]);
        assert_eq!(states.shares(&[1.0, 1.0, -1.0, 1.0], |_| 1.0), [0.25, 0.75]);
    }
}
