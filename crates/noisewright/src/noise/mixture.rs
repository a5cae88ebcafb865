//! Mixtures of noises.

use std::ops::Range;
use std::sync::Arc;

use noisewright_numerics::gram::Columns;
use noisewright_numerics::kernels;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::ln_add_exp;
use rand::RngExt;

use super::check::{positive, probabilities};
use super::quiet::inside;
use super::weighted_index::Picker;
use crate::text::literal;
use crate::{Error, Landmarks, Noise, Result, SavedNoise, Scalar, View};

/// Rows whose parts are held at once.
const BLOCK_ROWS: usize = 1024;

/// `Σ w_k p_k(x)` with weights that sum to one.
///
/// A mixture of `dyn Noise` is a [`Noise`] of any dimension, one of `dyn Scalar` is itself a [`Scalar`].
///
/// ```
/// use noisewright::{Mixture, Noise, Normal, Student};
/// let mixture = Mixture::of(Normal::with_std(0.0, 1.0)?).and(0.3, Student::new(5.0, 0.0, 2.0)?)?;
/// assert_eq!(mixture.describe(), "0.7*normal(0, 1) + 0.3*student(5, 0, 2)");
/// # Ok::<(), noisewright::Error>(())
/// ```
pub struct Mixture<N: ?Sized = dyn Noise> {
    weights: Vec<f64>,
    components: Vec<Arc<N>>,
    picker: Picker,
}

impl<N: Noise + ?Sized> std::fmt::Debug for Mixture<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe_parts())
    }
}

impl<N: ?Sized> Clone for Mixture<N> {
    fn clone(&self) -> Self {
        Self {
            weights: self.weights.clone(),
            components: self.components.clone(),
            picker: self.picker.clone(),
        }
    }
}

impl Mixture<dyn Noise> {
    /// Weights with their noises; the weights must sum to one within 1e-9.
    ///
    /// ```
    /// use noisewright::{Mixture, Noise, Normal};
    /// let modes = [Normal::with_std(-1.0, 0.5)?, Normal::with_std(2.0, 1.0)?];
    /// let mixture = Mixture::new([0.25, 0.75].into_iter().zip(modes))?;
    /// assert_eq!(mixture.describe(), "0.25*normal(-1, 0.25) + 0.75*normal(2, 1)");
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`of_shared`](Self::of_shared).
    pub fn new<N: Noise + 'static>(parts: impl IntoIterator<Item = (f64, N)>) -> Result<Self> {
        Self::of_shared(parts.into_iter().map(|(w, noise)| (w, Arc::new(noise) as Arc<dyn Noise>)).collect())
    }

    /// One noise, to which [`and`](Self::and) adds others.
    #[must_use]
    pub fn of(noise: impl Noise + 'static) -> Self {
        let weights = vec![1.0];
        Self { picker: Picker::new(&weights), weights, components: vec![Arc::new(noise)] }
    }

    /// With a share of another noise; the weights of the others become so much smaller.
    ///
    /// ```
    /// use noisewright::{Mixture, Uniform};
    /// let mixture = Mixture::of(Uniform::new(0.0, 1.0)?).and(0.5, Uniform::new(0.0, 2.0)?)?.and(0.5, Uniform::new(0.0, 4.0)?)?;
    /// assert_eq!(mixture.weights(), [0.25, 0.25, 0.5]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the share is not between 0 and 1, or the noise has another number of variables.
    pub fn and(self, share: f64, noise: impl Noise + 'static) -> Result<Self> {
        let kept = self.weights.iter().map(|weight| weight * (1.0 - share));
        let mut parts: Vec<(f64, Arc<dyn Noise>)> = kept.zip(self.components).collect();
        parts.push((share, Arc::new(noise)));
        Self::of_shared(parts)
    }
}

impl<N: Noise + ?Sized> Mixture<N> {
    /// Weights with components that are shared: of `dyn Noise`, or of `dyn Scalar` for a mixture that is a [`Scalar`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use noisewright::{Mixture, Normal, Scalar, Student};
    /// let normal: Arc<dyn Scalar> = Arc::new(Normal::with_variance(0.0, 1.0)?);
    /// let student: Arc<dyn Scalar> = Arc::new(Student::new(5.0, 0.0, 2.0)?);
    /// let mixture = Mixture::of_shared(vec![(0.7, normal), (0.3, student)])?;
    /// assert!((mixture.cdf(0.0) - 0.5).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no component, a weight is not positive, the weights do not sum to one, or two components
    /// differ in dimension.
    pub fn of_shared(parts: Vec<(f64, Arc<N>)>) -> Result<Self> {
        let (weights, components): (Vec<f64>, Vec<Arc<N>>) = parts.into_iter().unzip();
        for &weight in &weights {
            positive("a weight of the mixture", weight)?;
        }
        let weights = probabilities("the weights of the mixture", &weights)?;
        let expected = components[0].dimension();
        if let Some(other) = components.iter().find(|c| c.dimension() != expected) {
            let found = other.dimension();
            return Err(Error::Shape { what: "variables in every part of the mixture", expected, found });
        }
        Ok(Self { picker: Picker::new(&weights), weights, components })
    }

