//! Mixtures of a few normal distributions fitted by expectation–maximisation.

use std::sync::Arc;

use nalgebra::DMatrix;
use noisewright_numerics::summation::sum;

use super::auto::inflation;
use super::whitening::{Whitening, mean_and_covariance};
use crate::{Mixture, MultivariateNormal, Noise, Result, View};

/// Points that the fit looks at, evenly chosen.
const FITTED: usize = 10_000;
/// Iterations that sort out the starts.
const START_ITERATIONS: usize = 8;
/// Most iterations from the best of them.
const MOST_ITERATIONS: usize = 100;
/// Added to the variances of every component, in units of the variance of all points.
const RIDGE: f64 = 1e-4;
/// Gain in mean log-likelihood below which the iteration ends.
const SETTLED: f64 = 1e-6;

/// A mixture of up to `most` normal distributions, their number chosen by the Bayesian information criterion.
///
/// Starts are fixed cuts of the points along their widest and their flattest directions and by their distance from the
/// mean, so the same points always give the same mixture.
///
/// # Errors
/// When there are too few points or the variables are linearly dependent in them.
pub(crate) fn fit_normal_mixture(points: View<'_>, most: usize) -> Result<Mixture<dyn Noise>> {
    fit(points, most, 1.0)
}

/// The same with every covariance widened as that of the noise `auto` is, so that the tails of the points are covered.
pub(crate) fn fit_widened_mixture(points: View<'_>, most: usize) -> Result<Mixture<dyn Noise>> {
    fit(points, most, inflation(points.columns()))
}

fn fit(points: View<'_>, most: usize, widened: f64) -> Result<Mixture<dyn Noise>> {
    let d = points.columns();
    let step = points.rows().div_ceil(FITTED).max(1);
    let chosen: Vec<f64> =
        (0..d).flat_map(|j| points.column(j).iter().copied().step_by(step).collect::<Vec<_>>()).collect();
    let sample = Sample::new(View::new(d, chosen.len() / d.max(1), &chosen))?;
    let mut best = sample.one_component()?;
    for count in 2..=most {
        let Some(next) = sample.best_of_starts(count)? else { break };
        if next.criterion(&sample) >= best.criterion(&sample) {
            break;
        }
        best = next;
    }
    best.in_original_units(&sample.map, widened)
}

/// Points in units in which they have mean 0 and covariance 1, and the orders in which starts cut them.
struct Sample {
    map: Whitening,
    white: Vec<f64>,
    dimension: usize,
    rows: usize,
    orders: Vec<Vec<usize>>,
}

impl Sample {
    fn new(points: View<'_>) -> Result<Self> {
        let (dimension, rows) = (points.columns(), points.rows());
        let (mean, covariance) = mean_and_covariance("mixture", points, None)?;
        let map = Whitening::new("mixture", &mean, &covariance)?;
        let mut white = vec![0.0; dimension * rows];
        map.whiten(points, &mut white);
        let mut keys = vec![widest(points, &covariance), flattest(&white, rows)];
        let radius = (0..rows).map(|i| (0..dimension).map(|j| white[j * rows + i].powi(2)).sum());
        keys.push(radius.collect());
        let orders = keys.into_iter().map(|key| sorted_by(&key)).collect();
        Ok(Self { map, white, dimension, rows, orders })
    }

