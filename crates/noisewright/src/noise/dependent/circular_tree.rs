//! Dependent angles: every one given one other, along a tree, by the difference or the sum of the two.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use noisewright_numerics::chart::wrapped;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{ln_bessel_i_scaled, normal_quantile};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::margin::Margin;
use super::{add_margins, check_margins, effective_rows, is_found, saved_margins};
use crate::noise::quiet::inside;
use crate::noise::sphere::concentration_of_length;
use crate::{Landmarks, Mixture, Noise, Result, SavedNoise, Scalar, View, VonMises};

/// Rows from which the tree is found, at most.
const STRUCTURE_ROWS: usize = 1 << 13;

/// Angles with distributions of their own, each depending on at most one other, its parent.
///
/// On the scale on which an angle is uniform, `α = 2πF(θ) − π`, the difference `α_child − α_parent` (or their sum) has a von
/// Mises distribution mixed with a uniform one: a circula (Jones, Pewsey and Kato 2015), whose margins are uniform whatever
/// binds them. Of all trees the one with the largest sum of `κA(κ) − ln I₀(κ)` is taken, the mutual information of such a
/// pair (Chow and Liu 1968).
#[derive(Clone)]
pub(crate) struct CircularTree {
    margins: Vec<Margin>,
    /// Variables in an order in which parents come before their children.
    order: Vec<usize>,
    branches: Vec<Option<Branch>>,
}

/// How an angle depends on its parent.
#[derive(Clone)]
struct Branch {
    parent: usize,
    /// Whether the sum rather than the difference is what varies little.
    sum: bool,
    binding: Margin,
}

/// A branch as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedBranch {
    parent: usize,
    sum: bool,
    binding: Box<SavedNoise>,
}

/// The resultant of differences or sums of two uniform angles.
#[derive(Clone, Copy)]
struct Resultant {
    sum: bool,
    cosine: f64,
    sine: f64,
}

impl Resultant {
    /// That of the sums or of the differences, whichever is longer.
    fn of(parent: &[f64], child: &[f64], weights: Option<&[f64]>, stride: usize) -> Self {
        let mut found = [(0.0, 0.0); 2];
        let mut total = 0.0;
        for row in (0..parent.len()).step_by(stride) {
            let weight = weights.map_or(1.0, |w| w[row]);
            total += weight;
            for (sum, (cosine, sine)) in [false, true].into_iter().zip(&mut found) {
                let angle = between(child[row], parent[row], sum);
                *cosine += weight * angle.cos();
                *sine += weight * angle.sin();
            }
        }
        let [difference, sum] = found.map(|(c, s)| (c / total, s / total));
        let longer = sum.0.hypot(sum.1) > difference.0.hypot(difference.1);
        let (cosine, sine) = if longer { sum } else { difference };
        Self { sum: longer, cosine, sine }
    }

    fn concentration(self) -> Result<f64> {
        concentration_of_length("auto", 2, self.cosine.hypot(self.sine).min(1.0 - 1e-12))
    }

    /// The mutual information of a pair that a von Mises distribution of this resultant binds.
    fn information(self) -> f64 {
        let length = self.cosine.hypot(self.sine);
        let Ok(kappa) = self.concentration() else { return 0.0 };
        // ln I₀(κ) = κ + ln(e^{−κ} I₀(κ)).
        kappa * length - kappa - ln_bessel_i_scaled(0.0, kappa)
    }
}

fn between(child: f64, parent: f64, sum: bool) -> f64 {
    if sum { child + parent } else { child - parent }
}