    /// The weights, summing to one.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The components.
    #[must_use]
    pub fn components(&self) -> &[Arc<N>] {
        &self.components
    }

    /// `ln Σ_k w_k exp(l_k)` of every row, where `fill(k, rows, out)` writes `l_k` of some rows: block after block,
    /// so that the parts stay in the cache.
    fn log_sum(&self, out: &mut [f64], fill: impl Fn(usize, Range<usize>, &mut [f64])) {
        for (i, block) in out.chunks_mut(BLOCK_ROWS).enumerate() {
            let start = i * BLOCK_ROWS;
            let rows = start..start + block.len();
            self.log_sum_of_block(block, |k, part| fill(k, rows.clone(), part));
        }
    }

    fn log_sum_of_block(&self, out: &mut [f64], fill: impl Fn(usize, &mut [f64])) {
        let (rows, count) = (out.len(), self.weights.len());
        let mut parts = vec![0.0; rows * count];
        parts.chunks_mut(rows.max(1)).enumerate().for_each(|(k, part)| fill(k, part));
        let ln_weights: Vec<f64> = self.weights.iter().map(|weight| weight.ln()).collect();
        kernels::ln_sum_exp_of_columns(Columns::new(&parts, rows, count, rows), &ln_weights, out);
    }

    /// Puts draws of a component into their rows.
    fn put(&self, mine: &[usize], drawn: &[f64], rows: usize, out: &mut [f64]) {
        for axis in 0..self.components[0].dimension() {
            for (i, &row) in mine.iter().enumerate() {
                out[axis * rows + row] = drawn[axis * mine.len() + i];
            }
        }
    }

    fn describe_parts(&self) -> String {
        let parts = self.flat().into_iter().map(|(weight, words)| format!("{}*{words}", literal(weight)));
        parts.collect::<Vec<_>>().join(" + ")
    }

    /// The parts of all parts: the syntax has no mixtures inside of mixtures, and needs none.
    fn flat(&self) -> Vec<(f64, String)> {
        let parts = self.weights.iter().zip(&self.components);
        parts.flat_map(|(w, c)| c.parts().into_iter().map(move |(share, words)| (w * share, words))).collect()
    }
}

impl Noise for Mixture<dyn Noise> {
    fn dimension(&self) -> usize {
        self.components[0].dimension()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        self.log_sum(out, |k, rows, part| self.components[k].log_density(points.slice(rows), part));
    }

    fn slope(&self, point: &[f64], gradient: &mut [f64]) -> bool {
        let at = View::new(point.len(), 1, point);
        let mut own = vec![0.0; self.weights.len()];
        for ((own, weight), component) in own.chunks_mut(1).zip(&self.weights).zip(&self.components) {
            component.log_density(at, own);
            own[0] += weight.ln();
        }
        let all = own.iter().fold(f64::NEG_INFINITY, |all, own| ln_add_exp(all, *own));
        let mut sum = vec![0.0; point.len()];
        for (own, component) in own.iter().zip(&self.components) {
            if !component.slope(point, gradient) {
                return false;
            }
            let share = (own - all).exp();
            sum.iter_mut().zip(gradient.iter()).for_each(|(s, g)| *s += share * g);
        }
        gradient.copy_from_slice(&sum);
        true
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let mut rows_of = vec![Vec::new(); self.components.len()];
        (0..rows).for_each(|row| rows_of[self.picker.pick(stream)].push(row));
        for (component, mine) in self.components.iter().zip(rows_of) {
            let mut drawn = vec![0.0; self.dimension() * mine.len()];
            component.draw(stream, mine.len(), &mut drawn);
            self.put(&mine, &drawn, rows, out);
        }
    }

    fn uniforms(&self) -> Option<usize> {
        let most: Option<Vec<usize>> = self.components.iter().map(|c| c.uniforms()).collect();
        most?.into_iter().max()
    }

