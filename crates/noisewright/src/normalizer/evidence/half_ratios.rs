//! The two log-densities at draws and at noise points, block by block: the points of the noise are never all in memory.

use noisewright_numerics::parallel::try_map;

use noisewright_numerics::special::ln_add_exp;

use super::choose::Fitted;
use super::density::{BLOCK, evaluate_draws};
use super::halves::Half;
use crate::density::log_densities;
use crate::memory::check_count;
use crate::noise::quiet::{QuietDraws, Replicates};
use crate::run::{Context, Purpose};
use crate::{Density, Domain, Error, Points, RealMap, Result, Space, View};

/// Most variables in which noise is drawn quietly: in more it gains little (MATH §8).
const MOST_QUIET: usize = 12;
/// Fewest points of a replicate of quiet draws.
const FEWEST_POINTS: usize = 8;

/// The two log-densities at some points, in the space of real vectors.
#[derive(Clone, Debug, Default)]
pub(super) struct TwoLogDensities {
    pub(super) log_f: Vec<f64>,
    pub(super) log_noise: Vec<f64>,
}

/// What random numbers are for: each purpose has streams of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    First,
    Second,
    Trial,
}

impl Stage {
    fn purpose(self) -> Purpose {
        Purpose::EvidenceNoise { stage: self as u64 }
    }

    fn quiet_purpose(self) -> Purpose {
        Purpose::QuietEvidence { stage: self as u64 }
    }
}

/// How many draws of a noise, and how they are made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Drawn {
    Independently(usize),
    Quietly(Replicates),
}

impl Drawn {
    /// All of them.
    pub(super) fn count(self) -> usize {
        match self {
            Self::Independently(count) => count,
            Self::Quietly(replicates) => replicates.rows(),
        }
    }

    /// The replicates of quiet draws.
    pub(super) fn replicates(self) -> Option<Replicates> {
        match self {
            Self::Independently(_) => None,
            Self::Quietly(replicates) => Some(replicates),
        }
    }
}

/// The density, the draws mapped to the real line, and the log-density of every draw there.
pub(super) struct Problem<'a> {
    density: &'a dyn Density,
    pub(super) space: &'a Space,
    draws: View<'a>,
    map: Option<RealMap>,
    /// The mapped draws, empty where mapping changes nothing.
    mapped: Vec<f64>,
    /// All draws, mapped, where the density is evaluated at some of them only, with their halves.
    whole: Option<(Points, [Half; 2])>,
    /// `log f(x) + Σ ln dx/dy` at the draws.
    pub(super) log_f: Vec<f64>,
    symmetric: bool,
    context: &'a Context,
}

impl<'a> Problem<'a> {
    pub(super) fn new(
        density: &'a dyn Density,
        draws: View<'a>,
        symmetric: bool,
        context: &'a Context,
    ) -> Result<Self> {
        let space = density.space();
        if draws.columns() != space.dimension() {
            let (expected, found) = (space.dimension(), draws.columns());
            return Err(Error::Shape { what: "columns of draws", expected, found });
        }
        check_domains(draws, space)?;
        let continuous = !space.is_sphere() && space.domains().iter().all(|domain| !domain.is_discrete());
        let map = if continuous { Some(RealMap::new(space, Some(draws))?) } else { None };
        if !space.is_sphere() {
            check_varies(draws, space)?;
        }
        let (mapped, log_jacobian) = on_real_line(map.as_ref(), draws, space)?;
        let mut log_f = evaluate_draws(density, draws, context.cancel_token())?;
        log_f.iter_mut().zip(log_jacobian).for_each(|(f, j)| *f += j);
        Ok(Self { density, space, draws, map, mapped, whole: None, log_f, symmetric, context })
    }

    /// Fits noises to more draws than those at which the density is evaluated.
    pub(super) fn with_whole(mut self, whole: View<'_>, halves: [Half; 2]) -> Result<Self> {
        check_domains(whole, self.space)?;
        let (mapped, _) = on_real_line(self.map.as_ref(), whole, self.space)?;
        let values = if mapped.is_empty() {
            (0..whole.columns()).flat_map(|j| whole.column(j).iter().copied()).collect()
        } else {
            mapped
        };
        self.whole = Some((Points::from_values(self.space.names(), whole.rows(), values)?, halves));
        Ok(self)
    }

