// Models as a .npz; docs/user/model-file.md lists the keys.
#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/model_file.h>
#include <manymeans/terms.h>

#include "core/fp_environment.h"
#include "core/out_of_memory.h"
#include "io/files/file_watch.h"
#include "io/numpy/npz.h"
#include "io/results/json_text.h"
#include "io/table/reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <utility>

namespace manymeans {
namespace {

constexpr const char* kNothing = "nothing was written";

constexpr int64_t kFormatVersion = 1;
constexpr int64_t kNumbers = -1;       // instead of a column's number of categories: it has none
constexpr int64_t kLinearVersion = 2;  // linear models: programs that know centroids only refuse it
constexpr int64_t kTermsVersion = 4;   // linear models of terms: programs that do not make them refuse it
constexpr int64_t kMetricVersion = 3;  // another metric than euclidean: programs that do not know it refuse it
constexpr int64_t kLogVersion = 5;     // logarithms of columns: programs that do not take them refuse it

using Models = std::vector<StoredModel>;

// Calls use(key, member) for what every model has one value of; the file has all models' values under one key.
template <class Use>
void for_each_field(Use&& use) {
  use("k", &StoredModel::k);
  use("k_requested", &StoredModel::k_requested);
  use("replica", &StoredModel::replica);
  use("seed", &StoredModel::seed);
  use("iterations", &StoredModel::iterations);
  use("inertia", &StoredModel::inertia);
  use("stop_reason", &StoredModel::stop_reason);
  use("init", &StoredModel::init);
}

std::string numbered(const std::string& key, size_t index) {
  return fmt::format("{}_{}", key, index);
}

void add_model(NpzWriter& npz, size_t index, const StoredModel& model) {
  npz.add(numbered(model.regression ? "coefficients" : "centroids", index), model.prototypes);
  if (model.regression) {
    npz.add(numbered("means", index), model.regression->gate.means);
    npz.add(numbered("feature_scales", index), model.regression->gate.scales);
    if (model.regression->standard_errors.rows() > 0) {
      npz.add(numbered("standard_errors", index), model.regression->standard_errors);
      npz.add(numbered("cluster_r2", index), model.regression->cluster_r2());
    }
  }
  npz.add(numbered("counts", index), model.counts);
  npz.add(numbered("weights", index), model.weights);
}

// One value for each column of the file; the categories of all of them in a row.
void add_rules(NpzWriter& npz, const SourceColumns& source) {
  if (source.decimal != '.') npz.add_text("decimal", std::string(1, source.decimal));
  if (source.rules.empty()) return;
  std::vector<double> fills;
  std::vector<int64_t> counts;
  std::vector<std::string> categories;
  for (const ColumnRule& rule : source.rules) {
    fills.push_back(rule.fill.value_or(std::numeric_limits<double>::quiet_NaN()));
    counts.push_back(rule.categorical ? std::ssize(rule.categories) : kNumbers);
    categories.insert(categories.end(), rule.categories.begin(), rule.categories.end());
  }
  npz.add_text("gaps", source.drops_gaps ? "drop" : "fill");
  npz.add("column_fills", fills);
  npz.add("column_categories", counts);
  npz.add("categories", categories);
}

void add_summaries(NpzWriter& npz, const Models& models) {
  std::vector<double> r2, bic;
  for (const StoredModel& model : models) {
    r2.push_back(model.regression->r2);
    bic.push_back(model.regression->bic);
  }
  npz.add("r2", r2);
  npz.add("bic", bic);
}

// Reads and checks a model file.
class ModelLoader {
 public:
  explicit ModelLoader(const std::string& path) : file_(path, "a model file") {}

  ModelFile run();

 private:
  void load_models(ModelFile& result) const;
  void check_numbers(size_t index, const StoredModel& model) const;
  Matrix load_matrix(const std::string& key, int64_t k) const;
  void load_summaries(Models& models) const;
  RegressionGate load_gate(size_t index, const StoredModel& model) const;
  void load_errors(size_t index, StoredModel& model) const;
  void load_ranges(ModelFile& result, int64_t columns) const;
  void load_scaling(ModelFile& result, int64_t columns) const;
  void load_logs(Scaling& scaling, int64_t columns) const;
  int64_t load_terms(ModelFile& result, int64_t columns) const;
  SourceColumns load_source(int64_t columns) const;
  void load_rules(SourceColumns& source, int64_t columns) const;

