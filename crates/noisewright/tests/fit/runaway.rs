//! Parameters without a finite estimate are said to have none, whatever fits them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use noisewright::fit::{Data, FitOptions, NoiseChoice, WarningKind};
use noisewright::internal::fit::fit;
use noisewright::{Model, Points, Student, sample};

use crate::extremes::TEN;

fn student() -> Model {
    Model::from_toml("variables = ['x']\nfamily = 'student'\ndof = 'free'").unwrap()
}

/// Ten values at equidistant quantiles of a uniform distribution: their tails are lighter than a normal's, so that the
/// likelihood of Student's density rises with the degrees of freedom for ever.
fn light_tails(rows: usize) -> Points {
    Points::unnamed(1, rows, (0..rows).map(|i| 1.0 + (i as f64 + 0.5) / rows as f64).collect())
}

#[test]
fn degrees_of_freedom_that_run_away_are_no_estimate() {
    for noise in [NoiseChoice::Auto, NoiseChoice::Exact] {
        for rows in [10, 40] {
            let options = FitOptions { noise: noise.clone(), ..FitOptions::default() };
            let found = fit(&student(), Data::from(&light_tails(rows)), &options).unwrap();
            let runaway = found.diagnostics.runaway.as_ref();
            println!("{noise:?} {rows}: {:?} {:?}", runaway, found.diagnostics.warnings);
            let runaway = runaway.expect("no runaway");
            assert_eq!((runaway.name.as_str(), runaway.sign), ("dof", 1));
            assert!(found.diagnostics.has(WarningKind::Runaway) && !found.converged);
            // The likelihood ratio rejects few degrees of freedom, but not very many.
            let limit = runaway.limit.expect("no limit");
            assert!((0.2..100.0).contains(&limit) && found.parameters[2].lower == limit, "{limit}");
            assert!(found.parameters.iter().all(|p| !p.se.is_finite()));
        }
    }
}

#[test]
fn a_finite_estimate_stays_one() {
    let points = sample(&Student::new(3.0, 1.0, 2.0).unwrap(), 1000, 4);
    let found = fit(&student(), Data::from(&points), &FitOptions::default()).unwrap();
    assert!(found.diagnostics.runaway.is_none() && found.converged);
    assert!((found.parameters[2].estimate - 3.0).abs() < 4.0 * found.parameters[2].se);
}

#[test]
fn a_location_of_zero_does_not_run_away() {
    // Symmetric data: the location is zero up to rounding, and ten or a thousand times zero is no other place.
    let values: Vec<f64> = (1..=200).flat_map(|i| [f64::from(i) / 100.0, -f64::from(i) / 100.0]).collect();
    let points = Points::unnamed(1, 400, values);
    let file = "variables = ['x']\nlog_density = '-(x-m)^2/(2*s^2)'\n[parameters]\nm = 0.5\ns = { start = 1, lower = 0 }";
    let found = fit(&Model::from_toml(file).unwrap(), Data::from(&points), &FitOptions::default()).unwrap();
    assert!(found.diagnostics.runaway.is_none() && found.converged, "{:?}", found.diagnostics.warnings);
}

#[test]
fn a_parameter_that_runs_to_a_far_bound_is_on_it() {
    // Rows of which the likelihood rises with the degrees of freedom, in Student's density written out: the loss falls
    // up to the bound, along a slope that is lost in rounding far before a bound of 1e9. There the density is a normal
    // one, whose scale is the rows' standard deviation with the error s/√(2n).
    let rows = TEN.len();
    let points = Points::unnamed(1, rows, TEN.to_vec());
    let mean = points.values().iter().sum::<f64>() / rows as f64;
    let scale = (points.values().iter().map(|x| (x - mean).powi(2)).sum::<f64>() / rows as f64).sqrt();
    for upper in [1e6, 1e9] {
        for noise in [NoiseChoice::Auto, NoiseChoice::Exact] {
            let file = format!(
                "variables = ['x']\nlog_density = '-(k+1)/2*log(1+((x-m)/s)^2/k)'\n[parameters]\n\
                 k = {{ start = 5, lower = 0.1, upper = {upper:e} }}\nm = 0\ns = {{ start = 1, lower = 0 }}"
            );
            let options = FitOptions { noise: noise.clone(), ..FitOptions::default() };
            let found = fit(&Model::from_toml(&file).unwrap(), Data::from(&points), &options).unwrap();
            let (k, s) = (&found.parameters[0], &found.parameters[2]);
            let name = format!("{upper:e} {noise:?}: {k:?} {s:?}");
            assert!(found.converged && found.diagnostics.has(WarningKind::AtBound), "{name}");
            assert!(k.at_bound && k.estimate == upper, "{name}");
            // Noise adds a few per cent of an error.
            assert!((s.estimate - scale).abs() < 0.1 * s.se && s.se < scale, "{name} {scale}");
        }
    }
}

/// The rows' density has no fewer digits at a bound of 1e12 than at 1e6: what differs is of the order z²/k, z = ((x − m)/s)² at
/// most 5, and the end of the search, 1e-6 of an error. With `1 + z/k` rounded the error of s was 0.65 at 1e6 and 1.02 at 1e9.
#[test]
fn the_error_beside_a_far_bound_does_not_depend_on_it() {
    let points = Points::unnamed(1, TEN.len(), TEN.to_vec());
    for noise in [NoiseChoice::Auto, NoiseChoice::Exact] {
        let error = |upper: f64| {
            let file = format!(
                "variables = ['x']\nlog_density = '-(k+1)/2*log(1+((x-m)/s)^2/k)'\n[parameters]\n\
                 k = {{ start = {upper:e}, lower = 0.1, upper = {upper:e} }}\nm = 0\ns = {{ start = 1, lower = 0 }}"
            );
            let options = FitOptions { noise: noise.clone(), ..FitOptions::default() };
            let found = fit(&Model::from_toml(&file).unwrap(), Data::from(&points), &options).unwrap();
            println!("{noise:?} {upper:e}: {:?} {:?}", found.parameters, found.diagnostics.warnings);
            found.parameters[2].se
        };
        let [near, far, farther] = [1e6, 1e9, 1e12].map(error);
        assert!(
            (far / near - 1.0).abs() < 1e-3 && (farther / near - 1.0).abs() < 1e-3,
            "{near} {far} {farther}"
        );
    }
}
