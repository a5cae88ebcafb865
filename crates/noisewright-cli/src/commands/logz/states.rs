//! `noisewright logz --states`: log-normalizers of many states from pooled draws.

use std::path::Path;

use noisewright::Error;
use noisewright::internal::show::states_table;
use noisewright::normalizer::Dependence;
use noisewright::normalizer::states::{Origin, Pooled, StatesEstimate, StatesOptions, reweight};
use noisewright_data::{Format, Stream, Table as Data};
use noisewright_report::{
    Axis, Card, Figure, HeatMap, Page, Panel, Points, Section, Table, Value, format_number,
};

use super::reweighted::Reweighted;
use super::wildcard::Wildcard;
use crate::arguments::{Global, LogzArguments, StatesArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs;
use crate::output;
use crate::progress::Progress;

/// Everything the command shows.
struct Answer<'a> {
    source: &'a str,
    names: &'a [String],
    counts: &'a [usize],
    result: &'a StatesEstimate,
    dependence: Dependence,
    more: &'a Reweighted,
}

pub(super) fn run(arguments: &LogzArguments, global: &Global) -> Outcome<()> {
    let own = &arguments.many;
    let progress = Progress::new(global.quiet || global.json, "estimating the constants of all states");
    let draws = Draws::read(arguments)?;
    let dependence = if arguments.independent { Dependence::Independent } else { Dependence::Chains };
    let options = StatesOptions { reference: draws.reference(own)?, dependence, ..StatesOptions::default() };
    let slices: Vec<&[f64]> = draws.columns.iter().map(Vec::as_slice).collect();
    let pooled =
        Pooled { log_f: &slices, origin: Origin::Rows(&draws.origin), chains: draws.chains.as_deref() };
    let reweighting = reweight(&pooled, &options).map_err(|error| draws.named(error))?;
    let more = Reweighted::of(&reweighting, &pooled, &options, own, &draws)?;
    drop(progress);
    let mut counts = vec![0; draws.names.len()];
    draws.origin.iter().for_each(|state| counts[*state] += 1);
    let answer = Answer {
        source: &draws.source,
        names: &draws.names,
        counts: &counts,
        result: reweighting.estimate(),
        dependence,
        more: &more,
    };
    let json = answer.json()?;
    output::write_report(global, || answer.page(), &json)?;
    if global.json {
        super::warn(global, &answer.warnings());
        output::print_json(&json)?;
    } else {
        output::print(&answer.text())?;
    }
    super::answered(answer.refused())
}

/// The pooled draws of a file.
pub(super) struct Draws {
    source: String,
    pub(super) names: Vec<String>,
    /// Columns beside those of the states, by name.
    pub(super) others: Vec<(String, Vec<f64>)>,
    columns: Vec<Vec<f64>>,
    origin: Vec<usize>,
    chains: Option<Vec<usize>>,
}

impl Draws {
    fn read(arguments: &LogzArguments) -> Outcome<Self> {
        let own = &arguments.many;
        let path = arguments
            .data
            .as_deref()
            .ok_or_else(|| Failure::Usage("give the file with the draws before --states".into()))?;
        let asked = own.states.as_deref().unwrap_or_default();
        let mut options = inputs::reading().minus_infinity(true);
        if let Some(format) = &arguments.format {
            let format: Format =
                format.parse().map_err(|error| Failure::Usage(format!("--format: {error}")))?;
            options = options.format(format);
        }
        let names = state_names(path, asked, &options)?;
        let state_column = own.state_column.as_deref().unwrap_or("state");
        let mut wanted = names.clone();
        if own.counts.is_none() {
            wanted.push(state_column.to_owned());
        }
        let others = super::reweighted::columns(own);
        wanted.extend(others.iter().filter(|name| !names.contains(name)).cloned());
        wanted.extend(arguments.chain.clone());
        options.labels.clone_from(&arguments.chain);
        let table = noisewright_data::read(path, &options.columns(&wanted))
            .map_err(|error| Failure::of_draws(&error))?;
        let source = table.source().to_owned();
        let origin = match &own.counts {
            Some(counts) => from_counts(counts, names.len(), table.rows())?,
            None => from_column(&table, state_column, &names, asked)?,
        };
        let chains = match &arguments.chain {
            Some(column) => Some(labels(table.column(column)?)),
            None => table.chains().map(chain_labels),
        };
        let other = |name: &String| Ok((name.clone(), table.column(name)?.to_vec()));
        let others = others.iter().map(other).collect::<Outcome<Vec<_>>>()?;
        let mut columns = table.into_columns();
        columns.truncate(names.len());
        Ok(Self { source, names, others, columns, origin, chains })
    }

