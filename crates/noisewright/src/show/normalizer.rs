//! Estimates of log Z, evidences and paths as tables and sentences.

use std::fmt;

use noisewright_report::{Cell, Column, Table, format_number, format_percent};

use super::shortened;
use crate::normalizer::path::PathEstimate;
use crate::normalizer::{Evidence, LogZ};

/// The estimators beside each other; `quantity` is what they estimate.
#[must_use]
pub fn log_z_table(result: &LogZ, quantity: &str) -> Table {
    let percent = 100.0 * result.confidence;
    let title = format!("{quantity}, {} data draws, {} noise draws", result.data.draws, result.noise.draws);
    let mut table = Table::new(title)
        .column(Column::text("estimator"))
        .column(Column::number("estimate").significant(7))
        .column(Column::number("std. error").significant(3))
        .column(Column::number(format!("{percent}% from")).significant(7))
        .column(Column::number("to").significant(7))
        .column(Column::number("ESS").significant(4))
        .column(Column::number("Pareto k").significant(2));
    let bootstrap = result.estimates.iter().any(|e| e.bootstrap_se.is_some());
    let trusted = result.best().refused.is_none();
    if bootstrap {
        table = table.column(Column::number("bootstrap").significant(3));
    }
    for e in &result.estimates {
        let mark = if trusted && e.method == result.recommended { " *" } else { "" };
        let mut row: Vec<Cell> = vec![
            Cell::from(format!("{}{mark}", e.method).as_str()),
            e.log_z.into(),
            e.se.into(),
            e.lower.into(),
            e.upper.into(),
            e.ess.into(),
            e.pareto_k.map_or(Cell::Empty, Cell::from),
        ];
        if bootstrap {
            row.push(e.bootstrap_se.map_or(Cell::Empty, Cell::from));
        }
        table.push_row(row);
    }
    let refused = "an infinite error means refused: nce for too little overlap, the others mostly for a Pareto k above 0.7";
    if trusted { table.note(format!("* the one to trust; {refused}")) } else { table.note(refused) }
}

/// Which estimator to trust and why, and what else to know.
#[must_use]
pub fn log_z_sentences(result: &LogZ) -> Vec<String> {
    let mut lines = vec![result.reason.to_string()];
    lines.push(format!(
        "Overlap {}; about {} draws of either side look like the other.",
        format_number(result.overlap, 3),
        format_number(result.expected_crossings, 3)
    ));
    for (name, side) in [("data", &result.data), ("noise", &result.noise)] {
        if side.autocorrelation_time > 1.2 {
            lines.push(format!(
                "The {name} draws are worth {} independent ones (autocorrelation time {}).",
                format_number(side.ess, 4),
                format_number(side.autocorrelation_time, 3)
            ));
        }
        if side.outside > 0 {
            lines.push(format!("{} {name} draws lie outside the other density's support.", side.outside));
        }
    }
    for e in &result.estimates {
        lines.extend(e.refused.as_ref().map(|why| format!("{} is refused: {why}.", e.method)));
    }
    lines.extend(result.warnings.iter().map(|warning| format!("Warning: {warning}.")));
    lines
}

/// The estimators beside each other.
#[must_use]
pub fn evidence_table(result: &Evidence, title: &str, chains: usize) -> Table {
    let mut table = Table::new(title)
        .column(Column::text(""))
        .column(Column::number("log evidence").significant(8))
        .column(Column::number("se").significant(3))
        .column(Column::number("lower").significant(8))
        .column(Column::number("upper").significant(8))
        .column(Column::number("ESS").significant(4));
    let trusted = result.best().refused.is_none();
    for estimate in &result.estimates {
        let mark = if trusted && estimate.method == result.recommended { " ←" } else { "" };
        table.push_row([
            Cell::from(format!("{}{mark}", estimate.method).as_str()),
            Cell::from(estimate.log_z),
            Cell::from(estimate.se),
            Cell::from(estimate.lower),
            Cell::from(estimate.upper),
            Cell::from(estimate.ess),
        ]);
    }
    let chains = if chains == 1 { "one chain".into() } else { format!("{chains} chains") };
    table.note(format!("intervals of {} confidence", format_percent(result.confidence, 3))).note(format!(
        "{} draws in {chains} worth {} independent ones; {} draws of noise ({}) fitted to each half",
        result.draws,
        format_number(result.chain_ess, 3),
        result.noise_draws,
        result.noise
    ))
}

