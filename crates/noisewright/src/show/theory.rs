//! Errors and designs as tables.

use std::fmt;

use noisewright_report::{Cell, Column, Table, format_number, format_percent};

use super::shortened;
use crate::ErrorReport;
use crate::design::{Design, FamilyOptimum, MixtureDesign};

/// What each coordinate adds to the error, where it is asked for, and the whole beside what it is compared with.
#[must_use]
pub fn error_table(report: &ErrorReport, title: &str, is_asked: &dyn Fn(&str) -> bool) -> Table {
    let mut table = Table::new(title)
        .column(Column::text(""))
        .column(Column::number("error × T").significant(6))
        .column(Column::number("noise = data").significant(6))
        .column(Column::number("Cramér–Rao").significant(6));
    for (name, part) in report.coordinates.iter().zip(&report.parts) {
        let part = if is_asked(name) { Cell::from(*part) } else { Cell::Empty };
        table.push_row([Cell::from(name.as_str()), part, Cell::Empty, Cell::Empty]);
    }
    table.push_row([
        Cell::from("total"),
        Cell::from(report.error),
        Cell::from(report.noise_equals_data),
        report.cramer_rao.map_or(Cell::Empty, Cell::from),
    ]);
    table
}

/// A design beside noise that equals the data: at the same ratio, and half and half.
///
/// `errors` are those of the three, `noise` is what the first is called, `unit` what errors are multiplied with.
#[must_use]
pub fn design_table(title: &str, noise: &str, nu: f64, errors: [f64; 3], unit: &str) -> Table {
    let row = |name: &str, nu: f64, error: f64| {
        [Cell::from(name), Cell::from(format_percent(nu / (1.0 + nu), 4)), Cell::from(nu), Cell::from(error)]
    };
    Table::new(title)
        .column(Column::text(""))
        .column(Column::text("noise"))
        .column(Column::number("ν").significant(5))
        .column(Column::number(format!("error × {unit}")).significant(6))
        .row(row(noise, nu, errors[0]))
        .row(row("noise = data", nu, errors[1]))
        .row(row("noise = data, half and half", 1.0, errors[2]))
}

impl fmt::Display for ErrorReport {
    /// The table that the command prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = "T counts all points, data and noise; Cramér–Rao is what endless free noise would leave";
        f.write_str(&error_table(self, "Error × T", &|_| true).note(note).to_text())
    }
}

impl fmt::Display for Design {
    /// The table that the command prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = [self.error, self.noise_equals_data, self.conventional];
        f.write_str(&design_table("The best noise", "the exact optimum", self.nu, errors, "T").to_text())
    }
}

impl fmt::Display for MixtureDesign {
    /// The components with their weights, and what the mixture costs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new("The best mixture")
            .column(Column::text("component"))
            .column(Column::number("weight").significant(4));
        for (component, weight) in self.components.iter().zip(&self.weights).filter(|(_, w)| **w > 0.0) {
            table.push_row([Cell::from(shortened(&component.describe())), Cell::from(*weight)]);
        }
        let error = format_number(self.error, 6);
        let excess = format_percent(self.excess(), 3);
        let note = format!(
            "error × T {error} at ν = {}, {excess} above the exact optimum",
            format_number(self.nu, 5)
        );
        f.write_str(&table.note(note).to_text())
    }
}

impl fmt::Display for FamilyOptimum {
    /// Every minimum, the best first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new("The best members of the family")
            .column(Column::text("noise"))
            .column(Column::number("ν").significant(5))
            .column(Column::number("error × T").significant(6))
            .column(Column::text(""));
        for member in &self.minima {
            let edge = if member.at_edge { "at the edge of the scan" } else { "" };
            let words = shortened(&member.words.to_string());
            table.push_row([words.into(), member.nu.into(), member.error.into(), Cell::from(edge)]);
        }
        f.write_str(&table.to_text())
    }
}
