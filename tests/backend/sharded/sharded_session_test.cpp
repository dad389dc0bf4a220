// A session over ranks says what the reference says of all rows, to the bit.
#include "backend/backend.h"
#include "backend/deduplicated/deduplicated_upload.h"
#include "backend/sharded/sharded_upload.h"
#include "comm/thread_ranks.h"
#include "conformance/cases.h"
#include "conformance/variants.h"
#include "data/gather.h"
#include "data/shards.h"
#include "prototype/prototype.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace manymeans::test {
namespace {

std::string text_of(const WideInt& value) {
  std::array<uint64_t, WideInt::kWords> words;
  std::memcpy(words.data(), &value, sizeof words);
  return fmt::format("{:x}", fmt::join(words, "."));
}

// The sums themselves: how they are split into limbs is free.
std::string text_of(const Statistics& statistics, const Input& input) {
  std::string text =
      fmt::format("weights {} counts {} sums", fmt::join(statistics.weights, ","), fmt::join(statistics.counts, ","));
  for (int64_t k = 0; k < statistics.k; ++k) {
    for (int64_t j = 0; j < statistics.d; ++j) {
      const SumFormat& format = input.columns[static_cast<size_t>(j)];
      text += " " + text_of(recombine(statistics.row(k) + j, format, statistics.d));
    }
  }
  return text;
}

std::string text_of(const PassResult& result) {
  return fmt::format("changed {} delta {:x} {:x}", result.changed, static_cast<uint64_t>(result.hash_delta >> 64),
                     static_cast<uint64_t>(result.hash_delta));
}

// Asks an upload for everything that the engine asks for, and writes down the answers.
class Script {
 public:
  Script(const Input& input, Upload& upload, const Case& made)
      : input_(input), upload_(upload), made_(made), prototypes_(made.prototypes) {}

  std::vector<std::string> run() {
    passes();
    rows_moved();
    batch();
    seeding();
    return std::move(lines_);
  }

  int64_t batched = 0;  // most passes that one call did

 private:
  std::vector<PassModel> models() {
    std::vector<PassModel> models;
    for (size_t m = 0; m < prototypes_.size(); ++m) models.push_back({static_cast<int>(m), &prototypes_[m], {}});
    return models;
  }

  void note(const std::string& line) { lines_.push_back(line); }

  void passes() {
    session_ = upload_.session(made_.shape.k, 1);
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<PassModel> models = this->models();
      session_->advance(models, 1);
      for (const PassModel& model : models) {
        note(text_of(model.result));
        note(text_of(session_->statistics(model.slot), input_));
      }
      if (pass == 2) break;
      for (size_t m = 0; m < prototypes_.size(); ++m) {
        prototypes_[m] = solve_prototypes(session_->statistics(static_cast<int>(m)), input_, prototypes_[m], pool_);
      }
    }
  }

  void rows_moved() {
    std::vector<ModelPrototypes> asked;
    for (size_t m = 0; m < prototypes_.size(); ++m) asked.push_back({static_cast<int>(m), &prototypes_[m]});
    const std::vector<InertiaSum> sums = session_->rows().inertias(asked);
    for (const InertiaSum& sum : sums) {
      note(fmt::format("inertia {} {} {}", sum.farthest, sum.format.shift,
                       text_of(recombine(sum.limbs.data(), sum.format))));
    }
    const SumFormat format = distance_format(input_, 5 * sums[0].farthest);
    std::vector<int64_t> limbs = session_->rows().inertia_limbs(0, prototypes_[0], format);
    note(text_of(recombine(limbs.data(), format)));
    const std::vector<DistantRow> far = session_->rows().farthest_rows(0, prototypes_[0], 9);
    for (const DistantRow& row : far) note(fmt::format("row {} at {} of {}", row.row, row.distance, row.label));
    const auto k = static_cast<uint32_t>(prototypes_[0].rows());
    for (size_t i = 0; i < std::min<size_t>(3, far.size()); ++i) {
      session_->move_row(0, far[i].row, (far[i].label + 1) % k);
      note(text_of(session_->statistics(0), input_));
    }
    PassModel model{0, &prototypes_[0], {}};
    session_->advance({&model, 1}, 1);
    note(text_of(model.result));
    drop_empty();
  }

