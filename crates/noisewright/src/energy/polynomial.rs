//! The exponential of a polynomial, `Σ_j t_j x^j`, on any one-dimensional domain.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::family::{Entry, FamilyInfo, Parts, Request};
use crate::{Domain, Energy, Error, Parameter, Result, View};

/// The largest degree taken: beyond it powers of ordinary data span more than a double can tell apart.
const MAX_DEGREE: usize = 32;

/// `u(x) = t1·x + t2·x² + … + tn·xⁿ`; parameters `t1 … tn`. There is no closed form for log Z in general.
///
/// ```
/// use noisewright::{Energy, Points};
/// use noisewright::internal::energy::ExponentialPolynomial;
/// let quartic = ExponentialPolynomial::new(4).unwrap();
/// let points = Points::unnamed(1, 1, vec![2.0]);
/// let (mut value, mut score) = ([0.0], [0.0; 4]);
/// quartic.evaluate(&[1.0, 0.0, 0.0, -0.5], points.view(), &mut value, Some(&mut score)).unwrap();
/// assert_eq!((value, score), ([-6.0], [2.0, 4.0, 8.0, 16.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExponentialPolynomial {
    degree: i32,
    /// Of `(x − center)/scale`; 0 and 1 but inside a fit.
    center: f64,
    scale: f64,
}

impl ExponentialPolynomial {
    /// The polynomial of this degree, without its constant term.
    ///
    /// # Errors
    /// When the degree is not from 1 to 32.
    pub fn new(degree: usize) -> Result<Self> {
        match i32::try_from(degree) {
            Ok(small) if (1..=MAX_DEGREE).contains(&degree) => {
                Ok(Self { degree: small, center: 0.0, scale: 1.0 })
            }
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
        let moved: Vec<f64>;
        let x = if (self.center, self.scale) == (0.0, 1.0) {
            points.column(0)
        } else {
            moved = points.column(0).iter().map(|x| (x - self.center) / self.scale).collect();
            &moved
        };
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

    /// By the binomial theorem: `τ_m ((x − c)/s)^m` adds `τ_m C(m, j) (−c)^(m−j)/s^m` to `t_j`, and its term in x⁰ to the constant.
    fn recentred(&self, center: f64, scale: f64) -> Option<(Arc<dyn Energy>, DMatrix<f64>)> {
        let size = self.degree as usize;
        let mut map = DMatrix::identity(size + 1, size + 1);
        for m in 1..=size {
            for j in 0..=m {
                let choose = (0..j).fold(1.0, |choose, i| choose * (m - i) as f64 / (i + 1) as f64);
                let term = choose * (-center).powi((m - j) as i32) / scale.powi(m as i32);
                match j {
                    0 => map[(size, m - 1)] = -term,
                    _ => map[(j - 1, m - 1)] = term,
                }
            }
        }
        Some((Arc::new(Self { center, scale, ..*self }), map))
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
