//! The rows to be fitted: in memory, or read again and again from somewhere else.

use crate::{Error, Points, Result, View};

/// Rows of data, with what is known of their weights and of how they depend on one another.
///
/// ```
/// use noisewright::{Points, fit::Data};
/// let points = Points::unnamed(1, 3, vec![0.0, 1.0, 2.0]);
/// let data = Data::from(&points).with_weights(&[1.0, 5.0, 2.0]);
/// assert_eq!(data.total_weight(), 8.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// The points.
    pub points: View<'a>,
    /// How many times each row counts.
    pub weights: Option<&'a [f64]>,
    /// Which rows are correlated.
    pub dependence: Dependence<'a>,
}

/// Which rows are correlated, for the standard errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Dependence<'a> {
    /// None.
    #[default]
    Independent,
    /// Rows with the same number belong together; different numbers are independent.
    Clusters(&'a [u64]),
    /// Markov chains one after the other, of these lengths.
    Chains(&'a [usize]),
}

impl<'a> From<&'a Points> for Data<'a> {
    fn from(points: &'a Points) -> Self {
        Self::new(points.view())
    }
}

impl<'a> Data<'a> {
    /// Independent rows that count once.
    #[must_use]
    pub fn new(points: View<'a>) -> Self {
        Self { points, weights: None, dependence: Dependence::Independent }
    }

    /// The same rows, each counting as many times as its weight says.
    #[must_use]
    pub fn with_weights(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// The same rows, known to depend on one another.
    #[must_use]
    pub fn with_dependence(self, dependence: Dependence<'a>) -> Self {
        Self { dependence, ..self }
    }

    /// The sum of the weights, T_d.
    #[must_use]
    pub fn total_weight(&self) -> f64 {
        self.weights.map_or(self.points.rows() as f64, noisewright_numerics::summation::sum)
    }

    pub(crate) fn check(&self, dimension: usize) -> Result<()> {
        let rows = self.points.rows();
        if self.points.columns() != dimension {
            return Err(Error::Shape {
                what: "columns of data",
                expected: dimension,
                found: self.points.columns(),
            });
        }
        if rows == 0 {
            return Err(Error::NoData);
        }
        if let Some(weights) = self.weights {
            check_weights(weights, rows)?;
        }
        match self.dependence {
            Dependence::Independent => Ok(()),
            Dependence::Clusters(ids) if ids.len() != rows => {
                Err(Error::Shape { what: "cluster numbers", expected: rows, found: ids.len() })
            }
            Dependence::Chains(lengths) if lengths.iter().sum::<usize>() != rows => {
                Err(Error::Shape { what: "rows in the chains", expected: rows, found: lengths.iter().sum() })
            }
            _ => Ok(()),
        }
    }
}

/// One weight per row, none negative or endless, and not all zero.
pub(crate) fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    if weights.len() != rows {
        return Err(Error::Shape { what: "weights", expected: rows, found: weights.len() });
    }
    if let Some(row) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
        return Err(Error::Weight { row: row + 1, value: weights[row] });
    }
    if weights.iter().all(|w| *w == 0.0) {
        return Err(Error::NoData);
    }
    Ok(())
}

/// What is done with each block of a [`Source`]: its points, and their weights where they have any.
pub type Visit<'v> = &'v mut (dyn FnMut(View<'_>, Option<&[f64]>) -> Result<()> + 'v);

/// Rows that are read in blocks, and can be read again: the same rows in the same order every time.
pub trait Source: Sync {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Reads all rows from the first on and hands them over block by block, with their weights where they have any.
    ///
    /// # Errors
    /// When the rows cannot be read, or `visit` fails.
    fn for_each_block(&self, visit: Visit<'_>) -> Result<()>;
}
