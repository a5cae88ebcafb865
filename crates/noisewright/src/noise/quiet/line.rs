//! The inverse distribution function of a density on a finite interval that is known by its values alone.

/// Half of the nodes and weights of the 12-point Gauss–Legendre rule on [−1, 1].
pub(in crate::noise) const GAUSS_12: [(f64, f64); 6] = [
    (0.125_233_408_511_468_9, 0.249_147_045_813_402_8),
    (0.367_831_498_998_180_2, 0.233_492_536_538_354_8),
    (0.587_317_954_286_617_4, 0.203_167_426_723_065_92),
    (0.769_902_674_194_304_7, 0.160_078_328_543_346_23),
    (0.904_117_256_370_474_9, 0.106_939_325_995_318_43),
    (0.981_560_634_246_719_3, 0.047_175_336_386_511_83),
];

/// Cells that the interval is cut into, beside the breaks: over a 512th of the range where the mass is, a density of
/// analytic pieces is a polynomial of degree 23 to rounding.
const CELLS: usize = 512;
/// Most steps of the inversion inside a cell; bisection alone would need 52.
const STEPS: usize = 60;

/// Masses of cells, found by quadrature.
#[derive(Clone, Debug)]
pub(crate) struct LineQuantile {
    edges: Vec<f64>,
    /// Masses to the left of every edge, over all.
    cumulative: Vec<f64>,
    mass: f64,
}

/// A log-density of some values.
pub(crate) type LineDensity<'a> = &'a dyn Fn(&[f64], &mut [f64]);

impl LineQuantile {
    /// Integrates the density between `lower` and `upper`, with edges at the breaks, where it is not smooth; `None` where
    /// there is no mass.
    pub(crate) fn new(lower: f64, upper: f64, breaks: &[f64], density: LineDensity<'_>) -> Option<Self> {
        let even = (0..=CELLS).map(|i| lower + (upper - lower) * i as f64 / CELLS as f64);
        let mut edges: Vec<f64> =
            even.chain(breaks.iter().copied().filter(|b| *b > lower && *b < upper)).collect();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let mut mass = 0.0;
        let mut cumulative = vec![0.0];
        for pair in edges.windows(2) {
            mass += integral(pair[0], pair[1], density);
            cumulative.push(mass);
        }
        if !(mass > 0.0 && mass.is_finite()) {
            return None;
        }
        cumulative.iter_mut().for_each(|c| *c /= mass);
        Some(Self { edges, cumulative, mass })
    }

    /// The value with the share `u` of the mass below it.
    pub(crate) fn at(&self, u: f64, density: LineDensity<'_>) -> f64 {
        let cell = self.cumulative.partition_point(|c| *c <= u).clamp(1, self.edges.len() - 1) - 1;
        let (start, end) = (self.edges[cell], self.edges[cell + 1]);
        let wanted = (u - self.cumulative[cell]) * self.mass;
        let (mut left, mut right) = (start, end);
        let share = wanted / ((self.cumulative[cell + 1] - self.cumulative[cell]) * self.mass);
        let mut x = start + share.clamp(0.0, 1.0) * (end - start);
        for _ in 0..STEPS {
            let excess = integral(start, x, density) - wanted;
            if excess > 0.0 {
                right = x
            } else {
                left = x
            }
            let mut log_density = [0.0];
            density(&[x], &mut log_density);
            let next = x - excess / log_density[0].exp();
            let next = if next > left && next < right { next } else { f64::midpoint(left, right) };
            if (next - x).abs() <= 4.0 * f64::EPSILON * (start.abs().max(end.abs())) {
                return next;
            }
            x = next;
        }
        x
    }
}

/// `∫ p` from a to b by the 12-point rule.
fn integral(a: f64, b: f64, density: LineDensity<'_>) -> f64 {
    let (middle, half) = (f64::midpoint(a, b), 0.5 * (b - a));
    let mut nodes = [0.0; 12];
    for (pair, (t, _)) in nodes.chunks_exact_mut(2).zip(GAUSS_12) {
        pair.copy_from_slice(&[middle - half * t, middle + half * t]);
    }
    let mut values = [0.0; 12];
    density(&nodes, &mut values);
    let weighted =
        values.chunks_exact(2).zip(GAUSS_12).map(|(pair, (_, w))| w * (pair[0].exp() + pair[1].exp()));
    half * weighted.sum::<f64>()
}
