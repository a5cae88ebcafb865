//! Minima of a smooth convex function plus penalties of single coordinates, by the proximal Newton method with an active set
//! (Lee, Sun and Saunders 2014), whose quadratic problems are solved by cyclic coordinate descent (Friedman, Hastie and
//! Tibshirani 2010).

use nalgebra::{DMatrix, DVector};

use super::{DescentOptions, Evaluation, Stop};

/// Share of the predicted decrease that a step must reach (Armijo's rule).
const SUFFICIENT: f64 = 1e-4;
/// Most halvings of a step.
const HALVINGS: usize = 40;
/// Most sweeps of coordinate descent over one quadratic problem; the next step goes on where they end.
const SWEEPS: usize = 2000;
/// Share of the tolerance of a step that coordinate descent leaves open, and that a gradient may exceed its penalty by.
const INNER: f64 = 0.1;
/// Share of the value that is rounding.
const ROUNDING: f64 = 1e-13;

/// A smooth convex function of which parts can be looked at.
pub trait Smooth {
    /// What may go wrong in an evaluation.
    type Error;

    /// How many rows the mean is over: with them, a step is measured in standard errors.
    fn rows(&self) -> f64 {
        1.0
    }

    /// The value; infinite outside of where the function is defined.
    ///
    /// # Errors
    /// Whatever must end the search.
    fn value(&self, at: &DVector<f64>) -> Result<f64, Self::Error>;

    /// The value and the whole gradient.
    ///
    /// # Errors
    /// Whatever must end the search.
    fn gradient(&self, at: &DVector<f64>) -> Result<(f64, DVector<f64>), Self::Error>;

    /// The value, and gradient and Hessian of some coordinates alone.
    ///
    /// # Errors
    /// Whatever must end the search.
    fn curvature(&self, at: &DVector<f64>, of: &[usize]) -> Result<Evaluation, Self::Error>;
}

/// Penalties `a|x| + bx²/2` of every coordinate, which may also be kept between bounds.
///
/// An infinite `a` holds a coordinate at zero.
#[derive(Clone, Debug)]
pub struct SeparablePenalty {
    /// a of every coordinate.
    pub lasso: Vec<f64>,
    /// b of every coordinate.
    pub ridge: Vec<f64>,
    /// The bounds of every coordinate.
    pub limits: Vec<(f64, f64)>,
}

impl SeparablePenalty {
    /// What is added to the function.
    #[must_use]
    pub fn value(&self, at: &DVector<f64>) -> f64 {
        let parts = at.iter().zip(&self.lasso).zip(&self.ridge);
        parts.map(|((x, a), b)| if *x == 0.0 { 0.0 } else { a * x.abs() + 0.5 * b * x * x }).sum()
    }

    /// The minimum of `hx²/2 − zx` plus the penalty of a coordinate.
    fn proximal(&self, j: usize, h: f64, z: f64) -> f64 {
        let (lower, upper) = self.limits[j];
        let shrunk = z.signum() * (z.abs() - self.lasso[j]).max(0.0);
        let free = if shrunk == 0.0 { 0.0 } else { shrunk / (h + self.ridge[j]) };
        free.clamp(lower, upper)
    }

    /// Whether a coordinate at this value would move along this gradient, by more than a share of its penalty.
    fn moves(&self, j: usize, x: f64, gradient: f64, slack: f64) -> bool {
        let (lower, upper) = self.limits[j];
        let slope = gradient + self.ridge[j] * x;
        if x != 0.0 {
            return !(x == lower && slope > self.lasso[j] || x == upper && slope < -self.lasso[j]);
        }
        let excess = slope.abs() - self.lasso[j] * (1.0 + slack);
        let open = if slope > 0.0 { lower < 0.0 } else { upper > 0.0 };
        excess > 0.0 && open
    }

    /// Whether some coordinates have neither an absolute penalty nor bounds: their quadratic problem is a linear system.
    fn is_smooth(&self, of: &[usize]) -> bool {
        let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
        of.iter().all(|j| self.lasso[*j] == 0.0 && self.limits[*j] == everywhere)
    }
}

/// A minimum of a penalised function.
#[derive(Clone, Debug)]
pub struct PenalizedMinimum {
    /// The place.
    pub at: DVector<f64>,
    /// The function there, without the penalty.
    pub value: f64,
    /// Its gradient, without the penalty's.
    pub gradient: DVector<f64>,
    /// Newton steps.
    pub iterations: usize,
    /// Why it ended.
    pub stop: Stop,
}

