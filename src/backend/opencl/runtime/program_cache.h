// Programs for a device: built from source, or read from where an earlier process has left what it built.
#pragma once

#include "backend/opencl/runtime/opencl_platform.h"

#include <string>
#include <string_view>

namespace manymeans::opencl {

struct BuildTarget {
  cl_context context;
  const DeviceFacts& device;
};

/// Builds a program. Throws Error(kInternal) with the compiler's log where that fails.
cl_program build_program(const BuildTarget& target, std::string_view source, const std::string& options);

/// The file in which the cache has this program: its name is the hash of everything that what is built may follow from
/// (source, options, device, driver, platform, variables of the environment for compilers). Empty without a cache.
std::string cached_program_file(const DeviceFacts& device, std::string_view source, const std::string& options);

}  // namespace manymeans::opencl
