//! Threads, or none: with the feature `parallel` these are rayon's, without it the same names run one after the other.
//!
//! Results never depend on it: work is cut into blocks by its size, and blocks are joined in their order.

#[cfg(feature = "parallel")]
pub use rayon::{current_num_threads, join, prelude};

/// Runs a job on so many threads of its own.
///
/// # Errors
/// The reason why there are none.
pub fn on_threads<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> Result<T, String> {
    #[cfg(feature = "parallel")]
    {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(|pool| pool.install(job)).map_err(|error| error.to_string())
    }
    #[cfg(not(feature = "parallel"))]
    {
        let _ = threads;
        Ok(job())
    }
}

/// Threads that work may be spread over: one.
#[cfg(not(feature = "parallel"))]
#[must_use]
pub fn current_num_threads() -> usize {
    1
}

/// Both, one after the other.
#[cfg(not(feature = "parallel"))]
pub fn join<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
    (first(), second())
}

/// The methods of rayon that are used here, as plain iterators.
#[cfg(not(feature = "parallel"))]
pub mod prelude {
    /// Whatever can be passed over.
    pub trait IntoParallelIterator: IntoIterator + Sized {
        /// Its items.
        fn into_par_iter(self) -> Self::IntoIter {
            self.into_iter()
        }
    }

    impl<I: IntoIterator> IntoParallelIterator for I {}

    /// Slices, item by item or chunk by chunk.
    pub trait ParallelSlice<T> {
        /// The items.
        fn par_iter(&self) -> std::slice::Iter<'_, T>;
        /// Chunks of a size.
        fn par_chunks(&self, size: usize) -> std::slice::Chunks<'_, T>;
        /// Chunks of a size, to be written.
        fn par_chunks_mut(&mut self, size: usize) -> std::slice::ChunksMut<'_, T>;
    }

    impl<T> ParallelSlice<T> for [T] {
        fn par_iter(&self) -> std::slice::Iter<'_, T> {
            self.iter()
        }

        fn par_chunks(&self, size: usize) -> std::slice::Chunks<'_, T> {
            self.chunks(size)
        }

        fn par_chunks_mut(&mut self, size: usize) -> std::slice::ChunksMut<'_, T> {
            self.chunks_mut(size)
        }
    }

    /// What rayon's iterators have beside those of the standard library.
    pub trait ParallelIterator: Iterator + Sized {
        /// Maps with a workspace.
        fn map_init<S, R>(
            self,
            init: impl Fn() -> S,
            each: impl Fn(&mut S, Self::Item) -> R,
        ) -> impl Iterator<Item = R> {
            let mut workspace = init();
            self.map(move |item| each(&mut workspace, item))
        }
    }

    impl<I: Iterator> ParallelIterator for I {}
}
