// A batch of passes on a device is as many steps of the reference: labels, statistics, prototypes and counters.
#include "backend/device/device_session.h"

#include "backend/device/async_backend.h"
#include "conformance/cases.h"
#include "conformance/trace.h"
#include "core/threads.h"
#include "prototype/centroid.h"
#include "prototype/kinds.h"
#include "prototype/linear_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace manymeans::test {
namespace {

class Fit {
 public:
  Fit(std::unique_ptr<Backend> backend, const Input& input, const Case& made)
      : input_(input),
        backend_(std::move(backend)),
        upload_(backend_->upload(input)),
        session_(upload_->session(made.shape.k, 2)),
        prototypes_(made.prototypes) {}

  std::vector<PassModel> advance(const PassLimits& limits) {
    std::vector<PassModel> models;
    for (size_t slot = 0; slot < prototypes_.size(); ++slot) {
      models.push_back({static_cast<int>(slot), &prototypes_[slot], {}});
    }
    done_ = session_->advance(models, limits);
    return models;
  }
  void solve(ThreadPool& pool) {
    for (size_t slot = 0; slot < prototypes_.size(); ++slot) {
      prototypes_[slot] =
          solve_prototypes(session_->statistics(static_cast<int>(slot)), input_, prototypes_[slot], pool);
    }
  }
  Session& session() { return *session_; }
  const Matrix& prototypes(size_t slot) const { return prototypes_[slot]; }
  int done() const { return done_; }

 private:
  const Input& input_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Upload> upload_;
  std::unique_ptr<Session> session_;
  std::vector<Matrix> prototypes_;
  int done_ = 0;
};

void expect_same_state(Fit& late, Fit& reference, int slot) {
  const Statistics& a = late.session().statistics(slot);
  const Statistics& b = reference.session().statistics(slot);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.sums, b.sums);
  const Labels& found = late.session().labels(slot);
  const Labels& expected = reference.session().labels(slot);
  EXPECT_TRUE(std::ranges::equal(found.bytes(), expected.bytes()));
}

// A batch of the late backend is as many steps of the reference.
void compare_batch(const Case& made, const Input& input, int64_t slice_rows) {
  ThreadPool pool(1);
  BackendOptions options;
  options.tuning.cuda.slice_rows = slice_rows;
  Fit late(make_async_backend(options), input, made);
  Fit reference(make_backend("reference", {}), input, made);
  const std::vector<PassModel> found = late.advance(9);
  ASSERT_GT(late.done(), 0);
  for (int pass = 0; pass < late.done(); ++pass) {
    if (pass > 0) reference.solve(pool);
    const std::vector<PassModel> expected = reference.advance(1);
    for (size_t m = 0; m < found.size(); ++m) {
      const bool last = pass + 1 == late.done();
      const PassResult& result = last ? found[m].result : found[m].earlier[static_cast<size_t>(pass)];
      EXPECT_EQ(result.changed, expected[m].result.changed) << "pass " << pass << " model " << m;
      EXPECT_TRUE(result.hash_delta == expected[m].result.hash_delta) << "pass " << pass << " model " << m;
    }
  }
  for (size_t m = 0; m < found.size(); ++m) {
    expect_same_state(late, reference, static_cast<int>(m));
    if (late.done() == 1) continue;
    EXPECT_TRUE(std::ranges::equal(found[m].last_prototypes.bytes(), reference.prototypes(m).bytes()));
  }
}

TEST(DeviceSession, ABatchIsManySteps) {
  ThreadPool pool(1);
  for (const Prototype* prototype : {&centroid(), &linear_model()}) {
    const std::vector<int64_t> k = prototype->linear ? std::vector<int64_t>{6, 4} : std::vector<int64_t>{6, 300, 4};
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
      for (const Weighting weighting : {Weighting::kNone, Weighting::kIntegers}) {
        const Case made = make_case(Family::kClusters, type, weighting, {700, 3, k}, 17);
        Input input = prepare_input(made.points(), made.weights, pool);
        use_prototype(input, *prototype, pool);
        for (const int64_t slice_rows : {0, 100}) compare_batch(made, input, slice_rows);
      }
    }
  }
}

