//! The R package's compiled half: it starts computations, hands results over, and never calls R from another thread than R's own.
// The macros of extendr write code that is unsafe and documented elsewhere.
#![allow(missing_docs)]

mod convert;
mod function;
mod job;
mod request;

use std::time::Duration;

use extendr_api::prelude::*;

use job::Job;

/// Starts a computation, `what`, with all that it needs in a list.
#[extendr]
fn job_start(what: &str, request: Robj, threads: i32) -> ExternalPtr<Job> {
    ExternalPtr::new(Job::start(what, &request, usize::try_from(threads).unwrap_or(0)))
}

/// Waits so many seconds for the computation's next message: nothing yet (`NULL`), a call of the user's function, the result, or
/// what went wrong.
#[extendr]
fn job_wait(job: ExternalPtr<Job>, seconds: f64) -> Robj {
    convert::message(job.wait(Duration::from_secs_f64(seconds.max(0.0))))
}

/// Answers the last call of the user's function.
#[extendr]
fn job_answer(job: ExternalPtr<Job>, values: Robj) {
    job.answer(values.as_real_vector().unwrap_or_default());
}

/// Ends the computation; what it has found is lost.
#[extendr]
fn job_cancel(job: ExternalPtr<Job>) {
    job.cancel();
}

/// The version of the library.
#[extendr]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

extendr_module! {
    mod noisewright;
    fn job_start;
    fn job_wait;
    fn job_answer;
    fn job_cancel;
    fn version;
}
