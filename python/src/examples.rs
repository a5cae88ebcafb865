//! The examples' models and data, compiled in: the folder `examples/` is the one source.

use pyo3::prelude::*;

/// Name, model file and data file.
const EXAMPLES: [(&str, &str, Option<&str>); 8] = [
    ("correlation", include_str!("../../examples/correlation/model.toml"), None),
    ("gaussian-mean", include_str!("../../examples/gaussian-mean/model.toml"), None),
    ("gaussian-variance", include_str!("../../examples/gaussian-variance/model.toml"), None),
    (
        "lsat",
        include_str!("../../examples/lsat/model.toml"),
        Some(include_str!("../../examples/lsat/lsat6.csv")),
    ),
    (
        "old-faithful",
        include_str!("../../examples/old-faithful/model.toml"),
        Some(include_str!("../../examples/old-faithful/faithful.csv")),
    ),
    (
        "ozone",
        include_str!("../../examples/ozone/model.toml"),
        Some(include_str!("../../examples/ozone/ozone.csv")),
    ),
    ("quartic", include_str!("../../examples/quartic/model.toml"), None),
    (
        "wind",
        include_str!("../../examples/wind/model.toml"),
        Some(include_str!("../../examples/wind/wind.csv")),
    ),
];

/// Every example: its name, its model file and its data file.
#[pyfunction]
pub(crate) fn examples() -> Vec<(&'static str, &'static str, Option<&'static str>)> {
    EXAMPLES.to_vec()
}
