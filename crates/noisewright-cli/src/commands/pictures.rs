//! Pictures that several commands share.

use noisewright::{Noise, Population, View};
use noisewright_report::{Axis, Figure, Line, Panel, Stroke};

use crate::inputs::Problem;

/// Number of places a curve is drawn through.
const PLACES: usize = 400;

/// Values on an even grid over where the data are, in one dimension.
pub(super) struct Grid {
    pub(super) x: Vec<f64>,
    pub(super) data: Vec<f64>,
    pub(super) noise: Vec<f64>,
    pub(super) weight: Vec<f64>,
}

/// Densities of data and noise and the weight between them; `None` beyond one continuous variable.
pub(super) fn grid(problem: &Problem, population: &Population, noise: &dyn Noise, nu: f64) -> Option<Grid> {
    let space = problem.model.space();
    if space.dimension() != 1 || space.domains()[0].is_discrete() {
        return None;
    }
    let (low, high) = range(population);
    let (lower, upper) = space.domains()[0].bounds();
    let margin = 0.1 * (high - low);
    let (low, high) = ((low - margin).max(lower), (high + margin).min(upper));
    let x: Vec<f64> = (0..PLACES).map(|i| low + (high - low) * (i as f64 + 0.5) / PLACES as f64).collect();
    let view = View::new(1, PLACES, &x);
    let mut log_data = vec![0.0; PLACES];
    problem.model.evaluate(&problem.parameters, view, &mut log_data, None).ok()?;
    let mut log_noise = vec![0.0; PLACES];
    noise.log_density(view, &mut log_noise);
    let data: Vec<f64> = log_data.iter().map(|u| (u - population.log_normalizer()).exp()).collect();
    let noise: Vec<f64> = log_noise.iter().map(|q| q.exp()).collect();
    let weight = data.iter().zip(&noise).map(|(p, q)| nu * q / (p + nu * q)).collect();
    Some(Grid { x, data, noise, weight })
}

/// Where all but a thousandth of the data are.
fn range(population: &Population) -> (f64, f64) {
    let mut points: Vec<(f64, f64)> = population
        .points()
        .view()
        .column(0)
        .iter()
        .zip(population.log_weights())
        .map(|(x, w)| (*x, w.exp()))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let (mut low, mut high) = (points[0].0, points[points.len() - 1].0);
    let mut started = false;
    for (x, w) in points {
        sum += w;
        if !started && sum > 5e-4 {
            (low, started) = (x, true);
        }
        if sum < 0.9995 {
            high = x;
        }
    }
    (low, high)
}

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
    let grid = grid(problem, population, noise, nu)?;
    let name = problem.model.space().names()[0].clone();
    let top = Panel::new(Axis::linear(name.clone()), Axis::linear("density"))
        .with(Line::new("data", pairs(&grid.x, &grid.data)))
        .with(Line::new("noise", pairs(&grid.x, &grid.noise)).stroke(Stroke::Dashed));
    let bottom = Panel::new(Axis::linear(name), Axis::linear("weight w(x)").range(0.0, 1.0))
        .with(Line::new("weight", pairs(&grid.x, &grid.weight)));
    Some(Figure::new().panel(top).panel(bottom).columns(1))
}
