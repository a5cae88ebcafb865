//! Paths: closed forms, enumeration, and errors that are as large as they say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::f64::consts::{LN_2, TAU};
use std::sync::Arc;

use noisewright::chain::Moves;
use noisewright::internal::chain::run;
use noisewright::internal::normalizer::fit_noise;
use noisewright::normalizer::PathEstimate;
use noisewright::parts::{ChainOptions, PathOptions, PathWarning};
use noisewright::run::Context;
use noisewright::{
    Categorical, Density, Error, FamilyOptions, Gamma, Model, ModelDensity, MultivariateNormal, Noise,
    Normal, Product, Result, Space, Uniform,
};

fn path(noise: &dyn Noise, density: &dyn Density, options: &PathOptions) -> Result<PathEstimate> {
    noisewright::path(noise, density).options(options.clone()).run()
}

fn solve(model: &Model, noise: &dyn Noise, options: &PathOptions) -> PathEstimate {
    let parameters = model.start();
    path(noise, &ModelDensity::new(model, &parameters).unwrap(), options).unwrap()
}

fn show(name: &str, result: &PathEstimate, truth: f64) {
    let z = (result.log_z - truth) / result.se;
    println!(
        "{name}: {:.4} ± {:.4} (truth {truth:.4}, z {z:.2}), {} states, {:?}, {:?}",
        result.log_z,
        result.se,
        result.nodes.len(),
        result.moves,
        result.warnings
    );
}

fn assert_near(name: &str, result: &PathEstimate, truth: f64, largest_se: f64) {
    show(name, result, truth);
    assert!((result.log_z - truth).abs() < 4.0 * result.se, "{name}: {} ± {}", result.log_z, result.se);
    assert!(result.se < largest_se, "{name}: {}", result.se);
}

/// Mean and standard deviation of z-scores over repeats.
fn z_scores(repeats: u64, truth: f64, run: impl Fn(u64) -> PathEstimate) -> (f64, f64) {
    let z: Vec<f64> = (0..repeats)
        .map(|seed| {
            let result = run(seed);
            (result.log_z - truth) / result.se
        })
        .collect();
    let mean = z.iter().sum::<f64>() / z.len() as f64;
    let sd = (z.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (z.len() - 1) as f64).sqrt();
    println!("z over {repeats}: mean {mean:.3}, sd {sd:.3}");
    (mean, sd)
}

const FAR: &str = "variables = ['x']\nlog_density = '-(x - 12)^2/(2*0.25) + 5'";

#[test]
fn a_far_gaussian_has_its_closed_form() {
    let model = Model::from_toml(FAR).unwrap();
    let truth = 5.0 + 0.5 * (TAU * 0.25).ln();
    for moves in [Moves::Hamiltonian, Moves::RandomWalk] {
        let options = PathOptions { moves, ..PathOptions::default() };
        let result = solve(&model, &Normal::with_variance(0.0, 1.0).unwrap(), &options);
        assert_near("far Gaussian", &result, truth, 0.4);
        assert!(result.warnings.is_empty(), "{:?}", result.warnings);
        assert!(result.lower < result.log_z && result.log_z < result.upper);
        // Placed for equal errors, from a pilot that knows them to some tens of per cent.
        let steps: Vec<f64> = result.nodes[1..].iter().map(|node| node.step_se).collect();
        let (low, high) = steps.iter().fold((f64::INFINITY, 0.0f64), |(l, h), s| (l.min(*s), h.max(*s)));
        println!("steps {low:.4} to {high:.4}");
        assert!(high < 3.0 * low, "{steps:?}");
    }
}

#[test]
#[ignore = "long: ./test.sh --all"]
fn errors_are_as_large_as_they_say() {
    let model = Model::from_toml(FAR).unwrap();
    let noise = Normal::with_variance(0.0, 1.0).unwrap();
    let (mean, sd) = z_scores(100, 5.0 + 0.5 * (TAU * 0.25).ln(), |seed| {
        solve(
            &model,
            &noise,
            &PathOptions { seed: 100 * seed, draws: 400, swarm: 100, ..PathOptions::default() },
        )
    });
    // Four standard deviations of mean (1/√100) and standard deviation (1/√200).
    assert!(mean.abs() < 0.4 && (sd - 1.0).abs() < 0.28, "{mean} {sd}");
}

