//! Stand-in until the library has diagnostics.
#![allow(dead_code)]
#[derive(Default, serde::Serialize)]
pub(crate) struct Diagnostics {
    pub overlap: Option<Overlap>,
    pub error_budget: Vec<Budget>,
    pub warnings: Vec<String>,
}
#[derive(serde::Serialize)]
pub(crate) struct Overlap {
    pub overlap: f64,
    pub data_taken_for_noise: f64,
}
#[derive(serde::Serialize)]
pub(crate) struct Budget {
    pub name: String,
    pub variance: f64,
    pub data: f64,
    pub noise: f64,
    pub efficiency: Option<f64>,
}
impl Diagnostics {
    pub(crate) fn no_answer(&self) -> Option<&String> {
        None
    }
}
