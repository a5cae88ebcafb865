//! Draws of chains and of fitted models: every variable with its mean and spread, as tables.

use std::fmt;

use noisewright_numerics::summation::mean_and_variance;
use noisewright_report::{Column, Table, format_number, format_percent};

use crate::after::Simulation;
use crate::chain::Chains;
use crate::parts::Simulated;

/// Every variable and the log-density, with how far the chains have come.
fn chains_table(drawn: &Chains) -> Table {
    let (draws, chains) = (drawn.points.rows(), drawn.lengths.len());
    let mut table = Table::new(format!("{draws} draws of {chains} chains"))
        .column(Column::text(""))
        .column(Column::number("mean").significant(6))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("std. deviation").significant(5))
        .column(Column::number("ESS").significant(4))
        .column(Column::number("R̂").significant(4));
    let view = drawn.points.view();
    let columns = (0..view.columns()).map(|j| (drawn.points.names()[j].as_str(), view.column(j)));
    let all = columns.chain([("log-density", drawn.log_density.as_slice())]);
    for ((name, values), found) in all.zip(&drawn.convergence) {
        let (mean, variance) = mean_and_variance(values);
        let deviation = variance.sqrt();
        let numbers = [mean, deviation / found.ess.sqrt(), deviation, found.ess, found.r_hat];
        table.push_row(std::iter::once(name.into()).chain(numbers.map(Into::into)));
    }
    let (least, most) = drawn
        .acceptance
        .iter()
        .fold((1.0, 0.0), |(least, most): (f64, f64), a| (least.min(*a), most.max(*a)));
    table
        .note(format!(
            "moves: {}, {} to {} of them accepted",
            drawn.moves,
            format_percent(least, 3),
            format_percent(most, 3)
        ))
        .note("ESS: independent draws that they are worth; R̂: near 1 where the chains agree")
}

/// Every variable.
fn simulated_table(drawn: &Simulated) -> Table {
    let rows = drawn.points.rows();
    let title = match drawn.how {
        Simulation::Exact => format!("{rows} independent draws"),
        Simulation::Chains => {
            let worth = format_number(drawn.effective, 4);
            format!("{rows} draws of Markov chains, worth {worth} independent ones or more")
        }
    };
    let mut table = Table::new(title)
        .column(Column::text(""))
        .column(Column::number("mean").significant(6))
        .column(Column::number("std. deviation").significant(5));
    let view = drawn.points.view();
    for (j, name) in drawn.points.names().iter().enumerate() {
        let (mean, variance) = mean_and_variance(view.column(j));
        table.push_row([name.as_str().into(), mean.into(), variance.sqrt().into()]);
    }
    table
}

impl fmt::Display for Chains {
    /// Every variable with its mean, its error, and how far the chains have come.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&chains_table(self).to_text())
    }
}

impl fmt::Display for Simulated {
    /// Every variable with its mean and spread.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&simulated_table(self).to_text())
    }
}
