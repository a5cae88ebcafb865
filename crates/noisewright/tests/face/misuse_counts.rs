//! Options, counts and log-densities that cannot be: refused by name before anything is allocated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::ControlFlow;

use crate::misuse_support::*;
use noisewright::chain::Moves;
use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, estimate};
use noisewright::normalizer::{Draws, LogZOptions, Prices, log_z_of_draws, log_z_with_alpha};
use noisewright::parts::{ChainOptions, EvidenceOptions, PathOptions, ProgressHook};
use noisewright::run::CancelToken;
use noisewright::*;

const NAN: f64 = f64::NAN;
const MAX: usize = usize::MAX;

#[test]
fn options_of_fits() {
    let option = |change: fn(&mut FitOptions)| code(fitted(change));
    let auto =
        |share: f64, most_values: usize| code(fitted(|o| o.amount = Amount::Auto { share, most_values }));
    let loss = |loss: Loss| code(fitted(|o| o.loss = loss));
    assert_all(&[
        ("fit_ratio_huge", option(|o| o.amount = Amount::Ratio(1e300)), "option-too-long"),
        ("fit_ratio_inf", option(|o| o.amount = Amount::Ratio(f64::INFINITY)), "noise-ratio"),
        ("fit_points_max", option(|o| o.amount = Amount::Points(MAX)), "option-too-long"),
        ("fit_points_0", option(|o| o.amount = Amount::Points(0)), "option-range"),
        ("fit_auto_values_0", auto(0.1, 0), "option-range"),
        ("fit_auto_values_max", auto(1e-6, MAX), "option-too-long"),
        ("fit_auto_share_nan", auto(NAN, 1000), "option-range"),
        ("fit_starts_0", option(|o| o.starts = 0), "option-range"),
        ("fit_starts_max", option(|o| o.starts = MAX), "option-too-long"),
        ("fit_iter_0", option(|o| o.max_iterations = 0), "option-range"),
        ("fit_iter_max", option(|o| o.max_iterations = MAX), "ok"),
        ("fit_tol_nan", option(|o| o.tolerance = NAN), "option-range"),
        ("fit_tol_0", option(|o| o.tolerance = 0.0), "option-range"),
        ("fit_conf_1", option(|o| o.confidence = 1.0), "option-range"),
        ("fit_conf_nan", option(|o| o.confidence = NAN), "option-range"),
        ("fit_start_len", code(gauss().fit(&points()).start(&[]).run()), "shape"),
        ("fit_start_nan", code(gauss().fit(&points()).start(&[NAN]).run()), "parameter"),
        ("fit_threads_0", code(gauss().fit(&points()).threads(0).run()), "option-range"),
        (
            "loss_phi_wrong",
            loss(Loss::from_phi(|r| r * r.ln(), |r| r.ln() + 7.0, |r| 3.0 / r)),
            "option-unfit",
        ),
        ("loss_phi_inconsistent", loss(Loss::from_phi(|r| r * r.ln(), |r| r, |_| 1.0)), "option-unfit"),
        ("loss_phi_nan", loss(Loss::from_phi(|_| NAN, |_| NAN, |_| NAN)), "not-a-number"),
        ("loss_phi_concave", loss(Loss::from_phi(|r| -r * r, |r| -2.0 * r, |_| -2.0)), "not-a-number"),
        ("loss_power_nan", loss(Loss::Power(NAN)), "not-a-number"),
        ("loss_exact", code(gauss().fit(&points()).exact().loss(Loss::Kl).run()), "option-unfit"),
        (
            "progress_break",
            option(|o| o.progress = Some(ProgressHook::new(|_| ControlFlow::Break(())))),
            "cancelled",
        ),
    ]);
    let token = CancelToken::new();
    token.cancel();
    let f = density(Space::real(&["x"]).unwrap(), |x: &[f64]| -0.5 * x[0] * x[0]);
    let (p, fs) = (points(), [f.clone(), f.clone()]);
    assert_all(&[
        ("cancel_fit", code(gauss().fit(&p).cancel(&token).run()), "cancelled"),
        ("cancel_exact", code(gauss().fit(&p).noise(NoiseChoice::Exact).cancel(&token).run()), "cancelled"),
        ("cancel_design", code(gauss().design(&[0.0]).cancel(&token).run()), "cancelled"),
        ("cancel_error", code(gauss().error(&[0.0], normal()).cancel(&token).run()), "cancelled"),
        ("cancel_log_z", code(log_z(&f, &p).against(normal(), 500).cancel(&token).run()), "cancelled"),
        ("cancel_evidence", code(evidence(&f, &p).cancel(&token).run()), "cancelled"),
        ("cancel_path", code(path(normal(), &f).cancel(&token).run()), "cancelled"),
        ("cancel_chains", code(chains(&f).cancel(&token).run()), "cancelled"),
        ("cancel_states", code(states(&fs).draws([&p, &p]).cancel(&token).run()), "cancelled"),
    ]);
}

