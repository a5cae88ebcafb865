//! What a panel can show: lines, bands, bars, points, reference lines and words.

use super::axis::Extent;
use super::heatmap::{Contours, HeatMap};
use super::palette::Stroke;

/// Anything that can be added to a panel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Series {
    /// A curve.
    Line(Line),
    /// The area between two curves.
    Band(Band),
    /// A histogram.
    Bars(Bars),
    /// Points, with or without error bars.
    Points(Points),
    /// A straight line at one value.
    Reference(Reference),
    /// Words at a place.
    Annotation(Annotation),
    /// Values on a grid as colours.
    HeatMap(HeatMap),
    /// Values on a grid as level lines.
    Contours(Contours),
}

macro_rules! into_series {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Series {
            fn from(series: $kind) -> Self {
                Self::$kind(series)
            }
        }
    )*};
}
into_series!(Line, Band, Bars, Points, Reference, Annotation, HeatMap, Contours);

/// A curve through points; non-finite values (and non-positive ones on a logarithmic axis) leave gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub(crate) label: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) stroke: Option<Stroke>,
    pub(crate) color: Option<usize>,
    pub(crate) width: f64,
}

impl Line {
    /// A curve; an empty label keeps it out of the legend.
    pub fn new(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Self { label: label.into(), points, stroke: None, color: None, width: 2.0 }
    }

    /// Sets the dash; by default each colour has its own.
    #[must_use]
    pub fn stroke(mut self, stroke: Stroke) -> Self {
        self.stroke = Some(stroke);
        self
    }

    /// Uses the n-th colour (from 0) instead of the next free one.
    #[must_use]
    pub fn color(mut self, index: usize) -> Self {
        self.color = Some(index);
        self
    }

    /// Sets the width in pixels (2).
    #[must_use]
    pub fn width(mut self, pixels: f64) -> Self {
        self.width = pixels;
        self
    }
}

/// The area between two curves, such as an interval around an estimate; infinite bounds reach the panel's edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    pub(crate) label: String,
    pub(crate) points: Vec<(f64, f64, f64)>,
    pub(crate) color: Option<usize>,
    pub(crate) grounded: bool,
}

impl Band {
    /// A band from points (x, lower, upper); an empty label keeps it out of the legend.
    pub fn new(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        Self { label: label.into(), points: points.into_iter().collect(), color: None, grounded: false }
    }

    /// The area between a curve and zero (on a logarithmic axis, its lower end).
    pub fn under(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| (x, y.min(0.0), y.max(0.0)));
        Self { grounded: true, ..Self::new(label, points) }
    }

    /// Uses the n-th colour (from 0) instead of the next free one.
    #[must_use]
    pub fn color(mut self, index: usize) -> Self {
        self.color = Some(index);
        self
    }
}

/// A histogram: heights between edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    pub(crate) label: String,
    pub(crate) edges: Vec<f64>,
    pub(crate) heights: Vec<f64>,
    pub(crate) color: Option<usize>,
    pub(crate) filled: bool,
}

impl Bars {
    /// A histogram with one edge more than heights; an empty label keeps it out of the legend.
    ///
    /// # Panics
    /// If there are heights and the number of edges is not one more than theirs.
    pub fn new(label: impl Into<String>, edges: Vec<f64>, heights: Vec<f64>) -> Self {
        assert!(
            heights.is_empty() || edges.len() == heights.len() + 1,
            "a histogram needs one edge more than it has heights"
        );
        Self { label: label.into(), edges, heights, color: None, filled: true }
    }

    /// Draws the outline only, as steps.
    #[must_use]
    pub fn outline(mut self) -> Self {
        self.filled = false;
        self
    }

    /// Uses the n-th colour (from 0) instead of the next free one.
    #[must_use]
    pub fn color(mut self, index: usize) -> Self {
        self.color = Some(index);
        self
    }
}

/// Points, with error bars if wanted; more than 400 are drawn translucent.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    pub(crate) label: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) x_errors: Vec<(f64, f64)>,
    pub(crate) y_errors: Vec<(f64, f64)>,
    pub(crate) color: Option<usize>,
    pub(crate) size: f64,
}

impl Points {
    /// Points; an empty label keeps them out of the legend.
    pub fn new(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Self {
            label: label.into(),
            points,
            x_errors: Vec::new(),
            y_errors: Vec::new(),
            color: None,
            size: 7.0,
        }
    }

