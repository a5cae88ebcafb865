//! Every slip of a caller is an error that names it, or harmless: none panics, hangs or becomes a wrong number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use crate::misuse_support::*;
use noisewright::design::{DesignOptions, DictionaryOptions, Ratio, design_mixture, design_on_sample};
use noisewright::fit::{Amount, Data, Dependence, FitOptions, NoiseChoice};
use noisewright::internal::design::design;
use noisewright::internal::energy::Ising;
use noisewright::internal::fit::{fit, ratio};
use noisewright::parts::Draws;
use noisewright::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;
const MAX: usize = usize::MAX;

fn row(values: &[f64]) -> Points {
    Points::unnamed(1, values.len(), values.to_vec())
}

fn fit_points(points: &Points) -> Result<Fit> {
    fit(&gauss(), Data::from(points), &FitOptions { amount: Amount::Ratio(2.0), ..FitOptions::default() })
}

fn fit_data<'a>(points: &'a Points, change: impl FnOnce(Data<'a>) -> Data<'a>) -> Result<Fit> {
    let options = FitOptions { amount: Amount::Ratio(2.0), ..FitOptions::default() };
    fit(&gauss(), change(Data::from(points)), &options)
}

#[test]
fn data_that_cannot_be() {
    let p = points();
    let weights = |w: f64| vec![w; 500];
    let two_names = |names: [&str; 2]| {
        Points::from_columns(&names, &[vec![1.0, 2.0, 3.0, 1.0], vec![5.0, 6.0, 7.0, 6.0]])
    };
    let named = |names: [&str; 2]| fit(&two(), &two_names(names).unwrap(), &FitOptions::default());
    assert_all(&[
        ("weights_len", code(fit_data(&p, |d| d.with_weights(&[1.0]))), "shape"),
        ("weights_nan", code(fit_data(&p, |d| d.with_weights(weights(NAN).leak()))), "weight"),
        ("weights_neg", code(fit_data(&p, |d| d.with_weights(weights(-1.0).leak()))), "weight"),
        ("weights_tiny", code(fit_data(&p, |d| d.with_weights(weights(1e-300).leak()))), "total-weight"),
        (
            "weights_shares",
            code(fit_data(&p, |d| d.with_weights(weights(1.0 / 500.0).leak()))),
            "total-weight",
        ),
        ("weights_huge", code(fit_data(&p, |d| d.with_weights(weights(1e300).leak()))), "total-weight"),
        ("weights_zero", code(fit_data(&p, |d| d.with_weights(weights(0.0).leak()))), "no-data"),
        ("clusters_len", code(fit_data(&p, |d| d.with_dependence(Dependence::Clusters(&[1])))), "shape"),
        ("chains_len", code(fit_data(&p, |d| d.with_dependence(Dependence::Chains(&[1])))), "shape"),
        (
            "chains_overflow",
            code(fit_data(&p, |d| d.with_dependence(Dependence::Chains(&[MAX, 501])))),
            "shape",
        ),
        ("chains_zero", code(fit_data(&p, |d| d.with_dependence(Dependence::Chains(&[0, 500, 0])))), "ok"),
        ("empty_data", code(fit_points(&row(&[]))), "no-data"),
        ("zero_columns", code(fit_points(&Points::unnamed(0, 5, vec![]))), "shape"),
        ("nan_data", code(fit_points(&row(&[0.0, NAN, 1.0]))), "outside-domain"),
        ("inf_data", code(fit_points(&row(&[0.0, INF, 1.0]))), "outside-domain"),
        ("two_columns", code(fit_points(&Points::unnamed(2, 3, vec![0.0; 6]))), "shape"),
        ("names_unknown", code(named(["u", "v"])), "unknown-column"),
        ("names_twice", code(two_names(["x", "x"])), "duplicate-name"),
        (
            "from_columns_mismatch",
            code(Points::from_columns(&["y", "x"], &[vec![1.0], vec![5.0, 6.0]])),
            "shape",
        ),
        (
            "from_rows_mismatch",
            code(Points::from_rows(&["y", "x"], &[vec![1.0], vec![5.0, 6.0]])),
            "row-length",
        ),
        ("from_values_overflow", code(Points::from_values(&["y", "x"], MAX, vec![1.0])), "shape"),
        ("from_row_major_rest", code(Points::from_row_major(&["y", "x"], &[1.0; 5])), "shape"),
        ("from_strided_short", code(Points::from_strided(&["y"], 3, &[1.0; 5], (3, 1))), "shape"),
        (
            "ratio_dims",
            code(ratio(&gauss(), &p, &Points::unnamed(2, 2, vec![0.0; 4]), &FitOptions::default())),
            "shape",
        ),
    ]);
}

