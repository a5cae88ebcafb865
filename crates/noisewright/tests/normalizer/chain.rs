//! Markov chains: gradients against differences, draws against known moments, and their diagnostics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::chain::{Chains, Moves, convergence};
use noisewright::internal::chain::{Bridge, run};
use noisewright::parts::ChainOptions;
use noisewright::{
    Density, Error, FamilyOptions, Gamma, Mixture, Model, ModelDensity, MultivariateNormal,
    MultivariateStudent, Noise, Normal, Product, Scalar, Student, Uniform, View, sample,
};

fn model(text: &str) -> Model {
    Model::from_toml(text).unwrap()
}

fn log_density(density: &dyn Density, x: &[f64]) -> f64 {
    let mut out = [0.0];
    density.log_density(View::new(x.len(), 1, x), &mut out).unwrap();
    out[0]
}

/// The gradient against central differences, whose own error is some 1e-9 at this step.
fn assert_gradient(density: &dyn Density, x: &[f64]) {
    let mut gradient = vec![0.0; x.len()];
    let value = density.gradient(x, &mut gradient).unwrap().expect("a gradient");
    assert!((value - log_density(density, x)).abs() < 1e-12 * (1.0 + value.abs()));
    for axis in 0..x.len() {
        let h = 1e-5;
        let at = |shift: f64| {
            let mut x = x.to_vec();
            x[axis] += shift;
            log_density(density, &x)
        };
        let difference = (at(h) - at(-h)) / (2.0 * h);
        assert!(
            (gradient[axis] - difference).abs() < 1e-7 * (1.0 + difference.abs()),
            "{axis}: {gradient:?}"
        );
    }
}

#[test]
fn gradients_of_models_are_their_slopes() {
    let texts = [
        "variables = ['x', 'y']\nlog_density = '-a*x^2/2 - b*(y - x^2)^2 + sin(x*y)'\n[parameters]\na = 1.5\nb = 0.3",
        "variables = ['x', 'y']\nfeatures = ['x', 'y^2', 'x*y', 'logcosh(x)']\n\
         [parameters]\na = 0.5\nb = -1\nc = 0.2\nd = -2",
        "variables = ['x', 'y']\nlog_density = '-x^2 - softplus(y) - exp(-y)'",
        "variables = ['x', 'y']\nfamily = 'gaussian'\n[parameters]\nh0 = 1\nP01 = 0.3\nP11 = 2",
        "variables = ['x', 'y']\nfamily = 'gaussian'\nparametrization = 'moments'\n[parameters]\nm0 = 1\nC01 = 0.3\nC11 = 2",
    ];
    for text in texts {
        let model = model(text);
        let parameters = model.start();
        let density = ModelDensity::new(&model, &parameters).unwrap();
        for x in [[0.3, -0.8], [1.4, 2.1]] {
            assert_gradient(&density, &x);
        }
    }
}

#[test]
fn gradients_of_noises_are_their_slopes() {
    let scalar = |parts: Vec<(f64, Arc<dyn Scalar>)>| Mixture::<dyn Scalar>::of_shared(parts).unwrap();
    let covariance = [2.0, 0.7, 0.7, 1.0];
    let normal = MultivariateNormal::new(&[0.5, -1.0], &covariance).unwrap();
    let student = MultivariateStudent::new(5.0, &[0.5, -1.0], &covariance).unwrap();
    let parts: Vec<(f64, Arc<dyn Noise>)> =
        vec![(0.75, Arc::new(normal.clone())), (0.25, Arc::new(student.clone()))];
    let mixed = scalar(vec![
        (0.6, Arc::new(Normal::with_variance(0.4, 2.0).unwrap())),
        (0.4, Arc::new(Student::new(4.0, -1.0, 0.7).unwrap())),
    ]);
    let product = Product::of_shared(vec![Arc::new(mixed), Arc::new(Gamma::new(2.5, 1.5).unwrap())]).unwrap();
    let flat = Product::of_shared(vec![
        Arc::new(Uniform::new(-5.0, 5.0).unwrap()),
        Arc::new(Student::new(3.0, 0.0, 1.0).unwrap()),
    ])
    .unwrap();
    let mixture = Mixture::<dyn Noise>::of_shared(parts).unwrap();
    let noises: [&dyn Noise; 5] = [&normal, &student, &mixture, &product, &flat];
    let plane = model("variables = ['x', 'y']\nlog_density = '-x^2/2 - y^4'");
    for noise in noises {
        for t in [0.0, 0.4, 1.0] {
            let density = ModelDensity::new(&plane, &[]).unwrap();
            assert_gradient(&Bridge { noise, density: &density, t }, &[0.7, 1.3]);
        }
    }
}

