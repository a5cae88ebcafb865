//! Figure 3: the best noise for a correlation, in two dimensions.

use noisewright::design::{DesignOptions, Ratio};
use noisewright::internal::design::{HistogramDesign, best_histogram_2d};
use noisewright::{Error, Histogram2d, Noise, Precision, Result, View, equal_edges};
use noisewright_numerics::parallel::try_map;
use noisewright_report::{
    Axis, Column, Contours, Figure, HeatMap, Panel, Points, Table, format_number, format_percent,
};
use serde_json::{Value, json};

use crate::plane::{Plane, PlaneOptimum};
use crate::settings::{linear, ratio_of};
use crate::toy::Toy;
use crate::{Item, Settings};

/// Data correlation and noise proportion of each row.
const ROWS: [(f64, f64); 4] = [(0.0, 0.5), (0.3, 0.1), (0.3, 0.5), (0.3, 0.9)];

/// Half the width of the square.
const REACH: f64 = 5.0;

/// Cells along each side of a smooth picture.
const CELLS: usize = 60;

const CAPTION: &str = "First the data. Then for each design the best histogram noise, with level lines of the exact optimum over it, and the exact \
    optimum, with the points of the all-data limit at 10 % noise and level lines of the all-noise limit at 90 %. The best noise is \
    nothing like the data: where noise is scarce it sits across the data's diagonal, away from the centre, and even \
    where it is plentiful it leaves out the lines on which the score vanishes.";

/// One row of the figure.
struct Row {
    correlation: f64,
    proportion: f64,
    histogram: HistogramDesign<Histogram2d>,
    exact: PlaneOptimum,
    noise_equals_data: f64,
    /// Whether the exact optimum is drawn mirrored, to be on the histogram's side where both sides are equally good.
    mirrored: bool,
}

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let rows: Vec<Row> = try_map(ROWS, |(rho, proportion)| row(rho, proportion, settings))?;
    let mut figure = Figure::new().columns(2).description(
        "Densities of correlated data, of the best histogram noise and of the exact optimal noise in the plane",
    );
    let mut table = Table::new("T·MSE")
        .column(Column::text("correlation, noise"))
        .column(Column::number("noise = data").decimals(4))
        .column(Column::number("histogram").decimals(4))
        .column(Column::number("exact").decimals(4));
    // One picture of the data for each correlation.
    for row in rows.iter().take(2) {
        figure = figure.panel(row.data_panel());
    }
    for row in &rows {
        figure = row.panels().into_iter().fold(figure, Figure::panel);
        table.push_row([
            format!("{}, {}", format_number(row.correlation, 2), format_percent(row.proportion, 2)).into(),
            row.noise_equals_data.into(),
            row.histogram.error.into(),
            row.exact.error.into(),
        ]);
    }
    let values: Vec<Value> = rows.iter().map(Row::value).collect();
    Ok(Item::new("fig3", "Figure 3: the best noise of all for a correlation", CAPTION)
        .figure(figure)
        .table(table)
        .values(json!({ "rows": values })))
}

fn row(correlation: f64, proportion: f64, settings: Settings) -> Result<Row> {
    let options = DesignOptions {
        ratio: Ratio::Fixed(ratio_of(proportion)),
        precision: Precision { relative: 1e-7, ..Precision::default() },
        ..DesignOptions::default()
    };
    let edges = equal_edges(settings.bins(), -REACH, REACH);
    let histogram =
        best_histogram_2d(&Toy::Correlation.model(true)?, &[correlation], [&edges, &edges], &options)?;
    let plane = Plane::new(correlation);
    let nu = ratio_of(proportion);
    let exact = plane.optimum(nu).ok_or(Error::NoOverlap)?;
    let noise_equals_data = (1.0 + nu).powi(2) / nu * plane.bound();
    let mut row = Row { correlation, proportion, histogram, exact, noise_equals_data, mirrored: false };
    row.mirrored = correlation == 0.0 && row.histogram_moment(&edges) * row.exact_moment() < 0.0;
    Ok(row)
}

fn plane_panel(title: String) -> Panel {
    Panel::new(Axis::linear("x"), Axis::linear("y")).title(title).aspect(0.78)
}

impl Row {
    /// `E xy` under the histogram.
    fn histogram_moment(&self, edges: &[f64]) -> f64 {
        let centers: Vec<f64> = edges.windows(2).map(|e| 0.5 * (e[0] + e[1])).collect();
        let products = centers.iter().flat_map(|x| centers.iter().map(move |y| x * y));
        products.zip(self.histogram.noise.probabilities()).map(|(product, p)| product * p).sum()
    }

