//! `noisewright simulate`: draws of a fitted model, with their log-density, and a page that holds them against data.

mod goodness;

use noisewright::after::FitRecord;
use noisewright::internal::check_count;
use noisewright::parts::Simulated;
use noisewright::run::{CancelToken, Context};
use noisewright::{Model, Points, Space};
use noisewright_data::write;
use noisewright_report::Value;

use super::saved;
use crate::arguments::{DataArguments, Global, SimulateArguments};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{inputs, output};

pub(crate) fn run(arguments: &SimulateArguments, global: &Global) -> Outcome<()> {
    if arguments.data.is_none() && global.report.is_some() {
        return Err(Failure::Usage(
            "--report shows data against the draws: give the data with --data FILE, or leave out --report"
                .into(),
        ));
    }
    if arguments.count == 0 {
        return Err(Failure::Usage("N must be at least 1".into()));
    }
    let record = saved::read(&arguments.fit)?;
    let model = record.model()?;
    output::refuse_column(&record.variables, "log_density")?;
    check_count("draws", arguments.count, 2 * (record.variables.len() + 1)).map_err(Failure::of_count)?;
    let drawn = draw(&record, &model, arguments, global)?;
    let data = inputs::read_data(&arguments.compared(), model.space())?;
    let (points, mut names) = (drawn.points.view(), record.variables.clone());
    let mut columns: Vec<Vec<f64>> = (0..points.columns()).map(|j| points.column(j).to_vec()).collect();
    names.push("log_density".into());
    columns.push(record.log_density(&model, points)?.iter().map(|there| there.value).collect());
    if let Some(path) = &arguments.out {
        write(path, &names, &columns)?;
    } else if !global.json {
        write("-", &names, &columns)?;
    }
    let goodness = data.as_ref().map(|data| goodness::Goodness {
        title: arguments.fit.display().to_string(),
        names: &record.variables,
        domains: model.space().domains(),
        data: data.view(),
        draws: drawn.points.view(),
        effective: drawn.effective,
    });
    let mut value = Value::Map(Vec::new());
    value.set("rows", points.rows());
    value.set("how", output::value(&drawn.how)?);
    value.set("effective", drawn.effective);
    if let Some(goodness) = &goodness {
        value.set("goodness", goodness.value());
        output::write_report(global, || goodness.page(), &value)?;
    }
    if !global.json {
        return Ok(());
    }
    match &arguments.out {
        Some(path) => value.set("out", path.display().to_string()),
        None => {
            let numbers = names.into_iter().zip(columns.into_iter().map(Value::Numbers));
            value.set("draws", Value::Map(numbers.collect()));
        }
    }
    output::print_json(&value)
}

/// The draws, at every value of the covariates where there are some.
fn draw(
    record: &FitRecord,
    model: &Model,
    arguments: &SimulateArguments,
    global: &Global,
) -> Outcome<Simulated> {
    let _progress = Progress::new(global.quiet || global.json, "drawing");
    let context = Context::new(global.seed, &CancelToken::new(), None);
    let Some(given) = given(arguments, model)? else {
        return Ok(record.simulate(model, arguments.count, &context)?);
    };
    let draws = arguments.count.saturating_mul(given.rows());
    check_count("draws", draws, 2 * (record.variables.len() + 1)).map_err(Failure::of_count)?;
    Ok(record.simulate_given(model, given.view(), arguments.count, &context)?)
}

/// The covariates that draws are asked for at: none for a model without.
fn given(arguments: &SimulateArguments, model: &Model) -> Outcome<Option<Points>> {
    let covariates = model.covariates();
    match &arguments.given {
        None if covariates.is_empty() => Ok(None),
        None => Err(Failure::Usage(format!(
            "the fit is of a density given {}: name a file of them with --given",
            covariates.join(", ")
        ))),
        Some(_) if covariates.is_empty() => {
            Err(Failure::Usage("--given is for models with covariates, which this fit's has not".into()))
        }
        Some(path) => {
            let data = DataArguments { data: Some(path.clone()), format: None, drop_missing: false };
            inputs::read_data(&data, &Space::real(covariates)?)
        }
    }
}
