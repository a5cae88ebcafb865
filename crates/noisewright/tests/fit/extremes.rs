//! Fits at the edge of what can be fitted: heavy tails, parameters without meaning, starts far away, densities that do not fall.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::fit::{Amount, Data, DrawKind, FitOptions, NoiseChoice, WarningKind};
use noisewright::internal::fit::fit;
use noisewright::{Error, Fit, Loss, Model, Noise, Normal, Points, Space, Uniform, sample};

fn exact() -> FitOptions {
    FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() }
}

fn line(values: Vec<f64>) -> Points {
    Points::unnamed(1, values.len(), values)
}

fn parse(text: &str) -> Model {
    Model::from_toml(text).unwrap()
}

fn quartic() -> Model {
    Model::from_features(&["x", "x^2", "x^3", "x^4"], Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

/// Quantiles of a Cauchy distribution.
fn cauchy(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| (std::f64::consts::PI * ((i as f64 + 0.5) / rows as f64 - 0.5)).tan()).collect()
}

/// `E x, …, E x⁴` of a quartic exponential polynomial by the trapezoidal rule on a fine and wide grid.
fn moments(theta: &[f64], reach: f64) -> [f64; 4] {
    let nodes = 4_000_000;
    let at = |i: usize| reach * (2.0 * i as f64 / nodes as f64 - 1.0);
    let height = |x: f64| x * (theta[0] + x * (theta[1] + x * (theta[2] + x * theta[3])));
    let top = (0..nodes).map(|i| height(at(i))).fold(f64::NEG_INFINITY, f64::max);
    let mut sums = [0.0; 5];
    for x in (0..nodes).map(at) {
        let p = (height(x) - top).exp();
        (0..5).for_each(|k| sums[k] += p * x.powi(k as i32));
    }
    std::array::from_fn(|k| sums[k + 1] / sums[0])
}

/// An exact fit of a quartic gives the data's moments, wherever its second peak may be, or says that it found no maximum.
#[test]
fn heavy_tails_under_a_quartic_are_fitted_to_the_maximum() {
    let mut found = 0;
    for far in [300.0, -180.0, 597.0, 90.0, -2000.0, 5000.0] {
        let mut values = cauchy(120);
        values.push(far);
        let data = line(values.clone());
        let fitted = fit(&quartic(), Data::from(&data), &exact()).unwrap();
        assert_eq!(fitted.converged, !fitted.diagnostics.has(WarningKind::NoMaximum), "{far}");
        if !fitted.converged {
            continue;
        }
        found += 1;
        let theta = fitted.theta();
        let reach = 4.0 * far.abs().max((0.75 * theta[2] / theta[3]).abs());
        for (k, moment) in moments(&theta, reach).into_iter().enumerate() {
            let wanted = values.iter().map(|x| x.powi(k as i32 + 1)).sum::<f64>() / values.len() as f64;
            assert!((moment / wanted - 1.0).abs() < 1e-6, "{far}: moment {k} is {moment} and not {wanted}");
        }
    }
    assert!(found >= 1, "not one of six");
}

/// Symmetric data with a kurtosis above 3 have no quartic: the best is a normal density with a trace of mass ever farther out.
#[test]
fn a_likelihood_without_a_maximum_is_named() {
    let data = line(cauchy(200));
    let fitted = fit(&quartic(), Data::from(&data), &exact()).unwrap();
    let warning = fitted.diagnostics.no_answer().unwrap();
    assert!(!fitted.converged && warning.kind == WarningKind::NoMaximum, "{warning}");
    assert!(warning.sentence().contains("integrate"), "{warning}");
}

fn refusal(model: &str, data: &Points, options: &FitOptions) -> String {
    fit(&parse(model), Data::from(data), options)
        .map_or_else(|error| error.to_string(), |fit| format!("{:?}", fit.theta()))
}

#[test]
fn parameters_without_a_meaning_of_their_own_are_named_the_same_with_and_without_noise() {
    let data = sample(&Normal::with_variance(0.4, 1.0).unwrap(), 400, 4);
    let noisy = FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() };
    let parameters = "[parameters]\na = 1\nb = 1";
    for formula in ["a*b*x - x^2/2", "-a*b*x^2/2", "-(a + b)*x^2/2", "-exp(a - b)*x^2/2"] {
        let model = format!("variables = ['x']\nlog_density = '{formula}'\n{parameters}");
        let words = refusal(&model, &data, &exact());
        assert!(words.contains("`a`") && words.contains("`b`"), "{formula}: {words}");
        assert_eq!(words, refusal(&model, &data, &noisy), "{formula}");
    }
    let features = "variables = ['x']\nfeatures = ['x', 'x^2', '3*x^2 - 2*x']";
    let words = refusal(features, &data, &exact());
    assert!(words.contains("leave one of these features out"), "{words}");
    assert_eq!(words, refusal(features, &data, &noisy));
}

