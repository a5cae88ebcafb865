//! Fits as demanding users ask for them: other units, poles, functions that fail somewhere, ends without a value,
//! models that lack something.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, WarningKind};
use noisewright::internal::fit::fit;
use noisewright::parts::Remedy;
use noisewright::{
    Domain, Error, Fit, Model, Noise, Normal, Parameter, Points, Population, Precision, Space, Student,
    sample,
};
use rayon::prelude::*;

fn line(values: Vec<f64>) -> Points {
    Points::unnamed(1, values.len(), values)
}

fn parse(text: &str) -> Model {
    Model::from_toml(text).unwrap()
}

fn exact() -> FitOptions {
    FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() }
}

#[test]
fn units_do_not_matter() {
    // The rows in other units are other rows of the same experiment, and so are the noise's: every estimate of a scale is the
    // same multiple. Starts and searches differ, by no more than the tolerance of the descent in standard errors.
    let models = [
        parse("variables = ['x']\nfamily = 'gaussian'\nparametrization = 'moments'"),
        parse("variables = ['x']\nfamily = 'student'"),
        parse(
            "variables = ['x']\nlog_density = '-(x-m)^2/(2*s^2)'\n[parameters]\nm = 0\ns = { start = 1, lower = 0 }",
        ),
    ];
    let rows = sample(&Student::new(5.0, 0.1, 1.0).unwrap(), 400, 3);
    let fitted = |model: &Model, unit: f64| -> Fit {
        let data = line(rows.view().column(0).iter().map(|x| unit * x).collect());
        let few = FitOptions { amount: Amount::Ratio(10.0), ..FitOptions::default() };
        fit(model, Data::from(&data), &few).unwrap()
    };
    for (model, power) in models.iter().zip([2, 1, 1]) {
        let plain = fitted(model, 1.0);
        for unit in [1e-12, 1e-9, 1e-6, 1e-3, 1e6] {
            let other = fitted(model, unit);
            assert!(other.converged, "{unit}");
            for (j, factor) in [(0, unit), (1, f64::powi(unit, power))] {
                let (a, b) = (&plain.parameters[j], &other.parameters[j]);
                assert!((b.estimate / factor - a.estimate).abs() < 1e-3 * a.se, "{unit} {a:?} {b:?}");
                assert!((b.se / factor / a.se - 1.0).abs() < 1e-3, "{unit} {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn a_pole_without_an_integral_is_no_density() {
    let space = || Space::real(&["x"]).unwrap();
    let parameters = || vec![Parameter::new("a", 0.5), Parameter::new("b", 0.1)];
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 300, 1);
    let noise = NoiseChoice::Given(std::sync::Arc::new(Normal::with_variance(0.0, 4.0).unwrap()));
    let options = FitOptions { noise, amount: Amount::Ratio(50.0), ..FitOptions::default() };
    let model = Model::from_formula("-a*x^2 - b/x", space(), parameters(), false).unwrap();
    let fitted = fit(&model, Data::from(&data), &options).unwrap();
    assert!(fitted.diagnostics.has(WarningKind::NotNormalizable), "{:?}", fitted.diagnostics.warnings);
    let population = |formula: &str| {
        let model = Model::from_formula(formula, space(), parameters(), false).unwrap();
        Population::new(&model, &[0.5, 0.1], &Precision::default())
    };
    let at = ["-a*x^2 - b/x", "-a*x^2 + b/(x - 3)^2", "-a*x^2 - b*11*log(abs(x - 1))"]
        .into_iter()
        .zip(["0", "3", "1"]);
    for (formula, pole) in at {
        let found = population(formula);
        assert!(matches!(found, Err(Error::NotIntegrable { .. })), "{formula} {:?}", found.err());
        let said = found.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(&format!("the pole at {pole} in `x`")), "{formula} {said}");
    }
    // Sharp peaks and cusps are none of this.
    for formula in ["-a*x^2 - b*abs(x)^0.5", "-a*(x/1e-6)^2 - b*x", "-a*x^2 - b/x^2"] {
        assert!(population(formula).is_ok(), "{formula} {:?}", population(formula).err());
    }
}

#[test]
fn what_is_not_a_number_is_called_so() {
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 400, 2);
    let model = |value: fn(f64) -> f64| {
        let energy = move |theta: &[f64], x: &[f64]| -theta[0] * x[0] * x[0] + value(x[0]);
        Model::from_fn(&["a"], Space::real(&["x"]).unwrap(), energy).unwrap()
    };
    let beyond = model(|x| if x.abs() > 3.2 { f64::NAN } else { 0.0 });
    for noise in [NoiseChoice::Auto, NoiseChoice::Exact] {
        let options = FitOptions { noise, ..FitOptions::default() };
        let error = fit(&beyond, Data::from(&data), &options).unwrap_err();
        assert_eq!(error.code(), "not-a-number", "{error}");
    }
    let error = Population::new(&beyond, &[1.0], &Precision::default()).unwrap_err();
    assert_eq!(error.code(), "not-a-number", "{error}");
    // A power of a negative number has a value at a = 2 and no derivative in a.
    let power = parse("variables = ['x']\nlog_density = '-(-x)^a'\n[parameters]\na = 2");
    for noise in [NoiseChoice::Auto, NoiseChoice::Exact] {
        let options = FitOptions { noise, ..FitOptions::default() };
        let error = fit(&power, Data::from(&data), &options).unwrap_err();
        assert_eq!(error.code(), "not-a-number", "{error}");
    }
    let error = Population::new(&power, &[2.0], &Precision::default()).unwrap_err();
    assert_eq!(error.code(), "not-a-number", "{error}");
}

#[test]
fn a_density_that_vanishes_at_an_end_has_its_integrals() {
    // The logit-normal density: u = −∞ + ∞ at both ends. With y = logit x it is normal with variance 1/(2·0.35) and mean 0.2/0.7, so
    // that log Z = a²/(−4b) + ½ log(π/−b).
    let formula = "a*(log(x)-log1p(-x))+b*(log(x)-log1p(-x))^2-log(x)-log1p(-x)";
    let space = Space::product(&[("x", Domain::Interval(0.0, 1.0))]).unwrap();
    let parameters = vec![Parameter::new("a", 0.2), Parameter::new("b", -0.35)];
    let model = Model::from_formula(formula, space, parameters, false).unwrap();
    let population = Population::new(&model, &[0.2, -0.35], &Precision::default()).unwrap();
    let log_z = 0.2 * 0.2 / (4.0 * 0.35) + 0.5 * (std::f64::consts::PI / 0.35).ln();
    assert!((population.log_normalizer() - log_z).abs() < 1e-9, "{} {log_z}", population.log_normalizer());
    let normal = sample(&Normal::with_variance(0.2 / 0.7, 1.0 / 0.7).unwrap(), 500, 4);
    let rows: Vec<f64> = normal.view().column(0).iter().map(|y| 1.0 / (1.0 + (-y).exp())).collect();
    let fitted = fit(&model, Data::from(&line(rows)), &exact()).unwrap();
    // Maximum likelihood in closed form: a = m/s², b = −1/(2s²) of the logits.
    let y = normal.view().column(0);
    let mean = y.iter().sum::<f64>() / 500.0;
    let variance = y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 500.0;
    for (estimate, wanted) in fitted.theta().iter().zip([mean / variance, -0.5 / variance]) {
        assert!((estimate - wanted).abs() < 1e-5, "{estimate} {wanted}");
    }
}

#[test]
fn a_ratio_that_is_advised_is_enough() {
    // N(6, 4) for rows of N(1, 4): followed, the advice that took the noise's part to fall like 1/ν left it at half of the
    // variance. The prediction is from the points that there are, hence the factor of two on the odds of a tenth.
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let data = sample(&Normal::with_variance(1.0, 4.0).unwrap(), 1000, 5);
    let noise = NoiseChoice::Given(std::sync::Arc::new(Normal::with_variance(6.0, 4.0).unwrap()));
    let with = |nu: f64| {
        let options = FitOptions { noise: noise.clone(), amount: Amount::Ratio(nu), ..FitOptions::default() };
        fit(&model, Data::from(&data), &options).unwrap()
    };
    let first = with(20.0);
    let warning = first.diagnostics.warnings.iter().find(|w| w.kind == WarningKind::NoiseError).unwrap();
    let advised = warning.remedies.iter().find_map(|remedy| match remedy {
        Remedy::MoreNoise { nu } => *nu,
        _ => None,
    });
    let followed = with(advised.unwrap());
    let share = |fit: &Fit| {
        let parts = fit.parameters.iter().map(|e| (e.se_noise / e.se).powi(2));
        parts.fold(0.0, f64::max)
    };
    println!("ν {advised:?}: {} then {}", share(&first), share(&followed));
    assert!((0.05..0.2).contains(&share(&followed)), "{advised:?} {}", share(&followed));
}

#[test]
fn an_exact_fit_sees_a_missing_interaction_and_no_other() {
    // Three spins: with one coupling between two of them the model without is wrong, and independent ones it fits. A test at
    // one per cent rejects at most 4 of 60 right models but once in 3,000 studies.
    let names: Vec<String> = (0..3).map(|j| format!("s{j}")).collect();
    let options = noisewright::FamilyOptions { edges: Some(vec![]), ..Default::default() };
    let model = Model::from_family("ising", &names, &options, false).unwrap();
    let rejected = |coupling: f64| {
        let one = |seed: u64| {
            let uniform = sample(&noisewright::Uniform::new(0.0, 1.0).unwrap(), 3 * 500, seed);
            let u = uniform.view().column(0);
            let keep = 1.0 / (1.0 + (-2.0 * coupling).exp());
            let mut values = vec![0.0; 1500];
            for i in 0..500 {
                values[i] = if u[3 * i] < 0.5 { -1.0 } else { 1.0 };
                values[500 + i] = if u[3 * i + 1] < keep { values[i] } else { -values[i] };
                values[1000 + i] = if u[3 * i + 2] < 0.5 { -1.0 } else { 1.0 };
            }
            let data = Points::unnamed(3, 500, values);
            let fitted = fit(&model, Data::from(&data), &exact()).unwrap();
            fitted.diagnostics.has(WarningKind::Misspecified)
        };
        (0..60u64).into_par_iter().filter(|seed| one(*seed)).count()
    };
    assert!(rejected(0.3) >= 58, "{}", rejected(0.3));
    assert!(rejected(0.0) <= 4, "{}", rejected(0.0));
}

#[test]
fn a_default_fit_sees_a_missing_interaction_and_no_other() {
    // Two normals of correlation 0.4 in a model without it: its two margins are right, and the loss of a default fit is next to
    // that of maximum likelihood, whose squares of scores see nothing. Levels and bounds as above.
    let names = ["x", "y"];
    let model =
        Model::from_features(&["x", "y", "x^2", "y^2"], Space::real(&names).unwrap(), vec![]).unwrap();
    let rejected = |correlation: f64, sets: u64| {
        let one = |seed: u64| {
            let draws = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 1200, seed);
            let (x, e) = draws.view().column(0).split_at(600);
            let own = (1.0 - correlation * correlation).sqrt();
            let y = x.iter().zip(e).map(|(x, e)| correlation * x + own * e);
            let data = Points::unnamed(2, 600, x.iter().copied().chain(y).collect());
            let fitted =
                fit(&model, Data::from(&data), &FitOptions { seed, ..FitOptions::default() }).unwrap();
            fitted.diagnostics.has(WarningKind::Misspecified)
        };
        (0..sets).into_par_iter().filter(|seed| one(*seed)).count()
    };
    let (seen, alarms) = (rejected(0.4, 20), rejected(0.0, 60));
    println!("seen {seen} of 20, alarms {alarms} of 60");
    assert!(seen >= 18 && alarms <= 4, "{seen} {alarms}");
}

