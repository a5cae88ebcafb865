//! Quiet draws: every noise's map from the unit cube gives its distribution, and evenly.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use crate::support::*;
use noisewright::internal::quiet_blocks;
use noisewright::parts::ModelNoise;
use noisewright::run::Context as Run;
use noisewright::*;

const DRAWS: usize = 20_000;

fn quiet(noise: &dyn Noise, rows: usize, seed: u64) -> Points {
    quiet_sample(noise, rows, &Run::seeded(seed)).unwrap()
}

const LINES: [(&str, &str); 20] = [
    ("real", "normal(2, 9)"),
    ("real", "student(1, 0, 1)"),
    ("real", "student(3.5, -1, 2)"),
    ("real", "uniform(-2, 7)"),
    ("real", "laplace(1, 3)"),
    ("real", "logistic(-1, 0.5)"),
    ("positive", "gamma(0.4, 2)"),
    ("positive", "gamma(6, 0.1)"),
    ("positive", "lognormal(1, 0.8)"),
    ("[0, 1]", "beta(0.7, 1.9)"),
    ("circle", "von-mises(2.8, 0.3)"),
    ("circle", "von-mises(-1, 5)"),
    ("circle", "0.75*von-mises(1, 2) + 0.25*von-mises(0, 0)"),
    ("positive", "normal(0, 1)"),
    ("positive", "normal(-6, 1)"),
    ("[4, 9]", "gamma(2, 3)"),
    ("real", "truncate(laplace(0, 1), -inf, -20)"),
    ("real", "0.3*normal(-4, 1) + 0.7*student(5, 3, 1)"),
    ("real", "0.75*student(0.4, 0, 1) + 0.25*student(0.2, 0, 1)"),
    ("[-2, 4]", "histogram([-2, 0, 0.5, 4], [0.25, 0.15, 0.6])"),
];

/// One coordinate of a net of 2^m points has one in each interval of mass 2^−m, so that the empirical distribution function is
/// never further than 2^−m from the true one; n points are as many nets as n has binary ones, each off by at most one point.
/// 1e-7 is for distribution functions that are good to 1e-8.
#[test]
fn on_a_line_quiet_draws_are_as_even_as_can_be() {
    for (seed, (domain, words)) in LINES.into_iter().enumerate() {
        let noise = scalar(domain, words);
        for rows in [1usize, 2, 64, 1000, 1024] {
            let draws = quiet(noise.as_ref(), rows, seed as u64);
            assert!(draws.values().iter().all(|x| x.is_finite()), "{words}: {rows}");
            let distance = kolmogorov_distance(draws.values(), |x| noise.cdf(x));
            let bound = f64::from(rows.count_ones()) / rows as f64 + 1e-7;
            assert!(distance <= bound, "{words} on {domain}, {rows}: {distance} against {bound}");
        }
    }
}

/// The share of every state is off by at most two points: an interval of the unit line has two ends.
#[test]
fn discrete_noises_have_their_states_in_proportion() {
    let cases = [
        ("counts", "poisson(0.3)"),
        ("counts", "poisson(80)"),
        ("counts", "negative-binomial(4, 0.5)"),
        ("counts", "truncate(poisson(2), 1, 4)"),
        ("counts", "0.5*poisson(1) + 0.5*poisson(12)"),
        ("spins", "bernoulli(0.8)"),
    ];
    let rows = 4096;
    for (domain, words) in cases {
        let noise = scalar(domain, words);
        let draws = quiet(noise.as_ref(), rows, 5);
        for state in -1..200 {
            let expected = log_densities(noise.as_ref(), &[f64::from(state)])[0].exp() * rows as f64;
            let found = draws.values().iter().filter(|x| **x == f64::from(state)).count() as f64;
            assert!((found - expected).abs() <= 2.0 + 1e-6, "{words} at {state}: {found} {expected}");
        }
    }
}

/// Projections of two samples, independent and quiet, compared: each is within the bound of Dvoretzky, Kiefer and Wolfowitz
/// of the truth (quiet ones are nearer).
fn check_against_independent(name: &str, noise: &dyn Noise) {
    check_draws(name, noise, DRAWS);
}

