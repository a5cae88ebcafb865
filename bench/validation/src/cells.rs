//! The matrix: models, the noises that suit each, losses and ratios.

use std::sync::Arc;

use noisewright::{
    Categorical, Gamma, LogNormal, Loss, MultivariateNormal, MultivariateStudent, Noise, Normal, Product,
    Result, Student, VonMises,
};
use noisewright_systems::{
    System, gamma, gaussian, gaussian_correlation, gaussian_mean, gaussian_moments, gaussian_variance, ising,
    quartic, student, von_mises,
};

/// One setting to be simulated.
pub(crate) struct Cell {
    pub(crate) system: Arc<System>,
    pub(crate) noise: Arc<dyn Noise>,
    pub(crate) loss: Loss,
    pub(crate) nu: f64,
    /// Rows of data.
    pub(crate) rows: usize,
}

impl Cell {
    /// Whether every fit takes integrals over the plane.
    pub(crate) fn is_slow(&self) -> bool {
        self.system.model.is_normalized() && self.system.model.space().dimension() > 1
    }
}

const RATIOS: [f64; 3] = [0.5, 1.0, 5.0];

/// Rows of data, enough that the bias of the estimate is small beside its spread.
const ROWS: usize = 2000;

/// A model with the noises it is contrasted with.
type Row = (System, Vec<Arc<dyn Noise>>);

fn rows() -> Result<Vec<Row>> {
    let scalar = |noise: Result<Arc<dyn Noise>>| noise;
    let normal = |mean, variance| scalar(Normal::with_variance(mean, variance).map(|n| Arc::new(n) as _));
    let heavy = |dof, at, scale| scalar(Student::new(dof, at, scale).map(|n| Arc::new(n) as _));
    let wide = |d: usize, factor: f64| -> Result<Arc<dyn Noise>> {
        let matrix: Vec<f64> = (0..d * d).map(|i| if i % (d + 1) == 0 { factor } else { 0.0 }).collect();
        Ok(Arc::new(MultivariateNormal::new(&vec![0.0; d], &matrix)?))
    };
    let wide_student = |d: usize| -> Result<Arc<dyn Noise>> {
        let matrix: Vec<f64> = (0..d * d).map(|i| if i % (d + 1) == 0 { 1.0 } else { 0.0 }).collect();
        Ok(Arc::new(MultivariateStudent::new(5.0, &vec![0.0; d], &matrix)?))
    };
    let spins = |d: usize| -> Result<Arc<dyn Noise>> {
        let one = || -> Result<Arc<dyn Noise>> { Ok(Arc::new(Categorical::bernoulli(-1.0, 1.0, 0.5)?)) };
        Ok(Arc::new(Product::of_shared((0..d).map(|_| one()).collect::<Result<_>>()?)?))
    };
    let four = [1.0, 0.4, 0.0, 0.0, 1.2, 0.3, 0.0, 0.9, -0.2, 1.0];
    Ok(vec![
        (gaussian_mean(0.0, true)?, vec![normal(0.0, 1.0)?, normal(1.4, 1.0)?, heavy(3.0, 0.0, 1.0)?]),
        (gaussian_mean(0.0, false)?, vec![normal(0.0, 1.0)?, normal(0.0, 4.0)?, normal(0.5, 0.8)?]),
        (gaussian_variance(1.0, true)?, vec![normal(0.0, 4.242)?, heavy(5.0, 0.0, 1.0)?]),
        (gaussian_moments(0.4, 0.7, false)?, vec![normal(0.0, 2.0)?, heavy(5.0, 0.0, 1.0)?]),
        (quartic()?, vec![normal(0.0, 2.0)?, heavy(5.0, 0.0, 1.5)?]),
        (student(5.0, 0.0, 1.0, false)?, vec![heavy(3.0, 0.0, 1.5)?, heavy(5.0, 0.0, 1.0)?]),
        (gamma(3.5, 2.0, false)?, vec![Arc::new(Gamma::new(2.0, 1.0)?), Arc::new(LogNormal::new(0.4, 0.8)?)]),
        (
            von_mises(1.5, 0.5, false)?,
            vec![Arc::new(VonMises::new(0.0, 0.0)?), Arc::new(VonMises::new(0.5, 1.0)?)],
        ),
        (gaussian_correlation(0.3, true)?, vec![wide(2, 1.0)?, wide_student(2)?]),
        (gaussian(&[0.0; 4], &four, false)?, vec![wide(4, 1.5)?, wide_student(4)?]),
        (ising(&[0.2, -0.1, 0.3], &[(0, 1, 0.4), (1, 2, -0.3)], false)?, vec![spins(3)?]),
    ])
}

/// Every cell: all losses at ν = 1, JS at every ratio.
pub(crate) fn all() -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for (system, noises) in rows()? {
        let system = Arc::new(system);
        for noise in noises {
            let mut add = |loss: Loss, nu: f64| {
                cells.push(Cell { system: system.clone(), noise: noise.clone(), loss, nu, rows: ROWS });
            };
            RATIOS.into_iter().for_each(|nu| add(Loss::Js, nu));
            [Loss::Kl, Loss::ReverseKl, Loss::Hellinger].into_iter().for_each(|loss| add(loss, 1.0));
        }
    }
    Ok(cells)
}
