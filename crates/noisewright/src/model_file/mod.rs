//! The model file: TOML in, a checked [`Model`] out, and for every mistake one sentence that names the field.

mod domain;
mod parameters;
mod read;

use std::sync::Arc;

use noisewright_formula::FormulaError;
use toml::{Table, Value};

use self::domain::Domains;
use self::parameters::{Declared, declared};
use crate::energy::Dof;
use crate::energy::{FamilyParts, LinkedEnergy, build_family};
use crate::names::nearest;
use crate::{Domain, Error, FamilyOptions, Model, Parameter, Result, Space};

/// The three ways to write down a model, of which a file has exactly one.
const KINDS: [&str; 3] = ["log_density", "features", "family"];

/// The fields that every model can have.
const COMMON: [&str; 8] = [
    "variables",
    "covariates",
    "normalized",
    "domain",
    "sphere",
    "parameters",
    "constraints",
    "penalty_factors",
];

/// The fields that are options of families.
const OPTIONS: [&str; 5] = ["parametrization", "states", "edges", "dof", "degree"];

/// What stands beside features alone: formulas have terms without parameters.
const OFFSET: &str = "offset";

/// Reads a model file.
pub(crate) fn parse(text: &str) -> Result<Model> {
    let table: Table = text.parse().map_err(|error| syntax_error(text, &error))?;
    check_fields(&table)?;
    let kind = kind(&table)?;
    if kind != "family"
        && let Some(option) = OPTIONS.iter().find(|option| table.contains_key(**option))
    {
        return Err(Error::field(*option, format!("is an option of families; it does not fit `{kind}`")));
    }
    if kind != "features" && table.contains_key(OFFSET) {
        let reason = format!(
            "stands beside `features` alone, and not beside `{kind}`: a term without parameters in a `log_density` is an offset"
        );
        return Err(Error::field(OFFSET, reason));
    }
    let file = File::read(&table)?;
    let model = match kind {
        "log_density" => file.formula(&table[kind]),
        "features" => file.features(&table[kind], table.get(OFFSET)),
        _ => file.family(&table),
    }?
    .with_covariates(&file.covariates)?;
    let equations = table.get("constraints").map_or(Ok(vec![]), |v| read::strings("constraints", v))?;
    let factors = table.get("penalty_factors").map_or(Ok(vec![]), parameters::penalty_factors)?;
    parameters::constrain(model.with_penalty_factors(&factors)?, &file.parameters, &equations)
}

/// What files of all kinds have in common.
struct File {
    variables: Vec<String>,
    /// What the density is given, after the variables in its points.
    covariates: Vec<String>,
    domains: Domains,
    normalized: bool,
    parameters: Vec<Declared>,
}

impl File {
    fn read(table: &Table) -> Result<Self> {
        let variables = variables(table)?;
        let covariates = table.get("covariates").map_or(Ok(vec![]), |v| names("covariates", v))?;
        if !covariates.is_empty() && table.contains_key("sphere") {
            let reason = "cannot stand beside a sphere: write the direction as an angle on the circle";
            return Err(Error::field("covariates", reason));
        }
        if let Some(name) = covariates.iter().find(|name| variables.contains(name)) {
            return Err(Error::field("covariates", format!("has `{name}`, which is a variable already")));
        }
        let normalized = table.get("normalized").map_or(Ok(false), |v| read::boolean("normalized", v))?;
        let domains = Domains::read(table, &variables)?;
        let parameters = table.get("parameters").map_or(Ok(vec![]), declared)?;
        Ok(Self { variables, covariates, domains, normalized, parameters })
    }

    fn formula(&self, value: &Value) -> Result<Model> {
        let text = read::string("log_density", value, "a formula in quotes")?;
        let parameters = self.required_parameters()?;
        Model::from_formula(text, self.space()?, parameters, self.normalized).map_err(missing_value)
    }

