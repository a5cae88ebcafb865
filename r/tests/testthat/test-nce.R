# Fits: against closed forms and maximum likelihood.

test_that("a normal model has the mean and the variance of the data", {
  set.seed(1)
  x <- rnorm(2000, 3, 2)
  fit <- nce(~ x + I(x^2), data.frame(x = x), noise = "exact")
  # log p = t1 x + t2 x^2: the variance is -1/(2 t2), the mean t1 times that, as maximum likelihood has them.
  variance <- mean((x - mean(x))^2)
  expect_equal(coef(fit)[["I(x^2)"]], -1 / (2 * variance), tolerance = 1e-6)
  expect_equal(coef(fit)[["x"]], mean(x) / variance, tolerance = 1e-6)
  expect_equal(as.double(logLik(fit)), sum(dnorm(x, mean(x), sqrt(variance), log = TRUE)), tolerance = 1e-8)
  noisy <- nce(~ x + I(x^2), data.frame(x = x))
  expect_lt(max(abs(coef(noisy) - coef(fit)) / noisy$estimates$se_noise[1:2]), 4)
  expect_equal(as.double(logLik(noisy)), as.double(logLik(fit)), tolerance = 1e-3)
})

test_that("the methods agree with each other", {
  data <- old_faithful()
  fit <- nce(~ x + I(x^2) + I(x^3) + I(x^4), data)
  expect_identical(nobs(fit), 272L)
  expect_equal(sqrt(diag(vcov(fit))), setNames(fit$estimates$se[1:4], names(coef(fit))), tolerance = 1e-12)
  expect_identical(dim(vcov(fit, constant = TRUE)), c(5L, 5L))
  expect_equal(unname(confint(fit)), unname(as.matrix(fit$estimates[1:4, c("lower", "upper")])))
  expect_true(all(confint(fit, level = 0.9)[, 1] > confint(fit)[, 1]))
  # An interval of another confidence is that of a fit with that confidence.
  again <- nce(~ x + I(x^2) + I(x^3) + I(x^4), data, confidence = 0.9)
  expect_equal(unname(confint(fit, level = 0.9)), unname(confint(again)), tolerance = 1e-8)
  expect_identical(dim(confint(fit, "x")), c(1L, 2L))
  expect_equal(stats::AIC(fit), 2 * 4 - 2 * as.double(logLik(fit)))
  density <- function(x) predict(fit, data.frame(x = x), type = "density")
  expect_equal(stats::integrate(density, -6, 6)$value, 1, tolerance = 0.1)
  bands <- predict(fit, data.frame(x = c(-1, 0)), interval = "confidence", se.fit = TRUE)
  expect_true(all(bands$fit[, "lwr"] < bands$fit[, "fit"] & bands$fit[, "fit"] < bands$fit[, "upr"]))
  expect_output(print(fit), "I\\(x\\^4\\)")
  expect_output(print(summary(fit)), "Std. Error")
  drawn <- simulate(fit, 500, seed = 2)
  expect_identical(dim(drawn), c(500L, 1L))
  expect_lt(abs(mean(drawn$x) - mean(data$x)), 5 * stats::sd(data$x) / sqrt(500))
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  plot(fit)
  expect_warning(
    gaussian <- nce(nce_model(family = "gaussian", variables = c("eruptions", "waiting")), faithful),
    class = "noisewright_warning"
  )
  plot(gaussian)
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  unlink(file)
})

test_that("warnings have a class and a code", {
  # Two modes are not normal.
  caught <- NULL
  withCallingHandlers(nce(~ x + I(x^2), old_faithful()), noisewright_warning = function(w) {
    caught <<- w
    invokeRestart("muffleWarning")
  })
  expect_match(conditionMessage(caught), "does not fit the data")
  expect_identical(caught$code, "misspecified")
})