/// Minimises a convex function plus the penalty from a start inside the bounds.
///
/// Only coordinates that are not zero, or whose gradient exceeds their penalty, are worked on; when they are at their minimum
/// the whole gradient tells whether others must join them.
///
/// ```
/// use nalgebra::{DMatrix, DVector};
/// use noisewright_numerics::optimize::{DescentOptions, Evaluation, SeparablePenalty, Smooth, proximal_newton};
/// /// ½(x − 3)² + ½(y − ½)².
/// struct Bowl;
/// impl Smooth for Bowl {
///     type Error = ();
///     fn value(&self, at: &DVector<f64>) -> Result<f64, ()> {
///         Ok(0.5 * (at[0] - 3.0).powi(2) + 0.5 * (at[1] - 0.5).powi(2))
///     }
///     fn gradient(&self, at: &DVector<f64>) -> Result<(f64, DVector<f64>), ()> {
///         Ok((self.value(at)?, DVector::from_vec(vec![at[0] - 3.0, at[1] - 0.5])))
///     }
///     fn curvature(&self, at: &DVector<f64>, of: &[usize]) -> Result<Evaluation, ()> {
///         let (value, gradient) = self.gradient(at)?;
///         Ok(Evaluation { value, gradient, hessian: Some(DMatrix::identity(2, 2)) }.part(of))
///     }
/// }
/// let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
/// let penalty = SeparablePenalty { lasso: vec![1.0; 2], ridge: vec![0.0; 2], limits: vec![everywhere; 2] };
/// let options = DescentOptions { tolerance: 1e-9, max_iterations: 50, watch: &|_, _| Ok(()) };
/// let found = proximal_newton(&Bowl, &penalty, &DVector::zeros(2), None, &options).unwrap();
/// assert_eq!(found.at.as_slice(), [2.0, 0.0]);
/// ```
///
/// # Errors
/// Those of an evaluation or of the watch.
pub fn proximal_newton<S: Smooth + ?Sized>(
    function: &S,
    penalty: &SeparablePenalty,
    begin: &DVector<f64>,
    known: Option<(f64, DVector<f64>)>,
    options: &DescentOptions<'_, S::Error>,
) -> Result<PenalizedMinimum, S::Error> {
    let (value, gradient) = match known {
        Some(known) => known,
        None => function.gradient(begin)?,
    };
    let mut descent = ProximalDescent::new(begin.clone(), value, gradient);
    while descent.advance(function, penalty, options)? {
        let (value, gradient) = function.gradient(descent.at())?;
        descent.look(value, gradient);
    }
    Ok(descent.minimum())
}

/// The same search one set of coordinates at a time, so that searches over parts of the same rows can take their whole gradients,
/// which cost most, from one pass over them.
#[derive(Clone, Debug)]
pub struct ProximalDescent {
    reached: PenalizedMinimum,
    /// The coordinates that were worked on last.
    worked: Option<Vec<usize>>,
}

impl ProximalDescent {
    /// Begins inside the bounds, where the value and the whole gradient are known.
    #[must_use]
    pub fn new(at: DVector<f64>, value: f64, gradient: DVector<f64>) -> Self {
        let reached = PenalizedMinimum { at, value, gradient, iterations: 0, stop: Stop::StepLimit };
        Self { reached, worked: None }
    }

    /// Where it is.
    #[must_use]
    pub fn at(&self) -> &DVector<f64> {
        &self.reached.at
    }

    /// Goes to the minimum over the coordinates that move; `false` where none has to join those of the last time, so that this is the
    /// minimum over all of them, and where the search cannot go on.
    ///
    /// # Errors
    /// Those of an evaluation or of the watch.
    pub fn advance<S: Smooth + ?Sized>(
        &mut self,
        function: &S,
        penalty: &SeparablePenalty,
        options: &DescentOptions<'_, S::Error>,
    ) -> Result<bool, S::Error> {
        let Self { reached: PenalizedMinimum { at, gradient, iterations, stop, .. }, worked } = self;
        if *iterations >= options.max_iterations || worked.is_some() && !stop.converged() {
            return Ok(false);
        }
        let moving = |j: &usize| penalty.moves(*j, at[*j], gradient[*j], INNER * options.tolerance);
        let set: Vec<usize> = (0..at.len()).filter(moving).collect();
        let more = worked.as_ref().is_none_or(|before| set.iter().any(|j| !before.contains(j)));
        if !more || set.is_empty() {
            *stop = Stop::Converged;
            return Ok(false);
        }
        *stop = Search { function, penalty, set: &set, at, iterations }.run(options)?;
        *worked = Some(set);
        Ok(true)
    }

    /// Takes the value and the whole gradient where it is.
    pub fn look(&mut self, value: f64, gradient: DVector<f64>) {
        (self.reached.value, self.reached.gradient) = (value, gradient);
    }

