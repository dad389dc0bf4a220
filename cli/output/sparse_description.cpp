#include "output/sparse_description.h"

#include <manymeans/sparse.h>

#include "output/model_description.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace manymeans::cli {
namespace {

struct Contents {
  int64_t n = 0, d = 0, entries = 0;
  int64_t least = std::numeric_limits<int64_t>::max(), most = 0;  // values of a row
  int64_t empty_rows = 0, empty_columns = 0;
  int64_t odd = 0;  // NaN and infinite
  double min = std::numeric_limits<double>::infinity(), max = -min;

  double share() const { return static_cast<double>(entries) / (static_cast<double>(n) * static_cast<double>(d)); }
};

double value_at(const SparseView& view, int64_t at) {
  return view.type == DataType::kFloat64 ? static_cast<const double*>(view.values)[at]
                                         : static_cast<double>(static_cast<const float*>(view.values)[at]);
}

int64_t column_at(const SparseView& view, int64_t at) {
  return view.wide_indices ? static_cast<const int64_t*>(view.indices)[at]
                           : static_cast<const int32_t*>(view.indices)[at];
}

Contents contents_of(const Dataset& points) {
  const SparseView& view = *static_cast<const SparseView*>(points.view.data);
  Contents found{.n = view.n, .d = view.d};
  std::vector<bool> seen(static_cast<size_t>(view.d));
  for (int64_t row = 0; row < view.n; ++row) {
    const int64_t count = view.starts[row + 1] - view.starts[row];
    found.entries += count;
    found.least = std::min(found.least, count);
    found.most = std::max(found.most, count);
    found.empty_rows += count == 0 ? 1 : 0;
    for (int64_t at = view.starts[row]; at < view.starts[row + 1]; ++at) {
      seen[static_cast<size_t>(column_at(view, at))] = true;
      const double value = value_at(view, at);
      if (!std::isfinite(value)) {
        ++found.odd;
        continue;
      }
      found.min = std::min(found.min, value);
      found.max = std::max(found.max, value);
    }
  }
  found.empty_columns = std::count(seen.begin(), seen.end(), false);
  return found;
}

}  // namespace

std::string sparse_description(const std::string& path, const Dataset& points) {
  const Contents found = contents_of(points);
  std::string text = fmt::format(
      "{}: {} rows of {} columns, {}, sparse\n{} values are stored, {:.3g} % of all; {} to {} in a row\n"
      "without any: {} rows, {} columns\n",
      path, found.n, found.d, name_of(points.view.type), found.entries, 100 * found.share(), found.least, found.most,
      found.empty_rows, found.empty_columns);
  if (found.min <= found.max) text += fmt::format("stored values are from {:.6g} to {:.6g}\n", found.min, found.max);
  if (found.odd > 0) text += fmt::format("{} are NaN or infinite, which a fit refuses\n", found.odd);
  return text;
}

std::string sparse_description_json(const std::string& path, const Dataset& points) {
  const Contents found = contents_of(points);
  const auto number = [&](double value) {
    return found.min <= found.max ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  return text_of({{"path", path},
                  {"n_rows", found.n},
                  {"n_columns", found.d},
                  {"dtype", std::string(name_of(points.view.type))},
                  {"sparse", true},
                  {"n_stored", found.entries},
                  {"share_stored", found.share()},
                  {"least_in_row", found.least},
                  {"most_in_row", found.most},
                  {"empty_rows", found.empty_rows},
                  {"empty_columns", found.empty_columns},
                  {"min", number(found.min)},
                  {"max", number(found.max)},
                  {"not_finite", found.odd}});
}

}  // namespace manymeans::cli
