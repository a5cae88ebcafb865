//! The table that every reader returns: named columns of equal length and where they came from.

use crate::names::{locate, repeated};
use crate::{Error, Result};

/// Named columns of equal length, with the name of what they were read from.
///
/// ```
/// use noisewright_data::Table;
/// let table = Table::new("memory", vec!["x".into(), "y".into()], vec![vec![1.0, 2.0], vec![3.0, 4.0]])?;
/// assert_eq!(table.rows(), 2);
/// assert_eq!(table.column("y")?, &[3.0, 4.0]);
/// assert_eq!(
///     table.column("z1").unwrap_err().to_string(),
///     "memory has no column `z1`; its columns are x, y"
/// );
/// # Ok::<(), noisewright_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    source: String,
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    sampler: Vec<bool>,
    /// Stan's method, where the file says it.
    method: Option<String>,
    dropped: usize,
    /// Row numbers in the file, where they are not simply 1, 2, ….
    numbers: Option<Vec<usize>>,
    chains: Option<Vec<usize>>,
}

impl Table {
    /// A table of columns that are already in memory.
    ///
    /// # Errors
    /// When there are not as many names as columns, a name occurs twice, or two columns differ in length.
    pub fn new(source: &str, names: Vec<String>, columns: Vec<Vec<f64>>) -> Result<Self> {
        check(source, &names, &columns)?;
        if let Some(column) = repeated(&names) {
            return Err(Error::DuplicateColumn { file: source.to_owned(), column: column.to_owned() });
        }
        let sampler = vec![false; names.len()];
        Ok(Self {
            source: source.to_owned(),
            names,
            columns,
            sampler,
            method: None,
            dropped: 0,
            numbers: None,
            chains: None,
        })
    }

    /// Says how many rows were left out.
    pub(crate) fn with_dropped(mut self, dropped: usize) -> Self {
        self.dropped = dropped;
        self
    }

    /// Says which rows of the file these are.
    pub(crate) fn with_numbers(mut self, numbers: Option<Vec<usize>>) -> Self {
        self.numbers = numbers;
        self
    }

    /// Says that all rows are one chain, unless it is known already.
    pub(crate) fn with_chains(mut self) -> Self {
        self.chains = self.chains.take().or_else(|| Some(vec![self.rows()]));
        self
    }

    /// Says that these are the draws of one chain of Stan's, and marks the columns in which it speaks of itself.
    pub(crate) fn into_stan_chain(mut self, method: &str) -> Self {
        self.method = (!method.is_empty()).then(|| method.to_owned());
        self.sampler = self.names.iter().map(|name| name.ends_with("__")).collect();
        self.with_chains()
    }

    /// Appends the rows of `next` as further chains.
    pub(crate) fn append(&mut self, next: Self) -> Result<()> {
        if next.names != self.names {
            return Err(Error::ChainColumns { file: next.source, first: self.source.clone() });
        }
        let mut chains = self.chains.take().unwrap_or_else(|| vec![self.rows()]);
        chains.extend(next.chains().unwrap_or(&[next.rows()]));
        self.chains = Some(chains);
        self.dropped += next.dropped;
        if next.approximation().is_some() {
            self.method.clone_from(&next.method);
        }
        let numbers = |table: &Self| (0..table.rows()).map(|i| table.row_number(i)).collect::<Vec<_>>();
        self.numbers = Some([numbers(self), numbers(&next)].concat());
        for (column, more) in self.columns.iter_mut().zip(next.columns) {
            column.extend(more);
        }
        Ok(())
    }

    /// What the columns were read from, as the caller named it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns, in the order of the names.
    #[must_use]
    pub fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// The columns themselves.
    #[must_use]
    pub fn into_columns(self) -> Vec<Vec<f64>> {
        self.columns
    }

