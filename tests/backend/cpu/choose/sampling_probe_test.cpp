// What the probe expects of a screen against what provenance reports of a pass, and what auto makes of it.
#include "backend/cpu/choose/sampling_probe.h"

#include <manymeans/fit.h>

#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/choose/screen_costs.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "core/threads.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kRows = 20'000;

// An instruction set of this machine that has bfloat16 screens.
const CpuKernels& kernels() {
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& found = set.kernels();
    if (found.supported() && found.screen_count > 1) return found;
  }
  return choose_kernels("portable");
}

// It has every format.
const CpuKernels& portable() {
  return instruction_sets().back().kernels();
}

struct Scene {
  std::string name;
  std::vector<float> values;
  int64_t d;
  int64_t k;

  PointsView points() const { return {values.data(), kRows, d}; }
};

Scene noise(int64_t d, int64_t k) {
  Scene scene{fmt::format("noise of {} columns", d), std::vector<float>(static_cast<size_t>(kRows * d)), d, k};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& value : scene.values) value = normal(random);
  return scene;
}

// Rows of `tight` about one of 30 sparse centres, sorted by centre; `far` of them are up to 10^decades times as far.
Scene groups(const char* name, double tight, double far, double decades) {
  constexpr int64_t kColumns = 24, kGroups = 30;
  Scene scene{name, {}, kColumns, 48};
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> centres;
  for (int64_t i = 0; i < kGroups * kColumns; ++i) centres.push_back(uniform(random) < 0.4 ? normal(random) : 0);
  for (int64_t i = 0; i < kRows; ++i) {
    const double factor = uniform(random) < far ? std::pow(10, decades * uniform(random)) : 1;
    const double* centre = centres.data() + i * kGroups / kRows * kColumns;
    for (int64_t j = 0; j < kColumns; ++j) {
      scene.values.push_back(static_cast<float>(factor * (centre[j] + tight * normal(random))));
    }
  }
  return scene;
}

// The skewed ones are like KDD's columns: a few prototypes lie a hundred times as far out as the others.
std::vector<Scene> scenes() {
  return {noise(32, 64), noise(8, 100), groups("a mixture", 0.5, 0, 0), groups("skewed columns", 0.03, 0.05, 2.5),
          groups("more skewed columns", 0.01, 0.1, 2)};
}