#[test]
fn errors_of_a_random_walk_are_as_large_as_they_say() {
    let model = Model::from_toml(QUARTIC).unwrap();
    let noise = Normal::with_variance(-4.0, 0.5).unwrap();
    let (mean, sd) = z_scores(60, 1.362_293, |seed| {
        let options = PathOptions {
            seed: 100 * seed,
            draws: 800,
            swarm: 100,
            moves: Moves::RandomWalk,
            ..PathOptions::default()
        };
        solve(&model, &noise, &options)
    });
    assert!(mean.abs() < 0.52 && (sd - 1.0).abs() < 0.37, "{mean} {sd}");
}

/// With four chains that each stay in their mode, two seeds of twelve had all of them in the same.
#[test]
fn modes_that_no_chain_crosses_between_are_both_counted() {
    for weight in [0.5, 0.1] {
        let text = format!(
            "variables = ['x']\nlog_density = 'log({weight}*exp(-(x-10)^2/2) + {}*exp(-(x+10)^2/2))'",
            1.0 - weight
        );
        let model = Model::from_toml(&text).unwrap();
        let density = ModelDensity::new(&model, &[]).unwrap();
        for seed in 0..12 {
            let noise = fit_noise(&density, Moves::Auto, &Context::seeded(seed)).unwrap();
            let result =
                path(noise.as_ref(), &density, &PathOptions { seed, ..PathOptions::default() }).unwrap();
            // One of 24 is beyond four standard errors once in 700 times; a mode that is missed is beyond ten.
            assert_near("two modes", &result, 0.5 * TAU.ln(), 0.3);
        }
    }
}

#[test]
fn a_mode_that_the_noise_does_not_cover_is_told() {
    let model = Model::from_toml(
        "variables = ['x', 'y']\nlog_density = 'log(exp(-(x-10)^2/2) + exp(-(x+10)^2/2)) - y^2/2'",
    )
    .unwrap();
    let noise = MultivariateNormal::new(&[10.0, 0.0], &[2.0, 0.0, 0.0, 2.0]).unwrap();
    let result = solve(&model, &noise, &PathOptions { draws: 400, ..PathOptions::default() });
    assert_eq!((result.se, result.lower, result.upper), (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY));
    let place = result.warnings.iter().find_map(|warning| match warning {
        PathWarning::Elsewhere { point } => Some(point.clone()),
        _ => None,
    });
    let place = place.unwrap();
    assert!(place[0].0 == "x" && (place[0].1 + 10.0).abs() < 5.0, "{place:?}");
}

#[test]
fn a_constant_is_the_volume_of_a_bounded_domain() {
    let model =
        Model::from_toml("variables = ['x', 'y']\ndomain = { x = [0, 2], y = [-1, 4] }\nlog_density = '0'")
            .unwrap();
    let density = ModelDensity::new(&model, &[]).unwrap();
    let noise = fit_noise(&density, Moves::Auto, &Context::seeded(3)).unwrap();
    let result = path(noise.as_ref(), &density, &PathOptions::default()).unwrap();
    assert_near("a box", &result, 10f64.ln(), 0.05);
    assert!(Model::from_toml("variables = ['x']\nlog_density = '0'").is_err());
}

const QUARTIC: &str = "variables = ['x']\nlog_density = 'x^2/2 - x^4/4'";

#[test]
fn the_quartic_has_its_constant() {
    let model = Model::from_toml(QUARTIC).unwrap();
    for (mean, variance) in [(0.0, 1.0), (-6.0, 0.25), (0.0, 100.0)] {
        let result = solve(&model, &Normal::with_variance(mean, variance).unwrap(), &PathOptions::default());
        assert_near("quartic", &result, 1.362_293, 0.15);
    }
}

#[test]
fn several_correlated_variables_have_their_closed_form() {
    let model = Model::from_toml(
        "variables = ['a', 'b', 'c', 'd']\n\
         log_density = '-((a-4)^2 + (b-a)^2*4 + (c-b)^2*9 + (d-c)^2*16)/2'",
    )
    .unwrap();
    let truth = 2.0 * TAU.ln() - 24f64.ln();
    let identity: Vec<f64> = (0..16).map(|i| if i % 5 == 0 { 1.0 } else { 0.0 }).collect();
    let noise = MultivariateNormal::new(&[0.0; 4], &identity).unwrap();
    assert_near("four variables", &solve(&model, &noise, &PathOptions::default()), truth, 0.3);
}

