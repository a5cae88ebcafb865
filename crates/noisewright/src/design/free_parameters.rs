//! What each `?` of a noise in words stands for, and the coordinate in which it is searched.

use std::f64::consts::PI;

use noisewright_numerics::chart::{Chart, wrapped};

use crate::{Argument, Call, Domain, Error, Model, NoiseWords, Population, Result, Weight};

/// How far from the middle locations are searched, in standard deviations.
const FARTHEST: f64 = 20.0;

/// How far from the natural scale positive numbers are searched, as a factor.
const WIDEST: f64 = 200.0;

/// The map from an unbounded coordinate z to the value of a `?`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Map {
    /// `center + scale sinh z`: even steps near the center, even factors far away.
    Line { center: f64, scale: f64 },
    /// On the line of a chart, from a place on it.
    Along { chart: Chart, from: f64 },
    /// An angle.
    Angle,
    /// The share of a weight beside the first free one of its mixture: `e^z`.
    Share,
    /// The first free weight of a mixture: always the share 1, so it has no coordinate.
    FirstShare,
}

impl Map {
    /// Where z is searched; `None` without a coordinate.
    pub(super) fn range(self) -> Option<(f64, f64)> {
        let reach = match self {
            Self::Line { .. } => FARTHEST.asinh(),
            Self::Along { chart: Chart::Logit { .. }, .. } => 7.0,
            Self::Along { .. } => WIDEST.ln(),
            Self::Angle => PI,
            Self::Share => 6.0,
            Self::FirstShare => return None,
        };
        Some((-reach, reach))
    }

    pub(super) fn is_periodic(self) -> bool {
        self == Self::Angle
    }

    pub(super) fn value(self, z: f64) -> f64 {
        match self {
            Self::Line { center, scale } => center + scale * z.sinh(),
            Self::Along { chart, from } => chart.from_real(from + z),
            Self::Angle => wrapped(z),
            Self::Share => z.exp(),
            Self::FirstShare => 1.0,
        }
    }
}

/// The maps of all `?`, in the order of the text.
///
/// # Errors
/// When a `?` stands where nothing can be optimised.
pub(super) fn maps(
    words: &NoiseWords,
    model: &Model,
    parameters: &[f64],
    population: &Population,
) -> Result<Vec<Map>> {
    let mut reader = Reader { model, parameters, population, maps: Vec::new() };
    reader.words(words, None)?;
    Ok(reader.maps)
}

struct Reader<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    population: &'a Population,
    maps: Vec<Map>,
}

/// What a number in a noise is, in the units of one variable.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Location,
    Deviation,
    Variance,
    /// A positive number around this one.
    Positive(f64),
    Angle,
    Probability,
    /// Mean, shape and rate of positive variables, from their moments.
    Mean,
    Shape,
    Rate,
    LogLocation,
}

/// The role of an argument by its position, where there is one.
fn role(name: &str, index: usize) -> Option<Role> {
    Some(match (name, index) {
        ("normal", 0) | ("laplace" | "logistic", 0) | ("student", 1) | ("uniform", 0 | 1) => Role::Location,
        ("truncate", 1 | 2) | ("beta", 2 | 3) => Role::Location,
        ("normal", 1) => Role::Variance,
        ("laplace" | "logistic", 1) | ("student", 2) => Role::Deviation,
        ("student", 0) => Role::Positive(5.0),
        ("beta", 0 | 1) | ("lognormal", 1) | ("von-mises", 1) | ("von-mises-fisher", 1) => {
            Role::Positive(1.0)
        }
        ("negative-binomial", 1) => Role::Positive(1.0),
        ("gamma", 0) => Role::Shape,
        ("gamma", 1) => Role::Rate,
        ("lognormal", 0) => Role::LogLocation,
        ("von-mises", 0) => Role::Angle,
        ("poisson" | "negative-binomial", 0) => Role::Mean,
        ("bernoulli", 0) => Role::Probability,
        _ => return None,
    })
}

