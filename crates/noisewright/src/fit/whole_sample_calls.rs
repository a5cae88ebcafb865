//! Energies that cost something per call, such as functions of another language: a whole sample in one call.

use super::evaluate::ParameterPoint;
use super::objective::Objective;
use super::prepare::pick;
use super::sample_blocks::{CHUNK, RowSource, SampleBlocks};
use crate::{Points, Result, View};

/// The energy and its score at all the rows of a sample that are used, of which chunks are then cut.
pub(crate) struct Whole {
    value: Vec<f64>,
    /// Column after column.
    score: Vec<f64>,
    thin: usize,
}

impl Whole {
    /// `None` for an energy that is as well asked in small portions, and for rows that are not in memory.
    pub(crate) fn new(
        objective: &Objective<'_>,
        side: &SampleBlocks<'_>,
        place: &ParameterPoint,
    ) -> Result<Option<Self>> {
        let Some(rows) = rows(objective, side) else { return Ok(None) };
        let points = rows.view();
        let mut value = vec![0.0; points.rows()];
        let mut score = vec![0.0; points.rows() * place.theta.len()];
        objective.model.evaluate(&place.theta, points, &mut value, Some(&mut score))?;
        Ok(Some(Self { value, score, thin: objective.thin }))
    }

    /// Copies one chunk, given the number of its first row.
    pub(crate) fn cut(&self, first_row: usize, value: &mut [f64], score: &mut [f64]) {
        let (rows, count) = (self.value.len(), value.len());
        let start = first_row / CHUNK / self.thin * CHUNK;
        value.copy_from_slice(&self.value[start..start + count]);
        for (out, column) in score.chunks_exact_mut(count).zip(self.score.chunks_exact(rows)) {
            out.copy_from_slice(&column[start..start + count]);
        }
    }
}

/// The rows that are used, in order.
pub(crate) enum Rows<'s> {
    All(View<'s>),
    Some(Points),
}

impl Rows<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::All(view) => *view,
            Self::Some(points) => points.view(),
        }
    }
}

/// The rows of a sample that are asked for in one call, where that applies.
pub(crate) fn rows<'s>(objective: &Objective<'_>, side: &'s SampleBlocks<'_>) -> Option<Rows<'s>> {
    let asked = !objective.linear && objective.model.energy().prefers_batches();
    let RowSource::Memory { points, .. } = &side.feed else { return None };
    let view = asked.then(|| points.view())?;
    if objective.thin == 1 {
        return Some(Rows::All(view));
    }
    let starts = (0..view.rows()).step_by(CHUNK * objective.thin);
    let ranges: Vec<_> = starts.map(|start| start..view.rows().min(start + CHUNK)).collect();
    Some(Rows::Some(pick(view, None, &ranges).0))
}
