#include "backend/cuda/problems/cuda_problems.h"

#include "backend/cuda/exact/sum_terms.h"
#include "backend/cuda/points/point_slices.h"
#include "backend/cuda/problems/problem_passes.h"
#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/device/problem_session.h"
#include "core/rounding.h"
#include "core/threads.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace manymeans::cuda {
namespace {

class CudaProblemKernels final : public device::ProblemKernels {
 public:
  CudaProblemKernels(const Input& input, const CudaDevice& device, std::shared_ptr<const SumTerms> terms,
                     double bound_scale, const Stream& stream)
      : input_(input), device_(device), terms_(std::move(terms)), stream_(stream) {
    task_.rounding = problem_rounding(input.points.d);
    task_.bound_scale = static_cast<float>(bound_scale);
    task_.terms = terms_->terms();
    task_.solve_shifts = terms_->solve_shifts();
    task_.float64 = input.points.type == DataType::kFloat64;
  }

  bool screens() const override { return true; }
  void use_device() const override { cuda::use_device(device_); }
  void begin(const device::ProblemBatch& batch) override {
    place(batch);
    const std::vector<ProblemTile> tiles = tiles_of(batch.here);
    tiles_here_.reserve(tiles.size(), "the rows of problems");
    tiles_.reserve(tiles.size(), "the rows of problems");
    std::ranges::copy(tiles, tiles_here_.data());
    copy_to_device(tiles_.data(), tiles_here_.data(), tiles.size(), stream_, "the rows of problems");
    task_.tiles = tiles_.data();
    task_.tile_count = static_cast<int32_t>(tiles.size());
    hang_if_asked("pass", stream_);
  }
  void pass(const device::ProblemBatch& batch) override { problem_pass(place(batch), stream_); }
  void update(const device::ProblemBatch& batch, bool last) override { problem_update(place(batch), last, stream_); }
  void facts(const device::ProblemBatch& batch, device::Address facts) override {
    problem_facts(place(batch), pointer_to<ProblemFacts>(facts), stream_);
  }
  void terms(const device::ProblemBatch& batch, std::span<const SumFormat> formats, device::Address limbs) override {
    splitters_here_.reserve(formats.size(), "the formats of inertias");
    splitters_.reserve(formats.size(), "the formats of inertias");
    std::ranges::transform(formats, splitters_here_.data(),
                           [](const SumFormat& format) { return TermSplitter(format); });
    copy_to_device(splitters_.data(), splitters_here_.data(), formats.size(), stream_, "the formats of inertias");
    problem_terms(place(batch), splitters_.data(), pointer_to<int64_t>(limbs), stream_);
  }

  void distances(const device::ProblemBatch& batch, device::Address out) override {
    problem_distances(place(batch), pointer_to<double>(out), stream_);
  }
  void ranges(const device::ProblemBatch& batch, device::Address ranges) override {
    problem_ranges(place(batch), pointer_to<double>(ranges), stream_);
  }

 private:
  const ProblemTask& place(const device::ProblemBatch& batch) {
    task_.points = points_of(input_, batch.rows);
    task_.models = pointer_to<const ProblemModel>(batch.models);
    task_.model_count = static_cast<int32_t>(batch.here.size());
    task_.controls = pointer_to<PassControl>(batch.controls);
    task_.counters = pointer_to<PassCounters>(batch.counters);
    task_.labels = {pointer_to(batch.labels), 0, batch.label_width};
    task_.prototypes = pointer_to(batch.prototypes);
    task_.before = pointer_to(batch.before);
    task_.sums = pointer_to<long long>(batch.sums);
    task_.weights = pointer_to<long long>(batch.weights);
    task_.counts = pointer_to<long long>(batch.counts);
    return task_;
  }

  // Some blocks for each multiprocessor. The blocks of one model have equally many rows.
  std::vector<ProblemTile> tiles_of(std::span<const ProblemModel> models) {
    constexpr int64_t kBlocks = 12;  // of a multiprocessor
    constexpr int64_t kMinRows = 256, kMaxRows = 16384;
    int64_t rows = 0;
    task_.shared_bytes = 0;
    for (const ProblemModel& model : models) {
      if (model.active == 0) continue;
      rows += model.rows;
      task_.shared_bytes =
          std::max(task_.shared_bytes, problem_shared_bytes(model.k, input_.points.d, task_.terms.limbs));
    }
    const int64_t together = std::clamp(rows / (kBlocks * device_.multiprocessors), kMinRows, kMaxRows);
    std::vector<ProblemTile> tiles;
    for (size_t m = 0; m < models.size(); ++m) {
      if (models[m].active == 0) continue;
      const int64_t count = (models[m].rows + together - 1) / together;
      const int64_t each = padded((models[m].rows + count - 1) / count, kProblemRows);
      for (int64_t first = 0; first < models[m].rows; first += each) {
        tiles.push_back({first, std::min(first + each, models[m].rows), static_cast<int32_t>(m), 0});
      }
    }
    return tiles;
  }

  const Input& input_;
  CudaDevice device_;
  std::shared_ptr<const SumTerms> terms_;
  const Stream& stream_;
  ProblemTask task_;
  PinnedBuffer<ProblemTile> tiles_here_;
  DeviceBuffer<ProblemTile> tiles_;
  PinnedBuffer<TermSplitter> splitters_here_;
  DeviceBuffer<TermSplitter> splitters_;
};

// Returns whether each model has room in the shared memory of a block.
bool have_room(const Input& input, std::span<const ModelRows> models, const CudaDevice& device) {
  constexpr int64_t kStatic = 10240;  // other shared memory of the kernel
  return std::ranges::all_of(models, [&](const ModelRows& model) {
    return model.k <= kMaxProblemClusters && problem_shared_bytes(model.k, input.points.d, input.limbs) + kStatic <=
                                                 static_cast<int64_t>(device.shared_bytes);
  });
}

}  // namespace

std::unique_ptr<ProblemUpload> make_problem_upload(const Input& input, std::span<const ModelRows> models,
                                                   const CudaDevice& device, const BackendOptions& options) {
  if (input.points.d > kMaxProblemColumns || !have_room(input, models, device)) return nullptr;
  use_device(device);
  Workload workload;
  for (const ModelRows& model : models) workload.max_clusters = std::max(workload.max_clusters, model.k);
  const device::Patience patience{device::Patience::Seconds(usual_seconds(input, device, workload)), min_patience(),
                                  options.abort, options.cancel};
  const Stream stream(patience);
  const device::SlicePlan whole{input.points.n, input.points.n};
  auto slices = std::make_unique<device::RowSlices>(
      input, whole, device::RowSlices::Host{thread_count(options.threads), options.abort}, stream);
  const auto terms = std::make_shared<const SumTerms>(input, stream);
  stream.synchronize("uploading points");
  const double bound_scale = options.tuning.cuda.bound_scale;
  const auto make = [&input, device, patience, terms, bound_scale] {
    device::ProblemSession::Parts parts;
    parts.queue = runtime().make_queue(patience);
    parts.kernels = std::make_unique<CudaProblemKernels>(input, device, terms, bound_scale, stream_of(*parts.queue));
    return parts;
  };
  return std::make_unique<device::ProblemPoints>(input, models, std::move(slices), make);
}

}  // namespace manymeans::cuda
