//! A noise that is learned by Python functions, as an evidence asks for one.

use std::sync::Arc;

use noisewright::normalizer::NoiseFitter;
use noisewright::rand::RngExt;
use noisewright::{Noise, Stream, View};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::energy::{Raised, columns};

/// Calls `learner(points)`, which returns an object with `log_density(points)`, `draw(rows, seed)` and `words`; points have one row
/// per variable.
pub(crate) fn fitter(learner: Py<PyAny>, raised: &Arc<Raised>) -> NoiseFitter {
    let raised = Arc::clone(raised);
    NoiseFitter::new(move |points| {
        let dimension = points.columns();
        let (learned, words) = raised.attached(|py| {
            let learned = learner.bind(py).call1((columns(py, points)?,))?;
            let words: String = learned.getattr("words")?.extract()?;
            Ok((learned.unbind(), words))
        })?;
        Ok(Learned { learned, words, dimension, raised: Arc::clone(&raised) })
    })
}

struct Learned {
    learned: Py<PyAny>,
    words: String,
    dimension: usize,
    raised: Arc<Raised>,
}

impl Noise for Learned {
    fn dimension(&self) -> usize {
        self.dimension
    }

    /// Not a number where the function raises, which ends the computation.
    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        let written = self.raised.attached(|py| {
            let answer = self.learned.bind(py).call_method1("log_density", (columns(py, points)?,))?;
            let values: PyReadonlyArray1<'_, f64> = answer.extract()?;
            out.copy_from_slice(values.as_slice()?);
            Ok(())
        });
        if written.is_err() {
            out.fill(f64::NAN);
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        // Seeds of Python's libraries have 32 bits.
        let seed: u32 = stream.random();
        let written = self.raised.attached(|py| {
            let answer = self.learned.bind(py).call_method1("draw", (rows, seed))?;
            let values: PyReadonlyArray2<'_, f64> = answer.extract()?;
            out.copy_from_slice(values.as_slice()?);
            Ok(())
        });
        if written.is_err() {
            out.fill(f64::NAN);
        }
    }

    fn describe(&self) -> String {
        self.words.clone()
    }
}
