//! The value and the score of a model at a batch of points, inside its domains.

use noisewright_numerics::kernels::any_nan;

use super::{Model, Parameter};
use crate::{Domain, Error, Quantity, Result, View};

impl Model {
    /// The energy and, where asked for, its score, as [`Energy::evaluate`](crate::Energy::evaluate) gives them inside the
    /// domains; outside any variable's domain the value is −∞ and the score zero. (On a sphere, points are taken to be
    /// unit vectors.)
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let (x, mut u, mut score) = ([0.0, 2.0], [0.0; 2], [0.0; 2]);
    /// model.evaluate(&[3.0], View::new(1, 2, &x), &mut u, Some(&mut score))?;
    /// assert_eq!((u, score), ([0.0, 4.0], [0.0, 2.0])); // without the constant
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Energy::evaluate`](crate::Energy::evaluate), [`Error::Shape`] when the parameters, columns or buffers are not
    /// as many as the model needs, and [`Error::NotANumber`] where the value or a score inside the domain is none.
    pub fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        mut score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.check_run()?;
        self.check_shapes(parameters, points, value.len(), score.as_deref().map(<[f64]>::len))?;
        if self.own_energy {
            // What a function of the caller's leaves unwritten must not pass for a number.
            value.fill(f64::NAN);
            score.iter_mut().for_each(|score| score.fill(f64::NAN));
        }
        self.energy.evaluate(parameters, points, value, score.as_deref_mut())?;
        if !self.space.is_sphere() {
            self.clear_outside(points, value, score.as_deref_mut());
        }
        if any_nan(value) {
            if !self.space.is_sphere() {
                self.leave_out_ends(points, value, score.as_deref_mut());
            }
            if let Some(row) = value.iter().position(|v| v.is_nan()) {
                let point = self.describe(parameters, points, row);
                return Err(Error::NotANumber { of: Quantity::Value, point });
            }
        }
        match score.filter(|_| self.own_energy) {
            Some(score) => self.check_finite_score(parameters, points, value, score),
            None => Ok(()),
        }
    }

    fn check_shapes(
        &self,
        parameters: &[f64],
        points: View<'_>,
        values: usize,
        scores: Option<usize>,
    ) -> Result<()> {
        let (count, rows) = (self.parameters.len(), points.rows());
        let check = |what: &'static str, expected: usize, found: usize| {
            if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
        };
        check("parameter values", count, parameters.len())?;
        check("columns of points", self.space.dimension(), points.columns())?;
        check("places for the values", rows, values)?;
        scores.map_or(Ok(()), |scores| check("places for the scores", count * rows, scores))
    }

    /// The score must be a number wherever there is a density.
    fn check_finite_score(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &[f64],
        score: &mut [f64],
    ) -> Result<()> {
        let rows = points.rows();
        for (column, Parameter { name, .. }) in score.chunks_mut(rows.max(1)).zip(&self.parameters) {
            for (row, s) in column.iter_mut().enumerate().filter(|(_, s)| !s.is_finite()) {
                if value[row].is_finite() {
                    let point = format!("{} (that of `{name}`)", self.describe(parameters, points, row));
                    return Err(Error::NotANumber { of: Quantity::Score, point });
                }
                *s = 0.0;
            }
        }
        Ok(())
    }

    /// Makes the value −∞ and the score zero at every point outside a variable's domain.
    fn clear_outside(&self, points: View<'_>, value: &mut [f64], mut score: Option<&mut [f64]>) {
        let outside = |(j, domain): &(usize, &Domain)| !domain.contains_all(points.column(*j));
        for (j, domain) in self.space.domains().iter().enumerate().filter(outside) {
            for (i, _) in points.column(j).iter().enumerate().filter(|(_, x)| !domain.contains(**x)) {
                clear(i, value, score.as_deref_mut());
            }
        }
    }

    /// An end of an interval has no measure: where the log-density is not a number there, as −∞ + ∞ is none, it is left out.
    fn leave_out_ends(&self, points: View<'_>, value: &mut [f64], mut score: Option<&mut [f64]>) {
        for (j, domain) in self.space.domains().iter().enumerate().filter(|(_, d)| !d.is_discrete()) {
            let (lower, upper) = domain.bounds();
            for (i, x) in points.column(j).iter().enumerate() {
                if value[i].is_nan() && (*x == lower || *x == upper) {
                    clear(i, value, score.as_deref_mut());
                }
            }
        }
    }

    /// A score that is not a number at a point that has a density.
    pub(crate) fn not_a_score(&self, parameters: &[f64], points: View<'_>, row: usize) -> Error {
        Error::NotANumber { of: Quantity::Score, point: self.describe(parameters, points, row) }
    }

    /// `x = 1, a = 2`: a point and the parameters, by name.
    pub(crate) fn describe(&self, parameters: &[f64], points: View<'_>, row: usize) -> String {
        let variables = self.space.names().iter().enumerate().map(|(j, name)| (name, points.get(row, j)));
        let parameters = self.parameters.iter().map(|p| &p.name).zip(parameters.iter().copied());
        variables.chain(parameters).map(|(name, x)| format!("{name} = {x}")).collect::<Vec<_>>().join(", ")
    }

    /// `log Z(θ)` where it is known, with its gradient; zero for a formula that integrates to one.
    ///
    /// `None` where there is no closed form, θ is outside of where it holds, or the slices have not one entry per parameter.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let gaussian = Model::from_family("gaussian", &["x"], &FamilyOptions::default(), true)?;
    /// let log_z = gaussian.log_normalizer(&[0.0, 1.0], &mut [0.0; 2]); // of exp(−x²/2)
    /// assert!((log_z.unwrap() - 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let count = self.parameters.len();
        if parameters.len() != count || gradient.len() != count {
            return None;
        }
        self.energy.log_normalizer(parameters, gradient)
    }
}

/// No density at a row: the value −∞ and the score zero.
fn clear(row: usize, value: &mut [f64], score: Option<&mut [f64]>) {
    value[row] = f64::NEG_INFINITY;
    if let Some(score) = score {
        score.iter_mut().skip(row).step_by(value.len()).for_each(|s| *s = 0.0);
    }
}