  NpzFile file_;
  bool linear_ = false;
  const char* prototypes_ = "centroids";
};

ModelFile ModelLoader::run() {
  const NpzArray version = file_.array("format_version");
  if (version.number() < kFormatVersion || version.number() > kLogVersion) {
    version.fail(fmt::format("the format is {}; this version of manymeans reads {} to {}", version.number(),
                             kFormatVersion, kLogVersion));
  }
  const bool with_logs = version.number() == kLogVersion;  // whatever else the file has
  linear_ = version.number() == kLinearVersion || version.number() == kTermsVersion ||
            (with_logs && file_.has("coefficients_0"));
  if (linear_) prototypes_ = "coefficients";
  ModelFile result;
  if (version.number() == kMetricVersion || (with_logs && file_.has("metric"))) {
    const NpzArray name = file_.array("metric");
    const auto metric = find_named<Metric>(name.text());
    if (!metric) name.fail("the metric '" + name.text() + "' is not known; euclidean and cosine are");
    result.metric = *metric;
  }
  load_models(result);
  const int64_t columns = result.models[0].prototypes.columns();
  load_scaling(result, columns);
  load_ranges(result, columns);
  const int64_t read =
      version.number() == kTermsVersion || (with_logs && file_.has("degree")) ? load_terms(result, columns) : columns;
  const NpzArray names = file_.array("column_names");
  result.column_names = names.vector<std::string>(names.header().count == 0 ? 0 : read);
  const NpzArray json = file_.array("json");
  result.json = json.text();
  // Programs that save models of their own may have nothing to say.
  if (!result.json.empty() && !is_json_object(result.json))
    json.fail("this is not the JSON object that a fit writes; the file was changed");
  result.source = load_source(read);
  return result;
}

// Returns the number of columns that are read: the features and the target.
int64_t ModelLoader::load_terms(ModelFile& result, int64_t columns) const {
  const NpzArray degree = file_.array("degree"), products = file_.array("products");
  result.terms = {degree.number(), products.number() == 1};
  const int64_t features = degree.number() == 2 ? features_of_terms(columns - 1, result.terms) : 0;
  if (products.number() < 0 || products.number() > 1) products.fail("0 or 1 is needed");
  if (features < 1) {
    degree.fail(
        fmt::format("degree {} was found for models of {} terms; degree 2 and the terms of some features are "
                    "needed",
                    degree.number(), columns - 1));
  }
  return features + 1;
}

// Files of version 0.1 do not have it.
SourceColumns ModelLoader::load_source(int64_t columns) const {
  if (!file_.has("file_columns")) return {};
  SourceColumns source;
  const NpzArray count = file_.array("file_columns");
  source.count = count.number();
  const NpzArray numbers = file_.array("file_column_numbers");
  source.numbers = numbers.vector<int64_t>();
  if (source.count < 0 || (source.count == 0) != source.numbers.empty()) {
    count.fail(fmt::format("{} was found beside {} columns that were used; as many or more are needed", source.count,
                           source.numbers.size()));
  }
  for (const int64_t number : source.numbers) {
    if (number >= 1 && number <= source.count) continue;
    numbers.fail(fmt::format("{} was found; numbers from 1 to {} are needed", number, source.count));
  }
  std::vector<int64_t> sorted = source.numbers;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) numbers.fail(fmt::format("{} was found twice; different numbers are needed", *twice));
  const NpzArray names = file_.array("file_column_names");
  source.names = names.vector<std::string>(names.header().count == 0 ? 0 : static_cast<int64_t>(source.numbers.size()));
  load_rules(source, columns);
  return source;
}

// Only fits of tables that were no plain numbers have them.
void ModelLoader::load_rules(SourceColumns& source, int64_t columns) const {
  if (file_.has("decimal")) {
    const NpzArray decimal = file_.array("decimal");
    if (decimal.text() != "," && decimal.text() != ".") decimal.fail("'.' or ',' is needed");
    source.decimal = decimal.text()[0];
  }
  if (!file_.has("column_categories")) return;
  const NpzArray gaps = file_.array("gaps");
  if (gaps.text() != "drop" && gaps.text() != "fill") gaps.fail("'drop' or 'fill' is needed");
  source.drops_gaps = gaps.text() == "drop";
  const NpzArray fills = file_.array("column_fills");
  const NpzArray counts = file_.array("column_categories");
  const NpzArray categories = file_.array("categories");
  const auto fields = std::ssize(source.numbers);
  const auto fill_values = fills.vector<double>(fields);
  const auto category_counts = counts.vector<int64_t>(fields);
  const auto texts = categories.vector<std::string>();
  int64_t next = 0, width = 0;
  for (int64_t j = 0; j < fields; ++j) {
    ColumnRule& rule = source.rules.emplace_back();
    const double fill = fill_values[static_cast<size_t>(j)];
    const int64_t count = category_counts[static_cast<size_t>(j)];
    if (std::isinf(fill)) fills.fail("infinity was found; finite numbers are needed, or NaN for none");
    if (!std::isnan(fill)) rule.fill = fill;
    rule.categorical = count != kNumbers;
    width += rule.categorical ? count : 1;
    if (!rule.categorical) continue;
    if (count < 0 || count > std::ssize(texts) - next) {
      counts.fail(fmt::format("{} was found; there are {} categories in all", count, texts.size()));
    }
    rule.categories.assign(texts.begin() + next, texts.begin() + next + count);
    if (std::ranges::adjacent_find(rule.categories, std::greater_equal<>()) != rule.categories.end()) {
      categories.fail("those of a column are not in order, or not different");
    }
    next += count;
  }
  if (width != columns) {
    counts.fail(fmt::format("they make {} columns of points, the models have {}", width, columns));
  }
}

void ModelLoader::load_models(ModelFile& result) const {
  Models& models = result.models;
  const NpzArray k = file_.array("k");
  const size_t count = k.vector<int64_t>().size();
  if (count == 0) k.fail("the file holds no models; at least one is needed");
  // A number that is forged ends here, before it takes memory: every model has arrays of its own.
  static_cast<void>(file_.array(numbered(prototypes_, count - 1)));
  models.resize(count);
  for_each_field([&]<class T>(const char* key, T StoredModel::*field) {
    std::vector<T> values = file_.vector<T>(key, static_cast<int64_t>(models.size()));
    for (size_t i = 0; i < models.size(); ++i) models[i].*field = std::move(values[i]);
  });
  for (size_t i = 0; i < models.size(); ++i) {
    StoredModel& model = models[i];
    model.prototypes = load_matrix(numbered(prototypes_, i), model.k);
    model.counts = file_.vector<int64_t>(numbered("counts", i), model.k);
    model.weights = file_.vector<double>(numbered("weights", i), model.k);
    check_numbers(i, model);
    if (model.prototypes.columns() != models[0].prototypes.columns()) {
      file_.array(numbered(prototypes_, i))
          .fail("the models of the file have different numbers of columns; they must agree");
    }
  }
  if (linear_) load_summaries(models);
}

void ModelLoader::load_summaries(Models& models) const {
  const auto r2 = file_.vector<double>("r2", std::ssize(models));
  const auto bic = file_.vector<double>("bic", std::ssize(models));
  for (size_t i = 0; i < models.size(); ++i) {
    models[i].regression.emplace();
    models[i].regression->r2 = r2[i];
    models[i].regression->bic = bic[i];
    models[i].regression->gate = load_gate(i, models[i]);
    load_errors(i, models[i]);
  }
}

RegressionGate ModelLoader::load_gate(size_t index, const StoredModel& model) const {
  const int64_t features = model.prototypes.columns() - 1;
  if (features < 1) {
    file_.array(numbered(prototypes_, index)).fail("one column was found; a coefficient and an intercept are needed");
  }
  RegressionGate gate;
  gate.means = load_matrix(numbered("means", index), model.k);
  if (gate.means.columns() != features || gate.means.type() != DataType::kFloat64) {
    file_.array(numbered("means", index)).fail("a float64 mean of each feature is needed");
  }
  const NpzArray scales = file_.array(numbered("feature_scales", index));
  gate.scales = scales.vector<double>(features);
  for (const double scale : gate.scales) {
    if (!std::isfinite(scale) || scale <= 0) scales.fail(fmt::format("{} was found; scales above 0 are needed", scale));
  }
  gate.weights = model.weights;
  return gate;
}

// Older files have none. NaN stands for what is not known.
void ModelLoader::load_errors(size_t index, StoredModel& model) const {
  if (!file_.has(numbered("standard_errors", index))) return;
  RegressionSummary& summary = *model.regression;
  const NpzArray errors = file_.array(numbered("standard_errors", index));
  const NpyHeader& header = errors.header();
  if (header.shape != std::vector{model.k, model.prototypes.columns()} || header.fortran_order || !header.is("<f8")) {
    errors.fail("a float64 error of each coefficient and intercept, in C order, is needed");
  }
  summary.standard_errors = Matrix(model.k, model.prototypes.columns(), DataType::kFloat64);
  std::memcpy(summary.standard_errors.values<std::byte>().data(), errors.values(),
              summary.standard_errors.bytes().size());
  for (const double r2 : file_.vector<double>(numbered("cluster_r2", index), model.k)) {
    summary.clusters.push_back({.r2 = r2});
  }
}

// Refuses numbers that no fit has ever written.
void ModelLoader::check_numbers(size_t index, const StoredModel& model) const {
  const auto require = [&](bool right, const std::string& key, const auto& found, const char* needed) {
    if (!right) file_.array(key).fail(fmt::format("model {}: {} was found; {}", index + 1, found, needed));
  };
  require(model.iterations >= 0, "iterations", model.iterations, "0 or more is possible");
  // NaN is not; infinity is, as are weights: what many rows add up to (contract, "Order-free sums").
  require(model.inertia >= 0, "inertia", model.inertia, "0 or more is possible");
  require(model.replica >= 0, "replica", model.replica, "0 or more is possible");
  // A file of another program may leave this out by a 0.
  require(model.k_requested == 0 || model.k_requested >= model.k, "k_requested", model.k_requested,
          "no fewer than there are prototypes can have been asked for");
  for (const int64_t count : model.counts)
    require(count >= 0, numbered("counts", index), count, "0 or more is possible");
  for (const double weight : model.weights) {
    require(weight >= 0, numbered("weights", index), weight, "0 or more is possible");
  }
}

Matrix ModelLoader::load_matrix(const std::string& key, int64_t k) const {
  const NpzArray values = file_.array(key);
  const NpyHeader& header = values.header();
  if (header.shape.size() != 2 || header.shape[0] != k || k < 1 || header.shape[1] < 1 || header.fortran_order) {
    values.fail(fmt::format("a matrix of k = {} rows and at least one column, in C order, is needed", k));
  }
  if (!header.is("<f4") && !header.is("<f8"))
    values.fail("values of type '" + header.descr() + "' were found; '<f4' or '<f8' is needed");
  Matrix result(k, header.shape[1], header.is("<f8") ? DataType::kFloat64 : DataType::kFloat32);
  std::memcpy(result.values<std::byte>().data(), values.values(), result.bytes().size());
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < result.columns(); ++j) {
      if (!std::isfinite(result.at(i, j))) {
        values.fail(
            fmt::format("row {}, column {}: {} was found; finite values are needed", i + 1, j + 1, result.at(i, j)));
      }
    }
  }
  return result;
}

