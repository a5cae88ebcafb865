//! What a fit says about itself: separation, integrability, overlap, tails, misspecification, efficiency.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, WarningKind};
use noisewright::internal::fit::fit;
use noisewright::{
    Domain, Error, FamilyOptions, Fit, Loss, Mixture, Model, NegativeBinomial, Noise, Normal, Parameter,
    Points, Scalar, Space, Student, VonMises, sample,
};

fn given(noise: impl Noise + 'static, nu: f64) -> FitOptions {
    FitOptions {
        noise: NoiseChoice::Given(Arc::new(noise)),
        amount: Amount::Ratio(nu),
        ..FitOptions::default()
    }
}

fn ratio(nu: f64) -> FitOptions {
    FitOptions { amount: Amount::Ratio(nu), ..FitOptions::default() }
}

fn normal(mean: f64, variance: f64) -> Normal {
    Normal::with_variance(mean, variance).unwrap()
}

fn gaussian() -> Model {
    Model::from_family("gaussian", &["x"], &FamilyOptions::default(), false).unwrap()
}

fn line(features: &[&str]) -> Model {
    Model::from_features(features, Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

/// Two bumps, which no Gaussian fits.
fn bumps(rows: usize, seed: u64) -> Points {
    let part = |mean: f64| -> Arc<dyn Scalar> { Arc::new(normal(mean, 0.5)) };
    sample(&Mixture::of_shared(vec![(0.5, part(-1.2)), (0.5, part(1.2))]).unwrap(), rows, seed)
}

// ---- no finite answer ----

#[test]
fn a_statistic_that_no_data_row_has_is_named_with_its_direction() {
    // As a Strauss process on regular points: the pairs that it counts occur in the noise alone.
    let space = Space::real(&["x"]).unwrap();
    let names = ["trend", "spread", "strauss"].map(|name| Parameter::new(name, 0.0)).to_vec();
    let model = Model::from_features(&["x", "x^2", "max(abs(x) - 2, 0)"], space, names).unwrap();
    let inner: Vec<f64> =
        sample(&normal(0.0, 1.0), 2000, 1).values().iter().copied().filter(|x| x.abs() < 1.9).collect();
    let points = Points::from_columns(&["x"], &[inner]).unwrap();
    let fitted = fit(&model, Data::from(&points), &given(normal(0.0, 2.0), 2.0)).unwrap();
    let separation = fitted.diagnostics.separation.as_ref().unwrap();
    assert_eq!(separation.running.len(), 1);
    assert_eq!((separation.running[0].name.as_str(), separation.running[0].sign), ("strauss", -1));
    assert!(separation.running[0].data_range.iter().all(|t| t.abs() < 1e-12));
    assert!(
        (separation.direction[2] + 1.0).abs() < 1e-12 && separation.direction[3].abs() < 1e-9,
        "{separation:?}"
    );
    assert!(!fitted.converged && fitted.parameters[2].se == f64::INFINITY);
    let warning = fitted.diagnostics.no_answer().unwrap();
    assert_eq!((warning.kind, warning.kind.name()), (WarningKind::Separation, "separation"));
    assert!(warning.sentence().contains("`strauss` → −∞"), "{warning}");
}

#[test]
fn classes_that_do_not_touch_leave_nothing_to_say() {
    let points = sample(&normal(30.0, 1.0), 500, 1);
    let fitted = fit(&gaussian(), Data::from(&points), &given(normal(0.0, 1.0), 2.0)).unwrap();
    assert!(
        fitted.diagnostics.has(WarningKind::Separation) && fitted.diagnostics.has(WarningKind::NoOverlap)
    );
    let overlap = fitted.diagnostics.overlap.unwrap();
    assert!(overlap.confusions() < 1.0 && overlap.overlap < 1e-2, "{overlap:?}");
}

#[test]
fn a_normalized_model_out_of_touch_is_a_result_and_no_error() {
    let model = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), true).unwrap();
    let model = model.with_start(&[("h0", 50.0)]).unwrap();
    let points = sample(&normal(50.0, 1.0), 500, 1);
    let fitted = fit(&model, Data::from(&points), &given(normal(0.0, 1.0), 2.0)).unwrap();
    assert_eq!(fitted.diagnostics.no_answer().unwrap().kind, WarningKind::NoOverlap);
    assert!(!fitted.converged);
}

