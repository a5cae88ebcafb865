//! Parquet files that PyArrow wrote (`files/make.py`), and our own.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use noisewright_data::{
    Error, Format, Options, Table, read, read_from, write, write_parquet, write_parquet_to,
};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn table(name: &str, columns: &[&str]) -> Table {
    read(path(name), &Options::default().columns(columns)).unwrap()
}

/// The message, with the folder taken out of it.
fn refused(name: &str, options: &Options) -> String {
    let text = read(path(name), options).unwrap_err().to_string();
    text.replace(&format!("{}/", path("").display().to_string().trim_end_matches('/')), "")
}

#[test]
fn all_types_of_numbers_are_read() {
    for name in ["types.parquet", "types_old.parquet"] {
        let table = read(path(name), &Options::default()).unwrap();
        assert_eq!(table.names().len(), 15);
        for (name, column) in table.names().iter().zip(table.columns()) {
            let expected = if name == "bool" { [0.0, 1.0, 1.0] } else { [0.0, 1.0, 100.0] };
            assert_eq!(column, &expected, "{name}");
        }
    }
}

#[test]
fn the_ends_of_the_ranges_are_exact() {
    let edges = read(path("edges.parquet"), &Options::default()).unwrap();
    let column = |name| edges.column(name).unwrap();
    assert_eq!(column("uint32"), [4_294_967_295.0, 2_147_483_648.0]);
    assert_eq!(column("int64"), [-(2_f64.powi(53)), 2_f64.powi(53)]);
    assert_eq!(column("uint64"), [2_f64.powi(53), 0.0]);
    assert_eq!(column("int8"), [-128.0, 127.0]);
    assert_eq!(column("decimal"), [-0.1, 123_456_789_012_345_678.9]);
    assert_eq!(column("float"), [f64::from(0.1_f32), 0.0]);
    assert!(column("float")[1].is_sign_negative());
    let message = |value| {
        format!("the integer {value} is beyond 2^53 and would lose digits; store it as a float or rescale it")
    };
    assert_eq!(
        refused("too_large.parquet", &Options::default()),
        format!("too_large.parquet, row 2, column `x`: {}", message("9007199254740993"))
    );
    assert_eq!(
        refused("too_large.parquet", &Options::default().columns(&["y"])),
        format!("too_large.parquet, row 2, column `y`: {}", message("18446744073709551615"))
    );
}

#[test]
fn compressions_encodings_and_row_groups_make_no_difference() {
    for name in ["none", "snappy", "gzip", "zstd", "encodings"] {
        let table = table(&format!("{name}.parquet"), &["k", "x"]);
        assert_eq!((table.names().len(), table.rows()), (2, 200), "{name}");
        for i in 0..200 {
            assert_eq!(table.columns()[0][i], (i % 7) as f64, "{name}, row {i}");
            assert_eq!(table.columns()[1][i], i as f64 / 8.0, "{name}, row {i}");
        }
    }
    for (name, codec) in [("brotli.parquet", "Brotli"), ("lz4.parquet", "LZ4")] {
        assert_eq!(
            refused(name, &Options::default().columns(&["x"])),
            format!(
                "{name} is compressed with {codec}, which is not read here; write it with Snappy, Zstandard or gzip"
            )
        );
    }
}

#[test]
fn bytes_in_memory_and_files_on_disk_are_the_same() {
    let bytes = std::fs::read(path("snappy.parquet")).unwrap();
    let options = Options::default().columns(&["x"]);
    let expected = table("snappy.parquet", &["x"]);
    for (name, options) in [("-", options.clone()), ("d.csv", options.format(Format::Parquet))] {
        assert_eq!(read_from(&bytes[..], name, &options).unwrap().columns(), expected.columns());
    }
}

#[test]
fn holes_are_named_by_the_first_row_or_dropped() {
    let all = Options::default();
    let end = "fill it in or have such rows dropped";
    assert_eq!(
        refused("holes.parquet", &all.clone().columns(&["k", "x"])),
        format!("holes.parquet, row 4, column `x`: the value is missing (`null`); {end}")
    );
    assert_eq!(
        refused("holes.parquet", &all.clone().columns(&["k", "whole"])),
        format!("holes.parquet, row 5, column `k`: the value is missing (`null`); {end}")
    );
    assert_eq!(
        refused("holes.parquet", &all.clone().columns(&["k", "x", "nan"])),
        format!("holes.parquet, row 3, column `nan`: the value is missing (`NaN`); {end}")
    );
    assert_eq!(
        refused("holes.parquet", &all.clone().columns(&["inf"])),
        "holes.parquet, row 6, column `inf`: the value `-inf` is not finite; correct it or have such rows dropped"
    );
    let kept =
        read(path("holes.parquet"), &all.clone().columns(&["nan", "k", "x", "inf"]).drop_missing(true));
    let kept = kept.unwrap();
    assert_eq!((kept.dropped(), kept.rows()), (4, 2));
    assert_eq!(kept.columns()[1], [1.0, 2.0]);
    assert_eq!(
        refused("holes.parquet", &all.columns(&["nothing"]).drop_missing(true)),
        "holes.parquet has no complete row (rows with a missing or non-finite value: 6)"
    );
}

#[test]
fn text_may_be_labels() {
    for column in ["name", "category"] {
        let options = Options::default().columns(&["x", column]).labels(column);
        assert_eq!(read(path("words.parquet"), &options).unwrap().columns()[1], [0.0, 1.0], "{column}");
    }
}

