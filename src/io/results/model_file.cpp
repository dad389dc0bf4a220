// Models as a .npz; docs/user/model-file.md lists the keys.
#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/fp_environment.h"
#include "core/out_of_memory.h"
#include "io/files/file_watch.h"
#include "io/files/mapped_file.h"
#include "io/numpy/npz.h"
#include "io/results/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

namespace manymeans {
namespace {

constexpr const char* kNothing = "nothing was written";

constexpr int64_t kFormatVersion = 1;

using Models = std::vector<StoredModel>;

// One value of each model, under one key.
template <class Get>
void add_each(NpzWriter& npz, const std::string& key, const Models& models, Get get) {
  std::vector<std::decay_t<decltype(get(models[0]))>> values;
  for (const StoredModel& model : models) values.push_back(get(model));
  npz.add(key, values);
}

std::string numbered(const std::string& key, size_t index) {
  return fmt::format("{}_{}", key, index);
}

void add_model(NpzWriter& npz, size_t index, const StoredModel& model) {
  const Matrix& prototypes = model.prototypes;
  const std::vector<int64_t> shape{prototypes.rows(), prototypes.columns()};
  npz.add(numbered("centroids", index), prototypes.type() == DataType::kFloat64 ? "<f8" : "<f4", shape,
          prototypes.bytes());
  npz.add(numbered("counts", index), model.counts);
  npz.add(numbered("weights", index), model.weights);
}

// Reads and checks a model file.
class ModelLoader {
 public:
  explicit ModelLoader(const std::string& path)
      : path_(path), file_(MappedFile::open(path, Access::kOnce)), zip_(file_->bytes(), path) {}

  ModelFile run();

 private:
  NpzArray array(const std::string& key) const;
  void load_models(ModelFile& result) const;
  void check_numbers(size_t index, const StoredModel& model) const;
  Matrix load_prototypes(size_t index, int64_t k) const;
  void load_scaling(ModelFile& result, int64_t columns) const;
  SourceColumns load_source() const;

