//! What `fit` and `ratio` take.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use noisewright::fit::CovarianceKind;

use super::{AfterArguments, ChoiceArguments};

const NOISE_HELP: &str = "The noise: auto (fitted to the data), exact (no noise: maximum likelihood by quadrature or \
    enumeration), optimal (a pilot fit, then the best noise at it), or in words: normal(0, 4), student(5, 0, 2), kde, \
    0.7*normal(0,1) + 0.3*laplace(0,1), model(a=2), file(\"design.json\"), …";

/// Largest share of a standard error that comes from the noise.
pub(crate) const DEFAULT_SHARE: f64 = 0.1;

#[derive(Args, Debug)]
pub(crate) struct FitArguments {
    /// The model file (TOML)
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Data files (CSV, Parquet, NPY, NPZ, Stan CSV, gzip; `-` for standard input), one after the other
    #[arg(value_name = "DATA", required = true)]
    pub(crate) data: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) rows: RowArguments,
    /// By which method: nce (against noise), exact (maximum likelihood, as --noise exact), mc-mle (the loss kl, Geyer's Monte-Carlo
    /// maximum likelihood), or without noise and constant: score-matching (continuous variables), pseudo-likelihood (finite states)
    #[arg(long, default_value = "nce", value_name = "METHOD")]
    pub(crate) method: String,
    #[arg(long, default_value = "auto", help = NOISE_HELP, value_name = "NOISE", allow_hyphen_values = true)]
    pub(crate) noise: String,
    /// Noise points per data point, or auto: enough that they add little to the standard errors
    #[arg(long, default_value = "auto", value_name = "R", allow_hyphen_values = true)]
    pub(crate) nu: String,
    /// Number of noise points, instead of --nu
    #[arg(long, value_name = "N", conflicts_with = "nu")]
    pub(crate) noise_points: Option<usize>,
    /// For a model with covariates: noise points of every row, or auto: enough that they add little to the standard errors
    #[arg(long = "choices", default_value = "auto", value_name = "K", allow_hyphen_values = true)]
    pub(crate) noise_choices: String,
    /// With --nu auto: the largest share of a standard error that may come from the noise
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SHARE, allow_hyphen_values = true)]
    pub(crate) noise_share: f64,
    /// With --nu auto: most noise points (default: as many as the memory budget allows)
    #[arg(long, value_name = "N")]
    pub(crate) max_noise: Option<usize>,
    /// The loss: js, kl, reverse-kl, hellinger, pearson, brier or power:A
    #[arg(long, default_value = "js", value_name = "LOSS")]
    pub(crate) loss: String,
    /// How the noise is drawn: random (independently), quiet (scrambled Sobol points in 16 replicates, from whose spread its
    /// part of the errors comes), or auto (quiet where that needs at most half the points, if the amount is left to --nu auto)
    #[arg(long, default_value = "auto", value_name = "HOW")]
    pub(crate) draws: String,
    /// The ratio M inside the loss js (inf: kl), or auto: ν for random noise, the best of a few for quiet noise
    #[arg(long, default_value = "auto", value_name = "M", allow_hyphen_values = true)]
    pub(crate) loss_ratio: String,
    /// Fit the noise to its own draws first, which lowers the error (parametric noises only)
    #[arg(long)]
    pub(crate) refit_noise: bool,
    /// With --noise optimal: which error it minimises: mse (all unknowns), kl, or a comma-separated list of parameters
    #[arg(long, default_value = "mse", value_name = "TARGET")]
    pub(crate) target: String,
    /// Fit again with four times as much noise, and test whether the estimates differ: a right model's do not
    #[arg(long, visible_alias = "check-ratio")]
    pub(crate) check_nu: bool,
    #[command(flatten)]
    pub(crate) errors: ErrorArguments,
    /// A penalty on the parameters of a linear model: lasso:λ, ridge:λ, or with λ by ten-fold cross-validation lasso:auto (or
    /// auto: the sparsest whose refit is within one standard error of the best), lasso:min or ridge:auto (the smallest loss)
    #[arg(long, value_name = "PENALTY", allow_hyphen_values = true, help_heading = "Penalty")]
    pub(crate) penalty: Option<String>,
    /// Fit the parameters that the lasso selects again without a penalty, with standard errors
    #[arg(long, requires = "penalty", help_heading = "Penalty")]
    pub(crate) refit_selected: bool,
    /// Write covariances of more than 100 unknowns into the JSON too
    #[arg(long, help_heading = "Output")]
    pub(crate) matrices: bool,
    /// Intervals of the parameters: wald, or profile, where the profile of the likelihood or loss has risen far enough
    #[arg(long, default_value = "wald", value_name = "KIND", help_heading = "Errors")]
    pub(crate) interval: String,
    /// Draw the rows (or clusters) so many times with replacement and fit each: standard errors and intervals beside the others
    #[arg(long, value_name = "N", help_heading = "Errors")]
    pub(crate) bootstrap: Option<usize>,
    /// Find the held-out log-likelihood by so many folds, for `compare`
    #[arg(long, value_name = "FOLDS", help_heading = "After the fit")]
    pub(crate) cross_validate: Option<usize>,
    /// Where to start, such as a=1,b=0.1; the model file's start values otherwise
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true, help_heading = "Search")]
    pub(crate) start: Option<String>,
    /// From how many places at most a model that is not linear in its parameters is fitted
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Search")]
    pub(crate) starts: usize,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
    /// Read the data in blocks, again at each pass, for files larger than memory (CSV, Parquet, NPY)
    #[arg(long, help_heading = "Data")]
    pub(crate) stream: bool,
    /// Let so many processes sum over the rows, which they read themselves (Parquet, CSV, NPY): the same result to the bit
    #[arg(long, value_name = "N", conflicts_with = "stream", help_heading = "Data")]
    pub(crate) workers: Option<usize>,
    /// How a worker is started, such as `ssh node noisewright` (default: this program)
    #[arg(long, value_name = "COMMAND", requires = "workers", help_heading = "Data")]
    pub(crate) worker_command: Option<String>,
    /// Save the fit, if the name ends in .json, for `compare`, `density` and `simulate`; otherwise write the rows with their
    /// fitted log-density (Parquet if the name ends in .parquet or .pq, otherwise CSV)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choices: ChoiceArguments,
    #[command(flatten)]
    pub(crate) after: AfterArguments,
}

