// A .npz; docs/user/checkpoints.md lists the keys.
#include "io/results/checkpoint_file.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/data_type.h"
#include "io/files/file_watch.h"
#include "io/files/output_file.h"
#include "io/numpy/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <type_traits>

namespace manymeans {
namespace {

constexpr int64_t kFormatVersion = 1;
constexpr int64_t kStages = 3;

using States = std::vector<ModelState>;
using Wide = unsigned __int128;

// The largest number of a stop reason.
int64_t last_reason() {
  auto last = static_cast<uint8_t>(StopReason::kInterrupted);
  while (!name_of(StopReason{static_cast<uint8_t>(last + 1)}).empty()) ++last;
  return last;
}

std::vector<uint64_t> halves(Wide value) {
  return {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)};
}
Wide joined(uint64_t low, uint64_t high) {
  return static_cast<Wide>(high) << 64 | low;
}

// Calls use(key, member, most) for each value that every model has once. The file has all models' values under one key,
// and values of 128 bits under two. Values that are counted are from 0 to `most`.
template <class Use>
void for_each_field(int64_t rows, Use&& use) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  use("stage", &ModelState::stage, kStages - 1);
  use("iterations", &ModelState::iterations, kAny);
  use("changed", &ModelState::changed, rows);
  use("first_pass", &ModelState::first_pass, 1);
  use("stopping", &ModelState::stopping, 1);
  use("relocated", &ModelState::relocated, 1);
  use("stop_reason", &ModelState::stop_reason, last_reason());
  use("label_change", &ModelState::label_change, kAny);
  use("cycle_saved", &ModelState::cycle_saved, kAny);
  use("cycle_power", &ModelState::cycle_power, kAny);
  use("cycle_step", &ModelState::cycle_step, kAny);
  use("cycle_begun", &ModelState::cycle_begun, 1);
  use("last_inertia", &ModelState::last_inertia, kAny);
}

// Calls use() as above for the values of models with a swap search.
template <class Use>
void for_each_swap_field(Use&& use) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  use("search_inertia", &ModelState::search_inertia, kAny);
  use("search_trials", &ModelState::search_trials, kAny);
  use("search_failures", &ModelState::search_failures, kAny);
  use("search_steps", &ModelState::search_steps, kAny);
}

// Calls use() as above for the values of models that were searched for before the fit.
template <class Use>
void for_each_sought_field(Use&& use) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const auto of_record = [](auto member) { return [member](auto& model) -> auto& { return model.sought.*member; }; };
  const auto of_walk = [](auto member) { return [member](auto& model) -> auto& { return model.sought.walk.*member; }; };
  const auto of_summary = [](auto member) {
    return [member](auto& model) -> auto& { return model.sought.summary.*member; };
  };
  use("sought_inertia", of_record(&SearchRecord::inertia), kAny);
  use("sought_rounds", of_summary(&SearchSummary::rounds), kAny);
  use("sought_trials", of_record(&SearchRecord::trials), kAny);
  use("sought_walking", of_record(&SearchRecord::walking), 1);
  use("sought_most", of_walk(&WalkRecord::most), kAny);
  use("sought_failures", of_walk(&WalkRecord::failures), kAny);
  use("sought_draws", of_walk(&WalkRecord::draws), kAny);
  use("sought_ended", of_summary(&SearchSummary::ended), 1);
  use("sought_seconds", of_record(&SearchRecord::seconds), kAny);
}

// Gives what a field names of a model: a member, or a function that finds it.
template <class Field>
using Value = std::remove_cvref_t<std::invoke_result_t<Field, ModelState&>>;

// The type of a value in the file.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, uint64_t> || std::is_same_v<T, double>, T, int64_t>;

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

// A field of every model under one key.
template <class Field>
void add_field(NpzWriter& npz, const std::string& key, const States& models, Field field) {
  using T = Value<Field>;
  const auto get = [&](const ModelState& model) -> const T& { return std::invoke(field, model); };
  if constexpr (std::is_same_v<T, LabelSum>) {
    add_each<uint64_t>(npz, key + "_low", models, [&](const auto& model) { return halves(get(model))[0]; });
    add_each<uint64_t>(npz, key + "_high", models, [&](const auto& model) { return halves(get(model))[1]; });
  } else {
    add_each<Stored<T>>(npz, key, models, get);
  }
}

