//! Conditional models: ranking and maximum likelihood against closed forms, published values and scipy.

use noisewright::fit::{Amount, CovarianceKind, Dependence, FitOptions, NoiseChoice};
use noisewright::prelude::*;
use noisewright::{ConditionalNoise, NoiseWords, fit_auto_given};
use rand::RngExt;

const FREIGHT: &str = include_str!("../../../../examples/freight/model.toml");
const PERIWINKLES: &str = include_str!("../../../../examples/periwinkles/model.toml");

/// The columns of a file with a header.
fn csv(text: &str) -> Points {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| line.split(',').map(|x| x.parse().unwrap()).collect::<Vec<f64>>();
    Points::from_rows(&names, &lines.map(row).collect::<Vec<_>>()).unwrap()
}

pub(crate) fn freight() -> (Model, Points) {
    let data = include_str!("../../../../examples/freight/freight.csv");
    (Model::from_toml(FREIGHT).unwrap(), csv(data))
}

/// log p = −(y − a − b z)²/2: the straight line with errors of variance one.
pub(crate) fn line() -> Model {
    let text = "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - a - b*z)^2/2'\n[parameters]\na = 0\nb = 0";
    Model::from_toml(text).unwrap()
}

/// y = 1 + 2 z and a standard normal error, z standard normal to one decimal: few values are few integrals.
pub(crate) fn on_a_line(rows: usize, seed: u64) -> Points {
    let drawn = sample(&Product::of_shared(vec![standard(), standard()]).unwrap(), rows, seed);
    let z: Vec<f64> = drawn.view().column(0).iter().map(|z| (10.0 * z).round() / 10.0).collect();
    let y = z.iter().zip(drawn.view().column(1)).map(|(z, e)| 1.0 + 2.0 * z + e).collect();
    Points::from_columns(&["y", "z"], &[y, z]).unwrap()
}

fn standard() -> std::sync::Arc<dyn Noise> {
    std::sync::Arc::new(Normal::with_std(0.0, 1.0).unwrap())
}

/// The variances of least squares with errors of variance one: the diagonal of (XᵀX)⁻¹.
pub(crate) fn least_squares(data: &Points) -> ([f64; 2], [f64; 2]) {
    let (y, z, n) = (data.view().column(0), data.view().column(1), data.rows() as f64);
    let sum = |f: &dyn Fn(usize) -> f64| (0..data.rows()).map(f).sum::<f64>();
    let (sz, szz) = (sum(&|i| z[i]), sum(&|i| z[i] * z[i]));
    let (sy, szy) = (sum(&|i| y[i]), sum(&|i| z[i] * y[i]));
    let det = n * szz - sz * sz;
    ([(szz * sy - sz * szy) / det, (n * szy - sz * sy) / det], [szz / det, n / det])
}

/// Published by Sellers and Shmueli (2010) to four digits; these, the log-likelihood and the standard errors by scipy.
#[test]
fn freight_by_maximum_likelihood_is_the_published_fit() {
    let (model, data) = freight();
    let fit = model.fit(&data).exact().errors(CovarianceKind::ModelBased).run().unwrap();
    let expected =
        [("b0", 13.824_703, 6.236_769), ("b1", 1.483_821, 0.688_777), ("dispersion", 5.781_814, 2.596_675)];
    for (name, estimate, se) in expected {
        let found = fit.get(name).unwrap();
        assert!((found.estimate / estimate - 1.0).abs() < 1e-5, "{name} {}", found.estimate);
        assert!((found.se / se - 1.0).abs() < 1e-4, "{name} {}", found.se);
    }
    assert!(fit.log_normalizer.is_none() && fit.choices.is_none());
    assert!((fit.log_likelihood.unwrap() + 18.644_891_5).abs() < 1e-6);
    assert!((fit.record(None).unwrap().log_likelihood().unwrap().estimate + 18.644_891_5).abs() < 1e-6);
}

