//! Where everything in a panel goes: margins wide enough for the words, ticks few enough not to touch.

use super::axis::{Axis, Scale};
use super::heatmap::HeatMap;
use super::panel::Panel;
use super::series::Series;
use super::svg::Rect;
use super::ticks::Ticks;
use crate::wrap::{text_width, wrap_pixels};

/// Font sizes in pixels.
pub(crate) const TICK_SIZE: f64 = 11.5;
pub(crate) const LABEL_SIZE: f64 = 12.5;
pub(crate) const TITLE_SIZE: f64 = 13.5;
/// How much wider bold letters run.
pub(crate) const BOLD: f64 = 1.15;
/// Distance of two lines of text.
pub(crate) const LINE_HEIGHT: f64 = 1.25;
/// Length of a tick and its distance to the label.
pub(crate) const TICK_LENGTH: f64 = 4.0;
pub(crate) const TICK_GAP: f64 = 4.0;
/// The colour bar's width and distance to the panel.
pub(crate) const BAR_WIDTH: f64 = 12.0;
pub(crate) const BAR_GAP: f64 = 12.0;

/// Room around the plotting area.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Margins {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

/// A panel ready to draw.
pub(crate) struct Plan {
    pub(crate) area: Rect,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) x_ticks: Ticks,
    pub(crate) y_ticks: Ticks,
}

/// The margins that a panel of this size needs.
pub(crate) fn margins(panel: &Panel, width: f64, height: f64) -> Margins {
    let (_, y_range) = panel.ranges();
    let bottom = TICK_LENGTH + TICK_GAP + TICK_SIZE * LINE_HEIGHT + label_room(&panel.x, width * 0.8) + 2.0;
    let top = 8.0 + title_lines(panel, width).len() as f64 * TITLE_SIZE * LINE_HEIGHT;
    let inner = (height - top - bottom).max(40.0);
    let ticks = vertical_ticks(&panel.y, y_range, inner);
    let left = TICK_LENGTH + TICK_GAP + widest(&ticks) + label_room(&panel.y, inner) + 4.0;
    let right = right_margin(panel, inner).max(last_label_overhang(panel, width - left));
    Margins { left, right, top, bottom }
}

/// How far the last label of the horizontal axis may reach beyond the axis.
fn last_label_overhang(panel: &Panel, width: f64) -> f64 {
    let (x_range, _) = panel.ranges();
    let ticks = horizontal_ticks(&panel.x, x_range, width);
    ticks.major.last().map_or(0.0, |tick| text_width(&tick.label, TICK_SIZE) / 2.0 + 2.0)
}

/// The title broken into lines.
pub(crate) fn title_lines(panel: &Panel, width: f64) -> Vec<String> {
    wrap_pixels(&panel.title, TITLE_SIZE * BOLD, width - 4.0)
}

fn right_margin(panel: &Panel, height: f64) -> f64 {
    let Some(map) = heat_map(panel) else { return 12.0 };
    let label = if map.scale_label.is_empty() { 0.0 } else { 4.0 };
    BAR_GAP + BAR_WIDTH + color_label_offset(map, height) + label
}

/// Distance from the colour bar to the baseline of its label.
pub(crate) fn color_label_offset(map: &HeatMap, height: f64) -> f64 {
    let label = if map.scale_label.is_empty() { 0.0 } else { LABEL_SIZE + 4.0 };
    TICK_LENGTH + TICK_GAP + widest(&color_ticks(map, height)) + label
}

/// The panel's first heat map, the one that gets a colour bar.
pub(crate) fn heat_map(panel: &Panel) -> Option<&HeatMap> {
    panel.series.iter().find_map(|series| if let Series::HeatMap(map) = series { Some(map) } else { None })
}

/// Ticks of the colour bar.
pub(crate) fn color_ticks(map: &HeatMap, height: f64) -> Ticks {
    let scale = map.color_scale(0.0, 1.0);
    let axis = if map.log { Axis::log("") } else { Axis::linear("") };
    vertical_ticks(&axis, (scale.low, scale.high), height)
}

fn label_room(axis: &Axis, length: f64) -> f64 {
    let lines = wrap_pixels(&axis.heading(), LABEL_SIZE, length).len();
    if lines == 0 { 0.0 } else { lines as f64 * LABEL_SIZE * LINE_HEIGHT + 4.0 }
}

