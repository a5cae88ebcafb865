//! Every sampler follows its log-density, fits recover parameters, and draws depend on the seed alone.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support::*;
use noisewright::*;

const DRAWS: usize = 20_000;

/// The distribution function at every sorted draw, by integrating the density from draw to draw: it owes nothing
/// to the `cdf` of the noise.
fn distance_from_density(noise: &dyn Noise, draws: &[f64], lo: f64) -> f64 {
    let rule = gauss_legendre(10);
    let mut sorted = draws.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (center, scale) = noise.landmarks(0).centers[0];
    let n = sorted.len() as f64;
    let mut below = integral(noise, lo, sorted[0], center, scale, &[]);
    let (mut previous, mut largest) = (sorted[0], 0.0f64);
    for (i, &x) in sorted.iter().enumerate() {
        if x > previous {
            below += panel(noise, &rule, previous, x);
        }
        previous = x;
        largest = largest.max((below - i as f64 / n).abs()).max((below - (i + 1) as f64 / n).abs());
    }
    largest
}

#[test]
fn continuous_samplers_follow_their_densities() {
    let cases = [
        ("real", "normal(2, 9)"),
        ("real", "student(1, 0, 1)"),
        ("real", "student(3.5, -1, 2)"),
        ("real", "student(30, 0, 1)"),
        ("real", "uniform(-2, 7)"),
        ("real", "laplace(1, 3)"),
        ("real", "logistic(-1, 0.5)"),
        ("positive", "gamma(0.4, 2)"),
        ("positive", "gamma(6, 0.1)"),
        ("positive", "lognormal(1, 0.8)"),
        ("[0, 1]", "beta(0.7, 1.9)"),
        ("[-3, 9]", "beta(5, 2)"),
        ("circle", "von-mises(0, 0)"),
        ("circle", "von-mises(0.4, 1e-6)"),
        ("circle", "von-mises(2.8, 0.3)"),
        ("circle", "von-mises(-1, 5)"),
        ("circle", "von-mises(0.2, 1e4)"),
        ("circle", "von-mises(0.2, 1e9)"),
        ("positive", "normal(0, 1)"),
        ("positive", "normal(-6, 1)"),
        ("positive", "normal(-60, 1)"),
        ("positive", "student(4, -9, 1)"),
        ("[4, 9]", "gamma(2, 3)"),
        ("[4, 9]", "lognormal(0, 0.3)"),
        ("[0, 0.001]", "normal(0, 1)"),
        ("[0, 1]", "normal(0.3, 1e6)"),
        ("real", "truncate(laplace(0, 1), -inf, -20)"),
        ("real", "0.3*normal(-4, 1) + 0.7*student(5, 3, 1)"),
        ("real", "truncate(0.3*normal(-4, 1) + 0.7*student(5, 3, 1), -4, 2)"),
    ];
    for (seed, (domain, words)) in cases.into_iter().enumerate() {
        let noise = scalar(domain, words);
        let draws = sample(noise.as_ref(), DRAWS, seed as u64);
        let (lo, hi) = space(domain, 1).domains()[0].bounds();
        let values = draws.values();
        assert!(values.iter().all(|x| *x >= lo && *x <= hi), "{words} leaves the domain");
        let bound = kolmogorov_bound(DRAWS);
        let distance = distance_from_density(noise.as_ref(), values, lo);
        assert!(distance < bound, "{words} on {domain}: {distance} against {bound}");
        let distance = kolmogorov_distance(values, |x| noise.cdf(x));
        assert!(distance < bound, "cdf of {words} on {domain}: {distance} against {bound}");
    }
}

