//! Figure 5: the best noise proportion against the noise parameter.

use noisewright::Result;
use noisewright_numerics::parallel::try_map;
use noisewright_report::{
    Axis, Column, Figure, Line, Panel, Points, Reference, Stroke, Table, format_number,
};
use serde_json::{Value, json};

use crate::landscape::Landscape;
use crate::settings::{proportion_of, ratio_of};
use crate::toy::Toy;
use crate::{Item, Settings};

const CAPTION: &str = "Noise equal to the data is best at 50 %; almost any other member of the family wants less noise than data: 25.5 % at \
    the best shift of the mean, 28.9 % at the best variance. The exceptions stand just beside the data's own parameter, \
    where slightly more than half is best.";

/// One panel.
struct Profile {
    toy: Toy,
    /// Noise parameter, exact best proportion, best proportion on the paper's grid.
    points: Vec<(f64, f64, f64)>,
    /// The best member at ν = 1 and the best proportion of it.
    best_member: (f64, f64),
    /// The best proportion of noise equal to the data.
    own: f64,
    /// Where the best proportion is largest, and how large.
    largest: (f64, f64),
}

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let profiles: Vec<Profile> = try_map(Toy::ALL, |toy| profile(toy, settings))?;
    let mut figure =
        Figure::new().columns(2).description("The best noise proportion against the noise parameter");
    let mut table = Table::new("Best noise proportion")
        .column(Column::text("model"))
        .column(Column::number("noise = data").decimals(4))
        .column(Column::text("best member at 50%"))
        .column(Column::number("its best").decimals(4));
    for profile in &profiles {
        figure = figure.panel(profile.panel());
        table.push_row([
            format!("{}, data {}", profile.toy.word(), profile.toy.standard()).into(),
            profile.own.into(),
            format_number(profile.best_member.0, 6).into(),
            profile.best_member.1.into(),
        ]);
    }
    let values: serde_json::Map<String, Value> =
        profiles.iter().map(|p| (p.toy.word().to_owned(), p.value())).collect();
    Ok(Item::new("fig5", "Figure 5: the best proportion against the noise parameter", CAPTION)
        .figure(figure)
        .table(table)
        .values(Value::Object(values)))
}

fn profile(toy: Toy, settings: Settings) -> Result<Profile> {
    let data = toy.standard();
    let landscape = Landscape::new(toy, data)?;
    let grid = toy.noise_grid(settings);
    let proportions = settings.proportions();
    let best = |parameter: f64| -> Result<f64> {
        Ok(proportion_of(landscape.best_ratio(&landscape.ratios(parameter)?).0))
    };
    let points = try_map(&grid, |&parameter| -> Result<_> {
        let ratios = landscape.ratios(parameter)?;
        let errors = proportions.iter().map(|p| (*p, landscape.error(&ratios, ratio_of(*p))));
        let on_grid = errors.fold((f64::NAN, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a }).0;
        Ok((parameter, best(parameter)?, on_grid))
    })?;
    let member = landscape.minima(&grid, 1.0).first().map_or(data, |spot| spot.parameter);
    Ok(Profile {
        toy,
        points,
        best_member: (member, best(member)?),
        own: best(data)?,
        largest: largest(&landscape, toy)?,
    })
}

/// The largest best proportion near the data's own parameter.
pub(crate) fn largest(landscape: &Landscape, toy: Toy) -> Result<(f64, f64)> {
    let data = toy.standard();
    let (lower, upper) = match toy {
        Toy::Mean => (data - 0.5, data + 0.5),
        Toy::Variance => (0.2 * data, 2.0 * data),
        Toy::Correlation => (data - 0.5, data + 0.5),
    };
    let best = |parameter: f64| {
        let ratios = landscape.ratios(parameter);
        ratios.map_or(f64::NAN, |ratios| proportion_of(landscape.best_ratio(&ratios).0))
    };
    let grid: Vec<f64> = (0..=24).map(|i| lower + (upper - lower) * f64::from(i) / 24.0).collect();
    let found = noisewright_numerics::optimize::scan_minima(&grid, |parameter| -best(parameter));
    Ok(found.first().map_or((data, f64::NAN), |m| (m.at[0], -m.value)))
}

impl Profile {
    fn panel(&self) -> Panel {
        let label = format!("{} of the noise", self.toy.word());
        let x = if self.toy == Toy::Variance { Axis::log(label) } else { Axis::linear(label) };
        let exact = self.points.iter().map(|p| (p.0, p.1));
        let on_grid = self.points.iter().map(|p| (p.0, p.2));
        Panel::new(x, Axis::linear("best noise proportion").include(0.0).include(0.6).percent())
            .title(self.toy.title())
            .aspect(0.8)
            .with(Points::new("best on the paper's grid", on_grid).color(1).size(4.0))
            .with(Line::new("exact", exact).color(0).stroke(Stroke::Solid))
            .with(Points::new("best member at 50% noise", [self.best_member]).color(2))
            .with(Reference::vertical(self.toy.standard(), "data"))
            .with(Reference::horizontal(0.5, ""))
    }

    fn value(&self) -> Value {
        let column = |pick: fn(&(f64, f64, f64)) -> f64| self.points.iter().map(pick).collect::<Vec<_>>();
        json!({
            "data": self.toy.standard(),
            "noise_equals_data": self.own,
            "best_member": { "parameter": self.best_member.0, "proportion": self.best_member.1 },
            "largest": { "parameter": self.largest.0, "proportion": self.largest.1 },
            "parameter": column(|p| p.0),
            "proportion": column(|p| p.1),
            "grid_proportion": column(|p| p.2),
        })
    }
}
