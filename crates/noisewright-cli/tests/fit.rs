//! `noisewright fit` and `noisewright ratio`: what they print, write and refuse.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn command() -> Command {
    Command::cargo_bin("noisewright").unwrap()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn json(arguments: &[&str], files: &[PathBuf]) -> Value {
    let run = command().args(arguments).args(files).args(["--json", "--quiet"]).assert().success();
    assert!(run.get_output().stderr.is_empty());
    // Infinity is written as a number that Python and R read, and serde does not.
    let text = String::from_utf8_lossy(&run.get_output().stdout).replace("1e999", "\"infinite\"");
    serde_json::from_str(&text).unwrap()
}

fn old_faithful() -> [PathBuf; 2] {
    [example("old-faithful/model.toml"), example("old-faithful/faithful.csv")]
}

#[test]
fn old_faithful_is_fitted_to_its_maximum_likelihood() {
    let fit = json(&["fit", "--noise", "exact"], &old_faithful());
    let reference = [("t1", 0.975594), ("t2", 1.351029), ("t3", -0.659142), ("t4", -0.757242)];
    for (name, value) in reference {
        let found = fit["parameters"][name]["estimate"].as_f64().unwrap();
        assert!((found - value).abs() < 1e-5, "{name}: {found}");
        assert_eq!(fit["parameters"][name]["se_noise"], 0.0);
    }
    assert!((fit["log_normalizer"]["estimate"].as_f64().unwrap() - 1.492666).abs() < 1e-5);
    assert_eq!(fit["nu"], "infinite");
}

/// Every number and every warning; only how often the file was read is the stream's own.
#[test]
fn whole_and_streamed_fits_are_the_same_on_any_number_of_threads() {
    for words in [
        &["--noise", "normal(0, 4)", "--nu", "20"][..],
        &[],
        &["--noise", "normal", "--nu", "2", "--refit-noise"],
        &["--noise", "optimal", "--nu", "2"],
        &["--noise", "normal(0, 4)", "--nu", "3", "--check-nu", "--loss", "kl"],
    ] {
        let words = [&["fit"][..], words].concat();
        let whole = json(&words, &old_faithful());
        let mut streamed = json(&[&words[..], &["--stream", "--threads", "3"]].concat(), &old_faithful());
        assert!(streamed["passes"].as_u64().unwrap() >= 1 && whole["passes"].is_null());
        streamed["passes"] = Value::Null;
        assert_eq!(whole, streamed, "{words:?}");
    }
}

#[test]
fn a_stream_is_refused_what_the_whole_is() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.toml");
    let text = "variables = ['x']\nlog_density = '-(x - m)^2/2'\nnormalized = true\n[parameters]\nm = 0\n";
    std::fs::write(&model, text).unwrap();
    let data = example("old-faithful/faithful.csv");
    for stream in [&[][..], &["--stream"]] {
        let run = command().arg("fit").args([&model, &data]).args(stream).assert().code(1);
        let message = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(message.contains("says it is normalized"), "{message}");
    }
    let run =
        command().arg("fit").args(old_faithful()).args(["--stream", "--noise", "exact"]).assert().code(2);
    assert!(String::from_utf8_lossy(&run.get_output().stderr).contains("needs the rows in memory"));
}

#[test]
fn a_page_and_fitted_values_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (page, fitted) = (folder.path().join("page.html"), folder.path().join("fitted.csv"));
    let run = command()
        .arg("fit")
        .args(old_faithful())
        .arg("--report")
        .arg(&page)
        .arg("--out")
        .arg(&fitted)
        .assert()
        .success();
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(text.contains("std. error") && text.contains("272 rows"), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Data against the fitted model") && page.matches("<svg").count() >= 6);
    let fitted = std::fs::read_to_string(fitted).unwrap();
    assert!(fitted.starts_with("x,log_density\n"));
    assert_eq!(fitted.lines().count(), 273);
}

