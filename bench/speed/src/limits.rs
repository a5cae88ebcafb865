//! How near the machine's limits the inner loops run: memory against a plain copy, exponentials against a plain loop.

use std::hint::black_box;

use noisewright_numerics::kernels;

use crate::clock::fastest;

/// Numbers in memory, far more than any cache holds.
const MANY: usize = 20_000_000;
/// Numbers that stay in a cache.
const FEW: usize = 4096;

pub(crate) fn run() {
    println!("\n## The machine's limits\n");
    let x: Vec<f64> = (0..MANY).map(|i| (i % 1000) as f64 * 1e-3 - 0.5).collect();
    let mut y = vec![0.0; MANY];
    let bytes = 8.0 * MANY as f64;
    let copy = fastest(5, 1, || black_box(&mut y).copy_from_slice(black_box(&x))).used();
    println!("- a copy in memory reads {:.1} GB/s and writes as much, one thread", 1e-9 * bytes / copy);
    let sums = fastest(5, 1, || kernels::sum_sigmoid(&x, 0.1)).used();
    println!(
        "- a Newton step of the bridge (a logistic function and its slope, summed) reads {:.1} GB/s, {:.2} ns a number",
        1e-9 * bytes / sums,
        1e9 * sums / MANY as f64
    );
    let (near, mut out) = (&x[..FEW], vec![0.0; FEW]);
    let each = |seconds: f64| 1e9 * seconds / FEW as f64;
    let plain = |out: &mut [f64]| out.iter_mut().zip(black_box(near)).for_each(|(o, x)| *o = x.exp());
    let bare = each(fastest(3, 20_000, || plain(black_box(&mut out))).used());
    let ours = each(fastest(3, 20_000, || kernels::exp(black_box(near), black_box(&mut out))).used());
    println!("- an exponential in the cache: {ours:.2} ns, in a bare loop of `f64::exp` {bare:.2} ns");
    println!(
        "- so a Newton step takes {:.2} times an exponential of our own and {:.2} times a bare one; 3 times a bare one is allowed",
        1e9 * sums / MANY as f64 / ours,
        1e9 * sums / MANY as f64 / bare
    );
}
