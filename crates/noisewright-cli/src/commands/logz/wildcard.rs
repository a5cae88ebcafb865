//! Column names with one `*` for any text.

/// A name, or a pattern with one `*`.
pub(super) struct Wildcard<'a> {
    before: &'a str,
    /// `None` without a `*`.
    after: Option<&'a str>,
}

impl<'a> Wildcard<'a> {
    pub(super) fn new(pattern: &'a str) -> Self {
        match pattern.split_once('*') {
            Some((before, after)) => Self { before, after: Some(after) },
            None => Self { before: pattern, after: None },
        }
    }

    /// Whether a name is like it.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self.after {
            Some(_) => self.part(name).is_some(),
            None => name == self.before,
        }
    }

    /// What the `*` stands for in a name; `None` without a `*` or where the name is not like it.
    pub(super) fn part<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(self.before)?.strip_suffix(self.after?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let pattern = Wildcard::new("u_*");
        assert!(pattern.matches("u_12") && pattern.matches("u_") && !pattern.matches("v_1"));
        assert_eq!(pattern.part("u_12"), Some("12"));
        assert!(Wildcard::new("x").matches("x") && !Wildcard::new("x").matches("x1"));
        assert_eq!(Wildcard::new("a*z").part("a-b-z"), Some("-b-"));
        // The ends may not overlap.
        assert!(!Wildcard::new("aba*aba").matches("aba"));
    }
}
