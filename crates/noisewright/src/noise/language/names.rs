//! The names of the noises, and the nearest one to a name that is none.

/// Noises that need a model, a design or a file, which the caller of `build` provides.
pub(super) const DESIGNED: [&str; 7] = ["data", "model", "all-noise", "optimal", "auto", "histogram", "file"];

/// Noises that are built here.
pub(super) const BUILT: [&str; 17] = [
    "normal",
    "student",
    "uniform",
    "laplace",
    "logistic",
    "gamma",
    "beta",
    "lognormal",
    "von-mises",
    "von-mises-fisher",
    "poisson",
    "negative-binomial",
    "bernoulli",
    "categorical",
    "product",
    "kde",
    "truncate",
];

/// Whether a noise has this name.
pub(super) fn is_known(name: &str) -> bool {
    BUILT.contains(&name) || DESIGNED.contains(&name)
}

/// The known name nearest to `name`, when it is near enough to be meant.
pub(super) fn nearest(name: &str) -> Option<String> {
    let lower: String = name.to_lowercase().replace('_', "-");
    let (distance, best) = BUILT
        .iter()
        .chain(&DESIGNED)
        .map(|known| (edit_distance(&lower, known), *known))
        .min_by_key(|(distance, _)| *distance)?;
    let alias = match lower.as_str() {
        "gaussian" | "gauss" | "n" => Some("normal"),
        "t" | "student-t" => Some("student"),
        "vmf" | "fisher" => Some("von-mises-fisher"),
        "double-exponential" => Some("laplace"),
        "truncated" => Some("truncate"),
        _ => None,
    };
    alias.or((distance <= 1 + lower.chars().count() / 4).then_some(best)).map(str::to_owned)
}

/// Insertions, deletions and replacements that turn one name into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