    /// The state that all others are relative to.
    fn reference(&self, own: &StatesArguments) -> Outcome<usize> {
        self.state("--reference", own.reference.as_deref())
    }

    /// A state by its name, the first by default.
    pub(super) fn state(&self, option: &str, name: Option<&str>) -> Outcome<usize> {
        let Some(name) = name else { return Ok(0) };
        self.names.iter().position(|known| known == name).ok_or_else(|| {
            Failure::Usage(format!("{option}: `{name}` is none of the states {}", self.names.join(", ")))
        })
    }

    /// An error with the file and the column that it is about.
    pub(super) fn named(&self, error: Error) -> Failure {
        let sentence = match &error {
            Error::StateValue { state, row, value } => format!(
                "{}: row {row}, column `{}` is {value}; it must be a log-density, or -inf where the density is zero",
                self.source,
                self.names[state - 1]
            ),
            Error::StateOwnDraw { state, row } => format!(
                "{}: row {row} is said to come from state `{}`, which has density zero there; check the states of the \
                 draws",
                self.source,
                self.names[state - 1]
            ),
            _ => return Failure::from(error).in_file(&self.source),
        };
        Failure::NoAnswer(sentence)
    }
}

/// The columns that are states: a comma-separated list, each a name or a pattern with one `*`.
fn state_names(path: &Path, asked: &str, options: &noisewright_data::Options) -> Outcome<Vec<String>> {
    let parts: Vec<&str> = asked.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Err(Failure::Usage(
            "--states: name the columns with the states' log-densities, such as u_*".into(),
        ));
    }
    if parts.iter().all(|part| !part.contains('*')) {
        return Ok(parts.iter().map(|part| (*part).to_owned()).collect());
    }
    if path == Path::new("-") {
        return Err(Failure::Usage(
            "--states: list the columns by name to read them from standard input".into(),
        ));
    }
    let stream = Stream::open(path, options)?;
    let mut names = Vec::new();
    for part in parts {
        let pattern = Wildcard::new(part);
        let before = names.len();
        names.extend(stream.names().iter().filter(|name| pattern.matches(name)).cloned());
        if names.len() == before {
            let known = stream.names().join(", ");
            return Err(Failure::Usage(format!(
                "--states: no column is like `{part}`; the columns are {known}"
            )));
        }
    }
    Ok(names)
}

/// `100,200,0`: draws that stand state after state.
fn from_counts(text: &str, states: usize, rows: usize) -> Outcome<Vec<usize>> {
    let wrong = |reason: String| Failure::Usage(format!("--counts: {reason}"));
    let counts: Vec<usize> = text
        .split(',')
        .map(|part| {
            part.trim().parse().map_err(|_| wrong(format!("`{}` is not a number of draws", part.trim())))
        })
        .collect::<Outcome<_>>()?;
    if counts.len() != states {
        return Err(wrong(format!("{} numbers are given for {states} states", counts.len())));
    }
    let total: usize = counts.iter().sum();
    if total != rows {
        return Err(wrong(format!("they add up to {total}, but the file has {rows} rows")));
    }
    Ok(counts.iter().enumerate().flat_map(|(state, count)| std::iter::repeat_n(state, *count)).collect())
}

/// The states of the draws from a column: by what `*` stands for in the columns' names where these are numbers, by
/// their place in the list, from 1, otherwise.
fn from_column(table: &Data, column: &str, names: &[String], asked: &str) -> Outcome<Vec<usize>> {
    let pattern = Wildcard::new(asked);
    let numbered: Option<Vec<f64>> = names.iter().map(|name| pattern.part(name)?.parse().ok()).collect();
    let keys = numbered.unwrap_or_else(|| (1..=names.len()).map(|k| k as f64).collect());
    let values = table.column(column)?;
    let mut origin = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        let Some(state) = keys.iter().position(|key| key == value) else {
            let list: Vec<String> = keys.iter().take(12).map(ToString::to_string).collect();
            return Err(Failure::NoAnswer(format!(
                "{}: row {} has `{column}` = {value}, which is none of the states {}{}",
                table.source(),
                row + 1,
                list.join(", "),
                if keys.len() > 12 { ", …" } else { "" }
            )));
        };
        origin.push(state);
    }
    Ok(origin)
}

/// Labels of chains as indices.
fn labels(column: &[f64]) -> Vec<usize> {
    let mut known: Vec<f64> = Vec::new();
    let index = |known: &mut Vec<f64>, label: f64| {
        known.iter().rposition(|k| *k == label).unwrap_or_else(|| {
            known.push(label);
            known.len() - 1
        })
    };
    column.iter().map(|label| index(&mut known, *label)).collect()
}