#[test]
fn the_test_of_exact_fits_keeps_its_level() {
    // A quartic with two modes, whose products of statistics have heavy tails, at the size of Old Faithful.
    let model = parse("variables = ['x']\nfamily = 'exponential-polynomial'\ndegree = 4");
    let theta = [0.97559, 1.35103, -0.65914, -0.75724];
    let source = noisewright::parts::ModelNoise::data(&model, &theta, &Precision::default()).unwrap();
    let one = |seed: u64| {
        let fitted = fit(&model, Data::from(&sample(&source, 272, seed)), &exact()).unwrap();
        fitted.diagnostics.has(WarningKind::Misspecified)
    };
    let rejected = (0..100u64).into_par_iter().filter(|seed| one(*seed)).count();
    println!("rejected {rejected} of 100");
    assert!(rejected <= 6, "{rejected}");
}

#[test]
fn noise_with_a_pole_at_each_end_can_be_drawn() {
    let model = parse("variables = ['x']\nfamily = 'beta'\ndomain = { x = [0, 1] }");
    let source = noisewright::parts::ModelNoise::data(&model, &[0.5, 0.5], &Precision::default()).unwrap();
    let draws = sample(&source, 4000, 1);
    let x = draws.view().column(0);
    assert!(x.iter().all(|x| *x > 0.0 && *x < 1.0));
    // The distribution function of the arcsine law, against the largest distance that 4,000 draws have once in a thousand.
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let law = |x: f64| 2.0 / std::f64::consts::PI * x.sqrt().asin();
    let far = sorted.iter().enumerate().map(|(i, x)| (law(*x) - (i as f64 + 0.5) / 4000.0).abs());
    assert!(far.fold(0.0, f64::max) < 1.95 / 4000f64.sqrt());
}

