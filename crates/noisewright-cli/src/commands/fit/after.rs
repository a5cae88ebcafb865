//! Functions of the parameters and tests of hypotheses, beside a fit.

use noisewright::internal::show::{derived_table, wald_sentence};
use noisewright::parts::WaldTest;
use noisewright::{Error, Estimate, Fit};
use noisewright_report::Value;

use crate::arguments::AfterArguments;
use crate::failure::{Failure, Outcome};
use crate::output;

/// What was asked beside the estimates.
pub(super) struct After {
    derived: Vec<Estimate>,
    tests: Vec<WaldTest>,
}

impl After {
    pub(super) fn new(fit: &Fit, asked: &AfterArguments) -> Outcome<Self> {
        let derive = |text: &String| fit.derive(text).map_err(|error| wrong("--derive", &error));
        let derived = asked.derive.iter().map(derive).collect::<Outcome<Vec<_>>>()?;
        let mut names: Vec<&str> = derived.iter().map(|e| e.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Failure::Usage(format!("--derive: the name `{}` is used twice", twice[0])));
        }
        let test = |text: &String| fit.wald(&parts(text)).map_err(|error| wrong("--test", &error));
        let tests = asked.test.iter().map(test).collect::<Outcome<Vec<_>>>()?;
        Ok(Self { derived, tests })
    }

    /// Adds the fields `derived` and `tests` where they were asked for.
    pub(super) fn write(&self, value: &mut Value) -> Outcome<()> {
        if !self.derived.is_empty() {
            let named = self.derived.iter().map(|e| Ok((e.name.clone(), output::value(e)?)));
            value.set("derived", Value::Map(named.collect::<Outcome<_>>()?));
        }
        if !self.tests.is_empty() {
            value.set("tests", output::value(&self.tests)?);
        }
        Ok(())
    }

    /// The table and the sentences for people.
    pub(super) fn text(&self, confidence: f64) -> String {
        let mut text = String::new();
        if !self.derived.is_empty() {
            text.push_str(&format!("\n{}", output::table(&derived_table(&self.derived, confidence))));
        }
        if !self.tests.is_empty() {
            text.push('\n');
        }
        for test in &self.tests {
            text.push_str(&format!("{}\n", wald_sentence(test)));
        }
        text
    }
}

/// A mistake in what was typed.
fn wrong(flag: &str, error: &Error) -> Failure {
    let sentence = match error {
        Error::Formula { text, source, .. } => source.render(text),
        Error::Option { fault, .. } => fault.to_string(),
        other => other.to_string(),
    };
    Failure::Usage(format!("{flag}: {sentence}"))
}

/// Equations with commas between them; those within parentheses belong to functions.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn commas_of_functions_stay() {
        assert_eq!(parts("a = max(b, c), d = 0"), ["a = max(b, c)", " d = 0"]);
    }
}
