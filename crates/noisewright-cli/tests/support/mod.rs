//! The command in a folder of its own: what it prints, and what it refuses.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn run(folder: &TempDir, words: &[&str]) -> Assert {
    Command::cargo_bin("noisewright").unwrap().current_dir(folder.path()).args(words).assert()
}

/// What it prints with `--json`; infinity is the text `infinite`.
pub(crate) fn json(folder: &TempDir, words: &[&str]) -> Value {
    let done = run(folder, &[words, &["--json"]].concat()).success();
    let text = String::from_utf8_lossy(&done.get_output().stdout).replace("1e999", "\"infinite\"");
    serde_json::from_str(&text).unwrap()
}

/// The one sentence with which it ends; indented lines below it may point to a place in a formula.
pub(crate) fn refused(folder: &TempDir, words: &[&str], code: i32) -> String {
    let done = run(folder, words).code(code);
    let told = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert_eq!(told.lines().filter(|line| !line.starts_with(' ')).count(), 1, "{told}");
    told
}
