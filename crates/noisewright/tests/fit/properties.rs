//! What must hold for every fit: nothing depends on starts, units, threads, or the way rows are handed over; what cannot be
//! fitted is named.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::ops::ControlFlow;
use std::sync::Arc;

use noisewright::fit::{
    Amount, Data, Dependence, FitOptions, NoiseChoice, Source, Visit, WarningKind, fit_stream,
};
use noisewright::internal::fit::{fit, ratio};
use noisewright::parts::ProgressHook;
use noisewright::{
    Domain, Error, FamilyOptions, Fit, Model, Normal, Parameter, Points, Result, Space, Uniform, View,
    VonMises, sample,
};
use proptest::prelude::*;

fn quadratic() -> Model {
    Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

fn at_ratio(nu: f64) -> FitOptions {
    FitOptions { amount: Amount::Ratio(nu), ..FitOptions::default() }
}

fn close(a: &Fit, b: &Fit, tolerance: f64) -> bool {
    let pairs = a.estimates().into_iter().zip(b.estimates());
    pairs.into_iter().all(|(a, b)| {
        (a.estimate - b.estimate).abs() <= tolerance * a.se
            && (a.se - b.se).abs() <= 1e-5 * tolerance.max(1e-4) * a.se
    })
}

/// Rows in memory as a stream of blocks of some size.
struct Blocks<'a>(View<'a>, Option<&'a [f64]>, usize);

impl Source for Blocks<'_> {
    fn dimension(&self) -> usize {
        self.0.columns()
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        (0..self.0.rows()).step_by(self.2).try_for_each(|start| {
            let rows = start..self.0.rows().min(start + self.2);
            visit(self.0.slice(rows.clone()), self.1.map(|w| &w[rows]))
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_start_gives_the_same_answer(mean in -3.0..3.0f64, variance in 0.2..5.0f64, m in -4.0..4.0f64, v in 0.1..8.0f64) {
        let data = sample(&Normal::with_variance(mean, variance).unwrap(), 300, 5);
        let file = |m: f64, v: f64| {
            let text = format!("variables = ['x']\nlog_density = '-(x - m)^2/(2*v)'\n[parameters]\nm = {m:?}\nv = {{ start = {v:?}, lower = 0 }}");
            Model::from_toml(&text).unwrap()
        };
        let linear = fit(&quadratic(), Data::from(&data), &at_ratio(3.0)).unwrap();
        let curved = fit(&file(m, v), Data::from(&data), &at_ratio(3.0)).unwrap();
        let (found_m, found_v) = (curved.parameters[0].estimate, curved.parameters[1].estimate);
        prop_assert!(curved.converged && curved.optima.len() == 1, "{:?}", curved.optima);
        prop_assert!((linear.parameters[0].estimate - found_m / found_v).abs() < 1e-6 * (1.0 + (found_m / found_v).abs()));
        prop_assert!((linear.parameters[1].estimate * found_v + 0.5).abs() < 1e-6);
    }

    #[test]
    fn units_do_not_matter(shift in -1e3..1e3f64, log_scale in -6.0..6.0f64) {
        let scale = 10f64.powf(log_scale);
        let plain = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 400, 6);
        let moved: Vec<f64> = plain.values().iter().map(|x| scale * (x + shift)).collect();
        let moved = Points::unnamed(1, 400, moved);
        let a = fit(&quadratic(), Data::from(&plain), &at_ratio(2.0)).unwrap();
        let b = fit(&quadratic(), Data::from(&moved), &at_ratio(2.0)).unwrap();
        // The curvature −1/(2v) goes with the square of the unit; the noise moves with the data.
        let back = b.parameters[1].estimate * scale * scale;
        prop_assert!((back / a.parameters[1].estimate - 1.0).abs() < 1e-6, "{back} {}", a.parameters[1].estimate);
        prop_assert!((b.parameters[1].se * scale * scale / a.parameters[1].se - 1.0).abs() < 1e-6);
    }

    #[test]
    fn weights_are_repeated_rows(seed in 0..1000u64) {
        let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 80, seed);
        let weights: Vec<f64> = (0..80).map(|i| ((i * 7 + seed as usize) % 4) as f64).collect();
        let repeated: Vec<f64> = data.values().iter().zip(&weights).flat_map(|(x, w)| vec![*x; *w as usize]).collect();
        let rows = repeated.len();
        let repeated = Points::unnamed(1, rows, repeated);
        let noise: Arc<dyn noisewright::Noise> = Arc::new(Normal::with_variance(0.1, 2.0).unwrap());
        for choice in [NoiseChoice::Given(noise), NoiseChoice::Exact] {
            let amount = if matches!(choice, NoiseChoice::Exact) { Amount::auto() } else { Amount::Points(500) };
            let options = FitOptions { noise: choice, amount, ..FitOptions::default() };
            let a = fit(&quadratic(), Data::from(&data).with_weights(&weights), &options).unwrap();
            let b = fit(&quadratic(), Data::from(&repeated), &options).unwrap();
            prop_assert!(close(&a, &b, 1e-5), "{a:?} {b:?}");
            prop_assert_eq!(a.total_weight, rows as f64);
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 60_000, 8);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&quadratic(), Data::from(&data), &at_ratio(1.0)).unwrap())
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.parameters, three.parameters);
    assert_eq!(one.covariance, three.covariance);
}

