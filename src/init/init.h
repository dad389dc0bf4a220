// Initial prototypes. Every method serves all models of a session in the same passes, and reaches hardware
// only through backend.h.
#pragma once

#include <manymeans/fit.h>

#include "backend/backend.h"
#include "data/input.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// One model that needs prototypes.
struct InitModel {
  int64_t k = 0;
  uint64_t seed = 0;
  Matrix prototypes;                  ///< out: k x D
  std::vector<std::string> warnings;  ///< out
  std::vector<int64_t> rows = {};     ///< out: the rows that became prototypes
};

/// A whole k-means fit of the rows.
struct Clustering {
  int64_t k = 0;
  uint64_t seed = 0;            ///< of the model
  bool without_target = false;  ///< of their values but the last, which is a linear model's target
};

/// The data and services that a method works with.
struct InitContext {
  const Input& input;
  Backend& backend;
  Upload& upload;
  ThreadPool& pool;
  std::function<bool(int64_t step, int64_t steps)> proceed;  ///< false: stop here
  /// The labels of this rank's rows that the centroids of such a fit give; none where it was told to stop. Only the
  /// engine fits, so the engine brings it.
  std::function<std::optional<Labels>(const Clustering&)> cluster = {};
};

/// Returns false if it was told to stop: then no model has prototypes.
using InitMethod = bool (*)(const InitContext&, std::span<InitModel>);

struct InitEntry {
  std::string_view name;
  InitMethod run;
};
/// Those of centroids.
std::span<const InitEntry> inits();
/// The methods of linear models.
std::span<const InitEntry> linear_inits();

/// The method that this name means for k prototypes of n points in d columns ("auto" is decided from these alone).
/// Throws Error(kUsage) for an unknown name.
const InitEntry& find_init(std::string_view name, int64_t n, int64_t k, int64_t d);
/// Finds the method for prototypes of this kind. Linear models can also begin as centroids do, which is of use to tests
/// alone: users are told so before.
const InitEntry& find_init(std::string_view name, const Prototype& prototype, int64_t n, int64_t k, int64_t d);

/// Returns the advice for `ranks` ranks that choose k prototypes by k-means++, or nothing. It decides nothing: the
/// answer never depends on the ranks.
std::optional<std::string> advice_for_ranks(int64_t k, int ranks);

}  // namespace manymeans
