//! Rays along which a log-density still rises far from the data, so that it has no integral.

use noisewright_numerics::random::Stream;
use rand_distr::{Distribution, StandardNormal};

use super::normalizable::{NotNormalizable, Whereabouts};
use crate::run::Purpose;
use crate::{Domain, Error, Model, Result, View};

/// Distances from the data, in their deviations, between which a density must fall.
const FAR: [f64; 4] = [1e3, 1e4, 1e5, 1e6];

/// Directions at random beside the axes, the diagonals and the data's own.
const RANDOM: usize = 64;

/// Most variables whose diagonals, two by two, are all looked along.
const DIAGONALS: usize = 16;

/// Directions from which the steepest is looked for, and rounds of ever smaller turns.
const CLIMBS: (usize, usize) = (4, 40);

/// Turns of a direction that are tried in a round.
const TURNS: usize = 12;

/// A ray along which the log-density still rises far from the data, if one was found.
///
/// # Errors
/// When the model cannot be evaluated at all.
pub(super) fn rising(
    model: &Model,
    parameters: &[f64],
    data: &Whereabouts,
) -> Result<Option<NotNormalizable>> {
    if model.space().is_sphere() {
        return Ok(None);
    }
    let far = Far { model, parameters, data };
    for axis in 0..data.center.len() {
        for sign in [-1.0, 1.0] {
            let mut ray = vec![0.0; data.center.len()];
            ray[axis] = sign;
            if far.allows(&ray) && far.first_rising(&[ray])?.is_some() {
                return Ok(Some(far.along_axis(axis, sign)));
            }
        }
    }
    let open = model.space().domains().iter().filter(|domain| reach(domain) != [false; 2]).count();
    if open < 2 { Ok(None) } else { far.steepest() }
}

/// Whether a variable may go down and up for ever.
fn reach(domain: &Domain) -> [bool; 2] {
    let (lower, upper) = domain.bounds();
    [lower.is_infinite(), upper.is_infinite()]
}

/// The nearest value that a domain has.
fn place(domain: &Domain, x: f64) -> f64 {
    match domain {
        Domain::Counts => x.round().max(0.0),
        Domain::States(states) => {
            let nearest =
                states.iter().copied().reduce(|a, b| if (b - x).abs() < (a - x).abs() { b } else { a });
            nearest.unwrap_or(x)
        }
        _ => x,
    }
}

/// A log-density far from the data.
struct Far<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    data: &'a Whereabouts,
}

