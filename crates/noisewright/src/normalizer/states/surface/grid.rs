//! The cells of a surface.

use super::Coordinate;
use crate::{Error, Result};

/// Cells along one coordinate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Bins {
    /// So many of equal width, from the smallest to the largest value.
    Count(usize),
    /// Between increasing edges; the last edge belongs to the last cell.
    Edges(Vec<f64>),
}

/// Cells along one or two coordinates, the last coordinate running fastest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) edges: Vec<Vec<f64>>,
}

/// Cells at most: more would have hardly a draw each, and every one costs a pass over the draws.
const MOST: usize = 1_000_000;

impl Grid {
    pub(super) fn new(coordinates: &[Coordinate<'_>], bins: &[Bins]) -> Result<Self> {
        let count = coordinates.len();
        if !(1..=2).contains(&count) {
            return Err(Error::option("coordinates", "must be one or two"));
        }
        let default = [Bins::Count(if count == 1 { 50 } else { 30 })];
        let bins = if bins.is_empty() { &default } else { bins };
        if bins.len() != 1 && bins.len() != count {
            return Err(Error::Shape { what: "numbers of bins", expected: count, found: bins.len() });
        }
        let of = |(i, coordinate): (usize, &Coordinate<'_>)| {
            edges(&bins[if bins.len() == 1 { 0 } else { i }], coordinate)
        };
        let edges = coordinates.iter().enumerate().map(of).collect::<Result<Vec<_>>>()?;
        let grid = Self { edges };
        if grid.len() > MOST {
            return Err(Error::range("bins", "at most a million in all", grid.len() as f64));
        }
        Ok(grid)
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        self.edges.iter().map(|edges| edges.len() - 1).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// The interval along each coordinate of a cell.
    fn sides(&self, cell: usize) -> Vec<[f64; 2]> {
        let mut rest = cell;
        let mut sides: Vec<[f64; 2]> = Vec::new();
        for edges in self.edges.iter().rev() {
            let cells = edges.len() - 1;
            let at = rest % cells;
            rest /= cells;
            sides.push([edges[at], edges[at + 1]]);
        }
        sides.reverse();
        sides
    }

    pub(super) fn centre(&self, cell: usize) -> Vec<f64> {
        self.sides(cell).iter().map(|[low, high]| 0.5 * (low + high)).collect()
    }

    pub(super) fn volume(&self, cell: usize) -> f64 {
        self.sides(cell).iter().map(|[low, high]| high - low).product()
    }

    /// The cell that a point is in.
    pub(super) fn cell(&self, point: &[f64]) -> Option<usize> {
        if point.len() != self.edges.len() {
            return None;
        }
        point.iter().zip(&self.edges).try_fold(0, |cell, (x, edges)| {
            let cells = edges.len() - 1;
            let above = edges.partition_point(|edge| edge <= x);
            let at = if *x == edges[cells] { cells } else { above };
            (1..=cells).contains(&at).then(|| cell * cells + at - 1)
        })
    }

    /// The cell of every draw; `None` outside of all.
    pub(super) fn cells(&self, coordinates: &[Coordinate<'_>]) -> Vec<Option<u32>> {
        let draws = coordinates.first().map_or(0, |coordinate| coordinate.values.len());
        let mut point = vec![0.0; coordinates.len()];
        (0..draws)
            .map(|n| {
                point.iter_mut().zip(coordinates).for_each(|(p, coordinate)| *p = coordinate.values[n]);
                self.cell(&point).map(|cell| cell as u32)
            })
            .collect()
    }

    /// Draws in every cell.
    pub(super) fn counts(&self, cells: &[Option<u32>]) -> Vec<usize> {
        let mut counts = vec![0; self.len()];
        cells.iter().flatten().for_each(|cell| counts[*cell as usize] += 1);
        counts
    }
}

fn edges(bins: &Bins, coordinate: &Coordinate<'_>) -> Result<Vec<f64>> {
    match bins {
        Bins::Edges(edges) => {
            let increasing = edges.windows(2).all(|pair| pair[0] < pair[1]);
            if edges.len() < 2 || !increasing || edges.iter().any(|edge| !edge.is_finite()) {
                return Err(Error::option("bins", "must have at least two finite edges that increase"));
            }
            Ok(edges.clone())
        }
        Bins::Count(0) => Err(Error::range("bins", "at least 1", 0.0)),
        Bins::Count(count) if *count > MOST => {
            Err(Error::range("bins", "at most a million in all", *count as f64))
        }
        Bins::Count(count) => {
            let low = coordinate.values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = coordinate.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if low >= high {
                let reason = format!(
                    "cannot divide the coordinate `{}`, which is the same at all draws",
                    coordinate.name
                );
                return Err(Error::option("bins", reason));
            }
            let width = (high - low) / *count as f64;
            let mut edges: Vec<f64> = (0..=*count).map(|i| low + width * i as f64).collect();
            edges[*count] = high;
            Ok(edges)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_in_the_cell_whose_sides_hold_it() {
        let grid = Grid { edges: vec![vec![0.0, 1.0, 3.0], vec![-1.0, 0.0, 0.5, 2.0]] };
        assert_eq!(grid.cell(&[0.0, -1.0]), Some(0));
        assert_eq!(grid.cell(&[3.0, 2.0]), Some(5));
        assert_eq!(grid.cell(&[1.0, 0.2]), Some(4));
        assert_eq!(grid.cell(&[3.1, 0.2]), None);
        assert_eq!(grid.cell(&[0.5, -1.1]), None);
        assert_eq!(grid.centre(4), [2.0, 0.25]);
        assert_eq!(grid.volume(4), 1.0);
    }
}
