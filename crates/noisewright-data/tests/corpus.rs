//! The fuzzers' corpus, read again by the stable compiler: columns of finite numbers, or one sentence.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use noisewright_data::{Format, Options, read_from};

fn corpus(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_file_of_the_corpus_is_columns_or_one_sentence() {
    for (name, format) in [("csv", Format::Csv), ("stan_csv", Format::StanCsv)] {
        let files = corpus(name);
        let mut readable = 0;
        for file in &files {
            let bytes = std::fs::read(file).unwrap();
            match read_from(&bytes[..], "corpus", &Options::default().format(format)) {
                Ok(table) => {
                    readable += 1;
                    assert!(table.columns().iter().flatten().all(|x| x.is_finite()), "{}", file.display());
                }
                Err(error) => assert!(!error.to_string().contains('\n'), "{}: {error}", file.display()),
            }
        }
        assert!(
            readable > 0 && readable < files.len(),
            "{name} has both kinds: {readable} of {}",
            files.len()
        );
    }
}
