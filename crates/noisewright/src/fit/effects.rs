//! Which settings of a fit have an effect beside which others: one without effect is refused, in every door alike.

use super::options::{Amount, DrawKind, FitOptions, NoiseChoice};
use crate::{Error, NoiseWords, Result, Target};

/// A setting of a fit that has an effect only beside some others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FitSetting {
    /// Noise points per data point.
    Nu,
    /// The number of noise points.
    NoisePoints,
    /// The largest share of a standard error that may come from the noise.
    NoiseShare,
    /// Most noise points.
    MaxNoise,
    /// A loss other than JS.
    Loss,
    /// How the noise is drawn.
    Draws,
    /// The ratio inside the loss.
    LossRatio,
    /// Whether the noise is fitted again to its own draws.
    RefitNoise,
    /// The error that a designed noise minimises.
    Target,
    /// Whether the fit is repeated with more noise.
    CheckRatio,
    /// Noise points of every row of a conditional model.
    Choices,
}

/// What noise the settings are given beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoiseKind {
    /// None: maximum likelihood.
    Exact,
    /// Points drawn elsewhere.
    Drawn,
    /// One that the method has no need of.
    Unneeded,
    /// One that is designed for a target.
    Designed,
    /// Any other.
    Plain,
}

impl NoiseKind {
    /// The kind of a noise in words, `exact` and `optimal` among them; words that are no noise are of no special kind.
    ///
    /// ```
    /// use noisewright::internal::fit::NoiseKind;
    /// assert_eq!(NoiseKind::of_words("0.9*optimal + 0.1*auto"), NoiseKind::Designed);
    /// assert_eq!(NoiseKind::of_words("normal(0, 4)"), NoiseKind::Plain);
    /// ```
    #[must_use]
    pub fn of_words(words: &str) -> Self {
        if words.trim() == "exact" {
            return Self::Exact;
        }
        NoiseWords::parse(words).map_or(Self::Plain, |words| Self::of_noise(&words))
    }

    fn of_noise(words: &NoiseWords) -> Self {
        let designed = ["optimal", "all-noise", "histogram"].iter().any(|name| words.mentions(name));
        if designed { Self::Designed } else { Self::Plain }
    }

    fn of_choice(choice: &NoiseChoice) -> Self {
        match choice {
            NoiseChoice::Exact => Self::Exact,
            NoiseChoice::Draws(_) => Self::Drawn,
            NoiseChoice::Optimal => Self::Designed,
            NoiseChoice::Words(noise) => Self::of_noise(&noise.words),
            NoiseChoice::Auto | NoiseChoice::Given(_) | NoiseChoice::Conditional(_) => Self::Plain,
        }
    }
}

impl FitSetting {
    /// Every setting with its name.
    const NAMES: [(Self, &'static str); 11] = [
        (Self::Nu, "nu"),
        (Self::NoisePoints, "noise_points"),
        (Self::NoiseShare, "noise_share"),
        (Self::MaxNoise, "max_noise"),
        (Self::Loss, "loss"),
        (Self::Draws, "draws"),
        (Self::LossRatio, "loss_ratio"),
        (Self::RefitNoise, "refit_noise"),
        (Self::Target, "target"),
        (Self::CheckRatio, "check_ratio"),
        (Self::Choices, "choices"),
    ];

    /// The setting of this name, `nu` or `noise_points`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(setting, _)| *setting)
    }

    /// Its name: `nu`, `noise_points`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(setting, _)| *setting == self).map_or("", |(_, name)| name)
    }

    /// Why the setting has no effect beside a noise and the other settings; `None` where it has one.
    fn idle(self, noise: NoiseKind, given: &[Self]) -> Option<&'static str> {
        let amount = matches!(self, Self::Nu | Self::NoisePoints | Self::NoiseShare | Self::MaxNoise);
        let fixed = |other: Self| other != self && given.contains(&other);
        match (self, noise) {
            (_, NoiseKind::Exact) => Some(
                "has no meaning with the noise exact, which maximises the likelihood without noise: leave one of them out",
            ),
            (_, NoiseKind::Unneeded) => {
                Some("has no meaning with a method that needs no noise: leave one of them out")
            }
            (Self::CheckRatio | Self::RefitNoise, NoiseKind::Drawn) => Some(
                "has no meaning with noise that was drawn elsewhere, since no more can be drawn: leave it out",
            ),
            (Self::Draws, NoiseKind::Drawn) => {
                Some("has no meaning with noise that was drawn elsewhere: leave it out")
            }
            (Self::Choices, NoiseKind::Drawn) => Some(
                "has no meaning with noise that was drawn elsewhere, which is all there is: leave it out",
            ),
            (_, NoiseKind::Drawn) if amount => Some(
                "has no meaning with noise that was drawn elsewhere, which is all there is: leave it out",
            ),
            (Self::NoisePoints, _) if fixed(Self::Nu) => {
                Some("has no meaning beside nu, which says how much noise: leave one of them out")
            }
            (Self::Choices, _) if fixed(Self::Nu) || fixed(Self::NoisePoints) => {
                Some("has no meaning beside nu or noise_points: leave one of them out")
            }
            (Self::NoiseShare | Self::MaxNoise, _)
                if fixed(Self::Nu) || fixed(Self::NoisePoints) || fixed(Self::Choices) =>
            {
                Some("has no meaning with a fixed amount of noise: leave one of them out")
            }
            (Self::Target, NoiseKind::Plain | NoiseKind::Drawn) => {
                Some("has no meaning without a noise that is designed for it, such as optimal: leave it out")
            }
            _ => None,
        }
    }
}

