//! The command line as it is typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::failure::{Failure, Outcome};

/// Noise-contrastive estimation by theory: what a noise costs, and which one is best.
#[derive(Debug, Parser)]
#[command(name = "noisewright", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Print one JSON object on standard output, and nothing else there
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a self-contained page with pictures
    #[arg(long, global = true, value_name = "FILE.html", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
    /// No progress and no remarks on standard error
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Seed of all random draws: the same seed gives the same result to the bit, for any number of threads
    #[arg(long, global = true, default_value_t = 0, value_name = "N", help_heading = "Running")]
    pub(crate) seed: u64,
    /// Number of threads (default: all cores)
    #[arg(long, global = true, value_name = "N", help_heading = "Running")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The asymptotic error of a design: what a noise, a ratio and a loss would cost
    Error(ErrorArguments),
    /// The noise and the proportion that minimise the error
    Design(DesignArguments),
    /// Draws from a noise, with their log-density
    Sample(SampleArguments),
    /// The integral of a model's unnormalized density (log evidence) from draws of it
    Evidence(EvidenceArguments),
    /// Every figure and table of the paper on optimal noise, recomputed, with one HTML page
    Reproduce(ReproduceArguments),
    /// List the built-in families of models with their parameters and options
    Families,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (troff)
    Man,
}

/// A model and where it is true.
#[derive(Args, Debug)]
pub(crate) struct ModelArguments {
    /// The model file (TOML)
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Parameter values, such as a=1,b=0.1; the model file's start values otherwise
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// Relative accuracy asked of the integrals
    #[arg(long, value_name = "R", default_value_t = 1e-10, help_heading = "Accuracy")]
    pub(crate) accuracy: f64,
    /// Draws where the space is too large for quadrature and enumeration
    #[arg(long, value_name = "N", default_value_t = 131_072, help_heading = "Accuracy")]
    pub(crate) draws: usize,
}

/// A data file.
#[derive(Args, Debug, Default)]
pub(crate) struct DataArguments {
    /// Data file (CSV, Parquet, NPY, NPZ, Stan CSV; `-` for standard input), for noises that are fitted to data
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) data: Option<PathBuf>,
    /// Format of the data file: csv, parquet, npy, npz or stan-csv (default: told from the file)
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub(crate) format: Option<String>,
    /// Drop rows with a missing value instead of refusing them
    #[arg(long, help_heading = "Data")]
    pub(crate) drop_missing: bool,
}

const NOISE_HELP: &str = "The noise, in words: normal(0, 1), student(5, 0, 2), 0.7*normal(0,1) + 0.3*laplace(0,1), \
    data (the model itself), model(a=2) (the model elsewhere), all-noise, optimal, auto, file(\"design.json\"), …";

#[derive(Args, Debug)]
pub(crate) struct ErrorArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[arg(long, default_value = "auto", help = NOISE_HELP, value_name = "NOISE", allow_hyphen_values = true)]
    pub(crate) noise: String,
    /// Noise points per data point
    #[arg(long, default_value_t = 1.0, value_name = "R", allow_hyphen_values = true)]
    pub(crate) nu: f64,
    /// The loss: js, kl, reverse-kl, hellinger, pearson or power:A
    #[arg(long, default_value = "js", value_name = "LOSS")]
    pub(crate) loss: String,
    /// What error: mse (all coordinates), kl, or a comma-separated list of parameters
    #[arg(long, default_value = "mse", value_name = "TARGET")]
    pub(crate) target: String,
}

