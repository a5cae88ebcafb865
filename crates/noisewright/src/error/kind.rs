//! Which kind of trouble an error is, and the name under which programs find it.

use super::Error;

/// What kind of trouble an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something that was given cannot be used; [`Error::subject`] says what.
    Input,
    /// All that was given is sound, but there is no answer.
    NoAnswer,
    /// Stopped by the caller.
    Cancelled,
    /// Code of the caller's own failed; [`source`](std::error::Error::source) is what it said.
    External,
    /// A fault of this library.
    Internal,
}

/// What of the input cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorSubject {
    /// An option, a name, a number that was asked for.
    Argument,
    /// Rows, weights, draws, log-densities.
    Data,
    /// The model as it was written.
    Model,
    /// Values of the model's or a noise's parameters.
    Parameters,
}

use ErrorSubject::{Argument, Data, Model, Parameters};

/// The kinds with the subject of an input beside it.
const NO_ANSWER: (ErrorKind, Option<ErrorSubject>) = (ErrorKind::NoAnswer, None);
const fn input(subject: ErrorSubject) -> (ErrorKind, Option<ErrorSubject>) {
    (ErrorKind::Input, Some(subject))
}

/// One line for each variant: its code and its kind.
macro_rules! table {
    ($($variant:ident: $code:literal, $kind:expr;)*) => {
        impl Error {
            /// The code of the variant itself.
            fn variant_code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)*
                }
            }

            fn variant_kind(&self) -> (ErrorKind, Option<ErrorSubject>) {
                match self {
                    $(Self::$variant { .. } => $kind,)*
                }
            }

            /// The codes of all variants.
            #[cfg(test)]
            pub(super) const VARIANT_CODES: &[&str] = &[$($code),*];
        }
    };
}

table! {
    Shape: "shape", input(Data);
    NoVariables: "no-variables", input(Model);
    DuplicateName: "duplicate-name", input(Model);
    Domain: "domain", input(Model);
    Parameter: "parameter", input(Parameters);
    Noise: "noise", input(Argument);
    NoiseNeedsData: "noise-needs-data", input(Argument);
    Fit: "noise-not-fitted", NO_ANSWER;
    UnknownLoss: "unknown-loss", input(Argument);
    NotIntegrable: "not-integrable", NO_ANSWER;
    NotNormalized: "not-normalized", input(Model);
    NoMass: "no-mass", NO_ANSWER;
    NoDensity: "no-density", NO_ANSWER;
    DataWithoutDensity: "data-without-density", NO_ANSWER;
    DrawOutside: "draw-outside", NO_ANSWER;
    TooHardToSample: "too-hard-to-sample", NO_ANSWER;
    InfiniteInformation: "infinite-information", NO_ANSWER;
    NoiseRatio: "noise-ratio", input(Argument);
    NoOverlap: "no-overlap", NO_ANSWER;
    HardlyAnyOverlap: "hardly-any-overlap", NO_ANSWER;
    Collinear: "collinear", NO_ANSWER;
    Design: "design", NO_ANSWER;
    TooFewPoints: "too-few-points", NO_ANSWER;
    TotalWeight: "total-weight", input(Data);
    Target: "target", input(Argument);
    TooManyNodes: "too-many-nodes", NO_ANSWER;
    RowLength: "row-length", input(Data);
    UnknownColumn: "unknown-column", input(Data);
    Score: "score", input(Model);
    NotLinear: "not-linear", input(Model);
    NoData: "no-data", input(Data);
    Weight: "weight", input(Data);
    OutsideDomain: "outside-domain", input(Data);
    NotUnit: "not-unit", input(Data);
    ConstantColumn: "constant-column", NO_ANSWER;
    NoiseMissesData: "noise-misses-data", NO_ANSWER;
    NoiseMissesItself: "noise-misses-itself", NO_ANSWER;
    InfiniteFeature: "infinite-feature", NO_ANSWER;
    CollinearFeatures: "collinear-features", NO_ANSWER;
    NoMinimum: "no-minimum", NO_ANSWER;
    Option: "option", input(Argument);
    OutOfMemory: "out-of-memory", NO_ANSWER;
    Cancelled: "cancelled", (ErrorKind::Cancelled, None);
    External: "external", (ErrorKind::External, None);
    Internal: "internal", (ErrorKind::Internal, None);
    UnknownParameter: "unknown-parameter", input(Argument);
    UnknownFamily: "unknown-family", input(Model);
    Formula: "formula", input(Model);
    MissingValue: "missing-value", input(Model);
    ModelSyntax: "model-syntax", input(Model);
    NotANumber: "not-a-number", NO_ANSWER;
    Chain: "chain", NO_ANSWER;
    NoStates: "no-states", input(Data);
    NoStateDraws: "no-state-draws", input(Data);
    StateValue: "state-value", input(Data);
    StateOwnDraw: "state-own-draw", input(Data);
    NoDraws: "no-draws", input(Data);
    LogDensity: "log-density", input(Data);
    ChainLengths: "chain-lengths", input(Data);
    Choices: "choice-sets", NO_ANSWER;
    BridgeApart: "bridge-apart", NO_ANSWER;
    SavedFit: "saved-fit", input(Data);
    Incomparable: "incomparable-fits", input(Data);
    ModelField: "model-field", input(Model);
}

impl Error {
    /// What kind of trouble it is.
    ///
    /// ```
    /// use noisewright::{ErrorKind, Loss};
    /// let error = "jensen".parse::<Loss>().unwrap_err();
    /// assert_eq!((error.kind(), error.code()), (ErrorKind::Input, "unknown-loss"));
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.class().0
    }

    /// What of the input cannot be used; `None` where the input is not to blame.
    #[must_use]
    pub fn subject(&self) -> Option<ErrorSubject> {
        self.class().1
    }

    /// The name under which programs find it: stable, in lower case with hyphens.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Option { fault, .. } => fault.code(),
            Self::Chain(fault) => fault.code(),
            Self::Design(fault) => fault.code(),
            other => other.variant_code(),
        }
    }

    fn class(&self) -> (ErrorKind, Option<ErrorSubject>) {
        match self {
            Self::Chain(fault) if fault.is_input() => input(Argument),
            other => other.variant_kind(),
        }
    }
}
