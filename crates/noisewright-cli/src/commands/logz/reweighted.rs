//! What `logz --states` shows beside the constants: means, a free energy surface, energies, convergence.

use noisewright::internal::normalizer::NamedEquilibrations;
use noisewright::internal::show::{
    convergence_table, energies_table, equilibration_table, expectations_table, surface_table,
};
use noisewright::normalizer::states::{
    Coordinate, Observable, Pooled, StatesOptions, SurfaceOptions, convergence,
};
use noisewright::parts::{
    Bins, Convergence, Energies, Equilibration, Expectations, Reweighting, Smoothing, Surface,
    SurfaceReference,
};
use noisewright_report::{Axis, Band, Figure, HeatMap, Line, Panel, Points, Section, Stroke, Table, Value};

use super::states::Draws;
use crate::arguments::StatesArguments;
use crate::failure::{Failure, Outcome};
use crate::output;

/// What was asked for.
pub(super) struct Reweighted {
    expectations: Option<Expectations>,
    surface: Option<Surface>,
    energies: Option<Energies>,
    convergence: Option<Vec<Convergence>>,
    equilibration: Option<Vec<Equilibration>>,
}

/// The columns beside those of the states that are needed.
pub(super) fn columns(own: &StatesArguments) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in own.observable.iter().chain(&own.surface).map(|name| name.trim()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

impl Reweighted {
    pub(super) fn of(
        reweighting: &Reweighting<'_>,
        pooled: &Pooled<'_>,
        options: &StatesOptions,
        own: &StatesArguments,
        draws: &Draws,
    ) -> Outcome<Self> {
        let named = |error| draws.named(error);
        let observables: Vec<Observable<'_>> = own
            .observable
            .iter()
            .flat_map(|name| (0..draws.names.len()).map(move |state| (name.trim(), state)))
            .map(|(name, state)| Observable::new(name, column(draws, name), state))
            .collect();
        let expectations = (!observables.is_empty()).then(|| reweighting.expectations(&observables));
        Ok(Self {
            expectations: expectations.transpose().map_err(named)?,
            surface: surface(reweighting, own, draws)?,
            energies: own.energies.then(|| reweighting.energies()).transpose().map_err(named)?,
            convergence: own.convergence.map(|parts| convergence(pooled, options, parts)).transpose()?,
            equilibration: own.equilibration.then(|| reweighting.equilibration()).transpose()?,
        })
    }

    pub(super) fn warnings(&self, names: &[String]) -> Vec<String> {
        let of_means =
            self.expectations.iter().flat_map(|means| means.warnings().iter().map(|w| w.sentence(names)));
        let of_surface =
            self.surface.iter().flat_map(|surface| surface.warnings().iter().map(|w| w.sentence(names)));
        of_means.chain(of_surface).collect()
    }

    /// Adds its fields to those of the states.
    pub(super) fn add_to(&self, value: &mut Value, names: &[String]) -> Outcome<()> {
        if let Some(means) = &self.expectations {
            value.set("expectations", output::value(&means.with_names(names))?);
        }
        if let Some(surface) = &self.surface {
            value.set("surface", output::value(&surface.with_names(names))?);
        }
        if let Some(energies) = &self.energies {
            value.set("energies", output::value(energies)?);
        }
        if let Some(parts) = &self.convergence {
            value.set("convergence", output::value(parts)?);
        }
        if let Some(chains) = &self.equilibration {
            value.set("equilibration", output::value(&NamedEquilibrations { chains, names })?);
        }
        Ok(())
    }

    pub(super) fn tables(&self, names: &[String]) -> Vec<Table> {
        let means = self.expectations.iter().map(|means| expectations_table(means, names));
        let surface = self.surface.iter().map(|surface| surface_table(surface, names));
        let energies = self.energies.iter().map(|energies| energies_table(energies, names));
        let parts = self.convergence.iter().map(|parts| convergence_table(parts, names));
        let chains = self.equilibration.iter().map(|chains| equilibration_table(chains, names));
        means.chain(surface).chain(energies).chain(parts).chain(chains).collect()
    }

    pub(super) fn sections(&self, names: &[String]) -> Vec<Section> {
        let mut sections = Vec::new();
        if let Some(means) = &self.expectations {
            sections.push(Section::new("Means").table(expectations_table(means, names)));
        }
        if let Some(surface) = &self.surface {
            let caption = "The free energy in units of kT with two standard errors, where they are finite.";
            sections.push(Section::new("Free energy surface").figure(surface_figure(surface), caption));
        }
        if let Some(energies) = &self.energies {
            sections.push(Section::new("Energies and entropies").table(energies_table(energies, names)));
        }
        if let Some(parts) = &self.convergence {
            let caption = "log Z of the last state from growing parts of every chain, from its beginning and from its end.";
            sections.push(Section::new("Convergence").figure(convergence_figure(parts), caption));
        }
        if let Some(chains) = &self.equilibration {
            sections.push(Section::new("Equilibrium").table(equilibration_table(chains, names)));
        }
        sections
    }
}

fn column<'a>(draws: &'a Draws, name: &str) -> &'a [f64] {
    draws
        .others
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, values)| values.as_slice())
        .unwrap_or_default()
}

