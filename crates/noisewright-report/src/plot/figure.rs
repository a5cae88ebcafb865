//! A figure: panels on a grid with one legend, written as SVG.

use super::draw::draw_panel;
use super::layout::{Margins, margins, plan};
use super::legend::Legend;
use super::palette::{Paint, Theme, style_sheet};
use super::panel::Panel;
use super::svg::{Rect, Svg, coordinate};
use crate::escape::escape;

/// Fonts that every system has some of; nothing is loaded.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";
/// Distance between panels.
const GAP: f64 = 20.0;
/// A panel narrower than this moves to a row of its own.
const NARROWEST_PANEL: f64 = 220.0;
/// No panel is lower than this, however narrow it is.
const LOWEST_PANEL: f64 = 245.0;
/// Height over width of a panel that does not say.
const ASPECT: f64 = 0.62;

/// One or several panels in a grid, with a common legend below.
///
/// Series with the same label have the same colour in all panels. The principal outputs are
/// [`Figure::to_svg`] for a page and [`Figure::to_svg_standalone`] for a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub(crate) panels: Vec<Panel>,
    columns: usize,
    width: f64,
    description: String,
}

impl Default for Figure {
    fn default() -> Self {
        Self { panels: Vec::new(), columns: 2, width: 700.0, description: String::new() }
    }
}

impl From<Panel> for Figure {
    fn from(panel: Panel) -> Self {
        Self::new().panel(panel)
    }
}

impl Figure {
    /// A figure without panels, 700 pixels wide, with at most two columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a panel, left to right and top to bottom.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Sets the most panels that may stand side by side; narrow figures use fewer.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// Sets the width in pixels, kept between 240 and 4000; the layout adapts, the size of the words does not.
    #[must_use]
    pub fn width(mut self, pixels: f64) -> Self {
        self.width = if pixels.is_finite() { pixels.clamp(240.0, 4000.0) } else { 700.0 };
        self
    }

    /// Says in words what the figure shows, for readers who cannot see it.
    #[must_use]
    pub fn description(mut self, words: impl Into<String>) -> Self {
        self.description = words.into();
        self
    }

    /// SVG to put inside an HTML page: colours come from CSS custom properties and follow the reader's light or dark mode.
    pub fn to_svg(&self) -> String {
        self.render(Theme::Page, &format!("<style>{}</style>\n", style_sheet(".nw-figure")))
    }

    /// SVG that stands on its own: fixed colours on white paper.
    pub fn to_svg_standalone(&self) -> String {
        self.to_svg_in(Theme::Light)
    }

    /// SVG that stands on its own, in the given colours.
    pub fn to_svg_in(&self, theme: Theme) -> String {
        let paper =
            format!("<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n", theme.color(Paint::Paper));
        self.render(theme, &paper)
    }

    /// SVG for a page that already defines the colours.
    pub(crate) fn to_svg_bare(&self) -> String {
        self.render(Theme::Page, "")
    }

    fn render(&self, theme: Theme, prologue: &str) -> String {
        let colors = self.assign_colors();
        let legend = self.legend(&colors);
        let cells = self.cells();
        let bottom = cells.iter().map(Rect::bottom).fold(0.0, f64::max);
        let height = bottom + legend.height(self.width - 16.0) + 8.0;
        let mut svg = Svg::new(theme);
        svg.push(&self.opening(height));
        svg.push(prologue);
        for (index, (panel, (cell, margins))) in self.panels.iter().zip(self.with_margins(&cells)).enumerate()
        {
            draw_panel(&mut svg, panel, &plan(panel, cell, margins), cell, &colors[index]);
        }
        legend.draw(&mut svg, 8.0, bottom, self.width - 16.0);
        svg.push("</svg>\n");
        svg.out
    }

