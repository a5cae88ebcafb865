//! The names a formula may use, and the nearest of them to a misspelt one.

use std::collections::HashMap;

use strsim::osa_distance;

use crate::FormulaError;
use crate::function::{Binary, FUNCTIONS, Function};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Variable(u32),
    Parameter(u32),
}

/// What a function's name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    One(Function),
    Two(Binary),
    Polygamma,
}

/// The functions that are not in [`FUNCTIONS`].
const OTHER_FUNCTIONS: [(&str, Callee); 4] = [
    ("min", Callee::Two(Binary::Min)),
    ("max", Callee::Two(Binary::Max)),
    ("mul0", Callee::Two(Binary::MaskedProduct)),
    ("polygamma", Callee::Polygamma),
];

/// Names from other languages and what they are called here.
const SYNONYMS: [(&str, &str); 12] = [
    ("ln", "log"),
    ("arctan", "atan"),
    ("gammaln", "lgamma"),
    ("loggamma", "lgamma"),
    ("fabs", "abs"),
    ("logistic", "sigmoid"),
    ("expit", "sigmoid"),
    ("psi", "digamma"),
    ("heaviside", "step"),
    ("sgn", "sign"),
    ("pow", "^"),
    ("π", "pi"),
];

/// The variables and parameters of a formula, in order, under checked names.
///
/// ```
/// use noisewright_formula::Symbols;
/// let symbols = Symbols::new(&["x"], &["mu", "s"])?;
/// assert_eq!(symbols.parameters(), ["mu", "s"]);
/// assert!(Symbols::new(&["x"], &["exp"]).is_err());
/// # Ok::<(), noisewright_formula::FormulaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols {
    variables: Vec<String>,
    parameters: Vec<String>,
    lookup: HashMap<String, usize>,
}

impl Symbols {
    /// Checks the names: identifiers, each used once, none that formulas use themselves.
    ///
    /// # Errors
    /// [`FormulaError::InvalidName`], [`FormulaError::ReservedName`] or [`FormulaError::DuplicateName`].
    pub fn new(variables: &[impl AsRef<str>], parameters: &[impl AsRef<str>]) -> Result<Self, FormulaError> {
        let variables: Vec<String> = variables.iter().map(|v| v.as_ref().to_owned()).collect();
        let parameters: Vec<String> = parameters.iter().map(|p| p.as_ref().to_owned()).collect();
        let mut lookup = HashMap::new();
        for (index, name) in variables.iter().chain(&parameters).enumerate() {
            check_name(name)?;
            if lookup.insert(name.clone(), index).is_some() {
                return Err(FormulaError::DuplicateName { name: name.clone() });
            }
        }
        Ok(Self { variables, parameters, lookup })
    }

    /// The names of the variables, in order.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The names of the parameters, in order.
    #[must_use]
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    pub(crate) fn get(&self, name: &str) -> Option<Symbol> {
        let index = *self.lookup.get(name)?;
        let variables = self.variables.len();
        Some(if index < variables {
            Symbol::Variable(index as u32)
        } else {
            Symbol::Parameter((index - variables) as u32)
        })
    }

    pub(crate) fn unknown_name(&self, name: &str, column: usize) -> FormulaError {
        let names = self.variables.iter().chain(&self.parameters).map(String::as_str);
        let suggestion = nearest(name, names.chain(["pi"]).chain(function_names()));
        let advice =
            suggestion.as_ref().map_or_else(|| self.known_names(), |s| format!("did you mean `{s}`?"));
        FormulaError::UnknownName { name: shorten(name), column, suggestion, advice }
    }

    fn known_names(&self) -> String {
        let names: Vec<&str> = self.variables.iter().chain(&self.parameters).map(String::as_str).collect();
        match names.len() {
            0 => "this formula has no variables and no parameters".into(),
            1..=12 => format!("the names known here are {}", names.join(", ")),
            more => format!("the names known here are {}, … ({more} in all)", names[..12].join(", ")),
        }
    }
}

