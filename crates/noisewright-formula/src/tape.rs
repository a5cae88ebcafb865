//! The compiled formula: a short program run over blocks of points.

use std::cell::RefCell;
use std::mem;
use std::ops::Range;

use crate::Symbols;
use crate::assemble::{Instruction, Operand, Operation, Place, Program, Scalar, assemble};
use crate::graph::{Graph, Id};
use crate::lower::lower;
use crate::operations::{self, Values};

/// Points per block: a dozen blocks of intermediate values stay in the first-level cache.
const BLOCK: usize = 512;

/// Which derivatives a [`Tape`] computes beside the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// The value alone.
    Value,
    /// The value and the first derivative in each parameter.
    First,
    /// Also the second derivatives, the upper triangle row by row: 11, 12, …, 1k, 22, …, kk.
    Second,
}

/// A formula with its derivatives in the parameters, ready to be evaluated over columns of points.
///
/// What depends on the parameters alone is computed once per call, what value and derivatives share once per point.
///
/// ```
/// use noisewright_formula::{Formula, Order, Symbols};
/// let symbols = Symbols::new(&["x"], &["mu", "s"])?;
/// let tape = Formula::parse("-0.5*(x - mu)^2/exp(s)", &symbols)?.compile(Order::First);
/// let (mut value, mut by_mu, mut by_s) = ([0.0; 2], [0.0; 2], [0.0; 2]);
/// tape.evaluate(&[1.0, 0.0], &[&[3.0, 2.0]], &mut [&mut value, &mut by_mu, &mut by_s]);
/// assert_eq!((value, by_mu, by_s), ([-2.0, -0.5], [2.0, 1.0], [2.0, 0.5]));
/// # Ok::<(), noisewright_formula::FormulaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tape {
    program: Program,
    parameters: usize,
    variables: usize,
    order: Order,
}

/// Scalars and blocks that calls on one thread reuse.
#[derive(Default)]
struct Scratch {
    scalars: Vec<f64>,
    blocks: Vec<Vec<f64>>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Tape {
    pub(crate) fn new(graph: &Graph, root: Id, symbols: &Symbols, order: Order) -> Self {
        let parameters = symbols.parameters().len();
        let lowered = lower(graph, root, parameters, order);
        Self { program: assemble(&lowered), parameters, variables: symbols.variables().len(), order }
    }

    /// Which derivatives it computes.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// How many operations one evaluation takes: shared parts count once.
    ///
    /// ```
    /// use noisewright_formula::{Formula, Order, Symbols};
    /// let count = |text: &str| {
    ///     Formula::parse(text, &Symbols::new(&["x"], &["a"]).unwrap()).unwrap().compile(Order::Value).operations()
    /// };
    /// // The exponential is computed once.
    /// assert!(count("sin(exp(x)) + cos(exp(x))") < count("sin(exp(x)) + cos(exp(2*x))"));
    /// ```
    #[must_use]
    pub fn operations(&self) -> usize {
        self.program.scalars.len() + self.program.instructions.len()
    }

    /// How many columns it writes: 1, `1 + k` or `1 + k + k(k+1)/2` for `k` parameters.
    #[must_use]
    pub fn outputs(&self) -> usize {
        let k = self.parameters;
        match self.order {
            Order::Value => 1,
            Order::First => 1 + k,
            Order::Second => 1 + k + k * (k + 1) / 2,
        }
    }

    /// Evaluates at the points whose coordinates are `columns`, one slice per variable, into `out`: the value, then
    /// the derivatives in the order that [`Order`] describes.
    ///
    /// # Panics
    /// When the number of parameters, columns or outputs is wrong, or two slices differ in length.
    pub fn evaluate(&self, parameters: &[f64], columns: &[&[f64]], out: &mut [&mut [f64]]) {
        assert_eq!(parameters.len(), self.parameters, "one value per parameter");
        assert_eq!(columns.len(), self.variables, "one column per variable");
        assert_eq!(out.len(), self.outputs(), "one buffer per output");
        let points = out[0].len();
        assert!(columns.iter().all(|c| c.len() == points), "columns as long as the outputs");
        assert!(out.iter().all(|o| o.len() == points), "outputs of one length");
        SCRATCH.with_borrow_mut(|scratch| self.run(parameters, columns, out, scratch, points));
    }

    fn run(
        &self,
        parameters: &[f64],
        columns: &[&[f64]],
        out: &mut [&mut [f64]],
        scratch: &mut Scratch,
        points: usize,
    ) {
        self.scalars(parameters, &mut scratch.scalars);
        if scratch.blocks.len() < self.program.blocks {
            scratch.blocks.resize_with(self.program.blocks, || vec![0.0; BLOCK]);
        }
        let Scratch { scalars, blocks } = scratch;
        let mut frame = Frame { columns, out, blocks, scalars, range: 0..0 };
        for start in (0..points).step_by(BLOCK) {
            frame.range = start..(start + BLOCK).min(points);
            for instruction in &self.program.instructions {
                frame.execute(instruction);
            }
        }
    }

    fn scalars(&self, parameters: &[f64], scalars: &mut Vec<f64>) {
        scalars.clear();
        for scalar in &self.program.scalars {
            let value = match *scalar {
                Scalar::Number(value) => value,
                Scalar::Parameter(index) => parameters[index],
                Scalar::Negate(a) => -scalars[a],
                Scalar::Call(function, a) => function.value(scalars[a]),
                Scalar::Binary(binary, a, b) => binary.value(scalars[a], scalars[b]),
            };
            scalars.push(value);
        }
    }
}

/// Everything an instruction can read or write, at the current block.
struct Frame<'f, 'o> {
    columns: &'f [&'f [f64]],
    out: &'f mut [&'o mut [f64]],
    blocks: &'f mut [Vec<f64>],
    scalars: &'f [f64],
    range: Range<usize>,
}

