//! Energies from text: a formula in variables and parameters, or a list of features.

use std::sync::OnceLock;

use noisewright_formula::{Formula, FormulaError, Order, Symbols, Tape};
use noisewright_numerics::kernels::all_finite;

use super::forward;
use crate::{Energy, Error, Result, View};

/// Rows per block when second derivatives are summed.
const BLOCK: usize = 512;

/// A log-density written as a formula, up to an additive constant or, if it says so, exactly.
///
/// ```
/// use noisewright::{Energy, Points};
/// use noisewright::internal::energy::FormulaEnergy;
/// let energy = FormulaEnergy::new("-a*x^2/2 - b*x^4", &["x"], &["a", "b"]).unwrap();
/// let (mut value, mut score) = ([0.0], [0.0; 2]);
/// let points = Points::unnamed(1, 1, vec![2.0]);
/// energy.evaluate(&[1.0, 0.5], points.view(), &mut value, Some(&mut score)).unwrap();
/// assert_eq!((value, score), ([-10.0], [-2.0, -16.0]));
/// assert!(energy.is_linear());
/// ```
#[derive(Clone, Debug)]
pub struct FormulaEnergy {
    formula: Formula,
    value: Tape,
    score: Tape,
    linear: bool,
    /// Compiled when first asked for: many parameters have very many second derivatives.
    curvature: OnceLock<Tape>,
    /// Value and derivatives in the variables, compiled when first asked for.
    slope: OnceLock<Tape>,
    normalized: bool,
}

impl FormulaEnergy {
    /// Reads a formula in these variables and parameters; it must use every parameter and, unless there are none, at least
    /// one variable.
    ///
    /// # Errors
    /// [`Error::Formula`] with the column of a mistake in the formula, [`Error::ModelField`] for names it does
    /// not use.
    pub fn new<S: AsRef<str>, T: AsRef<str>>(
        log_density: &str,
        variables: &[S],
        parameters: &[T],
    ) -> Result<Self> {
        let wrong = wrong_formula("log_density", log_density);
        let symbols = Symbols::new(variables, parameters).map_err(&wrong)?;
        let formula = Formula::parse(log_density, &symbols).map_err(&wrong)?;
        // Without parameters a constant is the uniform density.
        if !formula.uses_variable() && !parameters.is_empty() {
            let reason = format!("uses no variable; it must depend on {}", symbols.variables().join(" or "));
            return Err(Error::field("log_density", reason));
        }
        if let Some(name) = formula.unused_parameters().first() {
            let reason =
                format!("does not use the parameter `{name}`; use it or leave it out of the parameters");
            return Err(Error::field("log_density", reason));
        }
        Ok(Self::compile(formula))
    }

    fn compile(formula: Formula) -> Self {
        let linear = formula.linear().is_some();
        let (value, score) = (formula.compile(Order::Value), formula.compile(Order::First));
        Self {
            formula,
            value,
            score,
            linear,
            curvature: OnceLock::new(),
            slope: OnceLock::new(),
            normalized: false,
        }
    }

    /// The same formula, which the caller knows to integrate to one for all parameters: log Z is zero.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        self.normalized = true;
        self
    }

    /// The formula.
    #[must_use]
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// The tape of the derivatives in the variables: variables and parameters change roles, so one point is one set of
    /// parameters.
    fn slope(&self) -> Result<&Tape> {
        if let Some(tape) = self.slope.get() {
            return Ok(tape);
        }
        let text = self.formula.to_string();
        let wrong = wrong_formula("log_density", &text);
        let names = self.formula.symbols();
        let swapped = Symbols::new(names.parameters(), names.variables()).map_err(&wrong)?;
        let formula = Formula::parse(&text, &swapped).map_err(&wrong)?;
        Ok(self.slope.get_or_init(|| formula.compile(Order::First)))
    }

    /// Adds one block's weighted second derivatives, which come as columns of the upper triangle.
    fn add_block(weights: &[f64], triangle: &[&mut [f64]], values: &[f64], size: usize, out: &mut [f64]) {
        let mut columns = triangle.iter();
        for i in 0..size {
            for j in i..size {
                let Some(column) = columns.next() else { return };
                let terms = weights.iter().zip(column.iter()).zip(values);
                // Where the density is zero its derivatives mean nothing.
                let sum: f64 = terms
                    .filter(|((weight, _), value)| **weight != 0.0 && **value != f64::NEG_INFINITY)
                    .map(|((weight, second), _)| weight * second)
                    .sum();
                out[j * size + i] += sum;
                if i != j {
                    out[i * size + j] += sum;
                }
            }
        }
    }
}

