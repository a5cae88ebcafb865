//! Pictures of a fit: data against the fitted density, marginals with residuals, the classifier, the error budget.

use noisewright_report::{
    Axis, Band, Bars, Figure, Line, Panel, Points as Dots, Reference, Stroke, format_percent,
};

use super::Picture;
use super::bins::Bins;
use super::classifier::{self, Class};
use super::scene::{Scene, Weighted};
use crate::fit::Fit;
use crate::show::counted;

/// Number of places a curve is drawn through.
const PLACES: usize = 400;
/// Most names along an axis.
const NAMES: usize = 16;
/// Most variables that get a panel of their own.
const VARIABLES: usize = 6;

/// A fitted model beside its data, and the classifier that it is.
pub fn pictures(scene: &Scene<'_>) -> Vec<Picture> {
    std::iter::once(model_and_data(scene)).chain(classifier(scene)).collect()
}

const RESIDUALS: &str = "Residuals are observed less expected counts over their standard deviation; about 95 % should lie \
    between −2 and 2, and a pattern is a sign of what the model lacks.";

fn model_and_data(scene: &Scene<'_>) -> Picture {
    const HEADING: &str = "Data against the fitted model";
    if let Some((figure, unseen)) = states(scene).filter(|_| scene.data.columns() > 1) {
        let rest =
            if unseen > 0 { format!(" Never seen: {}.", counted(unseen, "state")) } else { String::new() };
        let what =
            "Every state of the variables together: how often it was seen against how often the model says.";
        return Picture::new(HEADING, figure, format!("{what}{rest}"));
    }
    if scene.data.columns() == 1 {
        return match density(scene) {
            Some(figure) => {
                let caption = format!("The data, the fitted density and the noise. {RESIDUALS}");
                Picture::new(HEADING, figure, caption)
            }
            None => Picture::words(HEADING, "The fitted density cannot be drawn."),
        };
    }
    match marginals(scene) {
        Some((figure, hidden)) => {
            let rest = if hidden > 0 {
                format!(" {} are not shown.", counted(hidden, "more variable"))
            } else {
                String::new()
            };
            let what = "Each variable by itself: the data and the fitted model's marginal.";
            Picture::new(HEADING, figure, format!("{what}{rest} {RESIDUALS}"))
        }
        None => Picture::words(HEADING, "The marginals of the fitted model cannot be drawn."),
    }
}

fn classifier(scene: &Scene<'_>) -> Option<Picture> {
    let (figure, left) = classifier_figure(scene)?;
    let rest = if left > 0.0 {
        format!(
            " Left of the picture is {} of the noise, told from data without doubt.",
            format_percent(left, 2)
        )
    } else {
        String::new()
    };
    let caption = format!(
        "Left: the log ratio g = log p − log p_n − log ν at the data and at the noise; the estimate rests on where the \
         two overlap.{rest} Right: points in ten groups by g, the share of data that the fit says against the share \
         found, with 95 % of chance; away from the line the model is wrong there."
    );
    Some(Picture::new("The classifier", figure, caption))
}

/// The parts of every standard error, and the efficiency of the fit.
pub fn budget(fit: &Fit) -> Picture {
    const HEADING: &str = "Where the error comes from";
    let known = fit.efficiencies();
    let efficiency = |index: usize| known.as_ref().and_then(|all| all.get(index).copied().flatten());
    let estimates = fit.estimates();
    let parts: Vec<Budget<'_>> = estimates
        .iter()
        .enumerate()
        .filter(|(_, e)| e.se > 0.0 && e.se.is_finite())
        .map(|(i, e)| Budget {
            name: &e.name,
            data: e.se_data / e.se,
            noise: e.se_noise / e.se,
            efficiency: efficiency(i),
        })
        .collect();
    if parts.is_empty() {
        return Picture::words(HEADING, "There is no variance to divide.");
    }
    Picture::new(
        HEADING,
        budget_figure(&parts),
        "Above: the parts of each standard error, as shares of it; their squares sum to one. Only more data lower the \
         data's part; more noise lowers the noise's. Below, for a fit with noise: the variance of maximum likelihood over \
         that of the fit, if the fitted model is true.",
    )
}

