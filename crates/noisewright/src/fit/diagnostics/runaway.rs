//! Parameters without a finite estimate: the loss does not rise however large they become (MATH §15).
//!
//! A search that follows such a loss ends where its slope is lost in rounding, and calls that a minimum: the degrees of
//! freedom of Student's density, fitted to ten rows that look normal, end at 10¹³. A large estimate is told from one that
//! runs away by the profile of the loss, its minimum over all other unknowns with this one held: beyond a minimum it rises.

use nalgebra::DVector;
use noisewright_numerics::optimize::{Held, Problem, newton};
use noisewright_numerics::special::normal_quantile;

use super::super::options::FitOptions;
use crate::run::Stage;
use crate::{Error, Model, Parameter, Result};

/// By which factors a parameter is made larger.
const FARTHER: [f64; 3] = [10.0, 100.0, 1000.0];
/// A free parameter this many natural units from zero may be on its way to infinity.
const FAR: f64 = 1e3;
/// Rise of the loss, in units of a log-likelihood, that others held speaks for a minimum at once.
const CLEAR_RISE: f64 = 4.0;
/// Rise that is not one: a millionth of a log-likelihood.
const NO_RISE: f64 = 1e-6;
/// Steps of a search with one parameter held, which starts next to its end.
const STEPS: usize = 20;
/// Halvings of the way to the limit: to two hundredths of a decade.
const HALVINGS: usize = 6;
/// Decades of a step towards the limit. Longer ones jump over the limit to where the likelihood may
/// have another, unbounded maximum: Student's density has one with few degrees of freedom and a scale that vanishes.
const STEP_DECADES: f64 = 0.3;
/// Most steps towards the limit.
const MOST_STEPS: usize = 80;

/// Decades of a step where the likelihood is flat: a search may end as far out as numbers go.
const FLAT_DECADES: f64 = 2.0;

/// A parameter that runs to infinity.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Runaway {
    /// Its name.
    pub name: String,
    /// Its place among the parameters.
    pub index: usize,
    /// 1 towards ∞, −1 towards −∞.
    pub sign: i8,
    /// The end of its interval by the likelihood ratio, at the fit's confidence: nearer values are rejected.
    pub limit: Option<f64>,
}

/// A way to infinity: where a parameter is after its distance from here has been multiplied.
#[derive(Clone, Copy)]
struct Ray {
    origin: f64,
    distance: f64,
}

impl Ray {
    /// The way that a parameter could run, if any: away from its only bound, or from zero where it is far from that.
    fn of(parameter: &Parameter, value: f64, unit: f64) -> Option<Self> {
        let (lower, upper) = (parameter.lower, parameter.upper);
        let origin = match (lower.is_finite(), upper.is_finite()) {
            (true, true) => return None,
            (true, false) => lower,
            (false, true) => upper,
            (false, false) if value.abs() > FAR * unit => 0.0,
            (false, false) => return None,
        };
        let distance = value - origin;
        (distance != 0.0 && distance.is_finite()).then_some(Self { origin, distance })
    }

    fn at(self, factor: f64) -> f64 {
        self.origin + factor * self.distance
    }
}

/// A loss near its minimum, in the model's own parameters.
pub(crate) struct NearMinimum<'p> {
    pub(crate) problem: &'p dyn Problem<Error = Error>,
    pub(crate) model: &'p Model,
    /// Natural sizes of a step in the parameters.
    pub(crate) unit: &'p [f64],
    pub(crate) at: &'p DVector<f64>,
    /// Which unknowns are held at a bound.
    pub(crate) bound: &'p [bool],
}

