//! Table 2: the estimators of a normalizing constant, tried on one sample.

use noisewright::Result;
use noisewright_report::{Column, Table};
use serde_json::{Value, json};

use crate::normalizer::{ESTIMATORS, Pair};
use crate::tab3::{CASE, SEED};
use crate::{Item, Settings};

const CAPTION: &str = "What minimises each loss when only the constant is unknown, p = f/Z. NCE has no formula: it is the one root c of \
    Σ_data σ(c + log ν − ℓ) = Σ_noise σ(ℓ − c − log ν) with ℓ = log f − log p_n. The numbers are from one sample of 10,000 data and 20,000 \
    noise points, f = exp(−x²/2), noise N(0.8, 1.1); all estimate Z = √(2π) = 2.50663.";

/// Data and noise points together.
const BUDGET: usize = 30_000;

pub(crate) fn run(settings: Settings) -> Result<Item> {
    const WORDS: [(&str, &str); 4] = [
        ("revKL", "1 / E_d[p_n/f]"),
        ("JS", "implicit"),
        ("KL", "E_n[f/p_n]"),
        ("H²", "E_n[√(f/p_n)] / E_d[√(p_n/f)]"),
    ];
    let z = std::f64::consts::TAU.sqrt();
    let theory = CASE.theory()?;
    let found = CASE.one(BUDGET, SEED.wrapping_add(1).wrapping_add(settings.seed), 0)?;
    let mut table = Table::new("Estimators of Z")
        .column(Column::text("loss"))
        .column(Column::text("estimator"))
        .column(Column::text("formula"))
        .column(Column::number("Ẑ").decimals(4))
        .column(Column::number("standard error").decimals(4));
    let mut values: Vec<Value> = Vec::new();
    for index in 0..4 {
        let (estimate, error) = (z * found[index].exp(), z * (theory[index] / BUDGET as f64).sqrt());
        let (loss, formula) = WORDS[index];
        table.push_row([
            loss.into(),
            ESTIMATORS[index].into(),
            formula.into(),
            estimate.into(),
            error.into(),
        ]);
        values.push(json!({ "estimator": ESTIMATORS[index], "estimate": estimate, "standard_error": error }));
    }
    let Pair { mean, variance, nu } = CASE;
    Ok(Item::new("tab2", "Table 2: estimators of a normalizing constant", CAPTION)
        .table(table)
        .values(json!({ "z": z, "noise": { "mean": mean, "variance": variance }, "nu": nu, "rows": values })))
}
