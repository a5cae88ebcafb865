//! A model of one's own: implement `Energy` for any type, in about twenty lines, and use it like a built-in.
//!
//! Run it with `cargo run --example own_model`.
#![allow(clippy::print_stdout)]

use std::sync::Arc;

use noisewright::{Energy, Model, Parameter, Points, Result, Space, View};

/// Two wells at ±√barrier, `u(x) = −stiffness·(x² − barrier)²`.
struct DoubleWell;

impl Energy for DoubleWell {
    fn parameters(&self) -> Vec<String> {
        vec!["stiffness".into(), "barrier".into()]
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
        let (stiffness, barrier) = (theta[0], theta[1]);
        let height = |x: &f64| x * x - barrier;
        for (v, x) in value.iter_mut().zip(points.column(0)) {
            *v = -stiffness * height(x).powi(2);
        }
        let Some(score) = score else { return Ok(()) };
        let (by_stiffness, by_barrier) = score.split_at_mut(points.rows());
        for ((s, b), x) in by_stiffness.iter_mut().zip(by_barrier).zip(points.column(0)) {
            (*s, *b) = (-height(x).powi(2), 2.0 * stiffness * height(x));
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let parameters =
        vec![Parameter::new("stiffness", 1.0).bounded(0.0, f64::INFINITY), Parameter::new("barrier", 1.0)];
    let model = Model::new(Arc::new(DoubleWell), Space::real(&["x"])?, parameters)?;
    let theta = model.at(&[("barrier", 4.0)])?;
    let points = Points::unnamed(1, 5, vec![-2.0, -1.0, 0.0, 1.0, 2.0]);
    let (mut value, mut score) = (vec![0.0; 5], vec![0.0; 10]);
    model.evaluate(&theta, points.view(), &mut value, Some(&mut score))?;

    println!("{} at stiffness = {}, barrier = {}", model.coordinates().join(", "), theta[0], theta[1]);
    for (i, x) in points.view().column(0).iter().enumerate() {
        println!("x = {x:4}   u = {:5}   score = ({:5}, {:5})", value[i], score[i], score[5 + i]);
    }
    assert_eq!(value, [0.0, -9.0, -16.0, -9.0, 0.0]);
    Ok(())
}
