//! Any text is either a model, whose start values it can be evaluated at, or refused in one sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use noisewright::{Model, Points};

fuzz_target!(|text: &str| {
    let model = match Model::from_toml(text) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.render().is_empty());
            return;
        }
    };
    let (columns, k) = (model.space().dimension(), model.parameters().len());
    let theta = model.start();
    assert_eq!(model.check(&theta), Ok(()));
    assert_eq!(model.coordinates().len(), k + usize::from(!model.is_normalized()));
    if columns.saturating_mul(k) > 10_000 {
        return;
    }
    let values = (0..3 * columns).map(|i| [0.5, 1.0, -2.0][i % 3]).collect();
    let points = Points::unnamed(columns, 3, values);
    let (mut value, mut score) = ([0.0; 3], vec![0.0; 3 * k]);
    if model.evaluate(&theta, points.view(), &mut value, Some(&mut score)).is_ok() {
        assert!(value.iter().all(|v| !v.is_nan()));
    }
    let _ = model.log_normalizer(&theta, &mut vec![0.0; k]);
    let _ = model.energy().add_curvature(&theta, points.view(), &[1.0; 3], &mut vec![0.0; k * k]);
});
