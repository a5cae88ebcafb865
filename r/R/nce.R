# Fits.

#' Fit an unnormalized model by noise-contrastive estimation
#'
#' Estimates the parameters of a model and its normalizing constant by telling the data from noise whose density is known. The
#' standard errors have two parts: what the data leave open, and what the noise adds, which more noise removes.
#'
#' @param formula a one-sided formula of features, such as `~ x + I(x^2)`, whose sum with one coefficient each is the
#'   log-density up to its constant, terms `offset(...)` without one; or an [nce_model()]; or the path of a model file.
#' @param data a data frame or a matrix with the variables as columns; a vector for one variable.
#' @param noise the noise in words, such as `"normal(0, 1)"` or `"0.7*normal(0,1) + 0.3*student(5,0,2)"`; `"auto"` is fitted to
#'   the data, `"optimal"` is designed at a pilot fit, `"exact"` is maximum likelihood with the constant integrated; or the
#'   result of [design_noise()].
#' @param nu noise points per row; `"auto"` adds noise until it hardly matters.
#' @param loss `"js"`, `"kl"`, `"reverse-kl"`, `"hellinger"`, `"pearson"`, `"brier"` or `"power:A"`.
#' @param method `"nce"`, `"exact"`, `"score-matching"`, `"pseudo-likelihood"` or `"mc-mle"`.
#' @param seed seed of the noise: the same seed gives the same result to the bit.
#' @param weights how many times each row counts.
#' @param clusters a label for each row; rows of the same label belong together in the standard errors.
#' @param chains the rows are Markov chains: their lengths one after the other, or the number of equal ones.
#' @param draws `"random"`, `"quiet"` (scrambled Sobol points) or `"auto"`.
#' @param loss_ratio the ratio inside the loss `"js"`; `"auto"` is `nu` for random noise and the best of a few for quiet noise.
#' @param noise_points the number of noise points, instead of `nu`.
#' @param noise_share with `nu = "auto"`, the largest share of a standard error that the noise may have.
#' @param max_noise with `nu = "auto"`, the most noise points.
#' @param errors `"robust"` (right also where the model is not) or `"model"` (taking the model to be true).
#' @param confidence of the intervals.
#' @param interval `"wald"` or `"profile"`.
#' @param bootstrap so many samples of the rows are drawn with replacement and fitted.
#' @param cross_validate so many folds, which find the held-out log-likelihood.
#' @param penalty a penalty on the parameters of a linear model, such as `"lasso:auto"` or `"ridge:0.1"`.
#' @param penalty_factors by how much the penalties of parameters are multiplied, by name.
#' @param refit_selected fit the parameters that the lasso selects again, without a penalty.
#' @param refit_noise fit a parametric noise again to its own draws, which lowers the variance.
#' @param check_ratio fit again with four times as much noise, and test that nothing changes.
#' @param target the error that `noise = "optimal"` is to make small.
#' @param choices for a model with covariates, the noise points of every row.
#' @param starts from how many places a model that is not linear in its parameters is fitted.
#' @param max_iterations,tolerance when a descent ends.
#' @return An object of class `nce`: a list with the fields of the command's JSON. It has methods for [print()], [summary()],
#'   [coef()], [vcov()], [confint()], [nobs()], [logLik()], [predict()], [simulate()], [plot()], and [tidy()][tidy.nce],
#'   [glance()][glance.nce] and [augment()][augment.nce]. Estimates that are no answer are an error of the class
#'   `noisewright_no_answer`; what else is worth knowing is a warning of the class `noisewright_warning`.
#' @examples
#' x <- (faithful$waiting - 70) / 15
#' fit <- nce(~ x + I(x^2) + I(x^3) + I(x^4), data.frame(x = x))
#' fit
#' confint(fit)
#'
#' # A double well with start values
#' model <- nce_model("a*x^2/2 - b*x^4", parameters = c(a = 1, b = 0.1), lower = c(b = 0))
#' nce(model, data.frame(x = x), nu = 10)
#' @export
nce <- function(formula, data, noise = "auto", nu = "auto", loss = "js", method = "nce", seed = 0, weights = NULL,
                clusters = NULL, chains = NULL, draws = "auto", loss_ratio = "auto", noise_points = NULL, noise_share = 0.1,
                max_noise = NULL, errors = c("robust", "model"), confidence = 0.95, interval = "wald", bootstrap = NULL,
                cross_validate = NULL, penalty = NULL, penalty_factors = NULL, refit_selected = FALSE, refit_noise = FALSE,
                check_ratio = FALSE, target = "mse", choices = "auto", starts = 10, max_iterations = 200, tolerance = 1e-6) {
  call <- match.call()
  model <- as_model(formula, data)
  rows <- rows_of(data, model$variables)
  if (is.null(penalty) && (!is.null(penalty_factors) || refit_selected)) {
    argument <- if (refit_selected) "refit_selected" else "penalty_factors"
    refuse("`", argument, "` has no meaning without `penalty`: give one, or leave it out")
  }
  settings <- list(
    method = words(method, "method"), nu = or_auto(nu, "nu"), noise_points = maybe(noise_points, whole, "noise_points"),
    noise_share = number(noise_share, "noise_share"), max_noise = maybe(max_noise, whole, "max_noise", 1),
    choices = or_auto(choices, "choices", whole, 1), loss = words(loss, "loss"), draws = words(draws, "draws"),
    loss_ratio = or_auto(loss_ratio, "loss_ratio"), model_based = match.arg(errors) == "model",
    confidence = number(confidence, "confidence"), seed = whole(seed, "seed"), starts = whole(starts, "starts"),
    max_iterations = whole(max_iterations, "max_iterations"), tolerance = number(tolerance, "tolerance"),
    refit_noise = flag(refit_noise, "refit_noise"), check_ratio = flag(check_ratio, "check_ratio"),
    target = paste(target, collapse = ","), penalty = maybe(penalty, words, "penalty"),
    penalty_factors = by_name(penalty_factors, "penalty_factors"), refit_selected = flag(refit_selected, "refit_selected"),
    interval = words(interval, "interval"), bootstrap = maybe(bootstrap, whole, "bootstrap"),
    cross_validate = maybe(cross_validate, whole, "cross_validate")
  )
  given <- c(
    nu = !is.null(settings$nu), noise_points = !is.null(noise_points), noise_share = noise_share != 0.1,
    max_noise = !is.null(max_noise), loss = loss != "js", draws = draws != "auto", loss_ratio = !is.null(settings$loss_ratio),
    refit_noise = refit_noise, target = settings$target != "mse", check_ratio = check_ratio, choices = !is.null(settings$choices)
  )
  answer <- run_job("fit", list(
    model = model$request, points = as_rows(rows), weights = maybe(weights, row_values, "weights", nrow(rows)),
    clusters = maybe(clusters, labels_of, "clusters", nrow(rows)), chains = chain_lengths(chains, nrow(rows)),
    noise = noise_request(noise), given = as.list(names(given)[given]), settings = settings
  ), model$functions)
  if (!is.null(answer$no_answer)) raise("no_answer", answer$no_answer, answer$no_answer_code)
  fit <- structure(
    c(answer, list(estimates = estimates_of(answer), model = model, data = rows, row_weights = weights, call = call)),
    class = "nce"
  )
  warn_of_fit(answer)
  fit
}

