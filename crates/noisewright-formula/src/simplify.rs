//! Constructors that simplify as they build.
//!
//! What they return has, at all finite inputs, the value of what was asked for, up to rounding and the sign of
//! zero, also where that value is infinite or NaN. So `0*u` is folded only where `u` is finite for sure, `u - u`
//! likewise, and a constant that would not be finite (`log(0)`) stays as it was written. Sums are never
//! regrouped: that could lose digits which the writer protected. One exception: see `log_sum_exp.rs`. And a
//! logarithm beside one, or an exponential less one, is computed without the rounding of that one: see `near_one.rs`.

use crate::function::{Binary, Function};
use crate::graph::{Graph, Id, Node};

/// Products of numbers are merged only if the result keeps all its digits.
fn normal(value: f64) -> Option<f64> {
    value.is_normal().then_some(value)
}

impl Graph {
    /// The expression at `root`, simplified.
    pub(crate) fn simplified(&mut self, root: Id) -> Id {
        let source = self.only(root);
        let mut place: Vec<Id> = Vec::with_capacity(source.nodes().len());
        for &node in source.nodes() {
            let simple = match node {
                Node::Number(_) | Node::Variable(_) | Node::Parameter(_) => self.intern(node),
                Node::Negate(a) => self.negate(place[a.index()]),
                Node::Call(function, a) => self.call(function, place[a.index()]),
                Node::Binary(binary, a, b) => self.binary(binary, place[a.index()], place[b.index()]),
            };
            place.push(simple);
        }
        place.last().copied().unwrap_or(root)
    }

    pub(crate) fn binary(&mut self, binary: Binary, a: Id, b: Id) -> Id {
        match binary {
            Binary::Add => self.add(a, b),
            Binary::Subtract => self.subtract(a, b),
            Binary::Multiply => self.multiply(a, b),
            Binary::Divide => self.divide(a, b),
            Binary::Power => self.power(a, b),
            Binary::MaskedProduct => self.masked_product(a, b),
            Binary::Min | Binary::Max if a == b => a,
            Binary::Min | Binary::Max => self.folded(binary, a, b),
        }
    }

    pub(crate) fn call(&mut self, function: Function, a: Id) -> Id {
        if function == Function::Log {
            if let Some(simple) = self.log_of_exponentials(a) {
                return simple;
            }
            if let Some(rest) = self.beside_one(a) {
                return self.call(Function::Log1p, rest);
            }
        }
        match self.number_at(a).map(|value| function.value(value)) {
            Some(value) if value.is_finite() => self.number(value),
            _ => self.intern(Node::Call(function, a)),
        }
    }

    pub(crate) fn negate(&mut self, a: Id) -> Id {
        match self.node(a) {
            Node::Negate(inner) => inner,
            Node::Binary(Binary::Subtract, left, right) => self.subtract(right, left),
            Node::Binary(Binary::Multiply, factor, rest) if self.number_at(factor).is_some() => {
                let opposite = self.negate(factor);
                self.multiply(opposite, rest)
            }
            Node::Binary(Binary::Divide, top, bottom) if self.number_at(top).is_some() => {
                let opposite = self.negate(top);
                self.divide(opposite, bottom)
            }
            _ => self.intern(Node::Negate(a)),
        }
    }

    pub(crate) fn add(&mut self, a: Id, b: Id) -> Id {
        if self.is_number(a, 0.0) {
            return b;
        }
        if self.is_number(b, 0.0) {
            return a;
        }
        match (self.node(a), self.node(b)) {
            (_, Node::Negate(inner)) => return self.subtract(a, inner),
            (Node::Negate(inner), _) => return self.subtract(b, inner),
            _ => {}
        }
        for (one, other) in [(a, b), (b, a)] {
            if let (None, Some(value)) = (self.number_at(one), self.number_at(other))
                && value < 0.0
            {
                let opposite = self.number(-value);
                return self.subtract(one, opposite);
            }
        }
        let ((left, rest), (right, other)) = (self.scaled(a), self.scaled(b));
        if let Some(rest) = rest
            && other == Some(rest)
            && left * right > 0.0
            // The sum of the factors may overflow where that of the terms does not.
            && (left + right).is_finite()
        {
            return self.times_number(left + right, rest);
        }
        let (a, b) = self.ordered_sum(a, b);
        self.folded(Binary::Add, a, b)
    }

