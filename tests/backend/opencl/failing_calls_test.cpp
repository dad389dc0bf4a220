// Every call of OpenCL fails once, a device gets lost, a driver has nothing or refuses something: fits end with an
// Error of the right kind, or with the right answer where nobody needs what failed, and release all that they had.
#include <manymeans/fit.h>

#include "backend/devices.h"
#include "backend/opencl/failing_api.h"
#include "backend/opencl/opencl_here.h"
#include "conformance/cases.h"
#include "engine/tuned.h"
#include "prototype/linear_model.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace manymeans::test {
namespace {

// A fit in one of the ways in which this backend computes.
struct Way {
  std::string name;
  OpenClTuning tuning = {};
  bool linear = false;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> kWays = {{"whole"}, {"slices", {.slice_rows = 256}}, {"linear", {}, true}};
  return kWays;
}

class FailingCalls : public OnOpenClDevice {
 protected:
  static std::string digest(const Way& way, const std::string& backend) {
    static const Case kMade = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {600, 3, {1}}, 8);
    FitOptions options;
    options.k = {3, 4};
    options.models = 2;
    options.max_iter = 3;
    options.backend = backend;
    options.threads = 2;
    Tuning tuning;
    tuning.opencl = way.tuning;
    if (!way.linear) return fit_tuned(kMade.points(), {}, options, {}, tuning).digest();
    options.init = "random-subsets";
    FitKind kind{linear_model(), {}, 1};
    kind.tuning = tuning;
    return fit_kind(kind, kMade.points(), {}, options, {}).digest();
  }
  // The code of the Error that such a fit ends with, or kNone where it has the right answer.
  static constexpr int kNone = -1;
  static int code_of_fit(const Way& way, const std::string& expected, std::string_view part = "") {
    try {
      EXPECT_EQ(digest(way, "opencl"), expected) << way.name;
      return kNone;
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
      return static_cast<int>(error.code());
    }
  }
};

// Destructors wait for work and give memory back, too, and can tell nobody what went wrong.
bool nobody_needs(std::string_view function) {
  return function == "clGetEventInfo" || function == "clFlush" || function == "clEnqueueUnmapMemObject";
}

