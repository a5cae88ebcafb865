//! `noisewright logz` and `evidence`: many states and paths, labels of chains, options, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

const LADDER: [(f64, f64, f64); 5] =
    [(0.0, 1.0, 0.0), (0.7, 0.8, 3.0), (1.2, 0.7, -2.0), (1.8, 0.6, 10.0), (2.5, 0.5, 0.5)];
const COUNTS: [usize; 5] = [100, 200, 0, 150, 50];

fn command() -> Command {
    Command::cargo_bin("noisewright").unwrap()
}

/// The draws of `noisewright/tests/references/states.py` with `change` applied to (state, row, value).
fn file(folder: &Path, change: impl Fn(usize, usize, f64) -> String) -> PathBuf {
    let mut text = "comment,state,u_10,u_20,u_30,u_40,u_50\n".to_owned();
    let mut row = 0;
    for (k, ((mean, scale, _), count)) in LADDER.iter().zip(COUNTS).enumerate() {
        for i in 0..count {
            let u = ((i as f64 + 0.5) * 0.618_033_988_749_894_9 + 0.1 * k as f64) % 1.0;
            let x = mean + scale * (u / (1.0 - u)).ln() / 1.7;
            write!(text, "text,{}", 10 * (k + 1)).unwrap();
            for (l, (m, s, offset)) in LADDER.iter().enumerate() {
                let value = offset - (x - m).powi(2) / (2.0 * s * s);
                write!(text, ",{}", change(l, row, value)).unwrap();
            }
            text.push('\n');
            row += 1;
        }
    }
    let path = folder.join("draws.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn plain(_: usize, _: usize, value: f64) -> String {
    value.to_string()
}

fn json(arguments: &[&str]) -> Value {
    let run = command().args(arguments).args(["--json", "--quiet"]).assert().success();
    assert!(run.get_output().stderr.is_empty());
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    // Infinity is a number beyond all, which other readers take for it and this one does not.
    serde_json::from_str(&text.replace("1e999", "1e308")).unwrap()
}

fn refused(arguments: &[&str], status: i32) -> String {
    let run = command().args(arguments).assert().failure().code(status);
    let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(!told.contains("panicked"), "{told}");
    told
}

fn near(value: &Value, expected: f64, tolerance: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < tolerance
}

#[test]
fn states_in_columns_are_those_of_pymbar() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), plain);
    let path = path.to_str().unwrap();
    let page = folder.path().join("page.html");
    let by_pattern =
        json(&["logz", path, "--states", "u_*", "--independent", "--report", page.to_str().unwrap()]);
    let by_list = json(&[
        "logz",
        path,
        "--states",
        "u_10,u_20,u_30,u_40,u_50",
        "--counts",
        "100,200,0,150,50",
        "--independent",
    ]);
    assert_eq!(by_pattern, by_list);
    let log_z = [0.0, 2.764973087976858, -2.374275856323459, 9.469088372231637, -0.16043384446235454];
    let se = [0.0, 0.0522334823935208, 0.07829230194762918, 0.1115442415483529, 0.1601560452196089];
    for k in 0..5 {
        let state = &by_pattern["states"][format!("u_{}0", k + 1)];
        assert!(near(&state["log_z"], log_z[k], 1e-8) && near(&state["se"], se[k], 1e-6), "{state}");
        assert_eq!(state["draws"], COUNTS[k]);
        assert!(near(&by_pattern["differences"]["log_z"][0][k], log_z[k], 1e-8));
        assert!(near(&by_pattern["covariance"][k][k], se[k] * se[k], 1e-6));
        let row: f64 = by_pattern["overlap"][k].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).sum();
        assert!((row - 1.0).abs() < 1e-9);
    }
    assert_eq!(by_pattern["converged"], true);
    assert_eq!(by_pattern["groups"].as_array().unwrap().len(), 1);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Normalizing constants of many states") && page.contains("<svg"));
    let relative = json(&["logz", path, "--states", "u_*", "--reference", "u_20", "--independent"]);
    assert!(near(&relative["states"]["u_10"]["log_z"], -log_z[1], 1e-8));
    let chains = json(&["logz", path, "--states", "u_*"]);
    assert_eq!(chains["dependence"], "chains");
}

#[test]
fn the_summary_says_what_hangs_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), plain);
    let run = command().args(["logz", path.to_str().unwrap(), "--states", "u_*"]).assert().success();
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(
        text.contains("log Z of 5 states from 500 draws") && text.contains("All states hang together"),
        "{text}"
    );
    // The last state has density zero at all draws but its own.
    let apart =
        file(folder.path(), |l, row, v| if (l == 4) != (row >= 450) { "-inf".into() } else { v.to_string() });
    let result = json(&["logz", apart.to_str().unwrap(), "--states", "u_*"]);
    let text = result["warnings"].to_string();
    assert!(text.contains("{u_10, u_20, u_30, u_40} and {u_50}"), "{text}");
    assert_eq!(result["states"]["u_50"]["se"].as_f64(), Some(1e308));
}

