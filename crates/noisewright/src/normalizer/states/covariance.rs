//! The asymptotic covariance of the log-normalizers, the overlap, and which states hang together.
//!
//! With `W_nk = p_nk/N_k`, `G = WᵀW` and `N` the diagonal matrix of the counts, the estimating equations `Σ_n W_n = 1` have
//! the slope `−(I − G N)` and the variance `S = G − G N G`, so that `Var c = (I − GN)⁻¹ S (I − GN)⁻ᵀ`: the covariance of
//! Shirts and Chodera (2008). Centring W by 1/N removes the one direction in which nothing is determined, a common
//! constant: with `G̃ = G − 11ᵀ/N`, `Var c = (I − G̃N)⁻¹ G̃` in the gauge `Σ N_k c_k = 0`, without a pseudo-inverse, and
//! exact to rounding for states that are nearly the same.

use nalgebra::DMatrix;

use super::unsampled::Tail;

use crate::tolerance::{EVEN_WEIGHTS, FEWEST_CROSSINGS, HEAVY_TAIL};

/// Draws below which a state is judged by its weights, as one without any is: twice the crossings that would tie it to others.
pub(super) const HARDLY_SAMPLED: f64 = 2.0 * FEWEST_CROSSINGS;
/// Share of the standard error that a single weight may make up: a mean with a larger one is not near normal (Lindeberg's
/// condition), and what the draws have missed may weigh as much.
const LARGEST: f64 = 1.0 / 3.0;

/// What is wrong with the weights of a state with hardly any draws.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heavy {
    /// The Pareto shape of their tail.
    Tail(f64),
    /// The share of the largest.
    Largest(f64),
}

/// Whether one draw makes up too much of the standard error of a sum of these deviations for it to be near normal.
pub(super) fn one_decides(deviations: &[f64]) -> Option<Heavy> {
    let (mut largest, mut sum, mut squares) = (0.0_f64, 0.0, 0.0);
    for d in deviations {
        largest = largest.max(d.abs());
        sum += d.abs();
        squares += d * d;
    }
    (largest > LARGEST * squares.sqrt()).then(|| Heavy::Largest(largest / sum))
}

/// The centred Gram matrix of all states with the counts, zero for states without draws.
pub(super) struct Gram {
    pub(super) centred: DMatrix<f64>,
    pub(super) counts: Vec<f64>,
    pub(super) draws: f64,
    /// States whose density is zero at all draws, so that they have no weights.
    pub(super) empty: Vec<bool>,
    /// The tails of the weights, where there are any to be judged: of states with hardly any draws.
    pub(super) tails: Vec<Option<Tail>>,
}

impl Gram {
    fn states(&self) -> usize {
        self.counts.len()
    }

    fn full(&self, i: usize, j: usize) -> f64 {
        if self.empty[i] || self.empty[j] { 0.0 } else { self.centred[(i, j)] + 1.0 / self.draws }
    }

    /// `O_kl = N_l Σ_n W_nk W_nl`, the share of state l among the draws as state k weighs them; rows sum to one.
    pub(super) fn overlap(&self) -> DMatrix<f64> {
        DMatrix::from_fn(self.states(), self.states(), |k, l| self.counts[l] * self.full(k, l))
    }

    /// Kish's `1/Σ_n W_nk²`: how many draws of state k itself the weighted pool is worth.
    pub(super) fn effective(&self, k: usize) -> f64 {
        if self.empty[k] { 0.0 } else { 1.0 / self.full(k, k) }
    }

    /// Why the mean of the weights of a state with hardly any draws cannot be trusted, if it cannot.
    pub(super) fn heavy(&self, k: usize) -> Option<Heavy> {
        let tail = self.tails[k].as_ref()?;
        let effective = self.effective(k);
        let uneven = effective < EVEN_WEIGHTS * self.draws;
        if tail.shape.k > HEAVY_TAIL || (uneven && tail.shape.upper > HEAVY_TAIL) {
            return Some(Heavy::Tail(tail.shape.k));
        }
        let error = (1.0 / effective - 1.0 / self.draws).max(0.0).sqrt();
        (uneven && tail.largest > LARGEST * error).then_some(Heavy::Largest(tail.largest))
    }

    /// Whether a state has so few draws of its own that it is judged like one without any: they cannot be the crossings
    /// that tie it to the others, and need not be.
    pub(super) fn is_hardly_sampled(&self, k: usize) -> bool {
        self.counts[k] < HARDLY_SAMPLED
    }

    /// `Σ_n p_nk p_nl`: about how many draws of state k are taken for draws of state l, and back.
    fn crossings(&self, k: usize, l: usize) -> f64 {
        self.counts[k] * self.counts[l] * self.full(k, l)
    }