    /// Where it ended.
    #[must_use]
    pub fn minimum(self) -> PenalizedMinimum {
        self.reached
    }
}

/// The same over some coordinates alone; the others stay where they are, and their gradient, which may cost far more than the steps, is
/// not looked at.
///
/// # Errors
/// Those of an evaluation or of the watch.
pub fn proximal_newton_of<S: Smooth + ?Sized>(
    function: &S,
    penalty: &SeparablePenalty,
    begin: &DVector<f64>,
    of: &[usize],
    options: &DescentOptions<'_, S::Error>,
) -> Result<DVector<f64>, S::Error> {
    let (mut at, mut iterations) = (begin.clone(), 0);
    if !of.is_empty() {
        Search { function, penalty, set: of, at: &mut at, iterations: &mut iterations }.run(options)?;
    }
    Ok(at)
}

/// Newton steps over a set of coordinates.
struct Search<'s, S: ?Sized> {
    function: &'s S,
    penalty: &'s SeparablePenalty,
    set: &'s [usize],
    at: &'s mut DVector<f64>,
    iterations: &'s mut usize,
}

impl<S: Smooth + ?Sized> Search<'_, S> {
    fn run(&mut self, options: &DescentOptions<'_, S::Error>) -> Result<Stop, S::Error> {
        let enough = options.tolerance.powi(2) / self.function.rows();
        while *self.iterations < options.max_iterations {
            *self.iterations += 1;
            let there = self.function.curvature(self.at, self.set)?;
            (options.watch)(*self.iterations, there.value)?;
            let target = self.quadratic(&there, INNER * INNER * enough);
            let step = &target - &*self.at;
            let decrease = -(self.along(&there.gradient, &step) + self.penalty.value(&target)
                - self.penalty.value(self.at));
            if decrease <= ROUNDING * there.value.abs() {
                return Ok(Stop::Converged);
            }
            if !self.search(there.value, &step, decrease)? {
                let rounding = decrease <= 1e3 * ROUNDING * there.value.abs().max(1.0);
                return Ok(if rounding { Stop::Converged } else { Stop::NoDescent });
            }
            if decrease <= enough {
                return Ok(Stop::Converged);
            }
        }
        Ok(Stop::StepLimit)
    }

    fn along(&self, gradient: &DVector<f64>, step: &DVector<f64>) -> f64 {
        self.set.iter().zip(gradient.iter()).map(|(j, g)| g * step[*j]).sum()
    }

    /// Goes along a step as far as the penalised function falls enough.
    fn search(&mut self, value: f64, step: &DVector<f64>, decrease: f64) -> Result<bool, S::Error> {
        let before = value + self.penalty.value(self.at);
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            let there = &*self.at + step * share;
            let after = self.function.value(&there)? + self.penalty.value(&there);
            if after <= before - SUFFICIENT * share * decrease {
                *self.at = there;
                return Ok(true);
            }
            share *= 0.5;
        }
        Ok(false)
    }

    /// The minimum of the second-order model plus the penalty.
    fn quadratic(&self, there: &Evaluation, enough: f64) -> DVector<f64> {
        let size = self.set.len();
        let Some(hessian) = &there.hessian else { return self.at.clone() };
        if self.penalty.is_smooth(self.set)
            && let Some(target) = self.linear_system(there, hessian)
        {
            return target;
        }
        let mut target = self.at.clone();
        // The gradient of the model at the target.
        let mut slope = there.gradient.clone();
        for _ in 0..SWEEPS {
            let mut largest = 0.0_f64;
            for i in 0..size {
                let (j, h) = (self.set[i], hessian[(i, i)]);
                if h + self.penalty.ridge[j] <= 0.0 {
                    continue;
                }
                let there = self.penalty.proximal(j, h, h * target[j] - slope[i]);
                let moved = there - target[j];
                if moved != 0.0 {
                    slope.axpy(moved, &hessian.column(i), 1.0);
                    target[j] = there;
                    largest = largest.max((h + self.penalty.ridge[j]) * moved * moved);
                }
            }
            if largest <= enough {
                break;
            }
        }
        target
    }

    fn linear_system(&self, there: &Evaluation, hessian: &DMatrix<f64>) -> Option<DVector<f64>> {
        let mut matrix = hessian.clone();
        let mut slope = there.gradient.clone();
        for (i, &j) in self.set.iter().enumerate() {
            matrix[(i, i)] += self.penalty.ridge[j];
            slope[i] += self.penalty.ridge[j] * self.at[j];
        }
        let step = matrix.cholesky()?.solve(&slope);
        let mut target = self.at.clone();
        self.set.iter().zip(step.iter()).for_each(|(j, s)| target[*j] -= s);
        Some(target)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// `½ xᵀAx − bᵀx`.
    struct Quadratic {
        matrix: DMatrix<f64>,
        linear: DVector<f64>,
    }

    impl Smooth for Quadratic {
        type Error = ();

        fn value(&self, at: &DVector<f64>) -> Result<f64, ()> {
            Ok(0.5 * at.dot(&(&self.matrix * at)) - self.linear.dot(at))
        }

        fn gradient(&self, at: &DVector<f64>) -> Result<(f64, DVector<f64>), ()> {
            Ok((self.value(at)?, &self.matrix * at - &self.linear))
        }

        fn curvature(&self, at: &DVector<f64>, of: &[usize]) -> Result<Evaluation, ()> {
            let (value, gradient) = self.gradient(at)?;
            Ok(Evaluation { value, gradient, hessian: Some(self.matrix.clone()) }.part(of))
        }
    }

    fn problem() -> Quadratic {
        let matrix = DMatrix::from_fn(6, 6, |i, j| 0.6_f64.powi((i as i32 - j as i32).abs()));
        Quadratic { matrix, linear: DVector::from_vec(vec![2.0, -1.0, 0.3, 0.1, -0.6, 1.5]) }
    }

    fn found(penalty: &SeparablePenalty) -> PenalizedMinimum {
        let options = DescentOptions { tolerance: 1e-10, max_iterations: 100, watch: &|_, _| Ok(()) };
        proximal_newton(&problem(), penalty, &DVector::zeros(6), None, &options).unwrap()
    }

    const EVERYWHERE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    /// The conditions of Karush, Kuhn and Tucker: the gradient balances the penalty where a coordinate is not zero, and does
    /// not exceed it where it is.
    #[test]
    fn the_lasso_meets_its_conditions() {
        for strength in [0.05, 0.3, 0.9, 3.0] {
            let lasso = vec![strength, 0.0, strength, 2.0 * strength, strength, strength];
            let penalty = SeparablePenalty { lasso, ridge: vec![0.0; 6], limits: vec![EVERYWHERE; 6] };
            let minimum = found(&penalty);
            assert_eq!(minimum.stop, Stop::Converged);
            for j in 0..6 {
                let (x, slope, a) = (minimum.at[j], minimum.gradient[j], penalty.lasso[j]);
                let gap = if x == 0.0 { (slope.abs() - a).max(0.0) } else { (slope + a * x.signum()).abs() };
                assert!(gap < 1e-9, "{strength} {j}: {gap}");
            }
        }
    }

    #[test]
    fn some_coordinates_alone_solve_their_own_system() {
        let penalty =
            SeparablePenalty { lasso: vec![0.0; 6], ridge: vec![0.0; 6], limits: vec![EVERYWHERE; 6] };
        let options = DescentOptions { tolerance: 1e-10, max_iterations: 100, watch: &|_, _| Ok(()) };
        let of = |some: &[usize]| {
            proximal_newton_of(&problem(), &penalty, &DVector::zeros(6), some, &options).unwrap()
        };
        let found = of(&[0, 3, 5]);
        let Quadratic { matrix, linear } = problem();
        let part = matrix.select_rows(&[0, 3, 5]).select_columns(&[0, 3, 5]);
        let expected = part.lu().solve(&linear.select_rows(&[0, 3, 5])).unwrap();
        for (i, j) in [0, 3, 5].into_iter().enumerate() {
            assert!((found[j] - expected[i]).abs() < 1e-12);
        }
        assert_eq!([found[1], found[2], found[4]], [0.0; 3]);
        assert_eq!(of(&[]), DVector::zeros(6));
    }

    #[test]
    fn ridge_is_a_linear_system_and_bounds_hold() {
        let penalty =
            SeparablePenalty { lasso: vec![0.0; 6], ridge: vec![0.7; 6], limits: vec![EVERYWHERE; 6] };
        let system = problem().matrix + DMatrix::from_diagonal_element(6, 6, 0.7);
        let expected = system.cholesky().unwrap().solve(&problem().linear);
        assert!((found(&penalty).at - expected).amax() < 1e-12);
        let mut limits = vec![EVERYWHERE; 6];
        limits[0] = (0.0, 0.5);
        limits[1] = (0.0, f64::INFINITY);
        let bounded = found(&SeparablePenalty { lasso: vec![0.1; 6], ridge: vec![0.0; 6], limits });
        assert_eq!((bounded.at[0], bounded.at[1]), (0.5, 0.0));
    }
}