#[test]
fn bad_draws_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(folder.path(), plain);
    let good = good.to_str().unwrap().to_owned();
    let told = refused(&["logz", &good, "--states", "v_*"], 2);
    assert!(told.contains("v_*") && told.contains("u_10"), "{told}");
    assert!(refused(&["logz", &good, "--states", "u_*", "--counts", "1,2"], 2).contains("5 states"));
    assert!(refused(&["logz", &good, "--states", "u_*", "--counts", "1,1,1,1,1"], 2).contains("500 rows"));
    assert!(refused(&["logz", &good, "--states", "u_*", "--reference", "w"], 2).contains("`w`"));
    assert!(refused(&["logz", &good, "--states", "u_10,u_20,u_30,u_40,u_50"], 1).contains("row 1"));
    assert!(refused(&["logz", &good, "--states", "u_*", "--state-column", "u_10"], 1).contains("u_10"));
    let spoilt = |l: usize, row: usize, v: f64| {
        if (l, row) == (1, 41) { "NaN".to_owned() } else { v.to_string() }
    };
    let bad = file(folder.path(), spoilt);
    let told = refused(&["logz", bad.to_str().unwrap(), "--states", "u_*"], 1);
    assert!(told.contains("row 42") && told.contains("u_20"), "{told}");
    let zero = |l: usize, row: usize, v: f64| {
        if (l, row) == (0, 41) { "-inf".to_owned() } else { v.to_string() }
    };
    let bad = file(folder.path(), zero);
    let told = refused(&["logz", bad.to_str().unwrap(), "--states", "u_*"], 1);
    assert!(told.contains("row 42") && told.contains("u_10") && told.contains("density zero"), "{told}");
}

#[test]
fn a_path_finds_the_quartic_and_repeats_itself() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("quartic.toml");
    std::fs::write(&model, "variables = [\"x\"]\nlog_density = \"x^2/2 - x^4/4\"\n").unwrap();
    let model = model.to_str().unwrap();
    let page = folder.path().join("page.html");
    let arguments = ["logz", "--path", "--model", model, "--noise", "normal(-5, 0.25)", "--draws", "800"];
    let first = json(&arguments);
    let (log_z, se) = (first["log_z"].as_f64().unwrap(), first["se"].as_f64().unwrap());
    assert!((log_z - 1.362_293).abs() < 4.0 * se && se < 0.3, "{log_z} {se}");
    let path = first["path"].as_array().unwrap();
    assert!(path.len() > 4 && path[0]["t"] == 0.0 && path[path.len() - 1]["t"] == 1.0);
    assert_eq!(first["moves"], "hamiltonian");
    let again = json(&[&arguments[..], &["--threads", "1", "--report", page.to_str().unwrap()]].concat());
    assert_eq!(first, again);
    assert!(std::fs::read_to_string(page).unwrap().contains("A normalizing constant by a path"));
    // A noise of its own making.
    let own = json(&["logz", "--path", "--model", model, "--draws", "800", "--moves", "random-walk"]);
    let (log_z, se) = (own["log_z"].as_f64().unwrap(), own["se"].as_f64().unwrap());
    assert!((log_z - 1.362_293).abs() < 4.0 * se && se < 0.1, "{log_z} {se}");
    let text = command().args(["logz", "--path", "--model", model, "--draws", "200"]).assert().success();
    assert!(String::from_utf8_lossy(&text.get_output().stdout).contains("log Z = 1."));
}

#[test]
fn paths_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.toml");
    std::fs::write(&model, "variables = [\"x\"]\nlog_density = \"-x^2/2\"\n").unwrap();
    let model = model.to_str().unwrap();
    assert!(refused(&["logz", "--path"], 2).contains("--model"));
    assert!(refused(&["logz", "--path", "--model", model, "--moves", "jump"], 2).contains("`jump`"));
    assert!(refused(&["logz", "--path", "--model", model, "--draws", "5"], 2).contains("draws"));
    assert!(refused(&["logz", "--path", "--model", model, "--path-states", "1"], 2).contains("at least 2"));
    assert!(refused(&["logz", "d.csv", "--path", "--model", model], 2).contains("leave it out"));
    assert!(refused(&["logz", "d.csv", "--model", model], 2).contains("noise"));
    refused(&["logz"], 2);
}

