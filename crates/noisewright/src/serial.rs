//! How results are serialized: under the names of the command's JSON, once for every door.

use std::fmt::Display;

use nalgebra::DMatrix;
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// A matrix as a list of its rows.
pub(crate) struct Rows<'a>(pub(crate) &'a DMatrix<f64>);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.nrows()))?;
        for row in self.0.row_iter() {
            rows.serialize_element(&row.iter().copied().collect::<Vec<f64>>())?;
        }
        rows.end()
    }
}

/// Entries as fields by their names, in their order.
pub(crate) struct Fields<K, V>(pub(crate) Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Fields<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Something by its name in words.
pub(crate) fn in_words<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// A matrix as a list of its rows.
pub(crate) fn rows<S: Serializer>(matrix: &DMatrix<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    Rows(matrix).serialize(serializer)
}
