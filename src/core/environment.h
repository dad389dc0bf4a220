// The variables of the environment that the library reads, all but TMPDIR (core/file_memory.cpp). A variable that is
// empty counts as not set. A value that means nothing is an Error(kUsage) that names the variable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manymeans::environment {

/// MANYMEANS_CPU_ISA: the name of an instruction set.
std::string cpu_instruction_set();
/// MANYMEANS_CPU_SCREEN: the name of a format of the cpu backend's screen.
std::string cpu_screen_format();
/// MANYMEANS_DUPLICATES=off|on: whether each distinct row is computed once; without it, where that pays.
std::optional<bool> duplicates();
/// MANYMEANS_NUM_THREADS: what zero threads mean. Numbers too large to be true are cut.
std::optional<int> threads();
/// Where programs that were built for OpenCL devices are kept: MANYMEANS_OPENCL_CACHE=FOLDER, else manymeans/opencl in
/// XDG_CACHE_HOME or ~/.cache, where that is absolute. Empty: nowhere, as `off` says.
std::string opencl_cache();
/// MANYMEANS_OPENCL_KIND=processor|accelerator: what OpenCL kernels are cut for, whatever the device is; empty: for
/// that.
std::string opencl_kind();
/// MANYMEANS_OPENCL_CONTENTION=high|reduced: whether all work-groups of an OpenCL device add to the clusters' sums in
/// global memory.
bool opencl_high_contention();
/// MANYMEANS_CUDA_PRODUCT=sums|residues: how CUDA devices screen matrix products; empty: by shape. Only Hopper has
/// residues. Others sum, and ProductCounts::screen says so.
std::string cuda_product();
/// MANYMEANS_PYTHON: the Python whose pyarrow reads and writes Parquet and Arrow files; empty: one is looked for.
std::string python();
/// MANYMEANS_PYTHON_PATIENCE: seconds that a Python may take to start and to import pyarrow.
std::optional<int> python_patience();
/// PATH: the folders of programs, with colons.
std::string program_path();
/// Every variable by which drivers of OpenCL devices are told how to compile, with its value.
std::vector<std::string> compiler_settings();

}  // namespace manymeans::environment
