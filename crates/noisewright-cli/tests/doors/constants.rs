//! Designs, constants of two samples, of many states and of paths, and evidences: the library's JSON against the command's.

use std::path::Path;

use noisewright::design::{Prices, Ratio};
use noisewright::internal::design::{DesignSpace, Problem, Question};
use noisewright::internal::normalizer::fit_noise;
use noisewright::internal::words::space_of;
use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, estimate};
use noisewright::normalizer::{Dependence, Draws, LogZOptions, log_z_of_draws};
use noisewright::parts::{EvidenceOptions, NoiseContext, PathOptions};
use noisewright::run::Context;
use noisewright::{
    ErrorKind, Model, Noise, NoiseWords, Precision, Result, Target, evidence, path, quiet_sample, to_json,
    try_sample,
};
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

    fn count(&self, name: &str) -> Option<usize> {
        self.number(name).map(|count| count as usize)
    }

    fn precision(&self) -> Precision {
        let plain = Precision::default();
        Precision {
            relative: self.number("accuracy").unwrap_or(plain.relative),
            draws: self.count("draws").unwrap_or(plain.draws),
            seed: self.seed(),
            ..plain
        }
    }

    /// Lengths of the chains that the column of this option labels.
    fn chains(&self, option: &str) -> Option<Vec<usize>> {
        self.text(option).map(|name| runs(self.table("data").column(name).unwrap()))
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
        all.extend(flags(case));
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
    let words = |case: &Case<'_>, model: &Path| {
        let data = case.case.get("data").map(|name| ["--data".to_owned(), shown(&file(name))]);
        vec!["design".to_owned(), shown(model)].into_iter().chain(data.into_iter().flatten()).collect()
    };
    through_both("design", 14, words, |case, list| {
        let model = model_of(case, list);
        let theta = model.at(&at(case.given))?;
        let target = Target::parse(case.text("target").unwrap_or("mse"));
        let data = case.case.get("data").map(|_| points(&model, &case.table("data")));
        let precision = case.precision();
        let question = Question {
            problem: Problem {
                data: data.as_ref(),
                on_data: data.is_some(),
                precision: precision.clone(),
                ..Problem::new(&model, &theta)
            },
            files: &|_: &str| Err("there are no files".to_owned()),
            target: target.clone(),
            ratio: case.number("nu").map_or(Ratio::Free, Ratio::Fixed),
            prices: Prices {
                data: case.number("price_data").unwrap_or(1.0),
                noise: case.number("price_noise").unwrap_or(1.0),
            },
            efficiency: case.number("efficiency"),
        };
        let noise = case.text("noise").unwrap_or("optimal");
        let sought = DesignSpace::parse(noise).map_err(noisewright::Error::external)?;
        let answer = to_json(&question.answer(&sought)?)?;
        // The builder is another way to the same design.
        if let (None, Some(nu)) = (case.text("noise"), case.number("nu")) {
            let built = model.design(&theta).ratio(nu).target(target).precision(precision).run()?;
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
        let chains = case.chains("chain");
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
            bootstrap: case.count("bootstrap"),
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
    through_both("path", 15, words, |case, list| {
        let model = model_of(case, list);
        let theta = model.at(&at(case.given))?;
        let density = model.density(&theta)?;
        let plain = PathOptions::default();
        let options = PathOptions {
            states: case.count("states"),
            draws: case.count("draws").unwrap_or(plain.draws),
            chains: case.count("chains").unwrap_or(plain.chains),
            warm_up: case.count("warm_up").unwrap_or(plain.warm_up),
            thin: case.count("thin").unwrap_or(plain.thin),
            moves: case.text("moves").map_or(Ok(plain.moves), str::parse)?,
            confidence: case.number("confidence").unwrap_or(plain.confidence),
            seed: case.seed(),
            ..plain
        };
        let noise: std::sync::Arc<dyn Noise> = match case.text("noise") {
            Some(words) => NoiseWords::parse(words).unwrap().build(&NoiseContext::new(model.space()))?,
            None => fit_noise(&density, options.moves, &Context::seeded(case.seed()))?,
        };
        to_json(&path(noise, &density).options(options).run()?)
    });
}

#[test]
fn evidences_are_equal() {
    let words = |case: &Case<'_>, model: &Path| {
        vec!["evidence".to_owned(), shown(model), shown(&file(&case.case["data"]))]
    };
    through_both("evidence", 20, words, |case, list| {
        let model = model_of(case, list);
        let theta = model.at(&at(case.given))?;
        let density = model.density(&theta)?;
        let draws = points(&model, &case.table("data"));
        let plain = EvidenceOptions::default();
        let options = EvidenceOptions {
            noise: case.text("noise").unwrap_or("auto").parse()?,
            noise_draws: case.count("noise_draws"),
            evaluations: case.count("evaluations"),
            symmetrize: case.given.contains_key("symmetrize"),
            log_z: LogZOptions {
                confidence: case.number("confidence").unwrap_or(0.95),
                dependence: case.dependence(),
                bootstrap: case.count("bootstrap"),
                seed: case.seed(),
                ..plain.log_z
            },
            ..plain
        };
        let chains = case.chains("chains");
        let mut asked = evidence(&density, &draws).options(options);
        if let Some(lengths) = &chains {
            asked = asked.chains(lengths);
        }
        to_json(&asked.run()?)
    });
}

#[test]
fn draws_are_equal() {
    let words = |case: &Case<'_>, _: &Path| {
        let random = ["--draws", "random"].map(str::to_owned);
        let random = random.into_iter().filter(|_| !case.given.contains_key("quiet"));
        let noise = case.case["noise"].as_str().unwrap().to_owned();
        ["sample".to_owned(), "--noise".to_owned(), noise].into_iter().chain(random).collect()
    };
    through_both("sample", 9, words, |case, _| {
        let words =
            NoiseWords::parse(case.case["noise"].as_str().unwrap()).map_err(noisewright::Error::external)?;
        let space = space_of(&words)?;
        let noise = words.build(&NoiseContext::new(&space))?;
        let (count, context) = (case.count("n").unwrap(), Context::seeded(case.seed()));
        let draw = if case.given.contains_key("quiet") { quiet_sample } else { try_sample };
        let draws = draw(&*noise, count, &context)?;
        let mut log_density = vec![0.0; count];
        noise.log_density(draws.view(), &mut log_density);
        let columns = (0..draws.columns()).map(|j| json!(draws.view().column(j)));
        let mut all: Map<String, Value> = space.names().iter().cloned().zip(columns).collect();
        all.insert("log_density".to_owned(), json!(log_density));
        Ok(json!({ "draws": all }).to_string())
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
