//! Logarithms of one and something, and exponentials less one: `log(1 + u)` is `log1p(u)`, `exp(u) - 1` is `expm1(u)`.
//!
//! As written the digits of a small `u` are rounded away beside the one. A tail `-(k+1)/2*log(1 + z/k)` whose `k` is large
//! multiplies what is left by `k`: at `k = 1e12` the value was right to four digits, and its second differences were noise.
//! Where `u` is not small the value is the same up to rounding: next to −1 the sum is exact.

use crate::function::{Binary, Function};
use crate::graph::{Graph, Id, Node};

/// Most terms of a sum that are looked at.
const MOST_TERMS: usize = 64;

impl Graph {
    /// `u` of `1 + u` or `1 - u`; of a longer sum only where no other term can be negative, so that the order in which they are
    /// added loses nothing.
    pub(crate) fn beside_one(&mut self, sum: Id) -> Option<Id> {
        match self.node(sum) {
            Node::Binary(Binary::Add, a, b) if self.is_number(a, 1.0) => Some(b),
            Node::Binary(Binary::Add, a, b) if self.is_number(b, 1.0) => Some(a),
            Node::Binary(Binary::Subtract, a, b) if self.is_number(a, 1.0) => Some(self.negate(b)),
            Node::Binary(Binary::Add, ..) => self.positive_terms_beside_one(sum),
            _ => None,
        }
    }

    /// The other terms of a sum of one and what cannot be negative.
    fn positive_terms_beside_one(&mut self, sum: Id) -> Option<Id> {
        let mut waiting = vec![sum];
        let (mut terms, mut ones) = (Vec::new(), 0);
        while let Some(id) = waiting.pop() {
            match self.node(id) {
                Node::Binary(Binary::Add, a, b) => waiting.extend([b, a]),
                _ if self.is_number(id, 1.0) => ones += 1,
                _ if self.facts(id).nonnegative => terms.push(id),
                _ => return None,
            }
            if terms.len() + waiting.len() > MOST_TERMS {
                return None;
            }
        }
        let (&first, rest) = terms.split_first()?;
        (ones == 1).then(|| rest.iter().fold(first, |sum, &term| self.add(sum, term)))
    }

    /// `a - b` where it is an exponential less one, or one less an exponential.
    pub(crate) fn exponential_less_one(&mut self, a: Id, b: Id) -> Option<Id> {
        match (self.node(a), self.node(b)) {
            (Node::Call(Function::Exp, u), _) if self.is_number(b, 1.0) => {
                Some(self.call(Function::Expm1, u))
            }
            (_, Node::Call(Function::Exp, u)) if self.is_number(a, 1.0) => {
                let less = self.call(Function::Expm1, u);
                Some(self.negate(less))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Formula, Order, Symbols};

    fn parse(text: &str) -> Formula {
        Formula::parse(text, &Symbols::new(&["x", "y"], &["m", "k"]).unwrap()).unwrap()
    }

    /// Value, both first and all three second derivatives by the compiled tape.
    fn at(text: &str, parameters: [f64; 2], x: f64) -> Vec<f64> {
        let tape = parse(text).compile(Order::Second);
        let mut out = vec![[f64::NAN]; tape.outputs()];
        let mut columns: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
        tape.evaluate(&parameters, &[&[x], &[0.5]], &mut columns);
        out.into_iter().map(|[v]| v).collect()
    }

    #[test]
    fn what_stands_beside_one_is_seen() {
        for (text, simple) in [
            ("log(1 + x)", "log1p(x)"),
            ("log(x + 1)", "log1p(x)"),
            ("log(1 - x/k)", "log1p(-(x/k))"),
            ("log(x^2 + 1 + y^2)", "log1p(x^2 + y^2)"),
            ("exp(m*x) - 1", "expm1(m*x)"),
            ("-1 + exp(x)", "expm1(x)"),
            ("1 - exp(x)", "-expm1(x)"),
            // The sum is what the writer has protected: x + 1 is exact at −1, y + 1 is not.
            ("log(x + 1 + y)", "log(x + 1 + y)"),
            ("log(2 + x)", "log(x + 2)"),
            ("log(1 + x^2 + (1 + y^2))", "log(x^2 + 1 + (y^2 + 1))"),
            ("exp(x) - 2", "exp(x) - 2"),
        ] {
            let found = parse(text).simplified();
            assert_eq!(found.to_string(), parse(simple).to_string(), "{text}");
        }
    }

    /// The limit k → ∞ of Student's tail is the normal one. With u = z/k, z = (x − m)²: the value is
    /// −(k+1)/2·(u − u²/2 + …) = −z/2 + (z² − 2z)/4k + O(k⁻²), its slope in m (k+1)(x − m)/(k + z), the curvature −1 + O(1/k),
    /// and the slope in k −(z² − 2z)/4k². Rounding of the sum, 1e-16 beside u, left 1e-16·k of the value.
    #[test]
    fn a_tail_of_many_degrees_of_freedom_keeps_its_digits() {
        let text = "-(k+1)/2*log(1+(x-m)^2/k)";
        for k in [1e6, 1e9, 1e12, 1e15] {
            for x in [-1.5f64, 0.25, 3.0] {
                let [m, z] = [0.25, (x - 0.25).powi(2)];
                let found = at(text, [m, k], x);
                let correction = (z * z - 2.0 * z) / (4.0 * k);
                let tolerance = 2e-15 * (1.0 + z) + (1.0 + z).powi(3) / (k * k);
                assert!((found[0] - (correction - z / 2.0)).abs() <= tolerance, "{k} {x}: {}", found[0]);
                let slope = (k + 1.0) * (x - m) / (k + z);
                assert!((found[1] - slope).abs() <= 4e-15 * slope.abs(), "{k} {x}: {}", found[1]);
                // Both terms of the slope in k are z/2k, each rounded.
                let rounding = 1e-15 * z / k + (1.0 + z).powi(3) / k.powi(3);
                assert!((found[2] + correction / k).abs() <= rounding, "{k} {x}: {}", found[2]);
                assert!(
                    (found[3] + 1.0).abs() <= 3.0 * (1.0 + z) / k + 4e-15 * (1.0 + z),
                    "{k} {x}: {}",
                    found[3]
                );
            }
        }
    }

    #[test]
    fn an_exponential_less_one_keeps_its_digits() {
        // expm1(t)/t at t = m x, and its derivatives in m: with t² to double precision.
        for x in [1e-12, -1e-9] {
            let found = at("(exp(m*x) - 1)/x", [1.0, 1.0], x);
            for (value, expected) in [(found[0], 1.0 + x / 2.0), (found[1], 1.0 + x), (found[3], x)] {
                assert!(
                    (value - expected).abs() <= 1e-15 * expected.abs() + x * x,
                    "{x}: {value} {expected}"
                );
            }
        }
    }

    #[test]
    fn edges_are_those_of_the_logarithm() {
        for (text, x, value) in [
            ("log(1 + x)", -1.0, f64::NEG_INFINITY),
            ("log(1 + x)", f64::INFINITY, f64::INFINITY),
            ("log(1 + x)", 1e-300, 1e-300),
            ("log(1 - x)", 1.0, f64::NEG_INFINITY),
            ("exp(x) - 1", 800.0, f64::INFINITY),
            ("exp(x) - 1", f64::NEG_INFINITY, -1.0),
        ] {
            assert_eq!(at(text, [0.0; 2], x)[0], value, "{text} at {x}");
        }
        assert!(at("log(1 + x)", [0.0; 2], -1.5)[0].is_nan());
        assert!(at("log(1 + x)", [0.0; 2], f64::NAN)[0].is_nan());
    }
}
