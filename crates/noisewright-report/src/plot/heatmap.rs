//! Values on a grid: colours with a scale beside them, and level lines.

use std::collections::BTreeMap;

use super::axis::{Extent, Scale};
use super::palette::{ColorMap, Theme};
use super::svg::coordinate;
use super::ticks::{usable_log_range, usable_range};

/// Steps of the colour scale; the eye tells no more apart, and equal neighbours merge into one shape.
const SHADES: usize = 64;

/// Values on a grid of cells, shown as colours; non-finite ones are left open.
///
/// ```
/// use noisewright_report::HeatMap;
/// let edges = vec![0.0, 1.0, 2.0];
/// let map = HeatMap::from_fn(edges.clone(), edges, |x, y| x * y).scale_label("product");
/// assert_eq!(map.value(1, 0), 0.75);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    pub(crate) x_edges: Vec<f64>,
    pub(crate) y_edges: Vec<f64>,
    pub(crate) values: Vec<f64>,
    pub(crate) scale_label: String,
    pub(crate) colors: ColorMap,
    pub(crate) log: bool,
    pub(crate) range: Option<(f64, f64)>,
}

impl HeatMap {
    /// A map from cell edges and values, x running fastest.
    ///
    /// # Panics
    /// If the number of values is not the number of cells.
    pub fn new(x_edges: Vec<f64>, y_edges: Vec<f64>, values: Vec<f64>) -> Self {
        let cells = x_edges.len().saturating_sub(1) * y_edges.len().saturating_sub(1);
        assert!(values.len() == cells, "a heat map needs one value per cell");
        let colors = ColorMap::default();
        Self { x_edges, y_edges, values, scale_label: String::new(), colors, log: false, range: None }
    }

    /// A map of a function's values at the centres of the cells.
    pub fn from_fn(x_edges: Vec<f64>, y_edges: Vec<f64>, value: impl Fn(f64, f64) -> f64) -> Self {
        let (xs, ys) = (centres(&x_edges), centres(&y_edges));
        let values =
            ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y))).map(|(x, y)| value(x, y)).collect();
        Self::new(x_edges, y_edges, values)
    }

    /// The value of the cell in the given column and row; NaN outside the grid.
    pub fn value(&self, column: usize, row: usize) -> f64 {
        let columns = self.x_edges.len().saturating_sub(1);
        if column < columns {
            self.values.get(row * columns + column).copied().unwrap_or(f64::NAN)
        } else {
            f64::NAN
        }
    }

    /// Says what the colours measure.
    #[must_use]
    pub fn scale_label(mut self, label: impl Into<String>) -> Self {
        self.scale_label = label.into();
        self
    }

    /// Chooses the colours.
    #[must_use]
    pub fn colors(mut self, colors: ColorMap) -> Self {
        self.colors = colors;
        self
    }

    /// Spaces the colours by ratios; values that are not positive are left open.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.log = true;
        self
    }

    /// Fixes the range of the colours; values beyond it take the end's colour.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    pub(crate) fn extend(&self, x: &mut Extent, y: &mut Extent) {
        self.x_edges.iter().for_each(|&edge| x.add(edge));
        self.y_edges.iter().for_each(|&edge| y.add(edge));
    }

    /// The scale of the colours, drawn between two pixels.
    pub(crate) fn color_scale(&self, from: f64, to: f64) -> Scale {
        let shown = self.values.iter().copied().filter(|v| v.is_finite() && !(self.log && *v <= 0.0));
        let seen = shown.fold((f64::NAN, f64::NAN), |(low, high), v| (v.min(low), v.max(high)));
        let (low, high) = self.range.unwrap_or(seen);
        let (low, high) = if self.log { usable_log_range(low, high) } else { usable_range(low, high) };
        Scale { log: self.log, low, high, from, to }
    }

    /// The filled cells as SVG, one path per shade.
    pub(crate) fn cells(&self, x: &Scale, y: &Scale, theme: Theme) -> String {
        let mut shades: BTreeMap<usize, String> = BTreeMap::new();
        let colors = self.color_scale(0.0, 1.0);
        for row in 0..self.y_edges.len().saturating_sub(1) {
            self.push_row(&mut shades, row, &colors, x, y);
        }
        let paths = shades.into_iter().map(|(shade, d)| {
            let position = shade as f64 / (SHADES - 1) as f64;
            format!("<path {} d=\"{d}\"/>\n", self.colors.fill(position, theme))
        });
        format!("<g shape-rendering=\"crispEdges\">\n{}</g>\n", paths.collect::<String>())
    }

    fn push_row(
        &self,
        shades: &mut BTreeMap<usize, String>,
        row: usize,
        colors: &Scale,
        x: &Scale,
        y: &Scale,
    ) {
        let (Some(bottom), Some(top)) = (y.inside(self.y_edges[row]), y.inside(self.y_edges[row + 1])) else {
            return;
        };
        let columns: Vec<usize> = (0..self.x_edges.len().saturating_sub(1)).collect();
        for run in columns.chunk_by(|&a, &b| self.shade(a, row, colors) == self.shade(b, row, colors)) {
            let Some(shade) = self.shade(run[0], row, colors) else { continue };
            let ends = (x.inside(self.x_edges[run[0]]), x.inside(self.x_edges[run[run.len() - 1] + 1]));
            let (Some(left), Some(right)) = ends else { continue };
            let (edge, floor) = (x.from.max(x.to), y.from.max(y.to));
            let overlap = self.colors.overlap();
            let (right, bottom) = ((right + overlap).min(edge), (bottom + overlap).min(floor));
            let [left, right, top, bottom] = [left, right, top, bottom].map(tenth);
            shades.entry(shade).or_default().push_str(&format!("M{left} {top}H{right}V{bottom}H{left}"));
        }
    }

    fn shade(&self, column: usize, row: usize, colors: &Scale) -> Option<usize> {
        colors
            .at(self.value(column, row))
            .map(|part| (part.clamp(0.0, 1.0) * (SHADES - 1) as f64).round() as usize)
    }

    /// Attributes of the n-th of so many steps of the colour bar.
    pub(crate) fn bar_fill(&self, step: usize, steps: usize, theme: Theme) -> String {
        self.colors.fill((step as f64 + 0.5) / steps as f64, theme)
    }
}

