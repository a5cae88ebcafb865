//! Randomised quasi-Monte-Carlo: Sobol points with nested uniform scrambling (Owen 1995).
//!
//! Each scramble is an unbiased rule of its own whose points are uniform in the unit cube; for smooth integrands in few
//! dimensions its variance falls like n⁻³ instead of n⁻¹. The spread between independent scrambles tells the accuracy.
//! Direction numbers: Joe and Kuo (2008). Any point can be had without those before it, so that blocks of a sequence
//! do not depend on who draws them.

use std::sync::OnceLock;

use rand::Rng;

use crate::random::Stream;

/// Most dimensions of a sequence.
pub const MOST_DIMENSIONS: usize = 256;
/// Most points of a sequence.
pub const MOST_POINTS: u64 = 1 << BITS;
/// Binary digits that tell points apart; the digits after them are random.
const BITS: usize = 32;

/// Direction numbers of one dimension, the first digit in the highest bit.
type Directions = [u32; BITS];

/// A scrambled Sobol sequence in a fixed dimension.
///
/// ```
/// use noisewright_numerics::{random::stream, sobol::Sobol};
/// let sequence = Sobol::new(3, &mut stream(0, 0)).unwrap();
/// let mut points = vec![0.0; 3 * 1024];
/// sequence.fill(0, 1024, &mut points);
/// let mean: f64 = points[..1024].iter().sum::<f64>() / 1024.0;
/// // One point in every 1024th: the error of the mean is 1/(√12·1024^{3/2}) = 9e-6.
/// assert!((mean - 0.5).abs() < 5e-5);
/// ```
#[derive(Clone, Debug)]
pub struct Sobol {
    /// Of every dimension the key of its scramble.
    keys: Vec<u64>,
}

impl Sobol {
    /// A sequence whose scramble is drawn from `stream`; `None` for more than [`MOST_DIMENSIONS`].
    #[must_use]
    pub fn new(dimension: usize, stream: &mut Stream) -> Option<Self> {
        (dimension <= MOST_DIMENSIONS)
            .then(|| Self { keys: (0..dimension).map(|_| stream.next_u64()).collect() })
    }

    /// Number of coordinates.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.keys.len()
    }

    /// Writes points `first..first + rows`, column-major, each coordinate strictly between 0 and 1. Powers of two from the
    /// first point on are the best numbers of points. Indices are taken modulo [`MOST_POINTS`].
    pub fn fill(&self, first: u64, rows: usize, out: &mut [f64]) {
        let all = directions();
        for ((column, key), directions) in out.chunks_mut(rows.max(1)).zip(&self.keys).zip(all) {
            for (value, index) in column.iter_mut().zip(first..) {
                *value = unit(scramble(digits(directions, index as u32), *key));
            }
        }
    }

    /// Writes the scrambled net of `rows` points, a power of two, that `point` of the open unit cube belongs to, column-major
    /// and itself first.
    ///
    /// The unscrambled points 0 to 2^m − 1 are a group under addition of digits without carry, so that every point lies in one
    /// net of the form *point + group*, and a scramble keeps which points lie in one. Given the net, a point that has the
    /// density w in the cube is any of its points with a probability proportional to w there.
    ///
    /// ```
    /// use noisewright_numerics::{random::stream, sobol::Sobol};
    /// let sequence = Sobol::new(1, &mut stream(0, 0)).unwrap();
    /// let mut net = [0.0; 8];
    /// sequence.around(&[0.3], 8, &mut net);
    /// assert!((net[0] - 0.3).abs() < 1e-15);
    /// net.sort_by(f64::total_cmp);
    /// // One point in every eighth of the interval.
    /// assert!(net.iter().enumerate().all(|(i, u)| (u * 8.0).floor() == i as f64));
    /// ```
    pub fn around(&self, point: &[f64], rows: usize, out: &mut [f64]) {
        let all = directions();
        let columns = out.chunks_mut(rows.max(1)).zip(&self.keys);
        for (((column, key), directions), u) in columns.zip(all).zip(point) {
            let place = ((u * (2f64).powi(52)) as u64).min((1 << 52) - 1) << 12;
            let own = unscramble((place >> BITS) as u32, *key);
            // The digits behind those of the net: as far from the random ones of every point as here.
            let behind = place ^ scramble(own, *key);
            for (value, index) in column.iter_mut().zip(0..) {
                *value = unit(scramble(own ^ digits(directions, index), *key) ^ behind);
            }
        }
    }
}