/// What `block` takes: a fit, whose data may come with the requests.
#[derive(Args, Debug)]
pub(crate) struct BlockArguments {
    #[command(flatten)]
    pub(crate) fit: FitArguments,
    /// Number of rows in all, where the data are `-` and come with the requests
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub(crate) rows: Option<usize>,
}

/// When one search ends.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SearchArguments {
    /// Most steps of one search
    #[arg(long, value_name = "N", default_value_t = 200, help_heading = "Search")]
    pub(crate) max_iterations: usize,
    /// A search ends when a Newton step is shorter than so many standard errors
    #[arg(
        long,
        value_name = "T",
        default_value = "1e-6",
        allow_hyphen_values = true,
        help_heading = "Search"
    )]
    pub(crate) tolerance: f64,
}

/// Which standard errors, and what intervals are made of them.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ErrorArguments {
    /// Standard errors that hold for a wrong model too (robust), or that trust the model
    #[arg(
        long,
        visible_alias = "errors",
        default_value = "robust",
        value_name = "KIND",
        help_heading = "Errors"
    )]
    pub(crate) covariance: CovarianceArgument,
    /// Confidence of the intervals
    #[arg(
        long,
        default_value_t = 0.95,
        value_name = "P",
        allow_hyphen_values = true,
        help_heading = "Errors"
    )]
    pub(crate) confidence: f64,
}

/// Which standard errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CovarianceArgument {
    /// From the spread of the scores in the sample
    Robust,
    /// From the fitted model, taken to be true
    Model,
}

impl CovarianceArgument {
    pub(crate) fn kind(self) -> CovarianceKind {
        match self {
            Self::Robust => CovarianceKind::Robust,
            Self::Model => CovarianceKind::ModelBased,
        }
    }
}

/// How rows are read.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArguments {
    /// Format of the data: csv, parquet, npy, npz or stan-csv (default: told from the file)
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub(crate) format: Option<String>,
    /// Drop rows with a missing value instead of refusing them
    #[arg(long, help_heading = "Data")]
    pub(crate) drop_missing: bool,
}

/// How rows are read, how often they count, and which belong together.
#[derive(Args, Debug)]
pub(crate) struct RowArguments {
    #[command(flatten)]
    pub(crate) read: ReadArguments,
    /// Column that says how often a row counts
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(crate) weights: Option<String>,
    /// Column of numbers: rows with the same one belong together, for the standard errors
    #[arg(long, value_name = "COLUMN", help_heading = "Errors")]
    pub(crate) cluster: Option<String>,
    /// The rows are Markov chains in order, one per file, for the standard errors (understood for Stan CSV)
    #[arg(long, conflicts_with = "cluster", help_heading = "Errors")]
    pub(crate) chains: bool,
    /// Column of numbers that says which Markov chain a row belongs to; the rows of a chain stand together
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["cluster", "chains"], help_heading = "Errors")]
    pub(crate) chain_column: Option<String>,
}

