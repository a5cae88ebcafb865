//! Every complaint by its exact text.
#![allow(clippy::unwrap_used, clippy::panic)]

use noisewright_formula::{Formula, FormulaError, Symbols};

fn symbols() -> Symbols {
    Symbols::new(&["x", "y"], &["mu", "Sigma", "θ"]).unwrap()
}

fn error(text: &str) -> FormulaError {
    Formula::parse(text, &symbols()).unwrap_err()
}

#[test]
fn each_mistake_has_its_sentence_and_its_column() {
    let cases = [
        ("", None, "the formula is empty; write an expression such as `-x^2/2`"),
        ("  \t", None, "the formula is empty; write an expression such as `-x^2/2`"),
        ("-x^2/2 + nu", Some(10), "unknown name `nu` at column 10; did you mean `mu`?"),
        ("x*sigma", Some(3), "unknown name `sigma` at column 3; did you mean `Sigma`?"),
        ("x + q", Some(5), "unknown name `q` at column 5; the names known here are x, y, mu, Sigma, θ"),
        ("θ*Exp(x)", Some(3), "unknown function `Exp` at column 3; did you mean `exp`?"),
        ("ln(x)", Some(1), "unknown function `ln` at column 1; did you mean `log`?"),
        ("θ*(x + (y - 1)", Some(3), "the parenthesis opened at column 3 is never closed; add a `)`"),
        ("exp(", Some(4), "the parenthesis opened at column 4 is never closed; add a `)`"),
        ("(x + 1)) * 2", Some(8), "the `)` at column 8 closes nothing; remove it or add a `(` before it"),
        ("2x", Some(2), "an operator is missing before column 2; write `2*x` to multiply"),
        ("(x)(y)", Some(4), "an operator is missing before column 4; write `)*(` to multiply"),
        ("x (y)", Some(3), "an operator is missing before column 3; write `x*(` to multiply"),
        ("exp x", Some(1), "`exp` at column 1 is a function; write its argument in parentheses, `exp(…)`"),
        ("exp(x, y)", Some(1), "`exp` at column 1 takes 1 argument, not 2"),
        ("1 + max(x)", Some(5), "`max` at column 5 takes 2 or more arguments, not 1"),
        ("log()", Some(1), "`log` at column 1 takes 1 argument, not 0"),
        ("x + * y", Some(5), "unexpected `*` at column 5; a number, a name or `(` must stand here"),
        (
            "x**2",
            Some(3),
            "unexpected `*` at column 3; an operand (powers are written with `^`) must stand here",
        ),
        ("x +", Some(4), "the formula ends at column 4 where a number, a name or `(` must follow"),
        ("x, y", Some(2), "unexpected `,` at column 2; an operator or the end must stand here"),
        ("[x]", Some(1), "unexpected character `[` at column 1; group with parentheses, `(` and `)`"),
        ("θ*x²", Some(4), "unexpected character `²` at column 4; write powers with `^`, such as `x^2`"),
        (
            "1e999*x",
            Some(1),
            "the number `1e999` at column 1 is out of range; sizes from 5e-324 to 1.79e308 are possible",
        ),
        (
            "polygamma(x, 1)",
            Some(11),
            "the order of `polygamma` at column 11 must be a whole number from 0 to 255",
        ),
    ];
    for (text, column, sentence) in cases {
        let error = error(text);
        assert_eq!(error.to_string(), sentence, "{text}");
        assert_eq!(error.column(), column, "{text}");
    }
}

#[test]
fn nesting_has_a_limit_and_chains_have_none() {
    let deep = "(".repeat(100_000);
    let sentence = "more than 200 parentheses are open at column 201; write the formula less deeply nested";
    assert_eq!(error(&deep).to_string(), sentence);
    let functions = "exp(".repeat(201) + "x" + &")".repeat(201);
    assert!(matches!(error(&functions), FormulaError::TooDeep { limit: 200, .. }));
    for long in ["x^".repeat(50_000) + "2", "-".repeat(50_000) + "x", "x-".repeat(50_000) + "1"] {
        let formula = Formula::parse(&long, &symbols()).unwrap();
        assert_eq!(Formula::parse(&formula.to_string(), &symbols()).unwrap(), formula);
    }
}

#[test]
fn the_caret_stands_under_the_mistake_in_its_line() {
    let text = "θ*x^2\n + 3*zeta";
    assert_eq!(
        error(text).render(text),
        "unknown name `zeta` at column 12; the names known here are x, y, mu, Sigma, θ\n   + 3*zeta\n       ^"
    );
    let text = "θ*((x)";
    let expected = "the parenthesis opened at column 3 is never closed; add a `)`\n  θ*((x)\n    ^";
    assert_eq!(error(text).render(text), expected);
    assert_eq!(error("").render(""), error("").to_string());
}

#[test]
fn names_are_checked_with_a_sentence() {
    let of = |variable: &str| Symbols::new(&[variable], &["a"]).unwrap_err().to_string();
    assert_eq!(
        of("my column"),
        "`my column` cannot be a name; use letters, digits and `_`, beginning with a letter or `_`"
    );
    assert_eq!(of("exp"), "the name `exp` already means something in formulas; choose another name");
    assert_eq!(of("a"), "the name `a` is used twice; every variable and parameter needs its own");
}
