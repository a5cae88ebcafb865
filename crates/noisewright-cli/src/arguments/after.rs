//! What comes after a fit: `--derive` and `--test` of `fit`, and the commands that read saved fits.

use std::path::PathBuf;

use clap::Args;

/// Functions and hypotheses of a fit's parameters.
#[derive(Args, Debug, Default)]
pub(crate) struct AfterArguments {
    /// A function of the parameters and of log_normalizer, with its standard error, such as "r = b/a"; may be repeated
    #[arg(long, value_name = "NAME = FORMULA", allow_hyphen_values = true, help_heading = "After the fit")]
    pub(crate) derive: Vec<String>,
    /// Wald's test that equations hold, such as "a = b" or, of several at once, "a = b, c = 0"; may be repeated
    #[arg(long, value_name = "EQUATIONS", allow_hyphen_values = true, help_heading = "After the fit")]
    pub(crate) test: Vec<String>,
}

/// Rows that are alternatives of choices.
#[derive(Args, Debug, Default)]
pub(crate) struct ChoiceArguments {
    /// Column of numbers: rows with the same one are the alternatives of one choice (conditional logit, no noise)
    #[arg(long, value_name = "COLUMN", requires = "chosen", help_heading = "Choices")]
    pub(crate) strata: Option<String>,
    /// Column that is 1 for the chosen alternatives of each stratum (one or several) and 0 for the others
    #[arg(long, value_name = "COLUMN", requires = "strata", help_heading = "Choices")]
    pub(crate) chosen: Option<String>,
    /// Column with the logarithm of the probability with which an alternative was sampled into its stratum
    #[arg(long, value_name = "COLUMN", requires = "strata", help_heading = "Choices")]
    pub(crate) log_probability: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct DensityArguments {
    /// A fit that was saved by `fit --out FILE.json`
    #[arg(value_name = "FIT")]
    pub(crate) fit: PathBuf,
    /// File of points, with the model's variables and covariates (CSV, Parquet, NPY, NPZ; `-` for standard input)
    #[arg(value_name = "POINTS")]
    pub(crate) points: PathBuf,
    /// Format of the points: csv, parquet, npy, npz or stan-csv (default: told from the file)
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub(crate) format: Option<String>,
    /// Drop rows with a missing value instead of refusing them
    #[arg(long, help_heading = "Data")]
    pub(crate) drop_missing: bool,
    /// Where to write the points with their log-density (Parquet if the name ends in .parquet or .pq, otherwise CSV; `-` or
    /// nothing: CSV to standard output)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SimulateArguments {
    /// A fit that was saved by `fit --out FILE.json`
    #[arg(value_name = "FIT")]
    pub(crate) fit: PathBuf,
    /// Number of draws; for a model with covariates, at each row of --given
    #[arg(value_name = "N")]
    pub(crate) count: usize,
    /// File with the covariates of a conditional model, by name: N draws at each of its rows
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) given: Option<PathBuf>,
    /// File of data to hold the draws against, on the page that --report writes and in the JSON
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) data: Option<PathBuf>,
    /// Where to write the draws (Parquet if the name ends in .parquet or .pq, otherwise CSV; `-` or nothing: CSV to
    /// standard output)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

impl SimulateArguments {
    /// The data to hold the draws against.
    pub(crate) fn compared(&self) -> super::DataArguments {
        super::DataArguments { data: self.data.clone(), format: None, drop_missing: false }
    }
}

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// Fits of the same rows that were saved by `fit --out FILE.json`
    #[arg(value_name = "FIT", required = true, num_args = 1..)]
    pub(crate) fits: Vec<PathBuf>,
    /// Take every model as contained in each one with more parameters, also where that cannot be found out
    #[arg(long)]
    pub(crate) nested: bool,
}
