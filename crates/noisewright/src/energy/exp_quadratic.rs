//! `∫ exp(b·x − ½ a·x²)` over an interval to full precision, whatever the sign of `a` and wherever the mass is.
//!
//! The difference of two normal distribution functions cancels on short intervals and says nothing for
//! a ≤ 0. Here the integrand is divided by its maximum and followed downhill from there, in pieces on which
//! its logarithm falls by a fixed amount; each piece is integrated by a Gauss–Legendre rule that is exact to
//! rounding for such a smooth function. The moments come out of the same sum, without any subtraction.

/// Half of the nodes and weights of the 16-point Gauss–Legendre rule on [−1, 1], which is symmetric.
const RULE: [(f64, f64); 8] = [
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
];

/// By how much the logarithm falls on one piece.
const FALL: f64 = 2.0;

/// Number of pieces: what is left has less than e^−40 of the mass.
const PIECES: usize = 22;

/// `u(x) = linear·x − ½·precision·x²`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quadratic {
    pub(super) linear: f64,
    pub(super) precision: f64,
}

/// The integral of `exp(u(x) − u(anchor))` and the mean of `x − anchor` and its square under `exp u`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mass {
    pub(super) anchor: f64,
    pub(super) log_integral: f64,
    pub(super) first: f64,
    pub(super) second: f64,
}

/// A stretch on which u falls all the way, from `start` over `length` in `direction` (1 or −1).
struct Descent {
    start: f64,
    direction: f64,
    length: f64,
}

/// Integrates `exp u` from `lower` to `upper`; `None` where that is infinite or the input is not a number.
pub(super) fn integrate(u: Quadratic, lower: f64, upper: f64) -> Option<Mass> {
    if !(u.linear.is_finite() && u.precision.is_finite() && lower < upper) {
        return None;
    }
    let (anchor, descents) = descents(u, lower, upper);
    if !anchor.is_finite() {
        return None;
    }
    let mut sums = [0.0; 3];
    for descent in descents {
        if descent.length > 0.0 {
            descent.add(u, anchor, &mut sums);
        }
    }
    let [integral, first, second] = sums;
    (integral > 0.0 && integral.is_finite()).then(|| Mass {
        anchor,
        log_integral: integral.ln(),
        first: first / integral,
        second: second / integral,
    })
}

/// Where u is largest, and the two ways down from there (or down from both ends, when u is convex).
fn descents(u: Quadratic, lower: f64, upper: f64) -> (f64, [Descent; 2]) {
    let vertex = u.linear / u.precision;
    let up = |start: f64, end: f64| Descent { start, direction: 1.0, length: end - start };
    let down = |start: f64, end: f64| Descent { start, direction: -1.0, length: start - end };
    if u.precision > 0.0 {
        let top = vertex.clamp(lower, upper);
        (top, [up(top, upper), down(top, lower)])
    } else if u.precision < 0.0 {
        let top = if u.rise(lower, upper) > 0.0 { upper } else { lower };
        let bottom = vertex.clamp(lower, upper);
        (top, [up(lower, bottom), down(upper, bottom)])
    } else {
        let top = if u.linear > 0.0 { upper } else { lower };
        (top, [up(top, upper), down(top, lower)])
    }
}

impl Quadratic {
    /// `u(to) − u(from)`, without subtracting the two.
    fn rise(&self, from: f64, to: f64) -> f64 {
        (to - from) * (self.linear - 0.5 * self.precision * (from + to))
    }
}

impl Descent {
    /// Adds `∫ exp(u(x) − u(anchor)) (x − anchor)^k dx`, k = 0, 1, 2.
    fn add(&self, u: Quadratic, anchor: f64, sums: &mut [f64; 3]) {
        let height = u.rise(anchor, self.start).exp();
        // u(start) − u(start + direction·t) = steepness·t + ½·precision·t²
        let steepness = (-self.direction * (u.linear - u.precision * self.start)).max(0.0);
        let mut from = 0.0;
        for piece in 1..=PIECES {
            let to = distance(steepness, u.precision, FALL * piece as f64).min(self.length);
            let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
            for (node, weight) in RULE.iter().flat_map(|&(x, w)| [(-x, w), (x, w)]) {
                let t = middle + half * node;
                let fall = t * (steepness + 0.5 * u.precision * t);
                let term = height * half * weight * (-fall).exp();
                let x = self.start - anchor + self.direction * t;
                for (sum, power) in sums.iter_mut().zip([1.0, x, x * x]) {
                    *sum += term * power;
                }
            }
            from = to;
            if to == self.length {
                break;
            }
        }
    }
}

