//! The families of one variable: what they are for, what they take, and how they are made.

use std::sync::Arc;

use crate::noise::fitting::failed;
use crate::{
    Beta, Categorical, Domain, Gamma, Laplace, LogNormal, Logistic, NegativeBinomial, Normal, Poisson,
    Result, Scalar, Student, Uniform, View, VonMises,
};

/// What the values of a family are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Line,
    Circle,
    Counts,
    States,
}

/// A family of one variable: its name, what its values are, and how its arguments are called.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) arguments: &'static str,
    /// The numbers of arguments that it takes besides none.
    pub(super) counts: &'static [usize],
}

/// Every family of one variable.
pub(super) const FAMILIES: [Family; 13] = [
    Family { name: "normal", kind: Kind::Line, arguments: "mean, variance", counts: &[2] },
    Family { name: "student", kind: Kind::Line, arguments: "dof, location, scale", counts: &[1, 3] },
    Family { name: "uniform", kind: Kind::Line, arguments: "lo, hi", counts: &[2] },
    Family { name: "laplace", kind: Kind::Line, arguments: "location, scale", counts: &[2] },
    Family { name: "logistic", kind: Kind::Line, arguments: "location, scale", counts: &[2] },
    Family { name: "gamma", kind: Kind::Line, arguments: "shape, rate", counts: &[2] },
    Family { name: "beta", kind: Kind::Line, arguments: "a, b", counts: &[2, 4] },
    Family { name: "lognormal", kind: Kind::Line, arguments: "mu, sigma", counts: &[2] },
    Family { name: "von-mises", kind: Kind::Circle, arguments: "mean, concentration", counts: &[2] },
    Family { name: "poisson", kind: Kind::Counts, arguments: "mean", counts: &[1] },
    Family { name: "negative-binomial", kind: Kind::Counts, arguments: "mean, size", counts: &[2] },
    Family { name: "bernoulli", kind: Kind::States, arguments: "probability", counts: &[1] },
    Family { name: "categorical", kind: Kind::States, arguments: "[states], [probabilities]", counts: &[] },
];

impl Family {
    /// The family of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }

    /// Why the family cannot stand on this domain, and what can.
    pub(super) fn mismatch(&self, variable: &str, domain: &Domain) -> Option<String> {
        let advice = match (self.kind, domain) {
            (_, Domain::Circle) if self.kind == Kind::Circle => return None,
            (_, Domain::Circle) => format!(
                "`{variable}` is an angle; use von-mises(mean, concentration), or uniform without arguments"
            ),
            (Kind::States, Domain::States(_)) | (Kind::Counts | Kind::States, Domain::Counts) => return None,
            (_, Domain::States(_)) => {
                format!("`{variable}` has finitely many states; use bernoulli, product or uniform")
            }
            (_, Domain::Counts) => format!("`{variable}` is a count; use poisson or negative-binomial"),
            (Kind::Line, _) => return None,
            (Kind::Circle, _) => format!("it is for angles and `{variable}` is none; use normal or student"),
            (Kind::Counts | Kind::States, _) => {
                format!("it is discrete and `{variable}` is continuous; use normal or student")
            }
        };
        Some(advice)
    }

    /// The distribution with these arguments, on this domain.
    pub(super) fn build(&self, arguments: &[f64], domain: &Domain) -> Result<Arc<dyn Scalar>> {
        Ok(match (self.name, arguments) {
            ("normal", &[mean, variance]) => Arc::new(Normal::with_variance(mean, variance)?),
            ("student", &[dof, location, scale]) => Arc::new(Student::new(dof, location, scale)?),
            ("uniform", &[lo, hi]) => Arc::new(Uniform::new(lo, hi)?),
            ("laplace", &[location, scale]) => Arc::new(Laplace::new(location, scale)?),
            ("logistic", &[location, scale]) => Arc::new(Logistic::new(location, scale)?),
            ("gamma", &[shape, rate]) => Arc::new(Gamma::new(shape, rate)?),
            ("beta", &[a, b]) => {
                let (lo, hi) = unit_of(domain);
                Arc::new(Beta::new(a, b)?.on(lo, hi)?)
            }
            ("beta", &[a, b, lo, hi]) => Arc::new(Beta::new(a, b)?.on(lo, hi)?),
            ("lognormal", &[mu, sigma]) => Arc::new(LogNormal::new(mu, sigma)?),
            ("von-mises", &[mean, concentration]) => Arc::new(VonMises::new(mean, concentration)?),
            ("poisson", &[mean]) => Arc::new(Poisson::new(mean)?),
            ("negative-binomial", &[mean, size]) => Arc::new(NegativeBinomial::new(mean, size)?),
            ("bernoulli", &[probability]) => Arc::new(bernoulli(probability, domain)?),
            (name, _) => return Err(self.wrong_count(name, arguments.len())),
        })
    }