fn surface(reweighting: &Reweighting<'_>, own: &StatesArguments, draws: &Draws) -> Outcome<Option<Surface>> {
    if own.surface.is_empty() {
        return Ok(None);
    }
    let names = own.surface.iter().map(|name| name.trim());
    let coordinates: Vec<Coordinate<'_>> =
        names.map(|name| Coordinate::new(name, column(draws, name))).collect();
    let options = SurfaceOptions {
        bins: own.bins.iter().copied().map(Bins::Count).collect(),
        smoothing: smoothing(own)?,
        reference: reference(own.surface_reference.as_deref())?,
        ..SurfaceOptions::default()
    };
    let state = draws.state("--surface-state", own.surface_state.as_deref())?;
    let found = reweighting.surface(&coordinates, state, &options);
    Ok(Some(found.map_err(|error| draws.named(error))?))
}

/// How the density along the surface is made.
fn smoothing(own: &StatesArguments) -> Outcome<Smoothing> {
    if own.kernel {
        let bandwidths = (!own.bandwidth.is_empty()).then(|| own.bandwidth.clone());
        return Ok(Smoothing::Kernel { bandwidths });
    }
    let words: Vec<&str> = own.splines.iter().map(|word| word.trim()).collect();
    let counts = match words.as_slice() {
        [] => return Ok(Smoothing::Histogram),
        ["auto"] => None,
        counts => Some(counts.iter().map(|count| count.parse()).collect::<Result<Vec<usize>, _>>().map_err(
            |_| {
                Failure::Usage(format!("--splines: `{}` must be auto or numbers such as 12", words.join(",")))
            },
        )?),
    };
    Ok(Smoothing::Spline { counts, degree: own.degree.unwrap_or(3) })
}

/// What is zero on the surface.
fn reference(text: Option<&str>) -> Outcome<SurfaceReference> {
    match text.map(str::trim) {
        None | Some("lowest") => Ok(SurfaceReference::Lowest),
        Some("normalized") => Ok(SurfaceReference::Normalized),
        Some(point) => {
            let numbers: Result<Vec<f64>, _> = point.split(',').map(|part| part.trim().parse()).collect();
            let sentence =
                format!("--surface-reference: `{point}` must be lowest, normalized or a point such as 0.5,1");
            numbers.map(SurfaceReference::Point).map_err(|_| Failure::Usage(sentence))
        }
    }
}

/// A line with its band along one coordinate, a map along two.
fn surface_figure(surface: &Surface) -> Figure {
    let (names, free, se) = (surface.coordinates(), surface.free_energy(), surface.se());
    if let [x, y] = surface.edges() {
        let (columns, rows) = (x.len() - 1, y.len() - 1);
        let shown = |v: f64| if v.is_finite() { v } else { f64::NAN };
        let values = (0..rows).flat_map(|j| (0..columns).map(move |i| shown(free[i * rows + j]))).collect();
        let map = HeatMap::new(x.clone(), y.clone(), values).scale_label("free energy / kT");
        return Figure::from(Panel::new(Axis::linear(&*names[0]), Axis::linear(&*names[1])).with(map));
    }
    let centres = surface.centres().swap_remove(0);
    let known: Vec<usize> = (0..free.len()).filter(|i| free[*i].is_finite() && se[*i].is_finite()).collect();
    let band = known.iter().map(|i| (centres[*i], free[*i] - 2.0 * se[*i], free[*i] + 2.0 * se[*i]));
    let line = (0..free.len()).filter(|i| free[*i].is_finite()).map(|i| (centres[i], free[i]));
    let panel = Panel::new(Axis::linear(&*names[0]), Axis::linear("free energy / kT"));
    Figure::from(
        panel
            .with(Band::new("two standard errors", band).color(0))
            .with(Line::new("free energy", line).stroke(Stroke::Solid).color(0)),
    )
}

fn convergence_figure(parts: &[Convergence]) -> Figure {
    let points = |label: &str, of: &dyn Fn(&Convergence) -> (f64, f64)| {
        let known: Vec<(f64, f64, f64)> = parts
            .iter()
            .map(|part| (part.share, of(part).0, of(part).1))
            .filter(|(_, z, se)| z.is_finite() && se.is_finite())
            .collect();
        Points::new(label, known.iter().map(|(share, z, _)| (*share, *z)))
            .y_errors(known.iter().map(|(_, z, se)| (z - 2.0 * se, z + 2.0 * se)))
    };
    let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
    let panel = Panel::new(Axis::linear("share of every chain"), Axis::linear("log Z of the last state"))
        .with(points("forward", &|part| (last(&part.forward), last(&part.forward_se))))
        .with(points("backward", &|part| (last(&part.backward), last(&part.backward_se))));
    Figure::from(panel)
}
