//! Recognising `u = offset(x) + Σ θ_j t_j(x)` by expanding the formula as a polynomial in its parameters.

use std::collections::BTreeMap;

use crate::function::Binary;
use crate::graph::{Graph, Id, Node};
use crate::simplify::is_positive_whole;

/// The parameters of a term with repetition, in order: empty for what does not depend on them.
type Monomial = Vec<u32>;

/// Coefficients that are free of parameters, none of them the number 0.
type Polynomial = BTreeMap<Monomial, Id>;

/// Terms of higher degree could only matter if they cancelled; formulas do not go so far.
const DEGREE_LIMIT: usize = 4;

/// So that the expansion of a product of many sums ends early.
const TERM_LIMIT: usize = 20_000;

/// The offset and the feature of each of `parameters` parameters (`None` for zero), if the expression at `root` is
/// affine in all of them jointly.
pub(crate) fn affine(
    graph: &mut Graph,
    root: Id,
    parameters: usize,
) -> Option<(Option<Id>, Vec<Option<Id>>)> {
    let source = graph.only(root);
    let mut place: Vec<Id> = Vec::new();
    let mut polynomials: Vec<Option<Polynomial>> = Vec::new();
    for (index, &node) in source.nodes().iter().enumerate() {
        let own = Id(index as u32);
        let free = source.facts(own).parameters == 0;
        // Only nodes without parameters are needed as coefficients; the others have their polynomial.
        place.push(if free { copy(graph, node, &place) } else { Id(0) });
        let polynomial = if free {
            Some(constant(graph, place[index]))
        } else {
            expand(graph, &source, node, &polynomials)
        };
        polynomials.push(polynomial);
    }
    let polynomial = polynomials.pop().flatten()?;
    let mut features = vec![None; parameters];
    let mut offset = None;
    for (monomial, coefficient) in polynomial {
        match monomial.as_slice() {
            [] => offset = Some(coefficient),
            [parameter] => features[*parameter as usize] = Some(coefficient),
            _ => return None,
        }
    }
    Some((offset, features))
}

fn copy(graph: &mut Graph, node: Node, place: &[Id]) -> Id {
    match node {
        Node::Number(_) | Node::Variable(_) | Node::Parameter(_) => graph.intern(node),
        Node::Negate(a) => graph.negate(place[a.index()]),
        Node::Call(function, a) => graph.call(function, place[a.index()]),
        Node::Binary(binary, a, b) => graph.binary(binary, place[a.index()], place[b.index()]),
    }
}

fn constant(graph: &Graph, id: Id) -> Polynomial {
    if graph.is_number(id, 0.0) { Polynomial::new() } else { Polynomial::from([(Vec::new(), id)]) }
}

/// The number or expression that a polynomial without parameters is.
fn as_constant(graph: &mut Graph, polynomial: &Polynomial) -> Option<Id> {
    match polynomial.len() {
        0 => Some(graph.number(0.0)),
        1 => polynomial.get(&Vec::new()).copied(),
        _ => None,
    }
}

fn expand(graph: &mut Graph, source: &Graph, node: Node, known: &[Option<Polynomial>]) -> Option<Polynomial> {
    let of = |id: Id| known[id.index()].as_ref();
    match node {
        Node::Parameter(index) => Some(Polynomial::from([(vec![index], graph.number(1.0))])),
        Node::Negate(a) => Some(each(graph, of(a)?, Graph::negate)),
        Node::Binary(Binary::Add, a, b) => sum(graph, of(a)?, of(b)?),
        Node::Binary(Binary::Subtract, a, b) => {
            let negative = each(graph, of(b)?, Graph::negate);
            sum(graph, of(a)?, &negative)
        }
        Node::Binary(Binary::Multiply, a, b) => product(graph, of(a)?, of(b)?),
        Node::Binary(Binary::Divide, a, b) => {
            let divisor = as_constant(graph, of(b)?).filter(|&d| !graph.is_number(d, 0.0))?;
            Some(each(graph, of(a)?, |graph, coefficient| graph.divide(coefficient, divisor)))
        }
        Node::Binary(Binary::Power, a, b) => {
            let exponent =
                source.number_at(b).filter(|&n| is_positive_whole(n) && n <= DEGREE_LIMIT as f64)?;
            let base = of(a)?;
            let mut power = base.clone();
            for _ in 1..exponent as usize {
                power = product(graph, &power, base)?;
            }
            Some(power)
        }
        _ => None,
    }
}

fn each(graph: &mut Graph, polynomial: &Polynomial, change: impl Fn(&mut Graph, Id) -> Id) -> Polynomial {
    polynomial.iter().map(|(monomial, &id)| (monomial.clone(), change(graph, id))).collect()
}

fn sum(graph: &mut Graph, a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    let mut result = a.clone();
    for (monomial, &coefficient) in b {
        add_term(graph, &mut result, monomial.clone(), coefficient);
    }
    (result.len() <= TERM_LIMIT).then_some(result)
}

fn product(graph: &mut Graph, a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    if a.len().saturating_mul(b.len()) > TERM_LIMIT {
        return None;
    }
    let mut result = Polynomial::new();
    for (left, &x) in a {
        for (right, &y) in b {
            let mut monomial: Monomial = left.iter().chain(right).copied().collect();
            if monomial.len() > DEGREE_LIMIT {
                return None;
            }
            monomial.sort_unstable();
            let coefficient = graph.multiply(x, y);
            add_term(graph, &mut result, monomial, coefficient);
        }
    }
    Some(result)
}

fn add_term(graph: &mut Graph, polynomial: &mut Polynomial, monomial: Monomial, coefficient: Id) {
    let total = match polynomial.get(&monomial) {
        Some(&present) => graph.add_like_terms(present, coefficient),
        None => coefficient,
    };
    if graph.is_number(total, 0.0) {
        polynomial.remove(&monomial);
    } else {
        polynomial.insert(monomial, total);
    }
}
