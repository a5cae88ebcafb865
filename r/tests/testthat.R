library(testthat)
library(noisewright)

test_check("noisewright")
