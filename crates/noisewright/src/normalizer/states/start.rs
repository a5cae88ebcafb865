//! Where Newton starts: Bennett's ratio between pairs of states, along the tree of the pairs that overlap most.
//!
//! Each pair alone has one root, found by safeguarded Newton whatever the distance, so the start is good even where the
//! full problem has next to no curvature.

use noisewright_numerics::kernels::{max, sum_sigmoid};
use noisewright_numerics::optimize::root_increasing;
use noisewright_numerics::parallel::try_map;

use super::problem::Problem;
use crate::Result;

/// Draws of each state that a pair is judged by.
const DRAWS: usize = 200;
/// Sigmoids that all pairs together may cost, roughly.
const WORK: usize = 40_000_000;

/// `c_l − c_k` between two states, and how many draws go over between them.
#[derive(Clone, Copy)]
struct Edge {
    difference: f64,
    crossings: f64,
}

/// Log-normalizers from pairs of states, the first state's being 0.
pub(super) fn start(problem: &Problem<'_>) -> Result<Vec<f64>> {
    let states = problem.states();
    let rows = subsample(problem);
    let edges: Vec<Vec<Edge>> = try_map(0..states, |k| -> Result<_> {
        problem.context.check()?;
        Ok((0..k).map(|l| edge(problem, &rows, l, k)).collect())
    })?;
    Ok(spanning_tree(states, |from, to| {
        if from < to {
            edges[to][from]
        } else {
            let Edge { difference, crossings } = edges[from][to];
            Edge { difference: -difference, crossings }
        }
    }))
}

/// Evenly spaced draws of every state.
fn subsample(problem: &Problem<'_>) -> Vec<Vec<usize>> {
    let states = problem.states();
    let each = (WORK / (30 * states * states).max(1)).clamp(20, DRAWS);
    let mut rows = vec![Vec::new(); states];
    let mut seen = vec![0usize; states];
    for (row, &state) in problem.origin.iter().enumerate() {
        let k = state as usize;
        let count = problem.counts[k] as usize;
        // Row i is taken where i·each/count passes an integer.
        let (taken, next) = (seen[k] * each / count, (seen[k] + 1) * each / count);
        if count <= each || next > taken {
            rows[k].push(row);
        }
        seen[k] += 1;
    }
    rows
}

/// Bennett's ratio of the states `k` and `l` alone (MATH §4).
fn edge(problem: &Problem<'_>, rows: &[Vec<usize>], k: usize, l: usize) -> Edge {
    let log_ratio = |row: &usize| {
        let (f_l, f_k) = (problem.columns[l][*row], problem.columns[k][*row]);
        (f_l - problem.offsets[l]) - (f_k - problem.offsets[k])
    };
    let forward: Vec<f64> = rows[k].iter().map(log_ratio).collect();
    let backward: Vec<f64> = rows[l].iter().map(|row| -log_ratio(row)).collect();
    let log_nu = (forward.len() as f64 / backward.len() as f64).ln();
    // Draws of k taken for l, and draws of l taken for k.
    let crossings = |c: f64| (sum_sigmoid(&forward, c + log_nu), sum_sigmoid(&backward, -c - log_nu));
    let Some(middle) = middle(&forward, &backward) else {
        return Edge { difference: 0.0, crossings: 0.0 };
    };
    let found = root_increasing(middle - log_nu, 1.0, |c| {
        let ((up, up_slope), (down, down_slope)) = crossings(c);
        (down - up, down_slope + up_slope)
    });
    let ((up, _), (down, _)) = crossings(found.at);
    Edge { difference: found.at, crossings: up.min(down) }
}

/// Half way between the nearest log-ratios of the two sides: where the root is when they hardly meet.
fn middle(forward: &[f64], backward: &[f64]) -> Option<f64> {
    let up = max(forward);
    let down = -max(backward);
    match (up.is_finite(), down.is_finite()) {
        (true, true) => Some(0.5 * (up + down)),
        (true, false) => Some(up),
        (false, true) => Some(down),
        (false, false) => None,
    }
}

/// Follows, from the first state on, the edge with the most crossings to a state not yet reached.
fn spanning_tree(states: usize, edge: impl Fn(usize, usize) -> Edge) -> Vec<f64> {
    let mut c = vec![0.0; states];
    let mut reached = vec![false; states];
    let mut best: Vec<(usize, f64)> = vec![(0, -1.0); states];
    let mut current = 0;
    for _ in 1..states {
        reached[current] = true;
        for to in (0..states).filter(|to| !reached[*to]) {
            let crossings = edge(current, to).crossings;
            if crossings > best[to].1 {
                best[to] = (current, crossings);
            }
        }
        let open = (0..states).filter(|to| !reached[*to]);
        let Some(next) = open.max_by(|a, b| best[*a].1.total_cmp(&best[*b].1)) else { break };
        c[next] = c[best[next].0] + edge(best[next].0, next).difference;
        current = next;
    }
    c
}
