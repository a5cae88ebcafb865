//! Figures 2 and 6: the best histogram noise at three proportions, with the limits and the exact optimum over it.

use noisewright::design::{Design, DesignOptions, Ratio};
use noisewright::internal::design::{HistogramDesign, all_data_points, best_histogram_1d, design};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::parts::ModelNoise;
use noisewright::{
    Histogram1d, Loss, Model, Noise, Population, Precision, Result, Target, View, equal_edges,
};
use noisewright_numerics::parallel::try_map;
use noisewright_report::{
    Axis, Bars, Cell, Column, Figure, Line, Panel, Reference, Stroke, Table, format_percent,
};
use serde_json::{Value, json};

use crate::Settings;
use crate::settings::{linear, ratio_of};
use crate::toy::Toy;

/// The proportions of the paper's rows.
pub(crate) const PROPORTIONS: [f64; 3] = [0.1, 0.5, 0.9];

/// Ends of the histograms.
const ENDS: (f64, f64) = (-5.0, 5.0);

/// What is computed for one panel.
struct Cut {
    toy: Toy,
    proportion: f64,
    histogram: HistogramDesign<Histogram1d>,
    exact: Design,
    /// T·MSE of the paper's analytic noise, the limit of all noise.
    analytic: f64,
    all_noise: ModelNoise,
    /// Points of the limit of all data, where it is known.
    all_data: Vec<f64>,
}

/// All panels of a figure with their numbers.
pub(crate) struct Densities {
    cuts: Vec<Cut>,
}

impl Densities {
    pub(crate) fn compute(normalized: bool, settings: Settings) -> Result<Self> {
        let wanted: Vec<(Toy, f64)> = PROPORTIONS
            .iter()
            .flat_map(|proportion| [Toy::Mean, Toy::Variance].map(|toy| (toy, *proportion)))
            .collect();
        let cut = |(toy, proportion): (Toy, f64)| cut(toy, proportion, normalized, settings);
        Ok(Self { cuts: try_map(wanted, cut)? })
    }

    pub(crate) fn figure(&self) -> Figure {
        let figure = Figure::new().columns(2).description(
            "Densities of the data, of the best histogram noise and of the exact optimal noise for a Gaussian's mean \
             and variance at 10, 50 and 90 % noise",
        );
        self.cuts.iter().fold(figure, |figure, cut| figure.panel(cut.panel()))
    }

    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new("T·MSE")
            .column(Column::text("model, noise"))
            .column(Column::number("noise = data").decimals(4))
            .column(Column::number("analytic").decimals(4))
            .column(Column::number("histogram").decimals(4))
            .column(Column::number("exact").decimals(4));
        for toy in [Toy::Mean, Toy::Variance] {
            for cut in self.cuts.iter().filter(|cut| cut.toy == toy) {
                table.push_row(cut.row());
            }
        }
        table
    }

    pub(crate) fn values(&self) -> Value {
        let of = |toy: Toy| -> Vec<Value> {
            self.cuts.iter().filter(|cut| cut.toy == toy).map(Cut::value).collect()
        };
        json!({ "mean": of(Toy::Mean), "variance": of(Toy::Variance) })
    }
}

fn cut(toy: Toy, proportion: f64, normalized: bool, settings: Settings) -> Result<Cut> {
    let model = toy.model(normalized)?;
    let at = [toy.standard()];
    let nu = ratio_of(proportion);
    let options = DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() };
    let precision = Precision::default();
    let all_noise = ModelNoise::all_noise(&model, &at, &Target::Mse, &precision)?;
    let contrast = Contrast { noise: &all_noise, nu, loss: &Loss::Js };
    let analytic = asymptotic_error(&model, &at, contrast, &Target::Mse, &precision)?.error;
    Ok(Cut {
        toy,
        proportion,
        histogram: best_histogram_1d(&model, &at, &equal_edges(settings.bins(), ENDS.0, ENDS.1), &options)?,
        exact: design(&model, &at, &options)?,
        analytic,
        all_noise,
        all_data: if normalized { peaks(&model, &at)? } else { Vec::new() },
    })
}

