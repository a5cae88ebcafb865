//! Designs as they are serialized.

use serde::{Serialize, Serializer};

use super::{Answer, Curve, Design, EfficiencyAnswer, Kind, Member, MixtureDesign, QuietAnswer};

/// The fields of a design.
#[derive(Serialize)]
struct DesignFields<'a> {
    error: f64,
    nu: f64,
    noise_proportion: f64,
    error_noise_equals_data: f64,
    error_conventional: f64,
    gap: Option<f64>,
    stationary_points: Option<usize>,
    noise: &'a Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Option<&'a [f64]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quiet: Option<Option<&'a QuietAnswer>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    efficiency: Option<Option<&'a EfficiencyAnswer>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<&'a Curve>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remarks: Option<Vec<String>>,
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DesignFields {
            error: self.error,
            nu: self.nu,
            noise_proportion: self.nu / (1.0 + self.nu),
            error_noise_equals_data: self.noise_equals_data,
            error_conventional: self.conventional,
            gap: self.gap,
            stationary_points: self.stationary_points,
            noise: &self.kind,
            weights: Some(if let Kind::Mixture(best) = &self.kind { Some(&best.weights) } else { None }),
            quiet: Some(self.quiet.as_ref()),
            efficiency: Some(self.enough.as_ref()),
            curve: Some(&self.curve),
            remarks: Some(self.remarks()),
        }
        .serialize(serializer)
    }
}

impl Serialize for Design {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let noise =
            Kind::Optimal { noise: Box::new(self.noise.clone()), multiplier: self.optimum.multiplier };
        DesignFields {
            error: self.error,
            nu: self.nu,
            noise_proportion: self.nu / (1.0 + self.nu),
            error_noise_equals_data: self.noise_equals_data,
            error_conventional: self.conventional,
            gap: self.gap(),
            stationary_points: Some(self.optimum.stationary_points),
            noise: &noise,
            weights: None,
            quiet: None,
            efficiency: None,
            curve: None,
            remarks: None,
        }
        .serialize(serializer)
    }
}

/// A member of a family.
#[derive(Serialize)]
struct MemberFields<'a> {
    words: String,
    values: &'a [f64],
    nu: f64,
    noise_proportion: f64,
    error: f64,
    at_edge: bool,
}

impl Serialize for Member {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MemberFields {
            words: self.words.to_string(),
            values: &self.values,
            nu: self.nu,
            noise_proportion: self.nu / (1.0 + self.nu),
            error: self.error,
            at_edge: self.at_edge,
        }
        .serialize(serializer)
    }
}

/// The fields of a mixture.
#[derive(Serialize)]
struct MixtureFields<'a> {
    error: f64,
    nu: f64,
    noise_proportion: f64,
    gap: Option<f64>,
    stationary_points: usize,
    noise: String,
    weights: &'a [f64],
    components: Vec<String>,
    exact_error: f64,
    excess: f64,
}

impl Serialize for MixtureDesign {
    /// As the command has it, with `gap` where it is a certificate.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MixtureFields {
            error: self.error,
            nu: self.nu,
            noise_proportion: self.nu / (1.0 + self.nu),
            gap: self.convex.then_some(self.gap),
            stationary_points: self.stationary_points,
            noise: self.noise.describe(),
            weights: &self.weights,
            components: self.components.iter().map(|component| component.describe()).collect(),
            exact_error: self.exact_error,
            excess: self.excess(),
        }
        .serialize(serializer)
    }
}

/// What a kind of design has to say of its noise.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
enum KindFields<'a> {
    Optimal { multiplier: f64 },
    Family { words: String, values: &'a [f64], minima: &'a [Member] },
    Mixture { words: String, weights: &'a [f64], components: Vec<String>, exact_error: f64, excess: f64 },
    Histogram { edges: &'a [f64], probabilities: &'a [f64] },
    Fixed { words: &'a str },
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Optimal { multiplier, .. } => KindFields::Optimal { multiplier: *multiplier },
            Self::Family(minima) => {
                KindFields::Family { words: minima[0].words.to_string(), values: &minima[0].values, minima }
            }
            Self::Mixture(best) => KindFields::Mixture {
                words: best.noise.describe(),
                weights: &best.weights,
                components: best.components.iter().map(|component| component.describe()).collect(),
                exact_error: best.exact_error,
                excess: best.excess(),
            },
            Self::Histogram { edges, probabilities, .. } => KindFields::Histogram { edges, probabilities },
            Self::Fixed { words } => KindFields::Fixed { words },
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct EfficiencyCurve {
    nu: Vec<f64>,
    efficiency: Vec<f64>,
}

#[derive(Serialize)]
struct EfficiencyFields {
    asked: f64,
    nu: f64,
    curve: EfficiencyCurve,
}

impl Serialize for EfficiencyAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (nu, efficiency) = self.curve.iter().copied().unzip();
        EfficiencyFields { asked: self.asked, nu: self.nu, curve: EfficiencyCurve { nu, efficiency } }
            .serialize(serializer)
    }
}
