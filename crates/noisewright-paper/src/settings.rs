//! The grids and bins of the paper, and finer ones.

/// How fine the grids are, as in the paper by default, and which draws the simulations make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Grids and bins about twice as fine as the paper's.
    pub fine: bool,
    /// Another seed gives the simulations other draws.
    pub seed: u64,
}

impl Settings {
    /// Twice as many steps where the grids are to be finer.
    pub(crate) fn steps(self, steps: usize) -> usize {
        if self.fine { 2 * steps } else { steps }
    }

    /// The noise proportions: 41 from 0.01 to 0.99, and 50 % in the middle of them.
    pub(crate) fn proportions(self) -> Vec<f64> {
        linear(0.01, 0.99, self.steps(40))
    }

    /// Bins of a histogram along one variable: 20 on [−5, 5].
    pub(crate) fn bins(self) -> usize {
        self.steps(20)
    }
}

/// `steps + 1` values from `from` to `to` with equal steps.
pub(crate) fn linear(from: f64, to: f64, steps: usize) -> Vec<f64> {
    (0..=steps).map(|i| from + (to - from) * i as f64 / steps as f64).collect()
}

/// `steps + 1` values from `10^from` to `10^to` with equal ratios.
pub(crate) fn powers_of_ten(from: f64, to: f64, steps: usize) -> Vec<f64> {
    linear(from, to, steps).into_iter().map(|x| 10f64.powf(x)).collect()
}

/// `ν = π/(1 − π)`.
pub(crate) fn ratio_of(proportion: f64) -> f64 {
    proportion / (1.0 - proportion)
}

/// `π = ν/(1 + ν)`.
pub(crate) fn proportion_of(nu: f64) -> f64 {
    nu / (1.0 + nu)
}