/// The same with the rate written out in a formula.
#[test]
fn a_family_with_formulas_is_the_formula() {
    let (model, data) = freight();
    let text = "variables = ['broken']\ncovariates = ['transfers']\ndomain = { broken = 'counts' }\n\
                log_density = '(b0 + b1*transfers)*broken - dispersion*lgamma(broken + 1)'\n\
                [parameters]\nb0 = 2\nb1 = 0\ndispersion = { start = 1, lower = 0 }";
    let written = Model::from_toml(text).unwrap();
    let (one, other) = (model.fit(&data).exact().run().unwrap(), written.fit(&data).exact().run().unwrap());
    for (a, b) in one.parameters.iter().zip(&other.parameters) {
        assert!(
            (a.estimate / b.estimate - 1.0).abs() < 1e-6 && (a.se / b.se - 1.0).abs() < 1e-5,
            "{a:?} {b:?}"
        );
    }
    let (one, other) =
        (model.fit(&data).choices(8).run().unwrap(), written.fit(&data).choices(8).run().unwrap());
    assert!((one.loss / other.loss - 1.0).abs() < 1e-9);
}

#[test]
fn freight_by_ranking_is_within_its_own_noise_error() {
    let (model, data) = freight();
    let exact = model.fit(&data).exact().run().unwrap();
    let fit = model.fit(&data).seed(1).run().unwrap();
    assert!(fit.converged && fit.loss_name == "ranking" && fit.nu == fit.choices.unwrap() as f64);
    assert!(fit.noise_share() <= 0.1, "{}", fit.noise_share());
    for (ranked, best) in fit.parameters.iter().zip(&exact.parameters) {
        assert!((ranked.estimate - best.estimate).abs() < 4.0 * ranked.se_noise, "{ranked:?} {best:?}");
        // The parts of the errors of ten rows agree to the second order of the share of the noise.
        assert!((ranked.se_data / best.se - 1.0).abs() < 0.2, "{ranked:?} {best:?}");
    }
    // The maximum is the maximum: what the noise leaves below it is half a χ² of three degrees of freedom, times its share.
    let short = exact.log_likelihood.unwrap() - fit.log_likelihood.unwrap();
    assert!((0.0..0.2).contains(&short), "{short}");
}

/// By Nelder and Mead's method and differences in scipy: `log p = κ cos(θ − m − 2 atan(b d)) − log 2πI₀(κ)`.
#[test]
fn periwinkles_by_both_ways() {
    let model = Model::from_toml(PERIWINKLES).unwrap();
    let data = csv(include_str!("../../../../examples/periwinkles/periwinkles.csv"));
    let exact = model.fit(&data).exact().errors(CovarianceKind::ModelBased).run().unwrap();
    let expected = [
        ("m", 2.425_976_8, 0.326_369),
        ("b", -0.831_653_8, 0.382_360),
        ("concentration", 3.240_634_0, 0.720_027),
    ];
    for (name, estimate, se) in expected {
        let found = exact.get(name).unwrap();
        assert!((found.estimate / estimate - 1.0).abs() < 1e-5, "{name} {}", found.estimate);
        assert!((found.se / se - 1.0).abs() < 1e-4, "{name} {}", found.se);
    }
    assert!((exact.log_likelihood.unwrap() + 29.212_451_4).abs() < 1e-6);
    let ranked = model.fit(&data).errors(CovarianceKind::ModelBased).run().unwrap();
    for (ranked, best) in ranked.parameters.iter().zip(&exact.parameters) {
        assert!((ranked.estimate - best.estimate).abs() < 4.0 * ranked.se_noise, "{ranked:?} {best:?}");
    }
}

/// At q = p the information of ranking is K/(K + 1) of that of maximum likelihood (MATH §11): of 20,000 rows with K = 1 the mean
/// of the squared half distances has the relative error √(2/20,000), and less for larger K.
#[test]
fn noise_equal_to_the_density_costs_one_over_k() {
    let data = on_a_line(20_000, 3);
    let (_, variances) = least_squares(&data);
    for choices in [1, 2, 8] {
        let fit = line()
            .fit(&data)
            .noise(conditional("normal(1 + 2*z, 1)"))
            .choices(choices)
            .starts(1)
            .errors(CovarianceKind::ModelBased)
            .run()
            .unwrap();
        let k = choices as f64;
        for (estimate, least) in fit.parameters.iter().zip(variances) {
            let whole = estimate.se.powi(2) / least;
            assert!(
                (whole / (1.0 + 1.0 / k) - 1.0).abs() < 4.0 * (2.0 / 20_000_f64).sqrt() * 2.0,
                "{k}: {whole}"
            );
            assert!((estimate.se_noise.powi(2) / least * k - 1.0).abs() < 0.1, "{k}: {estimate:?}");
        }
    }
}

