//! The library and the command agree: every input of `tests/doors/cases.json` through both, every number of the library's JSON,
//! every code of a warning and every refusal. (`tests/python/test_doors.py` runs the same list through Python.)

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "doors/constants.rs"]
mod constants;
#[path = "doors/ratios.rs"]
mod ratios;

use std::path::PathBuf;
use std::sync::Arc;

use assert_cmd::Command;
use noisewright::fit::{
    Amount, ChoiceSets, CovarianceKind, Data, Dependence, FitMethod, FitOptions, IntervalKind, NoiseChoice,
    Penalty, Source, Visit, fit_choices, fit_stream,
};
use noisewright::internal::Contrast;
use noisewright::internal::design::{Problem, Purpose};
use noisewright::internal::fit::{fit, ratio};
use noisewright::parts::Warning;
use noisewright::{Error, Fit, Loss, Model, NoiseWords, Points, Precision, Target, to_json};
use noisewright_data::{Options, Table, read};
use serde_json::{Map, Value, json};

fn doors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/doors")
}

fn cases() -> Value {
    serde_json::from_str(&std::fs::read_to_string(doors().join("cases.json")).unwrap()).unwrap()
}

fn file(name: &Value) -> PathBuf {
    doors().join("data").join(format!("{}.csv", name.as_str().unwrap()))
}

fn text(list: &Value, case: &Value) -> String {
    match case.get("model_text") {
        Some(text) => text.as_str().unwrap().to_owned(),
        None => list["models"][case["model"].as_str().unwrap()].as_str().unwrap().to_owned(),
    }
}

/// The command's words for the options of a case.
fn flags(case: &Value) -> Vec<String> {
    let command = case["command"].as_str().unwrap();
    let flag = |name: &str| match (command, name) {
        ("fit", "chains") => "--chain-column".to_owned(),
        ("evidence", "chains") => "--chain".to_owned(),
        ("path", "states") => "--path-states".to_owned(),
        (_, "errors") => "--covariance".to_owned(),
        (_, "clusters") => "--cluster".to_owned(),
        (_, "check_ratio") => "--check-nu".to_owned(),
        (_, "powers") => "--power".to_owned(),
        (_, other) => format!("--{}", other.replace('_', "-")),
    };
    let mut words = Vec::new();
    for (name, value) in case["options"].as_object().unwrap() {
        match value {
            _ if (command, name.as_str()) == ("sample", "n") => words.push(value.to_string()),
            Value::Bool(_) if command == "sample" => words.extend(["--draws", "quiet"].map(str::to_owned)),
            Value::Bool(_) => words.push(flag(name)),
            Value::String(text) => words.extend([flag(name), text.clone()]),
            Value::Array(all) => words.extend(all.iter().flat_map(|one| [flag(name), one.to_string()])),
            Value::Object(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}={v}")).collect();
                words.extend([flag(name), pairs.join(",")]);
            }
            other => words.extend([flag(name), other.to_string()]),
        }
    }
    words
}

/// What the command prints, and its sentence if it refuses.
fn command(words: &[String]) -> (Option<Value>, Option<String>) {
    let run =
        Command::cargo_bin("noisewright").unwrap().args(words).args(["--json", "--quiet"]).output().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    let sentence = String::from_utf8(run.stderr).unwrap();
    ((!printed.is_empty()).then(|| parsed(&printed)), (!run.status.success()).then_some(sentence))
}

/// JSON as a value; infinities, which it has no number for, are words.
fn parsed(text: &str) -> Value {
    serde_json::from_str(&text.replace("-1e999", "\"-inf\"").replace("1e999", "\"inf\"")).unwrap()
}

/// Every field of the library's answer is in the command's, and equal to the last digit. A remedy is said in each door's words.
fn agree(place: &str, own: &Value, theirs: &Value) {
    match (own, theirs) {
        (Value::Object(own), Value::Object(theirs)) => {
            for (key, value) in own.iter().filter(|(key, _)| *key != "suggestion") {
                agree(&format!("{place}/{key}"), value, theirs.get(key).unwrap_or(&json!("missing")));
            }
        }
        (Value::Array(own), Value::Array(theirs)) => {
            assert_eq!(own.len(), theirs.len(), "{place}");
            own.iter().zip(theirs).for_each(|(own, theirs)| agree(place, own, theirs));
        }
        _ => assert_eq!(own, theirs, "{place}"),
    }
}