fn check_draws(name: &str, noise: &dyn Noise, rows: usize) {
    let (random, quiet) = (sample(noise, rows, 1), quiet(noise, rows, 2));
    let d = noise.dimension();
    let project = |points: View<'_>, direction: &[f64]| -> Vec<f64> {
        let along = |i: usize| (0..d).map(|j| direction[j] * points.get(i, j)).sum();
        let mut out: Vec<f64> = (0..points.rows()).map(along).collect();
        out.sort_by(f64::total_cmp);
        out
    };
    let directions = (0..d + 4).map(|k| {
        let axis =
            |j: usize| if k < d { f64::from(u8::from(j == k)) } else { ((k * 7 + j * 3) as f64).sin() };
        (0..d).map(axis).collect::<Vec<f64>>()
    });
    for direction in directions {
        let reference = project(random.view(), &direction);
        let share = |x: f64| reference.partition_point(|r| *r <= x) as f64 / rows as f64;
        let distance = kolmogorov_distance(&project(quiet.view(), &direction), share);
        assert!(distance < 2.0 * kolmogorov_bound(rows), "{name} along {direction:?}: {distance}");
    }
    let mut log_density = vec![0.0; rows];
    noise.log_density(quiet.view(), &mut log_density);
    assert!(log_density.iter().all(|l| l.is_finite()), "{name}");
}

#[test]
#[ignore = "long: ./test.sh --all"]
fn in_several_variables_quiet_draws_have_the_same_distribution() {
    let words = [
        "normal([1, -2, 0.5], [[2, 0.6, -0.3], [0.6, 0.5, 0.1], [-0.3, 0.1, 4]])",
        "student(5, [1, -2, 0.5], [[2, 0.6, -0.3], [0.6, 0.5, 0.1], [-0.3, 0.1, 4]])",
        "product(normal(0, 1), student(4, 1, 2), laplace(1, 3))",
        "0.4*normal([0, 0, 1], [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]) + 0.6*product(normal(3, 1), laplace(-1, 2), normal(0, 4))",
    ];
    for words in words {
        check_against_independent(words, noise("real", 3, words).as_ref());
    }
    let plane = Histogram2d::new(&[0.0, 1.0, 3.0], &[-1.0, 1.0, 2.0], &[0.1, 0.2, 0.3, 0.4]).unwrap();
    check_against_independent("histogram", &plane);
    let data: Vec<f64> = (0..60).map(|i| (f64::from(i) * 0.731).sin().exp()).collect();
    let view = View::new(2, 30, &data);
    check_against_independent("kde", &KernelDensity::fit(view, None, Bandwidth::Scott).unwrap());
    let bounds = [(0.0, f64::INFINITY), (0.2, 4.0)];
    let boxed = KernelDensity::fit_within(&bounds, view, None, Bandwidth::Scott).unwrap();
    check_against_independent("kde in a box", &boxed);
    for dimension in [2, 3, 4, 6] {
        check_against_independent("sphere", &UniformSphere::new(dimension).unwrap());
        for kappa in [0.0, 0.2, 10.0, 500.0] {
            let mean = &[-0.8, 0.3, 0.3, 0.1, -0.2, 0.5][..dimension];
            check_against_independent("fisher", &VonMisesFisher::new(mean, kappa).unwrap());
        }
    }
}

/// What is carried to the cube comes back to where it was, and draws are uniform there, in every coordinate and along their sums.
fn check_inverse(name: &str, noise: &dyn Noise) {
    let (d, uniforms, rows) = (noise.dimension(), noise.uniforms().unwrap(), 4000);
    let draws = sample(noise, rows, 3);
    let mut stream = internal::run::Purpose::Sample.stream(4, 0);
    let mut cubes = vec![vec![0.0; rows]; uniforms];
    for row in 0..rows {
        let point: Vec<f64> = (0..d).map(|j| draws.view().get(row, j)).collect();
        let (mut cube, mut back) = (vec![0.0; uniforms], vec![0.0; d]);
        assert!(noise.inverse_transport(&point, &mut stream, &mut cube), "{name}");
        noise.transport(View::new(uniforms, 1, &cube), &mut back);
        for (x, y) in point.iter().zip(&back) {
            // A number next to one is known to 1e-16, and far out a quantile to the share that this is of the tail.
            let far = cube.iter().map(|u| 1.0 / u.min(1.0 - u)).fold(0.0, f64::max);
            let bound = 1e-7 + 1e-14 * far;
            assert!((x - y).abs() <= bound * (1.0 + x.abs()), "{name}: {x} came back as {y}");
        }
        cubes.iter_mut().zip(&cube).for_each(|(column, u)| column[row] = *u);
    }
    for (j, column) in cubes.iter().enumerate() {
        let distance = kolmogorov_distance(column, |u| u);
        assert!(distance < kolmogorov_bound(rows), "{name}, coordinate {j}: {distance}");
        // The sum of two independent uniform numbers, modulo one, is uniform.
        for other in &cubes[..j] {
            let sums: Vec<f64> = column.iter().zip(other).map(|(a, b)| (a + b).fract()).collect();
            let distance = kolmogorov_distance(&sums, |u| u);
            assert!(distance < kolmogorov_bound(rows), "{name}, coordinate {j} with another: {distance}");
        }
    }
}