#[test]
fn many_rows_end_where_newton_does() {
    // EfficiencyAnswer rows for the parts; the general solver, which a formula goes through, has none.
    let data = sample(&Normal::with_variance(1.0, 2.0).unwrap(), 70_000, 8);
    let fitted = fit(&quadratic(), Data::from(&data), &at_ratio(1.0)).unwrap();
    let file = "variables = ['x']\nlog_density = '-(x - m)^2/(2*v)'\n[parameters]\nm = 0\nv = { start = 1, lower = 0 }";
    let curved =
        fit(&Model::from_toml(file).unwrap(), Data::from(&data), &FitOptions { starts: 1, ..at_ratio(1.0) })
            .unwrap();
    let (m, v) = (curved.parameters[0].estimate, curved.parameters[1].estimate);
    assert!((fitted.parameters[0].estimate - m / v).abs() < 1e-6 * fitted.parameters[0].se);
    assert!((fitted.parameters[1].estimate + 0.5 / v).abs() < 1e-6 * fitted.parameters[1].se);
}

#[test]
fn a_stream_is_the_same_as_memory() {
    let data = sample(&Normal::with_variance(0.3, 1.5).unwrap(), 30_011, 3);
    let weights: Vec<f64> = (0..30_011).map(|i| f64::from(i % 3)).collect();
    for weights in [None, Some(&weights[..])] {
        let mut whole = Data::from(&data);
        whole.weights = weights;
        for (model, tolerance) in [(quadratic(), 1e-7), (gaussian("x"), 1e-7)] {
            let memory = fit(&model, whole, &at_ratio(0.7)).unwrap();
            for block in [777, 4096, 100_000] {
                let streamed =
                    fit_stream(&model, &Blocks(data.view(), weights, block), &at_ratio(0.7)).unwrap();
                assert!(
                    close(&memory, &streamed, tolerance),
                    "{block}: {:?} {:?}",
                    memory.parameters,
                    streamed.parameters
                );
                assert_eq!((memory.noise_points, memory.rows), (streamed.noise_points, streamed.rows));
            }
        }
    }
}

fn gaussian(name: &str) -> Model {
    Model::from_family("gaussian", &[name], &FamilyOptions::default(), true).unwrap()
}

#[test]
fn a_normalized_family_agrees_with_its_free_constant() {
    let data = sample(&Normal::with_variance(100.0, 4.0).unwrap(), 5000, 3);
    let options = at_ratio(20.0);
    let known = fit(&gaussian("x"), Data::from(&data), &options).unwrap();
    let free = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), false).unwrap();
    let free = fit(&free, Data::from(&data), &options).unwrap();
    assert!(known.converged && known.log_normalizer.is_none());
    for (a, b) in known.parameters.iter().zip(&free.parameters) {
        assert!((a.estimate - b.estimate).abs() < 4.0 * b.se, "{a:?} {b:?}");
        assert!(a.se <= b.se * 1.01, "knowing the constant cannot hurt: {a:?} {b:?}");
    }
}

#[test]
fn components_that_change_places_are_one_optimum() {
    let half = |mean: f64, seed: u64| {
        sample(&Normal::with_variance(mean, 1.0).unwrap(), 300, seed).values().to_vec()
    };
    let data = Points::unnamed(1, 600, [half(-2.0, 1), half(2.0, 2)].concat());
    let file = "variables = ['x']\nlog_density = 'log(0.5*exp(-(x - a)^2/2) + 0.5*exp(-(x - b)^2/2))'\n[parameters]\na = -1\nb = 1";
    let fitted =
        fit(&Model::from_toml(file).unwrap(), Data::from(&data), &FitOptions { starts: 12, ..at_ratio(5.0) })
            .unwrap();
    assert!(fitted.converged && fitted.optima.len() == 1, "{:?}", fitted.optima);
    assert!(fitted.optima[0].starts > 1, "{:?}", fitted.optima);
    assert!(!fitted.diagnostics.warnings.iter().any(|w| w.kind == WarningKind::SeveralOptima));
    let mut found = fitted.theta();
    found.sort_by(f64::total_cmp);
    assert!((found[0] + 2.0).abs() < 0.4 && (found[1] - 2.0).abs() < 0.4, "{found:?}");
}

