//! A few hundred rows at one parameter value: log ratios, scores, and what they add to the sums.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, add_combination, add_combination_of, add_triangle, weighted_sum};
use noisewright_numerics::summation::sum;

use super::differences::of_closed_form;
use super::distributed::partial_scratch;
use super::loss_terms::{Class, Terms};
use super::objective::{Objective, Order, Sums};
use super::prepare::{self, Features};
use super::sample_blocks::{BLOCK, CHUNK, FeatureView, KeptBlock, RawBlock};
use super::score_cache::Looked;
use crate::{Error, Quantity, Result, View};

/// Log-densities below this, whose squares are no numbers, are those of a density that is zero.
const LEAST_LOG_DENSITY: f64 = -1e154;

/// A parameter value, in the coordinates of the solver and in those of the model.
pub(crate) struct ParameterPoint {
    /// Of the solver.
    pub(crate) inner: Vec<f64>,
    /// θ.
    pub(crate) theta: Vec<f64>,
    /// What is subtracted from the energy in the model's own coordinates: c, or log Z.
    pub(crate) constant: f64,
    /// For a normalized model the gradient of log Z in the solver's coordinates (features being centred).
    shift: Option<Vec<f64>>,
    /// For a normalized model log Z of the centred features.
    inner_log_z: f64,
}

impl ParameterPoint {
    /// `None` where the model's closed form for log Z does not hold.
    pub(crate) fn new(objective: &Objective<'_>, inner: &[f64]) -> Option<Self> {
        let model = objective.model;
        let outer = objective.scaling.outer(inner);
        let count = model.parameters().len();
        let theta = outer[..count].to_vec();
        if !model.is_normalized() {
            let constant = outer[count];
            return Some(Self { inner: inner.to_vec(), theta, constant, shift: None, inner_log_z: 0.0 });
        }
        let mut gradient = vec![0.0; count];
        let log_z = model.log_normalizer(&theta, &mut gradient).filter(|z| z.is_finite())?;
        let (center, scale) = (&objective.scaling.center, &objective.scaling.scale);
        let along: f64 = theta.iter().zip(center).map(|(t, m)| t * m).sum();
        let shift = (0..count).map(|j| (gradient[j] - center[j]) / scale[j]).collect();
        let inner = inner.to_vec();
        Some(Self { inner, theta, constant: log_z, shift: Some(shift), inner_log_z: log_z - along })
    }

    /// `g = offset + Σ γ_j z_j − log ν` of rows with these features, less log Z where it is known.
    pub(crate) fn linear_log_ratio(
        &self,
        nu: f64,
        columns: Columns<'_>,
        offset: &[f64],
        log_ratio: &mut Vec<f64>,
    ) {
        let start = -nu.ln() - self.inner_log_z;
        log_ratio.clear();
        log_ratio.extend(offset.iter().map(|o| o + start));
        add_features(columns, &self.inner, log_ratio);
    }

    /// Subtracts `factor · ∇² log Z` from the Hessian of a normalized model, by differences of the gradient, which is
    /// in closed form.
    ///
    /// # Errors
    /// When log Z is not known on either side of θ, however near.
    pub(crate) fn subtract_normalizer(
        &self,
        objective: &Objective<'_>,
        factor: f64,
        mut hessian: DMatrix<f64>,
    ) -> Result<DMatrix<f64>> {
        if self.shift.is_none() {
            return Ok(hessian);
        }
        let (model, scale) = (objective.model, &objective.scaling.scale);
        for j in 0..self.theta.len() {
            let slope = |step: f64| {
                let mut theta = self.theta.clone();
                theta[j] += step / scale[j];
                let mut gradient = vec![0.0; theta.len()];
                let known = model.log_normalizer(&theta, &mut gradient);
                let gradient =
                    DVector::from_iterator(theta.len(), gradient.iter().zip(scale).map(|(g, s)| g / s));
                known.map(|_| gradient).ok_or(Error::NoMass)
            };
            let column = of_closed_form(objective.unit[j], self.theta[j] * scale[j], slope)?;
            for i in 0..self.theta.len() {
                // Half from each side keeps the matrix symmetric.
                hessian[(i, j)] -= 0.5 * factor * column[i];
                hessian[(j, i)] -= 0.5 * factor * column[i];
            }
        }
        Ok(hessian)
    }
}

