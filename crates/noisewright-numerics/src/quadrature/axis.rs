//! One axis of a tensor rule: panels that can be split, extended outwards, and turned into nodes.

use super::kronrod::Pair;

/// Farthest that an unbounded axis is followed.
const FARTHEST: f64 = 1e290;

/// Narrowest panel: the weights of its nodes must be numbers of full precision.
const NARROWEST: f64 = 1e-290;

/// Largest integer whose neighbours are still integers of their own, by a wide margin.
const LARGEST_COUNT: f64 = 1e12;

/// Halvings of a panel at an end or a break when it is split, at least and at most.
const GRADED_AT_ONCE: i32 = 5;
const MOST_GRADED_AT_ONCE: i32 = 512;

/// Which end of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Towards the lower bound.
    Lower,
    /// Towards the upper bound.
    Upper,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A part of the real line, with its bounds.
    Line(f64, f64),
    /// 0, 1, 2, …
    Integers,
    /// A finite set.
    States,
}

/// A range of one variable, divided into panels.
///
/// ```
/// use noisewright_numerics::quadrature::Axis;
/// let axis = Axis::line(f64::NEG_INFINITY, f64::INFINITY, &[0.5], &[(0.0, 1.0)]);
/// assert!(axis.panels() > 4);
/// ```
#[derive(Clone, Debug)]
pub struct Axis {
    kind: Kind,
    center: f64,
    /// Width of the first center, the yardstick for how finely an end is graded.
    scale: f64,
    /// Boundaries of the panels, increasing; panel `i` lies between boundary `i` and `i + 1`.
    boundaries: Vec<f64>,
    /// Boundaries at which integrands are not smooth, and may have a pole.
    breaks: Vec<f64>,
    states: Vec<f64>,
}

/// Nodes of an axis with the weights of both rules, and where each panel starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    pub(super) at: Vec<f64>,
    pub(super) weight: Vec<f64>,
    pub(super) gauss: Vec<f64>,
    pub(super) panel_start: Vec<usize>,
}

impl Axis {
    /// A part of the real line, bounded or not, with the places where integrands are not smooth (`breaks`)
    /// and where their mass is (`centers`: location and scale).
    #[must_use]
    pub fn line(lower: f64, upper: f64, breaks: &[f64], centers: &[(f64, f64)]) -> Self {
        let inside = |x: &f64| x.is_finite() && *x > lower && *x < upper;
        let mut around: Vec<f64> = centers
            .iter()
            .filter(|(location, scale)| location.is_finite() && scale.is_finite() && *scale > 0.0)
            .flat_map(|(location, scale)| {
                [-8.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0].map(|steps| location + steps * scale)
            })
            .filter(inside)
            .collect();
        around.sort_by(f64::total_cmp);
        // A kernel density has thousands of centers; the panels need only know roughly where they are.
        let keep_every = around.len().div_ceil(128).max(1);
        let mut boundaries: Vec<f64> = around.into_iter().step_by(keep_every).collect();
        let breaks: Vec<f64> = breaks.iter().copied().filter(inside).collect();
        boundaries.extend_from_slice(&breaks);
        boundaries.extend([lower, upper].into_iter().filter(|x| x.is_finite()));
        if boundaries.len() < 2 {
            let anchor = boundaries.first().copied().unwrap_or(0.0);
            boundaries.extend([-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0].map(|s| anchor + s));
            boundaries.retain(|x| *x >= lower && *x <= upper);
        }
        boundaries.sort_by(f64::total_cmp);
        boundaries.dedup_by(|b, a| (*b - *a) <= 1e-14 * a.abs().max(b.abs()));
        let (location, scale) = centers.first().copied().unwrap_or((0.0, 1.0));
        let center = location.clamp(boundaries[0], boundaries[boundaries.len() - 1]);
        Self { kind: Kind::Line(lower, upper), center, scale, boundaries, breaks, states: Vec::new() }
    }

    /// The non-negative integers, starting around the given centers (location and scale).
    #[must_use]
    pub fn integers(centers: &[(f64, f64)]) -> Self {
        let mut boundaries: Vec<f64> = centers
            .iter()
            .filter(|(location, scale)| location.is_finite() && scale.is_finite())
            .flat_map(|(location, scale)| [-8.0, 0.0, 8.0].map(|steps| (location + steps * scale).floor()))
            .map(|x| x.clamp(0.0, LARGEST_COUNT))
            .collect();
        let far = boundaries.iter().copied().fold(0.0, f64::max);
        boundaries.push(far + 16.0);
        if boundaries.len() < 2 || boundaries.iter().all(|x| *x < 4096.0) {
            boundaries.push(0.0);
        }
        boundaries.sort_by(f64::total_cmp);
        boundaries.dedup();
        Self {
            kind: Kind::Integers,
            center: boundaries[0],
            scale: 1.0,
            boundaries,
            breaks: Vec::new(),
            states: Vec::new(),
        }
    }