    /// The draws of a half that a noise is fitted to, about `most` of them at most: in place where they are one stretch, otherwise
    /// copied to `storage`.
    pub(super) fn training<'s>(
        &'s self,
        half: usize,
        halves: &[Half; 2],
        most: usize,
        storage: &'s mut Vec<f64>,
    ) -> View<'s> {
        let (half, points) = match &self.whole {
            Some((points, whole)) => (&whole[half], points.view()),
            None => (&halves[half], self.points()),
        };
        if half.rows() <= most {
            return half.points(points, storage);
        }
        let rows = half.thinned(most);
        for j in 0..points.columns() {
            storage.extend(rows.iter().map(|row| points.get(*row, j)));
        }
        View::new(points.columns(), rows.len(), storage)
    }

    /// Whether the density is averaged with its mirror image.
    pub(super) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Whether the points are real vectors, mapped or by themselves.
    pub(super) fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// The draws as the noise sees them.
    pub(super) fn points(&self) -> View<'_> {
        if self.mapped.is_empty() {
            self.draws
        } else {
            View::new(self.draws.columns(), self.draws.rows(), &self.mapped)
        }
    }

    /// A fit's failure with the columns it is about.
    pub(super) fn named<T>(&self, fit: Result<T>) -> Result<T> {
        fit.map_err(|error| match error {
            Error::Noise { noise, reason } if reason.contains("positive definite") => {
                let columns = crate::text::list(self.space.names());
                let reason = if self.space.dimension() == 1 {
                    format!("column {columns} hardly varies in the draws")
                } else {
                    format!("columns {columns} are linearly dependent in the draws: leave out what follows from the others")
                };
                Error::Fit { noise, reason }
            }
            other => other,
        })
    }

    /// Both log-densities at every draw.
    pub(super) fn all(&self, fitted: &Fitted) -> Result<TwoLogDensities> {
        let points = self.points();
        let mut out = TwoLogDensities { log_f: self.log_f.clone(), log_noise: vec![0.0; points.rows()] };
        let blocks = out.log_noise.chunks_mut(BLOCK).zip(out.log_f.chunks_mut(BLOCK));
        try_map(blocks.enumerate(), |(block, (log_noise, log_f))| {
            self.context.check()?;
            let start = block * BLOCK;
            let part = points.slice(start..start + log_noise.len());
            fitted.noise.log_density(part, log_noise);
            self.symmetrize(fitted, part, log_f, log_noise)
        })?;
        Ok(out)
    }

    /// Both log-densities at some draws.
    pub(super) fn selected(&self, fitted: &Fitted, rows: &[usize]) -> Result<TwoLogDensities> {
        let points = self.points();
        let mut values = Vec::with_capacity(rows.len() * points.columns());
        for j in 0..points.columns() {
            let column = points.column(j);
            values.extend(rows.iter().map(|row| column[*row]));
        }
        let view = View::new(points.columns(), rows.len(), &values);
        let mut log_f: Vec<f64> = rows.iter().map(|row| self.log_f[*row]).collect();
        let mut log_noise = vec![0.0; rows.len()];
        fitted.noise.log_density(view, &mut log_noise);
        self.symmetrize(fitted, view, &mut log_f, &log_noise)?;
        Ok(TwoLogDensities { log_f, log_noise })
    }

    /// Whether so many draws of the noise are made quietly, and then in which replicates: in few continuous variables, and with
    /// points enough for every replicate to be a net.
    pub(super) fn replicates(&self, fitted: &Fitted, count: usize) -> Option<Replicates> {
        let continuous = self.space.domains().iter().all(|domain| !domain.is_discrete());
        let few = self.space.dimension() <= MOST_QUIET && fitted.noise.uniforms().is_some();
        Some(Replicates::nearest(count)).filter(|r| continuous && few && r.points >= FEWEST_POINTS)
    }

    /// Both log-densities at so many draws of the noise, quietly in replicates where those are given.
    pub(super) fn noise_side(&self, fitted: &Fitted, drawn: Drawn, stage: Stage) -> Result<TwoLogDensities> {
        let count = drawn.count();
        // Two log-densities of each, and as many again where they are compared.
        check_count("noise draws", count, 4)?;
        let quiet = match drawn {
            Drawn::Quietly(r) => {
                let seed = self.context.seed();
                Some(QuietDraws::new(fitted.noise.as_ref(), r.count, r.points, seed, stage.quiet_purpose())?)
            }
            Drawn::Independently(_) => None,
        };
        let mut out = TwoLogDensities { log_f: vec![0.0; count], log_noise: vec![0.0; count] };
        let d = self.draws.columns();
        let blocks = out.log_noise.chunks_mut(BLOCK).zip(out.log_f.chunks_mut(BLOCK));
        try_map(blocks.enumerate(), |(block, (log_noise, log_f))| {
            self.context.check()?;
            let rows = log_noise.len();
            let points = match &quiet {
                Some(quiet) => quiet.draw(block * BLOCK..block * BLOCK + rows),
                None => {
                    let mut points = vec![0.0; d * rows];
                    let mut stream = self.context.stream(stage.purpose(), block as u64);
                    fitted.noise.draw(&mut stream, rows, &mut points);
                    points
                }
            };
            let view = View::new(d, rows, &points);
            fitted.noise.log_density(view, log_noise);
            self.evaluate(view, log_f)?;
            self.symmetrize(fitted, view, log_f, log_noise)
        })?;
        Ok(out)
    }

    /// `log f(x(y)) + Σ ln dx/dy` of points y.
    fn evaluate(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        let Some(map) = self.map.as_ref().filter(|map| !map.is_identity()) else {
            return log_densities(self.density, points, out);
        };
        let (d, rows) = (points.columns(), points.rows());
        let (mut x, mut log_jacobian) = (vec![0.0; d * rows], vec![0.0; rows]);
        map.real_to_space(points, &mut x, &mut log_jacobian);
        log_densities(self.density, View::new(d, rows, &x), out)?;
        out.iter_mut().zip(log_jacobian).for_each(|(o, j)| *o += j);
        Ok(())
    }

    /// Replaces f by its mean with its mirror image (Meng and Schilling's Warp-III): the noise is its own image, so the
    /// ratio of the densities at the image is all that is needed, `ℓ ← ln ½(e^ℓ + e^ℓ′)`.
    fn symmetrize(
        &self,
        fitted: &Fitted,
        points: View<'_>,
        log_f: &mut [f64],
        log_noise: &[f64],
    ) -> Result<()> {
        let Some(mirror) = fitted.mirror.as_ref().filter(|_| self.symmetric) else { return Ok(()) };
        let (d, rows) = (points.columns(), points.rows());
        let mut images = vec![0.0; d * rows];
        mirror.reflect(points, &mut images);
        let view = View::new(d, rows, &images);
        let (mut image_f, mut image_noise) = (vec![0.0; rows], vec![0.0; rows]);
        self.evaluate(view, &mut image_f)?;
        fitted.noise.log_density(view, &mut image_noise);
        for (((f, noise), image_f), image_noise) in
            log_f.iter_mut().zip(log_noise).zip(image_f).zip(image_noise)
        {
            let image = image_f - image_noise;
            // An image so far out that both densities underflow says nothing.
            let image = if image.is_nan() { f64::NEG_INFINITY } else { image };
            *f = noise + ln_add_exp(*f - noise, image) - std::f64::consts::LN_2;
        }
        Ok(())
    }
}

