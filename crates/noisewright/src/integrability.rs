//! Whether a function falls fast enough far out to have an integral, in any number of variables.
//!
//! By Fubini's theorem an integrable function is integrable along almost every line of any direction, and along
//! almost every ray with the volume element of the ray. So a function that does not fall along many parallel lines, or
//! along many rays, has no integral. The directions are the axes, the diagonals, random ones, those without curvature, and
//! the best that a climb from those finds; a cone that all of them miss is not seen. The same holds along lines towards a
//! place inside the domain where the function rises like `1/|x − place|` or faster: the numbers that occur in a model and
//! the peaks that were found are looked at.

use nalgebra::DMatrix;
use noisewright_numerics::random::Stream;
use noisewright_numerics::summation::mean_and_variance;
use rand_distr::{Distribution, StandardNormal};

use crate::chain::Coordinates;
use crate::population::{Divergent, numbers_in};
use crate::run::Purpose;
use crate::{Domain, Error, Model, Population, Precision, Space, View};

/// Lines through so many places are looked at; half of them must fail, since a few may lie along a ridge or in a cut-off.
pub(crate) const PLACES: usize = 24;
/// The fall per e-fold of the distance, beyond the volume's, that is told from none: a Student density with fewer than
/// 0.02 degrees of freedom counts as one without an integral.
const LEAST: f64 = 0.02;
/// The same per unit of a coordinate that is a logarithm already, over a reach of hundreds of units.
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
/// Variables up to which curvatures are looked at, by d²/2 evaluations.
const MOST_CURVED: usize = 128;
/// The places where.
const CURVED_PLACES: usize = 3;
/// A curvature of less than this share of the largest is none.
const FLAT: f64 = 1e-9;
/// Variables up to which all pairs have their diagonals looked at: 480 directions.
const MOST_PAIRED: usize = 16;
/// Random directions.
const RANDOM_DIRECTIONS: usize = 48;
/// Random signs of all variables.
const RANDOM_SIGNS: usize = 16;
/// Directions from which a climb starts, its rounds, and the directions tried in each: a cone of two degrees in the plane
/// is found.
const CLIMBS: (usize, usize, usize) = (4, 40, 12);

/// Distances from a place inside the domain at which a pole shows, in scales.
const TO_POLE: Reach = [1e-4, 1e-6, 1e-8, 1e-10];
/// Places, of all variables together, that may be poles.
const MOST_POLES: usize = 512;

/// Growing distances.
pub(crate) type Reach = [f64; 4];

/// A fitted density without an integral.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct NotNormalizable {
    /// The variable along which it does not fall fast enough, where it is one.
    pub variable: Option<String>,
    /// The end of the variable's domain.
    pub towards: String,
    /// The direction in the variables, where no single one is to blame: the density does not fall along it.
    pub direction: Option<Vec<f64>>,
}

impl NotNormalizable {
    /// The same as an error.
    pub(crate) fn error(self) -> Error {
        Error::NotIntegrable { variable: self.variable, towards: self.towards }
    }
}

/// Where a function does not fall.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Endless {
    /// The variable and whether towards its lower end, where it is one alone.
    axis: Option<(usize, bool)>,
    /// The direction, in the variables' own units; zero where it is all of them.
    direction: Vec<f64>,
    /// A place inside the variable's domain, where it is not an end.
    pole: Option<f64>,
}

impl Endless {
    pub(crate) fn named(self, space: &Space) -> NotNormalizable {
        let end = |(axis, lower): (usize, bool)| {
            let bounds = space.domains()[axis].bounds();
            if lower { bounds.0 } else { bounds.1 }
        };
        let known = self.axis.is_none() && self.direction.iter().any(|v| *v != 0.0);
        NotNormalizable {
            variable: self.axis.map(|(axis, _)| space.names()[axis].clone()),
            towards: match self.pole {
                Some(pole) => format!("the pole at {}", crate::text::number(pole)),
                None => crate::text::number(self.axis.map_or(f64::INFINITY, end)),
            },
            direction: known.then_some(self.direction),
        }
    }

    pub(crate) fn divergent(&self, space: &Space) -> Divergent {
        let variable = self.axis.map(|(axis, _)| space.names()[axis].clone());
        Divergent {
            variable,
            at_lower_end: self.axis.is_some_and(|(_, lower)| lower),
            inside: self.pole.is_some(),
        }
    }
}

