//! Where the ticks of an axis stand and what they say.

/// One labelled tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where it stands, in the units of the data.
    pub value: f64,
    /// What it says; may be empty.
    pub label: String,
}

/// The ticks of one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ticks {
    /// Labelled ticks, ascending.
    pub major: Vec<Tick>,
    /// Unlabelled ticks between them, ascending.
    pub minor: Vec<f64>,
}

/// Beyond this a span would overflow.
const LARGEST: f64 = 1e307;
/// A span smaller than this part of its position is shown as a single value.
const SMALLEST_SPAN: f64 = 1e-10;

/// Orders and widens a range until it can carry an axis: finite, and wide enough to tell its ends apart.
pub(crate) fn usable_range(low: f64, high: f64) -> (f64, f64) {
    if low.is_nan() || high.is_nan() {
        return (0.0, 1.0);
    }
    let (low, high) = (low.min(high).max(-LARGEST), high.max(low).min(LARGEST));
    let scale = low.abs().max(high.abs());
    if scale < 1e-300 {
        (-1.0, 1.0)
    } else if high - low <= SMALLEST_SPAN * scale {
        (low - 0.5 * scale, high + 0.5 * scale)
    } else {
        (low, high)
    }
}

/// The same for a logarithmic axis: both ends positive.
pub(crate) fn usable_log_range(low: f64, high: f64) -> (f64, f64) {
    if low.is_nan() || high.is_nan() || high <= 0.0 {
        return (0.1, 10.0);
    }
    let (low, high) = (low.clamp(1.0 / LARGEST, LARGEST), high.clamp(1.0 / LARGEST, LARGEST));
    if high / low <= 1.0 + 1e-6 { (low / 2.0, high * 2.0) } else { (low.min(high), high.max(low)) }
}

/// Round numbers of decades between labelled powers of ten; neighbours differ by at most a factor of two.
const STRIDES: [i32; 19] = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200];

/// A decimal number kept exactly: `digits` × 10^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: i64,
    exponent: i32,
}

impl Decimal {
    /// The nearest double; parsing rounds correctly where multiplying by a power of ten would not.
    fn value(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }
}

/// Ticks of a linear axis at round numbers: at most `at_most` of them where three or more allow it, 3 to 10 always.
///
/// ```
/// use noisewright_report::linear_ticks;
/// let labels: Vec<String> = linear_ticks(0.0, 1.0, 6).major.into_iter().map(|tick| tick.label).collect();
/// assert_eq!(labels, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
/// ```
pub fn linear_ticks(low: f64, high: f64, at_most: usize) -> Ticks {
    let (low, high) = usable_range(low, high);
    let at_most = at_most.clamp(3, 10);
    let mut best = multiples(low, high, finest_step(low, high));
    for step in steps_from(finest_step(low, high)).take(12) {
        let candidate = multiples(low, high, step);
        if candidate.len() < 3 {
            break;
        }
        best = candidate;
        if best.len() <= at_most {
            break;
        }
    }
    let minor = linear_minor(low, high, &best);
    let labels = decimal_labels(&best);
    let major = best.iter().zip(labels).map(|(tick, label)| Tick { value: tick.value(), label }).collect();
    Ticks { major, minor }
}

/// A step so fine that more than ten ticks fit the range.
fn finest_step(low: f64, high: f64) -> Decimal {
    let exponent = (high - low).log10().floor() as i32 - 2;
    Decimal { digits: 1, exponent }
}

/// Round steps upwards: 1, 2, 2.5, 5, 10, …; neighbours differ by at most a factor of two.
fn steps_from(finest: Decimal) -> impl Iterator<Item = Decimal> {
    (0..).flat_map(move |decade| {
        let exponent = finest.exponent + decade;
        [(1, 0), (2, 0), (25, -1), (5, 0)]
            .into_iter()
            .map(move |(digits, shift)| Decimal { digits, exponent: exponent + shift })
    })
}

/// All multiples of the step inside the range.
fn multiples(low: f64, high: f64, step: Decimal) -> Vec<Decimal> {
    let unit = step.value();
    let (first, last) = ((low / unit).floor() as i64, (high / unit).ceil() as i64);
    (first..=last)
        .map(|count| Decimal { digits: count * step.digits, exponent: step.exponent })
        .filter(|tick| (low..=high).contains(&tick.value()))
        .collect()
}

/// Minor ticks cut each step into four or five round parts.
fn linear_minor(low: f64, high: f64, major: &[Decimal]) -> Vec<f64> {
    let [first, second, ..] = major else { return Vec::new() };
    let step = second.digits - first.digits;
    let parts = if step.to_string().starts_with('2') && !step.to_string().starts_with("25") { 4 } else { 5 };
    let fine = Decimal { digits: step * 10 / parts, exponent: first.exponent - 1 };
    let is_major = |tick: &Decimal| tick.digits % (fine.digits * parts) == 0;
    multiples(low, high, fine).iter().filter(|tick| !is_major(tick)).map(|tick| tick.value()).collect()
}

