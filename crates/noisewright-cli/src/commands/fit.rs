//! `noisewright fit`: estimates with standard errors, from data and noise.

mod after;
mod choices;
pub(super) mod json;
mod page;
mod penalty_path;
mod plan;
pub(super) mod show;

use std::path::Path;

use noisewright::fit;
use noisewright::internal;
use noisewright::internal::show::fitted_log_z;
use noisewright::{Fit, Model, Points, View};
use noisewright_data::write;

use crate::arguments::{FitArguments, Global};
use crate::failure::{Failure, Outcome};
use crate::inputs::{self, Problem};
use crate::output;
use crate::progress::Progress;
use crate::rows::Rows;
use crate::streamed::{Streamed, Thinned};
use crate::workers::Processes;

use self::after::After;
pub(crate) use self::plan::Plan;
use super::block::SharedRows;
use super::saved::{self, is_fit_file};

/// A fit, and what it was made of.
struct Answer {
    /// The model file's name and text, the model, and some or all of the data.
    problem: Problem,
    fit: Fit,
    /// The data files, in words.
    data: String,
    /// Weights of the rows in `problem`.
    weights: Option<Vec<f64>>,
    /// What is known of the rows' dependence, in words.
    dependence: Option<String>,
    dropped: usize,
    /// Passes over the file, for data that were streamed.
    passes: Option<usize>,
    seed: u64,
}

pub(crate) fn run(arguments: &FitArguments, global: &Global) -> Outcome<()> {
    let plan = Plan::new(arguments, global)?;
    let problem = inputs::model_problem(&arguments.model, arguments.start.as_deref(), global)?;
    if table_file(arguments)?.is_some() {
        output::refuse_column(problem.model.space().names(), "log_density")?;
    }
    let progress = Progress::new(problem.quiet, "reading the data");
    let answer = if arguments.choices.strata.is_some() {
        choices::fit(arguments, &plan, problem, &progress)?
    } else if let Some(count) = arguments.workers {
        shared(arguments, count, &plan, problem, &progress)?
    } else if arguments.stream {
        streamed(arguments, &plan, problem, &progress)?
    } else {
        whole(arguments, &plan, problem, &progress)?
    };
    drop(progress);
    answer.refuse_no_answer()?;
    let after = After::new(&answer.fit, &arguments.after)?;
    if let Some(path) = table_file(arguments)? {
        answer.write_fitted(path)?;
    }
    let mut json = json::object(&answer, arguments.matrices)?;
    after.write(&mut json)?;
    if let Some(path) = arguments.out.as_deref().filter(|path| is_fit_file(path)) {
        saved::write(path, &answer.fit.record(Some(&answer.problem.text))?, &json)?;
    }
    output::write_report(global, || page::page(&answer), &json)?;
    if global.json {
        output::print_json(&json)
    } else {
        output::print(&(show::text(&answer) + &after.text(answer.fit.confidence)))
    }
}

/// The file that the rows are to be written to, if it is not one for the fit.
fn table_file(arguments: &FitArguments) -> Outcome<Option<&Path>> {
    let table = arguments.out.as_deref().filter(|path| !is_fit_file(path));
    if table.is_some() && (arguments.stream || arguments.workers.is_some()) {
        return Err(Failure::Usage(
            "--out writes rows, and with --stream and --workers they are not in memory: give it a name that ends in .json to save the fit"
                .into(),
        ));
    }
    Ok(table)
}

/// All rows in memory.
fn whole(
    arguments: &FitArguments,
    plan: &Plan,
    mut problem: Problem,
    progress: &Progress,
) -> Outcome<Answer> {
    let rows = Rows::read(&arguments.data, problem.model.space(), &arguments.rows)?;
    problem.data = Some(rows.points.clone());
    let options = plan.options(&problem.model, progress)?;
    let fit = internal::fit::fit(&problem.model, rows.data(), &options)
        .map_err(|error| plan.failure(&problem.model, error).unwrap_or_else(|error| rows.failure(error)))?;
    Ok(Answer {
        problem,
        fit,
        data: rows.files.join(", "),
        dependence: rows.dependence(),
        dropped: rows.dropped,
        weights: rows.weights,
        passes: None,
        seed: options.seed,
    })
}

