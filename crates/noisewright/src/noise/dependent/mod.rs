//! Dependent variables that are not all real: margins of any kind joined by normal scores or, angles, along a tree.

mod circular_tree;
mod grouped;
mod margin;
mod meta_elliptical;

pub(crate) use circular_tree::{CircularTree, SavedBranch};
pub(crate) use grouped::{Group, Grouped};
pub(crate) use margin::Margin;
pub(crate) use meta_elliptical::MetaElliptical;

use crate::{Error, Result, View};

/// Whether a dependence is more than chance: its log-likelihood ratio over independence exceeds the price that the Bayesian
/// information criterion has for one parameter, and that of having looked at so many pairs.
fn is_found(log_ratio: f64, rows: f64, pairs: usize) -> bool {
    log_ratio > 0.5 * rows.max(1.0).ln() + (pairs.max(1) as f64).ln()
}

/// How many rows weighted rows are worth (Kish).
fn effective_rows(rows: usize, weights: Option<&[f64]>) -> f64 {
    let Some(weights) = weights else { return rows as f64 };
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(s, q), w| (s + w, q + w * w));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// Margins that belong to as many variables as there are.
fn check_margins(margins: &[Margin], expected: usize) -> Result<()> {
    let found = margins.len();
    if found == 0 {
        return Err(Error::NoVariables);
    }
    if found != expected {
        return Err(Error::Shape { what: "distributions of single variables", expected, found });
    }
    Ok(())
}

/// Adds the log-densities of every variable's own distribution.
fn add_margins(margins: &[Margin], points: View<'_>, out: &mut [f64]) {
    let mut own = vec![0.0; out.len()];
    for (j, margin) in margins.iter().enumerate() {
        margin.own().log_density_of(points.column(j), &mut own);
        out.iter_mut().zip(&own).for_each(|(o, own)| *o += own);
    }
}

/// The values of some columns, column-major.
pub(crate) fn columns_of(points: View<'_>, columns: &[usize]) -> Vec<f64> {
    columns.iter().flat_map(|j| points.column(*j)).copied().collect()
}

/// Margins as plain data, each in words that say all of it.
fn saved_margins(margins: &[Margin]) -> Option<Vec<crate::SavedNoise>> {
    margins.iter().map(|margin| margin.own().saved()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
