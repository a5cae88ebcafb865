//! Maps of constrained variables to the real line and back, with the logarithm of the Jacobian.

pub(crate) use noisewright_numerics::chart::Chart;

use crate::{Domain, Error, Result, Space, View};

/// Rows that are mapped at a time, so that intermediate values stay in the cache.
const BLOCK: usize = 1024;

impl Domain {
    /// The chart of the domain; `middle` is the direction around which a circle is laid out.
    ///
    /// `None` for counts and states, which are no continuum.
    #[must_use]
    pub(crate) fn chart(&self, middle: f64) -> Option<Chart> {
        match self {
            Self::Real | Self::Positive | Self::Interval(..) => {
                let (lower, upper) = self.bounds();
                Some(Chart::between(lower, upper))
            }
            Self::Circle => Some(Chart::Turn { middle }),
            Self::States(_) | Self::Counts => None,
        }
    }
}

/// One [`Chart`] per variable: a space of continuous variables and the space of all real vectors, either way.
///
/// A density f of x is the density `f(x(y)) · ∏ dx_j/dy_j` of y, with the same integral.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RealMap {
    charts: Vec<Chart>,
}

impl RealMap {
    /// The charts of a space; a circle is cut opposite to the mean direction of the draws, where there are any.
    ///
    /// # Errors
    /// When a variable is counted rather than measured, or the space is a sphere.
    pub(crate) fn new(space: &Space, draws: Option<View<'_>>) -> Result<Self> {
        if space.is_sphere() {
            let reason = "directions on a sphere have no map to the real line";
            return Err(Error::Domain { variable: space.names().join(", "), reason: reason.into() });
        }
        let charts = space.domains().iter().zip(space.names()).enumerate().map(|(axis, (domain, name))| {
            let middle = match (domain, draws) {
                (Domain::Circle, Some(draws)) => mean_direction(draws.column(axis)),
                _ => 0.0,
            };
            domain.chart(middle).ok_or_else(|| Error::Domain {
                variable: name.clone(),
                reason: "counts and states cannot be mapped to the real line".into(),
            })
        });
        Ok(Self { charts: charts.collect::<Result<_>>()? })
    }

    /// Whether every variable is real already, so that nothing has to be mapped.
    #[must_use]
    pub(crate) fn is_identity(&self) -> bool {
        self.charts.iter().all(|chart| *chart == Chart::Identity)
    }

    /// Writes y (column-major) of points x, and `Σ_j ln dx_j/dy_j` of each row.
    pub(crate) fn to_real(&self, x: View<'_>, y: &mut [f64], log_jacobian: &mut [f64]) {
        let rows = x.rows();
        let mut scratch = [0.0; BLOCK];
        log_jacobian.fill(0.0);
        for (axis, chart) in self.charts.iter().enumerate() {
            let column = &mut y[axis * rows..(axis + 1) * rows];
            let blocks = x.column(axis).chunks(BLOCK).zip(column.chunks_mut(BLOCK));
            for ((x, y), out) in blocks.zip(log_jacobian.chunks_mut(BLOCK)) {
                let scratch = &mut scratch[..x.len()];
                chart.map_block(x, scratch, y);
                chart.add_log_jacobian(y, scratch, out);
            }
        }
    }

    /// Writes x (column-major) of points y, and `Σ_j ln dx_j/dy_j` of each row.
    pub(crate) fn real_to_space(&self, y: View<'_>, x: &mut [f64], log_jacobian: &mut [f64]) {
        let rows = y.rows();
        let mut scratch = [0.0; BLOCK];
        log_jacobian.fill(0.0);
        for (axis, chart) in self.charts.iter().enumerate() {
            let column = &mut x[axis * rows..(axis + 1) * rows];
            let blocks = y.column(axis).chunks(BLOCK).zip(column.chunks_mut(BLOCK));
            for ((y, x), out) in blocks.zip(log_jacobian.chunks_mut(BLOCK)) {
                chart.unmap_block(y, x);
                chart.add_log_jacobian(y, &mut scratch[..y.len()], out);
            }
        }
    }
}