#[test]
fn several_optima_are_listed() {
    // A location with tails as light as those of a power has a minimum at each of two clusters, the lower at the larger.
    let half = |mean: f64, rows: usize, seed: u64| normal(mean, 1.0, rows, seed).values().to_vec();
    let data = Points::unnamed(1, 500, [half(-6.0, 300, 1), half(6.0, 200, 2)].concat());
    let file = "variables = ['x']\nlog_density = '-3*log(1 + (x - a)^2)'\n[parameters]\na = 0";
    let model = Model::from_toml(file).unwrap();
    let fitted = fit(&model, Data::from(&data), &FitOptions { starts: 12, ..at_ratio(5.0) }).unwrap();
    assert!(fitted.optima.len() == 2 && fitted.theta()[0] < -5.0, "{:?}", fitted.optima);
    assert!(fitted.optima[0].loss < fitted.optima[1].loss && fitted.optima[1].at[0] > 5.0);
    assert!(fitted.diagnostics.warnings.iter().any(|w| w.kind == WarningKind::SeveralOptima));
}

#[test]
fn an_angle_and_a_turn_more_are_one_optimum() {
    use std::f64::consts::PI;
    let space = Space::product(&[("x", Domain::Interval(-PI, PI))]).unwrap();
    let von_mises = |t: &[f64], x: &[f64]| t[0] * (x[0] - t[1]).cos();
    let model = Model::from_fn(&["kappa", "mu"], space, von_mises).unwrap();
    let data = sample(&VonMises::new(0.7, 2.0).unwrap(), 1000, 1);
    // One start next to 0.7, one next to a turn more: both descents end, at the same density.
    let fitted = |mu: f64| model.fit(&data).exact().start(&[1.0, mu]).starts(3).seed(2).run().unwrap();
    for fit in [fitted(0.5), fitted(0.5 + 2.0 * PI), fitted(3.9)] {
        assert!(fit.optima.len() == 1, "{:?}", fit.optima);
    }
}

#[test]
fn an_estimate_at_its_bound_is_said() {
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 500, 3);
    let parameters = vec![Parameter::new("a", 0.0), Parameter::new("b", -0.2).bounded(-0.3, 0.0)];
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), parameters).unwrap();
    let fitted = fit(&model, Data::from(&data), &at_ratio(3.0)).unwrap();
    let b = &fitted.parameters[1];
    assert!(fitted.converged && b.at_bound && b.estimate == -0.3 && b.se.is_nan(), "{b:?}");
    assert!(fitted.parameters[0].se > 0.0 && !fitted.parameters[0].at_bound);

    let file =
        "variables = ['x']\nlog_density = '-exp(s)*x^2/2'\n[parameters]\ns = { start = 1, lower = 0.5 }";
    let fitted = fit(&Model::from_toml(file).unwrap(), Data::from(&data), &at_ratio(3.0)).unwrap();
    let s = &fitted.parameters[0];
    assert!(s.at_bound && s.estimate == 0.5 && s.se.is_nan(), "{s:?}");
}

#[test]
fn intervals_stay_within_bounds() {
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 60, 3);
    let file = "variables = ['x']\nlog_density = '-x^2/(2*v)'\n[parameters]\nv = { start = 1, lower = 0, upper = 2 }";
    let fitted = fit(&Model::from_toml(file).unwrap(), Data::from(&data), &at_ratio(20.0)).unwrap();
    let v = &fitted.parameters[0];
    assert!(0.0 < v.lower && v.lower < v.estimate && v.estimate < v.upper && v.upper < 2.0, "{v:?}");
}

