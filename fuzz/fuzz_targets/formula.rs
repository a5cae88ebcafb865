//! Any text is parsed or refused with a column inside it; what parses is printed, read back, differentiated, evaluated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use noisewright_formula::{Formula, Order, Symbols};

const PARAMETERS: [f64; 3] = [0.7, -1.3, 2.0];
const POINTS: [[f64; 6]; 2] = [[0.0, 1.0, -1.0, 0.5, 30.0, 1e-8], [2.0, 0.0, -0.5, 3.0, -7.0, 1.0]];

/// The product of the lengths of printed derivatives is not bounded by the text's; longer ones are not printed.
const PRINT_LIMIT: usize = 300;

fuzz_target!(|text: &str| {
    let Ok(symbols) = Symbols::new(&["x", "y"], &["a", "b", "θ"]) else { return };
    let formula = match Formula::parse(text, &symbols) {
        Ok(formula) => formula,
        Err(error) => {
            let length = text.chars().count();
            assert!(error.column().is_none_or(|column| (1..=length + 1).contains(&column)));
            assert!(!error.render(text).is_empty());
            return;
        }
    };
    assert!(reads_back(&formula, &symbols));
    let derivatives: Vec<Formula> = (0..3).map(|parameter| formula.derivative(parameter)).collect();
    if text.len() < PRINT_LIMIT {
        assert!(derivatives.iter().all(|derivative| reads_back(derivative, &symbols)));
        if let Some(linear) = formula.linear() {
            assert!(linear.features.iter().all(|feature| (0..3).all(|p| !feature.uses_parameter(p))));
        }
    }
    evaluate(&formula, &derivatives, may_overflow(text));
});

fn reads_back(formula: &Formula, symbols: &Symbols) -> bool {
    Formula::parse(&formula.to_string(), symbols).as_ref() == Ok(formula)
}

fn evaluate(formula: &Formula, derivatives: &[Formula], overflows: bool) {
    let tape = formula.compile(Order::Second);
    let mut values = vec![[0.0; 6]; tape.outputs()];
    let mut out: Vec<&mut [f64]> = values.iter_mut().map(|v| &mut v[..]).collect();
    tape.evaluate(&PARAMETERS, &[&POINTS[0], &POINTS[1]], &mut out);
    for i in 0..6 {
        let point = [POINTS[0][i], POINTS[1][i]];
        let expected = formula.evaluate_at(&PARAMETERS, &point);
        // A value that is NaN on one side only is a wrong simplification, unless numbers overflow on the way: then the order
        // of factors decides between 0, ∞ and 0·∞.
        let found = values[0][i];
        assert!(
            found.is_nan() == expected.is_nan() || overflows,
            "{formula} at {point:?}: {found}, not {expected}"
        );
        for derivative in derivatives {
            std::hint::black_box(derivative.evaluate_at(&PARAMETERS, &point));
        }
    }
}

/// Whether the numbers of a text can get too large for an `f64`: by functions that grow fast, powers, exponents of ten, or
/// very many digits.
fn may_overflow(text: &str) -> bool {
    let grows = ["exp", "sinh", "cosh", "gamma", "^"].iter().any(|word| text.contains(word));
    let signed =
        |rest: &str| rest.trim_start_matches(['+', '-']).chars().take_while(char::is_ascii_digit).count();
    let powers_of_ten = text.split(['e', 'E']).skip(1).any(|rest| signed(rest) > 1);
    grows || powers_of_ten || text.chars().filter(char::is_ascii_digit).count() > 30
}
