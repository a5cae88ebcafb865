//! What a search over noises does with errors: a noise that has no error is a wall, and whatever else is wrong ends the search.

use crate::error::ErrorKind;
use crate::run::if_possible;
use crate::{Error, Result};

/// Values that a search asks for which knows no errors: infinite where there is none.
pub(super) struct Looks {
    is_wall: fn(&Error) -> bool,
    /// The first reason why there was no value.
    reason: Option<Error>,
    /// What ended the search.
    failure: Option<Error>,
}

impl Looks {
    /// For a search over ν: the noise may be too little, or too far from the data, to tell all parameters.
    pub(super) fn of_ratios() -> Self {
        Self::new(|error| {
            let broken = matches!(
                error,
                Error::OutOfMemory { .. } | Error::NotANumber { .. } | Error::TooManyNodes { .. }
            );
            error.kind() == ErrorKind::NoAnswer && !broken
        })
    }

    /// For a search over the members of a family, some of which cannot be built or have no integral.
    pub(super) fn of_members() -> Self {
        Self::new(is_no_member)
    }

    fn new(is_wall: fn(&Error) -> bool) -> Self {
        Self { is_wall, reason: None, failure: None }
    }

    /// A value, infinite where there is none; after a failure nothing more is looked at.
    pub(super) fn value(&mut self, look: impl FnOnce() -> Result<f64>) -> f64 {
        self.known(look).unwrap_or(f64::INFINITY)
    }

    /// Something else that need not be.
    pub(super) fn known<T>(&mut self, look: impl FnOnce() -> Result<T>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        match look() {
            Ok(value) => return Some(value),
            Err(error) if (self.is_wall)(&error) => self.reason.get_or_insert(error),
            Err(error) => self.failure.insert(error),
        };
        None
    }

    /// Whether nothing was wrong.
    ///
    /// # Errors
    /// What ended the search.
    pub(super) fn check(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Why there is no value at all.
    pub(super) fn nowhere(self) -> Error {
        self.failure.or(self.reason).unwrap_or(Error::NoOverlap)
    }
}

/// Whether an error says that a member of a family cannot be, rather than that something is wrong with the search.
fn is_no_member(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Input | ErrorKind::NoAnswer)
        && !matches!(error, Error::OutOfMemory { .. })
}

/// A member of a family, nothing where it cannot be.
///
/// # Errors
/// Whatever is wrong with the search.
pub(super) fn member<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if !is_no_member(&error) => Err(error),
        other => if_possible(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_is_infinite_and_anything_else_ends_the_search() {
        let mut looks = Looks::of_ratios();
        assert_eq!(looks.value(|| Err(Error::NoOverlap)), f64::INFINITY);
        assert_eq!((looks.value(|| Ok(2.0)), looks.check()), (2.0, Ok(())));
        assert_eq!(looks.value(|| Err(Error::NoiseRatio { value: -1.0 })), f64::INFINITY);
        let (expected, mut asked) = (Error::NoiseRatio { value: -1.0 }, false);
        let after = looks.value(|| {
            asked = true;
            Ok(1.0)
        });
        assert_eq!((after, asked, looks.check()), (f64::INFINITY, false, Err(expected.clone())));
        assert_eq!(looks.nowhere(), expected);
    }

    #[test]
    fn members_that_cannot_be_built_are_walls() {
        let mut looks = Looks::of_members();
        assert_eq!(looks.value(|| Err(Error::NoiseRatio { value: -1.0 })), f64::INFINITY);
        assert_eq!(looks.check(), Ok(()));
        assert_eq!(looks.value(|| Err(Error::Cancelled)), f64::INFINITY);
        assert_eq!(looks.check(), Err(Error::Cancelled));
        assert_eq!(member::<f64>(Err(Error::NoMass)), Ok(None));
        assert_eq!(member::<f64>(Err(Error::internal("broken"))), Err(Error::internal("broken")));
    }
}