/// Uneven steps through a curve of parameters that are told apart, though just.
#[test]
fn parameters_that_are_nearly_but_not_collinear_keep_their_errors() {
    let data = sample(&Normal::with_variance(0.4, 1.0).unwrap(), 2000, 5);
    let model = parse(
        "variables = ['x']\nlog_density = 'a*x - b*x^2/2 + c*tanh(x)'\n[parameters]\na = 0\nb = 1\nc = 0",
    );
    let fitted = fit(&model, Data::from(&data), &exact()).unwrap();
    assert!(fitted.converged && fitted.parameters.iter().all(|p| p.se > 0.0 && p.se < 10.0), "{fitted:?}");
}

fn far_gaussian(noise: NoiseChoice, place: f64) -> Fit {
    let data = sample(&Normal::with_variance(place, 1.0).unwrap(), 500, 9);
    let model =
        parse("variables = ['x']\nlog_density = '-0.5*(x - mu)^2/exp(s)'\n[parameters]\nmu = 0\ns = 0");
    fit(&model, Data::from(&data), &FitOptions { noise, ..FitOptions::default() }).unwrap()
}

#[test]
fn a_start_far_from_the_data_is_no_obstacle() {
    for place in [50.0, -1000.0, 1e6] {
        for noise in [NoiseChoice::Auto, NoiseChoice::Exact] {
            let fitted = far_gaussian(noise, place);
            assert!(fitted.converged, "{place}: {:?}", fitted.diagnostics.warnings);
            let (mean, spread) = (&fitted.parameters[0], &fitted.parameters[1]);
            assert!((mean.estimate - place).abs() < 5.0 * mean.se && mean.se < 0.06, "{place}: {mean:?}");
            assert!(spread.estimate.abs() < 5.0 * spread.se, "{place}: {spread:?}");
        }
    }
}

/// The components are the other way round than the start has them: the better minimum, at a positive `a`, is found.
#[test]
fn the_best_minimum_of_a_mixture_is_found() {
    let text = "variables = ['x']\n\
        log_density = 'log(sigmoid(w)*exp(-(x-a)^2/(2*0.25)) + (1-sigmoid(w))*exp(-(x-b)^2/(2*0.36)))'\n\
        [parameters]\nw = 0\na = -1\nb = 1";
    let half = |mean: f64, variance: f64, rows: usize, seed: u64| {
        sample(&Normal::with_variance(mean, variance).unwrap(), rows, seed).values().to_vec()
    };
    for seed in 0..6 {
        let data = line([half(-1.2, 0.36, 300, seed), half(1.0, 0.25, 200, 100 + seed)].concat());
        let with = |starts: usize| {
            let options = FitOptions { starts, amount: Amount::Points(8192), ..FitOptions::default() };
            fit(&parse(text), Data::from(&data), &options).unwrap()
        };
        let (alone, usual) = (with(1), with(10));
        assert!(usual.converged && usual.loss < alone.loss - 1e-3, "{seed}: {} {}", usual.loss, alone.loss);
        assert!((usual.parameters[1].estimate - 1.0).abs() < 0.2, "{seed}: {:?}", usual.theta());
        // More noise goes on from there, and nowhere else.
        let amount = Amount::Auto { share: 0.1, most_values: 1 << 18 };
        let dosed =
            fit(&parse(text), Data::from(&data), &FitOptions { amount, ..FitOptions::default() }).unwrap();
        assert!((dosed.parameters[1].estimate - 1.0).abs() < 0.2, "{seed}: {:?}", dosed.optima);
        assert!(dosed.optima.windows(2).all(|pair| pair[0].loss <= pair[1].loss + 1e-9));
    }
}

