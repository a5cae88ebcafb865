//! The asymptotic error against closed forms, the values of MATH §4 and §6, and 17-digit references.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{assert_close, close, distance, error, loss, report, words};
use nalgebra::DMatrix;
use noisewright::internal::{cramer_rao_covariance, error_report};
use noisewright::{Loss, MultivariateNormal, Noise, Normal, Population, Precision, Target, divergences};
use noisewright_systems::{
    GaussianPair, System, all, gaussian_correlation, gaussian_mean, gaussian_variance, quartic,
};

struct Row<'a> {
    system: &'a str,
    free: bool,
    noise: &'a str,
    nu: f64,
    loss: &'a str,
    error: f64,
}

fn rows() -> Vec<Row<'static>> {
    let text = include_str!("../references/asymptotic.csv");
    let row = |line: &'static str| {
        let fields: Vec<&str> = line.trim_end().split(';').collect();
        let number = |i: usize| fields[i].parse().unwrap();
        Row {
            system: fields[0],
            free: fields[1] == "free",
            noise: fields[2],
            nu: number(3),
            loss: fields[4],
            error: number(5),
        }
    };
    text.lines().skip(1).map(row).collect()
}

fn system_of(row: &Row<'_>) -> System {
    match row.system.split_once(' ') {
        Some(("correlation", rho)) => gaussian_correlation(rho.parse().unwrap(), !row.free).unwrap(),
        _ if row.system == "mean" => gaussian_mean(0.0, !row.free).unwrap(),
        _ if row.system == "variance" => gaussian_variance(1.0, !row.free).unwrap(),
        _ => quartic().unwrap(),
    }
}

fn correlated(row: &Row<'_>) -> MultivariateNormal {
    let rho: f64 = row.noise.trim_start_matches("normal(").trim_end_matches(')').parse().unwrap();
    MultivariateNormal::new(&[0.0, 0.0], &[1.0, rho, rho, 1.0]).unwrap()
}

#[test]
fn errors_agree_with_the_reference_table() {
    let rows = rows();
    assert!(rows.len() > 150);
    for row in rows.iter().filter(|row| row.system != "nce-of-z") {
        let system = system_of(row);
        let name = format!("{} against {}, nu {}, {}", system.name, row.noise, row.nu, row.loss);
        let got = if row.system.starts_with("correlation") {
            error(&system, &correlated(row), row.nu, &loss(row.loss))
        } else {
            error(&system, &*words(&system.model, row.noise), row.nu, &loss(row.loss))
        };
        assert_close(got, row.error, 1e-9, &name);
    }
}

#[test]
fn the_error_of_log_z_agrees_with_the_table_and_the_closed_forms() {
    let system = gaussian_mean(0.0, true).unwrap();
    let noise = Normal::with_variance(0.7, 1.5).unwrap();
    for row in rows().iter().filter(|row| row.system == "nce-of-z") {
        let found = divergences(&system.model, &[0.0], &noise, row.nu, &Precision::default()).unwrap();
        assert_close(found.normalizer_errors(row.nu).nce, row.error, 1e-10, "NCE of Z");
    }
    for (mean, variance) in [(0.7, 1.5), (0.0, 1.3), (-1.2, 0.7), (3.0, 1.0), (1e-4, 1.0)] {
        let noise = Normal::with_variance(mean, variance).unwrap();
        let exact = GaussianPair { mean, variance };
        for nu in [0.1, 1.0, 3.0] {
            let found = divergences(&system.model, &[0.0], &noise, nu, &Precision::default()).unwrap();
            let errors = found.normalizer_errors(nu);
            // The closed forms cancel where the densities nearly agree; the library's integrals do not.
            let tolerance = if mean.abs() < 1e-3 { 1e-6 } else { 1e-10 };
            for (got, want) in
                [errors.is, errors.revis, errors.is_revis].iter().zip(exact.normalizer_errors(nu))
            {
                assert_close(*got, want, tolerance, &format!("normal({mean}, {variance}), nu {nu}"));
            }
            let kl = error(&system, &noise, nu, &Loss::Kl);
            assert_close(kl, exact.mean_error_kl(nu), 1e-10, "the mean by the KL loss");
        }
    }
}

