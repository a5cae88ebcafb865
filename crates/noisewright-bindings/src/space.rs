//! Domains in words, as the packages hand them over.

use noisewright::{Domain, Space};

/// One domain: a word, and the numbers that belong to it.
pub type DomainWords = (String, Vec<f64>);

/// The space of named variables with their domains; the word `sphere` for the first stands for all.
///
/// # Errors
/// Those of [`Space::product`] and [`Space::sphere`], and when a word is not one of a domain.
pub fn space(names: &[String], domains: &[DomainWords]) -> noisewright::Result<Space> {
    if domains.first().is_some_and(|(word, _)| word == "sphere") {
        return Space::sphere(names);
    }
    let domain = |(word, numbers): &DomainWords| match (word.as_str(), numbers.as_slice()) {
        ("interval", [lo, hi]) => Ok(Domain::Interval(*lo, *hi)),
        ("states", states) => Ok(Domain::States(states.to_vec())),
        (word, _) => word.parse(),
    };
    let domains = domains.iter().map(domain).collect::<noisewright::Result<Vec<Domain>>>()?;
    Space::product(&names.iter().zip(domains).collect::<Vec<_>>())
}

/// The words of a space's domains.
#[must_use]
pub fn domain_words(space: &Space) -> Vec<DomainWords> {
    if space.is_sphere() {
        return vec![("sphere".into(), vec![]); space.dimension()];
    }
    let numbers = |domain: &Domain| match domain {
        Domain::Interval(lo, hi) => vec![*lo, *hi],
        Domain::States(states) => states.clone(),
        _ => vec![],
    };
    space.domains().iter().map(|domain| (domain.name().into(), numbers(domain))).collect()
}
