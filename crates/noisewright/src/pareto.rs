//! The shape of the tail of importance weights: whether their mean can be trusted (Vehtari et al. 2024).

use crate::fit::distributed::Partial;

/// How many of the largest of `count` weights make up their tail; fewer than 5 say nothing.
pub(crate) fn tail_length(count: usize) -> usize {
    let size = count as f64;
    (0.2 * size).min(3.0 * size.sqrt()).floor() as usize
}

/// Standard deviations by which an estimated shape may be too low: 97.7 % of them are not off by more.
const ALLOWED: f64 = 2.0;

/// The estimated shape of a tail, and how large it may still be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The estimate.
    pub(crate) k: f64,
    /// The estimate and [`ALLOWED`] times its standard deviation, `(1 + k)/√tail` (Smith 1987).
    pub(crate) upper: f64,
}

impl Shape {
    fn new(k: f64, tail: usize) -> Self {
        Self { k, upper: k + ALLOWED * (1.0 + k.max(0.0)) / (tail as f64).sqrt() }
    }

    /// Of weights given by their logarithms; `None` for fewer than 25 of them that are positive.
    pub(crate) fn of(log_weights: &[f64]) -> Option<Self> {
        let tail = tail_length(log_weights.iter().filter(|w| **w > f64::NEG_INFINITY).count());
        (tail >= 5).then(|| Self::new(shape(log_weights), tail))
    }

    /// Of a tail given by its increasing logarithms and the largest logarithm below it.
    pub(crate) fn above(cut: f64, tail: &[f64]) -> Self {
        Self::new(shape_above(cut, tail), tail.len())
    }
}

/// The largest of some log weights, as many as their tail can be long: what its shape is found from, without all the others.
#[derive(Clone, Debug)]
pub(crate) struct Largest {
    /// How many log weights there were in all.
    count: usize,
    /// How many of them are kept, at least.
    room: usize,
    /// The largest ones, and possibly some more, in any order.
    kept: Vec<f64>,
}

impl Largest {
    /// None yet, of at most so many.
    pub(crate) fn of_at_most(count: usize) -> Self {
        // One more than the tail: the largest weight below it is where it begins.
        Self { count: 0, room: tail_length(count) + 1, kept: Vec::new() }
    }

    /// Takes in some log weights, none of them −∞.
    pub(crate) fn add(&mut self, log_weights: impl Iterator<Item = f64>) {
        let before = self.kept.len();
        self.kept.extend(log_weights);
        self.count += self.kept.len() - before;
        self.trim(4 * self.room);
    }

    /// Those of both.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.count += other.count;
        self.kept.extend(other.kept);
        self.trim(4 * self.room);
        self
    }

    /// Lets go of those that cannot be in the tail, where there are more than so many.
    fn trim(&mut self, most: usize) {
        if self.kept.len() > most.max(self.room) {
            self.kept.select_nth_unstable_by(self.room - 1, |a, b| b.total_cmp(a));
            self.kept.truncate(self.room);
        }
    }

    /// The shape of the tail of all of them; `None` for fewer than 25.
    pub(crate) fn shape(&self) -> Option<Shape> {
        let tail = tail_length(self.count);
        let mut sorted = self.kept.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let start = sorted.len().checked_sub(tail).filter(|start| *start > 0 && tail >= 5)?;
        Some(Shape::above(sorted[start - 1], &sorted[start..]))
    }
}

impl Partial for Largest {
    fn write(&self, out: &mut Vec<u8>) {
        let mut few = self.clone();
        few.trim(few.room);
        (few.count, few.room).write(out);
        few.kept.write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let (count, room) = Partial::read(from)?;
        Some(Self { count, room, kept: Partial::read(from)? })
    }
}

/// The shape k of a generalised Pareto distribution fitted to the largest weights (Zhang and Stephens 2009): the
/// weights have moments up to 1/k. −∞ where all of the largest are the same.
pub(crate) fn shape(log_weights: &[f64]) -> f64 {
    let mut positive: Vec<f64> = log_weights.iter().copied().filter(|w| *w > f64::NEG_INFINITY).collect();
    let tail = tail_length(positive.len());
    if tail < 5 {
        return f64::INFINITY;
    }
    // The tail alone needs an order, and is at most a fifth of all.
    let below = positive.len() - tail - 1;
    let (_, cut, tail) = positive.select_nth_unstable_by(below, f64::total_cmp);
    tail.sort_unstable_by(f64::total_cmp);
    shape_above(*cut, tail)
}

