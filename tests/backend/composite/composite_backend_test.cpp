// Several devices that share the rows say what the reference says of all rows, to the bit.
#include "backend/composite/composite_backend.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/composite/model_shares.h"
#include "backend/composite/row_shares.h"
#include "backend/device/async_backend.h"
#include "backend/swap_scores.h"
#include "backend/upload_script.h"
#include "conformance/variants.h"
#include "data/gather.h"
#include "data/shards.h"
#include "engine/tuned.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <numeric>
#include <random>

namespace manymeans::test {
namespace {

// Parts of any kind that can be made here.
std::vector<NamedBackend> some_backends(uint64_t seed, int64_t columns) {
  static const std::vector<Target> all = targets();
  constexpr std::array<const char*, 5> kAlgorithms = {"auto", "matrix", "bounds", "kdtree", "brute"};
  std::mt19937_64 random(seed);
  std::vector<NamedBackend> backends;
  const size_t count = 1 + random() % 5;
  while (backends.size() < count) {
    if (random() % 4 == 0) {
      backends.push_back({"reference", make_backend("reference", {})});
      continue;
    }
    const Target& target = all[random() % all.size()];
    const char* algorithm = kAlgorithms[random() % kAlgorithms.size()];
    if (!takes(target, algorithm, columns)) continue;
    backends.push_back({target.name(), target.make(algorithm, 1 + static_cast<int>(random() % 2))});
  }
  return backends;
}

TEST(CompositeBackend, SaysWhatOneOverAllRowsSays) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Case made = random_case(70000 + seed);
    if (made.shape.n > 1100) continue;
    const std::vector<NamedBackend> backends = some_backends(seed, made.shape.d);
    std::vector<std::string> names;
    for (const NamedBackend& each : backends) names.push_back(each.name);
    SCOPED_TRACE(fmt::format("{} seed {} by {}", made.name, seed, fmt::join(names, " and ")));
    ThreadPool pool(1);
    const Input input = prepare_input(made.points(), made.weights, pool);
    const std::vector<int64_t> ends = shard_ends(made.shape.n, static_cast<int>(backends.size()), seed);
    const auto upload = make_composite_upload(input, backends, ends, {});
    UploadScript script(input, *upload, made);
    ASSERT_EQ(script.run(), expected_script(made)) << upload->plan();
  }
}

// Other ends every time that they are asked for: every part keeps some rows.
ShareRule restless_rule(int64_t rows, size_t parts, uint64_t seed) {
  return [rows, parts, random = std::mt19937_64(seed)](const SharedWork& work) mutable {
    EXPECT_EQ(std::accumulate(work.rows.begin(), work.rows.end(), int64_t{0}), rows);
    std::vector<int64_t> ends;
    while (ends.size() + 1 < parts)
      ends.push_back(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(rows - 1)));
    std::ranges::sort(ends);
    ends.push_back(rows);
    return ends;
  };
}

TEST(CompositeBackend, SaysTheSameWhileRowsMove) {
  int moved = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const Case made = random_case(72000 + seed);
    if (made.shape.n > 1100 || made.shape.n < 4) continue;
    const std::vector<NamedBackend> backends = some_backends(seed, made.shape.d);
    SCOPED_TRACE(fmt::format("{} seed {}", made.name, seed));
    ThreadPool pool(1);
    const Input input = prepare_input(made.points(), made.weights, pool);
    std::vector<int64_t> ends(backends.size());
    for (size_t b = 0; b < ends.size(); ++b) ends[b] = std::min(static_cast<int64_t>(b + 1), made.shape.n - 1);
    ends.back() = made.shape.n;
    const auto upload =
        make_composite_upload(input, backends, ends, {}, restless_rule(made.shape.n, backends.size(), seed));
    UploadScript script(input, *upload, made);
    ASSERT_EQ(script.run(), expected_script(made)) << upload->plan();
    moved += upload->plan().find("rows moved") != std::string::npos;
  }
  EXPECT_GT(moved, 3);
}

