//! The command line as it is typed.

mod after;
mod fit;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::{Failure, Outcome};
use crate::usage;

pub(crate) use self::after::{
    AfterArguments, ChoiceArguments, CompareArguments, DensityArguments, SimulateArguments,
};
pub(crate) use self::fit::{
    BlockArguments, BridgeArguments, DEFAULT_SHARE, FitArguments, InformationArguments, RatioArguments,
    RowArguments,
};

/// Noise-contrastive estimation: unnormalized models fitted to data, and the noise that does it best.
#[derive(Debug, Parser)]
#[command(
    name = "noisewright",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Begin with `noisewright examples`, run one with `noisewright examples old-faithful`, and fit your own\n\
                  with `noisewright fit MODEL DATA`. `noisewright COMMAND --help` says what each command takes."
)]
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
    /// Also write the result as a web page with pictures, in one file that needs no other
    #[arg(long, global = true, value_name = "FILE.html", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
    /// Say nothing on standard error but errors: no progress, no warnings
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Seed of all random draws: the same seed gives the same result to the bit, for any number of threads
    #[arg(long, global = true, default_value_t = 0, value_name = "N", help_heading = "Running")]
    pub(crate) seed: u64,
    /// Number of threads (default: one per core); more than four per core are not started
    #[arg(long, global = true, value_name = "N", help_heading = "Running")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fit a model to data: estimates with standard errors, and its normalizing constant
    Fit(Box<FitArguments>),
    /// Sum over blocks of rows for a fit in another process: requests on standard input, answers on standard output
    Block(Box<BlockArguments>),
    /// Fit the ratio of the densities of two samples
    Ratio(Box<RatioArguments>),
    /// The mutual information of two groups of columns, with its error
    Information(InformationArguments),
    /// What a noise would cost: the asymptotic error of estimating a model with it
    Error(ErrorArguments),
    /// The best noise for a model, and how much of it: those that minimise the error
    Design(DesignArguments),
    /// The logarithm of a normalizing constant from draws of both densities, with its error
    Logz(Box<LogzArguments>),
    /// Draw points from a noise, each with its log-density
    Sample(SampleArguments),
    /// Saved fits side by side: log-likelihoods, criteria, and likelihood-ratio tests of nested models
    Compare(CompareArguments),
    /// The log-density of a saved fit at new points, with standard errors
    Density(DensityArguments),
    /// Draw points from the model of a saved fit
    Simulate(SimulateArguments),
    /// The integral of a model's unnormalized density (log evidence) from draws of it
    Evidence(EvidenceArguments),
    /// Every figure and table of the paper on optimal noise, recomputed, with one HTML page
    #[cfg(feature = "reproduce")]
    Reproduce(ReproduceArguments),
    /// Move the noise by hand and see what it costs: a page on this machine
    #[cfg(feature = "lab")]
    Lab(LabArguments),
    /// List the examples that ship, or run one
    Examples(ExamplesArguments),
    /// List the built-in families of models with their parameters and options
    Families,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page (troff), to be read with `noisewright man | man -l -`
    Man {
        /// The command it is about (default: all of noisewright)
        command: Option<String>,
    },
}

/// A model and where it is true.
#[derive(Args, Debug)]
pub(crate) struct ModelArguments {
    /// The model file (TOML)
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The parameter values that are taken to be true, such as a=1,b=0.1 (default: the model file's start values)
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// Relative accuracy asked of the integrals over the model
    #[arg(long, value_name = "R", default_value = "1e-10", help_heading = "Accuracy")]
    pub(crate) accuracy: f64,
    /// Number of random draws where there are too many variables or states to integrate over
    #[arg(long, value_name = "N", default_value_t = 131_072, help_heading = "Accuracy")]
    pub(crate) draws: usize,
}

/// A data file.
#[derive(Args, Debug, Default)]
pub(crate) struct DataArguments {
    /// Data file (CSV, Parquet, NPY, NPZ, Stan CSV; `-` for standard input) to which noises without numbers are fitted,
    /// such as normal, kde or auto
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) data: Option<PathBuf>,
    /// Format of the data file: csv, parquet, npy, npz or stan-csv (default: told from the file)
    #[arg(long, value_name = "FORMAT", requires = "data", help_heading = "Data")]
    pub(crate) format: Option<String>,
    /// Drop rows with a missing value instead of refusing them
    #[arg(long, requires = "data", help_heading = "Data")]
    pub(crate) drop_missing: bool,
}

