//! Ratios of densities and mutual information as tables and sentences.

use std::fmt;

use noisewright_report::{Cell, Column, Table, format_number, format_percent};

use super::fit::{counted, estimates_table, numbers};
use crate::fit::{BasisCandidate, BridgeReport, DensityRatio, MutualInformation};

/// Bridges that are listed, at most.
const LISTED: usize = 40;

/// The divergences of two densities.
#[must_use]
pub fn divergences_table(found: &DensityRatio, title: &str) -> Table {
    let mut table = estimates_table(title, found.confidence);
    let all = &found.divergences;
    let named = [
        ("KL(p₁, p₂)", &all.kl),
        ("KL(p₂, p₁)", &all.reverse_kl),
        ("Jensen–Shannon", &all.js),
        ("Pearson χ²", &all.pearson),
    ];
    for (name, estimate) in named {
        table.push_row(numbers(name, estimate));
    }
    let rows = found.rows.map(|rows| counted(rows, "row"));
    table
        .note(format!("{} and {}", rows[0], rows[1]))
        .note("divergences in nats, less what they are off by on the average")
}

/// The bases that were compared.
#[must_use]
pub fn candidates_table(found: &DensityRatio) -> Table {
    let mut table = Table::new("bases compared")
        .column(Column::text(""))
        .column(Column::number("functions").significant(6))
        .column(Column::number("ridge").significant(3))
        .column(Column::number("held-out loss").significant(6));
    for candidate in &found.candidates {
        let chosen = found.basis.as_ref() == Some(candidate);
        let name = format!("{}{}", in_words(candidate), if chosen { ", chosen" } else { "" });
        table.push_row(vec![
            Cell::from(name),
            Cell::from(candidate.functions as f64),
            Cell::from(candidate.strength),
            Cell::from(candidate.held_out),
        ]);
    }
    table.note("ridge: precision of the normal prior of every scaled coefficient")
}

/// A basis in words.
fn in_words(candidate: &BasisCandidate) -> String {
    let BasisCandidate { knots, products, centers, .. } = candidate;
    match (knots, centers) {
        (0, 0) if candidate.rotated => "squares along common axes".into(),
        _ if candidate.rotated => format!("splines of {knots} knots along common axes"),
        (0, 0) => "quadratic".into(),
        (0, _) => format!("quadratic and {centers} bumps"),
        _ if *products > 1 => format!("splines of {knots} knots, products of {products}"),
        _ => format!("splines of {knots} knots"),
    }
}

/// The bridges of a path.
#[must_use]
pub fn bridges_table(bridges: &[BridgeReport]) -> Table {
    let mut table = Table::new("bridges")
        .column(Column::number("from α").significant(4))
        .column(Column::number("to").significant(4))
        .column(Column::number("divergence").significant(4))
        .column(Column::number("overlap").significant(3))
        .column(Column::number("confusions").significant(4));
    for bridge in bridges.iter().take(LISTED) {
        let overlap = &bridge.overlap;
        let shown = [bridge.from, bridge.to, bridge.divergence, overlap.overlap, overlap.confusions()];
        table.push_row(shown.map(Cell::from));
    }
    match bridges.len().saturating_sub(LISTED) {
        0 => table,
        more => table.note(format!("and {more} more bridges")),
    }
}

/// The test, the weights, and what the penalty does.
#[must_use]
pub fn density_ratio_sentences(found: &DensityRatio) -> Vec<String> {
    let test = &found.test;
    let permuted = test
        .p_value_permutation
        .map(|p| format!(", {} by {}", format_number(p, 3), counted(test.permutations, "permutation")));
    let mut out = vec![
        format!(
            "Two-sample test: χ² = {} on {} degrees of freedom, p = {}{}.",
            format_number(test.statistic, 4),
            test.degrees,
            format_number(test.p_value, 3),
            permuted.unwrap_or_default()
        ),
        format!(
            "Importance weights: {} of the second sample are worth {} of the first.",
            counted(found.rows[1], "row"),
            format_number(found.importance.effective_size, 4)
        ),
    ];
    if found.divergences.pearson.estimate.is_nan() {
        out.push("Pearson's χ² is infinite as far as can be told: the ratio has too heavy a tail over the second sample.".into());
    }
    out.extend(found.basis.as_ref().map(penalty_sentence));
    out
}

/// What the penalty does to the answer.
fn penalty_sentence(basis: &BasisCandidate) -> String {
    format!(
        "The ridge penalty (an eighth of {}, which with the basis has the smallest leave-one-out loss) pulls the log ratio towards a flat one: standard \
         errors are around what it is pulled to, intervals allow for the pull.",
        format_number(basis.strength, 3)
    )
}

/// A mutual information with its number of bridges, and others.
#[must_use]
pub fn information_table(found: &MutualInformation) -> Table {
    let sides = found.variables.each_ref().map(|names| brief_list(names));
    let title = format!("mutual information of {} and {}, in nats", sides[0], sides[1]);
    let mut table = estimates_table(&title, found.confidence);
    for trial in &found.trials {
        let own =
            if trial.bridges == found.bridges.len() && found.trials.len() > 1 { ", the answer" } else { "" };
        let name = format!("{}{own}", counted(trial.bridges, "bridge"));
        match &trial.information {
            Some(estimate) => table.push_row(numbers(&name, estimate)),
            None => {
                let mut row = vec![Cell::from(name), Cell::from("no overlap")];
                row.extend([Cell::Empty, Cell::Empty, Cell::Empty]);
                table.push_row(row);
            }
        }
    }
    let basis = found
        .basis
        .as_ref()
        .map(|b| format!(", basis {} of {}", in_words(b), counted(b.functions, "function")));
    table.note(format!("{}{}", counted(found.rows, "row"), basis.unwrap_or_default()))
}

/// Names with commas, a long list by its ends.
fn brief_list(names: &[String]) -> String {
    match names {
        [first, second, .., last] if names.len() > 4 => format!("{first}, {second}, …, {last}"),
        _ => names.join(", "),
    }
}

impl fmt::Display for DensityRatio {
    /// The command's tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&divergences_table(self, "ratio of the first density to the second").to_text())?;
        if self.bridges.len() > 1 {
            write!(f, "\n{}", bridges_table(&self.bridges).to_text())?;
        }
        density_ratio_sentences(self).iter().try_for_each(|sentence| write!(f, "\n{sentence}\n"))
    }
}

impl fmt::Display for MutualInformation {
    /// The command's table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&information_table(self).to_text())
    }
}

/// The interval of a confidence in words.
#[must_use]
pub fn interval_label(confidence: f64) -> String {
    format!("{} interval", format_percent(confidence, 4))
}
