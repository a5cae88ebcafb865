//! Noise points for every row: the row and K draws from the noise given its covariates are the alternatives of one choice.

//!
//! Independent draws are one way. The other is quiet: a row is carried to the unit cube by the noise's distribution function,
//! and its alternatives are the other points of the scrambled net that it lies in there ([`Sobol::around`]). Given the net a row is
//! any of its points with a probability proportional to `exp s`, so that the ranking loss is a likelihood as it is with independent
//! draws, consistent for every number of points; what it loses to maximum likelihood is the variance of the mean score over the
//! net instead of that over independent points.

use noisewright_numerics::sobol::Sobol;
use noisewright_numerics::summation::try_blocked;

use crate::fit::choices::ConditionalLogit;
use crate::fit::data::Data;
use crate::fit::options::DrawKind;
use crate::memory::check_count;
use crate::noise::quiet::quiet_dimension;
use crate::run::{Context, Purpose};
use crate::{ConditionalNoise, Domain, Error, Model, Noise, Points, Result, Stream, View};

/// Rows whose noise comes from one random stream.
const BLOCK: usize = 256;

/// Alternatives of some rows, row after row: the values of the variables and the log-densities of the noise.
#[derive(Default)]
struct Drawn {
    /// Point after point.
    values: Vec<f64>,
    log_noise: Vec<f64>,
}

/// How many noise points a row has, how they are drawn, and for what.
#[derive(Clone, Copy)]
pub(super) struct RowDraws {
    pub(super) choices: usize,
    pub(super) kind: DrawKind,
    pub(super) purpose: Purpose,
}

/// Every row with noise points of its own.
///
/// # Errors
/// When the noise has no density at a row or cannot be drawn quietly although it should, or memory does not hold the points.
pub(super) fn choice_sets<'m>(
    model: &'m Model,
    data: Data<'_>,
    noise: &ConditionalNoise,
    how: RowDraws,
    context: &Context,
) -> Result<ConditionalLogit<'m>> {
    let choices = how.choices;
    let (rows, dimension) = (data.points.rows(), model.space().dimension());
    let points = rows.saturating_mul(choices.saturating_add(1));
    // The points are put together from blocks.
    check_count("noise points", points, 2 * (dimension + 1))?;
    let draw = |range: std::ops::Range<usize>| {
        let mut stream = how.purpose.stream(context.seed(), (range.start / BLOCK) as u64);
        let mut drawn = Drawn::default();
        for row in range {
            context.check()?;
            let counts = data.weights.is_none_or(|w| w[row] > 0.0);
            drawn.add(model, data.points, (row, counts), noise, how, &mut stream)?;
        }
        Ok(drawn)
    };
    let drawn = try_blocked(rows, BLOCK, draw, Drawn::join)?.ok_or(Error::NoData)?;
    drawn.beside(model, data, choices + 1)
}

/// Every row with all other states that it could be in: the exact likelihood as one of choices.
///
/// # Errors
/// When a variable has no states that could be listed, or memory does not hold them all.
pub(super) fn all_states<'m>(model: &'m Model, data: Data<'_>) -> Result<ConditionalLogit<'m>> {
    let space = model.response_space()?;
    let (own, mut states) = (space.dimension(), vec![Vec::new()]);
    for domain in space.domains() {
        let Domain::States(values) = domain else {
            let reason = "can stand beside the noise exact where every variable has finitely many states alone: leave it out";
            return Err(Error::option("penalty", reason));
        };
        let each = states.iter().flat_map(|state: &Vec<f64>| {
            values.iter().map(move |value| state.iter().copied().chain([*value]).collect::<Vec<f64>>())
        });
        states = each.collect();
        check_count("states of every row", data.points.rows().saturating_mul(states.len()), 2 * (own + 1))?;
    }
    let mut listed = Drawn::default();
    for row in 0..data.points.rows() {
        let here: Vec<f64> = (0..own).map(|j| data.points.get(row, j)).collect();
        let others = states.iter().filter(|state| **state != here);
        listed.values.extend([&here].into_iter().chain(others).flatten());
    }
    listed.log_noise = vec![0.0; data.points.rows() * states.len()];
    listed.beside(model, data, states.len())
}

