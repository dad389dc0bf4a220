# Clusterwise linear regression by flexmix: several starts, the best one's models.
#
#   Rscript flexmix_regression.R POINTS.csv K STARTS ITERATIONS hard|weighted
#
# The last column of POINTS is the target, and there is no header. A start is the labels that models of D + 1 random rows each give:
# from flexmix's own random labels all components are alike, and most become empty at once. One that holds less than a
# hundredth of the rows is dropped, since the likelihood of an empty one ends a fit with an error; a start that ends so
# is lost, as it is for a user. Prints the least sum of squared residuals of its models, the rows with the model that
# predicts them best, the processor's seconds without reading, and how many starts had an answer.
suppressMessages(library(flexmix))
arguments <- commandArgs(trailingOnly = TRUE)
points <- read.csv(arguments[1], header = FALSE)
names(points)[ncol(points)] <- "y"
k <- as.integer(arguments[2])
set.seed(0)
control <- list(classify = arguments[5], iter.max = as.integer(arguments[4]), minprior = 0.01)
design <- cbind(as.matrix(points[, -ncol(points)]), 1)
labels_of_few_rows <- function() {
  models <- replicate(k, {
    rows <- sample(nrow(design), ncol(design))
    qr.coef(qr(design[rows, ]), points$y[rows])
  })
  models[is.na(models)] <- 0
  max.col(-(points$y - design %*% models)^2, ties.method = "first")
}
least <- Inf
answers <- 0
begin <- proc.time()
for (start in seq_len(as.integer(arguments[3]))) {
  labels <- labels_of_few_rows()
  found <- tryCatch(flexmix(y ~ ., data = points, k = k, cluster = labels, control = control),
    error = function(e) NULL)
  if (is.null(found)) next
  answers <- answers + 1
  coefficients <- parameters(found)
  said <- cbind(1, design[, -ncol(design)]) %*% coefficients[-nrow(coefficients), , drop = FALSE]
  least <- min(least, sum(do.call(pmin, as.data.frame((points$y - said)^2))))
}
took <- proc.time() - begin
cat(format(least, digits = 17), took[["user.self"]] + took[["sys.self"]], answers, "\n")
