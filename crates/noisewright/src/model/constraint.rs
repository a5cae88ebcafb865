//! Parameters that are held fixed, tied to others, or bound by linear equations: a model of the free ones.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_formula::Formula;

use super::{Family, Model, Parameter};
use crate::energy::ConstrainedEnergy;
use crate::fit::diagnostics::ErrorBudget;
use crate::fit::{Optimum, Variances};
use crate::tolerance::RANK;
use crate::{Error, Estimate, Fit, Result, quoted};

/// A linear equation between parameters, `factors · θ = value`.
#[derive(Clone, Debug)]
struct Equation {
    factors: Vec<f64>,
    value: f64,
    /// As it was said, for messages.
    text: String,
}

/// How the free parameters φ make up all of them, `θ = Aφ + b`.
pub(crate) struct Constraint {
    whole: Model,
    map: DMatrix<f64>,
    offset: DVector<f64>,
}

impl Model {
    /// The same model with some parameters held at values, by name.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let text = "variables = ['x']\nlog_density = 'm*x - p*x^2/2'\n[parameters]\nm = 0\np = 1";
    /// let model = Model::from_toml(text)?.with_fixed(&[("p", 4.0)])?;
    /// let fit = model.fit(&sample(&Normal::with_std(1.0, 0.5)?, 500, 1)).exact().run()?;
    /// assert!(fit.get("p")?.fixed && fit.get("p")?.se == 0.0);
    /// // The mean of the rows is m/p.
    /// assert!((fit.get("m")?.estimate / 4.0 - 1.0).abs() < 4.0 * 0.5 / 500_f64.sqrt());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], and a value outside the parameter's bounds or at odds with another constraint.
    pub fn with_fixed<S: AsRef<str>>(self, values: &[(S, f64)]) -> Result<Self> {
        let equations = values.iter().map(|(name, value)| {
            let index = self.whole().index_of(name.as_ref())?;
            self.whole().parameters[index].check(*value)?;
            let mut factors = vec![0.0; self.whole().parameters.len()];
            factors[index] = 1.0;
            Ok(Equation { factors, value: *value, text: format!("{} = {value}", name.as_ref()) })
        });
        let equations = equations.collect::<Result<Vec<_>>>()?;
        self.bound_by(equations)
    }

    /// The same model with some parameters equal to others, by name.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let parameters = vec![Parameter::new("a", 0.0), Parameter::new("b", 0.0)];
    /// let plane = Space::real(&["x", "y"])?;
    /// let model = Model::from_formula("a*x + b*y - x^2/2 - y^2/2", plane, parameters, false)?;
    /// assert_eq!(model.with_equal(&[("a", "b")])?.parameters().len(), 1);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], and values at odds with another constraint.
    pub fn with_equal<S: AsRef<str>>(self, pairs: &[(S, S)]) -> Result<Self> {
        let equations = pairs.iter().map(|(one, other)| {
            let mut factors = vec![0.0; self.whole().parameters.len()];
            factors[self.whole().index_of(one.as_ref())?] += 1.0;
            factors[self.whole().index_of(other.as_ref())?] -= 1.0;
            Ok(Equation { factors, value: 0.0, text: format!("{} = {}", one.as_ref(), other.as_ref()) })
        });
        let equations = equations.collect::<Result<Vec<_>>>()?;
        self.bound_by(equations)
    }

    /// The same model with linear equations between its parameters, such as `a + b = 1` or `a = b`.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let parameters = vec![Parameter::new("a", 0.25), Parameter::new("b", 0.75)];
    /// let plane = Space::real(&["x", "y"])?;
    /// let model = Model::from_formula("a*x + b*y - x^2/2 - y^2/2", plane, parameters, false)?;
    /// assert_eq!(model.with_constraints(&["a + b = 1"])?.parameters().len(), 1);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When an equation cannot be read or is not linear, or the equations contradict one another.
    pub fn with_constraints<S: AsRef<str>>(self, equations: &[S]) -> Result<Self> {
        let read = equations.iter().map(|text| self.equation(text.as_ref()));
        let equations = read.collect::<Result<Vec<_>>>()?;
        self.bound_by(equations)
    }

