//! Every figure and table of the paper on optimal noise, recomputed, with what the paper does not have: the exact
//! optimum beside each numerical one, and a list of what is wrong in print.
//!
//! The paper is O. Chehab, A. Gramfort and A. Hyvärinen, *Optimizing the noise in self-supervised learning: from
//! importance sampling to noise-contrastive estimation* (2023). One file per figure or table; each gives an [`Item`]
//! and knows nothing of files.
//! The settings are those of the paper and of its authors' code.
//!
//! ```
//! let item = noisewright_paper::run("fig7", noisewright_paper::Settings::default())?;
//! assert_eq!(item.name, "fig7");
//! # Ok::<(), noisewright::Error>(())
//! ```

mod densities;
mod designed;
mod errata;
mod fig1;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod item;
mod landscape;
mod losses;
mod normalizer;
mod plane;
mod rule;
mod settings;
mod tab1;
mod tab2;
mod tab3;
mod toy;

pub use item::Item;
pub use settings::Settings;

use noisewright::parts::OptionFault;
use noisewright::{Error, Result};

type Maker = fn(Settings) -> Result<Item>;

const MAKERS: [(&str, Maker); 11] = [
    ("fig1", fig1::run),
    ("fig2", fig2::run),
    ("fig3", fig3::run),
    ("fig4", fig4::run),
    ("fig5", fig5::run),
    ("fig6", fig6::run),
    ("fig7", fig7::run),
    ("tab1", tab1::run),
    ("tab2", tab2::run),
    ("tab3", tab3::run),
    ("errata", errata::run),
];

/// The names that [`run`] knows, in the order of the paper.
pub fn names() -> impl Iterator<Item = &'static str> {
    MAKERS.iter().map(|(name, _)| *name)
}

/// Computes one figure, table or list.
///
/// # Errors
/// When the name is not one of [`names`].
pub fn run(name: &str, settings: Settings) -> Result<Item> {
    match MAKERS.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => make(settings),
        None => {
            let fault = OptionFault::Unknown { allowed: names().collect(), found: name.into() };
            Err(Error::Option { option: "item".into(), fault })
        }
    }
}
