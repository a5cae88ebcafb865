//! Wall time and CPU time of a piece of work; CPU time is what a shared machine leaves comparable.

use std::time::Instant;

/// Seconds by the wall clock and of all processors together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds {
    pub(crate) wall: f64,
    /// `None` where the system does not tell.
    pub(crate) cpu: Option<f64>,
}

impl Seconds {
    /// CPU time, or wall time where there is no other.
    pub(crate) fn used(&self) -> f64 {
        self.cpu.unwrap_or(self.wall)
    }
}

/// Runs `work` once.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (T, Seconds) {
    let (start, before) = (Instant::now(), cpu_seconds());
    let result = work();
    let wall = start.elapsed().as_secs_f64();
    let cpu = before.zip(cpu_seconds()).map(|(before, after)| after - before);
    (std::hint::black_box(result), Seconds { wall, cpu })
}

/// The smallest time of several runs, per repetition within a run.
pub(crate) fn fastest<T>(runs: usize, repetitions: usize, mut work: impl FnMut() -> T) -> Seconds {
    let mut best = Seconds { wall: f64::INFINITY, cpu: None };
    for _ in 0..runs {
        let run = || (0..repetitions).for_each(|_| drop(std::hint::black_box(work())));
        let ((), seconds) = time(run);
        let each = |s: f64| s / repetitions as f64;
        let cpu = seconds.cpu.map(each).map(|now| best.cpu.map_or(now, |least| least.min(now)));
        best = Seconds { wall: best.wall.min(each(seconds.wall)), cpu };
    }
    best
}

/// CPU time of all threads of this process, from Linux' accounting of each in nanoseconds.
fn cpu_seconds() -> Option<f64> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(nanoseconds.sum::<u64>() as f64 * 1e-9)
}
