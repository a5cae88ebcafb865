//! Expressions as a graph in which equal subexpressions are one node.
//!
//! Nodes sit in a vector, operands before the nodes that use them, so every pass is a loop and neither depth nor
//! sharing can overflow the stack or blow up.

use std::collections::HashMap;

use crate::function::{Binary, Function};

/// The position of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) u32);

impl Id {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A finite number, compared by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Number(u64);

impl Number {
    pub(crate) fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// One operation, input or constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Number(Number),
    Variable(u32),
    Parameter(u32),
    Negate(Id),
    Call(Function, Id),
    Binary(Binary, Id, Id),
}

impl Node {
    pub(crate) fn operands(self) -> impl Iterator<Item = Id> {
        let (first, second) = match self {
            Self::Number(_) | Self::Variable(_) | Self::Parameter(_) => (None, None),
            Self::Negate(a) | Self::Call(_, a) => (Some(a), None),
            Self::Binary(_, a, b) => (Some(a), Some(b)),
        };
        first.into_iter().chain(second)
    }

    /// The same operation on other operands.
    fn map(self, place: impl Fn(Id) -> Id) -> Self {
        match self {
            Self::Number(_) | Self::Variable(_) | Self::Parameter(_) => self,
            Self::Negate(a) => Self::Negate(place(a)),
            Self::Call(function, a) => Self::Call(function, place(a)),
            Self::Binary(binary, a, b) => Self::Binary(binary, place(a), place(b)),
        }
    }
}

/// What is known about a node from the nodes below it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// Bit `i % 64` is set if parameter `i` occurs: a clear bit is sure, a set one is not beyond 64.
    pub(crate) parameters: u64,
    /// Whether a variable occurs.
    pub(crate) variable: bool,
    /// Whether it may be infinite at finite inputs, overflow aside: `log` at 0, division by 0, …
    pub(crate) singular: bool,
    /// Whether it is positive at all finite inputs, underflow aside.
    pub(crate) positive: bool,
    /// Whether it is positive or zero (or NaN).
    pub(crate) nonnegative: bool,
    /// Whether it is finite at all finite inputs, overflow included.
    pub(crate) finite: bool,
}

/// A growing set of nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    facts: Vec<Facts>,
    index: HashMap<Node, Id>,
}

impl Graph {
    /// The node as it is, without simplification, except that `−(number)` is a number.
    pub(crate) fn intern(&mut self, node: Node) -> Id {
        if let Node::Negate(a) = node
            && let Some(value) = self.number_at(a)
        {
            return self.number(-value);
        }
        if let Some(&id) = self.index.get(&node) {
            return id;
        }
        let id = Id(self.nodes.len() as u32);
        self.facts.push(self.facts_of(node));
        self.nodes.push(node);
        self.index.insert(node, id);
        id
    }

    /// A finite number.
    pub(crate) fn number(&mut self, value: f64) -> Id {
        debug_assert!(value.is_finite(), "only finite numbers are nodes");
        self.intern(Node::Number(Number(value.to_bits())))
    }

    /// Where the node is, if it is in the graph.
    pub(crate) fn find(&self, node: Node) -> Option<Id> {
        self.index.get(&node).copied()
    }

    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes[id.index()]
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn facts(&self, id: Id) -> Facts {
        self.facts[id.index()]
    }

    /// The number that the node is, if it is one.
    pub(crate) fn number_at(&self, id: Id) -> Option<f64> {
        match self.node(id) {
            Node::Number(number) => Some(number.value()),
            _ => None,
        }
    }

    /// Whether the parameter may occur below the node.
    pub(crate) fn may_depend(&self, id: Id, parameter: u32) -> bool {
        self.facts(id).parameters >> (parameter % 64) & 1 == 1
    }

    /// The graph of the nodes that `root` needs, in the order of a walk from left to right: equal expressions
    /// give equal graphs. The root is the last node.
    pub(crate) fn only(&self, root: Id) -> Self {
        let mut graph = Self::default();
        let mut place: HashMap<Id, Id> = HashMap::new();
        let mut stack = vec![(root, false)];
        while let Some((id, ready)) = stack.pop() {
            if place.contains_key(&id) {
                continue;
            }
            if ready {
                let copy = graph.intern(self.node(id).map(|operand| place[&operand]));
                place.insert(id, copy);
                continue;
            }
            stack.push((id, true));
            let operands: Vec<Id> = self.node(id).operands().collect();
            stack.extend(operands.into_iter().rev().map(|operand| (operand, false)));
        }
        graph
    }

