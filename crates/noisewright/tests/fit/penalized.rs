//! Penalised fits, bootstraps and profiles from Rust: builders, model files, threads.

use nalgebra::DMatrix;
use noisewright::fit::{IntervalKind, Penalty};
use noisewright::parts::{PenaltyKind, StrengthRule};
use noisewright::prelude::*;

/// Rows of 13 spins, of which neighbours in a chain agree with probability 0.75.
fn chain(rows: usize) -> Points {
    let uniform = sample(&Uniform::new(0.0, 1.0).unwrap(), rows * 13, 5);
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..13 {
        let flips = &uniform.values()[j * rows..(j + 1) * rows];
        let spin = |i: usize, before: Option<&Vec<f64>>| match before {
            None => {
                if flips[i] < 0.5 {
                    1.0
                } else {
                    -1.0
                }
            }
            Some(column) => {
                if flips[i] < 0.75 {
                    column[i]
                } else {
                    -column[i]
                }
            }
        };
        columns.push((0..rows).map(|i| spin(i, columns.last())).collect());
    }
    let names: Vec<String> = (0..13).map(|j| format!("s{j}")).collect();
    Points::from_columns(&names, &columns).unwrap()
}

fn spins() -> Model {
    let names: Vec<String> = (0..13).map(|j| format!("'s{j}'")).collect();
    Model::from_toml(&format!("variables = [{}]\nfamily = 'ising'\nstates = [-1, 1]", names.join(", ")))
        .unwrap()
}

#[test]
fn a_chain_of_spins_is_found_whatever_the_threads() {
    let (model, data) = (spins(), chain(1200));
    let fit = |threads: usize| {
        model.fit(&data).penalty("auto".parse().unwrap()).threads(threads).seed(3).run().unwrap()
    };
    let (one, two) = (fit(1), fit(2));
    let report = one.penalty.as_ref().unwrap();
    assert_eq!(one.unknowns(), two.unknowns());
    assert_eq!(report, two.penalty.as_ref().unwrap());
    assert_eq!((report.kind, report.rule), (PenaltyKind::Lasso, StrengthRule::OneStandardError));
    let neighbours = |name: &String| {
        let (i, j) = name.trim_start_matches('J').split_once('_').unwrap_or(("0", "0"));
        j.parse::<i32>().unwrap() - i.parse::<i32>().unwrap() == 1
    };
    let right = report.selected.iter().filter(|name| neighbours(name)).count();
    assert_eq!(right, 12, "{:?}", report.selected);
    assert!(report.selected.len() <= 14, "{:?}", report.selected);
    assert!(one.parameters.iter().all(|e| e.se.is_nan()));
}

#[test]
fn factors_come_from_the_model_file_and_the_caller() {
    let text = "variables = ['x']\nfeatures = ['x', 'x^2', 'x^3']\npenalty_factors = { 'x' = 0, 'x^3' = 5 }";
    let model = Model::from_toml(text).unwrap();
    let data = sample(&Normal::with_std(0.5, 1.0).unwrap(), 800, 1);
    let fit = |penalty: Penalty| model.fit(&data).penalty(penalty).ratio(3.0).run().unwrap();
    let own = fit(Penalty::lasso(0.05));
    assert_eq!(own.penalty.as_ref().unwrap().factors, [0.0, 1.0, 5.0]);
    assert!(own.get("x").unwrap().estimate != 0.0 && own.get("x^3").unwrap().estimate == 0.0);
    let asked = fit(Penalty::lasso(0.05).with_factors(&[("x", 1.0)]));
    assert_eq!(asked.penalty.unwrap().factors, [1.0, 1.0, 5.0]);
    let wrong = "variables = ['x']\nfeatures = ['x']\npenalty_factors = { y = 1 }";
    assert!(Model::from_toml(wrong).unwrap_err().to_string().contains('y'));
}

