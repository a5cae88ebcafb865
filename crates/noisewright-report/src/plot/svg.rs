//! Writing SVG: elements, coordinates, text, and paths clipped to their panel.

use super::palette::{Paint, Theme};
use crate::escape::escape;

/// A pixel coordinate with at most two decimals: exact enough for any screen, and short.
pub(crate) fn coordinate(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    // Negative zero would print a sign.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// Where a text stands relative to its anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn attribute(self) -> &'static str {
        match self {
            Self::Start => "",
            Self::Middle => " text-anchor=\"middle\"",
            Self::End => " text-anchor=\"end\"",
        }
    }
}

/// A piece of text to draw.
pub(crate) struct Label<'a> {
    pub(crate) text: &'a str,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) paint: Paint,
    pub(crate) bold: bool,
    /// Turned a quarter to the left, as along a vertical axis.
    pub(crate) upright: bool,
    /// Surrounded by a rim of paper, so that lines below it do not hide it.
    pub(crate) rim: bool,
}

impl<'a> Label<'a> {
    pub(crate) fn new(text: &'a str, x: f64, y: f64, size: f64) -> Self {
        Self {
            text,
            x,
            y,
            size,
            anchor: Anchor::Start,
            paint: Paint::Ink,
            bold: false,
            upright: false,
            rim: false,
        }
    }
}

/// An SVG document being written in one theme.
pub(crate) struct Svg {
    pub(crate) out: String,
    pub(crate) theme: Theme,
}

impl Svg {
    pub(crate) fn new(theme: Theme) -> Self {
        Self { out: String::new(), theme }
    }

    pub(crate) fn push(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// Opens a nested viewport, which clips to itself without needing an identifier.
    pub(crate) fn open_clip(&mut self, area: Rect) {
        let Rect { x, y, width, height } = area;
        let sides = [x, y, width, height].map(coordinate);
        self.push(&format!(
            "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\" overflow=\"hidden\">\n",
            sides[0], sides[1], sides[2], sides[3]
        ));
    }

    pub(crate) fn close_clip(&mut self) {
        self.push("</svg>\n");
    }

    /// A stroked path.
    pub(crate) fn path(&mut self, d: &str, paint: Paint, width: f64, dashes: Option<&str>) {
        if d.is_empty() {
            return;
        }
        let color = self.theme.color(paint);
        let dashes = dashes.map_or(String::new(), |dashes| format!(" stroke-dasharray=\"{dashes}\""));
        self.push(&format!(
            "<path d=\"{d}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\"{dashes}/>\n",
            coordinate(width)
        ));
    }

    /// A filled path.
    pub(crate) fn area(&mut self, d: &str, paint: Paint, opacity: f64) {
        if d.is_empty() {
            return;
        }
        let color = self.theme.color(paint);
        self.push(&format!("<path d=\"{d}\" fill=\"{color}\" fill-opacity=\"{}\"/>\n", coordinate(opacity)));
    }

    pub(crate) fn label(&mut self, label: &Label<'_>) {
        let (x, y) = (coordinate(label.x), coordinate(label.y));
        let place = if label.upright {
            format!("transform=\"translate({x} {y}) rotate(-90)\"")
        } else {
            format!("x=\"{x}\" y=\"{y}\"")
        };
        let weight = if label.bold { " font-weight=\"600\"" } else { "" };
        let rim = if label.rim {
            let paper = self.theme.color(Paint::Paper);
            format!(" stroke=\"{paper}\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"")
        } else {
            String::new()
        };
        self.push(&format!(
            "<text {place} font-size=\"{}\" fill=\"{}\"{}{weight}{rim}>{}</text>\n",
            coordinate(label.size),
            self.theme.color(label.paint),
            label.anchor.attribute(),
            escape(label.text)
        ));
    }
}

/// An upright rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// The rectangle with a rim of so many pixels around it.
    pub(crate) fn grown(&self, rim: f64) -> Self {
        Self {
            x: self.x - rim,
            y: self.y - rim,
            width: self.width + 2.0 * rim,
            height: self.height + 2.0 * rim,
        }
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }
}

fn point((x, y): (f64, f64)) -> String {
    format!("{} {}", coordinate(x), coordinate(y))
}

/// The part of a segment inside the rectangle (Liang and Barsky).
fn clip_segment(from: (f64, f64), to: (f64, f64), area: &Rect) -> Option<((f64, f64), (f64, f64))> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut start, mut end) = (0.0_f64, 1.0_f64);
    let sides = [
        (-dx, from.0 - area.x),
        (dx, area.right() - from.0),
        (-dy, from.1 - area.y),
        (dy, area.bottom() - from.1),
    ];
    for (step, room) in sides {
        if step == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if step < 0.0 {
            start = start.max(room / step);
        } else {
            end = end.min(room / step);
        }
    }
    let at = |part: f64| (from.0 + part * dx, from.1 + part * dy);
    (start <= end).then(|| (if start > 0.0 { at(start) } else { from }, if end < 1.0 { at(end) } else { to }))
}

