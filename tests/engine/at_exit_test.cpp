#include <manymeans/criteria.h>
#include <manymeans/fit.h>
#include <manymeans/sparse.h>

#include "small_data.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have a function of that name of their own
namespace {
std::atomic<int> registered{0};
}

extern "C" void* __dso_handle;  // NOLINT(readability-identifier-naming)

// In the place of the C library's, whose lock the child of a fork never gets where another thread had it.
extern "C" int __cxa_atexit(void (*call)(void*), void* argument, void* program) {
  using Register = int (*)(void (*)(void*), void*, void*);
  static const auto next = reinterpret_cast<Register>(dlsym(RTLD_NEXT, "__cxa_atexit"));
  if (program == &__dso_handle) ++registered;
  return next(call, argument, program);
}

namespace manymeans::test {
namespace {

TEST(AtExit, TheLibraryRegistersNothingWhileItWorks) {
  const std::vector<float> x = mixture(3000, 4, 1);
  const PointsView points(x.data(), 3000, 4);
  const int before = registered;
  {
    struct Probe {
      ~Probe() { ++registered; }
    };
    static const Probe probe;
    static_cast<void>(probe);
  }
  ASSERT_EQ(registered, before + 1) << "it would not be seen if something were registered";
  for (const char* backend : {"cpu", "reference"}) {
    FitOptions chosen = options({3, 5}, 2);
    chosen.backend = backend;
    const FitResult result = fit(points, {}, chosen);
    PredictOptions labelling;
    labelling.backend = backend;
    predict(points, result.models[0].prototypes.view(), labelling);
  }
  criteria(points, std::vector<uint32_t>(3000, 0));
  const std::vector<int64_t> starts{0, 1, 2};
  const std::vector<int32_t> indices{0, 1};
  const std::vector<float> values{1, 2};
  const SparseView sparse{values.data(), indices.data(), starts.data(), 2, 2, 2};
  fit(sparse.points(), {}, options({2}));
  EXPECT_EQ(registered, before + 1);
}

}  // namespace
}  // namespace manymeans::test
#endif
