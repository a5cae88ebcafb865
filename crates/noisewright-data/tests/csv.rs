//! CSV files of all the shapes that programs write.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use noisewright_data::{Options, Stream, Table, read, read_from, write_csv};

fn table(text: &str) -> Table {
    read_from(text.as_bytes(), "d.csv", &Options::default()).unwrap()
}

#[test]
fn the_same_numbers_in_every_dress() {
    let expected = table("x,y\n1,2\n3,4\n");
    assert_eq!(expected.names(), ["x", "y"]);
    assert_eq!(expected.columns(), [vec![1.0, 3.0], vec![2.0, 4.0]]);
    for text in [
        "x,y\n1,2\n3,4",
        "x,y\r\n1,2\r\n3,4\r\n",
        "x,y\r1,2\r3,4\r",
        "\u{feff}x,y\n1,2\n3,4\n\n\n",
        "x;y\n1;2\n3;4\n",
        "x\ty\n1\t2\n3\t4\n",
        "# by hand\nx, y\n1, 2\n# half way\n3, 4\n# end\n",
        "\"x\",\"y\"\n\"1\",\"2\"\n3,4\n",
        "\"x\";y\n1.0;2e0\n+3;\"4.\"\n",
        "\n\nx,y\n\n1,2\n\n3,4\n  \n",
        "# a note \"\nx,y\n1,2\n# \"open, note\n3,4\n",
    ] {
        assert_eq!(table(text), expected, "{text:?}");
    }
}

#[test]
fn one_column_may_hold_labels() {
    let text = "run,x\n warm ,1\n\"cold, blue\",2\nwarm,3\nNA,4\n7,5\n";
    let options = Options::default().labels("run");
    let told = read_from(text.as_bytes(), "d.csv", &options).unwrap_err().to_string();
    assert!(told.contains("row 4") && told.contains("missing"), "{told}");
    let table = read_from(text.as_bytes(), "d.csv", &options.drop_missing(true)).unwrap();
    assert_eq!(table.columns(), [vec![0.0, 1.0, 0.0, 2.0], vec![1.0, 2.0, 3.0, 5.0]]);
}

#[test]
fn columns_not_asked_for_may_hold_anything() {
    let text = b"id,x,note\nA1,1,\"a, \"\"b\"\"\nc\"\nA2,2,\xe4\nA3,3,NA\n";
    let read = read_from(&text[..], "d.csv", &Options::default().columns(&["x"])).unwrap();
    assert_eq!(read.column("x").unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn dropped_rows_are_counted_and_only_the_taken_columns_matter() {
    let text = "x,y,z\n1,2,NA\nNA,3,4\n5,inf,6\n7,8,9\n";
    let options = Options::default().drop_missing(true).columns(&["y", "x"]);
    let read = read_from(text.as_bytes(), "d.csv", &options).unwrap();
    assert_eq!(read.columns(), [vec![2.0, 8.0], vec![1.0, 7.0]]);
    assert_eq!(read.dropped(), 2);
    let single =
        read_from("x\n1\n\n\n4\n\n".as_bytes(), "d.csv", &Options::default().drop_missing(true)).unwrap();
    assert_eq!((single.rows(), single.dropped()), (2, 2));
}

/// A spreadsheet's errors in the first column once made the row a comment: gone, and not even counted.
#[test]
fn a_row_that_begins_with_a_hash_is_never_lost() {
    let text = "x,y\n1,2\n#N/A,3\n#DIV/0!,4\n5,#REF!\n6,7\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.csv");
    for commented in ["", "# exported\n"] {
        std::fs::write(&path, format!("{commented}{text}")).unwrap();
        for (columns, kept) in [(["x", "y"], 2), (["y", "x"], 2)] {
            let options = Options::default().columns(&columns).drop_missing(true);
            let whole = read(&path, &options).unwrap();
            assert_eq!((whole.rows(), whole.dropped()), (kept, 3), "{commented:?}");
            let stream = Stream::open(&path, &options).unwrap();
            let mut blocks = stream.blocks().unwrap();
            assert_eq!(blocks.next_block().unwrap().unwrap().rows(), kept);
            assert_eq!(blocks.dropped(), 3);
        }
        let other = read(&path, &Options::default().columns(&["y"]).drop_missing(true)).unwrap();
        assert_eq!((other.columns()[0].as_slice(), other.dropped()), (&[2.0, 3.0, 4.0, 7.0][..], 1));
    }
}

#[test]
fn labels_may_begin_with_a_hash() {
    for commented in ["", "# by hand\n"] {
        let text = format!("{commented}id,x\n#A1,1\n#A2,2\nA3,3\n");
        let read = read_from(text.as_bytes(), "d.csv", &Options::default().columns(&["x"])).unwrap();
        assert_eq!(read.column("x").unwrap(), [1.0, 2.0, 3.0]);
    }
    // Below a comment a row may be taken out by a `#`, and a note may have commas.
    let text = "# by hand\nx,y\n1,2\n#3,4\n# five, six\n#seven, eight\n5,6\n";
    assert_eq!(table(text).column("x").unwrap(), [1.0, 5.0]);
}

#[test]
fn gzip_is_told_by_its_bytes_whatever_the_name() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"x\n1\n2\n").unwrap();
    let packed = encoder.finish().unwrap();
    let read = read_from(&packed[..], "-", &Options::default()).unwrap();
    assert_eq!(read.column("x").unwrap(), [1.0, 2.0]);
}

#[test]
fn headers_longer_than_the_first_look_are_read() {
    let names: Vec<String> = (0..20_000).map(|j| format!("variable.{j}")).collect();
    let row = vec!["7"; names.len()].join(",");
    let read = table(&format!("{}\n{row}\n", names.join(",")));
    assert_eq!((read.names().len(), read.column("variable.19999").unwrap()), (20_000, &[7.0][..]));
}

#[test]
fn quoted_numbers_may_be_names() {
    let read = table("\"2020\",\"2021\"\n1,2\n");
    assert_eq!(read.names(), ["2020", "2021"]);
}

#[test]
fn written_files_read_back_under_odd_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.csv");
    let names = ["a,b", "say \"x\"", "#hash", "1", "line\nbreak", "x\ty", "", "µ"];
    let columns: Vec<Vec<f64>> = (0..names.len()).map(|j| vec![j as f64, 0.1 * j as f64]).collect();
    write_csv(&path, &names, &columns).unwrap();
    let back = read(&path, &Options::default()).unwrap();
    assert_eq!(back.names(), names);
    assert_eq!(back.columns(), columns);
    assert_eq!(back.source(), path.display().to_string());
}
