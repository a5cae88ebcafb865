//! Figure 1: the best noise parameter against the data parameter.

use noisewright::Result;
use noisewright_numerics::parallel::try_map;
use noisewright_report::{Axis, Cell, Column, Figure, Line, Panel, Points, Stroke, Table};
use serde_json::{Value, json};

use crate::landscape::{Landscape, Spot};
use crate::settings::ratio_of;
use crate::toy::Toy;
use crate::{Item, Settings};

/// What is found at one data parameter.
struct Row {
    data: f64,
    /// The best on the paper's grid at ν = 1.
    grid: Spot,
    /// The best on the paper's grid of noise parameters and proportions.
    grid_joint: Spot,
    /// The exact minima at ν = 1: one, or several that are equally good.
    exact: Vec<Spot>,
    /// The exact minima with ν free.
    joint: Vec<Spot>,
}

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let mut panels = Figure::new().columns(2).description(
        "The best noise parameter against the data parameter for a Gaussian's mean, its variance and a correlation",
    );
    let mut table = Table::new("The best noise of the data's own family")
        .column(Column::text("model, data"))
        .column(Column::text("best noise, 50%"))
        .column(Column::number("T·MSE"))
        .column(Column::text("both free"))
        .column(Column::text("at"))
        .column(Column::number("T·MSE"));
    let mut values = serde_json::Map::new();
    for toy in Toy::ALL {
        let rows = rows(toy, settings)?;
        panels = panels.panel(panel(toy, &rows));
        for row in shown(toy, &rows) {
            table.push_row(summary(toy, row));
        }
        values.insert(toy.word().into(), value(toy, &rows));
    }
    Ok(Item::new("fig1", "Figure 1: the best noise parameter against the data parameter", CAPTION)
        .figure(panels)
        .table(table)
        .note(
            "The paper reads the optimum off a grid (marks); the lines are exact. It prints a factor of 3.84 for the \
             variance, which is the optimum near 58 % noise; at 50 % it is 4.24226.",
        )
        .values(Value::Object(values)))
}

const CAPTION: &str = "The best noise is never the data's own distribution, but for uncorrelated data. Mean: two mirror-image \
    optima at a constant distance, ±1.427 at 50 % noise. Variance: a constant factor, 4.242. Correlation: far from \
    linear, of the opposite sign for small correlations, and with a jump where the proportion is free.";

fn rows(toy: Toy, settings: Settings) -> Result<Vec<Row>> {
    let data = toy.data_grid(settings);
    // A correlation and its negative are mirror images: half of the work is enough.
    let mirrored = toy == Toy::Correlation;
    let half: Vec<f64> = data.iter().copied().filter(|x| !mirrored || *x > -1e-9).collect();
    let mut rows: Vec<Row> = try_map(half, |x| row(toy, x, settings))?;
    if mirrored {
        let mut all: Vec<Row> = rows.iter().filter(|r| r.data > 1e-9).map(Row::mirror).collect();
        all.reverse();
        all.append(&mut rows);
        rows = all;
    }
    Ok(rows)
}

impl Row {
    fn mirror(&self) -> Self {
        let one = |s: &Spot| Spot { parameter: -s.parameter, ..*s };
        Self {
            data: -self.data,
            grid: one(&self.grid),
            grid_joint: one(&self.grid_joint),
            exact: self.exact.iter().map(one).collect(),
            joint: self.joint.iter().map(one).collect(),
        }
    }
}

fn row(toy: Toy, data: f64, settings: Settings) -> Result<Row> {
    let landscape = Landscape::new(toy, data)?;
    let grid = toy.noise_grid(settings);
    let nus: Vec<f64> = settings.proportions().into_iter().map(ratio_of).collect();
    // The best ν on the grid for each noise parameter.
    let mut profile = Vec::with_capacity(grid.len());
    let mut at_one = Vec::with_capacity(grid.len());
    for &parameter in &grid {
        let ratios = landscape.ratios(parameter)?;
        let spot = |nu: f64| Spot { parameter, nu, error: landscape.error(&ratios, nu) };
        at_one.push(spot(1.0));
        profile.push(best(nus.iter().map(|nu| spot(*nu))));
    }
    Ok(Row {
        data,
        grid: best(at_one.iter().copied()),
        grid_joint: best(profile.iter().copied()),
        exact: equally_good(local(&at_one).map(|i| {
            let ends = (grid[i.saturating_sub(1)], grid[(i + 1).min(grid.len() - 1)]);
            landscape.polish(ends.0, ends.1, 1.0)
        })),
        joint: equally_good(local(&profile).map(|i| {
            let step = grid[(i + 1).min(grid.len() - 1)] - grid[i.saturating_sub(1)];
            landscape.polish_jointly(profile[i], 0.3 * step)
        })),
    })
}

fn best(spots: impl Iterator<Item = Spot>) -> Spot {
    let nowhere = Spot { parameter: f64::NAN, nu: f64::NAN, error: f64::INFINITY };
    spots.fold(nowhere, |best, spot| if spot.error < best.error { spot } else { best })
}

