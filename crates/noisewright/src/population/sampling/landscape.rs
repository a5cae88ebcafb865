//! The functions that are sampled: the model's density, and its products with the weights w and v of a contrast.

use noisewright_numerics::parallel::{map, try_map};
use noisewright_numerics::special::softplus;

use super::coordinates::Coordinates;
use crate::population::{Contrast, log_ratio};
use crate::{Error, Model, Result, View};

/// Rows that are evaluated together.
const BLOCK: usize = 4096;

/// Beyond this, or closer to zero than its inverse, a formula may overflow to nonsense where its density is nil.
const FAR: f64 = 1e60;

/// A model at a parameter value, with the contrast it is sampled for.
#[derive(Clone, Copy)]
pub(in crate::population) struct Landscape<'a> {
    pub(in crate::population) model: &'a Model,
    pub(in crate::population) parameters: &'a [f64],
    pub(in crate::population) contrast: Option<Contrast<'a>>,
}

/// Which function of the landscape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::population) enum Height {
    /// p_d.
    Density,
    /// w p_d.
    Weighted,
    /// v p_d, `v = w²(1 + r)`.
    Variance,
    /// p_d² / p_n.
    DataOverNoise,
    /// p_n² / p_d.
    NoiseOverData,
}

impl<'a> Landscape<'a> {
    pub(in crate::population) fn coordinates(&self) -> Coordinates<'a> {
        Coordinates::new(self.model.space())
    }

    /// `u(x)` of column-major points; far out, what is not a number counts as no density.
    pub(super) fn energy(&self, x: &[f64], rows: usize) -> Result<Vec<f64>> {
        let view = View::new(self.model.space().dimension(), rows, x);
        let part = |first: usize| self.block(view.slice(first..rows.min(first + BLOCK)));
        Ok(try_map((0..rows).step_by(BLOCK), part)?.concat())
    }

    fn block(&self, view: View<'_>) -> Result<Vec<f64>> {
        let mut out = vec![0.0; view.rows()];
        match self.model.evaluate(self.parameters, view, &mut out, None) {
            Err(Error::NotANumber { .. }) => {
                for (i, o) in out.iter_mut().enumerate() {
                    let row = view.slice(i..i + 1);
                    let far = (0..row.columns()).any(|j| !(1.0 / FAR..FAR).contains(&row.get(0, j).abs()));
                    match self.model.evaluate(self.parameters, row, std::slice::from_mut(o), None) {
                        Err(Error::NotANumber { .. }) if far => *o = f64::NEG_INFINITY,
                        result => result?,
                    }
                }
            }
            result => result?,
        }
        Ok(out)
    }

    /// `log p_n` at the points, where there is a noise.
    pub(super) fn log_noise(&self, x: &[f64], rows: usize) -> Option<Vec<f64>> {
        let noise = self.contrast?.noise;
        let view = View::new(self.model.space().dimension(), rows, x);
        let part = |first: usize| {
            let block = view.slice(first..rows.min(first + BLOCK));
            let mut out = vec![0.0; block.rows()];
            noise.log_density(block, &mut out);
            out
        };
        Some(map((0..rows).step_by(BLOCK), part).concat())
    }

    /// One of the functions from the energy, log Z and the noise's log-density at a point.
    pub(super) fn height(&self, which: Height, energy: f64, log_z: f64, log_noise: f64) -> f64 {
        if energy == f64::NEG_INFINITY && which != Height::NoiseOverData {
            return energy;
        }
        let Some(contrast) = self.contrast else { return energy };
        let data = energy - log_z;
        let g = log_ratio(data, log_noise, contrast.nu.ln());
        match which {
            Height::Density => energy,
            Height::Weighted => energy + contrast.loss.log_weight(g),
            Height::Variance => energy + 2.0 * contrast.loss.log_weight(g) + softplus(g),
            Height::DataOverNoise => 2.0 * data - log_noise,
            Height::NoiseOverData if log_noise == f64::NEG_INFINITY => log_noise,
            Height::NoiseOverData => 2.0 * log_noise - data,
        }
    }

    /// One of the functions in sampling coordinates, with their Jacobian.
    pub(super) fn in_coordinates(
        &self,
        which: Height,
        z: &[f64],
        rows: usize,
        log_z: f64,
    ) -> Result<Vec<f64>> {
        let mut values = self.at_points(which, &self.coordinates().points(z, rows), rows, log_z)?;
        let jacobian = self.coordinates().log_jacobian(z, rows);
        values.iter_mut().zip(jacobian).for_each(|(value, jacobian)| *value += jacobian);
        Ok(values)
    }

    /// One of the functions at column-major points.
    pub(super) fn at_points(&self, which: Height, x: &[f64], rows: usize, log_z: f64) -> Result<Vec<f64>> {
        let energy = self.energy(x, rows)?;
        let log_noise = if which == Height::Density { None } else { self.log_noise(x, rows) };
        let value = |i: usize| {
            let noise = log_noise.as_ref().map_or(f64::NEG_INFINITY, |n| n[i]);
            self.height(which, energy[i], log_z, noise)
        };
        Ok((0..rows).map(value).collect())
    }
}