    fn features(&self, value: &Value, offset: Option<&Value>) -> Result<Model> {
        let texts = read::strings("features", value)?;
        if self.normalized {
            let reason = "cannot be true with `features`, whose constant is estimated; leave it out";
            return Err(Error::field("normalized", reason));
        }
        let parameters = self.required_parameters()?;
        let Some(offset) = offset else { return Model::from_features(&texts, self.space()?, parameters) };
        let offset = read::string(OFFSET, offset, "a formula in quotes")?;
        Model::from_features_with_offset(&texts, offset, self.space()?, parameters)
    }

    /// The space of the variables and of the covariates after them.
    fn space(&self) -> Result<Space> {
        with_covariates(&self.domains.space(&self.variables)?, &self.covariates)
    }

    /// Parameters that only the file can give a start value to.
    fn required_parameters(&self) -> Result<Vec<Parameter>> {
        self.parameters.iter().map(|p| p.complete(&self.parameters)).collect()
    }

    fn family(&self, table: &Table) -> Result<Model> {
        let family = read::string("family", &table["family"], "the name of a family in quotes")?;
        let options = options(table, &self.variables)?;
        let domains = self.domains.per_variable(family, self.variables.len())?;
        let parts = build_family(family, &self.variables, &domains, &options)?;
        if !self.covariates.is_empty() {
            return self.linked_family(family, parts);
        }
        let model = Model::of_family(family, parts)?;
        let model = if self.normalized { model.normalized_family(family)? } else { model };
        let model = parameters::override_defaults(model, &self.parameters)?;
        let mut gradient = vec![0.0; model.parameters().len()];
        if self.normalized && model.log_normalizer(&model.start(), &mut gradient).is_none() {
            let reason = format!("start where the family {family} cannot be normalized; move them inside");
            return Err(Error::field("parameters", reason));
        }
        Ok(model)
    }
}

impl File {
    /// A family with covariates, of which its parameters may be formulas.
    fn linked_family(&self, family: &str, parts: FamilyParts) -> Result<Model> {
        if self.normalized {
            let reason = "cannot be true for a family with covariates; leave it out";
            return Err(Error::field("normalized", reason));
        }
        let parameters::Linked { parameters, links } =
            parameters::linked(&self.parameters, &parts.parameters)?;
        let names = parameters.iter().map(|p| p.name.clone()).collect();
        let energy =
            LinkedEnergy::new(parts.energy, &self.covariates, names, &links).map_err(missing_value)?;
        if let Some(name) = energy.unused() {
            let reason = format!(
                "is used by no parameter of the family {family}; use it in a formula or leave it out"
            );
            return Err(Error::field(format!("parameters.{name}"), reason));
        }
        let space = with_covariates(&parts.space, &self.covariates)?;
        Model::from_shared(Arc::new(energy), space, parameters, true)
    }
}

/// A space with real variables after its own.
fn with_covariates(space: &Space, covariates: &[String]) -> Result<Space> {
    if covariates.is_empty() {
        return Ok(space.clone());
    }
    if space.is_sphere() {
        let reason = "cannot stand beside a sphere: write the direction as an angle on the circle";
        return Err(Error::field("covariates", reason));
    }
    let own = space.names().iter().zip(space.domains().iter().cloned());
    let all: Vec<_> = own.chain(covariates.iter().map(|name| (name, Domain::Real))).collect();
    Space::product(&all)
}

/// A name in a formula that is like no known one is a parameter whose value was forgotten.
fn missing_value(error: Error) -> Error {
    if let Error::Formula { text, source, .. } = &error
        && let FormulaError::UnknownName { name, column, suggestion: None, .. } = source.as_ref()
    {
        return Error::MissingValue { parameter: name.clone(), text: text.clone(), column: *column };
    }
    error
}

