//! `noisewright error`: what a design would cost.

use noisewright::internal::design::ErrorAnswer;
use noisewright::internal::show::{error_table, shortened};
use noisewright::internal::{Contrast, leave_matrices_out};
use noisewright::{Loss, Noise, Target};
use noisewright_report::{
    Axis, Card, Figure, Line, Page, Panel, Reference, Section, Table, Value, format_number, format_percent,
};

use crate::arguments::{ErrorArguments, Global};
use crate::failure::Outcome;
use crate::inputs::{self, Problem};
use crate::noises::{self, Purpose};
use crate::output;
use crate::progress::Progress;

/// Everything the command shows.
struct Answer<'a> {
    problem: &'a Problem,
    noise: &'a dyn Noise,
    nu: f64,
    loss: &'a Loss,
    /// M, where the loss has one.
    ratio: Option<f64>,
    target: &'a Target,
    error: ErrorAnswer,
}

pub(crate) fn run(arguments: &ErrorArguments, global: &Global) -> Outcome<()> {
    let ratio = inputs::loss_ratio(&arguments.loss_ratio)?;
    let loss = inputs::loss(&arguments.loss)?;
    let target = Target::parse(&arguments.target);
    let nu = arguments.nu;
    let loss = ratio.map_or_else(|| Ok(loss.clone()), |ratio| loss.with_ratio(ratio, nu))?;
    let ratio = ratio.or_else(|| loss.is_js().then_some(nu));
    let words = noises::parse(&arguments.noise)?;
    let problem = Problem::read(&arguments.model, global)?;
    noises::refuse_unused_data(&words, &arguments.model.data)?;
    let progress = Progress::new(problem.quiet, "computing the asymptotic error");
    let noise = noises::build(&problem, &arguments.noise, Purpose { nu, target: &target })?;
    let contrast = Contrast { noise: noise.as_ref(), nu, loss: &loss };
    let error = problem.question().error(contrast, &target)?;
    drop(progress);
    let (noise, problem) = (noise.as_ref(), &problem);
    let answer = Answer { problem, noise, nu, loss: &loss, ratio, target: &target, error };
    let json = answer.json(arguments.matrices)?;
    output::write_report(global, || answer.page(), &json)?;
    if global.json { output::print_json(&json) } else { output::print(&answer.text()) }
}