/// The values of parameters that the options name.
fn at(given: &Map<String, Value>) -> Vec<(String, f64)> {
    let pairs = given.get("at").and_then(Value::as_object).into_iter().flatten();
    pairs.map(|(name, value)| (name.clone(), value.as_f64().unwrap())).collect()
}

/// Why the library refuses a case: its sentence, and its code where the words of a noise are not all that is wrong.
struct Refused {
    sentence: String,
    code: Option<&'static str>,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { sentence: error.to_string(), code: Some(error.code()) }
    }
}

/// Both doors refuse what the list says is refused, with its words and its code.
fn refused_alike(case: &Value, own: &Refused, theirs: &str) {
    let name = &case["name"];
    let part = case.get("refused").unwrap_or_else(|| panic!("{name}: {}", own.sentence)).as_str().unwrap();
    assert!(own.sentence.contains(part) && theirs.contains(part), "{name}: {}; {theirs}", own.sentence);
    assert!(own.code.is_none_or(|code| case["code"] == code), "{name}: {:?}", own.code);
}

/// Both doors say that there is no answer, and why: the gravest finding, with its remedies in the words of each.
fn no_answer_alike(case: &Value, own: Option<&Warning>, theirs: &str) {
    let name = &case["name"];
    let own = own.unwrap_or_else(|| panic!("{name}: only the command has no answer: {theirs}"));
    let part = case.get("no_answer").unwrap_or_else(|| panic!("{name}: {own}")).as_str().unwrap();
    assert!(own.sentence().contains(part) && case["code"] == own.code(), "{name}: {own}");
    assert!(theirs.contains(&format!("{}; ", own.sentence())), "{name}: {own}; {theirs}");
}

/// Rows in memory that come in blocks.
struct Blocks(Points, Option<Vec<f64>>);

impl Source for Blocks {
    fn dimension(&self) -> usize {
        self.0.columns()
    }

    fn for_each_block(&self, visit: Visit<'_>) -> noisewright::Result<()> {
        (0..self.0.rows()).step_by(70).try_for_each(|start| {
            let rows = start..self.0.rows().min(start + 70);
            visit(self.0.view().slice(rows.clone()), self.1.as_ref().map(|w| &w[rows]))
        })
    }
}

fn options(given: &Map<String, Value>, covariates: &[String]) -> Result<FitOptions, Refused> {
    let text = |name: &str, default: &str| {
        given.get(name).map_or(default.to_owned(), |v| v.as_str().unwrap().to_owned())
    };
    let number = |name: &str| given.get(name).and_then(Value::as_f64);
    let count = |name: &str| number(name).map(|count| count as usize);
    let flag = |name: &str| given.get(name).is_some_and(|v| v == &json!(true));
    let no_files = Arc::new(|_: &str| Err("there are no files".into()));
    let noise = NoiseChoice::parse_given(&text("noise", "auto"), covariates, no_files);
    let amount = match (number("nu"), count("noise_points"), Amount::auto()) {
        (Some(nu), _, _) => Amount::Ratio(nu),
        (_, Some(points), _) => Amount::Points(points),
        (_, _, Amount::Auto { share, most_values }) => {
            Amount::Auto { share: number("noise_share").unwrap_or(share), most_values }
        }
        (_, _, other) => other,
    };
    let penalty = given.get("penalty").map(|words| words.as_str().unwrap().parse::<Penalty>()).transpose()?;
    let refit = flag("refit_selected");
    Ok(FitOptions {
        noise: noise.map_err(|error| Refused { sentence: error.to_string(), code: None })?,
        amount,
        choices: count("choices"),
        penalty: penalty.map(|penalty| if refit { penalty.refit_selected() } else { penalty }),
        interval: text("interval", "wald").parse::<IntervalKind>()?,
        bootstrap: count("bootstrap"),
        cross_validate: count("cross_validate"),
        refit_noise: flag("refit_noise"),
        check_ratio: flag("check_ratio"),
        method: text("method", "nce").parse::<FitMethod>()?,
        loss: text("loss", "js").parse::<Loss>()?,
        errors: if text("errors", "robust") == "model" {
            CovarianceKind::ModelBased
        } else {
            CovarianceKind::Robust
        },
        confidence: number("confidence").unwrap_or(0.95),
        seed: number("seed").unwrap_or(0.0) as u64,
        ..FitOptions::default()
    })
}

