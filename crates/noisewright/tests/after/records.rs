//! Saved fits: what is written is what is read, and nothing else is taken for it.

use super::*;
use noisewright::after::FitRecord;
use noisewright::internal::after::RecordHeader;

#[test]
fn a_saved_fit_is_the_same_after_reading() {
    let data = rows(1.0, 1.0, 200, 1);
    let fit = gaussian().fit(&data).ratio(3.0).run().unwrap();
    let record = fit.record(Some(GAUSSIAN)).unwrap();
    let text = serde_json::to_string(&record).unwrap();
    let again: FitRecord = serde_json::from_str(&text).unwrap();
    again.check().unwrap();
    assert_eq!(again, record);
    assert_eq!(again.joint.derive("m/p").unwrap(), fit.derive("m/p").unwrap());
    let model = again.model().unwrap();
    assert_eq!(
        again.joint.log_density(&model, data.view()).unwrap(),
        fit.log_density(&model, &data).unwrap()
    );
}

#[test]
fn files_of_another_kind_or_version_are_refused() {
    let said = |text: &str| {
        let header: RecordHeader = serde_json::from_str(text).unwrap();
        header.check().unwrap_err().to_string()
    };
    assert!(said("{}").contains("does not say"));
    assert!(said(r#"{"format": "noisewright-design/1"}"#).contains("not that of a fit"));
    let later = said(r#"{"format": "noisewright-fit/9", "version": "7.1.0"}"#);
    assert!(later.contains("noisewright 7.1.0") && later.contains("noisewright-fit/1"), "{later}");
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let record = exact(&gaussian(), &rows(0.0, 1.0, 50, 2)).record(Some(GAUSSIAN)).unwrap();
    let mut short = record.clone();
    short.mean_score.pop();
    assert_eq!(short.check().unwrap_err().code(), "shape");
    let mut other = record.clone();
    other.model = Some(GAUSSIAN.replace("m*x", "q*x").replace("\nm =", "\nq ="));
    assert_eq!(other.model().unwrap_err().code(), "saved-fit");
    let mut without = record;
    without.model = None;
    assert_eq!(without.model().unwrap_err().code(), "saved-fit");
}

#[test]
fn a_fit_without_an_answer_is_not_kept() {
    // Two spins that always agree: their coupling has no finite estimate.
    let model = Model::from_toml("variables = ['a', 'b']\nfamily = 'ising'\nstates = [-1, 1]").unwrap();
    let spins: Vec<f64> = (0..40).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let data = Points::from_columns(&["a", "b"], &[spins.clone(), spins]).unwrap();
    let fit = model.fit(&data).exact().run().unwrap();
    assert!(fit.diagnostics.no_answer().is_some());
    assert_eq!(fit.record(None).unwrap_err().code(), "saved-fit");
}
