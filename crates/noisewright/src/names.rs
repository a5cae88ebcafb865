//! The nearest known name to a misspelt one, and the advice made of it.

use strsim::osa_distance;

/// The known name at the smallest edit distance, if at most a third of its letters differ; among equals one
/// with the same first letter.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min_by_key(|(distance, candidate)| (*distance, !same_initial(name, candidate)))
        .map(|(_, candidate)| candidate)
}

fn same_initial(a: &str, b: &str) -> bool {
    a.chars().next() == b.chars().next()
}

/// "did you mean `a`?", or else the list of what is known.
pub(crate) fn advice(nearest: Option<&str>, introduction: &str, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there is none".into(),
        None => format!("{introduction} {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_one_letter_finds_its_name() {
        let known = ["log_density", "features", "family", "normalized"];
        assert_eq!(nearest("famliy", known), Some("family"));
        assert_eq!(nearest("normalised", known), Some("normalized"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn a_short_name_may_differ_in_one_letter() {
        assert_eq!(nearest("bb", ["a", "b"]), Some("b"));
        assert_eq!(nearest("sigma", ["a", "b"]), None);
        assert_eq!(nearest("P0", ["h0", "P00"]), Some("P00"));
    }
}
