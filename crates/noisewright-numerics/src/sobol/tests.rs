use super::*;
use crate::random::stream;

/// Σ x_a x_b x_c over the first 4096 unscrambled points, each coordinate times 4096, from
/// `scipy.stats.qmc.Sobol(256, scramble=False)` (scipy 1.17.1), which takes the points in another order.
const BY_SCIPY: [([usize; 3], u64); 5] = [
    ([0, 1, 2], 35158622650368),
    ([1, 2, 3], 35158621978624),
    ([9, 99, 255], 35159294066688),
    ([37, 128, 201], 35158648127488),
    ([254, 255, 60], 35158731751424),
];

#[test]
fn unscrambled_points_are_those_of_scipy() {
    let all = directions();
    assert_eq!(all.len(), MOST_DIMENSIONS);
    for (axes, expected) in BY_SCIPY {
        let product = |index: u32| -> u64 {
            axes.iter().map(|axis| u64::from(digits(&all[*axis], index) >> 20)).product()
        };
        assert_eq!((0..4096).map(product).sum::<u64>(), expected, "{axes:?}");
    }
}

fn points(dimension: usize, rows: usize, seed: u64) -> Vec<f64> {
    let mut out = vec![0.0; dimension * rows];
    Sobol::new(dimension, &mut stream(seed, 0)).unwrap().fill(0, rows, &mut out);
    out
}

/// Scrambling keeps a net a net: the first 2^m points of two coordinates that form a (0, m, 2)-net have exactly one point in
/// every dyadic box of area 2^−m, whatever its shape; and any coordinate one in each interval of length 2^−m.
#[test]
fn scrambled_points_fill_every_elementary_interval_once() {
    let m = 10;
    let rows = 1 << m;
    let x = points(MOST_DIMENSIONS, rows, 3);
    let cell = |axis: usize, row: usize, bits: usize| (x[axis * rows + row] * (1 << bits) as f64) as usize;
    for axis in 0..MOST_DIMENSIONS {
        let mut hit = vec![0; rows];
        (0..rows).for_each(|row| hit[cell(axis, row, m)] += 1);
        assert!(hit.iter().all(|h| *h == 1), "axis {axis}");
    }
    for bits in 0..=m {
        let mut hit = vec![0; rows];
        (0..rows).for_each(|row| hit[cell(0, row, bits) << (m - bits) | cell(1, row, m - bits)] += 1);
        assert!(hit.iter().all(|h| *h == 1), "{bits} bits of the first");
    }
}

/// Every single point is uniform: over 4096 scrambles the first point of a sequence, which is 0 unscrambled, passes
/// Kolmogorov and Smirnov at the one in a thousand level (1.95/√n), and two coordinates are uncorrelated (4 errors).
#[test]
fn every_point_is_uniform_over_scrambles() {
    let n = 4096;
    for index in [0, 1, 6] {
        let mut draws: Vec<[f64; 2]> = (0..n)
            .map(|seed| {
                let mut out = [0.0; 2];
                Sobol::new(2, &mut stream(seed, 0)).unwrap().fill(index, 1, &mut out);
                out
            })
            .collect();
        let product: f64 = draws.iter().map(|p| 12.0 * (p[0] - 0.5) * (p[1] - 0.5)).sum();
        assert!(product.abs() < 4.0 * (n as f64).sqrt(), "{index}: {product}");
        draws.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let gap = |(i, p): (usize, &[f64; 2])| {
            (p[0] - i as f64 / n as f64).abs().max((p[0] - (i + 1) as f64 / n as f64).abs())
        };
        let largest = draws.iter().enumerate().map(gap).fold(0.0, f64::max);
        assert!(largest < 1.95 / (n as f64).sqrt(), "{index}: {largest}");
    }
}

#[test]
fn blocks_are_parts_of_the_whole_and_points_lie_inside() {
    let whole = points(5, 1000, 9);
    let sequence = Sobol::new(5, &mut stream(9, 0)).unwrap();
    let mut part = vec![0.0; 5 * 100];
    sequence.fill(700, 100, &mut part);
    for axis in 0..5 {
        assert_eq!(part[axis * 100..(axis + 1) * 100], whole[axis * 1000 + 700..axis * 1000 + 800]);
    }
    assert!(whole.iter().all(|x| *x > 0.0 && *x < 1.0));
    assert!(unit(0) > 0.0 && unit(u64::MAX) < 1.0 && 1.0 - unit(u64::MAX) == unit(0));
    assert!(Sobol::new(MOST_DIMENSIONS + 1, &mut stream(0, 0)).is_none());
}