/// Path data of a line with gaps, clipped; a point alone between two gaps becomes a dot.
pub(crate) fn polyline(points: &[Option<(f64, f64)>], area: &Rect) -> String {
    points.split(Option::is_none).map(|run| unbroken(run, area)).collect()
}

fn unbroken(run: &[Option<(f64, f64)>], area: &Rect) -> String {
    if let [Some(alone)] = run {
        return clip_segment(*alone, *alone, area).map_or(String::new(), |_| format!("M{}h0", point(*alone)));
    }
    let mut out = String::new();
    let mut pen: Option<(f64, f64)> = None;
    for pair in run.windows(2) {
        let (Some(from), Some(to)) = (pair[0], pair[1]) else { continue };
        let Some((from, to)) = clip_segment(from, to, area) else { continue };
        if pen != Some(from) {
            out.push_str(&format!("M{}", point(from)));
        }
        out.push_str(&format!("L{}", point(to)));
        pen = Some(to);
    }
    out
}

/// Thins a line for the screen: per half pixel column the first, lowest, highest and last point of each run survive.
pub(crate) fn thin(points: &[Option<(f64, f64)>]) -> Vec<Option<(f64, f64)>> {
    let column = |point: &Option<(f64, f64)>| point.map(|(x, _)| (x * 2.0).floor());
    points.chunk_by(|a, b| column(a) == column(b)).flat_map(thin_column).collect()
}

fn thin_column(run: &[Option<(f64, f64)>]) -> Vec<Option<(f64, f64)>> {
    if run[0].is_none() {
        return vec![None];
    }
    if run.len() <= 4 {
        return run.to_vec();
    }
    let height = |&index: &usize| run[index].map_or(f64::NAN, |(_, y)| y);
    let compare = |a: &usize, b: &usize| height(a).total_cmp(&height(b));
    let lowest = (0..run.len()).min_by(compare).unwrap_or(0);
    let highest = (0..run.len()).max_by(compare).unwrap_or(0);
    let mut kept = vec![0, lowest, highest, run.len() - 1];
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|index| run[index]).collect()
}

/// Path data of a filled polygon, clipped (Sutherland and Hodgman).
pub(crate) fn polygon(corners: &[(f64, f64)], area: &Rect) -> String {
    let mut corners = corners.to_vec();
    let (left, top, right, bottom) = (area.x, area.y, area.right(), area.bottom());
    corners = clip_side(&corners, |p| p.0 - left);
    corners = clip_side(&corners, |p| right - p.0);
    corners = clip_side(&corners, |p| p.1 - top);
    corners = clip_side(&corners, |p| bottom - p.1);
    if corners.len() < 3 {
        return String::new();
    }
    let path: Vec<String> = corners.into_iter().map(point).collect();
    format!("M{}Z", path.join("L"))
}

/// Keeps the part of a polygon where `inside` is not negative.
fn clip_side(corners: &[(f64, f64)], inside: impl Fn((f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::with_capacity(corners.len() + 4);
    for (index, &to) in corners.iter().enumerate() {
        let from = corners[(index + corners.len() - 1) % corners.len()];
        let (a, b) = (inside(from), inside(to));
        if (a < 0.0) != (b < 0.0) {
            let part = a / (a - b);
            kept.push((from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1)));
        }
        if b >= 0.0 {
            kept.push(to);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { x: 0.0, y: 0.0, width: 10.0, height: 10.0 };

    #[test]
    fn coordinates_are_short() {
        assert_eq!(coordinate(1.0), "1");
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(12.345_678), "12.35");
    }

    #[test]
    fn lines_are_cut_at_the_edge_and_gaps_stay_gaps() {
        let points = [Some((-10.0, 5.0)), Some((20.0, 5.0)), None, Some((1.0, 1.0)), Some((2.0, 2.0))];
        assert_eq!(polyline(&points, &AREA), "M0 5L10 5M1 1L2 2");
        assert_eq!(polyline(&[Some((-5.0, -5.0)), Some((-1.0, 20.0))], &AREA), "");
        assert_eq!(polyline(&[None, Some((3.0, 4.0)), None, Some((30.0, 4.0))], &AREA), "M3 4h0");
    }

    #[test]
    fn polygons_are_cut_at_the_edge() {
        let square = [(-5.0, 2.0), (5.0, 2.0), (5.0, 4.0), (-5.0, 4.0)];
        assert_eq!(polygon(&square, &AREA), "M0 2L5 2L5 4L0 4Z");
        assert_eq!(polygon(&[(20.0, 20.0), (30.0, 20.0), (30.0, 30.0)], &AREA), "");
    }

    #[test]
    fn thinning_keeps_the_extremes_of_every_column() {
        let points: Vec<_> =
            (0..100_000).map(|i| Some((f64::from(i) / 1000.0, f64::from(i * 7919 % 1000)))).collect();
        let thinned = thin(&points);
        assert!(thinned.len() <= 4 * 201, "{}", thinned.len());
        let range = |points: &[Option<(f64, f64)>]| {
            points.iter().flatten().fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p.1), high.max(p.1)))
        };
        assert_eq!(range(&thinned), range(&points));
    }
}
