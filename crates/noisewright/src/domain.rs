//! Where the variables live: one domain per variable, or a sphere for direction vectors.

use noisewright_numerics::kernels::{all_finite, in_vectors};

use crate::{Error, Result, View};

/// How far from one the length of a unit vector may be: files hold few digits.
const UNIT_LENGTH: f64 = 1e-4;

/// The set of values that one variable can take, with its base measure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Domain {
    /// The real line (Lebesgue measure).
    Real,
    /// `x > 0` (Lebesgue measure).
    Positive,
    /// `lo ≤ x ≤ hi` (Lebesgue measure).
    Interval(f64, f64),
    /// Angles in radians, modulo 2π (Lebesgue measure on one turn, −π to π).
    Circle,
    /// A finite set of values (counting measure).
    States(Vec<f64>),
    /// 0, 1, 2, … (counting measure).
    Counts,
}

impl Domain {
    /// The name of its kind, as model files have it; intervals and states have numbers beside it.
    ///
    /// ```
    /// use noisewright::Domain;
    /// assert_eq!(Domain::Interval(0.0, 1.0).name(), "interval");
    /// assert_eq!(Domain::Real.name(), "real");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Positive => "positive",
            Self::Interval(..) => "interval",
            Self::Circle => "circle",
            Self::States(_) => "states",
            Self::Counts => "counts",
        }
    }
}

impl std::str::FromStr for Domain {
    type Err = Error;

    /// From its name in a model file: `real`, `positive`, `circle`, `counts`, or `[lo, hi]`.
    ///
    /// ```
    /// use noisewright::Domain;
    /// assert_eq!("positive".parse::<Domain>()?, Domain::Positive);
    /// assert_eq!("[-1, 1]".parse::<Domain>()?, Domain::Interval(-1.0, 1.0));
    /// assert!("complex".parse::<Domain>().is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let interval = || {
            let (lo, hi) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
            Some(Self::Interval(lo.trim().parse().ok()?, hi.trim().parse().ok()?))
        };
        match text {
            "real" => Ok(Self::Real),
            "positive" => Ok(Self::Positive),
            "circle" => Ok(Self::Circle),
            "counts" => Ok(Self::Counts),
            other => interval().ok_or_else(|| {
                Error::field(
                    "domain",
                    format!("must be real, positive, circle, counts or [lo, hi], not `{other}`"),
                )
            }),
        }
    }
}

impl Domain {
    /// Whether the base measure counts points rather than measuring length.
    #[must_use]
    pub fn is_discrete(&self) -> bool {
        matches!(self, Self::States(_) | Self::Counts)
    }

    /// Whether `x` belongs to the domain.
    ///
    /// ```
    /// use noisewright::Domain;
    /// assert!(Domain::Positive.contains(0.5) && !Domain::Positive.contains(0.0));
    /// assert!(Domain::Counts.contains(3.0) && !Domain::Counts.contains(3.5));
    /// ```
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        match self {
            Self::Real | Self::Circle => x.is_finite(),
            Self::Positive => x > 0.0 && x.is_finite(),
            Self::Interval(lo, hi) => x >= *lo && x <= *hi,
            Self::States(states) => states.contains(&x),
            Self::Counts => x >= 0.0 && x.fract() == 0.0 && x.is_finite(),
        }
    }

    /// Whether all of these belong to the domain.
    pub(crate) fn contains_all(&self, values: &[f64]) -> bool {
        match self {
            Self::Real | Self::Circle => all_finite(values),
            // Without an early end, so that several are looked at in one instruction.
            Self::Interval(lo, hi) => {
                in_vectors(|| values.iter().fold(true, |all, x| all & (*x >= *lo) & (*x <= *hi)))
            }
            _ => values.iter().all(|x| self.contains(*x)),
        }
    }

    /// Lower and upper end of the values (−π and π for the circle).
    ///
    /// ```
    /// use noisewright::Domain;
    /// assert_eq!(Domain::Positive.bounds(), (0.0, f64::INFINITY));
    /// assert_eq!(Domain::States(vec![1.0, -1.0]).bounds(), (-1.0, 1.0));
    /// ```
    #[must_use]
    pub fn bounds(&self) -> (f64, f64) {
        match self {
            Self::Real => (f64::NEG_INFINITY, f64::INFINITY),
            Self::Positive | Self::Counts => (0.0, f64::INFINITY),
            Self::Interval(lo, hi) => (*lo, *hi),
            Self::Circle => (-std::f64::consts::PI, std::f64::consts::PI),
            Self::States(states) => (
                states.iter().copied().fold(f64::INFINITY, f64::min),
                states.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ),
        }
    }
}

