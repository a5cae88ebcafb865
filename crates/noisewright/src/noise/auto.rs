//! The default noise: fitted to the data by the kind of their domain, with tails heavier than theirs.

use std::sync::Arc;

use super::fitting::{Sample, total_weight, unfitted};
use super::whitening::mean_and_covariance;
use crate::{
    Categorical, Domain, Error, Gamma, Histogram1d, LogNormal, Mixture, MultivariateNormal,
    MultivariateStudent, NegativeBinomial, Noise, Normal, Product, Result, Scalar, Space, Student,
    UniformSphere, View, VonMises, VonMisesFisher, equal_edges,
};

/// How much wider than the data the main part is, as a factor of the variance.
const INFLATION: f64 = 1.5;
/// Share of the main part beside a Student or a uniform part on the circle or the sphere.
const MAIN_SHARE: f64 = 0.75;
/// Share of the uniform density under the histogram of an interval.
const UNIFORM_FLOOR: f64 = 0.15;
/// What every state has before any is counted.
const PSEUDO_COUNT: f64 = 0.5;

/// The noise `auto`: by domain, fitted to the data (with optional weights), its tails heavier than the data's.
///
/// | domain | noise |
/// |---|---|
/// | real, one or several variables together | 75 % normal with the covariance × (1 + 1/(2√d)), 25 % Student with 5 degrees of freedom and that matrix for its scale |
/// | positive | 65 % gamma with the variance × 1.5, 25 % log-normal with the variance of the logarithm × 1.5, 10 % exponential, which keeps the density at zero positive |
/// | interval | smoothed histogram on at most 64 bins, with 15 % uniform |
/// | circle | 75 % von Mises with the concentration / 1.5, 25 % uniform |
/// | states | frequencies with half a count added to each state |
/// | counts | negative binomial with 1.5 times the variance of the data (or of Poisson counts, if that is larger) |
/// | sphere | 75 % von Mises–Fisher with the concentration / 1.5, 25 % uniform |
/// | of different kinds | the product of the above, variable by variable |
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
    let column = |axis: usize| View::new(1, data.rows(), data.column(axis));
    let marginal = |axis: usize| -> Result<Arc<dyn Noise>> {
        Ok(match &space.domains()[axis] {
            Domain::Real => real(column(axis), weights)?,
            Domain::Positive => positive(column(axis), weights)?,
            Domain::Interval(lo, hi) => interval(*lo, *hi, column(axis), weights)?,
            Domain::Circle => circle(column(axis), weights)?,
            Domain::States(states) => {
                Arc::new(Categorical::fit_to_states(states, PSEUDO_COUNT, column(axis), weights)?)
            }
            Domain::Counts => counts(column(axis), weights)?,
        })
    };
    if d == 1 {
        return marginal(0);
    }
    Ok(Arc::new(Product::new((0..d).map(marginal).collect::<Result<_>>()?)?))
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
fn mixed(parts: Vec<(f64, Arc<dyn Scalar>)>) -> Result<Arc<dyn Noise>> {
    Ok(Arc::new(Mixture::<dyn Scalar>::new(parts)?))
}

fn real(data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    let (mean, variance) = Sample::scalar("auto", data, weights)?.moments()?;
    let variance = INFLATION * variance;
    mixed(vec![
        (MAIN_SHARE, Arc::new(Normal::with_variance(mean, variance)?)),
        (1.0 - MAIN_SHARE, Arc::new(Student::new(Student::DEFAULT_DOF, mean, variance.sqrt())?)),
    ])
}

/// Normal and Student with one matrix; `(1+ε)²/(1+2ε)` to the power d/2, which is 1 + χ² of normal data against
/// the inflated normal, stays below e^(1/8) for ε = 1/(2√d).
fn several_real(space: &Space, data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    let inflation = 1.0 + (INFLATION - 1.0) / (space.dimension() as f64).sqrt();
    let (mean, mut matrix) = mean_and_covariance("auto", data, weights)?;
    matrix.iter_mut().for_each(|entry| *entry *= inflation);
    let normal = MultivariateNormal::new(&mean, &matrix).map_err(|_| {
        let columns = crate::text::list(space.names());
        unfitted("auto", &format!("columns {columns} are linearly dependent in the data: leave one out"))
    })?;
    let student = MultivariateStudent::new(Student::DEFAULT_DOF, &mean, &matrix)?;
    let parts: Vec<(f64, Arc<dyn Noise>)> =
        vec![(MAIN_SHARE, Arc::new(normal)), (1.0 - MAIN_SHARE, Arc::new(student))];
    Ok(Arc::new(Mixture::<dyn Noise>::new(parts)?))
}

fn positive(data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    let gamma = Gamma::fit(data, weights)?;
    let (mu, sigma) = LogNormal::fit(data, weights)?.of_logarithm();
    mixed(vec![
        // Both divided by the same number: the same mean, a larger variance.
        (0.65, Arc::new(Gamma::new(gamma.shape() / INFLATION, gamma.rate() / INFLATION)?)),
        (0.25, Arc::new(LogNormal::new(mu, sigma * INFLATION.sqrt())?)),
        (0.1, Arc::new(Gamma::new(1.0, gamma.rate() / gamma.shape())?)),
    ])
}

fn interval(lo: f64, hi: f64, data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    let bins = ((2.0 * (data.rows() as f64).cbrt()).ceil() as usize).clamp(4, 64);
    let edges = equal_edges(bins, lo, hi);
    let counted = Histogram1d::fit(&edges, 0.0, data, weights)?;
    let p = counted.probabilities();
    let smooth = |i: usize| 0.25 * p[i.saturating_sub(1)] + 0.5 * p[i] + 0.25 * p[(i + 1).min(bins - 1)];
    let floor = UNIFORM_FLOOR / bins as f64;
    let probabilities: Vec<f64> = (0..bins).map(|i| floor + (1.0 - UNIFORM_FLOOR) * smooth(i)).collect();
    Ok(Arc::new(Histogram1d::new(&edges, &probabilities)?))
}

fn circle(data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
    let fitted = VonMises::fit(data, weights)?;
    mixed(vec![
        (MAIN_SHARE, Arc::new(VonMises::new(fitted.mean(), fitted.concentration() / INFLATION)?)),
        (1.0 - MAIN_SHARE, Arc::new(VonMises::new(0.0, 0.0)?)),
    ])
}

fn counts(data: View<'_>, weights: Option<&[f64]>) -> Result<Arc<dyn Noise>> {
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
    Ok(Arc::new(Mixture::<dyn Noise>::new(vec![(MAIN_SHARE, Arc::new(wider)), (1.0 - MAIN_SHARE, uniform)])?))
}
