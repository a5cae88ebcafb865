//! The Python module `noisewright._core`: it converts, the library computes.
// What comes from Python is handed over by value.
#![allow(clippy::needless_pass_by_value)]

mod after;
mod bootstrap;
mod design;
mod distributed;
mod energy;
mod examples;
mod failure;
mod file;
mod fit;
mod lab;
mod learned;
mod model;
mod noise;
mod normalizer;
mod path;
mod pool;
mod ratio;
mod settings;
mod show;
mod states;
mod task;
mod theory;
mod tree;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::after::{Fitted, compare};
    #[pymodule_export]
    use super::bootstrap::fit_replicates;
    #[pymodule_export]
    use super::design::design;
    #[pymodule_export]
    use super::distributed::{PyReplica, fit_distributed};
    #[pymodule_export]
    use super::examples::examples;
    #[pymodule_export]
    use super::file::file_columns;
    #[pymodule_export]
    use super::fit::{fit, fit_choices, fit_file, ratio};
    #[pymodule_export]
    use super::lab::{PyLab, lab_page};
    #[pymodule_export]
    use super::model::{PyModel, families};
    #[pymodule_export]
    use super::noise::{BuiltNoise, build_noise, noise_from_record, noise_from_saved};
    #[pymodule_export]
    use super::normalizer::{evidence, log_z};
    #[pymodule_export]
    use super::path::log_z_path;
    #[pymodule_export]
    use super::ratio::{FittedRatio, information, ratio_on_basis};
    #[pymodule_export]
    use super::settings::check_settings;
    #[pymodule_export]
    use super::show::{figure, table};
    #[pymodule_export]
    use super::states::{
        log_z_neighbours, log_z_states, state_convergence, state_energies, state_equilibration,
        state_expectations, state_surface,
    };
    #[pymodule_export]
    use super::task::finish_cancelled;
    #[pymodule_export]
    use super::theory::{error, log_normalizer};
}
