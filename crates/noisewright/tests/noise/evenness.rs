//! Quiet draws are more even than independent ones, for every noise of the library: by the variance of means, and by the counts of
//! points in the boxes of a net.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::f64::consts::TAU;
use std::path::Path;
use std::sync::Arc;

use crate::support::*;
use noisewright::normalizer::NoiseKind;
use noisewright::parts::{ModelNoise, SavedNoise};
use noisewright::run::Context as Run;
use noisewright::{
    Bandwidth, Domain, Histogram2d, KernelDensity, Model, Noise, Normal, Points, Precision, Space,
    UniformSphere, View, VonMisesFisher, evidence, fit_auto, internal, quiet_sample, sample,
};
use noisewright_numerics::summation::mean_and_variance;

/// Independent replicates whose means are compared.
const REPLICATES: u64 = 32;

/// A noise, the types of the library that it is made of, the points of a replicate, and by how much the variance of their means must at
/// least be smaller than that of independent points.
struct Row {
    types: &'static [&'static str],
    noise: Arc<dyn Noise>,
    points: usize,
    least: f64,
}

fn row(types: &'static [&'static str], noise: Arc<dyn Noise>) -> Row {
    Row { types, noise, points: 1024, least: 20.0 }
}

type Draw = fn(&dyn Noise, usize, u64) -> Points;

fn quietly(noise: &dyn Noise, rows: usize, seed: u64) -> Points {
    quiet_sample(noise, rows, &Run::seeded(seed)).unwrap()
}

fn on_a_line() -> Vec<Row> {
    let cases: [(&[&str], &str, &str); 15] = [
        (&["Normal"], "real", "normal(2, 9)"),
        (&["Student"], "real", "student(1, 0, 1)"),
        (&["Uniform"], "real", "uniform(-2, 7)"),
        (&["Laplace"], "real", "laplace(1, 3)"),
        (&["Logistic"], "real", "logistic(-1, 0.5)"),
        (&["Gamma"], "positive", "gamma(0.4, 2)"),
        (&["LogNormal"], "positive", "lognormal(1, 0.8)"),
        (&["Beta"], "[0, 1]", "beta(0.7, 1.9)"),
        (&["VonMises"], "circle", "von-mises(2.8, 0.3)"),
        (&["Poisson"], "counts", "poisson(0.3)"),
        (&["NegativeBinomial"], "counts", "negative-binomial(4, 0.5)"),
        (&["Categorical"], "spins", "bernoulli(0.8)"),
        (&["Truncated"], "real", "truncate(laplace(0, 1), -inf, -20)"),
        (&["Mixture<dyn Scalar>"], "real", "0.3*normal(-4, 1) + 0.7*student(5, 3, 1)"),
        (&["Histogram1d"], "[-2, 4]", "histogram([-2, 0, 0.5, 4], [0.25, 0.15, 0.6])"),
    ];
    cases.into_iter().map(|(types, domain, words)| row(types, noise(domain, 1, words))).collect()
}

const NORMAL: &str = "normal([1, -2, 0.5], [[2, 0.6, -0.3], [0.6, 0.5, 0.1], [-0.3, 0.1, 4]])";
const STUDENT: &str = "student(5, [1, -2, 0.5], [[2, 0.6, -0.3], [0.6, 0.5, 0.1], [-0.3, 0.1, 4]])";
const PRODUCT: &str = "product(normal(0, 1), student(4, 1, 2), laplace(1, 3))";
const MIXTURE: &str = "0.4*normal([0, 0, 1], [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]) + 0.6*student(4, [3, -1, 0], [[1, 0, 0], [0, 4, 0], [0, 0, 4]])";

