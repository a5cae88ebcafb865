//! Every log-density is normalized and agrees with SciPy and mpmath; so do the distribution functions.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::f64::consts::PI;
use std::sync::Arc;

use crate::support::*;
use noisewright::*;
use proptest::prelude::*;

#[test]
fn log_densities_and_distribution_functions_agree_with_the_reference_table() {
    let mut rows = 0;
    for line in include_str!("../references/noise_density.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let point: Vec<f64> = fields[2].split(' ').map(|x| x.parse().unwrap()).collect();
        let (expected, cdf): (f64, Option<f64>) = (fields[3].parse().unwrap(), fields[4].parse().ok());
        let mut found = [0.0];
        let noise = noise(fields[0], point.len(), fields[1]);
        noise.log_density(View::new(point.len(), 1, &point), &mut found);
        assert_near(found[0], expected, 2e-12, line);
        if let Some(cdf) = cdf {
            let scalar = scalar(fields[0], fields[1]);
            assert!((scalar.cdf(point[0]) - cdf).abs() <= 2e-12 * cdf.max(1e-3), "cdf: {line}");
            assert!((scalar.survival(point[0]) - (1.0 - cdf)).abs() <= 2e-12, "survival: {line}");
        }
        rows += 1;
    }
    assert_eq!(rows, 261);
}

fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let near = found == expected || (found - expected).abs() <= tolerance * expected.abs().max(1.0);
    assert!(near, "{what}: found {found}");
}

/// Continuous noises of one variable: domain and words.
const CONTINUOUS: [(&str, &str); 42] = [
    ("real", "normal(0, 1)"),
    ("real", "normal(5, 1e-6)"),
    ("real", "normal(-1e4, 1e6)"),
    ("real", "student(1, 0, 1)"),
    ("real", "student(3.5, 2, 0.1)"),
    ("real", "student(5, 0, 1000)"),
    ("real", "uniform(-3, 5)"),
    ("real", "laplace(1, 1e-4)"),
    ("real", "laplace(0, 2)"),
    ("real", "logistic(0, 1)"),
    ("real", "logistic(-7, 30)"),
    ("positive", "gamma(0.3, 2)"),
    ("positive", "gamma(1, 1)"),
    ("positive", "gamma(1000, 1e-3)"),
    ("positive", "lognormal(0, 1)"),
    ("positive", "lognormal(3, 0.01)"),
    ("positive", "lognormal(-1, 4)"),
    ("[0, 1]", "beta(0.4, 1.6)"),
    // Near 0 numbers are dense enough to integrate a pole at the upper end.
    ("[-1, 0]", "beta(1.4, 0.4)"),
    ("[0, 1]", "beta(2, 3)"),
    ("[-10, 30]", "beta(50, 4)"),
    ("[-10, 30]", "uniform"),
    ("circle", "von-mises(0, 0)"),
    ("circle", "von-mises(1, 0.5)"),
    ("circle", "von-mises(-3, 7)"),
    ("circle", "von-mises(0.3, 1e4)"),
    ("circle", "von-mises(0.3, 3e5)"),
    ("circle", "uniform"),
    ("circle", "0.25*von-mises(3, 4) + 0.75*uniform"),
    ("positive", "normal(0, 1)"),
    ("positive", "normal(-20, 1)"),
    ("positive", "student(3.5, -4, 1)"),
    ("[2, 3]", "normal(0, 1)"),
    ("[2, 3]", "laplace(2.5, 1)"),
    ("[2, 3]", "gamma(0.3, 2)"),
    ("[2, 3]", "beta(0.4, 1.6, 0, 2.5)"),
    ("[0, 1]", "normal(0.25, 1e12)"),
    ("real", "truncate(logistic(0, 1), -inf, -50)"),
    ("real", "truncate(0.5*normal(-3, 1) + 0.5*student(2, 4, 1), -1, 5)"),
    ("real", "0.7*normal(0, 1) + 0.3*student(5, 0, 2)"),
    ("real", "0.5*normal(-100, 1e-4) + 0.25*normal(100, 1e-4) + 0.25*laplace(0, 1)"),
    ("positive", "0.5*normal(0, 1) + 0.5*gamma(2, 1)"),
];

/// Ends of the domain as the quadrature sees it, found without asking the noise.
fn ends(domain: &str) -> (f64, f64) {
    space(domain, 1).domains()[0].bounds()
}