    /// By strata: the first coordinate chooses the component, so that each has its share of the points to within one, and
    /// where it falls in the component's stratum is the component's own first coordinate.
    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let rows = cube.rows();
        let strata: Vec<(usize, f64)> = cube.column(0).iter().map(|u| self.picker.stratum(*u)).collect();
        for (k, component) in self.components.iter().enumerate() {
            let mine: Vec<usize> = (0..rows).filter(|&row| strata[row].0 == k).collect();
            let used = component.uniforms().unwrap_or(0);
            let mut own: Vec<f64> = mine.iter().map(|&row| strata[row].1).collect();
            (1..used).for_each(|j| own.extend(mine.iter().map(|&row| cube.get(row, j))));
            let mut drawn = vec![0.0; self.dimension() * mine.len()];
            component.transport(View::new(used, mine.len(), &own), &mut drawn);
            self.put(&mine, &drawn, rows, out);
        }
    }

    /// A component by its probability given the point, and what that leaves open at random.
    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        let at = View::new(point.len(), 1, point);
        let mut own = vec![0.0; self.components.len()];
        for ((own, weight), component) in own.chunks_mut(1).zip(&self.weights).zip(&self.components) {
            component.log_density(at, own);
            own[0] += weight.ln();
        }
        let top = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return false;
        }
        let shares: Vec<f64> = own.iter().map(|own| (own - top).exp()).collect();
        let chosen = Picker::new(&shares).pick(stream);
        let used = self.components[chosen].uniforms().unwrap_or(0);
        cube[used..].iter_mut().for_each(|u| *u = inside(stream.random()));
        if !self.components[chosen].inverse_transport(point, stream, &mut cube[..used]) {
            return false;
        }
        cube[0] = self.picker.unit_of(chosen, cube[0]);
        true
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let mut all = Landmarks::default();
        for component in &self.components {
            let part = component.landmarks(axis);
            all.breaks.extend(part.breaks);
            all.centers.extend(part.centers);
        }
        sort_breaks(&mut all.breaks);
        all
    }

    fn describe(&self) -> String {
        self.describe_parts()
    }

    fn parts(&self) -> Vec<(f64, String)> {
        self.flat()
    }

    fn saved(&self) -> Option<SavedNoise> {
        let parts = self.weights.iter().zip(&self.components);
        Some(SavedNoise::Mixture(parts.map(|(w, part)| Some((*w, part.saved()?))).collect::<Option<_>>()?))
    }
}

impl Mixture<dyn Scalar> {
    fn average(&self, f: impl Fn(&dyn Scalar) -> f64) -> f64 {
        self.weights.iter().zip(&self.components).map(|(w, c)| w * f(c.as_ref())).sum()
    }
}

impl Scalar for Mixture<dyn Scalar> {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        self.log_sum(out, |k, rows, part| self.components[k].log_density_of(&x[rows], part));
    }

    fn slope_at(&self, x: f64) -> Option<f64> {
        let mut log_density = [0.0];
        self.log_density_of(&[x], &mut log_density);
        let share = |weight: f64, part: &dyn Scalar| {
            let mut own = [0.0];
            part.log_density_of(&[x], &mut own);
            weight * (own[0] - log_density[0]).exp()
        };
        let parts = self.weights.iter().zip(&self.components);
        parts.map(|(w, c)| Some(share(*w, c.as_ref()) * c.slope_at(x)?)).sum()
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        let k = self.picker.pick(stream);
        self.components[k].draw_one(stream)
    }

    fn cdf(&self, x: f64) -> f64 {
        self.average(|c| c.cdf(x))
    }

    fn survival(&self, x: f64) -> f64 {
        self.average(|c| c.survival(x))
    }

    fn ln_cdf(&self, x: f64) -> f64 {
        let mut out = [0.0];
        self.log_sum_of_block(&mut out, |k, part| part[0] = self.components[k].ln_cdf(x));
        out[0]
    }

    fn ln_survival(&self, x: f64) -> f64 {
        let mut out = [0.0];
        self.log_sum_of_block(&mut out, |k, part| part[0] = self.components[k].ln_survival(x));
        out[0]
    }

    fn ln_mass(&self, lo: f64, hi: f64) -> f64 {
        let mut out = [0.0];
        self.log_sum_of_block(&mut out, |k, part| part[0] = self.components[k].ln_mass(lo, hi));
        out[0]
    }

    fn support(&self) -> (f64, f64) {
        let ends = self.components.iter().map(|c| c.support());
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (l, h)| (lo.min(l), hi.max(h)))
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        self.components.iter().flat_map(|c| c.centers()).collect()
    }

    fn breaks(&self) -> Vec<f64> {
        let mut breaks = self.components.iter().flat_map(|c| c.breaks()).collect();
        sort_breaks(&mut breaks);
        breaks
    }

    fn is_discrete(&self) -> bool {
        self.components.iter().any(|c| c.is_discrete())
    }

    fn is_circular(&self) -> bool {
        self.components.iter().any(|c| c.is_circular())
    }

    fn words(&self) -> String {
        self.describe_parts()
    }

    fn parts_in_words(&self) -> Vec<(f64, String)> {
        self.flat()
    }
}

fn sort_breaks(breaks: &mut Vec<f64>) {
    breaks.sort_by(f64::total_cmp);
    breaks.dedup();
}
