//! Tokens into a graph; only parentheses recurse, and their depth is limited.
//!
//! ```text
//! sum      = product { ("+" | "-") product }
//! product  = power { ("*" | "/") power }
//! power    = signs atom { "^" signs atom }          right to left; signs bind weaker than "^"
//! atom     = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
//! ```

use crate::FormulaError;
use crate::function::{Binary, Function, POLYGAMMA_LIMIT};
use crate::graph::{Graph, Id, Node};
use crate::lexer::{Kind, Token, tokens};
use crate::symbols::{Callee, Symbol, Symbols, callee, callee_name, shorten, unknown_function};

/// How many parentheses may be open at once.
const DEPTH_LIMIT: usize = 200;

/// The graph of the formula's text, its root the last node.
pub(crate) fn parse(text: &str, symbols: &Symbols) -> Result<Graph, FormulaError> {
    let tokens = tokens(text)?;
    if tokens.len() == 1 {
        return Err(FormulaError::Empty);
    }
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, symbols, graph: Graph::default() };
    let root = parser.sum()?;
    let rest = parser.peek();
    match rest.kind {
        Kind::End => Ok(parser.graph.only(root)),
        Kind::Close => Err(FormulaError::UnopenedParenthesis { column: rest.column }),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    symbols: &'a Symbols,
    graph: Graph,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn accept(&mut self, kind: Kind) -> bool {
        let found = self.peek().kind == kind;
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, expected: &'static str) -> FormulaError {
        let token = self.peek();
        match token.kind {
            Kind::End => FormulaError::UnexpectedEnd { expected, column: token.column },
            _ => FormulaError::UnexpectedToken { found: shorten(token.text), expected, column: token.column },
        }
    }

    fn sum(&mut self) -> Result<Id, FormulaError> {
        let mut left = self.product()?;
        loop {
            let binary = match self.peek().kind {
                Kind::Plus => Binary::Add,
                Kind::Minus => Binary::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.product()?;
            left = self.graph.intern(Node::Binary(binary, left, right));
        }
    }

    fn product(&mut self) -> Result<Id, FormulaError> {
        let mut left = self.power()?;
        loop {
            let binary = match self.peek().kind {
                Kind::Times => Binary::Multiply,
                Kind::Over => Binary::Divide,
                _ => return Ok(left),
            };
            self.at += 1;
            if binary == Binary::Multiply && self.peek().kind == Kind::Times {
                return Err(self.unexpected("an operand (powers are written with `^`)"));
            }
            let right = self.power()?;
            left = self.graph.intern(Node::Binary(binary, left, right));
        }
    }

    /// A chain of powers; a sign before an atom covers the powers to its right.
    fn power(&mut self) -> Result<Id, FormulaError> {
        let mut chain = vec![self.signed_atom()?];
        while self.accept(Kind::Caret) {
            chain.push(self.signed_atom()?);
        }
        let mut value: Option<Id> = None;
        for (signs, atom) in chain.into_iter().rev() {
            let mut next = match value {
                Some(exponent) => self.graph.intern(Node::Binary(Binary::Power, atom, exponent)),
                None => atom,
            };
            for _ in 0..signs {
                next = self.graph.intern(Node::Negate(next));
            }
            value = Some(next);
        }
        value.ok_or_else(|| self.unexpected("an operand"))
    }

    /// The number of minus signs, and the atom after them.
    fn signed_atom(&mut self) -> Result<(usize, Id), FormulaError> {
        let mut signs = 0;
        loop {
            match self.peek().kind {
                Kind::Minus => signs += 1,
                Kind::Plus => {}
                _ => break,
            }
            self.at += 1;
        }
        let first = self.at;
        let atom = self.atom()?;
        self.check_operator(first)?;
        Ok((signs, atom))
    }

    fn atom(&mut self) -> Result<Id, FormulaError> {
        let token = self.peek();
        match token.kind {
            Kind::Number(value) => {
                self.at += 1;
                Ok(self.graph.number(value))
            }
            Kind::Name => self.name(),
            Kind::Open => {
                self.at += 1;
                let inner = self.nested(token.column, Self::sum)?;
                self.close(token.column)?;
                Ok(inner)
            }
            _ => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    /// After an operand, another operand is a missing operator.
    fn check_operator(&self, first: usize) -> Result<(), FormulaError> {
        let token = self.peek();
        if !matches!(token.kind, Kind::Number(_) | Kind::Name | Kind::Open) {
            return Ok(());
        }
        let single = self.at == first + 1;
        let left = if single { shorten(self.tokens[first].text) } else { ")".into() };
        Err(FormulaError::MissingOperator { left, right: shorten(token.text), column: token.column })
    }

    fn name(&mut self) -> Result<Id, FormulaError> {
        let token = self.next();
        let called = self.peek().kind == Kind::Open;
        let node = match self.symbols.get(token.text) {
            Some(Symbol::Variable(index)) => Node::Variable(index),
            Some(Symbol::Parameter(index)) => Node::Parameter(index),
            None if token.text == "pi" => return Ok(self.graph.number(std::f64::consts::PI)),
            None => {
                return match (callee(token.text), called) {
                    (Some(callee), true) => self.call(callee, token),
                    (Some(callee), false) => Err(FormulaError::MissingArguments {
                        function: callee_name(callee),
                        column: token.column,
                    }),
                    (None, true) => Err(unknown_function(token.text, token.column)),
                    (None, false) => Err(self.symbols.unknown_name(token.text, token.column)),
                };
            }
        };
        Ok(self.graph.intern(node))
    }

    fn call(&mut self, callee: Callee, name: Token<'a>) -> Result<Id, FormulaError> {
        let open = self.next().column;
        let first_column = self.peek().column;
        let arguments = self.nested(open, Self::arguments)?;
        self.close(open)?;
        let count = |expected| FormulaError::ArgumentCount {
            function: callee_name(callee),
            expected,
            found: arguments.len(),
            column: name.column,
        };
        match (callee, arguments.as_slice()) {
            (Callee::One(function), [argument]) => Ok(self.graph.intern(Node::Call(function, *argument))),
            (Callee::One(_), _) => Err(count("1 argument")),
            (Callee::Two(Binary::MaskedProduct), [a, b]) => {
                Ok(self.graph.intern(Node::Binary(Binary::MaskedProduct, *a, *b)))
            }
            (Callee::Two(Binary::MaskedProduct), _) => Err(count("2 arguments")),
            (Callee::Two(binary), [first, rest @ ..]) if !rest.is_empty() => {
                Ok(rest.iter().fold(*first, |a, &b| self.graph.intern(Node::Binary(binary, a, b))))
            }
            (Callee::Two(_), _) => Err(count("2 or more arguments")),
            (Callee::Polygamma, [order, argument]) => self.polygamma(*order, *argument, first_column),
            (Callee::Polygamma, _) => Err(count("2 arguments")),
        }
    }

    fn polygamma(&mut self, order: Id, argument: Id, column: usize) -> Result<Id, FormulaError> {
        let valid = |v: &f64| v.fract() == 0.0 && (0.0..=f64::from(POLYGAMMA_LIMIT)).contains(v);
        match self.graph.number_at(order).filter(valid) {
            Some(order) => Ok(self.graph.intern(Node::Call(Function::Polygamma(order as u8), argument))),
            None => Err(FormulaError::PolygammaOrder { column, limit: POLYGAMMA_LIMIT }),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Id>, FormulaError> {
        if self.peek().kind == Kind::Close {
            return Ok(Vec::new());
        }
        let mut arguments = vec![self.sum()?];
        while self.accept(Kind::Comma) {
            arguments.push(self.sum()?);
        }
        Ok(arguments)
    }

    fn nested<T>(
        &mut self,
        column: usize,
        inner: impl FnOnce(&mut Self) -> Result<T, FormulaError>,
    ) -> Result<T, FormulaError> {
        if self.depth == DEPTH_LIMIT {
            return Err(FormulaError::TooDeep { limit: DEPTH_LIMIT, column });
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        // `exp(` and `(x +` both end inside the parenthesis: that it is open is the clearer complaint.
        match result {
            Err(FormulaError::UnexpectedEnd { .. }) => Err(FormulaError::UnclosedParenthesis { column }),
            other => other,
        }
    }

    fn close(&mut self, open: usize) -> Result<(), FormulaError> {
        if self.accept(Kind::Close) {
            return Ok(());
        }
        match self.peek().kind {
            Kind::End => Err(FormulaError::UnclosedParenthesis { column: open }),
            _ => Err(self.unexpected("an operator or `)`")),
        }
    }
}