pub(crate) fn conditional(words: &str) -> NoiseChoice {
    let words = NoiseWords::parse_given(words, &["z"]).unwrap();
    ConditionalNoise::from_words(&words, &Space::real(&["y"]).unwrap(), &["z"]).unwrap().into()
}

/// Over 80 seeds a variance is known to √(2/79), 16 %: four of those.
#[test]
fn the_noise_part_is_the_spread_over_seeds() {
    let data = on_a_line(200, 5);
    for choices in [2, 10] {
        let fits: Vec<Fit> = (0..80)
            .map(|seed| line().fit(&data).choices(choices).starts(1).seed(seed).run().unwrap())
            .collect();
        for j in 0..2 {
            let values: Vec<f64> = fits.iter().map(|fit| fit.parameters[j].estimate).collect();
            let mean = values.iter().sum::<f64>() / 80.0;
            let spread = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 79.0;
            let told = fits.iter().map(|fit| fit.parameters[j].se_noise.powi(2)).sum::<f64>() / 80.0;
            let ratio = spread / told;
            assert!((0.36..1.64).contains(&ratio), "K = {choices}, {j}: {ratio}");
        }
    }
}

/// The z-scores of estimates over 150 data sets: their mean square is one to √(2/150), and the intervals cover.
#[test]
fn errors_hold_over_data_sets() {
    let (mut squares, mut covered, sets) = ([0.0; 2], 0, 150);
    for seed in 0..sets {
        let fit = line().fit(&on_a_line(100, 1000 + seed)).choices(5).starts(1).seed(seed).run().unwrap();
        for (j, truth) in [1.0, 2.0].into_iter().enumerate() {
            let e = &fit.parameters[j];
            squares[j] += ((e.estimate - truth) / e.se).powi(2) / sets as f64;
            covered += usize::from(e.lower <= truth && truth <= e.upper);
        }
    }
    let reach = 4.0 * (2.0 / sets as f64).sqrt();
    assert!(squares.iter().all(|square| (square - 1.0).abs() < reach), "{squares:?}");
    // Of 300 intervals 285 should cover, give or take four times 3.8.
    assert!(covered >= 270, "{covered}");
}

#[test]
fn results_do_not_depend_on_threads() {
    let data = on_a_line(700, 2);
    let on = |threads: usize| line().fit(&data).choices(7).seed(4).threads(threads).run().unwrap();
    let (one, two) = (on(1), on(2));
    assert_eq!((one.unknowns(), one.loss), (two.unknowns(), two.loss));
    assert_eq!(one.covariance, two.covariance);
}

#[test]
fn a_row_that_counts_twice_is_two_rows() {
    let data = on_a_line(60, 8);
    let twice: Vec<Vec<f64>> =
        (0..2).map(|j| (0..120).map(|i| data.view().get(i / 2, j)).collect()).collect();
    let twice = Points::from_columns(&["y", "z"], &twice).unwrap();
    let weights = vec![2.0; 60];
    let one = line().fit(&data).weights(&weights).exact().run().unwrap();
    let other = line().fit(&twice).exact().run().unwrap();
    for (a, b) in one.parameters.iter().zip(&other.parameters) {
        assert!((a.estimate - b.estimate).abs() < 1e-8 && (a.se / b.se - 1.0).abs() < 1e-6, "{a:?} {b:?}");
    }
    // The two share their noise points, which therefore add twice as much.
    let ranked = |points: &Points, weights: Option<&[f64]>| {
        let model = line();
        let fit = model.fit(points).choices(20);
        weights.map_or(fit.clone(), |w| fit.clone().weights(w)).run().unwrap().parameters[1].clone()
    };
    let (shared, own) = (ranked(&data, Some(&weights)), ranked(&twice, None));
    assert!((shared.se_data / own.se_data - 1.0).abs() < 0.2, "{shared:?} {own:?}");
    let ratio = (shared.se_noise / own.se_noise).powi(2);
    assert!((1.4..2.8).contains(&ratio), "{ratio}");
}

