//! Whether a log-density falls fast enough far out to have an integral, in any number of variables.
//!
//! By Fubini's theorem an integrable function is integrable along almost every line of any direction, and along
//! almost every ray with the volume element of the ray. So a function that does not fall along many parallel lines, or
//! along many rays, has no integral. The directions are the axes, the diagonals, random ones, and the best that a climb from
//! those finds; a cone that all of them miss is not seen.

use nalgebra::DMatrix;
use noisewright_numerics::random::Stream;
use rand_distr::{Distribution, StandardNormal};

use crate::run::Purpose;
use crate::{Domain, Model, Space, View};

/// Lines through so many places are looked at.
const PLACES: usize = 24;
/// So many of them must fail.
const FAILURES: usize = 12;
/// The fall per e-fold of the distance, beyond the volume's, that is told from none.
const LEAST: f64 = 0.02;
/// The same per unit of a coordinate that is a logarithm already.
const LEAST_ON_LOG: f64 = 1e-3;
/// Distances between which the fall is measured, in scales, where places and scales are known: a density that falls
/// between any two of them may fall for good farther out, as funnels do along some directions.
pub(crate) const NEAR: Reach = [1e3, 1e4, 1e5, 1e6];
/// The same where nothing is known: beyond what any data have for their units.
pub(crate) const BEYOND: Reach = [1e9, 1e10, 1e11, 1e12];
/// For ln x, whose numbers end at e^±709.
const LOG_REACH: Reach = [150.0, 300.0, 450.0, 600.0];
/// For the logit of an interval, where neighbouring numbers end at ±36.
const LOGIT_REACH: Reach = [8.0, 14.0, 21.0, 28.0];
/// Variables up to which curvatures are looked at, and the places where.
const CURVED: (usize, usize) = (48, 3);
/// A curvature of less than this share of the largest is none.
const FLAT: f64 = 1e-9;

/// Growing distances.
pub(crate) type Reach = [f64; 4];
/// Variables up to which all pairs have their diagonals looked at.
const MOST_PAIRED: usize = 16;
/// Random directions, and random signs of all variables.
const RANDOM: (usize, usize) = (48, 16);
/// Rounds of the climb and directions tried in each.
const CLIMB: (usize, usize) = (40, 16);

/// Where a log-density does not fall.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Endless {
    /// The variable, where it is one alone.
    pub(crate) variable: Option<String>,
    /// The end of its domain.
    pub(crate) towards: String,
    /// The direction, in the variables' own units.
    pub(crate) direction: Vec<f64>,
}

impl Endless {
    /// The same as an error.
    pub(crate) fn error(self) -> crate::Error {
        crate::Error::NotIntegrable { variable: self.variable, towards: self.towards }
    }
}

/// Where a model has no integral, if a look far out shows it. `places` are points where the mass may be, whose spread
/// gives the scales, and `reach` is [`NEAR`], or [`BEYOND`] if they are mere guesses.
pub(crate) fn endless(model: &Model, parameters: &[f64], places: View<'_>, reach: Reach) -> Option<Endless> {
    if model.space().is_sphere() || places.rows() == 0 {
        return None;
    }
    let probe = Probe::new(model, parameters, places, reach);
    probe.along_axes().or_else(|| probe.along_directions()).or_else(|| probe.outwards())
}

struct Probe<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    places: Vec<Vec<f64>>,
    scales: Vec<f64>,
    /// The variables without ends, which rays go along.
    real: Vec<usize>,
    reach: Reach,
}

