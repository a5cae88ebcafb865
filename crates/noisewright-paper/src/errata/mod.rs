//! What is wrong in print, each with the right number and a check that is computed here and now.

mod histogram;
mod limits;
mod misprints;
mod normalizers;
mod optima;

use noisewright::Result;
use noisewright_report::{Column, Table};
use serde_json::{Value, json};

use crate::{Item, Settings};

/// One mistake.
pub(crate) struct Erratum {
    /// Where it stands in the paper.
    place: &'static str,
    /// What is printed.
    printed: String,
    /// What is right.
    right: String,
    /// What was computed to show it.
    check: String,
    /// Whether the computation shows it.
    holds: bool,
    /// The numbers of the check.
    values: Value,
}

type Check = fn() -> Result<Erratum>;

/// In the order of the book's chapter, after the first, which is simulated.
const CHECKS: [Check; 14] = [
    normalizers::best_ratio_of_nce,
    optima::variance_factor,
    misprints::signs_of_losses,
    misprints::covariance_of_the_equation,
    misprints::normalizers_of_toys,
    misprints::variance_score,
    misprints::near_data_expansion,
    optima::analytic_against_parametric,
    optima::proportions_above_half,
    histogram::mass_for_density,
    optima::jumps,
    limits::scarce_noise,
    limits::one_parameter_one_optimum,
    limits::best_loss,
];

const CAPTION: &str = "Each with what is printed, what is right, and a check computed for this page. None of them touches the paper's theorems.";

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let first = std::iter::once(normalizers::hellinger_row(settings));
    let found: Vec<Erratum> = first.chain(CHECKS.iter().map(|check| check())).collect::<Result<_>>()?;
    let mut item = Item::new("errata", "Errata of the paper", CAPTION);
    let mut table = Table::new("All at a glance")
        .column(Column::number("no.").significant(3))
        .column(Column::text("where"))
        .column(Column::text("check"));
    let mut values = Vec::new();
    for (index, erratum) in found.iter().enumerate() {
        let number = index + 1;
        item = item.note(format!(
            "{number}. {}. In print: {} Right: {} Check: {}",
            erratum.place, erratum.printed, erratum.right, erratum.check
        ));
        let outcome = if erratum.holds { "shown" } else { "not shown" };
        table.push_row([number.into(), erratum.place.into(), outcome.into()]);
        values.push(json!({
            "number": number,
            "place": erratum.place,
            "printed": erratum.printed,
            "right": erratum.right,
            "check": erratum.check,
            "holds": erratum.holds,
            "values": erratum.values,
        }));
    }
    Ok(item.table(table).values(json!({ "errata": values })))
}