// Two of the host's backends whose rows move before every pass that allows it.
class RestlessBackend final : public Backend {
 public:
  explicit RestlessBackend(BackendOptions options) {
    options.tuning.test_backend = nullptr;  // it would be this one again
    backends_.push_back({"cpu", make_backend("cpu", options)});
    backends_.push_back({"reference", make_backend("reference", {})});
    backends_.push_back({"async", make_async_backend({})});
  }
  std::string_view name() const override { return "restless"; }
  std::string instruction_set() const override { return {}; }
  int threads() const override { return 2; }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    const int64_t n = input.points.n;
    if (n < 3) return make_composite_upload(input, backends_, std::vector<int64_t>{n, n, n}, workload);
    return make_composite_upload(input, backends_, std::vector<int64_t>{1, 2, n}, workload, restless_rule(n, 3, 5));
  }

 private:
  std::vector<NamedBackend> backends_;
};

std::unique_ptr<Backend> make_restless_backend(const BackendOptions& options) {
  return std::make_unique<RestlessBackend>(options);
}

TEST(CompositeBackend, FitsAreTheSameWhileRowsMove) {
  int moved = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const Case made = random_case(73000 + seed);
    if (made.shape.n > 1100 || made.shape.n < 12) continue;
    FitOptions options;
    options.k = {2, 5};
    options.models = 3;
    options.max_iter = 12;
    options.threads = 2;
    options.strategy = seed % 2 == 0 ? Strategy::kConcatenated : Strategy::kData;
    options.empty = seed % 3 == 0 ? EmptyPolicy::kKeep : EmptyPolicy::kFarthest;
    options.stop = seed % 4 == 0 ? "strict,labels:0.01" : "strict";
    SCOPED_TRACE(fmt::format("{} seed {}", made.name, seed));
    Tuning tuning;
    tuning.test_backend = make_restless_backend;
    FitHooks hooks;
    hooks.labels = seed % 5 == 0 ? LabelsOf::kBest : LabelsOf::kAll;
    const FitResult moving = fit_tuned(made.points(), made.weights, options, hooks, tuning);
    options.backend = "reference";
    EXPECT_EQ(moving.digest(), fit(made.points(), made.weights, options).digest()) << moving.provenance.plan;
    moved += moving.provenance.plan.find("rows moved") != std::string::npos;
  }
  EXPECT_GT(moved, 5);
}

// The third upload finds no room, and so does every one after the `fewest`-th.
class FullBackend final : public Backend {
 public:
  explicit FullBackend(int fewest) : fewest_(fewest) {}
  std::string_view name() const override { return "filling"; }
  std::string instruction_set() const override { return ""; }
  int threads() const override { return 1; }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    ++uploads_;
    if (uploads_ == 3 || uploads_ > fewest_) throw Error(ErrorCode::kUnavailable, "filling", "there is no room");
    return cpu_->upload(input, workload);
  }

 private:
  std::unique_ptr<Backend> cpu_ = make_backend("cpu", {});
  int uploads_ = 0, fewest_;
};

// Passes of one model by two backends, the second of which has no room for the rows of the second move.
std::string passes_until_full(const Case& made, int fewest) {
  std::vector<NamedBackend> backends;
  backends.push_back({"cpu", make_backend("cpu", {})});
  backends.push_back({"filling", std::make_unique<FullBackend>(fewest)});
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const std::vector<int64_t> ends = {1, made.shape.n};
  const auto upload = make_composite_upload(input, backends, ends, {}, restless_rule(made.shape.n, 2, 4));
  UploadScript script(input, *upload, made);
  EXPECT_EQ(script.run(), expected_script(made)) << upload->plan();
  return upload->plan();
}

TEST(CompositeBackend, AMoveThatFailsIsGivenUp) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {500, 2, {9}}, 8);
  const std::string plan = passes_until_full(made, 1000);
  EXPECT_NE(plan.find("; rows moved 1 time to the devices that waited"), std::string::npos) << plan;
  EXPECT_NE(plan.find("; rows stay where they are, since moving them failed: [filling] [filling] there is no room"),
            std::string::npos)
      << plan;
}

