//! A family whose parameters are formulas of covariates: `log_rate = b0 + b1*z`.

use std::ops::Range;
use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_formula::{Formula, Order, Symbols, Tape};

use super::forward;
use crate::{Energy, Error, Result, View};

/// An energy whose own parameters η are functions of the covariates, its last variables, and of parameters θ.
pub(crate) struct LinkedEnergy {
    inner: Arc<dyn Energy>,
    /// Names of θ.
    names: Vec<String>,
    covariates: usize,
    /// One for each of the inner parameters, with its first two derivatives in θ.
    links: Vec<Tape>,
    /// Which of θ each of them uses.
    uses: Vec<Vec<bool>>,
    linear: bool,
}

/// η at one value of the covariates.
struct Links {
    eta: Vec<f64>,
    /// `∂η_k/∂θ_j` in row k.
    slope: DMatrix<f64>,
    /// `∇²η_k`.
    bend: Vec<DMatrix<f64>>,
}

impl LinkedEnergy {
    /// `links` are formulas for some of the inner parameters, by name, in the covariates and in parameters of these names; the
    /// others stand for themselves.
    pub(crate) fn new<S: AsRef<str>>(
        inner: Arc<dyn Energy>,
        covariates: &[S],
        names: Vec<String>,
        links: &[(String, String)],
    ) -> Result<Self> {
        let mut linear = inner.is_linear();
        let (mut tapes, mut uses) = (Vec::new(), Vec::new());
        for own in inner.parameters() {
            let text = links.iter().find(|(name, _)| *name == own).map_or(own.as_str(), |(_, text)| text);
            let wrong = |source| Error::Formula {
                field: format!("parameters.{own}"),
                text: text.into(),
                source: Box::new(source),
            };
            let symbols = Symbols::new(covariates, &names).map_err(wrong)?;
            let formula = Formula::parse(text, &symbols).map_err(wrong)?;
            linear &= formula.linear().is_some();
            uses.push((0..names.len()).map(|j| formula.uses_parameter(j)).collect());
            tapes.push(formula.compile(Order::Second));
        }
        Ok(Self { inner, names, covariates: covariates.len(), links: tapes, uses, linear })
    }

    /// A parameter that no formula uses, if there is one.
    pub(crate) fn unused(&self) -> Option<&str> {
        let used = |j: usize| self.uses.iter().any(|uses| uses[j]);
        (0..self.names.len()).find(|j| !used(*j)).map(|j| self.names[j].as_str())
    }

    fn links(&self, theta: &[f64], covariates: &[f64]) -> Links {
        let (size, own) = (theta.len(), self.links.len());
        let columns: Vec<&[f64]> = covariates.iter().map(std::slice::from_ref).collect();
        let (mut eta, mut slope) = (Vec::with_capacity(own), DMatrix::zeros(own, size));
        let mut bend = Vec::with_capacity(own);
        for (k, tape) in self.links.iter().enumerate() {
            let mut out = vec![0.0; tape.outputs()];
            tape.evaluate(theta, &columns, &mut out.chunks_exact_mut(1).collect::<Vec<_>>());
            eta.push(out[0]);
            slope.set_row(k, &DVector::from_column_slice(&out[1..=size]).transpose());
            let mut matrix = DMatrix::zeros(size, size);
            let mut upper = out[1 + size..].iter();
            for i in 0..size {
                for j in i..size {
                    let second = upper.next().copied().unwrap_or(0.0);
                    (matrix[(i, j)], matrix[(j, i)]) = (second, second);
                }
            }
            bend.push(matrix);
        }
        Links { eta, slope, bend }
    }

    /// Runs of rows with the same covariates: those of one data row and its noise points stand together.
    fn for_each_run(
        &self,
        theta: &[f64],
        points: View<'_>,
        mut run: impl FnMut(Range<usize>, &Links, View<'_>) -> Result<()>,
    ) -> Result<()> {
        let own = points.columns() - self.covariates;
        let given =
            |row: usize| -> Vec<f64> { (own..points.columns()).map(|j| points.get(row, j)).collect() };
        let mut start = 0;
        while start < points.rows() {
            let here = given(start);
            let same = |row: &usize| (own..points.columns()).all(|j| points.get(*row, j) == here[j - own]);
            let end = (start + 1..points.rows()).find(|row| !same(row)).unwrap_or(points.rows());
            let rows = start..end;
            let values: Vec<f64> =
                (0..own).flat_map(|j| points.column(j)[rows.clone()].iter().copied()).collect();
            run(rows.clone(), &self.links(theta, &here), View::new(own, rows.len(), &values))?;
            start = end;
        }
        Ok(())
    }
}

impl Energy for LinkedEnergy {
    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn dimension(&self) -> usize {
        self.inner.dimension() + self.covariates
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        mut score: Option<&mut [f64]>,
    ) -> Result<()> {
        let all = points.rows();
        self.for_each_run(parameters, points, |rows, links, points| {
            let count = rows.len();
            let value = &mut value[rows.clone()];
            let Some(score) = score.as_deref_mut() else {
                return self.inner.evaluate(&links.eta, points, value, None);
            };
            let mut own = vec![0.0; count * links.eta.len()];
            self.inner.evaluate(&links.eta, points, value, Some(&mut own))?;
            for j in 0..parameters.len() {
                let out = &mut score[j * all + rows.start..j * all + rows.end];
                out.fill(0.0);
                for (k, column) in own.chunks_exact(count).enumerate() {
                    let slope = links.slope[(k, j)];
                    if slope != 0.0 {
                        out.iter_mut().zip(column).for_each(|(o, s)| *o += slope * s);
                    }
                }
            }
            Ok(())
        })
    }

    forward!(self => self.inner; constants prefers_batches);

    fn is_linear(&self) -> bool {
        self.linear
    }

    /// `Σ w (Dᵀ ∇²u D + Σ_k ∂u/∂η_k ∇²η_k)`, with D the slopes of η.
    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        if self.linear {
            return Ok(true);
        }
        let (size, own) = (parameters.len(), self.links.len());
        let (mut total, mut known) = (DMatrix::zeros(size, size), true);
        self.for_each_run(parameters, points, |rows, links, points| {
            let weights = &weights[rows.clone()];
            let mut inner = DMatrix::zeros(own, own);
            known &= self.inner.add_curvature(&links.eta, points, weights, inner.as_mut_slice())?;
            total += links.slope.transpose() * inner * &links.slope;
            let (mut value, mut score) = (vec![0.0; rows.len()], vec![0.0; rows.len() * own]);
            self.inner.evaluate(&links.eta, points, &mut value, Some(&mut score))?;
            for (column, bend) in score.chunks_exact(rows.len()).zip(&links.bend) {
                let terms = column.iter().zip(weights).zip(&value);
                // Where the density is zero its derivatives mean nothing.
                let counted = terms.filter(|((_, w), u)| **w != 0.0 && **u != f64::NEG_INFINITY);
                total += bend * counted.map(|((s, w), _)| s * w).sum::<f64>();
            }
            Ok(())
        })?;
        if known {
            out.iter_mut().zip(total.as_slice()).for_each(|(o, c)| *o += c);
        }
        Ok(known)
    }
}