/// Labels from the lengths of chains that stand one after the other.
fn chain_labels(lengths: &[usize]) -> Vec<usize> {
    lengths.iter().enumerate().flat_map(|(label, length)| std::iter::repeat_n(label, *length)).collect()
}

impl Answer<'_> {
    fn warnings(&self) -> Vec<String> {
        let own = self.result.warnings().iter().map(|warning| warning.sentence(self.names));
        let mut all: Vec<String> = own.collect();
        all.extend(
            self.more.warnings(self.names).into_iter().filter(|more| !all.contains(more)).collect::<Vec<_>>(),
        );
        all
    }

    /// Why there is no answer, if no ratio at all has a finite error.
    fn refused(&self) -> Option<&'static str> {
        let alone = self.names.len() > 1 && self.result.groups().len() == self.names.len();
        alone.then_some("no two states overlap enough for their ratio to be known")
    }

    fn json(&self) -> Outcome<Value> {
        let mut value = output::value(&self.result.with_names(self.names))?;
        value.set("dependence", super::dependence(self.dependence));
        self.more.add_to(&mut value, self.names)?;
        Ok(value)
    }

    fn text(&self) -> String {
        let more: String =
            self.more.tables(self.names).iter().map(|table| output::table(table) + "\n").collect();
        output::table_and_sentences(&self.table(), self.sentences()) + &more
    }

    fn table(&self) -> Table {
        states_table(self.result, self.names, &format!("{}; ", self.source))
    }

    fn sentences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.result.groups().len() == 1 {
            lines.push("All states hang together: every ratio has a finite error.".to_owned());
        }
        lines.extend(self.warnings().into_iter().map(|warning| format!("Warning: {warning}.")));
        lines
    }

    fn page(&self) -> Page {
        let mut section = Section::new("The constants").cards([
            Card::new("states", self.names.len().to_string()),
            Card::new("draws", self.counts.iter().sum::<usize>().to_string()),
            Card::new("groups", self.result.groups().len().to_string()).note("one is what one wants"),
        ]);
        for warning in self.warnings() {
            section = section.warning(warning);
        }
        let pictures = Section::new("Pictures")
            .figure(
                overlap_figure(self.result, self.names),
                "The overlap: how the draws, as the state of a row weighs them, divide among the states of the columns. \
                 Blocks that hardly touch say little of each other.",
            )
            .figure(
                self.constants_figure(),
                "log Z of every state relative to the reference, with two standard errors where they are finite.",
            );
        let page = Page::new("Normalizing constants of many states")
            .subtitle(self.source)
            .section(section.table(self.table()))
            .section(pictures);
        self.more.sections(self.names).into_iter().fold(page, Page::section)
    }

    fn constants_figure(&self) -> Figure {
        let (log_z, se) = (self.result.log_z(), self.result.se());
        let known: Vec<usize> =
            (0..log_z.len()).filter(|k| log_z[*k].is_finite() && se[*k].is_finite()).collect();
        let ends = known.iter().map(|k| (log_z[*k] - 2.0 * se[*k], log_z[*k] + 2.0 * se[*k]));
        let points = known.iter().map(|k| ((k + 1) as f64, log_z[*k]));
        let panel =
            Panel::new(Axis::linear("state").range(0.5, log_z.len() as f64 + 0.5), Axis::linear("log Z"))
                .with(Points::new("", points).y_errors(ends));
        Figure::from(panel)
    }
}

/// The overlap matrix as a heat map, the first state at the top left.
pub(super) fn overlap_figure(result: &StatesEstimate, names: &[String]) -> Figure {
    let states = names.len();
    let edges: Vec<f64> = (0..=states).map(|k| k as f64 + 0.5).collect();
    let overlap = result.overlap();
    let values = (0..states).rev().flat_map(|i| (0..states).map(move |j| overlap[(i, j)])).collect();
    let skip = states.div_ceil(12);
    let label = |k: usize| if states <= 60 { names[k].clone() } else { (k + 1).to_string() };
    let ticks: Vec<(f64, String)> = (0..states).step_by(skip).map(|k| ((k + 1) as f64, label(k))).collect();
    let down: Vec<(f64, String)> =
        (0..states).step_by(skip).map(|k| ((states - k) as f64, label(k))).collect();
    let panel =
        Panel::new(Axis::linear("draws of state").ticks(ticks), Axis::linear("as seen by state").ticks(down))
            .with(HeatMap::new(edges.clone(), edges, values).scale_label("share").range(0.0, 1.0));
    Figure::from(panel).description(format!("Overlap matrix of {} states", format_number(states as f64, 6)))
}