// Adds a matrix of all models, one below the other. An ensemble may have a million models: a member of the archive for
// each would cost more than its content.
template <class Field>
void add_matrices(NpzWriter& npz, const std::string& key, const CheckpointFile& file, Field field) {
  const DataType type = prototype_type(file.identity.type);
  const auto matrix = [&](const ModelState& model) -> const Matrix& { return std::invoke(field, model); };
  int64_t rows = 0;
  uint64_t bytes = 0;
  for (const ModelState& model : file.models) {
    rows += matrix(model).rows();
    bytes += matrix(model).bytes().size();
  }
  const std::vector<int64_t> shape{rows, file.identity.columns};
  npz.add_parts(key, type == DataType::kFloat64 ? "<f8" : "<f4", shape, bytes, [&](const ZipWriter::Sink& sink) {
    for (const ModelState& model : file.models) sink(matrix(model).bytes());
  });
}

void add_swaps(NpzWriter& npz, const CheckpointFile& file) {
  if (std::ranges::none_of(file.models, &ModelState::swaps)) return;
  for_each_swap_field([&](const char* key, auto field, int64_t) { add_field(npz, key, file.models, field); });
  add_each<int64_t>(npz, "search_k", file.models, [](const auto& model) { return model.search_best.rows(); });
  add_matrices(npz, "search_best", file, &ModelState::search_best);
}

constexpr auto kBestSought = [](auto& model) -> auto& { return model.sought.best; };

void add_sought(NpzWriter& npz, const CheckpointFile& file) {
  const States& models = file.models;
  if (std::ranges::all_of(models, [](const ModelState& model) { return model.sought.best.empty(); })) return;
  for_each_sought_field([&](const char* key, auto field, int64_t) { add_field(npz, key, models, field); });
  add_each<int64_t>(npz, "sought_k", models, [](const auto& model) { return model.sought.best.rows(); });
  add_matrices(npz, "sought_best", file, kBestSought);
  std::vector<int64_t> owners, rounds;
  std::vector<double> seconds, inertias;
  for (size_t i = 0; i < models.size(); ++i) {
    for (const SearchStep& step : models[i].sought.summary.steps) {
      owners.push_back(static_cast<int64_t>(i));
      rounds.push_back(step.round);
      seconds.push_back(step.seconds);
      inertias.push_back(step.inertia);
    }
  }
  npz.add("step_models", owners);
  npz.add("step_rounds", rounds);
  npz.add("step_seconds", seconds);
  npz.add("step_inertias", inertias);
}

class CheckpointLoader {
 public:
  explicit CheckpointLoader(const std::string& path) : file_(path, "a checkpoint") {}

  CheckpointFile run();

 private:
  int64_t number(const std::string& key, int64_t least) const;
  Wide wide(const std::string& key) const;
  std::vector<int64_t> numbers(const std::string& key, int64_t most) const;
  void load_identity();
  template <class Field>
  void load_field(const std::string& key, Field field, int64_t most);
  size_t owner(const NpzArray& owners, int64_t model) const;
  void load_warnings();
  template <class Field>
  void load_matrices(const std::string& key, const std::vector<int64_t>& rows, Field field);
  void load_prototypes();
  void load_swaps();
  void load_sought();
  void load_steps();

  NpzFile file_;
  CheckpointFile result_;
};

int64_t CheckpointLoader::number(const std::string& key, int64_t least) const {
  const NpzArray value = file_.array(key);
  const int64_t result = value.number();
  if (result < least) value.fail(fmt::format("{} was found; {} or more is needed", result, least));
  return result;
}

Wide CheckpointLoader::wide(const std::string& key) const {
  const std::vector<uint64_t> parts = file_.vector<uint64_t>(key, 2);
  return joined(parts[0], parts[1]);
}

// One value of each model, from 0 to `most`.
std::vector<int64_t> CheckpointLoader::numbers(const std::string& key, int64_t most) const {
  const NpzArray values = file_.array(key);
  std::vector<int64_t> result = values.vector<int64_t>(static_cast<int64_t>(result_.models.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] < 0 || result[i] > most) {
      values.fail(fmt::format("model {}: {} was found; 0 to {} is possible", i + 1, result[i], most));
    }
  }
  return result;
}

