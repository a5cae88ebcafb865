//! The adaptive tensor rule.

use crate::parallel::map;

use super::axis::{Axis, End, Nodes};
use super::kronrod::{FIFTEEN, Pair, TWENTY_ONE};
use crate::summation::log_sum_exp;

/// Contributions below `exp(−NEGLIGIBLE)` of every integral do not survive rounding: their nodes are dropped.
const NEGLIGIBLE: f64 = 45.0;

/// Halvings towards a finite end or a break before an integrand that does not fall there is called divergent.
const GRADINGS: usize = 40;

/// As many towards a break, which unlike a bound is known only to rounding: fewer, and the fall is judged less finely.
const GRADINGS_AT_BREAK: usize = 28;

/// Passes after which the answer is what it is: each at least halves some panel, and fifty halvings reach rounding.
const MOST_PASSES: usize = 200;

/// Doublings of an unbounded axis before an integrand that does not fall is called divergent.
const PATIENCE: usize = 16;

/// Panels at an end whose contributions must not fall for an integral to be called divergent there.
const OUTER: usize = 5;

/// Positive functions given by their logarithms, evaluated together: points (column-major), rows, output.
pub type LogIntegrands<'a> = &'a (dyn Fn(&[f64], usize, &mut [f64]) + Sync);

/// How accurate, and how much work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Relative accuracy asked of every integral (default 1e-10).
    pub relative_tolerance: f64,
    /// Most nodes of the whole tensor (default 2²²).
    pub max_nodes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { relative_tolerance: 1e-10, max_nodes: 1 << 22 }
    }
}

/// Where an integral diverges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the axis.
    pub axis: usize,
    /// The end of it at which the integrand does not fall fast enough.
    pub end: End,
    /// At one of the breaks between the ends instead.
    pub at_break: bool,
}

/// Why there is no result at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuadratureError {
    /// An integrand is not a number somewhere.
    #[error("the integrand is not a number at {point:?}")]
    NotANumber {
        /// Where.
        point: Vec<f64>,
    },
    /// An axis is so far out, or so narrow, that no two numbers lie on it.
    #[error("an axis has no extent")]
    NoExtent,
    /// The axes have more points than can be held.
    #[error("{nodes} points are more than the {most} allowed")]
    TooLarge {
        /// Number of points.
        nodes: usize,
        /// Most points allowed.
        most: usize,
    },
    /// A boundary between panels is not where it was left: a fault of this crate.
    #[error("a boundary between the panels of an axis is lost")]
    LostBoundary,
}

/// Weighted points and the integrals they give.
#[derive(Clone, Debug, Default)]
pub struct Quadrature {
    /// Nodes, column-major: `points[axis * nodes + node]`.
    pub points: Vec<f64>,
    /// Logarithm of the weight of each node.
    pub log_weights: Vec<f64>,
    /// Logarithm of each integral; ∞ where it diverges.
    pub log_integrals: Vec<f64>,
    /// Estimated relative error of each integral.
    pub relative_errors: Vec<f64>,
    /// Where each integral diverges, if it does.
    pub divergences: Vec<Option<Divergence>>,
}

