# Evidence: the integral of an unnormalized density from draws of it.

#' Marginal likelihoods from draws
#'
#' The logarithm of the integral of an unnormalized posterior density from draws of it: a Markov chain is fine. A noise is
#' fitted to one half of the draws and contrasted with the other, then the halves change places.
#'
#' The call is that of `bridge_sampler()` of the package bridgesampling: `lb` and `ub` are bounds of the parameters, by name,
#' and further arguments go to `log_posterior`. A mode that no draw visited cannot be seen by any estimate from these draws.
#'
#' @param draws draws of the density: a matrix or a data frame with one row each, `draws` of the package posterior, an
#'   `mcmc.list` or `mcmc` of coda, a `stanfit` of rstan, or a `CmdStanMCMC` of cmdstanr with its model methods compiled.
#' @param log_posterior the logarithm of the unnormalized density: a function of a matrix of draws that returns one number for
#'   each, or of one draw (a named vector), or an [nce_model()]. Fits of Stan bring their own, which lacks the constants of statements
#'   with `~` and of functions with `_lupdf`: programs with such statements are refused, where the fit has the text of its program. Write
#'   `target += normal_lpdf(y | mu, sigma)` for `y ~ normal(mu, sigma)`.
#' @param ... further arguments of `log_posterior`.
#' @param lb,ub lower and upper bounds of the parameters, by name; real numbers by default.
#' @param at for an [nce_model()]: its parameters, by name.
#' @param vectorized whether `log_posterior` takes a matrix; found out by default.
#' @param chains the lengths of the chains, or the number of equal ones, where the draws do not tell.
#' @param noise the kind of noise: `"normal"`, `"student"`, `"mixture"`, `"warped"`, `"product"` or `"auto"`.
#' @param noise_draws how many noise draws; as many as draws by default.
#' @param evaluations about how often `log_posterior` may be called for a draw or a noise draw: evenly spaced draws are then contrasted
#'   with the noise, which is still fitted to all of them. By default at all draws where it takes a matrix, and 10000 where it is
#'   called for one draw after the other; `Inf` for all.
#' @param symmetrize average the density with its mirror image, which takes out skewness for twice the evaluations.
#' @param independent whether the draws are independent; otherwise the standard errors allow for autocorrelation.
#' @param confidence of the intervals.
#' @param bootstrap so many bootstrap samples for the standard errors.
#' @param seed seed of the noise.
#' @return An object of classes `noisewright_evidence` and `noisewright_normalizer`: a list with the fields of the command's JSON.
#'   Use [logml()], [bf()], [post_prob()], [error_measures()] and [compare_evidence()] with it.
#' @examples
#' # Ten observations of a normal mean with a normal prior: the evidence is known
#' y <- c(0.3, -0.2, 1.1, 0.8, 0.4, -0.5, 0.9, 1.3, 0.1, 0.6)
#' variance <- 1 / (1 + length(y))
#' draws <- cbind(mu = stats::rnorm(4000, variance * sum(y), sqrt(variance)))
#' log_posterior <- function(draw, data) {
#'   sum(stats::dnorm(data, draw["mu"], 1, log = TRUE)) + stats::dnorm(draw["mu"], 0, 1, log = TRUE)
#' }
#' found <- evidence(draws, log_posterior, data = y, independent = TRUE)
#' found
#' logml(found)
#' @export
evidence <- function(draws, log_posterior, ...) UseMethod("evidence")

