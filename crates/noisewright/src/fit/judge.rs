//! What is said about an estimate: every check, once, on one population of the fitted model.

use nalgebra::DMatrix;

use super::data::Dependence;
use super::data_rows::SOME_ROWS;
use super::density_checks;
use super::diagnostics::{self, Against, Diagnostics, OfSamples, Warning, WarningKind};
use super::estimate::{Basis, Contrasted, Estimated, FitTask, Maximised, Notes};
use super::m_estimation;
use super::options::{FitOptions, NoiseChoice};
use super::result::Fit;
use crate::asymptotics::check_mass;
use crate::{
    Contrast, Error, ErrorReport, Loss, Model, Population, Precision, Result, Target, View,
    cramer_rao_covariance, error_report, fit_auto,
};

/// Most states of a space that are summed over.
const MOST_STATES: u64 = 1 << 16;
/// Most variables that are integrated over.
const MOST_VARIABLES: usize = 2;
/// Most variables in which it is checked that a density which claims so integrates to one.
const MOST_CHECKED: usize = 3;
/// Variables from which on a noise that overlaps with the data may be more than can be asked for.
const MANY_VARIABLES: usize = 4;
/// Rows that stand for the model where it is not integrated, at least, and per unknown: the ratio of two variances from so
/// many rows has an error of about one per cent.
const SAMPLE_ROWS: usize = 1 << 14;
const ROWS_PER_UNKNOWN: usize = 16;
/// Noise points per data point that add nothing to a variance.
const ENDLESS: f64 = 1e9;
/// Least variance of the constant, times the rows, against which a share means something.
const LEAST_CONSTANT: f64 = 0.01;
/// By how many standard errors the integral must exceed the estimated constant to be another one.
const UNSEEN_ERRORS: f64 = 8.0;
/// The smallest standard error that is taken for one there.
const LEAST_UNSEEN_ERROR: f64 = 0.05;

/// Judges an estimate.
///
/// # Errors
/// When the model has no density at a row, or does not integrate to one although it says so.
pub(crate) fn judge(task: FitTask<'_>, found: Estimated<'_>, options: &FitOptions) -> Result<Fit> {
    let Estimated { mut fit, basis, notes } = found;
    let mut said = Diagnostics::default();
    let OfSamples { model_based, optimism } = judge_basis(&basis, &fit, task.rows.dependence(), &mut said)?;
    fit.optimism = optimism;
    let runaway = match &basis {
        Basis::Noise(contrasted) => contrasted.runaway(options)?,
        Basis::Likelihood(maximised) => maximised.runaway.clone(),
    };
    let sound = fit.converged && said.no_answer().is_none() && runaway.is_none();
    if sound {
        density_checks::check_fitted(task.model, &fit.theta(), task.rows)?;
    }
    let fitted = FittedModel::new(task, &fit, sound, options)?;
    if let Basis::Likelihood(maximised) = &basis {
        let Maximised { data, separation, wall, .. } = maximised.as_ref();
        let population = fitted.as_ref().filter(|fitted| fitted.integrated).map(|fitted| &fitted.population);
        if separation.is_none() {
            said.test_likelihood(task.model, *data, &fit, population)?;
        }
        if sound || separation.is_some() || runaway.is_some() {
            said.read(task.model, &fit);
        } else {
            said.read_without_maximum(task.model, &fit, wall.as_ref());
        }
    } else {
        said.read(task.model, &fit);
    }
    said.error_budget =
        budget(task.model, &fit, fitted.as_ref().filter(|_| sound), model_based.as_ref(), &notes);
    if let Basis::Noise(contrasted) = &basis {
        judge_noise(task, contrasted, &fit, &mut said)?;
    }
    if let Some(fitted) = fitted.filter(|fitted| sound && fitted.integrated) {
        fitted.warn(&fit, &fit.loss_used(task.loss), &mut said);
    }
    let as_given = notes.optimal.is_none() && notes.two_step.is_none();
    said.take(notes);
    fit.diagnostics = said;
    if as_given {
        retest(task, &mut fit, options)?;
    }
    if let Some(runaway) = runaway {
        fit.run_away(runaway);
    }
    if options.check_ratio {
        diagnostics::add_ratio_check(task, &mut fit, options)?;
    }
    Ok(fit)
}

