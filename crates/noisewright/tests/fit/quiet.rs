//! Fits against quiet noise (MATH §8).

use std::sync::Arc;

use noisewright::fit::{Amount, Data, DrawKind, FitOptions, NoiseChoice, Source, Visit, fit_stream};
use noisewright::internal::fit::fit;
use noisewright::{Fit, Model, Noise, Normal, Points, Result, Space, View, sample};

fn quartic() -> Model {
    Model::from_features(&["x^2/2", "-x^4"], Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

/// Draws of exp(x²/2 − x⁴/10), by rejection under a wide normal.
fn quartic_draws(rows: usize, seed: u64) -> Points {
    let wide = sample(&Normal::with_variance(0.0, 4.0).unwrap(), 12 * rows, seed);
    let uniform = sample(&noisewright::Uniform::new(0.0, 1.0).unwrap(), 12 * rows, seed + 1_000_000);
    // log of the ratio to exp(−x²/8) is 5x²/8 − x⁴/10, at most (5/8)²·10/4 = 0.9765625.
    let keep = |(x, u): (&f64, &f64)| {
        let ratio = 0.625 * x * x - 0.1 * x.powi(4) - 0.976_562_5;
        (u.ln() < ratio).then_some(*x)
    };
    let kept: Vec<f64> = wide.values().iter().zip(uniform.values()).filter_map(keep).take(rows).collect();
    assert_eq!(kept.len(), rows);
    Points::unnamed(1, rows, kept)
}

fn options(draws: DrawKind) -> FitOptions {
    FitOptions { draws, ..FitOptions::default() }
}

fn against_normal(draws: DrawKind, points: usize) -> FitOptions {
    let noise: Arc<dyn Noise> = Arc::new(Normal::with_variance(0.0, 4.0).unwrap());
    FitOptions { noise: NoiseChoice::Given(noise), amount: Amount::Points(points), ..options(draws) }
}

fn numbers(fit: &Fit) -> Vec<u64> {
    let estimates = fit.estimates();
    let values = estimates.iter().flat_map(|e| [e.estimate, e.se, e.se_noise, e.lower]);
    values.chain([fit.loss, fit.noise_gain.unwrap_or(0.0)]).map(f64::to_bits).collect()
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let (model, data) = (quartic(), quartic_draws(5000, 3));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| numbers(&fit(&model, Data::from(&data), &options(DrawKind::Quiet)).unwrap()))
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(5));
}

struct Blocks<'a>(View<'a>);

impl Source for Blocks<'_> {
    fn dimension(&self) -> usize {
        self.0.columns()
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        (0..self.0.rows())
            .step_by(700)
            .try_for_each(|start| visit(self.0.slice(start..self.0.rows().min(start + 700)), None))
    }
}

#[test]
fn a_stream_gives_the_same_bits_as_memory() {
    let (model, data) = (quartic(), quartic_draws(3000, 4));
    let held = fit(&model, Data::from(&data), &options(DrawKind::Quiet)).unwrap();
    let streamed = fit_stream(&model, &Blocks(data.view()), &options(DrawKind::Quiet)).unwrap();
    assert_eq!(numbers(&held), numbers(&streamed));
}

#[test]
fn the_result_says_what_was_drawn() {
    let (model, data) = (quartic(), quartic_draws(1024, 5));
    let quiet = fit(&model, Data::from(&data), &against_normal(DrawKind::Quiet, 1000)).unwrap();
    // 1000/16 = 62.5 points a replicate, of which 64 is the nearest power of two.
    assert_eq!((quiet.draws, quiet.replicates, quiet.noise_points), (Some(DrawKind::Quiet), Some(16), 1024));
    assert!(quiet.noise_gain.unwrap() > 10.0 && quiet.loss_ratio.is_some());
    let random = fit(&model, Data::from(&data), &against_normal(DrawKind::Random, 1000)).unwrap();
    assert_eq!((random.draws, random.replicates, random.noise_points), (Some(DrawKind::Random), None, 1000));
    assert_eq!((random.noise_gain, random.loss_ratio), (None, Some(random.nu)));
    assert!(quiet.noise_share() < 0.2 * random.noise_share());
    // M = ν given in words is what is taken anyway.
    let said = FitOptions { loss_ratio: Some(random.nu), ..against_normal(DrawKind::Random, 1000) };
    assert_eq!(numbers(&fit(&model, Data::from(&data), &said).unwrap()), numbers(&random));
    let wrong = FitOptions { loss_ratio: Some(0.0), ..options(DrawKind::Random) };
    assert!(fit(&model, Data::from(&data), &wrong).is_err());
}

