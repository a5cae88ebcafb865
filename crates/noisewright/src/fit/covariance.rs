//! The covariance of the estimate (MATH §3): what the data leave open, and what the noise adds.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::add_combination;
use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::special::ln_sigmoid;

use super::cluster_sums::ClusterSums;
use super::data::Dependence;
use super::data_rows::DataRows;
use super::dependence::{self, Influences, Worth};
use super::distributed::partial_fields;
use super::evaluate::{ChunkView, ParameterPoint};
use super::fit_against_noise::needs_memory;
use super::leverage::{self, Leverages, SampleVariance};
use super::loss_terms::{Class, Terms};
use super::objective::{Full, Objective, Sums};
use super::options::{CovarianceKind, FitOptions};
use super::quiet::replicates::replicate_variance;
use super::sample_blocks::SampleBlocks;
use super::stream::cluster_name;
use crate::moments::{Moments, sandwich};
use crate::normalizer::joint_freedom_for;
use crate::{Error, Loss, Model, Result, View};

/// Curvature, of statistics of size one, below which it is asked whether the data tell the parameters apart.
const FLAT_CURVATURE: f64 = 1e-6;
/// The share of a combination of scores in its parts below which they do not.
const LEAST_COMBINATION: f64 = 1e-6;

/// Rows that tell parameters apart, at most.
const TOLD_BY: usize = 1 << 12;

/// Noise points of a fit of a density whose leverages are looked at: more of them have next to none.
const FEW_NOISE_POINTS: usize = 1 << 14;

/// `Var β̂` and its two parts.
#[derive(Clone, Debug)]
pub(crate) struct Covariance {
    /// What no amount of noise removes.
    pub(crate) data: DMatrix<f64>,
    /// What more noise removes.
    pub(crate) noise: DMatrix<f64>,
    /// Degrees of freedom of every variance.
    pub(crate) freedom: Vec<f64>,
    pub(crate) worth: Worth,
    /// How many times larger the noise part would be for independent draws, where they are quiet.
    pub(crate) noise_gain: Option<f64>,
}

impl Covariance {
    pub(crate) fn whole(&self) -> DMatrix<f64> {
        &self.data + &self.noise
    }

    /// Where nothing can be said of it.
    pub(crate) fn unknown(size: usize) -> Self {
        let unknown = || DMatrix::from_element(size, size, f64::NAN);
        Self {
            data: unknown(),
            noise: unknown(),
            freedom: vec![f64::NAN; size],
            worth: Worth::Independent,
            noise_gain: None,
        }
    }

    /// Where there is no finite estimate.
    pub(crate) fn infinite(size: usize) -> Self {
        let data = DMatrix::from_diagonal_element(size, size, f64::INFINITY);
        Self {
            data,
            noise: DMatrix::zeros(size, size),
            freedom: vec![f64::INFINITY; size],
            worth: Worth::Independent,
            noise_gain: None,
        }
    }
}

/// `H⁻¹` over the unknowns that are free, zero elsewhere.
///
/// # Errors
/// When some of them cannot be told apart: which.
pub(crate) fn bread(
    objective: &Objective<'_>,
    at: &[f64],
    hessian: &DMatrix<f64>,
    free: &[usize],
) -> Result<DMatrix<f64>> {
    if !objective.linear
        && let Some(direction) = flattest(hessian, free)
        && let Some(some) = objective.data.spread(TOLD_BY)
        && let Some(theta) = at.get(..objective.model.parameters().len())
        && !varies_in(objective.model, theta, some.view(), &direction)?
    {
        return Err(indistinct(objective, &direction));
    }
    invert_free(hessian, free).map_err(|direction| indistinct(objective, &direction))
}

/// The inverse over the free unknowns, zero elsewhere; or a direction along which there is no curvature.
pub(crate) fn invert_free(
    hessian: &DMatrix<f64>,
    free: &[usize],
) -> std::result::Result<DMatrix<f64>, DVector<f64>> {
    let part = DMatrix::from_fn(free.len(), free.len(), |i, j| hessian[(free[i], free[j])]);
    match invert(&part) {
        Inverse::Regular(inverse) => {
            let mut out = DMatrix::zeros(hessian.nrows(), hessian.ncols());
            for (i, &row) in free.iter().enumerate() {
                for (j, &column) in free.iter().enumerate() {
                    out[(row, column)] = inverse[(i, j)];
                }
            }
            Ok(out)
        }
        Inverse::Singular(short) => {
            let mut direction = DVector::zeros(hessian.nrows());
            free.iter().zip(short.iter()).for_each(|(j, d)| direction[*j] = *d);
            Err(direction)
        }
    }
}

