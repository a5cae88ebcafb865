//! The legend below the panels, where it can cover nothing.

use super::draw::marker_path;
use super::layout::LINE_HEIGHT;
use super::palette::{Paint, Stroke};
use super::series::Series;
use super::svg::{Label, Svg};
use crate::wrap::{text_width, wrap_pixels};

const SIZE: f64 = 12.0;
/// Length of the sample before the words, and its distance to them.
const SAMPLE: f64 = 28.0;
const SAMPLE_GAP: f64 = 7.0;
/// Distance between entries and between rows.
const ENTRY_GAP: f64 = 20.0;
const ROW_GAP: f64 = 5.0;

/// How a series looks in the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sample {
    Line(Stroke, f64),
    Fill,
    Outline,
    Marker(f64),
}

struct Entry {
    label: String,
    samples: Vec<(Sample, usize)>,
}

/// The legend of a figure: one entry per label, however many panels and series share it.
#[derive(Default)]
pub(crate) struct Legend {
    entries: Vec<Entry>,
}

impl Legend {
    pub(crate) fn add(&mut self, series: &Series, color: usize) {
        let (Some(label), Some(sample)) = (series.label(), sample(series, color)) else { return };
        let place = self.entries.iter().position(|entry| entry.label == label).unwrap_or_else(|| {
            self.entries.push(Entry { label: label.to_owned(), samples: Vec::new() });
            self.entries.len() - 1
        });
        let samples = &mut self.entries[place].samples;
        if !samples.contains(&(sample, color)) {
            samples.push((sample, color));
        }
    }

    /// Height of the legend in a figure of this width.
    pub(crate) fn height(&self, width: f64) -> f64 {
        let rows = self.rows(width);
        let lines: usize = rows.iter().map(|row| row_lines(row, width)).sum();
        if rows.is_empty() {
            0.0
        } else {
            lines as f64 * SIZE * LINE_HEIGHT + rows.len() as f64 * ROW_GAP + 8.0
        }
    }

    pub(crate) fn draw(&self, svg: &mut Svg, left: f64, top: f64, width: f64) {
        let mut y = top + 8.0;
        for row in self.rows(width) {
            let mut x = left;
            for entry in &row {
                draw_entry(svg, entry, x, y, width);
                x += entry_width(entry, width) + ENTRY_GAP;
            }
            y += row_lines(&row, width) as f64 * SIZE * LINE_HEIGHT + ROW_GAP;
        }
    }

    /// Entries flow like words.
    fn rows(&self, width: f64) -> Vec<Vec<&Entry>> {
        let mut rows: Vec<Vec<&Entry>> = Vec::new();
        let mut used = f64::INFINITY;
        for entry in &self.entries {
            let needed = entry_width(entry, width);
            if used + ENTRY_GAP + needed > width {
                rows.push(Vec::new());
                used = -ENTRY_GAP;
            }
            used += ENTRY_GAP + needed;
            if let Some(row) = rows.last_mut() {
                row.push(entry);
            }
        }
        rows
    }
}

fn sample(series: &Series, color: usize) -> Option<Sample> {
    Some(match series {
        Series::Line(line) => Sample::Line(line.stroke.unwrap_or(Stroke::of_series(color)), line.width),
        Series::Band(_) => Sample::Fill,
        Series::Bars(bars) if bars.filled => Sample::Fill,
        Series::Bars(_) => Sample::Outline,
        Series::Points(points) => Sample::Marker(points.size),
        Series::Contours(_) => Sample::Line(Stroke::Solid, 1.2),
        Series::Reference(_) | Series::Annotation(_) | Series::HeatMap(_) => return None,
    })
}

fn words(entry: &Entry, width: f64) -> Vec<String> {
    wrap_pixels(&entry.label, SIZE, width - SAMPLE - SAMPLE_GAP)
}

fn entry_width(entry: &Entry, width: f64) -> f64 {
    let longest = words(entry, width).iter().map(|line| text_width(line, SIZE)).fold(0.0, f64::max);
    SAMPLE + SAMPLE_GAP + longest
}

fn row_lines(row: &[&Entry], width: f64) -> usize {
    row.iter().map(|entry| words(entry, width).len()).max().unwrap_or(0)
}

fn draw_entry(svg: &mut Svg, entry: &Entry, x: f64, y: f64, width: f64) {
    let middle = y + SIZE * 0.62;
    for &(sample, color) in &entry.samples {
        draw_sample(svg, sample, Paint::Series(color), color, x, middle);
    }
    for (index, line) in words(entry, width).iter().enumerate() {
        let baseline = y + SIZE + index as f64 * SIZE * LINE_HEIGHT;
        svg.label(&Label::new(line, x + SAMPLE + SAMPLE_GAP, baseline, SIZE));
    }
}

fn draw_sample(svg: &mut Svg, sample: Sample, paint: Paint, color: usize, x: f64, y: f64) {
    let right = x + SAMPLE;
    let (top, bottom) = (y - 5.0, y + 5.0);
    match sample {
        Sample::Line(stroke, width) => {
            svg.path(&format!("M{x} {y}H{right}"), paint, width, stroke.dashes(width).as_deref());
        }
        Sample::Fill => svg.area(&format!("M{x} {top}H{right}V{bottom}H{x}Z"), paint, 0.28),
        Sample::Outline => svg.path(&format!("M{x} {bottom}V{top}H{right}V{bottom}"), paint, 1.6, None),
        Sample::Marker(size) => svg.area(&marker_path(color, x + SAMPLE / 2.0, y, size), paint, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Line, Points};

    #[test]
    fn a_label_appears_once() {
        let mut legend = Legend::default();
        legend.add(&Line::new("fit", []).into(), 0);
        legend.add(&Points::new("fit", []).into(), 0);
        legend.add(&Line::new("fit", []).into(), 0);
        legend.add(&Line::new("", []).into(), 1);
        assert_eq!(legend.entries.len(), 1);
        assert_eq!(legend.entries[0].samples.len(), 2);
    }

    #[test]
    fn entries_wrap_into_rows_that_fit() {
        let mut legend = Legend::default();
        for index in 0..9 {
            legend.add(&Line::new(format!("a rather long label {index}"), []).into(), index);
        }
        for width in [200.0, 400.0, 700.0] {
            for row in legend.rows(width) {
                let used: f64 = row.iter().map(|entry| entry_width(entry, width) + ENTRY_GAP).sum();
                assert!(row.len() == 1 || used - ENTRY_GAP <= width + 1e-9);
            }
        }
        assert!(legend.height(200.0) > legend.height(700.0));
    }
}
