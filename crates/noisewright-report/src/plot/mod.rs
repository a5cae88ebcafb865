//! Pictures as SVG: figures of panels with axes, series and a legend.

mod axis;
mod csv;
mod draw;
mod figure;
mod heatmap;
mod layout;
mod legend;
mod palette;
mod panel;
mod series;
mod svg;
mod ticks;
mod words;

pub use axis::Axis;
pub use figure::Figure;
pub use heatmap::{Contours, HeatMap};
pub use palette::{ColorMap, Stroke, Theme};
pub use panel::Panel;
pub use series::{Annotation, Band, Bars, Line, Points, Reference, Series};
pub use ticks::{Tick, Ticks, linear_ticks, log_ticks};

pub(crate) use palette::style_sheet;
