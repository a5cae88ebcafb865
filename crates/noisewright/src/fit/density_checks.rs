//! Rows of data at which a model has no density, or an infinite one: no parameters fit them.

use noisewright_numerics::kernels::all_finite;

use super::data::Data;
use super::data_rows::DataRows;
use super::sample_blocks::CHUNK;
use crate::text::number;
use crate::{Error, Model, Result, View};

/// Refuses the first row at which the statistics of a linear model are not finite, which its parameters cannot change; `before`
/// rows came before these. Of another model, other parameters may give the row a density.
///
/// # Errors
/// [`Error::DataWithoutDensity`].
pub(crate) fn check_statistics(model: &Model, data: Data<'_>, before: usize) -> Result<()> {
    // At zero whatever multiplies an infinite statistic shows: the product is no number.
    let zero = vec![0.0; model.parameters().len()];
    if model.energy().is_linear() { check(model, &zero, data, before, true) } else { Ok(()) }
}

/// Refuses the first row that the fitted model gives no density, or an infinite one.
///
/// # Errors
/// [`Error::DataWithoutDensity`].
pub(crate) fn check_fitted(model: &Model, theta: &[f64], rows: DataRows<'_>) -> Result<()> {
    if model.energy().is_linear() {
        return Ok(());
    }
    let block = |before: usize, points: View<'_>, weights: Option<&[f64]>| {
        check(model, theta, Data { weights, ..Data::new(points) }, before, false)
    };
    rows.reduce(block, |(), ()| ()).map(Option::unwrap_or_default)
}

/// An error about a row without density with the values of that row; any other as it is.
pub(crate) fn with_values(model: &Model, rows: DataRows<'_>, error: Error) -> Error {
    let Error::NoDensity { row } = error else { return error };
    let block = |before: usize, points: View<'_>, _: Option<&[f64]>| {
        let here = row > before && row <= before + points.rows();
        Ok(here.then(|| values(model, Data::new(points), row - before - 1)))
    };
    match rows.reduce(block, Option::or) {
        Ok(Some(Some(point))) => Error::DataWithoutDensity { row, point },
        _ => error,
    }
}

/// `x = 1, y = 2` of a row.
fn values(model: &Model, data: Data<'_>, row: usize) -> String {
    let names = model.space().names().iter().enumerate();
    let each = names.map(|(j, name)| format!("`{name}` = {}", number(data.points.get(row, j))));
    each.collect::<Vec<_>>().join(", ")
}

fn check(model: &Model, theta: &[f64], data: Data<'_>, before: usize, statistics: bool) -> Result<()> {
    let rows = data.points.rows();
    let counts = |row: usize| data.weights.is_none_or(|w| w[row] > 0.0);
    for start in (0..rows).step_by(CHUNK) {
        let part = start..rows.min(start + CHUNK);
        if is_sound(model, theta, data.points.slice(part.clone()), statistics) {
            continue;
        }
        let bad = |row: &usize| {
            counts(*row) && !is_sound(model, theta, data.points.slice(*row..row + 1), statistics)
        };
        if let Some(row) = part.clone().find(bad) {
            return Err(Error::DataWithoutDensity { row: before + row + 1, point: values(model, data, row) });
        }
    }
    Ok(())
}

/// Whether the log-density, and where asked for the statistics, are finite at all points.
fn is_sound(model: &Model, theta: &[f64], points: View<'_>, statistics: bool) -> bool {
    let mut value = vec![0.0; points.rows()];
    let mut score = vec![0.0; if statistics { points.rows() * theta.len() } else { 0 }];
    match model.evaluate(theta, points, &mut value, statistics.then_some(&mut score[..])) {
        Ok(()) => all_finite(&value) && all_finite(&score),
        // A parameter that is not allowed is refused where it is set.
        Err(error) => !matches!(error, Error::NotANumber { .. }),
    }
}