/// Integrates `components` positive functions over the product of at most three axes.
///
/// `log_integrands(points, rows, out)` gets column-major points and writes the logarithm of component `k` at
/// point `i` to `out[k * rows + i]`; −∞ is zero, and ∞ anywhere makes the integral infinite.
///
/// ```
/// use noisewright_numerics::quadrature::{Axis, Options, integrate};
/// let axis = Axis::line(f64::NEG_INFINITY, f64::INFINITY, &[], &[(0.0, 1.0)]);
/// let gauss = |x: &[f64], _: usize, out: &mut [f64]| {
///     for (o, x) in out.iter_mut().zip(x) {
///         *o = -0.5 * x * x - 900.0;
///     }
/// };
/// let result = integrate(&[axis], 1, &Options::default(), &gauss).unwrap();
/// let exact = 0.5 * (2.0 * std::f64::consts::PI).ln() - 900.0;
/// assert!((result.log_integrals[0] - exact).abs() < 1e-12);
/// ```
///
/// # Errors
/// When an integrand is NaN at a node, or a finite set has more points than `max_nodes`.
pub fn integrate(
    axes: &[Axis],
    components: usize,
    options: &Options,
    log_integrands: LogIntegrands<'_>,
) -> Result<Quadrature, QuadratureError> {
    let mut search = Search::new(axes.to_vec(), components, *options);
    let nodes = search.node_count(&search.axes);
    if nodes == 0 {
        return Err(QuadratureError::NoExtent);
    }
    if nodes > options.max_nodes {
        return Err(QuadratureError::TooLarge { nodes, most: options.max_nodes });
    }
    let mut passes = 0;
    loop {
        let pass = search.evaluate(log_integrands)?;
        passes += 1;
        match search.next_axes(&pass)? {
            Some(next) if passes < MOST_PASSES => search.axes = next,
            _ => return Ok(search.finish(&pass)),
        }
    }
}

struct Search {
    axes: Vec<Axis>,
    components: usize,
    options: Options,
    pair: &'static Pair,
    diverged: Vec<Option<Divergence>>,
    extensions: Vec<[usize; 2]>,
    progress: Vec<Progress>,
}

/// When the error of a component last halved, and whether it ever will again.
#[derive(Clone, Copy, Debug)]
struct Progress {
    panels: usize,
    relative_error: f64,
    stalled: bool,
}

impl Progress {
    /// Nodes below which patience costs nothing.
    const CHEAP: usize = 1 << 15;

    /// Growth of the panels in which an error that is not rounding falls to a half.
    const GROWTH: usize = 8;

    fn update(&mut self, nodes: usize, panels: usize, relative_error: f64) {
        // The comparison is false for a NaN, which no refinement mends either.
        if relative_error < 0.5 * self.relative_error {
            *self = Self { panels, relative_error, stalled: false };
        } else if nodes >= Self::CHEAP && panels >= Self::GROWTH * self.panels {
            self.stalled = true;
        }
    }
}

/// One evaluation of all integrands on the current tensor.
struct Pass {
    nodes: Vec<Nodes>,
    /// `log_values[component][node]`, nodes in the order of the tensor, last axis fastest.
    log_values: Vec<Vec<f64>>,
    log_weights: Vec<f64>,
    points: Vec<f64>,
    /// Logarithm of the scale taken out of each component.
    scale: Vec<f64>,
    /// `panels[component][axis][panel]`.
    panels: Vec<Vec<Vec<Panel>>>,
    totals: Vec<f64>,
}

/// What one panel of one axis contributes to an integral, and its estimated error (both scaled).
#[derive(Clone, Copy, Debug, Default)]
struct Panel {
    value: f64,
    error: f64,
    /// The error is that of the places of its nodes, which are rounded: it stays on narrower panels.
    is_rounding: bool,
}

impl Search {
    fn new(axes: Vec<Axis>, components: usize, options: Options) -> Self {
        let pair = if axes.len() == 1 { &TWENTY_ONE } else { &FIFTEEN };
        let extensions = vec![[0, 0]; axes.len()];
        let panels = axes.iter().map(Axis::panels).sum();
        let progress = Progress { panels, relative_error: f64::INFINITY, stalled: false };
        Self {
            axes,
            components,
            options,
            pair,
            diverged: vec![None; components],
            extensions,
            progress: vec![progress; components],
        }
    }

    fn node_count(&self, axes: &[Axis]) -> usize {
        axes.iter().fold(1usize, |n, axis| n.saturating_mul(axis.node_count(self.pair.nodes.len())))
    }

