//! Ising models by enumeration.

use std::sync::Arc;

use noisewright::{Categorical, FamilyOptions, Noise, Product, Result};

use crate::System;
use crate::sums::moments;
use crate::system::family;

/// Fields on ±1 variables and couplings `(i, j, J)` on edges with i < j; every state is visited.
///
/// # Errors
/// When an edge is not one, or the coupled model is to be normalized.
pub fn ising(fields: &[f64], couplings: &[(usize, usize, f64)], normalized: bool) -> Result<System> {
    let names: Vec<String> = (0..fields.len()).map(|i| format!("x{i}")).collect();
    let variables: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges = couplings.iter().map(|(i, j, _)| (*i, *j)).collect();
    let options = FamilyOptions { edges: Some(edges), ..FamilyOptions::default() };
    let model = family("ising", &variables, &options, normalized)?;
    let parameters: Vec<f64> = fields.iter().copied().chain(couplings.iter().map(|c| c.2)).collect();
    let states: Vec<(f64, Vec<f64>)> = (0..1usize << fields.len())
        .map(|bits| {
            let spin = |i: usize| if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
            let pairs = couplings.iter().map(|(i, j, _)| spin(*i) * spin(*j));
            let statistics: Vec<f64> = (0..fields.len()).map(spin).chain(pairs).collect();
            let energy = statistics.iter().zip(&parameters).map(|(t, p)| t * p).sum();
            (energy, statistics)
        })
        .collect();
    let (log_z, known) = moments(&states);
    let system = System::new(format!("ising {fields:?} {couplings:?}"), model, &parameters, log_z, known);
    if couplings.is_empty() { Ok(system.with_noise(independent(fields)?)) } else { Ok(system) }
}

fn independent(fields: &[f64]) -> Result<Product> {
    let one = |h: &f64| -> Result<Arc<dyn Noise>> {
        Ok(Arc::new(Categorical::bernoulli(-1.0, 1.0, 1.0 / (1.0 + (-2.0 * h).exp()))?))
    };
    Product::of_shared(fields.iter().map(one).collect::<Result<_>>()?)
}
