//! Every kind of domain: the error against MATH §3 as it stands, summed over points chosen in the simplest way.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use crate::common::{Term, distance, js, plain_covariance, report, words};
use noisewright::{
    Beta, Categorical, Domain, LogNormal, Loss, Model, NegativeBinomial, Noise, Parameter, Poisson, Product,
    Space, UniformSphere, View, VonMises,
};
use noisewright_systems::{
    System, com_poisson, gamma, ising, student, truncated_gaussian, von_mises, von_mises_fisher,
};

/// The terms at weighted points, `(measure, point)`: the model's energy less the exact log Z, and −1 for the constant.
fn terms(system: &System, noise: &dyn Noise, points: &[(f64, Vec<f64>)]) -> Vec<Term> {
    let mut log_noise = [0.0];
    let term = |(measure, x): &(f64, Vec<f64>)| {
        let view = View::new(x.len(), 1, x);
        let (mut energy, mut score) = ([0.0], vec![0.0; system.parameters.len()]);
        system.model.evaluate(&system.parameters, view, &mut energy, Some(&mut score)).unwrap();
        noise.log_density(view, &mut log_noise);
        if system.model.is_normalized() {
            score.iter_mut().zip(system.mean.iter()).for_each(|(s, m)| *s -= m);
        } else {
            score.push(-1.0);
        }
        Term { measure: *measure, log_data: energy[0] - system.log_z, log_noise: log_noise[0], score }
    };
    points.iter().map(term).collect()
}

fn check(system: &System, noise: &dyn Noise, points: &[(f64, Vec<f64>)], tolerance: f64) {
    for (nu, loss, weight) in [
        (1.0, Loss::Js, js as fn(f64) -> f64),
        (0.2, Loss::Js, js),
        (6.0, Loss::Js, js),
        (2.0, Loss::Hellinger, |r| r.powf(-0.5)),
    ] {
        let want = plain_covariance(&terms(system, noise, points), nu, weight);
        let found = report(&system.model, &system.parameters, noise, nu, &loss).unwrap();
        let gap = distance(&found.covariance, &want);
        let what = format!("{} against {}, nu {nu}, {loss}", system.name, noise.describe());
        assert!(gap < tolerance, "{what}: {gap:e}\n{}{want}", found.covariance);
    }
}

/// Simpson's rule.
fn simpson(lower: f64, upper: f64, panels: usize) -> Vec<(f64, f64)> {
    let step = (upper - lower) / (2 * panels) as f64;
    (0..=2 * panels)
        .map(|i| {
            let factor = if i == 0 || i == 2 * panels { 1.0 } else { f64::from(2 + 2 * (i as u32 % 2)) };
            (factor * step / 3.0, lower + i as f64 * step)
        })
        .collect()
}

fn on_line(rule: Vec<(f64, f64)>) -> Vec<(f64, Vec<f64>)> {
    rule.into_iter().map(|(w, x)| (w, vec![x])).collect()
}

#[test]
fn positive_numbers() {
    // x = e^t with the trapezoidal rule in t, which converges geometrically.
    let points: Vec<_> = (-4500..900)
        .map(|k| {
            let x = (f64::from(k) / 100.0).exp();
            (x / 100.0, vec![x])
        })
        .collect();
    for normalized in [true, false] {
        for (shape, rate) in [(1.0, 1.0), (2.5, 2.0)] {
            let system = gamma(shape, rate, normalized).unwrap();
            check(&system, &noisewright::Gamma::new(2.0, 1.2).unwrap(), &points, 1e-8);
            check(&system, &LogNormal::new(0.2, 1.0).unwrap(), &points, 1e-8);
            check(&system, &*words(&system.model, "student(5, 1, 1)"), &points, 1e-8);
        }
    }
}

