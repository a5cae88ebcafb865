//! Table 1: the losses, with signs that make all of them losses.

use noisewright::Result;
use noisewright_report::{Column, Table};
use serde_json::{Value, json};

use crate::losses::{ROWS, around};
use crate::{Item, Settings};

const CAPTION: &str = "All four as functions to be minimised over the model, with r = p/(ν p_n). The paper prints three of them with the \
    opposite sign, so that they would have to be maximised. The last column is the error in one example, a Gaussian's mean \
    against the noise N(0.5, 1.2) at 50 %: JS is the best, as it is for every noise.";

pub(crate) fn run(_: Settings) -> Result<Item> {
    let mut table = Table::new("Losses")
        .column(Column::text("name"))
        .column(Column::text("φ(r)"))
        .column(Column::text("loss"))
        .column(Column::text("weight w"))
        .column(Column::number("T·MSE").decimals(4));
    let mut values = Vec::new();
    for row in &ROWS {
        let here = around(&row.loss)?;
        table.push_row([
            row.name.into(),
            row.generator.into(),
            row.formula.into(),
            row.weight.into(),
            here.error.into(),
        ]);
        values.push(json!({
            "loss": row.name,
            "error": here.error,
            "slope_at_truth": here.slope,
            "curvature_at_truth": here.curvature,
            "curvature_as_printed": row.printed_sign * here.curvature,
        }));
    }
    Ok(Item::new("tab1", "Table 1: the losses", CAPTION)
        .table(table)
        .values(json!({ "rows": Value::Array(values) })))
}
