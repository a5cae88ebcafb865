//! Who computes when: one question at a time in each of two lanes, and a newer question cancels the older of its kind.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use noisewright::run::CancelToken;
use serde::Serialize;

use crate::Mistake;

/// Questions that may wait; beyond them they are sent away.
const MOST_WAITING: usize = 64;
/// Pages whose newest questions are remembered.
const MOST_PAGES: usize = 256;

/// What a computation is for: what follows the hand, and what takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Quick,
    Slow,
}

/// How much is being computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Load {
    /// Computations that run.
    pub running: usize,
    /// Questions that wait for one to end.
    pub waiting: usize,
    /// Questions answered, with a mistake or without.
    pub answered: usize,
    /// Questions in whose place a newer one came.
    pub cancelled: usize,
}

/// The lanes, and the newest question of every page and kind.
#[derive(Default)]
pub(crate) struct Lanes {
    quick: Mutex<()>,
    slow: Mutex<()>,
    newest: Mutex<HashMap<(String, &'static str), CancelToken>>,
    /// Waiting or running.
    entered: AtomicUsize,
    running: AtomicUsize,
    answered: AtomicUsize,
    cancelled: AtomicUsize,
}

/// A question's place in its lane, and the token that cancels it.
pub struct Ticket {
    lanes: Arc<Lanes>,
    cancel: CancelToken,
}

impl Lanes {
    /// Takes a question in, in place of an older one of the same page and kind.
    pub(crate) fn enter(self: &Arc<Self>, page: &str, kind: &'static str) -> Result<Ticket, Mistake> {
        if self.entered.fetch_add(1, Ordering::SeqCst) >= MOST_WAITING {
            self.entered.fetch_sub(1, Ordering::SeqCst);
            return Err(Mistake::new("the lab has too many questions to answer: ask again in a moment"));
        }
        let cancel = CancelToken::new();
        let mut newest = locked(&self.newest);
        if newest.len() >= MOST_PAGES {
            newest.retain(|_, token| !token.is_cancelled());
            if newest.len() >= MOST_PAGES {
                newest.clear();
            }
        }
        if let Some(older) = newest.insert((page.to_owned(), kind), cancel.clone()) {
            older.cancel();
        }
        Ok(Ticket { lanes: Arc::clone(self), cancel })
    }

    /// Cancels everything.
    pub(crate) fn cancel_all(&self) {
        locked(&self.newest).values().for_each(CancelToken::cancel);
    }

    pub(crate) fn load(&self) -> Load {
        let read = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        let running = read(&self.running);
        Load {
            running,
            waiting: read(&self.entered).saturating_sub(running),
            answered: read(&self.answered),
            cancelled: read(&self.cancelled),
        }
    }
}

impl Ticket {
    /// The token that ends the computation.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Computes when its turn comes, unless a newer question has come before.
    pub(crate) fn run<T>(
        &self,
        lane: Lane,
        compute: impl FnOnce(&CancelToken) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        let lanes = &self.lanes;
        let _turn = locked(if lane == Lane::Quick { &lanes.quick } else { &lanes.slow });
        self.cancel.check()?;
        lanes.running.fetch_add(1, Ordering::SeqCst);
        let _count = Counted(&lanes.running);
        compute(&self.cancel)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.lanes.entered.fetch_sub(1, Ordering::SeqCst);
        let done = if self.cancel.is_cancelled() { &self.lanes.cancelled } else { &self.lanes.answered };
        done.fetch_add(1, Ordering::SeqCst);
    }
}

/// Counts down when it goes, also by a panic.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A lock, whether or not somebody panicked while holding it: what it guards is whole at every moment.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_question_cancels_the_older_of_its_kind_and_page_alone() {
        let lanes = Arc::new(Lanes::default());
        let [first, other_kind, other_page] = [("one", "look"), ("one", "fit"), ("two", "look")]
            .map(|(page, kind)| lanes.enter(page, kind).unwrap());
        let newer = lanes.enter("one", "look").unwrap();
        assert!(first.cancel.is_cancelled());
        assert!([&other_kind, &other_page, &newer].iter().all(|ticket| !ticket.cancel.is_cancelled()));
        let refused = first.run(Lane::Quick, |_| Ok(())).unwrap_err();
        assert!(refused.cancelled);
        assert_eq!(newer.run(Lane::Quick, |_| Ok(lanes.load().running)), Ok(1));
        drop((first, newer));
        assert_eq!(lanes.load(), Load { running: 0, waiting: 2, answered: 1, cancelled: 1 });
    }

    #[test]
    fn too_many_are_sent_away() {
        let lanes = Arc::new(Lanes::default());
        let pages: Vec<String> = (0..=MOST_WAITING).map(|page| page.to_string()).collect();
        let tickets: Vec<_> = pages.iter().map(|page| lanes.enter(page, "look")).collect();
        assert_eq!(tickets.iter().filter(|ticket| ticket.is_err()).count(), 1);
        drop(tickets);
        assert_eq!(lanes.load().waiting, 0);
    }
}