/// Makes a [`FormulaError`] into ours, with the field and its text.
pub(crate) fn wrong_formula<'a>(field: &'a str, text: &'a str) -> impl Fn(FormulaError) -> Error + 'a {
    move |source| Error::Formula { field: field.into(), text: text.into(), source: Box::new(source) }
}

/// Scores at points of density zero are set to zero: derivatives of −∞ may be anything.
fn clear_scores_of_zero_density(value: &[f64], score: &mut [f64]) {
    if !all_finite(value) {
        for column in score.chunks_exact_mut(value.len()) {
            for (s, v) in column.iter_mut().zip(value) {
                if *v == f64::NEG_INFINITY {
                    *s = 0.0;
                }
            }
        }
    }
}

fn columns(points: View<'_>) -> Vec<&[f64]> {
    (0..points.columns()).map(|j| points.column(j)).collect()
}

impl Energy for FormulaEnergy {
    fn parameters(&self) -> Vec<String> {
        self.formula.symbols().parameters().to_vec()
    }

    fn dimension(&self) -> usize {
        self.formula.symbols().variables().len()
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let columns = columns(points);
        let Some(score) = score.filter(|_| points.rows() > 0) else {
            self.value.evaluate(parameters, &columns, &mut [value]);
            return Ok(());
        };
        let mut out: Vec<&mut [f64]> = Vec::with_capacity(self.score.outputs());
        out.push(&mut *value);
        out.extend(score.chunks_exact_mut(points.rows()));
        self.score.evaluate(parameters, &columns, &mut out);
        clear_scores_of_zero_density(value, score);
        Ok(())
    }

    fn point_gradient(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let tape = self.slope()?;
        let columns: Vec<&[f64]> = parameters.iter().map(std::slice::from_ref).collect();
        let mut value = [0.0];
        let mut out: Vec<&mut [f64]> = Vec::with_capacity(tape.outputs());
        out.push(&mut value);
        out.extend(gradient.chunks_exact_mut(1));
        tape.evaluate(point, &columns, &mut out);
        Ok(Some(value[0]))
    }

    fn constants(&self) -> Vec<f64> {
        self.formula.numbers()
    }

    fn is_linear(&self) -> bool {
        self.linear
    }

    fn as_formula(&self) -> Option<&Formula> {
        Some(&self.formula)
    }

    fn log_normalizer(&self, _: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.normalized.then(|| {
            gradient.fill(0.0);
            0.0
        })
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        if self.linear {
            return Ok(true);
        }
        let tape = self.curvature.get_or_init(|| self.formula.compile(Order::Second));
        let (size, rows) = (parameters.len(), points.rows());
        let mut buffer = vec![0.0; tape.outputs() * BLOCK.min(rows)];
        for start in (0..rows).step_by(BLOCK) {
            let block = points.slice(start..rows.min(start + BLOCK));
            let mut parts: Vec<&mut [f64]> =
                buffer.chunks_exact_mut(block.rows()).take(tape.outputs()).collect();
            tape.evaluate(parameters, &columns(block), &mut parts);
            let (values, derivatives) = parts.split_at(1);
            let weights = &weights[start..start + block.rows()];
            Self::add_block(weights, &derivatives[size..], values[0], size, out);
        }
        Ok(true)
    }
}

/// An exponential family from its features: `u(x) = Σ θ_j f_j(x)`, each feature a formula in the variables, beside an offset where
/// there is one.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::FeatureEnergy;
/// let energy = FeatureEnergy::new(&["x", "x^2", "x^4"], &["x"]).unwrap();
/// assert_eq!(energy.parameters(), ["x", "x^2", "x^4"]);
/// ```
#[derive(Clone, Debug)]
pub struct FeatureEnergy {
    sum: FormulaEnergy,
    names: Vec<String>,
}

