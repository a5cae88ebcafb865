//! The built-in families by name: what each is, its options, and how it is built from them.

use std::fmt;
use std::sync::Arc;

use super::{
    beta, com_poisson, gamma, gaussian, ising, polynomial, student, truncated_gaussian, von_mises,
    von_mises_fisher,
};
use crate::names::nearest;
use crate::{Domain, Energy, Error, Parameter, Result, Space};

/// What a family is, for help texts and error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct FamilyInfo {
    /// Its name in a model file.
    pub name: &'static str,
    /// One line that says what it is.
    pub description: &'static str,
    /// The domain of its variables.
    pub domain: &'static str,
    /// Names of the options that it takes.
    pub options: &'static [&'static str],
    /// Its parameters, in words.
    pub parameters: &'static str,
}

impl fmt::Display for FamilyInfo {
    /// `name: description (domain …; parameters …; options …)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} (domain {}; parameters {}",
            self.name, self.description, self.domain, self.parameters
        )?;
        if !self.options.is_empty() {
            write!(f, "; options {}", self.options.join(", "))?;
        }
        write!(f, ")")
    }
}

/// The degrees of freedom of a Student family.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Dof {
    /// A number that is not estimated.
    Fixed(f64),
    /// The third parameter, `dof`.
    Free,
}

/// The options of the families; each family takes some of them, and all have defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FamilyOptions {
    /// The domain of every variable, where the family leaves a choice.
    pub domain: Option<Domain>,
    /// Which parameters to use: `natural` (default), `moments` or `polar`, as the family has it.
    pub parametrization: Option<String>,
    /// The two states of an Ising model, −1 and 1 (default) or 0 and 1.
    pub states: Option<Vec<f64>>,
    /// The coupled pairs of an Ising model, variables numbered from 0; all pairs by default.
    pub edges: Option<Vec<(usize, usize)>>,
    /// The degrees of freedom of a Student family, 5 by default.
    pub dof: Option<Dof>,
    /// The degree of an exponential polynomial, 4 by default.
    pub degree: Option<usize>,
    #[doc(hidden)]
    pub more: crate::More,
}

impl FamilyOptions {
    /// Names of the options that are set, apart from the domain.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("parametrization", self.parametrization.is_some()),
            ("states", self.states.is_some()),
            ("edges", self.edges.is_some()),
            ("dof", self.dof.is_some()),
            ("degree", self.degree.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, set)| set.then_some(name))
    }
}

/// A family in the list: what it is, and how it is built.
pub(super) struct Entry {
    pub(super) info: FamilyInfo,
    pub(super) build: fn(&Request<'_>) -> Result<Parts>,
}

/// What a family is asked to be built from.
pub(super) struct Request<'a> {
    pub(super) family: &'static str,
    pub(super) variables: &'a [String],
    /// The domain of each variable, where one was given.
    pub(super) domains: &'a [Option<Domain>],
    pub(super) options: &'a FamilyOptions,
}

/// What a family consists of once built.
pub(crate) struct Parts {
    pub(crate) energy: Arc<dyn Energy>,
    pub(crate) space: Space,
    pub(crate) parameters: Vec<Parameter>,
    /// Parameters for which zero is nothing special, so that penalised fits do not draw them there.
    pub(crate) unpenalized: Vec<String>,
}

impl Parts {
    pub(super) fn new(energy: impl Energy + 'static, space: Space, parameters: Vec<Parameter>) -> Self {
        Self { energy: Arc::new(energy), space, parameters, unpenalized: Vec::new() }
    }
}

const ENTRIES: [Entry; 10] = [
    gaussian::ENTRY,
    truncated_gaussian::ENTRY,
    student::ENTRY,
    gamma::ENTRY,
    beta::ENTRY,
    polynomial::ENTRY,
    von_mises::ENTRY,
    von_mises_fisher::ENTRY,
    ising::ENTRY,
    com_poisson::ENTRY,
];

static INFOS: [FamilyInfo; ENTRIES.len()] = {
    let mut infos = [ENTRIES[0].info; ENTRIES.len()];
    let mut i = 1;
    while i < infos.len() {
        infos[i] = ENTRIES[i].info;
        i += 1;
    }
    infos
};

