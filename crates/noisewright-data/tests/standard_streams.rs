//! `-` is standard input to the readers and standard output to the writer; seen from a process of its own.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::process::{Command, Stdio};

use noisewright_data::{Options, read, write_csv};

/// Set in the process that the test below starts.
const COPIES: &str = "NOISEWRIGHT_TEST_COPIES";

/// In that process: copies standard input to standard output, columns swapped.
#[test]
fn copy() {
    if std::env::var_os(COPIES).is_none() {
        return;
    }
    let table = read("-", &Options::default().columns(&["y", "x"]).names(&["x", "y"])).unwrap();
    assert_eq!(table.source(), "standard input");
    write_csv("-", table.names(), table.columns()).unwrap();
}

fn copied(input: &[u8]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "copy", "--nocapture", "--quiet"])
        .env(COPIES, "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_dash_stands_for_the_standard_streams() {
    let text = copied(b"x;y\n1;2\n0.5;4\n");
    assert!(text.contains("y,x\n2.0,1.0\n4.0,0.5\n"), "{text}");
    let array = copied(include_bytes!("files/matrix_fortran.npy"));
    assert!(array.contains("y,x\n-2.0,1.5\n4.0,3.25\n6.0,1e-300\n"), "{array}");
}
