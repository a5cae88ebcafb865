//! `fit --derive`, `--test`, `--out FILE.json`, `--strata`, and the commands that read saved fits.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use support::{json, refused, run};

const NORMAL: &str = "variables = [\"x\"]\nlog_density = \"m*x - p*x^2/2\"\n[parameters]\nm = 0.0\np = 1.0\n";
const CENTRED: &str = "variables = [\"x\"]\nlog_density = \"-p*x^2/2\"\n[parameters]\np = 1.0\n";

/// A folder with models, rows of mean 0.25 and saved fits `normal.json` and `centred.json`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("normal.toml", NORMAL);
    write("centred.toml", CENTRED);
    let rows: String =
        (0..200).map(|i| format!("{}\n", (f64::from(i) * 0.618_034).fract() * 4.0 - 1.75)).collect();
    write("x.csv", &format!("x\n{rows}"));
    for name in ["normal", "centred"] {
        run(
            &folder,
            &["fit", &format!("{name}.toml"), "x.csv", "--noise", "exact", "--out", &format!("{name}.json")],
        )
        .success();
    }
    folder
}

#[test]
fn functions_and_tests_stand_beside_the_estimates() {
    let folder = folder();
    let fit = ["fit", "normal.toml", "x.csv", "--noise", "exact"];
    let told = json(&folder, &[&fit[..], &["--derive", "mean = m/p", "--test", "m = 0, p = 1"]].concat());
    let mean = &told["derived"]["mean"];
    let column = read_column(&folder.path().join("x.csv"));
    let truth = column.iter().sum::<f64>() / column.len() as f64;
    assert!((mean["estimate"].as_f64().unwrap() - truth).abs() < 1e-6);
    assert!(mean["lower"].as_f64().unwrap() < truth && truth < mean["upper"].as_f64().unwrap());
    assert_eq!((told["tests"][0]["degrees"].as_u64(), told["tests"].as_array().unwrap().len()), (Some(2), 1));
    let text = run(&folder, &[&fit[..], &["--derive", "mean = m/p", "--test", "m = 0"]].concat()).success();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    assert!(text.contains("functions of the parameters") && text.contains("Wald test of m = 0"), "{text}");
    assert!(refused(&folder, &[&fit[..], &["--derive", "r = m/q"]].concat(), 2).contains("--derive"));
    assert!(refused(&folder, &[&fit[..], &["--test", "m = 0, 2*m = 0"]].concat(), 2).contains("--test"));
    let twice = refused(&folder, &[&fit[..], &["--derive", "r = m", "--derive", "r = p"]].concat(), 2);
    assert!(twice.contains("twice"));
}

fn read_column(path: &Path) -> Vec<f64> {
    std::fs::read_to_string(path).unwrap().lines().skip(1).map(|line| line.parse().unwrap()).collect()
}

#[test]
fn saved_fits_are_compared() {
    let folder = folder();
    let told = json(&folder, &["compare", "centred.json", "normal.json"]);
    let column = read_column(&folder.path().join("x.csv"));
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let square = column.iter().map(|x| x * x).sum::<f64>() / n;
    let likelihood = |variance: f64| -0.5 * n * ((std::f64::consts::TAU * variance).ln() + 1.0);
    for (model, variance, parameters) in [(0, square, 1.0), (1, square - mean * mean, 2.0)] {
        let model = &told["models"][model];
        assert!(
            (model["aic"].as_f64().unwrap() - (2.0 * parameters - 2.0 * likelihood(variance))).abs() < 1e-5
        );
    }
    let test = &told["tests"][0];
    assert!((test["statistic"].as_f64().unwrap() + n * ((square - mean * mean) / square).ln()).abs() < 1e-5);
    assert_eq!(test["degrees"].as_u64(), Some(1));
    run(&folder, &["compare", "centred.json", "normal.json"]).success();
    // Other rows, one fit, no fit.
    std::fs::write(folder.path().join("y.csv"), "x\n1\n2\n0.5\n-1\n0\n").unwrap();
    run(&folder, &["fit", "normal.toml", "y.csv", "--noise", "exact", "--out", "other.json"]).success();
    assert!(refused(&folder, &["compare", "normal.json", "other.json"], 1).contains("rows"));
    assert!(refused(&folder, &["compare", "normal.json"], 1).contains("at least two"));
    assert!(refused(&folder, &["compare", "normal.json", "normal.toml"], 1).contains("no saved fit"));
    let text = std::fs::read_to_string(folder.path().join("normal.json")).unwrap();
    let later = text.replace("noisewright-fit/1", "noisewright-fit/2");
    std::fs::write(folder.path().join("later.json"), later).unwrap();
    assert!(refused(&folder, &["compare", "normal.json", "later.json"], 1).contains("noisewright-fit/2"));
}