#[test]
fn correlated_rows_are_not_tested_as_if_they_were_independent() {
    let points = bumps(600, 1);
    let clusters: Vec<u64> = (0..600).map(|i| i / 10).collect();
    let data = Data::from(&points).with_dependence(noisewright::fit::Dependence::Clusters(&clusters));
    let fitted = fit(&gaussian(), data, &given(normal(0.0, 3.0), 3.0)).unwrap();
    assert!(
        fitted.diagnostics.information_test.is_none() && !fitted.diagnostics.has(WarningKind::Misspecified)
    );
}

#[test]
fn two_samples_are_spoken_of_as_such() {
    let (first, second) = (sample(&normal(20.0, 1.0), 300, 1), sample(&normal(0.0, 1.0), 300, 2));
    let fitted = noisewright::internal::fit::ratio(
        &line(&["x"]),
        Data::from(&first),
        Data::from(&second),
        &FitOptions::default(),
    )
    .unwrap();
    let warning = fitted.fit.diagnostics.no_answer().unwrap();
    assert!(
        warning.sentence().contains("second sample") && !warning.suggestion().contains("noise"),
        "{warning}"
    );
    // A ratio that grows without bound is no fault.
    let near = sample(&normal(0.5, 1.0), 3000, 1);
    let fitted = noisewright::internal::fit::ratio(
        &line(&["x"]),
        Data::from(&near),
        Data::from(&second),
        &FitOptions::default(),
    )
    .unwrap();
    assert!(fitted.fit.diagnostics.no_answer().is_none(), "{:?}", fitted.fit.diagnostics.warnings);
}

#[test]
fn a_fit_with_an_answer_is_not_called_separated() {
    // Far from the noise, but touching it: large errors, not infinite ones.
    for seed in 0..20 {
        let points = sample(&normal(2.5, 1.0), 300, seed);
        let fitted =
            fit(&gaussian(), Data::from(&points), &FitOptions { seed, ..given(normal(0.0, 1.0), 5.0) })
                .unwrap();
        assert!(fitted.diagnostics.separation.is_none() && fitted.converged, "{seed}");
    }
}

#[test]
fn counts_more_spread_than_the_model_allows_are_named_and_not_fitted() {
    let points = sample(&NegativeBinomial::new(5.0, 0.4).unwrap(), 2000, 1);
    let space = Space::product(&[("x", Domain::Counts)]).unwrap();
    let names = vec![Parameter::new("log_rate", 0.0), Parameter::new("dispersion", 1.0)];
    let free = Model::from_features(&["x", "-lgamma(x + 1)"], space, names).unwrap();
    let fitted = fit(&free, Data::from(&points), &ratio(5.0)).unwrap();
    assert!(fitted.get("dispersion").unwrap().estimate < 0.0);
    let found = fitted.diagnostics.not_normalizable.as_ref().unwrap();
    assert_eq!((found.variable.as_deref(), found.towards.as_str()), (Some("x"), "∞"));
    assert_eq!(fitted.diagnostics.no_answer().unwrap().kind, WarningKind::NotNormalizable);
    // With its bound the family ends there, and says so.
    let family = Model::from_family("com-poisson", &["x"], &FamilyOptions::default(), false).unwrap();
    let fitted = fit(&family, Data::from(&points), &ratio(5.0)).unwrap();
    assert_eq!(fitted.diagnostics.no_answer().unwrap().kind, WarningKind::BeyondFamily);
}

#[test]
fn a_quartic_that_opens_upwards_is_no_density() {
    let points = sample(&Student::new(3.0, 0.0, 1.0).unwrap(), 3000, 4);
    let fitted = fit(&line(&["x^2", "x^4"]), Data::from(&points), &ratio(5.0)).unwrap();
    assert!(fitted.get("x^4").unwrap().estimate > 0.0);
    assert_eq!(fitted.diagnostics.not_normalizable.unwrap().variable.as_deref(), Some("x"));
}