    /// The same model with the penalties of some parameters multiplied in penalised fits, by name: 0 for none at all.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], and for a factor that is neither zero nor a positive number.
    pub fn with_penalty_factors<S: AsRef<str>>(self, factors: &[(S, f64)]) -> Result<Self> {
        for (name, factor) in factors {
            self.whole().index_of(name.as_ref())?;
            if !(*factor >= 0.0 && factor.is_finite()) {
                return Err(crate::fit::wrong_factor(name.as_ref(), *factor));
            }
        }
        let own = factors.iter().map(|(name, factor)| (name.as_ref().to_owned(), *factor));
        let penalty_factors = self.penalty_factors.iter().cloned().chain(own).collect();
        Ok(Self { penalty_factors, ..self })
    }

    /// The penalty factors that are not one, by name.
    #[must_use]
    pub fn penalty_factors(&self) -> &[(String, f64)] {
        &self.penalty_factors
    }

    /// The model with all its parameters free: itself, unless some are held fixed or tied together.
    #[must_use]
    pub fn whole(&self) -> &Self {
        self.constraint.as_ref().map_or(self, |constraint| &constraint.whole)
    }

    /// The values of its own parameters among those of the whole model, such as those of a fit.
    #[must_use]
    pub fn own_values(&self, whole: &[f64]) -> Vec<f64> {
        let known = |p: &Parameter| self.whole().parameters.iter().position(|w| w.name == p.name);
        self.parameters.iter().filter_map(|p| whole.get(known(p)?).copied()).collect()
    }

    /// How the parameters make up those of the whole model, if some of those are not free.
    pub(crate) fn constraint(&self) -> Option<&Constraint> {
        self.constraint.as_deref()
    }

    fn equation(&self, text: &str) -> Result<Equation> {
        const FIELD: &str = "constraints";
        let Some((left, right)) = text.split_once('=') else {
            return Err(Error::field(FIELD, format!("has `{text}`, which is no equation such as a + b = 1")));
        };
        let difference = format!("({left}) - ({right})");
        let names: Vec<String> = self.whole().parameters.iter().map(|p| p.name.clone()).collect();
        let refusal = |field, reason| Error::field(field, reason);
        let formula = quoted::formula(&names, FIELD, &difference, refusal)?;
        let Some(linear) = formula.linear() else {
            return Err(Error::field(FIELD, format!("has `{text}`, which is not linear in the parameters")));
        };
        let zero = vec![0.0; names.len()];
        let number = |part: &Formula| part.evaluate_at(&zero, &[]);
        let factors: Vec<f64> = linear.features.iter().map(number).collect();
        let value = -number(&linear.offset);
        if !factors.iter().chain([&value]).all(|x| x.is_finite()) {
            return Err(Error::field(FIELD, format!("has `{text}`, in which a number is not finite")));
        }
        Ok(Equation { factors, value, text: text.trim().to_owned() })
    }

    /// The model of what the equations, and those before, leave free.
    fn bound_by(self, mut equations: Vec<Equation>) -> Result<Self> {
        if let Some(constraint) = &self.constraint {
            equations.extend(constraint.equations());
        }
        if equations.is_empty() {
            return Ok(self);
        }
        let whole = self.whole().clone();
        let size = whole.parameters.len();
        let pivots = eliminate(&mut equations, size)?;
        let free: Vec<usize> = (0..size).filter(|j| !pivots.iter().any(|(pivot, _)| pivot == j)).collect();
        let (mut map, mut offset) = (DMatrix::zeros(size, free.len()), DVector::zeros(size));
        free.iter().enumerate().for_each(|(f, j)| map[(*j, f)] = 1.0);
        for (pivot, row) in &pivots {
            offset[*pivot] = equations[*row].value;
            free.iter().enumerate().for_each(|(f, j)| map[(*pivot, f)] = 0.0 - equations[*row].factors[*j]);
        }
        Self::constrained(&self, Constraint { whole, map, offset }, &free)
    }

