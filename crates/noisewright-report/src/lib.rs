//! What Noisewright shows: terminal tables, SVG pictures, the HTML page.

mod escape;
mod number;
mod table;
mod wrap;

pub use number::{format_duration, format_fixed, format_number, format_percent};
pub use table::{Align, Cell, Column, Table, TextStyle};