/// A quadratic form that is indefinite along a diagonal is no density, whatever the noise says where the data are.
#[test]
fn a_density_that_rises_along_a_diagonal_is_refused() {
    // Most of the data on a cross, some far along one diagonal: the fitted quartic rises along it.
    let mut columns = [Vec::new(), Vec::new()];
    let normal = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 2000, 3).values().to_vec();
    for pair in normal.chunks(2) {
        let stretch = if pair[0].abs() > 1.9 { 3.0 } else { 1.0 };
        columns[0].push(stretch * pair[0]);
        columns[1].push(stretch * pair[0] + 0.3 * pair[1]);
    }
    let data = Points::unnamed(2, columns[0].len(), columns.concat());
    let features = ["x", "y", "x^2", "x*y", "y^2", "x^2*y^2"];
    let model = Model::from_features(&features, Space::real(&["x", "y"]).unwrap(), vec![]).unwrap();
    let fitted =
        fit(&model, Data::from(&data), &FitOptions { amount: Amount::Ratio(10.0), ..FitOptions::default() })
            .unwrap();
    let rises = fitted.theta()[5] > 0.0;
    assert_eq!(fitted.diagnostics.has(WarningKind::NotNormalizable), rises, "{:?}", fitted.theta());
    assert!(rises, "the data do not show it: {:?}", fitted.theta());
}

#[test]
fn a_row_without_density_is_named_with_its_value() {
    let mut values: Vec<f64> = (1..60).map(|i| f64::from(i) / 60.0).collect();
    values.insert(17, 0.0);
    let data = line(values);
    let interval = "variables = ['x']\ndomain = { x = [0, 1] }\n";
    let models = [
        "variables = ['x']\nfamily = 'beta'".to_owned(),
        format!("{interval}features = ['log(x)', 'log1p(-x)']"),
        format!("{interval}log_density = '(a - 1)*log(x) + (b - 1)*log1p(-x)'\n[parameters]\na = 2\nb = 2"),
        format!("{interval}log_density = '(exp(s) - 1)*log(x) - x'\n[parameters]\ns = 0.5"),
    ];
    for model in &models {
        for options in [exact(), FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() }] {
            let refused = fit(&parse(model), Data::from(&data), &options).unwrap_err();
            let words = refused.to_string();
            assert!(words.contains("row 18") && words.contains("`x` = 0"), "{model}: {words}");
        }
    }
}

#[test]
fn an_exact_fit_on_the_sphere_is_tested_too() {
    let model = parse("variables = ['x', 'y', 'z']\nfamily = 'von-mises-fisher'");
    let noise = noisewright::VonMisesFisher::new(&[0.0, 0.6, 0.8], 3.0).unwrap();
    let data = sample(&noise, 500, 3);
    let fitted = fit(&model, Data::from(&data), &exact()).unwrap();
    let test = fitted.diagnostics.information_test.expect("a test");
    assert!(test.p_value > 1e-3 && fitted.diagnostics.information_test_absent.is_none(), "{test:?}");
    let kl = FitOptions { loss: Loss::Kl, amount: Amount::Ratio(2.0), ..FitOptions::default() };
    let untested = fit(&model, Data::from(&data), &kl).unwrap().diagnostics;
    assert!(untested.information_test_absent.unwrap().contains("js"));
}

#[test]
fn the_budget_of_noise_is_kept_however_small() {
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 300, 3);
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    for most in [40, 1000, 5000] {
        let amount = Amount::Auto { share: 0.1, most_values: 3 * most };
        let with = |draws| {
            let options = FitOptions { amount, draws, ..FitOptions::default() };
            fit(&model, Data::from(&data), &options).unwrap()
        };
        let random = with(DrawKind::Random).noise_points;
        assert!(random <= most && 2 * random > most, "{random}");
        // Quiet noise ends where it is enough.
        let auto = with(DrawKind::Auto);
        let spent = 2 * auto.noise_points > most;
        assert!(auto.noise_points <= most && (spent || auto.noise_share() <= 0.1), "{}", auto.noise_points);
    }
}

#[test]
fn an_exact_fit_takes_no_other_loss() {
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 50, 3);
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let refused = fit(&model, Data::from(&data), &FitOptions { loss: Loss::Kl, ..exact() }).unwrap_err();
    assert!(matches!(&refused, Error::Option { option, .. } if option == "loss"), "{refused}");
}

/// Four rows cannot be confused more than four times, which says nothing about how they overlap with the noise.
#[test]
fn a_handful_of_rows_is_not_said_to_be_apart_from_the_noise() {
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let noise = NoiseChoice::Given(Arc::new(Normal::with_variance(0.3, 0.5).unwrap()));
    for rows in [4, 5] {
        let data = line([0.1, 0.4, -0.3, 0.9, 1.2][..rows].to_vec());
        let options =
            FitOptions { noise: noise.clone(), amount: Amount::Points(8192), ..FitOptions::default() };
        let fitted = fit(&model, Data::from(&data), &options).unwrap();
        assert!(
            fitted.converged && fitted.diagnostics.no_answer().is_none(),
            "{:?}",
            fitted.diagnostics.warnings
        );
        assert!(fitted.diagnostics.overlap.unwrap().overlap > 0.5);
    }
    let apart = NoiseChoice::Given(Arc::new(Normal::with_variance(90.0, 0.5).unwrap()));
    let data = line(vec![0.1, 0.4, -0.3, 0.9, 1.2]);
    let options = FitOptions { noise: apart, amount: Amount::Points(8192), ..FitOptions::default() };
    assert!(fit(&model, Data::from(&data), &options).unwrap().diagnostics.has(WarningKind::NoOverlap));
}

