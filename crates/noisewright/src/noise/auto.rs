//! The default noise: fitted to the data by the kind of their domain, with tails heavier than theirs.

use std::sync::Arc;

use super::dependent::{CircularTree, Group, Grouped, Margin, MetaElliptical, columns_of};
use super::fitting::{Sample, total_weight, unfitted};
use super::heavy_tails::{self, StudentFit};
use super::whitening::mean_and_covariance;
use crate::noise::tree::StateTree;
use crate::{
    Beta, Categorical, Domain, Error, Gamma, Histogram1d, LogNormal, Mixture, MultivariateNormal,
    MultivariateStudent, NegativeBinomial, Noise, Normal, Product, Result, Scalar, Space, Student,
    UniformSphere, View, VonMises, VonMisesFisher, equal_edges,
};

/// How much wider than the data the main part is, as a factor of the variance.
pub(super) const INFLATION: f64 = 1.5;
/// Share of the main part beside a Student or a uniform part on the circle or the sphere.
const MAIN_SHARE: f64 = 0.75;
/// Share of the uniform density under the histogram of an interval.
const UNIFORM_FLOOR: f64 = 0.15;
/// What every state has before any is counted.
pub(super) const PSEUDO_COUNT: f64 = 0.5;
/// States of all variables together beyond which their dependence is kept along a tree: fewer are all visited instead of
/// drawn by a fit that is left to itself.
const MANY_STATES: f64 = (1u64 << 20) as f64;
/// Share of the domain that data must fill for cells to be laid over all of it.
const FILLED: f64 = 0.25;
/// Room on either side of data that fill less, as a share of their range.
const MARGIN: f64 = 0.25;
/// A cell with more than this share of the data is divided, into so many with equal shares.
const CROWDED: f64 = 0.25;
const DIVIDED: usize = 8;
/// An exponent of a beta distribution below which its end of an interval is a pole, which no cell of a histogram follows:
/// under a constant density ratios have a finite third moment for larger ones.
const POLE: f64 = 0.75;
/// How much wider the lower half of the logarithms may be than the upper half for a log-normal part fitted to all of them.
const SKEWED: f64 = 2.0;

/// The noise `auto`: by domain, fitted to the data (with optional weights), its tails heavier than the data's.
///
/// - **real, one or several variables together**: 75 % normal with the covariance × (1 + 1/(2√d)), 25 % Student with 5
///   degrees of freedom and that matrix for its scale
/// - **real with tails too heavy for moments**: 75 % Student by maximum likelihood, widened as much, 25 % with half its
///   degrees of freedom
/// - **positive**: 65 % gamma with the variance × 1.5, 25 % log-normal with the variance of the logarithm × 1.5 (that
///   of its upper half, where the lower one is much wider), 10 % exponential, which keeps the density at zero positive
/// - **interval**: smoothed histogram with 15 % uniform, on at most 64 bins over the domain, or over the data where
///   they fill less than a quarter of it; crowded bins are divided; towards a pole, half of it a beta with a steeper
///   one
/// - **circle**: 75 % von Mises with the concentration / 1.5, 25 % uniform
/// - **states**: frequencies with half a count added to each state; of more than 2²⁰ together, each variable given one
///   other (a Chow–Liu tree)
/// - **counts**: negative binomial with 1.5 times the variance of the data (or of Poisson counts, if that is larger)
/// - **sphere**: 75 % von Mises–Fisher with the concentration / 1.5, 25 % uniform
/// - **several variables of these kinds**: the product of the above, variable by variable. Where some of them depend on one
///   another, those on a line get a joint distribution of their normal scores, the one of several real variables, and angles
///   are given one other each, by the difference or the sum of the two (a tree of circulas)
///
/// The inflation shrinks with the number d of real variables, so that the overlap of data and noise does not
/// vanish in many of them.
///
/// ```
/// use noisewright::{Space, View, fit_auto};
/// let space = Space::real(&["x"])?;
/// let noise = fit_auto(&space, View::new(1, 4, &[-1.0, 1.0, -1.0, 1.0]), None)?;
/// assert_eq!(noise.describe(), "0.75*normal(0, 1.5) + 0.25*student(5, 0, 1.224744871391589)");
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When there are too few rows (fewer than 2 + 2d), a value is outside its domain, a column does not vary, or
/// real columns are linearly dependent.
pub fn fit_auto(space: &Space, data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    check(space, data, weights)?;
    if space.is_sphere() {
        return directions(data, weights);
    }
    let d = space.dimension();
    if d > 1 && space.domains().iter().all(|domain| *domain == Domain::Real) {
        return several_real(space, data, weights);
    }
    if let Some(states) = many_states(space) {
        return Ok(Arc::new(StateTree::fit(&states, PSEUDO_COUNT, data, weights)?));
    }
    let alone = |axis: usize| -> Result<Arc<dyn Noise>> {
        Ok(margin(&space.domains()[axis], column_of(data, axis), weights, ALONE)?)
    };
    if d == 1 {
        return alone(0);
    }
    if let Some(joint) = dependent(space, data, weights)? {
        return Ok(joint);
    }
    Ok(Arc::new(Product::of_shared((0..d).map(alone).collect::<Result<_>>()?)?))
}