CheckpointFile CheckpointLoader::run() {
  const int64_t version = number("format_version", 1);
  if (version != kFormatVersion) {
    file_.array("format_version")
        .fail(fmt::format("the format is {}; this version of manymeans continues from {}", version, kFormatVersion));
  }
  load_identity();
  result_.models.resize(file_.vector<int64_t>("stage").size());
  for_each_field(result_.identity.rows,
                 [this](const char* key, auto field, int64_t most) { load_field(key, field, most); });
  load_warnings();
  load_prototypes();
  load_swaps();
  load_sought();
  return std::move(result_);
}

void CheckpointLoader::load_identity() {
  FitIdentity& identity = result_.identity;
  const auto names = file_.vector<std::string>("option_names");
  const auto values = file_.vector<std::string>("option_values", static_cast<int64_t>(names.size()));
  for (size_t i = 0; i < names.size(); ++i) identity.options.emplace_back(names[i], values[i]);
  identity.rows = number("rows", 1);
  identity.columns = number("columns", 1);
  const NpzArray type = file_.array("type");
  const auto known = data_type_from_name(type.text());
  if (!known) type.fail("'" + type.text() + "' is no type of points");
  identity.type = *known;
  identity.points = wide("points_hash");
  identity.weights = wide("weights_hash");
  identity.initial = wide("initial_hash");
}

template <class Field>
void CheckpointLoader::load_field(const std::string& key, Field field, int64_t most) {
  using T = Value<Field>;
  States& models = result_.models;
  const auto m = static_cast<int64_t>(models.size());
  if constexpr (std::is_same_v<T, LabelSum>) {
    const auto low = file_.vector<uint64_t>(key + "_low", m);
    const auto high = file_.vector<uint64_t>(key + "_high", m);
    for (size_t i = 0; i < models.size(); ++i) std::invoke(field, models[i]) = joined(low[i], high[i]);
  } else if constexpr (std::is_same_v<T, Stored<T>> && !std::is_same_v<T, int64_t>) {
    const std::vector<T> values = file_.vector<T>(key, m);
    for (size_t i = 0; i < models.size(); ++i) std::invoke(field, models[i]) = values[i];
  } else {
    const std::vector<int64_t> values = numbers(key, most);
    for (size_t i = 0; i < models.size(); ++i) std::invoke(field, models[i]) = static_cast<T>(values[i]);
  }
}

size_t CheckpointLoader::owner(const NpzArray& owners, int64_t model) const {
  if (model < 0 || model >= static_cast<int64_t>(result_.models.size())) {
    owners.fail(fmt::format("model {} was found; there are {}", model + 1, result_.models.size()));
  }
  return static_cast<size_t>(model);
}

void CheckpointLoader::load_warnings() {
  const NpzArray owners = file_.array("warning_models");
  const auto models = owners.vector<int64_t>();
  const auto texts = file_.vector<std::string>("warnings", static_cast<int64_t>(models.size()));
  for (size_t i = 0; i < models.size(); ++i) {
    result_.models[owner(owners, models[i])].warnings.push_back(texts[i]);
  }
}

// The rows of `key`, as many for each model as `rows` says.
template <class Field>
void CheckpointLoader::load_matrices(const std::string& key, const std::vector<int64_t>& rows, Field field) {
  const DataType type = prototype_type(result_.identity.type);
  const NpzArray values = file_.array(key);
  const NpyHeader& header = values.header();
  const std::string_view descr = type == DataType::kFloat64 ? "<f8" : "<f4";
  if (!header.is(descr) || header.shape.size() != 2 || header.shape[1] != result_.identity.columns ||
      header.fortran_order) {
    values.fail(fmt::format("a matrix of '{}' with {} columns in C order is needed", descr, result_.identity.columns));
  }
  int64_t row = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] > header.shape[0] - row) {
      values.fail(fmt::format("model {}: {} prototypes do not go with its stage and {} rows in all", i + 1, rows[i],
                              header.shape[0]));
    }
    if (rows[i] == 0) continue;
    Matrix& made = std::invoke(field, result_.models[i]) = Matrix(rows[i], header.shape[1], type);
    const std::byte* const from =
        values.values() + static_cast<size_t>(row) * static_cast<size_t>(header.shape[1]) * size_of(type);
    std::memcpy(made.values<std::byte>().data(), from, made.bytes().size());
    const bool finite = as_float_type(type, [&]<class T>(T) {
      return std::ranges::all_of(made.values<T>(), [](T value) { return std::isfinite(value); });
    });
    if (!finite) values.fail(fmt::format("model {}: finite values are needed", i + 1));
    row += rows[i];
  }
  if (row != header.shape[0]) values.fail(fmt::format("{} rows were found; {} are needed", header.shape[0], row));
}

