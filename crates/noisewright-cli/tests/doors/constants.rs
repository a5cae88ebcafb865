//! Designs, constants of two samples, of many states and of paths, and evidences: the library's JSON against the command's.

use std::path::Path;

use noisewright::design::{Prices, Ratio};
use noisewright::internal::design::{DesignSpace, Problem, Question};
use noisewright::internal::normalizer::fit_noise;
use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, estimate};
use noisewright::normalizer::{Dependence, Draws, LogZOptions, log_z_of_draws};
use noisewright::parts::NoiseContext;
use noisewright::parts::PathOptions;
use noisewright::run::Context;
use noisewright::{ErrorKind, Model, Noise, NoiseWords, Result, Target, evidence, path, to_json};
use noisewright_data::{Options, Table, read};
use serde_json::{Map, Value, json};

use super::{
    Refused, agree, at, cases, command, file, flags, of_command, parsed, points, refused_alike, runs, text,
};

/// A case, with what every one of them is asked for.
struct Case<'a> {
    name: &'a str,
    case: &'a Value,
    given: &'a Map<String, Value>,
}

impl Case<'_> {
    fn number(&self, name: &str) -> Option<f64> {
        self.given.get(name).and_then(Value::as_f64)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).and_then(Value::as_str)
    }

    fn dependence(&self) -> Dependence {
        match self.given.get("independent") {
            Some(_) => Dependence::Independent,
            None => Dependence::Chains,
        }
    }

    fn seed(&self) -> u64 {
        self.number("seed").unwrap_or(0.0) as u64
    }

    fn table(&self, key: &str) -> Table {
        read(file(&self.case[key]), &Options::default().minus_infinity(true)).unwrap()
    }
}