#[test]
fn nearly_equal_densities_lose_no_digits() {
    // χ² = e^{m²} − 1 = m² + m⁴/2 + …, and 4·(1/BC² − 1) = 4·(e^{m²/4} − 1).
    let system = gaussian_mean(0.0, true).unwrap();
    let noise = Normal::with_variance(1e-7, 1.0).unwrap();
    let found = divergences(&system.model, &[0.0], &noise, 1.0, &Precision::default()).unwrap();
    assert_close(found.chi2_data_noise, 1e-14, 1e-6, "chi2");
    assert_close(found.normalizer_errors(1.0).is_revis, 1e-14, 1e-6, "IS-RevIS");
    assert_close(found.normalizer_errors(1.0).nce, 1e-14, 1e-6, "NCE");
}

#[test]
fn the_conventional_choice_costs_what_the_table_says() {
    let value = |system: System| error(&system, &Normal::with_variance(0.0, 1.0).unwrap(), 1.0, &Loss::Js);
    for (normalized, mean, variance) in [(true, 4.0, 8.0), (false, 4.0, 10.0)] {
        assert_close(value(gaussian_mean(0.0, normalized).unwrap()), mean, 1e-12, "mean");
        assert_close(value(gaussian_variance(1.0, normalized).unwrap()), variance, 1e-12, "variance");
    }
}

#[test]
fn the_best_parametric_noises_are_where_math_says() {
    let mean = gaussian_mean(0.0, true).unwrap();
    let shifted = |m: f64| error(&mean, &Normal::with_variance(m, 1.0).unwrap(), 1.0, &Loss::Js);
    assert!(close(shifted(1.42701), 3.69862, 2e-6));
    assert!(shifted(1.42701) < shifted(1.42601) && shifted(1.42701) < shifted(1.42801));
    assert_close(shifted(-1.42701), shifted(1.42701), 1e-11, "mirrored");
    let variance = gaussian_variance(1.0, true).unwrap();
    let widened = |v: f64| error(&variance, &Normal::with_variance(0.0, v).unwrap(), 1.0, &Loss::Js);
    assert!(close(widened(4.24226), 5.51086, 2e-6));
    assert!(widened(4.24226) < widened(4.24126) && widened(4.24226) < widened(4.24326));
    assert!(widened(4.24226) < widened(3.84));
    let pair = gaussian_correlation(0.3, true).unwrap();
    let tilted = |r: f64| MultivariateNormal::new(&[0.0, 0.0], &[1.0, r, r, 1.0]).unwrap();
    assert!((error(&pair, &tilted(-0.2332), 1.0, &Loss::Js) - 2.6129).abs() < 5e-5);
    assert!((error(&pair, &tilted(0.3), 1.0, &Loss::Js) - 3.0389).abs() < 5e-5);
}

#[test]
fn every_system_has_its_normalizer_information_and_bound() {
    for system in all().unwrap() {
        let population = Population::new(&system.model, &system.parameters, &Precision::default()).unwrap();
        let log_z = population.log_normalizer();
        assert!((log_z - system.log_z).abs() < 1e-10, "{}: {log_z} not {}", system.name, system.log_z);
        let information = distance(&population.information(), &system.information());
        assert!(information < 1e-9, "{}: information off by {information:e}", system.name);
        // The constant may be known exactly: its bound of zero says nothing about relative differences.
        let size = population.coordinates().len();
        let one = DMatrix::identity(size, size);
        let bound = distance(&(cramer_rao_covariance(&population).unwrap() + &one), &(system.bound() + &one));
        assert!(bound < 1e-9, "{}: bound off by {bound:e}", system.name);
    }
}