/// Whether the noise at the first row can be drawn quietly.
pub(super) fn is_quiet(model: &Model, data: Data<'_>, noise: &ConditionalNoise) -> Result<bool> {
    let there = noise.at(&model.covariates_in(data.points, 0))?;
    let point: Vec<f64> = (0..model.response_dimension()).map(|j| data.points.get(0, j)).collect();
    let Ok(uniforms) = quiet_dimension(&there) else { return Ok(false) };
    let mut stream = Purpose::QuietNoise.fixed_stream();
    Ok(there.inverse_transport(&point, &mut stream, &mut vec![0.0; uniforms]))
}

/// The other points of a scrambled net that has the row among its points.
fn net_around(there: &dyn Noise, row: &[f64], choices: usize, stream: &mut Stream) -> Result<Vec<f64>> {
    let count = choices + 1;
    let uniforms = quiet_dimension(&there)?;
    let mut place = vec![0.0; uniforms];
    let cannot = || {
        let reason = "its distribution function is not known, by which it would be drawn quietly around a row: draw it at random";
        Error::Noise { noise: there.describe(), reason: reason.into() }
    };
    if !there.inverse_transport(row, stream, &mut place) {
        return Err(cannot());
    }
    let sequence = Sobol::new(uniforms, stream).ok_or_else(cannot)?;
    let mut net = vec![0.0; uniforms * count];
    sequence.around(&place, count, &mut net);
    let others: Vec<f64> = net.chunks_exact(count).flat_map(|column| &column[1..]).copied().collect();
    let mut draws = vec![0.0; there.dimension() * choices];
    there.transport(View::new(uniforms, choices, &others), &mut draws);
    Ok(draws)
}

impl Drawn {
    fn add(
        &mut self,
        model: &Model,
        points: View<'_>,
        (row, counts): (usize, bool),
        noise: &ConditionalNoise,
        how: RowDraws,
        stream: &mut Stream,
    ) -> Result<()> {
        let (own, choices, count) = (model.response_dimension(), how.choices, how.choices + 1);
        let there = noise.at(&model.covariates_in(points, row))?;
        let draws = if how.kind == DrawKind::Quiet {
            let here: Vec<f64> = (0..own).map(|j| points.get(row, j)).collect();
            net_around(&there, &here, choices, stream)?
        } else {
            let mut draws = vec![0.0; own * choices];
            there.draw(stream, choices, &mut draws);
            draws
        };
        // Column by column, the row itself first.
        let mut values = Vec::with_capacity(own * count);
        for j in 0..own {
            values.push(points.get(row, j));
            values.extend_from_slice(&draws[j * choices..(j + 1) * choices]);
        }
        let mut log_noise = vec![0.0; count];
        there.log_density(View::new(own, count, &values), &mut log_noise);
        if !log_noise[0].is_finite() {
            if counts {
                return Err(Error::NoiseMissesData { row: row + 1 });
            }
            log_noise[0] = 0.0;
        }
        if let Some(draw) = log_noise.iter().position(|l| !l.is_finite()) {
            return Err(Error::NoiseMissesItself { row: draw });
        }
        for i in 0..count {
            self.values.extend((0..own).map(|j| values[j * count + i]));
        }
        self.log_noise.extend(log_noise);
        Ok(())
    }

    /// The alternatives of all rows, `count` of each, beside the rows' covariates.
    fn beside<'m>(self, model: &'m Model, data: Data<'_>, count: usize) -> Result<ConditionalLogit<'m>> {
        let (own, dimension, rows) =
            (model.response_dimension(), model.space().dimension(), data.points.rows());
        let mut values = Vec::with_capacity(rows * count * dimension);
        (0..own).for_each(|j| values.extend(self.values.iter().skip(j).step_by(own)));
        for j in own..dimension {
            for z in data.points.column(j) {
                values.extend(std::iter::repeat_n(*z, count));
            }
        }
        Ok(ConditionalLogit {
            model,
            points: Points::from_values(model.space().names(), rows * count, values)?,
            offset: self.log_noise,
            starts: (0..=rows).map(|row| row * count).collect(),
            chosen: None,
            weights: data.weights.map(<[f64]>::to_vec),
            clusters: None,
        })
    }

    fn join(mut self, other: Self) -> Self {
        self.values.extend(other.values);
        self.log_noise.extend(other.log_noise);
        self
    }
}