/// What a value of the domain is, to end a sentence.
impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Real | Self::Circle => f.write_str("a finite number"),
            Self::Positive => f.write_str("a positive number"),
            Self::Interval(lo, hi) => write!(f, "a number between {lo} and {hi}"),
            Self::States(_) => f.write_str("one of its states"),
            Self::Counts => f.write_str("a count 0, 1, 2, …"),
        }
    }
}

/// The space of the points: the variables with their domains, or the unit sphere of all of them together.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    names: Vec<String>,
    domains: Vec<Domain>,
    sphere: bool,
}

impl Space {
    /// A product of one domain per variable.
    ///
    /// ```
    /// use noisewright::{Domain, Space};
    /// let space = Space::product(&[("angle", Domain::Circle), ("length", Domain::Positive)])?;
    /// assert_eq!(space.names(), ["angle", "length"]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no variable, two have the same name, or an interval or set of states is empty.
    pub fn product<S: AsRef<str>>(variables: &[(S, Domain)]) -> Result<Self> {
        let names: Vec<String> = variables.iter().map(|(n, _)| n.as_ref().to_owned()).collect();
        check_names(&names)?;
        for (name, domain) in variables {
            let name = name.as_ref().to_owned();
            match domain {
                Domain::Interval(lo, hi) if !(lo < hi && lo.is_finite() && hi.is_finite()) => {
                    return Err(Error::Domain {
                        variable: name,
                        reason: format!("[{lo}, {hi}] is not an interval"),
                    });
                }
                Domain::States(s) if s.is_empty() || s.iter().any(|v| !v.is_finite()) => {
                    return Err(Error::Domain {
                        variable: name,
                        reason: "states must be finite numbers, at least one".into(),
                    });
                }
                Domain::States(s) if s.iter().enumerate().any(|(i, v)| s[..i].contains(v)) => {
                    return Err(Error::Domain { variable: name, reason: "a state is listed twice".into() });
                }
                _ => {}
            }
        }
        Ok(Self { names, domains: variables.iter().map(|(_, d)| d.clone()).collect(), sphere: false })
    }

    /// Every variable on the real line.
    ///
    /// ```
    /// use noisewright::Space;
    /// assert_eq!(Space::real(&["x", "y"])?.dimension(), 2);
    /// assert!(Space::real(&["x", "x"]).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no variable or two have the same name.
    pub fn real<S: AsRef<str>>(variables: &[S]) -> Result<Self> {
        Self::product(&variables.iter().map(|v| (v.as_ref(), Domain::Real)).collect::<Vec<_>>())
    }

    /// Unit vectors whose coordinates are the variables (surface measure); at least two variables.
    ///
    /// ```
    /// use noisewright::{Points, Space};
    /// let sphere = Space::sphere(&["x", "y", "z"])?;
    /// assert!(sphere.check_points(Points::unnamed(3, 1, vec![0.6, 0.0, 0.8]).view()).is_ok());
    /// assert!(sphere.check_points(Points::unnamed(3, 1, vec![0.6, 0.6, 0.8]).view()).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are fewer than two variables or two have the same name.
    pub fn sphere<S: AsRef<str>>(variables: &[S]) -> Result<Self> {
        let names: Vec<String> = variables.iter().map(|n| n.as_ref().to_owned()).collect();
        check_names(&names)?;
        if names.len() < 2 {
            return Err(Error::Domain {
                variable: names[0].clone(),
                reason: "a sphere needs at least two variables".into(),
            });
        }
        Ok(Self { domains: vec![Domain::Interval(-1.0, 1.0); names.len()], names, sphere: true })
    }