impl<'a> Probe<'a> {
    fn new(model: &'a Model, parameters: &'a [f64], places: View<'_>, reach: Reach) -> Self {
        let rows = places.rows();
        let row = |k: usize| {
            let mut x = vec![0.0; places.columns()];
            places.copy_row(k * rows / PLACES.min(rows), &mut x);
            x
        };
        let domains = model.space().domains();
        let scale = |axis: usize| {
            let column = places.column(axis);
            let deviation = noisewright_numerics::summation::mean_and_variance(column).1.sqrt();
            // The spread of mere guesses says nothing.
            let known = deviation > 0.0 && deviation.is_finite() && reach == NEAR;
            let scale = if known { deviation } else { 1.0 };
            if domains[axis].is_discrete() { scale.max(1.0) } else { scale }
        };
        Self {
            model,
            parameters,
            places: (0..PLACES.min(rows)).map(row).collect(),
            scales: (0..domains.len()).map(scale).collect(),
            real: (0..domains.len()).filter(|&axis| domains[axis] == Domain::Real).collect(),
            reach,
        }
    }

    fn space(&self) -> &Space {
        self.model.space()
    }

    /// The log-densities of points; −∞ where there is none to be had, which says nothing about the function.
    fn values(&self, points: &[Vec<f64>]) -> Vec<f64> {
        let (rows, columns) = (points.len(), self.scales.len());
        let mut out = vec![0.0; rows];
        let x: Vec<f64> = (0..columns).flat_map(|axis| points.iter().map(move |point| point[axis])).collect();
        if self.model.evaluate(self.parameters, View::new(columns, rows, &x), &mut out, None).is_err() {
            // One point must not hide the others.
            for (point, out) in points.iter().zip(&mut out) {
                let mut one = [0.0];
                let done = self.model.evaluate(self.parameters, View::new(columns, 1, point), &mut one, None);
                *out = if done.is_ok() { one[0] } else { f64::NEG_INFINITY };
            }
        }
        out.iter().map(|v| if v.is_finite() { *v } else { f64::NEG_INFINITY }).collect()
    }

    /// Each variable towards each of its ends.
    fn along_axes(&self) -> Option<Endless> {
        for (axis, domain) in self.space().domains().iter().enumerate() {
            for sign in [-1.0, 1.0] {
                let fails = match domain {
                    Domain::Real => self.fails_along(&[(axis, sign)]),
                    Domain::Counts if sign > 0.0 => self.fails_along(&[(axis, sign)]),
                    Domain::Positive | Domain::Interval(..) => self.fails_at_end(axis, domain, sign),
                    _ => false,
                };
                if fails {
                    return Some(self.told(&[(axis, sign)]));
                }
            }
        }
        None
    }

    /// Lines through all places in one direction, in scales: in ln t, with its own volume t, the function must fall.
    fn fails_along(&self, direction: &[(usize, f64)]) -> bool {
        let values = self.reach.map(|t| self.values(&self.moved(direction, t)));
        count_failures(&values, self.reach.map(f64::ln), 1.0, LEAST) >= self.needed()
    }

    fn needed(&self) -> usize {
        FAILURES.min(self.places.len())
    }

    fn moved(&self, direction: &[(usize, f64)], t: f64) -> Vec<Vec<f64>> {
        let mut places = self.places.clone();
        for place in &mut places {
            for &(axis, share) in direction {
                let step = t * share * self.scales[axis];
                let discrete = self.space().domains()[axis].is_discrete();
                place[axis] += if discrete { step.round() } else { step };
            }
        }
        places
    }

    /// A variable with an end, on the line of its logarithm or logit.
    fn fails_at_end(&self, axis: usize, domain: &Domain, sign: f64) -> bool {
        let Some(chart) = domain.chart(0.0) else { return false };
        let reach = if matches!(domain, Domain::Positive) { LOG_REACH } else { LOGIT_REACH };
        let values = reach.map(|t| {
            let mut places = self.places.clone();
            places.iter_mut().for_each(|place| place[axis] = chart.from_real(sign * t));
            let values = self.values(&places);
            values.iter().map(|v| v + chart.log_jacobian(sign * t)).collect::<Vec<_>>()
        });
        count_failures(&values, reach, 0.0, LEAST_ON_LOG) >= self.needed()
    }

