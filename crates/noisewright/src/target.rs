//! What error is measured: a quadratic form in the estimation error (MATH §3).

use nalgebra::DMatrix;

use crate::names::nearest;
use crate::{Error, Result};

/// The quadratic target M of `tr(ΣM)`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Target {
    /// The mean squared error of all coordinates, the constant with them where it is estimated (M = identity).
    #[default]
    Mse,
    /// The expected Kullback–Leibler divergence from the truth to the estimate (M = I/2).
    Kl,
    /// The mean squared error of some coordinates, by name.
    Coordinates(Vec<String>),
    /// The mean squared error of the answer to a question: a formula of the parameters such as `b/a`, and of `density(x)` and
    /// `log_density(x)` at points, such as `density(1.2) - density(0.3)`; M = hhᵀ with h its slope in the unknowns.
    Question(String),
    /// Any symmetric positive semi-definite matrix.
    Matrix(DMatrix<f64>),
}

impl Target {
    /// From its name: `mse`, `kl`, a comma-separated list of parameters, or a question. What looks like a formula and is the name
    /// of a parameter, such as a feature's, is that parameter.
    ///
    /// ```
    /// use noisewright::Target;
    /// assert_eq!(Target::parse("kl"), Target::Kl);
    /// assert_eq!(Target::parse("a, b"), Target::Coordinates(vec!["a".into(), "b".into()]));
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "mse" => Self::Mse,
            "kl" => Self::Kl,
            question if question.contains(['(', '+', '*', '/', '^', '`']) || question.contains(" - ") => {
                Self::Question(question.to_owned())
            }
            list => Self::Coordinates(names(list)),
        }
    }

    /// The matrix M, given the names of β's coordinates and the information matrix I.
    ///
    /// # Errors
    /// When a name is not a coordinate, or a given matrix has another size or is not symmetric.
    pub fn matrix(&self, coordinates: &[String], information: &DMatrix<f64>) -> Result<DMatrix<f64>> {
        let size = coordinates.len();
        match self {
            Self::Mse => Ok(DMatrix::identity(size, size)),
            Self::Kl => Ok(0.5 * information),
            Self::Coordinates(names) => of_names(names, coordinates),
            Self::Question(text) => of_names(&names(text), coordinates),
            Self::Matrix(matrix) => check(matrix, size),
        }
    }

    /// Checks it against the names of β's coordinates.
    ///
    /// # Errors
    /// As for [`Target::matrix`].
    pub fn check(&self, coordinates: &[String]) -> Result<()> {
        match self {
            Self::Mse | Self::Kl => Ok(()),
            Self::Coordinates(names) => {
                names.iter().try_for_each(|name| position(name, coordinates).map(|_| ()))
            }
            // What it asks is known at parameters only.
            Self::Question(_) => Ok(()),
            Self::Matrix(matrix) => check(matrix, coordinates.len()).map(|_| ()),
        }
    }
}

impl std::str::FromStr for Target {
    type Err = std::convert::Infallible;

    /// As [`Target::parse`]: any other word is the name of a parameter, which the model knows or refuses.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mse => f.write_str("mse"),
            Self::Kl => f.write_str("kl"),
            Self::Coordinates(names) => f.write_str(&names.join(",")),
            Self::Question(text) => f.write_str(text),
            Self::Matrix(_) => f.write_str("matrix"),
        }
    }
}

/// The names in a list.
pub(crate) fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

/// Ones at the places of some coordinates.
fn of_names(names: &[String], coordinates: &[String]) -> Result<DMatrix<f64>> {
    let mut matrix = DMatrix::zeros(coordinates.len(), coordinates.len());
    for name in names {
        let at = position(name, coordinates)?;
        matrix[(at, at)] = 1.0;
    }
    Ok(matrix)
}

fn position(name: &str, coordinates: &[String]) -> Result<usize> {
    coordinates.iter().position(|known| known == name).ok_or_else(|| Error::UnknownParameter {
        name: name.into(),
        nearest: nearest(name, coordinates.iter().map(String::as_str)).map(Into::into),
        known: coordinates.to_vec(),
    })
}

fn check(matrix: &DMatrix<f64>, size: usize) -> Result<DMatrix<f64>> {
    if matrix.nrows() != size || matrix.ncols() != size {
        return Err(Error::Shape {
            what: "rows of the target matrix",
            expected: size,
            found: matrix.nrows(),
        });
    }
    let scale = matrix.amax();
    let lopsided = (matrix - matrix.transpose()).amax() > 1e-12 * scale;
    let negative = matrix.clone().symmetric_eigenvalues().min() < -1e-10 * scale;
    if lopsided || negative || !scale.is_finite() {
        return Err(Error::Target);
    }
    Ok(matrix.clone())
}