void ModelLoader::load_scaling(ModelFile& result, int64_t columns) const {
  const NpzArray kind = file_.array("scale_kind");
  const auto scale = find_named<Scale>(kind.text());
  if (!scale) {
    kind.fail(fmt::format("the scaling '{}' is not known; {} are", kind.text(), fmt::join(names_of<Scale>(), ", ")));
  }
  const bool logs = file_.has("scale_log");
  const int64_t count = !logs && (*scale == Scale::kNone || *scale == Scale::kUnit) ? 0 : columns;
  const NpzArray divisor = file_.array("scale_divisor");
  result.scaling = {*scale, file_.vector<double>("scale_offset", count), divisor.vector<double>(count)};
  if (logs) load_logs(result.scaling, columns);
  for (size_t j = 0; j < result.scaling.divisor.size(); ++j) {
    const bool right = std::isfinite(result.scaling.offset[j]) && std::isfinite(result.scaling.divisor[j]) &&
                       result.scaling.divisor[j] > 0;
    if (!right) divisor.fail(fmt::format("column {}: a finite offset and a divisor above 0 are needed", j + 1));
  }
}

void ModelLoader::load_logs(Scaling& scaling, int64_t columns) const {
  const NpzArray logs = file_.array("scale_log");
  for (const std::string& name : logs.vector<std::string>(columns)) {
    const auto log = find_named<Logarithm>(name);
    if (!log) logs.fail(fmt::format("'{}' was found; {} are known", name, fmt::join(names_of<Logarithm>(), ", ")));
    scaling.logs.push_back(*log);
  }
}

