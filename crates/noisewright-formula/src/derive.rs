//! Symbolic derivatives in the parameters.
//!
//! Where the value is finite the derivative must not become NaN by `0·∞`: `sqrt(a*x^2)` at `x = 0`, or `x^a` there.
//! Products with a factor that may be infinite are therefore masked ([`Binary::MaskedProduct`]), and quotients
//! `u'/u` are cancelled before they can become 0/0.

use std::collections::HashMap;
use std::f64::consts::PI;

use crate::function::{Binary, Function};
use crate::graph::{Graph, Id, Node};

/// Derivatives of the nodes of one graph, each taken once.
pub(crate) struct Differentiator<'a> {
    pub(crate) graph: &'a mut Graph,
    /// `None` for zero.
    known: HashMap<(Id, u32), Option<Id>>,
}

impl<'a> Differentiator<'a> {
    pub(crate) fn new(graph: &'a mut Graph) -> Self {
        Self { graph, known: HashMap::new() }
    }

    /// The derivative of `root`, 0 where the parameter does not occur.
    pub(crate) fn derivative(&mut self, root: Id, parameter: u32) -> Id {
        let mut stack = vec![(root, false)];
        while let Some((id, ready)) = stack.pop() {
            if self.known(id, parameter).is_some() {
                continue;
            }
            if ready {
                let result = self.rule(id, parameter);
                self.known.insert((id, parameter), result);
            } else {
                stack.push((id, true));
                stack.extend(self.graph.node(id).operands().map(|operand| (operand, false)));
            }
        }
        self.of(root, parameter).unwrap_or_else(|| self.graph.number(0.0))
    }

    fn known(&self, id: Id, parameter: u32) -> Option<Option<Id>> {
        if !self.graph.may_depend(id, parameter) {
            return Some(None);
        }
        self.known.get(&(id, parameter)).copied()
    }

    fn of(&self, id: Id, parameter: u32) -> Option<Id> {
        self.known(id, parameter).flatten()
    }

    fn rule(&mut self, id: Id, parameter: u32) -> Option<Id> {
        match self.graph.node(id) {
            Node::Number(_) | Node::Variable(_) => None,
            Node::Parameter(index) => (index == parameter).then(|| self.graph.number(1.0)),
            Node::Negate(a) => {
                let inner = self.of(a, parameter)?;
                Some(self.graph.negate(inner))
            }
            Node::Call(function, a) => {
                let inner = self.of(a, parameter)?;
                self.function(function, id, a, inner)
            }
            Node::Binary(binary, a, b) => {
                let (left, right) = (self.of(a, parameter), self.of(b, parameter));
                if left.is_none() && right.is_none() {
                    return None;
                }
                let result = self.binary(binary, id, (a, left), (b, right));
                result.filter(|&id| !self.graph.is_number(id, 0.0))
            }
        }
    }

    fn binary(
        &mut self,
        binary: Binary,
        id: Id,
        (a, left): (Id, Option<Id>),
        (b, right): (Id, Option<Id>),
    ) -> Option<Id> {
        match binary {
            Binary::Add => self.sum(left, right),
            Binary::Subtract => {
                let right = right.map(|d| self.graph.negate(d));
                self.sum(left, right)
            }
            Binary::Multiply => {
                let first = left.map(|d| self.factor(d, a, b));
                let second = right.map(|d| self.factor(d, b, a));
                self.sum(first, second)
            }
            Binary::MaskedProduct => {
                let first = left.map(|d| self.graph.masked_product(d, b));
                let second = right.map(|d| self.graph.masked_product(a, d));
                self.sum(first, second)
            }
            Binary::Divide => {
                let first = left.map(|d| self.ratio(d, b));
                let second = right.map(|d| {
                    let change = self.times_ratio(id, d, b);
                    self.graph.negate(change)
                });
                self.sum(first, second)
            }
            Binary::Power => {
                let first = left.map(|d| self.base(id, a, b, d));
                let second = right.map(|d| self.exponent(id, a, d));
                self.sum(first, second)
            }
            Binary::Min => self.selection((b, a), left, right),
            Binary::Max => self.selection((a, b), left, right),
        }
    }