impl CircularTree {
    /// The tree of angles with these margins, the concentrations divided by `inflation` and mixed with the share `floor` of the
    /// uniform distribution; `None` where no two angles depend on one another by more than chance.
    pub(crate) fn fit(
        margins: Vec<Margin>,
        (inflation, floor): (f64, f64),
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Option<Self>> {
        check_margins(&margins, points.columns())?;
        let (d, rows) = (margins.len(), points.rows());
        let uniform: Vec<Vec<f64>> =
            (0..d).map(|j| points.column(j).iter().map(|x| to_uniform(&margins[j], *x)).collect()).collect();
        let stride = rows.div_ceil(STRUCTURE_ROWS).max(1);
        let effective = effective_rows(rows, weights);
        let pairs = d * d.saturating_sub(1) / 2;
        let information = |a: usize, b: usize| {
            let found = Resultant::of(&uniform[a], &uniform[b], weights, stride).information();
            if is_found(effective / stride as f64 * found, effective, pairs) { found } else { 0.0 }
        };
        let parents = crate::noise::tree::parents_by(d, information);
        let branch = |(j, parent): (usize, &Option<(usize, f64)>)| -> Result<Option<Branch>> {
            let Some((parent, _)) = parent.filter(|(_, information)| *information > 0.0) else {
                return Ok(None);
            };
            let found = Resultant::of(&uniform[parent], &uniform[j], weights, 1);
            let wide = VonMises::new(found.sine.atan2(found.cosine), found.concentration()? / inflation)?;
            let parts: Vec<(f64, Arc<dyn Scalar>)> =
                vec![(1.0 - floor, Arc::new(wide)), (floor, Arc::new(VonMises::new(0.0, 0.0)?))];
            let binding = Margin::new(Arc::new(Mixture::<dyn Scalar>::of_shared(parts)?));
            Ok(Some(Branch { parent, sum: found.sum, binding }))
        };
        let branches: Vec<Option<Branch>> = parents.iter().enumerate().map(branch).collect::<Result<_>>()?;
        Ok(branches.iter().any(Option::is_some).then(|| Self::of(margins, branches)))
    }

    fn of(margins: Vec<Margin>, branches: Vec<Option<Branch>>) -> Self {
        let parents: Vec<Option<usize>> =
            branches.iter().map(|branch| branch.as_ref().map(|branch| branch.parent)).collect();
        Self { margins, order: crate::noise::tree::parents_first(&parents), branches }
    }

    /// The tree again from plain data.
    ///
    /// # Errors
    /// When margins and branches are not as many, or branches do not make a tree.
    pub(crate) fn from_saved(
        margins: Vec<Margin>,
        branches: &[Option<SavedBranch>],
        build: impl Fn(&SavedNoise) -> Result<Margin>,
    ) -> Result<Self> {
        check_margins(&margins, branches.len())?;
        let branch = |saved: &Option<SavedBranch>| -> Result<Option<Branch>> {
            let Some(SavedBranch { parent, sum, binding }) = saved else { return Ok(None) };
            Ok(Some(Branch { parent: *parent, sum: *sum, binding: build(binding)? }))
        };
        let count = branches.len();
        let built = Self::of(margins, branches.iter().map(branch).collect::<Result<_>>()?);
        if built.order.len() != count {
            let found = built.order.len();
            return Err(crate::Error::Shape { what: "angles in the tree", expected: count, found });
        }
        Ok(built)
    }

    /// The angle of a variable, given its uniform one.
    fn angle(&self, variable: usize, uniform: f64) -> f64 {
        self.margins[variable].value(normal_quantile(inside((wrapped(uniform) + PI) / TAU)))
    }

    /// An angle on the uniform scale from that of its parent and what lies between the two.
    fn follow(branch: &Branch, parent: f64, binding: f64) -> f64 {
        wrapped(if branch.sum { binding - parent } else { binding + parent })
    }
}

/// An angle on the scale on which it is uniform, from −π to π.
fn to_uniform(margin: &Margin, x: f64) -> f64 {
    TAU * margin.own().cdf(wrapped(x)) - PI
}

impl Noise for CircularTree {
    fn dimension(&self) -> usize {
        self.margins.len()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        out.fill(0.0);
        add_margins(&self.margins, points, out);
        let uniform: Vec<Vec<f64>> = (0..self.dimension())
            .map(|j| points.column(j).iter().map(|x| to_uniform(&self.margins[j], *x)).collect())
            .collect();
        let mut own = vec![0.0; out.len()];
        for (j, branch) in self.branches.iter().enumerate() {
            let Some(branch) = branch else { continue };
            let pairs = uniform[j].iter().zip(&uniform[branch.parent]);
            let angles: Vec<f64> =
                pairs.map(|(child, parent)| wrapped(between(*child, *parent, branch.sum))).collect();
            branch.binding.own().log_density_of(&angles, &mut own);
            out.iter_mut().zip(&own).for_each(|(o, own)| *o += own + TAU.ln());
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let mut uniform = vec![0.0; self.dimension()];
        for row in 0..rows {
            for &j in &self.order {
                uniform[j] = match &self.branches[j] {
                    None => TAU * stream.random::<f64>() - PI,
                    Some(branch) => {
                        Self::follow(branch, uniform[branch.parent], branch.binding.own().draw_one(stream))
                    }
                };
                out[j * rows + row] = self.angle(j, uniform[j]);
            }
        }
    }

    fn uniforms(&self) -> Option<usize> {
        Some(self.dimension())
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let rows = cube.rows();
        let mut uniform = vec![0.0; self.dimension()];
        for row in 0..rows {
            for (k, &j) in self.order.iter().enumerate() {
                let u = cube.get(row, k);
                uniform[j] = match &self.branches[j] {
                    None => TAU * u - PI,
                    Some(branch) => {
                        Self::follow(branch, uniform[branch.parent], branch.binding.value(normal_quantile(u)))
                    }
                };
                out[j * rows + row] = self.angle(j, uniform[j]);
            }
        }
    }

    fn inverse_transport(&self, point: &[f64], _: &mut Stream, cube: &mut [f64]) -> bool {
        let uniform: Vec<f64> =
            self.margins.iter().zip(point).map(|(margin, x)| to_uniform(margin, *x)).collect();
        for (u, &j) in cube.iter_mut().zip(&self.order) {
            *u = inside(match &self.branches[j] {
                None => (uniform[j] + PI) / TAU,
                Some(branch) => {
                    branch.binding.own().cdf(wrapped(between(uniform[j], uniform[branch.parent], branch.sum)))
                }
            });
        }
        true
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        self.margins[axis].own().landmarks(0)
    }

    fn describe(&self) -> String {
        format!("{} dependent angles fitted to the data along a tree", self.dimension())
    }

    fn saved(&self) -> Option<SavedNoise> {
        let branch = |branch: &Option<Branch>| match branch {
            None => Some(None),
            Some(Branch { parent, sum, binding }) => {
                let binding = Box::new(binding.own().saved()?);
                Some(Some(SavedBranch { parent: *parent, sum: *sum, binding }))
            }
        };
        Some(SavedNoise::CircularTree {
            margins: saved_margins(&self.margins)?,
            branches: self.branches.iter().map(branch).collect::<Option<_>>()?,
        })
    }
}