    pub(crate) fn subtract(&mut self, a: Id, b: Id) -> Id {
        if self.is_number(b, 0.0) {
            return a;
        }
        if self.is_number(a, 0.0) {
            return self.negate(b);
        }
        if a == b && self.facts(a).finite {
            return self.number(0.0);
        }
        if let Node::Negate(inner) = self.node(b) {
            return self.add(a, inner);
        }
        if let Some(simple) = self.exponential_less_one(a, b) {
            return simple;
        }
        if let (None, Some(value)) = (self.number_at(a), self.number_at(b))
            && value < 0.0
        {
            let opposite = self.number(-value);
            return self.add(a, opposite);
        }
        self.folded(Binary::Subtract, a, b)
    }

    /// Numbers come first, and two factors always in the same order, so that equal products are one node.
    pub(crate) fn multiply(&mut self, a: Id, b: Id) -> Id {
        if let (Some(left), Some(right)) = (self.number_at(a), self.number_at(b))
            && (left * right).is_finite()
        {
            return self.number(left * right);
        }
        let ((left, rest), (right, other)) = (self.scaled(a), self.scaled(b));
        let (Some(u), Some(v)) = (rest, other) else {
            let (factor, id) = if rest.is_none() { (left, b) } else { (right, a) };
            return self.times_number(factor, id);
        };
        if (left, right) == (1.0, 1.0) {
            return self.multiply_plain(u, v);
        }
        match normal(left * right) {
            Some(factor) => {
                let product = self.multiply_plain(u, v);
                self.times_number(factor, product)
            }
            None => self.multiply_plain(a, b),
        }
    }

    fn multiply_plain(&mut self, u: Id, v: Id) -> Id {
        if let (Some((base, n)), Some((other, m))) = (self.whole_power(u), self.whole_power(v))
            && base == other
        {
            let exponent = self.number(n + m);
            return self.power(base, exponent);
        }
        let (u, v) = if u <= v { (u, v) } else { (v, u) };
        self.intern(Node::Binary(Binary::Multiply, u, v))
    }

    /// `factor * id` for a number.
    pub(crate) fn times_number(&mut self, factor: f64, id: Id) -> Id {
        if factor == 1.0 {
            return id;
        }
        if factor == 0.0 && self.facts(id).finite {
            return self.number(0.0);
        }
        if let Some(value) = self.number_at(id).map(|v| v * factor).filter(|v| v.is_finite()) {
            return self.number(value);
        }
        if let (inner, Some(rest)) = self.scaled(id)
            && inner != 1.0
            && let Some(product) = normal(inner * factor)
        {
            return self.times_number(product, rest);
        }
        if factor == -1.0 {
            return self.negate(id);
        }
        let number = self.number(factor);
        self.intern(Node::Binary(Binary::Multiply, number, id))
    }

    pub(crate) fn divide(&mut self, a: Id, b: Id) -> Id {
        if let Node::Negate(inner) = self.node(a) {
            let quotient = self.divide(inner, b);
            return self.negate(quotient);
        }
        if let Node::Negate(inner) = self.node(b) {
            let quotient = self.divide(a, inner);
            return self.negate(quotient);
        }
        if let Some(divisor) = self.number_at(b) {
            return self.divide_by_number(a, b, divisor);
        }
        if let Node::Binary(Binary::Multiply, factor, rest) = self.node(a)
            && let Some(factor) = self.number_at(factor)
        {
            let quotient = self.divide(rest, b);
            return self.times_number(factor, quotient);
        }
        self.folded(Binary::Divide, a, b)
    }

    fn divide_by_number(&mut self, a: Id, b: Id, divisor: f64) -> Id {
        if divisor.abs() == 1.0 {
            return self.times_number(divisor, a);
        }
        if let (factor, Some(rest)) = self.scaled(a)
            && let Some(quotient) = normal(factor / divisor)
            && quotient.mul_add(divisor, -factor) == 0.0
        {
            return self.times_number(quotient, rest);
        }
        self.folded(Binary::Divide, a, b)
    }