    /// Diagonals, random directions, those without curvature, and the best that can be climbed to from them.
    fn along_directions(&self) -> Option<Endless> {
        if self.real.len() < 2 {
            return None;
        }
        let mut random = Purpose::IntegrabilityProbe { kind: 2 }.fixed_stream();
        let mut directions = self.directions(&mut random);
        directions.extend(self.uncurved());
        // One place is enough to tell which are worth the others.
        let suspect = self.least_falling(&directions);
        let climbed = self.climb(directions[suspect].clone(), &mut random);
        let values = self.reach.map(|t| self.on_rays(&directions, t));
        let steps = self.reach.map(f64::ln);
        let failing = (0..directions.len()).filter(|&k| fails(&values, k, steps, 1.0, LEAST));
        let candidates = failing.map(|k| directions[k].clone()).chain([climbed]);
        candidates
            .map(|direction| self.paired(&direction))
            .find(|d| self.fails_along(d))
            .map(|d| self.told(&d))
    }

    fn paired(&self, direction: &[f64]) -> Vec<(usize, f64)> {
        self.real.iter().copied().zip(direction.iter().copied()).collect()
    }

    fn directions(&self, random: &mut Stream) -> Vec<Vec<f64>> {
        let d = self.real.len();
        let mut all = Vec::new();
        if d <= MOST_PAIRED {
            for i in 0..d {
                for j in 0..i {
                    for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                        let mut direction = vec![0.0; d];
                        (direction[i], direction[j]) = (a, b);
                        all.push(direction);
                    }
                }
            }
        }
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        all.extend((0..RANDOM.0).map(|_| (0..d).map(|_| normal()).collect::<Vec<_>>()));
        all.extend((0..RANDOM.1).map(|_| (0..d).map(|_| normal().signum()).collect::<Vec<_>>()));
        all.extend([vec![1.0; d], vec![-1.0; d]]);
        all.iter_mut().for_each(|direction| normalize(direction));
        all
    }

    /// Directions in which the log-density is not curved downwards at some place: along a flat one, as of a function of
    /// differences alone, it never is.
    fn uncurved(&self) -> Vec<Vec<f64>> {
        let d = self.real.len();
        if d > CURVED.0 {
            return Vec::new();
        }
        let hessians = self.places.iter().take(CURVED.1).filter_map(|place| self.hessian(place));
        let mut found = Vec::new();
        for eigen in hessians.map(nalgebra::SymmetricEigen::new) {
            let largest = eigen.eigenvalues.amax();
            let flat = (0..d).filter(|&k| eigen.eigenvalues[k] >= -FLAT * largest);
            for k in flat.chain([eigen.eigenvalues.imax()]) {
                let direction: Vec<f64> = eigen.eigenvectors.column(k).iter().copied().collect();
                found.push(direction.iter().map(|v| -v).collect());
                found.push(direction);
            }
        }
        found
    }

    /// Second differences over one scale; `None` where the log-density is not finite nearby.
    fn hessian(&self, place: &[f64]) -> Option<DMatrix<f64>> {
        let d = self.real.len();
        let at = |steps: &[(usize, f64)]| {
            let mut x = place.to_vec();
            steps.iter().for_each(|&(k, t)| x[self.real[k]] += t * self.scales[self.real[k]]);
            x
        };
        let mut points = vec![at(&[])];
        (0..d).for_each(|i| points.extend([at(&[(i, 1.0)]), at(&[(i, -1.0)])]));
        (0..d).for_each(|i| points.extend((0..i).map(|j| at(&[(i, 1.0), (j, 1.0)]))));
        let values = self.values(&points);
        if values.contains(&f64::NEG_INFINITY) {
            return None;
        }
        let (zero, up, down) = (values[0], |i: usize| values[1 + 2 * i], |i: usize| values[2 + 2 * i]);
        let pair = |i: usize, j: usize| values[1 + 2 * d + i * (i - 1) / 2 + j] - up(i) - up(j) + zero;
        Some(DMatrix::from_fn(d, d, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Equal => up(i) - 2.0 * zero + down(i),
            std::cmp::Ordering::Greater => pair(i, j),
            std::cmp::Ordering::Less => pair(j, i),
        }))
    }

    /// The values at a distance from the first place.
    fn on_rays(&self, directions: &[Vec<f64>], t: f64) -> Vec<f64> {
        let point = |direction: &Vec<f64>| {
            let mut x = self.places[0].clone();
            self.real.iter().zip(direction).for_each(|(&axis, v)| x[axis] += t * v * self.scales[axis]);
            x
        };
        self.values(&directions.iter().map(point).collect::<Vec<_>>())
    }

    fn least_falling(&self, directions: &[Vec<f64>]) -> usize {
        let values = self.on_rays(directions, self.reach[3]);
        (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0)
    }

    /// Turns a direction towards where the function falls least, by random turns that become smaller.
    fn climb(&self, mut best: Vec<f64>, random: &mut Stream) -> Vec<f64> {
        let mut width = 0.5;
        for _ in 0..CLIMB.0 {
            let mut tried = vec![best.clone()];
            tried.extend((0..CLIMB.1).map(|_| {
                let mut turned: Vec<f64> = best
                    .iter()
                    .map(|v| {
                        let z: f64 = StandardNormal.sample(random);
                        v + width * z
                    })
                    .collect();
                normalize(&mut turned);
                turned
            }));
            let found = self.least_falling(&tried);
            width *= if found == 0 { 0.7 } else { 1.2 };
            best = tried.swap_remove(found);
        }
        best
    }

    /// Rays in random directions, one from each place, with the volume element of so many dimensions.
    fn outwards(&self) -> Option<Endless> {
        if self.real.len() < 2 {
            return None;
        }
        let mut random = Purpose::IntegrabilityProbe { kind: 3 }.fixed_stream();
        let directions: Vec<Vec<f64>> = self
            .places
            .iter()
            .map(|_| self.real.iter().map(|_| StandardNormal.sample(&mut random)).collect())
            .collect();
        let values = self.reach.map(|t| {
            let mut moved = self.places.clone();
            for (place, direction) in moved.iter_mut().zip(&directions) {
                self.real
                    .iter()
                    .zip(direction)
                    .for_each(|(&a, v): (_, &f64)| place[a] += t * v * self.scales[a]);
            }
            self.values(&moved)
        });
        let volume = self.real.len() as f64;
        let endless = count_failures(&values, self.reach.map(f64::ln), volume, LEAST) >= self.needed();
        endless.then(|| Endless {
            variable: None,
            towards: "∞".into(),
            direction: vec![0.0; self.scales.len()],
        })
    }

    fn told(&self, direction: &[(usize, f64)]) -> Endless {
        let mut own = vec![0.0; self.scales.len()];
        direction.iter().for_each(|&(axis, share)| own[axis] = share * self.scales[axis]);
        let length = direction.iter().map(|(_, share)| share * share).sum::<f64>().sqrt();
        let main = direction.iter().copied().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let (axis, share) = main.unwrap_or((0, 1.0));
        let alone = share.abs() > 0.999 * length;
        let (lower, upper) = self.space().domains()[axis].bounds();
        let end = if share > 0.0 { upper } else { lower };
        Endless {
            variable: alone.then(|| self.space().names()[axis].clone()),
            towards: if alone { crate::text::number(end) } else { "∞".into() },
            direction: own,
        }
    }
}