/// Some rows of a sample at one place.
pub(crate) struct ChunkView<'s> {
    /// `g = log p − log p_n − log ν`.
    pub(crate) log_ratio: &'s [f64],
    /// `∇_β log p` in the solver's coordinates; no columns where it was not asked for.
    pub(crate) score: Columns<'s>,
    /// How many times each row counts.
    pub(crate) weights: Option<&'s [f64]>,
    /// Which cluster each belongs to, where that was read with the rows.
    pub(crate) clusters: Option<&'s [f64]>,
    /// The points, unless the features are all that was kept.
    pub(crate) points: Option<View<'s>>,
    /// The number of the first of them in the sample.
    pub(crate) first_row: usize,
}

/// Evaluates blocks chunk by chunk, in scratch space of its own.
pub(crate) struct ChunkEvaluator<'w, 'a> {
    objective: &'w Objective<'a>,
    place: &'w ParameterPoint,
    log_ratio: Vec<f64>,
    score: Vec<f64>,
    /// Of the rows at hand, for a linear model.
    features: Features,
    /// Whether scores are wanted.
    pub(crate) scored: bool,
}

impl<'w, 'a> ChunkEvaluator<'w, 'a> {
    pub(crate) fn new(objective: &'w Objective<'a>, place: &'w ParameterPoint) -> Self {
        let (log_ratio, features) = (Vec::with_capacity(CHUNK), Features::default());
        Self { objective, place, log_ratio, score: Vec::new(), features, scored: true }
    }