fn points(model: &Model, table: &Table) -> Points {
    let names = model.space().names();
    let columns: Vec<Vec<f64>> = names.iter().map(|name| table.column(name).unwrap().to_vec()).collect();
    Points::from_columns(names, &columns).unwrap()
}

/// Lengths of the runs of equal numbers.
fn runs(column: &[f64]) -> Vec<usize> {
    column.chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}

fn weighted<'a>(data: Data<'a>, weights: Option<&'a [f64]>) -> Data<'a> {
    weights.map_or(data, |weights| data.with_weights(weights))
}

/// A fit of the list by the library.
fn fitted(model: &Model, case: &Value) -> Result<Fit, Refused> {
    let given = case["options"].as_object().unwrap();
    let options = options(given, model.covariates())?;
    let table = read(file(&case["data"]), &Options::default()).unwrap();
    let column = |name: &str| given.get(name).map(|c| table.column(c.as_str().unwrap()).unwrap().to_vec());
    let numbers = |name: &str| column(name).map(|ids| ids.iter().map(|id| *id as u64).collect::<Vec<u64>>());
    let (rows, weights) = (points(model, &table), column("weights"));
    if case.get("stream").is_some() {
        return Ok(fit_stream(model, &Blocks(rows, weights), &options)?);
    }
    let (clusters, chains) = (numbers("clusters"), column("chains").map(|ids| runs(&ids)));
    let data = weighted(Data::from(&rows), weights.as_deref());
    let data = match (&clusters, &chains) {
        (Some(ids), _) => data.with_dependence(Dependence::Clusters(ids)),
        (_, Some(lengths)) => data.with_dependence(Dependence::Chains(lengths)),
        _ => data,
    };
    let Some(strata) = numbers("strata") else { return Ok(fit(model, data, &options)?) };
    let chosen: Vec<bool> = column("chosen").unwrap().iter().map(|mark| *mark == 1.0).collect();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    Ok(fit_choices(model, data, sets, &options)?)
}

fn of_command<'a>(list: &'a Value, command: &str) -> Vec<&'a Value> {
    list["cases"].as_array().unwrap().iter().filter(|case| case["command"] == command).collect()
}

#[test]
fn fits_of_the_library_and_of_the_command_are_equal() {
    let (list, folder) = (cases(), tempfile::tempdir().unwrap());
    let path = folder.path().join("model.toml");
    let fits = of_command(&list, "fit");
    assert!(fits.len() >= 40);
    for case in fits {
        let name = case["name"].as_str().unwrap();
        std::fs::write(&path, text(&list, case)).unwrap();
        let mut words =
            vec!["fit".to_owned(), path.display().to_string(), file(&case["data"]).display().to_string()];
        words.extend(flags(case));
        words.extend(case.get("stream").map(|_| "--stream".to_owned()));
        let (printed, refused) = command(&words);
        let own = fitted(&Model::from_toml(&text(&list, case)).unwrap(), case);
        match (own, refused) {
            (Err(error), Some(sentence)) => refused_alike(case, &error, &sentence),
            (Ok(fit), Some(sentence)) => no_answer_alike(case, fit.diagnostics.no_answer(), &sentence),
            (Err(error), None) => panic!("{name}: only the library refuses: {}", error.sentence),
            (Ok(fit), None) => agree(name, &parsed(&to_json(&fit).unwrap()), &printed.unwrap()),
        }
    }
}

