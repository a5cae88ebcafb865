# Runs the blocks of R in a page of the book, one after the other, and writes what they print below them.
# Rscript r/tools/book.R docs/src/r.md
page <- commandArgs(TRUE)[1]
lines <- readLines(page)
options(width = 100, digits = 7)
scope <- new.env(parent = globalenv())
out <- character()
i <- 1
while (i <= length(lines)) {
  out <- c(out, lines[i])
  if (lines[i] == "```r") {
    end <- i + which(lines[(i + 1):length(lines)] == "```")[1]
    code <- lines[(i + 1):(end - 1)]
    out <- c(out, code, "```")
    printed <- utils::capture.output(for (expression in parse(text = code)) {
      shown <- withVisible(eval(expression, scope))
      if (shown$visible) print(shown$value)
    })
    i <- end
    # What was printed before goes.
    if (i < length(lines) && lines[i + 1] == "```text") i <- i + 1 + which(lines[(i + 2):length(lines)] == "```")[1]
    if (length(printed) > 0) out <- c(out, "```text", sub(" +$", "", printed), "```")
  }
  i <- i + 1
}
writeLines(out, page)
