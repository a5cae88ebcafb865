//! The asymptotic error against closed forms, the values of MATH §4 and §6, and mpmath.

use std::sync::Arc;

use noisewright::*;
use noisewright_numerics::random::Stream;

struct Gauss(f64, f64);

impl Noise for Gauss {
    fn dimension(&self) -> usize {
        1
    }
    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        for (o, x) in out.iter_mut().zip(points.column(0)) {
            *o = -0.5 * (x - self.0).powi(2) / self.1 - 0.5 * (2.0 * std::f64::consts::PI * self.1).ln();
        }
    }
    fn draw(&self, _: &mut Stream, _: usize, _: &mut [f64]) {}
    fn describe(&self) -> String {
        "gauss".into()
    }
    fn landmarks(&self, _: usize) -> Landmarks {
        Landmarks { breaks: vec![], centers: vec![(self.0, self.1.sqrt())] }
    }
}

struct Mean;
impl Energy for Mean {
    fn parameters(&self) -> Vec<String> {
        vec!["m".into()]
    }
    fn dimension(&self) -> usize {
        1
    }
    fn evaluate(&self, t: &[f64], p: View<'_>, value: &mut [f64], score: Option<&mut [f64]>) -> Result<()> {
        for (v, x) in value.iter_mut().zip(p.column(0)) {
            *v = -0.5 * (x - t[0]).powi(2) - 0.5 * (2.0 * std::f64::consts::PI).ln();
        }
        for (s, x) in score.into_iter().flatten().zip(p.column(0)) {
            *s = x - t[0];
        }
        Ok(())
    }
    fn log_normalizer(&self, _: &[f64], g: &mut [f64]) -> Option<f64> {
        g[0] = 0.0;
        Some(0.0)
    }
}

#[test]
fn scratch() {
    let model =
        Model::new(Arc::new(Mean), Space::real(&["x"]).unwrap(), vec![Parameter::new("m", 0.0)]).unwrap();
    let norm = model.clone().normalized();
    for (m, noise, nu) in [
        (&norm, Gauss(0.0, 1.0), 1.0),
        (&norm, Gauss(1.42701, 1.0), 1.0),
        (&model, Gauss(0.0, 1.0), 1.0),
        (&norm, Gauss(13.0, 1.0), 1.0),
        (&norm, Gauss(60.0, 1.0), 1.0),
    ] {
        let t = std::time::Instant::now();
        for loss in [Loss::Js, Loss::Kl] {
            let r = asymptotic_error(
                m,
                &[0.0],
                Contrast { noise: &noise, nu, loss: &loss },
                &Target::Mse,
                &Precision::default(),
            )
            .unwrap();
            println!("{} {:.12} {:?} {:?} {:?}", loss, r.error, r.cramer_rao, r.accuracy, t.elapsed());
        }
        println!("{:?}", divergences(m, &[0.0], &noise, nu, &Precision::default()));
    }
    let d = divergences(&norm, &[0.0], &Gauss(0.7, 1.5), 1.0, &Precision::default()).unwrap();
    println!("{:?} {:?}", d, d.normalizer_errors(1.0));
    let d = divergences(&norm, &[0.0], &Gauss(0.7, 1.5), 3.0, &Precision::default()).unwrap();
    println!("{:?} {:?}", d, d.normalizer_errors(3.0));
}

struct Variance;
impl Energy for Variance {
    fn parameters(&self) -> Vec<String> {
        vec!["v".into()]
    }
    fn dimension(&self) -> usize {
        1
    }
    fn evaluate(&self, t: &[f64], p: View<'_>, value: &mut [f64], score: Option<&mut [f64]>) -> Result<()> {
        for (v, x) in value.iter_mut().zip(p.column(0)) {
            *v = -0.5 * x * x / t[0];
        }
        for (s, x) in score.into_iter().flatten().zip(p.column(0)) {
            *s = 0.5 * x * x / t[0] / t[0];
        }
        Ok(())
    }
}

#[test]
fn scratch_design() {
    let mean =
        Model::new(Arc::new(Mean), Space::real(&["x"]).unwrap(), vec![Parameter::new("m", 0.0)]).unwrap();
    let var =
        Model::new(Arc::new(Variance), Space::real(&["x"]).unwrap(), vec![Parameter::new("v", 1.0)]).unwrap();
    for (name, model, at) in [
        ("mean n", mean.clone().normalized(), 0.0),
        ("var n", var.clone().normalized(), 1.0),
        ("mean u", mean, 0.0),
        ("var u", var, 1.0),
    ] {
        let population = Population::new(&model, &[at], &Precision::default()).unwrap();
        for nu in [1.0 / 99.0, 0.1, 1.0, 10.0] {
            let t = std::time::Instant::now();
            let r = design::optimal_noise(&population, &Target::Mse, nu).unwrap();
            println!(
                "{name} {nu:.4} {:.8} gap {:.1e} stationary {} steps {} {:?}",
                (1.0 + nu) * r.value,
                r.gap,
                r.stationary_points,
                r.steps,
                t.elapsed()
            );
        }
    }
}
