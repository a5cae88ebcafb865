//! Noise words turned into noises that fit the space of the points.

use std::sync::Arc;

use super::families::{Family, fit_marginal, uniform_on};
use super::names::DESIGNED;
use super::{Argument, Call, NoiseWords, Weight};
use crate::noise::fitting::failed;
use crate::noise::truncated::has_no_mass;
use crate::{
    Bandwidth, Categorical, Domain, Error, Histogram1d, Histogram2d, KernelDensity, Mixture,
    MultivariateNormal, MultivariateStudent, Noise, Product, Result, Scalar, Space, Student, Truncated,
    UniformSphere, View, VonMisesFisher,
};

/// What a noise is built for, and with.
#[derive(Clone, Copy)]
pub struct NoiseContext<'a> {
    /// The space of the points.
    pub space: &'a Space,
    /// Data for the noises that are fitted to them.
    pub data: Option<View<'a>>,
    /// How many times each row of the data counts.
    pub weights: Option<&'a [f64]>,
    /// Asked first for `data`, `model`, `all-noise`, `optimal`, `auto`, `histogram` and `file`.
    #[doc(hidden)]
    pub designed: Option<Designer<'a>>,
}

impl std::fmt::Debug for NoiseContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoiseContext")
            .field("space", &self.space)
            .field("data", &self.data.map(|data| data.rows()))
            .finish_non_exhaustive()
    }
}

/// Makes the noises that need a model, a design or a file; `None` where it has no answer.
type Designer<'a> = &'a dyn Fn(&Call) -> Option<Result<Arc<dyn Noise>>>;

impl<'a> NoiseContext<'a> {
    /// A space, without data and without designed noises.
    #[must_use]
    pub fn new(space: &'a Space) -> Self {
        Self { space, data: None, weights: None, designed: None }
    }

    /// The same with data.
    #[must_use]
    pub fn with_data(self, data: View<'a>) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The same with weights of the data's rows.
    #[must_use]
    pub fn with_weights(self, weights: Option<&'a [f64]>) -> Self {
        Self { weights, ..self }
    }

    /// The data, or the error that they are missing.
    fn data_for(&self, call: &Call) -> Result<View<'a>> {
        let data = self.data.ok_or_else(|| Error::NoiseNeedsData { noise: call.to_string() })?;
        let expected = self.space.dimension();
        if data.columns() != expected {
            return Err(Error::Shape { what: "columns of data", expected, found: data.columns() });
        }
        Ok(data)
    }

    fn is_real(&self) -> bool {
        !self.space.is_sphere() && self.space.domains().iter().all(|domain| *domain == Domain::Real)
    }
}

impl NoiseWords {
    /// The noise that the words say, for the context's space.
    ///
    /// - A family of one variable with numbers for arguments is the same marginal for each variable; a list
    ///   gives each variable its own number.
    /// - A family without arguments is fitted to the data (`uniform`: uniform on the bounded domain).
    /// - A noise that reaches beyond the domain is restricted to it; the parts of a mixture then keep the weights
    ///   that the restricted mixture gives them.
    ///
    /// ```
    /// use noisewright::{Domain, NoiseWords, Space};
    /// use noisewright::parts::NoiseContext;
    /// let space = Space::product(&[("x", Domain::Positive)])?;
    /// let noise = NoiseWords::parse("normal(0, 1)").unwrap().build(&NoiseContext::new(&space))?;
    /// assert_eq!(noise.describe(), "truncate(normal(0, 1), 0, inf)");
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the noise does not fit the space, needs data or a designer that is not there, or has a `?` left.
    pub fn build(&self, context: &NoiseContext<'_>) -> Result<Arc<dyn Noise>> {
        on_domain(self, context)?.finished()
    }

    /// The same for a space of one variable, with its distribution function.
    ///
    /// ```
    /// use noisewright::{NoiseWords, Space};
    /// use noisewright::parts::NoiseContext;
    /// let space = Space::real(&["x"])?;
    /// let noise = NoiseWords::parse("0.5*normal(-1, 1) + 0.5*normal(1, 1)").unwrap();
    /// assert!((noise.build_scalar(&NoiseContext::new(&space))?.cdf(0.0) - 0.5).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`build`](Self::build), and when the distribution function is not known (`kde`, designed noises,
    /// several variables).
    pub fn build_scalar(&self, context: &NoiseContext<'_>) -> Result<Arc<dyn Scalar>> {
        on_domain(self, context)?.finished_scalar().unwrap_or_else(|| {
            Err(failed(
                &self.to_string(),
                "its distribution function is not known; use a family of one variable",
            ))
        })
    }
}

