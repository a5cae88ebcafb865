//! The exponential of a polynomial, `Σ_j t_j x^j`, on any one-dimensional domain.

use super::family::{Entry, FamilyInfo, Parts, Request};
use crate::{Domain, Energy, Error, Parameter, Result, View};

/// The largest degree taken: beyond it powers of ordinary data span more than a double can tell apart.
const MAX_DEGREE: usize = 32;

/// `u(x) = t1·x + t2·x² + … + tn·xⁿ`; parameters `t1 … tn`. There is no closed form for log Z in general.
///
/// ```
/// use noisewright::Points;
/// use noisewright::energy::{Energy, ExponentialPolynomial};
/// let quartic = ExponentialPolynomial::new(4).unwrap();
/// let points = Points::unnamed(1, 1, vec![2.0]);
/// let (mut value, mut score) = ([0.0], [0.0; 4]);
/// quartic.evaluate(&[1.0, 0.0, 0.0, -0.5], points.view(), &mut value, Some(&mut score)).unwrap();
/// assert_eq!((value, score), ([-6.0], [2.0, 4.0, 8.0, 16.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExponentialPolynomial {
    degree: i32,
}

impl ExponentialPolynomial {
    /// The polynomial of this degree, without its constant term.
    ///
    /// # Errors
    /// When the degree is not from 1 to 32.
    pub fn new(degree: usize) -> Result<Self> {
        match i32::try_from(degree) {
            Ok(small) if (1..=MAX_DEGREE).contains(&degree) => Ok(Self { degree: small }),
            _ => Err(Error::field(
                "degree",
                format!("= {degree} must be a whole number from 1 to {MAX_DEGREE}"),
            )),
        }
    }
}

/// Writes x, x², … into the columns of `score`, each from the one before.
fn write_powers(x: &[f64], score: &mut [f64]) {
    let rows = x.len();
    score[..rows].copy_from_slice(x);
    for start in (rows..score.len()).step_by(rows) {
        let (before, column) = score.split_at_mut(start);
        for ((power, previous), x) in column.iter_mut().zip(&before[start - rows..]).zip(x) {
            *power = previous * x;
        }
    }
}

impl Energy for ExponentialPolynomial {
    fn parameters(&self) -> Vec<String> {
        (1..=self.degree).map(|j| format!("t{j}")).collect()
    }

    fn dimension(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let x = points.column(0);
        value.fill(0.0);
        // Horner's rule, one coefficient at a time over all points.
        for coefficient in parameters.iter().rev() {
            for (v, x) in value.iter_mut().zip(x) {
                *v = (*v + coefficient) * x;
            }
        }
        if let Some(score) = score.filter(|_| !x.is_empty()) {
            write_powers(x, score);
        }
        Ok(())
    }

    fn is_linear(&self) -> bool {
        true
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "exponential-polynomial",
        description: "Exponential of a polynomial in one variable, t1·x + t2·x² + …, on any domain",
        domain: "any, of one variable",
        options: &["degree"],
        parameters: "t1 … tn, n = `degree` (default 4)",
    },
    build,
};

/// Starts at `−xⁿ` (or `−xⁿ⁻¹` for an odd degree), which integrates on every domain.
fn build(request: &Request<'_>) -> Result<Parts> {
    let energy = ExponentialPolynomial::new(request.options.degree.unwrap_or(4))?;
    let space = request.one_variable_anywhere(Domain::Real)?;
    let even = energy.degree - energy.degree % 2;
    let start = |j: i32| if j == even.max(1) { -1.0 } else { 0.0 };
    let parameters = (1..=energy.degree).map(|j| Parameter::new(format!("t{j}"), start(j))).collect();
    Ok(Parts::new(energy, space, parameters))
}