fn peaks(model: &Model, at: &[f64]) -> Result<Vec<f64>> {
    let population = Population::new(model, at, &Precision::default())?;
    Ok(all_data_points(model, at, &population, &Target::Mse)?.iter().map(|point| point.x).collect())
}

/// The density of a noise along the axis; `mirrored` turns left and right round.
fn curve(noise: &dyn Noise, mirrored: bool) -> Vec<(f64, f64)> {
    let x = linear(ENDS.0, ENDS.1, 400);
    let places: Vec<f64> = x.iter().map(|x| if mirrored { -x } else { *x }).collect();
    let mut out = vec![0.0; x.len()];
    noise.log_density(View::new(1, x.len(), &places), &mut out);
    x.into_iter().zip(out.iter().map(|v| v.exp())).collect()
}

/// Share of a curve's mass right of zero beyond its share left of it.
fn leans(curve: &[(f64, f64)]) -> f64 {
    curve.iter().map(|(x, y)| x.signum() * y).sum()
}

impl Cut {
    fn panel(&self) -> Panel {
        let title = format!("{}, {} noise", self.toy.title(), format_percent(self.proportion, 3));
        let (edges, heights) = self.bars();
        // The mean has two mirror-image optima of equal error; the one on the right is drawn.
        let exact = curve(&self.exact.noise, leans(&curve(&self.exact.noise, false)) < -1e-6);
        let data = linear(ENDS.0, ENDS.1, 400).into_iter().map(|x| (x, standard_normal(x)));
        let mut panel = Panel::new(Axis::linear("x"), Axis::linear("density"))
            .title(title)
            .with(Bars::new("best histogram noise", edges, heights).color(1))
            .with(Line::new("data", data).color(0).stroke(Stroke::Solid).width(1.5))
            .with(Line::new("exact optimal noise", exact).color(2).stroke(Stroke::Solid));
        if self.proportion > 0.5 {
            let limit = curve(&self.all_noise, false);
            panel.push(Line::new("limit of all noise", limit).color(3).stroke(Stroke::Dashed).width(1.5));
        }
        if self.proportion < 0.5 {
            for x in &self.all_data {
                panel.push(Reference::vertical(*x, ""));
            }
        }
        panel
    }

    fn bars(&self) -> (Vec<f64>, Vec<f64>) {
        let edges = self.histogram.noise.edges().to_vec();
        let probabilities = self.histogram.noise.probabilities().iter();
        let heights: Vec<f64> = probabilities.zip(edges.windows(2)).map(|(p, e)| p / (e[1] - e[0])).collect();
        let lean: f64 = heights.iter().zip(&edges).map(|(h, e)| h * (e + 1e-9).signum()).sum();
        let turned = heights.iter().rev().copied().collect();
        (edges, if lean < -1e-6 { turned } else { heights })
    }

    fn row(&self) -> [Cell; 5] {
        [
            format!("{}, {}", self.toy.word(), format_percent(self.proportion, 3)).into(),
            self.exact.noise_equals_data.into(),
            self.analytic.into(),
            self.histogram.error.into(),
            self.exact.error.into(),
        ]
    }

    fn value(&self) -> Value {
        json!({
            "proportion": self.proportion,
            "noise_equals_data": self.exact.noise_equals_data,
            "analytic": self.analytic,
            "histogram": self.histogram.error,
            "exact": self.exact.error,
            "gap": self.exact.gap(),
            "stationary_points": self.exact.optimum.stationary_points,
            "all_data_points": self.all_data,
            "histogram_edges": self.histogram.noise.edges(),
            "histogram_probabilities": self.histogram.noise.probabilities(),
        })
    }
}

fn standard_normal(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}
