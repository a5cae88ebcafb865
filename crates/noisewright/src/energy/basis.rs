//! Bases for functions that nobody has written down: polynomials, splines with their products, Gaussian bumps, all in
//! standardized variables.
//!
//! Every variable has a few functions that are orthonormal over the pooled rows: x, x², and natural cubic splines with knots at
//! quantiles (Hastie, Tibshirani and Friedman 2009, §5.2.1), which are linear beyond the outer knots. A basis is some of
//! them, products of pairs of them, and bumps `exp(−‖x − c‖²/2w²)` at centers c.
//!
//! In many variables there are too many products. There the variables are first carried to coordinates in which the covariances of both
//! samples are diagonal: the log ratio of two normal densities is then a sum of functions of one coordinate each.

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::kernels;
use noisewright_numerics::summation::{dot, mean, mean_and_variance};

use super::Statistics;
use crate::{Points, View};

/// What is left of a function after those before it, as a share of its size, below which it is one of them.
const DEPENDENT: f64 = 1e-6;

/// The size of a basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BasisShape {
    /// Inner knots of the splines of every variable; none for a quadratic.
    pub(crate) knots: usize,
    /// Functions of every variable whose products in pairs are in the basis: 1 for `x·y` alone.
    pub(crate) products: usize,
    /// Number of Gaussian bumps.
    pub(crate) centers: usize,
    /// Their width, in units of the median distance of the centers.
    pub(crate) width: f64,
    /// Whether it is a basis in coordinates in which both samples' covariances are diagonal.
    pub(crate) rotated: bool,
}

impl BasisShape {
    /// All first and second powers and products.
    pub(crate) const QUADRATIC: Self = Self { knots: 0, products: 1, centers: 0, width: 1.0, rotated: false };

    /// Number of functions in so many variables, at most.
    pub(crate) fn size(self, variables: usize) -> usize {
        let pairs = variables * variables.saturating_sub(1) / 2;
        variables * (2 + self.knots) + pairs * self.products * self.products + self.centers
    }
}

/// The functions of one variable: combinations of 1, z, z² and the splines, z being the standardized variable.
#[derive(Clone, Debug)]
struct Axis {
    center: f64,
    scale: f64,
    knots: Vec<f64>,
    /// Of every function the coefficients of 1, z, z², and the splines.
    functions: Vec<Vec<f64>>,
}

/// One function of a basis; of a variable by its number and that of the function.
#[derive(Clone, Copy, Debug)]
enum Function {
    One((usize, usize)),
    Product((usize, usize), (usize, usize)),
    Bump(usize),
}

/// A basis with its knots, centers and scales.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    axes: Vec<Axis>,
    functions: Vec<Function>,
    names: Vec<String>,
    /// Standardized, one after the other.
    centers: Vec<f64>,
    width: f64,
    /// One coordinate per row, where they are not the variables themselves.
    rotation: Option<DMatrix<f64>>,
}

impl Basis {
    /// A basis over the pooled rows of two samples; the centers are rows spread evenly over them. A variable that does not
    /// vary has no functions.
    pub(crate) fn new(shape: BasisShape, variables: &[String], pooled: &Points) -> Self {
        let view = pooled.view();
        let axes: Vec<Axis> = (0..view.columns()).map(|j| Axis::new(view.column(j), shape.knots)).collect();
        let mut basis = Self {
            axes,
            functions: Vec::new(),
            names: Vec::new(),
            centers: Vec::new(),
            width: 1.0,
            rotation: None,
        };
        basis.add_axes(variables);
        basis.add_products(variables, shape.products);
        basis.add_bumps(view, shape);
        basis
    }

    /// A basis in the coordinates in which both covariances are diagonal.
    pub(crate) fn rotated(shape: BasisShape, pooled: &Points, covariances: [&DMatrix<f64>; 2]) -> Self {
        let rotation = simultaneous_axes(covariances);
        let view = pooled.view();
        let columns = (0..view.columns()).flat_map(|j| coordinate(&rotation, j, view));
        let turned = Points::unnamed(view.columns(), view.rows(), columns.collect());
        let names: Vec<String> = (1..=view.columns()).map(|j| format!("direction {j}")).collect();
        Self { rotation: Some(rotation), ..Self::new(shape, &names, &turned) }
    }

