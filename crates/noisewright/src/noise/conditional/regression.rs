//! The default noise of conditional models: a regression of every variable on the covariates, with tails heavier than the
//! residuals'.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{DescentOptions, Evaluation, Problem, newton};

use super::ConditionalNoise;
use crate::noise::auto::{INFLATION, PSEUDO_COUNT};
use crate::noise::fitting::{total_weight, unfitted};
use crate::noise::language::{Argument, Call, NoiseWords};
use crate::text::literal;
use crate::tolerance::RANK;
use crate::{Categorical, Domain, Error, Result, Space, View, fit_auto};

/// Share of the frequencies of the states beside the multinomial logit.
const FREQUENCY_SHARE: f64 = 0.2;
/// Coefficients of a multinomial logit beyond which states have their frequencies, whatever the covariates.
const MOST_COEFFICIENTS: usize = 64;
/// Precision of the coefficients around zero, for covariates of variance one: without it states that never occur beside some
/// values of the covariates would have endless coefficients.
const RIDGE: f64 = 1.0;

/// The noise `auto` of variables given covariates: `data` has a column for each variable and then one for each covariate.
///
/// | variable | noise |
/// |---|---|
/// | real, one or several together | `auto` of the residuals of a linear regression, around its prediction |
/// | positive | `auto` of y/prediction, times the prediction of a linear regression of log y |
/// | counts | negative binomial around a Poisson regression, with 1.5 times its dispersion (or Poisson's, if that is larger) |
/// | circle | `auto` of the angles to the mean direction, which is that of linear regressions of cosine and sine |
/// | states | 80 % multinomial logit (with a ridge), 20 % frequencies; frequencies alone beyond 64 coefficients |
/// | interval | `auto` whatever the covariates are |
///
/// ```
/// use noisewright::{Space, View, fit_auto_given};
/// // y = 1 + 2 z, and one more or less.
/// let columns = [0.0, 2.0, 2.0, 4.0, 4.0, 6.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0];
/// let noise = fit_auto_given(&Space::real(&["y"])?, &["z"], View::new(2, 6, &columns), None)?;
/// let mut density = [0.0; 2];
/// noise.at(&[10.0])?.log_density(View::new(1, 2, &[20.0, 22.0]), &mut density);
/// assert!((density[0] - density[1]).abs() < 1e-9); // around 21
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`fit_auto`](crate::fit_auto), of the residuals.
pub fn fit_auto_given<S: AsRef<str>>(
    space: &Space,
    covariates: &[S],
    data: View<'_>,
    weights: Option<&[f64]>,
) -> Result<ConditionalNoise> {
    let d = space.dimension();
    let (expected, found) = (d + covariates.len(), data.columns());
    if expected != found {
        return Err(Error::Shape { what: "columns of data", expected, found });
    }
    total_weight("auto", data.rows(), weights)?;
    space.check_rows(data, weights, 0)?;
    let names: Vec<&str> = covariates.iter().map(AsRef::as_ref).collect();
    let design = Design::new(data, d, &names, weights);
    let words = if d > 1 && space.domains().iter().all(|domain| *domain == Domain::Real) {
        design.real(data, d)?
    } else {
        let parts = (0..d).map(|axis| design.marginal(&space.domains()[axis], data.column(axis)));
        let mut parts = parts.collect::<Result<Vec<_>>>()?;
        if d == 1 {
            parts.remove(0)
        } else {
            let arguments = parts.into_iter().map(|words| Argument::Noise(Box::new(words))).collect();
            NoiseWords::of_call("product", arguments)
        }
    };
    ConditionalNoise::from_words(&words, space, covariates)
}

/// A formula of the covariates as a constant and the rest, so that numbers can be added to it.
struct Line {
    constant: f64,
    rest: String,
}

impl Line {
    fn plus(&self, number: f64) -> Argument {
        Argument::Formula(format!("{}{}", literal(number + self.constant), self.rest))
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", literal(self.constant), self.rest)
    }
}