#[test]
fn the_optimal_noise_of_a_density_with_two_poles_can_be_drawn() {
    // No draw came within a minute. The distribution function of the noise is that of its own log-density, along
    // x = sin²(πg/2), where the poles of a beta density of ½ and ½ are gone.
    let model = parse("variables = ['x']\nfamily = 'beta'\ndomain = { x = [0, 1] }");
    let design = model.design(&[0.5, 0.5]).ratio(1.0).run().unwrap();
    let noise = &design.noise;
    let (cells, draws) = (100_000, 4000);
    let g: Vec<f64> = (0..cells).map(|i| (i as f64 + 0.5) / cells as f64).collect();
    let quarter = std::f64::consts::FRAC_PI_2;
    let x: Vec<f64> = g.iter().map(|g| (quarter * g).sin().powi(2)).collect();
    let mut log_density = vec![0.0; cells];
    noise.log_density(noisewright::View::new(1, cells, &x), &mut log_density);
    let mut mass = 0.0f64;
    let mut below = Vec::with_capacity(cells);
    for (g, l) in g.iter().zip(&log_density) {
        mass += l.exp() * quarter * (2.0 * quarter * g).sin() / cells as f64;
        below.push(mass);
    }
    assert!((mass - 1.0).abs() < 1e-4, "{mass}");
    let mut drawn = sample(noise, draws, 1).into_values();
    drawn.sort_by(f64::total_cmp);
    assert!(drawn[0] > 0.0 && drawn[draws - 1] < 1.0);
    let law = |x: f64| below[((x.sqrt().asin() / quarter * cells as f64) as usize).min(cells - 1)];
    let far = drawn.iter().enumerate().map(|(i, x)| (law(*x) - (i as f64 + 0.5) / draws as f64).abs());
    // As above, and the width of a cell.
    assert!(far.fold(0.0, f64::max) < 1.95 / (draws as f64).sqrt() + 1e-3);
}

