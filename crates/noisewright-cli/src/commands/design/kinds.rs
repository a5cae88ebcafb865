//! What each kind of design is called.

use noisewright::internal::design::{Answer, Kind};
use noisewright::internal::show::shortened;

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
