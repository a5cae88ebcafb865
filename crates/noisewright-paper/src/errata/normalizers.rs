//! Mistakes about the estimators of a normalizing constant.

use noisewright::Result;
use noisewright_report::format_number;
use serde_json::json;

use super::Erratum;
use crate::Settings;
use crate::normalizer::Pair;
use crate::tab3::{BUDGET, CASE, REPEATS, SEED};

/// The error of IS-RevIS.
pub(super) fn hellinger_row(settings: Settings) -> Result<Erratum> {
    let (right, printed) = (CASE.theory()?[3], CASE.printed()?[3]);
    let simulated = CASE.simulate(BUDGET, REPEATS, SEED.wrapping_add(settings.seed))?[3];
    let (near, far) = (simulated.deviations(right), simulated.deviations(printed));
    Ok(Erratum {
        place: "Table 3 and its appendix, row H²",
        printed: "the error of IS-RevIS is (1+ν)²/(νT) · D/(1−D) with D = 1 − ∫√(p_d p_n).".into(),
        right: "it is (1+ν)²/(νT) · (1/(1−D)² − 1), about twice as large where noise and data are close."
            .into(),
        check: format!(
            "noise N(0.8, 1.1), ν = 2: the printed formula gives {}, the right one {}; {REPEATS} simulated samples give \
             {} ± {}, which is {} standard errors from the right one and {} from the printed one.",
            format_number(printed, 4),
            format_number(right, 4),
            format_number(simulated.error, 4),
            format_number(simulated.standard_error, 2),
            format_number(near.abs(), 2),
            format_number(far.abs(), 3),
        ),
        holds: near.abs() < 4.0 && far.abs() > 4.0,
        values: json!({
            "printed": printed,
            "right": right,
            "simulated": simulated.error,
            "standard_error": simulated.standard_error,
        }),
    })
}

/// The best ν for NCE of Z.
pub(super) fn best_ratio_of_nce() -> Result<Erratum> {
    let error = |nu: f64| Ok(Pair { mean: 0.7, variance: 1.5, nu }.theory()?[1]);
    let (one, three): (f64, f64) = (error(1.0)?, error(3.0)?);
    // As ν grows NCE becomes IS, whose error here is the smallest.
    let limit = Pair { mean: 0.7, variance: 1.5, nu: 1.0 }.divergences()?.chi2_data_noise;
    Ok(Erratum {
        place: "Table 3, row JS, and the paragraph on NCE",
        printed: "the optimal ν is 1.".into(),
        right:
            "that holds in the limit of noise equal to the data; otherwise the best ν depends on the noise."
                .into(),
        check: format!(
            "data N(0, 1), noise N(0.7, 1.5): T·MSE/Z² is {} at ν = 1 and {} at ν = 3, and falls to {} as ν grows without end.",
            format_number(one, 3),
            format_number(three, 3),
            format_number(limit, 3)
        ),
        holds: three < one && limit < three,
        values: json!({ "at_1": one, "at_3": three, "limit": limit }),
    })
}