#[test]
fn columns_are_matched_by_name() {
    let x = sample(&Normal::with_variance(1.0, 1.0).unwrap(), 1000, 1);
    let y = sample(&Normal::with_variance(-2.0, 4.0).unwrap(), 1000, 2);
    let right = Points::from_columns(&["x", "y"], &[x.values(), y.values()]).unwrap();
    let swapped = Points::from_columns(&["y", "other", "x"], &[y.values(), x.values(), x.values()]).unwrap();
    let model = two();
    let [a, b] = [&right, &swapped].map(|points| model.fit(points).exact().run().unwrap().theta());
    assert_eq!(a, b);
    assert!((a[0] - 1.0).abs() < 0.2 && (a[1] + 2.0).abs() < 0.4, "{a:?}");
}

#[test]
fn evaluations_of_another_shape() {
    let (p, m) = (points(), gauss());
    let family = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), true).unwrap();
    let formula =
        Model::from_formula("m*x - x^2", Space::real(&["x"]).unwrap(), vec![Parameter::new("m", 0.0)], false)
            .unwrap();
    let at = |model: &Model, theta: &[f64], view: View<'_>, values: usize, scores: Option<usize>| {
        let mut score = scores.map(|n| vec![0.0; n]);
        code(model.evaluate(theta, view, &mut vec![0.0; values], score.as_deref_mut()))
    };
    let wide = Points::unnamed(2, 1, vec![0.0; 2]);
    assert_all(&[
        ("eval_short_value", at(&m, &[0.0], p.view(), 3, None), "shape"),
        ("eval_long_value", at(&m, &[0.0], p.view(), 3000, None), "shape"),
        ("eval_short_score", at(&m, &[0.0], p.view(), 500, Some(3)), "shape"),
        ("eval_no_theta", at(&m, &[], p.view(), 500, None), "shape"),
        ("eval_formula_no_theta", at(&formula, &[], p.view(), 500, None), "shape"),
        ("eval_formula_wrong_cols", at(&formula, &[1.0], wide.view(), 1, None), "shape"),
        ("eval_formula_few_cols", at(&two(), &[1.0, 0.0], row(&[0.0]).view(), 1, None), "shape"),
        ("eval_formula_short_value", at(&formula, &[0.0], p.view(), 3, None), "shape"),
        ("model_density_len", code(m.density(&[])), "shape"),
        ("model_density_long", code(two().density(&[0.0])), "shape"),
        ("with_start_nan", code(gauss().with_start(&[("m", NAN)])), "parameter"),
        ("at_unknown", code(gauss().at(&[("zz", 1.0)])), "unknown-parameter"),
        ("get_unknown", code(m.fit(&p).ratio(1.0).run().unwrap().get("zz").cloned()), "unknown-parameter"),
    ]);
    assert_eq!(family.log_normalizer(&[0.0, 1.0], &mut []), None);
    assert_eq!(family.log_normalizer(&[], &mut [0.0, 0.0]), None);
}

