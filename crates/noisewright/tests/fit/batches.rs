//! An energy that is asked for whole samples at once gives the same fit as one that is asked in portions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::{Energy, Model, Normal, Parameter, Result, Space, View, sample};

/// `−e^s (x − m)²/2`, with its second derivatives.
#[derive(Default)]
struct Bell {
    batches: bool,
    /// Sums its scores by itself.
    sums: bool,
    calls: AtomicUsize,
    /// Rows whose values, scores, sums of scores and second derivatives were asked for.
    rows: [AtomicUsize; 4],
}

impl Bell {
    fn asked(&self, what: usize, rows: usize) {
        self.rows[what].fetch_add(rows, Ordering::Relaxed);
    }

    /// How many times the rows of a fit were asked for values, scores, sums and second derivatives.
    fn passes(&self, rows: usize) -> [f64; 4] {
        self.rows.each_ref().map(|asked| asked.load(Ordering::Relaxed) as f64 / rows as f64)
    }
}

impl Energy for Bell {
    fn parameters(&self) -> Vec<String> {
        vec!["m".into(), "s".into()]
    }

    fn dimension(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        value: &mut [f64],
        mut score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let rows = points.rows();
        self.asked(usize::from(score.is_some()), rows);
        for (i, x) in points.column(0).iter().enumerate() {
            let (gap, scale) = (x - theta[0], theta[1].exp());
            value[i] = -0.5 * scale * gap * gap;
            if let Some(score) = score.as_deref_mut() {
                score[i] = scale * gap;
                score[rows + i] = -0.5 * scale * gap * gap;
            }
        }
        Ok(())
    }

    fn prefers_batches(&self) -> bool {
        self.batches
    }

    fn add_weighted_score(
        &self,
        theta: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        if !self.sums {
            return Ok(false);
        }
        self.asked(2, points.rows());
        for (x, w) in points.column(0).iter().zip(weights) {
            let (gap, scale) = (x - theta[0], theta[1].exp());
            out[0] += w * scale * gap;
            out[1] -= 0.5 * w * scale * gap * gap;
        }
        Ok(true)
    }

    fn add_curvature(
        &self,
        theta: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.asked(3, points.rows());
        for (x, w) in points.column(0).iter().zip(weights) {
            let (gap, scale) = (x - theta[0], theta[1].exp());
            out[0] -= w * scale;
            out[1] += w * scale * gap;
            out[2] += w * scale * gap;
            out[3] -= 0.5 * w * scale * gap * gap;
        }
        Ok(true)
    }
}

#[test]
fn whole_samples_and_portions_give_the_same_fit() {
    let points = sample(&Normal::with_variance(0.3, 2.0).unwrap(), 30_000, 7);
    let fitted = |batches: bool| {
        let energy = Arc::new(Bell { batches, ..Bell::default() });
        let parameters = vec![Parameter::new("m", 0.1), Parameter::new("s", 0.1)];
        let model = Model::new(energy.clone(), Space::real(&["x"]).unwrap(), parameters).unwrap();
        let noise = NoiseChoice::Given(Arc::new(Normal::with_variance(0.0, 4.0).unwrap()));
        // One start: looking for others asks about a few rows only, in portions or not.
        let options = FitOptions { noise, amount: Amount::Ratio(3.0), starts: 1, ..FitOptions::default() };
        let fit = fit(&model, Data::from(&points), &options).unwrap();
        (fit, energy.calls.load(Ordering::Relaxed))
    };
    let ((portions, many), (whole, few)) = (fitted(false), fitted(true));
    assert!(portions.converged && whole.converged);
    for (a, b) in portions.estimates().iter().zip(whole.estimates()) {
        assert!((a.estimate - b.estimate).abs() < 1e-9, "{} {}", a.estimate, b.estimate);
        assert!((a.se / b.se - 1.0).abs() < 1e-9, "{} {}", a.se, b.se);
    }
    // log Z = ½ log 2π − s/2.
    let (s, constant) = (whole.parameters[1].estimate, whole.log_normalizer.unwrap());
    let truth = 0.5 * std::f64::consts::TAU.ln() - 0.5 * s;
    assert!((constant.estimate - truth).abs() < 5.0 * constant.se_noise);
    // Blocks of 4,096 rows rather than 512, but for the looks at fewer rows.
    assert!(few * 6 < many, "{few} calls instead of {many}");
}

/// A fit of so many rows against as many noise points with all starts, and how often the rows were asked for what.
fn passes(rows: usize, batches: bool, sums: bool) -> (noisewright::Fit, [f64; 4]) {
    let points = sample(&Normal::with_variance(0.3, 2.0).unwrap(), rows, 7);
    let energy = Arc::new(Bell { batches, sums, ..Bell::default() });
    let parameters = vec![Parameter::new("m", 0.1), Parameter::new("s", 0.1)];
    let model = Model::new(energy.clone(), Space::real(&["x"]).unwrap(), parameters).unwrap();
    let noise = NoiseChoice::Given(Arc::new(Normal::with_variance(0.0, 4.0).unwrap()));
    let options = FitOptions { noise, amount: Amount::Ratio(1.0), ..FitOptions::default() };
    let fit = fit(&model, Data::from(&points), &options).unwrap();
    assert!(fit.converged);
    (fit, energy.passes(2 * rows))
}

#[test]
fn the_curvature_of_many_rows_is_asked_for_once() {
    for (batches, sums) in [(false, false), (true, false), (true, true)] {
        let (_, few) = passes(1 << 17, batches, sums);
        let (_, many) = passes(1 << 19, batches, sums);
        // Once for the standard errors; the search has that of a part, some 3 % of the fewer rows.
        assert!(many[3] < 1.2, "{many:?} {batches} {sums}");
        // The search begins with a part of fixed size: more rows are passed over no more often, but for a step more or less of the
        // search, which is a value and a gradient.
        let all = |of: [f64; 4]| of.iter().sum::<f64>();
        assert!(all(many) < all(few) + 2.0, "{many:?} after {few:?}");
        // Scores of all rows: for the standard errors, for the judgement, and a look at them before.
        assert!(!sums || many[1] < 5.0, "{many:?}");
    }
}

#[test]
fn sums_of_scores_give_the_same_fit() {
    let ((scores, _), (sums, asked)) = (passes(1 << 16, true, false), passes(1 << 16, true, true));
    assert!(asked[2] > 2.0);
    for (a, b) in scores.estimates().iter().zip(sums.estimates()) {
        assert!((a.estimate - b.estimate).abs() < 1e-6 * a.se, "{} {}", a.estimate, b.estimate);
        assert!((a.se / b.se - 1.0).abs() < 1e-6, "{} {}", a.se, b.se);
    }
}
