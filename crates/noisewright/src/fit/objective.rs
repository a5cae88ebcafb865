//! The loss over two samples with its first two derivatives, and the sums that the covariance needs.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::mirror;
use noisewright_numerics::optimize::{Evaluation, Problem};

use super::differences;
use super::distributed::{Partial, Triangle};
use super::evaluate::{Adder, ChunkEvaluator, ChunkView, ParameterPoint, Scratch};
use super::prepare;
use super::sample_blocks::{BLOCK, CHUNK, FeatureView, KeptBlock, RawBlock, SampleBlocks};
use super::scaling::Scaling;
use super::score_cache::ScoreCache;
use crate::{Error, Loss, Model, Quantity, Result, View};

/// Unknowns beyond which a function that is asked for batches is searched by gradients first.
const MANY_DIRECTIONS: usize = 32;

/// Up to which derivative the loss is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// Value and gradient.
    Gradient,
    /// And the second derivatives.
    Hessian,
    /// And the second moments of the scores, for the covariance.
    Meat,
}

/// The loss `E_d data_term(g) + ν E_n noise_term(g)` of a model over two samples (MATH §2).
pub(crate) struct Objective<'a> {
    pub(crate) model: &'a Model,
    pub(crate) loss: Loss,
    pub(crate) nu: f64,
    pub(crate) data: SampleBlocks<'a>,
    pub(crate) noise: SampleBlocks<'a>,
    pub(crate) scaling: Scaling,
    /// Natural size of a step in each inner parameter, for differences.
    pub(crate) unit: Vec<f64>,
    /// Whether the model is linear in its parameters.
    pub(crate) linear: bool,
    /// Whether a density is fitted against noise, rather than the ratio of two samples.
    pub(crate) of_density: bool,
    /// Whether the model gives the second derivatives of its energy.
    pub(crate) curved: bool,
    /// Whether the model sums its scores by itself, for less than the scores of all points cost.
    sums_scores: bool,
    /// What was found at the last place, for models of functions.
    pub(crate) cache: ScoreCache,
}

/// The sums over one sample.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    /// Of the weights.
    pub(crate) weight: f64,
    /// Of the terms.
    pub(crate) value: f64,
    /// Of the first derivatives in g.
    pub(crate) first: f64,
    /// Of the first derivatives times the score.
    pub(crate) gradient: DVector<f64>,
    /// Of the second derivatives in g times `ψψᵀ`: the information form of the curvature.
    pub(crate) information: DMatrix<f64>,
    /// Of the first derivatives in g times the second derivatives of the energy; empty for a linear model.
    pub(crate) curvature: DMatrix<f64>,
    /// Of the squared first derivatives times `ψψᵀ`.
    pub(crate) meat: DMatrix<f64>,
    /// Whether the model gave the second derivatives of its energy.
    pub(crate) curved: bool,
}

impl Sums {
    pub(crate) fn new(size: usize, order: Order, linear: bool) -> Self {
        let matrix = |wanted: bool| if wanted { DMatrix::zeros(size, size) } else { DMatrix::zeros(0, 0) };
        Self {
            weight: 0.0,
            value: 0.0,
            first: 0.0,
            gradient: DVector::zeros(size),
            information: matrix(order >= Order::Hessian),
            curvature: matrix(order >= Order::Hessian && !linear),
            meat: matrix(order >= Order::Meat),
            curved: true,
        }
    }

    pub(crate) fn join(mut self, other: Self) -> Self {
        self.weight += other.weight;
        self.value += other.value;
        self.first += other.first;
        self.gradient += other.gradient;
        self.information += other.information;
        self.curvature += other.curvature;
        self.meat += other.meat;
        self.curved &= other.curved;
        self
    }
}

impl Sums {
    /// The same with both triangles of the matrices.
    fn mirrored(mut self) -> Self {
        for matrix in [&mut self.information, &mut self.meat] {
            mirror(matrix.nrows(), matrix.as_mut_slice());
        }
        self
    }
}

impl Partial for Sums {
    fn write(&self, out: &mut Vec<u8>) {
        [self.weight, self.value, self.first].write(out);
        self.gradient.write(out);
        Triangle::write_of(&self.information, out);
        self.curvature.write(out);
        Triangle::write_of(&self.meat, out);
        self.curved.write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let [weight, value, first] = Partial::read(from)?;
        Some(Self {
            weight,
            value,
            first,
            gradient: Partial::read(from)?,
            information: Triangle::read(from)?.0,
            curvature: Partial::read(from)?,
            meat: Triangle::read(from)?.0,
            curved: Partial::read(from)?,
        })
    }
}

/// Both samples' sums at one place, and the loss made from them.
pub(crate) struct Full {
    pub(crate) evaluation: Evaluation,
    /// `E[wψψᵀ]`, where second derivatives were asked for.
    pub(crate) information: Option<DMatrix<f64>>,
    pub(crate) data: Sums,
    pub(crate) noise: Sums,
}

