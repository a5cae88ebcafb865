#' Noise-contrastive estimation, normalizing constants and evidence
#'
#' [nce()] fits a model that is known up to its normalizing constant; [evidence()], [log_z()] and [mbar()] find normalizing
#' constants from draws; [noise_error()] says what a design would cost, and [design_noise()] finds the best one.
#'
#' Results have the fields of the JSON that the command `noisewright` prints, with the same numbers to the last bit for the
#' same seed, whatever the number of threads.
#'
#' @section Threads:
#' Computations use as many threads as there are cores. `options(noisewright.threads = 2)` or the environment variable
#' `RAYON_NUM_THREADS` sets another number; `OMP_THREAD_LIMIT` and the limit of `R CMD check` are kept to.
#'
#' @section Errors and warnings:
#' Errors are conditions of the class `noisewright_error`, and of one of `noisewright_input_error`,
#' `noisewright_model_error`, `noisewright_function_error`, `noisewright_no_answer` and `noisewright_internal_error`. Warnings
#' are of the class `noisewright_warning`. Both have a field `code`, the name under which programs find what is wrong.
#'
#' @keywords internal
#' @useDynLib noisewright, .registration = TRUE
#' @importFrom generics tidy glance augment
#' @importFrom stats coef confint logLik nobs predict printCoefmat setNames simulate vcov
"_PACKAGE"