/// Refuses the first of the settings that has no effect beside a noise and the other settings.
///
/// ```
/// use noisewright::internal::fit::{FitSetting, NoiseKind, check_effects};
/// assert!(check_effects(NoiseKind::Plain, &[FitSetting::Nu]).is_ok());
/// let refused = check_effects(NoiseKind::Exact, &[FitSetting::Nu]).unwrap_err();
/// assert!(refused.to_string().contains("has no meaning with the noise exact"));
/// ```
///
/// # Errors
/// [`Error::Option`] with the setting's name.
pub fn check_effects(noise: NoiseKind, given: &[FitSetting]) -> Result<()> {
    let idle = given.iter().find_map(|setting| Some((setting, setting.idle(noise, given)?)));
    idle.map_or(Ok(()), |(setting, reason)| Err(Error::option(setting.name(), reason)))
}

impl FitOptions {
    /// Refuses options that have no effect beside the noise.
    pub(super) fn check_effects(&self) -> Result<()> {
        let by_method = self.method.noise_kind();
        self.check_effects_beside(by_method.unwrap_or_else(|| NoiseKind::of_choice(&self.noise)))
    }

    /// Refuses options that have no effect beside a noise of this kind.
    pub(super) fn check_effects_beside(&self, noise: NoiseKind) -> Result<()> {
        let Amount::Auto { share, most_values } = Amount::auto() else { return Ok(()) };
        let given = [
            (FitSetting::Nu, matches!(self.amount, Amount::Ratio(_))),
            (FitSetting::NoisePoints, matches!(self.amount, Amount::Points(_))),
            (FitSetting::NoiseShare, matches!(self.amount, Amount::Auto { share: s, .. } if s != share)),
            (
                FitSetting::MaxNoise,
                matches!(self.amount, Amount::Auto { most_values: m, .. } if m != most_values),
            ),
            (FitSetting::Draws, self.draws != DrawKind::default()),
            (FitSetting::LossRatio, self.loss_ratio.is_some()),
            (FitSetting::RefitNoise, self.refit_noise),
            (FitSetting::Target, self.target != Target::Mse),
            (FitSetting::CheckRatio, self.check_ratio),
            (FitSetting::Choices, self.choices.is_some()),
        ];
        let given: Vec<FitSetting> = given.iter().filter(|(_, given)| *given).map(|(s, _)| *s).collect();
        check_effects(noise, &given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_around() {
        for (setting, name) in FitSetting::NAMES {
            assert_eq!((FitSetting::named(name), setting.name()), (Some(setting), name));
        }
    }

    /// The table of settings and noises: what has an effect alone, and beside a fixed amount of noise.
    #[test]
    fn every_setting_knows_where_it_has_an_effect() {
        let alone = |noise| {
            let idle = |setting: &FitSetting| check_effects(noise, &[*setting]).is_err();
            FitSetting::NAMES
                .iter()
                .map(|(setting, _)| setting)
                .filter(|s| idle(s))
                .map(|s| s.name())
                .collect::<Vec<_>>()
        };
        assert_eq!(alone(NoiseKind::Designed), [""; 0]);
        assert_eq!(alone(NoiseKind::Plain), ["target"]);
        assert_eq!(
            alone(NoiseKind::Drawn),
            [
                "nu",
                "noise_points",
                "noise_share",
                "max_noise",
                "draws",
                "refit_noise",
                "target",
                "check_ratio",
                "choices"
            ]
        );
        assert_eq!(alone(NoiseKind::Exact).len(), FitSetting::NAMES.len());
        for (first, second, idle) in [
            (FitSetting::Nu, FitSetting::NoisePoints, true),
            (FitSetting::NoiseShare, FitSetting::Nu, true),
            (FitSetting::MaxNoise, FitSetting::NoisePoints, true),
            (FitSetting::NoiseShare, FitSetting::MaxNoise, false),
            (FitSetting::Nu, FitSetting::CheckRatio, false),
        ] {
            assert_eq!(
                check_effects(NoiseKind::Plain, &[first, second]).is_err(),
                idle,
                "{first:?} {second:?}"
            );
            assert_eq!(
                check_effects(NoiseKind::Plain, &[second, first]).is_err(),
                idle,
                "{first:?} {second:?}"
            );
        }
    }
}
