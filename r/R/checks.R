# Checks of plain arguments, each with a sentence that names the argument.

shown <- function(value) {
  text <- paste(deparse(value, nlines = 1L), collapse = "")
  if (nchar(text) > 40) paste0(substr(text, 1, 40), "...") else text
}

# A number that is one.
number <- function(value, argument) {
  if (!is.numeric(value) || length(value) != 1 || is.na(value)) {
    refuse("`", argument, "` must be a number, not ", shown(value))
  }
  as.double(value)
}

# A whole number from zero on.
whole <- function(value, argument, least = 0) {
  if (!is.numeric(value) || length(value) != 1 || is.na(value) || value != floor(value) || value < least ||
    value > 2^53) {
    refuse("`", argument, "` must be a whole number from ", least, ", not ", shown(value))
  }
  as.double(value)
}

maybe <- function(value, check, argument, ...) if (is.null(value)) NULL else check(value, argument, ...)

flag <- function(value, argument) {
  if (!is.logical(value) || length(value) != 1 || is.na(value)) {
    refuse("`", argument, "` must be TRUE or FALSE, not ", shown(value))
  }
  value
}

words <- function(value, argument) {
  if (!is.character(value) || length(value) != 1 || is.na(value)) {
    refuse("`", argument, "` must be a text, not ", shown(value))
  }
  value
}

# A number, or nothing where it is "auto".
or_auto <- function(value, argument, check = number, ...) {
  if (identical(value, "auto")) NULL else check(value, argument, ...)
}

# Numbers without missing values.
numbers <- function(value, argument) {
  if (!is.numeric(value)) refuse("`", argument, "` must be numbers, not ", class(value)[1])
  if (anyNA(value)) refuse("`", argument, "`: value ", which(is.na(value))[1], " is missing")
  as.double(value)
}

# Values by name as the library takes them.
by_name <- function(values, argument) {
  if (length(values) == 0) {
    return(list())
  }
  if (is.null(names(values)) || !all(nzchar(names(values)))) refuse("`", argument, "` must have a name for every value")
  unname(Map(function(name, value) list(name, number(value, argument)), names(values), as.list(values)))
}

# The lengths of chains that make up so many rows: given, or so many equal ones.
chain_lengths <- function(chains, rows, argument = "chains") {
  if (is.null(chains)) {
    return(NULL)
  }
  if (length(chains) == 1) {
    count <- whole(chains, argument, 1)
    if (rows %% count != 0) refuse("`", argument, "`: ", rows, " rows cannot be divided into ", count, " chains of one length")
    chains <- rep(rows / count, count)
  }
  lengths <- vapply(chains, whole, 0, argument = argument)
  if (sum(lengths) != rows) refuse("`", argument, "` hold ", sum(lengths), " rows together, but there are ", rows)
  as.integer(lengths)
}

# Rows as a matrix of doubles with the columns of these names.
rows_of <- function(data, variables, argument = "data") {
  if (is.null(dim(data))) {
    if (length(variables) != 1) refuse("`", argument, "` must be a data frame or a matrix with the columns ", paste(variables, collapse = ", "))
    data <- matrix(numbers(data, argument), ncol = 1, dimnames = list(NULL, variables))
  }
  if (is.null(colnames(data))) {
    if (ncol(data) != length(variables)) {
      refuse("`", argument, "` has ", ncol(data), " columns, and the model ", length(variables), " variables")
    }
    colnames(data) <- variables
  }
  missing <- setdiff(variables, colnames(data))
  if (length(missing) > 0) {
    refuse("`", argument, "` has no column ", missing[1], "; there are ", paste(colnames(data), collapse = ", "))
  }
  column <- function(name) {
    values <- if (is.data.frame(data)) data[[name]] else data[, name]
    if (!is.numeric(values) && !is.logical(values)) {
      refuse("`", argument, "`: column ", name, " must be numeric, not ", class(values)[1])
    }
    values <- as.double(values)
    if (anyNA(values)) refuse("`", argument, "`: row ", which(is.na(values))[1], " of ", name, " is missing; leave such rows out")
    values
  }
  matrix(vapply(variables, column, double(NROW(data))), ncol = length(variables), dimnames = list(NULL, variables))
}

# A matrix as the library reads it.
as_rows <- function(matrix) list(rows = nrow(matrix), values = as.double(matrix))