#[test]
fn a_ratio_of_two_samples_is_read_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, noise, seed) in [("a.csv", "normal(1, 1)", "1"), ("b.csv", "normal(0, 1)", "2")] {
        command()
            .args(["sample", "2000", "--noise", noise, "--seed", seed, "--out"])
            .arg(path(name))
            .assert()
            .success();
    }
    let fit = json(&["ratio", "--features", "linear", "--columns", "x"], &[path("a.csv"), path("b.csv")]);
    let slope = &fit["parameters"]["x"];
    // log p1/p2 = x − 1/2.
    let distance = (slope["estimate"].as_f64().unwrap() - 1.0).abs();
    assert!(distance < 4.0 * slope["se"].as_f64().unwrap(), "{slope}");
}

#[test]
fn a_ratio_takes_columns_that_formulas_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, columns: &str, by: f64| {
        let row = |t: f64| format!("{},{}", (1.7 * t).sin() + by, (2.3 * t + 0.4).cos() * 2.0);
        let rows: Vec<String> = (0..200).map(f64::from).map(row).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{columns}\n{}\n", rows.join("\n"))).unwrap();
        path
    };
    let fitted = |features: &str, columns: &str| {
        let files = [write("first.csv", columns, 0.3), write("second.csv", columns, 0.0)];
        json(&["ratio", "--features", features], &files)
    };
    for (features, count) in [("linear", 2), ("quadratic", 5)] {
        let (odd, plain) = (fitted(features, "petal length,exp"), fitted(features, "a,b"));
        let names = [
            ("petal length", "a"),
            ("exp", "b"),
            ("petal length^2", "a^2"),
            ("exp^2", "b^2"),
            ("petal length*exp", "a*b"),
        ];
        assert_eq!(odd["parameters"].as_object().unwrap().len(), count);
        for (odd_name, name) in &names[..count] {
            let (one, other) = (&odd["parameters"][odd_name], &plain["parameters"][name]);
            assert!(one.is_object(), "{odd}");
            assert_eq!(one, other);
        }
    }
}

#[test]
fn data_without_an_answer_are_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = (folder.path().join("m.toml"), folder.path().join("d.csv"));
    std::fs::write(&model, "variables = [\"x\"]\nfamily = \"gaussian\"\n").unwrap();
    for (text, says) in [
        ("", "is empty"),
        ("x\n1\nNA\n", "--drop-missing"),
        ("x\n1\n1\n1\n1\n", "never varies"),
        ("y\n1\n2\n", "its columns are y"),
    ] {
        std::fs::write(&data, text).unwrap();
        let run = command().arg("fit").arg(&model).arg(&data).assert().code(1);
        let message = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(message.starts_with("error: ") && message.contains(says), "{message}");
        assert_eq!(message.matches('\n').count(), 1, "{message}");
        assert!(run.get_output().stdout.is_empty());
    }
}

#[test]
fn what_only_noise_can_use_is_refused_without_noise() {
    for option in [
        &["--nu", "5"][..],
        &["--loss", "kl"],
        &["--max-noise", "10"],
        &["--noise-points", "10"],
        &["--check-nu"],
    ] {
        let run =
            command().args(["fit", "--noise", "exact"]).args(option).args(old_faithful()).assert().code(2);
        let message = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(message.contains(option[0]) && message.contains("noise exact"), "{message}");
        assert_eq!(message.matches('\n').count(), 1, "{message}");
    }
    let fit = json(&["fit", "--noise", "exact"], &old_faithful());
    assert_eq!(fit["loss_name"], "likelihood");
    let few = json(&["fit", "--max-noise", "600", "--draws", "random"], &old_faithful());
    assert_eq!((few["noise_points"].as_u64(), &few["loss_name"]), (Some(600), &Value::from("js")));
    // Sixteen scrambles of a power of two.
    let few = json(&["fit", "--max-noise", "600"], &old_faithful());
    assert_eq!((few["noise_points"].as_u64(), &few["draws"]), (Some(512), &Value::from("quiet")));
}

