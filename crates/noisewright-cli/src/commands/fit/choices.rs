//! `--strata` and `--chosen`: the conditional logit of choices whose alternatives are rows.

use noisewright::Points;
use noisewright::fit::{ChoiceSets, Data, Dependence, DrawKind, fit_choices};
use noisewright_data::{Table, read};

use super::Answer;
use super::plan::Plan;
use crate::arguments::FitArguments;
use crate::failure::{Failure, Outcome};
use crate::inputs::Problem;
use crate::progress::Progress;
use crate::rows::{in_rows, numbered};

/// Fits choices.
pub(super) fn fit(
    arguments: &FitArguments,
    plan: &Plan,
    mut problem: Problem,
    progress: &Progress,
) -> Outcome<Answer> {
    refuse_idle(arguments)?;
    let table = table(arguments, &problem)?;
    let names = problem.model.space().names();
    let columns: Vec<&[f64]> = names.iter().map(|name| table.column(name)).collect::<Result<_, _>>()?;
    let points = Points::from_columns(names, &columns)?;
    let own = &arguments.choices;
    let column = |name: &Option<String>| name.as_ref().map(|name| table.column(name)).transpose();
    let strata = numbered(column(&own.strata)?.unwrap_or_default());
    let chosen =
        marks(&table, column(&own.chosen)?.unwrap_or_default(), own.chosen.as_deref().unwrap_or_default())?;
    let sets =
        ChoiceSets { strata: &strata, chosen: &chosen, log_probability: column(&own.log_probability)? };
    let rows = &arguments.rows;
    let weights = rows.weights.as_ref().map(|name| table.weights(name)).transpose()?;
    let clusters = column(&rows.cluster)?.map(numbered);
    let mut data = Data::from(&points);
    data.weights = weights;
    if let Some(clusters) = &clusters {
        data = data.with_dependence(Dependence::Clusters(clusters));
    }
    let options = plan.options(&problem.model, progress)?;
    let place = |row: usize| format!("{}, row {}", table.source(), table.row_number(row));
    let fit = fit_choices(&problem.model, data, sets, &options).map_err(|error| match error {
        noisewright::Error::Choices { row, reason } => {
            Failure::NoAnswer(format!("{}: {reason}", place(row - 1)))
        }
        other => in_rows(other, table.source(), place),
    })?;
    let weights = weights.map(<[f64]>::to_vec);
    let dependence = words(&strata, clusters.as_deref());
    problem.data = Some(points);
    Ok(Answer {
        problem,
        fit,
        data: table.source().to_owned(),
        weights,
        dependence: Some(dependence),
        dropped: table.dropped(),
        passes: None,
        seed: options.seed,
    })
}

/// The columns of the variables and those of the choices.
fn table(arguments: &FitArguments, problem: &Problem) -> Outcome<Table> {
    let [path] = arguments.data.as_slice() else {
        return Err(Failure::Usage("--strata takes one data file".into()));
    };
    let own = &arguments.choices;
    let mut names = problem.model.space().names().to_vec();
    let extra = [
        ("--strata", &own.strata),
        ("--chosen", &own.chosen),
        ("--log-probability", &own.log_probability),
        ("--weights", &arguments.rows.weights),
        ("--cluster", &arguments.rows.cluster),
    ];
    for (flag, name) in extra {
        let Some(name) = name else { continue };
        if names.contains(name) {
            return Err(Failure::Usage(format!("{flag}: column `{name}` is in use already")));
        }
        names.push(name.clone());
    }
    Ok(read(path, &arguments.rows.options()?.columns(&names).names(&names))?)
}

/// How many choices there are, and how many clusters of them.
fn words(strata: &[u64], clusters: Option<&[u64]>) -> String {
    let count = |numbers: &[u64]| numbers.iter().max().map_or(0, |largest| largest + 1);
    let choices = format!("{} choices", count(strata));
    clusters.map_or(choices.clone(), |clusters| format!("{choices} in {} clusters", count(clusters)))
}

/// Refuses what is about noise, or about rows that are no alternatives.
fn refuse_idle(arguments: &FitArguments) -> Outcome<()> {
    let rows = &arguments.rows;
    let given = [
        ("--method", arguments.method != "nce"),
        ("--noise", arguments.noise != "auto"),
        ("--nu", arguments.nu != "auto"),
        ("--noise-points", arguments.noise_points.is_some()),
        ("--max-noise", arguments.max_noise.is_some()),
        ("--choices", arguments.noise_choices != "auto"),
        ("--draws", arguments.draws != DrawKind::default().to_string()),
        ("--loss", arguments.loss != "js"),
        ("--loss-ratio", arguments.loss_ratio != "auto"),
        ("--refit-noise", arguments.refit_noise),
        ("--check-nu", arguments.check_nu),
        ("--stream", arguments.stream),
        ("--chains", rows.chains),
        ("--chain-column", rows.chain_column.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Usage(format!(
            "{flag} has no meaning beside --strata, where the alternatives take the place of the noise: leave it out"
        ))),
    }
}

/// 1 and 0 as yes and no.
fn marks(table: &Table, values: &[f64], name: &str) -> Outcome<Vec<bool>> {
    if let Some(row) = values.iter().position(|x| *x != 0.0 && *x != 1.0) {
        return Err(Failure::NoAnswer(format!(
            "{}, row {}: `{name}` = {} must be 1 for chosen alternatives and 0 for the others",
            table.source(),
            table.row_number(row),
            values[row]
        )));
    }
    Ok(values.iter().map(|x| *x == 1.0).collect())
}
