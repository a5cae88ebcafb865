//! The errors of many members of a family on one population: a scan, its local minima, and their polish.

use noisewright_numerics::optimize::{minimize_bracketed, nelder_mead};

use super::Ratio;
use super::criterion::Criterion;
use super::family::{GRID, Spot, Task};
use super::proportion::{LOG_RATIOS, scan};
use super::walls::Looks;
use super::weights::safe_ratio;
use crate::{Error, Population, Result};

/// Most minima that are polished.
const MOST_MINIMA: usize = 12;

/// A population on which many members are compared.
pub(super) struct Board<'a> {
    task: &'a Task<'a>,
    criterion: Criterion<'a>,
    ranges: Vec<(f64, f64)>,
    pub(super) evaluations: usize,
    looks: Looks,
}

impl<'a> Board<'a> {
    pub(super) fn new(task: &'a Task<'a>, population: &'a Population) -> Result<Self> {
        let criterion =
            Criterion::new(population, &task.options.target)?.for_run(task.options.precision.context());
        Ok(Self { task, criterion, ranges: task.ranges(), evaluations: 0, looks: Looks::of_members() })
    }

    /// `p_n / p_d` of a member at the points; `None` where it cannot be built.
    fn ratio(&mut self, z: &[f64]) -> Option<Vec<f64>> {
        let searched = self.task.maps.iter().filter_map(|map| Some((map.is_periodic(), map.range()?)));
        let mut within = searched.zip(z).map(|((periodic, (lo, hi)), z)| periodic || (lo..=hi).contains(z));
        if !within.all(|inside| inside) {
            return None;
        }
        let (task, criterion) = (self.task, &self.criterion);
        let population = criterion.population();
        let log_noise = self.looks.known(|| {
            criterion.check_run()?;
            task.log_noise(z, population)
        })?;
        Some(log_noise.iter().zip(population.log_density()).map(|(n, d)| safe_ratio(*n, *d)).collect())
    }

    /// The error at one ν; ∞ where there is none.
    fn error(&mut self, ratio: &[f64], nu: f64) -> f64 {
        self.evaluations += 1;
        let value = self.looks.value(|| Ok(self.criterion.at(ratio, nu)?.value));
        if value > 0.0 { self.task.options.prices.scale(nu) * value } else { f64::INFINITY }
    }

    /// Whether nothing was wrong so far but members that cannot be.
    ///
    /// # Errors
    /// What was wrong, after which no member has an error.
    pub(super) fn check(&self) -> Result<()> {
        self.looks.check()
    }

    /// Why no member has an error.
    pub(super) fn nowhere(self) -> Error {
        self.looks.nowhere()
    }

    /// The error of a member by all its coordinates.
    fn at(&mut self, z: &[f64]) -> f64 {
        let count = self.ranges.len();
        let nu = self.task.nu(z);
        let (lo, hi) = LOG_RATIOS;
        if self.task.options.ratio == Ratio::Free && !(z[count] >= lo && z[count] <= hi) {
            return f64::INFINITY;
        }
        match self.ratio(&z[..count]) {
            Some(ratio) => self.error(&ratio, nu),
            None => f64::INFINITY,
        }
    }

    /// A member at its given or, on a coarse scan with a parabola, its best ν.
    fn profile(&mut self, z: &[f64]) -> Spot {
        let nowhere = Spot { z: z.to_vec(), error: f64::INFINITY };
        let Some(ratio) = self.ratio(z) else { return nowhere };
        if let Ratio::Fixed(nu) = self.task.options.ratio {
            return Spot { error: self.error(&ratio, nu), ..nowhere };
        }
        let Some(found) = scan(|log_nu| self.error(&ratio, log_nu.exp())) else { return nowhere };
        let (mut log_nu, mut error) = found.best;
        if let (Some((_, below)), Some((_, above))) = (found.below, found.above)
            && below.is_finite()
            && above.is_finite()
        {
            let (a, b, c) = (below.ln(), error.ln(), above.ln());
            let between = log_nu + (0.5 * (a - c) / (a - 2.0 * b + c)).clamp(-0.5, 0.5);
            let refined = self.error(&ratio, between.exp());
            (log_nu, error) = if refined < error { (between, refined) } else { (log_nu, error) };
        }
        let mut z = z.to_vec();
        z.push(log_nu);
        Spot { z, error }
    }