/// Cells snap to whole screen pixels, so a tenth of a pixel is fine enough, and maps are large.
fn tenth(value: f64) -> String {
    coordinate((value * 10.0).round() / 10.0)
}

/// Values at the nodes of a grid, shown as level lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Contours {
    pub(crate) label: String,
    pub(crate) xs: Vec<f64>,
    pub(crate) ys: Vec<f64>,
    pub(crate) values: Vec<f64>,
    pub(crate) levels: Vec<f64>,
    pub(crate) color: Option<usize>,
}

impl Contours {
    /// Level lines from node positions and values, x running fastest; by default seven equally spaced levels.
    ///
    /// # Panics
    /// If the number of values is not the number of nodes.
    pub fn new(label: impl Into<String>, xs: Vec<f64>, ys: Vec<f64>, values: Vec<f64>) -> Self {
        assert!(values.len() == xs.len() * ys.len(), "level lines need one value per node");
        let seen = values.iter().filter(|v| v.is_finite());
        let (low, high) = seen.fold((f64::NAN, f64::NAN), |(low, high), v| (v.min(low), v.max(high)));
        let levels = (1..=7).map(|step| low + (high - low) * f64::from(step) / 8.0).collect();
        Self { label: label.into(), xs, ys, values, levels, color: None }
    }

