# Evidence: against closed forms, and beside bridgesampling.

# A linear regression with known variance and a normal prior: the evidence is a normal density of the data.
regression <- function(n, seed) {
  set.seed(seed)
  x <- cbind(1, rnorm(n), runif(n))
  y <- as.double(x %*% c(0.5, -1, 2) + rnorm(n))
  precision <- crossprod(x) + diag(3) / 4
  mean <- solve(precision, crossprod(x, y))
  root <- chol(solve(precision))
  truth <- {
    covariance <- diag(n) + 4 * tcrossprod(x)
    half <- chol(covariance)
    -n / 2 * log(2 * pi) - sum(log(diag(half))) - sum(backsolve(half, y, transpose = TRUE)^2) / 2
  }
  draws <- matrix(rnorm(4000 * 3), ncol = 3) %*% root + rep(mean, each = 4000)
  colnames(draws) <- c("a", "b", "c")
  log_posterior <- function(draw, data) {
    beta <- draw[c("a", "b", "c")]
    sum(dnorm(data$y, data$x %*% beta, 1, log = TRUE)) + sum(dnorm(beta, 0, 2, log = TRUE))
  }
  many <- function(draws, data) {
    fitted <- data$x %*% t(draws)
    colSums(dnorm(data$y - fitted, log = TRUE)) + rowSums(dnorm(draws, 0, 2, log = TRUE))
  }
  list(draws = draws, log_posterior = log_posterior, many = many, data = list(x = x, y = y), truth = truth)
}

test_that("the evidence of a regression is the one in closed form", {
  case <- regression(50, 1)
  found <- evidence(case$draws, case$many, data = case$data, independent = TRUE)
  expect_lt(abs(logml(found) - case$truth), 4 * found$se)
  expect_lt(found$se, 0.01)
  # A function of one draw gives the same.
  each <- evidence(case$draws, case$log_posterior, data = case$data, independent = TRUE)
  expect_equal(logml(each), logml(found), tolerance = 1e-10)
  expect_identical(names(summary(found))[1:4], c("Logml_Estimate", "Relative_Mean_Squared_Error", "Coefficient_of_Variation", "Percentage_Error"))
  expect_output(print(found), "log evidence")
  expect_identical(glance(found)$log_z, logml(found))
  expect_identical(unname(coef(found)), logml(found))
  expect_identical(as.double(confint(found)), c(found$lower, found$upper))
  expect_gt(diff(as.double(confint(found, level = 0.99))), found$upper - found$lower)
  expect_equal(as.double(vcov(found)), found$se^2)
  expect_identical(nobs(found), 4000L)
  grDevices::pdf(NULL)
  expect_identical(plot(found), found)
  grDevices::dev.off()
})

test_that("a function of one draw is called no more often than is asked for", {
  case <- regression(50, 3)
  draws <- do.call(rbind, rep(list(case$draws), 10)) # 40,000 draws
  calls <- 0
  counting <- function(draw, data) {
    calls <<- calls + 1
    case$log_posterior(draw, data)
  }
  found <- evidence(draws, counting, data = case$data, independent = TRUE)
  # Kinds of noise that are tried, and looks far out, come on top of 10,000.
  expect_lt(calls, 16000)
  expect_lt(found$draws + found$noise_draws, 12000)
  # The 4,000 draws behind them are what the noise knows.
  expect_lt(abs(logml(found) - case$truth), 4 * found$se)
  expect_error(evidence(case$draws, counting, data = case$data, evaluations = 100, noise_draws = 100), class = "noisewright_error")
})