#[test]
fn columns_that_are_no_numbers_are_named_with_their_type() {
    let rest = "only floats, integers, decimals and booleans can be read";
    for (column, kind) in [
        ("name", "string"),
        ("day", "date"),
        ("when", "timestamp"),
        ("raw", "binary"),
        ("list", "list"),
        ("map", "list"),
        ("category", "string"),
        ("huge", "decimal(60, 3)"),
    ] {
        assert_eq!(
            refused("words.parquet", &Options::default().columns(&[column])),
            format!("words.parquet, column `{column}` is of type {kind}; {rest}")
        );
    }
    assert_eq!(
        refused("words.parquet", &Options::default()),
        format!("words.parquet, column `name` is of type string; {rest}")
    );
    assert_eq!(
        refused("words.parquet", &Options::default().columns(&["nam"])),
        "words.parquet has no column `nam` (did you mean `name`?); its columns are x, name, day, when, raw, list, map, \
         category, huge, point.x, point.y"
    );
    assert_eq!(table("words.parquet", &["x"]).columns(), [vec![1.0, 2.0]]);
    let fields = Options::default().columns(&["point.x", "point.y"]).drop_missing(true);
    assert_eq!(read(path("words.parquet"), &fields).unwrap().columns(), [vec![3.0], vec![4.0]]);
}

#[test]
fn what_is_no_parquet_file_is_refused_in_these_words() {
    let message = |bytes: &[u8]| read_from(bytes, "d.pq", &Options::default()).unwrap_err().to_string();
    assert_eq!(message(b""), "d.pq is empty; a header row and rows of numbers are needed");
    let not_valid = "d.pq is not a valid Parquet file";
    assert_eq!(message(b"x,y\n1,2\n"), format!("{not_valid}: it does not begin with the mark of Parquet"));
    assert_eq!(message(b"PAR1"), format!("{not_valid}: its end is missing"));
    assert!(message(b"PAR1\xff\xff\xff\x7fPAR1").starts_with(not_valid));
    assert_eq!(
        refused("no_rows.parquet", &Options::default()),
        "no_rows.parquet has a header but no rows of data"
    );
}

#[test]
fn cut_files_are_refused() {
    for name in ["types.parquet", "holes.parquet", "snappy.parquet", "zstd.parquet", "words.parquet"] {
        let whole = std::fs::read(path(name)).unwrap();
        for length in 4..whole.len() {
            let cut = read_from(&whole[..length], "d.parquet", &Options::default().columns(&["x"]));
            assert!(matches!(cut, Err(Error::Malformed { .. })), "{name} cut to {length}: {cut:?}");
        }
        for length in 0..4 {
            assert!(read_from(&whole[..length], "d.csv", &Options::default()).is_err());
        }
    }
}

#[test]
fn a_cut_file_on_disk_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(path("snappy.parquet")).unwrap();
    let cut = folder.path().join("cut.parquet");
    // The tail is kept, so that the footer is found and the pages are not.
    for lost in [1, 100, 1000] {
        std::fs::write(&cut, [&whole[..4], &whole[4 + lost..]].concat()).unwrap();
        let outcome = read(&cut, &Options::default().columns(&["x", "k"]));
        assert!(matches!(outcome, Err(Error::Malformed { .. })), "{lost} lost: {outcome:?}");
    }
}

#[test]
fn row_groups_are_written_and_read_one_after_the_other() {
    let columns = [(0..250_001).map(f64::from).collect::<Vec<_>>(), vec![-0.0; 250_001]];
    let mut bytes = Vec::new();
    write_parquet_to(&mut bytes, "memory", &["a,b", "µ.1"], &columns).unwrap();
    let back = read_from(&bytes[..], "memory", &Options::default()).unwrap();
    assert_eq!(back.names(), ["a,b", "µ.1"]);
    assert_eq!(back.columns(), columns);
    assert!(back.columns()[1].iter().all(|x| x.is_sign_negative()));
    // The zeros are compressed away.
    assert!(bytes.len() < 250_001 * 10);
}

#[test]
fn the_name_decides_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mark) in [("a.parquet", &b"PAR1"[..]), ("a.PQ", b"PAR1"), ("a.csv", b"x\n1."), ("a", b"x\n1.")]
    {
        let path = folder.path().join(name);
        write(&path, &["x"], &[vec![1.0]]).unwrap();
        assert_eq!(&std::fs::read(&path).unwrap()[..4], mark, "{name}");
        assert_eq!(read(&path, &Options::default()).unwrap().columns(), [vec![1.0]]);
    }
}

#[test]
fn a_failed_write_leaves_the_old_file_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write_parquet(&path, &["x"], &[vec![1.0]]).unwrap();
    assert!(write_parquet(&path, &["x", "y"], &[vec![1.0], vec![]]).is_err());
    let twice = write_parquet(&path, &["x", "x"], &[vec![1.0], vec![2.0]]).unwrap_err().to_string();
    assert_eq!(twice, format!("{} has more than one column `x`; give each its own name", path.display()));
    assert_eq!(read(&path, &Options::default()).unwrap().columns(), [vec![1.0]]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let error = write_parquet("/nowhere/at/all.parquet", &["x"], &[vec![1.0]]).unwrap_err();
    assert_eq!(error.to_string(), "cannot write /nowhere/at/all.parquet: there is no such folder");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let error = write_parquet("/dev/full", &["x"], &[vec![1.0]]).unwrap_err().to_string();
    assert!(error.starts_with("cannot write /dev/full: No space left"), "{error}");
}
