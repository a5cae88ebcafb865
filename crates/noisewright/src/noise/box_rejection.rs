//! Draws from any density on a bounded region of one to three dimensions: rejection under a tree of boxes.

use noisewright_numerics::random::Stream;
use rand::RngExt;

/// Boxes stop being divided when draws are accepted this often, or when there are too many.
const ACCEPTANCE: f64 = 0.85;
const MOST_BOXES: usize = 1 << 14;

/// Pieces that each axis is cut into first, by dimension: a density may be zero over most of the region.
const FIRST_PIECES: [usize; 3] = [256, 48, 12];

/// How much higher than at the places looked at the log-density may be inside a box, per nat that it varies there.
const HEADROOM: f64 = 0.25;

/// A log-density of column-major points: points, rows, output.
pub(crate) type LogDensity<'a> = &'a (dyn Fn(&[f64], usize, &mut [f64]) + Sync);

/// A piecewise constant envelope of a density.
#[derive(Clone, Debug)]
pub(crate) struct BoxSampler {
    dimension: usize,
    boxes: Vec<Cell>,
    /// Running sums of the boxes' envelope masses, last one = 1.
    cumulative: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Cell {
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// Logarithm of the envelope's height.
    log_height: f64,
    /// How much the log-density varies over the places looked at.
    variation: f64,
}

impl BoxSampler {
    /// Divides the region until the envelope is tight. `None` when the density is zero all over it.
    pub(crate) fn new(
        lower: &[f64],
        upper: &[f64],
        breaks: &[Vec<f64>],
        density: LogDensity<'_>,
    ) -> Option<Self> {
        let dimension = lower.len();
        let mut boxes = measure(first_cells(lower, upper, breaks), density);
        loop {
            let log_masses: Vec<f64> = boxes.iter().map(Cell::log_mass).collect();
            let top = log_masses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if top == f64::NEG_INFINITY {
                return None;
            }
            let masses: Vec<f64> = log_masses.iter().map(|m| (m - top).exp()).collect();
            let total: f64 = masses.iter().sum();
            let wasted: Vec<f64> = boxes.iter().zip(&masses).map(|(c, m)| m * c.waste()).collect();
            let waste: f64 = wasted.iter().sum();
            let tight = waste <= (1.0 - ACCEPTANCE) * total || boxes.len() >= MOST_BOXES;
            if tight || !boxes.iter().any(Cell::is_divisible) {
                let mut sum = 0.0;
                let cumulative = masses.iter().map(|m| {
                    sum += m / total;
                    sum
                });
                let cumulative = cumulative.collect();
                return Some(Self { dimension, boxes, cumulative });
            }
            boxes = divide(boxes, &wasted, waste, density);
        }
    }

    /// One draw into `out`, by rejection.
    pub(crate) fn draw(&self, stream: &mut Stream, out: &mut [f64], density: LogDensity<'_>) {
        let mut value = [0.0];
        // The envelope accepts most draws; the limit only guards against a density that is NaN.
        for _ in 0..10_000 {
            let u: f64 = stream.random();
            let index = self.cumulative.partition_point(|c| *c < u).min(self.boxes.len() - 1);
            let cell = &self.boxes[index];
            for j in 0..self.dimension {
                let t: f64 = stream.random();
                // Never the very ends, which may be poles.
                let (a, b) = (cell.lower[j], cell.upper[j]);
                out[j] = inside(a, b, a + t * (b - a));
            }
            density(&out[..self.dimension], 1, &mut value);
            let accept: f64 = stream.random();
            if accept.ln() <= value[0] - cell.log_height {
                return;
            }
        }
    }
}

impl Cell {
    fn log_volume(&self) -> f64 {
        self.lower.iter().zip(&self.upper).map(|(a, b)| (b - a).ln()).sum()
    }

    fn log_mass(&self) -> f64 {
        self.log_height + self.log_volume()
    }

    /// Share of the envelope that is above the density, roughly.
    fn waste(&self) -> f64 {
        1.0 - (-0.5 * self.variation.min(40.0)).exp()
    }