#[test]
fn discrete_samplers_follow_their_densities() {
    let cases = [
        ("counts", "poisson(0.3)"),
        ("counts", "poisson(5)"),
        ("counts", "poisson(80)"),
        ("counts", "negative-binomial(4, 0.5)"),
        ("counts", "negative-binomial(30, 9)"),
        ("counts", "truncate(poisson(2), 1, 4)"),
        ("counts", "truncate(poisson(2), 9, inf)"),
        ("counts", "0.5*poisson(1) + 0.5*poisson(12)"),
        ("spins", "bernoulli(0.8)"),
        ("spins", "uniform"),
    ];
    let draws_made = 10 * DRAWS;
    for (seed, (domain, words)) in cases.into_iter().enumerate() {
        let noise = scalar(domain, words);
        let mut found = vec![0usize; 302];
        for x in sample(noise.as_ref(), draws_made, seed as u64).values() {
            found[((x + 1.0) as usize).min(301)] += 1;
        }
        let states: Vec<f64> = (-1..300).map(f64::from).collect();
        let expected =
            log_densities(noise.as_ref(), &states).into_iter().map(|l| l.exp() * draws_made as f64);
        let (mut statistic, mut cells, mut rest, mut seen) = (0.0, 0.0, draws_made as f64, 0);
        for ((state, expected), found) in states.iter().zip(expected).zip(&found) {
            assert!(expected > 0.0 || *found == 0, "{words} drew {state}");
            if expected >= 10.0 {
                statistic += (*found as f64 - expected).powi(2) / expected;
                cells += 1.0;
                rest -= expected;
                seen += found;
            }
        }
        let left = (draws_made - seen) as f64;
        statistic += (left - rest).powi(2) / rest.max(10.0);
        assert!(statistic < chi_square_bound(cells), "{words}: {statistic} with {cells} cells");
    }
}

/// z-scores of the sample mean and covariance entries against the truth, from the sample's own spread.
fn largest_moment_score(points: View<'_>, mean: &[f64], covariance: &[f64]) -> f64 {
    let d = mean.len();
    let mut largest = 0.0f64;
    let score = |values: Vec<f64>, truth: f64| {
        let n = values.len() as f64;
        let average = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - average).powi(2)).sum::<f64>() / (n - 1.0);
        ((average - truth) / (variance / n).sqrt()).abs()
    };
    for i in 0..d {
        largest = largest.max(score(points.column(i).to_vec(), mean[i]));
        for j in 0..=i {
            let products = points.column(i).iter().zip(points.column(j));
            let products = products.map(|(a, b)| (a - mean[i]) * (b - mean[j])).collect();
            largest = largest.max(score(products, covariance[i * d + j]));
        }
    }
    largest
}

/// Projections on a direction, in order of the rows.
fn project(points: View<'_>, direction: &[f64]) -> Vec<f64> {
    (0..points.rows())
        .map(|i| direction.iter().enumerate().map(|(j, v)| v * points.get(i, j)).sum())
        .collect()
}

/// Five standard errors, passed by one score in 1.7 million.
const SCORE: f64 = 5.0;

#[test]
fn multivariate_samplers_have_the_right_moments_and_projections() {
    let (mean, matrix) = ([1.0, -2.0, 0.5], [2.0, 0.6, -0.3, 0.6, 0.5, 0.1, -0.3, 0.1, 4.0]);
    let direction = [0.7, -1.5, 0.4];
    let center: f64 = direction.iter().zip(&mean).map(|(v, m)| v * m).sum();
    let spread: f64 = (0..9).map(|at| direction[at / 3] * matrix[at] * direction[at % 3]).sum();
    let normal = MultivariateNormal::new(&mean, &matrix).unwrap();
    let draws = sample(&normal, DRAWS, 1);
    assert!(largest_moment_score(draws.view(), &mean, &matrix) < SCORE);
    let line = Normal::with_variance(center, spread).unwrap();
    let distance = kolmogorov_distance(&project(draws.view(), &direction), |x| line.cdf(x));
    assert!(distance < kolmogorov_bound(DRAWS), "{distance}");
    let student = MultivariateStudent::new(9.0, &mean, &matrix).unwrap();
    let draws = sample(&student, DRAWS, 2);
    let covariance: Vec<f64> = matrix.iter().map(|s| s * 9.0 / 7.0).collect();
    assert!(largest_moment_score(draws.view(), &mean, &covariance) < SCORE);
    let line = Student::new(9.0, center, spread.sqrt()).unwrap();
    let distance = kolmogorov_distance(&project(draws.view(), &direction), |x| line.cdf(x));
    assert!(distance < kolmogorov_bound(DRAWS), "{distance}");
}

/// The distribution function of `t = μ·x` on the sphere, density ∝ e^{κt}(1−t²)^{(d−3)/2}, by its own quadrature
/// in the angle.
fn cosine_cdf(dimension: usize, kappa: f64, t: f64) -> f64 {
    let rule = gauss_legendre(20);
    let reach = (12.0 * (dimension as f64 / (1.0 + kappa)).sqrt()).min(std::f64::consts::PI);
    let upto = |angle: f64| {
        let half = 0.5 * angle / 8.0;
        let value = |a: f64| (kappa * (a.cos() - 1.0)).exp() * a.sin().powi(dimension as i32 - 2);
        (0..8)
            .flat_map(|k| rule.iter().map(move |(s, w)| (half * (2.0 * f64::from(k) + 1.0 + s), w * half)))
            .map(|(a, w)| w * value(a))
            .sum::<f64>()
    };
    1.0 - upto(t.clamp(-1.0, 1.0).acos().min(reach)) / upto(reach)
}