// Older files have no ranges, and neither have files of the metric cosine.
void ModelLoader::load_ranges(ModelFile& result, int64_t columns) const {
  if (!file_.has("column_minimum")) return;
  const NpzArray maximum = file_.array("column_maximum");
  ColumnRanges& ranges = result.ranges;
  ranges = {file_.vector<double>("column_minimum", columns), maximum.vector<double>(columns), 0};
  for (size_t j = 0; j < ranges.minimum.size(); ++j) {
    if (std::isfinite(ranges.minimum[j]) && std::isfinite(ranges.maximum[j]) && ranges.minimum[j] <= ranges.maximum[j])
      continue;
    maximum.fail(fmt::format("column {}: {} to {} was found; finite numbers in order are needed", j + 1,
                             ranges.minimum[j], ranges.maximum[j]));
  }
  for (const int64_t count : result.models[0].counts) ranges.rows += static_cast<double>(count);
}

// Those that had not begun hold nothing to save; the JSON lists them.
bool has_begun(const ModelResult& model) {
  return model.stop_reason != StopReason::kNotBegun;
}

StoredModel stored_model(const ModelResult& model) {
  return {model.k,      model.seed,       model.iterations, model.inertia, std::string(name_of(model.stop_reason)),
          model.init,   model.prototypes, model.counts,     model.weights, model.k_requested,
          model.replica};
}

