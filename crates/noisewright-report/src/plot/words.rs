//! Words inside a panel: labels of reference lines and annotations, kept apart and inside.

use super::layout::Plan;
use super::palette::Paint;
use super::panel::Panel;
use super::series::{Reference, Series};
use super::svg::{Label, Rect, Svg};
use crate::wrap::text_width;

const SIZE: f64 = 11.5;
const HEIGHT: f64 = SIZE * 1.3;

/// Draws all words of a panel; those that would cover one another are moved down.
pub(crate) fn draw_words(svg: &mut Svg, panel: &Panel, plan: &Plan) {
    let mut taken: Vec<Rect> = Vec::new();
    for series in &panel.series {
        let wanted = match series {
            Series::Reference(reference) => reference_place(reference, panel, plan),
            Series::Annotation(note) => annotation_place(&note.text, note.at, plan),
            _ => None,
        };
        if let Some((text, place)) = wanted {
            let place = free_place(place, &taken, plan.area);
            let baseline = place.y + SIZE;
            let paint = if matches!(series, Series::Reference(_)) { Paint::Muted } else { Paint::Ink };
            svg.label(&Label { paint, rim: true, ..Label::new(text, place.x, baseline, SIZE) });
            taken.push(place);
        }
    }
}

/// Beside a vertical line at the top; above a horizontal line at the right, or below it at the panel's top.
fn reference_place<'a>(reference: &'a Reference, panel: &Panel, plan: &Plan) -> Option<(&'a str, Rect)> {
    if reference.label.is_empty() {
        return None;
    }
    let (area, width) = (plan.area, text_width(&reference.label, SIZE));
    let (x, y) = if reference.vertical {
        let at = plan.x.at(reference.value).filter(|at| (area.x..=area.right()).contains(at))?;
        (beside(at, width, area, &vertical_lines(panel, plan)), area.y + 2.0)
    } else {
        let at = plan.y.at(reference.value).filter(|at| (area.y..=area.bottom()).contains(at))?;
        let above = at - HEIGHT - 2.0;
        (area.right() - width - 4.0, if above >= area.y { above } else { at + 3.0 })
    };
    Some((&reference.label, keep_inside(Rect { x, y, width, height: HEIGHT }, area)))
}

fn vertical_lines(panel: &Panel, plan: &Plan) -> Vec<f64> {
    let vertical = |series: &Series| match series {
        Series::Reference(reference) if reference.vertical => plan.x.at(reference.value),
        _ => None,
    };
    panel.series.iter().filter_map(vertical).collect()
}

/// Right of the line where the words cross neither the panel's edge nor another line, else left, else right anyway.
fn beside(at: f64, width: f64, area: Rect, lines: &[f64]) -> f64 {
    let free = |&left: &f64| {
        let inside = left >= area.x && left + width <= area.right();
        inside && !lines.iter().any(|line| (left..=left + width).contains(line))
    };
    [at + 5.0, at - 5.0 - width]
        .into_iter()
        .find(free)
        .unwrap_or_else(|| if at + 5.0 + width <= area.right() { at + 5.0 } else { at - 5.0 - width })
}

fn annotation_place<'a>(text: &'a str, at: (f64, f64), plan: &Plan) -> Option<(&'a str, Rect)> {
    let (x, y) = (plan.x.at(at.0)?, plan.y.at(at.1)?);
    let width = text_width(text, SIZE);
    let place = Rect { x: x + 5.0, y: y - HEIGHT - 3.0, width, height: HEIGHT };
    (!text.is_empty()).then(|| (text, keep_inside(place, plan.area)))
}

fn keep_inside(place: Rect, area: Rect) -> Rect {
    Rect {
        x: place.x.min(area.right() - place.width).max(area.x),
        y: place.y.min(area.bottom() - place.height).max(area.y),
        ..place
    }
}

/// The nearest place at or below the wanted one that is not taken; the wanted one if the panel is full.
fn free_place(wanted: Rect, taken: &[Rect], area: Rect) -> Rect {
    let rows = (0..).map(|row| Rect { y: wanted.y + f64::from(row) * HEIGHT, ..wanted });
    let mut inside = rows.take_while(|place| place.bottom() <= area.bottom());
    inside.find(|place| taken.iter().all(|other| !place.overlaps(other))).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_move_out_of_each_others_way() {
        let area = Rect { x: 0.0, y: 0.0, width: 100.0, height: 100.0 };
        let wanted = Rect { x: 10.0, y: 0.0, width: 50.0, height: HEIGHT };
        let second = free_place(wanted, &[wanted], area);
        assert!(!second.overlaps(&wanted));
        assert_eq!(second.x, wanted.x);
    }

    #[test]
    fn words_beside_a_line_avoid_other_lines_and_the_edge() {
        let area = Rect { x: 0.0, y: 0.0, width: 100.0, height: 100.0 };
        assert_eq!(beside(50.0, 20.0, area, &[50.0]), 55.0);
        assert_eq!(beside(50.0, 20.0, area, &[50.0, 60.0]), 25.0);
        assert_eq!(beside(90.0, 20.0, area, &[90.0]), 65.0);
        assert_eq!(beside(50.0, 20.0, area, &[40.0, 50.0, 60.0]), 55.0);
    }

    #[test]
    fn words_stay_inside() {
        let area = Rect { x: 0.0, y: 0.0, width: 100.0, height: 100.0 };
        let place = keep_inside(Rect { x: 80.0, y: -5.0, width: 40.0, height: 10.0 }, area);
        assert_eq!((place.x, place.y), (60.0, 0.0));
    }
}