    /// Number of variables.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.names.len()
    }

    /// Names of the variables, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Domains of the variables, in order (the coordinates' ranges on a sphere).
    #[must_use]
    pub fn domains(&self) -> &[Domain] {
        &self.domains
    }

    /// Whether no variable goes to infinity.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let bounded = |domain: &Domain| domain.bounds().0.is_finite() && domain.bounds().1.is_finite();
        self.sphere || self.domains.iter().all(bounded)
    }

    /// Whether the points are unit vectors.
    #[must_use]
    pub fn is_sphere(&self) -> bool {
        self.sphere
    }

    /// Refuses the first row with a value outside its domain, or on a sphere with a length other than one.
    ///
    /// ```
    /// use noisewright::{Domain, Points, Space};
    /// let space = Space::product(&[("x", Domain::Positive)])?;
    /// assert!(space.check_points(Points::unnamed(1, 2, vec![1.0, 2.0]).view()).is_ok());
    /// let error = space.check_points(Points::unnamed(1, 2, vec![1.0, -2.0]).view()).unwrap_err();
    /// assert!(error.to_string().contains("row 2"));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] or [`Error::NotUnit`] with the row, or a wrong number of columns.
    pub fn check_points(&self, points: View<'_>) -> Result<()> {
        let (expected, found) = (self.dimension(), points.columns());
        if expected != found {
            return Err(Error::Shape { what: "columns of data", expected, found });
        }
        self.check_rows(points, None, 0)
    }

    /// The same for the rows that count; `before` rows came before these.
    pub(crate) fn check_rows(&self, points: View<'_>, weights: Option<&[f64]>, before: usize) -> Result<()> {
        let counts = |row: usize| weights.is_none_or(|w| w[row] > 0.0);
        for (j, (name, domain)) in self.names.iter().zip(&self.domains).enumerate() {
            // Rounding may carry a coordinate of a unit vector past 1.
            let allowed = |x: f64| if self.sphere { x.is_finite() } else { domain.contains(x) };
            let column = points.column(j);
            if !self.sphere && domain.contains_all(column) {
                continue;
            }
            if let Some(row) = column.iter().enumerate().position(|(row, x)| !allowed(*x) && counts(row)) {
                let (column, value, domain) = (name.clone(), column[row], domain.to_string());
                return Err(Error::OutsideDomain { row: before + row + 1, column, value, domain });
            }
        }
        if !self.sphere {
            return Ok(());
        }
        let length =
            |row: usize| (0..points.columns()).map(|j| points.get(row, j).powi(2)).sum::<f64>().sqrt();
        match (0..points.rows()).find(|row| (length(*row) - 1.0).abs() > UNIT_LENGTH && counts(*row)) {
            Some(row) => Err(Error::NotUnit { row: before + row + 1, length: length(row) }),
            None => Ok(()),
        }
    }

    /// Number of states when every variable has finitely many, `None` otherwise (or beyond 2⁵³).
    ///
    /// ```
    /// use noisewright::{Domain, Space};
    /// let spins: Vec<_> = (0..10).map(|i| (format!("s{i}"), Domain::States(vec![-1.0, 1.0]))).collect();
    /// assert_eq!(Space::product(&spins)?.state_count(), Some(1024));
    /// assert_eq!(Space::real(&["x"])?.state_count(), None);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn state_count(&self) -> Option<u64> {
        self.domains.iter().try_fold(1u64, |count, domain| match domain {
            Domain::States(states) => count.checked_mul(states.len() as u64).filter(|c| *c <= 1 << 53),
            _ => None,
        })
    }
}

fn check_names(names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Err(Error::NoVariables);
    }
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            return Err(Error::DuplicateName { name: name.clone() });
        }
    }
    Ok(())
}