fn chains(text: &str, moves: Moves, seed: u64) -> Chains {
    let model = model(text);
    let parameters = model.start();
    let options = ChainOptions { moves, seed, draws: 2000, ..ChainOptions::default() };
    run(&ModelDensity::new(&model, &parameters).unwrap(), &options).unwrap()
}

/// The mean of `f` over the draws is the truth within 4.5 of its own standard errors.
fn assert_mean(chains: &Chains, name: &str, truth: f64, f: impl Fn(&[f64]) -> f64) {
    let (view, mut x) = (chains.points.view(), vec![0.0; chains.points.columns()]);
    let values: Vec<f64> = (0..view.rows())
        .map(|row| {
            view.copy_row(row, &mut x);
            f(&x)
        })
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let found = convergence(&values, &chains.lengths);
    let error = (variance / found.ess).sqrt();
    println!("{name}: {mean:.4} ± {error:.4} ({truth:.4}), ess {:.0}, R-hat {:.3}", found.ess, found.r_hat);
    assert!((mean - truth).abs() < 4.5 * error, "{name}: {mean} ± {error} is not {truth}");
    assert!(found.ess > 60.0 && found.r_hat < 1.1, "{name}: {found:?}");
}

#[test]
fn continuous_moves_have_the_density_for_their_law() {
    for (seed, moves) in [(1, Moves::RandomWalk), (2, Moves::Hamiltonian), (3, Moves::SingleSite)] {
        let gamma = "variables = ['x']\ndomain = { x = 'positive' }\nlog_density = '2.5*log(x) - 2*x'";
        let found = chains(gamma, moves, seed);
        assert_eq!(found.moves, moves);
        assert_mean(&found, "gamma mean", 3.5 / 2.0, |x| x[0]);
        assert_mean(&found, "gamma square", 3.5 / 4.0 + 1.75 * 1.75, |x| x[0] * x[0]);
        let beta = "variables = ['x']\ndomain = { x = [0, 2] }\nlog_density = 'log(x) + 2*log(2 - x)'";
        assert_mean(&chains(beta, moves, seed), "beta", 2.0 * 2.0 / 5.0, |x| x[0]);
        let turn = "variables = ['x']\ndomain = { x = 'circle' }\nlog_density = '2*cos(x - 3)'";
        // I₁(2)/I₀(2), with the mode beside the cut at π.
        assert_mean(&chains(turn, moves, seed), "circle", 0.697_774_657_964_008, |x| (x[0] - 3.0).cos());
        let pair = "variables = ['x', 'y']\nlog_density = '-(x^2 - 1.6*x*y + y^2)/(2*0.36) + y/10'";
        let found = chains(pair, moves, seed);
        // Covariance [[1, .8], [.8, 1]], so that y/10 moves the mean by a tenth of its column for y.
        assert_mean(&found, "pair x", 0.08, |x| x[0]);
        assert_mean(&found, "pair xy", 0.8 + 0.008, |x| x[0] * x[1]);
    }
}

#[test]
fn scales_are_learnt() {
    let text = "variables = ['x', 'y']\nlog_density = '-(x - 5000)^2/2e6 - (y + 0.02)^2/2e-6'";
    for moves in [Moves::RandomWalk, Moves::Hamiltonian] {
        let found = chains(text, moves, 4);
        assert_mean(&found, "wide", 5000.0, |x| x[0]);
        assert_mean(&found, "narrow", -0.02, |x| x[1]);
        assert_mean(&found, "narrow square", 1.0, |x| ((x[1] + 0.02) / 1e-3).powi(2));
    }
}

