//! Every finding and every refusal has a code of its own and a sentence that knows nothing of any command line.

use super::finding::{Against, Finding};
use super::remedy::{Remedy, Setting, joined};
use super::{ChiSquareTest, DivergingParameter, NotNormalizable, Overlap, Runaway, Stop, Warning};
use crate::Error;
use crate::fit::FitMethod;
use crate::normalizer::{LogZWarning, Reason, Refusal, Side};

fn findings() -> Vec<Finding> {
    let (against, stop, iterations) = (Against::Noise, Stop::StepLimit, 200);
    let test = ChiSquareTest { statistic: 30.0, degrees_of_freedom: 2, p_value: 1e-6 };
    let running = DivergingParameter {
        name: "a".into(),
        index: 0,
        sign: -1,
        data_range: [0.0, 1.0],
        noise_range: [1.0, 1.0],
    };
    let endless = NotNormalizable { variable: Some("x".into()), towards: "∞".into(), direction: None };
    vec![
        Finding::Separation { running: vec![running], data_rows: 3, noise_rows: 4, against },
        Finding::NotNormalizable(endless),
        Finding::NoOverlap { confused: 0.1, against },
        Finding::LittleOverlap { overlap: 0.01, against: Against::Sample },
        Finding::FewRowsInOverlap { rows: 30.0, unknowns: 40, against },
        Finding::FewEffectiveRows { rows: 7.0 },
        Finding::OneCluster {},
        Finding::FewClusters { clusters: 9.4 },
        Finding::Runaway {
            runaway: Runaway { name: "a".into(), index: 0, sign: 1, limit: Some(3.0) },
            confidence: 0.95,
        },
        Finding::TailShape { pareto_k: 0.9, bounded: false, against },
        Finding::OutOfReach { points: 3.0, largest_log_ratio: 40.0, against },
        Finding::WeightShape { loss: "kl".into(), shape: 0.8 },
        Finding::FewWeightedRows { loss: "kl".into(), rows: 30.0, unknowns: 40 },
        Finding::InfiniteVariance { loss: "kl".into() },
        Finding::UnseenMass { estimate: 1.0, log_z: 2.0 },
        Finding::NoMaximum { stop, iterations },
        Finding::RisingLikelihood { variable: None, towards: "∞".into() },
        Finding::NotConverged { stop, iterations },
        Finding::SeveralOptima { count: 2 },
        Finding::AtBound { parameter: "a".into(), bound: 0.0, lower: true },
        Finding::BeyondFamily { parameter: "a".into(), bound: 0.0, lower: true, family: "beta".into() },
        Finding::Misspecified(test),
        Finding::RatioMatters { nu: 1.0, test },
        Finding::NoiseError { parameter: "a".into(), share: 0.8 },
        Finding::NotRefitted { error: Error::NoOverlap },
        Finding::RoundedNoise { asked: 1000, drawn: 1024, replicates: 16 },
        Finding::RoundedChoices { asked: 20, drawn: 15 },
        Finding::NotDesigned { error: Error::NoOverlap },
        Finding::NoPilot { pilot: Box::new(Finding::NoOverlap { confused: 0.1, against }) },
    ]
}

fn remedies() -> Vec<Remedy> {
    let mut all = vec![
        Remedy::MoreNoise { nu: Some(20.0) },
        Remedy::MoreNoise { nu: None },
        Remedy::MuchMoreNoise,
        Remedy::NearerNoise,
        Remedy::HeavierNoise,
        Remedy::LighterNoise,
        Remedy::OtherNoise,
        Remedy::ParametricNoise,
        Remedy::PowerOfTwo,
        Remedy::NetOfChoices,
        Remedy::AutoInstead,
        Remedy::AgainstNoise,
        Remedy::Exact,
        Remedy::BoundedLoss,
        Remedy::BoundParameter,
        Remedy::LeaveOut,
        Remedy::VaryingData,
    ];
    all.extend([
        Remedy::MoreOfBoth,
        Remedy::NearerSamples,
        Remedy::Bridges,
        Remedy::PathForConstant,
        Remedy::ExchangeSamples,
        Remedy::BoundFall { at_zero: true },
        Remedy::BoundFall { at_zero: false },
        Remedy::RestrictDomain,
        Remedy::OtherModel,
        Remedy::FallingTails,
        Remedy::HeavierModel,
        Remedy::NearerStart,
        Remedy::Bounds,
        Remedy::TakeBound,
        Remedy::WidenBound,
        Remedy::FurtherModel,
        Remedy::AcceptBound,
        Remedy::ScaleWeights,
        Remedy::LookAtOthers,
        Remedy::ExtendModel,
        Remedy::FixParameter,
        Remedy::LimitingModel,
        Remedy::LongerChains,
        Remedy::BetterMixing,
        Remedy::WithoutNoise { method: FitMethod::ScoreMatching },
        Remedy::WithoutNoise { method: FitMethod::PseudoLikelihood },
        Remedy::MoreClusters,
        Remedy::NoClusters,
    ]);
    all
}

