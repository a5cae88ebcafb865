//! A fit whose sums are taken by replicas of it is the fit in memory, to the bit.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::fit::{
    Amount, Data, Dependence, DrawKind, FitOptions, PassRequest, Replica, Source, Visit, Workers,
    fit_distributed, fit_stream, ratio_distributed, ratio_stream,
};
use noisewright::internal::fit::{fit, ratio};
use noisewright::{Error, Fit, Model, Normal, Points, Result, Space, View, sample, to_json};

/// Replicas that hold all rows, and are lost at some steps.
struct Replicas<'a> {
    model: &'a Model,
    options: &'a FitOptions,
    points: View<'a>,
    weights: Option<&'a [f64]>,
    /// The second sample of a ratio.
    second: Option<View<'a>>,
    run_rows: usize,
    /// Rows of a run that are handed over at a time.
    part_rows: usize,
    held: Mutex<Vec<Option<Replica>>>,
    /// Every so-many runs the replica that is asked is lost before it answers.
    lost_every: usize,
    asked: AtomicUsize,
    /// Answers of more than 4 kB, beside the sample of rows.
    large: AtomicUsize,
}

impl<'a> Replicas<'a> {
    fn new(
        model: &'a Model,
        options: &'a FitOptions,
        points: View<'a>,
        count: usize,
        run_rows: usize,
    ) -> Self {
        let held = Mutex::new((0..count).map(|_| None).collect());
        let (asked, large) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (weights, second, lost_every) = (None, None, usize::MAX);
        let part_rows = usize::MAX;
        Self { model, options, points, weights, second, run_rows, part_rows, held, lost_every, asked, large }
    }

    fn start(&self) -> Result<Replica> {
        let (model, options) = (self.model.clone(), self.options.clone());
        let (columns, rows) = (self.points.columns(), self.points.rows());
        match self.second {
            Some(second) => {
                Replica::start_ratio(model, options, (columns, [rows, second.rows()]), |work| work())
            }
            None if self.has_clusters() => {
                Replica::start_clustered(model, options, (columns - 1, rows), |work| work())
            }
            None => Replica::start(model, options, (columns, rows), |work| work()),
        }
    }

    fn answer(
        &self,
        slot: &mut Option<Replica>,
        pass: &PassRequest<'_>,
        run: &Range<usize>,
    ) -> Result<Vec<u8>> {
        if self.asked.fetch_add(1, Ordering::Relaxed) % self.lost_every == self.lost_every - 1 {
            *slot = None;
        }
        let replica = match slot {
            Some(replica) => replica,
            None => slot.insert(self.start()?),
        };
        replica.advance(&pass.log[replica.step()..])?;
        let weights = self.weights.filter(|_| pass.sample == Some(0));
        let points = if pass.sample == Some(1) { self.second.unwrap() } else { self.points };
        let part = |rows: &Range<usize>| {
            let column = |j: usize| points.column(j)[rows.clone()].to_vec();
            let values =
                pass.sample.map_or_else(Vec::new, |_| (0..points.columns()).flat_map(column).collect());
            replica.sum(rows.clone(), values, weights.map(|w| w[rows.clone()].to_vec()))
        };
        let parts = Replica::parts(run, self.part_rows);
        let answers = parts.iter().map(part).collect::<Result<Vec<_>>>()?;
        let answer = replica.join(run.clone(), parts, answers)?;
        // The second pass brings the sample.
        if pass.step() > 1 && answer.len() > 4096 {
            self.large.fetch_add(1, Ordering::Relaxed);
        }
        Ok(answer)
    }
}

impl Workers for Replicas<'_> {
    fn dimension(&self) -> usize {
        self.points.columns() - usize::from(self.has_clusters())
    }

    fn has_clusters(&self) -> bool {
        self.points.columns() > self.model.space().dimension()
    }

    fn rows(&self) -> usize {
        self.points.rows()
    }

    fn second_rows(&self) -> usize {
        self.second.map_or(0, |second| second.rows())
    }

    fn run_rows(&self) -> usize {
        self.run_rows
    }

    fn sum(&self, pass: &PassRequest<'_>) -> Result<Vec<Vec<u8>>> {
        let mut held = self.held.lock().unwrap();
        let count = held.len();
        let mut answers = vec![Vec::new(); pass.runs.len()];
        // In another order than that of the blocks.
        for (number, run) in pass.runs.iter().enumerate().rev() {
            answers[number] = self.answer(&mut held[number % count], pass, run)?;
        }
        Ok(answers)
    }
}

/// Rows whose last column are numbers of clusters.
struct Clustered<'a>(Blocks<'a>);

impl Source for Clustered<'_> {
    fn dimension(&self) -> usize {
        self.0.dimension() - 1
    }

    fn has_clusters(&self) -> bool {
        true
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        self.0.for_each_block(visit)
    }
}

struct Blocks<'a>(View<'a>, Option<&'a [f64]>, usize);

