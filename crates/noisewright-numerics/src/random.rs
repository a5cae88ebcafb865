//! Independent random streams: one per block of work, so results do not depend on the number of threads.

use rand::SeedableRng;

/// The generator behind every draw: ChaCha with 8 rounds, seekable to 2⁶⁴ independent streams.
pub type Stream = rand_chacha::ChaCha8Rng;

/// Number of draws made from one stream; a sample of any size is a sequence of such blocks.
pub const BLOCK: usize = 4096;

/// The stream for one block of work: the same `(seed, block)` always gives the same draws.
///
/// ```
/// use noisewright_numerics::random::stream;
/// use rand::Rng;
/// assert_eq!(stream(7, 3).next_u64(), stream(7, 3).next_u64());
/// assert_ne!(stream(7, 3).next_u64(), stream(7, 4).next_u64());
/// ```
#[must_use]
pub fn stream(seed: u64, block: u64) -> Stream {
    let mut rng = Stream::seed_from_u64(seed);
    rng.set_stream(block);
    rng
}

/// The stream for one block of work under a key of four numbers: no two keys share a stream.
///
/// ```
/// use noisewright_numerics::random::keyed_stream;
/// use rand::Rng;
/// assert_eq!(keyed_stream([7, 1, 0, 0], 3).next_u64(), keyed_stream([7, 1, 0, 0], 3).next_u64());
/// assert_ne!(keyed_stream([7, 1, 0, 0], 3).next_u64(), keyed_stream([8, 0, 0, 0], 3).next_u64());
/// ```
#[must_use]
pub fn keyed_stream(key: [u64; 4], block: u64) -> Stream {
    let mut seed = [0; 32];
    for (bytes, word) in seed.chunks_exact_mut(8).zip(key) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let mut rng = Stream::from_seed(seed);
    rng.set_stream(block);
    rng
}
