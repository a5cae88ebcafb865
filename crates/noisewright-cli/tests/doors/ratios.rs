//! Ratios without features or through bridges, and mutual information: the library's JSON against the command's.

use noisewright::fit::{Bridges, Data, RatioBasis};
use noisewright::internal::fit::density_ratio;
use noisewright::parts::RatioOptions;
use noisewright::{Model, Points, information, to_json};
use noisewright_data::{Options, read};
use serde_json::{Map, Value};

use super::{Refused, agree, cases, command, file, flags, of_command, parsed, refused_alike, text};

/// Whether a case of `ratio` is one of bases and bridges.
pub(super) fn is_of_a_basis(case: &Value) -> bool {
    case.get("columns").is_some() || case["options"].get("bridges").is_some()
}

fn options(given: &Map<String, Value>, usual: Bridges) -> Result<RatioOptions, Refused> {
    let words = |name: &str| {
        given.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let number = |name: &str| given.get(name).and_then(Value::as_f64);
    let default = RatioOptions::default();
    let options = RatioOptions {
        basis: words("basis").map_or(Ok(RatioBasis::Auto), |basis| basis.parse())?,
        bridges: words("bridges").map_or(Ok(usual), |bridges| bridges.parse())?,
        permutations: number("permutations").map_or(default.permutations, |count| count as usize),
        confidence: number("confidence").unwrap_or(default.confidence),
        seed: number("seed").unwrap_or(0.0) as u64,
        ..default
    };
    options.check()?;
    Ok(options)
}

fn columns(name: &Value, columns: &[String]) -> Points {
    let table = read(file(name), &Options::default()).unwrap();
    let values: Vec<Vec<f64>> = columns.iter().map(|name| table.column(name).unwrap().to_vec()).collect();
    Points::from_columns(columns, &values).unwrap()
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// What both doors make of a case.
fn compare(case: &Value, words: &[String], own: Result<String, Refused>) {
    let name = case["name"].as_str().unwrap();
    match (own, command(words)) {
        (Ok(own), (Some(printed), _)) => agree(name, &parsed(&own), &printed),
        (Err(error), (_, Some(sentence))) => refused_alike(case, &error, &sentence),
        (Ok(_), (None, sentence)) => panic!("{name}: only the command refuses: {sentence:?}"),
        (Err(error), (_, None)) => panic!("{name}: only the library refuses: {}", error.sentence),
    }
}

#[test]
fn ratios_of_bases_and_through_bridges_are_equal() {
    let list = cases();
    let chosen: Vec<&Value> =
        of_command(&list, "ratio").into_iter().filter(|case| is_of_a_basis(case)).collect();
    assert!(chosen.len() >= 8);
    for case in chosen {
        let model = case.get("model").map(|_| Model::from_toml(&text(&list, case)).unwrap());
        let (variables, features) = match &model {
            Some(model) => (model.space().names().to_vec(), features_of(model).to_vec()),
            None => (names(&case["columns"]), Vec::new()),
        };
        let given = case["options"].as_object().unwrap();
        let files = [&case["data"], &case["second"]];
        let mut words = vec!["ratio".to_owned()];
        words.extend(files.map(|name| file(name).display().to_string()));
        words.extend(["--columns".to_owned(), variables.join(",")]);
        words.extend(features);
        words.extend(flags(case));
        let [first, second] = files.map(|name| columns(name, &variables));
        let own = options(given, Bridges::Count(1)).and_then(|options| {
            let found = density_ratio(model.as_ref(), Data::from(&first), Data::from(&second), &options)?;
            Ok(to_json(&found)?)
        });
        compare(case, &words, own);
    }
}

#[test]
fn mutual_informations_are_equal() {
    let list = cases();
    let chosen = of_command(&list, "information");
    assert!(chosen.len() >= 14);
    for case in chosen {
        let between = [names(&case["between"][0]), names(&case["between"][1])];
        let given = case["options"].as_object().unwrap();
        let mut words = vec!["information".to_owned(), file(&case["data"]).display().to_string()];
        for (flag, side) in ["--between", "--and"].into_iter().zip(&between) {
            words.extend([flag.to_owned(), side.join(",")]);
        }
        let model = case.get("model").map(|_| Model::from_toml(&text(&list, case)).unwrap());
        words.extend(model.as_ref().map(features_of).into_iter().flatten());
        words.extend(flags(case));
        let data = columns(&case["data"], &between.concat());
        compare(case, &words, information_of(&data, &between, model.as_ref(), given));
    }
}

/// The command's words for the features of a model.
fn features_of(model: &Model) -> [String; 2] {
    let features: Vec<&str> = model.parameters().iter().map(|p| p.name.as_str()).collect();
    ["--features".to_owned(), features.join(",")]
}

/// A mutual information of the list by the library; what is not asked for is left to its builder.
fn information_of(
    data: &Points,
    between: &[Vec<String>; 2],
    model: Option<&Model>,
    given: &Map<String, Value>,
) -> Result<String, Refused> {
    let options = options(given, Bridges::Auto)?;
    let sides = between.each_ref().map(|side| side.iter().map(String::as_str).collect::<Vec<&str>>());
    let mut asked = information(data, &sides[0], &sides[1]);
    asked = asked.bridges(options.bridges).confidence(options.confidence).seed(options.seed);
    if given.contains_key("basis") {
        asked = asked.basis(options.basis);
    }
    if let Some(model) = model {
        asked = asked.model(model);
    }
    Ok(to_json(&asked.run()?)?)
}