    /// The members of a scan that are better than their neighbours, the best first.
    pub(super) fn scan(&mut self) -> Vec<Spot> {
        let count = match self.ranges.len() {
            0 => return vec![self.profile(&[])].into_iter().filter(|s| s.error.is_finite()).collect(),
            1 => GRID,
            2 => 600,
            3 => 1200,
            4 => 2000,
            _ => 3000,
        };
        let spots: Vec<Spot> = self.task.spread(count, 1.0).iter().map(|z| self.profile(z)).collect();
        let mut best: Vec<Spot> = (0..spots.len())
            .filter(|&i| spots[i].error.is_finite() && self.is_local(&spots, i))
            .map(|i| spots[i].clone())
            .collect();
        best.sort_by(|a, b| a.error.total_cmp(&b.error));
        best.truncate(MOST_MINIMA);
        best
    }

    /// Whether a spot is no worse than its neighbours: the next ones on a line, the nearest few elsewhere.
    fn is_local(&self, spots: &[Spot], i: usize) -> bool {
        let dimension = self.ranges.len();
        if dimension == 1 {
            let error = |j: usize| spots.get(j).map_or(f64::INFINITY, |s| s.error);
            return spots[i].error <= error(i.wrapping_sub(1)) && spots[i].error < error(i + 1);
        }
        let mut near: Vec<(f64, f64)> = (0..spots.len())
            .filter(|&j| j != i)
            .map(|j| (self.distance(&spots[i].z, &spots[j].z), spots[j].error))
            .collect();
        let count = (3 * dimension).min(near.len());
        if count == 0 {
            return true;
        }
        near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
        near[..count].iter().all(|(_, error)| spots[i].error <= *error)
    }

    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        self.ranges.iter().enumerate().map(|(j, (lo, hi))| ((a[j] - b[j]) / (hi - lo)).powi(2)).sum()
    }

    /// The minimum near a spot: Brent's method along one coordinate, a simplex otherwise.
    pub(super) fn polish(&mut self, spot: &Spot, step: f64, tolerance: f64) -> Spot {
        let (z, error) = match spot.z.len() {
            0 => return spot.clone(),
            1 => {
                let least = minimize_bracketed(spot.z[0] - step, spot.z[0] + step, |z| self.at(&[z]));
                (least.at, least.value)
            }
            count => {
                let least = nelder_mead(&spot.z, &vec![step; count], tolerance, |z| self.at(z));
                (least.at, least.value)
            }
        };
        if error <= self.at(&spot.z) { Spot { z, error } } else { spot.clone() }
    }

    /// Whether two spots are the same noise at the same ν, however it is written.
    pub(super) fn same(&mut self, a: &Spot, b: &Spot) -> bool {
        let near = |x: f64, y: f64, tolerance: f64| (x - y).abs() <= tolerance * x.abs();
        if !near(a.error, b.error, 1e-5) || !near(self.task.nu(&a.z), self.task.nu(&b.z), 1e-2) {
            return false;
        }
        let count = self.ranges.len();
        let (Some(h), Some(k)) = (self.ratio(&a.z[..count]), self.ratio(&b.z[..count])) else { return false };
        let weighted = h.iter().zip(&k).zip(&self.criterion.weights);
        // The ratio can be vast where p_d is nothing; w = h/(1+h) counts what the error sees.
        let seen = |h: f64| h / (1.0 + h);
        weighted.map(|((h, k), q)| q * (seen(*h) - seen(*k)).abs()).sum::<f64>() < 1e-3
    }
}
