// A .npz; docs/user/checkpoints.md lists the keys.
#include "io/results/checkpoint_file.h"

#include <manymeans/error.h>

#include "io/files/file_watch.h"
#include "io/files/mapped_file.h"
#include "io/numpy/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace manymeans {
namespace {

constexpr int64_t kFormatVersion = 1;
constexpr int64_t kStages = 3;
constexpr int64_t kReasons = static_cast<int64_t>(StopReason::kInterrupted) + 1;

using States = std::vector<ModelState>;
using Wide = unsigned __int128;

std::vector<uint64_t> halves(Wide value) {
  return {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)};
}
Wide joined(uint64_t low, uint64_t high) {
  return static_cast<Wide>(high) << 64 | low;
}

// One value of each model under one key.
template <class T, class Get>
void add_each(NpzWriter& npz, const std::string& key, const States& models, Get get) {
  std::vector<T> values;
  for (const ModelState& model : models) values.push_back(static_cast<T>(get(model)));
  npz.add(key, values);
}

void add_identity(NpzWriter& npz, const FitIdentity& identity) {
  std::vector<std::string> names, values;
  for (const auto& [name, value] : identity.options) {
    names.push_back(name);
    values.push_back(value);
  }
  npz.add("option_names", names);
  npz.add("option_values", values);
  npz.add_number("rows", identity.rows);
  npz.add_number("columns", identity.columns);
  npz.add_text("type", std::string(name_of(identity.type)));
  npz.add("points_hash", halves(identity.points));
  npz.add("weights_hash", halves(identity.weights));
  npz.add("initial_hash", halves(identity.initial));
}

void add_wide(NpzWriter& npz, const std::string& key, const States& models, LabelSum ModelState::*member) {
  add_each<uint64_t>(npz, key + "_low", models, [&](const auto& model) { return halves(model.*member)[0]; });
  add_each<uint64_t>(npz, key + "_high", models, [&](const auto& model) { return halves(model.*member)[1]; });
}

void add_warnings(NpzWriter& npz, const States& models) {
  std::vector<std::string> texts;
  std::vector<int64_t> owners;
  for (size_t i = 0; i < models.size(); ++i) {
    for (const std::string& text : models[i].warnings) {
      texts.push_back(text);
      owners.push_back(static_cast<int64_t>(i));
    }
  }
  npz.add("warnings", texts);
  npz.add("warning_models", owners);
}

// All prototypes of all models, one below the other: an ensemble may have a million models, and a member of the
// archive for each would cost more than what is in it.
void add_prototypes(NpzWriter& npz, const CheckpointFile& file) {
  const DataType type = prototype_type(file.identity.type);
  int64_t rows = 0;
  uint64_t bytes = 0;
  for (const ModelState& model : file.models) {
    rows += model.prototypes.rows();
    bytes += model.prototypes.bytes().size();
  }
  const std::vector<int64_t> shape{rows, file.identity.columns};
  npz.add_parts("prototypes", type == DataType::kFloat64 ? "<f8" : "<f4", shape, bytes,
                [&](const ZipWriter::Sink& sink) {
                  for (const ModelState& model : file.models) sink(model.prototypes.bytes());
                });
}

// Copies k rows; false if one of their values is not finite.
template <class T>
bool copy_finite(const std::byte* from, Matrix& to) {
  const std::span<T> values = to.values<T>();
  std::memcpy(values.data(), from, values.size_bytes());
  return std::all_of(values.begin(), values.end(), [](T value) { return std::isfinite(value); });
}

class CheckpointLoader {
 public:
  explicit CheckpointLoader(const std::string& path)
      : path_(path), file_(MappedFile::open(path, Access::kOnce)), zip_(file_->bytes(), path) {}

  CheckpointFile run();

 private:
  NpzArray array(const std::string& key) const;
  int64_t number(const std::string& key, int64_t least) const;
  Wide wide(const std::string& key) const;
  std::vector<int64_t> numbers(const std::string& key, int64_t least, int64_t most) const;
  void load_identity();
  void load_counters();
  void load_wide(const std::string& key, LabelSum ModelState::*member);
  void load_warnings();
  void load_prototypes();

  const std::string& path_;
  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
  CheckpointFile result_;
};