/// Rows that come in identical tens are worth a tenth of them.
#[test]
fn clusters_widen_the_errors() {
    let data = on_a_line(40, 9);
    let tens: Vec<Vec<f64>> =
        (0..2).map(|j| (0..400).map(|i| data.view().get(i / 10, j)).collect()).collect();
    let tens = Points::from_columns(&["y", "z"], &tens).unwrap();
    let ids: Vec<u64> = (0..400).map(|i| i / 10).collect();
    for exact in [true, false] {
        let model = line();
        let fit = |points, clusters: Option<&'static [u64]>| {
            let fit: noisewright::builders::FitBuilder<'_> = model.fit(points);
            let fit = if exact { fit.exact() } else { fit.choices(200) };
            match clusters {
                Some(ids) => fit.dependence(Dependence::Clusters(ids)).run().unwrap(),
                None => fit.run().unwrap(),
            }
        };
        let ids: &'static [u64] = Box::leak(ids.clone().into_boxed_slice());
        let (alone, together) = (fit(&data, None), fit(&tens, Some(ids)));
        for (a, b) in alone.parameters.iter().zip(&together.parameters) {
            // The corrections for few rows and for few clusters differ: of 40 rows some have leverages of 0.2.
            assert!((a.se_data / b.se_data - 1.0).abs() < 0.2, "{exact} {a:?} {b:?}");
        }
    }
}

/// Data with a known regression in every kind of domain, each fitted against its own default noise.
#[test]
fn the_default_noise_serves_every_domain() {
    let rows = 600;
    let uniform = sample(&Uniform::new(0.0, 1.0).unwrap(), rows * 2, 11);
    let (z, u) = uniform.values().split_at(rows);
    let z: Vec<f64> = z.iter().map(|z| (20.0 * z).round() / 20.0).collect();
    let given = |f: &dyn Fn(f64, f64) -> f64| z.iter().zip(u).map(|(z, u)| f(*z, *u)).collect::<Vec<f64>>();
    let cases: Vec<(&str, Vec<f64>, &str, &[f64])> = vec![
        // Exponential with the rate exp(0.5 + z).
        (
            "domain = { y = 'positive' }\nlog_density = '-exp(a + b*z)*y'\n[parameters]\na = 0\nb = 0",
            given(&|z, u| -u.ln() / (0.5 + z).exp()),
            "gamma",
            &[0.5, 1.0],
        ),
        // A state with the logit −1 + 2 z; the noise is asked for, as it is not needed.
        (
            "domain = { y = { states = [0, 1] } }\nlog_density = 'a*y + b*y*z'\n[parameters]\na = 0\nb = 0",
            given(&|z, u| f64::from(u8::from(u < 1.0 / (1.0 + (1.0 - 2.0 * z).exp())))),
            "categorical",
            &[-1.0, 2.0],
        ),
        // On [0, 1] the density grows like exp((1 + z) y).
        (
            "domain = { y = [0, 1] }\nlog_density = '(a + b*z)*y'\n[parameters]\na = 0\nb = 0",
            given(&|z, u| (1.0 + u * (1.0 + z).exp_m1()).ln() / (1.0 + z)),
            "histogram",
            &[1.0, 1.0],
        ),
        // Geometric counts with the ratio exp(−1 + 0.5 z).
        (
            "domain = { y = 'counts' }\nlog_density = '(a + b*z)*y'\n[parameters]\na = -1\nb = 0",
            given(&|z, u| (u.ln() / (-1.0 + 0.5 * z)).floor()),
            "negative-binomial",
            &[-1.0, 0.5],
        ),
    ];
    for (text, y, noise, truth) in cases {
        let model = Model::from_toml(&format!("variables = ['y']\ncovariates = ['z']\n{text}")).unwrap();
        let data = Points::from_columns(&["y", "z"], &[y, z.clone()]).unwrap();
        let fit = model.fit(&data).choices(20).run().unwrap();
        assert!(fit.noise_description.contains(noise), "{noise}: {}", fit.noise_description);
        for (e, truth) in fit.parameters.iter().zip(truth) {
            assert!((e.estimate - truth).abs() < 4.0 * e.se, "{noise}: {e:?}");
            assert!(e.se_noise < 0.6 * e.se, "{noise}: {e:?}");
        }
        let exact = model.fit(&data).exact().run().unwrap();
        for (ranked, best) in fit.parameters.iter().zip(&exact.parameters) {
            assert!(
                (ranked.estimate - best.estimate).abs() < 4.5 * ranked.se_noise,
                "{noise}: {ranked:?} {best:?}"
            );
        }
    }
}