/// Variance of the mean of Π(1 + (x_j − ½)) over 4 coordinates: independent points have ((1 + 1/12)⁴ − 1)/n = 0.377/n. For
/// smooth functions nets have n⁻³ (log n)³ times a constant; measured here at 1024 points, 200 scrambles.
#[test]
fn a_smooth_integral_has_a_variance_far_below_that_of_independent_points() {
    let rows = 1024;
    let means: Vec<f64> = (0..200)
        .map(|seed| {
            let x = points(4, rows, seed);
            let value = |i: usize| (0..4).map(|j| 0.5 + x[j * rows + i]).product::<f64>();
            (0..rows).map(value).sum::<f64>() / rows as f64
        })
        .collect();
    let (mean, variance) = crate::summation::mean_and_variance(&means);
    assert!((mean - 1.0).abs() < 4.0 * (variance / 200.0).sqrt(), "{mean}");
    assert!(variance < 0.377 / rows as f64 / 1000.0, "{variance}");
}

/// The first two coordinates of Sobol points are a (0, m, 2)-net: every box of area 2^−m with sides of powers of two has one point.
#[test]
fn nets_around_a_point_are_nets_that_it_belongs_to() {
    let rows = 64;
    for seed in 0..20 {
        let sequence = Sobol::new(2, &mut stream(seed, 0)).unwrap();
        let point = [0.3 + 0.02 * seed as f64, 1.0 - 1e-9];
        let mut net = vec![0.0; 2 * rows];
        sequence.around(&point, rows, &mut net);
        assert!((net[0] - point[0]).abs() < 1e-15 && (net[rows] - point[1]).abs() < 1e-15);
        for wide in 0..=6 {
            let (across, up) = (f64::from(1 << wide), f64::from(1 << (6 - wide)));
            let cell = |i: usize| ((net[i] * across) as usize, (net[rows + i] * up) as usize);
            let mut cells: Vec<(usize, usize)> = (0..rows).map(cell).collect();
            cells.sort_unstable();
            cells.dedup();
            assert_eq!(cells.len(), rows, "seed {seed}, {across} by {up}");
        }
        // Around any of its points it is the same net.
        let bits = |net: &[f64]| {
            let mut all: Vec<[u64; 2]> =
                (0..rows).map(|i| [net[i].to_bits(), net[rows + i].to_bits()]).collect();
            all.sort_unstable();
            all
        };
        for other in [1, 17, 63] {
            let mut again = vec![0.0; 2 * rows];
            sequence.around(&[net[other], net[rows + other]], rows, &mut again);
            assert_eq!(bits(&net), bits(&again));
        }
    }
}

/// The mean of a function over the net around a uniform point is unbiased, with a variance far below that of independent points: for x
/// it is that of scrambled nets, 1/(12 n³) of which the point's own place is a part.
#[test]
fn the_other_points_of_a_net_are_uniform() {
    let (rows, seeds) = (16, 2000);
    let mut draws = stream(5, 5);
    let mut others = Vec::new();
    let mut means = Vec::new();
    for seed in 0..seeds {
        let sequence = Sobol::new(1, &mut stream(seed, 1)).unwrap();
        let mut net = vec![0.0; rows];
        sequence.around(&[unit(draws.next_u64())], rows, &mut net);
        others.push(net[1 + seed as usize % 15]);
        means.push(net.iter().sum::<f64>() / rows as f64);
    }
    others.sort_by(f64::total_cmp);
    let n = others.len() as f64;
    let distance =
        others.iter().enumerate().map(|(i, u)| (u - (i as f64 + 0.5) / n).abs()).fold(0.0, f64::max);
    // Kolmogorov's limit law has P(> 1.95) = 0.001.
    assert!(distance < 1.95 / n.sqrt(), "{distance}");
    let (mean, variance) = crate::summation::mean_and_variance(&means);
    let expected = 1.0 / (12.0 * (rows as f64).powi(3));
    assert!((mean - 0.5).abs() < 4.0 * (expected / n).sqrt(), "{mean}");
    // The variance over 2,000 scrambles is known to √(2/2000).
    assert!((variance / expected - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{}", variance / expected);
}
