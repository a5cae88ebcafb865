//! The lab: questions about a model and its noise, answered at once for a page that moves them.
//!
//! The principal type is [`Lab`]. It takes a question as JSON (which model, noise, ratio, loss, target) and gives the
//! library's answer as JSON: the error of a design, the best noise, a fit with its pictures, a simulation. A newer question
//! of the same kind cancels the older one. The statistics are the library's; nothing is computed here that the command does
//! not compute.
//!
//! ```
//! use noisewright_lab::Lab;
//! let lab = Lab::default();
//! let question = r#"{"model": "variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0", "noise": "normal(0, 1)"}"#;
//! let answer = lab.ask("page", "look", question).unwrap();
//! assert!(answer.contains("\"efficiency\""));
//! ```
//!
//! With the feature `server` (on by default), [`Server`] shows the page of it on this machine, to whoever has its address.

mod data;
mod fitted;
mod lab;
mod lanes;
mod look;
mod mistake;
mod page;
mod question;
#[cfg(feature = "server")]
mod server;
mod simulated;
mod stage;

pub use data::DataFile;
pub use lab::{Example, Kind, Lab, Started};
pub use lanes::{Load, Ticket};
pub use mistake::Mistake;
pub use page::{html, script, style};
#[cfg(feature = "server")]
pub use server::{Running, Server, ServerError};