fn widest(ticks: &Ticks) -> f64 {
    ticks.major.iter().map(|tick| text_width(&tick.label, TICK_SIZE)).fold(0.0, f64::max)
}

/// Places a panel's axes inside its cell, given margins.
pub(crate) fn plan(panel: &Panel, cell: Rect, margins: Margins) -> Plan {
    let area = Rect {
        x: cell.x + margins.left,
        y: cell.y + margins.top,
        width: (cell.width - margins.left - margins.right).max(40.0),
        height: (cell.height - margins.top - margins.bottom).max(40.0),
    };
    let (x_range, y_range) = panel.ranges();
    Plan {
        area,
        x: scale(&panel.x, x_range, area.x, area.right()),
        y: scale(&panel.y, y_range, area.bottom(), area.y),
        x_ticks: horizontal_ticks(&panel.x, x_range, area.width),
        y_ticks: vertical_ticks(&panel.y, y_range, area.height),
    }
}

fn scale(axis: &Axis, (low, high): (f64, f64), from: f64, to: f64) -> Scale {
    Scale { log: axis.is_log(), low, high, from, to }
}

fn horizontal_ticks(axis: &Axis, range: (f64, f64), length: f64) -> Ticks {
    let at_most = (length / 52.0) as usize;
    fit_ticks(axis, range, length, at_most, |label| text_width(label, TICK_SIZE) + 8.0)
}

pub(crate) fn vertical_ticks(axis: &Axis, range: (f64, f64), length: f64) -> Ticks {
    let at_most = (length / 30.0) as usize;
    fit_ticks(axis, range, length, at_most, |_| TICK_SIZE * 1.4)
}

/// The most ticks whose labels do not touch; if even the fewest do, every second label is dropped until they fit.
fn fit_ticks(
    axis: &Axis,
    range: (f64, f64),
    length: f64,
    at_most: usize,
    room: impl Fn(&str) -> f64,
) -> Ticks {
    let scale = scale(axis, range, 0.0, length);
    for count in (3..=at_most.clamp(3, 8)).rev() {
        let ticks = axis.make_ticks(range.0, range.1, count);
        if labels_fit(&ticks, &scale, &room) {
            return ticks;
        }
    }
    let mut ticks = axis.make_ticks(range.0, range.1, 3);
    while !labels_fit(&ticks, &scale, &room) {
        drop_every_second_label(&mut ticks);
    }
    ticks
}

fn labels_fit(ticks: &Ticks, scale: &Scale, room: &impl Fn(&str) -> f64) -> bool {
    let labelled = ticks.major.iter().filter(|tick| !tick.label.is_empty());
    let spans: Vec<(f64, f64)> =
        labelled.filter_map(|tick| scale.at(tick.value).map(|at| (at, room(&tick.label) / 2.0))).collect();
    spans.windows(2).all(|pair| pair[1].0 - pair[0].0 >= pair[0].1 + pair[1].1)
}

fn drop_every_second_label(ticks: &mut Ticks) {
    let labelled = ticks.major.iter_mut().filter(|tick| !tick.label.is_empty());
    labelled.skip(1).step_by(2).for_each(|tick| tick.label.clear());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_never_touch() {
        let words = (0..30).map(|i| (f64::from(i), format!("category {i}")));
        let axis = Axis::linear("").range(0.0, 29.0).ticks(words);
        let ticks = horizontal_ticks(&axis, (0.0, 29.0), 300.0);
        let shown: Vec<f64> = ticks.major.iter().filter(|t| !t.label.is_empty()).map(|t| t.value).collect();
        assert_eq!(ticks.major.len(), 30);
        assert_eq!(shown, [0.0, 8.0, 16.0, 24.0]);
    }

    #[test]
    fn longer_labels_take_a_wider_margin() {
        let narrow = Panel::new(Axis::linear("x"), Axis::linear("y").range(0.0, 1.0));
        let wide = Panel::new(Axis::linear("x"), Axis::linear("y").range(1000.0, 1000.001));
        assert!(margins(&wide, 400.0, 250.0).left > margins(&narrow, 400.0, 250.0).left);
    }
}