void save_centroids(const std::string& path, const FitResult& result, ModelFile file) {
  file.metric = result.provenance.options.metric;
  file.ranges = result.ranges;
  for (const ModelResult& model : result.models) {
    if (has_begun(model)) file.models.push_back(stored_model(model));
  }
  save_model(path, file);
}

}  // namespace

void save_model(const std::string& path, const FitResult& result, const Scaling& scaling,
                const std::vector<std::string>& column_names, const SourceColumns& source) {
  or_out_of_memory(path, kNothing,
                   [&] { save_centroids(path, result, {{}, scaling, column_names, source, answer_json(result)}); });
}

void save_model(const std::string& path, const TreeResult& result, const Scaling& scaling,
                const std::vector<std::string>& column_names, const SourceColumns& source) {
  or_out_of_memory(path, kNothing,
                   [&] { save_centroids(path, result.fit, {{}, scaling, column_names, source, answer_json(result)}); });
}

void save_model(const std::string& path, const RegressResult& result, const Scaling& scaling,
                const std::vector<std::string>& column_names, const SourceColumns& source) {
  or_out_of_memory(path, kNothing, [&] {
    ModelFile file{{}, scaling, column_names, source, answer_json(result), Metric::kEuclidean, result.fit.ranges};
    for (size_t i = 0; i < result.fit.models.size(); ++i) {
      if (!has_begun(result.fit.models[i])) continue;
      file.models.push_back(stored_model(result.fit.models[i]));
      file.models.back().regression = result.summaries[i];
    }
    file.terms = result.terms;
    save_model(path, file);
  });
}

