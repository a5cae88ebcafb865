# The same bits as the command's JSON.

test_that("Old Faithful equals the command to the last bit", {
  data <- old_faithful()
  folder <- withr_tempdir()
  csv <- write_numbers(data, file.path(folder, "faithful.csv"))
  toml <- file.path(folder, "model.toml")
  writeLines(c("variables = ['x']", "features = ['x', 'x^2', 'x^3', 'x^4']"), toml)
  theirs <- command("fit", toml, csv, "--seed", "3")
  ours <- nce(~ x + I(x^2) + I(x^3) + I(x^4), data, seed = 3)
  expect_identical(unname(ours$estimates$estimate[1:4]), vapply(theirs$parameters, function(p) p$estimate, 0, USE.NAMES = FALSE))
  for (field in c("estimate", "se", "se_data", "se_noise", "lower", "upper")) {
    expect_identical(ours$log_normalizer[[field]], theirs$log_normalizer[[field]])
  }
  expect_identical(ours$covariance, matrix(as.double(unlist(theirs$covariance)), 5, byrow = TRUE))
  expect_identical(ours$loss, theirs$loss)
  expect_identical(names(coef(ours)), c("x", "I(x^2)", "I(x^3)", "I(x^4)"))
  # The same from the model file itself.
  from_file <- nce(toml, data, seed = 3)
  expect_identical(unname(coef(from_file)), unname(coef(ours)))
})

test_that("log_z, evidence, error and design equal the command to the last bit", {
  folder <- withr_tempdir()
  x <- chain(2000, 0.5, 1)
  y <- chain(1500, 0, 2) * 1.5
  log_f <- function(x) -x^2 / 2
  noise <- function(x) dnorm(x, 0, 1.5, log = TRUE)
  sides <- lapply(list(data = x, noise = y), function(x) data.frame(log_f = log_f(x), log_noise = noise(x)))
  files <- vapply(names(sides), function(name) write_numbers(sides[[name]], file.path(folder, paste0(name, ".csv"))), "")
  theirs <- command("logz", files[["data"]], files[["noise"]])
  ours <- log_z(sides$data$log_f, sides$data$log_noise, sides$noise$log_f, sides$noise$log_noise)
  for (method in rownames(ours$estimates)) {
    expect_identical(ours$estimates[method, "log_z"], theirs$estimates[[method]]$log_z)
    expect_identical(ours$estimates[method, "se"], theirs$estimates[[method]]$se)
  }

  toml <- file.path(folder, "bell.toml")
  writeLines(c("variables = ['x']", "log_density = '-(x - m)^2/2'", "[parameters]", "m = 0.25"), toml)
  draws <- write_numbers(data.frame(x = x + 0.25), file.path(folder, "draws.csv"))
  theirs <- command("evidence", toml, draws, "--seed", "5")
  ours <- evidence(data.frame(x = x + 0.25), nce_model(file = toml), seed = 5)
  expect_identical(ours$log_z, theirs$log_evidence)
  expect_identical(ours$se, theirs$se)

  theirs <- command("error", toml, "--noise", shQuote("normal(0, 2)"), "--nu", "2")
  ours <- noise_error(toml, "normal(0, 2)", nu = 2)
  expect_identical(ours$error, theirs$error)
  theirs <- command("design", toml, "--nu", "1")
  ours <- design_noise(toml, nu = 1)
  expect_identical(ours$error, theirs$error)
  expect_identical(ours$gap, theirs$gap)
})

test_that("mbar equals the command to the last bit", {
  folder <- withr_tempdir()
  # Chains of three normal states, one after the other, and a fourth state without draws.
  sd <- c(1, 1.5, 2.5, 2)
  counts <- c(300, 250, 200)
  x <- unlist(lapply(1:3, function(k) chain(counts[k], 0.5, 20 + k) * sd[k]))
  log_f <- sapply(sd, function(s) -x^2 / (2 * s^2))
  colnames(log_f) <- paste0("u_", 1:4)
  csv <- write_numbers(data.frame(state = rep(1:3, counts), log_f), file.path(folder, "states.csv"))
  square <- function(rows) matrix(as.double(unlist(rows)), length(sd), byrow = TRUE)
  alike <- function(ours, theirs) {
    for (field in c("log_z", "se", "ess", "inefficiency")) expect_identical(as.double(ours[[field]]), as.double(unlist(theirs[[field]])))
    for (field in c("covariance", "overlap")) expect_identical(ours[[field]], square(theirs[[field]]))
    for (field in c("log_z", "se")) expect_identical(ours$differences[[field]], square(theirs$differences[[field]]))
  }
  states <- function(...) command("logz", csv, "--states", shQuote("u_*"), ...)
  ours <- mbar(log_f, origin = rep(1:3, counts))
  alike(ours, states())
  expect_gt(ours$se[4], 0)
  expect_identical(names(coef(ours)), colnames(log_f))
  alike(mbar(log_f, counts = c(counts, 0), independent = TRUE, reference = 3), states("--independent", "--reference", "u_3"))
})

test_that("results do not depend on the number of threads", {
  old <- options(noisewright.threads = 1)
  on.exit(options(old))
  one <- nce(~ x + I(x^2) + I(x^3) + I(x^4), old_faithful())
  options(noisewright.threads = 3)
  three <- nce(~ x + I(x^2) + I(x^3) + I(x^4), old_faithful())
  expect_identical(one$estimates, three$estimates)
  options(noisewright.threads = 0)
  expect_error(nce(~ x + I(x^2), old_faithful()), class = "noisewright_input_error")
})
