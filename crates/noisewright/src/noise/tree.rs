//! Dependent states: every variable given one other, along the tree that says most about them (Chow and Liu 1968).

use noisewright_numerics::random::Stream;

use super::fitting::total_weight;
use super::weighted_index::Picker;
use crate::{Error, Noise, Result, View};

/// Rows from which the tree is found, at most: mutual informations of all pairs cost rows times pairs.
const STRUCTURE_ROWS: usize = 1 << 13;

/// A distribution of finitely many states of several variables in which every variable depends on one other, its parent.
///
/// Of all trees the one with the largest sum of mutual informations between children and parents has the largest
/// likelihood. A chain of spins is such a tree: its density is found exactly.
#[derive(Clone, Debug)]
pub(crate) struct StateTree {
    states: Vec<Vec<f64>>,
    /// Variables in an order in which parents come before their children.
    order: Vec<usize>,
    branches: Vec<Branch>,
}

/// One variable given its parent.
#[derive(Clone, Debug)]
struct Branch {
    /// The parent, or nothing for the root.
    parent: Option<usize>,
    /// Log-probabilities of the states, for every state of the parent one after the other.
    log_probabilities: Vec<f64>,
    /// Draws of a state, for every state of the parent.
    pickers: Vec<Picker>,
}

impl StateTree {
    /// The tree of largest likelihood over given states, `pseudo_count` added to every pair of states.
    ///
    /// # Errors
    /// When there are no data, or one is not among the states of its variable.
    pub(crate) fn fit(
        states: &[Vec<f64>],
        pseudo_count: f64,
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let found = points.columns();
        if states.is_empty() || found != states.len() {
            return Err(Error::Shape { what: "columns of data", expected: states.len(), found });
        }
        total_weight("tree", points.rows(), weights)?;
        let table = Table::new(states, points, weights)?;
        let parents = table.parents(pseudo_count);
        let branch = |(j, parent): (usize, &Option<usize>)| table.branch(j, *parent, pseudo_count);
        let branches = parents.iter().enumerate().map(branch).collect();
        Ok(Self { states: states.to_vec(), order: parents_first(&parents), branches })
    }

    fn state_of(&self, variable: usize, value: f64) -> Option<usize> {
        self.states[variable].iter().position(|state| *state == value)
    }
}

/// Rows as numbers of states.
struct Table<'a> {
    sizes: Vec<usize>,
    columns: Vec<Vec<usize>>,
    weights: Option<&'a [f64]>,
}

impl<'a> Table<'a> {
    fn new(states: &[Vec<f64>], points: View<'_>, weights: Option<&'a [f64]>) -> Result<Self> {
        let column = |(j, own): (usize, &Vec<f64>)| -> Result<Vec<usize>> {
            let number = |(row, x): (usize, &f64)| {
                own.iter().position(|state| state == x).ok_or_else(|| Error::Fit {
                    noise: "tree".into(),
                    reason: format!("row {} of the data is {x}, which is not one of the states", row + 1),
                })
            };
            points.column(j).iter().enumerate().map(number).collect()
        };
        let columns = states.iter().enumerate().map(column).collect::<Result<_>>()?;
        Ok(Self { sizes: states.iter().map(Vec::len).collect(), columns, weights })
    }

    /// How often every pair of states of two variables occurs, among every so many rows.
    fn pairs(&self, first: usize, second: usize, pseudo_count: f64, stride: usize) -> Vec<f64> {
        let size = self.sizes[second];
        let mut counts = vec![pseudo_count; self.sizes[first] * size];
        let rows = self.columns[first].iter().zip(&self.columns[second]).enumerate().step_by(stride);
        for (row, (a, b)) in rows {
            counts[a * size + b] += self.weights.map_or(1.0, |w| w[row]);
        }
        counts
    }

    /// Every variable's parent in the tree with the largest sum of mutual informations; the first is the root.
    fn parents(&self, pseudo_count: f64) -> Vec<Option<usize>> {
        let stride = self.columns[0].len().div_ceil(STRUCTURE_ROWS).max(1);
        let information = |a: usize, b: usize| {
            mutual_information(&self.pairs(a, b, pseudo_count, stride), self.sizes[a], self.sizes[b])
        };
        let parents = parents_by(self.sizes.len(), information);
        parents.into_iter().map(|parent| parent.map(|(parent, _)| parent)).collect()
    }