    fn evaluate(&self, log_integrands: LogIntegrands<'_>) -> Result<Pass, QuadratureError> {
        let nodes: Vec<Nodes> = self.axes.iter().map(|axis| axis.nodes(self.pair)).collect();
        let (points, log_weights) = tensor_points(&nodes);
        let rows = log_weights.len();
        let flat = evaluate_blocks(&points, rows, self.axes.len(), self.components, log_integrands);
        if let Some(bad) = (0..rows).find(|i| flat.iter().any(|column| column[*i].is_nan())) {
            let point = (0..self.axes.len()).map(|axis| points[axis * rows + bad]).collect();
            return Err(QuadratureError::NotANumber { point });
        }
        let mut pass = Pass {
            nodes,
            log_values: flat,
            log_weights,
            points,
            scale: Vec::new(),
            panels: Vec::new(),
            totals: Vec::new(),
        };
        for component in 0..self.components {
            pass.summarise(component);
        }
        Ok(pass)
    }

    /// The axes of the next pass, or `None` when this one is good enough or as good as it gets.
    fn next_axes(&mut self, pass: &Pass) -> Result<Option<Vec<Axis>>, QuadratureError> {
        self.find_divergences(pass);
        self.note_progress(pass);
        let mut next = self.axes.clone();
        let mut changed = false;
        for (index, axis) in next.iter_mut().enumerate() {
            let marked = self.too_coarse(pass, index);
            for (slot, end) in [(0, End::Lower), (1, End::Upper)] {
                if !axis.is_closed(end) && self.tail_matters(pass, index, end) {
                    // The steps grow, so that a tail that reaches to 1e290 takes a dozen passes.
                    let most = if axis.grows_with_reach() { 1 } else { 128 };
                    let steps = (self.extensions[index][slot] / 2).clamp(2, 128).min(most);
                    self.extensions[index][slot] += steps;
                    let before = axis.panels();
                    axis.extend(end, steps);
                    changed |= axis.panels() > before;
                }
            }
            changed |= self.split_marked(axis, index, &marked)?;
        }
        Ok((changed && self.node_count(&next) <= self.options.max_nodes).then_some(next))
    }

    /// Splits the marked panels of an axis that may just have been extended at its lower end.
    ///
    /// # Errors
    /// [`QuadratureError::LostBoundary`] where the axis has not the boundaries that it had.
    fn split_marked(&self, axis: &mut Axis, index: usize, marked: &[bool]) -> Result<bool, QuadratureError> {
        if !marked.contains(&true) {
            return Ok(false);
        }
        let before = self.axes[index].panels();
        let added = axis.panels() - before;
        let added_below = if self.axes[index].first_boundary() == axis.first_boundary() {
            0
        } else {
            axis.position_of(self.axes[index].first_boundary()).ok_or(QuadratureError::LostBoundary)?
        };
        let mut all = vec![false; before + added];
        all[added_below..added_below + before].copy_from_slice(marked);
        Ok(axis.split(&all))
    }

