//! No command overwrites what it reads, or one of its outputs with another.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use assert_cmd::Command;

const MODEL: &str = "variables = [\"x\"]\nlog_density = \"-a*x^2/2\"\n[parameters]\na = 1.0\n";
const DATA: &str = "x\n0.5\n-1\n0.25\n1.5\n-0.75\n-0.5\n1.25\n-1.75\n";

/// A folder with a model, data, links to the data and a saved design, and the words run in it.
fn refused(words: &[&str], expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("m.toml"), MODEL).unwrap();
    fs::write(file("d.csv"), DATA).unwrap();
    fs::write(file("e.csv"), DATA).unwrap();
    fs::write(file("n.json"), "{}").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("d.csv", file("soft.csv")).unwrap();
    fs::hard_link(file("d.csv"), file("hard.csv")).unwrap();
    let run = Command::cargo_bin("noisewright")
        .unwrap()
        .current_dir(folder.path())
        .args(words)
        .assert()
        .code(2)
        .stdout("");
    let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert_eq!(told, format!("error: {expected}\n"), "{words:?}");
    for (name, text) in [("m.toml", MODEL), ("d.csv", DATA), ("e.csv", DATA), ("n.json", "{}")] {
        assert_eq!(fs::read_to_string(Path::new(&file(name))).unwrap(), text, "{words:?}: {name}");
    }
    assert!(!file("same").exists());
}

#[test]
fn inputs_are_never_overwritten() {
    let data =
        |flag: &str, name: &str| format!("{flag} {name} would overwrite the data: give it another name");
    let model = |flag: &str, name: &str| data(flag, name).replace("the data", "the model file");
    refused(&["fit", "m.toml", "d.csv", "--out", "d.csv"], &data("--out", "d.csv"));
    refused(&["fit", "m.toml", "d.csv", "--out", "./d.csv"], &data("--out", "./d.csv"));
    refused(&["fit", "m.toml", "d.csv", "--report", "hard.csv"], &data("--report", "hard.csv"));
    #[cfg(unix)]
    refused(&["fit", "m.toml", "d.csv", "--out", "soft.csv"], &data("--out", "soft.csv"));
    refused(&["fit", "m.toml", "e.csv", "d.csv", "--report", "d.csv"], &data("--report", "d.csv"));
    refused(&["fit", "m.toml", "d.csv", "--report", "m.toml"], &model("--report", "m.toml"));
    refused(&["design", "m.toml", "--out", "m.toml"], &model("--out", "m.toml"));
    refused(&["design", "m.toml", "--data", "d.csv", "--out", "d.csv"], &data("--out", "d.csv"));
    refused(&["error", "m.toml", "--report", "m.toml"], &model("--report", "m.toml"));
    refused(
        &["sample", "5", "--noise", "auto", "--data", "d.csv", "--out", "d.csv"],
        &data("--out", "d.csv"),
    );
    let other = |what: &str, flag: &str, name: &str| data(flag, name).replace("the data", what);
    refused(
        &["fit", "m.toml", "d.csv", "--noise", "file(\"n.json\")", "--out", "n.json"],
        &other("the noise's file", "--out", "n.json"),
    );
    refused(
        &["sample", "5", "--design", "n.json", "--out", "n.json"],
        &other("the design", "--out", "n.json"),
    );
    refused(
        &["ratio", "d.csv", "e.csv", "--points", "d.csv", "--out", "d.csv"],
        &other("the first sample", "--out", "d.csv"),
    );
    refused(
        &["logz", "e.csv", "d.csv", "--report", "d.csv"],
        &other("the draws of the noise", "--report", "d.csv"),
    );
    refused(&["evidence", "m.toml", "d.csv", "--report", "d.csv"], &other("the draws", "--report", "d.csv"));
    refused(
        &["simulate", "n.json", "5", "--given", "d.csv", "--out", "d.csv"],
        &other("the covariates", "--out", "d.csv"),
    );
    refused(&["simulate", "n.json", "5", "--data", "d.csv", "--report", "d.csv"], &data("--report", "d.csv"));
}

/// The copy of an example that somebody has changed is not replaced by the example.
#[test]
fn changed_examples_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let copy = || {
        let mut command = Command::cargo_bin("noisewright").unwrap();
        command.args(["examples", "wind", "--out"]).arg(folder.path()).assert()
    };
    copy().success();
    copy().success();
    let model = folder.path().join("examples/wind/model.toml");
    fs::write(&model, MODEL).unwrap();
    let run = copy().code(2);
    assert!(String::from_utf8_lossy(&run.get_output().stderr).contains("is not as it ships"));
    assert_eq!(fs::read_to_string(model).unwrap(), MODEL);
}

#[test]
fn two_outputs_never_share_a_file() {
    let shared = "--out and --report both write ./same: give each its own name";
    refused(&["fit", "m.toml", "d.csv", "--out", "same", "--report", "./same"], shared);
    refused(&["design", "m.toml", "--out", "same", "--report", "./same"], shared);
}

#[test]
fn files_that_cannot_be_are_refused_at_once() {
    let twice = "standard input (`-`) is given twice, and can be read once: save it as a file";
    refused(&["fit", "m.toml", "-", "-"], twice);
    refused(&["evidence", "m.toml", "-", "-"], twice);
    refused(&["logz", "-", "-"], twice);
    for (name, ending) in [("o.npy", "npy"), ("o.csv.gz", "gz"), ("o.XLSX", "xlsx")] {
        refused(
            &["sample", "5", "--noise", "normal(0, 1)", "--out", name],
            &format!(
                "--out: {name}: files that end in .{ending} are not written here; give a name that ends in .csv or \
                 .parquet"
            ),
        );
    }
}

#[cfg(unix)]
#[test]
fn devices_are_written_to() {
    for (out, rows) in [("/dev/stdout", 4), ("/dev/null", 0), ("-", 4)] {
        let run = Command::cargo_bin("noisewright")
            .unwrap()
            .args(["sample", "3", "--noise", "normal(0, 1)", "--out", out])
            .assert()
            .success();
        let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
        assert_eq!(text.lines().count(), rows, "{out}: {text}");
    }
}
