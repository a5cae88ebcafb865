//! Numbers as people read them: significant digits, percentages, durations.

use std::time::Duration;

/// The typographic minus sign, as wide as a plus and never broken from its number.
const MINUS: char = '−';

/// Whole numbers below this are never rounded to significant digits: `12346` reads better than `1.2346e4`.
const WHOLE_UP_TO_EXPONENT: i32 = 6;

/// Formats `x` to so many significant digits, without trailing zeros.
///
/// The integer part of a number below a million is written out in full even when it has more digits than asked for;
/// below 0.0001 and above a million (or the asked digits) the form is `1.2e-9`. Negative numbers carry a
/// typographic minus; infinity is `∞`, not-a-number is `NaN`. At least 1 and at most 17 digits are used.
///
/// ```
/// use noisewright_report::format_number;
/// assert_eq!(format_number(3.698_623_4, 6), "3.69862");
/// assert_eq!(format_number(0.00123, 6), "0.00123");
/// assert_eq!(format_number(1.2e-9, 6), "1.2e-9");
/// assert_eq!(format_number(-1.427_01, 4), "−1.427");
/// assert_eq!(format_number(f64::NEG_INFINITY, 6), "−∞");
/// ```
pub fn format_number(x: f64, significant: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return format_not_finite(x);
    }
    let significant = significant.clamp(1, 17);
    let rounded = format!("{:.*e}", significant - 1, x.abs());
    let (mantissa, exponent) = split_scientific(&rounded);
    let body = if exponent < -4 || exponent >= WHOLE_UP_TO_EXPONENT.max(significant as i32) {
        format!("{}e{exponent}", trim_zeros(mantissa))
    } else {
        let decimals = (significant as i32 - 1 - exponent).max(0) as usize;
        trim_zeros(&format!("{:.decimals$}", x.abs())).to_owned()
    };
    with_sign(x, body)
}

/// Writes `x` as it was given: all its digits, without hundreds of zeros where it is huge or tiny, infinity as its sign.
///
/// ```
/// use noisewright_report::format_given;
/// assert_eq!(format_given(-0.1), "-0.1");
/// assert_eq!(format_given(1e300), "1e300");
/// assert_eq!(format_given(2e-300), "2e-300");
/// assert_eq!(format_given(f64::NEG_INFINITY), "−∞");
/// ```
pub fn format_given(x: f64) -> String {
    if !x.is_finite() {
        format_not_finite(x)
    } else if x == 0.0 || (1e-9..1e16).contains(&x.abs()) {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

/// Formats `x` with so many digits after the point; what would read as zero but is not is shown as `1.2e-9`.
///
/// ```
/// use noisewright_report::format_fixed;
/// assert_eq!(format_fixed(-2.5, 3), "−2.500");
/// assert_eq!(format_fixed(1.23e-9, 3), "1.2e-9");
/// ```
pub fn format_fixed(x: f64, decimals: usize) -> String {
    if !x.is_finite() {
        return format_not_finite(x);
    }
    let body = format!("{:.*}", decimals.min(300), x.abs());
    let vanishes = x != 0.0 && body.chars().all(|character| matches!(character, '0' | '.'));
    if vanishes { format_number(x, 2) } else { with_sign(x, body) }
}

/// Formats a fraction as a percentage to so many significant digits.
///
/// ```
/// assert_eq!(noisewright_report::format_percent(0.17684, 4), "17.68%");
/// ```
pub fn format_percent(fraction: f64, significant: usize) -> String {
    format!("{}%", format_number(100.0 * fraction, significant))
}

/// Formats a time span in the unit that suits it.
///
/// ```
/// use std::time::Duration;
/// use noisewright_report::format_duration;
/// assert_eq!(format_duration(Duration::from_micros(1_250)), "1.25 ms");
/// assert_eq!(format_duration(Duration::from_secs(125)), "2 min 5 s");
/// ```
pub fn format_duration(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    // The limits sit where three digits would round up to the next unit.
    if seconds == 0.0 {
        "0 s".to_owned()
    } else if seconds < 0.999_5e-6 {
        format!("{} ns", format_number(seconds * 1e9, 3))
    } else if seconds < 0.999_5e-3 {
        format!("{} µs", format_number(seconds * 1e6, 3))
    } else if seconds < 0.999_5 {
        format!("{} ms", format_number(seconds * 1e3, 3))
    } else if seconds < 59.95 {
        format!("{} s", format_number(seconds, 3))
    } else {
        format_long_duration(seconds.round() as u64)
    }
}

fn format_long_duration(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, rest) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{minutes} min {rest} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

fn format_not_finite(x: f64) -> String {
    if x.is_nan() { "NaN".to_owned() } else { with_sign(x, "∞".to_owned()) }
}

fn with_sign(x: f64, body: String) -> String {
    if x < 0.0 { format!("{MINUS}{body}") } else { body }
}

fn split_scientific(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_read_well() {
        let cases = [
            (4.0, 6, "4"),
            (0.5, 6, "0.5"),
            (0.1 + 0.2, 6, "0.3"),
            (12_345.678, 4, "12346"),
            (999_999.5, 6, "1e6"),
            (123_456_789.0, 6, "1.23457e8"),
            (123_456_789.0, 9, "123456789"),
            (0.000_123_4, 3, "0.000123"),
            (0.000_012_34, 3, "1.23e-5"),
            (9.999_999, 3, "10"),
            (1e300, 3, "1e300"),
            (5e-324, 3, "4.94e-324"),
            (-0.0, 3, "0"),
            (f64::NAN, 3, "NaN"),
            (f64::INFINITY, 3, "∞"),
            (2.0, 0, "2"),
        ];
        for (x, digits, expected) in cases {
            assert_eq!(format_number(x, digits), expected, "{x} to {digits}");
        }
    }

    #[test]
    fn nothing_reads_as_zero_but_zero() {
        assert_eq!(format_fixed(-0.000_1, 2), "−0.0001");
        assert_eq!(format_fixed(-0.0, 2), "0.00");
        assert_eq!(format_fixed(f64::NEG_INFINITY, 2), "−∞");
    }

    #[test]
    fn durations_never_show_a_thousand_of_a_unit() {
        let cases = [
            (850, "850 ns"),
            (999_900, "1 ms"),
            (59_990_000_000, "1 min"),
            (12_345_000_000, "12.3 s"),
            (3_720_000_000_000, "1 h 2 min"),
            (0, "0 s"),
        ];
        for (nanoseconds, expected) in cases {
            assert_eq!(format_duration(Duration::from_nanos(nanoseconds)), expected);
        }
    }

    proptest! {
        #[test]
        fn the_text_reads_back_within_half_a_digit(x in prop::num::f64::NORMAL, digits in 1usize..17) {
            let text = format_number(x, digits).replace(MINUS, "-");
            let back: f64 = text.parse().unwrap();
            let tolerance = 0.5 * 10f64.powi(1 - digits as i32) * (1.0 + 1e-9) + 4.0 * f64::EPSILON;
            prop_assert!((back / x - 1.0).abs() <= tolerance, "{x} became {text}");
        }
    }
}
