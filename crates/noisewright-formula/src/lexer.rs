//! Text into tokens that know their columns.

use crate::FormulaError;
use crate::symbols::{continues_name, is_superscript, shorten, starts_name};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Number(f64),
    Name,
    Plus,
    Minus,
    Times,
    Over,
    Caret,
    Open,
    Close,
    Comma,
    End,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// Characters before it, plus one.
    pub(crate) column: usize,
}

/// All tokens, the last of them [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, FormulaError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else {
            let token = next_token(rest, first, column)?;
            tokens.push(token);
            token.text.len()
        };
        column += rest[..length].chars().count();
        rest = &rest[length..];
    }
    tokens.push(Token { kind: Kind::End, text: "", column });
    Ok(tokens)
}

fn next_token(rest: &str, first: char, column: usize) -> Result<Token<'_>, FormulaError> {
    if starts_name(first) {
        let end = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        return Ok(Token { kind: Kind::Name, text: &rest[..end], column });
    }
    if let Some(length) = number_length(rest.as_bytes()) {
        return number(&rest[..length], column);
    }
    let kind = match first {
        '+' => Kind::Plus,
        // The minus sign and the multiplication dot of typeset text mean what they look like.
        '-' | '−' => Kind::Minus,
        '*' | '·' | '×' => Kind::Times,
        '/' => Kind::Over,
        '^' => Kind::Caret,
        '(' => Kind::Open,
        ')' => Kind::Close,
        ',' => Kind::Comma,
        character => return Err(unexpected(character, column)),
    };
    Ok(Token { kind, text: &rest[..first.len_utf8()], column })
}

fn unexpected(character: char, column: usize) -> FormulaError {
    let advice = match character {
        '[' | ']' | '{' | '}' => "group with parentheses, `(` and `)`",
        '=' | '<' | '>' | '!' | '&' | '|' => "a formula is an expression, without comparisons",
        ';' => "separate arguments with `,`",
        '.' => "a number needs digits, such as `0.5`",
        c if is_superscript(c) => "write powers with `^`, such as `x^2`",
        _ => "formulas are made of numbers, names, `+ - * / ^`, parentheses and commas",
    };
    FormulaError::UnexpectedCharacter { character, column, advice }
}

/// How many bytes the number at the start takes: digits, a point, digits, an exponent.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits(length + 1);
        if whole + fraction == 0 {
            return None;
        }
        length += 1 + fraction;
    }
    if length == 0 {
        return None;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(length + 1 + signed..).map_or(0, |_| digits(length + 1 + signed));
        if exponent > 0 {
            length += 1 + signed + exponent;
        }
    }
    Some(length)
}

fn number(text: &str, column: usize) -> Result<Token<'_>, FormulaError> {
    let out_of_range = || FormulaError::NumberRange { number: shorten(text), column };
    let value: f64 = text.parse().map_err(|_| out_of_range())?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let vanished = value == 0.0 && mantissa.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if value.is_infinite() || vanished {
        return Err(out_of_range());
    }
    Ok(Token { kind: Kind::Number(value), text, column })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn numbers_end_where_they_should() {
        assert_eq!(kinds(".5"), [Kind::Number(0.5), Kind::End]);
        assert_eq!(kinds("1."), [Kind::Number(1.0), Kind::End]);
        assert_eq!(kinds("1e-3"), [Kind::Number(1e-3), Kind::End]);
        assert_eq!(kinds("2exp"), [Kind::Number(2.0), Kind::Name, Kind::End]);
        assert_eq!(kinds("2e+"), [Kind::Number(2.0), Kind::Name, Kind::Plus, Kind::End]);
        assert_eq!(kinds("1.5.5"), [Kind::Number(1.5), Kind::Number(0.5), Kind::End]);
        assert!(tokens("1e999").is_err() && tokens("1e-999").is_err() && tokens("0e999").is_ok());
        assert!(tokens(".").is_err());
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        let columns: Vec<usize> = tokens("θ₁ − é").unwrap().iter().map(|t| t.column).collect();
        assert_eq!(columns, [1, 4, 6, 7]);
    }
}
