//! The choice of instruction set, made once while the program runs.

use std::cell::Cell;
use std::sync::OnceLock;

use super::simd::{Portable, Simd};
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};

/// An instruction set for which the kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Plain loops with the standard library's functions, on any processor.
    Scalar,
    /// Four doubles at a time with fused multiply-add.
    Avx2,
    /// Eight doubles at a time.
    Avx512,
}

impl Backend {
    /// Those that this processor can run, slowest first.
    #[must_use]
    pub fn available() -> &'static [Backend] {
        static FOUND: OnceLock<Vec<Backend>> = OnceLock::new();
        FOUND.get_or_init(|| {
            let all = [Backend::Scalar, Backend::Avx2, Backend::Avx512];
            all.into_iter().filter(|b| Chosen::of(*b).is_some()).collect()
        })
    }
}

/// A task compiled once per instruction set.
pub(crate) trait Task {
    type Output;
    /// Must be `#[inline(always)]`, as must all that it calls with a vector, to be compiled for the instruction set. A closure that
    /// holds a vector and is handed to a function of the standard library (`array::from_fn`, `map`) is not: where that function is
    /// not inlined, every intrinsic in it is a call through memory.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

#[derive(Clone, Copy)]
enum Chosen {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Chosen {
    #[cfg(target_arch = "x86_64")]
    fn of(backend: Backend) -> Option<Self> {
        match backend {
            Backend::Scalar => Some(Chosen::Scalar),
            Backend::Avx2 => Avx2::detect().map(Chosen::Avx2),
            Backend::Avx512 => Avx512::detect().map(Chosen::Avx512),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of(backend: Backend) -> Option<Self> {
        (backend == Backend::Scalar).then_some(Chosen::Scalar)
    }

    fn backend(self) -> Backend {
        match self {
            Chosen::Scalar => Backend::Scalar,
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(_) => Backend::Avx2,
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(_) => Backend::Avx512,
        }
    }
}

thread_local! {
    static FORCED: Cell<Option<Chosen>> = const { Cell::new(None) };
}

fn chosen() -> Chosen {
    static BEST: OnceLock<Chosen> = OnceLock::new();
    FORCED.get().unwrap_or_else(|| {
        *BEST.get_or_init(|| {
            let best_first = [Backend::Avx512, Backend::Avx2];
            best_first.into_iter().find_map(Chosen::of).unwrap_or(Chosen::Scalar)
        })
    })
}

/// The instruction set that the kernels use on this thread: the best available one unless [`with_backend`] says otherwise.
#[must_use]
pub fn backend() -> Backend {
    chosen().backend()
}

/// Runs `work` with the kernels of one instruction set, on this thread only: for tests and benchmarks.
///
/// # Panics
/// If the processor lacks it; [`Backend::available`] lists what may be asked for.
pub fn with_backend<R>(backend: Backend, work: impl FnOnce() -> R) -> R {
    /// Puts the former choice back also when `work` panics.
    struct Restore(Option<Chosen>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FORCED.set(self.0);
        }
    }
    let wanted = Chosen::of(backend);
    assert!(wanted.is_some(), "this processor has no {backend:?}; Backend::available() lists what it has");
    let _restore = Restore(FORCED.replace(wanted));
    work()
}

/// Runs the task on the chosen instruction set.
pub(crate) fn dispatch<T: Task>(task: T) -> T::Output {
    match chosen() {
        Chosen::Scalar => task.run(Portable),
        #[cfg(target_arch = "x86_64")]
        Chosen::Avx2(s) => s.run(task),
        #[cfg(target_arch = "x86_64")]
        Chosen::Avx512(s) => s.run(task),
    }
}
