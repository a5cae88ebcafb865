//! How results are serialized: under the names of the command's JSON, once for every door.

use std::fmt::Display;

use nalgebra::DMatrix;
use noisewright_report::Value;
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

/// Unknowns beyond which results as JSON leave out what grows with their square.
const MOST_UNKNOWNS: usize = 100;

/// Leaves out of a result what grows with the square of very many unknowns, or with their number at every strength of a penalty:
/// covariances, and the estimates along the path.
pub fn leave_matrices_out(result: &mut Value) {
    // Results of states have neither, and need their covariances to be read again.
    if result.get("coordinates").or_else(|| result.get("parameters")).is_none() {
        return;
    }
    result.without_covariances(MOST_UNKNOWNS);
    let many = |value: &Value| matches!(value, Value::Map(parameters) if parameters.len() > MOST_UNKNOWNS);
    if !result.get("parameters").is_some_and(many) {
        return;
    }
    let path = result.get_mut("penalty").and_then(|penalty| penalty.get_mut("path"));
    path.map(Value::entries_mut).into_iter().flatten().for_each(|point| point.set("values", Value::Null));
}

/// A result as JSON text, as the command writes it: infinity is `1e999`, which readers of JSON take for infinity, and what is
/// not a number `null`. (`serde_json` has `null` for both.) Covariances of more than 100 unknowns are `null` too:
/// [`to_json_with_matrices`](crate::parts::to_json_with_matrices) has them.
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
    let mut value = Value::of(result).map_err(crate::Error::external)?;
    leave_matrices_out(&mut value);
    Ok(value.to_json())
}

/// The same with all covariances, as the command writes it with `--matrices`: with a thousand unknowns tens of megabytes.
///
/// ```
/// use noisewright::prelude::*;
/// let model = Model::from_formula("-(x - m)^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
/// let data = sample(&Normal::with_std(0.0, 1.0)?, 200, 1);
/// let fitted = model.fit(&data).exact().run()?;
/// // Of few unknowns both have them.
/// assert_eq!(noisewright::parts::to_json_with_matrices(&fitted)?, noisewright::to_json(&fitted)?);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// Where a value of one's own cannot be serialized.
pub fn to_json_with_matrices(result: &impl Serialize) -> crate::Result<String> {
    Value::of(result).map(|value| value.to_json()).map_err(crate::Error::external)
}