const NOISE_HELP: &str = "The noise, in words: normal(0, 1), student(5, 0, 2), 0.7*normal(0,1) + 0.3*laplace(0,1), \
    data (the model itself), model(a=2) (the model elsewhere), all-noise, optimal, auto, file(\"design.json\"), …";

const DESIGN_AT_HELP: &str = "The parameter values that are taken to be true, such as a=1,b=0.1 (default: with --data what \
    a fit to them finds, otherwise the model file's start values)";

const DESIGN_DATA_HELP: &str = "Data file (CSV, Parquet, NPY, NPZ, Stan CSV; `-` for standard input): expectations are then \
    averages over its rows, in any number of variables, and noises without numbers are fitted to it";

#[derive(Args, Debug)]
pub(crate) struct ErrorArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[arg(long, default_value = "auto", help = NOISE_HELP, value_name = "NOISE", allow_hyphen_values = true)]
    pub(crate) noise: String,
    /// Noise points per data point
    #[arg(long, default_value_t = 1.0, value_name = "R", allow_hyphen_values = true)]
    pub(crate) nu: f64,
    /// The loss: js, kl, reverse-kl, hellinger, pearson, brier or power:A
    #[arg(long, default_value = "js", value_name = "LOSS")]
    pub(crate) loss: String,
    /// The ratio M inside the loss js, where it is not to be ν (inf: kl); auto is ν
    #[arg(long, default_value = "auto", value_name = "M", allow_hyphen_values = true)]
    pub(crate) loss_ratio: String,
    /// What error: mse (all coordinates), kl, or a comma-separated list of parameters
    #[arg(long, default_value = "mse", value_name = "TARGET")]
    pub(crate) target: String,
    /// Write covariances of more than 100 unknowns into the JSON too
    #[arg(long, help_heading = "Output")]
    pub(crate) matrices: bool,
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
    /// Price of a data point: with prices, the error is that for a budget of 1
    #[arg(long, default_value_t = 1.0, value_name = "P", allow_hyphen_values = true)]
    pub(crate) price_data: f64,
    /// Price of a noise point
    #[arg(long, default_value_t = 1.0, value_name = "P", allow_hyphen_values = true)]
    pub(crate) price_noise: f64,
    /// Also say how much noise gives this efficiency, such as 0.95: what endless noise would leave of the error, over what
    /// is left
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub(crate) efficiency: Option<f64>,
    /// Save the designed noise, to be used as file("FILE") or with `sample --design`
    #[arg(long, value_name = "FILE.json", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

