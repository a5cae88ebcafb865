//! A computation in a thread of its own, and its messages to R's thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use extendr_api::Robj;
use noisewright_bindings::{Failure, Monitor, Outcome, caught, pool};
use noisewright_report::Value;

use crate::request::read;

/// A call of the user's function, which R's thread makes.
pub(crate) struct Call {
    /// The score is wanted; otherwise the log-density.
    pub(crate) score: bool,
    pub(crate) parameters: Vec<f64>,
    /// Column after column.
    pub(crate) points: Vec<f64>,
    pub(crate) rows: usize,
    /// Where the values go. Dropped when nobody waits any more.
    pub(crate) reply: Sender<Vec<f64>>,
}

/// What the computation tells R's thread.
pub(crate) enum Message {
    /// Nothing yet.
    Nothing,
    /// It needs values of the user's function.
    Call(Call),
    /// It is done.
    Done(Outcome<Value>),
}

/// What a computation has at hand.
pub(crate) struct Desk {
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) messages: Sender<Message>,
}

/// A running computation, held by R.
pub(crate) struct Job {
    monitor: Arc<Monitor>,
    /// Nothing after it was cancelled: whoever sends then learns it at once.
    messages: RefCell<Option<Receiver<Message>>>,
    /// Who waits for the values of the user's function.
    waiting: RefCell<Option<Sender<Vec<f64>>>>,
}

impl Job {
    /// Reads the request, which only R's thread may do, and computes in another.
    pub(crate) fn start(what: &str, request: &Robj, threads: usize) -> Self {
        let monitor = Arc::new(Monitor::default());
        let (send, messages) = channel();
        let desk = Desk { monitor: Arc::clone(&monitor), messages: send.clone() };
        let begun = read(what, request).and_then(|work| {
            let pool = pool(threads)?;
            // Whoever does not wait any more does not read the answer: sending it may fail.
            let body = move || {
                let done = pool.install(|| caught(|| work(&desk)));
                drop(desk.messages.send(Message::Done(done)));
            };
            let started = thread::Builder::new().name("noisewright".into()).spawn(body);
            started.map(drop).map_err(|error| Failure::Broken(error.to_string()))
        });
        if let Err(failure) = begun {
            drop(send.send(Message::Done(Err(failure))));
        }
        Self { monitor, messages: RefCell::new(Some(messages)), waiting: RefCell::new(None) }
    }

    /// The next message, or none after so long.
    pub(crate) fn wait(&self, patience: Duration) -> Message {
        let ended = || Message::Done(Err(Failure::Broken("its thread ended".into())));
        let held = self.messages.borrow();
        let Some(messages) = held.as_ref() else { return ended() };
        match messages.recv_timeout(patience) {
            Ok(message) => {
                if let Message::Call(call) = &message {
                    self.waiting.replace(Some(call.reply.clone()));
                }
                message
            }
            Err(RecvTimeoutError::Timeout) => Message::Nothing,
            Err(RecvTimeoutError::Disconnected) => ended(),
        }
    }

    /// The values of the user's function that were asked for last.
    pub(crate) fn answer(&self, values: Vec<f64>) {
        if let Some(reply) = self.waiting.take() {
            drop(reply.send(values));
        }
    }

    /// Tells the computation to end, and whoever waits for the user's function that there are no values.
    pub(crate) fn cancel(&self) {
        self.monitor.cancel.cancel();
        self.waiting.take();
        self.messages.take();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.monitor.cancel.cancel();
    }
}
