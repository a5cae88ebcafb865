//! Axes: what they measure, on which scale, over which range.

use super::ticks::{Tick, Ticks, linear_ticks, log_ticks, usable_log_range, usable_range};

/// One axis of a panel; by default its range covers the data and its ticks stand at round numbers.
///
/// ```
/// use noisewright_report::Axis;
/// let proportion = Axis::linear("noise proportion").range(0.0, 1.0).percent();
/// let time = Axis::log("time").unit("ms");
/// let angle = Axis::circle("angle");
/// # let _ = (proportion, time, angle);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    label: String,
    unit: Option<String>,
    log: bool,
    range: Option<(f64, f64)>,
    included: Vec<f64>,
    ticks: Option<Vec<Tick>>,
    percent: bool,
}

impl Axis {
    /// An axis with equal steps.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis with equal ratios; values that are not positive leave gaps.
    pub fn log(label: impl Into<String>) -> Self {
        Self { log: true, ..Self::linear(label) }
    }

    /// An axis of angles from −π to π, with ticks that say so.
    pub fn circle(label: impl Into<String>) -> Self {
        use std::f64::consts::{FRAC_PI_2, PI};
        let ticks = [(-PI, "−π"), (-FRAC_PI_2, "−π/2"), (0.0, "0"), (FRAC_PI_2, "π/2"), (PI, "π")];
        Self::linear(label).range(-PI, PI).ticks(ticks)
    }

    /// Names the unit, shown in parentheses after the label.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Fixes the range; what lies outside is cut off.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Widens the automatic range until it holds this value.
    #[must_use]
    pub fn include(mut self, value: f64) -> Self {
        self.included.push(value);
        self
    }

    /// Puts ticks exactly here, with these words; ticks outside the range are left out.
    #[must_use]
    pub fn ticks<L: Into<String>>(mut self, ticks: impl IntoIterator<Item = (f64, L)>) -> Self {
        let tick = |(value, label): (f64, L)| Tick { value, label: label.into() };
        let mut ticks: Vec<Tick> =
            ticks.into_iter().map(tick).filter(|tick| tick.value.is_finite()).collect();
        ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
        self.ticks = Some(ticks);
        self
    }

    /// Shows fractions as percentages.
    #[must_use]
    pub fn percent(mut self) -> Self {
        self.percent = true;
        self
    }

    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// The label with its unit.
    pub(crate) fn heading(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }

    /// The range to draw, from what the series ask for.
    pub(crate) fn resolve(&self, extent: &Extent) -> (f64, f64) {
        let usable = if self.log { usable_log_range } else { usable_range };
        if let Some((low, high)) = self.range {
            return usable(low, high);
        }
        let mut extent = extent.clone();
        self.included.iter().for_each(|&value| extent.add(value));
        if self.log {
            let (low, high) = usable_log_range(extent.smallest_positive, extent.high);
            let factor = (high / low).powf(extent.padding());
            usable_log_range(low / factor, high * factor)
        } else {
            let (low, high) = usable_range(extent.low, extent.high);
            let rim = extent.padding() * (high - low);
            let (floor, ceiling) = (extent.grounded && low >= 0.0, extent.grounded && high <= 0.0);
            usable_range(if floor { low } else { low - rim }, if ceiling { high } else { high + rim })
        }
    }

    /// Ticks for a range, at most so many where possible.
    pub(crate) fn make_ticks(&self, low: f64, high: f64, at_most: usize) -> Ticks {
        if let Some(ticks) = &self.ticks {
            // A hair of tolerance: an end given as −π and a tick given as −π may differ in the last bit.
            let rim = 1e-9 * (high - low);
            let inside = |tick: &&Tick| (low - rim..=high + rim).contains(&tick.value);
            return Ticks { major: ticks.iter().filter(inside).cloned().collect(), minor: Vec::new() };
        }
        match (self.log, self.percent) {
            (true, _) => log_ticks(low, high, at_most),
            (false, false) => linear_ticks(low, high, at_most),
            (false, true) => percent_ticks(low, high, at_most),
        }
    }
}

fn percent_ticks(low: f64, high: f64, at_most: usize) -> Ticks {
    let mut ticks = linear_ticks(100.0 * low, 100.0 * high, at_most);
    for tick in &mut ticks.major {
        tick.value /= 100.0;
        tick.label.push('%');
    }
    ticks.minor.iter_mut().for_each(|value| *value /= 100.0);
    ticks
}