#[test]
fn log_densities_of_two_samples() {
    let four: &[f64] = &[0.0, 1.0, 0.5, 0.2];
    let three: &[f64] = &[0.0, 0.1, 0.2];
    let zeros = [0.0; 5];
    let options = |change: fn(&mut LogZOptions)| {
        let mut options = LogZOptions::default();
        change(&mut options);
        code(log_z_of_draws(Draws::new(four, &zeros[..4]), Draws::new(three, &zeros[..3]), &options))
    };
    let draws =
        |data: Draws<'_>| code(log_z_of_draws(data, Draws::new(three, &zeros[..3]), &LogZOptions::default()));
    let nan = |_: &[f64], _: &[f64], out: &mut [f64]| out.fill(NAN);
    assert_all(&[
        ("logz_len", draws(Draws::new(&[0.0], &[0.0, 1.0])), "shape"),
        ("logz_empty", draws(Draws::new(&[], &[])), "no-draws"),
        ("logz_nan", draws(Draws::new(&[NAN], &[0.0])), "log-density"),
        ("logz_chains", draws(Draws::new(four, &zeros[..4]).with_chains(&[MAX, 5])), "chain-lengths"),
        ("logz_chains0", draws(Draws::new(four, &zeros[..4]).with_chains(&[0, 4])), "ok"),
        ("logz_boot_max", options(|o| o.bootstrap = Some(MAX)), "option-too-many"),
        ("logz_boot_0", options(|o| o.bootstrap = Some(0)), "option-range"),
        ("logz_powers_nan", options(|o| o.powers = vec![NAN]), "option-range"),
        (
            "logz_prices_neg",
            options(|o| o.prices = Some(Prices { data: -1.0, noise: NAN, budget: None })),
            "option-range",
        ),
        (
            "alpha_nan",
            code(log_z_with_alpha(
                Draws::new(four, &zeros[..4]),
                Draws::new(three, &zeros[..3]),
                &nan,
                &LogZOptions::default(),
            )),
            "log-density",
        ),
    ]);
}

#[test]
fn log_densities_of_many_states() {
    let z: &[f64] = &[0.0, 0.0];
    let with = |log_f: &[&[f64]], origin: Origin<'_>, chains: Option<&[usize]>, options: &StatesOptions| {
        code(estimate(&Pooled { log_f, origin, chains }, options))
    };
    let plain = |log_f: &[&[f64]], origin: Origin<'_>| with(log_f, origin, None, &StatesOptions::default());
    let option = |change: fn(&mut StatesOptions)| {
        let mut options = StatesOptions::default();
        change(&mut options);
        with(&[z, z], Origin::Counts(&[1, 1]), None, &options)
    };
    assert_all(&[
        ("st_len", plain(&[z, &[0.0]], Origin::Counts(&[1, 1])), "shape"),
        ("st_counts", plain(&[z, z], Origin::Counts(&[1, 5])), "shape"),
        ("st_counts_overflow", plain(&[z, z], Origin::Counts(&[MAX, 3])), "shape"),
        ("st_counts_few", plain(&[z, z], Origin::Counts(&[2])), "shape"),
        ("st_rows_oob", plain(&[z, z], Origin::Rows(&[0, 7])), "shape"),
        ("st_rows_len", plain(&[z, z], Origin::Rows(&[0])), "shape"),
        (
            "st_chains_len",
            with(&[z, z], Origin::Rows(&[0, 1]), Some(&[0]), &StatesOptions::default()),
            "shape",
        ),
        ("st_none", plain(&[], Origin::Counts(&[])), "no-states"),
        ("st_nodraws", plain(&[&[], &[]], Origin::Counts(&[0, 0])), "no-state-draws"),
        ("st_ref_oob", option(|o| o.reference = 9), "shape"),
        ("st_refz_nan", option(|o| o.reference_log_z = NAN), "option-range"),
        ("st_one_state", plain(&[z], Origin::Counts(&[2])), "ok"),
    ]);
    let f = density(Space::real(&["x"]).unwrap(), |x: &[f64]| -0.5 * x[0] * x[0]);
    let g = density(Space::real(&["y"]).unwrap(), |x: &[f64]| -0.5 * x[0] * x[0]);
    let p = points();
    assert_all(&[
        ("states_few_draws", code(states(&[f.clone(), f.clone()]).draws([&p]).run()), "shape"),
        ("states_other_space", code(states(&[f, g]).draws([&p, &p]).run()), "option-unfit"),
    ]);
}