/// A constant and the covariates, brought to mean zero and variance one.
struct Design<'a> {
    names: &'a [&'a str],
    weights: Option<&'a [f64]>,
    matrix: DMatrix<f64>,
    means: Vec<f64>,
    scales: Vec<f64>,
    total: f64,
}

impl<'a> Design<'a> {
    fn new(data: View<'_>, first: usize, names: &'a [&'a str], weights: Option<&'a [f64]>) -> Self {
        let rows = data.rows();
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        let total: f64 = (0..rows).map(weight).sum();
        let mut matrix = DMatrix::from_element(rows, 1 + names.len(), 1.0);
        let (mut means, mut scales) = (Vec::new(), Vec::new());
        for j in 0..names.len() {
            let column = data.column(first + j);
            let mean = column.iter().enumerate().map(|(i, z)| weight(i) * z).sum::<f64>() / total;
            let square = column.iter().enumerate().map(|(i, z)| weight(i) * (z - mean).powi(2)).sum::<f64>();
            let scale = if square > 0.0 { (square / total).sqrt() } else { 1.0 };
            matrix.column_mut(1 + j).iter_mut().zip(column).for_each(|(m, z)| *m = (z - mean) / scale);
            means.push(mean);
            scales.push(scale);
        }
        Self { names, weights, matrix, means, scales, total }
    }

    fn rows(&self) -> usize {
        self.matrix.nrows()
    }

    fn coefficients(&self) -> usize {
        self.matrix.ncols()
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[row])
    }

    /// `b0 + b1*z + …` in the covariates as they are.
    fn line(&self, coefficients: &DVector<f64>) -> Line {
        let slopes: Vec<f64> = (0..self.names.len()).map(|j| coefficients[1 + j] / self.scales[j]).collect();
        let constant = coefficients[0] - slopes.iter().zip(&self.means).map(|(b, m)| b * m).sum::<f64>();
        let mut rest = String::new();
        for (slope, name) in slopes.iter().zip(self.names) {
            let sign = if *slope < 0.0 { '-' } else { '+' };
            rest.push_str(&format!(" {sign} {}*{name}", literal(slope.abs())));
        }
        Line { constant, rest }
    }

    /// Coefficients of least squares, the smallest ones where covariates are combinations of others.
    fn least_squares(&self, y: &[f64]) -> Result<DVector<f64>> {
        let root: Vec<f64> = (0..self.rows()).map(|row| self.weight(row).sqrt()).collect();
        let mut matrix = self.matrix.clone();
        for mut column in matrix.column_iter_mut() {
            column.iter_mut().zip(&root).for_each(|(m, w)| *m *= w);
        }
        let right = DVector::from_iterator(y.len(), y.iter().zip(&root).map(|(y, w)| y * w));
        let decomposition = matrix.svd(true, true);
        let least = RANK * decomposition.singular_values.max();
        decomposition
            .solve(&right, least)
            .map_err(|_| unfitted("auto", "the regression on the covariates has no solution"))
    }

    /// What is left of y, as wide as if no coefficients had been fitted to it.
    fn residuals(&self, y: &[f64], coefficients: &DVector<f64>) -> Vec<f64> {
        let left = (self.total - self.coefficients() as f64).max(1.0);
        let widened = (self.total / left).sqrt();
        let fitted = &self.matrix * coefficients;
        y.iter().zip(fitted.iter()).map(|(y, f)| (y - f) * widened).collect()
    }

    fn marginal(&self, domain: &Domain, y: &[f64]) -> Result<NoiseWords> {
        match domain {
            Domain::Real => self.real(View::new(1, y.len(), y), 1),
            Domain::Positive => self.positive(y),
            Domain::Circle => self.circle(y),
            Domain::Counts => self.counts(y),
            Domain::States(states) => self.states(states, y),
            Domain::Interval(..) => self.auto(domain, y),
        }
    }

