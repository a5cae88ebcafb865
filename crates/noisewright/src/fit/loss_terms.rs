//! What one point adds to the loss, as a function of its log ratio g: the value and its first two derivatives.

use noisewright_numerics::kernels;

use super::distributed::partial_scratch;
use crate::Loss;

/// Which of the two samples a point belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Data,
    Noise,
}

/// Value, first and second derivative in g of the terms of a few hundred points.
#[derive(Default)]
pub(crate) struct Terms {
    pub(crate) value: Vec<f64>,
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
}

partial_scratch!(Terms);

impl Terms {
    /// Fills the terms of these points; a noise point outside the model's support (g = −∞) adds nothing, a data point
    /// there makes the value +∞.
    pub(crate) fn fill(&mut self, loss: &Loss, class: Class, g: &[f64]) {
        for part in [&mut self.value, &mut self.first, &mut self.second] {
            part.resize(g.len(), 0.0);
        }
        match loss {
            Loss::Js => self.fill_js(class, g, 0.0),
            Loss::JsRatio { log_shift } => self.fill_js(class, g, *log_shift),
            _ => self.fill_any(loss, class, g),
        }
    }

    /// JS by the vector kernels: `softplus(∓g)`, `∓σ(∓g)`, `σ(g)σ(−g)`, at `g + shift`, those of noise over `e^shift`.
    fn fill_js(&mut self, class: Class, g: &[f64], shift: f64) {
        let sign = if class == Class::Data { -1.0 } else { 1.0 };
        kernels::logistic_terms(g, shift, sign, [&mut self.value, &mut self.first, &mut self.second]);
        if class == Class::Noise && shift != 0.0 {
            let factor = (-shift).exp();
            for part in [&mut self.value, &mut self.first, &mut self.second] {
                part.iter_mut().for_each(|x| *x *= factor);
            }
        }
    }

    fn fill_any(&mut self, loss: &Loss, class: Class, g: &[f64]) {
        for (i, &g) in g.iter().enumerate() {
            let (value, first, second) = match class {
                Class::Noise if g == f64::NEG_INFINITY => (0.0, 0.0, 0.0),
                Class::Data if g == f64::NEG_INFINITY => (f64::INFINITY, 0.0, 0.0),
                Class::Noise => {
                    let first = (loss.log_weight(g) + g).exp();
                    (loss.noise_term(g), first, first * (1.0 + loss.log_weight_slope(g)))
                }
                Class::Data => {
                    let weight = loss.log_weight(g).exp();
                    (loss.data_term(g), -weight, -weight * loss.log_weight_slope(g))
                }
            };
            (self.value[i], self.first[i], self.second[i]) = (value, first, second);
        }
    }

    /// Multiplies by how many times each row counts.
    pub(crate) fn weigh(&mut self, weights: Option<&[f64]>) {
        let Some(weights) = weights else { return };
        for part in [&mut self.value, &mut self.first, &mut self.second] {
            for (x, w) in part.iter_mut().zip(weights) {
                // A row that counts zero times may have an infinite term.
                *x = if *w == 0.0 { 0.0 } else { *x * w };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn derivatives_are_those_of_the_value(g in -6.0..6.0f64) {
            let ratio = Loss::JsRatio { log_shift: -1.3 };
            for loss in [Loss::Js, ratio, Loss::Kl, Loss::ReverseKl, Loss::Hellinger, Loss::Pearson, Loss::Brier, Loss::Power(0.3)] {
                for class in [Class::Data, Class::Noise] {
                    let step = 1e-4;
                    let mut terms = Terms::default();
                    terms.fill(&loss, class, &[g - step, g, g + step]);
                    let slope = |x: &[f64]| (x[2] - x[0]) / (2.0 * step);
                    let (first, second) = (terms.first[1], terms.second[1]);
                    prop_assert!((slope(&terms.value) - first).abs() < 1e-7 * (1.0 + first.abs()), "{loss} {class:?}");
                    prop_assert!((slope(&terms.first) - second).abs() < 1e-7 * (1.0 + second.abs()), "{loss} {class:?}");
                }
            }
        }
    }

    #[test]
    fn outside_the_support_noise_adds_nothing_and_data_are_a_wall() {
        for loss in [Loss::Js, Loss::Kl, Loss::ReverseKl, Loss::Hellinger, Loss::Pearson, Loss::Brier] {
            let mut terms = Terms::default();
            terms.fill(&loss, Class::Noise, &[f64::NEG_INFINITY]);
            assert_eq!((terms.value[0], terms.first[0], terms.second[0]), (0.0, 0.0, 0.0), "{loss}");
            terms.fill(&loss, Class::Data, &[f64::NEG_INFINITY]);
            assert_eq!(terms.value[0], f64::INFINITY, "{loss}");
        }
    }
}
