//! Sampling coordinates: every continuous variable on the whole real line, the others as they are.

use crate::{Chart, Domain, Space};

/// The map from sampling coordinates z to points x, variable by variable.
#[derive(Clone, Copy)]
pub(in crate::population) struct Coordinates<'a> {
    space: &'a Space,
}

impl<'a> Coordinates<'a> {
    pub(in crate::population) fn new(space: &'a Space) -> Self {
        Self { space }
    }

    pub(in crate::population) fn dimension(&self) -> usize {
        self.space.dimension()
    }

    pub(in crate::population) fn domain(&self, axis: usize) -> &'a Domain {
        &self.space.domains()[axis]
    }

    /// The chart of a variable; counted ones are as they are.
    fn chart(&self, axis: usize) -> Chart {
        self.domain(axis).chart(0.0).unwrap_or(Chart::Identity)
    }

    /// A value of a variable on the line; not a number outside of the domain.
    pub(in crate::population) fn to_line(&self, axis: usize, x: f64) -> f64 {
        self.chart(axis).to_real(x)
    }

    /// `|dx/dz|` of a variable.
    pub(in crate::population) fn stretch(&self, axis: usize, z: f64) -> f64 {
        self.chart(axis).log_jacobian(z).exp()
    }

    /// The variables that have a density, none on a sphere.
    pub(in crate::population) fn continuous(&self) -> Vec<usize> {
        if self.space.is_sphere() {
            return Vec::new();
        }
        (0..self.dimension()).filter(|&axis| !self.domain(axis).is_discrete()).collect()
    }

    /// The variables that are counted, none on a sphere.
    pub(in crate::population) fn discrete(&self) -> Vec<usize> {
        if self.space.is_sphere() {
            return Vec::new();
        }
        (0..self.dimension()).filter(|&axis| self.domain(axis).is_discrete()).collect()
    }

    /// Column-major points of column-major coordinates.
    pub(in crate::population) fn points(&self, z: &[f64], rows: usize) -> Vec<f64> {
        if self.space.is_sphere() {
            return z.to_vec();
        }
        let mut x = vec![0.0; z.len()];
        for (axis, (z, x)) in z.chunks(rows.max(1)).zip(x.chunks_mut(rows.max(1))).enumerate() {
            self.chart(axis).unmap_block(z, x);
        }
        x
    }

    /// Coordinates of points; not a number where a point is outside the domain.
    pub(in crate::population) fn of_points(&self, x: &[f64], rows: usize) -> Vec<f64> {
        if self.space.is_sphere() {
            return x.to_vec();
        }
        let (mut z, mut scratch) = (vec![0.0; x.len()], vec![0.0; rows]);
        for (axis, (x, z)) in x.chunks(rows.max(1)).zip(z.chunks_mut(rows.max(1))).enumerate() {
            self.chart(axis).map_block(x, &mut scratch, z);
        }
        z
    }

    /// `ln |dx/dz|` of every row.
    pub(in crate::population) fn log_jacobian(&self, z: &[f64], rows: usize) -> Vec<f64> {
        let (mut out, mut scratch) = (vec![0.0; rows], vec![0.0; rows]);
        for axis in self.continuous() {
            self.chart(axis).add_log_jacobian(&z[axis * rows..(axis + 1) * rows], &mut scratch, &mut out);
        }
        out
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
