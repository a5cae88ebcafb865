//! `noisewright ratio` without features, or through bridges.

use noisewright::fit::{Bridges, CovarianceKind, DensityRatio, RatioBasis};
use noisewright::internal::fit::density_ratio;
use noisewright::internal::show::{
    bridges_table, candidates_table, counted, density_ratio_sentences, divergences_table,
};
use noisewright::parts::{BridgeReport, RatioOptions};
use noisewright::{Model, Space, View};
use noisewright_data::write;
use noisewright_report::{
    Axis, Bars, Card, Figure, Page, Panel, Reference, Section, Table, Value, format_number,
};

use super::points::{self, Points};
use super::show::{classifier_of, curve_of, file, points_table};
use crate::arguments::{BridgeArguments, Global, RatioArguments};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::rows::Rows;

/// A fitted ratio, and what it was made of.
struct Answer {
    fit: DensityRatio,
    features: Option<String>,
    first: Rows,
    second: Rows,
    points: Option<Points>,
}

/// A basis, and the number of bridges.
pub(in crate::commands) fn choices(path: &BridgeArguments, usual: Bridges) -> Outcome<(RatioBasis, Bridges)> {
    let basis = path.basis.as_deref().map_or(Ok(RatioBasis::Auto), str::parse)?;
    let bridges = path.bridges.as_deref().map_or(Ok(usual), str::parse)?;
    Ok((basis, bridges))
}

pub(super) fn run(arguments: &RatioArguments, global: &Global) -> Outcome<()> {
    refuse(arguments)?;
    let (basis, bridges) = choices(&arguments.path, Bridges::Count(1))?;
    let progress = Progress::new(global.quiet || global.json, "comparing the samples");
    let usual = RatioOptions::default();
    let options = RatioOptions {
        basis,
        bridges,
        permutations: arguments.permutations.unwrap_or(usual.permutations),
        confidence: arguments.errors.confidence,
        max_iterations: arguments.search.max_iterations,
        tolerance: arguments.search.tolerance,
        seed: global.seed,
        progress: Some(progress.hook()),
        ..usual
    };
    options.check()?;
    let names = points::columns(arguments)?;
    let space = Space::real(&names)?;
    if arguments.out.is_some() {
        points::refuse_columns(&names)?;
    }
    if arguments.importance.is_some() {
        output::refuse_column(&names, "weight")?;
    }
    let model = arguments.features.as_deref().map(|words| super::model(words, &names)).transpose()?;
    let (model, features): (Option<Model>, Option<String>) =
        model.map_or((None, None), |(model, shown)| (Some(model), Some(shown.join(", "))));
    let read = |path| Rows::read(std::slice::from_ref(path), &space, &arguments.other_rows());
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    // With features, names that formulas cannot read have stand-ins; without a model the functions are called after the columns.
    let data = if model.is_some() { Rows::data_in_order } else { Rows::data };
    let fit = density_ratio(model.as_ref(), data(&first), data(&second), &options)?;
    let values =
        |view: View<'_>| -> Outcome<_> { Ok((fit.log_ratio_at(view)?, Some(fit.typicality(view)?))) };
    let asked =
        arguments.points.as_ref().map(|path| Points::read(path, &space, arguments, values)).transpose()?;
    drop(progress);
    let answer = Answer { fit, features, first, second, points: asked };
    write_files(&answer, arguments)?;
    let json = json(&answer)?;
    output::write_report(global, || page(&answer), &json)?;
    if global.json { output::print_json(&json) } else { output::print(&text(&answer)) }
}

/// Options that only a ratio of given features without bridges has.
fn refuse(arguments: &RatioArguments) -> Outcome<()> {
    let given = [
        ("--loss", arguments.loss != "js"),
        ("--weights", arguments.weights.is_some()),
        ("--covariance", arguments.errors.covariance.kind() != CovarianceKind::Robust),
        ("--matrices", arguments.matrices),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Usage(format!(
            "{flag} is for a ratio of given features without bridges: give --features, and leave --bridges out"
        ))),
    }
}

fn write_files(answer: &Answer, arguments: &RatioArguments) -> Outcome<()> {
    if let (Some(path), Some(points)) = (&arguments.out, &answer.points) {
        points.write(path)?;
    }
    let Some(path) = &arguments.importance else { return Ok(()) };
    let view = answer.second.points.view();
    let mut names = answer.second.points.names().to_vec();
    let mut columns: Vec<Vec<f64>> = (0..view.columns()).map(|j| view.column(j).to_vec()).collect();
    names.push("weight".into());
    columns.push(answer.fit.importance.weights.clone());
    write(path, &names, &columns).map_err(Failure::from)
}