    /// The probabilities of one variable's states given its parent's.
    fn branch(&self, variable: usize, parent: Option<usize>, pseudo_count: f64) -> Branch {
        let size = self.sizes[variable];
        let counts = match parent {
            Some(parent) => self.pairs(parent, variable, pseudo_count, 1),
            None => {
                let mut counts = vec![pseudo_count; size];
                for (row, state) in self.columns[variable].iter().enumerate() {
                    counts[*state] += self.weights.map_or(1.0, |w| w[row]);
                }
                counts
            }
        };
        let rows: Vec<Vec<f64>> = counts.chunks(size).map(shares).collect();
        Branch {
            parent,
            log_probabilities: rows.iter().flatten().map(|p| p.ln()).collect(),
            pickers: rows.iter().map(|row| Picker::new(row)).collect(),
        }
    }
}

/// Counts as shares of their sum; equal ones where there is none.
fn shares(counts: &[f64]) -> Vec<f64> {
    let total: f64 = counts.iter().sum();
    let equal = 1.0 / counts.len() as f64;
    counts.iter().map(|count| if total > 0.0 { count / total } else { equal }).collect()
}

/// `Σ p_ab ln(p_ab / (p_a p_b))` of a table of counts.
fn mutual_information(counts: &[f64], rows: usize, columns: usize) -> f64 {
    let total: f64 = counts.iter().sum();
    let of_row = |a: usize| counts[a * columns..(a + 1) * columns].iter().sum::<f64>();
    let of_column = |b: usize| (0..rows).map(|a| counts[a * columns + b]).sum::<f64>();
    let (by_row, by_column): (Vec<f64>, Vec<f64>) =
        ((0..rows).map(of_row).collect(), (0..columns).map(of_column).collect());
    let term = |(i, count): (usize, &f64)| {
        let expected = by_row[i / columns] * by_column[i % columns];
        if *count > 0.0 { count / total * (count * total / expected).ln() } else { 0.0 }
    };
    counts.iter().enumerate().map(term).sum()
}

/// Every variable's parent in the tree with the largest sum of mutual informations, and the information with it (Prim's
/// algorithm); the first is the root.
pub(super) fn parents_by(
    count: usize,
    information: impl Fn(usize, usize) -> f64,
) -> Vec<Option<(usize, f64)>> {
    let mut parents = vec![None; count];
    let mut inside = vec![false; count];
    inside[0] = true;
    let mut best: Vec<(f64, usize)> =
        (0..count).map(|j| (if j == 0 { 0.0 } else { information(0, j) }, 0)).collect();
    for _ in 1..count {
        let outside = (0..count).filter(|j| !inside[*j]);
        let Some(next) = outside.max_by(|a, b| best[*a].0.total_cmp(&best[*b].0)) else { break };
        inside[next] = true;
        parents[next] = Some((best[next].1, best[next].0));
        for j in (0..count).filter(|j| !inside[*j]) {
            let found = information(next, j);
            if found > best[j].0 {
                best[j] = (found, next);
            }
        }
    }
    parents
}

/// An order in which parents come before their children.
pub(super) fn parents_first(parents: &[Option<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..parents.len()).filter(|j| parents[*j].is_none()).collect();
    let mut done = 0;
    while let Some(parent) = order.get(done).copied() {
        order.extend((0..parents.len()).filter(|j| parents[*j] == Some(parent)));
        done += 1;
    }
    order
}

