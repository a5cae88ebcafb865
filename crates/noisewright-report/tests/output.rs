//! Whatever the data, the output is well-formed, safe, finite and always the same.

#![allow(clippy::unwrap_used)]

use noisewright_report::{
    Annotation, Axis, Band, Bars, Card, ColorMap, Column, Contours, Figure, HeatMap, Line, Page, Panel,
    Points, Reference, Section, Series, Table, Theme,
};
use proptest::prelude::*;

const EVIL: &str = "</svg><script>alert('x')</script>\" onload=\"y\u{0}\u{b}";

fn check_svg(svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap();
    assert_eq!(document.root_element().tag_name().name(), "svg");
    for attribute in document.descendants().flat_map(|node| node.attributes()) {
        let value = attribute.value();
        assert!(!value.contains("NaN") || attribute.name() == "aria-label", "{}: {value}", attribute.name());
        assert!(!value.contains("inf") || attribute.name() == "aria-label", "{}: {value}", attribute.name());
    }
}

fn check_html(html: &str) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(html, options).unwrap();
    assert!(document.descendants().all(|node| node.tag_name().name() != "script"));
    for node in document.descendants() {
        assert!(
            node.attributes().all(|a| !a.name().starts_with("on") && a.name() != "src" && a.name() != "href")
        );
    }
}

/// One series of every kind from the same list of numbers.
fn everything(points: &[(f64, f64)], label: &str) -> Vec<Series> {
    let xs: Vec<f64> = points.iter().map(|p| p.0).collect();
    let ys: Vec<f64> = points.iter().map(|p| p.1).collect();
    let cells = ys.len().saturating_sub(1);
    let grid: Vec<f64> = (0..cells * cells).map(|i| ys[i % ys.len()]).collect();
    let nodes: Vec<f64> = (0..xs.len() * xs.len()).map(|i| ys[i % ys.len()]).collect();
    vec![
        Line::new(label, points.iter().copied()).into(),
        Band::new(label, points.iter().map(|&(x, y)| (x, y, 2.0 * y))).into(),
        Band::under(label, points.iter().copied()).into(),
        Bars::new(label, xs.clone(), ys[..cells].to_vec()).into(),
        Points::new(label, points.iter().copied())
            .x_errors(points.iter().map(|&(x, y)| (x - y, x + y)))
            .y_errors(points.iter().copied())
            .into(),
        HeatMap::new(xs.clone(), xs.clone(), grid).scale_label(label).colors(ColorMap::Fade).into(),
        Contours::new(label, xs.clone(), xs.clone(), nodes).into(),
        Reference::vertical(xs.first().copied().unwrap_or(f64::NAN), label).into(),
        Reference::horizontal(ys.first().copied().unwrap_or(f64::INFINITY), label).into(),
        Annotation::new(1.0, 1.0, label).into(),
    ]
}

/// The series in all four combinations of axes, one panel per series.
fn figures(points: &[(f64, f64)]) -> Vec<Figure> {
    let axes: [fn(&str) -> Axis; 2] = [|label| Axis::linear(label), |label| Axis::log(label)];
    let mut figures = Vec::new();
    for x in axes {
        for y in axes {
            let mut figure = Figure::new().columns(3);
            for series in everything(points, "series") {
                figure = figure.panel(Panel::new(x("x"), y("y")).with(series));
            }
            figures.push(figure);
        }
    }
    figures
}

#[test]
fn degenerate_data_never_panics_and_stays_well_formed() {
    let nan = f64::NAN;
    let inf = f64::INFINITY;
    let cases: [&[(f64, f64)]; 10] = [
        &[],
        &[(1.0, 2.0)],
        &[(0.0, 0.0)],
        &[(nan, nan), (nan, nan)],
        &[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)],
        &[(1e-300, 1e-300), (1e300, 1e300)],
        &[(-1e300, -1e300), (1e300, 1e300)],
        &[(f64::MIN, f64::MAX), (f64::MAX, f64::MIN), (0.0, 0.0)],
        &[(5e-324, 5e-324), (1e-320, 1e-320)],
        &[(0.0, inf), (1.0, -inf), (2.0, nan), (inf, 3.0), (3.0, -4.0)],
    ];
    for points in cases {
        for figure in figures(points) {
            check_svg(&figure.to_svg());
            check_svg(&figure.width(300.0).to_svg_standalone());
        }
    }
}

