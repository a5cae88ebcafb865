//! Two Gaussians on the line: the divergences that have closed forms, and with them the errors of log Z.

/// Data `N(0, 1)` and noise `N(mean, variance)`.
///
/// ```
/// use noisewright_systems::GaussianPair;
/// let pair = GaussianPair { mean: 1.0, variance: 1.0 };
/// assert!((pair.chi2_data_noise() - (1f64.exp() - 1.0)).abs() < 1e-15);
/// assert!(GaussianPair { mean: 0.0, variance: 0.5 }.chi2_data_noise().is_infinite());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianPair {
    /// Mean of the noise.
    pub mean: f64,
    /// Variance of the noise.
    pub variance: f64,
}

impl GaussianPair {
    /// `∫ p_d²/p_n − 1 = v e^{m²/(2v−1)}/√(2v−1) − 1`, infinite unless v > ½.
    #[must_use]
    pub fn chi2_data_noise(&self) -> f64 {
        let rest = 2.0 * self.variance - 1.0;
        if rest <= 0.0 {
            return f64::INFINITY;
        }
        self.variance / rest.sqrt() * (self.mean * self.mean / rest).exp() - 1.0
    }

    /// `∫ p_n²/p_d − 1 = e^{m²/(2−v)}/√(v(2−v)) − 1`, infinite unless v < 2.
    #[must_use]
    pub fn chi2_noise_data(&self) -> f64 {
        let rest = 2.0 - self.variance;
        if rest <= 0.0 {
            return f64::INFINITY;
        }
        (self.mean * self.mean / rest).exp() / (self.variance * rest).sqrt() - 1.0
    }

    /// `∫ √(p_d p_n) = √(2√v/(1+v)) e^{−m²/(4(1+v))}`.
    #[must_use]
    pub fn bhattacharyya(&self) -> f64 {
        let sum = 1.0 + self.variance;
        (2.0 * self.variance.sqrt() / sum).sqrt() * (-0.25 * self.mean * self.mean / sum).exp()
    }

    /// `T · MSE/Z²` of IS, RevIS and IS-RevIS (MATH §4).
    #[must_use]
    pub fn normalizer_errors(&self, nu: f64) -> [f64; 3] {
        let overlap = self.bhattacharyya();
        [
            (1.0 + nu) / nu * self.chi2_data_noise(),
            (1.0 + nu) * self.chi2_noise_data(),
            (1.0 + nu).powi(2) / nu * (1.0 / (overlap * overlap) - 1.0),
        ]
    }

    /// `T · MSE` of the mean of a normalized Gaussian at 0 by the KL loss: w = 1, so Σ = 1 + E_d[x² p_d/p_n]/ν.
    #[must_use]
    pub fn mean_error_kl(&self, nu: f64) -> f64 {
        let rest = 2.0 * self.variance - 1.0;
        if rest <= 0.0 {
            return f64::INFINITY;
        }
        // p_d²/p_n is (χ² + 1) times a Gaussian of mean −m/(2v−1) and variance v/(2v−1).
        let (center, spread) = (-self.mean / rest, self.variance / rest);
        (1.0 + nu) * (1.0 + (self.chi2_data_noise() + 1.0) * (center * center + spread) / nu)
    }
}
