//! Where pictures show densities: a grid over where the data are, in one and two variables.

use super::problem::Problem;
use crate::{Noise, Population, View};

/// Places along a line.
const PLACES: usize = 400;
/// Cells along each side of a plane.
const CELLS: usize = 60;
/// Standard deviations on either side of the mean that a plane shows.
const REACH: f64 = 3.5;

/// Points at which densities are shown.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Grid {
    /// Places of the first variable; the values themselves where they can be listed.
    pub x: Vec<f64>,
    /// Places of the second variable, where there is one.
    pub y: Option<Vec<f64>>,
    /// Whether the places are all values that the variable takes.
    pub is_listed: bool,
    /// Column-major; y changes slowest.
    points: Vec<f64>,
}

impl Grid {
    fn line(x: Vec<f64>, is_listed: bool) -> Self {
        Self { points: x.clone(), x, y: None, is_listed }
    }

    fn plane(x: Vec<f64>, y: Vec<f64>) -> Self {
        let (columns, rows) = (x.len(), y.len());
        let first = (0..columns * rows).map(|i| x[i % columns]);
        let points = first.chain((0..columns * rows).map(|i| y[i / columns])).collect();
        Self { x, y: Some(y), is_listed: false, points }
    }

    /// Its points, row after row of a plane.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let columns = 1 + usize::from(self.y.is_some());
        View::new(columns, self.points.len() / columns, &self.points)
    }

    /// The density of a noise at every point.
    #[must_use]
    pub fn noise_density(&self, noise: &dyn Noise) -> Vec<f64> {
        let view = self.view();
        let mut density = vec![0.0; view.rows()];
        noise.log_density(view, &mut density);
        density.iter_mut().for_each(|q| *q = q.exp());
        density
    }
}

impl Problem<'_> {
    /// A grid over where the data are: along one variable, or over the plane of two continuous ones.
    ///
    /// ```
    /// use noisewright::{Model, Normal, Population, Precision};
    /// use noisewright::internal::design::Problem;
    /// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 3")?;
    /// let population = Population::new(&model, &[3.0], &Precision::default())?;
    /// let problem = Problem::new(&model, &[3.0]);
    /// let grid = problem.grid(&population).unwrap();
    /// let density = problem.data_density(&population, &grid).unwrap();
    /// let same = grid.noise_density(&Normal::with_std(3.0, 1.0)?);
    /// assert!(density.iter().zip(&same).all(|(p, q)| (p - q).abs() < 1e-12));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn grid(&self, population: &Population) -> Option<Grid> {
        let space = self.model.space();
        let discrete = space.domains().iter().any(crate::Domain::is_discrete);
        match space.dimension() {
            1 if discrete => listed(population),
            1 => {
                let (low, high) = range(population)?;
                let (lower, upper) = space.domains()[0].bounds();
                let margin = 0.1 * (high - low);
                let (low, high) = ((low - margin).max(lower), (high + margin).min(upper));
                Some(Grid::line(places(low, high, PLACES), false))
            }
            2 if !discrete && !space.is_sphere() => {
                let side = |axis: usize| {
                    let (low, high) = spread(population, axis);
                    let (lower, upper) = space.domains()[axis].bounds();
                    places(low.max(lower), high.min(upper), CELLS)
                };
                Some(Grid::plane(side(0), side(1)))
            }
            _ => None,
        }
    }

    /// The density of the data on a grid; `None` where the model cannot be evaluated.
    #[must_use]
    pub fn data_density(&self, population: &Population, grid: &Grid) -> Option<Vec<f64>> {
        let view = grid.view();
        let mut data = vec![0.0; view.rows()];
        self.model.evaluate(self.parameters, view, &mut data, None).ok()?;
        data.iter_mut().for_each(|u| *u = (*u - population.log_normalizer()).exp());
        Some(data)
    }
}

/// The middles of so many equal parts.
fn places(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| low + (high - low) * (i as f64 + 0.5) / count as f64).collect()
}

/// A few standard deviations on either side of the mean.
fn spread(population: &Population, axis: usize) -> (f64, f64) {
    let column = population.points().view().column(axis);
    let weight = population.log_weights().iter().map(|w| w.exp());
    let (mean, square) =
        column.iter().zip(weight).fold((0.0, 0.0), |(m, s), (x, w)| (m + w * x, s + w * x * x));
    let reach = REACH * (square - mean * mean).max(0.0).sqrt();
    (mean - reach, mean + reach)
}

/// The values that a discrete variable takes where the data are.
fn listed(population: &Population) -> Option<Grid> {
    let (low, high) = range(population)?;
    let mut x: Vec<f64> = population.points().view().column(0).to_vec();
    x.sort_by(f64::total_cmp);
    x.dedup();
    x.retain(|x| (low..=high).contains(x));
    (x.len() <= PLACES).then(|| Grid::line(x, true))
}

/// Where all but a thousandth of the data are.
fn range(population: &Population) -> Option<(f64, f64)> {
    let x = population.points().view().column(0).iter().copied();
    let mut points: Vec<(f64, f64)> = x.zip(population.log_weights().iter().map(|w| w.exp())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut low, mut high) = (0.0, None, points.first()?.0);
    for (x, weight) in points {
        below += weight;
        if below > 5e-4 {
            low.get_or_insert(x);
        }
        if below < 0.9995 {
            high = x;
        }
    }
    let low = low.unwrap_or(high);
    Some(if low < high { (low, high) } else { (low - 1.0, high + 1.0) })
}
