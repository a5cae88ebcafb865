//! The page of a fit: the numbers, data against the fitted model, the classifier, the error budget.

use noisewright::show::counted;
use noisewright_report::{Card, Page, Section, format_number, format_percent};

use super::Answer;
use super::penalty_path;
use super::pictures::{self, Budget};
use super::scene::Scene;
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
        page = page.section(model_and_data(&scene));
        if let Some(section) = classifier(&scene) {
            page = page.section(section);
        }
    }
    page.section(budget(answer))
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
    if let Some(table) = noisewright::show::bootstrap_table(fit) {
        section = section.table(table);
    }
    for sentence in show::sentences(answer) {
        section = section.paragraph(sentence);
    }
    section
}

const RESIDUALS: &str = "Residuals are observed less expected counts over their standard deviation; about 95 % should lie \
    between −2 and 2, and a pattern is a sign of what the model lacks.";

fn model_and_data(scene: &Scene<'_>) -> Section {
    let section = Section::new("Data against the fitted model");
    if let Some((figure, unseen)) = pictures::states(scene).filter(|_| scene.data.columns() > 1) {
        let rest =
            if unseen > 0 { format!(" Never seen: {}.", counted(unseen, "state")) } else { String::new() };
        return section.figure(
            figure,
            format!(
                "Every state of the variables together: how often it was seen against how often the model says.{rest}"
            ),
        );
    }
    if scene.data.columns() == 1 {
        return match pictures::density(scene) {
            Some(figure) => {
                section.figure(figure, format!("The data, the fitted density and the noise. {RESIDUALS}"))
            }
            None => section.paragraph("The fitted density cannot be drawn."),
        };
    }
    match pictures::marginals(scene) {
        Some((figure, hidden)) => {
            let rest = if hidden > 0 {
                format!(" {} are not shown.", counted(hidden, "more variable"))
            } else {
                String::new()
            };
            section.figure(
                figure,
                format!(
                    "Each variable by itself: the data and the fitted model's marginal.{rest} {RESIDUALS}"
                ),
            )
        }
        None => section.paragraph("The marginals of the fitted model cannot be drawn."),
    }
}

fn classifier(scene: &Scene<'_>) -> Option<Section> {
    let (figure, left) = pictures::classifier(scene)?;
    let rest = if left > 0.0 {
        format!(
            " Left of the picture is {} of the noise, told from data without doubt.",
            format_percent(left, 2)
        )
    } else {
        String::new()
    };
    Some(Section::new("The classifier").figure(
        figure,
        format!(
            "Left: the log ratio g = log p − log p_n − log ν at the data and at the noise; the estimate rests on where the \
             two overlap.{rest} Right: points in ten groups by g, the share of data that the fit says against the share \
             found, with 95 % of chance; away from the line the model is wrong there."
        ),
    ))
}

fn budget(answer: &Answer) -> Section {
    let known = answer.fit.efficiencies();
    let efficiency = |index: usize| known.as_ref().and_then(|all| all.get(index).copied().flatten());
    let estimates = answer.fit.estimates();
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
    let section = Section::new("Where the error comes from");
    if parts.is_empty() {
        return section.paragraph("There is no variance to divide.");
    }
    section.figure(
        pictures::budget(&parts),
        "Above: the parts of each standard error, as shares of it; their squares sum to one. Only more data lower the \
         data's part; more noise lowers the noise's. Below, for a fit with noise: the variance of maximum likelihood over \
         that of the fit, if the fitted model is true.",
    )
}
