#include "io/reader.h"

#include <manymeans/error.h>

#include "core/fp_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <new>

namespace manymeans {

// Makers are declared and then listed from the same generated lines.
#define MANYMEANS_REGISTER(name, maker) std::unique_ptr<Reader> maker();
#include "registry/reader.inc"
#undef MANYMEANS_REGISTER

namespace {

// For files whose ending no reader claims: text without an ending is common.
constexpr std::string_view kDefaultReader = "text";

std::unique_ptr<Reader> make_reader(const std::string& path, const std::string& format) {
  std::string known = "auto";
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const ReaderEntry& entry : readers()) {
    std::unique_ptr<Reader> reader = entry.make();
    if (entry.name == format) return reader;
    known += ", " + std::string(entry.name);
    if (format != "auto") continue;
    for (const std::string_view ending : reader->endings()) {
      if (lower.ends_with(ending)) return reader;
    }
  }
  if (format != "auto") {
    throw Error(ErrorCode::kUsage, "format", "there is no reader '" + format + "'; known: " + known);
  }
  return make_reader(path, std::string(kDefaultReader));
}

std::vector<double> read_weight_file(const Dataset& points, const ReadOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(options.weights, ignored)) {
    throw Error(
        ErrorCode::kUsage, "weights",
        fmt::format("'{}' is neither a column of {} nor a file; give a column's name or number, or a file of {} "
                    "numbers",
                    options.weights, points.path, points.view.n));
  }
  ReadOptions plain;
  plain.dtype = DataType::kFloat64;
  plain.threads = options.threads;
  const Dataset file = read_points(options.weights, plain);
  if (file.view.d != 1 || file.view.n != points.view.n) {
    throw Error(ErrorCode::kBadData, options.weights,
                fmt::format("{} rows of {} values found; one weight for each of the {} rows of {} is needed",
                            file.view.n, file.view.d, points.view.n, points.path));
  }
  const double* values = static_cast<const double*>(file.view.data);
  return {values, values + file.view.n};
}

}  // namespace

std::span<const ReaderEntry> readers() {
#define MANYMEANS_REGISTER(name, maker) ReaderEntry{name, maker},
  static constexpr std::array kEntries = {
#include "registry/reader.inc"
  };
#undef MANYMEANS_REGISTER
  return kEntries;
}

std::vector<Choice> reader_choices() {
  std::vector<Choice> result;
  for (const ReaderEntry& entry : readers()) {
    result.push_back({std::string(entry.name), std::string(entry.make()->description()), true});
  }
  return result;
}

Dataset read_points(const std::string& path, const ReadOptions& options) {
  const FpEnvironmentGuard guard;
  try {
    Dataset result = make_reader(path, options.format)->read(path, options);
    result.path = path;
    if (result.view.n == 0 || result.view.d == 0) {
      throw Error(ErrorCode::kBadData, path,
                  fmt::format("{} rows of {} columns were found; at least one of each is needed", result.view.n,
                              result.view.d));
    }
    if (!options.weights.empty() && result.weights.empty()) result.weights = read_weight_file(result, options);
    return result;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kUnavailable, path,
                "there is not enough memory to read this file; give it fewer rows or columns");
  }
}

}  // namespace manymeans