#[test]
fn a_row_without_density_is_named_with_its_file_and_value() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = (folder.path().join("m.toml"), folder.path().join("d.csv"));
    let rows: Vec<String> = (1..40).map(|i| format!("{}", f64::from(i) / 40.0)).collect();
    std::fs::write(&data, format!("x\n{}\n0\n", rows.join("\n"))).unwrap();
    for text in ["family = 'beta'", "features = ['log(x)', 'log1p(-x)']\ndomain = { x = [0, 1] }"] {
        std::fs::write(&model, format!("variables = ['x']\n{text}\n")).unwrap();
        for noise in ["auto", "exact"] {
            let run = command().args(["fit", "--noise", noise]).arg(&model).arg(&data).assert().code(1);
            let message = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
            assert!(
                message.contains("d.csv, row 40: `x` = 0") && message.contains("leave that row out"),
                "{message}"
            );
            assert_eq!(message.matches('\n').count(), 1, "{message}");
        }
    }
}

/// Fifty spins with all couplings, 1,275 parameters, and 2,600 rows of independent ones (by a linear congruential generator).
fn many_spins(folder: &Path) -> [PathBuf; 2] {
    let files = [folder.join("spins.toml"), folder.join("spins.csv")];
    let names: Vec<String> = (0..50).map(|j| format!("s{j}")).collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let model = format!("variables = [{}]\nfamily = 'ising'\nstates = [-1, 1]\n", quoted.join(", "));
    let mut state = 1u64;
    let mut spin = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 0 { "-1" } else { "1" }
    };
    let rows: Vec<String> =
        (0..2600).map(|_| (0..50).map(|_| spin()).collect::<Vec<_>>().join(",")).collect();
    std::fs::write(&files[0], model).unwrap();
    std::fs::write(&files[1], format!("{}\n{}\n", names.join(","), rows.join("\n"))).unwrap();
    files
}

#[test]
fn json_of_very_many_parameters_is_short() {
    // A lasso that selects none of them takes a fraction of a second. Its errors are `null`: with numbers in their place, of at most
    // 24 characters for the four of `null`, there would be 20 more for each. With covariances it was 143 MB.
    let folder = tempfile::tempdir().unwrap();
    let words =
        ["fit", "--penalty", "lasso:10", "--noise", "bernoulli(0.5)", "--nu", "1", "--json", "--quiet"];
    let printed = |more: &[&str]| {
        let run = command().args(words).args(more).args(many_spins(folder.path())).assert().success();
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let short = printed(&[]);
    let fit: Value = serde_json::from_str(&short.replace("1e999", "9e99")).unwrap();
    assert_eq!(fit["parameters"].as_object().unwrap().len(), 1275);
    assert!(fit["covariance"].is_null() && fit["penalty"]["path"][0]["values"].is_null());
    let most = short.len() + 20 * short.matches("null").count();
    assert!(most < 2_000_000, "{most} characters");
    // Three matrices of 1,276 rows, of at least six characters a number.
    assert!(printed(&["--matrices"]).len() > 3 * 6 * 1276 * 1276);
}

/// What is infinite among the diagnostics was `null` there, and `1e999` elsewhere in the same object. The ratios of a model of four
/// spins to noise take sixteen values, whose largest are equal: the Pareto shape of their tail is −∞.
#[test]
fn what_is_infinite_among_the_diagnostics_is_written_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("spins.toml");
    std::fs::write(&model, "variables = ['s0', 's1', 's2', 's3']\nfamily = 'ising'\n").unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/doors/data/spins.csv");
    let run = command().args(["fit", "--nu", "3", "--json", "--quiet"]).arg(&model).arg(&data).assert();
    let text = String::from_utf8(run.success().get_output().stdout.clone()).unwrap();
    assert!(text.contains("\"pareto_k\": -1e999"), "{text}");
}
