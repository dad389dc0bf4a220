// Computes a case in one of its ways, and compares two of them.
#pragma once

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "core/threads.h"
#include "fuzz/answers/device_copy.h"
#include "fuzz/answers/fuzz_case.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manymeans::fuzz {

/// What is done wrong on purpose, to see that it is found.
enum class Fault : uint8_t {
  kNone,
  kBound,  ///< screens prove too much, in all ways but the first
  kLabel,  ///< one label is another, in every way
  kHang,   ///< the second way does not end
  kCrash,  ///< nor does it here
};

struct RunSettings {
  int max_threads = 0;  ///< 0: as many as the way says
  Fault fault = Fault::kNone;
  bool steps = false;  ///< every way is told, not only every case
};

/// The points of a case wherever its ways want them, its weights and its given prototypes.
class CaseData {
 public:
  CaseData(const FuzzCase& drawn, ThreadPool& pool);
  PointsView points(const Way& way);  ///< made when they are asked for
  const PointsView& host_points() const { return points_.view; }
  const std::vector<double>& weights() const { return weights_; }
  PointsView given() const { return given_ ? given_->view() : PointsView(); }

 private:
  const FuzzCase& drawn_;
  ThreadPool& pool_;
  MadePoints points_;
  MadePoints in_file_;
  std::unique_ptr<DeviceCopy> on_device_;
  std::vector<double> weights_;
  std::optional<Matrix> given_;
};

/// What was computed in one way: a result, or the error that it ended with.
template <class Result>
struct Outcome {
  Result result;
  std::string error;     ///< empty: there is a result
  bool refused = false;  ///< the way cannot be gone: too little memory, no such algorithm for this shape
  double seconds = 0;

  /// Where models run at the same time, any of them may be the first to fail: only the place is the same.
  std::string place() const { return error.substr(0, error.find(']')); }
};

Outcome<FitResult> run_fit(const FuzzCase& drawn, CaseData& data, const Way& way, const RunSettings& settings);

/// The case's options with one model of it alone, and fewer iterations.
FuzzCase one_model(const FuzzCase& drawn, const ModelResult& model, int64_t max_iter);

/// Labels of `points` among the prototypes of a model; `weights` are for the inertia.
Outcome<Prediction> run_predict(const PointsView& points, std::span<const double> weights, const Matrix& prototypes,
                                const Way& way, const RunSettings& settings);

/// What differs, as text, a line each; empty: nothing.
std::string difference(const Outcome<FitResult>& first, const Outcome<FitResult>& other);
std::string difference(const Outcome<Prediction>& first, const Outcome<Prediction>& other);

/// Of two label arrays: how many differ, and which first; empty: none.
std::string label_difference(const Labels& first, const Labels& other);

}  // namespace manymeans::fuzz
