//! The summary of a fit, for people.

pub(crate) use noisewright::internal::show::fit_warnings as warnings;
use noisewright::internal::show::{bootstrap_table, counted, fit_sentences, fit_table};
use noisewright_report::{Table, format_number, format_percent};

use super::Answer;
use crate::output;

/// The table, and sentences on how the fit went and what to do next.
pub(super) fn text(answer: &Answer) -> String {
    let mut text = output::table(&table(answer, &title(answer)));
    text.push('\n');
    if let Some(table) = bootstrap_table(&answer.fit) {
        text.push_str(&output::table(&table));
        text.push('\n');
    }
    for sentence in sentences(answer) {
        text.push_str(&sentence);
        text.push('\n');
    }
    for warning in warnings(&answer.fit) {
        text.push_str(&format!("\nWarning: {warning}\n"));
    }
    text
}

/// What was fitted to what.
pub(super) fn title(answer: &Answer) -> String {
    format!("{} fitted to {}", answer.problem.name, answer.data)
}

/// Estimates with their standard errors and intervals.
pub(super) fn table(answer: &Answer, title: &str) -> Table {
    fit_table(&answer.fit, title, rows(answer))
}

/// `272 rows, weight 300, 3 left out, 4 Markov chains`.
pub(super) fn rows(answer: &Answer) -> String {
    let fit = &answer.fit;
    let mut words = vec![counted(fit.rows, "row")];
    if answer.weights.is_some() {
        words.push(format!("weighing {} together", format_number(fit.total_weight, 8)));
    }
    if answer.dropped > 0 {
        words.push(format!("{} with a missing value left out", answer.dropped));
    }
    words.extend(answer.dependence.clone());
    words.join(", ")
}

/// How the fit went, and how good it is.
pub(super) fn sentences(answer: &Answer) -> Vec<String> {
    let fit = &answer.fit;
    let mut lines = fit_sentences(fit);
    if let Some(passes) = answer.passes {
        lines.insert(1, format!("The file was read {} times, in blocks.", passes + 1));
    }
    if fit.budget_spent {
        lines.push(format!(
            "The budget of noise ended while it was still {} of a standard error; --noise optimal or --max-noise may help.",
            format_percent(fit.noise_share(), 2)
        ));
    }
    lines
}
