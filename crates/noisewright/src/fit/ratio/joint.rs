//! The joint error of all bridges, and means of functions of the log ratio with their errors, to second order (MATH §12).
//!
//! A mean of `f(g)` at the estimated coefficients is off, on the average, by what every row does to its own log ratio, by the
//! curvature `½f″(g) ψᵀCψ`, C being the covariance of the coefficients, and by the bias of the coefficients (Cox and Snell 1968).
//! All are of order k/n. Where the densities are almost equal so is a divergence, and they are taken off.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram};
use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::special::sigmoid;
use noisewright_numerics::summation::{mean, try_blocked};

use super::contrast::Features;
use super::functionals::Functional;
use super::telescope::Telescope;
use crate::fit::loss_terms::Class;
use crate::fit::result::{Estimate, Variances};
use crate::fit::sample_blocks::CHUNK;
use crate::normalizer::two_sided;
use crate::{Error, Parameter, Result};

/// What is known of the log ratio in the end.
pub(super) struct Joint {
    /// Covariance of the coefficients, in the coordinates of scaled features.
    pub(super) covariance: DMatrix<f64>,
    /// Leave-one-out log ratios of both samples, of the pairs where rows are pairs.
    pub(super) log_ratios: [Vec<f64>; 2],
    /// Of every functional.
    pub(super) functionals: Vec<Divergence>,
}

/// A divergence with its error.
///
/// Its variance falls with it, as that of a proportion does: `Var = slope·value + V`, V being what is left where the densities are
/// equal. An interval of the values that are within so many standard deviations *at these values* (Wilson 1927) covers next to
/// equal densities too, where the estimate is skewed and its own standard error small whenever it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divergence {
    value: f64,
    /// By either sample.
    variances: [f64; 2],
    slope: f64,
}

impl Divergence {
    /// `plug_in` is the value before its bias was taken off; the sum of squared influences is in proportion to it, which has V in it
    /// twice (Efron and Stein 1981).
    fn new(value: f64, plug_in: f64, influences: [f64; 2], degenerate: f64) -> Self {
        let all: f64 = influences.iter().sum();
        let slope = if plug_in > 0.0 { all / plug_in } else { 0.0 };
        let variance = (slope * value).max(0.0) + degenerate;
        let share = |own: f64| if all > 0.0 { own / all } else { 0.5 };
        Self { value, variances: influences.map(|own| variance * share(own)), slope }
    }

    /// None is known.
    pub(super) fn unknown() -> Self {
        Self { value: f64::NAN, variances: [f64::NAN; 2], slope: f64::NAN }
    }

    pub(super) fn estimate(&self, name: &str, confidence: f64) -> Estimate {
        let [data, noise] = self.variances;
        let variances = Variances { data, noise, freedom: f64::INFINITY };
        let mut found = Estimate::new(&Parameter::new(name, 0.0), self.value, variances, confidence, false);
        let reach = two_sided(confidence, f64::INFINITY);
        let shift = 0.5 * reach * reach * self.slope;
        let half = (reach * reach * (data + noise) + shift * shift).sqrt();
        (found.lower, found.upper) = (self.value + shift - half, self.value + shift + half);
        found
    }
}

/// What some units, rows or pairs of them, do to the coefficients, one row each.
struct Influence {
    /// Alone.
    alone: DMatrix<f64>,
    /// With the units that depend on them.
    together: DMatrix<f64>,
    /// Features of the units' rows in either sample; of those that are in several pairs, list after list.
    rows: [Vec<Features>; 2],
}

/// Sums over units.
struct Moments {
    units: usize,
    /// `Σ φφᵀ`.
    gram: DMatrix<f64>,
    /// `Σ φ`, of units alone and with those that depend on them.
    sums: [DVector<f64>; 2],
    /// What every unit adds to the functionals through the coefficients, unit after unit.
    along: Vec<f64>,
}

impl Moments {
    fn join(mut self, other: Self) -> Self {
        self.units += other.units;
        self.gram += other.gram;
        self.along.extend(other.along);
        for (own, others) in self.sums.iter_mut().zip(other.sums) {
            *own += others;
        }
        self
    }

    /// The covariance that the units give the coefficients.
    fn covariance(&self) -> DMatrix<f64> {
        let products = &self.gram - &self.sums[0] * self.sums[1].transpose() / self.units as f64;
        (&products + products.transpose()) * 0.5
    }

    fn mean_together(&self) -> DVector<f64> {
        &self.sums[1] / self.units as f64
    }
}

/// Rows of both samples at the estimate.
#[derive(Default)]
struct Rows {
    log_ratios: [Vec<f64>; 2],
    /// What every row does to its own log ratio.
    own: [Vec<f64>; 2],
    /// Variances of the log ratios.
    spreads: [Vec<f64>; 2],
    /// What the gradient of the loss is off by on the average.
    gradient: Option<DVector<f64>>,
}

