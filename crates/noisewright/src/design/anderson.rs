//! Anderson's mixing for the fixed point of a map on moments: a secant method in as many directions as it remembers.

use std::collections::VecDeque;

use nalgebra::{DMatrix, DVector};

use crate::moments::Moments;

/// Steps that are remembered.
const MEMORY: usize = 8;

/// The remembered steps, in units in which the first moments are of size one.
pub(super) struct Mixing {
    scale: DVector<f64>,
    size: usize,
    history: VecDeque<(DVector<f64>, DVector<f64>)>,
}

impl Mixing {
    pub(super) fn new(first: &Moments) -> Self {
        let size = first.mean.len();
        let root: Vec<f64> = (0..size).map(|j| first.information[(j, j)].sqrt()).collect();
        let mut scale = Vec::with_capacity(size * (size + 3) / 2);
        for i in 0..size {
            scale.extend((i..size).map(|j| root[i] * root[j]));
        }
        scale.extend(&root);
        Self { scale: DVector::from_vec(scale), size, history: VecDeque::new() }
    }

    /// The next moments to try, from those tried and what the map made of them.
    pub(super) fn next(&mut self, tried: &Moments, mapped: &Moments) -> Moments {
        let (x, image) = (self.pack(tried), self.pack(mapped));
        let residual = &image - &x;
        let mut next = image;
        if !self.history.is_empty() {
            let columns = self.history.len();
            let differences =
                DMatrix::from_fn(residual.len(), columns, |i, c| residual[i] - self.history[c].1[i]);
            let gamma = least_squares(&differences, &residual);
            for (c, (old, old_residual)) in self.history.iter().enumerate() {
                let step = (&x - old) + (&residual - old_residual);
                next -= gamma[c] * step;
            }
        }
        self.history.push_back((x, residual));
        if self.history.len() > MEMORY {
            self.history.pop_front();
        }
        self.unpack(&next)
    }

    fn pack(&self, moments: &Moments) -> DVector<f64> {
        let mut out = Vec::with_capacity(self.scale.len());
        for i in 0..self.size {
            out.extend((i..self.size).map(|j| moments.information[(i, j)]));
        }
        out.extend(moments.mean.iter());
        DVector::from_vec(out).component_div(&self.scale)
    }

    fn unpack(&self, packed: &DVector<f64>) -> Moments {
        let values = packed.component_mul(&self.scale);
        let mut information = DMatrix::zeros(self.size, self.size);
        let mut at = 0;
        for i in 0..self.size {
            for j in i..self.size {
                information[(i, j)] = values[at];
                information[(j, i)] = values[at];
                at += 1;
            }
        }
        Moments { information, mean: values.rows(at, self.size).into_owned() }
    }
}

/// Least squares by the singular value decomposition, small singular values left out.
fn least_squares(columns: &DMatrix<f64>, right: &DVector<f64>) -> DVector<f64> {
    let svd = columns.clone().svd(true, true);
    let cut = 1e-10 * svd.singular_values.max();
    svd.solve(right, cut).unwrap_or_else(|_| DVector::zeros(columns.ncols()))
}