    /// The sign of `E xy` under the exact optimum: which diagonal it sits on.
    fn exact_moment(&self) -> f64 {
        self.exact_at(1.5, 1.5) - self.exact_at(1.5, -1.5)
    }

    /// The exact optimum.
    fn exact_at(&self, x: f64, y: f64) -> f64 {
        let y = if self.mirrored { -y } else { y };
        self.data_at(x, y) * self.exact.ratio(self.score_at(x, y))
    }

    fn data_at(&self, x: f64, y: f64) -> f64 {
        let rest = 1.0 - self.correlation * self.correlation;
        let form = (x * x - 2.0 * self.correlation * x * y + y * y) / rest;
        (-0.5 * form).exp() / (std::f64::consts::TAU * rest.sqrt())
    }

    /// The score of the correlation.
    fn score_at(&self, x: f64, y: f64) -> f64 {
        let rho = self.correlation;
        let rest = 1.0 - rho * rho;
        let form = (x * x - 2.0 * rho * x * y + y * y) / rest;
        (rho + x * y - rho * form) / rest
    }

    fn histogram_at(&self, x: f64, y: f64) -> f64 {
        let mut out = [0.0];
        self.histogram.noise.log_density(View::new(2, 1, &[x, y]), &mut out);
        out[0].exp()
    }

    /// The histogram with the exact optimum over it, and the exact optimum with the limits over it.
    fn panels(&self) -> [Panel; 2] {
        let nodes = linear(-REACH, REACH, CELLS);
        let edges = self.histogram.noise.edges(0).to_vec();
        let bars = HeatMap::from_fn(edges.clone(), edges, |x, y| self.histogram_at(x, y));
        let exact = HeatMap::from_fn(nodes.clone(), nodes.clone(), |x, y| self.exact_at(x, y));
        let levels = Contours::from_fn("exact optimum", nodes.clone(), nodes, |x, y| self.exact_at(x, y));
        let words = format!(
            "ρ = {}, {} noise",
            format_number(self.correlation, 2),
            format_percent(self.proportion, 2)
        );
        [
            plane_panel(format!("Histogram: {words}"))
                .with(bars.scale_label("density"))
                .with(levels.color(1)),
            self.with_limits(plane_panel(format!("Exact: {words}")).with(exact.scale_label("density"))),
        ]
    }

    fn data_panel(&self) -> Panel {
        let edges = linear(-REACH, REACH, CELLS);
        let map = HeatMap::from_fn(edges.clone(), edges, |x, y| self.data_at(x, y));
        plane_panel(format!("Data: ρ = {}", format_number(self.correlation, 2)))
            .with(map.scale_label("density"))
    }

    fn with_limits(&self, panel: Panel) -> Panel {
        let nodes = linear(-REACH, REACH, CELLS);
        if self.proportion > 0.5 {
            let limit = |x: f64, y: f64| self.data_at(x, y) * self.score_at(x, y).abs();
            return panel.with(Contours::from_fn("limit of all noise", nodes.clone(), nodes, limit).color(4));
        }
        if self.proportion < 0.5 {
            let (x, y) = self.all_data_point();
            return panel.with(
                Points::new(
                    "limit of all data",
                    [(x, y), (y, x)].map(|p| if x == y { (-p.0, -p.1) } else { p }),
                )
                .color(4),
            );
        }
        panel
    }

    /// A maximiser of `p_d ψ²` on the diagonal where it lies; its mirror images are the others.
    fn all_data_point(&self) -> (f64, f64) {
        let height = |x: f64, y: f64| self.data_at(x, y) * self.score_at(x, y).powi(2);
        let along = |sign: f64| {
            let best = noisewright_numerics::optimize::minimize_bracketed(0.5, 5.0, |t| -height(t, sign * t));
            (best.at[0], sign * best.at[0], -best.value)
        };
        let (same, opposite) = (along(1.0), along(-1.0));
        if same.2 > opposite.2 { (same.0, same.1) } else { (opposite.0, opposite.1) }
    }

    fn value(&self) -> Value {
        json!({
            "correlation": self.correlation,
            "proportion": self.proportion,
            "noise_equals_data": self.noise_equals_data,
            "histogram": self.histogram.error,
            "exact": self.exact.error,
            "histogram_stationary_points": self.histogram.stationary_points,
            "histogram_probabilities": self.histogram.noise.probabilities(),
        })
    }
}
