//! Any text is a noise that prints, reads back, and builds or is refused; what is built has a density and draws.
#![no_main]

use libfuzzer_sys::fuzz_target;
use noisewright::{Domain, NoiseWords, Space, sample};
use noisewright::parts::NoiseContext;

fuzz_target!(|text: &str| {
    let words = match NoiseWords::parse(text) {
        Ok(words) => words,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let printed = words.to_string();
    assert_eq!(NoiseWords::parse(&printed).as_ref(), Ok(&words), "{printed}");
    let filled = words.substitute(&vec![0.5; words.free_count()]);
    assert_eq!(filled.free_count(), 0);
    for domain in [Domain::Real, Domain::Positive, Domain::Interval(0.0, 1.0), Domain::Circle, Domain::Counts] {
        let Ok(space) = Space::product(&[("x", domain)]) else { continue };
        let context = NoiseContext::new(&space);
        if let Ok(noise) = filled.build(&context) {
            let draws = sample(noise.as_ref(), 8, 1);
            let mut density = [0.0; 8];
            noise.log_density(draws.view(), &mut density);
            assert!(density.iter().all(|d| !d.is_nan()), "{printed}: {density:?}");
        }
    }
});