    fn active(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.components).filter(|k| self.diverged[*k].is_none())
    }

    /// Marks the panels of an axis that carry a fair share of an error that is too large.
    fn too_coarse(&self, pass: &Pass, axis: usize) -> Vec<bool> {
        let mut marked = vec![false; self.axes[axis].panels()];
        for k in self.active().filter(|k| !self.progress[*k].stalled) {
            let (total, panels) = (pass.totals[k], &pass.panels[k][axis]);
            let sum: f64 = panels.iter().map(|p| p.error).sum();
            let allowed = self.tolerance(pass, k) * total;
            if total > 0.0 && sum > allowed {
                let share = 0.5 * allowed / panels.len() as f64;
                let coarse = |panel: &Panel| panel.error > share && !panel.is_rounding;
                marked.iter_mut().zip(panels).for_each(|(mark, panel)| *mark |= coarse(panel));
            }
        }
        marked
    }

    /// An integrand that is nothing but rounding, as that of a divergence between equal densities, does not
    /// become smooth on finer panels: its error stays, however many there are, and is reported as it is.
    fn note_progress(&mut self, pass: &Pass) {
        let nodes = pass.log_weights.len();
        let panels = self.axes.iter().map(Axis::panels).sum();
        for (k, progress) in self.progress.iter_mut().enumerate() {
            let error: f64 = pass.panels[k].iter().flatten().map(|p| p.error).sum();
            progress.update(nodes, panels, error / pass.totals[k]);
        }
    }

    /// The tolerance asked for, but no finer than the rounding of logarithms as large as the integrand's.
    fn tolerance(&self, pass: &Pass, component: usize) -> f64 {
        let rounding = 64.0 * f64::EPSILON * pass.scale[component].abs().min(1e15);
        self.options.relative_tolerance.max(rounding)
    }

    fn tail_matters(&self, pass: &Pass, axis: usize, end: End) -> bool {
        self.active().any(|k| {
            let outermost = outermost(&pass.panels[k][axis], end, 1)[0];
            outermost > 1e-3 * self.options.relative_tolerance * pass.totals[k]
        })
    }

    fn find_divergences(&mut self, pass: &Pass) {
        for component in 0..self.components {
            if self.diverged[component].is_some() {
                continue;
            }
            self.diverged[component] = self.infinite_value(pass, component).or_else(|| {
                (0..self.axes.len())
                    .flat_map(|axis| {
                        [End::Lower, End::Upper].map(|end| Divergence { axis, end, at_break: false })
                    })
                    .find(|place| self.diverges_at(pass, component, *place))
                    .or_else(|| self.diverges_at_break(pass, component))
            });
        }
    }

    /// An integrand that is infinite at a node: its integral is, on that side of the first axis.
    fn infinite_value(&self, pass: &Pass, component: usize) -> Option<Divergence> {
        let node = pass.log_values[component].iter().position(|value| *value == f64::INFINITY)?;
        let end = if pass.points[node] < self.axes[0].center() { End::Lower } else { End::Upper };
        Some(Divergence { axis: 0, end, at_break: false })
    }

    fn diverges_at(&self, pass: &Pass, component: usize, place: Divergence) -> bool {
        let axis = &self.axes[place.axis];
        let bounded = axis.is_bounded(place.end);
        let slot = usize::from(place.end == End::Upper);
        let tried = if bounded { axis.grading(place.end) } else { self.extensions[place.axis][slot] };
        let needed = if bounded { GRADINGS } else { PATIENCE };
        let panels = &pass.panels[component][place.axis];
        if tried < needed || panels.len() < 8 || (bounded && !axis.is_graded(place.end, OUTER)) {
            return false;
        }
        // Each panel is twice as wide as the one before (half as wide at a finite end): the contributions of
        // an integrable function fall from some point on.
        let outer = outermost(panels, place.end, OUTER);
        let matters = outer[0] > self.options.relative_tolerance * pass.totals[component];
        matters && outer.windows(2).all(|pair| pair[0] >= pair[1] * (1.0 - 1e-9))
    }

    /// A pole at a break: the contributions of ever narrower panels beside it do not fall.
    fn diverges_at_break(&self, pass: &Pass, component: usize) -> Option<Divergence> {
        let allowed = self.options.relative_tolerance * pass.totals[component];
        (0..self.axes.len()).find_map(|axis| {
            let panels = &pass.panels[component][axis];
            let diverges = self.axes[axis].graded_breaks(OUTER, GRADINGS_AT_BREAK).iter().any(|side| {
                let matters = panels[side[0]].value > allowed;
                matters && side.windows(2).all(|p| panels[p[0]].value >= panels[p[1]].value * (1.0 - 1e-4))
            });
            diverges.then_some(Divergence { axis, end: End::Lower, at_break: true })
        })
    }

    fn finish(&self, pass: &Pass) -> Quadrature {
        let rows = pass.log_weights.len();
        let log_integrals: Vec<f64> = (0..self.components)
            .map(|k| match self.diverged[k] {
                Some(_) => f64::INFINITY,
                None => pass.scale[k] + pass.totals[k].ln(),
            })
            .collect();
        let keep: Vec<usize> = (0..rows)
            .filter(|&i| {
                (0..self.components).any(|k| {
                    let value = pass.log_values[k][i] + pass.log_weights[i];
                    value > pass.scale[k] + pass.totals[k].ln() - NEGLIGIBLE
                })
            })
            .collect();
        let mut points = Vec::with_capacity(keep.len() * self.axes.len());
        for axis in 0..self.axes.len() {
            points.extend(keep.iter().map(|&i| pass.points[axis * rows + i]));
        }
        Quadrature {
            points,
            log_weights: keep.iter().map(|&i| pass.log_weights[i]).collect(),
            log_integrals,
            relative_errors: (0..self.components).map(|k| self.relative_error(pass, k)).collect(),
            divergences: self.diverged.clone(),
        }
    }

    fn relative_error(&self, pass: &Pass, component: usize) -> f64 {
        let total = pass.totals[component];
        if self.diverged[component].is_some() {
            return f64::INFINITY;
        }
        if total == 0.0 {
            return 0.0;
        }
        let mut error = 4.0 * f64::EPSILON * total;
        for (index, axis) in self.axes.iter().enumerate() {
            let panels = &pass.panels[component][index];
            error += panels.iter().map(|p| p.error).sum::<f64>();
            for end in [End::Lower, End::Upper] {
                if !axis.is_bounded(end) && panels.len() > 2 {
                    error += remaining_tail(&outermost(panels, end, 2));
                } else if axis.runs_out(end) {
                    // The rule cannot see how its nodes were rounded there.
                    error += outermost(panels, end, 1)[0];
                }
            }
        }
        error / total
    }
}

