//! Dependent variables: draws against densities, both ways of the transport, plain data, and what `auto` chooses.

use std::f64::consts::TAU;
use std::sync::Arc;

use noisewright_numerics::random::stream;

use super::*;
use crate::{
    Domain, Gamma, Histogram1d, MultivariateNormal, Noise, Points, Product, Scalar, Space, Uniform, VonMises,
    fit_auto, sample,
};

/// A gamma variable, or the second on an interval.
fn margin(j: usize) -> Arc<dyn Scalar> {
    if j == 1 {
        Arc::new(Histogram1d::new(&[0.0, 0.2, 0.7, 1.0], &[0.2, 0.3, 0.5]).unwrap())
    } else {
        Arc::new(Gamma::new(0.8 + 0.4 * j as f64, 1.5).unwrap())
    }
}

/// Such variables whose scores are those of an autoregression.
fn lines(d: usize, rho: f64) -> MetaElliptical {
    let matrix: Vec<f64> = (0..d * d).map(|k| rho.powi((k / d).abs_diff(k % d) as i32)).collect();
    let scores = MultivariateNormal::new(&vec![0.0; d], &matrix).unwrap();
    MetaElliptical::new((0..d).map(|j| Margin::new(margin(j))).collect(), Arc::new(scores)).unwrap()
}

/// A chain of angles: every one differs from the one before by a von Mises angle, the last by the sum.
fn angles(d: usize, kappa: f64) -> (Space, Points) {
    let binding = VonMises::new(0.4, kappa).unwrap();
    let mut random = stream(3, 0);
    let rows = 2000;
    let mut values = vec![0.0; d * rows];
    for row in 0..rows {
        let mut angle = Uniform::new(0.0, TAU).unwrap().draw_one(&mut random);
        for j in 0..d {
            let step = binding.draw_one(&mut random);
            angle = if j + 1 == d { step - angle } else { angle + step };
            values[j * rows + row] = angle;
        }
    }
    let names: Vec<(String, Domain)> = (0..d).map(|j| (format!("x{j}"), Domain::Circle)).collect();
    (Space::product(&names).unwrap(), Points::unnamed(d, rows, values))
}

/// The exact log-density of such a chain.
fn log_density_of_chain(points: View<'_>, kappa: f64) -> Vec<f64> {
    let binding = VonMises::new(0.4, kappa).unwrap();
    let d = points.columns();
    let of = |row: usize| {
        let steps: Vec<f64> = (1..d)
            .map(|j| {
                let (own, before) = (points.get(row, j), points.get(row, j - 1));
                if j + 1 == d { own + before } else { own - before }
            })
            .collect();
        let mut out = vec![0.0; d - 1];
        binding.log_density_of(&steps, &mut out);
        out.iter().sum::<f64>() - TAU.ln()
    };
    (0..points.rows()).map(of).collect()
}

/// The mean of `p/q` over draws of q is one where q has mass wherever p has; here p is narrower, and the mean of so many known
/// to within its own error, of which four are allowed.
fn mean_of_ratio(p: &dyn Noise, q: &dyn Noise) -> (f64, f64) {
    let draws = sample(q, 40_000, 5);
    let (mut of_p, mut of_q) = (vec![0.0; draws.rows()], vec![0.0; draws.rows()]);
    p.log_density(draws.view(), &mut of_p);
    q.log_density(draws.view(), &mut of_q);
    let ratios: Vec<f64> = of_p.iter().zip(&of_q).map(|(p, q)| (p - q).exp()).collect();
    let (mean, variance) = noisewright_numerics::summation::mean_and_variance(&ratios);
    (mean, (variance / ratios.len() as f64).sqrt())
}

#[test]
fn draws_have_the_density() {
    // Each against the other strength of dependence and against independence, in both directions the ratio is bounded.
    let product = Product::of_shared((0..3).map(|j| margin(j) as Arc<dyn Noise>).collect()).unwrap();
    let strong = lines(3, 0.3);
    for (p, q) in [(&product as &dyn Noise, &strong as &dyn Noise), (&strong, &product)] {
        let (mean, error) = mean_of_ratio(p, q);
        assert!((mean - 1.0).abs() < 4.0 * error && error < 0.02, "{mean} ± {error}");
    }
    let (space, points) = angles(3, 1.5);
    let tree = fit_auto(&space, points.view(), None).unwrap();
    let uniform = Product::new([0; 3].map(|_| VonMises::new(0.0, 0.0).unwrap())).unwrap();
    for (p, q) in [(&uniform as &dyn Noise, tree.as_ref()), (tree.as_ref(), &uniform)] {
        let (mean, error) = mean_of_ratio(p, q);
        assert!((mean - 1.0).abs() < 4.0 * error && error < 0.02, "{mean} ± {error}");
    }
}

#[test]
fn uniform_numbers_go_there_and_back() {
    let (space, points) = angles(4, 4.0);
    let tree = fit_auto(&space, points.view(), None).unwrap();
    let joint = lines(3, 0.8);
    for noise in [&joint as &dyn Noise, tree.as_ref()] {
        let d = noise.dimension();
        let mut random = stream(7, 1);
        for k in 0..200 {
            let u: Vec<f64> =
                (0..d).map(|j| ((k * 7 + j * 3) as f64 * 0.618_033_988_749_894_9 + 0.01).fract()).collect();
            let mut x = vec![0.0; d];
            noise.transport(View::new(d, 1, &u), &mut x);
            let mut back = vec![0.0; d];
            assert!(noise.inverse_transport(&x, &mut random, &mut back));
            // Distribution functions near one are told to 1e-16 and their inverses to as many digits; a von Mises one by a series.
            assert!(u.iter().zip(&back).all(|(u, b)| (u - b).abs() < 1e-9), "{u:?} {back:?}");
        }
    }
}