#[test]
fn noise_equal_to_the_data_costs_its_closed_form_for_every_loss() {
    let losses = ["js", "kl", "reverse-kl", "hellinger", "pearson", "power:0.3"].map(loss);
    for system in all().unwrap() {
        let population = Population::new(&system.model, &system.parameters, &Precision::default()).unwrap();
        let own = population.log_density().to_vec();
        for nu in [0.05, 1.0, 7.0] {
            let want = system.error_noise_equals_data(nu);
            let name = format!("{}, nu {nu}", system.name);
            for loss in &losses {
                let got = error_report(&population, &own, nu, loss, &Target::Mse).unwrap();
                assert_close(got.error, want, 1e-10, &name);
                assert_close(got.noise_equals_data, want, 1e-10, &name);
            }
            if let Some(noise) = &system.noise {
                assert_close(error(&system, &**noise, nu, &Loss::Js), want, 1e-10, &name);
            }
        }
    }
}

#[test]
fn the_report_holds_together() {
    let system = gaussian_variance(1.0, false).unwrap();
    let noise = Normal::with_variance(0.2, 2.0).unwrap();
    let nu = 3.0;
    let found = report(&system.model, &system.parameters, &noise, nu, &Loss::Js).unwrap();
    assert_eq!(found.coordinates, ["v", "log_normalizer"]);
    assert_close(found.parts.iter().sum(), found.error, 1e-14, "parts");
    assert_close((1.0 + nu) * found.covariance.trace(), found.error, 1e-14, "trace");
    let bound = found.cramer_rao.unwrap();
    assert_close(bound, (1.0 + nu) * system.bound().trace(), 1e-10, "bound");
    assert_close(found.efficiency.unwrap(), bound / found.error, 1e-15, "efficiency");
    assert_close(found.noise_equals_data, system.error_noise_equals_data(nu), 1e-10, "noise = data");
    assert!(found.weights_mean > 0.0 && found.weights_mean < 1.0);
    assert!((found.log_normalizer - system.log_z).abs() < 1e-12);
    assert_eq!(noise.describe(), "normal(0.2, 2)");
}

/// MATH §8: independent noise with a ratio M inside the loss. T_d·Var of the mean at ν = 1, to the digits given there.
#[test]
fn the_ratio_inside_the_loss_costs_what_it_should_with_independent_noise() {
    let system = gaussian_mean(0.0, false).unwrap();
    let cases = [
        ((1.0, 1.0), [(1.0, 3.0454), (3.0, 3.2559), (10.0, 3.9294), (100.0, 5.6162)]),
        ((0.0, 4.0), [(1.0, 1.7203), (3.0, 1.7611), (10.0, 1.8198), (100.0, 1.8587)]),
        // MATH §13, to its three digits.
        ((2.0, 1.0), [(1.0, 7.52), (10.0, 11.7), (100.0, 31.1), (f64::INFINITY, 274.0)]),
    ];
    for ((mean, variance), values) in cases {
        let noise = Normal::with_variance(mean, variance).unwrap();
        for (ratio, expected) in values {
            let builder = system.model.error(&system.parameters, &noise as &dyn Noise).ratio(1.0);
            let found = builder.loss_ratio(ratio).run().unwrap().covariance[(0, 0)];
            let digits = if mean == 2.0 { 0.005 * expected } else { 1e-4 };
            assert!((found - expected).abs() < digits, "M = {ratio}: {found} against {expected}");
        }
    }
    let noise = Normal::with_variance(0.0, 4.0).unwrap();
    let at = |ratio: f64| {
        let builder = system.model.error(&system.parameters, &noise as &dyn Noise).ratio(2.0);
        builder.loss_ratio(ratio).run().unwrap().error
    };
    let plain = error(&system, &noise, 2.0, &Loss::Js);
    assert_close(at(2.0), plain, 1e-14, "M = nu");
    assert!(at(1.9) > plain && at(2.1) > plain, "with a free constant M = nu is the best");
    assert!(system.model.error(&system.parameters, &noise as &dyn Noise).loss_ratio(-1.0).run().is_err());
}
