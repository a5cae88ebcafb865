//! Noise in words: `0.7*normal(0, 1) + 0.3*student(5, 0, ?)` as data, to print back, fill in and build.

mod build;
mod error;
mod families;
mod lexer;
mod names;
mod parser;
mod print;
mod space;

use crate::text::rounded;

pub use build::NoiseContext;
pub use error::WordsError;
pub use space::space_of;

/// A noise as it was written: one call, or a mixture of weighted calls.
///
/// ```
/// use noisewright::NoiseWords;
/// let words = NoiseWords::parse("0.7*normal(0, ?) + 0.3*student(5, 0, 2)")?;
/// assert_eq!(words.free_count(), 1);
/// assert_eq!(words.substitute(&[1.5]).to_string(), "0.7*normal(0, 1.5) + 0.3*student(5, 0, 2)");
/// # Ok::<(), noisewright::parts::WordsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseWords {
    /// The parts with their weights; a single part has the weight 1.
    #[doc(hidden)]
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
#[non_exhaustive]
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
    /// A formula of covariates, `2*z`.
    Formula(String),
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
        parser::parse(text, &[])
    }

    /// Reads a noise whose arguments may be formulas of covariates.
    ///
    /// ```
    /// use noisewright::NoiseWords;
    /// let words = NoiseWords::parse_given("0.5*normal(1 + 2*z, 4) + 0.5*student(5, -z, exp(z/2))", &["z"])?;
    /// assert_eq!(words.formulas(), ["1 + 2*z", "-z", "exp(z/2)"]);
    /// assert_eq!(words.with_formulas(&[3.0, -1.0, 1.5]).to_string(), "0.5*normal(3, 4) + 0.5*student(5, -1, 1.5)");
    /// # Ok::<(), noisewright::parts::WordsError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`parse`](Self::parse); what is wrong with a formula is found when the noise is made.
    pub fn parse_given<S: AsRef<str>>(text: &str, covariates: &[S]) -> Result<Self, WordsError> {
        let covariates: Vec<String> = covariates.iter().map(|name| name.as_ref().to_owned()).collect();
        parser::parse(text, &covariates)
    }

    /// The formulas of covariates, in the order of the text.
    #[must_use]
    pub fn formulas(&self) -> Vec<&str> {
        let mut out = Vec::new();
        self.terms.iter().flat_map(|(_, call)| &call.arguments).for_each(|a| a.add_formulas(&mut out));
        out
    }

    /// The same with the formulas replaced by values, in the order of the text; those beyond the values stay.
    #[must_use]
    pub fn with_formulas(&self, values: &[f64]) -> Self {
        self.map_formulas(&mut values.iter().copied())
    }

    /// One call.
    pub(crate) fn of_call(name: &str, arguments: Vec<Argument>) -> Self {
        let call = Call { name: name.to_owned(), arguments, span: Span::default() };
        Self { terms: vec![(Weight::Number(1.0), call)] }
    }

    /// The same with every part, but none within another, replaced.
    pub(crate) fn map_calls(&self, change: &dyn Fn(&Call) -> Call) -> Self {
        Self { terms: self.terms.iter().map(|(weight, call)| (*weight, change(call))).collect() }
    }

    fn map_formulas(&self, values: &mut dyn Iterator<Item = f64>) -> Self {
        let call = |call: &Call, values: &mut dyn Iterator<Item = f64>| Call {
            name: call.name.clone(),
            arguments: call.arguments.iter().map(|argument| argument.map_formulas(values)).collect(),
            span: call.span,
        };
        Self { terms: self.terms.iter().map(|(weight, part)| (*weight, call(part, values))).collect() }
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

    /// The same with every number rounded to so many significant digits, for people.
    ///
    /// ```
    /// use noisewright::NoiseWords;
    /// let words = NoiseWords::parse("normal(1.4983038587852444, 0.5)")?;
    /// assert_eq!(words.rounded(6).to_string(), "normal(1.4983, 0.5)");
    /// # Ok::<(), noisewright::parts::WordsError>(())
    /// ```
    #[must_use]
    pub fn rounded(&self, digits: usize) -> Self {
        let weight = |weight: &Weight| match weight {
            Weight::Number(w) => Weight::Number(rounded(*w, digits)),
            Weight::Free => Weight::Free,
        };
        Self { terms: self.terms.iter().map(|(w, call)| (weight(w), call.rounded(digits))).collect() }
    }

    /// Whether some part is fitted to data: a family without its numbers, `kde`, `product` or `auto`.
    ///
    /// ```
    /// use noisewright::NoiseWords;
    /// assert!(NoiseWords::parse("0.5*normal(0, 1) + 0.5*student")?.is_fitted());
    /// assert!(!NoiseWords::parse("0.5*normal(0, 1) + 0.5*data")?.is_fitted());
    /// # Ok::<(), noisewright::parts::WordsError>(())
    /// ```
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        self.calls().iter().any(|call| match call.name.as_str() {
            "auto" | "kde" => true,
            // Without numbers it is uniform on the domain.
            "uniform" => false,
            "student" => call.arguments.len() < 2,
            name => names::BUILT.contains(&name) && call.arguments.is_empty(),
        })
    }

    /// Whether some part is a noise of this name.
    #[must_use]
    pub fn mentions(&self, name: &str) -> bool {
        self.calls().iter().any(|call| call.name == name)
    }

    /// The files that parts of the form `file("…")` name.
    ///
    /// ```
    /// use noisewright::NoiseWords;
    /// let words = NoiseWords::parse("0.5*file(\"design.json\") + 0.5*normal(0, 1)")?;
    /// assert_eq!(words.files(), ["design.json"]);
    /// # Ok::<(), noisewright::parts::WordsError>(())
    /// ```
    #[must_use]
    pub fn files(&self) -> Vec<&str> {
        let calls = self.calls().into_iter().filter(|call| call.name == "file");
        let arguments = calls.flat_map(|call| &call.arguments);
        arguments.filter_map(Argument::as_text).collect()
    }

    /// All calls, those within others with them.
    fn calls(&self) -> Vec<&Call> {
        let mut calls = Vec::new();
        for (_, call) in &self.terms {
            calls.push(call);
            for argument in &call.arguments {
                if let Argument::Noise(words) = argument {
                    calls.extend(words.calls());
                }
            }
        }
        calls
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
    fn rounded(&self, digits: usize) -> Self {
        let arguments = self.arguments.iter().map(|argument| argument.rounded(digits)).collect();
        Self { name: self.name.clone(), arguments, span: self.span }
    }

    fn filled(&self, values: &mut dyn Iterator<Item = f64>) -> Self {
        let arguments = self.arguments.iter().map(|argument| argument.filled(values)).collect();
        Self { name: self.name.clone(), arguments, span: self.span }
    }
}