TEST(CompositeBackend, AMoveThatCannotBeUndoneIsAnError) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {500, 2, {9}}, 8);
  try {
    passes_until_full(made, 2);
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_STREQ(error.what(), "[moving rows] [filling] [filling] there is no room");
  }
}

// Several devices leave the swaps of a search to the host, and say so.
TEST(CompositeBackend, SaysWhoScoresSwaps) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {128, 2, {3}}, 8);
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), {}, pool);
  const auto two = [] {
    std::vector<NamedBackend> backends;
    for (const char* name : {"cpu", "reference"}) backends.push_back({name, make_backend(name, {})});
    return backends;
  };
  Workload workload;
  workload.clusters = {3, 3, 3, 3};
  workload.models = 4;
  const std::vector<int64_t> ends = {64, 128};
  const auto by_rows = two(), by_models = two();
  const std::pair<std::unique_ptr<Upload>, std::string> uploads[] = {
      {make_composite_upload(input, by_rows, ends, workload), "rows"},
      {make_upload_by_models(input, by_models, workload), "models"}};
  for (const auto& [upload, what] : uploads) {
    EXPECT_EQ(upload->plan().find("swaps"), std::string::npos) << upload->plan();
    EXPECT_EQ(upload->swap_scores(3), nullptr);
    EXPECT_TRUE(upload->plan().ends_with("; swaps scored by the host, since several devices share the " + what))
        << upload->plan();
  }
}

TEST(RowShares, AreCorrectedOnceWaitingTookAsLongAsMoving) {
  const std::vector<DeviceRate> devices = {{1, 1 << 20}, {1, 1 << 20}};
  SharedWork work{.rows = {6400, 6400}, .seconds = {3, 1}, .passes = 2, .waited = 1.2, .moving = 2};
  EXPECT_TRUE(corrected_ends(work, devices, 1e9).empty());
  work.moving = 1;
  EXPECT_EQ(corrected_ends(work, devices, 1e9), (std::vector<int64_t>{3200, 12800}));
  work.waited = 0.1;  // a thirtieth of the passes
  work.moving = 0.01;
  EXPECT_TRUE(corrected_ends(work, devices, 1e9).empty());
  EXPECT_TRUE(corrected_ends(SharedWork{}, devices, 1e9).empty());
}

TEST(CompositeBackend, DoesManyPassesAtOnce) {
  Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {900, 2, {9, 4}}, 8);
  for (Matrix& prototypes : made.prototypes) {
    prototypes = gather_rows(made.points(), spread_rows(900, prototypes.rows()));  // no two are equal
  }
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const auto backend = make_composite_backend("cpu,reference", {});
  const auto upload = backend->upload(input);
  UploadScript script(input, *upload, made);
  script.run();
  EXPECT_EQ(script.batched, 6);
}

std::vector<NamedBackend> async_backends(size_t count, const BackendOptions& options = {}) {
  std::vector<NamedBackend> backends;
  while (backends.size() < count) backends.push_back({"async", make_async_backend(options)});
  return backends;
}

TEST(CompositeBackend, DevicesOfAKindAddUpAmongThemselves) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Case made = random_case(71000 + seed);
    if (made.shape.n > 600) continue;
    const std::vector<NamedBackend> backends = async_backends(2 + seed % 3);
    SCOPED_TRACE(fmt::format("{} seed {} by {} devices", made.name, seed, backends.size()));
    ThreadPool pool(1);
    const Input input = prepare_input(made.points(), made.weights, pool);
    const std::vector<int64_t> ends = shard_ends(made.shape.n, static_cast<int>(backends.size()), seed);
    const auto upload = make_composite_upload(input, backends, ends, {});
    UploadScript script(input, *upload, made);
    ASSERT_EQ(script.run(), expected_script(made)) << upload->plan();
  }
}

