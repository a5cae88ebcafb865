//! A fit as a table and sentences.

use std::fmt;

use noisewright_report::{Cell, Column, Table, format_number, format_percent};

use super::shortened;
use crate::fit::{Estimate, Fit, FitMethod, IntervalKind, PenaltyKind, RatioFit, Setting, StrengthRule};

/// Estimates with their standard errors and intervals; `loss` is named where it is known.
#[must_use]
pub fn fit_table(fit: &Fit, title: &str, rows: String) -> Table {
    let has_noise = fit.nu.is_finite();
    let mut table = estimates_table(title, fit.confidence);
    if has_noise {
        table = table.column(Column::text("noise"));
    }
    for estimate in shown(fit) {
        let mut cells = numbers(&estimate.name, estimate);
        cells.extend(has_noise.then(|| share(estimate)));
        table.push_row(cells);
    }
    table = table.note(rows).note(noise_words(fit));
    if has_noise && has_errors(fit) {
        table = table
            .note("noise: the error that the noise alone causes, beside the whole; squares add".to_owned());
    }
    table
}

/// The estimates that are worth a line: of a selection those that were selected.
fn shown(fit: &Fit) -> impl Iterator<Item = &Estimate> {
    let selection = fit.penalty.as_ref().filter(|penalty| penalty.kind == PenaltyKind::Lasso);
    let is_shown = move |estimate: &&Estimate| {
        selection.is_none_or(|penalty| {
            estimate.name == crate::LOG_NORMALIZER || penalty.selected.contains(&estimate.name)
        })
    };
    fit.estimates().into_iter().filter(is_shown)
}

/// Whether any estimate has a standard error.
fn has_errors(fit: &Fit) -> bool {
    fit.estimates().iter().any(|estimate| estimate.se.is_finite())
}

/// How strong the penalty is, how that was chosen, and what it left.
fn penalized(fit: &Fit) -> Option<String> {
    let penalty = fit.penalty.as_ref()?;
    let strength = format_number(penalty.strength, 4);
    let chosen = match penalty.rule {
        StrengthRule::Given => String::new(),
        StrengthRule::OneStandardError => format!(
            ", the largest whose selection, fitted again, has a held-out loss within one standard error of the smallest \
             ({} folds)",
            penalty.folds.unwrap_or(0)
        ),
        StrengthRule::Minimum => {
            format!(", of the smallest held-out loss ({} folds)", penalty.folds.unwrap_or(0))
        }
    };
    let selected = match penalty.kind {
        PenaltyKind::Ridge => String::new(),
        PenaltyKind::Lasso => format!(
            " It selected {} of {}.",
            counted(penalty.selected.len(), "parameter"),
            grouped(fit.parameters.len())
        ),
    };
    let refitted = if penalty.refitted { " They were fitted again without it." } else { "" };
    Some(format!("Penalty {} with λ = {strength}{chosen}.{selected}{refitted}", penalty.kind))
}

/// The columns of estimates.
pub(super) fn estimates_table(title: &str, confidence: f64) -> Table {
    let interval = format_percent(confidence, 6);
    Table::new(title)
        .column(Column::text(""))
        .column(Column::number("estimate").significant(5))
        .column(Column::number("std. error").significant(3))
        .column(Column::number(format!("{interval} from")).significant(5))
        .column(Column::number("to").significant(5))
}

/// The log ratio's parameters and its constant.
#[must_use]
pub fn ratio_table(ratio: &RatioFit, title: &str) -> Table {
    let mut table = estimates_table(title, ratio.fit.confidence);
    for estimate in &ratio.parameters {
        table.push_row(numbers(&estimate.name, estimate));
    }
    table.push_row(numbers("constant", &ratio.constant));
    table
}

