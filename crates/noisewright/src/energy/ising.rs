//! The Ising model: two states per variable, a field on each and a coupling on each edge of a graph.

use super::family::{Entry, FamilyInfo, Parts, Request};
use super::linear::Statistics;
use super::triangle::pair_name;
use crate::memory::check_count;
use crate::{Domain, Energy, Error, Parameter, Result, View};

/// `u(x) = Σ h_i x_i + Σ J_ij x_i x_j` with every `x_i` in `{−1, 1}` or `{0, 1}`; parameters `h0 …`, then the
/// couplings `J01 J02 …` of all pairs, or of the given edges in their order.
///
/// There is no closed form for log Z unless no variable is coupled to another.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::Ising;
/// let chain = Ising::with_edges(3, [-1.0, 1.0], &[(0, 1), (2, 1)]).unwrap();
/// assert_eq!(chain.parameters(), ["h0", "h1", "h2", "J01", "J12"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ising {
    dimension: usize,
    states: [f64; 2],
    edges: Vec<(usize, usize)>,
}

impl Ising {
    /// The model in which all pairs are coupled.
    ///
    /// # Errors
    /// When there is no variable or the states are not −1 and 1, or 0 and 1.
    pub fn new(dimension: usize, states: [f64; 2]) -> Result<Self> {
        check_count("variables", dimension, dimension.saturating_mul(2))?;
        let all: Vec<_> = (0..dimension).flat_map(|i| (i + 1..dimension).map(move |j| (i, j))).collect();
        Self::with_edges(dimension, states, &all)
    }

    /// The model in which only the pairs in `edges` (indices from 0) are coupled.
    ///
    /// # Errors
    /// As for [`Ising::new`], and when an edge leaves the variables, joins one to itself or is listed twice.
    pub fn with_edges(dimension: usize, states: [f64; 2], edges: &[(usize, usize)]) -> Result<Self> {
        if dimension == 0 {
            return Err(Error::NoVariables);
        }
        let mut sorted = states;
        sorted.sort_by(f64::total_cmp);
        if sorted != [-1.0, 1.0] && sorted != [0.0, 1.0] {
            return Err(Error::field("states", "of an ising model must be [-1, 1] or [0, 1]"));
        }
        let edges: Vec<_> = edges.iter().map(|&(i, j)| (i.min(j), i.max(j))).collect();
        check_edges(&edges, dimension)?;
        Ok(Self { dimension, states: sorted, edges })
    }
}

fn check_edges(edges: &[(usize, usize)], dimension: usize) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for &(i, j) in edges {
        if j >= dimension {
            let last = dimension - 1;
            return Err(Error::field(
                "edges",
                format!("has [{i}, {j}], but the variables are numbered 0 to {last}"),
            ));
        }
        if i == j {
            return Err(Error::field(
                "edges",
                format!("has [{i}, {j}], but an edge must join two different variables"),
            ));
        }
        if !seen.insert((i, j)) {
            return Err(Error::field("edges", format!("has the edge [{i}, {j}] twice; list it once")));
        }
    }
    Ok(())
}

impl Statistics for Ising {
    fn names(&self) -> Vec<String> {
        let fields = (0..self.dimension).map(|i| format!("h{i}"));
        fields.chain(self.edges.iter().map(|&(i, j)| pair_name("J", i, j, self.dimension))).collect()
    }

    fn variables(&self) -> usize {
        self.dimension
    }

    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]) {
        if index < self.dimension {
            out.copy_from_slice(points.column(index));
            return;
        }
        let (i, j) = self.edges[index - self.dimension];
        for ((o, x), y) in out.iter_mut().zip(points.column(i)).zip(points.column(j)) {
            *o = x * y;
        }
    }

    fn log_partition(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        if !self.edges.is_empty() || parameters.iter().any(|h| !h.is_finite()) {
            return None;
        }
        let [low, high] = self.states;
        let mut log_z = 0.0;
        for (g, h) in gradient.iter_mut().zip(parameters) {
            let gap = h * (high - low);
            // The likelier state is taken out of the sum, so that nothing overflows.
            log_z += h * low + gap.max(0.0) + (-gap.abs()).exp().ln_1p();
            *g = low + (high - low) / (1.0 + (-gap).exp());
        }
        Some(log_z)
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "ising",
        description: "Ising model: fields and pair couplings of two-state variables, on any graph",
        domain: "states",
        options: &["states", "edges"],
        parameters: "h0 …, J01 J02 … (all pairs, or those of `edges`)",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let states = match request.options.states.as_deref() {
        None => [-1.0, 1.0],
        Some([a, b]) => [*a, *b],
        Some(_) => return Err(Error::field("states", "of an ising model must be [-1, 1] or [0, 1]")),
    };
    let d = request.variables.len();
    let energy = match &request.options.edges {
        None => Ising::new(d, states)?,
        Some(edges) => Ising::with_edges(d, states, edges)?,
    };
    let space = request.product(|_| Domain::States(energy.states.to_vec()))?;
    let parameters = energy.parameters().into_iter().map(|name| Parameter::new(name, 0.0)).collect();
    // Of states 0 and 1 a field says how often a spin is 1 while all others are 0: that it is zero says nothing. Of −1 and 1 it
    // is the symmetric model.
    let fields = if energy.states[0] == 0.0 { d } else { 0 };
    let unpenalized = energy.parameters().into_iter().take(fields).collect();
    Ok(Parts { unpenalized, ..Parts::new(energy, space, parameters) })
}
