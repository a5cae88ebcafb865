//! What results look like: the tables and sentences that the command prints and that `Display` gives, and pictures of fits.
//!
//! Not part of the interface: tables and words may change with any version.

mod after;
mod draws;
mod fit;
mod normalizer;
mod pictures;
mod ratio;
mod states;
mod theory;

pub use after::{comparison_tables, derived_table, two_sided_tail, wald_sentence};
pub use fit::{
    bootstrap_table, brief, cells, convergence, counted, fit_sentences, fit_table, fit_warnings, ratio_table,
    typed,
};
pub use normalizer::{
    evidence_sentences, evidence_table, log_z_sentences, log_z_table, path_sentences, path_table,
};
pub use pictures::{
    Bins, Class, Picture, Scene, budget_picture, classifier_figure, fit_pictures, fitted_log_z,
};
pub use ratio::{
    bridges_table, candidates_table, density_ratio_sentences, divergences_table, information_table,
    interval_label,
};
pub use states::{
    convergence_table, energies_table, equilibration_table, expectations_table, states_table, surface_table,
};
pub use theory::{design_table, error_table};

use noisewright_report::format_number;

/// The same words with every long number rounded to six significant digits, for people.
pub fn shortened(words: &str) -> String {
    let mut out = String::new();
    let mut number = String::new();
    for c in words.chars().chain(std::iter::once(' ')) {
        let inside = c.is_ascii_digit()
            || c == '.'
            || c == 'e' && !number.is_empty()
            || c == '-' && number.ends_with('e');
        if inside {
            number.push(c);
            continue;
        }
        match number.parse::<f64>() {
            Ok(value) if number.len() > 8 => out.push_str(&format_number(value, 6)),
            _ => out.push_str(&number),
        }
        number.clear();
        out.push(c);
    }
    out.truncate(out.len() - 1);
    out
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn long_numbers_are_rounded_and_nothing_else_changes() {
        assert_eq!(shortened("0.5*normal(1.4983038587852444, 1) + x2"), "0.5*normal(1.4983, 1) + x2");
        assert_eq!(shortened("model(rho=-0.491103146639712)"), "model(rho=-0.491103)");
        assert_eq!(shortened("normal(4.203098755359138e-8, 2)"), "normal(4.2031e-8, 2)");
    }
}