    /// The values of a coordinate.
    fn coordinate<'p>(&self, j: usize, points: View<'p>) -> Cow<'p, [f64]> {
        match &self.rotation {
            None => Cow::Borrowed(points.column(j)),
            Some(rotation) => Cow::Owned(coordinate(rotation, j, points)),
        }
    }

    fn add_axes(&mut self, variables: &[String]) {
        for (j, axis) in self.axes.iter().enumerate() {
            for index in 0..axis.functions.len() {
                self.functions.push(Function::One((j, index)));
                self.names.push(named(&variables[j], index));
            }
        }
    }

    fn add_products(&mut self, variables: &[String], most: usize) {
        let count = |j: usize| self.axes[j].functions.len().min(most);
        for i in 0..self.axes.len() {
            for j in i + 1..self.axes.len() {
                for (a, b) in (0..count(i)).flat_map(|a| (0..count(j)).map(move |b| (a, b))) {
                    self.functions.push(Function::Product((i, a), (j, b)));
                    self.names.push(format!("{}·{}", named(&variables[i], a), named(&variables[j], b)));
                }
            }
        }
    }

    fn add_bumps(&mut self, rows: View<'_>, shape: BasisShape) {
        let count = shape.centers.min(rows.rows());
        for index in 0..count {
            let row = (2 * index + 1) * rows.rows() / (2 * count);
            let place = self.axes.iter().enumerate().map(|(j, axis)| axis.standardized(rows.get(row, j)));
            self.centers.extend(place);
            self.functions.push(Function::Bump(index));
            self.names.push(format!("bump {}", index + 1));
        }
        let distance = median_distance(&self.centers, self.axes.len());
        self.width = shape.width * if distance > 0.0 { distance } else { 1.0 };
    }

    /// `exp(−‖x − c‖²/2w²)` at points.
    fn bump(&self, index: usize, points: View<'_>, out: &mut [f64]) {
        let d = self.axes.len();
        let center = &self.centers[index * d..(index + 1) * d];
        let factor = -0.5 / (self.width * self.width);
        out.fill(0.0);
        for (j, (axis, c)) in self.axes.iter().zip(center).enumerate() {
            for (o, x) in out.iter_mut().zip(self.coordinate(j, points).iter()) {
                let difference = axis.standardized(*x) - c;
                *o += factor * difference * difference;
            }
        }
        kernels::exp_in_place(out);
    }
}

/// One coordinate of all points.
fn coordinate(rotation: &DMatrix<f64>, j: usize, points: View<'_>) -> Vec<f64> {
    let mut out = vec![0.0; points.rows()];
    for (column, share) in rotation.row(j).iter().enumerate() {
        out.iter_mut().zip(points.column(column)).for_each(|(o, x)| *o += share * x);
    }
    out
}

/// Axes, one per row, along which both covariances are diagonal: the generalised eigenvectors of the first and their sum.
fn simultaneous_axes([first, second]: [&DMatrix<f64>; 2]) -> DMatrix<f64> {
    let size = first.nrows();
    let mut sum = first + second;
    let scale = DVector::from_fn(size, |j, _| 1.0 / sum[(j, j)].max(f64::MIN_POSITIVE).sqrt());
    let scaled =
        |matrix: &DMatrix<f64>| DMatrix::from_fn(size, size, |i, j| matrix[(i, j)] * scale[i] * scale[j]);
    sum = scaled(&sum);
    // A combination of variables that hardly varies must not be blown up.
    (0..size).for_each(|j| sum[(j, j)] += DEPENDENT);
    let Some(factor) = sum.cholesky() else { return DMatrix::identity(size, size) };
    let lower = factor.l();
    let identity = DMatrix::identity(size, size);
    let Some(inverse) = lower.solve_lower_triangular(&identity) else { return identity };
    let eigen = (&inverse * scaled(first) * inverse.transpose()).symmetric_eigen();
    let mut axes = eigen.eigenvectors.transpose() * inverse;
    for (mut column, s) in axes.column_iter_mut().zip(scale.iter()) {
        column *= *s;
    }
    axes
}

