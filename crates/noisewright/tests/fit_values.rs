//! Fits against answers that were not computed here: closed forms, other software, published values.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use noisewright::fit::{Amount, Data, Options};
use noisewright::{Model, Points, fit};

/// The rows of a CSV file with a header, by column.
fn read(path: &str) -> Points {
    let text = std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').map(|n| n.trim_matches('"')).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for line in lines {
        for (column, value) in columns.iter_mut().zip(line.split(',')) {
            column.push(value.parse().unwrap());
        }
    }
    Points::from_columns(&names, &columns).unwrap()
}

fn faithful() -> Model {
    let features = ["x", "x^2", "x^3", "x^4"];
    Model::from_features(&features, noisewright::Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

#[test]
fn old_faithful_within_the_noise() {
    let data = read("examples/old-faithful/faithful.csv");
    let fitted = fit(&faithful(), Data::from(&data), &Options::default()).unwrap();
    println!("{fitted:#?}");
    let fitted =
        fit(&faithful(), Data::from(&data), &Options { amount: Amount::Ratio(1.0), ..Options::default() })
            .unwrap();
    println!("{fitted:#?}");
}
