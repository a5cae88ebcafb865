//! A noise as plain data, to the last bit: what is kept of one that was fitted to data or made from a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::design::{ModelNoise, SavedModelNoise};
use crate::fit::optimal::Restated;
use crate::noise::dependent::{CircularTree, Group, Grouped, Margin, MetaElliptical, SavedBranch};
use crate::noise::kernel_density::SavedKernels;
use crate::{
    DesignFault, Domain, Error, KernelDensity, Mixture, Model, Noise, NoiseContext, NoiseWords, Product,
    Result, Scalar, Space,
};

/// A noise as plain data. Unlike [`Noise::describe`], which may name a procedure (`kde`, `optimal`), it says which density.
///
/// ```
/// use noisewright::{Bandwidth, KernelDensity, Noise, Space, View, sample};
/// let noise = KernelDensity::fit(View::new(1, 3, &[-1.0, 0.5, 1.0]), None, Bandwidth::Silverman)?;
/// let saved = noise.saved().unwrap();
/// let again = saved.build(&Space::real(&["x"])?, None)?;
/// assert_eq!(sample(&noise, 5, 1).values(), sample(again.as_ref(), 5, 1).values());
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SavedNoise {
    /// Words that say all of it.
    Words(String),
    /// Kernels at the points of a sample.
    Kernels(SavedKernels),
    /// A shape on a model, which is kept elsewhere.
    Model(SavedModelNoise),
    /// A mixture: weights and parts.
    Mixture(Vec<(f64, SavedNoise)>),
    /// Independent blocks of variables: how many each has, and its noise.
    Product(Vec<(usize, SavedNoise)>),
    /// Variables on a line, and the joint distribution of their normal scores.
    MetaElliptical {
        /// The variables' own distributions.
        margins: Vec<SavedNoise>,
        /// That of the scores.
        scores: Box<SavedNoise>,
    },
    /// Angles along a tree.
    CircularTree {
        /// The angles' own distributions.
        margins: Vec<SavedNoise>,
        /// How each depends on its parent, if it has one.
        branches: Vec<Option<SavedBranch>>,
    },
    /// Independent groups of variables: which, and their noise.
    Grouped(Vec<(Vec<usize>, SavedNoise)>),
    /// A noise divided by its integral, under another name.
    Restated {
        /// The noise.
        noise: Box<SavedNoise>,
        /// The logarithm of its integral.
        log_mass: f64,
        /// What it is called.
        words: String,
    },
}

impl SavedNoise {
    /// Words that say all of a noise.
    pub(crate) fn words(noise: &dyn Noise) -> Option<Self> {
        Some(Self::Words(noise.describe()))
    }

    /// The noise on the space where it was saved; `model` for one that was made from a model.
    ///
    /// # Errors
    /// When the parts do not belong together, or a model is needed and not given.
    pub fn build(&self, space: &Space, model: Option<&Model>) -> Result<Arc<dyn Noise>> {
        Ok(match self {
            Self::Words(words) => {
                let parsed = NoiseWords::parse(words).map_err(|error| error.in_text(words))?;
                parsed.build(&NoiseContext::new(space))?
            }
            Self::Kernels(kernels) => Arc::new(KernelDensity::from_saved(kernels)?),
            Self::Model(saved) => {
                let model = model.ok_or(Error::Design(DesignFault::ModelMissing))?;
                Arc::new(ModelNoise::from_saved(model, saved)?)
            }
            Self::Mixture(parts) => {
                let parts = parts.iter().map(|(weight, part)| Ok((*weight, part.build(space, model)?)));
                Arc::new(Mixture::<dyn Noise>::of_shared(parts.collect::<Result<Vec<_>>>()?)?)
            }
            Self::Product(blocks) => Arc::new(Product::of_shared(build_blocks(blocks, space, model)?)?),
            Self::MetaElliptical { margins, scores } => {
                let names: Vec<String> = (0..margins.len()).map(|j| format!("z{j}")).collect();
                let scores = scores.build(&Space::real(&names)?, None)?;
                Arc::new(MetaElliptical::new(build_margins(margins, space)?, scores)?)
            }
            Self::CircularTree { margins, branches } => {
                let circle = Space::product(&[("angle", Domain::Circle)])?;
                let binding = |saved: &SavedNoise| saved.build_scalar(&circle).map(Margin::new);
                Arc::new(CircularTree::from_saved(build_margins(margins, space)?, branches, binding)?)
            }
            Self::Grouped(groups) => Arc::new(Grouped::new(build_groups(groups, space, model)?)?),
            Self::Restated { noise, log_mass, words } => {
                let noise = noise.build(space, model)?;
                Arc::new(Restated { noise, log_mass: *log_mass, words: words.clone() })
            }
        })
    }
}

impl SavedNoise {
    /// A distribution of one variable, which words say all of.
    fn build_scalar(&self, space: &Space) -> Result<Arc<dyn Scalar>> {
        let Self::Words(words) = self else {
            return Err(Error::internal("a saved margin that is not in words"));
        };
        let parsed = NoiseWords::parse(words).map_err(|error| error.in_text(words))?;
        parsed.build_scalar(&NoiseContext::new(space))
    }
}

/// The space of one of the variables.
fn space_of(space: &Space, variables: &[usize]) -> Result<Space> {
    let variable = |j: &usize| {
        let outside =
            Error::Shape { what: "variables of the noise", expected: space.dimension(), found: j + 1 };
        let domain = space.domains().get(*j).ok_or(outside)?;
        Ok((space.names()[*j].clone(), domain.clone()))
    };
    Space::product(&variables.iter().map(variable).collect::<Result<Vec<_>>>()?)
}

fn build_margins(margins: &[SavedNoise], space: &Space) -> Result<Vec<Margin>> {
    let margin =
        |(j, saved): (usize, &SavedNoise)| saved.build_scalar(&space_of(space, &[j])?).map(Margin::new);
    margins.iter().enumerate().map(margin).collect()
}

fn build_groups(
    groups: &[(Vec<usize>, SavedNoise)],
    space: &Space,
    model: Option<&Model>,
) -> Result<Vec<Group>> {
    let group = |(variables, noise): &(Vec<usize>, SavedNoise)| {
        Ok((variables.clone(), noise.build(&space_of(space, variables)?, model)?))
    };
    groups.iter().map(group).collect()
}

fn build_blocks(
    blocks: &[(usize, SavedNoise)],
    space: &Space,
    model: Option<&Model>,
) -> Result<Vec<Arc<dyn Noise>>> {
    let variables: Vec<_> = space.names().iter().zip(space.domains().iter().cloned()).collect();
    let expected = space.dimension();
    let found = blocks.iter().map(|(count, _)| count).sum();
    if expected != found {
        return Err(Error::Shape { what: "variables of the noise", expected, found });
    }
    let mut rest = variables.as_slice();
    let mut block = |(count, noise): &(usize, SavedNoise)| {
        let (mine, others) = rest.split_at(*count);
        rest = others;
        noise.build(&Space::product(mine)?, model)
    };
    blocks.iter().map(&mut block).collect()
}

/// Numbers that may be infinite, which JSON has no word for: as the bits of each.
pub(crate) mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|x| x.to_bits()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        Ok(Vec::<u64>::deserialize(deserializer)?.into_iter().map(f64::from_bits).collect())
    }
}