test_that("bridgesampling and we agree on four posteriors", {
  skip_if_not_installed("bridgesampling")
  set.seed(5)
  n <- 4000
  compare <- function(draws, log_posterior, lb, ub, truth = NULL, ...) {
    free <- setNames(rep(-Inf, ncol(draws)), colnames(draws))
    low <- replace(free, names(lb), lb)
    high <- replace(-free, names(ub), ub)
    theirs <- bridgesampling::bridge_sampler(draws, log_posterior = log_posterior, data = list(...)$data, lb = low, ub = high, silent = TRUE)
    ours <- evidence(draws, log_posterior, ..., lb = lb, ub = ub, independent = TRUE)
    error <- bridgesampling::error_measures(theirs)$cv
    expect_lt(abs(logml(ours) - theirs$logml), 3 * sqrt(ours$se^2 + error^2))
    if (!is.null(truth)) expect_lt(abs(logml(ours) - truth), 4 * ours$se)
    # Our functions hand their objects over.
    expect_identical(logml(theirs), theirs$logml)
    invisible(ours)
  }
  case <- regression(40, 2)
  compare(case$draws, case$log_posterior, NULL, NULL, case$truth, data = case$data)
  # Poisson counts with a gamma prior: the posterior is a gamma.
  y <- c(3, 1, 4, 2, 2, 5, 0, 3)
  rate <- function(draw, data) sum(dpois(data, draw["rate"], log = TRUE)) + dgamma(draw["rate"], 2, 1, log = TRUE)
  truth <- sum(-lgamma(y + 1)) + lgamma(2 + sum(y)) - lgamma(2) - (2 + sum(y)) * log(1 + length(y))
  compare(cbind(rate = rgamma(n, 2 + sum(y), 1 + length(y))), rate, c(rate = 0), NULL, truth, data = y)
  # Binomial with a beta prior: an interval.
  share <- function(draw, data) dbinom(data, 20, draw["p"], log = TRUE) + dbeta(draw["p"], 2, 2, log = TRUE)
  truth <- lchoose(20, 14) + lbeta(16, 8) - lbeta(2, 2)
  compare(cbind(p = rbeta(n, 16, 8)), share, c(p = 0), c(p = 1), truth, data = 14)
  # Normal data of unknown mean and variance: normal inverse gamma.
  y <- rnorm(12, 1, 2)
  shape <- 2 + length(y) / 2
  middle <- sum(y) / (length(y) + 1)
  scale <- 3 + (sum(y^2) - (length(y) + 1) * middle^2) / 2
  variance <- 1 / rgamma(n, shape, scale)
  draws <- cbind(mu = rnorm(n, middle, sqrt(variance / (length(y) + 1))), v = variance)
  both <- function(draw, data) {
    v <- draw["v"]
    sum(dnorm(data, draw["mu"], sqrt(v), log = TRUE)) + dnorm(draw["mu"], 0, sqrt(v), log = TRUE) +
      2 * log(3) - lgamma(2) - 3 * log(v) - 3 / v
  }
  truth <- -length(y) / 2 * log(2 * pi) - log(length(y) + 1) / 2 + 2 * log(3) - shape * log(scale) + lgamma(shape) - lgamma(2)
  compare(draws, both, c(v = 0), NULL, truth, data = y)
})

test_that("draws of posterior, coda and data frames are taken with their chains", {
  x <- chain(4000, 0.7, 6)
  log_posterior <- function(x) -x[, "x"]^2 / 2
  plain <- evidence(cbind(x = x), log_posterior, chains = 4)
  expect_lt(abs(logml(plain) - log(2 * pi) / 2), 4 * plain$se)
  expect_lt(plain$chain_ess, 3000)
  expect_identical(logml(evidence(data.frame(x = x), log_posterior, chains = 4)), logml(plain))
  if (requireNamespace("posterior", quietly = TRUE)) {
    array <- array(x, c(1000, 4, 1), dimnames = list(NULL, NULL, "x"))
    for (convert in list(posterior::as_draws_array, posterior::as_draws_df, posterior::as_draws_matrix)) {
      expect_identical(logml(evidence(convert(posterior::as_draws_array(array)), log_posterior)), logml(plain))
    }
  }
  if (requireNamespace("coda", quietly = TRUE)) {
    chains <- lapply(split(x, rep(1:4, each = 1000)), function(x) coda::mcmc(cbind(x = x)))
    expect_identical(logml(evidence(coda::mcmc.list(unname(chains)), log_posterior)), logml(plain))
    expect_lt(abs(logml(evidence(chains[[1]], log_posterior)) - log(2 * pi) / 2), 0.1)
  }
})

test_that("fits of cmdstanr bring their density", {
  # The interface of a CmdStanMCMC whose model methods are compiled; the parameter is positive, and its logarithm free.
  set.seed(7)
  z <- log(rgamma(2000, 3, 1))
  fit <- structure(list(
    unconstrain_draws = function() lapply(split(z, rep(1:2, each = 1000)), as.list),
    log_prob = function(z, jacobian) {
      # Stan rejects by an error.
      if (abs(z) > 50) stop("Scale parameter is 0, but must be > 0!")
      2 * z - exp(z) + if (jacobian) z else 0
    }
  ), class = "CmdStanMCMC")
  found <- evidence(fit)
  expect_lt(abs(logml(found) - lgamma(3)), 4 * found$se)
})

