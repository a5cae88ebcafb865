//! Noise words printed back in the form in which they are read.

use std::fmt::{Display, Formatter, Result, Write};

use super::{Argument, Call, NoiseWords, Weight};
use crate::text::literal;

impl Display for NoiseWords {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (i, (weight, call)) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(" + ")?;
            }
            match weight {
                Weight::Number(w) if self.terms.len() == 1 && *w == 1.0 => {}
                Weight::Number(w) => write!(f, "{}*", literal(*w))?,
                Weight::Free => f.write_str("?*")?,
            }
            call.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.name)?;
        if self.arguments.is_empty() {
            return Ok(());
        }
        f.write_char('(')?;
        write_joined(f, &self.arguments)?;
        f.write_char(')')
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Number(x) => f.write_str(&literal(*x)),
            Self::Free => f.write_char('?'),
            Self::List(entries) => {
                f.write_char('[')?;
                write_joined(f, entries)?;
                f.write_char(']')
            }
            Self::Text(text) => write_quoted(f, text),
            Self::Formula(text) => f.write_str(text),
            Self::Noise(words) => words.fmt(f),
            Self::Named(name, value) => {
                if is_plain(name) {
                    f.write_str(name)?;
                } else {
                    write_quoted(f, name)?;
                }
                f.write_char('=')?;
                value.fmt(f)
            }
        }
    }
}

fn write_joined(f: &mut Formatter<'_>, arguments: &[Argument]) -> Result {
    for (i, argument) in arguments.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        argument.fmt(f)?;
    }
    Ok(())
}

fn write_quoted(f: &mut Formatter<'_>, text: &str) -> Result {
    write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether a name can stand without quotation marks.
fn is_plain(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !["inf", "pi"].contains(&name)
}
