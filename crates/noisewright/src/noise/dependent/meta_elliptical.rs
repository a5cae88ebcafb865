//! Variables on a line with distributions of their own, whose normal scores have one joint distribution.

use std::sync::Arc;

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{LN_SQRT_2PI, ln_normal_cdf, normal_quantile, normal_quantile_log};

use super::{add_margins, check_margins, effective_rows, is_found, saved_margins};
use crate::noise::scalar::at_tails;
use crate::{Landmarks, Noise, Result, SavedNoise, Scalar, View};

/// Rows whose scores are held at once.
const BLOCK: usize = 512;
/// Scores between which values are looked up, from one end to the other.
const FARTHEST: f64 = 8.0;
const STEPS_PER_UNIT: f64 = 8.0;
/// Probability below which the logarithm of the distribution function is taken.
const FAR: f64 = 1e-8;
/// Newton steps of the inversion, which needs two or three: between two knots a value is nearly linear in its score.
const STEPS: usize = 40;

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
    pub(crate) fn new(margins: Vec<Arc<dyn Scalar>>, scores: Arc<dyn Noise>) -> Result<Self> {
        check_margins(&margins, scores.dimension())?;
        Ok(Self { margins: margins.into_iter().map(Margin::new).collect(), scores })
    }

    #[cfg(test)]
    pub(super) fn margins_for_tests(&self) -> Vec<Arc<dyn Scalar>> {
        self.margins.iter().map(|margin| Arc::clone(&margin.own)).collect()
    }

    /// The normal scores of rows, column-major; `None` where no pair of them depends on one another by more than chance.
    pub(crate) fn dependent_scores(
        margins: &[Arc<dyn Scalar>],
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Option<Vec<f64>> {
        let (d, rows) = (margins.len(), points.rows());
        let own = |j: usize| points.column(j).iter().map(move |x| score(margins[j].as_ref(), *x));
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

/// The number that is as far out among standard normal ones as the value is in its distribution.
fn score(margin: &dyn Scalar, x: f64) -> f64 {
    let (below, above) = (margin.cdf(x), margin.survival(x));
    if below <= above {
        if below < FAR { normal_quantile_log(margin.ln_cdf(x)) } else { normal_quantile(below) }
    } else if above < FAR {
        -normal_quantile_log(margin.ln_survival(x))
    } else {
        -normal_quantile(above)
    }
}

/// One variable's distribution, with the values at some scores.
#[derive(Clone)]
struct Margin {
    own: Arc<dyn Scalar>,
    knots: Vec<f64>,
}

impl Margin {
    fn new(own: Arc<dyn Scalar>) -> Self {
        let count = (2.0 * FARTHEST * STEPS_PER_UNIT) as usize;
        let at = |k: usize| exact_value(own.as_ref(), k as f64 / STEPS_PER_UNIT - FARTHEST);
        let knots = (0..=count).map(at).collect();
        Self { own, knots }
    }

    /// The value with this score, by Newton's method on the score between two knots.
    fn value(&self, z: f64) -> f64 {
        let place = (z + FARTHEST) * STEPS_PER_UNIT;
        let k = place.floor();
        if !(k >= 0.0 && k < (self.knots.len() - 1) as f64) {
            return exact_value(self.own.as_ref(), z);
        }
        let (mut left, mut right) = (self.knots[k as usize], self.knots[k as usize + 1]);
        let mut x = left + (place - k) * (right - left);
        for _ in 0..STEPS {
            if !(x > left && x < right) {
                break;
            }
            let off = score(self.own.as_ref(), x) - z;
            if off > 0.0 {
                right = x;
            } else {
                left = x;
            }
            let mut log_density = [0.0];
            self.own.log_density_of(&[x], &mut log_density);
            let here = z + off;
            let next = x - off * (-0.5 * here * here - LN_SQRT_2PI - log_density[0]).exp();
            let next = if next > left && next < right { next } else { f64::midpoint(left, right) };
            if (next - x).abs() <= 4.0 * f64::EPSILON * x.abs() {
                return next;
            }
            x = next;
        }
        x
    }
}

/// The value with this score, on the tail that is the smaller one.
fn exact_value(margin: &dyn Scalar, z: f64) -> f64 {
    at_tails(margin, z > 0.0, ln_normal_cdf(-z.abs()))
}

impl Noise for MetaElliptical {
    fn dimension(&self) -> usize {
        self.margins.len()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        let own: Vec<Arc<dyn Scalar>> = self.margins.iter().map(|margin| Arc::clone(&margin.own)).collect();
        for (i, block) in out.chunks_mut(BLOCK).enumerate() {
            let rows = block.len();
            let points = points.slice(i * BLOCK..i * BLOCK + rows);
            block.fill(0.0);
            add_margins(&own, points, block);
            let mut scores = vec![0.0; self.dimension() * rows];
            for (j, column) in scores.chunks_mut(rows).enumerate() {
                for ((z, x), o) in column.iter_mut().zip(points.column(j)).zip(block.iter_mut()) {
                    // Outside of the support there is no score.
                    *z = if o.is_finite() { score(own[j].as_ref(), *x) } else { 0.0 };
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
        let scores: Vec<f64> =
            self.margins.iter().zip(point).map(|(margin, x)| score(margin.own.as_ref(), *x)).collect();
        self.scores.inverse_transport(&scores, stream, cube)
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        self.margins[axis].own.landmarks(0)
    }

    fn describe(&self) -> String {
        format!("{} dependent variables fitted to the data by normal scores", self.dimension())
    }

    fn saved(&self) -> Option<SavedNoise> {
        let own: Vec<Arc<dyn Scalar>> = self.margins.iter().map(|margin| Arc::clone(&margin.own)).collect();
        Some(SavedNoise::MetaElliptical {
            margins: saved_margins(&own)?,
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