/// The shape of a tail given by its increasing logarithms and the largest logarithm below it.
fn shape_above(cut: f64, tail: &[f64]) -> f64 {
    let Some(top) = tail.last() else { return f64::NEG_INFINITY };
    let excess: Vec<f64> = tail.iter().map(|w| (w - top).exp() - (cut - top).exp()).collect();
    fit(&excess)
}

/// The fit to increasing excesses over a threshold, with the weak prior of Vehtari et al.
fn fit(excess: &[f64]) -> f64 {
    let count = excess.len() as f64;
    let largest = excess[excess.len() - 1];
    let quartile = excess[((0.25 * count + 0.5).floor() as usize).max(1) - 1];
    if !(quartile > 0.0 && largest.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let points = 30 + count.sqrt().floor() as usize;
    let thetas: Vec<f64> = (1..=points)
        .map(|i| 1.0 / largest + (1.0 - (points as f64 / (i as f64 - 0.5)).sqrt()) / (3.0 * quartile))
        .collect();
    let shape = |theta: f64| excess.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / count;
    let likelihood: Vec<f64> = thetas
        .iter()
        .map(|&theta| {
            let k = shape(theta);
            count * ((-theta / k).ln() - k - 1.0)
        })
        .collect();
    let total = noisewright_numerics::summation::log_sum_exp(&likelihood);
    let theta: f64 = thetas.iter().zip(&likelihood).map(|(t, l)| t * (l - total).exp()).sum();
    (shape(theta) * count + 5.0) / (count + 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_exact_pareto_quantiles_is_found() {
        for k in [0.2, 0.5, 0.9] {
            let log_weights: Vec<f64> =
                (0..20_000).map(|i| -k * ((f64::from(i) + 0.5) / 20_000.0).ln()).collect();
            assert!((shape(&log_weights) - k).abs() < 0.05, "{k}: {}", shape(&log_weights));
        }
    }

    #[test]
    fn the_largest_weights_have_the_shape_of_all() {
        // A permutation of exact quantiles, cut into blocks that are joined in another order, by way of bytes.
        let count = 1usize << 15;
        let quantile = |i: usize| -0.6 * (((i * 12_345) % count) as f64 + 0.5).ln();
        let all: Vec<f64> = (0..count).map(quantile).collect();
        let block = |range: std::ops::Range<usize>| {
            let mut largest = Largest::of_at_most(count);
            all[range].chunks(512).for_each(|chunk| largest.add(chunk.iter().copied()));
            largest
        };
        let sent = |largest: &Largest| {
            let mut bytes = Vec::new();
            largest.write(&mut bytes);
            assert!(bytes.len() < 8 * (tail_length(count) + 5), "{} bytes", bytes.len());
            Largest::read(&mut bytes.as_slice()).unwrap()
        };
        let [a, b, c] = [0..5000, 5000..20_000, 20_000..count].map(|range| sent(&block(range)));
        let joined = c.join(a).join(b);
        let whole = shape(&all);
        assert_eq!(joined.count, count);
        assert_eq!(joined.shape().unwrap().k.to_bits(), whole.to_bits());
        assert!((whole - 0.6).abs() < 0.05, "{whole}");
        let mut few = Largest::of_at_most(count);
        few.add(all[..24].iter().copied());
        assert!(few.shape().is_none());
        few.add(all[24..30].iter().copied());
        assert_eq!(few.shape().unwrap().k.to_bits(), shape(&all[..30]).to_bits());
    }

    #[test]
    fn bounded_weights_have_no_tail() {
        let log_weights: Vec<f64> = (0..20_000).map(|i| ((f64::from(i) + 0.5) / 20_000.0).ln()).collect();
        assert!(shape(&log_weights) < 0.1);
        assert!(shape(&vec![1.5; 1000]) < 0.0);
    }
}