#[test]
fn words_cannot_break_out() {
    let mut panel =
        Panel::new(Axis::linear(EVIL).unit(EVIL).ticks([(1.0, EVIL)]), Axis::log(EVIL)).title(EVIL);
    everything(&[(1.0, 2.0), (2.0, 3.0), (3.0, 1.0)], EVIL).into_iter().for_each(|series| panel.push(series));
    let figure = Figure::from(panel).description(EVIL);
    check_svg(&figure.to_svg());
    let table = Table::new(EVIL).column(Column::text(EVIL)).row([EVIL.into()]).note(EVIL);
    let html = Page::new(EVIL)
        .subtitle(EVIL)
        .section(
            Section::new(EVIL)
                .paragraph(EVIL)
                .paragraph(format!("`{EVIL}`"))
                .cards([Card::new(EVIL, EVIL).note(EVIL)])
                .note(EVIL)
                .warning(EVIL)
                .details(EVIL, EVIL)
                .table(table)
                .figure(figure, EVIL),
        )
        .footer(EVIL)
        .to_html();
    check_html(&html);
    assert!(!html.contains("<script"));
}

fn small_figure() -> Figure {
    let panel = Panel::new(Axis::linear("x"), Axis::log("y"))
        .title("Small")
        .with(Line::new("line", [(0.0, 1.0), (1.0, 0.0), (2.0, 10.0), (3.0, 100.0)]))
        .with(Points::new("points", [(1.0, 5.0)]).y_errors([(2.0, 8.0)]));
    Figure::from(panel).width(320.0)
}

#[test]
fn a_small_figure_is_drawn_as_it_was() {
    insta::assert_snapshot!(small_figure().to_svg_standalone());
}

#[test]
fn a_small_page_is_written_as_it_was() {
    let html = Page::new("Title").section(Section::new("Part").paragraph("Words with `code`.")).to_html();
    let body = html.split_once("<body>").unwrap().1.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(body);
}

#[test]
fn pages_load_nothing() {
    let html = Page::new("t").section(Section::new("s").figure(small_figure(), "c")).to_html();
    check_html(&html);
    let outside = html.replace("http://www.w3.org/2000/svg", "");
    for trace in ["http", "url(", "@import", "<link", "<script"] {
        assert!(!outside.contains(trace), "{trace}");
    }
}

#[test]
fn inline_pictures_take_their_colours_from_the_page() {
    let inline = small_figure().to_svg();
    assert!(inline.contains("var(--nw-c1,#") && inline.contains("prefers-color-scheme:dark"));
    assert!(!inline.contains(" id=\""), "identifiers would clash between pictures on one page");
    for theme in [Theme::Light, Theme::Dark] {
        assert!(!small_figure().to_svg_in(theme).contains("var("));
    }
    assert!(small_figure().to_svg_standalone().contains("fill=\"#ffffff\""));
}

#[test]
fn zeros_on_a_logarithmic_axis_leave_a_gap() {
    let svg = small_figure().to_svg_standalone();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let line = document.descendants().find(|node| node.attribute("stroke-width") == Some("2")).unwrap();
    let path = line.attribute("d").unwrap();
    // A dot for the lonely first point, then one piece of line.
    assert_eq!(["M", "h0", "L"].map(|part| path.matches(part).count()), [2, 1, 1], "{path}");
}

#[test]
fn large_series_stay_small_files() {
    // A golden-ratio walk: no two points alike, no pattern.
    let cloud: Vec<(f64, f64)> =
        (0..200_000).map(|i| f64::from(i) * 0.618_033_988_749_895).map(|t| (t, (t * t) % 1.0)).collect();
    let panel = |series: Series| Figure::from(Panel::new(Axis::linear("x"), Axis::linear("y")).with(series));
    assert!(panel(Line::new("trace", cloud.iter().copied()).into()).to_svg().len() < 120_000);
    let few: Vec<(f64, f64)> =
        cloud.iter().map(|&(x, y)| ((x / 1000.0).floor(), (y * 50.0).floor())).collect();
    assert!(panel(Points::new("draws", few).into()).to_svg().len() < 600_000);
}

#[test]
fn the_data_behind_a_figure_can_be_read_back() {
    let csv = small_figure().to_csv();
    assert_eq!(csv.lines().count(), 6);
    assert_eq!(csv.lines().last(), Some("1,points,points,1,5,,,,2,8"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_numbers_give_the_same_well_formed_picture_twice(
        points in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..8),
        width in 100.0..1200.0f64,
    ) {
        for figure in figures(&points) {
            let figure = figure.width(width);
            let svg = figure.to_svg();
            check_svg(&svg);
            prop_assert_eq!(svg, figure.clone().to_svg());
        }
    }

    #[test]
    fn any_text_gives_a_well_formed_page(text in ".*") {
        let table = Table::new(&*text).column(Column::text(&*text)).row([text.as_str().into()]);
        check_html(&Page::new(&*text).section(Section::new("").paragraph(&*text).table(table)).to_html());
    }
}