    /// `auto` of values that do not depend on the covariates any more.
    fn auto(&self, domain: &Domain, values: &[f64]) -> Result<NoiseWords> {
        let space = Space::product(&[("residual", domain.clone())])?;
        read(&fit_auto(&space, View::new(1, values.len(), values), self.weights)?.describe())
    }

    fn real(&self, data: View<'_>, dimension: usize) -> Result<NoiseWords> {
        let (mut residuals, mut predicted) = (Vec::new(), Vec::new());
        for axis in 0..dimension {
            let coefficients = self.least_squares(data.column(axis))?;
            residuals.extend(self.residuals(data.column(axis), &coefficients));
            predicted.push(self.line(&coefficients));
        }
        let names: Vec<String> = (0..dimension).map(|axis| format!("residual{axis}")).collect();
        let view = View::new(dimension, self.rows(), &residuals);
        let words = read(&fit_auto(&Space::real(&names)?, view, self.weights)?.describe())?;
        Ok(words.map_calls(&|call| shifted(call, &predicted)))
    }

    fn positive(&self, y: &[f64]) -> Result<NoiseWords> {
        let logarithms: Vec<f64> = y.iter().map(|y| y.ln()).collect();
        let coefficients = self.least_squares(&logarithms)?;
        let ratios: Vec<f64> = self.residuals(&logarithms, &coefficients).iter().map(|r| r.exp()).collect();
        let words = self.auto(&Domain::Positive, &ratios)?;
        let predicted = self.line(&coefficients);
        Ok(words.map_calls(&|call| scaled(call, &predicted)))
    }

    /// The direction of the regressions of cosine and sine, in a frame turned by the mean direction of all, where the cosine
    /// is positive: `2 atan(s/(√(c² + s²) + c))` is the angle of (c, s).
    fn circle(&self, y: &[f64]) -> Result<NoiseWords> {
        let sum = |f: fn(f64) -> f64| y.iter().enumerate().map(|(i, y)| self.weight(i) * f(*y)).sum::<f64>();
        let center = sum(f64::sin).atan2(sum(f64::cos));
        let turned = |f: fn(f64) -> f64| y.iter().map(|y| f(y - center)).collect::<Vec<f64>>();
        let (cosine, sine) = (self.least_squares(&turned(f64::cos))?, self.least_squares(&turned(f64::sin))?);
        let (c, s) = (&self.matrix * &cosine, &self.matrix * &sine);
        let residuals: Vec<f64> = y
            .iter()
            .zip(c.iter().zip(s.iter()))
            .map(|(y, (c, s))| {
                let (sin, cos) = (y - center - s.atan2(*c)).sin_cos();
                sin.atan2(cos)
            })
            .collect();
        let words = self.auto(&Domain::Circle, &residuals)?;
        let (c, s) = (self.line(&cosine), self.line(&sine));
        // The small number stands in for a denominator that is zero where the direction is opposite to the mean one.
        let rest = format!(" + 2*atan(({s})/(sqrt(({c})^2 + ({s})^2) + ({c}) + 1e-300))");
        let direction = [Line { constant: center, rest }];
        // Where all directions are alike there is nothing to turn.
        let is_uniform = |call: &Call| call.arguments.get(1) == Some(&Argument::Number(0.0));
        Ok(words.map_calls(&|call| if is_uniform(call) { call.clone() } else { shifted(call, &direction) }))
    }