#[test]
fn correlated_rows_widen_the_errors() {
    // Every row ten times: clusters know, and give the errors of the rows once.
    let once = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 400, 4);
    let many = Points::unnamed(1, 4000, once.values().iter().flat_map(|x| [*x; 10]).collect());
    let ids: Vec<u64> = (0..4000).map(|i| i / 10).collect();
    let options = FitOptions { amount: Amount::Points(8192), ..FitOptions::default() };
    let single = fit(&quadratic(), Data::from(&once), &options).unwrap();
    let naive = fit(&quadratic(), Data::from(&many), &options).unwrap();
    for dependence in [Dependence::Clusters(&ids), Dependence::Chains(&[2000, 2000])] {
        let fitted = fit(&quadratic(), Data::from(&many).with_dependence(dependence), &options).unwrap();
        for j in 0..3 {
            let (a, b, c) = (fitted.estimates()[j], naive.estimates()[j], single.estimates()[j]);
            assert_eq!(a.estimate, b.estimate);
            let ratio = (a.se_data / b.se_data).powi(2);
            // Sums over clusters of ten equal rows: ten times the variance, but for the factor C/(C − 1) of 400 clusters.
            // The window of a chain's autocorrelation is about five times τ = 10, so that its estimate of τ has the relative
            // error √(2(2·50 + 1)/4000) = 0.22 (Sokal 1997, eq. 3.19); three of these.
            let allowed = if matches!(dependence, Dependence::Clusters(_)) { 0.01 } else { 0.66 };
            assert!((ratio / 10.0 - 1.0).abs() < allowed, "{dependence:?} {ratio}");
            assert!((a.se_data / c.se_data - 1.0).abs() < 0.35, "{dependence:?} {a:?} {c:?}");
        }
    }
}

#[test]
fn a_ratio_has_errors_at_every_point() {
    // log N(½, 1)/N(0, 2) = −(x − ½)²/2 + x²/4 + ½ log 2, a bounded ratio, so that every loss has its variance.
    let (first, second) = (normal(0.5, 1.0, 3000, 1), normal(0.0, 2.0, 6000, 2));
    for loss in ["js", "kl", "hellinger", "pearson"] {
        let options = FitOptions { loss: loss.parse().unwrap(), ..FitOptions::default() };
        let fitted = ratio(&quadratic(), Data::from(&first), Data::from(&second), &options);
        let fitted = fitted.unwrap_or_else(|error| panic!("{loss}: {error}"));
        let at = [-1.0, 0.0, 0.5, 2.0];
        for (x, found) in at.iter().zip(fitted.log_ratio_at(View::new(1, 4, &at)).unwrap()) {
            let truth = -(x - 0.5f64).powi(2) / 2.0 + x * x / 4.0 + 0.5 * 2f64.ln();
            assert!((found.value - truth).abs() < 4.0 * found.se, "{loss} {x} {found:?}");
            assert!(
                found.lower < found.value && found.value < found.upper && found.se < 0.3,
                "{loss} {x} {found:?}"
            );
        }
    }
}

