//! The picture of a classifier: its log ratio on both classes, and whether its probabilities are right.

use noisewright_report::{Axis, Figure, Line, Panel, Points as Dots};

use super::bins::Bins;

/// Bins of the log ratio.
const BINS: usize = 48;
/// Groups of points whose calibration is compared.
const GROUPS: usize = 10;
/// Share of the first class that may lie beyond either end of the picture.
const TAIL: f64 = 0.01;

/// One class: the log ratio `g` at its points, and how many points each stands for.
#[derive(Debug)]
pub struct Class<'a> {
    /// What the class is called.
    pub name: &'a str,
    /// `g` at its points.
    pub ratios: Vec<f64>,
    /// How many points each stands for.
    pub weights: Vec<f64>,
}

/// The two pictures side by side, and the share of the second class left of them.
pub fn figure(first: &Class<'_>, second: &Class<'_>) -> Option<(Figure, f64)> {
    let (low, high) = range(first, second)?;
    let bins = Bins::equal(low, high, BINS);
    let shares = |class: &Class<'_>| bins.shares(&class.ratios, |row| class.weights[row]);
    let axis = Axis::linear(format!("log ratio g: {} ← → {}", second.name, first.name));
    let overlap = Panel::new(axis, Axis::linear("density"))
        .with(bins.bars(first.name, &shares(first)).color(0))
        .with(bins.bars(second.name, &shares(second)).outline().color(1));
    let total: f64 = second.weights.iter().sum();
    let left = second.ratios.iter().zip(&second.weights).filter(|(g, _)| **g < low).map(|(_, w)| w);
    let left = left.sum::<f64>() / total;
    Some((Figure::new().panel(overlap).panel(calibration(first, second)).columns(2), left))
}

/// Where nearly all of the first class is, and as far again to the left, where only the second is.
fn range(first: &Class<'_>, second: &Class<'_>) -> Option<(f64, f64)> {
    let mut ratios: Vec<f64> = first.ratios.iter().copied().filter(|g| g.is_finite()).collect();
    ratios.sort_by(f64::total_cmp);
    let last = ratios.len().checked_sub(1)?;
    let beyond = (TAIL * last as f64) as usize;
    let (low, high) = (ratios[beyond], ratios[last - beyond]);
    let others = || second.ratios.iter().copied().filter(|g| g.is_finite());
    let low = (low - (high - low).max(1.0)).max(others().fold(low, f64::min));
    let high = others().fold(high, f64::max).min(high + 0.5 * (high - low));
    Some(if low < high { (low, high) } else { (low - 0.5, high + 0.5) })
}

/// What is known of the points of one group.
#[derive(Clone, Copy, Default)]
struct Group {
    /// Sum of the probabilities of the first class.
    said: f64,
    /// Weight of the first class.
    found: f64,
    weight: f64,
}

/// Groups of about equal weight by the ratio; points with the same ratio stay together.
fn groups(first: &Class<'_>, second: &Class<'_>) -> Vec<Group> {
    let points = |class: &Class<'_>, found: f64| {
        let pairs = class.ratios.iter().copied().zip(class.weights.iter().copied());
        pairs.map(|(g, weight)| (g, weight, found * weight)).collect::<Vec<_>>()
    };
    let mut pooled = points(first, 1.0);
    pooled.extend(points(second, 0.0));
    pooled.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = pooled.iter().map(|point| point.1).sum();
    let mut groups = vec![Group::default(); GROUPS];
    let (mut before, mut last, mut index) = (0.0, f64::NAN, 0);
    for (g, weight, found) in pooled {
        if g != last {
            index = ((before / total * GROUPS as f64) as usize).min(GROUPS - 1);
            last = g;
        }
        before += weight;
        let group = &mut groups[index];
        group.said += weight / (1.0 + (-g).exp());
        group.found += found;
        group.weight += weight;
    }
    groups.retain(|group| group.weight > 0.0);
    groups
}

/// The share of the first class that the ratio says against the one found, with 95 % of chance.
fn calibration(first: &Class<'_>, second: &Class<'_>) -> Panel {
    let groups = groups(first, second);
    let share = |group: &Group| (group.said / group.weight, group.found / group.weight);
    let errors = groups.iter().map(|group| {
        let (said, found) = share(group);
        let half = 1.96 * (said * (1.0 - said) / group.weight).max(0.0).sqrt();
        ((found - half).max(0.0), found + half)
    });
    let most = groups.iter().map(|group| share(group).0).fold(0.0, f64::max);
    let name = first.name;
    Panel::new(
        Axis::linear(format!("share of {name} by the fit")).percent(),
        Axis::linear("share found").percent(),
    )
    .with(Line::new("equal", [(0.0, 0.0), (most, most)]).color(2).width(1.0))
    .with(Dots::new("groups of points", groups.iter().map(share)).y_errors(errors).color(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_all_weight_and_ties_stay_together() {
        let class = |name, ratios: Vec<f64>| Class { name, weights: vec![2.0; ratios.len()], ratios };
        let first = class("data", vec![0.0; 30]);
        let second = class("noise", vec![0.0; 30]);
        let groups = groups(&first, &second);
        assert_eq!(groups.len(), 1);
        assert_eq!((groups[0].weight, groups[0].found, groups[0].said), (120.0, 60.0, 60.0));
    }
}