impl Reader<'_> {
    /// A noise of one of the variables, or of all of them.
    fn words(&mut self, words: &NoiseWords, axis: Option<usize>) -> Result<()> {
        let mut first = true;
        for (weight, call) in &words.terms {
            if *weight == Weight::Free {
                self.maps.push(if first { Map::FirstShare } else { Map::Share });
                first = false;
            }
            self.call(call, axis)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &Call, axis: Option<usize>) -> Result<()> {
        for (index, argument) in call.arguments.iter().enumerate() {
            let variable = if call.name == "product" { Some(index) } else { axis };
            match argument {
                Argument::Number(_) | Argument::Text(_) | Argument::Formula(_) => {}
                Argument::Noise(inner) => self.words(inner, variable)?,
                Argument::Named(name, value) => self.named(call, name, value)?,
                Argument::Free => {
                    let role = role(&call.name, index).ok_or_else(|| refused(call))?;
                    let map = self.map(role, axis)?;
                    self.maps.push(map);
                }
                Argument::List(entries) => self.list(call, index, entries)?,
            }
        }
        Ok(())
    }

    /// One number per variable, or a matrix of which only the diagonal can be free.
    fn list(&mut self, call: &Call, index: usize, entries: &[Argument]) -> Result<()> {
        for (axis, entry) in entries.iter().enumerate() {
            match entry {
                Argument::Free => {
                    let known = role(&call.name, index).filter(|_| call.name != "von-mises-fisher");
                    let map = self.map(known.ok_or_else(|| refused(call))?, Some(axis))?;
                    self.maps.push(map);
                }
                Argument::List(row) => {
                    for (column, entry) in row.iter().enumerate() {
                        if *entry == Argument::Free {
                            let diagonal =
                                column == axis && ["normal", "student"].contains(&call.name.as_str());
                            let map = self.map(Role::Variance, Some(axis))?;
                            self.maps.push(if diagonal { map } else { return Err(off_diagonal(call)) });
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `model(name = ?)`: a parameter, between its bounds.
    fn named(&mut self, call: &Call, name: &str, value: &Argument) -> Result<()> {
        match value {
            Argument::Number(_) | Argument::Text(_) => return Ok(()),
            Argument::Free if call.name == "model" => {}
            _ => return Err(refused(call)),
        }
        let index = self.model.index_of(name)?;
        let (parameter, at) = (&self.model.parameters()[index], self.parameters[index]);
        let information = self.population.information()[(index, index)];
        let deviation = if information > 0.0 { 1.0 / information.sqrt() } else { at.abs().max(1.0) };
        let distance = |d: f64| if d > 0.0 { d } else { deviation };
        let (lower, upper) = (parameter.lower, parameter.upper);
        let chart = Chart::between(lower, upper);
        self.maps.push(match chart {
            Chart::Above { .. } => Map::Along { chart, from: distance(at - lower).ln() },
            Chart::Below { .. } => Map::Along { chart, from: -distance(upper - at).ln() },
            Chart::Logit { .. } => Map::Along { chart, from: 0.0 },
            _ => Map::Line { center: at, scale: deviation },
        });
        Ok(())
    }

    /// The map of a role, in the units of a variable or of all of them together.
    fn map(&self, role: Role, axis: Option<usize>) -> Result<Map> {
        let (mean, deviation) = self.moments(axis, |x| x);
        let positive = |scale: f64| Map::Along { chart: Chart::Above { lo: 0.0 }, from: scale.ln() };
        let variance = deviation * deviation;
        Ok(match role {
            Role::Location if self.is_circular(axis) => Map::Angle,
            Role::Angle => Map::Angle,
            Role::Location => Map::Line { center: mean, scale: deviation },
            Role::Deviation => positive(deviation),
            Role::Variance => positive(variance),
            Role::Positive(scale) => positive(scale),
            Role::Probability => Map::Along { chart: Chart::Logit { lo: 0.0, hi: 1.0 }, from: 0.0 },
            Role::Mean => positive(mean.abs().max(1e-3 * deviation)),
            // Where the data are not positive, or hardly, the moments say nothing: then of the order of one.
            Role::Shape => positive((mean * mean / variance).max(1.0)),
            Role::Rate => positive((mean.abs() + deviation) / variance),
            Role::LogLocation => {
                let (center, scale) = self.moments(axis, f64::ln);
                Map::Line { center, scale }
            }
        })
    }

    fn is_circular(&self, axis: Option<usize>) -> bool {
        let domains = self.model.space().domains();
        domains[axis.unwrap_or(0).min(domains.len() - 1)] == Domain::Circle
    }

    /// Mean and standard deviation of a function of one variable, or of all variables pooled.
    fn moments(&self, axis: Option<usize>, f: impl Fn(f64) -> f64) -> (f64, f64) {
        let points = self.population.points().view();
        let axes = axis.map_or(0..points.columns(), |a| a..a + 1);
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for column in axes.filter(|a| *a < points.columns()) {
            for (x, log_weight) in points.column(column).iter().zip(self.population.log_weights()) {
                let (x, q) = (f(*x), log_weight.exp());
                if q > 0.0 && x.is_finite() {
                    mass += q;
                    // A running mean keeps the variance of data far from zero.
                    let step = x - first;
                    first += q / mass * step;
                    second += q * step * (x - first);
                }
            }
        }
        let deviation = (second / mass).sqrt();
        if deviation > 0.0 && deviation.is_finite() { (first, deviation) } else { (0.0, 1.0) }
    }
}

fn refused(call: &Call) -> Error {
    let reason = "a `?` cannot be optimised there; it can stand for a number of a family such as normal(?, ?), for the \
                  weight of a part of a mixture, or for a parameter, as in model(a=?)";
    Error::Noise { noise: call.to_string(), reason: reason.into() }
}

fn off_diagonal(call: &Call) -> Error {
    let reason =
        "a `?` beside the diagonal of a matrix cannot be optimised, because two entries must stay the same";
    Error::Noise { noise: call.to_string(), reason: reason.into() }
}