  void drop_empty() {
    const std::vector<int64_t> weights = session_->statistics(0).weights;
    std::vector<int64_t> kept;
    std::vector<uint32_t> new_label;
    for (size_t c = 0; c < weights.size(); ++c) {
      new_label.push_back(static_cast<uint32_t>(kept.size()));
      if (weights[c] > 0) kept.push_back(static_cast<int64_t>(c));
    }
    for (uint32_t& label : new_label) label = std::min(label, static_cast<uint32_t>(kept.size() - 1));
    session_->relabel(0, new_label, kept);
    note(text_of(session_->statistics(0), input_));
    const Matrix left = keep_prototypes(prototypes_[0], kept);
    PassModel model{0, &left, {}};
    session_->advance({&model, 1}, 1);
    note(text_of(model.result));
  }

  // Whatever number of passes a session does at once, they are the same.
  void batch() {
    constexpr int kPasses = 6;
    const auto session = upload_.session(made_.shape.k, 1);
    prototypes_ = made_.prototypes;
    for (int left = kPasses; left > 0;) {
      std::vector<PassModel> models = this->models();
      const int done = session->advance(models, left);
      batched = std::max<int64_t>(batched, done);
      left -= done;
      bool judged = false;
      for (int pass = 0; pass < done; ++pass) {
        for (const PassModel& model : models) {
          const auto p = static_cast<size_t>(pass);
          note(text_of(p < model.earlier.size() ? model.earlier[p] : model.result));
        }
      }
      for (PassModel& model : models) {
        const auto slot = static_cast<size_t>(model.slot);
        const Statistics& statistics = session->statistics(model.slot);
        note(text_of(statistics, input_));
        if (done > 1) prototypes_[slot] = model.last_prototypes;
        judged |= model.result.changed == 0 || std::ranges::count(statistics.weights, 0) > 0;
        prototypes_[slot] = solve_prototypes(statistics, input_, prototypes_[slot], pool_);
      }
      if (judged) break;
      if (left > 0) lines_.resize(lines_.size() - models.size());  // statistics between passes are not always known
    }
  }

  void seeding() {
    const auto seeding = upload_.seeding(made_.shape.k, pool_);
    const int64_t n = input_.shard.all;
    const Matrix first = gather_from_all(input_, std::vector<int64_t>{n / 2});
    const Matrix others = gather_from_all(input_, std::vector<int64_t>{0, n - 1, n / 3});
    const SeedCentres begun{0, &first};
    const double largest = seeding->begin({&begun, 1})[0];
    note(fmt::format("largest {}", largest));
    seeding->fix_scale(0, largest);
    const WideInt total = seeding->total(0);
    note(text_of(total));
    if (total.is_zero()) return;
    std::vector<WideInt> targets;
    for (const uint64_t u : {~uint64_t{0}, uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 62}) {
      targets.push_back(total.times(u).shift_right_64());
    }
    note(fmt::format("{}", fmt::join(seeding->pick(0, targets), ",")));
    note(fmt::format("{}", fmt::join(seeding->sample(0, {77, 2, 5, total}), ",")));
    SeedTrial trial{0, &others};
    seeding->trial({&trial, 1});
    for (const WideInt& potential : trial.potentials) note(text_of(potential));
    const SeedCentres added{0, &others};
    seeding->add({&added, 1});
    note(text_of(seeding->total(0)));
  }

  const Input& input_;
  Upload& upload_;
  const Case& made_;
  std::vector<Matrix> prototypes_;
  std::unique_ptr<Session> session_;
  ThreadPool pool_{1};
  std::vector<std::string> lines_;
};

std::vector<std::string> expected(const Case& made) {
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const auto backend = make_backend("reference", {});
  const auto upload = backend->upload(input);
  return Script(input, *upload, made).run();
}

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
  const std::vector<std::string> wanted = expected(made);
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
    Script script(input, *upload, made);
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
    Script script(input, *upload, made);
    script.run();
    EXPECT_EQ(script.batched, 6);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace manymeans::test
