//! The best histogram noise, in one and two variables: a dictionary of uniform bins.

use super::criterion::Criterion;
use super::proportion::check_ratio;
use super::weights::{Dictionary, solve};
use super::{DesignOptions, Ratio};
use crate::{Contrast, DesignFault, Error, Histogram1d, Histogram2d, Loss, Model, Noise, Population, Result};

/// The best histogram on given edges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HistogramDesign<H> {
    /// The noise.
    pub noise: H,
    /// The error times the budget.
    pub error: f64,
    /// Noise points per data point.
    pub nu: f64,
    /// What histograms on these edges could still gain, relatively; a certificate for models with a free constant.
    pub gap: f64,
    /// Number of distinct stationary points that the starts led to.
    pub stationary_points: usize,
}

/// The best histogram of one variable on given edges, at a given ν or jointly with it.
///
/// ```
/// use noisewright::{Model, equal_edges};
/// use noisewright::design::{DesignOptions, Ratio};
/// use noisewright::internal::design::best_histogram_1d;
/// let model = Model::from_toml(
///     "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\n[parameters]\nm = 0",
/// )?;
/// let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
/// let best = best_histogram_1d(&model, &[0.0], &equal_edges(20, -5.0, 5.0), &options)?;
/// assert!(best.error < 3.0445); // the exact optimum has 2.99387, noise equal to the data 4
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the edges do not increase, the model is not one of one continuous variable, or no histogram on these edges
/// tells all parameters.
pub fn best_histogram_1d(
    model: &Model,
    parameters: &[f64],
    edges: &[f64],
    options: &DesignOptions,
) -> Result<HistogramDesign<Histogram1d>> {
    check_space(model, 1)?;
    let volumes: Vec<f64> = edges.windows(2).map(|e| e[1] - e[0]).collect();
    let make = |probabilities: &[f64]| Histogram1d::new(edges, probabilities);
    let options = &options.for_run();
    let search = Search { model, parameters, options, volumes: &volumes };
    search.run(make, |population| {
        let x = population.points().view().column(0);
        x.iter().map(|x| bin_of(edges, *x)).collect()
    })
}

/// The best histogram of two variables on given edges of each, at a given ν or jointly with it.
///
/// # Errors
/// As for [`best_histogram_1d`].
pub fn best_histogram_2d(
    model: &Model,
    parameters: &[f64],
    edges: [&[f64]; 2],
    options: &DesignOptions,
) -> Result<HistogramDesign<Histogram2d>> {
    check_space(model, 2)?;
    let width = |e: &[f64]| e[1] - e[0];
    let heights: Vec<f64> = edges[1].windows(2).map(width).collect();
    let volumes: Vec<f64> =
        edges[0].windows(2).flat_map(|e| heights.iter().map(move |h| width(e) * h)).collect();
    let make = |probabilities: &[f64]| Histogram2d::new(edges[0], edges[1], probabilities);
    let options = &options.for_run();
    let search = Search { model, parameters, options, volumes: &volumes };
    search.run(make, |population| {
        let points = population.points().view();
        let cell = |(x, y): (&f64, &f64)| Some(bin_of(edges[0], *x)? * heights.len() + bin_of(edges[1], *y)?);
        points.column(0).iter().zip(points.column(1)).map(cell).collect()
    })
}

fn check_space(model: &Model, dimension: usize) -> Result<()> {
    let space = model.space();
    let fits = space.dimension() == dimension
        && !space.is_sphere()
        && space.domains().iter().all(|domain| !domain.is_discrete());
    if fits {
        return Ok(());
    }
    Err(Error::Design(DesignFault::HistogramSpace { variables: dimension }))
}

struct Search<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    options: &'a DesignOptions,
    volumes: &'a [f64],
}

impl Search<'_> {
    fn run<H: Noise>(
        &self,
        make: impl Fn(&[f64]) -> Result<H>,
        pieces: impl Fn(&Population) -> Vec<Option<usize>>,
    ) -> Result<HistogramDesign<H>> {
        self.options.prices.check()?;
        let start = if let Ratio::Fixed(nu) = self.options.ratio { check_ratio(nu)? } else { 1.0 };
        let total: f64 = self.volumes.iter().sum();
        let uniform = make(&self.volumes.iter().map(|v| v / total).collect::<Vec<_>>())?;
        // The nodes of the uniform histogram respect all edges, which is where any histogram has its jumps.
        let contrast = Contrast { noise: &uniform, nu: start, loss: &Loss::Js };
        let population =
            Population::for_contrast(self.model, self.parameters, contrast, &self.options.precision)?;
        let criterion =
            Criterion::new(&population, &self.options.target)?.for_run(self.options.precision.context());
        let dictionary = Dictionary::pieces(&population, pieces(&population), self.volumes);
        let solved = solve(&criterion, &dictionary, self.options.ratio, self.options.prices);
        let (nu, best) = self.options.conclude(solved)?;
        Ok(HistogramDesign {
            noise: make(&best.weights)?,
            error: self.options.prices.scale(nu) * best.value,
            nu,
            gap: best.gap,
            stationary_points: best.stationary_points,
        })
    }
}

/// The bin that holds `x`; the last edge belongs to the last bin.
fn bin_of(edges: &[f64], x: f64) -> Option<usize> {
    let last = edges.len().checked_sub(1)?;
    let inside = x >= edges[0] && x <= edges[last];
    inside.then(|| edges.partition_point(|edge| *edge <= x).saturating_sub(1).min(last.saturating_sub(1)))
}
