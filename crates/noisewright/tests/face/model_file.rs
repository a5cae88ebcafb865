//! Model files: good ones with what comes out, bad ones with the exact sentence they are refused with.
#![allow(clippy::unwrap_used, clippy::panic)]

use noisewright::{Domain, Model, Parameter, Space};

fn names(model: &Model) -> String {
    model.parameters().iter().map(|p| p.name.clone()).collect::<Vec<_>>().join(" ")
}

fn parse(text: &str) -> Model {
    Model::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(text: &str) -> String {
    let message = Model::from_toml(text).map(|_| ()).unwrap_err().to_string();
    assert!(!message.contains('\n'), "one sentence: {message}");
    message
}

#[test]
fn the_file_of_the_manual() {
    let model = parse(
        r#"
        variables  = ["x"]                       # the data columns, in order
        log_density = "-a*x^2/2 - b*x^4"         # a formula, up to an additive constant
        normalized = false
        domain     = { x = "real" }
        [parameters]
        a = 1
        b = { start = 0.1, lower = 0.0 }
        "#,
    );
    assert_eq!(model.parameters()[0], Parameter::new("a", 1.0));
    assert_eq!(model.parameters()[1], Parameter::new("b", 0.1).bounded(0.0, f64::INFINITY));
    assert_eq!(model.coordinates(), ["a", "b", "log_normalizer"]);
    assert_eq!(model.space(), &Space::real(&["x"]).unwrap());
    assert!(model.energy().is_linear() && !model.is_normalized());
}

#[test]
fn parameters_keep_the_order_of_the_file() {
    let model = parse(
        "variables = [\"x\"]\nlog_density = \"z*x + a*x^2 + m*x^3\"\n[parameters]\nz = 0\nm = -1e-3\na = -1.5",
    );
    assert_eq!((names(&model).as_str(), model.start()), ("z m a", vec![0.0, -1e-3, -1.5]));
}

#[test]
fn features_name_themselves_or_are_named_in_order() {
    let file = "variables = [\"x\"]\nfeatures = [\"x\", \" x^2 \", \"x^4\"]\n";
    let model = parse(file);
    assert_eq!((names(&model).as_str(), model.start()), ("x x^2 x^4", vec![0.0; 3]));
    let model = parse(&format!("{file}[parameters]\nb = 1\na = {{ start = -1, upper = 0 }}\nc = -0.5"));
    assert_eq!((names(&model).as_str(), model.start()), ("b a c", vec![1.0, -1.0, -0.5]));
    assert_eq!(model.parameters()[1].upper, 0.0);
}

#[test]
fn an_offset_is_added_to_the_features() {
    let model =
        parse("variables = [\"y\"]\nfeatures = [\"y\"]\noffset = \"-lgamma(y + 1)\"\ndomain = \"counts\"");
    assert_eq!((names(&model).as_str(), model.energy().is_linear()), ("y", true));
    let mut value = [0.0; 3];
    model.evaluate(&[2.0], noisewright::View::new(1, 3, &[0.0, 1.0, 2.0]), &mut value, None).unwrap();
    assert!(value.iter().zip([0.0, 2.0, 4.0 - 2f64.ln()]).all(|(a, b)| (a - b).abs() < 1e-15), "{value:?}");
}

#[test]
fn every_domain() {
    let domain = |text: &str| {
        let file = format!("variables = [\"x\", \"y\"]\nfeatures = [\"x*y\"]\ndomain = {text}");
        parse(&file).space().domains().to_vec()
    };
    assert_eq!(domain(r#"{ x = "positive" }"#), [Domain::Positive, Domain::Real]);
    assert_eq!(domain(r#"{ y = "circle", x = "counts" }"#), [Domain::Counts, Domain::Circle]);
    assert_eq!(
        domain("{ x = [-1, 2.5], y = { states = [0, 1, 2] } }"),
        [Domain::Interval(-1.0, 2.5), Domain::States(vec![0.0, 1.0, 2.0])]
    );
    assert_eq!(domain("{ states = [-1, 1] }"), vec![Domain::States(vec![-1.0, 1.0]); 2]);
    assert_eq!(domain("[0, 1]"), vec![Domain::Interval(0.0, 1.0); 2]);
    assert_eq!(domain(r#""positive""#), vec![Domain::Positive; 2]);
}

#[test]
fn the_sphere_beside_the_variables_or_in_their_place() {
    for variables in ["variables = [\"x\", \"y\", \"z\"]\n", ""] {
        let model = parse(&format!("{variables}sphere = [\"x\", \"y\", \"z\"]\nfeatures = [\"x\", \"z^2\"]"));
        assert!(model.space().is_sphere());
        let model =
            parse(&format!("{variables}sphere = [\"x\", \"y\", \"z\"]\nfamily = \"von-mises-fisher\""));
        assert_eq!((names(&model).as_str(), model.space().is_sphere()), ("t0 t1 t2", true));
    }
}

#[test]
fn families_with_their_options() {
    let family = |text: &str| parse(&format!("variables = [\"a\", \"b\", \"c\"]\nfamily = {text}"));
    assert_eq!(family("\"ising\"").space().domains()[2], Domain::States(vec![-1.0, 1.0]));
    let ising =
        family("\"ising\"\nstates = [0, 1]\nedges = [[0, 1], [\"c\", \"b\"]]\n[parameters]\nJ12 = 0.5");
    assert_eq!((names(&ising).as_str(), ising.start()), ("h0 h1 h2 J01 J12", vec![0.0, 0.0, 0.0, 0.0, 0.5]));
    assert_eq!(ising.space().state_count(), Some(8));
    let gaussian =
        family("\"gaussian\"\nnormalized = true\nparametrization = \"moments\"\n[parameters]\nC11 = 4");
    assert_eq!(gaussian.start(), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 4.0, 0.0, 1.0]);
    let mut gradient = [0.0; 9];
    let log_z = gaussian.log_normalizer(&gaussian.start(), &mut gradient).unwrap();
    assert!((log_z - 1.5 * std::f64::consts::TAU.ln() - 2f64.ln()).abs() < 1e-14);
    let one = |text: &str| parse(&format!("variables = [\"x\"]\nfamily = {text}"));
    assert_eq!(names(&one("\"student\"\ndof = \"free\"")), "location scale dof");
    assert_eq!(names(&one("\"student\"\ndof = 3\nnormalized = true")), "location scale");
    let bounded = one("\"student\"\n[parameters]\nscale = { lower = 0.1, upper = 10 }");
    assert_eq!(bounded.parameters()[1], Parameter::new("scale", 1.0).bounded(0.1, 10.0));
    let truncated =
        one("\"truncated-gaussian\"\ndomain = { x = [2, 3] }\nnormalized = true\n[parameters]\nP00 = -1");
    assert_eq!(truncated.start(), [0.0, -1.0]);
    assert_eq!(one("\"exponential-polynomial\"\ndegree = 3\ndomain = [0, 1]").parameters().len(), 3);
}

/// Files that are refused, and the sentence.
const REFUSED: &[(&str, &str)] = &[
    ("variables = [\"x\"", "line 1, column 17 of the model file is not TOML: unclosed array, expected `]`"),
    (
        "\n\nfamily = gaussian",
        "line 3, column 10 of the model file is not TOML: string values must be quoted, expected literal string",
    ),
    ("a = 1\na = 2", "line 2, column 1 of the model file is not TOML: duplicate key"),
    ("", "`log_density` is missing: a model has one of log_density, features and family"),
    ("features = [\"x\"]", "`variables` is missing: list the data columns, such as variables = [\"x\"]"),
    (
        "variables = [\"x\"]\nlog_density = \"x\"\nfeatures = [\"x\"]",
        "`features` cannot stand beside `log_density`: a model has one of log_density, features and family",
    ),
    (
        "variables = [\"x\"]\nlogdensity = \"x\"",
        "`logdensity` is not a field of a model file; did you mean `log_density`?",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ncolour = 1",
        "`colour` is not a field of a model file; the fields are log_density, features, family, variables, covariates, normalized, domain, sphere, parameters, constraints, penalty_factors, offset, parametrization, states, edges, dof, degree",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\noffset = \"-x^2\"",
        "`offset` stands beside `features` alone, and not beside `log_density`: a term without parameters in a `log_density` is an offset",
    ),
    (
        "variables = [\"x\"]\nfamily = \"gaussian\"\noffset = \"-x^2\"",
        "`offset` stands beside `features` alone, and not beside `family`: a term without parameters in a `log_density` is an offset",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\noffset = \"3\"",
        "`offset` uses no variable; the constant is estimated in any case, so leave it out",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\noffset = 3",
        "`offset` must be a formula in quotes, not a number",
    ),
    ("variables = \"x\"\nfeatures = [\"x\"]", "`variables` must be a list of texts in quotes, not text"),
    ("variables = []\nfeatures = [\"x\"]", "`variables` is empty; list at least one"),
    (
        "variables = [\"x\", 1]\nfeatures = [\"x\"]",
        "`variables` must be a list of texts in quotes, but has a number in it",
    ),
    ("variables = [\"x\", \"x\"]\nfeatures = [\"x\"]", "the name `x` is used twice"),
    (
        "variables = [\" \"]\nfamily = \"gaussian\"",
        "`variables` has an empty name; write the name of a data column",
    ),
    (
        "variables = [\"exp\"]\nfeatures = [\"exp\"]",
        "`features[0]`: the name `exp` already means something in formulas; choose another name",
    ),
    ("variables = [\"x\"]\nlog_density = 3", "`log_density` must be a formula in quotes, not a number"),
    (
        "variables = [\"x\"]\nlog_density = \"\"",
        "`log_density`: the formula is empty; write an expression such as `-x^2/2`",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"-(x^2\"",
        "`log_density`: the parenthesis opened at column 2 is never closed; add a `)`",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"-a*x^2\"",
        "parameter `a` has no value: give it one in `parameters`",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"-sigma*x^2\"\n[parameters]\nsigmma = 1",
        "`log_density`: unknown name `sigma` at column 2; did you mean `sigmma`?",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a^2\"\n[parameters]\na = 1",
        "`log_density` uses no variable; it must depend on x",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"-a*x^2\"\n[parameters]\na = 1\nb = 2",
        "`log_density` does not use the parameter `b`; use it or leave it out of the parameters",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"x*x\"\n[parameters]\nx = 1",
        "`log_density`: the name `x` is used twice; every variable and parameter needs its own",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = nan",
        "`parameters.a` must be a number, not nan",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = -inf",
        "`parameters.a` must be a finite number, not -inf",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = \"1\"",
        "`parameters.a` must be a number, not text: formulas are for the parameters of a family with covariates",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = { start = -1, lower = 0 }",
        "a = -1 is not allowed: it must be at least 0",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = { start = 2, lower = 0, upper = 1 }",
        "a = 2 is not allowed: it must lie between 0 and 1",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = { start = 1, lower = 2, upper = 0 }",
        "`a` has the bounds 2 and 0, but the lower must not exceed the upper",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = { lower = 2 }",
        "`parameters.a` has no start value; write { start = … } with its bounds",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"a*x\"\n[parameters]\na = { start = 1, lowr = 0 }",
        "`parameters.a.lowr` is not known; did you mean `lower`?",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"-x^2\"\nparameters = [1]",
        "`parameters` must be a table of start values, not a list",
    ),
    (
        "variables = [\"x\"]\nlog_density = \"log_normalizer*x\"\n[parameters]\nlog_normalizer = 1",
        "`log_normalizer` is the name of the constant; call the parameter something else",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\nnormalized = \"no\"",
        "`normalized` must be true or false, not text",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\nnormalized = true",
        "`normalized` cannot be true with `features`, whose constant is estimated; leave it out",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\", \"x^2\"]\n[parameters]\na = 1",
        "`parameters` must name the 2 features in order, not 1",
    ),
    ("variables = [\"x\"]\nfeatures = [\"x\", \"x\"]", "the name `x` is used twice"),
    (
        "variables = [\"x\"]\nfeatures = [\"x\", \"y\"]",
        "`features[1]`: unknown name `y` at column 1; the names known here are x",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\nedges = []",
        "`edges` is an option of families; it does not fit `features`",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { y = \"real\" }",
        "`domain` names `y`, which is not among the variables x",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { x = \"reel\" }",
        "`domain.x` = \"reel\" is not a domain; did you mean \"real\"?",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { x = \"torus\" }",
        "`domain.x` = \"torus\" is not a domain; it must be \"real\", \"positive\", \"circle\", \"counts\", [lo, hi] or { states = [...] }",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { x = 3 }",
        "`domain.x` must be \"real\", \"positive\", \"circle\", \"counts\", [lo, hi] or { states = [...] }",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { x = [1, 0] }",
        "`domain.x` must be [lo, hi] with lo < hi, both finite",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { x = [0, inf] }",
        "`domain.x` must be [lo, hi] with lo < hi, both finite",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { x = { states = [1, 1] } }",
        "the domain of `x` is wrong: a state is listed twice",
    ),
    (
        "variables = [\"x\"]\nfeatures = [\"x\"]\ndomain = { x = { states = [] } }",
        "the domain of `x` is wrong: states must be finite numbers, at least one",
    ),
    (
        "variables = [\"x\", \"y\"]\nsphere = [\"x\"]\nfeatures = [\"x\"]",
        "`sphere` must list all the variables: x, y",
    ),
    (
        "variables = [\"x\", \"y\"]\nsphere = [\"x\", \"y\"]\ndomain = { x = \"real\" }\nfeatures = [\"x\"]",
        "`domain` cannot stand beside `sphere`, which gives the variables their domain",
    ),
    (
        "sphere = [\"x\"]\nfeatures = [\"x\"]",
        "the domain of `x` is wrong: a sphere needs at least two variables",
    ),
    ("variables = [\"x\"]\nfamily = 5", "`family` must be the name of a family in quotes, not a number"),
    ("variables = [\"x\"]\nfamily = \"gausian\"", "`gausian` is not a family; did you mean `gaussian`?"),
    (
        "variables = [\"x\"]\nfamily = \"boltzmann\"",
        "`boltzmann` is not a family; the families are gaussian, truncated-gaussian, student, gamma, beta, exponential-polynomial, von-mises, von-mises-fisher, ising, com-poisson",
    ),
    (
        "variables = [\"x\"]\nfamily = \"gamma\"\ndof = 3",
        "`dof` is not an option of the family gamma; it takes none",
    ),
    ("variables = [\"x\"]\nfamily = \"student\"\ndof = -3", "`dof` = -3 must be a positive number"),
    (
        "variables = [\"x\"]\nfamily = \"student\"\ndof = \"fre\"",
        "`dof` must be a positive number or \"free\", not \"fre\"",
    ),
    (
        "variables = [\"x\"]\nfamily = \"exponential-polynomial\"\ndegree = 2.5",
        "`degree` must be a whole number, not 2.5",
    ),
    (
        "variables = [\"x\"]\nfamily = \"exponential-polynomial\"\ndegree = -1",
        "`degree` must be a positive whole number, not -1",
    ),
    (
        "variables = [\"x\", \"y\"]\nfamily = \"ising\"\nedges = [[0]]",
        "`edges` must be a list of pairs of variables, such as [[0, 1], [1, 2]]",
    ),
    (
        "variables = [\"x\", \"y\"]\nfamily = \"ising\"\nedges = [[\"x\", \"z\"]]",
        "`edges` names `z`, which is not among the variables x, y",
    ),
    (
        "variables = [\"x\", \"y\"]\nfamily = \"ising\"\nstates = [0, 1, 2]",
        "`states` of an ising model must be [-1, 1] or [0, 1]",
    ),
    (
        "variables = [\"x\"]\nfamily = \"ising\"\ndomain = { x = \"real\" }",
        "`domain` of `x` does not fit: the family ising lives on { states = [-1.0, 1.0] }",
    ),
    (
        "variables = [\"x\"]\nfamily = \"com-poisson\"\nnormalized = true",
        "`normalized` cannot be true for the family com-poisson, which has no closed form; leave it out",
    ),
    (
        "variables = [\"x\"]\nfamily = \"gaussian\"\n[parameters]\nP0 = 1",
        "`P0` is not a parameter of the model; did you mean `P00`?",
    ),
    (
        "variables = [\"x\"]\nfamily = \"gaussian\"\n[parameters]\nP00 = -1",
        "P00 = -1 is not allowed: it must be at least 0",
    ),
    (
        "variables = [\"x\", \"y\"]\nfamily = \"gaussian\"\nnormalized = true\n[parameters]\nP01 = 2",
        "`parameters` start where the family gaussian cannot be normalized; move them inside",
    ),
    (
        "variables = [\"x\", \"y\"]\nsphere = [\"x\", \"y\"]\nfamily = \"gaussian\"",
        "`sphere` does not fit the family gaussian; von-mises-fisher lives there",
    ),
    (
        "variables = [\"x\", \"y\"]\ndomain = \"real\"\nfamily = \"von-mises-fisher\"",
        "`domain` does not fit: the family von-mises-fisher lives on a sphere; leave it out",
    ),
    (
        "variables = [\"x\"]\nfamily = \"truncated-gaussian\"\ndomain = \"real\"",
        "`domain` of a truncated-gaussian must be \"positive\" or an interval [lo, hi]",
    ),
];

#[test]
fn every_mistake_is_one_sentence_that_names_the_field() {
    let wrong: Vec<String> = REFUSED
        .iter()
        .map(|(file, want)| (file, want, refusal(file)))
        .filter(|(_, want, got)| *want != got)
        .map(|(file, want, got)| format!("{file}\n  want {want}\n  got  {got}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn mistakes_in_formulas_can_be_shown_with_a_caret() {
    let error =
        Model::from_toml("variables = [\"x\"]\nlog_density = \"-a*x^2 - b*x^4\"\n[parameters]\na = 1")
            .unwrap_err();
    assert_eq!(
        error.render(),
        "parameter `b` has no value: give it one in `parameters`\n  -a*x^2 - b*x^4\n           ^"
    );
    let error = Model::from_toml("variables = [\"x\"]\nfeatures = [\"x\", \"2*(x\"]").unwrap_err();
    assert_eq!(
        error.render(),
        "`features[1]`: the parenthesis opened at column 3 is never closed; add a `)`\n  2*(x\n    ^"
    );
}
