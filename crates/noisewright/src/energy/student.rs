//! Student's t with location and scale, `−(ν+1)/2 · ln(1 + z²/ν)`, `z = (x − location)/scale`.

use noisewright_numerics::special::{digamma, ln_beta};

use super::family::{Dof, Entry, FamilyInfo, Parts, Request};
use crate::{Domain, Energy, Error, Parameter, Result, View};

/// `u(x) = −(ν+1)/2 · ln(1 + z²/ν)` with `z = (x − location)/scale`; parameters `location`, `scale`, and
/// `dof` (ν) unless it is fixed.
///
/// # Formula
/// `log Z = ln scale + ½ ln ν + ln B(ν/2, ½)`.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::Student;
/// // One degree of freedom is the Cauchy density, 1/(π·scale) at its centre.
/// let mut gradient = [0.0; 2];
/// let log_z = Student::fixed(1.0).unwrap().log_normalizer(&[0.0, 2.0], &mut gradient).unwrap();
/// assert!((log_z - (2.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Student {
    dof: Option<f64>,
}

impl Student {
    /// The degrees of freedom are this number.
    ///
    /// # Errors
    /// When the number is not positive and finite.
    pub fn fixed(dof: f64) -> Result<Self> {
        if dof > 0.0 && dof.is_finite() {
            Ok(Self { dof: Some(dof) })
        } else {
            Err(Error::field("dof", format!("= {dof} must be a positive number")))
        }
    }

    /// The degrees of freedom are the third parameter, `dof`.
    #[must_use]
    pub fn free() -> Self {
        Self { dof: None }
    }

    /// `(location, scale, ν)`, checked.
    fn unpack(&self, parameters: &[f64]) -> Result<(f64, f64, f64)> {
        let dof = self.dof.unwrap_or_else(|| parameters[2]);
        for (name, value) in [("scale", parameters[1]), ("dof", dof)] {
            if !(value > 0.0 && value.is_finite()) {
                let reason = "it must be positive".into();
                return Err(Error::Parameter { parameter: name.into(), value, reason });
            }
        }
        Ok((parameters[0], parameters[1], dof))
    }
}

/// `ln(1 + r²)`, also where r² overflows.
fn ln_1p_square(r: f64) -> f64 {
    if r.abs() < 1e100 { (r * r).ln_1p() } else { 2.0 * r.abs().ln() }
}

/// `ψ(x + ½) − ψ(x)`; by the derivative of DLMF 5.11.13's series where the two would cancel.
fn digamma_half_step(x: f64) -> f64 {
    if x < 40.0 {
        return digamma(x + 0.5) - digamma(x);
    }
    let t = 1.0 / (x * x);
    0.5 / x + t * (1.0 / 8.0 + t * (-1.0 / 64.0 + t * (1.0 / 128.0 - t * (17.0 / 2048.0))))
}

impl Energy for Student {
    fn parameters(&self) -> Vec<String> {
        let mut names = vec!["location".into(), "scale".into()];
        if self.dof.is_none() {
            names.push("dof".into());
        }
        names
    }

    fn dimension(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let (location, scale, dof) = self.unpack(parameters)?;
        let x = points.column(0);
        let (rows, unit) = (x.len(), scale * dof.sqrt());
        for (v, x) in value.iter_mut().zip(x) {
            *v = -0.5 * (dof + 1.0) * ln_1p_square((x - location) / unit);
        }
        let Some(score) = score else { return Ok(()) };
        for (i, x) in x.iter().enumerate() {
            let r = (x - location) / unit;
            let share = 1.0 / (1.0 + 1.0 / (r * r)); // r²/(1+r²), 0 at r = 0
            score[i] = (dof + 1.0) * r / (1.0 + r * r) / unit;
            score[rows + i] = (dof + 1.0) * share / scale;
            if self.dof.is_none() {
                // −½ ln(1+r²) is the value over ν+1.
                score[2 * rows + i] = 0.5 * (dof + 1.0) / dof * share + value[i] / (dof + 1.0);
            }
        }
        Ok(())
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let (_, scale, dof) = self.unpack(parameters).ok()?;
        gradient[0] = 0.0;
        gradient[1] = 1.0 / scale;
        if self.dof.is_none() {
            gradient[2] = 0.5 * (1.0 / dof - digamma_half_step(0.5 * dof));
        }
        Some(scale.ln() + 0.5 * dof.ln() + ln_beta(0.5 * dof, 0.5))
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let (location, scale, dof) = self.unpack(parameters)?;
        let size = parameters.len();
        for (weight, x) in weights.iter().zip(points.column(0)) {
            // Far out the derivatives have reached their limits; the clamp keeps z² finite.
            let z = ((x - location) / scale).clamp(-1e150, 1e150);
            let hessian = hessian(z, scale, dof);
            for column in 0..size {
                for row in 0..size {
                    out[column * size + row] += weight * hessian[column][row];
                }
            }
        }
        Ok(true)
    }
}

/// Second derivatives in (location, scale, ν) at the standardised point z.
fn hessian(z: f64, scale: f64, dof: f64) -> [[f64; 3]; 3] {
    let d = dof + z * z;
    let first = -(dof + 1.0) * z / d; // du/dz
    let second = -(dof + 1.0) * ((dof - z * z) / d) / d; // d²u/dz²
    let mixed = z / d * ((1.0 - z * z) / d); // d²u/dz dν
    let share = z * z / d;
    let location_scale = (first + z * second) / (scale * scale);
    let dof_dof = share / dof - 0.5 * share * (dof + 1.0) / dof * ((d + dof) / d) / dof;
    [
        [second / (scale * scale), location_scale, -mixed / scale],
        [location_scale, z * (2.0 * first + z * second) / (scale * scale), -z * mixed / scale],
        [-mixed / scale, -z * mixed / scale, dof_dof],
    ]
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "student",
        description: "Student's t with location and scale, degrees of freedom fixed or free",
        domain: "real",
        options: &["dof"],
        parameters: "location, scale, and dof with dof = \"free\" (default: dof = 5, fixed)",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let space = request.one_variable(&Domain::Real)?;
    let positive = |name, start| Parameter { lower: 0.0, ..Parameter::new(name, start) };
    let mut parameters = vec![Parameter::new("location", 0.0), positive("scale", 1.0)];
    let energy = match request.options.dof {
        None => Student::fixed(5.0)?,
        Some(Dof::Fixed(dof)) => Student::fixed(dof)?,
        Some(Dof::Free) => {
            parameters.push(positive("dof", 5.0));
            Student::free()
        }
    };
    Ok(Parts::new(energy, space, parameters))
}

#[cfg(test)]
#[allow(clippy::excessive_precision)]
mod tests {
    use super::*;

    /// mpmath, 50 digits: psi(x + 1/2) − psi(x).
    #[test]
    fn the_half_step_of_digamma_does_not_cancel() {
        for (x, want) in HALF_STEPS {
            let got = digamma_half_step(x);
            assert!((got - want).abs() <= 1e-13 * want, "{x}: {got}");
        }
    }

    const HALF_STEPS: [(f64, f64); 5] = [
        (0.5, 1.3862943611198906),
        (3.25, 0.16554647754361719),
        (39.9, 0.012609839252544626),
        (40.0, 0.012578118898390458),
        (1000000.0, 5.00000125e-7),
    ];
}
