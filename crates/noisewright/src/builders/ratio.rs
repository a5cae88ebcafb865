//! Ratios of densities and mutual information, call by call.

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use crate::fit::{
    Bridges, Data, DensityRatio, MutualInformation, RatioBasis, RatioOptions, density_ratio,
    mutual_information,
};
use crate::{Model, Result};

/// The ratio of the densities of two samples, without features: a basis and its penalty are chosen by cross-validation.
///
/// ```
/// use noisewright::prelude::*;
/// // log N(1, 1) / N(0, 1) = x − ½, and KL = ½.
/// let (first, second) = (sample(&Normal::with_std(1.0, 1.0)?, 4000, 1), sample(&Normal::with_std(0.0, 1.0)?, 4000, 2));
/// let found = ratio(&first, &second).run()?;
/// let kl = &found.divergences.kl;
/// assert!((kl.estimate - 0.5).abs() < 4.0 * kl.se);
/// assert!(found.test.p_value < 1e-6);
/// let there = found.log_ratio_at(Points::from_rows(&["x"], &[[1.0]])?.view())?;
/// assert!((there[0].value - 0.5).abs() < 4.0 * there[0].se);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[doc(alias = "density ratio")]
#[doc(alias = "covariate shift")]
#[doc(alias = "two-sample test")]
pub fn ratio<'a>(first: impl Into<Data<'a>>, second: impl Into<Data<'a>>) -> RatioBuilder<'a> {
    let (first, second) = (first.into(), second.into());
    RatioBuilder { first, second, model: None, options: RatioOptions::default(), threads: None }
}

/// A ratio that is being asked for: see [`ratio`].
#[derive(Clone, Debug)]
#[must_use = "nothing is done before `run`"]
pub struct RatioBuilder<'a> {
    first: Data<'a>,
    second: Data<'a>,
    model: Option<&'a Model>,
    options: RatioOptions,
    threads: Option<usize>,
}

impl<'a> RatioBuilder<'a> {
    /// The features of this model instead of a basis, without a penalty.
    pub fn model(mut self, model: &'a Model) -> Self {
        self.model = Some(model);
        self
    }

    setters! {
        /// What the log ratio is made of (default [`RatioBasis::Auto`]).
        basis(basis: RatioBasis) => options.basis = basis;
        /// Bridges between the samples (default one: the plain ratio).
        bridges(bridges: Bridges) => options.bridges = bridges;
        /// Permutations of the two-sample test (default 499).
        permutations(permutations: usize) => options.permutations = permutations;
        /// Confidence of the intervals (default 0.95).
        confidence(confidence: f64) => options.confidence = confidence;
    }

    run_settings! {
        seed in options, "the permutations";
        threads, cancel in options;
        progress in options;
        options: RatioOptions;
    }

    /// Fits the ratio.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let (first, second) = (sample(&Normal::with_std(1.0, 1.0)?, 2000, 1), sample(&Normal::with_std(0.0, 1.0)?, 2000, 2));
    /// let line = Model::from_features(&["x"], Space::real(&["x"])?, vec![])?;
    /// let found = ratio(&first, &second).model(&line).permutations(0).run()?;
    /// // log N(1, 1)/N(0, 1) = x − ½, and KL = ½.
    /// assert!((found.divergences.kl.estimate - 0.5).abs() < 5.0 * found.divergences.kl.se);
    /// assert!((found.coefficients()[0].1 - 1.0).abs() < 0.2);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the samples have different columns, too few rows or weights, too little in common with the bridges asked for, or
    /// an option cannot be.
    pub fn run(self) -> Result<DensityRatio> {
        on_threads(self.threads, || density_ratio(self.model, self.first, self.second, &self.options))
    }
}

/// The mutual information of two groups of columns, in nats: the divergence of their joint density from the product of its
/// marginals, through as many bridges as it needs.
///
/// ```
/// use noisewright::prelude::*;
/// // Of a normal pair with correlation ρ it is −½ log(1 − ρ²).
/// let pairs = sample(&MultivariateNormal::new(&[0.0, 0.0], &[1.0, 0.8, 0.8, 1.0])?, 4000, 1).with_names(&["x", "y"])?;
/// let found = information(&pairs, &["x"], &["y"]).run()?.information;
/// assert!((found.estimate - 0.5108).abs() < 4.0 * found.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
pub fn information<'a>(
    data: impl Into<Data<'a>>,
    between: &'a [&'a str],
    and: &'a [&'a str],
) -> InformationBuilder<'a> {
    let options = RatioOptions { bridges: Bridges::Auto, ..RatioOptions::default() };
    InformationBuilder { data: data.into(), between: [between, and], model: None, options, threads: None }
}

/// A mutual information that is being asked for: see [`information`].
#[derive(Clone, Debug)]
#[must_use = "nothing is done before `run`"]
pub struct InformationBuilder<'a> {
    data: Data<'a>,
    between: [&'a [&'a str]; 2],
    model: Option<&'a Model>,
    options: RatioOptions,
    threads: Option<usize>,
}

impl<'a> InformationBuilder<'a> {
    /// The features of this model instead of a basis, without a penalty.
    pub fn model(mut self, model: &'a Model) -> Self {
        self.model = Some(model);
        self
    }

    setters! {
        /// What the log ratio is made of (default [`RatioBasis::Auto`]).
        basis(basis: RatioBasis) => options.basis = basis;
        /// Bridges between the joint density and the product (default [`Bridges::Auto`]).
        bridges(bridges: Bridges) => options.bridges = bridges;
        /// Confidence of the interval (default 0.95).
        confidence(confidence: f64) => options.confidence = confidence;
    }

    run_settings! {
        seed in options, "the order of the rows";
        threads, cancel in options;
        progress in options;
        options: RatioOptions;
    }

    /// Estimates it.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let pairs = sample(&MultivariateNormal::new(&[0.0, 0.0], &[1.0, 0.6, 0.6, 1.0])?, 2000, 1).with_names(&["x", "y"])?;
    /// let product = Model::from_features(&["x^2", "y^2", "x*y"], Space::real(&["x", "y"])?, vec![])?;
    /// let found = information(&pairs, &["x"], &["y"]).model(&product).bridges(Bridges::Count(1)).run()?.information;
    /// assert!((found.estimate + 0.5 * (1.0 - 0.36f64).ln()).abs() < 5.0 * found.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a variable is not a column or is in both groups, there are too few rows, or the joint density and the product have
    /// too little in common with the bridges asked for.
    pub fn run(self) -> Result<MutualInformation> {
        on_threads(self.threads, || mutual_information(self.model, self.data, self.between, &self.options))
    }
}