impl Source for Blocks<'_> {
    fn dimension(&self) -> usize {
        self.0.columns()
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        (0..self.0.rows()).step_by(self.2).try_for_each(|start| {
            let range = start..self.0.rows().min(start + self.2);
            visit(self.0.slice(range.clone()), self.1.map(|w| &w[range]))
        })
    }
}

fn text(fit: &Fit) -> String {
    to_json(fit).unwrap()
}

/// The fit in memory, that of a stream, and those of replicas are compared.
fn compare(model: &Model, points: &Points, weights: Option<&[f64]>, options: &FitOptions) {
    let data = Data::new(points.view());
    let data = weights.map_or(data, |w| data.with_weights(w));
    let whole = fit(model, data, options).unwrap();
    assert!(whole.converged);
    let streamed = fit_stream(model, &Blocks(points.view(), weights, 10_007), options).unwrap();
    assert_eq!(text(&whole), text(&streamed));
    for (count, run_rows, lost_every, part_rows) in
        [(1, 1 << 17, usize::MAX, usize::MAX), (3, 50_000, 11, 9_000)]
    {
        let replicas = Replicas::new(model, options, points.view(), count, run_rows);
        let workers = Replicas { weights, lost_every, part_rows, ..replicas };
        let distributed = fit_distributed(model, &workers, options).unwrap();
        assert_eq!(text(&whole), text(&distributed));
    }
}

fn gaussian() -> Model {
    Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

#[test]
fn a_linear_model() {
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 300_001, 1);
    compare(&gaussian(), &points, None, &FitOptions::default());
    let random = FitOptions { draws: DrawKind::Random, amount: Amount::Ratio(1.5), ..FitOptions::default() };
    compare(&gaussian(), &points, None, &random);
}

#[test]
fn weights_that_are_no_integers() {
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 280_003, 2);
    let weights: Vec<f64> = (0..points.rows()).map(|i| 0.5 + (i as f64).sin().abs()).collect();
    let options = FitOptions { amount: Amount::Ratio(0.5), ..FitOptions::default() };
    compare(&gaussian(), &points, Some(&weights), &options);
}

#[test]
fn a_model_with_several_starts() {
    let toml = "variables = ['x']\nlog_density = '-(x-m)^2/(2*s^2) - 0.1*abs(x-m)^3'\n[parameters]\nm = 0\ns = { start = 1, lower = 0 }";
    let model = Model::from_toml(toml).unwrap();
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 270_000, 3);
    compare(&model, &points, None, &FitOptions { amount: Amount::Ratio(1.0), ..FitOptions::default() });
}

/// Points of two columns, the second of which are numbers of clusters, and these as they are given in memory.
fn clustered(rows: usize, number: impl Fn(usize) -> usize) -> (Points, Points, Vec<u64>) {
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), rows, 11);
    // Names that are no counts: they are negative and not in the order of their rows.
    let names: Vec<f64> = (0..rows).map(|row| 40.0 - number(row) as f64).collect();
    let both = Points::unnamed(2, rows, [points.view().column(0), &names].concat());
    (points, both, (0..rows).map(|row| number(row) as u64).collect())
}

/// Clusters whose rows are in every block: many and few of them, with weights, and of so few rows that all are held.
#[test]
fn clusters_that_span_blocks() {
    let options = FitOptions { amount: Amount::Ratio(0.5), ..FitOptions::default() };
    let model = gaussian();
    for (rows, groups) in [(280_003, 1_009), (280_003, 12), (9_000, 40)] {
        let (points, both, ids) = clustered(rows, |row| row * 7_919 % groups);
        let weights: Vec<f64> = (0..rows).map(|i| 0.5 + (i as f64).sin().abs()).collect();
        let data = Data::from(&points).with_weights(&weights).with_dependence(Dependence::Clusters(&ids));
        let whole = fit(&model, data, &options).unwrap();
        let blocks = || Blocks(both.view(), Some(&weights), 10_007);
        assert_eq!(text(&whole), text(&fit_stream(&model, &Clustered(blocks()), &options).unwrap()));
        let replicas = Replicas::new(&model, &options, both.view(), 3, 50_000);
        let workers = Replicas { weights: Some(&weights), lost_every: 11, part_rows: 9_000, ..replicas };
        assert_eq!(text(&whole), text(&fit_distributed(&model, &workers, &options).unwrap()));
        // The clusters count: without them there are other standard errors.
        let independent = fit(&model, Data::from(&points).with_weights(&weights), &options).unwrap();
        assert!(independent.parameters[0].se_data != whole.parameters[0].se_data);
    }
}

