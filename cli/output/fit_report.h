// What `fit` prints for people.
#pragma once

#include <manymeans/result.h>

#include <string>
#include <vector>

namespace manymeans::cli {

/// A table with the best model of every k, the digest of the ensemble, times and the files written.
std::string fit_report(const std::string& data, const FitResult& result, const std::vector<std::string>& files);

}  // namespace manymeans::cli