    fn facts_of(&self, node: Node) -> Facts {
        match node {
            Node::Number(number) => {
                let value = number.value();
                Facts { positive: value > 0.0, nonnegative: value >= 0.0, finite: true, ..Facts::default() }
            }
            Node::Variable(_) => Facts { variable: true, finite: true, ..Facts::default() },
            Node::Parameter(i) => Facts { parameters: 1 << (i % 64), finite: true, ..Facts::default() },
            Node::Negate(a) => Facts { positive: false, nonnegative: false, ..self.facts(a) },
            Node::Call(function, a) => call_facts(function, self.facts(a)),
            Node::Binary(binary, a, b) => self.binary_facts(binary, a, b),
        }
    }

    fn binary_facts(&self, binary: Binary, a: Id, b: Id) -> Facts {
        let (left, right) = (self.facts(a), self.facts(b));
        let either_singular = left.singular || right.singular;
        let both_positive = left.positive && right.positive;
        let both_nonnegative = left.nonnegative && right.nonnegative;
        let exponent = self.number_at(b);
        let whole = exponent.filter(|e| e.fract() == 0.0);
        let nonzero = right.positive || exponent.is_some_and(|v| v != 0.0);
        let (singular, positive, nonnegative) = match binary {
            Binary::Add => {
                let one_positive = left.positive || right.positive;
                (either_singular, both_nonnegative && one_positive, both_nonnegative)
            }
            Binary::Subtract => (either_singular, false, false),
            Binary::Multiply => (either_singular, both_positive, both_nonnegative || a == b),
            Binary::MaskedProduct => (either_singular, false, both_nonnegative),
            Binary::Divide => (either_singular || !nonzero, both_positive, both_nonnegative),
            Binary::Power => {
                let harmless = left.positive || whole.is_some_and(|e| e >= 0.0);
                let even = whole.is_some_and(|e| e % 2.0 == 0.0);
                (either_singular || !harmless, left.positive, left.nonnegative || even)
            }
            Binary::Min => (either_singular, both_positive, both_nonnegative),
            Binary::Max => {
                let one_nonnegative = left.nonnegative || right.nonnegative;
                (either_singular, left.positive || right.positive, one_nonnegative)
            }
        };
        let selects = matches!(binary, Binary::Min | Binary::Max);
        Facts {
            parameters: left.parameters | right.parameters,
            variable: left.variable || right.variable,
            singular,
            positive,
            nonnegative: nonnegative || positive,
            finite: selects && left.finite && right.finite,
        }
    }
}

fn call_facts(function: Function, argument: Facts) -> Facts {
    use Function::{Abs, Erf, Exp, Lgamma, Log, Log1p, Logcosh, Polygamma, Sigmoid, Softplus, Sqrt, Step};
    let pole = match function {
        Log | Lgamma | Polygamma(_) => !argument.positive,
        Log1p => !argument.nonnegative,
        _ => false,
    };
    let bounded = function.is_bounded();
    let positive = match function {
        Exp | Sigmoid | Softplus => true,
        Sqrt | Abs | Erf => argument.positive,
        _ => false,
    };
    let nonnegative = positive || matches!(function, Sqrt | Abs | Logcosh | Step);
    Facts {
        singular: pole || (argument.singular && !bounded),
        positive,
        nonnegative,
        finite: argument.finite && (bounded || function == Abs),
        ..argument
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_expressions_are_one_node() {
        let mut graph = Graph::default();
        let x = graph.intern(Node::Variable(0));
        let a = graph.intern(Node::Binary(Binary::Multiply, x, x));
        let b = graph.intern(Node::Binary(Binary::Multiply, x, x));
        assert_eq!(a, b);
        let two = graph.number(2.0);
        let minus = graph.intern(Node::Negate(two));
        assert_eq!(graph.number_at(minus), Some(-2.0));
        assert_eq!(graph.only(a).nodes().len(), 2);
    }
}