/// Places on a grid that are better than their neighbours and within a tenth of the best.
fn local(spots: &[Spot]) -> impl Iterator<Item = usize> + '_ {
    let least = best(spots.iter().copied()).error;
    let error = |i: usize| spots.get(i).map_or(f64::INFINITY, |s| s.error);
    (0..spots.len()).filter(move |&i| {
        error(i) <= error(i.wrapping_sub(1)) && error(i) < error(i + 1) && error(i) < 1.1 * least
    })
}

/// The best minimum and those that are as good and elsewhere, in the order of their parameters.
fn equally_good(minima: impl Iterator<Item = Spot>) -> Vec<Spot> {
    let minima: Vec<Spot> = minima.collect();
    let least = best(minima.iter().copied()).error;
    let mut kept: Vec<Spot> = Vec::new();
    for spot in minima {
        let new =
            kept.iter().all(|k| (k.parameter - spot.parameter).abs() > 1e-4 * (1.0 + k.parameter.abs()));
        if spot.error < least * (1.0 + 1e-7) && new {
            kept.push(spot);
        }
    }
    kept.sort_by(|a, b| a.parameter.total_cmp(&b.parameter));
    kept
}

fn panel(toy: Toy, rows: &[Row]) -> Panel {
    let (x, y) = (format!("{} of the data", toy.word()), format!("best {} of the noise", toy.word()));
    let axis = if toy == Toy::Variance { Axis::log } else { Axis::linear };
    let equal = rows.iter().map(|r| (r.data, r.data));
    let mut panel = Panel::new(axis(x), axis(y))
        .title(toy.title())
        .aspect(0.85)
        .with(Line::new("noise equal to the data", equal).stroke(Stroke::Dotted).color(4).width(1.5));
    for line in lines(rows, |r| &r.exact) {
        panel.push(Line::new("exact optimum at 50% noise", line).stroke(Stroke::Solid).color(0));
    }
    for line in lines(rows, |r| &r.joint) {
        panel.push(Line::new("exact optimum, proportion free too", line).stroke(Stroke::Dashed).color(1));
    }
    panel.with(
        Points::new("best on the paper's grid, 50% noise", rows.iter().map(|r| (r.data, r.grid.parameter)))
            .color(2)
            .size(4.5),
    )
}

/// Lowest and highest of the equally good minima as curves; where they are one, a single curve. Jumps are gaps.
fn lines(rows: &[Row], minima: impl Fn(&Row) -> &Vec<Spot>) -> Vec<Vec<(f64, f64)>> {
    let curve = |pick: &dyn Fn(&[Spot]) -> Option<Spot>| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for row in rows {
            let Some(spot) = pick(minima(row)) else { continue };
            if let Some(&(x, y)) = points.last()
                && (spot.parameter - y).abs() > JUMP * (row.data - x).abs()
                && row.data.abs() < 1.0
            {
                points.push((0.5 * (x + row.data), f64::NAN));
            }
            points.push((row.data, spot.parameter));
        }
        points
    };
    let lowest = curve(&|spots| spots.first().copied());
    let highest = curve(&|spots| spots.last().copied());
    if lowest.iter().zip(&highest).all(|(a, b)| a.1 == b.1 || (a.1.is_nan() && b.1.is_nan())) {
        vec![lowest]
    } else {
        vec![lowest, highest]
    }
}

/// A slope that no continuous branch of a correlation's optimum has.
const JUMP: f64 = 8.0;

/// The rows that the table shows.
fn shown(toy: Toy, rows: &[Row]) -> Vec<&Row> {
    let wanted: &[f64] = match toy {
        Toy::Mean => &[0.0],
        Toy::Variance => &[1.0],
        Toy::Correlation => &[0.0, 0.3, 0.6, 0.9],
    };
    rows.iter().filter(|r| wanted.iter().any(|w| (r.data - w).abs() < 1e-9)).collect()
}

fn summary(toy: Toy, row: &Row) -> [Cell; 6] {
    let sign = |spots: &[Spot]| if spots.len() > 1 { "±" } else { "" };
    let show = |x: f64, digits: usize| noisewright_report::format_number(x, digits);
    let tidy = |x: f64| if x.abs() < 1e-6 { 0.0 } else { x };
    let (Some(exact), Some(joint)) = (row.exact.last(), row.joint.last()) else {
        return [const { Cell::Empty }; 6];
    };
    [
        format!("{} {}", toy.word(), show(tidy(row.data), 3)).into(),
        format!("{}{}", sign(&row.exact), show(tidy(exact.parameter), 6)).into(),
        exact.error.into(),
        format!("{}{}", sign(&row.joint), show(tidy(joint.parameter), 6)).into(),
        noisewright_report::format_percent(joint.proportion(), 4).into(),
        joint.error.into(),
    ]
}

fn value(toy: Toy, rows: &[Row]) -> Value {
    let spot = |s: &Spot| json!({ "parameter": s.parameter, "proportion": s.proportion(), "error": s.error });
    let spots = |list: &[Spot]| list.iter().map(spot).collect::<Vec<_>>();
    let all: Vec<Value> = rows
        .iter()
        .map(|r| {
            json!({
                "data": r.data,
                "exact": spots(&r.exact),
                "joint": spots(&r.joint),
                "grid": spot(&r.grid),
                "grid_joint": spot(&r.grid_joint),
            })
        })
        .collect();
    json!({ "parameter": toy.word(), "rows": all })
}