void save_model(const std::string& path, const ModelFile& stored) {
  or_out_of_memory(path, kNothing, [&] {
    const Models& models = stored.models;
    if (models.empty()) {
      throw Error(ErrorCode::kInterrupted, path,
                  "there is nothing to save: no model had begun; let the fit run longer");
    }
    OutputFile file(path);
    NpzWriter npz(file);
    const bool other_metric = stored.metric != Metric::kEuclidean;
    const bool terms = stored.terms.degree > 1;
    const std::vector<Logarithm>& logs = stored.scaling.logs;
    npz.add_number("format_version", !logs.empty()     ? kLogVersion
                                     : terms           ? kTermsVersion
                                     : stored.linear() ? kLinearVersion
                                     : other_metric    ? kMetricVersion
                                                       : kFormatVersion);
    if (terms) npz.add_number("degree", stored.terms.degree);
    if (terms) npz.add_number("products", stored.terms.products ? 1 : 0);
    if (other_metric) npz.add_text("metric", std::string(name_of(stored.metric)));
    for_each_field([&]<class T>(const char* key, T StoredModel::*field) {
      std::vector<T> values;
      for (const StoredModel& model : models) values.push_back(model.*field);
      npz.add(key, values);
    });
    if (stored.linear()) add_summaries(npz, models);
    for (size_t i = 0; i < models.size(); ++i) add_model(npz, i, models[i]);
    npz.add_text("scale_kind", std::string(name_of(stored.scaling.kind)));
    npz.add("scale_offset", stored.scaling.offset);
    npz.add("scale_divisor", stored.scaling.divisor);
    if (!logs.empty()) {
      std::vector<std::string> names;
      for (const Logarithm log : logs) names.emplace_back(name_of(log));
      npz.add("scale_log", names);
    }
    npz.add("column_names", stored.column_names);
    npz.add_number("file_columns", stored.source.count);
    npz.add("file_column_numbers", stored.source.numbers);
    npz.add("file_column_names", stored.source.names);
    add_rules(npz, stored.source);
    if (!stored.ranges.minimum.empty()) {
      npz.add("column_minimum", stored.ranges.minimum);
      npz.add("column_maximum", stored.ranges.maximum);
    }
    npz.add_text("json", stored.json);
    npz.finish();
    file.commit();
  });
}

PointsOfFit points_of_fit(const ModelFile& file) {
  PointsOfFit fit;
  fit.source = file.source;
  fit.column_names = file.column_names;
  if (file.models.empty()) return fit;
  fit.columns = file.models[0].prototypes.columns();
  if (file.terms.degree > 1) fit.columns = features_of_terms(fit.columns - 1, file.terms) + 1;
  fit.type = file.models[0].prototypes.type();
  return fit;
}

PointsOfFit points_of_fit(const Dataset& points) {
  PointsOfFit fit;
  fit.column_names = points.column_names;
  if (points.source.rules.empty()) fit.source.names = points.source.names;  // fields of lists have names of their own
  fit.source.decimal = points.source.decimal;
  fit.columns = points.view.d;
  fit.type = points.view.type == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
  return fit;
}

PointsOfFit features_of_fit(const ModelFile& file) {
  PointsOfFit fit = points_of_fit(file);
  fit.columns = std::max<int64_t>(0, fit.columns - 1);
  if (!fit.column_names.empty()) fit.column_names.pop_back();
  if (!fit.source.names.empty()) fit.source.names.pop_back();
  if (!fit.source.numbers.empty()) fit.source.numbers.pop_back();
  if (!fit.source.rules.empty()) fit.source.rules.pop_back();
  return fit;
}

bool is_model_file(const std::string& path) {
  if (!path.ends_with(".npz") || split_member(path).file != path) return false;
  try {
    const NpzFile file(path, "a model file");
    return file.has("format_version") && file.has("k_requested") && file.has("stop_reason");
  } catch (const Error&) {
    return false;  // the reader says why
  }
}

ModelFile load_model(const std::string& path) {
  return load_unchanged(path, [&] { return ModelLoader(path).run(); });
}

}  // namespace manymeans