TEST(CompositeBackend, ATeamMakesManyPassesAtOnce) {
  Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kRanges, {900, 2, {9, 4}}, 8);
  for (Matrix& prototypes : made.prototypes) {
    prototypes = gather_rows(made.points(), spread_rows(900, prototypes.rows()));  // no two are equal
  }
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const auto backend = make_composite_backend(async_backends(3));
  const auto upload = backend->upload(input);
  UploadScript script(input, *upload, made);
  ASSERT_EQ(script.run(), expected_script(made));
  EXPECT_EQ(script.batched, 6);
}

// Labels of one byte and of two, by parts that have room for two each, and by parts that differ.
TEST(CompositeBackend, PartsWriteTheirLabelsToWhereTheyAreAmongAll) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {900, 2, {3, 300}}, 8);
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), {}, pool);
  const std::vector<int> slots = {0, 1};
  const auto labels_by = [&](Upload& upload, bool together) {
    const auto session = upload.session(made.shape.k, 2);
    std::vector<std::vector<uint32_t>> all;
    for (int time = 0; time < 2; ++time) {  // what was handed over is new in the next pass
      std::vector<PassModel> models = {{0, &made.prototypes[0], {}}, {1, &made.prototypes[1], {}}};
      EXPECT_TRUE(session->labels(1).empty());
      session->advance(models, 1);
      EXPECT_EQ(models[1].result.changed, 900);
      if (together) session->fetch(slots, slots);
      for (const int slot : slots) {
        all.emplace_back(900);
        session->labels(slot).read(0, 900, all.back().data());
        const Labels taken = session->take_labels(slot);
        EXPECT_EQ(taken.width(), slot == 0 ? 1 : 2);
        for (int64_t i = 0; i < 900; ++i) EXPECT_EQ(taken[i], all.back()[static_cast<size_t>(i)]);
      }
    }
    return all;
  };
  const auto expected = labels_by(*make_backend("reference", {})->upload(input), false);
  EXPECT_EQ(expected[0], expected[2]);
  for (const bool together : {false, true}) {
    EXPECT_EQ(labels_by(*make_composite_backend(async_backends(3))->upload(input), together), expected);
    std::vector<NamedBackend> mixed = async_backends(2);
    mixed.push_back({"cpu", make_backend("cpu", {})});
    mixed.push_back({"reference", make_backend("reference", {})});
    const auto upload = make_composite_upload(input, mixed, std::vector<int64_t>{100, 301, 650, 900}, {});
    EXPECT_EQ(labels_by(*upload, together), expected);
  }
}

// Whose own thread throws; nobody may wait for it.
TEST(CompositeBackend, ATeamEndsWithItsFirstError) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {500, 2, {9}}, 8);
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const BackendOptions in_slices = {.tuning = {.cuda = {.slice_rows = 100}}};
  std::atomic<bool> abort = false;
  BackendOptions may_stop = in_slices;
  may_stop.abort = &abort;
  std::vector<NamedBackend> backends = async_backends(2, in_slices);
  backends.push_back({"async", make_async_backend(may_stop)});
  const std::vector<int64_t> ends = {100, 200, 500};
  const auto upload = make_composite_upload(input, backends, ends, {});
  const auto session = upload->session(made.shape.k, 1);
  PassModel model{0, &made.prototypes[0], {}};
  session->advance({&model, 1}, 3);
  abort = true;
  for (int again = 0; again < 2; ++again) {
    try {
      session->advance({&model, 1}, 3);
      FAIL() << "it went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInterrupted) << error.what();
    }
  }
}

