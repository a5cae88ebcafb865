//! Fits of unnormalized models, normalizing constants and the best noise for both, with errors that hold.
//!
//! A model that is known up to its normalizing constant can be fitted by telling data from noise of known density:
//! noise-contrastive estimation. The same contrast gives normalizing constants (bridge sampling, many states, evidence),
//! and a theory of its error that says which noise, how much of it and which loss are best.
//!
//! # Three programs
//!
//! **A fit.** A log-density of one's own, up to a constant, and rows of data; out come the parameters and the constant with
//! standard errors, and warnings where they do not hold ([`Model::fit`]).
//!
//! ```
//! use noisewright::prelude::*;
//! # fn main() -> Result<()> {
//! let rows: Vec<[f64; 1]> = (0..500).map(|i| [(f64::from(i) * 0.618_034).fract() * 2.0 - 1.0]).collect();
//! let data = Points::from_rows(&["x"], &rows)?;
//! let space = Space::product(&[("x", Domain::Interval(-1.0, 1.0))])?;
//! let model = Model::from_fn(&["slope"], space, |t: &[f64], x: &[f64]| t[0] * x[0])?;
//! let fit = model.fit(&data).ratio(5.0).seed(1).run()?;
//! let slope = fit.get("slope")?;
//! assert!(slope.lower < 0.0 && 0.0 < slope.upper); // the rows are spread evenly
//! let constant = fit.log_normalizer();
//! assert!((constant.estimate - 2f64.ln()).abs() < 4.0 * constant.se);
//! # Ok(())
//! # }
//! ```
//!
//! **A normalizing constant**, from draws of a density and a noise that can be sampled ([`log_z`]); [`evidence()`] fits the
//! noise itself, [`states()`] takes many densities at once, [`path()`] goes where no noise overlaps.
//!
//! ```
//! use noisewright::prelude::*;
//! # fn main() -> Result<()> {
//! let f = density(Space::real(&["x"])?, |x: &[f64]| -0.25 * (x[0] - 1.0).powi(2));
//! let draws = sample(&Normal::with_variance(1.0, 2.0)?, 2000, 1);
//! let z = log_z(&f, &draws).against(Normal::with_variance(0.0, 3.0)?, 2000).seed(1).run()?;
//! assert!((z.best().log_z - 0.5 * (2.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * z.best().se);
//! # Ok(())
//! # }
//! ```
//!
//! **A design**: the best noise for a model and what any other costs ([`Model::design`], [`Model::error`]).
//!
//! ```
//! use noisewright::prelude::*;
//! # fn main() -> Result<()> {
//! let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
//! let usual = model.error(&[0.0], Normal::with_std(0.0, 1.0)?).ratio(1.0).run()?;
//! assert!((usual.error - 4.0).abs() < 1e-9); // noise equal to the data: (1+ν)²/ν · tr J⁻¹
//! let best = model.design(&[0.0]).ratio(1.0).run()?;
//! assert!((best.error - 3.50813).abs() < 1e-5);
//! assert!(best.gap().is_some_and(|gap| gap < 1e-6)); // certified: nothing is better by more than that
//! # Ok(())
//! # }
//! ```
//!
//! Every call of `run` has a seed, threads, a token that cancels it ([`run::CancelToken`]) and, where it takes long, a
//! progress hook; results do not depend on the number of threads. Models of your own are closures ([`Model::from_fn`]) or
//! types ([`Energy`]); so are densities ([`density()`], [`Density`]), noises ([`Noise`]) and losses ([`LossFunction`]).
//! "MATH §n" in these pages is a section of the book's chapter
//! [The theory](https://github.com/noisewright/noisewright/blob/main/docs/src/mathematics.md).
//!
//! # The house
//!
//! One idea carries it. A batch of **points** meets a **model** and a **noise**; out come, per point, two
//! log-densities and a score. Everything else is arithmetic on those, under one kind of sum: **weighted points**
//! stand for an expectation, whether they are data, noise draws, quadrature nodes or enumerated states. So the
//! theory of a design and the statistics of a sample are the same code with other weights.
//!
//! ```text
//!   points you have                       formula / features / family / your own type
//!        │                                                  │
//!        ▼                                                  ▼
//!     Points ─────────────► log p(x;β), ψ(x;β) ◄──────── Energy, in a Model
//!        ▲                          │
//!        │ sample, log-density      │  g = log p − log p_n − log ν
//!      Noise ───────────────────────┤
//!        ▲                          ▼
//!        │                    Loss: the weight w(g)
//!        │                          │
//!        │                          ▼
//!        └── design ◄──── moments over a Population ────► ErrorReport
//!        (best noise, ν)     (Σ, Cramér–Rao)       (error, efficiency)
//! ```
//!
//! # Where things are
//!
//! | what | main items | the equation that lives there |
//! |---|---|---|
//! | points | [`Points`], [`View`] | |
//! | where they live | [`Domain`], [`Space`] | the base measure: length, or counting |
//! | models | [`Model`], [`Parameter`], [`Energy`], [`Statistics`], [`families`] | log p = u(x;θ) − c, score ψ = ∇log p |
//! | noises | [`Noise`], [`Scalar`], [`Normal`] …, [`Mixture`], [`Product`], [`Truncated`], [`NoiseWords`], [`fit_auto`] | log p_n(x), ∫ p_n = 1 |
//! | losses | [`Loss`], [`LossFunction`] | the weight w = rφ″(r) as a function of g = log r |
//! | expectations | [`Population`], [`Precision`], [`Accuracy`] | E over p_d: quadrature, enumeration, sampling |
//! | the error of a design | [`Model::error`], [`Asymptotics`], [`Target`] | Σ = I_w⁻¹ (I_v − (1+1/ν) m_w m_wᵀ) I_w⁻¹, error (1+ν) tr(ΣM) |
//! | divergences | [`divergences`], [`parts::NormalizerErrors`] | the errors of log Z by IS, RevIS, IS-RevIS and NCE |
//! | normalizing constants | [`mod@normalizer`], [`log_z`], [`evidence()`] | c = log Z from draws of both sides: IS, RevIS, IS-RevIS, NCE (MATH §4) |
//! | the best design | [`Model::design`], [`mod@design`] | p_n = p_d/ν · \[√(ν a/μ) − 1\]₊ with a quadratic in the score, and its limits |
//! | fits | [`Model::fit`], [`mod@fit`], [`Fit`], [`Estimate`] | ∇L = ν E_n\[w r ψ\] − E_d\[w ψ\] = 0, Var = H⁻¹ V H⁻¹ |
//! | after a fit | [`mod@after`], [`Fit::derive`], [`Fit::wald`] | Var h(β̂) = ∇hᵀ V ∇h; −2 log L + 2 k |
//! | many states, paths | [`states()`], [`path()`] | Z_k = Σ f_k / Σ N_l f_l/Z_l over pooled draws; bridges (1−t) log p_n + t log f |
//! | Markov chains | [`chains`], [`mod@chain`] | draws of a model: Hamiltonian, random walk, Gibbs |
//! | seeds, cancellation, progress | [`mod@run`] | one random stream per purpose and block |
//! | what goes wrong | [`Error`] | one plain sentence each |
//! | what results are made of | [`parts`] | |
//!
//! Letters: ν = T_n/T_d noise points per data point, T = T_d + T_n the budget, π = ν/(1+ν) the proportion of noise,
//! g = log p − log p_n − log ν, r = e^g, M the target (identity for the mean squared error). Errors are given times T.