#[derive(Args, Debug)]
pub(crate) struct DesignArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// What to optimise: optimal (over all noises), a family with free places such as normal(?, ?),
    /// histogram(bins, lo, hi), mixture (weights of a dictionary), or a fixed noise (its best proportion)
    #[arg(long, default_value = "optimal", value_name = "NOISE", allow_hyphen_values = true)]
    pub(crate) noise: String,
    /// Noise points per data point, or auto for the best
    #[arg(long, default_value = "auto", value_name = "R", allow_hyphen_values = true)]
    pub(crate) nu: String,
    /// What error: mse (all coordinates), kl, or a comma-separated list of parameters
    #[arg(long, default_value = "mse", value_name = "TARGET")]
    pub(crate) target: String,
    /// Price of a data point
    #[arg(long, default_value_t = 1.0, value_name = "P", allow_hyphen_values = true)]
    pub(crate) price_data: f64,
    /// Price of a noise point
    #[arg(long, default_value_t = 1.0, value_name = "P", allow_hyphen_values = true)]
    pub(crate) price_noise: f64,
    /// With given data: how much noise until the error is within this share of what endless noise would give
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub(crate) efficiency: Option<f64>,
    /// Save the designed noise, to be used as file("FILE") or with `sample --design`
    #[arg(long, value_name = "FILE.json", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SampleArguments {
    /// Number of draws
    #[arg(value_name = "N")]
    pub(crate) count: usize,
    /// The noise, in words
    #[arg(
        long,
        value_name = "NOISE",
        conflicts_with = "design",
        required_unless_present = "design",
        allow_hyphen_values = true
    )]
    pub(crate) noise: Option<String>,
    /// A designed noise saved by `design --out`
    #[arg(long, value_name = "FILE.json")]
    pub(crate) design: Option<PathBuf>,
    /// The model file, for its variables and domains and for noises that come from a model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Parameter values of the model, such as a=1,b=0.1
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// Noise points per data point, for `optimal`
    #[arg(long, default_value_t = 1.0, value_name = "R", allow_hyphen_values = true)]
    pub(crate) nu: f64,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// Where to write the draws (Parquet if the name ends in .parquet or .pq, otherwise CSV; `-` or nothing: CSV to
    /// standard output)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct EvidenceArguments {
    /// The model file (TOML), which states the log-density whose integral is asked for
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Draws of that density: one file per Markov chain (CSV, Stan CSV, Parquet, NPY, NPZ; `-` for standard input)
    #[arg(value_name = "DRAWS", required = true)]
    pub(crate) draws: Vec<PathBuf>,
    /// Parameter values, such as a=1,b=0.1; the model file's start values otherwise
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// The noise fitted to half of the draws: normal, student, mixture, warped, product or auto (what overlaps best)
    #[arg(long, default_value = "auto", value_name = "NOISE")]
    pub(crate) noise: String,
    /// Number of noise draws (default: as many as draws)
    #[arg(long, value_name = "N")]
    pub(crate) noise_draws: Option<usize>,
    /// Average the density with its mirror image in the noise's centre, which takes out skewness (Warp-III)
    #[arg(long)]
    pub(crate) symmetrize: bool,
    /// The draws are independent, not a Markov chain
    #[arg(long)]
    pub(crate) independent: bool,
    /// Column that says which chain a row belongs to
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(crate) chain: Option<String>,
    /// Balance the bridge by effective numbers of draws instead of their numbers
    #[arg(long)]
    pub(crate) weight_by_ess: bool,
    /// Probability that the interval is to cover the truth
    #[arg(long, default_value_t = 0.95, value_name = "P", allow_hyphen_values = true)]
    pub(crate) confidence: f64,
    /// Format of the draws: csv, parquet, npy, npz or stan-csv (default: told from the file)
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub(crate) format: Option<String>,
    /// Drop rows with a missing value instead of refusing them
    #[arg(long, help_heading = "Data")]
    pub(crate) drop_missing: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReproduceArguments {
    /// What to reproduce: fig1 … fig7, tab1, tab2, tab3, errata (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// The folder for the page, the pictures and the numbers
    #[arg(long, value_name = "DIR", default_value = "noisewright-paper", help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Grids and histograms twice as fine as the paper's
    #[arg(long)]
    pub(crate) fine: bool,
}

/// The arguments of this process.
pub(crate) fn parse() -> Outcome<Arguments> {
    Arguments::try_parse().map_err(Failure::Clap)
}
