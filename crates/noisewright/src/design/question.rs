//! A whole question of design in words: over all noises, a family, histograms, a dictionary, or the best proportion of
//! a given noise.

use std::sync::Arc;

use super::problem::{Files, Problem, Purpose};
use super::proportion::at_end;
use super::quiet::{QuietAnswer, QuietQuestion};
use super::{
    Curve, DesignOptions, DictionaryOptions, FamilyOptimum, Member, MixtureDesign, ModelNoise, Prices, Ratio,
    best_member, best_member_on, best_mixture, best_ratio, design_dictionary, design_mixture,
    design_mixture_on_sample, ratio_for_efficiency,
};
use crate::asymptotics::trace_product;
use crate::run::if_possible;
use crate::{
    Argument, Asymptotics, Call, Contrast, Error, Loss, Noise, NoiseWords, Population, Result, Target,
    WordsError, cramer_rao_covariance,
};

/// Proportions at which the curve of a given noise is computed.
const FINE_CURVE: usize = 99;
/// As many where every one takes a search.
const CURVE: usize = 41;
/// As many where every one takes a search in several dimensions.
const COARSE_CURVE: usize = 15;
/// Sums over the population that a search for the exact optimum takes, about.
const SUMS_OF_A_SEARCH: usize = 20;

/// What is optimised.
#[derive(Clone, Debug, PartialEq)]
pub enum DesignSpace {
    /// Over all noises: `optimal`.
    Optimal,
    /// Over the weights of a dictionary that is made from the model or the data: `mixture`, or `dictionary(auto)`.
    Mixture,
    /// Over the weights of these noises: `dictionary(normal(-1, 1), normal(1, 1))`.
    Dictionary(Vec<NoiseWords>),
    /// Over the free places of the words, over the bins of a histogram, or a given noise's proportion alone.
    Words(NoiseWords),
}

impl DesignSpace {
    /// From its words: `optimal`, `mixture`, `dictionary(…)` of noises, or a noise in words.
    ///
    /// # Errors
    /// When the words are no noise.
    pub fn parse(text: &str) -> Result<Self, WordsError> {
        if text.trim() == "mixture" {
            return Ok(Self::Mixture);
        }
        let words = NoiseWords::parse(text)?;
        Ok(match (words.to_string().as_str(), dictionary(&words)) {
            ("optimal", _) => Self::Optimal,
            (_, Some(members)) if members.is_empty() => Self::Mixture,
            (_, Some(members)) => Self::Dictionary(members),
            _ => Self::Words(words),
        })
    }
}

/// The members of `dictionary(…)`, none for those that are to be made; `None` for other words, which it stands within too.
fn dictionary(words: &NoiseWords) -> Option<Vec<NoiseWords>> {
    let [(_, call)] = words.terms.as_slice() else { return None };
    if call.name != "dictionary" {
        return None;
    }
    let member = |argument: &Argument| match argument {
        Argument::Noise(words) => Some((**words).clone()),
        _ => None,
    };
    let members: Vec<NoiseWords> = call.arguments.iter().map(member).collect::<Option<_>>()?;
    let automatic = matches!(members.as_slice(), [only] if only.to_string() == "auto");
    Some(if automatic { Vec::new() } else { members })
}

/// What is asked for.
#[derive(Clone)]
pub struct Question<'a> {
    /// The model, where it is true.
    pub problem: Problem<'a>,
    /// Where `file("…")` is found.
    pub files: Files<'a>,
    /// The error that is minimised.
    pub target: Target,
    /// Noise points per data point.
    pub ratio: Ratio,
    /// Prices of a data and of a noise point.
    pub prices: Prices,
    /// Also asked: how much noise until the error is within this share of what endless noise leaves.
    pub efficiency: Option<f64>,
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("problem", &self.problem)
            .field("target", &self.target)
            .field("ratio", &self.ratio)
            .finish_non_exhaustive()
    }
}