/// The words as a noise that keeps to the domain.
fn on_domain(words: &NoiseWords, context: &NoiseContext<'_>) -> Result<Built> {
    let bounds = domain_bounds(context.space);
    Ok(of_words(words, context)?.restricted(&bounds, Purpose::Domain)?.0)
}

/// The error of a call that cannot be built.
fn refused(call: &Call, reason: &str) -> Error {
    failed(&call.to_string(), reason)
}

/// A noise under construction, open enough to be restricted.
enum Built {
    Scalar(Arc<dyn Scalar>),
    /// A noise of several variables that cannot be restricted any more, and whether it keeps to the domain.
    Joint(Arc<dyn Noise>, bool),
    Product(Vec<Built>),
    Mixture(Vec<(f64, Built)>),
}

/// What a noise is restricted for.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Domain,
    Truncate,
}

const EVERYWHERE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Where noises may reach, per variable; domains whose noises keep to them by their kind are left open.
fn domain_bounds(space: &Space) -> Vec<(f64, f64)> {
    let bounds = |domain: &Domain| match domain {
        Domain::Positive | Domain::Interval(..) | Domain::Counts if !space.is_sphere() => domain.bounds(),
        _ => EVERYWHERE,
    };
    space.domains().iter().map(bounds).collect()
}

impl Built {
    fn dimension(&self) -> usize {
        match self {
            Self::Scalar(_) => 1,
            Self::Joint(noise, _) => noise.dimension(),
            Self::Product(parts) => parts.iter().map(Self::dimension).sum(),
            Self::Mixture(parts) => parts.first().map_or(0, |(_, part)| part.dimension()),
        }
    }

    /// The same within the bounds, and the log of the mass that lay there.
    fn restricted(self, bounds: &[(f64, f64)], purpose: Purpose) -> Result<(Self, f64)> {
        match self {
            Self::Scalar(scalar) => restrict_scalar(scalar, bounds[0]),
            Self::Joint(noise, keeps) => {
                if bounds.iter().all(|b| *b == EVERYWHERE) || (keeps && purpose == Purpose::Domain) {
                    return Ok((Self::Joint(noise, keeps), 0.0));
                }
                let reason = "its mass within bounds is not known; use product of noises of one variable";
                Err(failed(&noise.describe(), reason))
            }
            Self::Product(parts) => restrict_product(parts, bounds, purpose),
            Self::Mixture(parts) => restrict_mixture(parts, bounds, purpose),
        }
    }

    fn finished(self) -> Result<Arc<dyn Noise>> {
        if let Some(scalar) = self.finished_scalar() {
            return Ok(scalar?);
        }
        Ok(match self {
            Self::Scalar(scalar) => scalar,
            Self::Joint(noise, _) => noise,
            Self::Product(mut parts) if parts.len() == 1 => parts.remove(0).finished()?,
            Self::Product(parts) => {
                let parts = parts.into_iter().map(Self::finished).collect::<Result<Vec<_>>>()?;
                Arc::new(Product::of_shared(parts)?)
            }
            Self::Mixture(parts) => {
                let parts = parts.into_iter().map(|(weight, part)| Ok((weight, part.finished()?)));
                Arc::new(Mixture::<dyn Noise>::of_shared(parts.collect::<Result<Vec<_>>>()?)?)
            }
        })
    }

    /// The noise with its distribution function; `None` when that is not known.
    fn finished_scalar(&self) -> Option<Result<Arc<dyn Scalar>>> {
        match self {
            Self::Scalar(scalar) => Some(Ok(Arc::clone(scalar))),
            Self::Product(parts) if parts.len() == 1 => parts[0].finished_scalar(),
            Self::Joint(..) | Self::Product(_) => None,
            Self::Mixture(parts) => {
                let scalars = parts
                    .iter()
                    .map(|(weight, part)| Some(part.finished_scalar()?.map(|scalar| (*weight, scalar))));
                let scalars: Result<Vec<_>> = scalars.collect::<Option<Vec<_>>>()?.into_iter().collect();
                Some(scalars.and_then(|scalars| {
                    Ok(Arc::new(Mixture::<dyn Scalar>::of_shared(scalars)?) as Arc<dyn Scalar>)
                }))
            }
        }
    }
}