/// Many states at once.
#[derive(Args, Debug)]
pub(crate) struct StatesArguments {
    /// DATA holds the pooled draws of several states: the columns with the log-density of each state, as a list of names
    /// or a pattern such as u_*
    #[arg(long, value_name = "COLUMNS", help_heading = "Many states")]
    pub(crate) states: Option<String>,
    /// Column that tells the state of each draw: what * stands for where that is a number, else the state's place from 1
    /// (default: state)
    #[arg(long, value_name = "COLUMN", help_heading = "Many states")]
    pub(crate) state_column: Option<String>,
    /// Numbers of draws instead of a column, such as 100,200,0: the draws stand state after state
    #[arg(long, value_name = "N,N,…", help_heading = "Many states")]
    pub(crate) counts: Option<String>,
    /// The state whose log Z is taken for 0 (default: the first)
    #[arg(long, value_name = "STATE", help_heading = "Many states")]
    pub(crate) reference: Option<String>,
    /// Columns whose means under every state are asked for, sampled or not
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', help_heading = "Many states")]
    pub(crate) observable: Vec<String>,
    /// One or two columns along which the free energy, −log of the density, is asked for
    #[arg(long, value_name = "COLUMN[,COLUMN]", value_delimiter = ',', help_heading = "Many states")]
    pub(crate) surface: Vec<String>,
    /// The state of the surface, such as the one without a bias (default: the first)
    #[arg(long, value_name = "STATE", help_heading = "Many states")]
    pub(crate) surface_state: Option<String>,
    /// Cells of the surface along each column (default: 50 along one, 30 along each of two)
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', help_heading = "Many states")]
    pub(crate) bins: Vec<usize>,
    /// A normal kernel about the centre of each cell instead of a histogram
    #[arg(long, help_heading = "Many states")]
    pub(crate) kernel: bool,
    /// Its standard deviation along each column (default: by Silverman's rule)
    #[arg(long, value_name = "H[,H]", value_delimiter = ',', help_heading = "Many states")]
    pub(crate) bandwidth: Vec<f64>,
    /// A free energy of so many B-splines along each column instead of a histogram; auto for as many as serve best
    #[arg(long, value_name = "N[,N]|auto", value_delimiter = ',', help_heading = "Many states")]
    pub(crate) splines: Vec<String>,
    /// Their degree (default: 3)
    #[arg(long, value_name = "K", help_heading = "Many states")]
    pub(crate) degree: Option<usize>,
    /// What is zero on the surface: lowest (its lowest cell, the default), normalized, or the cell at a point such as 0.5 or 0.5,1
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true, help_heading = "Many states")]
    pub(crate) surface_reference: Option<String>,
    /// Also the mean energies −log f and the entropies of all states, relative to the reference
    #[arg(long, help_heading = "Many states")]
    pub(crate) energies: bool,
    /// Also the estimates from the first and the last 1/N, 2/N, … of the draws of every chain
    #[arg(long, value_name = "N", help_heading = "Many states")]
    pub(crate) convergence: Option<usize>,
    /// Also where every chain has come to equilibrium, and what its draws are worth from there on
    #[arg(long, help_heading = "Many states")]
    pub(crate) equilibration: bool,
}

