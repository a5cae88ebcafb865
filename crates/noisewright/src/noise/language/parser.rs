//! Noise words from text, by recursive descent with a limit on the depth.

use super::lexer::{Token, column, tokens};
use super::names::{is_known, nearest};
use super::{Argument, Call, NoiseWords, Span, Weight, WordsError};

use crate::tolerance::SUM_OF_PROBABILITIES;

/// Levels of noises within noises and lists within lists that are read.
const MAX_DEPTH: usize = 16;

pub(super) fn parse(text: &str, covariates: &[String]) -> Result<NoiseWords, WordsError> {
    let tokens = tokens(text, covariates)?;
    if tokens.len() == 1 {
        return Err(WordsError::Empty);
    }
    let mut parser = Parser { text, tokens, at: 0, depth: 0 };
    let words = parser.noise()?;
    match parser.peek() {
        Token::End => Ok(words),
        _ => Err(parser.unexpected("`+` or the end of the noise")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_second(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    fn column(&self) -> usize {
        column(self.text, self.span().start)
    }

    /// Moves past the current token; the end stays.
    fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Moves past `sign` if it comes next.
    fn accept(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn unexpected(&self, expected: &'static str) -> WordsError {
        WordsError::Unexpected { column: self.column(), expected, found: self.peek().named() }
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, WordsError>) -> Result<T, WordsError> {
        if self.depth == MAX_DEPTH {
            return Err(WordsError::TooDeep { column: self.column(), limit: MAX_DEPTH });
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// `term + term + …`
    fn noise(&mut self) -> Result<NoiseWords, WordsError> {
        self.nested(|parser| {
            let start = parser.span().start;
            let mut terms = vec![parser.term()?];
            while parser.accept('+') {
                terms.push(parser.term()?);
            }
            if terms.len() > 1
                && let Some((at, ..)) = terms.iter().find(|(_, weight, _)| weight.is_none())
            {
                return Err(WordsError::MissingWeight { column: column(parser.text, *at) });
            }
            let weighted = |(_, weight, call): (usize, Option<Weight>, Call)| {
                (weight.unwrap_or(Weight::Number(1.0)), call)
            };
            let words = NoiseWords { terms: terms.into_iter().map(weighted).collect() };
            check_weights(&words, parser.text, start)?;
            Ok(words)
        })
    }

    /// `weight * call` or `call`, with the byte where it begins.
    fn term(&mut self) -> Result<(usize, Option<Weight>, Call), WordsError> {
        let start = self.span().start;
        let weight = match *self.peek() {
            Token::Number(weight) if !(weight > 0.0 && weight.is_finite()) => {
                return Err(WordsError::Weight { column: self.column(), weight });
            }
            Token::Number(weight) => Some(Weight::Number(weight)),
            Token::Sign('?') => Some(Weight::Free),
            _ => None,
        };
        if weight.is_some() {
            self.advance();
            if !self.accept('*') {
                return Err(self.unexpected("`*` and a noise after the weight"));
            }
        }
        Ok((start, weight, self.call()?))
    }

    /// `name` or `name(argument, …)`
    fn call(&mut self) -> Result<Call, WordsError> {
        let start = self.span().start;
        let Token::Name(name) = self.peek().clone() else {
            return Err(self.unexpected("the name of a noise"));
        };
        if !is_known(&name) {
            let suggestion = nearest(&name);
            return Err(WordsError::UnknownName { column: self.column(), name, suggestion });
        }
        let mut end = self.span().end;
        self.advance();
        let mut arguments = Vec::new();
        if self.accept('(') {
            arguments = self.sequence(')', Self::argument)?;
            end = self.tokens[self.at.saturating_sub(1)].1.end;
        }
        Ok(Call { name, arguments, span: Span { start, end } })
    }

    /// Items between commas up to `close`, which is taken too.
    fn sequence(
        &mut self,
        close: char,
        item: fn(&mut Self) -> Result<Argument, WordsError>,
    ) -> Result<Vec<Argument>, WordsError> {
        let mut items = Vec::new();
        if self.accept(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.accept(close) {
                return Ok(items);
            }
            if !self.accept(',') {
                return Err(self.unexpected(if close == ')' { "`,` or `)`" } else { "`,` or `]`" }));
            }
        }
    }

    /// A value, or `name = value`.
    fn argument(&mut self) -> Result<Argument, WordsError> {
        if *self.peek_second() == Token::Sign('=')
            && let Token::Name(name) | Token::Text(name) = self.peek().clone()
        {
            self.advance();
            self.advance();
            return Ok(Argument::Named(name, Box::new(self.value()?)));
        }
        self.value()
    }

    fn value(&mut self) -> Result<Argument, WordsError> {
        let weighted = *self.peek_second() == Token::Sign('*');
        match self.peek().clone() {
            Token::Number(_) | Token::Sign('?') if weighted => self.inner_noise(),
            Token::Name(_) => self.inner_noise(),
            Token::Sign('[') => self.list(),
            Token::Formula(text) => {
                self.advance();
                Ok(Argument::Formula(text))
            }
            Token::Number(x) => {
                self.advance();
                Ok(Argument::Number(x))
            }
            Token::Sign('?') => {
                self.advance();
                Ok(Argument::Free)
            }
            Token::Text(text) => {
                self.advance();
                Ok(Argument::Text(text))
            }
            _ => Err(self.unexpected("a number, `?`, a list, a text or a noise")),
        }
    }

    fn inner_noise(&mut self) -> Result<Argument, WordsError> {
        Ok(Argument::Noise(Box::new(self.noise()?)))
    }

    fn list(&mut self) -> Result<Argument, WordsError> {
        self.nested(|parser| {
            parser.advance();
            Ok(Argument::List(parser.sequence(']', Self::entry)?))
        })
    }

    /// An entry of a list: a number, `?` or a list.
    fn entry(&mut self) -> Result<Argument, WordsError> {
        match self.peek() {
            Token::Number(_) | Token::Formula(_) | Token::Sign('?' | '[') => self.value(),
            _ => Err(self.unexpected("a number, `?` or a list")),
        }
    }
}

/// All weights sum to one, or the fixed ones leave something for the free ones.
fn check_weights(words: &NoiseWords, text: &str, start: usize) -> Result<(), WordsError> {
    let fixed = words.terms.iter().map(|(weight, _)| if let Weight::Number(w) = weight { *w } else { 0.0 });
    let sum: f64 = fixed.sum();
    let free = words.terms.iter().any(|(weight, _)| *weight == Weight::Free);
    let right = if free { sum < 1.0 } else { (sum - 1.0).abs() <= SUM_OF_PROBABILITIES };
    if right { Ok(()) } else { Err(WordsError::WeightSum { column: column(text, start), sum, free }) }
}
