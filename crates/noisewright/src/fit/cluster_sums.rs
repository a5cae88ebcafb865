//! Sums over the rows of every cluster, whose rows may be anywhere.

use std::cmp::Ordering;

use nalgebra::DVector;

use super::distributed::partial_fields;

/// What rows of clusters add up to. Joined in the tree over blocks the sums have the same bits wherever the rows are; a cluster takes
/// as many numbers as there are unknowns and three more.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClusterSums {
    /// The clusters, in the order of their names.
    names: Vec<u64>,
    /// The first row of each that was seen.
    first_rows: Vec<usize>,
    weights: Vec<f64>,
    /// One cluster after the other, as many numbers each.
    sums: Vec<f64>,
}

partial_fields!(ClusterSums { names, first_rows, weights, sums });

impl ClusterSums {
    /// Of consecutive rows, each of the cluster of its name, the first of them of this number.
    pub(crate) fn of_rows(
        names: &[u64],
        first_row: usize,
        weights: Option<&[f64]>,
        value: impl Fn(usize) -> DVector<f64>,
    ) -> Self {
        let mut order: Vec<usize> = (0..names.len()).collect();
        // Rows of one cluster stay in their order.
        order.sort_by_key(|row| names[*row]);
        let mut found = Self::default();
        for row in order {
            let (value, weight) = (value(row), weights.map_or(1.0, |w| w[row]));
            if found.names.last() == Some(&names[row]) {
                let before = found.sums.len() - value.len();
                found.sums[before..].iter_mut().zip(value.iter()).for_each(|(sum, x)| *sum += x);
                found.weights.last_mut().into_iter().for_each(|sum| *sum += weight);
            } else {
                found.push((names[row], first_row + row, weight), value.as_slice());
            }
        }
        found
    }

    fn push(&mut self, (name, first_row, weight): (u64, usize, f64), sum: &[f64]) {
        self.names.push(name);
        self.first_rows.push(first_row);
        self.weights.push(weight);
        self.sums.extend_from_slice(sum);
    }

    /// One of the clusters.
    fn get(&self, index: usize) -> ((u64, usize, f64), &[f64]) {
        let size = self.sums.len() / self.names.len();
        let head = (self.names[index], self.first_rows[index], self.weights[index]);
        (head, &self.sums[index * size..(index + 1) * size])
    }

    /// Of these rows and later ones.
    pub(crate) fn join(self, later: Self) -> Self {
        if self.names.is_empty() {
            return later;
        }
        let mut found = Self::default();
        let (mut i, mut j) = (0, 0);
        while i < self.names.len() || j < later.names.len() {
            let order = match (self.names.get(i), later.names.get(j)) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            if order != Ordering::Greater {
                let (head, sum) = self.get(i);
                found.push(head, sum);
                i += 1;
            }
            if order != Ordering::Less {
                let (head, sum) = later.get(j);
                if order == Ordering::Equal {
                    let before = found.sums.len() - sum.len();
                    found.sums[before..].iter_mut().zip(sum).for_each(|(a, b)| *a += b);
                    found.weights.last_mut().into_iter().for_each(|a| *a += head.2);
                } else {
                    found.push(head, sum);
                }
                j += 1;
            }
        }
        found
    }

    /// The sums and weights of the clusters, in the order of their first rows, which does not depend on their names.
    pub(crate) fn groups(&self) -> Vec<(DVector<f64>, f64)> {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|index| self.first_rows[*index]);
        let group = |index: usize| {
            let ((_, _, weight), sum) = self.get(index);
            (DVector::from_column_slice(sum), weight)
        };
        order.into_iter().map(group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::distributed::{from_bytes, to_bytes};
    use proptest::prelude::*;

    proptest! {
        /// Whole numbers add without rounding: any division of the rows gives the sums of all, and so do other names.
        #[test]
        fn parts_join_to_the_sums_of_all(rows in proptest::collection::vec((0u64..7, -9i8..9, 0u8..4), 1..80), cut in 0usize..80) {
            let cut = cut.min(rows.len());
            let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
            let of = |from: usize, to: usize, name: &dyn Fn(u64) -> u64| {
                let names: Vec<u64> = rows[from..to].iter().map(|row| name(row.0)).collect();
                let value = |row: usize| DVector::from_element(2, f64::from(rows[from + row].1));
                ClusterSums::of_rows(&names, from, Some(&weights[from..to]), value)
            };
            let whole = of(0, rows.len(), &|name| name);
            let joined = of(0, cut, &|name| name).join(of(cut, rows.len(), &|name| name));
            prop_assert_eq!(&joined, &whole);
            prop_assert_eq!(from_bytes::<ClusterSums>(&to_bytes(&whole)), Some(joined));
            prop_assert_eq!(of(0, rows.len(), &|name| 99 - name).groups(), whole.groups());
            let mut expected: Vec<(u64, f64, f64)> = Vec::new();
            for (name, value, weight) in &rows {
                let place = expected.iter().position(|known| known.0 == *name).unwrap_or(expected.len());
                if place == expected.len() {
                    expected.push((*name, 0.0, 0.0));
                }
                expected[place].1 += f64::from(*value);
                expected[place].2 += f64::from(*weight);
            }
            let found: Vec<(f64, f64)> = whole.groups().iter().map(|(sum, weight)| (sum[1], *weight)).collect();
            prop_assert_eq!(found, expected.iter().map(|group| (group.1, group.2)).collect::<Vec<_>>());
        }
    }
}
