//! The domains in a model file: one for all variables, one each, or the sphere of all.

use toml::{Table, Value};

use super::read;
use crate::names::nearest;
use crate::{Domain, Error, Result, Space};

const NAMES: [(&str, Domain); 4] = [
    ("real", Domain::Real),
    ("positive", Domain::Positive),
    ("circle", Domain::Circle),
    ("counts", Domain::Counts),
];

const EXPECTED: &str = "\"real\", \"positive\", \"circle\", \"counts\", [lo, hi] or { states = [...] }";

/// Where the variables live, as far as the file says.
pub(super) enum Domains {
    Sphere,
    Product(Vec<Option<Domain>>),
}

impl Domains {
    pub(super) fn read(table: &Table, variables: &[String]) -> Result<Self> {
        match (table.get("sphere"), table.get("domain")) {
            (Some(_), Some(_)) => Err(Error::field(
                "domain",
                "cannot stand beside `sphere`, which gives the variables their domain",
            )),
            (Some(sphere), None) => sphere_of(sphere, variables),
            (None, Some(domain)) => Ok(Self::Product(product(domain, variables)?)),
            (None, None) => Ok(Self::Product(vec![None; variables.len()])),
        }
    }

    /// The space, in which a variable without a domain is real.
    pub(super) fn space(&self, variables: &[String]) -> Result<Space> {
        match self {
            Self::Sphere => Space::sphere(variables),
            Self::Product(domains) => {
                let domains = domains.iter().map(|domain| domain.clone().unwrap_or(Domain::Real));
                Space::product(&variables.iter().zip(domains).collect::<Vec<_>>())
            }
        }
    }

    /// The domains for a family, which knows by itself whether it lives on a sphere.
    pub(super) fn per_variable(&self, family: &str, variables: usize) -> Result<Vec<Option<Domain>>> {
        match self {
            Self::Product(domains) => Ok(domains.clone()),
            Self::Sphere if family == "von-mises-fisher" => Ok(vec![None; variables]),
            Self::Sphere => Err(Error::field(
                "sphere",
                format!("does not fit the family {family}; von-mises-fisher lives there"),
            )),
        }
    }
}

fn sphere_of(value: &Value, variables: &[String]) -> Result<Domains> {
    let names = read::strings("sphere", value)?;
    if names.len() == variables.len() && variables.iter().all(|v| names.contains(v)) {
        return Ok(Domains::Sphere);
    }
    Err(Error::field("sphere", format!("must list all the variables: {}", variables.join(", "))))
}

fn product(value: &Value, variables: &[String]) -> Result<Vec<Option<Domain>>> {
    let Some(table) = value.as_table().filter(|table| !is_states(table, variables)) else {
        let all = domain("domain", value)?;
        return Ok(vec![Some(all); variables.len()]);
    };
    if let Some(unknown) = table.keys().find(|key| !variables.contains(key)) {
        let reason = format!("names `{unknown}`, which is not among the variables {}", variables.join(", "));
        return Err(Error::field("domain", reason));
    }
    let one =
        |name: &String| table.get(name).map(|value| domain(&format!("domain.{name}"), value)).transpose();
    variables.iter().map(one).collect()
}

/// `{ states = […] }` for all variables, unless a variable is called `states`.
fn is_states(table: &Table, variables: &[String]) -> bool {
    table.len() == 1 && table.contains_key("states") && !variables.iter().any(|v| v == "states")
}

fn domain(field: &str, value: &Value) -> Result<Domain> {
    match value {
        Value::String(name) => named(field, name),
        Value::Array(ends) => interval(field, ends),
        Value::Table(table) => match (table.get("states"), table.len()) {
            (Some(states), 1) => Ok(Domain::States(read::numbers(&format!("{field}.states"), states)?)),
            _ => Err(Error::field(field, format!("must be {EXPECTED}"))),
        },
        _ => Err(Error::field(field, format!("must be {EXPECTED}"))),
    }
}

fn named(field: &str, name: &str) -> Result<Domain> {
    if let Some((_, domain)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(domain.clone());
    }
    let advice = match nearest(name, NAMES.iter().map(|(known, _)| *known)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("it must be {EXPECTED}"),
    };
    Err(Error::field(field, format!("= \"{name}\" is not a domain; {advice}")))
}

fn interval(field: &str, ends: &[Value]) -> Result<Domain> {
    let wrong = || Error::field(field, "must be [lo, hi] with lo < hi, both finite");
    let [lo, hi] = ends else { return Err(wrong()) };
    let (lo, hi) = (read::bound(field, lo)?, read::bound(field, hi)?);
    if lo < hi && lo.is_finite() && hi.is_finite() { Ok(Domain::Interval(lo, hi)) } else { Err(wrong()) }
}
