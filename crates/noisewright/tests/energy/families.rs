//! The families by name: parameters in the order of the reference cases, defaults, options and refusals.
#![allow(clippy::unwrap_used, clippy::excessive_precision)]

use noisewright::parts::Dof;
use noisewright::{Domain, Energy, FamilyOptions, Model, Parameter, Points, Result, Space, View, families};

fn names(family: &str, variables: &[&str], options: &FamilyOptions) -> Vec<String> {
    let model = Model::from_family(family, variables, options, false).unwrap();
    model.parameters().iter().map(|p| p.name.clone()).collect()
}

fn refusal(family: &str, variables: &[&str], options: &FamilyOptions, normalized: bool) -> String {
    Model::from_family(family, variables, options, normalized).unwrap_err().to_string()
}

#[test]
fn gaussian_and_ising_parameters_are_named_and_ordered_as_in_the_reference_cases() {
    let options = FamilyOptions::default();
    assert_eq!(
        names("gaussian", &["a", "b", "c", "d"], &options).join(" "),
        "h0 h1 h2 h3 P00 P01 P02 P03 P11 P12 P13 P22 P23 P33"
    );
    let zero_one = FamilyOptions { states: Some(vec![0.0, 1.0]), ..options };
    assert_eq!(
        names("ising", &["a", "b", "c", "d", "e"], &zero_one).join(" "),
        "h0 h1 h2 h3 h4 J01 J02 J03 J04 J12 J13 J14 J23 J24 J34"
    );
}

#[test]
fn from_eleven_variables_on_the_indices_are_set_apart() {
    let variables: Vec<String> = (0..12).map(|i| format!("v{i}")).collect();
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    let names = names("ising", &variables, &FamilyOptions::default());
    assert_eq!((names[11].as_str(), names[12].as_str(), names[77].as_str()), ("h11", "J0_1", "J10_11"));
}

#[test]
fn every_family_builds_with_its_defaults_and_is_normalized_exactly_where_it_has_a_closed_form() {
    for info in families() {
        let variables: &[&str] =
            if matches!(info.name, "von-mises-fisher" | "ising") { &["x", "y"] } else { &["x"] };
        let model = Model::from_family(info.name, variables, &FamilyOptions::default(), false).unwrap();
        model.check(&model.start()).unwrap();
        assert_eq!(model.coordinates().len(), model.parameters().len() + 1, "{}", info.name);
        let open = matches!(info.name, "ising" | "com-poisson" | "exponential-polynomial");
        let normalized = Model::from_family(info.name, variables, &FamilyOptions::default(), true);
        assert_eq!(normalized.is_err(), open, "{}", info.name);
        if let Ok(model) = normalized {
            assert_eq!(model.coordinates(), model.energy().parameters());
        }
    }
}

#[test]
fn other_parametrizations_have_their_own_names() {
    let moments = FamilyOptions { parametrization: Some("moments".into()), ..Default::default() };
    assert_eq!(names("gaussian", &["x", "y"], &moments).join(" "), "m0 m1 C00 C01 C11");
    assert_eq!(names("truncated-gaussian", &["x"], &moments).join(" "), "m0 C00");
    let polar = FamilyOptions { parametrization: Some("polar".into()), ..Default::default() };
    assert_eq!(names("von-mises", &["x"], &polar).join(" "), "mean concentration");
    let free = FamilyOptions { dof: Some(Dof::Free), ..Default::default() };
    assert_eq!(names("student", &["x"], &free).join(" "), "location scale dof");
    let sextic = FamilyOptions { degree: Some(6), ..Default::default() };
    assert_eq!(names("exponential-polynomial", &["x"], &sextic).join(" "), "t1 t2 t3 t4 t5 t6");
}

