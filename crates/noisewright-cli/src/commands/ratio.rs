//! `noisewright ratio`: the logarithm of the ratio of two densities, from a sample of each.

mod density;
mod points;
mod show;

use noisewright::fit::FitOptions;
use noisewright::internal;
use noisewright::parts::RatioFit;
use noisewright::{Model, Parameter, Space, View};

use crate::arguments::{Global, RatioArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs;
use crate::output;
use crate::progress::Progress;
use crate::rows::Rows;

pub(super) use self::density::{choices, path_section};
use self::points::Points;
pub(super) use self::points::listed;

/// A fitted ratio, and what it was made of.
struct Answer {
    fit: RatioFit,
    features: String,
    first: Rows,
    second: Rows,
    points: Option<Points>,
}

pub(crate) fn run(arguments: &RatioArguments, global: &Global) -> Outcome<()> {
    if arguments.features.is_none() || arguments.path.bridges.is_some() {
        return density::run(arguments, global);
    }
    let idle = [
        ("--importance", arguments.importance.is_some()),
        ("--permutations", arguments.permutations.is_some()),
    ];
    if let Some((flag, _)) = idle.into_iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!("{flag} is for a ratio without --features, or with --bridges")));
    }
    let options = FitOptions {
        loss: inputs::loss(&arguments.loss)?,
        confidence: arguments.errors.confidence,
        errors: arguments.errors.covariance.kind(),
        max_iterations: arguments.search.max_iterations,
        tolerance: arguments.search.tolerance,
        seed: global.seed,
        ..FitOptions::default()
    };
    options.check()?;
    let progress = Progress::new(global.quiet || global.json, "reading the data");
    let names = points::columns(arguments)?;
    let space = Space::real(&names)?;
    if arguments.out.is_some() {
        points::refuse_columns(&names)?;
    }
    let (model, features) = model(arguments.features.as_deref().unwrap_or("quadratic"), &names)?;
    let first = Rows::read(std::slice::from_ref(&arguments.first), &space, &arguments.first_rows())?;
    let second = Rows::read(std::slice::from_ref(&arguments.second), &space, &arguments.other_rows())?;
    let options = FitOptions { progress: Some(progress.hook()), ..options };
    let fit = internal::fit::ratio(&model, first.data_in_order(), second.data_in_order(), &options)?;
    if let Some(warning) = fit.fit.diagnostics.no_answer() {
        return Err(Failure::NoAnswer(warning.in_words(&output::typed)));
    }
    let values = |view: View<'_>| -> Outcome<_> { Ok((fit.log_ratio_at(view)?, None)) };
    let points =
        arguments.points.as_ref().map(|path| Points::read(path, &space, arguments, values)).transpose()?;
    drop(progress);
    let answer = Answer { fit, features: features.join(", "), first, second, points };
    if let (Some(path), Some(points)) = (&arguments.out, &answer.points) {
        points.write(path)?;
    }
    let json = show::json(&answer, arguments.matrices)?;
    output::write_report(global, || show::page(&answer), &json)?;
    if global.json { output::print_json(&json) } else { output::print(&show::text(&answer)) }
}

/// The model of the log ratio, and its features as they are shown.
///
/// A column may be called `petal length`, `exp` or `a-b`, which a formula reads otherwise: the features that are made here
/// are then written with other names, and keep their own.
pub(super) fn model(words: &str, names: &[String]) -> Outcome<(Model, Vec<String>)> {
    let shown = features(words, names);
    let made = matches!(words.trim(), "linear" | "quadratic");
    let plain = names.iter().all(|name| is_plain(name));
    let space = Space::real(names)?;
    match Model::from_features(&shown, space, Vec::new()) {
        Ok(model) if plain || !made => Ok((model, shown)),
        Err(error) if !made => Err(Failure::Usage(format!("--features: {error}"))),
        _ => {
            let stand_ins: Vec<String> = (1..=names.len()).map(|j| format!("x{j}")).collect();
            let parameters = shown.iter().map(|name| Parameter::new(name, 0.0)).collect();
            let model =
                Model::from_features(&features(words, &stand_ins), Space::real(&stand_ins)?, parameters)?;
            Ok((model, shown))
        }
    }
}

/// Whether a formula reads a name as one.
fn is_plain(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `linear`, `quadratic`, or formulas with commas between them.
fn features(words: &str, names: &[String]) -> Vec<String> {
    let linear = || names.iter().cloned();
    match words.trim() {
        "linear" => linear().collect(),
        "quadratic" => {
            let squares = names.iter().map(|name| format!("{name}^2"));
            let products = (0..names.len())
                .flat_map(|i| (i + 1..names.len()).map(move |j| format!("{}*{}", names[i], names[j])));
            linear().chain(squares).chain(products).collect()
        }
        formulas => split(formulas),
    }
}

/// Splits at commas outside parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_i32);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_by_name_or_by_formula() {
        let names = ["x".to_owned(), "y".to_owned()];
        assert_eq!(features("quadratic", &names), ["x", "y", "x^2", "y^2", "x*y"]);
        assert_eq!(features("linear", &names), ["x", "y"]);
        assert_eq!(features(" x, max(x, y) ,x*y,", &names), ["x", "max(x, y)", "x*y"]);
    }

    #[test]
    fn columns_may_have_any_name() {
        let names =
            ["a".to_owned(), "b".to_owned(), "a-b".to_owned(), "petal length".to_owned(), "exp".to_owned()];
        for words in ["linear", "quadratic"] {
            let (model, shown) = model(words, &names).unwrap();
            assert_eq!(model.coordinates()[..shown.len()], shown[..]);
            let theta: Vec<f64> = (0..shown.len()).map(|j| f64::from(u8::from(j == 2))).collect();
            // The third feature is the third column, not the difference of the first two.
            let mut value = [0.0];
            model.evaluate(&theta, View::new(5, 1, &[1.0, 2.0, 7.0, 4.0, 5.0]), &mut value, None).unwrap();
            assert_eq!(value, [7.0]);
        }
        assert!(model("a, exp", &names).is_err());
    }
}
