//! A design as text, JSON and a page.

use noisewright::internal::design::{Answer, Grid};
use noisewright::internal::show::design_table;
use noisewright_report::{
    Axis, Card, Figure, HeatMap, Line, Page, Panel, Reference, Section, Stroke, Table, Value, format_number,
    format_percent,
};

use super::kinds;
use super::{Asked, Place};
use crate::commands::error::{comparison, share};
use crate::commands::pictures::{self, pairs};
use crate::failure::Outcome;
use crate::output;

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Start => "start",
            Self::Fitted => "fit",
        }
    }
}

impl Asked<'_> {
    /// What expectations are taken over and where, if there are data.
    fn place_sentence(&self) -> Option<String> {
        self.problem.data.as_ref()?;
        let place = match self.place {
            Place::Fitted => "that a fit to them found; --at puts others in their place",
            Place::Given | Place::Start => "given with --at",
        };
        Some(format!("Expectations are averages over the data, at the parameters {place}."))
    }
}

pub(super) fn json(asked: &Asked<'_>, answer: &Answer) -> Outcome<Value> {
    let mut value = output::value(answer)?;
    if let (Some(noise), Some(grid)) = (value.get_mut("noise"), grid(asked, answer)?) {
        noise.set("grid", grid);
    }
    value.set("target", asked.question.target.to_string());
    value.set("price_data", asked.question.prices.data);
    value.set("price_noise", asked.question.prices.noise);
    value.set("parameters", asked.problem.parameters_value());
    value.set("parameters_from", asked.place.name());
    Ok(value)
}

/// The densities on a grid, in one and two continuous variables.
fn grid(asked: &Asked<'_>, answer: &Answer) -> Outcome<Option<Value>> {
    let problem = asked.problem.question();
    if let Some(grid) = problem.densities(&answer.population, answer.noise.as_ref(), answer.nu) {
        return output::value(&grid).map(Some);
    }
    let fields = |(grid, y): (Grid, Vec<f64>)| {
        let values = grid.noise_density(answer.noise.as_ref());
        let density = Value::Matrix { columns: grid.x.len(), values };
        Value::Map(vec![
            ("x".into(), Value::Numbers(grid.x)),
            ("y".into(), Value::Numbers(y)),
            ("density".into(), density),
        ])
    };
    Ok(plane(asked, answer).map(fields))
}

pub(super) fn text(asked: &Asked<'_>, answer: &Answer) -> String {
    let mut text = output::table(&table(asked, answer));
    text.push('\n');
    for sentence in sentences(asked, answer) {
        text.push_str(&sentence);
        text.push('\n');
    }
    text
}

/// Whether a budget counts points, all of one price.
fn counts_points(asked: &Asked<'_>) -> bool {
    asked.question.prices == noisewright::design::Prices::default()
}

