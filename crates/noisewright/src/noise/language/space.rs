//! The space that a noise in words speaks of, where no model and no data tell.

use super::{Argument, Call, NoiseWords};
use crate::{Domain, Result, Space};

/// The space that a noise speaks of: that of its first part, and one real variable where it tells nothing.
///
/// # Errors
/// When its domains are none of a space.
pub fn space_of(words: &NoiseWords) -> Result<Space> {
    let Some((_, call)) = words.terms.first() else { return Space::real(&["x"]) };
    let parts: Vec<&Call> = call.arguments.iter().filter_map(first_part).collect();
    let domains = if call.name == "product" && !parts.is_empty() {
        parts.into_iter().map(domain_of).collect()
    } else {
        vec![domain_of(call); length_of(call)]
    };
    let name = |j: usize| if domains.len() == 1 { "x".to_owned() } else { format!("x{j}") };
    if call.name == "von-mises-fisher" {
        return Space::sphere(&(0..domains.len()).map(name).collect::<Vec<_>>());
    }
    let named = domains.iter().cloned().enumerate().map(|(j, domain)| (name(j), domain));
    Space::product(&named.collect::<Vec<_>>())
}

/// The first part of a noise that is an argument of another.
fn first_part(argument: &Argument) -> Option<&Call> {
    match argument {
        Argument::Noise(words) => words.terms.first().map(|(_, call)| call),
        _ => None,
    }
}

/// Number of variables: the length of a vector among the arguments.
fn length_of(call: &Call) -> usize {
    let vector = |argument: &Argument| match argument {
        Argument::List(entries) if !matches!(entries.first(), Some(Argument::List(_))) => Some(entries.len()),
        _ => None,
    };
    let several = matches!(call.name.as_str(), "normal" | "student" | "von-mises-fisher");
    call.arguments.iter().find_map(vector).filter(|_| several).unwrap_or(1).max(1)
}

/// Where the values of a named noise lie.
fn domain_of(call: &Call) -> Domain {
    match call.name.as_str() {
        "poisson" | "negative-binomial" => Domain::Counts,
        "bernoulli" => Domain::States(vec![0.0, 1.0]),
        "categorical" => states_of(call).map_or(Domain::Real, Domain::States),
        "von-mises" => Domain::Circle,
        "truncate" => call.arguments.first().and_then(first_part).map_or(Domain::Real, domain_of),
        _ => Domain::Real,
    }
}

/// The states that `categorical([…], […])` lists.
fn states_of(call: &Call) -> Option<Vec<f64>> {
    let Some(Argument::List(states)) = call.arguments.first() else { return None };
    let number = |state: &Argument| match state {
        Argument::Number(state) => Some(*state),
        _ => None,
    };
    states.iter().map(number).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn domains(text: &str) -> Vec<Domain> {
        space_of(&NoiseWords::parse(text).unwrap()).unwrap().domains().to_vec()
    }

    #[test]
    fn words_tell_how_many_variables_there_are_and_where() {
        assert_eq!(domains("normal(0, 1)"), [Domain::Real]);
        assert_eq!(domains("normal([0, 1], [[1, 0], [0, 1]])"), [Domain::Real, Domain::Real]);
        assert_eq!(domains("0.5*poisson(3) + 0.5*poisson(9)"), [Domain::Counts]);
        assert_eq!(domains("product(poisson(2), normal(0, 1))"), [Domain::Counts, Domain::Real]);
        assert_eq!(domains("truncate(von-mises(0, 1), 0, 1)"), [Domain::Circle]);
        assert_eq!(domains("categorical([-1, 2], [0.5, 0.5])"), [Domain::States(vec![-1.0, 2.0])]);
        let sphere = space_of(&NoiseWords::parse("von-mises-fisher([0, 0, 1], 2)").unwrap()).unwrap();
        assert!(sphere.is_sphere() && sphere.dimension() == 3);
    }
}
