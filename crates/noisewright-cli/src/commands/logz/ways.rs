//! The four ways to log Z, and which options go with which.

use crate::arguments::{LogzArguments, StatesArguments};
use crate::failure::{Failure, Outcome};

/// How log Z is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Two files with both log-densities.
    Columns,
    /// Points whose log-densities a model and a noise give.
    Points,
    /// Pooled draws of many states.
    States,
    /// Bridges from a noise to a model.
    Path,
}

impl Way {
    /// The way that the arguments ask for, all of which go with it.
    pub(super) fn of(arguments: &LogzArguments) -> Outcome<Self> {
        let way = match (arguments.many.states.is_some(), arguments.bridges.path) {
            (true, true) => {
                return Err(Failure::Usage("--states and --path are two ways to log Z: choose one".into()));
            }
            (true, false) => Self::States,
            (false, true) => Self::Path,
            (false, false) if arguments.model.is_some() => Self::Points,
            _ => Self::Columns,
        };
        way.check(arguments)?;
        check_pairs(arguments, way)?;
        Ok(way)
    }

    /// What it is, as an option goes with it.
    fn words(self) -> &'static str {
        match self {
            Self::Columns => "files that hold both log-densities",
            Self::Points => "--model and --noise",
            Self::States => "--states",
            Self::Path => "--path",
        }
    }

    fn check(self, arguments: &LogzArguments) -> Outcome<()> {
        match options(arguments).into_iter().find(|(_, given, ways)| *given && !ways.contains(&self)) {
            None => Ok(()),
            Some((name, _, ways)) => {
                let words: Vec<&str> = ways.iter().map(|way| way.words()).collect();
                Err(Failure::Usage(format!(
                    "{name} goes with {}, not with {}: leave it out",
                    words.join(" or with "),
                    self.words()
                )))
            }
        }
    }
}

/// Every option, whether it is given, and the ways that it goes with.
fn options(arguments: &LogzArguments) -> [(&'static str, bool, &'static [Way]); 41] {
    use Way::{Columns, Path, Points, States};
    const TWO: &[Way] = &[Columns, Points];
    const FILES: &[Way] = &[Columns, Points, States];
    const MODEL: &[Way] = &[Points, Path];
    let (many, bridges) = (&arguments.many, &arguments.bridges);
    [
        ("--state-column", many.state_column.is_some(), &[States]),
        ("--counts", many.counts.is_some(), &[States]),
        ("--reference", many.reference.is_some(), &[States]),
        ("--observable", !many.observable.is_empty(), &[States]),
        ("--surface", !many.surface.is_empty(), &[States]),
        ("--surface-state", many.surface_state.is_some(), &[States]),
        ("--bins", !many.bins.is_empty(), &[States]),
        ("--kernel", many.kernel, &[States]),
        ("--bandwidth", !many.bandwidth.is_empty(), &[States]),
        ("--splines", !many.splines.is_empty(), &[States]),
        ("--degree", many.degree.is_some(), &[States]),
        ("--surface-reference", many.surface_reference.is_some(), &[States]),
        ("--energies", many.energies, &[States]),
        ("--convergence", many.convergence.is_some(), &[States]),
        ("--equilibration", many.equilibration, &[States]),
        ("--path-states", bridges.path_states.is_some(), &[Path]),
        ("--chains", bridges.chains.is_some(), &[Path]),
        ("--warm-up", bridges.warm_up.is_some(), &[Path]),
        ("--thin", bridges.thin.is_some(), &[Path]),
        ("--moves", bridges.moves.is_some(), &[Path]),
        ("--log-f", arguments.log_f.is_some(), &[Columns]),
        ("--log-noise", arguments.log_noise.is_some(), &[Columns]),
        ("--ratio", arguments.ratio, &[Columns]),
        ("--chain", arguments.chain.is_some(), FILES),
        ("--noise-chain", arguments.noise_chain.is_some(), TWO),
        ("--format", arguments.format.is_some(), FILES),
        ("--model", arguments.model.is_some(), MODEL),
        ("--at", arguments.at.is_some(), MODEL),
        ("--noise", arguments.noise.is_some(), MODEL),
        ("--draws", arguments.draws.is_some(), MODEL),
        ("--independent", arguments.independent, FILES),
        ("--weight-by-ess", arguments.weight_by_ess, TWO),
        ("--bootstrap", arguments.bootstrap.is_some(), TWO),
        ("--confidence", arguments.confidence.is_some(), &[Columns, Points, Path]),
        ("--alpha", arguments.alpha.is_some(), TWO),
        ("--power", !arguments.power.is_empty(), TWO),
        ("--price-data", arguments.price_data.is_some(), TWO),
        ("--price-noise", arguments.price_noise.is_some(), TWO),
        ("--budget", arguments.budget.is_some(), TWO),
        ("the file of draws", arguments.data.is_some(), FILES),
        ("the file of noise draws", arguments.noise_draws.is_some(), TWO),
    ]
}

/// Options that contradict each other, or that have nothing to be about.
fn check_pairs(arguments: &LogzArguments, way: Way) -> Outcome<()> {
    let wrong = |sentence: &str| Err(Failure::Usage(sentence.to_owned()));
    let chains = arguments.chain.is_some() || arguments.noise_chain.is_some();
    if arguments.independent && chains {
        return wrong(
            "--independent says that there are no chains, and --chain or --noise-chain names some: leave one out",
        );
    }
    if arguments.many.counts.is_some() && arguments.many.state_column.is_some() {
        return wrong("--counts and --state-column both tell the states of the draws: leave one out");
    }
    check_surface(&arguments.many)?;
    if way == Way::Points && arguments.noise_draws.is_some() && arguments.draws.is_some() {
        return wrong("--draws is for noise that is drawn here: leave it out, or the file of noise draws");
    }
    if arguments.noise_chain.is_some() && arguments.noise_draws.is_none() {
        return wrong(
            "--noise-chain names a column of the file of noise draws, and there is none: leave it out",
        );
    }
    Ok(())
}

/// Options of a surface without one, and a kernel's without a kernel.
fn check_surface(many: &StatesArguments) -> Outcome<()> {
    let given = [
        ("--surface-state", many.surface_state.is_some()),
        ("--bins", !many.bins.is_empty()),
        ("--kernel", many.kernel),
        ("--splines", !many.splines.is_empty()),
        ("--surface-reference", many.surface_reference.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, given)| *given && many.surface.is_empty()) {
        return Err(Failure::Usage(format!(
            "{name} is about the surface of --surface, and there is none: leave it out"
        )));
    }
    if !many.bandwidth.is_empty() && !many.kernel {
        return Err(Failure::Usage("--bandwidth is that of --kernel: leave it out, or give both".into()));
    }
    if many.degree.is_some() && many.splines.is_empty() {
        return Err(Failure::Usage("--degree is that of --splines: leave it out, or give both".into()));
    }
    if many.kernel && !many.splines.is_empty() {
        return Err(Failure::Usage("--kernel and --splines are two ways to smooth: choose one".into()));
    }
    Ok(())
}