#[test]
fn noises_are_carried_back_to_the_cube() {
    for (domain, words) in LINES {
        // Of a tail behind 20 scales, and of tails like x^−0.2, a number next to one does not tell enough.
        if !words.contains("-20") && !words.contains("student(0.2") {
            check_inverse(words, scalar(domain, words).as_ref());
        }
    }
    for (domain, words) in
        [("counts", "poisson(3)"), ("counts", "negative-binomial(4, 0.5)"), ("spins", "bernoulli(0.8)")]
    {
        check_inverse(words, scalar(domain, words).as_ref());
    }
    for words in [
        "normal([1, -2, 0.5], [[2, 0.6, -0.3], [0.6, 0.5, 0.1], [-0.3, 0.1, 4]])",
        "student(5, [1, -2, 0.5], [[2, 0.6, -0.3], [0.6, 0.5, 0.1], [-0.3, 0.1, 4]])",
        "product(normal(0, 1), student(4, 1, 2), laplace(1, 3))",
        "0.4*normal([0, 0, 1], [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]) + 0.6*student(4, [3, -1, 0], [[1, 0, 0], [0, 4, 0], [0, 0, 4]])",
    ] {
        check_inverse(words, noise("real", 3, words).as_ref());
    }
    let mut stream = internal::run::Purpose::Sample.stream(4, 0);
    assert!(!Own.inverse_transport(&[0.0], &mut stream, &mut [0.0]));
}

/// A designed noise on a line is drawn by the integral of its own density.
#[test]
fn designed_noises_are_drawn_quietly_on_a_line() {
    let file = "variables = ['x']\nlog_density = 'a*x^2/2 - b*x^4'\n[parameters]\na = 1\nb = 0.1";
    let model = Model::from_toml(file).unwrap();
    let theta = [1.0, 0.1];
    let own = ModelNoise::data(&model, &theta, &Precision::default()).unwrap();
    let all = ModelNoise::all_noise(&model, &theta, &Target::Mse, &Precision::default()).unwrap();
    let best = model.design(&theta).ratio(1.0).run().unwrap().noise;
    let noises: [Arc<dyn Noise>; 3] = [Arc::new(own), Arc::new(all), Arc::new(best)];
    for noise in noises {
        assert_eq!(noise.uniforms(), Some(1), "{}", noise.describe());
        let rows = 256;
        let mut draws = quiet(noise.as_ref(), rows, 3).into_values();
        draws.sort_by(f64::total_cmp);
        let rule = gauss_legendre(40);
        let breaks = noise.landmarks(0).breaks;
        let (mut below, mut at) = (0.0, -8.0);
        let mut ends: Vec<f64> = draws.iter().chain(&breaks).copied().collect();
        ends.sort_by(f64::total_cmp);
        for x in ends {
            below += panel(noise.as_ref(), &rule, at, x);
            at = x;
            if let Some(i) = draws.iter().position(|draw| *draw == x) {
                let off =
                    (below - i as f64 / rows as f64).abs().max((below - (i + 1) as f64 / rows as f64).abs());
                // One point per interval of mass 1/n; the rule of the first, long interval is good to 1e-4.
                assert!(off < 1.0 / rows as f64 + 1e-4, "{}: {off} at {x}", noise.describe());
            }
        }
    }
}

/// A noise of one's own that only knows how to draw.
struct Own;