row_values <- function(values, argument, rows) {
  values <- numbers(values, argument)
  if (length(values) != rows) refuse("`", argument, "` has ", length(values), " values, and the data have ", rows, " rows")
  values
}

labels_of <- function(values, argument, rows) {
  if (anyNA(values)) refuse("`", argument, "`: value ", which(is.na(values))[1], " is missing")
  if (length(values) != rows) refuse("`", argument, "` has ", length(values), " values, and the data have ", rows, " rows")
  match(values, unique(values)) - 1L
}

# A noise in words, with the designs that they refer to.
noise_request <- function(noise) {
  if (inherits(noise, "noise_design")) {
    if (is.null(noise$record)) refuse("`noise`: this design cannot be drawn from here; take its words, noise_words")
    return(list(words = "file(\"built:0\")", records = list(noise$record)))
  }
  list(words = words(noise, "noise"), records = list())
}

# Parameters and constant as a data frame.
estimates_of <- function(answer) {
  rows <- c(answer$parameters, if (!is.null(answer$log_normalizer)) list(log_normalizer = answer$log_normalizer))
  field <- function(name) vapply(rows, function(row) as.double(row[[name]] %||% NA), 0)
  data.frame(
    estimate = field("estimate"), se = field("se"), se_data = field("se_data"), se_noise = field("se_noise"),
    lower = field("lower"), upper = field("upper"), row.names = names(rows)
  )
}

