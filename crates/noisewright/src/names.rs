//! The nearest known name to a misspelt one, and the advice made of it.

/// The known name at the smallest edit distance, if at most a third of its letters differ; among equals one
/// with the same first letter.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
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

/// Number of letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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

    #[test]
    fn distances_known_by_hand() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("ab", "ba"), 1);
    }
}