/// Rows that are read again at each pass.
fn streamed(
    arguments: &FitArguments,
    plan: &Plan,
    mut problem: Problem,
    progress: &Progress,
) -> Outcome<Answer> {
    let [path] = arguments.data.as_slice() else {
        return Err(Failure::Usage("--stream takes one data file".into()));
    };
    let source = Streamed::open(path, problem.model.space(), &arguments.rows)?;
    let options = plan.options(&problem.model, progress)?;
    let fit = fit::fit_stream(&problem.model, &source, &options)
        .map_err(|error| plan.failure(&problem.model, error).unwrap_or_else(|error| source.failure(error)))?;
    let Thinned { points, weights, dropped } = source.thinned()?;
    problem.data = Some(points);
    Ok(Answer {
        problem,
        fit,
        data: source.file().to_owned(),
        weights,
        dependence: clusters(arguments),
        dropped,
        passes: Some(source.passes()),
        seed: options.seed,
    })
}

/// Rows that worker processes read and sum over.
fn shared(
    arguments: &FitArguments,
    count: usize,
    plan: &Plan,
    mut problem: Problem,
    progress: &Progress,
) -> Outcome<Answer> {
    if count == 0 {
        return Err(Failure::Usage("--workers must be at least 1".into()));
    }
    let space = problem.model.space();
    let rows = SharedRows::open(&arguments.data, space, &arguments.rows)?;
    let (points, weights) = rows.thinned(space)?;
    let workers = Processes::new(rows, count, arguments.worker_command.as_deref())?;
    let options = plan.options(&problem.model, progress)?;
    let fit = fit::fit_distributed(&problem.model, &workers, &options).map_err(|error| {
        plan.failure(&problem.model, error).unwrap_or_else(|error| workers.failure(error))
    })?;
    problem.data = Some(points);
    Ok(Answer {
        problem,
        fit,
        data: workers.files(),
        weights,
        dependence: clusters(arguments),
        dropped: 0,
        passes: Some(workers.passes()),
        seed: options.seed,
    })
}

/// How rows that are not in memory depend on one another, in words.
fn clusters(arguments: &FitArguments) -> Option<String> {
    arguments.rows.cluster.as_ref().map(|name| format!("clusters by {name}"))
}

impl Answer {
    /// The model with all its parameters, as the fit has them.
    fn model(&self) -> &Model {
        self.problem.model.whole()
    }

    /// The data, or a part of them spread evenly where they were streamed.
    fn points(&self) -> Option<&Points> {
        self.problem.data.as_ref()
    }

    /// Estimates that are no answer are not shown.
    fn refuse_no_answer(&self) -> Outcome<()> {
        match self.fit.diagnostics.no_answer() {
            Some(warning) => Err(Failure::NoAnswer(warning.in_words(&output::typed))),
            None => Ok(()),
        }
    }

    /// The log-density of every row; nothing where the constant is not known.
    fn fitted_log_density(&self, points: &Points) -> Outcome<Option<Vec<f64>>> {
        if self.model().is_conditional() {
            let there = self.fit.log_density(self.model(), points)?;
            return Ok(Some(there.iter().map(|there| there.value).collect()));
        }
        let Some(log_z) = self.log_z() else { return Ok(None) };
        log_density(self.model(), &self.fit.theta(), log_z, points.view()).map(Some)
    }

    /// log Z at the estimate: fitted, or known; one for every value of covariates is none.
    fn log_z(&self) -> Option<f64> {
        fitted_log_z(&self.fit, self.model())
    }

    /// Writes the rows with their log-density.
    fn write_fitted(&self, path: &Path) -> Outcome<()> {
        let Some(points) = self.points() else { return Ok(()) };
        let Some(fitted) = self.fitted_log_density(points)? else { return Ok(()) };
        let mut names = points.names().to_vec();
        let mut columns: Vec<Vec<f64>> =
            (0..points.columns()).map(|j| points.view().column(j).to_vec()).collect();
        names.push("log_density".into());
        columns.push(fitted);
        write(path, &names, &columns).map_err(Failure::from)
    }
}

fn log_density(model: &Model, theta: &[f64], log_z: f64, points: View<'_>) -> Outcome<Vec<f64>> {
    let mut out = vec![0.0; points.rows()];
    model.evaluate(theta, points, &mut out, None)?;
    out.iter_mut().for_each(|u| *u -= log_z);
    Ok(out)
}
