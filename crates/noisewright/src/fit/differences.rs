//! Derivatives by differences, with a step that fits the place.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::Evaluation;

use crate::{Error, Result};

/// The first step, as a share of what is natural: the error of fourth order is then about that of rounding.
const FIRST: f64 = 1e-3;
/// Two steps whose slopes differ by less than this share of them are short enough: a tenth of the length over which the slope
/// changes, so that the error of fourth order is below 1e-5.
const AGREE: f64 = 1e-2;
/// Share of a value that is rounding, generously.
const ROUNDING: f64 = 1e-12;

/// Decades by which steps are shortened at most where every value is a pass over the rows.
const SHORTER_STEPS: i32 = 4;
/// And where it costs nothing.
const CLOSED_FORM_STEPS: i32 = 16;

/// Second derivatives as differences of a gradient, for a model that does not give its own; `unit` has the natural size of a step
/// in each unknown.
///
/// # Errors
/// The gradient's own, where it is not known on either side, however near.
pub(super) fn hessian(
    at: &[f64],
    unit: impl Fn(usize) -> f64,
    gradient: impl Fn(&[f64]) -> Result<DVector<f64>>,
) -> Result<DMatrix<f64>> {
    let mut matrix = DMatrix::zeros(at.len(), at.len());
    for j in 0..at.len() {
        let slope = |step: f64| {
            let mut shifted = at.to_vec();
            shifted[j] += step;
            gradient(&shifted)
        };
        matrix.set_column(j, &derivative(unit(j), SHORTER_STEPS, slope)?);
    }
    Ok((&matrix + matrix.transpose()) * 0.5)
}

/// An evaluation whose Hessian, where it is asked for and `look` does not know it, comes from differences of the gradient.
///
/// # Errors
/// Those of `look`, and where no gradient is known on either side.
pub(super) fn evaluation(
    at: &[f64],
    unit: &[f64],
    hessian: bool,
    look: impl Fn(&[f64], bool) -> Result<(Evaluation, bool)>,
) -> Result<Evaluation> {
    let (mut there, known) = look(at, hessian)?;
    if !known {
        let gradient = |at: &[f64]| {
            let there = look(at, false)?.0;
            if there.value.is_finite() { Ok(there.gradient) } else { Err(Error::NoMass) }
        };
        there.hessian = Some(self::hessian(at, |j| unit[j], gradient)?);
    }
    Ok(there)
}

/// The derivative by a parameter of what is known in closed form: first with steps of a natural size, which may be one for other units
/// than those of the data, then of the parameter's own.
///
/// # Errors
/// The function's own, where no step is defined.
pub(super) fn of_closed_form(
    unit: f64,
    parameter: f64,
    f: impl Fn(f64) -> Result<DVector<f64>>,
) -> Result<DVector<f64>> {
    // Far beyond its natural size a step would be lost in rounding.
    let size = unit.max(1e-4 * parameter.abs());
    derivative(size, CLOSED_FORM_STEPS, &f).or_else(|_| derivative(parameter.abs(), CLOSED_FORM_STEPS, &f))
}

/// The derivative at zero of a function of a step, to the fourth order (the five-point formula).
///
/// The step is a thousandth of `size`, or up to so many `decades` shorter, where the function is not defined that far from zero or
/// bends too much; where no step will do, as at a kink, the longest that is defined.
///
/// # Errors
/// The function's own, where no step is defined.
fn derivative(size: f64, decades: i32, f: impl Fn(f64) -> Result<DVector<f64>>) -> Result<DVector<f64>> {
    let mut kept = five_point(FIRST * size, &f);
    for shorter in 1..=decades {
        if matches!(kept, Ok((_, true)) | Err(Error::Cancelled)) {
            break;
        }
        let next = five_point(FIRST * size * 0.1f64.powi(shorter), &f);
        if kept.is_err() || matches!(next, Ok((_, true)) | Err(Error::Cancelled)) {
            kept = next;
        }
    }
    kept.map(|(slope, _)| slope)
}

/// The derivative at zero, and whether the step is short enough to tell.
fn five_point(h: f64, f: &impl Fn(f64) -> Result<DVector<f64>>) -> Result<(DVector<f64>, bool)> {
    let (ahead, behind) = (f(h)?, f(-h)?);
    let size = ahead.norm() + behind.norm();
    let near = (ahead - behind) / (2.0 * h);
    let far = (f(2.0 * h)? - f(-2.0 * h)?) / (4.0 * h);
    let apart = (&near - &far).norm();
    let agree = apart <= AGREE * near.norm() + ROUNDING * size / h;
    Ok(((near * 4.0 - far) / 3.0, agree))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fit_the_place() {
        // 1/x at 1e-12, with a natural size of one and no values beyond zero.
        let inverse = |step: f64| {
            let x = 1e-12 + step;
            if x > 0.0 { Ok(DVector::from_element(1, 1.0 / x)) } else { Err(Error::NoMass) }
        };
        let found = derivative(1.0, 16, inverse).unwrap()[0];
        assert!((found / -1e24 - 1.0).abs() < 1e-4, "{found}");
        // Where nothing is in the way the first step serves, and a slope of zero is no reason for another one.
        let cosine = |step: f64| Ok(DVector::from_element(1, step.cos()));
        assert!(derivative(1.0, 16, cosine).unwrap()[0].abs() < 1e-12);
        assert!(derivative(1.0, 3, |_| Err(Error::NoMass)).is_err());
    }
}
