//! Values of TOML as what a field needs, or a sentence that says what it needs.

use toml::Value;

use crate::{Error, Result};

fn wrong(field: &str, expected: &str, value: &Value) -> Error {
    Error::field(field, format!("must be {expected}, not {}", found(value)))
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

pub(super) fn string<'a>(field: &str, value: &'a Value, expected: &str) -> Result<&'a str> {
    value.as_str().ok_or_else(|| wrong(field, expected, value))
}

pub(super) fn boolean(field: &str, value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| wrong(field, "true or false", value))
}

pub(super) fn table<'a>(field: &str, value: &'a Value, expected: &str) -> Result<&'a toml::Table> {
    value.as_table().ok_or_else(|| wrong(field, expected, value))
}

/// A finite number.
pub(super) fn number(field: &str, value: &Value) -> Result<f64> {
    match bound(field, value)? {
        number if number.is_finite() => Ok(number),
        number => Err(Error::field(field, format!("must be a finite number, not {number}"))),
    }
}

/// A number that may be infinite.
pub(super) fn bound(field: &str, value: &Value) -> Result<f64> {
    match value {
        Value::Float(number) if number.is_nan() => Err(Error::field(field, "must be a number, not nan")),
        Value::Float(number) => Ok(*number),
        Value::Integer(number) => Ok(*number as f64),
        other => Err(wrong(field, "a number", other)),
    }
}

pub(super) fn whole(field: &str, value: &Value) -> Result<usize> {
    match value {
        Value::Integer(number) => usize::try_from(*number)
            .map_err(|_| Error::field(field, format!("must be a positive whole number, not {number}"))),
        Value::Float(number) => Err(Error::field(field, format!("must be a whole number, not {number}"))),
        other => Err(wrong(field, "a whole number", other)),
    }
}

pub(super) fn strings(field: &str, value: &Value) -> Result<Vec<String>> {
    let expected = "a list of texts in quotes";
    let list = value.as_array().ok_or_else(|| wrong(field, expected, value))?;
    if list.is_empty() {
        return Err(Error::field(field, "is empty; list at least one"));
    }
    list.iter()
        .map(|entry| match entry.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(Error::field(field, format!("must be {expected}, but has {} in it", found(entry)))),
        })
        .collect()
}

pub(super) fn numbers(field: &str, value: &Value) -> Result<Vec<f64>> {
    let list = value.as_array().ok_or_else(|| wrong(field, "a list of numbers", value))?;
    list.iter().map(|entry| number(field, entry)).collect()
}