/// Labels with as many decimals as the finest tick needs, or with a power of ten when the numbers are far from one.
fn decimal_labels(ticks: &[Decimal]) -> Vec<String> {
    let mut ticks = ticks.to_vec();
    while ticks.iter().any(|tick| tick.digits != 0) && ticks.iter().all(|tick| tick.digits % 10 == 0) {
        ticks
            .iter_mut()
            .for_each(|tick| *tick = Decimal { digits: tick.digits / 10, exponent: tick.exponent + 1 });
    }
    let largest = ticks.iter().map(|tick| tick.digits.unsigned_abs()).max().unwrap_or(0);
    let top = ticks.first().map_or(0, |tick| tick.exponent) + largest.max(1).ilog10() as i32;
    let plain = (-4..6).contains(&top);
    ticks.iter().map(|&tick| if plain { plain_label(tick, 0) } else { power_label(tick, top) }).collect()
}

/// The number divided by 10^`shift`, written out.
fn plain_label(tick: Decimal, shift: i32) -> String {
    let exponent = tick.exponent - shift;
    let sign = if tick.digits < 0 { "−" } else { "" };
    let digits = tick.digits.unsigned_abs().to_string();
    if tick.digits == 0 {
        return "0".to_owned();
    }
    if exponent >= 0 {
        return format!("{sign}{digits}{}", "0".repeat(exponent as usize));
    }
    let decimals = exponent.unsigned_abs() as usize;
    let padded = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = padded.split_at(padded.len() - decimals);
    format!("{sign}{whole}.{fraction}")
}

fn power_label(tick: Decimal, power: i32) -> String {
    match plain_label(tick, power).as_str() {
        "0" => "0".to_owned(),
        "1" => power_of_ten(power),
        "−1" => format!("−{}", power_of_ten(power)),
        mantissa => format!("{mantissa}×{}", power_of_ten(power)),
    }
}

/// `10⁻³`, with superscript digits.
fn power_of_ten(power: i32) -> String {
    let superscript = |character: char| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
    };
    format!("10{}", power.to_string().chars().map(superscript).collect::<String>())
}

/// Ticks of a logarithmic axis: powers of ten where three or more fit, finer round numbers otherwise.
///
/// ```
/// use noisewright_report::log_ticks;
/// let labels: Vec<String> = log_ticks(1e-9, 1.0, 4).major.into_iter().map(|tick| tick.label).collect();
/// assert_eq!(labels, ["10⁻⁹", "10⁻⁶", "10⁻³", "1"]);
/// ```
pub fn log_ticks(low: f64, high: f64, at_most: usize) -> Ticks {
    let (low, high) = usable_log_range(low, high);
    let at_most = at_most.clamp(3, 10);
    let powers = mantissas(low, high, &[1]);
    let mut candidates: Vec<Vec<Decimal>> = STRIDES.iter().map(|&stride| every(&powers, stride)).collect();
    candidates.push(mantissas_if_few(low, high, &[1, 3]));
    candidates.push(mantissas_if_few(low, high, &[1, 2, 5]));
    candidates.retain(|ticks| (3..=10).contains(&ticks.len()));
    let fitting = candidates.iter().find(|ticks| ticks.len() <= at_most);
    match fitting.or_else(|| candidates.iter().min_by_key(|ticks| ticks.len())) {
        Some(major) => with_log_minor(low, high, major),
        // Less than a decade or so: round numbers as on a linear axis.
        None => linear_ticks(low, high, at_most),
    }
}

fn with_log_minor(low: f64, high: f64, major: &[Decimal]) -> Ticks {
    let decades = (high / low).log10();
    let minor = if decades <= 10.0 {
        mantissas(low, high, &[1, 2, 3, 4, 5, 6, 7, 8, 9])
    } else {
        let powers = mantissas(low, high, &[1]);
        if powers.len() <= 60 { powers } else { Vec::new() }
    };
    let minor = minor.into_iter().filter(|tick| !major.contains(tick)).map(Decimal::value).collect();
    let labels = log_labels(major);
    let major = major.iter().zip(labels).map(|(tick, label)| Tick { value: tick.value(), label }).collect();
    Ticks { major, minor }
}

/// All `mantissa` × 10^k inside the range.
fn mantissas(low: f64, high: f64, mantissas: &[i64]) -> Vec<Decimal> {
    let (first, last) = (low.log10().floor() as i32 - 1, high.log10().ceil() as i32 + 1);
    (first..=last)
        .flat_map(|exponent| mantissas.iter().map(move |&digits| Decimal { digits, exponent }))
        .filter(|tick| (low..=high).contains(&tick.value()))
        .collect()
}

/// The same, spared where there would be far too many.
fn mantissas_if_few(low: f64, high: f64, wanted: &[i64]) -> Vec<Decimal> {
    if high / low < 1e12 { mantissas(low, high, wanted) } else { Vec::new() }
}

