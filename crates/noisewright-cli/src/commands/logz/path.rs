//! `noisewright logz --path`: log Z of a model by bridges from a noise, sampled by Markov chains.

use std::sync::Arc;

use noisewright::internal::normalizer::fit_noise;
use noisewright::internal::show::{path_sentences, path_table};
use noisewright::normalizer::PathEstimate;
use noisewright::parts::PathOptions;
use noisewright::run::Context;
use noisewright::{ModelDensity, Noise, Precision, Target};
use noisewright_report::{
    Axis, Card, Figure, Line, Page, Panel, Points, Reference, Section, Table, format_number,
};

use super::states::overlap_figure;
use crate::arguments::{DataArguments, Global, LogzArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs::Problem;
use crate::noises::{self, Purpose};
use crate::output;
use crate::progress::Progress;

/// Everything the command shows.
struct Answer<'a> {
    problem: &'a Problem,
    result: &'a PathEstimate,
}

pub(super) fn run(arguments: &LogzArguments, global: &Global) -> Outcome<()> {
    let model = arguments.model.as_deref().ok_or_else(|| {
        Failure::Usage("--path needs the model whose constant it is to find: give --model FILE".into())
    })?;
    let nothing = DataArguments { data: None, format: None, drop_missing: false };
    let precision = Precision { seed: global.seed, ..Precision::default() };
    let problem = Problem::new(model, arguments.at.as_deref(), &nothing, precision, global)?;
    let options = options(arguments, global)?;
    let progress = Progress::new(global.quiet || global.json, "going the path from the noise to the model");
    let density = ModelDensity::new(&problem.model, &problem.parameters)?;
    let noise = noise(arguments, &problem, &density, &options)?;
    let result = noisewright::path(noise, &density).options(options.clone()).run()?;
    drop(progress);
    let answer = Answer { problem: &problem, result: &result };
    let json = output::value(&result)?;
    output::write_report(global, || answer.page(), &json)?;
    if global.json {
        super::warn(global, &answer.warnings());
        output::print_json(&json)?;
    } else {
        output::print(&answer.text())?;
    }
    super::answered(answer.refused())
}

fn options(arguments: &LogzArguments, global: &Global) -> Outcome<PathOptions> {
    let own = &arguments.bridges;
    let default = PathOptions::default();
    Ok(PathOptions {
        states: own.path_states,
        draws: arguments.draws.unwrap_or(default.draws),
        chains: own.chains.unwrap_or(default.chains),
        warm_up: own.warm_up.unwrap_or(default.warm_up),
        thin: own.thin.unwrap_or(default.thin),
        moves: own.moves.as_deref().map_or(Ok(default.moves), str::parse)?,
        confidence: arguments.confidence.unwrap_or(default.confidence),
        seed: global.seed,
        ..default
    })
}

/// The noise in words; without any it is fitted to chains of the model itself.
fn noise(
    arguments: &LogzArguments,
    problem: &Problem,
    density: &ModelDensity<'_>,
    options: &PathOptions,
) -> Outcome<Arc<dyn Noise>> {
    match arguments.noise.as_deref() {
        Some(words) if words.trim() != "auto" => {
            noises::build(problem, words, Purpose { nu: 1.0, target: &Target::Mse })
        }
        _ => Ok(fit_noise(density, options.moves, &Context::seeded(options.seed))?),
    }
}

impl Answer<'_> {
    fn warnings(&self) -> Vec<String> {
        self.result.sentences()
    }

    /// Why there is no answer, if there is none.
    fn refused(&self) -> Option<String> {
        self.result.refused().map(|(_, sentence)| sentence)
    }

    fn text(&self) -> String {
        output::table_and_sentences(&self.table(), self.sentences())
    }

    fn table(&self) -> Table {
        path_table(self.result).note(format!("model {}", self.problem.title()))
    }

    fn sentences(&self) -> Vec<String> {
        path_sentences(self.result)
    }

    fn page(&self) -> Page {
        let result = self.result;
        let mut section = Section::new("The estimate").cards([
            Card::new("log Z", format_number(result.log_z, 7)),
            Card::new("standard error", format_number(result.se, 3)),
            Card::new("states", result.nodes.len().to_string()).note(format!("{} draws each", result.draws)),
            Card::new("round trips", result.round_trips.to_string())
                .note("from the noise to the model and back"),
        ]);
        for warning in self.warnings() {
            section = section.warning(warning);
        }
        let names: Vec<String> = result.nodes.iter().map(|node| format_number(node.t, 3)).collect();
        let pictures = Section::new("Pictures")
            .figure(
                self.path_figure(),
                "log Z of every bridge (1 − t) log p_n + t log f on the way from the noise to the model, with two standard \
                 errors; below, the error of each step, which the places of the bridges are chosen to equalise.",
            )
            .figure(
                self.trace_figure(),
                "log Z by the first draws of each chain of all bridges: lines that come together and stay there are chains that \
                 agree; one that drifts, or stays apart from the others, asks for more draws.",
            )
            .figure(
                overlap_figure(&result.states, &names),
                "The overlap of the bridges: a band along the diagonal without gaps is what a path needs.",
            );
        Page::new("A normalizing constant by a path")
            .subtitle(self.problem.title())
            .section(section.table(self.table()))
            .section(pictures)
    }

    /// What every chain says as it goes on.
    fn trace_figure(&self) -> Figure {
        let trace = &self.result.trace;
        let mut panel = Panel::new(Axis::linear("draws of the chain").include(0.0), Axis::linear("log Z"));
        for points in trace.chunk_by(|a, b| a.chain == b.chain) {
            let line = points.iter().map(|point| (point.draws as f64, point.log_z));
            panel = panel.with(Line::new(format!("chain {}", points[0].chain), line));
        }
        Figure::from(panel.with(Reference::horizontal(self.result.log_z, "all chains")))
    }

    fn path_figure(&self) -> Figure {
        let nodes = self.result.nodes.iter().filter(|node| node.se.is_finite());
        let places = nodes.clone().map(|node| (node.t, node.log_z));
        let ends = nodes.clone().map(|node| (node.log_z - 2.0 * node.se, node.log_z + 2.0 * node.se));
        let steps = nodes.skip(1).filter(|node| node.step_se.is_finite()).map(|node| (node.t, node.step_se));
        let top =
            Panel::new(Axis::linear("t"), Axis::linear("log Z")).with(Points::new("", places).y_errors(ends));
        let bottom = Panel::new(Axis::linear("t"), Axis::linear("error of the step").include(0.0))
            .with(Points::new("", steps));
        Figure::new().panel(top).panel(bottom).columns(1)
    }
}
