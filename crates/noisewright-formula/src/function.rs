//! The functions of the language: their names and their values at one number.

use noisewright_numerics::special::{ln_gamma, polygamma};

/// The largest order of `polygamma` that can be written.
pub(crate) const POLYGAMMA_LIMIT: u8 = u8::MAX;

/// A function of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Function {
    Exp,
    Log,
    Log1p,
    Expm1,
    Sqrt,
    Abs,
    Sin,
    Cos,
    Tan,
    Tanh,
    Atan,
    Sigmoid,
    Softplus,
    Logcosh,
    Lgamma,
    Erf,
    Sign,
    Step,
    /// The derivative of order `n + 1` of lgamma: digamma, trigamma, …
    Polygamma(u8),
}

/// Functions of one argument that are written `name(argument)`.
pub(crate) const FUNCTIONS: [(&str, Function); 20] = [
    ("exp", Function::Exp),
    ("log", Function::Log),
    ("log1p", Function::Log1p),
    ("expm1", Function::Expm1),
    ("sqrt", Function::Sqrt),
    ("abs", Function::Abs),
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("tan", Function::Tan),
    ("tanh", Function::Tanh),
    ("atan", Function::Atan),
    ("sigmoid", Function::Sigmoid),
    ("softplus", Function::Softplus),
    ("logcosh", Function::Logcosh),
    ("lgamma", Function::Lgamma),
    ("erf", Function::Erf),
    ("sign", Function::Sign),
    ("step", Function::Step),
    ("digamma", Function::Polygamma(0)),
    ("trigamma", Function::Polygamma(1)),
];

impl Function {
    /// The name it is written with; `polygamma` for the orders that have no name of their own.
    pub(crate) fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, f)| *f == self).map_or("polygamma", |(name, _)| name)
    }

    /// The value at `x`.
    pub(crate) fn value(self, x: f64) -> f64 {
        match self {
            Self::Exp => x.exp(),
            Self::Log => x.ln(),
            Self::Log1p => x.ln_1p(),
            Self::Expm1 => x.exp_m1(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Tan => x.tan(),
            Self::Tanh => x.tanh(),
            Self::Atan => x.atan(),
            Self::Sigmoid => sigmoid(x),
            Self::Softplus => softplus(x),
            Self::Logcosh => logcosh(x),
            Self::Lgamma => lgamma(x),
            Self::Erf => libm::erf(x),
            Self::Sign => sign(x),
            Self::Step => step(x),
            Self::Polygamma(order) => polygamma(order, x),
        }
    }

    /// Whether it is finite for every argument, infinite ones too (NaN aside).
    pub(crate) fn is_bounded(self) -> bool {
        matches!(
            self,
            Self::Sin
                | Self::Cos
                | Self::Tanh
                | Self::Atan
                | Self::Sigmoid
                | Self::Erf
                | Self::Sign
                | Self::Step
        )
    }
}

fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// `ln cosh x` without overflow for large and without cancellation for small `x`.
pub(crate) fn logcosh(x: f64) -> f64 {
    let size = x.abs();
    if size < 1.0 {
        let s = (0.5 * x).sinh();
        (2.0 * s * s).ln_1p()
    } else {
        size + (-2.0 * size).exp().ln_1p() - std::f64::consts::LN_2
    }
}

/// `ln |Γ(x)|`, +∞ at the poles 0, −1, −2, … and at both infinities.
pub(crate) fn lgamma(x: f64) -> f64 {
    if x <= 0.0 && x.floor() == x { f64::INFINITY } else { ln_gamma(x) }
}

/// −1, 0 or 1.
pub(crate) fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x * 0.0
    }
}

/// 0 below zero, 1/2 at zero, 1 above.
pub(crate) fn step(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        0.0
    } else {
        x * 0.0 + 0.5
    }
}

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
    /// The product, but 0 where either factor is 0 even if the other is infinite or NaN.
    MaskedProduct,
}

impl Binary {
    /// The name of those that are written as functions of two arguments.
    pub(crate) fn function_name(self) -> Option<&'static str> {
        match self {
            Self::Min => Some("min"),
            Self::Max => Some("max"),
            Self::MaskedProduct => Some("mul0"),
            _ => None,
        }
    }

    /// The value at `a` and `b`.
    pub(crate) fn value(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Power => power(a, b),
            Self::Min => min(a, b),
            Self::Max => max(a, b),
            Self::MaskedProduct => masked_product(a, b),
        }
    }
}

/// `a^b`, with `a^(1/2)` the square root (so NaN, not ∞, at `a = −∞`).
pub(crate) fn power(a: f64, b: f64) -> f64 {
    if b == 0.5 { a.sqrt() } else { a.powf(b) }
}

/// The smaller; NaN if either is NaN, so that a mistake in a branch is not hidden.
pub(crate) fn min(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// The larger; NaN if either is NaN.
pub(crate) fn max(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// The product, but 0 where either factor is 0.
pub(crate) fn masked_product(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

#[cfg(test)]
// References carry more digits than a double, as they were computed.
#[allow(clippy::excessive_precision)]
mod tests {
    use super::*;

    #[test]
    fn values_at_the_edges() {
        let at = |f: Function, x: f64| f.value(x);
        assert_eq!(at(Function::Log, 0.0), f64::NEG_INFINITY);
        assert!(at(Function::Log, -1.0).is_nan());
        assert_eq!(at(Function::Softplus, 800.0), 800.0);
        assert_eq!(at(Function::Softplus, -800.0), 0.0);
        assert_eq!(at(Function::Softplus, -700.0), (-700f64).exp());
        assert_eq!(at(Function::Logcosh, 1e300), 1e300);
        assert_eq!(at(Function::Logcosh, -50.0), 50.0 - std::f64::consts::LN_2);
        assert_eq!(at(Function::Lgamma, 0.0), f64::INFINITY);
        assert_eq!(at(Function::Lgamma, -3.0), f64::INFINITY);
        assert_eq!(at(Function::Expm1, 1e-20), 1e-20);
        assert_eq!(at(Function::Log1p, 1e-20), 1e-20);
        assert_eq!((sign(0.0), sign(-2.0), step(0.0), step(3.0)), (0.0, -1.0, 0.5, 1.0));
        assert!(sign(f64::NAN).is_nan() && step(f64::NAN).is_nan());
        assert!(max(f64::NAN, 1.0).is_nan() && max(1.0, f64::NAN).is_nan());
        assert_eq!(masked_product(0.0, f64::NEG_INFINITY), 0.0);
    }

    /// mpmath, 20 digits.
    #[test]
    fn logcosh_agrees_with_twenty_digits() {
        for (x, expected) in [
            (1e-8, 5.0000000000000001259e-17),
            (0.1, 0.004991688821646530821),
            (-0.999, 0.43301944642088479211),
            (1.001, 0.43454263451956291358),
            (20.0, 19.306852819440054695),
        ] {
            let value = logcosh(x);
            assert!((value - expected).abs() <= 4e-16 * expected, "logcosh({x}) = {value}");
        }
    }
}
