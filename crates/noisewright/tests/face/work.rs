//! How much work standard fits and designs take: a change of cost is seen in review.
//!
//! Counted are steps of the search, calls of the model with its score or without, points in them, and calls for second
//! derivatives; none of them depends on the machine or its threads. After a change that is meant to be one, run with
//! `INSTA_FORCE_PASS=1 --no-capture` and copy the table.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::fit::{Amount, FitOptions};
use noisewright::prelude::*;

/// A model's energy that counts what it is asked.
struct Counted {
    model: Model,
    counts: Arc<[AtomicUsize; 3]>,
}

impl Energy for Counted {
    fn parameters(&self) -> Vec<String> {
        self.model.energy().parameters()
    }

    fn dimension(&self) -> usize {
        self.model.energy().dimension()
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        u: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.counts[0].fetch_add(1, Ordering::Relaxed);
        self.counts[1].fetch_add(points.rows(), Ordering::Relaxed);
        self.model.energy().evaluate(theta, points, u, score)
    }

    fn is_linear(&self) -> bool {
        self.model.energy().is_linear()
    }

    fn log_normalizer(&self, theta: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.model.energy().log_normalizer(theta, gradient)
    }

    fn add_curvature(
        &self,
        theta: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.counts[2].fetch_add(1, Ordering::Relaxed);
        self.model.energy().add_curvature(theta, points, weights, out)
    }
}

/// A line of the table: what `job` does with the model, which gives its steps.
fn line(name: &str, model: &Model, job: impl FnOnce(&Model) -> usize) -> String {
    let counts = Arc::new([(); 3].map(|()| AtomicUsize::new(0)));
    let energy = Counted { model: model.clone(), counts: counts.clone() };
    let counted = Model::new(energy, model.space().clone(), model.parameters().to_vec()).unwrap();
    let counted = if model.is_normalized() { counted.normalized().unwrap() } else { counted };
    let steps = job(&counted);
    let [calls, points, curvatures] = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
    format!("{name:<34} {steps:>4} steps {calls:>6} calls {points:>9} points {curvatures:>5} curvatures\n")
}

fn model(text: &str) -> Model {
    Model::from_toml(text).unwrap()
}

