//! Many states at once, call by call.

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use super::{chain_lengths, evaluated};
use crate::fit::{Data, check_chains};
use crate::normalizer::Dependence;
use crate::normalizer::states::{Origin, Pooled, StatesEstimate, StatesOptions, estimate};
use crate::run::Stage;
use crate::{Density, Error, Points, Result};

/// Log-normalizers of several densities relative to the first, from draws of all of them (MBAR).
///
/// ```
/// use noisewright::prelude::*;
/// let widths = [1.0, 2.0, 4.0];
/// let bells: Vec<_> = widths
///     .iter()
///     .map(|v| Ok(density(Space::real(&["x"])?, move |x: &[f64]| -0.5 * x[0] * x[0] / v)))
///     .collect::<Result<_>>()?;
/// let draws: Vec<Points> = (0..3).map(|k| sample(&Normal::with_variance(0.0, widths[k]).unwrap(), 1000, k as u64)).collect();
/// let result = states(&bells).draws(&draws).run()?;
/// assert!((result.log_z()[2] - 0.5 * 4f64.ln()).abs() < 4.0 * result.se()[2]);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[doc(alias = "mbar")]
pub fn states<D: Density>(densities: &[D]) -> StatesBuilder<'_, D> {
    StatesBuilder { densities, draws: Vec::new(), options: StatesOptions::default(), threads: None }
}

/// Log-normalizers that are being asked for: see [`states`].
#[must_use = "nothing is done before `run`"]
pub struct StatesBuilder<'a, D> {
    densities: &'a [D],
    draws: Vec<Data<'a>>,
    options: StatesOptions,
    threads: Option<usize>,
}

impl<D> std::fmt::Debug for StatesBuilder<'_, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatesBuilder")
            .field("states", &self.densities.len())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<'a, D: Density> StatesBuilder<'a, D> {
    setters! {
        /// The draws of every state, in the order of the densities; a state may have none.
        draws(draws: impl IntoIterator<Item = impl Into<Data<'a>>>) => draws = draws.into_iter().map(Into::into).collect();
    }

    /// Every draw is independent of all others.
    pub fn independent(mut self) -> Self {
        self.options.dependence = Dependence::Independent;
        self
    }

    /// The state whose log-normalizer is known, and its value (default: the first, 0).
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let bell = |v: f64| -> Result<_> {
    ///     Ok(density(Space::real(&["x"])?, move |x: &[f64]| -0.5 * x[0] * x[0] / v))
    /// };
    /// let draws = [sample(&Normal::with_variance(0.0, 1.0)?, 1000, 1), sample(&Normal::with_variance(0.0, 2.0)?, 1000, 2)];
    /// let known = 0.5 * std::f64::consts::TAU.ln();
    /// let result = states(&[bell(1.0)?, bell(2.0)?]).draws(&draws).independent().reference(0, known).run()?;
    /// assert!((result.log_z()[1] - known - 0.5 * 2f64.ln()).abs() < 4.0 * result.se()[1]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn reference(mut self, state: usize, log_z: f64) -> Self {
        (self.options.reference, self.options.reference_log_z) = (state, log_z);
        self
    }

    run_settings! {
        threads, cancel in options;
        progress in options;
        options: StatesOptions;
    }

    /// Estimates the log-normalizers.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let bell = |v: f64| -> Result<_> {
    ///     Ok(density(Space::real(&["x"])?, move |x: &[f64]| -0.5 * x[0] * x[0] / v))
    /// };
    /// let draws = [sample(&Normal::with_variance(0.0, 1.0)?, 1000, 1), sample(&Normal::with_variance(0.0, 4.0)?, 1000, 2)];
    /// let result = states(&[bell(1.0)?, bell(4.0)?]).draws(&draws).independent().run()?;
    /// assert!((result.log_z()[1] - 2f64.ln()).abs() < 5.0 * result.se()[1]);
    /// assert!(states(&[bell(1.0)?]).draws(&draws).run().is_err()); // draws of two states
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are not as many draws as densities, the densities differ in their variables, a log-density is not a
    /// number, or a draw has no density under its own state.
    pub fn run(self) -> Result<StatesEstimate> {
        on_threads(self.threads, || self.estimate())
    }

    fn estimate(&self) -> Result<StatesEstimate> {
        let pooled = self.pooled()?;
        let (context, states) = (self.options.context(), self.densities.len());
        let evaluate = |(state, density): (usize, &D)| {
            context.report(Stage::Prepare, state, Some(states))?;
            evaluated(density, pooled.points.view(), context.cancel_token())
        };
        let log_f = self.densities.iter().enumerate().map(evaluate).collect::<Result<Vec<_>>>()?;
        let columns: Vec<&[f64]> = log_f.iter().map(Vec::as_slice).collect();
        let origin = Origin::Counts(&pooled.counts);
        estimate(&Pooled { log_f: &columns, origin, chains: Some(&pooled.labels) }, &self.options)
    }

    /// The draws of all states, one after the other, in the variables of the first.
    fn pooled(&self) -> Result<PooledPoints> {
        let space = self.densities.first().ok_or(Error::NoStates)?.space();
        if let Some(other) = self.densities.iter().find(|density| density.space().names() != space.names()) {
            let (expected, found) = (space.names().join(", "), other.space().names().join(", "));
            let reason = format!("must all have the variables {expected}, but one has {found}");
            return Err(Error::option("densities", reason));
        }
        if self.draws.len() != self.densities.len() {
            let (expected, found) = (self.densities.len(), self.draws.len());
            return Err(Error::Shape { what: "draws, one batch per state", expected, found });
        }
        let mut columns = vec![Vec::new(); space.dimension()];
        let (mut counts, mut labels) = (Vec::new(), Vec::new());
        for draws in &self.draws {
            let lengths = chain_lengths(*draws)?;
            self.options.dependence.check_chains(lengths.is_some())?;
            draws.in_order_of(space, |draws| {
                let (rows, points) = (draws.points.rows(), draws.points);
                if points.columns() != space.dimension() {
                    let (expected, found) = (space.dimension(), points.columns());
                    return Err(Error::Shape { what: "columns of draws", expected, found });
                }
                let lengths = lengths.map_or_else(|| vec![rows], <[usize]>::to_vec);
                check_chains("draws in the chains", &lengths, rows)?;
                lengths
                    .iter()
                    .enumerate()
                    .for_each(|(label, n)| labels.extend(std::iter::repeat_n(label, *n)));
                counts.push(rows);
                columns
                    .iter_mut()
                    .enumerate()
                    .for_each(|(j, column)| column.extend_from_slice(points.column(j)));
                Ok(())
            })?;
        }
        Ok(PooledPoints { points: Points::from_columns(space.names(), &columns)?, counts, labels })
    }
}

/// Draws of all states, how many each has, and the chain of each draw.
struct PooledPoints {
    points: Points,
    counts: Vec<usize>,
    labels: Vec<usize>,
}