#[test]
fn values_far_out_have_their_scores() {
    let margin = Margin::new(Arc::new(Gamma::new(1.0, 1.0).unwrap()));
    let scores = MultivariateNormal::new(&[0.0; 2], &[1.0, 0.0, 0.0, 1.0]).unwrap();
    let noise = MetaElliptical::new(vec![margin.clone(), margin], Arc::new(scores)).unwrap();
    // Independent standard normal scores: the density is that of the margins, −x − y, also where the distribution function is
    // one or zero to all digits.
    let x = [1e-300, 1e-20, 0.3, 40.0, 600.0];
    let points: Vec<f64> = x.iter().chain(&x).copied().collect();
    let mut out = [0.0; 5];
    noise.log_density(View::new(2, 5, &points), &mut out);
    for (found, x) in out.iter().zip(x) {
        assert!((found + 2.0 * x).abs() < 1e-9 * (1.0 + x), "{x}: {found}");
    }
}

#[test]
fn plain_data_keep_the_density_to_the_bit() {
    let (circles, turned) = angles(3, 4.0);
    let (line, values) = mixed_kinds(400, 0.8);
    for (space, points) in [(circles, turned), (line, values)] {
        let noise = fit_auto(&space, points.view(), None).unwrap();
        let text = serde_json::to_string(&noise.saved().unwrap()).unwrap();
        let saved: crate::SavedNoise = serde_json::from_str(&text).unwrap();
        let again = saved.build(&space, None).unwrap();
        assert_eq!(sample(noise.as_ref(), 50, 1).values(), sample(again.as_ref(), 50, 1).values());
        let (mut before, mut after) = (vec![0.0; points.rows()], vec![0.0; points.rows()]);
        noise.log_density(points.view(), &mut before);
        again.log_density(points.view(), &mut after);
        assert_eq!(before, after);
    }
}

/// A count between two dependent variables on a line.
fn mixed_kinds(rows: usize, rho: f64) -> (Space, Points) {
    let drawn = sample(&lines(2, rho), rows, 9);
    let count = |row: usize| (row % 4) as f64;
    let mut values = drawn.view().column(0).to_vec();
    values.extend((0..rows).map(count));
    values.extend_from_slice(drawn.view().column(1));
    let space =
        Space::product(&[("a", Domain::Positive), ("k", Domain::Counts), ("b", Domain::Interval(0.0, 1.0))]);
    (space.unwrap(), Points::unnamed(3, rows, values))
}

#[test]
fn independence_stays_a_product() {
    // At the price of ½ ln 400 and one pair, chance makes a dependence of a pair with probability P(χ²₁ > 6.0) = 1.4 %; the seed
    // is not one of these.
    let (space, points) = mixed_kinds(400, 0.0);
    assert!(fit_auto(&space, points.view(), None).unwrap().describe().starts_with("product("));
    let (space, points) = mixed_kinds(400, 0.8);
    let words = fit_auto(&space, points.view(), None).unwrap().describe();
    assert!(words.contains("2 dependent variables"), "{words}");
}

#[test]
fn weights_count_rows() {
    // Gamma variables: the cells of an interval go by the number of rows, whatever they weigh.
    let drawn = sample(&lines(3, 0.8), 300, 4);
    let values = [drawn.view().column(0), drawn.view().column(2)].concat();
    let space = Space::product(&[("a", Domain::Positive), ("b", Domain::Positive)]).unwrap();
    let twice: Vec<f64> = values.iter().flat_map(|x| [*x, *x]).collect();
    let points = View::new(2, 300, &values);
    let weighted = fit_auto(&space, points, Some(&[2.0; 300])).unwrap();
    let repeated = fit_auto(&space, View::new(2, 600, &twice), None).unwrap();
    let (mut a, mut b) = (vec![0.0; 300], vec![0.0; 300]);
    weighted.log_density(points, &mut a);
    repeated.log_density(points, &mut b);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())));
}

/// `E_d[p_d/p_n]`, estimated at the data: one plus the χ² divergence, which is what overlap costs.
fn cost(data: &[f64], noise: &dyn Noise, points: View<'_>) -> f64 {
    let mut own = vec![0.0; data.len()];
    noise.log_density(points, &mut own);
    data.iter().zip(&own).map(|(d, n)| (d - n).exp()).sum::<f64>() / data.len() as f64
}

#[test]
fn ten_dependent_variables_keep_their_overlap() {
    // The noise of real variables has a cost of about e^(1/8)/0.75 = 1.5 by its inflation and its Student part; margins that are fitted and
    // 45 correlations known from 2,000 rows add some tenths. Independent margins cost e^8 and more.
    let truth = lines(10, 0.7);
    let names: Vec<(String, Domain)> = (0..10)
        .map(|j| (format!("x{j}"), if j == 1 { Domain::Interval(0.0, 1.0) } else { Domain::Positive }))
        .collect();
    let space = Space::product(&names).unwrap();
    let points = sample(&truth, 2000, 2);
    let mut own = vec![0.0; 2000];
    truth.log_density(points.view(), &mut own);
    let noise = fit_auto(&space, points.view(), None).unwrap();
    let found = cost(&own, noise.as_ref(), points.view());
    assert!(found < 3.0, "{found}");

    // Every edge of a tree of angles costs its inflation, of at most 1.02, and its uniform part, of 1/(1 − 0.025); the margins are as good
    // as uniform.
    let (space, points) = angles(10, 4.0);
    let own = log_density_of_chain(points.view(), 4.0);
    let noise = fit_auto(&space, points.view(), None).unwrap();
    let found = cost(&own, noise.as_ref(), points.view());
    assert!(found < 2.0, "{found}");
}