/// Ten draws from `1 + 2 t₃` whose profile likelihood in the degrees of freedom rises for ever.
pub(crate) const TEN: [f64; 10] = [
    4.1399492054598195,
    2.868720483440586,
    0.2961279838446391,
    1.4903181617092531,
    0.49579293076883946,
    -3.7566464409722826,
    1.340233309308992,
    -2.20606054487128,
    0.4291332153146836,
    -3.6486055427144937,
];

/// The loss falls all the way to the upper bound, and ever more slowly: the second-order model of it leads beyond.
#[test]
fn an_estimate_does_not_leave_its_bounds() {
    for upper in [1e6, 1e9] {
        let text = format!(
            "variables = ['x']\nlog_density = '-(k+1)/2*log(1+((x-m)/s)^2/k)'\n[parameters]\nm = 0\ns = {{ start = 1, lower \
             = 0 }}\nk = {{ start = 5, lower = 0.1, upper = {upper:e} }}"
        );
        for seed in 0..3 {
            let options = FitOptions { seed, amount: Amount::Points(1 << 13), ..FitOptions::default() };
            let fitted = fit(&parse(&text), Data::from(&line(TEN.to_vec())), &options).unwrap();
            let k = fitted.get("k").unwrap();
            assert!((0.1..=upper).contains(&k.estimate), "{k:?}");
            assert!(k.estimate < 0.5 * upper || fitted.diagnostics.has(WarningKind::AtBound), "{k:?}");
        }
    }
}

/// The power is finite at some noise points where its derivative is not: there is no density there, and no reason to refuse the
/// fit. (Uniform rows hardly tell a power of 400 from one of 450; that they do not is a fair answer.)
#[test]
fn a_score_that_overflows_where_there_is_no_density_counts_for_nothing() {
    // The derivative of |x|^b in b is log |x| = 1.77 times as large at the largest |x| that has a power of 400: of 40,000 points
    // that are spread up to there about 57 have a power and no derivative.
    let text = "variables = ['x']\nlog_density = '-abs(x)^b'\n[parameters]\nb = { start = 400, lower = 350, upper = 450 }";
    let rows = 4000;
    let data = line((0..rows).map(|i| 2.0 * (f64::from(i) + 0.5) / f64::from(rows) - 1.0).collect());
    let edge = f64::MAX.powf(1.0 / 400.0);
    let noise: Arc<dyn Noise> = Arc::new(Uniform::new(-edge, edge).unwrap());
    let options = FitOptions {
        noise: NoiseChoice::Given(noise),
        amount: Amount::Ratio(10.0),
        draws: DrawKind::Random,
        ..FitOptions::default()
    };
    let fitted = fit(&parse(text), Data::from(&data), &options);
    assert!(!matches!(fitted, Err(Error::NotANumber { .. })), "{:?}", fitted.err());
}

/// A bound at which the model is undefined is open: a search may run towards it, but does not stand on it.
#[test]
fn a_bound_where_the_model_is_undefined_is_never_evaluated() {
    let rows = [
        3.706342474439653,
        -6.887045558658043,
        1.0601909761296373,
        0.1842297740641371,
        1.3379092257686183,
        1.3354562185882115,
        -5.735227326896544,
        1.5379868308882565,
        1.8777198545708467,
        -1.9269964067970253,
    ];
    let student = parse("variables = ['x']\nfamily = 'student'\ndof = 'free'");
    for seed in [0, 3, 14] {
        let options = FitOptions { seed, amount: Amount::Points(1 << 13), ..FitOptions::default() };
        let fitted = fit(&student, Data::from(&line(rows.to_vec())), &options);
        match fitted {
            Ok(fitted) => assert!(fitted.get("dof").unwrap().estimate > 0.0),
            // As the degrees of freedom go to zero only their product with the squared scale counts, and the constant runs off
            // with them: which of the two a search ends with hangs on rounding.
            Err(error) => {
                assert!(matches!(error, Error::Collinear { .. } | Error::NoMinimum { .. }), "{error}")
            }
        }
    }
}