#[test]
fn constrained_variables_are_sampled_on_the_line() {
    let model = Model::from_toml(
        "variables = ['s', 'p']\ndomain = { s = 'positive', p = [0, 1] }\n\
         log_density = '29*log(s) - 2*s + 39*log(p) + 4*log(1 - p)'",
    )
    .unwrap();
    let ln_factorial = |n: usize| (1..=n).map(|k| (k as f64).ln()).sum::<f64>();
    // Γ(30)/2³⁰ · B(40, 5)
    let truth = ln_factorial(29) - 30.0 * LN_2 + ln_factorial(39) + ln_factorial(4) - ln_factorial(44);
    let noise = Product::of_shared(vec![
        Arc::new(Gamma::new(1.0, 1.0).unwrap()),
        Arc::new(Uniform::new(0.0, 1.0).unwrap()),
    ])
    .unwrap();
    assert_near("constrained", &solve(&model, &noise, &PathOptions::default()), truth, 0.3);
}

fn coins(variables: usize, states: [f64; 2]) -> Product {
    let coin = || -> Arc<dyn Noise> { Arc::new(Categorical::bernoulli(states[0], states[1], 0.5).unwrap()) };
    Product::of_shared((0..variables).map(|_| coin()).collect()).unwrap()
}

/// `Σ_h exp(v·b + h·c + vᵀWh)` with weights from a fixed sequence: 8 visible, 3 hidden units.
#[test]
fn a_restricted_boltzmann_machine_agrees_with_enumeration() {
    let weight = |k: usize| 8.0 * ((k as f64 * 0.618_033_988_749_894_9) % 1.0) - 4.0;
    let hidden: Vec<String> = (0..3)
        .map(|j| {
            let terms: Vec<String> = (0..8).map(|i| format!("({})*v{i}", weight(8 * j + i + 1))).collect();
            format!("softplus({} + {})", 0.5 - j as f64, terms.join(" + "))
        })
        .collect();
    let visible: Vec<String> = (0..8).map(|i| format!("({})*v{i}", 0.3 * weight(40 + i))).collect();
    let names: Vec<String> = (0..8).map(|i| format!("v{i}")).collect();
    let domain = noisewright::Domain::States(vec![0.0, 1.0]);
    let space = Space::product(&names.iter().map(|n| (n, domain.clone())).collect::<Vec<_>>()).unwrap();
    let formula = format!("{} + {}", visible.join(" + "), hidden.join(" + "));
    let model = Model::from_formula(&formula, space, vec![], false).unwrap();
    // Over all states of both layers, with nothing in common with the formula above.
    let mut sum = 0.0;
    for bits in 0..1usize << 11 {
        let unit = |k: usize| (bits >> k & 1) as f64;
        let mut energy: f64 = (0..8).map(|i| 0.3 * weight(40 + i) * unit(i)).sum();
        for j in 0..3 {
            let input: f64 = (0..8).map(|i| weight(8 * j + i + 1) * unit(i)).sum();
            energy += unit(8 + j) * (0.5 - j as f64 + input);
        }
        sum += energy.exp();
    }
    let result = solve(&model, &coins(8, [0.0, 1.0]), &PathOptions::default());
    assert_eq!(result.moves, Some(Moves::SingleSite));
    assert_near("Boltzmann machine", &result, sum.ln(), 0.1);
}

#[test]
fn an_ising_model_agrees_with_enumeration() {
    // A 3 × 4 lattice, strongly coupled, with a field on one corner.
    let site = |row: usize, column: usize| 4 * row + column;
    let mut edges = Vec::new();
    for row in 0..3 {
        for column in 0..4 {
            if column < 3 {
                edges.push((site(row, column), site(row, column + 1)));
            }
            if row < 2 {
                edges.push((site(row, column), site(row + 1, column)));
            }
        }
    }
    let names: Vec<String> = (0..12).map(|i| format!("s{i}")).collect();
    let options = FamilyOptions { edges: Some(edges.clone()), ..FamilyOptions::default() };
    let model = Model::from_family("ising", &names, &options, false).unwrap();
    let values: Vec<(String, f64)> = model
        .parameters()
        .iter()
        .map(|p| (p.name.clone(), if p.name.starts_with('J') { 0.45 } else { 0.0 }))
        .chain([("h0".to_owned(), 0.2)])
        .fold(Vec::new(), |mut all, (name, value)| {
            all.retain(|(known, _): &(String, f64)| *known != name);
            all.push((name, value));
            all
        });
    let model = model.with_start(&values).unwrap();
    let sum: f64 = (0..1usize << 12)
        .map(|bits| {
            let spin = |i: usize| if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
            (0.2 * spin(0) + edges.iter().map(|(i, j)| 0.45 * spin(*i) * spin(*j)).sum::<f64>()).exp()
        })
        .sum();
    let result = solve(&model, &coins(12, [-1.0, 1.0]), &PathOptions::default());
    assert_near("Ising", &result, sum.ln(), 0.1);
}

