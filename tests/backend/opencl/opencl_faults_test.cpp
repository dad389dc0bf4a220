// What goes wrong says what it was, with the code that callers act on.
#include <manymeans/fit.h>

#include "backend/backend.h"
#include "backend/opencl/opencl_here.h"
#include "backend/opencl/runtime/opencl_api.h"
#include "conformance/cases.h"
#include "core/threads.h"

#include <cstdlib>
#include <functional>
#include <string>

namespace manymeans::test {
namespace {

class OpenClFaults : public OnOpenClDevice {};

// The code and the text of the Error that this throws.
void expect_error(const std::function<void()>& run, ErrorCode code, const std::string& part) {
  try {
    run();
    ADD_FAILURE() << "nothing was thrown; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(OpenClLoader, AMachineWithoutALoader) {
  expect_error([] { opencl::load_api("libNoSuchOpenCL.so.1"); }, ErrorCode::kUnavailable, "there is no OpenCL here");
  expect_error([] { opencl::load_api("libm.so.6"); }, ErrorCode::kUnavailable, "has no clBuildProgram");
}

TEST(OpenClLoader, NamesOfStatus) {
  EXPECT_EQ(opencl::name_of_status(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(opencl::name_of_status(-9999), "error -9999");
  expect_error([] { opencl::check(CL_OUT_OF_RESOURCES, "clThis", "doing that"); }, ErrorCode::kUnavailable,
               "doing that: clThis answered CL_OUT_OF_RESOURCES (-5)");
  expect_error([] { opencl::check(CL_INVALID_KERNEL_ARGS, "clThis", "doing that"); }, ErrorCode::kInternal,
               "CL_INVALID_KERNEL_ARGS");
}

TEST_F(OpenClFaults, ADeviceThatIsNotThere) {
  expect_error([] { make_backend("opencl:99", {}); }, ErrorCode::kUnavailable, "there is no device 99");
  expect_error([] { make_backend("opencl:one", {}); }, ErrorCode::kUsage, "names no device");
  expect_error([] { make_backend("opencl:-1", {}); }, ErrorCode::kUsage, "names no device");
  EXPECT_EQ(make_backend("opencl:0", {})->name(), "opencl");
}

TEST(OpenClPlatform, ADeviceThatLacksWhatFitsNeed) {
  opencl::DeviceFacts facts;
  facts.name = "a device";
  facts.binary64 = facts.atomics64 = true;
  opencl::check_usable(facts);
  facts.little_endian = false;
  const auto check = [&] { opencl::check_usable(facts); };
  expect_error(check, ErrorCode::kUnavailable, "a device does not have numbers with the lowest byte first");
  facts.atomics64 = false;
  expect_error(check, ErrorCode::kUnavailable, "a device does not have 64-bit atomics, which fits need");
  facts.binary64 = false;
  expect_error(check, ErrorCode::kUnavailable,
               "a device does not have double precision, which fits need; use --backend cpu");
}

TEST_F(OpenClFaults, AnAllocationAboveTheLargest) {
  const auto bytes = static_cast<size_t>(device_->facts().largest_buffer) + 1;
  expect_error([&] { const device::Buffer buffer(*device_, bytes, "the points"); }, ErrorCode::kUnavailable,
               "the points needs " + std::to_string(bytes) + " bytes, and the device's largest allocation is");
}

TEST_F(OpenClFaults, ABuildThatFailsShowsItsLog) {
  const std::string source = "__kernel void broken(void) { no_such_function(); }";
  expect_error([&] { device_->program(source, ""); }, ErrorCode::kInternal, "no_such_function");
}

TEST_F(OpenClFaults, AlgorithmsThatItDoesNotHave) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {100, 2, {3}}, 1);
  FitOptions options;
  options.k = {3};
  options.backend = "opencl";
  options.algorithm = "bounds";
  expect_error([&] { fit(made.points(), {}, options); }, ErrorCode::kUsage, "the opencl backend has no");
  options.algorithm = "kdtree";
  const Case wide = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {100, 33, {3}}, 1);
  expect_error([&] { fit(wide.points(), {}, options); }, ErrorCode::kUsage, "for at most 32 columns");
}

TEST_F(OpenClFaults, MemoryThatIsTooLittle) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {100000, 2, {3}}, 1);
  FitOptions options;
  options.k = {3};
  options.backend = "opencl";
  options.memory.bytes = 1 << 16;
  expect_error([&] { fit(made.points(), {}, options); }, ErrorCode::kUnavailable, "opencl device memory");
}

}  // namespace
}  // namespace manymeans::test
