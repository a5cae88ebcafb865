//! Derivatives of a log-density in its variables, with their own derivatives in the parameters: from a formula, or by
//! differences of values and scores.

use noisewright_formula::{Formula, Order, Symbols, Tape};
use noisewright_numerics::chart::Chart;
use noisewright_numerics::summation::mean_and_variance;

use crate::energy::wrong_formula;
use crate::{Domain, Error, Model, Result, View};

/// Central differences of sixth order at ±h, ±2h, ±3h: coefficients of the first derivative (odd) and of the second (even), whose
/// coefficient in the middle is −49/18.
const FIRST: [f64; 3] = [3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0];
const SECOND: [f64; 3] = [3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0];
const MIDDLE: f64 = -49.0 / 18.0;
/// Their step as a share of the standard deviation of a variable: the error h⁶/560 of the second derivative is then 1e-12 of the
/// eighth, and rounding ε/h² about as much.
const STEP: f64 = 0.03;

/// How the derivatives are had.
pub(super) enum VariableDerivatives<'a> {
    /// From the tapes of formulas: the slope along every chart, and the sum of the bends.
    Tapes { slopes: Vec<Tape>, bends: Tape },
    /// By differences along the charts of the variables.
    Charts { model: &'a Model, axes: Vec<Axis> },
    /// By differences along great circles.
    Sphere { model: &'a Model, step: f64 },
}

/// One variable: its chart, and the step of differences along it.
pub(super) struct Axis {
    chart: Chart,
    step: f64,
}

/// Derivatives at some rows. Every column holds the values at all rows, and then the derivatives of them in each parameter.
pub(super) struct Derivatives {
    /// The slope along each direction, `s ∂u/∂x` with `s = dx/dy` of its chart.
    pub(super) slopes: Vec<Vec<f64>>,
    /// The sum over directions of `s²u″ + 2ss′u′`; on the sphere the Laplace–Beltrami operator.
    pub(super) bends: Vec<f64>,
}

/// The chart of a variable; an angle has no ends.
fn chart(domain: &Domain) -> Chart {
    let (lower, upper) = domain.bounds();
    if *domain == Domain::Circle { Chart::Identity } else { Chart::between(lower, upper) }
}

impl<'a> VariableDerivatives<'a> {
    /// The way for a model of continuous variables; `sample` shows the size of steps.
    ///
    /// # Errors
    /// When the formula has a kink in a variable.
    pub(super) fn new(model: &'a Model, sample: View<'_>) -> Result<Self> {
        let space = model.space();
        if space.is_sphere() {
            return Ok(Self::Sphere { model, step: STEP * spread_of_directions(sample) });
        }
        if let Some(formula) = model.energy().as_formula() {
            let charts: Vec<Chart> = space.domains().iter().map(chart).collect();
            return compile(formula, &charts);
        }
        let axis = |(j, domain): (usize, &Domain)| {
            let chart = chart(domain);
            let step = STEP
                * match domain {
                    Domain::Circle => spread_of_angles(sample.column(j)),
                    _ => deviation(&chart, sample.column(j)),
                };
            Axis { chart, step }
        };
        Ok(Self::Charts { model, axes: space.domains().iter().enumerate().map(axis).collect() })
    }

    /// The derivatives at some rows.
    ///
    /// # Errors
    /// When θ is not allowed, or the model gives no number.
    pub(super) fn at(&self, theta: &[f64], points: View<'_>) -> Result<Derivatives> {
        match self {
            Self::Tapes { slopes, bends } => {
                let columns: Vec<&[f64]> = (0..points.columns()).map(|j| points.column(j)).collect();
                let run = |tape: &Tape| {
                    let mut out = vec![0.0; tape.outputs() * points.rows()];
                    let mut parts: Vec<&mut [f64]> = out.chunks_exact_mut(points.rows().max(1)).collect();
                    tape.evaluate(theta, &columns, &mut parts);
                    out
                };
                Ok(Derivatives { slopes: slopes.iter().map(run).collect(), bends: run(bends) })
            }
            Self::Charts { model, axes } => along_charts(model, axes, theta, points),
            Self::Sphere { model, step } => along_great_circles(model, *step, theta, points),
        }
    }
}

/// The standard deviation of a variable on its chart; one where nothing varies.
fn deviation(chart: &Chart, column: &[f64]) -> f64 {
    let inside: Vec<f64> = column.iter().map(|x| chart.to_real(*x)).filter(|y| y.is_finite()).collect();
    let deviation = mean_and_variance(&inside).1.sqrt();
    if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 }
}