  const std::string& path_;
  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
};

NpzArray ModelLoader::array(const std::string& key) const {
  if (!zip_.has(key + ".npy")) {
    throw Error(ErrorCode::kBadData, path_, "there is no '" + key + "' in it; a model file of manymeans is needed");
  }
  return {path_ + ", " + key, zip_.read(key + ".npy")};
}

ModelFile ModelLoader::run() {
  const NpzArray version = array("format_version");
  if (!version.header().shape.empty() || !version.header().is("<i8")) version.fail("a single '<i8' is needed");
  int64_t number = 0;
  std::memcpy(&number, version.values(), sizeof number);
  if (number != kFormatVersion) {
    version.fail(fmt::format("the format is {}; this version of manymeans reads {}", number, kFormatVersion));
  }
  ModelFile result;
  load_models(result);
  const int64_t columns = result.models[0].prototypes.columns();
  load_scaling(result, columns);
  const NpzArray names = array("column_names");
  result.column_names = names.strings(names.header().count == 0 ? 0 : columns);
  const NpzArray json = array("json");
  result.json = json.text();
  // Programs that save models of their own may have nothing to say.
  if (!result.json.empty() && !is_json_object(result.json))
    json.fail("this is not the JSON object that a fit writes; the file was changed");
  result.source = load_source();
  return result;
}

// Files of version 0.1 do not have it.
SourceColumns ModelLoader::load_source() const {
  if (!zip_.has("file_columns.npy")) return {};
  SourceColumns source;
  const NpzArray count = array("file_columns");
  if (!count.header().shape.empty() || !count.header().is("<i8")) count.fail("a single '<i8' is needed");
  std::memcpy(&source.count, count.values(), sizeof source.count);
  const NpzArray numbers = array("file_column_numbers");
  source.numbers = numbers.integers();
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
  const NpzArray names = array("file_column_names");
  source.names = names.strings(names.header().count == 0 ? 0 : static_cast<int64_t>(source.numbers.size()));
  return source;
}

void ModelLoader::load_models(ModelFile& result) const {
  const std::vector<int64_t> k = array("k").integers();
  const auto m = static_cast<int64_t>(k.size());
  if (m == 0) array("k").fail("the file holds no models; at least one is needed");
  const auto requested = array("k_requested").integers(m);
  const auto replica = array("replica").integers(m);
  const auto seed = array("seed").unsigned_integers(m);
  const auto iterations = array("iterations").integers(m);
  const auto inertia = array("inertia").reals(m);
  const auto stop_reason = array("stop_reason").strings(m);
  const auto init = array("init").strings(m);
  for (size_t i = 0; i < k.size(); ++i) {
    StoredModel model;
    model.k = k[i];
    model.k_requested = requested[i];
    model.replica = replica[i];
    model.seed = seed[i];
    model.iterations = iterations[i];
    model.inertia = inertia[i];
    model.stop_reason = stop_reason[i];
    model.init = init[i];
    model.prototypes = load_prototypes(i, k[i]);
    model.counts = array(numbered("counts", i)).integers(k[i]);
    model.weights = array(numbered("weights", i)).reals(k[i]);
    check_numbers(i, model);
    if (i > 0 && model.prototypes.columns() != result.models[0].prototypes.columns()) {
      array(numbered("centroids", i)).fail("the models of the file have different numbers of columns; they must agree");
    }
    result.models.push_back(std::move(model));
  }
}

// What no fit has ever written.
void ModelLoader::check_numbers(size_t index, const StoredModel& model) const {
  const auto require = [&](bool right, const std::string& key, const auto& found, const char* needed) {
    if (!right) array(key).fail(fmt::format("model {}: {} was found; {}", index + 1, found, needed));
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

Matrix ModelLoader::load_prototypes(size_t index, int64_t k) const {
  const NpzArray values = array(numbered("centroids", index));
  const NpyHeader& header = values.header();
  if (header.shape.size() != 2 || header.shape[0] != k || k < 1 || header.shape[1] < 1 || header.fortran_order) {
    values.fail(fmt::format("a matrix of k = {} rows and at least one column, in C order, is needed", k));
  }
  if (!header.is("<f4") && !header.is("<f8"))
    values.fail("values of type '" + header.descr() + "' were found; '<f4' or '<f8' is needed");
  Matrix result(k, header.shape[1], header.is("<f8") ? DataType::kFloat64 : DataType::kFloat32);
  if (result.type() == DataType::kFloat64) {
    std::memcpy(result.values<double>().data(), values.values(), result.bytes().size());
  } else {
    std::memcpy(result.values<float>().data(), values.values(), result.bytes().size());
  }
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
  const NpzArray kind = array("scale_kind");
  const auto scale = scale_from_name(kind.text());
  if (!scale) kind.fail("the scaling '" + kind.text() + "' is not known; none, standard and minmax are");
  const int64_t count = *scale == Scale::kNone ? 0 : columns;
  const NpzArray divisor = array("scale_divisor");
  result.scaling = {*scale, array("scale_offset").reals(count), divisor.reals(count)};
  for (size_t j = 0; j < result.scaling.divisor.size(); ++j) {
    const bool right = std::isfinite(result.scaling.offset[j]) && std::isfinite(result.scaling.divisor[j]) &&
                       result.scaling.divisor[j] > 0;
    if (!right) divisor.fail(fmt::format("column {}: a finite offset and a divisor above 0 are needed", j + 1));
  }
}

}  // namespace

void save_model(const std::string& path, const FitResult& result, const Scaling& scaling,
                const std::vector<std::string>& column_names, const SourceColumns& source) {
  or_out_of_memory(path, kNothing, [&] {
    ModelFile file{{}, scaling, column_names, source, to_json(result)};
    for (const ModelResult& model : result.models) {
      // Those that had not begun hold nothing to save; the JSON lists them.
      if (model.stop_reason == StopReason::kNotBegun) continue;
      file.models.push_back({model.k, model.seed, model.iterations, model.inertia,
                             std::string(name_of(model.stop_reason)), model.init, model.prototypes, model.counts,
                             model.weights, model.k_requested, model.replica});
    }
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
    npz.add_number("format_version", kFormatVersion);
    add_each(npz, "k", models, [](const StoredModel& model) { return model.k; });
    add_each(npz, "k_requested", models, [](const StoredModel& model) { return model.k_requested; });
    add_each(npz, "replica", models, [](const StoredModel& model) { return model.replica; });
    add_each(npz, "seed", models, [](const StoredModel& model) { return model.seed; });
    add_each(npz, "iterations", models, [](const StoredModel& model) { return model.iterations; });
    add_each(npz, "inertia", models, [](const StoredModel& model) { return model.inertia; });
    add_each(npz, "stop_reason", models, [](const StoredModel& model) { return model.stop_reason; });
    add_each(npz, "init", models, [](const StoredModel& model) { return model.init; });
    for (size_t i = 0; i < models.size(); ++i) add_model(npz, i, models[i]);
    npz.add_text("scale_kind", std::string(name_of(stored.scaling.kind)));
    npz.add("scale_offset", stored.scaling.offset);
    npz.add("scale_divisor", stored.scaling.divisor);
    npz.add("column_names", stored.column_names);
    npz.add_number("file_columns", stored.source.count);
    npz.add("file_column_numbers", stored.source.numbers);
    npz.add("file_column_names", stored.source.names);
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
  fit.type = file.models[0].prototypes.type();
  return fit;
}

ModelFile load_model(const std::string& path) {
  return load_unchanged(path, [&] { return ModelLoader(path).run(); });
}

}  // namespace manymeans
