//! The data behind a figure as CSV, one row per point.

use super::figure::Figure;
use super::heatmap::centres;
use super::series::Series;
use crate::escape::{csv_field, csv_number};

const HEADER: &str = "panel,kind,series,x,y,value,x_lower,x_upper,y_lower,y_upper\n";

/// One row: what is not given stays blank.
#[derive(Default)]
struct Row {
    x: Option<f64>,
    y: Option<f64>,
    value: Option<f64>,
    x_ends: Option<(f64, f64)>,
    y_ends: Option<(f64, f64)>,
}

impl Figure {
    /// The numbers behind the figure with full precision; panels count from 1.
    ///
    /// ```
    /// use noisewright_report::{Axis, Figure, Line, Panel};
    /// let panel = Panel::new(Axis::linear("x"), Axis::linear("y")).with(Line::new("a", [(0.0, 1.5)]));
    /// let csv = Figure::from(panel).to_csv();
    /// assert_eq!(csv.lines().nth(1), Some("1,line,a,0,1.5,,,,,"));
    /// ```
    pub fn to_csv(&self) -> String {
        let mut out = HEADER.to_owned();
        for (index, panel) in self.panels.iter().enumerate() {
            for series in &panel.series {
                let (kind, label) = name(series);
                let start = format!("{},{kind},{}", index + 1, csv_field(label));
                rows(series).iter().for_each(|row| push_row(&mut out, &start, row));
            }
        }
        out
    }
}

fn push_row(out: &mut String, start: &str, row: &Row) {
    let fields = [
        row.x,
        row.y,
        row.value,
        row.x_ends.map(|ends| ends.0),
        row.x_ends.map(|ends| ends.1),
        row.y_ends.map(|ends| ends.0),
        row.y_ends.map(|ends| ends.1),
    ];
    let fields = fields.map(|field| field.map_or(String::new(), csv_number));
    out.push_str(&format!("{start},{}\n", fields.join(",")));
}

fn name(series: &Series) -> (&'static str, &str) {
    match series {
        Series::Line(series) => ("line", &series.label),
        Series::Band(series) => ("band", &series.label),
        Series::Bars(series) => ("bars", &series.label),
        Series::Points(series) => ("points", &series.label),
        Series::Reference(series) => ("reference", &series.label),
        Series::Annotation(series) => ("annotation", &series.text),
        Series::HeatMap(series) => ("heat map", &series.scale_label),
        Series::Contours(series) => ("contours", &series.label),
    }
}

fn rows(series: &Series) -> Vec<Row> {
    match series {
        Series::Line(line) => line.points.iter().map(|&(x, y)| at(x, y)).collect(),
        Series::Band(band) => band
            .points
            .iter()
            .map(|&(x, lower, upper)| Row { x: Some(x), y_ends: Some((lower, upper)), ..Row::default() })
            .collect(),
        Series::Bars(bars) => bars
            .edges
            .windows(2)
            .zip(&bars.heights)
            .map(|(ends, &height)| Row {
                y: Some(height),
                x_ends: Some((ends[0], ends[1])),
                ..Row::default()
            })
            .collect(),
        Series::Points(points) => points
            .points
            .iter()
            .enumerate()
            .map(|(index, &(x, y))| Row {
                x_ends: points.x_errors.get(index).copied(),
                y_ends: points.y_errors.get(index).copied(),
                ..at(x, y)
            })
            .collect(),
        Series::Reference(line) if line.vertical => vec![Row { x: Some(line.value), ..Row::default() }],
        Series::Reference(line) => vec![Row { y: Some(line.value), ..Row::default() }],
        Series::Annotation(note) => vec![at(note.at.0, note.at.1)],
        Series::HeatMap(map) => grid_rows(&centres(&map.x_edges), &centres(&map.y_edges), &map.values),
        Series::Contours(contours) => grid_rows(&contours.xs, &contours.ys, &contours.values),
    }
}

fn at(x: f64, y: f64) -> Row {
    Row { x: Some(x), y: Some(y), ..Row::default() }
}

fn grid_rows(xs: &[f64], ys: &[f64], values: &[f64]) -> Vec<Row> {
    let nodes = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y)));
    nodes.zip(values).map(|((x, y), &value)| Row { value: Some(value), ..at(x, y) }).collect()
}
