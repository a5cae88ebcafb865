//! One figure, table or list of the paper: numbers, pictures and the words that go with them.

use noisewright_report::{Figure, Table};
use serde_json::Value;

/// What one name of `reproduce` gives.
#[derive(Clone, Debug)]
pub struct Item {
    /// The name: `fig1`, …
    pub name: &'static str,
    /// The heading.
    pub title: String,
    /// What to see.
    pub caption: String,
    /// The picture, for a figure.
    pub figure: Option<Figure>,
    /// Tables, with the numbers that matter.
    pub tables: Vec<Table>,
    /// Remarks below.
    pub notes: Vec<String>,
    /// The numbers behind it all.
    pub values: Value,
}

impl Item {
    pub(crate) fn new(name: &'static str, title: impl Into<String>, caption: impl Into<String>) -> Self {
        Self {
            name,
            title: title.into(),
            caption: caption.into(),
            figure: None,
            tables: Vec::new(),
            notes: Vec::new(),
            values: Value::Null,
        }
    }

    pub(crate) fn figure(mut self, figure: Figure) -> Self {
        self.figure = Some(figure);
        self
    }

    pub(crate) fn table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn values(mut self, values: Value) -> Self {
        self.values = values;
        self
    }
}
