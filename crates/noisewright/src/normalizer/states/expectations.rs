//! Means of observables under any state, with their joint error.

use serde::{Serialize, Serializer};

use super::covariance::one_decides;
use super::influence::Joint;
use super::result::StatesWarning;
use super::reweighting::Reweighting;
use crate::serial::Rows;
use crate::{Error, Result};

/// A quantity at every draw, and the state under which its mean is asked for.
#[derive(Clone, Debug)]
pub struct Observable<'a> {
    /// Its name.
    pub name: String,
    /// Its value at every draw of the pool, in the pool's order.
    pub values: &'a [f64],
    /// The state, numbered from 0; it need not have draws of its own.
    pub state: usize,
}

impl<'a> Observable<'a> {
    /// A quantity by its name and its values, under a state.
    #[must_use]
    pub fn new(name: impl Into<String>, values: &'a [f64], state: usize) -> Self {
        Self { name: name.into(), values, state }
    }

    fn check(&self, draws: usize) -> Result<()> {
        check_column(&self.name, self.values, draws)
    }
}

/// Whether there is one finite value for every draw.
pub(super) fn check_column(name: &str, values: &[f64], draws: usize) -> Result<()> {
    if values.len() != draws {
        return Err(Error::Shape { what: "values of an observable", expected: draws, found: values.len() });
    }
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::OutsideDomain {
            row: row + 1,
            column: name.to_owned(),
            value: values[row],
            domain: "a finite number".into(),
        }),
    }
}

/// The means of several observables.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Expectations {
    names: Vec<String>,
    states: Vec<usize>,
    values: Vec<f64>,
    joint: Joint,
    effective: Vec<f64>,
    warnings: Vec<StatesWarning>,
}

impl Expectations {
    /// The means, in the order in which they were asked for.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The name of the observable of every mean.
    #[must_use]
    pub fn observables(&self) -> &[String] {
        &self.names
    }

    /// The state of every mean.
    #[must_use]
    pub fn states(&self) -> &[usize] {
        &self.states
    }

    /// Their standard errors: infinite where the state's weights cannot be trusted or the chains are too short.
    #[must_use]
    pub fn se(&self) -> Vec<f64> {
        (0..self.values.len()).map(|i| self.joint.se(i)).collect()
    }

    /// The covariance of two of the means, before any widening for short chains.
    ///
    /// # Panics
    /// When there is no such mean.
    #[must_use]
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        self.joint.covariance[(i, j)]
    }

    /// Mean j less mean i with the standard error of the difference, which knows that both rest on the same draws.
    ///
    /// # Panics
    /// When there is no such mean.
    #[must_use]
    pub fn difference(&self, i: usize, j: usize) -> (f64, f64) {
        (self.values[j] - self.values[i], self.joint.difference_se(i, j))
    }

    /// How many draws the weights of each mean's state are worth, before any dependence of the draws.
    #[must_use]
    pub fn ess(&self) -> &[f64] {
        &self.effective
    }

    /// What the reader should know.
    #[must_use]
    pub fn warnings(&self) -> &[StatesWarning] {
        &self.warnings
    }

    /// The same with names for the states, to be serialized.
    ///
    /// # Panics
    /// When there are fewer names than states.
    #[must_use]
    pub fn with_names<'a>(&'a self, names: &'a [String]) -> NamedExpectations<'a> {
        assert!(self.states.iter().all(|state| *state < names.len()), "every state needs a name");
        NamedExpectations { expectations: self, names }
    }
}

/// Means with the names of their states.
#[derive(Clone, Copy, Debug)]
pub struct NamedExpectations<'a> {
    expectations: &'a Expectations,
    names: &'a [String],
}

#[derive(Serialize)]
struct Fields<'a> {
    observables: &'a [String],
    states: Vec<&'a str>,
    values: &'a [f64],
    se: Vec<f64>,
    covariance: Rows<'a>,
    difference_se: Vec<Vec<f64>>,
    ess: &'a [f64],
    warnings: Vec<String>,
    warning_codes: Vec<&'static str>,
}

impl Serialize for Expectations {
    /// With the states numbered from 0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let asked = self.states.iter().map(|state| state + 1);
        let count = asked.chain(self.warnings.iter().map(StatesWarning::named_states)).max();
        let numbers: Vec<String> = (0..count.unwrap_or(0)).map(|k| k.to_string()).collect();
        self.with_names(&numbers).serialize(serializer)
    }
}

