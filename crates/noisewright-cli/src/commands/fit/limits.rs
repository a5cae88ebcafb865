//! Estimates at the end of a built-in family: the data want a parameter where the family has no members.

use noisewright::fit::Fit;
use noisewright::{Model, Parameter};

/// The sentence about the first estimate at a bound that the family sets and the model file does not.
///
/// A bound that the user wrote is a wish, and the fit on it an answer with a warning; the family's own bound is where
/// its formula stops being a probability, and what the fit does there says nothing about the data.
pub(super) fn beyond_family(text: &str, model: &Model, fit: &Fit) -> Option<String> {
    let file: toml::Table = text.parse().ok()?;
    let family = file.get("family")?.as_str()?;
    let at_bound = model.parameters().iter().zip(&fit.parameters).filter(|(_, estimate)| estimate.at_bound);
    for (parameter, estimate) in at_bound {
        let (side, bound) = nearest(parameter, estimate.estimate);
        if !is_written(&file, &parameter.name, side) {
            let name = &parameter.name;
            return Some(format!(
                "the data want `{name}` beyond {bound}, where the family {family} ends, so that there is no estimate inside \
                 it; use another model, or accept the bound by writing {name} = {{ start = …, {side} = {bound} }} in the \
                 model file"
            ));
        }
    }
    None
}

fn nearest(parameter: &Parameter, estimate: f64) -> (&'static str, f64) {
    if (estimate - parameter.lower).abs() <= (parameter.upper - estimate).abs() {
        ("lower", parameter.lower)
    } else {
        ("upper", parameter.upper)
    }
}

/// Whether the model file gives the parameter this bound.
fn is_written(file: &toml::Table, name: &str, side: &str) -> bool {
    let entry = file.get("parameters").and_then(|parameters| parameters.get(name));
    entry.and_then(|entry| entry.get(side)).is_some()
}