/// √(1 − R) of the mean resultant length R: near one for angles all around, and the deviation, but for √2, of near ones.
fn spread_of_angles(column: &[f64]) -> f64 {
    let mean = |f: fn(f64) -> f64| column.iter().map(|x| f(*x)).sum::<f64>() / column.len() as f64;
    spread_of_resultant(mean(f64::cos).hypot(mean(f64::sin)))
}

fn spread_of_directions(sample: View<'_>) -> f64 {
    let mean = |j: usize| sample.column(j).iter().sum::<f64>() / sample.rows() as f64;
    spread_of_resultant((0..sample.columns()).map(|j| mean(j).powi(2)).sum::<f64>().sqrt())
}

fn spread_of_resultant(length: f64) -> f64 {
    (1.0 - length).max(1e-6).sqrt()
}

/// Formulas of the slopes and of the sum of the bends, from the derivatives in the variables.
fn compile<'a>(formula: &Formula, charts: &[Chart]) -> Result<VariableDerivatives<'a>> {
    let names = formula.symbols();
    let text = formula.to_string();
    let wrong = wrong_formula("log_density", &text);
    // Derivatives are taken in parameters: the variables change roles with them.
    let swapped = Symbols::new(names.parameters(), names.variables()).map_err(&wrong)?;
    let of_variables = Formula::parse(&text, &swapped).map_err(&wrong)?;
    let tape = |text: &str| {
        let wrong = wrong_formula("log_density", text);
        Ok::<_, Error>(Formula::parse(text, names).map_err(wrong)?.compile(Order::First))
    };
    let (mut slopes, mut bends) = (Vec::new(), Vec::new());
    for (j, (variable, chart)) in names.variables().iter().zip(charts).enumerate() {
        let first = of_variables.derivative(j);
        let second = first.derivative(j);
        let (u1, u2) = (first.to_string(), second.to_string());
        refuse_kinks(variable, &[&text, &u1])?;
        let Some((s, slope_of_s)) = stretch(chart, variable) else {
            slopes.push(tape(&u1)?);
            bends.push(format!("({u2})"));
            continue;
        };
        slopes.push(tape(&format!("{s}*({u1})"))?);
        bends.push(format!("{s}*({s}*({u2}) + 2*({slope_of_s})*({u1}))"));
    }
    Ok(VariableDerivatives::Tapes { slopes, bends: tape(&bends.join(" + "))? })
}

/// `s = dx/dy` and `ds/dx` as formulas of x, up to the sign of both; nothing where the variable is its own chart.
fn stretch(chart: &Chart, x: &str) -> Option<(String, String)> {
    match chart {
        Chart::Identity | Chart::Turn { .. } => None,
        Chart::Above { lo } => Some((format!("({x} - ({lo}))"), "1".into())),
        Chart::Below { hi } => Some((format!("({x} - ({hi}))"), "1".into())),
        Chart::Logit { lo, hi } => {
            let width = hi - lo;
            let s = format!("(({x} - ({lo}))*(({hi}) - {x})/({width}))");
            Some((s, format!("(({lo}) + ({hi}) - 2*{x})/({width})")))
        }
    }
}

/// At a kink the slope jumps, and the second derivative, which the jump belongs to, does not show it.
fn refuse_kinks(variable: &str, texts: &[&str]) -> Result<()> {
    if texts.iter().any(|text| text.contains("sign(") || text.contains("step(")) {
        let reason = format!(
            "cannot be score-matching: the log-density has no second derivative in `{variable}` everywhere (abs, min and max have \
             kinks); use nce or exact"
        );
        return Err(Error::option("method", reason));
    }
    Ok(())
}

/// Values and scores at rows, in one column after the other.
fn evaluate(model: &Model, theta: &[f64], points: View<'_>) -> Result<Vec<f64>> {
    let rows = points.rows();
    let mut out = vec![0.0; rows * (theta.len() + 1)];
    let (value, score) = out.split_at_mut(rows);
    model.evaluate(theta, points, value, Some(score))?;
    Ok(out)
}

fn add_scaled(out: &mut [f64], factor: f64, of: &[f64]) {
    out.iter_mut().zip(of).for_each(|(o, x)| *o += factor * x);
}

