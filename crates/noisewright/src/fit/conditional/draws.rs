//! Noise points for every row: the row and K draws from the noise given its covariates are the alternatives of one choice.

use noisewright_numerics::summation::try_blocked;

use crate::fit::choices::ConditionalLogit;
use crate::fit::data::Data;
use crate::memory::check_count;
use crate::run::{Context, Purpose};
use crate::{ConditionalNoise, Error, Model, Points, Result, View};

/// Rows whose noise comes from one random stream.
const BLOCK: usize = 256;

/// Alternatives of some rows, row after row: the values of the variables and the log-densities of the noise.
#[derive(Default)]
struct Drawn {
    /// Point after point.
    values: Vec<f64>,
    log_noise: Vec<f64>,
}

/// Every row with `choices` noise points.
///
/// # Errors
/// When the noise has no density at a row, or memory does not hold the points.
pub(super) fn choice_sets<'m>(
    model: &'m Model,
    data: Data<'_>,
    noise: &ConditionalNoise,
    choices: usize,
    context: &Context,
) -> Result<ConditionalLogit<'m>> {
    let (rows, dimension) = (data.points.rows(), model.space().dimension());
    let points = rows.saturating_mul(choices.saturating_add(1));
    // The points are put together from blocks.
    check_count("noise points", points, 2 * (dimension + 1))?;
    let draw = |range: std::ops::Range<usize>| {
        let mut stream = Purpose::FitNoise.stream(context.seed(), (range.start / BLOCK) as u64);
        let mut drawn = Drawn::default();
        for row in range {
            context.check()?;
            let counts = data.weights.is_none_or(|w| w[row] > 0.0);
            drawn.add(model, data.points, (row, counts), noise, choices, &mut stream)?;
        }
        Ok(drawn)
    };
    let drawn = try_blocked(rows, BLOCK, draw, Drawn::join)?.ok_or(Error::NoData)?;
    let own = model.response_dimension();
    let mut values = Vec::with_capacity(points * dimension);
    (0..own).for_each(|j| values.extend(drawn.values.iter().skip(j).step_by(own)));
    for j in own..dimension {
        for z in data.points.column(j) {
            values.extend(std::iter::repeat_n(*z, choices + 1));
        }
    }
    Ok(ConditionalLogit {
        model,
        points: Points::from_values(model.space().names(), points, values)?,
        offset: drawn.log_noise,
        starts: (0..=rows).map(|row| row * (choices + 1)).collect(),
        weights: data.weights.map(<[f64]>::to_vec),
    })
}

impl Drawn {
    fn add(
        &mut self,
        model: &Model,
        points: View<'_>,
        (row, counts): (usize, bool),
        noise: &ConditionalNoise,
        choices: usize,
        stream: &mut crate::Stream,
    ) -> Result<()> {
        let (own, count) = (model.response_dimension(), choices + 1);
        let there = noise.at(&model.covariates_in(points, row))?;
        let mut draws = vec![0.0; own * choices];
        there.draw(stream, choices, &mut draws);
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

    fn join(mut self, other: Self) -> Self {
        self.values.extend(other.values);
        self.log_noise.extend(other.log_noise);
        self
    }
}
