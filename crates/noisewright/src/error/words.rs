//! Phrases of the sentences of errors that depend on what is in them.

use crate::text::list;

/// That the data do not determine some parameters, or one.
pub(super) fn untold(parameters: &[String]) -> String {
    let names = list(parameters);
    match parameters {
        [_] => format!(
            "{names} cannot be estimated: the loss does not change with it where the search ended; hold it fixed, give \
             another start value, or leave it out"
        ),
        _ => format!(
            "{names} cannot be told apart: only a combination of them can be estimated; hold one of them fixed, or leave it out"
        ),
    }
}

/// The text with control characters, which a quoted name in a file may contain, written out.
pub(super) fn one_line(text: &str) -> String {
    let visible = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(visible).collect()
}

/// What is wrong with a bridge, and what would help.
pub(super) fn apart(bridge: usize, bridges: usize) -> String {
    if bridges == 1 {
        return "the two samples have too little in common to compare their densities directly: put bridges between them, \
                or compare samples that are nearer"
            .into();
    }
    format!(
        "the ends of bridge {bridge} of {bridges} have too little in common to be told apart: use more bridges, \
         fewer features, or more rows of both samples"
    )
}

/// `1 point is`, `2 points are`.
pub(super) fn points_are(count: usize) -> String {
    if count == 1 { "1 point is".into() } else { format!("{count} points are") }
}
