//! Drawing a panel: grid, series, axes and the words around them.

use std::collections::HashSet;

use super::axis::Scale;
use super::heatmap::Contours;
use super::layout::{
    BAR_GAP, BAR_WIDTH, BOLD, LABEL_SIZE, LINE_HEIGHT, Plan, TICK_GAP, TICK_LENGTH, TICK_SIZE, TITLE_SIZE,
    color_ticks, heat_map, title_lines,
};
use super::palette::{Paint, Stroke};
use super::panel::Panel;
use super::series::{Band, Bars, Line, Points, Series};
use super::svg::{Anchor, Label, Rect, Svg, coordinate, polygon, polyline, thin};
use super::words::draw_words;
use crate::wrap::{text_width, wrap_pixels};

/// Markers closer than one over this many pixels are drawn once.
const MARKERS_PER_PIXEL: f64 = 1.5;
/// More markers than this are drawn translucent, so that lines below them show.
const CROWD: usize = 400;
/// Steps of the colour bar.
const BAR_STEPS: usize = 64;

/// Draws one panel into its cell.
pub(crate) fn draw_panel(svg: &mut Svg, panel: &Panel, plan: &Plan, cell: Rect, colors: &[usize]) {
    if heat_map(panel).is_none() {
        draw_grid(svg, plan);
    }
    // A rim of two pixels lets lines and markers at the very edge keep their full width.
    svg.open_clip(plan.area.grown(2.0));
    let mut order: Vec<(usize, &Series)> = panel.series.iter().enumerate().collect();
    order.sort_by_key(|(_, series)| depth(series));
    for (index, series) in order {
        draw_series(svg, series, plan, colors[index]);
    }
    svg.close_clip();
    draw_axes(svg, panel, plan, cell);
    draw_words(svg, panel, plan);
    draw_color_bar(svg, panel, plan);
}

/// Areas lie below lines, lines below points.
fn depth(series: &Series) -> u8 {
    match series {
        Series::HeatMap(_) => 0,
        Series::Band(_) => 1,
        Series::Bars(_) => 2,
        Series::Reference(_) => 3,
        Series::Contours(_) | Series::Line(_) => 4,
        Series::Points(_) | Series::Annotation(_) => 5,
    }
}

fn draw_grid(svg: &mut Svg, plan: &Plan) {
    let Rect { x, y, .. } = plan.area;
    let (right, bottom) = (plan.area.right(), plan.area.bottom());
    let columns = plan.x_ticks.major.iter().filter_map(|tick| plan.x.at(tick.value));
    let rows = plan.y_ticks.major.iter().filter_map(|tick| plan.y.at(tick.value));
    let vertical = columns.map(|at| format!("M{} {}V{}", coordinate(at), coordinate(y), coordinate(bottom)));
    let horizontal = rows.map(|at| format!("M{} {}H{}", coordinate(x), coordinate(at), coordinate(right)));
    let d: String = vertical.chain(horizontal).collect();
    svg.path(&d, Paint::Grid, 1.0, None);
}

fn draw_series(svg: &mut Svg, series: &Series, plan: &Plan, color: usize) {
    match series {
        Series::Line(line) => draw_line(svg, line, plan, color),
        Series::Band(band) => draw_band(svg, band, plan, color),
        Series::Bars(bars) => draw_bars(svg, bars, plan, color),
        Series::Points(points) => draw_points(svg, points, plan, color),
        Series::HeatMap(map) => {
            let cells = map.cells(&plan.x, &plan.y, svg.theme);
            svg.push(&cells);
        }
        Series::Contours(contours) => draw_contours(svg, contours, plan, color),
        Series::Reference(reference) => draw_reference(svg, reference.value, reference.vertical, plan),
        Series::Annotation(_) => {}
    }
}

fn draw_reference(svg: &mut Svg, value: f64, vertical: bool, plan: &Plan) {
    let area = plan.area;
    let d = if vertical {
        plan.x
            .at(value)
            .map(|at| format!("M{} {}V{}", coordinate(at), coordinate(area.y), coordinate(area.bottom())))
    } else {
        plan.y
            .at(value)
            .map(|at| format!("M{} {}H{}", coordinate(area.x), coordinate(at), coordinate(area.right())))
    };
    svg.path(&d.unwrap_or_default(), Paint::Muted, 1.2, Some("5 4"));
}

