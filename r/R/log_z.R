# Normalizing constants from log-densities.

#' The logarithm of a normalizing constant from two samples
#'
#' Takes draws of an unnormalized density f and of a noise, with the logarithms of both densities at both, and gives log Z by
#' importance sampling, its reverse, their combination, and the optimal bridge (`"nce"`), with standard errors, and which of
#' them to trust.
#'
#' @param log_f_data,log_noise_data log f and the log-density of the noise at draws of f.
#' @param log_f_noise,log_noise_noise the same at draws of the noise.
#' @param chains_data,chains_noise lengths of the Markov chains that the draws are, or the number of equal ones.
#' @param independent whether the draws are independent; otherwise the errors allow for autocorrelation.
#' @param confidence of the intervals.
#' @param bootstrap so many bootstrap samples for the standard errors.
#' @param weight_by_ess whether the bridge weighs the samples by how many independent draws they are worth.
#' @param powers further estimators, by their powers.
#' @param ratio whether the noise is unnormalized too, so that the ratio of the two constants is estimated.
#' @param prices `c(data, noise)` or `c(data, noise, budget)`: what draws cost, for the best division of a budget.
#' @param alpha a formula for log alpha in `log_f` and `log_noise`: a bridge of your own.
#' @param seed seed of the bootstrap.
#' @return An object of class `log_z`: a list with the fields of the command's JSON, and `log_z`, `se`, `lower` and `upper` of
#'   the recommended estimator; `estimates` is a data frame of all of them.
#' @examples
#' x <- stats::rnorm(1000, 1, sqrt(2))
#' y <- stats::rnorm(1000, 0, sqrt(3))
#' log_f <- function(x) -(x - 1)^2 / 4
#' noise <- function(x) stats::dnorm(x, 0, sqrt(3), log = TRUE)
#' log_z(log_f(x), noise(x), log_f(y), noise(y), independent = TRUE) # the truth is log(4 * pi) / 2 = 1.2655
#' @export
log_z <- function(log_f_data, log_noise_data, log_f_noise, log_noise_noise, chains_data = NULL, chains_noise = NULL,
                  independent = FALSE, confidence = 0.95, bootstrap = NULL, weight_by_ess = NULL, powers = NULL,
                  ratio = FALSE, prices = NULL, alpha = NULL, seed = 0) {
  settings <- log_z_settings(confidence, independent, bootstrap, seed, weight_by_ess, powers, ratio, prices, alpha)
  answer <- run_job("log_z", list(
    log_f_data = numbers(log_f_data, "log_f_data"), log_noise_data = numbers(log_noise_data, "log_noise_data"),
    log_f_noise = numbers(log_f_noise, "log_f_noise"), log_noise_noise = numbers(log_noise_noise, "log_noise_noise"),
    chains_data = chain_lengths(chains_data, length(log_f_data), "chains_data"),
    chains_noise = chain_lengths(chains_noise, length(log_f_noise), "chains_noise"), settings = settings
  ))
  normalizer_result(answer, "log_z")
}

log_z_settings <- function(confidence, independent, bootstrap, seed, weight_by_ess = NULL, powers = NULL, ratio = FALSE,
                           prices = NULL, alpha = NULL) {
  if (!is.null(prices) && !length(prices) %in% 2:3) refuse("`prices` must be c(data, noise) or c(data, noise, budget)")
  list(
    confidence = number(confidence, "confidence"), independent = flag(independent, "independent"),
    weight_by_ess = maybe(weight_by_ess, flag, "weight_by_ess"), bootstrap = maybe(bootstrap, whole, "bootstrap"),
    powers = numbers(powers %||% double(), "powers"), seed = whole(seed, "seed"),
    prices = if (!is.null(prices)) list(prices[[1]], prices[[2]], if (length(prices) == 3) prices[[3]]),
    alpha = maybe(alpha, words, "alpha"), ratio = flag(ratio, "ratio")
  )
}