fn check_fields(table: &Table) -> Result<()> {
    let known = || KINDS.into_iter().chain(COMMON).chain([OFFSET]).chain(OPTIONS);
    let Some(unknown) = table.keys().find(|key| known().all(|field| field != **key)) else { return Ok(()) };
    let advice = match nearest(unknown, known()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("the fields are {}", known().collect::<Vec<_>>().join(", ")),
    };
    Err(Error::field(unknown, format!("is not a field of a model file; {advice}")))
}

fn kind(table: &Table) -> Result<&'static str> {
    let mut present = KINDS.into_iter().filter(|kind| table.contains_key(*kind));
    match (present.next(), present.next()) {
        (Some(kind), None) => Ok(kind),
        (Some(first), Some(second)) => {
            let reason =
                format!("cannot stand beside `{first}`: a model has one of log_density, features and family");
            Err(Error::field(second, reason))
        }
        (None, _) => Err(Error::field(
            "log_density",
            "is missing: a model has one of log_density, features and family",
        )),
    }
}

fn variables(table: &Table) -> Result<Vec<String>> {
    let (field, value) = match (table.get("variables"), table.get("sphere")) {
        (Some(variables), _) => ("variables", variables),
        (None, Some(sphere)) => ("sphere", sphere),
        (None, None) => {
            return Err(Error::field(
                "variables",
                "is missing: list the data columns, such as variables = [\"x\"]",
            ));
        }
    };
    names(field, value)
}

/// Names of columns.
fn names(field: &str, value: &Value) -> Result<Vec<String>> {
    let names = read::strings(field, value)?;
    for name in &names {
        if name.trim().is_empty() {
            return Err(Error::field(field, "has an empty name; write the name of a data column"));
        }
        if name.contains(char::is_control) {
            return Err(Error::field(
                field,
                format!("has the name `{name}`; take the control characters out"),
            ));
        }
    }
    Ok(names)
}

fn options(table: &Table, variables: &[String]) -> Result<FamilyOptions> {
    let parametrization = match table.get("parametrization") {
        Some(value) => Some(read::string("parametrization", value, "a name in quotes")?.to_owned()),
        None => None,
    };
    Ok(FamilyOptions {
        parametrization,
        states: table.get("states").map(|v| read::numbers("states", v)).transpose()?,
        edges: table.get("edges").map(|v| edges(v, variables)).transpose()?,
        dof: table.get("dof").map(dof).transpose()?,
        degree: table.get("degree").map(|v| read::whole("degree", v)).transpose()?,
        ..FamilyOptions::default()
    })
}

fn dof(value: &Value) -> Result<Dof> {
    match value {
        Value::String(word) if word == "free" => Ok(Dof::Free),
        Value::String(word) => {
            Err(Error::field("dof", format!("must be a positive number or \"free\", not \"{word}\"")))
        }
        number => Ok(Dof::Fixed(read::number("dof", number)?)),
    }
}

/// Pairs of variables, by their numbers from 0 or by their names.
fn edges(value: &Value, variables: &[String]) -> Result<Vec<(usize, usize)>> {
    let wrong = || Error::field("edges", "must be a list of pairs of variables, such as [[0, 1], [1, 2]]");
    let end = |value: &Value| match value {
        Value::String(name) => variables.iter().position(|v| v == name).ok_or_else(|| {
            Error::field(
                "edges",
                format!("names `{name}`, which is not among the variables {}", variables.join(", ")),
            )
        }),
        Value::Integer(index) => usize::try_from(*index).map_err(|_| wrong()),
        _ => Err(wrong()),
    };
    let pair = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([a, b]) => Ok((end(a)?, end(b)?)),
        _ => Err(wrong()),
    };
    value.as_array().ok_or_else(wrong)?.iter().map(pair).collect()
}

fn syntax_error(text: &str, error: &toml::de::Error) -> Error {
    let offset = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    let reason = error.message().lines().next().unwrap_or("it cannot be read").trim().to_owned();
    Error::ModelSyntax { line, column, reason }
}