    /// A finite set of values.
    #[must_use]
    pub fn states(values: &[f64]) -> Self {
        Self {
            kind: Kind::States,
            center: 0.0,
            scale: 1.0,
            boundaries: vec![0.0, 1.0],
            breaks: Vec::new(),
            states: values.to_vec(),
        }
    }

    /// Number of panels.
    #[must_use]
    pub fn panels(&self) -> usize {
        self.boundaries.len() - 1
    }

    /// Number of nodes with a rule of `order` nodes a panel.
    pub(super) fn node_count(&self, order: usize) -> usize {
        match self.kind {
            Kind::Line(..) => order * self.panels(),
            Kind::States => self.states.len(),
            Kind::Integers => (self.boundaries[self.panels()] - self.boundaries[0]) as usize,
        }
    }

    pub(super) fn nodes(&self, pair: &Pair) -> Nodes {
        let mut nodes = Nodes::default();
        for bounds in self.boundaries.windows(2) {
            nodes.panel_start.push(nodes.at.len());
            match self.kind {
                Kind::Line(..) => nodes.push_line(bounds[0], bounds[1], pair),
                Kind::States => nodes.push_points(self.states.iter().copied()),
                Kind::Integers => {
                    nodes.push_points((bounds[0] as u64..bounds[1] as u64).map(|i| i as f64));
                }
            }
        }
        nodes.panel_start.push(nodes.at.len());
        nodes
    }

    /// The outermost panel touches a bound of the axis, so that there is nothing beyond it.
    pub(super) fn is_closed(&self, end: End) -> bool {
        let (first, last) = (self.boundaries[0], self.boundaries[self.panels()]);
        match (self.kind, end) {
            (Kind::Line(lower, _), End::Lower) => first <= lower || first <= -FARTHEST,
            (Kind::Line(_, upper), End::Upper) => last >= upper || last >= FARTHEST,
            (Kind::Integers, End::Lower) => first <= 0.0,
            (Kind::Integers, End::Upper) => last >= LARGEST_COUNT,
            (Kind::States, _) => true,
        }
    }

    /// Whether the axis really ends there, at a finite bound.
    pub(super) fn is_bounded(&self, end: End) -> bool {
        match (self.kind, end) {
            (Kind::Line(lower, _), End::Lower) => lower.is_finite(),
            (Kind::Line(_, upper), End::Upper) => upper.is_finite(),
            (Kind::Integers, End::Lower) | (Kind::States, _) => true,
            (Kind::Integers, End::Upper) => false,
        }
    }

    /// Whether every further panel costs as many nodes as all before it.
    pub(super) fn grows_with_reach(&self) -> bool {
        self.kind == Kind::Integers
    }

    /// Adds `steps` panels beyond the outermost, each reaching twice as far from the center.
    pub(super) fn extend(&mut self, end: End, steps: usize) {
        for _ in 0..steps {
            if self.is_closed(end) {
                return;
            }
            match end {
                End::Lower => {
                    let next = self.beyond(self.boundaries[0], self.boundaries[1]);
                    self.boundaries.insert(0, next);
                }
                End::Upper => {
                    let last = self.panels();
                    let next = self.beyond(self.boundaries[last], self.boundaries[last - 1]);
                    self.boundaries.push(next);
                }
            }
        }
    }

    /// The next boundary beyond `edge`, whose panel started at `inner`.
    fn beyond(&self, edge: f64, inner: f64) -> f64 {
        let step = (edge - self.center).abs().max((edge - inner).abs());
        match self.kind {
            Kind::Integers if edge > inner => edge + step.max(16.0),
            Kind::Integers => (edge - step.max(16.0)).max(0.0).floor(),
            _ => edge + step.copysign(edge - inner),
        }
    }

