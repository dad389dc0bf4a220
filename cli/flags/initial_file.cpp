#include "flags/initial_file.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/terms.h>

#include "flags/flag_values.h"
#include "flags/model_columns.h"
#include "flags/reworded.h"
#include "flags/stored_models.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace manymeans::cli {
namespace {

// Models in the order of a fit: of each k asked for, or of each k there is.
std::vector<const StoredModel*> models_of(const InitialFile& wanted, const ModelFile& file) {
  std::vector<int64_t> ks = wanted.k;
  for (const StoredModel& model : file.models) {
    if (wanted.k.empty() && std::ranges::find(ks, model.k) == ks.end()) ks.push_back(model.k);
  }
  std::vector<const StoredModel*> models;
  for (const int64_t k : ks) {
    const StoredModel& best = choose_model(file, wanted.path, k, WhichK::kLeft);
    if (wanted.models == 1) models.push_back(&best);
    for (const StoredModel& model : file.models) {
      if (wanted.models != 1 && model.k == k) models.push_back(&model);
    }
  }
  return models;
}

// Throws unless there are as many models of each k, and as many as were asked for.
int64_t models_of_each_k(const InitialFile& wanted, std::span<const StoredModel* const> models) {
  std::map<int64_t, int64_t> counts;
  for (const StoredModel* model : models) ++counts[model->k];
  const int64_t count = counts.begin()->second;
  for (const auto& [k, found] : counts) {
    if (found == wanted.models.value_or(count)) continue;
    if (wanted.models) {
      throw Error(ErrorCode::kUsage, "--models",
                  fmt::format("is {}, '{}' holds {} of k = {}; leave it out to begin with all, or give 1 to begin with "
                              "the best of each k",
                              *wanted.models, wanted.path, found, k));
    }
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("'{}' holds {} of k = {} and {} of k = {}, an ensemble has as many of each; choose one "
                            "with -k, or give --models 1 to begin with the best of each k",
                            wanted.path, count, counts.begin()->first, found, k));
  }
  return count;
}

// The names of the columns of prototypes: of linear models the terms, and the target for the intercept.
std::vector<std::string> names_of_coefficients(const ModelFile& file) {
  std::vector<std::string> names = file.column_names;
  if (names.empty() || file.terms.degree == 1) return names;
  const std::string target = names.back();
  names = term_names(std::span(names).first(names.size() - 1), file.terms);
  names.push_back(target);
  return names;
}

// The prototypes of all models, one below the other; float64 holds every type.
void stack_prototypes(std::span<const StoredModel* const> models, Dataset& rows) {
  const int64_t d = models[0]->prototypes.columns();
  const auto all = std::make_shared<std::vector<double>>();
  for (const StoredModel* model : models) {
    for (int64_t i = 0; i < model->k; ++i) {
      for (int64_t j = 0; j < d; ++j) all->push_back(model->prototypes.at(i, j));
    }
  }
  rows.view = PointsView(all->data(), std::ssize(*all) / d, d);
  rows.owner = all;
}

// "log(price), log(1 + visits)", sorted: columns are matched by name.
std::string logs_of(const Scaling& scaling, const std::vector<std::string>& names) {
  std::vector<std::string> logs;
  for (size_t j = 0; j < scaling.logs.size(); ++j) {
    const std::string name = names.empty() ? fmt::format("column {}", j + 1) : names[j];
    if (scaling.has_log(j)) logs.push_back(scaling.name(name, j));
  }
  std::ranges::sort(logs);
  return logs.empty() ? "no logarithm" : fmt::format("{}", fmt::join(logs, ", "));
}

InitialModels from_model_file(const InitialFile& wanted) {
  const std::string& path = wanted.path;
  const ModelFile file = load_model(path);
  if (file.linear() != (wanted.kind == ModelKind::kLinear)) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("'{}' holds {}; {} are needed here", path, file.linear() ? "linear models" : "centroids",
                            file.linear() ? "centroids" : "linear models"));
  }
  if (file.scaling.kind != wanted.scaling.kind) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("the model in '{}' was fitted with --scale {}, this fit has --scale {}; use the same", path,
                            name_of(file.scaling.kind), name_of(wanted.scaling.kind)));
  }
  const std::string of_file = logs_of(file.scaling, file.column_names),
                    of_fit = logs_of(wanted.scaling, wanted.like.column_names);
  if (of_file != of_fit) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("the model in '{}' is of {}, this fit of {}; both need the same --log, and a column with "
                            "zeros has log(1 + x)",
                            path, of_file, of_fit));
  }
  if (file.terms != wanted.terms) {
    throw Error(
        ErrorCode::kUsage, "--init",
        fmt::format("the model in '{}' has other terms than this fit; use the same --degree and --no-products", path));
  }
  if (file.metric != wanted.metric) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("the model in '{}' was fitted with --metric {}, this fit has --metric {}; use the same",
                            path, name_of(file.metric), name_of(wanted.metric)));
  }
  const std::vector<const StoredModel*> models = models_of(wanted, file);
  InitialModels initial;
  initial.models = models_of_each_k(wanted, models);
  for (size_t first = 0; first < models.size(); first += static_cast<size_t>(initial.models)) {
    initial.k.push_back(models[first]->k);
  }
  initial.rows.path = path;
  initial.rows.column_names = names_of_coefficients(file);
  stack_prototypes(models, initial.rows);
  return initial;
}

// Rows of a file of points for all models; 0: not known.
int64_t rows_of(const InitialFile& wanted) {
  return wanted.models.value_or(1) * std::accumulate(wanted.k.begin(), wanted.k.end(), int64_t{0});
}

// The models of a file of points: each has the next k of its rows.
InitialModels cut_into_models(const InitialFile& wanted, Dataset rows) {
  const int64_t n = rows.view.n, models = wanted.models.value_or(1), needed = rows_of(wanted);
  InitialModels initial{.rows = std::move(rows), .k = wanted.k, .models = models};
  if (needed == n) return initial;
  if (needed == 0 && n % models == 0) {
    initial.k = {n / models};
    return initial;
  }
  const std::string text = needed == 0 ? fmt::format("'{}' has {} rows for {} models; as many rows for each are right",
                                                     wanted.path, n, models)
                                       : fmt::format("'{}' has {} rows, k is {} and models {}; {} rows are right",
                                                     wanted.path, n, fmt::join(wanted.k, ", "), models, needed);
  throw Error(ErrorCode::kBadData, "--init", text);
}

// As names, numbers from 0 name nothing: columns are found by their place. If nothing says whether they are names,
// several are: a prototype that counts 0, 1, 2 is rare. A single 0 is a row.
Dataset from_points(const InitialFile& wanted) {
  ReadOptions options;
  options.dtype = DataType::kFloat64;  // exact for every type; the fit rounds once to the type of the points
  options.decimal = wanted.like.source.decimal;
  options.header = wanted.header;
  if (wanted.kind == ModelKind::kCentroids) options.like = wanted.like;  // its columns may be among others
  const FirstLine line = find_first_line(wanted.path, options, rows_of(wanted));
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

InitialModels read_initial(const InitialFile& wanted) try {
  const std::string& path = wanted.path;
  const int64_t d = wanted.like.columns;
  InitialModels initial = is_model_file(path) ? from_model_file(wanted) : cut_into_models(wanted, from_points(wanted));
  if (initial.rows.view.d != d) {
    throw Error(ErrorCode::kBadData, "--init",
                fmt::format("'{}' has {} columns, the points have {}; they must agree", path, initial.rows.view.d, d));
  }
  order_by_name(wanted, initial.rows);
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
