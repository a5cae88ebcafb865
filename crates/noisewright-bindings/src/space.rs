//! Domains in words, as the packages hand them over.

use noisewright::{Domain, Space};

/// One domain: a word, and the numbers that belong to it.
pub type DomainWords = (String, Vec<f64>);

/// The space of named variables with their domains; the word `sphere` for the first stands for all.
///
/// # Errors
/// Those of [`Space::product`] and [`Space::sphere`].
pub fn space(names: &[String], domains: &[DomainWords]) -> noisewright::Result<Space> {
    if domains.first().is_some_and(|(word, _)| word == "sphere") {
        return Space::sphere(names);
    }
    let domain = |(word, numbers): &DomainWords| match (word.as_str(), numbers.as_slice()) {
        ("positive", _) => Domain::Positive,
        ("circle", _) => Domain::Circle,
        ("counts", _) => Domain::Counts,
        ("interval", [lo, hi]) => Domain::Interval(*lo, *hi),
        ("states", states) => Domain::States(states.to_vec()),
        _ => Domain::Real,
    };
    Space::product(&names.iter().zip(domains.iter().map(domain)).collect::<Vec<_>>())
}

/// The words of a space's domains.
#[must_use]
pub fn domain_words(space: &Space) -> Vec<DomainWords> {
    if space.is_sphere() {
        return vec![("sphere".into(), vec![]); space.dimension()];
    }
    let word = |domain: &Domain| match domain {
        Domain::Real => ("real".into(), vec![]),
        Domain::Positive => ("positive".into(), vec![]),
        Domain::Circle => ("circle".into(), vec![]),
        Domain::Counts => ("counts".into(), vec![]),
        Domain::Interval(lo, hi) => ("interval".into(), vec![*lo, *hi]),
        Domain::States(states) => ("states".into(), states.clone()),
    };
    space.domains().iter().map(word).collect()
}
