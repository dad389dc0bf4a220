#include "flags/model_columns.h"

#include <manymeans/error.h>
#include <manymeans/sparse.h>

#include "flags/reworded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace manymeans::cli {
namespace {

using Owner = std::shared_ptr<const void>;

// The model needs every column that a message may advise to leave out or to fill.
std::string about_fitted(std::string text) {
  for (const char* flag : {"--missing", "--exclude", "--categories", "--numeric-only"}) {
    if (text.find(flag) == std::string::npos) continue;
    return text +
           "; the model needs the column as it was fitted: fit again with one of these flags, or prepare this file "
           "with "
           "'manymeans convert'";
  }
  return text;
}

// Returns true if names identify the columns: each one appears once among the model's names, and once among the file's.
bool names_tell(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  std::unordered_map<std::string_view, int> times;
  for (const std::string& name : names) ++times[name];
  return std::ranges::all_of(wanted, [&](const std::string& name) {
    const auto at = times.find(name);
    return at != times.end() && at->second++ == 1;
  });
}

}  // namespace

std::vector<int64_t> find_columns(const std::string& path, const std::vector<std::string>& wanted,
                                  const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, int64_t> places;
  for (size_t i = 0; i < names.size(); ++i) places.emplace(names[i], static_cast<int64_t>(i));
  std::vector<int64_t> indices;
  for (const std::string& name : wanted) {
    const auto at = places.find(name);
    if (at == places.end()) {
      throw Error(ErrorCode::kBadData, path,
                  fmt::format("has no column '{}'; the model was fitted to the columns {}, this file has {}", name,
                              fmt::join(wanted, ", "), fmt::join(names, ", ")));
    }
    indices.push_back(at->second);
    places.erase(at);  // a name that is wanted twice tells nothing
  }
  return indices;
}

void keep_columns(Dataset& points, const std::vector<int64_t>& indices) {
  const PointsView all = points.view;
  const size_t size = size_of(all.type);
  const auto kept = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(all.n) * indices.size() * size);
  std::byte* to = kept->data();
  const auto* row = static_cast<const std::byte*>(all.data);
  for (int64_t i = 0; i < all.n; ++i, row += static_cast<size_t>(all.d) * size) {
    for (const int64_t j : indices) {
      std::memcpy(to, row + static_cast<size_t>(j) * size, size);
      to += size;
    }
  }
  points.view = PointsView(kept->data(), all.n, static_cast<int64_t>(indices.size()), all.type);
  points.owner = kept;
  const auto keep = [&](auto& values) {
    if (std::ssize(values) != all.d) return;  // none, or names of fields of lists
    auto old = std::move(values);
    values.clear();
    for (const int64_t j : indices) values.push_back(old[static_cast<size_t>(j)]);
  };
  keep(points.column_names);
  keep(points.zero_gaps);
  keep(points.source.numbers);
  keep(points.source.names);
  keep(points.source.rules);
}

void scale_read(Dataset& points, const Scaling& scaling, int threads, int64_t memory) {
  if (!scaling.any()) return;
  Dataset scaled = scale_points(points.view, scaling, threads, memory);
  const bool sparse = points.view.place.space == kSparseSpace;  // whose columns stay where they are
  points.view = scaled.view;
  points.owner = sparse ? std::make_shared<std::pair<Owner, Owner>>(points.owner, scaled.owner) : scaled.owner;
}

Dataset read_like_fit(const DataFiles& data, ReadOptions options, const PointsOfFit& fit) {
  options.like = fit;
  Dataset points;
  try {
    points = data.read_any(options);
  } catch (const Error& error) {
    throw reworded(error, about_fitted);
  }
  // Columns that --columns chose, in another order; or of lists, which have their names only now.
  const bool named = !fit.column_names.empty() && !points.column_names.empty();
  const bool by_hand = !options.columns.empty() && !names_tell(points.column_names, fit.column_names);
  if (named && !by_hand && points.column_names != fit.column_names) {
    keep_columns(points, find_columns(data.name(), fit.column_names, points.column_names));
    points.column_names = fit.column_names;
  }
  if (points.view.d != fit.columns) {
    throw Error(ErrorCode::kBadData, data.name(),
                fmt::format("the number of columns is {}, the model was fitted to {}{}", points.view.d, fit.columns,
                            points.view.d > fit.columns ? "; --columns can choose the right ones"
                                                        : "; all of them are needed"));
  }
  return points;
}

}  // namespace manymeans::cli
