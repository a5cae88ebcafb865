//! Finding a column by its name, and the nearest name when it is not there.

use std::collections::HashSet;

use strsim::osa_distance;

use crate::{Error, Result};

/// How many names a message lists before it only counts the rest.
const LISTED: usize = 20;

/// Names for a sentence: `a, b, c`, or the first twenty and how many more.
pub(crate) fn listed(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(LISTED).map(|name| crate::number::printable(name.as_bytes())).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Positions of the wanted names among those there are.
///
/// A name that is not there as written may stand for the name that Stan writes: `theta[1,2]` or `theta_1_2` for
/// `theta.1.2`, or for `theta:1` of a tuple.
pub(crate) fn locate<S: AsRef<str>>(file: &str, names: &[String], wanted: &[S]) -> Result<Vec<usize>> {
    if let Some(column) = repeated(wanted) {
        return Err(Error::AskedTwice { column: column.to_owned() });
    }
    wanted.iter().map(|name| locate_one(file, names, name.as_ref())).collect()
}

fn locate_one(file: &str, names: &[String], wanted: &str) -> Result<usize> {
    let exact = || names.iter().enumerate().filter(|(_, name)| *name == wanted).map(|(j, _)| j);
    let plain = flattened(wanted);
    let alike = || names.iter().enumerate().filter(|(_, name)| flattened(name) == plain).map(|(j, _)| j);
    let found = if exact().next().is_some() {
        exact().take(2).collect::<Vec<_>>()
    } else {
        alike().take(2).collect()
    };
    match found[..] {
        [position] => Ok(position),
        [] => Err(missing(file, names, wanted)),
        [first, second] if names[first] != names[second] => Err(Error::AmbiguousColumn {
            file: file.to_owned(),
            wanted: wanted.to_owned(),
            first: names[first].clone(),
            second: names[second].clone(),
        }),
        _ => Err(Error::DuplicateColumn { file: file.to_owned(), column: wanted.to_owned() }),
    }
}

fn missing(file: &str, names: &[String], wanted: &str) -> Error {
    Error::MissingColumn {
        file: file.to_owned(),
        wanted: wanted.to_owned(),
        available: names.to_vec(),
        suggestion: nearest(wanted, names),
    }
}

/// The first name that occurs twice, if one does.
pub(crate) fn repeated<S: AsRef<str>>(names: &[S]) -> Option<&str> {
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().map(AsRef::as_ref).find(|name| !seen.insert(*name))
}

/// `theta[1,2]`, `theta.1.2`, `theta:1:2` and `theta_1_2` all become `theta_1_2`.
fn flattened(name: &str) -> String {
    name.chars()
        .filter(|c| *c != ']')
        .map(|c| if matches!(c, '[' | ',' | '.' | ':') { '_' } else { c })
        .collect()
}

/// The name spelled most like the wanted one, if it is close enough to be meant.
fn nearest(wanted: &str, names: &[String]) -> Option<String> {
    let target = wanted.to_lowercase();
    // A third of the letters may differ, one in any case.
    let allowed = (target.chars().count() / 3).max(1);
    names
        .iter()
        .map(|name| (osa_distance(&target, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count().max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_nearest_name_is_close_or_not_given() {
        assert_eq!(nearest("duraton", &names(&["waiting", "duration"])), Some("duration".to_owned()));
        assert_eq!(nearest("X", &names(&["y", "x"])), Some("x".to_owned()));
        assert_eq!(nearest("z", &names(&["x", "y"])), None);
    }

    #[test]
    fn stan_names_may_be_written_with_brackets_or_underscores() {
        let names = names(&["lp__", "theta.1", "theta.2.1", "theta_3"]);
        assert_eq!(
            locate("f", &names, &["theta[2,1]", "theta_1", "theta.1", "theta_3"]).unwrap(),
            [2, 1, 1, 3]
        );
    }

    #[test]
    fn a_name_that_may_be_two_is_refused() {
        let names = names(&["beta.1", "beta:1"]);
        assert_eq!(
            locate("f", &names, &["beta_1"]).unwrap_err().to_string(),
            "f: `beta_1` may be `beta.1` or `beta:1`; write the one that is meant"
        );
        assert_eq!(locate("f", &names, &["beta:1"]).unwrap(), [1]);
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..25).map(|j| format!("v{j}")).collect();
        assert!(listed(&names).ends_with("v18, v19 and 5 more"));
    }
}