// What model files alone make public stays where it is without them.
#![cfg_attr(not(feature = "model-file"), allow(unreachable_pub))]
#![warn(missing_debug_implementations)]

pub mod after;
pub(crate) mod asymptotics;
pub mod builders;
pub mod chain;
pub(crate) mod density;
pub mod design;
pub(crate) mod divergence;
mod domain;
pub(crate) mod energy;
pub(crate) mod error;
pub mod fit;
mod integrability;
#[doc(hidden)]
pub mod internal;
mod loss;
mod map;
pub(crate) mod memory;
pub(crate) mod model;
#[cfg(feature = "model-file")]
mod model_file;
mod moments;
pub(crate) mod more;
mod names;
pub(crate) mod noise;
pub mod normalizer;
mod pareto;
pub mod parts;
mod points;
pub(crate) mod population;
pub mod prelude;
mod quoted;
pub mod run;
mod serial;
pub(crate) mod show;
mod target;
mod text;
mod tolerance;

pub use asymptotics::ErrorReport;
pub use builders::chains::chains;
pub use builders::evidence::evidence;
pub use builders::log_z::log_z;
pub use builders::path::path;
pub use builders::ratio::{information, ratio};
pub use builders::states::states;
pub use density::{Density, ModelDensity, batch_density, density};
pub use divergence::divergences;
pub use domain::{Domain, Space};
pub use energy::{Energy, FamilyOptions, Statistics, families};
pub use error::{Error, ErrorKind, Result};
pub use fit::result::{Estimate, Fit};
pub use loss::{Loss, LossFunction};
pub use model::{Model, Parameter};
pub use noise::language::NoiseWords;
pub use noise::{
    Bandwidth, Beta, Categorical, ConditionalNoise, Gamma, Histogram1d, Histogram2d, KernelDensity,
    Landmarks, Laplace, LogNormal, Logistic, Mixture, MultivariateNormal, MultivariateStudent,
    NegativeBinomial, Noise, Normal, Poisson, Product, Scalar, Student, Truncated, Uniform, UniformSphere,
    VonMises, VonMisesFisher, equal_edges, fit_auto, fit_auto_given, quiet_sample, sample, try_sample,
};
pub use points::{Points, View};
pub use population::{Population, Precision};
pub use serial::to_json;
pub use target::Target;

pub(crate) use asymptotics::{Asymptotics, asymptotic_error, cramer_rao_covariance, error_report};
pub(crate) use divergence::Divergences;
pub(crate) use error::{ChainFault, DesignFault, OptionFault, Quantity};
pub(crate) use map::{Chart, RealMap};
pub(crate) use memory::check_count;
pub(crate) use model::LOG_NORMALIZER;
pub(crate) use more::More;
pub(crate) use noise::language::{Argument, Call, NoiseContext, Weight, WordsError};
pub(crate) use noise::{Refit, SavedNoise};
pub(crate) use population::{Accuracy, Contrast, Divergent, Method};

pub use nalgebra;
pub use noisewright_numerics::random::Stream;
#[cfg(feature = "dual")]
pub use num_dual;
pub use rand;
