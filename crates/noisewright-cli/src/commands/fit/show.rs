//! The summary of a fit, for people.

use noisewright::fit::{Estimate, Fit};
use noisewright_report::{Cell, Column, Table, format_number, format_percent};

use super::Answer;
use crate::commands::error::shortened;
use crate::output;

/// The table, and sentences on how the fit went and what to do next.
pub(super) fn text(answer: &Answer) -> String {
    let mut text = output::table(&table(answer, &title(answer)));
    text.push('\n');
    for sentence in sentences(answer) {
        text.push_str(&sentence);
        text.push('\n');
    }
    for warning in warnings(&answer.fit) {
        text.push_str(&format!("\nWarning: {warning}\n"));
    }
    text
}

/// The warnings, one sentence each.
pub(crate) fn warnings(fit: &Fit) -> impl Iterator<Item = String> {
    fit.diagnostics.warnings.iter().map(|warning| format!("{}.", brief(&warning.in_words(&output::typed))))
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
        .column(Column::number("to").significant(5));
    let has_noise = fit.nu.is_finite();
    if has_noise {
        table = table.column(Column::text("noise"));
    }
    for estimate in fit.estimates() {
        let mut cells = numbers(estimate);
        cells.extend(has_noise.then(|| share(estimate)));
        table.push_row(cells);
    }
    table = table.note(rows(answer)).note(noise(answer));
    if has_noise {
        table = table
            .note("noise: the error that the noise alone causes, beside the whole; squares add".to_owned());
    }
    table
}

/// The name, and the numbers to the same decimals, with three digits of the standard error.
fn numbers(estimate: &Estimate) -> Vec<Cell> {
    let decimals = decimals(estimate.se);
    let number = |x: f64| match decimals {
        _ if x.is_nan() => Cell::Empty,
        Some(decimals) if x.is_finite() => Cell::Fixed(x, decimals),
        _ => Cell::from(x),
    };
    let numbers = [estimate.estimate, estimate.se, estimate.lower, estimate.upper].map(number);
    let name =
        if estimate.at_bound { format!("{}, at its bound", estimate.name) } else { estimate.name.clone() };
    std::iter::once(Cell::from(name)).chain(numbers).collect()
}

/// The share of the noise in a standard error.
fn share(estimate: &Estimate) -> Cell {
    if estimate.se > 0.0 {
        Cell::from(format_percent(estimate.se_noise / estimate.se, 2))
    } else {
        Cell::Empty
    }
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

/// The noise for people: few digits, and long lists left out.
fn brief(words: &str) -> String {
    const MOST: usize = 40;
    let (mut out, mut list, mut depth) = (String::new(), String::new(), 0_usize);
    for c in shortened(words).chars() {
        depth += usize::from(c == '[');
        if depth > 0 { &mut list } else { &mut out }.push(c);
        if c == ']' {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                out.push_str(if list.chars().count() > MOST { "[…]" } else { &list });
                list.clear();
            }
        }
    }
    out + &list
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
            grouped(rounded(overlap.effective_noise))
        ));
    }
    lines.extend(efficiency(answer));
    lines.extend(designed(answer));
    lines.extend(refitted(answer));
    lines.extend(checked(answer));
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
    let all = estimates.iter().zip(answer.efficiency.as_ref()?);
    let known = all.filter_map(|(estimate, efficiency)| Some((estimate, (*efficiency)?)));
    let (estimate, least) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "Efficiency against maximum likelihood: {} or more (`{}`).",
        format_percent(least, 3),
        estimate.name
    ))
}

/// What the noise `optimal` was expected to be worth.
fn designed(answer: &Answer) -> Option<String> {
    let report = answer.fit.diagnostics.optimal.as_ref()?;
    let error = |x: f64| format_number(x, 4);
    Some(format!(
        "The noise was designed at a pilot fit: predicted error × T {}, against {} with noise auto and {} with noise equal to \
         the data.",
        error(report.error),
        error(report.error_auto),
        error(report.error_noise_equals_data)
    ))
}

/// How much the refit of the noise lowered the standard errors.
fn refitted(answer: &Answer) -> Option<String> {
    let report = answer.fit.diagnostics.two_step.as_ref()?;
    let estimates = answer.fit.estimates();
    let saved = estimates.iter().zip(&report.se_without).map(|(e, without)| 1.0 - e.se / without);
    Some(format!(
        "The noise was fitted again to its draws, which lowered standard errors by up to {}.",
        format_percent(saved.fold(0.0, f64::max), 2)
    ))
}

/// What four times as much noise changed.
fn checked(answer: &Answer) -> Option<String> {
    let check = answer.fit.diagnostics.ratio_check.as_ref()?;
    let test = check.test.as_ref()?;
    Some(format!(
        "With ν = {} the estimates differ by χ² = {} on {} degrees of freedom (p = {}).",
        format_number(check.nu, 4),
        format_number(test.statistic, 3),
        test.degrees_of_freedom,
        format_number(test.p_value, 2)
    ))
}

/// `1 row`, `2 rows`, `10,000 rows`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Two significant digits of a count.
fn rounded(count: f64) -> usize {
    let unit = 10_f64.powi((count.max(1.0).log10().floor() as i32 - 1).max(0));
    ((count / unit).round() * unit) as usize
}

/// Thousands apart.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
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
    fn long_lists_are_left_out() {
        let long = "0.5*normal([0.123456, 0.234567, 0.345678, 0.456789, 0.5], [[1, 2], [3, 4]])";
        assert_eq!(brief(long), "0.5*normal([…], [[1, 2], [3, 4]])");
    }

    #[test]
    fn numbers_of_things() {
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(999, "row"), "999 rows");
        assert_eq!(counted(1_234_567, "row"), "1,234,567 rows");
        assert_eq!([rounded(0.4), rounded(94.6), rounded(23_036.0)], [0, 95, 23_000]);
    }
}