fn normalize(direction: &mut [f64]) {
    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    direction.iter_mut().for_each(|v| *v /= length);
}

/// Whether the values of row `k`, by distance, fall by less than `least` a step beyond the volume's from every distance to
/// the next.
fn fails(values: &[Vec<f64>; 4], k: usize, steps: Reach, volume: f64, least: f64) -> bool {
    (1..4).all(|i| {
        let (near, far) = (values[i - 1][k], values[i][k]);
        let finite = near > f64::NEG_INFINITY && far > f64::NEG_INFINITY;
        finite && (far - near) / (steps[i] - steps[i - 1]) + volume > -least
    })
}

fn count_failures(values: &[Vec<f64>; 4], steps: Reach, volume: f64, least: f64) -> usize {
    (0..values[0].len()).filter(|&k| fails(values, k, steps, volume, least)).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn found(formula: &str, domain: &str) -> Option<Endless> {
        let text = format!("variables = ['x', 'y', 'z', 'w']\nlog_density = '{formula}'\n{domain}");
        let model = Model::from_toml(&text).unwrap();
        let mut random = noisewright_numerics::random::stream(5, 0);
        let values: Vec<f64> = (0..4 * 100)
            .map(|_| -> f64 { StandardNormal.sample(&mut random) })
            .map(|z| if domain.is_empty() { z } else { z.exp() })
            .collect();
        let near = endless(&model, &[], View::new(4, 100, &values), NEAR);
        assert_eq!(
            near.is_some(),
            endless(&model, &[], View::new(4, 100, &values), BEYOND).is_some(),
            "{formula}"
        );
        near
    }

    #[test]
    fn densities_without_an_integral_are_seen() {
        assert_eq!(found("-(x^2 + y^2 + z^2)/2 + w^2/1000", "").unwrap().variable.as_deref(), Some("w"));
        assert_eq!(found("-(x^2 + y^2 + z^2)/2 + tanh(w)", "").unwrap().variable.as_deref(), Some("w"));
        // A flat direction that no axis shows, and one bad direction in a Gaussian.
        let flat = found("-((x - y)^2 + (y - z)^2 + (z - w)^2)/2", "").unwrap();
        assert!(
            flat.variable.is_none()
                && flat.direction.iter().all(|v| (v / flat.direction[0] - 1.0).abs() < 0.5)
        );
        assert!(found("-(x^2 + y^2 + z^2 + w^2)/2 - 1.01*x*y", "").is_some());
        assert!(found("-(x^2 + y^2 + z^2 + w^2)/2 - 0.7*x*y - 0.7*z*w - 0.7*x*w + 0.5*y*z", "").is_some());
        // Integrable along every line, but not in four dimensions.
        assert!(found("-1.5*log(1 + x^2 + y^2 + z^2 + w^2)", "").is_some());
        assert!(
            found(
                "-x - y - z - log(w)",
                "domain = { x = 'positive', y = 'positive', z = 'positive', w = 'positive' }"
            )
            .is_some()
        );
    }

    #[test]
    fn densities_with_an_integral_are_left_alone() {
        for formula in [
            "-(x^2 + y^2 + z^2 + w^2)/2",
            "-((x - y)^2 + (y - z)^2 + (z - w)^2 + 1e-4*w^2)/2",
            "-(x^2 + y^2 + z^2 + w^2)/2 - 0.99*x*y",
            "-x^4 + 3*x^2*y - y^4 - abs(z) - 2.5*log(1 + w^2)",
            "-2.5*log(1 + x^2 + y^2 + z^2 + w^2)",
            "log(exp(-(x - 10)^2/2) + exp(-(x + 10)^2/2)) - (y^2 + z^2 + w^2)/2",
            // Funnels, which some directions enter only far out.
            "-x^2 - y^2*exp(-x) - z^2 - w^2 - x/2",
            "-x^2/18 - (y^2 + z^2 + w^2)*exp(-x)/2 - 1.5*x",
        ] {
            assert_eq!(found(formula, ""), None, "{formula}");
        }
        let positive = "domain = { x = 'positive', y = 'positive', z = 'positive', w = 'positive' }";
        assert_eq!(found("-x - y - z - w - 0.9*log(w)", positive), None);
    }
}
