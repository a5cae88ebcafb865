//! What each kind of design has to show: its title, and its own fields of the JSON.

use noisewright::design::{Answer, Kind, Member, MixtureDesign};
use serde_json::{Value, json};

use crate::commands::error::shortened;
use crate::output::{number, numbers};

/// The noise in words for a person.
pub(super) fn title(answer: &Answer) -> String {
    match &answer.kind {
        Kind::Optimal { .. } => "the exact optimum".into(),
        Kind::Family(minima) => minima[0].words.rounded(6).to_string(),
        Kind::Mixture(best) => format!("a mixture of {}", best.weights.iter().filter(|w| **w > 0.0).count()),
        Kind::Histogram { words, .. } => words.clone(),
        Kind::Fixed { words } => shortened(words),
    }
}

/// What the kind itself has to say of its noise, for JSON.
pub(super) fn details(answer: &Answer) -> Value {
    let kind = answer.kind.name();
    match &answer.kind {
        Kind::Optimal { multiplier, .. } => json!({ "kind": kind, "multiplier": number(*multiplier) }),
        Kind::Family(minima) => json!({
            "kind": kind,
            "words": minima[0].words.to_string(),
            "values": numbers(minima[0].values.iter().copied()),
            "minima": minima.iter().map(member).collect::<Vec<_>>(),
        }),
        Kind::Mixture(best) => mixture(kind, best),
        Kind::Histogram { edges, probabilities, .. } => json!({
            "kind": kind,
            "edges": numbers(edges.iter().copied()),
            "probabilities": numbers(probabilities.iter().copied()),
        }),
        Kind::Fixed { words } => json!({ "kind": kind, "words": words }),
    }
}

fn member(member: &Member) -> Value {
    json!({
        "words": member.words.to_string(),
        "values": numbers(member.values.iter().copied()),
        "nu": number(member.nu),
        "noise_proportion": number(member.nu / (1.0 + member.nu)),
        "error": number(member.error),
        "at_edge": member.at_edge,
    })
}

fn mixture(kind: &str, best: &MixtureDesign) -> Value {
    json!({
        "kind": kind,
        "words": best.noise.describe(),
        "weights": numbers(best.weights.iter().copied()),
        "components": best.components.iter().map(|c| c.describe()).collect::<Vec<_>>(),
        "exact_error": number(best.exact_error),
        "excess": number(best.excess()),
    })
}

/// The answer to "how much noise is enough" as JSON.
pub(super) fn efficiency(answer: &Answer) -> Value {
    answer.enough.as_ref().map_or(Value::Null, |enough| {
        json!({
            "asked": number(enough.asked),
            "nu": number(enough.nu),
            "curve": {
                "nu": numbers(enough.curve.iter().map(|c| c.0)),
                "efficiency": numbers(enough.curve.iter().map(|c| c.1)),
            },
        })
    })
}
