//! Counts the allocations of fits of 5,000 rows of the quartic: `cargo run -p noisewright-speed --bin allocations`.
#![allow(unsafe_code, clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use noisewright::prelude::*;

/// The system's allocator with a count of calls and of bytes asked for.
struct Counted;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: usize) {
    CALLS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes, Relaxed);
}

// SAFETY: every call is the system's with the same arguments.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is that of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn main() -> Result<()> {
    let parameters = vec![Parameter::new("a", 1.0), Parameter::new("b", 0.1)];
    let model = Model::from_formula("-a*x^2/2 - b*x^4", Space::real(&["x"])?, parameters, false)?;
    let data = sample(&Normal::with_variance(0.0, 0.7)?, 5000, 1);
    println!("| fit of 5,000 rows | allocations | MB asked for |\n|---|---|---|");
    for (name, job) in [
        ("ν = 1", model.fit(&data).noise(Normal::with_variance(0.0, 1.0)?).ratio(1.0)),
        ("exact", model.fit(&data).exact()),
        ("auto", model.fit(&data)),
    ] {
        let before = (CALLS.load(Relaxed), BYTES.load(Relaxed));
        let fit = job.run()?;
        let (calls, bytes) = (CALLS.load(Relaxed) - before.0, BYTES.load(Relaxed) - before.1);
        println!("| {name}: a = {:.3} | {calls} | {:.1} |", fit.get("a")?.estimate, bytes as f64 / 1e6);
    }
    Ok(())
}
