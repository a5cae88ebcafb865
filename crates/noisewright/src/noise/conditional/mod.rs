//! Noise of some variables given others: words whose arguments are formulas of the covariates (MATH §11).

mod regression;

use std::sync::Arc;

use noisewright_formula::{Formula, Symbols};

pub use regression::fit_auto_given;

use super::language::NoiseContext;
use crate::{Error, Model, Noise, NoiseWords, Result, Space};

/// A distribution q(y | z) of a model's variables given its covariates.
///
/// ```
/// use noisewright::{ConditionalNoise, NoiseWords, Space, View};
/// let words = NoiseWords::parse_given("normal(2*z, 4)", &["z"]).unwrap();
/// let noise = ConditionalNoise::from_words(&words, &Space::real(&["y"])?, &["z"])?;
/// assert_eq!(noise.at(&[1.5])?.describe(), "normal(3, 4)");
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConditionalNoise {
    space: Space,
    covariates: Vec<String>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The same whatever the covariates are.
    Same(Arc<dyn Noise>),
    /// Words with a formula for each of the places that depend on them.
    Words { words: NoiseWords, formulas: Vec<Formula> },
}

impl ConditionalNoise {
    /// One noise whatever the covariates are.
    ///
    /// ```
    /// use noisewright::{ConditionalNoise, prelude::*};
    /// let noise = ConditionalNoise::same(Normal::with_variance(0.0, 4.0)?, &Space::real(&["y"])?, &["z"])?;
    /// assert_eq!(noise.at(&[1.5])?.describe(), "normal(0, 4)");
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is not of as many variables as the space has.
    pub fn same<S: AsRef<str>>(noise: impl Noise + 'static, space: &Space, covariates: &[S]) -> Result<Self> {
        Self::same_shared(Arc::new(noise), space, covariates)
    }

    /// One noise that is shared.
    ///
    /// # Errors
    /// As for [`same`](Self::same).
    pub fn same_shared<S: AsRef<str>>(
        noise: Arc<dyn Noise>,
        space: &Space,
        covariates: &[S],
    ) -> Result<Self> {
        let (expected, found) = (space.dimension(), noise.dimension());
        if expected != found {
            return Err(Error::Shape { what: "variables of the noise", expected, found });
        }
        Ok(Self { space: space.clone(), covariates: owned(covariates), kind: Kind::Same(noise) })
    }

    /// What words say, whose numbers may be formulas of the covariates.
    ///
    /// # Errors
    /// When a formula cannot be read, or the words without formulas cannot be built.
    pub fn from_words<S: AsRef<str>>(words: &NoiseWords, space: &Space, covariates: &[S]) -> Result<Self> {
        let none: [&str; 0] = [];
        let read = |text: &str| {
            let wrong = |source| Error::Formula {
                field: "noise".into(),
                text: text.into(),
                source: Box::new(source),
            };
            let symbols = Symbols::new(covariates, &none).map_err(wrong)?;
            Formula::parse(text, &symbols).map_err(wrong)
        };
        let formulas = words.formulas().into_iter().map(read).collect::<Result<Vec<_>>>()?;
        if formulas.is_empty() {
            return Self::same_shared(words.build(&NoiseContext::new(space))?, space, covariates);
        }
        let kind = Kind::Words { words: words.clone(), formulas };
        Ok(Self { space: space.clone(), covariates: owned(covariates), kind })
    }

    /// The same as it is kept in a file, for the variables and covariates of a model.
    ///
    /// # Errors
    /// When the text is no noise for them.
    pub fn parse(text: &str, model: &Model) -> Result<Self> {
        let words = NoiseWords::parse_given(text, model.covariates())
            .map_err(|error| Error::option("noise", format!("cannot be read: {error}")))?;
        Self::from_words(&words, &model.response_space()?, model.covariates())
    }

    /// The noise at values of the covariates.
    ///
    /// # Errors
    /// When there are not as many values as covariates, or the noise there is none: a variance that is negative, say.
    pub fn at(&self, covariates: &[f64]) -> Result<Arc<dyn Noise>> {
        let (expected, found) = (self.covariates.len(), covariates.len());
        if expected != found {
            return Err(Error::Shape { what: "values of covariates", expected, found });
        }
        match &self.kind {
            Kind::Same(noise) => Ok(Arc::clone(noise)),
            Kind::Words { words, formulas } => {
                let values: Vec<f64> = formulas.iter().map(|f| f.evaluate_at(&[], covariates)).collect();
                words.with_formulas(&values).build(&NoiseContext::new(&self.space))
            }
        }
    }

    /// The names of the covariates.
    #[must_use]
    pub fn covariates(&self) -> &[String] {
        &self.covariates
    }

    /// The noise in words, with formulas of the covariates.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Same(noise) => noise.describe(),
            Kind::Words { words, .. } => words.to_string(),
        }
    }
}

fn owned<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    names.iter().map(|name| name.as_ref().to_owned()).collect()
}