    /// Splits the panels marked in `split`; a panel at a finite end is graded towards that end, where an
    /// integrand may have a singularity. Returns whether anything could be split.
    pub(super) fn split(&mut self, split: &[bool]) -> bool {
        let Kind::Line(lower, upper) = self.kind else { return false };
        // Towards a strong pole, such as x^(−0.95), hundreds of halvings are needed: the steps grow with those made.
        let halvings = |end| (self.grading(end) as i32 / 2).clamp(GRADED_AT_ONCE, MOST_GRADED_AT_ONCE);
        let (below, above) = (halvings(End::Lower), halvings(End::Upper));
        let mut out = vec![self.boundaries[0]];
        for (bounds, &divide) in self.boundaries.windows(2).zip(split) {
            let (a, b) = (bounds[0], bounds[1]);
            if divide {
                // A panel between two breaks is halved first, and graded when its halves have one each.
                let (left, right) = (self.breaks.contains(&a), self.breaks.contains(&b));
                if a == lower || left && !right {
                    let steps = if a == lower { below } else { GRADED_AT_ONCE };
                    out.extend((1..=steps).rev().map(|k| a + (b - a) * 0.5f64.powi(k)));
                } else if b == upper || right && !left {
                    let steps = if b == upper { above } else { GRADED_AT_ONCE };
                    out.extend((1..=steps).map(|k| b - (b - a) * 0.5f64.powi(k)));
                } else {
                    out.push(0.5 * (a + b));
                }
            }
            out.push(b);
        }
        // Near a bound other than zero the boundaries run into the spacing of floating-point numbers.
        out.dedup_by(|b, a| *b - *a <= (4.0 * f64::EPSILON * a.abs().max(b.abs())).max(NARROWEST));
        let last = out.len() - 1;
        out[last] = self.boundaries[self.panels()];
        let changed = out.len() > self.boundaries.len();
        self.boundaries = out;
        changed
    }
}

impl Nodes {
    fn push_line(&mut self, a: f64, b: f64, pair: &Pair) {
        // Halves first: the sum of two ends near the largest number would overflow.
        let (middle, half) = (0.5 * a + 0.5 * b, 0.5 * b - 0.5 * a);
        // Near a bound other than zero a node may round to the bound, where an integrable function may be infinite.
        let (first, last) = (a.next_up(), b.next_down());
        self.at.extend(pair.nodes.iter().map(|x| (middle + half * x).max(first).min(last)));
        self.weight.extend(pair.kronrod.iter().map(|w| half * w));
        self.gauss.extend(pair.gauss.iter().map(|w| half * w));
    }

    fn push_points(&mut self, values: impl Iterator<Item = f64>) {
        let from = self.at.len();
        self.at.extend(values);
        self.weight.resize(self.at.len(), 1.0);
        self.gauss.extend_from_slice(&self.weight[from..]);
    }
}

impl Axis {
    /// Where the mass is.
    pub(super) fn center(&self) -> f64 {
        self.center
    }

    pub(super) fn first_boundary(&self) -> f64 {
        self.boundaries[0]
    }

    /// Index of the boundary equal to `x`, if there is one.
    pub(super) fn position_of(&self, x: f64) -> Option<usize> {
        self.boundaries.iter().position(|b| *b == x)
    }

    /// Whether the panels towards a finite end still halve. They stop where the floating-point numbers near the end
    /// run out, and what such panels hold says nothing about an integral.
    pub(super) fn is_graded(&self, end: End, panels: usize) -> bool {
        let width = |i: usize| match end {
            End::Lower => self.boundaries[i + 1] - self.boundaries[i],
            End::Upper => self.boundaries[self.panels() - i] - self.boundaries[self.panels() - i - 1],
        };
        // The last split leaves two panels of equal width at the very end.
        (1..panels - 1).all(|i| width(i) <= 0.75 * width(i + 1))
    }

    /// The panels beside each break, nearest first: for each side of each break, where it was graded often enough and
    /// its panels still halve.
    pub(super) fn graded_breaks(&self, panels: usize, needed: usize) -> Vec<Vec<usize>> {
        let width = |i: usize| self.boundaries[i + 1] - self.boundaries[i];
        let mut sides = Vec::new();
        for at in self.breaks.iter().filter_map(|x| self.boundaries.iter().position(|b| b == x)) {
            if at + panels <= self.panels() {
                sides.push((at..at + panels).collect::<Vec<_>>());
            }
            if at >= panels {
                sides.push((at - panels..at).rev().collect());
            }
        }
        sides.retain(|side| {
            let halving = side[1..].windows(2).all(|pair| width(pair[0]) <= 0.75 * width(pair[1]));
            halving && (self.scale / width(side[0])).log2() >= needed as f64
        });
        sides
    }

    /// Whether the outermost panel at a finite end holds only a few floating-point numbers.
    pub(super) fn runs_out(&self, end: End) -> bool {
        let last = self.panels();
        let (bound, inner) = match end {
            End::Lower => (self.boundaries[0], self.boundaries[1]),
            End::Upper => (self.boundaries[last], self.boundaries[last - 1]),
        };
        self.is_bounded(end) && (bound - inner).abs() <= 256.0 * f64::EPSILON * bound.abs()
    }

    /// How many times the outermost panel at a finite end has been halved, in effect.
    pub(super) fn grading(&self, end: End) -> usize {
        let last = self.panels();
        let (bound, inner) = match end {
            End::Lower => (self.boundaries[0], self.boundaries[1]),
            End::Upper => (self.boundaries[last], self.boundaries[last - 1]),
        };
        let reach = (self.center - bound).abs().max(self.scale);
        (reach / (inner - bound).abs()).log2().max(0.0) as usize
    }
}