#[test]
fn what_does_not_fit_is_refused_in_one_sentence() {
    let default = FamilyOptions::default();
    let degree = FamilyOptions { degree: Some(0), ..default.clone() };
    let edges = |edges: &[(usize, usize)]| FamilyOptions { edges: Some(edges.to_vec()), ..default.clone() };
    let xy = &["x", "y"];
    let expected = [
        (refusal("gausian", xy, &default, false), "`gausian` is not a family; did you mean `gaussian`?"),
        (
            refusal("gaussian", xy, &degree, false),
            "`degree` is not an option of the family gaussian; it takes parametrization",
        ),
        (
            refusal("gamma", &["x"], &degree, false),
            "`degree` is not an option of the family gamma; it takes none",
        ),
        (
            refusal("exponential-polynomial", &["x"], &degree, false),
            "`degree` = 0 must be a whole number from 1 to 32",
        ),
        (
            refusal("com-poisson", &["x"], &default, true),
            "`normalized` cannot be true for the family com-poisson, which has no closed form; leave it out",
        ),
        (refusal("student", xy, &default, false), "`variables` must be one for the family student, not 2"),
        (
            refusal("ising", xy, &edges(&[(0, 2)]), false),
            "`edges` has [0, 2], but the variables are numbered 0 to 1",
        ),
        (
            refusal("ising", xy, &edges(&[(1, 1)]), false),
            "`edges` has [1, 1], but an edge must join two different variables",
        ),
        (
            refusal("ising", xy, &edges(&[(0, 1), (1, 0)]), false),
            "`edges` has the edge [0, 1] twice; list it once",
        ),
        (
            refusal("ising", xy, &FamilyOptions { states: Some(vec![0.0, 2.0]), ..default.clone() }, false),
            "`states` of an ising model must be [-1, 1] or [0, 1]",
        ),
        (
            refusal("gamma", &["x"], &FamilyOptions { domain: Some(Domain::Real), ..default.clone() }, false),
            "`domain` of `x` does not fit: the family gamma lives on \"positive\"",
        ),
        (
            refusal(
                "von-mises",
                &["x"],
                &FamilyOptions { parametrization: Some("moments".into()), ..default.clone() },
                false,
            ),
            "`parametrization` of the family von-mises must be \"natural\" or \"polar\", not \"moments\"",
        ),
        (refusal("gaussian", &[], &default, false), "a model needs at least one variable"),
        (refusal("gaussian", &["x", "x"], &default, false), "the name `x` is used twice"),
    ];
    for (got, want) in expected {
        assert_eq!(got, want);
    }
}

#[test]
fn values_by_name_replace_start_values_and_bounds_are_kept() {
    let model = Model::from_family("student", &["x"], &FamilyOptions::default(), true).unwrap();
    assert_eq!(model.at(&[("scale", 2.0)]).unwrap(), [0.0, 2.0]);
    let message = |values: &[(&str, f64)]| model.at(values).unwrap_err().to_string();
    assert_eq!(message(&[("scael", 2.0)]), "`scael` is not a parameter of the model; did you mean `scale`?");
    assert_eq!(
        message(&[("nu", 2.0)]),
        "`nu` is not a parameter of the model; its parameters are location, scale"
    );
    assert_eq!(message(&[("scale", 2.0), ("scale", 3.0)]), "the name `scale` is used twice");
    let check = |theta: &[f64]| model.check(theta).unwrap_err().to_string();
    assert_eq!(check(&[0.0, -1.0]), "scale = -1 is not allowed: it must be at least 0");
    assert_eq!(check(&[f64::NAN, 1.0]), "location = NaN is not allowed: it must be a finite number");
    assert_eq!(check(&[0.0]), "expected 2 parameter values, found 1");
    assert!(model.clone().with_start(&[("scale", -2.0)]).is_err());
    assert_eq!(model.with_start(&[("scale", 2.5)]).unwrap().start(), [0.0, 2.5]);
}

#[test]
fn a_point_outside_the_domain_has_no_density() {
    let model = Model::from_family("gamma", &["x"], &FamilyOptions::default(), false).unwrap();
    let points = Points::unnamed(1, 3, vec![-1.0, 2.0, 0.0]);
    let (mut value, mut score) = ([0.0; 3], [f64::NAN; 6]);
    model.evaluate(&[2.0, 1.0], points.view(), &mut value, Some(&mut score)).unwrap();
    let ln = 2f64.ln();
    assert_eq!(value, [f64::NEG_INFINITY, ln - 2.0, f64::NEG_INFINITY]);
    assert_eq!(score, [0.0, ln, 0.0, 0.0, -2.0, 0.0]);
}

#[test]
fn the_name_of_the_constant_is_taken() {
    struct Named;
    impl Energy for Named {
        fn parameters(&self) -> Vec<String> {
            vec!["log_normalizer".into()]
        }
        fn dimension(&self) -> usize {
            1
        }
        fn evaluate(&self, _: &[f64], _: View<'_>, _: &mut [f64], _: Option<&mut [f64]>) -> Result<()> {
            Ok(())
        }
    }
    let space = Space::real(&["x"]).unwrap();
    let parameter = Parameter::new("log_normalizer", 0.0);
    let error = Model::new(std::sync::Arc::new(Named), space, vec![parameter]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`log_normalizer` is the name of the constant; call the parameter something else"
    );
}