/// Ten normals on a ring, with one more edge across it: their precision has ones on the diagonal and ±0.3 for an edge.
fn ring() -> (Vec<(usize, usize)>, Points) {
    let mut edges: Vec<(usize, usize)> = (0..9).map(|i| (i, i + 1)).collect();
    edges.extend([(0, 9), (0, 5)]);
    let mut precision = DMatrix::identity(10, 10);
    for (i, j) in &edges {
        let value = if (*i, *j) == (0, 5) { -0.3 } else { 0.3 };
        precision[(*i, *j)] = value;
        precision[(*j, *i)] = value;
    }
    let standard = sample(&Normal::with_std(0.0, 1.0).unwrap(), 10 * 1500, 8);
    let e = DMatrix::from_column_slice(10, 1500, standard.values());
    // LᵀX = e has the covariance P⁻¹ for P = LLᵀ.
    let factor = precision.cholesky().unwrap().l();
    let rows = factor.tr_solve_lower_triangular(&e).unwrap();
    let names: Vec<String> = (0..10).map(|j| format!("x{j}")).collect();
    // Means and scales of their own, with which the graph has nothing to do.
    let column =
        |j: usize| rows.row(j).iter().map(|x| (x + 0.3 * j as f64) * (1.0 + j as f64)).collect::<Vec<f64>>();
    edges.sort_unstable();
    (edges, Points::from_columns(&names, &(0..10).map(column).collect::<Vec<_>>()).unwrap())
}

/// Means and the diagonal of the precision are no edges: penalised, they would be drawn to zero, the diagonal towards infinite spread.
#[test]
fn the_lasso_of_a_gaussian_finds_the_graph_and_leaves_its_diagonal_alone() {
    let (edges, data) = ring();
    let names: Vec<String> = (0..10).map(|j| format!("'x{j}'")).collect();
    let model =
        Model::from_toml(&format!("variables = [{}]\nfamily = 'gaussian'", names.join(", "))).unwrap();
    let fit = model.fit(&data).penalty("auto".parse().unwrap()).seed(1).run().unwrap();
    let report = fit.penalty.as_ref().unwrap();
    let is_edge = |name: &str| name.starts_with('P') && name[1..2] != name[2..3];
    for (parameter, factor) in model.parameters().iter().zip(&report.factors) {
        assert_eq!(*factor, f64::from(u8::from(is_edge(&parameter.name))), "{}", parameter.name);
    }
    let digit = |text: &str| text.parse::<usize>().unwrap();
    let found: Vec<(usize, usize)> = report
        .selected
        .iter()
        .filter(|name| is_edge(name))
        .map(|name| (digit(&name[1..2]), digit(&name[2..3])))
        .collect();
    assert_eq!(found, edges);
    // A factor of one's own comes first.
    let asked = model.fit(&data).penalty(Penalty::lasso(0.3).with_factors(&[("P00", 1.0)])).run().unwrap();
    let place = model.parameters().iter().position(|p| p.name == "P00").unwrap();
    assert_eq!(asked.penalty.as_ref().unwrap().factors[place], 1.0);
    // Of one variable the mean and the precision are all that there is.
    let one = Model::from_toml("variables = ['x0']\nfamily = 'gaussian'").unwrap();
    let alone = sample(&Normal::with_std(0.0, 1.0).unwrap(), 500, 2);
    let ridge = one.fit(alone.values()).penalty(Penalty::ridge(0.1)).ratio(3.0).run().unwrap();
    assert_eq!(ridge.penalty.as_ref().unwrap().factors, [1.0, 1.0]);
}

#[test]
fn bootstraps_do_not_depend_on_threads_and_profiles_contain_the_estimate() {
    let model =
        Model::from_toml("variables = ['x']\nlog_density = 'm*x - p*x^2/2'\n[parameters]\nm = 0\np = 1")
            .unwrap();
    let data = sample(&Normal::with_std(0.5, 1.0).unwrap(), 200, 1);
    let fit = |threads: usize| {
        let asked = model.fit(&data).ratio(3.0).bootstrap(40).interval(IntervalKind::Profile);
        asked.threads(threads).run().unwrap()
    };
    let (one, two) = (fit(1), fit(2));
    assert_eq!(one.bootstrap, two.bootstrap);
    assert_eq!(one.interval, IntervalKind::Profile);
    for e in &one.parameters {
        assert!(e.lower < e.estimate && e.estimate < e.upper);
    }
}

#[test]
fn penalised_fits_are_saved_and_not_compared() {
    let (model, data) = (spins(), chain(600));
    let fit = model.fit(&data).penalty(Penalty::lasso(0.1)).run().unwrap();
    let record = fit.record(None).unwrap();
    assert!(record.penalized && record.joint.without_errors);
    let read: noisewright::after::FitRecord =
        serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
    read.check().unwrap();
    assert!(read.log_density(&model, data.view()).unwrap()[0].se.is_nan());
    let both = [("a".to_owned(), &record), ("b".to_owned(), &read)];
    let refused = noisewright::after::compare(&both, &[None, None], false).unwrap_err();
    assert!(refused.to_string().contains("penalised"), "{refused}");
}