// Prototypes of any width, with any number of terms: everything that the engine can ask.
TEST(DeviceSession, CarriesEveryKindOfPrototypes) {
  ThreadPool pool(1);
  const std::unique_ptr<Backend> reference = make_backend("reference", {});
  for (const Prototype* prototype : {&kind<HalfCentroid>(), &kind<OffsetCentroid>(), &kind<Slope>()}) {
    for (const Weighting weighting : {Weighting::kNone, Weighting::kRanges}) {
      Case made = make_case(Family::kClusters, DataType::kFloat32, weighting, {300, 4, {6, 3}}, 5);
      Input input = prepare_input(made.points(), made.weights, pool);
      use_prototype(input, *prototype, pool);
      made.prototypes = {prototypes_at(input, std::vector<int64_t>{1, 20, 45, 100, 200, 250}),
                         prototypes_at(input, std::vector<int64_t>{2, 80, 170})};
      const Trace expected = trace_of(*reference, made, 0, *prototype);
      for (const char* algorithm : {"auto", "brute"}) {
        BackendOptions options;
        options.algorithm = algorithm;
        options.tuning.cuda.slice_rows = weighting == Weighting::kNone ? 0 : 70;
        const Trace found = trace_of(*make_async_backend(options), made, 0, *prototype);
        EXPECT_EQ(first_difference(expected, found), "") << prototype->name << ", " << algorithm;
      }
    }
  }
}

// Where the device cannot update, a batch is one pass, whatever is asked for.
TEST(DeviceSession, ABatchIsOnePassWhereTheEngineUpdates) {
  ThreadPool pool(1);
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {900, 2, {5, 3}}, 3);
  const Input input = prepare_input(made.points(), made.weights, pool);
  BackendOptions options;
  options.algorithm = "brute";
  Fit late(make_async_backend(options), input, made);
  Fit reference(make_backend("reference", {}), input, made);
  for (int pass = 0; pass < 3; ++pass) {
    if (pass > 0) {
      late.solve(pool);
      reference.solve(pool);
    }
    EXPECT_TRUE(late.advance(1000)[0].earlier.empty());
    EXPECT_EQ(late.done(), 1);
    reference.advance(1);
    for (int slot = 0; slot < 2; ++slot) expect_same_state(late, reference, slot);
  }
}

// A batch goes on until something is to be judged.
TEST(DeviceSession, ABatchEndsWhereTheEngineMustJudge) {
  ThreadPool pool(1);
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {900, 2, {5}}, 3);
  const Input input = prepare_input(made.points(), made.weights, pool);
  Fit late(make_async_backend({}), input, made);
  const std::vector<PassModel> found = late.advance(1000);
  EXPECT_GT(late.done(), 3) << "more than are asked about together";
  EXPECT_LE(late.done(), 64);
  const std::vector<int64_t>& counts = late.session().statistics(0).counts;
  EXPECT_TRUE(late.done() == 64 || found[0].result.changed == 0 || std::ranges::find(counts, 0) != counts.end());
  EXPECT_EQ(static_cast<int>(found[0].earlier.size()), late.done() - 1);
}

// Overlapping groups, and rows of them as prototypes, so that no cluster is empty.
Case case_without_empty_clusters(const std::vector<int64_t>& k, ThreadPool& pool) {
  Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {900, 3, k}, 8);
  const Input input = prepare_input(made.points(), made.weights, pool);
  for (size_t m = 0; m < k.size(); ++m) {
    std::vector<int64_t> rows(static_cast<size_t>(k[m]));
    std::iota(rows.begin(), rows.end(), 0);
    made.prototypes[m] = prototypes_at(input, rows);
  }
  return made;
}

// What the update after each pass of the reference moves, until a pass must be judged.
std::vector<std::vector<std::vector<double>>> shifts_of(Fit& reference, size_t models, ThreadPool& pool) {
  std::vector<std::vector<std::vector<double>>> shifts;  // by pass and model
  for (int pass = 0; pass < 9; ++pass) {
    for (const PassModel& model : reference.advance(1)) {
      if (model.result.changed == 0) return shifts;
    }
    std::vector<Matrix> before;
    for (size_t m = 0; m < models; ++m) before.push_back(reference.prototypes(m));
    reference.solve(pool);
    shifts.emplace_back();
    for (size_t m = 0; m < models; ++m) {
      shifts.back().push_back(squared_shifts(centroid(), before[m], reference.prototypes(m)));
    }
  }
  return shifts;
}