fn restrict_scalar(scalar: Arc<dyn Scalar>, (lo, hi): (f64, f64)) -> Result<(Built, f64)> {
    let (from, to) = scalar.support();
    if from >= lo && to <= hi {
        return Ok((Built::Scalar(scalar), 0.0));
    }
    if scalar.is_circular() {
        return Err(failed(&scalar.words(), "a noise on the circle cannot be truncated, it has no ends"));
    }
    let truncated = Truncated::of_shared(scalar, lo, hi)?;
    let kept = truncated.ln_mass_kept();
    Ok((Built::Scalar(Arc::new(truncated)), kept))
}

fn restrict_product(parts: Vec<Built>, bounds: &[(f64, f64)], purpose: Purpose) -> Result<(Built, f64)> {
    let (mut rest, mut kept, mut restricted) = (bounds, 0.0, Vec::with_capacity(parts.len()));
    for part in parts {
        let (mine, others) = rest.split_at(part.dimension());
        let (part, mass) = part.restricted(mine, purpose)?;
        restricted.push(part);
        kept += mass;
        rest = others;
    }
    Ok((Built::Product(restricted), kept))
}

/// `p 1_A / P(A)` of a mixture is the mixture of the restricted parts with weights `w_k P_k(A) / P(A)`.
fn restrict_mixture(
    parts: Vec<(f64, Built)>,
    bounds: &[(f64, f64)],
    purpose: Purpose,
) -> Result<(Built, f64)> {
    let mut restricted = Vec::with_capacity(parts.len());
    let mut ln_weights = Vec::with_capacity(parts.len());
    let mut weights = Vec::with_capacity(parts.len());
    let mut is_whole = true;
    let mut nowhere = None;
    for (weight, part) in parts {
        let (part, mass) = match part.restricted(bounds, purpose) {
            // A part without mass there has no share in what is left.
            Err(error) if has_no_mass(&error) => {
                nowhere = nowhere.or(Some(error));
                continue;
            }
            known => known?,
        };
        is_whole &= mass == 0.0;
        ln_weights.push(weight.ln() + mass);
        weights.push(weight);
        restricted.push(part);
    }
    if let (Some(error), true) = (&nowhere, restricted.is_empty()) {
        return Err(error.clone());
    }
    is_whole &= nowhere.is_none();
    if is_whole {
        // Nothing is cut off: the weights stay as they were written, to the last digit.
        return Ok((Built::Mixture(weights.into_iter().zip(restricted).collect()), 0.0));
    }
    let kept = noisewright_numerics::summation::log_sum_exp(&ln_weights);
    let weights = ln_weights.iter().map(|ln_weight| (ln_weight - kept).exp());
    let parts = weights.zip(restricted).filter(|(weight, _)| *weight > 0.0);
    Ok((Built::Mixture(parts.collect()), kept))
}

fn of_words(words: &NoiseWords, context: &NoiseContext<'_>) -> Result<Built> {
    if let [(Weight::Number(_), call)] = &words.terms[..] {
        return of_call(call, context);
    }
    let part = |(weight, call): &(Weight, Call)| match weight {
        Weight::Number(w) => Ok((*w, of_call(call, context)?)),
        Weight::Free => Err(free_left(call)),
    };
    Ok(Built::Mixture(words.terms.iter().map(part).collect::<Result<_>>()?))
}

fn free_left(call: &Call) -> Error {
    refused(call, "a `?` is left; only `design` finds its value, so write a number")
}