# The names that people read: the terms of a formula.
read_names <- function(object, names) {
  labels <- object$model$labels
  known <- names %in% names(labels)
  names[known] <- labels[names[known]]
  unname(names)
}

# Which estimates are asked for: the parameters, and the constant where it is wanted.
asked <- function(object, constant) {
  names <- rownames(object$estimates)
  if (constant) names else setdiff(names, "log_normalizer")
}

#' Methods for fits
#'
#' What fitted models know of themselves, in the ways of other models of R.
#'
#' `coef()`, `vcov()` and `confint()` have the constant, `log_normalizer`, among the coefficients with `constant = TRUE`.
#' `logLik()` is the log-likelihood at the estimates with the fitted constant. `predict()` gives the log-density or the density.
#'
#' @param object,x a result of [nce()].
#' @param constant whether the constant is wanted too.
#' @param parm which parameters, by name or number; all by default.
#' @param level confidence of the intervals.
#' @param newdata where the density is wanted; the data of the fit by default.
#' @param type `"log_density"` or `"density"`.
#' @param se.fit whether standard errors (of the log-density) are wanted too.
#' @param interval `"confidence"` for a matrix with the ends of intervals.
#' @param nsim how many draws.
#' @param seed seed of the draws.
#' @param digits how many digits are shown.
#' @param ... not used; for `plot()`, further arguments of the picture.
#' @return As the generic functions have it: `coef()` a named vector, `vcov()` a matrix, `confint()` a matrix of two columns,
#'   `nobs()` a number, `logLik()` an object of class `logLik`, `predict()` a vector, a matrix with intervals, or with `se.fit`
#'   a list; `simulate()` a data frame of draws of the fitted model.
#' @examples
#' fit <- nce(~ x + I(x^2), data.frame(x = faithful$eruptions))
#' coef(fit)
#' vcov(fit, constant = TRUE)
#' AIC(fit)
#' predict(fit, data.frame(x = 2:4), interval = "confidence")
#' plot(fit)
#' @name nce-methods
NULL

#' @rdname nce-methods
#' @export
print.nce <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Call:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  table <- x$estimates[c("estimate", "se", "lower", "upper")]
  rownames(table) <- read_names(x, rownames(table))
  colnames(table) <- c("Estimate", "Std. Error", paste0(100 * x$confidence, "% from"), "to")
  print(table, digits = digits)
  cat("\n", paste(fit_sentences(x), collapse = "\n"), "\n", sep = "")
  invisible(x)
}

fit_sentences <- function(x) {
  noise <- if (is.null(x$noise_points) || x$noise_points == 0) {
    paste0(x$rows, " rows, method ", x$method)
  } else {
    kind <- if (identical(x$draws, "quiet")) "quiet noise points" else "noise points"
    paste0(x$rows, " rows; ", x$noise_points, " ", kind, " of ", short(x$noise_words), "; loss ", x$loss_name)
  }
  steps <- paste0(x$iterations, if (x$iterations == 1) " step" else " steps")
  c(noise, if (x$converged) paste("Converged after", steps) else paste0("Not converged after ", steps, ": ", x$stop))
}

# Words with numbers of six digits.
short <- function(words) {
  at <- gregexpr("[0-9]+[.][0-9]+(e[-+]?[0-9]+)?", words)
  regmatches(words, at) <- lapply(regmatches(words, at), function(numbers) {
    vapply(as.double(numbers), format, "", digits = 6)
  })
  words
}