/// A design, whatever it was optimised over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The noise.
    pub noise: Arc<dyn Noise>,
    /// Noise points per data point.
    pub nu: f64,
    /// Whether ν was sought and is at an end of the range, e⁻³⁰ to e³⁰, so that the best one may lie beyond.
    pub nu_at_end: bool,
    /// The error times the budget.
    pub error: f64,
    /// The error of p_n = p_d at the same ν.
    pub noise_equals_data: f64,
    /// The error of p_n = p_d at ν = 1.
    pub conventional: f64,
    /// The certified relative gap, where the problem is convex and, over all noises, not one on data.
    pub gap: Option<f64>,
    /// Number of distinct stationary points found.
    pub stationary_points: Option<usize>,
    /// The error for the budget against the proportion, for the noise that is best at each.
    pub curve: Curve,
    /// How much noise is enough, where that was asked.
    pub enough: Option<EfficiencyAnswer>,
    /// The population the design was computed on.
    pub population: Population,
    /// How many quiet draws of the noise would do; `None` for a noise that cannot be drawn quietly.
    pub quiet: Option<QuietAnswer>,
    /// What it was optimised over, with what that kind alone has to say.
    pub kind: Kind,
}

/// How much noise is enough.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EfficiencyAnswer {
    /// The efficiency asked for.
    pub asked: f64,
    /// Noise points per data point that reach it.
    pub nu: f64,
    /// ν and the efficiency reached with it.
    pub curve: Vec<(f64, f64)>,
}

/// What a design was optimised over.
#[derive(Clone, Debug)]
pub enum Kind {
    /// All noises.
    Optimal {
        /// The noise.
        noise: Box<ModelNoise>,
        /// μ of MATH §6.
        multiplier: f64,
    },
    /// The free places of words; every local minimum, the best first.
    Family(Vec<Member>),
    /// The weights of a dictionary.
    Mixture(Box<MixtureDesign>),
    /// The bins of a histogram.
    Histogram {
        /// The words.
        words: String,
        /// Edges along every variable.
        edges: Vec<f64>,
        /// Probability of each bin.
        probabilities: Vec<f64>,
    },
    /// A given noise, of which only the proportion was sought.
    Fixed {
        /// The words.
        words: String,
    },
}

impl Kind {
    /// The name under which programs find it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Optimal { .. } => "optimal",
            Self::Family(_) => "family",
            Self::Mixture(_) => "mixture",
            Self::Histogram { .. } => "histogram",
            Self::Fixed { .. } => "fixed",
        }
    }
}

