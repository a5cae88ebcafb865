//! Weights, clusters, chains, streams and checks of a fit beside quiet noise (MATH §8): the noise part is the replicates', the rest
//! is what it is with independent noise.

use std::sync::Arc;

use noisewright::fit::{
    Amount, Data, Dependence, DrawKind, FitOptions, NoiseChoice, Source, Visit, WarningKind, fit_stream,
};
use noisewright::internal::fit::fit;
use noisewright::{Error, Estimate, Fit, Model, Noise, Normal, Points, Result, Space, View, sample};

fn gaussian() -> Model {
    Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

fn normal_draws(rows: usize, seed: u64) -> Points {
    sample(&Normal::with_variance(0.5, 1.5).unwrap(), rows, seed)
}

/// The same quiet points for all data of the same seed: 512 of them, M = 10.
fn same_noise() -> FitOptions {
    let noise: Arc<dyn Noise> = Arc::new(Normal::with_variance(0.0, 4.0).unwrap());
    FitOptions {
        noise: NoiseChoice::Given(noise),
        amount: Amount::Points(512),
        draws: DrawKind::Quiet,
        loss_ratio: Some(10.0),
        ..FitOptions::default()
    }
}

/// The relative differences of one number of every estimate of two fits.
fn apart(a: &Fit, b: &Fit, number: fn(&Estimate) -> f64) -> f64 {
    let pairs = a.estimates().into_iter().zip(b.estimates());
    pairs.map(|(a, b)| (number(a) / number(b) - 1.0).abs()).fold(0.0, f64::max)
}

/// Every row `times` over, one copy after the other.
fn repeated(points: &Points, times: usize) -> Points {
    let values = points.values().iter().flat_map(|x| std::iter::repeat_n(*x, times)).collect();
    Points::unnamed(1, times * points.rows(), values)
}

#[test]
fn weights_count_rows_as_often_as_they_say() {
    let (model, data) = (gaussian(), normal_draws(400, 1));
    let weights = vec![3.0; 400];
    let weighted = fit(&model, Data::from(&data).with_weights(&weights), &same_noise()).unwrap();
    let triple = repeated(&data, 3);
    let counted = fit(&model, Data::from(&triple), &same_noise()).unwrap();
    assert_eq!((weighted.nu, weighted.noise_points), (counted.nu, counted.noise_points));
    assert!(apart(&weighted, &counted, |e| e.estimate) < 1e-7);
    assert!(apart(&weighted, &counted, |e| e.se_noise) < 1e-6);
    // Leverages differ by their order, p/n.
    assert!(apart(&weighted, &counted, |e| e.se_data) < 0.01);
}

/// Two copies of every row in one cluster say what one says, but for corrections of the order of the leverages, p/n.
#[test]
fn clusters_widen_the_data_part_alone() {
    let (model, data) = (gaussian(), normal_draws(4000, 2));
    let single = fit(&model, Data::from(&data), &same_noise()).unwrap();
    let double = repeated(&data, 2);
    let ids: Vec<u64> = (0..8000).map(|i| i / 2).collect();
    let clustered = Data::from(&double).with_dependence(Dependence::Clusters(&ids));
    let clustered = fit(&model, clustered, &same_noise()).unwrap();
    let off = apart(&clustered, &single, |e| e.se_data);
    assert!(off < 0.02, "{off}");
    assert!(apart(&clustered, &single, |e| e.se_noise) < 1e-6);
}

/// A chain that stays four steps at every place has the autocorrelation time 4, and its error is that of the places: the
/// long-run variance is found to 4·√(2·(2K + 1)/n), K about 12 lags of 8,000.
#[test]
fn chains_widen_the_data_part_alone() {
    let (model, data) = (gaussian(), normal_draws(2000, 3));
    let places = fit(&model, Data::from(&data), &same_noise()).unwrap();
    let chain = repeated(&data, 4);
    let chain = Data::from(&chain).with_dependence(Dependence::Chains(&[4000, 4000]));
    let found = fit(&model, chain, &same_noise()).unwrap();
    assert!(found.effective_rows.unwrap() < 4000.0);
    assert!(apart(&found, &places, |e| e.se_data) < 0.32);
    assert!(apart(&found, &places, |e| e.se_noise) < 1e-6);
}

struct Blocks<'a>(View<'a>, &'a [f64]);

impl Source for Blocks<'_> {
    fn dimension(&self) -> usize {
        self.0.columns()
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        (0..self.0.rows()).step_by(777).try_for_each(|start| {
            let end = self.0.rows().min(start + 777);
            visit(self.0.slice(start..end), Some(&self.1[start..end]))
        })
    }
}

