//! Every bad input is refused in one sentence that names what is wrong; the sentences are pinned here.

#![allow(clippy::unwrap_used)]

use noisewright_data::{Format, Options, read, read_chains, read_from};

fn refused(text: &[u8], options: &Options) -> String {
    read_from(text, "d.csv", options).unwrap_err().to_string()
}

/// Text, and what is said when all its columns are asked for.
const TEXTS: &[(&[u8], &str)] = &[
    (b"", "d.csv is empty; a header row and rows of numbers are needed"),
    (b"\n\n  \n", "d.csv is empty; a header row and rows of numbers are needed"),
    (b"# only a note\n", "d.csv is empty; a header row and rows of numbers are needed"),
    (b"\xef\xbb\xbf", "d.csv is empty; a header row and rows of numbers are needed"),
    (b"x,y\n", "d.csv has a header but no rows of data"),
    (b"# note\nx,y\n\n# note\n\n", "d.csv has a header but no rows of data"),
    (
        b"x,y\n1,2\n# note\n3,4\n",
        "d.csv, line 3 begins with `#` and is no row; comments may stand before the header, and below it only in a \
         file that begins with one",
    ),
    (
        b"x,y\n1,2\n#N/A,3\n",
        "d.csv, row 2 (line 3), column `x`: the value is missing (`#N/A`); fill it in or have such rows dropped",
    ),
    (b"x,y\n1,2\n#A1,3\n", "d.csv, row 2 (line 3), column `x`: `#A1` is not a number"),
    (b"x\n1\n# note\n", "d.csv, row 2 (line 3), column `x`: `# note` is not a number"),
    (
        b"1.5,2\n3,4\n",
        "d.csv has no header: its first row is numbers (`1.5,2`), and it must name the columns",
    ),
    (
        b"\xef\xbb\xbf1;NA\n",
        "d.csv has no header: its first row is numbers (`1;NA`), and it must name the columns",
    ),
    (b"x,y\n1,abc\n", "d.csv, row 1 (line 2), column `y`: `abc` is not a number"),
    (
        b"# note\r\n\r\nx,y\r\n1,2\r\n# note\r\n3,4x\r\n",
        "d.csv, row 2 (line 6), column `y`: `4x` is not a number",
    ),
    (b"x,y\n\"1\",\"2\n2\"\n3,z\n", "d.csv, row 1 (line 2), column `y`: `2\\n2` is not a number"),
    (b"x;y\n1;2,5\n", "d.csv, row 1 (line 2), column `y`: `2,5` has a decimal comma; write a point instead"),
    (
        b"x,y\n1,2\n3,\n",
        "d.csv, row 2 (line 3), column `y`: the value is missing; fill it in or have such rows dropped",
    ),
    (
        b"x\ty\n1\tNaN\n",
        "d.csv, row 1 (line 2), column `y`: the value is missing (`NaN`); fill it in or have such rows dropped",
    ),
    (
        b"x\n1\n\n3\n",
        "d.csv, row 2 (line 3), column `x`: the value is missing; fill it in or have such rows dropped",
    ),
    (
        b"x,y\n-inf,2\n",
        "d.csv, row 1 (line 2), column `x`: the value `-inf` is not finite; correct it or have such rows dropped",
    ),
    (
        b"x,y\n1,1e999\n",
        "d.csv, row 1 (line 2), column `y`: the value `1e999` is not finite; correct it or have such rows dropped",
    ),
    (b"x,y\n1,2\n3\n", "d.csv, row 2 (line 3) has 1 field, but the header has 2"),
    (b"x,y\n1,2,3\n", "d.csv, row 1 (line 2) has 3 fields, but the header has 2"),
    (b"x,x\n1,2\n", "d.csv has more than one column `x`; give each its own name"),
    (b"x,y\n1,\"2\n3,4\n", "d.csv, line 2: a quote opens here and never closes"),
    (b"\x7fELF\x02\x01\x00\x00", "d.csv is a binary file, not a text file with columns of numbers"),
    (b"\xff\xd8\xff\xe0\x10,\xfe\n1,2\n", "d.csv is a binary file, not a text file with columns of numbers"),
    (
        b"# note\ngr\xf6\xdfe,x\n1,2\n",
        "d.csv, line 2: the header is not UTF-8 text, but perhaps Latin-1 (`gr\u{f6}\u{df}e,x`); save it as UTF-8",
    ),
    (
        b"x\n9007199254740993\n",
        "d.csv, row 1 (line 2), column `x`: the integer 9007199254740993 is beyond 2^53 and would lose digits; store \
         it as a float or rescale it",
    ),
    (b"\xff\xfex\x00,\x00", "d.csv is UTF-16 text; save it as UTF-8"),
    (b"PAR1\x15\x04", "d.csv is not a valid Parquet file: its end is missing"),
    (b"\x89HDF\r\n\x1a\n", "d.csv is a HDF5 file, which is not read here; convert it to CSV, Parquet or NPY"),
    (b"\x93NUMPY\x01\x00\xff", "d.csv is not a valid NPY file: the header is cut off"),
    (b"\x93NUMPY\x09\x00\xff\xff", "d.csv is not a valid NPY file: version 9 of the format is unknown"),
    (b"\x93NUMPY\x01\x00\x02\x00{}", "d.csv is not a valid NPY file: its header cannot be understood"),
];