# A result with its estimators as a data frame; the recommended one is warned of where it cannot be trusted.
normalizer_result <- function(answer, class) {
  rows <- answer$estimates
  methods <- names(rows) %||% vapply(rows, function(row) row$method, "")
  best <- rows[[match(answer$recommended, methods)]]
  field <- function(name, empty = NA_real_) {
    vapply(rows, function(row) as.vector(row[[name]] %||% empty, typeof(empty)), empty, USE.NAMES = FALSE)
  }
  answer$estimates <- data.frame(
    log_z = field("log_z"), se = field("se"), lower = field("lower"), upper = field("upper"), ess = field("ess"),
    pareto_k = field("pareto_k"), refused = field("refused", NA_character_), row.names = methods
  )
  for (name in c("log_z", "se", "lower", "upper")) answer[[name]] <- as.double(best[[name]])
  if (!is.null(best$refused)) warn(best$refused, best$refused_code %||% "refused")
  structure(answer, class = c(class, "noisewright_normalizer"))
}

#' @export
print.noisewright_normalizer <- function(x, digits = 6, ...) {
  what <- if (inherits(x, "noisewright_evidence")) "log evidence" else if (isTRUE(x$ratio)) "log ratio of constants" else "log Z"
  cat(what, " = ", format(x$log_z, digits = digits), " (se ", format(x$se, digits = 3), ")\n", x$reason, "\n\n",
    sep = "")
  print(x$estimates[c("log_z", "se", "lower", "upper", "ess", "pareto_k")], digits = digits)
  for (warning in x$warnings) cat("Warning: ", warning, "\n", sep = "")
  invisible(x)
}

#' Normalizing constants as data frames
#'
#' @param x a result of [log_z()] or [evidence()].
#' @param ... not used.
#' @return `tidy()` a data frame with a row for each estimator, `glance()` one row for the recommended one.
#' @examples
#' draws <- cbind(x = stats::rnorm(1000))
#' tidy(evidence(draws, function(x) -x[, "x"]^2 / 2, independent = TRUE))
#' @name normalizer-tidiers
NULL

#' @rdname normalizer-tidiers
#' @export
tidy.noisewright_normalizer <- function(x, ...) {
  table <- x$estimates
  data.frame(
    term = rownames(table), estimate = table$log_z, std.error = table$se, conf.low = table$lower, conf.high = table$upper,
    ess = table$ess, pareto_k = table$pareto_k
  )
}

#' @rdname normalizer-tidiers
#' @export
glance.noisewright_normalizer <- function(x, ...) {
  data.frame(
    log_z = x$log_z, std.error = x$se, conf.low = x$lower, conf.high = x$upper, method = x$recommended, overlap = x$overlap
  )
}

#' Normalizing constants of many states
#'
#' The multistate Bennett acceptance ratio: log Z of every state from draws of some or all of them, with the covariance of all.
#'
#' @param log_f log-densities up to constants: one row per draw and one column per state, draws of the first state first.
#' @param counts how many draws of each state there are,
#' @param origin or the number of the state that each draw is of, from 1.
#' @param u reduced energies, `-log_f`, in the place of `log_f`.
#' @param chains lengths of the Markov chains that the draws are, or the number of equal ones.
#' @param independent whether the draws are independent; otherwise the errors allow for autocorrelation.
#' @param reference the number of the state whose log Z is known, from 1,
#' @param reference_log_z and what it is.
#' @return An object of class `mbar`: a list with the fields of the command's JSON, among them `log_z`, `se`, the matrix
#'   `differences` and `overlap`.
#' @examples
#' sd <- c(1, 1.5, 2)
#' x <- unlist(lapply(sd, function(s) stats::rnorm(500, 0, s)))
#' log_f <- sapply(sd, function(s) -x^2 / (2 * s^2))
#' mbar(log_f, counts = c(500, 500, 500), independent = TRUE) # the truth is log(sd)
#' @export
mbar <- function(log_f = NULL, counts = NULL, origin = NULL, u = NULL, chains = NULL, independent = FALSE, reference = 1,
                 reference_log_z = 0) {
  if (is.null(log_f) == is.null(u)) refuse("give either `log_f` or `u`")
  log_f <- as.matrix(if (is.null(log_f)) -as.matrix(u) else log_f)
  if (is.null(counts) == is.null(origin)) refuse("give either `counts` or `origin`")
  names <- colnames(log_f) %||% as.character(seq_len(ncol(log_f)))
  pool <- list(
    counts = if (!is.null(counts)) as.integer(vapply(counts, whole, 0, argument = "counts")),
    origin = if (!is.null(origin)) as.integer(vapply(origin, whole, 0, argument = "origin", least = 1)) - 1L,
    chains = chain_labels(chains, nrow(log_f)), reference = whole(reference, "reference", 1) - 1,
    reference_log_z = number(reference_log_z, "reference_log_z"), independent = flag(independent, "independent"),
    names = as.list(names)
  )
  numbers(log_f, "log_f")
  answer <- run_job("states", list(log_f = as_rows(log_f), pool = pool))
  structure(c(answer, list(state_names = names)), class = "mbar")
}

