# Models: a log-density up to a constant, from a formula, features, a family, a file, or functions.

#' A model that is known up to its normalizing constant
#'
#' Describes `log p(x) = u(x; theta) - c` by exactly one of a formula or an R function (`log_density`), `features`, a `family`,
#' or a model `file`.
#'
#' Formulas have numbers, `+ - * / ^`, parentheses, `pi`, and exp, log, log1p, expm1, sqrt, abs, sin, cos, tan, tanh, atan,
#' sigmoid, softplus, logcosh, lgamma, min, max, erf. They are differentiated exactly and run in parallel; R functions are
#' called with many points at once in R's own thread, and are differentiated by finite differences unless `score` is given.
#'
#' @param log_density a formula in text, such as `"-a*x^2/2 - b*x^4"`, or a function of `x`, a matrix of one row per point
#'   with the variables as columns, and `theta`, the parameters by name, that returns one number per row.
#' @param variables names of the variables, columns of the data. By default all names of the formula that are not parameters.
#' @param parameters start values by name; for features, families and files by default those that they have.
#' @param lower,upper bounds of parameters, by name.
#' @param features formulas whose sum with one parameter each is the log-density: an exponential family.
#' @param offset beside `features`, a formula of the variables and covariates that is added to their sum and has no parameter. (In a
#'   `log_density` a term without parameters is one.)
#' @param family the name of a built-in family, such as `"gaussian"`, `"ising"` or `"von-mises"`.
#' @param file the path of a model file (TOML), the same that the command reads.
#' @param domain `"real"`, `"positive"`, `"circle"`, `"counts"`, `c(lo, hi)`, or `list(states = c(...))` for all variables, a
#'   list of those by variable, or `"sphere"`.
#' @param normalized whether the density integrates to one, so that no constant is estimated.
#' @param covariates names of columns that the density is given: `p(y | z)`.
#' @param score for a function: its derivatives, a function of `x` and `theta` that returns one row per point and one column
#'   per parameter.
#' @param options for a family: its own options by name, such as `list(degree = 4)` or `list(states = c(0, 1))`.
#' @param fixed parameters that are held at values, by name.
#' @param constraints linear equations between parameters, such as `"a + b = 1"`.
#' @return An object of class `nce_model`, for [nce()], [evidence()], [noise_error()] and [design_noise()].
#' @examples
#' nce_model("-a*x^2/2 - b*x^4", parameters = c(a = 1, b = 0.1), lower = c(b = 0))
#' nce_model(features = c("x", "x^2"), variables = "x")
#' nce_model(features = "y", variables = "y", domain = "counts", offset = "-lgamma(y + 1)")
#' nce_model(family = "gaussian", variables = c("x", "y"))
#' nce_model(function(x, theta) -(x[, "x"] - theta["m"])^2 / 2, variables = "x", parameters = c(m = 0))
#' @export
nce_model <- function(log_density = NULL, variables = NULL, parameters = NULL, lower = NULL, upper = NULL, features = NULL,
                      family = NULL, file = NULL, domain = NULL, normalized = FALSE, covariates = NULL, score = NULL,
                      options = list(), fixed = NULL, constraints = NULL, offset = NULL) {
  given <- c(log_density = !is.null(log_density), features = !is.null(features), family = !is.null(family), file = !is.null(file))
  if (sum(given) != 1) refuse("exactly one of `log_density`, `features`, `family` and `file` describes a model")
  if (!is.null(offset) && is.null(features)) refuse("`offset` stands beside `features` alone: write it into the log-density")
  held <- list(fixed = by_name(fixed, "fixed"), constraints = as.list(as.character(constraints)))
  if (is.function(log_density)) {
    return(function_model(log_density, score, variables, parameters, lower, upper, domain, normalized, held))
  }
  if (!is.null(score)) refuse("`score` is for functions, and has no meaning here: leave it out")
  if (!is.null(file)) {
    if (!file.exists(file)) raise("model", paste0("`file`: ", file, " cannot be read"))
    text <- paste(readLines(file, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
    return(described(list(text = text), held))
  }
  if (!is.null(log_density)) {
    words(log_density, "log_density")
    if (is.null(variables)) variables <- setdiff(names_in(log_density), c(names(parameters), covariates))
    head <- c(log_density = toml_text(log_density))
  } else if (!is.null(features)) {
    head <- c(features = toml_list(vapply(features, toml_text, "")))
    if (!is.null(offset)) {
      words(offset, "offset")
      head <- c(head, offset = toml_text(offset))
    }
  } else {
    head <- c(family = toml_text(family), vapply(options, toml_value, ""))
  }
  text <- model_text(head, variables, parameters, lower, upper, domain, normalized, covariates)
  described(list(text = text), held)
}

# The names in a formula that are no functions.
names_in <- function(formula) {
  parsed <- tryCatch(parse(text = formula, keep.source = FALSE), error = function(e) NULL)
  if (is.null(parsed)) raise("model", paste0("`log_density` cannot be read: ", formula))
  setdiff(all.vars(parsed), "pi")
}

# A model with what the library says of it.
described <- function(core, held) {
  request <- c(core, held)
  request <- list(text = request$text, "function" = request[["function"]], fixed = request$fixed, constraints = request$constraints)
  about <- run_job("describe", request)
  structure(
    list(
      request = request, variables = as.character(about$variables), covariates = as.character(about$covariates),
      domains = as.character(about$domains), parameters = setNames(as.double(about$start), as.character(about$parameters)),
      lower = as.double(about$lower), upper = as.double(about$upper), normalized = about$normalized,
      coordinates = as.character(about$coordinates), labels = NULL, functions = NULL
    ),
    class = "nce_model"
  )
}

function_model <- function(log_density, score, variables, parameters, lower, upper, domain, normalized, held) {
  if (is.null(variables)) refuse("`variables` is missing: a function does not say the names of its variables")
  bound <- function(bounds, usual) {
    values <- setNames(rep(usual, length(parameters)), names(parameters))
    values[names(bounds)] <- as.double(bounds)
    as.double(values)
  }
  domains <- Map(function(d) list(d$word, as.double(d$numbers)), domains_of(domain, variables))
  by_name(parameters, "parameters")
  request <- list(
    variables = as.list(variables), domains = unname(domains), parameters = as.list(names(parameters)),
    start = as.double(parameters), lower = bound(lower, -Inf), upper = bound(upper, Inf), score = !is.null(score),
    normalized = flag(normalized, "normalized")
  )
  model <- described(list("function" = request), held)
  model$functions <- list(log_density = log_density, score = score, variables = variables, parameters = names(parameters))
  model
}

# The domain of every variable: a word and its numbers.
domains_of <- function(domain, variables) {
  one <- function(d) {
    if (is.character(d) && length(d) == 1) return(list(word = d, numbers = double()))
    if (is.list(d) && identical(names(d), "states")) return(list(word = "states", numbers = as.double(d$states)))
    if (is.numeric(d) && length(d) == 2) return(list(word = "interval", numbers = as.double(d)))
    raise("model", paste0("`domain` cannot be ", shown(d), "; use real, positive, circle, counts, c(lo, hi) or list(states = ...)"))
  }
  if (is.null(domain)) domain <- "real"
  if (is.list(domain) && !identical(names(domain), "states")) {
    unknown <- setdiff(names(domain), variables)
    if (length(unknown) > 0) raise("model", paste0("`domain` names `", unknown[1], "`, which is not among the variables ", paste(variables, collapse = ", ")))
    return(lapply(setNames(variables, variables), function(name) one(domain[[name]] %||% "real")))
  }
  lapply(setNames(variables, variables), function(name) one(domain))
}

# The text of a model file.
model_text <- function(head, variables, parameters, lower, upper, domain, normalized, covariates) {
  if (length(variables) == 0) raise("model", "`variables` is missing: name the columns of the data")
  lines <- paste0("variables = ", toml_list(vapply(variables, toml_text, "")))
  if (identical(domain, "sphere")) {
    lines <- c(lines, paste0("sphere = ", toml_list(vapply(variables, toml_text, ""))))
  } else if (!is.null(domain)) {
    words <- domains_of(domain, variables)
    lines <- c(lines, paste0("domain = { ", paste0(vapply(names(words), toml_text, ""), " = ", vapply(words, toml_domain, ""), collapse = ", "), " }"))
  }
  if (length(covariates) > 0) lines <- c(lines, paste0("covariates = ", toml_list(vapply(covariates, toml_text, ""))))
  if (normalized) lines <- c(lines, "normalized = true")
  lines <- c(paste0(names(head), " = ", head), lines)
  if (length(parameters) == 0) {
    return(paste(lines, collapse = "\n"))
  }
  line <- function(name) {
    start <- parameters[[name]]
    if (is.character(start)) return(paste0(toml_text(name), " = ", toml_text(start)))
    bound <- function(bounds, usual) if (name %in% names(bounds)) bounds[[name]] else usual
    paste0(
      toml_text(name), " = { start = ", toml_number(start), ", lower = ", toml_number(bound(lower, -Inf)), ", upper = ",
      toml_number(bound(upper, Inf)), " }"
    )
  }
  if (is.null(names(parameters))) refuse("`parameters` must have a name for every value")
  paste(c(lines, "[parameters]", vapply(names(parameters), line, "")), collapse = "\n")
}

toml_text <- function(text) {
  escaped <- gsub("\"", "\\\"", gsub("\\", "\\\\", text, fixed = TRUE), fixed = TRUE)
  paste0("\"", gsub("\n", "\\n", escaped, fixed = TRUE), "\"")
}

toml_number <- function(value) {
  if (is.infinite(value)) return(if (value > 0) "inf" else "-inf")
  # Seventeen digits tell every number from its neighbours.
  text <- formatC(number(value, "parameters"), digits = 17, format = "g")
  if (grepl("[.e]", text)) text else paste0(text, ".0")
}

toml_list <- function(items) paste0("[", paste(items, collapse = ", "), "]")

toml_domain <- function(domain) {
  listed <- toml_list(vapply(domain$numbers, toml_number, ""))
  switch(domain$word, interval = listed, states = paste0("{ states = ", listed, " }"), toml_text(domain$word))
}

# An option of a family.
toml_value <- function(value) {
  if (is.character(value)) return(if (length(value) == 1) toml_text(value) else toml_list(vapply(value, toml_text, "")))
  if (is.list(value)) return(toml_list(vapply(value, function(v) toml_list(format(v, trim = TRUE)), "")))
  whole <- all(value == floor(value)) && length(value) == 1
  if (whole) format(value) else if (length(value) == 1) toml_number(value) else toml_list(vapply(value, toml_number, ""))
}

# The features of a one-sided formula.
formula_model <- function(formula, data) {
  if (length(formula) == 3) refuse("the formula must have no left side: the density of all its variables is fitted")
  terms <- stats::terms(formula, data = if (is.data.frame(data)) data else NULL)
  labels <- attr(terms, "term.labels")
  if (length(labels) == 0) refuse("the formula has no terms")
  features <- vapply(labels, function(label) feature_of(str2lang(label)), "")
  variables <- all.vars(stats::delete.response(terms))
  model <- nce_model(features = unname(features), variables = variables, offset = offset_of(terms))
  model$labels <- setNames(labels, names(model$parameters))
  model
}

# The sum of the terms offset(...), if there are any.
offset_of <- function(terms) {
  offsets <- vapply(attr(terms, "offset"), function(i) feature_of(attr(terms, "variables")[[i + 1]][[2]]), "")
  if (length(offsets) > 0) paste0("(", offsets, ")", collapse = " + ")
}

# A term as a formula of the library: I(x^2) is x^2, x:y is x*y.
feature_of <- function(term) {
  if (is.call(term) && identical(term[[1]], quote(I))) return(feature_of(term[[2]]))
  if (is.call(term) && identical(term[[1]], quote(`:`))) {
    return(paste0("(", feature_of(term[[2]]), ")*(", feature_of(term[[3]]), ")"))
  }
  paste(deparse(term, width.cutoff = 500L), collapse = " ")
}

# Any model: described already, a formula, or the path of a file.
as_model <- function(model, data = NULL) {
  if (inherits(model, "nce_model")) return(model)
  if (inherits(model, "formula")) return(formula_model(model, data))
  if (is.character(model) && length(model) == 1) return(nce_model(file = model))
  refuse("the model must be a formula, an `nce_model()` or the path of a model file, not ", class(model)[1])
}

# The parameters of a model from values by name, in order, or from a fit.
values_at <- function(at, model) {
  if (is.null(at)) return(list())
  if (inherits(at, "nce")) at <- setNames(at$estimates$estimate, rownames(at$estimates))[names(model$parameters)]
  if (is.null(names(at))) {
    if (length(at) != length(model$parameters)) {
      refuse("`at` has ", length(at), " values, and must have one for each of ", paste(names(model$parameters), collapse = ", "))
    }
    names(at) <- names(model$parameters)
  }
  by_name(at, "at")
}

#' @export
print.nce_model <- function(x, ...) {
  own <- setdiff(x$variables, x$covariates)
  cat(if (x$normalized) "normalized model of " else "model of ", paste(own, collapse = ", "), sep = "")
  if (length(x$covariates) > 0) cat(" given", paste(x$covariates, collapse = ", "))
  cat(" with parameters", if (length(x$parameters) > 0) paste(names(x$parameters), collapse = ", ") else "none", "\n")
  invisible(x)
}