#' @rdname nce-methods
#' @export
summary.nce <- function(object, ...) {
  table <- object$estimates
  z <- table$estimate / table$se
  coefficients <- cbind(
    Estimate = table$estimate, "Std. Error" = table$se, "z value" = z, "Pr(>|z|)" = 2 * stats::pnorm(-abs(z)),
    "Noise share" = table$se_noise / table$se
  )
  rownames(coefficients) <- read_names(object, rownames(table))
  structure(
    list(call = object$call, coefficients = coefficients, sentences = fit_sentences(object), warnings = object$warnings),
    class = "summary.nce"
  )
}

#' @rdname nce-methods
#' @export
print.summary.nce <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Call:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  printCoefmat(x$coefficients[, 1:4, drop = FALSE], digits = digits, signif.stars = FALSE)
  share <- max(c(0, x$coefficients[, "Noise share"]), na.rm = TRUE)
  cat("\n", paste(x$sentences, collapse = "\n"), "\n", sep = "")
  cat("The noise has at most ", format(100 * share, digits = 2), "% of a standard error (squares add)\n", sep = "")
  for (warning in x$warnings) cat("Warning: ", warning, "\n", sep = "")
  invisible(x)
}

#' @rdname nce-methods
#' @export
coef.nce <- function(object, constant = FALSE, ...) {
  names <- asked(object, constant)
  setNames(object$estimates[names, "estimate"], read_names(object, names))
}

#' @rdname nce-methods
#' @export
vcov.nce <- function(object, constant = FALSE, ...) {
  if (is.null(object$covariance)) raise("no_answer", "there is no covariance: these estimates have no standard errors")
  names <- asked(object, constant)
  matrix <- object$covariance
  dimnames(matrix) <- list(object$coordinates, object$coordinates)
  # Parameters that are held at values have no variance.
  out <- matrix(0, length(names), length(names), dimnames = list(names, names))
  free <- intersect(names, object$coordinates)
  out[free, free] <- matrix[free, free]
  dimnames(out) <- rep(list(read_names(object, names)), 2)
  out
}

#' @rdname nce-methods
#' @export
confint.nce <- function(object, parm, level = object$confidence, constant = FALSE, ...) {
  names <- asked(object, constant)
  table <- object$estimates[names, ]
  ends <- as.matrix(table[c("lower", "upper")])
  if (!isTRUE(all.equal(level, object$confidence))) {
    if (identical(object$interval, "profile")) refuse("profile intervals have the confidence of the fit: fit again with `confidence = ", level, "`")
    reach <- mapply(wider, (table$upper - table$lower) / (2 * table$se), MoreArgs = list(from = object$confidence, to = level))
    ends <- cbind(table$estimate - reach * table$se, table$estimate + reach * table$se)
  }
  dimnames(ends) <- list(read_names(object, names), percents(level))
  if (missing(parm)) ends else ends[parm, , drop = FALSE]
}

# How many standard errors an interval of another confidence reaches: with the degrees of freedom of Student's quantile that
# the given one is.
wider <- function(reach, from, to) {
  p <- 0.5 + from / 2
  q <- 0.5 + to / 2
  if (!is.finite(reach) || reach <= stats::qnorm(p) * (1 + 1e-9)) return(stats::qnorm(q))
  degrees <- stats::uniroot(function(log_df) stats::qt(p, exp(log_df)) - reach, c(0, 40), tol = 1e-10)$root
  stats::qt(q, exp(degrees))
}

#' @rdname nce-methods
#' @export
nobs.nce <- function(object, ...) object$rows

#' @rdname nce-methods
#' @export
logLik.nce <- function(object, ...) {
  weights <- object$row_weights %||% 1
  value <- object$log_likelihood %||% sum(weights * predict(object))
  structure(value, df = length(setdiff(object$coordinates, "log_normalizer")), nobs = object$rows, class = "logLik")
}

