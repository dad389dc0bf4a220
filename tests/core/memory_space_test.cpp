// Points that are said to lie on a device: what is refused, with or without one.
#include "core/memory_space.h"

#include <manymeans/error.h>
#include <manymeans/manymeans.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace manymeans {
namespace {

const std::vector<float> kValues(40, 1.0F);

PointsView said_to_be_on(int device) {
  PointsView points(kValues.data(), 10, 4);
  points.place = {"cuda", device};
  return points;
}

template <class F>
void expect_error(F&& call, const std::string& word) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(MemorySpaces, OtherBackendsRefuseThem) {
  for (const char* backend : {"cpu", "reference", "opencl"}) {
    FitOptions options;
    options.k = {2};
    options.backend = backend;
    expect_error([&] { fit(said_to_be_on(0), {}, options); }, "memory of a device");
    expect_error([&] { initialise(said_to_be_on(0), {}, options); }, "memory of a device");
    PredictOptions how;
    how.backend = backend;
    expect_error([&] { predict(said_to_be_on(0), {kValues.data(), 1, 4}, how); }, "memory of a device");
    expect_error([&] { transform(said_to_be_on(0), {kValues.data(), 1, 4}, how); }, "memory of a device");
  }
}

// Without CUDA nothing is on a device; with it, these values are not, or there is no such device.
TEST(MemorySpaces, MemoryOfTheHostIsNotReadAsADevices) {
  EXPECT_TRUE(place_of(kValues.data()).on_host());
  for (const int device : {0, 1000}) {
    const PointsView points = said_to_be_on(device);
    FitOptions options;
    options.k = {2};
    EXPECT_THROW(fit(points, {}, options), Error);
    EXPECT_THROW(predict(points, {kValues.data(), 1, 4}), Error);
    EXPECT_THROW(predict({kValues.data(), 10, 4}, points), Error);
    EXPECT_THROW(summarise_columns(points), Error);
    EXPECT_THROW(find_scaling(points, Scale::kStandard), Error);
    Dataset dataset;
    dataset.view = points;
    EXPECT_THROW(write_points("never_written.npy", dataset), Error);
    EXPECT_THROW(apply_scaling(points, {Scale::kMinMax, {0, 0, 0, 0}, {1, 1, 1, 1}}), Error);
    FitHooks hooks;
    hooks.initial = points;
    options.k = {10};
    EXPECT_THROW(fit({kValues.data(), 10, 4}, {}, options, hooks), Error);
  }
}

}  // namespace
}  // namespace manymeans