/// The direction of the sum of unit vectors; 0 where they cancel.
fn mean_direction(angles: &[f64]) -> f64 {
    let (sin, cos) = angles.iter().fold((0.0, 0.0), |(s, c), a| (s + a.sin(), c + a.cos()));
    sin.atan2(cos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use noisewright_numerics::chart::wrapped;
    use std::f64::consts::TAU;

    fn space() -> Space {
        Space::product(&[
            ("a", Domain::Real),
            ("b", Domain::Positive),
            ("c", Domain::Interval(-2.0, 5.0)),
            ("d", Domain::Circle),
        ])
        .unwrap()
    }

    #[test]
    fn there_and_back_and_the_jacobian_is_the_slope() {
        let map =
            RealMap::new(&space(), Some(View::new(4, 2, &[0.0, 1.0, 1.0, 2.0, 0.0, 1.0, 3.0, 3.2]))).unwrap();
        let at = |y: f64| {
            let (mut x, mut jacobian) = (vec![0.0; 4], [0.0]);
            map.real_to_space(View::new(4, 1, &[y; 4]), &mut x, &mut jacobian);
            (x, jacobian[0])
        };
        for y in [-4.0, -0.3, 0.0, 0.9, 5.0] {
            let (x, jacobian) = at(y);
            let (mut back, mut same) = ([0.0; 4], [0.0]);
            map.to_real(View::new(4, 1, &x), &mut back, &mut same);
            assert!(back.iter().all(|b| (b - y).abs() < 1e-12), "{back:?} {y}");
            assert!((same[0] - jacobian).abs() < 1e-12);
            let h = 1e-5;
            let (above, below) = (at(y + h), at(y - h));
            let slope: f64 = (0..4).map(|j| (wrapped(above.0[j] - below.0[j]) / (2.0 * h)).ln()).sum();
            assert!((slope - jacobian).abs() < 1e-8, "{slope} {jacobian}");
            let second: f64 = map.charts.iter().map(|chart| chart.log_jacobian_slope(y)).sum();
            assert!((second - (above.1 - below.1) / (2.0 * h)).abs() < 1e-8);
            let single: f64 = map.charts.iter().map(|chart| chart.log_jacobian(y)).sum();
            assert!((single - jacobian).abs() < 1e-13);
        }
    }

    #[test]
    fn the_ends_are_never_reached_and_their_jacobian_is_exact() {
        let map = RealMap::new(&space(), None).unwrap();
        for y in [-800.0, 800.0] {
            let (mut x, mut jacobian) = ([0.0; 4], [0.0]);
            map.real_to_space(View::new(4, 1, &[y; 4]), &mut x, &mut jacobian);
            assert!(space().domains().iter().zip(x).all(|(domain, x)| domain.contains(x)));
            assert!(x[1] > 0.0 && x[1].is_finite() && x[2] > -2.0 && x[2] < 5.0);
            // y of the logarithm, ln width − |y| of the other two
            let exact = y + 7f64.ln() - 800.0 + TAU.ln() - 800.0;
            assert!((jacobian[0] - exact).abs() < 1e-12 * exact.abs());
        }
    }

    #[test]
    fn a_circle_is_cut_opposite_to_the_draws() {
        let space = Space::product(&[("angle", Domain::Circle)]).unwrap();
        let draws = [3.0, -3.0, 3.1, -3.1];
        let map = RealMap::new(&space, Some(View::new(1, 4, &draws))).unwrap();
        let (mut y, mut jacobian) = ([0.0; 4], [0.0; 4]);
        map.to_real(View::new(1, 4, &draws), &mut y, &mut jacobian);
        assert!(y.iter().all(|y| y.abs() < 0.1), "{y:?}");
    }

    #[test]
    fn what_is_counted_is_refused() {
        let space = Space::product(&[("n", Domain::Counts)]).unwrap();
        assert_eq!(
            RealMap::new(&space, None).unwrap_err().to_string(),
            "the domain of `n` is wrong: counts and states cannot be mapped to the real line"
        );
    }

    #[test]
    fn scales_and_shares_go_to_the_line() {
        let space =
            Space::product(&[("scale", Domain::Positive), ("share", Domain::Interval(0.0, 1.0))]).unwrap();
        let map = RealMap::new(&space, None).unwrap();
        let (mut y, mut log_jacobian) = ([0.0; 2], [0.0]);
        map.to_real(View::new(2, 1, &[1.0, 0.5]), &mut y, &mut log_jacobian);
        assert_eq!(y, [0.0, 0.0]);
        assert!((log_jacobian[0] - 0.25f64.ln()).abs() < 1e-15);
    }
}