    /// The distribution fitted to one variable's data, each row counting as its weight says; `arguments` is empty or the degrees
    /// of freedom.
    pub(super) fn fit(
        &self,
        arguments: &[f64],
        domain: &Domain,
        data: View<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Arc<dyn Scalar>> {
        let dof = arguments.first().copied().unwrap_or(Student::DEFAULT_DOF);
        let (lo, hi) = unit_of(domain);
        Ok(match self.name {
            "normal" => Arc::new(Normal::fit(data, weights)?),
            "student" => Arc::new(Student::fit_with_dof(dof, data, weights)?),
            "laplace" => Arc::new(Laplace::fit(data, weights)?),
            "logistic" => Arc::new(Logistic::fit(data, weights)?),
            "gamma" => Arc::new(Gamma::fit(data, weights)?),
            "beta" => Arc::new(Beta::fit_on(lo, hi, data, weights)?),
            "lognormal" => Arc::new(LogNormal::fit(data, weights)?),
            "von-mises" => Arc::new(VonMises::fit(data, weights)?),
            "poisson" => Arc::new(Poisson::fit(data, weights)?),
            "negative-binomial" => Arc::new(NegativeBinomial::fit(data, weights)?),
            "bernoulli" | "categorical" => Arc::new(fit_states(domain, data, weights)?),
            name => return Err(self.wrong_count(name, arguments.len())),
        })
    }

    /// The error of a wrong number of arguments.
    pub(super) fn wrong_count(&self, name: &str, found: usize) -> crate::Error {
        let plural = if found == 1 { "" } else { "s" };
        failed(name, &format!("it takes ({}), not {found} argument{plural}", self.arguments))
    }
}

/// The marginal that `product` fits to a variable of this domain.
pub(super) fn fit_marginal(
    domain: &Domain,
    data: View<'_>,
    weights: Option<&[f64]>,
) -> Result<Arc<dyn Scalar>> {
    Ok(match domain {
        Domain::Real => Arc::new(Normal::fit(data, weights)?),
        Domain::Positive => Arc::new(Gamma::fit(data, weights)?),
        Domain::Interval(lo, hi) => Arc::new(Beta::fit_on(*lo, *hi, data, weights)?),
        Domain::Circle => Arc::new(VonMises::fit(data, weights)?),
        Domain::States(_) => Arc::new(fit_states(domain, data, weights)?),
        Domain::Counts => {
            let poisson = Poisson::fit(data, weights)?;
            // Counts that vary no more than Poisson ones have no negative binomial fit.
            NegativeBinomial::fit(data, weights).map_or_else(
                |_| -> Arc<dyn Scalar> { Arc::new(poisson) },
                |negative_binomial| Arc::new(negative_binomial),
            )
        }
    })
}

/// Uniform on a bounded domain.
pub(super) fn uniform_on(variable: &str, domain: &Domain) -> Result<Arc<dyn Scalar>> {
    Ok(match domain {
        Domain::Interval(lo, hi) => Arc::new(Uniform::new(*lo, *hi)?),
        Domain::Circle => Arc::new(VonMises::new(0.0, 0.0)?),
        Domain::States(states) => Arc::new(Categorical::uniform(states)?),
        Domain::Real | Domain::Positive | Domain::Counts => {
            let reason =
                format!("the domain of `{variable}` is unbounded; give the ends, as in uniform(0, 1)");
            return Err(failed("uniform", &reason));
        }
    })
}

/// The interval on which a beta distribution stands when its ends are not given.
fn unit_of(domain: &Domain) -> (f64, f64) {
    if let Domain::Interval(lo, hi) = domain { (*lo, *hi) } else { (0.0, 1.0) }
}

fn bernoulli(probability: f64, domain: &Domain) -> Result<Categorical> {
    match domain {
        Domain::States(states) if states.len() == 2 => {
            Categorical::bernoulli(states[0].min(states[1]), states[0].max(states[1]), probability)
        }
        Domain::Counts => Categorical::bernoulli(0.0, 1.0, probability),
        _ => Err(failed("bernoulli", "with a probability it needs a variable of exactly two states")),
    }
}

/// Frequencies with half a count added to each state, so that none is impossible.
fn fit_states(domain: &Domain, data: View<'_>, weights: Option<&[f64]>) -> Result<Categorical> {
    match domain {
        Domain::States(states) => Categorical::fit_to_states(states, 0.5, data, weights),
        _ => Categorical::fit(data, weights),
    }
}