/// A path of bridges.
#[derive(Args, Debug)]
pub(crate) struct PathArguments {
    /// Find log Z of --model by bridges from --noise (default: fitted to chains of the model) that are sampled here; --draws
    /// is for every state (default 2000)
    #[arg(long, help_heading = "A path")]
    pub(crate) path: bool,
    /// Number of states, both ends included (default: as many as the distance needs)
    #[arg(long, value_name = "N", help_heading = "A path")]
    pub(crate) path_states: Option<usize>,
    /// Chains of every state (default 4)
    #[arg(long, value_name = "N", help_heading = "A path")]
    pub(crate) chains: Option<usize>,
    /// Steps of each chain before its draws are kept (default 200)
    #[arg(long, value_name = "N", help_heading = "A path")]
    pub(crate) warm_up: Option<usize>,
    /// Steps per draw, at least (default 1; up to four times as many where the warm-up is slow)
    #[arg(long, value_name = "N", help_heading = "A path")]
    pub(crate) thin: Option<usize>,
    /// Moves of the chains: auto (default), random-walk, hamiltonian or single-site
    #[arg(long, value_name = "MOVES", help_heading = "A path")]
    pub(crate) moves: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct LogzArguments {
    /// Draws of the unnormalized density: a file with both log-densities at each, or with points if --model is given
    #[arg(value_name = "DATA", required_unless_present = "path")]
    pub(crate) data: Option<PathBuf>,
    /// Draws of the noise, likewise; with --model and --noise they are drawn here if this is left out
    #[arg(
        value_name = "NOISE",
        required_unless_present_all = ["model", "noise"],
        required_unless_present_any = ["states", "path"]
    )]
    pub(crate) noise_draws: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) many: StatesArguments,
    #[command(flatten)]
    pub(crate) bridges: PathArguments,
    /// Column with the log of the unnormalized density, −inf where it is zero (default: log_f)
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) log_f: Option<String>,
    /// Column with the log of the noise density, −inf where it is zero (default: log_noise)
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) log_noise: Option<String>,
    /// Column of DATA that tells the Markov chain of each draw, by labels of any kind
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) chain: Option<String>,
    /// Column of NOISE that tells the Markov chain of each draw, likewise
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) noise_chain: Option<String>,
    /// Format of the files: csv, parquet, npy, npz or stan-csv (default: told from each file)
    #[arg(long, value_name = "FORMAT", help_heading = "Columns")]
    pub(crate) format: Option<String>,
    /// The model file whose log-density is computed at the points of both files
    #[arg(long, value_name = "MODEL", help_heading = "Points instead of log-densities")]
    pub(crate) model: Option<PathBuf>,
    /// Parameter values of the model, such as a=1,b=0.1
    #[arg(
        long,
        value_name = "NAME=VALUE,…",
        allow_hyphen_values = true,
        help_heading = "Points instead of log-densities"
    )]
    pub(crate) at: Option<String>,
    #[arg(long, help = NOISE_HELP, value_name = "NOISE", allow_hyphen_values = true, help_heading = "Points instead of log-densities")]
    pub(crate) noise: Option<String>,
    /// Noise draws to make where none are given (default: as many as data draws)
    #[arg(long, value_name = "N", help_heading = "Points instead of log-densities")]
    pub(crate) draws: Option<usize>,
    /// Every draw is independent of the others (default: the files' order is that of Markov chains)
    #[arg(long, help_heading = "Errors")]
    pub(crate) independent: bool,
    /// Balance the bridge by effective sample sizes instead of numbers of draws
    #[arg(long, help_heading = "Errors")]
    pub(crate) weight_by_ess: bool,
    /// Resamples of a block bootstrap, as a second opinion on the errors
    #[arg(long, value_name = "N", help_heading = "Errors")]
    pub(crate) bootstrap: Option<usize>,
    /// Probability that the intervals are to cover log Z (default: 0.95)
    #[arg(long, value_name = "P", allow_hyphen_values = true, help_heading = "Errors")]
    pub(crate) confidence: Option<f64>,
    /// Also the bridge with this log α, a formula in log_f and log_noise such as "-(log_f + log_noise)/2"
    #[arg(long, value_name = "FORMULA", allow_hyphen_values = true, help_heading = "Estimators")]
    pub(crate) alpha: Option<String>,
    /// Also the member of the power family with this exponent: 0 is `is`, 0.5 `is-revis`, 1 `revis`; may be repeated
    #[arg(long, value_name = "A", allow_hyphen_values = true, help_heading = "Estimators")]
    pub(crate) power: Vec<f64>,
    /// The noise is known only up to a constant, too: what is estimated is the log of the ratio of the two constants
    #[arg(long, help_heading = "Estimators")]
    pub(crate) ratio: bool,
    /// Price of a data draw, 0 if no more can be had: how a budget is best divided
    #[arg(long, value_name = "P", allow_hyphen_values = true, help_heading = "Budget")]
    pub(crate) price_data: Option<f64>,
    /// Price of a noise draw
    #[arg(long, value_name = "P", allow_hyphen_values = true, help_heading = "Budget")]
    pub(crate) price_noise: Option<f64>,
    /// What may be spent (default: what these draws cost)
    #[arg(long, value_name = "B", allow_hyphen_values = true, help_heading = "Budget")]
    pub(crate) budget: Option<f64>,
}

