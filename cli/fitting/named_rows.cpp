#include "fitting/named_rows.h"

#include <manymeans/error.h>

#include "flags/flag_values.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>
#include <utility>

namespace manymeans::cli {
namespace {

// The end of advice, where it helps.
std::string or_by_order(const Clustering& a, const Clustering& b) {
  return a.labels.size() == b.labels.size() ? ", or --by-order in place of --id compares row by row" : "";
}

std::string name_of_column(const Clustering& clustering) {
  return clustering.id_name.empty() ? "a column" : fmt::format("column '{}'", clustering.id_name);
}

// For each name its row.
std::unordered_map<std::string_view, size_t> places_of(const Clustering& clustering, const std::string& file,
                                                       const std::string& or_else) {
  std::unordered_map<std::string_view, size_t> places;
  places.reserve(clustering.ids.size());
  for (size_t row = 0; row < clustering.ids.size(); ++row) {
    if (clustering.ids[row].empty()) {
      throw Error(ErrorCode::kBadData, file,
                  fmt::format("row {} has no name in {}; rows are matched by name: --id names another "
                              "column{}",
                              row + 1, name_of_column(clustering), or_else));
    }
    const auto [at, is_new] = places.emplace(clustering.ids[row], row);
    if (is_new) continue;
    throw Error(ErrorCode::kBadData, file,
                fmt::format("rows {} and {} have the same name '{}' in {}; rows are matched by name, and names "
                            "have to differ: --id names another column{}",
                            at->second + 1, row + 1, shown(clustering.ids[row]), name_of_column(clustering), or_else));
  }
  return places;
}

void refuse_mixture(const Clustering& a, const Clustering& b) {
  if (a.ids.empty() == b.ids.empty()) return;
  const Clustering& named = a.ids.empty() ? b : a;
  const Clustering& other = a.ids.empty() ? a : b;
  throw Error(ErrorCode::kUsage, other.path,
              fmt::format("has no names of its rows, and '{}' has them in {}; labels of both that were written with "
                          "--id are right, or --id COLUMN for what names the rows in both{}",
                          named.path, name_of_column(named), or_by_order(a, b)));
}

}  // namespace

const std::string& file_of_rows(const Clustering& clustering, const std::string& data) {
  return clustering.is_model() ? data : clustering.path;
}

JoinedRows join_rows(Clustering& a, Clustering& b, const std::string& data) {
  refuse_mixture(a, b);
  if (a.ids == b.ids) return {};
  const std::string &file_a = file_of_rows(a, data), &file_b = file_of_rows(b, data);
  const std::string or_else = or_by_order(a, b);
  (void)places_of(a, file_a, or_else);  // throws if a name appears there twice
  const auto places = places_of(b, file_b, or_else);
  std::vector<int64_t> labels_a, labels_b;
  for (size_t row = 0; row < a.ids.size(); ++row) {
    const auto at = places.find(a.ids[row]);
    if (at == places.end()) continue;
    labels_a.push_back(a.labels[row]);
    labels_b.push_back(b.labels[at->second]);
  }
  if (labels_a.empty()) {
    throw Error(ErrorCode::kBadData, file_b,
                fmt::format("has no row of '{}': its first one is named '{}', the first one there '{}'; names of the "
                            "same rows are needed{}",
                            file_a, shown(b.ids[0]), shown(a.ids[0]), or_else));
  }
  const auto both = std::ssize(labels_a);
  JoinedRows result{std::ssize(a.ids) - both, std::ssize(b.ids) - both, name_of_column(a)};
  a.labels = std::move(labels_a);
  b.labels = std::move(labels_b);
  return result;
}

}  // namespace manymeans::cli
