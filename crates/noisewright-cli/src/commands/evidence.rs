//! `noisewright evidence`: the integral of a model's unnormalized density from draws of it.

mod draws;
mod show;

use noisewright::Precision;
use noisewright::normalizer::{Dependence, LogZOptions, NoiseKind};
use noisewright::parts::EvidenceOptions;

use super::logz::answered;
use crate::arguments::{DataArguments, EvidenceArguments, Global};
use crate::failure::{Failure, Outcome};
use crate::inputs::Problem;
use crate::output;
use crate::progress::Progress;
use draws::ChainDraws;
use show::Shown;

pub(crate) fn run(arguments: &EvidenceArguments, global: &Global) -> Outcome<()> {
    let precision = Precision { seed: global.seed, ..Precision::default() };
    let problem = Problem::new(
        &arguments.model,
        arguments.at.as_deref(),
        &DataArguments::default(),
        precision,
        global,
    )?;
    let options = options(arguments, global)?;
    let draws = ChainDraws::read(arguments, problem.model.space())?;
    let progress = Progress::new(problem.quiet, "fitting the noise and contrasting the draws with it");
    let density = problem.model.density(&problem.parameters)?;
    let options = EvidenceOptions { chains: draws.chains.clone(), ..options };
    let result = noisewright::evidence(&density, draws.points.view())
        .options(options)
        .run()
        .map_err(|error| draws.failure(error))?;
    drop(progress);
    let shown = Shown { result: &result, problem: &problem, draws: &draws };
    let json = shown.json()?;
    output::write_report(global, || shown.page(), &json)?;
    if !global.quiet {
        shown.warn();
    }
    if global.json {
        output::print_json(&json)?;
    } else {
        output::print(&shown.text())?;
    }
    answered(result.best().refused.as_ref())
}

fn options(arguments: &EvidenceArguments, global: &Global) -> Outcome<EvidenceOptions> {
    let noise: NoiseKind =
        arguments.noise.parse().map_err(|error| Failure::Usage(format!("--noise: {error}")))?;
    if arguments.independent && arguments.chain.is_some() {
        return Err(Failure::Usage(
            "--independent says that there are no chains, and --chain names some: leave one out".into(),
        ));
    }
    let dependence = if arguments.independent { Dependence::Independent } else { Dependence::Chains };
    let options = EvidenceOptions {
        noise,
        noise_draws: arguments.noise_draws,
        evaluations: arguments.evaluations,
        symmetrize: arguments.symmetrize,
        log_z: LogZOptions {
            confidence: arguments.confidence,
            bootstrap: arguments.bootstrap,
            dependence,
            seed: global.seed,
            ..EvidenceOptions::default().log_z
        },
        ..EvidenceOptions::default()
    };
    options.check()?;
    Ok(options)
}