/// What errors are multiplied with.
fn unit(asked: &Asked<'_>) -> &'static str {
    if counts_points(asked) { "T" } else { "budget" }
}

fn table(asked: &Asked<'_>, answer: &Answer) -> Table {
    let title = format!("The best noise for {} of {}", asked.question.target, asked.problem.title());
    let errors = [answer.error, answer.noise_equals_data, answer.conventional];
    design_table(&title, &kinds::title(answer), answer.nu, errors, unit(asked))
}

fn sentences(asked: &Asked<'_>, answer: &Answer) -> Vec<String> {
    let compare = |other: f64, what: &str| comparison(answer.error, other, what, counts_points(asked));
    let mut lines = vec![
        compare(answer.conventional, "noise = data with 50 % noise"),
        compare(answer.noise_equals_data, "noise = data at the same proportion"),
    ];
    lines.extend(answer.remarks());
    if let Some(e) = &answer.enough {
        lines.push(format!(
            "With the data given, ν = {} noise points per data point bring the error within {} of what endless noise \
             would give.",
            format_number(e.nu, 4),
            format_percent(1.0 / e.asked - 1.0, 3)
        ));
    }
    lines.extend(asked.place_sentence());
    lines
}

pub(super) fn page(asked: &Asked<'_>, answer: &Answer) -> Page {
    let saved = 1.0 - answer.error / answer.conventional;
    let saved = if saved.is_finite() { format_percent(saved, 3) } else { "–".into() };
    let mut summary = Section::new("The design").cards([
        Card::new("noise proportion", share(answer.nu)).note(format!("ν = {}", format_number(answer.nu, 4))),
        Card::new(format!("error × {}", unit(asked)), format_number(answer.error, 6)),
        Card::new(if counts_points(asked) { "points saved" } else { "budget saved" }, saved)
            .note("against noise = data, half and half"),
    ]);
    for sentence in sentences(asked, answer) {
        summary = summary.paragraph(sentence);
    }
    summary = summary.table(table(asked, answer));
    let mut page = Page::new("The best noise").subtitle(asked.problem.title()).section(summary);
    let mut section = Section::new("Pictures");
    let noise = answer.noise.as_ref();
    if let Some(figure) = pictures::densities(asked.problem, &answer.population, noise, answer.nu) {
        section = section.figure(
            figure,
            "Top: the data's density and the designed noise's. Bottom: the weight w(x) of a data point. Where the noise is \
             zero a data point carries no weight.",
        );
    } else if let Some(figure) = plane_figure(asked, answer) {
        section = section.figure(figure, "Density of the data and of the designed noise.");
    }
    section = section.figure(
        curve(answer),
        "The error for the budget as a function of the proportion of noise; each point of the curve has the noise that is \
         best there, or the given one.",
    );
    if let Some(figure) = efficiency_figure(answer) {
        section = section.figure(figure, "Efficiency against the noise per data point, with the data given.");
    }
    page = page.section(section);
    page
}

fn curve(answer: &Answer) -> Figure {
    let half = &answer.curve.proportion;
    let equal: Vec<f64> = half.iter().map(|p| answer.conventional / (4.0 * p * (1.0 - p))).collect();
    Figure::from(
        Panel::new(Axis::linear("noise proportion").percent(), Axis::log("error × T"))
            .with(Line::new(kinds::title(answer), pairs(half, &answer.curve.error)))
            .with(Line::new("noise = data", pairs(half, &equal)).stroke(Stroke::Dashed))
            .with(Reference::vertical(answer.nu / (1.0 + answer.nu), "chosen")),
    )
}

fn efficiency_figure(answer: &Answer) -> Option<Figure> {
    let e = answer.enough.as_ref()?;
    let panel = Panel::new(Axis::log("noise points per data point"), Axis::linear("efficiency").percent())
        .with(Line::new("efficiency", e.curve.iter().copied()))
        .with(Reference::horizontal(e.asked, "asked for"));
    Some(Figure::from(panel))
}

/// Density of the data and of the designed noise, in two continuous variables.
fn plane_figure(asked: &Asked<'_>, answer: &Answer) -> Option<Figure> {
    let problem = asked.problem.question();
    let (grid, y) = plane(asked, answer)?;
    let data = problem.data_density(&answer.population, &grid)?;
    let noise = grid.noise_density(answer.noise.as_ref());
    let names = asked.problem.model.space().names();
    let edges = |v: &[f64]| -> Vec<f64> {
        let step = v[1] - v[0];
        (0..=v.len()).map(|i| v[0] + (i as f64 - 0.5) * step).collect()
    };
    let panel = |title: &str, values: Vec<f64>| {
        Panel::new(Axis::linear(names[0].clone()), Axis::linear(names[1].clone()))
            .title(title)
            .aspect(1.0)
            .with(HeatMap::new(edges(&grid.x), edges(&y), values).scale_label("density"))
    };
    Some(Figure::new().panel(panel("data", data)).panel(panel("designed noise", noise)).columns(2))
}

/// The grid of a plane, and its places along the second variable.
fn plane(asked: &Asked<'_>, answer: &Answer) -> Option<(Grid, Vec<f64>)> {
    let grid = asked.problem.question().grid(&answer.population)?;
    let y = grid.y.clone()?;
    Some((grid, y))
}