#[test]
fn models_of_ones_own_that_are_wrong() {
    let fits = |model: &Model| code(fitted_model(model, |_| ()));
    let exact = |model: &Model| {
        code(fitted_model(model, |o| {
            o.noise = NoiseChoice::Exact;
            o.amount = Amount::auto();
        }))
    };
    let wrong = |at: Point| fits(&own(&["m"], at));
    let wrong_exact = |at: Point| exact(&own(&["m"], at));
    let cubic = own_with(&["m"], true, |t, x| {
        (-(x - t[0].powi(3)).powi(2) / 2.0, vec![(x - t[0].powi(3)) * 3.0 * t[0] * t[0]])
    });
    let exponential =
        own_with(&["t"], true, |t, x| (-t[0].exp() * x * x / 2.0, vec![-t[0].exp() * x * x / 2.0]));
    assert_all(&[
        (
            "model_value_nan",
            wrong(|t, x| (if x > 1.0 { NAN } else { t[0] * x - x * x / 2.0 }, vec![x])),
            "not-a-number",
        ),
        (
            "model_score_nan",
            wrong(|t, x| (t[0] * x - x * x / 2.0, vec![if x > 1.0 { NAN } else { x }])),
            "not-a-number",
        ),
        (
            "model_score_inf",
            wrong(|t, x| (t[0] * x - x * x / 2.0, vec![if x > 1.0 { INF } else { x }])),
            "not-a-number",
        ),
        ("model_score_missing", wrong(|t, x| (t[0] * x - x * x / 2.0, vec![])), "not-a-number"),
        ("model_score_x2", wrong(|t, x| (t[0] * x - x * x / 2.0, vec![2.0 * x])), "score"),
        ("model_score_x2_exact", wrong_exact(|t, x| (t[0] * x - x * x / 2.0, vec![2.0 * x])), "score"),
        ("model_score_neg", wrong(|t, x| (t[0] * x - x * x / 2.0, vec![-x])), "score"),
        ("model_score_offset", wrong(|t, x| (t[0] * x - x * x / 2.0, vec![x + 0.3])), "score"),
        ("model_score_offset_x", wrong(|t, x| (t[0] * x - x * x / 2.0, vec![x + 0.3 * x * x])), "score"),
        ("model_false_linear", fits(&cubic), "not-linear"),
        ("lin_false2", fits(&exponential), "not-linear"),
        ("lin_false2_exact", exact(&exponential), "not-linear"),
    ]);
}

#[test]
fn models_that_cannot_be() {
    let named = |names: Vec<&'static str>, parameters: Vec<Parameter>| {
        let energy = Own { names, linear: false, at: |t: &[f64], x: f64| (t[0] * x - x * x, vec![x, x]) };
        code(Model::new(energy, Space::real(&["x"]).unwrap(), parameters))
    };
    let one = |parameter: Parameter| named(vec!["a"], vec![parameter]);
    assert_all(&[
        ("normalized_without_closed_form", code(gauss().normalized()), "model-field"),
        (
            "model_dup_names",
            named(vec!["a", "a"], vec![Parameter::new("a", 0.0), Parameter::new("a", 0.0)]),
            "duplicate-name",
        ),
        (
            "model_name_reserved",
            named(vec!["log_normalizer"], vec![Parameter::new("log_normalizer", 0.0)]),
            "model-field",
        ),
        ("model_names_differ", named(vec!["a"], vec![Parameter::new("b", 0.0)]), "model-field"),
        ("param_nan_start", one(Parameter::new("a", NAN)), "parameter"),
        ("param_bounds_swapped", one(Parameter::new("a", 0.5).bounded(1.0, 0.0)), "model-field"),
        ("param_bounds_nan", one(Parameter::new("a", 0.5).bounded(NAN, 1.0)), "model-field"),
        ("space_states_nan", code(Space::product(&[("x", Domain::States(vec![NAN]))])), "domain"),
        ("space_interval_nan", code(Space::product(&[("x", Domain::Interval(NAN, 1.0))])), "domain"),
        ("space_interval_inf", code(Space::product(&[("x", Domain::Interval(-INF, 1.0))])), "domain"),
        ("ising_big", code(Ising::new(MAX, [-1.0, 1.0])), "option-too-many"),
        ("ising_10m", code(Ising::new(10_000_000, [-1.0, 1.0])), "option-too-many"),
        (
            "degree_max",
            code(Model::from_family(
                "exponential-polynomial",
                &["x"],
                &FamilyOptions { degree: Some(MAX), ..FamilyOptions::default() },
                false,
            )),
            "model-field",
        ),
    ]);
}