    fn constrained(before: &Self, constraint: Constraint, free: &[usize]) -> Result<Self> {
        let whole = &constraint.whole;
        if free.is_empty() && whole.normalized {
            return Err(Error::field(
                "parameters",
                "are all held fixed, and the model is normalized: nothing is left to estimate",
            ));
        }
        let parameters = constraint.free_parameters(free)?;
        let energy = ConstrainedEnergy {
            inner: Arc::clone(&whole.energy),
            names: parameters.iter().map(|p| p.name.clone()).collect(),
            map: constraint.map.clone(),
            offset: constraint.offset.clone(),
        };
        let family = whole.family.as_ref().map(|family| {
            let own = free.iter().map(|j| family.own[*j]).collect();
            Arc::new(Family { name: family.name.clone(), own })
        });
        let made = Self::from_shared(Arc::new(energy), whole.space.clone(), parameters, false)?;
        Ok(Self {
            normalized: whole.normalized,
            covariates: whole.covariates,
            cancel: before.cancel.clone(),
            score_checked: Arc::clone(&whole.score_checked),
            own_energy: whole.own_energy,
            family,
            penalty_factors: Arc::clone(&before.penalty_factors),
            constraint: Some(Arc::new(constraint)),
            ..made
        })
    }
}

/// Brings equations into the form `θ_pivot + Σ factor·θ_free = value`, by elimination from the last parameter on; gives the
/// pivots with their equations.
fn eliminate(equations: &mut [Equation], size: usize) -> Result<Vec<(usize, usize)>> {
    let largest = |factors: &[f64]| factors.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let scale: Vec<f64> =
        equations.iter().map(|e| largest(&e.factors).max(e.value.abs()).max(1e-300)).collect();
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    for column in (0..size).rev() {
        let unused = (0..equations.len()).filter(|row| !pivots.iter().any(|(_, used)| used == row));
        let share = |row: usize| equations[row].factors[column].abs() / scale[row];
        let Some(row) =
            unused.max_by(|a, b| share(*a).total_cmp(&share(*b))).filter(|row| share(*row) > RANK)
        else {
            continue;
        };
        let pivot = equations[row].factors[column];
        equations[row].factors.iter_mut().for_each(|x| *x /= pivot);
        equations[row].value /= pivot;
        let solved = equations[row].clone();
        for (_, other) in equations.iter_mut().enumerate().filter(|(other, _)| *other != row) {
            let times = other.factors[column];
            other.factors.iter_mut().zip(&solved.factors).for_each(|(x, s)| *x -= times * s);
            other.factors[column] = 0.0;
            other.value -= times * solved.value;
        }
        pivots.push((column, row));
    }
    let used = |row: usize| pivots.iter().any(|(_, used)| *used == row);
    match (0..equations.len()).find(|row| !used(*row) && equations[*row].value.abs() > RANK * scale[*row]) {
        Some(row) => {
            let reason =
                format!("contradict one another: `{}` cannot hold beside the others", equations[row].text);
            Err(Error::field("constraints", reason))
        }
        None => Ok(pivots),
    }
}

impl Constraint {
    /// θ at φ.
    pub(crate) fn all(&self, free: &[f64]) -> Vec<f64> {
        (&self.map * DVector::from_column_slice(free) + &self.offset).as_slice().to_vec()
    }

