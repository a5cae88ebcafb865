//! A noise for skewed draws: every variable mapped to a normal one, then a normal or Student distribution of all.

use noisewright_numerics::random::Stream;

use super::elliptical::Elliptical;
use super::sinh_arcsinh::SinhArcsinh;
use crate::{Landmarks, Noise, Result, View};

/// Rows that are mapped at a time, so that they stay in the cache.
const BLOCK: usize = 256;

/// `warped`: `u_j = T_j(x_j)` with sinh-arcsinh maps T, and u multivariate normal or Student.
///
/// # Formula
/// `ln p(x) = ln p_u(T(x)) + Σ_j ln T_j′(x_j)`, an exact density, drawn from exactly by `x_j = T_j⁻¹(u_j)`.
#[derive(Clone, Debug)]
pub(crate) struct Warped {
    marginals: Vec<SinhArcsinh>,
    base: Elliptical,
}

impl Warped {
    /// By maximum likelihood, variable by variable, then the joint distribution of the mapped variables, of whose correlations
    /// only what is more than chance is taken.
    ///
    /// # Errors
    /// When there are too few points, a variable does not vary, or one follows from the others.
    pub(crate) fn fit(points: View<'_>) -> Result<Self> {
        let (d, rows) = (points.columns(), points.rows());
        let marginals = (0..d).map(|j| SinhArcsinh::fit(points.column(j))).collect::<Result<Vec<_>>>()?;
        let (mut mapped, mut slopes) = (vec![0.0; d * rows], vec![0.0; rows]);
        for (j, map) in marginals.iter().enumerate() {
            map.forward_all(points.column(j), &mut mapped[j * rows..(j + 1) * rows], &mut slopes);
        }
        let base = Elliptical::fit_shrunk("warped", View::new(d, rows, &mapped))?;
        Ok(Self { marginals, base })
    }

    /// Writes the mirror image of every point: reflected in the centre of the mapped variables, where the density of
    /// the mapped variables is the same.
    pub(crate) fn reflect(&self, points: View<'_>, out: &mut [f64]) {
        let rows = points.rows();
        for (j, (map, center)) in self.marginals.iter().zip(self.base.location()).enumerate() {
            let column = &mut out[j * rows..(j + 1) * rows];
            for (o, x) in column.iter_mut().zip(points.column(j)) {
                *o = map.inverse(2.0 * center - map.forward(*x));
            }
        }
    }
}

impl Noise for Warped {
    fn dimension(&self) -> usize {
        self.marginals.len()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        let d = self.dimension();
        let mut mapped = vec![0.0; d * BLOCK.min(points.rows())];
        let mut slopes = [0.0; BLOCK];
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let rows = out.len();
            let part = points.slice(block * BLOCK..block * BLOCK + rows);
            let slopes = &mut slopes[..rows];
            slopes.fill(0.0);
            for ((j, map), u) in self.marginals.iter().enumerate().zip(mapped.chunks_mut(rows)) {
                map.forward_all(part.column(j), u, slopes);
            }
            self.base.log_density(View::new(d, rows, &mapped[..d * rows]), out);
            out.iter_mut().zip(slopes.iter()).for_each(|(o, s)| *o += s);
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        self.base.draw(stream, rows, out);
        for (map, column) in self.marginals.iter().zip(out.chunks_mut(rows.max(1))) {
            column.iter_mut().for_each(|u| *u = map.inverse(*u));
        }
    }

    fn uniforms(&self) -> Option<usize> {
        self.base.uniforms()
    }

