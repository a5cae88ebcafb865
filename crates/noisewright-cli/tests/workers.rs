//! Fits by worker processes: the same JSON, and one sentence where they refuse.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use noisewright::{Normal, sample};
use noisewright_data::{write_csv, write_parquet};
use serde_json::Value;
use support::{json, refused};
use tempfile::TempDir;

/// A folder with a model and two files of more rows than are held in memory.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.toml"), "variables = ['x']\nfeatures = ['x', 'x^2']\n").unwrap();
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 290_000, 1);
    let (first, second) = points.view().column(0).split_at(123_456);
    for (name, part) in [("a.parquet", first), ("b.parquet", second)] {
        write_parquet(folder.path().join(name), &["x"], &[part.to_vec()]).unwrap();
    }
    folder
}

const FIT: [&str; 6] = ["fit", "m.toml", "a.parquet", "b.parquet", "--nu", "1"];

#[test]
fn workers_give_the_numbers_of_one_process() {
    let folder = folder();
    let whole = json(&folder, &FIT);
    for workers in [&["--workers", "1"][..], &["--workers", "3"]] {
        let mut shared = json(&folder, &[&FIT[..], workers].concat());
        assert!(shared["passes"].as_u64().unwrap() > 3);
        shared["passes"] = Value::Null;
        assert_eq!(whole, shared, "{workers:?}");
    }
}

/// Clusters with rows everywhere, in memory, streamed and by workers.
#[test]
fn clusters_that_span_blocks() {
    let folder = folder();
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 290_000, 1);
    let pools: Vec<f64> = (0..290_000).map(|row| f64::from(row % 1_009 * 7_919 % 1_009)).collect();
    let columns = [points.view().column(0).to_vec(), pools];
    write_parquet(folder.path().join("c.parquet"), &["x", "pool"], &columns).unwrap();
    let words = ["fit", "m.toml", "c.parquet", "--nu", "1", "--cluster", "pool"];
    let found = |more: &[&str]| {
        let mut found = json(&folder, &[&words[..], more].concat());
        ["passes", "dependence"].iter().for_each(|what| found[*what] = Value::Null);
        found
    };
    let whole = found(&[]);
    let independent = json(&folder, &words[..5]);
    assert_eq!(whole["parameters"]["x"]["estimate"], independent["parameters"]["x"]["estimate"]);
    assert_ne!(whole["parameters"]["x"]["se"], independent["parameters"]["x"]["se"]);
    assert_eq!(whole, found(&["--stream"]));
    assert_eq!(whole, found(&["--workers", "2"]));
    let chained = [&words[..5], &["--chain-column", "pool", "--workers", "2"]].concat();
    assert!(refused(&folder, &chained, 2).contains("--workers"));
}

/// Rows of text and of arrays are found by their places, and give the numbers of one process too.
#[test]
fn workers_read_csv_and_npy() {
    let folder = folder();
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 290_000, 1);
    let (first, second) = points.view().column(0).split_at(123_456);
    write_csv(folder.path().join("a.csv"), &["x"], &[first.to_vec()]).unwrap();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", second.len());
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    npy.extend(header.as_bytes());
    second.iter().for_each(|x| npy.extend(x.to_le_bytes()));
    std::fs::write(folder.path().join("b.npy"), npy).unwrap();
    let mut shared = json(&folder, &["fit", "m.toml", "a.csv", "b.npy", "--nu", "1", "--workers", "2"]);
    let mut whole = json(&folder, &FIT);
    for found in [&mut shared, &mut whole] {
        found["passes"] = Value::Null;
        found["data"] = Value::Null;
    }
    assert_eq!(whole, shared);
}

/// Any program that starts the command elsewhere can be the host of a worker: here a shell that loses every third one.
#[cfg(unix)]
#[test]
fn another_host_that_loses_workers() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let host = folder.path().join("host");
    let binary = assert_cmd::cargo::cargo_bin("noisewright");
    let script = format!(
        "#!/bin/sh\necho >> started\nif [ $(wc -l < started) -le 3 ]; then read line; kill -9 $$; fi\nexec {} \"$@\"\n",
        binary.display()
    );
    std::fs::write(&host, script).unwrap();
    std::fs::set_permissions(&host, std::fs::Permissions::from_mode(0o755)).unwrap();
    let words = [&FIT[..], &["--workers", "2", "--worker-command", "./host"]].concat();
    let mut shared = json(&folder, &words);
    shared["passes"] = Value::Null;
    assert_eq!(json(&folder, &FIT), shared);
    // Three were lost; one of those in their place may have done all before the other began.
    let started = std::fs::read_to_string(folder.path().join("started")).unwrap().lines().count();
    assert!((4..=5).contains(&started), "{started}");
    std::fs::write(&host, "#!/bin/sh\nkill -9 $$\n").unwrap();
    let told = refused(&folder, &words, 1);
    assert!(told.contains("5 worker processes in a row were lost"), "{told}");
}

#[test]
fn what_workers_cannot_read_is_one_sentence() {
    let folder = folder();
    std::fs::write(folder.path().join("c.csv"), "x\n1\n2,2\n3\n").unwrap();
    let csv = refused(&folder, &["fit", "m.toml", "c.csv", "--workers", "1"], 1);
    assert!(csv.contains("c.csv, row 2 (line 3)"), "{csv}");
    write_parquet(folder.path().join("d.parquet"), &["x"], &[vec![1.0, f64::INFINITY, 3.0]]).unwrap();
    let bad = refused(&folder, &["fit", "m.toml", "a.parquet", "d.parquet", "--workers", "1"], 1);
    assert!(bad.contains("d.parquet, row 2"), "{bad}");
    let whole = std::fs::read(folder.path().join("a.parquet")).unwrap();
    std::fs::write(folder.path().join("e.parquet"), &whole[..whole.len() / 2]).unwrap();
    let cut = refused(&folder, &["fit", "m.toml", "e.parquet", "--workers", "1"], 1);
    assert!(cut.contains("e.parquet"), "{cut}");
    refused(&folder, &[&FIT[..], &["--workers", "0"]].concat(), 2);
}

/// Rows that come with a request are summed as those of a file are.
#[test]
fn a_block_by_standard_input_is_that_of_the_file() {
    let folder = folder();
    let request = "{\"known\": 0, \"answers\": [], \"run\": [0, 4096], \"reads\": true}\n";
    let rows = noisewright_data::read(folder.path().join("a.parquet"), &noisewright_data::Options::default())
        .unwrap();
    let bytes: Vec<u8> = rows.column("x").unwrap()[..4096].iter().flat_map(|x| x.to_le_bytes()).collect();
    let answer = |words: &[&str], input: &[u8]| {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("noisewright"))
            .current_dir(folder.path())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap().stdout
    };
    let read = answer(&["block", "m.toml", "a.parquet", "b.parquet"], request.as_bytes());
    let handed = [request.as_bytes(), &bytes].concat();
    let given = answer(&["block", "m.toml", "-", "--rows", "290000"], &handed);
    assert!(!read.is_empty() && read == given, "{} and {} bytes", read.len(), given.len());
    // A worker that has not been at the steps before asks for the log.
    let late = "{\"known\": 1, \"answers\": [], \"run\": [0, 4096], \"reads\": false}\n";
    let asked = answer(&["block", "m.toml", "a.parquet", "b.parquet"], late.as_bytes());
    assert!(String::from_utf8_lossy(&asked).contains("\"needs\":\"log\""));
}
