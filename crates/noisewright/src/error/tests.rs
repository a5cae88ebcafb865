//! Every error has a code of its own, a kind, and a sentence that knows nothing of any command line.

use super::{ChainFault, DesignFault, Error, ErrorKind, OptionFault, Quantity};

fn name() -> String {
    "x".to_owned()
}

fn names() -> Vec<String> {
    vec!["a".to_owned(), "b".to_owned()]
}

/// One error of every variant but those that have faults, which are below.
fn variants() -> Vec<Error> {
    [of_models_and_designs(), of_data_and_files()].concat()
}

fn of_models_and_designs() -> Vec<Error> {
    vec![
        Error::Shape { what: "columns", expected: 1, found: 2 },
        Error::NoVariables,
        Error::DuplicateName { name: name() },
        Error::Domain { variable: name(), reason: "[1, 0] is not an interval".into() },
        Error::Parameter { parameter: name(), value: f64::INFINITY, reason: "it must be finite".into() },
        Error::Noise { noise: name(), reason: "it has no mass".into() },
        Error::NoiseNeedsData { noise: name() },
        Error::Fit { noise: name(), reason: "the data do not vary".into() },
        Error::UnknownLoss { name: name() },
        Error::NotIntegrable { variable: None, towards: "∞".into() },
        Error::NotNormalized { log_z: 1.0 },
        Error::NoMass,
        Error::NoDensity { row: 1 },
        Error::DataWithoutDensity { row: 1, point: name() },
        Error::DrawOutside { row: 1, variable: name(), value: 1e300 },
        Error::TooHardToSample { effective: 1.0, draws: 100 },
        Error::InfiniteInformation,
        Error::NoiseRatio { value: -1.0 },
        Error::NoOverlap,
        Error::HardlyAnyOverlap,
        Error::Collinear { parameters: names() },
        Error::TooFewPoints { rows: 1, coordinates: 2 },
        Error::TotalWeight { total: 1.0, least: 2 },
        Error::Target,
        Error::TooManyNodes { nodes: 2, most: 1 },
        Error::RowLength { row: 1, expected: 1, found: 2 },
        Error::UnknownColumn { name: name(), nearest: None, known: names() },
        Error::Score { parameter: name(), point: "x = 1".into(), given: 1.0, differences: 2.0 },
        Error::NotLinear { parameter: name(), point: "x = 1".into() },
        Error::NoData,
        Error::Weight { row: 1, value: -1.0 },
    ]
}

fn of_data_and_files() -> Vec<Error> {
    let formula = noisewright_formula::Symbols::new(&["exp"], &[] as &[&str]).unwrap_err();
    vec![
        Error::OutsideDomain { row: 1, column: name(), value: 2.0, domain: "positive".into() },
        Error::NoiseMissesData { row: 1 },
        Error::NoiseMissesItself { row: 1 },
        Error::InfiniteFeature { feature: name(), variable: name(), value: 0.0 },
        Error::CollinearFeatures { terms: vec![(1.0, name()), (-2.0, name())] },
        Error::NoMinimum { parameters: names() },
        Error::OutOfMemory { what: "draws".into(), count: 4, needed: 32, free: 8 },
        Error::Cancelled,
        Error::external(std::io::Error::other("the disk is gone")),
        Error::internal("a matrix is not square"),
        Error::UnknownParameter { name: name(), nearest: None, known: names() },
        Error::UnknownFamily { name: name(), nearest: Some("a".into()), known: names() },
        Error::Formula { field: "log_density".into(), text: name(), source: Box::new(formula) },
        Error::MissingValue { parameter: name(), text: name(), column: 1 },
        Error::ModelSyntax { line: 1, column: 1, reason: "expected a value".into() },
        Error::NotANumber { of: Quantity::Score, point: "x = 1".into() },
        Error::NoStates,
        Error::NoStateDraws,
        Error::StateValue { state: 1, row: 1, value: f64::NAN },
        Error::StateOwnDraw { state: 1, row: 1 },
        Error::NoDraws { side: "data" },
        Error::LogDensity {
            side: "data",
            column: "log_f",
            row: 1,
            value: f64::NAN,
            reason: "it must be finite",
        },
        Error::ChainLengths { side: "data", expected: 2, found: 1 },
        Error::NotUnit { row: 1, length: 2.0 },
        Error::ConstantColumn { column: "x".into(), value: 1.0 },
        Error::Choices { row: 1, reason: "no alternative of its stratum was chosen".into() },
        Error::BridgeApart { bridge: 1, bridges: 2 },
        Error::SavedFit { reason: "it is a design".into() },
        Error::Incomparable { reason: "the rows are others".into() },
        Error::field("normalized", "cannot be true"),
    ]
}

