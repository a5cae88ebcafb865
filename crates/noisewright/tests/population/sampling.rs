//! Populations by sampling, against closed forms.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright::internal::energy::{Gaussian, Ising, VonMisesFisher as VonMisesFisherEnergy};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::parts::{Accuracy, Method};
use noisewright::*;
use noisewright_numerics::special::{ln_bessel_i, ln_gamma};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|j| format!("x{j}")).collect()
}

fn precision(seed: u64) -> Precision {
    Precision { seed, ..Precision::default() }
}

/// A model of an energy, parameters starting at zero.
fn model_of(energy: impl Energy + 'static, space: Space) -> Model {
    let parameters = energy.parameters().into_iter().map(|name| Parameter::new(name, 0.0)).collect();
    Model::new(Arc::new(energy), space, parameters).unwrap()
}

/// A Gaussian whose precision matrix couples neighbours and whose mean is away from the origin.
struct TestGaussian {
    model: Model,
    theta: Vec<f64>,
    mean: Vec<f64>,
    covariance: DMatrix<f64>,
}

impl TestGaussian {
    fn new(dimension: usize) -> Self {
        let energy = Gaussian::new(dimension).unwrap();
        let precision = DMatrix::from_fn(dimension, dimension, |i, j| match i.abs_diff(j) {
            0 => 1.0 + 0.3 * i as f64,
            1 => 0.4,
            _ => 0.0,
        });
        let mean = DVector::from_fn(dimension, |i, _| 0.5 - 0.2 * i as f64);
        let mut theta = (&precision * &mean).as_slice().to_vec();
        (0..dimension).for_each(|i| (i..dimension).for_each(|j| theta.push(precision[(i, j)])));
        let model = model_of(energy, Space::real(&names(dimension)).unwrap());
        let covariance = precision.try_inverse().unwrap();
        Self { model, theta, mean: mean.as_slice().to_vec(), covariance }
    }

    fn log_z(&self) -> f64 {
        self.model.log_normalizer(&self.theta, &mut vec![0.0; self.theta.len()]).unwrap()
    }

    /// The model's own distribution, moved and stretched.
    fn noise(&self, shift: f64, stretch: f64) -> MultivariateNormal {
        let mean: Vec<f64> = self.mean.iter().map(|m| m + shift).collect();
        MultivariateNormal::new(&mean, (&self.covariance * stretch).as_slice()).unwrap()
    }

    /// `E[ψψᵀ]` with ψ = (x, −x x/2 or −x x, −1), by Isserlis' theorem.
    fn information(&self) -> DMatrix<f64> {
        let d = self.mean.len();
        let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).collect();
        let (m, c) = (&self.mean, &self.covariance);
        let second = |i: usize, j: usize| c[(i, j)] + m[i] * m[j];
        let third = |i: usize, j: usize, k: usize| {
            m[i] * m[j] * m[k] + m[i] * c[(j, k)] + m[j] * c[(i, k)] + m[k] * c[(i, j)]
        };
        let fourth = |i: usize, j: usize, k: usize, l: usize| {
            let centred = c[(i, j)] * c[(k, l)] + c[(i, k)] * c[(j, l)] + c[(i, l)] * c[(j, k)];
            let mixed = m[i] * m[j] * c[(k, l)]
                + m[i] * m[k] * c[(j, l)]
                + m[i] * m[l] * c[(j, k)]
                + m[j] * m[k] * c[(i, l)]
                + m[j] * m[l] * c[(i, k)]
                + m[k] * m[l] * c[(i, j)];
            m[i] * m[j] * m[k] * m[l] + mixed + centred
        };
        let factor = |p: (usize, usize)| if p.0 == p.1 { -0.5 } else { -1.0 };
        let size = d + pairs.len() + 1;
        DMatrix::from_fn(size, size, |a, b| {
            let (a, b) = (a.min(b), a.max(b));
            let pair = |at: usize| pairs[at - d];
            match (a < d, a < size - 1, b < d, b < size - 1) {
                (true, _, true, _) => second(a, b),
                (true, _, false, true) => factor(pair(b)) * third(a, pair(b).0, pair(b).1),
                (true, _, false, false) => -m[a],
                (false, true, _, true) => {
                    let (p, q) = (pair(a), pair(b));
                    factor(p) * factor(q) * fourth(p.0, p.1, q.0, q.1)
                }
                (false, true, _, false) => -factor(pair(a)) * second(pair(a).0, pair(a).1),
                _ => 1.0,
            }
        })
    }
}

