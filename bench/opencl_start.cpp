// How long an OpenCL device takes to open: what the driver takes by itself, and what this library does beyond that, by
// its parts. Programs come from the cache from the second run on. The library opens the device in a context of its own,
// so what one more context takes the driver is measured, too, and counts as the driver's.
#include "backend/opencl/runtime/device_check.h"
#include "backend/opencl/runtime/opencl_device.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>

namespace {

using namespace manymeans::opencl;

double milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// A context and a queue on the device, as any program has them.
void start_driver(int index) {
  const cl_device_id device = facts_of_device(index).id;
  cl_int status = CL_SUCCESS;
  const cl_context context = api().clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status, "clCreateContext", "starting the driver");
  api().clCreateCommandQueue(context, device, 0, &status);
  check(status, "clCreateCommandQueue", "starting the driver");
}

}  // namespace

int main(int count, char** arguments) {
  const int index = count > 1 ? std::atoi(arguments[1]) : 0;
  const double driver = milliseconds([&] { start_driver(index); });
  const double again = milliseconds([&] { start_driver(index); });
  const OpenClDevice* device = nullptr;
  const double open = milliseconds([&] { device = &open_device(index); });
  const double tried = milliseconds([&] { computes_alike(*device); });
  fmt::print(
      "driver {:.1f} ms, another context {:.1f} ms; beyond these {:.1f} ms: opening {:.1f} less that context, trying "
      "float32 and binary64 {:.1f}\n",
      driver, again, open - again + tried, open, tried);
  return 0;
}