/// Rows of a chain of spins with free ends, in columns.
pub(crate) fn spins(count: usize, coupling: f64, rows: usize, seed: u64) -> Points {
    let uniform = sample(&noisewright::Uniform::new(0.0, 1.0).unwrap(), rows * count, seed);
    let u = uniform.view().column(0);
    let keep = 1.0 / (1.0 + (-2.0 * coupling).exp());
    let mut values = vec![0.0; rows * count];
    for row in 0..rows {
        let mut spin = if u[row] < 0.5 { -1.0 } else { 1.0 };
        for j in 0..count {
            if j > 0 && u[j * rows + row] >= keep {
                spin = -spin;
            }
            values[j * rows + row] = spin;
        }
    }
    Points::unnamed(count, rows, values)
}

/// log Z of chains of spins against the default noise: errors in standard errors, and efficiencies of log Z.
fn chains_of_spins(count: usize, coupling: f64, sets: u64) -> Vec<(f64, Option<f64>)> {
    let names: Vec<String> = (0..count).map(|j| format!("s{j}")).collect();
    let edges = Some((1..count).map(|j| (j - 1, j)).collect());
    let options = noisewright::FamilyOptions { edges, ..Default::default() };
    let model = Model::from_family("ising", &names, &options, false).unwrap();
    let truth = count as f64 * 2f64.ln() + (count - 1) as f64 * coupling.cosh().ln();
    let one = |seed: u64| {
        let data = spins(count, coupling, 500, seed);
        let fitted = fit(&model, Data::from(&data), &FitOptions::default()).unwrap();
        let constant = fitted.log_normalizer();
        let budget = &fitted.diagnostics.error_budget;
        ((constant.estimate - truth) / constant.se, budget.last().and_then(|b| b.efficiency))
    };
    (0..sets).into_par_iter().map(one).collect()
}