    fn opening(&self, height: f64) -> String {
        let [width, height] = [self.width, height].map(coordinate);
        let description = if self.description.is_empty() { self.titles() } else { self.description.clone() };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"nw-figure\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" font-family=\"{FONTS}\" \
             stroke-linecap=\"round\" stroke-linejoin=\"round\">\n",
            escape(&description)
        )
    }

    fn titles(&self) -> String {
        let titles: Vec<&str> =
            self.panels.iter().map(|panel| panel.title.as_str()).filter(|t| !t.is_empty()).collect();
        if titles.is_empty() { "Figure".to_owned() } else { titles.join("; ") }
    }

    /// One colour per label across all panels; series without a label take the next free colour of their panel.
    fn assign_colors(&self) -> Vec<Vec<usize>> {
        let mut known: Vec<(&str, usize)> = Vec::new();
        let mut next = 0;
        let mut assigned = Vec::new();
        for panel in &self.panels {
            let mut colors = Vec::new();
            for series in &panel.series {
                let before = series.label().and_then(|label| known.iter().find(|entry| entry.0 == label));
                let color = series.chosen_color().or(before.map(|entry| entry.1)).unwrap_or_else(|| {
                    next += 1;
                    next - 1
                });
                if let (Some(label), None) = (series.label(), before) {
                    known.push((label, color));
                }
                colors.push(color);
            }
            assigned.push(colors);
        }
        assigned
    }

    fn legend(&self, colors: &[Vec<usize>]) -> Legend {
        let mut legend = Legend::default();
        for (panel, colors) in self.panels.iter().zip(colors) {
            panel.series.iter().zip(colors).for_each(|(series, &color)| legend.add(series, color));
        }
        legend
    }

    fn columns_used(&self) -> usize {
        let fitting = ((self.width + GAP) / (NARROWEST_PANEL + GAP)) as usize;
        self.columns.min(fitting).min(self.panels.len()).max(1)
    }

    /// The cell of each panel; a row is as high as its highest panel.
    fn cells(&self) -> Vec<Rect> {
        let columns = self.columns_used();
        let width = (self.width - GAP * (columns - 1) as f64) / columns as f64;
        let mut cells = Vec::new();
        let mut y = 4.0;
        for row in self.panels.chunks(columns) {
            let ratio = row.iter().map(|panel| panel.aspect.unwrap_or(ASPECT)).fold(0.0, f64::max);
            let height = (width * ratio).max(LOWEST_PANEL);
            for column in 0..row.len() {
                cells.push(Rect { x: column as f64 * (width + GAP), y, width, height });
            }
            y += height + GAP;
        }
        cells
    }

    /// Cells with margins shared along rows and columns, so that axes line up.
    fn with_margins(&self, cells: &[Rect]) -> Vec<(Rect, Margins)> {
        let columns = self.columns_used();
        let own: Vec<Margins> = self
            .panels
            .iter()
            .zip(cells)
            .map(|(panel, cell)| margins(panel, cell.width, cell.height))
            .collect();
        let largest = |same: &dyn Fn(usize) -> bool, side: &dyn Fn(&Margins) -> f64| {
            own.iter().enumerate().filter(|(index, _)| same(*index)).map(|(_, m)| side(m)).fold(0.0, f64::max)
        };
        let share = |index: usize| {
            let in_column = |other: usize| other % columns == index % columns;
            let in_row = |other: usize| other / columns == index / columns;
            Margins {
                left: largest(&in_column, &|m| m.left),
                right: largest(&in_column, &|m| m.right),
                top: largest(&in_row, &|m| m.top),
                bottom: largest(&in_row, &|m| m.bottom),
            }
        };
        cells.iter().enumerate().map(|(index, &cell)| (cell, share(index))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Line};

    fn panel(labels: &[&str]) -> Panel {
        let mut panel = Panel::new(Axis::linear("x"), Axis::linear("y"));
        labels.iter().for_each(|&label| panel.push(Line::new(label, [(0.0, 0.0), (1.0, 1.0)])));
        panel
    }

    #[test]
    fn labels_keep_their_colour_across_panels() {
        let figure = Figure::new().panel(panel(&["a", "b"])).panel(panel(&["b", "c"]));
        assert_eq!(figure.assign_colors(), [vec![0, 1], vec![1, 2]]);
    }

    #[test]
    fn narrow_figures_stack_their_panels() {
        let figure = Figure::new().columns(3).panel(panel(&[])).panel(panel(&[])).panel(panel(&[]));
        assert_eq!(figure.clone().width(1000.0).columns_used(), 3);
        assert_eq!(figure.clone().width(600.0).columns_used(), 2);
        assert_eq!(figure.width(360.0).columns_used(), 1);
    }
}