/// Codes are unique and kebab-case, sentences are one line without options of a command.
fn check(coded: &[(&str, String)]) {
    for (i, (code, sentence)) in coded.iter().enumerate() {
        assert!(coded[..i].iter().all(|(other, _)| other != code), "{code} is used twice");
        assert!(code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{code}");
        assert!(!sentence.is_empty() && !sentence.contains("--") && !sentence.contains('\n'), "{sentence}");
    }
}

#[test]
fn findings_have_codes_and_sentences() {
    let all = findings();
    check(&all.iter().map(|finding| (finding.code(), finding.to_string())).collect::<Vec<_>>());
    for finding in all {
        let warning = Warning::new(finding.clone(), [Remedy::NearerNoise, Remedy::LeaveOut]);
        assert_eq!((warning.kind, warning.code()), (finding.kind(), finding.code()));
        assert!(warning.to_string().starts_with(&warning.sentence()));
    }
}

#[test]
fn each_door_spells_the_settings_of_remedies_in_its_own_words() {
    let command = |setting: Setting| format!("--{} {}", setting.parts().0, setting.parts().1);
    let python = |setting: Setting| format!("{}={}", setting.parts().0, setting.parts().1);
    let one = [Remedy::MoreNoise { nu: Some(20.0) }];
    assert_eq!(joined(&one, &command), "give more noise (--nu 20)");
    assert_eq!(joined(&one, &python), "give more noise (nu=20)");
    let rust = |remedy: &Remedy| joined(std::slice::from_ref(remedy), &|setting| setting.to_string());
    assert_eq!(rust(&one[0]), "give more noise (.ratio(20.0))");
    let other = Remedy::WithoutNoise { method: FitMethod::ScoreMatching };
    assert_eq!(rust(&other), "use a method without noise (.method(FitMethod::ScoreMatching))");
    assert_eq!(joined(&[other], &command), "use a method without noise (--method score-matching)");
    for remedy in remedies() {
        assert!(!rust(&remedy).is_empty() && !rust(&remedy).contains("--"), "{remedy:?}");
        let spelled = joined(std::slice::from_ref(&remedy), &command);
        assert_eq!(spelled.contains("--"), remedy.setting().is_some(), "{spelled}");
    }
}

#[test]
fn an_overlap_of_thousands_of_points_is_not_called_none() {
    // Where the search has not ended at a minimum the two numbers differ: three data points and 13,319 noise points.
    let of = |data_taken_for_noise: f64, noise_taken_for_data: f64, overlap: f64| Overlap {
        data_taken_for_noise,
        noise_taken_for_data,
        effective_data: 3.0,
        effective_noise: 3.0,
        overlap,
    };
    assert!(!of(3.0, 13_319.0, 0.2).is_hopeless());
    assert!(of(3.0, 3.0, 0.2).is_hopeless() && !of(3.0, 3.0, 0.9).is_hopeless());
}

#[test]
fn refusals_and_reasons_have_codes_and_sentences() {
    let (side, effective) = (Side::Noise, 3.0);
    let refusals = [
        Refusal::NoSupport,
        Refusal::SingleDraw,
        Refusal::TooFarApart,
        Refusal::FewCrossings { crossings: 0.5 },
        Refusal::FewDraws { freedom: 1.0 },
        Refusal::HeavyTail { side, pareto_k: 0.9 },
        Refusal::FewEffective { side, effective },
        Refusal::FewByOtherSide { side, effective },
        Refusal::DiffersFromBridge { standard_errors: 7.0 },
        Refusal::InfiniteVariance { side, pareto_k: 0.4, upper: 0.7 },
        Refusal::InfiniteByOtherSide { side, pareto_k: 0.8, upper: 1.2 },
        Refusal::ShortChain { side, effective, fewest: 20.0 },
        Refusal::StandsStill { side },
        Refusal::Contradiction { standard_errors: 9.0 },
        Refusal::OpenInterval,
        Refusal::HalvesContradict { what: "evidence" },
    ];
    check(&refusals.each_ref().map(|refusal| (refusal.code(), refusal.to_string())));
    let refusal = Refusal::NoSupport;
    let reasons = [Reason::OptimalBridge, Reason::BothSides, Reason::AllRefused { refusal }];
    check(&reasons.each_ref().map(|reason| (reason.code(), reason.to_string())));
    let warnings = [
        LogZWarning::LittleOverlap { crossings: 0.5 },
        LogZWarning::Contradiction { standard_errors: 9.0 },
        LogZWarning::ShortChain { side, ess: 9.0 },
        LogZWarning::HalvesDisagree { what: "evidence", difference: 1.0, standard_errors: 4.0 },
        LogZWarning::FewDraws { side, draws: 3 },
        LogZWarning::NotIndependent { side, correlation: 0.9 },
        LogZWarning::RepeatedDraws { side },
        LogZWarning::NotConverged,
    ];
    check(&warnings.each_ref().map(|warning| (warning.code(), warning.to_string())));
}
