// Fits that end anywhere and go on from their checkpoint: they must give the bits of the fit that nobody disturbed.
#include "engine/checkpoint.h"

#include <manymeans/error.h>
#include <manymeans/model_file.h>
#include <manymeans/search.h>

#include "conformance/cases.h"
#include "conformance/variants.h"
#include "engine/small_data.h"
#include "io/files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

namespace manymeans {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::Folder;
using test::mixture;
using test::options;

// All that an answer is, or the error.
std::string outcome(const PointsView& points, std::span<const double> weights, const FitOptions& o,
                    const FitHooks& hooks) {
  try {
    const FitResult result = fit(points, weights, o, hooks);
    std::string text = result.digest();
    for (const ModelResult& model : result.models) {
      text += fmt::format(" {}/{} {} {} {} {}", model.k, model.k_requested, model.iterations,
                          name_of(model.stop_reason), fmt::join(model.counts, ","), fmt::join(model.weights, ","));
    }
    return fmt::format("{}\n{}", text, fmt::join(result.warnings, "\n"));
  } catch (const Error& error) {
    return error.what();
  }
}

std::string outcome(const test::Case& made, const FitOptions& o, const FitHooks& hooks = {}) {
  return outcome(made.points(), made.weights, o, hooks);
}

FitHooks with_checkpoint(const std::string& path, bool resume, int64_t every = 1) {
  FitHooks hooks;
  hooks.checkpoint = {path, every, resume};
  return hooks;
}

// What never changes the answer, changed.
void shuffle_speed(FitOptions& o, std::mt19937_64& random, int64_t columns) {
  o.strategy = std::array{Strategy::kConcatenated, Strategy::kData, Strategy::kTask}[random() % 3];
  o.threads = 1 + static_cast<int>(random() % 3);
  const auto backends = std::array{"cpu", "cpu", "reference"};
  o.backend = backends[random() % 3];
  o.algorithm = "auto";
  const auto algorithms = std::array{"brute", "bounds", "matrix", "auto", "kdtree"};
  const char* const algorithm = algorithms[random() % 5];
  if (o.backend == "cpu" && test::takes(o.backend, algorithm, columns)) o.algorithm = algorithm;
}

FitOptions random_options(std::mt19937_64& random, int64_t n) {
  FitOptions o;
  const int64_t largest = std::min<int64_t>(n, 12);
  o.k = {1 + static_cast<int64_t>(random()) % 3, std::max<int64_t>(4, largest)};
  for (int64_t& k : o.k) k = std::min(std::abs(k), n);
  if (o.k[0] == o.k[1] || random() % 3 == 0) o.k.erase(o.k.begin());
  o.models = 1 + static_cast<int64_t>(random() % 3);
  o.seed = random() % 1000;
  const auto inits = std::array{"k-means++", "k-means||", "random", "first", "auto"};
  o.init = inits[random() % 5];
  const auto stops =
      std::array{"tol", "strict", "labels:0.05", "shift:0.01", "shift:0.1:0.5", "inertia:0.001", "error:20"};
  o.stop = stops[random() % stops.size()];
  o.tol = random() % 2 == 0 ? 0 : 1e-4;
  o.empty =
      std::array{EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop, EmptyPolicy::kError}[random() % 4];
  o.max_iter = static_cast<int64_t>(random() % 15);
  return o;
}

// Copies of the checkpoint at every moment at which somebody could have pulled the plug.
struct Snapshots {
  Folder folder;
  std::vector<std::string> paths;