fn json(answer: &Answer) -> Outcome<Value> {
    let mut value = output::value(&answer.fit)?;
    value.set("dropped", output::value(&[answer.first.dropped, answer.second.dropped])?);
    value.set("features", answer.features.clone());
    value.set("points", answer.points.as_ref().map(Points::value));
    Ok(value)
}

fn table(answer: &Answer) -> Table {
    let title = format!("ratio of {} to {}", file(&answer.first), file(&answer.second));
    divergences_table(&answer.fit, &title)
}

/// The tables below the first.
fn more_tables(answer: &Answer) -> Vec<Table> {
    let candidates = (!answer.fit.candidates.is_empty()).then(|| candidates_table(&answer.fit));
    let bridges = (answer.fit.bridges.len() > 1).then(|| bridges_table(&answer.fit.bridges));
    candidates.into_iter().chain(bridges).chain(answer.points.as_ref().map(points_table)).collect()
}

fn text(answer: &Answer) -> String {
    let mut text = output::table_and_sentences(&table(answer), density_ratio_sentences(&answer.fit));
    for table in more_tables(answer) {
        text.push_str(&format!("\n{}", output::table(&table)));
    }
    text
}

fn page(answer: &Answer) -> Page {
    let (first, second) = (&answer.first, &answer.second);
    let cards = [
        Card::new("first", counted(first.points.rows(), "row")).note(file(first)),
        Card::new("second", counted(second.points.rows(), "row")).note(file(second)),
        Card::new("effective rows", format_number(answer.fit.importance.effective_size, 4))
            .note("of the second sample, weighted to look like the first"),
    ];
    let mut section = Section::new("How the densities differ").cards(cards).table(table(answer));
    for sentence in density_ratio_sentences(&answer.fit) {
        section = section.paragraph(sentence);
    }
    for table in more_tables(answer) {
        section = section.table(table);
    }
    let mut page = Page::new("A ratio of densities")
        .subtitle(format!("{} against {}", file(first), file(second)))
        .section(section);
    if answer.fit.bridges.len() > 1 {
        page = page.section(path_section(&answer.fit.bridges));
    }
    let log_ratio = |view: View<'_>| answer.fit.log_ratio_at(view).ok();
    let both = [&first.points, &second.points];
    if let Some(figure) = curve_of(both, answer.fit.confidence, log_ratio) {
        page = page.section(Section::new("The ratio").figure(
            figure,
            "log p₁/p₂ with its interval over where the two samples are; zero is where both are equally dense.",
        ));
    }
    if let Some((figure, _)) = classifier_of([first, second], log_ratio) {
        page = page.section(Section::new("The classifier").figure(
            figure,
            "Left: the log ratio with the samples' sizes at both samples. Right: points in ten groups by it, the share of the \
             first sample that the fit says against the share found, with 95 % of chance.",
        ));
    }
    page
}

/// The path of bridges in a picture.
pub(in crate::commands) fn path_section(bridges: &[BridgeReport]) -> Section {
    let edges: Vec<f64> = bridges.iter().map(|b| b.from).chain(bridges.last().map(|last| last.to)).collect();
    let inner: Vec<f64> = bridges.iter().skip(1).map(|b| b.from).collect();
    let panel = |label: &str, heights: Vec<f64>| {
        let bars = Panel::new(Axis::linear("α: first sample 0, second 1"), Axis::linear(label.to_owned()))
            .with(Bars::new("bridges", edges.clone(), heights).color(0));
        inner.iter().fold(bars, |panel, edge| panel.with(Reference::vertical(*edge, "")))
    };
    let divergences = bridges.iter().map(|b| b.divergence).collect();
    let overlaps = bridges.iter().map(|b| b.overlap.overlap).collect();
    let figure = Figure::new()
        .panel(panel("divergence of the ends", divergences))
        .panel(panel("overlap of the ends", overlaps))
        .columns(2);
    Section::new("The path").figure(
        figure,
        "One bar per bridge, between its ends. Left: Jeffreys' divergence of its two ends, which should be about the same for all. Right: their \
         overlap, 1 for equal densities and 0 for densities that never meet.",
    )
}