/// Two parameters and a score that is right, row-major, doubled, short of a factor, or swapped.
struct TwoScores(u8);

impl Energy for TwoScores {
    fn parameters(&self) -> Vec<String> {
        vec!["a".into(), "b".into()]
    }
    fn dimension(&self) -> usize {
        1
    }
    fn evaluate(&self, t: &[f64], p: View<'_>, v: &mut [f64], s: Option<&mut [f64]>) -> Result<()> {
        let (n, x) = (p.rows(), p.column(0));
        (0..n).for_each(|i| v[i] = -(x[i] - t[0]).powi(2) * t[1] / 2.0);
        let Some(s) = s else { return Ok(()) };
        for i in 0..n {
            let (a, b) = (t[1] * (x[i] - t[0]), -(x[i] - t[0]).powi(2) / 2.0);
            match self.0 {
                0 => (s[i], s[n + i]) = (a, b),
                1 => (s[2 * i], s[2 * i + 1]) = (a, b),
                2 => (s[i], s[n + i]) = (a, 2.0 * b),
                3 => (s[i], s[n + i]) = (x[i] - t[0], b),
                _ => (s[i], s[n + i]) = (b, a),
            }
        }
        Ok(())
    }
}

#[test]
fn a_score_of_two_parameters() {
    let model = |kind: u8| {
        let parameters = vec![Parameter::new("a", 0.0), Parameter::new("b", 1.0).bounded(0.0, INF)];
        Model::new(TwoScores(kind), Space::real(&["x"]).unwrap(), parameters).unwrap()
    };
    let noise = || Normal::with_variance(0.5, 0.5).unwrap();
    let error = |kind: u8| code(model(kind).error(&[0.5, 4.0], noise()).run());
    let designed = |kind: u8| code(model(kind).design(&[0.5, 4.0]).ratio(1.0).run());
    let fits = |kind: u8| code(model(kind).fit(&points()).ratio(2.0).run());
    let exact = |kind: u8| code(model(kind).fit(&points()).exact().run());
    assert_all(&[
        ("g0_error", error(0), "ok"),
        ("g0_design", designed(0), "ok"),
        ("g0", fits(0), "ok"),
        ("g_rowmajor", fits(1), "score"),
        ("g_rowmajor_error", error(1), "score"),
        ("g_double_b", fits(2), "score"),
        ("g_double_b_design", designed(2), "score"),
        ("g_forgot_factor", fits(3), "score"),
        ("g_forgot_factor_error", error(3), "score"),
        ("g_swapped", fits(4), "score"),
        ("g0_ex", exact(0), "ok"),
        ("g_rowmajor_ex", exact(1), "score"),
        ("g_swapped_ex", exact(4), "score"),
        // A hundred thousand descents: refused, not begun.
        ("starts_1000", code(model(0).fit(&points()).ratio(2.0).starts(100_000).run()), "option-too-long"),
    ]);
    // A kink in the parameter at a point is not a wrong score: |x − m| has one wherever x = m.
    let laplace = own(&["m"], |t, x| (-(x - t[0]).abs(), vec![(x - t[0]).signum()]));
    let at_kink = Points::from_rows(&["x"], &[[0.5], [1.0], [2.0], [-1.0]]).unwrap();
    laplace.check_score(&[0.5], &at_kink).unwrap();
}