// As a GPU without room for a context does.
TEST(CompositeBackend, NamesTheDeviceThatCannotBeUsed) {
  struct Full final : Backend {
    std::string_view name() const override { return "full"; }
    std::string instruction_set() const override { return ""; }
    int threads() const override { return 1; }
    void bind_thread() override { throw Error(ErrorCode::kUnavailable, "full", "out of memory"); }
    std::unique_ptr<Upload> upload(const Input&, const Workload&) override { return nullptr; }
  };
  std::vector<NamedBackend> backends;
  backends.push_back({"reference", make_backend("reference", {})});
  backends.push_back({"full:1", std::make_unique<Full>()});
  const std::vector<float> values(128 * 2);
  ThreadPool pool(1);
  const Input input = prepare_input({values.data(), 128, 2}, {}, pool);
  const std::vector<int64_t> ends = {64, 128};
  try {
    make_composite_upload(input, backends, ends, {});
    FAIL() << "it was used";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_STREQ(error.what(), "[full:1] [full] out of memory");
  }
}

// Points in slices, and whoever finds a row's label on a thread that another device used before.
TEST(CompositeBackend, PutsEveryCallOnAThreadOfItsDevice) {
  struct Here final : Backend {
    std::unique_ptr<Backend> cpu = make_backend("cpu", {});
    std::atomic<int>* calls;
    explicit Here(std::atomic<int>* count) : calls(count) {}
    std::string_view name() const override { return "here"; }
    std::string instruction_set() const override { return ""; }
    int threads() const override { return 1; }
    void bind_thread() override { ++*calls; }
    std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
      return cpu->upload(input, workload);
    }
  };
  std::atomic<int> calls[2] = {0, 0};
  std::vector<NamedBackend> backends;
  for (auto& count : calls) backends.push_back({"here", std::make_unique<Here>(&count)});
  const auto both = make_composite_backend(std::move(backends));
  std::vector<float> values(64 * 4);
  std::iota(values.begin(), values.end(), 0.0F);
  ThreadPool pool(1);
  const Input input = prepare_input({values.data(), 128, 2}, {}, pool);
  {
    const auto upload = both->upload(input);
    for (const auto& count : calls) EXPECT_EQ(count, 1);
    const int64_t k = 3;
    const auto session = upload->session({&k, 1}, 1);
    const Matrix prototypes = prototypes_at(input, spread_rows(128, k));
    PassModel model{0, &prototypes, {}};
    session->advance({&model, 1}, 1);
    for (const auto& count : calls) EXPECT_EQ(count, 3);
  }
  for (const auto& count : calls) EXPECT_EQ(count, 5);  // the session's end, and the upload's
}

TEST(CompositeBackend, WholeFitsAreThoseOfOneDevice) {
  Case made = make_case(Family::kNormal, DataType::kFloat64, Weighting::kRanges, {700, 3, {5}}, 3);
  FitOptions options;
  options.k = {3, 8};
  options.models = 3;
  options.max_iter = 12;
  options.threads = 6;  // so that models are seeded and fitted at the same time, by task
  for (const char* init : {"k-means++", "k-means||", "random"}) {
    for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
      options.init = init;
      options.strategy = strategy;
      options.backend = "reference";
      const FitResult one = fit(made.points(), made.weights, options);
      options.backend = "reference,cpu";
      const FitResult two = fit(made.points(), made.weights, options);
      EXPECT_EQ(one.digest(), two.digest()) << init;
      EXPECT_EQ(two.provenance.backend, "reference,cpu");
      EXPECT_NE(two.provenance.plan.find(" of 700 rows: "), std::string::npos) << two.provenance.plan;
    }
  }
}

// Each device has all rows and some of the models, whatever these are fitted with.
TEST(CompositeBackend, ModelsApartAreThoseOfOneDevice) {
  const Case made = make_case(Family::kNormal, DataType::kFloat64, Weighting::kRanges, {700, 3, {5}}, 3);
  Tuning apart;
  apart.models_apart = true;
  FitOptions options;
  options.k = {2, 9, 3};
  options.models = 3;
  options.max_iter = 12;
  for (const char* init : {"k-means++", "k-means||", "random"}) {
    for (const EmptyPolicy empty : {EmptyPolicy::kFarthest, EmptyPolicy::kDrop}) {
      options.init = init;
      options.empty = empty;
      options.backend = "reference";
      const std::string one = fit(made.points(), made.weights, options).digest();
      for (const char* several : {"reference,cpu", "cpu,reference"}) {
        options.backend = several;
        const FitResult found = fit_tuned(made.points(), made.weights, options, {}, apart);
        EXPECT_EQ(found.digest(), one) << init << " " << several;
        EXPECT_NE(found.provenance.plan.find("has 5 of 9 models: "), std::string::npos) << found.provenance.plan;
      }
    }
  }
}