impl Question<'_> {
    /// Designs what is sought.
    ///
    /// ```
    /// use noisewright::{Model, Target};
    /// use noisewright::design::{Prices, Ratio};
    /// use noisewright::internal::design::{DesignSpace, Problem, Question};
    /// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
    /// let question = Question {
    ///     problem: Problem::new(&model, &[0.0]),
    ///     files: &|_| Err("there are no files".into()),
    ///     target: Target::Mse,
    ///     ratio: Ratio::Fixed(1.0),
    ///     prices: Prices::default(),
    ///     efficiency: None,
    /// };
    /// let best = question.answer(&DesignSpace::parse("optimal").unwrap())?;
    /// assert!((best.error - 3.50813).abs() < 1e-5 && (best.conventional - 4.0).abs() < 1e-9);
    /// let given = question.answer(&DesignSpace::parse("normal(0, 1)").unwrap())?;
    /// assert!((given.error - 4.0).abs() < 1e-9);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the model has no population at its parameters, its scores are collinear, the noise cannot be built, or a number
    /// is not what it must be.
    pub fn answer(&self, sought: &DesignSpace) -> Result<Answer> {
        self.prices.check()?;
        let problem = self.problem.for_run();
        let resolved =
            self.target.resolved(problem.model, problem.parameters, || problem.log_normalizer())?;
        let target = resolved.into_owned();
        let asked = Self { target, problem, ..self.clone() };
        asked.options(self.ratio).conclude(asked.designed(sought))
    }

    fn designed(&self, sought: &DesignSpace) -> Result<Answer> {
        let answer = match sought {
            DesignSpace::Optimal => self.over_all_noises(),
            DesignSpace::Mixture => self.over_mixtures(None),
            DesignSpace::Dictionary(members) => self.over_mixtures(Some(members)),
            DesignSpace::Words(words) if words.free_count() > 0 => self.over_family(words),
            DesignSpace::Words(words) => match words.terms.as_slice() {
                [(_, call)] if call.name == "histogram" => self.over_histograms(call),
                _ => self.given(self.problem.noise(words, self.purpose(), self.files)?, self.ratio),
            },
        }?;
        let quiet = if_possible(self.quiet(&answer))?.flatten();
        Ok(Answer { nu_at_end: self.ratio == Ratio::Free && at_end(answer.nu), quiet, ..answer })
    }

    /// What quiet draws of a designed noise would need.
    fn quiet(&self, answer: &Answer) -> Result<Option<QuietAnswer>> {
        let population = &answer.population;
        let target = self.target.matrix(population.coordinates(), &population.information())?;
        let noise = answer.noise.as_ref();
        QuietQuestion { problem: &self.problem, population, noise, nu: answer.nu, target: &target }.answer()
    }

    /// The noise of an answer as plain data, with the model file it belongs to.
    ///
    /// # Errors
    /// When the model file cannot be read.
    #[cfg(feature = "model-file")]
    pub fn record(&self, answer: &Answer, model_file: &str) -> Result<super::Record> {
        use super::Record;
        let Problem { model, parameters, .. } = &self.problem;
        let of_words = |words: &str| Record::of_words(model_file, parameters, words);
        match &answer.kind {
            Kind::Optimal { noise, .. } => {
                Record::of_shape(model_file, noise, self.problem.sample().map(|_| &answer.population))
            }
            Kind::Family(minima) => of_words(&minima[0].words.to_string()),
            Kind::Mixture(best) => of_words(&best.noise.describe()),
            Kind::Fixed { words } => of_words(words),
            Kind::Histogram { edges, probabilities, .. } => {
                let edges = vec![edges.clone(); model.space().dimension()];
                Record::of_histogram(model_file, parameters, edges, probabilities)
            }
        }
    }

    fn purpose(&self) -> Purpose<'_> {
        let nu = if let Ratio::Fixed(nu) = self.ratio { nu } else { 1.0 };
        Purpose { nu, target: &self.target }
    }

    fn options(&self, ratio: Ratio) -> DesignOptions {
        DesignOptions {
            target: self.target.clone(),
            ratio,
            prices: self.prices,
            precision: self.problem.precision.clone(),
            ..DesignOptions::default()
        }
    }

    /// `tr(ΣM)` as endless noise leaves it.
    fn bound(&self, population: &Population) -> Result<f64> {
        let matrix = self.target.matrix(population.coordinates(), &population.information())?;
        Ok(trace_product(&cramer_rao_covariance(population)?, &matrix))
    }

    /// How much noise until the error is within a share of what endless noise leaves; `value(ν)` is `tr(ΣM)` of the noise
    /// that is best at ν.
    fn enough(&self, limit: f64, value: impl Fn(f64) -> Result<f64>) -> Result<Option<EfficiencyAnswer>> {
        let Some(asked) = self.efficiency else { return Ok(None) };
        let nu = ratio_for_efficiency(asked, limit, &value)?;
        let curve = (-4..=4)
            .map(|step| nu * 2f64.powi(step))
            .filter_map(|at| value(at).ok().map(|v| (at, limit / v)))
            .collect();
        Ok(Some(EfficiencyAnswer { asked, nu, curve }))
    }

    /// Exactly, over all noises (MATH §6).
    fn over_all_noises(&self) -> Result<Answer> {
        let options = self.options(self.ratio);
        let search = self.problem.search(&options)?;
        let best = options.conclude(search.run())?;
        let value = |nu: f64| search.value(nu);
        let places = if self.problem.model.space().dimension() == 1 { CURVE } else { COARSE_CURVE };
        let places = Curve::places(&best.population, places, SUMS_OF_A_SEARCH);
        Ok(Answer {
            nu: best.nu,
            nu_at_end: false,
            error: best.error,
            noise_equals_data: best.noise_equals_data,
            conventional: best.conventional,
            // On data it is a gap among noises that integrate to one over the data, which others do not.
            gap: best.gap().filter(|_| self.problem.sample().is_none()),
            stationary_points: Some(best.optimum.stationary_points),
            curve: Curve::new(places, |nu| Ok(self.prices.scale(nu) * value(nu)?))?,
            enough: self.enough(self.bound(&best.population)?, value)?,
            quiet: None,
            kind: Kind::Optimal { noise: Box::new(best.noise.clone()), multiplier: best.optimum.multiplier },
            noise: Arc::new(best.noise),
            population: best.population,
        })
    }

    /// The best member of a family with free places.
    fn over_family(&self, words: &NoiseWords) -> Result<Answer> {
        let found = self.members(words, self.ratio)?;
        let best = &found.minima[0];
        let answer = self.at(Arc::clone(&best.noise), Ratio::Fixed(best.nu))?;
        let value =
            |nu: f64| Ok(self.members(words, Ratio::Fixed(nu))?.minima[0].error / self.prices.scale(nu));
        Ok(Answer {
            error: best.error,
            stationary_points: Some(found.minima.len()),
            enough: self.enough(self.bound(&answer.population)?, value)?,
            kind: Kind::Family(found.minima),
            ..answer
        })
    }

    /// The minima of a family.
    fn members(&self, words: &NoiseWords, ratio: Ratio) -> Result<FamilyOptimum> {
        let Problem { model, parameters, .. } = &self.problem;
        let build = |words: &NoiseWords| self.problem.noise(words, self.purpose(), self.files);
        let options = self.options(ratio);
        match self.problem.sample() {
            None => best_member(words, &build, model, parameters, &options),
            Some(_) => {
                best_member_on(&self.problem.population()?, words, &build, model, parameters, &options)
            }
        }
    }

    /// The best weights of a dictionary of noises that can be drawn from: of these members, or of those that are made.
    fn over_mixtures(&self, members: Option<&[NoiseWords]>) -> Result<Answer> {
        let build = |words: &NoiseWords| self.problem.noise(words, self.purpose(), self.files);
        let members = members.map(|all| all.iter().map(build).collect::<Result<Vec<_>>>()).transpose()?;
        let best = self.mixture(members.as_deref(), self.ratio)?;
        let answer = self.at(Arc::clone(&best.noise), Ratio::Fixed(best.nu))?;
        let value =
            |nu: f64| Ok(self.mixture(members.as_deref(), Ratio::Fixed(nu))?.error / self.prices.scale(nu));
        Ok(Answer {
            error: best.error,
            gap: best.convex.then_some(best.gap),
            stationary_points: Some(best.stationary_points),
            enough: self.enough(self.bound(&answer.population)?, value)?,
            kind: Kind::Mixture(Box::new(best)),
            ..answer
        })
    }

    fn mixture(&self, members: Option<&[Arc<dyn Noise>]>, ratio: Ratio) -> Result<MixtureDesign> {
        let Problem { model, parameters, .. } = &self.problem;
        let (options, dictionary) = (self.options(ratio), DictionaryOptions::default());
        match (self.problem.sample(), members) {
            (None, None) => design_mixture(model, parameters, &dictionary, &options),
            (None, Some(members)) => design_dictionary(model, parameters, members, &options),
            (Some(_), Some(members)) => best_mixture(&self.problem.population()?, members, &options),
            (Some(sample), None) => {
                let log_z = self.problem.log_normalizer()?;
                design_mixture_on_sample(model, parameters, log_z, sample, &dictionary, &options)
            }
        }
    }

    /// The best histogram with so many equal bins in each variable.
    fn over_histograms(&self, call: &Call) -> Result<Answer> {
        if self.problem.sample().is_some() {
            let reason = "a histogram is designed on the model itself, not on data: leave them out".into();
            return Err(Error::Noise { noise: call.to_string(), reason });
        }
        let best = self.problem.histogram(call, &self.options(self.ratio))?;
        let answer = self.at(Arc::clone(&best.noise), Ratio::Fixed(best.nu))?;
        let value = |nu: f64| {
            let options = self.options(Ratio::Fixed(nu));
            Ok(self.problem.histogram(call, &options)?.error / self.prices.scale(nu))
        };
        Ok(Answer {
            error: best.error,
            enough: self.enough(self.bound(&answer.population)?, value)?,
            gap: (!self.problem.model.is_normalized()).then_some(best.gap),
            stationary_points: Some(best.stationary_points),
            kind: Kind::Histogram {
                words: call.to_string(),
                edges: best.edges,
                probabilities: best.probabilities,
            },
            ..answer
        })
    }

    /// A noise that is given: its error at a ratio, or at its best one, and how much of it is enough.
    fn given(&self, noise: Arc<dyn Noise>, ratio: Ratio) -> Result<Answer> {
        let answer = self.at(noise, ratio)?;
        let log_noise = answer.population.log_noise(answer.noise.as_ref())?;
        let enough = self
            .enough(self.bound(&answer.population)?, |nu| self.value(&answer.population, &log_noise, nu))?;
        Ok(Answer { enough, ..answer })
    }

    /// `tr(ΣM)` of a noise by its log-density.
    fn value(&self, population: &Population, log_noise: &[f64], nu: f64) -> Result<f64> {
        let matrix = self.target.matrix(population.coordinates(), &population.information())?;
        Ok(Asymptotics::at(population, log_noise, nu, &Loss::Js)?.error(&matrix, nu, 1.0, 0.0))
    }

    /// A noise at a ratio, or at its best one.
    fn at(&self, noise: Arc<dyn Noise>, ratio: Ratio) -> Result<Answer> {
        let population = self.population_for(noise.as_ref(), ratio)?;
        let log_noise = population.log_noise(noise.as_ref())?;
        let error =
            |nu: f64| -> Result<f64> { Ok(self.prices.scale(nu) * self.value(&population, &log_noise, nu)?) };
        let (nu, least) = match ratio {
            Ratio::Fixed(nu) => (nu, error(nu)?),
            Ratio::Free => best_ratio(error, &self.problem.precision.context())?,
        };
        let bound = self.bound(&population)?;
        let equal = |nu: f64| self.prices.scale(nu) * (1.0 + 1.0 / nu) * bound;
        Ok(Answer {
            nu,
            nu_at_end: false,
            error: least,
            noise_equals_data: equal(nu),
            conventional: equal(1.0),
            gap: None,
            stationary_points: None,
            curve: Curve::new(Curve::places(&population, FINE_CURVE, 1), error)?,
            enough: None,
            quiet: None,
            kind: Kind::Fixed { words: noise.describe() },
            noise,
            population,
        })
    }

    /// The data, or nodes that suit the noise.
    fn population_for(&self, noise: &dyn Noise, ratio: Ratio) -> Result<Population> {
        if self.problem.sample().is_some() {
            return self.problem.population();
        }
        let nu = if let Ratio::Fixed(nu) = ratio { nu } else { 1.0 };
        let contrast = Contrast { noise, nu, loss: &Loss::Js };
        Population::for_contrast(
            self.problem.model,
            self.problem.parameters,
            contrast,
            &self.problem.precision,
        )
    }
}