#[test]
fn own_code_that_fails_says_so() {
    fn failing(error: fn() -> Error) -> Model {
        let at = move |_: &[f64], _: View<'_>, _: &mut [f64]| Err(error());
        Model::from_batch_fn(&["m"], Space::real(&["x"]).unwrap(), at).unwrap()
    }
    for (error, expected) in [
        (|| Error::external(std::io::Error::other("mine")), "external"),
        ((|| Error::Cancelled) as fn() -> Error, "cancelled"),
    ] as [(fn() -> Error, &str); 2]
    {
        let model = failing(error);
        assert_all(&[
            ("fit", code(model.fit(&points()).ratio(1.0).run()), expected),
            ("error", code(model.error(&[0.0], normal()).run()), expected),
            ("chains", code(chains(&model.density(&[0.0]).unwrap()).run()), expected),
            ("design", code(model.design(&[0.0]).run()), expected),
        ]);
    }
}

#[test]
fn noises_that_are_wrong() {
    let error = |noise: BadNoise| code(gauss().error(&[0.0], noise).run());
    let p = points();
    let draws = |points: Points, log: Vec<f64>, at_data: usize| {
        let noise = Draws { points, log_density: log, log_density_at_data: vec![0.0; at_data] };
        code(fitted(|o| {
            o.noise = NoiseChoice::Draws(Arc::new(noise));
            o.amount = Amount::auto();
        }))
    };
    assert_all(&[
        ("err_noise_dim", code(gauss().error(&[0.0], plane()).run()), "shape"),
        ("err_noise_dim_small", code(two().error(&[0.0, 0.0], normal()).run()), "shape"),
        (
            "divergences_dim",
            code(divergences(&two(), &[0.0, 0.0], &normal(), 1.0, &Precision::default())),
            "shape",
        ),
        (
            "pop_lognoise_dim",
            code(Population::new(&gauss(), &[0.0], &Precision::default()).unwrap().log_noise(&plane())),
            "shape",
        ),
        ("err_badnoise_nan", error(bad_density(|_| NAN)), "not-a-number"),
        ("err_badnoise_neginf", error(bad_density(|_| -INF)), "no-overlap"),
        ("err_badnoise_inf", error(bad_density(|_| INF)), "not-a-number"),
        ("err_badnoise_unnorm", error(bad_density(|x| -0.5 * x * x)), "noise"),
        ("fit_noise_nan", code(fitted(given(bad_density(|_| NAN)))), "not-a-number"),
        ("fit_noise_neginf", code(fitted(given(bad_density(|_| -INF)))), "noise-misses-data"),
        ("fit_noise_drawnan", code(fitted(given(bad_draw(|_| NAN)))), "not-a-number"),
        ("fit_noise_dim", code(fitted(given(plane()))), "shape"),
        ("fit_draws_len", draws(p.clone(), vec![0.0], 500), "shape"),
        ("fit_draws_len2", draws(p.clone(), vec![0.0; 500], 1), "shape"),
        ("fit_draws_empty", draws(row(&[]), vec![], 500), "option-range"),
        ("fit_draws_dim", draws(Points::unnamed(2, 1, vec![0.0; 2]), vec![0.0], 500), "shape"),
        ("normal_fit_w", code(Normal::fit(p.view(), Some(&[1.0]))), "shape"),
        ("mvn_sizes", code(MultivariateNormal::new(&[0.0, 1.0], &[1.0])), "shape"),
        ("mvn_empty", code(MultivariateNormal::new(&[], &[])), "no-variables"),
        ("kde_w", code(KernelDensity::fit(p.view(), Some(&[1.0]), Bandwidth::Factor(0.5))), "shape"),
        ("kde_bw", code(KernelDensity::fit(p.view(), None, Bandwidth::Factor(NAN))), "parameter"),
        ("kde_bounds", code(KernelDensity::fit_within(&[], p.view(), None, Bandwidth::Factor(0.4))), "shape"),
        ("product_none", code(Product::of_shared(vec![])), "no-variables"),
        ("product_nest", code(Product::new(Vec::<Normal>::new())), "no-variables"),
        ("mixture_none", code(Mixture::new(Vec::<(f64, Normal)>::new())), "parameter"),
        ("mixture_weights", code(Mixture::new([(0.5, normal()), (0.6, normal())])), "parameter"),
        ("mixture_weight_nan", code(Mixture::new([(NAN, normal()), (0.6, normal())])), "parameter"),
        ("try_sample_max", code(try_sample(&normal(), MAX, &run::Context::seeded(0))), "option-too-many"),
    ]);
}

