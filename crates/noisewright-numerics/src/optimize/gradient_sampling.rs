//! Gradient sampling (Burke, Lewis and Overton 2005): descent to a minimum at a kink, and the proof that it is one.
//!
//! Where a function has kinks its gradient does not vanish at a minimum, and Newton's method or a line search stop without
//! knowing that they have arrived. The condition that holds there is Clarke's: zero is in the convex hull of the gradients
//! nearby. The shortest vector of the hull of gradients sampled in a small ball is either next to zero, and the place a
//! minimum, or its negative is a direction of descent.

use nalgebra::DVector;

use super::Stop;

/// Radii of the ball in which gradients are sampled, one after the other, in the units of the coordinates.
const RADII: [f64; 3] = [0.1, 0.01, 1e-3];
/// Steps at every radius.
const STEPS: usize = 20;
/// Halvings of a step.
const HALVINGS: i32 = 20;
/// Share of the promised descent that a step must keep (Armijo).
const KEPT: f64 = 1e-4;
/// Exchanges in the search for the shortest vector of a hull, which comes near within a few dozen.
const EXCHANGES: usize = 2000;

/// Where a descent by gradient sampling ended.
#[derive(Clone, Debug)]
pub struct SampledMinimum {
    /// The place.
    pub at: DVector<f64>,
    /// The value there.
    pub value: f64,
    /// Length of the shortest vector in the hull of the gradients around it.
    pub slope: f64,
    /// [`Stop::Converged`] where that is at most the tolerance.
    pub stop: Stop,
}

/// Descends from zero; coordinates are to be such that the function bends by about one in each of them.
///
/// `f` gives value and gradient, or nothing where there is no value.
///
/// ```
/// use nalgebra::DVector;
/// use noisewright_numerics::optimize::gradient_sampling;
/// // |x − 0.3| + y²/2: a kink in one coordinate, smooth in the other.
/// let f = |at: &DVector<f64>| -> Result<_, ()> {
///     let value = (at[0] - 0.3).abs() + 0.5 * at[1] * at[1];
///     Ok(Some((value, DVector::from_vec(vec![(at[0] - 0.3).signum(), at[1]]))))
/// };
/// let found = gradient_sampling(2, 1e-3, f).unwrap();
/// assert!(found.stop.converged() && (found.at[0] - 0.3).abs() < 1e-3);
/// ```
///
/// # Errors
/// Those of `f`.
pub fn gradient_sampling<E>(
    size: usize,
    tolerance: f64,
    mut f: impl FnMut(&DVector<f64>) -> Result<Option<(f64, DVector<f64>)>, E>,
) -> Result<SampledMinimum, E> {
    let mut at = DVector::zeros(size);
    let (mut slope, mut value) = (f64::INFINITY, f64::INFINITY);
    let Some(mut here) = f(&at)? else {
        return Ok(SampledMinimum { at, value, slope, stop: Stop::NoDescent });
    };
    for radius in RADII {
        for _ in 0..STEPS {
            let hull = gradients_around(&at, &here.1, radius, &mut f)?;
            let direction = -shortest_of_hull(&hull);
            slope = direction.norm();
            value = here.0;
            if slope <= tolerance {
                break;
            }
            match step(&at, here.0, &direction, &mut f)? {
                Some((place, next)) => (at, here) = (place, next),
                None => break,
            }
        }
    }
    let stop = if slope <= tolerance { Stop::Converged } else { Stop::NoDescent };
    Ok(SampledMinimum { at, value, slope, stop })
}

/// The gradient here and at either side along every coordinate.
fn gradients_around<E>(
    at: &DVector<f64>,
    here: &DVector<f64>,
    radius: f64,
    f: &mut impl FnMut(&DVector<f64>) -> Result<Option<(f64, DVector<f64>)>, E>,
) -> Result<Vec<DVector<f64>>, E> {
    let mut all = vec![here.clone()];
    for j in 0..at.len() {
        for side in [radius, -radius] {
            let mut place = at.clone();
            place[j] += side;
            all.extend(f(&place)?.map(|(_, gradient)| gradient));
        }
    }
    Ok(all)
}

