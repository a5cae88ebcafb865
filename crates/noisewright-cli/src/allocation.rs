//! The last resort where memory gives out: a sentence and the status of a failure, not an abort with a backtrace.
//!
//! What is known to be large is compared with what is free beforehand, and refused with its name and size. What is left are
//! the many things whose sum is not known, the last of which does not fit.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;

/// The allocator of the system, which ends the command where that has nothing left.
struct OrEnd;

// SAFETY: every call is the system's with the same arguments; where it fails the process ends.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is that of this function.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

/// What the system gave, if it gave anything.
fn given(place: *mut u8, size: usize) -> *mut u8 {
    if place.is_null() {
        end(size);
    }
    place
}

/// One sentence, without asking for memory, and the status of a failure.
#[cold]
fn end(size: usize) -> ! {
    let _ = writeln!(
        std::io::stderr(),
        "error: memory gave out when another {:.1} MB were asked for: take fewer rows or draws, read the rows of a fit in \
         blocks (--stream), or give the process more memory",
        size as f64 / 1e6
    );
    std::process::exit(1)
}
