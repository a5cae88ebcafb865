//! Gauss–Kronrod pairs on [−1, 1]: the 15- and 21-point rules of QUADPACK.

/// A Gauss–Kronrod pair: the nodes, the Kronrod weights, and the weights of the Gauss rule on every other node.
#[derive(Debug)]
pub(super) struct Pair {
    /// Nodes in increasing order.
    pub(super) nodes: &'static [f64],
    /// Kronrod weights.
    pub(super) kronrod: &'static [f64],
    /// Gauss weights, zero at the nodes that the Gauss rule does not use.
    pub(super) gauss: &'static [f64],
}

/// Nodes and weights of the 15-point Kronrod rule between two ends, for integrands that are smooth there.
///
/// ```
/// let nodes = noisewright_numerics::quadrature::panel(0.0, 2.0);
/// let integral: f64 = nodes.map(|(x, weight)| weight * x.exp()).sum();
/// assert!((integral - 2_f64.exp_m1()).abs() < 1e-14);
/// ```
pub fn panel(lower: f64, upper: f64) -> impl Iterator<Item = (f64, f64)> {
    let (middle, half) = (0.5 * (lower + upper), 0.5 * (upper - lower));
    FIFTEEN.nodes.iter().zip(FIFTEEN.kronrod).map(move |(x, w)| (middle + half * x, half * w))
}

/// The 15-point pair.
pub(super) const FIFTEEN: Pair = Pair {
    nodes: &[
        -0.9914553711208126,
        -0.9491079123427585,
        -0.8648644233597691,
        -0.7415311855993945,
        -0.5860872354676911,
        -0.4058451513773972,
        -0.20778495500789848,
        0.0,
        0.20778495500789848,
        0.4058451513773972,
        0.5860872354676911,
        0.7415311855993945,
        0.8648644233597691,
        0.9491079123427585,
        0.9914553711208126,
    ],
    kronrod: &[
        0.022935322010529224,
        0.06309209262997856,
        0.10479001032225019,
        0.14065325971552592,
        0.1690047266392679,
        0.19035057806478542,
        0.20443294007529889,
        0.20948214108472782,
        0.20443294007529889,
        0.19035057806478542,
        0.1690047266392679,
        0.14065325971552592,
        0.10479001032225019,
        0.06309209262997856,
        0.022935322010529224,
    ],
    gauss: &[
        0.0,
        0.1294849661688697,
        0.0,
        0.27970539148927664,
        0.0,
        0.3818300505051189,
        0.0,
        0.4179591836734694,
        0.0,
        0.3818300505051189,
        0.0,
        0.27970539148927664,
        0.0,
        0.1294849661688697,
        0.0,
    ],
};

/// The 21-point pair.
pub(super) const TWENTY_ONE: Pair = Pair {
    nodes: &[
        -0.9956571630258081,
        -0.9739065285171717,
        -0.9301574913557082,
        -0.8650633666889845,
        -0.7808177265864169,
        -0.6794095682990244,
        -0.5627571346686047,
        -0.4333953941292472,
        -0.2943928627014602,
        -0.14887433898163122,
        0.0,
        0.14887433898163122,
        0.2943928627014602,
        0.4333953941292472,
        0.5627571346686047,
        0.6794095682990244,
        0.7808177265864169,
        0.8650633666889845,
        0.9301574913557082,
        0.9739065285171717,
        0.9956571630258081,
    ],
    kronrod: &[
        0.011694638867371874,
        0.032558162307964725,
        0.054755896574351995,
        0.07503967481091996,
        0.0931254545836976,
        0.10938715880229764,
        0.12349197626206584,
        0.13470921731147334,
        0.14277593857706009,
        0.14773910490133849,
        0.1494455540029169,
        0.14773910490133849,
        0.14277593857706009,
        0.13470921731147334,
        0.12349197626206584,
        0.10938715880229764,
        0.0931254545836976,
        0.07503967481091996,
        0.054755896574351995,
        0.032558162307964725,
        0.011694638867371874,
    ],
    gauss: &[
        0.0,
        0.06667134430868814,
        0.0,
        0.1494513491505806,
        0.0,
        0.21908636251598204,
        0.0,
        0.26926671930999635,
        0.0,
        0.29552422471475287,
        0.0,
        0.29552422471475287,
        0.0,
        0.26926671930999635,
        0.0,
        0.21908636251598204,
        0.0,
        0.1494513491505806,
        0.0,
        0.06667134430868814,
        0.0,
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rules_integrate_the_powers_they_should() {
        for (pair, gauss_degree, kronrod_degree) in [(&FIFTEEN, 13, 22), (&TWENTY_ONE, 19, 31)] {
            for degree in 0..=kronrod_degree {
                let exact = if degree % 2 == 0 { 2.0 / f64::from(degree + 1) } else { 0.0 };
                let sum = |weights: &[f64]| -> f64 {
                    pair.nodes.iter().zip(weights).map(|(x, w)| w * x.powi(degree)).sum()
                };
                assert!((sum(pair.kronrod) - exact).abs() < 1e-15, "degree {degree}");
                if degree <= gauss_degree {
                    assert!((sum(pair.gauss) - exact).abs() < 1e-15, "degree {degree}");
                }
            }
        }
    }
}
