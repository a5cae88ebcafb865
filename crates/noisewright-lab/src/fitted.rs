//! "Fit this": the fit of a data file with the noise that is shown, as `noisewright fit` makes it, and the report's pictures.

use std::sync::Arc;

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
use noisewright::internal;
use noisewright::internal::show::{
    Picture, Scene, budget_picture, counted, fit_pictures, fit_sentences, fit_table, fit_warnings,
    fitted_log_z, typed,
};
use noisewright::run::CancelToken;
use noisewright::{Fit, Loss, Model, Points};
use noisewright_report::Value;

use crate::look::{no_files, value};
use crate::question::Question;
use crate::{DataFile, Mistake};

/// The options of a fit with the noise, ν, loss and seed of a question.
pub(crate) fn options(question: &Question, cancel: &CancelToken) -> Result<FitOptions, Mistake> {
    let noise = NoiseChoice::parse(&question.noise, Arc::new(no_files))
        .map_err(|error| Mistake::in_noise(&error, &question.noise))?;
    Ok(FitOptions {
        noise,
        amount: Amount::Ratio(question.nu),
        loss: question.loss.parse::<Loss>()?,
        loss_ratio: question.loss_ratio,
        seed: question.seed,
        cancel: cancel.clone(),
        ..FitOptions::default()
    })
}

/// The fit, with its table, its sentences and its pictures.
pub(crate) fn answer(question: &Question, file: &DataFile, cancel: &CancelToken) -> Result<Value, Mistake> {
    let model = question.model()?;
    let points = file.points(model.space())?;
    let fit = internal::fit::fit(&model, Data::from(&points), &options(question, cancel)?)?;
    if let Some(warning) = fit.diagnostics.no_answer() {
        return Err(Mistake::new(warning.in_words(&typed)));
    }
    let table = fit_table(&fit, &format!("The model fitted to {}", file.name), counted(fit.rows, "row"));
    let text = |lines: Vec<String>| Value::List(lines.into_iter().map(Value::from).collect());
    let pictures = pictures(&fit, &model, &points, question.seed);
    Ok(Value::Map(vec![
        ("fit".into(), value(&fit)?),
        ("table".into(), table.to_html().into()),
        ("csv".into(), table.to_csv().into()),
        ("sentences".into(), text(fit_sentences(&fit))),
        ("warnings".into(), text(fit_warnings(&fit).collect())),
        ("pictures".into(), Value::List(pictures.into_iter().map(shown).collect())),
    ]))
}

fn pictures(fit: &Fit, model: &Model, points: &Points, seed: u64) -> Vec<Picture> {
    let (model, theta) = (model.whole(), fit.theta());
    let scene = fitted_log_z(fit, model).map(|log_z| Scene {
        model,
        parameters: &theta,
        log_z,
        noise: fit.noise.as_deref(),
        nu: fit.nu,
        data: points.view(),
        weights: None,
        seed,
    });
    let mut pictures = scene.as_ref().map_or_else(Vec::new, fit_pictures);
    pictures.push(budget_picture(fit));
    pictures
}

fn shown(picture: Picture) -> Value {
    let svg = picture.figure.map(|figure| figure.description(picture.heading).to_svg());
    Value::Map(vec![
        ("heading".into(), picture.heading.into()),
        ("svg".into(), svg.into()),
        ("caption".into(), picture.caption.into()),
    ])
}