/// Two variables together: the precisions and regression of a Gaussian whose mean depends on z.
#[test]
fn two_variables_given_one() {
    let text = "variables = ['x', 'y']\ncovariates = ['z']\n\
                log_density = '-(x - a*z)^2/2 - (y - b*x)^2/2'\n[parameters]\na = 0\nb = 0";
    let model = Model::from_toml(text).unwrap();
    let drawn = sample(&Product::of_shared(vec![standard(), standard(), standard()]).unwrap(), 400, 21);
    let [z, e, f] = [0, 1, 2].map(|j| drawn.view().column(j).to_vec());
    // Few values of z, so that the integrals are few.
    let z: Vec<f64> = z.iter().map(|z| z.round()).collect();
    let x: Vec<f64> = z.iter().zip(&e).map(|(z, e)| 0.7 * z + e).collect();
    let y: Vec<f64> = x.iter().zip(&f).map(|(x, f)| -0.4 * x + f).collect();
    let data = Points::from_columns(&["x", "y", "z"], &[x.clone(), y.clone(), z.clone()]).unwrap();
    let exact = model.fit(&data).exact().run().unwrap();
    let ratio = |p: &[f64], q: &[f64]| {
        let dot = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| p * q).sum::<f64>();
        dot(p, q) / dot(q, q)
    };
    assert!((exact.parameters[0].estimate - ratio(&x, &z)).abs() < 1e-6);
    assert!((exact.parameters[1].estimate - ratio(&y, &x)).abs() < 1e-6);
    let ranked = model.fit(&data).choices(40).run().unwrap();
    for (ranked, best) in ranked.parameters.iter().zip(&exact.parameters) {
        assert!((ranked.estimate - best.estimate).abs() < 4.0 * ranked.se_noise, "{ranked:?} {best:?}");
    }
}

/// With four variables there is no quadrature: log Z comes from the noise, with an error of its own.
#[test]
fn constants_of_many_variables_are_sampled() {
    let text = "variables = ['v', 'w', 'x', 'y']\ncovariates = ['z']\n\
                log_density = '-((v - a*z)^2 + w^2 + x^2 + y^2)/2'\n[parameters]\na = 0";
    let model = Model::from_toml(text).unwrap();
    let drawn = sample(&Product::of_shared((0..5).map(|_| standard()).collect()).unwrap(), 300, 31);
    let mut columns: Vec<Vec<f64>> = (0..5).map(|j| drawn.view().column(j).to_vec()).collect();
    let z = columns[4].clone();
    columns[0].iter_mut().zip(&z).for_each(|(v, z)| *v += z);
    let data = Points::from_columns(&["v", "w", "x", "y", "z"], &columns).unwrap();
    let fit = model.fit(&data).choices(30).run().unwrap();
    assert!(fit.log_likelihood.is_none());
    let a = fit.get("a").unwrap();
    assert!((a.estimate - 1.0).abs() < 4.0 * a.se);
    // log Z = 2 log 2π whatever a and z are, so that its error is the Monte Carlo's.
    let there = fit.log_normalizer_at(&model, &[0.3]).unwrap();
    assert!((there.estimate - 2.0 * std::f64::consts::TAU.ln()).abs() < 4.0 * there.se, "{there:?}");
    assert!(there.se > 1e-4 && there.se < 0.1, "{there:?}");
    assert!(fit.record(Some(text)).unwrap().log_likelihood().is_err());
}

