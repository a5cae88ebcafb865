//! What Noisewright shows: terminal tables, SVG pictures, the HTML page.

mod escape;
mod number;
mod page;
mod plot;
mod table;
mod wrap;

pub use number::{format_duration, format_fixed, format_number, format_percent};
pub use page::{Card, Page, Section};
pub use plot::{
    Annotation, Axis, Band, Bars, ColorMap, Contours, Figure, HeatMap, Line, Panel, Points, Reference,
    Series, Stroke, Theme, Tick, Ticks, linear_ticks, log_ticks,
};
pub use table::{Align, Cell, Column, Table, TextStyle};