test_that("fits of Stan whose density lacks constants are refused", {
  tilde <- c("parameters { real z; }", "model { z ~ normal(0, 1); }")
  complete <- "parameters { real z; } // z ~ normal\nmodel { /* not\n z ~ normal(0, 1) */ target += normal_lpdf(z | 0, 1); } # ~"
  expect_false(drops_constants(complete))
  expect_true(drops_constants("model { target += normal_lupdf(z | 0, 1); }"))
  expect_true(drops_constants("model { target += poisson_lupmf(y | 2); }"))
  set.seed(11)
  z <- rnorm(1000)
  of_cmdstan <- function(...) {
    structure(list(unconstrain_draws = function() list(as.list(z)), log_prob = function(z, jacobian) -z^2 / 2, ...), class = "CmdStanMCMC")
  }
  refused <- tryCatch(evidence(of_cmdstan(code = function() tilde)), noisewright_input_error = identity)
  expect_s3_class(refused, "noisewright_error")
  expect_match(conditionMessage(refused), "cmdstanr leaves the constants of statements with `~`", fixed = TRUE)
  # With all constants, and where the text is not at hand, there is an answer: 2 pi under the root.
  no_text <- function() stop("'$code()' will not be available")
  for (code in list(function() complete, no_text)) {
    found <- evidence(of_cmdstan(code = code), independent = TRUE)
    expect_lt(abs(logml(found) - log(2 * pi) / 2), 4 * found$se)
  }
  expect_error(evidence(of_cmdstan(), function(z) z), "leave `log_posterior` out", class = "noisewright_input_error")
  # rstan's class, as far as its program is concerned; with rstan loaded it is rstan's own.
  skip_if("rstan" %in% loadedNamespaces(), "rstan is loaded")
  here <- environment()
  on.exit(removeClass("stanfit", where = here), add = TRUE)
  setClass("stanmodel", representation(model_code = "character"), where = here)
  on.exit(removeClass("stanmodel", where = here), add = TRUE)
  setClass("stanfit", representation(stanmodel = "stanmodel"), where = here)
  fit <- new("stanfit", stanmodel = new("stanmodel", model_code = paste(tilde, collapse = "\n")))
  expect_error(evidence(fit), "rstan leaves the constants", class = "noisewright_input_error")
})

test_that("fits of rstan bring their density", {
  if (!nzchar(Sys.getenv("NOISEWRIGHT_STAN"))) skip("a program of Stan takes minutes to compile: set NOISEWRIGHT_STAN")
  skip_if_not_installed("rstan")
  code <- "data { int n; vector[n] y; } parameters { real mu; real<lower=0> v; }
    model { target += inv_gamma_lpdf(v | 2, 3); target += normal_lpdf(mu | 0, sqrt(v)); target += normal_lpdf(y | mu, sqrt(v)); }"
  set.seed(10)
  y <- rnorm(12, 1, 2)
  fit <- suppressMessages(rstan::stan(model_code = code, data = list(n = 12, y = y), chains = 4, iter = 4000, refresh = 0, seed = 1))
  found <- evidence(fit)
  shape <- 2 + 6
  scale <- 3 + (sum(y^2) - sum(y)^2 / 13) / 2
  truth <- -6 * log(2 * pi) - log(13) / 2 + 2 * log(3) - shape * log(scale) + lgamma(shape) - lgamma(2)
  expect_lt(abs(logml(found) - truth), 4 * found$se)
})

test_that("Bayes factors and probabilities follow from the evidence", {
  draws <- cbind(x = chain(2000, 0, 8))
  once <- evidence(draws, function(x) -x[, "x"]^2 / 2, independent = TRUE)
  thrice <- evidence(draws, function(x) log(3) - x[, "x"]^2 / 2, independent = TRUE)
  # The same draws and the same noise: the difference is log 3 to rounding.
  expect_equal(bf(thrice, once)$bf, 3, tolerance = 1e-9)
  expect_equal(bf(thrice, once, log = TRUE)$bf, log(3), tolerance = 1e-9)
  expect_equal(post_prob(thrice, once), c(thrice = 0.75, once = 0.25), tolerance = 1e-9)
  expect_equal(unname(post_prob(thrice, once, prior_prob = c(1, 3))), c(0.5, 0.5), tolerance = 1e-9)
  expect_identical(error_measures(once)$cv, once$se)
  table <- compare_evidence(once = once, thrice = thrice)
  expect_identical(table$model, c("thrice", "once"))
  expect_equal(table$probability_se[1], 0.75 * 0.25 * sqrt(2) * once$se, tolerance = 1e-6)
  expect_output(print(bf(thrice, once)), "in favor of thrice over once")
  expect_error(bf(once, 3), class = "noisewright_input_error")
})

test_that("what has no integral or overlaps with nothing is refused", {
  set.seed(9)
  draws <- cbind(x = rnorm(500))
  expect_error(evidence(draws, function(x) stop("no luck"), vectorized = TRUE), "no luck", class = "noisewright_function_error")
  expect_error(evidence(draws, function(x) 1, vectorized = TRUE), "one for each", class = "noisewright_function_error")
  expect_error(evidence(draws, function(x) -x[, "x"]^2, lb = c(y = 0)), "no column", class = "noisewright_input_error")
  expect_error(evidence(draws, function(x) -x[, "x"]^2, lb = c(x = 0)), "not between its bounds", class = "noisewright_input_error")
  expect_error(evidence(draws, function(x) -x[, "x"]^2, chains = 3), "chains of one length", class = "noisewright_input_error")
})
