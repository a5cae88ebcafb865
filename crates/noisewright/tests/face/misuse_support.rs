//! What is misused: models and noises of the caller's own, right and wrong, and a table of what comes back.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

use std::sync::Arc;

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::*;

/// A log-density of one variable with its score, from a function of the parameters and the point.
pub(crate) struct Own<F> {
    pub(crate) names: Vec<&'static str>,
    pub(crate) linear: bool,
    pub(crate) at: F,
}

impl<F: Fn(&[f64], f64) -> (f64, Vec<f64>) + Send + Sync> Energy for Own<F> {
    fn parameters(&self) -> Vec<String> {
        self.names.iter().map(|name| (*name).to_owned()).collect()
    }
    fn dimension(&self) -> usize {
        1
    }
    fn is_linear(&self) -> bool {
        self.linear
    }
    fn evaluate(
        &self,
        t: &[f64],
        p: View<'_>,
        value: &mut [f64],
        mut score: Option<&mut [f64]>,
    ) -> Result<()> {
        let rows = p.rows();
        for (i, x) in p.column(0).iter().enumerate() {
            let (u, slopes) = (self.at)(t, *x);
            value[i] = u;
            if let Some(score) = score.as_deref_mut() {
                slopes.iter().enumerate().for_each(|(j, s)| score[j * rows + i] = *s);
            }
        }
        Ok(())
    }
}

pub(crate) type Point = fn(&[f64], f64) -> (f64, Vec<f64>);

/// A model of one variable that starts at ½ for every parameter.
pub(crate) fn own(names: &[&'static str], at: Point) -> Model {
    own_with(names, false, at)
}

pub(crate) fn own_with(names: &[&'static str], linear: bool, at: Point) -> Model {
    let parameters = names.iter().map(|name| Parameter::new(*name, 0.5)).collect();
    let energy = Own { names: names.to_vec(), linear, at };
    Model::new(energy, Space::real(&["x"]).unwrap(), parameters).unwrap()
}

/// `m x − x²/2`.
pub(crate) fn gauss() -> Model {
    own(&["m"], |t, x| (t[0] * x - 0.5 * x * x, vec![x]))
}

/// Two variables, whose means are the parameters.
pub(crate) fn two() -> Model {
    let parameters = vec![Parameter::new("a", 0.0), Parameter::new("b", 0.0)];
    Model::from_formula("a*x - x^2/2 - (y-b)^2/8", Space::real(&["x", "y"]).unwrap(), parameters, false)
        .unwrap()
}

pub(crate) fn points() -> Points {
    sample(&Normal::with_variance(0.5, 1.0).unwrap(), 500, 1)
}

pub(crate) fn normal() -> Normal {
    Normal::with_variance(0.0, 1.0).unwrap()
}

pub(crate) fn plane() -> MultivariateNormal {
    MultivariateNormal::new(&[0.0, 0.0], &[1.0, 0.0, 0.0, 1.0]).unwrap()
}

/// A normal noise with one fault.
pub(crate) struct BadNoise {
    pub(crate) density: fn(f64) -> f64,
    pub(crate) draw: fn(f64) -> f64,
}

impl Noise for BadNoise {
    fn dimension(&self) -> usize {
        1
    }
    fn log_density(&self, p: View<'_>, out: &mut [f64]) {
        out.iter_mut().zip(p.column(0)).for_each(|(o, x)| *o = (self.density)(*x));
    }
    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        Noise::draw(&normal(), stream, rows, out);
        out.iter_mut().for_each(|x| *x = (self.draw)(*x));
    }
    fn describe(&self) -> String {
        "bad".into()
    }
}

pub(crate) fn bad_density(density: fn(f64) -> f64) -> BadNoise {
    BadNoise { density, draw: |x| x }
}

pub(crate) fn bad_draw(draw: fn(f64) -> f64) -> BadNoise {
    BadNoise { density: |x| -0.5 * x * x - 0.918_938_533_204_672_7, draw }
}

/// A fit with changed options.
pub(crate) fn fitted(change: impl FnOnce(&mut FitOptions)) -> Result<Fit> {
    fitted_model(&gauss(), change)
}

pub(crate) fn fitted_model(model: &Model, change: impl FnOnce(&mut FitOptions)) -> Result<Fit> {
    let mut options = FitOptions { amount: Amount::Ratio(2.0), ..FitOptions::default() };
    change(&mut options);
    fit(model, Data::from(&points()), &options)
}

pub(crate) fn given(noise: impl Noise + 'static) -> impl FnOnce(&mut FitOptions) {
    move |options| options.noise = NoiseChoice::Given(Arc::new(noise))
}

/// What an error is called, or `ok`.
pub(crate) fn code<T>(result: Result<T>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "ok")
}

/// Rows of a table: what was done, what came of it, and what should.
#[track_caller]
pub(crate) fn assert_all(rows: &[(&str, &str, &str)]) {
    let wrong: Vec<_> = rows.iter().filter(|(_, found, expected)| found != expected).collect();
    assert!(wrong.is_empty(), "(case, found, expected): {wrong:#?}");
}