fn of_call(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    match call.name.as_str() {
        "histogram" if matches!(call.arguments.first(), Some(Argument::List(_))) => histogram(call, context),
        name if DESIGNED.contains(&name) => designed(call, context),
        "truncate" => truncate(call, context),
        "von-mises-fisher" => von_mises_fisher(call, context),
        "uniform" if context.space.is_sphere() && call.arguments.is_empty() => {
            Ok(Built::Joint(Arc::new(UniformSphere::new(context.space.dimension())?), true))
        }
        _ if context.space.is_sphere() => {
            Err(refused(call, "the points are unit vectors; use von-mises-fisher or uniform"))
        }
        "product" => product(call, context),
        "kde" => kernel_density(call, context),
        "categorical" if !call.arguments.is_empty() => categorical(call, context),
        "normal" | "student" if is_joint(call, context) => joint(call, context),
        _ => marginals(call, context),
    }
}

fn designed(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let answer = context.designed.and_then(|designer| designer(call));
    let missing = || Err(refused(call, "it is made from a model or a design, which is not given here"));
    let noise = answer.unwrap_or_else(missing)?;
    let (expected, found) = (context.space.dimension(), noise.dimension());
    if expected != found {
        return Err(Error::Shape { what: "variables of the noise", expected, found });
    }
    Ok(Built::Joint(noise, true))
}

