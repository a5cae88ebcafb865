//! The principal type: a parsed formula with its names.

use std::fmt;
use std::sync::Arc;

use crate::derive::Differentiator;
use crate::graph::{Graph, Id, Node};
use crate::{FormulaError, Order, Symbols, Tape, linear, parser, print};

/// An expression in variables and parameters, as it was written or as a derivative.
///
/// Two formulas are equal if they are the same expression tree over the same names.
///
/// ```
/// use noisewright_formula::{Formula, Symbols};
/// let symbols = Symbols::new(&["x"], &["mu", "s"])?;
/// let formula = Formula::parse("-0.5*(x - mu)^2/exp(s)", &symbols)?;
/// assert_eq!(formula.to_string(), "-0.5*(x - mu)^2/exp(s)");
/// assert_eq!(formula.derivative(0).to_string(), "(x - mu)/exp(s)");
/// assert_eq!(formula.evaluate_at(&[1.0, 0.0], &[3.0]), -2.0);
/// # Ok::<(), noisewright_formula::FormulaError>(())
/// ```
#[derive(Clone)]
pub struct Formula {
    graph: Arc<Graph>,
    symbols: Arc<Symbols>,
}

/// A formula `offset(x) + Σ θ_j features_j(x)`, none of whose parts contains a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// What multiplies each parameter, in the parameters' order; the formula `0` for one that does not occur.
    pub features: Vec<Formula>,
    /// What stands without a parameter; the formula `0` if nothing does.
    pub offset: Formula,
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// A [`FormulaError`] that says what is wrong, in which column, and what would be right.
    pub fn parse(text: &str, symbols: &Symbols) -> Result<Self, FormulaError> {
        let graph = parser::parse(text, symbols)?;
        Ok(Self { graph: Arc::new(graph), symbols: Arc::new(symbols.clone()) })
    }

    /// The names it was read with.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The numbers written in it, each once.
    ///
    /// ```
    /// use noisewright_formula::{Formula, Symbols};
    /// let symbols = Symbols::new(&["x"], &["a"])?;
    /// assert_eq!(Formula::parse("-(x - 7)^2 / 2 + a", &symbols)?.numbers(), [7.0, 2.0]);
    /// # Ok::<(), noisewright_formula::FormulaError>(())
    /// ```
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        let value = |node: &Node| if let Node::Number(number) = node { Some(number.value()) } else { None };
        self.graph.nodes().iter().filter_map(value).collect()
    }

    /// Whether any variable occurs.
    #[must_use]
    pub fn uses_variable(&self) -> bool {
        self.graph.facts(self.root()).variable
    }

    /// Whether the parameter with this index occurs.
    #[must_use]
    pub fn uses_parameter(&self, parameter: usize) -> bool {
        self.graph.nodes().iter().any(|node| matches!(node, Node::Parameter(i) if *i as usize == parameter))
    }

    /// The names of the parameters that do not occur.
    #[must_use]
    pub fn unused_parameters(&self) -> Vec<&str> {
        let mut used = vec![false; self.symbols.parameters().len()];
        for node in self.graph.nodes() {
            if let Node::Parameter(index) = node {
                used[*index as usize] = true;
            }
        }
        names_where(self.symbols.parameters(), &used)
    }

    /// The names of the variables that do not occur.
    #[must_use]
    pub fn unused_variables(&self) -> Vec<&str> {
        let mut used = vec![false; self.symbols.variables().len()];
        for node in self.graph.nodes() {
            if let Node::Variable(index) = node {
                used[*index as usize] = true;
            }
        }
        names_where(self.symbols.variables(), &used)
    }

    /// The same formula with numbers folded, signs and factors gathered; it has the same values up to rounding.
    #[must_use]
    pub fn simplified(&self) -> Self {
        self.rewritten(|graph, root| graph.simplified(root))
    }

    /// The derivative in the parameter with this index, simplified.
    ///
    /// Kinks get a subgradient: `abs` has slope 0 at 0, `min` and `max` the mean of both slopes at a tie. Where the
    /// formula is finite, `0·∞` in the chain rule counts as 0.
    ///
    /// # Panics
    /// When there is no such parameter.
    #[must_use]
    pub fn derivative(&self, parameter: usize) -> Self {
        assert!(parameter < self.symbols.parameters().len(), "parameter {parameter} does not exist");
        self.rewritten(|graph, root| {
            let root = graph.simplified(root);
            Differentiator::new(graph).derivative(root, parameter as u32)
        })
    }

    /// The features and the offset, if the formula is linear in all its parameters jointly, up to an offset.
    ///
    /// ```
    /// use noisewright_formula::{Formula, Symbols};
    /// let symbols = Symbols::new(&["x"], &["a", "b"])?;
    /// let linear = Formula::parse("-0.5*a*(x - 1)^2 + b*log(x) - x", &symbols)?.linear().unwrap();
    /// assert_eq!(linear.features[0].to_string(), "-0.5*(x - 1)^2");
    /// assert_eq!(linear.features[1].to_string(), "log(x)");
    /// assert_eq!(linear.offset.to_string(), "-x");
    /// assert!(Formula::parse("a*b*x", &symbols)?.linear().is_none());
    /// # Ok::<(), noisewright_formula::FormulaError>(())
    /// ```
    #[must_use]
    pub fn linear(&self) -> Option<Linear> {
        let mut graph = (*self.graph).clone();
        let root = self.root();
        let (offset, features) = linear::affine(&mut graph, root, self.symbols.parameters().len())?;
        let zero = graph.number(0.0);
        let part = |id: Option<Id>| self.part(&graph, id.unwrap_or(zero));
        Some(Linear { features: features.into_iter().map(part).collect(), offset: part(offset) })
    }

    /// A program that evaluates the formula, and its derivatives up to `order`, over columns of points.
    #[must_use]
    pub fn compile(&self, order: Order) -> Tape {
        Tape::new(&self.graph, self.root(), &self.symbols, order)
    }

    /// The value at one point, node by node as it was written; a [`Tape`] is the fast way to many.
    ///
    /// # Panics
    /// When a parameter or variable has no value.
    #[must_use]
    pub fn evaluate_at(&self, parameters: &[f64], point: &[f64]) -> f64 {
        assert!(parameters.len() >= self.symbols.parameters().len(), "one value per parameter");
        assert!(point.len() >= self.symbols.variables().len(), "one value per variable");
        let mut values: Vec<f64> = Vec::with_capacity(self.graph.nodes().len());
        for node in self.graph.nodes() {
            let of = |id: Id| values[id.index()];
            let value = match *node {
                Node::Number(number) => number.value(),
                Node::Variable(index) => point[index as usize],
                Node::Parameter(index) => parameters[index as usize],
                Node::Negate(a) => -of(a),
                Node::Call(function, a) => function.value(of(a)),
                Node::Binary(binary, a, b) => binary.value(of(a), of(b)),
            };
            values.push(value);
        }
        values.last().copied().unwrap_or(f64::NAN)
    }

    #[cfg(test)]
    pub(crate) fn nodes(&self) -> &[Node] {
        self.graph.nodes()
    }

    fn root(&self) -> Id {
        Id(self.graph.nodes().len() as u32 - 1)
    }

    fn part(&self, graph: &Graph, root: Id) -> Self {
        Self { graph: Arc::new(graph.only(root)), symbols: Arc::clone(&self.symbols) }
    }

    fn rewritten(&self, rewrite: impl FnOnce(&mut Graph, Id) -> Id) -> Self {
        let mut graph = (*self.graph).clone();
        let root = rewrite(&mut graph, self.root());
        self.part(&graph, root)
    }
}

fn names_where<'a>(names: &'a [String], used: &[bool]) -> Vec<&'a str> {
    names.iter().zip(used).filter(|(_, used)| !**used).map(|(name, _)| name.as_str()).collect()
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.graph.nodes() == other.graph.nodes() && self.symbols == other.symbols
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::print(formatter, &self.graph, self.root(), &self.symbols)
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Formula({self})")
    }
}
