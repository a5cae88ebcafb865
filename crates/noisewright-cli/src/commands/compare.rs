//! `noisewright compare`: saved fits side by side, with tests of nested models.

use noisewright::Model;
use noisewright::after::{FitRecord, compare};
use noisewright::internal::show::comparison_tables;
use noisewright::parts::Comparison;

use super::saved;
use crate::arguments::{CompareArguments, Global};
use crate::failure::Outcome;
use crate::output;

pub(crate) fn run(arguments: &CompareArguments, global: &Global) -> Outcome<()> {
    global.refuse_page("compare")?;
    let read = |path: &std::path::PathBuf| Ok((path.display().to_string(), saved::read(path)?));
    let records = arguments.fits.iter().map(read).collect::<Outcome<Vec<(String, FitRecord)>>>()?;
    let models: Vec<Option<Model>> = records.iter().map(|(_, record)| record.model().ok()).collect();
    let named: Vec<(String, &FitRecord)> =
        records.iter().map(|(name, record)| (name.clone(), record)).collect();
    let models: Vec<Option<&Model>> = models.iter().map(Option::as_ref).collect();
    let found = compare(&named, &models, arguments.nested)?;
    if global.json {
        return output::print_json(&output::value(&found)?);
    }
    output::print(&text(&found))
}

fn text(found: &Comparison) -> String {
    comparison_tables(found).iter().map(output::table).collect::<Vec<_>>().join("\n")
}
