//! A spinner on standard error for what takes longer than two seconds.

use std::ops::ControlFlow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use noisewright::parts::{ProgressHook, Stage};

/// Shows what is being done while it is done, if that takes a while and somebody is looking.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(quiet: bool, what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        } else {
            // Hidden by itself when standard error is not a terminal.
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        }
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_secs(1));
        Self { bar }
    }

    /// Tells what a fit is at.
    pub(crate) fn hook(&self) -> ProgressHook {
        let bar = self.bar.clone();
        ProgressHook::new(move |progress| {
            let what = match progress.stage {
                Stage::Prepare => "preparing the noise".to_owned(),
                Stage::Pilot => format!("fitting a part of the rows, step {}", progress.iteration),
                Stage::Descent if progress.loss.is_nan() => format!("fitting, step {}", progress.iteration),
                Stage::Descent => format!("fitting, step {}, loss {:.6}", progress.iteration, progress.loss),
                Stage::Errors => "computing the standard errors".to_owned(),
                Stage::Bootstrap => format!("resampling, {} so far", progress.iteration),
                Stage::Design => format!("designing the noise, candidate {}", progress.iteration),
                Stage::Integration => "integrating the model".to_owned(),
                _ => "fitting".to_owned(),
            };
            bar.set_message(what);
            ControlFlow::Continue(())
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