impl Argument {
    fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn free_count(&self) -> usize {
        match self {
            Self::Free => 1,
            Self::List(entries) => entries.iter().map(Self::free_count).sum(),
            Self::Noise(words) => words.free_count(),
            Self::Named(_, value) => value.free_count(),
            Self::Number(_) | Self::Text(_) | Self::Formula(_) => 0,
        }
    }

    fn rounded(&self, digits: usize) -> Self {
        match self {
            Self::Number(x) => Self::Number(rounded(*x, digits)),
            Self::List(entries) => Self::List(entries.iter().map(|entry| entry.rounded(digits)).collect()),
            Self::Noise(words) => Self::Noise(Box::new(words.rounded(digits))),
            Self::Named(name, value) => Self::Named(name.clone(), Box::new(value.rounded(digits))),
            Self::Free | Self::Text(_) | Self::Formula(_) => self.clone(),
        }
    }

    fn filled(&self, values: &mut dyn Iterator<Item = f64>) -> Self {
        match self {
            Self::Free => values.next().map_or(Self::Free, Self::Number),
            Self::List(entries) => Self::List(entries.iter().map(|entry| entry.filled(values)).collect()),
            Self::Noise(words) => Self::Noise(Box::new(words.filled(values))),
            Self::Named(name, value) => Self::Named(name.clone(), Box::new(value.filled(values))),
            Self::Number(_) | Self::Text(_) | Self::Formula(_) => self.clone(),
        }
    }

    fn add_formulas<'a>(&'a self, out: &mut Vec<&'a str>) {
        match self {
            Self::Formula(text) => out.push(text),
            Self::List(entries) => entries.iter().for_each(|entry| entry.add_formulas(out)),
            Self::Noise(words) => out.extend(words.formulas()),
            Self::Named(_, value) => value.add_formulas(out),
            Self::Free | Self::Number(_) | Self::Text(_) => {}
        }
    }

    fn map_formulas(&self, values: &mut dyn Iterator<Item = f64>) -> Self {
        match self {
            Self::Formula(_) => values.next().map_or_else(|| self.clone(), Self::Number),
            Self::List(entries) => {
                Self::List(entries.iter().map(|entry| entry.map_formulas(values)).collect())
            }
            Self::Noise(words) => Self::Noise(Box::new(words.map_formulas(values))),
            Self::Named(name, value) => Self::Named(name.clone(), Box::new(value.map_formulas(values))),
            Self::Free | Self::Number(_) | Self::Text(_) => self.clone(),
        }
    }
}
