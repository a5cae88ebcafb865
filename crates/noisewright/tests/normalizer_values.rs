//! log Z against closed forms, stored values of other programs, and what no sample may change.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod normalizer_common;

use noisewright::normalizer::{Method, Options};
use normalizer_common::{Pair, independent, run};

const METHODS: [Method; 4] = [Method::Is, Method::Revis, Method::IsRevis, Method::Nce];

#[test]
fn gaussians_in_one_to_fifty_dimensions() {
    for (dimension, sd) in [(1, 1.3), (4, 1.2), (10, 1.15), (50, 1.05)] {
        let pair = Pair::new(dimension, [20_000, 20_000], 0.05, sd);
        let (sides, truth) = (pair.sample(3), pair.truth());
        for options in [independent(), Options::default()] {
            let result = run(&sides, &options);
            for method in METHODS {
                let e = result.get(method).unwrap();
                assert!((e.log_z - truth).abs() < 4.0 * e.se && e.se < 0.1, "{dimension} {e:?}");
            }
        }
    }
}