#[derive(Args, Debug)]
pub(crate) struct SampleArguments {
    /// Number of draws
    #[arg(value_name = "N")]
    pub(crate) count: usize,
    /// The noise, in words: normal(0, 1), student(5, 0, 2), 0.7*normal(0,1) + 0.3*laplace(0,1); with --data also
    /// normal, kde, auto; with --model also data, model(a=2), all-noise, optimal
    #[arg(
        long,
        value_name = "NOISE",
        conflicts_with = "design",
        required_unless_present = "design",
        allow_hyphen_values = true
    )]
    pub(crate) noise: Option<String>,
    /// A designed noise saved by `design --out`, instead of --noise
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["model", "at", "nu", "data"])]
    pub(crate) design: Option<PathBuf>,
    /// The model file, for its variables and domains and for noises that come from a model (default: one real variable x)
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Parameter values of the model, such as a=1,b=0.1 (default: its start values)
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true, requires = "model")]
    pub(crate) at: Option<String>,
    /// Noise points per data point that the noises optimal and histogram are to be best for (default: 1)
    #[arg(long, value_name = "R", allow_hyphen_values = true, requires = "model")]
    pub(crate) nu: Option<f64>,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// How to draw: random (independently) or quiet (scrambled Sobol points, as even as can be; best in powers of two).
    /// --quiet alone draws quietly too where the noise allows, and at random with a warning where it does not
    #[arg(long, value_name = "HOW", value_parser = ["random", "quiet"])]
    pub(crate) draws: Option<String>,
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
    /// About how often the density may be evaluated, at draws and noise draws together (default: at all); the noise is still fitted
    /// to all draws
    #[arg(long, value_name = "N")]
    pub(crate) evaluations: Option<usize>,
    /// Average the density with its mirror image in the noise's centre, which takes out skewness (Warp-III)
    #[arg(long)]
    pub(crate) symmetrize: bool,
    /// The draws are independent, not a Markov chain
    #[arg(long)]
    pub(crate) independent: bool,
    /// Column that says which chain a row belongs to, by labels of any kind
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(crate) chain: Option<String>,
    /// Probability that the interval is to cover the truth
    #[arg(long, default_value_t = 0.95, value_name = "P", allow_hyphen_values = true)]
    pub(crate) confidence: f64,
    /// Resamples of a block bootstrap, as a second opinion on the errors
    #[arg(long, value_name = "N")]
    pub(crate) bootstrap: Option<usize>,
    /// Format of the draws: csv, parquet, npy, npz or stan-csv (default: told from the file)
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub(crate) format: Option<String>,
    /// Drop rows with a missing value instead of refusing them
    #[arg(long, help_heading = "Data")]
    pub(crate) drop_missing: bool,
}

#[cfg(feature = "reproduce")]
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

#[cfg(feature = "lab")]
#[derive(Args, Debug)]
pub(crate) struct LabArguments {
    /// The model file (TOML) that the page begins with (default: an example)
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// The data file that "Fit this" fits it to; another can be dropped on the page
    #[arg(value_name = "DATA")]
    pub(crate) data: Option<PathBuf>,
    /// The port of 127.0.0.1 (default: a free one)
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Running")]
    pub(crate) port: u16,
    /// Do not open a browser: the address is printed in any case
    #[arg(long, help_heading = "Running")]
    pub(crate) no_open: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ExamplesArguments {
    /// The example to run (default: list them)
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Copy the files of the example, or of all, into this folder instead of running it
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

impl Global {
    /// Refuses what a command without a result to show cannot do.
    pub(crate) fn refuse_page(&self, command: &str) -> Outcome<()> {
        match &self.report {
            Some(_) => {
                Err(Failure::Usage(format!("`noisewright {command}` writes no page: leave out --report")))
            }
            None => Ok(()),
        }
    }

    /// The same, where there are no numbers either.
    pub(crate) fn refuse_output(&self, command: &str) -> Outcome<()> {
        self.refuse_page(command)?;
        if self.json {
            return Err(Failure::Usage(format!("`noisewright {command}` prints no JSON: leave out --json")));
        }
        Ok(())
    }
}

/// The command line, where a negative number is a value and not an unknown option.
pub(crate) fn command() -> clap::Command {
    let negative = |argument: clap::Arg| {
        let takes_value = argument.get_action().takes_values();
        argument.allow_negative_numbers(takes_value)
    };
    let design = |command: clap::Command| {
        command
            .mut_arg("at", |argument| argument.help(DESIGN_AT_HELP))
            .mut_arg("data", |argument| argument.help(DESIGN_DATA_HELP))
    };
    Arguments::command()
        .mut_args(negative)
        .mut_subcommands(|command| command.mut_args(negative))
        .mut_subcommand("design", design)
}

/// The arguments of this process.
pub(crate) fn parse() -> Outcome<Arguments> {
    parse_words(&std::env::args_os().collect::<Vec<_>>())
}

/// The arguments that words say, the command's own name first.
pub(crate) fn parse_words(words: &[OsString]) -> Outcome<Arguments> {
    let mut command = command();
    let refused = |error| usage::failure(error, words);
    let mut matches = command.try_get_matches_from_mut(words).map_err(refused)?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| refused(error.format(&mut command)))
}