    /// Looks at a block of kept features.
    pub(crate) fn evaluate_kept(
        &mut self,
        index: usize,
        block: &KeptBlock<'_>,
        mut visit: impl FnMut(ChunkView<'_>) -> Result<()>,
    ) -> Result<()> {
        for seen in block.chunks(index, self.objective.size()) {
            let FeatureView { columns, offset, weights, first_row } = seen;
            self.see_linear(columns, offset, |log_ratio, score| {
                visit(ChunkView { log_ratio, score, weights, clusters: None, points: None, first_row })
            })?;
        }
        Ok(())
    }

    /// Looks at a block of points.
    pub(crate) fn see_raw(
        &mut self,
        class: Class,
        raw: &RawBlock<'_>,
        mut visit: impl FnMut(ChunkView<'_>) -> Result<()>,
    ) -> Result<()> {
        // A call of a function that is asked for batches costs something by itself.
        let batches = !self.objective.linear && self.objective.model.energy().prefers_batches();
        let step = if batches { BLOCK } else { CHUNK };
        for start in (0..raw.points.rows()).step_by(step) {
            let first_row = raw.index * BLOCK + start;
            let end = raw.points.rows().min(start + step);
            let points = raw.points.slice(start..end);
            let weights = raw.weights.map(|w| &w[start..end]);
            let clusters = raw.clusters.map(|c| &c[start..end]);
            let log_noise = &raw.log_noise[start..end];
            let mut seen = |log_ratio: &[f64], score: Columns<'_>| {
                visit(ChunkView { log_ratio, score, weights, clusters, points: Some(points), first_row })
            };
            if self.objective.linear {
                let mut features = std::mem::take(&mut self.features);
                features.fill(self.objective.model, &self.objective.scaling, points, log_noise)?;
                prepare::check_offsets(class, first_row, weights, &features.offset)?;
                self.see_linear(features.view(), &features.offset, seen)?;
                self.features = features;
            } else {
                self.general((class, first_row), points, log_noise)?;
                let (rows, size) = (end - start, if self.scored { self.objective.size() } else { 0 });
                seen(&self.log_ratio, Columns::new(&self.score, rows, size, rows))?;
            }
        }
        Ok(())
    }

    /// The log ratios, and the score, which is the features less the gradient of log Z.
    fn see_linear(
        &mut self,
        columns: Columns<'_>,
        offset: &[f64],
        mut visit: impl FnMut(&[f64], Columns<'_>) -> Result<()>,
    ) -> Result<()> {
        self.place.linear_log_ratio(self.objective.nu, columns, offset, &mut self.log_ratio);
        let Some(shift) = &self.place.shift else {
            return visit(&self.log_ratio, columns);
        };
        self.score.clear();
        for (j, shift) in shift.iter().enumerate() {
            self.score.extend(columns.column(j).iter().map(|z| z - shift));
        }
        visit(&self.log_ratio, Columns::new(&self.score, columns.rows(), columns.columns(), columns.rows()))
    }

    /// Energy and score at these points, made into log ratio and `∇ log p`.
    fn general(&mut self, from: (Class, usize), points: View<'_>, log_noise: &[f64]) -> Result<()> {
        let (model, rows) = (self.objective.model, points.rows());
        let count = model.parameters().len();
        self.look(from, points)?;
        let constant = self.place.constant + self.objective.nu.ln();
        for (g, l) in self.log_ratio.iter_mut().zip(log_noise) {
            *g -= constant + l;
        }
        if !self.scored {
            return Ok(());
        }
        match &self.place.shift {
            None => self.score.resize(rows * (count + 1), -1.0),
            Some(shift) => {
                for (column, shift) in self.score.chunks_exact_mut(rows).zip(shift) {
                    column.iter_mut().for_each(|s| *s -= shift);
                }
            }
        }
        match self.score.iter().position(|s| !s.is_finite()) {
            Some(_) => self.clear_where_no_density(points),
            None => Ok(()),
        }
    }

    /// Takes the score for zero where it is not finite and the density is zero, which a power or an exponential that
    /// overflows leaves behind: there it counts for nothing.
    ///
    /// # Errors
    /// [`Error::NotANumber`] where there is a density.
    fn clear_where_no_density(&mut self, points: View<'_>) -> Result<()> {
        let rows = points.rows();
        for row in 0..rows {
            if self.score.iter().skip(row).step_by(rows).all(|s| s.is_finite()) {
                continue;
            }
            if self.log_ratio[row] > LEAST_LOG_DENSITY {
                let names = self.objective.model.space().names().iter().take(points.columns()).enumerate();
                let values = names.map(|(j, name)| format!("{name} = {}", points.column(j)[row]));
                let point = values.collect::<Vec<_>>().join(", ");
                return Err(Error::NotANumber { of: Quantity::Score, point });
            }
            self.log_ratio[row] = f64::NEG_INFINITY;
            self.score.iter_mut().skip(row).step_by(rows).for_each(|s| *s = 0.0);
        }
        Ok(())
    }
}

impl ChunkEvaluator<'_, '_> {
    /// Energies and scores of the rows of a sample from some number on; those of functions once where they are asked for again.
    fn look(&mut self, (class, first): (Class, usize), points: View<'_>) -> Result<()> {
        let (model, theta, rows) = (self.objective.model, &self.place.theta, points.rows());
        let kept = model.energy().prefers_batches();
        if let Some(known) = kept.then(|| self.objective.cache.get(theta, class, first, rows)).flatten() {
            self.log_ratio.clone_from(&known.energy);
            self.score.clear();
            self.score.extend_from_slice(if self.scored { &known.score } else { &[] });
            return Ok(());
        }
        self.log_ratio.resize(rows, 0.0);
        self.score.resize(if self.scored { rows * theta.len() } else { 0 }, 0.0);
        let score = self.scored.then_some(self.score.as_mut_slice());
        model.evaluate(theta, points, &mut self.log_ratio, score)?;
        if kept && self.scored {
            let looked = Looked { energy: self.log_ratio.clone(), score: self.score.clone() };
            self.objective.cache.put(theta, class, first, looked);
        }
        Ok(())
    }
}

/// Adds the combination of columns, of which few may count.
fn add_features(columns: Columns<'_>, factors: &[f64], out: &mut [f64]) {
    let counting = factors.iter().filter(|factor| **factor != 0.0).count();
    if 2 * counting > factors.len() {
        return add_combination(columns, factors, out);
    }
    let of: Vec<usize> = (0..factors.len()).filter(|j| factors[*j] != 0.0).collect();
    let factors: Vec<f64> = of.iter().map(|j| factors[*j]).collect();
    add_combination_of(columns, &of, &factors, out);
}

/// Space that is used again for every chunk of a block.
#[derive(Default)]
pub(crate) struct Scratch {
    terms: Terms,
    meat_weights: Vec<f64>,
}

partial_scratch!(Scratch);

/// What is added to the sums of a block, and where.
pub(crate) struct Adder<'w, 'a> {
    pub(crate) objective: &'w Objective<'a>,
    pub(crate) place: &'w ParameterPoint,
    pub(crate) class: Class,
    pub(crate) order: Order,
}

impl Adder<'_, '_> {
    /// Adds a chunk's value, gradient, Hessian and second moments.
    pub(crate) fn add(&self, sums: &mut Sums, scratch: &mut Scratch, seen: &ChunkView<'_>) -> Result<()> {
        self.fill_terms(sums, scratch, seen);
        let terms = &scratch.terms;
        sums.value += sum(&terms.value);
        sums.first += sum(&terms.first);
        match seen.points {
            Some(points) if seen.score.columns() < self.objective.size() => {
                self.add_slope(sums, terms, points)?;
            }
            _ => weighted_sum(seen.score, &terms.first, sums.gradient.as_mut_slice()),
        }
        if self.order >= Order::Hessian {
            add_triangle(seen.score, &terms.second, sums.information.as_mut_slice());
            if let Some(points) = seen.points.filter(|_| !self.objective.linear) {
                self.add_curvature(sums, terms, points)?;
            }
        }
        if self.order >= Order::Meat {
            add_triangle(seen.score, &scratch.meat_weights, sums.meat.as_mut_slice());
        }
        Ok(())
    }

    /// `Σ first · ∇ log p`, summed by the model itself.
    fn add_slope(&self, sums: &mut Sums, terms: &Terms, points: View<'_>) -> Result<()> {
        let model = self.objective.model;
        let mut slope = vec![0.0; model.parameters().len()];
        model.add_weighted_score(&self.place.theta, points, &terms.first, &mut slope)?;
        let first = sum(&terms.first);
        match &self.place.shift {
            Some(shift) => slope.iter_mut().zip(shift).for_each(|(s, shift)| *s -= shift * first),
            None => slope.push(-first),
        }
        sums.gradient.iter_mut().zip(slope).for_each(|(total, s)| *total += s);
        Ok(())
    }

    /// Adds `Σ first · ∇²u` to the corner that belongs to θ.
    fn add_curvature(&self, sums: &mut Sums, terms: &Terms, points: View<'_>) -> Result<()> {
        let model = self.objective.model;
        let count = model.parameters().len();
        let mut curvature = DMatrix::zeros(count, count);
        let out = curvature.as_mut_slice();
        let known = model.add_curvature(&self.place.theta, points, &terms.first, out)?;
        sums.curved &= known;
        let mut corner = sums.curvature.view_mut((0, 0), (count, count));
        corner += curvature;
        Ok(())
    }

    /// The terms of this chunk, weighted, with the weights of the second moments.
    fn fill_terms(&self, sums: &mut Sums, scratch: &mut Scratch, seen: &ChunkView<'_>) {
        let Scratch { terms, meat_weights } = scratch;
        terms.fill(&self.objective.loss, self.class, seen.log_ratio);
        if self.order >= Order::Meat {
            meat_weights.clear();
            meat_weights.extend(terms.first.iter().map(|f| f * f));
            let weights = seen.weights.unwrap_or_default();
            for (m, w) in meat_weights.iter_mut().zip(weights) {
                *m = if *w == 0.0 { 0.0 } else { *m * w };
            }
        }
        terms.weigh(seen.weights);
        sums.weight += seen.weights.map_or(seen.log_ratio.len() as f64, sum);
    }
}