#' @rdname evidence
#' @export
evidence.default <- function(draws, log_posterior, ..., lb = NULL, ub = NULL, at = NULL, vectorized = NA, chains = NULL,
                             noise = "auto", noise_draws = NULL, evaluations = NULL, symmetrize = FALSE, independent = FALSE,
                             confidence = 0.95, bootstrap = NULL, seed = 0) {
  if (inherits(log_posterior, "nce_model")) {
    if (!is.null(lb) || !is.null(ub)) refuse("`lb` and `ub` are for functions: a model has its domain")
    model <- log_posterior
    table <- rows_of(draws, model$variables, "draws")
  } else {
    if (!is.null(at)) refuse("`at` gives the parameters of a model, and has no meaning with a function: leave it out")
    table <- as.matrix(draws)
    if (is.null(colnames(table))) colnames(table) <- paste0("x", seq_len(ncol(table)))
    table <- rows_of(table, colnames(table), "draws")
    log_posterior <- match.fun(log_posterior)
    if (is.na(vectorized)) vectorized <- takes_matrices(log_posterior, table, list(...))
    density <- batched(log_posterior, vectorized, list(...))
    if (is.null(evaluations) && !vectorized) evaluations <- ONE_BY_ONE
    bounded <- real_line(colnames(table), lb, ub)
    table <- bounded$free(table)
    model <- nce_model(function(x, theta) bounded$log_density(density, x), variables = colnames(table))
  }
  if (!is.null(chains) && independent) refuse("`chains` has no meaning with independent draws: leave one of them out")
  answer <- run_job("evidence", list(
    model = model$request, at = values_at(at, model), draws = as_rows(table),
    own = list(
      noise = words(noise, "noise"), noise_draws = maybe(noise_draws, whole, "noise_draws"),
      evaluations = if (!identical(as.double(evaluations), Inf)) maybe(evaluations, whole, "evaluations"),
      chains = chain_lengths(chains, nrow(table)), symmetrize = flag(symmetrize, "symmetrize")
    ),
    settings = log_z_settings(confidence, independent, bootstrap, seed)
  ), model$functions)
  answer <- normalizer_result(answer, "noisewright_evidence")
  answer$logml <- answer$log_z
  answer
}

# Evaluations of a function that takes one draw after the other, whose calls are nearly all that an evidence costs: a tenth of those that a
# bridge from 100,000 draws makes.
ONE_BY_ONE <- 10000

# A function of many draws from one of many or of one.
batched <- function(log_posterior, vectorized, more) {
  many <- function(x) {
    values <- as.double(do.call(log_posterior, c(list(x), more)))
    if (length(values) != nrow(x)) {
      raise("function", paste0("`log_posterior` returned ", length(values), " numbers for ", nrow(x), " draws, and must return one for each"))
    }
    values
  }
  each <- function(x) vapply(seq_len(nrow(x)), function(i) as.double(do.call(log_posterior, c(list(x[i, ]), more))), 0)
  if (vectorized) many else each
}

# Whether a function takes a matrix: it gives a number for each row, and the same that it gives for the rows alone.
takes_matrices <- function(log_posterior, table, more) {
  rows <- table[seq_len(min(3, nrow(table))), , drop = FALSE]
  call <- function(x) as.double(do.call(log_posterior, c(list(x), more)))
  tryCatch(suppressWarnings({
    together <- call(rows)
    alone <- unlist(lapply(seq_len(nrow(rows)), function(i) call(rows[i, , drop = FALSE])))
    length(together) == nrow(rows) && length(alone) == nrow(rows) && !anyNA(together) && isTRUE(all.equal(together, alone))
  }), error = function(e) FALSE)
}

# Bounded parameters on the real line: x = lb + exp(z), x = ub - exp(z), or x = lb + (ub - lb) / (1 + exp(-z)).
real_line <- function(names, lb, ub) {
  bound <- function(bounds, usual, argument) {
    unknown <- setdiff(names(bounds), names)
    if (length(unknown) > 0) refuse("`", argument, "` names ", unknown[1], ", which is no column of `draws`")
    values <- setNames(rep(usual, length(names)), names)
    values[names(bounds)] <- as.double(bounds)
    values
  }
  lower <- bound(lb, -Inf, "lb")
  upper <- bound(ub, Inf, "ub")
  held <- names[is.finite(lower) | is.finite(upper)]
  kinds <- ifelse(is.finite(lower), ifelse(is.finite(upper), "both", "lower"), "upper")
  free <- function(x) {
    for (name in held) {
      out <- which(x[, name] <= lower[[name]] | x[, name] >= upper[[name]])
      if (length(out) > 0) refuse("`draws`: row ", out[1], " of ", name, " is not between its bounds")
      above <- x[, name] - lower[[name]]
      below <- upper[[name]] - x[, name]
      x[, name] <- switch(kinds[[name]], lower = log(above), upper = log(below), both = log(above) - log(below))
    }
    x
  }
  # The density on the real line, with the slope of the map; far out numbers round to their bounds, where there is none.
  log_density <- function(density, z) {
    if (length(held) == 0) return(density(z))
    log_slope <- 0
    inside <- TRUE
    for (name in held) {
      lo <- lower[[name]]
      hi <- upper[[name]]
      at <- z[, name]
      both <- kinds[[name]] == "both"
      x <- switch(kinds[[name]], lower = lo + exp(at), upper = hi - exp(at), both = lo + (hi - lo) * stats::plogis(at))
      log_slope <- log_slope + if (both) log(hi - lo) + stats::plogis(at, log.p = TRUE) + stats::plogis(-at, log.p = TRUE) else at
      inside <- inside & is.finite(x) & x > lo & x < hi
      z[, name] <- x
    }
    if (all(inside)) return(density(z) + log_slope)
    values <- rep(-Inf, nrow(z))
    if (any(inside)) values[inside] <- density(z[inside, , drop = FALSE]) + log_slope[inside]
    values
  }
  list(free = free, log_density = log_density)
}

