// The host's side of study 1, chapter 4: algorithm 1 with the models on an OpenCL device. The programs ensemble_opencl
// and tree_opencl each have a compute_statistics() of their own.
#pragma once

#include "founding/founding.h"
#include "founding/founding_check.h"
#include "founding/opencl_session.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::founding {

struct EnsembleOptions {
  ExperimentShape shape = {};
  std::string type = {};  ///< of the coordinates: float32, or int32 as in the study's listings
  int device = 0;
  int64_t group = 0;     ///< work-items of a work-group; 256 in the study
  int64_t per_item = 0;  ///< points of a work-item: the study's POINTS_PER_WORK_ITEM

  bool whole() const { return type == "int32"; }
  size_t centroids() const { return static_cast<size_t>(shape.models * shape.clusters); }
  size_t values() const { return centroids() * static_cast<size_t>(shape.columns); }
  /// Work-groups of `group` work-items that do `work`.
  size_t groups_for(int64_t work) const { return static_cast<size_t>((work + group - 1) / group); }
  /// -D options of founding_common.cl.
  std::string defines() const;
  /// Local memory for centroids, their sums and their counts.
  int64_t local_bytes(int64_t centroids) const { return centroids * (8 * shape.columns + 4); }
  void add_to(ResultLine& line) const;
};

EnsembleOptions read_ensemble_options(Arguments& arguments);
/// Coordinates of int32 are whole numbers up to 1024, or some more in a mixture.
std::vector<float> make_ensemble_points(const EnsembleOptions& options);

/// A fit returns this for the check. Models lie one after the other.
struct EnsembleRun {
  std::vector<float> first = {}, before = {}, after = {};
  std::vector<int32_t> labels = {};
  double seconds = 0;
};

/// Points, models and statistics in the device's global memory.
struct DeviceArrays {
  cl_mem points = nullptr, models = nullptr, sums = nullptr, counts = nullptr;
};

class DeviceEnsemble {
 public:
  DeviceEnsemble(OpenClSession& session, const EnsembleOptions& options, const std::vector<float>& points);
  virtual ~DeviceEnsemble() = default;

  /// Fits models that begin with these. The last iteration is not timed: it also writes labels.
  EnsembleRun fit(const std::vector<float>& first);

 protected:
  /// Adds each point to the sums and the count of the nearest centroid of each model. `labels` may be null.
  virtual void compute_statistics(cl_mem labels) = 0;
  std::vector<float> models() const;

  OpenClSession& session() const { return session_; }
  const EnsembleOptions& options() const { return options_; }
  const DeviceArrays& arrays() const { return arrays_; }

 private:
  void begin(const std::vector<float>& models);
  void iterate(cl_mem labels);

  OpenClSession& session_;
  const EnsembleOptions& options_;
  DeviceArrays arrays_ = {};
};

/// First centroids of all models.
std::vector<float> first_models(const EnsembleOptions& options, const std::vector<float>& points);
RunVerdict check_ensemble(const EnsembleOptions& options, const std::vector<float>& points, const EnsembleRun& run);

}  // namespace manymeans::founding
