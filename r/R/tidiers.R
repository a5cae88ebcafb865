# Results as data frames, for the generic functions of the package generics (and broom).

#' @export
generics::tidy
#' @export
generics::glance
#' @export
generics::augment

#' Fits as data frames
#'
#' `tidy()` has a row for every parameter, `glance()` one row for the fit, and `augment()` the data with the fitted
#' log-density and its standard error.
#'
#' @param x a result of [nce()].
#' @param conf.int whether intervals are wanted.
#' @param conf.level their confidence.
#' @param constant whether the constant is wanted too.
#' @param data,newdata the rows that are augmented; those of the fit by default.
#' @param ... not used.
#' @return A data frame.
#' @examples
#' fit <- nce(~ x + I(x^2), data.frame(x = faithful$eruptions))
#' tidy(fit, conf.int = TRUE)
#' glance(fit)
#' head(augment(fit))
#' @name nce-tidiers
#' @aliases tidy.nce
NULL

#' @rdname nce-tidiers
#' @export
tidy.nce <- function(x, conf.int = FALSE, conf.level = 0.95, constant = FALSE, ...) {
  table <- x$estimates[asked(x, constant), ]
  z <- table$estimate / table$se
  out <- data.frame(
    term = read_names(x, rownames(table)), estimate = table$estimate, std.error = table$se, statistic = z,
    p.value = 2 * stats::pnorm(-abs(z))
  )
  if (conf.int) {
    ends <- confint(x, level = conf.level, constant = constant)
    out$conf.low <- unname(ends[, 1])
    out$conf.high <- unname(ends[, 2])
  }
  out
}

#' @rdname nce-tidiers
#' @export
glance.nce <- function(x, ...) {
  likelihood <- logLik(x)
  data.frame(
    nobs = x$rows, df = attr(likelihood, "df"), logLik = as.double(likelihood), AIC = stats::AIC(likelihood),
    BIC = stats::BIC(likelihood), log_normalizer = x$log_normalizer$estimate %||% NA_real_, loss = x$loss,
    nu = x$nu %||% NA_real_, noise.points = x$noise_points, converged = x$converged, iterations = x$iterations,
    method = x$method
  )
}

#' @rdname nce-tidiers
#' @export
augment.nce <- function(x, data = NULL, newdata = NULL, ...) {
  rows <- newdata %||% data %||% as.data.frame(x$data)
  there <- predict(x, rows, se.fit = TRUE)
  out <- as.data.frame(rows)
  out$.fitted <- there$fit
  out$.se.fit <- there$se.fit
  out
}