#' @rdname evidence
#' @export
evidence.draws <- function(draws, log_posterior, ..., chains = NULL) {
  if (!requireNamespace("posterior", quietly = TRUE)) refuse("the package posterior is needed for `draws`: install it")
  table <- posterior::as_draws_df(draws)
  # Chain after chain, as the lengths say.
  table <- table[order(table$.chain, table$.iteration), ]
  lengths <- as.integer(base::table(table$.chain))
  names <- setdiff(posterior::variables(draws), c("lp__", "lp_approx__"))
  matrix <- as.matrix(as.data.frame(table)[names])
  evidence.default(matrix, log_posterior, ..., chains = unless_independent(chains %||% lengths, ...))
}

#' @rdname evidence
#' @export
evidence.mcmc.list <- function(draws, log_posterior, ..., chains = NULL) {
  matrix <- do.call(rbind, lapply(draws, as.matrix))
  evidence.default(matrix, log_posterior, ..., chains = unless_independent(vapply(draws, NROW, 0), ...))
}

#' @rdname evidence
#' @export
evidence.mcmc <- function(draws, log_posterior, ...) {
  evidence.default(as.matrix(draws), log_posterior, ...)
}

# Draws that are said to be independent have no chains.
unless_independent <- function(lengths, ..., independent = FALSE) if (independent) NULL else lengths

#' @rdname evidence
#' @param stanfit_model for a `stanfit`: another fit of the same program that is alive in this session, for fits that were
#'   saved.
#' @export
evidence.stanfit <- function(draws, log_posterior = NULL, ..., stanfit_model = draws) {
  with_constants("rstan", function() stanfit_model@stanmodel@model_code, log_posterior)
  if (!requireNamespace("rstan", quietly = TRUE)) refuse("the package rstan is needed for a `stanfit`: install it")
  parameters <- setdiff(draws@sim$pars_oi, "lp__")
  constrained <- rstan::extract(draws, pars = parameters, permuted = FALSE)
  skeleton <- lapply(draws@par_dims[parameters], function(size) if (length(size) == 0) 0 else array(0, size))
  unconstrained <- function(values) {
    at <- 0
    for (name in parameters) {
      count <- length(skeleton[[name]])
      skeleton[[name]][] <- values[at + seq_len(count)]
      at <- at + count
    }
    rstan::unconstrain_pars(stanfit_model, skeleton)
  }
  free <- apply(constrained, c(1, 2), unconstrained)
  if (length(dim(free)) == 2) dim(free) <- c(1, dim(free))
  # Chain after chain: parameters by iterations by chains.
  matrix <- t(matrix(free, nrow = dim(free)[1]))
  colnames(matrix) <- paste0("z", seq_len(ncol(matrix)))
  own <- function(z) rstan::log_prob(stanfit_model, as.double(z), adjust_transform = TRUE, gradient = FALSE)
  evidence.default(matrix, rejecting(own, matrix[1, ]), ..., vectorized = FALSE, chains = unless_independent(rep(dim(free)[2], dim(free)[3]), ...))
}

#' @rdname evidence
#' @export
evidence.CmdStanMCMC <- function(draws, log_posterior = NULL, ...) {
  with_constants("cmdstanr", function() draws$code(), log_posterior)
  free <- tryCatch(draws$unconstrain_draws(), error = function(e) {
    refuse("the model's methods are missing: compile it with `compile_model_methods = TRUE` (", conditionMessage(e), ")")
  })
  # A list over chains of lists over draws.
  matrix <- do.call(rbind, lapply(free, function(chain) do.call(rbind, chain)))
  colnames(matrix) <- paste0("z", seq_len(ncol(matrix)))
  own <- function(z) draws$log_prob(as.double(z), jacobian = TRUE)
  evidence.default(matrix, rejecting(own, matrix[1, ]), ..., vectorized = FALSE, chains = unless_independent(lengths(free), ...))
}