impl Noise for StateTree {
    fn dimension(&self) -> usize {
        self.states.len()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        out.fill(0.0);
        let numbers: Vec<Vec<Option<usize>>> = (0..self.dimension())
            .map(|j| points.column(j).iter().map(|x| self.state_of(j, *x)).collect())
            .collect();
        for (j, branch) in self.branches.iter().enumerate() {
            let size = self.states[j].len();
            for (row, o) in out.iter_mut().enumerate() {
                let above = branch.parent.map_or(Some(0), |parent| numbers[parent][row]);
                *o += match (above, numbers[j][row]) {
                    (Some(above), Some(own)) => branch.log_probabilities[above * size + own],
                    _ => f64::NEG_INFINITY,
                };
            }
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let mut drawn = vec![0; self.dimension()];
        for row in 0..rows {
            for &j in &self.order {
                let branch = &self.branches[j];
                let above = branch.parent.map_or(0, |parent| drawn[parent]);
                drawn[j] = branch.pickers[above].pick(stream);
                out[j * rows + row] = self.states[j][drawn[j]];
            }
        }
    }

    fn describe(&self) -> String {
        format!("a tree of {} variables fitted to the data", self.dimension())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use noisewright_numerics::random::stream;

    /// Three spins, each equal to the one before with probability 0.9, listed as middle, first, last.
    fn chain(rows: usize) -> Vec<f64> {
        use rand::RngExt;
        let mut random = stream(5, 0);
        let mut columns = vec![0.0; 3 * rows];
        for row in 0..rows {
            let mut spin = if random.random::<f64>() < 0.5 { 1.0 } else { -1.0 };
            for place in [1, 0, 2] {
                columns[place * rows + row] = spin;
                spin *= if random.random::<f64>() < 0.9 { 1.0 } else { -1.0 };
            }
        }
        columns
    }

    #[test]
    fn a_chain_is_found_whatever_the_order_of_its_variables() {
        let columns = chain(4000);
        let states = vec![vec![-1.0, 1.0]; 3];
        let tree = StateTree::fit(&states, 0.5, View::new(3, 4000, &columns), None).unwrap();
        let parents: Vec<Option<usize>> = tree.branches.iter().map(|b| b.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(0)]);
        // P(all up) = ½ · 0.9²; a share of 4000 rows is known to 0.008, four of those are allowed.
        let mut out = [0.0];
        tree.log_density(View::new(3, 1, &[1.0, 1.0, 1.0]), &mut out);
        assert!((out[0].exp() - 0.405).abs() < 0.032, "{}", out[0].exp());
    }

    #[test]
    fn probabilities_sum_to_one_and_draws_have_them() {
        let columns = chain(50);
        let states = vec![vec![-1.0, 1.0], vec![-1.0, 1.0], vec![-1.0, 0.0, 1.0]];
        let tree = StateTree::fit(&states, 0.5, View::new(3, 50, &columns), None).unwrap();
        let all: Vec<[f64; 3]> = [-1.0, 1.0]
            .into_iter()
            .flat_map(|a| [-1.0, 1.0].into_iter().flat_map(move |b| [-1.0, 0.0, 1.0].map(|c| [a, b, c])))
            .collect();
        let column = |j: usize| all.iter().map(move |row| row[j]);
        let values: Vec<f64> = (0..3).flat_map(column).collect();
        let mut out = vec![0.0; all.len()];
        tree.log_density(View::new(3, all.len(), &values), &mut out);
        assert!((out.iter().map(|l| l.exp()).sum::<f64>() - 1.0).abs() < 1e-14);
        let drawn = crate::sample(&tree, 20_000, 1);
        for (row, log) in all.iter().zip(&out) {
            let same = |i: usize| (0..3).all(|j| drawn.view().get(i, j) == row[j]);
            let share = (0..20_000).filter(|i| same(*i)).count() as f64 / 20_000.0;
            let p = log.exp();
            assert!(
                (share - p).abs() < 4.0 * (p * (1.0 - p) / 20_000.0).sqrt() + 1e-9,
                "{row:?} {share} {p}"
            );
        }
    }

    #[test]
    fn pairs_that_occur_are_likely() {
        // The second spin follows the first in three rows of four.
        let columns = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0];
        let states = [vec![-1.0, 1.0], vec![-1.0, 1.0]];
        let tree = StateTree::fit(&states, 0.0, View::new(2, 4, &columns), None).unwrap();
        let mut out = [0.0];
        tree.log_density(View::new(2, 1, &[1.0, 1.0]), &mut out);
        assert!((out[0].exp() - 0.5).abs() < 1e-15);
    }
}