// Whoever releases too much, or too little, is seen by the number of handles, which programs that stay are part of only
// the first time.
TEST_F(FailingCalls, EachOnceIsATypedErrorAndNothingIsLeft) {
  for (const Way& way : ways()) {
    const std::string expected = digest(way, "reference");
    ASSERT_EQ(code_of_fit(way, expected), kNone);
    FailingApi api;
    ASSERT_EQ(code_of_fit(way, expected), kNone);
    EXPECT_EQ(api.handles(), 0) << way.name << ", no failure";
    int met = 0;
    for (const std::string_view function : FailingApi::functions()) {
      for (int calls = 0;; calls += 1 + calls / 8) {
        const cl_int status = calls % 2 == 0 ? CL_OUT_OF_RESOURCES : CL_INVALID_OPERATION;
        api.fail({.function = function, .calls = calls, .status = status});
        const int code = code_of_fit(way, expected);
        if (!api.has_failed()) break;
        ++met;
        const auto wanted = status == CL_OUT_OF_RESOURCES ? ErrorCode::kUnavailable : ErrorCode::kInternal;
        EXPECT_TRUE(code == static_cast<int>(wanted) || (code == kNone && nobody_needs(function)))
            << way.name << ": " << function << " after " << calls << ", code " << code;
        EXPECT_EQ(api.handles(), 0) << way.name << ": " << function << " after " << calls;
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(met, 50) << way.name;
    api.work_again();
    EXPECT_EQ(code_of_fit(way, expected), kNone) << "after all failures";
  }
}

TEST_F(FailingCalls, ADeviceThatIsLost) {
  for (const Way& way : ways()) {
    const std::string expected = digest(way, "reference");
    ASSERT_EQ(code_of_fit(way, expected), kNone);
    FailingApi api;
    // What NVIDIA's driver answers from then on, and what the standard has.
    for (const cl_int status : {-9999, CL_OUT_OF_RESOURCES, CL_DEVICE_NOT_AVAILABLE}) {
      const auto wanted = status == -9999 ? ErrorCode::kInternal : ErrorCode::kUnavailable;
      api.lose_device(status);
      EXPECT_EQ(code_of_fit(way, expected, opencl::name_of_status(status)), static_cast<int>(wanted)) << way.name;
      EXPECT_EQ(api.handles(), 0) << way.name;
      api.work_again();
      for (const std::string_view function :
           {"clEnqueueNDRangeKernel", "clEnqueueWriteBuffer", "clFlush", "clGetEventInfo"}) {
        api.fail({.function = function, .calls = 2, .status = status, .for_good = true});
        EXPECT_EQ(code_of_fit(way, expected, opencl::name_of_status(status)), static_cast<int>(wanted)) << way.name;
        EXPECT_EQ(api.handles(), 0) << way.name << ": " << function;
        api.work_again();
      }
    }
    EXPECT_EQ(code_of_fit(way, expected), kNone) << "once it is there again";
  }
}

TEST_F(FailingCalls, AKernelThatTheDriverRefuses) {
  const Way& way = ways()[0];
  const std::string expected = digest(way, "reference");
  ASSERT_EQ(code_of_fit(way, expected), kNone);
  FailingApi api;
  api.fail({.function = "clCreateKernel", .status = CL_INVALID_KERNEL_DEFINITION});
  EXPECT_EQ(code_of_fit(way, expected, "clCreateKernel answered"), static_cast<int>(ErrorCode::kInternal));
  api.fail({.function = "clEnqueueNDRangeKernel", .status = CL_INVALID_WORK_GROUP_SIZE});
  EXPECT_EQ(code_of_fit(way, expected, "clEnqueueNDRangeKernel answered CL_INVALID_WORK_GROUP_SIZE"),
            static_cast<int>(ErrorCode::kInternal));
  EXPECT_EQ(api.handles(), 0);
}

TEST_F(FailingCalls, AMachineWithoutADevice) {
  FailingApi api;
  const Way& way = ways()[0];
  const auto unavailable = static_cast<int>(ErrorCode::kUnavailable);
  constexpr cl_int kNoPlatform = -1001;
  api.fail({.function = "clGetPlatformIDs", .status = kNoPlatform, .for_good = true});
  EXPECT_EQ(code_of_fit(way, "", "there is no OpenCL device"), unavailable);
  EXPECT_TRUE(opencl_devices().empty());
  api.fail({.function = "clGetDeviceIDs", .status = CL_DEVICE_NOT_FOUND, .for_good = true});
  EXPECT_EQ(code_of_fit(way, "", "there is no OpenCL device"), unavailable);
  api.fail({.function = "clGetDeviceInfo", .status = CL_INVALID_DEVICE, .for_good = true});
  EXPECT_EQ(code_of_fit(way, "", "CL_INVALID_DEVICE"), static_cast<int>(ErrorCode::kInternal));
}

// Without programs that the process or the cache have already.
TEST_F(FailingCalls, ADeviceThatDoesNotOpenAndAProgramThatIsNotBuilt) {
  setenv("MANYMEANS_OPENCL_CACHE", "off", 1);
  const opencl::DeviceFacts facts = device_->facts();
  const std::string source = "__kernel void nothing(__global int* to) { to[0] = 1; }";
  FailingApi api;
  const auto fails = [&](const FailingApi::Failure& failure, const auto& run) {
    const std::string_view function = failure.function;
    api.fail(failure);
    try {
      run();
      ADD_FAILURE() << function << ": nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), failure.status == CL_OUT_OF_HOST_MEMORY ? ErrorCode::kUnavailable : ErrorCode::kInternal);
      EXPECT_NE(std::string_view(error.what()).find(function), std::string_view::npos) << error.what();
    }
    EXPECT_EQ(api.handles(), 0) << function;
  };
  for (const cl_int status : {CL_OUT_OF_HOST_MEMORY, CL_INVALID_VALUE}) {
    for (const char* function : {"clCreateContext", "clCreateCommandQueue"}) {
      fails({.function = function, .status = status}, [&] { const opencl::OpenClDevice opened(facts); });
    }
    opencl::DeviceFacts of_two_queues = facts;  // one that maps, one for everybody's kernels
    of_two_queues.several_queues = false;
    fails({.function = "clCreateCommandQueue", .calls = 1, .status = status},
          [&] { const opencl::OpenClDevice opened(of_two_queues); });
    for (const char* function : {"clCreateProgramWithSource", "clBuildProgram"}) {
      fails({.function = function, .status = status},
            [&] { device_->program(source, fmt::format("-DSTATUS={}", status)); });
    }
  }
  unsetenv("MANYMEANS_OPENCL_CACHE");
}

}  // namespace
}  // namespace manymeans::test
