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

/// The cache's file of this program; empty without a cache. Its name is the hash of all inputs of a build: source,
/// options, device, driver, platform, and environment variables of compilers.
std::string cached_program_file(const DeviceFacts& device, std::string_view source, const std::string& options);

}  // namespace manymeans::opencl