#[test]
#[ignore = "long: ./test.sh --all"]
fn chains_of_spins_have_their_constant() {
    // Against independent spins log Z was off by 1.7 and 2.6 of its errors, and its intervals covered 0.64 and 0.25. Of 20 intervals
    // of 95 % fewer than 15 cover once in 3,000 studies.
    for (count, coupling) in [(30, 1.0), (50, 0.7)] {
        let found = chains_of_spins(count, coupling, 20);
        let covered = found.iter().filter(|(z, _)| z.abs() < 1.96).count();
        assert!(covered >= 15, "{count} spins: {found:?}");
        let efficiency = found.iter().filter_map(|(_, efficiency)| *efficiency).fold(f64::INFINITY, f64::min);
        assert!((0.7..=1.01).contains(&efficiency), "{count} spins: {efficiency}");
    }
}

#[test]
fn losses_that_weigh_few_rows_say_so_in_spaces_without_tails() {
    let names: Vec<String> = (0..10).map(|j| format!("s{j}")).collect();
    let model = Model::from_family("ising", &names, &Default::default(), false).unwrap();
    let uniform = |loss: noisewright::Loss, coupling: f64| {
        let data = spins(10, coupling, 500, 3);
        let parts = (0..10).map(|_| {
            let spin = noisewright::Categorical::new(&[-1.0, 1.0], &[0.5, 0.5]).unwrap();
            std::sync::Arc::new(spin) as std::sync::Arc<dyn Noise>
        });
        let noise = std::sync::Arc::new(noisewright::Product::of_shared(parts.collect()).unwrap());
        let noise = NoiseChoice::Given(noise);
        let options = FitOptions { noise, amount: Amount::Ratio(10.0), loss, ..FitOptions::default() };
        fit(&model, Data::from(&data), &options).unwrap().diagnostics
    };
    // Intervals of log Z by `hellinger` cover 0.85. A weight r^{−1/2} where the ratio r varies as much as between these densities
    // leaves 350 of 500 rows, fewer than eight for each of 56 unknowns.
    for (loss, coupling) in [(noisewright::Loss::ReverseKl, 0.25), (noisewright::Loss::Hellinger, 0.4)] {
        let said = uniform(loss, coupling);
        assert!(said.has(WarningKind::HeavyWeights), "{:?}", said.warnings);
        assert!(said.warnings.iter().any(|warning| warning.remedies.contains(&Remedy::BoundedLoss)));
        assert!(!uniform(noisewright::Loss::Js, coupling).has(WarningKind::HeavyWeights));
    }
}

