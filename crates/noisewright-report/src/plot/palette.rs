//! Colours, dashes and markers that stay apart for colour-blind readers, on light and on dark paper.

/// Which colours a picture is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// CSS custom properties, so that the page around the picture decides between light and dark.
    Page,
    /// Fixed colours on white paper.
    Light,
    /// Fixed colours on dark paper.
    Dark,
}

/// A role that a colour plays; the theme says which colour that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// The paper below everything.
    Paper,
    /// Text and axes.
    Ink,
    /// Secondary text and reference lines.
    Muted,
    /// Grid lines.
    Grid,
    /// The n-th colour of the series, repeating after the last.
    Series(usize),
}

/// Number of distinct series colours.
pub(crate) const COLORS: usize = 6;

/// Okabe and Ito's hues, each darkened until it stands out from white (contrast at least 3).
const LIGHT: [&str; COLORS] = ["#0a66b2", "#c64e00", "#00795a", "#a0457f", "#9a6f00", "#2a8fc4"];
/// The same hues, lightened for dark paper.
const DARK: [&str; COLORS] = ["#5cacf2", "#f48a4a", "#35c496", "#dc8cc0", "#e2b33c", "#9bdcff"];

/// Names of the CSS custom properties, series first as `--nw-c1` and so on.
const ROLES: [(&str, &str, &str); 4] = [
    ("--nw-paper", "#ffffff", "#16191d"),
    ("--nw-ink", "#1d2329", "#e6e9ec"),
    ("--nw-muted", "#5d6872", "#9aa5b0"),
    ("--nw-grid", "#e4e8ec", "#2b3138"),
];

impl Theme {
    pub(crate) fn color(self, paint: Paint) -> String {
        let (name, light, dark) = match paint {
            Paint::Paper => role(0),
            Paint::Ink => role(1),
            Paint::Muted => role(2),
            Paint::Grid => role(3),
            Paint::Series(index) => {
                let index = index % COLORS;
                (format!("--nw-c{}", index + 1), LIGHT[index], DARK[index])
            }
        };
        match self {
            Self::Page => format!("var({name},{light})"),
            Self::Light => light.to_owned(),
            Self::Dark => dark.to_owned(),
        }
    }
}

fn role(index: usize) -> (String, &'static str, &'static str) {
    let (name, light, dark) = ROLES[index];
    (name.to_owned(), light, dark)
}

/// The style sheet that gives the custom properties their values, light and dark, for elements that match `selector`.
pub(crate) fn style_sheet(selector: &str) -> String {
    let light = declarations(|(_, light, _)| light, &LIGHT);
    let dark = declarations(|(_, _, dark)| dark, &DARK);
    // Printers get the light colours whatever the screen shows.
    format!("{selector}{{{light}}}@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}")
}

fn declarations(
    pick: impl Fn((&'static str, &'static str, &'static str)) -> &'static str,
    series: &[&str],
) -> String {
    let roles = ROLES.iter().map(|&role| format!("{}:{};", role.0, pick(role)));
    let series = series.iter().enumerate().map(|(index, color)| format!("--nw-c{}:{color};", index + 1));
    roles.chain(series).collect()
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// Without gaps.
    Solid,
    /// Long dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Dashes and dots in turn.
    DashDot,
}

impl Stroke {
    /// The dash that goes with a series colour, so that lines differ without colour too.
    pub(crate) fn of_series(index: usize) -> Self {
        [Self::Solid, Self::Dashed, Self::DashDot, Self::Dotted][index % 4]
    }

    /// Value of `stroke-dasharray` for a line of the given width.
    pub(crate) fn dashes(self, width: f64) -> Option<String> {
        let pattern: &[f64] = match self {
            Self::Solid => return None,
            Self::Dashed => &[4.0, 2.0],
            // Round caps turn a dash of no length into a dot.
            Self::Dotted => &[0.01, 2.2],
            Self::DashDot => &[5.0, 2.4, 0.01, 2.4],
        };
        let lengths: Vec<String> =
            pattern.iter().map(|length| super::svg::coordinate(length * width)).collect();
        Some(lengths.join(" "))
    }
}

/// Colours of a scale from low to high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMap {
    /// Dark violet to yellow, even to the eye and safe for colour-blind readers.
    #[default]
    Viridis,
    /// From the paper itself to the first series colour, which suits densities.
    Fade,
}

/// Seventeen equally spaced colours of viridis (public domain, S. van der Walt and N. Smith).
const VIRIDIS: [[u8; 3]; 17] = [
    [68, 1, 84],
    [72, 24, 106],
    [71, 45, 123],
    [66, 64, 134],
    [59, 82, 139],
    [51, 99, 141],
    [44, 114, 142],
    [38, 130, 142],
    [33, 145, 140],
    [31, 160, 136],
    [40, 174, 128],
    [63, 188, 115],
    [94, 201, 98],
    [132, 212, 75],
    [173, 220, 48],
    [216, 226, 25],
    [253, 231, 37],
];

impl ColorMap {
    /// How far neighbouring shapes reach into one another, in pixels: printers show hairlines between shapes that
    /// only touch, and translucent ones would show the overlap.
    pub(crate) fn overlap(self) -> f64 {
        match self {
            Self::Viridis => 0.5,
            Self::Fade => 0.0,
        }
    }

    /// The attributes that fill a shape with the colour at `position` in [0, 1].
    pub(crate) fn fill(self, position: f64, theme: Theme) -> String {
        match self {
            Self::Viridis => format!("fill=\"{}\"", viridis(position)),
            Self::Fade => format!(
                "fill=\"{}\" fill-opacity=\"{}\"",
                theme.color(Paint::Series(0)),
                super::svg::coordinate(position)
            ),
        }
    }
}

fn viridis(position: f64) -> String {
    let scaled = position.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (scaled as usize).min(VIRIDIS.len() - 2);
    let part = scaled - below as f64;
    let mix = |channel: usize| {
        let (from, to) = (f64::from(VIRIDIS[below][channel]), f64::from(VIRIDIS[below + 1][channel]));
        (from + part * (to - from)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of WCAG 2.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (a, b) = (luminance(one) + 0.05, luminance(other) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_colour_stands_out_from_its_paper() {
        for index in 0..COLORS {
            assert!(contrast(LIGHT[index], ROLES[0].1) >= 3.0, "light {index}");
            assert!(contrast(DARK[index], ROLES[0].2) >= 3.0, "dark {index}");
        }
        for (_, light, dark) in &ROLES[1..3] {
            assert!(contrast(light, ROLES[0].1) >= 4.5);
            assert!(contrast(dark, ROLES[0].2) >= 4.5);
        }
    }

    #[test]
    fn neighbouring_series_differ_in_colour_and_dash() {
        for index in 0..COLORS - 1 {
            assert_ne!(Stroke::of_series(index), Stroke::of_series(index + 1));
            assert_ne!(LIGHT[index], LIGHT[index + 1]);
        }
    }

    #[test]
    fn the_colour_map_ends_where_viridis_does() {
        assert_eq!(viridis(0.0), "#440154");
        assert_eq!(viridis(1.0), "#fde725");
        assert_eq!(viridis(2.0), "#fde725");
        assert_eq!(viridis(0.5), "#21918c");
    }
}