fn check_log_z(population: &Population, exact: f64, most: f64) {
    let Accuracy { method, relative_error, points, .. } = population.accuracy();
    let off = population.log_normalizer() - exact;
    println!("log Z off by {off:.2e}, claimed {relative_error:.2e}, {points} points");
    assert_eq!(method, Method::Sampling);
    assert!(off.abs() < 3.0 * relative_error, "off by {off:.3e}, claimed {relative_error:.3e}");
    assert!(relative_error < most, "claimed {relative_error:.3e}");
}

#[test]
fn gaussians_in_4_6_and_10_dimensions() {
    for (dimension, most) in [(4, 3e-3), (6, 5e-3), (10, 1e-2)] {
        let gaussian = TestGaussian::new(dimension);
        let population = Population::new(&gaussian.model, &gaussian.theta, &precision(0)).unwrap();
        check_log_z(&population, gaussian.log_z(), most);
        assert!((population.log_normalizer() - gaussian.log_z()).abs() < 1e-3);
        let (found, exact) = (population.information(), gaussian.information());
        let weights: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
        for i in 0..exact.nrows() {
            for j in 0..=i {
                let off = found[(i, j)] - exact[(i, j)];
                // The standard error of a self-normalized weighted mean, √Σ w²(ψ_iψ_j − I_ij)² (Owen 2013, eq. 9.9); the draws are
                // spread more evenly than independent ones. Five of them: of 2211 entries one in a thousand runs would exceed.
                let scores = population.score_of(i).iter().zip(population.score_of(j));
                let spread = scores.zip(&weights).map(|((a, b), w)| (w * (a * b - exact[(i, j)])).powi(2));
                let error = spread.sum::<f64>().sqrt();
                assert!(
                    // Constant products have no error but rounding.
                    off.abs() <= 5.0 * error + 1e-12 * exact[(i, j)].abs(),
                    "{dimension}: entry {i}, {j} off by {off:.2e} ± {error:.2e}"
                );
            }
        }
    }
}

#[test]
fn noise_equal_to_the_data_has_the_error_of_the_closed_form() {
    for (dimension, nu) in [(4, 1.0), (6, 0.2)] {
        let gaussian = TestGaussian::new(dimension);
        let noise = gaussian.noise(0.0, 1.0);
        let contrast = Contrast { noise: &noise, nu, loss: &Loss::Js };
        let report =
            asymptotic_error(&gaussian.model, &gaussian.theta, contrast, &Target::Mse, &precision(3))
                .unwrap();
        let bound = gaussian.information().try_inverse().unwrap().trace() - 1.0;
        let exact = (1.0 + nu).powi(2) / nu * bound;
        let off = report.error / exact - 1.0;
        println!("{dimension}: off by {off:.2e}, claimed {:.2e}", report.accuracy.relative_error);
        assert!(off.abs() < 3.0 * report.accuracy.relative_error, "{off}");
        assert!(report.accuracy.relative_error < 0.02);
    }
}

/// A noise to one side of the data: I_w lives between the two. By rotation the problem is one of 1-D integrals.
#[test]
fn noise_away_from_the_data_agrees_with_quadrature_in_one_dimension() {
    let shift = 3.0;
    // β = c alone: Σ = 1/E[w] − (1 + 1/ν), and the ratio depends on x along the shift only.
    let line = Model::from_formula("-x^2/2", Space::real(&["x"]).unwrap(), vec![], false).unwrap();
    let noise = Normal::with_variance(shift, 1.0).unwrap();
    let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
    let exact = asymptotic_error(&line, &[], contrast, &Target::Mse, &Precision::default()).unwrap().error;
    let space = Space::real(&names(5)).unwrap();
    let model = Model::from_formula("-(x0^2 + x1^2 + x2^2 + x3^2 + x4^2)/2", space, vec![], false).unwrap();
    let mean = vec![shift / 5f64.sqrt(); 5];
    let noise = MultivariateNormal::new(&mean, DMatrix::<f64>::identity(5, 5).as_slice()).unwrap();
    let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
    let report = asymptotic_error(&model, &[], contrast, &Target::Mse, &precision(0)).unwrap();
    let off = report.error / exact - 1.0;
    println!("{}: off by {off:.2e}, claimed {:.2e}", report.error, report.accuracy.relative_error);
    assert!(off.abs() < 3.0 * report.accuracy.relative_error && report.accuracy.relative_error < 0.02);
}

