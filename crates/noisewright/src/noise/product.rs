//! Independent noises side by side.

use std::sync::Arc;

use noisewright_numerics::random::Stream;

use crate::{Error, Landmarks, Noise, Refit, Result, SavedNoise, View};

/// Independent blocks of variables, each with its own noise; most often one noise per variable.
///
/// ```
/// use noisewright::{Normal, Noise, Product, Uniform, View};
/// let noise = Product::of(Normal::with_variance(0.0, 1.0)?).and(Uniform::new(0.0, 2.0)?);
/// let mut out = [0.0];
/// noise.log_density(View::new(2, 1, &[0.0, 1.0]), &mut out);
/// assert!((out[0] + 0.5 * std::f64::consts::TAU.ln() + 2.0f64.ln()).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Product {
    blocks: Vec<Arc<dyn Noise>>,
}

impl Product {
    /// One noise, to which [`and`](Self::and) adds those of the variables after its own.
    #[must_use]
    pub fn of(noise: impl Noise + 'static) -> Self {
        Self { blocks: vec![Arc::new(noise)] }
    }

    /// With another noise for the next variables.
    ///
    /// ```
    /// use noisewright::{Noise, Product, Uniform};
    /// let noise = Product::of(Uniform::new(0.0, 1.0)?).and(Uniform::new(0.0, 2.0)?);
    /// assert_eq!((noise.dimension(), noise.blocks().len()), (2, 2));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn and(mut self, noise: impl Noise + 'static) -> Self {
        self.blocks.push(Arc::new(noise));
        self
    }

    /// Noises over consecutive variables.
    ///
    /// ```
    /// use noisewright::{Noise, Normal, Product};
    /// let scales = [0.5, 1.0, 2.0].map(|std| Normal::with_std(0.0, std)).into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(Product::new(scales)?.dimension(), 3);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is none.
    pub fn new<N: Noise + 'static>(noises: impl IntoIterator<Item = N>) -> Result<Self> {
        Self::of_shared(noises.into_iter().map(|noise| Arc::new(noise) as Arc<dyn Noise>).collect())
    }

    /// Noises that are shared, over consecutive variables.
    ///
    /// # Errors
    /// When there is none.
    pub fn of_shared(blocks: Vec<Arc<dyn Noise>>) -> Result<Self> {
        if blocks.is_empty() {
            return Err(Error::NoVariables);
        }
        Ok(Self { blocks })
    }

    /// The noises, in order.
    #[must_use]
    pub fn blocks(&self) -> &[Arc<dyn Noise>] {
        &self.blocks
    }
}

impl Noise for Product {
    fn dimension(&self) -> usize {
        self.blocks.iter().map(|block| block.dimension()).sum()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        let mut part = vec![0.0; out.len()];
        let mut columns = Vec::new();
        let mut first = 0;
        out.fill(0.0);
        for block in &self.blocks {
            let d = block.dimension();
            if d == 1 {
                block.log_density(View::new(1, points.rows(), points.column(first)), &mut part);
            } else {
                columns.clear();
                (first..first + d).for_each(|j| columns.extend_from_slice(points.column(j)));
                block.log_density(View::new(d, points.rows(), &columns), &mut part);
            }
            for (o, part) in out.iter_mut().zip(&part) {
                *o += part;
            }
            first += d;
        }
    }

    fn slope(&self, point: &[f64], gradient: &mut [f64]) -> bool {
        let mut first = 0;
        self.blocks.iter().all(|block| {
            let mine = first..first + block.dimension();
            first = mine.end;
            block.slope(&point[mine.clone()], &mut gradient[mine])
        })
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let mut rest = out;
        for block in &self.blocks {
            let (mine, others) = rest.split_at_mut(block.dimension() * rows);
            block.draw(stream, rows, mine);
            rest = others;
        }
    }

    fn uniforms(&self) -> Option<usize> {
        self.blocks.iter().map(|block| block.uniforms()).sum()
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let rows = cube.rows();
        let (mut rest, mut first) = (out, 0);
        for block in &self.blocks {
            let (mine, others) = rest.split_at_mut(block.dimension() * rows);
            let used = first..first + block.uniforms().unwrap_or(0);
            first = used.end;
            let columns: Vec<f64> = used.clone().flat_map(|j| cube.column(j)).copied().collect();
            block.transport(View::new(used.len(), rows, &columns), mine);
            rest = others;
        }
    }

    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        let (mut point, mut cube) = (point, cube);
        self.blocks.iter().all(|block| {
            let (mine, others) = point.split_at(block.dimension());
            let (own, rest) = std::mem::take(&mut cube).split_at_mut(block.uniforms().unwrap_or(0));
            (point, cube) = (others, rest);
            block.inverse_transport(mine, stream, own)
        })
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let mut axis = axis;
        for block in &self.blocks {
            if axis < block.dimension() {
                return block.landmarks(axis);
            }
            axis -= block.dimension();
        }
        Landmarks::default()
    }

    fn describe(&self) -> String {
        let parts: Vec<String> = self.blocks.iter().map(|block| block.describe()).collect();
        format!("product({})", parts.join(", "))
    }

    fn saved(&self) -> Option<SavedNoise> {
        let block = |block: &Arc<dyn Noise>| Some((block.dimension(), block.saved()?));
        Some(SavedNoise::Product(self.blocks.iter().map(block).collect::<Option<_>>()?))
    }

    fn refittable(&self) -> Option<&dyn Refit> {
        (self.parameters() > 0).then_some(self as &dyn Refit)
    }
}