#[test]
fn log_densities_keep_their_digits_at_huge_parameters() {
    // By the saddle point: −½ ln(2πv) at the mode, v the variance, and −½z² but for terms in 1/√size z standard deviations away.
    use noisewright::Scalar;
    let at = |noise: &dyn Scalar, x: f64| {
        let mut out = [0.0];
        noise.log_density_of(&[x], &mut out);
        out[0]
    };
    let half_log = |v: f64| -0.5 * (std::f64::consts::TAU * v).ln();
    let von_mises = noisewright::VonMises::new(0.3, 1e12).unwrap();
    assert!((at(&von_mises, 0.3) - half_log(1e-12)).abs() < 1e-12);
    let gamma = noisewright::Gamma::new(1e15, 1.0).unwrap();
    assert!((at(&gamma, 1e15) - half_log(1e15)).abs() < 1e-12);
    let two = 2.0 * 1e15f64.sqrt();
    assert!((at(&gamma, 1e15 + two) - half_log(1e15) + 2.0).abs() < 1e-6);
    let poisson = noisewright::Poisson::new(1e12).unwrap();
    assert!((at(&poisson, 1e12) - half_log(1e12)).abs() < 1e-12);
    assert!((at(&poisson, 1e12 - 3e6) - half_log(1e12) + 4.5).abs() < 1e-5);
}

#[test]
fn equal_rows_are_no_noise_however_many() {
    // The mean of many equal numbers is off by rounding, which is no scale.
    for rows in [300, 100_000] {
        let error = noisewright::fit_auto(&Space::real(&["x"]).unwrap(), line(vec![3.7; rows]).view(), None);
        assert_eq!(error.map(|n| n.describe()).unwrap_err().code(), "noise-not-fitted");
    }
}

#[test]
fn a_part_of_a_mixture_that_is_elsewhere_has_no_share() {
    let space = Space::product(&[("x", Domain::Interval(0.0, 10.0))]).unwrap();
    let build = |words: &str| {
        let words = noisewright::NoiseWords::parse(words).unwrap();
        words.build(&noisewright::parts::NoiseContext::new(&space))
    };
    let alone = build("normal(3, 1)").unwrap();
    for words in [
        "0.5*normal(-100, 1) + 0.5*normal(3, 1)",
        "truncate(0.25*normal(-1e6, 1) + 0.75*normal(3, 1), 0, 10)",
    ] {
        let mixed = build(words).unwrap();
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        alone.log_density(noisewright::View::new(1, 2, &[0.5, 4.0]), &mut a);
        mixed.log_density(noisewright::View::new(1, 2, &[0.5, 4.0]), &mut b);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{words}: {a:?} {b:?}");
    }
}

#[test]
fn a_polynomial_of_data_far_from_zero_is_that_of_data_around_it() {
    // Powers of 1000 ± 1 are one function to twelve digits. The same rows around zero have the same noise draws, moved, and
    // so the same density; in the original parameters it keeps four digits, 1000⁴ times the rounding.
    let model = parse("variables = ['x']\nfamily = 'exponential-polynomial'\ndegree = 4");
    let rows = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 500, 8);
    let moved = |by: f64| line(rows.view().column(0).iter().map(|x| x + by).collect());
    let options = FitOptions { amount: Amount::Ratio(20.0), ..FitOptions::default() };
    for options in [options, exact()] {
        let near = fit(&model, Data::from(&moved(0.0)), &options).unwrap();
        let far = fit(&model, Data::from(&moved(1000.0)), &options).unwrap();
        assert!(far.converged);
        let density = |fitted: &Fit, x: [f64; 3]| {
            let mut value = [0.0; 3];
            model.evaluate(&fitted.theta(), noisewright::View::new(1, 3, &x), &mut value, None).unwrap();
            value.map(|v| v - fitted.log_normalizer().estimate)
        };
        let (a, b) = (density(&near, [-1.0, 0.0, 1.5]), density(&far, [999.0, 1000.0, 1001.5]));
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 5e-3), "{a:?} {b:?}");
        let (a, b) = (&near.parameters[3], &far.parameters[3]);
        assert!(
            (a.estimate - b.estimate).abs() < 1e-2 * a.se && (a.se / b.se - 1.0).abs() < 0.05,
            "{a:?} {b:?}"
        );
    }
}