impl Answer<'_> {
    fn json(&self, matrices: bool) -> Outcome<Value> {
        let mut value = output::value(&self.error.report)?;
        let errors = self.error.divergences.as_ref().map(|d| d.normalizer_errors(self.nu));
        value.set("infinite", self.error.infinite.clone());
        value.set("divergences", output::value(&self.error.divergences)?);
        value.set("normalizer_errors", output::value(&errors)?);
        value.set("nu", self.nu);
        value.set("noise", self.noise.describe());
        value.set("loss", self.loss.to_string());
        value.set("loss_ratio", self.ratio);
        value.set("target", self.target.to_string());
        value.set("parameters", self.problem.parameters_value());
        if !matrices {
            leave_matrices_out(&mut value);
        }
        Ok(value)
    }

    fn text(&self) -> String {
        output::table_and_sentences(&self.table(), self.sentences())
    }

    fn table(&self) -> Table {
        let target = match self.target {
            Target::Kl => "Kullback–Leibler divergence",
            _ => "mean squared error",
        };
        let apart = self.ratio.filter(|ratio| *ratio != self.nu).map(|ratio| format!(" with M = {ratio}"));
        let (loss, apart) = (self.loss, apart.unwrap_or_default());
        let title = format!("{target} × T, loss {loss}{apart}, ν = {} ({} noise)", self.nu, share(self.nu));
        error_table(&self.error.report, &title, &|name| self.is_asked(name))
            .note(format!("model {}", self.problem.title()))
            .note(format!("noise {}", shortened(&self.noise.describe())))
            .note("T counts all points, data and noise; Cramér–Rao is what endless free noise would leave")
    }

    /// Whether the target counts the error of a coordinate.
    fn is_asked(&self, name: &str) -> bool {
        !matches!(self.target, Target::Coordinates(names) if !names.iter().any(|asked| asked == name))
    }

    fn sentences(&self) -> Vec<String> {
        let report = &self.error.report;
        let mut lines = Vec::new();
        if let Some(reason) = &self.error.infinite {
            lines.push(format!("The error is infinite: {reason}."));
        }
        if let Some(efficiency) = report.efficiency.filter(|_| report.error.is_finite()) {
            lines.push(format!("Efficiency {}: Cramér–Rao over error.", format_percent(efficiency, 3)));
        }
        if report.error.is_finite() && report.noise_equals_data > 0.0 {
            lines.push(comparison(
                report.error,
                report.noise_equals_data,
                "noise = data at the same ν",
                true,
            ));
        }
        let accuracy = report.accuracy;
        if accuracy.relative_error > 1e-6 {
            lines.push(format!(
                "Accurate to about {} ({}, {} points).",
                format_number(accuracy.relative_error, 1),
                accuracy.method,
                accuracy.points
            ));
        }
        lines
    }

    fn page(&self) -> Page {
        let report = &self.error.report;
        let mut section = Section::new("The error").cards([
            Card::new("error × T", format_number(report.error, 6)).note(self.loss.to_string()),
            Card::new("noise = data", format_number(report.noise_equals_data, 6)).note("at the same ν"),
            Card::new("efficiency", report.efficiency.map_or("–".into(), |e| format_percent(e, 3))),
        ]);
        for sentence in self.sentences() {
            section = section.paragraph(sentence);
        }
        section = section.table(self.table());
        let mut page = Page::new("The error of a design").subtitle(self.problem.title()).section(section);
        if let Some(pictures) = self.pictures() {
            page = page.section(pictures);
        }
        page
    }

    /// Densities and weight in one dimension; the error as a function of the proportion always.
    fn pictures(&self) -> Option<Section> {
        let mut section = Section::new("Pictures");
        if let Some(figure) =
            super::pictures::densities(self.problem, &self.error.population, self.noise, self.nu)
        {
            section = section.figure(
                figure,
                "Top: the data's density and the noise's. Bottom: the weight w(x) = 1/(1+r) that a data point carries; \
                 where it is near zero the point is told from noise without doubt and teaches nothing.",
            );
        }
        Some(section.figure(
            self.proportion_figure()?,
            "The error for a budget of T points as a function of how many of them are noise.",
        ))
    }

    fn proportion_figure(&self) -> Option<Figure> {
        let curve = self.error.curve(self.loss, self.target).ok()?;
        let panel = Panel::new(Axis::linear("noise proportion").percent(), Axis::log("error × T"))
            .with(Line::new(
                shortened(&self.noise.describe()),
                super::pictures::pairs(&curve.proportion, &curve.error),
            ))
            .with(Reference::vertical(self.nu / (1.0 + self.nu), "asked for"));
        Some(Figure::from(panel))
    }
}

/// "12 % fewer points" or "12 % more points" than something else; with prices, what is saved is money.
pub(super) fn comparison(error: f64, other: f64, what: &str, counts_points: bool) -> String {
    if other <= 0.0 {
        return format!("With {what} there would be no error at all.");
    }
    let saved = 1.0 - error / other;
    if saved.abs() < 1e-4 {
        return format!("The same error as {what}.");
    }
    if saved >= 0.0 {
        let less = if counts_points { "fewer points" } else { "less to pay" };
        format!("The same error as {what} with {} {less}.", format_percent(saved, 3))
    } else {
        let more = if counts_points { "points" } else { "to pay" };
        format!("It needs {} more {more} than {what} for the same error.", format_percent(-saved, 3))
    }
}

/// ν/(1+ν) in per cent.
pub(super) fn share(nu: f64) -> String {
    format_percent(nu / (1.0 + nu), 4)
}
