# Conditional logits of data sets of survival and R by survival::clogit: `Rscript reference.R FOLDER` writes the rows as CSV and the
# coefficients, standard errors and log-likelihoods as JSON into the folder.
suppressMessages(library(survival))
folder <- commandArgs(trailingOnly = TRUE)[1]

answers <- character()
keep <- function(name, rows, formula) {
    fit <- clogit(formula, rows, method = "exact", control = coxph.control(eps = 1e-14, toler.chol = 1e-15, iter.max = 50))
    numbers <- function(x) paste0("[", paste(sprintf("%.15g", x), collapse = ", "), "]")
    answers <<- c(answers, sprintf('  "%s": {"coefficients": %s, "errors": %s, "log_likelihood": %.15g}',
                                   name, numbers(coef(fit)), numbers(sqrt(diag(vcov(fit)))), fit$loglik[2]))
}
write <- function(name, rows) write.csv(rows, file.path(folder, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)

# Infertility after abortions: one case and its controls in every stratum.
rows <- infert[, c("stratum", "case", "spontaneous", "induced")]
keep("infert", rows, case ~ spontaneous + induced + strata(stratum))
write("infert", rows)

# Occupations of sons: every man chooses one of five, as in the example of ?clogit.
levels <- levels(logan$occupation)
rows <- data.frame(id = rep(seq_len(nrow(logan)), length(levels)), education = rep(logan$education, length(levels)),
                   tocc = factor(rep(levels, each = nrow(logan)), levels = levels))
rows$chosen <- as.numeric(rows$tocc == rep(logan$occupation, length(levels)))
for (k in 2:5) rows[[paste0("o", k)]] <- as.numeric(rows$tocc == levels[k])
rows <- rows[order(rows$id), c("id", "chosen", "education", "o2", "o3", "o4", "o5")]
keep("logan", rows, chosen ~ o2 + o3 + o4 + o5 + o2:education + o3:education + o4:education + o5:education + strata(id))
write("logan", rows)

# The same women by years of school: three strata, of which two have 39 and 40 cases, so that the likelihood is a sum over all sets of
# as many.
rows <- data.frame(school = as.integer(infert$education), infert[, c("case", "spontaneous", "induced", "parity")])
keep("infert_by_school", rows, case ~ spontaneous + induced + parity + strata(school))
write("infert_by_school", rows)

# Loss of sight in the treated and the other eye. Of pairs in which both or neither were lost the likelihood is one whatever the
# parameters: clogit takes all pairs, and the file has the others.
keep("retinopathy", retinopathy, status ~ trt + risk + strata(id))
one <- ave(retinopathy$status, retinopathy$id, FUN = sum) == 1
write("retinopathy", retinopathy[one, c("id", "status", "trt", "risk")])

# Deaths of lung cancer within institutions, of which some have more than twenty. Where all died nothing can be learned of what matters.
rows <- na.omit(lung[, c("inst", "status", "age", "sex", "ph.ecog")])
names(rows)[5] <- "ecog"
rows$status <- rows$status - 1
keep("lung", rows, status ~ age + sex + ecog + strata(inst))
write("lung", rows[ave(rows$status, rows$inst, FUN = mean) < 1, ])

# Infertility again with choices that count several times, and matched sets that share age, parity and education as clusters. The
# exact method has no weights: with one case in every stratum Breslow's likelihood is the same one, but for the weights inside its
# logarithms.
rows <- infert[, c("stratum", "pooled.stratum", "case", "spontaneous", "induced")]
names(rows)[2] <- "pool"
rows <- rows[rows$stratum %in% names(which(tapply(rows$case, rows$stratum, sum) == 1)), ]
rows$weight <- 1 + rows$stratum %% 4
weighted <- function(formula) {
    clogit(formula, rows, weights = weight, method = "breslow",
           control = coxph.control(eps = 1e-14, toler.chol = 1e-15, iter.max = 50))
}
plain <- weighted(case ~ spontaneous + induced + strata(stratum))
clustered <- weighted(case ~ spontaneous + induced + strata(stratum) + cluster(pool))
alone <- weighted(case ~ spontaneous + induced + strata(stratum) + cluster(stratum))
once <- rows[rows$case == 1, "weight"]
numbers <- function(x) paste0("[", paste(sprintf("%.15g", x), collapse = ", "), "]")
errors <- function(fit) numbers(sqrt(diag(vcov(fit))))
answers <- c(answers, sprintf(
    '  "infert_weighted": {"coefficients": %s, "errors": %s, "clustered": %s, "by_stratum": %s, "log_likelihood": %.15g}',
    numbers(coef(plain)), errors(plain), errors(clustered), errors(alone), plain$loglik[2] + sum(once * log(once))))
write("infert_weighted", rows)

writeLines(c("{", paste(answers, collapse = ",\n"), "}"), file.path(folder, "reference.json"))
