//! Noise words cut into names, numbers, texts and signs.

use super::names::{DASHED, is_known};
use super::{Span, WordsError};

/// The smallest part of the text that means something.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(f64),
    Text(String),
    /// An argument that is a formula of covariates.
    Formula(String),
    /// One of `( ) [ ] , + * = ?`.
    Sign(char),
    End,
}

impl Token {
    /// The token as an error message names it.
    pub(super) fn named(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Text(text) => format!("the text \"{text}\""),
            Self::Formula(text) => format!("the formula `{text}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".into(),
        }
    }
}

/// The column of a byte, counted in characters from 1.
pub(super) fn column(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

/// All tokens with their places, [`Token::End`] last; arguments may be formulas of the covariates.
pub(super) fn tokens(text: &str, covariates: &[String]) -> Result<Vec<(Token, Span)>, WordsError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens: Vec<(Token, Span)> = Vec::new();
    loop {
        let begins = matches!(tokens.last(), Some((Token::Sign('(' | '[' | ','), _)));
        let formula = if begins { lexer.formula(covariates) } else { None };
        let (token, span) = match formula {
            Some(formula) => formula,
            None => lexer.next()?,
        };
        let done = token == Token::End;
        tokens.push((token, span));
        if done {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves past the characters for which `holds`.
    fn skip_while(&mut self, holds: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !holds(c)).unwrap_or(rest.len());
    }

    fn next(&mut self) -> Result<(Token, Span), WordsError> {
        self.skip_while(char::is_whitespace);
        let start = self.at;
        let token = match self.peek() {
            None => Token::End,
            Some('"') => self.text_token()?,
            Some(sign) if "()[],+*=?".contains(sign) => {
                self.at += 1;
                Token::Sign(sign)
            }
            Some(c) if c.is_ascii_digit() || c == '.' || c == '-' => self.number()?,
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            Some(other) => return Err(self.unexpected(other)),
        };
        Ok((token, Span { start, end: self.at }))
    }

    /// The argument that begins here, if it is a formula: it has names, and none of them is a noise.
    fn formula(&mut self, covariates: &[String]) -> Option<(Token, Span)> {
        if covariates.is_empty() {
            return None;
        }
        self.skip_while(char::is_whitespace);
        let (start, mut depth) = (self.at, 0_usize);
        let ends = |c: char| match c {
            '(' | '[' => {
                depth += 1;
                false
            }
            ')' | ']' if depth > 0 => {
                depth -= 1;
                false
            }
            ')' | ']' => true,
            ',' => depth == 0,
            _ => false,
        };
        let text = &self.rest()[..self.rest().find(ends)?];
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let names =
            || text.split(|c| !is_name(c)).filter(|name| name.starts_with(|c: char| !c.is_ascii_digit()));
        // Lists are read entry by entry; texts and `name=value` are no formulas.
        let is_formula = !text.starts_with(['[', '"'])
            && !text.contains('=')
            && names().any(|name| constant(name).is_none())
            && !names().any(is_known)
            && !DASHED.iter().any(|noise| text.contains(noise));
        if !is_formula {
            return None;
        }
        let text = text.trim_end().to_owned();
        self.at = start + text.len();
        Some((Token::Formula(text), Span { start, end: self.at }))
    }

    fn unexpected(&self, found: char) -> WordsError {
        WordsError::Unexpected {
            column: column(self.text, self.at),
            expected: "a noise, a number or a sign such as `(`",
            found: format!("`{found}`"),
        }
    }

    /// Letters, digits, `_`, and `-` before a letter; `inf` and `pi` are numbers.
    fn name(&mut self) -> Token {
        let start = self.at;
        loop {
            self.skip_while(|c| c.is_alphanumeric() || c == '_');
            let mut rest = self.rest().chars();
            if !(rest.next() == Some('-') && rest.next().is_some_and(char::is_alphabetic)) {
                break;
            }
            self.at += 1;
        }
        let name = &self.text[start..self.at];
        constant(name).map_or_else(|| Token::Name(name.to_owned()), Token::Number)
    }

    fn number(&mut self) -> Result<Token, WordsError> {
        let start = self.at;
        if self.peek() == Some('-') {
            self.at += 1;
        }
        if self.peek().is_some_and(char::is_alphabetic) {
            self.skip_while(char::is_alphanumeric);
            let named = constant(&self.text[start + 1..self.at]);
            return named.map(|x| Token::Number(-x)).ok_or_else(|| self.bad_number(start));
        }
        self.skip_while(|c| c.is_ascii_digit() || c == '.');
        self.skip_exponent();
        let parsed = self.text[start..self.at].parse::<f64>();
        parsed.ok().filter(|x| x.is_finite()).map(Token::Number).ok_or_else(|| self.bad_number(start))
    }

    /// Moves past `e`, a sign and digits, when they are there.
    fn skip_exponent(&mut self) {
        let rest = self.rest().as_bytes();
        let sign = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
        if matches!(rest.first(), Some(b'e' | b'E')) && rest.get(1 + sign).is_some_and(u8::is_ascii_digit) {
            self.at += 1 + sign;
            self.skip_while(|c| c.is_ascii_digit());
        }
    }

    fn bad_number(&self, start: usize) -> WordsError {
        WordsError::Number { column: column(self.text, start), text: self.text[start..self.at].to_owned() }
    }

    /// A text in quotation marks; a backslash takes the next character as it is.
    fn text_token(&mut self) -> Result<Token, WordsError> {
        let open = self.at;
        let mut text = String::new();
        let mut escaped = false;
        for (offset, c) in self.text[open + 1..].char_indices() {
            match c {
                '\\' if !escaped => escaped = true,
                '"' if !escaped => {
                    self.at = open + 1 + offset + 1;
                    return Ok(Token::Text(text));
                }
                _ => {
                    text.push(c);
                    escaped = false;
                }
            }
        }
        Err(WordsError::OpenText { column: column(self.text, open) })
    }
}

fn constant(name: &str) -> Option<f64> {
    match name {
        "inf" => Some(f64::INFINITY),
        "pi" => Some(std::f64::consts::PI),
        _ => None,
    }
}
