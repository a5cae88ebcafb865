//! Writes every kind of picture, as SVG files and on one page, into the folder given as argument.
//!
//! `cargo run -p noisewright-report --example gallery -- OUT`, then open `OUT/gallery.html`.

use std::path::Path;

use noisewright_report::{
    Annotation, Axis, Band, Bars, Card, Cell, ColorMap, Column, Contours, Figure, HeatMap, Line, Page, Panel,
    Points, Reference, Section, Stroke, Table, Theme,
};

fn grid(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..=count).map(|i| low + (high - low) * i as f64 / count as f64).collect()
}

fn normal(x: f64, mean: f64, variance: f64) -> f64 {
    (-(x - mean).powi(2) / (2.0 * variance)).exp() / (std::f64::consts::TAU * variance).sqrt()
}

/// Error against noise proportion: poles at both ends, logarithmic axis.
fn error_curves() -> Figure {
    let proportions = grid(0.0, 1.0, 400);
    let curve = |f: fn(f64) -> f64| proportions.iter().map(|&p| (p, f(p))).collect::<Vec<_>>();
    let panel = Panel::new(Axis::linear("noise proportion").percent(), Axis::log("T·MSE").range(0.8, 200.0))
        .title("Gaussian mean: error of three designs")
        .with(Line::new("noise equal to the data", curve(|p| 1.0 / (p * (1.0 - p)))))
        .with(Line::new("best shift", curve(|p| 0.93 / (p * (1.0 - p)))))
        .with(Line::new(
            "gap where the noise misses the data",
            curve(|p| if (0.3..0.4).contains(&p) { f64::NAN } else { 1.0 + (8.0 * (p - 0.5)).powi(2) }),
        ))
        .with(Line::new("Cramér–Rao", curve(|p| 1.0 / (1.0 - p))))
        .with(Reference::vertical(0.1768, "17.68%"))
        .with(Reference::vertical(0.2, "20%"))
        .with(Reference::horizontal(4.0, "4"));
    Figure::from(panel)
}

fn densities() -> Figure {
    let xs = grid(-5.0, 5.0, 300);
    let edges = grid(-4.0, 4.0, 24);
    let heights =
        edges.windows(2).map(|e| normal((e[0] + e[1]) / 2.0, 0.0, 1.1) * (1.0 + 0.1 * (7.0 * e[0]).sin()));
    let first = Panel::new(Axis::linear("x"), Axis::linear("density"))
        .title("Data, model and noise")
        .with(Bars::new("data", edges.clone(), heights.collect()))
        .with(Line::new("model", xs.iter().map(|&x| (x, normal(x, 0.0, 1.0)))))
        .with(Band::under("noise", xs.iter().map(|&x| (x, normal(x, 0.0, 4.24)))))
        .with(Line::new("noise", xs.iter().map(|&x| (x, normal(x, 0.0, 4.24)))));
    let angles = grid(-std::f64::consts::PI, std::f64::consts::PI, 200);
    let second = Panel::new(Axis::circle("angle"), Axis::linear("density").include(0.0))
        .title("On the circle")
        .with(Line::new("model", angles.iter().map(|&a| (a, (2.0 * a.cos()).exp() / 14.323))))
        .with(Annotation::new(0.0, 0.516, "mode"));
    Figure::new().panel(first).panel(second)
}

fn estimates() -> Figure {
    let budgets = [100.0, 300.0, 1000.0, 3000.0, 10_000.0, 30_000.0, 100_000.0];
    let points = |shift: f64| budgets.iter().map(move |&t| (t, (4.0 + shift) / t)).collect::<Vec<_>>();
    let ends = points(0.3).into_iter().map(|(_, y)| (0.7 * y, 1.35 * y)).collect::<Vec<_>>();
    let first = Panel::new(Axis::log("budget T").unit("points"), Axis::log("mean squared error"))
        .title("Simulation against theory")
        .with(Line::new("theory", points(0.0)))
        .with(Band::new("95% interval", budgets.iter().map(|&t| (t, 3.0 / t, 5.4 / t))).color(0))
        .with(Points::new("simulated", points(0.3)).y_errors(ends))
        .with(Points::new("another loss", points(4.0)));
    let names = ["log Z", "b", "a"];
    let second = Panel::new(
        Axis::linear("estimate with 95% interval"),
        Axis::linear("").range(-0.5, 2.5).ticks(names.iter().enumerate().map(|(i, n)| (i as f64, *n))),
    )
    .title("Estimates")
    .with(Points::new("fit", [(1.9, 0.0), (0.12, 1.0), (1.05, 2.0)]).x_errors([
        (1.7, 2.1),
        (0.05, 0.2),
        (0.8, f64::INFINITY),
    ]))
    .with(Reference::vertical(1.0, "truth of a"));
    Figure::new().panel(first).panel(second)
}

fn surfaces() -> Figure {
    let bivariate = |x: f64, y: f64| (-(x * x - 1.2 * x * y + y * y) / 1.28).exp() / 5.03;
    let edges = grid(-3.0, 3.0, 60);
    let first = Panel::new(Axis::linear("x"), Axis::linear("y"))
        .title("Density")
        .aspect(0.85)
        .with(HeatMap::from_fn(edges.clone(), edges.clone(), bivariate).scale_label("density"))
        .with(
            Points::new(
                "draws",
                (0..40).map(|i| f64::from(i) * 0.61).map(|t| (t.sin() * 1.5, (t * 1.3).cos() * 1.4)),
            )
            .color(4)
            .size(4.0),
        );
    let second = Panel::new(Axis::linear("x"), Axis::linear("y"))
        .title("Level lines")
        .aspect(0.85)
        .with(Contours::from_fn("noise", edges.clone(), edges, bivariate));
    Figure::new().panel(first).panel(second)
}