fn check_name(name: &str) -> Result<(), FormulaError> {
    let mut characters = name.chars();
    let starts = characters.next().is_some_and(starts_name);
    if !starts || !characters.all(continues_name) {
        return Err(FormulaError::InvalidName { name: shorten(name) });
    }
    if name == "pi" || callee(name).is_some() {
        return Err(FormulaError::ReservedName { name: name.to_owned() });
    }
    Ok(())
}

/// Whether a name may begin with the character.
pub(crate) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether a name may go on with the character; superscripts are left for an error about powers.
pub(crate) fn continues_name(c: char) -> bool {
    c == '_' || (c.is_alphanumeric() && !is_superscript(c))
}

pub(crate) fn is_superscript(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹')
}

/// The function with this name.
pub(crate) fn callee(name: &str) -> Option<Callee> {
    let one = FUNCTIONS.iter().find(|(n, _)| *n == name).map(|(_, f)| Callee::One(*f));
    one.or_else(|| OTHER_FUNCTIONS.iter().find(|(n, _)| *n == name).map(|(_, c)| *c))
}

/// The function's name as a constant.
pub(crate) fn callee_name(callee: Callee) -> &'static str {
    match callee {
        Callee::One(function) => function.name(),
        Callee::Two(binary) => binary.function_name().unwrap_or(""),
        Callee::Polygamma => "polygamma",
    }
}

fn function_names<'a>() -> impl Iterator<Item = &'a str> {
    FUNCTIONS.iter().map(|(n, _)| *n).chain(OTHER_FUNCTIONS.iter().map(|(n, _)| *n))
}

pub(crate) fn unknown_function(name: &str, column: usize) -> FormulaError {
    let suggestion = nearest(name, function_names());
    let advice = suggestion.as_ref().map_or_else(
        || "the functions are exp, log, log1p, expm1, sqrt, abs, sin, cos, tan, tanh, atan, sigmoid, softplus, logcosh, lgamma, min, max and erf".into(),
        |s| format!("did you mean `{s}`?"),
    );
    FormulaError::UnknownFunction { name: shorten(name), column, suggestion, advice }
}

/// The text, cut where it would fill a screen.
pub(crate) fn shorten(text: &str) -> String {
    const LIMIT: usize = 40;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The candidate with the fewest typing mistakes, if at most about a third of the letters are wrong.
fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let lower = name.to_lowercase();
    if let Some((_, meant)) = SYNONYMS.iter().find(|(other, _)| *other == lower) {
        return Some((*meant).to_owned());
    }
    // A name of a megabyte is not worth a table of that many letters.
    let lower: String = lower.chars().take(64).collect();
    let letters = lower.chars().count();
    let limit = if letters < 2 { 0 } else { letters.div_ceil(3) };
    candidates
        .map(|candidate| (osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(name: &str) -> Option<String> {
        nearest(name, function_names().chain(["x", "mu", "sigma", "pi"]))
    }

    #[test]
    fn typing_mistakes_find_the_word_that_was_meant() {
        assert_eq!(near("exq").as_deref(), Some("exp"));
        assert_eq!(near("EXP").as_deref(), Some("exp"));
        assert_eq!(near("sgima").as_deref(), Some("sigma"));
        assert_eq!(near("ln").as_deref(), Some("log"));
        assert_eq!(near("Pi").as_deref(), Some("pi"));
        assert_eq!(near("y"), None);
        assert_eq!(near("temperature"), None);
    }

    #[test]
    fn names_are_checked() {
        let none: [&str; 0] = [];
        for bad in ["", "2x", "a b", "a-b", "x²", "pi", "mul0", "lgamma"] {
            assert!(Symbols::new(&[bad], &none).is_err(), "{bad}");
        }
        assert!(Symbols::new(&["x", "θ_1"], &["_a", "Ω"]).is_ok());
        let twice = FormulaError::DuplicateName { name: "x".into() };
        assert_eq!(Symbols::new(&["x"], &["x"]), Err(twice));
    }
}