#[test]
fn an_item_that_everybody_solves_has_no_finite_weight() {
    let model = Model::from_toml("variables = ['a', 'b', 'c']\nfamily = 'ising'\nstates = [0, 1]").unwrap();
    let coin = noisewright::Categorical::bernoulli(0.0, 1.0, 0.4).unwrap();
    let columns =
        [sample(&coin, 300, 1).values().to_vec(), sample(&coin, 300, 2).values().to_vec(), vec![1.0; 300]];
    let points = Points::from_columns(&["a", "b", "c"], &columns).unwrap();
    let refused = fit(&model, Data::from(&points), &FitOptions::default()).unwrap_err();
    assert!(matches!(&refused, Error::ConstantColumn { column, .. } if column == "c"), "{refused}");
    // One row without the item does not hold all of its weights back: those of the states that were not seen run off.
    let mut columns = columns;
    (columns[0][0], columns[1][0], columns[2][0]) = (1.0, 1.0, 0.0);
    let points = Points::from_columns(&["a", "b", "c"], &columns).unwrap();
    let fitted = fit(&model, Data::from(&points), &FitOptions::default()).unwrap();
    assert!(!fitted.converged && fitted.diagnostics.separation.is_some());
    assert_eq!(fitted.diagnostics.no_answer().unwrap().kind, WarningKind::Separation);
    // With such rows beside all values of the other items the answer is finite.
    columns[2][..4].fill(0.0);
    for (i, (a, b)) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].into_iter().enumerate() {
        (columns[0][i], columns[1][i]) = (a, b);
    }
    let points = Points::from_columns(&["a", "b", "c"], &columns).unwrap();
    let fitted = fit(&model, Data::from(&points), &FitOptions::default()).unwrap();
    assert!(fitted.converged && fitted.diagnostics.separation.is_none());
}

#[test]
fn a_bound_stops_a_parameter_that_would_run_off() {
    let space = Space::real(&["x"]).unwrap();
    let names = vec![Parameter::new("spread", 0.0), Parameter::new("strauss", 0.0).bounded(-50.0, 0.0)];
    let model = Model::from_features(&["x^2", "max(abs(x) - 2, 0)"], space, names).unwrap();
    let inner: Vec<f64> =
        sample(&normal(0.0, 1.0), 2000, 1).values().iter().copied().filter(|x| x.abs() < 1.9).collect();
    let points = Points::from_columns(&["x"], &[inner]).unwrap();
    let fitted = fit(&model, Data::from(&points), &given(normal(0.0, 2.0), 2.0)).unwrap();
    assert!(fitted.diagnostics.separation.is_none() && fitted.converged);
    assert_eq!(fitted.get("strauss").unwrap().estimate, -50.0);
    assert!(fitted.diagnostics.has(WarningKind::AtBound));
}

// ---- overlap and tails ----

#[test]
fn noise_equal_to_the_data_overlaps_wholly() {
    let points = sample(&normal(0.0, 1.0), 4000, 1);
    let fitted = fit(&gaussian(), Data::from(&points), &given(normal(0.0, 1.0), 1.0)).unwrap();
    let overlap = fitted.diagnostics.overlap.unwrap();
    // 1/(1+r) is ½ but for the parameters' errors, of relative variance 3/4000 at most.
    assert!((overlap.overlap - 1.0).abs() < 0.01, "{overlap:?}");
    assert!(overlap.effective_data > 3900.0 && overlap.effective_noise > 3900.0, "{overlap:?}");
    assert!((overlap.data_taken_for_noise - overlap.noise_taken_for_data).abs() < 1e-6);
    assert!(fitted.diagnostics.warnings.iter().all(|w| w.kind != WarningKind::LightTails));
}

