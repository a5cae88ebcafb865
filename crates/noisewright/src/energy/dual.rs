//! Energies from closures over dual numbers: the exact score by forward differentiation.

use num_dual::Dual64;

use crate::{Energy, Result, View};

/// A log-density as a function of parameters that carry a derivative, and of one point.
pub(crate) struct DualEnergy<F> {
    names: Vec<String>,
    dimension: usize,
    log_density: F,
}

impl<F> DualEnergy<F> {
    pub(crate) fn new(names: Vec<String>, dimension: usize, log_density: F) -> Self {
        Self { names, dimension, log_density }
    }
}

impl<F: Fn(&[Dual64], &[f64]) -> Dual64 + Send + Sync> Energy for DualEnergy<F> {
    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let rows = points.rows();
        let mut x = vec![0.0; points.columns()];
        let mut theta: Vec<Dual64> = parameters.iter().map(|p| Dual64::new(*p, 0.0)).collect();
        for (row, value) in value.iter_mut().enumerate() {
            points.copy_row(row, &mut x);
            *value = (self.log_density)(&theta, &x).re;
        }
        for (j, column) in score.into_iter().flat_map(|score| score.chunks_mut(rows.max(1))).enumerate() {
            theta[j].eps = 1.0;
            for (row, slope) in column.iter_mut().enumerate() {
                points.copy_row(row, &mut x);
                // Where there is no density there is no derivative either.
                *slope =
                    if value[row] == f64::NEG_INFINITY { 0.0 } else { (self.log_density)(&theta, &x).eps };
            }
            theta[j].eps = 0.0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::DualNum;

    #[test]
    fn the_score_is_exact_to_rounding() {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let energy =
            DualEnergy::new(names, 1, |t: &[Dual64], x: &[f64]| (t[0] * x[0]).sin() - t[1].exp() * x[0]);
        let (mut value, mut score) = ([0.0; 2], [0.0; 4]);
        energy.evaluate(&[1.2, 0.4], View::new(1, 2, &[0.7, -1.3]), &mut value, Some(&mut score)).unwrap();
        for (i, x) in [0.7f64, -1.3].into_iter().enumerate() {
            assert!((value[i] - ((1.2 * x).sin() - 0.4f64.exp() * x)).abs() < 1e-15);
            assert!((score[i] - x * (1.2 * x).cos()).abs() < 1e-15, "{score:?}");
            assert!((score[2 + i] + 0.4f64.exp() * x).abs() < 1e-15, "{score:?}");
        }
    }
}
