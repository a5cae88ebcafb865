//! Figure 4: the error against the noise proportion, for four noises.

use noisewright::Result;
use noisewright::design::best_ratio;
use noisewright::run::Context;
use noisewright_numerics::parallel::try_map;
use noisewright_report::{Axis, Column, Figure, Line, Panel, Points, Stroke, Table, format_percent};
use serde_json::{Value, json};

use crate::designed::Designed;
use crate::landscape::{Landscape, Spot};
use crate::settings::{proportion_of, ratio_of};
use crate::toy::Toy;
use crate::{Item, Settings};

/// Panels: the paper's three, and a correlation at which the curves are apart.
const PANELS: [(Toy, f64); 4] =
    [(Toy::Mean, 0.0), (Toy::Variance, 1.0), (Toy::Correlation, 0.0), (Toy::Correlation, 0.3)];

const CAPTION: &str = "The noise equal to the data, the best noise of the data's family at 50 %, the paper's analytic noise and the exact \
    optimum at every proportion; marks show the best proportion of each. The analytic noise is good, but loses to the \
    parametric one where noise is scarce; the exact optimum, found anew at every proportion, is below all of them, and its best proportion is \
    far below 50 %. At correlation 0, the paper's panel, the best noise of the family is the data's own.";

/// One panel: curves over the proportions, and the best proportion of each with its error.
struct Curves {
    toy: Toy,
    data: f64,
    proportions: Vec<f64>,
    /// Best noise parameter at ν = 1.
    parametric: Spot,
    lines: Vec<Curve>,
    /// `1/J`.
    bound: f64,
}

struct Curve {
    name: &'static str,
    error: Vec<f64>,
    best: (f64, f64),
    at_half: f64,
}

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let panels: Vec<Curves> = try_map(PANELS, |(toy, data)| curves(toy, data, settings))?;
    let mut figure = Figure::new()
        .columns(2)
        .description("Error against the noise proportion for four noises and the Cramér–Rao bound");
    let mut table = Table::new("T·MSE at 50 % noise, and at the best proportion")
        .column(Column::text("noise"))
        .column(Column::number("at 50%").decimals(4))
        .column(Column::text("best proportion"))
        .column(Column::number("there").decimals(4));
    let mut values = Vec::new();
    for panel in &panels {
        figure = figure.panel(panel.panel());
        table.push_section(panel.title());
        for line in &panel.lines {
            let best = format_percent(line.best.0, 4);
            table.push_row([line.name.into(), line.at_half.into(), best.into(), line.best.1.into()]);
        }
        values.push(panel.value());
    }
    Ok(Item::new("fig4", "Figure 4: the error against the noise proportion", CAPTION)
        .figure(figure)
        .table(table)
        .values(json!({ "panels": values })))
}

fn curves(toy: Toy, data: f64, settings: Settings) -> Result<Curves> {
    let proportions = settings.proportions();
    let family = Landscape::new(toy, data)?;
    let minima = family.minima(&toy.noise_grid(settings), 1.0);
    let parametric = minima.first().copied().unwrap_or(Spot { parameter: data, nu: 1.0, error: f64::NAN });
    let bound = family.bound();
    let equal = |nu: f64| (1.0 + nu).powi(2) / nu * bound;
    let shifted = family.ratios(parametric.parameter)?;
    let designed = Designed::new(toy, data)?;
    let exact: Vec<f64> = try_map(&proportions, |p| (designed.exact)(ratio_of(*p)))?;
    let analytic_best = best_ratio(|nu| Ok((designed.analytic)(nu)), &Context::seeded(0))?;
    let curve = |name, f: &dyn Fn(f64) -> f64, best: (f64, f64)| Curve {
        name,
        error: proportions.iter().map(|p| f(ratio_of(*p))).collect(),
        best: (proportion_of(best.0), best.1),
        at_half: f(1.0),
    };
    let joint = (designed.joint)()?;
    let joint = (proportion_of(joint.0), joint.1);
    let lines = vec![
        curve("equal to the data", &equal, (1.0, equal(1.0))),
        curve("best of the family at 50%", &|nu| family.error(&shifted, nu), family.best_ratio(&shifted)),
        curve("analytic (all-noise limit)", &designed.analytic, analytic_best),
        Curve { name: "exact optimum", at_half: (designed.exact)(1.0)?, error: exact, best: joint },
    ];
    Ok(Curves { toy, data, proportions, parametric, lines, bound })
}

impl Curves {
    fn title(&self) -> String {
        match self.toy {
            Toy::Correlation => format!("{} {}", self.toy.title(), self.data),
            _ => self.toy.title(),
        }
    }

    fn panel(&self) -> Panel {
        let bound = self.proportions.iter().map(|p| (*p, self.bound / (1.0 - p)));
        let x = Axis::linear("noise proportion").range(0.0, 1.0).percent();
        let mut panel = Panel::new(x, Axis::log("T·MSE").range(0.9 * self.bound, 40.0 * self.bound))
            .title(self.title())
            .aspect(0.8);
        for (index, line) in self.lines.iter().enumerate() {
            let points = self.proportions.iter().copied().zip(line.error.iter().copied());
            panel.push(Line::new(line.name, points).color(index).stroke(Stroke::Solid));
            panel.push(Points::new("", [line.best]).color(index).size(6.0));
        }
        panel.with(Line::new("Cramér–Rao bound", bound).color(4).stroke(Stroke::Dotted).width(1.5))
    }

    fn value(&self) -> Value {
        let lines: serde_json::Map<String, Value> = self
            .lines
            .iter()
            .zip(["data", "parametric", "analytic", "exact"])
            .map(|(line, key)| {
                let value = json!({
                    "at_half": line.at_half,
                    "best_proportion": line.best.0,
                    "best_error": line.best.1,
                    "error": line.error,
                });
                (key.to_owned(), value)
            })
            .collect();
        json!({
            "model": self.toy.word(),
            "data": self.data,
            "parametric_parameter": self.parametric.parameter,
            "cramer_rao": self.bound,
            "proportion": self.proportions,
            "noise": lines,
        })
    }
}
