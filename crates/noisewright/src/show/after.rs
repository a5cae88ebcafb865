//! Functions of parameters, tests and comparisons as tables and sentences.

use std::fmt;

use noisewright_report::{Cell, Column, Table, format_number};

use super::fit::{cells, estimates_table, numbers};
use crate::Estimate;
use crate::after::{Comparison, SharedEstimate, WaldTest};

/// Functions of the parameters with their errors.
#[must_use]
pub fn derived_table(derived: &[Estimate], confidence: f64) -> Table {
    let mut table = estimates_table("functions of the parameters", confidence);
    for estimate in derived {
        table.push_row(numbers(&estimate.name, estimate));
    }
    table.note("standard errors by the delta method")
}

/// A Wald test in a sentence.
#[must_use]
pub fn wald_sentence(test: &WaldTest) -> String {
    let (count, freedom) = (test.degrees as f64, test.degrees_denominator);
    let statistic = if freedom.is_finite() {
        let value = format_number(test.statistic / count, 4);
        format!("F = {value} on {count} and {} degrees of freedom", format_number(freedom, 3))
    } else {
        let value = format_number(test.statistic, 4);
        format!("χ² = {value} on {count} degree{} of freedom", if test.degrees == 1 { "" } else { "s" })
    };
    format!(
        "Wald test of {}: {statistic}, p = {}.",
        test.hypotheses.join(" and "),
        format_number(test.p_value, 3)
    )
}

impl fmt::Display for WaldTest {
    /// The sentence that the command prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&wald_sentence(self))
    }
}

impl fmt::Display for Comparison {
    /// The tables that the command prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        comparison_tables(self).iter().try_for_each(|table| writeln!(f, "{}", table.to_text()))
    }
}

/// The models with their criteria, and the tests.
#[must_use]
pub fn comparison_tables(found: &Comparison) -> Vec<Table> {
    let noisy = found.models.iter().any(|model| model.log_likelihood.se > 0.0);
    let mut models = Table::new(format!("{} models of the same {} rows", found.models.len(), found.rows))
        .column(Column::text(""))
        .column(Column::number("log-likelihood").significant(7));
    if noisy {
        models = models.column(Column::number("std. error").significant(3));
    }
    models = models
        .column(Column::number("parameters").significant(6))
        .column(Column::number("AIC").significant(7))
        .column(Column::number("BIC").significant(7))
        .column(Column::number("TIC").significant(7));
    let held_out = found.models.iter().any(|model| model.held_out.is_some());
    if held_out {
        models = models
            .column(Column::number("held-out log-likelihood").significant(7))
            .column(Column::number("std. error").significant(3));
    }
    for model in &found.models {
        let likelihood = &model.log_likelihood;
        let mut row = vec![Cell::from(model.name.clone())];
        let shown = [likelihood.estimate, likelihood.se];
        row.extend(cells(if noisy { &shown } else { &shown[..1] }, likelihood.se));
        row.push(Cell::from(model.parameters as f64));
        let criteria = [Some(model.aic), Some(model.bic), model.tic].map(|x| x.filter(|x| !x.is_nan()));
        row.extend(criteria.map(|x| x.map_or(Cell::Empty, Cell::from)));
        if held_out {
            let known = model.held_out.as_ref();
            row.extend(
                known.map_or_else(
                    || vec![Cell::Empty, Cell::Empty],
                    |h| cells(&[h.log_likelihood, h.se], h.se),
                ),
            );
        }
        models.push_row(row);
    }
    if noisy {
        models = models.note("std. error: the Monte-Carlo error of log Z, times the rows");
    }
    let mut tables = vec![models];
    if (1..=MOST_SHARED).contains(&found.estimates.len()) {
        tables.push(estimates_side_by_side(found));
    }
    if !found.tests.is_empty() {
        tables.push(tests_table(found));
    }
    tables
}

/// Parameters of which a table is shown.
const MOST_SHARED: usize = 30;

/// Every shared parameter with the estimates and standard errors of the fits.
fn estimates_side_by_side(found: &Comparison) -> Table {
    let mut table = Table::new("estimates (std. errors)").column(Column::text(""));
    for model in &found.models {
        table = table.column(Column::text(model.name.clone()));
    }
    for parameter in &found.estimates {
        let cell = |fit: &Option<SharedEstimate>| match fit {
            None => Cell::Empty,
            Some(fit) if fit.se == 0.0 => Cell::from(format!("{}, fixed", format_number(fit.estimate, 5))),
            Some(fit) if fit.se.is_finite() => {
                Cell::from(format!("{} ({})", format_number(fit.estimate, 5), format_number(fit.se, 3)))
            }
            Some(fit) => Cell::from(format_number(fit.estimate, 5)),
        };
        let name = Cell::from(parameter.name.clone());
        table.push_row(std::iter::once(name).chain(parameter.fits.iter().map(cell)).collect::<Vec<_>>());
    }
    table
}

fn tests_table(found: &Comparison) -> Table {
    let mut table = Table::new("likelihood-ratio tests")
        .column(Column::text("hypothesis"))
        .column(Column::text("within"))
        .column(Column::number("χ²").significant(5))
        .column(Column::number("std. error").significant(2))
        .column(Column::number("degrees").significant(6))
        .column(Column::number("p").significant(3));
    for test in &found.tests {
        table.push_row(vec![
            Cell::from(test.smaller.clone()),
            Cell::from(test.larger.clone()),
            Cell::from(test.statistic),
            Cell::from(test.statistic_se),
            Cell::from(test.degrees as f64),
            test.p_value.map_or(Cell::Empty, Cell::from),
        ]);
        if let Some(reason) = test.reason {
            table = table.note(format!("{} within {}: {reason}", test.smaller, test.larger));
        }
    }
    table
}

/// The probability that a normal number is as far from zero.
#[must_use]
pub fn two_sided_tail(z: f64) -> f64 {
    2.0 * noisewright_numerics::special::normal_cdf(-z.abs())
}
