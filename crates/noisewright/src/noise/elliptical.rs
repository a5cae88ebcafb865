//! A multivariate normal or Student distribution, whichever the points' distances from their mean speak for.

use noisewright_numerics::kernels;
use noisewright_numerics::optimize::minimize_bracketed;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::ln_gamma;
use noisewright_numerics::summation::sum;

use super::fitting::unfitted;
use super::shrinkage::shrink_correlations;
use super::whitening::{Whitening, mean_and_covariance};
use crate::{Landmarks, MultivariateNormal, MultivariateStudent, Noise, Result, View};

/// Distances that the likelihood of the degrees of freedom is summed over.
const FITTED: usize = 20_000;
/// Degrees of freedom beyond which a Student distribution is taken as normal.
const NORMAL_DOF: f64 = 300.0;
/// Degrees of freedom below which moments are poor and the likelihood is worth its iterations.
const HEAVY_DOF: f64 = 15.0;
/// Most iterations of the likelihood for heavy tails.
const ITERATIONS: usize = 15;

/// A normal or Student distribution of several variables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Elliptical {
    /// Normal.
    Normal(MultivariateNormal),
    /// Student.
    Student(MultivariateStudent),
}

impl Elliptical {
    /// The mean and covariance of the points with the degrees of freedom of highest likelihood; normal where those are
    /// above 300. Where tails are heavy, location and scale follow by maximum likelihood too.
    ///
    /// # Errors
    /// When there are too few points or the variables are linearly dependent in them.
    pub(crate) fn fit_likelihood(noise: &'static str, points: View<'_>) -> Result<Self> {
        let (mean, covariance) = moments(noise, points)?;
        Self::with_moments(noise, points, &mean, &covariance)
    }

    /// The same with the correlations shrunk towards zero by what chance made of them.
    ///
    /// # Errors
    /// As for [`fit_likelihood`](Self::fit_likelihood).
    pub(crate) fn fit_shrunk(noise: &'static str, points: View<'_>) -> Result<Self> {
        let (mean, mut covariance) = moments(noise, points)?;
        shrink_correlations(points, &mean, &mut covariance);
        Self::with_moments(noise, points, &mean, &covariance)
    }

    fn with_moments(noise: &'static str, points: View<'_>, mean: &[f64], covariance: &[f64]) -> Result<Self> {
        let d = points.columns();
        let map = Whitening::new(noise, mean, covariance)?;
        let dof = dof_by_moments(d, &distances(&map, points));
        if dof > NORMAL_DOF {
            return Ok(Self::Normal(MultivariateNormal::new(mean, covariance)?));
        }
        let scale: Vec<f64> = covariance.iter().map(|c| c * (dof - 2.0) / dof).collect();
        let start = MultivariateStudent::new(dof, mean, &scale)?;
        Ok(Self::Student(if dof < HEAVY_DOF { improved(noise, start, points)? } else { start }))
    }

    /// The mean, or the location where there is no mean.
    #[must_use]
    pub(crate) fn location(&self) -> &[f64] {
        match self {
            Self::Normal(noise) => noise.mean(),
            Self::Student(noise) => noise.location(),
        }
    }

    /// The degrees of freedom, `None` for a normal distribution.
    #[must_use]
    pub(crate) fn dof(&self) -> Option<f64> {
        match self {
            Self::Normal(_) => None,
            Self::Student(noise) => Some(noise.dof()),
        }
    }

    /// The same distribution as by [`transport`](Noise::transport), one variable after the other.
    pub(super) fn transport_by_variables(&self, cube: View<'_>, out: &mut [f64]) {
        match self {
            Self::Normal(noise) => noise.transport_by_variables(cube, out),
            Self::Student(noise) => noise.transport_by_variables(cube, out),
        }
    }

    fn noise(&self) -> &dyn Noise {
        match self {
            Self::Normal(noise) => noise,
            Self::Student(noise) => noise,
        }
    }
}

impl Noise for Elliptical {
    fn dimension(&self) -> usize {
        self.noise().dimension()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        self.noise().log_density(points, out);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        self.noise().draw(stream, rows, out);
    }

    fn uniforms(&self) -> Option<usize> {
        self.noise().uniforms()
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        self.noise().transport(cube, out);
    }

    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        self.noise().inverse_transport(point, stream, cube)
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        self.noise().landmarks(axis)
    }

    fn describe(&self) -> String {
        self.noise().describe()
    }
}

/// The mean and the covariance of points that are enough for both.
fn moments(noise: &'static str, points: View<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let d = points.columns();
    if points.rows() < d + 2 {
        let reason = format!("{} points are too few to fit it: give at least {}", points.rows(), d + 2);
        return Err(unfitted(noise, &reason));
    }
    mean_and_covariance(noise, points, None)
}

