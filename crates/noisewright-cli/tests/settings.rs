//! A setting of a fit has an effect or is refused, as the table that all doors share says.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// The flag of a setting of the library.
fn flag(setting: &str) -> String {
    if setting == "check_ratio" { "--check-nu".into() } else { format!("--{}", setting.replace('_', "-")) }
}

#[test]
fn settings_without_effect_are_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(root.join("tests/settings.json")).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = (folder.path().join("m.toml"), folder.path().join("d.csv"));
    std::fs::write(&model, "variables = [\"x\"]\nlog_density = \"-a*x^2/2\"\n[parameters]\na = 1.0\n")
        .unwrap();
    let rows: String = (0..60).map(|i| format!("{}\n", f64::from(i % 13) / 4.0 - 1.5)).collect();
    std::fs::write(&data, format!("x\n{rows}")).unwrap();
    for row in &table {
        let words: Vec<&str> =
            row["command"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
        let mut command = Command::cargo_bin("noisewright").unwrap();
        let run = command.arg("fit").args([&model, &data]).args(&words).args(["--quiet", "--json"]).assert();
        let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        match row["refused"].as_array() {
            None => drop(run.success()),
            Some(says) => {
                run.code(2);
                let (setting, reason) = (says[0].as_str().unwrap(), says[1].as_str().unwrap());
                assert!(told.contains(&flag(setting)) && told.contains(reason), "{words:?}: {told}");
            }
        }
    }
}
