#include "flags/tree_nodes.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string_view>

namespace manymeans::cli {
namespace {

bool has_nodes_ending(const std::string& path) {
  return path.ends_with(".npz") || path.ends_with(".parquet");
}

Dataset read_field(const std::string& path, const std::string& name, ReadOptions reading) {
  if (path.ends_with(".npz")) return read_points(path + ":" + name, reading);
  reading.columns = {name};
  return read_points(path, reading);
}

std::vector<int64_t> read_numbers(const std::string& path, const std::string& name) {
  constexpr double kNone = -1;  // as the root's parent
  const TableRules rules{.missing = Missing::kValue, .missing_value = kNone};
  const Dataset read = read_field(path, name, {.dtype = DataType::kFloat64, .rules = rules});
  const std::span values(static_cast<const double*>(read.view.data), static_cast<size_t>(read.view.n * read.view.d));
  std::vector<int64_t> numbers;
  for (const double value : values) {
    if (std::trunc(value) != value || value < kNone || value >= static_cast<double>(values.size())) {
      throw Error(ErrorCode::kBadData, name,
                  fmt::format("row {} has {} {}; the number of a node is right", numbers.size() + 1, name, value));
    }
    numbers.push_back(static_cast<int64_t>(value));
  }
  return numbers;
}

// A file that was made elsewhere may lack them.
std::vector<int64_t> read_ids(const std::string& path) {
  try {
    return read_numbers(path, "id");
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("there is no ") == std::string_view::npos) throw;
    return {};
  }
}

void check_order(std::span<const int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == static_cast<int64_t>(i)) continue;
    throw Error(
        ErrorCode::kBadData, "id",
        fmt::format("row {} has id {}; nodes are right in the order of their ids: 0, 1, 2, ...", i + 1, ids[i]));
  }
}

}  // namespace

TreeNodes read_nodes(const std::string& path, DataType type) {
  if (!has_nodes_ending(path)) {
    throw Error(ErrorCode::kUsage, "--tree",
                fmt::format("must name a file that ends in .npz or .parquet, found '{}'", path));
  }
  try {
    TreeNodes nodes{read_field(path, "vector", {.dtype = type}), read_numbers(path, "parent")};
    check_order(read_ids(path));
    return nodes;
  } catch (const Error& error) {
    throw about_nodes(path, error);
  }
}

bool is_nodes_file(const std::string& path) {
  try {
    return has_nodes_ending(path) && !read_numbers(path, "parent").empty();
  } catch (const Error&) {
    return false;
  }
}

Error about_nodes(const std::string& path, const Error& error) {
  const std::string what = error.what();
  const size_t end = what.find("] ");
  const std::string text = what.starts_with('[') && end != std::string::npos ? what.substr(end + 2) : what;
  return Error(error.code(), "--tree", fmt::format("'{}': {}", path, text));
}

}  // namespace manymeans::cli
