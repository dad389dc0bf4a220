// Files of points and of models, Arrow tables, and tensors of a type that NumPy lacks.
#include <manymeans/choose_columns.h>
#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/mapped_files.h>
#include <manymeans/model_file.h>

#include "arrays.h"
#include "arrow.h"
#include "fit_parts.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

nb::dict as_dict(const SourceColumns& source, int64_t first_line) {
  nb::dict result;
  result["count"] = source.count;
  result["numbers"] = source.numbers;
  result["names"] = to_texts(source.names);
  result["first_line"] = first_line;
  nb::list rules;
  for (const ColumnRule& rule : source.rules) {
    nb::dict one;
    one["categories"] = rule.categorical ? nb::object(to_texts(rule.categories)) : nb::none();
    one["fill"] = rule.fill ? nb::object(nb::float_(*rule.fill)) : nb::none();
    rules.append(one);
  }
  result["rules"] = rules;
  result["drops_gaps"] = source.drops_gaps;
  result["decimal"] = std::string(1, source.decimal);
  return result;
}

SourceColumns source_in(const nb::dict& values) {
  SourceColumns source;
  source.count = nb::cast<int64_t>(values["count"]);
  source.numbers = nb::cast<std::vector<int64_t>>(values["numbers"]);
  source.names = all_bytes_of(values["names"]);
  for (nb::handle given : nb::cast<nb::list>(values["rules"])) {
    const auto one = nb::cast<nb::dict>(given);
    ColumnRule& rule = source.rules.emplace_back();
    rule.fill = value_of<std::optional<double>>(one, "fill");
    rule.categorical = !one["categories"].is_none();
    if (rule.categorical) rule.categories = all_bytes_of(one["categories"]);
  }
  source.drops_gaps = value_of<bool>(values, "drops_gaps");
  source.decimal = value_of<std::string>(values, "decimal").at(0);
  return source;
}

Missing missing_in(const std::string& name) {
  if (name == "error") return Missing::kError;
  if (name == "drop") return Missing::kDrop;
  if (name == "mean") return Missing::kMean;
  return name == "median" ? Missing::kMedian : Missing::kValue;
}

PointsOfFit points_of_fit_in(const nb::dict& values) {
  return {source_in(values), all_bytes_of(values["column_names"]), nb::cast<int64_t>(values["columns"]),
          nb::cast<bool>(values["wide"]) ? DataType::kFloat64 : DataType::kFloat32};
}

// What the program warns of, for points of a file.
nb::list table_warnings(const AnyArray& points, const AnyArray& scaled, nb::handle names, const nb::dict& source) {
  Dataset table;
  table.view = points_of(points);
  table.column_names = all_bytes_of(names);
  table.source = source_in(source);
  const GuardedFiles guard;
  std::vector<std::string> warnings = row_number_warnings(table);
  for (std::string& text : dominance_warnings(table, points_of(scaled))) warnings.push_back(std::move(text));
  return to_texts(warnings);
}

Header header_in(const std::string& name) {
  return name == "yes" ? Header::kYes : name == "no" ? Header::kNo : Header::kAuto;
}

// `given`: ReadOptions, of which dtype and like may be None.
ReadOptions read_options_in(const nb::dict& given) {
  ReadOptions options;
  options.format = value_of<std::string>(given, "format");
  if (const auto dtype = value_of<std::optional<std::string>>(given, "dtype")) {
    options.dtype = data_type_from_name(*dtype);
    if (!options.dtype) {
      throw Error(ErrorCode::kUsage, "dtype",
                  "is '" + *dtype + "'; must be float32, float64, float16, bfloat16, uint8 or int8");
    }
  }
  options.columns = all_bytes_of(given["columns"]);
  options.numeric_only = value_of<bool>(given, "numeric_only");
  options.exclude = all_bytes_of(given["exclude"]);
  options.rules = {.missing = missing_in(value_of<std::string>(given, "missing")),
                   .missing_value = value_of<double>(given, "missing_value"),
                   .one_hot = value_of<bool>(given, "one_hot"),
                   .max_categories = value_of<int64_t>(given, "max_categories")};
  options.decimal = value_of<std::string>(given, "decimal").at(0);
  options.header = header_in(value_of<std::string>(given, "header"));
  options.id = bytes_of(given["id"]);
  options.weights = bytes_of(given["weights"]);
  options.threads = value_of<int>(given, "threads");
  if (const auto like = value_of<std::optional<nb::dict>>(given, "like")) options.like = points_of_fit_in(*like);
  return options;
}