    fn counts(&self, y: &[f64]) -> Result<NoiseWords> {
        let mean = y.iter().enumerate().map(|(i, y)| self.weight(i) * y).sum::<f64>() / self.total;
        if mean <= 0.0 {
            return Err(unfitted("auto", "all counts are zero, so no rate can be fitted to them"));
        }
        let mut start = DVector::zeros(self.coefficients());
        start[0] = mean.ln();
        let at = descend(&PoissonRegression { design: self, y }, &start)?;
        let rates = (&self.matrix * &at).map(f64::exp);
        let pearson: f64 =
            y.iter().enumerate().map(|(i, y)| self.weight(i) * (y - rates[i]).powi(2) / rates[i]).sum();
        let dispersion = (pearson / (self.total - self.coefficients() as f64).max(1.0)).max(1.0);
        let rate = self.line(&at);
        // The variance μ + μ²/size is `INFLATION * dispersion * μ`.
        let size = 1.0 / (INFLATION * dispersion - 1.0);
        let arguments = vec![
            Argument::Formula(format!("exp({rate})")),
            Argument::Formula(format!("{}*exp({rate})", literal(size))),
        ];
        Ok(NoiseWords::of_call("negative-binomial", arguments))
    }

    fn states(&self, states: &[f64], y: &[f64]) -> Result<NoiseWords> {
        let frequencies =
            Categorical::fit_to_states(states, PSEUDO_COUNT, View::new(1, y.len(), y), self.weights)?;
        let (states, shares) = (frequencies.states(), frequencies.probabilities());
        let size = (states.len() - 1) * self.coefficients();
        if size == 0 || size > MOST_COEFFICIENTS {
            return self.auto(&Domain::States(states.to_vec()), y);
        }
        let strange = || Error::internal("a row whose value is none of its states");
        let place = |y: &f64| states.iter().position(|state| state == y).ok_or_else(strange);
        let chosen = y.iter().map(place).collect::<Result<Vec<usize>>>()?;
        let logit = MultinomialLogit { design: self, chosen, states: states.len() };
        let at = descend(&logit, &DVector::zeros(size))?;
        let lines: Vec<String> = (0..states.len())
            .map(|state| match state {
                0 => "0".to_owned(),
                _ => self.line(&logit.coefficients_of(&at, state)).to_string(),
            })
            .collect();
        let probability = |state: usize| {
            let others = (0..states.len()).filter(|other| *other != state);
            let terms: Vec<String> =
                others.map(|other| format!("exp(({}) - ({}))", lines[other], lines[state])).collect();
            let (kept, share) = (literal(FREQUENCY_SHARE * shares[state]), literal(1.0 - FREQUENCY_SHARE));
            Argument::Formula(format!("{kept} + {share}/(1 + {})", terms.join(" + ")))
        };
        let probabilities = (0..states.len()).map(probability).collect();
        let states = states.iter().map(|state| Argument::Number(*state)).collect();
        Ok(NoiseWords::of_call("categorical", vec![Argument::List(states), Argument::List(probabilities)]))
    }
}

/// Words that this library has written itself.
fn read(words: &str) -> Result<NoiseWords> {
    NoiseWords::parse(words).map_err(|error| Error::internal(format!("noise that cannot be read: {error}")))
}

/// A noise moved by a formula for each of its variables.
fn shifted(call: &Call, by: &[Line]) -> Call {
    let at = usize::from(call.name == "student");
    let plus = |argument: &Argument, by: &Line| match argument {
        Argument::Number(x) => by.plus(*x),
        other => other.clone(),
    };
    let move_it = |argument: &Argument| match argument {
        Argument::List(entries) => {
            Argument::List(entries.iter().zip(by).map(|(entry, by)| plus(entry, by)).collect())
        }
        one => plus(one, &by[0]),
    };
    let arguments = call.arguments.iter().enumerate();
    let arguments = arguments.map(|(i, argument)| if i == at { move_it(argument) } else { argument.clone() });
    Call { arguments: arguments.collect(), ..call.clone() }
}

/// A noise of a positive variable times the exponential of a formula.
fn scaled(call: &Call, by: &Line) -> Call {
    let change = |(i, argument): (usize, &Argument)| match (call.name.as_str(), i, argument) {
        ("gamma", 1, Argument::Number(rate)) => Argument::Formula(format!("{}*exp(-({by}))", literal(*rate))),
        ("lognormal", 0, Argument::Number(location)) => by.plus(*location),
        (_, _, other) => other.clone(),
    };
    Call { arguments: call.arguments.iter().enumerate().map(change).collect(), ..call.clone() }
}

