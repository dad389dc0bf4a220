// Batches of small problems in one kernel: what fits, and many passes in a row with everything that the engine may do
// between two batches, against the reference. The conformance tests ask for one pass at a time.
#include "backend/backend.h"
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/persistent/persistent_passes.h"
#include "conformance/cases.h"
#include "core/threads.h"
#include "prototype/centroid.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

namespace manymeans::test {
namespace {

using cuda::persistent_shape;
using cuda::PersistentDevice;
using cuda::PersistentShape;

const PersistentDevice kHopper{.multiprocessors = 132, .shared_bytes = 227 << 10, .cooperative = true};

bool fits(int64_t rows, int32_t columns, int64_t k, int models = 1, int limbs = 2) {
  return persistent_shape({rows, columns, k, models, limbs}, kHopper).blocks > 0;
}

TEST(CudaPersistent, SmallProblemsFitTheSharedMemory) {
  for (const int32_t d : {32, 64, 96, 128, 160}) EXPECT_TRUE(fits(51200, d, 32)) << d;
  EXPECT_TRUE(fits(10000, 64, 100));
  EXPECT_TRUE(fits(1, 16, 1));
  EXPECT_FALSE(fits(500'000, 64, 64));
  EXPECT_FALSE(fits(51200, 160, 1000)) << "every block has all prototypes";
  EXPECT_FALSE(fits(100, 16, cuda::kMaxPersistentK + 1));
  EXPECT_FALSE(fits(100, 16, 3, cuda::kMaxPersistentModels + 1));
  EXPECT_FALSE(fits(100, 16, 3, 1, cuda::kMaxPersistentLimbs + 1));
  PersistentDevice alone = kHopper;
  alone.cooperative = false;
  EXPECT_EQ(persistent_shape({100, 16, 3, 1, 1}, alone).blocks, 0);
}

TEST(CudaPersistent, EveryRowHasAPlace) {
  for (const int64_t rows : {1, 15, 16, 17, 2112, 2113, 10000, 51200}) {
    const PersistentShape shape = persistent_shape({rows, 64, 100, 1, 2}, kHopper);
    const int64_t tiles = (rows + cuda::kPersistentTile - 1) / cuda::kPersistentTile;
    for (int64_t b = 0; b < shape.blocks; ++b) {  // as the kernel shares them out
      const int64_t here = tiles * (b + 1) / shape.blocks - tiles * b / shape.blocks;
      EXPECT_LE(here * cuda::kPersistentTile, shape.rows) << rows << " rows, block " << b;
    }
    EXPECT_EQ(shape.rows % cuda::kPersistentTile, 0);
    EXPECT_GE(shape.columns, 100);
  }
}

// What happened to one model in one pass.
struct PassRecord {
  int64_t changed = 0;
  LabelSum hash = 0;
  bool operator==(const PassRecord&) const = default;
};

struct ModelRecord {
  std::vector<PassRecord> passes;
  std::vector<uint32_t> labels;
  std::vector<int64_t> counts, weights;
  std::vector<WideInt> sums;
  Matrix prototypes;
};

// Lloyd's iteration in batches, with a row moved between two of them.
class Fit {
 public:
  Fit(Backend& backend, const Case& made, const PassLimits& limits = {})
      : made_(made),
        limits_(limits),
        pool_(1),
        input_(prepare_input(made.points(), made.weights, pool_)),
        upload_(backend.upload(input_)),
        session_(upload_->session(made.shape.k, 1)),
        records_(made.shape.k.size()) {
    for (size_t m = 0; m < records_.size(); ++m) records_[m].prototypes = made.prototypes[m];
  }

  std::vector<ModelRecord> run() {
    for (const int passes : {1, 5, 12}) {
      batch(passes);
      move_a_row();
      update();
    }
    for (size_t m = 0; m < records_.size(); ++m) keep_state(static_cast<int>(m));
    return std::move(records_);
  }

  const Input& input() const { return input_; }
  int64_t certified() const { return certified_; }
  int64_t kept() const { return kept_; }
  int max_together() const { return max_together_; }
  // What each update here moved least of all models, and after which passes a batch ended.
  const std::vector<ShiftCounts>& least_shifts() const { return least_shifts_; }
  const std::vector<size_t>& ends() const { return ends_; }

 private:
  void update() {
    ShiftCounts least{std::numeric_limits<double>::infinity(), 0};
    for (size_t m = 0; m < records_.size(); ++m) {
      Matrix& prototypes = records_[m].prototypes;
      const Matrix before = prototypes;
      prototypes = solve_prototypes(session_->statistics(static_cast<int>(m)), input_, before, pool_);
      ShiftCounts counts;
      for (const double d2 : squared_shifts(centroid(), before, prototypes)) {
        counts.sum += d2;
        counts.still += d2 <= limits_.shifts.each;
      }
      least.sum = std::min(least.sum, counts.sum);
      const bool still = may_be_last({-1, limits_.shifts.each, limits_.shifts.share}, counts, before.rows());
      least.still += limits_.shifts.each >= 0 && still;
    }
    least_shifts_.push_back(least);
  }

  // Up to so many passes; ends where the engine would have to judge.
  void batch(int passes) {
    for (int done = 0; done < passes;) {
      std::vector<PassModel> models;
      for (size_t m = 0; m < records_.size(); ++m) {
        models.push_back({static_cast<int>(m), &records_[m].prototypes, {}});
      }
      PassLimits limits = limits_;
      limits.passes = passes - done;
      const int some = session_->advance(models, limits);
      max_together_ = std::max(max_together_, some);
      for (size_t m = 0; m < models.size(); ++m) {
        for (const PassResult& pass : models[m].earlier) write_down(m, pass);
        write_down(m, models[m].result);
        if (some > 1) records_[m].prototypes = std::move(models[m].last_prototypes);
      }
      done += some;
      ends_.push_back(records_[0].passes.size());
      if (must_judge()) return;
      if (done < passes) update();
    }
  }

  void write_down(size_t m, const PassResult& pass) {
    records_[m].passes.push_back({pass.changed, pass.hash_delta});
    certified_ += pass.certified;
    kept_ += pass.skipped;
    EXPECT_EQ(pass.skipped + pass.certified + pass.resolved, made_.shape.n);
  }

  bool must_judge() {
    bool judge = false;
    for (size_t m = 0; m < records_.size(); ++m) {
      const std::vector<int64_t>& weights = session_->statistics(static_cast<int>(m)).weights;
      const bool strict = records_[m].passes.size() > 1 && records_[m].passes.back().changed == 0;
      judge = judge || strict || std::count(weights.begin(), weights.end(), 0) > 0;
    }
    return judge;
  }

  void move_a_row() {
    const auto k = static_cast<uint32_t>(made_.shape.k[0]);
    const int64_t row = made_.shape.n / 2;
    session_->move_row(0, row, (session_->labels(0)[row] + 1) % k);
  }

  void keep_state(int slot) {
    ModelRecord& record = records_[static_cast<size_t>(slot)];
    record.labels.resize(static_cast<size_t>(made_.shape.n));
    session_->labels(slot).read(0, made_.shape.n, record.labels.data());
    const Statistics& statistics = session_->statistics(slot);
    record.counts = statistics.counts;
    record.weights = statistics.weights;
    for (int64_t c = 0; c < statistics.k; ++c) {
      for (int64_t j = 0; j < statistics.d; ++j) {
        record.sums.push_back(recombine(statistics.row(c) + j, input_.columns[static_cast<size_t>(j)], statistics.d));
      }
    }
  }

  const Case& made_;
  PassLimits limits_;
  ThreadPool pool_;
  Input input_;
  std::unique_ptr<Upload> upload_;
  std::unique_ptr<Session> session_;
  std::vector<ModelRecord> records_;
  int64_t certified_ = 0, kept_ = 0;
  int max_together_ = 0;
  std::vector<ShiftCounts> least_shifts_;
  std::vector<size_t> ends_;
};

void expect_equal(const std::vector<ModelRecord>& found, const std::vector<ModelRecord>& expected) {
  for (size_t m = 0; m < expected.size(); ++m) {
    EXPECT_EQ(found[m].passes, expected[m].passes) << "model " << m;
    EXPECT_EQ(found[m].labels, expected[m].labels) << "model " << m;
    EXPECT_EQ(found[m].counts, expected[m].counts) << "model " << m;
    EXPECT_EQ(found[m].weights, expected[m].weights) << "model " << m;
    EXPECT_EQ(found[m].sums, expected[m].sums) << "model " << m;
    EXPECT_TRUE(std::ranges::equal(found[m].prototypes.bytes(), expected[m].prototypes.bytes())) << "model " << m;
  }
}

BackendOptions in_fp16(bool queued, const char* algorithm = "auto") {
  BackendOptions options;
  options.tuning.cuda.screen_format = "float16";
  options.tuning.cuda.queued_passes = queued;
  options.algorithm = algorithm;
  return options;
}

bool has_fp16() {
  int major = 0;
  return device_present() && PersistentDevice::of(0).cooperative &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major >= 8;
}

// Every family, type and weighting turns up, in shapes from a single row to many tiles a block.
std::vector<Case> batch_cases() {
  const std::vector<Shape> shapes = {{1, 1, {1}},         {17, 3, {4, 1}},     {300, 40, {7}},    {2113, 16, {33}},
                                     {5000, 65, {20, 3}}, {9001, 2, {50}},     {1500, 130, {65}}, {40000, 8, {12}},
                                     {700, 520, {40}},    {6000, 33, {2, 65}}, {2000, 20, {300}}};
  std::vector<Case> cases;
  uint64_t seed = 900;
  for (const Shape& shape : shapes) {
    for (int i = 0; i < 6; ++i, ++seed) {
      const auto family = static_cast<Family>((seed * 5 + seed / 6) % kFamilies);
      cases.push_back(
          make_case(family, static_cast<DataType>(i), static_cast<Weighting>(seed % kWeightings), shape, seed));
    }
  }
  return cases;
}

TEST(CudaPersistent, BatchesAreTheReferencesPasses) {
  if (!has_fp16()) GTEST_SKIP() << "no CUDA device with a screen in fp16 whose blocks can wait for each other";
  const auto reference = make_backend("reference", {});
  int64_t certified = 0;
  int max_together = 0;
  int resident = 0;
  for (const Case& made : batch_cases()) {
    SCOPED_TRACE(made.name);
    Fit oracle(*reference, made);
    const std::vector<ModelRecord> expected = oracle.run();
    for (const bool queued : {false, true}) {
      SCOPED_TRACE(queued ? "queued" : "resident");
      const auto backend = make_backend("cuda", in_fp16(queued));
      Fit fit(*backend, made);
      expect_equal(fit.run(), expected);
      if (queued) continue;
      certified += fit.certified();
      max_together = std::max(max_together, fit.max_together());
      const int64_t most = *std::max_element(made.shape.k.begin(), made.shape.k.end());
      const auto padded = static_cast<int32_t>((made.shape.d + 15) / 16 * 16);
      resident +=
          persistent_shape({made.shape.n, padded, most, static_cast<int>(made.shape.k.size()), fit.input().limbs},
                           PersistentDevice::of(0))
              .blocks > 0;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(certified, 0);
  EXPECT_GT(max_together, 7) << "no batch had many passes";
  EXPECT_GT(resident, 40) << "hardly any case was small";
}

// No batch goes on after a pass with which a stop rule may hold, and those with which none does end few.
TEST(CudaPersistent, BatchesEndWithinTheirLimits) {
  if (!has_fp16()) GTEST_SKIP() << "no CUDA device with a screen in fp16 whose blocks can wait for each other";
  const auto reference = make_backend("reference", {});
  int together = 0;
  for (const Case& made : batch_cases()) {
    SCOPED_TRACE(made.name);
    Fit first(*reference, made);
    first.run();
    std::vector<PassLimits> tried(3);
    const std::vector<ShiftCounts>& moved = first.least_shifts();
    tried[0].shifts.sum = 1e-290;  // reached by prototypes that stay
    tried[1].shifts.sum = moved[moved.size() / 2].sum * (1 + 1e-12);
    tried[2].shifts.each = std::max(moved[moved.size() / 2].sum / 8, 0.0);
    tried[2].shifts.share = 0.75;
    tried[2].changed = made.shape.n / 50;
    for (const PassLimits& limits : tried) {
      Fit oracle(*reference, made, limits);
      const std::vector<ModelRecord> expected = oracle.run();
      for (const bool queued : {false, true}) {
        SCOPED_TRACE(queued ? "queued" : "resident");
        const auto backend = make_backend("cuda", in_fp16(queued));
        Fit fit(*backend, made, limits);
        expect_equal(fit.run(), expected);
        together = std::max(together, fit.max_together());
        for (size_t pass = 0; pass < oracle.least_shifts().size(); ++pass) {
          const ShiftCounts& counts = oracle.least_shifts()[pass];
          if (counts.sum > limits.shifts.sum && counts.still == 0) continue;
          EXPECT_TRUE(std::ranges::count(fit.ends(), pass + 1) > 0) << "went on after pass " << pass + 1;
        }
      }
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(together, 7) << "no batch had many passes";
}

// Rows that keep their labels by their margins (carried_margins.h), in the same batches.
TEST(CudaPersistent, BatchesWithMarginsAreTheReferencesPasses) {
  if (!has_fp16()) GTEST_SKIP() << "no CUDA device with a screen in fp16 whose blocks can wait for each other";
  const auto reference = make_backend("reference", {});
  const auto backend = make_backend("cuda", in_fp16(true, "bounds"));
  int64_t kept = 0;
  int max_together = 0;
  for (const Case& made : batch_cases()) {
    if (made.shape.k.size() > 1) continue;
    SCOPED_TRACE(made.name);
    Fit oracle(*reference, made);
    Fit fit(*backend, made);
    expect_equal(fit.run(), oracle.run());
    kept += fit.kept();
    max_together = std::max(max_together, fit.max_together());
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(kept, 10'000);
  EXPECT_GT(max_together, 7) << "no batch had many passes";
}

// For a memory checker: few rows, every kind of points and sums.
TEST(CudaPersistent, TinyBatches) {
  if (!has_fp16()) GTEST_SKIP() << "no CUDA device with a screen in fp16 whose blocks can wait for each other";
  const auto reference = make_backend("reference", {});
  const auto backend = make_backend("cuda", in_fp16(false));
  for (const Shape& shape : {Shape{40, 5, {3}}, Shape{500, 40, {35, 2}}}) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
      const Case made = make_case(Family::kClusters, type, Weighting::kIntegers, shape, 11);
      SCOPED_TRACE(made.name);
      Fit oracle(*reference, made);
      Fit fit(*backend, made);
      expect_equal(fit.run(), oracle.run());
    }
  }
}

}  // namespace
}  // namespace manymeans::test