/// The data as a histogram, with the fitted density and the noise's, in one variable.
fn density(scene: &Scene<'_>) -> Option<Figure> {
    let column = scene.data.column(0);
    let bins = Bins::new(scene.domain(0), column);
    let observed = bins.shares(column, |row| scene.weight(row));
    if bins.is_listed() {
        let fitted = scene.fitted()?;
        return Some(marginal(scene, 0, &fitted));
    }
    let (low, high) = (bins.edges[0], bins.edges[bins.count()]);
    let x: Vec<f64> = (0..PLACES).map(|i| low + (high - low) * (i as f64 + 0.5) / PLACES as f64).collect();
    let view = crate::View::new(1, PLACES, &x);
    let fitted = scene.log_density(view)?;
    let curve = |log: &[f64]| x.iter().copied().zip(log.iter().map(|l| l.exp())).collect::<Vec<_>>();
    let mut panel = Panel::new(bins.axis(scene.name(0)), Axis::linear("density"))
        .with(bins.bars("data", &observed))
        .with(Line::new("fitted", curve(&fitted)).stroke(Stroke::Solid).width(2.5));
    if let Some(noise) = scene.noise {
        let mut log_noise = vec![0.0; PLACES];
        noise.log_density(view, &mut log_noise);
        panel.push(Line::new("noise", curve(&log_noise)).stroke(Stroke::Dashed));
    }
    let fitted = scene.fitted().map(|fitted| fitted_shares(&bins, &fitted, 0));
    let mut figure = Figure::new().panel(panel).columns(1);
    if let Some(fitted) = fitted {
        figure = figure.panel(residuals(scene, 0, &bins, &observed, &fitted));
    }
    Some(figure)
}

fn fitted_shares(bins: &Bins, fitted: &Weighted, variable: usize) -> Vec<f64> {
    bins.shares(fitted.points.view().column(variable), |row| fitted.weights[row])
}

/// One variable's frequencies, observed and fitted, above their residuals.
fn marginal(scene: &Scene<'_>, variable: usize, fitted: &Weighted) -> Figure {
    let column = scene.data.column(variable);
    let bins = Bins::new(scene.domain(variable), column);
    let observed = bins.shares(column, |row| scene.weight(row));
    let shares = fitted_shares(&bins, fitted, variable);
    Figure::new()
        .panel(compared(scene, variable, &bins, &observed, &shares))
        .panel(residuals(scene, variable, &bins, &observed, &shares))
        .columns(1)
}

fn compared(scene: &Scene<'_>, variable: usize, bins: &Bins, observed: &[f64], fitted: &[f64]) -> Panel {
    let what = if bins.is_listed() { "frequency" } else { "density" };
    Panel::new(bins.axis(scene.name(variable)), Axis::linear(what))
        .with(bins.bars("data", observed))
        .with(bins.bars("fitted", fitted).outline())
}

/// (observed − expected) / standard deviation of the count in each bin; about 95 % lie between −2 and 2.
fn residuals(scene: &Scene<'_>, variable: usize, bins: &Bins, observed: &[f64], fitted: &[f64]) -> Panel {
    let total = scene.total_weight();
    let dots = (0..bins.count()).filter_map(|bin| {
        let p = fitted[bin];
        let spread = (p * (1.0 - p) / total).sqrt();
        // A bin that expects less than one row says little.
        (p * total >= 1.0 && spread > 0.0).then(|| (bins.center(bin), (observed[bin] - p) / spread))
    });
    Panel::new(
        bins.axis(scene.name(variable)).range(bins.edges[0], bins.edges[bins.count()]),
        Axis::linear("residual"),
    )
    .with(Dots::new("residual", dots.collect::<Vec<_>>()))
    .with(Reference::horizontal(0.0, ""))
    .with(Reference::horizontal(2.0, ""))
    .with(Reference::horizontal(-2.0, ""))
    .aspect(0.4)
}

/// Marginals of the first variables, each above its residuals; also says how many variables are left out.
fn marginals(scene: &Scene<'_>) -> Option<(Figure, usize)> {
    let fitted = scene.fitted()?;
    let shown = scene.data.columns().min(VARIABLES);
    let mut figure = Figure::new().columns(2);
    for pair in (0..shown).collect::<Vec<_>>().chunks(2) {
        let parts: Vec<(usize, Bins)> =
            pair.iter().map(|&j| (j, Bins::new(scene.domain(j), scene.data.column(j)))).collect();
        let shares = |(j, bins): &(usize, Bins)| {
            let observed = bins.shares(scene.data.column(*j), |row| scene.weight(row));
            (observed, fitted_shares(bins, &fitted, *j))
        };
        for part in &parts {
            let (observed, expected) = shares(part);
            figure = figure.panel(compared(scene, part.0, &part.1, &observed, &expected));
        }
        if pair.len() == 1 {
            let (observed, expected) = shares(&parts[0]);
            figure = figure.panel(residuals(scene, parts[0].0, &parts[0].1, &observed, &expected));
            continue;
        }
        for part in &parts {
            let (observed, expected) = shares(part);
            figure = figure.panel(residuals(scene, part.0, &part.1, &observed, &expected));
        }
    }
    Some((figure, scene.data.columns() - shown))
}

