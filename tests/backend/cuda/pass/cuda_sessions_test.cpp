// Sessions of one upload in several threads: each says what it says alone, whatever the others do meanwhile.
#include "backend/backend.h"
#include "backend/cuda/cuda_present.h"
#include "core/threads.h"
#include "prototype/prototype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

namespace manymeans::test {
namespace {

constexpr int kPasses = 3;

constexpr int64_t kColumns = 64;

// Noise, and its first rows as prototypes: no cluster is empty, so that nothing ends a batch early.
struct Noise {
  std::vector<float> values;
  Input input;

  Noise(int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < n * kColumns; ++i) values.push_back(normal(random));
    ThreadPool pool(1);
    input = prepare_input({values.data(), n, kColumns}, {}, pool);
  }
  Matrix first_rows(int64_t k) const {
    Matrix rows(k, kColumns, DataType::kFloat32);
    std::copy_n(values.begin(), k * kColumns, rows.values<float>().begin());
    return rows;
  }
};

// What a batch of passes leaves.
struct BatchRecord {
  std::vector<LabelSum> changes;
  std::vector<uint32_t> labels;
  bool operator==(const BatchRecord&) const = default;
};

std::vector<uint32_t> labels_of(Session& session, int64_t n) {
  std::vector<uint32_t> labels(static_cast<size_t>(n));
  session.labels(0).read(0, n, labels.data());
  return labels;
}

// The same of a backend that leaves solving to its caller.
BatchRecord expected_batch(const Input& input, Matrix prototypes) {
  ThreadPool pool(usable_threads());
  const auto backend = make_backend("cpu", {});
  const auto upload = backend->upload(input);
  const int64_t k = prototypes.rows();
  const auto session = upload->session({&k, 1}, 0);
  BatchRecord record;
  for (int pass = 0; pass < kPasses; ++pass) {
    if (pass > 0) prototypes = solve_prototypes(session->statistics(0), input, prototypes, pool);
    PassModel model{0, &prototypes, {}};
    session->advance({&model, 1}, 1);
    record.changes.push_back(model.result.hash_delta);
  }
  record.labels = labels_of(*session, input.points.n);
  return record;
}

BatchRecord one_batch(Upload& upload, const Matrix& prototypes, int64_t n) {
  const int64_t k = prototypes.rows();
  const auto session = upload.session({&k, 1}, 1);
  PassModel model{0, &prototypes, {}};
  EXPECT_EQ(session->advance({&model, 1}, kPasses), kPasses) << "an empty cluster: choose another case";
  BatchRecord record;
  for (const PassResult& pass : model.earlier) record.changes.push_back(pass.hash_delta);
  record.changes.push_back(model.result.hash_delta);
  record.labels = labels_of(*session, n);
  return record;
}

// A thousand batches of problems that fit the blocks' shared memory, each of another size: what a kernel may have of it
// is one number for all threads.
TEST(CudaSessions, OfDifferentShapesRunSideBySide) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  constexpr int64_t kRows = 10'000;
  constexpr int kBatches = 125;
  const std::vector<int64_t> clusters = {8, 300, 31, 100};
  const Noise noise(kRows, 3);
  std::vector<BatchRecord> expected;
  for (const int64_t k : clusters) expected.push_back(expected_batch(noise.input, noise.first_rows(k)));
  const auto backend = make_backend("cuda", {});
  const auto upload = backend->upload(noise.input, {300, 300, 10, 1, 8});
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (size_t t = 0; t < 2 * clusters.size(); ++t) {
    threads.emplace_back([&, t] {
      const size_t which = t % clusters.size();
      for (int batch = 0; batch < kBatches && !testing::Test::HasFailure(); ++batch, ++done) {
        try {
          ASSERT_EQ(one_batch(*upload, noise.first_rows(clusters[which]), kRows), expected[which])
              << clusters[which] << " clusters";
        } catch (const std::exception& error) {
          FAIL() << error.what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 2 * static_cast<int>(clusters.size()) * kBatches);
}

// One session gives up in the middle of its slices, again and again; the others, which take turns with it at the same
// room for slices, must not see what it had under way.
TEST(CudaSessions, AnotherOneMayGiveUpInTheMiddleOfItsSlices) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  constexpr int64_t kRows = 60'000;
  const Noise noise(kRows, 5);
  const BatchRecord expected = expected_batch(noise.input, noise.first_rows(40));
  std::atomic<bool> abort{false};
  BackendOptions options;
  options.abort = &abort;
  options.tuning.cuda.slice_rows = 4096;
  const auto backend = make_backend("cuda", options);
  const auto upload = backend->upload(noise.input, {200, 240, 10, 1, 2});
  std::atomic<bool> over{false};
  int given_up = 0;
  std::thread other([&] {
    while (!over) {
      try {
        one_batch(*upload, noise.first_rows(200), kRows);
      } catch (const std::exception&) {
        ++given_up;
        abort = false;
      }
    }
  });
  int right = 0;
  for (int i = 0; i < 300; ++i) {
    try {
      const BatchRecord found = one_batch(*upload, noise.first_rows(40), kRows);
      EXPECT_EQ(found, expected) << "batch " << i;
      ++right;
    } catch (const std::exception&) {
      abort = false;  // it was this one that saw it
    }
    if (i % 2 == 0) abort = true;
    if (testing::Test::HasFailure()) break;
  }
  over = true;
  abort = false;
  other.join();
  EXPECT_GT(right, 100);
  EXPECT_GT(given_up, 10);
}

}  // namespace
}  // namespace manymeans::test
