// Bounds carried from pass to pass (docs/developer/screens.md). Labels stay the reference's however the prototypes
// move. Some rows are really kept. Hamerly's algorithm evaluates at least as many distances. Bounds that are too tight
// are noticed.
#include <manymeans/info.h>

#include "conformance/cases.h"
#include "conformance/textbook_hamerly.h"
#include "conformance/variants.h"
#include "core/threads.h"
#include "prototype/prototype.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace manymeans::test {
namespace {

// One model's session over a case.
class Passes {
 public:
  Passes(std::unique_ptr<Backend> backend, const Case& made)
      : backend_(std::move(backend)),
        input_(prepare_input(made.points(), made.weights, pool_)),
        upload_(backend_->upload(input_)),
        session_(upload_->session(made.shape.k, 0)),
        labels_(static_cast<size_t>(made.shape.n)) {}

  PassResult pass(const Matrix& prototypes) {
    PassModel model{0, &prototypes, {}};
    session_->advance({&model, 1}, 1);
    session_->labels(0).read(0, static_cast<int64_t>(labels_.size()), labels_.data());
    return model.result;
  }
  Matrix solve(const Matrix& prototypes) {
    return solve_prototypes(session_->statistics(0), input_, prototypes, pool_);
  }
  const std::vector<uint32_t>& labels() const { return labels_; }

 private:
  ThreadPool pool_{1};
  std::unique_ptr<Backend> backend_;
  Input input_;
  std::unique_ptr<Upload> upload_;
  std::unique_ptr<Session> session_;
  std::vector<uint32_t> labels_;
};

int64_t differences(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

// Points on a lattice and prototypes that wander over it in steps of 2^-10 to 2: exact ties in every pass.
Case lattice_case(uint64_t seed) {
  return make_case(Family::kGrid, DataType::kFloat32, Weighting::kNone, {6000, 3, {24}}, seed);
}

void wander(Matrix& prototypes, std::mt19937_64& random) {
  const std::span<float> values = prototypes.values<float>();
  for (float& value : values) {
    const auto step = std::ldexp(1.0F, -static_cast<int>(random() % 12) + 1);
    if (random() % 4 == 0 && std::fabs(value) < 4) value += random() % 2 == 0 ? step : -step;
    if (std::fabs(value) >= 4) value = 0;
  }
}

struct Walk {
  int64_t wrong = 0, skipped = 0;
};

Walk walk(std::unique_ptr<Backend> backend, const Case& made, bool lloyd, int passes = 12) {
  Passes reference(make_backend("reference", {}), made);
  Passes tried(std::move(backend), made);
  std::mt19937_64 random(made.seed);
  Matrix prototypes = made.prototypes[0];
  Walk found;
  for (int pass = 0; pass < passes; ++pass) {
    reference.pass(prototypes);
    found.skipped += tried.pass(prototypes).skipped;
    found.wrong += differences(reference.labels(), tried.labels());
    if (lloyd) {
      prototypes = reference.solve(prototypes);
    } else {
      wander(prototypes, random);
    }
  }
  return found;
}

std::vector<Case> lloyd_cases() {
  return {make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {9000, 2, {40}}, 1),
          make_case(Family::kNormal, DataType::kFloat64, Weighting::kNone, {7001, 5, {30}}, 2),
          make_case(Family::kOffset, DataType::kFloat32, Weighting::kNone, {5000, 3, {20}}, 3),
          make_case(Family::kNormal, DataType::kFloat32, Weighting::kIntegers, {3000, 40, {100}}, 4)};
}

TEST(Bounds, LabelsAreTheReferencesWhileRowsAreKept) {
  for (const Target& target : targets()) {
    if (!takes(target, "bounds", 2)) continue;
    int64_t skipped = 0;
    for (const Case& made : lloyd_cases()) {
      const Walk found = walk(target.make("bounds", 2), made, true);
      EXPECT_EQ(found.wrong, 0) << made.name << " on " << target.name();
      skipped += found.skipped;
    }
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const Walk found = walk(target.make("bounds", 2), lattice_case(seed), false);
      EXPECT_EQ(found.wrong, 0) << "lattice " << seed << " on " << target.name();
      skipped += found.skipped;
    }
    EXPECT_GT(skipped, 10'000) << target.name();
    fmt::print("{}: {} rows kept by bounds\n", target.name(), skipped);
  }
}

// auto begins in the middle of a fit, when few labels change.
TEST(Bounds, LabelsAreTheReferencesWhereAutoBegins) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {6000, 6, {100}}, 5);
  for (const Choice& set : cpu_instruction_sets()) {
    if (!set.available) continue;
    BackendOptions options{.threads = 2, .algorithm = "auto"};
    options.tuning.cpu.instruction_set = set.name;
    const Walk found = walk(make_backend("cpu", options), made, true, 60);
    EXPECT_EQ(found.wrong, 0) << set.name;
    if (set.name == "portable") {
      EXPECT_GT(found.skipped, 0) << "where a screen costs so much, bounds must have begun";
    }
    fmt::print("{}: {} rows kept by bounds that auto began\n", set.name, found.skipped);
  }
}

