//! The integral of an unnormalized density from draws of it alone: a noise is fitted to one half of the draws and
//! contrasted with the other, then the halves change places.

mod choose;
mod combine;
mod density;
mod factor;
mod half_ratios;
mod halves;
mod trace;

use std::sync::Arc;

pub use choose::{NoiseFitter, NoiseKind};
pub use factor::{BayesFactor, bayes_factor};
pub use trace::TracePoint;

use super::consistency::{disagreement, is_repeated};
use super::{
    Draws, LogZ, LogZOptions, LogZWarning, Method, NormalizerEstimate, Reason, Refusal, Side, log_z_of_half,
    most_quiet_ratio, two_sided,
};
use crate::memory;
use crate::run::{Context, Stage as RunStage};
use crate::tolerance::DISAGREE;
use crate::{Density, Error, Noise, Points, Result, View};
use choose::{Fitted, choose, fit_half};
use half_ratios::{Drawn, Problem, Stage, TwoLogDensities};
use halves::{Half, evenly_spaced, split};

/// Standard errors beyond which the halves contradict each other: no error bar covers both.
const CONTRADICTED: f64 = 6.0;
/// Share of limited evaluations that goes to the draws: quiet noise draws are worth more than as many draws, and cost the same.
const DRAWS_SHARE: f64 = 0.25;
/// Log-ratios of either side that are kept for pictures.
const KEPT: usize = 4000;

/// How evidence is estimated.
#[derive(Clone, Debug)]
pub struct EvidenceOptions {
    /// The noise that is fitted; [`NoiseKind::Auto`] by default.
    pub noise: NoiseKind,
    /// A function that fits a noise of the caller's own to either half, in the place of `noise`; none by default.
    pub noise_fitter: Option<NoiseFitter>,
    /// Number of noise draws in all; as many as draws by default.
    pub noise_draws: Option<usize>,
    /// About how often the density may be evaluated, at draws and at noise draws together; as often as there are both by
    /// default. With fewer, evenly spaced draws are contrasted with the noise, which is still fitted to all, or to thousands
    /// of them where it is found by a search.
    pub evaluations: Option<usize>,
    /// Lengths of the Markov chains that the draws are, one after the other; one chain by default.
    pub chains: Option<Vec<usize>>,
    /// Whether the density is averaged with its mirror image in the centre of the noise (Warp-III), which takes out
    /// skewness for a second evaluation of every point; off by default. Mixtures and products have no centre for it.
    pub symmetrize: bool,
    /// Number of places at which the estimate from the first part of the draws is kept; 20 by default.
    pub trace: usize,
    /// Confidence, dependence, seed, cancellation and the rest, as for [`log_z`](crate::log_z); here the bridge is balanced by
    /// effective numbers of draws by default, because the noise is independent and the draws are a chain.
    pub log_z: LogZOptions,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for EvidenceOptions {
    fn default() -> Self {
        Self {
            noise: NoiseKind::default(),
            noise_fitter: None,
            noise_draws: None,
            evaluations: None,
            chains: None,
            symmetrize: false,
            trace: 20,
            log_z: LogZOptions { weight_by_ess: true, ..LogZOptions::default() },
            more: crate::More,
        }
    }
}

impl EvidenceOptions {
    /// Refuses numbers that cannot be.
    ///
    /// # Errors
    /// [`Error::Option`] with the option's name.
    pub fn check(&self) -> Result<()> {
        if let Some(count) = self.noise_draws.filter(|count| *count < 2) {
            return Err(Error::range("noise_draws", "at least 2", count as f64));
        }
        self.log_z.check()
    }
}

/// The integral of a density, and what shows whether to trust it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Evidence {
    /// The logarithm of the integral by the recommended estimator.
    pub log_evidence: f64,
    /// Its standard error; infinite if nothing can be said.
    pub se: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// The mean of both halves' estimates by every estimator.
    pub estimates: Vec<NormalizerEstimate>,
    /// The estimator to trust, or the least bad one if all are refused.
    pub recommended: Method,
    /// Why that one, or why none.
    pub reason: Reason,
    /// Share of the densities that overlaps, the mean of both halves.
    pub overlap: f64,
    /// Expected number of draws of either side that the classifier gives to the other, over both halves.
    pub expected_crossings: f64,
    /// Number of independent draws that would say as much about the integral.
    pub chain_ess: f64,
    /// Correlation of the errors that the two halves' draws cause; 1 where the noise is of the density's own family.
    pub correlation: f64,
    /// The kind of noise that was fitted.
    pub noise: NoiseKind,
    /// The noises fitted to the first and to the second half.
    pub noises: [Arc<dyn Noise>; 2],
    /// Number of draws.
    pub draws: usize,
    /// Number of noise draws.
    pub noise_draws: usize,
    /// Independent scrambles of the noise draws of each half, from whose spread their part of the error comes (MATH §8); `None`
    /// for noise that is drawn independently.
    pub replicates: Option<usize>,
    /// How many times smaller the noise part of the variance is than that of as many independent draws; `None` for
    /// independent ones.
    pub noise_gain: Option<f64>,
    /// Probability that the intervals are to cover.
    pub confidence: f64,
    /// The results of the halves: noise from the first with draws of the second, then the reverse.
    pub halves: [LogZ; 2],
    /// The estimate from the first part of the draws, for growing parts.
    pub trace: Vec<TracePoint>,
    /// `log f − log p_n − log Z` at some draws and at some noise points, to look at.
    pub log_ratios: [Vec<f64>; 2],
    /// What else to know.
    pub warnings: Vec<LogZWarning>,
    /// Whether every equation was solved.
    pub converged: bool,
}