    /// The free parameters, between the bounds that those which depend on them alone leave.
    fn free_parameters(&self, free: &[usize]) -> Result<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = free.iter().map(|j| self.whole.parameters[*j].clone()).collect();
        for (j, parameter) in self.whole.parameters.iter().enumerate().filter(|(j, _)| !free.contains(j)) {
            let involved: Vec<usize> = (0..free.len()).filter(|f| self.map[(j, *f)] != 0.0).collect();
            match involved.as_slice() {
                [] => parameter.check(self.offset[j])?,
                [only] => {
                    let at = |bound: f64| (bound - self.offset[j]) / self.map[(j, *only)];
                    let (one, other) = (at(parameter.lower), at(parameter.upper));
                    let tied = &mut parameters[*only];
                    tied.lower = tied.lower.max(one.min(other));
                    tied.upper = tied.upper.min(one.max(other));
                }
                _ if parameter.lower.is_finite() || parameter.upper.is_finite() => {
                    let reason = format!(
                        "tie `{}`, which has bounds, to several others: leave its bounds out",
                        parameter.name
                    );
                    return Err(Error::field("constraints", reason));
                }
                _ => {}
            }
        }
        for parameter in &mut parameters {
            parameter.check_bounds()?;
            parameter.start = parameter.start.clamp(parameter.lower, parameter.upper);
        }
        Ok(parameters)
    }

    /// The equations that it stands for.
    fn equations(&self) -> impl Iterator<Item = Equation> + '_ {
        let names = self.whole.parameters.iter().map(|p| p.name.as_str());
        let free: Vec<usize> = (0..self.map.ncols())
            .filter_map(|f| (0..self.map.nrows()).find(|j| self.is_free(*j, f)))
            .collect();
        names.enumerate().filter(|(j, _)| (0..self.map.ncols()).all(|f| !self.is_free(*j, f))).map(
            move |(j, name)| {
                let mut factors = vec![0.0; self.map.nrows()];
                factors[j] = 1.0;
                free.iter().enumerate().for_each(|(f, at)| factors[*at] -= self.map[(j, f)]);
                Equation { factors, value: self.offset[j], text: format!("the constraint of {name}") }
            },
        )
    }

    /// Whether a parameter is the free one of this number: the first that equals it.
    fn is_free(&self, index: usize, free: usize) -> bool {
        let unit = |j: usize| {
            self.offset[j] == 0.0
                && (0..self.map.ncols()).all(|f| self.map[(j, f)] == f64::from(u8::from(f == free)))
        };
        unit(index) && !(0..index).any(unit)
    }

    /// A fit of the free parameters as one of all of them.
    pub(crate) fn expand(&self, fit: Fit) -> Fit {
        let (size, free) = self.map.shape();
        let constants = usize::from(fit.log_normalizer.is_some());
        let mut map = DMatrix::zeros(size + constants, free + constants);
        map.view_mut((0, 0), (size, free)).copy_from(&self.map);
        if constants == 1 {
            map[(size, free)] = 1.0;
        }
        let carried = |matrix: &DMatrix<f64>| &map * matrix * map.transpose();
        let (data, noise) = (carried(&fit.covariance_data), carried(&fit.covariance_noise));
        let values = self.all(&fit.theta());
        let estimate = |(j, parameter): (usize, &Parameter)| {
            let involved = || (0..free).filter(|f| self.map[(j, *f)] != 0.0).map(|f| &fit.parameters[f]);
            let freedom = involved().map(|e| e.degrees_of_freedom).fold(f64::INFINITY, f64::min);
            let variances = Variances { data: data[(j, j)], noise: noise[(j, j)], freedom };
            let at_bound = involved().any(|e| e.at_bound);
            let fixed = involved().next().is_none();
            let made = Estimate {
                fixed,
                ..Estimate::new(parameter, values[j], variances, fit.confidence, at_bound)
            };
            // A free parameter keeps the interval that it has.
            match (0..free).find(|f| self.is_free(j, *f)) {
                Some(f) => {
                    Estimate { lower: fit.parameters[f].lower, upper: fit.parameters[f].upper, ..made }
                }
                None => made,
            }
        };
        let parameters = self.whole.parameters.iter().enumerate().map(estimate).collect();
        let optima = fit.optima.iter().map(|optimum| {
            let (theta, constant) = optimum.at.split_at(free.min(optimum.at.len()));
            Optimum { at: [self.all(theta).as_slice(), constant].concat(), ..optimum.clone() }
        });
        let mut diagnostics = fit.diagnostics.clone();
        let names = self.whole.parameters.iter().map(|p| p.name.as_str());
        let names = names.chain(fit.log_normalizer.iter().map(|constant| constant.name.as_str()));
        let budget = |(j, name): (usize, &str)| {
            let known = diagnostics.error_budget.iter().find(|entry| entry.name == *name);
            known.cloned().unwrap_or_else(|| ErrorBudget::of_parts(name, data[(j, j)], noise[(j, j)]))
        };
        diagnostics.error_budget = names.enumerate().map(budget).collect();
        Fit {
            parameters,
            optima: optima.collect(),
            covariance: &data + &noise,
            covariance_data: data,
            covariance_noise: noise,
            diagnostics,
            ..fit
        }
    }
}