#' @rdname nce-methods
#' @export
predict.nce <- function(object, newdata = NULL, type = c("log_density", "density"), se.fit = FALSE,
                        interval = c("none", "confidence"), ...) {
  type <- match.arg(type)
  interval <- match.arg(interval)
  points <- if (is.null(newdata)) object$data else rows_of(newdata, object$model$variables, "newdata")
  there <- run_job("log_density", list(
    fitted = object$kept, model = object$model$request, points = as_rows(points)
  ), object$model$functions)
  shape <- if (type == "density") exp else identity
  fit <- shape(there$log_density)
  if (interval == "confidence") fit <- cbind(fit = fit, lwr = shape(there$lower), upr = shape(there$upper))
  if (se.fit) list(fit = fit, se.fit = there$se) else fit
}

#' @rdname nce-methods
#' @export
simulate.nce <- function(object, nsim = 1, seed = 0, ...) {
  drawn <- run_job("simulate", list(
    fitted = object$kept, model = object$model$request, count = whole(nsim, "nsim"), seed = whole(seed, "seed")
  ), object$model$functions)
  setNames(as.data.frame(drawn), object$model$variables)
}

#' @rdname nce-methods
#' @export
plot.nce <- function(x, ...) {
  if (is.null(x$grid)) {
    names <- asked(x, FALSE)
    table <- x$estimates[names, ]
    at <- rev(seq_along(names))
    settings <- list(x = table$estimate, y = at, xlim = range(table$lower, table$upper), yaxt = "n", pch = 19, xlab = "estimate", ylab = "")
    do.call(graphics::plot, utils::modifyList(settings, list(...)))
    graphics::segments(table$lower, at, table$upper, at)
    graphics::axis(2, at, read_names(x, names), las = 1)
    graphics::abline(v = 0, lty = 3)
    return(invisible(x))
  }
  grid <- x$grid
  bars <- graphics::hist(x$data[, 1], breaks = "FD", plot = FALSE)
  top <- max(bars$density, grid$density)
  settings <- list(x = bars, freq = FALSE, border = "white", col = "grey80", ylim = c(0, 1.05 * top), main = "", xlab = x$model$variables[1])
  do.call(graphics::plot, utils::modifyList(settings, list(...)))
  graphics::lines(grid$x, grid$density, lwd = 2)
  if (!is.null(grid$noise_density)) graphics::lines(grid$x, grid$noise_density, lty = 2)
  graphics::legend("topright", c("fitted model", if (!is.null(grid$noise_density)) "noise"), lty = 1:2, lwd = 2:1, bty = "n")
  invisible(x)
}

#' Functions of parameters and tests of them
#'
#' `derived()` gives functions of the parameters with standard errors by the delta method; `wald()` tests equations between them.
#' Parameters have the names of the library, those of `object$parameters`.
#'
#' @param object a result of [nce()].
#' @param ... formulas in text, by name, such as `"b/a"`; for `wald()` equations, such as `"a = b"`.
#' @return `derived()` a data frame with a row for each; `wald()` a list with `statistic`, `degrees` and `p_value`.
#' @examples
#' model <- nce_model("a*x^2/2 - b*x^4", parameters = c(a = 1, b = 0.1), lower = c(b = 0))
#' fit <- nce(model, data.frame(x = (faithful$waiting - 70) / 15))
#' derived(fit, ratio = "b/a")
#' wald(fit, "a = 0")
#' @export
derived <- function(object, ...) {
  formulas <- c(...)
  found <- run_job("derive", list(fitted = object$kept, formulas = as.list(unname(formulas))))
  labels <- names(formulas) %||% formulas
  field <- function(name) vapply(found, function(row) as.double(row[[name]]), 0)
  data.frame(
    term = ifelse(nzchar(labels), labels, formulas), estimate = field("estimate"), std.error = field("se"),
    conf.low = field("lower"), conf.high = field("upper")
  )
}

#' @rdname derived
#' @export
wald <- function(object, ...) {
  run_job("wald", list(fitted = object$kept, formulas = as.list(c(...))))
}
