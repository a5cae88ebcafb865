//! The Gaussian in its natural parameters: `h·x − ½ xᵀPx`, linear in `h` and the precision matrix `P`.

use std::f64::consts::TAU;

use nalgebra::DVector;

use super::family::{Entry, FamilyInfo, Parts, Request};
use super::gaussian_moments::GaussianMoments;
use super::linear::Statistics;
use super::triangle;
use crate::{Domain, Error, Parameter, Result, View};

/// `u(x) = h·x − ½ xᵀPx` in d dimensions, with parameters `h0 …`, then the upper triangle of the precision
/// matrix row by row, `P00 P01 … `.
///
/// # Formula
/// `log Z = ½ (d ln 2π − ln det P + hᵀP⁻¹h)` while P is positive definite; there is none elsewhere.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::Gaussian;
/// let mut gradient = [0.0; 2];
/// let log_z = Gaussian::new(1).unwrap().log_normalizer(&[0.0, 1.0], &mut gradient).unwrap();
/// assert!((log_z - 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-15);
/// assert_eq!(gradient, [0.0, -0.5]); // the means of x and of −x²/2
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    dimension: usize,
    pairs: Vec<(usize, usize)>,
}

impl Gaussian {
    /// A Gaussian of so many variables.
    ///
    /// # Errors
    /// When there is no variable.
    pub fn new(dimension: usize) -> Result<Self> {
        if dimension == 0 {
            return Err(Error::NoVariables);
        }
        Ok(Self { dimension, pairs: triangle::upper(dimension).collect() })
    }
}

impl Statistics for Gaussian {
    fn names(&self) -> Vec<String> {
        triangle::names("h", "P", self.dimension)
    }

    fn variables(&self) -> usize {
        self.dimension
    }

    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]) {
        if index < self.dimension {
            out.copy_from_slice(points.column(index));
            return;
        }
        let (i, j) = self.pairs[index - self.dimension];
        let factor = if i == j { -0.5 } else { -1.0 };
        for ((o, x), y) in out.iter_mut().zip(points.column(i)).zip(points.column(j)) {
            *o = factor * x * y;
        }
    }

    fn slope(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> bool {
        let (h, precision) = parameters.split_at(self.dimension);
        gradient.copy_from_slice(h);
        for (&(i, j), p) in self.pairs.iter().zip(precision) {
            gradient[i] -= p * point[j];
            if i != j {
                gradient[j] -= p * point[i];
            }
        }
        true
    }

    fn log_partition(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let d = self.dimension;
        let (h, precision) = parameters.split_at(d);
        let factor = triangle::cholesky(triangle::matrix(d, precision))?;
        let covariance = factor.inverse();
        let h = DVector::from_column_slice(h);
        let mean = factor.solve(&h);
        gradient[..d].copy_from_slice(mean.as_slice());
        for ((i, j), g) in triangle::upper(d).zip(&mut gradient[d..]) {
            let moment = covariance[(i, j)] + mean[i] * mean[j];
            *g = if i == j { -0.5 * moment } else { -moment };
        }
        Some(0.5 * (d as f64 * TAU.ln() - triangle::ln_determinant(&factor) + h.dot(&mean)))
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "gaussian",
        description: "Gaussian in d variables, natural parameters h·x − ½ xᵀPx, or mean and covariance",
        domain: "real",
        options: &["parametrization"],
        parameters: "h0 …, P00 P01 … (natural, default) or m0 …, C00 C01 … (parametrization = \"moments\")",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let space = request.product(|_| Domain::Real)?;
    let d = space.dimension();
    let moments = request.parametrization(&["natural", "moments"])? == 1;
    let names = if moments { triangle::names("m", "C", d) } else { triangle::names("h", "P", d) };
    let mut parameters: Vec<Parameter> =
        names.into_iter().zip(triangle::standard(d)).map(|(n, s)| Parameter::new(n, s)).collect();
    for (parameter, (i, j)) in parameters[d..].iter_mut().zip(triangle::upper(d)) {
        if i == j {
            parameter.lower = 0.0;
        }
    }
    if moments {
        return Ok(Parts::new(GaussianMoments::new(d)?, space, parameters));
    }
    // Beside the diagonal a zero is an edge that is missing. Means and the diagonal say where the data lie and how far they spread, and
    // their zeros mean nothing; of one variable there is nothing else.
    let diagonal =
        parameters[d..].iter().zip(triangle::upper(d)).filter(|(_, (i, j))| i == j).map(|(p, _)| p);
    let shape = parameters[..d].iter().chain(diagonal).map(|parameter| parameter.name.clone());
    let unpenalized = if d > 1 { shape.collect() } else { Vec::new() };
    Ok(Parts { unpenalized, ..Parts::new(Gaussian::new(d)?, space, parameters) })
}