impl Rows {
    fn join(mut self, other: Self) -> Self {
        for side in [0, 1] {
            self.log_ratios[side].extend(&other.log_ratios[side]);
            self.own[side].extend(&other.own[side]);
            self.spreads[side].extend(&other.spreads[side]);
        }
        self.gradient = match (self.gradient, other.gradient) {
            (Some(own), Some(others)) => Some(own + others),
            (own, others) => own.or(others),
        };
        self
    }

    /// The log ratios that all other rows would give.
    fn left_out(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|side| self.log_ratios[side].iter().zip(&self.own[side]).map(|(g, own)| g - own).collect())
    }

    /// Values of a functional at the rows of one side, and what their mean is off by.
    fn values(&self, functional: &Functional, side: usize) -> (Vec<f64>, f64) {
        let rows = self.log_ratios[side].iter().zip(self.own[side].iter().zip(&self.spreads[side]));
        let (values, off): (Vec<f64>, Vec<f64>) = rows
            .map(|(g, (own, spread))| {
                let value = functional.at(side, *g)[0];
                let [left_out, _, bent] = functional.at(side, g - own);
                (value, value - left_out + 0.5 * bent * spread)
            })
            .unzip();
        let off = mean(&off);
        (values, off)
    }
}

impl Telescope<'_> {
    /// The covariance and the functionals of the log ratio.
    ///
    /// # Errors
    /// When a feature is not a number.
    pub(super) fn joint(&self, functionals: &[Functional]) -> Result<Joint> {
        let total = self.coefficients();
        let slopes = self.slopes(&total, functionals)?;
        let classes: &[Option<Class>] =
            if self.is_paired() { &[None] } else { &[Some(Class::Data), Some(Class::Noise)] };
        let mut moments = Vec::with_capacity(classes.len());
        for class in classes {
            moments.push(over(self.units(*class), |units| self.moments(*class, units, &slopes))?);
        }
        let covariance = moments
            .iter()
            .map(Moments::covariance)
            .fold(DMatrix::zeros(total.len(), total.len()), |sum, own| sum + own);
        let mut rows = Rows::default();
        for (class, moments) in classes.iter().zip(&moments) {
            let centre = moments.mean_together();
            let one = |units| self.rows(*class, units, &total, &centre, &covariance);
            let own = try_blocked(self.units(*class), CHUNK, one, Rows::join)?;
            rows = rows.join(own.ok_or(Error::NoData)?);
        }
        let shift =
            rows.gradient.take().map(|gradient| slopes.tr_mul(&(&self.bridges[0].solved.bread * gradient)));
        let apart = self.apart_by_chance(&covariance);
        let found = functionals.iter().enumerate().map(|(f, functional)| {
            let (first, second) = (rows.values(functional, 0), rows.values(functional, 1));
            let off = first.1 + second.1 - shift.as_ref().map_or(0.0, |shift| shift[f]);
            let values = [first.0, second.0];
            let means = [mean(&values[0]), mean(&values[1])];
            let influences = self.variances(&moments, &values, means, [f, functionals.len()]);
            let value = functional.offset + means[0] + means[1] - off;
            let [expected, variance] = apart;
            let plug_in = value + functional.curvature * expected;
            Divergence::new(value, plug_in, influences, functional.curvature.powi(2) * variance)
        });
        let functionals = found.collect();
        Ok(Joint { covariance, log_ratios: rows.left_out(), functionals })
    }

    fn is_paired(&self) -> bool {
        self.samples.paired || self.bridges.len() > 1
    }

    /// Number of rows of a sample, or of units of pairs.
    fn units(&self, class: Option<Class>) -> usize {
        match class {
            None => self.samples.units(),
            Some(Class::Data) => self.samples.first.rows(),
            Some(Class::Noise) => self.samples.second.rows(),
        }
    }

    /// Mean and variance of `½δᵀIδ` over coefficients δ with mean zero and covariance C: `½tr IC` and `½tr (IC)²`. It is the divergence
    /// that samples of equal densities have; there the loss has the curvature `I ν/(1 + ν)`. Samples that need bridges are not equal.
    fn apart_by_chance(&self, covariance: &DMatrix<f64>) -> [f64; 2] {
        let [bridge] = &self.bridges[..] else { return [0.0; 2] };
        let Inverse::Regular(curvature) = invert(&bridge.solved.bread) else { return [0.0; 2] };
        let nu = self.contrast_of(Class::Data).2;
        let product = curvature * covariance * ((1.0 + nu) / nu);
        [0.5 * product.trace(), 0.5 * product.dot(&product.transpose())]
    }

    /// The derivative of every functional by the coefficients, one column each.
    fn slopes(&self, total: &DVector<f64>, functionals: &[Functional]) -> Result<DMatrix<f64>> {
        let size = total.len();
        let mut slopes = DMatrix::zeros(size, functionals.len());
        for (side, view) in [self.samples.first, self.samples.second].into_iter().enumerate() {
            let one = |range: Range<usize>| -> Result<DMatrix<f64>> {
                let features = self.features(view.slice(range))?;
                let g = features.log_ratio(total);
                let weights = DMatrix::from_fn(g.len(), functionals.len(), |i, f| {
                    functionals[f].at(side, g[i])[1] / view.rows() as f64
                });
                Ok(features.psi.tr_mul(&weights))
            };
            slopes += try_blocked(view.rows(), CHUNK, one, |a, b| a + b)?.ok_or(Error::NoData)?;
        }
        Ok(slopes)
    }

    fn influence(&self, class: Option<Class>, units: Range<usize>) -> Result<Influence> {
        match class {
            None => self.influence_of_pairs(units),
            Some(class) => self.influence_of_rows(class, units),
        }
    }

    /// Rows of one of two independent samples.
    fn influence_of_rows(&self, class: Class, range: Range<usize>) -> Result<Influence> {
        let (view, unit, nu) = self.contrast_of(class);
        let solved = &self.bridges[0].solved;
        let features = self.features(view.slice(range))?;
        let alone = features.scores(class, &solved.at, nu, unit) * &solved.bread * -1.0;
        let rows = match class {
            Class::Data => [vec![features], Vec::new()],
            Class::Noise => [Vec::new(), vec![features]],
        };
        Ok(Influence { together: alone.clone(), alone, rows })
    }

    /// The rows of a class, the weight of one in the loss, and ν.
    fn contrast_of(&self, class: Class) -> (crate::View<'_>, f64, f64) {
        let (n1, n2) = (self.samples.first.rows() as f64, self.samples.second.rows() as f64);
        match class {
            Class::Data => (self.samples.first, 1.0 / n1, n2 / n1),
            Class::Noise => (self.samples.second, 1.0 / n1, n2 / n1),
        }
    }

    /// Pairs of rows, with their waymarks on all bridges; those that share a row of the smaller sample are one unit.
    fn influence_of_pairs(&self, units: Range<usize>) -> Result<Influence> {
        let (count, pairs, lag) = (self.samples.units(), self.samples.pairs(), self.samples.lag);
        let size = self.scaling.scale.len() + 1;
        if lag > 0 {
            // Pairs around a circle: those next to the ends come with them. (There are as many units as pairs.)
            let around = count + units.start - lag..count + units.end + lag;
            let mut wide = DMatrix::zeros(around.len(), size);
            self.pair_influence(around, &mut wide)?;
            let alone = wide.rows(lag, units.len()).into_owned();
            let together = (0..=2 * lag)
                .map(|shift| wide.rows(shift, units.len()).into_owned())
                .fold(DMatrix::zeros(units.len(), size), |sum, own| sum + own);
            let [first, second] = self.ends(units)?;
            return Ok(Influence { alone, together, rows: [vec![first], vec![second]] });
        }
        let mut alone = DMatrix::zeros(units.len(), size);
        let mut rows = [Vec::new(), Vec::new()];
        for start in (units.start..pairs).step_by(count) {
            let range = start..(start + units.len()).min(pairs);
            self.pair_influence(range.clone(), &mut alone)?;
            let [first, second] = self.ends(range)?;
            rows[0].push(first);
            rows[1].push(second);
        }
        Ok(Influence { together: alone.clone(), alone, rows })
    }

    fn waymark(&self, alpha: f64, pairs: Range<usize>) -> Result<Features> {
        self.features(self.samples.waymark(alpha, &self.center, pairs).view())
    }

    /// The features of both ends of pairs.
    fn ends(&self, pairs: Range<usize>) -> Result<[Features; 2]> {
        Ok([self.waymark(0.0, pairs.clone())?, self.waymark(1.0, pairs)?])
    }

    /// Adds what some pairs do to the coefficients of all bridges.
    fn pair_influence(&self, pairs: Range<usize>, moved: &mut DMatrix<f64>) -> Result<()> {
        let unit = 1.0 / self.samples.pairs() as f64;
        let mut near = self.waymark(0.0, pairs.clone())?;
        for bridge in &self.bridges {
            let far = self.waymark(bridge.to, pairs.clone())?;
            let solved = &bridge.solved;
            let scores = near.scores(Class::Data, &solved.at, 1.0, unit)
                + far.scores(Class::Noise, &solved.at, 1.0, unit);
            let mut rows = moved.rows_mut(0, pairs.len());
            rows -= scores * &solved.bread;
            near = far;
        }
        Ok(())
    }

    fn moments(&self, class: Option<Class>, units: Range<usize>, slopes: &DMatrix<f64>) -> Result<Moments> {
        let count = units.len();
        let Influence { alone, together, .. } = self.influence(class, units)?;
        let gram = if self.samples.lag == 0 { gram(&alone) } else { alone.tr_mul(&together) };
        let along = (&alone * slopes).transpose().as_slice().to_vec();
        let sums = [&alone, &together].map(|moved| moved.row_sum().transpose());
        Ok(Moments { units: count, gram, sums, along })
    }

    fn rows(
        &self,
        class: Option<Class>,
        units: Range<usize>,
        total: &DVector<f64>,
        centre: &DVector<f64>,
        covariance: &DMatrix<f64>,
    ) -> Result<Rows> {
        let Influence { together, rows, .. } = self.influence(class, units)?;
        let mut found = Rows::default();
        for (side, features) in
            rows.iter().enumerate().flat_map(|(side, all)| all.iter().map(move |f| (side, f)))
        {
            let mut own = together.rows(0, features.psi.nrows()).into_owned();
            own.row_iter_mut().for_each(|mut row| row -= centre.transpose());
            let own = features.psi.component_mul(&own).column_sum();
            let spread = (&features.psi * covariance).component_mul(&features.psi).column_sum();
            let log_ratios = features.log_ratio(total);
            if let Some(class) = class {
                let (_, unit, nu) = self.contrast_of(class);
                let weights =
                    log_ratios.iter().zip(own.iter().zip(spread.iter())).map(|(g, (own, spread))| {
                        let p = sigmoid(g - nu.ln());
                        unit * p * (1.0 - p) * (own + 0.5 * (1.0 - 2.0 * p) * spread)
                    });
                found.gradient =
                    Some(features.psi.tr_mul(&DVector::from_iterator(log_ratios.len(), weights)));
            }
            found.log_ratios[side].extend(log_ratios);
            found.own[side].extend(own.iter());
            found.spreads[side].extend(spread.iter().map(|spread| spread.max(0.0)));
        }
        Ok(found)
    }

    /// The first-order variance of a functional, f-th of so many, by either sample.
    fn variances(
        &self,
        moments: &[Moments],
        values: &[Vec<f64>; 2],
        means: [f64; 2],
        [f, count]: [usize; 2],
    ) -> [f64; 2] {
        let along = |m: &Moments| -> Vec<f64> { (0..m.units).map(|u| m.along[u * count + f]).collect() };
        if let [both] = moments {
            let (units, pairs) = (self.samples.units(), self.samples.pairs());
            let mut z = along(both);
            for (i, unit) in unit_of_pairs(units, pairs).enumerate() {
                z[unit] += (values[0][i] - means[0] + values[1][i] - means[1]) / pairs as f64;
            }
            return [dependent_variance(&z, self.samples.lag), 0.0];
        }
        [0, 1].map(|side| {
            let n = values[side].len() as f64;
            let own = values[side].iter().map(|v| (v - means[side]) / n);
            let z: Vec<f64> = own.zip(along(&moments[side])).map(|(own, along)| own + along).collect();
            dependent_variance(&z, 0)
        })
    }
}