/// Every case of a command through both doors; `words` are the command's arguments before the options.
fn through_both(
    kind: &str,
    least: usize,
    words: impl Fn(&Case<'_>, &Path) -> Vec<String>,
    own: impl Fn(&Case<'_>, &Value) -> Result<String>,
) {
    let (list, folder) = (cases(), tempfile::tempdir().unwrap());
    let model = folder.path().join("model.toml");
    let chosen = of_command(&list, kind);
    assert!(chosen.len() >= least, "{} cases of {kind}", chosen.len());
    for case in chosen {
        let name = case["name"].as_str().unwrap();
        let asked = Case { name, case, given: case["options"].as_object().unwrap() };
        if case.get("model").is_some() {
            std::fs::write(&model, text(&list, case)).unwrap();
        }
        let mut all = words(&asked, &model);
        all.extend(flags(asked.given));
        let (printed, refused) = command(&all);
        match own(&asked, &list) {
            Ok(own) => agree(name, &parsed(&own), &printed.unwrap_or_else(|| panic!("{name}: {refused:?}"))),
            Err(error) => {
                let external = error.kind() == ErrorKind::External;
                let code = if external { None } else { Some(error.code()) };
                refused_alike(case, &Refused { sentence: error.to_string(), code }, &refused.unwrap());
            }
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn model_of(case: &Case<'_>, list: &Value) -> Model {
    Model::from_toml(&text(list, case.case)).unwrap()
}

#[test]
fn designs_are_equal() {
    let words = |_: &Case<'_>, model: &Path| vec!["design".to_owned(), shown(model)];
    through_both("design", 9, words, |case, list| {
        let model = model_of(case, list);
        let theta = model.at(&at(case.given))?;
        let target = Target::parse(case.text("target").unwrap_or("mse"));
        let question = Question {
            problem: Problem::new(&model, &theta),
            files: &|_: &str| Err("there are no files".to_owned()),
            target: target.clone(),
            ratio: case.number("nu").map_or(Ratio::Free, Ratio::Fixed),
            prices: Prices { noise: case.number("price_noise").unwrap_or(1.0), ..Prices::default() },
            efficiency: None,
        };
        let noise = case.text("noise").unwrap_or("optimal");
        let sought = DesignSpace::parse(noise).map_err(noisewright::Error::external)?;
        let answer = to_json(&question.answer(&sought)?)?;
        // The builder is another way to the same design.
        if let (None, Some(nu)) = (case.text("noise"), case.number("nu")) {
            let built = model.design(&theta).ratio(nu).target(target).run()?;
            agree(case.name, &parsed(&to_json(&built)?), &parsed(&answer));
        }
        Ok(answer)
    });
}

#[test]
fn constants_of_two_samples_are_equal() {
    let words = |case: &Case<'_>, _: &Path| {
        vec!["logz".to_owned(), shown(&file(&case.case["data"])), shown(&file(&case.case["noise_draws"]))]
    };
    through_both("logz", 8, words, |case, _| {
        let tables = [case.table("data"), case.table("noise_draws")];
        let chains = case.text("chain").map(|name| runs(tables[0].column(name).unwrap()));
        let [mut data, noise] = tables
            .each_ref()
            .map(|table| Draws::new(table.column("log_f").unwrap(), table.column("log_noise").unwrap()));
        data.chains = chains.as_deref();
        let powers = case.given.get("powers").map_or(vec![], |list| {
            list.as_array().unwrap().iter().map(|power| power.as_f64().unwrap()).collect()
        });
        let options = LogZOptions {
            confidence: case.number("confidence").unwrap_or(0.95),
            dependence: case.dependence(),
            weight_by_ess: case.given.contains_key("weight_by_ess"),
            bootstrap: case.number("bootstrap").map(|count| count as usize),
            powers,
            ..LogZOptions::default()
        };
        to_json(&log_z_of_draws(data, noise, &options)?)
    });
}

#[test]
fn constants_of_many_states_are_equal() {
    let words = |case: &Case<'_>, _: &Path| {
        let more = ["--states", "u_*", "--state-column", "state"].map(str::to_owned);
        [vec!["logz".to_owned(), shown(&file(&case.case["data"]))], more.to_vec()].concat()
    };
    through_both("states", 4, words, |case, _| {
        let table = case.table("data");
        let names = ["u_1", "u_2", "u_3"].map(str::to_owned);
        let log_f = names.each_ref().map(|name| table.column(name).unwrap());
        let origin: Vec<usize> = table.column("state").unwrap().iter().map(|k| *k as usize - 1).collect();
        let reference =
            case.text("reference").map_or(0, |name| names.iter().position(|n| n == name).unwrap());
        let options = StatesOptions { reference, dependence: case.dependence(), ..StatesOptions::default() };
        let pooled = Pooled { log_f: &log_f, origin: Origin::Rows(&origin), chains: None };
        to_json(&estimate(&pooled, &options)?.with_names(&names))
    });
}

#[test]
fn paths_are_equal() {
    let words =
        |_: &Case<'_>, model: &Path| ["logz", "--path", "--model", &shown(model)].map(str::to_owned).to_vec();
    through_both("path", 3, words, |case, list| {
        let model = model_of(case, list);
        let theta = model.start();
        let density = model.density(&theta)?;
        let options = PathOptions::default();
        let noise: std::sync::Arc<dyn Noise> = match case.text("noise") {
            Some(words) => NoiseWords::parse(words).unwrap().build(&NoiseContext::new(model.space()))?,
            None => fit_noise(&density, options.moves, &Context::seeded(case.seed()))?,
        };
        let draws = case.number("draws").map_or(options.draws, |draws| draws as usize);
        to_json(&path(noise, &density).draws(draws).seed(case.seed()).run()?)
    });
}

#[test]
fn evidences_are_equal() {
    let words = |case: &Case<'_>, model: &Path| {
        vec!["evidence".to_owned(), shown(model), shown(&file(&case.case["data"]))]
    };
    through_both("evidence", 3, words, |case, list| {
        let model = model_of(case, list);
        let theta = model.start();
        let density = model.density(&theta)?;
        let draws = points(&model, &case.table("data"));
        let mut asked = evidence(&density, &draws).seed(case.seed());
        if let Some(noise) = case.text("noise") {
            asked = asked.noise(noise.parse()?);
        }
        if case.dependence() == Dependence::Independent {
            asked = asked.independent();
        }
        to_json(&asked.run()?)
    });
}

#[test]
fn a_difference_is_seen() {
    let own = json!({ "a": [1.0, { "b": 2.0 }] });
    agree("equal", &own, &json!({ "a": [1.0, { "b": 2.0, "more": 0 }], "more": 1 }));
    for other in [json!({ "a": [1.0, { "b": 2.5 }] }), json!({ "a": [1.0] }), json!({})] {
        assert!(std::panic::catch_unwind(|| agree("other", &own, &other)).is_err(), "{other}");
    }
}
