//! `noisewright reproduce`: every figure and table of the paper, with one page.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use noisewright_paper::{Item, Settings, names, run as compute};
use noisewright_report::{Card, Cell, Column, Page, Section, Table, format_duration};
use serde::Serialize;

use crate::arguments::{Global, ReproduceArguments};
use crate::failure::{Failure, Outcome};
use crate::output;

/// An item and the time it took.
struct Done {
    item: Item,
    time: Duration,
}

pub(crate) fn run(arguments: &ReproduceArguments, global: &Global) -> Outcome<()> {
    let wanted = wanted(&arguments.names)?;
    let settings = Settings { fine: arguments.fine, seed: global.seed };
    std::fs::create_dir_all(&arguments.out).map_err(|error| {
        let folder = arguments.out.display();
        Failure::NoAnswer(format!("{folder}: the folder cannot be made: {error}"))
    })?;
    let mut done = Vec::with_capacity(wanted.len());
    for name in wanted {
        let start = Instant::now();
        let item = compute(name, settings)?;
        let one = Done { item, time: start.elapsed() };
        write_item(&arguments.out, &one)?;
        tell(global, &one);
        done.push(one);
    }
    let json = output::value(&Items { items: done.iter().map(entry).collect() })?;
    let page = page(&done, settings);
    output::write_file(&arguments.out.join("index.html"), page.to_html().as_bytes())?;
    output::write_file(&arguments.out.join("values.json"), json.to_json().as_bytes())?;
    output::write_report(global, || page, &json)?;
    let words = text(&done, !arguments.names.is_empty(), &arguments.out);
    if global.json { output::print_json(&json) } else { output::print(&words) }
}

/// The items that were named, all without a name, each once and in the order of the paper.
fn wanted(asked: &[String]) -> Outcome<Vec<&'static str>> {
    if let Some(unknown) = asked.iter().find(|name| !names().any(|known| known == name.as_str())) {
        let list: Vec<&str> = names().collect();
        return Err(Failure::Usage(format!(
            "there is nothing called `{unknown}` to reproduce; the names are {}",
            list.join(", ")
        )));
    }
    Ok(names().filter(|name| asked.is_empty() || asked.iter().any(|a| a == name)).collect())
}

fn tell(global: &Global, done: &Done) {
    if !global.quiet {
        let Done { item, time } = done;
        let _ = writeln!(
            std::io::stderr(),
            "{:<6} {:>8}   {}",
            item.name,
            format!("{:.2} s", time.as_secs_f64()),
            item.title
        );
    }
}

/// The picture, the numbers behind it, and the values.
fn write_item(folder: &Path, done: &Done) -> Outcome<()> {
    let Item { name, figure, tables, .. } = &done.item;
    let write = |file: String, text: &str| output::write_file(&folder.join(file), text.as_bytes());
    if let Some(figure) = figure {
        write(format!("{name}.svg"), &figure.to_svg_standalone())?;
        write(format!("{name}.csv"), &figure.to_csv())?;
    }
    for (index, table) in tables.iter().enumerate() {
        let suffix = match (figure.is_some(), index) {
            (false, 0) => String::new(),
            _ => format!("-table{}", index + 1),
        };
        write(format!("{name}{suffix}.csv"), &table.to_csv())?;
    }
    write(format!("{name}.json"), &output::value(&entry(done))?.to_json())
}

/// All items.
#[derive(Serialize)]
struct Items<'a> {
    items: Vec<Entry<'a>>,
}

/// One item for a program.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    title: &'a str,
    seconds: f64,
    values: &'a serde_json::Value,
}

fn entry(done: &Done) -> Entry<'_> {
    let Item { name, title, values, .. } = &done.item;
    Entry { name, title, seconds: done.time.as_secs_f64(), values }
}

fn total(done: &[Done]) -> Duration {
    done.iter().map(|d| d.time).sum()
}

/// Where the page is, below the tables of what was named.
fn text(done: &[Done], named: bool, folder: &Path) -> String {
    let tables = done.iter().filter(|_| named).flat_map(|one| &one.item.tables);
    let mut text: String = tables.map(|table| format!("{}\n", output::table(table))).collect();
    text.push_str(&format!("{}\n", folder.join("index.html").display()));
    text
}

fn page(done: &[Done], settings: Settings) -> Page {
    let grids = if settings.fine { "Grids twice as fine as the paper's." } else { "Grids as in the paper." };
    let slowest = done.iter().max_by_key(|d| d.time);
    let mut cards = vec![
        Card::new("items", done.len().to_string()).note(grids),
        Card::new("time", format_duration(total(done))).note("computing, all items together"),
    ];
    if let Some(slowest) = slowest {
        cards.push(Card::new("slowest", format_duration(slowest.time)).note(slowest.item.title.clone()));
    }
    let mut page = Page::new("Optimal noise, reproduced")
        .subtitle(
            "Every figure and table of O. Chehab, A. Gramfort and A. Hyvärinen, “Optimizing the noise in \
             self-supervised learning: from importance sampling to noise-contrastive estimation”, recomputed, with \
             the exact optimum beside each numerical one.",
        )
        .section(Section::new("").cards(cards).paragraph(UNITS));
    for one in done {
        page = page.section(section(&one.item));
    }
    page.section(times(done)).footer(format!("Made by noisewright {}", env!("CARGO_PKG_VERSION")))
}

const UNITS: &str = "Errors are mean squared errors times the budget T, the number of data and noise points together. The \
    noise proportion is the share of noise points among them; ν is noise points per data point. Pictures and numbers \
    lie beside this page as SVG, CSV and JSON.";

fn section(item: &Item) -> Section {
    let mut section = Section::new(item.title.clone());
    section = match &item.figure {
        Some(figure) => section.figure(figure.clone(), item.caption.clone()),
        None => section.paragraph(item.caption.clone()),
    };
    for table in &item.tables {
        section = section.table(table.clone());
    }
    for note in &item.notes {
        section = section.paragraph(note.clone());
    }
    section
}

fn times(done: &[Done]) -> Section {
    let mut table = Table::new("")
        .column(Column::text("item"))
        .column(Column::number("time").unit("s").decimals(2))
        .column(Column::text("what"));
    for one in done {
        table.push_row([one.item.name.into(), one.time.as_secs_f64().into(), one.item.title.as_str().into()]);
    }
    table.push_row(["all".into(), total(done).as_secs_f64().into(), Cell::Empty]);
    Section::new("Times").table(table)
}