TEST(CompositeBackend, ModelsApartFailAsTheFirstOfThem) {
  std::vector<float> values(40 * 2, 1.0F);  // of two distinct rows, so that every third cluster is empty
  values[0] = 7;
  FitOptions options;
  options.k = {3, 4, 5};
  options.empty = EmptyPolicy::kError;
  const auto what = [&](const char* backend, bool models_apart) -> std::string {
    options.backend = backend;
    Tuning tuning;
    tuning.models_apart = models_apart;
    try {
      fit_tuned({values.data(), 40, 2}, {}, options, {}, tuning);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  const std::string alone = what("reference", false);
  EXPECT_NE(alone, "none");
  EXPECT_EQ(what("reference,cpu", true), alone);
}

TEST(CompositeBackend, ACheckpointOfModelsApartGoesOnWithOne) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {600, 3, {5}}, 4);
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "manymeans-models-apart.ckpt";
  FitOptions options;
  options.k = {4, 7};
  options.models = 2;
  options.tol = 0;
  options.backend = "reference";
  const std::string wanted = fit(made.points(), {}, options).digest();
  std::filesystem::remove(path);
  FitHooks hooks;
  hooks.checkpoint.path = path.string();
  hooks.progress = [](const Progress& progress) { return progress.iteration < 3; };
  Tuning apart;
  apart.models_apart = true;
  options.backend = "cpu,reference";
  EXPECT_TRUE(fit_tuned(made.points(), {}, options, hooks, apart).interrupted);
  hooks.progress = {};
  hooks.checkpoint.resume = true;
  options.backend = "cpu";
  EXPECT_EQ(fit(made.points(), {}, options, hooks).digest(), wanted);
  std::filesystem::remove(path);
}