/// The built-in families.
///
/// ```
/// let gamma = noisewright::families().iter().find(|family| family.name == "gamma").unwrap();
/// assert_eq!(
///     gamma.to_string(),
///     "gamma: Gamma density of a positive variable, (shape − 1)·ln x − rate·x \
///      (domain positive; parameters shape, rate)"
/// );
/// ```
#[must_use]
pub fn families() -> &'static [FamilyInfo] {
    &INFOS
}

/// Builds a family by name.
pub(crate) fn build(
    name: &str,
    variables: &[String],
    domains: &[Option<Domain>],
    options: &FamilyOptions,
) -> Result<Parts> {
    let Some(entry) = ENTRIES.iter().find(|entry| entry.info.name == name) else {
        let known = || INFOS.iter().map(|info| info.name);
        return Err(Error::UnknownFamily {
            name: name.into(),
            nearest: nearest(name, known()).map(Into::into),
            known: known().map(Into::into).collect(),
        });
    };
    if variables.is_empty() {
        return Err(Error::NoVariables);
    }
    if let Some(option) = options.given().find(|option| !entry.info.options.contains(option)) {
        return Err(Error::field(
            option,
            format!("is not an option of the family {name}; {}", entry.info.advice()),
        ));
    }
    (entry.build)(&Request { family: entry.info.name, variables, domains, options })
}

impl FamilyInfo {
    fn advice(&self) -> String {
        match self.options {
            [] => "it takes none".into(),
            options => format!("it takes {}", options.join(", ")),
        }
    }
}

impl Request<'_> {
    /// The space whose variables all have the domain that the family prescribes.
    pub(super) fn product(&self, prescribed: impl Fn(usize) -> Domain) -> Result<Space> {
        let mut variables = Vec::with_capacity(self.variables.len());
        for (i, name) in self.variables.iter().enumerate() {
            let domain = prescribed(i);
            if self.domains[i].as_ref().is_some_and(|given| !same(given, &domain)) {
                let (family, right) = (self.family, describe(&domain));
                let reason = format!("of `{name}` does not fit: the family {family} lives on {right}");
                return Err(Error::field("domain", reason));
            }
            variables.push((name, domain));
        }
        Space::product(&variables)
    }

    /// The space of a family of one variable on the domain that it prescribes.
    pub(super) fn one_variable(&self, prescribed: &Domain) -> Result<Space> {
        self.check_one_variable()?;
        self.product(|_| prescribed.clone())
    }

    /// The space of a family of one variable on whatever domain was given.
    pub(super) fn one_variable_anywhere(&self, default: Domain) -> Result<Space> {
        self.check_one_variable()?;
        Space::product(&[(&self.variables[0], self.domains[0].clone().unwrap_or(default))])
    }

    fn check_one_variable(&self) -> Result<()> {
        match self.variables.len() {
            1 => Ok(()),
            n => {
                Err(Error::field("variables", format!("must be one for the family {}, not {n}", self.family)))
            }
        }
    }

    /// Refuses domains where the family's space is not a product of them.
    pub(super) fn no_domains(&self, space: &str) -> Result<()> {
        if self.domains.iter().all(Option::is_none) {
            return Ok(());
        }
        Err(Error::field(
            "domain",
            format!("does not fit: the family {} lives on a {space}; leave it out", self.family),
        ))
    }

    /// The index of the chosen parametrization among those the family has, the first by default.
    pub(super) fn parametrization(&self, choices: &[&str]) -> Result<usize> {
        let Some(chosen) = &self.options.parametrization else { return Ok(0) };
        choices.iter().position(|choice| choice == chosen).ok_or_else(|| {
            let known: Vec<_> = choices.iter().map(|c| format!("\"{c}\"")).collect();
            let reason =
                format!("of the family {} must be {}, not \"{chosen}\"", self.family, known.join(" or "));
            Error::field("parametrization", reason)
        })
    }
}

/// Equality up to the order of states.
fn same(a: &Domain, b: &Domain) -> bool {
    match (a, b) {
        (Domain::States(a), Domain::States(b)) => a.len() == b.len() && a.iter().all(|s| b.contains(s)),
        _ => a == b,
    }
}

fn describe(domain: &Domain) -> String {
    match domain {
        Domain::Real => "\"real\"".into(),
        Domain::Positive => "\"positive\"".into(),
        Domain::Circle => "\"circle\"".into(),
        Domain::Counts => "\"counts\"".into(),
        Domain::Interval(lo, hi) => format!("[{lo}, {hi}]"),
        Domain::States(states) => format!("{{ states = {states:?} }}"),
    }
}