fn faults() -> Vec<Error> {
    let option = |fault| Error::Option { option: "draws".into(), fault };
    let mut all = vec![
        Error::range("confidence", "a number between 0 and 1", 2.0),
        option(OptionFault::TooMany { most: 1, count: 2 }),
        option(OptionFault::TooLong { most: 1, count: 2 }),
        option(OptionFault::Unknown { allowed: vec!["a", "b"], found: "c".into() }),
        Error::option("loss", "cannot be kl with the noise exact"),
    ];
    let chains = [
        ChainFault::NothingAsked,
        ChainFault::WalkNeedsContinuous,
        ChainFault::HamiltonianNeedsGradient,
        ChainFault::SingleSiteOnSphere,
        ChainFault::SingleDraws,
        ChainFault::EndlessPath { bridges: 100, t: 1e-9 },
        ChainFault::NoPath,
    ];
    let designs = [
        DesignFault::ConstantAlone,
        DesignFault::NoDraws,
        DesignFault::ModelMissing,
        DesignFault::OtherModel,
        DesignFault::Mass { integral: 0.5 },
        DesignFault::HistogramSpace { variables: 2 },
        DesignFault::NoComponents,
        DesignFault::Format { found: "2".into(), expected: "1" },
        DesignFault::EfficiencyOutOfReach { efficiency: 0.9 },
        DesignFault::AllDataLimit,
        DesignFault::TooConcentrated { nu: 1e-9 },
        DesignFault::NotPositive { what: "the scale", value: 0.0 },
    ];
    all.extend(chains.map(Error::Chain));
    all.extend(designs.map(Error::Design));
    all
}

#[test]
fn every_error_has_a_code_of_its_own() {
    let all = [variants(), faults()].concat();
    let mut codes: Vec<&str> = all.iter().map(Error::code).collect();
    let with_faults = ["option", "chain", "design"];
    for code in Error::VARIANT_CODES {
        assert!(codes.contains(code) || with_faults.contains(code), "no error has the code {code}");
    }
    let count = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), count, "two errors have the same code");
    let kebab = |code: &&str| code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    assert!(codes.iter().all(kebab), "{codes:?}");
}

#[test]
fn every_sentence_is_one_line_without_options_of_a_command() {
    for error in [variants(), faults()].concat() {
        let sentence = error.to_string();
        assert!(!sentence.is_empty() && !sentence.contains('\n'), "{error:?}: {sentence}");
        assert!(!sentence.contains("--"), "{error:?}: {sentence}");
        assert_eq!(error.kind() == ErrorKind::Input, error.subject().is_some(), "{error:?}");
        // A value that is not a number equals nothing, itself included.
        // A `main` that returns it prints the sentence and the code, and nothing that only this library knows.
        assert_eq!(format!("{:?}", error.clone()), format!("{} [{}]", error.render(), error.code()));
    }
}

#[test]
fn a_callers_error_is_the_source() {
    use std::error::Error as _;
    let error = Error::external(std::io::Error::new(std::io::ErrorKind::NotFound, "gone"));
    let copy = error.clone();
    let source = copy.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
    assert_eq!(error, copy);
    assert_ne!(error, Error::external(std::io::Error::other("full")));
    assert!(Error::NoMass.source().is_none());
}