# Refuses a fit whose own log-density lacks constants, as far as the text of its program is at hand (fits read from files have none).
with_constants <- function(package, program, log_posterior) {
  if (!is.null(log_posterior)) refuse("a fit of ", package, " brings its log-density: leave `log_posterior` out, or give the draws as a matrix")
  text <- tryCatch(paste(as.character(program()), collapse = "\n"), error = function(e) "")
  if (drops_constants(text)) {
    refuse(
      package, " leaves the constants of statements with `~` and of functions with `_lupdf` out of the log-density, and the evidence would ",
      "lack them: write `target += normal_lpdf(y | mu, sigma)` for `y ~ normal(mu, sigma)`"
    )
  }
}

# Whether a Stan program has statements whose constants are left out, outside of its comments.
drops_constants <- function(program) {
  code <- gsub("(?s)//[^\n]*|#[^\n]*|/\\*.*?\\*/", "", program, perl = TRUE)
  grepl("~|_lup[dm]f\\b", code, perl = TRUE)
}

# A log-density of Stan: an error is its way to reject a point, where there is no density; at a draw it is an error.
rejecting <- function(log_prob, draw) {
  log_prob(draw)
  function(z) tryCatch(log_prob(z), error = function(e) -Inf)
}

#' Bayes factors, posterior probabilities and errors of evidence
#'
#' The functions of the package bridgesampling, for results of [evidence()]; results of that package are handed to it.
#'
#' `bf()` is the Bayes factor of the first model over the second, `post_prob()` the posterior probabilities of models, and
#' `compare_evidence()` a table of both with standard errors, which are independent between models. `error_measures()` has
#' the relative mean squared error, the coefficient of variation and the percentage error of the marginal likelihood.
#'
#' @param x,x1,x2,bridge_object results of [evidence()] or [log_z()].
#' @param log whether the logarithm of the Bayes factor is wanted.
#' @param ... further results; for `compare_evidence()` by the names of the models.
#' @param prior_prob probabilities of the models before the data; equal by default.
#' @param model_names names of the models.
#' @return `logml()` a number; `bf()` a list with `bf` and `log`, and `se`, `lower` and `upper` of the logarithm; `post_prob()` a
#'   named vector; `error_measures()` a list with `re2`, `cv` and `percentage`; `compare_evidence()` a data frame, the best
#'   model first.
#' @examples
#' draws <- cbind(x = stats::rnorm(2000))
#' thrice <- evidence(draws, function(x) log(3) - x[, "x"]^2 / 2, independent = TRUE)
#' once <- evidence(draws, function(x) -x[, "x"]^2 / 2, independent = TRUE)
#' bf(thrice, once)
#' post_prob(thrice, once)
#' error_measures(once)
#' compare_evidence(thrice = thrice, once = once)
#' @rawNamespace S3method(bridgesampling::logml, noisewright_normalizer)
#' @rawNamespace S3method(bridgesampling::error_measures, noisewright_normalizer)
#' @rawNamespace S3method(bridgesampling::bf, noisewright_normalizer)
#' @rawNamespace S3method(bridgesampling::post_prob, noisewright_normalizer)
#' @export
logml <- function(x, ...) UseMethod("logml")

#' @rdname logml
#' @export
logml.noisewright_normalizer <- function(x, ...) x$log_z

#' @export
logml.default <- function(x, ...) of_bridgesampling("logml")(x, ...)

#' @rdname logml
#' @export
error_measures <- function(bridge_object, ...) UseMethod("error_measures")

#' @rdname logml
#' @export
error_measures.noisewright_normalizer <- function(bridge_object, ...) {
  se <- bridge_object$se
  list(re2 = se^2, cv = se, percentage = paste0(format(100 * se, digits = 2), "%"))
}

#' @export
error_measures.default <- function(bridge_object, ...) of_bridgesampling("error_measures")(bridge_object, ...)

#' @rdname logml
#' @export
bf <- function(x1, x2, log = FALSE, ...) UseMethod("bf")

