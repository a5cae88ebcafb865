//! Sampling coordinates: every continuous variable on the whole real line, the others as they are.

use noisewright_numerics::special::{sigmoid, softplus};

use crate::{Domain, Space};

/// The map from sampling coordinates z to points x, variable by variable.
#[derive(Clone, Copy)]
pub(super) struct Coordinates<'a> {
    space: &'a Space,
}

impl<'a> Coordinates<'a> {
    pub(super) fn new(space: &'a Space) -> Self {
        Self { space }
    }

    pub(super) fn dimension(&self) -> usize {
        self.space.dimension()
    }

    pub(super) fn domain(&self, axis: usize) -> &'a Domain {
        &self.space.domains()[axis]
    }

    /// The variables that have a density, none on a sphere.
    pub(super) fn continuous(&self) -> Vec<usize> {
        if self.space.is_sphere() {
            return Vec::new();
        }
        (0..self.dimension()).filter(|&axis| !self.domain(axis).is_discrete()).collect()
    }

    /// The variables that are counted, none on a sphere.
    pub(super) fn discrete(&self) -> Vec<usize> {
        if self.space.is_sphere() {
            return Vec::new();
        }
        (0..self.dimension()).filter(|&axis| self.domain(axis).is_discrete()).collect()
    }

    /// Column-major points of column-major coordinates.
    pub(super) fn points(&self, z: &[f64], rows: usize) -> Vec<f64> {
        if self.space.is_sphere() {
            return z.to_vec();
        }
        let columns = z.chunks(rows.max(1)).enumerate();
        columns.flat_map(|(axis, column)| column.iter().map(move |z| point(self.domain(axis), *z))).collect()
    }

    /// Coordinates of points; not a number where a point is outside the domain.
    pub(super) fn of_points(&self, x: &[f64], rows: usize) -> Vec<f64> {
        if self.space.is_sphere() {
            return x.to_vec();
        }
        let columns = x.chunks(rows.max(1)).enumerate();
        columns
            .flat_map(|(axis, column)| column.iter().map(move |x| coordinate(self.domain(axis), *x)))
            .collect()
    }

    /// `ln |dx/dz|` of every row.
    pub(super) fn log_jacobian(&self, z: &[f64], rows: usize) -> Vec<f64> {
        let mut out = vec![0.0; rows];
        for axis in self.continuous() {
            let domain = self.domain(axis);
            for (o, z) in out.iter_mut().zip(&z[axis * rows..(axis + 1) * rows]) {
                *o += log_slope(domain, *z);
            }
        }
        out
    }
}

fn point(domain: &Domain, z: f64) -> f64 {
    match domain {
        Domain::Positive => z.exp().clamp(f64::MIN_POSITIVE, f64::MAX),
        Domain::Interval(..) | Domain::Circle => {
            let (lower, upper) = domain.bounds();
            // A density may be infinite at an end, so the rounded point must not reach it.
            (lower + (upper - lower) * sigmoid(z)).clamp(lower.next_up(), upper.next_down())
        }
        _ => z,
    }
}

fn coordinate(domain: &Domain, x: f64) -> f64 {
    match domain {
        Domain::Positive => x.ln(),
        Domain::Interval(lower, upper) => ((x - lower) / (upper - x)).ln(),
        Domain::Circle => {
            let x = wrapped(x);
            ((x + std::f64::consts::PI) / (std::f64::consts::PI - x)).ln()
        }
        _ => x,
    }
}

/// The angle between −π and π.
pub(super) fn wrapped(angle: f64) -> f64 {
    let turn = 2.0 * std::f64::consts::PI;
    angle - turn * (angle / turn).round()
}

fn log_slope(domain: &Domain, z: f64) -> f64 {
    match domain {
        Domain::Positive => z,
        Domain::Interval(..) | Domain::Circle => {
            let (lower, upper) = domain.bounds();
            // σ(z)(1 − σ(z)) = 1/((1 + e^z)(1 + e^−z))
            (upper - lower).ln() - softplus(z) - softplus(-z)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_coordinates_are_inverse_and_the_jacobian_is_their_slope() {
        let variables = [
            ("a", Domain::Real),
            ("b", Domain::Positive),
            ("c", Domain::Interval(-2.0, 5.0)),
            ("d", Domain::Circle),
        ];
        let space = Space::product(&variables).unwrap();
        let map = Coordinates::new(&space);
        for z in [-3.0, -0.2, 0.7, 4.0] {
            let at = |z: f64| map.points(&[z; 4], 1);
            let back = map.of_points(&at(z), 1);
            assert!(back.iter().all(|b| (b - z).abs() < 1e-12), "{back:?}");
            let h = 1e-5;
            let slope: f64 = (0..4).map(|j| ((at(z + h)[j] - at(z - h)[j]) / (2.0 * h)).ln()).sum();
            assert!((slope - map.log_jacobian(&[z; 4], 1)[0]).abs() < 1e-8);
        }
    }
}
