//! Files in blocks: the same numbers and the same sentences as read whole, as often as wanted.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use noisewright_data::{BLOCK_ROWS, Format, Options, Stream, read, write_csv, write_parquet};

/// All columns, and the row numbers, of one pass.
fn pass(stream: &Stream) -> noisewright_data::Result<(Vec<Vec<f64>>, Vec<usize>, usize)> {
    let mut columns = vec![Vec::new(); stream.names().len()];
    let (mut numbers, mut blocks) = (Vec::new(), stream.blocks()?);
    while let Some(block) = blocks.next_block()? {
        for (j, column) in columns.iter_mut().enumerate() {
            column.extend_from_slice(block.column(j));
        }
        assert_eq!(block.values(1), block.column(0));
        numbers.extend((0..block.rows()).map(|i| block.row_number(i)));
    }
    let dropped = blocks.dropped();
    Ok((columns, numbers, dropped))
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn pack(from: &Path, to: &Path) {
    let mut encoder = GzEncoder::new(fs::File::create(to).unwrap(), Compression::fast());
    encoder.write_all(&fs::read(from).unwrap()).unwrap();
    encoder.finish().unwrap();
}

fn npy(path: &Path, columns: &[Vec<f64>]) {
    let rows = columns[0].len();
    let header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {}), }}\n", columns.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.bytes());
    for i in 0..rows {
        columns.iter().for_each(|column| bytes.extend(column[i].to_le_bytes()));
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_format_gives_the_same_rows_at_every_pass() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 2 * BLOCK_ROWS + 17;
    let columns =
        [(0..rows).map(|i| i as f64).collect::<Vec<_>>(), (0..rows).map(|i| -0.5 * i as f64).collect()];
    let path = |name: &str| folder.path().join(name);
    write_csv(path("a.csv"), &["x", "y"], &columns).unwrap();
    write_parquet(path("a.parquet"), &["x", "y"], &columns).unwrap();
    npy(&path("a.npy"), &columns);
    pack(&path("a.csv"), &path("a.csv.gz"));
    pack(&path("a.npy"), &path("a.npy.gz"));
    for name in ["a.csv", "a.csv.gz", "a.parquet", "a.npy", "a.npy.gz"] {
        let options = Options::default().columns(&["y", "x"]).names(&["x", "y"]);
        let stream = Stream::open(path(name), &options).unwrap();
        for _ in 0..2 {
            let (found, numbers, dropped) = pass(&stream).unwrap();
            assert!(found[0] == columns[1] && found[1] == columns[0], "{name}");
            assert!(numbers.iter().copied().eq(1..=rows) && dropped == 0, "{name}");
        }
    }
}

#[test]
fn blocks_have_the_same_rows_whatever_the_groups_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // Written in groups of fewer rows than a block would divide.
    write_parquet(&path, &["x"], &[(0..300_000).map(f64::from).collect()]).unwrap();
    let stream = Stream::open(&path, &Options::default()).unwrap();
    let (mut blocks, mut sizes) = (stream.blocks().unwrap(), Vec::new());
    while let Some(block) = blocks.next_block().unwrap() {
        sizes.push(block.rows());
    }
    let last = sizes.pop();
    assert!(sizes.iter().all(|rows| *rows == BLOCK_ROWS), "{sizes:?}");
    assert_eq!((sizes.len(), last), (300_000 / BLOCK_ROWS, Some(300_000 % BLOCK_ROWS)));
}

#[test]
fn whole_and_in_blocks_refuse_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let texts: [&[u8]; 9] = [
        b"",
        b"x,y\n",
        b"x,y\n1,NA\n",
        b"x,y\n1,abc\n",
        b"x,y\n1,2\n3\n",
        b"1,2\n3,4\n",
        b"\x7fELF\x00",
        b"x,y\n1,\"2\n",
        b"x,y\n1,1e999\n",
    ];
    for text in texts {
        let path = folder.path().join("d.csv");
        fs::write(&path, text).unwrap();
        same_refusal(&path, &Options::default());
    }
    for (name, columns) in [
        ("holes.parquet", "x"),
        ("holes.parquet", "inf"),
        ("words.parquet", "name"),
        ("words.parquet", "nam"),
    ] {
        same_refusal(&file(name), &Options::default().columns(&[columns]));
    }
    for name in ["too_large.parquet", "no_rows.parquet", "lz4.parquet", "none.csv"] {
        same_refusal(&file(name), &Options::default());
    }
    same_refusal(&file("holes.parquet"), &Options::default().columns(&["nothing"]).drop_missing(true));
}

