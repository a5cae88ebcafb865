//! A fit as JSON: the library's own fields, and what the command knows beside it.

use noisewright::Fit;
use noisewright::internal::leave_matrices_out;
use noisewright_report::Value;

use super::Answer;
use crate::failure::Outcome;
use crate::output;

/// Everything that a program may want to know; covariances of very many unknowns only if they are asked for.
pub(super) fn object(answer: &Answer, matrices: bool) -> Outcome<Value> {
    let fit = &answer.fit;
    let mut value = output::value(fit)?;
    type_settings(&mut value, fit);
    value.set("dropped", answer.dropped);
    value.set("passes", answer.passes);
    value.set("model", answer.problem.name.as_str());
    value.set("data", answer.data.as_str());
    if !matrices {
        leave_matrices_out(&mut value);
    }
    Ok(value)
}

/// Writes the settings that warnings suggest as they are typed.
pub(crate) fn type_settings(value: &mut Value, fit: &Fit) {
    let warnings = value.get_mut("diagnostics").and_then(|diagnostics| diagnostics.get_mut("warnings"));
    let shown = warnings.map(Value::entries_mut).into_iter().flatten();
    for (shown, warning) in shown.zip(&fit.diagnostics.warnings) {
        shown.set("suggestion", warning.suggestion_in(&output::typed));
    }
}