    fn view(&self) -> View<'_> {
        View::new(self.dimension, self.rows, &self.white)
    }

    fn one_component(&self) -> Result<Candidate> {
        self.maximized(&[vec![1.0; self.rows]]).map(|candidate| candidate.scored(self))
    }

    /// The most likely mixture of so many components; `None` when no start leaves every component its points.
    fn best_of_starts(&self, count: usize) -> Result<Option<Candidate>> {
        let mut best: Option<Candidate> = None;
        for order in &self.orders {
            let Some(candidate) = self.iterate(slabs(order, count), START_ITERATIONS)? else { continue };
            if best.as_ref().is_none_or(|b| candidate.log_likelihood > b.log_likelihood) {
                best = Some(candidate);
            }
        }
        match best {
            Some(start) => self.iterate(start.responsibilities(self), MOST_ITERATIONS),
            None => Ok(None),
        }
    }

    fn iterate(&self, mut shares: Vec<Vec<f64>>, most: usize) -> Result<Option<Candidate>> {
        let least = 2.0 * (self.dimension + 1) as f64;
        let mut previous = f64::NEG_INFINITY;
        let mut current = None;
        for _ in 0..most {
            if shares.iter().any(|share| sum(share) < least) {
                return Ok(None);
            }
            let candidate = self.maximized(&shares)?.scored(self);
            let gain = candidate.log_likelihood - previous;
            previous = candidate.log_likelihood;
            shares = candidate.responsibilities(self);
            current = Some(candidate);
            if gain < SETTLED * self.rows as f64 {
                break;
            }
        }
        Ok(current)
    }

    /// Components fitted to the shares that each has of every point.
    fn maximized(&self, shares: &[Vec<f64>]) -> Result<Candidate> {
        let d = self.dimension;
        let mut parts = Vec::with_capacity(shares.len());
        for share in shares {
            let (mean, mut covariance) = mean_and_covariance("mixture", self.view(), Some(share))?;
            (0..d).for_each(|j| covariance[j * (d + 1)] += RIDGE);
            parts.push((sum(share) / self.rows as f64, MultivariateNormal::new(&mean, &covariance)?));
        }
        Ok(Candidate { parts, log_likelihood: f64::NEG_INFINITY })
    }
}

/// A mixture in whitened units.
struct Candidate {
    parts: Vec<(f64, MultivariateNormal)>,
    log_likelihood: f64,
}

impl Candidate {
    /// `ln w_k + ln p_k(x)` of every component and point, and their logarithmic sum.
    fn terms(&self, sample: &Sample) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut total = vec![f64::NEG_INFINITY; sample.rows];
        let mut terms = Vec::with_capacity(self.parts.len());
        for (weight, normal) in &self.parts {
            let mut term = vec![0.0; sample.rows];
            normal.log_density(sample.view(), &mut term);
            for (term, total) in term.iter_mut().zip(&mut total) {
                *term += weight.ln();
                *total = noisewright_numerics::special::ln_add_exp(*total, *term);
            }
            terms.push(term);
        }
        (terms, total)
    }

    fn scored(mut self, sample: &Sample) -> Self {
        self.log_likelihood = sum(&self.terms(sample).1);
        self
    }

    fn responsibilities(&self, sample: &Sample) -> Vec<Vec<f64>> {
        let (mut terms, total) = self.terms(sample);
        for term in &mut terms {
            term.iter_mut().zip(&total).for_each(|(term, total)| *term = (*term - total).exp());
        }
        terms
    }

    /// The Bayesian information criterion: smaller is better.
    fn criterion(&self, sample: &Sample) -> f64 {
        let (k, d) = (self.parts.len(), sample.dimension);
        let numbers = k - 1 + k * (d + d * (d + 1) / 2);
        numbers as f64 * (sample.rows as f64).ln() - 2.0 * self.log_likelihood
    }

    fn in_original_units(&self, map: &Whitening, widened: f64) -> Result<Mixture<dyn Noise>> {
        let d = map.dimension();
        let mut unit = vec![0.0; d];
        let mut factor = DMatrix::zeros(d, d);
        for j in 0..d {
            unit[j] = 1.0;
            (0..d).for_each(|i| factor[(i, j)] = map.color(i, &unit));
            unit[j] = 0.0;
        }
        let total: f64 = self.parts.iter().map(|(weight, _)| weight).sum();
        let parts = self.parts.iter().map(|(weight, normal)| -> Result<(f64, Arc<dyn Noise>)> {
            let mean: Vec<f64> = (0..d).map(|i| map.location()[i] + map.color(i, normal.mean())).collect();
            let covariance =
                &factor * DMatrix::from_row_slice(d, d, normal.covariance()) * factor.transpose();
            let covariance = 0.5 * widened * (&covariance + covariance.transpose());
            Ok((weight / total, Arc::new(MultivariateNormal::new(&mean, covariance.as_slice())?)))
        });
        Mixture::<dyn Noise>::of_shared(parts.collect::<Result<_>>()?)
    }
}

