//! What cannot be attempted, as data. Not converging is a report, not an error.

mod construct;
mod fault;
mod kind;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;
use std::fmt;

pub use fault::{ChainFault, DesignFault, ExternalError, OptionFault, Quantity};
pub use kind::{ErrorKind, ErrorSubject};

use self::words::{apart, points_are, untold};
use crate::text::{combination, digits, list, number, size};

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong, and what would be right.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two things that belong together have different sizes.
    #[error("expected {expected} {what}, found {found}")]
    Shape {
        /// What is counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A model without variables.
    #[error("a model needs at least one variable")]
    NoVariables,
    /// A name used twice.
    #[error("the name `{name}` is used twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A domain that cannot be.
    #[error("the domain of `{variable}` is wrong: {reason}")]
    Domain {
        /// The variable.
        variable: String,
        /// What is wrong with its domain.
        reason: String,
    },
    /// A parameter value that the model cannot take.
    #[error("{parameter} = {} is not allowed: {reason}", number(*value))]
    Parameter {
        /// The parameter.
        parameter: String,
        /// The value given.
        value: f64,
        /// What it must be.
        reason: String,
    },
    /// A noise that cannot be built or used here.
    #[error("noise `{noise}`: {reason}")]
    Noise {
        /// The noise as it was written.
        noise: String,
        /// What is wrong.
        reason: String,
    },
    /// Data that a noise cannot be fitted to.
    #[error("noise `{noise}`: {reason}")]
    Fit {
        /// The noise that was to be fitted.
        noise: String,
        /// What is wrong with the data.
        reason: String,
    },
    /// A loss that does not exist.
    #[error(
        "unknown loss `{name}`: the losses are js, kl, reverse-kl, hellinger, pearson, brier and power:A with a number A"
    )]
    UnknownLoss {
        /// The name as given.
        name: String,
    },
    /// A model whose density does not integrate.
    #[error(
        "the model does not integrate on its domain: its density does not fall fast enough towards {towards}{}",
        variable.as_ref().map(|v| format!(" in `{v}`")).unwrap_or_default()
    )]
    NotIntegrable {
        /// The variable, where it can be told.
        variable: Option<String>,
        /// The end of its domain.
        towards: String,
    },
    /// A formula that claims to be normalized and is not.
    #[error(
        "the model says it is normalized, but its density integrates to {:.6} at these parameters, not to 1: \
         leave `normalized` out to have the constant estimated", log_z.exp()
    )]
    NotNormalized {
        /// Logarithm of its integral.
        log_z: f64,
    },
    /// A density that is zero on all of its domain.
    #[error("the model's density is zero everywhere that was looked at: check the domain and the parameters")]
    NoMass,
    /// A data point that the model gives no density.
    #[error("row {row} has no density under the model at these parameters")]
    NoDensity {
        /// Number of the row, from 1.
        row: usize,
    },
    /// A data point at which no parameters give the model a finite density other than zero.
    #[error(
        "row {row} of the data, {point}, has no density under the model, or an infinite one: leave the row out, or change the \
         model or its domain"
    )]
    DataWithoutDensity {
        /// Number of the row, from 1.
        row: usize,
        /// Its values, by name.
        point: String,
    },
    /// A draw that is not inside the domain of a variable.
    #[error(
        "row {row} of the draws has `{variable}` = {}, which is not inside its domain; draws of a density do not \
         fall on an end of it, so if rounding put it there, write the draws with more digits",
        number(*value)
    )]
    DrawOutside {
        /// Number of the row, from 1.
        row: usize,
        /// The variable.
        variable: String,
        /// Its value.
        value: f64,
    },
    /// A density that draws do not find or follow well enough to say anything.
    #[error(
        "the model's density is too hard to sample: of {draws} draws only {effective:.0} are worth something; \
         ask for more draws, or give a sample of data instead"
    )]
    TooHardToSample {
        /// Independent draws from the density itself that would be worth as much.
        effective: f64,
        /// Draws made.
        draws: usize,
    },
    /// Scores without second moments.
    #[error(
        "the information matrix is infinite: the score of some parameter has no variance under the model"
    )]
    InfiniteInformation,
    /// A ratio of noise to data that cannot be.
    #[error("the noise ratio ν must be a positive number, not {}", number(*value))]
    NoiseRatio {
        /// The value given.
        value: f64,
    },
    /// A noise that has no density where the data are.
    #[error(
        "the noise has no density where the data are: choose a noise whose support covers the model's domain"
    )]
    NoOverlap,
    /// A noise so far from the data that the error is beyond all numbers.
    #[error(
        "data and noise hardly overlap: the error is larger than any number; choose a noise nearer to the data"
    )]
    HardlyAnyOverlap,
    /// Parameters that the data cannot tell apart.
    #[error("{}", untold(parameters))]
    Collinear {
        /// The parameters involved.
        parameters: Vec<String>,
    },
    /// A design that cannot be made or read.
    #[error("design: {0}")]
    Design(DesignFault),
    /// Too few points for the parameters.
    #[error("{} too few for {coordinates} unknowns: give at least {}", points_are(*rows), 2 * coordinates)]
    TooFewPoints {
        /// Number of points.
        rows: usize,
        /// Number of unknowns.
        coordinates: usize,
    },
    /// Weights that cannot be counts of observations.
    #[error(
        "the weights sum to {}, but a row counts as often as its weight says: they must sum to at least {least}, the number \
         of unknowns, and at most 2⁵³; multiply them by a factor, so that they sum to the number of observations",
        digits(*total)
    )]
    TotalWeight {
        /// Their sum.
        total: f64,
        /// Number of unknowns.
        least: usize,
    },
    /// A target matrix that is not one.
    #[error("the target matrix must be symmetric and positive semi-definite")]
    Target,
    /// A model whose integrals take more points than allowed.
    #[error(
        "the integrals of this model take {nodes} points, and {most} are allowed: ask for less accuracy, or give a \
         sample of data instead"
    )]
    TooManyNodes {
        /// Points it would take.
        nodes: usize,
        /// Points allowed.
        most: usize,
    },
    /// A row with more or fewer values than there are columns.
    #[error("row {row} has {found} values, where every row must have {expected}")]
    RowLength {
        /// Number of the row, from 1.
        row: usize,
        /// Number of columns.
        expected: usize,
        /// Number of values in the row.
        found: usize,
    },
    /// A variable of the model that the data do not have.
    #[error("the data have no column `{name}`; {advice}", advice = crate::names::advice(nearest.as_deref(), "their columns are", known))]
    UnknownColumn {
        /// The variable.
        name: String,
        /// The nearest column, if one is near.
        nearest: Option<String>,
        /// All columns.
        known: Vec<String>,
    },
    /// A score that is not the derivative of the log-density.
    #[error(
        "the score of `{parameter}` is {given} at {point}, where differences of the log-density give {differences}: it must \
         be the derivative in `{parameter}`, and that of parameter j at point i belongs in score[j * rows + i]"
    )]
    Score {
        /// The parameter.
        parameter: String,
        /// The values of the variables and parameters.
        point: String,
        /// What the model gives.
        given: f64,
        /// What central differences give.
        differences: f64,
    },
    /// A model that says that it is linear in its parameters, and is not.
    #[error(
        "the model says that it is linear in its parameters, but its score of `{parameter}` changes with them at {point}: \
         `is_linear` must give false"
    )]
    NotLinear {
        /// The parameter whose score changes.
        parameter: String,
        /// The values of the variables and parameters.
        point: String,
    },
    /// No rows at all, or none that counts.
    #[error("there are no data: give at least one row with a positive weight")]
    NoData,
    /// A weight that cannot be.
    #[error("row {row} has the weight {}: weights must be zero or positive numbers", number(*value))]
    Weight {
        /// Number of the row, from 1.
        row: usize,
        /// The weight given.
        value: f64,
    },
    /// A value outside the domain of its variable.
    #[error("row {row} of column `{column}` is {}, which is not {domain}", number(*value))]
    OutsideDomain {
        /// Number of the row, from 1.
        row: usize,
        /// The variable.
        column: String,
        /// The value found.
        value: f64,
        /// What it must be.
        domain: String,
    },
    /// A unit vector whose length is not one.
    #[error("row {row} is no direction: its length must be 1, not {}", number(*length))]
    NotUnit {
        /// Number of the row, from 1.
        row: usize,
        /// Its length.
        length: f64,
    },
    /// A variable that has one and the same value in all rows.
    #[error(
        "column `{column}`: every value is {}, and a variable that never varies cannot be fitted; leave it out of the model",
        number(*value)
    )]
    ConstantColumn {
        /// The variable.
        column: String,
        /// Its only value.
        value: f64,
    },
    /// A data point that the noise gives no density.
    #[error(
        "the noise has no density at row {row} of the data: choose a noise whose support covers all of them, or a mixture of this \
         one with such a noise (0.9*NOISE + 0.1*auto)"
    )]
    NoiseMissesData {
        /// Number of the row, from 1.
        row: usize,
    },
    /// A noise point whose own log-density is not finite.
    #[error("the log-density of noise row {row} is not a finite number: it must be known where the noise is")]
    NoiseMissesItself {
        /// Number of the row, from 1.
        row: usize,
    },
    /// A feature that is infinite at some point.
    #[error(
        "the feature of `{feature}` is not finite where {variable} = {}: restrict the domain or change it",
        number(*value)
    )]
    InfiniteFeature {
        /// The parameter of the feature.
        feature: String,
        /// The first variable.
        variable: String,
        /// Its value there.
        value: f64,
    },
    /// Features of which a combination does not vary.
    #[error(
        "{} the same at every point that was looked at: leave one of these features out",
        combination(terms)
    )]
    CollinearFeatures {
        /// Factors and features of the combination.
        terms: Vec<(f64, String)>,
    },
    /// A loss that is flat where the descent ended.
    #[error(
        "the loss has no minimum that determines {}: try the js loss, a noise nearer to the data, or more rows",
        list(parameters)
    )]
    NoMinimum {
        /// The parameters along which it is flat.
        parameters: Vec<String>,
    },
    /// An option that cannot be as it is.
    #[error("`{option}` {fault}")]
    Option {
        /// The option, by its name in the library.
        option: Cow<'static, str>,
        /// What is wrong with it.
        fault: OptionFault,
    },
    /// More than the memory that one computation may take.
    #[error(
        "{count} {} take {} of memory, and {} can be had: ask for fewer, or give the process more memory",
        what.replace('_', " "),
        size(*needed),
        size(*free)
    )]
    OutOfMemory {
        /// What there would be so many of.
        what: String,
        /// How many.
        count: usize,
        /// Bytes that they take.
        needed: u64,
        /// Bytes that can be had: a share of those that are free.
        free: u64,
    },
    /// Stopped by the caller.
    #[error("it was cancelled")]
    Cancelled,
    /// Code of the caller's own failed: a model, a density, a source of rows. What it said is the
    /// [`source`](std::error::Error::source); see [`Error::external`].
    #[error("the caller's own code failed: {source}")]
    External {
        /// The caller's error.
        source: ExternalError,
    },
    /// Something that can never be has happened: a fault of this library, never of what it was given.
    #[error("noisewright broke down ({what}); please report it")]
    Internal {
        /// Which invariant is broken.
        what: Cow<'static, str>,
    },
    /// A noise that is fitted to data, without data.
    #[error("noise `{noise}`: it is fitted to data, and there are none")]
    NoiseNeedsData {
        /// The noise as it was written.
        noise: String,
    },
    /// A name that is no parameter of the model.
    #[error("`{name}` is not a parameter of the model; {advice}", advice = crate::names::advice(nearest.as_deref(), "its parameters are", known))]
    UnknownParameter {
        /// The name as given.
        name: String,
        /// The nearest parameter, if one is near.
        nearest: Option<String>,
        /// All parameters.
        known: Vec<String>,
    },
    /// A name that is no built-in family.
    #[error("`{name}` is not a family; {advice}", advice = crate::names::advice(nearest.as_deref(), "the families are", known))]
    UnknownFamily {
        /// The name as given.
        name: String,
        /// The nearest family, if one is near.
        nearest: Option<String>,
        /// All families.
        known: Vec<String>,
    },
    /// A formula that cannot be read.
    #[error("`{field}`: {source}")]
    Formula {
        /// The field of the model it stands in.
        field: String,
        /// The formula as written.
        text: String,
        /// What is wrong with it, and where.
        source: Box<noisewright_formula::FormulaError>,
    },
    /// A name in a formula to which no value is given.
    #[error("parameter `{parameter}` has no value: give it one in `parameters`")]
    MissingValue {
        /// The parameter.
        parameter: String,
        /// The formula that uses it.
        text: String,
        /// Where, in characters from 1.
        column: usize,
    },
    /// A model file that is not TOML.
    #[error("line {line}, column {column} of the model file is not TOML: {reason}")]
    ModelSyntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What the parser says.
        reason: String,
    },
    /// Something that the caller's model, noise or loss gave is not a number, or not finite where it must be.
    #[error("{of} at {point}")]
    NotANumber {
        /// What is not a number.
        of: Quantity,
        /// Where: the values of the variables and parameters, or the row.
        point: String,
    },
    /// Chains that cannot be run, or a path that cannot be gone.
    #[error("{0}")]
    Chain(ChainFault),
    /// Log-densities of no state at all.
    #[error("there is no state: give the log-densities of at least one")]
    NoStates,
    /// States without any draws.
    #[error("there is not a single draw: give draws of at least one state")]
    NoStateDraws,
    /// A log-density under a state that is not one.
    #[error(
        "the log-density of draw {row} under state {state} is {}: it must be a number, or −∞ where the density is zero",
        number(*value)
    )]
    StateValue {
        /// The state, from 1.
        state: usize,
        /// The draw, from 1.
        row: usize,
        /// The value given.
        value: f64,
    },
    /// A draw that its own state could not have given.
    #[error(
        "draw {row} is said to come from state {state}, which has density zero there: check which state it comes from"
    )]
    StateOwnDraw {
        /// The state, from 1.
        state: usize,
        /// The draw, from 1.
        row: usize,
    },
    /// One of the two samples is empty.
    #[error("there are no {side} draws: log Z needs at least one draw on each side")]
    NoDraws {
        /// Which side, as a word.
        side: &'static str,
    },
    /// A log-density of a draw that cannot be.
    #[error("row {row} of the {side} draws: {column} is {}; {reason}", number(*value))]
    LogDensity {
        /// Which side, as a word.
        side: &'static str,
        /// Which of the two log-densities.
        column: &'static str,
        /// Number of the draw, from 1.
        row: usize,
        /// The value found.
        value: f64,
        /// What it must be.
        reason: &'static str,
    },
    /// Chains whose lengths do not make up the draws.
    #[error("the {side} chains hold {found} draws together, but there are {expected}")]
    ChainLengths {
        /// Which side, as a word.
        side: &'static str,
        /// Number of draws.
        expected: usize,
        /// Sum of the lengths given.
        found: usize,
    },
    /// A saved fit that cannot be read or used.
    #[error("this is no saved fit that can be used: {reason}")]
    SavedFit {
        /// Why.
        reason: Cow<'static, str>,
    },
    /// Choices that cannot be fitted.
    #[error("row {row}: {reason}")]
    Choices {
        /// A row that it is about, from 1.
        row: usize,
        /// What is wrong.
        reason: String,
    },
    /// Two samples, or the ends of a bridge between them, that have too little in common.
    #[error("{}", apart(*bridge, *bridges))]
    BridgeApart {
        /// Which bridge, from 1.
        bridge: usize,
        /// Of how many.
        bridges: usize,
    },
    /// Fits that cannot be compared.
    #[error("the fits cannot be compared: {reason}")]
    Incomparable {
        /// Why.
        reason: String,
    },
    /// A field of a model, or an option of a family, that cannot be as it is.
    #[error("`{field}` {reason}")]
    ModelField {
        /// The field.
        field: String,
        /// What is wrong with it, as a sentence of which it is the subject.
        reason: String,
    },
}

impl fmt::Debug for Error {
    /// The sentence and the code: what a program shows whose `main` returns the error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.render(), self.code())
    }
}

impl serde::Serialize for Error {
    /// The code and the sentence.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Error", 2)?;
        out.serialize_field("code", self.code())?;
        out.serialize_field("sentence", &self.to_string())?;
        out.end()
    }
}