fn draw_line(svg: &mut Svg, line: &Line, plan: &Plan, color: usize) {
    let pixels: Vec<_> = line.points.iter().map(|&point| place(point, plan)).collect();
    let stroke = line.stroke.unwrap_or(Stroke::of_series(color));
    let d = polyline(&thin(&pixels), &plan.area.grown(20.0));
    svg.path(&d, Paint::Series(color), line.width, stroke.dashes(line.width).as_deref());
}

fn place((x, y): (f64, f64), plan: &Plan) -> Option<(f64, f64)> {
    Some((plan.x.at(x)?, plan.y.at(y)?))
}

fn draw_band(svg: &mut Svg, band: &Band, plan: &Plan, color: usize) {
    let edges: Vec<Option<(f64, f64, f64)>> = band
        .points
        .iter()
        .map(|&(x, lower, upper)| Some((plan.x.at(x)?, plan.y.bound(lower)?, plan.y.bound(upper)?)))
        .collect();
    let d: String = edges
        .split(Option::is_none)
        .map(|run| {
            let run: Vec<_> = run.iter().flatten().collect();
            let lower = run.iter().rev().map(|edge| (edge.0, edge.1));
            let corners: Vec<(f64, f64)> = run.iter().map(|edge| (edge.0, edge.2)).chain(lower).collect();
            polygon(&corners, &plan.area.grown(20.0))
        })
        .collect();
    svg.area(&d, Paint::Series(color), 0.22);
}

fn draw_bars(svg: &mut Svg, bars: &Bars, plan: &Plan, color: usize) {
    let base = plan.y.bound(0.0).unwrap_or(plan.y.from);
    let boxes: Vec<Option<(f64, f64, f64)>> = bars
        .edges
        .windows(2)
        .zip(&bars.heights)
        .map(|(edges, &height)| Some((plan.x.at(edges[0])?, plan.x.at(edges[1])?, plan.y.bound(height)?)))
        .collect();
    let area = plan.area.grown(20.0);
    if bars.filled {
        let corners =
            |&(left, right, top): &(f64, f64, f64)| [(left, base), (left, top), (right, top), (right, base)];
        let d: String = boxes.iter().flatten().map(|bar| polygon(&corners(bar), &area)).collect();
        svg.area(&d, Paint::Series(color), 0.28);
    }
    let outline: String = boxes
        .split(Option::is_none)
        .map(|run| polyline(&steps(run.iter().flatten().copied(), base), &area))
        .collect();
    svg.path(&outline, Paint::Series(color), 1.6, None);
}

/// The outline of neighbouring bars, from the base up, along the tops and down again.
fn steps(bars: impl Iterator<Item = (f64, f64, f64)>, base: f64) -> Vec<Option<(f64, f64)>> {
    let bars: Vec<_> = bars.collect();
    let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return Vec::new() };
    let tops = bars.iter().flat_map(|&(left, right, top)| [(left, top), (right, top)]);
    std::iter::once((first.0, base)).chain(tops).chain([(last.1, base)]).map(Some).collect()
}

fn draw_points(svg: &mut Svg, series: &Points, plan: &Plan, color: usize) {
    let mut markers = String::new();
    let mut errors = String::new();
    let near = plan.area.grown(series.size);
    let mut drawn = HashSet::new();
    for (index, &point) in series.points.iter().enumerate() {
        let Some((x, y)) = place(point, plan) else { continue };
        let inside_x = (near.x..=near.right()).contains(&x);
        let inside_y = (near.y..=near.bottom()).contains(&y);
        if let (true, Some(&ends)) = (inside_x, series.y_errors.get(index)) {
            errors.push_str(&error_bar(ends, &plan.y, |end| (x, end), (3.0, 0.0)));
        }
        if let (true, Some(&ends)) = (inside_y, series.x_errors.get(index)) {
            errors.push_str(&error_bar(ends, &plan.x, |end| (end, y), (0.0, 3.0)));
        }
        // Within one path a marker on top of another changes nothing, so large clouds stay small files.
        let spot = ((x * MARKERS_PER_PIXEL).round() as i64, (y * MARKERS_PER_PIXEL).round() as i64);
        if inside_x && inside_y && drawn.insert(spot) {
            markers.push_str(&marker_path(color, x, y, series.size));
        }
    }
    svg.path(&errors, Paint::Series(color), 1.4, None);
    svg.area(&markers, Paint::Series(color), if series.points.len() > CROWD { 0.5 } else { 1.0 });
}