nb::dict read_file(nb::handle path, const nb::dict& given) {
  ReadOptions options = read_options_in(given);
  Dataset found;
  const std::string file = bytes_of(path);
  const int64_t rows = given.contains("rows") ? nb::cast<int64_t>(given["rows"]) : -1;  // of weights, one for each
  Waiting().run([&] {
    try {
      if (rows >= 0) options.header = find_first_line(file, options, rows).header;
      found = read_points(file, options);
    } catch (const Error& error) {
      throw about_column(error, options.weights, kWeightsAdvice);
    }
  });
  nb::dict result;
  result["bfloat16"] = found.view.type == DataType::kBFloat16;
  result["points"] = numpy_view(found.view, found.owner, true);
  result["column_names"] = to_texts(found.column_names);
  result["weights"] = found.weights.empty() ? nb::none() : to_numpy(std::move(found.weights));
  result["warnings"] = to_texts(found.warnings);
  result["source"] = as_dict(found.source, found.first_line);
  result["dropped"] = to_numpy(std::move(found.dropped));
  nb::list zero_gaps;
  for (size_t j = 0; j < found.zero_gaps.size(); ++j) {
    if (found.zero_gaps[j]) zero_gaps.append(j);
  }
  result["zero_gaps"] = zero_gaps;
  result["ids"] = to_texts(found.ids);
  return result;
}

// Places of the columns of the points, and of the weights, in a table whose columns have these names.
nb::tuple choose(nb::handle names, nb::handle path, const nb::dict& given) {
  const ChosenColumns chosen = choose_columns(all_bytes_of(names), read_options_in(given), bytes_of(path));
  return nb::make_tuple(chosen.columns, chosen.weight);
}

nb::dict as_dict(StoredModel& model) {
  nb::dict result;
  result["k"] = model.k;
  result["k_requested"] = model.k_requested;
  result["replica"] = model.replica;
  result["seed"] = model.seed;
  result["init"] = to_text(model.init);
  result["inertia"] = model.inertia;
  result["n_iter"] = model.iterations;
  result["stop_reason"] = to_text(model.stop_reason);
  result["cluster_centers"] = to_numpy(std::move(model.prototypes));
  result["counts"] = to_numpy(std::move(model.counts));
  result["weights"] = to_numpy(std::move(model.weights));
  if (model.regression) {
    result["r2"] = model.regression->r2;
    if (model.regression->standard_errors.rows() > 0) {
      result["cluster_r2"] = to_numpy(model.regression->cluster_r2());
      result["standard_errors"] = to_numpy(std::move(model.regression->standard_errors));
    }
    result["bic"] = model.regression->bic;
    result["means"] = to_numpy(std::move(model.regression->gate.means));
    result["feature_scales"] = to_numpy(std::move(model.regression->gate.scales));
  }
  return result;
}

nb::dict load(nb::handle path) {
  const GuardedFiles guard;
  ModelFile file = load_model(bytes_of(path));
  const bool linear = file.linear();
  nb::dict result;
  nb::list models;
  for (StoredModel& model : file.models) models.append(as_dict(model));
  result["models"] = models;
  result["linear"] = linear;
  result["metric"] = std::string(name_of(file.metric));
  result["scaling"] = dict_of(std::move(file.scaling));
  result["column_names"] = to_texts(file.column_names);
  result["source"] = as_dict(file.source, 0);
  result["ranges"] = to_tuple(std::move(file.ranges));
  result["json"] = to_text(file.json);
  result["terms"] = nb::make_tuple(file.terms.degree, file.terms.products);
  return result;
}

