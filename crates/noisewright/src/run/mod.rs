//! What a long computation is run with: named random streams, a token that cancels it, a hook that hears of its progress.
//!
//! Every options type has a `seed` and a `cancel`; a computation makes one [`Context`] of them and asks it for
//! everything random. Two computations, or two purposes of one, never share a stream, whatever their seeds.

mod cancel;
mod context;
pub(crate) mod progress;
pub(crate) mod purpose;

pub use cancel::CancelToken;
pub use context::Context;
pub(crate) use context::if_possible;
pub use progress::Progress;
pub(crate) use progress::{ProgressHook, Stage};
pub(crate) use purpose::Purpose;
