//! The rest of the cases that were tried by hand from outside: weights that are no counts, noises and densities that lie,
//! code of the caller's own that panics, and plain indexing, whose panics are documented.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::misuse_support::*;
use noisewright::chain::convergence;
use noisewright::design::{DesignOptions, DictionaryOptions, Ratio, best_ratio, design_mixture};
use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
use noisewright::internal::design::design;
use noisewright::internal::energy::Ising;
use noisewright::internal::fit::{fit, ratio};
use noisewright::internal::{cramer_rao_covariance, free_memory};
use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, estimate};
use noisewright::normalizer::{Dependence, Draws, LogZOptions, log_z_of_draws, log_z_with_alpha};
use noisewright::parts::{ChainOptions, EvidenceOptions, NoiseContext, PathOptions, ProgressHook};
use noisewright::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;
const MAX: usize = usize::MAX;

/// What a call that gives no `Result` comes to: `ok`, or `panics`.
fn ending<T>(call: impl FnOnce() -> T) -> &'static str {
    catch_unwind(AssertUnwindSafe(call)).map_or("panics", |_| "ok")
}

/// The answer of a fit with default settings and these weights of all rows: its code, and that it is near the maximum likelihood
/// estimate, the mean of the rows (±3 of the errors of one row's weight).
fn weighted(weight: f64, noise: NoiseChoice) -> &'static str {
    let points = points();
    let mean = points.values().iter().sum::<f64>() / points.rows() as f64;
    let weights = vec![weight; points.rows()];
    let options = FitOptions { noise, ..FitOptions::default() };
    let found = fit(&gauss(), Data::from(&points).with_weights(&weights), &options);
    if let Ok(fit) = &found {
        let error = fit.get("m").unwrap().se;
        let m = fit.get("m").unwrap().estimate;
        let expected = 1.0 / (weight * points.rows() as f64).sqrt();
        assert!(error > 0.8 * expected && error < 1.25 * expected, "{weight}: {error}, {expected}");
        assert!((m - mean).abs() < 4.0 * error, "{weight}: {m} ± {error}, {mean}");
    }
    code(found)
}

#[test]
fn weights_that_are_no_counts() {
    let auto = |weight| weighted(weight, NoiseChoice::Auto);
    let exact = |weight| weighted(weight, NoiseChoice::Exact);
    assert_all(&[
        ("w1e3", auto(1e3), "ok"),
        ("w1e6", auto(1e6), "ok"),
        ("w1e9", auto(1e9), "ok"),
        ("w1e18", auto(1e18), "total-weight"),
        ("w1e100", auto(1e100), "total-weight"),
        ("w1e-300", auto(1e-300), "total-weight"),
        ("w_exact_1e300", exact(1e300), "total-weight"),
        ("w_1_over_n", auto(1.0 / 500.0), "total-weight"),
        ("w_1e-6", auto(1e-6), "total-weight"),
        ("w_1e-12", auto(1e-12), "total-weight"),
        ("w_1e-12_exact", exact(1e-12), "total-weight"),
    ]);
}