/// One error bar with caps; an end outside the panel is cut at its edge, an infinite one has no cap.
fn error_bar(
    (lower, upper): (f64, f64),
    scale: &Scale,
    at: impl Fn(f64) -> (f64, f64),
    cap: (f64, f64),
) -> String {
    let (Some(from), Some(to)) = (scale.inside(lower), scale.inside(upper)) else { return String::new() };
    let mut d = String::new();
    let mut stroke = |a: (f64, f64), b: (f64, f64)| {
        let [ax, ay, bx, by] = [a.0, a.1, b.0, b.1].map(coordinate);
        d.push_str(&format!("M{ax} {ay}L{bx} {by}"));
    };
    stroke(at(from), at(to));
    for (value, end) in [(lower, from), (upper, to)] {
        if scale.at(value) == Some(end) {
            let (x, y) = at(end);
            stroke((x - cap.0, y - cap.1), (x + cap.0, y + cap.1));
        }
    }
    d
}

/// The outline of a marker: each colour has its own shape.
pub(crate) fn marker_path(color: usize, x: f64, y: f64, size: f64) -> String {
    let half = size / 2.0;
    let path = |corners: &[(f64, f64)]| {
        let corners: Vec<String> = corners
            .iter()
            .map(|(dx, dy)| format!("{} {}", coordinate(x + dx * half), coordinate(y + dy * half)))
            .collect();
        format!("M{}Z", corners.join("L"))
    };
    match color % 4 {
        0 => {
            let [left, middle, radius, across] = [x - half, y, half, size].map(coordinate);
            format!(
                "M{left} {middle}a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0 -{across} 0Z"
            )
        }
        1 => path(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => path(&[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]),
        _ => path(&[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)]),
    }
}

fn draw_contours(svg: &mut Svg, contours: &Contours, plan: &Plan, color: usize) {
    let area = plan.area.grown(20.0);
    let d: String = contours
        .segments()
        .into_iter()
        .map(|[from, to]| polyline(&[place(from, plan), place(to, plan)], &area))
        .collect();
    svg.path(&d, Paint::Series(color), 1.2, None);
}

fn draw_axes(svg: &mut Svg, panel: &Panel, plan: &Plan, cell: Rect) {
    let area = plan.area;
    let (left, top, right, bottom) = (area.x, area.y, area.right(), area.bottom());
    let [l, t, r, b] = [left, top, right, bottom].map(coordinate);
    svg.path(&format!("M{l} {t}V{b}H{r}"), Paint::Muted, 1.0, None);
    draw_tick_marks(svg, plan);
    let below = bottom + TICK_LENGTH + TICK_GAP + TICK_SIZE * 0.85;
    for tick in &plan.x_ticks.major {
        if let (Some(at), false) = (plan.x.at(tick.value), tick.label.is_empty()) {
            tick_label(svg, &tick.label, at, below, Anchor::Middle);
        }
    }
    for tick in &plan.y_ticks.major {
        if let (Some(at), false) = (plan.y.at(tick.value), tick.label.is_empty()) {
            tick_label(svg, &tick.label, left - TICK_LENGTH - TICK_GAP, at + TICK_SIZE * 0.35, Anchor::End);
        }
    }
    draw_axis_labels(svg, panel, plan, cell);
}

fn tick_label(svg: &mut Svg, text: &str, x: f64, y: f64, anchor: Anchor) {
    svg.label(&Label { anchor, paint: Paint::Muted, ..Label::new(text, x, y, TICK_SIZE) });
}

fn draw_tick_marks(svg: &mut Svg, plan: &Plan) {
    let (left, bottom) = (plan.area.x, plan.area.bottom());
    let mut d = String::new();
    let major_x = plan.x_ticks.major.iter().map(|tick| (tick.value, TICK_LENGTH));
    for (value, length) in major_x.chain(plan.x_ticks.minor.iter().map(|&value| (value, TICK_LENGTH / 2.0))) {
        if let Some(at) = plan.x.at(value) {
            d.push_str(&format!("M{} {}v{}", coordinate(at), coordinate(bottom), coordinate(length)));
        }
    }
    let major_y = plan.y_ticks.major.iter().map(|tick| (tick.value, TICK_LENGTH));
    for (value, length) in major_y.chain(plan.y_ticks.minor.iter().map(|&value| (value, TICK_LENGTH / 2.0))) {
        if let Some(at) = plan.y.at(value) {
            d.push_str(&format!("M{} {}h{}", coordinate(left), coordinate(at), coordinate(-length)));
        }
    }
    svg.path(&d, Paint::Muted, 1.0, None);
}