fn over(units: usize, map: impl Fn(Range<usize>) -> Result<Moments> + Sync) -> Result<Moments> {
    try_blocked(units, CHUNK, map, Moments::join)?.ok_or(Error::NoData)
}

fn gram(rows: &DMatrix<f64>) -> DMatrix<f64> {
    let (count, size) = rows.shape();
    let mut gram = DMatrix::zeros(size, size);
    weighted_gram(Columns::new(rows.as_slice(), count, size, count), &vec![1.0; count], gram.as_mut_slice());
    gram
}

/// The unit of every pair, in the order in which chunks of units list their pairs.
fn unit_of_pairs(units: usize, pairs: usize) -> impl Iterator<Item = usize> {
    (0..units).step_by(CHUNK).flat_map(move |start| {
        let end = (start + CHUNK).min(units);
        (start..pairs).step_by(units).flat_map(move |first| {
            let last = (first + end - start).min(pairs);
            (first..last).map(move |pair| pair % units)
        })
    })
}

/// The variance of a sum of terms of which those up to so many places apart, around a circle, depend on each other.
fn dependent_variance(z: &[f64], lag: usize) -> f64 {
    let middle = mean(z);
    let at = |i: usize| z[i % z.len()] - middle;
    let product = |l: usize| (0..z.len()).map(|i| at(i) * at(i + l)).sum::<f64>();
    let alone = product(0);
    let all = alone + 2.0 * (1..=lag).map(product).sum::<f64>();
    // A sum of few products may come out below zero, which no variance does.
    if all > 0.0 { all } else { alone }
}