/// Powers whose exponent is a multiple of the stride.
fn every(powers: &[Decimal], stride: i32) -> Vec<Decimal> {
    powers.iter().copied().filter(|tick| tick.exponent % stride == 0).collect()
}

fn log_labels(ticks: &[Decimal]) -> Vec<String> {
    let plain = ticks.iter().all(|tick| (-4..=4).contains(&tick.exponent));
    ticks
        .iter()
        .map(|&tick| match tick {
            Decimal { digits: 1, exponent: 0 } => "1".to_owned(),
            _ if plain => plain_label(tick, 0),
            _ => power_label(tick, tick.exponent),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ticks: &Ticks) -> Vec<&str> {
        ticks.major.iter().map(|tick| tick.label.as_str()).collect()
    }

    fn check(ticks: &Ticks, low: f64, high: f64) -> Result<(), TestCaseError> {
        let count = ticks.major.len();
        prop_assert!((3..=10).contains(&count), "{count} ticks in {low}..{high}: {ticks:?}");
        prop_assert!(ticks.major.iter().all(|tick| (low..=high).contains(&tick.value)), "{ticks:?}");
        prop_assert!(ticks.minor.iter().all(|value| (low..=high).contains(value)));
        prop_assert!(ticks.major.windows(2).all(|pair| pair[0].value < pair[1].value), "{ticks:?}");
        prop_assert!(ticks.minor.windows(2).all(|pair| pair[0] < pair[1]), "{ticks:?}");
        let mut unique = labels(ticks);
        unique.sort_unstable();
        unique.dedup();
        prop_assert_eq!(unique.len(), count, "{:?}", ticks);
        Ok(())
    }

    #[test]
    fn linear_labels_are_the_ones_a_person_would_write() {
        let cases: [(f64, f64, usize, &[&str]); 6] = [
            (0.0, 1.0, 5, &["0", "0.25", "0.50", "0.75", "1.00"]),
            (-3.2, 3.4, 8, &["−3", "−2", "−1", "0", "1", "2", "3"]),
            (0.0, 5e-9, 6, &["0", "10⁻⁹", "2×10⁻⁹", "3×10⁻⁹", "4×10⁻⁹", "5×10⁻⁹"]),
            (0.0, 2e7, 5, &["0", "0.5×10⁷", "1.0×10⁷", "1.5×10⁷", "2.0×10⁷"]),
            (1000.0, 1001.0, 5, &["1000.00", "1000.25", "1000.50", "1000.75", "1001.00"]),
            (0.0, 20_000.0, 5, &["0", "5000", "10000", "15000", "20000"]),
        ];
        for (low, high, at_most, expected) in cases {
            let shown: Vec<String> =
                labels(&linear_ticks(low, high, at_most)).iter().map(|l| (*l).to_owned()).collect();
            assert_eq!(shown, expected, "{low}..{high}");
        }
    }

    #[test]
    fn minor_ticks_are_round_too() {
        assert_eq!(linear_ticks(0.0, 1.0, 6).minor[..4], [0.05, 0.1, 0.15, 0.25]);
        assert_eq!(log_ticks(1.0, 1000.0, 6).minor[..3], [2.0, 3.0, 4.0]);
    }

    #[test]
    fn log_ticks_refine_as_the_range_narrows() {
        assert_eq!(labels(&log_ticks(0.01, 1000.0, 8)), ["0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!(labels(&log_ticks(1.0, 50.0, 8)), ["1", "3", "10", "30"]);
        assert_eq!(labels(&log_ticks(1.0, 8.0, 8)), ["1", "2", "5"]);
        assert_eq!(labels(&log_ticks(2.0, 3.0, 5)), ["2.00", "2.25", "2.50", "2.75", "3.00"]);
        assert_eq!(labels(&log_ticks(1e-300, 1e300, 5)).len(), 5);
    }

    #[test]
    fn degenerate_ranges_still_carry_ticks() {
        for (low, high) in
            [(0.0, 0.0), (3.7, 3.7), (f64::NAN, 1.0), (f64::NEG_INFINITY, f64::INFINITY), (1e-320, 0.0)]
        {
            assert!(linear_ticks(low, high, 6).major.len() >= 3, "{low}..{high}");
            assert!(log_ticks(low, high, 6).major.len() >= 3, "{low}..{high}");
        }
    }

    proptest! {
        #[test]
        fn linear_ticks_keep_their_promises(low in -1e3..1e3f64, log_span in -6.0..6.0f64, scale in -280..280i32, n in 3usize..10) {
            let unit = 10f64.powi(scale);
            let (low, high) = (low * unit, (low + 10f64.powf(log_span)) * unit);
            check(&linear_ticks(low, high, n), low, high)?;
        }

        #[test]
        fn log_ticks_keep_their_promises(start in -300.0..300.0f64, log_decades in -3.0..2.8f64, n in 3usize..10) {
            let (low, high) = usable_log_range(10f64.powf(start), 10f64.powf(start + 10f64.powf(log_decades)));
            check(&log_ticks(low, high, n), low, high)?;
        }
    }
}
