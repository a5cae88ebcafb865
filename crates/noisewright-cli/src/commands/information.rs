//! `noisewright information`: the mutual information of two groups of columns.

use noisewright::Space;
use noisewright::fit::{Bridges, MutualInformation};
use noisewright::internal::fit::mutual_information;
use noisewright::internal::show::{bridges_table, counted, information_table};
use noisewright::parts::RatioOptions;
use noisewright_report::{Axis, Card, Figure, Page, Panel, Points as Dots, Section};

use super::ratio::{choices, listed, model, path_section};
use crate::arguments::{Global, InformationArguments, RowArguments};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::rows::Rows;

pub(crate) fn run(arguments: &InformationArguments, global: &Global) -> Outcome<()> {
    let (basis, bridges) = choices(&arguments.path, Bridges::Auto)?;
    let progress = Progress::new(global.quiet || global.json, "telling joint rows from shuffled ones");
    let options = RatioOptions {
        basis,
        bridges,
        confidence: arguments.confidence,
        seed: global.seed,
        progress: Some(progress.hook()),
        ..RatioOptions::default()
    };
    options.check()?;
    let between = sides(arguments)?;
    let names = between.concat();
    let space = Space::real(&names)?;
    let model = arguments.features.as_deref().map(|words| model(words, &names)).transpose()?;
    let rows =
        Rows::read(std::slice::from_ref(&arguments.data), &space, &RowArguments::plain(&arguments.read))?;
    let sides: [&[String]; 2] = [&between[0], &between[1]];
    let found = mutual_information(model.as_ref().map(|(model, _)| model), rows.data(), sides, &options)?;
    drop(progress);
    let mut json = output::value(&found)?;
    json.set("dropped", output::value(&rows.dropped)?);
    output::write_report(global, || page(&found, &rows), &json)?;
    if global.json { output::print_json(&json) } else { output::print(&text(&found)) }
}

/// The columns of either side: divided by the word `and`, or given by an option each.
fn sides(arguments: &InformationArguments) -> Outcome<[Vec<String>; 2]> {
    let (first, second) = match arguments.between.iter().position(|word| word == "and") {
        Some(at) if arguments.and.is_empty() => (&arguments.between[..at], &arguments.between[at + 1..]),
        None if arguments.and.is_empty() => {
            return Err(Failure::Usage("--between needs two sides: --between x1 x2 and y".into()));
        }
        _ => (&arguments.between[..], &arguments.and[..]),
    };
    Ok([listed("--between", &first.join(","))?, listed("--and", &second.join(","))?])
}

fn text(found: &MutualInformation) -> String {
    let mut text = output::table(&information_table(found));
    if found.bridges.len() > 1 {
        text.push_str(&format!("\n{}", output::table(&bridges_table(&found.bridges))));
    }
    text
}

fn page(found: &MutualInformation, rows: &Rows) -> Page {
    let cards = [
        Card::new("rows", counted(found.rows, "row")).note(rows.files.join(", ")),
        Card::new("variables", found.variables.each_ref().map(|v| v.len().to_string()).join(" and ")),
        Card::new("bridges", found.bridges.len().to_string()),
    ];
    let mut section = Section::new("Mutual information").cards(cards).table(information_table(found));
    if let Some(figure) = trials(found) {
        section = section.figure(
            figure,
            "The estimate with other numbers of bridges: it has settled where neighbours agree within their intervals.",
        );
    }
    let page = Page::new("A mutual information").subtitle(rows.files.join(", ")).section(section);
    if found.bridges.len() > 1 { page.section(path_section(&found.bridges)) } else { page }
}

/// The estimates over numbers of bridges.
fn trials(found: &MutualInformation) -> Option<Figure> {
    let known = || found.trials.iter().filter_map(|t| Some((t.bridges as f64, t.information.as_ref()?)));
    if known().count() < 2 {
        return None;
    }
    let points = known().map(|(k, information)| (k, information.estimate));
    let ends = known().map(|(_, information)| (information.lower, information.upper));
    let panel = Panel::new(Axis::log("bridges"), Axis::linear("mutual information"))
        .with(Dots::new("estimate with its interval", points).y_errors(ends).color(0));
    Some(Figure::from(panel))
}