/// By default, with weights, in memory and streamed, on one, two and five threads; beyond the rows of which a part tells how much
/// noise is needed on one and two.
#[test]
fn a_stream_of_weighted_rows_gives_the_same_bits_on_any_number_of_threads() {
    let model = gaussian();
    for (rows, others) in [(3000, &[2, 5][..]), (300_000, &[2])] {
        let data = normal_draws(rows, 4);
        let weights: Vec<f64> = (0..rows).map(|i| 0.5 + (i % 3) as f64).collect();
        let numbers = |fit: Fit| -> Vec<u64> {
            assert_eq!(fit.draws, Some(DrawKind::Quiet));
            let of = |e: &&Estimate| [e.estimate, e.se, e.se_noise].map(f64::to_bits);
            fit.estimates().iter().flat_map(of).collect()
        };
        let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = FitOptions::default();
        let held = |threads: usize| {
            let data = Data::from(&data).with_weights(&weights);
            numbers(pool(threads).install(|| fit(&model, data, &options).unwrap()))
        };
        let streamed = |threads: usize| {
            let source = Blocks(data.view(), &weights);
            numbers(pool(threads).install(|| fit_stream(&model, &source, &options).unwrap()))
        };
        let one = held(1);
        assert!(others.iter().all(|threads| held(*threads) == one && streamed(*threads) == one), "{rows}");
        assert!(rows > 3000 || streamed(1) == one, "{rows}");
    }
}

/// A right model passes the test of more noise: of 40 p-values 3 or more are below 0.01 with the probability 0.007, and 4 or more
/// with 0.0005. The second fit has four times the points and scrambles of its own. A wrong model is seen: with another M
/// Laplace data give another normal density.
#[test]
#[ignore = "long: ./test.sh --all"]
fn the_check_of_the_ratio_has_its_level_and_its_power() {
    let model = gaussian();
    let checked = |data: &Points, seed: u64| {
        let options = FitOptions { check_ratio: true, seed, ..FitOptions::default() };
        let found = fit(&model, Data::from(data), &options).unwrap();
        assert_eq!(found.draws, Some(DrawKind::Quiet));
        let check = found.diagnostics.ratio_check.clone().unwrap();
        assert!((check.nu / found.nu - 4.0).abs() < 1e-9);
        check.test.map_or(1.0, |test| test.p_value)
    };
    let rejected = (0..40).filter(|seed| checked(&normal_draws(400, 100 + seed), *seed) < 0.01).count();
    assert!(rejected < 4, "{rejected} of 40");
    let laplace = noisewright::Laplace::new(0.0, 1.0).unwrap();
    let seen = (0..5).filter(|seed| checked(&sample(&laplace, 4000, 200 + seed), *seed) < 0.01).count();
    assert!(seen >= 3, "{seen} of 5");
}

/// A noise fitted to its own draws is drawn independently, whatever the default, and refuses to be quiet.
#[test]
fn a_noise_that_is_fitted_to_its_draws_is_not_quiet() {
    let (model, data) = (gaussian(), normal_draws(500, 6));
    let noise = || NoiseChoice::from(Normal::with_variance(0.3, 2.5).unwrap());
    let refitted = FitOptions { refit_noise: true, noise: noise(), ..FitOptions::default() };
    let found = fit(&model, Data::from(&data), &refitted).unwrap();
    assert_eq!((found.draws, found.replicates), (Some(DrawKind::Random), None));
    assert!(found.diagnostics.two_step.is_some());
    let quiet = FitOptions { draws: DrawKind::Quiet, ..refitted };
    let refused = fit(&model, Data::from(&data), &quiet).unwrap_err();
    assert!(matches!(&refused, Error::Option { option, .. } if &**option == "draws"), "{refused}");
}

/// Where the noise's tails are too light a few points carry the sums: by default independent ones, with the warning either way.
#[test]
fn light_tails_are_seen_and_left_to_independent_noise() {
    let model = gaussian();
    let data = sample(&Normal::with_variance(0.0, 4.0).unwrap(), 2000, 7);
    let noise: Arc<dyn Noise> = Arc::new(Normal::with_variance(0.0, 0.7).unwrap());
    let with = |draws| FitOptions {
        noise: NoiseChoice::Given(noise.clone()),
        amount: Amount::Auto { share: 0.1, most_values: 3 << 16 },
        draws,
        ..FitOptions::default()
    };
    let found = fit(&model, Data::from(&data), &with(DrawKind::Auto)).unwrap();
    assert_eq!(found.draws, Some(DrawKind::Random));
    assert!(found.diagnostics.has(WarningKind::LightTails));
    let asked = fit(&model, Data::from(&data), &with(DrawKind::Quiet)).unwrap();
    assert_eq!(asked.draws, Some(DrawKind::Quiet));
    assert!(asked.diagnostics.has(WarningKind::LightTails));
}

/// Without anything in common there is no answer, quietly as well.
#[test]
fn samples_that_do_not_touch_are_refused() {
    let data = sample(&Normal::with_variance(60.0, 1.0).unwrap(), 500, 8);
    let found = fit(&gaussian(), Data::from(&data), &same_noise());
    let refused = found.as_ref().map_or(true, |found| found.diagnostics.no_answer().is_some());
    assert!(refused, "{:?}", found.map(|found| found.unknowns()));
}

/// An amount that is no 16 times a power of two is rounded, and said.
#[test]
fn rounded_amounts_are_said() {
    let (model, data) = (gaussian(), normal_draws(500, 9));
    let of = |points| {
        let options = FitOptions { amount: Amount::Points(points), ..same_noise() };
        fit(&model, Data::from(&data), &options).unwrap()
    };
    let (rounded, exact) = (of(1000), of(1024));
    assert_eq!((rounded.noise_points, exact.noise_points), (1024, 1024));
    let said = |found: &Fit| found.diagnostics.warnings.iter().any(|w| w.code() == "rounded-noise");
    assert!(said(&rounded) && !said(&exact));
}
