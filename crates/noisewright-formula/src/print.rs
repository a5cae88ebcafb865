//! A graph back into text with as few parentheses as give the same graph again.

use std::fmt::{self, Write};

use crate::Symbols;
use crate::function::{Binary, Function};
use crate::graph::{Graph, Id, Node};

/// How tightly a piece of text holds together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Product,
    Sign,
    Power,
    Atom,
}

/// What is still to be written.
enum Piece {
    Text(&'static str),
    Expression(Id, Level),
}

/// Writes the expression at `root`.
pub(crate) fn print(out: &mut impl Write, graph: &Graph, root: Id, symbols: &Symbols) -> fmt::Result {
    let mut stack = vec![Piece::Expression(root, Level::Sum)];
    while let Some(piece) = stack.pop() {
        match piece {
            Piece::Text(text) => out.write_str(text)?,
            Piece::Expression(id, least) => {
                let enclosed = level(graph.node(id)) < least;
                if enclosed {
                    out.write_char('(')?;
                    stack.push(Piece::Text(")"));
                }
                let from = stack.len();
                expression(out, graph, id, symbols, &mut stack)?;
                stack[from..].reverse();
            }
        }
    }
    Ok(())
}

fn level(node: Node) -> Level {
    match node {
        Node::Number(number) if number.value().is_sign_negative() => Level::Sign,
        Node::Negate(_) => Level::Sign,
        Node::Binary(Binary::Add | Binary::Subtract, ..) => Level::Sum,
        Node::Binary(Binary::Multiply | Binary::Divide, ..) => Level::Product,
        Node::Binary(Binary::Power, ..) => Level::Power,
        _ => Level::Atom,
    }
}

/// Writes what comes first and pushes the rest, in reading order.
fn expression(
    out: &mut impl Write,
    graph: &Graph,
    id: Id,
    symbols: &Symbols,
    rest: &mut Vec<Piece>,
) -> fmt::Result {
    use Piece::{Expression, Text};
    match graph.node(id) {
        Node::Number(value) => return number(out, value.value()),
        Node::Variable(index) => return out.write_str(&symbols.variables()[index as usize]),
        Node::Parameter(index) => return out.write_str(&symbols.parameters()[index as usize]),
        Node::Negate(a) => rest.extend([Text("-"), Expression(a, Level::Sign)]),
        Node::Call(function, a) => {
            if let Function::Polygamma(order @ 2..) = function {
                write!(out, "polygamma({order}, ")?;
            } else {
                write!(out, "{}(", function.name())?;
            }
            rest.extend([Expression(a, Level::Sum), Text(")")]);
        }
        Node::Binary(binary, a, b) => {
            let (left, sign, right) = match binary {
                Binary::Add => (Level::Sum, " + ", Level::Product),
                Binary::Subtract => (Level::Sum, " - ", Level::Product),
                Binary::Multiply => (Level::Product, "*", Level::Sign),
                Binary::Divide => (Level::Product, "/", Level::Sign),
                Binary::Power => (Level::Atom, "^", Level::Sign),
                Binary::Min | Binary::Max | Binary::MaskedProduct => {
                    write!(out, "{}(", binary.function_name().unwrap_or_default())?;
                    arguments(graph, binary, a, b, rest);
                    return Ok(());
                }
            };
            rest.extend([Expression(a, left), Text(sign), Expression(b, right)]);
        }
    }
    Ok(())
}

/// `min(min(a, b), c)` is written `min(a, b, c)`.
fn arguments(graph: &Graph, binary: Binary, a: Id, b: Id, rest: &mut Vec<Piece>) {
    let mut backwards = vec![b];
    let mut first = a;
    while binary != Binary::MaskedProduct
        && let Node::Binary(inner, left, right) = graph.node(first)
        && inner == binary
    {
        backwards.push(right);
        first = left;
    }
    rest.push(Piece::Expression(first, Level::Sum));
    for argument in backwards.into_iter().rev() {
        rest.extend([Piece::Text(", "), Piece::Expression(argument, Level::Sum)]);
    }
    rest.push(Piece::Text(")"));
}

/// The shortest digits that give the same number.
fn number(out: &mut impl Write, value: f64) -> fmt::Result {
    let size = value.abs();
    if size == std::f64::consts::PI {
        out.write_str(if value < 0.0 { "-pi" } else { "pi" })
    } else if size == 0.0 || (1e-5..1e16).contains(&size) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    }
}
