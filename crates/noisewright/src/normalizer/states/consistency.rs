//! Whether the draws of every state can be draws of it, by what the two states that overlap most say of their log ratio.

use std::collections::BTreeSet;

use noisewright_numerics::summation::log_mean_exp;

use super::super::consistency::{disagreement, improbable, is_repeated, neighbours_correlation};
use super::problem::Problem;
use super::result::StatesEstimate;
use super::{Order, StatesWarning};
use crate::Result;
use crate::normalizer::Dependence;

/// What the draws of the states show against themselves; states are named by the caller's numbers.
pub(super) fn doubts(
    problem: &Problem<'_>,
    c: &[f64],
    order: &Order,
    estimate: &StatesEstimate,
    dependence: Dependence,
) -> Result<Vec<StatesWarning>> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); problem.states()];
    problem.origin.iter().enumerate().for_each(|(row, state)| rows[*state as usize].push(row));
    let mut found = Vec::new();
    for (a, b) in pairs(order, estimate) {
        problem.context.check()?;
        let [first, second] = [&rows[a], &rows[b]].map(|rows| log_ratios(problem, c, [a, b], rows));
        let nu = problem.counts[b] / problem.counts[a];
        let worth = |at: usize| problem.counts[at] / estimate.inefficiency()[order.sampled[at]].max(1.0);
        let shifted = |ratios: &[f64]| -> Vec<f64> { ratios.iter().map(|u| u - nu.ln()).collect() };
        let size = problem.offsets[a].abs().max(problem.offsets[b].abs());
        let apart = disagreement(&[shifted(&first), shifted(&second)], nu, [worth(a), worth(b)], size);
        let reverse: Vec<f64> = first.iter().map(|u| -u).collect();
        let unlikely = [&reverse, &second].map(|ratios| improbable(log_mean_exp(ratios)));
        let most = unlikely.into_iter().chain([apart]).flatten().fold(f64::NAN, f64::max);
        let states = [order.sampled[a], order.sampled[b]];
        if most.is_finite() {
            found.push(StatesWarning::Contradiction { states, standard_errors: most });
        }
        if dependence == Dependence::Independent {
            for (state, ratios) in states.into_iter().zip([&first, &second]) {
                let seen = neighbours_correlation(ratios);
                found.extend(seen.map(|correlation| StatesWarning::NotIndependent { state, correlation }));
            }
        }
    }
    for (at, rows) in rows.iter().enumerate() {
        let own = values(problem, at, rows);
        let other = values(problem, (at + 1) % problem.states(), rows);
        if is_repeated(&[&own, &other], std::iter::once(0)) {
            found.push(StatesWarning::RepeatedDraws { state: order.sampled[at] });
        }
    }
    found.dedup_by(|a, b| a == b);
    Ok(found)
}

/// Every state with draws and the one of its group that it shares most draws with, by their places.
fn pairs(order: &Order, estimate: &StatesEstimate) -> BTreeSet<(usize, usize)> {
    let together =
        |i: usize, j: usize| estimate.groups().iter().any(|group| group.contains(&i) && group.contains(&j));
    let partner = |a: usize| {
        let i = order.sampled[a];
        let others = (0..order.sampled.len()).filter(|b| *b != a && together(i, order.sampled[*b]));
        let share = |b: usize| estimate.overlap()[(i, order.sampled[b])];
        others.max_by(|x, y| share(*x).total_cmp(&share(*y)))
    };
    (0..order.sampled.len()).filter_map(|a| partner(a).map(|b| (a.min(b), a.max(b)))).collect()
}

/// `log p_a − log p_b` at some draws.
fn log_ratios(problem: &Problem<'_>, c: &[f64], [a, b]: [usize; 2], rows: &[usize]) -> Vec<f64> {
    let log_p = |k: usize, row: usize| problem.columns[k][row] - problem.offsets[k] - c[k];
    rows.iter().map(|row| log_p(a, *row) - log_p(b, *row)).collect()
}

fn values(problem: &Problem<'_>, k: usize, rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|row| problem.columns[k][*row]).collect()
}