fn descend(problem: &impl Problem<Error = Error>, start: &DVector<f64>) -> Result<DVector<f64>> {
    let watch = |_, _| Ok(());
    let options = DescentOptions { tolerance: 1e-6, max_iterations: 100, watch: &watch };
    Ok(newton(problem, start, &options)?.at)
}

/// Poisson regression with a logarithmic link.
struct PoissonRegression<'d> {
    design: &'d Design<'d>,
    y: &'d [f64],
}

impl Problem for PoissonRegression<'_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.design.total
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn evaluate(&self, at: &DVector<f64>, _: bool) -> Result<Evaluation> {
        let (design, size) = (self.design, at.len());
        let line = &design.matrix * at;
        let mut value = 0.5 * RIDGE * at.rows(1, size - 1).norm_squared();
        let mut gradient = at * RIDGE;
        let mut hessian = DMatrix::from_diagonal_element(size, size, RIDGE);
        (gradient[0], hessian[(0, 0)]) = (0.0, 0.0);
        for (row, y) in self.y.iter().enumerate() {
            let (weight, rate) = (design.weight(row), line[row].exp());
            let x = design.matrix.row(row).transpose();
            value += weight * (rate - y * line[row]);
            gradient.axpy(weight * (rate - y), &x, 1.0);
            hessian.ger(weight * rate, &x, &x, 1.0);
        }
        if !value.is_finite() {
            return Ok(Evaluation::wall(size));
        }
        let total = design.total;
        Ok(Evaluation { value: value / total, gradient: gradient / total, hessian: Some(hessian / total) })
    }
}

/// Multinomial logit against the first state, with a ridge.
struct MultinomialLogit<'d> {
    design: &'d Design<'d>,
    chosen: Vec<usize>,
    states: usize,
}

impl MultinomialLogit<'_> {
    fn coefficients_of(&self, at: &DVector<f64>, state: usize) -> DVector<f64> {
        let size = self.design.coefficients();
        at.rows((state - 1) * size, size).into_owned()
    }
}

impl Problem for MultinomialLogit<'_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.design.total
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn evaluate(&self, at: &DVector<f64>, _: bool) -> Result<Evaluation> {
        let (design, size, each) = (self.design, at.len(), self.design.coefficients());
        let lines: Vec<DVector<f64>> =
            (1..self.states).map(|state| &design.matrix * self.coefficients_of(at, state)).collect();
        let mut value = 0.5 * RIDGE * at.norm_squared();
        let mut gradient = at * RIDGE;
        let mut hessian = DMatrix::from_diagonal_element(size, size, RIDGE);
        for (row, chosen) in self.chosen.iter().enumerate() {
            let weight = design.weight(row);
            let x = design.matrix.row(row).transpose();
            let scores: Vec<f64> = std::iter::once(0.0).chain(lines.iter().map(|line| line[row])).collect();
            let log_sum = noisewright_numerics::summation::log_sum_exp(&scores);
            value += weight * (log_sum - scores[*chosen]);
            let shares: Vec<f64> = scores.iter().map(|s| (s - log_sum).exp()).collect();
            for a in 1..self.states {
                let excess = shares[a] - f64::from(u8::from(*chosen == a));
                gradient.rows_mut((a - 1) * each, each).axpy(weight * excess, &x, 1.0);
                for b in 1..self.states {
                    let same = if a == b { shares[a] } else { 0.0 };
                    let factor = weight * (same - shares[a] * shares[b]);
                    hessian.view_mut(((a - 1) * each, (b - 1) * each), (each, each)).ger(factor, &x, &x, 1.0);
                }
            }
        }
        let total = design.total;
        Ok(Evaluation { value: value / total, gradient: gradient / total, hessian: Some(hessian / total) })
    }
}