#' @rdname logml
#' @export
bf.noisewright_normalizer <- function(x1, x2, log = FALSE, ...) {
  if (!inherits(x2, "noisewright_normalizer")) refuse("`x2` must be a result of evidence() or log_z(), not ", class(x2)[1])
  factor <- x1$log_z - x2$log_z
  se <- sqrt(x1$se^2 + x2$se^2)
  # The longer of the two intervals' reaches, which few degrees of freedom make longer than the normal one.
  reaches <- vapply(list(x1, x2), function(x) if (x$se > 0) (x$upper - x$lower) / (2 * x$se) else 0, 0)
  reach <- max(reaches, stats::qnorm(0.5 + x1$confidence / 2))
  names <- vapply(as.list(match.call())[c("x1", "x2")], function(name) paste(deparse(name), collapse = ""), "")
  structure(
    list(bf = if (log) factor else exp(factor), log = log, se = se, lower = factor - reach * se, upper = factor + reach * se),
    class = "noisewright_bf", model_names = unname(names)
  )
}

#' @export
bf.default <- function(x1, x2, log = FALSE, ...) of_bridgesampling("bf")(x1, x2, log = log, ...)

#' @export
print.noisewright_bf <- function(x, ...) {
  names <- attr(x, "model_names")
  cat(
    "Estimated ", if (x$log) "log ", "Bayes factor in favor of ", names[1], " over ", names[2], ": ", format(x$bf, digits = 6),
    "\n(standard error of its logarithm ", format(x$se, digits = 3), ")\n", sep = ""
  )
  invisible(x)
}

#' @rdname logml
#' @export
post_prob <- function(x, ..., prior_prob = NULL, model_names = NULL) UseMethod("post_prob")

#' @rdname logml
#' @export
post_prob.noisewright_normalizer <- function(x, ..., prior_prob = NULL, model_names = NULL) {
  models <- list(x, ...)
  if (is.null(model_names)) {
    model_names <- vapply(as.list(substitute(list(x, ...)))[-1], function(name) paste(deparse(name), collapse = ""), "")
  }
  table <- posterior_probabilities(models, unname(model_names), prior_prob)
  setNames(table$probability, table$model)
}

#' @export
post_prob.default <- function(x, ..., prior_prob = NULL, model_names = NULL) {
  of_bridgesampling("post_prob")(x, ..., prior_prob = prior_prob, model_names = model_names)
}

#' @rdname logml
#' @export
compare_evidence <- function(..., prior_prob = NULL) {
  models <- list(...)
  if (is.null(names(models)) || !all(nzchar(names(models)))) refuse("`...` must be results by the names of the models")
  table <- posterior_probabilities(models, names(models), prior_prob)
  table <- table[order(-table$logml), ]
  best <- table[1, ]
  table$log_bf <- table$logml - best$logml
  table$log_bf_se <- ifelse(table$model == best$model, 0, sqrt(table$se^2 + best$se^2))
  rownames(table) <- NULL
  table[c("model", "logml", "se", "log_bf", "log_bf_se", "probability", "probability_se")]
}

# p_k proportional to prior_k Z_k; the logit of p_k has the variance se_k^2 + sum over the others of q_l^2 se_l^2, with q their
# shares among each other.
posterior_probabilities <- function(models, names, prior_prob) {
  if (length(models) < 2) refuse("at least two results are needed")
  known <- vapply(models, inherits, NA, what = "noisewright_normalizer")
  if (!all(known)) refuse("every model must be a result of evidence() or log_z(), not ", class(models[[which(!known)[1]]])[1])
  prior <- prior_prob %||% rep(1, length(models))
  if (length(prior) != length(models) || any(!is.finite(prior)) || any(prior <= 0)) refuse("`prior_prob` must be a positive number for each model")
  logml <- vapply(models, logml, 0)
  se <- vapply(models, function(model) model$se, 0)
  weight <- logml + log(prior)
  p <- exp(weight - max(weight))
  p <- p / sum(p)
  logit_se <- vapply(seq_along(p), function(k) {
    others <- exp(weight[-k] - max(weight[-k]))
    sqrt(se[k]^2 + sum((others / sum(others))^2 * se[-k]^2))
  }, 0)
  data.frame(model = names, logml = logml, se = se, probability = p, probability_se = p * (1 - p) * logit_se)
}

