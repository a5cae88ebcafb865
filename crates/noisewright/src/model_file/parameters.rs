//! The `[parameters]` of a model file: a start value each, or a table with bounds.

use toml::Value;

use super::read;
use crate::names::nearest;
use crate::{Error, Model, Parameter, Result};

const FIELDS: [&str; 5] = ["start", "lower", "upper", "fixed", "same_as"];

/// A parameter as far as the file says.
pub(super) struct Declared {
    name: String,
    start: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
    /// The value that it is held at.
    fixed: Option<f64>,
    /// The parameter that it equals.
    same_as: Option<String>,
    /// The formula of covariates that a family's parameter is.
    formula: Option<String>,
}

impl Declared {
    fn read(name: &str, value: &Value) -> Result<Self> {
        let field = format!("parameters.{name}");
        let mut declared = Self {
            name: name.to_owned(),
            start: None,
            lower: None,
            upper: None,
            fixed: None,
            same_as: None,
            formula: None,
        };
        if let Value::String(formula) = value {
            declared.formula = Some(formula.clone());
            return Ok(declared);
        }
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
                "fixed" => declared.fixed = Some(read::number(&field, value)?),
                "same_as" => {
                    declared.same_as =
                        Some(read::string(&field, value, "the name of a parameter in quotes")?.into());
                }
                _ => return Err(Error::field(field, unknown_key(key))),
            }
        }
        if declared.fixed.is_some() && (declared.start.is_some() || declared.same_as.is_some()) {
            let reason = "is fixed: it takes neither a start value nor another parameter's";
            return Err(Error::field(field, reason));
        }
        Ok(declared)
    }

    /// The parameter, if the file gives it a start value.
    pub(super) fn complete(&self, all: &[Self]) -> Result<Parameter> {
        self.refuse_formula()?;
        let Some(start) = self.first_start(all)? else {
            let field = format!("parameters.{}", self.name);
            return Err(Error::field(field, "has no start value; write { start = … } with its bounds"));
        };
        Ok(self.over(&Parameter::new(&self.name, start)))
    }

    /// A formula is for the parameters of families with covariates.
    fn refuse_formula(&self) -> Result<()> {
        match &self.formula {
            None => Ok(()),
            Some(_) => {
                let reason =
                    "must be a number, not text: formulas are for the parameters of a family with covariates";
                Err(Error::field(format!("parameters.{}", self.name), reason))
            }
        }
    }

    /// Its start value, or that of the parameter that it equals.
    fn first_start(&self, all: &[Self]) -> Result<Option<f64>> {
        let mut at = self;
        // No chain of equal parameters is longer than all of them, unless it is a circle.
        for _ in 0..=all.len() {
            match (at.start.or(at.fixed), &at.same_as) {
                (Some(start), _) => return Ok(Some(start)),
                (None, None) => return Ok(None),
                (None, Some(name)) if *name == at.name => return Err(names_itself(name)),
                (None, Some(name)) => {
                    let known = || all.iter().map(|other| other.name.as_str());
                    at = all.iter().find(|other| other.name == *name).ok_or_else(|| {
                        Error::UnknownParameter {
                            name: name.clone(),
                            nearest: nearest(name, known()).map(Into::into),
                            known: known().map(Into::into).collect(),
                        }
                    })?;
                }
            }
        }
        Ok(None)
    }

    /// The parameter with what the file says in place of what it had.
    fn over(&self, parameter: &Parameter) -> Parameter {
        Parameter {
            name: parameter.name.clone(),
            start: self.start.or(self.fixed).unwrap_or(parameter.start),
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
        given.refuse_formula()?;
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

/// The parameters of a family some of whose own are formulas, and those formulas by name.
pub(super) struct Linked {
    pub(super) parameters: Vec<Parameter>,
    pub(super) links: Vec<(String, String)>,
}

/// A family's parameters: each stands for itself unless the file has a formula for it, whose other names are the file's.
pub(super) fn linked(declared: &[Declared], own: &[Parameter]) -> Result<Linked> {
    let links: Vec<(String, String)> =
        declared.iter().filter_map(|d| Some((d.name.clone(), d.formula.clone()?))).collect();
    if let Some((name, _)) = links.iter().find(|(name, _)| own.iter().all(|p| p.name != *name)) {
        let known = || own.iter().map(|p| p.name.as_str());
        return Err(Error::UnknownParameter {
            name: name.clone(),
            nearest: nearest(name, known()).map(Into::into),
            known: known().map(Into::into).collect(),
        });
    }
    let of_file = |name: &str| declared.iter().find(|d| d.name == name);
    let mut parameters = Vec::new();
    // Those of formulas stand where the file has them, before what is left of the family's.
    for d in declared.iter().filter(|d| d.formula.is_none() && own.iter().all(|p| p.name != d.name)) {
        parameters.push(d.complete(declared)?);
    }
    for parameter in own.iter().filter(|p| links.iter().all(|(name, _)| *name != p.name)) {
        parameters.push(of_file(&parameter.name).map_or_else(|| parameter.clone(), |d| d.over(parameter)));
    }
    Ok(Linked { parameters, links })
}

fn names_itself(parameter: &str) -> Error {
    Error::field(format!("parameters.{parameter}.same_as"), "names the parameter itself; name another one")
}

/// The model with the parameters that the file holds fixed or ties together, and its equations between them.
pub(super) fn constrain(model: Model, declared: &[Declared], equations: &[String]) -> Result<Model> {
    let fixed: Vec<(&str, f64)> = declared.iter().filter_map(|p| Some((p.name.as_str(), p.fixed?))).collect();
    let mut pairs = Vec::new();
    for parameter in declared {
        let Some(other) = &parameter.same_as else { continue };
        if *other == parameter.name {
            return Err(names_itself(other));
        }
        pairs.push((parameter.name.as_str(), other.as_str()));
    }
    model.with_fixed(&fixed)?.with_equal(&pairs)?.with_constraints(equations)
}

/// The factors by which the penalties of parameters are multiplied, by name.
pub(super) fn penalty_factors(value: &Value) -> Result<Vec<(String, f64)>> {
    const FIELD: &str = "penalty_factors";
    let table = read::table(FIELD, value, "a table of factors by the parameters' names")?;
    table.iter().map(|(name, v)| Ok((name.clone(), read::number(&format!("{FIELD}.{name}"), v)?))).collect()
}
