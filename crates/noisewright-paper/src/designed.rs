//! The paper's analytic noise and the exact optimum of a normalized toy model, as functions of ν.

use noisewright::design::{DesignOptions, Ratio};
use noisewright::internal::design::design;
use noisewright::parts::ModelNoise;
use noisewright::{Precision, Result, Target};

use crate::landscape::Landscape;
use crate::plane::Plane;
use crate::toy::Toy;

/// Errors as functions of ν: of the paper's analytic noise, and of the exact optimum.
pub(crate) struct Designed<'a> {
    pub(crate) analytic: Box<dyn Fn(f64) -> f64 + Sync + 'a>,
    pub(crate) exact: Box<dyn Fn(f64) -> Result<f64> + Sync + 'a>,
    /// ν and error of the exact optimum where both are free.
    pub(crate) joint: Box<dyn Fn() -> Result<(f64, f64)> + Sync + 'a>,
}

impl<'a> Designed<'a> {
    pub(crate) fn new(toy: Toy, data: f64) -> Result<Self> {
        if toy == Toy::Correlation {
            let nowhere = (f64::NAN, f64::NAN);
            return Ok(Self {
                analytic: Box::new(move |nu| Plane::new(data).all_noise_error(nu)),
                exact: Box::new(move |nu| Ok(Plane::new(data).optimum(nu).map_or(f64::NAN, |o| o.error))),
                joint: Box::new(move || {
                    Ok(Plane::new(data).joint_optimum().map_or(nowhere, |o| (o.nu, o.error)))
                }),
            });
        }
        let model = toy.model(true)?;
        let noise = ModelNoise::all_noise(&model, &[data], &Target::Mse, &Precision::default())?;
        let landscape = Landscape::for_noise(&model, data, &noise, 1e-10)?;
        let ratios = landscape.ratios_of(&noise);
        let solve =
            move |ratio: Ratio| design(&model, &[data], &DesignOptions { ratio, ..DesignOptions::default() });
        let again = solve.clone();
        Ok(Self {
            analytic: Box::new(move |nu| landscape.error(&ratios, nu)),
            exact: Box::new(move |nu| Ok(solve(Ratio::Fixed(nu))?.error)),
            joint: Box::new(move || again(Ratio::Free).map(|found| (found.nu, found.error))),
        })
    }
}