#[test]
fn a_noise_that_is_the_density_needs_no_path() {
    let model = Model::from_toml("variables = ['x']\nlog_density = '-x^2/2'").unwrap();
    let result = solve(&model, &Normal::with_variance(0.0, 1.0).unwrap(), &PathOptions::default());
    assert_eq!(result.nodes.len(), 2);
    assert!((result.log_z - 0.5 * TAU.ln()).abs() < 1e-12 && result.se < 1e-10, "{result:?}");
}

#[test]
fn a_seed_is_a_result_whatever_the_threads() {
    let model = Model::from_toml(QUARTIC).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = PathOptions { draws: 200, ..PathOptions::default() };
        pool.install(|| solve(&model, &Normal::with_variance(-3.0, 0.2).unwrap(), &options))
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn what_cannot_be_is_refused() {
    let model =
        Model::from_toml("variables = ['x']\ndomain = { x = 'positive' }\nlog_density = '-x'").unwrap();
    let density = ModelDensity::new(&model, &[]).unwrap();
    let elsewhere = Uniform::new(-2.0, -1.0).unwrap();
    assert_eq!(path(&elsewhere, &density, &PathOptions::default()).unwrap_err(), Error::NoOverlap);
    let pair = MultivariateNormal::new(&[0.0, 0.0], &[1.0, 0.0, 0.0, 1.0]).unwrap();
    assert!(matches!(path(&pair, &density, &PathOptions::default()), Err(Error::Shape { .. })));
    let noise = Gamma::new(1.0, 1.0).unwrap();
    let wrong = [
        PathOptions { states: Some(1), ..PathOptions::default() },
        PathOptions { spacing: 0.0, ..PathOptions::default() },
        PathOptions { draws: 3, ..PathOptions::default() },
        PathOptions { chains: 0, ..PathOptions::default() },
        PathOptions { thin: 0, ..PathOptions::default() },
        PathOptions { swarm: 3, ..PathOptions::default() },
        PathOptions { confidence: 1.0, ..PathOptions::default() },
    ];
    for options in &wrong {
        assert!(matches!(path(&noise, &density, options), Err(Error::Option { .. })), "{options:?}");
    }
}

#[test]
fn a_density_without_an_integral_is_refused_before_anything_runs_off() {
    for formula in ["x^2/2", "-log(abs(x) + 1)/2", "x"] {
        let model = Model::from_toml(&format!("variables = ['x']\nlog_density = '{formula}'")).unwrap();
        let density = ModelDensity::new(&model, &[]).unwrap();
        let refused =
            path(&Normal::with_variance(0.0, 1.0).unwrap(), &density, &PathOptions::default()).unwrap_err();
        assert!(refused.to_string().contains("does not integrate"), "{formula}: {refused}");
        assert_eq!(run(&density, &ChainOptions::default()).unwrap_err(), refused);
    }
    // Too many variables for quadrature: lines and rays far out tell.
    let model = Model::from_toml("variables = ['x', 'y', 'z', 'w']\nlog_density = '(x^2+y^2+z^2+w^2)/2'");
    let model = model.unwrap();
    let density = ModelDensity::new(&model, &[]).unwrap();
    let identity: Vec<f64> = (0..16).map(|i| if i % 5 == 0 { 1.0 } else { 0.0 }).collect();
    let noise = MultivariateNormal::new(&[0.0; 4], &identity).unwrap();
    let refused = path(&noise, &density, &PathOptions::default()).unwrap_err();
    assert!(matches!(refused, Error::NotIntegrable { .. }), "{refused}");
    // Neither an axis nor a random direction shows it: (1, 1, 1, 1) alone is flat.
    let model = Model::from_toml(
        "variables = ['x', 'y', 'z', 'w']\nlog_density = '-((x-y)^2 + (y-z)^2 + (z-w)^2)/2'",
    );
    let model = model.unwrap();
    let density = ModelDensity::new(&model, &[]).unwrap();
    let refused = fit_noise(&density, Moves::Auto, &Context::seeded(0)).unwrap_err();
    assert!(matches!(refused, Error::NotIntegrable { .. }), "{refused}");
}

/// A path from a noise that is fitted to chains of the density itself.
fn unaided(formula: &str, variables: &str, seed: u64) -> PathEstimate {
    let model = Model::from_toml(&format!("variables = [{variables}]\nlog_density = '{formula}'")).unwrap();
    let density = ModelDensity::new(&model, &[]).unwrap();
    let noise = fit_noise(&density, Moves::Auto, &Context::seeded(seed)).unwrap();
    path(noise.as_ref(), &density, &PathOptions { seed, ..PathOptions::default() }).unwrap()
}

/// A corner of the zoo of `bench/validation`: each within four standard errors, which one right answer in 16,000 is not.
/// A path without slices and tempering was 9 standard errors off on the banana.
#[test]
#[ignore = "long: ./test.sh --all"]
fn curved_densities_are_reached() {
    let zoo = [
        ("-x^2/2 - (y - x^2)^2/0.02", (TAU * 0.1).ln()),
        ("-y^2/18 - x^2*exp(-y)/2 - y/2", (TAU * 3.0).ln()),
        ("-(x^2 - 1.998*x*y + y^2)/0.003998", TAU.ln() + 0.5 * 0.001_999_f64.ln()),
    ];
    for (formula, truth) in zoo {
        let result = unaided(formula, "'x', 'y'", 2);
        // 2,000 draws of a noise in which no part of the density is thinner than by a factor e³, and as many of the density
        // worth 100 at least: √(e³/2000) and √(1/100).
        assert_near(formula, &result, truth, 0.14);
    }
    let ring = unaided("-(sqrt(x^2 + y^2) - 3)^2/0.02", "'x', 'y'", 0);
    assert_near("ring", &ring, (TAU * 3.0 * 0.1 * TAU.sqrt()).ln(), 0.14);
    // Γ(1)/Γ(3/2) √(2π)
    let student = unaided("-1.5*log(1 + x^2/2)", "'x'", 0);
    assert_near("Student", &student, (2.0 * 2.0_f64.sqrt()).ln(), 0.05);
}

/// Two modes of equal mass, one of them five times as wide: the chains that start apart come to the wide one. With the
/// shares that these had the error was 0.09 to 0.11 in two variables and 0.2 to 0.3 in five.
#[test]
#[ignore = "long: ./test.sh --all"]
fn modes_of_unequal_width_have_their_share_of_the_noise() {
    for variables in [2, 5] {
        let names: Vec<String> = (1..=variables).map(|i| format!("x{i}")).collect();
        let quoted = names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
        let square =
            |sign: char| names.iter().map(|n| format!("({n}{sign}8)^2")).collect::<Vec<_>>().join("+");
        let height = 5_u32.pow(variables as u32);
        let formula = format!("log(exp(-({})/2) + {height}*exp(-({})*12.5))", square('+'), square('-'));
        let truth = LN_2 + 0.5 * variables as f64 * TAU.ln();
        for seed in 0..2 {
            let result = unaided(&formula, &quoted, seed);
            // Shares of at least half of 0.7/2 each: 1 + χ² is below e^(1/8)/0.35, so an error of √(2.3/2000) by the noise
            // alone; twice that for chains that are worth a quarter of their draws.
            assert_near("two modes", &result, truth, 0.07);
            // A point goes from the noise to the density and back whenever modes are exchanged.
            assert!(result.round_trips > 100, "{}", result.round_trips);
            let ends: Vec<f64> = result.trace.iter().filter(|p| p.draws == 500).map(|p| p.log_z).collect();
            assert_eq!(ends.len(), 4);
            // To first order the answer is the mean of the chains' own.
            assert!((ends.iter().sum::<f64>() / 4.0 - result.log_z).abs() < 1e-9, "{ends:?}");
        }
    }
}