  std::string path() const { return folder / "run.ckpt"; }
  void take() {
    if (!fs::exists(path())) return;
    paths.push_back(folder / std::to_string(paths.size()));
    fs::copy_file(path(), paths.back());
  }
};

// What was met while fits were resumed from every moment.
struct Met {
  int resumed = 0, dropped = 0, refused_relocations = 0, cycles = 0, errors = 0;
};

void resume_from_every_moment(const test::Case& made, FitOptions o, std::mt19937_64& random, Met& met) {
  const std::string expected = outcome(made, o);
  const bool error = expected.front() == '[';
  Snapshots snapshots;
  FitHooks hooks = with_checkpoint(snapshots.path(), false);
  hooks.progress = [&](const Progress&) {
    snapshots.take();
    return true;
  };
  EXPECT_EQ(outcome(made, o, hooks), expected) << "writing changed the answer of " << made.name;
  if (!error) snapshots.take();  // also the one of the end
  for (const std::string& path : snapshots.paths) {
    shuffle_speed(o, random, made.shape.d);
    ASSERT_EQ(outcome(made, o, with_checkpoint(path, true, 0)), expected)
        << path << " " << made.name << " init " << o.init << " stop " << o.stop << " empty " << name_of(o.empty) << " "
        << name_of(o.strategy) << " on " << o.backend << " " << o.algorithm;
    ++met.resumed;
  }
  met.dropped += expected.find("were dropped") != std::string::npos;
  met.refused_relocations += expected.find("found no point") != std::string::npos;
  met.cycles += expected.find("cycle") != std::string::npos;
  met.errors += error;
}

TEST(Checkpoint, ResumedFromAnyMomentItIsTheSameAnswer) {
  Met met;
  for (uint64_t seed = 0; seed < 48 && !HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    const test::Case made = test::random_case(seed);
    FitOptions o = random_options(random, made.shape.n);
    shuffle_speed(o, random, made.shape.d);
    resume_from_every_moment(made, o, random, met);
  }
  EXPECT_GT(met.resumed, 300);
  EXPECT_GT(met.errors, 0);
  fmt::print("{} resumed\n", met.resumed);
}

TEST(Checkpoint, WithEveryStopRuleItIsTheSameAnswer) {
  const test::Case made =
      test::make_case(test::Family::kClusters, DataType::kFloat64, test::Weighting::kIntegers, {1500, 3, {1}}, 21);
  FitOptions o = options({12, 9}, 2);
  o.max_iter = 8;
  const std::string error = fmt::format("error:{}", fit(made.points(), made.weights, o).models[0].inertia);
  o.max_iter = 300;
  for (const std::string& stop :
       std::vector<std::string>{"tol", "labels:0.01", "shift:0.02:0.9", "inertia:0.001", error}) {
    std::mt19937_64 random(1);
    o.stop = stop;
    Met met;
    resume_from_every_moment(made, o, random, met);
    EXPECT_GE(met.resumed, 6);
    const std::string expected = outcome(made, o);
    const std::string rule = stop.substr(0, stop.find(':'));
    EXPECT_NE(expected.find(" " + rule + " "), std::string::npos) << stop << ": " << expected;
  }
}

// Few rows for many clusters: rows move, clusters drop, and states of all labels come back.
TEST(Checkpoint, WithEmptyClustersAndCyclesItIsTheSameAnswer) {
  Met met;
  for (const uint64_t seed : {14, 184, 207, 231, 280, 328, 363, 447, 495}) {
    for (const EmptyPolicy policy : {EmptyPolicy::kFarthest, EmptyPolicy::kDrop, EmptyPolicy::kKeep}) {
      std::mt19937_64 random(seed);
      const test::Shape shape{5 + static_cast<int64_t>(random() % 40), 1 + static_cast<int64_t>(random() % 3), {1}};
      const auto family = static_cast<test::Family>(seed % test::kFamilies);
      const auto weighting = static_cast<test::Weighting>(random() % test::kWeightings);
      const test::Case made = test::make_case(family, DataType::kFloat32, weighting, shape, seed);
      FitOptions o;
      o.k = {2 + static_cast<int64_t>(random() % 8)};
      o.seed = seed;
      o.init = "random";
      o.tol = 0;
      o.empty = policy;
      resume_from_every_moment(made, o, random, met);
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(met.cycles, 8);
  EXPECT_GE(met.dropped, 3);
  EXPECT_GE(met.refused_relocations, 1);
  fmt::print("{} resumed, of fits with dropped clusters {}, refused relocations {}, cycles {}\n", met.resumed,
             met.dropped, met.refused_relocations, met.cycles);
}

// Stopped after a few passes, again and again, each time by another program.
TEST(Checkpoint, AChainOfStopsIsTheSameAnswer) {
  int64_t links = 0;
  for (uint64_t seed = 1000; seed < 1040; ++seed) {
    std::mt19937_64 random(seed);
    const test::Case made = test::random_case(seed);
    FitOptions o = random_options(random, made.shape.n);
    if (o.empty == EmptyPolicy::kError) o.empty = EmptyPolicy::kKeep;
    const std::string expected = outcome(made, o);
    const Folder folder;
    bool stopped = true;
    std::string found;
    while (stopped) {
      shuffle_speed(o, random, made.shape.d);
      FitHooks hooks = with_checkpoint(folder / "run.ckpt", true, 0);
      // One pass more than all models have to repeat: so every link of the chain gets on.
      const auto most = static_cast<int64_t>(o.k.size()) * o.models + 1;
      int64_t calls = 0;
      stopped = false;
      hooks.progress = [&](const Progress& p) {
        if (p.phase == "iterate" && ++calls == most) stopped = true;
        return !stopped;
      };
      found = outcome(made, o, hooks);
      ASSERT_LT(++links, 5000);
      // The callback may say stop to a pass that was the last one anyway.
      if (stopped && found == expected) break;
    }
    EXPECT_EQ(found, expected) << seed;
  }
  EXPECT_GT(links, 60);
}

// Without a callback a backend may do many passes at once; whoever cancels does it at any time.
TEST(Checkpoint, CancelledAtAnyTimeItIsTheSameAnswer) {
  const auto x = mixture(4000, 5, 7, 60);
  const PointsView points(x.data(), 4000, 5);
  int interrupted = 0;
  std::set<std::string> backends;
  for (const test::Target& target : test::targets()) backends.insert(target.backend);
  for (const std::string& backend : backends) {
    for (const int64_t every : {0, 5}) {
      FitOptions o = options({30, 60}, 2);
      o.tol = 0;
      o.max_iter = 60;
      o.backend = backend;
      const std::string expected = outcome(points, {}, o, {});
      const Folder folder;
      for (int delay = 0; delay < 30'000; delay += 2'000) {
        std::atomic<bool> cancel{false};
        FitHooks hooks = with_checkpoint(folder / "run.ckpt", false, every);
        hooks.cancel = &cancel;
        std::thread other([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(delay));
          cancel = true;
        });
        const std::string found = outcome(points, {}, o, hooks);
        other.join();
        interrupted += found != expected;
        ASSERT_EQ(outcome(points, {}, o, with_checkpoint(folder / "run.ckpt", true, every)), expected)
            << backend << " every " << every << " after " << delay;
      }
    }
  }
  EXPECT_GT(interrupted, 10);
}

TEST(Checkpoint, GivingUpWithinAPassKeepsThePassBefore) {
  const auto x = mixture(3000, 4, 3, 20);
  const PointsView points(x.data(), 3000, 4);
  FitOptions o = options({20});
  o.tol = 0;
  const std::string expected = outcome(points, {}, o, {});
  const Folder folder;
  std::atomic<bool> abort{false};
  FitHooks hooks = with_checkpoint(folder / "run.ckpt", false, 0);
  hooks.abort = &abort;
  hooks.progress = [&](const Progress& p) {
    abort = p.phase == "iterate" && p.iteration == 5;
    return true;
  };
  expect_error(ErrorCode::kInterrupted, {}, [&] { fit(points, {}, o, hooks); });
  EXPECT_EQ(load_checkpoint(folder / "run.ckpt").models[0].iterations, 5);
  EXPECT_EQ(outcome(points, {}, o, with_checkpoint(folder / "run.ckpt", true)), expected);
}

TEST(Checkpoint, AfterATimeLimitItGoesOnToTheEnd) {
  const auto x = mixture(3000, 4, 4, 20);
  const PointsView points(x.data(), 3000, 4);
  FitOptions o = options({20});
  o.init = "first";
  o.tol = 0;
  const std::string expected = outcome(points, {}, o, {});
  const Folder folder;
  o.time_limit = 1e-9;
  EXPECT_EQ(fit(points, {}, o, with_checkpoint(folder / "run.ckpt", true)).models[0].stop_reason,
            StopReason::kTimeLimit);
  o.time_limit = 0;
  EXPECT_EQ(outcome(points, {}, o, with_checkpoint(folder / "run.ckpt", true)), expected);
}

TEST(Checkpoint, InitialisedModelsAreNotInitialisedAgain) {
  const auto x = mixture(2000, 3, 5, 30);
  const PointsView points(x.data(), 2000, 3);
  FitOptions o = options({30}, 2);
  o.init = "k-means++";
  const std::string expected = outcome(points, {}, o, {});
  const Folder folder;
  Snapshots snapshots;
  FitHooks hooks = with_checkpoint(snapshots.path(), false);
  hooks.progress = [&](const Progress& p) {
    if (p.phase == "iterate" && p.iteration == 0) snapshots.take();
    return true;
  };
  fit(points, {}, o, hooks);
  CheckpointFile file = load_checkpoint(snapshots.paths.at(0));
  for (ModelState& model : file.models) {
    EXPECT_EQ(model.stage, ModelStage::kLabelled);
    model.stage = ModelStage::kInitialised;
  }
  save_checkpoint(folder / "begun.ckpt", file);
  hooks = with_checkpoint(folder / "begun.ckpt", true);
  hooks.progress = [&](const Progress& p) {
    EXPECT_NE(p.phase, "initialise");
    return true;
  };
  EXPECT_EQ(outcome(points, {}, o, hooks), expected);
}

TEST(Checkpoint, GivenPrototypes) {
  const auto x = mixture(1000, 3, 6, 10);
  const PointsView points(x.data(), 1000, 3);
  FitOptions o = options({10}, 2);
  FitHooks hooks;
  hooks.initial = {x.data() + 30, 20, 3};
  const std::string expected = outcome(points, {}, o, hooks);
  const Folder folder;
  hooks.checkpoint = {folder / "run.ckpt", 1, false};
  int calls = 0;
  hooks.progress = [&](const Progress&) { return ++calls < 3; };
  EXPECT_NE(outcome(points, {}, o, hooks), expected);
  hooks.checkpoint.resume = true;
  hooks.progress = nullptr;
  o.init = "elsewhere/the-same.npy";  // a program's name for the same prototypes
  EXPECT_EQ(outcome(points, {}, o, hooks), expected);
  std::vector<float> turned(x.begin() + 60, x.begin() + 90);  // the second model first
  turned.insert(turned.end(), x.begin() + 30, x.begin() + 60);
  hooks.initial = {turned.data(), 20, 3};
  expect_error(ErrorCode::kUsage, {"run.ckpt", "the initial prototypes are others"},
               [&] { fit(points, {}, o, hooks); });
}

TEST(Checkpoint, ItBeginsAnewWithoutAFileAndSaysSo) {
  const auto x = mixture(500, 2, 8);
  const PointsView points(x.data(), 500, 2);
  const Folder folder;
  FitHooks hooks = with_checkpoint(folder / "run.ckpt", true);
  std::vector<std::string> messages;
  hooks.log = [&](std::string_view text) { messages.emplace_back(text); };
  const std::string digest = fit(points, {}, options({4}), hooks).digest();
  EXPECT_EQ(digest, fit(points, {}, options({4})).digest());
  EXPECT_EQ(messages, std::vector{"there is no checkpoint " + hooks.checkpoint.path + " yet: the fit begins anew"});
  messages.clear();
  EXPECT_EQ(fit(points, {}, options({4}), hooks).digest(), digest);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("1 of 1 models had begun"), std::string::npos) << messages[0];
}

// --- Another fit ---------------------------------------------------------------------------------------------------

struct Begun {
  Folder folder;
  std::vector<float> x = mixture(300, 4, 9);
  std::vector<double> weights = std::vector<double>(300, 2.0);
  FitOptions o = options({5}, 2);
  PointsView points{x.data(), 300, 4};
  std::string path = folder / "run.ckpt";