/// Where a model has no integral, if a look far out shows it. `places` are points where the mass may be, whose spread
/// gives the scales, and `reach` is [`NEAR`], or [`BEYOND`] if they are mere guesses.
pub(crate) fn of_model(
    model: &Model,
    parameters: &[f64],
    places: View<'_>,
    reach: Reach,
) -> Option<NotNormalizable> {
    let rows = places.rows();
    if model.space().is_sphere() || rows == 0 {
        return None;
    }
    let row = |k: usize| {
        let mut x = vec![0.0; places.columns()];
        places.copy_row(k * rows / PLACES.min(rows), &mut x);
        x
    };
    let scale = |(axis, domain): (usize, &Domain)| {
        let deviation = mean_and_variance(places.column(axis)).1.sqrt();
        // The spread of mere guesses says nothing.
        let known = deviation > 0.0 && deviation.is_finite() && reach == NEAR;
        let scale = if known { deviation } else { 1.0 };
        if domain.is_discrete() { scale.max(1.0) } else { scale }
    };
    let function = |points: &[Vec<f64>]| values(model, parameters, points);
    let scales = model.space().domains().iter().enumerate().map(scale).collect();
    let places = (0..PLACES.min(rows)).map(row).collect();
    let probe = Probe::new(&function, model.space(), places, scales, reach);
    let numbers = numbers_in(model, parameters);
    let found = probe.along_axes().or_else(|| probe.along_directions()).or_else(|| probe.outwards());
    let found = found.or_else(|| probe.towards_poles(|_| numbers.clone()));
    found.map(|endless| endless.named(model.space()))
}

/// The same from places all over the space, where nothing is known of where the mass may be.
pub(crate) fn anywhere(model: &Model, parameters: &[f64]) -> Option<NotNormalizable> {
    let coordinates = Coordinates::new(model.space());
    let dimension = model.space().dimension();
    let mut random = Purpose::IntegrabilityProbe { kind: 4 }.fixed_stream();
    let mut values = vec![0.0; PLACES * dimension];
    let mut x = vec![0.0; dimension];
    for row in 0..PLACES {
        coordinates.variables(&coordinates.somewhere(&mut random), &mut x);
        x.iter().enumerate().for_each(|(axis, x)| values[axis * PLACES + row] = *x);
    }
    of_model(model, parameters, View::new(dimension, PLACES, &values), BEYOND)
}

/// Where a model has a pole without an integral inside its domain, on the lines through a place; `suspects` are places along each variable
/// beside the numbers that occur in the model, with their scales.
pub(crate) fn at_pole(
    model: &Model,
    parameters: &[f64],
    place: &[f64],
    suspects: impl Fn(usize) -> Vec<(f64, f64)>,
) -> Option<NotNormalizable> {
    let function = |points: &[Vec<f64>]| values(model, parameters, points);
    let numbers = numbers_in(model, parameters);
    let scales = (0..place.len()).map(|axis| suspects(axis).first().map_or(1.0, |(_, scale)| *scale));
    let probe = Probe::new(&function, model.space(), vec![place.to_vec()], scales.collect(), BEYOND);
    // The formula's own numbers first: a search comes to within 1e-100 of a pole at 0, which is then named so.
    let places =
        |axis: usize| numbers.clone().into_iter().chain(suspects(axis).iter().map(|(at, _)| *at)).collect();
    probe.towards_poles(places).map(|endless| endless.named(model.space()))
}

/// The log-densities of points; −∞ where there is none to be had, which says nothing about the function, and outside of intervals, where
/// it is not asked.
fn values(model: &Model, parameters: &[f64], points: &[Vec<f64>]) -> Vec<f64> {
    let domains = model.space().domains();
    let inside = |point: &Vec<f64>| {
        let mut each = domains.iter().zip(point);
        each.all(|(domain, x)| !matches!(domain, Domain::Interval(..)) || domain.contains(*x))
    };
    if !points.iter().all(inside) {
        let within: Vec<Vec<f64>> = points.iter().filter(|point| inside(point)).cloned().collect();
        let mut known = values(model, parameters, &within).into_iter();
        let mut out = vec![f64::NEG_INFINITY; points.len()];
        let places = out.iter_mut().zip(points).filter(|(_, point)| inside(point));
        places.zip(&mut known).for_each(|((out, _), value)| *out = value);
        return out;
    }
    let (rows, columns) = (points.len(), model.space().dimension());
    if rows == 0 {
        return Vec::new();
    }
    let mut out = vec![0.0; rows];
    let x = by_columns(points, columns);
    if model.evaluate(parameters, View::new(columns, rows, &x), &mut out, None).is_err() {
        // One point must not hide the others.
        for (point, out) in points.iter().zip(&mut out) {
            let mut one = [0.0];
            let done = model.evaluate(parameters, View::new(columns, 1, point), &mut one, None);
            *out = if done.is_ok() { one[0] } else { f64::NEG_INFINITY };
        }
    }
    out.iter().map(|v| if v.is_nan() { f64::NEG_INFINITY } else { *v }).collect()
}

