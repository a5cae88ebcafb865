//! Long computations: a thread of their own, while the caller's looks for Ctrl-C and shows progress.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use noisewright::{Energy, Error, Model, View};
use noisewright_numerics::interrupt::{Interrupted, interruptible};
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};

/// How often the caller's thread looks up.
const TICK: Duration = Duration::from_millis(50);
/// How long a computation that was told to stop is waited for before it is left to end by itself.
const PATIENCE: Duration = Duration::from_millis(400);

/// What the two threads tell each other: how far it is, and whether to stop.
#[derive(Default)]
pub(crate) struct Monitor {
    /// Also looked at by sums between their blocks.
    stop: Arc<AtomicBool>,
    /// The share that is done, as bits; NaN-free: zero until something is known.
    share: AtomicU64,
}

impl Monitor {
    /// Whether the result is no longer wanted.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The same, as the library asks it.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Says how much is done, from 0 to 1.
    pub(crate) fn done(&self, share: f64) {
        self.share.store(share.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
    }

    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

/// Runs work that owns all it needs. After Ctrl-C it is told to stop, and left alone if it does not soon.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    tick: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Monitor>) -> Outcome<T> + Send + 'static,
) -> PyResult<T> {
    let monitor = Arc::new(Monitor::default());
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let own = Arc::clone(&monitor);
    // Whoever does not wait any more does not read the answer: sending it may fail.
    let body = move || drop(send.send(caught(&own, || work(&own))));
    thread::Builder::new().name("noisewright".into()).spawn(body)?;
    wait(py, tick, &monitor, &receive)
}

/// Runs work that borrows from the caller; it must watch its monitor or spend its time in sums, because it is waited for.
pub(crate) fn run_borrowing<T: Send>(
    py: Python<'_>,
    tick: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Monitor>) -> Outcome<T> + Send,
) -> PyResult<T> {
    let monitor = Arc::new(Monitor::default());
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let own = Arc::clone(&monitor);
    thread::scope(|scope| {
        let body = move || drop(send.send(caught(&own, || work(&own))));
        thread::Builder::new().name("noisewright".into()).spawn_scoped(scope, body)?;
        let answer = wait(py, tick, &monitor, &receive);
        // The scope waits for the thread, which may wait for the interpreter.
        if answer.is_err() {
            py.detach(|| drop(receive.lock().unwrap_or_else(PoisonError::into_inner).recv()));
        }
        answer
    })
}

/// The work with a panic turned into a failure, as is being stopped in the midst of a sum.
fn caught<T>(monitor: &Monitor, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let interruptible = || match interruptible(&monitor.stop, work) {
        Ok(outcome) => outcome,
        Err(Interrupted) => Err(Failure::Broken("it was stopped".into())),
    };
    catch_unwind(AssertUnwindSafe(interruptible)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().map(ToString::to_string);
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Failure::Broken(words.unwrap_or_else(|| "for an unknown reason".into())))
    })
}

fn wait<T: Send>(
    py: Python<'_>,
    tick: Option<&Bound<'_, PyAny>>,
    monitor: &Monitor,
    receive: &Mutex<Receiver<Outcome<T>>>,
) -> PyResult<T> {
    let next = |patience: Duration| {
        py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(patience))
    };
    loop {
        match next(TICK) {
            Ok(outcome) => return outcome.map_err(|failure| failure.exception(py)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Broken("its thread ended".into()).exception(py));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(interruption) = look_up(py, tick, monitor) {
            monitor.stop.store(true, Ordering::Relaxed);
            let _ = next(PATIENCE);
            return Err(interruption);
        }
    }
}

/// Signals and the progress bar.
fn look_up(py: Python<'_>, tick: Option<&Bound<'_, PyAny>>, monitor: &Monitor) -> PyResult<()> {
    py.check_signals()?;
    if let Some(tick) = tick {
        tick.call1((monitor.share(),))?;
    }
    Ok(())
}

/// The model with an energy that refuses to go on once the computation is to stop.
pub(crate) fn watched(model: &Model, monitor: &Arc<Monitor>) -> noisewright::Result<Model> {
    let energy = Watched { model: model.clone(), monitor: Arc::clone(monitor) };
    let watched = Model::new(Arc::new(energy), model.space().clone(), model.parameters().to_vec())?;
    Ok(if model.is_normalized() { watched.normalized() } else { watched })
}

struct Watched {
    model: Model,
    monitor: Arc<Monitor>,
}

impl Watched {
    fn check(&self) -> noisewright::Result<()> {
        if self.monitor.stopped() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

impl Energy for Watched {
    fn parameters(&self) -> Vec<String> {
        self.model.energy().parameters()
    }

    fn dimension(&self) -> usize {
        self.model.energy().dimension()
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> noisewright::Result<()> {
        self.check()?;
        self.model.energy().evaluate(parameters, points, value, score)
    }

    fn point_gradient(
        &self,
        parameters: &[f64],
        point: &[f64],
        gradient: &mut [f64],
    ) -> noisewright::Result<Option<f64>> {
        self.check()?;
        self.model.energy().point_gradient(parameters, point, gradient)
    }

    fn canonical(&self, parameters: &mut [f64]) {
        self.model.energy().canonical(parameters);
    }

    fn is_linear(&self) -> bool {
        self.model.energy().is_linear()
    }

    fn prefers_batches(&self) -> bool {
        self.model.energy().prefers_batches()
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.model.energy().log_normalizer(parameters, gradient)
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> noisewright::Result<bool> {
        self.check()?;
        self.model.energy().add_curvature(parameters, points, weights, out)
    }
}
