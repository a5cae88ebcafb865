//! A log-density that is looked at in batches of places, and the peaks along its slices.

use noisewright_numerics::quadrature::{Lookout, peaks};

use crate::{Domain, Result};

/// Smallest scale of a count: the standard deviation of a count that is zero or one as often is one half, and two neighbours
/// are always told apart.
const LEAST_COUNT_SCALE: f64 = 0.7;

/// Where peaks along a coordinate are looked for besides a grid over all orders of magnitude.
#[derive(Clone, Debug, Default)]
pub(in crate::population) struct Sight {
    /// Locations and scales of what is known to be there.
    pub(in crate::population) hints: Vec<(f64, f64)>,
    /// Single places.
    pub(in crate::population) places: Vec<f64>,
}

impl Sight {
    /// The same with a look around a value.
    pub(super) fn around(mut self, value: f64) -> Self {
        self.hints.push((value, 1.0));
        self
    }
}

/// A log-density over coordinates.
pub(in crate::population) trait Surface {
    /// The domain of every coordinate.
    fn domain(&self, axis: usize) -> &Domain;

    /// Number of coordinates.
    fn dimension(&self) -> usize;

    /// The log-density at column-major places.
    fn values(&self, places: &[f64], rows: usize) -> Result<Vec<f64>>;

    /// The coordinates that have a density.
    fn continuous(&self) -> Vec<usize> {
        (0..self.dimension()).filter(|&axis| !self.domain(axis).is_discrete()).collect()
    }

    /// The coordinates that are counted.
    fn counted(&self) -> Vec<usize> {
        (0..self.dimension()).filter(|&axis| self.domain(axis).is_discrete()).collect()
    }

    /// The log-density at several values of one coordinate, the others held.
    fn along(&self, axis: usize, at: &[f64], values: &[f64]) -> Result<Vec<f64>> {
        let rows = values.len();
        let mut places = Vec::with_capacity(rows * at.len());
        for (j, held) in at.iter().enumerate() {
            if j == axis {
                places.extend_from_slice(values);
            } else {
                places.resize(places.len() + rows, *held);
            }
        }
        self.values(&places, rows)
    }

    /// Location and scale of the peaks along one coordinate, the others held: the highest first, after those of the density
    /// times the distance to the end of a bounded domain.
    fn peaks_along(&self, axis: usize, at: &[f64], sight: &Sight) -> Result<Vec<(f64, f64)>> {
        let domain = self.domain(axis);
        if let Domain::States(states) = domain {
            let values = self.along(axis, at, states)?;
            let best = (0..states.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best });
            return Ok(if values[best] > f64::NEG_INFINITY { vec![(states[best], 1.0)] } else { Vec::new() });
        }
        let counts = *domain == Domain::Counts;
        let rounded = |x: f64| if counts { x.max(0.0).round() } else { x };
        let failure = std::cell::RefCell::new(None);
        let look = |x: &[f64], out: &mut [f64]| {
            let grid: Vec<f64> = x.iter().map(|x| rounded(*x)).collect();
            match self.along(axis, at, &grid) {
                Ok(values) => out.copy_from_slice(&values),
                Err(error) => *failure.borrow_mut() = Some(error),
            }
        };
        let (lower, upper) = if counts { (-0.5, f64::INFINITY) } else { domain.bounds() };
        let coarse = Lookout { hints: &sight.hints, places: &sight.places, fine: false };
        let mut found = Vec::new();
        if matches!(domain, Domain::Positive | Domain::Interval(..)) {
            // A density may be highest at the very end of its domain, as x^{-0.2} e^{-x} is at zero, and have next to
            // no mass there. Times the distance to the end, it is highest where the mass is.
            let mass = |x: &[f64], out: &mut [f64]| {
                look(x, out);
                out.iter_mut().zip(x).for_each(|(o, x)| *o += (x - lower).min(upper - x).ln());
            };
            found = peaks(lower, upper, coarse, &mass);
        }
        let fine = at.len() == 1 && !counts;
        found.extend(peaks(lower, upper, Lookout { fine, ..coarse }, &look));
        if counts {
            found.iter_mut().for_each(|p| *p = (rounded(p.0), p.1.max(LEAST_COUNT_SCALE)));
        }
        failure.into_inner().map_or(Ok(found), Err)
    }
}
