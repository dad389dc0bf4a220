#include "flags/initial_file.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "flags/flag_values.h"
#include "flags/model_columns.h"
#include "flags/reworded.h"
#include "flags/stored_models.h"

#include <algorithm>

namespace manymeans::cli {
namespace {

Dataset from_model_file(const InitialFile& wanted) {
  const std::string& path = wanted.path;
  auto file = std::make_shared<ModelFile>(load_model(path));
  if (file->linear() != (wanted.kind == ModelKind::kLinear)) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("'{}' holds {}; {} are needed here", path, file->linear() ? "linear models" : "centroids",
                            file->linear() ? "centroids" : "linear models"));
  }
  if (file->scaling.kind != wanted.scale) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("the model in '{}' was fitted with --scale {}, this fit has --scale {}; use the same", path,
                            name_of(file->scaling.kind), name_of(wanted.scale)));
  }
  if (file->metric != wanted.metric) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("the model in '{}' was fitted with --metric {}, this fit has --metric {}; use the same",
                            path, name_of(file->metric), name_of(wanted.metric)));
  }
  Dataset initial;
  initial.path = path;
  initial.view = choose_model(*file, path, wanted.k, WhichK::kLeft).prototypes.view();
  initial.column_names = file->column_names;
  initial.owner = std::move(file);
  return initial;
}

// As names, numbers from 0 name nothing: columns are found by their place. If nothing says whether they are names,
// several are: a prototype that counts 0, 1, 2 is rare. A single 0 is a row.
Dataset from_points(const InitialFile& wanted) {
  ReadOptions options;
  options.dtype = DataType::kFloat64;  // exact for every type; the fit rounds once to the type of the points
  options.decimal = wanted.like.source.decimal;
  options.header = wanted.header;
  if (wanted.kind == ModelKind::kCentroids) options.like = wanted.like;  // its columns may be among others
  const FirstLine line = find_first_line(wanted.path, options, wanted.k);
  options.header = line.header;
  if (!line.may_name) return read_points(wanted.path, options);
  const bool assumed = line.header == Header::kAuto, several = wanted.like.columns > 1;
  if (assumed) options.header = several ? Header::kYes : Header::kNo;
  const bool named = options.header == Header::kYes;
  if (named && options.like) options.like->column_names = options.like->source.names = {};
  Dataset initial = read_points(wanted.path, options);
  if (named) initial.column_names.clear();
  if (assumed) {
    initial.warnings.push_back(fmt::format(
        "the first line of {} was taken as {}; --header {}", wanted.path,
        several ? "names of columns, as pandas writes them" : "a row, though pandas writes such a name of a column",
        several ? "no takes it as a row" : "yes takes it as a name"));
  }
  return initial;
}

// Turns a message about points for a model into one about prototypes for points.
std::string about_points(std::string what) {
  constexpr std::string_view kFit = "the model was fitted to the columns";
  const size_t at = what.find(kFit);
  return at == std::string::npos ? what : what.replace(at, kFit.size(), "the points have the columns");
}

// Columns in the order of the points, where both have names. The last one of a linear model is its intercept, whatever
// it is called.
void order_by_name(const InitialFile& wanted, Dataset& initial) {
  std::vector<std::string> names = wanted.like.column_names;
  const std::vector<std::string>& found = initial.column_names;
  if (wanted.kind == ModelKind::kLinear && !names.empty()) {
    names.pop_back();
    const auto left = std::ranges::find_if(
        found, [&](const std::string& name) { return std::ranges::find(names, name) == names.end(); });
    names.push_back(left == found.end() ? "intercept" : *left);
  }
  if (!names.empty() && !found.empty() && names != found)
    keep_columns(initial, find_columns(wanted.path, names, found));
}

}  // namespace

bool names_initial_file(const std::string& init, const std::vector<std::string>& methods) {
  if (std::ranges::find(methods, init) != methods.end()) return false;
  if (is_points_path(init)) return true;
  throw Error(ErrorCode::kUsage, "--init",
              fmt::format("must be one of {} or a file, found '{}'", fmt::join(methods, ", "), shown(init)));
}

Dataset read_initial(const InitialFile& wanted) try {
  const std::string& path = wanted.path;
  const int64_t k = wanted.k, d = wanted.like.columns;
  Dataset initial = is_model_file(path) ? from_model_file(wanted) : from_points(wanted);
  if (k != 0 && initial.view.n != k) {
    throw Error(ErrorCode::kBadData, "--init",
                fmt::format("'{}' has {} rows, k is {}; one row for each cluster is right", path, initial.view.n, k));
  }
  if (initial.view.d != d) {
    throw Error(ErrorCode::kBadData, "--init",
                fmt::format("'{}' has {} columns, the points have {}; they must agree", path, initial.view.d, d));
  }
  order_by_name(wanted, initial);
  return initial;
} catch (const Error& error) {
  throw reworded(error, about_points);
}

std::vector<std::string> initial_warnings(const Dataset& initial, const ColumnRanges& scaled) {
  if (initial.view.n < 1 || std::ssize(scaled.minimum) != initial.view.d) return {};
  const std::vector<ColumnSummary> columns = summarise_columns(initial.view);
  for (size_t j = 0; j < columns.size(); ++j) {
    const double low = scaled.minimum[j], high = scaled.maximum[j], margin = high - low;
    if (margin == 0 || (columns[j].min >= low - margin && columns[j].max <= high + margin)) continue;
    return {fmt::format(
        "{} of '{}' has values from {:.6g} to {:.6g}, the scaled points from {:.6g} to {:.6g}; with "
        "--scale, initial centroids are in scaled units, as in a model file of such a fit",
        column_label(initial, static_cast<int64_t>(j) + 1), initial.path, columns[j].min, columns[j].max, low, high)};
  }
  return {};
}

}  // namespace manymeans::cli