test_that("fits are data frames for broom", {
  fit <- nce(~ x + I(x^2), data.frame(x = chain(272, 0, 1)))
  rows <- tidy(fit, conf.int = TRUE)
  expect_identical(names(rows), c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high"))
  expect_identical(rows$term, c("x", "I(x^2)"))
  expect_identical(nrow(tidy(fit, constant = TRUE)), 3L)
  expect_identical(nrow(glance(fit)), 1L)
  more <- augment(fit)
  expect_identical(nrow(more), 272L)
  expect_equal(more$.fitted, predict(fit))
})

test_that("formulas with interactions are features", {
  set.seed(2)
  data <- data.frame(x = rnorm(500), y = rnorm(500))
  fit <- nce(~ x + y + I(x^2) + I(y^2) + x:y, data, noise = "normal")
  same <- nce(nce_model(features = c("x", "y", "x^2", "y^2", "x*y"), variables = c("x", "y")), data, noise = "normal")
  expect_equal(unname(coef(fit)), unname(coef(same)), tolerance = 1e-10)
  expect_true("x:y" %in% names(coef(fit)))
})

test_that("offsets are terms without a coefficient", {
  set.seed(3)
  data <- data.frame(x = rnorm(400, 0.5))
  # x^2 with the coefficient -1/2 that it has in truth: the other one is the mean.
  fit <- nce(~ x + offset(-x^2 / 2), data, noise = "exact")
  expect_equal(coef(fit)[["x"]], mean(data$x), tolerance = 1e-6)
  written <- nce(nce_model("a*x - x^2/2", parameters = c(a = 0)), data, noise = "exact")
  expect_equal(unname(coef(fit)), unname(coef(written)), tolerance = 1e-10)
  given <- nce_model(features = "x", variables = "x", offset = "-x^2/2")
  expect_equal(coef(nce(given, data, noise = "exact")), coef(fit), tolerance = 1e-12)
  expect_error(nce_model("a*x", parameters = c(a = 0), offset = "-x^2"), "offset")
  expect_error(nce_model(features = "x", variables = "x", offset = "-x^"), class = "noisewright_model_error")
})

test_that("formulas of text, functions of R and families fit alike", {
  data <- old_faithful()
  settings <- list(data = data, noise = "normal(0, 1.2)", noise_points = 4000, draws = "random", seed = 4)
  start <- c(a = 1, b = 0.1)
  written <- do.call(nce, c(list(nce_model("a*x^2/2 - b*x^4", parameters = start, lower = c(b = 0))), settings))
  log_density <- function(x, theta) theta[["a"]] * x[, "x"]^2 / 2 - theta[["b"]] * x[, "x"]^4
  own <- do.call(nce, c(list(nce_model(log_density, variables = "x", parameters = start, lower = c(b = 0))), settings))
  score <- function(x, theta) cbind(x[, "x"]^2 / 2, -x[, "x"]^4)
  scored <- nce_model(log_density, variables = "x", parameters = start, lower = c(b = 0), score = score)
  scored <- do.call(nce, c(list(scored), settings))
  # The same noise and the same data: the same root, up to where the descents end (1e-6 standard errors each).
  expect_lt(max(abs(coef(own) - coef(written)) / written$estimates$se[1:2]), 1e-4)
  expect_lt(max(abs(coef(scored) - coef(written)) / written$estimates$se[1:2]), 1e-4)
  expect_equal(predict(own, data.frame(x = 1)), predict(written, data.frame(x = 1)), tolerance = 1e-6)
  derived <- derived(written, ratio = "b/a")
  expect_equal(derived$estimate, coef(written)[["b"]] / coef(written)[["a"]])
  expect_lt(wald(written, "a = 0")$p_value, 1)
})

test_that("what cannot be fitted is refused with a class and a code", {
  data <- old_faithful()
  expect_error(nce(y ~ x, data), class = "noisewright_input_error")
  expect_error(nce(~z, data), "no column z", class = "noisewright_input_error")
  expect_error(nce(~x, data.frame(x = c(1, NA))), "row 2 of x is missing")
  expect_error(nce(~x, data.frame(x = c("a", "b"))), "numeric")
  expect_error(nce(~ sinn(x), data), class = "noisewright_model_error")
  expect_error(nce(~x, data, nu = "many"), class = "noisewright_input_error")
  expect_error(nce(~x, data, noise = "norml"), class = "noisewright_input_error")
  expect_error(nce(~ x + I(x^2), data, noise = "exact", nu = 3), class = "noisewright_input_error")
  expect_error(nce_model(), class = "noisewright_input_error")
  expect_error(nce_model(file = "nowhere.toml"), class = "noisewright_model_error")
  # exp(x) has no integral over the real line: there is no answer.
  condition <- tryCatch(nce(~x, data), error = identity)
  expect_s3_class(condition, "noisewright_error")
  expect_s3_class(condition, "noisewright_no_answer")
  expect_true(nzchar(condition$code) && condition$code != "no-answer")
  own <- nce_model(function(x, theta) stop("no luck"), variables = "x", parameters = c(m = 0))
  condition <- tryCatch(nce(own, data), error = identity)
  expect_s3_class(condition, "noisewright_function_error")
  expect_match(conditionMessage(condition), "no luck")
  wrong <- nce_model(function(x, theta) 1, variables = "x", parameters = c(m = 0))
  expect_error(nce(wrong, data), "must return one number for each", class = "noisewright_function_error")
})

test_that("weights, clusters and chains are taken", {
  set.seed(3)
  x <- rnorm(300)
  twice <- nce(~ x + I(x^2), data.frame(x = c(x, x)), noise = "exact")
  weighted <- nce(~ x + I(x^2), data.frame(x = x), noise = "exact", weights = rep(2, 300))
  expect_equal(coef(weighted), coef(twice), tolerance = 1e-8)
  paired <- nce(~ x + I(x^2), data.frame(x = c(x, x)), noise = "exact", clusters = rep(1:300, 2))
  expect_gt(paired$estimates$se[1], 1.3 * twice$estimates$se[1])
  walk <- nce(~ x + I(x^2), data.frame(x = chain(4000, 0.8, 4)), chains = 4)
  expect_lt(walk$effective_rows, 2000)
})

# What becomes of an expression that an interrupt comes upon, from another process, and how many seconds it takes.
interrupted <- function(expression) {
  skip_on_os("windows")
  started <- proc.time()[["elapsed"]]
  system(paste("(sleep 0.5; kill -INT", Sys.getpid(), ") &"))
  ended <- tryCatch({ force(expression); "finished" }, interrupt = function(i) "interrupted")
  expect_identical(ended, "interrupted")
  expect_lt(proc.time()[["elapsed"]] - started, 5)
}

test_that("an interrupt ends a computation soon", {
  interrupted(nce(~ x + I(x^2), data.frame(x = chain(2000, 0, 2)), bootstrap = 1e6))
  slow <- nce_model(function(x, theta) { Sys.sleep(0.02); -(x[, 1] - theta[["m"]])^2 }, variables = "x", parameters = c(m = 0))
  interrupted(for (i in 1:200) nce(slow, data.frame(x = chain(500, 0, i)), seed = i))
  # And the next one is as good as ever.
  expect_s3_class(nce(~ x + I(x^2), data.frame(x = chain(300, 0, 3))), "nce")
})