/// `∫ p` between two ends by panels around every center.
fn total(noise: &dyn Noise, lo: f64, hi: f64) -> f64 {
    let marks = noise.landmarks(0);
    let mut cuts: Vec<f64> = marks.centers.iter().map(|c| c.0).filter(|c| *c > lo && *c < hi).collect();
    cuts.extend(marks.breaks.iter().filter(|b| **b > lo && **b < hi));
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let mut panels = Vec::new();
    let mut from = lo;
    for cut in cuts.into_iter().chain([hi]) {
        panels.push((from, cut));
        from = cut;
    }
    let scale = marks.centers.iter().map(|c| c.1).fold(f64::INFINITY, f64::min);
    let part = |(a, b): (f64, f64)| {
        if a.is_finite() && b.is_finite() {
            let middle = 0.5 * (a + b);
            integral(noise, a, middle, a, scale, &[]) + integral(noise, middle, b, b, scale, &[])
        } else {
            integral(
                noise,
                a,
                b,
                if a.is_finite() {
                    a
                } else if b.is_finite() {
                    b
                } else {
                    0.0
                },
                scale,
                &[],
            )
        }
    };
    panels.into_iter().map(part).sum()
}

#[test]
fn every_continuous_density_of_one_variable_integrates_to_one() {
    for (domain, words) in CONTINUOUS {
        let (lo, hi) = ends(domain);
        let mass = total(scalar(domain, words).as_ref(), lo, hi);
        assert!((mass - 1.0).abs() < 1e-10, "{words} on {domain}: {mass}");
    }
}

#[test]
fn distribution_functions_are_the_integrals_of_the_densities() {
    for (domain, words) in CONTINUOUS {
        let noise = scalar(domain, words);
        let (lo, hi) = ends(domain);
        for (location, scale) in noise.centers() {
            for x in [location - 1.5 * scale, location, location + 0.7 * scale] {
                if x > lo && x < hi {
                    let below = total(noise.as_ref(), lo, x);
                    assert!((noise.cdf(x) - below).abs() < 1e-10, "{words} at {x}: {} {below}", noise.cdf(x));
                    assert!((noise.survival(x) + below - 1.0).abs() < 1e-10, "{words} at {x}");
                }
            }
        }
    }
}

#[test]
fn every_discrete_density_sums_to_one() {
    let cases = [
        ("counts", "poisson(0.01)"),
        ("counts", "poisson(700)"),
        ("counts", "negative-binomial(20, 0.3)"),
        ("counts", "truncate(poisson(3), 5, 9)"),
        ("counts", "truncate(negative-binomial(3, 2), 40, inf)"),
        ("counts", "0.3*poisson(2) + 0.7*negative-binomial(9, 4)"),
        ("spins", "bernoulli(0.2)"),
        ("spins", "uniform"),
        ("spins", "categorical([0.9, 0.1])"),
    ];
    for (domain, words) in cases {
        let noise = scalar(domain, words);
        let states: Vec<f64> = (-10..6000).map(f64::from).collect();
        let densities = log_densities(noise.as_ref(), &states);
        let mass: f64 = densities.iter().map(|l| l.exp()).sum();
        assert!((mass - 1.0).abs() < 1e-11, "{words}: {mass}");
        let mut below = 0.0;
        for (x, l) in states.iter().zip(&densities).take(60) {
            below += l.exp();
            assert!((noise.cdf(*x) - below).abs() < 1e-12, "{words}: cdf({x})");
            assert!((noise.survival(*x) - (1.0 - below)).abs() < 1e-11, "{words}: survival({x})");
        }
    }
}

/// `∫∫ p` over a rectangle, by equal panels of 10 Gauss–Legendre points each way.
fn plane_integral(noise: &dyn Noise, (a, b): (f64, f64), (c, d): (f64, f64), panels: usize) -> f64 {
    let rule = gauss_legendre(10);
    let line = |lo: f64, hi: f64| -> Vec<(f64, f64)> {
        let half = 0.5 * (hi - lo) / panels as f64;
        (0..panels)
            .flat_map(|k| rule.iter().map(move |(t, w)| (lo + half * (2.0 * k as f64 + 1.0 + t), w * half)))
            .collect()
    };
    let (xs, ys) = (line(a, b), line(c, d));
    let mut mass = 0.0;
    for (x, weight) in &xs {
        let mut points = vec![*x; ys.len()];
        points.extend(ys.iter().map(|y| y.0));
        let mut out = vec![0.0; ys.len()];
        noise.log_density(View::new(2, ys.len(), &points), &mut out);
        mass += weight * out.iter().zip(&ys).map(|(l, (_, w))| w * l.exp()).sum::<f64>();
    }
    mass
}

