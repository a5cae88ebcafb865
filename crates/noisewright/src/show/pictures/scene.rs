//! What the pictures of a fit are drawn from: the fitted model, the data, the noise, and points that stand for the model.

use std::collections::HashMap;

use crate::{Domain, Fit, Model, Noise, Points, Population, Precision, View, sample};

/// Most noise points drawn for pictures.
const DRAWS: usize = 1 << 17;
/// Most states whose frequencies are compared one by one.
const STATES: u64 = 1 << 12;

/// A fitted model beside its data and its noise.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its fitted parameters.
    pub parameters: &'a [f64],
    /// log Z at them.
    pub log_z: f64,
    /// `None` for a fit without noise.
    pub noise: Option<&'a dyn Noise>,
    /// Noise points per data point.
    pub nu: f64,
    /// The rows that were fitted.
    pub data: View<'a>,
    /// How many times each row counts.
    pub weights: Option<&'a [f64]>,
    /// Seed of the draws that the pictures need.
    pub seed: u64,
}

/// log Z at the estimate: fitted, or known; one for every value of covariates is none.
pub fn fitted_log_z(fit: &Fit, model: &Model) -> Option<f64> {
    if let Some(constant) = &fit.log_normalizer {
        return Some(constant.estimate);
    }
    if model.is_conditional() {
        return None;
    }
    let theta = fit.theta();
    model.log_normalizer(&theta, &mut vec![0.0; theta.len()])
}

/// Points with weights that sum to one.
#[derive(Debug)]
pub struct Weighted {
    pub points: Points,
    pub weights: Vec<f64>,
}

impl Scene<'_> {
    /// The name of a variable.
    pub fn name(&self, variable: usize) -> &str {
        &self.model.space().names()[variable]
    }

    /// Where a variable lives.
    pub fn domain(&self, variable: usize) -> &Domain {
        &self.model.space().domains()[variable]
    }

    /// How often a row counts.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The number of rows, each as often as it counts.
    pub fn total_weight(&self) -> f64 {
        (0..self.data.rows()).map(|row| self.weight(row)).sum()
    }

    /// Normalized log-density of the fitted model.
    pub fn log_density(&self, points: View<'_>) -> Option<Vec<f64>> {
        let mut out = vec![0.0; points.rows()];
        self.model.evaluate(self.parameters, points, &mut out, None).ok()?;
        out.iter_mut().for_each(|u| *u -= self.log_z);
        Some(out)
    }

    /// `g = log p − log p_n − log ν` at every point.
    pub fn log_ratio(&self, points: View<'_>) -> Option<Vec<f64>> {
        let noise = self.noise?;
        let mut log_noise = vec![0.0; points.rows()];
        noise.log_density(points, &mut log_noise);
        let log_density = self.log_density(points)?;
        Some(log_density.iter().zip(&log_noise).map(|(p, q)| p - q - self.nu.ln()).collect())
    }

    /// Draws of the noise for pictures, and how many points of the fit each stands for.
    pub fn draws(&self) -> Option<(Points, f64)> {
        let asked = (self.nu * self.total_weight()).max(1.0);
        let rows = (asked as usize).clamp(1, DRAWS);
        Some((sample(self.noise?, rows, self.seed), asked / rows as f64))
    }

    /// The fitted model as weighted points: nodes of quadrature, all states, or noise points with importance weights.
    pub fn fitted(&self) -> Option<Weighted> {
        let space = self.model.space();
        let few = space.dimension() <= 2 || space.state_count().is_some_and(|count| count <= 1 << 20);
        match self.noise {
            Some(noise) if !few => self.reweighted(noise),
            _ => self.integrated(),
        }
    }

    fn integrated(&self) -> Option<Weighted> {
        let precision = Precision { relative: 1e-6, ..Precision::default() };
        let population = Population::new(self.model, self.parameters, &precision).ok()?;
        let weights = population.log_weights().iter().map(|w| w.exp()).collect();
        Some(Weighted { points: population.points().clone(), weights })
    }

    fn reweighted(&self, noise: &dyn Noise) -> Option<Weighted> {
        let points = sample(noise, DRAWS, self.seed);
        let ratios = self.log_ratio(points.view())?;
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = ratios.iter().map(|g| (g - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        let weights = weights.iter().map(|w| w / total).collect();
        (total > 0.0 && total.is_finite()).then_some(Weighted { points, weights })
    }

    /// Fitted and observed frequency of every state, for spaces of few states.
    pub fn states(&self) -> Option<Vec<(f64, f64)>> {
        self.model.space().state_count().filter(|count| *count <= STATES)?;
        let fitted = self.integrated()?;
        let mut observed: HashMap<Vec<u64>, f64> = HashMap::new();
        let total = self.total_weight();
        for row in 0..self.data.rows() {
            *observed.entry(key(self.data, row)).or_default() += self.weight(row) / total;
        }
        let view = fitted.points.view();
        let frequency = |row: usize| observed.get(&key(view, row)).copied().unwrap_or(0.0);
        Some(fitted.weights.iter().enumerate().map(|(row, p)| (*p, frequency(row))).collect())
    }
}

/// A row's values, to compare them exactly; zero is zero whatever its sign.
fn key(view: View<'_>, row: usize) -> Vec<u64> {
    (0..view.columns()).map(|j| (view.get(row, j) + 0.0).to_bits()).collect()
}
