//! `noisewright reproduce`: files, names, and what it prints.
#![cfg(feature = "reproduce")]
#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use serde_json::Value;

fn command() -> Command {
    Command::cargo_bin("noisewright").unwrap()
}

#[test]
fn a_table_and_a_figure_give_a_page_pictures_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/paper");
    let run = command().args(["reproduce", "tab1", "fig7", "--out"]).arg(&out).assert().success();
    let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(told.contains("fig7") && told.contains("tab1") && told.contains(" s "), "{told}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let page = read("index.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Figure 7") && page.contains("Table 1"));
    assert!(!page.contains("<script") && !page.contains("http://cdn"));
    assert!(read("fig7.svg").starts_with("<svg"));
    assert!(read("fig7.csv").starts_with("panel,kind,series"));
    assert!(read("tab1.csv").contains("revKL"));
    let values: Value = serde_json::from_str(&read("values.json")).unwrap();
    // In the order of the paper, whatever the order of the names.
    assert_eq!(values["items"][0]["name"], "fig7");
    assert_eq!(values["items"][1]["name"], "tab1");
    let parts = std::fs::read_dir(&out).unwrap().filter_map(Result::ok);
    assert!(parts.into_iter().all(|f| !f.file_name().to_string_lossy().ends_with(".part")));
}

#[test]
fn json_is_all_there_is_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let run = command()
        .args(["reproduce", "tab3", "--json", "--quiet", "--out"])
        .arg(folder.path())
        .assert()
        .success();
    assert!(run.get_output().stderr.is_empty());
    let object: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(object["items"][0]["name"], "tab3");
    assert!(object["items"][0]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(object["items"][0]["values"]["rows"].as_array().unwrap().len(), 4);
}

#[test]
fn an_unknown_name_is_wrong_usage_and_gets_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let run = command().args(["reproduce", "fig8", "--out"]).arg(folder.path()).assert().code(2);
    let message = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(
        message.contains("`fig8`") && message.contains("fig1") && message.contains("errata"),
        "{message}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let run = command().args(["reproduce", "tab1", "--out"]).arg(&file).assert().code(1);
    let message = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(message.contains("file") && message.matches('\n').count() == 1, "{message}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let values = |threads: &str| {
        let folder = tempfile::tempdir().unwrap();
        let run = command()
            .args(["reproduce", "tab3", "fig2", "--json", "--quiet", "--threads", threads, "--out"])
            .arg(folder.path())
            .assert()
            .success();
        let object: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
        (object["items"][0]["values"].clone(), object["items"][1]["values"].clone())
    };
    assert_eq!(values("1"), values("3"));
}