    fn sum(&mut self, a: Option<Id>, b: Option<Id>) -> Option<Id> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.graph.add_like_terms(a, b)),
            (one, other) => one.or(other),
        }
    }

    /// `derivative * other` in `(of * other)'`, masked where only the derivative can be infinite.
    fn factor(&mut self, derivative: Id, of: Id, other: Id) -> Id {
        if self.graph.facts(derivative).singular && !self.graph.facts(of).singular {
            self.graph.masked_product(derivative, other)
        } else {
            self.graph.multiply(derivative, other)
        }
    }

    /// `outer * inner`, masked if one of them may be infinite.
    fn chain(&mut self, outer: Id, inner: Id) -> Id {
        if self.graph.facts(outer).singular || self.graph.facts(inner).singular {
            self.graph.masked_product(outer, inner)
        } else {
            self.graph.multiply(outer, inner)
        }
    }

    /// `d/u`, cancelled if `d` is a multiple of `u`.
    fn ratio(&mut self, d: Id, u: Id) -> Id {
        self.cancelled(d, u).unwrap_or_else(|| self.graph.divide(d, u))
    }

    /// `w·d/u`, cancelled if `d` is a multiple of `u`.
    fn times_ratio(&mut self, w: Id, d: Id, u: Id) -> Id {
        match self.cancelled(d, u) {
            Some(relative) => self.graph.multiply(w, relative),
            None => {
                let top = self.graph.multiply(w, d);
                self.graph.divide(top, u)
            }
        }
    }

    /// `d/u` without a division by `u`, if `u` is a factor of `d`.
    fn cancelled(&mut self, d: Id, u: Id) -> Option<Id> {
        let ((top, d), (bottom, u)) = (self.graph.scaled(d), self.graph.scaled(u));
        let (d, u) = (d?, u?);
        let factor = top / bottom;
        if !factor.is_normal() {
            return None;
        }
        let rest = self.quotient(d, u)?;
        Some(self.graph.times_number(factor, rest))
    }

    fn quotient(&mut self, d: Id, u: Id) -> Option<Id> {
        if d == u {
            return Some(self.graph.number(1.0));
        }
        match (self.graph.node(d), self.graph.node(u)) {
            (Node::Binary(Binary::Multiply, a, b), _) if a == u || b == u => Some(if a == u { b } else { a }),
            // d = w/v, u = t/v: w/t
            (Node::Binary(Binary::Divide, w, v), Node::Binary(Binary::Divide, t, other)) if v == other => {
                self.cancelled(w, t)
            }
            // d = w·(t/v), u = t/v was met above; d = t·w with u = t/v: w·v
            (Node::Binary(Binary::Divide, w, v), _) => {
                let rest = self.cancelled(w, u)?;
                Some(self.graph.divide(rest, v))
            }
            // u = a·b: divide d by both in turn
            (_, Node::Binary(Binary::Multiply, a, b)) => {
                let rest = self.cancelled(d, a);
                match rest {
                    Some(rest) => Some(self.ratio(rest, b)),
                    None => {
                        let rest = self.cancelled(d, b)?;
                        Some(self.graph.divide(rest, a))
                    }
                }
            }
            _ => None,
        }
    }

    /// The part of `(u^v)'` from the base: `v u^(v−1) u'`.
    fn base(&mut self, id: Id, u: Id, v: Id, inner: Id) -> Id {
        let Some(exponent) = self.graph.number_at(v) else {
            if let Some(relative) = self.cancelled(inner, u) {
                let slope = self.graph.multiply(v, id);
                return self.graph.multiply(slope, relative);
            }
            let one = self.graph.number(1.0);
            let less = self.graph.subtract(v, one);
            let power = self.graph.power(u, less);
            let slope = self.graph.multiply(v, power);
            return self.chain(slope, inner);
        };
        let smooth = exponent >= 1.0 && exponent.fract() == 0.0;
        if !smooth && let Some(relative) = self.cancelled(inner, u) {
            let slope = self.graph.times_number(exponent, id);
            return self.graph.multiply(slope, relative);
        }
        let less = self.graph.number(exponent - 1.0);
        let power = self.graph.power(u, less);
        let slope = self.graph.times_number(exponent, power);
        self.chain(slope, inner)
    }

    /// The part of `(u^v)'` from the exponent: `u^v log(u) v'`, 0 where `u^v` is 0.
    fn exponent(&mut self, id: Id, u: Id, inner: Id) -> Id {
        let log = self.graph.call(Function::Log, u);
        let slope = self.graph.masked_product(id, log);
        self.chain(slope, inner)
    }

    /// The derivative of the larger of the two: half of each where they are equal.
    fn selection(&mut self, (above, below): (Id, Id), left: Option<Id>, right: Option<Id>) -> Option<Id> {
        let difference = self.graph.subtract(above, below);
        let opposite = self.graph.subtract(below, above);
        let first = left.map(|d| self.where_positive(difference, d));
        let second = right.map(|d| self.where_positive(opposite, d));
        self.sum(first, second)
    }

    fn where_positive(&mut self, condition: Id, d: Id) -> Id {
        let step = self.graph.call(Function::Step, condition);
        self.chain(step, d)
    }

    /// `f'(u) u'`, with `id` the node `f(u)` itself.
    fn function(&mut self, function: Function, id: Id, u: Id, inner: Id) -> Option<Id> {
        use Function as F;
        let graph = &mut *self.graph;
        let outer = match function {
            F::Sign | F::Step => return None,
            F::Log => return Some(self.ratio(inner, u)),
            F::Sqrt => return Some(self.square_root(id, u, inner)),
            F::Exp => id,
            F::Expm1 => graph.call(F::Exp, u),
            F::Log1p => {
                let shifted = self.plus_one(u);
                return Some(self.ratio(inner, shifted));
            }
            F::Abs => graph.call(F::Sign, u),
            F::Sin => graph.call(F::Cos, u),
            F::Cos => {
                let sine = graph.call(F::Sin, u);
                graph.negate(sine)
            }
            F::Tan => {
                let square = graph.multiply(id, id);
                self.plus_one(square)
            }
            F::Tanh => self.sech_squared(u),
            F::Logcosh => graph.call(F::Tanh, u),
            F::Atan => {
                let square = graph.multiply(u, u);
                let bottom = self.plus_one(square);
                return Some(self.graph.divide(inner, bottom));
            }
            F::Sigmoid => {
                // not s(1 − s): 1 − s has no digits left where s is near 1
                let opposite = graph.negate(u);
                let other = graph.call(F::Sigmoid, opposite);
                graph.multiply(id, other)
            }
            F::Softplus => graph.call(F::Sigmoid, u),
            F::Lgamma => graph.call(F::Polygamma(0), u),
            F::Polygamma(order) => match order.checked_add(1) {
                Some(next) => graph.call(F::Polygamma(next), u),
                None => self.undefined(),
            },
            F::Erf => {
                let square = graph.multiply(u, u);
                let exponent = graph.negate(square);
                let bell = graph.call(F::Exp, exponent);
                graph.times_number(2.0 / PI.sqrt(), bell)
            }
        };
        Some(self.chain(outer, inner))
    }

    fn square_root(&mut self, id: Id, u: Id, inner: Id) -> Id {
        let half = match self.cancelled(inner, u) {
            Some(relative) => self.graph.multiply(id, relative),
            None if self.graph.facts(u).positive => self.graph.divide(inner, id),
            None => {
                let one = self.graph.number(1.0);
                let slope = self.graph.divide(one, id);
                self.chain(slope, inner)
            }
        };
        self.graph.times_number(0.5, half)
    }

    /// `0/0`, for the one derivative that cannot be written.
    fn undefined(&mut self) -> Id {
        let zero = self.graph.number(0.0);
        self.graph.divide(zero, zero)
    }

    fn plus_one(&mut self, u: Id) -> Id {
        let one = self.graph.number(1.0);
        self.graph.add(u, one)
    }

    /// `1 − tanh(u)^2` without its cancellation: `4 s(2u) s(−2u)`.
    fn sech_squared(&mut self, u: Id) -> Id {
        let twice = self.graph.times_number(2.0, u);
        let opposite = self.graph.negate(twice);
        let first = self.graph.call(Function::Sigmoid, twice);
        let second = self.graph.call(Function::Sigmoid, opposite);
        let product = self.graph.multiply(first, second);
        self.graph.times_number(4.0, product)
    }
}