#[test]
fn positive_interval_and_circle_together() {
    let variables = [
        ("r", Domain::Real),
        ("p", Domain::Positive),
        ("q", Domain::Interval(0.0, 1.0)),
        ("a", Domain::Circle),
    ];
    let parameters = vec![Parameter::new("s", 0.5), Parameter::new("b", 2.0), Parameter::new("k", 1.5)];
    // Gamma with a shape below one is infinite at 0, the beta at 1.
    let formula = "-r^2/8 + (s - 1)*log(p) - b*p + 1.5*log(q) - 0.3*log(1 - q) + k*cos(a - 2)";
    let model = Model::from_formula(formula, Space::product(&variables).unwrap(), parameters, false).unwrap();
    let beta = ln_gamma(2.5) + ln_gamma(0.7) - ln_gamma(3.2);
    let exact =
        0.5 * (TAU * 4.0).ln() + ln_gamma(0.5) - 0.5 * 2f64.ln() + beta + TAU.ln() + ln_bessel_i(0.0, 1.5);
    let population = Population::new(&model, &model.start(), &precision(0)).unwrap();
    check_log_z(&population, exact, 5e-3);
}

#[test]
fn directions_in_five_dimensions() {
    for concentration in [3.0, 50.0] {
        let energy = VonMisesFisherEnergy::new(5).unwrap();
        let model = model_of(energy, Space::sphere(&names(5)).unwrap());
        let theta: Vec<f64> = [0.2, -0.4, 0.4, 0.4, 0.6].to_vec();
        let length = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
        let theta: Vec<f64> = theta.iter().map(|x| x * concentration / length).collect();
        let exact = 2.5 * TAU.ln() + ln_bessel_i(1.5, concentration) - 1.5 * concentration.ln();
        let population = Population::new(&model, &theta, &precision(0)).unwrap();
        check_log_z(&population, exact, 1e-2);
    }
}

#[test]
fn two_opposite_directions_in_four_dimensions() {
    let space = Space::sphere(&names(4)).unwrap();
    let model = Model::from_formula("k*abs(x0)", space, vec![Parameter::new("k", 20.0)], false).unwrap();
    // ∫ exp(κ|x₀|): twice the half-sphere's; 4π ∫₀^{π/2} e^{κ cos t} sin² t dt, and I₁, L₁ give 4π·π(I₁+L₁)/(2κ).
    let steps = 200_000;
    let h = 0.5 * PI / f64::from(steps);
    let half: f64 = (0..steps)
        .map(|i| (f64::from(i) + 0.5) * h)
        .map(|t| (20.0 * (t.cos() - 1.0)).exp() * t.sin() * t.sin() * h)
        .sum();
    let exact = (2.0 * 4.0 * PI * half).ln() + 20.0;
    check_log_z(&Population::new(&model, &[20.0], &precision(0)).unwrap(), exact, 1e-2);
}

fn spins(energy: Ising, count: usize) -> Model {
    let variables: Vec<(String, Domain)> =
        names(count).into_iter().map(|n| (n, Domain::States(vec![-1.0, 1.0]))).collect();
    model_of(energy, Space::product(&variables).unwrap())
}

#[test]
fn independent_spins_beyond_enumeration() {
    let model = spins(Ising::with_edges(24, [-1.0, 1.0], &[]).unwrap(), 24);
    let theta: Vec<f64> = (0..24).map(|i| 0.1 * f64::from(i) - 1.0).collect();
    let exact: f64 = theta.iter().map(|h| (2.0 * h.cosh()).ln()).sum();
    check_log_z(&Population::new(&model, &theta, &precision(0)).unwrap(), exact, 2e-2);
}

