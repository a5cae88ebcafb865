//! Stan CSV as CmdStan writes it: settings in comments, warm-up, adaptation block, timing.

#![allow(clippy::unwrap_used)]

use noisewright_data::{Options, Table, read_chains, read_from};

/// The settings that CmdStan writes on top, with the spelling of the booleans that the version uses.
fn settings(method: &str, algorithm: &str, num_warmup: usize, save_warmup: &str, thin: usize) -> String {
    format!(
        "# stan_version_major = 2\n# stan_version_minor = 36\n# stan_version_patch = 0\n# model = eight_schools_model\n\
         # start_datetime = 2024-11-04 10:20:30 UTC\n# method = {method}\n#   {method}\n#     num_samples = 4\n\
         #     num_warmup = {num_warmup}\n#     save_warmup = {save_warmup}\n#     thin = {thin}\n#     adapt\n\
         #       engaged = true (Default)\n#       gamma = 0.05 (Default)\n#     algorithm = {algorithm}\n\
         #       hmc\n#         engine = nuts (Default)\n#     num_chains = 1 (Default)\n# id = 1 (Default)\n# data\n\
         #   file = schools.json\n# random\n#   seed = 3453 (Default)\n"
    )
}

const HEADER: &str =
    "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,theta.1,theta.2\n";
const ADAPTED: &str = "# Adaptation terminated\n# Step size = 0.93\n# Diagonal elements of inverse mass matrix:\n# 0.5, 1.2, 3\n";
const TIMING: &str =
    "# \n#  Elapsed Time: 0.005 seconds (Warm-up)\n#                0.009 seconds (Sampling)\n# \n";

/// Draws whose `mu` counts from `from`.
fn draws(from: usize, count: usize) -> String {
    (from..from + count).map(|i| format!("-{i}.5,0.9,0.93,2,3,0,8.1,{i},0.{i},-0.{i}\n")).collect()
}

fn read(text: &str) -> Result<Table, String> {
    read_from(text.as_bytes(), "chain.csv", &Options::default()).map_err(|error| error.to_string())
}

fn mu(text: &str) -> Vec<f64> {
    read(text).unwrap().column("mu").unwrap().to_vec()
}

#[test]
fn a_plain_run_is_one_chain_with_marked_sampler_columns() {
    let text = settings("sample (Default)", "hmc (Default)", 1000, "0 (Default)", 1)
        + HEADER
        + ADAPTED
        + &draws(1, 4)
        + TIMING;
    let table = read(&text).unwrap();
    assert_eq!(table.column("lp__").unwrap(), [-1.5, -2.5, -3.5, -4.5]);
    assert_eq!(table.column("theta[2]").unwrap(), [-0.1, -0.2, -0.3, -0.4]);
    assert_eq!(table.chains(), Some(&[4][..]));
    let model: Vec<&String> = table
        .names()
        .iter()
        .enumerate()
        .filter(|(j, _)| !table.is_sampler(*j))
        .map(|(_, name)| name)
        .collect();
    assert_eq!(model, ["mu", "theta.1", "theta.2"]);
}

