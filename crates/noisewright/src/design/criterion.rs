//! The error as a function of the noise, and its functional derivative (MATH §6).

use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::summation::blocked;

use crate::asymptotics::{Centred, collinear, trace_product};
use crate::moments::Moments;
use crate::run::{CancelToken, Context, Stage};
use crate::{Error, Population, Result, Target};

/// What is minimised: `tr(ΣM)` for the JS loss, over noises given by `h = p_n / p_d` at weighted points of p_d.
pub(crate) struct Criterion<'a> {
    population: &'a Population,
    /// The points' weights under p_d.
    pub(super) weights: Vec<f64>,
    target: DMatrix<f64>,
    context: Context,
    /// Noises that were looked at.
    looked: AtomicUsize,
}

/// The value at a noise, and the quadratic in the score that is its derivative.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// `tr(ΣM)`.
    pub(super) value: f64,
    /// The sensitivity `a(x) = ψᵀ quadratic ψ + linearᵀ ψ`, so that `δV/δw = −p_d a`.
    pub(super) sensitivity: Sensitivity,
}

/// `a(x)` of MATH §6, a quadratic in the score.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Matrix of the quadratic part.
    pub quadratic: DMatrix<f64>,
    /// The linear part; zero for unnormalized models.
    pub linear: DVector<f64>,
}

impl<'a> Criterion<'a> {
    pub(crate) fn new(population: &'a Population, target: &Target) -> Result<Self> {
        let information = population.information();
        if let Inverse::Singular(direction) = invert(&information) {
            return Err(collinear(population, &direction));
        }
        let target = target.matrix(population.coordinates(), &information)?;
        let weights = population.log_weights().iter().map(|w| w.exp()).collect();
        Ok(Self { population, weights, target, context: Context::seeded(0), looked: AtomicUsize::new(0) })
    }

    /// The same for one computation, which hears of every noise that is looked at: once that is cancelled, nothing more is computed.
    pub(crate) fn for_run(self, context: Context) -> Self {
        Self { context, ..self }
    }

    /// Whether the computation goes on.
    pub(crate) fn check_run(&self) -> Result<()> {
        self.context.check()
    }