/// The place of every point along the widest direction, in units of every variable's own deviation.
fn widest(points: View<'_>, covariance: &[f64]) -> Vec<f64> {
    let d = points.columns();
    let deviation: Vec<f64> = (0..d).map(|j| covariance[j * (d + 1)].sqrt()).collect();
    let correlation = DMatrix::from_fn(d, d, |i, j| covariance[i * d + j] / (deviation[i] * deviation[j]));
    let eigen = correlation.symmetric_eigen();
    let direction = eigen.eigenvectors.column(eigen.eigenvalues.imax()).into_owned();
    let place = |row: usize| (0..d).map(|j| direction[j] * points.get(row, j) / deviation[j]).sum();
    (0..points.rows()).map(place).collect()
}

/// The whitened variable of smallest fourth moment, which two separate groups make small.
fn flattest(white: &[f64], rows: usize) -> Vec<f64> {
    let fourth = |column: &&[f64]| column.iter().map(|z| z.powi(4)).sum::<f64>();
    let flattest = white.chunks(rows.max(1)).min_by(|a, b| fourth(a).total_cmp(&fourth(b)));
    flattest.unwrap_or_default().to_vec()
}

fn sorted_by(key: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..key.len()).collect();
    order.sort_by(|a, b| key[*a].total_cmp(&key[*b]));
    order
}

/// Equal cuts of an order, as shares of 0 and 1.
fn slabs(order: &[usize], count: usize) -> Vec<Vec<f64>> {
    let mut shares = vec![vec![0.0; order.len()]; count];
    for (place, row) in order.iter().enumerate() {
        shares[place * count / order.len()][*row] = 1.0;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn three_separate_groups_are_found() {
        let group = |x: f64, y: f64| -> Arc<dyn Noise> {
            Arc::new(MultivariateNormal::new(&[x, y], &[1.0, 0.3, 0.3, 1.0]).unwrap())
        };
        let parts = vec![(0.5, group(0.0, 0.0)), (0.3, group(9.0, 0.0)), (0.2, group(0.0, 12.0))];
        let truth = Mixture::<dyn Noise>::of_shared(parts).unwrap();
        let fitted = fit_normal_mixture(sample(&truth, 6000, 4).view(), 5).unwrap();
        let mut weights = fitted.weights().to_vec();
        weights.sort_by(f64::total_cmp);
        assert_eq!(weights.len(), 3);
        // Binomial standard errors of about 0.006.
        assert!(weights.iter().zip([0.2, 0.3, 0.5]).all(|(a, b)| (a - b).abs() < 0.03), "{weights:?}");
    }

    #[test]
    fn normal_points_stay_one_component() {
        let truth = MultivariateNormal::new(&[3.0, 1.0], &[4.0, 1.0, 1.0, 2.0]).unwrap();
        let fitted = fit_normal_mixture(sample(&truth, 5000, 9).view(), 4).unwrap();
        assert_eq!(fitted.weights(), [1.0]);
    }

    #[test]
    fn two_groups_are_two_components() {
        let values: Vec<f64> =
            (0..400).map(|i| f64::from(i % 20) * 0.1 + if i < 200 { 0.0 } else { 50.0 }).collect();
        let mixture = fit_normal_mixture(View::new(1, 400, &values), 4).unwrap();
        assert!(mixture.weights().len() >= 2);
    }
}
