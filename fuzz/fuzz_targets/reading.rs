//! What must hold of any bytes that are read as data, whatever their format.

use noisewright_data::{Format, Options, Table, read_from};

/// Reads the bytes strictly, and again dropping rows with missing values.
pub fn check(bytes: &[u8], format: Format) {
    let options = Options::default().format(format);
    let strict = read_from(bytes, "fuzzed", &options);
    let lenient = read_from(bytes, "fuzzed", &options.drop_missing(true));
    match strict {
        Ok(table) => {
            check_table(&table);
            // What has no missing value is read the same either way.
            assert_eq!(lenient.map(|t| t.columns().to_vec()).ok().as_deref(), Some(table.columns()));
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence}");
            if let Ok(table) = lenient {
                check_table(&table);
            }
        }
    }
}

fn check_table(table: &Table) {
    let columns = table.columns();
    assert_eq!(columns.len(), table.names().len());
    assert!(columns.iter().all(|column| column.len() == columns[0].len()));
    assert!(columns.iter().flatten().all(|x| x.is_finite()));
}
