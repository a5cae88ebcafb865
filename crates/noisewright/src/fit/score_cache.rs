//! Energies and scores of the last parameter value at which they were asked for.
//!
//! Of a model of functions every look at the points costs a call of the function, and what follows a search looks several times at
//! one place: second moments, replicates of quiet noise, leverages, the variances with other ratios inside the loss.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::loss_terms::Class;
use super::prepare::most_kept;

/// Energies and scores of some rows.
pub(crate) struct Looked {
    pub(crate) energy: Vec<f64>,
    pub(crate) score: Vec<f64>,
}

/// Blocks of rows at one parameter value.
#[derive(Default)]
pub(crate) struct ScoreCache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The bits of θ.
    theta: Vec<u64>,
    /// By the sample and the number of the first row.
    blocks: HashMap<(bool, usize), Arc<Looked>>,
    /// How many values they have together.
    values: usize,
}

fn bits(theta: &[f64]) -> impl Iterator<Item = u64> {
    theta.iter().map(|x| x.to_bits())
}

impl ScoreCache {
    /// What is known of the rows from number `first` on.
    pub(crate) fn get(&self, theta: &[f64], class: Class, first: usize, rows: usize) -> Option<Arc<Looked>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = kept.theta.iter().copied().eq(bits(theta));
        let known = kept.blocks.get(&(class == Class::Data, first)).filter(|_| same)?;
        (known.energy.len() == rows).then(|| Arc::clone(known))
    }

    /// Keeps what was found, where there is room for it, and forgets what was known at other parameters.
    pub(crate) fn put(&self, theta: &[f64], class: Class, first: usize, looked: Looked) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.theta.iter().copied().eq(bits(theta)) {
            *kept = Kept { theta: bits(theta).collect(), ..Kept::default() };
        }
        kept.values += looked.energy.len() + looked.score.len();
        if kept.values <= most_kept() {
            kept.blocks.insert((class == Class::Data, first), Arc::new(looked));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_is_remembered() {
        let cache = ScoreCache::default();
        let looked = |x: f64| Looked { energy: vec![x], score: vec![2.0 * x] };
        cache.put(&[1.0], Class::Data, 0, looked(1.0));
        cache.put(&[1.0], Class::Noise, 0, looked(2.0));
        assert_eq!(cache.get(&[1.0], Class::Data, 0, 1).map(|l| l.score[0]), Some(2.0));
        assert_eq!(cache.get(&[1.0], Class::Noise, 0, 1).map(|l| l.energy[0]), Some(2.0));
        assert!(
            cache.get(&[1.0], Class::Noise, 7, 1).is_none()
                && cache.get(&[0.0], Class::Noise, 0, 1).is_none()
        );
        assert!(cache.get(&[1.0], Class::Noise, 0, 2).is_none());
        cache.put(&[3.0], Class::Data, 0, looked(3.0));
        assert!(cache.get(&[1.0], Class::Noise, 0, 1).is_none());
        assert_eq!(cache.get(&[3.0], Class::Data, 0, 1).map(|l| l.energy[0]), Some(3.0));
    }
}
