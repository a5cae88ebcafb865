# Designs: what a noise costs, and the best one.

#' The error of a design
#'
#' The asymptotic error of estimating a model with a noise, before any data are drawn: times the budget of data and noise
#' points together.
#'
#' @param model an [nce_model()], a formula, or the path of a model file.
#' @param noise the noise in words, or a result of [design_noise()].
#' @param nu noise points per data point.
#' @param at where the model is true: parameters by name, or a result of [nce()]; the start values by default.
#' @param loss,loss_ratio as for [nce()].
#' @param target `"mse"` (all coordinates), `"kl"`, or names of parameters.
#' @param data a sample, for noises that are fitted to data, and for expectations.
#' @param expectations `"model"`: integrals over the model; `"data"`: averages over the data; `"auto"`: the model's.
#' @param log_normalizer the model's log Z, where expectations are the data's and it is known.
#' @param accuracy relative accuracy asked of the integrals.
#' @param draws draws where the space is too large for quadrature and enumeration.
#' @param seed seed of those draws.
#' @return An object of class `noise_error`: a list with the fields of the command's JSON, among them `error`, `covariance`,
#'   `cramer_rao` and `efficiency`.
#' @examples
#' model <- nce_model("-(x - m)^2/2", parameters = c(m = 0))
#' noise_error(model, "normal(0, 1)", nu = 1)$error # 4, exactly
#' @export
noise_error <- function(model, noise = "auto", nu = 1, at = NULL, loss = "js", loss_ratio = "auto", target = "mse",
                        data = NULL, expectations = c("auto", "model", "data"), log_normalizer = NULL, accuracy = 1e-10,
                        draws = 131072, seed = 0) {
  model <- as_model(model, data)
  expectations <- match.arg(expectations)
  settings <- list(
    nu = number(nu, "nu"), loss = words(loss, "loss"), loss_ratio = or_auto(loss_ratio, "loss_ratio"),
    target = paste(target, collapse = ",")
  )
  asked <- question(model, at, data, expectations == "data", log_normalizer, accuracy, draws, seed)
  answer <- run_job("error", c(asked, list(noise = noise_request(noise), settings = settings)), model$functions)
  structure(answer, class = "noise_error")
}

# What both ask alike.
question <- function(model, at, data, on_data, log_normalizer, accuracy, draws, seed) {
  if (on_data && is.null(data)) refuse("`data` are missing: expectations cannot be averages over them")
  if (!is.null(log_normalizer) && !on_data) {
    refuse("`log_normalizer` has no meaning where expectations are the model's: leave it out")
  }
  list(
    model = model$request, at = values_at(at, model),
    data = if (!is.null(data)) as_rows(rows_of(data, model$variables)),
    question = list(
      parameters = double(), on_data = on_data, log_normalizer = maybe(log_normalizer, number, "log_normalizer"),
      accuracy = number(accuracy, "accuracy"), draws = whole(draws, "draws", 1), seed = whole(seed, "seed")
    )
  )
}

#' The best noise
#'
#' The noise and the proportion of it that minimise the error of a fit for a budget.
#'
#' @inheritParams noise_error
#' @param data a sample of the data: expectations are then averages over it, in any dimension.
#' @param noise what to optimise: `"optimal"` (over all noises), a family with free places such as `"normal(?, ?)"`,
#'   `"histogram(bins, lo, hi)"`, `"mixture"`, or a noise (its best `nu`).
#' @param nu noise points per data point, or `"auto"` for the best.
#' @param at where the model is true, as for [noise_error()]; with data and nothing said, where a fit to them ends.
#' @param price_data,price_noise prices of a data point and of a noise point.
#' @param efficiency with the data given: how much noise until the error is within this share of what endless noise gives.
#' @param expectations `"model"` or `"data"`; `"auto"`: the data's where there are any.
#' @return An object of class `noise_design`: a list with the fields of the command's JSON, among them `error`, `nu`,
#'   `noise_proportion`, `gap`. It can be given to [nce()] and [noise_error()] as the noise.
#' @examples
#' model <- nce_model("-(x - m)^2/2", parameters = c(m = 0))
#' best <- design_noise(model, nu = 1)
#' best
#' nce(model, data.frame(x = stats::rnorm(500)), noise = best, nu = 1)
#' @export
design_noise <- function(model, data = NULL, noise = "optimal", nu = "auto", at = NULL, target = "mse", price_data = 1,
                         price_noise = 1, efficiency = NULL, expectations = c("auto", "model", "data"),
                         log_normalizer = NULL, accuracy = 1e-10, draws = 131072, seed = 0) {
  model <- as_model(model, data)
  expectations <- match.arg(expectations)
  on_data <- expectations == "data" || (expectations == "auto" && !is.null(data))
  if (is.null(at) && !is.null(data)) at <- suppressWarnings(nce(model, data, seed = seed), classes = "noisewright_warning")
  # A function is integrated nowhere: its constant is the fit's.
  if (on_data && is.null(log_normalizer) && !is.null(model$functions) && inherits(at, "nce")) {
    log_normalizer <- at$log_normalizer$estimate
  }
  settings <- list(
    nu = or_auto(nu, "nu"), target = paste(target, collapse = ","), price_data = number(price_data, "price_data"),
    price_noise = number(price_noise, "price_noise"), efficiency = maybe(efficiency, number, "efficiency")
  )
  asked <- question(model, at, data, on_data, log_normalizer, accuracy, draws, seed)
  answer <- run_job("design", c(asked, list(noise = noise_request(noise), settings = settings)), model$functions)
  structure(answer, class = "noise_design")
}

#' @export
print.noise_error <- function(x, digits = 6, ...) {
  cat("error times T = ", format(x$error, digits = digits), " with noise ", short(x$noise), ", nu = ", format(x$nu), ", loss ", x$loss, "\n", sep = "")
  if (!is.null(x$efficiency)) cat("efficiency ", format(100 * x$efficiency, digits = 4), "%: Cramer-Rao over error\n", sep = "")
  if (!is.null(x$infinite)) cat("The error is infinite: ", x$infinite, "\n", sep = "")
  invisible(x)
}

#' @export
print.noise_design <- function(x, digits = 6, ...) {
  cat("The best noise for ", x$target, "\n\n", sep = "")
  print(data.frame(
    nu = c(x$nu, x$nu, 1), error = c(x$error, x$error_noise_equals_data, x$error_conventional),
    row.names = c(x$kind, "noise = data", "noise = data, half and half")
  ), digits = digits)
  for (remark in x$remarks) cat(remark, "\n", sep = "")
  invisible(x)
}

#' @export
plot.noise_design <- function(x, ...) {
  if (is.null(x$grid)) refuse("there is a picture for one continuous variable only")
  settings <- list(x = x$grid$x, y = x$grid$data_density, type = "l", lwd = 2, xlab = "x", ylab = "density", ylim = c(0, max(x$grid$data_density, x$grid$density)))
  do.call(graphics::plot, utils::modifyList(settings, list(...)))
  graphics::lines(x$grid$x, x$grid$density, lty = 2)
  graphics::legend("topright", c("data", "noise"), lty = 1:2, lwd = 2:1, bty = "n")
  invisible(x)
}