NpzArray CheckpointLoader::array(const std::string& key) const {
  if (!zip_.has(key + ".npy")) {
    throw Error(ErrorCode::kBadData, path_, "there is no '" + key + "' in it; a checkpoint of manymeans is needed");
  }
  return {path_ + ", " + key, zip_.read(key + ".npy")};
}

int64_t CheckpointLoader::number(const std::string& key, int64_t least) const {
  const NpzArray value = array(key);
  if (!value.header().shape.empty() || !value.header().is("<i8")) value.fail("a single '<i8' is needed");
  int64_t result = 0;
  std::memcpy(&result, value.values(), sizeof result);
  if (result < least) value.fail(fmt::format("{} was found; {} or more is needed", result, least));
  return result;
}

Wide CheckpointLoader::wide(const std::string& key) const {
  const std::vector<uint64_t> parts = array(key).unsigned_integers(2);
  return joined(parts[0], parts[1]);
}

// One value of each model, in [least, most].
std::vector<int64_t> CheckpointLoader::numbers(const std::string& key, int64_t least, int64_t most) const {
  const NpzArray values = array(key);
  std::vector<int64_t> result = values.integers(static_cast<int64_t>(result_.models.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] < least || result[i] > most) {
      values.fail(fmt::format("model {}: {} was found; {} to {} is possible", i + 1, result[i], least, most));
    }
  }
  return result;
}

CheckpointFile CheckpointLoader::run() {
  const int64_t version = number("format_version", 1);
  if (version != kFormatVersion) {
    array("format_version")
        .fail(fmt::format("the format is {}; this version of manymeans goes on from {}", version, kFormatVersion));
  }
  load_identity();
  result_.models.resize(array("stage").integers().size());
  load_counters();
  load_wide("label_change", &ModelState::label_change);
  load_wide("cycle_saved", &ModelState::cycle_saved);
  load_warnings();
  load_prototypes();
  return std::move(result_);
}

void CheckpointLoader::load_identity() {
  FitIdentity& identity = result_.identity;
  const std::vector<std::string> names = array("option_names").strings(-1);
  const std::vector<std::string> values = array("option_values").strings(static_cast<int64_t>(names.size()));
  for (size_t i = 0; i < names.size(); ++i) identity.options.emplace_back(names[i], values[i]);
  identity.rows = number("rows", 1);
  identity.columns = number("columns", 1);
  const NpzArray type = array("type");
  const auto known = data_type_from_name(type.text());
  if (!known) type.fail("'" + type.text() + "' is no type of points");
  identity.type = *known;
  identity.points = wide("points_hash");
  identity.weights = wide("weights_hash");
  identity.initial = wide("initial_hash");
}

void CheckpointLoader::load_counters() {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  States& models = result_.models;
  const auto m = static_cast<int64_t>(models.size());
  const auto stage = numbers("stage", 0, kStages - 1);
  const auto iterations = numbers("iterations", 0, kAny);
  const auto changed = numbers("changed", 0, result_.identity.rows);
  const auto first_pass = numbers("first_pass", 0, 1);
  const auto stopping = numbers("stopping", 0, 1);
  const auto relocated = numbers("relocated", 0, 1);
  const auto reason = numbers("stop_reason", 0, kReasons - 1);
  const auto power = array("cycle_power").unsigned_integers(m);
  const auto step = array("cycle_step").unsigned_integers(m);
  const auto cycle_begun = numbers("cycle_begun", 0, 1);
  const auto last_inertia = array("last_inertia").reals(m);
  const auto seconds = array("seconds").reals(m);
  for (size_t i = 0; i < models.size(); ++i) {
    ModelState& model = models[i];
    model.stage = static_cast<ModelStage>(stage[i]);
    model.iterations = iterations[i];
    model.changed = changed[i];
    model.first_pass = first_pass[i] != 0;
    model.stopping = stopping[i] != 0;
    model.relocated = relocated[i] != 0;
    model.stop_reason = static_cast<StopReason>(reason[i]);
    model.cycle_power = power[i];
    model.cycle_step = step[i];
    model.cycle_begun = cycle_begun[i] != 0;
    model.last_inertia = last_inertia[i];
    model.seconds = seconds[i];
  }
}

void CheckpointLoader::load_wide(const std::string& key, LabelSum ModelState::*member) {
  const auto m = static_cast<int64_t>(result_.models.size());
  const auto low = array(key + "_low").unsigned_integers(m);
  const auto high = array(key + "_high").unsigned_integers(m);
  for (size_t i = 0; i < result_.models.size(); ++i) result_.models[i].*member = joined(low[i], high[i]);
}