#[test]
fn densities_and_draws_come_from_a_saved_fit() {
    let folder = folder();
    std::fs::write(folder.path().join("at.csv"), "x\n0\n1.5\n").unwrap();
    let told = json(&folder, &["density", "normal.json", "at.csv"]);
    let fit = json(&folder, &["fit", "normal.toml", "x.csv", "--noise", "exact"]);
    let at = |name: &str| fit["parameters"][name]["estimate"].as_f64().unwrap();
    let constant = fit["log_normalizer"]["estimate"].as_f64().unwrap();
    let expected = at("m") * 1.5 - at("p") * 1.125 - constant;
    assert!((told["points"]["log_density"][1].as_f64().unwrap() - expected).abs() < 1e-12);
    assert!(told["points"]["se"][0].as_f64().unwrap() > 0.0);
    let table = run(&folder, &["density", "normal.json", "at.csv"]).success();
    let table = String::from_utf8_lossy(&table.get_output().stdout).into_owned();
    assert!(table.starts_with("x,log_density,se,lower,upper\n") && table.lines().count() == 3, "{table}");
    let drawn = json(&folder, &["simulate", "normal.json", "500", "--seed", "3"]);
    let again = json(&folder, &["simulate", "normal.json", "500", "--seed", "3", "--threads", "1"]);
    assert_eq!(drawn, again);
    assert_eq!((drawn["how"].as_str(), drawn["draws"]["x"].as_array().unwrap().len()), (Some("exact"), 500));
    run(&folder, &["simulate", "normal.json", "10", "--out", "draws.csv"]).success();
    assert_eq!(read_lines(&folder.path().join("draws.csv")), 11);
    assert!(refused(&folder, &["simulate", "normal.json", "0"], 2).contains("at least 1"));
    assert!(refused(&folder, &["density", "normal.json", "normal.toml"], 1).contains("normal.toml"));
    std::fs::write(folder.path().join("z.csv"), "z\n0\n").unwrap();
    assert!(refused(&folder, &["density", "normal.json", "z.csv"], 1).contains('x'));
    assert!(
        refused(&folder, &["simulate", "normal.json", "9", "--out", "normal.json"], 2).contains("overwrite")
    );
}

fn read_lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count()
}

#[test]
fn parameters_are_held_and_tied_in_the_model_file() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("held.toml", &NORMAL.replace("m = 0.0", "m = { fixed = 0.5 }"));
    let told = json(&folder, &["fit", "held.toml", "x.csv", "--noise", "exact", "--out", "held.json"]);
    let held = &told["parameters"]["m"];
    assert_eq!(
        (held["estimate"].as_f64(), held["se"].as_f64(), held["fixed"].as_bool()),
        (Some(0.5), Some(0.0), Some(true))
    );
    let compared = json(&folder, &["compare", "held.json", "normal.json"]);
    assert_eq!(compared["tests"][0]["degrees"].as_u64(), Some(1));
    write("wrong.toml", &format!("constraints = [\"m = 1\", \"m = 2\"]\n{NORMAL}"));
    assert!(refused(&folder, &["fit", "wrong.toml", "x.csv"], 1).contains("contradict"));
}

#[test]
fn choices_are_fitted_by_the_conditional_logit() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("m.toml", "variables = [\"x\"]\nfeatures = [\"x\"]\n[parameters]\na = 0\n");
    let row =
        |i: usize| format!("{},{},{}\n", i / 2, 1 - i % 2, u8::from(i.is_multiple_of(2) == (i / 2 < 20)));
    let rows: String = (0..60).map(row).collect();
    write("d.csv", &format!("s,x,c\n{rows}"));
    let choice = ["fit", "m.toml", "d.csv", "--strata", "s", "--chosen", "c"];
    let told = json(&folder, &choice);
    assert!((told["parameters"]["a"]["estimate"].as_f64().unwrap() - 2_f64.ln()).abs() < 1e-8);
    assert!(told["log_normalizer"].is_null());
    let repeated = json(&folder, &[&choice[..], &["--bootstrap", "20", "--interval", "profile"]].concat());
    assert_eq!(
        (&repeated["bootstrap"]["unit"], &repeated["interval"]),
        (&"strata".into(), &"profile".into())
    );
    let shrunk = json(&folder, &[&choice[..], &["--penalty", "lasso:9"]].concat());
    assert_eq!(shrunk["parameters"]["a"]["estimate"].as_f64(), Some(0.0));
    assert!(refused(&folder, &[&choice[..], &["--nu", "5"]].concat(), 2).contains("--nu"));
    assert!(refused(&folder, &["fit", "m.toml", "d.csv", "--strata", "s"], 2).contains("--chosen"));
    write("none.csv", &format!("s,x,c\n{}", rows.replacen("0,1,1", "0,1,0", 1)));
    let none = refused(&folder, &["fit", "m.toml", "none.csv", "--strata", "s", "--chosen", "c"], 1);
    assert!(none.contains("none.csv, row 1") && none.contains("no alternative"), "{none}");
    write("two.csv", &format!("s,x,c\n{}", rows.replacen("0,0,0", "0,0,2", 1)));
    assert!(
        refused(&folder, &["fit", "m.toml", "two.csv", "--strata", "s", "--chosen", "c"], 1)
            .contains("must be 1")
    );
}