// Room for two models' bounds; the third does without, and the plan says so.
TEST(Bounds, AreCarriedByAsManyModelsAsFit) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {5000, 4, {20, 20, 20}}, 6);
  BackendOptions options{.threads = 1, .algorithm = "bounds"};
  options.tuning.cpu.memory_budget = 2 * 8 * made.shape.n + 4096;
  const std::unique_ptr<Backend> backend = make_backend("cpu", options);
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), {}, pool);
  const std::unique_ptr<Upload> upload = backend->upload(input);
  const std::unique_ptr<Session> session = upload->session(made.shape.k, 1);
  std::vector<PassModel> models;
  for (int slot = 0; slot < 3; ++slot) models.push_back({slot, &made.prototypes[static_cast<size_t>(slot)], {}});
  for (int pass = 0; pass < 2; ++pass) session->advance(models, 1);
  EXPECT_GT(models[0].result.skipped, 0);
  EXPECT_GT(models[1].result.skipped, 0);
  EXPECT_EQ(models[2].result.skipped, 0);
  EXPECT_NE(upload->plan().find("no bounds for 1 model"), std::string::npos) << upload->plan();
}

// Two prototypes in each of eight heaps of points, far apart.
Case heaps_case() {
  constexpr int64_t kHeaps = 8;
  Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {800, 2, {2 * kHeaps}}, 8);
  auto* const values = reinterpret_cast<float*>(made.bytes.data());
  for (size_t row = 0; row < 800; ++row) values[2 * row] += 256.0F * static_cast<float>(row % kHeaps);
  const std::span<float> prototypes = made.prototypes[0].values<float>();
  for (size_t c = 0; c < 2 * kHeaps; ++c) {
    prototypes[2 * c] = 256.0F * static_cast<float>(c % kHeaps) + (c < kHeaps ? -0.5F : 0.5F);
    prototypes[2 * c + 1] = 0;
  }
  return made;
}

// As in a search, for thousands of passes one prototype after the other jumps to another heap and back. Most heaps do
// not see it, and what bounds take for the roundings of all jumps must not grow until their rows are lost, too.
TEST(Bounds, JumpsDoNotWearThemOut) {
  constexpr size_t kJumps = 8000, kSome = 160, kHeaps = 8;
  const Case made = heaps_case();
  Passes reference(make_backend("reference", {}), made);
  Passes tried(make_backend("cpu", {.threads = 1, .algorithm = "bounds"}), made);
  std::vector<int64_t> skipped;
  for (size_t jump = 0; jump < kJumps; ++jump) {
    Matrix prototypes = made.prototypes[0];
    prototypes.values<float>()[2 * (jump % kHeaps)] += jump % kHeaps < kHeaps / 2 ? 1024.0F : -1024.0F;
    for (const bool home : {false, true}) {
      const Matrix& now = home ? made.prototypes[0] : prototypes;
      skipped.push_back(tried.pass(now).skipped);
      if (jump % kSome != 0) continue;
      reference.pass(now);
      EXPECT_EQ(differences(reference.labels(), tried.labels()), 0) << jump;
    }
  }
  const auto early = std::accumulate(skipped.begin() + kSome, skipped.begin() + 2 * kSome, int64_t{0});
  const auto late = std::accumulate(skipped.end() - kSome, skipped.end(), int64_t{0});
  EXPECT_GT(early, 0);
  EXPECT_GT(late, early * 9 / 10);
  fmt::print("{} rows kept of {}, then {}\n", early, kSome * 800, late);
}