#[test]
fn peaks_at_the_ends_of_a_domain_are_climbed_to_the_end() {
    // Normal rows on the positive quadrant: climbs of the fitted density that arrived together left a round without any, which divided
    // by their number. Three seeds at which a fit ended so; estimates are those of maximum likelihood, up to what the noise adds.
    let text = include_str!("orthant.csv");
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    let values = (0..2).flat_map(|j| rows.iter().map(move |row| row[j])).collect();
    let data = Points::unnamed(2, rows.len(), values);
    let space = Space::product(&[("x0", Domain::Positive), ("x1", Domain::Positive)]).unwrap();
    let features = ["x0", "x1", "x0*x0", "x0*x1", "x1*x1"];
    let model = Model::from_features(&features, space, vec![]).unwrap();
    let best = fit(&model, Data::from(&data), &exact()).unwrap();
    [245, 1, 3].into_par_iter().for_each(|seed| {
        let options = FitOptions { seed, ..FitOptions::default() };
        let fitted = fit(&model, Data::from(&data), &options).unwrap();
        assert!(
            fitted.converged && fitted.diagnostics.warnings.is_empty(),
            "{:?}",
            fitted.diagnostics.warnings
        );
        for (a, b) in fitted.parameters.iter().zip(&best.parameters) {
            let apart = (a.estimate - b.estimate).abs();
            assert!(apart < 4.0 * a.se_noise + 0.02 * a.se, "{seed}: {a:?} {b:?}");
        }
    });
}

#[test]
fn heavy_tails_against_noise_far_from_them_are_refused_with_a_subject() {
    // Cauchy rows and a normal noise three hundred times as wide: its few points where the data are need not tell the constant,
    // and what was said was " cannot be told apart" of nothing.
    let quantile = |i: u32| 0.35 + 1.9 * (std::f64::consts::PI * ((f64::from(i) + 0.5) / 200.0 - 0.5)).tan();
    let data = line((0..200).map(quantile).collect());
    let model = parse("variables = ['x']\nfamily = 'student'\ndof = 1");
    let noise = NoiseChoice::Given(std::sync::Arc::new(Normal::with_variance(0.0, 1e5).unwrap()));
    let one = |seed: u64| {
        let (noise, amount) = (noise.clone(), Amount::Ratio(5.0));
        fit(&model, Data::from(&data), &FitOptions { seed, noise, amount, ..FitOptions::default() })
    };
    let found: Vec<Result<Fit, Error>> = (0..40u64).into_par_iter().map(one).collect();
    let refused: Vec<&Error> = found.iter().filter_map(|found| found.as_ref().err()).collect();
    println!("refused {} of {}: {:?}", refused.len(), found.len(), refused.first());
    assert!(!refused.is_empty() && refused.len() < 20, "{}", refused.len());
    for error in refused {
        let named = model.coordinates().iter().any(|name| error.to_string().contains(&format!("`{name}`")));
        assert!(named && error.code() != "internal", "{error}");
    }
    // The noise that is fitted to them by itself has the answer at every seed, that of quantiles: location and scale.
    for seed in 0..4 {
        let options = FitOptions { seed, ..FitOptions::default() };
        let fitted = fit(&model, Data::from(&data), &options).unwrap();
        for (estimate, truth) in fitted.parameters.iter().zip([0.35, 1.9]) {
            let apart = (estimate.estimate - truth).abs();
            assert!(apart < 4.0 * estimate.se_noise + 0.02 * estimate.se, "{seed}: {estimate:?}");
        }
    }
}

#[test]
fn data_that_all_could_be_noise_are_not_said_to_be_apart_from_it() {
    // Uniform rows in a density whose power all but runs away: 13,322 of 16,384 points could be of either side, which was called hardly any.
    let model = parse(
        "variables = ['x']\nlog_density = '-(abs(x)/s)^b'\n[parameters]\ns = { start = 1, lower = 0 }\nb = { start = 2, lower = 0 }",
    );
    for seed in 1..4 {
        let data = sample(&noisewright::Uniform::new(-1.0, 1.0).unwrap(), 1000, seed);
        let fitted = fit(&model, Data::from(&data), &FitOptions { seed, ..FitOptions::default() }).unwrap();
        let said = &fitted.diagnostics;
        assert!(
            !said.has(WarningKind::NoOverlap) && !said.has(WarningKind::LittleOverlap),
            "{:?}",
            said.warnings
        );
        assert!(said.overlap.unwrap().overlap > 0.5, "{:?}", said.overlap);
    }
}