StoredModel stored_model(const nb::dict& model) {
  StoredModel result;
  result.k = nb::cast<int64_t>(model["k"]);
  result.k_requested = nb::cast<int64_t>(model["k_requested"]);
  result.replica = nb::cast<int64_t>(model["replica"]);
  result.seed = nb::cast<uint64_t>(model["seed"]);
  result.init = bytes_of(model["init"]);
  result.inertia = nb::cast<double>(model["inertia"]);
  result.iterations = nb::cast<int64_t>(model["n_iter"]);
  result.stop_reason = bytes_of(model["stop_reason"]);
  result.prototypes = matrix_of(nb::cast<AnyArray>(model["cluster_centers"]));
  result.counts = vector_of<int64_t>(model["counts"]);
  result.weights = vector_of<double>(model["weights"]);
  if (!model.contains("means")) return result;
  result.regression = regression_in(model);
  return result;
}

void save(nb::handle path, const nb::dict& file) {
  ModelFile stored;
  for (nb::handle model : nb::cast<nb::list>(file["models"])) {
    stored.models.push_back(stored_model(nb::cast<nb::dict>(model)));
  }
  stored.metric = value_named<Metric>("metric", nb::cast<std::string>(file["metric"]));
  stored.scaling = scaling_in(nb::cast<nb::dict>(file["scaling"]));
  stored.ranges = ranges_in(file["ranges"]);
  stored.column_names = all_bytes_of(file["column_names"]);
  stored.source = source_in(nb::cast<nb::dict>(file["source"]));
  stored.json = nb::cast<std::string>(file["json"]);
  const auto terms = nb::cast<nb::tuple>(file["terms"]);
  stored.terms = {nb::cast<int64_t>(terms[0]), nb::cast<bool>(terms[1])};
  save_model(bytes_of(path), stored);
}

nb::tuple from_arrow(nb::handle table) {
  ArrowPoints found = arrow_points(table);
  const nb::object array = numpy_view(found.view, found.owner, !found.copied);
  return nb::make_tuple(array, to_texts(found.column_names), found.copied);
}

// The numbers of a bfloat16 tensor as uint16, where they lie.
nb::object bfloat16_bits(const AnyArray& tensor) {
  const auto kept = std::make_shared<AnyArray>(tensor);
  return numpy_view(points_of(tensor), kept, true);
}

}  // namespace

void add_files(nb::module_& module) {
  module.def(
      "points_file",
      [](nb::handle path) {
        const std::string file = points_file(bytes_of(path));
        return nb::bytes(file.data(), file.size());
      },
      nb::arg("path"));
  nb::class_<ForeignMapping>(module, "ForeignMapping")
      .def(
          "__init__",
          [](ForeignMapping* place, uintptr_t address, size_t bytes) {
            new (place)
                ForeignMapping(reinterpret_cast<const void*>(address), bytes);  // NOLINT(performance-no-int-to-ptr)
          },
          nb::arg("address"), nb::arg("bytes"))
      .def("check", &ForeignMapping::check);
  module.def("read", &read_file, nb::arg("path"), nb::arg("options"));
  module.def("choose_columns", &choose, nb::arg("names"), nb::arg("path"), nb::arg("options"));
  module.def("table_warnings", &table_warnings, nb::arg("points").noconvert(), nb::arg("scaled").noconvert(),
             nb::arg("names"), nb::arg("source"));
  module.def("load_model", &load, nb::arg("path"));
  module.def("save_model", &save, nb::arg("path"), nb::arg("file"));
  module.def("arrow_points", &from_arrow, nb::arg("table"));
  module.def("bfloat16_bits", &bfloat16_bits, nb::arg("tensor").noconvert());
}

}  // namespace manymeans::python