    pub(crate) fn population(&self) -> &'a Population {
        self.population
    }

    /// Number of weighted points.
    pub(crate) fn points(&self) -> usize {
        self.weights.len()
    }

    /// The target matrix M.
    pub(crate) fn target(&self) -> &DMatrix<f64> {
        &self.target
    }

    /// The constant's entry of M; zero without one.
    pub(crate) fn constant_target(&self) -> f64 {
        let last = self.target.nrows() - 1;
        if self.population.has_constant() { self.target[(last, last)] } else { 0.0 }
    }

    /// `w = νh / (1 + νh)` times the points' weights.
    fn weighted(&self, ratio: &[f64], nu: f64) -> Vec<f64> {
        ratio.iter().zip(&self.weights).map(|(h, q)| q * nu * h / (1.0 + nu * h)).collect()
    }

    /// `m_w` and `I_w` of the noise `p_n = h p_d`: the few numbers that an optimum is known up to.
    pub(crate) fn moments(&self, ratio: &[f64], nu: f64) -> Moments {
        self.population.moments(&self.weighted(ratio, nu), self.context.cancel_token())
    }

    /// The value and derivative at the noise `p_n = h p_d`.
    pub(crate) fn at(&self, ratio: &[f64], nu: f64) -> Result<State> {
        let missing = ratio.iter().zip(&self.weights).map(|(h, q)| q * (1.0 - h)).sum();
        self.at_missing(ratio, nu, missing)
    }

    /// The same at a noise that integrates to one over the points by construction: what its mass lacks is rounding.
    pub(crate) fn at_whole(&self, ratio: &[f64], nu: f64) -> Result<State> {
        self.at_missing(ratio, nu, 0.0)
    }

    fn at_missing(&self, ratio: &[f64], nu: f64, missing: f64) -> Result<State> {
        self.context.report(Stage::Design, self.looked.fetch_add(1, Ordering::Relaxed), None)?;
        let moments = self.moments(ratio, nu);
        let mut state = self.at_moments(&moments, nu)?;
        if self.population.has_constant()
            && let Some(centred) = Centred::new(&moments.information)
        {
            let constant = self.constant_part(ratio, nu, missing) / centred.mass;
            state.value = centred.spread(&self.target) + self.constant_target() * constant;
        }
        Ok(state)
    }

    /// `E[w] (1/E[w] − (1 + 1/ν))`, from the variance of a constant alone, as the mean of a square: with nothing
    /// subtracted it is as accurate where the noise is nearly the data as anywhere else.
    ///
    /// From `E[w] = ν/(1+ν) − ν(1+ν)⁻² E[(1−h) + ν(1−h)²/(1+νh)]`; `missing` is the noise outside the points, E[1−h].
    fn constant_part(&self, ratio: &[f64], nu: f64, missing: f64) -> f64 {
        let square = |(h, q): (&f64, &f64)| q * (1.0 - h) * ((1.0 - h) / (1.0 + nu * h));
        let sum: f64 = ratio.iter().zip(&self.weights).map(square).sum();
        (nu * sum + missing) / (1.0 + nu)
    }

    /// Whether the target is the constant alone and the parameters do not move it, to first order: then p_n = p_d leaves
    /// no error at all.
    pub(crate) fn is_free_of_error(&self) -> bool {
        let last = self.target.nrows() - 1;
        let alone = self.target.iter().enumerate().all(|(i, m)| *m == 0.0 || i == last * (last + 2));
        self.population.has_constant()
            && alone
            && Centred::new(&self.population.information()).is_some_and(|c| c.largest_mean() < 1e-9)
    }

    /// The value and derivative at any noise with these moments.
    pub(crate) fn at_moments(&self, moments: &Moments, nu: f64) -> Result<State> {
        self.check_run()?;
        let inverse = match invert(&moments.information) {
            Inverse::Regular(inverse) => inverse,
            Inverse::Singular(direction) => return Err(collinear(self.population, &direction)),
        };
        let kappa = 1.0 + 1.0 / nu;
        let size = inverse.nrows();
        if self.population.has_constant() {
            // u = −e_c identically, and 1 − uᵀψ = 0: only the quadratic part is left.
            let value = trace_product(&inverse, &self.target) - kappa * self.target[(size - 1, size - 1)];
            let quadratic = &inverse * &self.target * &inverse;
            let sensitivity = Sensitivity { quadratic, linear: DVector::zeros(size) };
            return Ok(State { value, sensitivity });
        }
        let direction = &inverse * &moments.mean;
        let pulled = &inverse * &self.target * &direction;
        let value =
            trace_product(&inverse, &self.target) - kappa * direction.dot(&(&self.target * &direction));
        let cross = &pulled * direction.transpose();
        let quadratic = &inverse * &self.target * &inverse - kappa * (&cross + cross.transpose());
        Ok(State { value, sensitivity: Sensitivity { quadratic, linear: 2.0 * kappa * pulled } })
    }

    /// `a(x)` at every point; meaningless once the computation is cancelled, which the caller looks at next.
    pub(crate) fn sensitivities(&self, sensitivity: &Sensitivity) -> Vec<f64> {
        sensitivity.at_while(self.population.score(), self.points(), self.context.cancel_token())
    }

    /// `E_d √a`.
    pub(crate) fn mean_root(&self, sensitivity: &Sensitivity) -> f64 {
        let sizes = self.sensitivities(sensitivity);
        sizes.iter().zip(&self.weights).map(|(a, q)| q * a.max(0.0).sqrt()).sum()
    }

    /// `δV/δp_n` at every point: `−ν a (1 − w)²`.
    pub(crate) fn gradient(&self, sensitivities: &[f64], ratio: &[f64], nu: f64) -> Vec<f64> {
        sensitivities.iter().zip(ratio).map(|(a, h)| -nu * a / ((1.0 + nu * h) * (1.0 + nu * h))).collect()
    }

    /// Scales a non-negative function to the ratio of a noise that integrates to one.
    pub(crate) fn normalize(&self, mut ratio: Vec<f64>) -> Result<Vec<f64>> {
        let mass: f64 = ratio.iter().zip(&self.weights).map(|(h, q)| h * q).sum();
        if !(mass > 0.0 && mass.is_finite()) {
            return Err(Error::NoOverlap);
        }
        ratio.iter_mut().for_each(|h| *h /= mass);
        Ok(ratio)
    }
}

impl Sensitivity {
    /// `a` from column-major scores, `rows` of them.
    pub(crate) fn at(&self, score: &[f64], rows: usize) -> Vec<f64> {
        self.at_while(score, rows, &CancelToken::new())
    }

    /// The same, with zeros from where it is cancelled on.
    fn at_while(&self, score: &[f64], rows: usize, cancel: &CancelToken) -> Vec<f64> {
        const BLOCK: usize = 2048;
        let size = self.linear.len();
        if size == 1 {
            let (q, l) = (self.quadratic[(0, 0)], self.linear[0]);
            return score.iter().map(|s| (q * s + l) * s).collect();
        }
        let block = |range: std::ops::Range<usize>| {
            if cancel.is_cancelled() {
                return vec![0.0; range.len()];
            }
            let columns = DMatrix::from_fn(range.len(), size, |i, j| score[j * rows + range.start + i]);
            let pulled = &columns * &self.quadratic;
            let mut out = &columns * &self.linear;
            for j in 0..size {
                let products = columns.column(j).component_mul(&pulled.column(j));
                out += products;
            }
            out.as_slice().to_vec()
        };
        let join = |mut a: Vec<f64>, b: Vec<f64>| {
            a.extend(b);
            a
        };
        blocked(rows, BLOCK, block, join).unwrap_or_default()
    }
}