/// Observed against fitted frequencies of all states, and how many states were never seen.
fn states(scene: &Scene<'_>) -> Option<(Figure, usize)> {
    let states = scene.states()?;
    let unseen = states.iter().filter(|(_, observed)| *observed == 0.0).count();
    let seen = states.iter().copied().filter(|(_, observed)| *observed > 0.0);
    let total = scene.total_weight();
    let low = states.iter().map(|s| s.0).fold(f64::INFINITY, f64::min).max(0.2 / total);
    let high = states.iter().map(|s| s.0.max(s.1)).fold(0.0, f64::max);
    let places: Vec<f64> =
        (0..=80).map(|i| (low.ln() + (high.ln() - low.ln()) * f64::from(i) / 80.0).exp()).collect();
    let chance = places.iter().map(|&p| {
        let half = 1.96 * (p * (1.0 - p) / total).sqrt();
        (p, (p - half).max(0.2 / total), p + half)
    });
    let panel = Panel::new(Axis::log("fitted frequency"), Axis::log("observed frequency"))
        .with(Band::new("95 % of chance", chance.collect::<Vec<_>>()).color(2))
        .with(Line::new("equal", places.iter().map(|&p| (p, p))).color(2).width(1.0))
        .with(Dots::new("state", seen.collect::<Vec<_>>()).color(0));
    Some((Figure::from(panel), unseen))
}

/// The log ratio at data and noise, whether the share of data is what it says, and the share of noise left of the picture.
fn classifier_figure(scene: &Scene<'_>) -> Option<(Figure, f64)> {
    let (draws, each) = scene.draws()?;
    let weights = (0..scene.data.rows()).map(|row| scene.weight(row)).collect();
    let data = Class { name: "data", ratios: scene.log_ratio(scene.data)?, weights };
    let weights = vec![each; draws.rows()];
    let noise = Class { name: "noise", ratios: scene.log_ratio(draws.view())?, weights };
    classifier::figure(&data, &noise)
}

/// One unknown's standard error, its parts, and its efficiency.
struct Budget<'a> {
    name: &'a str,
    /// Parts of the standard error, as shares of it; their squares sum to one.
    data: f64,
    noise: f64,
    /// Variance of maximum likelihood over that of the fit, where it is known.
    efficiency: Option<f64>,
}

/// The standard error of every estimate in its two parts, and its efficiency.
fn budget_figure(parts: &[Budget<'_>]) -> Figure {
    let step = parts.len().div_ceil(NAMES);
    let ticks: Vec<(f64, String)> =
        parts.iter().enumerate().step_by(step).map(|(i, part)| (i as f64, part.name.to_owned())).collect();
    let axis = || Axis::linear("").ticks(ticks.clone()).range(-0.6, parts.len() as f64 - 0.4);
    let shares = Panel::new(axis(), Axis::linear("share of the standard error").percent().range(0.0, 1.0))
        .with(columns("data part", parts, (-0.36, -0.02), |part| part.data).color(0))
        .with(columns("noise part", parts, (0.02, 0.36), |part| part.noise).color(1))
        .aspect(0.4);
    let figure = Figure::new().panel(shares).columns(1);
    if parts.iter().all(|part| part.efficiency.is_none()) {
        return figure;
    }
    let efficiency = Panel::new(axis(), Axis::linear("efficiency").percent().range(0.0, 1.05))
        .with(
            columns("efficiency", parts, (-0.36, 0.36), |part| part.efficiency.unwrap_or(f64::NAN)).color(2),
        )
        .with(Reference::horizontal(1.0, ""))
        .aspect(0.4);
    figure.panel(efficiency)
}

/// A bar for every part between two distances from 0, 1, 2, …, with gaps between them.
fn columns(label: &str, parts: &[Budget<'_>], span: (f64, f64), height: impl Fn(&Budget<'_>) -> f64) -> Bars {
    let edges = (0..parts.len()).flat_map(|i| [i as f64 + span.0, i as f64 + span.1]).collect();
    let gap = std::iter::once(f64::NAN);
    let heights = parts.iter().flat_map(|part| gap.clone().chain([height(part)])).skip(1).collect();
    Bars::new(label, edges, heights)
}
