//! Tables as text and HTML, pictures as SVG: the same that the command shows.

use noisewright_report::{
    Axis, Bars, Cell, Column, Figure, Line, Panel, Points, Reference, Stroke, Table, TextStyle,
};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Columns of text that every console has.
const WIDTH: usize = 80;

/// A cell of a table: nothing, a number, or words.
fn cell(value: &Bound<'_, PyAny>) -> PyResult<Cell> {
    if value.is_none() {
        return Ok(Cell::Empty);
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Cell::from(value.extract::<String>()?));
    }
    if let Ok(count) = value.extract::<u64>() {
        return Ok(Cell::from(count));
    }
    Ok(Cell::from(value.extract::<f64>()?))
}

/// A table as text and as HTML. A column is its heading and, for numbers, the digits shown.
#[pyfunction]
pub(crate) fn table(
    title: String,
    columns: Vec<(String, Option<usize>)>,
    rows: Vec<Vec<Bound<'_, PyAny>>>,
    notes: Vec<String>,
) -> PyResult<(String, String)> {
    let mut table = Table::new(title);
    for (heading, digits) in columns {
        table = table.column(match digits {
            Some(digits) => Column::number(heading).significant(digits),
            None => Column::text(heading),
        });
    }
    for row in rows {
        table.push_row(row.iter().map(cell).collect::<PyResult<Vec<_>>>()?);
    }
    for note in notes {
        table = table.note(note);
    }
    let style = TextStyle { width: WIDTH, ..TextStyle::default() };
    Ok((table.to_text_with(&style), table.to_html()))
}

/// An axis: its label and its kind, `linear`, `log` or `percent`.
type AxisWords = (String, String);

fn axis((label, kind): AxisWords) -> Axis {
    match kind.as_str() {
        "log" => Axis::log(label),
        "percent" => Axis::linear(label).percent(),
        _ => Axis::linear(label),
    }
}

/// A series: its kind, its label and its columns.
type SeriesWords = (String, String, Vec<Vec<f64>>);

/// A panel: its axes and its series.
type PanelWords = (AxisWords, AxisWords, Vec<SeriesWords>);

/// A figure as SVG. Kinds of series: `line`, `dashed`, `bars` (edges, heights), `points` (x, y, lower, upper), `at` (x).
#[pyfunction]
pub(crate) fn figure(panels: Vec<PanelWords>, description: String) -> String {
    let mut figure = Figure::new().columns(1).description(description);
    for (x, y, series) in panels {
        let mut panel = Panel::new(axis(x), axis(y));
        for (kind, label, columns) in series {
            add(&mut panel, &kind, label, &columns);
        }
        figure = figure.panel(panel);
    }
    figure.to_svg()
}

fn add(panel: &mut Panel, kind: &str, label: String, columns: &[Vec<f64>]) {
    let pairs = |x: &[f64], y: &[f64]| x.iter().copied().zip(y.iter().copied()).collect::<Vec<_>>();
    match (kind, columns) {
        ("line", [x, y]) => panel.push(Line::new(label, pairs(x, y))),
        ("dashed", [x, y]) => panel.push(Line::new(label, pairs(x, y)).stroke(Stroke::Dashed)),
        ("bars", [edges, heights]) => panel.push(Bars::new(label, edges.clone(), heights.clone())),
        ("points", [x, y, lower, upper]) => {
            panel.push(Points::new(label, pairs(x, y)).y_errors(pairs(lower, upper)));
        }
        ("at", [x]) => x.iter().for_each(|x| panel.push(Reference::vertical(*x, label.clone()))),
        _ => {}
    }
}
