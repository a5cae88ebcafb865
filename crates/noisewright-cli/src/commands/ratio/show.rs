//! A fitted ratio for people and for programs.

use noisewright::internal::leave_matrices_out;
use noisewright::internal::show::{
    Class, cells, classifier_figure, convergence, counted, interval_label, ratio_table,
};
use noisewright::parts::LogRatio;
use noisewright::{Points, View};
use noisewright_report::{
    Axis, Band, Card, Cell, Column, Figure, Line, Page, Panel, Reference, Section, Table, Value,
};

use super::Answer;
use super::points::Points as AskedPoints;
use crate::commands::fit::json::type_settings;
use crate::commands::fit::show::warnings;
use crate::failure::Outcome;
use crate::output;
use crate::rows::Rows;

/// Most points that are listed.
const LISTED: usize = 40;
/// Number of places a curve is drawn through.
const PLACES: usize = 300;

/// Everything that a program may want to know; covariances of very many unknowns only if they are asked for.
pub(super) fn json(answer: &Answer, matrices: bool) -> Outcome<Value> {
    let mut value = output::value(&answer.fit)?;
    type_settings(&mut value, &answer.fit.fit);
    value.set("dropped", output::value(&[answer.first.dropped, answer.second.dropped])?);
    value.set("features", answer.features.as_str());
    value.set("points", answer.points.as_ref().map(AskedPoints::value));
    if !matrices {
        leave_matrices_out(&mut value);
    }
    Ok(value)
}

/// The tables and how the fit went.
pub(super) fn text(answer: &Answer) -> String {
    let mut text = output::table(&table(answer));
    text.push_str(&format!("\n{}\n", sentence(answer)));
    for warning in warnings(&answer.fit.fit) {
        text.push_str(&format!("\nWarning: {warning}\n"));
    }
    if let Some(table) = answer.points.as_ref().map(points_table) {
        text.push_str(&format!("\n{}", output::table(&table)));
    }
    text
}

fn sentence(answer: &Answer) -> String {
    convergence(&answer.fit.fit)
}

fn table(answer: &Answer) -> Table {
    let (first, second) = (&answer.first, &answer.second);
    ratio_table(&answer.fit, &format!("log ratio of {} to {}", file(first), file(second)))
        .note(format!("{} and {}, loss {}", rows(first), rows(second), answer.fit.fit.loss_name))
        .note("log p₁/p₂ = Σ estimate × feature − constant")
}

pub(super) fn file(rows: &Rows) -> String {
    rows.files.join(", ")
}

fn rows(rows: &Rows) -> String {
    let count = counted(rows.points.rows(), "row");
    if rows.dropped > 0 { format!("{count} ({} left out)", rows.dropped) } else { count }
}

pub(super) fn points_table(points: &AskedPoints) -> Table {
    let mut table = Table::new("log ratio at the points");
    for name in &points.names {
        table = table.column(Column::number(name.as_str()).significant(6));
    }
    for name in ["log ratio", "std. error", "from", "to"] {
        table = table.column(Column::number(name).significant(5));
    }
    if points.typicality.is_some() {
        table = table.column(Column::number("typicality").significant(3));
    }
    for (i, ratio) in points.ratios.iter().enumerate().take(LISTED) {
        let place = points.columns.iter().map(|column| Cell::from(column[i]));
        let ratio = cells(&[ratio.value, ratio.se, ratio.lower, ratio.upper], ratio.se);
        let typical = points.typicality.as_ref().map(|all| Cell::from(all[i]));
        table.push_row(place.chain(ratio).chain(typical));
    }
    match points.ratios.len().saturating_sub(LISTED) {
        0 => table,
        more => table.note(format!("{more} more points with --json or --out")),
    }
}