#[test]
fn texts_are_refused_in_these_words() {
    for (text, message) in TEXTS {
        assert_eq!(refused(text, &Options::default()), *message, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_missing_column_is_told_with_those_there_are() {
    let text = b"duration,waiting\n1,2\n";
    assert_eq!(
        refused(text, &Options::default().columns(&["Duraton"])),
        "d.csv has no column `Duraton` (did you mean `duration`?); its columns are duration, waiting"
    );
    assert_eq!(
        refused(text, &Options::default().columns(&["z"])),
        "d.csv has no column `z`; its columns are duration, waiting"
    );
}

#[test]
fn a_column_asked_for_twice_is_a_mistake() {
    let message = refused(b"x,y\n1,2\n", &Options::default().columns(&["x", "y", "x"]));
    assert_eq!(message, "column `x` is asked for twice");
}

#[test]
fn dropping_everything_is_refused() {
    let options = Options::default().drop_missing(true);
    assert_eq!(
        refused(b"x,y\n1,NA\n,2\ninf,3\n", &options),
        "d.csv has no complete row (rows with a missing or non-finite value: 3)"
    );
    let text = refused(b"x,y\nNA,abc\n", &options);
    assert_eq!(text, "d.csv, row 1 (line 2), column `y`: `abc` is not a number");
}

#[test]
fn paths_are_refused_in_these_words() {
    let folder = tempfile::tempdir().unwrap();
    let message = |name: &str| {
        let path = folder.path().join(name);
        let text = read(&path, &Options::default()).unwrap_err().to_string();
        text.replace(&folder.path().display().to_string(), "F")
    };
    std::fs::write(folder.path().join("a.npz"), "text").unwrap();
    std::fs::write(folder.path().join("a.npy"), "text").unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    assert_eq!(message("none.csv"), "cannot open F/none.csv: there is no such file");
    assert_eq!(message("sub"), "F/sub is a folder; give the name of a file");
    assert_eq!(message("a.npy"), "F/a.npy is not a valid NPY file: it does not begin with the mark of NumPy");
    assert!(message("a.npz").starts_with("F/a.npz is not a valid NPZ file: "), "{}", message("a.npz"));
    assert_eq!(
        read_chains::<&str>(&[], &Options::default()).unwrap_err().to_string(),
        "no file was given to read chains from"
    );
}

#[test]
fn a_format_can_be_insisted_on() {
    let text = b"lp__,a\n1,2\n";
    let plain = read_from(&text[..], "-", &Options::default().format(Format::Csv)).unwrap();
    assert_eq!(plain.chains(), None);
    let npy = refused(text, &Options::default().format(Format::Npy));
    assert_eq!(npy, "d.csv is not a valid NPY file: it does not begin with the mark of NumPy");
}
