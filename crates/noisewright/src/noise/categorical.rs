//! Distributions over a finite set of values; Bernoulli is the one over two.

use noisewright_numerics::random::Stream;

use super::check::{finite, probabilities, require};
use super::fitting::Sample;
use super::spelling::list;
use super::weighted_index::Picker;
use crate::{Error, Refit, Result, Scalar, View};

/// Probabilities of finitely many values (density with respect to counting).
///
/// ```
/// use noisewright::{Categorical, Scalar};
/// let spins = Categorical::new(&[-1.0, 1.0], &[0.25, 0.75])?;
/// assert_eq!((spins.cdf(-1.0), spins.cdf(0.0), spins.cdf(1.0)), (0.25, 0.25, 1.0));
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Categorical {
    /// States in increasing order, with their probabilities beside.
    states: Vec<f64>,
    probabilities: Vec<f64>,
    log_probabilities: Vec<f64>,
    picker: Picker,
}

impl Categorical {
    /// The states and their probabilities, in any order of the states.
    ///
    /// # Errors
    /// When the lengths differ, a state is not finite or listed twice, or the probabilities do not sum to one.
    pub fn new(states: &[f64], probabilities: &[f64]) -> Result<Self> {
        if states.len() != probabilities.len() {
            let (expected, found) = (states.len(), probabilities.len());
            return Err(Error::Shape { what: "probabilities of states", expected, found });
        }
        for &state in states {
            finite("a state of categorical", state)?;
        }
        let scaled = self::probabilities("the probabilities of categorical", probabilities)?;
        let mut order: Vec<usize> = (0..states.len()).collect();
        order.sort_by(|&a, &b| states[a].total_cmp(&states[b]));
        if let Some(pair) = order.windows(2).find(|pair| states[pair[0]] == states[pair[1]]) {
            require(false, "a state of categorical", states[pair[0]], "it is listed twice")?;
        }
        let probabilities: Vec<f64> = order.iter().map(|&i| scaled[i]).collect();
        Ok(Self {
            states: order.iter().map(|&i| states[i]).collect(),
            log_probabilities: probabilities.iter().map(|p| p.ln()).collect(),
            picker: Picker::new(&probabilities),
            probabilities,
        })
    }

    /// The same probability for every state.
    ///
    /// # Errors
    /// When there is no state, or one is not finite or listed twice.
    pub fn uniform(states: &[f64]) -> Result<Self> {
        Self::new(states, &vec![1.0 / states.len() as f64; states.len()])
    }

    /// `upper` with the given probability, `lower` otherwise.
    ///
    /// ```
    /// use noisewright::Categorical;
    /// let spin = Categorical::bernoulli(-1.0, 1.0, 0.25)?;
    /// assert_eq!(spin.probabilities(), [0.75, 0.25]); // of −1 and of 1
    /// assert_eq!(Categorical::uniform(&[1.0, 2.0])?.probabilities(), [0.5, 0.5]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the probability is not between 0 and 1 or the two values are the same.
    pub fn bernoulli(lower: f64, upper: f64, probability: f64) -> Result<Self> {
        let allowed = (0.0..=1.0).contains(&probability);
        require(allowed, "the probability of bernoulli", probability, "it must be between 0 and 1")?;
        Self::new(&[lower, upper], &[1.0 - probability, probability])
    }

    /// Maximum likelihood over the values that occur: their frequencies.
    ///
    /// # Errors
    /// When there are no data.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let mut states = Sample::scalar("categorical", points, weights)?.values.to_vec();
        states.sort_by(f64::total_cmp);
        states.dedup();
        Self::fit_to_states(&states, 0.0, points, weights)
    }

    /// Frequencies over given states, each with `pseudo_count` added: ½ keeps every state possible whatever
    /// the data, 0 is maximum likelihood.
    ///
    /// # Errors
    /// When there are no data or one is not among the states.
    pub fn fit_to_states(
        states: &[f64],
        pseudo_count: f64,
        points: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let sample = Sample::scalar("categorical", points, weights)?;
        let mut counts = vec![pseudo_count; states.len()];
        for (row, value) in sample.values.iter().enumerate() {
            match states.iter().position(|state| state == value) {
                Some(i) => counts[i] += sample.weight(row),
                None => sample.require(|x| states.contains(&x), "one of the states")?,
            }
        }
        let total = sample.total() + pseudo_count * states.len() as f64;
        Self::new(states, &counts.iter().map(|count| count / total).collect::<Vec<_>>())
    }

    /// The states, increasing.
    #[must_use]
    pub fn states(&self) -> &[f64] {
        &self.states
    }

    /// The probabilities, in the order of [`states`](Self::states).
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    fn mass_where(&self, holds: impl Fn(f64) -> bool) -> f64 {
        self.states.iter().zip(&self.probabilities).filter(|(s, _)| holds(**s)).map(|(_, p)| p).sum()
    }

    fn moments(&self) -> (f64, f64) {
        let average = |f: &dyn Fn(f64) -> f64| -> f64 {
            self.states.iter().zip(&self.probabilities).map(|(s, p)| p * f(*s)).sum()
        };
        let mean = average(&|x| x);
        (mean, average(&|x| (x - mean) * (x - mean)))
    }
}

impl Scalar for Categorical {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        for (o, x) in out.iter_mut().zip(x) {
            let found = self.states.iter().position(|state| state == x);
            *o = found.map_or(f64::NEG_INFINITY, |i| self.log_probabilities[i]);
        }
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        self.states[self.picker.pick(stream)]
    }

    fn cdf(&self, x: f64) -> f64 {
        self.mass_where(|state| state <= x).min(1.0)
    }

    fn survival(&self, x: f64) -> f64 {
        self.mass_where(|state| state > x).min(1.0)
    }

    fn ln_mass(&self, lo: f64, hi: f64) -> f64 {
        self.mass_where(|state| state >= lo && state <= hi).min(1.0).ln()
    }

    fn support(&self) -> (f64, f64) {
        (self.states[0], self.states[self.states.len() - 1])
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        let (mean, variance) = self.moments();
        vec![(mean, variance.sqrt().max(f64::MIN_POSITIVE))]
    }

    fn breaks(&self) -> Vec<f64> {
        Vec::new()
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn words(&self) -> String {
        format!("categorical({}, {})", list(&self.states), list(&self.probabilities))
    }

    fn family(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}