/// What a geometric sequence of panels would still add beyond the last.
fn remaining_tail(outer: &[f64]) -> f64 {
    let ratio = if outer[1] > 0.0 { outer[0] / outer[1] } else { 0.0 };
    if ratio < 1.0 { outer[0] * ratio / (1.0 - ratio) } else { outer[0] }
}

/// The contributions of the last panels at one end, outermost first.
fn outermost(panels: &[Panel], end: End, count: usize) -> Vec<f64> {
    match end {
        End::Lower => panels.iter().take(count).map(|p| p.value).collect(),
        End::Upper => panels.iter().rev().take(count).map(|p| p.value).collect(),
    }
}

impl Pass {
    /// Sums one component: its scale, its total, and every panel's contribution and error.
    fn summarise(&mut self, component: usize) {
        let values = &self.log_values[component];
        let scale = values
            .iter()
            .zip(&self.log_weights)
            .map(|(value, weight)| value + weight)
            .fold(f64::NEG_INFINITY, f64::max);
        self.scale.push(scale);
        let marginals = if scale.is_finite() {
            marginals(&self.nodes, values, &self.log_weights, scale)
        } else {
            self.nodes.iter().map(|n| vec![0.0; n.at.len()]).collect()
        };
        self.totals.push(marginals[0].iter().sum());
        self.panels.push(
            self.nodes.iter().zip(&marginals).map(|(nodes, marginal)| panel_sums(nodes, marginal)).collect(),
        );
    }
}

/// For each axis, the scaled integral over all other axes at each of its nodes, times the node's weight.
fn marginals(nodes: &[Nodes], values: &[f64], log_weights: &[f64], scale: f64) -> Vec<Vec<f64>> {
    let mut out: Vec<Vec<f64>> = nodes.iter().map(|n| vec![0.0; n.at.len()]).collect();
    let sizes: Vec<usize> = nodes.iter().map(|n| n.at.len()).collect();
    for (i, (value, weight)) in values.iter().zip(log_weights).enumerate() {
        let term = (value + weight - scale).exp();
        let mut rest = i;
        for axis in (0..sizes.len()).rev() {
            out[axis][rest % sizes[axis]] += term;
            rest /= sizes[axis];
        }
    }
    out
}

