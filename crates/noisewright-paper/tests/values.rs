//! The numbers that every figure and table must show.

#![allow(clippy::unwrap_used, clippy::panic)]

use noisewright_paper::{Item, Settings, names, run};
use serde_json::Value;

fn item(name: &str) -> Item {
    run(name, Settings::default()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn close(value: &Value, expected: f64, tolerance: f64) {
    let found = number(value);
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected} ± {tolerance}");
}

/// The row of figure 1 at a data parameter.
fn at(values: &Value, model: &str, data: f64) -> Value {
    let rows = values[model]["rows"].as_array().unwrap();
    rows.iter().find(|r| (number(&r["data"]) - data).abs() < 1e-9).unwrap().clone()
}

#[test]
fn figure_1_has_exact_optima_with_both_mirror_images() {
    let values = item("fig1").values;
    assert_eq!(values["mean"]["rows"].as_array().unwrap().len(), 21);
    assert_eq!(values["variance"]["rows"].as_array().unwrap().len(), 21);
    assert_eq!(values["correlation"]["rows"].as_array().unwrap().len(), 31);
    for data in [-5.0, 0.0, 3.5] {
        let row = at(&values, "mean", data);
        assert_eq!(row["exact"].as_array().unwrap().len(), 2);
        close(&row["exact"][0]["parameter"], data - 1.427_01, 1e-5);
        close(&row["exact"][1]["parameter"], data + 1.427_01, 1e-5);
        close(&row["exact"][0]["error"], 3.698_62, 1e-5);
        close(&row["joint"][1]["parameter"], data + 1.498_30, 1e-5);
        close(&row["joint"][1]["proportion"], 0.2510, 5e-5);
        close(&row["joint"][1]["error"], 3.071_09, 1e-5);
    }
    for data in [0.1, 1.0, 10.0] {
        let row = at(&values, "variance", data);
        close(&row["exact"][0]["parameter"], 4.242_26 * data, 1e-5 * data);
        close(&row["joint"][0]["parameter"], 5.188_49 * data, 1e-5 * data);
        close(&row["joint"][0]["proportion"], 0.2832, 5e-5);
        close(&row["joint"][0]["error"], 4.797_04 * data * data, 1e-5 * data * data);
    }
    for (data, equal, joint, proportion) in [(0.3, -0.2332, -0.4911, 0.3261), (0.9, 0.5967, 0.5116, 0.2844)] {
        for sign in [1.0, -1.0] {
            let row = at(&values, "correlation", sign * data);
            close(&row["exact"][0]["parameter"], sign * equal, 5e-5);
            close(&row["joint"][0]["parameter"], sign * joint, 5e-5);
            close(&row["joint"][0]["proportion"], proportion, 5e-5);
        }
    }
    close(&at(&values, "correlation", 0.3)["joint"][0]["error"], 2.402_79, 1e-5);
}

/// The values of one panel after the other: mean at 10, 50 and 90 %, then variance.
fn six(values: &Value, key: &str) -> Vec<f64> {
    let of =
        |model: &str| values[model].as_array().unwrap().iter().map(|c| number(&c[key])).collect::<Vec<_>>();
    [of("mean"), of("variance")].concat()
}

#[test]
fn figure_2_has_histograms_that_minimise_and_optima_below_them() {
    let values = item("fig2").values;
    let (histograms, exact) = (six(&values, "histogram"), six(&values, "exact"));
    let known = [2.384, 3.044, 10.719, 3.030, 4.488, 21.054];
    for ((histogram, exact), known) in histograms.iter().zip(&exact).zip(known) {
        assert!((histogram - known).abs() < 6e-4, "{histogram} {known}");
        assert!(exact < histogram);
    }
    assert!((exact[1] - 2.993_87).abs() < 1e-5 && (exact[4] - 4.435_26).abs() < 1e-5);
    let points = &values["mean"][0]["all_data_points"];
    close(&points[1], 2f64.sqrt(), 1e-6);
    close(&values["variance"][0]["all_data_points"][0], -(5f64.sqrt()), 1e-6);
}

#[test]
fn figure_3_has_exact_optima_below_its_histograms() {
    let values = item("fig3").values;
    // By brute force over a fine grid of the plane.
    let exact = [2.594_459, 1.355_814, 1.912_514, 7.942_938];
    for (row, exact) in values["rows"].as_array().unwrap().iter().zip(exact) {
        close(&row["exact"], exact, 3e-6);
        let (histogram, equal) = (number(&row["histogram"]), number(&row["noise_equals_data"]));
        assert!(histogram > exact && histogram < 1.06 * exact && histogram < equal, "{histogram} {exact}");
    }
}

#[test]
fn figure_4_has_the_errors_at_half_and_the_best_proportions() {
    let values = item("fig4").values;
    let panels = values["panels"].as_array().unwrap();
    let known = [(0, [4.0, 3.699, 3.135]), (1, [8.0, 5.511, 5.362]), (3, [3.039, 2.613, 2.047])];
    for (panel, errors) in known {
        for (noise, error) in ["data", "parametric", "analytic"].iter().zip(errors) {
            close(&panels[panel]["noise"][noise]["at_half"], error, 5e-4);
        }
    }
    close(&panels[0]["noise"]["analytic"]["best_proportion"], 0.416, 5e-4);
    close(&panels[1]["noise"]["analytic"]["best_proportion"], 0.312, 5e-4);
    close(&panels[0]["noise"]["exact"]["best_error"], 2.206_86, 1e-5);
    close(&panels[0]["noise"]["exact"]["best_proportion"], 0.1768, 5e-5);
    close(&panels[1]["noise"]["exact"]["best_error"], 2.946_10, 1e-5);
    close(&panels[1]["noise"]["exact"]["best_proportion"], 0.1278, 5e-5);
    for panel in panels {
        let line = |noise: &str| panel["noise"][noise]["error"].as_array().unwrap().clone();
        assert_eq!(line("exact").len(), 41);
        for noise in ["data", "parametric", "analytic"] {
            for (exact, other) in line("exact").iter().zip(line(noise)) {
                assert!(number(exact) <= number(&other) * (1.0 + 1e-9), "{noise}");
            }
        }
    }
}

#[test]
fn figure_5_has_the_best_proportions() {
    let values = item("fig5").values;
    for model in ["mean", "variance", "correlation"] {
        close(&values[model]["noise_equals_data"], 0.5, 1e-6);
    }
    close(&values["mean"]["best_member"]["proportion"], 0.255, 5e-4);
    close(&values["variance"]["best_member"]["parameter"], 4.24, 5e-3);
    close(&values["variance"]["best_member"]["proportion"], 0.289, 5e-4);
}

#[test]
fn figure_6_has_the_analytic_errors_and_optima_below_them() {
    let values = item("fig6").values;
    let known = [8.3355, 3.5563, 10.9157, 15.455, 7.971, 26.813];
    for ((analytic, exact), known) in six(&values, "analytic").iter().zip(six(&values, "exact")).zip(known) {
        assert!((analytic - known).abs() < 5e-4, "{analytic} {known}");
        assert!(exact < *analytic);
    }
    for gap in six(&values, "gap") {
        assert!(gap < 1e-6, "{gap}");
    }
    assert!((six(&values, "exact")[1] - 3.508_13).abs() < 1e-5);
    assert!((six(&values, "exact")[4] - 7.855_37).abs() < 1e-5);
}

#[test]
fn figure_7_has_two_minima_for_mean_and_variance() {
    let values = item("fig7").values;
    let minima = |panel: usize| values["panels"][panel]["minima"].as_array().unwrap().clone();
    let (mean, variance) = (minima(0), minima(1));
    assert_eq!((mean.len(), variance.len()), (2, 2));
    assert!((number(&mean[0]["parameter"]) + number(&mean[1]["parameter"])).abs() < 1e-6);
    close(&variance[0]["parameter"], 4.242_26, 1e-5);
    close(&variance[1]["parameter"], 0.145, 5e-3);
    close(&variance[1]["error"], 10.61, 1e-2);
}

#[test]
fn table_1_has_losses_that_the_truth_minimises_and_js_first() {
    let values = item("tab1").values;
    let rows = values["rows"].as_array().unwrap();
    let error = |name: &str| number(&rows.iter().find(|r| r["loss"] == name).unwrap()["error"]);
    for row in rows {
        assert!(number(&row["curvature_at_truth"]) > 0.1);
        assert!(number(&row["slope_at_truth"]).abs() < 1e-5);
        assert!(number(&row["error"]) >= error("JS"));
    }
}

#[test]
fn table_2_has_estimates_within_four_standard_errors() {
    let values = item("tab2").values;
    for row in values["rows"].as_array().unwrap() {
        let deviation = (number(&row["estimate"]) - number(&values["z"])) / number(&row["standard_error"]);
        assert!(deviation.abs() < 4.0, "{row}");
    }
}

#[test]
fn table_3_agrees_with_its_simulation_and_the_printed_row_does_not() {
    let values = item("tab3").values;
    let rows = values["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert!(number(&row["deviations"]).abs() < 4.0, "{row}");
        assert!(number(&row["standard_error"]) < 0.03 * number(&row["simulated"]), "{row}");
    }
    assert!(number(&rows[3]["deviations_printed"]).abs() > 10.0);
    // χ² and the overlap of two Gaussians in closed form: N(0, 1) against N(m, v).
    let (m, v, nu) = (0.8f64, 1.1f64, 2.0f64);
    let importance = v / (2.0 * v - 1.0).sqrt() * (m * m / (2.0 * v - 1.0)).exp() - 1.0;
    let reverse = (m * m / (2.0 - v)).exp() / (v * (2.0 - v)).sqrt() - 1.0;
    let overlap = (2.0 * v.sqrt() / (1.0 + v)).sqrt() * (-0.25 * m * m / (1.0 + v)).exp();
    close(&rows[2]["theory"], (1.0 + nu) / nu * importance, 1e-8);
    close(&rows[0]["theory"], (1.0 + nu) * reverse, 1e-8);
    close(&rows[3]["theory"], (1.0 + nu).powi(2) / nu * (overlap.powi(-2) - 1.0), 1e-8);
}

#[test]
fn every_erratum_is_shown() {
    let values = item("errata").values;
    let errata = values["errata"].as_array().unwrap();
    assert_eq!(errata.len(), 15);
    for erratum in errata {
        assert_eq!(erratum["holds"], true, "{erratum}");
    }
    let of = |number: usize| &errata[number - 1]["values"];
    close(&of(2)["at_1"], 0.451, 5e-4);
    close(&of(2)["at_3"], 0.389, 5e-4);
    close(&of(3)["right"], 4.242_26, 1e-5);
    close(&of(3)["proportion_of_printed"], 0.58, 5e-3);
    // By sums over a fine grid in Python.
    close(&of(9)["mean"], 0.332_190, 1e-5);
    close(&of(9)["variance"], 0.259_423, 1e-5);
    close(&of(12)["proportion"], 0.5597, 5e-5);
    close(&of(12)["correlation_at_0.06"], -0.035, 5e-4);
    close(&of(12)["correlation_at_0.12"], -0.636, 5e-4);
    // By quadrature in Python.
    close(&of(15)["js"], 14.6025, 1e-3);
    close(&of(15)["reverse_kl"], 13.6062, 1e-3);
}

#[test]
fn unknown_names_are_refused_with_the_list() {
    let message = run("fig8", Settings::default()).unwrap_err().to_string();
    assert!(names().all(|name| message.contains(name)), "{message}");
}

#[test]
fn finer_grids_are_finer() {
    let values = run("fig5", Settings { fine: true, ..Settings::default() }).unwrap().values;
    assert_eq!(values["mean"]["parameter"].as_array().unwrap().len(), 163);
}