impl NearMinimum<'_> {
    /// The first parameter that runs to infinity, if one does.
    ///
    /// # Errors
    /// When the loss cannot be evaluated, or the fit is cancelled.
    pub(crate) fn runaway(&self, options: &FitOptions) -> Result<Option<Runaway>> {
        let here = self.loss(self.at)?;
        let parameters = self.model.parameters().iter().enumerate();
        for (j, parameter) in parameters.filter(|(j, _)| !self.bound[*j]) {
            let Some(ray) = Ray::of(parameter, self.at[j], self.unit[j]) else { continue };
            if let Some(least) = self.keeps_falling(j, ray, here, options)? {
                let limit = self.limit(j, ray, least, options)?;
                let sign = if ray.distance > 0.0 { 1 } else { -1 };
                return Ok(Some(Runaway { name: parameter.name.clone(), index: j, sign, limit }));
            }
        }
        Ok(None)
    }

    /// The loss as a negative log-likelihood of all rows.
    fn loss(&self, at: &DVector<f64>) -> Result<f64> {
        Ok(self.problem.evaluate(at, false)?.value * self.problem.rows())
    }

    /// The least loss with one unknown held, searched from a place that the others have.
    fn profile(
        &self,
        j: usize,
        value: f64,
        from: &DVector<f64>,
        options: &FitOptions,
    ) -> Result<(f64, DVector<f64>)> {
        let hold =
            |(l, held): (usize, &bool)| (*held || l == j).then(|| if l == j { value } else { self.at[l] });
        let held: Vec<Option<f64>> = self.bound.iter().enumerate().map(hold).collect();
        let part = Held { problem: self.problem, held: &held };
        let short = FitOptions { max_iterations: STEPS, tolerance: 1e-3, ..options.clone() };
        let found = short.descent(Stage::Errors, |o| newton(&part, &part.project(from), o))?;
        Ok((found.value * self.problem.rows(), part.expand(&found.at)))
    }

    /// The least loss far out, where the loss does not rise on the way there.
    fn keeps_falling(&self, j: usize, ray: Ray, here: f64, options: &FitOptions) -> Result<Option<f64>> {
        let mut moved = self.at.clone();
        moved[j] = ray.at(FARTHER[0]);
        let rise = self.loss(&moved)? - here;
        if rise.is_nan() || rise > CLEAR_RISE {
            return Ok(None);
        }
        let (mut last, mut from) = (here, self.at.clone());
        for factor in FARTHER {
            let (loss, at) = self.profile(j, ray.at(factor), &from, options)?;
            // Rounding of a sum over all rows.
            let rounding = self.problem.rounding() * here.abs();
            if loss.is_nan() || loss > last + NO_RISE + rounding {
                return Ok(None);
            }
            (last, from) = (loss.min(last), at);
        }
        Ok(Some(last))
    }

    /// Where the likelihood ratio against infinity rejects, coming from there; `None` where it never does.
    fn limit(&self, j: usize, ray: Ray, least: f64, options: &FitOptions) -> Result<Option<f64>> {
        let allowed = 0.5 * normal_quantile(0.5 + 0.5 * options.confidence).powi(2);
        let (mut near, mut far) = (0.0, 0.0);
        let mut from = self.at.clone();
        let mut flat = self.loss(self.at)? - least < NO_RISE;
        for _ in 1..=MOST_STEPS {
            near -= if flat { FLAT_DECADES } else { STEP_DECADES };
            let (loss, at) = self.profile(j, ray.at(10f64.powf(near)), &from, options)?;
            if loss - least > allowed || loss.is_nan() {
                return Ok(Some(self.halve(j, ray, (near, far), least + allowed, &from, options)?));
            }
            (far, from) = (near, at);
            flat = loss - least < NO_RISE;
        }
        Ok(None)
    }

    /// Halves the way between a place where the loss is above a level and one where it is not.
    fn halve(
        &self,
        j: usize,
        ray: Ray,
        (mut near, mut far): (f64, f64),
        level: f64,
        from: &DVector<f64>,
        options: &FitOptions,
    ) -> Result<f64> {
        let mut from = from.clone();
        for _ in 0..HALVINGS {
            let middle = 0.5 * (near + far);
            let (loss, at) = self.profile(j, ray.at(10f64.powf(middle)), &from, options)?;
            if loss > level || loss.is_nan() {
                near = middle;
            } else {
                (far, from) = (middle, at);
            }
        }
        Ok(ray.at(10f64.powf(far)))
    }
}
