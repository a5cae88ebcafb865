//! Logarithms of sums of exponentials, as mixtures are written: `log(a*exp(u) + b*exp(v))` without under- and overflow.
//!
//! As written the exponentials vanish far from all peaks, and with them the density's tail: an error that is infinite looked
//! finite. With the largest exponent taken out, `m + log(a*exp(u - m) + b*exp(v - m))`, the value is that of real numbers
//! everywhere. This is the one simplification that changes a value: from −∞ or ∞ to what it stands for.

use crate::function::{Binary, Function};
use crate::graph::{Graph, Id, Node};

/// Most terms of a sum that are looked at.
const MOST_TERMS: usize = 64;

/// The largest exponent is kept within these, so that exponents that overflow themselves do not become ∞ − ∞.
const LARGEST: f64 = 1e300;

/// One term `factor * exp(exponent)`; a factor of one is `None`.
#[derive(Clone, Copy)]
struct Term {
    factor: Option<Id>,
    exponent: Id,
}

impl Graph {
    /// `log(a)` for a sum of exponentials with factors, or for one alone; `None` for anything else.
    pub(crate) fn log_of_exponentials(&mut self, a: Id) -> Option<Id> {
        let terms = self.exponential_terms(a)?;
        if terms.iter().any(|term| self.facts(term.exponent).singular) {
            return None;
        }
        if let [only] = terms[..] {
            return Some(match only.factor {
                None => only.exponent,
                Some(factor) => {
                    let log = self.call(Function::Log, factor);
                    self.add(log, only.exponent)
                }
            });
        }
        let largest =
            terms[1..].iter().fold(terms[0].exponent, |m, term| self.binary(Binary::Max, m, term.exponent));
        let (lowest, highest) = (self.number(-LARGEST), self.number(LARGEST));
        let largest = self.binary(Binary::Max, largest, lowest);
        let largest = self.binary(Binary::Min, largest, highest);
        let mut sum = None;
        for term in terms {
            let below = self.subtract(term.exponent, largest);
            let exponential = self.call(Function::Exp, below);
            let scaled = match term.factor {
                None => exponential,
                Some(factor) => self.multiply(factor, exponential),
            };
            sum = Some(sum.map_or(scaled, |sum| self.add(sum, scaled)));
        }
        // Interned as it is: it would be taken for the same pattern again.
        let log = self.intern(Node::Call(Function::Log, sum?));
        Some(self.add(largest, log))
    }

    /// The terms of a sum, if every one of them has an exponential as a factor.
    fn exponential_terms(&mut self, root: Id) -> Option<Vec<Term>> {
        let mut waiting = vec![(root, false)];
        let mut terms = Vec::new();
        while let Some((id, negative)) = waiting.pop() {
            match self.node(id) {
                Node::Binary(Binary::Add, a, b) => waiting.extend([(b, negative), (a, negative)]),
                Node::Binary(Binary::Subtract, a, b) => waiting.extend([(b, !negative), (a, negative)]),
                Node::Negate(a) => waiting.push((a, !negative)),
                _ => {
                    let Term { factor, exponent } = self.exponential_term(id)?;
                    let factor = if negative { Some(self.opposite(factor)) } else { factor };
                    terms.push(Term { factor, exponent });
                }
            }
            if terms.len() + waiting.len() > MOST_TERMS {
                return None;
            }
        }
        Some(terms)
    }

    fn opposite(&mut self, factor: Option<Id>) -> Id {
        match factor {
            Some(factor) => self.negate(factor),
            None => self.number(-1.0),
        }
    }

    /// Splits a product or quotient at its exponential.
    fn exponential_term(&mut self, id: Id) -> Option<Term> {
        match self.node(id) {
            Node::Call(Function::Exp, exponent) => Some(Term { factor: None, exponent }),
            Node::Binary(Binary::Multiply, a, b) => {
                let (term, other) = match self.exponential_term(a) {
                    Some(term) => (term, b),
                    None => (self.exponential_term(b)?, a),
                };
                let factor = term.factor.map_or(other, |factor| self.multiply(factor, other));
                Some(Term { factor: Some(factor), ..term })
            }
            Node::Binary(Binary::Divide, a, b) => {
                let term = self.exponential_term(a)?;
                let one = self.number(1.0);
                let factor = self.divide(term.factor.unwrap_or(one), b);
                Some(Term { factor: Some(factor), ..term })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Formula, Order, Symbols};

    /// Value and derivative in `m` by the compiled tape.
    fn at(text: &str, m: f64, x: f64) -> (f64, f64) {
        let formula = Formula::parse(text, &Symbols::new(&["x"], &["m"]).unwrap()).unwrap();
        let tape = formula.compile(Order::First);
        let mut out = vec![[f64::NAN]; tape.outputs()];
        let mut columns: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
        tape.evaluate(&[m], &[&[x]], &mut columns);
        (out[0][0], out[1][0])
    }

    #[test]
    fn a_mixture_keeps_its_tails() {
        let text = "log(exp(-(x-m)^2/2) + exp(-(x+m)^2/2))";
        for x in [-1e3f64, -60.0, -3.0, 0.0, 0.5, 40.0, 1e4] {
            let exact = -0.5 * (x * x + 1.0) + (x.abs() + (-2.0 * x.abs()).exp().ln_1p());
            let (value, slope) = at(text, 1.0, x);
            assert!((value - exact).abs() <= 1e-13 * exact.abs().max(1.0), "{x}: {value} for {exact}");
            // d/dm: −m + x tanh(mx).
            let expected = -1.0 + x * x.tanh();
            assert!(
                (slope - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                "{x}: {slope} for {expected}"
            );
        }
        // Where the exponents overflow themselves the density is zero, and not "not a number".
        assert_eq!(at(text, 1.0, 1e200).0, f64::NEG_INFINITY);
    }

    #[test]
    fn factors_signs_and_single_terms() {
        let sums = [
            ("log(exp(-(x-m)^2/2))", -2000.5 - 0.0),
            ("log(3*exp(-(x-m)^2/2)/m)", -2000.5 + 3f64.ln()),
            ("log(0.25*exp(-2*x) + m*exp(-2*x)/4)", -2.0 * 64.0 + 0.5f64.ln()),
            ("log(2*exp(x) - exp(x))", 64.0),
        ];
        for (text, expected) in sums {
            let x = if text.contains("(x-m)") { 1.0 + 4001f64.sqrt() } else { 64.0 };
            let (value, _) = at(text, 1.0, x);
            assert!((value - expected).abs() < 1e-9 * expected.abs(), "{text}: {value} for {expected}");
        }
    }

    #[test]
    fn other_logarithms_stay_as_they_are() {
        assert_eq!(at("log(m + exp(x))", 1.0, 800.0).0, f64::INFINITY);
        assert_eq!(at("log(exp(log(x)) + exp(2*log(x)))", 1.0, 0.0).0, f64::NEG_INFINITY);
    }
}