impl<'a> Objective<'a> {
    /// Prepares the loss: checks the samples, and for a linear model computes features, centred and scaled, once.
    ///
    /// `sample` are some of the data, from which the scales are taken; `keep` says whether features may be kept, where there
    /// is room for those of both samples.
    ///
    /// # Errors
    /// When a data point has no density under the model or the noise, or a feature is not a number.
    pub(crate) fn new(
        model: &'a Model,
        loss: &Loss,
        nu: f64,
        data: SampleBlocks<'a>,
        noise: SampleBlocks<'a>,
        sample: View<'_>,
        keep: bool,
    ) -> Result<Self> {
        let linear = model.energy().is_linear();
        let (scaling, unit) = prepare::scaling(model, sample, linear)?;
        prepare::check_noise_at_data(&data)?;
        let (curved, sums_scores) = (prepare::is_curved(model, sample), prepare::sums_scores(model, sample));
        let (of_density, loss) = (true, loss.clone());
        let whole = Self {
            model,
            loss,
            nu,
            data,
            noise,
            scaling,
            unit,
            linear,
            of_density,
            curved,
            sums_scores,
            cache: ScoreCache::default(),
        };
        if keep { whole.keeping_features() } else { Ok(whole) }
    }

    /// The same loss over other rows, in the same coordinates.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(crate) fn over<'b>(&self, data: SampleBlocks<'b>, noise: SampleBlocks<'b>) -> Result<Objective<'b>>
    where
        'a: 'b,
    {
        let (scaling, unit, loss) = (self.scaling.clone(), self.unit.clone(), self.loss.clone());
        let cache = ScoreCache::default();
        Objective { data, noise, scaling, unit, loss, cache, ..*self }.keeping_features()
    }

