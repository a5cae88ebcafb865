//! What Noisewright shows: terminal tables, SVG pictures, the HTML page.
//!
//! The crate knows nothing of how results were computed; it takes numbers and words and makes them readable. The
//! principal types are [`Table`] (text, HTML, CSV), [`Figure`] made of [`Panel`]s (SVG, CSV) and [`Page`] (one HTML
//! file without scripts or anything to load). All output is a function of the input alone, and everything that a
//! caller passes as words is escaped.
//!
//! ```
//! use noisewright_report::{Axis, Column, Figure, Line, Page, Panel, Section, Table};
//!
//! let table = Table::new("Gaussian mean")
//!     .column(Column::text("noise"))
//!     .column(Column::number("T·MSE"))
//!     .row(["equal to the data".into(), 4.0.into()]);
//! let curve = (1..100).map(|i| f64::from(i) / 100.0).map(|p| (p, 1.0 / (p * (1.0 - p))));
//! let panel = Panel::new(Axis::linear("noise proportion").percent(), Axis::log("T·MSE")).with(Line::new("error", curve));
//! let page = Page::new("A design").section(
//!     Section::new("Error").table(table).figure(Figure::from(panel), "Error against the proportion of noise."),
//! );
//! assert!(page.to_html().contains("equal to the data"));
//! ```
//!
//! # Why our own SVG layer
//! Both plotting crates we tried on an error-against-proportion figure draw zeros on a logarithmic axis as if they were values
//! and let the legend cover the data (plotters 0.3) or fall off a narrow picture (kuva 0.6). Neither output scales
//! and recolours with the page around it: plotters writes fixed colours at whole pixels; kuva, which passes CSS
//! colours through, writes no `viewBox` and numbers its clip paths from a process-wide counter, so the same figure
//! drawn twice differs.

mod escape;
mod number;
mod page;
mod plot;
mod table;
mod value;
mod wrap;

pub use number::{format_duration, format_fixed, format_given, format_number, format_percent};
pub use page::{Card, Page, Section};
pub use plot::{
    Annotation, Axis, Band, Bars, ColorMap, Contours, Figure, HeatMap, Line, Panel, Points, Reference,
    Series, Stroke, Theme, Tick, Ticks, linear_ticks, log_ticks,
};
pub use table::{Align, Cell, Column, Table, TextStyle};
pub use value::{Value, ValueError};
