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

/// A result as JSON text, as the command writes it: infinity is `1e999`, which readers of JSON take for infinity, and what is
/// not a number `null`. (`serde_json` has `null` for both.)
///
/// ```
/// use noisewright::prelude::*;
/// let model = Model::from_formula("-(x - m)^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
/// let data = sample(&Normal::with_std(0.0, 1.0)?, 200, 1);
/// let json = noisewright::to_json(&model.fit(&data).exact().run()?)?;
/// assert!(json.contains("\"nu\": 1e999")); // no noise is endless noise
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// Where a value of one's own cannot be serialized.
pub fn to_json(result: &impl Serialize) -> crate::Result<String> {
    noisewright_report::Value::of(result).map(|value| value.to_json()).map_err(crate::Error::external)
}