/// Draws as real vectors and `Σ ln dx/dy` at them; both empty where mapping changes nothing.
fn on_real_line(map: Option<&RealMap>, draws: View<'_>, space: &Space) -> Result<(Vec<f64>, Vec<f64>)> {
    let Some(map) = map.filter(|map| !map.is_identity()) else { return Ok((Vec::new(), Vec::new())) };
    let mut log_jacobian = vec![0.0; draws.rows()];
    let mut mapped = vec![0.0; draws.rows() * draws.columns()];
    map.to_real(draws, &mut mapped, &mut log_jacobian);
    check_inside(draws, &mapped, space)?;
    Ok((mapped, log_jacobian))
}

fn check_domains(draws: View<'_>, space: &Space) -> Result<()> {
    if space.is_sphere() {
        return Ok(());
    }
    for (j, (domain, variable)) in space.domains().iter().zip(space.names()).enumerate() {
        if let Some(row) = draws.column(j).iter().position(|x| !domain.contains(*x)) {
            return Err(misplaced(row, variable, draws.get(row, j), domain));
        }
    }
    Ok(())
}

/// What is wrong with a value that its domain does not contain: one on an end may have been rounded there.
fn misplaced(row: usize, variable: &str, value: f64, domain: &Domain) -> Error {
    let (lower, upper) = domain.bounds();
    if !domain.is_discrete() && (value == lower || value == upper) && value.is_finite() {
        return outside(row, variable, value);
    }
    Error::OutsideDomain { row: row + 1, column: variable.to_owned(), value, domain: domain.to_string() }
}

/// A variable that stays where it is has no density, though the rounding of its mean may look like a spread; and one of
/// several states or counts says nothing about the others.
fn check_varies(draws: View<'_>, space: &Space) -> Result<()> {
    let only = |j: usize| matches!(&space.domains()[j], Domain::States(states) if states.len() == 1);
    let still = |j: &usize| !only(*j) && draws.column(*j).iter().all(|x| *x == draws.get(0, *j));
    match (0..draws.columns()).find(still) {
        None => Ok(()),
        Some(j) => {
            let mut reason = format!("column `{}` does not vary in the draws", space.names()[j]);
            if space.domains()[j].is_discrete() {
                reason += ", so nothing shows what its other values weigh: draw more, or fix it in the model";
            }
            Err(Error::Fit { noise: "auto".into(), reason })
        }
    }
}

/// A draw on an end of its domain has no place on the real line.
fn check_inside(draws: View<'_>, mapped: &[f64], space: &Space) -> Result<()> {
    let rows = draws.rows();
    match mapped.iter().position(|y| !y.is_finite()) {
        None => Ok(()),
        Some(at) => Err(outside(at % rows, &space.names()[at / rows], draws.get(at % rows, at / rows))),
    }
}

fn outside(row: usize, variable: &str, value: f64) -> Error {
    Error::DrawOutside { row: row + 1, variable: variable.to_owned(), value }
}