void CheckpointLoader::load_warnings() {
  const NpzArray owners = array("warning_models");
  const std::vector<int64_t> models = owners.integers();
  const std::vector<std::string> texts = array("warnings").strings(static_cast<int64_t>(models.size()));
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i] < 0 || models[i] >= static_cast<int64_t>(result_.models.size())) {
      owners.fail(fmt::format("model {} was found; there are {}", models[i] + 1, result_.models.size()));
    }
    result_.models[static_cast<size_t>(models[i])].warnings.push_back(texts[i]);
  }
}

void CheckpointLoader::load_prototypes() {
  const DataType type = prototype_type(result_.identity.type);
  const NpzArray values = array("prototypes");
  const NpyHeader& header = values.header();
  const std::string_view descr = type == DataType::kFloat64 ? "<f8" : "<f4";
  if (!header.is(descr) || header.shape.size() != 2 || header.shape[1] != result_.identity.columns ||
      header.fortran_order) {
    values.fail(fmt::format("a matrix of '{}' with {} columns in C order is needed", descr, result_.identity.columns));
  }
  const std::vector<int64_t> k = numbers("k", 0, header.shape[0]);
  int64_t row = 0;
  for (size_t i = 0; i < k.size(); ++i) {
    ModelState& model = result_.models[i];
    if ((k[i] == 0) != (model.stage == ModelStage::kNotBegun) || k[i] > header.shape[0] - row) {
      values.fail(fmt::format("model {}: {} prototypes do not go with its stage and {} rows in all", i + 1, k[i],
                              header.shape[0]));
    }
    if (k[i] == 0) continue;
    model.prototypes = Matrix(k[i], header.shape[1], type);
    const std::byte* const from =
        values.values() + static_cast<size_t>(row) * static_cast<size_t>(header.shape[1]) * size_of(type);
    const bool finite = type == DataType::kFloat64 ? copy_finite<double>(from, model.prototypes)
                                                   : copy_finite<float>(from, model.prototypes);
    if (!finite) values.fail(fmt::format("model {}: finite values are needed", i + 1));
    row += k[i];
  }
  if (row != header.shape[0]) values.fail(fmt::format("{} rows were found; {} are needed", header.shape[0], row));
}

}  // namespace

void save_checkpoint(const std::string& path, const CheckpointFile& file) {
  const States& models = file.models;
  OutputFile out(path);
  NpzWriter npz(out);
  npz.add_number("format_version", kFormatVersion);
  add_identity(npz, file.identity);
  add_each<int64_t>(npz, "stage", models, [](const auto& model) { return model.stage; });
  add_each<int64_t>(npz, "k", models, [](const auto& model) { return model.prototypes.rows(); });
  add_each<int64_t>(npz, "iterations", models, [](const auto& model) { return model.iterations; });
  add_each<int64_t>(npz, "changed", models, [](const auto& model) { return model.changed; });
  add_each<int64_t>(npz, "first_pass", models, [](const auto& model) { return model.first_pass; });
  add_each<int64_t>(npz, "stopping", models, [](const auto& model) { return model.stopping; });
  add_each<int64_t>(npz, "relocated", models, [](const auto& model) { return model.relocated; });
  add_each<int64_t>(npz, "stop_reason", models, [](const auto& model) { return model.stop_reason; });
  add_wide(npz, "label_change", models, &ModelState::label_change);
  add_wide(npz, "cycle_saved", models, &ModelState::cycle_saved);
  add_each<uint64_t>(npz, "cycle_power", models, [](const auto& model) { return model.cycle_power; });
  add_each<uint64_t>(npz, "cycle_step", models, [](const auto& model) { return model.cycle_step; });
  add_each<int64_t>(npz, "cycle_begun", models, [](const auto& model) { return model.cycle_begun; });
  add_each<double>(npz, "last_inertia", models, [](const auto& model) { return model.last_inertia; });
  add_each<double>(npz, "seconds", models, [](const auto& model) { return model.seconds; });
  add_warnings(npz, models);
  add_prototypes(npz, file);
  npz.finish();
  out.commit();
}

CheckpointFile load_checkpoint(const std::string& path) {
  return load_unchanged(path, [&] { return CheckpointLoader(path).run(); });
}

}  // namespace manymeans