fn in_several_variables() -> Vec<Row> {
    let data: Vec<f64> = (0..16).map(|i| (f64::from(i) * 0.731).sin().exp()).collect();
    let view = View::new(2, 8, &data);
    let bounds = [(0.0, f64::INFINITY), (0.2, 4.0)];
    vec![
        row(&["MultivariateNormal"], noise("real", 3, NORMAL)),
        row(&["MultivariateStudent"], noise("real", 3, STUDENT)),
        row(&["Product"], noise("real", 3, PRODUCT)),
        row(&["Mixture<dyn Noise>"], noise("real", 3, MIXTURE)),
        row(&["Histogram2d"], Arc::new(plane_histogram())),
        row(&["KernelDensity"], Arc::new(KernelDensity::fit(view, None, Bandwidth::Silverman).unwrap())),
        row(
            &["KernelDensity"],
            Arc::new(KernelDensity::fit_within(&bounds, view, None, Bandwidth::Silverman).unwrap()),
        ),
        row(&["UniformSphere"], Arc::new(UniformSphere::new(3).unwrap())),
        row(&["VonMisesFisher"], Arc::new(VonMisesFisher::new(&[0.0, 0.6, 0.8], 3.0).unwrap())),
        row(&["VonMisesFisher"], Arc::new(VonMisesFisher::new(&[0.5; 4], 3.0).unwrap())),
        // Five coordinates, three of them for a Student distribution of two scores; angles turn over, where the functions jump.
        Row { points: 4096, least: 8.0, ..row(&["MetaElliptical", "CircularTree", "Grouped"], dependent()) },
        row(&["Elliptical"], fitted_for_evidence(NoiseKind::Student)),
        row(&["Warped"], fitted_for_evidence(NoiseKind::Warped)),
    ]
}

/// The default noise of two positive variables and two angles, of which each depends on its neighbour.
fn dependent() -> Arc<dyn Noise> {
    let normal = sample(scalar("real", "normal(0, 1)").as_ref(), 4 * 400, 3).into_values();
    let at = |j: usize, row: usize| normal[j * 400 + row];
    let column =
        |value: fn([f64; 4]) -> f64| (0..400).map(move |row| value([0, 1, 2, 3].map(|j| at(j, row))));
    let values: Vec<f64> = column(|z| z[0].exp())
        .chain(column(|z| 0.4 * z[2]))
        .chain(column(|z| (0.6 * z[0] + 0.8 * z[1]).exp()))
        .chain(column(|z| 0.4 * z[2] + 0.2 * z[3]))
        .collect();
    let variables =
        [("a", Domain::Positive), ("u", Domain::Circle), ("b", Domain::Positive), ("v", Domain::Circle)];
    let noise = fit_auto(&Space::product(&variables).unwrap(), View::new(4, 400, &values), None).unwrap();
    assert!(noise.describe().contains("normal scores") && noise.describe().contains("tree"));
    noise
}

fn plane_histogram() -> Histogram2d {
    Histogram2d::new(&[0.0, 1.0, 3.0], &[-1.0, 1.0, 2.0], &[0.1, 0.2, 0.3, 0.4]).unwrap()
}

/// What an evidence of three skewed variables fits to half of the draws.
fn fitted_for_evidence(kind: NoiseKind) -> Arc<dyn Noise> {
    let gamma = scalar("positive", "gamma(4, 1)");
    let drawn = sample(gamma.as_ref(), 3 * 1000, 9).into_values();
    let draws = Points::unnamed(3, 1000, drawn.iter().map(|x| x.ln()).collect());
    let space = Space::real(&["x", "y", "z"]).unwrap();
    let log_gamma = noisewright::density(space, |x: &[f64]| x.iter().map(|x| 4.0 * x - x.exp()).sum());
    let found = evidence(&log_gamma, &draws).noise(kind).run().unwrap();
    Arc::clone(&found.noises[0])
}

fn made_from_models() -> Vec<Row> {
    let model = |text: &str| Model::from_toml(text).unwrap();
    let own =
        |model: &Model, at: &[f64]| Arc::new(ModelNoise::data(model, at, &Precision::default()).unwrap());
    let quartic = model("variables = ['x']\nlog_density = '-a*x^2/2 - b*x^4'\n[parameters]\na = 1\nb = 0.1");
    let plane = model(
        "variables = ['x', 'y']\nlog_density = '-a*(x^2 + y^2)/2 - b*x*y - (x^4 + y^4)/20'\n[parameters]\na = 1\nb = 0.4",
    );
    let space = model(
        "variables = ['x', 'y', 'z']\nlog_density = '-a*(x^2 + y^2 + z^2)/2 - b*x*y'\n[parameters]\na = 1\nb = 0.4",
    );
    let states = model(
        "variables = ['x', 'y']\nfeatures = ['x', 'y', 'x*y']\n[domain]\nx = { states = [-1, 1] }\ny = { states = [-1, 1] }",
    );
    let best = plane.design(&[1.0, 0.4]).ratio(1.0).run().unwrap().noise;
    let noise = Box::new(SavedNoise::Words("normal(0, 1)".into()));
    let restated = SavedNoise::Restated { noise, log_mass: 0.0, words: "auto".into() };
    let line = Space::real(&["x"]).unwrap();
    vec![
        row(&["ModelNoise"], own(&quartic, &[1.0, 0.1])),
        Row { points: 256, ..row(&["ModelNoise"], own(&plane, &[1.0, 0.4])) },
        Row { points: 256, ..row(&["ModelNoise"], Arc::new(best)) },
        // A point in space takes integrals over a plane, and 64 points are less even than more of them.
        Row { points: 64, least: 8.0, ..row(&["ModelNoise"], own(&space, &[1.0, 0.4])) },
        row(&["ModelNoise"], own(&states, &[0.5, -0.2, 0.3])),
        row(&["Restated"], restated.build(&line, None).unwrap()),
    ]
}