#[test]
fn ratios_of_the_library_and_of_the_command_are_equal() {
    let list = cases();
    for case in of_command(&list, "ratio").into_iter().filter(|case| !ratios::is_of_a_basis(case)) {
        let name = case["name"].as_str().unwrap();
        let model = Model::from_toml(&text(&list, case)).unwrap();
        let given = case["options"].as_object().unwrap();
        let features: Vec<String> = model.parameters().iter().map(|p| p.name.clone()).collect();
        let mut words = vec!["ratio".to_owned()];
        words.extend([&case["data"], &case["second"]].map(|name| file(name).display().to_string()));
        words.extend([
            "--features".into(),
            features.join(","),
            "--columns".into(),
            model.space().names().join(","),
        ]);
        words.extend(flags(case));
        let (printed, refused) = command(&words);
        let tables =
            [&case["data"], &case["second"]].map(|name| read(file(name), &Options::default()).unwrap());
        let weights = given.get("weights").map(|c| tables[0].column(c.as_str().unwrap()).unwrap().to_vec());
        let samples = [points(&model, &tables[0]), points(&model, &tables[1])];
        let first = weighted(Data::from(&samples[0]), weights.as_deref());
        let own = options(given, &[]).and_then(|options| {
            ratio(&model, first, Data::from(&samples[1]), &options).map_err(Refused::from)
        });
        match (own, refused) {
            (Err(error), Some(sentence)) => refused_alike(case, &error, &sentence),
            (Ok(own), Some(sentence)) => no_answer_alike(case, own.fit.diagnostics.no_answer(), &sentence),
            (Err(error), None) => panic!("{name}: only the library refuses: {}", error.sentence),
            (Ok(own), None) => agree(name, &parsed(&to_json(&own).unwrap()), &printed.unwrap()),
        }
    }
}

/// An error of the list by the library, and how the command prints it.
fn error_of(model: &Model, case: &Value) -> noisewright::Result<[Value; 3]> {
    let given = case["options"].as_object().unwrap();
    let theta = model.at(&at(given))?;
    let data = case.get("data").map(|d| points(model, &read(file(d), &Options::default()).unwrap()));
    let number = |name: &str| given.get(name).and_then(Value::as_f64);
    let plain = Precision::default();
    let precision = Precision {
        relative: number("accuracy").unwrap_or(plain.relative),
        draws: number("draws").map_or(plain.draws, |draws| draws as usize),
        seed: number("seed").map_or(plain.seed, |seed| seed as u64),
        ..plain
    };
    let problem = Problem { data: data.as_ref(), precision, ..Problem::new(model, &theta) };
    let target = Target::parse(given.get("target").map_or("mse", |t| t.as_str().unwrap()));
    let nu = given["nu"].as_f64().unwrap();
    let plain: Loss = given.get("loss").map_or("js", |l| l.as_str().unwrap()).parse().unwrap();
    let loss = number("loss_ratio").map_or_else(|| Ok(plain.clone()), |ratio| plain.with_ratio(ratio, nu))?;
    let words = NoiseWords::parse(given["noise"].as_str().unwrap()).unwrap();
    let files = |_: &str| Err("there are no files".to_owned());
    let noise = problem.noise(&words, Purpose { nu, target: &target }, &files)?;
    let own = problem.error(Contrast { noise: noise.as_ref(), nu, loss: &loss }, &target)?;
    Ok([parsed(&to_json(&own.report)?), parsed(&to_json(&own.divergences)?), json!(own.infinite)])
}

#[test]
fn errors_of_the_library_and_of_the_command_are_equal() {
    let (list, folder) = (cases(), tempfile::tempdir().unwrap());
    let path = folder.path().join("model.toml");
    let errors = of_command(&list, "error");
    assert!(errors.len() >= 15);
    for case in errors {
        let name = case["name"].as_str().unwrap();
        std::fs::write(&path, text(&list, case)).unwrap();
        let mut words = vec!["error".to_owned(), path.display().to_string()];
        if let Some(data) = case.get("data") {
            words.extend(["--data".into(), file(data).display().to_string()]);
        }
        words.extend(flags(case));
        let (printed, refused) = command(&words);
        let own = error_of(&Model::from_toml(&text(&list, case)).unwrap(), case);
        if let (Err(error), Some(sentence)) = (&own, &refused) {
            refused_alike(case, &Refused::from(error.clone()), sentence);
        }
        assert_eq!(own.is_err(), refused.is_some(), "{name}: {refused:?}");
        if let (Ok([report, divergences, infinite]), Some(printed)) = (own, printed) {
            agree(name, &report, &printed);
            agree(name, &divergences, &printed["divergences"]);
            assert_eq!(infinite, printed["infinite"], "{name}");
        }
    }
}
