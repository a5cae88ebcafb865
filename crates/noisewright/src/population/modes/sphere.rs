//! The highest density on a sphere, by a pattern search over directions (Hooke and Jeeves 1961).

use super::Surface;
use crate::population::locate::Slice;
use crate::{Error, Model, Result};

/// The direction of the highest density on the sphere, and how far (as 1 − cos) the density has fallen by e^{-1/2}.
pub(in crate::population) fn locate_on_sphere(model: &Model, parameters: &[f64]) -> Result<(Vec<f64>, f64)> {
    let density = Slice { model, parameters };
    let size = model.space().dimension();
    let mut best = (vec![1.0; size], f64::NEG_INFINITY);
    let mut reach = 1.0f64;
    for round in 0..60 {
        let candidates = directions(&best.0, reach, round == 0);
        let rows = candidates.len() / size;
        let values = density.values(&candidates, rows)?;
        let top = (0..rows).fold(0, |top, i| if values[i] > values[top] { i } else { top });
        if values[top] > best.1 {
            best = ((0..size).map(|j| candidates[j * rows + top]).collect(), values[top]);
        } else {
            reach *= 0.5;
        }
    }
    if best.1 == f64::NEG_INFINITY {
        return Err(Error::NoMass);
    }
    Ok((best.0.clone(), sphere_spread(&density, &best.0, best.1)?))
}

/// Unit vectors: along all signed axes and diagonals at first, then small steps from the best one.
fn directions(from: &[f64], reach: f64, first: bool) -> Vec<f64> {
    let size = from.len();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for a in 0..size {
        for b in 0..=a {
            for (sa, sb) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                let mut v = if first { vec![0.0; size] } else { from.to_vec() };
                v[a] += sa * reach;
                v[b] += sb * reach;
                let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
                if norm > 1e-9 {
                    rows.push(v.iter().map(|x| x / norm).collect());
                }
            }
        }
    }
    (0..size).flat_map(|j| rows.iter().map(move |r| r[j])).collect()
}

fn sphere_spread(density: &Slice<'_>, peak: &[f64], height: f64) -> Result<f64> {
    let frame = super::super::quadrature_chart::frame_with_pole(peak);
    let mut spread = 2.0;
    for _ in 0..60 {
        let radius = f64::sqrt(spread * (2.0 - spread));
        let at: Vec<f64> =
            (0..peak.len()).map(|j| radius * frame[(j, 0)] + (1.0 - spread) * peak[j]).collect();
        if density.values(&at, 1)?[0] >= height - 0.5 {
            break;
        }
        spread *= 0.5;
    }
    Ok(spread)
}