/// The covariance in the model's coordinates, as the options ask for it.
pub(crate) fn parts(
    objective: &Objective<'_>,
    full: &Full,
    bread: &DMatrix<f64>,
    at: &[f64],
    rows: DataRows<'_>,
    options: &FitOptions,
) -> Result<Covariance> {
    let scaling = &objective.scaling;
    let outer_bread = scaling.jacobian() * bread;
    let outer = |inner: &DMatrix<f64>| scaling.outer_covariance(inner);
    let quiet = replicate_variance(objective, at)?;
    let (mut data_part, mut noise_part, [mut data_freedom, mut noise_freedom]) = match options.errors {
        CovarianceKind::Robust => {
            let of = |side, sums| sample_variance(objective, side, sums, at, &outer_bread);
            let (data, noise) = (of(&objective.data, &full.data)?, of(&objective.noise, &full.noise)?);
            let noise_meat = noise.meat * objective.nu.powi(2);
            let parts = [sandwich(bread, &data.meat), sandwich(bread, &noise_meat)];
            (outer(&parts[0]), outer(&parts[1]), [data.freedom, noise.freedom])
        }
        CovarianceKind::ModelBased => {
            // Unknowns held at a bound have no variance in the bread, nor here.
            let free: Vec<usize> = (0..objective.size()).filter(|j| bread[(*j, *j)] != 0.0).collect();
            let (data, noise) = model_based(objective, &free, at, objective.nu)?;
            let freedom = (objective.data.total - objective.size() as f64).max(1.0);
            (outer(&data), outer(&noise), [(); 2].map(|()| vec![freedom; objective.size()]))
        }
    };
    let mut noise_gain = None;
    if let Some(SampleVariance { meat, freedom }) = quiet {
        let replicated = outer(&sandwich(bread, &(meat * objective.nu.powi(2))));
        noise_gain = Some(mean_ratio(&noise_part, &replicated, &data_part));
        (noise_part, noise_freedom) = (replicated, freedom);
    }
    let mut worth = Worth::Independent;
    if rows.dependence() != Dependence::Independent {
        let found = correlated(objective, &outer_bread, at, rows)?;
        (data_part, data_freedom, worth) = (found.covariance, found.freedom, found.worth);
    }
    let joint = |j: usize| {
        let variances = [data_part[(j, j)], noise_part[(j, j)]];
        joint_freedom_for(options.confidence, variances, [data_freedom[j], noise_freedom[j]])
    };
    let freedom = (0..objective.size()).map(joint).collect();
    Ok(Covariance { data: data_part, noise: noise_part, freedom, worth, noise_gain })
}

/// By which factor the variances of one covariance are larger than those of another, their means taken in units of a third.
fn mean_ratio(of: &DMatrix<f64>, over: &DMatrix<f64>, unit: &DMatrix<f64>) -> f64 {
    let mean = |part: &DMatrix<f64>| -> f64 {
        let shares = part.diagonal().component_div(&unit.diagonal());
        shares.iter().filter(|x| x.is_finite()).sum()
    };
    mean(of) / mean(over)
}

/// The covariance of the mean of one sample's terms, `Cov(wψ)/T_d` or `Cov(w r ψ)/T_n`, centred within the sample and
/// corrected for leverage where there are few rows.
fn sample_variance(
    objective: &Objective<'_>,
    side: &SampleBlocks<'_>,
    sums: &Sums,
    at: &[f64],
    outer_bread: &DMatrix<f64>,
) -> Result<SampleVariance> {
    let most = if side.class == Class::Noise && objective.of_density {
        FEW_NOISE_POINTS
    } else {
        leverage::MOST_ROWS
    };
    let size = objective.size();
    if side.rows > most || !leverage::is_worth(side.rows, size) {
        let mean = if side.rows > most { 1.0 } else { sums.weight / (sums.weight - size as f64).max(1.0) };
        let meat = centred(&sums.meat, &sums.gradient, sums.weight) * mean;
        return Ok(SampleVariance { meat, freedom: vec![f64::INFINITY; size] });
    }
    let Some(place) = ParameterPoint::new(objective, at) else { return Err(Error::NoMass) };
    let leverages = Leverages::new(&sums.meat, &sums.gradient, sums.weight, outer_bread.clone());
    let add = |total: &mut leverage::LeverageSums, seen: &ChunkView<'_>| {
        let mut terms = Terms::default();
        terms.fill(&objective.loss, side.class, seen.log_ratio);
        let rows = seen.log_ratio.len();
        let counts = |row: usize| seen.weights.is_none_or(|w| w[row] > 0.0);
        // A row that counts zero times may have an infinite term.
        let term = |row: usize, j: usize| {
            if counts(row) { terms.first[row] * seen.score.column(j)[row] } else { 0.0 }
        };
        leverages.add(total, DMatrix::from_fn(rows, objective.size(), term), seen.weights);
        Ok(())
    };
    let found = objective.fold(side, &place, || leverages.sums(), add, leverage::LeverageSums::join)?;
    Ok(leverages.finish(&found))
}