fn draw_axis_labels(svg: &mut Svg, panel: &Panel, plan: &Plan, cell: Rect) {
    let area = plan.area;
    let line = LABEL_SIZE * LINE_HEIGHT;
    let top = area.bottom() + TICK_LENGTH + TICK_GAP + TICK_SIZE * LINE_HEIGHT + 2.0;
    let centre = area.x + area.width / 2.0;
    for (index, words) in wrap_pixels(&panel.x.heading(), LABEL_SIZE, cell.width * 0.8).iter().enumerate() {
        let y = top + LABEL_SIZE + index as f64 * line;
        svg.label(&Label { anchor: Anchor::Middle, ..Label::new(words, centre, y, LABEL_SIZE) });
    }
    let middle = area.y + area.height / 2.0;
    for (index, words) in wrap_pixels(&panel.y.heading(), LABEL_SIZE, area.height).iter().enumerate() {
        let x = cell.x + LABEL_SIZE + index as f64 * line;
        svg.label(&Label {
            anchor: Anchor::Middle,
            upright: true,
            ..Label::new(words, x, middle, LABEL_SIZE)
        });
    }
    draw_title(svg, panel, area.x + area.width / 2.0, cell);
}

/// The title stands over the plotting area, moved where it would leave the cell.
fn draw_title(svg: &mut Svg, panel: &Panel, centre: f64, cell: Rect) {
    for (index, words) in title_lines(panel, cell.width).iter().enumerate() {
        let half = text_width(words, TITLE_SIZE * BOLD) / 2.0;
        let x = centre.min(cell.right() - half).max(cell.x + half);
        let y = cell.y + TITLE_SIZE + index as f64 * TITLE_SIZE * LINE_HEIGHT;
        svg.label(&Label { anchor: Anchor::Middle, bold: true, ..Label::new(words, x, y, TITLE_SIZE) });
    }
}

fn draw_color_bar(svg: &mut Svg, panel: &Panel, plan: &Plan) {
    let Some(map) = heat_map(panel) else { return };
    let area = plan.area;
    let (left, right) = (area.right() + BAR_GAP, area.right() + BAR_GAP + BAR_WIDTH);
    let [l, r] = [left, right].map(coordinate);
    // Neighbouring steps share the text of their common edge, or rounding would leave hairlines between them.
    let edge = |step: usize| area.bottom() - step as f64 * area.height / BAR_STEPS as f64;
    svg.push("<g shape-rendering=\"crispEdges\">\n");
    for step in 0..BAR_STEPS {
        let fill = map.bar_fill(step, BAR_STEPS, svg.theme);
        let overlap = if step == 0 { 0.0 } else { map.colors.overlap() };
        let [top, bottom] = [edge(step + 1), edge(step) + overlap].map(coordinate);
        svg.push(&format!("<path d=\"M{l} {top}H{r}V{bottom}H{l}Z\" {fill}/>\n"));
    }
    svg.push("</g>\n");
    let scale = map.color_scale(area.bottom(), area.y);
    let mut marks = String::new();
    for tick in color_ticks(map, area.height).major {
        let Some(at) = scale.at(tick.value) else { continue };
        marks.push_str(&format!("M{} {}h{}", coordinate(right), coordinate(at), coordinate(TICK_LENGTH)));
        tick_label(svg, &tick.label, right + TICK_LENGTH + TICK_GAP, at + TICK_SIZE * 0.35, Anchor::Start);
    }
    svg.path(&marks, Paint::Muted, 1.0, None);
    let x = right + super::layout::color_label_offset(map, area.height);
    let middle = area.y + area.height / 2.0;
    svg.label(&Label {
        anchor: Anchor::Middle,
        upright: true,
        ..Label::new(&map.scale_label, x, middle, LABEL_SIZE)
    });
}
