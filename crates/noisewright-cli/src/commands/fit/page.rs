//! The page of a fit: the numbers, data against the fitted model, the classifier, the error budget.

use noisewright::internal::show::{Scene, budget_picture, counted, fit_pictures};
use noisewright_report::{Card, Page, Section, format_number, format_percent};

use super::Answer;
use super::penalty_path;
use super::show;

/// The page.
pub(super) fn page(answer: &Answer) -> Page {
    let mut page = Page::new("A fit").subtitle(show::title(answer)).section(estimates(answer));
    if let Some(report) = &answer.fit.penalty {
        let names: Vec<&str> = answer.problem.model.parameters().iter().map(|p| p.name.as_str()).collect();
        if let Some(section) = penalty_path::section(report, &names) {
            page = page.section(section);
        }
    }
    let theta = answer.fit.theta();
    if let Some(scene) = scene(answer, &theta) {
        page = fit_pictures(&scene).into_iter().fold(page, |page, picture| page.section(picture.section()));
    }
    page.section(budget_picture(&answer.fit).section())
        .section(Section::new("The model").details(&answer.problem.name, &answer.problem.text))
}

fn scene<'a>(answer: &'a Answer, theta: &'a [f64]) -> Option<Scene<'a>> {
    Some(Scene {
        model: answer.model(),
        parameters: theta,
        log_z: answer.log_z()?,
        noise: answer.fit.noise.as_deref(),
        nu: answer.fit.nu,
        data: answer.points()?.view(),
        weights: answer.weights.as_deref(),
        seed: answer.seed,
    })
}

fn estimates(answer: &Answer) -> Section {
    let fit = &answer.fit;
    let noise = if fit.nu.is_finite() {
        Card::new("ν", format_number(fit.nu, 4)).note(counted(fit.noise_points, "noise point"))
    } else {
        let method = if fit.method.is_without_constant() { fit.method.name() } else { "maximum likelihood" };
        Card::new("ν", "∞").note(method)
    };
    let mut cards = vec![
        Card::new("rows", counted(fit.rows, "row").trim_end_matches(" rows").to_owned())
            .note(answer.data.clone()),
        noise,
        Card::new("from noise", format_percent(fit.noise_share(), 2)).note("of a standard error, at most"),
    ];
    if let Some(least) = answer.fit.efficiencies().and_then(|all| all.into_iter().flatten().reduce(f64::min))
    {
        cards.push(
            Card::new("efficiency", format_percent(least, 3)).note("against maximum likelihood, at least"),
        );
    }
    let mut section = Section::new("Estimates").cards(cards);
    for warning in show::warnings(fit) {
        section = section.warning(warning);
    }
    section = section.table(show::table(answer, ""));
    if let Some(table) = noisewright::internal::show::bootstrap_table(fit) {
        section = section.table(table);
    }
    for sentence in show::sentences(answer) {
        section = section.paragraph(sentence);
    }
    section
}
