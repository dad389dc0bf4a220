// A caller that has set every floating-point trap: each entry point masks them, on all of its threads.
#include <manymeans/fit.h>
#include <manymeans/info.h>
#include <manymeans/io.h>
#include <manymeans/json.h>

#include "conformance/variants.h"
#include "core/hostile_environment.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

namespace manymeans {
namespace {

class TrappingCaller : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::TrappingEnvironment::kAvailable) GTEST_SKIP() << "this machine has no traps to set";
    testing::FLAGS_gtest_death_test_style = "fast";
  }
  // In a process of its own, which a trap would end.
  static void survives(const std::function<void()>& entry) {
    const auto with_traps = [&] {
      bool same = false;
      {
        const test::TrappingEnvironment caller;
        entry();
        same = test::TrappingEnvironment::still_holds(false);
      }
      std::_Exit(same ? 0 : 1);
    };
    EXPECT_EXIT(with_traps(), testing::ExitedWithCode(0), "");
  }
  const std::vector<float> x_ = test::mixture(500, 3, 9);
  const PointsView points_{x_.data(), 500, 3};
};

TEST_F(TrappingCaller, FitsWithEveryInstructionSet) {
  for (const Choice& set : cpu_instruction_sets()) {
    if (!set.available) continue;
    for (const char* algorithm : {"matrix", "bounds", "kdtree", "brute"}) {
      survives([&] {
        ::setenv("MANYMEANS_CPU_ISA", set.name.c_str(), 1);
        FitOptions o = test::options({5, 9}, 2);
        o.algorithm = algorithm;
        o.stop = "tol,inertia:0.001,shift:1e-9";
        o.strategy = Strategy::kTask;
        fit(points_, {}, o);
      });
    }
  }
}

TEST_F(TrappingCaller, FitsByTheReference) {
  survives([&] {
    FitOptions o = test::options({5});
    o.backend = "reference";
    o.init = "k-means||";
    fit(points_, std::vector<double>(500, 0.1), o).digest();
  });
}

TEST_F(TrappingCaller, PredictsTransformsAndScales) {
  const FitResult result = fit(points_, {}, test::options({4}));
  const PointsView model = result.models[0].prototypes.view();
  survives([&] {
    PredictOptions o;
    o.distances = o.inertia = true;
    predict(points_, model, o);
  });
  survives([&] { transform(points_, model); });
  survives([&] { initialise(points_, {}, test::options({4})); });
  survives([&] { apply_scaling(points_, find_scaling(points_, Scale::kStandard)); });
  survives([&] { summarise_columns(points_); });
}

TEST_F(TrappingCaller, WritesAndReads) {
  const std::string folder = testing::TempDir();
  const std::string points = folder + "trapping.csv", labels = folder + "trapping-labels.npy";
  const FitResult result = fit(points_, {}, test::options({4}));
  survives([&] { write_values(points, std::vector<double>{0.1, 3, 1e-30}, "v"); });
  survives([&] { read_points(points); });
  survives([&] { write_labels(labels, result); });
  survives([&] { to_json(result); });
  survives([&] { parse_byte_size("1.3GB"); });
  std::filesystem::remove(points);
  std::filesystem::remove(labels);
}

}  // namespace
}  // namespace manymeans