class Environment {
 public:
  Environment(const char* name, std::string_view value) : name_(name) {
    if (const char* old = std::getenv(name); old != nullptr) old_ = old;
    setenv(name, std::string(value).c_str(), 1);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// Of the labelling pass for the initial prototypes.
double unproved_in_a_fit(const Scene& scene, const CpuKernels& kernels, const ScreenKernels& screen, const char* init) {
  const Environment set("MANYMEANS_CPU_ISA", kernels.name);
  const Environment format("MANYMEANS_CPU_SCREEN", name_of(screen.format));
  FitOptions options;
  options.k = {scene.k};
  options.init = init;
  options.max_iter = 0;
  options.backend = "cpu";
  options.algorithm = "matrix";
  const FitResult result = fit(scene.points(), {}, options);
  const auto resolved = static_cast<double>(result.provenance.total.resolved);
  return resolved / (resolved + static_cast<double>(result.provenance.total.certified));
}

Input prepared(const Scene& scene) {
  ThreadPool pool(1);
  return prepare_input(scene.points(), {}, pool);
}

void expect_near_shares_of_fits(const CpuKernels& kernels, const char* init, bool apart, double tolerance) {
  for (const Scene& scene : scenes()) {
    const Input input = prepared(scene);
    const Frame frame = find_frame(input);
    const SamplingProbe probe(input, kernels, frame, {.apart = apart, .clusters = {scene.k}});
    for (int i = 0; i < kernels.screen_count; ++i) {
      const double real = unproved_in_a_fit(scene, kernels, kernels.screens[i], init);
      const double expected = probe.run(kernels.screens[i]).unproved;
      // A sample of 512 rows and other prototypes; what matters is whether it is a hundredth or a tenth.
      EXPECT_LE(expected, 1.6 * real + tolerance) << scene.name << ", " << name_of(kernels.screens[i].format);
      EXPECT_GE(expected, real / 1.6 - tolerance) << scene.name << ", " << name_of(kernels.screens[i].format);
    }
  }
}

TEST(SamplingProbe, ExpectsWhatFitsFromRandomRowsReport) {
  expect_near_shares_of_fits(kernels(), "random", false, 0.02);
  expect_near_shares_of_fits(portable(), "random", false, 0.02);
}

TEST(SamplingProbe, ExpectsWhatFitsFromPrototypesFarApartReport) {
  expect_near_shares_of_fits(kernels(), "k-means++", true, 0.05);  // seeding by portable code takes half a minute
}

TEST(SamplingProbe, SeesThatSpansAreShared) {
  const Scene scene = groups("skewed columns", 0.01, 0.1, 2);
  const Input input = prepared(scene);
  const Frame frame = find_frame(input);
  const SamplingProbe probe(input, portable(), frame, {.clusters = {scene.k}});
  const ProbeCounts pair = probe.run(portable().screens[2]);
  EXPECT_EQ(portable().screens[2].format, ScreenFormat::kBfloat16Pair);
  EXPECT_GT(pair.unproved, 0.1) << "far prototypes widen the bounds of others";
  EXPECT_GE(pair.candidates, 2 * pair.unproved);
  EXPECT_GT(pair.columns, 64) << "spans are cut short where norms fall";
}

TEST(SamplingProbe, TakesWhateverShape) {
  for (const int64_t n : {1, 2, 3, 40, 700}) {
    for (const int64_t d : {1, 5, 3000}) {
      const std::vector<float> values(static_cast<size_t>(n * d), 1);
      ThreadPool pool(1);
      const Input input = prepare_input(PointsView(values.data(), n, d), {}, pool);
      const Frame frame = find_frame(input);
      for (const bool apart : {false, true}) {
        const Workload workload{.apart = apart, .clusters = {1, n, (n + 1) / 2, n, n}};
        const ProbeCounts counts = SamplingProbe(input, kernels(), frame, workload).run(kernels().screens[1]);
        EXPECT_GT(counts.columns, 0) << n << " x " << d;
        EXPECT_LE(counts.unproved, 1);
      }
    }
  }
}

// What auto would choose with AMX: formats are proved alike on all instruction sets, only costs differ.
std::string choice_with_amx(const Scene& scene, std::vector<int64_t> clusters) {
  const Environment unforced("MANYMEANS_CPU_SCREEN", "");
  CpuKernels amx = portable();
  amx.name = "amx";
  const Input input = prepared(scene);
  return std::string(name_of(choose_screen(input, amx, "", {.clusters = std::move(clusters)}).screen->format));
}

TEST(ScreenChoice, CountsWhatIsLeftUnproved) {
  EXPECT_EQ(choice_with_amx(groups("more skewed columns", 0.01, 0.1, 2), {48}), "float32");
  EXPECT_EQ(choice_with_amx(noise(54, 64), {64}), "int8-pair");
  EXPECT_EQ(choice_with_amx(noise(128, 256), {256}), "bfloat16");
}

TEST(ScreenChoice, IsForAllModels) {
  const Scene scene = noise(16, 64);
  const Input input = prepared(scene);
  const Frame frame = find_frame(input);
  const auto columns = [&](std::vector<int64_t> clusters) {
    return SamplingProbe(input, kernels(), frame, {.clusters = std::move(clusters)}).run(kernels().screens[0]).columns;
  };
  const double few = columns({4}), many = columns({64});
  EXPECT_LE(few, 8);
  EXPECT_GE(many, 64);
  EXPECT_DOUBLE_EQ(columns({64, 4, 4, 4}), (3 * few + many) / 4);
}

// Points of one shape after another are probed once, but each has a frame of its own.
TEST(ScreenChoice, IsRememberedForPointsOfTheSameShape) {
  const Environment unforced("MANYMEANS_CPU_SCREEN", "");
  CpuKernels amx = portable();
  amx.name = "amx";
  const Scene first = noise(54, 64), second = noise(54, 64), wider = noise(128, 256);
  const Input of_first = prepared(first), of_second = prepared(second), of_wider = prepared(wider);
  ScreenMemory memory;
  const ScreenChoice probed = memory.choose(of_first, amx, "", {.clusters = {64}});
  EXPECT_TRUE(probed.frame.has_value());
  const ScreenChoice remembered = memory.choose(of_second, amx, "", {.clusters = {64}});
  EXPECT_EQ(remembered.screen, probed.screen);
  EXPECT_EQ(remembered.why, probed.why);
  EXPECT_FALSE(remembered.frame.has_value());
  EXPECT_TRUE(memory.choose(of_second, amx, "", {.clusters = {65}}).frame.has_value());
  EXPECT_EQ(name_of(memory.choose(of_wider, amx, "", {.clusters = {256}}).screen->format), "bfloat16");
}

// Where looks pay, and where this processor has them.
PointsPlan plan_of_many_clusters(const CpuKernels& with_looks, const char* algorithm, const Workload& workload) {
  const Environment unforced("MANYMEANS_CPU_SCREEN", "");
  static const Scene scene = noise(24, 600);
  static const Input input = prepared(scene);
  BackendOptions options;
  options.algorithm = algorithm;
  return plan_points(input, with_looks, options, workload);
}

TEST(LookInBytes, IsPlannedWhereModelsHavePassesForIt) {
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& found = set.kernels();
    if (!found.supported() || coded_kernels(found, found.screens[0], 24) == nullptr) continue;
    const auto looks = [&](const char* algorithm, int64_t models, int64_t passes) {
      const Workload workload{.passes = models * passes,
                              .models = models,
                              .clusters = std::vector<int64_t>(static_cast<size_t>(models), 600)};
      const PointsPlan plan = plan_of_many_clusters(found, algorithm, workload);
      EXPECT_EQ(plan.in_bytes != nullptr, plan.why.find("in bytes") != std::string::npos) << plan.why;
      return plan.in_bytes != nullptr;
    };
    const bool pays = std::string_view(found.name) != "amx";  // its tiles are as quick with bfloat16
    EXPECT_EQ(looks("auto", 1, 300), pays) << found.name;
    EXPECT_EQ(looks("auto", 4, 300), pays) << found.name;
    EXPECT_FALSE(looks("auto", 1, 2)) << found.name;
    EXPECT_FALSE(looks("auto", 10, 2)) << found.name << ": passes of other models are no passes of this one";
    EXPECT_FALSE(looks("bounds", 1, 300)) << found.name;
  }
}

}  // namespace
}  // namespace manymeans
