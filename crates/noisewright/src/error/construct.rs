//! How errors are made, and shown with their place in a formula.

use std::borrow::Cow;
use std::sync::Arc;

use super::words::one_line;
use super::{Error, ExternalError, OptionFault};

impl Error {
    /// An error of the caller's own code, for implementations of [`Energy`](crate::Energy),
    /// [`Source`](crate::fit::Source) and the densities; it comes back as [`source`](std::error::Error::source).
    ///
    /// ```
    /// use noisewright::{Error, ErrorKind};
    /// use std::error::Error as _;
    ///
    /// fn read() -> noisewright::Result<String> {
    ///     std::fs::read_to_string("no/such/file").map_err(Error::external)
    /// }
    /// let error = read().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::External);
    /// let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    /// assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
    /// ```
    pub fn external(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::External { source: ExternalError(Arc::new(error)) }
    }

    /// A broken invariant of the library itself.
    pub(crate) fn internal(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Internal { what: what.into() }
    }

    /// An option that cannot be as it is, as a sentence of which it is the subject.
    pub(crate) fn option(option: impl Into<Cow<'static, str>>, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Option { option: option.into(), fault: OptionFault::Unfit { reason: reason.into() } }
    }

    /// An option that is a number out of its range.
    pub(crate) fn range(option: &'static str, expected: &'static str, value: f64) -> Self {
        Self::Option { option: option.into(), fault: OptionFault::Range { expected, value } }
    }

    /// What is wrong with a field of a model, the field being the subject of the sentence.
    pub(crate) fn field(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::ModelField { field: one_line(&field.into()), reason: one_line(&reason.into()) }
    }

    /// The message and, for a mistake in a formula, below it the formula with a caret under the place.
    #[must_use]
    pub fn render(&self) -> String {
        match self {
            Self::Formula { field, text, source } => format!("`{field}`: {}", source.render(text)),
            Self::MissingValue { text, column, .. } if !text.contains('\n') => {
                format!("{self}\n  {text}\n  {}^", " ".repeat(column.saturating_sub(1)))
            }
            _ => self.to_string(),
        }
    }
}
