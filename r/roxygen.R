# Writes NAMESPACE and man/ from the comments in R/, with the installed package: Rscript roxygen.R
roxygen2::roxygenise(".", load_code = roxygen2::load_installed)