#[test]
fn directions_are_spread_as_they_should_be() {
    for (seed, (dimension, kappa)) in
        [(2, 0.0), (2, 3.0), (3, 0.0), (3, 0.2), (3, 10.0), (3, 500.0), (6, 4.0), (20, 50.0)]
            .into_iter()
            .enumerate()
    {
        let mut mean = vec![0.3; dimension];
        mean[0] = -0.8;
        let noise = VonMisesFisher::new(&mean, kappa).unwrap();
        let draws = sample(&noise, DRAWS, seed as u64);
        let length = |i: usize| (0..dimension).map(|j| draws.view().get(i, j).powi(2)).sum::<f64>();
        assert!((0..DRAWS).all(|i| (length(i) - 1.0).abs() < 1e-12));
        let cosines = project(draws.view(), noise.direction());
        let distance = kolmogorov_distance(&cosines, |t| cosine_cdf(dimension, kappa, t));
        assert!(distance < kolmogorov_bound(DRAWS), "d = {dimension}, κ = {kappa}: {distance}");
        // At right angles to the mean direction the distribution is symmetric.
        let mut across = vec![0.0; dimension];
        (across[0], across[1]) = (noise.direction()[1], -noise.direction()[0]);
        let sides = project(draws.view(), &across).iter().filter(|x| **x > 0.0).count() as f64;
        assert!((sides - 0.5 * DRAWS as f64).abs() < SCORE * (0.25 * DRAWS as f64).sqrt());
    }
    let uniform = UniformSphere::new(3).unwrap();
    let draws = sample(&uniform, DRAWS, 7);
    // Archimedes: every coordinate is uniform on [−1, 1].
    for axis in 0..3 {
        let distance = kolmogorov_distance(draws.view().column(axis), |t| 0.5 * (t + 1.0));
        assert!(distance < kolmogorov_bound(DRAWS));
    }
}

#[test]
fn histograms_mixtures_products_and_kernels_are_sampled_as_they_are() {
    let line = Histogram1d::new(&[-1.0, 0.0, 0.5, 4.0], &[0.25, 0.0, 0.75]).unwrap();
    let draws = sample(&line, DRAWS, 3);
    assert!(kolmogorov_distance(draws.values(), |x| line.cdf(x)) < kolmogorov_bound(DRAWS));
    assert!(!draws.values().iter().any(|x| *x > 0.0 && *x < 0.5));

    let plane = Histogram2d::new(&[0.0, 1.0, 3.0], &[-1.0, 1.0, 2.0], &[0.1, 0.2, 0.3, 0.4]).unwrap();
    let draws = sample(&plane, DRAWS, 4);
    let first = Histogram1d::new(&[0.0, 1.0, 3.0], &[0.3, 0.7]).unwrap();
    let second = Histogram1d::new(&[-1.0, 1.0, 2.0], &[0.4, 0.6]).unwrap();
    assert!(kolmogorov_distance(draws.view().column(0), |x| first.cdf(x)) < kolmogorov_bound(DRAWS));
    assert!(kolmogorov_distance(draws.view().column(1), |x| second.cdf(x)) < kolmogorov_bound(DRAWS));
    let corner =
        draws.view().column(0).iter().zip(draws.view().column(1)).filter(|(x, y)| **x < 1.0 && **y > 1.0);
    let count = corner.count() as f64;
    assert!((count - 0.2 * DRAWS as f64).abs() < SCORE * (0.16 * DRAWS as f64).sqrt());

    let words = "0.4*normal([0, 0], [[1, 0.5], [0.5, 1]]) + 0.6*product(normal(3, 1), laplace(-1, 2))";
    let draws = sample(noise("real", 2, words).as_ref(), DRAWS, 5);
    let marginal = scalar("real", "0.4*normal(0, 1) + 0.6*laplace(-1, 2)");
    let distance = kolmogorov_distance(draws.view().column(1), |x| marginal.cdf(x));
    assert!(distance < kolmogorov_bound(DRAWS), "{distance}");
    // E[xy] = 0.4·0.5 + 0.6·(3·−1), E[x] = 1.8, E[y] = −0.6
    let covariance = [0.4 * 1.0 + 0.6 * 10.0 - 3.24, -1.6 + 1.08, -1.6 + 1.08, 0.4 + 0.6 * 9.0 - 0.36];
    assert!(largest_moment_score(draws.view(), &[1.8, -0.6], &covariance) < SCORE);

    let data: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.731).sin() + 1.0).collect();
    let bounds = [(0.0, f64::INFINITY)];
    let view = View::new(1, 40, &data);
    for kernel in [
        KernelDensity::fit(view, None, Bandwidth::Scott).unwrap(),
        KernelDensity::fit_within(&bounds, view, None, Bandwidth::Scott).unwrap(),
    ] {
        let draws = sample(&kernel, DRAWS, 6);
        let lo = if kernel.landmarks(0).breaks.is_empty() { f64::NEG_INFINITY } else { 0.0 };
        let distance = distance_from_density(&kernel, draws.values(), lo);
        assert!(distance < kolmogorov_bound(DRAWS), "{distance}");
    }
    let plane = KernelDensity::fit(View::new(2, 20, &data), None, Bandwidth::Silverman).unwrap();
    let draws = sample(&plane, DRAWS, 8);
    let fitted = MultivariateNormal::fit(View::new(2, 20, &data), None).unwrap();
    // The covariance of a kernel density is the data's, plus the kernel's.
    let factor = Bandwidth::Silverman.factor(20.0, 2).unwrap();
    let covariance: Vec<f64> = fitted.covariance().iter().map(|c| c * (1.0 + factor * factor)).collect();
    assert!(largest_moment_score(draws.view(), fitted.mean(), &covariance) < SCORE);
}

