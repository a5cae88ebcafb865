//! The evidence as JSON, as a table, and as a page with pictures.

use std::io::Write;

use noisewright::normalizer::Evidence;
use noisewright_report::{
    Axis, Band, Bars, Card, Cell, Column, Figure, Line, Page, Panel, Reference, Section, Table,
    format_number, format_percent,
};
use serde_json::{Map, Value, json};

use super::super::logz::estimate_json;
use super::draws::ChainDraws;
use crate::inputs::Problem;
use crate::output::{number, numbers};

/// Words of a noise that are printed in full; longer ones are named by their kind.
const WORDS: usize = 400;
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
    pub(super) fn json(&self) -> Value {
        let result = self.result;
        let estimates: Map<String, Value> =
            result.estimates.iter().map(|e| (e.method.to_string(), estimate_json(e))).collect();
        json!({
            "log_evidence": number(result.log_evidence),
            "se": number(result.se),
            "lower": number(result.lower),
            "upper": number(result.upper),
            "confidence": number(result.confidence),
            "recommended": result.recommended.to_string(),
            "reason": result.reason,
            "estimates": estimates,
            "overlap": number(result.overlap),
            "expected_crossings": number(result.expected_crossings),
            "chain_ess": number(result.chain_ess),
            "correlation": number(result.correlation),
            "noise": result.noise.to_string(),
            "noises": self.noises(),
            "draws": result.draws,
            "noise_draws": result.noise_draws,
            "chains": self.chains(),
            "dropped": self.draws.dropped,
            "halves": numbers(result.halves.iter().map(|h| h.get(result.recommended).map_or(f64::NAN, |e| e.log_z))),
            "trace": result.trace.iter().map(|p| json!({
                "draws": p.draws, "log_evidence": number(p.log_evidence), "se": number(p.se),
            })).collect::<Vec<_>>(),
            "converged": result.converged,
            "warnings": result.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    fn chains(&self) -> Vec<usize> {
        self.draws.chains.clone().unwrap_or_else(|| vec![self.result.draws])
    }

    /// The two noises in words, where these are few enough to read.
    fn noises(&self) -> Vec<String> {
        let words = self.result.noises.iter().map(|noise| noise.describe());
        words.map(|words| if words.len() > WORDS { self.result.noise.to_string() } else { words }).collect()
    }

    pub(super) fn warn(&self) {
        for warning in &self.result.warnings {
            let _ = writeln!(std::io::stderr(), "warning: {warning}");
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.table().to_text();
        text.push('\n');
        for sentence in self.sentences() {
            text.push_str(&sentence);
            text.push('\n');
        }
        text
    }

    fn table(&self) -> Table {
        let result = self.result;
        let mut table = Table::new(format!("log evidence of {}", self.problem.title()))
            .column(Column::text(""))
            .column(Column::number("log evidence").significant(8))
            .column(Column::number("se").significant(3))
            .column(Column::number("lower").significant(8))
            .column(Column::number("upper").significant(8))
            .column(Column::number("Pareto k").significant(2));
        for estimate in &result.estimates {
            let mark = if estimate.method == result.recommended { " ←" } else { "" };
            table.push_row([
                Cell::from(format!("{}{mark}", estimate.method).as_str()),
                Cell::from(estimate.log_z),
                Cell::from(estimate.se),
                Cell::from(estimate.lower),
                Cell::from(estimate.upper),
                estimate.pareto_k.map_or(Cell::Empty, Cell::from),
            ]);
        }
        table.note(format!("intervals of {} confidence", format_percent(result.confidence, 3))).note(format!(
            "{} draws in {} worth {} independent ones; {} draws of noise ({}) fitted to each half",
            result.draws,
            counted(self.chains().len()),
            format_number(result.chain_ess, 3),
            result.noise_draws,
            result.noise
        ))
    }

    fn sentences(&self) -> Vec<String> {
        let result = self.result;
        let mut lines = vec![result.reason.clone()];
        lines.push(format!(
            "Draws and noise overlap by {}: {}",
            format_percent(result.overlap, 3),
            if result.overlap > 0.5 {
                "the noise is close to the density."
            } else if result.overlap > 0.05 {
                "enough for an answer; another noise (--noise mixture, --noise warped) may give a smaller error."
            } else {
                "little; try --noise mixture, --noise warped or --symmetrize, or more draws."
            }
        ));
        lines
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
        for sentence in self.sentences() {
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
            panel = panel.with(Band::new("interval", band));
        }
        let line = finite().map(|p| (p.draws as f64, p.log_evidence));
        panel = panel
            .with(Line::new("estimate", line))
            .with(Reference::horizontal(self.result.log_evidence, "all draws"));
        Figure::from(panel)
    }

    /// Histograms of the log-ratio at the draws and at the noise points.
    fn ratio_figure(&self) -> Figure {
        let [data, noise] = &self.result.log_ratios;
        let inside = |x: &&f64| x.is_finite() && x.abs() < FARTHEST;
        let all: Vec<f64> = data.iter().chain(noise).filter(inside).copied().collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low < high { (low, high) } else { (-1.0, 1.0) };
        let edges: Vec<f64> = (0..=BINS).map(|i| low + (high - low) * i as f64 / BINS as f64).collect();
        let panel = Panel::new(
            Axis::linear("log f − log noise − log evidence"),
            Axis::linear("share of the points in a bin").include(0.0),
        )
        .with(Bars::new("draws", edges.clone(), shares(data, &edges)))
        .with(Bars::new("noise", edges.clone(), shares(noise, &edges)).outline())
        .with(Reference::vertical(0.0, "equal densities"));
        Figure::from(panel)
    }
}

const TRACE_CAPTION: &str = "The estimate from the first part of every chain's halves, as that part grows, with the \
    noise fitted to all of a half. A line that still climbs or falls at its end means that the chains have not settled.";

const RATIO_CAPTION: &str = "How much likelier a point is under the density than under the noise. Where the two \
    histograms overlap the answer is made; the weight of a draw in the bridge is 1/(1 + ν⁻¹e^x), that of a noise point \
    1/(1 + νe^−x), with ν the number of noise points per draw.";

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
