//! Whether one model is contained in another, found out at points.

use std::collections::HashSet;

use nalgebra::{DMatrix, DVector};

use super::record::FitRecord;
use crate::{Model, Points, Result};

/// Share of a column that may be left beside its combination of others where it is one.
const ROUNDING: f64 = 1e-8;

/// Values that the parameters which the smaller model lacks are tried at, and most of them.
const TRIED: [f64; 2] = [0.0, 1.0];
const MOST_LACKING: usize = 6;

/// Moves of the smaller model's parameters at which the two must agree, in standard errors.
const MOVES: [f64; 3] = [0.0, 0.7, -1.3];

/// Whether every density of the smaller model is one of the larger, as far as the rows kept with the fits can tell.
///
/// For linear models: whether the smaller one's features, and the difference of the offsets, are combinations of the larger
/// one's features and a constant. Otherwise: whether the larger model with those parameters that only it has at 0, 1 or
/// their start values is the smaller one up to a constant.
pub(super) fn is_nested(small: (&FitRecord, &Model), large: (&FitRecord, &Model)) -> Result<bool> {
    let (inner, outer) = (small.1, large.1);
    if inner.space() != outer.space() || large.0.free_parameters < outer.parameters().len() {
        return Ok(false);
    }
    let points = Points::from_columns(&small.0.variables, &small.0.some_rows)?;
    if inner.energy().is_linear() && outer.energy().is_linear() {
        return in_span(inner, outer, &points);
    }
    by_names(small, outer, &points)
}

/// The energy at zero parameters and the features at points.
fn offset_and_features(model: &Model, points: &Points) -> Result<(DVector<f64>, DMatrix<f64>)> {
    let (rows, count) = (points.rows(), model.parameters().len());
    let zero = vec![0.0; count];
    let (mut offset, mut features) = (vec![0.0; rows], vec![0.0; rows * count]);
    model.evaluate(&zero, points.view(), &mut offset, Some(&mut features))?;
    Ok((DVector::from_vec(offset), DMatrix::from_vec(rows, count, features)))
}

fn in_span(inner: &Model, outer: &Model, points: &Points) -> Result<bool> {
    let (inner_offset, inner_features) = offset_and_features(inner, points)?;
    let (outer_offset, outer_features) = offset_and_features(outer, points)?;
    // At as many different points as there are columns anything is a combination, unless they are all that there are.
    let seen = distinct(points);
    if seen < 2 * (outer_features.ncols() + 1) && inner.space().state_count() != Some(seen as u64) {
        return Ok(false);
    }
    let mut base = outer_features.insert_column(0, 1.0);
    base.column_iter_mut().for_each(|mut column| {
        let size = column.norm();
        if size > 0.0 {
            column /= size;
        }
    });
    let decomposition = base.clone().svd(true, true);
    let target = inner_features.insert_column(0, 0.0);
    let mut target = target;
    target.set_column(0, &(inner_offset - outer_offset));
    let combines = |column: DVector<f64>| {
        let size = column.norm();
        decomposition
            .solve(&column, 1e-12)
            .is_ok_and(|found| (&base * found - column).norm() <= ROUNDING * size)
    };
    Ok(target.column_iter().all(|column| combines(column.into_owned())))
}

/// How many different points there are.
fn distinct(points: &Points) -> usize {
    let view = points.view();
    let row = |i: usize| (0..view.columns()).map(|j| (view.get(i, j) + 0.0).to_bits()).collect::<Vec<u64>>();
    (0..view.rows()).map(row).collect::<HashSet<_>>().len()
}

fn by_names((record, inner): (&FitRecord, &Model), outer: &Model, points: &Points) -> Result<bool> {
    let names: Vec<&str> = inner.parameters().iter().map(|p| p.name.as_str()).collect();
    let place = |name: &str| names.iter().position(|known| *known == name);
    let lacking: Vec<usize> =
        (0..outer.parameters().len()).filter(|j| place(&outer.parameters()[*j].name).is_none()).collect();
    if names.len() + lacking.len() != outer.parameters().len() || lacking.len() > MOST_LACKING {
        return Ok(false);
    }
    let choices = TRIED.len() + 1;
    for choice in 0..choices.pow(lacking.len() as u32) {
        let full = |theta: &[f64]| -> Vec<f64> {
            let mut digits = choice;
            let value = |parameter: &crate::Parameter| match place(&parameter.name) {
                Some(at) => theta[at],
                None => {
                    let digit = digits % choices;
                    digits /= choices;
                    TRIED.get(digit).copied().unwrap_or(parameter.start)
                }
            };
            outer.parameters().iter().map(value).collect()
        };
        if agree(record, inner, outer, points, full)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the larger model at some of its parameters is the smaller one up to a constant, wherever the latter is.
fn agree(
    record: &FitRecord,
    inner: &Model,
    outer: &Model,
    points: &Points,
    full: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<bool> {
    for (k, shift) in MOVES.iter().enumerate() {
        let moved = |(j, (value, parameter)): (usize, (&f64, &crate::Parameter))| {
            let variance = record.joint.covariance_data[(j, j)] + record.joint.covariance_noise[(j, j)];
            // Every parameter moves by another amount.
            let value = value + shift * variance.sqrt() / (1.0 + (j + k) as f64 / 3.0);
            value.clamp(parameter.lower, parameter.upper)
        };
        let theta: Vec<f64> = record.theta().iter().zip(inner.parameters()).enumerate().map(moved).collect();
        let all = full(&theta);
        if outer.check(&all).is_err() || !differ_by_constant(inner, &theta, outer, &all, points)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn differ_by_constant(
    inner: &Model,
    theta: &[f64],
    outer: &Model,
    all: &[f64],
    points: &Points,
) -> Result<bool> {
    let (mut one, mut other) = (vec![0.0; points.rows()], vec![0.0; points.rows()]);
    if inner.evaluate(theta, points.view(), &mut one, None).is_err()
        || outer.evaluate(all, points.view(), &mut other, None).is_err()
    {
        return Ok(false);
    }
    let differences: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
    let size = one.iter().fold(1.0_f64, |size, u| size.max(u.abs()));
    let Some(first) = differences.first() else { return Ok(false) };
    Ok(differences.iter().all(|d| (d - first).abs() <= ROUNDING * size))
}
