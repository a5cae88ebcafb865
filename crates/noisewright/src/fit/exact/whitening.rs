//! Coordinates in which a likelihood is round: statistics centred at the data's means and, for a linear model, uncorrelated in
//! the data.

use nalgebra::{DMatrix, DVector};

use crate::{Model, Result, View};

/// Share of a column that must be left beside those before it for them to be told apart.
const INDEPENDENT: f64 = 1e-13;

/// The parameters are `θ = Tᵀη`, and the statistics that belong to η are `T (s − center)`.
///
/// Powers of data with one far point are all but collinear: by the time their covariance has been summed, what tells them
/// apart is below rounding. Transformed before it is summed, it is not.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// T; `None` for the identity.
    transform: Option<DMatrix<f64>>,
    /// The inverse of Tᵀ.
    back: Option<DMatrix<f64>>,
}

impl Frame {
    /// The parameters themselves.
    pub(super) fn identity() -> Self {
        Self { transform: None, back: None }
    }

    /// The frame of a linear model, from some of the data: triangular, or of scales alone where parameters have bounds or the
    /// data do not tell the statistics apart.
    pub(super) fn of_data(model: &Model, sample: View<'_>) -> Result<Self> {
        let (rows, size) = (sample.rows(), model.parameters().len());
        let mut value = vec![0.0; rows];
        let mut score = vec![0.0; rows * size];
        model.evaluate(&vec![0.0; size], sample, &mut value, Some(&mut score))?;
        let mut columns = DMatrix::from_vec(rows, size, score);
        let mut scale = DVector::from_element(size, 1.0);
        for (mut column, scale) in columns.column_iter_mut().zip(scale.iter_mut()) {
            let mean = column.mean();
            column.add_scalar_mut(-mean);
            let deviation = (column.norm_squared() / rows as f64).sqrt();
            if deviation > 0.0 && deviation.is_finite() {
                *scale = 1.0 / deviation;
                column *= *scale;
            }
        }
        let bounded = model.parameters().iter().any(|p| p.lower.is_finite() || p.upper.is_finite());
        let whitened = if bounded || rows <= size { None } else { whiten(columns) };
        let transform = match whitened {
            Some(white) => white * DMatrix::from_diagonal(&scale),
            None => DMatrix::from_diagonal(&scale),
        };
        Ok(Self::new(transform))
    }

    fn new(transform: DMatrix<f64>) -> Self {
        match transform.transpose().try_inverse() {
            Some(back) if back.iter().all(|x| x.is_finite()) => {
                Self { transform: Some(transform), back: Some(back) }
            }
            _ => Self::identity(),
        }
    }

    /// θ of η.
    pub(super) fn outer(&self, inner: &DVector<f64>) -> DVector<f64> {
        self.transform.as_ref().map_or_else(|| inner.clone(), |t| t.tr_mul(inner))
    }

    /// η of θ.
    pub(super) fn inner(&self, outer: &[f64]) -> DVector<f64> {
        let outer = DVector::from_column_slice(outer);
        self.back.as_ref().map_or_else(|| outer.clone(), |b| b * &outer)
    }

    /// `T v` for a vector of statistics.
    pub(super) fn apply(&self, vector: DVector<f64>) -> DVector<f64> {
        match &self.transform {
            Some(transform) => transform * vector,
            None => vector,
        }
    }

    /// `T (s − center)` of column-major statistics.
    pub(super) fn centred(&self, columns: &[f64], rows: usize, center: &DVector<f64>) -> Vec<f64> {
        let mut out: Vec<f64> = columns[..rows * center.len()]
            .chunks_exact(rows.max(1))
            .zip(center.iter())
            .flat_map(|(column, m)| column.iter().map(move |s| s - m))
            .collect();
        if let Some(transform) = &self.transform {
            out = (DMatrix::from_vec(rows, center.len(), out) * transform.transpose()).data.into();
        }
        out
    }

    /// The derivative of θ by η.
    pub(super) fn jacobian(&self, size: usize) -> DMatrix<f64> {
        self.transform.as_ref().map_or_else(|| DMatrix::identity(size, size), DMatrix::transpose)
    }

    /// Second derivatives by η as those by θ.
    pub(super) fn outer_hessian(&self, inner: &DMatrix<f64>) -> DMatrix<f64> {
        self.back.as_ref().map_or_else(|| inner.clone(), |b| b.tr_mul(inner) * b)
    }

    /// Second derivatives by θ as those by η.
    pub(super) fn inner_hessian(&self, outer: &DMatrix<f64>) -> DMatrix<f64> {
        self.transform.as_ref().map_or_else(|| outer.clone(), |t| t * outer * t.transpose())
    }

    /// Scales of the parameters' bounds: the diagonal, where it is all there is.
    pub(super) fn scales(&self, size: usize) -> Vec<f64> {
        self.back.as_ref().map_or_else(|| vec![1.0; size], |b| b.diagonal().as_slice().to_vec())
    }
}

/// The triangular matrix that makes columns uncorrelated with variance one; `None` where they are not independent.
fn whiten(columns: DMatrix<f64>) -> Option<DMatrix<f64>> {
    let (rows, size) = columns.shape();
    if !columns.iter().all(|x| x.is_finite()) {
        return None;
    }
    let triangle = columns.qr().r();
    let length = (rows as f64).sqrt();
    let independent = triangle.diagonal().iter().all(|d| d.abs() > INDEPENDENT * length);
    let identity = DMatrix::identity(size, size);
    let inverse = if independent { triangle.solve_upper_triangular(&identity) } else { None }?;
    Some(inverse.transpose() * length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Model, Points, Space};

    #[test]
    fn powers_of_data_with_a_far_point_are_uncorrelated_in_their_frame() {
        let features = ["x", "x^2", "x^3", "x^4"];
        let model = Model::from_features(&features, Space::real(&["x"]).unwrap(), vec![]).unwrap();
        let mut values: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7).sin() * 2.0).collect();
        values.push(600.0);
        let points = Points::unnamed(1, values.len(), values.clone());
        let frame = Frame::of_data(&model, points.view()).unwrap();
        let powers: Vec<f64> = (1..=4).flat_map(|p| values.iter().map(move |x| x.powi(p))).collect();
        let rows = values.len();
        let center =
            DVector::from_iterator(4, powers.chunks(rows).map(|c| c.iter().sum::<f64>() / rows as f64));
        let white = DMatrix::from_vec(rows, 4, frame.centred(&powers, rows, &center));
        let covariance = white.tr_mul(&white) / rows as f64;
        assert!((covariance - DMatrix::identity(4, 4)).amax() < 1e-4);
        let theta = [0.1, -0.5, 1e-3, -1e-6];
        let again = frame.outer(&frame.inner(&theta));
        assert!(again.iter().zip(theta).all(|(a, b)| (a / b - 1.0).abs() < 1e-6), "{again}");
    }
}
