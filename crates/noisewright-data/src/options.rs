//! What a caller may ask of a reader.

use crate::Format;

/// How to read a file; the default reads all columns, tells the format by itself and refuses missing values.
///
/// ```
/// use noisewright_data::{Format, Options};
/// let options = Options::default().columns(&["x", "y"]).format(Format::Csv).drop_missing(true);
/// assert_eq!(options.columns.as_deref(), Some(&["x".to_owned(), "y".to_owned()][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; `None` (default) tells it from the contents and the name.
    pub format: Option<Format>,
    /// The columns to take, in this order; `None` (default) takes all. Other columns may hold anything.
    pub columns: Option<Vec<String>>,
    /// Names, by position, for the columns of arrays that have none; `None` (default) names them `x0`, `x1`, ….
    pub names: Option<Vec<String>>,
    /// Whether rows with a missing or non-finite value in a taken column are dropped and counted; by default (false)
    /// the first one is an error.
    pub drop_missing: bool,
    /// Whether −∞ is a number like any other, as the logarithm of zero is; by default (false) it is an error.
    pub minus_infinity: bool,
    /// A taken column whose text is read as labels, numbered in the order in which they first occur; by default (`None`)
    /// every column holds numbers. Where a format stores numbers in it they stay as they are.
    pub labels: Option<String>,
    /// Bytes that the numbers of a whole file may take; by default (`None`) as many as the system gives.
    pub most_bytes: Option<u64>,
}

impl Options {
    /// Whether a number may stand in a taken column.
    pub(crate) fn admits(&self, x: f64) -> bool {
        admitted(x, self.minus_infinity)
    }
}

/// Whether a number is finite, or minus infinity where that is one too.
pub(crate) fn admitted(x: f64, minus_infinity: bool) -> bool {
    x.is_finite() || (minus_infinity && x == f64::NEG_INFINITY)
}

impl Options {
    /// Takes these columns only, in this order.
    #[must_use]
    pub fn columns<S: AsRef<str>>(mut self, columns: &[S]) -> Self {
        self.columns = Some(owned(columns));
        self
    }

    /// Names the columns of arrays that have no names, by position.
    #[must_use]
    pub fn names<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.names = Some(owned(names));
        self
    }

    /// Reads this format whatever the name and the contents look like.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Takes −∞ as a number like any other, as the logarithm of zero is.
    #[must_use]
    pub fn minus_infinity(mut self, take: bool) -> Self {
        self.minus_infinity = take;
        self
    }

    /// Reads the text of this column as labels, numbered in the order in which they first occur.
    ///
    /// ```
    /// use noisewright_data::{Options, read_from};
    /// let text = "run,x\nwarm,1\ncold,2\nwarm,3\n";
    /// let table = read_from(text.as_bytes(), "runs.csv", &Options::default().labels("run"))?;
    /// assert_eq!(table.column("run")?, &[0.0, 1.0, 0.0]);
    /// # Ok::<(), noisewright_data::Error>(())
    /// ```
    #[must_use]
    pub fn labels(mut self, column: &str) -> Self {
        self.labels = Some(column.to_owned());
        self
    }

    /// Refuses a whole file whose numbers take more bytes than these.
    #[must_use]
    pub fn most_bytes(mut self, most: Option<u64>) -> Self {
        self.most_bytes = most;
        self
    }

    /// Drops rows with a missing or non-finite value in a taken column.
    #[must_use]
    pub fn drop_missing(mut self, drop: bool) -> Self {
        self.drop_missing = drop;
        self
    }
}

fn owned<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    names.iter().map(|name| name.as_ref().to_owned()).collect()
}
