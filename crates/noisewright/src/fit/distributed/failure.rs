//! Errors that go from one process to another: those that rows cause, field by field, and of the others the sentence.

use super::partial::Partial;
use crate::{Error, Quantity, Result};

/// An answer as bytes: what was summed, or why it could not be.
pub(crate) fn to_answer(outcome: Result<Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    match outcome {
        Ok(sum) => {
            true.write(&mut out);
            out.extend(sum);
        }
        Err(error) => {
            false.write(&mut out);
            error.write(&mut out);
        }
    }
    out
}

/// What was summed, from the bytes of an answer.
///
/// # Errors
/// The error that the answer is, or that it is none.
pub(crate) fn from_answer(mut bytes: &[u8]) -> Result<Vec<u8>> {
    let broken = || Error::internal("an answer of a process is cut short");
    if bool::read(&mut bytes).ok_or_else(broken)? {
        return Ok(bytes.to_vec());
    }
    Err(Error::read(&mut bytes).unwrap_or_else(broken))
}

/// Every error that rows and parameters cause has a number of its own, and its fields follow.
macro_rules! errors {
    ($($number:literal => $name:ident { $($field:ident),* }),* $(,)?) => {
        impl Partial for Error {
            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name { $($field),* } => {
                        <u8 as Partial>::write(&$number, out);
                        $(Partial::write($field, out);)*
                    })*
                    Self::Cancelled => <u8 as Partial>::write(&0, out),
                    other => {
                        <u8 as Partial>::write(&u8::MAX, out);
                        other.to_string().write(out);
                    }
                }
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                match u8::read(from)? {
                    0 => Some(Self::Cancelled),
                    $($number => Some(Self::$name { $($field: Partial::read(from)?),* }),)*
                    _ => Some(Self::external(std::io::Error::other(String::read(from)?))),
                }
            }
        }
    };
}

errors! {
    1 => Parameter { parameter, value, reason },
    2 => NotANumber { of, point },
    3 => NoDensity { row },
    4 => DataWithoutDensity { row, point },
    5 => Weight { row, value },
    6 => OutsideDomain { row, column, value, domain },
    7 => NotUnit { row, length },
    8 => NoiseMissesData { row },
    9 => InfiniteFeature { feature, variable, value },
    10 => Score { parameter, point, given, differences },
    11 => NotLinear { parameter, point },
    12 => Noise { noise, reason },
    13 => Fit { noise, reason },
}

const QUANTITIES: [Quantity; 5] =
    [Quantity::Value, Quantity::Score, Quantity::NoiseDensity, Quantity::NoiseDraw, Quantity::Loss];

impl Partial for Quantity {
    fn write(&self, out: &mut Vec<u8>) {
        let number: usize = match self {
            Self::Value => 0,
            Self::Score => 1,
            Self::NoiseDensity => 2,
            Self::NoiseDraw => 3,
            Self::Loss => 4,
        };
        number.write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        QUANTITIES.get(usize::read(from)?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_rows_come_back_as_they_were() {
        let parameter =
            Error::Parameter { parameter: "s".into(), value: -1.5, reason: "it is a scale".into() };
        let outside = Error::OutsideDomain {
            row: 12,
            column: "x".into(),
            value: f64::INFINITY,
            domain: "finite".into(),
        };
        let loss = Error::NotANumber { of: Quantity::Loss, point: "x = 1".into() };
        for error in [parameter, outside, loss, Error::NoDensity { row: 7 }, Error::Cancelled] {
            assert_eq!(from_answer(&to_answer(Err(error.clone()))), Err(error));
        }
        let other = from_answer(&to_answer(Err(Error::NoOverlap))).unwrap_err();
        assert!(other.to_string().ends_with(&Error::NoOverlap.to_string()), "{other}");
        assert_eq!(from_answer(&to_answer(Ok(vec![1, 2]))), Ok(vec![1, 2]));
        assert!(from_answer(&[]).is_err());
    }
}
