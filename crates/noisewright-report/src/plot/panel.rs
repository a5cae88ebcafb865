//! One panel of a figure: two axes and what is drawn between them.

use super::axis::{Axis, Extent};
use super::series::Series;

/// A panel of a figure.
///
/// ```
/// use noisewright_report::{Axis, Figure, Line, Panel, Reference};
/// let curve = (1..100).map(|i| f64::from(i) / 100.0).map(|p| (p, 1.0 / (p * (1.0 - p))));
/// let panel = Panel::new(Axis::linear("noise proportion").percent(), Axis::log("T·MSE"))
///     .title("Noise equal to the data")
///     .with(Line::new("error", curve))
///     .with(Reference::horizontal(4.0, "smallest"));
/// let svg = Figure::from(panel).to_svg();
/// assert!(svg.starts_with("<svg") && svg.contains("noise proportion"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    pub(crate) aspect: Option<f64>,
}

impl Panel {
    /// An empty panel between two axes.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Sets the title above the panel.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a series; later ones are drawn over earlier ones of the same kind.
    #[must_use]
    pub fn with(mut self, series: impl Into<Series>) -> Self {
        self.push(series);
        self
    }

    /// Adds a series in place, for loops.
    pub fn push(&mut self, series: impl Into<Series>) {
        self.series.push(series.into());
    }

    /// Sets height over width of the whole panel (0.62), kept between 0.2 and 2.
    #[must_use]
    pub fn aspect(mut self, ratio: f64) -> Self {
        self.aspect = Some(if ratio.is_finite() { ratio.clamp(0.2, 2.0) } else { 0.62 });
        self
    }

    pub(crate) fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let (mut x, mut y) = (Extent::default(), Extent::default());
        self.series.iter().for_each(|series| series.extend(&mut x, &mut y));
        (self.x.resolve(&x), self.y.resolve(&y))
    }
}