#[test]
fn discrete_moves_have_the_density_for_their_law() {
    let poisson = "variables = ['n']\ndomain = { n = 'counts' }\nlog_density = 'n*log(4.5) - lgamma(n + 1)'";
    let found = chains(poisson, Moves::Auto, 5);
    assert_eq!(found.moves, Moves::SingleSite);
    assert_mean(&found, "Poisson", 4.5, |x| x[0]);
    assert_mean(&found, "Poisson square", 4.5 + 4.5 * 4.5, |x| x[0] * x[0]);
    let options = FamilyOptions::default();
    let ising = Model::from_family("ising", &["a", "b", "c"], &options, false).unwrap();
    let theta = ising.at(&[("h0", 0.3), ("J01", 0.8), ("J12", -0.5)]).unwrap();
    let run_options = ChainOptions { draws: 2000, ..ChainOptions::default() };
    let found = run(&ModelDensity::new(&ising, &theta).unwrap(), &run_options).unwrap();
    // E x₀ = tanh h₀ and E x₀x₁ = tanh J₀₁ on a tree.
    assert_mean(&found, "Ising field", 0.3f64.tanh(), |x| x[0]);
    assert_mean(&found, "Ising pair", 0.8f64.tanh(), |x| x[0] * x[1]);
    assert_mean(&found, "Ising far pair", 0.8f64.tanh() * (-0.5f64).tanh(), |x| x[0] * x[2]);
}

#[test]
fn a_sphere_is_not_left() {
    let text = "variables = ['x', 'y', 'z']\nsphere = ['x', 'y', 'z']\nlog_density = '3*z'";
    let found = chains(text, Moves::Auto, 6);
    let mut x = vec![0.0; 3];
    found.points.view().copy_row(77, &mut x);
    assert!((x.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-12);
    // coth 3 − 1/3
    assert_mean(&found, "sphere", 1.0 / 3f64.tanh() - 1.0 / 3.0, |x| x[2]);
}

#[test]
fn a_seed_is_a_result_whatever_the_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| chains("variables = ['x']\nlog_density = '-x^4'", Moves::Auto, 9).points)
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn moves_that_cannot_be_are_refused() {
    let states = "variables = ['x']\ndomain = { x = { states = [0, 1] } }\nlog_density = 'x'";
    let line = "variables = ['x']\nlog_density = '-x^2'";
    let none = "variables = ['x']\nlog_density = 'log(-1 - x^2)'";
    let nothing = "variables = ['x']\ndomain = { x = 'positive' }\nlog_density = '-x/0'";
    let try_run = |text: &str, moves: Moves, draws: usize| {
        let model = model(text);
        run(
            &ModelDensity::new(&model, &[]).unwrap(),
            &ChainOptions { moves, draws, ..ChainOptions::default() },
        )
        .map(drop)
    };
    for moves in [Moves::RandomWalk, Moves::Hamiltonian] {
        assert!(matches!(try_run(states, moves, 10), Err(Error::Chain { .. })));
    }
    assert!(matches!(try_run(line, Moves::Auto, 0), Err(Error::Chain { .. })));
    assert!(matches!(try_run(none, Moves::Auto, 10), Err(Error::NotANumber { .. })));
    assert_eq!(try_run(nothing, Moves::Auto, 10), Err(Error::NoMass));
}

#[test]
fn diagnostics_know_autoregressions_and_chains_that_disagree() {
    let steps = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 20_000, 3);
    let mut at = 0.0;
    let chain: Vec<f64> = steps
        .values()
        .iter()
        .map(|z| {
            at = 0.8 * at + 0.6 * z;
            at
        })
        .collect();
    let found = convergence(&chain, &[5000; 4]);
    // n(1 − ρ)/(1 + ρ) = 2222. A sum over 5τ lags knows τ = 9 to √(2(10τ + 1)/n) = 9.5 % (Sokal 1997); three of those.
    assert!((found.ess / 2222.0 - 1.0).abs() < 0.3 && found.r_hat < 1.02, "{found:?}");
    let shifted: Vec<f64> = chain.iter().enumerate().map(|(i, v)| v + (i / 5000) as f64).collect();
    let found = convergence(&shifted, &[5000; 4]);
    // Between-chain variance of 0, 1, 2, 3 is 5/3, so R̂ ≈ √(1 + 5/3) less what half-chains take off.
    assert!(found.r_hat > 1.4 && found.ess < 40.0, "{found:?}");
    assert!(convergence(&[1.0; 100], &[50, 50]).r_hat.is_nan());
}