#[test]
fn densities_of_two_variables_integrate_to_one() {
    let normal = noise("real", 2, "normal([1, -2], [[2, 0.6], [0.6, 0.5]])");
    assert!((plane_integral(normal.as_ref(), (-15.0, 17.0), (-10.0, 6.0), 20) - 1.0).abs() < 1e-12);
    let narrow = noise("real", 2, "normal([1, -2], [[1e-6, 0.9], [0.9, 1e6]])");
    let mass = plane_integral(narrow.as_ref(), (1.0 - 1e-2, 1.0 + 1e-2), (-1e4, 1e4), 40);
    assert!((mass - 1.0).abs() < 1e-10, "{mass}");
    let product = noise("[0, 2]", 2, "product(normal(1, 0.5), 0.5*uniform + 0.5*beta(3, 2))");
    assert!((plane_integral(product.as_ref(), (0.0, 2.0), (0.0, 2.0), 10) - 1.0).abs() < 1e-12);
    // The radial law of the bivariate Student distribution is known: P(r > R) = (1 + R²/n)^(−n/2).
    let student = noise("real", 2, "student(5, [0, 0], [[1, 0], [0, 1]])");
    let (rule, limit) = (gauss_legendre(15), 50.0f64);
    let ring = |r: f64| {
        let mut out = [0.0];
        student.log_density(View::new(2, 1, &[0.6 * r, 0.8 * r]), &mut out);
        2.0 * PI * r * out[0].exp()
    };
    let inside: f64 = (0..100)
        .flat_map(|k| rule.iter().map(move |(t, w)| (0.25 * (2.0 * f64::from(k) + 1.0 + t), 0.25 * w)))
        .map(|(r, w)| w * ring(r))
        .sum();
    assert!((inside - (1.0 - (1.0 + limit * limit / 5.0).powf(-2.5))).abs() < 1e-12, "{inside}");
}

#[test]
fn directions_integrate_to_one_over_the_sphere() {
    let rule = gauss_legendre(60);
    for (words, turns) in [
        ("uniform", 64),
        ("von-mises-fisher([0, 0.6, 0.8], 3)", 64),
        ("von-mises-fisher([1, 2, -2], 500)", 400),
        ("0.5*uniform + 0.5*von-mises-fisher([1, 0, 0], 20)", 100),
    ] {
        let noise = noise("sphere", 3, words);
        let mut mass = 0.0;
        for panel in 0..16 {
            for (t, w) in &rule {
                let z = -1.0 + (2.0 * f64::from(panel) + 1.0 + t) / 16.0;
                let (rows, radius) = (turns as usize, (1.0 - z * z).sqrt());
                let angle = |k: usize| 2.0 * PI * k as f64 / turns as f64;
                let mut points: Vec<f64> = (0..rows).map(|k| radius * angle(k).cos()).collect();
                points.extend((0..rows).map(|k| radius * angle(k).sin()));
                points.extend(vec![z; rows]);
                let mut out = vec![0.0; rows];
                noise.log_density(View::new(3, rows, &points), &mut out);
                mass += w / 16.0 * 2.0 * PI / turns as f64 * out.iter().map(|l| l.exp()).sum::<f64>();
            }
        }
        assert!((mass - 1.0).abs() < 1e-11, "{words}: {mass}");
    }
    for kappa in [0.0, 2.0, 1e3] {
        let circle = VonMisesFisher::new(&[0.6, 0.8], kappa).unwrap();
        let rows = 4000;
        let angle = |k: usize| 2.0 * PI * k as f64 / rows as f64;
        let mut points: Vec<f64> = (0..rows).map(|k| angle(k).cos()).collect();
        points.extend((0..rows).map(|k| angle(k).sin()));
        let mut out = vec![0.0; rows];
        circle.log_density(View::new(2, rows, &points), &mut out);
        let mass = out.iter().map(|l| l.exp()).sum::<f64>() * 2.0 * PI / rows as f64;
        assert!((mass - 1.0).abs() < 1e-12, "{kappa}: {mass}");
    }
}

