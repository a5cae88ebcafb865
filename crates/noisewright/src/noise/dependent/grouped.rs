//! Independent groups of variables that do not stand side by side.

use std::sync::Arc;

use noisewright_numerics::random::Stream;

use super::columns_of;
use crate::{Error, Landmarks, Noise, Result, SavedNoise, View};

/// The variables of a group, and their noise.
pub(crate) type Group = (Vec<usize>, Arc<dyn Noise>);

/// Groups of variables, each with its own noise: a product whose blocks need not be consecutive.
#[derive(Clone)]
pub(crate) struct Grouped {
    groups: Vec<Group>,
    dimension: usize,
}

impl Grouped {
    /// The variables of every group, and its noise; every variable belongs to one.
    ///
    /// # Errors
    /// When a variable is missing or there twice, or a noise has another number of variables than its group.
    pub(crate) fn new(groups: Vec<Group>) -> Result<Self> {
        let mut all: Vec<usize> = groups.iter().flat_map(|(variables, _)| variables).copied().collect();
        all.sort_unstable();
        let dimension = all.len();
        if dimension == 0 || all.iter().enumerate().any(|(j, variable)| j != *variable) {
            return Err(Error::internal("groups of variables that are not all of them, once each"));
        }
        for (variables, noise) in &groups {
            let (expected, found) = (variables.len(), noise.dimension());
            if expected != found {
                return Err(Error::Shape { what: "variables of the noise", expected, found });
            }
        }
        Ok(Self { groups, dimension })
    }
}

impl Noise for Grouped {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        out.fill(0.0);
        let mut own = vec![0.0; out.len()];
        for (variables, noise) in &self.groups {
            let values = columns_of(points, variables);
            noise.log_density(View::new(variables.len(), points.rows(), &values), &mut own);
            out.iter_mut().zip(&own).for_each(|(o, own)| *o += own);
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        for (variables, noise) in &self.groups {
            let mut own = vec![0.0; variables.len() * rows];
            noise.draw(stream, rows, &mut own);
            put(variables, &own, rows, out);
        }
    }

    fn uniforms(&self) -> Option<usize> {
        self.groups.iter().map(|(_, noise)| noise.uniforms()).sum()
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let (rows, mut first) = (cube.rows(), 0);
        for (variables, noise) in &self.groups {
            let used: Vec<usize> = (first..first + noise.uniforms().unwrap_or(0)).collect();
            first += used.len();
            let uniforms = columns_of(cube, &used);
            let mut own = vec![0.0; variables.len() * rows];
            noise.transport(View::new(used.len(), rows, &uniforms), &mut own);
            put(variables, &own, rows, out);
        }
    }

    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        let mut rest = cube;
        self.groups.iter().all(|(variables, noise)| {
            let own: Vec<f64> = variables.iter().map(|j| point[*j]).collect();
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(noise.uniforms().unwrap_or(0));
            rest = others;
            noise.inverse_transport(&own, stream, mine)
        })
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let of = |(variables, noise): &Group| {
            variables.iter().position(|j| *j == axis).map(|own| noise.landmarks(own))
        };
        self.groups.iter().find_map(of).unwrap_or_default()
    }

    fn describe(&self) -> String {
        let parts: Vec<String> = self.groups.iter().map(|(_, noise)| noise.describe()).collect();
        format!("product({})", parts.join(", "))
    }

    fn saved(&self) -> Option<SavedNoise> {
        let group = |(variables, noise): &Group| Some((variables.clone(), noise.saved()?));
        Some(SavedNoise::Grouped(self.groups.iter().map(group).collect::<Option<_>>()?))
    }
}

/// Puts columns of a group where they belong.
fn put(variables: &[usize], own: &[f64], rows: usize, out: &mut [f64]) {
    for (j, column) in variables.iter().zip(own.chunks(rows.max(1))) {
        out[j * rows..(j + 1) * rows].copy_from_slice(column);
    }
}
