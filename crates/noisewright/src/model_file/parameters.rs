//! The `[parameters]` of a model file: a start value each, or a table with bounds.

use toml::Value;

use super::read;
use crate::names::nearest;
use crate::{Error, Model, Parameter, Result};

const FIELDS: [&str; 3] = ["start", "lower", "upper"];

/// A parameter as far as the file says.
pub(super) struct Declared {
    name: String,
    start: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl Declared {
    fn read(name: &str, value: &Value) -> Result<Self> {
        let field = format!("parameters.{name}");
        let mut declared = Self { name: name.to_owned(), start: None, lower: None, upper: None };
        let Value::Table(table) = value else {
            declared.start = Some(read::number(&field, value)?);
            return Ok(declared);
        };
        for (key, value) in table {
            let field = format!("{field}.{key}");
            match key.as_str() {
                "start" => declared.start = Some(read::number(&field, value)?),
                "lower" => declared.lower = Some(read::bound(&field, value)?),
                "upper" => declared.upper = Some(read::bound(&field, value)?),
                _ => return Err(Error::field(field, unknown_key(key))),
            }
        }
        Ok(declared)
    }

    /// The parameter, if the file gives it a start value.
    pub(super) fn complete(&self) -> Result<Parameter> {
        let Some(start) = self.start else {
            let field = format!("parameters.{}", self.name);
            return Err(Error::field(field, "has no start value; write { start = … } with its bounds"));
        };
        Ok(self.over(&Parameter::new(&self.name, start)))
    }

    /// The parameter with what the file says in place of what it had.
    fn over(&self, parameter: &Parameter) -> Parameter {
        Parameter {
            name: parameter.name.clone(),
            start: self.start.unwrap_or(parameter.start),
            lower: self.lower.unwrap_or(parameter.lower),
            upper: self.upper.unwrap_or(parameter.upper),
        }
    }
}

fn unknown_key(key: &str) -> String {
    match nearest(key, FIELDS) {
        Some(near) => format!("is not known; did you mean `{near}`?"),
        None => format!("is not known; a parameter has {}", FIELDS.join(", ")),
    }
}

/// The parameters in the order of the file.
pub(super) fn declared(value: &Value) -> Result<Vec<Declared>> {
    let table = read::table("parameters", value, "a table of start values")?;
    if let Some(name) = table.keys().find(|name| name.trim().is_empty() || name.contains(char::is_control)) {
        return Err(Error::field(
            "parameters",
            format!("has the name `{name}`; use letters, digits and `_`"),
        ));
    }
    table.iter().map(|(name, value)| Declared::read(name, value)).collect()
}

/// A family's model with the start values and bounds that the file gives.
pub(super) fn override_defaults(model: Model, declared: &[Declared]) -> Result<Model> {
    let mut parameters = model.parameters().to_vec();
    for given in declared {
        let index = model.index_of(&given.name)?;
        parameters[index] = given.over(&parameters[index]);
    }
    let mut model = model.with_parameters(parameters)?;
    for given in declared {
        let index = model.index_of(&given.name)?;
        model = model.with_written_bounds(index, [given.lower.is_some(), given.upper.is_some()]);
    }
    Ok(model)
}
