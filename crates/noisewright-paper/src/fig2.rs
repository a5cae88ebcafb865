//! Figure 2: the best noise without a family, for normalized models.

use noisewright::Result;

use crate::densities::Densities;
use crate::{Item, Settings};

const CAPTION: &str = "Bars: the best histogram noise, as in the paper but with the density of a bin where the authors' code has \
    its mass. Green: the optimal noise itself, which the paper calls intractable. At 10 % noise the mass gathers around the points \
    of the all-data limit (vertical lines: ±√2 for the mean, ±√5 for the variance), at 90 % it is close to the \
    all-noise limit. Everywhere the best noise leaves a hole where the score vanishes. For the mean the exact \
    optimum is one-sided up to 50 % noise, and one of two mirror images is drawn; at 50 % bins of width ½ are too wide for it, and the \
    best histogram is the two-sided one.";

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let densities = Densities::compute(true, settings)?;
    Ok(Item::new("fig2", "Figure 2: the best noise of all, normalized models", CAPTION)
        .figure(densities.figure())
        .table(densities.table())
        .values(densities.values()))
}