/// Says that most of an error comes from the noise, and which method needs none where it serves badly in many variables.
fn judge_noise(
    task: FitTask<'_>,
    contrasted: &Contrasted<'_>,
    fit: &Fit,
    said: &mut Diagnostics,
) -> Result<()> {
    if let Some((unknown, share)) = said.most_noise() {
        let nu = contrasted.ratio_for_share(unknown, share, diagnostics::SMALL_SHARE)?;
        said.noisy(unknown, share, nu);
    }
    let many = task.model.space().dimension() >= MANY_VARIABLES;
    // The methods without noise take rows in memory.
    if many && task.rows.whole().is_some() {
        said.offer(|| m_estimation::suited(task.model, fit.curvature, task.rows));
    }
    Ok(())
}

/// Tests a model that a test with the noise taken as given rejects once more, with noises of the same kind that do not know
/// the rows they are tested on.
fn retest(task: FitTask<'_>, fit: &mut Fit, options: &FitOptions) -> Result<()> {
    let Some(noise) = fit.noise.clone().filter(|_| fit.diagnostics.doubts_model()) else { return Ok(()) };
    let space = task.model.space();
    let auto = |points: View<'_>, weights: Option<&[f64]>| fit_auto(space, points, weights);
    let own = noise.fit_again();
    let again: diagnostics::NoiseFit<'_> = match (&options.noise, &own) {
        (NoiseChoice::Auto, _) => &auto,
        (_, Some(own)) => &**own,
        (_, None) => return Ok(()),
    };
    let some = task.rows.spread(SOME_ROWS);
    // Rows that depend on one another are in memory, and are taken as they are.
    let dependent = task.rows.dependence() != Dependence::Independent;
    let data = task.rows.whole().filter(|_| dependent).unwrap_or_else(|| some.data());
    if let Some(test) = diagnostics::cross_fitted_test(task.model, data, fit, &options.context(), again)? {
        let per_row = fit.observations_per_row();
        fit.diagnostics.retest(test, per_row);
    }
    Ok(())
}

/// Judges the fit of a ratio of two samples, which is no density.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn judge_ratio(model: &Model, found: Estimated<'_>, dependence: Dependence<'_>) -> Result<Fit> {
    let Estimated { mut fit, basis, notes } = found;
    let mut said = Diagnostics::default();
    let OfSamples { model_based, .. } = judge_basis(&basis, &fit, dependence, &mut said)?;
    said.read(model, &fit);
    said.error_budget = budget(model, &fit, None, model_based.as_ref(), &notes);
    fit.diagnostics = said;
    Ok(fit)
}

/// Why an estimate is no answer, if it is none, without judging it any further.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn refusal(found: &Estimated<'_>) -> Result<Option<Warning>> {
    let mut said = Diagnostics::default();
    match &found.basis {
        Basis::Noise(contrasted) => contrasted.existence(&found.fit, &mut said)?,
        Basis::Likelihood(maximised) => said.separated(maximised.separation.as_ref(), Against::Domain),
    }
    Ok(said.warnings.into_iter().find(|warning| warning.kind.is_fatal()))
}

/// What the samples say by themselves.
fn judge_basis(
    basis: &Basis<'_>,
    fit: &Fit,
    dependence: Dependence<'_>,
    said: &mut Diagnostics,
) -> Result<OfSamples> {
    match basis {
        Basis::Noise(contrasted) => contrasted.judge(fit, dependence == Dependence::Independent, said),
        Basis::Likelihood(maximised) => {
            said.separated(maximised.separation.as_ref(), Against::Domain);
            Ok(OfSamples::default())
        }
    }
}

