// Interface of the engine to hardware. The engine holds the only Lloyd loop; a backend does passes.
//
//   Backend::copy(points)    points on the device, before anybody has looked at them
//   Backend::upload(input)   points on the device, once per fit
//   Upload::session(...)     labels and statistics of some models over these points
//   Session::advance(...)    screen, resolve, accumulate
//   Session::rows()          questions about rows: distances, inertia, the farthest
//   Upload::seeding(...)     what k-means++ and k-means|| ask
//   Upload::swap_scores(...) what swaps of a search would gain
//   Backend::labeller(...)   labels of other points, without a session
//
// Everything returned is exact, so it is the same from every backend: see docs/developer/contract.md.
#pragma once

#include <manymeans/points.h>

#include "backend/labeller.h"
#include "backend/tuning.h"
#include "backend/upload.h"
#include "data/input.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

struct Choice;

/// Options for making a backend.
struct BackendOptions {
  int threads = 0;                           ///< 0: all usable
  std::string algorithm = "auto";            ///< auto, matrix, bounds, kdtree, brute
  const std::atomic<bool>* abort = nullptr;  ///< set by the caller to be thrown Error(kInterrupted) within a second
  /// The caller sets it to wait only for the step at hand: a device gets as much time as that may take.
  const std::atomic<bool>* cancel = nullptr;
  int device = 0;             ///< number among those of its kind
  int64_t device_memory = 0;  ///< most bytes to take of the device's memory; 0: what is free
  Tuning tuning = {};
};

/// Points that were copied to a device, or to several; the copies go with this.
class CopiedPoints {
 public:
  virtual ~CopiedPoints() = default;
  virtual GivenPoints points() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::string instruction_set() const = 0;
  virtual int threads() const = 0;
  /// Binds the calling thread to this device. Call it before any other call if several devices share a thread.
  virtual void bind_thread() {}
  /// Binds the thread before objects of this backend are destroyed. Does nothing if the device is gone.
  void bind_to_destroy() noexcept;
  /// Below this many products, rows times clusters times (columns + 8), a pass is shorter on one such device than on
  /// several that share the rows.
  virtual double min_shared_products() const { return 0; }
  /// How many rows of the input would stay in the device's memory; the others are read over its link in every pass.
  virtual int64_t resident_rows(const Input& input, const Workload& /*workload*/) { return input.points.n; }
  /// Returns whether its memory follows Input::memory.
  virtual bool keeps_to_memory() const { return false; }
  /// Returns whether it has memory of its own that follows BackendOptions::device_memory.
  virtual bool keeps_to_device_memory() const { return false; }
  /// Returns whether its statistics and seeding follow Input::counted. Its sessions' answers about inertia, picked or
  /// farthest rows, and numbers of rows or changes need not.
  virtual bool counts_duplicates() const { return false; }
  /// Points of the host's memory where an upload reads them without another copy, so that the device is the one that
  /// checks them. Only the models and clusters of the workload are known. Null: they are better left where they are.
  virtual std::unique_ptr<CopiedPoints> copy(const PointsView& /*points*/, const Workload& /*workload*/) {
    return nullptr;
  }
  virtual std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) = 0;
  std::unique_ptr<Upload> upload(const Input& input) { return upload(input, Workload{}); }
  /// The bytes of its memory that problems fitted at the same time should take: all their points, and some copies.
  virtual size_t bytes_side_by_side() { return size_t{512} << 20; }
  /// The max product of rows, clusters and columns of a model for common passes. They take less time then than a
  /// session for each model. 0: this backend makes none.
  virtual double max_joined_products() const { return 0; }
  /// The points of many small problems, without weights. Its sessions are of models with these rows. Each model's rows
  /// count from 0 in all answers about it. PassModel::limits hold for each model alone: a pass labels the rows of the
  /// models that go on. Null where such models are too large for common passes.
  virtual std::unique_ptr<ProblemUpload> upload_problems(const Input& /*input*/,
                                                         std::span<const ModelRows> /*models*/) {
    return nullptr;
  }
  /// For centroids; null where a session answers instead.
  virtual std::unique_ptr<Labeller> labeller(const std::shared_ptr<const Matrix>& /*prototypes*/) const {
    return nullptr;
  }
};

/// One line of the registry.
struct BackendEntry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)(const BackendOptions&);  ///< throws Error(kUnavailable) with what to do
};

std::span<const BackendEntry> backends();
/// Throws Error(kUsage) for the name of an algorithm that no backend has.
void check_algorithm(std::string_view algorithm);
/// Returns whether this name means several devices, as "cuda:0,cuda:1" or "cuda:all".
bool names_several(std::string_view name);
/// The backends that a name means, one or several. Throws Error for a name that is empty, twice there, or of no device.
std::vector<std::string> backend_names(std::string_view name);
/// "auto" is the first entry. Several names, with commas between them, are one backend of all these. Throws
/// Error(kUsage) for an unknown name.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options);
/// Makes a backend for these points. Points on a device require a single backend on that device.
std::unique_ptr<Backend> make_backend(std::string_view name, const PointsView& points, BackendOptions options);
/// Instruction sets of the cpu backend, best first.
std::vector<Choice> cpu_instruction_sets();
/// Names of the screens' formats that this instruction set has, for CpuTuning::screen_format.
std::vector<std::string> cpu_screen_formats(std::string_view instruction_set);

}  // namespace manymeans
