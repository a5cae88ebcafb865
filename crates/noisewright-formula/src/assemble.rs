//! From a lowered graph to a program: scalars first, then instructions on columns with places assigned.

use std::collections::{HashMap, HashSet};

use crate::function::{Binary, Function};
use crate::graph::{Graph, Id, Node};
use crate::lower::{Lowered, needed};

/// Where the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A variable.
    Column(usize),
    /// A result, in the caller's buffer.
    Output(usize),
    /// A block of scratch.
    Block(usize),
}

/// A column or a number that is the same for all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Column(Place),
    Scalar(usize),
}

/// The signs of a fused product and sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fused {
    /// `a*b + c`
    Add,
    /// `a*b - c`
    Subtract,
    /// `c - a*b`
    SubtractFrom,
}

/// One operation on all points of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Copy(Operand),
    Negate(Place),
    Call(Function, Place),
    /// At least one of the operands is a column.
    Binary(Binary, Operand, Operand),
    /// The first operand is a column.
    MultiplyAdd(Fused, Place, Operand, Operand),
    /// Softplus to the target, sigmoid to this place.
    SoftplusSigmoid(Place, Place),
}

/// An operation and where its result goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    pub(crate) target: Place,
}

/// How one scalar comes from the parameters and the scalars before it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar {
    Number(f64),
    Parameter(usize),
    Negate(usize),
    Call(Function, usize),
    Binary(Binary, usize, usize),
}

/// What a tape runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) blocks: usize,
}

/// Assigns places and fuses what is cheaper together.
pub(crate) fn assemble(lowered: &Lowered) -> Program {
    let order = needed(&lowered.graph, &lowered.outputs);
    let mut assembler = Assembler::new(lowered, &order);
    for &id in &order {
        if assembler.graph.facts(id).variable {
            assembler.column(id);
        } else {
            assembler.scalar(id);
        }
    }
    assembler.remaining_outputs();
    assembler.program
}

struct Assembler<'a> {
    graph: &'a Graph,
    outputs: &'a [Id],
    /// How often each node is still to be read, outputs included.
    uses: HashMap<Id, usize>,
    first_output: HashMap<Id, usize>,
    scalars: HashMap<Id, usize>,
    places: HashMap<Id, Place>,
    /// Products that are computed within the sum that uses them.
    fused: HashSet<Id>,
    free: Vec<usize>,
    program: Program,
}

impl<'a> Assembler<'a> {
    fn new(lowered: &'a Lowered, order: &[Id]) -> Self {
        let mut uses: HashMap<Id, usize> = HashMap::new();
        for &id in order {
            for operand in lowered.graph.node(id).operands() {
                *uses.entry(operand).or_default() += 1;
            }
        }
        let mut first_output = HashMap::new();
        for (index, &id) in lowered.outputs.iter().enumerate() {
            *uses.entry(id).or_default() += 1;
            first_output.entry(id).or_insert(index);
        }
        let mut assembler = Self {
            graph: &lowered.graph,
            outputs: &lowered.outputs,
            uses,
            first_output,
            scalars: HashMap::new(),
            places: HashMap::new(),
            fused: HashSet::new(),
            free: Vec::new(),
            program: Program::default(),
        };
        assembler.find_fusions(order);
        assembler
    }

    /// A product that only one sum reads is computed together with it.
    fn find_fusions(&mut self, order: &[Id]) {
        for &id in order {
            let Node::Binary(Binary::Add | Binary::Subtract, a, b) = self.graph.node(id) else { continue };
            if let Some(&product) = [a, b].iter().find(|&&operand| self.is_fusible(operand)) {
                self.fused.insert(product);
            }
        }
    }

    fn is_fusible(&self, id: Id) -> bool {
        let product = matches!(self.graph.node(id), Node::Binary(Binary::Multiply, ..));
        product && self.graph.facts(id).variable && self.uses[&id] == 1
    }

    fn scalar(&mut self, id: Id) {
        let of = |a: Id| self.scalars[&a];
        let scalar = match self.graph.node(id) {
            Node::Number(number) => Scalar::Number(number.value()),
            Node::Variable(index) | Node::Parameter(index) => Scalar::Parameter(index as usize),
            Node::Negate(a) => Scalar::Negate(of(a)),
            Node::Call(function, a) => Scalar::Call(function, of(a)),
            Node::Binary(binary, a, b) => Scalar::Binary(binary, of(a), of(b)),
        };
        self.scalars.insert(id, self.program.scalars.len());
        self.program.scalars.push(scalar);
    }