    /// Level lines of a function.
    pub fn from_fn(
        label: impl Into<String>,
        xs: Vec<f64>,
        ys: Vec<f64>,
        value: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let values =
            ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y))).map(|(x, y)| value(x, y)).collect();
        Self::new(label, xs, ys, values)
    }

    /// Sets the levels.
    #[must_use]
    pub fn levels(mut self, levels: impl IntoIterator<Item = f64>) -> Self {
        self.levels = levels.into_iter().collect();
        self
    }

    /// Uses the n-th colour (from 0) instead of the next free one.
    #[must_use]
    pub fn color(mut self, index: usize) -> Self {
        self.color = Some(index);
        self
    }

    pub(crate) fn extend(&self, x: &mut Extent, y: &mut Extent) {
        self.xs.iter().for_each(|&at| x.add(at));
        self.ys.iter().for_each(|&at| y.add(at));
    }

    /// The pieces of all level lines, in data coordinates (marching squares).
    pub(crate) fn segments(&self) -> Vec<[(f64, f64); 2]> {
        let mut out = Vec::new();
        for &level in &self.levels {
            for row in 1..self.ys.len() {
                for column in 1..self.xs.len() {
                    self.push_cell(&mut out, column, row, level);
                }
            }
        }
        out
    }

    /// The crossings of one cell's four sides, joined in pairs.
    fn push_cell(&self, out: &mut Vec<[(f64, f64); 2]>, column: usize, row: usize, level: f64) {
        let corners = [(column - 1, row - 1), (column, row - 1), (column, row), (column - 1, row)];
        let node = |(i, j): (usize, usize)| (self.xs[i], self.ys[j], self.values[j * self.xs.len() + i]);
        let nodes = corners.map(node);
        if nodes.iter().any(|n| !n.2.is_finite()) {
            return;
        }
        let crossings: Vec<(f64, f64)> =
            (0..4).filter_map(|side| crossing(nodes[side], nodes[(side + 1) % 4], level)).collect();
        match crossings[..] {
            [a, b] => out.push([a, b]),
            // A saddle: the mean tells which corners belong together.
            [a, b, c, d] => {
                let mean = nodes.iter().map(|n| n.2).sum::<f64>() / 4.0;
                let joined = (mean >= level) == (nodes[0].2 >= level);
                out.extend(if joined { [[a, b], [c, d]] } else { [[d, a], [b, c]] });
            }
            _ => {}
        }
    }
}

/// Where the level is crossed between two nodes, if it is.
fn crossing(a: (f64, f64, f64), b: (f64, f64, f64), level: f64) -> Option<(f64, f64)> {
    if (a.2 >= level) == (b.2 >= level) {
        return None;
    }
    let part = (level - a.2) / (b.2 - a.2);
    Some((a.0 + part * (b.0 - a.0), a.1 + part * (b.1 - a.1)))
}

pub(crate) fn centres(edges: &[f64]) -> Vec<f64> {
    edges.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(count: usize) -> Vec<f64> {
        (0..count).map(|i| -2.0 + 4.0 * i as f64 / (count - 1) as f64).collect()
    }

    #[test]
    fn a_level_line_of_a_cone_is_a_circle() {
        let contours = Contours::from_fn("", grid(41), grid(41), f64::hypot).levels([1.5]);
        let segments = contours.segments();
        assert!(segments.len() > 40);
        for (x, y) in segments.iter().flatten() {
            // Linear interpolation of a function with curvature 1/r on cells of width 0.1.
            assert!((x.hypot(*y) - 1.5).abs() < 0.1_f64.powi(2) / 8.0 / 1.4);
        }
        let length: f64 = segments.iter().map(|[a, b]| (a.0 - b.0).hypot(a.1 - b.1)).sum();
        assert!((length - 3.0 * std::f64::consts::PI).abs() < 0.01, "{length}");
    }

    #[test]
    fn a_saddle_is_joined_by_its_mean() {
        let contours =
            Contours::new("", vec![0.0, 1.0], vec![0.0, 1.0], vec![1.0, 0.0, 0.0, 1.0]).levels([0.4]);
        assert_eq!(contours.segments().len(), 2);
        // The mean, 0.5, is above the level, so the two high corners are connected and the low ones cut off.
        assert!(contours.segments().contains(&[(0.6, 0.0), (1.0, 0.4)]));
    }

    #[test]
    fn equal_neighbours_merge() {
        let edges: Vec<f64> = (0..=10).map(f64::from).collect();
        let map = HeatMap::from_fn(edges.clone(), edges, |_, y| y);
        let x = Scale { log: false, low: 0.0, high: 10.0, from: 0.0, to: 100.0 };
        let y = Scale { log: false, low: 0.0, high: 10.0, from: 100.0, to: 0.0 };
        let svg = map.cells(&x, &y, Theme::Light);
        assert_eq!(svg.matches('M').count(), 10);
        assert!(svg.contains("M0 90H100V100H0\""));
    }

    #[test]
    fn open_cells_are_not_drawn() {
        let map = HeatMap::new(vec![0.0, 1.0, 2.0], vec![0.0, 1.0], vec![f64::NAN, 1.0]);
        let scale = Scale { log: false, low: 0.0, high: 2.0, from: 0.0, to: 100.0 };
        assert_eq!(map.cells(&scale, &scale, Theme::Light).matches('M').count(), 1);
    }
}