fn named(variable: &str, index: usize) -> String {
    match index {
        0 => variable.to_owned(),
        1 => format!("{variable}²"),
        _ => format!("spline {} of {variable}", index - 1),
    }
}

/// The median of the distances of neighbours in the list, which is in no order: that of a random pair.
fn median_distance(centers: &[f64], d: usize) -> f64 {
    let mut squares: Vec<f64> = centers
        .chunks_exact(d.max(1))
        .zip(centers.chunks_exact(d.max(1)).skip(1))
        .map(|(a, b)| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum())
        .collect();
    squares.sort_by(f64::total_cmp);
    squares.get(squares.len() / 2).map_or(0.0, |square: &f64| square.sqrt())
}

impl Statistics for Basis {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn variables(&self) -> usize {
        self.axes.len()
    }

    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]) {
        match self.functions[index] {
            Function::One((j, a)) => self.axes[j].fill(a, &self.coordinate(j, points), out),
            Function::Product((i, a), (j, b)) => {
                self.axes[i].fill(a, &self.coordinate(i, points), out);
                let mut other = vec![0.0; out.len()];
                self.axes[j].fill(b, &self.coordinate(j, points), &mut other);
                out.iter_mut().zip(other).for_each(|(o, x)| *o *= x);
            }
            Function::Bump(center) => self.bump(center, points, out),
        }
    }
}

impl Axis {
    /// The functions of one variable over the pooled rows: those that vary there and are not combinations of others.
    fn new(rows: &[f64], knots: usize) -> Self {
        let mut sorted = rows.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (center, variance) = mean_and_variance(rows);
        let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        let quantile = |share: f64| (sorted[(share * (rows.len() - 1) as f64) as usize] - center) / scale;
        // The outer knots at one and 99 in a hundred: beyond them a spline is linear.
        let places = (0..=knots + 1).map(|i| quantile(0.01 + 0.98 * i as f64 / (knots + 1) as f64));
        let mut knots: Vec<f64> = if knots == 0 { Vec::new() } else { places.collect() };
        knots.dedup();
        let mut axis = Self { center, scale, knots, functions: Vec::new() };
        axis.orthonormalize(rows);
        axis
    }

    fn standardized(&self, x: f64) -> f64 {
        (x - self.center) / self.scale
    }

    /// Number of splines beside 1 and z.
    fn splines(&self) -> usize {
        self.knots.len().saturating_sub(2)
    }

    /// 1, z, z² or a spline.
    fn raw(&self, index: usize, z: f64) -> f64 {
        match index {
            0 => 1.0,
            1 => z,
            2 => z * z,
            _ => {
                let last = self.knots.len() - 1;
                self.cubic(index - 3, z) - self.cubic(last - 1, z)
            }
        }
    }

    /// The difference of two cubes from which natural splines are made.
    fn cubic(&self, knot: usize, z: f64) -> f64 {
        let (from, to) = (self.knots[knot], self.knots[self.knots.len() - 1]);
        let cube = |x: f64| x.max(0.0).powi(3);
        (cube(z - from) - cube(z - to)) / (to - from)
    }

    /// Gram and Schmidt over the rows, twice, with the coefficients carried along.
    fn orthonormalize(&mut self, rows: &[f64]) {
        let count = 3 + self.splines();
        let mut values: Vec<Vec<f64>> = vec![vec![1.0; rows.len()]];
        let mut coefficients: Vec<Vec<f64>> = vec![unit(count, 0)];
        for index in 1..count {
            let mut column: Vec<f64> = rows.iter().map(|x| self.raw(index, self.standardized(*x))).collect();
            let mut own = unit(count, index);
            let size = norm(&column);
            for _ in 0..2 {
                for (other, its) in values.iter().zip(&coefficients) {
                    let share = dot(other, &column) / rows.len() as f64;
                    column.iter_mut().zip(other).for_each(|(x, o)| *x -= share * o);
                    own.iter_mut().zip(its).for_each(|(x, o)| *x -= share * o);
                }
            }
            let left = norm(&column);
            if left.is_nan() || left <= DEPENDENT * size {
                continue;
            }
            column.iter_mut().for_each(|x| *x /= left);
            own.iter_mut().for_each(|x| *x /= left);
            values.push(column);
            coefficients.push(own);
        }
        self.functions = coefficients.split_off(1);
    }

