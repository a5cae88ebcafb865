//! The summary of a fit, for people.

use noisewright::fit::Estimate;
use noisewright_report::{Cell, Column, Table, format_number, format_percent};

use super::Answer;
use crate::commands::error::shortened;

/// The table, and sentences on how the fit went and what to do next.
pub(super) fn text(answer: &Answer) -> String {
    let mut text = table(answer, &title(answer)).to_text();
    text.push('\n');
    for sentence in sentences(answer) {
        text.push_str(&sentence);
        text.push('\n');
    }
    for warning in &answer.fit.diagnostics.warnings {
        text.push_str(&format!("\nWarning: {warning}.\n"));
    }
    text
}

/// What was fitted to what.
pub(super) fn title(answer: &Answer) -> String {
    format!("{} fitted to {}", answer.problem.name, answer.data)
}

/// Estimates with their standard errors and intervals.
pub(super) fn table(answer: &Answer, title: &str) -> Table {
    let fit = &answer.fit;
    let interval = format_percent(fit.confidence, 6);
    let mut table = Table::new(title)
        .column(Column::text(""))
        .column(Column::number("estimate").significant(5))
        .column(Column::number("std. error").significant(3))
        .column(Column::number(format!("{interval} from")).significant(5))
        .column(Column::number("to").significant(5))
        .column(Column::text("noise"));
    for estimate in fit.estimates() {
        table.push_row(row(estimate));
    }
    table = table.note(rows(answer)).note(noise(answer));
    if fit.nu.is_finite() {
        table = table.note(
            "noise: the share of the standard error that more noise would remove; the rest is the data's"
                .to_owned(),
        );
    }
    table
}

/// The numbers of a row to the same decimals, with three digits of the standard error.
fn row(estimate: &Estimate) -> [Cell; 6] {
    let decimals = decimals(estimate.se);
    let number = |x: f64| match decimals {
        _ if x.is_nan() => Cell::Empty,
        Some(decimals) if x.is_finite() => Cell::Fixed(x, decimals),
        _ => Cell::from(x),
    };
    let share = if estimate.at_bound {
        "at its bound".to_owned()
    } else if estimate.se > 0.0 {
        format_percent(estimate.se_noise / estimate.se, 2)
    } else {
        String::new()
    };
    [
        Cell::from(estimate.name.as_str()),
        number(estimate.estimate),
        number(estimate.se),
        number(estimate.lower),
        number(estimate.upper),
        Cell::from(share),
    ]
}

/// Decimals that show three digits of a standard error; none where it is no usual number.
pub(crate) fn decimals(se: f64) -> Option<usize> {
    let digits = 2.0 - se.log10().floor();
    (se > 0.0 && se.is_finite() && digits <= 12.0).then_some(digits.max(0.0) as usize)
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

/// The noise, how much of it, and the loss.
pub(super) fn noise(answer: &Answer) -> String {
    let fit = &answer.fit;
    if !fit.nu.is_finite() {
        return "no noise: maximum likelihood, with log Z computed exactly".into();
    }
    format!(
        "noise {}; ν = {} ({}), loss {}",
        brief(&fit.noise_description),
        format_number(fit.nu, 6),
        counted(fit.noise_points, "noise point"),
        answer.loss
    )
}

/// The noise for people: few digits, and not all of what is long.
fn brief(words: &str) -> String {
    const MOST: usize = 160;
    let words = shortened(words);
    if words.chars().count() <= MOST {
        return words;
    }
    format!("{}… (--json shows all of it)", words.chars().take(MOST).collect::<String>())
}

/// How the fit went, and how good it is.
pub(super) fn sentences(answer: &Answer) -> Vec<String> {
    let fit = &answer.fit;
    let mut lines = vec![format!(
        "{} after {}; {} {}.",
        if fit.converged { "Converged" } else { "Stopped" },
        counted(fit.iterations, "step"),
        if fit.nu.is_finite() { "mean loss" } else { "negative mean log-likelihood" },
        format_number(fit.loss, 6)
    )];
    if let Some(passes) = answer.passes {
        lines.push(format!("The file was read {} times, in blocks.", passes + 1));
    }
    if let Some(overlap) = &fit.diagnostics.overlap {
        lines.push(format!(
            "Of {} about {} lie where the data are.",
            counted(fit.noise_points, "noise point"),
            grouped(overlap.effective_noise.round() as usize)
        ));
    }
    lines.extend(efficiency(answer));
    if fit.budget_spent {
        lines.push(format!(
            "The budget of noise ended while it was still {} of a standard error; --noise optimal or --max-noise may help.",
            format_percent(fit.noise_share(), 2)
        ));
    }
    lines
}

/// The least efficiency against maximum likelihood, if it is known.
fn efficiency(answer: &Answer) -> Option<String> {
    let estimates = answer.fit.estimates();
    let known = estimates.iter().zip(answer.efficiency.as_ref()?);
    let (estimate, least) = known.min_by(|a, b| a.1.total_cmp(b.1))?;
    Some(format!(
        "Efficiency against maximum likelihood: {} or more (`{}`).",
        format_percent(*least, 3),
        estimate.name
    ))
}

/// `1 row`, `2 rows`, `10,000 rows`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Thousands apart.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_things() {
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(999, "row"), "999 rows");
        assert_eq!(counted(1_234_567, "row"), "1,234,567 rows");
    }
}