/// Bounded functions of variables in units of their spread: a sum over the variables, a bump, a function across all of them, and
/// products of neighbours.
fn functions(z: &[f64]) -> [f64; 4] {
    let d = z.len();
    let bent: Vec<f64> = z.iter().map(|z| z.tanh()).collect();
    let squares: f64 = z.iter().map(|z| z * z).sum();
    let length = (1..=d).map(|j| (j * j) as f64).sum::<f64>().sqrt();
    let across: f64 = z.iter().enumerate().map(|(j, z)| (j + 1) as f64 * z / length).sum();
    let pairs = (0..d).map(|j| bent[j] * bent[(j + 1) % d]).sum();
    [bent.iter().sum(), (-0.5 * squares / d as f64).exp(), across.tanh(), pairs]
}

/// The median and the distance of the quartiles of one variable in all replicates; one where that is zero.
fn middle_and_width(replicates: &[Points], axis: usize) -> (f64, f64) {
    let mut all: Vec<f64> = replicates.iter().flat_map(|r| r.view().column(axis).to_vec()).collect();
    all.sort_by(f64::total_cmp);
    let width = all[3 * all.len() / 4] - all[all.len() / 4];
    (all[all.len() / 2], if width > 0.0 { width } else { 1.0 })
}

/// How many times smaller the variance of the mean of each function is than that of as many independent draws, `Var f/n`.
///
/// For independent draws it is 31/χ²₃₁, which is above G with a probability of at most `(e^{1 − 1/G}/G)^{31/2}` (Chernoff): 8e-9
/// for 8, and 2e-14 for 20. A gain of 3 G is found below G with a probability of at most `(3 e^{−2})^{31/2}` = 9e-7.
fn gains(row: &Row, draw: Draw) -> [f64; 4] {
    let replicates: Vec<Points> =
        (0..REPLICATES).map(|seed| draw(row.noise.as_ref(), row.points, seed)).collect();
    let scales: Vec<(f64, f64)> =
        (0..row.noise.dimension()).map(|axis| middle_and_width(&replicates, axis)).collect();
    let values = |replicate: &Points, at: usize| {
        let scaled =
            |(axis, (middle, width)): (usize, &(f64, f64))| (replicate.view().get(at, axis) - middle) / width;
        functions(&scales.iter().enumerate().map(scaled).collect::<Vec<f64>>())
    };
    let values: Vec<[f64; 4]> =
        replicates.iter().flat_map(|r| (0..row.points).map(|at| values(r, at)).collect::<Vec<_>>()).collect();
    [0, 1, 2, 3].map(|k| {
        let of_one: Vec<f64> = values.iter().map(|values| values[k]).collect();
        let means: Vec<f64> =
            of_one.chunks(row.points).map(|one| one.iter().sum::<f64>() / row.points as f64).collect();
        mean_and_variance(&of_one).1 / row.points as f64 / mean_and_variance(&means).1
    })
}

/// The predicate of all of them, and that independent draws of the same noise do not meet it in a single function.
fn check(rows: &[Row]) {
    for row in rows {
        let name = format!("{:?}: {}", row.types, row.noise.describe());
        let quiet = gains(row, quietly);
        assert!(quiet.iter().all(|gain| *gain >= row.least), "{name}: {quiet:?}, at least {}", row.least);
        let independent = gains(row, sample);
        assert!(independent.iter().all(|gain| *gain < row.least), "{name}, independent: {independent:?}");
    }
}

#[test]
fn means_over_quiet_draws_on_a_line_vary_less() {
    check(&on_a_line());
}

#[test]
fn means_over_quiet_draws_in_several_variables_vary_less() {
    check(&in_several_variables());
}

#[test]
fn means_over_quiet_draws_of_designed_noises_vary_less() {
    check(&made_from_models());
}