/// The name, and the numbers to the same decimals, with three digits of the standard error.
pub(super) fn numbers(name: &str, estimate: &Estimate) -> Vec<Cell> {
    if estimate.fixed {
        let mut row = vec![Cell::from(format!("{name}, fixed")), Cell::from(estimate.estimate)];
        row.extend([Cell::Empty, Cell::Empty, Cell::Empty]);
        return row;
    }
    let values = [estimate.estimate, estimate.se, estimate.lower, estimate.upper];
    let name = if estimate.at_bound { format!("{name}, at its bound") } else { name.to_owned() };
    std::iter::once(Cell::from(name)).chain(cells(&values, estimate.se)).collect()
}

/// Numbers to the decimals that their standard error deserves.
#[must_use]
pub fn cells(numbers: &[f64], se: f64) -> Vec<Cell> {
    let decimals = decimals(se);
    let cell = |x: &f64| match decimals {
        _ if x.is_nan() => Cell::Empty,
        Some(decimals) if x.is_finite() => Cell::Fixed(*x, decimals),
        _ => Cell::from(*x),
    };
    numbers.iter().map(cell).collect()
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
fn decimals(se: f64) -> Option<usize> {
    let digits = 2.0 - se.log10().floor();
    (se > 0.0 && se.is_finite() && digits <= 12.0).then_some(digits.max(0.0) as usize)
}

/// The noise, how much of it, and the loss.
fn noise_words(fit: &Fit) -> String {
    if fit.at_rows.as_ref().is_some_and(|rows| rows.choices) {
        return "no noise: the conditional logit of what was chosen in each stratum".into();
    }
    if fit.method.is_without_constant() {
        return without_noise(fit);
    }
    if !fit.nu.is_finite() {
        return "no noise: maximum likelihood, with log Z computed exactly".into();
    }
    if let Some(choices) = fit.choices {
        return format!(
            "noise {}; {} a row ({} in all), loss {}",
            brief(&fit.noise_description),
            counted(choices, "noise point"),
            counted(fit.noise_points, "point"),
            fit.loss_name
        );
    }
    let apart = fit.loss_ratio.filter(|ratio| *ratio != fit.nu);
    let apart = apart.map(|ratio| format!(" with M = {}", format_number(ratio, 6))).unwrap_or_default();
    format!(
        "noise {}; ν = {} ({}{}), loss {}{apart}",
        brief(&fit.noise_description),
        format_number(fit.nu, 6),
        counted(fit.noise_points, if fit.replicates.is_some() { "quiet noise point" } else { "noise point" }),
        fit.replicates.map(|count| format!(", {count} replicates")).unwrap_or_default(),
        fit.loss_name
    )
}

/// A method that needs no noise, and what is known of the constant.
fn without_noise(fit: &Fit) -> String {
    let method = match fit.method {
        FitMethod::PseudoLikelihood => "pseudo-likelihood",
        _ => "score matching",
    };
    let constant = match &fit.log_normalizer {
        Some(_) => "log Z at the estimate computed afterwards",
        None => "log Z is not known",
    };
    format!("no noise: {method}; {constant}")
}

/// How many of the rows follow the model, by a loss that leaves the others out.
fn clean_share(fit: &Fit) -> Option<String> {
    let share = fit.clean_share.as_ref()?;
    let percent = |x: f64| format_percent(x, 3);
    Some(format!(
        "About {} of the rows follow the model (std. error {}).",
        percent(share.estimate),
        percent(share.se)
    ))
}

/// What quiet noise was worth.
fn quietness(fit: &Fit) -> Option<String> {
    let gain = fit.noise_gain?;
    let independent = counted(rounded(fit.noise_points as f64 * gain), "independent point");
    Some(format!("The quiet noise points are worth about {independent}."))
}

/// The noise for people: few digits, and long lists left out.
pub fn brief(words: &str) -> String {
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

/// A setting as it is typed: `--nu 20`.
pub fn typed(setting: Setting) -> String {
    let (name, value) = setting.parts();
    format!("--{name} {value}")
}

/// The warnings of a fit, one sentence each, in the words of the command.
pub fn fit_warnings(fit: &Fit) -> impl Iterator<Item = String> {
    fit.diagnostics.warnings.iter().map(|warning| format!("{}.", brief(&warning.in_words(&typed))))
}

/// How the fit went, and how good it is.
#[must_use]
pub fn fit_sentences(fit: &Fit) -> Vec<String> {
    let mut lines = vec![convergence(fit)];
    lines.extend(penalized(fit));
    if let Some(overlap) = &fit.diagnostics.overlap {
        lines.push(format!(
            "Of {} about {} lie where the data are.",
            counted(fit.noise_points, "noise point"),
            grouped(rounded(overlap.effective_noise))
        ));
    }
    lines.extend(quietness(fit));
    lines.extend(clean_share(fit));
    lines.extend(few_rows(fit));
    lines.extend(interval_words(fit));
    lines.extend(efficiency(fit));
    lines.extend(likelihood(fit));
    lines.extend(designed(fit));
    lines.extend(refitted(fit));
    lines.extend(checked(fit));
    lines
}

/// Rows for every unknown below which errors and intervals, which hold for many rows, are called approximate. What they leave out is of the order of
/// the unknowns over the rows, here a tenth of a variance.
const FEW_ROWS_PER_UNKNOWN: f64 = 10.0;

/// That there are few rows for so many unknowns.
fn few_rows(fit: &Fit) -> Option<String> {
    let few = fit.rows_per_unknown() < FEW_ROWS_PER_UNKNOWN && fit.interval == IntervalKind::Wald;
    (few && !fit.is_selection()).then(|| {
        format!(
            "There are {} rows for each unknown: with fewer than {FEW_ROWS_PER_UNKNOWN} the errors and intervals are approximate.",
            format_number(fit.rows_per_unknown(), 2)
        )
    })
}

/// Which intervals are not Wald's, and what the bootstrap was.
fn interval_words(fit: &Fit) -> Vec<String> {
    let mut lines = Vec::new();
    if fit.interval == IntervalKind::Profile {
        let of = if fit.nu.is_finite() { "loss" } else { "likelihood" };
        lines.push(format!("The intervals of the parameters are those of the profile of the {of}."));
    }
    if let Some(bootstrap) = &fit.bootstrap {
        let unit = bootstrap.unit;
        let failed = match bootstrap.failed {
            0 => String::new(),
            failed => format!(", {} without an answer left out", format_args!("{} more", grouped(failed))),
        };
        let count = counted(bootstrap.replicates, "sample");
        lines.push(format!("The bootstrap is of {count} of the {unit} with replacement{failed}."));
    }
    lines
}

/// What the bootstrap says, beside the standard errors.
#[must_use]
pub fn bootstrap_table(fit: &Fit) -> Option<Table> {
    let bootstrap = fit.bootstrap.as_ref()?;
    let interval = format_percent(fit.confidence, 6);
    let mut table = Table::new("Bootstrap")
        .column(Column::text(""))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("bias").significant(2))
        .column(Column::number(format!("percentile {interval} from")).significant(5))
        .column(Column::number("to").significant(5))
        .column(Column::number("basic from").significant(5))
        .column(Column::number("to").significant(5));
    for (name, e) in &bootstrap.estimates {
        let numbers = [e.se, e.bias, e.percentile[0], e.percentile[1], e.basic[0], e.basic[1]];
        table.push_row(
            std::iter::once(Cell::from(name.clone())).chain(cells(&numbers, e.se)).collect::<Vec<_>>(),
        );
    }
    Some(table)
}

/// How the search ended.
#[must_use]
pub fn convergence(fit: &Fit) -> String {
    format!(
        "{} after {}; {} {}.",
        if fit.converged { "Converged" } else { "Stopped" },
        counted(fit.iterations, "step"),
        if fit.nu.is_finite() || fit.method.is_without_constant() {
            "mean loss"
        } else {
            "negative mean log-likelihood"
        },
        format_number(fit.loss, 6)
    )
}

/// The least efficiency against maximum likelihood, if it is known.
fn efficiency(fit: &Fit) -> Option<String> {
    let estimates = fit.estimates();
    let budget = fit.diagnostics.error_budget.iter().filter(|_| fit.nu.is_finite());
    let known =
        estimates.iter().zip(budget).filter_map(|(estimate, entry)| Some((estimate, entry.efficiency?)));
    let (estimate, least) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "Efficiency against maximum likelihood: {} or more (`{}`).",
        format_percent(least, 3),
        estimate.name
    ))
}