/// The digits of the unscrambled point of this index.
fn digits(directions: &Directions, index: u32) -> u32 {
    let (mut digits, mut rest) = (0, index);
    while rest != 0 {
        digits ^= directions[rest.trailing_zeros() as usize];
        rest &= rest - 1;
    }
    digits
}

/// Nested uniform scrambling: every digit is flipped at random, by a coin of its own for every string of digits before
/// it (which is what makes two points agree in as many digits as before), and random digits follow.
fn scramble(digits: u32, key: u64) -> u64 {
    let mut flips = 0u32;
    for level in 0..BITS {
        // The digits before this one, with a one in front: strings of different lengths differ.
        let prefix = (u64::from(digits) | 1 << BITS) >> (BITS - level);
        flips = flips << 1 | (mix(key ^ mix(prefix)) >> 63) as u32;
    }
    let rest = mix(key ^ mix(u64::from(digits) | 1 << BITS));
    u64::from(digits ^ flips) << BITS | rest >> BITS
}

/// The digits that [`scramble`] makes these of.
fn unscramble(digits: u32, key: u64) -> u32 {
    let mut own = 0;
    for level in 0..BITS {
        // The digits before this one are known already.
        let prefix = (u64::from(own) | 1 << BITS) >> (BITS - level);
        let flip = (mix(key ^ mix(prefix)) >> 63) as u32;
        let place = BITS - 1 - level;
        own |= ((digits >> place & 1) ^ flip) << place;
    }
    own
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014), a bijection whose outputs look independent.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The middle of one of 2⁵² equal intervals: neither 0 nor 1, and one less it is exact.
fn unit(digits: u64) -> f64 {
    ((digits >> 12) as f64 + 0.5) * (0.5f64).powi(52)
}

/// The direction numbers of all dimensions.
fn directions() -> &'static [Directions] {
    static DIRECTIONS: OnceLock<Vec<Directions>> = OnceLock::new();
    DIRECTIONS.get_or_init(|| {
        // In the first dimension digits are those of the index, mirrored.
        let first = std::array::from_fn(|i| 1 << (BITS - 1 - i));
        let lines = include_str!("sobol/directions.txt").lines().filter(|line| !line.starts_with('#'));
        std::iter::once(first).chain(lines.map(recurrence)).collect()
    })
}

/// `v_i = v_{i−s} ⊕ (v_{i−s} ≫ s) ⊕ a_1 v_{i−1} ⊕ … ⊕ a_{s−1} v_{i−s+1}` for a polynomial of degree s with the inner
/// coefficients a, from `v_i = m_i / 2^i` for the first s.
fn recurrence(line: &str) -> Directions {
    let mut numbers = line.split_ascii_whitespace().filter_map(|number| number.parse::<u32>().ok());
    let polynomial = numbers.next().unwrap_or(1);
    let degree = polynomial.ilog2() as usize;
    let mut v = [0; BITS];
    for (i, m) in numbers.take(degree).enumerate() {
        v[i] = m << (BITS - 1 - i);
    }
    for i in degree..BITS {
        let before = v[i - degree];
        v[i] = before ^ (before >> degree);
        for k in (1..degree).filter(|k| polynomial >> (degree - k) & 1 == 1) {
            v[i] ^= v[i - k];
        }
    }
    v
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