#[test]
fn the_overlap_of_two_normals_is_that_of_quadrature() {
    // E_d[p_n/(½p_d + ½p_n)] for N(0,1) and N(1,1): 2∫p_d p_n/(p_d + p_n), 0.795946 by scipy's quad.
    let points = sample(&normal(0.0, 1.0), 20_000, 1);
    let fitted = fit(&gaussian(), Data::from(&points), &given(normal(1.0, 1.0), 1.0)).unwrap();
    let overlap = fitted.diagnostics.overlap.unwrap().overlap;
    // The standard deviation of 2p_n/(p_d + p_n) is 0.40.
    assert!((overlap - OVERLAP_OF_NORMALS).abs() < 4.0 * 0.40 / 20_000f64.sqrt(), "{overlap}");
}

const OVERLAP_OF_NORMALS: f64 = 0.795_946;

#[test]
fn lighter_tails_than_the_data_are_named() {
    let model = Model::from_toml(
        "variables = ['x']\nlog_density = '-a*log1p(x^2/3)'\n[parameters]\na = { start = 2, lower = 0.6 }",
    )
    .unwrap();
    let points = sample(&Student::new(3.0, 0.0, 1.0).unwrap(), 5000, 1);
    let light = fit(&model, Data::from(&points), &given(normal(0.0, 1.0), 2.0)).unwrap();
    assert!(light.diagnostics.has(WarningKind::LightTails), "{:?}", light.diagnostics.tails);
    assert!(light.diagnostics.tails.unwrap().largest_log_ratio_data > 10.0);
    let heavy = fit(&model, Data::from(&points), &given(Student::new(2.0, 0.0, 1.0).unwrap(), 2.0)).unwrap();
    assert!(!heavy.diagnostics.has(WarningKind::LightTails), "{:?}", heavy.diagnostics.tails);
}

#[test]
fn two_samples_three_deviations_apart_have_no_tails_to_speak_of() {
    // The ratio of two normals 3 apart is log-normal, and a Pareto shape fitted to it above 0.7 whichever is the first. The weights of
    // the loss are bounded all the same, and there is no noise to exchange; KL has weights that are not.
    let warned = |loss: Loss, first: f64, second: f64, seed: u64| {
        let [a, b] =
            [(first, 0), (second, 1)].map(|(mean, i)| sample(&normal(mean, 1.0), 3000, 2 * seed + i));
        let options = FitOptions { loss, ..FitOptions::default() };
        let model = line(&["x", "x^2"]);
        let found =
            noisewright::internal::fit::ratio(&model, Data::from(&a), Data::from(&b), &options).unwrap();
        found.fit.diagnostics.has(WarningKind::LightTails)
    };
    for seed in 0..20 {
        assert!(!warned(Loss::Js, 3.0, 0.0, seed) && !warned(Loss::Js, 0.0, 3.0, seed), "{seed}");
    }
    assert!(warned(Loss::Kl, 3.0, 0.0, 0));
}

#[test]
fn a_designed_noise_that_bounds_the_ratio_has_no_light_tails() {
    // A tenth of it is `auto`, which bounds the ratio by 13; most of the rest of the draws are where the weights are small, so that a
    // Pareto shape above 0.7 is fitted to them.
    for seed in 0..20 {
        let points = sample(&normal(0.0, 1.0), 500, 40 + seed);
        let target = noisewright::Target::Coordinates(vec!["x".into()]);
        let options = FitOptions { noise: NoiseChoice::Optimal, target, seed, ..ratio(1.0) };
        let fitted = fit(&line(&["x", "x^2"]), Data::from(&points), &options).unwrap();
        let said = &fitted.diagnostics;
        assert!(said.optimal.is_some() && !said.has(WarningKind::LightTails), "{:?}", said.warnings);
        // Ten times what the density of the data exceeds `auto` by, which is less than two.
        assert!(said.tails.unwrap().largest_log_ratio_data < 20f64.ln(), "{:?}", said.tails);
    }
}

// ---- misspecification ----

