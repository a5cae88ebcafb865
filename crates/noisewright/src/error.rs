//! What cannot be attempted, as data. Not converging is a report, not an error.

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
    #[error("{parameter} = {} is not allowed: {reason}", shown(*value))]
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
    /// A model that cannot be built.
    #[error("model: {reason}")]
    Model {
        /// What is wrong.
        reason: String,
    },
    /// A loss that does not exist.
    #[error(
        "unknown loss `{name}`: the losses are js, kl, reverse-kl, hellinger, pearson and power:A with a number A"
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
        shown(*value)
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
    #[error("the noise ratio ν must be a positive number, not {}", shown(*value))]
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
    #[error(
        "{} cannot be told apart: only a combination of them can be estimated; hold one of them fixed, or leave it out",
        crate::error::list(parameters)
    )]
    Collinear {
        /// The parameters involved.
        parameters: Vec<String>,
    },
    /// A design that cannot be made or read.
    #[error("design: {reason}")]
    Design {
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A price that is not one.
    #[error("the price of a {name} point must be a positive number, not {}", shown(*value))]
    Price {
        /// Of what.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// An efficiency that cannot be.
    #[error("the efficiency must lie between 0 and 1, not {}", shown(*value))]
    Efficiency {
        /// The value given.
        value: f64,
    },
    /// Too few points for the parameters.
    #[error("{} too few for {coordinates} unknowns: give at least {}", points_are(*rows), 2 * coordinates)]
    TooFewPoints {
        /// Number of points.
        rows: usize,
        /// Number of unknowns.
        coordinates: usize,
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
    /// A model of the caller's own failed to evaluate.
    #[error("the model's own function failed: {reason}")]
    Energy {
        /// What it said.
        reason: String,
    },
    /// No rows at all, or none that counts.
    #[error("there are no data: give at least one row with a positive weight")]
    NoData,
    /// A weight that cannot be.
    #[error("row {row} has the weight {}: weights must be zero or positive numbers", shown(*value))]
    Weight {
        /// Number of the row, from 1.
        row: usize,
        /// The weight given.
        value: f64,
    },
    /// A value outside the domain of its variable.
    #[error("row {row} of column `{column}` is {}, which is not {domain}", shown(*value))]
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
    /// A data point that the noise gives no density.
    #[error(
        "the noise has no density at row {row} of the data: choose a noise whose support covers all of them"
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
        shown(*value)
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
        crate::error::combination(terms)
    )]
    CollinearFeatures {
        /// Factors and features of the combination.
        terms: Vec<(f64, String)>,
    },
    /// A loss that is flat where the descent ended.
    #[error(
        "the loss has no minimum that determines {}: try the js loss, a noise nearer to the data, or more rows",
        crate::error::list(parameters)
    )]
    NoMinimum {
        /// The parameters along which it is flat.
        parameters: Vec<String>,
    },
    /// An option that cannot be as it is.
    #[error("`{option}` {reason}")]
    Option {
        /// The option.
        option: String,
        /// What is wrong with it, as a sentence of which it is the subject.
        reason: String,
    },
    /// Rows that broke off while they were read.
    #[error("the rows cannot be read: {reason}")]
    Rows {
        /// What the source said.
        reason: String,
    },
    /// Stopped by the caller.
    #[error("the fit was cancelled")]
    Cancelled,
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
    #[error("parameter `{parameter}` has no value: add `{parameter} = …` under [parameters]")]
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
    /// A log-density that is not a number.
    #[error("the log-density is not a number at {point}")]
    NotANumber {
        /// The values of the variables and parameters.
        point: String,
    },
    /// Chains that cannot be run, or a path that cannot be gone.
    #[error("{reason}")]
    Chain {
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// Log-densities of no state at all.
    #[error("there is no state: give the log-densities of at least one")]
    NoStates,
    /// States without any draws.
    #[error("there is not a single draw: give draws of at least one state")]
    NoStateDraws,
    /// A log-density under a state that is not one.
    #[error(
        "the log-density of draw {row} under state {state} is {}: it must be a number, or −∞ where the density is zero",
        shown(*value)
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
    #[error("row {row} of the {side} draws: {column} is {}; {reason}", crate::error::number(*value))]
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
    /// An option that cannot be.
    #[error("{name} must be {expected}, not {}", shown(*value))]
    Setting {
        /// The option.
        name: &'static str,
        /// What it may be.
        expected: &'static str,
        /// The value given.
        value: f64,
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

impl Error {
    /// What is wrong with a field of a model, the field being the subject of the sentence.
    pub(crate) fn field(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::ModelField { field: one_line(&field.into()), reason: one_line(&reason.into()) }
    }

    /// The message and, for a mistake in a formula, below it the formula with a caret under the place.
    #[must_use]
    pub fn render(&self) -> String {
        match self {
            Self::Formula { field, text, source } => format!("`{field}`: {}", source.render(text)),
            Self::MissingValue { text, column, .. } if !text.contains('\n') => {
                format!("{self}\n  {text}\n  {}^", " ".repeat(column.saturating_sub(1)))
            }
            _ => self.to_string(),
        }
    }
}

/// The text with control characters, which a quoted name in a file may contain, written out.
fn one_line(text: &str) -> String {
    let visible = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(visible).collect()
}

/// A number for a message, infinity as its sign.
pub(crate) fn number(x: f64) -> String {
    if x == f64::INFINITY {
        "∞".into()
    } else if x == f64::NEG_INFINITY {
        "−∞".into()
    } else {
        x.to_string()
    }
}

/// A combination of features for a message: `x + 2*y is`.
pub(crate) fn combination(terms: &[(f64, String)]) -> String {
    let mut text = String::new();
    for (i, (factor, name)) in terms.iter().enumerate() {
        let sign = match (i, *factor < 0.0) {
            (0, false) => "",
            (0, true) => "−",
            (_, false) => " + ",
            (_, true) => " − ",
        };
        let size = factor.abs();
        text += sign;
        text += &if (size - 1.0).abs() < 1e-6 { format!("`{name}`") } else { format!("{size:.4}·`{name}`") };
    }
    text + " is"
}

/// Names for a message: `a`, `b` and `c`.
pub(crate) fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// A number in a sentence, without hundreds of digits where it is huge.
fn shown(x: f64) -> String {
    if x.abs() >= 1e16 && x.is_finite() { format!("{x:e}") } else { x.to_string() }
}

/// `1 point is`, `2 points are`.
fn points_are(count: usize) -> String {
    if count == 1 { "1 point is".into() } else { format!("{count} points are") }
}