    pub(crate) fn power(&mut self, a: Id, b: Id) -> Id {
        if self.is_number(b, 0.0) || self.is_number(a, 1.0) {
            return self.number(1.0);
        }
        if self.is_number(b, 1.0) {
            return a;
        }
        if let (Some((base, inner)), Some(outer)) = (self.whole_power(a), self.number_at(b))
            && base != a
            && is_positive_whole(outer)
        {
            let exponent = self.number(inner * outer);
            return self.power(base, exponent);
        }
        if let (Node::Negate(inner), Some(exponent)) = (self.node(a), self.number_at(b))
            && is_positive_whole(exponent)
            && exponent % 2.0 == 0.0
        {
            return self.power(inner, b);
        }
        self.folded(Binary::Power, a, b)
    }

    /// The product that is 0 where either factor is; a plain one where neither can be infinite.
    pub(crate) fn masked_product(&mut self, a: Id, b: Id) -> Id {
        if self.is_number(a, 0.0) || self.is_number(b, 0.0) {
            return self.number(0.0);
        }
        let both_finite = self.facts(a).finite && self.facts(b).finite;
        if both_finite || self.number_at(a).is_some() || self.number_at(b).is_some() {
            return self.multiply(a, b);
        }
        for (masked, other) in [(a, b), (b, a)] {
            if let (factor, Some(rest)) = self.scaled(masked)
                && rest != masked
            {
                let product = self.masked_product(rest, other);
                return self.times_number(factor, product);
            }
        }
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        self.intern(Node::Binary(Binary::MaskedProduct, a, b))
    }

    /// The sum as in the algebra of real numbers: like terms cancel.
    pub(crate) fn add_like_terms(&mut self, a: Id, b: Id) -> Id {
        let ((left, rest), (right, other)) = (self.scaled(a), self.scaled(b));
        match rest {
            Some(_) if rest == other && left + right == 0.0 => self.number(0.0),
            Some(rest) if other == Some(rest) && (left + right).is_finite() => {
                self.times_number(left + right, rest)
            }
            _ => self.add(a, b),
        }
    }

    /// Splits `c*u` into `c` and `u`, a number into itself and nothing.
    pub(crate) fn scaled(&self, id: Id) -> (f64, Option<Id>) {
        match self.node(id) {
            Node::Number(number) => (number.value(), None),
            Node::Negate(inner) => (-1.0, Some(inner)),
            Node::Binary(Binary::Multiply, factor, rest) => match self.number_at(factor) {
                Some(value) => (value, Some(rest)),
                None => (1.0, Some(id)),
            },
            _ => (1.0, Some(id)),
        }
    }

    /// `u` as `u^1`, `u^n` as itself, for whole `n ≥ 1`.
    pub(crate) fn whole_power(&self, id: Id) -> Option<(Id, f64)> {
        match self.node(id) {
            Node::Number(_) => None,
            Node::Binary(Binary::Power, base, exponent) => match self.number_at(exponent) {
                Some(value) if is_positive_whole(value) => Some((base, value)),
                _ => Some((id, 1.0)),
            },
            _ => Some((id, 1.0)),
        }
    }

    pub(crate) fn is_number(&self, id: Id, value: f64) -> bool {
        self.number_at(id) == Some(value)
    }

    fn ordered_sum(&self, a: Id, b: Id) -> (Id, Id) {
        let number_first = self.number_at(a).is_some() && self.number_at(b).is_none();
        let number_last = self.number_at(b).is_some();
        if number_first || (a > b && !number_last) { (b, a) } else { (a, b) }
    }

    /// The number if both operands are numbers and the result is finite, the operation otherwise.
    fn folded(&mut self, binary: Binary, a: Id, b: Id) -> Id {
        if let (Some(left), Some(right)) = (self.number_at(a), self.number_at(b)) {
            let value = binary.value(left, right);
            if value.is_finite() {
                return self.number(value);
            }
        }
        self.intern(Node::Binary(binary, a, b))
    }
}

/// 1, 2, 3, … as far as doubles count.
pub(crate) fn is_positive_whole(value: f64) -> bool {
    (1.0..=1e9).contains(&value) && value.fract() == 0.0
}