fn same_refusal(path: &Path, options: &Options) {
    let whole = read(path, options).unwrap_err();
    let blocks = Stream::open(path, options).and_then(|stream| pass(&stream)).unwrap_err();
    assert_eq!(blocks, whole);
}

#[test]
fn dropped_rows_are_counted_and_the_others_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.csv");
    fs::write(&path, "x\n1\nNA\n3\n\n5\n").unwrap();
    let options = Options::default().drop_missing(true);
    let stream = Stream::open(&path, &options).unwrap();
    assert_eq!(pass(&stream).unwrap(), (vec![vec![1.0, 3.0, 5.0]], vec![1, 3, 5], 2));
    let whole = read(&path, &options).unwrap();
    assert_eq!((0..3).map(|i| whole.row_number(i)).collect::<Vec<_>>(), [1, 3, 5]);
    let options = Options::default().columns(&["nan", "k", "x", "inf"]).drop_missing(true);
    let stream = Stream::open(file("holes.parquet"), &options).unwrap();
    let (columns, numbers, dropped) = pass(&stream).unwrap();
    assert_eq!((columns, dropped), (read(file("holes.parquet"), &options).unwrap().into_columns(), 4));
    assert_eq!(numbers, [1, 2]);
}

#[test]
fn a_file_that_changes_or_vanishes_between_passes_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.csv");
    fs::write(&path, "x\n1\n2\n").unwrap();
    let stream = Stream::open(&path, &Options::default()).unwrap();
    pass(&stream).unwrap();
    fs::write(&path, "x\n1\n2\n3\n").unwrap();
    let message = |stream: &Stream| pass(stream).unwrap_err().to_string();
    let name = path.display();
    assert_eq!(
        message(&stream),
        format!("{name} changed while it was being read; start again when nothing writes to it any more")
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(
        message(&stream),
        format!("{name} is gone; it must stay where it is until the last pass over it")
    );
}

#[test]
fn a_change_during_a_pass_is_told_from_a_bad_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.csv");
    fs::write(&path, "x\n".to_owned() + &"1\n".repeat(2 * BLOCK_ROWS)).unwrap();
    let stream = Stream::open(&path, &Options::default()).unwrap();
    let mut blocks = stream.blocks().unwrap();
    blocks.next_block().unwrap();
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"word\n").unwrap();
    let error = loop {
        match blocks.next_block() {
            Ok(Some(_)) => {}
            other => break other.err().unwrap(),
        }
    };
    assert!(error.to_string().contains("changed while"), "{error}");
}

#[test]
fn what_cannot_be_read_in_blocks_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path, options: &Options| Stream::open(path, options).unwrap_err().to_string();
    assert_eq!(
        refused(Path::new("-"), &Options::default()),
        "standard input can be read only once; save it as a file to read it in blocks"
    );
    let draws = folder.path().join("draws.csv");
    fs::write(&draws, "lp__,a\n1,2\n").unwrap();
    assert!(
        refused(&draws, &Options::default()).contains("is the output of Stan and cannot be read in blocks")
    );
    Stream::open(&draws, &Options::default().format(Format::Csv)).unwrap();
    let packed = folder.path().join("a.parquet.gz");
    pack(&file("snappy.parquet"), &packed);
    assert!(refused(&packed, &Options::default()).contains("is a Parquet file packed with gzip"));
}

#[test]
fn weights_are_frequencies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.csv");
    let name = path.display().to_string();
    fs::write(&path, "x,n\n1,NA\n2,3\n3,-0.5\n").unwrap();
    let options = Options::default().drop_missing(true);
    let expected = format!("{name}, row 3, column `n`: a weight must be zero or more, not -0.5");
    assert_eq!(read(&path, &options).unwrap().weights("n").unwrap_err().to_string(), expected);
    let stream = Stream::open(&path, &options).unwrap();
    let mut blocks = stream.blocks().unwrap();
    let block = blocks.next_block().unwrap().unwrap();
    assert_eq!(block.weights(1).unwrap_err().to_string(), expected);
    fs::write(&path, "x,n\n1,0\n2,0\n").unwrap();
    let table = read(&path, &Options::default()).unwrap();
    assert_eq!(
        table.weights("n").unwrap_err().to_string(),
        format!("{name}, column `n`: all weights are zero; at least one row must count")
    );
    assert_eq!(table.weights("x").unwrap(), [1.0, 2.0]);
}
