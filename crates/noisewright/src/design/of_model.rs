//! The exact optimal design of a model: what [`Model::design`](crate::Model::design) runs.

use super::{Design, DesignOptions, Search};
use crate::{Model, Result};

/// The exact optimal noise of a model, true at `parameters` (MATH §6), at a given ν or jointly with it.
///
/// ```
/// use noisewright::Model;
/// use noisewright::design::{DesignOptions, Ratio};
/// use noisewright::internal::design::design;
/// let model = Model::from_toml(
///     "variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0",
/// )?;
/// let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
/// let best = design(&model, &[0.0], &options)?;
/// assert!((best.error - 3.50813).abs() < 1e-5); // p_n = p_d gives 4
/// assert!(best.gap().unwrap() < 1e-6);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the model has no population at these parameters, its scores are collinear, or ν or a price is not a
/// positive number.
pub fn design(model: &Model, parameters: &[f64], options: &DesignOptions) -> Result<Design> {
    let options = &options.resolved(model, parameters)?;
    options.conclude(Search::on_model(model, parameters, options)?.run())
}
