//! Figure 6: the best noise without a family, for unnormalized models.

use noisewright::Result;

use crate::densities::Densities;
use crate::{Item, Settings};

const CAPTION: &str = "As figure 2, but with the normalizing constant estimated too. The best noise now has weight everywhere near the \
    data, since every point tells something about the constant; the problem is convex, so that the optimum is global and \
    symmetric, and certified.";

pub(crate) fn run(settings: Settings) -> Result<Item> {
    let densities = Densities::compute(false, settings)?;
    Ok(Item::new("fig6", "Figure 6: the best noise of all, unnormalized models", CAPTION)
        .figure(densities.figure())
        .table(densities.table())
        .note(
            "The paper's all-data limit is derived for a single parameter; with the constant there are two, so that no \
             such limit is drawn.",
        )
        .values(densities.values()))
}
