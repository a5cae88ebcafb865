//! Intervals from standard errors, and quantiles of Student's distribution.

use noisewright_numerics::optimize::root_increasing;
use noisewright_numerics::special::{ln_gamma, normal_quantile, student_cdf};

/// Degrees of freedom beyond which Student's distribution is taken as normal.
const MANY: f64 = 1e6;

/// The quantile of Student's distribution that a two-sided interval of this confidence needs.
pub(crate) fn two_sided(confidence: f64, freedom: f64) -> f64 {
    let p = 0.5 + 0.5 * confidence;
    let normal = normal_quantile(p);
    if freedom.is_nan() || freedom >= MANY {
        return normal;
    }
    let log_scale = ln_gamma(0.5 * (freedom + 1.0))
        - ln_gamma(0.5 * freedom)
        - 0.5 * (freedom * std::f64::consts::PI).ln();
    let density = |x: f64| (log_scale - 0.5 * (freedom + 1.0) * (x * x / freedom).ln_1p()).exp();
    root_increasing(normal, 1.0, |x| (student_cdf(freedom, x) - p, density(x))).at
}

/// The standard deviation of Student's distribution: what an error that is itself estimated adds to a z-score. Infinite
/// for two degrees of freedom and fewer, which are too few for any standard error.
pub(super) fn student_deviation(freedom: f64) -> f64 {
    if freedom.is_nan() || freedom >= MANY {
        return 1.0;
    }
    if freedom > 2.0 { (freedom / (freedom - 2.0)).sqrt() } else { f64::INFINITY }
}

/// Degrees of freedom of a sum of two estimated variances (Welch and Satterthwaite).
pub(crate) fn joint_freedom(variances: [f64; 2], freedoms: [f64; 2]) -> f64 {
    let total = variances[0] + variances[1];
    let spread: f64 =
        variances.iter().zip(freedoms).map(|(v, d)| if *v > 0.0 { v * v / d.max(1.0) } else { 0.0 }).sum();
    if spread > 0.0 { total * total / spread } else { f64::INFINITY }
}

/// Degrees of freedom from which on a variance is estimated at less than a tenth of its mean twice in ten thousand samples at most.
const ENOUGH: f64 = 10.0;

/// The same where one of the variances has few degrees of freedom: those at which Student's interval is Banerjee's (1960),
/// `±√(t₁² v₁ + t₂² v₂)` with the quantile of each variance by itself, which covers at least as often as it says.
///
/// Welch's degrees of freedom are made from the estimated variances. One that is estimated from two clusters is below 1 % of its
/// mean in 8 % of all samples, and the degrees of freedom are then those of the other one: intervals of 95 % covered 87 %.
pub(crate) fn joint_freedom_for(confidence: f64, variances: [f64; 2], freedoms: [f64; 2]) -> f64 {
    let parts = || variances.into_iter().zip(freedoms).filter(|(v, _)| *v > 0.0);
    let fewest = parts().map(|(_, d)| d.max(1.0)).fold(f64::INFINITY, f64::min);
    let total = variances[0] + variances[1];
    if fewest >= ENOUGH || parts().count() < 2 || !total.is_finite() {
        return joint_freedom(variances, freedoms);
    }
    let square: f64 = parts().map(|(v, d)| v * two_sided(confidence, d.max(1.0)).powi(2)).sum();
    let reach = (square / total).sqrt();
    // The quantile falls with the degrees of freedom, which are sought by their logarithm.
    let (mut low, mut high) = (fewest.ln(), MANY.ln());
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if two_sided(confidence, middle.exp()) > reach { low = middle } else { high = middle }
    }
    low.exp()
}

/// Where an increasing function reaches a level, from a start below it and a first guess of the way; infinite if it
/// does not come that far.
///
/// Known to a ten-thousandth of the way, which is all that the end of an interval can mean.
pub(super) fn reaches(level: f64, start: f64, step: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut near, mut far) = ((start, -level), (start + step, f(start + step) - level));
    for _ in 0..60 {
        if far.1 * level > 0.0 {
            return between(near, far, 1e-4 * step.abs(), |x| f(x) - level);
        }
        near = far;
        let next = start + 2.0 * (far.0 - start);
        far = (next, f(next) - level);
    }
    f64::INFINITY.copysign(step)
}

/// A root between two points of opposite sign, by the Illinois rule.
fn between(mut a: (f64, f64), mut b: (f64, f64), width: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let x = b.0 - b.1 * (b.0 - a.0) / (b.1 - a.1);
        let at = (x, f(x));
        if at.1 == 0.0 || (at.0 - b.0).abs() < width || (at.0 - a.0).abs() < width {
            return x;
        }
        if at.1 * b.1 < 0.0 {
            a = b
        } else {
            a.1 *= 0.5
        }
        b = at;
    }
    b.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_reached_or_not() {
        assert!((reaches(2.0, 0.0, 0.1, f64::sinh) - 2_f64.asinh()).abs() < 1e-4);
        assert!((reaches(-2.0, 0.0, -0.1, f64::sinh) + 2_f64.asinh()).abs() < 1e-4);
        assert_eq!(reaches(2.0, 0.0, 0.1, f64::tanh), f64::INFINITY);
    }

    #[test]
    fn the_degrees_of_freedom_of_two_variances() {
        // One variance alone has its own, and those of many are Welch's.
        assert!((joint_freedom_for(0.95, [1.0, 0.0], [3.0, 15.0]) - 3.0).abs() < 1e-6);
        let welch = joint_freedom([2.0, 1.0], [50.0, 100.0]);
        assert_eq!(joint_freedom_for(0.95, [2.0, 1.0], [50.0, 100.0]), welch);
        // ±√(12.7062² · 0.01 + 2.1314² · 0.99) by the tables, though the first variance is the smaller one.
        let freedom = joint_freedom_for(0.95, [0.01, 0.99], [1.0, 15.0]);
        let reach = (12.706_204_736_f64.powi(2) * 0.01 + 2.131_449_546_f64.powi(2) * 0.99).sqrt();
        assert!((two_sided(0.95, freedom) - reach).abs() < 1e-6, "{freedom}");
        assert!(freedom < joint_freedom([0.01, 0.99], [1.0, 15.0]));
    }

    #[test]
    fn student_quantiles_of_the_tables() {
        for (freedom, quantile) in [(1.0, 12.706_204_736), (5.0, 2.570_581_836), (30.0, 2.042_272_456)] {
            assert!((two_sided(0.95, freedom) - quantile).abs() < 1e-8, "{freedom}");
        }
        assert!((two_sided(0.95, f64::INFINITY) - 1.959_963_984_540).abs() < 1e-11);
    }
}