/// The distance after which `steepness·t + ½·precision·t²` has reached `fall`, ∞ when it never does.
fn distance(steepness: f64, precision: f64, fall: f64) -> f64 {
    let root = if precision >= 0.0 {
        steepness.hypot((2.0 * precision * fall).sqrt())
    } else {
        let reach = 1.0 + 2.0 * precision * fall / steepness / steepness;
        if reach.is_nan() || reach < 0.0 {
            return f64::INFINITY;
        }
        steepness * reach.sqrt()
    };
    2.0 * fall / (steepness + root)
}

#[cfg(test)]
#[allow(clippy::excessive_precision)]
mod tests {
    use super::*;

    /// mpmath.quad at 40 digits of exp(u − u(anchor)).
    #[test]
    fn agrees_with_quadrature_in_forty_digits() {
        for (linear, precision, lower, upper, log_z, mean, square) in REFERENCE {
            let mass = integrate(Quadratic { linear, precision }, lower, upper).unwrap();
            let a = mass.anchor;
            let got = [
                a * (linear - 0.5 * precision * a) + mass.log_integral,
                a + mass.first,
                a * a + 2.0 * a * mass.first + mass.second,
            ];
            for (got, want) in got.iter().zip([log_z, mean, square]) {
                assert!(
                    (got - want).abs() <= 4e-15 * want.abs().max(1.0),
                    "{linear} {precision}: {got} {want}"
                );
            }
        }
    }

    #[test]
    fn a_mass_that_is_infinite_is_none() {
        let infinite = f64::INFINITY;
        for (linear, precision) in [(1.0, 0.0), (0.0, 0.0), (-1.0, -1e-3), (f64::NAN, 1.0)] {
            assert!(integrate(Quadratic { linear, precision }, 0.0, infinite).is_none());
        }
    }

    type Row = (f64, f64, f64, f64, f64, f64, f64);
    const INF: f64 = f64::INFINITY;
    const REFERENCE: [Row; 17] = [
        (0.0, 1.0, 0.0, INF, 0.22579135264472743, 0.79788456080286536, 1.0),
        (0.0, 1.0, -1.0, 2.0, 0.71877223888021016, 0.22963717909132897, 0.57249577323255703),
        (-100.0, 0.01, 0.0, INF, -4.6051711859855914, 0.0099999800000999993, 0.00019999900000739993),
        (-3000.0, 1.0, 0.0, INF, -8.006367678761327, 0.00033333325925930041, 2.2222209876553361e-7),
        (5.0, 1.0, 40.0, 41.0, -603.55616272871784, 40.028524970596687, 1602.2836236768509),
        (5.0, 1.0, 40.0, INF, -603.55616272871784, 40.028524970596688, 1602.283623676851),
        (2.0, 1.0, 1.0, 1.000001, -12.315510058046666, 1.0000005000000833, 1.0000010000004999),
        (1.0, 0.0, 0.0, 3.0, 2.9489308190572984, 2.1571870894737679, 5.1571870894737679),
        (-2.0, 0.0, 0.0, INF, -std::f64::consts::LN_2, 0.5, 0.5),
        (0.0, 0.0, -2.0, 1.0, 1.0986122886681097, -0.5, 1.0),
        (0.5, -1.0, -2.0, 2.0, 2.4952703893651737, 0.93234957127448091, 2.2952762708692252),
        (0.0, -3.0, -10.0, 10.0, 147.29531137804318, 3.0686919373232264e-47, 99.331073130267463),
        (300.0, -2.0, -1.0, 4.0, 1210.269921300951, 3.9967531098374282, 15.974045963735488),
        (-7.0, -4.0, -20.0, 1.0, 935.53462105277417, -19.988493566131145, 399.54000758189339),
        (0.001, 1e-08, -5.0, 5.0, 2.3025892179904353, 0.0083333191667010616, 8.3333608332665379),
        (3.0, 2.0, -INF, INF, 2.8223649429247001, 1.5, 2.75),
        (3.0, 2.0, -INF, -30.0, -994.14363799842846, -30.01585705903572, 900.95192618251802),
    ];
}