    fn column(&mut self, id: Id) {
        if let Node::Variable(index) = self.graph.node(id) {
            self.places.insert(id, Place::Column(index as usize));
            return;
        }
        if let Node::Call(Function::Sigmoid, a) = self.graph.node(id)
            && let Some(softplus) = self.needed_twin(Function::Softplus, a)
        {
            self.column(softplus);
        }
        // A product inside a sum; or one of softplus and sigmoid that came with the other.
        if self.fused.contains(&id) || self.places.contains_key(&id) {
            return;
        }
        let target = self.target(id);
        let (operation, read) = self.operation(id);
        self.program.instructions.push(Instruction { operation, target });
        self.places.insert(id, target);
        for operand in read {
            self.release(operand);
        }
    }

    /// The operation of a node, and the nodes it reads.
    fn operation(&mut self, id: Id) -> (Operation, Vec<Id>) {
        let node = self.graph.node(id);
        let read: Vec<Id> = node.operands().collect();
        let operation = match node {
            Node::Negate(a) => Operation::Negate(self.places[&a]),
            Node::Call(Function::Softplus, a) => self.softplus(a),
            Node::Call(function, a) => Operation::Call(function, self.places[&a]),
            Node::Binary(Binary::Add, a, b) if self.fused.contains(&a) => {
                return self.fuse(Fused::Add, a, b);
            }
            Node::Binary(Binary::Add, a, b) if self.fused.contains(&b) => {
                return self.fuse(Fused::Add, b, a);
            }
            Node::Binary(Binary::Subtract, a, b) if self.fused.contains(&a) => {
                return self.fuse(Fused::Subtract, a, b);
            }
            Node::Binary(Binary::Subtract, a, b) if self.fused.contains(&b) => {
                return self.fuse(Fused::SubtractFrom, b, a);
            }
            Node::Binary(binary, a, b) => Operation::Binary(binary, self.operand(a), self.operand(b)),
            Node::Number(_) | Node::Variable(_) | Node::Parameter(_) => Operation::Copy(self.operand(id)),
        };
        (operation, read)
    }

    fn fuse(&self, signs: Fused, product: Id, other: Id) -> (Operation, Vec<Id>) {
        let mut factors: Vec<Id> = self.graph.node(product).operands().collect();
        if self.scalars.contains_key(&factors[0]) {
            factors.swap(0, 1);
        }
        let (first, second) = (self.places[&factors[0]], self.operand(factors[1]));
        let operation = Operation::MultiplyAdd(signs, first, second, self.operand(other));
        factors.push(other);
        (operation, factors)
    }

    /// Softplus, together with the sigmoid of the same node if that is needed: they share their exponential.
    fn softplus(&mut self, a: Id) -> Operation {
        let from = self.places[&a];
        match self.needed_twin(Function::Sigmoid, a) {
            Some(sigmoid) => {
                let second = self.target(sigmoid);
                self.places.insert(sigmoid, second);
                self.release(a);
                Operation::SoftplusSigmoid(from, second)
            }
            None => Operation::Call(Function::Softplus, from),
        }
    }

    /// The node `function(a)` if it is needed and not yet computed.
    fn needed_twin(&self, function: Function, a: Id) -> Option<Id> {
        let twin = self.graph.find(Node::Call(function, a))?;
        (self.uses.contains_key(&twin) && !self.places.contains_key(&twin)).then_some(twin)
    }

    fn operand(&self, id: Id) -> Operand {
        match self.scalars.get(&id) {
            Some(&scalar) => Operand::Scalar(scalar),
            None => Operand::Column(self.places[&id]),
        }
    }

    /// The output that the node is, or a block of scratch.
    fn target(&mut self, id: Id) -> Place {
        if let Some(&output) = self.first_output.get(&id) {
            return Place::Output(output);
        }
        Place::Block(self.free.pop().unwrap_or_else(|| {
            self.program.blocks += 1;
            self.program.blocks - 1
        }))
    }

    fn release(&mut self, id: Id) {
        let Some(uses) = self.uses.get_mut(&id) else { return };
        *uses = uses.saturating_sub(1);
        if *uses == 0
            && let Some(Place::Block(block)) = self.places.get(&id)
        {
            self.free.push(*block);
        }
    }

    /// Outputs that no instruction writes: scalars, variables, and repetitions.
    fn remaining_outputs(&mut self) {
        for (index, &id) in self.outputs.iter().enumerate() {
            let from = self.operand(id);
            let target = Place::Output(index);
            if from != Operand::Column(target) {
                self.program.instructions.push(Instruction { operation: Operation::Copy(from), target });
            }
        }
    }
}
