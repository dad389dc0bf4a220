// A session over ranks says what the reference says of all rows, to the bit.
#include "backend/backend.h"
#include "backend/deduplicated/deduplicated_upload.h"
#include "backend/sharded/sharded_upload.h"
#include "backend/upload_script.h"
#include "comm/thread_ranks.h"
#include "conformance/cases.h"
#include "conformance/variants.h"
#include "data/gather.h"
#include "data/shards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace manymeans::test {
namespace {

std::atomic<int64_t> deduplicated{0};  // uploads

// This rank's rows; duplicates of them are labelled once where that is asked for and can be done.
std::unique_ptr<Upload> upload_own(Backend& backend, const Input& input, bool deduplicate, ThreadPool& pool) {
  if (input.points.n == 0) return nullptr;
  if (deduplicate && backend.counts_duplicates()) {
    std::optional<Duplicates> rows = find_duplicates(input, pool, {1, 1, false});
    deduplicated += rows.has_value();
    if (rows) return upload_deduplicated(backend, input, std::move(*rows), {}, nullptr);
  }
  return backend.upload(input, {});
}

void compare(const Case& made, uint64_t seed) {
  constexpr std::array<const char*, 5> kAlgorithms = {"reference", "matrix", "bounds", "kdtree", "brute"};
  const std::vector<std::string> wanted = expected_script(made);
  const int ranks = 1 + static_cast<int>(seed % 8);
  const std::vector<int64_t> ends = shard_ends(made.shape.n, ranks, seed);
  const auto errors = run_ranks(ranks, [&](Comm& comm) {
    const std::string algorithm = kAlgorithms[(seed / 8 + static_cast<uint64_t>(comm.rank())) % kAlgorithms.size()];
    BackendOptions options;
    options.threads = 1 + comm.rank() % 2;
    if (algorithm != "reference" && takes("cpu", algorithm, made.shape.d)) options.algorithm = algorithm;
    const auto backend = make_backend(algorithm == "reference" ? "reference" : "cpu", options);
    ThreadPool pool(1);
    const Part part = part_of(made, ends, comm.rank());
    const Input input = prepare_input(part.points, part.weights, pool, {}, comm);
    const auto upload = make_sharded_upload(input, upload_own(*backend, input, seed % 3 == 0, pool));
    UploadScript script(input, *upload, made);
    const std::vector<std::string> found = script.run();
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], wanted[i]) << i;
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  if (testing::Test::HasFailure()) {
    FAIL() << made.name << " seed " << seed << " ends " << fmt::format("{}", fmt::join(ends, ","));
  }
}

TEST(ShardedSession, SaysWhatOneOverAllRowsSays) {
  for (uint64_t seed = 0; seed < 160; ++seed) {
    Case made = random_case(40000 + seed);
    if (made.shape.n > 1100)
      made = make_case(Family::kGrid, DataType::kFloat32, Weighting::kNone, {300, 2, {9, 4}}, seed);
    compare(made, seed);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(deduplicated, 10);
}

TEST(ShardedSession, DoesManyPassesAtOnce) {
  Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {900, 2, {9, 4}}, 8);
  for (Matrix& prototypes : made.prototypes) {
    prototypes = gather_rows(made.points(), spread_rows(900, prototypes.rows()));  // no two are equal
  }
  const std::vector<int64_t> ends = shard_ends(900, 3, 1);
  const auto errors = run_ranks(3, [&](Comm& comm) {
    ThreadPool pool(1);
    const Part part = part_of(made, ends, comm.rank());
    const Input input = prepare_input(part.points, part.weights, pool, {}, comm);
    const auto backend = make_backend("cpu", {});
    const auto upload = make_sharded_upload(input, backend->upload(input));
    UploadScript script(input, *upload, made);
    script.run();
    EXPECT_EQ(script.batched, 6);
    EXPECT_TRUE(script.attracted_is_known);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace manymeans::test