// By the sizes that users have: short passes and large ensembles by models, many rows of few clusters by rows.
TEST(CompositeBackend, DealsOutModelsWhereThatPays) {
  constexpr double kMin = 1e10;
  const auto deals = [](int64_t rows, int64_t columns, std::vector<int64_t> clusters) {
    const std::vector<float> value(1);
    ThreadPool pool(1);
    Input input = prepare_input({value.data(), 1, 1}, {}, pool);
    input.points.n = rows;
    input.points.d = columns;
    Workload workload;
    workload.models = static_cast<int64_t>(clusters.size());
    workload.all_clusters = std::accumulate(clusters.begin(), clusters.end(), int64_t{0});
    workload.passes = 300 * workload.models;
    workload.clusters = std::move(clusters);
    return deals_out_models(input, workload, 2, kMin);
  };
  EXPECT_TRUE(deals(100'000, 8, std::vector<int64_t>(100, 20)));  // 0.3 ms, of which a meeting would be a tenth
  EXPECT_TRUE(deals(1'000'000, 2, std::vector<int64_t>(100, 10)));
  EXPECT_FALSE(deals(16'000'000, 128, std::vector<int64_t>(10, 64)));  // 8 GB
  EXPECT_FALSE(deals(5'000'000, 64, std::vector<int64_t>(10, 8)));
  EXPECT_FALSE(deals(100'000, 8, {20, 20}));                  // one may take twice the iterations of the other
  EXPECT_FALSE(deals(1000, 2, std::vector<int64_t>(10, 3)));  // microseconds
}

TEST(CompositeBackend, RefusesNamesThatMakeNoSense) {
  const auto text_of_error = [](std::string_view name) -> std::string {
    try {
      make_backend(name, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_NE(text_of_error("cpu,cpu").find("cpu stands twice"), std::string::npos);
  EXPECT_NE(text_of_error("cpu,cpu:0").find("stands twice"), std::string::npos);
  for (const char* none : {"cpu:1", "cpu:0", "reference:5", "auto:1", "cpu:1,reference"}) {
    EXPECT_NE(text_of_error(none).find("names no device"), std::string::npos) << none;
  }
  EXPECT_NE(text_of_error("cpu,").find("a name is empty"), std::string::npos);
  EXPECT_NE(text_of_error("cpu,auto").find("auto stands among others"), std::string::npos);
  EXPECT_NE(text_of_error("cpu,nothing").find("there is no backend 'nothing'"), std::string::npos);
  EXPECT_NE(text_of_error("nothing:all").find("there is no device for 'nothing:all'"), std::string::npos);
  EXPECT_EQ(text_of_error("cpu,reference"), "none");
}

TEST(CompositeBackend, LeavesShortPassesToOneDevice) {
  struct Quick final : Backend {
    std::unique_ptr<Backend> reference = make_backend("reference", {});
    std::string_view name() const override { return "quick"; }
    std::string instruction_set() const override { return ""; }
    int threads() const override { return 1; }
    double min_shared_products() const override { return 128.0 * 5 * 10; }
    std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
      return reference->upload(input, workload);
    }
  };
  const auto plan_of = [](int64_t clusters) {
    std::vector<NamedBackend> backends;
    for (const char* name : {"quick", "quick:1"}) backends.push_back({name, std::make_unique<Quick>()});
    const auto both = make_composite_backend(std::move(backends));
    const std::vector<float> values(128 * 2);
    ThreadPool pool(1);
    const Input input = prepare_input({values.data(), 128, 2}, {}, pool);
    Workload workload;
    workload.all_clusters = clusters;
    return both->upload(input, workload)->plan();
  };
  EXPECT_NE(plan_of(4).find("quick has 128 of 128 rows"), std::string::npos) << plan_of(4);
  EXPECT_NE(plan_of(4).find("; quick:1 has no rows, since it would only be waited for"), std::string::npos);
  EXPECT_NE(plan_of(5).find("quick:1 has 64 of 128 rows"), std::string::npos) << plan_of(5);
}

// A device whose memory is the host's: it copies points before they are checked, and uploads the copy.
struct CopyingBackend final : Backend {
  struct Copy final : CopiedPoints {
    std::vector<std::byte> bytes;
    PointsView view;

    explicit Copy(const PointsView& points) : bytes(points.bytes()), view(points) {
      std::memcpy(bytes.data(), points.data, bytes.size());
      view.data = bytes.data();
    }
    GivenPoints points() const override { return {view}; }
  };
  std::unique_ptr<Backend> reference = make_backend("reference", {});
  int64_t most = 1 << 20;  // rows that it copies
  const void* copied = nullptr;
  bool uploaded_copy = false;

  std::string_view name() const override { return "copying"; }
  std::string instruction_set() const override { return ""; }
  int threads() const override { return 1; }
  double min_shared_products() const override { return 1000; }
  std::unique_ptr<CopiedPoints> copy(const PointsView& points, const Workload&) override {
    if (points.n > most) return nullptr;
    auto copy = std::make_unique<Copy>(points);
    copied = copy->bytes.data();
    return copy;
  }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    uploaded_copy = input.points.data == copied;
    return reference->upload(input, workload);
  }
};

struct CopyingPair {
  CopyingBackend *first, *second;
  std::unique_ptr<Backend> both;

  CopyingPair() {
    std::vector<NamedBackend> backends;
    for (const char* name : {"copying", "copying:1"}) backends.push_back({name, std::make_unique<CopyingBackend>()});
    first = static_cast<CopyingBackend*>(backends[0].backend.get());
    second = static_cast<CopyingBackend*>(backends[1].backend.get());
    both = make_composite_backend(std::move(backends));
  }
};

TEST(CompositeBackend, EachDeviceChecksAndUploadsItsOwnCopy) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Case made = random_case(81000 + seed);
    if (made.shape.n > 1100 || made.shape.n < 130) continue;
    SCOPED_TRACE(fmt::format("{} seed {}", made.name, seed));
    const CopyingPair pair;
    Workload workload;
    workload.all_clusters = 1000;
    const auto copies = pair.both->copy(made.points(), workload);
    ASSERT_NE(copies, nullptr);
    ThreadPool pool(1);
    const Input input = prepare_input(copies->points(), made.weights, pool, {}, self_comm());
    const auto upload = pair.both->upload(input, workload);
    EXPECT_TRUE(pair.first->uploaded_copy && pair.second->uploaded_copy);
    UploadScript script(input, *upload, made);
    ASSERT_EQ(script.run(), expected_script(made)) << upload->plan();
  }
}

TEST(CompositeBackend, CopiesForThoseThatWillHaveRows) {
  const std::vector<float> values(1000 * 2);
  const PointsView points(values.data(), 1000, 2);
  Workload workload;
  workload.all_clusters = 1000;
  CopyingPair pair;
  pair.second->most = 400;
  EXPECT_EQ(pair.both->copy(points, workload), nullptr) << "one would rather not";
  pair.second->most = 500;
  EXPECT_NE(pair.both->copy(points, workload), nullptr);
  workload.models = 8;
  EXPECT_EQ(pair.both->copy(points, workload), nullptr) << "each may have to have all rows";
  workload.models = workload.all_clusters = 0;  // short passes: the first one does all
  const auto copies = pair.both->copy(points, workload);
  ASSERT_NE(copies, nullptr);
  EXPECT_EQ(copies->points().copies.parts.size(), 1);
  ThreadPool pool(1);
  const Input input = prepare_input(copies->points(), {}, pool, {}, self_comm());
  pair.both->upload(input, workload);
  EXPECT_TRUE(pair.first->uploaded_copy);
}

TEST(RowShares, AreInProportionToTheSpeeds) {
  const auto shares = [](int64_t rows, std::vector<double> speeds) { return share_ends(rows, speeds); };
  EXPECT_EQ(shares(6400, {1, 1}), (std::vector<int64_t>{3200, 6400}));
  EXPECT_EQ(shares(6400, {1, 3}), (std::vector<int64_t>{1600, 6400}));
  EXPECT_EQ(shares(100, {1, 1, 1}), (std::vector<int64_t>{64, 100, 100}));
  EXPECT_EQ(shares(1, {1, 1}), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(shares(3, {1, 1}), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(shares(6400, {1000, 1}), (std::vector<int64_t>{6400, 6400}));  // it would only be waited for
  EXPECT_EQ(shares(6400, {1, 1000}), (std::vector<int64_t>{0, 6400}));
}

TEST(RowShares, FollowTheMemoryOfDevices) {
  constexpr int64_t kAny = int64_t{1} << 40;
  const auto shares = [](int64_t rows, const std::vector<DeviceRate>& devices, double link) {
    return share_ends(rows, shares_in_time(rows, devices, link));
  };
  EXPECT_EQ(shares(6400, {{1, kAny}, {3, kAny}}, 0), (std::vector<int64_t>{1600, 6400}));
  EXPECT_EQ(shares(6400, {{1, kAny}, {3, 640}}, 0), (std::vector<int64_t>{5760, 6400}));  // no link
  EXPECT_EQ(shares(6400, {{1, kAny}, {9, 640}}, 1),
            (std::vector<int64_t>{2880, 6400}));  // 640 and as fast as the other
  EXPECT_EQ(shares(6400, {{1, kAny}, {3, 640}}, 100), (std::vector<int64_t>{1600, 6400}));  // a link that is no limit
  EXPECT_EQ(shares(6400, {{5, 640}, {5, 640}}, 1), (std::vector<int64_t>{3200, 6400}));     // nobody has room
}

}  // namespace
}  // namespace manymeans::test