#[test]
fn short_intervals_far_out_keep_their_mass() {
    // Student with 2 degrees of freedom: F(x) = ½ + x/(2√(2+x²)), so the mass of [a, a+h] is h·p(a+h/2) up to O(h³).
    let student = scalar("real", "student(2, 0, 1)");
    // Powers of two, so that the ends are exact.
    let tiny = 2f64.powi(-20);
    for (lo, width) in
        [(2f64.powi(20), 1.0), (-2f64.powi(20), 0.5), (1024.0, tiny), (0.25, tiny), (-0.25, tiny)]
    {
        let middle = lo + 0.5 * width;
        let expected = (2.0f64 + middle * middle).powf(-1.5) * width;
        let found = student.ln_mass(lo, lo + width).exp();
        assert!((found / expected - 1.0).abs() < 1e-12, "[{lo}, +{width}]: {found} {expected}");
    }
    // Between 40 and 41 standard deviations the ratio of tails says it all: Q(40)(1 − Q(41)/Q(40)).
    let normal = scalar("real", "normal(0, 1)");
    assert!((normal.ln_mass(40.0, 41.0) - -804.608_442_013_753_9).abs() < 1e-12);
}

#[test]
fn histograms_are_densities_not_masses() {
    let data = [0.1, 0.2, 0.7, 3.0, 3.5, 4.0];
    let edges = [0.0, 0.5, 1.0, 5.0];
    let noise = Histogram1d::fit(&edges, 0.1, View::new(1, 6, &data), None).unwrap();
    let mass: f64 = log_densities(&noise, &[0.25, 0.75, 2.0])
        .iter()
        .zip(edges.windows(2))
        .map(|(l, e)| l.exp() * (e[1] - e[0]))
        .sum();
    assert!((mass - 1.0).abs() < 1e-15);
    assert!((noise.probabilities()[0] - (0.9 * 2.0 / 6.0 + 0.1 * 0.1)).abs() < 1e-15);
    assert_eq!(log_densities(&noise, &[-0.1, 5.1]), [f64::NEG_INFINITY; 2]);
    assert!(log_densities(&noise, &[5.0])[0].is_finite());
    let points = [0.1, 0.2, 0.7, 0.3, 1.9, 0.4, -1.0, 0.5, 1.0, 2.0, -0.5, 0.0];
    let plane = Histogram2d::fit(&[0.0, 1.0, 2.0], &[-1.0, 0.0, 2.0], 0.05, View::new(2, 6, &points), None);
    let plane = plane.unwrap();
    // Panels end at the edges (0, 1, 2 and −1, 0, 2 are multiples of a third of 3 and a half of 2).
    assert!((plane_integral(&plane, (0.0, 2.0), (-1.0, 2.0), 6) - 1.0).abs() < 1e-13);
    assert_eq!(plane.landmarks(1).breaks, [-1.0, 0.0, 2.0]);
    assert!(Histogram1d::fit(&edges, 0.0, View::new(1, 1, &[7.0]), None).is_err());
}

#[test]
fn kernel_densities_integrate_to_one_also_on_a_box_and_with_weights() {
    let data: Vec<f64> = (0..50).map(|i| (f64::from(i) * 0.731).sin().abs() * 2.0).collect();
    let weights: Vec<f64> = (0..25).map(|i| 1.0 + f64::from(i % 3)).collect();
    let line = KernelDensity::fit(View::new(1, 25, &data[..25]), Some(&weights), Bandwidth::Scott).unwrap();
    assert!((integral(&line, f64::NEG_INFINITY, f64::INFINITY, 1.0, 0.5, &[]) - 1.0).abs() < 1e-12);
    let half = [(0.0, f64::INFINITY)];
    let half = KernelDensity::fit_within(&half, View::new(1, 50, &data), None, Bandwidth::default()).unwrap();
    assert!((integral(&half, 0.0, f64::INFINITY, 1.0, 0.5, &[]) - 1.0).abs() < 1e-12);
    assert_eq!(log_densities(&half, &[-0.1]), [f64::NEG_INFINITY]);
    let plane = KernelDensity::fit(View::new(2, 25, &data), Some(&weights), Bandwidth::Silverman).unwrap();
    assert!((plane_integral(&plane, (-6.0, 8.0), (-6.0, 8.0), 20) - 1.0).abs() < 1e-10);
    let view = View::new(2, 25, &data);
    let bounds = [(0.0, 2.0), (f64::NEG_INFINITY, 2.0)];
    let boxed = KernelDensity::fit_within(&bounds, view, Some(&weights), Bandwidth::Silverman).unwrap();
    assert!((plane_integral(&boxed, (0.0, 2.0), (-8.0, 2.0), 20) - 1.0).abs() < 1e-10);
}

