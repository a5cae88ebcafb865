//! Results and messages as R objects.

use extendr_api::prelude::*;
use noisewright_bindings::{Class, Failure};
use noisewright_report::Value;

use crate::job::{Call, Message};

/// A message as a list of one element, named after what it is; `NULL` for none.
pub(crate) fn message(message: Message) -> Robj {
    match message {
        Message::Nothing => r!(NULL),
        Message::Call(call) => named([("call", called(call))]),
        Message::Done(Ok(value)) => named([("done", object(value))]),
        Message::Done(Err(failure)) => named([("error", failed(&failure))]),
    }
}

fn named<const N: usize>(pairs: [(&str, Robj); N]) -> Robj {
    List::from_pairs(pairs).into()
}

fn called(call: Call) -> Robj {
    let columns = call.points.len() / call.rows.max(1);
    named([
        ("score", call.score.into()),
        ("parameters", call.parameters.into()),
        ("points", matrix(call.points, call.rows, columns)),
    ])
}

fn failed(failure: &Failure) -> Robj {
    let class = match failure.class() {
        Class::Input => "input",
        Class::Model => "model",
        Class::Function => "function",
        Class::NoAnswer => "no_answer",
        Class::Internal => "internal",
    };
    named([("class", class.into()), ("code", failure.code().into()), ("sentence", failure.sentence().into())])
}

/// Numbers, column after column, as a matrix.
fn matrix(values: Vec<f64>, rows: usize, columns: usize) -> Robj {
    let mut made: Robj = values.into();
    // A vector takes dimensions whose product is its length.
    let _ = made.set_attrib("dim", [rows as i32, columns as i32]);
    made
}

/// A result: maps become named lists, lists of one kind of thing become vectors.
fn object(value: Value) -> Robj {
    match value {
        Value::Null => r!(NULL),
        Value::Flag(flag) => flag.into(),
        Value::Integer(whole) => integer(whole),
        Value::Number(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::Numbers(numbers) => numbers.into(),
        Value::Matrix { columns, values } => by_rows(&values, columns),
        Value::List(list) => gathered(list),
        Value::Map(fields) => {
            let (names, values): (Vec<String>, Vec<Robj>) =
                fields.into_iter().map(|(name, value)| (name, object(value))).unzip();
            List::from_names_and_values(names, values).map_or_else(|_| r!(NULL), Robj::from)
        }
    }
}

/// A whole number, as R's integer where it fits.
fn integer(whole: i64) -> Robj {
    i32::try_from(whole).map_or_else(|_| Robj::from(whole as f64), Robj::from)
}

/// A matrix from its rows, one after the other.
fn by_rows(values: &[f64], columns: usize) -> Robj {
    let rows = values.len() / columns.max(1);
    let turned = (0..columns).flat_map(|j| (0..rows).map(move |i| values[i * columns + j])).collect();
    matrix(turned, rows, columns)
}

fn gathered(list: Vec<Value>) -> Robj {
    if list.is_empty() {
        return List::new(0).into();
    }
    if list.iter().all(|value| matches!(value, Value::Text(_))) {
        let text = |value: Value| if let Value::Text(text) = value { text } else { String::new() };
        return list.into_iter().map(text).collect::<Vec<String>>().into();
    }
    if list.iter().all(|value| matches!(value, Value::Integer(_) | Value::Number(_) | Value::Null)) {
        let number = |value: &Value| match value {
            Value::Integer(whole) => *whole as f64,
            Value::Number(number) => *number,
            _ => f64::NAN,
        };
        return list.iter().map(number).collect::<Vec<f64>>().into();
    }
    List::from_values(list.into_iter().map(object)).into()
}