# The number of the chain of every draw.
chain_labels <- function(chains, rows) {
  lengths <- chain_lengths(chains, rows)
  if (!is.null(lengths)) rep(seq_along(lengths) - 1L, lengths)
}

#' @export
print.mbar <- function(x, digits = 6, ...) {
  cat("log Z of ", length(x$log_z), " states\n\n", sep = "")
  print(data.frame(log_z = x$log_z, se = x$se, row.names = x$state_names), digits = digits)
  for (warning in x$warnings) cat("Warning: ", if (is.list(warning)) warning$message else warning, "\n", sep = "")
  invisible(x)
}

#' @rdname normalizer-methods
#' @export
coef.mbar <- function(object, ...) setNames(object$log_z, object$state_names)

#' @rdname normalizer-methods
#' @export
vcov.mbar <- function(object, ...) {
  matrix <- object$covariance
  dimnames(matrix) <- rep(list(object$state_names), 2)
  matrix
}

#' @export
tidy.mbar <- function(x, ...) data.frame(term = x$state_names, estimate = x$log_z, std.error = x$se)

#' @rdname normalizer-methods
#' @export
summary.mbar <- function(object, ...) {
  data.frame(
    log_z = object$log_z, se = object$se, ess = object$ess, inefficiency = object$inefficiency, row.names = object$state_names
  )
}

#' @rdname normalizer-methods
#' @export
confint.mbar <- function(object, parm, level = 0.95, ...) {
  reach <- stats::qnorm(0.5 + level / 2) * object$se
  ends <- matrix(object$log_z + c(-reach, reach), ncol = 2, dimnames = list(object$state_names, percents(level)))
  if (missing(parm)) ends else ends[parm, , drop = FALSE]
}

#' @rdname normalizer-methods
#' @export
nobs.mbar <- function(object, ...) {
  as.integer(sum(vapply(object$states, function(state) as.double(state$draws), 0)))
}

#' @export
glance.mbar <- function(x, ...) {
  data.frame(states = length(x$log_z), nobs = nobs(x), groups = length(x$groups), converged = x$converged, dependence = x$dependence)
}

#' @rdname normalizer-methods
#' @export
plot.mbar <- function(x, ...) {
  states <- seq_along(x$log_z)
  # The first state on top, as in a matrix.
  shares <- t(x$overlap)[, rev(states), drop = FALSE]
  further <- utils::modifyList(list(xlab = "draws of state", ylab = "as seen by state"), list(...))
  do.call(graphics::image, c(list(states, states, shares, zlim = c(0, 1), axes = FALSE), further))
  graphics::axis(1, states, x$state_names)
  graphics::axis(2, states, rev(x$state_names))
  graphics::box()
  invisible(x)
}
