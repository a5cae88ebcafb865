//! Questions that a noise is designed for: formulas of the parameters and of the density at points, as targets M = hhᵀ (MATH §9.2).

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};

use crate::after::linearized;
use crate::target::names;
use crate::{Error, Model, Result, Target, View};

/// How the density at a point is written, and whether it is the logarithm; the longer one first, which the other is a part of.
const CALLS: [(&str, bool); 2] = [("log_density(", true), ("density(", false)];

/// The density at one point of a question.
struct DensityAt {
    point: Vec<f64>,
    logarithm: bool,
}

impl Target {
    /// The target at parameters: of a question the outer product of its gradient in the unknowns; any other target unchanged.
    /// `log_normalizer` gives log Z there, where the density itself is asked for.
    ///
    /// # Errors
    /// When the question cannot be read, or has no finite slope at these parameters.
    pub(crate) fn resolved(
        &self,
        model: &Model,
        parameters: &[f64],
        log_normalizer: impl FnOnce() -> Result<f64>,
    ) -> Result<Cow<'_, Self>> {
        let Self::Question(text) = self else { return Ok(Cow::Borrowed(self)) };
        let coordinates = model.coordinates();
        if names(text).iter().all(|name| coordinates.contains(name)) {
            return Ok(Cow::Owned(Self::Coordinates(names(text))));
        }
        let slope = slope(text, model, parameters, log_normalizer)?;
        Ok(Cow::Owned(Self::Matrix(&slope * slope.transpose())))
    }
}

/// The slope of a question in all unknowns.
fn slope(
    text: &str,
    model: &Model,
    parameters: &[f64],
    log_normalizer: impl FnOnce() -> Result<f64>,
) -> Result<DVector<f64>> {
    let (text, densities) = take_densities(text, model.space().dimension())?;
    let mut unknowns = model.coordinates();
    let own = unknowns.len();
    let mut values = parameters.to_vec();
    // Differences of log-densities, and formulas of parameters, do not need the constant.
    let needed = own > parameters.len() && text.contains(crate::LOG_NORMALIZER);
    let constant = if needed || densities.iter().any(|at| !at.logarithm) { log_normalizer()? } else { 0.0 };
    values.resize(own, constant);
    let mut slopes = DMatrix::zeros(own, densities.len());
    for (k, at) in densities.iter().enumerate() {
        let (log_density, score) = at.evaluate(model, parameters, constant)?;
        let density = if at.logarithm { 1.0 } else { log_density.exp() };
        slopes.set_column(k, &(score * density));
        unknowns.push(placeholder(k));
        values.push(if at.logarithm { log_density } else { density });
    }
    let outer = linearized(&unknowns, &values, "target", &text)?.slope;
    let h = outer.rows(0, own) + slopes * outer.rows(own, densities.len());
    if h.amax() == 0.0 {
        return Err(Error::option("target", "asks for what does not depend on the parameters"));
    }
    Ok(h)
}

/// The name of a density in the formula.
fn placeholder(number: usize) -> String {
    format!("density_{number}")
}

/// The formula with a name in the place of every density, and where those are taken.
fn take_densities(text: &str, dimension: usize) -> Result<(String, Vec<DensityAt>)> {
    let (mut rest, mut out, mut found) = (text, String::new(), Vec::new());
    while let Some((at, call, logarithm)) = next_call(rest) {
        out.push_str(&rest[..at]);
        let inside = &rest[at + call.len()..];
        let wrong = || {
            let reason = format!(
                "must have the {dimension} coordinate{} of a point in every density(…), such as density(1.2) - density(0.3)",
                if dimension == 1 { "" } else { "s" }
            );
            Error::option("target", reason)
        };
        let end = inside.find(')').ok_or_else(wrong)?;
        let numbers: std::result::Result<Vec<f64>, _> =
            names(&inside[..end]).iter().map(|x| x.parse()).collect();
        let point = numbers.ok().filter(|point| point.len() == dimension).ok_or_else(wrong)?;
        out.push_str(&format!("`{}`", placeholder(found.len())));
        found.push(DensityAt { point, logarithm });
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    Ok((out, found))
}

/// The first density in a text: where, how it is written, and whether it is the logarithm.
fn next_call(text: &str) -> Option<(usize, &'static str, bool)> {
    let places = CALLS.iter().filter_map(|(call, logarithm)| Some((text.find(call)?, *call, *logarithm)));
    places.min_by_key(|(at, call, _)| (*at, std::cmp::Reverse(call.len())))
}

impl DensityAt {
    /// `log p` and its score in all unknowns.
    fn evaluate(&self, model: &Model, parameters: &[f64], constant: f64) -> Result<(f64, DVector<f64>)> {
        let mut value = [0.0];
        let mut score = vec![0.0; parameters.len()];
        model.evaluate(
            parameters,
            View::new(self.point.len(), 1, &self.point),
            &mut value,
            Some(&mut score),
        )?;
        let mut log_density = value[0] - constant;
        if model.has_free_constant() {
            score.push(-1.0);
        } else {
            let mut gradient = vec![0.0; parameters.len()];
            log_density = value[0] - model.log_normalizer(parameters, &mut gradient).ok_or(Error::NoMass)?;
            score.iter_mut().zip(&gradient).for_each(|(s, g)| *s -= g);
        }
        if !log_density.is_finite() {
            return Err(Error::option("target", "asks for the density at a point where the model has none"));
        }
        Ok((log_density, DVector::from_vec(score)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_have_the_slope_of_their_formula() {
        let model =
            Model::from_toml("variables = ['x']\nlog_density = 'a*x - b*x^2/2'\n[parameters]\na = 1\nb = 2")
                .unwrap();
        let at = [1.0, 2.0];
        // log Z = a²/2b + ½ log 2π/b.
        let log_z = || Ok(0.25 + 0.5 * std::f64::consts::PI.ln());
        let matrix = |text: &str| match Target::parse(text).resolved(&model, &at, log_z).unwrap().into_owned()
        {
            Target::Matrix(matrix) => matrix,
            other => panic!("{other:?}"),
        };
        let expect = |text: &str, h: [f64; 3]| {
            let h = DVector::from_row_slice(&h);
            assert!((matrix(text) - &h * h.transpose()).amax() < 1e-12, "{text}");
        };
        expect("a/b", [0.5, -0.25, 0.0]);
        expect("log_density(1.5) - log_density(-0.5)", [2.0, -1.0, 0.0]);
        expect("2*log_density(1)", [2.0, -1.0, -2.0]);
        let p = (1.0 - 1.0 - 0.25 - 0.5 * std::f64::consts::PI.ln()).exp();
        expect("density(1)", [p, -0.5 * p, -p]);
        assert!(Target::parse("density(1, 2)").resolved(&model, &at, log_z).is_err());
        assert!(Target::parse("0*(a + b)").resolved(&model, &at, log_z).is_err());
        assert_eq!(*Target::parse("a, b").resolved(&model, &at, log_z).unwrap(), Target::parse("a, b"));
    }
}