/// What the series of a panel ask of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extent {
    low: f64,
    high: f64,
    smallest_positive: f64,
    /// Some series stands on zero, so no gap below it.
    pub(crate) grounded: bool,
    /// Leave a rim around the data.
    pub(crate) padded: bool,
    /// Leave none, whatever else is drawn: a grid of values fills its panel.
    pub(crate) filled: bool,
}

impl Default for Extent {
    fn default() -> Self {
        // NaN is "nothing seen yet": f64::min and max ignore it.
        Self {
            low: f64::NAN,
            high: f64::NAN,
            smallest_positive: f64::NAN,
            grounded: false,
            padded: false,
            filled: false,
        }
    }
}

impl Extent {
    pub(crate) fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.low = self.low.min(value);
            self.high = self.high.max(value);
            if value > 0.0 {
                self.smallest_positive = self.smallest_positive.min(value);
            }
        }
    }

    fn padding(&self) -> f64 {
        if self.padded && !self.filled { 0.05 } else { 0.0 }
    }
}

/// The map from data to pixels along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) log: bool,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Pixel of the low and of the high end.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Scale {
    /// Pixel of a value, or nothing where it has no place on the axis.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.log && value <= 0.0) {
            return None;
        }
        let part = if self.log {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
        };
        // Far outside the panel only the direction matters, and pixels stay small numbers.
        Some(self.from + part.clamp(-1e4, 1e4) * (self.to - self.from))
    }

    /// Pixel of a bound: an infinite one, or one below a logarithmic axis, sits at the axis's end.
    pub(crate) fn bound(&self, value: f64) -> Option<f64> {
        if value == f64::INFINITY {
            Some(self.to)
        } else if value == f64::NEG_INFINITY || (self.log && value <= 0.0) {
            Some(self.from)
        } else {
            self.at(value)
        }
    }

    /// Pixel of a value kept inside the axis.
    pub(crate) fn inside(&self, value: f64) -> Option<f64> {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        self.bound(value).map(|pixel| pixel.clamp(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(values: &[f64]) -> Extent {
        let mut extent = Extent { padded: true, ..Extent::default() };
        values.iter().for_each(|&value| extent.add(value));
        extent
    }

    #[test]
    fn ranges_leave_a_rim_but_stand_on_the_ground() {
        assert_eq!(Axis::linear("").resolve(&extent(&[0.0, 10.0])), (-0.5, 10.5));
        let grounded = Extent { grounded: true, ..extent(&[0.0, 10.0]) };
        assert_eq!(Axis::linear("").resolve(&grounded), (0.0, 10.5));
    }

    #[test]
    fn log_ranges_ignore_what_is_not_positive() {
        let (low, high) = Axis::log("").resolve(&extent(&[-3.0, 0.0, 1.0, f64::INFINITY, 100.0]));
        assert!((low.log10() + 0.1).abs() < 1e-12 && (high.log10() - 2.1).abs() < 1e-12);
    }

    #[test]
    fn nothing_to_show_still_gives_a_range() {
        assert_eq!(Axis::linear("").resolve(&Extent::default()), (0.0, 1.0));
        let hopeless = Extent { padded: false, ..extent(&[-1.0, f64::NAN]) };
        assert_eq!(Axis::log("").resolve(&hopeless), (0.1, 10.0));
    }

    #[test]
    fn percentages_are_labelled_as_such() {
        let ticks = Axis::linear("").percent().make_ticks(0.0, 1.0, 6);
        assert_eq!(ticks.major[1], Tick { value: 0.2, label: "20%".to_owned() });
    }

    #[test]
    fn ticks_from_the_top_down_are_all_there() {
        let down = Axis::linear("").ticks([(3.0, "a"), (2.0, "b"), (1.0, "c")]);
        let up = Axis::linear("").ticks([(1.0, "c"), (2.0, "b"), (3.0, "a")]);
        assert_eq!(down, up);
    }

    #[test]
    fn the_circle_has_its_five_ticks() {
        let axis = Axis::circle("angle");
        let (low, high) = axis.resolve(&Extent::default());
        let ticks = axis.make_ticks(low, high, 8);
        assert_eq!(
            ticks.major.iter().map(|t| t.label.as_str()).collect::<Vec<_>>(),
            ["−π", "−π/2", "0", "π/2", "π"]
        );
    }

    #[test]
    fn scales_map_ends_to_ends() {
        let scale = Scale { log: true, low: 1.0, high: 100.0, from: 10.0, to: 30.0 };
        assert!((scale.at(10.0).unwrap() - 20.0).abs() < 1e-12);
        assert_eq!(scale.at(0.0), None);
        assert_eq!(scale.bound(-1.0), Some(10.0));
        assert_eq!(scale.inside(1e9), Some(30.0));
    }
}
