//! NPY and NPZ files that NumPy wrote (`files/make.py`).

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use noisewright_data::{Error, Options, Table, read};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn table(name: &str) -> Table {
    read(path(name), &Options::default()).unwrap()
}

/// The message, with the folder taken out of it.
fn refused(name: &str, options: &Options) -> String {
    let text = read(path(name), options).unwrap_err().to_string();
    text.replace(&format!("{}/", path("").display().to_string().trim_end_matches('/')), "")
}

#[test]
fn both_orders_both_endians_and_all_versions_are_the_same_matrix() {
    for name in
        ["matrix_c.npy", "matrix_fortran.npy", "matrix_big_endian.npy", "version_2.npy", "one_matrix.npz"]
    {
        let table = table(name);
        assert_eq!(table.names(), ["x0", "x1"], "{name}");
        assert_eq!(table.columns(), [vec![1.5, 3.25, 1e-300], vec![-2.0, 4.0, 6.0]], "{name}");
    }
}

#[test]
fn all_types_of_numbers_are_read() {
    let types = "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 big_i2 big_i4 big_u8 big_f4";
    for code in types.split(' ') {
        assert_eq!(table(&format!("type_{code}.npy")).columns(), [vec![0.0, 1.0, 100.0]], "{code}");
    }
    assert_eq!(table("type_bool.npy").columns(), [vec![0.0, 1.0, 1.0]]);
    assert_eq!(table("column.npy").columns(), [vec![0.1, 0.2, 0.3]]);
    assert_eq!(table("negative_i8.npy").columns(), [vec![-1.0, -(2_f64.powi(53)), 2_f64.powi(53)]]);
}

#[test]
fn names_go_by_position_and_columns_by_name() {
    let options = Options::default().names(&["a", "b"]).columns(&["b"]);
    for name in ["matrix_fortran.npy", "one_matrix.npz"] {
        let named = read(path(name), &options).unwrap();
        assert_eq!((named.names(), named.columns()), (&["b".to_owned()][..], &[vec![-2.0, 4.0, 6.0]][..]));
    }
    let positional = read(path("positional.npz"), &options).unwrap();
    assert_eq!(positional.columns(), [vec![3.0, 4.0]]);
    assert_eq!(
        refused("matrix_c.npy", &Options::default().names(&["a", "b", "c"])),
        "matrix_c.npy has 2 columns, but 3 names were given for them (a, b, c)"
    );
}

#[test]
fn arrays_of_an_archive_are_columns() {
    let options = Options::default().columns(&["y", "x"]).names(&["not", "used", "here"]);
    let columns = read(path("columns.npz"), &options).unwrap();
    assert_eq!(columns.columns(), [vec![3.0, 4.0], vec![1.0, 2.0]]);
    let compressed = table("compressed.npz");
    assert_eq!(compressed.names(), ["x", "y"]);
    assert!((0..1000).all(|i| compressed.columns()[1][i] == (i * i) as f64));
    assert_eq!(table("positional.npz").names(), ["arr_0", "arr_1"]);
}

#[test]
fn holes_are_named_or_dropped() {
    let all = Options::default();
    assert_eq!(
        refused("holes.npy", &all),
        "holes.npy, row 2, column `x0`: the value is missing (`NaN`); fill it in or have such rows dropped"
    );
    assert_eq!(
        refused("holes.npy", &all.clone().columns(&["x1"])),
        "holes.npy, row 3, column `x1`: the value `inf` is not finite; correct it or have such rows dropped"
    );
    let kept = read(path("holes.npy"), &all.drop_missing(true)).unwrap();
    assert_eq!((kept.dropped(), kept.columns()), (2, &[vec![1.0, 7.0], vec![2.0, 8.0]][..]));
}

#[test]
fn what_is_no_table_of_numbers_is_refused_in_these_words() {
    let rest = "only floats, integers and booleans can be read";
    let cases = [
        ("complex.npy", format!("complex.npy holds complex numbers (dtype `<c16`); {rest}")),
        ("text.npy", format!("text.npy holds text (dtype `<U2`); {rest}")),
        ("objects.npy", format!("objects.npy holds Python objects (dtype `|O`); {rest}")),
        ("dates.npy", format!("dates.npy holds dates (dtype `<M8[D]`); {rest}")),
        (
            "records.npy",
            format!("records.npy holds records of several fields (dtype `[('a', '<f8'), ('b', '<i4')]`); {rest}"),
        ),
        ("columns.npz", format!("columns.npz (array `label`) holds text (dtype `<U1`); {rest}")),
        ("cube.npy", "cube.npy has 3 dimensions; an array of 1 or 2 (rows and columns) is needed".to_owned()),
        ("scalar.npy", "scalar.npy has 0 dimensions; an array of 1 or 2 (rows and columns) is needed".to_owned()),
        ("empty.npy", "empty.npy holds an empty array; at least one row of numbers is needed".to_owned()),
        (
            "too_large_i8.npy",
            "too_large_i8.npy, row 3, column `x0`: the integer 9007199254740993 is beyond 2^53 and would lose digits; \
             store it as a float or rescale it"
                .to_owned(),
        ),
        (
            "two_matrices.npz",
            "two_matrices.npz holds several arrays of which `a` is a matrix; keep one matrix alone, or columns only"
                .to_owned(),
        ),
        (
            "unequal.npz",
            "in unequal.npz, column `b` has 3 rows and `a` has 2; all must have the same number".to_owned(),
        ),
    ];
    for (name, message) in cases {
        assert_eq!(refused(name, &Options::default()), message);
    }
    assert_eq!(
        refused("columns.npz", &Options::default().columns(&["z"])),
        "columns.npz has no column `z`; its columns are x, y, label"
    );
}

#[test]
fn cut_or_lengthened_files_are_refused() {
    for name in ["matrix_c.npy", "columns.npz"] {
        let whole = std::fs::read(path(name)).unwrap();
        for length in 1..whole.len() {
            let cut =
                noisewright_data::read_from(&whole[..length], name, &Options::default().columns(&["x"]));
            assert!(matches!(cut, Err(Error::Malformed { .. })), "{name} cut to {length}: {cut:?}");
        }
    }
    let longer = [std::fs::read(path("matrix_c.npy")).unwrap(), vec![0; 8]].concat();
    let error = noisewright_data::read_from(&longer[..], "m.npy", &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "m.npy is not a valid NPY file: it should hold 48 bytes of numbers and holds 56"
    );
}
