# Computations: they run in threads of their own, while this one looks for interrupts and calls functions of R.

# How many threads, 0 for one per core.
threads <- function() {
  own <- getOption("noisewright.threads")
  if (!is.null(own)) {
    return(as.integer(whole(own, "options(noisewright.threads)", 1)))
  }
  limit <- suppressWarnings(as.integer(Sys.getenv("OMP_THREAD_LIMIT")))
  if (tolower(Sys.getenv("_R_CHECK_LIMIT_CORES_")) %in% c("true", "warn", "error")) limit <- min(limit, 2L, na.rm = TRUE)
  if (is.na(limit)) 0L else max(limit, 1L)
}

# Seconds between two looks for an interrupt.
TICK <- 0.05

# Runs a computation. `functions` are the user's, by name: log_density(x, theta), score(x, theta).
run_job <- function(what, request, functions = NULL) {
  job <- .Call(wrap__job_start, what, request, threads())
  on.exit(.Call(wrap__job_cancel, job))
  patience <- TICK / 32
  repeat {
    message <- .Call(wrap__job_wait, job, patience)
    if (is.null(message)) {
      # Looks for an interrupt, and lets windows be drawn.
      Sys.sleep(0)
      patience <- min(2 * patience, TICK)
      next
    }
    switch(names(message),
      call = .Call(wrap__job_answer, job, call_function(message$call, functions)),
      error = raise(message$error$class, message$error$sentence, message$error$code),
      done = return(message$done)
    )
  }
}

# The values of a function of the user's at points.
call_function <- function(call, functions) {
  name <- if (call$score) "score" else "log_density"
  x <- call$points
  colnames(x) <- functions$variables
  theta <- setNames(call$parameters, functions$parameters)
  values <- tryCatch(functions[[name]](x, theta), error = function(e) {
    if (inherits(e, "noisewright_error")) stop(e)
    raise("function", paste0("`", name, "` failed: ", conditionMessage(e)), parent = e)
  })
  expected <- nrow(x) * if (call$score) length(theta) else 1
  if (!is.numeric(values) || length(values) != expected) {
    raise("function", paste0(
      "`", name, "` returned ", length(values), " ", if (is.numeric(values)) "numbers" else class(values)[1], " for ", nrow(x),
      " points, and must return ", if (call$score) "a row for each with a column per parameter" else "one number for each"
    ))
  }
  as.double(values)
}
