//! The mutual information of two groups of variables: the divergence of their joint density from the product of its marginals.
//!
//! Rows in random order around a circle are draws of the joint density; the first variables of the next row with the second variables of
//! the row after that are draws of the product, independent of the first. What one row does is then in three neighbouring pairs, and
//! the variance has their covariances with it.

use rand::seq::SliceRandom;

use super::choose::BasisCandidate;
use super::density_ratio::{BridgeReport, Bridges, INFORMATION, Plan, RatioOptions, check, space_of};
use super::telescope::Telescope;
use super::waymarks::Samples;
use crate::fit::data::Data;
use crate::fit::options::FitOptions;
use crate::fit::result::Estimate;
use crate::names::nearest;
use crate::run::{Purpose, if_possible};
use crate::{Error, Model, Points, Result, View};

/// How many pairs on rows still have something in common.
const LAG: usize = 2;

/// The mutual information of two groups of variables.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct MutualInformation {
    /// In nats.
    pub information: Estimate,
    /// The two groups.
    pub variables: [Vec<String>; 2],
    /// Number of rows.
    pub rows: usize,
    /// The basis of the log ratio; none where a model gave the features.
    pub basis: Option<BasisCandidate>,
    /// The bridges between the joint density and the product.
    pub bridges: Vec<BridgeReport>,
    /// The same with other numbers of bridges.
    pub trials: Vec<InformationTrial>,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// The mutual information with a number of bridges.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct InformationTrial {
    /// Number of bridges.
    pub bridges: usize,
    /// In nats; none where a bridge does not overlap.
    pub information: Option<Estimate>,
}

/// The mutual information between two groups of the columns of `data`; the features of its log ratio are those of a model, or a basis.
///
/// # Errors
/// When a variable is not a column or is in both groups, there are too few rows, or the joint density and the product have too
/// little in common with the bridges asked for.
pub fn mutual_information<'a, S: AsRef<str>>(
    model: Option<&Model>,
    data: impl Into<Data<'a>>,
    between: [&[S]; 2],
    options: &RatioOptions,
) -> Result<MutualInformation> {
    let data = data.into();
    options.check_beside(model)?;
    let whole = space_of(&data)?;
    check(&data, &whole)?;
    let columns = between.map(|names| columns(names, whole.names()));
    let [first, second] = columns;
    let (first, second) = (first?, second?);
    if let Some(both) = first.iter().find(|j| second.contains(j)) {
        let reason = format!("has `{}` on both sides: give every variable to one side", whole.names()[*both]);
        return Err(Error::option("between", reason));
    }
    let fit = options.fit().for_run();
    let named = |columns: &[usize]| columns.iter().map(|j| whole.names()[*j].clone()).collect::<Vec<_>>();
    let variables = [named(&first), named(&second)];
    let pairs = Product::new(data.points, &first, &second, &fit);
    let found = match model {
        Some(model) => {
            pairs.in_order(&variables, model).and_then(|p| p.estimate(Some(model), variables, options, &fit))
        }
        None => pairs.estimate(None, variables, options, &fit),
    };
    fit.context().conclude(found)
}

/// The columns of these names.
fn columns<S: AsRef<str>>(names: &[S], known: &[String]) -> Result<Vec<usize>> {
    if names.is_empty() {
        return Err(Error::option("between", "must name at least one variable on either side"));
    }
    let find = |name: &S| {
        let name = name.as_ref();
        known.iter().position(|own| own == name).ok_or_else(|| Error::UnknownColumn {
            name: name.into(),
            nearest: nearest(name, known.iter().map(String::as_str)).map(Into::into),
            known: known.to_vec(),
        })
    };
    names.iter().map(find).collect()
}

/// Draws of the joint density and of the product of its marginals.
struct Product {
    joint: Points,
    product: Points,
}

impl Product {
    fn new(data: View<'_>, first: &[usize], second: &[usize], fit: &FitOptions) -> Self {
        let rows = data.rows();
        let mut order: Vec<usize> = (0..rows).collect();
        order.shuffle(&mut fit.context().stream(Purpose::ProductOrder, 0));
        let taken = |column: usize, ahead: usize| {
            let order = &order;
            let values = data.column(column);
            (0..rows).map(move |i| values[order[(i + ahead) % rows]])
        };
        let sides = |ahead: [usize; 2]| {
            let x = first.iter().flat_map(|j| taken(*j, ahead[0]));
            let y = second.iter().flat_map(|j| taken(*j, ahead[1]));
            Points::unnamed(first.len() + second.len(), rows, x.chain(y).collect())
        };
        Self { joint: sides([0, 0]), product: sides([1, 2]) }
    }

    /// The columns in the order of a model's variables.
    fn in_order(self, variables: &[Vec<String>; 2], model: &Model) -> Result<Self> {
        let names = variables.concat();
        let ordered = |points: Points| -> Result<Points> {
            let points = points.with_names(&names)?;
            Data::from(&points).in_order_of(model.space(), |data| {
                let columns = (0..data.points.columns()).flat_map(|j| data.points.column(j).iter().copied());
                Ok(Points::unnamed(data.points.columns(), data.points.rows(), columns.collect()))
            })
        };
        Ok(Self { joint: ordered(self.joint)?, product: ordered(self.product)? })
    }

    fn samples(&self) -> Samples<'_> {
        Samples { first: self.joint.view(), second: self.product.view(), lag: LAG, paired: true }
    }

    fn estimate(
        &self,
        model: Option<&Model>,
        variables: [Vec<String>; 2],
        options: &RatioOptions,
        fit: &FitOptions,
    ) -> Result<MutualInformation> {
        let samples = self.samples();
        let space = match model {
            Some(model) => model.space().clone(),
            None => crate::Space::real(&variables.concat())?,
        };
        let plan = Plan::new(model, &space, samples, options, fit)?;
        let telescope = plan.telescope(samples, fit)?;
        let value = |telescope: &Telescope<'_>| -> Result<Estimate> {
            let joint = telescope.joint(&INFORMATION)?;
            Ok(joint.functionals[0].estimate("information", options.confidence))
        };
        let information = value(&telescope)?;
        let count = telescope.bridges.len();
        let bridges = telescope.bridges.iter().map(BridgeReport::of).collect();
        let mut trials = vec![InformationTrial { bridges: count, information: Some(information.clone()) }];
        if options.bridges == Bridges::Auto {
            for other in [count / 2, 2 * count].into_iter().filter(|other| *other > 0) {
                let plan = plan.with_bridges(&samples, other);
                let found = if_possible(plan.telescope(samples, fit))?;
                let information = found.map(|found| value(&found)).transpose()?;
                trials.push(InformationTrial { bridges: other, information });
            }
            trials.sort_by_key(|trial| trial.bridges);
        }
        let (rows, confidence) = (self.joint.rows(), options.confidence);
        Ok(MutualInformation { information, variables, rows, basis: plan.basis, bridges, trials, confidence })
    }
}
