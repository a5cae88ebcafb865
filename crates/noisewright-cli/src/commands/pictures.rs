//! Pictures that several commands share.

use noisewright::{Noise, Population};
use noisewright_report::{Axis, Figure, Line, Panel, Stroke};

use crate::inputs::Problem;

/// Points of a curve from its two columns.
pub(super) fn pairs(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    x.iter().copied().zip(y.iter().copied()).collect()
}

/// The two densities above, the weight below.
pub(super) fn densities(
    problem: &Problem,
    population: &Population,
    noise: &dyn Noise,
    nu: f64,
) -> Option<Figure> {
    let grid = problem.question().densities(population, noise, nu)?;
    let name = problem.model.space().names()[0].clone();
    let top = Panel::new(Axis::linear(name.clone()), Axis::linear("density"))
        .with(Line::new("data", pairs(&grid.x, &grid.data)))
        .with(Line::new("noise", pairs(&grid.x, &grid.noise)).stroke(Stroke::Dashed));
    let bottom = Panel::new(Axis::linear(name), Axis::linear("weight w(x)").range(0.0, 1.0))
        .with(Line::new("weight", pairs(&grid.x, &grid.weight)));
    Some(Figure::new().panel(top).panel(bottom).columns(1))
}
