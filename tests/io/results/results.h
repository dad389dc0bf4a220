// A small fit result for tests of the writers.
#pragma once

#include <manymeans/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::test {

inline ModelResult make_model(int64_t k, int64_t replica, double inertia, DataType type = DataType::kFloat32,
                              int64_t n = 5) {
  ModelResult model;
  model.k = model.k_requested = k;
  model.replica = replica;
  model.seed = ~uint64_t{0} - static_cast<uint64_t>(replica);
  model.init = "k-means++";
  model.prototypes = Matrix(k, 2, type);
  model.labels = Labels(n, k);
  std::vector<uint32_t> labels;
  for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<uint32_t>((i + k - 1) % k));
  model.labels.write(0, n, labels.data());
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      const auto at = static_cast<size_t>(2 * i + j);
      if (type == DataType::kFloat64) model.prototypes.values<double>()[at] = 0.1 * static_cast<double>(i + j);
      if (type == DataType::kFloat32) model.prototypes.values<float>()[at] = 0.1f * static_cast<float>(i + j);
    }
    model.counts.push_back(i);
    model.weights.push_back(0.5 * static_cast<double>(i));
  }
  model.inertia = inertia;
  model.iterations = 7;
  model.stop_reason = StopReason::kStrict;
  return model;
}

/// k = 3 (two models, the second is the better) and k = 300.
inline FitResult make_result() {
  FitResult result;
  result.models = {make_model(3, 0, 2.5), make_model(3, 1, 0.1), make_model(300, 0, 0.05)};
  result.provenance.version = "1.2.3";
  result.provenance.rows = 5;
  result.provenance.columns = 2;
  result.provenance.total.labelled = 20;
  result.provenance.total.repeated = 12;
  result.provenance.total.certified = 6;
  result.provenance.total.resolved = 2;
  result.provenance.pass_log = {{{4, 7, 0, 3, 2, 7, 0}, 2, 12}, {{1, 5, 2, 1, 0, 0, 0}, 1, 8}};
  result.provenance.options.k = {3, 300};
  result.provenance.seconds = {{"read", 0.25}, {"iterate", 1.5}};
  result.ranges = {{0, -1.5}, {0.25, 3}};
  result.warnings = {"a warning with a \"quote\""};
  return result;
}

}  // namespace manymeans::test
