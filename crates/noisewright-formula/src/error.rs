//! What is wrong with a formula or its names, where, and what would be right.

/// Why a formula or a set of names was refused; `column` counts characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// Nothing was written.
    #[error("the formula is empty; write an expression such as `-x^2/2`")]
    Empty,
    /// A name that is no variable, no parameter and not `pi`.
    #[error("unknown name `{name}` at column {column}; {advice}")]
    UnknownName {
        /// The name as written.
        name: String,
        /// Where it starts.
        column: usize,
        /// The nearest known name, if one is near.
        suggestion: Option<String>,
        /// What to write instead, in words.
        advice: String,
    },
    /// A call of something that is not a function.
    #[error("unknown function `{name}` at column {column}; {advice}")]
    UnknownFunction {
        /// The name as written.
        name: String,
        /// Where it starts.
        column: usize,
        /// The nearest known function, if one is near.
        suggestion: Option<String>,
        /// What to write instead, in words.
        advice: String,
    },
    /// An opening parenthesis without its closing one.
    #[error("the parenthesis opened at column {column} is never closed; add a `)`")]
    UnclosedParenthesis {
        /// Where it opens.
        column: usize,
    },
    /// A closing parenthesis without its opening one.
    #[error("the `)` at column {column} closes nothing; remove it or add a `(` before it")]
    UnopenedParenthesis {
        /// Where it stands.
        column: usize,
    },
    /// A character that the language does not know.
    #[error("unexpected character `{character}` at column {column}; {advice}")]
    UnexpectedCharacter {
        /// The character.
        character: char,
        /// Where it stands.
        column: usize,
        /// What to write instead, in words.
        advice: &'static str,
    },
    /// A number, name or sign where something else must stand.
    #[error("unexpected `{found}` at column {column}; {expected} must stand here")]
    UnexpectedToken {
        /// What stands there.
        found: String,
        /// What must stand there.
        expected: &'static str,
        /// Where it starts.
        column: usize,
    },
    /// The formula stops too early.
    #[error("the formula ends at column {column} where {expected} must follow")]
    UnexpectedEnd {
        /// What must follow.
        expected: &'static str,
        /// The column after the last character.
        column: usize,
    },
    /// Two operands side by side.
    #[error("an operator is missing before column {column}; write `{left}*{right}` to multiply")]
    MissingOperator {
        /// The text before the gap.
        left: String,
        /// The text after the gap.
        right: String,
        /// Where the second operand starts.
        column: usize,
    },
    /// A function's name without parentheses.
    #[error(
        "`{function}` at column {column} is a function; write its argument in parentheses, `{function}(…)`"
    )]
    MissingArguments {
        /// The function.
        function: &'static str,
        /// Where it starts.
        column: usize,
    },
    /// Too few or too many arguments.
    #[error("`{function}` at column {column} takes {expected}, not {found}")]
    ArgumentCount {
        /// The function.
        function: &'static str,
        /// How many it takes, in words.
        expected: &'static str,
        /// How many it was given.
        found: usize,
        /// Where its name starts.
        column: usize,
    },
    /// The first argument of `polygamma` is not a plain number 0, 1, …
    #[error("the order of `polygamma` at column {column} must be a whole number from 0 to {limit}")]
    PolygammaOrder {
        /// Where the order starts.
        column: usize,
        /// The largest order.
        limit: u8,
    },
    /// Parentheses nested too deeply.
    #[error(
        "more than {limit} parentheses are open at column {column}; write the formula less deeply nested"
    )]
    TooDeep {
        /// How many may be open.
        limit: usize,
        /// Where the limit is passed.
        column: usize,
    },
    /// A number that a double cannot hold.
    #[error(
        "the number `{number}` at column {column} is out of range; sizes from 5e-324 to 1.79e308 are possible"
    )]
    NumberRange {
        /// The number as written.
        number: String,
        /// Where it starts.
        column: usize,
    },
    /// A variable's or parameter's name that is not an identifier.
    #[error("`{name}` cannot be a name; use letters, digits and `_`, beginning with a letter or `_`")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// A variable's or parameter's name that the language uses itself.
    #[error("the name `{name}` already means something in formulas; choose another name")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// A name given twice.
    #[error("the name `{name}` is used twice; every variable and parameter needs its own")]
    DuplicateName {
        /// The name.
        name: String,
    },
}

impl FormulaError {
    /// The column the error points at, counted in characters from 1; `None` for errors about names.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        match self {
            Self::Empty
            | Self::InvalidName { .. }
            | Self::ReservedName { .. }
            | Self::DuplicateName { .. } => None,
            Self::UnknownName { column, .. }
            | Self::UnknownFunction { column, .. }
            | Self::UnclosedParenthesis { column }
            | Self::UnopenedParenthesis { column }
            | Self::UnexpectedCharacter { column, .. }
            | Self::UnexpectedToken { column, .. }
            | Self::UnexpectedEnd { column, .. }
            | Self::MissingOperator { column, .. }
            | Self::MissingArguments { column, .. }
            | Self::ArgumentCount { column, .. }
            | Self::PolygammaOrder { column, .. }
            | Self::TooDeep { column, .. }
            | Self::NumberRange { column, .. } => Some(*column),
        }
    }

    /// The sentence, and below it the line of `text` it is about with a caret under the column.
    ///
    /// ```
    /// use noisewright_formula::{Formula, Symbols};
    /// let text = "-a*exq(x)";
    /// let error = Formula::parse(text, &Symbols::new(&["x"], &["a"])?).unwrap_err();
    /// assert_eq!(
    ///     error.render(text),
    ///     "unknown function `exq` at column 4; did you mean `exp`?\n  -a*exq(x)\n     ^"
    /// );
    /// # Ok::<(), noisewright_formula::FormulaError>(())
    /// ```
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        let Some(column) = self.column() else { return self.to_string() };
        let mut before = 0;
        for line in text.split('\n') {
            let length = line.chars().count();
            if column <= before + length + 1 {
                let shown: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                let indent = " ".repeat(column - before - 1);
                return format!("{self}\n  {shown}\n  {indent}^");
            }
            before += length + 1;
        }
        self.to_string()
    }
}
