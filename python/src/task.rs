//! Long computations: a thread of their own, while the caller's looks for Ctrl-C and shows progress.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub(crate) use noisewright_bindings::Monitor;
use noisewright_bindings::caught;
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome, Raise};
use crate::pool::pool;

/// How often the caller's thread looks up.
const TICK: Duration = Duration::from_millis(50);
/// How long a computation that was cancelled is waited for before the caller goes on.
const PATIENCE: Duration = Duration::from_millis(400);

/// Runs work that owns all it needs. After Ctrl-C it is cancelled, and waited for at exit if it does not end soon.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    tick: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Monitor>) -> Outcome<T> + Send + 'static,
) -> PyResult<T> {
    let monitor = Arc::new(Monitor::default());
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let own = Arc::clone(&monitor);
    let pool = pool(py)?;
    // Whoever does not wait any more does not read the answer: sending it may fail.
    let body = move || drop(send.send(pool.install(|| caught(|| work(&own)))));
    let thread = thread::Builder::new().name("noisewright".into()).spawn(body)?;
    let answer = wait(py, tick, &monitor, &receive);
    if answer.is_err() && !thread.is_finished() {
        left_behind().push((std::process::id(), thread));
    }
    answer
}

/// Computations that were cancelled and have not ended yet, by process: a call of a Python function is not broken off.
///
/// Taken by threads that hold the interpreter alone.
fn left_behind() -> MutexGuard<'static, Vec<(u32, JoinHandle<()>)>> {
    static LEFT: Mutex<Vec<(u32, JoinHandle<()>)>> = Mutex::new(Vec::new());
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for cancelled computations before the interpreter goes, which must not be called from other threads then.
///
/// # Errors
/// Another Ctrl-C.
#[pyfunction]
pub(crate) fn finish_cancelled(py: Python<'_>) -> PyResult<()> {
    let own = std::process::id();
    let left: Vec<(u32, JoinHandle<()>)> = left_behind().drain(..).collect();
    for (process, thread) in left {
        // After a fork the parent's threads are not here.
        while process == own && !thread.is_finished() {
            py.detach(|| thread::sleep(TICK));
            py.check_signals()?;
        }
    }
    Ok(())
}

/// Runs work that borrows from the caller; it must watch its token, because it is waited for.
pub(crate) fn run_borrowing<T: Send>(
    py: Python<'_>,
    tick: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Monitor>) -> Outcome<T> + Send,
) -> PyResult<T> {
    let monitor = Arc::new(Monitor::default());
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let own = Arc::clone(&monitor);
    let pool = pool(py)?;
    thread::scope(|scope| {
        let body = move || drop(send.send(pool.install(|| caught(|| work(&own)))));
        thread::Builder::new().name("noisewright".into()).spawn_scoped(scope, body)?;
        let answer = wait(py, tick, &monitor, &receive);
        // The scope waits for the thread, which may wait for the interpreter.
        if answer.is_err() {
            py.detach(|| drop(receive.lock().unwrap_or_else(PoisonError::into_inner).recv()));
        }
        answer
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
            monitor.cancel.cancel();
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
