//! The evidence as JSON, as a table, and as a page with pictures.

use noisewright::internal::show::{evidence_sentences, evidence_table};
use noisewright::normalizer::Evidence;
use noisewright_report::{
    Axis, Band, Bars, Card, Figure, Line, Page, Panel, Reference, Section, Stroke, Table, Value,
    format_number, format_percent,
};

use super::draws::ChainDraws;
use crate::failure::Outcome;
use crate::inputs::Problem;
use crate::output;

/// Bins of the histograms.
const BINS: usize = 40;
/// Log-ratios beyond which the picture does not go.
const FARTHEST: f64 = 30.0;

/// A result and what it was made from.
pub(super) struct Shown<'a> {
    pub(super) result: &'a Evidence,
    pub(super) problem: &'a Problem,
    pub(super) draws: &'a ChainDraws,
}

impl Shown<'_> {
    pub(super) fn json(&self) -> Outcome<Value> {
        let mut value = output::value(self.result)?;
        value.set("chains", output::value(&self.chains())?);
        value.set("dropped", self.draws.dropped);
        Ok(value)
    }

    fn chains(&self) -> Vec<usize> {
        self.draws.chains.clone().unwrap_or_else(|| vec![self.result.draws])
    }

    pub(super) fn warn(&self) {
        self.result.warnings.iter().for_each(|warning| output::warn(&warning.to_string()));
    }

    pub(super) fn text(&self) -> String {
        output::table_and_sentences(&self.table(), evidence_sentences(self.result))
    }

    fn table(&self) -> Table {
        let title = format!("log evidence of {}", self.problem.title());
        evidence_table(self.result, &title, self.chains().len())
    }

    pub(super) fn page(&self) -> Page {
        let result = self.result;
        let mut section = Section::new("The evidence").cards([
            Card::new("log evidence", format_number(result.log_evidence, 7))
                .note(format!("± {} (standard error)", format_number(result.se, 3))),
            Card::new("overlap", format_percent(result.overlap, 3)).note(format!("noise: {}", result.noise)),
            Card::new("draws are worth", format_number(result.chain_ess, 3)).note(format!(
                "of {} in {}",
                result.draws,
                counted(self.chains().len())
            )),
        ]);
        for warning in &result.warnings {
            section = section.warning(warning.to_string());
        }
        for sentence in evidence_sentences(self.result) {
            section = section.paragraph(sentence);
        }
        section = section.table(self.table());
        let pictures = Section::new("Pictures")
            .figure(self.trace_figure(), TRACE_CAPTION)
            .figure(self.ratio_figure(), RATIO_CAPTION);
        Page::new("Evidence").subtitle(self.problem.title()).section(section).section(pictures)
    }

    /// The estimate as draws accumulate.
    fn trace_figure(&self) -> Figure {
        let trace = &self.result.trace;
        let reach = if self.result.se > 0.0 && self.result.se.is_finite() {
            (self.result.upper - self.result.lower) / (2.0 * self.result.se)
        } else {
            0.0
        };
        let finite = || trace.iter().filter(|p| p.log_evidence.is_finite());
        let mut panel = Panel::new(Axis::linear("draws").include(0.0), Axis::linear("log evidence"));
        if reach > 0.0 {
            let band = finite()
                .map(|p| (p.draws as f64, p.log_evidence - reach * p.se, p.log_evidence + reach * p.se));
            panel = panel.with(Band::new("interval", band).color(0));
        }
        let line = finite().map(|p| (p.draws as f64, p.log_evidence));
        panel = panel
            .with(Line::new("estimate", line).color(0).stroke(Stroke::Solid))
            .with(Reference::horizontal(self.result.log_evidence, "all draws"));
        Figure::from(panel)
    }

    /// Histograms of the log-ratio at the draws and at the noise points, and the weights that go with it.
    fn ratio_figure(&self) -> Figure {
        let [data, noise] = &self.result.log_ratios;
        let (low, high) = range(data, noise);
        let edges: Vec<f64> = (0..=BINS).map(|i| low + (high - low) * i as f64 / BINS as f64).collect();
        let axis = || Axis::linear("x = log f − log noise − log evidence").range(low, high);
        let top = Panel::new(axis(), Axis::linear("share of the points in a bin").include(0.0))
            .with(Bars::new("draws", edges.clone(), shares(data, &edges)))
            .with(Bars::new("noise", edges.clone(), shares(noise, &edges)).outline())
            .with(Reference::vertical(0.0, "equal densities"));
        let nu = (self.result.noise_draws as f64 / self.result.chain_ess).ln();
        let curve = |sign: f64| {
            let weight = move |x: f64| 1.0 / (1.0 + (sign * (x - nu)).exp());
            (0..=200).map(move |i| low + (high - low) * f64::from(i) / 200.0).map(move |x| (x, weight(x)))
        };
        let bottom = Panel::new(axis(), Axis::linear("weight in the bridge").range(0.0, 1.0))
            .with(Line::new("of a draw", curve(1.0)).color(0).stroke(Stroke::Solid))
            .with(Line::new("of a noise point", curve(-1.0)).color(1).stroke(Stroke::Solid));
        Figure::new().panel(top).panel(bottom).columns(1)
    }
}

/// Where all but a thousandth of the finite log-ratios are at either end.
fn range(data: &[f64], noise: &[f64]) -> (f64, f64) {
    let mut all: Vec<f64> = data.iter().chain(noise).filter(|x| x.is_finite()).copied().collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all.get((share * all.len() as f64) as usize).or(all.last()).copied();
    match (at(0.001), at(0.999)) {
        (Some(low), Some(high)) if low < high => (low.max(-FARTHEST), high.min(FARTHEST)),
        _ => (-1.0, 1.0),
    }
}

const TRACE_CAPTION: &str = "The estimate from the first part of every chain's halves, as that part grows, with the \
    noise fitted to all of a half. A line that still climbs or falls at its end means that the chains have not settled.";

const RATIO_CAPTION: &str = "How much likelier a point is under the density than under the noise. Where the two \
    histograms overlap the answer is made. Below, the weights: 1/(1 + exp(x)/ν) for a draw and 1/(1 + ν exp(−x)) for a noise point, with \
    ν the number of noise points per independent draw.";

/// The share of the values in each bin.
fn shares(values: &[f64], edges: &[f64]) -> Vec<f64> {
    let mut counts = vec![0.0; edges.len() - 1];
    for value in values.iter().filter(|v| **v >= edges[0] && **v <= edges[edges.len() - 1]) {
        let bin = edges.partition_point(|edge| edge <= value).clamp(1, counts.len()) - 1;
        counts[bin] += 1.0;
    }
    counts.iter().map(|count| count / values.len().max(1) as f64).collect()
}

fn counted(chains: usize) -> String {
    if chains == 1 { "one chain".into() } else { format!("{chains} chains") }
}
