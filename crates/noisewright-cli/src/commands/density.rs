//! `noisewright density`: the fitted log-density at new points, with standard errors.

use noisewright::after::LogDensity;
use noisewright_data::write;
use noisewright_report::Value;

use super::saved;
use crate::arguments::{DataArguments, DensityArguments, Global};
use crate::failure::Outcome;
use crate::{inputs, output};

pub(crate) fn run(arguments: &DensityArguments, global: &Global) -> Outcome<()> {
    global.refuse_page("density")?;
    let record = saved::read(&arguments.fit)?;
    let model = record.model()?;
    for column in COLUMNS {
        output::refuse_column(&record.variables, column.0)?;
    }
    let data = DataArguments {
        data: Some(arguments.points.clone()),
        format: arguments.format.clone(),
        drop_missing: arguments.drop_missing,
    };
    let Some(points) = inputs::read_data(&data, model.space())? else { return Ok(()) };
    let there = record.log_density(&model, points.view())?;
    let mut names = record.variables.clone();
    let mut columns: Vec<Vec<f64>> =
        (0..points.columns()).map(|j| points.view().column(j).to_vec()).collect();
    for (name, part) in COLUMNS {
        names.push(name.into());
        columns.push(there.iter().map(part).collect());
    }
    if let Some(path) = &arguments.out {
        write(path, &names, &columns)?;
    } else if !global.json {
        write("-", &names, &columns)?;
    }
    if !global.json {
        return Ok(());
    }
    let mut value = Value::Map(Vec::new());
    value.set("rows", there.len());
    let numbers = names.into_iter().zip(columns.into_iter().map(Value::Numbers));
    value.set("points", Value::Map(numbers.collect()));
    output::print_json(&value)
}

/// A column's name, and its number at a point.
type Column = (&'static str, fn(&LogDensity) -> f64);

/// The columns beside the variables.
const COLUMNS: [Column; 4] = [
    ("log_density", |there| there.value),
    ("se", |there| there.se),
    ("lower", |there| there.lower),
    ("upper", |there| there.upper),
];