    /// Vertical error bars: lower and upper end for each point in turn.
    #[must_use]
    pub fn y_errors(mut self, ends: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.y_errors = ends.into_iter().collect();
        self
    }

    /// Horizontal error bars: lower and upper end for each point in turn.
    #[must_use]
    pub fn x_errors(mut self, ends: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.x_errors = ends.into_iter().collect();
        self
    }

    /// Uses the n-th colour (from 0) instead of the next free one.
    #[must_use]
    pub fn color(mut self, index: usize) -> Self {
        self.color = Some(index);
        self
    }

    /// Sets the size in pixels (7).
    #[must_use]
    pub fn size(mut self, pixels: f64) -> Self {
        self.size = pixels;
        self
    }
}

/// A straight line across the panel at one value, labelled where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub(crate) label: String,
    pub(crate) value: f64,
    pub(crate) vertical: bool,
}

impl Reference {
    /// A vertical line at an x value.
    pub fn vertical(x: f64, label: impl Into<String>) -> Self {
        Self { label: label.into(), value: x, vertical: true }
    }

    /// A horizontal line at a y value.
    pub fn horizontal(y: f64, label: impl Into<String>) -> Self {
        Self { label: label.into(), value: y, vertical: false }
    }
}

/// Words at a place in the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    pub(crate) text: String,
    pub(crate) at: (f64, f64),
}

impl Annotation {
    /// Words just right of and above the point (x, y), moved where they would leave the panel.
    pub fn new(x: f64, y: f64, text: impl Into<String>) -> Self {
        Self { text: text.into(), at: (x, y) }
    }
}

impl Series {
    /// The label for the legend, if there is one.
    pub(crate) fn label(&self) -> Option<&str> {
        let label = match self {
            Self::Line(series) => &series.label,
            Self::Band(series) => &series.label,
            Self::Bars(series) => &series.label,
            Self::Points(series) => &series.label,
            Self::Contours(series) => &series.label,
            Self::Reference(_) | Self::Annotation(_) | Self::HeatMap(_) => return None,
        };
        (!label.is_empty()).then_some(label)
    }

    /// The colour that the caller chose, if any.
    pub(crate) fn chosen_color(&self) -> Option<usize> {
        match self {
            Self::Line(series) => series.color,
            Self::Band(series) => series.color,
            Self::Bars(series) => series.color,
            Self::Points(series) => series.color,
            Self::Contours(series) => series.color,
            Self::Reference(_) | Self::Annotation(_) | Self::HeatMap(_) => Some(0),
        }
    }

    /// Tells both axes which values have to be on them.
    pub(crate) fn extend(&self, x: &mut Extent, y: &mut Extent) {
        y.padded |= !matches!(self, Self::HeatMap(_) | Self::Contours(_));
        x.filled |= matches!(self, Self::HeatMap(_));
        y.filled |= matches!(self, Self::HeatMap(_));
        match self {
            Self::Line(series) => add_points(&series.points, x, y),
            Self::Band(series) => series.extend(x, y),
            Self::Bars(series) => series.extend(x, y),
            Self::Points(series) => series.extend(x, y),
            Self::Reference(series) if series.vertical => x.add(series.value),
            Self::Reference(series) => y.add(series.value),
            Self::Annotation(_) => {}
            Self::HeatMap(series) => series.extend(x, y),
            Self::Contours(series) => series.extend(x, y),
        }
    }
}

fn add_points(points: &[(f64, f64)], x: &mut Extent, y: &mut Extent) {
    points.iter().for_each(|point| x.add(point.0));
    points.iter().for_each(|point| y.add(point.1));
}

impl Band {
    fn extend(&self, x: &mut Extent, y: &mut Extent) {
        y.grounded |= self.grounded;
        for &(at, lower, upper) in &self.points {
            x.add(at);
            y.add(lower);
            y.add(upper);
        }
    }
}

impl Bars {
    fn extend(&self, x: &mut Extent, y: &mut Extent) {
        y.grounded = true;
        y.add(0.0);
        self.edges.iter().for_each(|&edge| x.add(edge));
        self.heights.iter().for_each(|&height| y.add(height));
    }
}

impl Points {
    fn extend(&self, x: &mut Extent, y: &mut Extent) {
        x.padded = true;
        add_points(&self.points, x, y);
        self.x_errors.iter().for_each(|ends| [ends.0, ends.1].into_iter().for_each(|end| x.add(end)));
        self.y_errors.iter().for_each(|ends| [ends.0, ends.1].into_iter().for_each(|end| y.add(end)));
    }
}
