//! Variables on a line with distributions of their own, whose normal scores have one joint distribution.

use std::sync::Arc;

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::LN_SQRT_2PI;

use super::margin::Margin;
use super::{add_margins, check_margins, effective_rows, is_found, saved_margins};
use crate::{Landmarks, Noise, Result, SavedNoise, View};

/// Rows whose scores are held at once.
const BLOCK: usize = 512;

/// `x_j = F_j⁻¹(Φ(z_j))` with `z` of a joint distribution: a meta-elliptical distribution (Fang, Fang and Kotz 2002) where that
/// is elliptical, with a normal copula (the nonparanormal of Liu, Lafferty and Wasserman 2009) where it is normal.
///
/// Its density is that of the scores times `Π f_j(x_j)/φ(z_j)`. The margins `F_j` are the variables' own distributions where
/// the scores are standard normal one by one; where they are not, what they lack is in the scores.
#[derive(Clone)]
pub(crate) struct MetaElliptical {
    margins: Vec<Margin>,
    scores: Arc<dyn Noise>,
}

impl MetaElliptical {
    /// Margins and the joint distribution of as many scores.
    ///
    /// # Errors
    /// When the numbers of variables differ.
    pub(crate) fn new(margins: Vec<Margin>, scores: Arc<dyn Noise>) -> Result<Self> {
        check_margins(&margins, scores.dimension())?;
        Ok(Self { margins, scores })
    }

    /// The normal scores of rows, column-major; `None` where no pair of them depends on one another by more than chance.
    pub(crate) fn dependent_scores(
        margins: &[Margin],
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Option<Vec<f64>> {
        let (d, rows) = (margins.len(), points.rows());
        let own = |j: usize| points.column(j).iter().map(move |x| margins[j].score(*x));
        let scores: Vec<f64> = (0..d).flat_map(own).collect();
        let effective = effective_rows(rows, weights);
        let pairs = d * d.saturating_sub(1) / 2;
        let column = |j: usize| &scores[j * rows..(j + 1) * rows];
        let depends = |i: usize, j: usize| {
            let r = correlation(column(i), column(j), weights);
            is_found(-0.5 * effective * (-r * r).ln_1p(), effective, pairs)
        };
        let any = (0..d).any(|i| (0..i).any(|j| depends(i, j)));
        any.then_some(scores)
    }
}

/// The correlation of two columns with optional weights.
fn correlation(a: &[f64], b: &[f64], weights: Option<&[f64]>) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..a.len()).map(weight).sum();
    let mean = |x: &[f64]| x.iter().enumerate().map(|(i, x)| weight(i) * x).sum::<f64>() / total;
    let (ma, mb) = (mean(a), mean(b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| {
        x.iter().zip(y).enumerate().map(|(i, (x, y))| weight(i) * (x - mx) * (y - my)).sum::<f64>()
    };
    let scale = (product(a, ma, a, ma) * product(b, mb, b, mb)).sqrt();
    if scale > 0.0 { (product(a, ma, b, mb) / scale).clamp(-1.0, 1.0) } else { 0.0 }
}

impl Noise for MetaElliptical {
    fn dimension(&self) -> usize {
        self.margins.len()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        for (i, block) in out.chunks_mut(BLOCK).enumerate() {
            let rows = block.len();
            let points = points.slice(i * BLOCK..i * BLOCK + rows);
            block.fill(0.0);
            add_margins(&self.margins, points, block);
            let mut scores = vec![0.0; self.dimension() * rows];
            for (j, column) in scores.chunks_mut(rows).enumerate() {
                for ((z, x), o) in column.iter_mut().zip(points.column(j)).zip(block.iter_mut()) {
                    // Outside of the support there is no score.
                    *z = if o.is_finite() { self.margins[j].score(*x) } else { 0.0 };
                    *o += 0.5 * *z * *z + LN_SQRT_2PI;
                }
            }
            let mut joint = vec![0.0; rows];
            self.scores.log_density(View::new(self.dimension(), rows, &scores), &mut joint);
            block.iter_mut().zip(joint).for_each(|(o, joint)| *o += joint);
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        self.scores.draw(stream, rows, out);
        self.to_values(rows, out);
    }

    fn uniforms(&self) -> Option<usize> {
        self.scores.uniforms()
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        self.scores.transport(cube, out);
        self.to_values(cube.rows(), out);
    }

    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        let scores: Vec<f64> = self.margins.iter().zip(point).map(|(margin, x)| margin.score(*x)).collect();
        self.scores.inverse_transport(&scores, stream, cube)
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        self.margins[axis].own().landmarks(0)
    }

    fn describe(&self) -> String {
        format!("{} dependent variables fitted to the data by normal scores", self.dimension())
    }

    fn saved(&self) -> Option<SavedNoise> {
        Some(SavedNoise::MetaElliptical {
            margins: saved_margins(&self.margins)?,
            scores: Box::new(self.scores.saved()?),
        })
    }
}

impl MetaElliptical {
    fn to_values(&self, rows: usize, out: &mut [f64]) {
        for (margin, column) in self.margins.iter().zip(out.chunks_mut(rows.max(1))) {
            column.iter_mut().for_each(|z| *z = margin.value(*z));
        }
    }
}