#[test]
fn saved_warmup_is_left_out_by_the_mark_of_adaptation() {
    let text =
        settings("sample", "hmc", 3, "true", 1) + HEADER + &draws(1, 3) + ADAPTED + &draws(4, 4) + TIMING;
    assert_eq!(mu(&text), [4.0, 5.0, 6.0, 7.0]);
    // The mark counts even where the settings promise something else.
    let text = settings("sample", "hmc", 9, "1", 1) + HEADER + &draws(1, 3) + ADAPTED + &draws(4, 4);
    assert_eq!(mu(&text), [4.0, 5.0, 6.0, 7.0]);
    let text = settings("sample", "hmc", 1, "1", 1) + HEADER + &draws(1, 3) + ADAPTED + &draws(4, 4);
    assert_eq!(mu(&text), [4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn saved_warmup_without_adaptation_is_counted_with_thinning() {
    // 7 iterations thinned by 3 leave iterations 0, 3 and 6.
    let text = settings("sample", "hmc", 7, "1", 3) + HEADER + &draws(1, 7) + TIMING;
    assert_eq!(mu(&text), [4.0, 5.0, 6.0, 7.0]);
    let text = settings("sample", "fixed_param", 7, "1", 3) + HEADER + &draws(1, 4) + TIMING;
    assert_eq!(mu(&text), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn nonsense_during_warmup_does_no_harm() {
    let text = settings("sample", "hmc", 1, "1", 1)
        + HEADER
        + "nan,0,inf,0,0,1,nan,1,2,3\n"
        + ADAPTED
        + &draws(1, 2);
    assert_eq!(mu(&text), [1.0, 2.0]);
}

#[test]
fn the_mean_on_top_of_a_variational_fit_is_no_draw() {
    let text = settings("variational", "meanfield (Default)", 0, "0", 1) + HEADER + &draws(1, 4);
    assert_eq!(mu(&text), [2.0, 3.0, 4.0]);
    assert_eq!(read(&text).unwrap().approximation(), Some("variational"));
}

#[test]
fn rows_are_counted_with_the_warmup() {
    let text = settings("sample", "hmc", 3, "1", 1) + HEADER + &draws(1, 3) + ADAPTED + &draws(4, 2);
    let table = read(&text).unwrap();
    assert_eq!((table.row_number(0), table.row_number(1)), (4, 5));
    assert_eq!(table.approximation(), None);
}

#[test]
fn what_is_no_sample_is_refused() {
    let optimum = settings("optimize", "lbfgs (Default)", 0, "0", 1) + HEADER + &draws(1, 1);
    assert_eq!(
        read(&optimum).unwrap_err(),
        "chain.csv is the output of Stan's method `optimize`, which makes no draws; use `method = sample`"
    );
    let interrupted = settings("sample", "hmc", 1000, "1", 1) + HEADER + &draws(1, 5);
    assert_eq!(read(&interrupted).unwrap_err(), "chain.csv has no draws after the 5 of its warm-up");
    let stopped = settings("sample", "hmc", 5, "1", 1) + HEADER + &draws(1, 5) + ADAPTED;
    assert_eq!(read(&stopped).unwrap_err(), "chain.csv has no draws after the 5 of its warm-up");
    let nothing = settings("sample", "hmc", 5, "0", 1) + HEADER + ADAPTED;
    assert_eq!(read(&nothing).unwrap_err(), "chain.csv has a header but no rows of data");
    let cut = settings("sample", "hmc", 5, "0", 1) + HEADER + ADAPTED + &draws(1, 1) + "-2.5,0.9,0.9";
    assert_eq!(read(&cut).unwrap_err(), "chain.csv, row 2 (line 30) has 3 fields, but the header has 10");
}

/// A run that was killed while it wrote -0.25 leaves -0.2, or nothing but the sign.
#[test]
fn a_file_that_was_cut_within_its_last_number_is_refused() {
    let whole = settings("sample", "hmc", 5, "0", 1) + HEADER + ADAPTED + &draws(1, 3);
    let refused = "chain.csv breaks off in its last row (line 31), perhaps within a number: let the run finish, or take that line out";
    assert_eq!(read(&whole).unwrap().rows(), 3);
    for cut in 1..=3 {
        assert_eq!(read(&whole[..whole.len() - cut]).unwrap_err(), refused);
    }
    // What others write with `lp__` may end without a line break, as any other table may.
    assert_eq!(read("lp__,mu\n-1.5,2\n-1.5,3").unwrap().column("mu").unwrap(), [2.0, 3.0]);
}

#[test]
fn chain_files_are_read_together() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let top = || settings("sample", "hmc", 2, "1", 1) + HEADER;
    let first = write("1.csv", top() + &draws(1, 2) + ADAPTED + &draws(3, 3));
    let second = write("2.csv", top() + &draws(6, 2) + ADAPTED + &draws(8, 2));
    let options = Options::default().columns(&["theta_1", "mu"]);
    let both = read_chains(&[&first, &second], &options).unwrap();
    assert_eq!(both.column("mu").unwrap(), [3.0, 4.0, 5.0, 8.0, 9.0]);
    assert_eq!(both.names(), ["theta_1", "mu"]);
    assert_eq!(both.chains(), Some(&[3, 2][..]));

    let other = write("3.csv", "lp__,tau\n1,2\n".to_owned());
    let message = read_chains(&[&first, &other], &Options::default()).unwrap_err().to_string();
    assert!(
        message.ends_with("have different columns; the files of one set of chains must have the same"),
        "{message}"
    );
    let plain = write("plain.csv", "x\n1\n2\n".to_owned());
    assert_eq!(read_chains(&[&plain, &plain], &Options::default()).unwrap().chains(), Some(&[2, 2][..]));
}
