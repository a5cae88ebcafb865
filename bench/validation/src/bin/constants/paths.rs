//! Paths to densities that are curved, far away, or have several modes, with known constants.

use std::error::Error;
use std::f64::consts::{PI, TAU};
use std::time::Instant;

use noisewright::chain::Moves;
use noisewright::internal::normalizer::fit_noise;
use noisewright::parts::PathOptions;
use noisewright::run::Context;
use noisewright::{Model, ModelDensity, path};
use rayon::prelude::*;

use super::{Run, heading, row};

/// A density with its known constant.
struct Case {
    name: String,
    toml: String,
    truth: f64,
}

impl Case {
    fn new(name: &str, variables: &[String], formula: &str, truth: f64) -> Self {
        let quoted: Vec<String> = variables.iter().map(|v| format!("'{v}'")).collect();
        let toml = format!("variables = [{}]\nlog_density = '{formula}'\n", quoted.join(", "));
        Self { name: name.to_owned(), toml, truth }
    }
}

fn names(letters: &[&str]) -> Vec<String> {
    letters.iter().map(|l| (*l).to_owned()).collect()
}

fn zoo() -> Vec<Case> {
    let plane = names(&["x", "y"]);
    let mut cases = Vec::new();
    for bend in [0.3, 1.0, 2.0] {
        let formula = format!("-x^2/2 - (y - {bend}*x^2)^2/0.02");
        cases.push(Case::new(&format!("banana {bend}"), &plane, &formula, (TAU * 0.1).ln()));
    }
    cases.push(Case::new("funnel 2 D", &plane, "-y^2/18 - x^2*exp(-y)/2 - y/2", (TAU * 3.0).ln()));
    let nine: Vec<String> = (1..10).map(|i| format!("x{i}")).collect();
    let squares = nine.iter().map(|v| format!("{v}^2")).collect::<Vec<_>>().join(" + ");
    let ten = [names(&["y"]), nine].concat();
    let formula = format!("-y^2/18 - ({squares})*exp(-y)/2 - 9*y/2");
    cases.push(Case::new("funnel 10 D", &ten, &formula, 5.0 * TAU.ln() + 3.0_f64.ln()));
    cases.push(Case::new(
        "ring",
        &plane,
        "-(sqrt(x^2 + y^2) - 3)^2/0.02",
        (TAU * 3.0 * 0.1 * TAU.sqrt()).ln(),
    ));
    let ridge = 1.0 - 0.999_f64 * 0.999;
    let formula = format!("-(x^2 - 1.998*x*y + y^2)/{}", 2.0 * ridge);
    cases.push(Case::new("ridge", &plane, &formula, TAU.ln() + 0.5 * ridge.ln()));
    let modes = "log(exp(-((x+8)^2+(y+8)^2)/2) + 25*exp(-((x-8)^2+(y-8)^2)*12.5))";
    cases.push(Case::new("two modes 2 D", &plane, modes, (2.0 * TAU).ln()));
    let five: Vec<String> = (1..6).map(|i| format!("x{i}")).collect();
    let square = |sign: char| five.iter().map(|v| format!("({v}{sign}8)^2")).collect::<Vec<_>>().join("+");
    let modes = format!("log(exp(-({})/2) + 3125*exp(-({})*12.5))", square('+'), square('-'));
    cases.push(Case::new("two modes 5 D", &five, &modes, 2.5 * TAU.ln() + 2.0_f64.ln()));
    let student = names(&["x"]);
    // Γ(1)/Γ(3/2) √(2π) for two degrees of freedom: Γ(3/2) = √π/2.
    cases.push(Case::new(
        "Student t2",
        &student,
        "-1.5*log(1 + x^2/2)",
        (2.0 * (2.0 * PI).sqrt() / PI.sqrt()).ln(),
    ));
    let many: Vec<String> = (0..50).map(|i| format!("x{i}")).collect();
    let squares: Vec<String> = many.iter().enumerate().map(|(i, v)| format!("({v} - {i}/10)^2")).collect();
    let formula = format!("-({})/2", squares.join(" + "));
    cases.push(Case::new("Gaussian 50 D", &many, &formula, 25.0 * TAU.ln()));
    cases.push(ising());
    cases
}