/// The data part for rows that depend on one another, from what each adds to the estimate.
fn correlated(
    objective: &Objective<'_>,
    outer_bread: &DMatrix<f64>,
    at: &[f64],
    rows: DataRows<'_>,
) -> Result<dependence::Dependent> {
    let Some(place) = ParameterPoint::new(objective, at) else { return Err(Error::NoMass) };
    let size = objective.size();
    if let Dependence::Clusters(ids) = rows.dependence() {
        let total = of_clusters(objective, &place, outer_bread, rows.whole().map(|_| ids))?;
        let influences = Influences { values: &[], size, total: objective.data.total };
        return Ok(dependence::between_clusters(&influences, &total.groups()));
    }
    let data = rows.whole().ok_or_else(|| needs_memory("chains"))?;
    let add = |(values, terms): &mut (Vec<f64>, Terms), seen: &ChunkView<'_>| {
        terms.fill(&objective.loss, Class::Data, seen.log_ratio);
        terms.weigh(seen.weights);
        for row in 0..seen.log_ratio.len() {
            let score = DVector::from_fn(size, |j, _| terms.first[row] * seen.score.column(j)[row]);
            values.extend((outer_bread * score).iter());
        }
        Ok(())
    };
    let join = |mut a: (Vec<f64>, Terms), b: (Vec<f64>, Terms)| {
        a.0.extend_from_slice(&b.0);
        a
    };
    let (values, _) = objective.fold(&objective.data, &place, Default::default, add, join)?;
    let influences = Influences { values: &values, size, total: objective.data.total };
    Ok(dependence::covariance(&influences, data.weights, data.dependence))
}

/// What the rows of every cluster add to the estimate together; `ids` are the clusters of all rows, where they are in memory.
fn of_clusters(
    objective: &Objective<'_>,
    place: &ParameterPoint,
    outer_bread: &DMatrix<f64>,
    ids: Option<&[u64]>,
) -> Result<ClusterSums> {
    let size = objective.size();
    let add = |(total, terms): &mut (ClusterSums, Terms), seen: &ChunkView<'_>| {
        terms.fill(&objective.loss, Class::Data, seen.log_ratio);
        terms.weigh(seen.weights);
        let rows = seen.log_ratio.len();
        let named: Vec<u64> = match (ids, seen.clusters) {
            (Some(ids), _) => ids[seen.first_row..seen.first_row + rows].to_vec(),
            (None, Some(numbers)) => numbers.iter().map(|number| cluster_name(*number)).collect(),
            (None, None) => return Err(Error::internal("rows have lost their clusters")),
        };
        let influence = |row: usize| {
            outer_bread * DVector::from_fn(size, |j, _| terms.first[row] * seen.score.column(j)[row])
        };
        let found = ClusterSums::of_rows(&named, seen.first_row, seen.weights, influence);
        *total = std::mem::take(total).join(found);
        Ok(())
    };
    let join = |a: (ClusterSums, Terms), b: (ClusterSums, Terms)| (a.0.join(b.0), a.1);
    Ok(objective.fold(&objective.data, place, Default::default, add, join)?.0)
}

/// The sums that MATH §3 takes under the model, estimated from both samples together, whose density is
/// `T_d (p + ν p_n)`: each point has the weight `p / (p + ν p_n) = σ(g)`.
struct Pooled {
    /// With the weight w.
    weighted: Moments,
    /// With w², the part of v under the data.
    data: Moments,
    /// With w² r, its part under the noise.
    noise: Moments,
}

partial_fields!(Pooled { weighted, data, noise });