impl Serialize for NamedExpectations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { expectations, names } = *self;
        Fields {
            observables: &expectations.names,
            states: expectations.states.iter().map(|state| names[*state].as_str()).collect(),
            values: &expectations.values,
            se: expectations.se(),
            covariance: Rows(&expectations.joint.covariance),
            difference_se: (0..expectations.values.len())
                .map(|i| (0..expectations.values.len()).map(|j| expectations.difference(i, j).1).collect())
                .collect(),
            ess: &expectations.effective,
            warnings: expectations.warnings.iter().map(|warning| warning.sentence(names)).collect(),
            warning_codes: expectations.warnings.iter().map(StatesWarning::code).collect(),
        }
        .serialize(serializer)
    }
}

/// The means and their joint error.
pub(super) fn estimate(
    reweighting: &Reweighting<'_>,
    observables: &[Observable<'_>],
) -> Result<Expectations> {
    let draws = reweighting.draws();
    observables.iter().try_for_each(|observable| observable.check(draws))?;
    let log_mixture = reweighting.log_mixture()?;
    let mut values = Vec::with_capacity(observables.len());
    let mut columns = Vec::with_capacity(observables.len());
    let mut warnings = Vec::new();
    let mut unknown = vec![false; observables.len()];
    for (i, observable) in observables.iter().enumerate() {
        let place = reweighting.place(observable.state)?;
        let weights = reweighting.weights_at(&log_mixture, place)?;
        let (mean, deviations) = deviations(&weights, observable.values);
        // Weights of a state with draws are bounded: there only the observable itself can be unusual, as in any mean.
        let hardly = reweighting.gram.is_hardly_sampled(place);
        let heavy = reweighting.heavy(place).or_else(|| one_decides(&deviations).filter(|_| hardly));
        if let Some(heavy) = heavy {
            unknown[i] = true;
            let warning = heavy.warning(observable.state);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        values.push(mean);
        columns.push(deviations);
    }
    let states: Vec<usize> = observables.iter().map(|observable| observable.state).collect();
    let mut joint = by_group(reweighting, &states, &columns)?;
    for i in (0..columns.len()).filter(|i| unknown[*i]) {
        joint.covariance.row_mut(i).fill(f64::INFINITY);
        joint.covariance.column_mut(i).fill(f64::INFINITY);
    }
    Ok(Expectations {
        names: observables.iter().map(|observable| observable.name.clone()).collect(),
        effective: states.iter().map(|state| reweighting.estimate.ess()[*state]).collect(),
        states,
        values,
        joint,
        warnings,
    })
}

/// The weighted mean and `W_n (A_n − mean)`, from values about their middle so that nothing cancels.
fn deviations(weights: &[f64], values: &[f64]) -> (f64, Vec<f64>) {
    let middle = values[0];
    let mean = middle + weights.iter().zip(values).map(|(w, a)| w * (a - middle)).sum::<f64>();
    (mean, weights.iter().zip(values).map(|(w, a)| w * (a - mean)).collect())
}

/// The joint error of means under states of several groups, which say nothing of each other.
fn by_group(reweighting: &Reweighting<'_>, states: &[usize], columns: &[Vec<f64>]) -> Result<Joint> {
    let groups = reweighting.estimate.groups();
    let mut joint = Joint::unknown(columns.len());
    joint.covariance.fill(0.0);
    for group in groups {
        let members: Vec<usize> = (0..states.len()).filter(|i| group.contains(&states[*i])).collect();
        if members.is_empty() {
            continue;
        }
        let own: Vec<&[f64]> = members.iter().map(|i| columns[*i].as_slice()).collect();
        let part = reweighting.joint(&members.iter().map(|i| states[*i]).collect::<Vec<_>>(), &own)?;
        for (a, i) in members.iter().enumerate() {
            joint.freedom[*i] = part.freedom[a];
            for (b, j) in members.iter().enumerate() {
                joint.covariance[(*i, *j)] = part.covariance[(a, b)];
                joint.differences[(*i, *j)] = part.differences[(a, b)];
            }
        }
    }
    Ok(joint)
}