/// Where the error of every coordinate comes from.
fn budget(
    model: &Model,
    fit: &Fit,
    fitted: Option<&FittedModel>,
    model_based: Option<&DMatrix<f64>>,
    notes: &Notes,
) -> Vec<diagnostics::ErrorBudget> {
    let total = fit.total_weight;
    let bound = fitted.filter(|f| f.integrated).and_then(|f| f.bound.as_ref()).map(|bound| bound / total);
    let exact = !fit.nu.is_finite();
    let model_based = if exact { bound.as_ref() } else { model_based };
    let parts = (&fit.covariance_data, &fit.covariance_noise);
    let mut budget = diagnostics::error_budget(&model.coordinates(), parts, bound.as_ref(), model_based);
    if let Some(known) = fitted.filter(|_| !exact).and_then(|fitted| fitted.efficiencies(model)) {
        budget.iter_mut().zip(known).for_each(|(entry, efficiency)| entry.efficiency = efficiency);
    }
    for (j, entry) in budget.iter_mut().enumerate() {
        entry.efficiency = entry.efficiency.map(|efficiency| efficiency * refit_gain(fit, notes, j));
    }
    budget
}

/// How many times larger a variance was before the noise was fitted to its own draws.
fn refit_gain(fit: &Fit, notes: &Notes, index: usize) -> f64 {
    let before = notes.two_step.as_ref().and_then(|report| report.se_without.get(index));
    let now = fit.estimates().get(index).map(|estimate| estimate.se);
    before.zip(now).map_or(1.0, |(before, now)| (before / now).powi(2))
}

/// The fitted model on weighted points: integrated where that is cheap, the data themselves elsewhere.
struct FittedModel {
    population: Population,
    integrated: bool,
    /// The Cramér–Rao covariance times the rows.
    bound: Option<DMatrix<f64>>,
    /// The theory of the contrast there (MATH §3).
    theory: Option<ErrorReport>,
}

impl FittedModel {
    /// `None` where the fit is not sound, or the model cannot be summed over.
    ///
    /// # Errors
    /// [`Error::NotNormalized`], [`Error::Noise`] for one that has more mass than one, and [`Error::Cancelled`].
    fn new(task: FitTask<'_>, fit: &Fit, sound: bool, options: &FitOptions) -> Result<Option<Self>> {
        let (model, theta) = (task.model, fit.theta());
        let integrated = is_cheap(model);
        let checked = model.is_normalized() && model.space().dimension() <= MOST_CHECKED;
        let noise = fit.noise.as_deref().filter(|_| fit.nu.is_finite());
        let (nu, loss) = theory_of(fit, task.loss);
        let precision = Precision { relative: 1e-6, ..options.precision() };
        let population = match noise {
            _ if !(integrated && sound) && checked => {
                refused(Population::new(model, &theta, &precision))?;
                None
            }
            _ if !sound => None,
            Some(noise) if integrated => {
                let contrast = Contrast { noise, nu, loss: &loss };
                refused(Population::for_contrast(model, &theta, contrast, &precision))?
            }
            None if integrated => refused(Population::new(model, &theta, &precision))?,
            _ => None,
        };
        let population = match population {
            None if sound && !integrated && noise.is_some() => sampled(task, fit, &theta),
            known => known,
        };
        let Some(population) = population else { return Ok(None) };
        let log_noise = noise.and_then(|noise| population.log_noise(noise).ok());
        // Of a noise that is not of this library nobody knows that its density integrates to one.
        if let Some((noise, log_noise)) =
            noise.filter(|noise| noise.saved().is_none()).zip(log_noise.as_ref())
        {
            check_mass(&population, noise, log_noise)?;
        }
        Ok(Some(Self::on(population, integrated, fit, (nu, &loss), log_noise)))
    }

    fn on(
        population: Population,
        integrated: bool,
        fit: &Fit,
        (nu, loss): (f64, &Loss),
        log_noise: Option<Vec<f64>>,
    ) -> Self {
        let mut theory = log_noise
            .and_then(|log_noise| error_report(&population, &log_noise, nu, loss, &Target::Mse).ok());
        if let Some(theory) = theory.as_mut().filter(|_| fit.replicates.is_some()) {
            theory.covariance += &fit.covariance_noise * fit.total_weight;
        }
        let bound = cramer_rao_covariance(&population).ok();
        Self { population, integrated, bound, theory }
    }