    /// One variable after the other, not along the principal axes: what the maps leave of every variable is a function of that
    /// variable alone.
    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        self.base.transport_by_variables(cube, out);
        for (map, column) in self.marginals.iter().zip(out.chunks_mut(cube.rows().max(1))) {
            column.iter_mut().for_each(|u| *u = map.inverse(*u));
        }
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let map = &self.marginals[axis];
        Landmarks { breaks: Vec::new(), centers: vec![(map.location, map.scale)] }
    }

    fn describe(&self) -> String {
        match self.base.dof() {
            Some(dof) => format!("warped student with {dof:.1} degrees of freedom"),
            None => "warped normal".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MultivariateNormal, sample};

    /// Exponentials of correlated normals: skewed and dependent.
    fn skewed() -> Warped {
        let normal = MultivariateNormal::new(&[0.0, 1.0], &[0.3, 0.1, 0.1, 0.2]).unwrap();
        let draws = sample(&normal, 4000, 6);
        let values: Vec<f64> = draws.values().iter().map(|x| x.exp()).collect();
        Warped::fit(View::new(2, 4000, &values)).unwrap()
    }

    #[test]
    fn draws_follow_the_density_which_integrates_to_one() {
        let noise = skewed();
        // ∫ g = E[g/p] over draws of the noise, for a normal density g inside it.
        let inner = MultivariateNormal::new(&[1.2, 3.0], &[0.2, 0.05, 0.05, 0.6]).unwrap();
        // Scrambled Sobol points are spread more evenly than independent ones: the same bound holds for them.
        let quiet = crate::quiet_sample(&noise, 20_000, &crate::run::Context::seeded(3)).unwrap();
        for draws in [sample(&noise, 20_000, 3), quiet] {
            let (mut p, mut g) = (vec![0.0; 20_000], vec![0.0; 20_000]);
            noise.log_density(draws.view(), &mut p);
            inner.log_density(draws.view(), &mut g);
            let ratios: Vec<f64> = g.iter().zip(&p).map(|(g, p)| (g - p).exp()).collect();
            let (mean, variance) = noisewright_numerics::summation::mean_and_variance(&ratios);
            assert!(
                (mean - 1.0).abs() < 4.0 * (variance / 20_000.0).sqrt() && variance < 20.0,
                "{mean} {variance}"
            );
        }
    }

    /// What a coordinate of the cube moves in the draws, variable by variable.
    fn moved(noise: &Warped, coordinate: usize) -> Vec<f64> {
        let at = |u: f64| {
            let mut cube = vec![0.5; noise.uniforms().unwrap()];
            cube[coordinate] = u;
            let mut out = vec![0.0; noise.dimension()];
            noise.transport(View::new(cube.len(), 1, &cube), &mut out);
            out
        };
        at(0.7).iter().zip(at(0.3)).map(|(high, low)| (high - low).abs()).collect()
    }

    #[test]
    fn independent_variables_are_moved_by_a_coordinate_each() {
        let identity: Vec<f64> = (0..25).map(|at| if at / 5 == at % 5 { 1.0 } else { 0.0 }).collect();
        let draws = sample(&MultivariateNormal::new(&[0.0; 5], &identity).unwrap(), 4000, 6);
        let values: Vec<f64> = draws.values().iter().map(|x| (0.5 * x).exp()).collect();
        let noise = Warped::fit(View::new(5, 4000, &values)).unwrap();
        for coordinate in noise.uniforms().unwrap() - 5..noise.uniforms().unwrap() {
            let mut moved = moved(&noise, coordinate);
            moved.sort_by(f64::total_cmp);
            // Between the quantiles e^(±0.262) of its own variable; what chance correlates, four times 1/√4000, moves others.
            assert!(
                (moved[4] - 0.53).abs() < 0.05 && moved[3] < 4.0 / 4000f64.sqrt() * moved[4],
                "{moved:?}"
            );
        }
    }

    #[test]
    fn the_mirror_leaves_the_noise_as_it_is() {
        let noise = skewed();
        let point = [0.8, 3.5];
        let image = |point: [f64; 2]| {
            let mut out = [0.0; 2];
            noise.reflect(View::new(2, 1, &point), &mut out);
            out
        };
        let there = image(point);
        let back = image(there);
        assert!((back[0] - point[0]).abs() + (back[1] - point[1]).abs() < 1e-10);
        // Each variable is reflected by itself, so the determinant is a product of slopes.
        let h = 1e-6;
        let slope = |j: usize| {
            let (mut above, mut below) = (point, point);
            (above[j], below[j]) = (point[j] + h, point[j] - h);
            ((image(above)[j] - image(below)[j]) / (2.0 * h)).abs().ln()
        };
        let density = |point: [f64; 2]| {
            let mut out = [0.0];
            noise.log_density(View::new(2, 1, &point), &mut out);
            out[0]
        };
        assert!((density(there) + slope(0) + slope(1) - density(point)).abs() < 1e-6);
    }

    #[test]
    fn a_skewed_sample_gives_a_skewed_density() {
        // The logarithms of −3 … 3 are skewed; the fit makes the density follow.
        let values: Vec<f64> = (0..200).map(|i| (0.03 * f64::from(i) - 3.0).exp()).collect();
        let noise = Warped::fit(View::new(1, 200, &values)).unwrap();
        let mut out = [0.0; 2];
        noise.log_density(View::new(1, 2, &[0.5, -5.0]), &mut out);
        assert!(out[0] > out[1] + 10.0);
    }
}
