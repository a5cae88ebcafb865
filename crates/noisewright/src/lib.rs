//! Noise-contrastive estimation: what a design costs, and which one is best.
//!
//! A model that is known up to its normalizing constant can be fitted by telling data from noise of known density.
//! How well that works depends on the noise, on how much of it there is, and on the loss. This crate computes the
//! error of any such design, and the design that minimises it.
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
//! | models | [`Model`], [`Parameter`], [`Energy`], [`energy`], [`families`] | log p = u(x;θ) − c, score ψ = ∇log p |
//! | noises | [`Noise`], [`Scalar`], [`Normal`] …, [`Mixture`], [`Product`], [`Truncated`], [`NoiseWords`], [`fit_auto`] | log p_n(x), ∫ p_n = 1 |
//! | losses | [`Loss`], [`LossFunction`] | the weight w = rφ″(r) as a function of g = log r |
//! | expectations | [`Population`], [`Precision`], [`Accuracy`] | E over p_d: quadrature, enumeration, sampling |
//! | the error of a design | [`asymptotic_error`], [`Asymptotics`], [`Target`] | Σ = I_w⁻¹ (I_v − (1+1/ν) m_w m_wᵀ) I_w⁻¹, error (1+ν) tr(ΣM) |
//! | divergences | [`divergences`], [`NormalizerErrors`] | the errors of log Z by IS, RevIS, IS-RevIS and NCE |
//! | maps to the real line | [`RealMap`], [`Chart`] | log f(x(y)) + Σ log dx/dy |
//! | normalizing constants | [`mod@normalizer`], [`normalizer::log_z`], [`normalizer::evidence`](normalizer::evidence()) | c = log Z from draws of both sides: IS, RevIS, IS-RevIS, NCE (MATH §4) |
//! | the best design | [`mod@design`] | p_n = p_d/ν · \[√(ν a/μ) − 1\]₊ with a quadratic in the score, and its limits |
//! | fits | [`mod@fit`], [`Fit`], [`Estimate`] | ∇L = ν E_n\[w r ψ\] − E_d\[w ψ\] = 0, Var = H⁻¹ V H⁻¹ |
//! | many states, paths | [`normalizer::states`], [`normalizer::path`] | Z_k = Σ f_k / Σ N_l f_l/Z_l over pooled draws; bridges (1−t) log p_n + t log f |
//! | Markov chains | [`mod@chain`] | draws of a model: Hamiltonian, random walk, Gibbs |
//! | seeds, cancellation, progress | [`mod@run`] | one random stream per purpose and block |
//! | what goes wrong | [`Error`] | one plain sentence each |
//!
//! Letters: ν = T_n/T_d noise points per data point, T = T_d + T_n the budget, π = ν/(1+ν) the proportion of noise,
//! g = log p − log p_n − log ν, r = e^g, M the target (identity for the mean squared error). Errors are given times T.
//!
//! # Example
//!
//! The mean of a Gaussian whose normalizing constant is taken as unknown: what noise equal to the data costs, and
//! what the best noise of all does.
//!
//! ```
//! use noisewright::design::{DesignOptions, Ratio, design};
//! use noisewright::{Contrast, Loss, Model, Normal, Precision, Target, asymptotic_error};
//!
//! let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
//!
//! let noise = Normal::with_variance(0.0, 1.0)?;
//! let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
//! let usual = asymptotic_error(&model, &[0.0], contrast, &Target::Mse, &Precision::default())?;
//! assert!((usual.error - 4.0).abs() < 1e-9); // (1+ν)²/ν · tr J⁻¹
//!
//! let best = design(&model, &[0.0], &DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() })?;
//! assert!((best.error - 3.50813).abs() < 1e-5);
//! assert!(best.gap().is_some_and(|gap| gap < 1e-6)); // certified: nothing is better by more than that
//! # Ok::<(), noisewright::Error>(())
//! ```
//!
//! A model of your own type takes twenty lines: see `examples/own_model.rs`.

mod asymptotics;
pub mod builders;
pub mod chain;
mod density;
pub mod design;
mod divergence;
mod domain;
mod efficiency;
pub mod energy;
mod error;
pub mod fit;
mod loss;
mod map;
mod memory;
mod model;
mod model_file;
mod names;
mod noise;
pub mod normalizer;
mod pareto;
mod points;
mod population;
pub mod prelude;
pub mod run;
mod serial;
#[doc(hidden)]
pub mod show;
mod sweep;
mod tails;
mod target;
mod text;

pub use asymptotics::{Asymptotics, ErrorReport, asymptotic_error, cramer_rao_covariance, error_report};
pub use builders::{chains, evidence, log_z, path, states};
pub use density::{BatchDensity, Density, FunctionDensity, ModelDensity, batch_density, density};
pub use divergence::{Divergences, NormalizerErrors, divergences};
pub use domain::{Domain, Space};
pub use efficiency::record_efficiency;
pub use energy::{Energy, FamilyOptions, families};
pub use error::{
    ChainFault, DesignFault, Error, ErrorKind, ErrorSubject, ExternalError, OptionFault, Quantity, Result,
};
pub use fit::{Estimate, Fit, fit};
pub use loss::{Loss, LossFunction};
pub use map::{Chart, RealMap};
pub use memory::check_count;
pub use model::{LOG_NORMALIZER, Model, Parameter};
pub use noise::language::{Argument, Call, Context, NoiseWords, Span, Weight, WordsError};
pub use noise::{
    Bandwidth, Beta, Categorical, Elliptical, FitAgain, Gamma, Histogram1d, Histogram2d, KernelDensity,
    Landmarks, Laplace, LogNormal, Logistic, Mixture, MultivariateNormal, MultivariateStudent,
    NegativeBinomial, Noise, Normal, Poisson, Product, Refit, SavedKernels, SavedNoise, Scalar, SinhArcsinh,
    StateTree, Student, Truncated, Uniform, UniformSphere, VonMises, VonMisesFisher, Warped, equal_edges,
    fit_auto, fit_normal_mixture, sample, sample_blocks, try_sample,
};
pub use points::{Points, View};
pub use population::{Accuracy, Contrast, Divergent, Method, Population, Precision};
pub use sweep::Sweep;
pub use target::Target;

pub use nalgebra;
pub use noisewright_numerics::random::Stream;
pub use rand;