/// First and second derivatives along a curve; `at` gives the points that are so many steps along it.
fn along_curve(
    model: &Model,
    theta: &[f64],
    (middle, step): (&[f64], f64),
    mut at: impl FnMut(f64) -> Vec<f64>,
    dimension: usize,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let rows = middle.len() / (theta.len() + 1);
    let mut first = vec![0.0; middle.len()];
    let mut second: Vec<f64> = middle.iter().map(|u| MIDDLE / (step * step) * u).collect();
    for (k, (odd, even)) in FIRST.iter().zip(SECOND).enumerate() {
        for side in [1.0, -1.0] {
            let points = at(side * (k + 1) as f64 * step);
            let there = evaluate(model, theta, View::new(dimension, rows, &points))?;
            add_scaled(&mut first, side * odd / step, &there);
            add_scaled(&mut second, even / (step * step), &there);
        }
    }
    Ok((first, second))
}

fn along_charts(model: &Model, axes: &[Axis], theta: &[f64], points: View<'_>) -> Result<Derivatives> {
    let (rows, dimension) = (points.rows(), points.columns());
    let middle = evaluate(model, theta, points)?;
    let values: Vec<f64> = (0..dimension).flat_map(|j| points.column(j)).copied().collect();
    let (mut slopes, mut bends) = (Vec::new(), vec![0.0; middle.len()]);
    for (j, Axis { chart, step }) in axes.iter().enumerate() {
        let y: Vec<f64> = points.column(j).iter().map(|x| chart.to_real(*x)).collect();
        let moved = |shift: f64| {
            let mut values = values.clone();
            values[j * rows..(j + 1) * rows]
                .iter_mut()
                .zip(&y)
                .for_each(|(x, y)| *x = chart.from_real(y + shift));
            values
        };
        let (first, second) = along_curve(model, theta, (&middle, *step), moved, dimension)?;
        // With v(y) = u(x(y)): v″ + s′v′ = s²u″ + 2ss′u′, and s′ is the slope of log dx/dy in y.
        add_scaled(&mut bends, 1.0, &second);
        for (bend, first) in bends.chunks_exact_mut(rows).zip(first.chunks_exact(rows)) {
            let terms = first.iter().zip(&y).map(|(v, y)| chart.log_jacobian_slope(*y) * v);
            bend.iter_mut().zip(terms).for_each(|(b, term)| *b += term);
        }
        slopes.push(first);
    }
    Ok(Derivatives { slopes, bends })
}

/// On the sphere the slope and the Laplace–Beltrami operator are sums over great circles through a point in orthogonal directions.
fn along_great_circles(model: &Model, step: f64, theta: &[f64], points: View<'_>) -> Result<Derivatives> {
    let (rows, dimension) = (points.rows(), points.columns());
    let middle = evaluate(model, theta, points)?;
    let (mut slopes, mut bends) = (Vec::new(), vec![0.0; middle.len()]);
    for direction in 0..dimension - 1 {
        let moved = |angle: f64| {
            let mut values = vec![0.0; rows * dimension];
            for row in 0..rows {
                for axis in 0..dimension {
                    let tangent = tangent(points, row, direction, axis);
                    values[axis * rows + row] = points.get(row, axis) * angle.cos() + tangent * angle.sin();
                }
            }
            values
        };
        let (first, second) = along_curve(model, theta, (&middle, step), moved, dimension)?;
        add_scaled(&mut bends, 1.0, &second);
        slopes.push(first);
    }
    Ok(Derivatives { slopes, bends })
}

/// One coordinate of one of the unit vectors orthogonal to a direction x and to each other: the columns but the last of the
/// Householder reflection that carries the last axis to ∓x.
fn tangent(points: View<'_>, row: usize, column: usize, axis: usize) -> f64 {
    let last = points.columns() - 1;
    let x = |axis: usize| points.get(row, axis);
    let sign = if x(last) < 0.0 { -1.0 } else { 1.0 };
    // v = x + sign·e_last, |v|² = 2 + 2|x_last|; the reflection is I − 2vvᵀ/|v|².
    let v = |axis: usize| x(axis) + if axis == last { sign } else { 0.0 };
    let unit = if axis == column { 1.0 } else { 0.0 };
    unit - v(axis) * v(column) / (1.0 + x(last).abs())
}
