//! B-splines along one coordinate, and their products along two.

use noisewright_numerics::quadrature::panel;

use crate::{Error, Result};

/// Largest degree of the polynomials.
const MOST_DEGREE: usize = 5;

/// B-splines of one degree on equal pieces of an interval, with the knots at its ends repeated.
#[derive(Clone, Debug, PartialEq)]
struct Basis {
    degree: usize,
    lower: f64,
    upper: f64,
    pieces: usize,
}

impl Basis {
    fn count(&self) -> usize {
        self.pieces + self.degree
    }

    /// The knot of a number from `-degree` on, counted from the lower end.
    fn knot(&self, number: isize) -> f64 {
        let inside = number.clamp(0, self.pieces as isize) as f64 / self.pieces as f64;
        self.lower + inside * (self.upper - self.lower)
    }

    /// The piece that a point inside the interval is in.
    fn piece(&self, x: f64) -> usize {
        let at = (x - self.lower) / (self.upper - self.lower) * self.pieces as f64;
        (at as usize).min(self.pieces - 1)
    }

    /// Writes the splines that are not zero at a point, by the recursion of de Boor and Cox; the first of them is the one with
    /// the number of the point's piece.
    fn write(&self, x: f64, out: &mut [f64; MOST_DEGREE + 1]) -> usize {
        let piece = self.piece(x);
        let knot = |offset: isize| self.knot(piece as isize + offset);
        out.fill(0.0);
        out[0] = 1.0;
        for degree in 1..=self.degree {
            let mut left = 0.0;
            for i in 0..degree {
                let (right_knot, left_knot) = (knot(i as isize + 1), knot(i as isize + 1 - degree as isize));
                let share = out[i] / (right_knot - left_knot);
                out[i] = left + (right_knot - x) * share;
                left = (x - left_knot) * share;
            }
            out[degree] = left;
        }
        piece
    }
}

/// Products of B-splines along every coordinate, the last coordinate running fastest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    bases: Vec<Basis>,
}

/// The members of a family that are not zero at a point: along each of two coordinates, the second of which may be none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    first: [usize; 2],
    degrees: [usize; 2],
    values: [[f64; MOST_DEGREE + 1]; 2],
    /// Members along the second coordinate.
    stride: usize,
}

impl Row {
    /// Their numbers and values.
    pub(super) fn members(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let [along, across] = &self.values;
        (0..=self.degrees[0]).flat_map(move |i| {
            let start = (self.first[0] + i) * self.stride + self.first[1];
            (0..=self.degrees[1]).map(move |j| (start + j, along[i] * across[j]))
        })
    }
}

impl Family {
    /// `counts` splines of a degree along every coordinate, between its ends.
    pub(super) fn new(ends: &[[f64; 2]], counts: &[usize], degree: usize) -> Result<Self> {
        if !(1..=MOST_DEGREE).contains(&degree) {
            return Err(Error::range("degree", "from 1 to 5", degree as f64));
        }
        let all = if counts.len() == 1 { vec![counts[0]; ends.len()] } else { counts.to_vec() };
        if all.len() != ends.len() {
            return Err(Error::Shape { what: "numbers of splines", expected: ends.len(), found: all.len() });
        }
        if let Some(few) = all.iter().find(|count| **count <= degree) {
            return Err(Error::range("splines", "more than their degree", *few as f64));
        }
        let bases = ends.iter().zip(&all).map(|([lower, upper], count)| Basis {
            degree,
            lower: *lower,
            upper: *upper,
            pieces: count - degree,
        });
        Ok(Self { bases: bases.collect() })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.counts().iter().product()
    }

    /// How many there are along every coordinate.
    pub(super) fn counts(&self) -> Vec<usize> {
        self.bases.iter().map(Basis::count).collect()
    }

    /// The members that are not zero at a point; `None` where it lies outside.
    pub(super) fn row(&self, point: &[f64]) -> Option<Row> {
        let stride = self.bases.get(1).map_or(1, Basis::count);
        let mut values = [[0.0; MOST_DEGREE + 1]; 2];
        values[1][0] = 1.0;
        let mut row = Row { first: [0, 0], degrees: [0, 0], values, stride };
        for (axis, (basis, x)) in self.bases.iter().zip(point).enumerate() {
            if !(basis.lower..=basis.upper).contains(x) {
                return None;
            }
            row.first[axis] = basis.write(*x, &mut row.values[axis]);
            row.degrees[axis] = basis.degree;
        }
        Some(row)
    }

    /// Points and weights for integrals over all pieces, on each of which the splines are smooth.
    pub(super) fn nodes(&self) -> Vec<(Vec<f64>, f64)> {
        let mut nodes = vec![(Vec::new(), 1.0)];
        for basis in &self.bases {
            let pieces = (0..basis.pieces as isize).map(|i| (basis.knot(i), basis.knot(i + 1)));
            let along: Vec<(f64, f64)> = pieces.flat_map(|(low, high)| panel(low, high)).collect();
            nodes = nodes
                .iter()
                .flat_map(|(point, weight)| {
                    along.iter().map(move |(x, w)| ([point.as_slice(), &[*x]].concat(), weight * w))
                })
                .collect();
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(family: &Family, point: &[f64]) -> Vec<(usize, f64)> {
        family.row(point).unwrap().members().collect()
    }

    /// Of degree one they are hats, and a clamped cubic on one piece is Bernstein's: (1−t)³, 3t(1−t)², 3t²(1−t), t³.
    #[test]
    fn splines_of_known_form() {
        let hats = Family::new(&[[0.0, 2.0]], &[3], 1).unwrap();
        assert_eq!(values(&hats, &[0.25]), [(0, 0.75), (1, 0.25)]);
        assert_eq!(values(&hats, &[2.0]), [(1, 0.0), (2, 1.0)]);
        let cubic = values(&Family::new(&[[0.0, 1.0]], &[4], 3).unwrap(), &[0.25]);
        let bernstein = [0.421875, 0.421875, 0.140625, 0.015625];
        assert!(cubic.iter().zip(bernstein).all(|((_, b), known)| (b - known).abs() < 1e-15), "{cubic:?}");
    }

    /// Together they are one everywhere, the nodes fill the rectangle, and outside of it there is nothing.
    #[test]
    fn splines_are_a_partition_of_one() {
        let family = Family::new(&[[-1.0, 3.0], [0.0, 1.0]], &[7, 5], 3).unwrap();
        for point in [[-1.0, 0.0], [3.0, 1.0], [0.3, 0.9], [1.0, 0.5]] {
            let found = values(&family, &point);
            assert!((found.iter().map(|(_, value)| value).sum::<f64>() - 1.0).abs() < 1e-14);
            assert!(found.iter().all(|(number, _)| *number < family.len()));
        }
        assert!(family.row(&[3.1, 0.5]).is_none());
        let volume: f64 = family.nodes().iter().map(|(_, weight)| weight).sum();
        assert!((volume - 4.0).abs() < 1e-13);
    }
}