#[test]
fn densities_and_draws_at_new_covariates() {
    let data = on_a_line(400, 13);
    let model = line();
    let fit = model.fit(&data).choices(10).run().unwrap();
    let (a, b) = (fit.get("a").unwrap(), fit.get("b").unwrap());
    let new = Points::from_rows(&["z", "y"], &[[3.0, 7.5], [-1.0, -2.0]]).unwrap();
    let there = fit.log_density(&model, &new).unwrap();
    for (row, found) in there.iter().enumerate() {
        let (z, y) = (new.view().get(row, 0), new.view().get(row, 1));
        let off = y - a.estimate - b.estimate * z;
        assert!((found.value + 0.5 * off * off + 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-8);
        // The slope of −(y − a − bz)²/2 is (off, off z).
        let v = &fit.covariance;
        let variance = off * off * (v[(0, 0)] + 2.0 * z * v[(0, 1)] + z * z * v[(1, 1)]);
        assert!((found.se / variance.sqrt() - 1.0).abs() < 1e-6);
    }
    let constant = fit.log_normalizer_at(&model, &[100.0]).unwrap();
    assert!((constant.estimate - 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-8 && constant.se < 1e-8);
    let record = fit.record(None).unwrap();
    let given = View::new(1, 2, &[0.0, 4.0]);
    let context = noisewright::run::Context::seeded(3);
    let drawn = record.simulate_given(&model, given, 2000, &context).unwrap();
    assert_eq!((drawn.points.names(), drawn.points.rows()), (&["y".to_owned(), "z".to_owned()][..], 4000));
    for (part, z) in [(0..2000, 0.0), (2000..4000, 4.0)] {
        let mean = drawn.points.view().column(0)[part].iter().sum::<f64>() / 2000.0;
        assert!((mean - a.estimate - b.estimate * z).abs() < 4.0 / 2000_f64.sqrt());
    }
    assert!(record.simulate(&model, 5, &context).is_err());
}

/// The same constants and log-likelihoods decide between nested models.
#[test]
fn nested_conditional_models_are_compared() {
    let data = on_a_line(150, 17);
    let small = "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - a)^2/2'\n[parameters]\na = 0";
    let small = Model::from_toml(small).unwrap();
    let (one, other) = (small.fit(&data).exact().run().unwrap(), line().fit(&data).exact().run().unwrap());
    let (one, other) = (one.record(None).unwrap(), other.record(None).unwrap());
    let fits = [("constant".to_owned(), &one), ("line".to_owned(), &other)];
    let large = line();
    let found = noisewright::after::compare(&fits, &[Some(&small), Some(&large)], false).unwrap();
    // Twice the difference is what least squares explain.
    let (y, n) = (data.view().column(0), 150.0);
    let ([a, b], _) = least_squares(&data);
    let mean = y.iter().sum::<f64>() / n;
    let left = |f: &dyn Fn(f64) -> f64| {
        y.iter().zip(data.view().column(1)).map(|(y, z)| (y - f(*z)).powi(2)).sum::<f64>()
    };
    let expected = left(&|_| mean) - left(&|z| a + b * z);
    assert_eq!((found.tests.len(), found.tests[0].degrees), (1, 1));
    assert!((found.tests[0].statistic / expected - 1.0).abs() < 1e-6, "{:?}", found.tests[0]);
}

#[test]
fn fixed_parameters_and_functions_of_ones_own() {
    let data = on_a_line(300, 19);
    let held = line().with_fixed(&[("a", 1.0)]).unwrap();
    for fit in [held.fit(&data).exact().run().unwrap(), held.fit(&data).choices(30).run().unwrap()] {
        assert!(fit.get("a").unwrap().fixed);
        assert!((fit.get("b").unwrap().estimate - 2.0).abs() < 4.0 * fit.get("b").unwrap().se);
        assert!(fit.record(None).is_ok());
    }
    let space = Space::real(&["y", "z"]).unwrap();
    let own =
        Model::from_fn(&["a", "b"], space, |t: &[f64], x: &[f64]| -0.5 * (x[0] - t[0] - t[1] * x[1]).powi(2))
            .unwrap()
            .with_covariates(&["z"])
            .unwrap();
    let (own, written) =
        (own.fit(&data).choices(5).run().unwrap(), line().fit(&data).choices(5).run().unwrap());
    for (a, b) in own.parameters.iter().zip(&written.parameters) {
        assert!((a.estimate - b.estimate).abs() < 1e-6 && (a.se / b.se - 1.0).abs() < 1e-4, "{a:?} {b:?}");
    }
}

#[test]
fn what_does_not_go_with_covariates_is_refused_in_a_sentence() {
    let data = on_a_line(50, 1);
    let (model, plain) =
        (line(), Model::from_toml("variables = ['y']\nlog_density = '-y^2*p'\n[parameters]\np = 1").unwrap());
    let refused = |options: FitOptions| model.fit(&data).options(options).run().unwrap_err().to_string();
    let default = FitOptions::default;
    for (options, word) in [
        (FitOptions { amount: Amount::Ratio(5.0), ..default() }, "`nu`"),
        (FitOptions { amount: Amount::Points(5), ..default() }, "`noise_points`"),
        (FitOptions { loss: Loss::Kl, ..default() }, "`loss`"),
        (FitOptions { refit_noise: true, ..default() }, "`refit_noise`"),
        (FitOptions { check_ratio: true, ..default() }, "`check_ratio`"),
        (FitOptions { choices: Some(0), ..default() }, "`choices`"),
        (FitOptions { noise: NoiseChoice::Optimal, ..default() }, "`noise`"),
    ] {
        let message = refused(options);
        assert!(message.contains(word) && !message.contains('\n'), "{word}: {message}");
    }
    let message = plain.fit(&data).choices(5).run().unwrap_err().to_string();
    assert!(message.contains("`choices`") && message.contains("covariates"), "{message}");
    assert!(plain.fit(&data).noise(conditional("normal(z, 1)")).run().is_err());
    let theta = [0.0, 0.0];
    assert!(model.density(&theta).is_err() && model.design(&theta).run().is_err());
    assert!(model.error(&theta, Normal::with_std(0.0, 1.0).unwrap()).run().is_err());
    assert!(noisewright::Population::new(&model, &theta, &Precision::default()).is_err());
    assert!(noisewright::after::simulate(&model, &theta, 3, &noisewright::run::Context::seeded(0)).is_err());
    // A covariate that is not there, at the fit and at the prediction.
    let lacking = Points::from_columns(&["y"], &[[1.0, 2.0, 3.0]]).unwrap();
    let message = model.fit(&lacking).run().unwrap_err().to_string();
    assert!(message.contains("no column `z`"), "{message}");
    let fit = model.fit(&data).choices(2).run().unwrap();
    assert!(fit.log_density(&model, &lacking).unwrap_err().to_string().contains("no column `z`"));
    assert!(
        fit.log_normalizer_at(&model, &[]).is_err() && fit.log_normalizer_at(&model, &[f64::NAN]).is_err()
    );
}

#[test]
fn model_files_with_covariates_that_cannot_be() {
    let refused = |text: &str| Model::from_toml(text).unwrap_err().to_string();
    let head = "variables = ['y']\ncovariates = ['z']\n";
    for (text, word) in [
        ("variables = ['y']\ncovariates = ['y']\nlog_density = '-y^2'".to_owned(), "variable already"),
        (format!("{head}log_density = '-(y - b*w)^2'\n[parameters]\nb = 0"), "`w`"),
        (format!("{head}family = 'com-poisson'\n[parameters]\nlog_rate = 'b0 + b1*z'\nb0 = 0"), "`b1`"),
        (format!("{head}family = 'com-poisson'\n[parameters]\nrate = 'b0 + z'\nb0 = 0"), "rate"),
        (format!("{head}family = 'com-poisson'\n[parameters]\nlog_rate = 'b0 + z'\nb0 = 0\nb1 = 0"), "b1"),
        (format!("{head}family = 'gaussian'\nnormalized = true"), "normalized"),
        (
            "variables = ['y']\nfamily = 'com-poisson'\n[parameters]\nlog_rate = 'b0'\nb0 = 0".to_owned(),
            "covariates",
        ),
        (
            "sphere = ['x', 'y']\ncovariates = ['z']\nlog_density = 'a*x*z'\n[parameters]\na = 0".to_owned(),
            "sphere",
        ),
    ] {
        let message = refused(&text);
        assert!(message.contains(word), "{text}: {message}");
    }
}

/// Noises in words with formulas, at some values of their covariates.
#[test]
fn noises_in_words_use_covariates() {
    let space = Space::real(&["y"]).unwrap();
    let at = |words: &str, z: f64| {
        let words = NoiseWords::parse_given(words, &["z"]).unwrap();
        ConditionalNoise::from_words(&words, &space, &["z"]).and_then(|noise| Ok(noise.at(&[z])?.describe()))
    };
    assert_eq!(at("normal(2*z, 4)", 1.5).unwrap(), "normal(3, 4)");
    assert_eq!(at("normal(-z^2, 1/(2*z))", 1.0).unwrap(), "normal(-1, 0.5)");
    assert_eq!(
        at("0.5*normal(z, 1) + 0.5*student(5, max(z, 1), 2)", 0.0).unwrap(),
        "0.5*normal(0, 1) + 0.5*student(5, 1, 2)"
    );
    assert_eq!(at("normal(0, 4)", 9.0).unwrap(), "normal(0, 4)");
    assert!(at("normal(0, z)", -1.0).is_err());
    assert!(at("normal(2*w, 4 + z)", 1.0).unwrap_err().to_string().contains("`w`"));
    assert!(NoiseWords::parse("normal(2*z, 4)").is_err());
    let data = on_a_line(300, 23);
    let fit = line().fit(&data).noise(conditional("normal(2*z, 4)")).choices(20).run().unwrap();
    let ([a, b], _) = least_squares(&data);
    for (e, least) in fit.parameters.iter().zip([a, b]) {
        assert!((e.estimate - least).abs() < 4.0 * e.se_noise, "{e:?} {least}");
    }
}

/// Directions that turn with z: the default noise follows them, and its density integrates to one.
#[test]
fn the_default_noise_of_angles_turns_with_the_covariate() {
    let mut stream = noisewright::internal::run::Purpose::Sample.stream(5, 0);
    let rows = 400;
    let z: Vec<f64> = (0..rows).map(|_| stream.random::<f64>() * 2.0 - 1.0).collect();
    let around = sample(&VonMises::new(0.0, 8.0).unwrap(), rows, 6);
    // Past π in the middle of the range.
    let y: Vec<f64> = z.iter().zip(around.values()).map(|(z, e)| 3.0 + 1.2 * z + e).collect();
    let columns: Vec<f64> = y.iter().chain(&z).copied().collect();
    let space = Space::product(&[("y", Domain::Circle)]).unwrap();
    let noise = fit_auto_given(&space, &["z"], View::new(2, rows, &columns), None).unwrap();
    for z in [-1.0, 0.0, 1.0] {
        let there = noise.at(&[z]).unwrap();
        let grid: Vec<f64> = (0..2000).map(|i| (i as f64 + 0.5) * std::f64::consts::TAU / 2000.0).collect();
        let mut density = vec![0.0; 2000];
        there.log_density(View::new(1, 2000, &grid), &mut density);
        let mass: f64 = density.iter().map(|l| l.exp()).sum::<f64>() * std::f64::consts::TAU / 2000.0;
        assert!((mass - 1.0).abs() < 1e-9);
        let best = (0..2000).max_by(|i, j| density[*i].total_cmp(&density[*j])).unwrap();
        // Lines through cosine and sine turn less than the directions do far from the middle.
        let off = (grid[best] - 3.0 - 1.2 * z).sin().abs();
        assert!(off < 0.45, "z = {z}: the mode is at {}", grid[best]);
    }
}

#[test]
fn a_row_that_does_not_count_changes_nothing() {
    let data = on_a_line(80, 27);
    let (y, z) = (data.view().column(0).to_vec(), data.view().column(1).to_vec());
    let longer =
        Points::from_columns(&["y", "z"], &[[y, vec![1e9]].concat(), [z, vec![0.0]].concat()]).unwrap();
    let weights = [vec![1.0; 80], vec![0.0]].concat();
    for choices in [None, Some(6)] {
        let fit = |data: &Points, weights: Option<&[f64]>| {
            let model = line();
            let fit = model.fit(data);
            let fit = choices.map_or_else(|| fit.clone().exact(), |k| fit.clone().choices(k));
            weights.map_or_else(|| fit.clone(), |w| fit.clone().weights(w)).run().unwrap()
        };
        let (without, with) = (fit(&data, None), fit(&longer, Some(&weights)));
        for (a, b) in without.parameters.iter().zip(&with.parameters) {
            assert!(
                (a.estimate - b.estimate).abs() < 1e-9 && (a.se / b.se - 1.0).abs() < 1e-6,
                "{a:?} {b:?}"
            );
        }
    }
}

/// Tails heavier than normal make the coefficient of y⁴ positive, which no density has.
#[test]
fn a_density_without_an_integral_is_no_answer() {
    let text = "variables = ['y']\ncovariates = ['z']\nfeatures = ['y*z', 'y^2', 'y^4']";
    let model = Model::from_toml(text).unwrap();
    let y = sample(&Student::new(6.0, 0.0, 1.0).unwrap(), 2000, 3);
    let z: Vec<f64> = (0..2000).map(|i| f64::from(i % 5)).collect();
    let data = Points::from_columns(&["y", "z"], &[y.values().to_vec(), z]).unwrap();
    let fit = model.fit(&data).choices(10).run().unwrap();
    assert!(fit.get("y^4").unwrap().estimate > 0.0);
    assert!(
        fit.diagnostics.no_answer().is_some_and(|w| w.code() == "not-normalizable"),
        "{:?}",
        fit.diagnostics
    );
}

#[test]
fn a_noise_without_a_point_near_the_data_is_refused() {
    let data = on_a_line(50, 1);
    let refused = line().fit(&data).noise(conditional("normal(1000, 1)")).choices(3).run().unwrap_err();
    assert!(refused.to_string().contains("overlap"), "{refused}");
}