#[test]
fn fits_equal_closed_forms() {
    let data = [0.5, 1.5, 2.0, 4.0];
    let view = View::new(1, 4, &data);
    let normal = Normal::fit(view, None).unwrap();
    assert_eq!((normal.mean(), normal.variance()), (2.0, 1.625));
    let weighted = Normal::fit(view, Some(&[1.0, 0.0, 0.0, 1.0])).unwrap();
    assert_eq!((weighted.mean(), weighted.variance()), (2.25, 3.0625));
    assert_eq!(Laplace::fit(view, None).unwrap(), Laplace::new(1.75, 1.0).unwrap());
    assert_eq!(Uniform::fit(view, None).unwrap(), Uniform::new(0.5, 4.0).unwrap());
    let student = Student::fit_with_dof(4.0, view, None).unwrap();
    assert!((student.scale() - (1.625f64 / 2.0).sqrt()).abs() < 1e-15);
    // Quartiles of the standard Cauchy distribution are ±1.
    let cauchy = Student::fit_with_dof(1.0, View::new(1, 5, &[-9.0, -1.0, 0.0, 3.0, 50.0]), None).unwrap();
    assert_eq!(cauchy.location(), 0.0);
    assert!((cauchy.scale() - 2.0).abs() < 1e-13, "{}", cauchy.scale());
    let log_normal = LogNormal::fit(View::new(1, 2, &[1.0, std::f64::consts::E]), None).unwrap();
    assert!(
        (log_normal.of_logarithm().0 - 0.5).abs() < 1e-15
            && (log_normal.of_logarithm().1 - 0.5).abs() < 1e-15
    );
    let counts = [0.0, 0.0, 6.0, 2.0];
    assert_eq!(Poisson::fit(View::new(1, 4, &counts), None).unwrap().mean(), 2.0);
    assert_eq!(NegativeBinomial::fit(View::new(1, 4, &counts), None).unwrap().size(), 1.0);
    let spins = [1.0, 1.0, -1.0, 1.0];
    assert_eq!(Categorical::fit(View::new(1, 4, &spins), None).unwrap().probabilities(), [0.25, 0.75]);
    let smooth = Categorical::fit_to_states(&[-1.0, 0.0, 1.0], 0.5, View::new(1, 4, &spins), None).unwrap();
    let expected = [1.5 / 5.5, 0.5 / 5.5, 3.5 / 5.5];
    assert!(smooth.probabilities().iter().zip(expected).all(|(p, e)| (p - e).abs() < 1e-15));
    let joint = MultivariateNormal::fit(View::new(2, 3, &[0.0, 1.0, 2.0, 0.0, 3.0, 0.0]), None).unwrap();
    let covariance = joint.covariance();
    for (found, expected) in covariance.iter().zip([2.0 / 3.0, 0.0, 0.0, 2.0]) {
        assert!((found - expected).abs() < 1e-15);
    }
}

