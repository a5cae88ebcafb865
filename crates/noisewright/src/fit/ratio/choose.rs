//! Which basis, and how strong a penalty: the smallest leave-one-out loss over a list of both.

use std::sync::Arc;

use nalgebra::DVector;

use super::contrast::{held_out_loss, pooled, solve, some_rows};
use super::telescope::bridge_objective;
use super::waymarks::{Samples, moments};
use crate::energy::basis::{Basis, BasisShape};
use crate::fit::options::FitOptions;
use crate::fit::prepare;
use crate::fit::scaling::Scaling;
use crate::{Error, Model, Parameter, Result, Space};

/// Precisions of the priors of scaled coefficients that are tried, from strong to next to none.
const PRIORS: [f64; 6] = [256.0, 32.0, 4.0, 0.5, 0.06, 1e-3];
/// Share of the penalty of the smallest leave-one-out loss that the estimate is made with: that penalty makes bias and spread about
/// equal, and an interval needs the bias to be the smaller (undersmoothing; Hall 1992).
const UNDERSMOOTHED: f64 = 1.0 / 8.0;
/// Rows of either sample on which bases are compared, and whose moments and quantiles scale them.
const COMPARED_ROWS: usize = 1 << 12;
const SCALED_ROWS: usize = 1 << 12;
/// Functions of a basis, at most, and the fewest rows of the smaller sample for each.
const MOST_FUNCTIONS: usize = 160;
const ROWS_PER_FUNCTION: usize = 8;
/// Tolerance of the fits that are compared, in standard errors.
const ROUGH: f64 = 0.03;
/// A larger basis must have a smaller loss by `(2 + √(2m))/n`, m being the functions that it has more: useless ones change n times the
/// leave-one-out loss by `m − χ²_m/2`, which falls below `−√(2m)`, three standard deviations under its mean of m/2, hardly ever.
fn worth(more: usize, rows: usize) -> f64 {
    (2.0 + (2.0 * more as f64).sqrt()) / rows as f64
}

/// The functions that a log ratio is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RatioBasis {
    /// The best of the others, by the leave-one-out loss.
    #[default]
    Auto,
    /// All first and second powers and products: right for normal densities.
    Quadratic,
    /// Natural cubic splines of every variable, and products of pairs.
    Splines,
    /// Gaussian bumps at some of the rows, beside the quadratic.
    Centers,
}

impl std::str::FromStr for RatioBasis {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "quadratic" => Ok(Self::Quadratic),
            "splines" => Ok(Self::Splines),
            "centers" => Ok(Self::Centers),
            _ => Err(Error::option("basis", "must be auto, quadratic, splines or centers")),
        }
    }
}

/// One basis with the best of its penalties.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct BasisCandidate {
    /// Its kind.
    pub basis: RatioBasis,
    /// Number of functions.
    pub functions: usize,
    /// Inner knots of the splines of every variable.
    pub knots: usize,
    /// Functions of every variable whose products in pairs are in it.
    pub products: usize,
    /// Number of Gaussian bumps.
    pub centers: usize,
    /// Whether the variables were carried to coordinates in which both samples' covariances are diagonal, as there are too many
    /// products of them.
    pub rotated: bool,
    /// Precision s of the normal prior of every scaled coefficient that the ridge penalty of the smallest loss stands for; the
    /// estimate is made with an eighth of it.
    pub strength: f64,
    /// The leave-one-out loss, the logistic loss of both samples.
    pub held_out: f64,
}

/// What was chosen.
pub(super) struct Chosen {
    pub(super) model: Model,
    pub(super) scaling: Scaling,
    pub(super) prior: f64,
    pub(super) best: BasisCandidate,
    pub(super) candidates: Vec<BasisCandidate>,
}

