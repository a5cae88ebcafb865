//! What the derivative-based methods minimise, when they stop, and where they ended.

use nalgebra::{DMatrix, DVector};

use super::Stop;

/// A smooth function to be minimised, in most cases a mean over rows.
///
/// An error of [`evaluate`](Self::evaluate) ends every search at once and is handed to the caller: a user's error, or that
/// the search was cancelled.
pub trait Problem {
    /// What may go wrong in an evaluation.
    type Error;

    /// How many rows the mean is over: with them, a step is measured in standard errors.
    fn rows(&self) -> f64 {
        1.0
    }

    /// Share of the value that is rounding.
    fn rounding(&self) -> f64 {
        1e-12
    }

    /// Whether the Hessian costs about as much as a gradient, rather than many of them.
    fn has_curvature(&self) -> bool {
        true
    }

    /// Whether the function is convex where it is finite.
    fn is_convex(&self) -> bool {
        false
    }

    /// Whether it may be flat along whole lines, so that steps of a convex search leave their directions alone; otherwise the
    /// search is damped there.
    fn may_be_flat(&self) -> bool {
        false
    }

    /// Value, gradient and, where asked for, Hessian; an infinite value is a wall.
    ///
    /// # Errors
    /// Whatever must end the search.
    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation, Self::Error>;
}

/// A function's value and derivatives.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The value; infinite outside of where the function is defined.
    pub value: f64,
    /// The gradient.
    pub gradient: DVector<f64>,
    /// The Hessian, where it was asked for.
    pub hessian: Option<DMatrix<f64>>,
}

impl Evaluation {
    /// What is outside of where the function is defined.
    #[must_use]
    pub fn wall(size: usize) -> Self {
        let hessian = Some(DMatrix::zeros(size, size));
        Self { value: f64::INFINITY, gradient: DVector::zeros(size), hessian }
    }

    /// The part that belongs to some of the coordinates.
    #[must_use]
    pub fn part(&self, of: &[usize]) -> Self {
        let size = of.len();
        let hessian = self.hessian.as_ref().map(|h| DMatrix::from_fn(size, size, |i, j| h[(of[i], of[j])]));
        let gradient = DVector::from_fn(size, |i, _| self.gradient[of[i]]);
        Self { value: self.value, gradient, hessian }
    }
}

/// When a descent ends, and who watches it.
pub struct DescentOptions<'w, E> {
    /// A step of fewer standard errors ends the descent.
    pub tolerance: f64,
    /// Most steps.
    pub max_iterations: usize,
    /// Called with the number and the value of every iteration; its error ends the search.
    pub watch: &'w dyn Fn(usize, f64) -> Result<(), E>,
}

/// Where a descent ended.
#[derive(Clone, Debug)]
pub struct Descent {
    /// The place.
    pub at: DVector<f64>,
    /// The value at the last place that was evaluated.
    pub value: f64,
    /// Steps taken or tried.
    pub iterations: usize,
    /// Why it ended.
    pub stop: Stop,
    /// The function at the last place that was evaluated, a step of less than the tolerance away.
    pub last: Evaluation,
}
