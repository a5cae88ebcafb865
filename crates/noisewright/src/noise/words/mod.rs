//! Noise in words: `0.7*normal(0, 1) + 0.3*student(5, 0, ?)` as data, to print back, fill in and build.

mod build;
mod error;
mod families;
mod lexer;
mod names;
mod parser;
mod print;

pub use build::Context;
pub use error::WordsError;

/// A noise as it was written: one call, or a mixture of weighted calls.
///
/// ```
/// use noisewright::NoiseWords;
/// let words = NoiseWords::parse("0.7*normal(0, ?) + 0.3*student(5, 0, 2)")?;
/// assert_eq!(words.free_count(), 1);
/// assert_eq!(words.substitute(&[1.5]).to_string(), "0.7*normal(0, 1.5) + 0.3*student(5, 0, 2)");
/// # Ok::<(), noisewright::WordsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseWords {
    /// The parts with their weights; a single part has the weight 1.
    pub terms: Vec<(Weight, Call)>,
}

/// The weight of a part of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// A number.
    Number(f64),
    /// `?`: to be found.
    Free,
}

/// A named noise with its arguments, `name(argument, …)`.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name, one of the known ones.
    pub name: String,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// Where it was written; two calls that differ only in this are equal.
    pub span: Span,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments
    }
}

/// A part of the text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A number.
    Number(f64),
    /// `?`: to be found.
    Free,
    /// `[…]`: numbers, `?` or lists.
    List(Vec<Argument>),
    /// `"…"`.
    Text(String),
    /// Another noise.
    Noise(Box<NoiseWords>),
    /// `name = value`.
    Named(String, Box<Argument>),
}

impl Call {
    /// The parameters that `model(a=1, b=2)` names, over given values.
    ///
    /// # Errors
    /// When an argument is not `name=number`, or the model has no such parameter or does not allow the value.
    pub fn parameters_of(&self, model: &crate::Model, values: &[f64]) -> crate::Result<Vec<f64>> {
        let refused = |reason: String| crate::Error::Noise { noise: self.to_string(), reason };
        let mut parameters = values.to_vec();
        for argument in &self.arguments {
            let Argument::Named(name, value) = argument else {
                return Err(refused("give parameters by name, such as model(a=1)".into()));
            };
            let Argument::Number(value) = value.as_ref() else {
                return Err(refused(format!("the value of `{name}` must be a number")));
            };
            parameters[model.index_of(name)?] = *value;
        }
        model.check(&parameters)?;
        Ok(parameters)
    }
}

impl NoiseWords {
    /// Reads a noise in words.
    ///
    /// # Errors
    /// When the text is not a noise: the error names the column and what would be right.
    pub fn parse(text: &str) -> Result<Self, WordsError> {
        parser::parse(text)
    }

    /// Number of `?`, of weights and arguments alike.
    #[must_use]
    pub fn free_count(&self) -> usize {
        let of_term = |(weight, call): &(Weight, Call)| {
            usize::from(*weight == Weight::Free)
                + call.arguments.iter().map(Argument::free_count).sum::<usize>()
        };
        self.terms.iter().map(of_term).sum()
    }

    /// The same with the `?` replaced by the values, in the order of the text; those beyond the values stay.
    ///
    /// The values of weights are shares, any positive numbers: the free weights divide among themselves, in
    /// that proportion, what the fixed ones leave of one.
    #[must_use]
    pub fn substitute(&self, values: &[f64]) -> Self {
        self.filled(&mut values.iter().copied())
    }

    fn filled(&self, values: &mut dyn Iterator<Item = f64>) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len());
        let mut shares = Vec::new();
        for (weight, call) in &self.terms {
            if *weight == Weight::Free {
                shares.extend(values.next());
            }
            terms.push((*weight, call.filled(values)));
        }
        let mut filled = Self { terms };
        filled.divide_weights(&shares);
        filled
    }

    /// Gives the free weights their shares of what the fixed weights leave; nothing when a share is missing.
    fn divide_weights(&mut self, shares: &[f64]) {
        let free = self.terms.iter().filter(|(weight, _)| *weight == Weight::Free).count();
        if shares.len() < free {
            return;
        }
        let fixed = |weight: &Weight| if let Weight::Number(w) = weight { *w } else { 0.0 };
        let left = 1.0 - self.terms.iter().map(|(weight, _)| fixed(weight)).sum::<f64>();
        let total: f64 = shares.iter().sum();
        let open = self.terms.iter_mut().filter(|(weight, _)| *weight == Weight::Free);
        for ((weight, _), share) in open.zip(shares) {
            *weight = Weight::Number(left * share / total);
        }
    }
}

impl std::str::FromStr for NoiseWords {
    type Err = WordsError;

    fn from_str(text: &str) -> Result<Self, WordsError> {
        Self::parse(text)
    }
}

impl Call {
    fn filled(&self, values: &mut dyn Iterator<Item = f64>) -> Self {
        let arguments = self.arguments.iter().map(|argument| argument.filled(values)).collect();
        Self { name: self.name.clone(), arguments, span: self.span }
    }
}

impl Argument {
    fn free_count(&self) -> usize {
        match self {
            Self::Free => 1,
            Self::List(entries) => entries.iter().map(Self::free_count).sum(),
            Self::Noise(words) => words.free_count(),
            Self::Named(_, value) => value.free_count(),
            Self::Number(_) | Self::Text(_) => 0,
        }
    }

    fn filled(&self, values: &mut dyn Iterator<Item = f64>) -> Self {
        match self {
            Self::Free => values.next().map_or(Self::Free, Self::Number),
            Self::List(entries) => Self::List(entries.iter().map(|entry| entry.filled(values)).collect()),
            Self::Noise(words) => Self::Noise(Box::new(words.filled(values))),
            Self::Named(name, value) => Self::Named(name.clone(), Box::new(value.filled(values))),
            Self::Number(_) | Self::Text(_) => self.clone(),
        }
    }
}