impl std::fmt::Debug for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evidence")
            .field("log_evidence", &self.log_evidence)
            .field("se", &self.se)
            .field("noise", &self.noise)
            .field("overlap", &self.overlap)
            .field("chain_ess", &self.chain_ess)
            .finish_non_exhaustive()
    }
}

impl Evidence {
    /// The estimate of the recommended estimator.
    #[must_use]
    pub fn best(&self) -> &NormalizerEstimate {
        self.get(self.recommended).unwrap_or(&self.estimates[0])
    }

    /// The estimate of one estimator.
    #[must_use]
    pub fn get(&self, method: Method) -> Option<&NormalizerEstimate> {
        self.estimates.iter().find(|e| e.method == method)
    }
}

/// The evidence of a density from draws of it: see [`evidence`](crate::evidence()).
pub(crate) fn estimate_evidence(
    density: &dyn Density,
    draws: View<'_>,
    options: &EvidenceOptions,
) -> Result<Evidence> {
    let (rows, space) = (draws.rows(), density.space());
    check_count(rows, space.dimension())?;
    if let Some(few @ 0..2) = options.noise_draws {
        return Err(Error::range("noise_draws", "at least 2", few as f64));
    }
    memory::check_count("noise_draws", options.noise_draws.unwrap_or(0), 2 + space.dimension())?;
    memory::check_count("trace", options.trace, 3)?;
    options.check()?;
    let halves = split(rows, options.chains.as_deref())?;
    check_count(halves.iter().map(Half::rows).sum(), space.dimension())?;
    let context = Context::new(options.log_z.seed, &options.log_z.cancel, options.log_z.progress.as_ref());
    let Some((contrasted, noise_draws)) = contrasted(rows, space.dimension(), options)? else {
        let unlimited = EvidenceOptions { evaluations: None, ..options.clone() };
        return context.conclude(from_halves(density, draws, None, &halves, &unlimited, &context));
    };
    let (kept, lengths) = evenly_spaced(&halves, contrasted);
    let values = (0..draws.columns()).flat_map(|j| kept.iter().map(move |row| draws.get(*row, j))).collect();
    let some = Points::from_values(space.names(), kept.len(), values)?;
    let options =
        EvidenceOptions { noise_draws: Some(noise_draws), chains: Some(lengths.clone()), ..options.clone() };
    let some_halves = split(kept.len(), Some(&lengths))?;
    let whole = Some((draws, halves));
    context.conclude(from_halves(density, some.view(), whole, &some_halves, &options, &context))
}