/// Shares of p-values below 5 % of the information-matrix test, and its mean over its degrees of freedom.
fn information_tests(
    model: &Model,
    repeats: u64,
    draw: impl Fn(u64) -> Points,
    options: &FitOptions,
) -> (f64, f64) {
    let (mut rejected, mut relative) = (0.0, 0.0);
    for seed in 0..repeats {
        let points = draw(1000 + seed);
        let fitted = fit(model, Data::from(&points), &FitOptions { seed, ..options.clone() }).unwrap();
        let test = fitted.diagnostics.information_test.unwrap();
        rejected += f64::from(u8::from(test.p_value < 0.05));
        relative += test.statistic / test.degrees_of_freedom as f64;
    }
    (rejected / repeats as f64, relative / repeats as f64)
}

#[test]
fn the_information_test_keeps_its_level_for_a_right_model() {
    let repeats = 400;
    // Four standard deviations of a proportion of 5 % in 400, and of a mean of χ²/3 with variance 2/3.
    let (share, mean) = (4.0 * (0.05f64 * 0.95 / 400.0).sqrt(), 4.0 * (2.0f64 / 3.0 / 400.0).sqrt());
    let normalized = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), true).unwrap();
    for (model, nu) in [(gaussian(), 1.0), (normalized, 3.0)] {
        let draw = |seed| sample(&normal(0.5, 1.5), 600, seed);
        let (rejected, relative) = information_tests(&model, repeats, draw, &given(normal(0.0, 3.0), nu));
        println!("rejected {rejected}, statistic per degree {relative}");
        assert!(
            (rejected - 0.05).abs() < share && (relative - 1.0).abs() < 1.5 * mean,
            "{rejected} {relative}"
        );
    }
}

#[test]
fn the_information_test_finds_two_bumps() {
    let (rejected, _) =
        information_tests(&gaussian(), 40, |seed| bumps(600, seed), &given(normal(0.0, 3.0), 3.0));
    assert!(rejected > 0.9, "{rejected}");
}

#[test]
fn the_information_test_of_maximum_likelihood_keeps_its_level_and_has_power() {
    let exact = FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() };
    let model = line(&["x^2", "x^4"]);
    let truth =
        noisewright::parts::ModelNoise::data(&model, &[0.5, -0.1], &noisewright::Precision::default())
            .unwrap();
    // Four standard deviations of a proportion of 5 % in 200, and of a mean of χ² over its degrees of freedom.
    let (rejected, relative) = information_tests(&model, 200, |seed| sample(&truth, 800, seed), &exact);
    println!("rejected {rejected}, statistic per degree {relative}");
    assert!((rejected - 0.05).abs() < 4.0 * (0.05f64 * 0.95 / 200.0).sqrt(), "{rejected}");
    assert!((relative - 1.0).abs() < 4.0 * (2.0f64 / 200.0).sqrt(), "{relative}");
    let (rejected, _) = information_tests(&gaussian(), 20, |seed| bumps(600, seed), &exact);
    assert!(rejected > 0.9, "{rejected}");
}

/// Share of p-values below 5 % when ν is compared with 4ν.
fn ratio_tests(model: &Model, repeats: u64, draw: impl Fn(u64) -> Points, options: &FitOptions) -> f64 {
    let rejects = |seed: u64| {
        let points = draw(2000 + seed);
        let options = FitOptions { seed, check_ratio: true, ..options.clone() };
        let check = fit(model, Data::from(&points), &options).unwrap().diagnostics.ratio_check.unwrap();
        f64::from(u8::from(check.test.unwrap().p_value < 0.05))
    };
    (0..repeats).map(rejects).sum::<f64>() / repeats as f64
}

#[test]
fn four_times_as_much_noise_changes_nothing_when_the_model_is_right() {
    let draw = |seed| sample(&normal(0.5, 1.5), 600, seed);
    let rejected = ratio_tests(&gaussian(), 300, draw, &given(normal(0.0, 3.0), 0.5));
    // Four standard deviations of a proportion of 5 % in 300.
    assert!((rejected - 0.05).abs() < 4.0 * (0.05f64 * 0.95 / 300.0).sqrt(), "{rejected}");
}