#[test]
fn the_line_with_heavy_tails() {
    // x = sinh t makes the tails of Student's density fall exponentially.
    let points: Vec<_> = (-4000..=4000)
        .map(|k| {
            let t = f64::from(k) / 100.0;
            (t.cosh() / 100.0, vec![t.sinh()])
        })
        .collect();
    for normalized in [true, false] {
        let system = student(5.0, 0.0, 1.0, normalized).unwrap();
        check(&system, &noisewright::Student::new(4.0, 0.5, 1.3).unwrap(), &points, 1e-8);
    }
}

#[test]
fn the_circle() {
    let step = std::f64::consts::TAU / 4000.0;
    let points: Vec<_> =
        (0..4000).map(|k| (step, vec![-std::f64::consts::PI + (f64::from(k) + 0.5) * step])).collect();
    for normalized in [true, false] {
        for (a, b) in [(0.7, -0.4), (2.0, 6.0)] {
            let system = von_mises(a, b, normalized).unwrap();
            check(&system, &VonMises::new(1.0, 2.0).unwrap(), &points, 1e-9);
            check(&system, &*words(&system.model, "uniform"), &points, 1e-9);
        }
    }
}

#[test]
fn an_interval() {
    let points = on_line(simpson(-1.0, 2.0, 10_000));
    for normalized in [true, false] {
        for (h, p) in [(0.0, 1.0), (1.5, 4.0)] {
            let system = truncated_gaussian(-1.0, 2.0, h, p, normalized).unwrap();
            check(&system, &*words(&system.model, "uniform"), &points, 1e-9);
            check(&system, &*words(&system.model, "normal(3, 2)"), &points, 1e-9);
            check(&system, &Beta::new(3.0, 3.0).unwrap().on(-1.0, 2.0).unwrap(), &points, 1e-7);
        }
    }
}

#[test]
fn a_density_that_is_infinite_at_both_ends() {
    // The arcsine law: x = sin² t makes it uniform in t; log x has the mean −2 ln 2.
    let model = Model::from_family("beta", &["x"], &Default::default(), false).unwrap();
    let noise = words(&model, "uniform");
    let found = report(&model, &[0.5, 0.5], &*noise, 1.0, &Loss::Js).unwrap();
    // Numbers near 1 are 1e-16 apart, beyond the last of them lies a mass of 1e-8: the accuracy must say so.
    let claimed = found.accuracy.relative_error;
    let off = (found.log_normalizer - std::f64::consts::PI.ln()).abs();
    assert!(claimed < 1e-5 && off < claimed.max(1e-8), "off by {off:e}, said {claimed:e}");
    // t = quarter turn · (1 + tanh(sinh s))/2: the tails of the logarithms fall doubly exponentially.
    let terms: Vec<Term> = (-6400..=6400)
        .map(|k| {
            let s = f64::from(k) / 2000.0;
            let share = 1.0 / (1.0 + (-2.0 * s.sinh()).exp());
            let slope = 2.0 * s.cosh() * share / (1.0 + (2.0 * s.sinh()).exp());
            let quarter = 0.5 * std::f64::consts::PI;
            // cos t as the sine of the rest of the quarter turn, which does not cancel.
            let (t, rest) = (quarter * share, (quarter / (1.0 + (2.0 * s.sinh()).exp())).sin());
            let (log_x, log_rest) = (2.0 * t.sin().ln(), 2.0 * rest.ln());
            let log_data = -0.5 * (log_x + log_rest) - std::f64::consts::PI.ln();
            // dx = 2 sin t cos t dt
            let measure = std::f64::consts::PI * t.sin() * rest * slope / 2000.0;
            Term { measure, log_data, log_noise: 0.0, score: vec![log_x, log_rest, -1.0] }
        })
        .collect();
    let gap = distance(&found.covariance, &plain_covariance(&terms, 1.0, js));
    assert!(gap < 1e-5, "{gap:e}");
}