#[test]
fn a_chain_of_coupled_spins_against_the_transfer_matrix() {
    let count = 22;
    let edges: Vec<(usize, usize)> = (1..count).map(|i| (i - 1, i)).collect();
    let model = spins(Ising::with_edges(count, [-1.0, 1.0], &edges).unwrap(), count);
    let (field, coupling) = (0.2f64, 0.3f64);
    let theta = [vec![field; count], vec![coupling; count - 1]].concat();
    let transfer = DMatrix::from_fn(2, 2, |a, b| {
        let (s, t) = (2.0 * a as f64 - 1.0, 2.0 * b as f64 - 1.0);
        (coupling * s * t + field * t).exp()
    });
    let mut left = DMatrix::from_row_slice(1, 2, &[(-field).exp(), field.exp()]);
    (1..count).for_each(|_| left = &left * &transfer);
    check_log_z(&Population::new(&model, &theta, &precision(0)).unwrap(), left.sum().ln(), 0.05);
}

#[test]
fn counts_states_and_real_variables_together() {
    let variables = [
        ("n", Domain::Counts),
        ("m", Domain::Counts),
        ("s", Domain::States(vec![0.0, 1.0, 2.0])),
        ("x", Domain::Real),
    ];
    let parameters = vec![Parameter::new("a", 1.2), Parameter::new("b", 5.0), Parameter::new("t", 0.5)];
    // Poisson counts of mean e^1.2 and e^5, three states, and a normal whose mean is the state.
    let formula = "a*n - lgamma(n + 1) + b*m - lgamma(m + 1) + t*s - (x - s)^2/2";
    let model = Model::from_formula(formula, Space::product(&variables).unwrap(), parameters, false).unwrap();
    let states = (1.0 + 0.5f64.exp() + 1f64.exp()).ln();
    let exact = 1.2f64.exp() + 5f64.exp() + states + 0.5 * TAU.ln();
    check_log_z(&Population::new(&model, &model.start(), &precision(0)).unwrap(), exact, 1e-2);
}

#[test]
fn three_variables_of_many_states() {
    let states: Vec<f64> = (0..300).map(f64::from).collect();
    let variables = ["a", "b", "c"].map(|n| (n, Domain::States(states.clone())));
    let parameters = vec![Parameter::new("t", -0.01)];
    let model =
        Model::from_formula("t*(a + b + c)", Space::product(&variables).unwrap(), parameters, false).unwrap();
    let exact = 3.0 * ((1.0 - (-3f64).exp()) / (1.0 - (-0.01f64).exp())).ln();
    check_log_z(&Population::new(&model, &[-0.01], &precision(0)).unwrap(), exact, 2e-2);
}

#[test]
fn both_modes_of_a_mixture_are_found() {
    let space = Space::real(&names(4)).unwrap();
    let squares = |sign: &str, scale: &str| {
        let terms: Vec<String> = (0..4).map(|j| format!("(x{j} {sign} m)^2")).collect();
        format!("-({})/(2*{scale})", terms.join(" + "))
    };
    // Two normals of standard deviations 1 and ½, 12 apart, of masses 1 and 3/16.
    let formula = format!("log(exp({}) + 3*exp({}))", squares("-", "1"), squares("+", "0.25"));
    let model = Model::from_formula(&formula, space, vec![Parameter::new("m", 3.0)], false).unwrap();
    let exact = 2.0 * TAU.ln() + (1.0f64 + 3.0 / 16.0).ln();
    check_log_z(&Population::new(&model, &[3.0], &precision(0)).unwrap(), exact, 2e-2);
}

#[test]
fn heavy_tails_are_sampled() {
    let space = Space::real(&names(4)).unwrap();
    let parameters = vec![Parameter::new("n", 3.0)];
    let formula = "-(n + 4)/2 * log1p((x0^2 + x1^2 + x2^2 + x3^2)/3)";
    let model = Model::from_formula(formula, space, parameters, false).unwrap();
    let exact = 2.0 * (3.0 * PI).ln() + ln_gamma(1.5) - ln_gamma(3.5);
    check_log_z(&Population::new(&model, &[3.0], &precision(0)).unwrap(), exact, 2e-2);
}