#[test]
fn densities_are_minus_infinity_outside_and_limits_at_the_ends() {
    let infinite = f64::NEG_INFINITY;
    assert_eq!(log_densities(scalar("real", "gamma(2, 1)").as_ref(), &[-1.0, 0.0]), [infinite; 2]);
    assert_eq!(log_densities(scalar("real", "gamma(1, 3)").as_ref(), &[0.0]), [3f64.ln()]);
    assert_eq!(log_densities(scalar("real", "lognormal(0, 1)").as_ref(), &[-1.0, 0.0]), [infinite; 2]);
    assert_eq!(
        log_densities(scalar("[0, 1]", "beta(1, 1)").as_ref(), &[0.0, 1.0, 1.1]),
        [0.0, 0.0, infinite]
    );
    assert_eq!(log_densities(scalar("counts", "poisson(1)").as_ref(), &[-1.0, 0.5]), [infinite; 2]);
    for (domain, words) in CONTINUOUS {
        let noise = scalar(domain, words);
        if !noise.is_circular() {
            let far = log_densities(noise.as_ref(), &[f64::INFINITY, f64::NEG_INFINITY]);
            assert_eq!(far, [infinite; 2], "{words}");
        }
    }
}

#[test]
fn landmarks_name_kinks_and_ends() {
    let breaks = |domain: &str, words: &str| scalar(domain, words).landmarks(0).breaks;
    assert_eq!(breaks("real", "laplace(2, 1)"), [2.0]);
    assert_eq!(breaks("real", "uniform(-1, 4)"), [-1.0, 4.0]);
    assert_eq!(breaks("positive", "laplace(2, 1)"), [0.0, 2.0]);
    assert_eq!(breaks("real", "0.5*laplace(2, 1) + 0.5*uniform(0, 3)"), [0.0, 2.0, 3.0]);
    assert_eq!(breaks("real", "normal(0, 1)"), [0.0; 0]);
    assert_eq!(scalar("real", "normal(3, 4)").landmarks(0).centers, [(3.0, 2.0)]);
    let joint = noise("real", 2, "normal([1, 2], [[4, 0], [0, 9]])");
    assert_eq!(joint.landmarks(1).centers, [(2.0, 3.0)]);
    let product = noise("real", 2, "product(normal(0, 1), laplace(7, 1))");
    assert_eq!(product.landmarks(1).breaks, [7.0]);
}

/// A random noise of one variable with mass around zero.
fn any_scalar() -> impl Strategy<Value = Arc<dyn Scalar>> {
    let place = -2.0..2.0f64;
    let scale = 0.2..3.0f64;
    (0..7usize, place, scale, 0.6..6.0f64).prop_map(|(family, place, scale, shape)| -> Arc<dyn Scalar> {
        match family {
            0 => Arc::new(Normal::with_variance(place, scale * scale).unwrap()),
            1 => Arc::new(Student::new(shape, place, scale).unwrap()),
            2 => Arc::new(Uniform::new(place - scale, place + scale).unwrap()),
            3 => Arc::new(Laplace::new(place, scale).unwrap()),
            4 => Arc::new(Logistic::new(place, scale).unwrap()),
            5 => Arc::new(Gamma::new(shape + 0.5, scale).unwrap()),
            _ => Arc::new(
                Beta::new(shape + 0.5, 2.0 * scale + 1.0).unwrap().on(place - 3.0, place + 3.0).unwrap(),
            ),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn truncated_mixtures_integrate_to_one(a in any_scalar(), b in any_scalar(), w in 0.01..0.99f64,
                                           lo in -3.0..0.0f64, width in 0.1..6.0f64) {
        let mixture: Arc<dyn Scalar> = Arc::new(Mixture::of_shared(vec![(w, a), (1.0 - w, b)]).unwrap());
        let whole = total(mixture.as_ref(), f64::NEG_INFINITY, f64::INFINITY);
        prop_assert!((whole - 1.0).abs() < 1e-9, "{}: {whole}", mixture.words());
        if let Ok(part) = Truncated::of_shared(Arc::clone(&mixture), lo, lo + width) {
            let mass = total(&part, lo, lo + width);
            prop_assert!((mass - 1.0).abs() < 1e-9, "{}: {mass}", part.words());
            let inside = total(mixture.as_ref(), lo, lo + width);
            prop_assert!((part.ln_mass_kept().exp() - inside).abs() < 1e-10);
        }
    }

    #[test]
    fn products_are_sums_of_log_densities(a in any_scalar(), b in any_scalar(), x in -3.0..3.0f64, y in -3.0..3.0f64) {
        let sum = log_densities(a.as_ref(), &[x])[0] + log_densities(b.as_ref(), &[y])[0];
        let product = Product::of_shared(vec![a, b]).unwrap();
        let mut out = [0.0];
        product.log_density(View::new(2, 1, &[x, y]), &mut out);
        prop_assert_eq!(out[0], sum);
    }
}