/// The log-likelihood of a conditional model, whose constants are not among the estimates.
fn likelihood(fit: &Fit) -> Option<String> {
    let conditional = fit.at_rows.as_ref().is_some_and(|rows| rows.conditional);
    let value = fit.log_likelihood.filter(|_| conditional)?;
    Some(format!("Log-likelihood {}.", format_number(value, 8)))
}

/// What the noise `optimal` was expected to be worth.
fn designed(fit: &Fit) -> Option<String> {
    let report = fit.diagnostics.optimal.as_ref()?;
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
fn refitted(fit: &Fit) -> Option<String> {
    let report = fit.diagnostics.two_step.as_ref()?;
    let estimates = fit.estimates();
    let saved = estimates.iter().zip(&report.se_without).map(|(e, without)| 1.0 - e.se / without);
    Some(format!(
        "The noise was fitted again to its draws, which lowered standard errors by up to {}.",
        format_percent(saved.fold(0.0, f64::max), 2)
    ))
}

/// What four times as much noise changed.
fn checked(fit: &Fit) -> Option<String> {
    let check = fit.diagnostics.ratio_check.as_ref()?;
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
pub fn counted(count: usize, thing: &str) -> String {
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

/// Sentences one a line, and warnings apart.
fn below(f: &mut fmt::Formatter<'_>, sentences: &[String], fit: &Fit) -> fmt::Result {
    writeln!(f)?;
    for sentence in sentences {
        writeln!(f, "{sentence}")?;
    }
    for warning in &fit.diagnostics.warnings {
        writeln!(f, "\nWarning: {}.", brief(&warning.to_string()))?;
    }
    Ok(())
}

impl fmt::Display for Estimate {
    /// `name = estimate ± se (lower to upper)`, to the decimals that the standard error deserves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = decimals(self.se);
        let shown = |x: f64| match decimals {
            Some(decimals) if x.is_finite() => format!("{x:.decimals$}"),
            _ => format_number(x, 6),
        };
        let [estimate, lower, upper] = [self.estimate, self.lower, self.upper].map(shown);
        match self.fixed {
            true => write!(f, "{} = {estimate}, fixed", self.name),
            false => {
                write!(f, "{} = {estimate} ± {} ({lower} to {upper})", self.name, format_number(self.se, 3))
            }
        }
    }
}

impl fmt::Display for Fit {
    /// The table that the command prints, and how the fit went.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = fit_table(self, "Fitted parameters", counted(self.rows, "row"));
        f.write_str(&table.to_text())?;
        if let Some(table) = bootstrap_table(self) {
            write!(f, "\n{}", table.to_text())?;
        }
        below(f, &fit_sentences(self), self)
    }
}

impl fmt::Display for RatioFit {
    /// The table that the command prints, and how the fit went.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [self.fit.rows, self.fit.noise_points].map(|count| counted(count, "row"));
        let table = ratio_table(self, "log ratio of the first sample to the second")
            .note(rows.join(" and "))
            .note("log p₁/p₂ = Σ estimate × feature − constant");
        f.write_str(&table.to_text())?;
        below(f, &[convergence(&self.fit)], &self.fit)
    }
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
