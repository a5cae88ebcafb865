//! Formulas in parameters whose names may be anything, such as `x^2` of a feature: those stand between backquotes.

use noisewright_formula::{Formula, FormulaError, Symbols};

use crate::names::nearest;
use crate::{Error, Result};

/// A formula in these parameters, of a setting that words its refusals by `refusal`.
///
/// Where some name is no identifier all stand between backquotes: `x^2` without them would be the square of `x`.
///
/// # Errors
/// When a parameter is not known or stands without its backquotes, or the formula cannot be read.
pub(crate) fn formula(
    parameters: &[String],
    field: &'static str,
    text: &str,
    refusal: fn(&'static str, String) -> Error,
) -> Result<Formula> {
    let none: [&str; 0] = [];
    let plain = Symbols::new(&none, parameters).is_ok();
    if !plain && !text.contains('`') {
        return Err(refusal(field, unquoted()));
    }
    let names: Vec<String> = match plain {
        true => parameters.to_vec(),
        false => (0..parameters.len()).map(|j| format!("unknown_{j}")).collect(),
    };
    let text = identified(parameters, &names, text)?;
    let wrong = |source: FormulaError| match source {
        FormulaError::UnknownName { name, .. } if !plain && parameters.contains(&name) => {
            refusal(field, unquoted())
        }
        FormulaError::UnknownName { name, .. } if !plain => unknown(parameters, &name),
        source => Error::Formula { field: field.into(), text: text.clone(), source: Box::new(source) },
    };
    Formula::parse(text.trim(), &Symbols::new(&none, &names).map_err(wrong)?).map_err(wrong)
}

fn unquoted() -> String {
    "must have the parameters between backquotes, because some of their names are no plain names: `x^2`/`x`"
        .into()
}

fn unknown(parameters: &[String], name: &str) -> Error {
    let known = parameters.iter().map(String::as_str);
    Error::UnknownParameter {
        name: name.into(),
        nearest: nearest(name, known).map(Into::into),
        known: parameters.to_vec(),
    }
}

/// The text with what stands between backquotes replaced by identifiers.
fn identified(parameters: &[String], names: &[String], text: &str) -> Result<String> {
    let mut out = String::new();
    for (k, part) in text.split('`').enumerate() {
        match parameters.iter().position(|name| name == part) {
            _ if k % 2 == 0 => out.push_str(part),
            Some(j) => out.push_str(&names[j]),
            None => return Err(unknown(parameters, part)),
        }
    }
    Ok(out)
}