/// Two files of draws of N(0, 1) against N(0.5, 1.2²), by rule, with the chains of the first in three columns.
fn two_files(folder: &Path) -> (String, String) {
    let point = |i: usize, shift: f64| {
        let u = ((i as f64 + 0.5) * 0.618_033_988_749_894_9 + shift) % 1.0;
        (u / (1.0 - u)).ln() / 1.7
    };
    let row = |x: f64| format!("{},{}", -0.5 * x * x, -0.5 * ((x - 0.5) / 1.2).powi(2) - 1.2f64.ln() - 0.919);
    let mut data = "x,run,chain,log_f,log_noise\n".to_owned();
    for i in 0..400 {
        let name = ["left", "right", "1.0"][i % 3];
        writeln!(data, "{},{name},{},{}", point(i, 0.0), i % 3, row(point(i, 0.0))).unwrap();
    }
    let mut noise = "x,log_f,log_noise\n".to_owned();
    for i in 0..400 {
        let x = 0.5 + 1.2 * point(i, 0.3);
        writeln!(noise, "{x},{}", row(x)).unwrap();
    }
    let place = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    (place("data.csv", data), place("noise.csv", noise))
}

fn model(folder: &Path, text: &str) -> String {
    let path = folder.join("model.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_option_goes_with_its_way_or_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (data, noise) = two_files(folder.path());
    let states = file(folder.path(), plain);
    let states = states.to_str().unwrap();
    let model = model(folder.path(), "variables = ['x']\nlog_density = '-x^2/2'");
    let columns = ["logz", &data, &noise];
    let points = ["logz", &data, "--model", &model, "--noise", "normal(0.5, 1.44)"];
    let many = ["logz", states, "--states", "u_*"];
    let path = ["logz", "--path", "--model", &model];
    let evidence = ["evidence", &model, &data];
    let wrong: Vec<(&[&str], &[&str], &str)> = vec![
        (&columns, &["--counts", "1,2"], "--counts goes with --states"),
        (&columns, &["--state-column", "run"], "--state-column goes with --states"),
        (&columns, &["--reference", "u_10"], "--reference goes with --states"),
        (&columns, &["--moves", "auto"], "--moves goes with --path"),
        (&columns, &["--thin", "2"], "--thin goes with --path"),
        (&columns, &["--at", "a=1"], "--at goes with --model and --noise or with --path"),
        (&columns, &["--noise", "normal(0,1)"], "--noise goes with"),
        (&columns, &["--draws", "10"], "--draws goes with"),
        (&columns, &["--independent", "--chain", "run"], "leave one out"),
        (&points, &["--ratio"], "--ratio goes with files"),
        (&points, &["--log-f", "log_f"], "--log-f goes with files"),
        (&points, &["--chains", "2"], "--chains goes with --path"),
        (&points, &["--noise-chain", "c"], "there is none"),
        (&many, &["--price-data", "2"], "--price-data goes with"),
        (&many, &["--price-noise", "2"], "--price-noise goes with"),
        (&many, &["--budget", "2"], "--budget goes with"),
        (&many, &["--confidence", "0.9"], "--confidence goes with"),
        (&many, &["--bootstrap", "20"], "--bootstrap goes with"),
        (&many, &["--alpha", "log_f"], "--alpha goes with"),
        (&many, &["--power", "0.5"], "--power goes with"),
        (&many, &["--weight-by-ess"], "--weight-by-ess goes with"),
        (&many, &["--warm-up", "5"], "--warm-up goes with --path"),
        (&many, &["--model", "m.toml"], "--model goes with"),
        (&many, &["--path"], "choose one"),
        (&many, &["--counts", "100,200,0,150,50", "--state-column", "state"], "leave one out"),
        (&path, &["--independent"], "--independent goes with"),
        (&path, &["--format", "csv"], "--format goes with"),
        (&path, &["--chain", "run"], "--chain goes with"),
        (&path, &["--power", "0.5"], "--power goes with"),
        (&path, &["--price-noise", "1"], "--price-noise goes with"),
        (&evidence, &["--independent", "--chain", "chain"], "leave one out"),
        (&evidence, &["--symmetrize", "--noise", "mixture"], "has no centre"),
    ];
    for (base, more, says) in wrong {
        let told = refused(&[base, more].concat(), 2);
        assert!(told.contains(says) && told.trim_end().lines().count() == 1, "{more:?}: {told}");
    }
    let narrow =
        json(&[&path[..], &["--confidence", "0.5", "--draws", "400", "--noise", "normal(1, 2)"]].concat());
    let reach = narrow["upper"].as_f64().unwrap() - narrow["log_z"].as_f64().unwrap();
    assert!(reach < narrow["se"].as_f64().unwrap());
}

#[test]
fn chains_may_have_any_labels() {
    let folder = tempfile::tempdir().unwrap();
    let (data, noise) = two_files(folder.path());
    let by = |column: &str| json(&["logz", &data, &noise, "--chain", column]);
    assert_eq!(by("run"), by("chain"));
    assert_eq!(by("run")["data"]["chains"], 3);
    let model = model(folder.path(), "variables = ['x']\nlog_density = '-x^2/2'");
    let by = |column: &str| json(&["evidence", &model, &data, "--chain", column]);
    assert_eq!(by("run"), by("chain"));
    assert_eq!(by("run")["chains"].as_array().unwrap().len(), 3);
}

#[test]
fn a_constant_density_has_the_logarithm_of_the_volume() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..500)
        .map(|i| format!("{}\n", 2.0 * ((i as f64 + 0.5) * 0.618_033_988_749_895 % 1.0) + 1.0))
        .collect();
    let draws = folder.path().join("draws.csv");
    std::fs::write(&draws, format!("x\n{text}")).unwrap();
    let model = model(folder.path(), "variables = ['x']\nlog_density = '0'\ndomain = { x = [1, 3] }");
    let answer = json(&["evidence", &model, draws.to_str().unwrap()]);
    let (found, se) = (answer["log_evidence"].as_f64().unwrap(), answer["se"].as_f64().unwrap());
    assert!((found - 2f64.ln()).abs() < 4.0 * se && se < 0.1, "{answer}");
}

