//! Quiet draws of conditional models: rows ranked among the other points of a net that they lie in.

use noisewright::fit::{CovarianceKind, DrawKind, FitOptions};
use noisewright::prelude::*;

use crate::conditional::{conditional, least_squares, line, on_a_line};

/// At q = p a row is any point of its net with the same probability, so that the information lost is the variance of the mean score
/// over a net, of which a scrambled net of n points in one dimension has far less than the 1/n of independent points.
#[test]
fn nets_lose_far_less_than_one_over_k() {
    let data = on_a_line(20_000, 3);
    let (_, variances) = least_squares(&data);
    for (choices, most) in [(3, 0.12), (15, 0.02)] {
        let fit = line()
            .fit(&data)
            .noise(conditional("normal(1 + 2*z, 1)"))
            .choices(choices)
            .draws(DrawKind::Quiet)
            .starts(1)
            .errors(CovarianceKind::ModelBased)
            .run()
            .unwrap();
        assert_eq!((fit.draws, fit.choices, fit.replicates), (Some(DrawKind::Quiet), Some(choices), Some(2)));
        assert!(fit.noise_gain.unwrap() > 2.5, "{:?}", fit.noise_gain);
        for (estimate, least) in fit.parameters.iter().zip(variances) {
            let whole = estimate.se.powi(2) / least;
            // The mean of 20,000 squares has a relative error of 1 %: four of those.
            assert!(whole < 1.0 + most + 0.04, "K = {choices}: {whole}");
            let noise = estimate.se_noise.powi(2) / least;
            assert!(noise < most, "K = {choices}: {noise}");
        }
    }
}

/// The ranking loss is a likelihood given the net, so that its estimates tend to the truth however few points a net has; a sum
/// over points that are not independent would not, were the row not one of them. Over 60 seeds of the noise on the same
/// rows the mean is that of maximum likelihood, and the spread what `se_noise` says.
#[test]
#[ignore = "long: ./test.sh --all"]
fn few_points_of_a_net_have_no_bias_and_the_error_they_claim() {
    let data = on_a_line(3000, 6);
    let (least, _) = least_squares(&data);
    let seeds = 60;
    // A noise that is neither the density nor symmetric about it.
    let noise = || conditional("0.6*normal(2 + 1.5*z, 4) + 0.4*student(5, z, 2)");
    let fit = |seed: u64| {
        line().fit(&data).noise(noise()).choices(3).draws(DrawKind::Quiet).starts(1).seed(seed).run().unwrap()
    };
    let fits: Vec<Fit> = (0..seeds).map(fit).collect();
    for j in 0..2 {
        let values: Vec<f64> = fits.iter().map(|fit| fit.parameters[j].estimate).collect();
        let mean = values.iter().sum::<f64>() / seeds as f64;
        let spread = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (seeds - 1) as f64;
        let told = fits.iter().map(|fit| fit.parameters[j].se_noise.powi(2)).sum::<f64>() / seeds as f64;
        // √(2/59) is 18 %: four of those.
        assert!((spread / told - 1.0).abs() < 0.74, "{j}: {spread} told {told}");
        // The rows are the same for all seeds; ranking tends to what maximum likelihood does, from which it is off by the part of
        // the rows' error that the loss adds, of the size of the noise's part.
        assert!((mean - least[j]).abs() < 4.0 * told.sqrt(), "{j}: {mean} and {}", least[j]);
    }
}

/// z-scores over data sets: their mean square is one to √(2/150).
#[test]
fn errors_of_nets_hold_over_data_sets() {
    let (mut squares, mut sums, sets) = ([0.0; 2], [0.0; 2], 150);
    for seed in 0..sets {
        let data = on_a_line(200, 3000 + seed);
        let fit = line().fit(&data).choices(7).draws(DrawKind::Quiet).starts(1).seed(seed).run().unwrap();
        for (j, truth) in [1.0, 2.0].into_iter().enumerate() {
            let e = &fit.parameters[j];
            let z = (e.estimate - truth) / e.se;
            squares[j] += z * z / sets as f64;
            sums[j] += z / (sets as f64).sqrt();
        }
    }
    assert!(
        squares.iter().all(|square| (square - 1.0).abs() < 4.0 * (2.0 / sets as f64).sqrt()),
        "{squares:?}"
    );
    assert!(sums.iter().all(|sum| sum.abs() < 4.0), "{sums:?}");
}

/// Left to itself a fit draws quietly where that halves the noise's part, and needs fewer points for the same share.
#[test]
fn the_default_takes_nets_where_they_pay() {
    let data = on_a_line(500, 4);
    let fit = |draws: DrawKind| line().fit(&data).draws(draws).run().unwrap();
    let (auto, random) = (fit(DrawKind::Auto), fit(DrawKind::Random));
    assert_eq!((auto.draws, random.draws), (Some(DrawKind::Quiet), Some(DrawKind::Random)));
    assert!(auto.choices.unwrap() < random.choices.unwrap(), "{:?} {:?}", auto.choices, random.choices);
    for fit in [&auto, &random] {
        assert!(fit.parameters.iter().all(|e| e.se_noise <= 0.1 * e.se));
    }
    // Counts and angles have distribution functions too; a histogram of the covariates' own would not be asked.
    let asked = line().fit(&data).choices(20).draws(DrawKind::Quiet).run().unwrap();
    assert_eq!(asked.choices, Some(15));
    assert!(asked.diagnostics.warnings.iter().any(|w| w.code() == "rounded-choices"));
}

/// In two variables, by the normal and Student parts of the default noise along their principal axes.
#[test]
fn nets_serve_several_variables() {
    let text = "variables = ['x', 'y']\ncovariates = ['z']\n\
                log_density = '-(x - a*z)^2/2 - (y - b*x)^2/2'\n[parameters]\na = 0\nb = 0";
    let model = Model::from_toml(text).unwrap();
    let parts = (0..3).map(|_| std::sync::Arc::new(Normal::with_std(0.0, 1.0).unwrap()) as _).collect();
    let drawn = sample(&Product::of_shared(parts).unwrap(), 2000, 8);
    let column = |j: usize| drawn.view().column(j).to_vec();
    let z = column(0);
    let x: Vec<f64> = z.iter().zip(column(1)).map(|(z, e)| 1.5 * z + e).collect();
    let y: Vec<f64> = x.iter().zip(column(2)).map(|(x, e)| -0.5 * x + e).collect();
    let data = Points::from_columns(&["x", "y", "z"], &[x, y, z]).unwrap();
    let options = FitOptions { choices: Some(31), draws: DrawKind::Quiet, ..FitOptions::default() };
    let fit = model.fit(&data).options(options).run().unwrap();
    for (e, truth) in fit.parameters.iter().zip([1.5, -0.5]) {
        assert!((e.estimate - truth).abs() < 4.0 * e.se, "{e:?}");
    }
    assert!(fit.noise_gain.unwrap() > 1.5, "{:?}", fit.noise_gain);
}

/// Whatever the threads, the same bits.
#[test]
fn nets_do_not_depend_on_threads() {
    let data = on_a_line(700, 2);
    let on = |threads: usize| {
        line().fit(&data).choices(7).draws(DrawKind::Quiet).seed(4).threads(threads).run().unwrap()
    };
    let (one, two) = (on(1), on(2));
    assert_eq!((one.unknowns(), one.loss), (two.unknowns(), two.loss));
    assert_eq!(one.covariance, two.covariance);
}
