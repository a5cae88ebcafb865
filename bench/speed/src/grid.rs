//! Maps of the error over (data parameter, noise parameter, ratio) for the three toy models.

use std::sync::Arc;

use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{Loss, Mixture, MultivariateNormal, Noise, Normal, Population, Precision, Result, Target};
use noisewright_systems::{System, gaussian_correlation, gaussian_mean, gaussian_variance};
use rayon::prelude::*;

use crate::sweep::Sweep;

/// A toy model with the values of its data and noise parameters.
pub(crate) struct Grid {
    pub(crate) name: &'static str,
    system: fn(f64) -> Result<System>,
    noise: fn(f64) -> Result<Arc<dyn Noise>>,
    pub(crate) data: Vec<f64>,
    pub(crate) noises: Vec<f64>,
    precision: Precision,
}

/// How many of the noises a population is made for.
const SPREAD: usize = 9;

/// The relative accuracy that two-dimensional populations are built to.
const PLANE: f64 = 1e-8;

/// The Gaussian mean, variance and correlation.
pub(crate) fn grids() -> [Grid; 3] {
    let line = Precision::default();
    [
        Grid {
            name: "mean",
            system: |m| gaussian_mean(m, true),
            noise: |m| Ok(Arc::new(Normal::with_variance(m, 1.0)?)),
            data: spaced(-1.0, 1.0, 21),
            noises: spaced(-4.0, 4.1, 82),
            precision: line.clone(),
        },
        Grid {
            name: "variance",
            system: |v| gaussian_variance(v, true),
            noise: |v| Ok(Arc::new(Normal::with_variance(0.0, v)?)),
            data: spaced(0.5, 2.5, 21),
            noises: spaced(0.2, 8.3, 82),
            precision: line.clone(),
        },
        Grid {
            name: "correlation",
            system: |r| gaussian_correlation(r, true),
            noise: |r| Ok(Arc::new(MultivariateNormal::new(&[0.0, 0.0], &[1.0, r, r, 1.0])?)),
            data: spaced(-0.75, 0.75, 31),
            noises: spaced(-0.8, 0.8, 81),
            precision: Precision { relative: PLANE, ..line },
        },
    ]
}

fn spaced(from: f64, to: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| from + (to - from) * i as f64 / (count - 1) as f64).collect()
}

/// ν of 41 noise proportions from 0.01 to 0.99.
pub(crate) fn ratios() -> Vec<f64> {
    spaced(0.01, 0.99, 41).into_iter().map(|share| share / (1.0 - share)).collect()
}

impl Grid {
    /// Number of designs on the map.
    pub(crate) fn size(&self) -> usize {
        self.data.len() * self.noises.len() * ratios().len()
    }

    /// Errors over data parameters, noise parameters and ratios, the last fastest.
    pub(crate) fn errors(&self) -> Result<Vec<f64>> {
        let nus = ratios();
        let noises: Vec<Arc<dyn Noise>> =
            self.noises.iter().map(|n| (self.noise)(*n)).collect::<Result<_>>()?;
        // The population of a data parameter serves all noises: it is made for some of them at once.
        let spread = (0..SPREAD).map(|i| &noises[i * (noises.len() - 1) / (SPREAD - 1)]);
        let share = 1.0 / SPREAD as f64;
        let noises_together = Mixture::of_shared(spread.map(|noise| (share, noise.clone())).collect())?;
        let of_data = |value: &f64| -> Result<Vec<f64>> {
            let system = (self.system)(*value)?;
            let contrast = Contrast { noise: &noises_together, nu: 1.0, loss: &Loss::Js };
            let population =
                Population::for_contrast(&system.model, &system.parameters, contrast, &self.precision)?;
            let sweep = Sweep::new(&population, &Target::Mse)?;
            let rows = noises
                .par_iter()
                .map(|noise| sweep.errors(&population.log_noise(&**noise)?, &nus))
                .collect::<Result<Vec<_>>>()?;
            Ok(rows.concat())
        };
        Ok(self.data.par_iter().map(of_data).collect::<Result<Vec<_>>>()?.concat())
    }

    /// The largest relative difference of every `stride`-th value to the error from quadrature made for it.
    pub(crate) fn largest_difference(&self, errors: &[f64], stride: usize) -> Result<f64> {
        let nus = ratios();
        let mut largest = 0.0f64;
        for index in (0..errors.len()).step_by(stride) {
            let (pair, nu) = (index / nus.len(), nus[index % nus.len()]);
            let system = (self.system)(self.data[pair / self.noises.len()])?;
            let noise = (self.noise)(self.noises[pair % self.noises.len()])?;
            let contrast = Contrast { noise: &*noise, nu, loss: &Loss::Js };
            let precision = Precision::default();
            let exact =
                asymptotic_error(&system.model, &system.parameters, contrast, &Target::Mse, &precision)?;
            largest = largest.max((errors[index] / exact.error - 1.0).abs());
        }
        Ok(largest)
    }
}