/// Points one after another as columns.
pub(crate) fn by_columns(points: &[Vec<f64>], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|axis| points.iter().map(move |point| point[axis])).collect()
}

/// Where the density of a fitted model has no integral, if so, from some of the data; `None` also where that cannot be told.
pub(crate) fn of_fitted(model: &Model, parameters: &[f64], sample: View<'_>) -> Option<NotNormalizable> {
    let mut gradient = vec![0.0; parameters.len()];
    if model.log_normalizer(parameters, &mut gradient).is_some_and(f64::is_finite) {
        return None;
    }
    if let Some(found) = of_model(model, parameters, sample, NEAR) {
        return Some(found);
    }
    let precision = Precision { relative: 1e-3, ..Precision::default() };
    match Population::check_integrable(model, parameters, &precision) {
        Err(Error::NotIntegrable { variable, towards }) => {
            Some(NotNormalizable { variable, towards, direction: None })
        }
        // Whatever else stands in the way of an integral says nothing about the tails.
        _ => None,
    }
}

/// A function's logarithm at points, one value for each; −∞ where it is not known.
type Function<'a> = dyn Fn(&[Vec<f64>]) -> Vec<f64> + 'a;

/// A function that is looked at far out from several places.
pub(crate) struct Probe<'a> {
    function: &'a Function<'a>,
    space: &'a Space,
    places: Vec<Vec<f64>>,
    scales: Vec<f64>,
    /// The variables that rays go along, and whether both ways.
    open: Vec<(usize, bool)>,
    reach: Reach,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(
        function: &'a Function<'a>,
        space: &'a Space,
        places: Vec<Vec<f64>>,
        scales: Vec<f64>,
        reach: Reach,
    ) -> Self {
        let open = space.domains().iter().enumerate().filter_map(|(axis, domain)| match domain {
            Domain::Real => Some((axis, true)),
            Domain::Positive | Domain::Counts => Some((axis, false)),
            _ => None,
        });
        Self { function, space, places, scales, open: open.collect(), reach }
    }

    /// Each variable towards each of its ends.
    pub(crate) fn along_axes(&self) -> Option<Endless> {
        for (axis, domain) in self.space.domains().iter().enumerate() {
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
        let moved = |t: f64| -> Vec<Vec<f64>> {
            self.places.iter().map(|place| self.moved(place, direction, t)).collect()
        };
        let values = self.reach.map(|t| (self.function)(&moved(t)));
        self.most_fail(&values, self.reach.map(f64::ln), 1.0, LEAST)
    }

    fn most_fail(&self, values: &[Vec<f64>; 4], steps: Reach, volume: f64, least: f64) -> bool {
        let failures = (0..values[0].len()).filter(|&k| fails(values, k, steps, volume, least)).count();
        failures >= (PLACES / 2).min(self.places.len())
    }

    fn moved(&self, place: &[f64], direction: &[(usize, f64)], t: f64) -> Vec<f64> {
        let mut place = place.to_vec();
        for &(axis, share) in direction {
            let step = t * share * self.scales[axis];
            place[axis] += if self.space.domains()[axis].is_discrete() { step.round() } else { step };
        }
        place
    }

    /// A variable with an end, on the line of its logarithm or logit.
    fn fails_at_end(&self, axis: usize, domain: &Domain, sign: f64) -> bool {
        let Some(chart) = domain.chart(0.0) else { return false };
        let reach = if matches!(domain, Domain::Positive) { LOG_REACH } else { LOGIT_REACH };
        let values = reach.map(|t| {
            let mut places = self.places.clone();
            places.iter_mut().for_each(|place| place[axis] = chart.from_real(sign * t));
            let values = (self.function)(&places);
            values.iter().map(|v| v + chart.log_jacobian(sign * t)).collect::<Vec<_>>()
        });
        self.most_fail(&values, reach, 0.0, LEAST_ON_LOG)
    }

    /// Each variable towards places inside its domain.
    fn towards_poles(&self, suspects: impl Fn(usize) -> Vec<f64>) -> Option<Endless> {
        let mut tried: Vec<(usize, f64, f64)> = Vec::new();
        for (axis, domain) in self.space.domains().iter().enumerate().filter(|(_, d)| !d.is_discrete()) {
            let (lower, upper) = domain.bounds();
            let inside = suspects(axis).into_iter().filter(|x| *x > lower && *x < upper);
            tried.extend(inside.flat_map(|pole| [(axis, pole, -1.0), (axis, pole, 1.0)]));
        }
        tried.truncate(2 * MOST_POLES);
        // One place is enough to tell which are worth the others.
        let one = &self.places[..1];
        let values = TO_POLE.map(|t| {
            let points: Vec<_> = tried.iter().flat_map(|suspect| self.beside(one, *suspect, t)).collect();
            (self.function)(&points)
        });
        let steps = TO_POLE.map(|t| -t.ln());
        let rising =
            (0..tried.len()).filter(|&k| fails(&values, k, steps, -1.0, LEAST) && keeps_rising(&values, k));
        let found = rising.map(|k| tried[k]).find(|&suspect| {
            let values = TO_POLE.map(|t| (self.function)(&self.beside(&self.places, suspect, t)));
            let poles = (0..values[0].len()).filter(|&k| keeps_rising(&values, k)).count();
            poles >= (PLACES / 2).min(self.places.len()) && self.most_fail(&values, steps, -1.0, LEAST)
        });
        found.map(|(axis, pole, sign)| Endless { pole: Some(pole), ..self.told(&[(axis, sign)]) })
    }

    /// Points at a distance from a suspected pole, on lines through some places.
    fn beside(&self, places: &[Vec<f64>], (axis, pole, sign): (usize, f64, f64), t: f64) -> Vec<Vec<f64>> {
        // Where neighbouring numbers are farther apart than that, nothing is seen.
        let unit = self.scales[axis].max(1e-3 * pole.abs());
        let moved = |place: &Vec<f64>| {
            let mut place = place.clone();
            place[axis] = pole + sign * t * unit;
            place
        };
        places.iter().map(moved).collect()
    }

    /// Diagonals, random directions, those without curvature, and the best that can be climbed to from them.
    fn along_directions(&self) -> Option<Endless> {
        if self.open.len() < 2 {
            return None;
        }
        let mut random = Purpose::IntegrabilityProbe { kind: 2 }.fixed_stream();
        let directions = self.directions(&mut random);
        // One place is enough to tell which are worth the others.
        let values = self.reach.map(|t| self.on_rays(&directions, t));
        let steps = self.reach.map(f64::ln);
        let failing = (0..directions.len()).filter(|&k| fails(&values, k, steps, 1.0, LEAST));
        let known = failing.map(|k| directions[k].clone()).find(|d| self.fails_along(&self.paired(d)));
        let found = known.or_else(|| {
            let mut order: Vec<usize> = (0..directions.len()).collect();
            order.sort_by(|a, b| values[3][*b].total_cmp(&values[3][*a]));
            let starts = order.into_iter().take(CLIMBS.0).map(|k| directions[k].clone());
            starts
                .map(|direction| self.climb(direction, &mut random))
                .find(|d| self.fails_along(&self.paired(d)))
        });
        found.map(|direction| self.told(&self.paired(&direction)))
    }

    fn paired(&self, direction: &[f64]) -> Vec<(usize, f64)> {
        self.open.iter().map(|(axis, _)| *axis).zip(direction.iter().copied()).collect()
    }

    /// A direction of length one within what the domain allows.
    fn within(&self, mut direction: Vec<f64>) -> Vec<f64> {
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        for (v, (_, both)) in direction.iter_mut().zip(&self.open) {
            *v = if *both { *v } else { v.abs() } / length;
        }
        direction
    }

    fn directions(&self, random: &mut Stream) -> Vec<Vec<f64>> {
        let d = self.open.len();
        let mut all = Vec::new();
        if d <= MOST_PAIRED {
            for (i, j) in (0..d).flat_map(|i| (0..i).map(move |j| (i, j))) {
                for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                    let mut direction = vec![0.0; d];
                    (direction[i], direction[j]) = (a, b);
                    all.push(direction);
                }
            }
        }
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        all.extend((0..RANDOM_DIRECTIONS).map(|_| (0..d).map(|_| normal()).collect::<Vec<_>>()));
        all.extend((0..RANDOM_SIGNS).map(|_| (0..d).map(|_| normal().signum()).collect::<Vec<_>>()));
        all.extend([vec![1.0; d], vec![-1.0; d]]);
        all.extend(self.uncurved());
        all.into_iter().map(|direction| self.within(direction)).collect()
    }

    /// Directions in which the log-density is not curved downwards at some place: along a flat one, as of a function of
    /// differences alone, it never is.
    fn uncurved(&self) -> Vec<Vec<f64>> {
        let d = self.open.len();
        if d > MOST_CURVED {
            return Vec::new();
        }
        let hessians = self.places.iter().take(CURVED_PLACES).filter_map(|place| self.hessian(place));
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
        let d = self.open.len();
        let at = |steps: &[(usize, f64)]| {
            let own: Vec<(usize, f64)> = steps.iter().map(|&(k, t)| (self.open[k].0, t)).collect();
            self.moved(place, &own, 1.0)
        };
        let mut points = vec![at(&[])];
        (0..d).for_each(|i| points.extend([at(&[(i, 1.0)]), at(&[(i, -1.0)])]));
        (0..d).for_each(|i| points.extend((0..i).map(|j| at(&[(i, 1.0), (j, 1.0)]))));
        let values = (self.function)(&points);
        if values.iter().any(|v| !v.is_finite()) {
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
        let point = |direction: &Vec<f64>| self.moved(&self.places[0], &self.paired(direction), t);
        (self.function)(&directions.iter().map(point).collect::<Vec<_>>())
    }

    /// Turns a direction towards where the function falls least, by random turns that become smaller.
    fn climb(&self, mut best: Vec<f64>, random: &mut Stream) -> Vec<f64> {
        let mut width = 0.5;
        for _ in 0..CLIMBS.1 {
            let mut tried = vec![best.clone()];
            tried.extend((0..CLIMBS.2).map(|_| {
                let mut turn = |v: &f64| -> f64 {
                    let z: f64 = StandardNormal.sample(random);
                    v + width * z
                };
                self.within(best.iter().map(&mut turn).collect())
            }));
            let values = self.on_rays(&tried, self.reach[3]);
            let found = (0..tried.len()).fold(0, |top, k| if values[k] > values[top] { k } else { top });
            width *= if found == 0 { 0.7 } else { 1.2 };
            best = tried.swap_remove(found);
        }
        best
    }

    /// Rays in random directions, one from each place, with the volume element of so many dimensions.
    pub(crate) fn outwards(&self) -> Option<Endless> {
        if self.open.len() < 2 {
            return None;
        }
        let mut random = Purpose::IntegrabilityProbe { kind: 3 }.fixed_stream();
        let mut direction =
            || self.within(self.open.iter().map(|_| StandardNormal.sample(&mut random)).collect());
        let rays: Vec<_> = self.places.iter().map(|place| (place, self.paired(&direction()))).collect();
        let values = self.reach.map(|t| {
            let points: Vec<_> = rays.iter().map(|(place, ray)| self.moved(place, ray, t)).collect();
            (self.function)(&points)
        });
        let endless = self.most_fail(&values, self.reach.map(f64::ln), self.open.len() as f64, LEAST);
        endless.then(|| Endless { axis: None, direction: vec![0.0; self.scales.len()], pole: None })
    }

    fn told(&self, direction: &[(usize, f64)]) -> Endless {
        let mut own = vec![0.0; self.scales.len()];
        direction.iter().for_each(|&(axis, share)| own[axis] = share * self.scales[axis]);
        let length = direction.iter().map(|(_, share)| share * share).sum::<f64>().sqrt();
        let alone = direction.iter().find(|(_, share)| share.abs() > 0.999 * length);
        Endless { axis: alone.map(|(axis, share)| (*axis, *share < 0.0)), direction: own, pole: None }
    }
}

/// A log-density below this comes from a variable or a power that has overflowed, and was held at the largest number: it says
/// nothing about how the density falls.
const OVERFLOWED: f64 = -1e300;

/// Whether the values of row `k`, by distance, fall by less than `least` a step beyond the volume's from every distance to
/// the next.
fn fails(values: &[Vec<f64>; 4], k: usize, steps: Reach, volume: f64, least: f64) -> bool {
    (1..4).all(|i| {
        let (near, far) = (values[i - 1][k], values[i][k]);
        let known = near > OVERFLOWED && far > OVERFLOWED;
        known && (far == f64::INFINITY || (far - near) / (steps[i] - steps[i - 1]) + volume > -least)
    })
}

/// Whether the values of row `k` rise towards a place by as much from each distance to the next as before, as they do towards a
/// pole. On a mere slope the rise goes down with the distance, by two powers of ten a step, however steep it is.
fn keeps_rising(values: &[Vec<f64>; 4], k: usize) -> bool {
    let rise = |i: usize| values[i][k] - values[i - 1][k];
    values[3][k] == f64::INFINITY || rise(3) > 0.5 * rise(2)
}

#[cfg(test)]
mod tests;
