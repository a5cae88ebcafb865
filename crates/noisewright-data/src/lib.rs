//! Readers of the files that Noisewright takes: columns of numbers from CSV, Stan CSV, Parquet, NPY and NPZ.
//!
//! The principal type is [`Table`]: named columns of equal length, and the name of what they were read from. [`read`]
//! makes one from a file (or `-`, standard input), [`read_chains`] from several files with one Markov chain each.
//! A file that is larger than memory is a [`Stream`]: blocks of rows, passed over as often as it takes. [`write()`] puts
//! columns into a file, as CSV or Parquet. Nothing here knows what the numbers mean.
//!
//! A value that is missing or not finite is an error that names the row and the column, unless
//! [`Options::drop_missing`] asks for such rows to be dropped and counted. Only the columns asked for are looked at.
//!
//! ```
//! use noisewright_data::{Options, read_from};
//! let text = "name,x,y\nfirst,1.5,2\nsecond,NA,3\nthird,-4e-1,5\n";
//! let options = Options::default().columns(&["y", "x"]).drop_missing(true);
//! let table = read_from(text.as_bytes(), "small.csv", &options)?;
//! assert_eq!(table.columns(), &[vec![2.0, 5.0], vec![1.5, -0.4]]);
//! assert_eq!(table.dropped(), 1);
//!
//! let refused = read_from(text.as_bytes(), "small.csv", &Options::default().columns(&["x"]));
//! assert_eq!(
//!     refused.unwrap_err().to_string(),
//!     "small.csv, row 2 (line 3), column `x`: the value is missing (`NA`); fill it in or have such rows dropped"
//! );
//! # Ok::<(), noisewright_data::Error>(())
//! ```

mod csv;
mod error;
mod format;
mod gather;
mod input;
mod labels;
mod names;
mod npy;
mod npz;
mod number;
#[cfg(feature = "object-store")]
mod object;
#[cfg(not(feature = "object-store"))]
#[path = "object_left_out.rs"]
mod object;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "parquet_left_out.rs"]
mod parquet;
mod ranges;
mod read;
mod records;
mod stan;
mod stream;
mod table;
mod thinned;
#[cfg(target_os = "linux")]
mod unnamed;
mod weights;
mod whole;
mod write;

pub use error::{Error, Place, Result};
pub use format::Format;
pub use options::Options;
pub use parquet::{write_parquet, write_parquet_to};
pub use ranges::{Passage, RowRanges, expand};
pub use read::{read, read_chains, read_from};
pub use stream::{BLOCK_ROWS, Block, Blocks, Stream};
pub use table::Table;
pub use thinned::Thinned;
pub use whole::write_whole;
pub use write::{check_ending, write, write_csv, write_csv_blocks, write_csv_to};
