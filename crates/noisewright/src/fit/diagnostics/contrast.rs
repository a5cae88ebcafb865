//! The diagnostics of a fit against noise.

use nalgebra::{DMatrix, DVector};

use super::super::chunk::{Place, add_columns};
use super::super::objective::Objective;
use super::super::prepare;
use super::super::result::Fit;
use super::super::scaling::Scaling;
use super::super::side::{CHUNK, Kept, Raw, Side};
use super::super::terms::Class;
use super::information::InformationTest;
use super::normalizable::not_normalizable;
use super::overlap::Gathered;
use super::rows::{Block, Rows};
use super::separation::{Separation, separation};
use super::{Diagnostics, words};
use crate::{Error, Loss, Result, View};

/// Information about some direction below that of so many points of data asks whether there is any at all.
const FEW_POINTS: f64 = 1.0;

/// The rows of a fit at its estimate, in the coordinates of the solver.
struct Contrasted<'o, 'a> {
    objective: &'o Objective<'a>,
    place: Place,
}

/// The diagnostics of a fit, whose place in the solver's coordinates is `at` and Hessian there `hessian`; `sample` are
/// some of the data.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn of_contrast(
    objective: &Objective<'_>,
    at: &[f64],
    hessian: &DMatrix<f64>,
    fit: &Fit,
    sample: View<'_>,
) -> Result<Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let Some(place) = Place::new(objective, at) else { return Ok(diagnostics) };
    let rows = Contrasted { objective, place };
    let information = hessian * fit.total_weight;
    rows.measure(fit, &information, &mut diagnostics)?;
    if rows.may_be_separated(fit, &information)
        && let Some(found) = separation(&rows, &objective.names())?
    {
        let found = found.outer(&objective.scaling);
        diagnostics.warn(words::separated(&found, false));
        diagnostics.separation = Some(found);
    }
    if diagnostics.separation.is_none()
        && let Some(found) = integrability(objective, fit, sample)?
    {
        diagnostics.warn(words::not_normalizable(&found));
        diagnostics.not_normalizable = Some(found);
    }
    diagnostics.read(objective.model, fit);
    Ok(diagnostics)
}

fn integrability(
    objective: &Objective<'_>,
    fit: &Fit,
    sample: View<'_>,
) -> Result<Option<super::NotNormalizable>> {
    if objective.model.is_normalized() {
        return Ok(None);
    }
    let moments = (0..sample.columns()).map(|j| noisewright_numerics::summation::mean_and_variance(sample.column(j)));
    let usable = |variance: f64| if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 };
    let (center, scale): (Vec<f64>, Vec<f64>) = moments.map(|(mean, variance)| (mean, usable(variance))).unzip();
    not_normalizable(objective.model, &fit.theta(), &center, &scale)
}

