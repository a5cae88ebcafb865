//! The paper's three toy models: a Gaussian's mean, its variance, and the correlation of two.

use std::sync::Arc;

use noisewright::{Mixture, Model, Noise, Normal, Result};

use crate::Settings;
use crate::settings::{linear, powers_of_ten};

/// A model with one parameter, which data and noise can both have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toy {
    /// (a) The mean of N(θ, 1).
    Mean,
    /// (b) The variance of N(0, θ).
    Variance,
    /// (c) The correlation of two standard variables.
    Correlation,
}

impl Toy {
    pub(crate) const ALL: [Self; 3] = [Self::Mean, Self::Variance, Self::Correlation];

    /// The word in titles and axes.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Variance => "variance",
            Self::Correlation => "correlation",
        }
    }

    /// The title of a panel, with the paper's letter.
    pub(crate) fn title(self) -> String {
        let letter = match self {
            Self::Mean => 'a',
            Self::Variance => 'b',
            Self::Correlation => 'c',
        };
        format!("({letter}) Gaussian {}", self.word())
    }

    /// The data parameter that the paper's one-value figures are about.
    pub(crate) fn standard(self) -> f64 {
        match self {
            Self::Mean => 0.0,
            Self::Variance => 1.0,
            Self::Correlation => 0.3,
        }
    }

    /// The data parameters of figure 1.
    pub(crate) fn data_grid(self, settings: Settings) -> Vec<f64> {
        match self {
            Self::Mean => linear(-5.0, 5.0, settings.steps(20)),
            Self::Variance => powers_of_ten(-1.0, 1.0, settings.steps(20)),
            Self::Correlation => linear(-0.9, 0.9, settings.steps(30)),
        }
    }

    /// The noise parameters among which the paper looks for the best.
    pub(crate) fn noise_grid(self, settings: Settings) -> Vec<f64> {
        match self {
            Self::Mean => linear(-10.0, 10.0, settings.steps(81)),
            Self::Variance => powers_of_ten(-3.0, 2.0, settings.steps(81)),
            Self::Correlation => linear(-0.99, 0.99, settings.steps(80)),
        }
    }

    /// The model as the paper has it, normalized or with a free constant.
    pub(crate) fn model(self, normalized: bool) -> Result<Model> {
        let (variables, energy, constant, parameter) = match self {
            Self::Mean => ("'x'", "-(x - m)^2/2", " - log(2*pi)/2", "m = 0"),
            Self::Variance => ("'x'", "-x^2/(2*v)", " - log(2*pi*v)/2", "v = { start = 1, lower = 0 }"),
            Self::Correlation => (
                "'x', 'y'",
                "-(x^2 - 2*rho*x*y + y^2)/(2*(1 - rho^2))",
                " - log(1 - rho^2)/2 - log(2*pi)",
                "rho = { start = 0.3, lower = -1, upper = 1 }",
            ),
        };
        let constant = if normalized { constant } else { "" };
        Model::from_toml(&format!(
            "variables = [{variables}]\nnormalized = {normalized}\nlog_density = '{energy}{constant}'\n\
             [parameters]\n{parameter}"
        ))
    }

    /// A mixture of members from all over the noise grid of a model in one variable: nodes that suit it suit them all.
    pub(crate) fn cover(self) -> Result<Mixture<dyn Noise>> {
        let members: Vec<Arc<dyn Noise>> = match self {
            Self::Variance => {
                members(&powers_of_ten(-3.0, 2.0, 5), |v| Ok(Arc::new(Normal::with_variance(0.0, v)?)))?
            }
            _ => members(&linear(-10.0, 10.0, 10), |m| Ok(Arc::new(Normal::with_variance(m, 1.0)?)))?,
        };
        let share = 1.0 / members.len() as f64;
        Mixture::<dyn Noise>::of_shared(members.into_iter().map(|member| (share, member)).collect())
    }
}

/// Model (c), normalized, in coordinates that make expectations cheap.
///
/// With u = |x + y|/√2 and v = |x − y|/√2 every density of the model and its score are functions of (u, v), so that
/// (u, v) tell as much as (x, y) about the correlation: the errors of all designs are the same.
pub(crate) fn folded_correlation() -> Result<Model> {
    Model::from_toml(
        "variables = ['u', 'v']\nnormalized = true\ndomain = 'positive'\n\
         log_density = 'log(2/pi) - log(1 - rho^2)/2 - u^2/(2*(1 + rho)) - v^2/(2*(1 - rho))'\n\
         [parameters]\nrho = { start = 0.3, lower = -1, upper = 1 }",
    )
}

fn members(
    parameters: &[f64],
    member: impl Fn(f64) -> Result<Arc<dyn Noise>>,
) -> Result<Vec<Arc<dyn Noise>>> {
    parameters.iter().map(|p| member(*p)).collect()
}