void CheckpointLoader::load_prototypes() {
  const NpzArray values = file_.array("prototypes");
  const NpyHeader& header = values.header();
  const std::vector<int64_t> k = numbers("k", header.shape.empty() ? 0 : header.shape[0]);
  for (size_t i = 0; i < k.size(); ++i) {
    if ((k[i] == 0) == (result_.models[i].stage == ModelStage::kNotBegun)) continue;
    values.fail(fmt::format("model {}: {} prototypes do not go with its stage and {} rows in all", i + 1, k[i],
                            header.shape[0]));
  }
  load_matrices("prototypes", k, &ModelState::prototypes);
}

// Only linear models have any.
void CheckpointLoader::load_swaps() {
  if (!file_.has("search_steps")) return;
  for_each_swap_field([this](const char* key, auto field, int64_t most) { load_field(key, field, most); });
  const NpzArray values = file_.array("search_k");
  const auto k = values.vector<int64_t>(static_cast<int64_t>(result_.models.size()));
  for (size_t i = 0; i < k.size(); ++i) {
    const ModelState& model = result_.models[i];
    const bool in_later_trial = model.search_steps > 0 && model.search_trials > 0;
    if (k[i] == 0 ? !in_later_trial : k[i] >= model.prototypes.rows() && model.stage == ModelStage::kLabelled) continue;
    values.fail(fmt::format("model {}: {} prototypes do not go with its search", i + 1, k[i]));
  }
  load_matrices("search_best", k, &ModelState::search_best);
}

// Only models have one that were searched for.
void CheckpointLoader::load_sought() {
  if (!file_.has("sought_rounds")) return;
  for_each_sought_field([this](const char* key, auto field, int64_t most) { load_field(key, field, most); });
  const NpzArray values = file_.array("sought_k");
  const auto k = values.vector<int64_t>(static_cast<int64_t>(result_.models.size()));
  for (size_t i = 0; i < k.size(); ++i) {
    if (k[i] < 0) values.fail(fmt::format("model {}: {} centroids were found", i + 1, k[i]));
  }
  load_matrices("sought_best", k, kBestSought);
  load_steps();
}

void CheckpointLoader::load_steps() {
  const NpzArray owners = file_.array("step_models");
  const auto models = owners.vector<int64_t>();
  const auto count = static_cast<int64_t>(models.size());
  const auto rounds = file_.vector<int64_t>("step_rounds", count);
  const auto seconds = file_.vector<double>("step_seconds", count);
  const auto inertias = file_.vector<double>("step_inertias", count);
  for (size_t i = 0; i < models.size(); ++i) {
    result_.models[owner(owners, models[i])].sought.summary.steps.push_back({rounds[i], seconds[i], inertias[i]});
  }
}

}  // namespace

void save_checkpoint(const std::string& path, const CheckpointFile& file, FileLock* lock) {
  const States& models = file.models;
  OutputFile out(path);
  NpzWriter npz(out);
  npz.add_number("format_version", kFormatVersion);
  add_identity(npz, file.identity);
  add_each<int64_t>(npz, "k", models, [](const auto& model) { return model.prototypes.rows(); });
  for_each_field(file.identity.rows, [&](const char* key, auto field, int64_t) { add_field(npz, key, models, field); });
  add_warnings(npz, models);
  add_matrices(npz, "prototypes", file, &ModelState::prototypes);
  add_swaps(npz, file);
  add_sought(npz, file);
  npz.finish();
  out.commit(lock);
}

CheckpointFile load_checkpoint(const std::string& path) {
  return load_unchanged(path, [&] { return CheckpointLoader(path).run(); });
}

void check_checkpoint_path(const std::string& path) {
  check_replaceable(path);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  try {
    (void)load_checkpoint(path);
  } catch (const Error& error) {
    throw Error(ErrorCode::kUsage, path,
                fmt::format("is there and is no whole checkpoint, so it is not replaced; give another name ({})",
                            error.what()));
  }
}

}  // namespace manymeans