    /// The same in other coordinates, with the features of a linear model kept where there is room for them.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(crate) fn in_coordinates(self, scaling: Scaling) -> Result<Self> {
        Self { scaling, ..self }.keeping_features()
    }

    /// Computes the features of a linear model once, where there is room for them.
    fn keeping_features(mut self) -> Result<Self> {
        if self.linear && (self.data.rows + self.noise.rows) * self.size() <= prepare::most_kept() {
            prepare::keep(self.model, &self.scaling, &mut self.data)?;
            prepare::keep(self.model, &self.scaling, &mut self.noise)?;
        }
        Ok(self)
    }

    /// Number of unknowns.
    pub(crate) fn size(&self) -> usize {
        self.model.parameters().len() + usize::from(!self.model.is_normalized())
    }

    /// Looks at every row of a sample at one place, block by block in a fixed tree.
    pub(crate) fn fold<T: Send + Partial>(
        &self,
        side: &SampleBlocks<'a>,
        place: &ParameterPoint,
        start: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, &ChunkView<'_>) -> Result<()> + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        self.fold_rows(side, place, true, start, visit, combine)
    }

    /// The same; without `scored` the scores need not be there.
    pub(crate) fn fold_rows<T: Send + Partial>(
        &self,
        side: &SampleBlocks<'a>,
        place: &ParameterPoint,
        scored: bool,
        start: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, &ChunkView<'_>) -> Result<()> + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        if let Some(kept) = &side.kept {
            let leaf = |index: usize, block: &KeptBlock<'_>| {
                self.model.check_run()?;
                let mut total = start();
                let see = |seen: ChunkView<'_>| visit(&mut total, &seen);
                ChunkEvaluator::new(self, place).evaluate_kept(index, block, see)?;
                Ok(total)
            };
            return Ok(SampleBlocks::reduce_kept(kept, leaf, combine)?.unwrap_or_else(start));
        }
        let leaf = |raw: RawBlock<'_>| {
            let mut total = start();
            let mut evaluator = ChunkEvaluator::new(self, place);
            evaluator.scored = scored;
            evaluator.see_raw(side.class, &raw, |seen| visit(&mut total, &seen))?;
            Ok(total)
        };
        Ok(side.reduce(leaf, combine)?.unwrap_or_else(start))
    }

    /// Looks at the features of every row of a sample of a linear model, wherever the parameters are.
    pub(crate) fn fold_features<T: Send + Partial>(
        &self,
        side: &SampleBlocks<'a>,
        start: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, &FeatureView<'_>) + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        if let Some(kept) = &side.kept {
            let leaf = |index: usize, block: &KeptBlock<'_>| {
                self.model.check_run()?;
                let mut total = start();
                block.chunks(index, self.size()).for_each(|seen| visit(&mut total, &seen));
                Ok(total)
            };
            return Ok(SampleBlocks::reduce_kept(kept, leaf, combine)?.unwrap_or_else(start));
        }
        let leaf = |raw: RawBlock<'_>| {
            let mut total = start();
            for first in (0..raw.points.rows()).step_by(CHUNK) {
                let rows = first..raw.points.rows().min(first + CHUNK);
                let points = raw.points.slice(rows.clone());
                let features =
                    prepare::features(self.model, &self.scaling, points, &raw.log_noise[rows.clone()])?;
                let weights = raw.weights.map(|w| &w[rows]);
                let (columns, offset) = (features.view(), features.offset.as_slice());
                let first_row = raw.index * BLOCK + first;
                prepare::check_offsets(side.class, first_row, weights, offset)?;
                visit(&mut total, &FeatureView { columns, offset, weights, first_row });
            }
            Ok(total)
        };
        Ok(side.reduce(leaf, combine)?.unwrap_or_else(start))
    }

    /// The sums over one sample.
    fn sums(&self, side: &SampleBlocks<'a>, place: &ParameterPoint, order: Order) -> Result<Sums> {
        let adder = Adder { objective: self, place, class: side.class, order };
        let start = || (Sums::new(self.size(), order, self.linear), Scratch::default());
        let scored = order > Order::Gradient || !self.sums_scores;
        let add =
            |(sums, scratch): &mut (Sums, Scratch), seen: &ChunkView<'_>| adder.add(sums, scratch, seen);
        let join = |a: (Sums, Scratch), b: (Sums, Scratch)| (a.0.join(b.0), a.1);
        Ok(self.fold_rows(side, place, scored, start, add, join)?.0.mirrored())
    }

    /// Where the model allows no such parameters.
    fn wall(&self, order: Order) -> Full {
        let size = self.size();
        let sums = || Sums::new(size, order, self.linear);
        Full { evaluation: Evaluation::wall(size), information: None, data: sums(), noise: sums() }
    }

    /// The loss and the sums behind it; an infinite value where the model allows no such parameters.
    pub(crate) fn full(&self, at: &[f64], order: Order) -> Result<Full> {
        match self.full_or_why(at, order) {
            Err(Error::Parameter { .. } | Error::NotANumber { .. }) if !self.linear => Ok(self.wall(order)),
            other => other,
        }
    }

    /// The same, with an error where the model says why it allows no such parameters.
    fn full_or_why(&self, at: &[f64], order: Order) -> Result<Full> {
        let Some(place) = ParameterPoint::new(self, at) else { return Ok(self.wall(order)) };
        let data = self.sums(&self.data, &place, order)?;
        let noise = self.sums(&self.noise, &place, order)?;
        let (per_data, per_noise) = (1.0 / data.weight, self.nu / noise.weight);
        let value = data.value * per_data + noise.value * per_noise;
        let gradient = &data.gradient * per_data + &noise.gradient * per_noise;
        let sound = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        if !sound {
            return Ok(self.wall(order));
        }
        let information =
            (order >= Order::Hessian).then(|| &data.information * per_data + &noise.information * per_noise);
        let hessian = information.as_ref().map(|information| {
            let mut hessian = information.clone();
            if !self.linear {
                hessian += &data.curvature * per_data + &noise.curvature * per_noise;
            }
            place.subtract_normalizer(self, data.first * per_data + noise.first * per_noise, hessian)
        });
        let hessian = hessian.transpose()?;
        let hessian = match hessian {
            Some(_) if !(data.curved && noise.curved) => Some(self.hessian_by_differences(at)?),
            other => other,
        };
        Ok(Full { evaluation: Evaluation { value, gradient, hessian }, information, data, noise })
    }

    /// Second derivatives as differences of the gradient, for a model that does not give its own.
    fn hessian_by_differences(&self, at: &[f64]) -> Result<DMatrix<f64>> {
        let unit = |j: usize| self.unit.get(j).copied().unwrap_or(1.0);
        differences::hessian(at, unit, |at| {
            let evaluation = self.full_or_why(at, Order::Gradient)?.evaluation;
            if evaluation.value.is_finite() { Ok(evaluation.gradient) } else { Err(self.no_loss(at)) }
        })
    }

    /// A loss that is not finite, though every term of the model is a number.
    fn no_loss(&self, at: &[f64]) -> Error {
        let values = self.names().into_iter().zip(self.scaling.outer(at));
        let point = values.map(|(name, x)| format!("{name} = {x}")).collect::<Vec<_>>().join(", ");
        Error::NotANumber { of: Quantity::Loss, point }
    }

    /// Which unknown is which.
    pub(crate) fn names(&self) -> Vec<String> {
        self.model.coordinates()
    }
}

impl Problem for Objective<'_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.data.total
    }

    fn has_curvature(&self) -> bool {
        // Second derivatives of a function that is asked for batches cost as many gradients as it has parameters.
        self.curved && !(self.model.energy().prefers_batches() && self.size() > MANY_DIRECTIONS)
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let order = if hessian { Order::Hessian } else { Order::Gradient };
        Ok(self.full(at.as_slice(), order)?.evaluation)
    }
}
