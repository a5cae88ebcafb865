//! `noisewright density`: the fitted log-density at new points, with standard errors.

use std::collections::HashMap;

use noisewright::after::FitRecord;
use noisewright::parts::LogDensity;
use noisewright::{Model, View};
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
    if model.is_conditional() {
        for (name, column) in GIVEN_COLUMNS.iter().zip(constants(&record, &model, points.view())?) {
            output::refuse_column(&record.variables, name)?;
            names.push((*name).into());
            columns.push(column);
        }
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

/// The columns beside those for a conditional model.
const GIVEN_COLUMNS: [&str; 2] = ["log_normalizer", "log_normalizer_se"];

/// log Z at the covariates of every point, with its error.
fn constants(record: &FitRecord, model: &Model, points: View<'_>) -> Outcome<[Vec<f64>; 2]> {
    let (mut known, mut columns) = (HashMap::new(), [Vec::new(), Vec::new()]);
    let first = model.space().dimension() - model.covariates().len();
    for row in 0..points.rows() {
        let given: Vec<f64> = (first..points.columns()).map(|j| points.get(row, j)).collect();
        let key: Vec<u64> = given.iter().map(|z| z.to_bits()).collect();
        let (value, se) = match known.get(&key) {
            Some(known) => *known,
            None => {
                let there = record.log_normalizer_at(model, &given)?;
                known.insert(key, (there.estimate, there.se));
                (there.estimate, there.se)
            }
        };
        columns[0].push(value);
        columns[1].push(se);
    }
    Ok(columns)
}
