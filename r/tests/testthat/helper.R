# Old Faithful's waiting times as the examples of the repository have them.
old_faithful <- function() data.frame(x = (faithful$waiting - 70) / 15)

# The command's JSON, where the command is at hand (NOISEWRIGHT is its path); numbers are read to the last bit.
command <- function(...) {
  binary <- Sys.getenv("NOISEWRIGHT")
  if (!nzchar(binary)) skip("the command is not at hand: NOISEWRIGHT is not set")
  skip_if_not_installed("jsonlite")
  text <- suppressWarnings(system2(binary, c(..., "--json", "--quiet"), stdout = TRUE))
  jsonlite::fromJSON(paste(text, collapse = "\n"), simplifyVector = FALSE)
}

# Numbers with all their digits.
write_numbers <- function(columns, path) {
  text <- vapply(columns, function(column) formatC(column, digits = 17, format = "g"), character(nrow(columns)))
  writeLines(c(paste(names(columns), collapse = ","), apply(text, 1, paste, collapse = ",")), path)
  path
}

# Draws of an autoregressive chain of a standard normal.
chain <- function(n, rho, seed) {
  set.seed(seed)
  as.double(stats::filter(rnorm(n) * sqrt(1 - rho^2), rho, method = "recursive", init = rnorm(1)))
}

# A folder that goes with the test.
withr_tempdir <- function(frame = parent.frame()) {
  folder <- tempfile("noisewright")
  dir.create(folder)
  do.call(on.exit, list(bquote(unlink(.(folder), recursive = TRUE)), add = TRUE), envir = frame)
  folder
}