fn log_surface() -> Figure {
    let edges: Vec<f64> = grid(-2.0, 2.0, 40).iter().map(|e| 10f64.powf(*e)).collect();
    let map = HeatMap::from_fn(grid(-2.0, 2.0, 50), edges, |x, nu| (1.0 + nu).powi(2) / nu * (x * x).exp());
    let panel = Panel::new(Axis::linear("shift of the noise"), Axis::log("noise ratio ν"))
        .title("Error over the designs")
        .with(map.log().scale_label("T·MSE"))
        .with(Annotation::new(0.0, 1.0, "smallest"));
    Figure::from(panel)
}

/// Three panels side by side, as in a paper, with the same designs in each.
fn three_targets() -> Figure {
    let nus = grid(-2.0, 2.0, 120);
    let panel = |title: &str, power: f64| {
        let curve = |scale: f64| {
            nus.iter().map(move |n| 10f64.powf(*n)).map(move |n| (n, scale * (1.0 + n).powf(power) / n))
        };
        Panel::new(Axis::log("noise ratio ν"), Axis::log("T·MSE"))
            .title(title)
            .with(Line::new("data", curve(1.0)))
            .with(Line::new("optimal", curve(0.8)))
            .with(Band::new("certified gap", curve(0.8).map(|(n, e)| (n, 0.7 * e, e))).color(1))
    };
    Figure::new()
        .columns(3)
        .panel(panel("Mean", 2.0))
        .panel(panel("Variance", 2.4))
        .panel(panel("Correlation", 1.7))
}

fn fading_density() -> Figure {
    let edges = grid(-3.0, 3.0, 48);
    let ring = |x: f64, y: f64| (-8.0 * (x.hypot(y) - 1.8).powi(2)).exp();
    let panel = Panel::new(Axis::linear("x"), Axis::linear("y"))
        .title("A ring")
        .with(
            HeatMap::from_fn(edges.clone(), edges, ring)
                .colors(ColorMap::Fade)
                .scale_label("relative density"),
        )
        .with(Reference::vertical(0.0, "centre"));
    Figure::from(panel)
}

fn degenerate() -> Figure {
    let panel = |title: &str| Panel::new(Axis::linear("x"), Axis::linear("y")).title(title);
    Figure::new()
        .columns(3)
        .panel(panel("Nothing"))
        .panel(panel("One point").with(Points::new("point", [(3.0, 1e-9)])))
        .panel(panel("Constant").with(Line::new("constant", [(0.0, 2.5), (1.0, 2.5)])))
        .panel(panel("All NaN").with(Line::new("nan", [(f64::NAN, f64::NAN); 3])))
        .panel(panel("Huge").with(Line::new("huge", [(1e-300, -1e300), (1e300, 1e300)])))
        .panel(
            Panel::new(Axis::log("x"), Axis::log("y"))
                .title("Huge, logarithmic, with a title that is far too long for its panel")
                .with(Line::new("a label that is so long that on a narrow screen it has to be broken into several lines", [(1e-300, 1e300), (1e300, 1e-300)]).stroke(Stroke::Dotted)),
        )
}

fn table() -> Table {
    Table::new("Asymptotic error of the design")
        .column(Column::text("parameter"))
        .column(Column::number("T·variance"))
        .column(Column::number("noise equal to data").decimals(4))
        .column(Column::number("efficiency"))
        .section("Model")
        .row(["mean".into(), 3.698_623.into(), 4.0.into(), Cell::Percent(0.5407, 4)])
        .row(["variance".into(), (-12.5).into(), 8.0.into(), Cell::Percent(0.3629, 4)])
        .section("Constant")
        .row(["log Z".into(), f64::INFINITY.into(), 1.2e-9.into()])
        .note("Variances are per unit of budget T. An infinite one means that the noise has lighter tails than the data.")
}

fn page(figures: &[(&str, Figure)]) -> Page {
    let cards = [
        Card::new("T·MSE", "2.99387").note("exact optimum at ν = 1"),
        Card::new("Efficiency", "66.8%").note("of Cramér–Rao"),
        Card::new("Noise proportion", "17.68%"),
        Card::new("Certified gap", "8.1e-6"),
    ];
    let mut page = Page::new("Gallery of noisewright-report").subtitle("Every kind of block, `code` included").section(
        Section::new("")
            .cards(cards)
            .paragraph("Plain text is escaped: <script>alert('no')</script> & so on. Run `noisewright error --json` for more.")
            .note("The data part of the error is what no amount of noise removes.")
            .warning("The noise has lighter tails than the data: `IS` has infinite variance.")
            .table(table())
            .details("Inputs as JSON", "{\n  \"nu\": 1.0,\n  \"noise\": \"normal(?, 1)\"\n}"),
    );
    for (name, figure) in figures {
        page = page.section(
            Section::new(*name)
                .figure(figure.clone(), "A caption that says what is shown and how to read it."),
        );
    }
    page
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "target/gallery".to_owned());
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let figures = [
        ("error", error_curves()),
        ("densities", densities()),
        ("estimates", estimates()),
        ("surfaces", surfaces()),
        ("log-surface", log_surface()),
        ("three-targets", three_targets()),
        ("fading", fading_density()),
        ("degenerate", degenerate()),
    ];
    for (name, figure) in &figures {
        std::fs::write(folder.join(format!("{name}.svg")), figure.to_svg_standalone())?;
        std::fs::write(folder.join(format!("{name}-dark.svg")), figure.to_svg_in(Theme::Dark))?;
        std::fs::write(folder.join(format!("{name}.csv")), figure.to_csv())?;
    }
    std::fs::write(folder.join("table.txt"), table().to_text())?;
    std::fs::write(folder.join("gallery.html"), page(&figures).to_html())
}
