// Any bytes as a file of one format: points or an Error, and every value that is promised can be read.
#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/sparse.h>
#include <manymeans/sparse_file.h>

#include "memory_file.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace {
using namespace manymeans;

// The first byte chooses how to read, the rest is the file.
ReadOptions options_from(uint8_t choice) {
  ReadOptions options;
  options.format = MANYMEANS_FUZZED_READER;
  options.threads = 1;
  if ((choice & 7) < 6) options.dtype = static_cast<DataType>(choice & 7);
  if ((choice & 8) != 0) options.columns = {"2-"};
  if ((choice & 16) != 0) options.weights = "1";
  options.numeric_only = (choice & 32) != 0;
  if ((choice & 128) != 0) options.rules = {.missing = Missing::kMean, .one_hot = true};
  return options;
}

// Every value that sparse points promise can be read; false where the file holds none.
bool read_sparse(const std::string& path, const ReadOptions& options) {
  if (!is_sparse_file(path, options)) return false;
  const Dataset points = read_sparse_points(path, options);
  const auto& view = *static_cast<const SparseView*>(points.view.data);
  double sum = 0;
  for (int64_t at = view.starts[0]; at < view.starts[view.n]; ++at) {
    const int64_t column = view.wide_indices ? static_cast<const int64_t*>(view.indices)[at]
                                             : static_cast<const int32_t*>(view.indices)[at];
    if (column < 0 || column >= view.d) std::abort();
    sum += view.type == DataType::kFloat64 ? static_cast<const double*>(view.values)[at]
                                           : static_cast<const float*>(view.values)[at];
  }
  volatile double kept = sum;
  static_cast<void>(kept);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 64) != 0) fuzz::repair_checksums(bytes);  // means something to archives only
  const std::string path = fuzz::hold(bytes);
  try {
    if (read_sparse(path, options_from(data[0]))) return 0;
    const Dataset points = read_points(path, options_from(data[0]));
    if (points.view.n < 1 || points.view.d < 1) std::abort();
    if (!points.weights.empty() && static_cast<int64_t>(points.weights.size()) != points.view.n) std::abort();
    const auto* values = static_cast<const unsigned char*>(points.view.data);
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < points.view.bytes(); ++i) sum = static_cast<unsigned char>(sum + values[i]);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
  return 0;
}
