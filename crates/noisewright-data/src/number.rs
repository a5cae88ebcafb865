//! One field of text as a number, a missing value, or something to complain about.

use crate::{Error, Place};

/// Integers below this, 2^53, are all numbers of 64 bits; it is also what the next one is rounded to.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Longest piece of a file's text that a message quotes.
const QUOTED: usize = 40;

/// What marks a missing value, compared without regard to case: the marks of R, NumPy, SQL, pandas and SAS, and the
/// errors that spreadsheets write into cells.
const MISSING: [&[u8]; 23] = [
    b"",
    b"na",
    b"n/a",
    b"nan",
    b"-nan",
    b"null",
    b"none",
    b"?",
    b".",
    b"<na>",
    b"#n/a",
    b"#n/a n/a",
    b"#na",
    b"#div/0!",
    b"#ref!",
    b"#value!",
    b"#name?",
    b"#num!",
    b"#null!",
    b"#spill!",
    b"#calc!",
    b"#field!",
    b"#getting_data",
];

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// A finite number.
    Finite(f64),
    /// An integer that a 64-bit floating-point number cannot hold.
    LargeInteger(i128),
    /// Infinity, or a number beyond the range of 64 bits.
    NonFinite,
    /// Nothing, or a mark that stands for nothing.
    Missing,
    /// Anything else.
    Text,
}

/// Reads a field, spaces around it ignored.
pub(crate) fn value(field: &[u8]) -> Value {
    let field = field.trim_ascii();
    match std::str::from_utf8(field).ok().and_then(|text| text.parse::<f64>().ok()) {
        Some(number) if number.abs() >= EXACT && number.is_finite() => large(number, field),
        Some(number) if number.is_finite() => Value::Finite(number),
        Some(number) if number.is_infinite() => Value::NonFinite,
        _ if MISSING.iter().any(|mark| field.eq_ignore_ascii_case(mark)) => Value::Missing,
        // `+nan` and its like parse as a number but are no mark of their own.
        Some(_) => Value::Missing,
        None => Value::Text,
    }
}

/// A number beyond 2^53: an integer whose digits would be rounded is told from one that is a rounded float.
fn large(number: f64, field: &[u8]) -> Value {
    let text = String::from_utf8_lossy(field);
    match text.parse::<i128>() {
        // What a program writes for a float is read as the same float, even without an exponent.
        Ok(integer) if number as i128 != integer && number.to_string() != text.trim_start_matches('+') => {
            Value::LargeInteger(integer)
        }
        _ => Value::Finite(number),
    }
}

/// The complaint about a field that is not a finite number.
pub(crate) fn complaint(value: Value, place: Place, field: &[u8]) -> Error {
    let text = printable(field.trim_ascii());
    match value {
        Value::Missing => Error::Missing { place, text },
        Value::NonFinite => Error::NonFinite { place, text },
        _ if has_decimal_comma(&text) => Error::DecimalComma { place, text },
        _ => Error::NotANumber { place, text },
    }
}

fn has_decimal_comma(text: &str) -> bool {
    text.matches(',').count() == 1 && text.replace(',', ".").parse::<f64>().is_ok()
}

/// Where a value stands in a file that has no lines; `row` counts from 0.
pub(crate) fn place(file: &str, row: usize, column: &str) -> Place {
    Place { file: file.to_owned(), row: row + 1, line: None, column: column.to_owned() }
}

/// Bytes for a message: control characters escaped, cut after forty characters.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut characters = text.chars();
    let mut out = String::new();
    for c in characters.by_ref().take(QUOTED) {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_all_their_spellings() {
        for (text, number) in
            [("1", 1.0), (" -2.5 ", -2.5), (".5", 0.5), ("5.", 5.0), ("+1E-3", 1e-3), ("4.9e-324", 5e-324)]
        {
            assert_eq!(value(text.as_bytes()), Value::Finite(number), "{text}");
        }
        assert_eq!(value(b"0.1"), Value::Finite(0.1));
    }

    #[test]
    fn integers_that_would_be_rounded_are_told() {
        for text in ["9007199254740993", "-9007199254740993", "+12345678901234567890"] {
            assert!(matches!(value(text.as_bytes()), Value::LargeInteger(_)), "{text}");
        }
        // 2^53, 2^64 and 1e20 are numbers; 2^60 as a program writes it that gives 17 digits and zeros.
        for text in [
            "9007199254740992",
            "18446744073709551616",
            "100000000000000000000",
            "1152921504606847000",
            "1e300",
            "9007199254740993.0",
        ] {
            assert!(matches!(value(text.as_bytes()), Value::Finite(_)), "{text}");
        }
    }

    #[test]
    fn missing_marks_infinities_and_text() {
        for text in
            ["", "  ", "NA", "na", "NaN", "nan", "-nan", "+nan", "null", "NULL", "None", "N/A", "?", "."]
        {
            assert_eq!(value(text.as_bytes()), Value::Missing, "{text}");
        }
        for text in ["#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", " #n/a ", "<NA>"] {
            assert_eq!(value(text.as_bytes()), Value::Missing, "{text}");
        }
        for text in ["inf", "-Inf", "Infinity", "1e999"] {
            assert_eq!(value(text.as_bytes()), Value::NonFinite, "{text}");
        }
        for text in ["abc", "1,5", "1 2", "0x10", "1_000", "--1", "e5", "TRUE", "\u{00b5}"] {
            assert_eq!(value(text.as_bytes()), Value::Text, "{text}");
        }
        assert_eq!(value(b"\xff\xfe"), Value::Text);
    }

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(printable(b"a\x1b[31m\tb"), "a\\u{1b}[31m\\tb");
        assert_eq!(printable("ä".repeat(41).as_bytes()).chars().count(), 41);
    }
}