/// The types that are noises, as the source of the library says.
fn types_in_source() -> BTreeSet<String> {
    let mut paths = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = BTreeSet::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| line.starts_with("impl")) {
            let named = line.split_once(" Noise for ").or_else(|| line.split_once(" Scalar for "));
            found.extend(named.map(|(_, name)| name.trim_end_matches(" {").to_owned()));
        }
    }
    found
}

/// Every noise is in one of the tables above, but those that cannot be drawn quietly and say so.
#[test]
fn no_noise_of_the_library_is_forgotten() {
    let rows = [on_a_line(), in_several_variables(), made_from_models()];
    let mut known: BTreeSet<String> =
        rows.iter().flatten().flat_map(|row| row.types).map(|name| (*name).to_owned()).collect();
    // Every distribution of one variable, which the tables name one by one.
    known.insert("T".into());
    // A tree takes more than 2²⁰ states, here 2²¹ by 60 rows.
    let spins: Vec<f64> = (0..21 * 60).map(|i| (f64::from(i * i) * 0.618).sin().signum()).collect();
    let tree = fit_auto(&space("spins", 21), View::new(21, 60, &spins), None).unwrap();
    assert!(tree.describe().starts_with("a tree") && tree.uniforms().is_none(), "{}", tree.describe());
    known.insert("StateTree".into());
    assert_eq!(types_in_source(), known);
}

/// All ways to share out so many halvings to d coordinates.
fn shapes(halvings: u32, d: usize) -> Vec<Vec<u32>> {
    if d == 1 {
        return vec![vec![halvings]];
    }
    let with_first = |first: u32| {
        shapes(halvings - first, d - 1).into_iter().map(move |rest| [vec![first], rest].concat())
    };
    (0..=halvings).flat_map(with_first).collect()
}

/// Whether 2^m points, given by coordinates, are a (t, m, d)-net: of all boxes that 2^(m−t) equal ones of some shape make up, each
/// holds exactly 2^t points.
fn is_net(cube: &[Vec<f64>], t: u32) -> bool {
    let halvings = cube[0].len().ilog2() - t;
    shapes(halvings, cube.len()).iter().all(|shape| {
        let mut counts = vec![0; 1 << halvings];
        for row in 0..cube[0].len() {
            let place = |at: usize, (column, k): (&Vec<f64>, &u32)| {
                (at << k) + (column[row] * f64::from(1 << k)).floor() as usize
            };
            counts[cube.iter().zip(shape).fold(0, place)] += 1;
        }
        counts.iter().all(|count| *count == 1 << t)
    })
}

/// Where draws lie in the unit cube, by the inverse of the map from it.
fn carried_back(noise: &dyn Noise, draws: View<'_>) -> Vec<Vec<f64>> {
    let mut stream = internal::run::Purpose::Sample.stream(4, 0);
    let mut cube = vec![vec![0.0; draws.rows()]; noise.uniforms().unwrap()];
    for row in 0..draws.rows() {
        let point: Vec<f64> = (0..draws.columns()).map(|axis| draws.get(row, axis)).collect();
        let mut coordinates = vec![0.0; cube.len()];
        assert!(noise.inverse_transport(&point, &mut stream, &mut coordinates));
        cube.iter_mut().zip(coordinates).for_each(|(column, u)| column[row] = u);
    }
    cube
}

/// The t of a Sobol sequence is the sum of the degrees of its primitive polynomials, each less one: 0 for the first two
/// coordinates, 1 with the third (Niederreiter 1992). Owen's scramble keeps it.
#[test]
fn quiet_draws_are_nets_where_the_map_can_be_inverted() {
    let cases = [
        ("real", 1, "laplace(1, 3)", 0),
        ("real", 2, "normal([1, -2], [[2, 0.6], [0.6, 0.5]])", 0),
        ("positive", 2, "product(gamma(0.4, 2), lognormal(1, 0.8))", 0),
        ("circle", 2, "product(von-mises(2.8, 0.3), von-mises(0, 0))", 0),
        ("real", 3, NORMAL, 1),
        ("real", 3, PRODUCT, 1),
    ];
    for (seed, (domain, dimension, words, t)) in cases.into_iter().enumerate() {
        let noise = noise(domain, dimension, words);
        for rows in [64, 1024] {
            let cube =
                |draw: Draw| carried_back(noise.as_ref(), draw(noise.as_ref(), rows, seed as u64).view());
            assert!(is_net(&cube(quietly), t), "{words}: {rows}");
            assert!(!is_net(&cube(sample), t), "independent draws of {words}: {rows}");
        }
    }
}

