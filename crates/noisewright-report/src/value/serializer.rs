//! The serializer that builds values.

use std::fmt::Display;

use serde::ser::{self, Serialize};

use super::Value;

/// Why something cannot be a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(String);

impl Display for ValueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}

impl ser::Error for ValueError {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// A whole number: as such where it fits, else as a number.
fn whole<T: TryInto<i64> + Copy>(value: T, rounded: f64) -> Value {
    value.try_into().map_or(Value::Number(rounded), Value::Integer)
}

/// A list as what it is: numbers, rows of numbers, or anything.
fn gathered(list: Vec<Value>) -> Value {
    if !list.is_empty() && list.iter().all(|value| matches!(value, Value::Number(_))) {
        let number = |value: &Value| if let Value::Number(x) = value { *x } else { f64::NAN };
        return Value::Numbers(list.iter().map(number).collect());
    }
    let columns = match list.first() {
        Some(Value::Numbers(row)) => row.len(),
        _ => return Value::List(list),
    };
    let is_row = |value: &Value| matches!(value, Value::Numbers(row) if row.len() == columns);
    if !list.iter().all(is_row) {
        return Value::List(list);
    }
    let mut values = Vec::with_capacity(columns * list.len());
    for row in &list {
        if let Value::Numbers(row) = row {
            values.extend_from_slice(row);
        }
    }
    Value::Matrix { columns, values }
}

/// Builds a value.
pub(super) struct Build;

/// Builds a list, inside a variant's name where it has one.
pub(super) struct BuildList {
    list: Vec<Value>,
    variant: Option<&'static str>,
}

/// Builds a map, inside a variant's name where it has one.
pub(super) struct BuildMap {
    fields: Vec<(String, Value)>,
    key: Option<String>,
    variant: Option<&'static str>,
}

/// A value inside the name of its variant.
fn named(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(name) => Value::Map(vec![(name.to_owned(), value)]),
        None => value,
    }
}

impl BuildList {
    fn new(variant: Option<&'static str>, length: usize) -> Self {
        Self { list: Vec::with_capacity(length), variant }
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        self.list.push(value.serialize(Build)?);
        Ok(())
    }

    fn finish(self) -> Value {
        named(self.variant, gathered(self.list))
    }
}

impl BuildMap {
    fn new(variant: Option<&'static str>) -> Self {
        Self { fields: Vec::new(), key: None, variant }
    }

    fn push<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), ValueError> {
        self.fields.push((key.to_owned(), value.serialize(Build)?));
        Ok(())
    }

    fn finish(self) -> Value {
        named(self.variant, Value::Map(self.fields))
    }
}

impl ser::Serializer for Build {
    type Ok = Value;
    type Error = ValueError;
    type SerializeSeq = BuildList;
    type SerializeTuple = BuildList;
    type SerializeTupleStruct = BuildList;
    type SerializeTupleVariant = BuildList;
    type SerializeMap = BuildMap;
    type SerializeStruct = BuildMap;
    type SerializeStructVariant = BuildMap;

    fn serialize_bool(self, value: bool) -> Result<Value, ValueError> {
        Ok(Value::Flag(value))
    }
    fn serialize_i8(self, value: i8) -> Result<Value, ValueError> {
        Ok(Value::Integer(value.into()))
    }
    fn serialize_i16(self, value: i16) -> Result<Value, ValueError> {
        Ok(Value::Integer(value.into()))
    }
    fn serialize_i32(self, value: i32) -> Result<Value, ValueError> {
        Ok(Value::Integer(value.into()))
    }
    fn serialize_i64(self, value: i64) -> Result<Value, ValueError> {
        Ok(Value::Integer(value))
    }
    fn serialize_u8(self, value: u8) -> Result<Value, ValueError> {
        Ok(Value::Integer(value.into()))
    }
    fn serialize_u16(self, value: u16) -> Result<Value, ValueError> {
        Ok(Value::Integer(value.into()))
    }
    fn serialize_u32(self, value: u32) -> Result<Value, ValueError> {
        Ok(Value::Integer(value.into()))
    }
    fn serialize_u64(self, value: u64) -> Result<Value, ValueError> {
        Ok(whole(value, value as f64))
    }
    fn serialize_f32(self, value: f32) -> Result<Value, ValueError> {
        Ok(Value::Number(value.into()))
    }
    fn serialize_f64(self, value: f64) -> Result<Value, ValueError> {
        Ok(Value::Number(value))
    }
    fn serialize_char(self, value: char) -> Result<Value, ValueError> {
        Ok(Value::Text(value.to_string()))
    }
    fn serialize_str(self, value: &str) -> Result<Value, ValueError> {
        Ok(Value::Text(value.to_owned()))
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<Value, ValueError> {
        Ok(Value::List(value.iter().map(|byte| Value::Integer((*byte).into())).collect()))
    }
    fn serialize_none(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, ValueError> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, ValueError> {
        Ok(Value::Text(variant.to_owned()))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        Ok(named(Some(variant), value.serialize(self)?))
    }
    fn serialize_seq(self, length: Option<usize>) -> Result<BuildList, ValueError> {
        Ok(BuildList::new(None, length.unwrap_or(0)))
    }
    fn serialize_tuple(self, length: usize) -> Result<BuildList, ValueError> {
        Ok(BuildList::new(None, length))
    }
    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<BuildList, ValueError> {
        Ok(BuildList::new(None, length))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<BuildList, ValueError> {
        Ok(BuildList::new(Some(variant), length))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<BuildMap, ValueError> {
        Ok(BuildMap::new(None))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<BuildMap, ValueError> {
        Ok(BuildMap::new(None))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<BuildMap, ValueError> {
        Ok(BuildMap::new(Some(variant)))
    }
}

/// The four kinds of lists.
macro_rules! list {
    ($($name:ident::$push:ident),*) => {$(
        impl ser::$name for BuildList {
            type Ok = Value;
            type Error = ValueError;
            fn $push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
                self.push(value)
            }
            fn end(self) -> Result<Value, ValueError> {
                Ok(self.finish())
            }
        }
    )*};
}
list!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// The two kinds of structures.
macro_rules! structure {
    ($($name:ident),*) => {$(
        impl ser::$name for BuildMap {
            type Ok = Value;
            type Error = ValueError;
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.push(key, value)
            }
            fn end(self) -> Result<Value, ValueError> {
                Ok(self.finish())
            }
        }
    )*};
}
structure!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for BuildMap {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        match key.serialize(Build)? {
            Value::Text(key) => self.key = Some(key),
            other => return Err(ValueError(format!("a field's name must be words, not {other:?}"))),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let key = self.key.take().unwrap_or_default();
        self.push(&key, value)
    }

    fn end(self) -> Result<Value, ValueError> {
        Ok(self.finish())
    }
}
