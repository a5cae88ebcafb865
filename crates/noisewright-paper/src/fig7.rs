//! Figure 7: the error against the noise parameter.

use noisewright::Result;
use noisewright_numerics::parallel::try_map;
use noisewright_report::{
    Axis, Column, Figure, Line, Panel, Points, Reference, Stroke, Table, format_number,
};
use serde_json::{Value, json};

use crate::designed::Designed;
use crate::landscape::{Landscape, Spot};
use crate::toy::Toy;
use crate::{Item, Settings};

/// Model and data parameter of each panel.
const PANELS: [(Toy, f64); 4] =
    [(Toy::Mean, 0.0), (Toy::Variance, 1.0), (Toy::Correlation, 0.0), (Toy::Correlation, 0.9)];

const CAPTION: &str = "At 50 % noise. Mean: two mirror-image minima, with a local maximum at the data's own mean between them. Variance: a \
    minimum at 4.24 times the data's and a second, worse one far below. Noise equal to the data (vertical line) is a minimum only for \
    uncorrelated data. The exact optimum over all noises is below every member of the family.";

/// One panel.
struct Valley {
    toy: Toy,
    data: f64,
    curve: Vec<(f64, f64)>,
    minima: Vec<Spot>,
    equal: f64,
    analytic: f64,
    exact: f64,
    bound: f64,
}

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let valleys: Vec<Valley> = try_map(PANELS, |(toy, data)| valley(toy, data, settings))?;
    let mut figure = Figure::new().columns(2).description("Error against the noise parameter at 50 % noise");
    let mut table = Table::new("Minima over the noise parameter at 50 % noise")
        .column(Column::text("model, data"))
        .column(Column::number("noise parameter").significant(6))
        .column(Column::number("T·MSE").significant(6));
    for valley in &valleys {
        figure = figure.panel(valley.panel());
        for spot in &valley.minima {
            let parameter = if spot.parameter.abs() < 1e-6 { 0.0 } else { spot.parameter };
            let name = format!("{} {}", valley.toy.word(), format_number(valley.data, 2));
            table.push_row([name.into(), parameter.into(), spot.error.into()]);
        }
    }
    let values: Vec<Value> = valleys.iter().map(Valley::value).collect();
    Ok(Item::new("fig7", "Figure 7: the error against the noise parameter", CAPTION)
        .figure(figure)
        .table(table)
        .values(json!({ "panels": values })))
}

fn valley(toy: Toy, data: f64, settings: Settings) -> Result<Valley> {
    let landscape = Landscape::new(toy, data)?;
    let grid = toy.noise_grid(settings);
    let designed = Designed::new(toy, data)?;
    Ok(Valley {
        toy,
        data,
        curve: grid.iter().map(|parameter| (*parameter, landscape.at(*parameter, 1.0))).collect(),
        minima: landscape.minima(&grid, 1.0),
        equal: 4.0 * landscape.bound(),
        analytic: (designed.analytic)(1.0),
        exact: (designed.exact)(1.0)?,
        bound: 2.0 * landscape.bound(),
    })
}

impl Valley {
    fn panel(&self) -> Panel {
        let label = format!("{} of the noise", self.toy.word());
        let x = if self.toy == Toy::Variance { Axis::log(label) } else { Axis::linear(label) };
        let flat = |error: f64| self.curve.iter().map(move |point| (point.0, error)).collect::<Vec<_>>();
        let title = format!("{} {}", self.toy.title(), format_number(self.data, 2));
        Panel::new(x, Axis::log("T·MSE").range(0.8 * self.bound, 30.0 * self.bound))
            .title(title)
            .aspect(0.8)
            .with(Line::new("noise of the data's family", self.curve.clone()).color(0).stroke(Stroke::Solid))
            .with(Points::new("minima", self.minima.iter().map(|s| (s.parameter, s.error))).color(1))
            .with(
                Line::new("analytic (all-noise limit)", flat(self.analytic)).color(3).stroke(Stroke::Dashed),
            )
            .with(Line::new("exact optimum", flat(self.exact)).color(2).stroke(Stroke::DashDot))
            .with(Line::new("Cramér–Rao bound", flat(self.bound)).color(4).stroke(Stroke::Dotted))
            .with(Reference::vertical(self.data, "data"))
    }

    fn value(&self) -> Value {
        let minima: Vec<Value> =
            self.minima.iter().map(|s| json!({ "parameter": s.parameter, "error": s.error })).collect();
        json!({
            "model": self.toy.word(),
            "data": self.data,
            "minima": minima,
            "noise_equals_data": self.equal,
            "analytic": self.analytic,
            "exact": self.exact,
            "cramer_rao": self.bound,
            "parameter": self.curve.iter().map(|p| p.0).collect::<Vec<_>>(),
            "error": self.curve.iter().map(|p| p.1).collect::<Vec<_>>(),
        })
    }
}
