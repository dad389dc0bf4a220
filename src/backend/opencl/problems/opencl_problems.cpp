#include "backend/opencl/problems/opencl_problems.h"

#include "backend/device/problem_session.h"
#include "backend/opencl/kernels/kernel_sources.h"
#include "backend/opencl/pass/opencl_shared.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace manymeans::opencl {
namespace {

// These are given to kernels of problems.cl.
struct ProblemShape {
  Int64 d, points, counters, tiles, models;
  Int32 label_width, limbs, bits, normal_tops;
};

struct ProblemTile {
  Int64 first, last;
  Int32 model, unused;
};

struct ProblemFormat {
  Int32 top, bits;
};

class OpenClProblemKernels final : public device::ProblemKernels {
 public:
  OpenClProblemKernels(std::shared_ptr<const OpenClShared> shared, const device::Queue& queue)
      : shared_(std::move(shared)), queue_(queue) {
    const Program& program = shared_->exact_program(kProblemsSource);
    pass_ = Kernel(program, "problem_pass");
    update_ = Kernel(program, "problem_update");
    facts_ = Kernel(program, "problem_facts");
    terms_ = Kernel(program, "problem_terms");
    ranges_ = Kernel(program, "problem_ranges");
    distances_ = Kernel(program, "problem_distances");
  }

  void begin(const device::ProblemBatch& batch) override {
    constexpr int64_t kRows = 64;
    tiles_here_.clear();
    for (size_t m = 0; m < batch.here.size(); ++m) {
      const int64_t rows = batch.here[m].active != 0 ? batch.here[m].rows : 0;
      for (int64_t first = 0; first < rows; first += kRows) {
        tiles_here_.push_back({first, std::min(first + kRows, rows), static_cast<Int32>(m), 0});
      }
    }
    send(tiles_, tiles_here_, "the rows of problems");
  }
  void pass(const device::ProblemBatch& batch) override {
    const auto tiles = static_cast<int64_t>(tiles_here_.size());
    pass_(queue_, shared_->grid(tiles), shape(batch), tiles_.at(), batch.models, batch.controls, counters(batch),
          batch.rows.points, batch.prototypes, batch.labels, batch.sums, batch.weights, batch.counts,
          shared_->tops.at(), shared_->exponents.at());
  }
  void update(const device::ProblemBatch& batch, bool last) override {
    update_(queue_, grid(batch), shape(batch), batch.models, batch.controls, counters(batch), batch.sums, batch.weights,
            shared_->solve_shifts.at(), batch.prototypes, batch.before, Int32{last ? 1 : 0});
  }
  void facts(const device::ProblemBatch& batch, Address facts) override {
    facts_(queue_, grid(batch), shape(batch), batch.models, batch.rows.points, batch.prototypes, batch.labels, facts);
  }
  void terms(const device::ProblemBatch& batch, std::span<const SumFormat> formats, Address limbs) override {
    formats_here_.clear();
    for (const SumFormat& format : formats) {
      formats_here_.push_back({format.shift - (format.limbs - 1) * format.bits, format.bits});
    }
    send(formats_, formats_here_, "the formats of inertias");
    terms_(queue_, grid(batch), shape(batch), batch.models, batch.rows.points, batch.prototypes, batch.labels,
           formats_.at(), limbs);
  }

  void distances(const device::ProblemBatch& batch, Address out) override {
    const auto active = std::ranges::find(batch.here, 1U, &device::ProblemModel::active);
    distances_(queue_, shared_->grid(active->rows), shape(batch), batch.models, active - batch.here.begin(),
               batch.rows.points, batch.prototypes, batch.labels, out);
  }
  void ranges(const device::ProblemBatch& batch, Address ranges) override {
    const Grid values = shared_->grid(std::ssize(batch.here) * shared_->input.points.d);
    ranges_(queue_, values, shape(batch), batch.models, batch.rows.points, ranges);
  }

 private:
  // `from` stays until the session has waited for its answer.
  template <class T>
  void send(device::Buffer& to, const std::vector<T>& from, const char* what) {
    to.reserve(shared_->device, from.size() * sizeof(T), what);
    queue_.copy_to_device(to.at(), from.data(), from.size() * sizeof(T), what);
  }
  Grid grid(const device::ProblemBatch& batch) const { return shared_->grid(std::ssize(batch.here)); }
  static Address counters(const device::ProblemBatch& batch) { return {batch.counters.memory, 0}; }
  ProblemShape shape(const device::ProblemBatch& batch) const {
    ProblemShape shape = {};
    shape.d = shared_->input.points.d;
    shape.points = static_cast<Int64>(batch.rows.points.offset);
    shape.counters = static_cast<Int64>(batch.counters.offset / sizeof(uint64_t));
    shape.tiles = std::ssize(tiles_here_);
    shape.models = std::ssize(batch.here);
    shape.label_width = batch.label_width;
    shape.limbs = shared_->input.limbs;
    shape.bits = shared_->input.bits;
    shape.normal_tops = shared_->normal_tops ? 1 : 0;
    return shape;
  }

  std::shared_ptr<const OpenClShared> shared_;
  const device::Queue& queue_;
  std::vector<ProblemTile> tiles_here_;
  std::vector<ProblemFormat> formats_here_;
  device::Buffer tiles_, formats_;
  Kernel pass_, update_, facts_, terms_, ranges_, distances_;
};

}  // namespace

std::unique_ptr<ProblemUpload> make_problem_upload(const Input& input, std::span<const ModelRows> models,
                                                   const OpenClDevice& device, const UsedDevice& use,
                                                   const BackendOptions& asked) {
  BackendOptions options = asked;
  options.algorithm = "brute";  // no copies for a screen
  Workload workload;
  for (const ModelRows& model : models) workload.max_clusters = std::max(workload.max_clusters, model.k);
  const auto shared = std::make_shared<const OpenClShared>(input, device, use, options, workload);
  if (!shared->slices->whole()) return nullptr;
  const std::shared_ptr<device::RowSlices> slices(shared, shared->slices.get());
  return std::make_unique<device::ProblemPoints>(input, models, slices, [shared] {
    device::ProblemSession::Parts parts;
    parts.queue = shared->device.make_queue(shared->patience);
    parts.kernels = std::make_unique<OpenClProblemKernels>(shared, *parts.queue);
    return parts;
  });
}

}  // namespace manymeans::opencl