impl FeatureEnergy {
    /// Reads the features; the parameters are named after them.
    ///
    /// # Errors
    /// [`Error::Formula`] with the column of a mistake in a feature, [`Error::ModelField`] when there is no
    /// feature or one is constant.
    pub fn new<S: AsRef<str>, T: AsRef<str>>(features: &[S], variables: &[T]) -> Result<Self> {
        Self::beside(features, None, variables)
    }

    /// The same beside a term that has no parameter: `u(x) = offset(x) + Σ θ_j f_j(x)`.
    ///
    /// ```
    /// use noisewright::Energy;
    /// use noisewright::internal::energy::FeatureEnergy;
    /// let poisson = FeatureEnergy::with_offset(&["y"], "-lgamma(y + 1)", &["y"]).unwrap();
    /// assert!(poisson.is_linear() && poisson.parameters() == ["y"]);
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Self::new), and when the offset cannot be read or is constant.
    pub fn with_offset<S: AsRef<str>, T: AsRef<str>>(
        features: &[S],
        offset: &str,
        variables: &[T],
    ) -> Result<Self> {
        Self::beside(features, Some(offset.trim()), variables)
    }

    fn beside<S: AsRef<str>, T: AsRef<str>>(
        features: &[S],
        offset: Option<&str>,
        variables: &[T],
    ) -> Result<Self> {
        let texts: Vec<&str> = features.iter().map(|f| f.as_ref().trim()).collect();
        if texts.is_empty() {
            return Err(Error::field("features", "is empty; list at least one formula"));
        }
        for (j, text) in texts.iter().enumerate() {
            check_feature(text, &format!("features[{j}]"), variables)?;
        }
        if let Some(text) = offset {
            check_feature(text, "offset", variables)?;
        }
        // As one formula, the features share what they have in common.
        let weights = unused_names(texts.len(), variables);
        let offset = offset.map(|text| format!("({text})"));
        let products = weights.iter().zip(&texts).map(|(w, f)| format!("{w}*({f})"));
        let sum = offset.into_iter().chain(products).collect::<Vec<_>>().join(" + ");
        let wrong = wrong_formula("features", &sum);
        let symbols = Symbols::new(variables, &weights).map_err(&wrong)?;
        let formula = Formula::parse(&sum, &symbols).map_err(&wrong)?;
        Ok(Self {
            sum: FormulaEnergy::compile(formula),
            names: texts.iter().map(|&t| t.to_owned()).collect(),
        })
    }

    /// The same features with these names for their parameters, in order.
    ///
    /// # Errors
    /// When there are not as many names as features.
    pub fn with_names<S: AsRef<str>>(mut self, names: &[S]) -> Result<Self> {
        if names.len() != self.names.len() {
            let reason = format!("must name the {} features in order, not {}", self.names.len(), names.len());
            return Err(Error::field("parameters", reason));
        }
        self.names = names.iter().map(|n| n.as_ref().to_owned()).collect();
        Ok(self)
    }
}

fn check_feature<T: AsRef<str>>(text: &str, field: &str, variables: &[T]) -> Result<()> {
    let wrong = wrong_formula(field, text);
    let none: [&str; 0] = [];
    let symbols = Symbols::new(variables, &none).map_err(&wrong)?;
    if Formula::parse(text, &symbols).map_err(&wrong)?.uses_variable() {
        return Ok(());
    }
    Err(Error::field(field, "uses no variable; the constant is estimated in any case, so leave it out"))
}

/// So many names that no variable has.
fn unused_names<T: AsRef<str>>(count: usize, variables: &[T]) -> Vec<String> {
    let longest = variables.iter().map(|v| v.as_ref().len()).max().unwrap_or(0);
    let prefix = "w".repeat(longest + 1);
    (0..count).map(|j| format!("{prefix}{j}")).collect()
}

impl Energy for FeatureEnergy {
    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    forward!(self => self.sum; dimension evaluate point_gradient constants as_formula);

    fn is_linear(&self) -> bool {
        true
    }
}