/// The same in charts of the test's own: heights and angles on the sphere, and shares of the cells of a histogram.
#[test]
fn quiet_draws_are_nets_in_charts_of_their_own() {
    // Of a height z the share above is (1 − z)/2 if all directions are alike, and (1 − e^{−κ(1−z)})/(1 − e^{−2κ}) otherwise.
    let on_sphere = |share: fn(f64) -> f64, draws: View<'_>| {
        let turn = |(x, y): (&f64, &f64)| (x.atan2(*y) / TAU).rem_euclid(1.0);
        let angles = draws.column(0).iter().zip(draws.column(1)).map(turn).collect();
        vec![draws.column(2).iter().map(|z| share(*z)).collect(), angles]
    };
    let in_cells = |draws: View<'_>| {
        let shares = |(x, y): (&f64, &f64)| {
            let (first, low) =
                if *x < 1.0 { (0.3 * x, 1.0 / 3.0) } else { (0.3 + 0.35 * (x - 1.0), 3.0 / 7.0) };
            [first, if *y < 1.0 { low * 0.5 * (y + 1.0) } else { low + (1.0 - low) * (y - 1.0) }]
        };
        let both: Vec<[f64; 2]> = draws.column(0).iter().zip(draws.column(1)).map(shares).collect();
        vec![both.iter().map(|u| u[0]).collect(), both.iter().map(|u| u[1]).collect()]
    };
    for (draw, even) in [(quietly as Draw, true), (sample as Draw, false)] {
        let uniform = draw(&UniformSphere::new(3).unwrap(), 1024, 3);
        assert_eq!(is_net(&on_sphere(|z| 0.5 * (1.0 - z), uniform.view()), 0), even);
        let around = draw(&VonMisesFisher::new(&[0.0, 0.0, 1.0], 3.0).unwrap(), 1024, 3);
        let share = |z: f64| (-3.0 * (1.0 - z)).exp_m1() / (-6.0f64).exp_m1();
        assert_eq!(is_net(&on_sphere(share, around.view()), 0), even);
        let cells = draw(&plane_histogram(), 1024, 3);
        assert_eq!(is_net(&in_cells(cells.view()), 0), even);
    }
}

/// A part of a mixture that has a quarter of the weight has a quarter of a net, which is a net.
#[test]
fn a_part_of_a_mixture_has_a_net_of_its_own() {
    let part = "normal([0, 0], [[1, 0.3], [0.3, 2]])";
    let words = format!("0.25*{part} + 0.75*normal([100, 0], [[1, 0], [0, 1]])");
    let (part, mixture) = (noise("real", 2, part), noise("real", 2, &words));
    for (draw, even) in [(quietly as Draw, true), (sample as Draw, false)] {
        let draws = draw(mixture.as_ref(), 1024, 3);
        let left: Vec<usize> = (0..1024).filter(|row| draws.view().get(*row, 0) < 50.0).collect();
        let values: Vec<f64> = (0..2)
            .flat_map(|axis| left.iter().map(move |row| (axis, *row)))
            .map(|(j, i)| draws.view().get(i, j))
            .collect();
        let cube = carried_back(part.as_ref(), View::new(2, left.len(), &values));
        assert_eq!(left.len() == 256 && is_net(&cube, 0), even);
    }
}

/// The predicates tell apart what they are for: a grid of midpoints is a net in one variable and none in two.
#[test]
fn a_diagonal_is_no_net() {
    let line: Vec<f64> = (0..64).map(|i| (f64::from(i) + 0.5) / 64.0).collect();
    assert!(is_net(std::slice::from_ref(&line), 0));
    assert!(!is_net(&[line.clone(), line], 1));
    // Points of a replicate that are all one and the same are worth one: 1/1024 of as many, times 31·1024/(32·1024 − 1) for the means
    // that both variances are taken about.
    let lumps: Draw = |noise, rows, seed| {
        let one = sample(noise, 1, seed);
        Points::unnamed(1, rows, vec![one.values()[0]; rows])
    };
    let normal = row(&[], Arc::new(Normal::with_variance(0.0, 1.0).unwrap()));
    assert!(gains(&normal, lumps).iter().all(|gain| (gain * 32_767.0 / 31.0 - 1.0).abs() < 1e-9));
}
