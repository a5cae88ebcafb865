//! Every built-in energy with a way to draw parameters and points for it, and differences to check it with.
#![allow(dead_code)]

use noisewright::internal::energy::{
    Beta, ComPoisson, ExponentialPolynomial, FeatureEnergy, FormulaEnergy, Gamma, Gaussian, GaussianMoments,
    Ising, Student, TruncatedGaussian, TruncatedGaussianMoments, VonMises, VonMisesFisher, VonMisesPolar,
};
use noisewright::{Energy, View};

/// An energy, and maps from numbers in (−1, 1) to parameters and points that it takes.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) energy: Box<dyn Energy>,
    pub(crate) parameters: fn(&[f64]) -> Vec<f64>,
    pub(crate) variable: fn(f64) -> f64,
}

/// How many numbers in (−1, 1) a case may use for its parameters.
pub(crate) const NUMBERS: usize = 16;

fn case(
    name: &'static str,
    energy: impl Energy + 'static,
    parameters: fn(&[f64]) -> Vec<f64>,
    variable: fn(f64) -> f64,
) -> Case {
    Case { name, energy: Box::new(energy), parameters, variable }
}

fn wide(u: f64) -> f64 {
    4.0 * u
}

fn positive(u: f64) -> f64 {
    (3.0 * u).exp()
}

/// A symmetric positive definite matrix LLᵀ + ¼ as its upper triangle, row by row.
pub(crate) fn definite(dimension: usize, numbers: &[f64]) -> Vec<f64> {
    let l = |i: usize, j: usize| if j <= i { numbers[i * (i + 1) / 2 + j] } else { 0.0 };
    let entry =
        |i, j| (0..dimension).map(|k| l(i, k) * l(j, k)).sum::<f64>() + if i == j { 0.25 } else { 0.0 };
    (0..dimension).flat_map(|i| (i..dimension).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect()
}

fn gaussian_parameters(dimension: usize, u: &[f64]) -> Vec<f64> {
    [u[..dimension].to_vec(), definite(dimension, &u[dimension..])].concat()
}

fn raw(u: &[f64]) -> Vec<f64> {
    u.iter().map(|v| 2.0 * v).collect()
}

fn formula(text: &str, variables: &[&str], parameters: &[&str]) -> FormulaEnergy {
    FormulaEnergy::new(text, variables, parameters).unwrap()
}

/// Energies from text, linear and not.
fn texts() -> Vec<Case> {
    vec![
        case("quartic", formula("-a*x^2/2 - b*x^4", &["x"], &["a", "b"]), |u| raw(&u[..2]), wide),
        case(
            "mixture",
            formula(
                "log(sigmoid(w)*exp(-(x - m)^2/2) + sigmoid(-w)*exp(-(x - n)^2/(2*exp(s)))/exp(s/2))",
                &["x"],
                &["w", "m", "n", "s"],
            ),
            |u| u[..4].to_vec(),
            wide,
        ),
        case(
            "correlation",
            formula("-(x^2 - 2*r*x*y + y^2)/(2*(1 - r^2)) - log(1 - r^2)/2", &["x", "y"], &["r"]),
            |u| vec![0.8 * u[0]],
            |u| 2.0 * u,
        ),
        case(
            "features",
            FeatureEnergy::new(&["x", "log(y)", "exp(-x)*y", "x*exp(-x)"], &["x", "y"]).unwrap(),
            |u| raw(&u[..4]),
            |u| 1.5 + u,
        ),
    ]
}

/// Every energy that the library has built in, and some from text.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = families();
    all.extend(texts());
    all
}