impl Frame<'_, '_> {
    fn column(&self, place: Place) -> &[f64] {
        match place {
            Place::Column(index) => &self.columns[index][self.range.clone()],
            Place::Output(index) => &self.out[index][self.range.clone()],
            Place::Block(index) => &self.blocks[index][..self.range.len()],
        }
    }

    fn values(&self, operand: Operand) -> Values<'_> {
        match operand {
            Operand::Column(place) => Values::Column(self.column(place)),
            Operand::Scalar(index) => Values::Scalar(self.scalars[index]),
        }
    }

    /// Takes the target out of the frame while it is written: nothing an instruction reads is its target.
    fn write(&mut self, target: Place, fill: impl FnOnce(&mut Self, &mut [f64])) {
        match target {
            Place::Column(_) => {}
            Place::Output(index) => {
                let out = mem::take(&mut self.out[index]);
                let range = self.range.clone();
                fill(self, &mut out[range]);
                self.out[index] = out;
            }
            Place::Block(index) => {
                let mut block = mem::take(&mut self.blocks[index]);
                let length = self.range.len();
                fill(self, &mut block[..length]);
                self.blocks[index] = block;
            }
        }
    }

    fn execute(&mut self, instruction: &Instruction) {
        let operation = instruction.operation;
        self.write(instruction.target, |frame, out| match operation {
            Operation::Copy(from) => operations::copy(out, frame.values(from)),
            Operation::Negate(a) => operations::negate(out, frame.column(a)),
            Operation::Call(function, a) => operations::call(function, out, frame.column(a)),
            Operation::Binary(binary, a, b) => {
                operations::binary(binary, out, frame.values(a), frame.values(b));
            }
            Operation::MultiplyAdd(signs, a, b, c) => {
                operations::multiply_add(signs, out, frame.column(a), frame.values(b), frame.values(c));
            }
            Operation::SoftplusSigmoid(a, second) => {
                frame.write(second, |frame, sigmoid| {
                    operations::softplus_sigmoid(frame.column(a), out, sigmoid);
                });
            }
        });
    }
}
