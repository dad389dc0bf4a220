// The multicore CPU backend.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/cpu/pass/cpu_labeller.h"
#include "backend/cpu/pass/cpu_seeding.h"
#include "backend/cpu/pass/cpu_session.h"
#include "backend/cpu/sparse/sparse_seeding.h"
#include "backend/cpu/sparse/sparse_session.h"
#include "core/threads.h"

#include <utility>

namespace manymeans {
namespace {

// The instruction set's table, with the distances of this kind of prototype instead of the centroids'.
CpuKernels kernels_for(CpuKernels kernels, const Prototype& prototype) {
  if (prototype.euclidean) return kernels;
  if (prototype.linear) {
    kernels.distance_f32 = kernels.residual_f32;
    kernels.distance_f64 = kernels.residual_f64;
    kernels.distances_f32 = kernels.residuals_f32;
    kernels.distances_f64 = kernels.residuals_f64;
    return kernels;
  }
  kernels.distance_f32 = prototype.f32.distance;
  kernels.distance_f64 = prototype.f64.distance;
  kernels.distances_f32 = prototype.f32.distances;
  kernels.distances_f64 = prototype.f64.distances;
  return kernels;
}

class CpuUpload final : public Upload {
 public:
  CpuUpload(const Input& input, const CpuKernels& kernels, const BackendOptions& options, const PointsPlan& plan,
            ThreadPool& pool)
      : shared_{input,
                prototype_of(input),
                kernels_for(kernels, prototype_of(input)),
                options,
                plan,
                plan.brute ? PackedPoints() : PackedPoints(input, kernels, plan, pool),
                TermScales(input),
                UnitScales(input)} {
    if (plan.in_bytes != nullptr) {
      shared_.coded = CodedPoints(input, shared_.packed.frame(), plan.in_bytes->tile_rows, pool);
    }
    if (plan.tree) shared_.tree = std::make_unique<KdTree>(input, kernels, shared_.scales, pool);
  }

  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    return std::make_unique<CpuSession>(shared_, k, threads > 0 ? threads : shared_.options.threads);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    return std::make_unique<CpuSeeding>(shared_, k, pool);
  }
  std::string plan() const override { return shared_.plan.why + shared_.bounds_log->text(); }

 private:
  CpuShared shared_;
};

// The other algorithms work on rows including their zeros.
bool is_brute(const std::string& algorithm) {
  check_algorithm(algorithm);
  if (algorithm == "brute") return true;
  if (algorithm == "auto" || algorithm == "matrix") return false;
  throw Error(ErrorCode::kUsage, "algorithm",
              "'" + algorithm + "' knows no sparse points; use auto, matrix or brute, or fill in their zeros");
}

class SparseUpload final : public Upload {
 public:
  SparseUpload(const Input& input, const CpuKernels& kernels, const BackendOptions& options)
      : shared_{input,   sparse_view(input.points),   kernels,
                options, is_brute(options.algorithm), input.max_magnitude()} {
    if (prototype_of(input).euclidean) return;
    throw Error(ErrorCode::kUsage, "points",
                "linear models have no use for sparse points yet; fill in their zeros (SciPy: toarray())");
  }

  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    return std::make_unique<SparseSession>(shared_, k, threads > 0 ? threads : shared_.options.threads);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    return std::make_unique<SparseSeeding>(shared_, k, pool);
  }
  std::string plan() const override {
    if (shared_.brute) return "sparse rows, every canonical distance";
    return "sparse rows, float32 scores over the values that are there";
  }

 private:
  SparseShared shared_;
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(BackendOptions options)
      : options_(std::move(options)), kernels_(choose_kernels(options_.tuning.cpu.instruction_set)) {
    options_.threads = thread_count(options_.threads);
  }
  std::string_view name() const override { return "cpu"; }
  std::string instruction_set() const override { return kernels_.name; }
  int threads() const override { return options_.threads; }
  bool keeps_to_memory() const override { return true; }
  bool counts_duplicates() const override { return true; }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    if (is_sparse(input.points)) return std::make_unique<SparseUpload>(input, kernels_, options_);
    ThreadPool pool(options_.threads, options_.abort);
    const PointsPlan plan = plan_points(input, kernels_, options_, workload, &memory_);
    return std::make_unique<CpuUpload>(input, kernels_, options_, plan, pool);
  }
  std::unique_ptr<Labeller> labeller(const std::shared_ptr<const Matrix>& prototypes) const override {
    if (!CpuLabeller::serves(*prototypes, options_)) return nullptr;
    return std::make_unique<CpuLabeller>(prototypes, kernels_, options_);
  }

 private:
  BackendOptions options_;
  const CpuKernels& kernels_;
  ScreenMemory memory_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace manymeans