TEST(Bounds, AQuarterOfTheBoundGivesWrongLabels) {
  for (const Target& target : targets()) {
    if (!takes(target, "bounds", 2)) continue;
    int64_t wrong = 0;
    for (const Case& made : lloyd_cases()) wrong += walk(target.make("bounds", 2, 0.25), made, true).wrong;
    EXPECT_GT(wrong, 0) << target.name();
    fmt::print("{}: {} wrong labels with a quarter of the bound\n", target.name(), wrong);
  }
}

// What is skipped and tightened follows from counts of whole passes, never from clocks or from who did which part.
TEST(Bounds, TheWorkIsThatOfOneThreadOnAny) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {30000, 8, {60}}, 7);
  BackendOptions options{.threads = 1, .algorithm = "bounds"};
  Passes one(make_backend("cpu", options), made);
  options.threads = 3;
  Passes three(make_backend("cpu", options), made);
  Matrix prototypes = made.prototypes[0];
  int64_t tightened = 0;
  for (int pass = 0; pass < 15; ++pass) {
    const PassResult a = one.pass(prototypes), b = three.pass(prototypes);
    EXPECT_EQ(a.skipped, b.skipped) << pass;
    EXPECT_EQ(a.tightened, b.tightened) << pass;
    EXPECT_EQ(a.candidates, b.candidates) << pass;
    EXPECT_EQ(a.skipped + a.certified + a.resolved, made.shape.n) << pass;
    tightened += a.tightened;
    prototypes = one.solve(prototypes);
  }
  EXPECT_GT(tightened, 0);
}

// Room for the bounds, but none for a packed copy of the points.
TEST(Bounds, WorkWithoutAPackedCopy) {
  for (const Case& made : lloyd_cases()) {
    if (made.shape.d < 3) continue;
    BackendOptions options;
    options.threads = 2;
    options.algorithm = "bounds";
    options.tuning.cpu.memory_budget = 8 * made.shape.n + 4096;
    const Walk found = walk(make_backend("cpu", options), made, true);
    EXPECT_EQ(found.wrong, 0) << made.name;
    EXPECT_GT(found.skipped, 0) << made.name;
  }
}

// Distances of rows to prototypes, all kinds, to convergence; both algorithms see the same prototypes.
TEST(Bounds, EvaluatesNoMoreDistancesThanTheTextbook) {
  const Target* best = nullptr;
  const std::vector<Target> all = targets();
  for (const Target& target : all) {
    if (target.backend == "cpu" && best == nullptr) best = &target;
  }
  if (best == nullptr) GTEST_SKIP() << "the cpu backend is not tested";
  struct Run {
    Family family;
    Shape shape;
  };
  for (const Run& run : {Run{Family::kClusters, {20000, 2, {16}}}, Run{Family::kClusters, {20000, 16, {40}}},
                         Run{Family::kNormal, {10000, 8, {50}}}, Run{Family::kNormal, {8000, 40, {30}}}}) {
    const Case made = make_case(run.family, DataType::kFloat32, Weighting::kNone, run.shape, 11);
    Passes ours(best->make("bounds", 1), made);
    TextbookHamerly theirs(made.points());
    Matrix prototypes = made.prototypes[0];
    int64_t distances = 0, candidates = 0, passes = 0;
    PassResult result;
    result.changed = 1;
    for (; result.changed > 0 && passes < 300; ++passes) {
      result = ours.pass(prototypes);
      distances += (result.certified + result.resolved) * run.shape.k[0] + result.tightened + result.candidates;
      candidates += result.candidates;
      theirs.pass(prototypes);
      EXPECT_LE(differences(ours.labels(), theirs.labels()), 5) << made.name;  // ties
      prototypes = ours.solve(prototypes);
    }
    const double limit = run.family == Family::kNormal ? 1 : 0.9;
    EXPECT_LE(static_cast<double>(distances), limit * static_cast<double>(theirs.distances())) << made.name;
    fmt::print("{}: {} passes, {} distances ({} of candidates), textbook {}\n", made.name, passes, distances,
               candidates, theirs.distances());
  }
}

}  // namespace
}  // namespace manymeans::test
