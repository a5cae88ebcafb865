//! Energies of one variable, written point by point.

use crate::View;

/// Writes the values and, where asked for, the scores of an energy of one variable: `at(x)` gives the value and its
/// derivatives in the K parameters.
#[inline(always)]
pub(super) fn fill<const K: usize>(
    points: View<'_>,
    value: &mut [f64],
    score: Option<&mut [f64]>,
    at: impl Fn(f64) -> (f64, [f64; K]),
) {
    let x = points.column(0);
    let Some(score) = score else {
        value.iter_mut().zip(x).for_each(|(value, x)| *value = at(*x).0);
        return;
    };
    for (i, x) in x.iter().enumerate() {
        let (height, slopes) = at(*x);
        value[i] = height;
        for (j, slope) in slopes.into_iter().enumerate() {
            score[j * points.rows() + i] = slope;
        }
    }
}

/// The first three methods of an [`Energy`](crate::Energy) of one variable: its parameters, a check of their values where there
/// is one, and value and slopes at `x`.
macro_rules! of_one_variable {
    ([$($name:literal),*], |$($parameter:ident),*| $([$check:expr])? $x:ident => $at:expr) => {
        fn parameters(&self) -> Vec<String> {
            vec![$($name.into()),*]
        }

        fn dimension(&self) -> usize {
            1
        }

        fn evaluate(
            &self,
            parameters: &[f64],
            points: $crate::View<'_>,
            value: &mut [f64],
            score: Option<&mut [f64]>,
        ) -> $crate::Result<()> {
            let &[$($parameter),*] = parameters else {
                let expected = [$($name),*].len();
                return Err($crate::Error::Shape { what: "parameter values", expected, found: parameters.len() });
            };
            $($check?;)?
            $crate::energy::pointwise::fill(points, value, score, |$x| $at);
            Ok(())
        }
    };
}
pub(super) use of_one_variable;
