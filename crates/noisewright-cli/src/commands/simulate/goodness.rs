//! Data against draws of the fitted model: each variable, pairs of variables, and their moments.

use noisewright::internal::show::Bins;
use noisewright::{Domain, View};
use noisewright_report::{
    Axis, Cell, Column, Figure, Line, Page, Panel, Points as Dots, Section, Stroke, Table, Value,
    format_number,
};

/// Most variables that get a panel of their own, and most pairs.
const VARIABLES: usize = 8;
const PAIRS: usize = 6;
/// Most dots of a cloud.
const DOTS: usize = 1500;
/// Moments that a table shows, the farthest apart first.
const ROWS: usize = 12;

/// Data beside draws.
pub(super) struct Goodness<'a> {
    pub(super) title: String,
    pub(super) names: &'a [String],
    pub(super) domains: &'a [Domain],
    pub(super) data: View<'a>,
    pub(super) draws: View<'a>,
    /// Independent draws that they are worth.
    pub(super) effective: f64,
}

/// A mean of the data and of the draws.
struct Moment {
    of: String,
    data: f64,
    drawn: f64,
    /// Their difference in standard errors.
    z: f64,
}

impl Goodness<'_> {
    /// Means of the variables, of their squares and of products of two, data against draws.
    fn moments(&self) -> Vec<Moment> {
        let variables = self.data.columns();
        let mut found: Vec<Moment> =
            (0..variables).map(|j| self.moment(self.names[j].clone(), &[j])).collect();
        for i in 0..variables {
            for j in i..variables {
                let name = if i == j {
                    format!("{}²", self.names[i])
                } else {
                    format!("{}·{}", self.names[i], self.names[j])
                };
                found.push(self.moment(name, &[i, j]));
            }
        }
        // A square that never varies says nothing.
        found.retain(|moment| moment.z.is_finite());
        found
    }

    fn moment(&self, of: String, columns: &[usize]) -> Moment {
        let look = |view: View<'_>, count: f64| {
            let rows = view.rows();
            let value = |row: usize| columns.iter().map(|j| view.get(row, *j)).product::<f64>();
            let mean = (0..rows).map(value).sum::<f64>() / rows as f64;
            let spread = (0..rows).map(|row| (value(row) - mean).powi(2)).sum::<f64>() / rows as f64;
            (mean, spread / count)
        };
        let (data, one) = look(self.data, self.data.rows() as f64);
        let (drawn, other) = look(self.draws, self.effective);
        Moment { of, data, drawn, z: (data - drawn) / (one + other).sqrt() }
    }

    /// The largest difference of moments, out of how many, and how likely one as large is by chance.
    pub(super) fn value(&self) -> Value {
        let moments = self.moments();
        let mut value = Value::Map(Vec::new());
        value.set("moments", moments.len());
        if let Some(worst) = moments.iter().max_by(|a, b| a.z.abs().total_cmp(&b.z.abs())) {
            value.set("largest", worst.of.as_str());
            value.set("z", worst.z);
            value.set("p_value", p_value(worst.z, moments.len()));
        }
        value
    }

    pub(super) fn page(&self) -> Page {
        let mut page = Page::new("Data against draws of the fitted model")
            .subtitle(self.title.clone())
            .section(self.moments_section())
            .section(self.marginals());
        if self.data.columns() > 1 {
            page = page.section(self.pairs());
        }
        page
    }

    fn moments_section(&self) -> Section {
        let mut moments = self.moments();
        let count = moments.len();
        moments.sort_by(|a, b| b.z.abs().total_cmp(&a.z.abs()));
        let mut table = Table::new("")
            .column(Column::text("mean of"))
            .column(Column::number("data").significant(5))
            .column(Column::number("draws").significant(5))
            .column(Column::number("difference in standard errors").significant(3));
        for moment in moments.iter().take(ROWS) {
            table.push_row(vec![
                Cell::from(moment.of.clone()),
                Cell::from(moment.data),
                Cell::from(moment.drawn),
                Cell::from(moment.z),
            ]);
        }
        let said = moments.first().map(|worst| {
            format!(
                "Of {count} means the one of {} is the farthest apart: {} standard errors, as much as chance would give with a \
                 probability of at most {}. Parameters that were fitted to the same data make differences smaller, so that small \
                 ones prove little and large ones much.",
                worst.of,
                format_number(worst.z.abs(), 3),
                format_number(p_value(worst.z, count), 2)
            )
        });
        let section = Section::new("Means").table(table);
        match said {
            Some(said) => section.paragraph(said),
            None => section,
        }
    }

    fn marginals(&self) -> Section {
        let mut figure = Figure::new().columns(2);
        let shown = self.data.columns().min(VARIABLES);
        for j in 0..shown {
            let column = self.data.column(j);
            let bins = Bins::new(&self.domains[j], column);
            let (seen, drawn) = (bins.shares(column, |_| 1.0), bins.shares(self.draws.column(j), |_| 1.0));
            let what = if bins.is_listed() { "frequency" } else { "density" };
            figure = figure.panel(
                Panel::new(bins.axis(&self.names[j]), Axis::linear(what))
                    .with(bins.bars("data", &seen))
                    .with(bins.bars("draws", &drawn).outline()),
            );
        }
        let rest = match self.data.columns() - shown {
            0 => String::new(),
            hidden => format!(" {hidden} more are not shown."),
        };
        Section::new("Each variable").figure(figure, format!("Data, and draws of the fitted model.{rest}"))
    }

    fn pairs(&self) -> Section {
        let section = Section::new("Pairs");
        let variables = self.data.columns();
        let discrete = self.domains.iter().any(Domain::is_discrete);
        if discrete || variables > 4 {
            return section.figure(
                self.correlations(),
                "The correlation of every pair of variables in the data against that in the draws; away from the line the model \
                 misses a dependence.",
            );
        }
        let mut figure = Figure::new().columns(2);
        let all = (0..variables).flat_map(|i| (i + 1..variables).map(move |j| (i, j)));
        for (i, j) in all.take(PAIRS) {
            let cloud = |view: View<'_>| {
                let step = view.rows().div_ceil(DOTS).max(1);
                (0..view.rows())
                    .step_by(step)
                    .map(|row| (view.get(row, i), view.get(row, j)))
                    .collect::<Vec<_>>()
            };
            figure = figure.panel(
                Panel::new(Axis::linear(self.names[i].as_str()), Axis::linear(self.names[j].as_str()))
                    .with(Dots::new("draws", cloud(self.draws)))
                    .with(Dots::new("data", cloud(self.data))),
            );
        }
        section.figure(figure, "Two variables at a time.")
    }

    fn correlations(&self) -> Figure {
        let variables = self.data.columns();
        let correlation = |view: View<'_>, i: usize, j: usize| {
            let rows = view.rows() as f64;
            let mean = |k: usize| view.column(k).iter().sum::<f64>() / rows;
            let (a, b) = (mean(i), mean(j));
            let pairs = || view.column(i).iter().zip(view.column(j));
            let both = pairs().map(|(x, y)| (x - a) * (y - b)).sum::<f64>();
            let squares =
                pairs().fold((0.0, 0.0), |(p, q), (x, y)| (p + (x - a).powi(2), q + (y - b).powi(2)));
            both / (squares.0 * squares.1).sqrt()
        };
        let dots: Vec<(f64, f64)> = (0..variables)
            .flat_map(|i| (i + 1..variables).map(move |j| (i, j)))
            .map(|(i, j)| (correlation(self.draws, i, j), correlation(self.data, i, j)))
            .collect();
        let most = dots.iter().flat_map(|(x, y)| [x.abs(), y.abs()]).fold(0.05, f64::max);
        let panel = Panel::new(Axis::linear("correlation in the draws"), Axis::linear("in the data"))
            .with(Dots::new("pairs", dots))
            .with(Line::new("", [(-most, -most), (most, most)]).stroke(Stroke::Dashed).width(1.0));
        Figure::new().panel(panel).columns(1)
    }
}

/// Bonferroni's bound on the probability that one of so many differences is as large by chance.
fn p_value(z: f64, count: usize) -> f64 {
    (count as f64 * noisewright::internal::show::two_sided_tail(z)).min(1.0)
}