    /// Corners, center and edge middles in one dimension: where the density is looked at.
    fn places(&self) -> Vec<Vec<f64>> {
        let per_axis: &[f64] =
            if self.lower.len() == 1 { &[0.0, 0.25, 0.5, 0.75, 1.0] } else { &[0.0, 0.5, 1.0] };
        let mut places: Vec<Vec<f64>> = vec![Vec::new()];
        for (a, b) in self.lower.iter().zip(&self.upper) {
            // The very ends may carry an integrable singularity; a hair inside, by one number at least, does not.
            let at = |t: f64| inside(*a, *b, a + (1e-9 + t * (1.0 - 2e-9)) * (b - a));
            places = places
                .iter()
                .flat_map(|p| per_axis.iter().map(move |t| [p.as_slice(), &[at(*t)]].concat()))
                .collect();
        }
        places
    }

    /// The widest axis and its middle.
    fn middle(&self) -> (usize, f64) {
        let widest = (0..self.lower.len())
            .max_by(|a, b| (self.upper[*a] - self.lower[*a]).total_cmp(&(self.upper[*b] - self.lower[*b])))
            .unwrap_or(0);
        (widest, 0.5 * (self.lower[widest] + self.upper[widest]))
    }

    /// Whether there are numbers enough between its ends: next to a pole at 1 they come to an end before the mass does.
    fn is_divisible(&self) -> bool {
        let (axis, middle) = self.middle();
        let (lower, upper) = (self.lower[axis], self.upper[axis]);
        middle > lower.next_up() && middle < upper.next_down()
    }

    fn halves(self) -> [Self; 2] {
        let (widest, middle) = self.middle();
        let (mut left, mut right) = (self.clone(), self);
        left.upper[widest] = middle;
        right.lower[widest] = middle;
        [left, right]
    }
}

/// A number between two others that is neither, where there is one.
fn inside(a: f64, b: f64, x: f64) -> f64 {
    x.max(a.next_up()).min(b.next_down()).clamp(a, b)
}

/// The region cut into even pieces and at the breaks of each axis.
fn first_cells(lower: &[f64], upper: &[f64], breaks: &[Vec<f64>]) -> Vec<Cell> {
    let mut cells = vec![Cell { lower: vec![], upper: vec![], log_height: 0.0, variation: 0.0 }];
    for (axis, (a, b)) in lower.iter().zip(upper).enumerate() {
        let mut edges = vec![*a];
        let pieces = FIRST_PIECES[lower.len() - 1];
        let even = (1..pieces).map(|i| a + (b - a) * i as f64 / pieces as f64);
        let mut inner: Vec<f64> =
            breaks[axis].iter().copied().chain(even).filter(|x| x > a && x < b).collect();
        inner.sort_by(f64::total_cmp);
        inner.dedup();
        edges.extend(inner);
        edges.push(*b);
        cells = cells
            .iter()
            .flat_map(|cell| {
                edges.windows(2).map(move |edge| {
                    let mut next = cell.clone();
                    next.lower.push(edge[0]);
                    next.upper.push(edge[1]);
                    next
                })
            })
            .collect();
    }
    cells
}

/// Halves the boxes that waste most, those that together make up most of the waste.
fn divide(boxes: Vec<Cell>, wasted: &[f64], waste: f64, density: LogDensity<'_>) -> Vec<Cell> {
    let threshold = 0.5 * waste / boxes.len() as f64;
    let mut kept = Vec::with_capacity(boxes.len());
    let mut fresh = Vec::new();
    for (cell, loss) in boxes.into_iter().zip(wasted) {
        if *loss > threshold && cell.is_divisible() { fresh.extend(cell.halves()) } else { kept.push(cell) }
    }
    kept.extend(measure(fresh, density));
    kept.retain(|cell| cell.log_height > f64::NEG_INFINITY);
    kept
}

/// Sets the height of each box from the density at its places, with room for what lies between them.
fn measure(mut cells: Vec<Cell>, density: LogDensity<'_>) -> Vec<Cell> {
    for cell in &mut cells {
        let places = cell.places();
        let rows = places.len();
        let columns: Vec<f64> =
            (0..cell.lower.len()).flat_map(|j| places.iter().map(move |p| p[j])).collect();
        let mut values = vec![0.0; rows];
        density(&columns, rows, &mut values);
        let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bottom = values.iter().copied().fold(f64::INFINITY, f64::min);
        cell.variation = (top - bottom).min(1e6);
        cell.log_height = top + HEADROOM * cell.variation.min(4.0);
    }
    cells
}