    /// How many rows were dropped for a missing or non-finite value.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The number of a row in its file, counted from 1 and with the rows that were dropped.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn row_number(&self, row: usize) -> usize {
        self.numbers.as_ref().map_or(row + 1, |numbers| numbers[row])
    }

    /// Row numbers in the file, counted from 1, where they are not simply 1, 2, ….
    #[must_use]
    pub fn row_numbers(&self) -> Option<&[usize]> {
        self.numbers.as_deref()
    }

    /// The method of Stan that approximated the density instead of sampling it, such as `variational`; its draws are
    /// draws of the approximation. `None` for all other files.
    #[must_use]
    pub fn approximation(&self) -> Option<&str> {
        self.method.as_deref().filter(|method| matches!(*method, "variational" | "pathfinder" | "laplace"))
    }

    /// The rows of each Markov chain, one after the other; `None` for data that are no chains.
    #[must_use]
    pub fn chains(&self) -> Option<&[usize]> {
        self.chains.as_deref()
    }

    /// Whether a column speaks of Stan's sampler and not of the model (`lp__`, `stepsize__`, …).
    #[must_use]
    pub fn is_sampler(&self, column: usize) -> bool {
        self.sampler.get(column).copied().unwrap_or(false)
    }

    /// One column by name; `theta[1]` and `theta_1` also find Stan's `theta.1`.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn column(&self, name: &str) -> Result<&[f64]> {
        let found = locate(&self.source, &self.names, &[name])?;
        Ok(found.first().map_or(&[], |&j| &self.columns[j]))
    }

    /// The named columns, in the order and under the names asked for.
    ///
    /// # Errors
    /// When one of them is not there; the message lists those that are.
    pub fn select<S: AsRef<str>>(&self, wanted: &[S]) -> Result<Self> {
        let found = locate(&self.source, &self.names, wanted)?;
        Ok(Self {
            source: self.source.clone(),
            names: wanted.iter().map(|name| name.as_ref().to_owned()).collect(),
            columns: found.iter().map(|&j| self.columns[j].clone()).collect(),
            sampler: found.iter().map(|&j| self.sampler[j]).collect(),
            method: self.method.clone(),
            dropped: self.dropped,
            numbers: self.numbers.clone(),
            chains: self.chains.clone(),
        })
    }
}

/// Checks that names and columns belong together.
pub(crate) fn check<S: AsRef<str>>(file: &str, names: &[S], columns: &[Vec<f64>]) -> Result<()> {
    if names.len() != columns.len() {
        let names = names.iter().map(|name| name.as_ref().to_owned()).collect();
        return Err(Error::ColumnCount { file: file.to_owned(), found: columns.len(), names });
    }
    let expected = columns.first().map_or(0, Vec::len);
    match columns.iter().position(|column| column.len() != expected) {
        None => Ok(()),
        Some(j) => Err(Error::UnequalColumns {
            file: file.to_owned(),
            column: names[j].as_ref().to_owned(),
            found: columns[j].len(),
            first: names[0].as_ref().to_owned(),
            expected,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new("t", vec!["lp__".into(), "a.1".into()], vec![vec![1.0, 2.0], vec![3.0, 4.0]]).unwrap()
    }

    #[test]
    fn select_reorders_and_renames() {
        let picked = table().into_stan_chain("sample").select(&["a[1]", "lp__"]).unwrap();
        assert_eq!(picked.names(), ["a[1]", "lp__"]);
        assert_eq!(picked.columns(), [vec![3.0, 4.0], vec![1.0, 2.0]]);
        assert!(!picked.is_sampler(0) && picked.is_sampler(1) && !picked.is_sampler(2));
        assert_eq!(picked.chains(), Some(&[2][..]));
    }

    #[test]
    fn appended_tables_are_chains() {
        let mut all = table();
        all.append(table().with_dropped(3)).unwrap();
        all.append(table()).unwrap();
        assert_eq!((all.rows(), all.chains(), all.dropped()), (6, Some(&[2, 2, 2][..]), 3));
    }

    #[test]
    fn columns_of_different_length_and_repeated_names_are_refused() {
        let names = || vec!["a".to_owned(), "b".to_owned()];
        let unequal = Table::new("t", names(), vec![vec![1.0], vec![]]).unwrap_err();
        assert_eq!(
            unequal.to_string(),
            "in t, column `b` has 0 rows and `a` has 1; all must have the same number"
        );
        assert!(matches!(Table::new("t", names(), vec![vec![]]), Err(Error::ColumnCount { found: 1, .. })));
        let twice = Table::new("t", vec!["a".into(), "a".into()], vec![vec![], vec![]]).unwrap_err();
        assert_eq!(twice.to_string(), "t has more than one column `a`; give each its own name");
    }
}