impl Noise for Own {
    fn dimension(&self) -> usize {
        1
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        Normal::with_variance(0.0, 1.0).unwrap().log_density(points, out);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        Normal::with_variance(0.0, 1.0).unwrap().draw(stream, rows, out);
    }

    fn describe(&self) -> String {
        "own".into()
    }
}

/// The designed noises of two and three variables have the distribution of their independent draws, which are made by rejection,
/// and their means to far below the error of those: E x₁² of the model's own noise is known by quadrature.
#[test]
fn designed_noises_are_drawn_quietly_in_the_plane_and_in_space() {
    let plane = "variables = ['x', 'y']\nlog_density = '-a*(x^2 + y^2)/2 - b*x*y - (x^4 + y^4)/20'\n[parameters]\na = 1\nb = 0.4";
    let space = "variables = ['x', 'y', 'z']\nlog_density = '-a*(x^2 + y^2 + z^2)/2 - b*x*y'\n[parameters]\na = 1\nb = 0.4";
    for (file, best) in [(plane, true), (space, false)] {
        let model = Model::from_toml(file).unwrap();
        let theta = [1.0, 0.4];
        let own = ModelNoise::data(&model, &theta, &Precision::default()).unwrap();
        assert_eq!(own.uniforms(), Some(own.dimension()));
        // A point in space takes integrals over a plane.
        check_draws(file, &own, if best { DRAWS } else { 2048 });
        if best {
            let designed = model.design(&theta).ratio(1.0).run().unwrap().noise;
            assert_eq!(designed.uniforms(), Some(2));
            check_against_independent("optimal", &designed);
        }
        let rows = if best { 4096 } else { 1024 };
        let draws = quiet(&own, rows, 3);
        let mean = draws.view().column(0).iter().map(|x| x * x).sum::<f64>() / rows as f64;
        let random = sample(&own, 1 << 18, 3);
        let expected = random.view().column(0).iter().map(|x| x * x).sum::<f64>() / (1 << 18) as f64;
        // √(Var x²/2¹⁸) is about 0.0028 for unit variance; four of them.
        assert!((mean - expected).abs() < 0.012, "{mean} {expected}");
    }
}

/// The states of a designed noise have their shares to within a point.
#[test]
fn designed_noises_on_states_have_their_shares() {
    let file = "variables = ['x', 'y']\nfeatures = ['x', 'y', 'x*y']\n[domain]\nx = { states = [-1, 1] }\ny = { states = [-1, 1] }";
    let model = Model::from_toml(file).unwrap();
    let noise = ModelNoise::data(&model, &[0.5, -0.2, 0.3], &Precision::default()).unwrap();
    let rows = 1024;
    let draws = quiet(&noise, rows, 1);
    for (x, y) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)] {
        let view = draws.view();
        let found = (0..rows).filter(|i| view.get(*i, 0) == x && view.get(*i, 1) == y).count() as f64;
        let mut log_density = [0.0];
        noise.log_density(View::new(2, 1, &[x, y]), &mut log_density);
        assert!((found - rows as f64 * log_density[0].exp()).abs() <= 2.0, "{x} {y}: {found}");
    }
}

#[test]
fn a_noise_without_an_inverse_says_so() {
    let own = Own;
    let refused = quiet_sample(&own, 4, &Run::seeded(0)).unwrap_err();
    assert!(refused.to_string().contains("drawn quietly"), "{refused}");
}

/// Blocks of a long sample are those of the whole, and a mixture's parts have their shares to within a point.
#[test]
fn quiet_draws_come_in_blocks_and_strata() {
    let words = "0.3*normal([0, 0], [[1, 0], [0, 1]]) + 0.7*normal([100, 0], [[1, 0], [0, 1]])";
    let mixture = noise("real", 2, words);
    let whole = quiet(mixture.as_ref(), 10_000, 4);
    let context = Run::seeded(4);
    let blocks = quiet_blocks(mixture.as_ref(), 10_000, &context).unwrap();
    let first: Vec<f64> = blocks.flat_map(|block| block.unwrap().view().column(0).to_vec()).collect();
    assert_eq!(first, whole.view().column(0));
    for rows in [64, 1024] {
        let left = whole.view().column(0)[..rows].iter().filter(|x| **x < 50.0).count() as f64;
        assert!((left - 0.3 * rows as f64).abs() <= 1.0, "{left} of {rows}");
    }
}