#[test]
fn tails_heavy_along_the_axes_are_sampled() {
    let space = Space::real(&names(4)).unwrap();
    let formula = "-log1p(x0^2) - log1p(x1^2) - log1p(x2^2) - log1p((x3 - 5)^2/100)";
    let model = Model::from_formula(formula, space, vec![], false).unwrap();
    let exact = 4.0 * PI.ln() + 10f64.ln();
    check_log_z(&Population::new(&model, &[], &precision(0)).unwrap(), exact, 1e-2);
}

#[test]
fn a_narrow_correlated_peak_far_away_is_found() {
    let space = Space::real(&names(4)).unwrap();
    let formula = "-(x0 - 1000)^2*5e5 - (x1 + 300)^2/2 - (x2 - x1)^2*50 - x3^2/2e8";
    let model = Model::from_formula(formula, space, vec![], false).unwrap();
    // Variances 1e-6, 1, 0.01 and 1e8.
    let exact = 2.0 * TAU.ln();
    check_log_z(&Population::new(&model, &[], &precision(0)).unwrap(), exact, 1e-2);
}

#[test]
fn what_does_not_integrate_is_refused() {
    let real = || Space::real(&names(4)).unwrap();
    let refused = |formula: &str, space: Space| {
        let model = Model::from_formula(formula, space, vec![], false).unwrap();
        let result = Population::new(&model, &[], &precision(0)).map(|p| p.accuracy());
        println!("{formula}: {result:?}");
        result.unwrap_err()
    };
    let growing = refused("x0^2 - x1^2 - x2^2 - x3^2", real());
    assert!(matches!(growing, Error::NotIntegrable { .. }), "{growing}");
    let flat = refused("-x0^2 - x1^2 - x2^2 - tanh(x3)^2", real());
    assert!(matches!(&flat, Error::NotIntegrable { variable: Some(v), .. } if v == "x3"), "{flat}");
    let slow = refused("-1.9*log1p(x0^2 + x1^2 + x2^2 + x3^2)", real());
    assert!(matches!(slow, Error::NotIntegrable { variable: None, .. }), "{slow}");
    let variables = [("x", Domain::Real), ("y", Domain::Real), ("z", Domain::Real), ("p", Domain::Positive)];
    let at_zero = refused("-x^2 - y^2 - z^2 - p - 1.01*log(p)", Space::product(&variables).unwrap());
    assert!(
        matches!(&at_zero, Error::NotIntegrable { variable: Some(v), towards } if v == "p" && towards == "0")
    );
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    // The square lattice of 64 spins at its critical coupling: no product of marginals follows its clusters.
    let side = 8;
    let right = (0..side * side).filter(|i| i % side + 1 < side).map(|i| (i, i + 1));
    let edges: Vec<(usize, usize)> = right.chain((0..side * (side - 1)).map(|i| (i, i + side))).collect();
    let model = spins(Ising::with_edges(side * side, [-1.0, 1.0], &edges).unwrap(), side * side);
    let theta = [vec![0.0; side * side], vec![0.4407; edges.len()]].concat();
    let few = Precision { draws: 1 << 14, ..precision(0) };
    let result = Population::new(&model, &theta, &few);
    assert!(matches!(result, Err(Error::TooHardToSample { .. })), "{:?}", result.map(|p| p.accuracy()));
}