impl Pooled {
    fn new(size: usize) -> Self {
        let zeros = || Moments::zeros(size);
        Self { weighted: zeros(), data: zeros(), noise: zeros() }
    }

    /// Adds rows; `shift` is what another ratio in the loss adds to g, whose points have the density that they have.
    fn add(&mut self, loss: &Loss, seen: &ChunkView<'_>, shift: f64) {
        let count = |row: usize| seen.weights.map_or(1.0, |w| w[row]);
        let rows = || seen.log_ratio.iter().enumerate();
        // In the log domain: for g → −∞ the weight of a loss may grow as fast as σ(g) falls.
        let weights = |power: f64, ratio: f64| -> Vec<f64> {
            let term = |g: f64| {
                let own = g + shift;
                (ln_sigmoid(g) + power * loss.log_weight(own) + ratio * own).exp()
            };
            rows().map(|(row, g)| if g.is_finite() { count(row) * term(*g) } else { 0.0 }).collect()
        };
        self.weighted.add_rows(seen.score, &weights(1.0, 0.0));
        self.data.add_rows(seen.score, &weights(2.0, 0.0));
        self.noise.add_rows(seen.score, &weights(2.0, 1.0));
    }

    fn scaled(self, factor: f64) -> Self {
        Self {
            weighted: self.weighted.scaled(factor),
            data: self.data.scaled(factor),
            noise: self.noise.scaled(factor),
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            weighted: self.weighted + other.weighted,
            data: self.data + other.data,
            noise: self.noise + other.noise,
        }
    }
}

/// The covariance of MATH §3 under the fitted model with so many noise points per data point, its data and its noise part, from the points
/// that there are; only the `free` unknowns have one.
pub(crate) fn model_based(
    objective: &Objective<'_>,
    free: &[usize],
    at: &[f64],
    nu: f64,
) -> Result<(DMatrix<f64>, DMatrix<f64>)> {
    let Some(place) = ParameterPoint::new(objective, at) else { return Err(Error::NoMass) };
    let size = objective.size();
    let shift = (objective.nu / nu).ln();
    let sums = |side| {
        let add = |total: &mut Pooled, seen: &ChunkView<'_>| {
            total.add(&objective.loss, seen, shift);
            Ok(())
        };
        objective.fold(side, &place, || Pooled::new(size), add, Pooled::join)
    };
    let (data, mut noise) = (sums(&objective.data)?, sums(&objective.noise)?);
    // Of a part of the rows there may be another number of noise points than ν for every data point.
    let points = objective.nu * objective.data.total / objective.noise.total;
    if (points - 1.0).abs() > 1e-9 {
        noise = noise.scaled(points);
    }
    let pooled = data.join(noise);
    let total = objective.data.total;
    let mean = &pooled.weighted.mean / total;
    let square = &mean * mean.transpose();
    let inverse = bread(objective, at, &(&pooled.weighted.information / total), free)?;
    let data = (&pooled.data.information / total - &square) / total;
    let noise = (&pooled.noise.information / total - square / nu) / total;
    Ok((sandwich(&inverse, &data), sandwich(&inverse, &noise)))
}

/// The covariance of a mean from the sums of squares and of terms over so many rows.
fn centred(squares: &DMatrix<f64>, sums: &DVector<f64>, rows: f64) -> DMatrix<f64> {
    let mean = sums / rows;
    (squares / rows - &mean * mean.transpose()) / rows
}

/// Names what cannot be told apart: for a linear model the combination of features that does not vary.
fn indistinct(objective: &Objective<'_>, direction: &DVector<f64>) -> Error {
    let names = objective.names();
    let count = objective.model.parameters().len();
    // In the solver's coordinates every feature has one size, so that small entries are rounding.
    let largest = direction.amax();
    let involved: Vec<usize> = (0..count).filter(|j| direction[*j].abs() > 1e-6 * largest).collect();
    if involved.is_empty() {
        // The constant alone, or a curvature that is no number.
        let of = |j: &usize| objective.model.is_normalized() || *j == count || !largest.is_finite();
        let parameters = (0..names.len()).filter(of).map(|j| names[j].clone()).collect();
        return Error::NoMinimum { parameters };
    }
    if !objective.linear || objective.model.is_normalized() {
        let parameters = involved.iter().map(|j| names[*j].clone()).collect();
        return Error::Collinear { parameters };
    }
    match varies(objective, &(direction / largest)) {
        Err(error) => return error,
        Ok(true) => {
            return Error::NoMinimum { parameters: involved.iter().map(|j| names[*j].clone()).collect() };
        }
        Ok(false) => {}
    }
    let outer = objective.scaling.outer_direction(direction);
    let leading = outer[involved[0]];
    let terms: Vec<(f64, String)> =
        involved.iter().map(|j| (outer[*j] / leading, names[*j].clone())).collect();
    Error::CollinearFeatures { terms }
}

