//! The names of the noises, and the nearest one to a name that is none.

/// Noises that need a model, a design or a file, which the caller of `build` provides.
pub(super) const DESIGNED: [&str; 8] =
    ["data", "model", "all-noise", "optimal", "auto", "histogram", "dictionary", "file"];

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

/// Those whose names are more than one word.
pub(super) const DASHED: [&str; 4] = ["von-mises", "von-mises-fisher", "negative-binomial", "all-noise"];

/// Whether a noise has this name.
pub(super) fn is_known(name: &str) -> bool {
    BUILT.contains(&name) || DESIGNED.contains(&name)
}

/// The known name nearest to `name`, when it is near enough to be meant.
pub(super) fn nearest(name: &str) -> Option<String> {
    let lower: String = name.to_lowercase().replace('_', "-");
    let alias = match lower.as_str() {
        "gaussian" | "gauss" | "n" => Some("normal"),
        "t" | "student-t" => Some("student"),
        "vmf" | "fisher" => Some("von-mises-fisher"),
        "double-exponential" => Some("laplace"),
        "truncated" => Some("truncate"),
        _ => None,
    };
    let known = BUILT.into_iter().chain(DESIGNED);
    alias.or_else(|| crate::names::nearest(&lower, known)).map(str::to_owned)
}
