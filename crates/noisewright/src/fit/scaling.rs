//! Features centred and scaled by the data, so that neither convergence nor collinearity depends on units.

use nalgebra::{DMatrix, DVector};

/// The affine map between the parameters that a user knows and those of centred and scaled features:
/// `γ_j = θ_j s_j` and, where the constant is free, `γ_c = c − Σ θ_j m_j`.
#[derive(Clone, Debug)]
pub(crate) struct Scaling {
    pub(crate) center: Vec<f64>,
    pub(crate) scale: Vec<f64>,
    has_constant: bool,
}

impl Scaling {
    pub(crate) fn identity(parameters: usize, has_constant: bool) -> Self {
        Self { center: vec![0.0; parameters], scale: vec![1.0; parameters], has_constant }
    }

    /// From mean and standard deviation of each feature; a scale that is no positive number becomes the size of the
    /// center, or one.
    pub(crate) fn new(center: Vec<f64>, deviation: &[f64], has_constant: bool) -> Self {
        let usable = |x: f64| x > 0.0 && x.is_finite() && (1.0 / x).is_finite();
        let center: Vec<f64> = center.into_iter().map(|m| if m.is_finite() { m } else { 0.0 }).collect();
        let scale = center
            .iter()
            .zip(deviation)
            .map(|(m, s)| {
                if usable(*s) {
                    *s
                } else if usable(m.abs()) {
                    m.abs()
                } else {
                    1.0
                }
            })
            .collect();
        Self { center, scale, has_constant }
    }

    /// θ, and the constant as last entry where it is free.
    pub(crate) fn outer(&self, inner: &[f64]) -> Vec<f64> {
        let mut outer: Vec<f64> = inner.iter().zip(&self.scale).map(|(g, s)| g / s).collect();
        if self.has_constant {
            let shift: f64 = outer.iter().zip(&self.center).map(|(t, m)| t * m).sum();
            outer.push(inner[self.scale.len()] + shift);
        }
        outer
    }

    /// The inverse of [`Scaling::outer`].
    pub(crate) fn inner(&self, outer: &[f64]) -> Vec<f64> {
        let mut inner: Vec<f64> = outer.iter().zip(&self.scale).map(|(t, s)| t * s).collect();
        if self.has_constant {
            let shift: f64 = outer.iter().zip(&self.center).map(|(t, m)| t * m).sum();
            inner.push(outer[self.scale.len()] - shift);
        }
        inner
    }

    /// The derivative of the outer coordinates by the inner ones.
    pub(crate) fn jacobian(&self) -> DMatrix<f64> {
        let k = self.scale.len();
        let size = k + usize::from(self.has_constant);
        let mut jacobian = DMatrix::identity(size, size);
        for j in 0..k {
            jacobian[(j, j)] = 1.0 / self.scale[j];
            if self.has_constant {
                jacobian[(k, j)] = self.center[j] / self.scale[j];
            }
        }
        jacobian
    }

    /// Second derivatives by the inner coordinates as those by the outer ones.
    pub(crate) fn outer_hessian(&self, inner: &DMatrix<f64>) -> DMatrix<f64> {
        let inverse = self.inverse_jacobian();
        inverse.transpose() * inner * inverse
    }

    /// The derivative of the inner coordinates by the outer ones: `γ_j = s_j θ_j` and `γ_c = c − Σ θ_j m_j`.
    fn inverse_jacobian(&self) -> DMatrix<f64> {
        let k = self.scale.len();
        let size = k + usize::from(self.has_constant);
        let mut inverse = DMatrix::identity(size, size);
        for j in 0..k {
            inverse[(j, j)] = self.scale[j];
            if self.has_constant {
                inverse[(k, j)] = -self.center[j];
            }
        }
        inverse
    }

    /// A covariance of the inner coordinates as one of the outer.
    pub(crate) fn outer_covariance(&self, inner: &DMatrix<f64>) -> DMatrix<f64> {
        let jacobian = self.jacobian();
        &jacobian * inner * jacobian.transpose()
    }

    /// A direction of the inner coordinates as one of the outer.
    pub(crate) fn outer_direction(&self, inner: &DVector<f64>) -> DVector<f64> {
        self.jacobian() * inner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hessian_is_carried_in_any_units() {
        // The determinant of the map is out of range here, so that no general inverse of it exists.
        let scaling = Scaling::new(vec![3.0, -2.0, 0.5], &[1e-120, 1e-130, 1e-125], true);
        let is_inverse = |inverse: DMatrix<f64>| {
            (scaling.jacobian() * inverse - DMatrix::identity(4, 4)).iter().all(|x| x.abs() < 1e-14)
        };
        assert!(!scaling.jacobian().try_inverse().is_some_and(is_inverse));
        assert!(is_inverse(scaling.inverse_jacobian()));
        let inner = DMatrix::identity(4, 4);
        let outer = scaling.outer_hessian(&inner);
        // ∂²/∂θ₀² of γ₀²/2 + γ_c²/2 is s₀² + m₀², and ∂²/∂θ₀∂c is −m₀.
        assert_eq!((outer[(0, 0)], outer[(0, 3)], outer[(3, 3)]), (9.0, -3.0, 1.0));
    }
}