/// T_d·MSE of a is 9.848 for maximum likelihood and 9.70 ± 0.56 for 64 quiet points per 1024 rows with M = 10 in MATH §8. Here
/// with 16 replicates of 4 points, whose nets are short, and of 32, whose noise part is small: the mean square of
/// 120 standardized errors of each unknown is 1 to within 4 standard errors, √(2/120)·4 = 0.52, and wider where the
/// standard error is itself an estimate with 15 degrees of freedom (t² has the mean 15/13).
#[test]
fn standard_errors_from_replicates_are_those_of_the_estimates() {
    let (model, truth) = (quartic(), [1.0, 0.1]);
    for points in [64, 512] {
        let mut squares = [0.0; 2];
        let repeats = 120;
        for repeat in 0..repeats {
            let data = quartic_draws(1024, 10 + 2 * repeat);
            let with = FitOptions {
                seed: repeat,
                loss_ratio: Some(10.0),
                ..against_normal(DrawKind::Quiet, points)
            };
            let found = fit(&model, Data::from(&data), &with).unwrap();
            for (sum, (e, truth)) in squares.iter_mut().zip(found.parameters.iter().zip(truth)) {
                *sum += ((e.estimate - truth) / e.se).powi(2) / repeats as f64;
            }
        }
        for mean in squares {
            assert!(mean > 1.0 - 0.52 && mean < 15.0 / 13.0 + 0.60, "{points}: {mean}");
        }
    }
}

#[test]
fn auto_is_quiet_where_that_pays_and_random_where_the_amount_is_given() {
    let found = fit(&quartic(), Data::from(&quartic_draws(2000, 7)), &options(DrawKind::Auto)).unwrap();
    assert_eq!(found.draws, Some(DrawKind::Quiet));
    assert!(found.noise_share() <= 0.1 && found.noise_points <= 2048, "{}", found.noise_points);
    // A given amount is kept to the point.
    let fixed =
        fit(&quartic(), Data::from(&quartic_draws(500, 8)), &against_normal(DrawKind::Auto, 777)).unwrap();
    assert_eq!((fixed.draws, fixed.noise_points), (Some(DrawKind::Random), 777));
}

/// A noise of one's own that only knows how to draw.
struct OnlyDrawn;

impl OnlyDrawn {
    fn normal() -> Normal {
        Normal::with_variance(0.0, 4.0).unwrap()
    }
}

impl Noise for OnlyDrawn {
    fn dimension(&self) -> usize {
        1
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        Self::normal().log_density(points, out);
    }

    fn draw(&self, stream: &mut noisewright::Stream, rows: usize, out: &mut [f64]) {
        Self::normal().draw(stream, rows, out);
    }

    fn describe(&self) -> String {
        "own".into()
    }
}

#[test]
fn a_noise_that_cannot_be_quiet_is_refused_when_asked_to() {
    let with = FitOptions { noise: NoiseChoice::Given(Arc::new(OnlyDrawn)), ..options(DrawKind::Quiet) };
    let (model, data) = (quartic(), quartic_draws(500, 1));
    assert!(fit(&model, Data::from(&data), &with).unwrap_err().to_string().contains("drawn quietly"));
    let auto = FitOptions { draws: DrawKind::Auto, ..with };
    assert_eq!(fit(&model, Data::from(&data), &auto).unwrap().draws, Some(DrawKind::Random));
}

/// A right model is rejected at the 1 % level about one time in a hundred: 3 of 60 or more have the probability 0.02,
/// 5 or more 0.0004. A wrong one (Laplace data) is seen.
#[test]
fn the_test_of_the_model_has_its_level_and_its_power() {
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let p_value = |source: &dyn Noise, seed: u64| {
        let data = sample(source, 400, seed);
        let found = fit(&model, Data::from(&data), &FitOptions { seed, ..options(DrawKind::Quiet) }).unwrap();
        found.diagnostics.information_test.unwrap().p_value
    };
    let normal = Normal::with_variance(0.5, 2.0).unwrap();
    let rejected = (0..60).filter(|seed| p_value(&normal, *seed) < 0.01).count();
    assert!(rejected < 5, "{rejected} of 60");
    let laplace = noisewright::Laplace::new(0.0, 1.0).unwrap();
    let seen = (0..10).filter(|seed| p_value(&laplace, *seed) < 0.01).count();
    assert!(seen >= 8, "{seen} of 10");
}
