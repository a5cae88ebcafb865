//! Values as JSON text.

use std::fmt::Write;

use super::Value;

impl Value {
    /// JSON, one field a line and every list of numbers on a line of its own.
    ///
    /// Numbers have as many digits as tell them from their neighbours. JSON has no infinity, but `1e999` is valid and is
    /// read as infinity by Python, R and JavaScript; what is not a number is `null`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Integer(whole) => push(out, format_args!("{whole}")),
            Self::Number(number) => write_number(out, *number),
            Self::Text(text) => write_text(out, text),
            Self::Numbers(numbers) => write_numbers(out, numbers),
            Self::Matrix { columns, values } => {
                let rows = values.chunks(*columns);
                write_lines(out, depth, ('[', ']'), rows, write_numbers);
            }
            Self::List(list) => {
                write_lines(out, depth, ('[', ']'), list.iter(), |out, value| value.write(out, depth + 1));
            }
            Self::Map(fields) => write_lines(out, depth, ('{', '}'), fields.iter(), |out, (name, value)| {
                write_text(out, name);
                out.push_str(": ");
                value.write(out, depth + 1);
            }),
        }
    }
}

/// Entries between brackets, each on a line.
fn write_lines<T>(
    out: &mut String,
    depth: usize,
    brackets: (char, char),
    entries: impl Iterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    out.push(brackets.0);
    let mut empty = true;
    for entry in entries {
        out.push_str(if empty { "\n" } else { ",\n" });
        empty = false;
        (0..=depth).for_each(|_| out.push_str("  "));
        write(out, entry);
    }
    if !empty {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    }
    out.push(brackets.1);
}

fn write_numbers(out: &mut String, numbers: &[f64]) {
    out.push('[');
    for (i, number) in numbers.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_number(out, *number);
    }
    out.push(']');
}

fn write_number(out: &mut String, x: f64) {
    if x.is_nan() {
        out.push_str("null");
    } else if x.is_infinite() {
        out.push_str(if x > 0.0 { "1e999" } else { "-1e999" });
    } else {
        push(out, format_args!("{x:?}"));
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => push(out, format_args!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writing to a string cannot fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