#[test]
fn counts() {
    let points: Vec<_> = (0..1200).map(|x| (1.0, vec![f64::from(x)])).collect();
    for (log_rate, dispersion) in [(0.7, 1.0), (1.2, 1.7), (0.5, 0.6), (2.5, 1.2)] {
        let system = com_poisson(log_rate, dispersion).unwrap();
        check(&system, &Poisson::new(system.mean[0]).unwrap(), &points, 1e-8);
        check(&system, &NegativeBinomial::new(system.mean[0], 3.0).unwrap(), &points, 1e-8);
    }
}

#[test]
fn states() {
    let couplings = [(0, 1, 0.5), (1, 2, -0.3), (2, 3, 0.8), (0, 3, 0.1)];
    let system = ising(&[0.2, -0.1, 0.0, 0.4], &couplings, false).unwrap();
    let points: Vec<_> = (0..16u32)
        .map(|bits| (1.0, (0..4).map(|i| if bits >> i & 1 == 1 { 1.0 } else { -1.0 }).collect()))
        .collect();
    let one = |p: f64| -> Arc<dyn Noise> { Arc::new(Categorical::bernoulli(-1.0, 1.0, p).unwrap()) };
    let noise = Product::of_shared([0.5, 0.4, 0.6, 0.7].map(one).to_vec()).unwrap();
    check(&system, &noise, &points, 1e-11);
}

#[test]
fn the_sphere() {
    let step = std::f64::consts::TAU / 48.0;
    let points: Vec<_> = simpson(-1.0, 1.0, 400)
        .into_iter()
        .flat_map(|(w, z)| {
            let radius = (1.0 - z * z).max(0.0).sqrt();
            (0..48).map(move |k| {
                let angle = f64::from(k) * step;
                (w * step, vec![radius * angle.cos(), radius * angle.sin(), z])
            })
        })
        .collect();
    for normalized in [true, false] {
        // Along the pole of the plain rule, where it is accurate, and off it, where the chart has to turn.
        for theta in [[0.0, 0.0, 3.0], [0.5, -1.0, 0.25]] {
            let system = von_mises_fisher(theta, normalized).unwrap();
            check(&system, &UniformSphere::new(3).unwrap(), &points, 1e-8);
            let other = noisewright::VonMisesFisher::new(&[0.0, 0.6, 0.8], 1.0).unwrap();
            check(&system, &other, &points, 1e-6);
        }
    }
}

#[test]
fn a_positive_and_a_count_together() {
    // x is exponential with rate a − b, and k given x Poisson with mean b x.
    let space = Space::product(&[("x", Domain::Positive), ("k", Domain::Counts)]).unwrap();
    let parameters = vec![Parameter::new("a", 2.0), Parameter::new("b", 0.8)];
    let model = Model::from_formula("-a*x + k*log(b*x) - lgamma(k + 1)", space, parameters, false).unwrap();
    let noise = Product::of_shared(vec![
        Arc::new(noisewright::Gamma::new(1.0, 1.0).unwrap()),
        Arc::new(NegativeBinomial::new(1.0, 1.0).unwrap()),
    ])
    .unwrap();
    let found = report(&model, &[2.0, 0.8], &noise, 1.0, &Loss::Js).unwrap();
    assert!((found.log_normalizer + 1.2_f64.ln()).abs() < 1e-9, "{}", found.log_normalizer);
    let mut terms = Vec::new();
    let mut log_factorial = 0.0;
    for k in 0..80 {
        let k = f64::from(k);
        log_factorial += if k > 1.0 { k.ln() } else { 0.0 };
        for step in -900..250 {
            let x = (f64::from(step) / 50.0).exp();
            let log_data = -2.0 * x + k * (0.8 * x).ln() - log_factorial + 1.2_f64.ln();
            let mut log_noise = [0.0];
            noise.log_density(View::new(2, 1, &[x, k]), &mut log_noise);
            let score = vec![-x, k / 0.8, -1.0];
            terms.push(Term { measure: x / 50.0, log_data, log_noise: log_noise[0], score });
        }
    }
    let gap = distance(&found.covariance, &plain_covariance(&terms, 1.0, js));
    assert!(gap < 1e-7, "{gap:e}");
}