#[test]
fn the_same_draws_given_twice_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (data, _) = two_files(folder.path());
    assert!(refused(&["logz", &data, &data], 2).contains("both densities"));
    let copy = folder.path().join("copy.csv");
    std::fs::copy(&data, &copy).unwrap();
    let copy = copy.to_str().unwrap();
    assert!(refused(&["logz", &data, copy], 1).contains("the same draws"));
    let model = model(folder.path(), "variables = ['x']\nlog_density = '-x^2/2'");
    assert!(refused(&["evidence", &model, &data, &data], 2).contains("given twice"));
    assert!(refused(&["evidence", &model, &data, copy], 1).contains("chains 1 and 2 are the same draws"));
}

#[test]
fn a_result_without_an_answer_is_shown_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let side = |name: &str, mean: f64| {
        let rows = (0..50).map(|i| {
            let x = mean + (f64::from(i) - 24.5) / 20.0;
            format!("{},{}\n", -0.5 * x * x, -0.5 * (x - 40.0f64).powi(2))
        });
        let path = folder.path().join(name);
        std::fs::write(&path, format!("log_f,log_noise\n{}", rows.collect::<String>())).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (data, noise) = (side("d.csv", 0.0), side("n.csv", 40.0));
    let run = command().args(["logz", &data, &noise]).assert().failure().code(1);
    let shown = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(shown.contains("nce") && shown.contains("is refused"), "{shown}");
    let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(told.starts_with("error: no estimate can be trusted") && told.lines().count() == 1, "{told}");
    let run = command().args(["logz", &data, &noise, "--json", "--quiet"]).assert().failure().code(1);
    let text = String::from_utf8_lossy(&run.get_output().stdout).replace("1e999", "1e308");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(answer["refused"].is_string() && answer["estimates"]["nce"]["refused"].is_string());
    // States of which no two overlap, and a path that misses a mode.
    let apart = folder.path().join("apart.csv");
    std::fs::write(&apart, "state,u_1,u_2\n1,0,-inf\n1,0,-inf\n2,-inf,0\n2,-inf,0\n").unwrap();
    let run = command().args(["logz", apart.to_str().unwrap(), "--states", "u_*"]).assert().failure().code(1);
    assert!(String::from_utf8_lossy(&run.get_output().stdout).contains("u_2"));
    let model =
        model(folder.path(), "variables = ['x']\nlog_density = 'log(exp(-(x-10)^2/2) + exp(-(x+10)^2/2))'");
    let arguments = ["logz", "--path", "--model", &model, "--noise", "normal(10, 2)", "--draws", "400"];
    let run = command().args(arguments).assert().failure().code(1);
    assert!(String::from_utf8_lossy(&run.get_output().stdout).contains("log Z by a path"));
    assert!(String::from_utf8_lossy(&run.get_output().stderr).contains("never came to"));
}

#[test]
fn the_overlap_picture_names_every_state_on_both_axes() {
    let folder = tempfile::tempdir().unwrap();
    let draws = file(folder.path(), plain);
    let page = folder.path().join("page.html");
    json(&["logz", draws.to_str().unwrap(), "--states", "u_*", "--report", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    for name in ["u_10", "u_20", "u_30", "u_40", "u_50"] {
        assert!(page.matches(&format!(">{name}</text>")).count() >= 2, "{name}");
    }
}
