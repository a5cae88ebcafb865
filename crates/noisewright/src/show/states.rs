//! Many states as tables: their constants, means, surfaces, energies and convergence.

use std::fmt;

use noisewright_report::{Cell, Column, Table};

use super::normalizer::write;
use crate::normalizer::states::{
    Convergence, Energies, Equilibration, Expectations, StatesEstimate, StatesWarning, Surface,
    SurfaceWarning,
};

/// Every state by its name.
#[must_use]
pub fn states_table(result: &StatesEstimate, names: &[String], source: &str) -> Table {
    let draws: usize = result.draws().iter().sum();
    let mut table = Table::new(format!("log Z of {} states from {draws} draws", names.len()))
        .column(Column::text("state"))
        .column(Column::number("draws"))
        .column(Column::number("log Z").significant(7))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("step").significant(6))
        .column(Column::number("± of it").significant(3))
        .column(Column::number("ESS").significant(4))
        .column(Column::number("ineff.").significant(3));
    for (k, error) in result.se().into_iter().enumerate() {
        let (step, step_error) = result.difference(k.saturating_sub(1), k);
        let first = k == 0;
        table.push_row([
            Cell::from(names[k].as_str()),
            (result.draws()[k] as f64).into(),
            result.log_z()[k].into(),
            error.into(),
            if first { Cell::Empty } else { step.into() },
            if first { Cell::Empty } else { step_error.into() },
            result.ess()[k].into(),
            result.inefficiency()[k].into(),
        ]);
    }
    let reference = &names[result.reference()];
    table.note(format!("{source}log Z relative to that of {reference}, step: from the state before")).note(
        "ESS: what all draws are worth for a state; ineff.: draws of it that are worth an independent one",
    )
}

/// Every mean with its error.
#[must_use]
pub fn expectations_table(means: &Expectations, names: &[String]) -> Table {
    let mut table = Table::new("means under the states")
        .column(Column::text("observable"))
        .column(Column::text("state"))
        .column(Column::number("mean").significant(7))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("ESS").significant(4));
    for (i, se) in means.se().into_iter().enumerate() {
        table.push_row([
            Cell::from(means.observables()[i].as_str()),
            names[means.states()[i]].as_str().into(),
            means.values()[i].into(),
            se.into(),
            means.ess()[i].into(),
        ]);
    }
    table
}

/// Every cell that has draws.
#[must_use]
pub fn surface_table(surface: &Surface, names: &[String]) -> Table {
    let along = surface.coordinates().join(" and ");
    let mut table = Table::new(format!("free energy along {along} in state {}", names[surface.state()]));
    for name in surface.coordinates() {
        table = table.column(Column::number(name.as_str()).significant(5));
    }
    table = table
        .column(Column::number("free energy").significant(5))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("draws"))
        .column(Column::number("ESS").significant(4));
    for cell in (0..surface.se().len()).filter(|cell| surface.free_energy()[*cell].is_finite()) {
        let place = surface.centre(cell);
        let numbers = [
            surface.free_energy()[cell],
            surface.se()[cell],
            surface.draws()[cell] as f64,
            surface.ess()[cell],
        ];
        table.push_row(place.into_iter().chain(numbers).map(Cell::from));
    }
    table.note("in units of kT; cells without draws are left out")
}

/// Every state with its energy and entropy.
#[must_use]
pub fn energies_table(energies: &Energies, names: &[String]) -> Table {
    let mut table = Table::new("mean energies −log f and entropies, relative to the reference")
        .column(Column::text("state"))
        .column(Column::number("energy").significant(6))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("entropy").significant(6))
        .column(Column::number("std. error").significant(3));
    for (k, name) in names.iter().enumerate() {
        table.push_row([
            Cell::from(name.as_str()),
            energies.energy[k].into(),
            energies.energy_se[k].into(),
            energies.entropy[k].into(),
            energies.entropy_se[k].into(),
        ]);
    }
    table
}

/// Every chain with its start.
#[must_use]
pub fn equilibration_table(chains: &[Equilibration], names: &[String]) -> Table {
    let mut table = Table::new("where the chains have come to equilibrium")
        .column(Column::text("state"))
        .column(Column::number("chain"))
        .column(Column::number("draws"))
        .column(Column::number("start"))
        .column(Column::number("ineff.").significant(3))
        .column(Column::number("ESS").significant(4));
    for chain in chains {
        table.push_row([
            Cell::from(names[chain.state].as_str()),
            (chain.chain as f64).into(),
            (chain.draws as f64).into(),
            (chain.start as f64).into(),
            chain.inefficiency.into(),
            chain.ess.into(),
        ]);
    }
    table.note("start: the first draw to be kept, so that the rest is worth the most independent draws (ESS)")
}

/// log Z of the last state from growing parts of every chain.
#[must_use]
pub fn convergence_table(parts: &[Convergence], names: &[String]) -> Table {
    let last = names.last().map_or("", String::as_str);
    let mut table = Table::new(format!("log Z of {last} from parts of every chain"))
        .column(Column::number("share").significant(3))
        .column(Column::number("forward").significant(6))
        .column(Column::number("std. error").significant(3))
        .column(Column::number("backward").significant(6))
        .column(Column::number("std. error").significant(3));
    for part in parts {
        let end = |values: &[f64]| Cell::from(values.last().copied().unwrap_or(f64::NAN));
        table.push_row([
            Cell::from(part.share),
            end(&part.forward),
            end(&part.forward_se),
            end(&part.backward),
            end(&part.backward_se),
        ]);
    }
    table.note(
        "forward: the first draws of every chain, backward: the last; they should agree within their errors",
    )
}

/// States without names, numbered from 0: as many as warnings speak of, and at least so many.
fn numbered(least: usize, named: impl Iterator<Item = usize>) -> Vec<String> {
    (0..named.fold(least, usize::max)).map(|k| k.to_string()).collect()
}

/// A table that the command prints, and what to know about it.
fn warned(f: &mut fmt::Formatter<'_>, table: &Table, warnings: impl Iterator<Item = String>) -> fmt::Result {
    write(f, table, &warnings.map(|warning| format!("Warning: {warning}.")).collect::<Vec<_>>())
}

impl fmt::Display for StatesEstimate {
    /// The table that the command prints, with the states numbered from 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = numbered(self.log_z().len(), self.warnings().iter().map(StatesWarning::named_states));
        let warnings = self.warnings().iter().map(|warning| warning.sentence(&names));
        warned(f, &states_table(self, &names, ""), warnings)
    }
}

impl fmt::Display for Expectations {
    /// The table that the command prints, with the states numbered from 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = self.states().iter().max().map_or(0, |last| last + 1);
        let names = numbered(least, self.warnings().iter().map(StatesWarning::named_states));
        let warnings = self.warnings().iter().map(|warning| warning.sentence(&names));
        warned(f, &expectations_table(self, &names), warnings)
    }
}

impl fmt::Display for Energies {
    /// The table that the command prints, with the states numbered from 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&energies_table(self, &numbered(self.energy.len(), std::iter::empty())).to_text())
    }
}

impl fmt::Display for Surface {
    /// The table that the command prints, with the states numbered from 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = numbered(self.state() + 1, self.warnings().iter().map(SurfaceWarning::named_states));
        let warnings = self.warnings().iter().map(|warning| warning.sentence(&names));
        warned(f, &surface_table(self, &names), warnings)
    }
}
