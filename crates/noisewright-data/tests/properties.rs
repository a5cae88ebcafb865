//! What must hold for any numbers and any bytes: round trips to the bit, no panic, and what the `csv` crate writes is read.

#![allow(clippy::unwrap_used)]

use noisewright_data::{Format, Options, read_from, write_csv_to, write_parquet_to};
use proptest::collection::vec;
use proptest::prelude::*;

fn finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite())
}

/// Columns of equal length.
fn columns() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (1_usize..5, 1_usize..20).prop_flat_map(|(columns, rows)| vec(vec(finite(), rows), columns))
}

/// Text made of the pieces that matter to a reader of CSV.
fn scraps() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"x"[..],
        b"y",
        b"1",
        b"-2.5e3",
        b"NA",
        b"inf",
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r\n",
        b"\r",
        b"\"",
        b"\"\"",
        b"#",
        b" ",
        b"\xff",
        b"\xef\xbb\xbf",
        b"lp__",
        b"# save_warmup = 1\n",
        b"# num_warmup = 2\n",
        b"# thin = 0\n",
        b"# stan_version_major = 2\n",
        b"# Adaptation terminated\n",
        b"\x1f\x8b\x08",
        b"\x93NUMPY\x01\x00",
        b"PK\x03\x04",
        b"PAR1",
        b"\x08\x00\x00\x00PAR1",
    ]);
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A well-formed start of an NPY file with a header of scraps.
fn npy_scraps() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "'descr': ",
        "'<f8'",
        "'>i8'",
        "'|O'",
        "'fortran_order': ",
        "True",
        "False",
        "'shape': ",
        "(3,)",
        "(2, 3)",
        "(4294967296, 4294967296)",
        "(18446744073709551615, 2)",
        "()",
        ", ",
        "[",
        "]",
        "('a', '<f4')",
        "\"",
        "é",
    ]);
    (vec(piece, 0..14), vec(any::<u8>(), 0..64)).prop_map(|(pieces, data)| {
        let text = pieces.concat();
        let length = u16::try_from(text.len()).unwrap().to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes(), &data].concat()
    })
}

/// Reads bytes in every way there is; nothing may panic, and a table must be whole and finite.
fn read_in_all_ways(bytes: &[u8]) {
    let formats = [Format::Csv, Format::StanCsv, Format::Parquet, Format::Npy, Format::Npz];
    for format in formats.map(Some).into_iter().chain([None]) {
        for drop_missing in [false, true] {
            for wanted in [None, Some(vec!["x".to_owned()])] {
                let options = Options { format, drop_missing, columns: wanted, ..Options::default() };
                if let Ok(table) = read_from(bytes, "bytes", &options) {
                    assert_eq!(table.names().len(), table.columns().len());
                    assert!(table.columns().iter().all(|c| c.len() == table.rows()));
                    assert!(table.columns().iter().flatten().all(|x| x.is_finite()));
                    assert!(table.rows() > 0);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn written_columns_read_back_to_the_bit(columns in columns()) {
        let names: Vec<String> = (0..columns.len()).map(|j| format!("v{j}")).collect();
        let mut text = Vec::new();
        write_csv_to(&mut text, "memory", &names, &columns).unwrap();
        let back = read_from(&text[..], "memory", &Options::default()).unwrap();
        prop_assert_eq!(back.names(), &names[..]);
        let bits = |columns: &[Vec<f64>]| columns.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(back.columns()), bits(&columns));
    }

    #[test]
    fn columns_written_as_parquet_read_back_to_the_bit(columns in columns()) {
        let names: Vec<String> = (0..columns.len()).map(|j| format!("v {j}")).collect();
        let mut bytes = Vec::new();
        write_parquet_to(&mut bytes, "memory", &names, &columns).unwrap();
        let back = read_from(&bytes[..], "memory", &Options::default()).unwrap();
        prop_assert_eq!(back.names(), &names[..]);
        let bits = |columns: &[Vec<f64>]| columns.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(back.columns()), bits(&columns));
    }

    #[test]
    fn any_name_that_is_not_padded_reads_back(names in prop::collection::hash_set("\\PC{0,8}|[a-z,;\"#\t\n ]{0,6}", 1..5)) {
        let names: Vec<String> = names.into_iter().map(|name| name.trim().to_owned()).collect();
        prop_assume!((1..names.len()).all(|j| !names[..j].contains(&names[j])));
        let columns = vec![vec![1.0]; names.len()];
        let mut text = Vec::new();
        write_csv_to(&mut text, "memory", &names, &columns).unwrap();
        let back = read_from(&text[..], "memory", &Options::default()).unwrap();
        prop_assert_eq!(back.names(), &names[..]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        read_in_all_ways(&bytes);
    }

    #[test]
    fn any_scraps_of_text_are_read_or_refused(bytes in scraps()) {
        read_in_all_ways(&bytes);
    }

    #[test]
    fn any_scraps_of_numpy_are_read_or_refused(bytes in npy_scraps()) {
        read_in_all_ways(&bytes);
    }

    #[test]
    fn a_damaged_archive_is_read_or_refused(at in 0_usize..700, byte in any::<u8>()) {
        let mut bytes = include_bytes!("files/columns.npz").to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        read_in_all_ways(&bytes);
    }

    #[test]
    fn a_damaged_parquet_file_is_read_or_refused(
        file in 0_usize..4, places in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let files: [&[u8]; 4] = [
            include_bytes!("files/types.parquet"),
            include_bytes!("files/holes.parquet"),
            include_bytes!("files/zstd.parquet"),
            include_bytes!("files/encodings.parquet"),
        ];
        let mut bytes = files[file].to_vec();
        for (at, byte) in places {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_in_all_ways(&bytes);
    }

    #[test]
    fn any_footer_is_read_or_refused(footer in vec(any::<u8>(), 0..200)) {
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        read_in_all_ways(&[b"PAR1", &footer[..], &length, b"PAR1"].concat());
    }

    #[test]
    fn what_the_csv_crate_quotes_is_read(
        rows in vec(vec("[a-z,\"\n ]{0,6}", 2), 1..6), numbers in vec(finite(), 6)
    ) {
        let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::NonNumeric).from_writer(Vec::new());
        writer.write_record(["a", "number", "b"]).unwrap();
        for (row, number) in rows.iter().zip(&numbers) {
            writer.write_record([&row[0], &number.to_string(), &row[1]]).unwrap();
        }
        let text = writer.into_inner().unwrap();
        let table = read_from(&text[..], "memory", &Options::default().columns(&["number"])).unwrap();
        prop_assert_eq!(&table.columns()[0][..], &numbers[..rows.len()]);
    }
}