/// How many draws and how many noise draws there are evaluations for, where they are limited and do not do for all.
fn contrasted(rows: usize, dimension: usize, options: &EvidenceOptions) -> Result<Option<(usize, usize)>> {
    let Some(most) = options.evaluations else { return Ok(None) };
    let noise = options.noise_draws.unwrap_or_else(|| rows.min(most - (most as f64 * DRAWS_SHARE) as usize));
    let draws = rows.min(most.saturating_sub(noise));
    let fewest = 4 * (dimension + 1);
    if draws < fewest {
        let reason = format!(
            "are {most}, and must be at least {fewest} more than the noise draws, to be at draws too"
        );
        return Err(Error::option("evaluations", reason));
    }
    Ok((draws < rows || noise < rows).then_some((draws, noise)))
}

fn from_halves(
    density: &dyn Density,
    draws: View<'_>,
    whole: Option<(View<'_>, [Half; 2])>,
    halves: &[Half; 2],
    options: &EvidenceOptions,
    context: &Context,
) -> Result<Evidence> {
    let mut problem = Problem::new(density, draws, options.symmetrize, context)?;
    if let Some((whole, halves)) = whole {
        problem = problem.with_whole(whole, halves)?;
    }
    density.check_integrable(Some(draws), context.cancel_token())?;
    context.report(RunStage::Prepare, 0, None)?;
    let fitted = both_fits(&problem, halves, options)?;
    let densities = [problem.all(&fitted[0])?, problem.all(&fitted[1])?];
    let direction =
        |k: usize| Direction::new(&problem, &fitted[k], &densities[k], &halves[1 - k], k, options);
    let directions = [direction(0)?, direction(1)?];
    context.report(RunStage::Errors, 0, None)?;
    let slowest = combine::slowest(draws, density.space(), &problem.log_f, options);
    Ok(conclude(&directions, &densities, (&problem.log_f, slowest), halves, fitted, options))
}

/// A fit to half of the draws needs a covariance matrix, which takes more draws than variables.
fn check_count(rows: usize, dimension: usize) -> Result<()> {
    let needed = 4 * (dimension + 1);
    if rows >= needed {
        return Ok(());
    }
    let reason =
        format!("{rows} draws are too few to fit a noise to each half of them: give at least {needed}");
    Err(Error::Fit { noise: "auto".into(), reason })
}

/// One kind of noise, fitted to each half.
fn both_fits(problem: &Problem<'_>, halves: &[Half; 2], options: &EvidenceOptions) -> Result<[Fitted; 2]> {
    let first = choose(problem, halves, options)?;
    let second = fit_half(first.kind, problem, halves, 1, options)?;
    Ok([first, second])
}

/// One half's draws against the noise of the other.
struct Direction {
    data: TwoLogDensities,
    noise: TwoLogDensities,
    chains: Vec<usize>,
    drawn: Drawn,
    result: LogZ,
}

impl Direction {
    fn new(
        problem: &Problem<'_>,
        fitted: &Fitted,
        all: &TwoLogDensities,
        half: &Half,
        number: usize,
        options: &EvidenceOptions,
    ) -> Result<Self> {
        let data = TwoLogDensities { log_f: half.gather(&all.log_f), log_noise: half.gather(&all.log_noise) };
        let count = options.noise_draws.map_or(half.rows(), |total| (total + number) / 2);
        let stage = if number == 0 { Stage::First } else { Stage::Second };
        let drawn = problem.replicates(fitted, count).map_or(Drawn::Independently(count), Drawn::Quietly);
        let noise = problem.noise_side(fitted, drawn, stage)?;
        let chains = half.chains();
        let lengths = drawn.replicates().map_or_else(|| vec![drawn.count()], |r| vec![r.points; r.count]);
        let result = log_z_of_half(
            Draws::new(&data.log_f, &data.log_noise).with_chains(&chains),
            Draws::new(&noise.log_f, &noise.log_noise).with_chains(&lengths),
            drawn.replicates().is_some(),
            &options.log_z,
        )?;
        Ok(Self { data, noise, chains, drawn, result })
    }

    /// The bridge's estimate.
    fn center(&self) -> f64 {
        self.result.get(Method::Nce).map_or(0.0, |e| e.log_z)
    }

    /// `log ν`, in effective numbers of draws where the bridge is balanced by them, up to the largest that it takes.
    fn log_nu(&self, by_ess: bool) -> f64 {
        let (noise, data) = (&self.result.noise, &self.result.data);
        let plain = (noise.draws as f64 / data.draws as f64).ln();
        if !by_ess {
            return plain;
        }
        let most = if self.drawn.replicates().is_some() { most_quiet_ratio(plain) } else { f64::INFINITY };
        (noise.ess / data.ess).ln().min(most)
    }
}

fn conclude(
    directions: &[Direction; 2],
    densities: &[TwoLogDensities; 2],
    (log_f, slowest): (&[f64], combine::Slowest),
    halves: &[Half; 2],
    fitted: [Fitted; 2],
    options: &EvidenceOptions,
) -> Evidence {
    let results = [0, 1].map(|k| directions[k].result.clone());
    let by_ess = options.log_z.weight_by_ess;
    let shifts = [0, 1].map(|k| directions[k].center() + directions[k].log_nu(by_ess));
    let correlation = combine::correlation(densities, halves, shifts, options.log_z.dependence);
    let least = two_sided(options.log_z.confidence, slowest.freedom);
    let mut estimates = combine::all_joined(&results, correlation, least);
    let drift = combine::drift(log_f, halves, options.log_z.dependence);
    let mut warnings = warnings(&results, correlation, drift);
    // Both halves together see what neither sees alone.
    if let Some(standard_errors) = together(directions).filter(|_| best_is_known(&estimates)) {
        let why = Refusal::Contradiction { standard_errors };
        estimates.iter_mut().for_each(|estimate| estimate.refuse(&why));
        warnings.push(LogZWarning::Contradiction { standard_errors });
    }
    let repeated = LogZWarning::RepeatedDraws { side: Side::Data };
    if !warnings.contains(&repeated) && is_repeated(&[log_f], beginnings(options, log_f.len())) {
        warnings.push(repeated);
    }
    if let Some(why) = contradiction(&warnings).or(slowest.refusal) {
        estimates.iter_mut().for_each(|estimate| estimate.refuse(&why));
    }
    let best = estimates.iter().find(|e| e.method == Method::Nce).unwrap_or(&estimates[0]).clone();
    let trace = trace::trace(directions, options.trace, by_ess, &best);
    let sum = |of: fn(&LogZ) -> f64| of(&results[0]) + of(&results[1]);
    Evidence {
        log_evidence: best.log_z,
        se: best.se,
        lower: best.lower,
        upper: best.upper,
        recommended: best.method,
        reason: reason(&best),
        overlap: 0.5 * sum(|r| r.overlap),
        expected_crossings: sum(|r| r.expected_crossings),
        chain_ess: sum(|r| r.data.ess),
        correlation,
        noise: fitted[0].kind,
        noises: fitted.map(|f| f.noise),
        draws: directions.iter().map(|d| d.data.log_f.len()).sum(),
        noise_draws: directions.iter().map(|d| d.noise.log_f.len()).sum(),
        replicates: directions[0].drawn.replicates().map(|r| r.count),
        noise_gain: noise_gain(directions),
        confidence: options.log_z.confidence,
        trace,
        log_ratios: kept_ratios(directions),
        warnings,
        converged: results.iter().all(|r| r.converged),
        estimates,
        halves: results,
    }
}

/// What quiet draws are worth over independent ones, the mean of both halves.
fn noise_gain(directions: &[Direction; 2]) -> Option<f64> {
    let time = |d: &Direction| d.drawn.replicates().map(|_| d.result.noise.autocorrelation_time);
    Some(2.0 / (time(&directions[0])? + time(&directions[1])?))
}

/// Why the bridge: averages over the noise alone do not notice what the noise has missed.
fn reason(best: &NormalizerEstimate) -> Reason {
    best.refused.clone().map_or(Reason::BothSides, |refusal| Reason::AllRefused { refusal })
}

/// The first draw of every chain.
fn beginnings(options: &EvidenceOptions, rows: usize) -> impl Iterator<Item = usize> {
    let lengths = options.chains.clone().unwrap_or_else(|| vec![rows]);
    lengths.into_iter().scan(0, |next, length| {
        let start = *next;
        *next += length;
        Some(start)
    })
}

/// Whether the bridge has an error.
fn best_is_known(estimates: &[NormalizerEstimate]) -> bool {
    estimates.iter().any(|e| e.method == Method::Nce && e.refused.is_none())
}

/// By how many standard errors draws and noise contradict each other in both directions together, if by too many.
fn together(directions: &[Direction; 2]) -> Option<f64> {
    let count = |of: fn(&Direction) -> &TwoLogDensities| -> f64 {
        directions.iter().map(|d| of(d).log_f.len() as f64).sum()
    };
    let nu = count(|d| &d.noise) / count(|d| &d.data);
    let ratios = |of: fn(&Direction) -> &TwoLogDensities| -> Vec<f64> {
        let of_one = |d: &Direction| {
            let center = d.center() + nu.ln();
            let both = of(d).log_f.iter().zip(&of(d).log_noise);
            both.map(|(f, noise)| f - noise - center).collect::<Vec<_>>()
        };
        directions.iter().flat_map(of_one).collect()
    };
    let sides = [ratios(|d| &d.data), ratios(|d| &d.noise)];
    let worth = |of: fn(&LogZ) -> f64| directions.iter().map(|d| of(&d.result)).sum::<f64>();
    let worth = [worth(|r| r.data.ess), worth(|r| r.noise.ess)];
    let worth = [0, 1].map(|k| worth[k].min(sides[k].len() as f64));
    disagreement(&sides, nu, worth, directions[0].center())
}

/// Why nothing can be said where the halves differ by far more than chance.
fn contradiction(warnings: &[LogZWarning]) -> Option<Refusal> {
    warnings.iter().find_map(|warning| match warning {
        LogZWarning::HalvesDisagree { what, standard_errors, .. } if *standard_errors > CONTRADICTED => {
            Some(Refusal::HalvesContradict { what })
        }
        _ => None,
    })
}

/// Both halves' warnings, once each, and whether the halves contradict each other.
fn warnings(results: &[LogZ; 2], correlation: f64, drift: (f64, f64)) -> Vec<LogZWarning> {
    let mut all: Vec<LogZWarning> = Vec::new();
    // Intervals of halves of 4 draws and more cover: 97 % of 416 from 8, 10 and 20 draws.
    let few = |warning: &&LogZWarning| matches!(warning, LogZWarning::FewDraws { .. });
    for warning in results.iter().flat_map(|r| &r.warnings).filter(|w| !few(w)) {
        if !all.iter().any(|known| std::mem::discriminant(known) == std::mem::discriminant(warning)) {
            all.push(warning.clone());
        }
    }
    let mut told = |what, (difference, standard_errors)| {
        if standard_errors > DISAGREE {
            all.push(LogZWarning::HalvesDisagree { what, difference, standard_errors });
        }
    };
    told("mean log-density", drift);
    if let (Some(a), Some(b)) = (results[0].get(Method::Nce), results[1].get(Method::Nce))
        && a.refused.is_none()
        && b.refused.is_none()
    {
        told("evidence", combine::disagreement([a, b], correlation));
    }
    all
}

/// `log f − log p_n − log Z` at some draws and some noise points of both directions.
fn kept_ratios(directions: &[Direction; 2]) -> [Vec<f64>; 2] {
    let some = |side: fn(&Direction) -> &TwoLogDensities| {
        let mut kept = Vec::new();
        for direction in directions {
            let densities = side(direction);
            let step = (2 * densities.log_f.len()).div_ceil(KEPT).max(1);
            let ratios = densities.log_f.iter().zip(&densities.log_noise).step_by(step);
            kept.extend(ratios.map(|(f, noise)| f - noise - direction.center()));
        }
        kept
    };
    [some(|d| &d.data), some(|d| &d.noise)]
}
