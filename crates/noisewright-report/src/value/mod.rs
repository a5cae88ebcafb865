//! A result as a tree of values: from anything that serializes, to JSON or to whatever a caller makes of it.

mod json;
mod serializer;

use serde::ser::Serialize;

pub use serializer::ValueError;

/// A value of a result. Unlike JSON it knows infinite numbers, and it keeps numbers in bulk together.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number, which may be infinite or none.
    Number(f64),
    /// Words.
    Text(String),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// Rows of equally many numbers.
    Matrix {
        /// Numbers in a row.
        columns: usize,
        /// All numbers, row after row.
        values: Vec<f64>,
    },
    /// A list.
    List(Vec<Value>),
    /// Fields in their order.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The value of anything that serializes.
    ///
    /// ```
    /// use noisewright_report::Value;
    /// let value = Value::of(&[(1.0, f64::INFINITY), (0.1, f64::NAN)])?;
    /// assert_eq!(value.to_json(), "[\n  [1.0, 1e999],\n  [0.1, null]\n]");
    /// # Ok::<(), noisewright_report::ValueError>(())
    /// ```
    ///
    /// # Errors
    /// When the type refuses to be serialized, or a map has keys that are no words.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, ValueError> {
        value.serialize(serializer::Build)
    }

    /// A field of a map.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A field of a map, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        match self {
            Self::Map(fields) => fields.iter_mut().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Adds a field to a map, or puts another value into its place; nothing else has fields.
    pub fn set(&mut self, name: &str, value: impl Into<Self>) {
        let value = value.into();
        match (self.get_mut(name), value) {
            (Some(old), value) => *old = value,
            (None, value) => {
                if let Self::Map(fields) = self {
                    fields.push((name.to_owned(), value));
                }
            }
        }
    }

    /// Leaves out the covariances of more unknowns than this: what is quadratic in their number.
    pub fn without_covariances(&mut self, most: usize) {
        let Self::Map(fields) = self else { return };
        let covariances = fields.iter_mut().filter(|(name, _)| name.starts_with("covariance"));
        for (_, value) in covariances {
            if matches!(value, Self::Matrix { columns, .. } if *columns > most) {
                *value = Self::Null;
            }
        }
    }

    /// The entries of a list, to be changed.
    pub fn entries_mut(&mut self) -> &mut [Self] {
        match self {
            Self::List(list) => list,
            _ => &mut [],
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        i64::try_from(count).map_or(Self::Number(count as f64), Self::Integer)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize)]
    struct Inner {
        words: &'static str,
        nothing: Option<f64>,
    }

    #[derive(serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        PlainOne,
        With { number: f64 },
    }

    #[derive(serde::Serialize)]
    struct Outer {
        count: usize,
        share: f64,
        numbers: Vec<f64>,
        matrix: Vec<Vec<f64>>,
        ragged: Vec<Vec<f64>>,
        kinds: Vec<Kind>,
        #[serde(flatten)]
        inner: Inner,
    }

    fn outer() -> Outer {
        Outer {
            count: 3,
            share: f64::NEG_INFINITY,
            numbers: vec![0.1, 1e-7, 1e21],
            matrix: vec![vec![1.0, 2.0], vec![3.0, f64::NAN]],
            ragged: vec![vec![1.0], vec![1.0, 2.0]],
            kinds: vec![Kind::PlainOne, Kind::With { number: 1.5 }],
            inner: Inner { words: "a \"quoted\"\n∞", nothing: None },
        }
    }

    #[test]
    fn structs_become_maps_and_numbers_stay_together() {
        let value = Value::of(&outer()).unwrap();
        assert_eq!(value.get("count"), Some(&Value::Integer(3)));
        assert_eq!(value.get("numbers"), Some(&Value::Numbers(vec![0.1, 1e-7, 1e21])));
        assert!(
            matches!(value.get("matrix"), Some(Value::Matrix { columns: 2, values }) if values.len() == 4)
        );
        assert!(matches!(value.get("ragged"), Some(Value::List(rows)) if rows.len() == 2));
        assert_eq!(value.get("nothing"), Some(&Value::Null));
        let kinds = value.get("kinds").unwrap();
        assert!(matches!(kinds, Value::List(kinds) if kinds[0] == Value::from("plain-one")));
    }

    #[test]
    fn json_has_infinity_and_lists_of_numbers_on_one_line() {
        let text = Value::of(&outer()).unwrap().to_json();
        let expected = r#"{
  "count": 3,
  "share": -1e999,
  "numbers": [0.1, 1e-7, 1e21],
  "matrix": [
    [1.0, 2.0],
    [3.0, null]
  ],
  "ragged": [
    [1.0],
    [1.0, 2.0]
  ],
  "kinds": [
    "plain-one",
    {
      "with": {
        "number": 1.5
      }
    }
  ],
  "words": "a \"quoted\"\n∞",
  "nothing": null
}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn fields_are_set_in_place_or_at_the_end() {
        let mut value = Value::of(&outer()).unwrap();
        value.set("share", 2.0);
        value.set("new", "x");
        let Value::Map(fields) = &value else { unreachable!() };
        assert_eq!((fields[1].0.as_str(), &fields[1].1), ("share", &Value::Number(2.0)));
        assert_eq!(fields.last().map(|(name, _)| name.as_str()), Some("new"));
    }
}