/// Contribution and error of each panel of an axis, from weighted values at its nodes.
fn panel_sums(nodes: &Nodes, weighted: &[f64]) -> Vec<Panel> {
    nodes
        .panel_start
        .windows(2)
        .map(|range| {
            let (from, to) = (range[0], range[1]);
            let value: f64 = weighted[from..to].iter().sum();
            let width: f64 = nodes.weight[from..to].iter().sum();
            let mean = value / width;
            let (mut gauss, mut spread) = (0.0, 0.0);
            for i in from..to {
                let density = weighted[i] / nodes.weight[i];
                gauss += nodes.gauss[i] * density;
                spread += nodes.weight[i] * (density - mean).abs();
            }
            let difference = (value - gauss).abs();
            let error = kronrod_error(difference, spread);
            let is_rounding = difference <= node_rounding(&nodes.at[from..to], width, spread);
            // Both rules have that error, so that neither is the better one.
            Panel { value, error: if is_rounding { error.min(difference) } else { error }, is_rounding }
        })
        .collect()
}

/// How far the sums of two rules over a panel may lie apart because its nodes are rounded, by up to `ε|x|/2`: an integrand that is
/// `spread` from its mean over the width h has a slope of about `4 spread/h²`. Next to a pole at a bound other than zero, where h is
/// the distance to it, that is far above what any splitting could mend: a beta density's panels next to 1 were split 800 times.
fn node_rounding(at: &[f64], width: f64, spread: f64) -> f64 {
    let farthest = at.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    2.0 * f64::EPSILON * spread * farthest / width
}

/// QUADPACK's estimate of the Kronrod error: the difference to the Gauss rule is that of the Gauss rule.
fn kronrod_error(difference: f64, spread: f64) -> f64 {
    if spread == 0.0 || difference == 0.0 {
        return difference;
    }
    // Sums of a few dozen terms cannot differ by less.
    let rounding = 8.0 * f64::EPSILON * spread;
    if difference < rounding { 0.0 } else { spread * (200.0 * difference / spread).powf(1.5).min(1.0) }
}

/// All points of the tensor, last axis fastest, and the logarithms of their weights.
pub(super) fn tensor_points(nodes: &[Nodes]) -> (Vec<f64>, Vec<f64>) {
    let rows: usize = nodes.iter().map(|n| n.at.len()).product();
    let mut points = Vec::with_capacity(rows * nodes.len());
    let mut log_weights = vec![0.0; rows];
    let mut repeat = rows;
    for axis in nodes {
        repeat /= axis.at.len();
        let log_weight: Vec<f64> = axis.weight.iter().map(|w| w.ln()).collect();
        for row in 0..rows {
            let node = (row / repeat) % axis.at.len();
            points.push(axis.at[node]);
            log_weights[row] += log_weight[node];
        }
    }
    (points, log_weights)
}

/// Evaluates all components in fixed blocks of points; one vector per component.
pub(super) fn evaluate_blocks(
    points: &[f64],
    rows: usize,
    dimension: usize,
    components: usize,
    log_integrands: LogIntegrands<'_>,
) -> Vec<Vec<f64>> {
    const BLOCK: usize = 8192;
    let run = |block: usize| -> Vec<f64> {
        let from = block * BLOCK;
        let count = BLOCK.min(rows - from);
        let mut part = Vec::with_capacity(count * dimension);
        for axis in 0..dimension {
            part.extend_from_slice(&points[axis * rows + from..axis * rows + from + count]);
        }
        let mut out = vec![f64::NEG_INFINITY; count * components];
        log_integrands(&part, count, &mut out);
        out
    };
    let blocks = rows.div_ceil(BLOCK);
    let results: Vec<Vec<f64>> = map(0..blocks, run);
    (0..components)
        .map(|k| {
            let mut column = Vec::with_capacity(rows);
            for block in &results {
                let count = block.len() / components;
                column.extend_from_slice(&block[k * count..(k + 1) * count]);
            }
            column
        })
        .collect()
}

impl Quadrature {
    /// `log ∫ f` of one more function, from its logarithm at the nodes.
    #[must_use]
    pub fn log_integral(&self, log_values: &[f64]) -> f64 {
        let terms: Vec<f64> = self.log_weights.iter().zip(log_values).map(|(w, v)| w + v).collect();
        log_sum_exp(&terms)
    }
}

#[cfg(test)]
mod tests;
