//! Parametric noises that can be fitted again to their own draws by maximum likelihood, with their scores.

use std::sync::Arc;

use noisewright_numerics::special::{bessel_ratio, digamma};

use crate::{
    Categorical, Gamma, Laplace, LogNormal, MultivariateNormal, Noise, Normal, Poisson, Product, Result,
    View, VonMises, VonMisesFisher,
};

/// A noise with smooth parameters α that maximum likelihood can estimate from its draws.
///
/// The score is needed only up to an invertible linear map: what is done with it is a projection.
///
/// ```
/// use noisewright::{Noise, Normal, View};
/// let noise = Normal::with_variance(0.3, 2.25)?;
/// let family = noise.refittable().unwrap();
/// let mut score = [0.0; 2];
/// family.score(View::new(1, 1, &[1.8]), &mut score); // one standard deviation out
/// assert!((score[0] - 1.0).abs() < 1e-15 && score[1].abs() < 1e-15);
/// assert_eq!(family.refit(View::new(1, 2, &[1.0, 3.0]))?.describe(), "normal(2, 1)");
/// # Ok::<(), noisewright::Error>(())
/// ```
pub trait Refit: Sync {
    /// The member of the family that maximises the likelihood of the draws.
    ///
    /// # Errors
    /// When the draws do not determine one.
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>>;

    /// Number of parameters.
    fn parameters(&self) -> usize;

    /// Writes `∂ log p_n(x_i; α)/∂α_j`, up to a linear map of the parameters, to `out[j * rows + i]`.
    fn score(&self, points: View<'_>, out: &mut [f64]);
}

/// Writes functions of one variable side by side.
fn columns<const N: usize>(points: View<'_>, out: &mut [f64], of: impl Fn(f64) -> [f64; N]) {
    let rows = points.rows();
    for (i, x) in points.column(0).iter().enumerate() {
        for (j, value) in of(*x).into_iter().enumerate() {
            out[j * rows + i] = value;
        }
    }
}

impl Refit for Normal {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        2
    }

    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let deviation = self.variance().sqrt();
        columns(points, out, |x| {
            let z = (x - self.mean()) / deviation;
            [z, z * z - 1.0]
        });
    }
}

impl Refit for LogNormal {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        2
    }

    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let (mean, deviation) = self.of_logarithm();
        columns(points, out, |x| {
            let z = (x.ln() - mean) / deviation;
            [z, z * z - 1.0]
        });
    }
}

impl Refit for Gamma {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        2
    }

    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let (shape, rate) = (self.shape(), self.rate());
        let mean_logarithm = digamma(shape) - rate.ln();
        columns(points, out, |x| [x.ln() - mean_logarithm, rate * x - shape]);
    }
}

impl Refit for Laplace {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        2
    }

    /// The density has a kink, but its family is differentiable in quadratic mean, with this score.
    fn score(&self, points: View<'_>, out: &mut [f64]) {
        columns(points, out, |x| {
            let z = (x - self.location()) / self.scale();
            [z.signum(), z.abs() - 1.0]
        });
    }
}

impl Refit for VonMises {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        2
    }

    /// In the coordinates `κ cos m, κ sin m`, which are regular at κ = 0 too.
    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let length = bessel_ratio(0.0, self.concentration());
        let (sine, cosine) = self.mean().sin_cos();
        columns(points, out, |x| [x.cos() - length * cosine, x.sin() - length * sine]);
    }
}

impl Refit for Poisson {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        1
    }

    fn score(&self, points: View<'_>, out: &mut [f64]) {
        columns(points, out, |x| [x - self.mean()]);
    }
}

impl Refit for Categorical {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit_to_states(self.states(), 0.0, draws, None)?))
    }

    fn parameters(&self) -> usize {
        self.states().len() - 1
    }

    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let rows = points.rows();
        let states = self.states().iter().zip(self.probabilities());
        for ((state, probability), column) in states.zip(out.chunks_mut(rows.max(1))).take(self.parameters())
        {
            for (o, x) in column.iter_mut().zip(points.column(0)) {
                *o = f64::from(u8::from(x == state)) - probability;
            }
        }
    }
}

impl Refit for VonMisesFisher {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        self.direction().len()
    }

    /// In the coordinates `κ μ`, of which the mean of x is the derivative of the log-normalizer.
    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let rows = points.rows();
        let length = bessel_ratio(0.5 * self.direction().len() as f64 - 1.0, self.concentration());
        for (axis, column) in out.chunks_mut(rows.max(1)).enumerate() {
            for (o, x) in column.iter_mut().zip(points.column(axis)) {
                *o = x - length * self.direction()[axis];
            }
        }
    }
}

impl Refit for MultivariateNormal {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Self::fit(draws, None)?))
    }

    fn parameters(&self) -> usize {
        let d = self.mean().len();
        d + d * (d + 1) / 2
    }

    /// In whitened coordinates: `z`, then `z_i z_j − δ_ij`.
    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let (d, rows) = (self.mean().len(), points.rows());
        let (z, squares) = out.split_at_mut(d * rows);
        self.whiten(points, z);
        let pairs = (0..d).flat_map(|i| (i..d).map(move |j| (i, j)));
        for ((i, j), column) in pairs.zip(squares.chunks_mut(rows.max(1))) {
            let unit = if i == j { 1.0 } else { 0.0 };
            for (row, o) in column.iter_mut().enumerate() {
                *o = z[i * rows + row] * z[j * rows + row] - unit;
            }
        }
    }
}

/// The variables of one block of a product, side by side.
fn block_values(points: View<'_>, first: usize, dimension: usize) -> Vec<f64> {
    (first..first + dimension).flat_map(|axis| points.column(axis).iter().copied()).collect()
}

impl Refit for Product {
    fn refit(&self, draws: View<'_>) -> Result<Arc<dyn Noise>> {
        let mut first = 0;
        let mut blocks = Vec::with_capacity(self.blocks().len());
        for block in self.blocks() {
            let dimension = block.dimension();
            let values = block_values(draws, first, dimension);
            blocks.push(match block.refittable() {
                Some(family) => family.refit(View::new(dimension, draws.rows(), &values))?,
                None => Arc::clone(block),
            });
            first += dimension;
        }
        Ok(Arc::new(Self::new(blocks)?))
    }

    fn parameters(&self) -> usize {
        self.blocks().iter().filter_map(|block| block.refittable()).map(Refit::parameters).sum()
    }

    fn score(&self, points: View<'_>, out: &mut [f64]) {
        let (rows, mut first) = (points.rows(), 0);
        let mut rest = out;
        for block in self.blocks() {
            let dimension = block.dimension();
            if let Some(family) = block.refittable() {
                let values = block_values(points, first, dimension);
                let (mine, others) = rest.split_at_mut(family.parameters() * rows);
                family.score(View::new(dimension, rows, &values), mine);
                rest = others;
            }
            first += dimension;
        }
    }
}
