# Evidence beside bridge_sampler() of the package bridgesampling: the same draws, the truth in closed form, CPU time.
# Rscript bench/neighbours/bridgesampling.R [DRAWS] > page   (the packages noisewright and bridgesampling are installed)
suppressMessages({
  library(noisewright)
  library(bridgesampling)
})
count <- as.integer(c(commandArgs(TRUE), "100000")[1])
options(noisewright.threads = 1)
set.seed(20)

# Each case: exact draws, the log-posterior of one draw, the same of many, bounds, the truth.
regression <- function(n = 100, size = 5) {
  x <- cbind(1, matrix(rnorm(n * (size - 1)), n))
  y <- as.double(x %*% rnorm(size) + rnorm(n))
  precision <- crossprod(x) + diag(size) / 4
  mean <- solve(precision, crossprod(x, y))
  draws <- matrix(rnorm(count * size), ncol = size) %*% chol(solve(precision)) + rep(mean, each = count)
  colnames(draws) <- paste0("b", seq_len(size))
  half <- chol(diag(n) + 4 * tcrossprod(x))
  list(
    name = "linear regression, 5 coefficients", draws = draws, data = list(x = x, y = y),
    one = function(draw, data) sum(dnorm(data$y, data$x %*% draw, 1, log = TRUE)) + sum(dnorm(draw, 0, 2, log = TRUE)),
    many = function(draws, data) {
      squares <- sum(data$y^2) - 2 * draws %*% crossprod(data$x, data$y) + rowSums((draws %*% crossprod(data$x)) * draws)
      -n / 2 * log(2 * pi) - squares / 2 - rowSums(draws^2) / 8 - size * log(2 * sqrt(2 * pi))
    },
    truth = -n / 2 * log(2 * pi) - sum(log(diag(half))) - sum(backsolve(half, y, transpose = TRUE)^2) / 2
  )
}

poisson <- function(y = rpois(30, 2.5)) {
  list(
    name = "Poisson rate, gamma prior", draws = cbind(rate = rgamma(count, 2 + sum(y), 1 + length(y))), data = y,
    lb = c(rate = 0),
    one = function(draw, data) sum(dpois(data, draw["rate"], log = TRUE)) + dgamma(draw["rate"], 2, 1, log = TRUE),
    many = function(draws, data) {
      r <- draws[, "rate"]
      (sum(data) + 1) * log(r) - (length(data) + 1) * r - sum(lgamma(data + 1)) - lgamma(2)
    },
    truth = -sum(lgamma(y + 1)) + lgamma(2 + sum(y)) - lgamma(2) - (2 + sum(y)) * log(1 + length(y))
  )
}

binomial <- function() {
  list(
    name = "binomial share, beta prior", draws = cbind(p = rbeta(count, 16, 8)), data = 14, lb = c(p = 0), ub = c(p = 1),
    one = function(draw, data) dbinom(data, 20, draw["p"], log = TRUE) + dbeta(draw["p"], 2, 2, log = TRUE),
    many = function(draws, data) {
      p <- draws[, "p"]
      lchoose(20, data) - lbeta(2, 2) + (data + 1) * log(p) + (21 - data) * log1p(-p)
    },
    truth = lchoose(20, 14) + lbeta(16, 8) - lbeta(2, 2)
  )
}

normal <- function(y = rnorm(20, 1, 2)) {
  n <- length(y)
  shape <- 2 + n / 2
  middle <- sum(y) / (n + 1)
  scale <- 3 + (sum(y^2) - (n + 1) * middle^2) / 2
  v <- 1 / rgamma(count, shape, scale)
  prior <- function(mu, v) dnorm(mu, 0, sqrt(v), log = TRUE) + 2 * log(3) - lgamma(2) - 3 * log(v) - 3 / v
  list(
    name = "normal mean and variance", draws = cbind(mu = rnorm(count, middle, sqrt(v / (n + 1))), v = v), data = y, lb = c(v = 0),
    one = function(draw, data) sum(dnorm(data, draw["mu"], sqrt(draw["v"]), log = TRUE)) + prior(draw["mu"], draw["v"]),
    many = function(draws, data) {
      mu <- draws[, "mu"]
      v <- draws[, "v"]
      squares <- sum(data^2) - 2 * mu * sum(data) + length(data) * mu^2
      -length(data) / 2 * log(2 * pi * v) - squares / (2 * v) + prior(mu, v)
    },
    truth = -n / 2 * log(2 * pi) - log(n + 1) / 2 + 2 * log(3) - shape * log(scale) + lgamma(shape) - lgamma(2)
  )
}

# A value, and the least CPU seconds of three times.
cpu <- function(compute) {
  seconds <- vapply(1:3, function(i) {
    before <- proc.time()
    value <<- compute()
    sum((proc.time() - before)[c("user.self", "sys.self")])
  }, 0)
  list(value = value, seconds = min(seconds))
}
value <- NULL

bounds <- function(case, which, usual) {
  values <- setNames(rep(usual, ncol(case$draws)), colnames(case$draws))
  replace(values, names(case[[which]]), case[[which]])
}

cat("# Evidence beside bridgesampling\n\n")
cat(sprintf(
  "%s exact draws of four posteriors whose evidence is known; bridgesampling %s, noisewright %s, %s, one thread. CPU seconds, the least of three runs.\n",
  format(count, big.mark = ","), packageVersion("bridgesampling"), packageVersion("noisewright"), R.version.string
))
cat("`one` is a log-posterior of one draw, as `bridge_sampler()` takes it; `many` takes all draws as a matrix, as only we do.\n")
cat("`many` is written with sufficient statistics where there are any, so part of what is gained is the function's.\n")
cat("`times` is their CPU over ours, `at equal error` the same with both brought to one standard error. A function of one draw is called for about\n")
cat("10,000 draws and noise draws, where `bridge_sampler()` calls it for half of the draws and as many noise draws.\n")
cat("`apart` is the difference of the two over their errors, `off` ours from the truth over its error.\n\n")
cat("| posterior | truth | bridge_sampler | s | evidence, many | s | times | at equal error | evidence, one | s | times | at equal error | apart | off |\n")
cat(strrep("|---", 14), "|\n", sep = "")
for (case in list(regression(), poisson(), binomial(), normal())) {
  theirs <- cpu(function() bridge_sampler(case$draws,
    log_posterior = case$one, data = case$data, lb = bounds(case, "lb", -Inf), ub = bounds(case, "ub", Inf), silent = TRUE
  ))
  error <- error_measures(theirs$value)$cv
  many <- cpu(function() evidence(case$draws, case$many, data = case$data, lb = case$lb, ub = case$ub, independent = TRUE, vectorized = TRUE))
  one <- cpu(function() evidence(case$draws, case$one, data = case$data, lb = case$lb, ub = case$ub, independent = TRUE, vectorized = FALSE))
  show <- function(value, se) sprintf("%.5f ± %.1e", value, se)
  equal <- function(ours) theirs$seconds / ours$seconds * (error / ours$value$se)^2
  cat(sprintf(
    "| %s | %.5f | %s | %.2f | %s | %.2f | %.1f | %.0f | %s | %.2f | %.1f | %.0f | %.2f | %.2f |\n", case$name, case$truth,
    show(theirs$value$logml, error), theirs$seconds, show(many$value$log_z, many$value$se), many$seconds,
    theirs$seconds / many$seconds, equal(many), show(one$value$log_z, one$value$se), one$seconds, theirs$seconds / one$seconds, equal(one),
    abs(theirs$value$logml - many$value$log_z) / sqrt(error^2 + many$value$se^2), abs(many$value$log_z - case$truth) / many$value$se
  ))
}
