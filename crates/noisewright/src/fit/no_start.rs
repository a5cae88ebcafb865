//! Why a fit cannot even begin: what is not a number, or has no density, at the model's own start.

use super::loss_terms::{Class, Terms};
use super::objective::Objective;
use super::sample_blocks::{BLOCK, RawBlock, SampleBlocks};
use crate::{Error, Model, Quantity, Result};

/// The first thing that is wrong at the start: log Z, the noise's draws and density, the model's density and score, the
/// terms of the loss.
pub(super) fn explain(objective: &Objective<'_>) -> Error {
    let theta = objective.model.start();
    let both = [&objective.data, &objective.noise];
    let faulty = both.iter().find_map(|side| check_side(objective, side, &theta).err());
    faulty.unwrap_or_else(|| Error::NotANumber {
        of: Quantity::Loss,
        point: "the model's start values, where its sum over the rows overflows".into(),
    })
}

fn check_side(objective: &Objective<'_>, side: &SampleBlocks<'_>, theta: &[f64]) -> Result<()> {
    let constant = constant(objective.model, theta)?;
    let check = |raw: RawBlock<'_>| check_block(objective, side.class, &raw, theta, constant);
    side.reduce(check, |(), ()| ()).map(Option::unwrap_or_default)
}

/// What is subtracted from the energy at the start.
fn constant(model: &Model, theta: &[f64]) -> Result<f64> {
    if !model.is_normalized() {
        return Ok(0.0);
    }
    let known = model.log_normalizer(theta, &mut vec![0.0; theta.len()]).filter(|z| z.is_finite());
    known.ok_or_else(|| {
        Error::field(
            "normalized",
            "needs log Z in closed form, which the model does not have at its start values",
        )
    })
}

fn check_block(
    objective: &Objective<'_>,
    class: Class,
    raw: &RawBlock<'_>,
    theta: &[f64],
    constant: f64,
) -> Result<()> {
    let (model, rows) = (objective.model, raw.points.rows());
    let not_a_number =
        |of: Quantity, row: usize| Error::NotANumber { of, point: model.describe(theta, raw.points, row) };
    let columns = (0..raw.points.columns()).map(|j| raw.points.column(j));
    if let Some(row) = columns.filter_map(|column| column.iter().position(|x| !x.is_finite())).min() {
        return Err(not_a_number(Quantity::NoiseDraw, row));
    }
    if let Some(row) = raw.log_noise.iter().position(|l| l.is_nan()) {
        return Err(not_a_number(Quantity::NoiseDensity, row));
    }
    let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * theta.len()]);
    model.evaluate(theta, raw.points, &mut value, Some(&mut score))?;
    let impossible = |v: &f64| *v == f64::INFINITY || (class == Class::Data && *v == f64::NEG_INFINITY);
    if let Some(row) = value.iter().position(impossible) {
        return Err(match class {
            Class::Data => Error::NoDensity { row: raw.index * BLOCK + row + 1 },
            Class::Noise => not_a_number(Quantity::Value, row),
        });
    }
    if let Some(at) = score.iter().position(|s| !s.is_finite()) {
        return Err(not_a_number(Quantity::Score, at % rows));
    }
    let log_ratios: Vec<f64> =
        value.iter().zip(raw.log_noise).map(|(v, l)| v - constant - l - objective.nu.ln()).collect();
    check_loss(objective, class, &log_ratios)
}

/// The terms of the loss at these log ratios, with a constant for which they are near zero.
fn check_loss(objective: &Objective<'_>, class: Class, log_ratios: &[f64]) -> Result<()> {
    let finite: Vec<f64> = log_ratios.iter().copied().filter(|g| g.is_finite()).collect();
    let shift = match objective.model.is_normalized() {
        true => 0.0,
        false => finite.iter().sum::<f64>() / finite.len().max(1) as f64,
    };
    let shifted: Vec<f64> = finite.iter().map(|g| g - shift).collect();
    let mut terms = Terms::default();
    terms.fill(&objective.loss, class, &shifted);
    let parts = [&terms.value, &terms.first];
    let bad = parts.iter().filter_map(|part| part.iter().position(|x| !x.is_finite())).min();
    match bad {
        Some(row) => Err(Error::NotANumber {
            of: Quantity::Loss,
            point: format!("the log ratio g = {}", crate::text::digits(shifted[row])),
        }),
        None => Ok(()),
    }
}