// A batch ends with the first pass after which a model may end, at equality too, and before the update.
TEST(DeviceSession, ABatchEndsBeforeAnUpdateThatMayBeTheLast) {
  ThreadPool pool(1);
  for (const int64_t slice_rows : {0, 200}) {
    const Case made = case_without_empty_clusters({5, 4}, pool);
    const Input input = prepare_input(made.points(), made.weights, pool);
    Fit traced(make_backend("reference", {}), input, made);
    const auto shifts = shifts_of(traced, made.shape.k.size(), pool);
    ASSERT_GT(shifts.size(), 5U);
    for (size_t at = 0; at < shifts.size(); ++at) {
      for (const bool each : {false, true}) {
        PassLimits limits(64);
        const std::vector<double>& wanted = shifts[at][at % 2];
        const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
        if (each) {
          limits.shifts.each = *std::ranges::max_element(wanted);
        } else {
          limits.shifts.sum = sum;
        }
        const auto may_end = [&](const std::vector<double>& d2) {
          if (!each) return std::accumulate(d2.begin(), d2.end(), 0.0) <= limits.shifts.sum;
          return *std::ranges::max_element(d2) <= limits.shifts.each;
        };
        const auto first =
            std::ranges::find_if(shifts, [&](const auto& models) { return std::ranges::any_of(models, may_end); });
        const auto passes = static_cast<int>(first - shifts.begin()) + 1;
        BackendOptions options;
        options.tuning.cuda.slice_rows = slice_rows;
        Fit late(make_async_backend(options), input, made);
        Fit reference(make_backend("reference", {}), input, made);
        const std::vector<PassModel> found = late.advance(limits);
        ASSERT_EQ(late.done(), passes) << "limits of pass " << at + 1;
        for (int pass = 0; pass < passes; ++pass) {
          if (pass > 0) reference.solve(pool);
          reference.advance(1);
        }
        for (size_t m = 0; m < found.size(); ++m) {
          expect_same_state(late, reference, static_cast<int>(m));
          if (passes == 1) continue;
          EXPECT_TRUE(std::ranges::equal(found[m].last_prototypes.bytes(), reference.prototypes(m).bytes()));
        }
      }
    }
  }
}

TEST(DeviceSession, ABatchEndsWhereFewLabelsChange) {
  ThreadPool pool(1);
  const Case made = case_without_empty_clusters({5}, pool);
  const Input input = prepare_input(made.points(), made.weights, pool);
  Fit whole(make_async_backend({}), input, made);
  const std::vector<PassModel> all = whole.advance(8);
  ASSERT_EQ(whole.done(), 8);
  for (size_t pass = 1; pass < 7; ++pass) {
    PassLimits limits(64);
    limits.changed = all[0].earlier[pass].changed;
    Fit late(make_async_backend({}), input, made);
    const std::vector<PassModel> found = late.advance(limits);
    EXPECT_LE(late.done(), static_cast<int>(pass) + 1);
    EXPECT_LE(found[0].result.changed, limits.changed);
    for (size_t p = 1; p < found[0].earlier.size(); ++p) EXPECT_GT(found[0].earlier[p].changed, limits.changed);
  }
}

// So many labels that they come in pieces, in the width of the session and in a narrower one.
TEST(DeviceSession, LabelsOfManyRows) {
  ThreadPool pool(1);
  std::vector<int64_t> k(20, 2);  // cheap models of the width that the last one asks for
  k.push_back(257);
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {110001, 1, k}, 6);
  ASSERT_GE(k.size() * 2 * static_cast<size_t>(made.shape.n), device::kMinStagedLabels);
  const Input input = prepare_input(made.points(), made.weights, pool);
  Fit late(make_async_backend({}), input, made);
  Fit cpu(make_backend("cpu", {.threads = 2}), input, made);
  late.advance(1);
  cpu.advance(1);
  std::vector<int> slots(k.size());
  std::iota(slots.begin(), slots.end(), 0);
  late.session().fetch(slots, slots);
  for (const int slot : slots) {
    const Labels found = late.session().take_labels(slot);
    EXPECT_TRUE(std::ranges::equal(found.bytes(), cpu.session().labels(slot).bytes())) << slot;
  }
}

}  // namespace
}  // namespace manymeans::test
