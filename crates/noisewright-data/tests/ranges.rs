//! Ranges of rows of several files.

#![allow(clippy::unwrap_used)]

use std::ops::Range;

use noisewright_data::{Options, RowRanges, write_csv, write_parquet};

/// Every range of every format, over blank lines, comments and quotes, is that part of all rows.
#[test]
fn any_range_of_any_format_is_that_part_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let x: Vec<f64> = (0..20_000).map(|i| f64::from(i) / 7.0).collect();
    let y: Vec<f64> = x.iter().map(|x| -x).collect();
    write_csv(path("a.csv"), &["x", "y"], &[x.clone(), y.clone()]).unwrap();
    write_parquet(path("b.parquet"), &["x", "y"], &[x.clone(), y.clone()]).unwrap();
    let line = |i: usize| match i % 3 {
        0 => format!("\"{}\";{}\n\n", x[i], y[i]),
        1 => format!("{};{}\r\n# a note\n", x[i], y[i]),
        _ => format!("{};{}\n", x[i], y[i]),
    };
    let odd: String = (0..x.len()).map(line).collect();
    std::fs::write(path("c.csv"), format!("# made by hand\nx;y\n{odd}")).unwrap();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 2), }}", x.len());
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    npy.extend(header.as_bytes());
    x.iter().zip(&y).for_each(|(x, y)| npy.extend([x.to_le_bytes(), y.to_le_bytes()].concat()));
    std::fs::write(path("d.npy"), npy).unwrap();
    let names = ["a.csv", "b.parquet", "c.csv", "d.npy"];
    let options = Options::default().columns(&["x", "y"]).names(&["x", "y"]);
    let files = RowRanges::open(&names.map(path), &options).unwrap();
    assert_eq!(files.rows(), 4 * x.len());
    let whole = |range: Range<usize>, of: &[f64]| range.map(|row| of[row % of.len()]).collect::<Vec<f64>>();
    for range in [0..5, 8_190..8_195, 16_384..16_385, 19_998..40_003, 39_990..79_999, 60_001..60_002] {
        let expected = [whole(range.clone(), &x), whole(range.clone(), &y)].concat();
        assert_eq!(files.read(range.clone()).unwrap(), expected);
        // The same some at a time.
        let (mut passage, mut values) = (files.passage(range.clone()), Vec::new());
        for start in range.clone().step_by(9_000) {
            let some = start..range.end.min(start + 9_000);
            passage.next(9_000, &mut values).unwrap();
            assert_eq!(values, [whole(some.clone(), &x), whole(some, &y)].concat());
        }
        passage.next(9_000, &mut values).unwrap();
        assert!(values.is_empty(), "there are no rows after the last");
    }
    assert!(files.passage(79_999..80_001).next(2, &mut Vec::new()).is_err());
    assert!(files.place(40_000).unwrap().ends_with("c.csv, row 1"));
    assert!(files.place(20_001).unwrap().ends_with("b.parquet, row group 0, row 2"));
    assert_eq!(files.place(80_000), None);
}

#[test]
fn only_parquet_files_of_floating_point_numbers_are_the_same_to_every_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows = [vec![1.0, 2.0]];
    write_csv(path("a.csv"), &["x"], &rows).unwrap();
    write_parquet(path("b.parquet"), &["x"], &rows).unwrap();
    let floating = |names: &[&str]| {
        let paths: Vec<_> = names.iter().map(|name| path(name)).collect();
        RowRanges::open(&paths, &Options::default()).unwrap().are_floating()
    };
    assert!(floating(&["b.parquet"]) && !floating(&["a.csv"]) && !floating(&["b.parquet", "a.csv"]));
    let files = RowRanges::open(&[path("b.parquet")], &Options::default()).unwrap();
    assert!(files.row_groups().eq([[2].as_slice()]));
}

#[test]
fn what_cannot_be_had_in_any_order_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("a.csv.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, b"x\n1\n").unwrap();
    std::fs::write(&packed, gzip.finish().unwrap()).unwrap();
    let found = RowRanges::open(&[packed], &Options::default().columns(&["x"])).unwrap_err().to_string();
    assert!(found.contains("is a text file packed with gzip and cannot be read in blocks"), "{found}");
}
