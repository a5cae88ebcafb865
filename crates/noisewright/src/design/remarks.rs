//! What a design has to say for itself, in sentences.

use noisewright_report::{format_number, format_percent};

use super::question::{Answer, Kind};
use super::{Member, MixtureDesign};
use crate::Method;

/// Independent noise points below which there is nothing to be saved by quiet ones.
const FEW_POINTS: f64 = 64.0;

impl Answer {
    /// Sentences about how good the design is among its kind: certificates, other minima, ends of ranges.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = match &self.kind {
            Kind::Optimal { .. } => vec![self.of_optimum()],
            Kind::Family(minima) => of_family(minima),
            Kind::Mixture(best) => of_mixture(best),
            Kind::Histogram { .. } => vec![self.of_histogram()],
            Kind::Fixed { .. } => Vec::new(),
        };
        remarks.extend(self.of_quiet_draws());
        if self.nu_at_end {
            let end = "The noise ratio is at the end of the range that was searched, e⁻³⁰ to e³⁰: the true best may lie beyond.";
            remarks.push(end.into());
        }
        remarks
    }

    /// What quiet draws would need, where they could be made.
    fn of_quiet_draws(&self) -> Option<String> {
        let quiet = self.quiet.as_ref().filter(|quiet| quiet.independent_points >= FEW_POINTS)?;
        let independent = format_number(quiet.independent_points.round(), 6);
        let rows = format_number(quiet.rows, 6);
        Some(match quiet.points {
            Some(points) => format!(
                "Beside {rows} rows, {} quiet draws of this noise have no larger an error than {independent} \
                 independent ones.",
                format_number(points as f64, 6)
            ),
            None => format!(
                "Beside {rows} rows, quiet draws of this noise would need more than half of the {independent} independent ones."
            ),
        })
    }

    fn of_optimum(&self) -> String {
        if self.error == 0.0 {
            return "The data's own distribution is the optimal noise, at any proportion: it leaves no error of the first \
                    order in what was asked for."
                .into();
        }
        if self.population.accuracy().method == Method::Sample {
            return format!(
                "The best of the noises that integrate to one over these {} points. A noise whose density integrates to one \
                 everywhere is not measured in quite the same way and may come out lower by the data's own error: on data \
                 there is no certificate.",
                self.population.points().rows()
            );
        }
        match (self.gap, self.stationary_points) {
            (Some(gap), _) => format!(
                "Certified: no noise at this proportion can be better by more than {gap:.1e} of the error (the problem is \
                 convex)."
            ),
            (None, Some(count)) if count > 1 => format!(
                "The best of {count} stationary points (a normalized model is not a convex problem and has no certificate)."
            ),
            _ => "All starts led to this one stationary point (a normalized model is not a convex problem and has no \
                 certificate)."
                .into(),
        }
    }

    fn of_histogram(&self) -> String {
        match (self.gap, self.stationary_points) {
            (Some(gap), _) => format!(
                "Certified: no histogram with these bins can be better by more than {gap:.1e} of the error."
            ),
            (None, count) => format!("The best of {} stationary points.", count.unwrap_or(1)),
        }
    }
}

fn of_family(minima: &[Member]) -> Vec<String> {
    let mut remarks = vec![match minima.len() {
        1 => "The family has no other local minimum.".to_owned(),
        count => format!("The best of {count} local minima of the family."),
    }];
    remarks.extend(minima.iter().skip(1).map(|other| {
        let share = format_percent(other.nu / (1.0 + other.nu), 4);
        format!(
            "Another: {} at {share} noise, error {}.",
            other.words.rounded(6),
            format_number(other.error, 6)
        )
    }));
    if minima[0].at_edge {
        let edge = "A free value is at the end of the range that was searched: the true best may lie beyond.";
        remarks.push(edge.into());
    }
    remarks
}

fn of_mixture(best: &MixtureDesign) -> Vec<String> {
    let used = best.weights.iter().filter(|weight| **weight > 0.0).count();
    let excess = match best.excess() {
        excess if excess.is_finite() => {
            format!("{} above the exact optimum's", format_percent(excess.max(0.0), 3))
        }
        _ => "above that of the model itself, which would leave none".into(),
    };
    let mut remarks = vec![format!("A mixture of {used} components; its error is {excess}.")];
    if best.convex {
        remarks.push(format!(
            "Certified: no other weights of the same dictionary can be better by more than {:.1e} of the error.",
            best.gap
        ));
    }
    remarks
}
