// Terms of second degree: squares and products of features, with which linear models become curved.
#pragma once

#include <manymeans/io.h>
#include <manymeans/regress.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// Returns how many terms `features` features have.
int64_t term_count(int64_t features, const Terms& terms);
/// Returns the number of features with `count` terms; 0 if there is none.
int64_t features_of_terms(int64_t count, const Terms& terms);
/// Names such as "x", "y", "x^2", "x*y", "y^2", in the order of the terms.
std::vector<std::string> term_names(std::span<const std::string> features, const Terms& terms);
/// Throws Error(kUsage) unless the degree is 1 or 2 and there are at most kMaxFeatures terms.
void check_terms(int64_t features, const Terms& terms);

/// Replaces the points by their terms, in a new array, or in a temporary file if `memory` demands it (as in
/// ReadOptions). Terms have names such as "x*y". The last `targets` columns are no features and stay the last. Each
/// product is rounded once, to float32 (float64 for float64 points); one that overflows is infinite. Does nothing for
/// degree 1. Throws Error: kUsage (terms), kUnavailable (memory).
void expand_terms(Dataset& points, const Terms& terms, int64_t targets, int threads = 0, int64_t memory = 0);

/// The coefficients of linear model `row` of K x (D + 1), and last its intercept, for features that are not scaled.
std::vector<double> unscaled_model(const Matrix& models, int64_t row, const Scaling& scaling);

}  // namespace manymeans