#[test]
fn standard_fits_and_designs() {
    let quadratic = model("variables = ['x']\nfeatures = ['x', 'x^2']");
    let curved = model("variables = ['x']\nlog_density = '-exp(s)*(x - m)^2/2'\n[parameters]\nm = 0\ns = 0");
    let quartic = model(
        "variables = ['x']\nlog_density = 'a*x^2 - b*x^4'\n[parameters]\na = 1\nb = { start = 1, lower = 0 }",
    );
    let normal = model(
        "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/(2*v) - log(2*pi*v)/2'\n[parameters]\nm = 0\nv = { start = 1, lower = 0 }",
    );
    let mean = model("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0");
    let plane = model("variables = ['x', 'y']\nfeatures = ['x', 'y', 'x^2', 'y^2', 'x*y']");
    let data = sample(&Normal::with_std(0.5, 1.0).unwrap(), 2000, 1);
    let pairs = sample(&MultivariateNormal::new(&[0.0, 1.0], &[1.0, 0.3, 0.3, 2.0]).unwrap(), 2000, 2);
    let fitted = |model: &Model, options: FitOptions| {
        model.fit(&data).options(options).seed(1).run().unwrap().iterations
    };
    let at = |nu: f64| FitOptions { amount: Amount::Ratio(nu), ..FitOptions::default() };
    let designed = |model: &Model, theta: &[f64], nu: Option<f64>| {
        let design = model.design(theta);
        nu.map_or(design.clone(), |nu| design.ratio(nu)).run().unwrap().optimum.steps
    };
    let table = [
        line("fit, linear, ratio 5", &quadratic, |m| fitted(m, at(5.0))),
        line("fit, linear, auto", &quadratic, |m| fitted(m, FitOptions::default())),
        line("fit, linear, exact", &quadratic, |m| m.fit(&data).exact().run().unwrap().iterations),
        line("fit, curved, ratio 5", &curved, |m| fitted(m, at(5.0))),
        line("fit, curved, exact", &curved, |m| m.fit(&data).exact().run().unwrap().iterations),
        line("fit, normalized, ratio 5", &normal, |m| fitted(m, at(5.0))),
        line("fit, noise optimal", &mean, |m| {
            fitted(m, FitOptions { noise: NoiseChoice::Optimal, ..at(1.0) })
        }),
        line("fit, two variables, ratio 5", &plane, |m| {
            m.fit(&pairs).ratio(5.0).seed(1).run().unwrap().iterations
        }),
        line("design, mean, ratio 1", &mean, |m| designed(m, &[0.0], Some(1.0))),
        line("design, mean, best ratio", &mean, |m| designed(m, &[0.0], None)),
        line("design, quartic, ratio 1", &quartic, |m| designed(m, &[2.0, 0.5], Some(1.0))),
        line("error, quartic", &quartic, |m| {
            let noise = Normal::with_std(0.0, 1.5).unwrap();
            usize::from(m.error(&[2.0, 0.5], noise).run().unwrap().error > 0.0)
        }),
    ];
    insta::assert_snapshot!(table.concat(), @r"
    fit, linear, ratio 5                 10 steps     90 calls     25059 points     1 curvatures
    fit, linear, auto                     3 steps     89 calls     27586 points     3 curvatures
    fit, linear, exact                    4 steps    228 calls     66810 points     6 curvatures
    fit, curved, ratio 5                 13 steps   1235 calls    528645 points   504 curvatures
    fit, curved, exact                   19 steps   1997 calls    784622 points   743 curvatures
    fit, normalized, ratio 5             11 steps   1108 calls    478301 points   500 curvatures
    fit, noise optimal                    9 steps   3482 calls    552542 points   512 curvatures
    fit, two variables, ratio 5          12 steps    368 calls     65328 points     1 curvatures
    design, mean, ratio 1                 1 steps     46 calls      7785 points     0 curvatures
    design, mean, best ratio              1 steps    350 calls     77357 points     0 curvatures
    design, quartic, ratio 1              1 steps   1825 calls     51542 points     0 curvatures
    error, quartic                        1 steps     43 calls      7317 points     0 curvatures
    ");
}

/// A normal energy that counts the calls with a point where neither data nor noise are: those of integrals over the density.
struct FarCalls(Arc<AtomicUsize>);

impl Energy for FarCalls {
    fn parameters(&self) -> Vec<String> {
        vec!["m".into(), "s".into()]
    }

    fn dimension(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        u: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let x = points.column(0);
        if x.iter().any(|x| x.abs() > 30.0) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        let scale = theta[1].exp();
        let squares = || x.iter().map(|x| (x - theta[0]).powi(2));
        u.iter_mut().zip(squares()).for_each(|(u, q)| *u = -0.5 * scale * q);
        if let Some(score) = score {
            let (by_m, by_s) = score.split_at_mut(x.len());
            by_m.iter_mut().zip(x).for_each(|(d, x)| *d = scale * (x - theta[0]));
            by_s.iter_mut().zip(squares()).for_each(|(d, q)| *d = -0.5 * scale * q);
        }
        Ok(())
    }
}

#[test]
fn a_fit_is_judged_once_however_often_its_noise_is_extended() {
    // The checks of a fit integrate over the fitted density. They were made after each of up to five rounds of noise, and all but
    // the last thrown away; with the noise of the last round from the start there is one round.
    let data = sample(&Normal::with_std(0.5, 1.0).unwrap(), 400, 1);
    let far_calls = |amount: Amount, draws: DrawKind| {
        let far = Arc::new(AtomicUsize::new(0));
        // The check of a model's score at its start is no part of a fit, but has no points so far away.
        let parameters = vec![Parameter::new("m", 0.0), Parameter::new("s", 0.0)];
        let model = Model::new(FarCalls(far.clone()), Space::real(&["x"]).unwrap(), parameters).unwrap();
        let noise = NoiseChoice::Given(Arc::new(Normal::with_variance(0.5, 4.0).unwrap()));
        let options = FitOptions { amount, draws, noise, ..FitOptions::default() };
        let fitted = model.fit(&data).options(options).run().unwrap();
        (fitted.noise_points, far.load(Ordering::Relaxed))
    };
    let (points, in_rounds) = far_calls(Amount::Auto { share: 0.1, most_values: 1 << 25 }, DrawKind::Random);
    let (_, once) = far_calls(Amount::Points(points), DrawKind::Random);
    assert!(points > 16_384, "one round has {points} points");
    assert!(once > 0 && in_rounds == once, "{once} calls, {in_rounds} in rounds");
}