/// Whether a combination of scaled features varies over data and noise, so that it is the loss that is flat.
///
/// # Errors
/// When a pass over the rows fails or is cancelled.
fn varies(objective: &Objective<'_>, direction: &DVector<f64>) -> Result<bool> {
    let Some(place) = ParameterPoint::new(objective, &vec![0.0; objective.size()]) else { return Ok(false) };
    let largest = |side| {
        let add = |most: &mut f64, seen: &ChunkView<'_>| {
            let mut along = vec![0.0; seen.log_ratio.len()];
            add_combination(seen.score, direction.as_slice(), &mut along);
            // Outside of the model's support features mean nothing.
            let inside = along.iter().zip(seen.log_ratio).filter(|(_, g)| g.is_finite());
            *most = inside.fold(*most, |most, (x, _)| most.max(x.abs()));
            Ok(())
        };
        objective.fold(side, &place, || 0.0, add, f64::max)
    };
    Ok(largest(&objective.data)?.max(largest(&objective.noise)?) > 1e-5)
}

/// The direction of least curvature, where that is so little that the data may not tell its parameters apart.
pub(crate) fn flattest(hessian: &DMatrix<f64>, free: &[usize]) -> Option<DVector<f64>> {
    let scale =
        DVector::from_iterator(free.len(), free.iter().map(|j| hessian[(*j, *j)].abs().sqrt().recip()));
    let scaled =
        DMatrix::from_fn(free.len(), free.len(), |i, j| hessian[(free[i], free[j])] * scale[i] * scale[j]);
    if free.is_empty() || !scaled.iter().all(|x| x.is_finite()) {
        return None;
    }
    let eigen = scaled.symmetric_eigen();
    let least = eigen.eigenvalues.imin();
    let mut direction = DVector::zeros(hessian.nrows());
    let along = eigen.eigenvectors.column(least).component_mul(&scale);
    free.iter().zip(along.iter()).for_each(|(j, d)| direction[*j] = *d);
    (eigen.eigenvalues[least] < FLAT_CURVATURE).then_some(direction)
}

/// Whether a combination of the parameters' scores varies over some of the data; the constant's does not.
pub(crate) fn varies_in(
    model: &Model,
    theta: &[f64],
    sample: View<'_>,
    direction: &DVector<f64>,
) -> Result<bool> {
    let (rows, size) = (sample.rows(), theta.len());
    let mut value = vec![0.0; rows];
    let mut score = vec![0.0; rows * size];
    model.evaluate(theta, sample, &mut value, Some(&mut score))?;
    let mut columns = DMatrix::from_vec(rows, size, score);
    for (mut column, d) in columns.column_iter_mut().zip(direction.iter()) {
        let mean = column.mean();
        column.add_scalar_mut(-mean);
        column *= *d;
    }
    let parts: f64 = columns.column_iter().map(|column| column.norm()).sum();
    Ok(columns.column_sum().norm() > LEAST_COMBINATION * parts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fit::sample_blocks::{HeldPoints, SampleBlocks};
    use crate::{Points, Space};

    #[test]
    fn what_is_not_determined_has_a_name() {
        let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
        let points = Points::unnamed(1, 4, vec![-1.0, 0.5, 1.0, 3.0]);
        let side =
            |class| SampleBlocks::memory(class, HeldPoints::Borrowed(points.view()), None, vec![0.0; 4]);
        let (data, noise) = (side(Class::Data), side(Class::Noise));
        let objective = Objective::new(&model, &Loss::Js, 1.0, data, noise, points.view(), true).unwrap();
        let told = |direction: [f64; 3]| indistinct(&objective, &DVector::from_column_slice(&direction));
        let constant = crate::LOG_NORMALIZER.to_string();
        assert_eq!(told([0.0, 0.0, 1.0]), Error::NoMinimum { parameters: vec![constant.clone()] });
        let all = vec!["x".to_string(), "x^2".to_string(), constant];
        assert_eq!(told([f64::NAN; 3]), Error::NoMinimum { parameters: all });
    }
}