impl Contrasted<'_, '_> {
    /// Overlap, tails and the information-matrix test, in one pass.
    fn measure(&self, fit: &Fit, information: &DMatrix<f64>, diagnostics: &mut Diagnostics) -> Result<()> {
        let tested = matches!(self.objective.loss, Loss::Js) && fit.converged;
        let sizes: Vec<f64> = information.diagonal().iter().map(|d| d.abs()).collect();
        let new = || (Gathered::default(), tested.then(|| InformationTest::new(&sizes)));
        let add = |(gathered, test): &mut (Gathered, Option<InformationTest>), block: &Block<'_>| {
            gathered.add(block);
            if let Some(test) = test {
                test.add(block);
            }
        };
        let join = |a: (Gathered, Option<InformationTest>), b: (Gathered, Option<InformationTest>)| {
            (a.0.join(b.0), a.1.zip(b.1).map(|(a, b)| a.join(b)))
        };
        let (gathered, test) = self.gather(new, add, join)?;
        let (overlap, tails) = (gathered.overlap(fit.nu), gathered.tails(fit.nu));
        let found = [words::overlap(&overlap, fit.nu), words::tails(&tails, self.objective.loss)];
        diagnostics.information_test = test.and_then(|test| test.finish(information));
        let misspecified = diagnostics.information_test.as_ref().and_then(words::misspecified);
        found.into_iter().flatten().chain(misspecified).for_each(|warning| diagnostics.warn(warning));
        diagnostics.overlap = Some(overlap);
        diagnostics.tails = Some(tails);
        Ok(())
    }

    /// Whether it is worth asking for a separating direction: a Newton iteration that runs to infinity ends with next to
    /// no information along it, and may well call itself converged.
    fn may_be_separated(&self, fit: &Fit, information: &DMatrix<f64>) -> bool {
        if !self.objective.linear || self.objective.model.is_normalized() {
            return false;
        }
        let least = || information.clone().symmetric_eigenvalues().min();
        !fit.converged || !information.iter().all(|v| v.is_finite()) || least() < FEW_POINTS
    }

    /// `g` of features that are centred and scaled.
    fn linear_log_ratio(&self, columns: &[f64], offset: &[f64]) -> Vec<f64> {
        let start = -self.objective.nu.ln() - self.place.inner_log_z;
        let mut log_ratio: Vec<f64> = offset.iter().map(|o| o + start).collect();
        add_columns(columns, &self.place.inner, &mut log_ratio);
        log_ratio
    }

    /// Hands over a chunk whose features are known.
    fn visit_linear(
        &self,
        class: Class,
        columns: &[f64],
        offset: &[f64],
        weights: Option<&[f64]>,
        visit: &mut dyn FnMut(&Block<'_>),
    ) {
        let (rows, log_ratio) = (offset.len(), self.linear_log_ratio(columns, offset));
        let mut shifted = Vec::new();
        if let Some(shift) = &self.place.shift {
            for (column, shift) in columns.chunks_exact(rows).zip(shift) {
                shifted.extend(column.iter().map(|z| z - shift));
            }
        }
        let score = if shifted.is_empty() { columns } else { &shifted };
        visit(&Block { data: class == Class::Data, rows, score, log_ratio: &log_ratio, weights });
    }

    /// Hands over a chunk of points.
    fn visit_raw(&self, class: Class, raw: &Raw<'_>, visit: &mut dyn FnMut(&Block<'_>)) -> Result<()> {
        for start in (0..raw.points.rows()).step_by(CHUNK) {
            let end = raw.points.rows().min(start + CHUNK);
            let points = raw.points.slice(start..end);
            let weights = raw.weights.map(|w| &w[start..end]);
            let log_noise = &raw.log_noise[start..end];
            if self.objective.linear {
                let features = prepare::features(self.objective.model, &self.objective.scaling, points, log_noise)?;
                self.visit_linear(class, &features.columns, &features.offset, weights, visit);
            } else {
                self.visit_general(class, points, weights, log_noise, visit)?;
            }
        }
        Ok(())
    }

    fn visit_general(
        &self,
        class: Class,
        points: View<'_>,
        weights: Option<&[f64]>,
        log_noise: &[f64],
        visit: &mut dyn FnMut(&Block<'_>),
    ) -> Result<()> {
        let (model, rows) = (self.objective.model, points.rows());
        let count = model.parameters().len();
        let mut log_ratio = vec![0.0; rows];
        let mut score = vec![0.0; rows * count];
        model.evaluate(&self.place.theta, points, &mut log_ratio, Some(&mut score))?;
        let constant = self.place.constant + self.objective.nu.ln();
        log_ratio.iter_mut().zip(log_noise).for_each(|(g, l)| *g -= constant + l);
        match &self.place.shift {
            None => score.resize(rows * (count + 1), -1.0),
            Some(shift) => {
                for (column, shift) in score.chunks_exact_mut(rows).zip(shift) {
                    column.iter_mut().for_each(|s| *s -= shift);
                }
            }
        }
        visit(&Block { data: class == Class::Data, rows, score: &score, log_ratio: &log_ratio, weights });
        Ok(())
    }

    fn visit_kept(&self, class: Class, block: &Kept<'_>, visit: &mut dyn FnMut(&Block<'_>)) {
        let width = self.objective.size();
        for (chunk, offset) in block.offset.chunks(CHUNK).enumerate() {
            let (start, rows) = (chunk * CHUNK, offset.len());
            let columns = &block.columns[start * width..(start + rows) * width];
            let weights = block.weights.map(|w| &w[start..start + rows]);
            self.visit_linear(class, columns, offset, weights, visit);
        }
    }
}

impl Rows for Contrasted<'_, '_> {
    fn coordinates(&self) -> usize {
        self.objective.size()
    }

    fn gather<T: Send>(
        &self,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Block<'_>) + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        let side = |side: &Side<'_>| -> Result<Option<T>> {
            if let Some(kept) = &side.kept {
                let leaf = |_: usize, block: &Kept<'_>| {
                    let mut out = new();
                    self.visit_kept(side.class, block, &mut |block| add(&mut out, block));
                    out
                };
                return Ok(Side::reduce_kept(kept, leaf, &join));
            }
            let leaf = |raw: Raw<'_>| {
                let mut out = new();
                self.visit_raw(side.class, &raw, &mut |block| add(&mut out, block))?;
                Ok(out)
            };
            side.reduce(leaf, &join)
        };
        match (side(&self.objective.data)?, side(&self.objective.noise)?) {
            (Some(data), Some(noise)) => Ok(join(data, noise)),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => Err(Error::NoData),
        }
    }
}

impl Separation {
    /// The same in the parameters that a user knows.
    fn outer(mut self, scaling: &Scaling) -> Self {
        let outer = scaling.outer_direction(&DVector::from_column_slice(&self.direction));
        let largest = outer.amax();
        self.direction = outer.iter().map(|d| d / largest).collect();
        for running in &mut self.running {
            let Some((center, scale)) = scaling.center.get(running.index).zip(scaling.scale.get(running.index)) else {
                continue;
            };
            let own = |range: [f64; 2]| range.map(|z| center + scale * z);
            (running.data_range, running.noise_range) = (own(running.data_range), own(running.noise_range));
        }
        self
    }
}