/// A hook that says stop is the last that is heard of a fit of rows that count a million times each, by quadrature or against noise.
#[test]
fn rows_that_count_a_million_times_end_when_they_are_told_to() {
    let (points, weights) = (points(), vec![1e6; 500]);
    for noise in [NoiseChoice::Auto, NoiseChoice::Given(Arc::new(normal()))] {
        for at in [1, 3] {
            let calls = Arc::new(AtomicUsize::new(0));
            let own = Arc::clone(&calls);
            let hook = ProgressHook::new(move |_| {
                let call = own.fetch_add(1, Ordering::SeqCst) + 1;
                if call < at { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            let options = FitOptions { noise: noise.clone(), progress: Some(hook), ..FitOptions::default() };
            let found = fit(&gauss(), Data::from(&points).with_weights(&weights), &options);
            assert_all(&[("w1e6_hook", code(found), "cancelled")]);
            assert_eq!(calls.load(Ordering::SeqCst), at);
        }
    }
}

#[test]
fn a_histogram_of_a_billion_events() {
    let x: Vec<f64> = (0..200).map(|i| -5.0 + 0.05 * (f64::from(i) + 0.5)).collect();
    let mass = |x: &f64| (1e9 * 0.05 * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()).round();
    let weights: Vec<f64> = x.iter().map(mass).collect();
    let points = Points::unnamed(1, 200, x);
    let found = fit(&gauss(), Data::from(&points).with_weights(&weights), &FitOptions::default());
    assert_all(&[("hist_counts", code(found), "ok")]);
}

#[test]
fn models_that_lie_about_themselves() {
    struct NoConstant;
    impl Energy for NoConstant {
        fn parameters(&self) -> Vec<String> {
            vec!["m".into()]
        }
        fn dimension(&self) -> usize {
            1
        }
        fn log_normalizer(&self, _: &[f64], gradient: &mut [f64]) -> Option<f64> {
            gradient[0] = 0.0;
            Some(0.0)
        }
        fn evaluate(&self, t: &[f64], p: View<'_>, v: &mut [f64], s: Option<&mut [f64]>) -> Result<()> {
            v.iter_mut().zip(p.column(0)).for_each(|(v, x)| *v = t[0] * x - x * x / 2.0);
            if let Some(s) = s {
                s.copy_from_slice(p.column(0));
            }
            Ok(())
        }
    }
    let parameters = || vec![Parameter::new("m", 0.5)];
    let lying =
        || Model::new(NoConstant, Space::real(&["x"]).unwrap(), parameters()).and_then(Model::normalized);
    let exact = |model: &Model| {
        code(fitted_model(model, |o| (o.noise, o.amount) = (NoiseChoice::Exact, Amount::auto())))
    };
    let none = density_only();
    let offset = own(&["m"], |t, x| (t[0] * x - x * x / 2.0, vec![x + 0.3 * x * x]));
    let doubled = own(&["m"], |t, x| (t[0] * x - x * x / 2.0, vec![2.0 * x]));
    let infinite = own(&["m"], |t, x| (if x > 1.0 { INF } else { t[0] * x - x * x / 2.0 }, vec![x]));
    let one = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
    assert_all(&[
        ("model_false_lognorm", code(lying().and_then(|m| fitted_model(&m, |_| ()))), "not-normalized"),
        ("model_false_lognorm_exact", lying().map_or_else(|e| e.code(), |m| exact(&m)), "collinear"),
        ("model_value_inf", code(fitted_model(&infinite, |_| ())), "data-without-density"),
        ("model_score_offset_x_exact", exact(&offset), "score"),
        ("model_score_x2_err", code(doubled.error(&[0.0], normal()).run()), "score"),
        ("grad_x2_design", code(design(&doubled, &[0.0], &one)), "score"),
        ("dim0_model_fit", code(fitted_model(&none, |_| ())), "ok"),
        ("dim0_model_design", code(design(&none, &[], &one)), "constant-alone"),
        ("dim0_model_error", code(none.error(&[], normal()).run()), "ok"),
        ("model_density_of_nothing", code(two().density(&[])), "shape"),
    ]);
}

/// A density without parameters.
fn density_only() -> Model {
    Model::from_batch_fn::<&str>(
        &[],
        Space::real(&["x"]).unwrap(),
        |_: &[f64], p: View<'_>, v: &mut [f64]| {
            v.iter_mut().zip(p.column(0)).for_each(|(v, x)| *v = -x * x / 2.0);
            Ok(())
        },
    )
    .unwrap()
}

/// A normal noise with landmarks that are nowhere.
struct Landmarked;

impl Noise for Landmarked {
    fn dimension(&self) -> usize {
        1
    }
    fn log_density(&self, p: View<'_>, out: &mut [f64]) {
        Noise::log_density(&normal(), p, out);
    }
    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        Noise::draw(&normal(), stream, rows, out);
    }
    fn describe(&self) -> String {
        "landmarked".into()
    }
    fn landmarks(&self, _: usize) -> Landmarks {
        Landmarks { breaks: vec![NAN, 1.0, -1.0, INF], centers: vec![(NAN, 0.0), (0.0, -1.0), (0.0, INF)] }
    }
}

#[test]
fn noises_that_lie() {
    let p = points();
    let drawn = || {
        let drawn = parts::Draws {
            points: points(),
            log_density: vec![NAN; 500],
            log_density_at_data: vec![0.0; 500],
        };
        fitted(|o| (o.noise, o.amount) = (NoiseChoice::Draws(Arc::new(drawn)), Amount::auto()))
    };
    let unnormalized = fitted(given(bad_density(|x| -0.5 * x * x)));
    let plane_points = Points::unnamed(2, 4, vec![0.0, 1.0, 2.0, 3.0, 1.0, 0.0, 5.0, 2.0]);
    let holed = Points::unnamed(1, 3, vec![0.0, NAN, 1.0]);
    let wide = Points::unnamed(2, 2, vec![0.5; 4]);
    let plain = gauss().error(&[0.0], normal()).run().unwrap().error;
    let landmarked = gauss().error(&[0.0], Landmarked).run().unwrap().error;
    assert!((landmarked / plain - 1.0).abs() < 1e-9, "landmark_nan: {landmarked}, {plain}");
    assert_all(&[
        ("fit_draws_nan", code(drawn()), "noise-misses-itself"),
        ("fit_noise_discrete", code(fitted(given(Poisson::new(3.0).unwrap()))), "noise-misses-data"),
        ("fit_noise_far", code(fitted(given(bad_draw(|_| 1e300)))), "not-a-number"),
        ("fit_noise_inf", code(fitted(given(bad_density(|_| INF)))), "not-a-number"),
        ("fit_noise_unnorm", code(unnormalized), "noise"),
        ("hist_fit_dim", code(Histogram1d::fit(&[0.0, 1.0], 0.1, wide.view(), None)), "shape"),
        ("mvn_fit_w", code(MultivariateNormal::fit(plane_points.view(), Some(&[1.0]))), "shape"),
        ("normal_fit_nan", code(Normal::fit(holed.view(), None)), "noise-not-fitted"),
        ("popsample_2d", code(Population::from_sample(&two(), &[0.0, 0.0], 0.0, &p)), "shape"),
        ("loss_power_inf", code(fitted(|o| o.loss = Loss::Power(1e10))), "not-a-number"),
    ]);
}

#[test]
fn log_densities_at_the_end_of_their_range() {
    let independent = LogZOptions { dependence: Dependence::Independent, ..LogZOptions::default() };
    let of = |a: &[f64], b: &[f64], options: &LogZOptions| {
        log_z_of_draws(Draws::new(a, &vec![0.0; a.len()]), Draws::new(b, &vec![0.0; b.len()]), options)
    };
    for options in [&LogZOptions::default(), &independent] {
        for (a, b) in [(&[0.3][..], &[-0.2][..]), (&[0.3, 0.4], &[-0.2, 0.1])] {
            let answer = of(a, b, options);
            // Two draws know no error.
            assert!(answer.is_err() || answer.unwrap().best().se == INF, "logz_single {a:?}");
        }
    }
    let huge = log_z_of_draws(
        Draws::new(&[1e308, -1e308, 1e308], &[-1e308, 1e308, -1e308]),
        Draws::new(&[1e308, -1e308], &[-1e308, 1e308]),
        &LogZOptions::default(),
    );
    assert!(huge.is_err() || huge.unwrap().best().se == INF, "logz_huge_values");
    // Densities that are the same wherever both are known have log Z = 0.
    assert_eq!(of(&[0.0], &[0.0], &independent).unwrap().best().log_z, 0.0, "logz_one");
}

#[test]
fn chains_paths_and_evidence_that_cannot_be() {
    let (model, p, wide) = (gauss(), points(), two());
    let f = model.density(&[0.0]).unwrap();
    let bell = density(Space::real(&["x"]).unwrap(), |x: &[f64]| -x[0] * x[0] / 2.0);
    let evidence_with = |change: fn(&mut EvidenceOptions)| {
        let mut options = EvidenceOptions::default();
        change(&mut options);
        code(evidence(&bell, &p).options(options).run())
    };
    let chain = |change: fn(&mut ChainOptions)| {
        let mut options = ChainOptions::default();
        change(&mut options);
        code(chains(&f).options(options).run())
    };
    let start = Points::unnamed(1, 1, vec![0.0]);
    let short = ChainOptions { start: Some(start), ..ChainOptions::default() };
    let far = Model::from_formula(
        "-(x - m)^2/2",
        Space::real(&["x"]).unwrap(),
        vec![Parameter::new("m", 30.0)],
        false,
    );
    let far = far.unwrap();
    let spacing = PathOptions { spacing: 1e-12, draws: 10, ..PathOptions::default() };
    let of_two = wide.density(&[0.0, 0.0]).unwrap();
    assert_all(&[
        ("ev_chains", evidence_with(|o| o.chains = Some(vec![1, 2])), "shape"),
        ("ch_start_nan", chain(|o| o.start = Some(Points::unnamed(1, 1, vec![NAN]))), "no-mass"),
        ("chain_start_2d", code(chains(&of_two).options(short).run()), "shape"),
        (
            "path_spacing_tiny",
            code(path(normal(), &far.density(&[30.0]).unwrap()).options(spacing).run()),
            "option-range",
        ),
    ]);
}

/// Counts of many gigabytes are refused before anything is allocated, by what is free here or by what no memory holds. What this
/// machine does hold is left out: it would be computed.
#[test]
fn counts_that_memory_does_not_hold() {
    let (model, p) = (gauss(), points());
    let f = model.density(&[0.0]).unwrap();
    let bell = density(Space::real(&["x"]).unwrap(), |x: &[f64]| -x[0] * x[0] / 2.0);
    let a: Vec<f64> = (0..1000).map(|i| f64::from(i).sin()).collect();
    let zeros = vec![0.0; 1000];
    let bootstrap = || {
        let options = LogZOptions { bootstrap: Some(1_000_000_000), ..LogZOptions::default() };
        code(log_z_of_draws(Draws::new(&a, &zeros), Draws::new(&a, &zeros), &options))
    };
    let noise = || {
        let options = EvidenceOptions { noise_draws: Some(100_000_000_000), ..EvidenceOptions::default() };
        code(evidence(&bell, &p).options(options).run())
    };
    let draws = || {
        let options = ChainOptions { draws: 100_000_000_000, ..ChainOptions::default() };
        code(chains(&f).options(options).run())
    };
    let spins = || code(Ising::new(60_000, [-1.0, 1.0]));
    // What they need at the least: eight bytes for every one.
    let cases: [(&str, f64, &dyn Fn() -> &'static str); 4] = [
        ("mem_logz_boot_1e9", 24e9, &bootstrap),
        ("ev_noise_1e11", 8e11, &noise),
        ("ch_draws_1e11", 8e11, &draws),
        ("ising_60k", 1.4e10, &spins),
    ];
    let free = free_memory().map_or(0.0, |free| free as f64);
    for (name, needed, case) in cases.into_iter().filter(|(_, needed, _)| *needed > 1.25 * free) {
        let found = case();
        assert!(["out-of-memory", "option-too-many"].contains(&found), "{name}: {found}, {needed} bytes");
    }
}

#[test]
fn designs_and_ratios_that_cannot_be() {
    let empty =
        DictionaryOptions { scales: vec![], shifts: vec![], kernels: 0, ..DictionaryOptions::default() };
    let features = Model::from_features(&["x"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let ratio = ratio(&features, &points(), &sample(&normal(), 500, 5), &FitOptions::default()).unwrap();
    let trace = cramer_rao_covariance(&Population::new(&two(), &[0.0, 0.0], &Precision::default()).unwrap());
    // 1/Var x + 1/(Var y/16), with the constant's by the means: all of it is known in closed form.
    assert!(trace.as_ref().is_ok_and(|c| c.trace().is_finite()), "des_given_dim: {trace:?}");
    assert_all(&[
        ("best_ratio_nan", code(best_ratio(|_| Ok(NAN), &run::Context::seeded(0))), "no-overlap"),
        (
            "dict_empty",
            code(design_mixture(&gauss(), &[0.0], &empty, &DesignOptions::default())),
            "parameter",
        ),
        ("ratio_at_dims", code(ratio.log_ratio_at(Points::unnamed(2, 2, vec![0.0; 4]).view())), "shape"),
    ]);
}

#[test]
fn all_states_instead_of_noise_that_was_drawn() {
    let pair = [("a", Domain::States(vec![-1.0, 1.0])), ("b", Domain::States(vec![-1.0, 1.0]))];
    let parameters = vec![Parameter::new("h", 0.0), Parameter::new("j", 0.0)];
    let model =
        Model::from_formula("h*(a+b) + j*a*b", Space::product(&pair).unwrap(), parameters, false).unwrap();
    let drawn = chains(&model.density(&[0.2, 0.3]).unwrap()).run().unwrap();
    for amount in [Amount::auto(), Amount::Ratio(2.0)] {
        let options = FitOptions { amount, ..FitOptions::default() };
        let fit = fit(&model, Data::from(&drawn.points), &options).unwrap();
        let (h, j) = (fit.get("h").unwrap(), fit.get("j").unwrap());
        // auto_discrete_ratio: the chains' draws are nearly independent, of which 8 errors leave enough room.
        assert!(
            (h.estimate - 0.2).abs() < 8.0 * h.se && (j.estimate - 0.3).abs() < 8.0 * j.se,
            "{h:?} {j:?}"
        );
    }
}

#[test]
fn angles_a_turn_apart_are_one_optimum() {
    let angles = sample(&VonMises::new(0.7, 2.0).unwrap(), 1000, 11);
    let circle = Space::product(&[("x", Domain::Circle)]).unwrap();
    let model = Model::from_fn(&["kappa", "mu"], circle, |t: &[f64], x: &[f64]| t[0] * (x[0] - t[1]).cos());
    let model = model.and_then(|model| model.with_start(&[("kappa", 1.0)]));
    let model = model.and_then(|model| model.with_bounds(&[("kappa", 0.0, INF)])).unwrap();
    let fit = model.fit(&angles).exact().run().unwrap();
    assert_eq!(fit.optima.len(), 1, "vm_optima: {:?}", fit.optima);
    assert!((fit.get("kappa").unwrap().estimate - 2.0).abs() < 4.0 * fit.get("kappa").unwrap().se);
}

#[test]
fn a_panic_of_ones_own_passes_through_and_poisons_nothing() {
    let model = own(&["m"], |t, x| {
        assert!(x <= 1.5, "the model panics");
        (t[0] * x - 0.5 * x * x, vec![x])
    });
    let hook = ProgressHook::new(|_| panic!("the hook panics"));
    let draws = || Draws::new(&[0.0, 1.0], &[0.0; 2]);
    let alpha = |_: &[f64], _: &[f64], _: &mut [f64]| panic!("alpha panics");
    let broken = batch_density(Space::real(&["x"]).unwrap(), |_: View<'_>, _: &mut [f64]| {
        panic!("the density panics")
    });
    fn no_density(x: f64) -> f64 {
        assert!(x.is_nan(), "the noise's density panics");
        x
    }
    fn no_draw(x: f64) -> f64 {
        assert!(x.is_nan(), "the noise's draws panic");
        x
    }
    assert_all(&[
        ("model_panic_fit", ending(|| fitted_model(&model, |_| ())), "panics"),
        ("progress_panic", ending(|| fitted(|o| o.progress = Some(hook))), "panics"),
        (
            "alpha_panic",
            ending(|| log_z_with_alpha(draws(), draws(), &alpha, &LogZOptions::default())),
            "panics",
        ),
        ("ev_panic", ending(|| evidence(&broken, &points()).run()), "panics"),
        ("noise_panic", ending(|| fitted(given(bad_density(no_density)))), "panics"),
        ("draw_panic", ending(|| fitted(given(bad_draw(no_draw)))), "panics"),
        ("after", ending(|| fitted(|_| ()).unwrap()), "ok"),
    ]);
}

#[test]
fn plain_indexing_panics_as_it_says_and_nothing_aborts() {
    let (p, two_columns) = (points(), Points::unnamed(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    let population = Population::new(&gauss(), &[0.0], &Precision::default()).unwrap();
    let z: &[f64] = &[0.0, 0.0];
    let pooled = Pooled { log_f: &[z, z], origin: Origin::Counts(&[1, 1]), chains: None };
    let states = estimate(&pooled, &StatesOptions::default()).unwrap();
    let copied = |length: usize| two_columns.view().copy_row(1, &mut vec![9.0; length]);
    let at = |noise: &dyn Noise, view: View<'_>| noise.log_density(view, &mut [0.0; 3]);
    assert_all(&[
        ("unnamed_mismatch", ending(|| Points::unnamed(2, 3, vec![0.0; 5])), "panics"),
        ("unnamed_overflow", ending(|| Points::unnamed(MAX, 3, vec![0.0; 5])), "panics"),
        ("view_col_oob", ending(|| p.view().column(3).len()), "panics"),
        ("view_get_oob", ending(|| p.view().get(5000, 0)), "panics"),
        ("view_get_oob2", ending(|| two_columns.view().get(4, 0)), "panics"),
        ("view_copy_row_short", ending(|| copied(1)), "ok"),
        ("view_copy_row_long", ending(|| copied(4)), "panics"),
        ("pop_scoreof_oob", ending(|| population.score_of(9).len()), "panics"),
        ("st_diff_oob", ending(|| states.difference(0, 5)), "panics"),
        ("ch_conv", ending(|| convergence(&[1.0, 2.0], &[5])), "panics"),
        ("ch_conv0", ending(|| convergence(&[], &[])), "ok"),
        ("edges_0", ending(|| equal_edges(0, 0.0, 1.0)), "ok"),
        ("edges_max", ending(|| equal_edges(MAX, 0.0, 1.0)), "panics"),
        ("edges_nan", ending(|| equal_edges(2, NAN, 1.0)), "ok"),
        ("sample_0", ending(|| sample(&normal(), 0, 0)), "ok"),
        ("sample_max", ending(|| sample(&normal(), MAX / 16, 0)), "panics"),
        ("sample_max2", ending(|| sample(&normal(), MAX, 0)), "panics"),
        ("sample_wraps", ending(|| sample(&plane(), MAX / 2 + 2, 0)), "panics"),
        ("noise_logdens_short", ending(|| at(&normal(), p.view())), "panics"),
        ("noise_logdens_dim", ending(|| at(&plane(), View::new(1, 3, &[0.0; 3]))), "panics"),
        (
            "normal_on_2cols",
            ending(|| at(&normal(), View::new(2, 3, &[0.0, 0.0, 0.0, 9.0, 9.0, 9.0]))),
            "panics",
        ),
    ]);
}

#[test]
fn words_are_filled_as_far_as_they_go() {
    let words = NoiseWords::parse("normal(0,?)").unwrap();
    assert_eq!(words.substitute(&[]).to_string(), "normal(0, ?)", "words_subst");
    let space = Space::real(&["x"]).unwrap();
    let built = words.substitute(&[NAN]).build(&NoiseContext::new(&space));
    assert!(built.is_err(), "words_subst");
    let digits = NoiseWords::parse("normal(0.123,1)").unwrap();
    assert_eq!(digits.rounded(400).to_string(), "normal(0.123, 1)", "words_rounded0");
    assert_eq!(digits.rounded(0).to_string(), "normal(0.1, 1)", "words_rounded0: one digit at least");
}