#[test]
fn four_times_as_much_noise_tells_a_wrong_model() {
    let rejected = ratio_tests(&gaussian(), 20, |seed| bumps(3000, seed), &given(normal(1.5, 2.0), 0.5));
    assert!(rejected > 0.8, "{rejected}");
}

// ---- efficiency ----

fn budget<'a>(fitted: &'a Fit, name: &str) -> &'a noisewright::parts::ErrorBudget {
    fitted.diagnostics.error_budget.iter().find(|b| b.name == name).unwrap()
}

#[test]
fn noise_equal_to_the_data_has_the_efficiency_of_theory() {
    // Var = (1 + 1/ν) I⁻¹ / T_d at p_n = p_d (MATH §3), half of it from each sample at ν = 1.
    let model =
        Model::from_toml("variables = ['x']\nlog_density = 'm*x - x^2/2'\n[parameters]\nm = 0").unwrap();
    let points = sample(&normal(0.0, 1.0), 20_000, 1);
    for nu in [1.0, 4.0] {
        let fitted = fit(&model, Data::from(&points), &given(normal(0.0, 1.0), nu)).unwrap();
        let mean = budget(&fitted, "m");
        assert!((mean.efficiency.unwrap() - nu / (1.0 + nu)).abs() < 0.03, "{mean:?}");
        assert!((mean.data_share - nu / (1.0 + nu)).abs() < 0.03, "{mean:?}");
        assert!((mean.cramer_rao.unwrap() * 20_000.0 - 1.0).abs() < 1e-6);
    }
}

#[test]
fn the_efficiency_of_a_normalized_model_is_that_of_its_asymptotic_error() {
    use noisewright::internal::{Contrast, asymptotic_error};
    use noisewright::{Loss, Precision, Target};
    let model = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), true).unwrap();
    let points = sample(&normal(0.0, 1.0), 40_000, 1);
    let noise = normal(0.5, 2.0);
    let fitted = fit(&model, Data::from(&points), &given(noise.clone(), 2.0)).unwrap();
    let contrast = Contrast { noise: &noise, nu: 2.0, loss: &Loss::Js };
    for (j, name) in ["h0", "P00"].into_iter().enumerate() {
        let target = Target::Coordinates(vec![name.into()]);
        let report = asymptotic_error(&model, &[0.0, 1.0], contrast, &target, &Precision::default()).unwrap();
        let efficiency = fitted.diagnostics.error_budget[j].efficiency.unwrap();
        assert!(
            (efficiency / report.efficiency.unwrap() - 1.0).abs() < 0.02,
            "{name} {efficiency} {report:?}"
        );
    }
    let exact = FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() };
    let exact = fit(&gaussian(), Data::from(&points), &exact).unwrap();
    assert!((budget(&exact, "P00").efficiency.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn too_little_noise_is_said_with_how_much_would_do() {
    let points = sample(&normal(0.0, 1.0), 2000, 1);
    let fitted = fit(&gaussian(), Data::from(&points), &given(normal(0.0, 1.5), 0.2)).unwrap();
    let warning = fitted.diagnostics.warnings.iter().find(|w| w.kind == WarningKind::NoiseError).unwrap();
    assert!(warning.suggestion().starts_with("give more noise (.ratio("), "{warning}");
    let enough = fit(&gaussian(), Data::from(&points), &given(normal(0.0, 1.5), 20.0)).unwrap();
    assert!(!enough.diagnostics.has(WarningKind::NoiseError));
}

#[test]
fn an_angle_is_given_within_half_a_turn_whatever_the_seed() {
    let text = "variables = ['x']\nfamily = 'von-mises'\nparametrization = 'polar'";
    let model = Model::from_toml(text).unwrap();
    let data = sample(&VonMises::new(2.0, 1.5).unwrap(), 400, 3);
    for seed in 0..4 {
        let options = FitOptions { seed, amount: Amount::Ratio(20.0), ..FitOptions::default() };
        let fitted = fit(&model, Data::from(&data), &options).unwrap();
        let mean = &fitted.parameters[0];
        assert!((mean.estimate - 2.0).abs() < 5.0 * mean.se, "seed {seed}: {}", mean.estimate);
        assert_eq!(fitted.optima.len(), 1, "copies a turn apart are one minimum");
    }
}

#[test]
fn parameters_that_only_appear_as_a_product_end_without_a_panic() {
    let text = "variables = ['x']\nlog_density = 'a*b*x - x^2/2'\n[parameters]\na = 1\nb = 1";
    let model = Model::from_toml(text).unwrap();
    let data = sample(&Normal::with_variance(0.3, 1.0).unwrap(), 300, 4);
    let options = FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() };
    // Whatever it says, it says it in a sentence.
    if let Err(error) = fit(&model, Data::from(&data), &options) {
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn an_interval_near_a_bound_does_not_run_off() {
    let text = "variables = ['x']\nlog_density = '-a*x^2/2 - b*x^4'\n[parameters]\na = 1\nb = { start = 0.1, lower = 0 }";
    let model = Model::from_toml(text).unwrap();
    for seed in 0..6 {
        let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 300, 100 + seed);
        let fitted = fit(
            &model,
            Data::from(&data),
            &FitOptions { amount: Amount::Ratio(20.0), ..FitOptions::default() },
        )
        .unwrap();
        let b = fitted.get("b").unwrap();
        assert!(b.at_bound || (b.lower >= 0.0 && b.upper <= b.estimate + 10.0 * b.se), "{b:?}");
    }
}

#[test]
fn weights_without_a_variance_are_named() {
    let model = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), false).unwrap();
    let data = sample(&Normal::with_variance(1.0, 4.0).unwrap(), 2000, 5);
    let with = |loss: Loss| {
        let options = FitOptions { loss, amount: Amount::Ratio(5.0), ..FitOptions::default() };
        fit(&model, Data::from(&data), &options).unwrap().diagnostics
    };
    assert!(with(Loss::ReverseKl).has(WarningKind::HeavyWeights));
    assert!(!with(Loss::Js).has(WarningKind::HeavyWeights));
    assert!(!with(Loss::Kl).has(WarningKind::HeavyWeights));
}