    /// Cramér–Rao bound over asymptotic variance (MATH §3) of every unknown where it means something, constant last.
    ///
    /// Both are the model's own, so that a wrong model, which the robust errors show, does not count against the noise.
    fn efficiencies(&self, model: &Model) -> Option<Vec<Option<f64>>> {
        let (bound, theory) = (self.bound.as_ref()?, self.theory.as_ref()?);
        if theory.divergent.is_some() {
            return Some(vec![None; bound.nrows()]);
        }
        // A constant that hardly depends on the parameters costs maximum likelihood nothing: no noise compares with that.
        let is_constant = |j: usize| !model.is_normalized() && j + 1 == bound.nrows();
        let one = |j: usize| {
            let ratio = bound[(j, j)] / theory.covariance[(j, j)];
            let known =
                ratio.is_finite() && ratio >= 0.0 && !(is_constant(j) && bound[(j, j)] < LEAST_CONSTANT);
            known.then_some(ratio)
        };
        Some((0..bound.nrows()).map(one).collect())
    }

    /// What integrals over the fitted model show and samples need not: a loss without variance, and mass where neither data
    /// nor noise are.
    fn warn(&self, fit: &Fit, loss: &Loss, said: &mut Diagnostics) {
        let infinite = self.theory.as_ref().is_some_and(|theory| theory.error == f64::INFINITY);
        if infinite && !loss.is_js() && !said.has(WarningKind::HeavyWeights) {
            said.warn(Warning::without_variance(loss));
        }
        let Some(constant) = fit.log_normalizer.as_ref().filter(|_| fit.nu.is_finite()) else { return };
        let log_z = self.population.log_normalizer();
        if log_z - constant.estimate > UNSEEN_ERRORS * constant.se.max(LEAST_UNSEEN_ERROR) {
            said.warn(Warning::unseen_mass(constant.estimate, log_z));
        }
    }
}

/// The contrast that the theory of independent noise is taken at: that of the fit, or with endless noise for quiet noise,
/// whose own part of the covariance is then added.
fn theory_of(fit: &Fit, loss: &Loss) -> (f64, Loss) {
    let used = fit.loss_used(loss);
    if fit.replicates.is_none() {
        return (fit.nu, used);
    }
    let endless = ENDLESS * fit.nu.max(1.0);
    let ratio = fit.loss_ratio.and_then(|ratio| loss.with_ratio(ratio, endless).ok());
    (endless, ratio.unwrap_or_else(|| loss.clone()))
}

/// Whether sums over all states, or integrals, cost little; a sphere has one dimension less than its coordinates.
fn is_cheap(model: &Model) -> bool {
    let space = model.space();
    match space.state_count() {
        Some(states) => states <= MOST_STATES,
        None => space.dimension() - usize::from(space.is_sphere()) <= MOST_VARIABLES,
    }
}

/// A model that does not integrate to one although it says so is refused; what else cannot be integrated is left out.
fn refused(population: Result<Population>) -> Result<Option<Population>> {
    match population {
        Err(error @ (Error::NotNormalized { .. } | Error::Cancelled)) => Err(error),
        population => Ok(population.ok()),
    }
}

/// The data as draws from the fitted model.
fn sampled(task: FitTask<'_>, fit: &Fit, theta: &[f64]) -> Option<Population> {
    let some = task.rows.spread(SAMPLE_ROWS.max(ROWS_PER_UNKNOWN * task.model.coordinates().len()));
    let log_z = match &fit.log_normalizer {
        Some(constant) => constant.estimate,
        None => task.model.log_normalizer(theta, &mut vec![0.0; theta.len()])?,
    };
    Population::from_weighted_sample(task.model, theta, log_z, some.view(), some.data().weights).ok()
}
