//! The rows to be fitted: in memory, or read again and again from somewhere else.

use nalgebra::DMatrix;
use noisewright_numerics::summation::{blocked, sum};

use super::sample_blocks::BLOCK;
use crate::points::columns_by_name;
use crate::{Error, Points, Result, Space, View};

/// Rows of data, with what is known of their weights and of how they depend on one another.
///
/// ```
/// use noisewright::{Points, fit::Data};
/// let points = Points::unnamed(1, 3, vec![0.0, 1.0, 2.0]);
/// let data = Data::from(&points).with_weights(&[1.0, 5.0, 2.0]);
/// assert_eq!(data.total_weight(), 8.0);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Data<'a> {
    /// The points.
    pub points: View<'a>,
    /// How many times each row counts.
    pub weights: Option<&'a [f64]>,
    /// Which rows are correlated.
    pub dependence: Dependence<'a>,
    /// The names of the columns, to be matched with the model's variables; without names they are taken in order.
    pub(crate) names: Option<&'a [String]>,
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
    /// Independent rows; columns that have names are matched by them, in any order.
    fn from(points: &'a Points) -> Self {
        Self { names: points.is_named().then(|| points.names()), ..Self::new(points.view()) }
    }
}

macro_rules! columns_in_order {
    ($($held:ty),*) => {$(
        impl<'a> From<$held> for Data<'a> {
            /// Independent rows, the columns in the order of the model's variables.
            fn from(points: $held) -> Self {
                Self::new(points.into())
            }
        }
    )*};
}

columns_in_order!(View<'a>, &'a [f64], &'a Vec<f64>, &'a DMatrix<f64>);

impl<'a> Data<'a> {
    /// Independent rows that count once.
    #[must_use]
    pub fn new(points: View<'a>) -> Self {
        Self { points, weights: None, dependence: Dependence::Independent, names: None }
    }

    /// The same rows, each counting as many times as its weight says.
    ///
    /// ```
    /// use noisewright::fit::Data;
    /// use noisewright::prelude::*;
    /// let (values, counts) = ([-1.0, 0.0, 1.0, 2.0], [2.0, 5.0, 3.0, 1.0]); // a table of counts
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let fit = model.fit(Data::from(&values[..]).with_weights(&counts)).exact().run()?;
    /// assert!((fit.get("m")?.estimate - 3.0 / 11.0).abs() < 1e-6); // the mean
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn with_weights(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// The same rows, known to depend on one another.
    ///
    /// ```
    /// use noisewright::fit::{Data, Dependence};
    /// use noisewright::prelude::*;
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let once = sample(&Normal::with_std(0.0, 1.0)?, 200, 1);
    /// let twice = [once.values(), once.values()].concat(); // every row two times
    /// let alike: Vec<u64> = (0..400).map(|row| row % 200).collect();
    /// let clusters = Data::from(&twice).with_dependence(Dependence::Clusters(&alike));
    /// let [naive, right] = [Data::from(&twice), clusters].map(|data| model.fit(data).exact().run());
    /// let ratio = right?.get("m")?.se / naive?.get("m")?.se;
    /// assert!((ratio / 2f64.sqrt() - 1.0).abs() < 0.01);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn with_dependence(self, dependence: Dependence<'a>) -> Self {
        Self { dependence, ..self }
    }

    /// The sum of the weights, T_d.
    #[must_use]
    pub fn total_weight(&self) -> f64 {
        self.weights.map_or(self.points.rows() as f64, total)
    }

    /// What is done with the rows once their columns are those of the space, in its order.
    pub(crate) fn in_order_of<T>(self, space: &Space, with: impl FnOnce(Data<'_>) -> Result<T>) -> Result<T> {
        let Some(names) = self.names else { return with(self) };
        let values = columns_by_name(self.points, names, space.names())?;
        let points = View::new(space.dimension(), self.points.rows(), &values);
        with(Data { points, names: None, ..self })
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
            Dependence::Chains(lengths) => check_chains("rows in the chains", lengths, rows),
            _ => Ok(()),
        }
    }
}

/// The sum of weights, in the same tree over blocks as every sum over rows, wherever they are.
pub(crate) fn total(weights: &[f64]) -> f64 {
    blocked(weights.len(), BLOCK, |range| sum(&weights[range]), |a, b| a + b).unwrap_or(0.0)
}

/// Chains whose lengths make up all rows.
pub(crate) fn check_chains(what: &'static str, lengths: &[usize], rows: usize) -> Result<()> {
    let found = lengths.iter().fold(0usize, |sum, length| sum.saturating_add(*length));
    if found == rows { Ok(()) } else { Err(Error::Shape { what, expected: rows, found }) }
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

/// Refuses weights that cannot be counts: they sum to less than one observation for every unknown, or to more than numbers
/// can count.
pub(crate) fn check_total_weight(total: f64, unknowns: usize) -> Result<()> {
    // From 2⁵³ on a double cannot tell n from n + 1.
    const MOST: f64 = (1u64 << 53) as f64;
    // Weights that were divided by their sum and multiplied by the number of rows are rounded.
    let least = unknowns as f64 * (1.0 - 1e-9);
    if total >= least && total <= MOST { Ok(()) } else { Err(Error::TotalWeight { total, least: unknowns }) }
}

/// What is done with each block of a [`Source`]: its points, and their weights where they have any.
pub type Visit<'v> = &'v mut (dyn FnMut(View<'_>, Option<&[f64]>) -> Result<()> + 'v);

/// Rows that are read in blocks, and can be read again: the same rows in the same order every time.
pub trait Source: Sync {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Whether the blocks have one column more than there are variables, in which rows that belong together have the same number,
    /// below 2⁵³: the standard errors are those of [clusters](Dependence::Clusters) then, wherever the rows of one are.
    fn has_clusters(&self) -> bool {
        false
    }

    /// Number of rows, where it is known before they are read: then they need not be read once to be counted.
    fn rows(&self) -> Option<usize> {
        None
    }

    /// Reads all rows from the first on and hands them over block by block, with their weights where they have any.
    ///
    /// # Errors
    /// When the rows cannot be read, or `visit` fails.
    fn for_each_block(&self, visit: Visit<'_>) -> Result<()>;
}