/// z = (log Z − truth)/claimed error over seeds: with 16 replicates a Student variable of 15 degrees of freedom.
#[test]
fn the_claimed_error_is_the_error() {
    let space = Space::real(&names(4)).unwrap();
    // No parameter but the constant, so that the claimed error is that of log Z alone.
    let formula = "-softplus(2*x0) + x0 - softplus(2*x1) + x1 - (x2 - 0.3*x0)^2/2 - x3^4";
    let model = Model::from_formula(formula, space, vec![], false).unwrap();
    // ∫ e^x/(1 + e^{2x}) = π/2, ∫ e^{−x⁴} = 2 Γ(5/4).
    let exact = 2.0 * (0.5 * PI).ln() + 0.5 * TAU.ln() + (2.0f64).ln() + ln_gamma(1.25);
    let seeds = 30;
    let scores: Vec<f64> = (0..seeds)
        .map(|seed| {
            let few = Precision { draws: 1 << 13, ..precision(seed) };
            let population = Population::new(&model, &[], &few).unwrap();
            (population.log_normalizer() - exact) / population.accuracy().relative_error
        })
        .collect();
    let square = scores.iter().map(|z| z * z).sum::<f64>() / seeds as f64;
    println!("mean square {square:.3}, {scores:.2?}");
    // E z² = 15/13 = 1.154; the variance of z² is E z⁴ − (E z²)² = 3·15²/(13·11) − 1.331 = 3.389, so the mean of 30
    // has a standard deviation of 0.336. Four of them either way, and not below what a tenth of χ²₃₀ leaves.
    assert!((0.4..2.5).contains(&square), "{square}");
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let gaussian = TestGaussian::new(4);
    let noise = gaussian.noise(0.5, 1.5);
    let few = Precision { draws: 1 << 14, ..precision(5) };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let contrast = Contrast { noise: &noise, nu: 2.0, loss: &Loss::Js };
            Population::for_contrast(&gaussian.model, &gaussian.theta, contrast, &few).unwrap()
        })
    };
    let (one, two) = (run(1), run(2));
    assert_eq!(one.points().values(), two.points().values());
    assert_eq!(one.log_weights(), two.log_weights());
    assert_eq!(one.accuracy(), two.accuracy());
}

#[test]
fn divergences_of_gaussians_in_four_dimensions() {
    let gaussian = TestGaussian::new(4);
    // Noise moved by δ along each axis: ∫p²/q = exp(m) with m the squared Mahalanobis length of the shift.
    let shift = DVector::from_element(4, 0.4);
    let length = (shift.transpose() * gaussian.covariance.clone().try_inverse().unwrap() * &shift)[0];
    let found =
        divergences(&gaussian.model, &gaussian.theta, &gaussian.noise(0.4, 1.0), 1.0, &precision(0)).unwrap();
    println!("{found:?} {}", length.exp() - 1.0);
    for (name, value, exact) in [
        ("χ²(p, q)", found.chi2_data_noise, length.exp() - 1.0),
        ("χ²(q, p)", found.chi2_noise_data, length.exp() - 1.0),
        ("BC", found.bhattacharyya, (-length / 8.0).exp()),
    ] {
        assert!((value / exact - 1.0).abs() < 4.0 * found.relative_error, "{name}: {value}, not {exact}");
    }
    assert!(found.relative_error < 0.05);
    // Noise of more than twice the covariance: χ²(q, p) is infinite.
    let wide =
        divergences(&gaussian.model, &gaussian.theta, &gaussian.noise(0.0, 2.5), 1.0, &precision(0)).unwrap();
    assert!(wide.chi2_noise_data.is_infinite() && wide.lighter_data.is_some(), "{wide:?}");
    assert!(wide.chi2_data_noise.is_finite() && wide.lighter_noise.is_none());
    // ∫p²/q = s^{d/2} / (2 − 1/s)^{d/2} for a covariance s times as large.
    let exact = (2.5f64 / (2.0 - 0.4)).powi(2) - 1.0;
    assert!((wide.chi2_data_noise / exact - 1.0).abs() < 4.0 * wide.relative_error, "{wide:?} {exact}");
}

#[test]
fn a_variance_that_does_not_exist_is_named() {
    let gaussian = TestGaussian::new(4);
    // Importance sampling (KL) with noise of less than half the covariance.
    let noise = gaussian.noise(0.0, 0.4);
    let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Kl };
    let report =
        asymptotic_error(&gaussian.model, &gaussian.theta, contrast, &Target::Mse, &precision(0)).unwrap();
    assert!(report.error.is_infinite() && report.divergent.is_some());
}

#[test]
fn a_modest_accuracy_takes_fewer_draws() {
    let gaussian = TestGaussian::new(4);
    let modest = Precision { relative: 0.05, ..precision(0) };
    let population = Population::new(&gaussian.model, &gaussian.theta, &modest).unwrap();
    assert!(population.accuracy().points < modest.draws && population.accuracy().relative_error <= 0.05);
}