/// Squared distances of an even selection of the points.
fn distances(map: &Whitening, points: View<'_>) -> Vec<f64> {
    let mut all = vec![0.0; points.rows()];
    map.squared_distances(points, &mut all);
    all.into_iter().step_by(points.rows().div_ceil(FITTED).max(1)).collect()
}

/// The degrees of freedom n of highest likelihood when the scale matrix is the covariance times (n−2)/n, given squared
/// distances in the covariance.
///
/// `ln L/T = ln Γ((n+d)/2) − ln Γ(n/2) − d/2 ln(π(n−2)) − (n+d)/2 · mean ln(1 + r²/(n−2))`
fn dof_by_moments(d: usize, squared: &[f64]) -> f64 {
    let d = d as f64;
    maximize_dof(2.05, |n| {
        let mean = mean_ln_1p(squared, 1.0 / (n - 2.0));
        ln_gamma(0.5 * (n + d)) - ln_gamma(0.5 * n) - 0.5 * d * (n - 2.0).ln() - 0.5 * (n + d) * mean
    })
}

/// The same for a given scale matrix, with squared distances in it.
fn dof_by_likelihood(d: usize, squared: &[f64]) -> f64 {
    let d = d as f64;
    maximize_dof(0.5, |n| {
        let mean = mean_ln_1p(squared, 1.0 / n);
        ln_gamma(0.5 * (n + d)) - ln_gamma(0.5 * n) - 0.5 * d * n.ln() - 0.5 * (n + d) * mean
    })
}

/// The maximum over degrees of freedom from `least` to a thousand, on the scale of their inverse.
fn maximize_dof(least: f64, likelihood: impl Fn(f64) -> f64) -> f64 {
    1.0 / minimize_bracketed(1e-3, 1.0 / least, |t| -likelihood(1.0 / t)).at[0]
}

/// The mean of `ln(1 + factor·x)`.
fn mean_ln_1p(x: &[f64], factor: f64) -> f64 {
    let scaled: Vec<f64> = x.iter().map(|x| 1.0 + factor * x).collect();
    let mut logarithms = vec![0.0; x.len()];
    kernels::ln(&scaled, &mut logarithms);
    sum(&logarithms) / x.len() as f64
}

/// Location, scale and degrees of freedom by maximum likelihood: each point weighs `(n+d)/(n+r²)`.
fn improved(
    noise: &'static str,
    start: MultivariateStudent,
    points: View<'_>,
) -> Result<MultivariateStudent> {
    let (d, rows) = (points.columns(), points.rows());
    let mut current = start;
    let mut weights = vec![0.0; rows];
    for _ in 0..ITERATIONS {
        let n = current.dof();
        Whitening::new(noise, current.location(), current.scale())?.squared_distances(points, &mut weights);
        weights.iter_mut().for_each(|r| *r = (n + d as f64) / (n + *r));
        let (location, mut scale) = mean_and_covariance(noise, points, Some(&weights))?;
        let share = sum(&weights) / rows as f64;
        scale.iter_mut().for_each(|s| *s *= share);
        let squared = distances(&Whitening::new(noise, &location, &scale)?, points);
        let next = dof_by_likelihood(d, &squared);
        current = MultivariateStudent::new(next, &location, &scale)?;
        if (next - n).abs() < 1e-3 * n {
            break;
        }
    }
    Ok(current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_degrees_of_freedom_that_made_the_points_are_found() {
        for (dof, tolerance) in [(3.0, 0.3), (8.0, 1.0)] {
            let truth = MultivariateStudent::new(dof, &[1.0, -1.0], &[2.0, 0.5, 0.5, 1.0]).unwrap();
            let points = sample(&truth, 20_000, 1);
            let fitted = Elliptical::fit_likelihood("student", points.view()).unwrap();
            // The information on n at 3 and 8 gives standard errors of about 0.06 and 0.3.
            assert!((fitted.dof().unwrap() - dof).abs() < tolerance, "{:?}", fitted.dof());
            assert!((fitted.location()[0] - 1.0).abs() < 0.06);
        }
    }

    #[test]
    fn normal_points_are_called_normal() {
        let truth =
            MultivariateNormal::new(&[0.0; 3], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
        let fitted = Elliptical::fit_likelihood("student", sample(&truth, 20_000, 3).view()).unwrap();
        assert!(fitted.dof().is_none_or(|dof| dof > 60.0), "{:?}", fitted.dof());
    }
}