#[test]
fn a_loss_without_a_minimum_is_not_called_collinear() {
    // The ratio of N(m, 1) to N(0, 1) is unbounded, which Pearson's loss does not survive in some samples.
    let model = Model::from_features(&["x"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let options = FitOptions { loss: "pearson".parse().unwrap(), ..FitOptions::default() };
    let mut refusals = Vec::new();
    for (mean, seed) in [1.0, 2.0, 3.0].into_iter().flat_map(|mean| (1..6).map(move |seed| (mean, seed))) {
        let (first, second) = (normal(mean, 1.0, 3000, seed), normal(0.0, 1.0, 6000, seed + 100));
        refusals.extend(ratio(&model, Data::from(&first), Data::from(&second), &options).err());
    }
    assert!(!refusals.is_empty() && refusals.iter().all(|error| error.to_string().contains("no minimum")));
}

fn normal(mean: f64, variance: f64, rows: usize, seed: u64) -> Points {
    sample(&Normal::with_variance(mean, variance).unwrap(), rows, seed)
}

fn refused(model: &Model, data: Data<'_>, options: &FitOptions) -> String {
    let error = fit(model, data, options).unwrap_err();
    assert!(!error.to_string().contains('\n'));
    error.to_string()
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let space = || Space::real(&["x"]).unwrap();
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 50, 3);
    let options = at_ratio(2.0);
    let collinear = Model::from_features(&["x", "x^2", "3*x^2 - x"], space(), vec![]).unwrap();
    let words = refused(&collinear, Data::from(&data), &options);
    assert!(words.contains("`x`") && words.contains("`x^2`") && words.contains("leave one"), "{words}");

    let flat = Model::from_features(&["x", "x/x"], space(), vec![]);
    let words = flat.map_or_else(|e| e.to_string(), |m| refused(&m, Data::from(&data), &options));
    assert!(words.contains("x/x") || words.contains("uses no variable"), "{words}");

    let few = Points::unnamed(1, 2, vec![0.0, 1.0]);
    assert!(refused(&quadratic(), Data::from(&few), &options).contains("too few"));

    let mut values = data.values().to_vec();
    values[17] = f64::NAN;
    let words = refused(&quadratic(), Data::from(&Points::unnamed(1, 50, values)), &options);
    assert!(words.contains("row 18") && words.contains("`x`"), "{words}");

    let positive = Space::product(&[("x", Domain::Positive)]).unwrap();
    let model = Model::from_features(&["log(x)", "x"], positive, vec![]).unwrap();
    assert!(refused(&model, Data::from(&data), &options).contains("not a positive number"));

    let narrow = FitOptions {
        noise: NoiseChoice::Given(Arc::new(Uniform::new(-0.5, 0.5).unwrap())),
        ..options.clone()
    };
    assert!(refused(&quadratic(), Data::from(&data), &narrow).contains("no density at row"));

    let weights = vec![-1.0; 50];
    assert!(
        refused(&quadratic(), Data::from(&data).with_weights(&weights), &options)
            .contains("row 1 has the weight -1")
    );
    let cancel =
        FitOptions { progress: Some(ProgressHook::new(|_| ControlFlow::Break(()))), ..options.clone() };
    assert_eq!(fit(&quadratic(), Data::from(&data), &cancel).unwrap_err(), Error::Cancelled);
    for bad in [
        FitOptions { confidence: 1.0, ..options.clone() },
        FitOptions { amount: Amount::Ratio(0.0), ..options.clone() },
    ] {
        assert!(fit(&quadratic(), Data::from(&data), &bad).is_err());
    }
}

#[test]
fn noise_outside_of_the_models_support_counts_for_nothing() {
    // A model on x > 0 against noise on the whole line: c absorbs nothing of the half that is outside.
    let data = sample(&noisewright::Gamma::new(3.0, 2.0).unwrap(), 3000, 2);
    let positive = Space::product(&[("x", Domain::Positive)]).unwrap();
    let model = Model::from_features(&["log(x)", "x"], positive, vec![]).unwrap();
    for loss in ["js", "kl", "hellinger", "reverse-kl"] {
        let options = FitOptions {
            noise: NoiseChoice::Given(Arc::new(Normal::with_variance(1.0, 4.0).unwrap())),
            loss: loss.parse().unwrap(),
            ..at_ratio(10.0)
        };
        // The score of log(x) is not finite for the noise below zero, which the domain excludes.
        let fitted = fit(&model, Data::from(&data), &options).unwrap();
        // log Z = log Γ(3) − 3 log 2.
        let truth = [2.0, -2.0, 2f64.ln() - 3.0 * 2f64.ln()];
        for (e, x) in fitted.estimates().iter().zip(truth) {
            assert!((e.estimate - x).abs() < 4.0 * e.se, "{loss} {e:?} {x}");
        }
    }
}

/// `−(x − m)²/(2v)`, which does not tell its second derivatives.
struct Plain;

impl noisewright::Energy for Plain {
    fn parameters(&self) -> Vec<String> {
        vec!["m".into(), "v".into()]
    }

    fn dimension(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let (m, v, x) = (theta[0], theta[1], points.column(0));
        value.iter_mut().zip(x).for_each(|(u, x)| *u = -(x - m).powi(2) / (2.0 * v));
        if let Some(score) = score {
            for (i, x) in x.iter().enumerate() {
                score[i] = (x - m) / v;
                score[points.rows() + i] = (x - m).powi(2) / (2.0 * v * v);
            }
        }
        Ok(())
    }
}

#[test]
fn second_derivatives_are_not_needed() {
    let data = sample(&Normal::with_variance(0.7, 2.0).unwrap(), 800, 5);
    let parameters = || vec![Parameter::new("m", 0.0), Parameter::new("v", 1.0).bounded(0.0, f64::INFINITY)];
    let plain = Model::new(Arc::new(Plain), Space::real(&["x"]).unwrap(), parameters()).unwrap();
    let space = Space::real(&["x"]).unwrap();
    let formula = Model::from_formula("-(x - m)^2/(2*v)", space, parameters(), false).unwrap();
    let options = FitOptions { starts: 2, ..at_ratio(3.0) };
    for noise in [NoiseChoice::Auto, NoiseChoice::Exact] {
        let amount = if matches!(noise, NoiseChoice::Exact) { Amount::auto() } else { options.amount };
        let options = FitOptions { noise, amount, ..options.clone() };
        let a = fit(&plain, Data::from(&data), &options).unwrap();
        let b = fit(&formula, Data::from(&data), &options).unwrap();
        assert!(a.converged && close(&a, &b, 1e-4), "{:?} {:?}", a.parameters, b.parameters);
    }
}