    fn fill(&self, function: usize, x: &[f64], out: &mut [f64]) {
        let coefficients = &self.functions[function];
        let last = coefficients.iter().rposition(|c| *c != 0.0).unwrap_or(0);
        for (o, x) in out.iter_mut().zip(x) {
            let z = self.standardized(*x);
            let mut value = coefficients[0] + z * (coefficients[1] + z * coefficients[2]);
            for (index, coefficient) in coefficients.iter().enumerate().take(last + 1).skip(3) {
                value += coefficient * self.raw(index, z);
            }
            *o = value;
        }
    }
}

fn unit(count: usize, index: usize) -> Vec<f64> {
    (0..count).map(|j| f64::from(u8::from(j == index))).collect()
}

/// The root of the mean square.
fn norm(column: &[f64]) -> f64 {
    mean(&column.iter().map(|x| x * x).collect::<Vec<_>>()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Energy;

    fn rows(d: usize, count: usize) -> Points {
        let value = |i: usize| ((i as f64) * 0.754_877_666).fract() * 3.0 - 1.0 + (i as f64 * 0.31).sin();
        Points::unnamed(d, count, (0..d * count).map(value).collect())
    }

    #[test]
    fn functions_of_a_variable_are_orthonormal_over_the_rows() {
        let points = rows(1, 500);
        let basis = Basis::new(BasisShape { knots: 4, ..BasisShape::QUADRATIC }, &["x".into()], &points);
        let k = basis.names().len();
        assert_eq!(k, 6);
        let (mut value, mut score) = (vec![0.0; 500], vec![0.0; 500 * k]);
        basis.evaluate(&vec![1.0; k], points.view(), &mut value, Some(&mut score)).unwrap();
        let columns: Vec<&[f64]> = score.chunks_exact(500).collect();
        for (i, a) in columns.iter().enumerate() {
            assert!(mean(a).abs() < 1e-10);
            for (j, b) in columns.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(a, b) / 500.0 - expected).abs() < 1e-9, "{i} {j}");
            }
        }
    }

    #[test]
    fn beyond_the_outer_knots_splines_are_quadratic_at_most() {
        let points = rows(1, 500);
        let basis = Basis::new(BasisShape { knots: 5, ..BasisShape::QUADRATIC }, &["x".into()], &points);
        // Third differences of a polynomial of degree two vanish.
        let far: Vec<f64> = (0..4).map(|i| 50.0 + f64::from(i)).collect();
        for index in 0..basis.names().len() {
            let mut out = [0.0; 4];
            basis.column(index, View::new(1, 4, &far), &mut out);
            let third = out[3] - 3.0 * out[2] + 3.0 * out[1] - out[0];
            assert!(third.abs() < 1e-6 * out[3].abs().max(1.0), "{index}: {third}");
        }
    }

    #[test]
    fn both_covariances_are_diagonal_along_the_axes() {
        let first = DMatrix::from_row_slice(3, 3, &[4.0, 1.0, 0.5, 1.0, 2.0, -0.3, 0.5, -0.3, 1.0]);
        let second = DMatrix::from_row_slice(3, 3, &[1.0, -0.4, 0.1, -0.4, 3.0, 0.6, 0.1, 0.6, 2.0]);
        let axes = simultaneous_axes([&first, &second]);
        for matrix in [&first, &second] {
            let there = &axes * matrix * axes.transpose();
            let off = DMatrix::from_fn(3, 3, |i, j| if i == j { 0.0 } else { there[(i, j)] });
            assert!(off.amax() < 1e-5, "{there}");
        }
    }

    #[test]
    fn a_variable_of_two_values_has_one_function_and_a_constant_none() {
        let values: Vec<f64> =
            (0..100).map(|i| f64::from(i % 2)).chain(std::iter::repeat_n(3.0, 100)).collect();
        let points = Points::unnamed(2, 100, values);
        let names = ["a".to_owned(), "b".to_owned()];
        let basis = Basis::new(BasisShape { knots: 3, ..BasisShape::QUADRATIC }, &names, &points);
        assert_eq!(basis.names(), ["a"]);
    }
}
