//! From an expression and its derivatives to operations that are cheap over columns.

use std::collections::HashMap;

use crate::Order;
use crate::derive::Differentiator;
use crate::function::{Binary, Function};
use crate::graph::{Graph, Id, Node};

/// Whole powers up to this are products.
const PRODUCT_LIMIT: f64 = 32.0;

/// A graph whose powers are products and roots where that is cheaper, and the nodes to be computed.
pub(crate) struct Lowered {
    pub(crate) graph: Graph,
    pub(crate) outputs: Vec<Id>,
}

/// The value, then the first and second derivatives that `order` asks for, of the expression at `root`.
pub(crate) fn lower(source: &Graph, root: Id, parameters: usize, order: Order) -> Lowered {
    let mut graph = source.clone();
    let value = graph.simplified(root);
    let outputs = derivatives(&mut graph, value, parameters as u32, order);
    let mut lowered = Graph::default();
    let mut place: HashMap<Id, Id> = HashMap::new();
    for id in needed(&graph, &outputs) {
        let copy = copy(&mut lowered, graph.node(id), &place);
        place.insert(id, copy);
    }
    let outputs = outputs.iter().map(|id| place[id]).collect();
    Lowered { graph: lowered, outputs }
}

fn derivatives(graph: &mut Graph, value: Id, parameters: u32, order: Order) -> Vec<Id> {
    let mut outputs = vec![value];
    let mut differentiator = Differentiator::new(graph);
    if order >= Order::First {
        outputs.extend((0..parameters).map(|i| differentiator.derivative(value, i)));
    }
    if order >= Order::Second {
        for i in 0..parameters {
            let first = outputs[1 + i as usize];
            outputs.extend((i..parameters).map(|j| differentiator.derivative(first, j)));
        }
    }
    outputs
}

/// The nodes that the outputs depend on, operands first.
pub(crate) fn needed(graph: &Graph, outputs: &[Id]) -> Vec<Id> {
    let mut wanted = vec![false; graph.nodes().len()];
    for id in outputs {
        wanted[id.index()] = true;
    }
    for index in (0..wanted.len()).rev() {
        if wanted[index] {
            for operand in graph.nodes()[index].operands() {
                wanted[operand.index()] = true;
            }
        }
    }
    (0..wanted.len()).filter(|&index| wanted[index]).map(|index| Id(index as u32)).collect()
}

fn copy(graph: &mut Graph, node: Node, place: &HashMap<Id, Id>) -> Id {
    match node {
        Node::Number(_) | Node::Variable(_) | Node::Parameter(_) => graph.intern(node),
        Node::Negate(a) => graph.intern(Node::Negate(place[&a])),
        Node::Call(function, a) => graph.intern(Node::Call(function, place[&a])),
        Node::Binary(Binary::Power, a, b) => power(graph, place[&a], place[&b]),
        Node::Binary(binary, a, b) => graph.intern(Node::Binary(binary, place[&a], place[&b])),
    }
}

fn power(graph: &mut Graph, base: Id, exponent: Id) -> Id {
    let Some(value) = graph.number_at(exponent) else {
        return graph.intern(Node::Binary(Binary::Power, base, exponent));
    };
    let size = value.abs();
    let result = if size.fract() == 0.0 && (1.0..=PRODUCT_LIMIT).contains(&size) {
        whole_power(graph, base, size as u32)
    } else if size == 0.5 {
        graph.intern(Node::Call(Function::Sqrt, base))
    } else if size == 1.5 {
        let root = graph.intern(Node::Call(Function::Sqrt, base));
        graph.intern(Node::Binary(Binary::Multiply, base, root))
    } else {
        return graph.intern(Node::Binary(Binary::Power, base, exponent));
    };
    if value > 0.0 {
        return result;
    }
    let one = graph.number(1.0);
    graph.intern(Node::Binary(Binary::Divide, one, result))
}

/// By squaring, through smaller powers that other terms of a polynomial share.
fn whole_power(graph: &mut Graph, base: Id, exponent: u32) -> Id {
    if exponent == 1 {
        return base;
    }
    let half = whole_power(graph, base, exponent / 2);
    let square = graph.intern(Node::Binary(Binary::Multiply, half, half));
    if exponent.is_multiple_of(2) {
        square
    } else {
        graph.intern(Node::Binary(Binary::Multiply, square, base))
    }
}
