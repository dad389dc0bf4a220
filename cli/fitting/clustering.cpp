#include "fitting/clustering.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/label_table.h>
#include <manymeans/regress.h>
#include <manymeans/terms.h>

#include "flags/model_columns.h"
#include "flags/read_flags.h"
#include "flags/stored_models.h"
#include "streams/device_watch.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

namespace manymeans::cli {
namespace {

// An error about columns names their file.
LabelTable naming_columns(const std::string& path, const std::function<LabelTable()>& read) {
  try {
    return read();
  } catch (const Error& error) {
    constexpr std::string_view kPlace = "[columns] ";
    const std::string_view what = error.what();
    if (!what.starts_with(kPlace)) throw;
    throw Error(error.code(), "--column", fmt::format("{}: {}", path, what.substr(kPlace.size())));
  }
}

void read_labels(Clustering& clustering, const LabelColumns& columns) {
  const std::string& path = clustering.path;
  ReadOptions options;
  options.dtype = DataType::kFloat64;  // holds all labels
  options.rules.missing = Missing::kValue;
  options.rules.missing_value = -1;
  if (!columns.labels.empty()) options.columns = {columns.labels};
  options.id = columns.ids;
  options.header = columns.header;
  const FirstLine line = find_first_line(path, options, columns.rows);
  if (line.header != Header::kAuto) options.header = line.header;
  LabelTable found = naming_columns(path, [&] { return read_label_table(path, options); });
  Dataset& table = found.labels;
  if (table.view.d != 1) {
    throw Error(ErrorCode::kUsage, path,
                fmt::format("holds {} columns{}; a column of labels is needed, or a model file (.npz): --column NAME "
                            "chooses one of several",
                            table.view.d, table.ids.empty() ? "" : " beside the names of the rows"));
  }
  clustering.labels.reserve(static_cast<size_t>(table.view.n));
  const auto* values = static_cast<const double*>(table.view.data);
  for (int64_t row = 0; row < table.view.n; ++row) {
    const double value = values[row];
    if (!(value > -0x1p32 && value < 0x1p32 && value == std::floor(value))) {
      throw Error(ErrorCode::kBadData, path,
                  fmt::format("{} holds {}; labels are whole numbers below 2^32, or texts; below 0: the row has none",
                              row_label(table, row + 1), value));
    }
    clustering.labels.push_back(static_cast<int64_t>(value));
  }
  clustering.classes = std::move(found.classes);
  clustering.has_no_header = table.first_line > 0 && table.column_names.empty() && columns.header == Header::kAuto;
  clustering.may_have_name = clustering.has_no_header && line.may_name;
  if (columns.by_order) return;
  clustering.beside = std::move(found.beside);
  clustering.ids = std::move(table.ids);
  clustering.id_name = std::move(table.id_name);
}

Prediction predict_rows(const Clustering& clustering, const PointsView& points, const PredictOptions& options) {
  const PointsView prototypes = clustering.model->prototypes.view();
  return clustering.file->linear() ? regress_labels(RegressionRows::with_target(points), prototypes, options)
                                   : predict(points, prototypes, options);
}

}  // namespace

Clustering read_clustering(const std::string& path, int64_t k, const LabelColumns& columns) {
  Clustering result{.path = path};
  if (!is_model_file(path)) {
    read_labels(result, columns);
    return result;
  }
  result.file = load_model(path);
  result.model = &choose_model(*result.file, path, k, WhichK::kAskedFor);
  return result;
}

void label_rows(Clustering& clustering, const RowsToLabel& rows, std::vector<std::string>& warnings) {
  const DataFiles data{.path = rows.path, .shards = {}};
  Dataset points = read_like_fit(data, rows.reading, points_of_fit(*clustering.file));
  warnings.insert(warnings.end(), points.warnings.begin(), points.warnings.end());
  expand_terms(points, clustering.file->terms, 1, rows.reading.threads);
  naming_file(rows.path, points,
              [&] { scale_read(points, clustering.file->scaling, rows.reading.threads, rows.reading.memory); });
  const DeviceWatch watch(rows.backend);
  const Prediction found = naming_file(rows.path, points, [&] {
    return predict_rows(clustering, points.view,
                        {.backend = rows.backend, .threads = rows.reading.threads, .metric = clustering.file->metric});
  });
  auto gap = points.dropped.begin();
  for (int64_t row = 0; row < found.labels.size(); ++row) {
    for (; gap != points.dropped.end() && *gap == std::ssize(clustering.labels); ++gap) clustering.labels.push_back(-1);
    clustering.labels.push_back(found.labels[row]);
  }
  clustering.labels.resize(static_cast<size_t>(found.labels.size()) + points.dropped.size(), -1);
  clustering.ids = std::move(points.ids);
  clustering.id_name = std::move(points.id_name);
}

}  // namespace manymeans::cli