/// The longest of ever shorter steps that goes down by as much as it should.
#[allow(clippy::type_complexity)]
fn step<E>(
    at: &DVector<f64>,
    value: f64,
    direction: &DVector<f64>,
    f: &mut impl FnMut(&DVector<f64>) -> Result<Option<(f64, DVector<f64>)>, E>,
) -> Result<Option<(DVector<f64>, (f64, DVector<f64>))>, E> {
    let promised = KEPT * direction.norm_squared();
    for halving in 0..HALVINGS {
        let share = 0.5f64.powi(halving);
        let place = at + direction * share;
        if let Some(next) = f(&place)?.filter(|next| next.0 < value - share * promised) {
            return Ok(Some((place, next)));
        }
    }
    Ok(None)
}

/// The shortest vector in the convex hull of some vectors, by exchanges between two of them at a time (Mitchell, Demyanov
/// and Malozemov 1974).
fn shortest_of_hull(vectors: &[DVector<f64>]) -> DVector<f64> {
    let first = (0..vectors.len()).min_by(|a, b| vectors[*a].norm().total_cmp(&vectors[*b].norm()));
    let Some(first) = first else { return DVector::zeros(0) };
    let mut share = vec![0.0; vectors.len()];
    share[first] = 1.0;
    let mut shortest = vectors[first].clone();
    for _ in 0..EXCHANGES {
        let along: Vec<f64> = vectors.iter().map(|v| v.dot(&shortest)).collect();
        let worst =
            (0..vectors.len()).filter(|i| share[*i] > 0.0).max_by(|a, b| along[*a].total_cmp(&along[*b]));
        let best = (0..vectors.len()).min_by(|a, b| along[*a].total_cmp(&along[*b]));
        let (Some(worst), Some(best)) = (worst, best) else { break };
        let gap = along[worst] - along[best];
        let exchange = &vectors[worst] - &vectors[best];
        let size = exchange.norm_squared();
        if gap <= 1e-12 * (1.0 + shortest.norm_squared()) || size == 0.0 {
            break;
        }
        let moved = (gap / size).min(share[worst]);
        share[worst] -= moved;
        share[best] += moved;
        shortest -= exchange * moved;
    }
    shortest
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_slanted_ridge_is_followed_to_its_minimum() {
        // max(x, −2x + y) + y²/2 + x²/100: two planes meet along a slanted line, on which the minimum lies. There, with
        // shares p and 1 − p of the two gradients: p − 2(1 − p) + x/50 = 0, (1 − p) + y = 0 and 3x = y.
        let f = |at: &DVector<f64>| -> Result<_, ()> {
            let (x, y) = (at[0], at[1]);
            let (value, slope) = if x > y - 2.0 * x { (x, [1.0, 0.0]) } else { (y - 2.0 * x, [-2.0, 1.0]) };
            let gradient = DVector::from_vec(vec![slope[0] + x / 50.0, slope[1] + y]);
            Ok(Some((value + 0.5 * y * y + x * x / 100.0, gradient)))
        };
        // 1 − 3q + x/50 = 0 and q = −y = −3x give x = −1/(9 + 1/50).
        let x = -1.0 / (9.0 + 1.0 / 50.0);
        let found = gradient_sampling(2, 1e-3, f).unwrap();
        assert!(found.stop.converged(), "{found:?}");
        assert!((found.at[0] - x).abs() < 2e-3 && (found.at[1] - 3.0 * x).abs() < 2e-3, "{found:?}");
    }

    #[test]
    fn a_slope_without_an_end_does_not_converge() {
        let f = |at: &DVector<f64>| -> Result<_, ()> { Ok(Some((-at[0], DVector::from_vec(vec![-1.0])))) };
        assert_eq!(gradient_sampling(1, 1e-3, f).unwrap().stop, Stop::NoDescent);
    }

    #[test]
    fn the_shortest_vector_of_a_triangle_is_the_foot_of_its_height() {
        let vectors = [[2.0, 1.0], [1.0, -1.0], [4.0, 4.0]].map(|v| DVector::from_vec(v.to_vec()));
        // The foot on the edge from (2, 1) to (1, −1): (2, 1) − t (1, 2) with t = 4/5.
        let found = shortest_of_hull(&vectors);
        assert!((found - DVector::from_vec(vec![1.2, -0.6])).norm() < 1e-9);
    }
}
