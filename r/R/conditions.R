# Conditions: what goes wrong, with the class and the code under which programs find it.

# Raises an error of a class; `code` is the library's.
raise <- function(class, sentence, code = class, parent = NULL) {
  classes <- c(input = "noisewright_input_error", model = "noisewright_model_error",
    "function" = "noisewright_function_error", no_answer = "noisewright_no_answer",
    internal = "noisewright_internal_error")
  stop(structure(
    class = c(classes[[class]], "noisewright_error", "error", "condition"),
    list(message = sentence, call = NULL, code = code, parent = parent)
  ))
}

# A wrong argument.
refuse <- function(...) raise("input", paste0(...))

# Says a warning aloud.
warn <- function(sentence, code) {
  warning(structure(
    class = c("noisewright_warning", "warning", "condition"),
    list(message = sentence, call = NULL, code = code)
  ))
}

# The warnings of a fit, each with its code.
warn_of_fit <- function(answer) {
  codes <- vapply(answer$diagnostics$warnings, function(w) w$code %||% "warning", "")
  for (i in seq_along(answer$warnings)) {
    warn(answer$warnings[[i]], codes[i])
  }
}

`%||%` <- function(x, y) if (is.null(x)) y else x
