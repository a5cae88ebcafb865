//! A model: an energy, the space of its points, its parameters, and whether its constant is known.

use std::sync::Arc;

use crate::{Energy, Error, Result, Space};

/// A parameter with its start value and bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name, as in the energy.
    pub name: String,
    /// Where fits start, and the default of `--at`.
    pub start: f64,
    /// Lower bound, −∞ where there is none.
    pub lower: f64,
    /// Upper bound, ∞ where there is none.
    pub upper: f64,
}

impl Parameter {
    /// A parameter without bounds.
    #[must_use]
    pub fn new(name: impl Into<String>, start: f64) -> Self {
        Self { name: name.into(), start, lower: f64::NEG_INFINITY, upper: f64::INFINITY }
    }
}

/// An energy on a space, normalized (β = θ) or with a free constant (β = (θ, c)).
#[derive(Clone)]
pub struct Model {
    energy: Arc<dyn Energy>,
    space: Space,
    parameters: Vec<Parameter>,
    normalized: bool,
}

impl Model {
    /// A model with a free constant: `log p = u(x; θ) − c`.
    ///
    /// # Errors
    /// When the energy and the space disagree on the number of variables, or the parameters' names and
    /// order are not the energy's.
    pub fn new(energy: Arc<dyn Energy>, space: Space, parameters: Vec<Parameter>) -> Result<Self> {
        if energy.dimension() != space.dimension() {
            return Err(Error::Shape {
                what: "variables",
                expected: energy.dimension(),
                found: space.dimension(),
            });
        }
        let names = energy.parameters();
        if names.len() != parameters.len() || names.iter().zip(&parameters).any(|(n, p)| *n != p.name) {
            return Err(Error::Model { reason: format!("its parameters are {}", names.join(", ")) });
        }
        Ok(Self { energy, space, parameters, normalized: false })
    }

    /// The same model with its constant known: `log p = u(x; θ) − log Z(θ)`.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        self.normalized = true;
        self
    }

    /// Whether the constant is known (β = θ) rather than estimated (β = (θ, c)).
    #[must_use]
    pub fn is_normalized(&self) -> bool {
        self.normalized
    }

    /// The energy.
    #[must_use]
    pub fn energy(&self) -> &dyn Energy {
        self.energy.as_ref()
    }

    /// The space of the points.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The parameters θ, in order (without the constant).
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The start values of the parameters.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.start).collect()
    }
}