/// `histogram([edges], [probabilities])`, or `histogram([edges], [edges], [probabilities])` in two variables.
fn histogram(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let wrong = "it takes (bins, lo, hi), or ([edges], [probabilities]), or in two variables ([edges], [edges], \
                 [probabilities])";
    let lists = call.arguments.iter().map(|argument| match argument {
        Argument::List(list) => numbers(call, list),
        _ => Err(refused(call, wrong)),
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let discrete = context.space.domains().iter().any(Domain::is_discrete);
    match (lists.as_slice(), context.space.dimension()) {
        _ if discrete => {
            Err(refused(call, "the variables are discrete; use categorical, poisson or product"))
        }
        ([edges, probabilities], 1) => Ok(Built::Scalar(Arc::new(Histogram1d::new(edges, probabilities)?))),
        ([first, second, probabilities], 2) => {
            Ok(Built::Joint(Arc::new(Histogram2d::new(first, second, probabilities)?), false))
        }
        _ => Err(refused(call, wrong)),
    }
}

fn truncate(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let [Argument::Noise(inner), lo, hi] = &call.arguments[..] else {
        return Err(refused(call, "it takes (noise, lo, hi)"));
    };
    let d = context.space.dimension();
    let ends = (entries(call, lo, d)?, entries(call, hi, d)?);
    let bounds: Vec<(f64, f64)> = ends.0.into_iter().zip(ends.1).collect();
    let domain = domain_bounds(context.space);
    // To the domain first: where that leaves nothing is then said of the domain.
    let (inner, _) = of_words(inner, context)?.restricted(&domain, Purpose::Domain)?;
    Ok(inner.restricted(&bounds, Purpose::Truncate)?.0)
}

fn von_mises_fisher(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    if !context.space.is_sphere() {
        return Err(refused(call, "it is for unit vectors; give the variables a `sphere`, or use normal"));
    }
    let d = context.space.dimension();
    let noise = match &call.arguments[..] {
        [] => VonMisesFisher::fit(context.data_for(call)?, context.weights)?,
        [direction @ Argument::List(_), concentration] => {
            VonMisesFisher::new(&entries(call, direction, d)?, scalar(call, concentration)?)?
        }
        _ => return Err(refused(call, "it takes ([direction], concentration)")),
    };
    Ok(Built::Joint(Arc::new(noise), true))
}

/// `product`: marginals fitted to the data, or `product(noise, …)`: one noise per variable.
fn product(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let d = context.space.dimension();
    if call.arguments.is_empty() {
        let data = context.data_for(call)?;
        let marginal = |axis: usize| {
            let column = View::new(1, data.rows(), data.column(axis));
            Ok(Built::Scalar(fit_marginal(&context.space.domains()[axis], column, context.weights)?))
        };
        return Ok(Built::Product((0..d).map(marginal).collect::<Result<_>>()?));
    }
    if call.arguments.len() != d {
        let reason =
            format!("it needs one noise for each of the {d} variables, not {}", call.arguments.len());
        return Err(refused(call, &reason));
    }
    let part = |(axis, argument): (usize, &Argument)| match argument {
        Argument::Noise(words) => on_variable(words, context, axis),
        _ => Err(refused(call, "its arguments must be noises, as in product(normal(0, 1), gamma(2, 1))")),
    };
    Ok(Built::Product(call.arguments.iter().enumerate().map(part).collect::<Result<_>>()?))
}

/// The words as a noise of one of the variables.
fn on_variable(words: &NoiseWords, context: &NoiseContext<'_>, axis: usize) -> Result<Built> {
    let (name, domain) = (&context.space.names()[axis], &context.space.domains()[axis]);
    let space = Space::product(&[(name, domain.clone())])?;
    let column = context.data.filter(|data| data.columns() == context.space.dimension());
    let data = column.map(|data| View::new(1, data.rows(), data.column(axis)));
    // A designed noise is one of all the variables together.
    let inner = NoiseContext { space: &space, data, weights: context.weights, designed: None };
    of_words(words, &inner)
}

fn kernel_density(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let bandwidth = match &call.arguments[..] {
        [] => Bandwidth::default(),
        [factor] => Bandwidth::Factor(scalar(call, factor)?),
        _ => return Err(refused(call, "it takes nothing, or (bandwidth factor)")),
    };
    for (name, domain) in context.space.names().iter().zip(context.space.domains()) {
        if *domain == Domain::Circle || domain.is_discrete() {
            let reason = format!("its kernels are normal, which `{name}` cannot be; use product");
            return Err(refused(call, &reason));
        }
    }
    let data = context.data_for(call)?;
    let noise = if context.is_real() {
        KernelDensity::fit(data, context.weights, bandwidth)?
    } else {
        KernelDensity::fit_within(&domain_bounds(context.space), data, context.weights, bandwidth)?
    };
    Ok(Built::Joint(Arc::new(noise), true))
}

/// `categorical([probabilities])` over the states in their order, or `categorical([states], [probabilities])`.
fn categorical(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let on = |(name, domain): (&String, &Domain)| -> Result<Built> {
        if let Some(reason) = Family::named("categorical").and_then(|family| family.mismatch(name, domain)) {
            return Err(refused(call, &reason));
        }
        let noise = match (&call.arguments[..], domain) {
            ([Argument::List(values)], Domain::States(states)) => {
                Categorical::new(states, &numbers(call, values)?)?
            }
            ([Argument::List(states), Argument::List(values)], _) => {
                Categorical::new(&numbers(call, states)?, &numbers(call, values)?)?
            }
            _ => return Err(refused(call, "it takes ([states], [probabilities])")),
        };
        if let Some(state) = noise.states().iter().find(|state| !domain.contains(**state)) {
            return Err(refused(call, &format!("{state} is not a value of `{name}`")));
        }
        Ok(Built::Scalar(Arc::new(noise)))
    };
    let variables = context.space.names().iter().zip(context.space.domains());
    Ok(Built::Product(variables.map(on).collect::<Result<_>>()?).unwrapped())
}

impl Built {
    /// A product of one part is that part.
    fn unwrapped(self) -> Self {
        match self {
            Self::Product(mut parts) if parts.len() == 1 => parts.remove(0),
            other => other,
        }
    }
}

/// Whether `normal` or `student` is meant jointly: with a matrix, or fitted in several real variables.
fn is_joint(call: &Call, context: &NoiseContext<'_>) -> bool {
    let matrix = |argument: &Argument| matches!(argument, Argument::List(rows) if matches!(rows.first(), Some(Argument::List(_))));
    let fitted = call.arguments.is_empty() || (call.name == "student" && call.arguments.len() == 1);
    let lines =
        context.space.domains().iter().all(|domain| *domain != Domain::Circle && !domain.is_discrete());
    call.arguments.iter().any(matrix) || (fitted && lines && context.space.dimension() > 1)
}

fn joint(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let d = context.space.dimension();
    let noise: Arc<dyn Noise> = match (call.name.as_str(), &call.arguments[..]) {
        ("normal", []) => Arc::new(MultivariateNormal::fit(context.data_for(call)?, context.weights)?),
        ("normal", [mean, covariance]) => {
            Arc::new(MultivariateNormal::new(&entries(call, mean, d)?, &matrix(call, covariance, d)?)?)
        }
        ("student", []) => Arc::new(fit_student(Student::DEFAULT_DOF, call, context)?),
        ("student", [dof]) => Arc::new(fit_student(scalar(call, dof)?, call, context)?),
        ("student", [dof, location, scale]) => {
            let (location, scale) = (entries(call, location, d)?, matrix(call, scale, d)?);
            Arc::new(MultivariateStudent::new(scalar(call, dof)?, &location, &scale)?)
        }
        ("normal", _) => return Err(refused(call, "it takes ([mean], [[covariance]])")),
        _ => return Err(refused(call, "it takes (dof, [location], [[scale]])")),
    };
    for (name, domain) in context.space.names().iter().zip(context.space.domains()) {
        if let Some(reason) = Family::named(&call.name).and_then(|family| family.mismatch(name, domain)) {
            return Err(refused(call, &reason));
        }
    }
    Ok(Built::Joint(noise, false))
}

fn fit_student(dof: f64, call: &Call, context: &NoiseContext<'_>) -> Result<MultivariateStudent> {
    MultivariateStudent::fit_with_dof(dof, context.data_for(call)?, context.weights)
}

/// One distribution of the family per variable.
fn marginals(call: &Call, context: &NoiseContext<'_>) -> Result<Built> {
    let family = Family::named(&call.name).ok_or_else(|| refused(call, "it cannot be built here"))?;
    let d = context.space.dimension();
    let count = call.arguments.len();
    if count > 0 && !family.counts.contains(&count) {
        return Err(family.wrong_count(&call.to_string(), count));
    }
    let arguments =
        call.arguments.iter().map(|argument| entries(call, argument, d)).collect::<Result<Vec<_>>>()?;
    let parts = (0..d).map(|axis| {
        let mine: Vec<f64> = arguments.iter().map(|values| values[axis]).collect();
        Ok(Built::Scalar(marginal(family, &mine, call, context, axis)?))
    });
    Ok(Built::Product(parts.collect::<Result<_>>()?).unwrapped())
}

fn marginal(
    family: &Family,
    arguments: &[f64],
    call: &Call,
    context: &NoiseContext<'_>,
    axis: usize,
) -> Result<Arc<dyn Scalar>> {
    let (name, domain) = (&context.space.names()[axis], &context.space.domains()[axis]);
    if family.name == "uniform" && arguments.is_empty() {
        return uniform_on(name, domain);
    }
    if let Some(reason) = family.mismatch(name, domain) {
        return Err(refused(call, &reason));
    }
    let fitted = arguments.is_empty() || (family.name == "student" && arguments.len() == 1);
    if !fitted {
        return family.build(arguments, domain);
    }
    let data = context.data_for(call)?;
    family.fit(arguments, domain, View::new(1, data.rows(), data.column(axis)), context.weights)
}

/// A single number.
fn scalar(call: &Call, argument: &Argument) -> Result<f64> {
    match argument {
        Argument::Number(x) => Ok(*x),
        Argument::Free => Err(free_left(call)),
        other => Err(refused(call, &format!("`{other}` must be a number"))),
    }
}

/// All numbers of a list.
fn numbers(call: &Call, list: &[Argument]) -> Result<Vec<f64>> {
    list.iter().map(|entry| scalar(call, entry)).collect()
}

/// A number for each of the variables: the same one, or those of a list.
fn entries(call: &Call, argument: &Argument, dimension: usize) -> Result<Vec<f64>> {
    let Argument::List(list) = argument else { return Ok(vec![scalar(call, argument)?; dimension]) };
    let values = numbers(call, list)?;
    if values.len() != dimension {
        let reason = format!("`{argument}` must have one number for each of the {dimension} variables");
        return Err(refused(call, &reason));
    }
    Ok(values)
}

/// A square matrix, row after row.
fn matrix(call: &Call, argument: &Argument, dimension: usize) -> Result<Vec<f64>> {
    let shape = || refused(call, &format!("`{argument}` must be a {dimension} by {dimension} matrix"));
    let Argument::List(rows) = argument else { return Err(shape()) };
    let mut values = Vec::with_capacity(dimension * dimension);
    for row in rows {
        match row {
            Argument::List(row) if row.len() == dimension => values.extend(numbers(call, row)?),
            _ => return Err(shape()),
        }
    }
    if values.len() == dimension * dimension { Ok(values) } else { Err(shape()) }
}