    /// The states in groups, each as large as [`FEWEST_CROSSINGS`] lets it be; `inefficiency` is how many draws of each
    /// state are worth one independent draw.
    pub(super) fn groups(&self, inefficiency: &[f64]) -> Vec<Vec<usize>> {
        let (hardly, sampled): (Vec<usize>, Vec<usize>) =
            (0..self.states()).partition(|k| self.is_hardly_sampled(*k));
        let link = |k: usize, l: usize| self.crossings(k, l) / inefficiency[k].max(inefficiency[l]).max(1.0);
        let mut groups = merge(&sampled, link);
        for i in hardly {
            match self.home(i, &groups) {
                Some(home) => groups[home].push(i),
                None => groups.push(vec![i]),
            }
        }
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups.sort_unstable();
        groups
    }

    /// The group that a state with hardly any draws is a mixture of, if it is of one alone and its weights are worth something.
    fn home(&self, i: usize, groups: &[Vec<usize>]) -> Option<usize> {
        if self.effective(i) < FEWEST_CROSSINGS || self.heavy(i).is_some() {
            return None;
        }
        let share = |group: &[usize]| group.iter().map(|l| self.counts[*l] * self.full(i, *l)).sum::<f64>();
        let hardly = (0..self.states()).filter(|l| self.is_hardly_sampled(*l));
        let others: f64 = hardly.map(|l| self.counts[l] * self.full(i, l)).sum();
        groups.iter().position(|group| share(group) > 0.999 * (1.0 - others))
    }

    /// `(I − G̃N)⁻¹` among the states of one group; `None` where there is none.
    pub(super) fn response(&self, group: &[usize]) -> Option<DMatrix<f64>> {
        let size = group.len();
        let draws: f64 = group.iter().map(|k| self.counts[*k]).sum();
        let slope = DMatrix::from_fn(size, size, |i, j| {
            let identity = if i == j { 1.0 } else { 0.0 };
            identity - self.within(group, draws, i, j) * self.counts[group[j]]
        });
        slope.try_inverse().filter(|inverse| inverse.iter().all(|v| v.is_finite()))
    }

    /// G centred by the draws of the group alone. Those of other groups that a state sees count as its own: the constants of the
    /// others are free to follow, and hold the state in place no more than its own draws do. So the rows of GN sum to one again,
    /// and errors within the group are those from all states to the rounding of the links between groups.
    fn within(&self, group: &[usize], draws: f64, i: usize, j: usize) -> f64 {
        let centred = self.centred[(group[i], group[j])] + (1.0 / self.draws - 1.0 / draws);
        if i == j { centred + self.outside(group, group[i]) } else { centred }
    }

    /// `Σ_l G_kl N_l / N_k` over the states outside of a group.
    fn outside(&self, group: &[usize], k: usize) -> f64 {
        let is_outside = |l: &usize| self.counts[*l] > 0.0 && !group.contains(l);
        if self.counts[k] <= 0.0 || group.len() == self.states() {
            return 0.0;
        }
        (0..self.states()).filter(is_outside).map(|l| self.counts[l] * self.full(k, l)).sum::<f64>()
            / self.counts[k]
    }

    /// `Var c` of one group for independent draws, in the gauge `Σ N_k c_k = 0`.
    pub(super) fn covariance(&self, group: &[usize]) -> Option<DMatrix<f64>> {
        let size = group.len();
        let draws: f64 = group.iter().map(|k| self.counts[*k]).sum();
        let centred = DMatrix::from_fn(size, size, |i, j| self.within(group, draws, i, j));
        let product = self.response(group)? * centred;
        Some((&product + product.transpose()) * 0.5)
    }
}

/// Joins the two groups with the strongest link until the strongest is below [`FEWEST_CROSSINGS`].
fn merge(states: &[usize], link: impl Fn(usize, usize) -> f64) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = states.iter().map(|k| vec![*k]).collect();
    let mut links: Vec<Vec<f64>> =
        states.iter().map(|k| states.iter().map(|l| link(*k, *l)).collect()).collect();
    loop {
        let pairs = (0..groups.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let strongest = pairs.max_by(|(a, b), (c, d)| links[*a][*b].total_cmp(&links[*c][*d]));
        let Some((a, b)) = strongest.filter(|(a, b)| links[*a][*b] >= FEWEST_CROSSINGS) else {
            return groups;
        };
        let members = groups.swap_remove(a);
        groups[b].extend(members);
        let row = links.swap_remove(a);
        for (into, from) in links[b].iter_mut().zip(&row) {
            *into += from;
        }
        links.iter_mut().for_each(|row| {
            let from = row.swap_remove(a);
            row[b] += from;
        });
    }
}