impl Far<'_> {
    fn domains(&self) -> &[Domain] {
        self.model.space().domains()
    }

    /// Whether a ray stays inside the domain for ever.
    fn allows(&self, ray: &[f64]) -> bool {
        let inside = |(z, domain): (&f64, &Domain)| {
            let [down, up] = reach(domain);
            (*z >= 0.0 || down) && (*z <= 0.0 || up)
        };
        ray.iter().zip(self.domains()).all(inside)
    }

    /// The direction within what the domain allows, of length one; `None` where nothing is left.
    fn within(&self, mut ray: Vec<f64>) -> Option<Vec<f64>> {
        for (z, domain) in ray.iter_mut().zip(self.domains()) {
            *z = match reach(domain) {
                [false, false] => 0.0,
                [false, true] => z.abs(),
                [true, false] => -z.abs(),
                [true, true] => *z,
            };
        }
        let length = ray.iter().map(|z| z * z).sum::<f64>().sqrt();
        (length > 1e-9).then(|| ray.iter().map(|z| z / length).collect())
    }

    /// The log-density at distances along rays, one after another; NaN where it is none.
    fn values(&self, rays: &[Vec<f64>], distances: &[f64]) -> Result<Vec<f64>> {
        let (size, rows) = (self.data.center.len(), rays.len() * distances.len());
        let along = |j: usize| {
            let pairs =
                rays.iter().flat_map(move |ray| distances.iter().map(move |distance| distance * ray[j]));
            pairs.map(move |z| place(&self.domains()[j], self.data.center[j] + z * self.data.scale[j]))
        };
        let points: Vec<f64> = (0..size).flat_map(along).collect();
        let mut values = vec![f64::NAN; rows];
        match self.model.evaluate(self.parameters, View::new(size, rows, &points), &mut values, None) {
            Ok(()) => Ok(values),
            Err(Error::NotANumber { .. }) if rays.len() > 1 => {
                let apart: Result<Vec<Vec<f64>>> =
                    rays.iter().map(|ray| self.values(std::slice::from_ref(ray), distances)).collect();
                Ok(apart?.concat())
            }
            Err(Error::NotANumber { .. }) => Ok(vec![f64::NAN; rows]),
            Err(error) => Err(error),
        }
    }

    /// The first of the rays along which the log-density rises.
    fn first_rising<'r>(&self, rays: &'r [Vec<f64>]) -> Result<Option<&'r Vec<f64>>> {
        let values = self.values(rays, &FAR)?;
        let rises = |v: &[f64]| v.iter().all(|x| x.is_finite()) && v.windows(2).all(|pair| pair[1] > pair[0]);
        Ok(rays.iter().zip(values.chunks(FAR.len())).find(|(_, v)| rises(v)).map(|(ray, _)| ray))
    }

    fn along_axis(&self, axis: usize, sign: f64) -> NotNormalizable {
        let variable = Some(self.model.space().names()[axis].clone());
        let towards = crate::text::number(f64::INFINITY.copysign(sign));
        NotNormalizable { variable, towards, direction: None }
    }

    /// Looks along many rays, turns the highest ones until they are no higher, and says whether one of them rises.
    fn steepest(&self) -> Result<Option<NotNormalizable>> {
        let mut random = Purpose::IntegrabilityProbe { kind: 1 }.fixed_stream();
        let rays = self.directions(&mut random);
        if let Some(ray) = self.first_rising(&rays)? {
            return Ok(Some(self.named(ray)));
        }
        let heights = self.values(&rays, &FAR[..1])?;
        let mut known: Vec<(f64, Vec<f64>)> =
            heights.into_iter().zip(rays).filter(|(height, _)| height.is_finite()).collect();
        known.sort_by(|a, b| b.0.total_cmp(&a.0));
        known.truncate(CLIMBS.0);
        let climbed: Result<Vec<Vec<f64>>> =
            known.into_iter().map(|(height, ray)| self.climb(height, ray, &mut random)).collect();
        let climbed = climbed?;
        Ok(self.first_rising(&climbed)?.map(|ray| self.named(ray)))
    }

    /// Diagonals, the data's own axes, and directions at random.
    fn directions(&self, random: &mut Stream) -> Vec<Vec<f64>> {
        let size = self.data.center.len();
        let mut all: Vec<Vec<f64>> = Vec::new();
        if size <= DIAGONALS {
            for (i, j) in (0..size).flat_map(|i| (0..i).map(move |j| (i, j))) {
                for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                    let mut ray = vec![0.0; size];
                    (ray[i], ray[j]) = (a, b);
                    all.push(ray);
                }
            }
        }
        for axis in self.data.axes.column_iter() {
            all.extend([axis.iter().copied().collect(), axis.iter().map(|z| -z).collect()]);
        }
        for _ in 0..RANDOM {
            all.push((0..size).map(|_| StandardNormal.sample(random)).collect());
        }
        all.into_iter().filter_map(|ray| self.within(ray)).collect()
    }

    /// Turns a ray to where the log-density is highest, by turns at random that grow smaller when none helps.
    fn climb(&self, mut height: f64, mut ray: Vec<f64>, random: &mut Stream) -> Result<Vec<f64>> {
        let mut angle = 0.5;
        for _ in 0..CLIMBS.1 {
            let mut turned = || -> Option<Vec<f64>> {
                let turn = |z: &f64| -> f64 {
                    let random: f64 = StandardNormal.sample(random);
                    z + angle * random
                };
                self.within(ray.iter().map(turn).collect())
            };
            let rays: Vec<Vec<f64>> = (0..TURNS).filter_map(|_| turned()).collect();
            let values = self.values(&rays, &FAR[..1])?;
            let best = (0..rays.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best });
            if !rays.is_empty() && values[best] > height {
                (height, ray) = (values[best], rays[best].clone());
            } else {
                angle *= 0.5;
            }
        }
        Ok(ray)
    }

    /// A ray in the variables' own units.
    fn named(&self, ray: &[f64]) -> NotNormalizable {
        let own: Vec<f64> = ray.iter().zip(&self.data.scale).map(|(z, s)| z * s).collect();
        NotNormalizable { variable: None, towards: crate::text::number(f64::INFINITY), direction: Some(own) }
    }
}
