//! The path of a penalty as a picture: the estimates against its strength, and the held-out loss that chose it.

use noisewright::parts::{PathPoint, PenaltyReport, StrengthRule};
use noisewright_report::{Axis, Band, Figure, Line, Panel, Reference, Section, Stroke};

/// Most curves with a name of their own.
const NAMED: usize = 6;

/// The section of the path, where more than one strength was tried.
pub(super) fn section(report: &PenaltyReport, names: &[&str]) -> Option<Section> {
    if report.path.len() < 2 {
        return None;
    }
    let mut figure = Figure::new().panel(estimates(report, names)).columns(1);
    let mut words = "The estimates, each times the standard deviation of its feature, against the strength of the penalty; \
        the line is the strength that was used."
        .to_owned();
    if report.folds.is_some() {
        figure = figure.panel(held_out(report));
        words.push_str(match report.rule {
            StrengthRule::OneStandardError => {
                " Below: the held-out loss of the penalised estimates, and that of what they select fitted again without a \
                 penalty, with one standard error; the largest strength within one standard error of the smallest loss of \
                 the refits is taken."
            }
            _ => " Below: the held-out loss, with one standard error; its minimum is taken.",
        });
    }
    Some(Section::new("The path of the penalty").figure(figure, words))
}

fn axis() -> Axis {
    Axis::log("strength λ")
}

/// Estimates against the strength, those that are largest at the end by name.
fn estimates(report: &PenaltyReport, names: &[&str]) -> Panel {
    let last = report.path.last().map(|point| point.values.as_slice()).unwrap_or_default();
    let size = |j: usize| (last[j] * report.scales.get(j).copied().unwrap_or(1.0)).abs();
    let mut order: Vec<usize> = (0..last.len()).filter(|j| size(*j) > 0.0).collect();
    order.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
    let mut panel = Panel::new(axis(), Axis::linear("scaled estimate").include(0.0));
    for (rank, j) in order.iter().enumerate().rev() {
        let curve = report.path.iter().map(|p| (p.strength, p.values[*j] * report.scales[*j]));
        let label = if rank < NAMED { names.get(*j).copied().unwrap_or_default() } else { "" };
        let color = if rank < NAMED { rank } else { NAMED };
        panel.push(Line::new(label, curve.collect::<Vec<_>>()).color(color).stroke(Stroke::Solid).width(1.2));
    }
    panel.with(Reference::vertical(report.strength, ""))
}

/// The held-out losses against the strength.
fn held_out(report: &PenaltyReport) -> Panel {
    let mut panel = Panel::new(axis(), Axis::linear("held-out loss")).aspect(0.5);
    type Field = fn(&PathPoint) -> Option<(f64, f64)>;
    let plain: Field = |p| p.held_out.zip(p.held_out_se);
    let refit: Field = |p| p.held_out_refit.zip(p.held_out_refit_se);
    for (index, (label, field)) in [("penalised", plain), ("refitted", refit)].into_iter().enumerate() {
        let known: Vec<(f64, f64, f64)> =
            report.path.iter().filter_map(|p| field(p).map(|(loss, se)| (p.strength, loss, se))).collect();
        if known.is_empty() {
            continue;
        }
        panel.push(Band::new("", known.iter().map(|(x, loss, se)| (*x, loss - se, loss + se))).color(index));
        panel.push(Line::new(label, known.iter().map(|(x, loss, _)| (*x, *loss))).color(index));
    }
    panel.with(Reference::vertical(report.strength, ""))
}