#[test]
fn options_of_errors() {
    let error = |change: fn(&mut Precision)| {
        let mut precision = Precision::default();
        change(&mut precision);
        code(gauss().error(&[0.0], normal()).precision(precision).run())
    };
    let target = |matrix: nalgebra::DMatrix<f64>| {
        code(gauss().error(&[0.0], normal()).target(Target::Matrix(matrix)).run())
    };
    assert_all(&[
        ("err_theta_len", code(gauss().error(&[], normal()).run()), "shape"),
        ("err_theta_nan", code(gauss().error(&[NAN], normal()).run()), "parameter"),
        ("err_ratio_nan", code(gauss().error(&[0.0], normal()).ratio(NAN).run()), "noise-ratio"),
        ("err_target_matrix", target(nalgebra::DMatrix::identity(5, 5)), "shape"),
        ("err_target_nan", target(nalgebra::DMatrix::from_element(2, 2, NAN)), "target"),
        ("err_target_notpsd", target(-nalgebra::DMatrix::<f64>::identity(2, 2)), "target"),
        ("err_nodes0", error(|p| p.max_nodes = 0), "too-many-nodes"),
        ("err_relneg", error(|p| p.relative = -1.0), "option-range"),
        ("err_relnan", error(|p| p.relative = NAN), "option-range"),
        ("err_power_nan", code(gauss().error(&[0.0], normal()).loss(Loss::Power(NAN)).run()), "not-a-number"),
        ("err_threads_0", code(gauss().error(&[0.0], normal()).threads(0).run()), "option-range"),
    ]);
}

#[test]
fn options_of_designs_and_populations() {
    let dictionary = |options: DictionaryOptions| {
        code(design_mixture(&gauss(), &[0.0], &options, &DesignOptions::default()))
    };
    let sampled = |theta: &[f64], log_z: f64, points: &Points| {
        code(Population::from_sample(&gauss(), theta, log_z, points))
    };
    assert_all(&[
        ("des_theta_len", code(design(&gauss(), &[], &DesignOptions::default())), "shape"),
        (
            "des_ratio0",
            code(design(
                &gauss(),
                &[0.0],
                &DesignOptions { ratio: Ratio::Fixed(0.0), ..DesignOptions::default() },
            )),
            "noise-ratio",
        ),
        (
            "desS_theta",
            code(design_on_sample(&gauss(), &[], 0.0, &points(), &DesignOptions::default())),
            "shape",
        ),
        (
            "desS_dim",
            code(design_on_sample(
                &gauss(),
                &[0.0],
                0.9,
                &Points::unnamed(2, 100, vec![0.0; 200]),
                &DesignOptions::default(),
            )),
            "shape",
        ),
        (
            "dict_bad",
            dictionary(DictionaryOptions { squeeze: 0.0, ..DictionaryOptions::default() }),
            "option-range",
        ),
        (
            "dict_nan",
            dictionary(DictionaryOptions { shifts: vec![NAN], ..DictionaryOptions::default() }),
            "option-range",
        ),
        (
            "dict_kernels_max",
            dictionary(DictionaryOptions { kernels: MAX, ..DictionaryOptions::default() }),
            "option-too-many",
        ),
        ("popsample_theta", sampled(&[], 0.0, &points()), "shape"),
        ("popsample_dim", sampled(&[0.0], 0.0, &Points::unnamed(2, 100, vec![0.0; 200])), "shape"),
        ("popsample_nanz", sampled(&[0.0], NAN, &points()), "option-range"),
    ]);
}
