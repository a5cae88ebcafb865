//! Computations that are cancelled at chosen places: by a hook that breaks off, by a token, by a model that is being evaluated.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use noisewright::Stream;
use noisewright::parts::{ProgressHook, Stage};
use noisewright::prelude::*;

/// What hears of the progress of a computation.
pub(crate) type Watch = Arc<dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync>;

/// A computation as a test runs it: with a token and a watch.
pub(crate) type Job<'a> = Box<dyn Fn(&CancelToken, &Watch) -> Result<()> + 'a>;

/// A watch as options take it.
pub(crate) fn hook(watch: &Watch) -> Option<ProgressHook> {
    let watch = Arc::clone(watch);
    Some(ProgressHook::new(move |progress| watch(progress)))
}

/// Steps that threads may still tell of once one of them was told to stop: each may have looked at the token just before, and gets on
/// by a few while the thread that heard it waits for its turn of the machine.
pub(crate) fn others() -> usize {
    4 * rayon::current_num_threads()
}

pub(crate) fn line() -> Space {
    Space::real(&["x"]).unwrap()
}

/// A normal density of which mean and width are sought.
pub(crate) fn not_linear() -> Model {
    let parameters = vec![Parameter::new("m", 0.0), Parameter::new("t", 0.0)];
    Model::from_formula("-(x - m)^2*exp(t)/2", line(), parameters, false).unwrap()
}

/// A density in more variables than are integrated by quadrature.
pub(crate) fn four_variables() -> Model {
    let text = "variables = ['x', 'y', 'z', 'w']\nlog_density = '-x^2 - y^2 - z^2 - w^2 - a*x^4'\n[parameters]\na = 0.1";
    Model::from_toml(text).unwrap()
}

/// What a watch was told.
#[derive(Default)]
struct Told {
    calls: AtomicUsize,
    stages: Mutex<Vec<Stage>>,
}

/// A watch that counts its calls and cancels at one of them, by breaking off or by the token.
fn counting(at: usize, token: Option<CancelToken>) -> (Watch, Arc<Told>) {
    let told = Arc::new(Told::default());
    let own = Arc::clone(&told);
    let watch = move |progress: &Progress| {
        own.stages.lock().unwrap().push(progress.stage);
        let call = own.calls.fetch_add(1, Ordering::SeqCst) + 1;
        match &token {
            _ if call != at => ControlFlow::Continue(()),
            None => ControlFlow::Break(()),
            Some(token) => {
                token.cancel();
                ControlFlow::Continue(())
            }
        }
    };
    (Arc::new(watch), told)
}

/// Cancels a computation at many of its steps, once each, by its hook and by its token: it must end, as cancelled, without
/// going on for more than `after` further steps. Returns the stages that it told of.
pub(crate) fn cancel_everywhere(name: &str, places: usize, after: usize, job: &Job<'_>) -> Vec<Stage> {
    let (watch, told) = counting(usize::MAX, None);
    job(&CancelToken::new(), &watch).unwrap_or_else(|error| panic!("{name}: {error}"));
    let all = told.calls.load(Ordering::SeqCst);
    assert!(all > 0, "{name} says nothing of its progress");
    for at in (1..=all).step_by(all.div_ceil(places)) {
        for by_token in [false, true] {
            let token = CancelToken::new();
            let (watch, told) = counting(at, by_token.then(|| token.clone()));
            let outcome = job(&token, &watch);
            assert_eq!(outcome, Err(Error::Cancelled), "{name} at step {at} of {all}, token: {by_token}");
            let later = told.calls.load(Ordering::SeqCst) - at;
            assert!(later <= after, "{name} went on for {later} steps after {at} of {all}");
            assert_eq!(token.is_cancelled(), by_token, "{name}: a hook leaves the token alone");
        }
    }
    let stages = told.stages.lock().unwrap();
    stages.clone()
}

/// A model that cancels its computation at its k-th evaluation, which happens in all stages: nothing that was left out
/// for it may pass for an answer.
struct Tripwire {
    model: Model,
    token: CancelToken,
    wire: Wire,
}

/// How often something is asked for until it cancels.
#[derive(Clone)]
struct Wire(Arc<[AtomicUsize; 2]>);

impl Wire {
    fn new(at: usize) -> Self {
        Self(Arc::new([AtomicUsize::new(0), AtomicUsize::new(at)]))
    }

    fn asked(&self) -> usize {
        self.0[0].load(Ordering::SeqCst)
    }

    /// One more time.
    fn next(&self, token: &CancelToken) {
        if self.0[0].fetch_add(1, Ordering::SeqCst) + 1 == self.0[1].load(Ordering::SeqCst) {
            token.cancel();
        }
    }
}

impl Energy for Tripwire {
    fn parameters(&self) -> Vec<String> {
        self.model.energy().parameters()
    }

    fn dimension(&self) -> usize {
        self.model.energy().dimension()
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.wire.next(&self.token);
        self.model.energy().evaluate(theta, points, value, score)
    }

    fn is_linear(&self) -> bool {
        self.model.energy().is_linear()
    }

    fn log_normalizer(&self, theta: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.model.energy().log_normalizer(theta, gradient)
    }

    fn add_curvature(
        &self,
        theta: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.model.energy().add_curvature(theta, points, weights, out)
    }
}

/// A computation with a model and a token.
pub(crate) type WithModel<'a> = Box<dyn Fn(&Model, &CancelToken) -> Result<()> + 'a>;

/// Cancels a computation before it begins and at many evaluations of its model, from within them: it must end, as cancelled, with no
/// more than `after` further evaluations, where these are counted.
pub(crate) fn trip_everywhere(
    name: &str,
    model: &Model,
    places: usize,
    after: Option<usize>,
    job: &WithModel<'_>,
) {
    let run = |at: usize| {
        let (token, wire) = (CancelToken::new(), Wire::new(at));
        let energy = Tripwire { model: model.clone(), token: token.clone(), wire: wire.clone() };
        let mut wired = Model::new(energy, model.space().clone(), model.parameters().to_vec()).unwrap();
        if !model.covariates().is_empty() {
            wired = wired.with_covariates(model.covariates()).unwrap();
        }
        if at == 0 {
            token.cancel();
        }
        (job(&wired, &token), wire.asked())
    };
    let (outcome, all) = run(usize::MAX);
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(run(0), (Err(Error::Cancelled), 0), "{name}, cancelled before it begins");
    for at in (1..=all).step_by(all.div_ceil(places)) {
        let (outcome, asked) = run(at);
        assert_eq!(outcome, Err(Error::Cancelled), "{name} at evaluation {at} of {all}");
        if let Some(after) = after {
            assert!(asked - at <= after, "{name} went on for {} evaluations after {at} of {all}", asked - at);
        }
    }
}

/// A noise that cancels a computation at its k-th batch of draws.
pub(crate) struct TrippingNoise {
    noise: Normal,
    token: CancelToken,
    wire: Wire,
}

impl TrippingNoise {
    pub(crate) fn new(noise: &Normal, token: &CancelToken, at: usize) -> Self {
        Self { noise: noise.clone(), token: token.clone(), wire: Wire::new(at) }
    }

    /// How often it was drawn from.
    pub(crate) fn asked(&self) -> usize {
        self.wire.asked()
    }
}

impl Noise for TrippingNoise {
    fn dimension(&self) -> usize {
        1
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        self.noise.log_density(points, out);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        self.wire.next(&self.token);
        self.noise.draw(stream, rows, out);
    }

    fn describe(&self) -> String {
        self.noise.describe()
    }
}