# A function of the package bridgesampling, for its own objects.
of_bridgesampling <- function(name) {
  if (!requireNamespace("bridgesampling", quietly = TRUE)) {
    refuse("this is no result of noisewright; for those of bridgesampling that package is needed")
  }
  getExportedValue("bridgesampling", name)
}

#' Generic functions for normalizing constants
#'
#' The methods of results of [evidence()], [log_z()] and [mbar()]: estimates, their covariance, intervals, the number of draws, a
#' summary and a picture. That of an evidence shows the estimate as draws accumulate, that of [log_z()] all estimators with their
#' intervals, and that of [mbar()] how far the states overlap.
#'
#' @param object,x a result of [evidence()], [log_z()] or [mbar()].
#' @param parm names or numbers of the wanted ones; all by default.
#' @param level the confidence of the intervals.
#' @param ... further arguments of [graphics::plot()]; otherwise not used.
#' @return What the generic function of that name gives for other models; `plot()` its argument, invisibly.
#' @examples
#' found <- evidence(cbind(x = stats::rnorm(2000)), function(x) -x[, "x"]^2 / 2, independent = TRUE)
#' coef(found)
#' confint(found)
#' nobs(found)
#' plot(found)
#' @name normalizer-methods
NULL

#' @rdname normalizer-methods
#' @export
coef.noisewright_normalizer <- function(object, ...) c(log_z = object$log_z)

#' @rdname normalizer-methods
#' @export
vcov.noisewright_normalizer <- function(object, ...) {
  matrix(object$se^2, 1, 1, dimnames = list("log_z", "log_z"))
}

#' @rdname normalizer-methods
#' @export
confint.noisewright_normalizer <- function(object, parm, level = object$confidence, ...) {
  ends <- c(object$lower, object$upper)
  if (!isTRUE(all.equal(level, object$confidence)) && is.finite(object$se) && object$se > 0) {
    reach <- wider((object$upper - object$lower) / (2 * object$se), from = object$confidence, to = level)
    ends <- object$log_z + c(-1, 1) * reach * object$se
  }
  matrix(ends, 1, dimnames = list("log_z", percents(level)))
}

# The names of the two ends of an interval.
percents <- function(level) {
  sides <- c((1 - level) / 2, 1 - (1 - level) / 2)
  paste0(format(100 * sides, trim = TRUE, digits = 3), " %")
}

#' @rdname normalizer-methods
#' @export
nobs.noisewright_normalizer <- function(object, ...) {
  as.integer(if (inherits(object, "noisewright_evidence")) object$draws else object$data$draws)
}

#' @rdname normalizer-methods
#' @export
plot.noisewright_normalizer <- function(x, ...) {
  if (inherits(x, "noisewright_evidence") && length(x$trace) > 0) {
    step <- function(name) vapply(x$trace, function(point) as.double(point[[name]]), 0)
    at <- step("draws")
    middle <- step("log_evidence")
    labels <- list(xlab = "draws used", ylab = "log evidence")
    errors <- stats::qnorm(0.975) * step("se")
    low <- middle - errors
    high <- middle + errors
  } else {
    at <- seq_along(x$estimates$log_z)
    middle <- x$estimates$log_z
    low <- x$estimates$lower
    high <- x$estimates$upper
    labels <- list(xlab = "estimator", ylab = "log Z", xaxt = "n")
  }
  ends <- range(c(low, middle, high)[is.finite(c(low, middle, high))])
  do.call(graphics::plot, utils::modifyList(c(list(at, middle, ylim = ends, pch = 19), labels), list(...)))
  known <- is.finite(low) & is.finite(high)
  graphics::segments(at[known], low[known], at[known], high[known])
  if (identical(labels$xaxt, "n")) graphics::axis(1, at, rownames(x$estimates))
  invisible(x)
}

#' @rdname normalizer-methods
#' @export
summary.log_z <- function(object, ...) object$estimates

#' @rdname normalizer-methods
#' @export
summary.noisewright_evidence <- function(object, ...) {
  error <- error_measures(object)
  data.frame(
    Logml_Estimate = object$log_z, Relative_Mean_Squared_Error = error$re2, Coefficient_of_Variation = error$cv,
    Percentage_Error = error$percentage, Method = object$recommended, Repetitions = 1
  )
}
