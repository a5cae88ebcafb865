//! Tests of what the adaptive rule takes for granted.

use super::*;

/// The marks of an axis go to the panels that were there before it grew downwards, and to none where these are gone.
#[test]
fn marks_find_the_panels_they_were_made_for() {
    let line = |lower: f64| Axis::line(lower, lower + 1.0, &[], &[]);
    let search = Search::new(vec![line(0.0)], 1, Options::default());
    let marked = vec![true; search.axes[0].panels()];
    assert_eq!(search.split_marked(&mut line(0.0), 0, &marked), Ok(true));
    assert_eq!(search.split_marked(&mut line(5.0), 0, &marked), Err(QuadratureError::LostBoundary));
    assert_eq!(search.split_marked(&mut line(5.0), 0, &vec![false; marked.len()]), Ok(false));
}