/// Twenty spins on a torus of four by five at the critical temperature of the plane.
fn ising() -> Case {
    const SIZE: (usize, usize) = (4, 5);
    let coupling = 0.5 * (1.0 + 2.0_f64.sqrt()).ln();
    let site = |i: usize, j: usize| (i % SIZE.0) * SIZE.1 + j % SIZE.1;
    let pairs: Vec<(usize, usize)> = (0..SIZE.0)
        .flat_map(|i| {
            (0..SIZE.1).flat_map(move |j| [(site(i, j), site(i + 1, j)), (site(i, j), site(i, j + 1))])
        })
        .collect();
    let spin = |state: u32, k: usize| if state >> k & 1 == 1 { 1 } else { -1 };
    let weight = |state: u32| {
        let bonds: i32 = pairs.iter().map(|(a, b)| spin(state, *a) * spin(state, *b)).sum();
        (coupling * f64::from(bonds)).exp()
    };
    let truth = (0..1_u32 << 20).into_par_iter().map(weight).sum::<f64>().ln();
    let variables: Vec<String> = (0..20).map(|k| format!("'s{k}'")).collect();
    let domains: Vec<String> = (0..20).map(|k| format!("s{k} = {{ states = [-1, 1] }}")).collect();
    let terms: Vec<String> = pairs.iter().map(|(a, b)| format!("s{a}*s{b}")).collect();
    let toml = format!(
        "variables = [{}]\ndomain = {{ {} }}\nlog_density = '{coupling}*({})'\n",
        variables.join(", "),
        domains.join(", "),
        terms.join(" + ")
    );
    Case { name: "Ising 20 spins".into(), toml, truth }
}

fn run(case: &Case, seed: u64) -> Result<(Run, f64), noisewright::Error> {
    let started = Instant::now();
    let model = Model::from_toml(&case.toml)?;
    let density = ModelDensity::new(&model, &[])?;
    let noise = fit_noise(&density, Moves::Auto, &Context::seeded(seed))?;
    let result =
        path(noise.as_ref(), &density).options(PathOptions { seed, ..PathOptions::default() }).run()?;
    let seconds = started.elapsed().as_secs_f64();
    let answer = [result.log_z, result.se, result.lower, result.upper];
    let run = Run::new(case.truth, answer, !result.warnings.is_empty());
    if std::env::var("NOISEWRIGHT_SHOW").is_ok() {
        let codes: Vec<&str> = result.warnings.iter().map(|w| w.code()).collect();
        let (error, states) = (result.log_z - case.truth, result.nodes.len());
        let (se, z) = (result.se, run.z);
        println!(
            "{} {seed}: {error:.4} ± {se:.4} (z {z:.2}, {states} states, {seconds:.1} s) {codes:?}",
            case.name
        );
    }
    Ok((run, seconds))
}

/// One row per density whose name contains one of the names, separated by commas.
pub(crate) fn table(runs: usize, only: &str) -> Result<(), Box<dyn Error>> {
    heading(
        "Paths",
        "`log_z_path` with its default settings and the noise that it fits itself, on densities with known constants; in \
         brackets the median seconds of one run on one thread, by the wall clock of a machine that was busy with other things.",
    );
    let asked = |case: &&Case| only.split(',').any(|name| case.name.contains(name));
    for case in zoo().iter().filter(asked) {
        let all: Vec<(Run, f64)> =
            (0..runs as u64).into_par_iter().map(|seed| run(case, seed)).collect::<Result<_, _>>()?;
        let (results, mut seconds): (Vec<Run>, Vec<f64>) = all.into_iter().unzip();
        seconds.sort_by(f64::total_cmp);
        row(&format!("{} ({:.1} s)", case.name, seconds[seconds.len() / 2]), &results);
    }
    Ok(())
}
