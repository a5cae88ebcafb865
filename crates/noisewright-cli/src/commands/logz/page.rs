//! The page of `noisewright logz`: where the two samples overlap, what their weights look like, the estimates.

use noisewright_report::{
    Axis, Bars, Card, Figure, Line, Page, Panel, Points, Reference, Section, format_number, format_percent,
};

use super::Answer;
use super::draws::Side;

/// Bars of a histogram.
const BARS: usize = 60;
/// Largest number of weights drawn as a curve.
const WEIGHTS: usize = 400;

impl Answer<'_> {
    pub(super) fn page(&self) -> Page {
        let result = self.result;
        let best = result.best();
        let mut section = Section::new("The estimate").cards([
            Card::new(self.quantity(), format_number(best.log_z, 7)).note(result.recommended.to_string()),
            Card::new("standard error", format_number(best.se, 3)),
            Card::new(
                format!("{} interval", format_percent(result.confidence, 3)),
                format!("{} to {}", format_number(best.lower, 7), format_number(best.upper, 7)),
            ),
            Card::new("overlap", format_number(result.overlap, 3)).note(format!(
                "about {} draws look like the other side's",
                format_number(result.expected_crossings, 3)
            )),
        ]);
        for sentence in self.sentences() {
            section = section.paragraph(sentence);
        }
        for warning in &result.warnings {
            section = section.warning(warning.to_string());
        }
        section = section.table(self.table());
        if let Some(table) = self.allocation_table() {
            section = section.table(table);
        }
        Page::new("A normalizing constant from two samples")
            .subtitle(format!("{} data draws, {} noise draws", result.data.draws, result.noise.draws))
            .section(section)
            .section(self.pictures())
    }

    fn pictures(&self) -> Section {
        let mut section = Section::new("Pictures");
        if let Some(figure) = self.overlap_figure() {
            section = section.figure(
                figure,
                "How the log-density ratio log f − log p_n is spread over the draws of either side. Only where both \
                 have draws do the samples say anything; the root of the bridge, log Z, lies there.",
            );
        }
        if let Some(figure) = self.estimates_figure() {
            section = section.figure(figure, "The estimates that are not refused, with their intervals.");
        }
        section.figure(
            self.weights_figure(),
            "The share of the total weight that the largest weights hold: of importance sampling over the noise draws, and of its \
             reverse over the data draws. A curve that starts high means that a few draws decide.",
        )
    }

    /// Histograms of ℓ for both sides.
    fn overlap_figure(&self) -> Option<Figure> {
        let sides = [&self.pair.data, &self.pair.noise].map(ratios);
        let all: Vec<f64> = sides.iter().flatten().copied().filter(|l| l.is_finite()).collect();
        let (low, high) = middle(all)?;
        let edges: Vec<f64> = (0..=BARS).map(|i| low + (high - low) * i as f64 / BARS as f64).collect();
        let panel = Panel::new(Axis::linear("log f − log p_n"), Axis::linear("density"))
            .with(Bars::new("data", edges.clone(), heights(&sides[0], low, high)))
            .with(Bars::new("noise", edges, heights(&sides[1], low, high)).outline());
        let best = self.result.best().log_z;
        let marked =
            if best > low && best < high { panel.with(Reference::vertical(best, "log Z")) } else { panel };
        Some(Figure::from(marked))
    }

    fn estimates_figure(&self) -> Option<Figure> {
        let given: Vec<_> = self.result.estimates.iter().filter(|e| e.se.is_finite()).collect();
        if given.is_empty() {
            return None;
        }
        let places = given.iter().enumerate().map(|(i, e)| (i as f64, e.method.to_string()));
        let axis = Axis::linear("").ticks(places).range(-0.5, given.len() as f64 - 0.5);
        let points = Points::new("", given.iter().enumerate().map(|(i, e)| (i as f64, e.log_z)))
            .y_errors(given.iter().map(|e| (e.lower, e.upper)));
        Some(Figure::from(Panel::new(axis, Axis::linear(self.quantity())).with(points)))
    }

    fn weights_figure(&self) -> Figure {
        let noise = shares(&ratios(&self.pair.noise));
        let data = shares(&ratios(&self.pair.data).iter().map(|l| -l).collect::<Vec<_>>());
        let panel = Panel::new(
            Axis::log("share of the draws, largest weights first"),
            Axis::linear("share of the weight").range(0.0, 1.0).percent(),
        )
        .with(Line::new("is", noise))
        .with(Line::new("revis", data));
        Figure::from(panel)
    }
}

/// The log-ratios of one side.
fn ratios(side: &Side) -> Vec<f64> {
    side.log_f.iter().zip(&side.log_noise).map(|(f, n)| f - n).collect()
}

/// Where all but a thousandth of the numbers lie; `None` if they are all the same.
fn middle(mut all: Vec<f64>) -> Option<(f64, f64)> {
    all.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| all.get(((all.len().saturating_sub(1)) as f64 * share).round() as usize).copied();
    let (low, high) = (at(0.0005)?, at(0.9995)?);
    (high > low).then_some((low, high))
}

fn heights(values: &[f64], low: f64, high: f64) -> Vec<f64> {
    let mut counts = vec![0.0; BARS];
    let width = (high - low) / BARS as f64;
    for value in values.iter().filter(|v| **v >= low && **v <= high) {
        counts[(((value - low) / width) as usize).min(BARS - 1)] += 1.0;
    }
    counts.iter().map(|c| c / (values.len() as f64 * width)).collect()
}

/// How much of the weight the largest weights hold, by their share of the draws.
fn shares(log_weights: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = log_weights.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let Some(top) = sorted.first().copied().filter(|t| t.is_finite()) else { return Vec::new() };
    let weights: Vec<f64> = sorted.iter().map(|w| (w - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    let count = weights.len();
    let mut sum = 0.0;
    let mut curve = Vec::new();
    let mut next = 1.0;
    for (i, w) in weights.iter().enumerate() {
        sum += w;
        if (i + 1) as f64 >= next || i + 1 == count {
            curve.push(((i + 1) as f64 / count as f64, sum / total));
            next = (i + 1) as f64 * (count as f64).powf(1.0 / WEIGHTS as f64);
        }
    }
    curve
}
