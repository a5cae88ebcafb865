//! log Z from two samples of ten million draws each: CPU time and memory beside the input's.

use noisewright::Result;
use noisewright::normalizer::{Dependence, Draws, LogZOptions, log_z_of_draws};

use crate::clock::time;
use crate::show;

const DRAWS: usize = 10_000_000;
const RESAMPLED: usize = 100_000;

/// Standard normal draws by Box and Muller from a counter, cheap and good enough to be timed.
fn normal(index: u64) -> f64 {
    let mix = |mut x: u64| {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 * f64::EPSILON / 2.0
    };
    let (a, b) = (mix(2 * index + 1), mix((2 * index + 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// log f = −x²/2 and the log-density of N(0.5, 1.3²) at draws of either.
fn densities(count: usize, mean: f64, sd: f64, first: u64) -> (Vec<f64>, Vec<f64>) {
    let draws = (0..count as u64).map(|i| mean + sd * normal(first + i));
    draws
        .map(|x| (-0.5 * x * x, -0.5 * ((x - 0.5) / 1.3).powi(2) - 1.3_f64.ln() - 0.918_938_533_204_672_8))
        .unzip()
}

/// Resident memory in megabytes: now, and the most there ever was.
fn memory() -> Option<(f64, f64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|l| l.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

pub(crate) fn run() -> Result<()> {
    println!(
        "\n## `log_z` from two samples of 10⁷ draws, budget 0.3 CPU seconds and the input plus 10 % in memory\n"
    );
    let (data_f, data_noise) = densities(DRAWS, 0.0, 1.0, 0);
    let (noise_f, noise_noise) = densities(DRAWS, 0.5, 1.3, 1 << 40);
    let (data, noise) = (Draws::new(&data_f, &data_noise), Draws::new(&noise_f, &noise_noise));
    let input = 4.0 * 8.0 * DRAWS as f64 / 1048576.0;
    let before = memory();
    let (sum, bare) =
        time(|| [data_f.iter(), noise_f.iter()].into_iter().flatten().map(|x| x.exp()).sum::<f64>());
    println!(
        "A bare loop of `f64::exp` over 2·10⁷ numbers: {} (mean {:.3}).\n",
        show(bare),
        sum / (2.0 * DRAWS as f64)
    );
    println!(
        "| draws taken as | time | in bare passes (CPU) | log Z (exact 0.918939) | se |\n|---|---|---|---|---|"
    );
    for (name, dependence) in [("chains", Dependence::Chains), ("independent", Dependence::Independent)] {
        let options = LogZOptions { dependence, ..LogZOptions::default() };
        let (result, seconds) = time(|| log_z_of_draws(data, noise, &options));
        let result = result?;
        let passes = seconds.used() / bare.used();
        println!(
            "| {name} | {} | {passes:.1} | {:.6} | {:.1e} |",
            show(seconds),
            result.best().log_z,
            result.best().se
        );
    }
    if let (Some((now, _)), Some((_, peak))) = (before, memory()) {
        println!("\nInput {input:.0} MB; the most used at once above it: {:.1} MB.", peak - now);
    }
    let (some_data, some_noise) = (part(data), part(noise));
    let options = LogZOptions { bootstrap: Some(100), ..LogZOptions::default() };
    let (result, seconds) = time(|| log_z_of_draws(some_data, some_noise, &options));
    println!(
        "\n100 resamples of 10⁵ + 10⁵ draws, budget 1 s: {}; standard error {:.2e}, by bootstrap {:.2e}.",
        show(seconds),
        result.as_ref().map_or(f64::NAN, |r| r.best().se),
        result.ok().and_then(|r| r.best().bootstrap_se).unwrap_or(f64::NAN)
    );
    Ok(())
}

fn part(draws: Draws<'_>) -> Draws<'_> {
    Draws::new(&draws.log_f[..RESAMPLED], &draws.log_noise[..RESAMPLED])
}