fn column_of(data: View<'_>, axis: usize) -> View<'_> {
    View::new(1, data.rows(), data.column(axis))
}

/// How much wider than its data a distribution of one variable is.
#[derive(Clone, Copy)]
struct Wider {
    /// A factor of the variance.
    variance: f64,
    /// A factor of the share of uniform parts.
    uniform: f64,
}

/// Of variables whose noise is independent of others'.
const ALONE: Wider = Wider { variance: INFLATION, uniform: 1.0 };

/// The distribution of one variable.
fn margin(domain: &Domain, data: View<'_>, weights: Option<&[f64]>, wider: Wider) -> Result<Arc<dyn Scalar>> {
    Ok(match domain {
        Domain::Real => real(data, weights, wider)?,
        Domain::Positive => positive(data, weights, wider)?,
        Domain::Interval(lo, hi) => interval(*lo, *hi, data, weights, wider)?,
        Domain::Circle => circle(data, weights, wider)?,
        Domain::States(states) => Arc::new(Categorical::fit_to_states(states, PSEUDO_COUNT, data, weights)?),
        Domain::Counts => counts(data, weights)?,
    })
}

/// The noise of variables of which some depend on one another: those on a line by their normal scores, whose tails are those of
/// real variables, and angles along a tree. Lines, angles, states and counts are independent of one another. `None` where
/// no dependence is found.
fn dependent(space: &Space, data: View<'_>, weights: Option<&[f64]>) -> Result<Option<Arc<dyn Noise>>> {
    let domains = space.domains();
    let of = |wanted: fn(&Domain) -> bool| -> Vec<usize> {
        (0..domains.len()).filter(|axis| wanted(&domains[*axis])).collect()
    };
    let lines = of(|domain| matches!(domain, Domain::Real | Domain::Positive | Domain::Interval(..)));
    let angles = of(|domain| *domain == Domain::Circle);
    let mut groups: Vec<Group> = Vec::new();
    if let Some(noise) = by_scores(space, &lines, data, weights)? {
        groups.push((lines, noise));
    }
    if let Some(noise) = along_a_tree(&angles, data, weights)? {
        groups.push((angles, noise));
    }
    if groups.is_empty() {
        return Ok(None);
    }
    let grouped: Vec<usize> = groups.iter().flat_map(|(variables, _)| variables).copied().collect();
    for axis in (0..domains.len()).filter(|axis| !grouped.contains(axis)) {
        groups.push((vec![axis], margin(&domains[axis], column_of(data, axis), weights, ALONE)?));
    }
    Ok(Some(match groups.as_slice() {
        [(_, noise)] => Arc::clone(noise),
        _ => Arc::new(Grouped::new(groups)?),
    }))
}

/// Variables on a line: margins as they are fitted, and the noise of real variables for their normal scores.
fn by_scores(
    space: &Space,
    axes: &[usize],
    data: View<'_>,
    weights: Option<&[f64]>,
) -> Result<Option<Arc<dyn Noise>>> {
    if axes.len() < 2 {
        return Ok(None);
    }
    let wider = Wider { variance: 1.0, uniform: (axes.len() as f64).sqrt().recip() };
    let own = |axis: &usize| margin(&space.domains()[*axis], column_of(data, *axis), weights, wider);
    let margins: Vec<Margin> = axes.iter().map(|axis| own(axis).map(Margin::new)).collect::<Result<_>>()?;
    let values = columns_of(data, axes);
    let rows = View::new(axes.len(), data.rows(), &values);
    let Some(scores) = MetaElliptical::dependent_scores(&margins, rows, weights) else { return Ok(None) };
    let names: Vec<&String> = axes.iter().map(|axis| &space.names()[*axis]).collect();
    let scores = several_real(&Space::real(&names)?, View::new(axes.len(), data.rows(), &scores), weights)?;
    Ok(Some(Arc::new(MetaElliptical::new(margins, scores)?)))
}

/// Angles: margins as they are fitted, joined along a tree. Uniform parts of all edges together take about as much of the mass
/// as that of one angle alone.
fn along_a_tree(axes: &[usize], data: View<'_>, weights: Option<&[f64]>) -> Result<Option<Arc<dyn Noise>>> {
    if axes.len() < 2 {
        return Ok(None);
    }
    let wider = Wider { variance: 1.0, uniform: (axes.len() as f64).recip() };
    let own = |axis: &usize| circle(column_of(data, *axis), weights, wider);
    let margins: Vec<Margin> = axes.iter().map(|axis| own(axis).map(Margin::new)).collect::<Result<_>>()?;
    let values = columns_of(data, axes);
    let rows = View::new(axes.len(), data.rows(), &values);
    let widening = (inflation(axes.len()), (1.0 - MAIN_SHARE) * wider.uniform);
    let tree = CircularTree::fit(margins, widening, rows, weights)?;
    Ok(tree.map(|tree| Arc::new(tree) as Arc<dyn Noise>))
}

/// The states of every variable, where all have finitely many and they are too many to be visited.
fn many_states(space: &Space) -> Option<Vec<Vec<f64>>> {
    let of = |domain: &Domain| match domain {
        Domain::States(states) => Some(states.clone()),
        _ => None,
    };
    let states: Vec<Vec<f64>> = space.domains().iter().map(of).collect::<Option<_>>()?;
    let count: f64 = states.iter().map(|s| s.len() as f64).product();
    (states.len() > 1 && count > MANY_STATES).then_some(states)
}

/// Whether the data have the shape, the number of rows and the values that a fit needs, column by column.
fn check(space: &Space, data: View<'_>, weights: Option<&[f64]>) -> Result<()> {
    let (expected, found) = (space.dimension(), data.columns());
    if expected != found {
        return Err(Error::Shape { what: "columns of data", expected, found });
    }
    total_weight("auto", data.rows(), weights)?;
    let rows = weights.map_or(data.rows(), |w| w.iter().filter(|w| **w > 0.0).count());
    let needed = 2 + 2 * expected;
    if rows < needed {
        let reason = format!("{rows} rows of data are too few to fit it: give at least {needed}");
        return Err(unfitted("auto", &reason));
    }
    (0..expected).try_for_each(|axis| check_column(space, data, weights, axis))
}

fn check_column(space: &Space, data: View<'_>, weights: Option<&[f64]>, axis: usize) -> Result<()> {
    let (name, domain) = (&space.names()[axis], &space.domains()[axis]);
    // Rounding may carry a coordinate of a unit vector past 1; its length is checked by the fit.
    let allowed = |x: f64| if space.is_sphere() { x.is_finite() } else { domain.contains(x) };
    if let Some(row) = data.column(axis).iter().position(|x| !allowed(*x)) {
        let reason = format!(
            "row {} of column `{name}` is {}, which is not {}",
            row + 1,
            data.get(row, axis),
            words(domain)
        );
        return Err(unfitted("auto", &reason));
    }
    let (lo, hi) = Sample::column("auto", data, weights, axis)?.range();
    // States never seen have their pseudo-count, and one coordinate of directions may well be constant.
    if lo == hi && !space.is_sphere() && !matches!(domain, Domain::States(_)) {
        let reason = format!("column `{name}` is {lo} in every row, so no scale can be fitted to it");
        return Err(unfitted("auto", &reason));
    }
    Ok(())
}

/// What a value of the domain is, to end a sentence.
fn words(domain: &Domain) -> String {
    match domain {
        Domain::Real | Domain::Circle => "a finite number".into(),
        Domain::Positive => "a positive number".into(),
        Domain::Interval(lo, hi) => format!("between {lo} and {hi}"),
        Domain::States(_) => "one of its states".into(),
        Domain::Counts => "a count 0, 1, 2, …".into(),
    }
}

/// A mixture of distributions of one variable.
fn mixed(parts: Vec<(f64, Arc<dyn Scalar>)>) -> Result<Arc<dyn Scalar>> {
    Ok(Arc::new(Mixture::<dyn Scalar>::of_shared(parts)?))
}

fn real(data: View<'_>, weights: Option<&[f64]>, wider: Wider) -> Result<Arc<dyn Scalar>> {
    let sample = Sample::scalar("auto", data, weights)?;
    if heavy_tails::shows(&sample) {
        let StudentFit { dof, location, matrix } = heavy_tails::fit_student("auto", data, weights)?;
        let scale = (wider.variance * matrix[0]).sqrt();
        return mixed(vec![
            (MAIN_SHARE, Arc::new(Student::new(dof, location[0], scale)?)),
            (1.0 - MAIN_SHARE, Arc::new(Student::new(0.5 * dof, location[0], scale)?)),
        ]);
    }
    let (mean, variance) = sample.moments()?;
    let variance = wider.variance * variance;
    mixed(vec![
        (MAIN_SHARE, Arc::new(Normal::with_variance(mean, variance)?)),
        (1.0 - MAIN_SHARE, Arc::new(Student::new(Student::DEFAULT_DOF, mean, variance.sqrt())?)),
    ])
}

/// How much wider than data in d real variables their noise is, as a factor of the covariance: `(1+ε)²/(1+2ε)` to the power
/// d/2, which is 1 + χ² of normal data against the inflated normal, stays below e^(1/8) for ε = 1/(2√d).
pub(super) fn inflation(dimension: usize) -> f64 {
    1.0 + (INFLATION - 1.0) / (dimension as f64).sqrt()
}

/// Normal and Student with one matrix.
fn several_real(space: &Space, data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    let inflation = inflation(space.dimension());
    let column = |axis: usize| Sample::column("auto", data, weights, axis);
    if (0..space.dimension()).map(column).collect::<Result<Vec<_>>>()?.iter().any(heavy_tails::shows) {
        let StudentFit { dof, location, mut matrix } = heavy_tails::fit_student("auto", data, weights)?;
        matrix.iter_mut().for_each(|entry| *entry *= inflation);
        let part = |dof: f64| MultivariateStudent::new(dof, &location, &matrix);
        let parts: Vec<(f64, Arc<dyn Noise>)> =
            vec![(MAIN_SHARE, Arc::new(part(dof)?)), (1.0 - MAIN_SHARE, Arc::new(part(0.5 * dof)?))];
        return Ok(Arc::new(Mixture::<dyn Noise>::of_shared(parts)?));
    }
    let (mean, mut matrix) = mean_and_covariance("auto", data, weights)?;
    matrix.iter_mut().for_each(|entry| *entry *= inflation);
    let normal = MultivariateNormal::new(&mean, &matrix).map_err(|_| {
        let columns = crate::text::list(space.names());
        unfitted("auto", &format!("columns {columns} are linearly dependent in the data: leave one out"))
    })?;
    let student = MultivariateStudent::new(Student::DEFAULT_DOF, &mean, &matrix)?;
    let parts: Vec<(f64, Arc<dyn Noise>)> =
        vec![(MAIN_SHARE, Arc::new(normal)), (1.0 - MAIN_SHARE, Arc::new(student))];
    Ok(Arc::new(Mixture::<dyn Noise>::of_shared(parts)?))
}

fn positive(data: View<'_>, weights: Option<&[f64]>, wider: Wider) -> Result<Arc<dyn Scalar>> {
    let gamma = Gamma::fit(data, weights)?;
    let (mu, sigma) = upper_logarithm(data, weights)?;
    mixed(vec![
        // Both divided by the same number: the same mean, a larger variance.
        (0.65, Arc::new(Gamma::new(gamma.shape() / wider.variance, gamma.rate() / wider.variance)?)),
        (0.25, Arc::new(LogNormal::new(mu, sigma * wider.variance.sqrt())?)),
        (0.1, Arc::new(Gamma::new(1.0, gamma.rate() / gamma.shape())?)),
    ])
}

/// Location and scale of the logarithms, those of their upper half where the lower one is much wider: near zero the gamma
/// part is what is needed, and a log-normal with the scale of gamma(0.1, 1) would reach 10²⁴ on the other side.
fn upper_logarithm(data: View<'_>, weights: Option<&[f64]>) -> Result<(f64, f64)> {
    let fitted = LogNormal::fit(data, weights)?.of_logarithm();
    let sample = Sample::scalar("auto", data, weights)?;
    let [low, median, high] = [0.05, 0.5, 0.95].map(|p| sample.quantile(p).ln());
    let (below, above) = (median - low, high - median);
    // The 95 % quantile of a normal distribution is 1.645 deviations from its median.
    Ok(if above > 0.0 && below > SKEWED * above { (median, above / 1.645) } else { fitted })
}

/// Cells over the domain or, where the data fill little of it, over the data with some room, and the rest of the domain on
/// either side.
fn cells(lo: f64, hi: f64, sample: &Sample<'_>) -> Vec<f64> {
    let bins = ((2.0 * (sample.values.len() as f64).cbrt()).ceil() as usize).clamp(4, 64);
    let (least, most) = sample.range();
    let room = MARGIN * (most - least);
    if most - least >= FILLED * (hi - lo) || room <= 0.0 {
        return equal_edges(bins, lo, hi);
    }
    let mut edges = equal_edges(bins, (least - room).max(lo), (most + room).min(hi));
    if edges[0] > lo {
        edges.insert(0, lo);
    }
    if edges[edges.len() - 1] < hi {
        edges.push(hi);
    }
    edges
}

/// Divides cells with a large share of the data at the quantiles of those: towards a pole of a density they get as narrow
/// as it takes.
fn divided(edges: &[f64], sample: &Sample<'_>) -> Vec<f64> {
    let inside = |from: f64, to: f64| {
        let mut values: Vec<f64> = sample.values.iter().copied().filter(|x| *x >= from && *x < to).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let mut out = vec![edges[0]];
    for pair in edges.windows(2) {
        let values = inside(pair[0], pair[1]);
        if values.len() as f64 > CROWDED * sample.values.len() as f64 {
            let quantile = |k: usize| values[k * values.len() / DIVIDED];
            let cuts = (1..DIVIDED).map(quantile).filter(|x| *x > pair[0] && *x < pair[1]);
            for cut in cuts {
                if out.last().is_some_and(|last| cut > *last) {
                    out.push(cut);
                }
            }
        }
        out.push(pair[1]);
    }
    out
}

fn interval(
    lo: f64,
    hi: f64,
    data: View<'_>,
    weights: Option<&[f64]>,
    wider: Wider,
) -> Result<Arc<dyn Scalar>> {
    let sample = Sample::scalar("auto", data, weights)?;
    let edges = divided(&cells(lo, hi, &sample), &sample);
    let counted = Histogram1d::fit(&edges, 0.0, data, weights)?;
    let (p, bins) = (counted.probabilities(), edges.len() - 1);
    let width = |i: usize| edges[i + 1] - edges[i];
    // A share passes to a neighbour in proportion to how much of the two that is, so that a narrow cell keeps what is
    // left of it and nothing is lost.
    let smooth = |i: usize| {
        let from = |j: usize| 0.5 * p[j] * width(i) / (width(i) + width(j));
        let kept = |j: usize| 0.5 * p[i] * width(i) / (width(i) + width(j));
        let (left, right) = (i.saturating_sub(1), (i + 1).min(bins - 1));
        let side = |j: usize| if j == i { 0.5 * p[i] } else { from(j) + kept(j) };
        side(left) + side(right)
    };
    let share = UNIFORM_FLOOR * wider.uniform;
    let floor = |i: usize| share * width(i) / (hi - lo);
    let probabilities: Vec<f64> = (0..bins).map(|i| floor(i) + (1.0 - share) * smooth(i)).collect();
    let histogram = Histogram1d::new(&edges, &probabilities)?;
    match poles(lo, hi, data, weights)? {
        Some(beta) => mixed(vec![(0.5, Arc::new(histogram)), (0.5, Arc::new(beta))]),
        None => Ok(Arc::new(histogram)),
    }
}

/// A beta distribution with the poles that the data have at the ends of the interval, steeper than theirs; none if they have none.
fn poles(lo: f64, hi: f64, data: View<'_>, weights: Option<&[f64]>) -> Result<Option<Beta>> {
    // Data that sit at both ends only have no such fit, and no use for one.
    let Ok(fitted) = Beta::fit_on(lo, hi, data, weights) else { return Ok(None) };
    let (a, b) = fitted.shape();
    let steeper = |exponent: f64| if exponent < POLE { exponent / INFLATION } else { exponent };
    if a.min(b) < POLE { Beta::new(steeper(a), steeper(b))?.on(lo, hi).map(Some) } else { Ok(None) }
}

fn circle(data: View<'_>, weights: Option<&[f64]>, wider: Wider) -> Result<Arc<dyn Scalar>> {
    let fitted = VonMises::fit(data, weights)?;
    let uniform = (1.0 - MAIN_SHARE) * wider.uniform;
    mixed(vec![
        (1.0 - uniform, Arc::new(VonMises::new(fitted.mean(), fitted.concentration() / wider.variance)?)),
        (uniform, Arc::new(VonMises::new(0.0, 0.0)?)),
    ])
}

fn counts(data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Scalar>> {
    let (mean, variance) = Sample::scalar("auto", data, weights)?.moments()?;
    let excess = INFLATION * variance.max(mean) - mean;
    Ok(Arc::new(NegativeBinomial::new(mean, mean * mean / excess)?))
}

fn directions(data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    let uniform: Arc<dyn Noise> = Arc::new(UniformSphere::new(data.columns())?);
    let mut axes = (0..data.columns()).map(|axis| Sample::column("auto", data, weights, axis));
    // Directions that cancel exactly have no mean direction to concentrate around.
    if axes.try_fold(true, |cancel, axis| Ok::<_, Error>(cancel && axis?.mean_of(|x| x) == 0.0))? {
        return Ok(uniform);
    }
    let fitted = VonMisesFisher::fit(data, weights)?;
    let wider = VonMisesFisher::new(fitted.direction(), fitted.concentration() / INFLATION)?;
    Ok(Arc::new(Mixture::<dyn Noise>::of_shared(vec![
        (MAIN_SHARE, Arc::new(wider)),
        (1.0 - MAIN_SHARE, uniform),
    ])?))
}
