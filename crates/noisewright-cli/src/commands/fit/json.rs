//! A fit as JSON.

use nalgebra::DMatrix;
use noisewright::fit::{Estimate, Fit};
use serde_json::{Map, Value, json};

use super::Answer;
use crate::output::{self, number, numbers, optional};

/// Everything that a program may want to know.
pub(super) fn object(answer: &Answer) -> Value {
    let fit = &answer.fit;
    json!({
        "parameters": fit.parameters.iter().map(|e| (e.name.clone(), estimate(e))).collect::<Map<_, _>>(),
        "log_normalizer": fit.log_normalizer.as_ref().map(estimate),
        "coordinates": fit.estimates().iter().map(|e| e.name.as_str()).collect::<Vec<_>>(),
        "covariance": matrix(&fit.covariance),
        "covariance_data": matrix(&fit.covariance_data),
        "covariance_noise": matrix(&fit.covariance_noise),
        "loss": number(fit.loss),
        "loss_name": if fit.nu.is_finite() { answer.loss.to_string() } else { "likelihood".into() },
        "iterations": fit.iterations,
        "converged": fit.converged,
        "stop": fit.stop.to_string(),
        "nu": number(fit.nu),
        "noise": fit.noise_description,
        "noise_points": fit.noise_points,
        "noise_share": number(fit.noise_share()),
        "budget_spent": fit.budget_spent,
        "rows": fit.rows,
        "total_weight": number(fit.total_weight),
        "dropped": answer.dropped,
        "passes": answer.passes,
        "confidence": number(fit.confidence),
        "efficiency": answer.efficiency.as_ref().map(|all| {
            fit.estimates().iter().zip(all).map(|(e, ratio)| (e.name.clone(), optional(*ratio))).collect::<Map<_, _>>()
        }),
        "optima": optima(fit),
        "diagnostics": diagnostics(fit),
        "model": answer.problem.name,
        "data": answer.data,
    })
}

pub(crate) fn estimate(estimate: &Estimate) -> Value {
    json!({
        "estimate": number(estimate.estimate),
        "se": number(estimate.se),
        "se_data": number(estimate.se_data),
        "se_noise": number(estimate.se_noise),
        "lower": number(estimate.lower),
        "upper": number(estimate.upper),
        "at_bound": estimate.at_bound,
    })
}

pub(crate) fn matrix(matrix: &DMatrix<f64>) -> Value {
    matrix.row_iter().map(|row| numbers(row.iter().copied())).collect::<Vec<_>>().into()
}

/// The diagnostics, with settings as they are typed.
pub(crate) fn diagnostics(fit: &Fit) -> Value {
    let mut value = serde_json::to_value(&fit.diagnostics).unwrap_or_default();
    let shown = value["warnings"].as_array_mut().into_iter().flatten();
    for (shown, warning) in shown.zip(&fit.diagnostics.warnings) {
        shown["suggestion"] = warning.suggestion_in(&output::typed).into();
    }
    value
}

fn optima(fit: &Fit) -> Value {
    let one = |optimum: &noisewright::fit::Optimum| {
        json!({
            "at": numbers(optimum.at.iter().copied()),
            "loss": number(optimum.loss),
            "starts": optimum.starts,
        })
    };
    fit.optima.iter().map(one).collect::<Vec<_>>().into()
}
