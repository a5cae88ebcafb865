//! Models with covariates: `fit --choices`, `density` and `simulate` at new covariates, and what is refused.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use serde_json::Value;

use support::{json, refused, run};

/// A folder with the freight data and its model, and an exact fit saved as `fit.json`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/freight");
    for name in ["model.toml", "freight.csv"] {
        std::fs::copy(examples.join(name), folder.path().join(name)).unwrap();
    }
    run(&folder, &["fit", "model.toml", "freight.csv", "--noise", "exact", "--out", "fit.json"]).success();
    folder
}

const FIT: [&str; 3] = ["fit", "model.toml", "freight.csv"];

/// Sellers and Shmueli (2010).
#[test]
fn freight_by_maximum_likelihood_and_by_ranking() {
    let folder = folder();
    let exact = json(&folder, &[&FIT[..], &["--noise", "exact"]].concat());
    for (name, value) in [("b0", 13.8247), ("b1", 1.4838), ("dispersion", 5.7818)] {
        assert!((exact["parameters"][name]["estimate"].as_f64().unwrap() - value).abs() < 1e-4, "{name}");
    }
    assert!((exact["log_likelihood"].as_f64().unwrap() + 18.64489).abs() < 1e-5);
    assert!(exact["choices"].is_null() && exact["log_normalizer"].is_null());
    let ranked = json(&folder, &FIT);
    for name in ["b0", "b1", "dispersion"] {
        let of = |fit: &Value, part: &str| fit["parameters"][name][part].as_f64().unwrap();
        let off = (of(&ranked, "estimate") - of(&exact, "estimate")).abs();
        assert!(off < 4.0 * of(&ranked, "se_noise"), "{name} {off}");
    }
    assert_eq!(ranked["choices"].as_f64(), ranked["nu"].as_f64());
    assert_eq!(ranked["loss_name"], "ranking");
    let told = json(
        &folder,
        &[&FIT[..], &["--choices", "7", "--noise", "poisson(exp(2.3 + 0.3*transfers))"]].concat(),
    );
    assert_eq!((told["choices"].as_u64(), told["noise_points"].as_u64()), (Some(7), Some(70)));
    let quiet = json(&folder, &[&FIT[..], &["--choices", "7", "--draws", "quiet"]].concat());
    assert_eq!((quiet["draws"].as_str(), quiet["replicates"].as_u64()), (Some("quiet"), Some(2)));
    let repeated =
        [&FIT[..], &["--noise", "exact", "--interval", "profile", "--cross-validate", "5"]].concat();
    let repeated = json(&folder, &repeated);
    assert_eq!(repeated["interval"], "profile");
    assert!(repeated["held_out"]["log_likelihood"].as_f64() < repeated["log_likelihood"].as_f64());
}

#[test]
fn saved_fits_are_asked_at_new_covariates() {
    let folder = folder();
    std::fs::write(folder.path().join("new.csv"), "transfers,broken\n0,10\n4,25\n4,30\n").unwrap();
    let told = json(&folder, &["density", "fit.json", "new.csv"]);
    let column = |name: &str| -> Vec<f64> {
        told["points"][name].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    // At the same covariate densities differ as the energies do: the constant is one.
    let (density, constant) = (column("log_density"), column("log_normalizer"));
    assert_eq!(constant[1], constant[2]);
    let fit = json(&folder, &[&FIT[..], &["--noise", "exact"]].concat());
    let of = |name: &str| fit["parameters"][name]["estimate"].as_f64().unwrap();
    let logs: f64 = (26..=30).map(|k| f64::from(k).ln()).sum();
    let expected = 5.0 * (of("b0") + 4.0 * of("b1")) - of("dispersion") * logs;
    assert!((density[2] - density[1] - expected).abs() < 1e-6);
    assert!(column("se").iter().chain(&column("log_normalizer_se")).all(|se| *se > 0.0));
    let drawn = json(&folder, &["simulate", "fit.json", "5", "--given", "new.csv", "--seed", "3"]);
    assert_eq!(drawn["rows"], 15);
    let given: Vec<f64> =
        drawn["draws"]["transfers"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert_eq!(given, [[0.0; 5], [4.0; 5], [4.0; 5]].concat());
    run(&folder, &[&FIT[..], &["--noise", "exact", "--out", "rows.csv"]].concat()).success();
    let rows = std::fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    let total: f64 =
        rows.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap()).sum();
    assert!((total + 18.644_891_5).abs() < 1e-5, "{total}");
    run(&folder, &[&FIT[..], &["--report", "page.html"]].concat()).success();
    run(&folder, &["compare", "fit.json", "fit.json"]).success();
}

#[test]
fn what_does_not_go_with_covariates_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("lack.csv"), "broken\n10\n12\n").unwrap();
    assert!(refused(&folder, &["density", "fit.json", "lack.csv"], 1).contains("`transfers`"));
    assert!(
        refused(&folder, &["simulate", "fit.json", "5", "--given", "lack.csv"], 1).contains("`transfers`")
    );
    assert!(refused(&folder, &["simulate", "fit.json", "5"], 2).contains("--given"));
    assert!(refused(&folder, &["fit", "model.toml", "lack.csv"], 1).contains("`transfers`"));
    for (words, says) in [
        (&["--nu", "5"][..], "--nu"),
        (&["--noise-points", "5"], "--noise-points"),
        (&["--loss", "kl"], "--loss"),
        (&["--refit-noise"], "--refit-noise"),
        (&["--choices", "0"], "--choices"),
        (&["--choices", "many"], "--choices"),
        (&["--noise", "exact", "--choices", "5"], "--choices"),
        (&["--noise", "poisson(exp(2 + transfer))"], "transfer"),
    ] {
        let told = refused(&folder, &[&FIT[..], words].concat(), 2);
        assert!(told.contains(says), "{words:?}: {told}");
    }
    assert!(refused(&folder, &[&FIT[..], &["--stream"]].concat(), 1).contains("covariates"));
    assert!(refused(&folder, &[&FIT[..], &["--noise", "optimal"]].concat(), 2).contains("covariates"));
    assert!(
        refused(&folder, &["error", "model.toml", "--noise", "poisson(3)", "--nu", "1"], 1)
            .contains("covariates")
    );
    std::fs::write(folder.path().join("plain.toml"), "variables = ['broken']\nfamily = 'com-poisson'\n")
        .unwrap();
    assert!(
        refused(&folder, &["fit", "plain.toml", "freight.csv", "--choices", "5"], 2).contains("covariates")
    );
}
