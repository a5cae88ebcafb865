//! Evidence against closed forms, and the coverage of its intervals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::f64::consts::{PI, TAU};

use noisewright::normalizer::{
    Density, Dependence, Evidence, EvidenceOptions, Method, NoiseKind, Options, bayes_factor, evidence,
};
use noisewright::{Domain, Error, MultivariateNormal, Noise, Result, Space, View, sample};
use noisewright_numerics::random::stream;
use noisewright_numerics::special::{ln_beta, ln_gamma};
use rand_distr::{Beta, Distribution, Gamma, StandardNormal};

/// `−½ Σ (x_j − j)²/s_j²` with s_j = 1 + j/10: log Z is `Σ ln(s_j √2π)`.
struct Gaussian {
    dimension: usize,
}

impl Gaussian {
    fn scale(j: usize) -> f64 {
        1.0 + 0.1 * j as f64
    }

    fn log_z(&self) -> f64 {
        (0..self.dimension).map(|j| Self::scale(j).ln() + 0.5 * TAU.ln()).sum()
    }

    fn space(&self) -> Space {
        let names: Vec<String> = (0..self.dimension).map(|j| format!("x{j}")).collect();
        Space::real(&names).unwrap()
    }

    /// A stationary chain in which every coordinate is an autoregression with this coefficient; 0 for independent draws.
    fn chain(&self, rows: usize, coefficient: f64, seed: u64) -> Vec<f64> {
        let mut random = stream(seed, 77);
        let fresh = (1.0 - coefficient * coefficient).sqrt();
        let mut values = vec![0.0; rows * self.dimension];
        for (j, column) in values.chunks_mut(rows).enumerate() {
            let mut z: f64 = StandardNormal.sample(&mut random);
            for x in column {
                *x = j as f64 + Self::scale(j) * z;
                let innovation: f64 = StandardNormal.sample(&mut random);
                z = coefficient * z + fresh * innovation;
            }
        }
        values
    }
}

impl Density for Gaussian {
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        for j in 0..self.dimension {
            let inverse = 1.0 / Self::scale(j);
            for (o, x) in out.iter_mut().zip(points.column(j)) {
                let z = (x - j as f64) * inverse;
                *o -= 0.5 * z * z;
            }
        }
        Ok(())
    }
}

/// Share of replications whose interval covers the truth, the standard deviation of the z-scores, the mean standard error.
fn coverage(replications: u64, truth: f64, one: impl Fn(u64) -> Evidence) -> (f64, f64, f64) {
    let (mut covered, mut squares, mut errors) = (0.0, 0.0, 0.0);
    for seed in 0..replications {
        let result = one(seed);
        covered += f64::from(u8::from(result.lower <= truth && truth <= result.upper));
        squares += ((result.log_evidence - truth) / result.se).powi(2);
        errors += result.se;
    }
    let n = replications as f64;
    (covered / n, (squares / n).sqrt(), errors / n)
}

fn gaussian_coverage(dimension: usize, rows: usize, coefficient: f64, replications: u64) -> (f64, f64, f64) {
    let density = Gaussian { dimension };
    let dependence = if coefficient == 0.0 { Dependence::Independent } else { Dependence::Chains };
    coverage(replications, density.log_z(), |seed| {
        let values = density.chain(rows, coefficient, seed);
        let options = EvidenceOptions {
            trace: 0,
            log_z: Options { dependence, seed, ..Options::default() },
            ..EvidenceOptions::default()
        };
        evidence(&density, View::new(dimension, rows, &values), &density.space(), &options).unwrap()
    })
}

#[test]
#[ignore = "takes minutes: the full table of coverages"]
fn coverage_at_full_size() {
    for (dimension, rows, coefficient, replications) in [
        (1, 2000, 0.0, 2000),
        (2, 2000, 0.0, 1000),
        (10, 2000, 0.0, 1000),
        (10, 10_000, 0.0, 500),
        (1, 20_000, 0.9, 1000),
        (10, 20_000, 0.9, 500),
    ] {
        let (covered, deviation, se) = gaussian_coverage(dimension, rows, coefficient, replications);
        println!(
            "d={dimension} n={rows} a={coefficient}: coverage {covered:.3}, z sd {deviation:.3}, se {se:.5}"
        );
    }
}