fn families() -> Vec<Case> {
    let circle = |u: f64| 3.0 * u;
    vec![
        case("gaussian 1-D", Gaussian::new(1).unwrap(), |u| gaussian_parameters(1, u), wide),
        case("gaussian 3-D", Gaussian::new(3).unwrap(), |u| gaussian_parameters(3, u), wide),
        case("moments 1-D", GaussianMoments::new(1).unwrap(), |u| gaussian_parameters(1, u), wide),
        case("moments 2-D", GaussianMoments::new(2).unwrap(), |u| gaussian_parameters(2, u), wide),
        case("moments 3-D", GaussianMoments::new(3).unwrap(), |u| gaussian_parameters(3, u), wide),
        case("von Mises", VonMises, |u| raw(&u[..2]), circle),
        case("von Mises, polar", VonMisesPolar, |u| vec![3.0 * u[0], positive(u[1])], circle),
        case("von Mises-Fisher", VonMisesFisher::new(4).unwrap(), |u| raw(&u[..4]), |u| u),
        case("ising", Ising::new(4, [-1.0, 1.0]).unwrap(), |u| raw(&u[..10]), f64::signum),
        case(
            "ising, independent",
            Ising::with_edges(3, [0.0, 1.0], &[]).unwrap(),
            |u| raw(&u[..3]),
            |u| f64::from(u > 0.0),
        ),
        case(
            "truncated gaussian",
            TruncatedGaussian::new(-1.0, 2.0).unwrap(),
            |u| raw(&u[..2]),
            |u| 0.5 + 1.5 * u,
        ),
        case(
            "truncated gaussian, half-line",
            TruncatedGaussian::new(0.0, f64::INFINITY).unwrap(),
            |u| vec![3.0 * u[0], positive(u[1])],
            positive,
        ),
        case(
            "truncated gaussian, moments",
            TruncatedGaussianMoments::new(-1.0, 2.0).unwrap(),
            |u| vec![3.0 * u[0], positive(u[1])],
            |u| 0.5 + 1.5 * u,
        ),
        case("com-poisson", ComPoisson, |u| vec![2.0 * u[0], positive(u[1])], |u| (9.0 + 9.0 * u).floor()),
        case("student", Student::fixed(5.0).unwrap(), |u| vec![u[0], positive(0.5 * u[1])], wide),
        case(
            "student, free dof",
            Student::free(),
            |u| vec![u[0], positive(0.5 * u[1]), positive(u[2])],
            wide,
        ),
        case("polynomial", ExponentialPolynomial::new(5).unwrap(), |u| raw(&u[..5]), wide),
        case("gamma", Gamma, |u| vec![positive(0.5 * u[0]), positive(u[1])], positive),
        case("beta", Beta, |u| vec![positive(0.5 * u[0]), positive(0.5 * u[1])], |u| 0.5 + 0.499 * u),
    ]
}

/// The fourth-order central difference of `f` at `at`.
pub(crate) fn difference(f: impl Fn(f64) -> f64, at: f64) -> f64 {
    let step = 5e-4 * at.abs().clamp(0.05, 1.0);
    (8.0 * (f(at + step) - f(at - step)) - (f(at + 2.0 * step) - f(at - 2.0 * step))) / (12.0 * step)
}

/// `f(θ with its j-th entry replaced)`, as a function of that entry.
pub(crate) fn along<'a>(
    theta: &'a [f64],
    j: usize,
    f: impl Fn(&[f64]) -> f64 + 'a,
) -> impl Fn(f64) -> f64 + 'a {
    move |value| {
        let mut moved = theta.to_vec();
        moved[j] = value;
        f(&moved)
    }
}

pub(crate) fn value(energy: &dyn Energy, theta: &[f64], points: View<'_>) -> Vec<f64> {
    let mut out = vec![0.0; points.rows()];
    energy.evaluate(theta, points, &mut out, None).unwrap();
    out
}

pub(crate) fn score(energy: &dyn Energy, theta: &[f64], points: View<'_>) -> Vec<f64> {
    let mut value = vec![0.0; points.rows()];
    let mut out = vec![f64::NAN; points.rows() * theta.len()];
    energy.evaluate(theta, points, &mut value, Some(&mut out)).unwrap();
    out
}

pub(crate) fn close(got: f64, want: f64, tolerance: f64, scale: f64) -> bool {
    (got - want).abs() <= tolerance * want.abs().max(scale)
}
