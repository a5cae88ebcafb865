//! Rows among their alternatives: the loss of the conditional logit over the strata of some folds.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::Evaluation;

use super::contrast::{Part, Want};
use crate::Result;
use crate::fit::choices::ConditionalLogit;
use crate::fit::conditional::{Ranked, RowLeverage, ranking_covariance};
use crate::fit::covariance::Covariance;
use crate::fit::data::{Data, Dependence};
use crate::fit::data_rows::DataRows;
use crate::fit::estimate::{Compared, Found};
use crate::fit::options::{DrawKind, FitOptions};
use crate::fit::result::Fit;

/// A conditional logit in units of the features' standard deviations within the strata.
pub(super) struct Alternatives<'a> {
    pub(super) logit: ConditionalLogit<'a>,
    pub(super) scale: Vec<f64>,
    pub(super) origin: Origin<'a>,
}

/// Where the alternatives come from.
pub(super) enum Origin<'a> {
    /// They are rows of the data.
    Rows(DataRows<'a>),
    /// They are noise points or states that rows of a conditional model are ranked among.
    Noise(Data<'a>, Ranked),
}

impl<'a> Alternatives<'a> {
    /// # Errors
    /// When the score cannot be evaluated, or a feature never varies within a stratum.
    pub(super) fn new(logit: ConditionalLogit<'a>, origin: Origin<'a>) -> Result<Self> {
        let variances = logit.variances_within(&logit.model.start())?;
        if let Some(j) = variances.iter().position(|variance| *variance <= 0.0) {
            return Err(logit.never_varies(j));
        }
        Ok(Self { logit, scale: variances.iter().map(|variance| variance.sqrt()).collect(), origin })
    }

    /// How what is divided into folds, strata or rows, depends on one another.
    pub(super) fn dependence(&self) -> Dependence<'_> {
        match &self.origin {
            Origin::Rows(_) => self.logit.dependence(),
            Origin::Noise(data, _) => data.dependence,
        }
    }

    pub(super) fn evaluate(&self, part: Part<'_>, at: &DVector<f64>, want: Want<'_>) -> Result<Evaluation> {
        let theta = DVector::from_fn(at.len(), |j, _| at[j] / self.scale[j]);
        let (of, curvature) = match want {
            Want::Curvature(of) => (Some(of), true),
            _ => (None, false),
        };
        let weights = self.weights(part);
        let mut there = self.logit.weighted(&theta, curvature, of, weights.as_deref())?;
        let scale = |i: usize| self.scale[of.map_or(i, |of| of[i])];
        there.gradient.iter_mut().enumerate().for_each(|(i, g)| *g /= scale(i));
        if let Some(hessian) = &mut there.hessian {
            for i in 0..hessian.nrows() {
                hessian.row_mut(i).scale_mut(1.0 / scale(i));
                hessian.column_mut(i).scale_mut(1.0 / scale(i));
            }
        }
        Ok(there)
    }

    /// How often every stratum counts in a part.
    fn weights(&self, part: Part<'_>) -> Option<Vec<f64>> {
        let (folds, fold, inside) = match part {
            Part::All => return None,
            Part::Without(folds, fold) => (folds, fold, false),
            Part::Of(folds, fold) => (folds, fold, true),
        };
        let counts = |(stratum, of): (usize, &u8)| {
            if (*of == fold) == inside { self.logit.weight(stratum) } else { 0.0 }
        };
        Some(folds.data.iter().enumerate().map(counts).collect())
    }

    /// The covariance of shrunken estimates, whose loss with its penalty has the inverse Hessian `bread`.
    pub(super) fn covariance(
        &self,
        theta: &[f64],
        bread: &DMatrix<f64>,
        options: &FitOptions,
    ) -> Result<Covariance> {
        match &self.origin {
            Origin::Rows(_) => self.logit.covariance(theta, bread, options.errors),
            Origin::Noise(data, ranked) => {
                let leverage = RowLeverage::of(bread, *data, options.errors);
                let mut slopes = self.logit.slopes(theta, leverage.as_ref())?;
                if ranked.choices.is_none() {
                    slopes.of_draws = None;
                }
                let choices = ranked.choices.unwrap_or(1);
                Ok(ranking_covariance(&slopes, bread, *data, choices, options.errors))
            }
        }
    }

    /// The fit, of which nothing is said yet.
    pub(super) fn fit(&self, found: Found, options: &FitOptions) -> Fit {
        match &self.origin {
            Origin::Rows(rows) => self.logit.found(found, *rows, options),
            Origin::Noise(data, ranked) => {
                let with = match ranked.choices {
                    None => Compared::undrawn(f64::INFINITY, 0, ranked.words.clone(), "likelihood".into()),
                    Some(choices) => Compared {
                        draws: Some(DrawKind::Random),
                        ..Compared::undrawn(
                            choices as f64,
                            choices * data.points.rows(),
                            ranked.words.clone(),
                            "ranking".into(),
                        )
                    },
                };
                let rows = DataRows::Memory(*data);
                let mut fit = found.fit(self.logit.model, rows, with, options.confidence);
                fit.choices = ranked.choices;
                fit
            }
        }
    }
}