#[test]
fn a_cluster_that_cannot_be_told_is_named() {
    let (_, both, _) = clustered(280_003, |row| row % 100);
    let mut values = both.into_values();
    values[280_003 + 123_456] = 9_007_199_254_740_993.0;
    let both = Points::unnamed(2, 280_003, values);
    let (model, options) = (gaussian(), FitOptions::default());
    let streamed = fit_stream(&model, &Clustered(Blocks(both.view(), None, 10_007)), &options).unwrap_err();
    let workers = Replicas::new(&model, &options, both.view(), 2, 50_000);
    assert_eq!(fit_distributed(&model, &workers, &options).unwrap_err(), streamed);
    assert!(matches!(streamed, Error::OutsideDomain { row: 123_457, .. }), "{streamed}");
}

#[test]
fn few_rows() {
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 3_000, 4);
    compare(&gaussian(), &points, None, &FitOptions::default());
}

/// Both samples elsewhere, one of them, and none: the ratio in memory, to the bit.
#[test]
fn a_ratio_of_two_samples() {
    let options = FitOptions::default();
    let model = gaussian();
    for (first_rows, second_rows) in [(280_001, 300_003), (280_001, 20_000), (3_000, 290_000), (2_000, 3_000)]
    {
        let first = sample(&Normal::with_variance(0.3, 0.8).unwrap(), first_rows, 7);
        let second = sample(&Normal::with_variance(0.0, 1.0).unwrap(), second_rows, 8);
        let weights: Vec<f64> = (0..first_rows).map(|i| 0.5 + (i as f64).sin().abs()).collect();
        let data = Data::from(&first).with_weights(&weights);
        let whole = ratio(&model, data, Data::from(&second), &options).unwrap();
        assert!(
            whole.fit.converged
                && (whole.parameters[1].estimate + 0.125).abs() < 5.0 * whole.parameters[1].se
        );
        let blocks = [Blocks(first.view(), Some(&weights), 10_007), Blocks(second.view(), None, 9_001)];
        let streamed = ratio_stream(&model, &blocks[0], &blocks[1], &options).unwrap();
        assert_eq!(text(&whole.fit), text(&streamed.fit));
        for (count, run_rows, lost_every) in [(1, 1 << 17, usize::MAX), (3, 50_000, 11)] {
            let replicas = Replicas::new(&model, &options, first.view(), count, run_rows);
            let second = Some(second.view());
            let workers = Replicas { weights: Some(&weights), second, lost_every, ..replicas };
            let distributed = ratio_distributed(&model, &workers, &options).unwrap();
            assert_eq!(text(&whole.fit), text(&distributed.fit));
        }
    }
}

#[test]
fn a_ratio_with_a_weighted_second_sample_is_refused_everywhere() {
    let points = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 3_000, 9);
    let (weights, model, options) = (vec![1.0; 3_000], gaussian(), FitOptions::default());
    let second = Data::from(&points).with_weights(&weights);
    let whole = ratio(&model, Data::from(&points), second, &options).unwrap_err();
    let blocks = [Blocks(points.view(), None, 1_000), Blocks(points.view(), Some(&weights), 1_000)];
    assert_eq!(ratio_stream(&model, &blocks[0], &blocks[1], &options).unwrap_err(), whole);
}

#[test]
fn a_state_and_a_sum_are_small() {
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 300_000, 5);
    let (model, options) = (gaussian(), FitOptions { amount: Amount::Ratio(1.0), ..FitOptions::default() });
    let workers = Replicas::new(&model, &options, points.view(), 2, 1 << 16);
    fit_distributed(&model, &workers, &options).unwrap();
    // The first runs of both samples, where the tails are measured on their first rows, once before and once in the judgement.
    let (large, asked) = (workers.large.into_inner(), workers.asked.into_inner());
    assert!(large <= 4 && asked > 50, "{large} of {asked}");
}

#[test]
fn a_bad_row_is_named_wherever_it_is() {
    let mut values = vec![0.5; 300_000];
    values.iter_mut().enumerate().for_each(|(i, x)| *x += (i as f64).sin());
    values[123_456] = f64::INFINITY;
    let points = Points::unnamed(1, values.len(), values);
    let (model, options) = (gaussian(), FitOptions::default());
    let workers = Replicas::new(&model, &options, points.view(), 2, 20_000);
    let found = fit_distributed(&model, &workers, &options).unwrap_err();
    assert_eq!(found, fit(&model, Data::new(points.view()), &options).unwrap_err());
    assert!(matches!(found, Error::OutsideDomain { row: 123_457, .. }), "{found}");
}

#[test]
fn a_replica_that_is_led_astray_says_so() {
    let points = sample(&Normal::with_variance(0.3, 1.2).unwrap(), 5_000, 6);
    let mut replica =
        Replica::start(gaussian(), FitOptions::default(), (1, points.rows()), |work| work()).unwrap();
    // An answer that is none of its fit's ends it.
    replica.advance(&[vec![1, 2, 3]]).unwrap();
    let found = replica.sum(0..4096, points.view().column(0)[..4096].to_vec(), None).unwrap_err();
    assert!(found.to_string().contains("went another way"), "{found}");
}