/// What a log ratio is made of, and the bridges that it goes through.
#[derive(Args, Debug)]
pub(crate) struct BridgeArguments {
    /// Functions that the log ratio is made of, with a ridge penalty: quadratic, splines, centers (Gaussian bumps), or auto for
    /// the best of them by leave-one-out loss (default)
    #[arg(long, value_name = "BASIS", conflicts_with = "features")]
    pub(crate) basis: Option<String>,
    /// Number of bridges between what is compared, for densities that are far apart, or auto for as many as the distance needs
    #[arg(long, value_name = "K")]
    pub(crate) bridges: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct InformationArguments {
    /// Data file (CSV, Parquet, NPY, NPZ; `-` for standard input)
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// Columns on one side and on the other: --between x1 x2 and y
    #[arg(long, value_name = "NAME", num_args = 1.., required = true)]
    pub(crate) between: Vec<String>,
    /// Columns on the other side, where the word `and` is not among the names: --between x1,x2 --and y
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) and: Vec<String>,
    /// Features of the log ratio of the joint density to the product of its marginals: quadratic, or formulas in the columns
    /// (default: a basis that is chosen by cross-validation)
    #[arg(long, value_name = "FEATURES", allow_hyphen_values = true)]
    pub(crate) features: Option<String>,
    #[command(flatten)]
    pub(crate) path: BridgeArguments,
    #[command(flatten)]
    pub(crate) read: ReadArguments,
    /// Confidence of the interval
    #[arg(
        long,
        default_value_t = 0.95,
        value_name = "P",
        allow_hyphen_values = true,
        help_heading = "Errors"
    )]
    pub(crate) confidence: f64,
}

#[derive(Args, Debug)]
pub(crate) struct RatioArguments {
    /// Sample from the first density
    #[arg(value_name = "DATA1")]
    pub(crate) first: PathBuf,
    /// Sample from the second density
    #[arg(value_name = "DATA2")]
    pub(crate) second: PathBuf,
    /// Features of the log ratio: linear, quadratic, or formulas in the columns such as "x, x^2, x*y" (default: a basis
    /// that is chosen by cross-validation)
    #[arg(long, value_name = "FEATURES", allow_hyphen_values = true)]
    pub(crate) features: Option<String>,
    #[command(flatten)]
    pub(crate) path: BridgeArguments,
    /// Permutations of the two-sample test; 0 for the asymptotic one alone (default: 499)
    #[arg(long, value_name = "N", help_heading = "Errors")]
    pub(crate) permutations: Option<usize>,
    /// Where to write the rows of the second sample with the weights that make them look like the first
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) importance: Option<PathBuf>,
    /// Columns to use, such as x,y (default: all that both files have, but the weights)
    #[arg(long, value_name = "NAME,…", help_heading = "Data")]
    pub(crate) columns: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArguments,
    /// Column that says how often a row of the first sample counts
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(crate) weights: Option<String>,
    /// The loss: js, kl, reverse-kl, hellinger, pearson, brier or power:A
    #[arg(long, default_value = "js", value_name = "LOSS")]
    pub(crate) loss: String,
    #[command(flatten)]
    pub(crate) errors: ErrorArguments,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
    /// File of points at which to give the log ratio with its standard error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) points: Option<PathBuf>,
    /// Where to write the log ratio at the points (Parquet if the name ends in .parquet or .pq, otherwise CSV)
    #[arg(long, value_name = "FILE", requires = "points", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Write covariances of more than 100 unknowns into the JSON too
    #[arg(long, help_heading = "Output")]
    pub(crate) matrices: bool,
}

impl RatioArguments {
    /// How the first sample is read.
    pub(crate) fn first_rows(&self) -> RowArguments {
        RowArguments { weights: self.weights.clone(), ..self.other_rows() }
    }

    /// How the second sample and the points are read.
    pub(crate) fn other_rows(&self) -> RowArguments {
        RowArguments::plain(&self.read)
    }
}

impl RowArguments {
    /// Rows that count once each and are independent.
    pub(crate) fn plain(read: &ReadArguments) -> Self {
        Self { read: read.clone(), weights: None, cluster: None, chains: false, chain_column: None }
    }
}