  Begun() {
    FitHooks hooks = with_checkpoint(path, false);
    hooks.progress = [](const Progress& p) { return p.phase == "initialise" || p.iteration < 1; };
    fit(points, weights, o, hooks);
  }
  void refused(ErrorCode code, std::initializer_list<std::string> parts) {
    expect_error(code, parts, [&] { fit(points, weights, o, with_checkpoint(path, true)); });
  }
};

TEST(Checkpoint, EveryOptionThatDecidesTheAnswerIsCompared) {
  const std::vector<std::pair<std::string, std::function<void(FitOptions&)>>> changes = {
      {"k was 5 and is 6", [](FitOptions& o) { o.k = {6}; }},
      {"models was 2 and is 3", [](FitOptions& o) { o.models = 3; }},
      {"seed was 0 and is 1", [](FitOptions& o) { o.seed = 1; }},
      {"model_seed was none and is 7", [](FitOptions& o) { o.model_seed = 7, o.models = 1; }},
      {"init was auto and is random", [](FitOptions& o) { o.init = "random"; }},
      {"max_iter was 300 and is 299", [](FitOptions& o) { o.max_iter = 299; }},
      {"tol was 0.0001 and is 0.00010000000000000002", [](FitOptions& o) { o.tol = std::nextafter(1e-4, 1); }},
      {"stop was tol and is strict", [](FitOptions& o) { o.stop = "strict"; }},
      {"empty was farthest and is keep", [](FitOptions& o) { o.empty = EmptyPolicy::kKeep; }},
      {"metric was euclidean and is cosine", [](FitOptions& o) { o.metric = Metric::kCosine; }},
      {"min_size was 0 and is 2", [](FitOptions& o) { o.min_size = 2; }},
      {"max_size was 0 and is 299", [](FitOptions& o) { o.max_size = 299; }},
  };
  size_t deciding = 0;
  FitOptions any;
  for_each_option(any, [&](const OptionInfo& info, const auto&) {
    deciding += decides_the_answer(info.name);
    // Whoever adds an option says so in its help, and here.
    const bool speed_only = std::strstr(info.help, "Never changes the answer") != nullptr;
    EXPECT_FALSE(speed_only && decides_the_answer(info.name)) << info.name;
  });
  EXPECT_EQ(deciding, changes.size());
  for (const auto& [text, change] : changes) {
    Begun begun;
    change(begun.o);
    begun.refused(ErrorCode::kUsage, {"run.ckpt", text, "another fit"});
  }
}

TEST(Checkpoint, OtherPointsAreRefused) {
  Begun fewer;
  fewer.points = {fewer.x.data(), 299, 4};
  fewer.weights.resize(299);
  fewer.refused(ErrorCode::kBadData, {"run.ckpt", "the rows were 300 and are 299"});
  Begun narrower;
  narrower.points = {narrower.x.data(), 300, 3};
  narrower.refused(ErrorCode::kBadData, {"the columns were 4 and are 3"});
  Begun changed;
  changed.x[777] = std::nextafter(changed.x[777], 100.0f);
  changed.refused(ErrorCode::kBadData, {"the points have other values"});
  Begun swapped;
  for (size_t j = 0; j < 4; ++j) std::swap(swapped.x[j], swapped.x[40 + j]);
  swapped.refused(ErrorCode::kBadData, {"the points have other values (or another order)"});
  Begun wider;
  const std::vector<double> wide(wider.x.begin(), wider.x.end());
  wider.points = {wide.data(), 300, 4};
  wider.refused(ErrorCode::kBadData, {"the values were float32 and are float64"});
}

TEST(Checkpoint, OtherWeightsAreRefused) {
  Begun none;
  none.weights.clear();
  none.refused(ErrorCode::kBadData, {"there were weights"});
  Begun others;
  others.weights[299] = 2.5;
  others.refused(ErrorCode::kBadData, {"the weights are others"});
}

TEST(Checkpoint, WhatNoFitCanHaveWrittenIsRefused) {
  const std::vector<std::function<void(ModelState&)>> changes = {
      [](ModelState& m) { m.iterations = 301; },
      [](ModelState& m) { m.prototypes = Matrix(4, 4, DataType::kFloat32); },
      [](ModelState& m) { m.prototypes = Matrix(6, 4, DataType::kFloat32); },
      [](ModelState& m) { m.stopping = true; },
      [](ModelState& m) { m.stop_reason = stop_reason_named("tol"); },
      [](ModelState& m) { m.stopping = true, m.stop_reason = StopReason::kInterrupted; },
      [](ModelState& m) { m.cycle_power = 0; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Begun begun;
    CheckpointFile file = load_checkpoint(begun.path);
    changes[i](file.models[1]);
    save_checkpoint(begun.path, file);
    SCOPED_TRACE(i);
    begun.refused(ErrorCode::kBadData, {"run.ckpt", "cannot be"});
  }
  Begun begun;
  CheckpointFile file = load_checkpoint(begun.path);
  file.models.pop_back();
  save_checkpoint(begun.path, file);
  begun.refused(ErrorCode::kBadData, {"it has 1 models; this fit has 2"});
}

// Digest, rounds, and what was found after which round.
std::string found_by(const PointsView& points, const SearchOptions& o, const FitHooks& hooks) {
  const SearchResult result = search(points, {}, o, hooks);
  std::string text = result.fit.digest();
  for (const SearchSummary& search : result.searches) {
    text += fmt::format(" {}:", search.rounds);
    for (const SearchStep& step : search.steps) text += fmt::format(" {}/{}", step.round, step.inertia);
  }
  return text;
}

TEST(Checkpoint, ASearchGoesOnFromAnyMoment) {
  const std::vector<float> x = mixture(400, 3, 7, 12);
  const PointsView points(x.data(), 400, 3);
  SearchOptions o;
  static_cast<FitOptions&>(o) = options({20, 3}, 2);
  o.rounds = 14;
  o.trials = 5;
  const std::string expected = found_by(points, o, {});
  Snapshots snapshots;
  FitHooks hooks = with_checkpoint(snapshots.path(), false);
  std::string last;
  hooks.progress = [&](const Progress& progress) {
    const std::string now = fmt::format("{} {} {}", progress.phase, progress.iteration, progress.inertia_estimate);
    if (now != last) snapshots.take();
    last = now;
    return true;
  };
  EXPECT_EQ(found_by(points, o, hooks), expected) << "writing changed the answer";
  snapshots.take();
  EXPECT_GT(snapshots.paths.size(), 30U);
  std::set<std::pair<bool, bool>> met;  // a search that walks, or does not; a fit that has begun, or has not
  std::mt19937_64 random(1);
  for (const std::string& path : snapshots.paths) {
    for (const ModelState& model : load_checkpoint(path).models) {
      if (!model.sought.best.empty()) met.emplace(model.sought.walking, model.stage != ModelStage::kNotBegun);
    }
    shuffle_speed(o, random, 3);
    ASSERT_EQ(found_by(points, o, with_checkpoint(path, true, 0)), expected) << path;
  }
  EXPECT_TRUE(met.contains({true, false}) && met.contains({false, false})) << "searches that walk, or make trials";
  EXPECT_TRUE(met.contains({true, true}) || met.contains({false, true})) << "searches that have ended";
}

TEST(Checkpoint, AStopKeepsTheSearchGoing) {
  const std::vector<float> x = mixture(400, 3, 7, 12);
  const PointsView points(x.data(), 400, 3);
  SearchOptions o;
  static_cast<FitOptions&>(o) = options({20});
  o.rounds = 16;
  const std::string expected = found_by(points, o, {});
  const Folder folder;
  FitHooks hooks = with_checkpoint(folder / "run.ckpt", false);
  for (int64_t stop = 1; stop < 16; stop += 3) {
    hooks.progress = [&](const Progress& progress) { return progress.phase != "search" || progress.iteration < stop; };
    const SearchResult stopped = search(points, {}, o, hooks);
    EXPECT_EQ(stopped.searches[0].rounds, stop);
    EXPECT_TRUE(stopped.fit.interrupted);
    hooks.checkpoint.resume = true;
  }
  EXPECT_EQ(found_by(points, o, with_checkpoint(folder / "run.ckpt", true)), expected);
}

TEST(Checkpoint, WhatNoSearchCanHaveWrittenIsRefused) {
  const std::vector<float> x = mixture(300, 4, 3);
  const PointsView points(x.data(), 300, 4);
  SearchOptions o;
  static_cast<FitOptions&>(o) = options({5});
  o.rounds = 12;
  const Folder folder;
  search(points, {}, o, with_checkpoint(folder / "run.ckpt", false));
  const CheckpointFile good = load_checkpoint(folder / "run.ckpt");
  const std::vector<std::function<void(SearchRecord&)>> changes = {
      [](SearchRecord& r) { r.best = Matrix(4, 4, DataType::kFloat32); },
      [](SearchRecord& r) { r.inertia = -1; },
      [](SearchRecord& r) { r.inertia = std::numeric_limits<double>::quiet_NaN(); },
      [](SearchRecord& r) { r.walk.most = 1e300; },
      [](SearchRecord& r) { r.walk.draws = int64_t{1} << 32; },
      [](SearchRecord& r) { r.seconds = std::numeric_limits<double>::quiet_NaN(); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    CheckpointFile file = good;
    changes[i](file.models[0].sought);
    save_checkpoint(folder / "bad.ckpt", file);
    expect_error(ErrorCode::kBadData, {"bad.ckpt", "cannot be"},
                 [&] { search(points, {}, o, with_checkpoint(folder / "bad.ckpt", true)); });
  }
  expect_error(ErrorCode::kUsage, {"rounds was 12 and is unknown"},
               [&] { fit(points, {}, o, with_checkpoint(folder / "run.ckpt", true)); });
}

TEST(Checkpoint, ANegativeIntervalIsRefused) {
  const float x[] = {0, 1};
  const Folder folder;
  expect_error(ErrorCode::kUsage, {"every", "-1"},
               [&] { fit({x, 2, 1}, {}, options({1}), with_checkpoint(folder / "c", false, -1)); });
}

// --- Files that are not to be lost -----------------------------------------------------------------------------------

TEST(Checkpoint, AFileThatIsNoneIsNotReplaced) {
  const Begun begun;
  const FitResult result = fit(begun.points, {}, begun.o);
  save_model(begun.folder / "model.npz", result, {}, {});
  std::string cut = test::content_of(begun.path);
  cut.resize(cut.size() / 2);
  const std::string good = test::content_of(begun.folder / "model.npz");
  for (const std::string& content : {std::string(), std::string("1,2\n"), good, cut}) {
    const std::string path = begun.folder.file("file", content);
    fs::remove(begun.folder / "link");
    fs::create_symlink("file", begun.folder / "link");
    for (const std::string& name : {path, begun.folder / "link"}) {
      expect_error(ErrorCode::kUsage, {"[" + name, "no whole checkpoint"},
                   [&] { fit(begun.points, {}, begun.o, with_checkpoint(name, false)); });
      expect_error(ErrorCode::kUsage, {"[" + name}, [&] { check_checkpoint_path(name); });
      expect_error(ErrorCode::kBadData, {name}, [&] { fit(begun.points, {}, begun.o, with_checkpoint(name, true)); });
      EXPECT_EQ(test::content_of(path), content);
    }
  }
  check_checkpoint_path(begun.path);
  fit(begun.points, begun.weights, begun.o, with_checkpoint(begun.path, false));  // a fit may replace one that was left
}

TEST(Checkpoint, WhatCannotBeAFileIsRefused) {
  const Begun begun;
  const Folder& folder = begun.folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder / "link");
  fs::create_symlink("loop", folder / "loop");
  fs::create_directory(folder / "sub");
  const std::vector<std::pair<std::string, ErrorCode>> places = {
      {folder / "pipe", ErrorCode::kUsage},
      {folder / "link", ErrorCode::kUsage},
      {"/dev/null", ErrorCode::kUsage},
      {"/dev/full", ErrorCode::kUsage},
      {folder / "loop", ErrorCode::kUnavailable},
      {folder / "sub", ErrorCode::kUnavailable},
      {begun.path + "/c", ErrorCode::kUnavailable},
      {folder / std::string(300, 'c'), ErrorCode::kUnavailable}};
  for (const auto& [path, code] : places) {
    for (const bool resume : {false, true}) {
      expect_error(code, {path}, [&] { fit(begun.points, {}, begun.o, with_checkpoint(path, resume)); });
    }
  }
  EXPECT_TRUE(fs::is_fifo(folder / "pipe") && fs::is_empty(folder / "sub"));
}

TEST(Checkpoint, AFileThatAFitHasIsRefusedToOthers) {
  const Begun begun;
  const std::string expected = outcome(begun.points, begun.weights, begun.o, {});
  int refused = 0;
  FitHooks hooks = with_checkpoint(begun.path, true);
  hooks.progress = [&](const Progress&) {
    for (const bool resume : {false, true}) {
      expect_error(ErrorCode::kUsage, {begun.path, "another fit has this checkpoint"},
                   [&] { fit(begun.points, begun.weights, begun.o, with_checkpoint(begun.path, resume)); });
      ++refused;
    }
    return true;
  };
  EXPECT_EQ(outcome(begun.points, begun.weights, begun.o, hooks), expected);
  EXPECT_GT(refused, 2);
}

// Of two that begin before there is a file, one ends when it comes to write.
TEST(Checkpoint, TwoThatBeginTogetherDoNotOverwriteEachOther) {
  const Begun begun;
  const std::string path = begun.folder / "new.ckpt";
  FitHooks hooks = with_checkpoint(path, false, 1'000'000);
  std::string file;
  hooks.progress = [&](const Progress&) {
    if (!file.empty()) return true;
    FitOptions other = begun.o;
    other.seed = 7;
    fit(begun.points, begun.weights, other, with_checkpoint(path, false));
    file = test::content_of(path);
    return true;
  };
  expect_error(ErrorCode::kUsage, {path, "another fit has this checkpoint"},
               [&] { fit(begun.points, begun.weights, begun.o, hooks); });
  EXPECT_EQ(test::content_of(path), file);
}

TEST(Checkpoint, AFileThatOthersReplaceCostsAWarningNotTheFit) {
  const Begun begun;
  const std::string path = begun.folder / "new.ckpt";
  FitHooks hooks = with_checkpoint(path, false);
  hooks.progress = [&](const Progress&) {
    if (fs::exists(path) && test::content_of(path) != "x") fs::rename(begun.folder.file("other", "x"), path);
    return true;
  };
  const FitResult result = fit(begun.points, begun.weights, begun.o, hooks);
  EXPECT_EQ(result.digest(), fit(begun.points, begun.weights, begun.o).digest());
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("could not be written: [" + path + "] another fit"), std::string::npos);
  EXPECT_EQ(test::content_of(path), "x");
}

// --- Writing -------------------------------------------------------------------------------------------------------

TEST(Checkpoint, AnUnwritablePathIsFoundBeforeTheFit) {
  const float x[] = {0, 1};
  const Folder folder;
  expect_error(ErrorCode::kUnavailable, {"no/run.ckpt"},
               [&] { fit({x, 2, 1}, {}, options({1}), with_checkpoint(folder / "no/run.ckpt", false)); });
}

TEST(Checkpoint, AFolderThatGoesAwayCostsAWarningNotTheFit) {
  const auto x = mixture(500, 2, 10);
  const PointsView points(x.data(), 500, 2);
  const Folder folder;
  fs::create_directory(folder / "away");
  FitHooks hooks = with_checkpoint(folder / "away/run.ckpt", false);
  hooks.progress = [&](const Progress&) {
    fs::remove_all(folder / "away");
    return true;
  };
  const FitResult result = fit(points, {}, options({4}), hooks);
  EXPECT_EQ(result.digest(), fit(points, {}, options({4})).digest());
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("a checkpoint could not be written: [" + hooks.checkpoint.path), std::string::npos);
}

TEST(Checkpoint, EveryNCountsPasses) {
  const auto x = mixture(2000, 3, 11, 20);
  const PointsView points(x.data(), 2000, 3);
  for (const int64_t every : {1, 3, 7}) {
    const Folder folder;
    FitOptions o = options({20});
    o.init = "first";
    o.tol = 0;
    o.max_iter = 20;
    FitHooks hooks = with_checkpoint(folder / "run.ckpt", false, every);
    int64_t passes = 1;  // the initialisation counts as one
    hooks.progress = [&](const Progress&) {
      ++passes;
      const bool there = fs::exists(folder / "run.ckpt");
      EXPECT_EQ(there, passes >= every);
      if (!there) return true;
      EXPECT_EQ(load_checkpoint(folder / "run.ckpt").models[0].iterations, passes / every * every - 2);
      return true;
    };
    fit(points, {}, o, hooks);
    EXPECT_GT(passes, 10);
  }
}

}  // namespace
}  // namespace manymeans