/// Which estimator to trust and why, why others are refused, and how near the noise is.
#[must_use]
pub fn evidence_sentences(result: &Evidence) -> Vec<String> {
    let mut lines = vec![result.reason.to_string()];
    for e in result.estimates.iter().filter(|e| e.method != result.recommended) {
        lines.extend(e.refused.as_ref().map(|why| format!("{} is refused: {why}.", e.method)));
    }
    let judged = match result.overlap {
        overlap if overlap > 0.5 => "the noise is close to the density",
        overlap if overlap > 0.05 => {
            "enough for an answer; another noise (mixture, warped) may give a smaller error"
        }
        _ => "little; try another noise (mixture, warped), symmetrized draws, or more draws",
    };
    lines.push(format!("Draws and noise overlap by {}: {judged}.", format_percent(result.overlap, 3)));
    lines
}

/// Every state on the way.
#[must_use]
pub fn path_table(result: &PathEstimate) -> Table {
    let title = format!("log Z by a path of {} states, {} draws each", result.nodes.len(), result.draws);
    let mut table = Table::new(title)
        .column(Column::number("t").significant(4))
        .column(Column::number("log Z").significant(7))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("its step").significant(3))
        .column(Column::number("acceptance").significant(3))
        .column(Column::number("exchange").significant(3))
        .column(Column::number("R-hat").significant(4));
    for node in &result.nodes {
        table.push_row([
            Cell::from(node.t),
            node.log_z.into(),
            node.se.into(),
            node.step_se.into(),
            node.acceptance.into(),
            node.exchange.map_or(Cell::Empty, Cell::from),
            node.r_hat.into(),
        ]);
    }
    table.note(format!(
        "noise {} at t = 0, the model at t = 1, moves {}, {} for every draw; {} round trips from the noise to the model and back",
        shortened(&result.noise),
        result.moves.unwrap_or_default(),
        result.thin,
        result.round_trips
    ))
}

/// The answer, and what to know about it.
#[must_use]
pub fn path_sentences(result: &PathEstimate) -> Vec<String> {
    let mut lines = vec![format!(
        "log Z = {} ± {} ({} interval {} to {}).",
        format_number(result.log_z, 7),
        format_number(result.se, 3),
        format_percent(result.confidence, 3),
        format_number(result.lower, 7),
        format_number(result.upper, 7)
    )];
    lines.extend(result.sentences().into_iter().map(|warning| format!("Warning: {warning}.")));
    lines
}

/// A table, and sentences one a line below it.
pub(super) fn write(f: &mut fmt::Formatter<'_>, table: &Table, sentences: &[String]) -> fmt::Result {
    writeln!(f, "{}", table.to_text())?;
    sentences.iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
}

impl fmt::Display for LogZ {
    /// The table that the command prints, and which estimate to trust.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &log_z_table(self, "log Z"), &log_z_sentences(self))
    }
}

impl fmt::Display for Evidence {
    /// The table that the command prints, and which estimate to trust.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = evidence_sentences(self);
        lines.extend(self.warnings.iter().map(|warning| format!("Warning: {warning}.")));
        write(f, &evidence_table(self, "log evidence", self.halves[0].data.chains), &lines)
    }
}

impl fmt::Display for PathEstimate {
    /// The table that the command prints, and the answer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &path_table(self), &path_sentences(self))
    }
}