#[test]
fn maximum_likelihood_fits_solve_their_equations() {
    let data = [0.5, 1.5, 2.0, 4.0];
    let gamma = Gamma::fit(View::new(1, 4, &data), None).unwrap();
    // The root of ln a − ψ(a) = ln 2 − mean(ln x), by mpmath.
    assert!((gamma.shape() - 2.191_223_887_598_412).abs() < 1e-13, "{}", gamma.shape());
    assert!((gamma.shape() / gamma.rate() - 2.0).abs() < 1e-14);
    let angles = [0.1, 0.4, -0.3, 0.9, 6.0];
    let circular = VonMises::fit(View::new(1, 5, &angles), None).unwrap();
    let (c, s) = angles.iter().fold((0.0, 0.0), |(c, s), a: &f64| (c + a.cos() / 5.0, s + a.sin() / 5.0));
    let ratio = noisewright_numerics::special::bessel_ratio(0.0, circular.concentration());
    assert!((ratio - c.hypot(s)).abs() < 1e-14);
    assert!((circular.mean() - s.atan2(c)).abs() < 1e-15);
    let beta = Beta::fit(View::new(1, 4, &[0.1, 0.4, 0.5, 0.8]), None).unwrap();
    let (a, b) = beta.shape();
    assert!((a / (a + b) - 0.45).abs() < 1e-14);
    assert!((a * b / ((a + b).powi(2) * (a + b + 1.0)) - 0.0625).abs() < 1e-14);
}

#[test]
fn fits_recover_the_parameters_of_their_own_draws() {
    let n = DRAWS as f64;
    let gamma = Gamma::new(2.5, 0.7).unwrap();
    let fitted = Gamma::fit(sample(&gamma, DRAWS, 11).view(), None).unwrap();
    // The asymptotic variance of the shape is a / (a ψ'(a) − 1) / n.
    let information = 2.5 * noisewright_numerics::special::trigamma(2.5) - 1.0;
    assert!((fitted.shape() - 2.5).abs() < SCORE * (2.5 / information / n).sqrt());
    let circular = VonMises::new(3.0, 4.0).unwrap();
    let fitted = VonMises::fit(sample(&circular, DRAWS, 12).view(), None).unwrap();
    let ratio = noisewright_numerics::special::bessel_ratio(0.0, 4.0);
    assert!((fitted.mean() - 3.0).abs() < SCORE / (n * 4.0 * ratio).sqrt());
    let slope = 1.0 - ratio * ratio - ratio / 4.0;
    assert!((fitted.concentration() - 4.0).abs() < SCORE / (n * slope).sqrt());
    for (dimension, kappa) in [(3, 500.0), (3, 0.5), (8, 30.0)] {
        let mut mean = vec![0.0; dimension];
        mean[1] = 1.0;
        let truth = VonMisesFisher::new(&mean, kappa).unwrap();
        let fitted = VonMisesFisher::fit(sample(&truth, DRAWS, 13).view(), None).unwrap();
        let d = dimension as f64;
        let ratio = noisewright_numerics::special::bessel_ratio(0.5 * d - 1.0, kappa);
        let slope = 1.0 - ratio * ratio - (d - 1.0) * ratio / kappa;
        let score = (fitted.concentration() - kappa) * (n * slope).sqrt();
        assert!(score.abs() < SCORE, "κ = {kappa}: {} is {score} off", fitted.concentration());
    }
    let student = Student::new(9.0, 1.0, 2.0).unwrap();
    let fitted = Student::fit_with_dof(9.0, sample(&student, DRAWS, 14).view(), None).unwrap();
    // Kurtosis 3 + 6/5: the variance of a sample variance is σ⁴(κ−1)/n, half of that relative error in the scale.
    assert!((fitted.scale() / 2.0 - 1.0).abs() < SCORE * 0.5 * (3.2 / n).sqrt());
    let counts = NegativeBinomial::new(5.0, 3.0).unwrap();
    let fitted = NegativeBinomial::fit(sample(&counts, DRAWS, 15).view(), None).unwrap();
    assert!((fitted.mean() - 5.0).abs() < SCORE * ((5.0 + 25.0 / 3.0) / n).sqrt());
    // The moment estimate of the size has a relative standard error of about √(2(r+1)/r)(1 + r/m)/√n.
    assert!((fitted.size() / 3.0 - 1.0).abs() < SCORE * (8.0f64 / 3.0).sqrt() * 1.6 / n.sqrt());
}

