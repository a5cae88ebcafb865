//! Energies from text: what is refused, normalized formulas, points of density zero, and values not a number.
#![allow(clippy::unwrap_used)]

use noisewright::internal::energy::{FeatureEnergy, FormulaEnergy};
use noisewright::{Domain, Energy, Model, Parameter, Points, Result, Space};

fn formula_model(text: &str, parameters: &[(&str, f64)], normalized: bool) -> Result<Model> {
    let parameters = parameters.iter().map(|(name, start)| Parameter::new(*name, *start)).collect();
    Model::from_formula(text, Space::real(&["x"])?, parameters, normalized)
}

#[test]
fn a_normalized_formula_has_a_known_constant_of_zero() {
    let model = formula_model("-(x - m)^2/2 - log(2*pi)/2", &[("m", 0.0)], true).unwrap();
    let mut gradient = [f64::NAN];
    assert_eq!(model.log_normalizer(&[3.0], &mut gradient), Some(0.0));
    assert_eq!((gradient, model.coordinates()), ([0.0], vec!["m".to_owned()]));
    let free = formula_model("-(x - m)^2/2", &[("m", 0.0)], false).unwrap();
    assert_eq!(free.log_normalizer(&[3.0], &mut gradient), None);
}

#[test]
fn a_formula_without_parameters_leaves_only_the_constant() {
    let model = formula_model("-x^4", &[], false).unwrap();
    assert_eq!(model.coordinates(), ["log_normalizer"]);
    let mut value = [0.0];
    let points = Points::unnamed(1, 1, vec![2.0]);
    model.evaluate(&[], points.view(), &mut value, Some(&mut [])).unwrap();
    assert_eq!(value, [-16.0]);
}

#[test]
fn scores_are_finite_where_the_density_is_zero() {
    let model = formula_model("a*log(x) - b*x", &[("a", 1.0), ("b", 1.0)], false).unwrap();
    let points = Points::unnamed(1, 2, vec![0.0, 1.0]);
    let (mut value, mut score) = ([0.0; 2], [f64::NAN; 4]);
    model.evaluate(&[1.0, 2.0], points.view(), &mut value, Some(&mut score)).unwrap();
    assert_eq!((value, score), ([f64::NEG_INFINITY, -2.0], [0.0, 0.0, 0.0, -1.0]));
}

#[test]
fn a_value_that_is_not_a_number_is_named_with_its_point() {
    let model = formula_model("a*log(x)", &[("a", 1.0)], false).unwrap();
    let points = Points::unnamed(1, 2, vec![1.0, -2.0]);
    let error = model.evaluate(&[0.5], points.view(), &mut [0.0; 2], None).unwrap_err();
    assert_eq!(error.to_string(), "the model's log-density is not a number at x = -2, a = 0.5");
    // The same formula on the domain where it has a meaning.
    let space = Space::product(&[("x", Domain::Positive)]).unwrap();
    let model = Model::from_formula("a*log(x)", space, vec![Parameter::new("a", 1.0)], false).unwrap();
    let mut value = [0.0; 2];
    model.evaluate(&[0.5], points.view(), &mut value, None).unwrap();
    assert_eq!(value, [0.0, f64::NEG_INFINITY]);
}

#[test]
fn curvature_sums_over_more_than_one_block_and_skips_points_without_weight() {
    let energy = FormulaEnergy::new("-exp(a)*x^2 + b*x*log(y)", &["x", "y"], &["a", "b"]).unwrap();
    let rows = 1100;
    let x: Vec<f64> = (0..rows).map(|i| f64::from(i) / 1000.0).collect();
    let mut y = vec![2.0; rows as usize];
    y[1] = -1.0; // not a number there, but the weight is zero
    let mut weights = vec![0.5; rows as usize];
    weights[1] = 0.0;
    let points = Points::from_columns(&["x", "y"], &[x.clone(), y]).unwrap();
    let mut out = [0.0; 4];
    assert!(energy.add_curvature(&[0.3, 1.0], points.view(), &weights, &mut out).unwrap());
    let want: f64 = -0.5
        * 0.3_f64.exp()
        * x.iter().zip(&weights).filter(|(_, w)| **w > 0.0).map(|(x, _)| x * x).sum::<f64>();
    assert!((out[0] - want).abs() < 1e-12 * want.abs());
    assert_eq!(out[1..], [0.0; 3]);
}

#[test]
fn features_can_be_renamed_and_share_a_variable_with_their_own_weight_names() {
    // Variables that look like the names a weight might get.
    let energy = FeatureEnergy::new(&["w0", "w1*w0"], &["w0", "w1"]).unwrap();
    let points = Points::unnamed(2, 1, vec![2.0, 3.0]);
    let (mut value, mut score) = ([0.0], [0.0; 2]);
    energy.evaluate(&[1.0, 10.0], points.view(), &mut value, Some(&mut score)).unwrap();
    assert_eq!((value, score), ([62.0], [2.0, 6.0]));
    assert_eq!(energy.clone().with_names(&["a", "b"]).unwrap().parameters(), ["a", "b"]);
    assert!(energy.with_names(&["a"]).is_err());
}

#[test]
fn mistakes_point_at_their_column() {
    let error = formula_model("-a*exq(x)", &[("a", 1.0)], false).unwrap_err();
    assert_eq!(error.to_string(), "`log_density`: unknown function `exq` at column 4; did you mean `exp`?");
    assert_eq!(
        error.render(),
        "`log_density`: unknown function `exq` at column 4; did you mean `exp`?\n  -a*exq(x)\n     ^"
    );
    let message = |text: &str| formula_model(text, &[("a", 1.0)], false).unwrap_err().to_string();
    assert_eq!(message("a^2"), "`log_density` uses no variable; it must depend on x");
    assert_eq!(
        message("-x^2"),
        "`log_density` does not use the parameter `a`; use it or leave it out of the parameters"
    );
    let features = |list: &[&str]| {
        Model::from_features(list, Space::real(&["x"]).unwrap(), vec![]).unwrap_err().to_string()
    };
    assert_eq!(features(&[]), "`features` is empty; list at least one formula");
    assert_eq!(
        features(&["x", "2"]),
        "`features[1]` uses no variable; the constant is estimated in any case, so leave it out"
    );
    assert_eq!(
        features(&["x", "x^"]),
        "`features[1]`: the formula ends at column 3 where a number, a name or `(` must follow"
    );
    assert_eq!(features(&["x", "x"]), "the name `x` is used twice");
}