#[test]
fn a_formula_that_is_not_normalized_is_not_fitted_as_if_it_were() {
    let text = "variables = ['x']\nlog_density = '-(x-m)^2/2'\nnormalized = true\n[parameters]\nm = 0";
    let model = Model::from_toml(text).unwrap();
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 200, 6);
    let refused =
        fit(&model, Data::from(&data), &FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() });
    assert!(matches!(refused, Err(Error::NotNormalized { .. })), "{refused:?}");
}

#[test]
fn mass_where_nothing_was_seen_is_named() {
    // Heavy tails with a few points far to the right: the cubic term rises and the quartic one nearly vanishes, so that
    // some fits have a second mode far out.
    let model = line(&["x", "x^2", "x^3", "x^4"]);
    let mut named = 0;
    for seed in 0..60 {
        let mut values = sample(&Student::new(5.0, 0.0, 1.0).unwrap(), 400, 60 + seed).values().to_vec();
        values.extend([5.5, 6.0 + 0.05 * seed as f64]);
        let data = Points::unnamed(1, values.len(), values);
        let Ok(fitted) = fit(&model, Data::from(&data), &ratio(20.0)) else { continue };
        let Ok(population) =
            noisewright::Population::new(&model, &fitted.theta(), &noisewright::Precision::default())
        else {
            continue;
        };
        let constant = fitted.log_normalizer.as_ref().unwrap();
        let off = population.log_normalizer() - constant.estimate > 1.0 + 8.0 * constant.se;
        let told =
            fitted.diagnostics.has(WarningKind::UnseenMass) || fitted.diagnostics.no_answer().is_some();
        assert!(!off || told, "seed {seed}: {} and {constant:?}", population.log_normalizer());
        named += usize::from(off);
    }
    assert!(named > 0, "no fit of these has a second mode");
}
