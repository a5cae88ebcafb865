//! Conditional models p(y | z): some of the variables are covariates, which the density is given, not of (MATH §11).

use std::collections::HashMap;
use std::sync::Arc;

use super::Model;
use crate::energy::GivenEnergy;
use crate::{Domain, Error, Result, Space, View};

impl Model {
    /// The same model as one of its other variables given these, which are the last of its space: `p(y | z) ∝ exp u(y, z; θ)`,
    /// with one constant for every z.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let space = Space::real(&["y", "z"])?;
    /// let parameters = vec![Parameter::new("a", 0.0), Parameter::new("b", 0.0)];
    /// let model = Model::from_formula("-(y - a - b*z)^2/2", space, parameters, false)?.with_covariates(&["z"])?;
    /// assert_eq!(model.coordinates(), ["a", "b"]);
    /// // y is 1 + 2 z and something that sums to nothing and is orthogonal to z.
    /// let rows = [[1.5, 0.0], [2.5, 1.0], [4.5, 2.0], [7.5, 3.0]];
    /// let fit = model.fit(&Points::from_rows(&["y", "z"], &rows)?).exact().run()?;
    /// assert!((fit.get("a")?.estimate - 1.0).abs() < 1e-6 && (fit.get("b")?.estimate - 2.0).abs() < 1e-6);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When these are not the last variables, or all of them, or have a domain other than the real line.
    pub fn with_covariates<S: AsRef<str>>(self, names: &[S]) -> Result<Self> {
        const FIELD: &str = "covariates";
        if names.is_empty() {
            return Ok(self);
        }
        if self.constraint.is_some() {
            return Err(Error::field(
                FIELD,
                "must be said before parameters are held fixed or tied together",
            ));
        }
        if self.space.is_sphere() {
            let reason = "cannot stand beside a sphere: write the direction as an angle on the circle";
            return Err(Error::field(FIELD, reason));
        }
        let own = self.space.dimension().checked_sub(names.len()).filter(|own| *own > 0);
        let Some(own) = own else {
            return Err(Error::field(FIELD, "are all there is; the density must be one of some variable"));
        };
        let last = self.space.names()[own..].iter().zip(names).all(|(known, name)| known == name.as_ref());
        if !last {
            let reason =
                format!("must be the last variables, in order: {}", self.space.names()[own..].join(", "));
            return Err(Error::field(FIELD, reason));
        }
        if let Some(at) = (own..self.space.dimension()).find(|j| self.space.domains()[*j] != Domain::Real) {
            let reason = format!("take any number, so `{}` has no domain", self.space.names()[at]);
            return Err(Error::field(FIELD, reason));
        }
        Ok(Self { covariates: names.len(), ..self })
    }

    /// Names of the covariates: none for the model of a density.
    #[must_use]
    pub fn covariates(&self) -> &[String] {
        &self.space.names()[self.response_dimension()..]
    }

    /// Whether it is a density given covariates.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.covariates > 0
    }

    /// Number of variables that the density is of: all but the covariates.
    #[must_use]
    pub fn response_dimension(&self) -> usize {
        self.space.dimension() - self.covariates
    }

    /// The space of the variables that the density is of: all but the covariates.
    ///
    /// # Errors
    /// None that a checked space could have.
    pub fn response_space(&self) -> Result<Space> {
        if !self.is_conditional() {
            return Ok(self.space.clone());
        }
        let variables = self.space.names().iter().zip(self.space.domains().iter().cloned());
        Space::product(&variables.take(self.response_dimension()).collect::<Vec<_>>())
    }

    /// The density at given values of the covariates: a model of the other variables, with the same parameters.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let space = Space::real(&["y", "z"])?;
    /// let model = Model::from_formula("-(y - b*z)^2/2", space, vec![Parameter::new("b", 2.0)], false)?;
    /// let there = model.with_covariates(&["z"])?.given(&[3.0])?;
    /// let mut value = [0.0];
    /// there.evaluate(&[2.0], View::new(1, 1, &[5.0]), &mut value, None)?;
    /// assert_eq!((there.space().names(), value), (&["y".to_owned()][..], [-0.5]));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are not as many values as covariates, or one is not a finite number.
    pub fn given(&self, covariates: &[f64]) -> Result<Self> {
        let (expected, found) = (self.covariates, covariates.len());
        if expected != found {
            return Err(Error::Shape { what: "values of covariates", expected, found });
        }
        if let Some(j) = covariates.iter().position(|z| !z.is_finite()) {
            let name = &self.covariates()[j];
            let reason =
                format!("has the value {} for `{name}`, which must be a finite number", covariates[j]);
            return Err(Error::option("given", reason));
        }
        let energy = GivenEnergy::new(Arc::clone(&self.energy), covariates.to_vec());
        let space = self.response_space()?;
        Ok(Self { energy: Arc::new(energy), space, covariates: 0, constraint: None, ..self.clone() })
    }

    /// Values of the covariates in one row of points, whose last columns they are.
    pub(crate) fn covariates_in(&self, points: View<'_>, row: usize) -> Vec<f64> {
        (self.response_dimension()..self.space.dimension()).map(|j| points.get(row, j)).collect()
    }

    /// The distinct values of the covariates in the order in which they are met, and for every row which of them it has.
    pub(crate) fn distinct_covariates(&self, points: View<'_>) -> (Vec<Vec<f64>>, Vec<usize>) {
        let (mut known, mut values) = (HashMap::new(), Vec::new());
        let mut of_row = Vec::with_capacity(points.rows());
        for row in 0..points.rows() {
            let here = self.covariates_in(points, row);
            // Zero is one value, whatever its sign.
            let key: Vec<u64> = here.iter().map(|z| (z + 0.0).to_bits()).collect();
            let at = *known.entry(key).or_insert_with(|| {
                values.push(here);
                values.len() - 1
            });
            of_row.push(at);
        }
        (values, of_row)
    }

    /// Refuses a conditional model where a density is needed that has one constant.
    pub(crate) fn refuse_covariates(&self) -> Result<()> {
        if !self.is_conditional() {
            return Ok(());
        }
        let reason = format!(
            "make this a density given {}: it can be fitted, and its density and draws be had at values of them, but no \
             more",
            self.covariates().join(", ")
        );
        Err(Error::field("covariates", reason))
    }
}