/// Shapes of a basis in so many variables that rows allow, the simplest first.
fn shapes(basis: RatioBasis, variables: usize, rows: usize) -> Vec<(RatioBasis, BasisShape)> {
    let quadratic = BasisShape::QUADRATIC;
    let splines = |knots, products| (RatioBasis::Splines, BasisShape { knots, products, ..quadratic });
    let bumps = |centers, width| (RatioBasis::Centers, BasisShape { centers, width, ..quadratic });
    let turned = |(kind, shape)| (kind, BasisShape { products: 0, rotated: true, ..shape });
    let mut all = vec![(RatioBasis::Quadratic, quadratic)];
    if quadratic.size(variables) > MOST_FUNCTIONS.min(rows / ROWS_PER_FUNCTION) {
        all = [(RatioBasis::Quadratic, quadratic), splines(3, 1)].map(turned).to_vec();
    } else if variables == 1 {
        all.extend([splines(5, 1), splines(10, 1), splines(16, 1), bumps(20, 0.5)]);
    } else {
        all.extend([splines(3, 1), splines(6, 1), splines(3, 3), bumps(40, 0.5), bumps(40, 1.0)]);
    }
    let most = (rows / ROWS_PER_FUNCTION).min(MOST_FUNCTIONS);
    all.retain(|(kind, _)| basis == RatioBasis::Auto || *kind == basis);
    // The simplest is always there: beyond the most functions its penalty makes up for it.
    let first = all.first().copied();
    all.retain(|(_, shape)| shape.size(variables) <= most);
    if all.is_empty() {
        all.extend(first);
    }
    all
}

/// The model of a basis, and its scales.
fn model(shape: BasisShape, space: &Space, samples: Samples<'_>) -> Result<(Model, Scaling)> {
    let rows = pooled(samples.first, samples.second, SCALED_ROWS);
    let basis = if shape.rotated {
        let covariances = [samples.first, samples.second].map(|view| moments(view).1);
        Basis::rotated(shape, &rows, [&covariances[0], &covariances[1]])
    } else {
        Basis::new(shape, space.names(), &rows)
    };
    let names = crate::energy::Statistics::names(&basis);
    if names.is_empty() {
        let value = samples.first.get(0, 0);
        return Err(Error::ConstantColumn { column: space.names()[0].clone(), value });
    }
    let parameters = names.iter().map(|name| Parameter::new(name, 0.0)).collect();
    let model = Model::from_shared(Arc::new(basis), space.clone(), parameters, true)?;
    let (scaling, _) = prepare::scaling(&model, rows.view(), true)?;
    Ok((model, scaling))
}

/// Chooses a basis and its penalty for the ratio between two places of a path.
///
/// # Errors
/// When no variable varies, or it is cancelled.
pub(super) fn choose(
    basis: RatioBasis,
    space: &Space,
    samples: Samples<'_>,
    ends: [f64; 2],
    options: &FitOptions,
) -> Result<Chosen> {
    let [first, second] = [samples.first, samples.second].map(|view| some_rows(view, COMPARED_ROWS));
    let part = Samples { first: first.view(), second: second.view(), ..samples };
    let center = samples.center();
    let mut best: Option<Chosen> = None;
    let mut candidates = Vec::new();
    let rows = samples.units();
    for (kind, shape) in shapes(basis, space.dimension(), rows) {
        let (model, scaling) = model(shape, space, samples)?;
        let model = model.with_cancel(&options.cancel);
        let found = best_prior(&model, part, &scaling, (&center, ends), options)?;
        let Some((prior, held_out)) = found else { continue };
        let candidate = BasisCandidate {
            basis: kind,
            functions: model.parameters().len(),
            knots: shape.knots,
            products: shape.products,
            centers: shape.centers,
            rotated: shape.rotated,
            strength: prior,
            held_out,
        };
        candidates.push(candidate.clone());
        let better = |known: &Chosen| {
            let more = candidate.functions.saturating_sub(known.best.functions);
            held_out < known.best.held_out - worth(more, part.units())
        };
        if best.as_ref().is_none_or(better) {
            let prior = UNDERSMOOTHED * prior;
            best = Some(Chosen { model, scaling, prior, best: candidate, candidates: Vec::new() });
        }
    }
    let chosen = best.ok_or(Error::HardlyAnyOverlap)?;
    Ok(Chosen { candidates, ..chosen })
}

/// The prior of the smallest held-out loss, with that loss.
fn best_prior(
    model: &Model,
    samples: Samples<'_>,
    scaling: &Scaling,
    (center, ends): (&[f64], [f64; 2]),
    options: &FitOptions,
) -> Result<Option<(f64, f64)>> {
    let objective = bridge_objective(model, samples, scaling, center, ends)?;
    let mut start: Option<DVector<f64>> = None;
    let mut best: Option<(f64, f64)> = None;
    for prior in PRIORS {
        let solved = solve(&objective, prior, start.as_ref(), ROUGH, options)?;
        let held_out = held_out_loss(&objective, &solved)?;
        let better = held_out.is_finite() && best.is_none_or(|(_, known)| held_out < known);
        if !better {
            break;
        }
        best = Some((prior, held_out));
        start = Some(solved.at);
    }
    Ok(best)
}
