//! Coordinates in which quadrature is easy: the variables themselves, whitened, or on a sphere around its peak.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::quadrature::Axis;

/// A map from quadrature coordinates to points, of constant Jacobian.
#[derive(Clone, Debug)]
pub(super) enum Chart {
    /// The variables themselves.
    Identity,
    /// `x = mean + factor · z`.
    Affine { mean: DVector<f64>, factor: DMatrix<f64> },
    /// An angle on the unit circle.
    UnitCircle,
    /// `1 − cos(distance to the pole)` and the angle around it, on the unit sphere in three dimensions, whose
    /// last frame column is the pole. The area element is constant.
    UnitSphere { frame: DMatrix<f64> },
}

impl Chart {
    pub(super) fn log_jacobian(&self) -> f64 {
        match self {
            Self::Affine { factor, .. } => factor.diagonal().iter().map(|l| l.abs().ln()).sum(),
            _ => 0.0,
        }
    }

    /// Column-major points from column-major coordinates.
    pub(super) fn points(&self, coordinates: &[f64], rows: usize) -> Vec<f64> {
        match self {
            Self::Identity => coordinates.to_vec(),
            Self::Affine { mean, factor } => {
                let mut out = Vec::with_capacity(coordinates.len());
                for j in 0..mean.len() {
                    out.extend((0..rows).map(|i| {
                        mean[j] + (0..=j).map(|l| factor[(j, l)] * coordinates[l * rows + i]).sum::<f64>()
                    }));
                }
                out
            }
            Self::UnitCircle => {
                let cos = coordinates.iter().map(|t| t.cos());
                cos.chain(coordinates.iter().map(|t| t.sin())).collect()
            }
            Self::UnitSphere { frame } => sphere_points(frame, coordinates, rows),
        }
    }

    /// The axes of a sphere's chart, with the spread of the density around the pole as a hint.
    pub(super) fn sphere_axes(&self, spread: f64) -> Vec<Axis> {
        let pi = std::f64::consts::PI;
        let around = Axis::line(-pi, pi, &[0.0], &[]);
        match self {
            Self::UnitCircle => vec![Axis::line(-pi, pi, &[], &[])],
            _ => vec![Axis::line(0.0, 2.0, &[], &[(0.0, spread.clamp(1e-12, 0.5))]), around],
        }
    }
}

fn sphere_points(frame: &DMatrix<f64>, coordinates: &[f64], rows: usize) -> Vec<f64> {
    let mut out = vec![0.0; 3 * rows];
    for i in 0..rows {
        let (gap, angle) = (coordinates[i], coordinates[rows + i]);
        let radius = (gap * (2.0 - gap)).max(0.0).sqrt();
        let local = [radius * angle.cos(), radius * angle.sin(), 1.0 - gap];
        for j in 0..3 {
            out[j * rows + i] = (0..3).map(|l| frame[(j, l)] * local[l]).sum();
        }
    }
    out
}

/// An orthonormal frame whose last column is `pole`.
pub(super) fn frame_with_pole(pole: &[f64]) -> DMatrix<f64> {
    let size = pole.len();
    let mut columns: Vec<DVector<f64>> = vec![DVector::from_column_slice(pole).normalize()];
    for axis in 0..size {
        let mut candidate = DVector::from_fn(size, |i, _| if i == axis { 1.0 } else { 0.0 });
        for column in &columns {
            candidate -= column * column.dot(&candidate);
        }
        if candidate.norm() > 0.3 && columns.len() < size {
            columns.push(candidate.normalize());
        }
    }
    columns.rotate_left(1);
    DMatrix::from_columns(&columns)
}