/// The numbers, the ratio in one variable, and the classifier.
pub(super) fn page(answer: &Answer) -> Page {
    let (first, second) = (&answer.first, &answer.second);
    let cards = [
        Card::new("first", counted(first.points.rows(), "row")).note(file(first)),
        Card::new("second", counted(second.points.rows(), "row")).note(file(second)),
        Card::new("features", answer.fit.parameters.len().to_string()).note(answer.features.clone()),
    ];
    let mut section = Section::new("Estimates").cards(cards);
    for warning in warnings(&answer.fit.fit) {
        section = section.warning(warning);
    }
    section = section.table(table(answer)).paragraph(sentence(answer));
    if let Some(points) = &answer.points {
        section = section.table(points_table(points));
    }
    let mut page = Page::new("A ratio of densities")
        .subtitle(format!("{} against {}", file(first), file(second)))
        .section(section);
    if let Some(figure) = curve(answer) {
        page = page.section(Section::new("The ratio").figure(
            figure,
            "log p₁/p₂ with its interval over where the two samples are; zero is where both are equally dense.",
        ));
    }
    if let Some((figure, _)) = classifier(answer) {
        page = page.section(Section::new("The classifier").figure(
            figure,
            "Left: the log ratio with the samples' sizes, g = log(n₁p₁/n₂p₂), at both samples. Right: points in ten groups \
             by g, the share of the first sample that the fit says against the share found, with 95 % of chance; away from \
             the line the features lack something.",
        ));
    }
    page
}

/// The ratio in one variable.
fn curve(answer: &Answer) -> Option<Figure> {
    let (first, second) = (&answer.first.points, &answer.second.points);
    curve_of([first, second], answer.fit.fit.confidence, |view| answer.fit.log_ratio_at(view).ok())
}

/// A log ratio in one variable over where both samples are.
pub(super) fn curve_of(
    samples: [&Points; 2],
    confidence: f64,
    log_ratio: impl Fn(View<'_>) -> Option<Vec<LogRatio>>,
) -> Option<Figure> {
    let views = samples.map(Points::view);
    if views[0].columns() != 1 {
        return None;
    }
    let values = || views.iter().flat_map(|view| view.column(0).iter().copied());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let x: Vec<f64> = (0..PLACES).map(|i| low + (high - low) * i as f64 / (PLACES - 1) as f64).collect();
    let ratios = log_ratio(View::new(1, PLACES, &x))?;
    let band = x.iter().zip(&ratios).map(|(x, r)| (*x, r.lower, r.upper));
    let panel = Panel::new(Axis::linear(samples[0].names()[0].clone()), Axis::linear("log p₁/p₂"))
        .with(Band::new(interval_label(confidence), band).color(0))
        .with(Line::new("log ratio", x.iter().zip(&ratios).map(|(x, r)| (*x, r.value))).color(0))
        .with(Reference::horizontal(0.0, ""));
    Some(Figure::from(panel))
}

fn classifier(answer: &Answer) -> Option<(Figure, f64)> {
    classifier_of([&answer.first, &answer.second], |view| answer.fit.log_ratio_at(view).ok())
}

/// The picture of the classifier that a log ratio is.
pub(super) fn classifier_of(
    [first_rows, second_rows]: [&Rows; 2],
    log_ratio: impl Fn(View<'_>) -> Option<Vec<LogRatio>>,
) -> Option<(Figure, f64)> {
    let weights = |rows: &Rows| rows.weights.clone().unwrap_or_else(|| vec![1.0; rows.points.rows()]);
    let (first, second) = (weights(first_rows), weights(second_rows));
    let shift = (first.iter().sum::<f64>() / second.iter().sum::<f64>()).ln();
    let ratios = |rows: &Rows| -> Option<Vec<f64>> {
        let ratios = log_ratio(rows.points.view())?;
        Some(ratios.iter().map(|ratio| ratio.value + shift).collect())
    };
    let one = Class { name: "first", ratios: ratios(first_rows)?, weights: first };
    let two = Class { name: "second", ratios: ratios(second_rows)?, weights: second };
    classifier_figure(&one, &two)
}