#[test]
fn fits_that_cannot_be_made_are_errors_with_a_reason() {
    let same = View::new(1, 3, &[2.0, 2.0, 2.0]);
    let message = Normal::fit(same, None).unwrap_err().to_string();
    assert_eq!(message, "noise `normal`: the data do not vary, so no scale can be fitted");
    assert!(Gamma::fit(View::new(1, 2, &[1.0, -2.0]), None).unwrap_err().to_string().contains("row 2"));
    assert!(Normal::fit(View::new(1, 0, &[]), None).is_err());
    assert!(Normal::fit(View::new(1, 2, &[1.0, f64::NAN]), None).is_err());
    assert!(Normal::fit(View::new(1, 2, &[1.0, 2.0]), Some(&[1.0, -1.0])).is_err());
    assert!(Normal::fit(View::new(2, 1, &[1.0, 2.0]), None).is_err());
    assert!(VonMises::fit(same, None).is_err());
    assert!(NegativeBinomial::fit(View::new(1, 3, &[1.0, 2.0, 1.0]), None).is_err());
    // A third column that is the sum of the first two.
    let dependent = [1.0, 2.0, 4.0, 0.0, 5.0, 1.0, 3.0, 3.0, 6.0, 3.0, 7.0, 3.0];
    assert!(MultivariateNormal::fit(View::new(3, 4, &dependent), None).is_err());
    assert!(Truncated::new(Uniform::new(0.0, 1.0).unwrap(), 2.0, 3.0).is_err());
    assert!(Normal::with_variance(0.0, -1.0).unwrap_err().to_string().contains("must be a positive number"));
}

/// A change here changes every seeded result of every user: it goes into the changelog.
#[test]
fn seeded_draws_are_pinned() {
    let first = |domain: &str, words: &str| sample(scalar(domain, words).as_ref(), 2, 7).values().to_vec();
    let pins: [(&str, &str, [f64; 2]); 12] = [
        ("real", "normal(0, 1)", [0.8581539716448381, -0.11747854284829977]),
        ("real", "student(5, 0, 1)", [0.959852722097277, -0.528438943998571]),
        ("real", "uniform(0, 1)", [0.764109042047738, 0.4659376151199609]),
        ("real", "laplace(0, 1)", [1.405144543709759, -3.10872084219094]),
        ("real", "logistic(0, 1)", [1.1753408484997359, -0.13646090572395753]),
        ("positive", "gamma(2, 1)", [3.0381451651492104, 0.5410642824131494]),
        ("[0, 1]", "beta(2, 3)", [0.5900025920754515, 0.022151314538179787]),
        ("circle", "von-mises(0, 2)", [-1.4691275159711312, -0.06478380489074215]),
        ("counts", "poisson(30)", [34.0, 29.0]),
        ("spins", "bernoulli(0.5)", [1.0, -1.0]),
        ("positive", "normal(-9, 1)", [0.02949050288186239, 0.08346688455515427]),
        ("real", "0.5*normal(-3, 1) + 0.5*normal(3, 1)", [2.8825214571517, -3.4354312125446564]),
    ];
    let near = |found: &[f64], expected: &[f64]| {
        found.iter().zip(expected).all(|(f, e)| (f - e).abs() <= 1e-13 * e.abs())
    };
    let moved: Vec<String> = pins
        .into_iter()
        .map(|(domain, words, expected)| (domain, words, first(domain, words), expected))
        .filter(|(_, _, found, expected)| !near(found, expected))
        .map(|(domain, words, found, _)| format!("(\"{domain}\", \"{words}\", {found:?}),"))
        .collect();
    assert!(moved.is_empty(), "{}", moved.join("\n"));
    let fisher = sample(&VonMisesFisher::new(&[0.0, 0.0, 1.0], 5.0).unwrap(), 1, 7);
    assert!(
        near(fisher.values(), &[-0.6721591811123491, -0.5326397294141426, 0.514292673383556]),
        "{:?}",
        fisher.values()
    );
}

#[test]
fn draws_do_not_depend_on_the_number_of_threads() {
    let noise = noise(
        "real",
        2,
        "0.4*normal([0, 0], [[1, 0.5], [0.5, 1]]) + 0.6*product(normal(3, 1), laplace(-1, 2))",
    );
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sample(noise.as_ref(), 15_000, 42))
    };
    assert_eq!(with(1), with(4));
    assert_ne!(with(1), sample(noise.as_ref(), 15_000, 43));
}