#[test]
fn evidence_of_what_cannot_be() {
    let space = || Space::real(&["x"]).unwrap();
    let p = points();
    let bell = density(space(), |x: &[f64]| -x[0] * x[0] / 2.0);
    let batch =
        |f: fn(View<'_>, &mut [f64]) -> Result<()>| code(evidence(&batch_density(space(), f), &p).run());
    let option = |change: fn(&mut EvidenceOptions)| {
        let mut options = EvidenceOptions::default();
        change(&mut options);
        code(evidence(&bell, &p).options(options).run())
    };
    let wide = density(Space::real(&["x", "y"]).unwrap(), |_: &[f64]| 0.0);
    let short = density(Space::product(&[("x", Domain::Interval(-10.0, 0.1))]).unwrap(), |x: &[f64]| -x[0]);
    let mut missing = p.values().to_vec();
    missing[7] = NAN;
    let missing = Points::unnamed(1, missing.len(), missing);
    assert_all(&[
        ("ev_dim", code(evidence(&wide, &p).run()), "shape"),
        ("ev_empty", code(evidence(&bell, &Points::unnamed(1, 0, vec![])).run()), "noise-not-fitted"),
        ("ev_unset", batch(|_, _| Ok(())), "not-a-number"),
        (
            "ev_nan",
            batch(|_, out| {
                out.fill(NAN);
                Ok(())
            }),
            "not-a-number",
        ),
        ("ev_nandraw", code(evidence(&bell, &missing).run()), "outside-domain"),
        ("ev_err", batch(|_, _| Err(Error::Cancelled)), "cancelled"),
        ("ev_space_differs", code(evidence(&short, &p).run()), "outside-domain"),
        ("ev_chains_overflow", option(|o| o.chains = Some(vec![MAX, 501])), "shape"),
        ("ev_noise_max", option(|o| o.noise_draws = Some(MAX)), "option-too-many"),
        ("ev_noise_1e14", option(|o| o.noise_draws = Some(100_000_000_000_000)), "option-too-many"),
        ("ev_noise_0", option(|o| o.noise_draws = Some(0)), "option-range"),
        ("ev_trace_max", option(|o| o.trace = MAX), "option-too-many"),
        ("ev_weights", code(evidence(&bell, Data::from(&p).with_weights(&[1.0])).run()), "option-unfit"),
        ("log_z_no_noise", code(log_z(&bell, &p).run()), "option-unfit"),
        ("log_z_dim", code(log_z(&bell, &p).against(plane(), 100).run()), "shape"),
        ("log_z_max", code(log_z(&bell, &p).against(normal(), MAX).run()), "option-too-many"),
        ("log_z_none", code(log_z(&bell, &p).against(normal(), 0).run()), "no-draws"),
    ]);
}

#[test]
fn chains_and_paths_that_cannot_be() {
    let model = gauss();
    let f = model.density(&[0.0]).unwrap();
    let chain = |change: fn(&mut ChainOptions)| {
        let mut options = ChainOptions { draws: 20, warm_up: 20, ..ChainOptions::default() };
        change(&mut options);
        code(chains(&f).options(options).run())
    };
    let way = |change: fn(&mut PathOptions)| {
        let mut options = PathOptions { draws: 100, ..PathOptions::default() };
        change(&mut options);
        code(path(normal(), &f).options(options).run())
    };
    assert_all(&[
        ("ch_0", chain(|o| o.chains = 0), "chain-nothing-asked"),
        ("ch_draws_max", chain(|o| o.draws = MAX), "option-too-many"),
        ("ch_draws_1e14", chain(|o| o.draws = 100_000_000_000_000), "option-too-many"),
        ("ch_draws_0", chain(|o| o.draws = 0), "chain-nothing-asked"),
        ("ch_draws_1", chain(|o| (o.draws, o.warm_up) = (1, 0)), "ok"),
        ("ch_thin_0", chain(|o| o.thin = 0), "chain-nothing-asked"),
        ("ch_thin_max", chain(|o| (o.thin, o.draws) = (MAX, 2)), "option-too-long"),
        ("ch_chains_max", chain(|o| o.chains = MAX), "option-too-many"),
        ("ch_warm_up_max", chain(|o| o.warm_up = MAX), "option-too-many"),
        ("ch_start_dim", chain(|o| o.start = Some(Points::unnamed(2, 1, vec![0.0; 2]))), "shape"),
        ("ch_start_empty", chain(|o| o.start = Some(Points::unnamed(1, 0, vec![]))), "option-unfit"),
        ("ch_hmc_nograd", chain(|o| o.moves = Moves::Hamiltonian), "hamiltonian-needs-gradient"),
        ("path_states_max", way(|o| o.states = Some(MAX)), "option-unfit"),
        ("path_states_1", way(|o| o.states = Some(1)), "option-range"),
        ("path_draws_0", way(|o| o.draws = 0), "option-range"),
        ("path_draws_max", way(|o| o.draws = MAX), "option-too-many"),
        ("path_swarm_0", way(|o| o.swarm = 0), "option-range"),
        ("path_swarm_max", way(|o| o.swarm = MAX), "option-too-many"),
        ("path_chains_0", way(|o| o.chains = 0), "option-range"),
        ("path_thin_0", way(|o| o.thin = 0), "option-range"),
        ("path_thin_max", way(|o| o.thin = MAX), "option-too-long"),
        ("path_spacing_0", way(|o| o.spacing = 0.0), "option-range"),
        ("path_dim", code(path(plane(), &f).run()), "shape"),
    ]);
}
